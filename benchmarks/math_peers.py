"""The test suites of other verifiers: gold, answer and verdict as they expect it, against ours.

    python -m benchmarks.math_peers [--folder FOLDER] [--read FILE]

The suites come from the source archives on PyPI, which `pip download` puts into the folder. A
script reads the literals of their tests there and runs none of their code; no case is kept here.
What is kept, in `math_peers.jsonl`, is a reader's view of cases by the hash of each: `equal`,
`different`, or `convention` with the reason, where both views have their school. The reader saw the
gold and the answer, and no verdict. `--read` writes such a list: all cases where we differ from a
suite and as many others, shuffled, without verdicts. Math-Verify judges beside us, with the
settings of its own tests, where it is installed: `pip install infinite-rl[math-verify]`.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import logging
import random
import re
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.math_blind import MARK
from benchmarks.math_verifier import Judge, load, ours

VIEWS = Path(__file__).with_suffix(".jsonl")
ARCHIVES = {  # a package with its version: the folders and files of its tests of maths
    "math-verify==0.9.0": ("/tests/",),
    "lm-eval==0.4.13": ("/tests/test_minerva_math.py",),
    "tinker-cookbook==0.6.1": ("/math_rl/math_env_test.py", "/eval/benchmarks/benchmark_test.py"),
}
SIDES = (("gold", "pred"), ("x1", "x2"), ("answer", "answer"))  # columns of their tables
LABELS = ("expected", "result")
FORMULA = re.compile(r"\\[a-zA-Z]+|\$[^$]*\$")
EQUAL = ("is_equiv", "grade_answer", "_check_math_equal")  # the answer first, then the gold


class Case(NamedTuple):
    """What a suite expects of a pair."""

    suite: str
    gold: str
    prediction: str
    equal: bool

    @property
    def key(self) -> str:
        text = json.dumps([self.gold, self.prediction])
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def fetch(folder: Path) -> None:
    """Download the archives that the folder lacks."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in ARCHIVES:
        if archive(folder, package) is None:
            options = ["-q", "--no-deps", "--no-binary", ":all:", "-d", str(folder)]
            subprocess.run([sys.executable, "-m", "pip", "download", *options, package], check=True)


def archive(folder: Path, package: str) -> Path | None:
    name, _, version = package.partition("==")
    return next(folder.glob(f"{name.replace('-', '_')}-{version}.tar.gz"), None)


def cases(folder: Path) -> Iterator[Case]:
    """Every case of the suites once, in the order of their files."""
    for package, files in ARCHIVES.items():
        path = archive(folder, package)
        if path is None:
            sys.exit(f"no archive of {package} in {folder}: run without --offline")
        seen: dict[tuple[str, str], Case] = {}
        with tarfile.open(path) as members:
            for member in sorted(members.getnames()):
                if member.endswith(".py") and any(part in member for part in files):
                    source = members.extractfile(member)
                    text = source.read().decode() if source else ""
                    for case in tests(package.partition("==")[0], ast.parse(text)):
                        seen.setdefault((case.gold, case.prediction), case)
        yield from seen.values()


def tests(suite: str, tree: ast.Module) -> Iterator[Case]:
    """The cases of a module: the tables of its parametrized tests, and plain assertions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and "parametrize" in ast.dump(decorator.func):
                    yield from _table(suite, node, decorator)
        elif isinstance(node, ast.Assert):
            yield from _assertion(suite, node.test)


def _table(suite: str, function: ast.FunctionDef, decorator: ast.Call) -> Iterator[Case]:
    names = [name.strip() for name in str(_literal(decorator.args[0])).split(",")]
    sides = next((pair for pair in SIDES if set(pair) <= set(names)), None)
    asserted = [node for node in ast.walk(function) if isinstance(node, ast.Assert)]
    compares = any(name in ast.dump(function) for name in (*EQUAL, "compare_strings", "verify"))
    if sides is None or not compares or not isinstance(decorator.args[1], ast.List):
        return
    for entry in decorator.args[1].elts:
        parts = entry.args if isinstance(entry, ast.Call) else getattr(entry, "elts", [entry])
        row = dict(zip(names, map(_literal, parts), strict=False))
        label = next((row[name] for name in LABELS if name in row), None)
        if label is None:
            label = not isinstance(asserted[0].test, ast.UnaryOp)
        gold, prediction = row.get(sides[0]), row.get(sides[1])
        if isinstance(gold, str) and isinstance(prediction, str) and row.get("strict", True):
            yield Case(suite, gold, prediction, bool(label))


def _assertion(suite: str, test: ast.expr) -> Iterator[Case]:
    """`assert f(a, b)`, `assert not f(a, b)` and `assert f(a, b) is True` of two literals."""
    label = True
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, label = test.operand, False
    elif isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is):
        label, test = bool(_literal(test.comparators[0])), test.left
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id in EQUAL:
        values = [_literal(argument) for argument in test.args]
        if len(values) == 2 and all(isinstance(value, str) for value in values):
            yield Case(suite, values[1], values[0], label)


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None  # not a literal: the case is none of a pair of texts


def math_verify() -> Judge | None:
    """Math-Verify with the settings of its own tests; None where it is not installed."""
    if find_spec("math_verify") is None:
        return None
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

    logging.disable(logging.ERROR)  # it logs each timeout
    targets = [LatexExtractionConfig(boxed_match_priority=0), ExprExtractionConfig()]

    def judge(prediction: str, gold: str) -> bool:
        return bool(verify(parse(gold, targets), parse(prediction, targets)))

    return judge


def views() -> dict[str, dict[str, str]]:
    """The reader's view of each case, by its key."""
    lines = VIEWS.read_text(encoding="utf-8").splitlines() if VIEWS.exists() else []
    return {row["key"]: row for row in map(json.loads, lines)}


