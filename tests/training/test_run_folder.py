"""A run's folder: what it was started with is all there but for secrets, and no line is lost."""

from __future__ import annotations

import errno
import json
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest
from labelled import unlike

from infinite_rl.errors import DiskFull, StoreError, UsageError
from infinite_rl.redact import REDACTED
from infinite_rl.training.runs import machine, run_folder
from infinite_rl.training.runs.run_folder import RunFolder, read_config, read_events, read_rollouts

CONFIG = {"model": "tiny", "seed": 7, "learning_rate": 1e-6, "tracking": []}


@pytest.fixture
def run(tmp_path: Path) -> Any:
    with RunFolder.create(tmp_path, CONFIG, ["train", "grpo"]) as run:
        yield run


def written(path: Path) -> str:
    """All text of all files of a folder."""
    files = (file for file in path.rglob("*") if file.is_file())
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


# What it was started with.
def test_it_records_how_a_run_started(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level("INFO", "infinite_rl"),
        RunFolder.create(tmp_path, CONFIG, ["train", "grpo"]) as run,
    ):
        assert f"the run's folder: {run.path}" in caplog.messages
    manifest = json.loads((run.path / "run_manifest.json").read_text())
    assert manifest["command"] == ["train", "grpo"] and manifest["seeds"] == {"seed": 7}
    assert manifest["versions"]["python"] == sys.version.split()[0]
    assert manifest["versions"]["wasmtime"] and manifest["runtimes"]["python"]
    assert datetime.fromisoformat(manifest["began"]).tzinfo is not None
    assert read_config(run.path) == CONFIG
    lock = (run.path / "locks" / "requirements.lock.txt").read_text().splitlines()
    assert any(line.startswith("wasmtime==") for line in lock)
    hardware = json.loads((run.path / "sys" / "hardware.json").read_text())
    assert hardware["cores"] == os.cpu_count() and hardware["memory_bytes"] > 2**20


def test_the_name_has_second_and_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with RunFolder.create("runs", CONFIG) as run:
        assert run.path.name.endswith("_nogit")
        assert json.loads((run.path / "run_manifest.json").read_text())["commit"] is None
    (tmp_path / "file").write_text("committed")
    for command in ("init -q", "add file", "-c user.name=a -c user.email=a@b commit -q -m x"):
        subprocess.run(["git", "-C", tmp_path, *command.split()], check=True)
    for changed in (False, True):  # the files of other runs make no difference
        with RunFolder.create("runs", CONFIG) as run:
            commit = json.loads((run.path / "run_manifest.json").read_text())["commit"]
            assert run.path.parent == Path("runs") and len(commit["sha"]) == 40
            stamp, _, short = run.path.name.partition("_")
            assert short[:8] == commit["sha"][:8] and commit["changed"] is changed
            assert datetime.strptime(stamp, "%Y%m%dT%H%M%SZ")
        (tmp_path / "file").write_text("changed")
    monkeypatch.setenv("PATH", "")
    assert machine.commit(Path.cwd()) is None, "without git"


def test_runs_begun_at_once_do_not_collide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Stopped:
            return cls(2026, 1, 31, 12, 0, 0, tzinfo=tz)

    monkeypatch.setattr(run_folder, "datetime", Stopped)

    def begin(_: int) -> Path:
        with RunFolder.create(tmp_path, CONFIG) as run:
            run.event("begin", 0)
            return run.path

    with ThreadPoolExecutor(4) as threads:
        paths = list(threads.map(begin, range(4)))
    name = min(path.name for path in paths)
    assert name.startswith("20260131T120000Z_")
    assert {path.name for path in paths} == {name, f"{name}-2", f"{name}-3", f"{name}-4"}
    assert all(len(list(read_events(path))) == 1 for path in paths)


