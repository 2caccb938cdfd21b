"""Checkpoints: whole or not there, whatever happens while they are made."""

import errno
import json
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infinite_rl.errors import DiskFull, StoreError, UsageError
from infinite_rl.training.runs.checkpoint import is_ready, load_state, newest, ready, save, step_of

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


class Saved:
    """What has a `save_pretrained`: writes one file."""

    def __init__(self, name: str, text: str = "x" * 100) -> None:
        self.name, self.text = name, text

    def save_pretrained(self, folder: Path) -> None:
        (folder / self.name).write_text(self.text)


MODEL, TOKENIZER = Saved("model.safetensors"), Saved("tokenizer.json")


def saved(run: Path, step: int, *, keep: int = 2, **state: Any) -> Path:
    return save(run, step, MODEL, TOKENIZER, state, keep=keep)


def names(run: Path) -> list[str]:
    return sorted(path.name for path in (run / "checkpoints").iterdir())


# What is saved comes back.
def test_a_state_comes_back_as_it_was(tmp_path: Path) -> None:
    state: dict[str, Any] = {
        "optimizer": {"state": {0: {"exp_avg": torch.ones(2, 3)}}, "param_groups": [{"lr": 1e-6}]},
        "position": (3, 17),
        "note": "ü",
        "nothing": None,
        "half": torch.ones(2, dtype=torch.bfloat16),
    }
    path = saved(tmp_path, 10, **state)
    assert path == tmp_path / "checkpoints" / "step_10"
    found = load_state(path)
    assert torch.equal(found["optimizer"]["state"][0].pop("exp_avg"), torch.ones(2, 3))
    assert torch.equal(found.pop("half"), state["half"])
    assert found == {
        "optimizer": {"state": {0: {}}, "param_groups": [{"lr": 1e-6}]},
        "position": (3, 17),
        "note": "ü",
        "nothing": None,
    }


def test_a_real_model_is_loaded_by_from_pretrained(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    from tiny_models import byte_tokenizer, qwen3

    model = qwen3()
    path = save(tmp_path, 3, model, byte_tokenizer(), {})
    again = transformers.AutoModelForCausalLM.from_pretrained(path)
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, again.state_dict()[name]), name
    assert transformers.AutoTokenizer.from_pretrained(path).eos_token == "<end>"


def test_what_could_not_be_loaded_again_is_refused_at_once(tmp_path: Path) -> None:
    for state, where in (
        ({"a": {"b": [1, {2}]}}, r"state\['a'\]\['b'\]\[1\] is a set"),
        ({"f": len}, r"state\['f'\] is a builtin_function_or_method"),
        ({"g": torch.Generator()}, r"state\['g'\] is a Generator"),
    ):
        with pytest.raises(UsageError, match=f"{where}, which no checkpoint can hold"):
            saved(tmp_path, 1, **state)
    assert newest(tmp_path) is None


# Which are there.
def test_the_ready_ones_come_in_the_order_of_their_steps(tmp_path: Path) -> None:
    assert ready(tmp_path) == [] and newest(tmp_path) is None
    for step in (9, 10, 100):
        saved(tmp_path, step, keep=9)
    for other in ("step_x", "best"):
        (tmp_path / "checkpoints" / other).mkdir()
    for name in ("step_01", "step_-1", "step_\u0663", "step_" + "9" * 99):  # a step has one name
        shutil.copytree(tmp_path / "checkpoints" / "step_9", tmp_path / "checkpoints" / name)
    assert [path.name for path in ready(tmp_path)] == ["step_9", "step_10", "step_100"]
    assert newest(tmp_path) == tmp_path / "checkpoints" / "step_100"
    assert [step_of(path) for path in ready(tmp_path)] == [9, 10, 100]
    with pytest.raises(UsageError, match="is no checkpoint: it must be named step_NUMBER"):
        step_of(tmp_path)


