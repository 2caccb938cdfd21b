"""Compare procedural rows with the oracles: `python tests/procedural/procedural_fuzz.py`.

A coding row runs its reference solution in the sandbox, on its own inputs and on wider ones, and
the oracle of `procedural_tasks` on all of them. A mathematical row has its answer derived again by
`procedural_answers`, and the query of a row of SQL runs on its databases beside the oracle of
`procedural_queries`. One line for each task, family and level; exit code 1 for a disagreement.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from procedural_answers import agrees
from procedural_queries import disagreements
from procedural_stages import Unread
from procedural_tasks import solver, wide_inputs

from infinite_rl.procedural import families
from infinite_rl.procedural.code import CodingTask, as_json, identifier
from infinite_rl.procedural.code_prompt import function_code
from infinite_rl.procedural.draw import Draw
from infinite_rl.procedural.families import LEVELS, make_problem, make_task
from infinite_rl.sandbox.executor import RewardExecutor

LANGUAGES = ("python", "javascript")
WIDER = 16  # inputs of a coding row beside its own
CODING, MATH, SQL = 180, 500, 700  # rows of each task, family and level
AT_ONCE = 40  # coding tasks in one run of a sandbox

# Both drivers read [{code, name, kinds, inputs}] and print the results of each, or what went wrong.
PYTHON = """
import json, sys

def value(kind, argument):
    return [tuple(item) for item in argument] if kind in ("pairs", "links") else argument

def run(case):
    names, results = {}, []
    exec(case["code"], names)
    for arguments in case["inputs"]:
        arguments = [value(*pair) for pair in zip(case["kinds"], arguments)]
        before = json.dumps(arguments)
        try:
            result = names[case["name"]](*arguments)
        except Exception as error:
            result = f"raised {error!r}"
        results.append(result if json.dumps(arguments) == before else "changed its arguments")
    return results

print(json.dumps([run(case) for case in json.load(sys.stdin)]))
"""
HERE = Path(__file__)
DRIVERS = {"python": PYTHON, "javascript": HERE.with_suffix(".js").read_text("utf-8")}


@dataclass
class Tally:
    """The results of the rows of one task, family and level."""

    task: str
    family: str
    level: int
    rows: int = 0
    inputs: int = 0
    seconds: float = 0.0
    disagreements: list[str] = field(default_factory=list)

    def line(self) -> str:
        return (
            f"| {self.task} | {self.family} | {self.level} | {self.rows:,} | {self.inputs:,} "
            f"| {len(self.disagreements)} | {self.seconds:.1f} |"
        )


def code_rows(family: str, level: int, count: int, first: int = 0) -> list[Tally]:
    """`count` coding tasks in both languages."""
    tallies = [Tally(language, family, level) for language in LANGUAGES]
    with RewardExecutor(timeout=300, code_limit=20_000_000, output_limit=20_000_000) as executor:
        for start in range(first, first + count, AT_ONCE):
            began = time.process_time()
            seeds = range(start, min(start + AT_ONCE, first + count))
            tasks = [make_task(Draw(f"fuzz/{family}/{level}/{n}"), level, family) for n in seeds]
            inputs = [
                [*task.inputs, *wide_inputs(family, task, f"{level}/{n}", WIDER)]
                for n, task in zip(seeds, tasks, strict=True)
            ]
            shared = (time.process_time() - began) / 2
            for tally in tallies:
                began = time.process_time()
                compare(executor, tally, list(zip(seeds, tasks, inputs, strict=True)))
                tally.seconds += shared + time.process_time() - began
    return tallies


def compare(
    executor: RewardExecutor,
    tally: Tally,
    drawn: Sequence[tuple[int, CodingTask, list[tuple[Any, ...]]]],
) -> None:
    """Run the tasks' solutions in the sandbox, and the oracle beside them."""
    language = tally.task
    cases = [
        {
            "code": function_code(task, language),
            "name": identifier(task.name, language),
            "kinds": [kind for _, kind in task.params],
            "inputs": inputs,
        }
        for _, task, inputs in drawn
    ]
    ran = executor.execute(DRIVERS[language], language, stdin=json.dumps(cases))
    if ran.exit_code != 0:
        tally.disagreements.append(f"{tally.family} {tally.level}: {ran.stderr[-400:]} {ran}")
        return
    for (seed, task, inputs), results in zip(drawn, json.loads(ran.stdout), strict=True):
        tally.rows += 1
        tally.inputs += len(inputs)
        try:
            oracle = solver(tally.family, task, language)
            derived = [oracle(*arguments) for arguments in inputs]
        except Unread as unread:
            tally.disagreements.append(f"{language} {tally.family} {tally.level}: {unread}")
            continue
        expected = [task.result(*arguments) for arguments in task.inputs]  # by the row's tests
        expected += derived[len(expected) :]
        for arguments, *values in zip(inputs, results, derived, expected, strict=True):
            if len(set(map(as_json, values))) > 1:
                tally.disagreements.append(
                    f"{language} {tally.family} level {tally.level} seed {seed}: "
                    f"{task.instructions} on {arguments!r}: "
                    f"solution, oracle and the row's tests give {values}"
                )


