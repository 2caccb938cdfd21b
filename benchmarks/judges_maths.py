"""Verdicts on mathematical rows beside the judges of their sets, written anew here.

    pip install antlr4-python3-runtime==4.11.1 math-verify==0.9.0

OlympiadBench is judged by `MathJudger` of its repository (OpenBMB/OlympiadBench), Minerva's
problems by normalization and sympy (appendix D of 2206.14858), and numbers as the harness of
Llemma does (2310.10631); Big-Math, DeepMath and NuminaMath by Math-Verify, with which models are
trained on them. The answers are references of these sets, predictions are made of them by rule.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from infinite_rl.dataset.shapes import SHAPES
from infinite_rl.layout import tagged
from infinite_rl.reward_functions.math import MathRewardFunction

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


# --- OlympiadBench -------------------------------------------------------------------------------

_SIGNS = {
    **{r"\left": "", r"\right": "", "$": "", r"\approx": "=", r"\simeq": "=", r"\sim": "="},
    **{r"^\prime": "'", r"^{\prime}": "'", r"^\circ": "", "%": ""},
}
_EDGES = frozenset("\n$,.:;^_=+`!@#%&*~")


def olympiad_bench(answer: str, gold: str, precision: float = 1e-8) -> bool:
    """`MathJudger.judge`: items in any order, each equal as text, number, value or equation."""
    one, other = _plain(answer), _plain(gold)
    if one == other:
        return True
    mine, theirs = (
        [each for item in _items(text) for each in _both_signs(item)] for text in (one, other)
    )
    if len(mine) != len(theirs):
        return False
    for item in theirs:
        match = next((each for each in mine if _equal(item, each, precision)), None)
        if match is None:
            return False
        mine.remove(match)
    return True


def _plain(text: str) -> str:
    text = text.split(r"\in ")[1] if r"\in " in text else text
    for sign, new in _SIGNS.items():
        text = text.replace(sign, new)
    text = text.strip("".join(_EDGES))
    return re.sub(r"\\(?:mathrm|mathbf)\{~?([^}]*)\}", r"\1", text)


def _items(text: str) -> list[str]:
    """The parts between commas that no bracket holds."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [each for each in (*parts, text[start:].strip()) if each]


def _both_signs(text: str) -> list[str]:
    return [text.replace(r"\pm", "+"), text.replace(r"\pm", "-")] if r"\pm" in text else [text]


def _equal(gold: str, answer: str, precision: float) -> bool:
    if gold == answer:
        return True
    intervals = all(each[:1] in "([" and each[-1:] in ")]" for each in (gold, answer))
    if intervals:
        one, other = _items(gold[1:-1]), _items(answer[1:-1])
        same = gold[0] == answer[0] and gold[-1] == answer[-1] and len(one) == len(other)
        return same and all(map(lambda a, b: _equal(a, b, precision), one, other))
    with suppress(ValueError):
        reference, value = float(gold), float(answer)
        shares = (reference / 100, reference, reference * 100)  # of a percentage
        return any(abs(each - value) <= precision * 1.01 for each in shares)
    with suppress(Exception):  # as there: what sympy does not read is not equal
        if _difference(gold.split("=")[-1], answer.split("=")[-1], precision):
            return True
    with suppress(Exception):
        return gold.count("=") == answer.count("=") == 1 and _same_equation(gold, answer)
    return False


def _read(text: str) -> Any:
    from sympy.parsing.latex import parse_latex

    return parse_latex(text)


def _difference(gold: str, answer: str, precision: float) -> bool:
    from sympy import Symbol, pi, simplify

    one, other = (_read(text).subs(Symbol("pi"), pi) for text in (gold, answer))
    if not one.free_symbols and not other.free_symbols:
        return bool(abs((one - other).evalf()) <= precision * 1.01)
    return bool(abs(simplify(one - other).evalf()) < 1e-3)


def _same_equation(gold: str, answer: str) -> bool:
    from sympy import simplify

    left, right = ([_read(side) for side in text.split("=")] for text in (gold, answer))
    quotient = simplify((left[0] - left[1]) / (right[0] - right[1]))
    return bool(quotient.is_Integer and quotient != 0)


# --- Minerva -------------------------------------------------------------------------------------

_REPLACED = (
    *((r"\$", ""), ("$", ""), (r"\ ", ""), (" ", ""), ("mbox", "text")),
    *((r",\text{and}", ","), (r"\text{and}", ","), (r"\left", ""), (r"\right", "")),
    *(("dfrac", "frac"), ("tfrac", "frac"), (r"^\circ", ""), (r"^{\circ}", ""), (r"\;", "")),
    *((r",\!", ""), ("{,}", ""), (r"\%", ""), ("%", "")),
)


def minerva(answer: str, gold: str) -> bool:
    """Numbers are close, and others the same text after normalization, or equal for sympy."""
    one, other = _normalized(answer), _normalized(gold)
    with suppress(ValueError):
        left, right = _float(one), _float(other)
        if abs(left - right) < 1e-8 or min(abs(left), abs(right)) < 1e-8:
            return abs(left - right) < 0.01 * (left + right) / 2 or left == right
        return abs(left - right) <= 1e-8 + 1e-5 * abs(right)
    if one == other:
        return True
    with suppress(Exception):  # as there: what sympy does not read is not equal
        from sympy import simplify

        return bool(simplify(_read(one) - _read(other)) == 0)
    return False


def _normalized(text: str) -> str:
    text = text.split("=")[-1]
    for old, new in _REPLACED:
        text = text.replace(old, new)
    text = re.sub(r"\\(?:text|textbf|boxed|mathrm)\{(.*?)\}", r"\1", text)
    text = re.sub(r"frac([^{])(.)", r"frac{\1}{\2}", text)
    text = re.sub(r"sqrt([^{\[])", r"sqrt{\1}", text)
    bare = text.replace(",", "")
    return bare if bare.isdigit() else text


