"""Files of this machine that a kill or a full disk cannot damage.

logs.py     records and rows of CSV, appended whole; a torn last one is dropped
json_text.py  values of tables as JSON
atomic.py   files and folders that are replaced in one step, or that one process at a time writes
            to; the user's cache
"""
