"""Reference solutions with one thing wrong: does the coding reward judge them as the host does?

    python -m benchmarks.mutants [--per_solution N] [--timeout SECONDS] [--jobs N] [--data DIR]

Every reference of HumanEval, HumanEval JS and MBPP is changed in one place: an operator, a
constant, an off-by-one, a negated condition, swapped branches, a dropped return or statement. Each
mutant is judged by the reward and by this machine's own Python or node with the same tests. Where
the verdicts differ, both judge again with ten times the time, and the host three times: what then
still differs is listed. A mutant that passes everywhere is no fault of ours: its tests are too weak
to see the change, or nothing has changed but the text.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from benchmarks.humaneval import DATA, SUITES, Problem, Suite
from benchmarks.native import STOPPED, Native
from benchmarks.sandbox import machine
from infinite_rl.layout import fenced, tagged
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.verification.mutation import Mutant, mutants

END = "the end of all tests"
PRINT = {"python": "print", "javascript": "console.log"}
LONGER = 10  # times the time limit, for the second look


def sample(language: str, problem: Problem, count: int) -> list[Mutant]:
    """Up to `count` different mutants, chosen at random by the problem's name."""
    every = {mutant.code: mutant for mutant in mutants(language, problem.code)}
    every.pop(problem.code, None)
    chosen = list(every.values())
    return random.Random(problem.name).sample(chosen, min(count, len(chosen)))


# --- both judges ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A mutant with the problem whose tests judge it."""

    problem: Problem
    mutant: Mutant


class Judges:
    """The reward and the host, for one language."""

    def __init__(self, language: str, timeout: float) -> None:
        self._language = language
        self._timeout = timeout
        self._native = Native(language)

    def ours(self, case: Case, times: int = 1) -> tuple[str, str]:
        """The reward's verdict, "passed", "failed" or "timeout", and its reason."""
        spec = {"tests": list(case.problem.tests), "entry_point": case.problem.entry_point}
        reward = CodingRewardFunction(timeout=self._timeout * times)
        answer = tagged(fenced(case.mutant.code, self._language))
        score = reward.compute_reward(answer, spec, language=self._language)
        late = "timeout:" in score.error_msg
        return "timeout" if late else score.status, score.error_msg

    def theirs(self, case: Case, times: int = 1) -> tuple[str, str]:
        """The host's verdict in the same words, and the end of its stderr."""
        ended = self._native.run(native_program(case, self._language), self._timeout * times)
        if ended.exit_code == STOPPED:
            return "timeout", ""
        passed = ended.exit_code == 0 and ended.stdout.endswith(f"{END}\n")
        return "passed" if passed else "failed", ended.stderr.strip()[-300:]

    def close(self) -> None:
        self._native.close()


def native_program(case: Case, language: str) -> str:
    """The mutant and its tests as one program, which fails or does not reach its end otherwise."""
    parts = [case.mutant.code, *case.problem.tests]
    if case.problem.entry_point:
        parts.append(f"check({case.problem.entry_point})")
    parts.append(f"{PRINT[language]}('{END}')")  # a mutant may leave early, with exit code 0
    return "\n".join(parts)


@dataclass(frozen=True)
class Verdicts:
    """What both say of a case. `kind` is "agree", or what sort of disagreement it is."""

    case: Case
    ours: str
    theirs: str
    kind: str = "agree"
    reasons: str = ""


def judge(judges: Judges, case: Case) -> Verdicts:
    """Let both judge. A timeout is a failure; where they differ they look again."""
    ours, theirs = judges.ours(case)[0], judges.theirs(case)[0]
    if (ours == "passed") == (theirs == "passed"):
        return Verdicts(case, ours, theirs)
    again, reason = judges.ours(case, LONGER)
    others = [judges.theirs(case, LONGER) for _ in range(3)]
    if len({verdict for verdict, _ in others}) > 1:
        kind = "random"
    elif (again == "passed") == (others[0][0] == "passed"):
        kind = "near the time limit" if "timeout" in (ours, theirs) else "random"
    else:
        kind = "disagree"
    reasons = f"sandbox {again}: {reason!r}; host {others[0][0]}: {others[0][1]!r}"
    return Verdicts(case, ours, theirs, kind, reasons)


