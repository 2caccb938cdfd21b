"""Our own modules with one thing wrong: do the tests see it?

    python -m benchmarks.mutation [--part NAME] [--module NAME] [--most N] [--longest SECONDS]

Every statement of the parser, the comparison, the decision and the store is changed in one place,
as the programs of a data set's proof are: an operator, a constant, an off-by-one, a negated
condition, swapped branches, a dropped return or statement. For each change the quick tests of that
part run that reach a changed line, those first that have killed most for their time, until one
fails. Prints a table of how many changes were seen, and each that was not.

Files are left alone. The tests are collected once; each change is judged by a fork, in which the
module's functions and values are those of the changed text. What another module has made of a value
while it was imported stays as it was. A change by which a test takes over three times as long as it
should is seen as well.
"""

from __future__ import annotations

import argparse
import ast
import functools
import json
import os
import random
import resource
import select
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any, NamedTuple

import hypothesis
import pytest

from benchmarks.sandbox import machine
from infinite_rl.verification.mutation import mutants

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
SPARE_S, TIMES = 2, 3  # processor time that a test may take: so much, and times what it needs
WALL_S = 120.0
MOST_BYTES = 4 * 2**30  # of memory that a fork may take


class Part(NamedTuple):
    """Modules of one kind and the files whose tests belong to them."""

    modules: Sequence[str]
    tests: Sequence[str]


_MATHS = "infinite_rl.reward_functions.math"
PARTS: Mapping[str, Part] = {
    "parser": Part(
        [f"infinite_rl.parsing.{name}" for name in ("sections", "heads", "markup")],
        ["test_parser.py", "test_parser_properties.py", "test_reward_functions.py"],
    ),
    "comparison": Part(["infinite_rl.reward_functions.compare"], ["test_compare.py"]),
    "decision": Part(
        [f"{_MATHS}.equivalence", f"{_MATHS}.canonicalize"],
        [f"test_math_{name}.py" for name in ("pairs", "verify", "reward", "algebra")],
    ),
    "store": Part(
        ["infinite_rl.store", "infinite_rl.files.logs", "infinite_rl.files.atomic"],
        ["test_store.py", "test_logs.py", "test_atomic.py", "test_rows.py"],
    ),
}


# --- the changes ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """A module's text with one change, and where it is: its lines are those of `plain`'s text."""

    module: str
    where: str
    kind: str
    old: str
    new: str
    lines: range
    text: str


def plain(text: str) -> list[str]:
    """The statements of a module, each as its syntax tree is written out."""
    return [ast.unparse(statement) for statement in ast.parse(text).body]


def _is_type(statement: str) -> bool:
    """Whether this only names a type, as `How = Literal["open", "closed"]` does."""
    (parsed,) = ast.parse(statement).body
    return isinstance(parsed, ast.Assign) and isinstance(parsed.value, ast.Subscript)


def changes(module: str, text: str) -> Iterator[Change]:
    """Every single change of a module."""
    statements, first = plain(text), 1
    for at, statement in enumerate(statements):
        seen = {statement}
        for mutant in mutants("python", statement):
            if mutant.code not in seen and not _is_type(statement):
                seen.add(mutant.code)
                whole = "\n".join([*statements[:at], mutant.code, *statements[at + 1 :]])
                yield _change(module, mutant.change, statement, mutant.code, first, whole)
        first += statement.count("\n") + 1


def _change(module: str, kind: str, before: str, after: str, first: int, whole: str) -> Change:
    old, new = before.split("\n"), after.split("\n")
    start = _alike(old, new)
    end = min(_alike(old[::-1], new[::-1]), len(old) - start - 1, len(new) - start - 1)
    begin, stop = old[start : len(old) - end], new[start : len(new) - end]
    above = start - (len(begin) > 1 and start > 0)  # the condition over branches that are swapped
    lines = range(first + above, first + len(old) - end)
    return Change(
        module, _name(old, start), kind, _read_report(begin), _read_report(stop), lines, whole
    )


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines, or characters, two texts share at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _read_report(lines: Sequence[str]) -> str:
    return " ; ".join(line.strip() for line in lines)


