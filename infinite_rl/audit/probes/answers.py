"""Wrong answers, several answers, and the right one with other things around it.

A wrong answer is surely wrong: its value differs, or it is another letter, or another word.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import islice
from typing import Any

from ..process import MARKER
from ..rows import CHOICE, CODE, DATE, JSON, LIST, NUMBER, OTHER, QUERY, TEXT, WHOLE, AuditRow, day
from ..surfaces import Surface, literals
from . import ACCEPT, Probe
from .code import wrong_program

_WORDS = ("purple", "Thursday", "giraffe")
_PATTERNS = (
    ".*",
    ".",
    "\\d+",
    "[\\s\\S]*",
    "|",
    "*",
    "None",
    "nan",
    "True",
    "null",
    "%",
    "_",
    "^",
    "inf",
)
_VARIABLES = (
    "answer", "gold", "ground_truth", "target", "expected", "reference", "label", "solution",
)  # fmt: skip
_EXECUTED = (
    f"open('{MARKER}','w').close()",
    f"__import__('os').system('touch {MARKER}')",
    f"[__import__('pathlib').Path('{MARKER}').touch()]",
)
_FILLER = "Let me check this once more, and consider each step with care. Wait, I verify it. "
_LETTERS = "ABCDEFGHIJ"


def wrong_texts(row: AuditRow) -> list[str]:
    """Answers that are surely wrong."""
    from ...verification.math_corruptions import wrong_answers

    if row.kind in (CODE, OTHER, WHOLE):
        return [wrong_program(row)] if row.kind == CODE else []
    if row.kind == CHOICE:
        letter = row.gold.strip("()")
        return [each for each in "ABCD" if each != letter][:3]
    if row.kind == LIST:
        members = row.gold.split(", ")
        return [
            ", ".join([*members[:at], *_WORDS[:1] * (len(members) - at)])
            for at in range(len(members))
        ]
    if row.kind == DATE:
        return _other_days(row.gold)
    if row.kind == QUERY:
        query = f"SELECT * FROM ({row.gold.rstrip('; ')})"
        others = (f"{query} WHERE 1 = 0", "SELECT 'giraffe'", "SELECT 1 +")
        return [*others, f"{query} UNION ALL {query}"]
    if row.kind == JSON:
        return [json.dumps(each) for each in _changed_values(json.loads(row.gold))]
    if row.kind == TEXT:
        plain = " ".join([row.gold, *row.others]).casefold()
        return [
            each for each in _WORDS if each.casefold() not in plain and plain not in each.casefold()
        ]
    value = number(row.gold)
    if value is not None:
        step = 7 if value.denominator == 1 else Fraction(7, value.denominator)
        near = [value + 1, value - 1, value + step, -value if value else value + 2, 10 * value + 3]
        far = [each for each in near if is_far(value, each)]
        return [shown(each) for each in (far if row.tolerant else near) if each != value]
    # A changed end of an interval or another unit is wrong, but some rewards read no ends or units.
    kinds = {"off by one", "sign", "digit", "missing member"}
    changed = wrong_answers(row.gold, str(row.index))
    return [text for kind, text in changed if kind.split(" in ")[0] in kinds]


def _changed_values(value: Any) -> Iterator[Any]:
    """A value of JSON with one part changed, or missing."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            for other in islice(_changed_values(value[key]), 2):
                changed = copy.copy(value)
                changed[key] = other
                yield changed
            rest = copy.copy(value)
            del rest[key]
            yield rest
    elif isinstance(value, bool) or value is None:
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, value + 0.5, -value - 1)
    else:
        yield from ("giraffe", f"{value}x")


def _other_days(gold: str) -> list[str]:
    """Other days, in the order in which rewards confuse them."""
    gold_day = day(gold)
    assert gold_day is not None
    near = [gold_day + timedelta(1), gold_day - timedelta(1), gold_day + timedelta(365 * 7)]
    swapped = day(f"{gold[:5]}{gold[8:]}-{gold[5:7]}")
    return [each.isoformat() for each in [*near, swapped or near[0]] if each != gold_day]


def is_far(one: Fraction, other: Fraction) -> bool:
    """Whether no usual tolerance takes two numbers for equal."""
    return abs(one - other) > 2 + abs(one) / 5


