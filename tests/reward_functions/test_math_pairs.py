"""The conventions of the math verdict: every labelled pair of `math_pairs.txt`, both ways round."""

from __future__ import annotations

import pytest

from benchmarks.math_pairs import Pair, labelled
from infinite_rl.reward_functions.math import verify

PATIENCE = 30.0  # seconds: these tests are not about time, on however busy a machine
PAIRS = labelled()
CONVENTIONS: dict[str, list[Pair]] = {}
for each in PAIRS:
    CONVENTIONS.setdefault(each.reason, []).append(each)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_each_labelled_pair_gets_its_label_in_both_orders(convention: str) -> None:
    assert [fault for pair in CONVENTIONS[convention] if (fault := _fault(pair))] == []


def _fault(pair: Pair) -> str:
    """What is wrong with the verdict on a pair, "" where nothing is."""
    verdict = verify(pair.prediction, pair.gold, timeout=PATIENCE)
    swapped = verify(pair.gold, pair.prediction, timeout=PATIENCE)
    where = f"line {pair.line}: {pair.prediction!r} against {pair.gold!r}"
    if verdict.equal != pair.equal:
        return f"{where} is {verdict.status}: {verdict.reason}"
    if swapped.status != verdict.status:
        return f"{where} is {verdict.status}, and {swapped.status} the other way round"
    return f"{where} does not say why" if bool(verdict.reason) == verdict.equal else ""


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_every_gold_equals_itself(convention: str) -> None:
    for gold in sorted({pair.gold for pair in CONVENTIONS[convention]}):
        for spelling in (gold, rf"\boxed{{{gold}}}", f"<answer>{gold}</answer>", f" {gold}\n"):
            assert verify(spelling, gold, timeout=PATIENCE).equal, spelling


def test_the_table_holds_as_many_wrong_answers_as_it_should() -> None:
    wrong = sum(not pair.equal for pair in PAIRS)
    assert len(PAIRS) >= 450 and wrong * 2 >= len(PAIRS)
