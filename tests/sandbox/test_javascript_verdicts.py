"""Verdicts of JavaScript tests as models write them: each is what Node 20 says, see the data file.

Each group of the file holds programs, the first of them right, then tests, then one line for each
program: 1 for a test that passes in Node, 0 for one that fails, ! for one that passes in Node and
fails here, because it asks an object that the program made for its opinion.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from infinite_rl.runtimes import Limits
from infinite_rl.sandbox.javascript.guest import JavaScriptGuest
from infinite_rl.types import Program

_FILE = Path(__file__).parent / "javascript_verdicts.txt"
_DECLARED = re.compile(r"(?:const|let|var|function)\s+assert\b|\bassert\s*\}")


class Group(NamedTuple):
    programs: list[str]
    tests: list[str]
    verdicts: list[str]


def groups() -> list[Group]:
    found = []
    for text in _FILE.read_text(encoding="utf-8").split("\n%%%%\n"):
        programs, tests, verdicts = text.split("\n====\n")
        parts = programs.split("\n----\n"), tests.split("\n----\n"), verdicts.split()
        found.append(Group(*parts))
    return found


GROUPS = groups()


@pytest.mark.parametrize("n", range(len(GROUPS)))
def test_verdicts_are_those_of_node(n: int) -> None:
    guest, (programs, tests, verdicts) = JavaScriptGuest(), GROUPS[n]
    for code, expected in zip(programs, verdicts, strict=True):
        results = guest.run(Program(code, tests=tuple(tests)), Limits(timeout_s=30)).tests
        found = [(test, result.passed) for test, result in zip(tests, results, strict=True)]
        assert found == [(t, v == "1") for t, v in zip(tests, expected, strict=True)]


def test_the_right_programs_pass() -> None:
    assert sum(len(group.tests) for group in GROUPS) >= 190
    assert all("0" not in group.verdicts[0] for group in GROUPS)


@pytest.mark.slow
def test_the_data_file_holds_what_node_says(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or "v20." not in subprocess.check_output([node, "--version"], text=True):
        pytest.skip("Node 20 is not installed: nothing to compare with")
    for programs, tests, verdicts in GROUPS:
        for code, expected in zip(programs, verdicts, strict=True):
            for test, verdict in zip(tests, expected, strict=True):
                assert (test, _passes(node, tmp_path, code, test)) == (test, verdict != "0")


def _passes(node: str, folder: Path, code: str, test: str) -> bool:
    known = "" if _DECLARED.search(test) else "const assert = require('assert');"
    body = f"{{{known}{test}\n}}"
    body = f"(async () => {body})()" if "await" in test else body
    path = folder / "test.js"
    failing = "console.assert = (holds) => { if (!holds) process.exitCode = 1 };"
    path.write_text(f"{failing}{code}\n;{body}", encoding="utf-8")
    return subprocess.run([node, path], capture_output=True).returncode == 0