def test_only_the_last_ones_are_kept_and_one_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    for step in (1, 2, 3, 4):
        saved(tmp_path, step, keep=2, note="first")
    assert names(tmp_path) == ["step_3", "step_4"]
    assert load_state(saved(tmp_path, 4, note="second")) == {"note": "first"}
    saved(tmp_path, 5, keep=1)
    assert names(tmp_path) == ["step_5"]
    with pytest.raises(UsageError, match="keep must be at least 1"):
        saved(tmp_path, 6, keep=0)


def test_a_damaged_checkpoint_is_not_ready_and_is_made_anew(tmp_path: Path) -> None:
    saved(tmp_path, 1)
    path = saved(tmp_path, 2)
    for name in ("READY", "model.safetensors", "trainer_state.pt"):
        for harm in (Path.unlink, lambda path: os.truncate(path, 1)):
            harm(path / name)
            assert not is_ready(path) and newest(tmp_path) == path.with_name("step_1")
            assert saved(tmp_path, 2, note=name) == path and is_ready(path)
            assert load_state(path) == {"note": name}


def test_a_marker_without_files_makes_nothing_ready(tmp_path: Path) -> None:
    marker = saved(tmp_path, 1) / "READY"
    files = json.loads(marker.read_text())["files"]
    assert files == {
        file.name: file.stat().st_size for file in marker.parent.iterdir() if file != marker
    }
    malformed = ("", "{}", "[]", '{"files": 3}', '{"files": {}}', '{"files": {"\\u0000": 1}}')
    for text in (*malformed, "[" * 99_999):
        marker.write_text(text)
        assert newest(tmp_path) is None


# Killed, full, unwritable.
def killed_in(run: Path, arrange: Callable[[], None], model: Any = MODEL) -> None:
    """Save step 2 in a process of its own, which kills itself where `arrange` has said."""
    child = os.fork()
    if child == 0:
        try:
            arrange()
            save(run, 2, model, TOKENIZER, {"note": "half"})
        finally:
            os._exit(1)  # it was to be killed
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def die(*args: object, **more: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Fatal(Saved):
    def save_pretrained(self, folder: Path) -> None:
        (folder / self.name).write_text("hal")
        die()


def dying_at(place: Any, name: str, call: int) -> Callable[[], None]:
    """Have the process die in that call of a function, the first being 0."""

    def arrange() -> None:
        real, calls = getattr(place, name), iter(range(100))
        setattr(place, name, lambda *a, **k: die() if next(calls) == call else real(*a, **k))

    return arrange


KILLS: dict[str, tuple[Callable[[], None], Any]] = {
    "model": (lambda: None, Fatal("model.safetensors")),
    "state": (dying_at(torch, "save", 0), MODEL),
    "rename": (dying_at(Path, "rename", 0), MODEL),
    **{f"sync {n}": (dying_at(os, "fsync", n), MODEL) for n in range(5)},
}


@pytest.mark.parametrize("moment", KILLS)
def test_a_kill_in_the_middle_leaves_the_one_before_newest(tmp_path: Path, moment: str) -> None:
    first = saved(tmp_path, 1, note="first")
    killed_in(tmp_path, *KILLS[moment])
    assert ready(tmp_path) == [first] and newest(tmp_path) == first
    assert load_state(first) == {"note": "first"}
    assert len(names(tmp_path)) == 2, "what the kill has left is no step_2"
    assert "step_2" not in names(tmp_path)
    second = saved(tmp_path, 2, note="second")
    assert names(tmp_path) == ["step_1", "step_2"], "the remains are gone"
    assert load_state(second) == {"note": "second"}


def test_a_kill_after_the_rename_leaves_the_new_one_whole_and_no_half_one(tmp_path: Path) -> None:
    for run, moment in (
        (tmp_path / "a", dying_at(os, "fsync", 5)),  # of the folder that holds it
        (tmp_path / "b", dying_at(shutil, "rmtree", 1)),  # of an old one; before it, of the draft
    ):
        saved(run, 0)
        saved(run, 1)
        killed_in(run, moment)
        assert [path.name for path in ready(run)][-2:] == ["step_1", "step_2"]
        assert load_state(run / "checkpoints" / "step_2") == {"note": "half"}
    assert not (run / "checkpoints" / "step_0").exists()
    saved(run, 3)
    assert names(run) == ["step_2", "step_3"]


def tensors(count: int) -> Any:
    class Tensors(Saved):
        def save_pretrained(self, folder: Path) -> None:
            from safetensors.torch import save_file

            save_file({"weight": torch.zeros(count)}, folder / self.name)

    return Tensors("model.safetensors")


def vocabulary(count: int) -> Any:
    class Vocabulary(Saved):
        def save_pretrained(self, folder: Path) -> None:
            from tokenizers import Tokenizer, models

            words = {str(number): number for number in range(count)}
            Tokenizer(models.WordLevel(words, "0")).save(str(folder / self.name))

    return Vocabulary("tokenizer.json")


@pytest.mark.parametrize(
    ("model", "state"),
    [(tensors(100_000), {}), (vocabulary(10_000), {}), (MODEL, {"big": torch.zeros(100_000)}),
     (Saved("m", "x" * 10**5), {})],
    ids=["safetensors", "tokenizers", "state", "text"],
)  # fmt: skip
def test_a_full_disk_is_said_in_one_line(tmp_path: Path, model: Any, state: dict[str, Any]) -> None:
    pytest.importorskip("safetensors")
    pytest.importorskip("tokenizers")
    first = saved(tmp_path, 1)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))  # fails as a full disk does
    try:
        with pytest.raises(StoreError, match=r"^cannot write .*/step_2: .+$") as error:
            save(tmp_path, 2, model, TOKENIZER, state)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert "\n" not in str(error.value)
    assert ready(tmp_path) == [first] and names(tmp_path) == ["step_1"]


