"""The order of the tests for several workers: the long files first, spread over all of them.

xdist's `worksteal` cuts the tests into runs of equal counts, one a worker, and a worker without
work takes half of the tests that another has not begun. Rooms are not equal: in the order of their
names one worker has `procedural/` and `project/` and is alone with them at the end.
"""

from collections.abc import Sequence
from itertools import chain, groupby

import pytest


def long_first(items: Sequence[pytest.Item], workers: int) -> list[pytest.Item]:
    """The tests in as many runs as there are workers. The tests of a file stay together.

    Those with slow tests are dealt first, the longest first, to the worker with the least time; the
    others fill the runs up to equal counts.
    """
    files = [list(tests) for _, tests in groupby(items, lambda item: item.path)]
    times = [sum(map(_seconds, file)) for file in files]
    runs: list[list[list[pytest.Item]]] = [[] for _ in range(workers)]
    begun = [0] * workers
    for seconds, file in sorted(zip(times, files, strict=True), key=lambda pair: -pair[0]):
        loads = begun if seconds else [sum(map(len, run)) for run in runs]
        worker = loads.index(min(loads))
        begun[worker] += seconds
        runs[worker].append(file)
    return list(chain.from_iterable(chain.from_iterable(runs)))


def _seconds(item: pytest.Item) -> int:
    """The seconds that a slow test takes: two, if its mark does not say more."""
    mark = item.get_closest_marker("slow")
    return 0 if mark is None else (*mark.args, 2)[0]
