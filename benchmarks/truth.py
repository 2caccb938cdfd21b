"""How many wrong rows does self-consistency let in, how many right ones does it lose, at what cost?

    python -m benchmarks.truth [--math N] [--code N] [--save FILE]

A simulated author: 15 % of its tasks are at fault, half of them in answer and response alike, half
in one of the two; of those that it is asked to repair, it bends 30 % to the wrong answer. Simulated
solvers are right with probability p; a wrong solution is the author's own error with probability h,
else one that nobody shares. The first table is exact: the rule alone, by summing over all courses
of solutions. The second goes through the real pipeline: `generate_dataset`, rewards, sandbox,
generated inputs and self-test. Intervals are Wilson's, at 95 %.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from benchmarks.sandbox import machine
from infinite_rl.files.logs import read_rows
from infinite_rl.generator import generate_dataset
from infinite_rl.inference.journal import answers
from infinite_rl.layout import fenced, render, tagged
from infinite_rl.solver_prompts import MAX_SOLUTIONS
from infinite_rl.store import DATASET, FAILED
from infinite_rl.types import Completion
from infinite_rl.verification.self_consistency import ConsistencyResult, rejection_reason

AT_FAULT, BENT = 0.15, 0.3  # of the author's tasks; of its repairs
ACCURACIES, MEETINGS = (0.9, 0.7, 0.5), (0.0, 0.2, 0.5)
_TASK = re.compile(r"\(task (\d+)\)")
_Z = 1.96


# --- The rule, exactly ---------------------------------------------------------------------------


class Course(NamedTuple):
    """The probability that a row is kept, and the solutions to be expected."""

    accepted: float
    solutions: float


def sequential(agree: float, rival: float, *, repaired: bool = False) -> Course:
    """Two solutions, then one after another until `rejection_reason` ends it.

    Each agrees with the row with probability `agree`, with one rival answer with `rival`, and else
    with nothing.
    """
    accepted = solutions = 0.0
    courses = [(0, 0, 0, 0, 1.0)]
    while courses:
        sampled, agreeing, against, alone, chance = courses.pop()
        if sampled >= 2:
            result = ConsistencyResult(sampled, sampled, agreeing, max(against, min(1, alone)))
            fault = rejection_reason(result, max_solutions=MAX_SOLUTIONS, repaired=repaired)
            if fault is not None:
                accepted += chance * (fault == "")
                solutions += chance * sampled
                continue
        courses += [
            (sampled + 1, agreeing + 1, against, alone, chance * agree),
            (sampled + 1, agreeing, against + 1, alone, chance * rival),
            (sampled + 1, agreeing, against, alone + 1, chance * (1 - agree - rival)),
        ]
    return Course(accepted, solutions)


def fixed_four(agree: float, rival: float, *, repaired: bool = False) -> Course:  # noqa: ARG001
    """Always four solutions, of which two must agree, and more than with any other answer."""
    accepted = 0.0
    for i in range(2, 5):
        for j in range(min(i, 5 - i)):
            ways = math.comb(4, i) * math.comb(4 - i, j)
            accepted += ways * agree**i * rival**j * (1 - agree - rival) ** (4 - i - j)
    return Course(accepted, 4.0)


def unverified(agree: float, rival: float, *, repaired: bool = False) -> Course:  # noqa: ARG001
    """No solutions: every row is kept."""
    return Course(1.0, 0.0)


def exact(accuracy: float, meets: float, rule: Callable[..., Course]) -> tuple[float, float, float]:
    """The share of wrong rows among the kept, of right rows lost, and solutions a candidate.

    Without verification, faults that are no faults of form are not sent back.
    """
    doubly, mended = AT_FAULT / 2, 0.0 if rule is unverified else AT_FAULT / 2
    hit, miss = accuracy, (1 - accuracy) * meets
    parts = [  # their share, whether they are right, their fate
        (1 - AT_FAULT, True, rule(hit, miss)),
        (doubly, False, rule(miss, hit)),
        (mended * (1 - BENT), True, rule(hit, miss, repaired=True)),
        (mended * BENT, False, rule(miss, hit, repaired=True)),
    ]
    accepted = {is_right: 0.0 for is_right in (True, False)}
    for share, is_right, course in parts:
        accepted[is_right] += share * course.accepted
    right = sum(share for share, is_right, _ in parts if is_right)
    total = sum(share for share, _, _ in parts)
    calls = sum(share * course.solutions for share, _, course in parts) / total
    return accepted[False] / (accepted[True] + accepted[False]), 1 - accepted[True] / right, calls


def exact_table() -> Iterator[str]:
    """A line for each accuracy, chance to meet and rule."""
    yield "| accuracy p | meets h | rule | wrong rows kept | right rows lost | solutions |"
    yield "|---:|---:|---|---:|---:|---:|"
    rules = {"`--verify 0`": unverified, "fixed 4": fixed_four, "up to 4": sequential}
    for accuracy in ACCURACIES:
        for meets in MEETINGS:
            for name, rule in rules.items():
                wrong, lost, calls = exact(accuracy, meets, rule)
                yield f"| {accuracy} | {meets} | {name} | {wrong:.2%} | {lost:.2%} | {calls:.2f} |"


# --- The tasks -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """One task: its prompt, right and wrong answers and responses.

    `planted` is the error of the author, `alone(n)` the n-th error that nobody shares.
    """

    family: str
    prompt: str
    right: tuple[str, str]  # the reference, and the content of the answer tag
    planted: tuple[str, str]
    alone: Callable[[int], str]


def _value(right: object, planted: object) -> tuple[tuple[str, str], tuple[str, str]]:
    return (str(right), str(right)), (str(planted), str(planted))


def _math(number: int, chance: random.Random) -> Task:
    a, b, c = chance.randint(12, 99), chance.randint(12, 99), chance.randint(2, 11)
    family = ("arithmetic", "equations", "modular", "fractions")[number % 4]
    if family == "arithmetic":
        text, right, planted = f"What is {a} * {b} - {c}?", a * b - c, a * b + c
    elif family == "equations":
        text, right, planted = f"Solve {c}*x - {a * c} = {b * c} for x.", a + b, b - a
    elif family == "modular":
        text = f"What is the remainder of {a * b} divided by {c + 7}?"
        right, planted = a * b % (c + 7), a * b // (c + 7)
    else:
        text = f"Give {a}/{b} as a fraction of the denominator {b * c}, as its numerator."
        right, planted = a * c, a + b * c - b
    if right == planted:
        planted += 1
    return Task(
        f"math, {family}",
        f"{text} (task {number})",
        *_value(right, planted),
        lambda n: str(right + 1000 + n),
    )


class _Function(NamedTuple):
    """A function of a list and a number k: what it returns, rightly and with a bug, in two
    languages, and by the host."""

    name: str
    says: str
    python: tuple[str, str]
    javascript: tuple[str, str]
    host: tuple[Callable[[list[int], int], object], Callable[[list[int], int], object]]


_FUNCTIONS = (
    _Function(
        "sum_above",
        "the sum of the numbers in xs that are greater than {k}",
        ("sum(x for x in xs if x > {k})", "sum(x for x in xs if x >= {k})"),
        (
            "xs.filter((x) => x > {k}).reduce((a, b) => a + b, 0)",
            "xs.filter((x) => x >= {k}).reduce((a, b) => a + b, 0)",
        ),
        (lambda xs, k: sum(x for x in xs if x > k), lambda xs, k: sum(x for x in xs if x >= k)),
    ),
    _Function(
        "count_multiples",
        "how many numbers in xs are multiples of {k}, zero not counted",
        (
            "len([x for x in xs if x % {k} == 0 and x != 0])",
            "len([x for x in xs if x % {k} == 0])",
        ),
        (
            "xs.filter((x) => x % {k} === 0 && x !== 0).length",
            "xs.filter((x) => x % {k} === 0).length",
        ),
        (
            lambda xs, k: len([x for x in xs if x % k == 0 and x != 0]),
            lambda xs, k: len([x for x in xs if x % k == 0]),
        ),
    ),
    _Function(
        "widest_step",
        "the largest distance between neighbours in xs, plus {k}; {k} for fewer than two numbers",
        (
            "max([abs(a - b) for a, b in zip(xs, xs[1:])], default=0) + {k}",
            "max([b - a for a, b in zip(xs, xs[1:])] + [0]) + {k}",
        ),
        (
            "Math.max(0, ...xs.slice(1).map((x, i) => Math.abs(x - xs[i]))) + {k}",
            "Math.max(0, ...xs.slice(1).map((x, i) => x - xs[i])) + {k}",
        ),
        (
            lambda xs, k: max([abs(b - a) for a, b in pairwise(xs)], default=0) + k,
            lambda xs, k: max([0, *(b - a for a, b in pairwise(xs))]) + k,
        ),
    ),
)


def _code(language: str, number: int, chance: random.Random) -> Task:
    match, k = _FUNCTIONS[number % len(_FUNCTIONS)], chance.randint(2, 9)
    lists = [[], [k], [0, k, 2 * k], [chance.randint(-9, 30) for _ in range(5)], [3 * k, 1, k, 0]]
    lists.append([chance.randint(-9, 30) for _ in range(7)])

    def tests(which: int) -> str:
        values = [(json.dumps(xs), match.host[which](xs, k)) for xs in lists]
        if language == "python":
            return json.dumps({"tests": [f"assert f({xs}) == {value}" for xs, value in values]})
        check = "require('assert').strictEqual"
        return json.dumps({"tests": [f"{check}(f({xs}), {value});" for xs, value in values]})

    def program(expression: str) -> str:
        text = expression.format(k=k)
        lines = {
            "python": f"def f(xs):\n    result = {text}\n    return result",
            "javascript": f"function f(xs) {{\n  const result = {text};\n  return result;\n}}",
        }
        return f"\n{fenced(lines[language], language)}\n"

    right, planted = getattr(match, language)
    return Task(
        f"{language}, {match.name}",
        f"Write f(xs): {match.says.format(k=k)}. xs is a list of integers. (task {number})",
        (tests(0), program(right)),
        (tests(1), program(planted)),
        lambda n: program(f"{right} + {1000 + n}"),
    )


# --- Author and solver ---------------------------------------------------------------------------


@dataclass
class Author:
    """Writes tasks, some at fault, and repairs them, some to the wrong answer."""

    language: str = ""
    model: str = "author"
    tasks: dict[int, Task] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def complete(self, system: str, prompt: str, seed: int) -> Completion:  # noqa: ARG002
        """A sample, by the seed alone."""
        chance = random.Random(seed)
        if "Your last sample was rejected" in prompt:
            (number,) = set(_TASK.findall(prompt.partition("This is what you wrote")[2]))
            task = self.tasks[int(number)]
            gold = response = task.planted if chance.random() < BENT else task.right
        else:
            with self._lock:
                number = len(self.tasks)
                task = (
                    _code(self.language, number, chance) if self.language else _math(number, chance)
                )
                self.tasks[number] = task
            gold, response = task.right, task.right
            drawn = chance.random()
            if drawn < AT_FAULT / 2:
                gold, response = task.planted, task.planted
            elif drawn < AT_FAULT:
                gold, response = chance.choice(
                    [(task.planted, task.right), (task.right, task.planted)]
                )
        text = render(task.prompt, gold[0], f"I work it out. {tagged(response[1])}")
        return Completion(text, self.model)


@dataclass
class Solver:
    """Solves the author's tasks with a known accuracy."""

    author: Author
    accuracy: float
    meets: float
    model: str = "solver"

    def complete(self, system: str, prompt: str, seed: int) -> Completion:  # noqa: ARG002
        """A solution, by the seed alone."""
        chance = random.Random(seed)
        match = _TASK.search(prompt)
        assert match is not None, "a solver sees the whole prompt"
        task = self.author.tasks[int(match[1])]
        content = task.alone(seed)
        if chance.random() < self.accuracy:
            content = task.right[1]
        elif chance.random() < self.meets:
            content = task.planted[1]
        return Completion(f"I solve it. {tagged(content)}", self.model)


