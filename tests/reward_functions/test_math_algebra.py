"""Integrals, sums, limits and derivatives: closed forms, from processes that can be killed."""

from __future__ import annotations

import gc
import importlib.util
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import pytest

from infinite_rl.reward_functions.math import (
    MathRewardFunction,
    Verdict,
    closed_forms,
    verify,
    verify_many,
)
from infinite_rl.reward_functions.math import algebra as algebra_module
from infinite_rl.reward_functions.math.bounds import Unparsed
from infinite_rl.reward_functions.math.parse import parse
from infinite_rl.reward_functions.math.tree import show
from infinite_rl.workers.worker import NoWorkers

needs_sympy = pytest.mark.skipif(
    importlib.util.find_spec("sympy") is None, reason="sympy is not installed"
)
LONG_S = 60.0  # for the first question, which loads sympy


@pytest.fixture(scope="module", autouse=True)
def workers() -> Iterator[None]:
    if importlib.util.find_spec("sympy"):
        assert verify(r"\int_0^1 2x e^{x^2} \, dx", "e - 1", timeout=LONG_S).equal
    yield
    algebra_module.close()
    gc.collect()


EQUAL = [
    (r"\int_0^1 x^2 \, dx", "1/3"),
    (r"\int^1_0 x^2 \mathrm{d}x", "1/3"),
    ("∫_0^1 x dx", "1/2"),
    (r"2 \int_0^1 x \, dx + 3", "4"),
    (r"\int 2x \, dx", "x^2 + C"),
    (r"\int \frac{1}{x} \, dx", r"\ln x"),
    (r"\int_0^\infty e^{-x^2} \, dx", r"\frac{\sqrt{\pi}}{2}"),
    (r"\int_0^\infty \frac{\sin x}{x} \, dx", r"\frac{\pi}{2}"),
    (r"\int_{-\infty}^\infty \frac{\cos x}{1+x^2} \, dx", r"\frac{\pi}{e}"),
    (r"\int_0^{\pi/2} \int_0^1 r \, dr \, d\theta", r"\frac{\pi}{4}"),
    (r"\int_0^\infty e^{-ax} \, dx", r"\frac{1}{a}"),
    (r"\int_0^1 2x \, dx = 1", "1"),
    (r"\sum_{n=1}^\infty \frac{1}{n^2}", r"\frac{\pi^2}{6}"),
    (r"\sum_{k=1}^n k", r"\frac{n(n+1)}{2}"),
    (r"\sum_{k=0}^\infty x^k", r"\frac{1}{1-x}"),
    (r"\prod_{k=1}^n k", "n!"),
    (r"\lim_{x \to 0} \frac{\sin x}{x}", "1"),
    (r"\lim_{x \to 0^+} \frac{1}{x}", r"\infty"),
    (r"\lim_{x \to 0^{-}} \frac{1}{x}", r"-\infty"),
    (r"\lim_{n \to \infty} (1 + \frac{1}{n})^n", "e"),
    (r"\frac{d}{dx} x^3", "3x^2"),
]
DIFFERENT = [
    (r"\int_0^1 x^2 \, dx", "1/4"),
    (r"\int_0^\infty \frac{\sin x}{x} \, dx", r"\pi"),
    (r"\int 2x \, dx", "x^3"),
    (r"\sum_{n=1}^\infty \frac{1}{n^2}", r"\frac{\pi^2}{8}"),
    (r"\sum_{k=1}^n k", r"\frac{n(n-1)}{2}"),
    (r"\lim_{x \to 0} \frac{\sin x}{x}", "0"),
    (r"\lim_{x \to 0^+} \frac{1}{x}", r"-\infty"),
    (r"\frac{d}{dx} x^3", "3x"),
]
UNREAD = [
    r"\int_0^1 x^2",
    r"\int_0^1 f(x) \, dx",
    r"\int_0 x \, dx",
    r"\lim_{x \to 0} x + 1",
    r"\lim x",
    r"\int" * 300,
    r"\int x" * 300 + " dx" * 300,
    r"\lim_{" * 300,
]


def statuses(one: str, other: str, timeout: float = LONG_S) -> set[str]:
    """The statuses of a pair in both orders."""
    return {verify(one, other, timeout=timeout).status, verify(other, one, timeout=timeout).status}


