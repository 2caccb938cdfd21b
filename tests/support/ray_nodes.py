"""A Ray cluster of some nodes, all of them on this machine."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LEAN = {"include_log_monitor": False}  # its process would tell us what the workers print


@contextmanager
def nodes(head: int, *others: int) -> Iterator[Any]:
    """A node for each number, with so many CPUs; their processes find what this one does."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_memory_monitor_refresh_ms", "0")  # others may need the memory
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, sys.path)]))
        alone = {"include_dashboard": False, "no_monitor": True}  # nobody scales it
        cluster = Cluster(True, head_node_args={"num_cpus": head, **alone, **LEAN})
        try:
            for cpus in others:
                cluster.add_node(num_cpus=cpus, **LEAN)
            yield cluster
        finally:
            cluster.shutdown()
