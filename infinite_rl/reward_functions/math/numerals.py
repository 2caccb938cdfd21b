"""Numerals and their exact values: decimals, cycles, powers of ten, other bases."""

from __future__ import annotations

import re
from fractions import Fraction

from .bounds import MAX_DIGITS, MAX_EXPONENT, OverBudget, Unparsed
from .tree import Node, number

_NUMERAL = re.compile(r"([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
_REPEATING = re.compile(r"([0-9]*)\.([0-9]*)[^0-9]+([0-9]+)[^0-9]")
_GOING_ON = re.compile(r"([0-9]*)\.([0-9]+)(?:\.\.\.|\\[a-z]+)")
_PREFIXES = {"x": 16, "b": 2, "o": 8}


def numeral(text: str) -> Fraction:
    """The exact value of `12`, `.5`, `3.2e5`, `0.1(6)`. Raises OverBudget for a huge one."""
    if len(text) > MAX_DIGITS:
        raise OverBudget(f"a numeral of more than {MAX_DIGITS} digits")
    if text.isdecimal():
        return Fraction(int(text))
    repeating = _REPEATING.fullmatch(text) or _GOING_ON.fullmatch(text)
    if repeating:
        whole, fixed, cycle = (*repeating.groups(), "")[:3]
        fixed, cycle = (fixed, cycle) if cycle else _cycle(fixed)
        scale = 10 ** len(fixed)
        tail = Fraction(int(cycle), (10 ** len(cycle) - 1) * scale)
        return Fraction(int(whole + fixed or "0"), scale) + tail
    plain = _NUMERAL.fullmatch(text)
    if plain is None:
        raise Unparsed(f"the numeral {text[:20]!r}")
    whole, decimals, power = plain.group(1), plain.group(2) or "", plain.group(3) or "0"
    if len(power) > 6 or abs(int(power)) > MAX_EXPONENT:
        raise OverBudget(f"a power of ten beyond {MAX_EXPONENT}")
    value = Fraction(int(whole + decimals or "0"), 10 ** len(decimals))
    return value * Fraction(10) ** int(power)


def _cycle(decimals: str) -> tuple[str, str]:
    """The decimals of `0.1666...` before their cycle, and the cycle, which must show twice.

    A cycle of one digit must show three times, unless there is nothing but it.
    """
    for start in range(min(len(decimals), 40)):
        tail = decimals[start:]
        for length in range(1, len(tail) // 2 + 1):
            seen = length > 1 or not start or len(tail) > 2
            if seen and tail[length:] == tail[:-length]:
                return decimals[:start], tail[:length]
    raise Unparsed("a decimal that goes on without a cycle")


def based(text: str) -> Node:
    """`0x1F`, `0b101`, `1F_{16}`."""
    digits, _, base = text.partition("_")
    if not base:
        digits, base = text[2:], str(_PREFIXES[text[1].casefold()])
    radix = int(base.strip("{}"))
    if len(digits) > MAX_DIGITS:
        raise OverBudget(f"a numeral of more than {MAX_DIGITS} digits")
    if any(int(digit, 36) >= radix for digit in digits):
        raise Unparsed(f"a digit beyond the base {radix}")
    return Node("base", (number(int(digits, radix)),), f"{digits.upper()}_{radix}")
