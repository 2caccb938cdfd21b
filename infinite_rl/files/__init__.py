"""Files of this machine that a kill or a full disk cannot spoil.

    append_only.py   records that are appended whole; a torn last one is taken off
    csv_log.py       rows of CSV that are appended so, and read back exactly
    lock.py          a folder that one process at a time writes to
    atomic.py        files and folders that get their name when all of them is there
    cache.py         where compiled and fetched files are kept

None of them knows what a file is for.
"""
