"""Integrals, sums, limits and derivatives: closed forms, from processes that can be killed."""

import gc
import importlib.util
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from pathlib import Path
from typing import NoReturn

import pytest

from infinite_rl.reward_functions.math import MathRewardFunction, algebra, verify, verify_many
from infinite_rl.reward_functions.math.parse import parse
from infinite_rl.reward_functions.math.tree import show
from infinite_rl.workers.lender import Lender
from infinite_rl.workers.worker import NoWorkers
from tests.support.labelled import Tables

tables = Tables(__file__)
needs_sympy = pytest.mark.skipif(
    importlib.util.find_spec("sympy") is None, reason="sympy is not installed"
)
LONG_S = 60.0  # for the first question, which loads sympy
QUESTION = r"\int_0^1 12x e^{6x^2} \, dx"  # one for sympy: e^6 - 1


@pytest.fixture(scope="module", autouse=True)
def workers() -> Iterator[None]:
    if importlib.util.find_spec("sympy"):
        assert verify(r"\int_0^1 2x e^{x^2} \, dx", "e - 1", timeout=LONG_S).equal
    yield
    algebra.close()
    gc.collect()


@pytest.fixture
def solvers(monkeypatch: pytest.MonkeyPatch) -> Lender:
    """Solvers without a worker and without what was found before."""
    new = Lender(algebra._start)
    monkeypatch.setattr(algebra, "_solvers", new)
    monkeypatch.setattr(algebra, "_cache", {})
    return new


def statuses(one: str, other: str, timeout: float = LONG_S) -> set[str]:
    """The statuses of a pair in both orders."""
    return {verify(one, other, timeout=timeout).status, verify(other, one, timeout=timeout).status}


@needs_sympy
@tables
def test_a_question_has_its_closed_form(text: str, other: str, status: str) -> None:
    assert statuses(text, other) == {status}


@needs_sympy
def test_what_does_not_converge_is_said_to() -> None:
    for text in (r"\int_1^\infty \frac{1}{x} \, dx", r"\sum_{n=1}^\infty \frac{1}{n}"):
        assert verify(text, r"\infty", timeout=LONG_S).reason.endswith("it does not converge")


def test_what_is_incomplete_is_refused_at_once() -> None:
    unread = [r"\int_0^1 x^2", r"\int_0^1 f(x) \, dx", r"\int_0 x \, dx", r"\lim_{x \to 0} x + 1"]
    unread += [r"\lim x", r"\int" * 300, r"\int x" * 300 + " dx" * 300, r"\lim_{" * 300]
    unread += [r"\int_0^1 __import__('os').system('touch /tmp/pwned') \, dx"]
    refused = {"unparsed", "budget"}
    assert [text for text in unread if not statuses(text, "1", timeout=0.5) <= refused] == []
    assert not Path("/tmp/pwned").exists()


def test_the_same_text_needs_no_algebra() -> None:
    assert verify(r"\boxed{\int_0^1 x^x \, dx}", r"\int_0^1 x^x \, dx", timeout=0.5).equal


def test_the_parts_of_an_integral_are_read() -> None:
    assert show(parse(r"\int_0^1 x^2 \, dx")) == "(calculus int (pow x 2) x 0 1)"


def test_without_sympy_nobody_is_blamed(solvers: Lender) -> None:
    solvers.fault = NoWorkers("sympy is not installed")
    verdict = verify(QUESTION, "e^6 - 1")
    assert verdict.status == "budget" and verdict.missing
    assert verdict.reason == "prediction: algebra is not to be had: sympy is not installed"
    score = MathRewardFunction().compute_reward(f"<answer>{QUESTION}</answer>", "e^6-1")
    assert score.status == "unscored"


# -- the workers ----------------------------------------------------------------------------------
def test_a_verdict_waits_for_the_first_worker_beyond_its_timeout(
    solvers: Lender, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    def worker() -> NoReturn:
        over.wait(60)
        raise NoWorkers("the test is over")

    monkeypatch.setattr(algebra, "Worker", worker)
    with ThreadPoolExecutor(1) as pool:
        verdict = pool.submit(verify, QUESTION, "e^6 - 1", timeout=0.2)
        try:
            with pytest.raises(TimeoutError):
                verdict.result(0.6)  # three times its own
        finally:
            over.set()
    assert verdict.result().status == "budget" and verdict.result().missing
    for thread in threading.enumerate():
        if thread.name == "algebra":
            thread.join()  # before the real workers are back


@pytest.mark.slow
@needs_sympy
def test_threads_and_batches_share_the_workers() -> None:
    texts = [rf"\int_0^1 {2 * n}x e^{{{n}x^2}} \, dx" for n in range(2, 8)]
    pairs = [(text, "e^4 - 1") for text in texts]
    verdicts = verify_many([*pairs, ("1", "2"), *pairs, ("2", "2")], timeout=LONG_S)
    right = [n == 4 for n in range(2, 8)]
    assert [verdict.equal for verdict in verdicts] == [*right, False, *right, True]
    algebra._cache.clear()
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda pair: verify(*pair, timeout=LONG_S), pairs))
    assert [verdict.equal for verdict in together] == right


@pytest.mark.slow
@needs_sympy
def test_a_worker_that_dies_is_replaced_and_what_swells_dies_alone() -> None:
    for worker in list(algebra._solvers.idle):
        worker.kill()
    assert verify(r"\int_0^1 24x e^{12x^2} \, dx", "e^{12} - 1", timeout=LONG_S).equal
    assert verify(r"\prod_{k=1}^{n} 10^{300000 k^3}", "3", timeout=3).status != "equal"
    assert verify(r"\int_0^1 26x e^{13x^2} \, dx", "e^{13} - 1", timeout=LONG_S).equal


@pytest.mark.slow
def test_a_row_is_scored_though_sympy_had_to_be_loaded_first(solvers: Lender) -> None:
    assert verify_many([(QUESTION, "e^6 - 1")], timeout=20.0)[0].equal
    solvers.close_idle()
