"""`verify` on hostile, random and generated texts: bounded, symmetric, and it never raises."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infinite_rl.reward_functions.math import Verdict, verify
from infinite_rl.reward_functions.math.bounds import Budget, OutOfTime, OverBudget
from infinite_rl.reward_functions.math.parse import parse
from infinite_rl.reward_functions.math.tree import show

# What each must not be is "equal"; several also have one status that they must have.
HOSTILE: dict[str, tuple[str, str]] = {
    "power tower": ("9^{9^{9^9}}", "budget"),
    "plain tower": ("9**9**9**9", "budget"),
    "negative tower": ("9^{-9^{9^9}}", "budget"),
    "tower of e": ("e^{e^{e^{e^e}}}", "budget"),
    "tower with a name": ("x^{9^{9^{9^9}}}", "budget"),
    "power of e": ("e^{10^{100}}", "budget"),
    "factorial": ("(10^9)!", "budget"),
    "factorial of factorial": ("((10!)!)!", "budget"),
    "binomial": (r"\binom{10^9}{10^8}", "budget"),
    "nested parentheses": ("(" * 1000 + "1" + ")" * 1000, "budget"),
    "open parentheses": ("(" * 600, "budget"),
    "nested fractions": (r"\frac{1}{" * 1000 + "1" + "}" * 1000, "budget"),
    "continued fraction": (r"\frac{1}{1+" * 100 + "1" + "}" * 100, "budget"),
    "nested roots": (r"\sqrt{" * 300 + "2" + "}" * 300, "budget"),
    "nested logarithms": (r"\log" * 300 + " 2", "budget"),
    "exponents": ("x^" * 300 + "x", "budget"),
    "bars": ("|" * 300 + "x" + "|" * 300, "budget"),
    "long sum": ("1+" * 50_000 + "1", "budget"),
    "sum within the limits": ("1+" * 700 + "1", "different"),
    "signs": ("-" * 1400 + "5", "different"),
    "signs in turn": (r"\pm" * 50 + "1", "unparsed"),
    "factorials": ("5" + "!" * 1000, "unparsed"),
    "primes": ("x" + "'" * 1000, "unparsed"),
    "equal signs": ("1=" * 500 + "1", "different"),
    "letters": ("x" * 100_000, "budget"),
    "digits": ("9" * 100_000, "budget"),
    "digits of a repeating decimal": ("0.(" + "9" * 2_000 + ")", "budget"),
    "huge scientific notation": ("1e999999999", "budget"),
    "product of large numbers": ("1e5000*1e5000*1e5000", ""),
    "many large numbers": (r" \cdot ".join(["9" * 900] * 4) + "^{50}", "budget"),
    "many denominators": ("+".join(f"1/{10**12 + i}" for i in range(200)), "different"),
    "power with many terms": ("(a+b+c+d+f)^{60}", "different"),
    "two powers with many terms": ("(a+b+c+d+f)^{60}(x+y+z+w)^{60}", "different"),
    "high degree": ("(x+1)^{5000}", "different"),
    "many variables": ("+".join("abcdfghjklmnopq"), "budget"),
    "large angle": (r"\sin(10^{4000})", "budget"),
    "large matrix": (
        r"\begin{pmatrix}" + r"\\".join(["&".join("1" * 60)] * 60) + r"\end{pmatrix}",
        "budget",
    ),
    "large set": (r"\{" + ",".join(map(str, range(5000))) + r"\}", "budget"),
    "set of roots": (r"\{" + ",".join(rf"\sqrt{{{i}}}" for i in range(2, 200)) + r"\}", ""),
    "import": ("__import__('os').system('touch /tmp/pwned')", "unparsed"),
    "import in a box": (r"\boxed{__import__('os').getcwd()}", "unparsed"),
    "import in words": (r"\operatorname{__import__('os').getcwd()}", "different"),
    "attribute walk": ("().__class__.__mro__[1].__subclasses__()", "unparsed"),
    "lambda": ("(lambda: 3)()", "unparsed"),
    "null bytes": ("\0" * 50, "unparsed"),
    "number with a null byte": ("3\0", "unparsed"),
    "right-to-left mark": ("\u202e3", "unparsed"),
    "surrogate": ("\ud800", "unparsed"),
    "arabic digit": ("٣", "unparsed"),
    "emoji digit": ("3️⃣", "unparsed"),
    "open braces": ("{" * 500, "budget"),
    "closing braces": ("}" * 500, "unparsed"),
    "open boxes": (r"\boxed{" * 20_000, "unparsed"),
    "boxes in a row": (r"\boxed{1}, " * 5_000 + r"\boxed{3}", "unparsed"),
    "boxes far apart": (r"\boxed{3}" + " $" * 100_000 + r"\boxed{4}", "different"),
    "markers": ("the answer is " * 50_000, "unparsed"),
    "denials": ("not " * 100_000 + "the answer is 3", "unparsed"),
    "chain of a function": ("f(x)=" * 100 + "5", "unparsed"),
    "hidden by a tower": (r"3 + e^{-e^{e^{4}}}", "budget"),
    "hidden in a whole part": (r"\lfloor 4 - e^{-9000} \rfloor", ""),
    "many turns": ("+".join(f"|x-{i}|" for i in range(2, 120)), "different"),
    "open text": (r"\text{" * 500, "unparsed"),
    "dollars": ("$" * 5_000, "budget"),
    "spaces": (" " * 100_000, "unparsed"),
    "commas": ("," * 1_000, "unparsed"),
    "words": ("word " * 20_000, "budget"),
    "division by zero": ("1/0", "different"),
    "hidden division by zero": (r"\frac{3(x-x)}{x-x}", "different"),
    "infinity minus itself": (r"\infty - \infty", "different"),
    "nest of powers": ("(1+" * 39 + "x" + ")^{2}" * 39, "different"),
    "powers side by side": ("".join(f"(x+{i}y)^{{30}}" for i in range(1, 9)), "different"),
    "towers of names": ("+".join(f"x^{{x^{{{i}}}}}" for i in range(2, 60)), ""),
    "many factorials": ("+".join(["1000!"] * 200), "different"),
    "factorials of a name": ("+".join(["n!"] * 200), "different"),
    "many binomials": ("+".join(rf"\binom{{1000}}{{{i}}}" for i in range(2, 100)), "different"),
    "high roots": (rf"\sqrt[64]{{{10**900 + 1}}}", "different"),
    "many sines": ("+".join(rf"\sin({10**40 + i})" for i in range(120)), ""),
    "many arcs": ("+".join(rf"\arctan({i}/{i + 1})" for i in range(2, 150)), "different"),
    "many whole parts": ("+".join(rf"\lfloor {i}x \rfloor" for i in range(2, 100)), ""),
    "matrix of powers": (
        r"\begin{pmatrix}"
        + r"\\".join(["&".join(f"(x+{i})^{{50}}" for i in range(14))] * 14)
        + r"\end{pmatrix}",
        "",
    ),
    "long product": (r"\prod_{k=1}^{100} (x+k)^{20}", ""),
    "endless sum": (r"\sum_{k=1}^{1000000} k^{10}", "budget"),
    "integrals in integrals": (r"\int x" * 300 + " dx" * 300, ""),
    "braces in a box": (r"\boxed{" + "{" * 3_000 + "}" * 3_000 + "}", "budget"),
    "tags": ("<answer>4</answer>" * 20_000, "unparsed"),
    "open tags": ("<answer>" * 20_000, "unparsed"),
    "thoughts": ("<think>" * 50_000 + "answer", ""),
    "fences": ("```" * 30_000 + "<answer>4</answer>", ""),
    "a million characters": ("a " * 500_001, "unparsed"),
    "nothing": ("", "unparsed"),
    "empty box": (r"\boxed{}", "unparsed"),
    "refusal": ("I cannot answer that.", "different"),
    "hedge": ("3 or 4", "different"),
    "everything": (", ".join(map(str, range(100))), "different"),
}
PIECES = [*r"0123456789xyeiC+-*/^_=<>(){}[]|,;!%&'\.$ ", r"\frac", r"\sqrt", r"\text{cm}", "²", "√"]
MATHEMATICS = st.lists(st.sampled_from(PIECES)).map("".join)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_comes_back_soon_from_a_worker_thread(name: str) -> None:
    text, status = HOSTILE[name]
    verify(r"\sqrt{2}", "1.5")  # loads what is loaded once
    with ThreadPoolExecutor(1) as pool:
        start = time.process_time()
        verdicts = [pool.submit(verify, *pair).result(5) for pair in ((text, "3"), ("3", text))]
        took = time.process_time() - start
    assert all(not verdict.equal and verdict.reason for verdict in verdicts)
    assert not status or {verdict.status for verdict in verdicts} == {status}
    assert took < 0.2, "100 ms of work a verdict"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_the_hostile_texts_leave_no_trace_and_little_memory() -> None:
    code = (
        "import json, sys; from infinite_rl.reward_functions.math import verify\n"
        "for text in json.load(sys.stdin): verify(text, '3'); verify('3', text)\n"
        # Not getrusage: that counts what the process was before it became this program.
        "lines = dict(line.split(':') for line in open('/proc/self/status'))\n"
        "print(int(lines['VmHWM'].split()[0]) // 1024)"
    )
    texts = json.dumps([text for text, _ in HOSTILE.values()])
    run = subprocess.run(
        [sys.executable, "-c", code], input=texts, capture_output=True, encoding="utf-8"
    )
    assert int(run.stdout) < 300, run.stderr
    assert not Path("/tmp/pwned").exists()


def test_a_long_text_before_the_answer_is_no_trouble() -> None:
    assert verify("blah x^2 " * 11_000 + r"\boxed{3}", "3").equal


@given(st.text() | MATHEMATICS, st.text() | MATHEMATICS)
@settings(max_examples=150, deadline=None)
def test_no_text_raises_and_the_order_does_not_matter(first: str, second: str) -> None:
    assert verify(first, second).status == verify(second, first).status


@given(MATHEMATICS)
@settings(max_examples=150, deadline=None)
def test_what_can_be_read_equals_itself(text: str) -> None:
    verdict = verify(text, text)
    assert verdict.equal or verdict.prediction_form == "" == verdict.gold_form


@given(st.fractions(), st.fractions())
@settings(max_examples=100, deadline=None)
def test_fractions_are_equal_exactly_when_python_says_so(one: Fraction, other: Fraction) -> None:
    latex = rf"\frac{{{one.numerator}}}{{{one.denominator}}}"
    assert verify(latex, str(one)).equal
    assert verify(latex, str(other)).equal == (one == other)


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=6), st.integers(-5, 5))
@settings(max_examples=60, deadline=None)
def test_a_polynomial_equals_its_expansion_and_not_its_neighbour(roots: list[int], a: int) -> None:
    expanded = [1]
    for root in roots:
        shifted, scaled = [*expanded, 0], [0, *(-root * factor for factor in expanded)]
        expanded = [left + right for left, right in zip(shifted, scaled, strict=True)]
    product = "".join(f"(x - {root})" if root >= 0 else f"(x + {-root})" for root in roots)
    degree = len(roots)
    total = " + ".join(f"({factor}) x^{{{degree - i}}}" for i, factor in enumerate(expanded))
    assert verify(product, total).equal
    assert verify(f"{product} + {a}", total).equal == (a == 0)


def test_many_threads_get_the_verdicts_of_one() -> None:
    pairs = [
        (rf"\sqrt{{{n}}} + \pi", rf"{n}^{{1/2}} + {k}\pi") for n in range(2, 30) for k in (1, 2)
    ]
    alone = [verify(*pair).status for pair in pairs]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda pair: verify(*pair).status, pairs * 4))
    assert together == alone * 4 and set(alone) == {"equal", "different"}


def test_the_order_of_two_sides_does_not_choose_between_a_cost_and_a_gap() -> None:
    costly, nowhere = r"\pi^{\pi^{\pi^{x}}}", r"\ln(-1-x^2)"
    assert verify(costly, nowhere).status == verify(nowhere, costly).status == "different"


def test_a_deep_stack_of_the_caller_is_no_error() -> None:
    def deeper(levels: int) -> Verdict:
        return verify("(" * 30 + "x" + ")" * 30, "(x)+y") if levels == 0 else deeper(levels - 1)

    found: list[Verdict] = []
    frame, depth = sys._getframe(), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    found.append(deeper(sys.getrecursionlimit() - depth - 100))
    assert found[0].status == "budget"


def test_the_deadline_is_looked_at() -> None:
    assert verify(r"\sin^2 x + \cos^2 x", "1", timeout=0).status == "timeout"
    with pytest.raises(OutOfTime):
        Budget(0).spend()


def test_work_is_counted() -> None:
    budget = Budget(60, work=10)
    budget.spend(10)
    with pytest.raises(OverBudget):
        budget.spend()


def test_a_verdict_shows_how_each_side_was_read() -> None:
    verdict = verify("2x + 1", "y")
    assert (verdict.prediction_form, verdict.gold_form) == ("(add (mul 2 x) 1)", "y")


def test_the_form_of_a_side_that_cannot_be_read_is_empty() -> None:
    verdict = verify("5-", "5")
    assert (verdict.status, verdict.prediction_form, verdict.gold_form) == ("unparsed", "", "5")
    assert verdict.reason.startswith("prediction: ")


def test_of_two_failures_the_order_of_the_sides_chooses_neither() -> None:
    assert verify("5-", "(10)" * 600).status == verify("(10)" * 600, "5-").status == "unparsed"


def test_an_empty_box_is_named_as_such() -> None:
    assert verify(r"\boxed{ }", "5").reason == "prediction: an empty box"


def test_a_huge_number_can_be_shown() -> None:
    assert show(parse("1e5000")) == "a number of 16610 bits"


def test_no_verdict_needs_the_main_thread() -> None:
    found: list[Verdict] = []
    thread = threading.Thread(target=lambda: found.append(verify(r"\frac12", "0.5")), daemon=True)
    thread.start()
    thread.join(10)
    assert found[0].equal


@pytest.mark.parametrize(
    "text",
    [
        "30'",  # of arc, or feet
        r"\mathbf{a}\times\mathbf{b}",  # vectors do not commute
        r"(\vec a \cdot \vec b)\vec c",
        r"\frac{\vec a}{\vec b}",
        r"(\vec a + \vec b)^2",
        r"\vec{a + b}",
        r"\max f(x)",
        r"\max_{x} (2, 3)",
        r"\max(2 + i, 3)",
        r"\gcd(n, 6)",
        r"\gcd(1.5, 3)",
        r"\begin{vmatrix} 1 & 2 & 3 \\ 4 & 5 & 6 \end{vmatrix}",
        r"\begin{Vmatrix} 1 & 2 \\ 3 & 4 \end{Vmatrix}",
        r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{vmatrix}",
        r"\det(5)",
        r"\mathbb{R}^+_0",
        r"\mathbb{R}_{>2}",
        r"[\pm 1, 3]",
        "{}_2C_5",
        "5C2 in hexadecimal",
    ],
)
def test_what_is_in_doubt_is_unparsed(text: str) -> None:
    assert verify(text, text).status == "unparsed"


def determinant(entry: str, rows: int) -> str:
    lines = r" \\ ".join(["&".join([entry] * rows)] * rows)
    return rf"\begin{{vmatrix}} {lines} \end{{vmatrix}}"


@pytest.mark.parametrize(
    "text",
    [
        r"\pm 1" * 30,
        r"\max(x, " * 20 + "1" + ")" * 20,
        determinant("x", 9),
        determinant(determinant("x", 4), 4),
    ],
)
def test_forms_that_grow_when_they_are_written_out_are_bounded(text: str) -> None:
    assert verify(text, text).status == "budget"
