"""Files of this machine that a kill or a full disk cannot spoil.

    append_only.py   records that are appended whole; a torn last one is taken off
    replacing.py     files and folders that get their name when all of them is there
    cache.py         where compiled and fetched files are kept

None of them knows what a file is for.
"""
