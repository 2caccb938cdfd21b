"""The conventions of the math verdict: every labelled pair of `math_pairs.txt`, both ways round."""

from __future__ import annotations

import pytest

from benchmarks.math_pairs import Pair, labelled
from infinite_rl.reward_functions.math import verify

PATIENCE = 30.0  # seconds: these tests are not about time, on however busy a machine
PAIRS = labelled()
NAMES = [f"{pair.reason}-{pair.line}" for pair in PAIRS]


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
