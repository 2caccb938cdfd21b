"""The proof of a row in a run: its verifier is tested, and others find its answer."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from infinite_rl.dataset import load_dataset
from infinite_rl.errors import NoCompletion, ProviderRefused, UsageError
from infinite_rl.files.csv_log import read_rows
from infinite_rl.generation.journal import answers
from infinite_rl.generation.progress import Progress
from infinite_rl.generator import generate_dataset
from infinite_rl.layout import render, tagged
from infinite_rl.providers.scripted import ScriptedProvider
from infinite_rl.store import FAILED
from infinite_rl.types import Completion, Usage


def writes(system: str, prompt: str, seed: int) -> str:
    """A task whose answer is one too many for every third seed."""
    claimed = seed + 1 + (seed % 3 == 0)
    return render(f"What is {seed} + 1?", f"{claimed}", f"So it is {tagged(str(claimed))}.")


def solves(system: str, prompt: str, seed: int) -> str:
    """The truth, as the prompt alone tells it."""
    return f"I add. {tagged(str(int(prompt.split()[2]) + 1))}"


def make(folder: Path, writer: Any, solver: Any, count: int = 4, **more: Any) -> Progress:
    return generate_dataset(
        "m", count, folder, provider=ScriptedProvider(writer),
        verify_model=ScriptedProvider(solver), task_dist="0,1", verify=3, **more,
    )  # fmt: skip


@pytest.mark.slow
def test_an_answer_that_no_solve_finds_is_kept_out_with_its_reason(tmp_path: Path) -> None:
    progress = make(tmp_path, writes, solves, 20, num_threads=4)
    rows = load_dataset(tmp_path)
    assert progress.complete
    assert all(int(seed) % 3 for seed in rows["seed"])
    assert set(rows["agreement"]) == {"1.0"}
    assert set(rows["solve_rate"]) == {"1.0"}
    assert list(rows["majority_answer"]) == list(rows["answer"])
    failed = list(read_rows(tmp_path / FAILED))
    assert failed
    assert all(int(row["answer"]) % 3 == 2 for row in failed)
    assert all(row["error_msg"].startswith("disagreement: 0 of 2") for row in failed)


def test_a_solver_sees_the_prompt_alone(tmp_path: Path) -> None:
    solver = ScriptedProvider(solves)
    make(tmp_path, writes, lambda *call: solver.complete(*call))
    for call in solver.calls:
        assert call.prompt.startswith("What is")
        assert str(int(call.prompt.split()[2]) + 1) not in call.system + call.prompt
    assert len({call.seed for call in solver.calls}) == len(solver.calls)


def test_every_solve_is_kept_and_none_is_asked_for_again(tmp_path: Path) -> None:
    asked = Counter[int]()

    def solver(system: str, prompt: str, seed: int) -> str:
        asked[seed] += 1
        if sum(asked.values()) == 2:
            raise ProviderRefused("stop here")
        return solves(system, prompt, seed)

    def right(system: str, prompt: str, seed: int) -> str:
        return writes(system, prompt, 3 * seed + 1)

    assert make(tmp_path, right, solver, 1).stopped == "stop here"
    assert len(load_dataset(tmp_path)) == 0
    progress = make(tmp_path, [], solver, 1)
    assert progress.complete, "the task itself was in the journal"
    assert sorted(asked.values()) == [1, 2], "but for the one that was refused"
    slots = [str(slot) for slot, _ in answers(tmp_path)]
    assert slots == ["math/0/0/0", *(f"math/0/0/0/solve{n}" for n in (1, 2))]


def test_a_solve_without_text_or_answer_does_not_agree(tmp_path: Path) -> None:
    def solver(system: str, prompt: str, seed: int) -> str:
        if seed % 2:
            raise NoCompletion("blocked")
        return "I do not know."

    progress = make(tmp_path, writes, solver, 1, max_retries=1)
    assert set(progress.rejected) == {"disagreement"}


def test_solves_are_paid_for_only_where_a_row_would_be_kept(tmp_path: Path) -> None:
    solver = ScriptedProvider(solves)
    wrong = render("What is 1 + 1?", "2", tagged("3"))
    same = render("What is 7 + 1?", "8", tagged("8"))
    script = [wrong, same, same, ProviderRefused("end")]
    make(tmp_path, script, lambda *call: solver.complete(*call), 3)
    assert len(load_dataset(tmp_path)) == 1
    assert len(solver.calls) == 2


def test_the_cost_of_solves_counts(tmp_path: Path) -> None:
    def solver(*call: Any) -> Completion:
        return Completion(solves(*call), "s", usage=Usage(5, 7), cost=0.01)

    def writer(system: str, prompt: str, seed: int) -> Completion:
        return Completion(writes(system, prompt, 3 * seed + 1), "w", usage=Usage(1, 1), cost=0.1)

    progress = make(tmp_path, writer, solver, 2)
    assert progress.spending.calls == 6
    assert progress.spending.cost == pytest.approx(0.24)
    assert progress.spending.usage == Usage(22, 30)


def test_a_row_carries_the_score_of_its_verifier(tmp_path: Path) -> None:
    make(tmp_path, writes, solves, 1)
    row = load_dataset(tmp_path).iloc[0]
    assert float(row["mutation_score"]) == 1.0
    assert int(row["mutants"]) >= 3


@pytest.mark.slow
def test_a_row_whose_tests_see_nothing_is_kept_out(tmp_path: Path) -> None:
    body = "def f(n):\n    total = 0\n    for i in range(n):\n        total += i\n    return total"
    tests = '{"tests": ["assert callable(f)"]}'
    text = render("Write f.", tests, tagged(f"\n```python\n{body}\n```\n"))
    progress = generate_dataset(
        "m", 1, tmp_path, provider=ScriptedProvider(lambda *_: text), task_dist="1,0",
        languages=["python"], max_retries=1,
    )  # fmt: skip
    assert set(progress.rejected) == {"weak verifier"}


@pytest.mark.parametrize("wrong", [{"verify": -1}, {"min_agreement": 1.5}, {"min_agreement": -0.1}])
def test_wrong_settings_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        generate_dataset("m", 1, tmp_path / "out", provider=ScriptedProvider(writes), **wrong)
    assert not (tmp_path / "out").exists()