# --- The pipeline --------------------------------------------------------------------------------


@dataclass
class Tally:
    """What came of the candidates of one family that reached the solvers."""

    right: int = 0
    wrong: int = 0
    right_lost: int = 0
    wrong_stopped: int = 0
    candidates: int = 0
    solutions: int = 0
    calls: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            *(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True))
        )


def run(language: str, rows: int, accuracy: float, meets: float, verify: int) -> dict[str, Tally]:
    """Make rows through the real pipeline; the tallies by family."""
    author = Author(language)
    tallies: dict[str, Tally] = {}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        done = generate_dataset(
            "author",
            rows,
            out,
            save_every=10_000,
            task_dist="1,0" if language else "0,1",
            languages=[language or "python"],
            provider=author,
            verify=verify,
            verify_model=Solver(author, accuracy, meets),
            ideas=False,
            novelty=False,  # the author's tasks differ by their numbers alone
            strengthen="off",  # the rows are compared with what the author wrote
            seed=round(1000 * accuracy + 10 * meets) + len(language),
        )
        assert done.complete, done
        numbers: dict[str, int] = {}

        def tally(row: dict[str, str]) -> tuple[Tally, bool]:
            match = _TASK.search(row["prompt"])
            assert match is not None
            task = author.tasks[int(match[1])]
            numbers[row["slot"]] = int(match[1])
            return tallies.setdefault(task.family, Tally()), row["answer"] == task.right[0]

        for row in read_rows(out / DATASET):
            each, is_right = tally(row)
            each.right += is_right
            each.wrong += not is_right
        for row in read_rows(out / FAILED):
            each, is_right = tally(row)
            if row["reason"] == "disagreement":
                each.right_lost += is_right
                each.wrong_stopped += not is_right
        slots: Counter[str] = Counter()
        for slot, _ in answers(out):
            slot_name, _, solve = str(slot).partition("/solve")
            tallies[author.tasks[numbers[slot_name]].family].calls += 1
            slots[slot_name] += bool(solve)
        for slot_name, count in slots.items():
            each = tallies[author.tasks[numbers[slot_name]].family]
            each.solutions += count
            each.candidates += count > 0
    return tallies


