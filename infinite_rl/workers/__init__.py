"""Work in processes: killed at their deadline, replaced when they die.

    worker.py          one worker process, from its start to its last answer
    lender.py          workers that stay warm, lent to one thread at a time
    pool.py            batches of short jobs on warm workers, with results in order
    long_jobs.py       long jobs: each has its own worker, reports, and stops
    ray_cluster.py     Ray, for processes on many machines
    interruptible.py   blocking waits that Ctrl-C ends

None of them knows what the work is.
"""