def judge_all(language: str, timeout: float, cases: Sequence[Case]) -> list[Verdicts]:
    """The verdicts on some cases. A function of the module, so that workers find it."""
    judges = Judges(language, timeout)
    try:
        return [judge(judges, case) for case in cases]
    finally:
        judges.close()


# --- the report ----------------------------------------------------------------------------------


def report(suite: Suite, solutions: int, verdicts: Sequence[Verdicts], wall: float) -> None:
    """One line of the table, then every disagreement."""
    kinds = Counter(verdict.kind for verdict in verdicts)
    ours = sum(verdict.ours != "passed" for verdict in verdicts)
    theirs = sum(verdict.theirs != "passed" for verdict in verdicts)
    total = max(1, len(verdicts))
    print(
        f"| {suite.title} | {solutions} | {len(verdicts)} | {ours} ({ours / total:.2%}) "
        f"| {theirs} ({theirs / total:.2%}) | {kinds['disagree']} "
        f"| {kinds['near the time limit']} | {kinds['random']} | {wall:.0f} s |",
        flush=True,
    )


def changes(verdicts: Sequence[Verdicts]) -> Iterator[str]:
    """How often each kind of change is seen."""
    counts = Counter(verdict.case.mutant.change for verdict in verdicts)
    seen = Counter(v.case.mutant.change for v in verdicts if v.ours != "passed")
    for name, count in counts.most_common():
        yield f"| {name} | {count} | {seen[name]} ({seen[name] / count:.1%}) |"


def show(verdict: Verdicts) -> None:
    """One disagreement with its program."""
    case = verdict.case
    print(f"\n{case.problem.name}, {case.mutant.change}, {verdict.kind}: {verdict.reasons}")
    if verdict.kind == "disagree":
        print("\n".join("    " + line for line in case.mutant.code.splitlines()))


def run(suite: Suite, options: argparse.Namespace) -> list[Verdicts]:
    """All mutants of one suite, judged by worker processes."""
    problems = list(suite.read(options.data / suite.path))
    cases = [
        Case(problem, mutant)
        for problem in problems
        for mutant in sample(suite.language, problem, options.per_solution)
    ]
    work = partial(judge_all, suite.language, options.timeout)
    chunks = [cases[at : at + 20] for at in range(0, len(cases), 20)]
    started = time.monotonic()
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        verdicts = [verdict for some in pool.map(work, chunks) for verdict in some]
    report(suite, len(problems), verdicts, time.monotonic() - started)
    return verdicts


def main() -> None:
    parser = argparse.ArgumentParser(description="Judge mutated references here and outside.")
    parser.add_argument("--per_solution", type=int, default=5, help="mutants of one reference")
    parser.add_argument("--timeout", type=float, default=2, help="seconds for one mutant")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of the data sets ({DATA})")
    options = parser.parse_args()
    if not options.data.is_dir():
        sys.exit(f"the data is missing: there is no folder {options.data}; name one with --data")
    print(f"{machine()}; {options.per_solution} mutants a solution, {options.timeout:g} s each\n")
    print(
        "| suite | solutions | mutants | rejected by us | by the host | verdicts that differ ",
        end="",
    )
    print(
        "| near the time limit | random | time |\n|---|---|---|---|---|---|---|---|---|", flush=True
    )
    verdicts = [verdict for suite in SUITES for verdict in run(suite, options)]
    print("\n| change | mutants | rejected |\n|---|---|---|")
    print("\n".join(changes(verdicts)))
    for verdict in verdicts:
        if verdict.kind != "agree":
            show(verdict)


if __name__ == "__main__":
    main()