@needs_sympy
def test_a_closed_form_is_found() -> None:
    assert [pair for pair in EQUAL if statuses(*pair) != {"equal"}] == []


@needs_sympy
def test_a_closed_form_is_no_other_one() -> None:
    assert [pair for pair in DIFFERENT if statuses(*pair) != {"different"}] == []


ELEMENTARY = [
    (r"\int_{-1}^{2} (x - 1)(x + 3) \, dx", "-3"),
    (r"\int_0^a 3x^2 \, dx", "a^3"),
    (r"\int_0^{\pi} x \, dx", r"\pi^2/2"),
    (r"\int 0 \, dx", "0"),
    (r"\int t^2 - \frac{t}{3} \, dt", r"\frac{t^3}{3} - \frac{t^2}{6} + C"),
    (r"\frac{d}{dx} 7", "0"),
    (r"\frac{d}{dx} (3x^2 - ax + \pi)", "6x - a"),
    (r"\frac{d}{dx} \frac{x}{x^2+1}", r"\frac{1-x^2}{(1+x^2)^2}"),
    (r"\frac{d}{dx} (x \sin(2x))", r"\sin 2x + 2x \cos 2x"),
    (r"\frac{d}{dx} e^{-x^2}", r"-2x e^{-x^2}"),
    (r"\frac{d}{dx} \sqrt{1-x^2}", r"\frac{-x}{\sqrt{1-x^2}}"),
    (r"\frac{d}{dx} (5\ln(3x) + \tan x)", r"\frac{5}{x} + \frac{1}{\cos^2 x}"),
    (r"\frac{d}{dx} \cos x", r"-\sin x"),
    (r"\int_0^{\pi/2} (3\cos x - 2\sin(2x)) \, dx", "1"),
    (r"\int_0^1 (e^{2x} + \frac{e^{-x}}{2}) \, dx", r"\frac{e^2}{2} - \frac{1}{2e}"),
    (r"\int_0^1 \frac{1}{1+x^2} \, dx", r"\frac{\pi}{4}"),
    (r"\int_{-1}^1 \frac{3}{x^2+x+1} \, dx", r"\sqrt{3}\pi"),
    (r"\int_0^b \frac{a}{2} \, dx", r"\frac{ab}{2}"),
    (r"\int a \, dx", "ax + C"),
    (r"\int_1^2 \frac{2}{3x} \, dx", r"\frac{2\ln 2}{3}"),
    (r"\int_{-3}^{-1} \frac{1}{x} \, dx", r"-\ln 3"),
    (r"\int_0^1 (5 - 2x)^{-1} \, dx", r"\frac{\ln 5 - \ln 3}{2}"),
    (r"\sum_{k=1}^n k^3", r"\frac{n^2(n+1)^2}{4}"),
    (r"\sum_{k=3}^{2m} (2k - 1)", "4m^2 - 4"),
    (r"\sum_{k=0}^n 3 \cdot 2^{k-1}", r"3 \cdot 2^n - \frac{3}{2}"),
    (r"\sum_{n=1}^\infty \frac{3(-1)^n}{2^{2n+1}}", "-3/10"),
    (r"\sum_{n=1}^\infty \frac{1}{n^4}", r"\frac{\pi^4}{90}"),
    (r"\sum_{n=2}^\infty \frac{3}{(2n)^2}", r"\frac{\pi^2}{8} - \frac{3}{4}"),
    (r"\lim_{x \to 2} \frac{x^2-4}{x-2}", "4"),
    (r"\lim_{x \to -\infty} \frac{3x^2 - x}{2x^2 + 5}", "3/2"),
    (r"\lim_{x \to -\infty} \frac{x}{\sqrt{x^2+1}}", "-1"),
    (r"\lim_{x \to 0^-} \frac{|x|}{x}", "-1"),
    (r"\lim_{x \to 0} \frac{x - \sin x}{\tan^3 x}", "1/6"),
    (r"\lim_{x \to 0} \frac{e^x - 1 - \ln(1+x)}{x^2}", "1"),
    (r"\lim_{n \to \infty} (1 - \frac{2}{n})^{3n}", "e^{-6}"),
    (r"\lim_{n \to \infty} (\sqrt{n^2+n} - n)", "1/2"),
]


