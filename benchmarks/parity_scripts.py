"""Programs in Python, JavaScript and TypeScript, beside CPython and Node.

Programs of three origins: answers to procedural tasks, called with their tests' arguments; pieces
of `parity_typescript.txt`, one or several, for JavaScript after the typescript package has removed
their types; and, for Python, programs that the grammar of `fuzz.py` writes. TypeScript and the pieces need
`npm install typescript@6.0.3` in the folder where this runs. In a piece "#" becomes a number unless
a name follows, "@" the end of a name, "§" is "@"; "// alone" keeps it from programs of several.
"""

from __future__ import annotations

import ast
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from benchmarks import fuzz
from benchmarks.native import Ending
from benchmarks.parity import Parity
from infinite_rl.errors import UsageError
from infinite_rl.parsing.markup import code_blocks
from infinite_rl.procedural import families, make_problem
from infinite_rl.sandbox.executor import RewardExecutor

PIECES = Path(__file__).with_name("parity_typescript.txt").read_text(encoding="utf-8")
OUT = "const out = (...values: unknown[]): void => console.log(...values);"
STDIN = "5 3\n3 1 4 1 5\nred green blue\n10.5 -2\n\nthe last line\n"
SERVER = """
const ts = require(process.argv[1] + '/node_modules/typescript');
const compilerOptions = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.CommonJS, useDefineForClassFields: false };
require('readline').createInterface({ input: process.stdin }).on('line', (line) =>
    console.log(JSON.stringify(ts.transpileModule(JSON.parse(line), { compilerOptions }).outputText)));
"""
_EXECUTOR = RewardExecutor(timeout=20)
_SCRATCH = tempfile.TemporaryDirectory(prefix="parity-scripts-")


class Written(NamedTuple):
    """A program, its origin and its input."""

    code: str
    kind: str
    stdin: str = STDIN

    def __str__(self) -> str:
        return self.code


@dataclass(frozen=True)
class Ended:
    """What is compared of a run; `doubt` says why the sandbox may not know how it ends."""

    stdout: str
    exit_code: int
    error: str = ""
    doubt: str = field(default="", compare=False)


# --- programs ------------------------------------------------------------------------------------


def from_pieces(count: int, seed: int) -> list[Written]:
    """Return programs in TypeScript: the first ones have one piece each, others three to six."""
    chance, pieces = random.Random(seed), PIECES.split("\n--\n")
    combined = [piece for piece in pieces if not piece.startswith("// alone")]
    programs = []
    for number in range(count):
        is_single = number < len(pieces)
        drawn = [pieces[number]] if is_single else chance.sample(combined, chance.randint(3, 6))
        texts = [
            re.sub(r"#(?![\w#])", lambda _: str(chance.randint(0, 99)), piece.replace("@", f"_{n}"))
            for n, piece in enumerate(drawn)
        ]
        code = "\n".join([OUT, *texts]).replace("§", "@")
        programs.append(Written(code, "one feature" if is_single else "several features"))
    return programs


def from_tasks(language: str, count: int, seed: int) -> list[Written]:
    """Return answers to procedural tasks, which print what their tests compare."""
    programs, names = [], families(language)
    for number in range(count):
        problem = make_problem(language, seed + number, family=names[number % len(names)])
        (block,) = code_blocks(problem.response)
        answer = json.loads(problem.answer)
        stdin = answer["cases"][0]["input"] if "cases" in answer else STDIN
        code = "\n".join([block.code, *map(_SHOWN[language], answer.get("tests", []))])
        programs.append(Written(code, "answers to tasks", stdin))
    return programs


def _shown_in_python(test: str) -> str:
    (statement,) = ast.parse(test).body
    is_equal = isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare)
    return f"print(repr({ast.unparse(statement.test.left)}))" if is_equal else test  # type: ignore[attr-defined]


_SHOWN: dict[str, Callable[[str], str]] = {
    "python": _shown_in_python,
    "javascript": lambda test: test.replace("require('assert').deepStrictEqual(", "console.log("),
}


def _in_python(count: int, seed: int) -> Sequence[Written]:
    half = count // 2
    blocks = (fuzz.generate("python", each) for each in range(seed, seed + count - half))
    grown = [Written(fuzz.source("python", each), "a grammar") for each in blocks]
    return from_tasks("python", half, seed) + grown