def _name(lines: Sequence[str], at: int) -> str:
    """The class and function that a line of a statement is in, else how the statement begins."""
    names, indent = list[str](), len(lines[at]) + 1
    for line in lines[at::-1]:
        margin, words = len(line) - len(line.lstrip()), line.split()
        if words and margin < indent:
            indent = margin
            if words[0] in ("def", "class"):
                names.append(words[1].partition("(")[0].rstrip(":"))
    return ".".join(reversed(names)) or lines[0].partition("=")[0].split(":")[0].strip()


# --- a module that is changed in place ------------------------------------------------------------


def install(module: ModuleType, text: str, name: str) -> None:
    """Make a module what it were with another text, also where its functions are held already."""
    before = dict(vars(module))
    for key in before:
        if not key.startswith("__"):
            delattr(module, key)
    exec(compile(text, name, "exec"), vars(module))
    for key, old in before.items():
        new = vars(module).get(key)
        if key not in vars(module) or new is old or key.startswith("__"):
            continue
        if isinstance(old, type) and isinstance(new, type):
            _renew_class(old, new)
            setattr(module, key, old)
        elif _renewed(old, new):
            setattr(module, key, old)
        else:
            _rebind(key, old, new)


def _renewed(old: Any, new: Any) -> bool:
    """Give a function another one's code; whether that could be done."""
    clear = getattr(old, "cache_clear", None)
    if clear is not None:
        clear()
    old, new = (getattr(each, "__wrapped__", each) for each in (old, new))
    if not (isinstance(old, FunctionType) and isinstance(new, FunctionType)):
        return False
    if old.__code__.co_freevars != new.__code__.co_freevars:
        return False
    old.__code__, old.__defaults__ = new.__code__, new.__defaults__
    old.__kwdefaults__ = new.__kwdefaults__
    return True


def _renew_class(old: type, new: type) -> None:
    for key in set(vars(old)) - set(vars(new)):
        delattr(old, key)
    for key, value in vars(new).items():
        current = vars(old).get(key)
        if key in ("__dict__", "__weakref__", "__doc__", "__slots__"):
            continue
        free = value.__code__.co_freevars if isinstance(value, FunctionType) else ()
        bound = {"__class__", "cls"} & set(free) or isinstance(value, staticmethod | classmethod)
        if not (bound and _renewed(current, value)):
            setattr(old, key, value)


def _rebind(name: str, old: object, new: object) -> None:
    for other in list(sys.modules.values()):
        if getattr(other, "__dict__", {}).get(name) is old:
            setattr(other, name, new)


# --- forks ---------------------------------------------------------------------------------------


