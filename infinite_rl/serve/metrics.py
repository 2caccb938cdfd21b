"""What the server counts and times, in Prometheus' text format.

Several server processes add up by files in $PROMETHEUS_MULTIPROC_DIR, which is set before they
start: https://prometheus.github.io/client_python/multiprocess/
"""

import os
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The counts of this process; the text has those of all server processes behind the port."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        if _DIRECTORY in os.environ:
            MultiProcessCollector(self._registry)  # type: ignore[no-untyped-call]
            own = None  # its values are in the files that the collector reads
        else:
            own = self._registry
        self.requests = Counter(
            "infinite_rl_requests", "Requests by route and status", ["route", "code"], registry=own
        )
        self.seconds = Histogram(
            "infinite_rl_request_seconds",
            "Seconds from the head of a request to its answer",
            ["route"],
            buckets=_SECONDS,
            registry=own,
        )
        self.scores = Counter(
            "infinite_rl_scores",
            "Completions by reward and status",
            ["reward", "status"],
            registry=own,
        )
        self.replaced = Counter(
            "infinite_rl_workers_replaced", "Workers replaced", ["reason"], registry=own
        )
        self.open = Gauge(
            "infinite_rl_queue_jobs",
            "Jobs that wait or are judged",
            registry=own,
            multiprocess_mode="livesum",
        )
        self.workers = Gauge(
            "infinite_rl_workers", "Workers ready", registry=own, multiprocess_mode="livesum"
        )
        self.bytes = Gauge(
            "infinite_rl_body_bytes",
            "Bytes of requests and answers under way",
            registry=own,
            multiprocess_mode="livesum",
        )

    def text(self) -> bytes:
        """Return the counts of all server processes."""
        if folder := os.environ.get(_DIRECTORY):
            for path in Path(folder).glob("gauge_live*_*.db"):
                pid = int(path.stem.rpartition("_")[2])
                try:
                    os.kill(pid, 0)
                except ProcessLookupError:
                    mark_process_dead(pid)  # type: ignore[no-untyped-call]
        return generate_latest(self._registry)