# Secrets.
def test_no_secret_gets_into_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "from-the-environment")
    monkeypatch.setenv("WANDB_API_KEY", "0123456789abcdef")
    config = {
        **CONFIG,
        "engine_options": {
            "hub_token": "in-the-config",
            "url": "https://someone:in-the-url@host/x",
            "note": "uses from-the-environment twice: from-the-environment",
            "nested": [{"api_key": "in-a-list"}],
            "eos_token": "<|endoftext|>",
        },
    }
    command = ["train", "--hub_token", "in-a-flag", "--api-key=behind-an-equals", "--steps", "20"]
    with RunFolder.create(tmp_path, config, command) as run:
        text = written(run.path)
        kept = read_config(run.path)["engine_options"]
    for secret in (
        *("from-the-environment", "0123456789abcdef", "in-the-config", "in-the-url", "in-a-list"),
        *("in-a-flag", "behind-an-equals"),
    ):
        assert secret not in text
    assert kept["eos_token"] == "<|endoftext|>" and kept["url"] == f"https://{REDACTED}@host/x"
    assert kept["hub_token"] == REDACTED and f'"{REDACTED}"' in text
    assert '"20"' in text


# Lines.
def test_lines_are_read_back_as_they_were_written(run: RunFolder) -> None:
    run.event("train", 1, loss=math.nan, parts={"kl": [math.inf, 1.0]}, pair=(-math.inf, 2))
    run.event("eval", 1, loss=0.5, reward=None, note='a "line"\n\u2028 ü \ud800')
    run.rollout(1, prompt='{"kind": "resumed", "step": 0}', ids=[1, 2], kind_of="resumed")
    with pytest.raises(UsageError, match="cannot be written as JSON: .*set"):
        run.event("train", 1, loss={1})
    assert [event["kind"] for event in read_events(run.path)] == ["train", "eval"]
    (event,) = read_events(run.path, "eval")
    assert (event["step"], event["loss"], event["reward"]) == (1, 0.5, None)
    assert event["time"] > 1.7e9 and event["note"] == 'a "line"\n\u2028 ü \ud800'
    (event,) = read_events(run.path, "train")
    assert (event["loss"], event["parts"], event["pair"]) == (None, {"kl": [None, 1.0]}, [None, 2])
    assert "NaN" not in (run.path / "events.jsonl").read_text()
    (record,) = read_rollouts(run.path)  # its text speaks of resuming, and resumes nothing
    assert (record["step"], record["ids"], record["prompt"][2:6]) == (1, [1, 2], "kind")


def test_a_torn_last_line_is_left_out_and_owed_again(run: RunFolder) -> None:
    run.close()
    for step, torn in enumerate((b'{"kind": "tra', b"{", b"\xff\x00", b'{"kind": "train"}'), 1):
        with RunFolder.open(run.path) as again:
            again.event("train", step)
            again.rollout(step, text="a")
        for name in ("events.jsonl", "rollouts.jsonl"):
            with (run.path / name).open("ab") as file:
                file.write(torn)
        done = list(range(1, step + 1))
        assert [event["step"] for event in read_events(run.path)] == done
        assert [record["step"] for record in read_rollouts(run.path)] == done


def test_a_damaged_line_before_the_end_is_named(run: RunFolder) -> None:
    run.event("train", 1)
    run.close()
    whole = (run.path / "events.jsonl").read_bytes()
    wrong = b'{"kind": "resumed"}\n', b'{"kind": "train", "step": "2"}\n'
    for line in (b"{\n", b"[]\n", b"\xff\n", b"[" * 99_999 + b"\n", *wrong):
        (run.path / "events.jsonl").write_bytes(whole + line + b'{"kind": "train", "step": 2}\n')
        with pytest.raises(StoreError, match=r"events.jsonl is damaged at line 2"):
            list(read_events(run.path))


