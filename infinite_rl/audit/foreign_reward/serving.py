"""The process: requests as JSON lines on stdin, replies as JSON lines on the original stdout.

The reward itself reads and prints nothing. A middle process stands between the caller and the
reward, so a reward that kills its parent does not reach the caller.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from .calls import WAYS, Reply, judged
from .loading import describe, load
from .tasksets import Tasks


def main() -> None:
    """Start: limit the memory, put a process between the caller and the reward, and serve."""
    spec, paths, megabytes = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
    caller = os.getppid()
    child = os.fork()
    if child:
        _leave_streams()
        threading.Thread(target=_end_with, args=(caller, child), daemon=True).start()
        os.waitpid(child, 0)
        return
    if megabytes:
        import resource

        limit = megabytes * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.path[:1] = paths  # in place of the folder that this package is in
    _serve(spec)
    os._exit(0)


def _end_with(caller: int, child: int) -> None:
    """Kill the reward when the caller has gone, as it does if it is killed itself."""
    while os.getppid() == caller:
        time.sleep(0.5)
    os.kill(child, signal.SIGKILL)


def _leave_streams() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)


def _serve(spec: str) -> None:
    """Answer requests until the input ends."""
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    _leave_streams()
    dumps, loads = json.dumps, json.loads  # a reward may patch the library

    def emit(reply: Reply) -> None:
        replies.write(dumps(reply) + "\n")
        replies.flush()

    try:
        target = load(spec)
        emit(describe(target))
    except BaseException as error:  # a foreign module may raise anything
        emit({"error": f"{type(error).__name__}: {str(error)[:500]}"})
        return
    for line in requests:
        request = loads(line)
        if request["how"] == "rows":
            _give_rows(target, request["most"], emit)
            continue
        random.seed()
        judge = partial(judged, target, request["kind"], request["chat"])
        for reply in WAYS[request["how"]](judge, request["pairs"]):
            emit(reply)


def _give_rows(target: Any, most: int, emit: Callable[[Reply], None]) -> None:
    """Give the rows of a taskset, and then its end or an error."""
    try:
        if not isinstance(target, Tasks):
            raise ValueError("it has no rows: give it some with --rows FILE")
        for columns in target.rows(most):
            emit({"columns": columns})
    except BaseException as error:  # a foreign module may raise anything
        emit({"error": f"{str(error)[:500] or type(error).__name__}"})
    emit({})
