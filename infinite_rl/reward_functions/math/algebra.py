"""Integrals, sums, limits and derivatives in an answer, replaced by their closed forms.

sympy works them out in worker processes (`solver`). Nothing here blocks beyond the deadline:
workers start in the background on first need, and another one if none has been free for a while, at
most one for each processor core. Their closed forms are kept.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any, TypeVar

from ...workers.lender import Lender
from ...workers.pool import default_count
from ...workers.worker import NoWorkers, Worker, WorkerGone, message_of
from .bounds import NotReady, OutOfTime, OverBudget, Unavailable, Unparsed, bits
from .tree import Node

T = TypeVar("T")
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
        answer = _ask(_plain(node), deadline)
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


def _start() -> Worker:
    """Start a worker that loads sympy. Raises `NoWorkers` and `WorkerGone`."""
    worker = Worker()
    (answer,) = worker.answers(f"{_SOLVER}:warm_up", [message_of(None)], _START_S)
    if answer != ["ok", ""]:
        worker.close()
        raise NoWorkers(str(answer[1]))
    return worker


_solvers = Lender(_start)


def _by_worker(use: Callable[[Worker], T], deadline: float) -> T:
    """Return what `use` makes of a worker. Raises OutOfTime, NotReady and Unavailable."""
    is_waiting = False
    while True:
        if is_waiting or not _solvers.count:
            _start_soon()
        left = max(0.0, deadline - time.monotonic())
        try:
            with _solvers.idle_worker(min(left, _PATIENCE_S)) as worker:
                return use(worker)
        except NoWorkers as fault:
            raise Unavailable(f"algebra is not to be had: {fault}") from None
        except WorkerGone as gone:
            raise OutOfTime(str(gone)) from gone
        except TimeoutError:
            is_waiting = True
        if left <= _PATIENCE_S and not _solvers.count:
            raise NotReady("sympy was still being loaded")
        if left <= _PATIENCE_S:
            raise OutOfTime("no algebra worker was free before the deadline")


def _start_soon() -> None:
    """Start a worker in the background, unless there are enough."""
    most = (default_count(),)
    try:
        threading.Thread(target=_solvers.add_worker, args=most, name="algebra", daemon=True).start()
    except RuntimeError as fault:  # no thread is to be had, or the interpreter is ending
        raise Unavailable(f"algebra is not to be had: {fault}") from fault


def _ask(tree: list[Any], deadline: float) -> dict[str, Any]:
    """Send a question to a worker and return its answer. Raises as `_by_worker`."""

    def answer_of(worker: Worker) -> Any:
        left = max(0.0, deadline - time.monotonic())
        job = message_of({"tree": tree, "timeout": left})
        (answer,) = worker.answers(f"{_SOLVER}:answer", [job], left + _ANSWER_S)
        return answer

    kind, answer_or_error = _by_worker(answer_of, deadline)
    if kind != "ok":
        raise Unavailable(f"the algebra worker failed: {answer_or_error}")
    result: dict[str, Any] = answer_or_error
    return result


def wait_until_ready() -> None:
    """Start a worker that loads sympy, unless one has: up to a minute.

    If it cannot start, this raises nothing; the calls that need it raise the reason.
    """
    with suppress(OutOfTime, Unavailable):
        _by_worker(lambda _: None, time.monotonic() + _START_S)


def close() -> None:
    """End the idle workers. The next question starts new ones."""
    _solvers.close_idle()