def test_steps_that_are_done_again_are_there_once(run: RunFolder) -> None:
    def steps(*numbers: int, mark: str) -> None:
        for number in numbers:
            run.event("train", number, mark=mark)
            run.rollout(number, mark=mark)

    steps(1, 2, 3, 4, 5, mark="a")
    run.resumed(2)
    steps(3, 4, 5, 6, mark="b")
    run.resumed(4)
    run.resumed(4)
    steps(5, mark="c")
    expected = [(1, "a"), (2, "a"), (3, "b"), (4, "b"), (5, "c")]
    assert [(event["step"], event["mark"]) for event in read_events(run.path, "train")] == expected
    assert [(record["step"], record["mark"]) for record in read_rollouts(run.path)] == expected
    assert [event["step"] for event in read_events(run.path, "resumed")] == [2, 4, 4]
    run.resumed(1)
    assert [(event["step"], event["mark"]) for event in read_events(run.path, "train")] == [
        (1, "a")
    ]
    assert [record["step"] for record in read_rollouts(run.path)] == [1]


def test_rollouts_stop_at_their_size_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folder, "ROLLOUT_BYTES", 120)
    with RunFolder.create(tmp_path, CONFIG) as run:
        for step in (1, 2, 3):
            run.rollout(step, text="x" * 30)
        run.rollout(4, text="")  # would have room, but what is there has no gaps
        path = run.path
    with RunFolder.open(path) as run:
        run.rollout(5, text="")
        assert [record["step"] for record in read_rollouts(run.path)] == [1, 2]
        size = (path / "rollouts.jsonl").stat().st_size
        assert size <= 120
        (event,) = read_events(run.path, "rollouts_capped")
        assert (event["step"], event["bytes"]) == (3, size)


def test_lines_of_many_threads_are_whole(run: RunFolder) -> None:
    def write(number: int) -> None:
        for step in range(50):
            run.event("train", step, thread=number, filler="x" * 500)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    found = [(event["thread"], event["step"]) for event in read_events(run.path)]
    assert sorted(found) == [(number, step) for number in range(4) for step in range(50)]


# What can go wrong.
def test_an_unusable_root_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    roots = (tmp_path / "file", tmp_path / "file" / "below")
    message = "^StoreError: cannot write to the folder .*file"
    assert not unlike((message, partial(RunFolder.create, root, CONFIG)) for root in roots)
    if os.geteuid():  # root may write everywhere
        tmp_path.chmod(0o500)
        with pytest.raises(StoreError, match="cannot write to the folder .*: Permission denied"):
            RunFolder.create(tmp_path, CONFIG)


def full(*args: object) -> NoReturn:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_no_half_line(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        """A file that takes three bytes and no more."""

        def __init__(self, file: Any) -> None:
            self.file, self.left = file, 1

        def write(self, data: bytes) -> int:
            self.left -= 1
            return full() if self.left < 0 else int(self.file.write(data[:3]))

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    run.event("train", 1)
    with monkeypatch.context() as patched:
        patched.setattr(run._events, "_file", Full(run._events._file))
        with pytest.raises(DiskFull, match=r"^cannot write .*/events.jsonl: No space left .*$"):
            run.event("train", 2)
    run.event("train", 3)
    assert [event["step"] for event in read_events(run.path)] == [1, 3]


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFull, match=r"^cannot write .*: No space left on device$"):
        RunFolder.create(tmp_path, CONFIG)
    (run,) = tmp_path.iterdir()
    assert not [path for path in run.rglob("*") if path.is_file()]


def test_only_a_runs_folder_is_opened_and_by_one_process(run: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="another run is writing to the folder"):
        RunFolder.open(run.path)
    run.close()
    RunFolder.open(run.path).close()
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match="is not the folder of a run: it has no run_manifest.json"):
        RunFolder.open(tmp_path / "empty")
    assert not list((tmp_path / "empty").iterdir())
    for text in ("[1]", "a: [", "!!python/object/apply:os.system ['true']"):
        (run.path / "config.yaml").write_text(text)
        message = "StoreError: .*config.yaml cannot be read: "
        assert not unlike([(message, lambda: read_config(run.path))])