def meaning(case: Case, verdict: bool, view: dict[str, str] | None) -> str:
    """Who errs where a verdict differs from the suite's.

    A right answer at the end of a sentence, which no mark states, is refused by policy.
    """
    if view is None:
        return "not read yet"
    if view["view"] == "convention":
        return "convention"
    if (view["view"] == "equal") == verdict:
        return "theirs wrong"
    prose = len(re.findall(r"[A-Za-z]{2,}", FORMULA.sub("", case.prediction))) > 2
    unmarked = prose and not MARK.search(case.prediction)
    return "unmarked" if unmarked and not verdict else "ours wrong"


def to_read(different: list[Case], agreed: list[Case]) -> str:
    """A list for a reader: shuffled, half of it agreed on, without verdicts."""
    source = random.Random(5)
    chosen = different + source.sample(agreed, min(len(agreed), len(different)))
    source.shuffle(chosen)
    rows = [{"key": c.key, "gold": c.gold, "prediction": c.prediction, "view": ""} for c in chosen]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, default=Path("build/peers"), help="of the archives")
    parser.add_argument("--offline", action="store_true", help="download nothing")
    parser.add_argument("--read", type=Path, help="write a list for a reader here, and stop")
    options = parser.parse_args()
    if not options.offline:
        fetch(options.folder)
    load()
    table = list(cases(options.folder))
    verdicts = {case: ours(case.prediction, case.gold) for case in table}
    different = [case for case, verdict in verdicts.items() if verdict != case.equal]
    if options.read:
        agreed = [case for case, verdict in verdicts.items() if verdict == case.equal]
        options.read.write_text(to_read(different, agreed), encoding="utf-8")
        return
    peer, read = math_verify(), views()
    print("| suite | cases | ours agrees | Math-Verify agrees | ours wrong | unmarked "
          "| theirs wrong | convention | not read |\n|" + 9 * "---|")  # fmt: skip
    for suite in dict.fromkeys(case.suite for case in table):
        mine = [case for case in table if case.suite == suite]
        agreed_by = sum(verdicts[case] == case.equal for case in mine)
        by_peer = "-"
        if peer is not None:
            by_peer = str(sum(peer(case.prediction, case.gold) == case.equal for case in mine))
        kinds = Counter(
            meaning(case, verdicts[case], read.get(case.key)) for case in different if case in mine
        )
        columns = ("ours wrong", "unmarked", "theirs wrong", "convention", "not read yet")
        row = [suite, len(mine), agreed_by, by_peer, *(kinds[name] for name in columns)]
        print("| " + " | ".join(map(str, row)) + " |")
    print("\n| suite | gold | answer | suite says | who errs | reason |\n|---|---|---|---|---|---|")
    for case in different:
        view = read.get(case.key)
        kind = meaning(case, verdicts[case], view)
        cells = [case.gold[-60:], case.prediction[-60:]]
        shown = [" ".join(text.split()).replace("|", r"\|") for text in cells]
        says = "equal" if case.equal else "different"
        reason = (view or {}).get("reason", "")
        print(f"| {case.suite} | `{shown[0]}` | `{shown[1]}` | {says} | {kind} | {reason} |")


if __name__ == "__main__":
    main()
