"""Real references: each gold of GSM8K and MATH-500 can be read and equals itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

import pytest

from infinite_rl.reward_functions.math import verify

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def golds(name: str, count: int) -> list[str]:
    """The gold answers of a file of GSM8K or MATH-500."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the data set {path} is not here")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == count
    return [str(row["answer"]) for row in rows]


def unequal(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [pair for pair in pairs if not verify(*pair).equal]


def equal(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [pair for pair in pairs if verify(*pair).equal]


@pytest.mark.parametrize(("name", "count"), [("test", 1319), ("train", 7473)])
def test_every_gsm8k_gold_equals_itself_and_no_neighbour(name: str, count: int) -> None:
    solutions = golds(f"gsm8k/{name}.jsonl", count)
    numbers = [solution.split("#### ")[1].strip() for solution in solutions]
    bare = [number.replace(",", "") for number in numbers]
    assert unequal((f"#### {number}", number) for number in numbers) == []
    assert unequal(zip((rf"\boxed{{{each}}}" for each in bare), numbers, strict=True)) == []
    assert equal((f"{number}1", number) for number in bare) == []
    assert equal((f"-{number}", number) for number in bare if number.strip("-0")) == []
    assert unequal(zip(solutions[:300], numbers, strict=False)) == [], "read at its mark"


def grouped(gold: str, sign: str) -> str:
    """Whole numbers of four digits and more with a sign between each three."""
    commas = re.sub(r"(?<![0-9.{,!])[0-9]{4,}(?![0-9.])", lambda n: f"{int(n[0]):,}", gold)
    return commas.replace(",", sign)


def as_decimal(gold: str) -> str:
    """A whole gold `\\frac{a}{b}` as a decimal where that is exact."""
    found = re.fullmatch(r"(-?)\\frac\{([0-9]+)\}\{([0-9]+)\}", gold)
    if found is None or 10**6 % int(found[3]):
        return gold
    return found[1] + str(Decimal(int(found[2])) / Decimal(int(found[3])))


def turned(gold: str) -> str:
    """A list without brackets, the other way round."""
    bare = not re.search(r"[()\[\]{}=]", gold) and not re.search(r"\\!|[0-9]{3}", gold)
    return ", ".join(reversed(gold.split(","))) if bare else gold


def respelled(gold: str) -> list[str]:
    tight = re.sub(r"(?<![A-Za-z\\]) ", "", gold)  # the space after a command ends its name
    brackets = gold.replace("(", r"\left(").replace(")", r"\right)")
    plain = not re.search(r"[,.a-zA-Z(\\]", gold)
    spellings = [
        gold.replace(r"\frac", r"\dfrac"),
        gold.replace(r"\frac", r"\tfrac"),
        brackets if gold.count("(") == gold.count(")") and r"\left" not in gold else gold,
        tight,
        re.sub(r"([+=<])", r" \1 ", gold),
        gold.replace(", ", r",\! ").replace(" + ", r" \,+\, "),
        gold.replace(r"\mbox", r"\text").replace(r"\text{ ", r"\text{"),
        gold.replace(r"\pi", "π ").replace(r"^\circ", "°").replace(r"\cup", "∪"),
        gold.replace(r"\infty", "∞").replace(r"\le ", "≤").replace("-", "−"),
        gold.replace("^2", "²").replace("^3", "³").replace(r"\cdot", r"\times"),
        re.sub(r"\^(?:\{([0-9])\}|([0-9]))", r"**\1\2", gold),
        as_decimal(gold),
        turned(gold),
    ]
    return spellings + [grouped(gold, sign) for sign in (",", "{,}", r"\,") if plain]


def test_every_math_500_gold_equals_itself_in_each_wrapping_and_spelling() -> None:
    wrappings = ("{}", r"so \boxed{{{}}}.", "<answer>{}</answer>", r"$\boxed{{{}}}$", "${}$")
    for gold in golds("math500/test.jsonl", 500):
        spellings = [*(each.format(gold) for each in wrappings), *respelled(gold)]
        assert unequal((spelling, gold) for spelling in spellings) == []


def perturbed(gold: str) -> list[str]:
    """The gold with one digit raised by one, at each place in turn."""
    places = [place for place, character in enumerate(gold) if character in "0123456789"]
    return [gold[:at] + str((int(gold[at]) + 1) % 10) + gold[at + 1 :] for at in places]


def misread(gold: str) -> list[str]:
    """Copies with another sign or size, another order of a tuple, an end opened or closed."""
    copies: list[str] = []
    if re.fullmatch(r"[0-9.,!\\]*[1-9][0-9]*|\\frac.*|[0-9]*\\sqrt.*|\\pi.*", gold):
        copies += [f"-{gold}", f"{gold} + 1", rf"2 \cdot {gold}"]
    point = re.fullmatch(r"(?:\\left)?\s*\(([^,()]*),([^,()]*?)(?:\\right)?\s*\)", gold)
    if point and point[1].strip() != point[2].strip() and "infty" not in gold:
        copies += [f"({point[2]},{point[1]})", f"({point[1]},-({point[2]})-1)"]
    if re.search(r"\[[^\]()]*\)|\([^()]*\]|infty|cup", gold) and "<" not in gold:
        flips = str.maketrans("()[]", "[]()")
        ends = [at for at, sign in enumerate(gold) if sign in "()[]" and not by_infinity(gold, at)]
        copies += [gold[:at] + gold[at].translate(flips) + gold[at + 1 :] for at in ends]
    return copies


def by_infinity(gold: str, place: int) -> bool:
    """Whether the bracket stands at an infinite end, where open and closed are the same."""
    before = re.search(r"\\infty\s*(?:\\right)?$", gold[:place])
    return bool(before or re.match(r"[(\[]\s*-\s*\\infty", gold[place:]))


def test_no_math_500_gold_equals_a_copy_with_another_digit_or_a_misread_one() -> None:
    for changed in (perturbed, misread):
        copies = [
            (each, gold) for gold in golds("math500/test.jsonl", 500) for each in changed(gold)
        ]
        assert len(copies) > 900 and equal(copies) == []
