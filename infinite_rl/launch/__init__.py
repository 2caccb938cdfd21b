"""Training on other machines: a config and a folder of code in, a running job out.

    config.py         account, role, bucket, region: where a job runs
    source.py         the folder as a reproducible archive, without ignored files and secrets
    request.py        the job's name, its exact request, and the input of its container
    image.py          the container image: its address, its build and its push
    submit.py         the steps of a submission, in an order that leaves nothing half done
    local.py          the same program on this machine
    jobs.py           status, logs, stop, list, and waiting for the end
    job_log.py        docs/job_log.md of the user's folder: a line per job
    aws.py            calls of AWS, with one clear line per error
    permissions.py    the permissions that jobs need, and the statement for a missing one
    container.py      the program of a job's container
    inputs.py         the model and the data of a config, on the machine
    resumable_run.py  the published run that a second start of a job resumes
    hosts.py          the hosts of a job, and how they learn of its end
    ray_job.py        Ray over the hosts, and the training on it

boto3 is imported by the first call of AWS; everything else works without it.
"""
