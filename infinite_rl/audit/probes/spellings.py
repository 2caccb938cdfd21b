"""Other spellings of the right answer, and when a target must read one.

That a spelling is right is certain; that a target must read it is a matter of its contract. It must
if its documentation promises so, or if it reads the same spelling of other rows' golds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from ..rows import CHOICE, JSON, MATHS, NUMBER, TEXT, AuditRow
from .answers import number

# A sentence with one of these names refused spellings, or does not hold for all answers.
_DENIAL = re.compile(
    r"\bnot?\b|n't\b|\bnever\b|without|reject|refus|strict|\bonly\b|except|must|invalid|verbatim|"
    r"exact|unless|error|malformed|raise",
    re.I,
)
_BY_VALUE = r"numerically|by value|as numbers|numeric(?:al)? (?:equality|comparison|value)"
_ANY_CASE = (
    r"case[- ]?insensitiv|ignor\w+ (?:the )?case|(?:any|either) case|regardless of case|"
    r"case is ignored"
)
_MARKUP = r"\bbold\b|markdown|asterisk"
_PUNCTUATION = (
    r"(?:trailing|final|closing) (?:period|dot|full stop|punctuation)|"
    r"punctuation (?:is|are|gets?) (?:ignored|stripped|removed|dropped)"
)
_JSON = r"parsed as json|as json (?:values|objects)|key order|order of (?:the )?keys"
# The spellings by name, each with the words by which documentation promises to read it.
PROMISES: Mapping[str, str] = {
    "commas": r"\bcommas?\b|thousands", "no commas": r"\bcommas?\b|thousands",
    "decimal point": _BY_VALUE, "2 decimals": _BY_VALUE, "3 decimals": _BY_VALUE,
    "dollar": r"dollar|currency", "period": _PUNCTUATION, "bold": _MARKUP,
    "spaces": r"white ?space|surrounding spaces", "lines": r"white ?space|line breaks|newlines",
    "lower": _ANY_CASE, "upper": _ANY_CASE, "brackets": r"parenthes|\bbrackets\b",
    "indent": _JSON, "key order": _JSON,
}  # fmt: skip

_OF_NUMBERS = re.compile(r"(?:\d|[\s*^{}()\u00d7\u00b7]|\\times|\\cdot)+")  # a factorization
FORMULAS = ("\\dfrac", "respelled", "decimal", "fraction")
# Spellings that a target must read if its documentation states no form at all.
PLAIN = (
    "commas", "no commas", "decimal point", "2 decimals", "3 decimals", "period", "spaces",
    *FORMULAS,
)  # fmt: skip


def promised(name: str, documentation: str) -> bool:
    """Whether a sentence promises, without a reservation, that a spelling is read."""
    words = PROMISES.get(name)
    sentences = re.split(r"(?<=[.;:!?])\s|\n\s*\n", documentation)
    return words is not None and any(
        re.search(words, each, re.I) and not _DENIAL.search(each) for each in sentences
    )


def spelled(row: AuditRow, bounded: bool) -> Iterator[tuple[str, str]]:
    """Spellings of a row's gold by name; one may be the gold itself.

    `bounded`: marks stand on both sides of the answer.
    """
    gold = row.gold
    if row.kind not in (NUMBER, CHOICE, TEXT, MATHS, JSON):
        return
    if bounded:
        yield "spaces", f"  {gold} "
        yield "lines", f"\n{gold}\n"
    if row.kind in (NUMBER, CHOICE, TEXT):
        yield "bold", f"**{gold}**"
        yield "period" if "." not in gold else "period after a point", f"{gold}."
    if row.kind == NUMBER:
        yield from _numbers(gold)
    elif row.kind == CHOICE and "(" not in gold:
        yield "lower", gold.lower()
        yield "brackets", f"({gold})"
    elif row.kind == TEXT:
        yield "lower", gold.lower()
        yield "upper", gold.upper()
    elif row.kind == MATHS:
        yield from _equal_formulas(gold)
        yield "math mode", f"${gold}$"
        if " " in gold and not re.search(r"\\[A-Za-z]+ |[A-Za-z] [A-Za-z]|\d \d", gold):
            yield "no spaces", gold.replace(" ", "")
    elif row.kind == JSON:
        value = json.loads(gold)
        yield "indent", json.dumps(value, indent=2)
        if isinstance(value, dict) and len(value) > 1:
            yield "key order", json.dumps(dict(reversed(value.items())))


def _equal_formulas(gold: str) -> Iterator[tuple[str, str]]:
    """Other forms of a formula; none of a product of numbers, which may be asked for as it is."""
    if _OF_NUMBERS.fullmatch(gold):
        return
    from ...verification.math_corruptions import same_answers

    for kind, text in same_answers(gold):
        if kind in FORMULAS:
            yield kind, text


def _numbers(gold: str) -> Iterator[tuple[str, str]]:
    value = number(gold)
    if value is None:
        return
    if value >= 0 and gold[0].isdigit():
        yield "plus", f"+{gold}"
        yield "dollar", f"${gold}"
    if gold[0] == "-":
        yield "minus sign", f"\u2212{gold[1:]}"
    if "." not in gold:
        yield "decimal point", f"{gold}.0"
    else:
        yield f"{len(gold.partition('.')[2]) + 1} decimals", f"{gold}0"
    whole, point, rest = gold.partition(".")
    if "," in gold:
        yield "no commas", gold.replace(",", "")
    elif whole.lstrip("-+").isdecimal() and abs(int(whole)) >= 1000:
        yield "commas", f"{int(whole):,}{point}{rest}"
