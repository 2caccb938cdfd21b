"""Work in processes: killed at their deadline, replaced when they die.

    pool.py            batches on all cores of this machine, with results in order
    worker.py          one worker process, from its start to its last answer
    processes.py       long jobs, each in a process that reports and stops
    ray_cluster.py     Ray, for processes on many machines
    interruptible.py   blocking waits that Ctrl-C ends

None of them knows what the work is.
"""
