"""One engine to call a model, journal the completion, resume, and pay for it once.

clients.py   the providers of a run, behind rate limits and retries
journal.py   every call and completion, one JSON line each
batches.py   calls that are uploaded together and answered hours later
budget.py    an estimate of the cost, and a limit
"""
