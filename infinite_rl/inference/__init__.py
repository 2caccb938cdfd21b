"""Ask a model, journal the answer, pay for it once.

calls.py    one request to a provider, behind its limits
batches.py  requests that are sent together and answered hours later
budget.py   what may still be spent
journal.py  every answer that was paid for
"""
