"""Files of this machine that a kill or a full disk cannot damage.

append_only.py   records that are appended whole; a torn last one is dropped
csv_log.py       rows of CSV that are appended in the same way, and read back exactly
lock.py          a folder that one process at a time writes to
atomic.py        files and folders that are replaced in one step
cache.py         the user's cache folder
"""