def test_what_is_easy_needs_no_sympy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(algebra_module._solvers, "ask", None)
    assert [pair for pair in ELEMENTARY if statuses(*pair) != {"equal"}] == []
    other = [(one, f"{gold} + x/9") for one, gold in ELEMENTARY]
    assert [pair for pair in other if statuses(*pair) != {"different"}] == []


NOT_ELEMENTARY = [
    r"\int_{-1}^1 \frac{1}{x^2} \, dx",
    r"\int_0^{\infty} x \, dx",
    r"\int_0^{1/0} x \, dx",
    r"\int_0^1 \frac{1}{0} \, dx",
    r"\int_{-1}^1 \frac{1}{x} \, dx",
    r"\int_0^1 \frac{1}{x} \, dx",
    r"\int_1^2 (x + \frac{1}{x}) \, dx",
    r"\int_0^1 a x \, dx",
    r"\int_0^1 \int_0^1 x \, dx \, dy",
    r"\int_0^1 (1 + x)^{65} \, dx",
    r"\frac{d}{dx} |x|",
    r"\frac{d}{dx} x^x",
    r"\frac{d}{dx} (x + \frac{1}{0})",
    r"\frac{d}{dx} \log_2 x",
    r"\int_{-1}^1 \tan x \, dx",
    r"\int_0^2 \frac{1}{x^2-1} \, dx",
    r"\int_0^1 \sin x^2 \, dx",
    r"\sum_{k=1}^n a k",
    r"\sum_{k=1}^k k",
    r"\sum_{k=1}^{n/2} k",
    r"\sum_{k=a}^n k",
    r"\sum_{k=1}^n (-2)^k",
    r"\sum_{k=1}^n \frac{1}{k}",
    r"\sum_{k=0}^\infty 2^k",
    r"\sum_{k=0}^\infty (-1)^k",
    r"\sum_{k=1}^\infty \frac{1}{k}",
    r"\sum_{k=1}^\infty \frac{1}{k^3}",
    r"\sum_{k=0}^\infty \frac{1}{k^2}",
    r"\lim_{x \to 0} \frac{1}{x}",
    r"\lim_{x \to 0} \frac{|x|}{x}",
    r"\lim_{x \to 0} \sqrt{x}",
    r"\lim_{x \to 0} \frac{x}{x-x}",
    r"\lim_{x \to 0} \sin\frac{1}{x}",
    r"\lim_{x \to \infty} (1 + \frac{1}{x})^{x^2}",
    r"\lim_{x \to 0} \frac{\cos x - 1 + x^2/2 - x^4/24 + x^6/720}{x^8}",
    r"\lim_{x \to 0} \frac{a x}{x}",
    r"\lim_{x \to 1} \sin x",
    r"\lim_{x \to \pi} x",
]


def test_what_is_not_easy_is_left_to_sympy() -> None:
    questions = [(text, parse(text)) for text in NOT_ELEMENTARY]
    assert {question.op for _, question in questions} == {"calculus"}
    assert [text for text, question in questions if closed_forms.closed_form(question)] == []


WITHOUT_CLOSED_FORM = [
    r"\int_0^1 x^x \, dx",
    r"\int_0^1 \frac{1}{x} \, dx",
    r"\int_0^\infty \sin x \, dx",  # it would be 1 if waves that stay were extrapolated
    r"\int_0^\infty x \sin x \, dx",
    r"\int_{-\infty}^\infty \frac{x + \sin x}{1+x^2} \, dx",  # its halves would cancel
    r"\lim_{x \to 0} \frac{1}{x}",
]


@needs_sympy
def test_what_has_no_closed_form_is_unparsed() -> None:
    assert [text for text in WITHOUT_CLOSED_FORM if statuses(text, "1") != {"unparsed"}] == []
    for text in (r"\int_1^\infty \frac{1}{x} \, dx", r"\sum_{n=1}^\infty \frac{1}{n}"):
        assert verify(text, r"\infty", timeout=LONG_S).reason.endswith("it does not converge")


def test_what_is_incomplete_is_refused_at_once() -> None:
    refused = {"unparsed", "budget"}
    assert [text for text in UNREAD if not statuses(text, "1", timeout=0.5) <= refused] == []


def test_the_same_text_needs_no_algebra() -> None:
    assert verify(r"\boxed{\int_0^1 x^x \, dx}", r"\int_0^1 x^x \, dx", timeout=0.5).equal


