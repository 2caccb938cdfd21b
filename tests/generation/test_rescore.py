"""Judging again what was paid for: other rewards, other thresholds, not one call."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from infinite_rl.dataset import load_dataset
from infinite_rl.errors import NoCompletion, ProviderRefused, StoreError, UsageError
from infinite_rl.files.logs import read_rows
from infinite_rl.generation.progress import Progress
from infinite_rl.generation.rescore import rescore
from infinite_rl.generator import generate_dataset
from infinite_rl.layout import render, tagged
from infinite_rl.manifest import judging_timeout, read_manifest, write_manifest
from infinite_rl.providers.scripted import ScriptedProvider
from infinite_rl.reward_functions import get_reward_functions
from infinite_rl.reward_functions.math import MathRewardFunction
from infinite_rl.reward_functions.reward_function import Expected, RewardFunction
from infinite_rl.store import DATASET, FAILED, JOURNAL
from infinite_rl.types import RewardFunctionScore


def writes(system: str, prompt: str, seed: int) -> str:
    """One answer in four is wrong, one in seven without text."""
    if seed % 7 == 0:
        raise NoCompletion("blocked")
    shown = seed + 1 + (seed % 4 == 0)
    return render(f"What is {seed} + 1?", f"{seed + 1}", f"It is {tagged(str(shown))}.")


def make(folder: Path, script: Any = writes, count: int = 30, **more: Any) -> Progress:
    return generate_dataset(
        "m", count, folder, provider=ScriptedProvider(script), task_dist="0,1", **more
    )


class Strict(MathRewardFunction):
    """Refuses answers above a limit, whatever they are."""

    def compute_reward(
        self, model_output: str, expected_output: Expected, answer_tag: str = "answer"
    ) -> RewardFunctionScore:
        if int(str(expected_output)) > 2**30:
            return RewardFunctionScore(1.0, 0.0, "too large")
        return super().compute_reward(model_output, expected_output, answer_tag)


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file of a folder but its lock, with its content and when it was changed."""
    return {
        str(path.relative_to(folder)): path.read_bytes() + str(path.stat().st_mtime_ns).encode()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def test_the_same_rewards_give_the_same_files_beside_those_of_the_run(tmp_path: Path) -> None:
    make(tmp_path)
    before = files_of(tmp_path)
    found = rescore(tmp_path)
    assert (found.kept, found.gained, found.dropped) == (30, 0, 0)
    assert found.out == tmp_path / "rescored_1"
    for name in (DATASET, FAILED):
        old, new = (tmp_path / name).read_bytes(), (found.out / name).read_bytes()
        assert sorted(new.splitlines()) == sorted(old.splitlines())
    assert (found.out / JOURNAL).read_bytes() == (tmp_path / JOURNAL).read_bytes()
    assert files_of(tmp_path).items() >= before.items(), "what was there is as it was"
    assert make(found.out, []).calls == 0, "and the new folder is complete, too"


def test_no_earlier_file_is_ever_replaced(tmp_path: Path) -> None:
    make(tmp_path)
    outs = []
    for _ in range(3):
        before = files_of(tmp_path)
        outs.append(rescore(tmp_path).out)
        assert files_of(tmp_path).items() >= before.items()
    assert outs == [tmp_path / f"rescored_{n}" for n in (1, 2, 3)]
    for there in (tmp_path, tmp_path / "rescored_1", tmp_path / DATASET):
        with pytest.raises(UsageError, match="exists: name another folder"):
            rescore(tmp_path, to=there)
    assert rescore(tmp_path / "rescored_1", to=tmp_path / "a" / "b").out == tmp_path / "a" / "b"
    assert len(load_dataset(tmp_path / "a" / "b")) == 30


def test_a_dry_run_counts_and_writes_nothing(tmp_path: Path) -> None:
    make(tmp_path)
    before = files_of(tmp_path)
    strict = {"math": Strict("math")}
    planned = rescore(tmp_path, extra_rewards=strict, dry_run=True)
    assert files_of(tmp_path) == before and planned.out is None and planned.dropped > 0
    found = rescore(tmp_path, extra_rewards=strict)
    assert {**vars(found), "out": None} == vars(planned)


def test_where_nothing_can_be_written_the_run_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path)
    before = files_of(tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("infinite_rl.generation.rescore.shutil.copyfile", full)
    with pytest.raises(StoreError, match=r"cannot write .*rescored_1.* No space left on device"):
        rescore(tmp_path)
    assert files_of(tmp_path) == before


def test_another_reward_drops_rows_and_the_next_run_makes_others(tmp_path: Path) -> None:
    make(tmp_path)
    found = rescore(tmp_path, extra_rewards={"math": Strict("math")})
    assert found.out
    assert len(load_dataset(tmp_path)) == 30
    rows = load_dataset(found.out)
    assert found.dropped > 0
    assert len(rows) == found.kept == 30 - found.dropped
    assert all(int(answer) <= 2**30 for answer in rows["answer"])
    assert found.rejected["wrong"] >= found.dropped
    assert make(found.out, extra_rewards={"math": Strict("math")}).complete
    assert len(load_dataset(found.out)) == 30


def test_a_milder_threshold_gains_rows_without_a_call(tmp_path: Path) -> None:
    def solves(system: str, prompt: str, seed: int) -> str:
        right = int(prompt.split()[2]) + 1
        return tagged(str(right if seed % 2 else f"{right}{seed}"))

    def right(system: str, prompt: str, seed: int) -> str:
        return render(f"What is {seed} + 1?", f"{seed + 1}", tagged(str(seed + 1)))

    solver = ScriptedProvider(solves)
    options = {"verify": 4, "verify_model": solver}
    make(tmp_path, right, 10, min_agreement=0.75, **options)
    calls = len(solver.calls)
    found = rescore(tmp_path, min_agreement=0.5)
    assert found.kept == 10
    assert found.gained > 0
    assert len(solver.calls) == calls
    assert found.out
    assert read_manifest(tmp_path)["settings"]["min_agreement"] == 0.75
    assert read_manifest(found.out)["settings"]["min_agreement"] == 0.5
    assert "0.6667" in set(load_dataset(found.out)["agreement"])
    assert make(found.out, right, 10, min_agreement=0.5, **options).complete


def test_a_threshold_of_zero_stays_that_of_the_run(tmp_path: Path) -> None:
    def right(system: str, prompt: str, seed: int) -> str:
        return render(f"What is {seed} + 1?", f"{seed + 1}", tagged(str(seed + 1)))

    def solves(system: str, prompt: str, seed: int) -> str:
        return tagged(str(int(prompt.split()[2]) + 1)) if seed % 8 < 3 else ""

    options = {"verify": 16, "verify_model": ScriptedProvider(solves)}
    make(tmp_path, right, 20, min_agreement=0.0, **options)
    assert min(load_dataset(tmp_path)["agreement"].astype(float)) < 0.25
    found = rescore(tmp_path)
    assert found.dropped == 0 and found.out
    assert read_manifest(found.out)["settings"]["min_agreement"] == 0.0


def test_what_was_never_solved_blind_is_left_to_the_next_run(tmp_path: Path) -> None:
    def stops(system: str, prompt: str, seed: int) -> str:
        raise ProviderRefused("no more")

    options = {"verify": 2, "verify_model": ScriptedProvider(stops)}
    make(tmp_path, lambda *call: writes(call[0], call[1], 28 * call[2] + 1), 1, **options)
    found = rescore(tmp_path)
    assert (found.unproven, found.kept, found.gained) == (1, 0, 0)
    assert not found.rejected


def test_a_rescoring_that_was_killed_leaves_nothing_and_is_done_again(tmp_path: Path) -> None:
    make(tmp_path)
    killed = tmp_path / ".killed.part" / "new" / "rescored_1"
    killed.mkdir(parents=True)
    (killed / DATASET).write_text("half a fi", encoding="utf-8")
    found = rescore(tmp_path)
    assert found.kept == 30 and found.out == tmp_path / "rescored_1"
    assert not list(tmp_path.glob(".*.part"))


def test_rows_without_answers_in_the_journal_are_not_thrown_away(tmp_path: Path) -> None:
    make(tmp_path)
    lines = (tmp_path / JOURNAL).read_text("utf-8").splitlines(keepends=True)
    slot = next(read_rows(tmp_path / DATASET))["slot"]
    kept = [line for line in lines if json.loads(line)["slot"] != slot]
    (tmp_path / JOURNAL).write_text("".join(kept), "utf-8")
    data = (tmp_path / DATASET).read_bytes()
    with pytest.raises(StoreError, match="1 rows .* no completion in the journal"):
        rescore(tmp_path)
    assert (tmp_path / DATASET).read_bytes() == data


def test_answers_are_judged_in_the_runs_own_time_unless_another_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times: list[float] = []

    def rewards(timeout: float, extra: Any) -> dict[str, RewardFunction]:
        times.append(timeout)
        return get_reward_functions(timeout, extra)

    monkeypatch.setattr("infinite_rl.generation.rescore.get_reward_functions", rewards)
    make(tmp_path, count=2, timeout=7)
    folder: Path | None = tmp_path
    for timeout in (None, 2.5, None):
        assert folder
        folder = rescore(folder, timeout=timeout).out
    assert times == [7, 2.5, 2.5]


def test_the_longest_time_is_recorded_and_another_is_never_refused(tmp_path: Path) -> None:
    for count, timeout in enumerate((3, 7, 4), 1):
        assert make(tmp_path, count=count, timeout=timeout).complete
    assert judging_timeout(tmp_path) == 7


def test_a_folder_of_an_older_release_has_the_time_that_was_usual(tmp_path: Path) -> None:
    make(tmp_path, count=1, timeout=7)
    manifest = read_manifest(tmp_path)
    del manifest["timeout"]
    write_manifest(tmp_path, manifest)
    assert judging_timeout(tmp_path) == judging_timeout(tmp_path / "nowhere") == 5
    assert make(tmp_path, count=2, timeout=2).complete
    assert judging_timeout(tmp_path) == 5


@pytest.mark.parametrize("seconds", ["soon", 0, None, float("nan")])
def test_a_time_that_is_none_means_that_the_manifest_is_damaged(
    tmp_path: Path, seconds: object
) -> None:
    make(tmp_path, count=1)
    write_manifest(tmp_path, {**read_manifest(tmp_path), "timeout": seconds})
    with pytest.raises(StoreError, match=r"run\.json is damaged"):
        rescore(tmp_path)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_threshold_outside_its_range_is_refused(tmp_path: Path, share: float) -> None:
    with pytest.raises(UsageError, match=r"min_agreement must be in \[0, 1\]"):
        rescore(tmp_path, min_agreement=share)


def test_a_folder_without_a_journal_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no .*journal\.jsonl"):
        rescore(tmp_path)
    assert not list(tmp_path.iterdir())