def forked(work: Callable[[], object], wall_s: float) -> Any:
    """What some work returns in a fork, as JSON tells it; None where it took too long or died."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            with open(writing, "w") as report:
                json.dump(work(), report)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with open(reading, "rb") as report:
        text = _read(report.fileno(), time.monotonic() + wall_s)
    try:
        os.killpg(child, signal.SIGKILL)  # with all that it has begun
    except ProcessLookupError:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def _read(file: int, deadline: float) -> bytes:
    """All that comes from a pipe, b"" where its end does not come in time."""
    text = b""
    while select.select([file], [], [], max(0.0, deadline - time.monotonic()))[0]:
        some = os.read(file, 2**16)
        if not some:
            return text
        text += some
    return b""


def _allow(seconds: float) -> None:
    """End this process once it has used more processor time from now on."""
    end = int(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (end, resource.getrlimit(resource.RLIMIT_CPU)[1]))


# --- the judge -----------------------------------------------------------------------------------


@dataclass
class Test:
    """What a test reaches in each module, its processor time, and how many changes it has seen."""

    item: pytest.Item
    cpu_s: float
    reached: Mapping[str, Sequence[int]]
    kills: int = 0

    def worth(self) -> float:
        return (self.kills + 1) / (self.cpu_s + 0.01)


@dataclass
class Judge:
    """A plugin of pytest that, in place of running the tests, judges all changes by them."""

    part: Part
    modules: Sequence[str]
    most: int
    longest: float
    outcomes: list[tuple[Change, str]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    tests: int = 0  # how many judge

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        texts = {name: Path(str(sys.modules[name].__file__)) for name in self.part.modules}
        read = {name: path.read_text(encoding="utf-8") for name, path in texts.items()}
        looked = forked(functools.partial(_look, session, read), 1800.0)
        if looked is None or looked["failed"]:
            sys.exit(f"without any change: {looked and looked['failed']}")
        killers = [
            Test(item, *report) for item, report in zip(session.items, looked["tests"], strict=True)
        ]
        self.left_out = [test.item.nodeid for test in killers if test.cpu_s > self.longest]
        tests = [test for test in killers if test.cpu_s <= self.longest]
        self.tests = len(tests)
        every = [change for name in self.modules for change in changes(name, read[name])]
        if self.most < len(every):
            every = random.Random(0).sample(every, self.most)
        for number, change in enumerate(every, 1):
            self.outcomes.append((change, _outcome(session, change, tests, looked["imported"])))
            report = [f"{number} of {len(every)}"] if number % 50 == 0 else []
            for line in [*report, *unseen(self.outcomes[-1:])]:
                print(line, file=sys.stderr, flush=True)
        return True


def _look(session: pytest.Session, texts: Mapping[str, str]) -> object:
    """Run all tests on the unchanged text, as `plain` writes it: what each of them reaches."""
    reached: dict[str, set[int]] = {name: set() for name in texts}

    def enter(frame: FrameType, _event: str, _arg: object) -> Any:
        lines = reached.get(frame.f_code.co_filename)
        if lines is None:
            return None

        def line(frame: FrameType, _event: str, _arg: object) -> Any:
            lines.add(frame.f_lineno)
            return line

        return line

    sys.settrace(enter)
    threading.settrace(enter)
    for name, text in texts.items():
        install(sys.modules[name], "\n".join(plain(text)), name)
    imported = {name: sorted(lines) for name, lines in reached.items()}
    tests, failed = [], []
    for item, following in zip(session.items, [*session.items[1:], None], strict=True):
        for lines in reached.values():
            lines.clear()
        sys.settrace(enter)
        began = time.process_time()
        if _fails(session, item, following):
            failed.append(item.nodeid)
        lasted = time.process_time() - began
        tests.append((lasted, {name: sorted(lines) for name, lines in reached.items()}))
    return {"imported": imported, "tests": tests, "failed": failed}


def _fails(session: pytest.Session, item: pytest.Item, following: pytest.Item | None) -> bool:
    before = session.testsfailed
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    return session.testsfailed > before


def _outcome(
    session: pytest.Session,
    change: Change,
    tests: Sequence[Test],
    imported: Mapping[str, Sequence[int]],
) -> str:
    """What has become of a change: "killed", "timed out", "survived" or "unreached"."""
    lines = set(change.lines)
    if not lines.isdisjoint(imported[change.module]):  # all that reach the module may see it
        chosen = [test for test in tests if test.reached[change.module]]
    else:
        chosen = [test for test in tests if not lines.isdisjoint(test.reached[change.module])]
    if not chosen:
        return "unreached"
    chosen.sort(key=Test.worth, reverse=True)

    def killer() -> int:
        _allow(SPARE_S)
        try:
            install(sys.modules[change.module], change.text, change.module)
        except Exception:  # whatever a changed module may raise
            return 0
        for at, (test, following) in enumerate(zip(chosen, [*chosen[1:], None], strict=True)):
            _allow(SPARE_S + TIMES * test.cpu_s)
            if _fails(session, test.item, following.item if following else None):
                return at
        return -1

    killers = forked(killer, WALL_S)
    if killers is None:
        return "timed out"
    if killers >= 0:
        chosen[killers].kills += 1
    return "killed" if killers >= 0 else "survived"


# --- the report ----------------------------------------------------------------------------------

OUTCOMES = ("killed", "timed out", "survived", "unreached")
AROUND = 60  # characters on either side of a change


def judged(part: Part, modules: Sequence[str], most: int, longest: float) -> Judge:
    """The fates of the changes of some modules of a part."""
    judge = Judge(part, modules, most, longest)
    hypothesis.settings.register_profile(
        "mutation",
        derandomize=True,
        database=None,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    )
    hypothesis.settings.load_profile("mutation")
    with tempfile.TemporaryDirectory() as folder:
        options = ["-o", "addopts=", "-s", "--assert=plain", "-p", "no:cacheprovider"]
        options += ["-p", "no:terminal", f"--basetemp={folder}/tests", f"--rootdir={ROOT}"]
        options += ["-m", "not slow and not soak"]
        ended = pytest.main(
            [*options, *(str(path) for name in part.tests for path in TESTS.rglob(name))],
            plugins=[judge],
        )
    if not judge.outcomes:
        sys.exit(f"pytest judged nothing: {ended!r}")
    return judge


def rows(judge: Judge) -> Iterator[str]:
    """A line of the table for each module."""
    for module in judge.modules:
        outcomes = Counter(outcome for change, outcome in judge.outcomes if change.module == module)
        seen, total = outcomes["killed"] + outcomes["timed out"], max(1, outcomes.total())
        counts = " | ".join(str(outcomes[outcome]) for outcome in OUTCOMES)
        yield f"| `{module}` | {outcomes.total()} | {counts} | {seen / total:.1%} |"


def unseen(outcomes: Sequence[tuple[Change, str]]) -> Iterator[str]:
    """Each change that no test has seen."""
    for change, outcome in outcomes:
        if outcome in ("survived", "unreached"):
            yield f"{change.module}.{change.where}: {outcome}: {change.kind}"
            yield from (f"    {part}" for part in parts(change.old, change.new))


def parts(old: str, new: str) -> tuple[str, str]:
    """Where two lines differ, with what stands around it."""
    start = _alike(old, new)
    end = min(_alike(old[::-1], new[::-1]), len(old) - start, len(new) - start)
    begin = max(0, start - AROUND)
    return old[begin : len(old) - end + AROUND], new[begin : len(new) - end + AROUND]


def main() -> None:
    parser = argparse.ArgumentParser(description="Change our own modules: do the tests see it?")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this (repeatable)")
    parser.add_argument("--module", action="append", help="only modules whose name ends so")
    parser.add_argument("--most", type=int, default=10**6, help="changes of a part, at random")
    parser.add_argument(
        "--longest", type=float, default=1e9, help="leave out tests that take longer, in seconds"
    )
    parser.add_argument("-o", type=Path, metavar="FILE", help="write the report there as well")
    options = parser.parse_args()
    report = [f"{machine()}\n", f"| module | mutants | {' | '.join(OUTCOMES)} | seen |"]
    report.append("|---|" + "---:|" * 6)
    notes, survivors = list[str](), list[str]()
    for name in options.part or PARTS:
        began = time.monotonic()
        part, wanted = PARTS[name], options.module or [""]
        modules = [each for each in part.modules if each.endswith(tuple(wanted))]
        if not modules:
            continue
        judge = judged(part, modules, options.most, options.longest)
        report += rows(judge)
        notes.append(f"{name}: {judge.tests} tests, {time.monotonic() - began:.0f} s")
        notes += [f"    left out: {test}" for test in judge.left_out]
        survivors += unseen(judge.outcomes)
    text = "\n".join([*report, "", *notes, "", *survivors])
    print(text)
    if options.o:
        options.o.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