def test_the_parts_of_an_integral_are_read() -> None:
    assert show(parse(r"\int_0^1 x^2 \, dx")) == "(calculus int (pow x 2) x 0 1)"
    with pytest.raises(Unparsed):
        parse(r"\int_0^1 x^2")


def test_without_sympy_nobody_is_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    solvers = algebra_module._Solvers()
    solvers._missing = "sympy is not installed"
    monkeypatch.setattr(algebra_module, "_solvers", solvers)
    monkeypatch.setattr(algebra_module, "_cache", {})
    verdict = verify(r"\int_0^1 12x e^{6x^2} \, dx", "e^6 - 1")
    assert verdict.status == "budget" and verdict.missing
    assert verdict.reason == "prediction: algebra is not to be had: sympy is not installed"
    score = MathRewardFunction().compute_reward(
        r"<answer>\int_0^1 12xe^{6x^2} dx</answer>", "e^6-1"
    )
    assert score.status == "unscored"


@pytest.mark.slow
@needs_sympy
def test_a_batch_needs_its_time_once_for_each_core() -> None:
    pairs = [(rf"\int_0^1 {2 * n}x e^{{{n}x^2}} \, dx", rf"e^{{{n}}} - 1") for n in range(20, 26)]
    verdicts = verify_many([*pairs, ("1", "2"), *pairs, ("2", "2")], timeout=LONG_S)
    assert [verdict.equal for verdict in verdicts] == [True] * 6 + [False] + [True] * 6 + [True]


# -- the workers ----------------------------------------------------------------------------------


def test_a_worker_that_is_not_there_yet_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    over, there = threading.Event(), threading.Event()

    def worker() -> NoReturn:
        over.wait(60)
        there.set()
        raise NoWorkers("the test is over")

    monkeypatch.setattr(algebra_module, "_solvers", algebra_module._Solvers())
    monkeypatch.setattr(algebra_module, "Worker", worker)
    monkeypatch.setattr(algebra_module, "_cache", {})
    try:
        verdict = verify(r"\int_0^1 12x e^{6x^2} \, dx", "e^6 - 1", timeout=0.02)
        assert verdict.status == "timeout" and verdict.missing and not there.is_set()
    finally:
        over.set()
        for thread in threading.enumerate():
            if thread.name == "algebra":
                thread.join()  # before the real workers are back


@pytest.mark.slow
@needs_sympy
def test_many_threads_share_the_workers() -> None:
    texts = [rf"\int_0^1 {2 * n}x e^{{{n}x^2}} \, dx" for n in range(2, 10)]
    with ThreadPoolExecutor(8) as pool:
        verdicts: list[Verdict] = list(
            pool.map(lambda text: verify(text, "e^4 - 1", timeout=LONG_S), texts)
        )
    assert [verdict.equal for verdict in verdicts] == [n == 4 for n in range(2, 10)]


@pytest.mark.slow
@needs_sympy
def test_a_dead_worker_is_replaced() -> None:
    for worker in list(algebra_module._solvers._idle):
        worker.kill()
    assert verify(r"\int_0^1 x^{77} \, dx", "1/78", timeout=LONG_S).equal


@pytest.mark.slow
@needs_sympy
def test_what_swells_dies_alone() -> None:
    assert verify(r"\prod_{k=1}^{n} 10^{300000 k^3}", "3", timeout=3).status != "equal"
    assert verify(r"\int_0^1 x^{78} \, dx", "1/79", timeout=LONG_S).equal


def test_nothing_of_it_is_text_to_sympy() -> None:
    text = r"\int_0^1 __import__('os').system('touch /tmp/pwned') \, dx"
    assert verify(text, "1", timeout=1).status == "unparsed"
    assert not Path("/tmp/pwned").exists()


@pytest.mark.slow
def test_a_row_is_scored_though_sympy_had_to_be_loaded_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    solvers = algebra_module._Solvers()
    monkeypatch.setattr(algebra_module, "_solvers", solvers)
    monkeypatch.setattr(algebra_module, "_cache", {})
    pair = (r"\int_0^{\pi/2} \sin x \cos x \, dx", "1/2")
    cold = verify(*pair, timeout=0.0)
    assert cold.status == "timeout" and cold.missing, "the deadline of one call holds"
    assert verify_many([pair], timeout=20.0)[0].equal
    solvers.close()