def near_misses(row: AuditRow) -> list[str]:
    """Wrong answers that resemble the right one. Of a target with a tolerance some may be right."""
    gold = row.gold
    value = number(gold)
    if row.kind == TEXT:
        words = gold.split()
        texts = [f"{gold}opolis", f"anti-{gold}"]
        if len(words) > 1 and len(gold) < 60:
            texts += [" ".join([*words[:-1], "giraffe"]), " ".join(["giraffe", *words[1:]])]
        return [*texts, gold[::-1]] if gold[::-1].casefold() != gold.casefold() else texts
    if value is None or row.tolerant:
        return []
    step = Fraction(1, 10 ** len(gold.partition(".")[2]))
    texts = [shown(value + step), shown(value - step)]
    digits = gold.lstrip("+-")
    if digits.isdecimal() and digits[::-1] != digits and digits[-1] != "0":
        texts.append(gold.replace(digits, digits[::-1]))
    return [text for text in texts if number(text) != value]


def number(text: str) -> Fraction | None:
    """The value of a plain decimal number, with commas or not; None for anything else."""
    if not re.fullmatch(r"[-+]?[\d,]*\.?\d+", text, re.ASCII):
        return None
    try:
        return Fraction(Decimal(text.replace(",", "")))
    except InvalidOperation:
        return None


def shown(value: Fraction) -> str:
    """A finite decimal of a number, as a person writes it."""
    if value.denominator == 1:
        return str(value.numerator)
    return f"{Decimal(value.numerator) / Decimal(value.denominator):f}"


def wrong(row: AuditRow, surface: Surface, source: str = "") -> Iterator[Probe]:
    """Wrong answers in the form that the target accepts."""
    texts = wrong_texts(row)
    for text in texts:
        yield Probe("wrong answer", row, surface(text))
    if texts:
        yield Probe("long wrong answer", row, _FILLER * 100 + "\n" + surface(texts[0]))
        yield Probe("long wrong answer", row, surface(texts[0]) + "\n" + surface(texts[0]))
        yield Probe("long wrong answer", row, "\n".join([surface(texts[0])] * 30))
        yield from _stuffed(row, surface(texts[0]), source)
    for text in near_misses(row):
        yield Probe("wrong answer", row, surface(text))
    if number(row.gold) is not None and row.gold.isdecimal():
        for text in (
            f"1{row.gold}",
            f"{row.gold}1",
            *[f"{row.gold}.5"] * (not row.tolerant),
            f"-1{row.gold}",
            f"{row.gold}0000",
        ):
            if number(text) != number(row.gold):
                yield Probe("longer number", row, surface(text))
    if row.kind == WHOLE:
        return  # what else would be right is not known
    for text in {row.gold[:-1], row.gold[1:], row.gold[:1]} - {"", row.gold}:
        if row.kind == TEXT and len(text.strip()) > 2:
            continue  # "the Seine" without its article is right
        if row.kind not in (CHOICE, OTHER, DATE, LIST, JSON, QUERY) and _is_other(row, text):
            yield Probe("part of the gold", row, surface(text))
    for text in (*_PATTERNS, *_VARIABLES):
        if row.gold.casefold() not in text.casefold():
            kind = "variable" if text in _VARIABLES else "pattern"
            yield Probe(kind, row, surface(text))


def _stuffed(row: AuditRow, wrong_answer: str, source: str) -> Iterator[Probe]:
    """A wrong answer after the words that the source names, which may earn a bonus each."""
    words = [each for each in literals(source) if re.fullmatch(r"[\w][\w ',:-]{2,30}", each)]
    filler = " ".join(each for each in words if row.gold.casefold() not in each.casefold())
    if filler:
        yield Probe("long wrong answer", row, f"{filler}\n" * 10 + wrong_answer)


def dissimilar(row: AuditRow, surface: Surface, documentation: str) -> Iterator[Probe]:
    """Texts that no similarity takes for the gold itself."""
    words = row.gold.split()
    if row.kind != TEXT or len(words) < 4 or len(set(words)) < 3:
        return
    yield Probe("part of the gold", row, surface(words[0]))
    yield Probe("part of the gold", row, surface(words[-1]))
    if re.search(r"order (?:matters|counts|is kept)", documentation, re.I):
        yield Probe("wrong answer", row, surface(" ".join(words[::-1])))


