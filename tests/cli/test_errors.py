"""What cannot be done is one line on stderr, with its exit code, and changes no file."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import openai_server as openai
import pytest
from commands import Here, commands
from labelled import Tables

from infinite_rl import cli
from infinite_rl.dataset.rows import write
from infinite_rl.launch import container

tables = Tables(__file__)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory: rows, the folders `in` and `run`, and files that are no use."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"r{n}", "prompt": f"What is {n}+3?", "score": n} for n in range(3)]
    for name in ("rows.jsonl", "in/rows.jsonl", "run/rows.jsonl"):
        write(rows, tmp_path / name)
    write([{**rows[0], "type": "math", "answer": "3"}], tmp_path / "math.jsonl")
    texts = {
        "empty.jsonl": "", "empty.txt": "\n", "config.yaml": "nums: 5\n", "empty.csv": "",
        "one.jsonl": '{"a":1,"b":"x"}\n', "foreign/dataset.csv": "a,b\n1,2\n",
        "run/dataset.csv": "paid for", "run/journal.jsonl": "paid for",
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    yield tmp_path
    after = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    assert {path: text for path, text in after.items() if path.name != ".lock"} == before


@tables
def test_it_is_one_line_and_with_json_the_same(
    here: Here, folder: Path, words: str, code: int, line: str
) -> None:
    """A line that begins with ^ is the only one."""
    for json in ([], ["--json"] if code and "--json" not in words else []):
        done = here(words, *json, OPENAI_API_KEY=openai.KEY)
        assert (done.returncode, done.stdout) == (code, ""), done.stderr
        *notes, last = done.stderr.splitlines()
        assert re.search(line, last) and re.match("error: |infinite-rl .*: error: ", last), last
        assert not (notes and line.startswith("^")) and "Traceback" not in done.stderr


def test_no_command_takes_an_abbreviation(here: Here) -> None:
    for name in commands():
        done = here(name, "--jso")
        assert done.returncode == 2 and "did you mean --json" in done.stderr
    assert not container.parser().allow_abbrev


def test_an_interrupt_is_one_word_anywhere(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = PermissionError(13, "Permission denied", "locked/run.json")
    for error, code, line in (
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (refused, 1, "error: cannot use locked/run.json: Permission denied\n"),
    ):

        def run(*_: object, error: BaseException = error) -> int:
            raise error

        monkeypatch.setattr("infinite_rl.cli.doctor.RunExamples.run", run)
        monkeypatch.setattr(cli, "_discard_output", lambda: None)
        done = here("run-examples")
        assert (done.returncode, done.stderr) == (code, line)


def test_an_interrupt_is_one_word_while_the_command_still_loads() -> None:
    code = """
import sys

class Interrupt:
    def find_spec(self, name, *_):
        if name == "infinite_rl.cli.terminal":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
from infinite_rl.__main__ import main
sys.exit(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")