def _in_javascript(node: str, count: int, seed: int) -> Sequence[Written]:
    half = count // 2
    pieces = [
        each._replace(code=_transpiled(node, each.code)) for each in from_pieces(count - half, seed)
    ]
    return pieces + from_tasks("javascript", half, seed)


# --- both sides ----------------------------------------------------------------------------------


def _ours(language: str, program: Written) -> Ended:
    done = _EXECUTOR.execute(program.code, language, stdin=program.stdin)
    return _ended(language, Ending(done.stdout, done.stderr, done.exit_code), done.doubt)


def _native(language: str, command: Sequence[str], program: Written) -> Ended:
    file = Path(_SCRATCH.name, f"program.{'py' if language == 'python' else 'js'}")
    file.write_text(program.code, encoding="utf-8", errors="replace")
    done = subprocess.run(
        [*command, str(file)],
        input=program.stdin.encode(),
        capture_output=True,
        timeout=60,
        cwd=_SCRATCH.name,
    )
    stdout, stderr = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
    return _ended(language, Ending(stdout, stderr, done.returncode))


def _typescript_native(node: str, program: Written) -> Ended:
    return _native("typescript", [node], program._replace(code=_transpiled(node, program.code)))


def _ended(language: str, ending: Ending, doubt: str = "") -> Ended:
    if language != "python":  # node prints the line of code before an error
        return Ended(ending.stdout, ending.exit_code, doubt=doubt)
    return Ended(*fuzz.seen(language, ending), doubt)


def _reason(language: str, ours: Ended, native: Ended) -> str:
    """Why two may differ: the sandbox's doubt, or what `fuzz` knows of the first difference."""
    if ours.doubt:
        return "unscored"
    ends = [Ending(each.stdout, each.error, each.exit_code) for each in (ours, native)]
    pair = fuzz.first_difference(language, *ends)
    return fuzz.reason(fuzz.Difference(language, 0, "", "", *pair)) if pair else ""


def _transpiled(node: str, code: str) -> str:
    server = _server(node)
    assert server.stdin and server.stdout
    server.stdin.write(json.dumps(code) + "\n")
    server.stdin.flush()
    return str(json.loads(server.stdout.readline()))


@cache
def _server(node: str) -> subprocess.Popen[str]:
    folder = Path.cwd()
    if not (folder / "node_modules" / "typescript").is_dir():
        raise UsageError("TypeScript needs `npm install typescript@6.0.3` in this folder")
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [node, "-e", SERVER, str(folder)], stdin=pipe, stdout=pipe, encoding="utf-8"
    )


def _node() -> str:
    node = shutil.which("node")
    if node is None:
        raise UsageError("node is not installed")
    return node


def python() -> Parity:
    """Compare with CPython, the newest that is installed."""
    for name in ("python3.14", "python3.13", sys.executable):
        command = [name, "-c", "import sys; print(sys.executable, sys.version.split()[0])"]
        done = (
            subprocess.run(command, capture_output=True, text=True) if shutil.which(name) else None
        )
        if done and not done.returncode:
            break
    assert done
    executable, version = done.stdout.split()
    return Parity(
        f"CPython {version}",
        _in_python,
        partial(_ours, "python"),
        partial(_native, "python", [executable, "-I", "-X", "utf8"]),
        lambda program: str(program.kind),
        partial(_reason, "python"),
    )


def javascript() -> Parity:
    """Compare with node. Raises `UsageError` without it or the typescript package."""
    node = _node()
    return Parity(
        _version(node),
        partial(_in_javascript, node),
        partial(_ours, "javascript"),
        partial(_native, "javascript", [node]),
        lambda program: str(program.kind),
        partial(_reason, "javascript"),
    )


def typescript() -> Parity:
    """Compare with node after `transpileModule`. Raises `UsageError` without them."""
    node = _node()
    return Parity(
        f"typescript's transpileModule and {_version(node)}",
        from_pieces,
        partial(_ours, "typescript"),
        partial(_typescript_native, node),
        lambda program: str(program.kind),
        partial(_reason, "javascript"),
    )


def _version(node: str) -> str:
    return "node " + subprocess.check_output([node, "--version"], text=True).strip()
