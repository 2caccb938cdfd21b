"""Integrals, sums, limits and derivatives in an answer, replaced by their closed forms.

sympy works them out in worker processes (`solver`). Nothing here blocks beyond the deadline:
workers start in the background on first need, and another one if none has been free for a while, at
most one for each processor core. Their closed forms are kept.
"""

import atexit
import os
import threading
import time
from fractions import Fraction
from typing import Any

from ...workers.pool import default_count
from ...workers.worker import NoWorkers, Worker, WorkerGone, message_of
from .bounds import NotReady, OutOfTime, OverBudget, Unavailable, Unparsed, bits
from .tree import Node

_SOLVER = "infinite_rl.reward_functions.math.solver"
_START_S = 60.0  # until sympy is loaded, on a machine that is very busy
_ANSWER_S = 0.03  # for the answer to come back, after the worker's own deadline
_PATIENCE_S = 0.5  # without a free worker, until another one is started: that takes a second
_KEPT = 512  # closed forms
_MOST_BITS = 20_000  # of a number in a closed form


def without_calculus(node: Node, deadline: float) -> Node:
    """Replace each integral, sum, product, limit and derivative in a tree by its closed form.

    `deadline` is a time of the monotonic clock.

    Raises:
        Unparsed: one of them has no closed form.
        OutOfTime: the deadline has passed.
        Unavailable: sympy is missing, or no process can be started.
    """
    if node.op == "calculus":
        return _closed_form(node, deadline)
    if not node.holds("calculus"):
        return node
    return node.with_args(without_calculus(arg, deadline) for arg in node.args)


_cache: dict[Node, Node] = {}  # a plain dict: its single steps are safe in any thread


def _closed_form(node: Node, deadline: float) -> Node:
    closed = _cache.get(node)
    if closed is None:
        answer = _solvers.ask(_plain(node), deadline)
        if "fault" in answer:
            if answer["timeout"]:
                raise OutOfTime("the deadline passed")
            raise Unparsed(f"{_WORDS[str(node.value)]}: {answer['fault']}")
        closed = _node(answer["tree"])
        if len(_cache) >= _KEPT:
            _cache.clear()
        _cache[node] = closed
    return closed


def forget_closed_forms() -> None:
    """Empty the cache of closed forms, so that a benchmark measures every question anew."""
    _cache.clear()


_WORDS = {"int": "an integral", "sum": "a sum", "prod": "a product", "diff": "a derivative"}
_WORDS |= {"lim": "a limit", "lim+": "a limit", "lim-": "a limit"}


# --- trees as plain data -------------------------------------------------------------------------


def _plain(node: Node) -> list[Any]:
    value = node.value
    if isinstance(value, Fraction):
        if bits(value) > 2_000:
            raise OverBudget("a number of too many digits in an integral or a sum")
        value = f"{value.numerator}/{value.denominator}"
    return [node.op, value, [_plain(arg) for arg in node.args]]


def _node(plain: list[Any]) -> Node:
    op, value, args = plain
    if op == "num":
        if len(value) > _MOST_BITS // 4:
            raise OverBudget("a closed form of too many digits")
        top, _, bottom = value.partition("/")
        return Node("num", (), Fraction(int(top), int(bottom)))
    return Node(op, tuple(_node(arg) for arg in args), value)


# --- the workers ---------------------------------------------------------------------------------


class _Solvers:
    """Workers with sympy loaded. Any thread may ask."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._change = threading.Condition()
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._starting = 0
        self._missing = ""  # why there are none

    def ask(self, tree: list[Any], deadline: float) -> dict[str, Any]:
        """Send a question to a worker and return its answer. Raises OutOfTime and Unavailable."""
        worker = self._take(deadline)
        left = max(0.0, deadline - time.monotonic())
        job = message_of({"tree": tree, "timeout": left})
        try:
            (answer,) = worker.answers(f"{_SOLVER}:answer", [job], left + _ANSWER_S)
        except WorkerGone as gone:
            raise OutOfTime(str(gone)) from gone
        finally:
            self._give_back(worker)
        kind, answer_or_error = answer
        if kind != "ok":
            raise Unavailable(f"the algebra worker failed: {answer_or_error}")
        result: dict[str, Any] = answer_or_error
        return result

    def _take(self, deadline: float) -> Worker:
        with self._change:
            while True:
                if self._missing:
                    raise Unavailable(f"algebra is not to be had: {self._missing}")
                while self._idle:
                    worker = self._idle.pop()
                    if worker.alive():
                        return worker
                    self._all.discard(worker)
                if not self._all and not self._starting:
                    self._start_soon()
                left = max(0.0, deadline - time.monotonic())
                if self._change.wait(min(left, _PATIENCE_S)):
                    continue
                if left > _PATIENCE_S:
                    if not self._starting and len(self._all) < default_count():
                        self._start_soon()
                elif not self._all:
                    raise NotReady("sympy was still being loaded")
                else:
                    raise OutOfTime("no algebra worker was free before the deadline")

    def wait_until_ready(self) -> None:
        """Wait until the first worker is ready, or raise why no worker could start."""
        deadline = time.monotonic() + _START_S
        with self._change:
            while not self._all and not self._missing:
                if not self._starting:
                    self._start_soon()
                if not self._change.wait(max(0.0, deadline - time.monotonic())):
                    return

    def _give_back(self, worker: Worker) -> None:
        with self._change:
            if worker.alive():
                self._idle.append(worker)
            else:
                self._all.discard(worker)
            self._change.notify()

    def _start_soon(self) -> None:
        try:
            threading.Thread(target=self._start, name="algebra", daemon=True).start()
        except RuntimeError as fault:  # no thread is to be had, or the interpreter is ending
            raise Unavailable(f"algebra is not to be had: {fault}") from fault
        self._starting += 1

    def _start(self) -> None:
        worker, missing = None, ""
        try:
            worker = Worker()
            (answer,) = worker.answers(f"{_SOLVER}:warm_up", [message_of(None)], _START_S)
            missing = str(answer[1]) if answer != ["ok", ""] else ""
        except NoWorkers as fault:
            missing = str(fault)
        except WorkerGone:
            worker = None  # a waiting thread starts another one
        with self._change:
            self._starting -= 1
            self._missing = missing
            if worker and missing:
                worker.close()
            elif worker:
                self._all.add(worker)
                self._idle.append(worker)
            self._change.notify_all()

    def close(self) -> None:
        with self._change:
            idle, self._idle = self._idle, []
        for worker in idle:
            self._all.discard(worker)
            worker.close()

    def forget(self) -> None:
        """Start anew in a forked child, which has none of the threads that start the workers."""
        for worker in self._all:
            worker.forget()
        self._reset()


_solvers = _Solvers()


def wait_until_ready() -> None:
    """Load sympy in a worker if none has it: up to a minute. Raises Unavailable."""
    _solvers.wait_until_ready()


def close() -> None:
    """End the idle workers. The next question starts new ones."""
    _solvers.close()


os.register_at_fork(after_in_child=_solvers.forget)
atexit.register(close)
