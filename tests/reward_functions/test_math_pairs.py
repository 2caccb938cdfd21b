"""The conventions of the math verdict: every labelled pair of `math_pairs.txt`, both ways round."""

from __future__ import annotations

from benchmarks.math_pairs import Pair, labelled
from infinite_rl.reward_functions.math import verify

TIMEOUT_S = 30.0  # seconds: these tests are not about time, on however busy a machine
PAIRS = labelled()


def test_each_labelled_pair_gets_its_label_in_both_orders() -> None:
    assert [fault for pair in PAIRS if (fault := _fault(pair))] == []


def _fault(pair: Pair) -> str:
    """What is wrong with the verdict on a pair, "" if it is right."""
    verdict = verify(pair.prediction, pair.gold, timeout=TIMEOUT_S)
    swapped = verify(pair.gold, pair.prediction, timeout=TIMEOUT_S)
    where = f"line {pair.line}: {pair.prediction!r} against {pair.gold!r}"
    if verdict.equal != pair.equal:
        return f"{where} is {verdict.status}: {verdict.reason}"
    if swapped.status != verdict.status:
        return f"{where} is {verdict.status}, and {swapped.status} the other way round"
    return f"{where} does not say why" if bool(verdict.reason) == verdict.equal else ""


def test_every_gold_equals_itself() -> None:
    spellings = ("{}", r"\boxed{{{}}}", "<answer>{}</answer>", " {}\n")
    written = [(each.format(gold), gold) for gold in {p.gold for p in PAIRS} for each in spellings]
    assert [pair for pair in written if not verify(*pair, timeout=TIMEOUT_S).equal] == []


def test_the_table_holds_as_many_wrong_answers_as_it_should() -> None:
    wrong = sum(not pair.equal for pair in PAIRS)
    assert len(PAIRS) >= 450 and wrong * 2 >= len(PAIRS)