def math_rows(family: str, level: int, count: int, first: int = 0) -> list[Tally]:
    """`count` mathematical tasks; `inputs` counts the derived answers."""
    tally, began = Tally("math", family, level), time.process_time()
    for seed in range(first, first + count):
        problem = make_problem("math", seed, level, family)
        tally.rows, tally.inputs = tally.rows + 1, tally.inputs + 1
        try:
            right = agrees(family, problem.prompt, problem.answer)
        except Unread:
            right = False
        if not right:
            tally.disagreements.append(
                f"math {family} level {level} seed {seed}: {problem.prompt!r} -> {problem.answer!r}"
            )
    tally.seconds = time.process_time() - began
    return [tally]


def query_rows(family: str, level: int, count: int) -> Tally:
    """`count` tasks of SQL; `inputs` counts the databases."""
    databases, seconds, wrong = disagreements(family, level, range(count))
    return Tally("sql", family, level, count, databases, seconds, wrong)


def all_rows(coding: int, math: int, sql: int = SQL) -> Iterator[Tally]:
    """So many rows of every task, family and level; a coding row takes far longer."""
    for level in LEVELS:
        for family in families("sql", level) if sql else ():
            yield query_rows(family, level, sql)
        for family in families("math", level):
            yield from math_rows(family, level, math)
        for family in families("python", level):
            yield from code_rows(family, level, coding)


def page(tallies: Sequence[Tally]) -> str:
    """The results as a page of documentation."""
    head = (
        HERE.with_suffix(".md")
        .read_text("utf-8")
        .format(
            rows=sum(tally.rows for tally in tallies),
            inputs=sum(tally.inputs for tally in tallies),
            wrong=sum(len(tally.disagreements) for tally in tallies),
            seconds=sum(tally.seconds for tally in tallies),
            machine=f"{os.cpu_count()} shared cores ({platform.machine()})",
            version=platform.python_version(),
            wider=WIDER,
        )
    )
    return head + "\n".join(tally.line() for tally in tallies) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, rows in (("--coding", CODING), ("--math", MATH), ("--sql", SQL)):
        text = f"rows of each {name[2:]} task, family and level (default: {rows})"
        parser.add_argument(name, type=int, default=rows, help=text)
    parser.add_argument("-o", "--out", type=Path, help="write the page here, too")
    args = parser.parse_args()
    tallies: list[Tally] = []
    for tally in all_rows(args.coding, args.math, args.sql):
        tallies.append(tally)
        print(tally.line(), *tally.disagreements[:3], sep="\n", flush=True)
    if args.out:
        args.out.write_text(page(tallies), encoding="utf-8")
    return int(any(tally.disagreements for tally in tallies))


if __name__ == "__main__":
    sys.exit(main())
