"""The curves of a run: drawn from its events, and nothing else."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from infinite_rl.errors import StoreError, UsageError
from infinite_rl.training.runs.plots import CURVES, curves, plot, running_mean

PNG = b"\x89PNG\r\n\x1a\n"


def run_with(folder: Path, *events: dict[str, Any]) -> Path:
    text = "".join(json.dumps(event) + "\n" for event in events)
    (folder / "events.jsonl").write_text(text)
    return folder


def steps(count: int, **values: Any) -> list[dict[str, Any]]:
    return [{"kind": "train", "step": step, **values} for step in range(1, count + 1)]


def test_a_curve_holds_the_steps_and_values_of_one_kind_of_event() -> None:
    events = [
        {"kind": "train", "step": 1, "reward": 0.25, "loss": None},
        {"kind": "eval", "step": 1, "reward": 0.5, "note": "x"},
        {"kind": "train", "step": 2, "reward": 1, "loss": 2.5},
        {"kind": "resumed", "step": 2},
    ]
    assert curves(events) == {
        "reward": {"train": ([1, 2], [0.25, 1]), "eval": ([1], [0.5])},
        "loss": {"train": ([2], [2.5])},
    }


def test_a_running_mean_begins_with_what_is_there() -> None:
    assert running_mean([1, 2, 6, 4], 3) == [1, 1.5, 3, 4]
    assert running_mean([], 3) == []


@pytest.mark.parametrize("count", [1, 3, 100])
def test_each_curve_that_is_there_becomes_a_png(tmp_path: Path, count: int) -> None:
    pytest.importorskip("matplotlib")
    run = run_with(tmp_path, *steps(count, reward=0.5, kl=1e-3, length=3, loss=-1.0, other=1))
    drawn = plot(run)
    assert [path.name for path in drawn] == ["reward.png", "kl.png", "length.png", "loss.png"]
    for path in drawn:
        assert path.read_bytes().startswith(PNG)
    assert sorted(path.name for path in (run / "plots").iterdir()) == sorted(
        path.name for path in drawn
    )


def test_every_curve_can_be_drawn_and_once_more(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run = run_with(tmp_path, *steps(3, **dict.fromkeys(CURVES, 0.5)))
    first, again = plot(run), plot(run)
    assert first == again and [path.stem for path in again] == list(CURVES)


def test_a_run_without_numbers_has_no_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert plot(run_with(tmp_path, *steps(2, reward=None))) == []
    assert not (tmp_path / "plots").exists()


def test_drawing_needs_no_main_thread_and_no_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.delenv("DISPLAY", raising=False)
    run, drawn = run_with(tmp_path, *steps(2, reward=1)), []
    thread = threading.Thread(target=lambda: drawn.extend(plot(run)))
    thread.start()
    thread.join()
    assert len(drawn) == 1


def test_a_folder_that_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run = run_with(tmp_path, *steps(2, reward=1))
    (run / "plots").write_text("")
    with pytest.raises(StoreError, match=r"^cannot write .*/plots/reward.png: "):
        plot(run)


def test_without_matplotlib_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(UsageError, match=r"pip install 'infinite-rl\[train\]'"):
        plot(run_with(tmp_path))
