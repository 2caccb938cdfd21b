"""JavaScript as people and models write it: the sandbox does what Node 20 does, see the files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from infinite_rl.sandbox.executor import RewardExecutor
from tests.support.labelled import assert_none, soak

HERE = Path(__file__).parent
EXECUTOR = RewardExecutor(timeout=30)


def file(name: str) -> str:
    return (HERE / f"javascript_{name}.txt").read_text(encoding="utf-8")


class Node(NamedTuple):
    """The program that these files were made with."""

    command: str

    def stdout(self, path: Path, stdin: str = "") -> str:
        """What a script prints; it finds no files beside it but its own."""
        return subprocess.run(
            [self.command, path],
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            env={"TZ": "UTC"},
            cwd=path.parent,
        ).stdout


@pytest.fixture(scope="module")
def node() -> Node:
    command = shutil.which("node")
    if command is None or "v20." not in subprocess.check_output([command, "--version"], text=True):
        pytest.skip("Node 20 is not installed: nothing to compare with")
    return Node(command)


# --- what is printed ---------------------------------------------------------------------------

VALUES = [line for line in file("values").splitlines() if line]
# A program may start with `// stdin: text`; "==>" stands before what it prints.
PROGRAMS = [entry.split("\n==>\n") for entry in file("programs").split("----\n")]
_IS_MODULE = re.compile(r"^(import [^(]|import\{|export |.*^await )", re.MULTILINE)


def stdin_of(code: str) -> str:
    match = re.match(r"// stdin: (.*)\n", code)
    return match[1].replace(r"\n", "\n") if match else ""


def test_values_print_as_node_prints_them(node: Node, tmp_path: Path) -> None:
    assert len(VALUES) >= 80
    path = tmp_path / "main.js"
    code = "".join(f"console.log({value});\nconsole.log('\\0');\n" for value in VALUES)
    path.write_text(code, encoding="utf-8")
    texts = EXECUTOR.execute(code, "javascript").stdout, node.stdout(path)
    ours, theirs = (dict(zip(VALUES, text.split("\0\n"), strict=False)) for text in texts)
    assert ours == theirs and len(ours) == len({*VALUES})


def test_programs_print_what_node_prints() -> None:
    assert len(PROGRAMS) >= 80
    for code, expected in PROGRAMS:
        execution = EXECUTOR.execute(code, "javascript", stdin=stdin_of(code))
        assert (code, execution.stdout, execution.exit_code) == (code, expected, 0)


@pytest.mark.slow
@pytest.mark.parametrize("every", [4, *soak(1)])
def test_the_data_file_holds_what_node_prints(node: Node, tmp_path: Path, every: int) -> None:
    for code, expected in PROGRAMS[::every]:
        path = tmp_path / ("main.mjs" if _IS_MODULE.search(code) else "main.js")
        path.write_text(code, encoding="utf-8")
        assert (code, node.stdout(path, stdin_of(code))) == (code, expected)


# --- verdicts of tests as models write them ------------------------------------------------------


class Group(NamedTuple):
    """Programs, the first of them right, then tests, then a line for each program.

    1 is for a test that passes in Node, 0 for one that fails.
    """

    programs: list[str]
    tests: list[str]
    verdicts: list[str]


def groups() -> list[Group]:
    texts = (text.split("\n====\n") for text in file("verdicts").split("\n%%%%\n"))
    return [
        Group(programs.split("\n----\n"), tests.split("\n----\n"), verdicts.split())
        for programs, tests, verdicts in texts
    ]


GROUPS = groups()
_DECLARED = re.compile(r"(?:const|let|var|function)\s+assert\b|\bassert\s*\}")


def test_verdicts_are_those_of_node() -> None:
    assert sum(len(group.tests) for group in GROUPS) >= 190
    assert all("0" not in group.verdicts[0] for group in GROUPS)
    for programs, tests, verdicts in GROUPS:
        for code, expected in zip(programs, verdicts, strict=True):
            results = EXECUTOR.execute(code, "javascript", tests=tests).tests
            found = [(test, result.passed) for test, result in zip(tests, results, strict=True)]
            assert found == [(t, v == "1") for t, v in zip(tests, expected, strict=True)]


def test_each_style_of_test_passes_with_the_program_and_fails_without_it() -> None:
    blocks = file("styles").rstrip("\n").split("\n%%%%\n")
    assert len(blocks) >= 130
    faults = []
    for name, _, text in (block.partition("\n") for block in blocks):
        code, test, setup = [*text.split("\n----\n"), ""][:3]
        for program, expected in ((code, True), ("", False)):
            run = EXECUTOR.execute(program, "javascript", tests=[test], setup=setup)
            passed = any(result.passed for result in run.tests)
            faults += [(name, run.tests, run.stderr)] if passed != expected else []
    assert_none(faults)


def test_a_wrong_use_of_the_class_of_a_test_fails_it() -> None:
    test = (
        "class Box {}\nconsole.assert(make() instanceof Box); if (!(make() instanceof Box)) throw 1"
    )
    for body, is_right in (("new Box()", True), ("{}", False), ("[Box]", False)):
        run = EXECUTOR.execute(f"const make = () => ({body})", "javascript", tests=[test])
        assert [result.passed for result in run.tests] == [is_right]
    test = "class Box {}\nif (make() !== 1) throw new Error('not one')"
    for value in (1, 2):
        code = f"const make = () => {value}"
        run = EXECUTOR.execute(code, "javascript", tests=[test])
        assert [result.passed for result in run.tests] == [value == 1]


@pytest.mark.parametrize(
    "test", ["process.exitCode = f() ? 0 : 1", "process.on('exit', () => assert(f()))"]
)
def test_an_exit_code_and_a_listener_of_the_exit_fail_a_test(test: str) -> None:
    for value in (True, False):
        code = f"const f = () => {str(value).lower()}"
        run = EXECUTOR.execute(code, "javascript", tests=[test, "1"])
        assert [result.passed for result in run.tests] == [value, True]


# Runs each script of a list in a thread of its own, and prints whether each ended well.
_RUN_EACH = """
const { Worker } = require('worker_threads');
const scripts = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const end = (code) => new Promise((done) => {
  const worker = new Worker(code, { eval: true, stdout: true, stderr: true });
  worker.on('error', () => {}); worker.on('exit', (code) => done(code === 0));
});
(async () => {
  const ends = [];
  for (const script of scripts) ends.push(await end(script));
  console.log(JSON.stringify(ends));
})();
"""


@pytest.mark.slow
@pytest.mark.parametrize("every", [4, *soak(1)])  # Node takes 20 ms for a script
def test_the_data_file_holds_what_node_says(node: Node, tmp_path: Path, every: int) -> None:
    path = tmp_path / "each.js"
    path.write_text(_RUN_EACH, encoding="utf-8")
    for programs, tests, verdicts in GROUPS[::every]:
        scripts = [_script(code, test) for code in programs for test in tests]
        passed = json.loads(node.stdout(path, json.dumps(scripts)))
        assert passed == [verdict != "0" for verdict in "".join(verdicts)]


def _script(code: str, test: str) -> str:
    known = "" if _DECLARED.search(test) else "const assert = require('assert');"
    body = f"{{{known}{test}\n}}"
    body = f"(async () => {body})()" if "await" in test else body
    return f"console.assert = (holds) => {{ if (!holds) process.exitCode = 1 }};{code}\n;{body}"
