"""Training on other people's machines: a config and a folder of code in, a running job out.

    names.py      what a job may be called
    config.py     account, role, bucket and region: where a job runs, and who says so
    source.py     the folder as a reproducible archive, without what git ignores and without secrets
    request.py    the exact request for a job, and the files and settings that its container finds
    image.py      the container's image: its repository, its build and its push
    submit.py     the steps of a submission, in the order in which nothing is left half made
    local.py      the same entry point on this machine
    jobs.py       status, logs, stop, list, and waiting for the end
    job_log.py    docs/job_log.md of the user's folder: a line for each job
    aws.py        every call of AWS, and its errors in one clear line each
    permissions.py    permissions that are missing, and the policy statement that grants each
    ignored.py    .gitignore files, where there is no git to ask
    container.py  what runs inside, here and there
    inputs.py     the model and the data of a config, on the machine
    resumable_run.py    the run that a job has begun before, which its second start goes on with
    hosts.py      the hosts of a job, and how they meet
    ray_job.py    Ray over the hosts, and the training on it

boto3 is imported where AWS is called; all else works without it.
"""