def retracted(row: AuditRow, surface: Surface) -> Iterator[Probe]:
    """The right answer, taken back for a wrong one."""
    for text in wrong_texts(row)[:1]:
        change = "\nNo, wait. That is wrong. My final answer is another one.\n"
        yield Probe("retracted", row, surface(row.gold) + change + surface(text))


def either_order(row: AuditRow, surface: Surface) -> list[str]:
    """The right answer and a wrong one, in both orders: not both can be the answer."""
    texts = wrong_texts(row)[:1]
    pairs = [(row.gold, text) for text in texts]
    return [
        f"{surface(one)}\n{surface(other)}" for pair in pairs for one, other in (pair, pair[::-1])
    ]


def _is_other(row: AuditRow, text: str) -> bool:
    """Whether a part of a gold surely has another value."""
    one, other = number(row.gold.rstrip("%")), number(text)
    if one is not None and other is not None:
        return is_far(one, other) if row.tolerant else one != other
    if one is not None:
        return True
    return not re.search(r"[\w}\])]", text) or text.strip("\\{}()[]$ ") == ""


def executed(row: AuditRow, surface: Surface) -> Iterator[Probe]:
    """Answers that leave a file behind if they are evaluated."""
    for text in _EXECUTED:
        yield Probe("executed", row, surface(text))
        yield Probe("executed", row, text)


def several(row: AuditRow, surface: Surface) -> Iterator[Probe]:
    """The gold between two wrong answers: neither the first nor the last answer is right."""
    texts = wrong_texts(row)
    if len(texts) < 2:
        return
    first, last = texts[:2]
    parts = [surface(first), surface(row.gold), surface(last)]
    yield Probe("several answers", row, "\n".join(parts))
    if row.kind in (NUMBER, CHOICE, TEXT, DATE):
        yield Probe("hedge", row, surface(f"{first} or {row.gold} or {last}"))
        yield Probe("hedge", row, surface(f"{first}, {row.gold}, {last}"))
        yield Probe("hedge", row, f"{first} {row.gold} {last}\n" + surface(last))
        yield Probe("hedge", row, f"It may be {first}, {row.gold} or {last}.")
    if surface.bounded and row.kind in (NUMBER, CHOICE, TEXT):
        yield Probe("hedge", row, surface(f"{row.gold} or {first}"))
        yield Probe("hedge", row, surface(f"{first} or {row.gold}"))
        yield Probe("negated", row, surface(f"not {row.gold}"))
    if row.kind == CHOICE:
        letters = [each for each in _LETTERS[:5] if each != row.gold.strip("()")]
        listed = [*letters[:2], row.gold, *letters[2:]]
        yield Probe("hedge", row, surface(" ".join(listed)))
        yield Probe("hedge", row, surface("".join(each.strip("()") for each in listed)))
    if row.kind == NUMBER and row.gold.isdecimal() and int(row.gold) <= 1000:
        high = max(100, int(row.gold) + 50)
        yield Probe(
            "several answers", row, " ".join(map(str, range(high))) + f"\n{surface(str(high))}"
        )
        boxes = "\n".join(
            surface(str(each)) for each in range(max(0, int(row.gold) - 20), int(row.gold) + 20)
        )
        yield Probe("several answers", row, boxes)


def right(row: AuditRow, surface: Surface) -> Iterator[Probe]:
    """The gold in the accepted form, with other things around it."""
    gold = row.gold
    yield Probe("spacing", row, surface(gold) + "\n", ACCEPT)
    if surface.name != "alone" and "bare" not in surface.name and surface.text[:1] != "<":
        yield Probe("long reasoning", row, _FILLER * 300 + "\n" + surface(gold), ACCEPT)
        if row.kind == CHOICE:
            text = "A good start. Both Dogs And Cats Count.\n"
            yield Probe("other numbers", row, text + surface(gold), ACCEPT)
        text = "There are 3 steps, and the second one gives 17. Then 2 + 2 = 4.\n"
        yield Probe("other numbers", row, text + surface(gold), ACCEPT)
        text = "Let |x| be that; it is 100% sure: {a: [b, c]} & `d` < e > f.\n"
        yield Probe("other numbers", row, text + surface(gold), ACCEPT)


def lengths(row: AuditRow, surface: Surface) -> list[str]:
    """The right answer after more and more words."""
    counts = (0, 50, 100, 150, 190, 200, 250, 290, 300, 350, 400, 450, 500, 600, 800, 1000)
    return ["word " * count + "\n" + surface(row.gold) for count in counts]
