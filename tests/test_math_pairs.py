"""The conventions of the math verdict: every labelled pair of `math_pairs.txt`, both ways round."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from infinite_rl.reward_functions.math import verify

PATIENCE = 30.0  # seconds: these tests are not about time, on however busy a machine
TABLE = Path(__file__).with_name("math_pairs.txt")


class Pair(NamedTuple):
    line: int
    section: str
    prediction: str
    gold: str
    equal: bool


def read_table() -> list[Pair]:
    pairs: list[Pair] = []
    section = ""
    for line, text in enumerate(TABLE.read_text(encoding="utf-8").split("\n"), 1):
        right, wrong = text.rfind(" == "), text.rfind(" != ")
        cut = max(right, wrong)
        if cut >= 0 and not text.startswith("# "):
            sides = (part.replace("¶", "\n") for part in (text[:cut], text[cut + 4 :]))
            pairs.append(Pair(line, section, *sides, right > wrong))
        elif text.startswith("["):
            section = text.strip("[]")
    return pairs


PAIRS = read_table()
NAMES = [f"{pair.section}-{pair.line}" for pair in PAIRS]


@pytest.mark.parametrize("pair", PAIRS, ids=NAMES)
def test_a_labelled_pair_gets_its_label_in_both_orders(pair: Pair) -> None:
    verdict = verify(pair.prediction, pair.gold, timeout=PATIENCE)
    swapped = verify(pair.gold, pair.prediction, timeout=PATIENCE)
    assert verdict.equal == pair.equal, verdict
    assert swapped.status == verdict.status
    assert bool(verdict.reason) != verdict.equal, "what is not equal says why"


@pytest.mark.parametrize("gold", sorted({pair.gold for pair in PAIRS}))
def test_every_gold_equals_itself(gold: str) -> None:
    for spelling in (gold, rf"\boxed{{{gold}}}", f"<answer>{gold}</answer>", f" {gold}\n"):
        assert verify(spelling, gold, timeout=PATIENCE).equal, spelling


def test_the_table_holds_as_many_wrong_answers_as_it_should() -> None:
    wrong = sum(not pair.equal for pair in PAIRS)
    assert len(PAIRS) >= 450 and wrong * 2 >= len(PAIRS)
