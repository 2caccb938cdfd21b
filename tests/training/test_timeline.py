"""Where a run's time went: every number worked by hand, whatever a worker is called."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_rl.cli import main
from infinite_rl.errors import StoreError, UsageError
from infinite_rl.training.runs import timeline
from infinite_rl.training.runs.run_folder import EVENTS
from infinite_rl.training.runs.timeline import Timeline, common, draw, read, summary, union

HOSTILE = "</text><script>alert(1)</script>$\\frac{\x1b[2J\n\u202e&é"


def span(stage: str, worker: str, began: float, ended: float, **more: Any) -> dict[str, Any]:
    values = {"began_s": began, "ended_s": ended, "version": 0, "prompts": 1}
    return {"kind": "span", "step": 1, "stage": stage, "worker": worker, **values, **more}


def folder(path: Path, *events: dict[str, Any]) -> Path:
    path.mkdir(exist_ok=True)
    (path / EVENTS).write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


EVENTS_OF_A_RUN = (
    span("sync", "trainer", 0, 0),
    span("rollout", "rollout-0", 0, 4),
    span("reward", "reward-0", 4, 5),
    span("idle", "trainer", 0, 5),
    span("train", "trainer", 5, 8, step=2),
    span("rollout", "rollout-0", 4, 7, lost=True),
    span("rollout", "rollout-10", 2, 3),
    span("rollout", "rollout-2", 6, 10),
    {"kind": "fate", "step": 1, "version": 0, "used": 4, "wasted": 0, "filtered": 2, "failed": 0},
    {"kind": "fate", "step": 2, "version": 0, "used": 1, "wasted": 3, "filtered": 0, "failed": 0},
    {"kind": "fate", "step": 2, "version": 1, "used": 2, "wasted": 0, "filtered": 0, "failed": 1},
    {"kind": "train", "step": 1, "loss": 0.5},
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return folder(tmp_path / "run", *EVENTS_OF_A_RUN)


def test_the_shares_are_those_worked_by_hand(run: Path) -> None:
    found = summary(read(run))
    assert found["seconds"] == 10
    assert found["stages"]["rollout"] == {"seconds": 12, "spans": 4}
    assert found["stages"]["idle"] == {"seconds": 5, "spans": 1}
    assert found["workers"]["trainer"] == {"train": 3, "sync": 0, "idle": pytest.approx(0.7)}
    assert found["workers"]["rollout-0"] == {"rollout": 7, "idle": pytest.approx(0.3)}
    shares = {"trainer": 0.7, "rollout": (0.3 + 0.9 + 0.6) / 3, "reward": 0.9}
    assert found["idle"] == pytest.approx(shares)
    assert found["overlap"] == {"seconds": 3, "of_training": 1}
    assert found["lost"] == {"rollout-0": 1}


def test_the_fates_are_counted_by_version(run: Path) -> None:
    assert summary(read(run))["fates"] == {
        "all": {"used": 7, "wasted": 3, "filtered": 2, "failed": 1},
        "0": {"used": 5, "wasted": 3, "filtered": 2, "failed": 0},
        "1": {"used": 2, "wasted": 0, "filtered": 0, "failed": 1},
    }


def test_the_trainer_is_the_first_and_2_comes_before_10(run: Path) -> None:
    names = ["trainer", "rollout-0", "rollout-2", "rollout-10", "reward-0"]
    assert read(run).workers == names


def test_what_was_done_again_after_a_kill_is_there_once(tmp_path: Path) -> None:
    made = folder(
        tmp_path / "run",
        span("train", "trainer", 0, 1, step=1),
        span("train", "trainer", 1, 9, step=2),
        {"kind": "fate", "step": 2, "version": 1, "used": 99},
        {"kind": "resumed", "step": 1},
        span("train", "trainer", 1, 2, step=2),
        {"kind": "fate", "step": 2, "version": 1, "used": 4},
    )
    found = summary(read(made))
    assert found["seconds"] == 2 and found["fates"]["all"]["used"] == 4


def test_a_run_that_is_running_may_be_looked_at(run: Path) -> None:
    with (run / EVENTS).open("a") as file:
        file.write('{"kind": "span", "step": 3, "sta')
    assert len(read(run).spans) == 8


def test_what_is_no_span_is_passed_over(run: Path) -> None:
    wrong = [
        span("train", "trainer", 3, 2),
        span("train", "trainer", 0, 99, ended_s=None),
        span("train", "trainer", 0, 99, began_s="now"),
        span("train", "trainer", 0, float("inf")),
        span("train", "trainer", 0, 10**400),
        span("train", "trainer", -1e300, 99),
        {"kind": "span", "step": 1},
        {"kind": "fate", "step": 1, "version": 0, "used": "many"},
    ]
    before = summary(read(run))
    assert summary(read(folder(run, *EVENTS_OF_A_RUN, *wrong))) == before


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([{"kind": "train", "step": 1}], "tells of no spans: only the engines asyncio and ray"),
        ([], "tells of no spans"),
    ],
)
def test_a_run_without_spans_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], events: list[dict[str, Any]], said: str
) -> None:
    assert main(["train", "timeline", str(folder(tmp_path / "run", *events))]) == 2
    shown = capsys.readouterr()
    assert said in shown.err and shown.err.count("\n") == 1 and shown.out == ""


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not the folder of a run"):
        read(tmp_path)
    (folder(tmp_path / "run") / EVENTS).write_text("{\n[]\n")
    with pytest.raises(StoreError, match="damaged"):
        read(tmp_path / "run")


INTERVALS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda pair: (min(pair), max(pair)))
)


def covered(intervals: Any) -> set[int]:
    """The units of time that are covered."""
    return {unit for began, ended in intervals for unit in range(int(began), int(ended))}


@given(INTERVALS, INTERVALS)
def test_unions_and_what_they_have_in_common_cover_what_they_should(one: Any, other: Any) -> None:
    first, second = union(one), union(other)
    assert covered(first) == covered(one)
    assert all(a[1] < b[0] for a, b in zip(first, first[1:], strict=False))
    assert covered(common(first, second)) == covered(one) & covered(other)
    assert math.fsum(e - b for b, e in first) == len(covered(one))


def test_a_picture_is_drawn_that_loads_nothing(run: Path) -> None:
    pytest.importorskip("matplotlib")
    assert main(["train", "timeline", str(run)]) == 0
    assert (run / "plots" / "timeline.png").read_bytes().startswith(b"\x89PNG")
    text = (run / "plots" / "timeline.svg").read_text()
    ElementTree.fromstring(text)
    assert "<script" not in text and not re.search(r"(href|src)=\"(?!#)", text)


def test_the_picture_shows_stages_deaths_and_versions(run: Path, tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    with matplotlib.rc_context({"svg.fonttype": "none"}):  # letters, not their outlines
        draw(read(run), [tmp_path / "a.svg"], "a run")
    text = (tmp_path / "a.svg").read_text()
    said = set(re.findall(r">([^<>\n]+)</text>", text))
    assert {"trainer", "rollout-10", "train", "rollout", "died", "version of the weights"} <= said
    for stage in ("rollout", "train", "idle"):
        assert timeline.STAGES[stage] in text


def test_hostile_names_are_but_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    made = folder(tmp_path / "r$un", span(HOSTILE, HOSTILE, 0, 1), span("train", "x" * 9999, 0, 1))
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        assert main(["train", "timeline", str(made)]) == 0
    text = (made / "plots" / "timeline.svg").read_text()
    ElementTree.fromstring(text)
    assert "<script" not in text and "x" * 100 not in text
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and "\u202e" not in shown and "x" * 100 not in shown
    assert len(recwarn) == 0


def test_a_run_of_one_moment_can_be_drawn(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    pytest.importorskip("matplotlib")
    made = folder(tmp_path / "run", span("sync", "trainer", 3, 3))
    assert main(["train", "timeline", str(made)]) == 0 and len(recwarn) == 0
    assert summary(read(made))["idle"] == {"trainer": 0}


@pytest.mark.slow
def test_many_spans_and_workers_make_no_huge_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    spans = [timeline.Span("train", f"w{n % 500}", n / 10, n / 10 + 0.05, 0) for n in range(50_000)]
    draw(Timeline(spans, {}), [tmp_path / "a.svg"])
    assert (tmp_path / "a.svg").stat().st_size < 5_000_000


def test_the_summary_is_said_in_words(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = folder(
        run.parent / "sync", span("train", "trainer", 0, 1), span("idle", "trainer", 1, 4)
    )
    picture = run / "p.svg"
    assert main(["train", "timeline", str(run), "-o", str(picture), "--against", str(other)]) == 0
    shown = capsys.readouterr().out
    for line in (
        "10.0 seconds, 5 workers",
        "idle share of trainer: 70.0%, 75.0% in the other run",
        "sampling and learning at once: 3.0 s, 100.0% of the time of learning",
        "prompts: used 7, wasted 3, filtered 2, failed 1",
        "  version 1: used 2, wasted 0, filtered 0, failed 1",
        "  rollout-0: rollout 7.0 s, idle 30%, died 1 times",
        f"in {picture}",
    ):
        assert f"{line}\n" in shown
    assert picture.is_file() and not (run / "plots").exists()


def test_of_many_versions_several_share_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fates = [{"kind": "fate", "step": 1, "version": n, "used": 1} for n in range(100)]
    made = folder(tmp_path / "run", span("train", "trainer", 0, 1), *fates)
    assert main(["train", "timeline", str(made)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("version ") == 20 and "version 95 to 99: used 5," in shown


def test_json_is_the_summary_and_nothing_else(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "timeline", str(run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(summary(read(run))))


def test_another_kind_of_picture_is_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "timeline", str(run), "-o", str(run / "a.html")]) == 2
    shown = capsys.readouterr()
    assert "let it end in .png or .svg" in shown.err and not shown.out


def test_without_matplotlib_it_is_refused_before_anything_is_said(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["train", "timeline", str(run)]) == 2
    shown = capsys.readouterr()
    assert "plots need matplotlib: pip install" in shown.err and not shown.out