def interval(part: int, whole: int) -> str:
    """A share with its interval."""
    if not whole:
        return "-"
    share, n = part / whole, whole
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n * n)) / (1 + _Z**2 / n)
    return f"{share:.2%} ({max(0.0, middle - half):.2%} to {middle + half:.2%})"


def line(name: str, each: Tally) -> str:
    """A line of the second table."""
    accepted = each.right + each.wrong
    candidates = f"{each.solutions / each.candidates:.2f}" if each.candidates else "-"
    return (
        f"| {name} | {accepted} | {interval(each.wrong, accepted)} "
        f"| {interval(each.right_lost, each.right + each.right_lost)} | {each.wrong_stopped} "
        f"| {candidates} | {each.calls / max(1, accepted):.2f} |"
    )


HEAD = (
    "| p, h, family | rows | wrong among them | right rows lost | wrong stopped "
    "| solutions a candidate | calls a row |\n|---|---:|---:|---:|---:|---:|---:|"
)


def pipeline_table(math_rows: int, code_rows: int) -> Iterator[str]:
    """A line for each cell in total, and at h = 0.2 also for each family."""
    yield HEAD
    for language, rows in (("", math_rows), ("python", code_rows), ("javascript", code_rows)):
        kind = language or "math"
        if rows:
            outcome = run(language, rows, 0.9, 0.2, 0)
            yield line(f"`--verify 0`, {kind}", sum(outcome.values(), Tally()))
        for accuracy in ACCURACIES if rows else ():
            for meets in MEETINGS if not language else (0.2,):
                count = rows if meets == 0.2 else rows // 4
                outcome = run(language, count, accuracy, meets, MAX_SOLUTIONS)
                yield line(f"{accuracy}, {meets}, **{kind}**", sum(outcome.values(), Tally()))
                for family, each in sorted(outcome.items()) if meets == 0.2 else ():
                    yield line(f"{accuracy}, {meets}, {family}", each)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--math", type=int, default=2000, help="rows of mathematics where h is 0.2")
    parser.add_argument("--code", type=int, default=300, help="rows of each language, for each p")
    parser.add_argument("--save", type=Path, help="write the tables to this file, too")
    args = parser.parse_args(arguments)
    lines: list[str] = []

    def say(text: str) -> None:
        print(text, flush=True)
        lines.append(text)

    say("# Truth: what self-consistency lets in, loses and costs\n")
    say(f"`python -m benchmarks.truth --math {args.math} --code {args.code}`; {machine()}\n")
    say(" ".join((__doc__ or "").split("\n\n")[2].split()) + "\n")
    say("## The rule alone, exact\n")
    for text in exact_table():
        say(text)
    say("\n## Through the real pipeline\n")
    for text in pipeline_table(args.math, args.code):
        say(text)
    if args.save:
        args.save.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
