"""Scores for rows and completions: every row gets the native verdict, in order, and once."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import nan
from pathlib import Path
from typing import Any
from weakref import ref

import pytest
from labelled import assert_none, unlike

from infinite_rl import cli
from infinite_rl.dataset import rows, scoring
from infinite_rl.dataset.scoring import SCORE_COLUMNS, Judging, score_file, score_rows
from infinite_rl.dataset.unfinished import ENDING
from infinite_rl.errors import StoreError, UnknownName, UsageError
from infinite_rl.export import export
from infinite_rl.export.formats import FORMATS
from infinite_rl.layout import fenced, tagged
from infinite_rl.reward_functions import get_reward_functions
from infinite_rl.reward_functions.reward_function import RewardFunction
from infinite_rl.store import FAILED_COLUMNS
from infinite_rl.types import RewardFunctionScore, Sample
from infinite_rl.workers.pool import default_count

ROOT = Path(__file__).parents[2]


def math(number: int, said: object, answer: object = None) -> dict[str, Any]:
    right = str(number) if answer is None else answer
    return {"type": "math", "prompt": f"{number}?", "answer": right, "response": tagged(str(said))}


def code(said: str, language: str = "python") -> dict[str, Any]:
    response = tagged(f"\n{fenced(said, language)}\n")
    row = {"type": "coding", "prompt": "Print 7.", "answer": "7", "language": language}
    return {**row, "response": response}


JUDGED = [
    (math(1, 1), "passed"), (code("print(7)"), "passed"), (math(2, 3), "failed"),
    (code("print(8)"), "failed"), (code("console.log(7)", "javascript"), "passed"),
    (code("raise SystemExit"), "failed"), (math(3, 3, "\\frac{"), "unscored"),
    (math(4, "", ""), "unscored"), ({**math(5, 5), "response": ""}, "failed"),
    ({**math(6, 6), "response": "<answer>" * 50 + "6"}, "passed"),
    *((math(0, 7, answer), "passed") for answer in (7, 7.0, {"answer": 7})),  # as their JSON
]  # fmt: skip


def test_each_row_gets_the_verdict_of_its_reward_in_its_place() -> None:
    rewards, given = get_reward_functions(), [row for row, _ in JUDGED]
    found = list(score_rows(given))
    scores = ("status", "error_msg", "format_score", "correctness_score", "quality_score")
    for row, scored in zip(given, found, strict=True):
        reward = rewards[row["type"]]
        native = reward.score(rows.sample_of(row), row["response"])
        assert {name: scored[name] for name in row} == row
        assert [scored[name] for name in scores] == [getattr(native, name) for name in scores]
        assert (scored["reward"], scored["reward_version"]) == (row["type"], reward.version)
    assert [row["status"] for row in found] == [status for _, status in JUDGED]


def test_what_the_judging_and_the_row_name_is_judged_and_old_scores_are_replaced() -> None:
    program = {"gold": "7", "said": tagged("\n```\nconsole.log(7)\n```\n"), "response": "no"}
    (found,) = score_rows([program], Judging("said", "gold", "coding", "javascript"))
    assert found["status"] == "passed" and found["response"] == "no"
    old = {**math(1, 2), "status": "passed", "correctness_score": "1.0", "reward_version": "0"}
    old |= {"runtime_sha256": "abc", "limits": "{}", "seed": "3"}
    failed = {**dict.fromkeys(FAILED_COLUMNS, ""), **math(1, 1), "error_msg": "wrong: no"}
    rescored, passed = score_rows([old, failed])
    assert (rescored["status"], rescored["correctness_score"]) == ("failed", 0.0)
    assert rescored["seed"] == "3" and not {"runtime_sha256", "limits"} & {*rescored}
    assert (passed["status"], passed["error_msg"]) == ("passed", "")


def test_without_a_completion_or_an_answer_there_is_no_verdict() -> None:
    for column, value, says in (
        *(("response", value, "'response' holds ") for value in (["7"], 7)),
        ("response", None, "nothing in 'response'"),
        *(("answer", value, "nothing in 'answer'") for value in (None, float("nan"))),
    ):
        (found,) = score_rows([{**math(7, 7), column: value}])
        assert found["status"] == "unscored" and says in found["error_msg"]


def test_what_cannot_be_judged_is_refused() -> None:
    def scored(*given: dict[str, Any]) -> Callable[[], object]:
        return lambda: list(score_rows(given))

    assert_none(unlike((
        *(("timeout must be a positive number", partial(Judging, timeout=seconds))
          for seconds in (0.0, -1.0, float("nan"), float("inf"))),
        (r"row 2 has no column 'response' \(its columns: type",
         scored(math(1, 1), {"type": "math", "answer": "1"})),
        ("UnknownName: row 1: unknown reward 'poetry'", scored({**math(1, 1), "type": "poetry"})),
        ("UnknownName: unknown language 'cobol'", scored(code("7", "cobol"))),
    )))  # fmt: skip


def test_columns_that_are_of_no_score_are_not_replaced_unasked(tmp_path: Path) -> None:
    own = {**math(1, 1), "status": "shipped", "reward": 5, "limits": "none"}
    with pytest.raises(UsageError, match="row 2 .* replace: status, reward; .*overwrite_columns"):
        list(score_rows([math(2, 2), own]))
    (found,) = score_rows([own], overwrite_columns=True)
    assert (found["status"], found["reward"], found["limits"]) == ("passed", "math", "none")
    (again,) = score_rows([found])
    assert again["status"] == "passed"
    given, out = tmp_path / "given.jsonl", tmp_path / "out.jsonl"
    rows.write([own] * 20, given)
    with pytest.raises(UsageError, match="overwrite_columns"):
        score_file(given, out)
    begun(given, out, 7, overwrite_columns=True)
    summary = score_file(given, out, overwrite_columns=True)
    assert (summary.there_before, summary.rows) == (7, 20)


def test_an_exported_row_is_judged_against_its_ground_truth(tmp_path: Path) -> None:
    given = [{**math(1, 1), "id": "a"}, {**code("print(7)"), "id": "b"}]
    judging = Judging("said")
    for to, form in FORMATS.items():
        if to in ("jsonl", "parquet") or form.tree:  # as they are, or a folder a row
            continue
        export(given, to, tmp_path / to)
        (path,) = (tmp_path / to).rglob("train.*")
        exported = zip(rows.read(path), given, strict=True)
        one, two = ({**row, "said": each["response"]} for row, each in exported)
        found = score_rows([one, two, {**one, "said": tagged("2")}], judging)
        assert [row["status"] for row in found] == ["passed", "passed", "failed"], to


def test_rows_without_responses_are_no_completions(tmp_path: Path) -> None:
    given, path = [{**math(n, n), "response": ""} for n in range(3)], tmp_path / "given.jsonl"
    rows.write(given, path)
    with pytest.raises(UsageError, match="nothing in 'response' of the first 3 rows.*--completion"):
        score_file(path, tmp_path / "out.jsonl")
    assert [path] == list(tmp_path.iterdir())
    given[2]["response"] = tagged("2")
    rows.write(given, path)
    assert score_file(path, tmp_path / "out.jsonl").rows == 3


class Length(RewardFunction):
    """Passes what is as long as the metadata of its row say."""

    version = "9"

    def compute_reward(self, model_output: str, expected_output: Any, answer_tag: str = "") -> Any:
        passed = len(model_output) == int(expected_output)
        return RewardFunctionScore(1.0, float(passed), status="passed" if passed else "failed")


def test_a_reward_of_ones_own_can_judge_and_is_given_the_sample() -> None:
    seen: list[Sample] = []

    class Curious(Length):
        def score(self, sample: Sample, completion: str) -> RewardFunctionScore:
            seen.append(sample)
            return super().score(sample, completion)

    row = {"type": "length", "prompt": "p", "answer": "3", "language": "x"}
    given = [{**row, "response": text} for text in ("abc", "ab")]
    found = list(score_rows(given, rewards={"length": Curious("length")}))
    assert [row["status"] for row in found] == ["passed", "failed"]
    assert found[0]["reward_version"] == "9"
    assert (seen[0].prompt, seen[0].answer, seen[0].language) == ("p", "3", "x")


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (1.0, "compute_reward of 'length' returned float; return a RewardFunctionScore"),
        ({"status": "Passed"}, "with the status 'Passed'; it is one of passed, failed, unscored"),
        ({"correctness_score": 7.5}, "with correctness_score 7.5; it is from 0 to 1"),
        ({"correctness_score": nan}, "with correctness_score nan; it is from 0 to 1"),
        ({"format_score": None}, "with format_score None; it is from 0 to 1"),
        (KeyError("x"), "^row 1: the reward 'length' raised KeyError: 'x' .test_scoring.py, line"),
        (SystemExit(3), "^row 1: the reward 'length' raised SystemExit: 3 .test_scoring.py, line"),
    ],
)
def test_what_a_reward_of_ones_own_gets_wrong_is_one_line(returned: Any, said: str) -> None:
    class Careless(Length):
        def compute_reward(self, *_: Any) -> Any:
            if isinstance(returned, BaseException):
                raise returned
            sound = RewardFunctionScore(1.0, 1.0, status="passed")
            return replace(sound, **returned) if isinstance(returned, dict) else returned

    row = {"type": "length", "prompt": "p", "answer": "3", "response": "abc"}
    with pytest.raises(UsageError, match=said):
        list(score_rows([row], rewards={"length": Careless("length")}))


def test_rows_are_taken_as_they_are_needed_and_not_all_at_once() -> None:
    taken = 0

    def endless() -> Iterator[dict[str, Any]]:
        nonlocal taken
        while True:
            taken += 1
            yield math(taken, taken)

    found = score_rows(endless())
    for _ in range(3):
        assert next(found)["status"] == "passed"
    found.close()  # type: ignore[attr-defined]
    assert taken < 1_000


@pytest.mark.slow
def test_few_long_rows_are_in_memory_at_a_time(tmp_path: Path) -> None:
    class Long(dict[str, Any]):
        """A row that a weak reference can follow."""

    refs: list[ref[Long]] = []
    alive: list[int] = []

    def source() -> Iterator[dict[str, Any]]:
        for number in range(12):
            row = Long({**code("print(1)"), "answer": f"{number} " * 2_000_000, "response": "7"})
            refs.append(ref(row))
            yield row

    def count(_: int) -> None:
        alive.append(sum(each() is not None for each in refs))

    summary = score_file(source(), tmp_path / "scored.jsonl", on_row=count)
    assert summary.counts == {("coding", "failed"): 12}
    assert max(alive) <= default_count() + 4


# --- files ---------------------------------------------------------------------------------------
def file_of(folder: Path, count: int = 30) -> Path:
    path = folder / "given.jsonl"
    rows.write([{**math(n, n + n % 2), "id": f"row-{n}"} for n in range(count)], path)
    return path


def test_a_file_is_scored_into_a_file_of_any_kind(tmp_path: Path) -> None:
    for kind in ("jsonl", "csv", "json"):
        out = tmp_path / kind / f"out.{kind}"
        summary = score_file(file_of(tmp_path), out)
        found = list(rows.read(out))
        assert [row["id"] for row in found] == [f"row-{n}" for n in range(30)]
        assert [row["status"] for row in found] == ["passed", "failed"] * 15
        assert set(SCORE_COLUMNS) < set(found[0])
        assert summary.counts == {("math", "passed"): 15, ("math", "failed"): 15}
        assert list(out.parent.iterdir()) == [out]


class Killed(Exception):
    """In the place of a signal."""


def begun(given: Path, out: Path, done: int, **options: Any) -> Path:
    """Score until so many rows are done; what is left then."""

    def stop(count: int) -> None:
        if count == done:
            raise Killed

    with pytest.raises(Killed):
        score_file(given, out, on_row=stop, **options)
    assert not out.exists()
    return out.with_name(out.name + ENDING)


def test_a_run_that_was_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, whole = file_of(tmp_path), tmp_path / "whole.jsonl"
    score_file(given, whole)
    judged: list[object] = []
    original = scoring.job_of
    monkeypatch.setattr(scoring, "job_of", lambda *given: judged.append(0) or original(*given))
    for torn in (b"", b'{"type": "math", "prom'):
        out = tmp_path / f"out{len(torn)}.jsonl"
        part = begun(given, out, 11)
        part.write_bytes(part.read_bytes() + torn)
        judged.clear()
        summary = score_file(given, out)
        assert (len(judged), summary.there_before, summary.rows) == (19, 11, 30)
        assert out.read_bytes() == whole.read_bytes() and not part.exists()


def test_rows_of_another_run_are_not_gone_on_with(tmp_path: Path) -> None:
    given, out = file_of(tmp_path), tmp_path / "out.jsonl"
    begun(given, out, 5)
    with pytest.raises(StoreError, match="other settings"):
        score_file(given, out, Judging(timeout=9))
    changed = list(rows.read(given))
    changed[4]["answer"] = "0"
    rows.write(changed, given)
    with pytest.raises(StoreError, match="made of other rows"):
        score_file(given, out)
    rows.write([{**math(n, n), "id": f"row-{n}"} for n in range(3)], given)
    with pytest.raises(StoreError, match="made of other rows"):
        score_file(given, out)
    assert score_file(given, out, overwrite=True).counts == {("math", "passed"): 3}


def test_a_run_that_got_no_row_done_leaves_nothing_and_is_in_nobodys_way(tmp_path: Path) -> None:
    given, out = file_of(tmp_path), tmp_path / "out.jsonl"
    with pytest.raises(UsageError, match="no column 'said'"):
        score_file(given, out, Judging("said"))
    assert list(tmp_path.iterdir()) == [given]
    out.with_name(out.name + ENDING).write_bytes(b'{"settings": "of a run that was killed"}\n')
    assert score_file(given, out).rows == 30


# --- the verb ------------------------------------------------------------------------------------
def test_the_verb_counts_and_names_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given, out = tmp_path / "given.jsonl", tmp_path / "out.csv"
    broken = json.dumps({"tests": ["def check(:\n" + "    deeper\n" * 100]})
    unreadable = [{**math(n, n, "\\frac{"), "id": f"r{n}"} for n in range(50)]
    rows.write([math(1, 1), math(2, 3), {**code("7"), "answer": broken}, *unreadable], given)
    assert cli.main(["score", str(given), "-o", str(out)]) == 0
    shown = capsys.readouterr()
    assert "math: passed 1, failed 1, unscored 50" in shown.out
    first, *others = shown.err.splitlines()
    assert first.startswith("without a verdict: row 3: ") and len(first) < 300
    assert others[0].startswith("without a verdict: row 4 (r0): cannot judge")
    assert 5 <= len(others) < 50
    assert cli.main(["score", str(given), "-o", str(out)]) == 2
    assert "is there already: --overwrite" in capsys.readouterr().err
    assert cli.main(["score", str(given), "-o", str(out), "--overwrite", "--strict"]) == 1
    assert cli.main(["score", str(given), "-o", str(tmp_path / "out.txt")]) == 2


def test_the_verb_says_why_most_completions_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given, out = tmp_path / "given.jsonl", tmp_path / "out.jsonl"
    untagged = [{**code("print(7)"), "response": fenced("print(7)", "python")}] * 12
    wrong = [code("1 / 0"), code("print(8)"), code(f"print('{'9' * 90}')")]
    failing = [code(f"def f(x): return {n}") for n in range(5)]
    tested = [{**each, "answer": f"assert f({n}) == 9{n}"} for n, each in enumerate(failing)]
    rows.write(untagged, given)
    assert cli.main(["score", str(given), "-o", str(out)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[2] == "    failed 12: no <answer> tag in the output"
    assert "--type program" in shown[3]
    rows.write([*untagged, *tested, *wrong, math(1, 2), math(2, 2)], given)
    for arguments in ([], ["--json"]):
        main = ["score", str(given), "-o", str(out), "--overwrite", *arguments]
        assert cli.main(main) == 0
        shown = capsys.readouterr().out.splitlines()
        if arguments:
            first = {"reward": "coding", "reason": "no <answer> tag in the output", "rows": 12}
            assert json.loads(shown[0])["reasons"][0] == first
        else:
            assert shown[3:6] == [
                "    failed 12: no <answer> tag in the output (coding)",
                "    failed 5: AssertionError (coding)",
                "    failed 2: wrong output: expected (coding)",
            ]
            assert not any("--type program" in line for line in shown)
            assert max(map(len, shown[:6])) <= 80


RESUMED = """
import resource, sys
from infinite_rl.dataset.scoring import score_file
on_row = lambda count: count == 2_000 and print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
summary = score_file(sys.argv[1], sys.argv[2], on_row=on_row)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print(summary.there_before, summary.rows)
"""


@pytest.mark.slow
def test_a_killed_process_loses_nothing_and_memory_does_not_grow_with_rows(tmp_path: Path) -> None:
    given, out, count = tmp_path / "given.jsonl", tmp_path / "out.jsonl", 10_000
    padding = "so it must be said again " * 200  # 5 KB each: 50 MB
    rows.write(({**math(n, n), "response": padding + tagged(str(n))} for n in range(count)), given)
    command = [sys.executable, "-m", "infinite_rl", "score", str(given), "-o", str(out)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    part = out.with_name(out.name + ENDING)
    while child.poll() is None and (not part.exists() or part.stat().st_size < 1_000_000):
        time.sleep(0.05)
    assert child.poll() is None, "it was done before it could be killed"
    child.send_signal(signal.SIGKILL)
    child.wait()
    command = [sys.executable, "-c", RESUMED, str(given), str(out)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    early, late, before, scored = map(int, done.stdout.split())
    assert 0 < before < 2_000 and scored == count
    assert late - early < 20_000, "KiB"
    assert [row["prompt"] for row in rows.read(out)] == [f"{n}?" for n in range(count)]


@pytest.mark.slow
def test_a_cluster_judges_alike(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    given, here, there = tmp_path / "given.jsonl", tmp_path / "here.jsonl", tmp_path / "there.jsonl"
    rows.write([row for row, _ in JUDGED] * 6, given)  # two tasks
    score_file(given, here)
    with scoring.on_ray() as spread:
        score_file(given, there, spread=spread)
        with pytest.raises(UnknownName, match="unknown language 'cobol'"):
            list(score_rows([code("7", "cobol")], spread=spread))
    assert there.read_bytes() == here.read_bytes()
