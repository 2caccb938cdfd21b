"""A watch: each checkpoint once, wherever it is published; an end; a best step that is honest."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from s3_server import Proxy, bucket, credentials

from infinite_rl.dataset import rows
from infinite_rl.errors import InfiniteRLError, StoreError, UsageError
from infinite_rl.estimators import wilson
from infinite_rl.evaluation import EvaluationConfig, harness, metrics
from infinite_rl.evaluation.checkpoints import Checkpoint, checkpoints
from infinite_rl.evaluation.harness import Line
from infinite_rl.evaluation.metrics import MetricPoint, best
from infinite_rl.evaluation.score import Estimate, Score
from infinite_rl.evaluation.watch import watch
from infinite_rl.storage import Transfer, fetch, publish
from infinite_rl.training.runs import checkpoint

RIGHT = {2: 20, 4: 60, 6: 60, 8: 58, 10: 90}  # of 100, by step


def score(right: int, items: int = 100) -> Score:
    low, high = wilson(right, items)
    return Score(
        items=items, samples=1, pass_at={1: Estimate(right / items, low, high, items)},
        answers=items, unscored=0, unasked=0, truncated=0.0, truncated_passed=0,
        format_errors=0.0, correctness=right / items, instructions=None, tokens_p50=3, tokens_p95=9,
    )  # fmt: skip


def save(folder: Path, step: int, right: int | None = None) -> Path:
    """A checkpoint that says how much it will have right."""
    folder.mkdir(parents=True)
    said = str(RIGHT[step] if right is None else right)
    (folder / "right").write_text(said)
    (folder / checkpoint.STATE).write_bytes(bytes(1000))
    sizes = {"right": len(said), checkpoint.STATE: 1000}
    (folder / checkpoint.READY).write_text(json.dumps({"files": sizes}))
    return folder


class Evaluating:
    """Stands in for `evaluate`: reads the answer off the checkpoint."""

    def __init__(self) -> None:
        self.models: list[Path] = []
        self.files: list[str] = []
        self.before: Callable[[], object] = lambda: None

    def __call__(self, config: EvaluationConfig, **_: Any) -> None:
        self.models.append(Path(config.model))
        self.files = sorted(path.name for path in Path(config.model).iterdir())
        self.before()
        right = int((Path(config.model) / "right").read_text())
        out = Path(config.out) / "sums"
        out.mkdir(parents=True, exist_ok=True)
        score(right).write(out / "score.json")


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> Evaluating:
    fake = Evaluating()
    monkeypatch.setattr(metrics, "evaluate", fake)
    return fake


@pytest.fixture
def tasks(tmp_path: Path) -> list[str]:
    made = [{"type": "math", "prompt": f"{n}?", "answer": "3"} for n in range(100)]
    rows.write(made, tmp_path / "sums.jsonl")
    return [str(tmp_path / "sums.jsonl")]


def told(tasks: list[str], **values: Any) -> EvaluationConfig:
    return EvaluationConfig.of({"model": "-", "tasks": tasks, "prompt_template": "plain", **values})


def steps(lines: Iterator[str]) -> list[str]:
    return [line.split(": ")[0] for line in lines if ": items " in line]


# Where checkpoints are.


def test_a_run_that_has_ended_says_with_which_checkpoint(tmp_path: Path) -> None:
    for step in (2, 4):
        save(tmp_path / "checkpoints" / f"step_{step}", step)
    found = checkpoints(str(tmp_path), Transfer())
    assert [each.final for each in found.present()] == [False, False]
    checkpoint.mark_finished(tmp_path / "checkpoints" / "step_4")
    assert [each.final for each in found.present()] == [False, True]
    checkpoint.mark_unfinished(tmp_path)
    assert [each.final for each in found.present()] == [False, False]


def test_the_last_checkpoint_is_that_of_its_step(tmp_path: Path) -> None:
    place = tmp_path / "far"
    for name, step in (("r_step2", 2), ("r_step10", 10), ("r_final", 10), ("notes", 2)):
        publish(save(tmp_path / name, step), place / name, {"step": step})
    found = checkpoints(place.as_uri(), Transfer()).present()
    assert found == [
        Checkpoint(2, str(place / "r_step2")),
        Checkpoint(10, str(place / "r_step10"), final=True),
    ]


def test_an_invalid_step_is_skipped_and_a_published_folder_is_known_by_its_path(
    tmp_path: Path,
) -> None:
    place = tmp_path / "far"
    publish(save(tmp_path / "r_step2", 2), place / "r_step2", {"step": 2})
    publish(save(tmp_path / "r_step", 2), place / f"r_step{'9' * 99}", {})
    for run in (place.as_uri(), str(place)):
        assert [(c.step, c.final) for c in checkpoints(run, Transfer()).present()] == [(2, False)]
    for n, step in enumerate((-1, 10**99, True, "2", None)):
        publish(save(tmp_path / f"final{n}", 2), place / "r_final", {"step": step})
        (found,) = checkpoints(place.as_uri(), Transfer()).present()
        assert (found.step, found.final) == (2, False), step


def test_one_run_of_several_is_named(tmp_path: Path) -> None:
    place = tmp_path / "far"
    for name in ("a_step2", "b_1_step2", "b_1_final"):
        publish(save(tmp_path / name, 2), place / name, {"step": 2})
    with pytest.raises(UsageError, match=r"of 2 runs, a, b_1: name one, such as file:.*far/a$"):
        checkpoints(place.as_uri(), Transfer()).present()
    (found,) = checkpoints(f"{place.as_uri()}/b_1", Transfer()).present()
    assert found.final and found.location.endswith("b_1_step2")
    assert checkpoints(f"{place.as_uri()}/c", Transfer()).present() == []


# The loop.


def test_a_watch_ends_with_the_run_and_says_which_step_is_best(
    tmp_path: Path, tasks: list[str], evaluated: Evaluating
) -> None:
    run = tmp_path / "run"
    save(run / "checkpoints" / "step_2", 2)
    looks: list[float] = []

    def later(seconds: float) -> None:
        looks.append(seconds)
        step = {1: 4, 2: 6}[len(looks)]
        path = save(run / "checkpoints" / f"step_{step}", step)
        if step == 6:
            checkpoint.mark_finished(path)

    lines = list(watch(run, told(tasks), wait=later))
    assert steps(iter(lines)) == [f"step_{step}, sums" for step in (2, 4, 6)]
    assert len(looks) == 2 and len(evaluated.models) == 3
    said = lines[3]
    assert (
        said.startswith("sums, pass@1: best of 3 is step 4, 0.6 [")
        and "; the same value: step 6" in said
    )
    assert lines[-1].startswith("the best of several is biased upwards")
    assert list(watch(run, told(tasks))) == lines[3:] and len(evaluated.models) == 3


def test_table_plot_and_json_mark_the_best(
    tmp_path: Path, tasks: list[str], evaluated: Evaluating
) -> None:
    pytest.importorskip("matplotlib")
    run = tmp_path / "run"
    for step in RIGHT:
        save(run / "checkpoints" / f"step_{step}", step, 60 if step == 10 else None)
    list(watch(run, told(tasks), once=True))
    out = run / "evaluations"
    table = (out / "steps.md").read_text()
    assert "| step 4, sums, best, tied |" in table and "| step 2, sums |" in table
    assert "| step 6, sums, tied with the best |" in table
    assert "the same value: step 6, 10; not separable by 100 items from step 8" in table
    (found,) = json.loads((out / "best.json").read_text())
    assert (found["figure"]["step"], found["tied"], found["not_told_apart"]) == (4, [6, 10], [8])
    assert found["steps"] == 5 and found["figure"]["low"] < 0.6 < found["figure"]["high"]
    assert (out / "plots" / "sums.png").read_bytes()[:4] == b"\x89PNG"


def test_a_watch_without_checkpoints_says_so_and_without_out_is_refused(
    tmp_path: Path, tasks: list[str]
) -> None:
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (line,) = watch(tmp_path / "run", told(tasks), once=True)
    assert line == "there is no checkpoint yet"
    with pytest.raises(UsageError, match="out is missing"):
        list(watch("s3://bucket/checkpoints/job/", told(tasks)))


def test_one_place_holds_what_one_harness_made(
    tmp_path: Path, tasks: list[str], evaluated: Evaluating
) -> None:
    run, out = tmp_path / "run", str(tmp_path / "out")
    save(run / "checkpoints" / "step_2", 2)
    list(watch(run, told(tasks, out=out), once=True))
    with pytest.raises(UsageError, match="harness was 'native', is 'lm_eval'"):
        list(watch(run, told(tasks, out=out, harness="lm_eval"), once=True))


# S3.


@pytest.fixture
def proxy(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    credentials(monkeypatch, s3_endpoint)
    with bucket("runs"), Proxy(s3_endpoint) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        yield proxy


PLACE = "s3://runs/checkpoints/job/"


def sent(tmp_path: Path, step: int, *, final: bool = False) -> None:
    folder = tmp_path / "made" / f"step_{step}"
    if not folder.exists():
        save(folder, step)
    name = "run_final" if final else f"run_step{step}"
    publish(folder, f"{PLACE}{name}/", {"run": "run", "step": step})


def test_checkpoints_in_s3_are_evaluated_as_they_come_and_not_kept(
    tmp_path: Path, tasks: list[str], evaluated: Evaluating, proxy: Proxy
) -> None:
    out = tmp_path / "out"
    sent(tmp_path, 2)

    def later(_: float) -> None:
        sent(tmp_path, 4)
        sent(tmp_path, 4, final=True)

    lines = watch(PLACE, told(tasks, out=str(out)), wait=later)
    assert steps(lines) == ["step_2, sums", "step_4, sums"]
    assert evaluated.files == ["READY", "right"]  # of which the optimizer's state is none
    assert not any(path.exists() for path in evaluated.models)
    assert steps(watch(PLACE, told(tasks, out=str(out)))) == []


def test_the_results_are_published_after_each_step(
    tmp_path: Path, tasks: list[str], evaluated: Evaluating, proxy: Proxy
) -> None:
    place, seen = "s3://runs/traces/job/evaluation/", list[list[int]]()

    def before() -> None:
        if evaluated.models[1:]:
            seen.append([line["step"] for line in rows.read(fetch(place) / "steps.jsonl")])

    evaluated.before = before
    sent(tmp_path, 2)
    sent(tmp_path, 4, final=True)
    list(watch(PLACE, told(tasks, out=str(tmp_path / "out")), publish_to=place))
    found = fetch(place)
    assert seen == [[2]]
    assert [line["step"] for line in rows.read(found / "steps.jsonl")] == [2, 4]
    names = {path.relative_to(found).as_posix() for path in found.rglob("*") if path.is_file()}
    assert {"steps.md", "best.json", "step_4/sums/score.json"} <= names
    assert not [name for name in names if name.startswith(".fetched")]


def test_results_that_cannot_be_published_are_said_and_kept(
    tmp_path: Path, tasks: list[str], evaluated: Evaluating, proxy: Proxy
) -> None:
    sent(tmp_path, 2, final=True)
    evaluated.before = lambda: setattr(proxy, "up", 0)
    made = watch(PLACE, told(tasks, out=str(tmp_path / "out")), publish_to="s3://runs/results/")
    line = next(line for line in made if line.startswith("the results are not published: "))
    assert "s3://runs/results/" in line
    assert (tmp_path / "out" / "steps.jsonl").is_file()
    proxy.up = None
    nowhere = watch(PLACE, told(tasks, out=str(tmp_path / "new")), publish_to="s3://nowhere/a/")
    with pytest.raises(UsageError, match="no bucket nowhere"):
        next(nowhere)


def test_a_watch_outlives_an_s3_that_does_not_answer(
    tmp_path: Path, tasks: list[str], evaluated: Evaluating, proxy: Proxy
) -> None:
    sent(tmp_path, 2, final=True)
    proxy.down = 0
    waits = 0

    def later(_: float) -> None:
        nonlocal waits
        waits += 1
        proxy.down = {1: 0, 2: 700}.get(waits)  # the second time a listing comes, and is cut off

    lines = list(watch(PLACE, told(tasks, out=str(tmp_path / "out")), wait=later))
    assert any("the watch retries" in line for line in lines)
    assert steps(iter(lines)) == ["step_2, sums"] and waits >= 2
    proxy.down = 0
    with pytest.raises(StoreError):
        list(watch(PLACE, told(tasks, out=str(tmp_path / "new")), once=True))


def test_a_checkpoint_that_is_removed_from_s3_meanwhile_is_passed_over(
    tmp_path: Path, tasks: list[str], evaluated: Evaluating, proxy: Proxy
) -> None:
    import boto3.session

    sent(tmp_path, 2)
    sent(tmp_path, 4, final=True)
    client = boto3.session.Session().client("s3")

    def removed() -> None:
        evaluated.before = lambda: None
        client.delete_object(Bucket="runs", Key="checkpoints/job/run_final/right")

    evaluated.before = removed
    lines = list(watch(PLACE, told(tasks, out=str(tmp_path / "out")), once=True))
    assert lines[-1] == "step_4 was deleted before it was evaluated"


def test_a_checkpoint_that_is_not_what_was_published_is_passed_over_and_told_at_the_end(
    tmp_path: Path, tasks: list[str], evaluated: Evaluating, proxy: Proxy
) -> None:
    import boto3.session

    for step in (2, 4):
        sent(tmp_path, step, final=step == 4)
    client = boto3.session.Session().client("s3")
    place = {"Bucket": "runs", "Key": "checkpoints/job/run_step2/PUBLISHED"}
    marker = json.loads(client.get_object(**place)["Body"].read())
    marker["files"]["right"]["sha256"] = "0" * 64
    client.put_object(**place, Body=json.dumps(marker).encode())
    config = told(tasks, out=str(tmp_path / "out"))
    lines = watch(PLACE, config, wait=lambda _: pytest.fail("it looks again"))
    said = next(lines)
    assert said.startswith("step_2 is skipped: ") and said.endswith("its hash differs")
    assert next(lines).startswith("step_4, sums: ")
    with pytest.raises(StoreError, match="damaged, and not evaluated: step_2$"):
        list(lines)


def test_a_stop_gives_a_transfer_up(
    tmp_path: Path, tasks: list[str], evaluated: Evaluating, proxy: Proxy
) -> None:
    sent(tmp_path, 2)
    stop = threading.Event()
    stop.set()
    assert list(watch(PLACE, told(tasks, out=str(tmp_path / "out")), stop=stop)) == []


# lm_eval.


def ran(config: EvaluationConfig) -> str:
    """Stands in for lm_eval: two metrics, of which the lower is better in one."""
    right = int((Path(config.model) / "right").read_text()) / 100
    common: Mapping[str, Any] = {
        "task": "gsm8k", "items": 100, "few_shot": 0, "max_tokens": 256, "stop": [],
        "truncated": 0.1,
    }  # fmt: skip
    made = [
        Line(metric="exact_match", value=right, stderr=0.05, higher_is_better=True, **common),
        Line(metric="bits", value=right, stderr=None, higher_is_better=False, **common),
        Line(metric="odd", value=right, stderr=None, **common),
    ]
    rows.write(({**vars(line)} for line in made), Path(config.out) / harness.LINES)
    return ""


def test_lm_eval_is_watched_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "run_harness", ran)
    monkeypatch.setattr(harness, "find_spec", lambda name: name)
    run = tmp_path / "run"
    for step in (2, 4, 8):
        save(run / "checkpoints" / f"step_{step}", step)
    config = told(["gsm8k"], harness="lm_eval")
    lines = list(watch(run, config, once=True))
    assert len(lines) == 9 + 3 and lines[0].startswith("step_2: task gsm8k, ")
    out = run / "evaluations_lm_eval"
    found = {each["figure"]["metric"]: each for each in json.loads((out / "best.json").read_text())}
    assert found.keys() == {"exact_match", "bits"}  # nobody says which way "odd" is better
    assert found["bits"]["figure"]["step"] == 2 and found["bits"]["not_told_apart"] == []
    assert found["exact_match"]["figure"]["step"] == 4
    assert found["exact_match"]["not_told_apart"] == [8]
    assert "| 4, best | gsm8k | exact\\_match |" in (out / "steps.md").read_text()
    assert len(list(rows.read(out / "steps.jsonl"))) == 9
    assert len(list(watch(run, config, once=True))) == 3  # nothing was evaluated again
    with pytest.raises(UsageError, match="step_2.*other settings: few_shot was 0, is 4"):
        list(watch(run, told(["gsm8k"], harness="lm_eval", few_shot=4), once=True))


def test_where_lm_eval_has_failed_other_settings_may_be_tried_and_a_missing_one_shows_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: EvaluationConfig) -> str:
        raise InfiniteRLError("lm_eval failed")

    monkeypatch.setattr(harness, "find_spec", lambda name: name)
    save(tmp_path / "run" / "checkpoints" / "step_2", 2)
    for few_shot, runs in ((0, fail), (4, ran)):
        monkeypatch.setattr(harness, "run_harness", runs)
        config = told(["gsm8k"], harness="lm_eval", few_shot=few_shot)
        with suppress(InfiniteRLError):
            lines = list(watch(tmp_path / "run", config, once=True))
    assert lines[0].startswith("step_2: task gsm8k")
    monkeypatch.setattr(harness, "find_spec", lambda _: None)
    (tmp_path / "new" / "checkpoints").mkdir(parents=True)
    with pytest.raises(UsageError, match="lm_eval is not installed"):
        list(watch(tmp_path / "new", told(["gsm8k"], harness="lm_eval")))


# The best.


def curve(
    *values: float, spread: float | None = 0.05, higher: bool | None = True
) -> list[MetricPoint]:
    return [
        MetricPoint(
            step=10 * n,
            task="t",
            metric="m",
            value=value,
            low=None if spread is None else value - spread,
            high=None if spread is None else value + spread,
            items=50,
            higher_is_better=higher,
        )
        for n, value in enumerate(values, 1)
    ]


def test_the_best_its_ties_and_steps_that_are_not_separable() -> None:
    for points, step, tied, close in (
        (curve(0.1, 0.5, 0.3), 20, (), ()),
        (curve(0.1, 0.5, 0.5, 0.41), 20, (30,), (40,)),
        (curve(0.0, 0.0), 10, (20,), ()),
        (curve(3.0, 1.0, 2.0, higher=False), 20, (), ()),
        (curve(0.4, 0.5, spread=None), 20, (), ()),
        (curve(0.7), 10, (), ()),
    ):
        found = best(points)
        assert found and found.steps == len(points)
        assert (found.point.step, found.tied, found.not_told_apart) == (step, tied, close)
    assert best([]) is None and best(curve(1.0, 2.0, higher=None)) is None
    assert metrics.notes([]) == []


def test_no_interval_of_lm_eval_is_without_width() -> None:
    for value, stderr, interval in (
        (0.5, 0.1, (0.304, 0.696)),
        (0.0, 0.0, wilson(0, 10)),
        (1.0, 0.0, wilson(10, 10)),
        (2.5, 0.0, (None, None)),
        (0.5, None, (None, None)),
    ):
        point = metrics.line_point(1, Line("t", "m", value, stderr, 10, 0, 256, (), None, True))
        assert (point.low, point.high) == pytest.approx(interval)


def test_a_hostile_name_of_a_task_is_a_file_in_the_folder(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("../up", "a/b", "..", "$x_{$", ""):
        made = [MetricPoint(1, name, "$m", 0.5, 0.4, 0.6, 9)]
        (path,) = metrics.plot(made, tmp_path / "plots")
        assert path.parent == tmp_path / "plots" and path.is_file()
