"""The phrases of task families, and the text of numbers, lists and polynomials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import isqrt
from pathlib import Path
from typing import Any

from .draw import Draw

Names = Mapping[str, Any]
Kind = Callable[[Draw, int], Names]  # a level to the local names of a problem
Kinds = Mapping[int, Sequence[Kind | Sequence[Kind]]]  # by level
VARIABLES = ("x", "y", "z", "t", "n", "k", "m", "w")


@cache
def sections(family: str) -> Mapping[str, Sequence[str]]:
    """The lines of each section of `phrases/FAMILY.txt` and of `phrases/common.txt`."""
    path = Path(__file__).parent / "phrases" / f"{family}.txt"
    lines: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = lines.setdefault(line[1:-1], [])
        elif line and not line.startswith("#"):
            section.append(line)
    return lines if family == "common" else {**sections("common"), **lines}


@cache
def phrases(family: str, section: str) -> tuple[str, ...]:
    """A list of phrases, one a line of its section; `""` stands for an empty one."""
    return tuple(line.strip('"').replace(r"\n", "\n") for line in sections(family)[section])


@cache
def rows(family: str, section: str) -> Sequence[Sequence[str]]:
    """A table of phrases: one row a line, columns separated by ` | `."""
    return tuple(tuple(line.split(" | ")) for line in phrases(family, section))


PEOPLE, FOODS, THINGS = (phrases("common", name) for name in ("people", "foods", "things"))
# Masked in the skeleton of a prompt, besides numbers, single letters and code.
NAMES = (*PEOPLE, *FOODS, *THINGS)


@dataclass(frozen=True)
class Problem:
    """A task, its computed answer and its worked response."""

    prompt: str
    answer: str
    response: str


def capital(text: str) -> str:
    """The text with a capital first letter; the other letters are unchanged."""
    return text[:1].upper() + text[1:]


def listing(items: Sequence[object], word: str = "and") -> str:
    """`a, b and c`."""
    texts = [str(item) for item in items]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {word} {texts[-1]}"


def decimal(value: Fraction) -> str:
    """An exact decimal if there is one with at most 6 decimals, else a fraction."""
    for decimals in range(7):
        scaled = value * 10**decimals
        if scaled.denominator == 1:
            return fixed(int(scaled), decimals)
    return str(value)


def fixed(scaled: int, decimals: int) -> str:
    """The integer `scaled` / 10^`decimals` as a decimal number."""
    sign, digits = "-" if scaled < 0 else "", str(abs(scaled)).rjust(decimals + 1, "0")
    return sign + (f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits)


def money(value: Fraction) -> str:
    """Dollars, with two decimals if there are cents."""
    return f"${value}" if value.denominator == 1 else f"${fixed(int(value * 100), 2)}"


def in_brackets(value: Fraction | int) -> str:
    """The number, in brackets if it is negative: `(-3)`."""
    return f"({value})" if value < 0 else str(value)


def signed_sum(terms: Sequence[str]) -> str:
    """Terms joined with their signs: `3x - 4 + y`."""
    text = terms[0]
    for term in terms[1:]:
        text += f" - {term[1:]}" if term.startswith("-") else f" + {term}"
    return text


def times(coefficient: Fraction | int, symbol: str) -> str:
    """`3x`, `-x`, `(2/3)x`."""
    if coefficient in (1, -1):
        return symbol if coefficient == 1 else f"-{symbol}"
    if coefficient.denominator == 1:
        return f"{coefficient}{symbol}"
    return f"-({-coefficient}){symbol}" if coefficient < 0 else f"({coefficient}){symbol}"


def polynomial(coefficients: Sequence[Fraction | int], symbol: str) -> str:
    """A polynomial from its coefficients, the highest power first; `0` if all are zero."""
    top = len(coefficients) - 1
    terms = []
    for index, coefficient in enumerate(coefficients):
        power = top - index
        if coefficient == 0:
            continue
        name = symbol if power == 1 else f"{symbol}^{power}"
        terms.append(str(coefficient) if power == 0 else times(coefficient, name))
    return signed_sum(terms) if terms else "0"


def multiple(value: Fraction | int, symbol: str) -> str:
    """An exact multiple of a symbol: `2*pi`, `-pi/3`, `5*sqrt(2)/4`, `0`."""
    if value == 0:
        return "0"
    front = "" if abs(value.numerator) == 1 else f"{abs(value.numerator)}*"
    below = "" if value.denominator == 1 else f"/{value.denominator}"
    return f"{'-' if value < 0 else ''}{front}{symbol}{below}"


def root_of(square: Fraction | int, factor: Fraction | int = 1) -> str:
    """The simplified square root of a non-negative fraction, times a factor: `3*sqrt(2)/5`."""
    bottom = square.denominator
    inside = square.numerator * bottom
    if inside == 0:
        return "0"
    divisor = next(n for n in range(isqrt(inside), 0, -1) if inside % (n * n) == 0)
    outside, inside = Fraction(factor * divisor, bottom), inside // divisor**2
    return str(outside) if inside == 1 else multiple(outside, f"sqrt({inside})")


def reduced(top: int, bottom: int) -> str:
    """`4/6 = 2/3`, and `2/3` if nothing cancels."""
    value = Fraction(top, bottom)
    return f"{top}/{bottom} = {value}" if value.denominator != bottom else str(value)