def test_a_refusing_disk_or_folder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fsync

    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def files_only(number: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{number}"):
            raise OSError(errno.EINVAL, "Invalid argument")
        real(number)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFull, match=r"^cannot write .*/step_1: No space left on device$"):
        saved(tmp_path, 1)
    assert names(tmp_path) == []
    monkeypatch.setattr(os, "fsync", files_only)  # a file system that cannot sync folders will do
    assert is_ready(saved(tmp_path, 1))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "checkpoints").write_text("")
    with pytest.raises(StoreError, match=r"^cannot write .*/step_1: (File exists|Not a directory)"):
        saved(tmp_path / "b", 1)


# Loading.
def test_a_state_that_would_run_code_is_refused(tmp_path: Path) -> None:
    class Hostile:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "owned"),)

    path = saved(tmp_path, 1)
    torch.save({"x": Hostile()}, path / "trainer_state.pt")
    with pytest.raises(StoreError, match="trainer_state.pt cannot be read: ") as error:
        load_state(path)
    assert "\n" not in str(error.value)
    assert "weights_only" not in str(error.value)  # torch would tell how to run it nevertheless
    assert not (tmp_path / "owned").exists()


def test_a_damaged_or_missing_state_is_one_line(tmp_path: Path) -> None:
    path = saved(tmp_path, 1, big=torch.zeros(1000))
    whole = (path / "trainer_state.pt").read_bytes()
    for content in (b"", b"PK", b"\x80\x02.", b"x" * 1000, whole[:-100]):
        (path / "trainer_state.pt").write_bytes(content)
        with pytest.raises(StoreError, match="trainer_state.pt cannot be read: .") as error:
            load_state(path)
        assert "\n" not in str(error.value)
    with pytest.raises(StoreError, match="cannot be read: No such file"):
        load_state(tmp_path / "step_1")
    torch.save([1], tmp_path / "trainer_state.pt")
    with pytest.raises(StoreError, match="cannot be read: it is no mapping"):
        load_state(tmp_path)


def test_without_torch_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UsageError, match=r"pip install 'infinite-rl\[train\]'"):
        saved(tmp_path, 1)
