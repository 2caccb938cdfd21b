"""The share of right golds: an interval that a bad solver widens, and rows with their evidence."""

import random
from pathlib import Path
from typing import Any

import pytest

from benchmarks.truth_rate import votes
from infinite_rl.dataset import rows
from infinite_rl.dataset.solving import SolveConfig
from infinite_rl.dataset.truth import Truth, stratified, stratum, truth
from infinite_rl.errors import UsageError
from infinite_rl.layout import tagged
from infinite_rl.providers.scripted import ScriptedProvider
from infinite_rl.verification.truth_rate import Votes, truth_rate

RIGHT, WRONG, HARD = Votes(4, 4, 0), Votes(4, 0, 4), Votes(4, 0, 1)


def test_attempts_that_meet_in_another_answer_are_evidence_and_scattered_ones_are_not() -> None:
    meet = truth_rate([RIGHT] * 150 + [WRONG] * 50)
    scatter = truth_rate([RIGHT] * 150 + [HARD] * 50)
    assert 0.7 < meet.rate < 0.85 and meet.low < 0.75 < meet.high
    assert scatter.rate > 0.95 and scatter.high == 1.0
    assert meet.doubts[WRONG] > 0.7 and scatter.doubts[HARD] < 0.1
    assert meet.doubts[RIGHT] < 0.01


@pytest.mark.parametrize("mean", [0.5, 0.7, 0.9])
def test_the_interval_covers_what_was_planted_whatever_the_solver(mean: float) -> None:
    chance = random.Random(1)
    for wrong in (0.0, 0.05, 0.1):
        rates = [truth_rate(list(votes(chance, wrong, mean, "even", 0.3, 0.5))) for _ in range(6)]
        assert sum(rate.low <= 1 - wrong <= rate.high for rate in rates) >= 5
        assert all(rate.low <= rate.rate <= rate.high for rate in rates)


def test_golds_that_are_known_need_no_model_and_narrow_the_interval() -> None:
    known = truth_rate([], right=190, wrong=10)
    assert known.low < 0.95 < known.high and known.high - known.low < 0.08
    both, alone = truth_rate([RIGHT] * 20, right=180), truth_rate([RIGHT] * 20)
    assert both.low > alone.low and both.high == 1.0
    with pytest.raises(ValueError, match="no row"):
        truth_rate([Votes(0, 0, 0)])


def test_few_rows_say_little() -> None:
    few, many = truth_rate([RIGHT] * 5), truth_rate([RIGHT] * 500)
    assert few.low < 0.8 and many.low > 0.98


# --- the sample
def test_a_sample_has_the_kinds_of_rows_in_their_proportions() -> None:
    keys = [("a", str(n)) for n in range(600)] + [("b", str(n)) for n in range(300)]
    keys += [("c", str(n)) for n in range(100)]
    chosen = stratified(keys, 51)
    assert [sum(keys[n][0] == name for n in chosen) for name in "abc"] == [31, 15, 5]
    assert set(stratified(keys, 10)) < set(chosen), "a larger sample has the rows of a smaller"
    assert stratified(keys, 51, seed=1) != chosen == stratified(keys, 51)
    assert stratified(keys, 5000) == list(range(1000))


def test_a_stratum_is_the_type_language_and_level() -> None:
    assert stratum({"type": "math", "level": "3", "difficulty": "hard"}) == "math, 3"
    assert stratum({"type": "coding", "language": "python", "level": ""}) == "coding, python"


# --- the estimate of a file
def ask(tmp_path: Path, provider: ScriptedProvider, **options: Any) -> Truth:
    sample = options.pop("sample", 200)
    config = SolveConfig(**{"provider": provider, "model": "m", "threads": 2, **options})
    return truth(tmp_path / "rows.jsonl", tmp_path / "truth.jsonl", config, sample=sample)


def write_sums(tmp_path: Path, prompt: str, excess: list[bool]) -> None:
    """Write rows that ask for n + 3, and give it with an excess."""
    sums = [
        {"id": f"r{n}", "type": "math", "prompt": prompt.format(n), "answer": str(n + 3 + more)}
        for n, more in enumerate(excess)
    ]
    rows.write(sums, tmp_path / "rows.jsonl")


@pytest.fixture
def solver(tmp_path: Path) -> ScriptedProvider:
    """Forty sums, two with a wrong gold, and a solver that fails at every fifth in its own ways."""
    sums = [
        {
            "id": f"r{n}",
            "type": "math",
            "prompt": f"{n} cats and 3 dogs: how many pets?",
            "answer": str(n + 3 + (n in (7, 8))),
        }
        for n in range(40)
    ]
    rows.write(sums, tmp_path / "rows.jsonl")

    def solve(_system: str, prompt: str, seed: int) -> str:
        number = int(prompt.split()[0])
        return tagged(str(number + 3 if number % 5 else seed % 1000 + 50))

    return ScriptedProvider(solve)


def test_wrong_golds_are_listed_with_the_evidence_and_hard_rows_are_not(
    tmp_path: Path, solver: ScriptedProvider
) -> None:
    result = ask(tmp_path, solver)
    assert (result.rows, result.sampled, result.unjudged) == (40, 40, 0)
    assert result.rate and result.rate.low < 0.95 < result.rate.high
    assert sorted(doubt.id for doubt in result.doubtful) == ["r7", "r8"]
    assert result.doubtful[0].evidence == "0 of 4 attempts match '11', 4 agree on '10'"
    written = {row["id"]: row for row in rows.read(tmp_path / "truth.jsonl")}
    assert written["r7"]["doubt"] > 0.5 > written["r5"]["doubt"] > written["r1"]["doubt"]
    assert (written["r5"]["judged"], written["r5"]["agreeing"]) == (4, 0)


def test_a_larger_sample_pays_for_its_new_rows_alone(
    tmp_path: Path, solver: ScriptedProvider
) -> None:
    assert ask(tmp_path, solver, sample=10).calls == 40
    assert ask(tmp_path, solver, sample=15).calls == 20
    assert ask(tmp_path, solver, sample=15).calls == 0
    planned = ask(tmp_path, solver, sample=20, dry_run=True, price="1,1")
    assert planned.estimate and planned.estimate.calls == 20 and planned.rate is None


def test_rows_that_cannot_be_judged_are_counted_and_an_empty_file_is_refused(
    tmp_path: Path, solver: ScriptedProvider
) -> None:
    unreadable = {"type": "math", "prompt": "p", "answer": "\\frac{"}
    rows.write([unreadable], tmp_path / "rows.jsonl")
    result = ask(tmp_path, solver)
    assert (result.unjudged, result.rate, solver.calls) == (1, None, [])
    with pytest.raises(UsageError, match="sample must be at least 1"):
        ask(tmp_path, solver, sample=0)
    (tmp_path / "rows.jsonl").write_text("")
    with pytest.raises(UsageError, match="no row"):
        ask(tmp_path, solver)


def test_no_call_is_made_for_what_follows_from_the_prompt(
    tmp_path: Path, solver: ScriptedProvider
) -> None:
    write_sums(tmp_path, "Compute ${} + 3$.", [n == 19 for n in range(20)])
    result = ask(tmp_path, solver)
    assert (result.derived, result.unjudged, solver.calls) == (20, 0, [])
    assert result.rate and result.rate.low < 0.95 < result.rate.high
    assert result.doubtful == [("r19", 1.0, "by evaluation it is '22', not '23'")]
