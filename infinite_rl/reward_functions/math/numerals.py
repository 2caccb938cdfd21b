"""Numerals and their exact values: decimals, cycles, powers of ten, other bases."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

from .bounds import MAX_DIGITS, MAX_EXPONENT, OverBudget, Unparsed
from .number_words import CARDINALS
from .tokens import Token
from .tree import Node, number

if TYPE_CHECKING:
    from .parse import Parser

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


def mixed_or_plain(parser: Parser, token: Token) -> Node:
    """The number of a numeral that is taken, with the fraction or the base behind it."""
    value = numeral(token.text)
    following = parser.peek()
    if following.kind in ("op", "end") and following.text != "_":
        return number(value)  # nearly always
    if parser.at("_"):
        return in_base(parser, token.text)
    if parser.peek().kind == "num" and parser.peek(1).text == "/" and parser.peek(2).kind == "num":
        return _mixed(parser, value, parser.peek().text, parser.peek(2).text, 3)
    if parser.at_command("frac"):
        tokens = [parser.peek(index) for index in range(1, 7)]
        shape = [part.kind if part.kind == "num" else part.text for part in tokens]
        if shape == ["{", "num", "}", "{", "num", "}"]:
            return _mixed(parser, value, tokens[1].text, tokens[4].text, 7)
        if shape[0] == "num" and len(tokens[0].text) == 2:
            return _mixed(parser, value, tokens[0].text[0], tokens[0].text[1], 2)
    if parser.peek().kind == "num":
        raise Unparsed("two numbers side by side")
    return number(value)


def _mixed(parser: Parser, whole: Fraction, top: str, bottom: str, length: int) -> Node:
    """`2 3/4` and `2\\frac{3}{4}`: a whole number and a proper fraction."""
    part = Fraction(numeral(top), numeral(bottom) or 1)
    if whole.denominator > 1 or not top.isdigit() or not bottom.isdigit() or not 0 < part < 1:
        raise Unparsed("a number beside a fraction that makes no mixed number")
    parser.position += length
    return number(whole + part)


def in_base(parser: Parser, digits: str) -> Node:
    """`52_8`, `101_{2}`: a numeral in a base from 2 to 36, written with the digits 0 to 9."""
    text = subscript(parser).strip("_")
    base = int(text) if text.isdigit() and len(text) < 3 else CARDINALS.get(text, 0)
    if not 2 <= base <= 36 or not digits.isdigit() or any(int(digit) >= base for digit in digits):
        raise Unparsed(f"a numeral with the subscript {text[:10]!r}")
    return Node("base", (number(int(digits, base)),), f"{digits}_{base}")


def subscript(parser: Parser) -> str:
    """`_1` of `x_{1}`; "" where none follows."""
    if not parser.accept("_"):
        return ""
    if not parser.accept("{"):
        return f"_{parser.take().text}"
    parts: list[str] = []
    while not parser.accept("}"):
        token = parser.take()
        if token.kind == "end" or token.text in ("{", "_", "^"):
            raise Unparsed("a subscript")
        parts.append(token.text)
    return f"_{''.join(parts)}"
