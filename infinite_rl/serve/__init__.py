"""The rewards and the sandbox over HTTP (docs/serve.md).

    config.py      the settings, one record
    protocols.py   the routes: a request's JSON to jobs, their results to the answer's JSON
    dispatcher.py  a bounded queue, fair between clients, and the worker processes that judge
    judging.py     the work of such a process: one job, one result
    app.py         the application: token, body, deadline, back-pressure
    connections.py the deadlines of a connection: slow and idle clients are dropped
    metrics.py     counts and times in Prometheus' text format
    server.py      the socket, the token, and the server processes
    client.py      the client: it retries, and raises where there is no verdict

Importing this package, the config or the client loads no library.
"""

from ..errors import JudgingUnavailable
from .client import RewardClient

__all__ = ["JudgingUnavailable", "RewardClient"]
