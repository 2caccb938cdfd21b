"""Real references: each gold of GSM8K and MATH-500 can be read and equals itself."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from infinite_rl.reward_functions.math import verify

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
UNREADABLE: dict[str, str] = {}  # MATH-500 golds that cannot be read, by id, with the reason


def rows(name: str) -> list[dict[str, str]]:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the data set {path} is not here")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(("name", "count"), [("test", 1319), ("train", 7473)])
def test_every_gsm8k_gold_equals_itself_and_no_neighbour(name: str, count: int) -> None:
    golds = [row["answer"].split("#### ")[1].strip() for row in rows(f"gsm8k/{name}.jsonl")]
    bare = [gold.replace(",", "") for gold in golds]
    assert len(golds) == count
    assert all(verify(f"#### {gold}", gold).equal for gold in golds)
    assert all(
        verify(rf"\boxed{{{left}}}", right).equal for left, right in zip(bare, golds, strict=True)
    )
    assert not any(verify(f"{gold}1", gold).equal for gold in bare)
    assert not any(verify(f"-{gold}", gold).equal for gold in bare if gold.strip("-0"))


def test_a_gsm8k_solution_is_read_at_its_mark() -> None:
    for row in rows("gsm8k/test.jsonl")[:300]:
        assert verify(row["answer"], row["answer"].split("#### ")[1]).equal


def test_every_math_500_gold_equals_itself_in_each_wrapping() -> None:
    golds = {row["unique_id"]: row["answer"] for row in rows("math500/test.jsonl")}
    assert len(golds) == 500
    for wrapping in ("{}", r"so \boxed{{{}}}.", "<answer>{}</answer>", r"$\boxed{{{}}}$", "${}$"):
        failed = {
            name for name, gold in golds.items() if not verify(wrapping.format(gold), gold).equal
        }
        assert failed == UNREADABLE.keys(), wrapping


def respelled(gold: str) -> list[str]:
    fractions = gold.replace(r"\frac", r"\dfrac")
    tight = re.sub(r"(?<![A-Za-z]) ", "", gold)  # the space after a command ends its name
    brackets = gold.replace("(", r"\left(").replace(")", r"\right)")
    return [
        fractions,
        brackets if gold.count("(") == gold.count(")") else gold,
        tight,
    ]


def test_every_math_500_gold_equals_its_respellings() -> None:
    failed = [
        (row["unique_id"], spelling)
        for row in rows("math500/test.jsonl")
        for spelling in respelled(row["answer"])
        if r"\left\left" not in spelling and "{pmatrix}" not in spelling
        if not verify(spelling, row["answer"]).equal
    ]
    assert not failed


def perturbed(gold: str) -> list[str]:
    """The gold with one digit raised by one, at each place in turn."""
    places = [place for place, character in enumerate(gold) if character in "0123456789"]
    return [gold[:at] + str((int(gold[at]) + 1) % 10) + gold[at + 1 :] for at in places]


def test_no_math_500_gold_equals_a_copy_with_another_digit() -> None:
    copies = [
        (copy, row["answer"])
        for row in rows("math500/test.jsonl")
        for copy in perturbed(row["answer"])
    ]
    assert len(copies) > 900
    assert not [pair for pair in copies if verify(*pair).equal]