def _float(text: str) -> float:
    scaled = re.fullmatch(r"(.+?)(?:\\times|\\cdot|\*)10\^\{?(-?\d+)\}?", text)
    return float(f"{float(scaled[1])}e{scaled[2]}") if scaled else float(text)


# --- Math-Verify ---------------------------------------------------------------------------------


def math_verify(answer: str, gold: str) -> bool:
    """Math-Verify's own verdict, in the form that Open R1 uses."""
    from math_verify import parse, verify

    return bool(verify(parse(f"${gold}$"), parse(f"${answer}$")))


# --- references and predictions ------------------------------------------------------------------


def _changed(text: str, change: Callable[[str], str]) -> str:
    """The text with its last number changed, or "" without one."""
    numbers = list(_NUMBER.finditer(text))
    if not numbers:
        return ""
    last = numbers[-1]
    return text[: last.start()] + change(last[0]) + text[last.end() :]


def _turned(text: str) -> str:
    """The text with the other sign of what stands behind the last "="."""
    head, equals, value = text.rpartition("=")
    return head + equals + (value[1:] if value.startswith("-") else f"-{value}")


def _fraction(text: str, form: Callable[[int, int], str]) -> str:
    match = re.fullmatch(r"(-?)\\frac\{(\d+)\}\{(\d+)\}", text)
    return match[1] + form(int(match[2]), int(match[3])) if match else ""


def _terminating(one: int, other: int) -> str:
    value = Fraction(one, other)
    ends = 10**9 % value.denominator == 0
    return f"{float(value)!r}" if ends else f"{one}/{other}"


# One row a kind of prediction: from a reference in LaTeX to a text, "" where there is none.
PREDICTIONS: dict[str, Callable[[str, random.Random], str]] = {
    "the same": lambda text, _: text,
    "other fractions": lambda text, _: text.replace(r"\frac", r"\dfrac"),
    "with dollar signs": lambda text, _: f"${text}$",
    "large brackets": lambda text, _: (
        text.replace("(", r"\left(").replace(")", r"\right)") if r"\left" not in text else ""
    ),
    "an expanded fraction": lambda text, _: _fraction(
        text, lambda a, b: rf"\frac{{{3 * a}}}{{{3 * b}}}"
    ),
    "a fraction as a decimal or with a slash": lambda text, _: _fraction(text, _terminating),
    "an integer as a decimal": lambda text, _: f"{text}.0" if re.fullmatch(r"-?\d+", text) else "",
    "items in another order": lambda text, draw: (
        ", ".join(draw.sample(_items(text), len(_items(text)))) if len(_items(text)) > 1 else ""
    ),
    "an item is missing": lambda text, _: ", ".join(_items(text)[:-1]),
    "a number more by one": lambda text, _: _changed(text, lambda n: f"{float(n) + 1:.12g}"),
    "a digit changed": lambda text, _: _changed(text, lambda n: n[:-1] + str(9 - int(n[-1]))),
    "off by a percent": lambda text, _: _changed(
        text, lambda n: f"{float(n) * 1.01:.12g}" if float(n) else n + "1"
    ),
    "turned in sign": lambda text, _: _turned(text),
    "half of it": lambda text, _: rf"\frac{{{text}}}{{2}}" if text.isdigit() else "",
    "another reference": lambda _text, draw: str(draw.randint(2, 99)) + "z",
}


class MathSet(NamedTuple):
    """A shape, a published row with an answer, its judge, and a file of references."""

    published: Callable[[str], dict[str, Any]]
    judge: Callable[[str, str], bool]
    file: str


_OLYMPIAD = {"question": "q", "answer_type": "Expression", "solution": []}
SETS: dict[str, MathSet] = {
    "olympiadbench": MathSet(
        lambda text: {**_OLYMPIAD, "final_answer": [text]}, olympiad_bench, "golds/olympiadbench"
    ),
    "minerva": MathSet(
        lambda text: {"problem": "q", "solution": rf"\boxed{{{text}}}", "idx": 1},
        *(minerva, "golds/ocw"),
    ),
    "bigmath": MathSet(
        lambda text: {"problem": "q", "answer": text, "domain": []}, math_verify, "math500/test"
    ),
    "deepmath": MathSet(
        lambda text: {"question": "q", "final_answer": text, "r1_solution_1": ""},
        *(math_verify, "math500/test"),
    ),
    "numinamath": MathSet(
        lambda text: {"problem": "q", "solution": rf"So \boxed{{{text}}}.", "source": "s"},
        *(math_verify, "math500/test"),
    ),
}


def maths_compared(
    data: Path, count: int, seed: int, names: Collection[str] = SETS.keys()
) -> Iterator[tuple[Any, ...]]:
    """Set, kind, our verdict (None for unscored), the judge's, reference and prediction."""
    draw, reward = random.Random(seed), MathRewardFunction(timeout=20)
    for name in names:
        published, judge, file = SETS[name]
        lines = (data / f"{file}.jsonl").read_text(encoding="utf-8").splitlines()
        golds = [row.get("gold") or row["answer"] for row in map(json.loads, lines)]
        golds = [gold.strip().strip("$") for gold in golds if gold.count("$") in (0, 2)]
        for gold in draw.sample(golds, min(count, len(golds))):
            answer = SHAPES[name].row(published(gold))["answer"]
            for kind, make in PREDICTIONS.items():
                text = make(gold, draw)
                if not text:
                    continue
                score = reward.compute_reward(tagged(f"${text.strip('$')}$"), answer)
                ours = None if score.status == "unscored" else score.passed
                yield name, kind, ours, judge(text, gold), gold, text
