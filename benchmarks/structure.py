"""The size and the shape of the project, as its figures of structure.

    python -m benchmarks.structure [--lists]

Code lines are lines without blanks, comments and docstrings. A row's way is measured: `generate`
makes one row with the embedded provider, and each file of the package counts whose functions run
after the imports. `--lists` names what is counted.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "infinite_rl"
_LAYOUT_TOKENS = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    tokenize.ENDMARKER,
}
_ONE_ROW = """
import json, sys, threading
root, weights, out = sys.argv[1:]
entered = set()

def note(frame, event, _):
    file = frame.f_code.co_filename
    if event != "call" or not file.startswith(root) or file in entered:
        return
    while frame:  # a table that is built by an import is no part of the way
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(root):
            return
        frame = frame.f_back
    entered.add(file)

threading.setprofile(note)
sys.setprofile(note)
from infinite_rl.cli import main
main(["generate", "--provider", "procedural", "--num_samples", "1", "--task_dist", weights,
      "--languages", "python", "--out_dir", out])
sys.setprofile(None)
print(json.dumps(sorted(entered)))
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 if two modules import each other."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.structure", description=__doc__)
    parser.add_argument("--lists", action="store_true", help="name what is counted")
    lists = parser.parse_args(arguments).lists
    by_room: Counter[str] = Counter()
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).parts
        by_room[parts[0] if len(parts) > 1 else "(root)"] += code_lines(path)
    tests = sum(len(path.read_text("utf-8").splitlines()) for path in tracked("tests", "*.py"))
    circles = import_circles()
    figures = {
        "code lines of the package": sum(by_room.values()),
        "lines of the tests": tests,
        "files of the package": len([*PACKAGE.rglob("*.py")]),
        "files on a maths row's way": len(maths := files_entered("0,1")),
        "files on a Python row's way": len(python := files_entered("1,0")),
        "circles of imports": len(circles),
        "lines of generate_dataset": function_lines("generator.py", "generate_dataset"),
        "verbs": verbs(),
    }
    for name, figure in figures.items():
        print(f"{figure:>7,}  {name}")
    if lists:
        for room, count in by_room.most_common():
            print(f"{count:>7,}  {room}")
        for way, files in (("maths", maths), ("Python", python)):
            print(f"a {way} row: {' '.join(files)}")
        for circle in circles:
            print("circle:", " ".join(circle))
    return int(bool(circles))


def tracked(folder: str, pattern: str) -> list[Path]:
    """The files of a folder that git knows, or would add."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "--", f"{folder}/{pattern}"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in names.splitlines() if (ROOT / name).is_file()]


def code_lines(path: Path) -> int:
    """Lines that hold code: no blanks, no comments, no docstrings."""
    source = path.read_text(encoding="utf-8")
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _LAYOUT_TOKENS:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - docstrings)


def files_entered(weights: str) -> list[str]:
    """The files whose functions run while one row is made with these weights of coding, maths."""
    import tempfile

    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-c", _ONE_ROW, f"{PACKAGE}/", weights, out]
        text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [str(Path(name).relative_to(PACKAGE)) for name in json.loads(text.splitlines()[-1])]


@cache
def imports() -> dict[str, set[str]]:
    """What each module imports of the package, also within functions and for types alone.

    The package itself is left out: its names are loaded when they are used.
    """
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
    }
    face = PACKAGE.name
    return {name: {*_imports(name, path, paths)} - {name, face} for name, path in paths.items()}


def _imports(module: str, path: Path, paths: dict[str, Path]) -> Iterator[str]:
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level]
            source = ".".join([*(above if node.level else ()), *filter(None, [node.module])])
            for alias in node.names if source.split(".")[0] == PACKAGE.name else ():
                name = f"{source}.{alias.name}"
                yield name if name in paths else source


def import_circles() -> list[list[str]]:
    """Return the groups of modules that import each other (Tarjan, SIAM J. Comput. 1972)."""
    graph, order, low = imports(), dict[str, int](), dict[str, int]()
    stack: list[str] = []
    circles: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in order:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == order[name]:
            group = stack[stack.index(name) :]
            del stack[-len(group) :]
            if len(group) > 1:
                circles.append(sorted(group))

    for name in sorted(graph):
        if name not in order:
            visit(name)
    return circles


def function_lines(file: str, name: str) -> int:
    """The lines of a function's body, without its signature and docstring."""
    for node in ast.walk(ast.parse((PACKAGE / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            body = node.body[1:] if ast.get_docstring(node) else node.body
            return (node.end_lineno or 0) - body[0].lineno + 1
    raise LookupError(f"there is no {name} in {file}")


def verbs() -> int:
    """The verbs of the command line."""
    from infinite_rl.cli import VERBS

    return len(VERBS)


if __name__ == "__main__":
    sys.exit(main())
