"""The replies of a target: called in turn, in a batch, in threads, in forks, many times.

A reply is a reward, {"reward": number}, or {"fault": kind, "what": details}.
"""

from __future__ import annotations

import builtins
import copy
import decimal
import gc
import itertools
import json
import math
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from .conventions import call
from .parameters import Unfit

# Parts of the process, as findings name them (see `_state`).
PATCHED, _VARIABLES = "built-in functions", "environment variables"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD)
_SOAK_S = 3.0  # for many calls
_MANY_ROUNDS = 400
_GROWTH_CALLS = 700  # of each of three rounds: a leak grows in the last two
_FORKS = 3

Reply = dict[str, Any]
Pairs = Sequence[tuple[Any, str]]  # a row and a completion
Judge = Callable[[Pairs], list[Reply]]


def judged(target: Any, kind: str, chat: bool, pairs: Pairs) -> list[Reply]:
    """The replies for some completions, by one call of a batch or each by itself."""
    rows, texts = [row for row, _ in pairs], [text for _, text in pairs]
    start = time.perf_counter()
    try:
        values = call(kind, target, rows, texts, chat)
    except Unfit as error:
        return [{"fault": "unfit", "what": str(error)}] * len(rows)
    except BaseException as error:  # a foreign reward may raise anything, SystemExit too
        what = f"{type(error).__name__}: {str(error)[:200]}"
        return [{"fault": "raised", "what": what}] * len(rows)
    seconds = time.perf_counter() - start
    if len(values) != len(rows):
        what = f"{len(values)} rewards for {len(rows)} completions"
        return [{"fault": "length", "what": what}] * len(rows)
    return [dict(_reward(value), seconds=seconds) for value in values]


def _reward(value: Any) -> Reply:
    if isinstance(value, dict):
        names = ("score", "reward", "exact_match", "acc", "accuracy", *value)
        value = next((value[name] for name in names if name in value), None)
    if isinstance(value, (list, tuple)) and value:
        value = value[0]
    if value is None:
        return {"fault": "none"}
    if hasattr(value, "item") and not isinstance(value, (int, float)):
        try:
            value = value.item()
        except Exception as error:  # item() of a foreign type may raise any error
            return {"fault": "type", "what": f"{type(value).__name__}: {error}"}
    if not isinstance(value, (bool, int, float)):
        return {"fault": "type", "what": type(value).__name__}
    number = float(value)
    if math.isnan(number) or math.isinf(number):
        return {"fault": "nan", "what": str(number)}
    return {"reward": number}


# --- the ways to call ----------------------------------------------------------------------------


def _each(judge: Judge, pairs: Pairs) -> list[Reply]:
    return [judge([pair])[0] for pair in pairs]


_watched = itertools.count()


def _in_turn(judge: Judge, pairs: Pairs) -> Iterator[Reply]:
    """The replies, with the changes of each call to its arguments and its process."""
    for pair in pairs:
        before, kept = _state(), copy.deepcopy(pair[0])
        [reply] = judge([pair])
        after = _state()
        changed = [name for name in before if before[name] != after[name]]
        if next(_watched) == 0 and _VARIABLES in changed:
            changed.remove(_VARIABLES)  # libraries that the first call imports set some
        if pair[0] != kept:
            changed.append("its arguments")
        yield dict(reply, changed=changed) if changed else reply


def _state() -> dict[str, Any]:
    """The state of the process that no call may change."""
    return {
        "the working directory": os.getcwd(),
        "the recursion limit": sys.getrecursionlimit(),
        "a pending alarm": bool(hasattr(signal, "getitimer") and signal.getitimer(0)[0] > 0),
        PATCHED: {name: id(value) for name, value in vars(builtins).items()},
        "the functions of json and math": (id(json.loads), id(json.dumps), id(math.isclose)),
        "sys.stdout": id(sys.stdout),
        "the global random numbers": hash(random.getstate()),
        _VARIABLES: dict(os.environ),
        "the precision of decimals": decimal.getcontext().prec,
        "a signal's handler": [signal.getsignal(each) for each in _SIGNALS],
    }


def _in_threads(count: int, judge: Judge, pairs: Pairs) -> list[Reply]:
    replies: dict[int, Reply] = {}

    def work(first: int) -> None:
        for at in range(first, len(pairs), count):
            [replies[at]] = judge([pairs[at]])

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return [replies[at] for at in range(len(pairs))]


def _in_forks(judge: Judge, pairs: Pairs) -> Iterator[Reply]:
    """The replies of several forked processes at once; of a pair the one that differs."""
    children = []
    for _ in range(_FORKS):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            with os.fdopen(writing, "w") as out:
                out.write(json.dumps(_each(judge, pairs)))
                out.flush()
                os._exit(0)
        os.close(writing)
        children.append((child, reading))
    replies = []
    for child, reading in children:
        with os.fdopen(reading) as file:
            text = file.read()
        os.waitpid(child, 0)
        replies.append(json.loads(text))
    for first, *others in zip(*replies, strict=True):
        yield next((each for each in others if each.get("reward") != first.get("reward")), first)


def _many_times(judge: Judge, pairs: Pairs) -> list[Reply]:
    """The first replies, or those of later rounds that differ from them."""
    first = _each(judge, pairs)
    last, end = list(first), time.monotonic() + _SOAK_S
    for _ in range(_MANY_ROUNDS):
        if time.monotonic() > end:
            break
        for at, reply in enumerate(_each(judge, pairs)):
            if any(reply.get(key) != first[at].get(key) for key in ("reward", "fault")):
                last[at] = reply
    return last


def _with_growth(judge: Judge, pairs: Pairs) -> list[Reply]:
    """A reply that says what grows by each call with another text."""
    [(row, text), *_] = pairs
    counts, end = [_kept()], time.monotonic() + _SOAK_S
    reply: Reply = {"fault": "none"}
    for part in range(1, 4):
        for number in range(_GROWTH_CALLS):
            [reply] = judge([(row, f"{part}.{number} {text}")])
            if time.monotonic() > end:
                return [reply]
        counts.append(_kept())
    grown = [
        name
        for name, at_first in counts[1].items()
        if min(counts[2][name] - at_first, counts[3][name] - counts[2][name]) >= 0.9 * _GROWTH_CALLS
    ]
    return [dict(reply, changed=grown) if grown else reply]


def _kept() -> dict[str, int]:
    """Counts of objects, files and threads, which must not grow with the number of calls."""
    gc.collect()
    files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    return {"memory": sys.getallocatedblocks(), "open files": files,
            "threads": threading.active_count()}  # fmt: skip


MAIN, BATCH, THREAD, THREADS, FORK = "main", "batch", "thread", "threads", "fork"
MANY, GROWTH = "many", "growth"
WAYS: dict[str, Callable[[Judge, Pairs], Iterator[Reply] | list[Reply]]] = {
    MAIN: _in_turn,
    BATCH: lambda judge, pairs: judge(pairs),
    THREAD: partial(_in_threads, 1),
    THREADS: partial(_in_threads, 8),
    FORK: _in_forks,
    MANY: _many_times,
    GROWTH: _with_growth,
}
