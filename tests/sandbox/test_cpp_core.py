"""What holds of C++ without its extra; nothing is compiled here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infinite_rl.errors import RuntimeMissing
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.runtimes import Limits
from infinite_rl.sandbox import runtimes
from infinite_rl.sandbox.cpp import cage, compiler
from infinite_rl.sandbox.cpp.checkers import run_checker
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.wasi import Stopped, System

INSTALL = "pip install 'infinite-rl[cpp]'"
PROGRAM = "<answer>\n```cpp\nint main() { return 0; }\n```\n</answer>"
CASES = {"cases": [{"input": "1", "output": "1"}]}


@pytest.fixture
def no_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtimes, "find_spec", lambda _name: None)
    monkeypatch.setattr(compiler, "find_spec", lambda _name: None)


@pytest.mark.usefixtures("no_extra")
def test_without_the_extra_a_row_is_unscored_and_says_what_to_install() -> None:
    with pytest.raises(RuntimeMissing, match=r"infinite-rl\[cpp\]"):
        RewardExecutor().execute("int main() {}", "cpp")
    score = CodingRewardFunction().compute_reward(PROGRAM, json.dumps(CASES))
    assert score.status == "unscored" and INSTALL in score.error_msg
    checker = {"language": "cpp", "code": "int main() { return 0; }"}
    expected = json.dumps({**CASES, "checker": checker})
    python = "<answer>\n```python\nprint(1)\n```\n</answer>"
    score = CodingRewardFunction().compute_reward(python, expected, language="python")
    assert score.status == "unscored" and INSTALL in score.error_msg


def test_tests_in_cpp_are_unscored() -> None:
    for reference in ({"tests": ["assert f(1) == 1"]}, {"entry_point": "f", "cases": [[[1], 1]]}):
        score = CodingRewardFunction().compute_reward(
            PROGRAM, json.dumps(reference), language="cpp"
        )
        assert score.status == "unscored", score


@pytest.mark.parametrize("path", ["", "/absent/testlib.h"])
def test_a_checker_without_testlib_says_where_to_name_it(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFINITE_RL_TESTLIB", path)
    verdict = run_checker(RewardExecutor(), '#include "testlib.h"\nint main() {}', "", "", "")
    assert verdict.passed is None and "testlib.h" in verdict.reason


class Bytes:
    """A memory of a kilobyte."""

    def __init__(self) -> None:
        self.data = bytearray(1024)

    def read(self, address: int, size: int) -> bytes:
        return bytes(self.data[address : address + size])

    def write(self, address: int, data: bytes) -> None:
        self.data[address : address + len(data)] = data

    def fuel_used(self) -> int:
        return 0


def system(files: dict[str, bytes]) -> tuple[System, Bytes]:
    made = System(b"input", Limits(output_chars=5), ("program",), files)
    made.memory = memory = Bytes()
    return made, memory


@pytest.mark.parametrize("name", ["/etc/hostname", "../a", "b", "", "a/", "./../a", "a\0"])
def test_a_program_opens_its_own_files_only(name: str) -> None:
    made, memory = system({"a": b"text"})
    memory.write(0, name.encode())
    assert made.on_path_open(3, 0, 0, len(name.encode()), 0, 0, 0, 0, 512) != 0
    memory.write(0, b"a")
    assert made.on_path_open(3, 0, 0, 1, 0, 0, 0, 0, 512) == 0
    assert made.on_path_open(3, 0, 0, 1, 1, 0, 0, 0, 512) != 0  # it cannot be made anew
    assert made.on_path_open(4, 0, 0, 1, 0, 0, 0, 0, 512) != 0  # nor is it a folder


def test_a_program_that_prints_too_much_is_stopped() -> None:
    made, memory = system({})
    memory.write(0, (8).to_bytes(4, "little") + (6).to_bytes(4, "little") + b"abcdef")
    with pytest.raises(Stopped) as stopped:
        made.on_fd_write(1, 0, 1, 512)
    assert stopped.value.is_output and made.text(1) == "abcde"


def test_the_compiler_has_no_environment_and_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "42")
    monkeypatch.setattr(cage, "has_namespace", lambda *_: False)
    work = tmp_path / "work"
    work.mkdir()
    done = cage.run_caged(["/bin/sh", "-c", "set >&2; ulimit -a >&2; pwd >&2"], [], work)
    assert done.code == 0 and "SECRET" not in done.message and str(work) in done.message
    loop = cage.run_caged(["/bin/sh", "-c", "while :; do :; done"], [], work, seconds=1)
    assert loop.code < 0
    large = cage.run_caged(["/bin/sh", "-c", "yes > file"], [], work, seconds=10)
    assert large.code != 0 and (work / "file").stat().st_size <= 64 * 2**20


def test_a_compiler_writes_one_file_and_no_other() -> None:
    made = System(b"", Limits(), files={"a": b"text"}, output="out")
    made.memory = memory = Bytes()
    memory.write(0, b"outa")
    assert made.on_path_open(3, 0, 0, 3, 9, 0, 0, 0, 512) == 0
    assert made.on_path_open(3, 0, 3, 1, 9, 0, 0, 0, 516) != 0
    number = int.from_bytes(memory.read(512, 4), "little")
    memory.write(100, (0).to_bytes(4, "little") + (3).to_bytes(4, "little"))
    assert made.on_fd_write(number, 100, 1, 520) == 0
    assert made.on_fd_seek(number, 1, 0, 528) == 0
    assert made.on_fd_write(number, 100, 1, 520) == 0
    assert made.produced == b"oout"
    assert made.on_fd_seek(number, 2**40, 0, 528) == 0
    assert made.on_fd_write(number, 100, 1, 520) != 0  # not behind a gap
    assert made.text(1) == "" and System(b"", Limits()).produced == b""
