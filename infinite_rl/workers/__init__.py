"""Work in processes of this machine: killed at their deadline, replaced when they die.

    pool.py     batches over all cores, in order
    worker.py   one such process, from its start to its last answer
    waits.py    waits that Ctrl-C ends

None of them knows what the work is.
"""
