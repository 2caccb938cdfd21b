"""JavaScript as people write it: what Node 20 prints for each program is in the data file."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from infinite_rl.runtimes import Limits
from infinite_rl.sandbox.javascript.guest import JavaScriptGuest
from infinite_rl.types import Execution, Program

_FILE = Path(__file__).parent / "javascript_programs.txt"
# A program may start with `// stdin: text`; "==>" stands before what it prints.
PROGRAMS = [
    tuple(entry.split("\n==>\n")) for entry in _FILE.read_text(encoding="utf-8").split("----\n")
]
_IS_MODULE = re.compile(r"^(import [^(]|import\{|export |.*^await )", re.MULTILINE)


@pytest.fixture(scope="module")
def guest() -> JavaScriptGuest:
    return JavaScriptGuest()


def run(guest: JavaScriptGuest, code: str) -> Execution:
    return guest.run(Program(code, stdin_of(code)), Limits(timeout_s=10))


def stdin_of(code: str) -> str:
    found = re.match(r"// stdin: (.*)\n", code)
    return found[1].replace(r"\n", "\n") if found else ""


def test_programs_print_what_node_prints(guest: JavaScriptGuest) -> None:
    assert len(PROGRAMS) >= 80
    for code, expected in PROGRAMS:
        execution = run(guest, code)
        assert (code, execution.stdout, execution.exit_code) == (code, expected, 0)


@pytest.mark.slow
def test_the_data_file_holds_what_node_prints(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not _version(node).startswith("v20."):
        pytest.skip("Node 20 is not installed: nothing to compare with")
    for code, expected in PROGRAMS:
        path = tmp_path / ("main.mjs" if _IS_MODULE.search(code) else "main.js")
        path.write_text(code, encoding="utf-8")
        ended = subprocess.run(
            [node, path],
            input=stdin_of(code),
            capture_output=True,
            encoding="utf-8",
            env={"TZ": "UTC"},
            cwd=tmp_path,
        )
        assert (code, ended.stdout) == (code, expected)


def _version(node: str) -> str:
    return subprocess.run([node, "--version"], capture_output=True, text=True).stdout


def test_a_time_zone_that_is_not_known_is_an_error(guest: JavaScriptGuest) -> None:
    code = "new Date(0).toLocaleString('en-US', { timeZone: 'Asia/Tokyo' })"
    execution = run(guest, code)
    assert execution.status == "error"
    assert "RangeError: Invalid time zone specified: Asia/Tokyo" in execution.stderr


def test_files_do_not_outlive_their_run(guest: JavaScriptGuest) -> None:
    fs = "const fs = require('fs');"
    written = run(guest, f"{fs} fs.writeFileSync('a.txt', 'x'); console.log(fs.readdirSync('/'))")
    assert written.stdout == "[ 'a.txt', 'tmp' ]\n"
    assert run(guest, f"{fs} console.log(fs.existsSync('a.txt'))").stdout == "false\n"


def test_hosts_beyond_ascii_are_refused(guest: JavaScriptGuest) -> None:
    assert run(guest, "console.log(URL.canParse('http://bücher.de'))").stdout == "false\n"
