"""Blind solves over GSM8K: how many wrong answers do they keep out, and what do they cost?

    python -m benchmarks.proof [--questions N] [--rounds N] [--wrong SHARE] [--save FILE]

Each test question of GSM8K becomes a row; one answer in ten is replaced by a wrong one. A scripted
solver answers each prompt K times, rightly with a known probability. Its wrong answers, and the
planted ones, are those that models give: another number of the problem, an intermediate result,
off by one, a digit that slipped. Each solve goes through the provider, the real reward and the
decision. Three solvers of each accuracy: *steady* (the same probability on every question),
*spread* (a question is easy or hard: the probability is drawn for each), and *misled* (on half of
the questions every second wrong answer is the same one, of the solver and of the author alike).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.humaneval import DATA
from benchmarks.sandbox import machine
from infinite_rl.generation.plan import slot_seed
from infinite_rl.layout import tagged
from infinite_rl.proof.solves import (
    MIN_AGREEMENT,
    decide,
    judge_solves,
    needed_of,
    solve_request,
)
from infinite_rl.providers.scripted import ScriptedProvider
from infinite_rl.reward_functions.math import MathRewardFunction
from infinite_rl.tasks import TASKS
from infinite_rl.types import Completion, Sample, Slot

MOST = 8  # solves of one row
ACCURACIES = (0.6, 0.8, 0.9)
KINDS = ("steady", "spread", "misled")
_SPREAD = 4.0  # the two parameters of the beta distribution together
_MISLED, _POPULAR = 0.5, 0.5  # of the questions; of the wrong answers to these
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")
_STEP = re.compile(r"<<[^=<>]*=(-?\d+(?:\.\d+)?)>>")


@dataclass(frozen=True)
class Question:
    """A problem, its right answer, and the numbers that its problem and its solution hold."""

    text: str
    right: str
    numbers: tuple[str, ...]

    def wrong(self, chance: random.Random) -> str:
        """A wrong answer of the kinds that models give."""
        for _ in range(20):
            kind, found = chance.random(), self.right
            if kind < 0.5 and self.numbers:
                found = chance.choice(self.numbers)
            elif kind < 0.75:
                found = str(int(self.right) + chance.choice((-1, 1)))
            else:
                at = chance.randrange(len(self.right))
                if self.right[at].isdigit():
                    found = self.right[:at] + chance.choice("0123456789") + self.right[at + 1 :]
            if float(found) != float(self.right):
                return found
        return str(int(self.right) + 1)


def questions(path: Path) -> Iterator[Question]:
    """The questions of a file of GSM8K."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        right = row["answer"].rpartition("#### ")[2].strip().replace(",", "")
        numbers = (*_NUMBER.findall(row["question"]), *_STEP.findall(row["answer"]))
        yield Question(row["question"], right, tuple(dict.fromkeys(numbers)))


class Solver:
    """A scripted solver, and the author whose answers may be wrong in the same way."""

    def __init__(self, accuracy: float, kind: str, every: Sequence[Question]) -> None:
        self._accuracy, self._kind = accuracy, kind
        self._questions = {each.text: each for each in every}

    def reply(self, _: str, prompt: str, seed: int) -> str:
        """The text of one solve."""
        question, chance = self._questions[prompt], random.Random(seed)
        right = chance.random() < self._probability(question)
        answer = question.right if right else self.wrong(question, chance)
        return f"I work it out step by step.\n\n{tagged(answer)}"

    def _probability(self, question: Question) -> float:
        if self._kind != "spread":
            return self._accuracy
        alpha = _SPREAD * self._accuracy
        return random.Random(f"level {question.text}").betavariate(alpha, _SPREAD - alpha)

    def wrong(self, question: Question, chance: random.Random) -> str:
        """A wrong answer, perhaps the one that everybody falls for."""
        popular = random.Random(f"popular {question.text}")
        if self._kind == "misled" and popular.random() < _MISLED and chance.random() < _POPULAR:
            return question.wrong(popular)
        return question.wrong(chance)


@dataclass
class Tally:
    """Rows by whether their answer is right, and whether they were kept."""

    kept: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    seen: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})

    def add(self, right: bool, kept: bool) -> None:
        self.seen[right] += 1
        self.kept[right] += kept

    def share(self, right: bool) -> float:
        return self.kept[right] / max(1, self.seen[right])


def run(
    accuracy: float, kind: str, every: Sequence[Question], wrong_share: float, rounds: int = 1
) -> tuple[list[Tally], int]:
    """The tallies of K = 1 to 8, and how many calls were made for all of them.

    In each of `rounds` all is drawn anew: which answers are wrong, and what the solver says.
    """
    solver = Solver(accuracy, kind, every)
    provider = ScriptedProvider(solver.reply)
    reward, task = MathRewardFunction(), TASKS["math"]
    tallies = [Tally() for _ in range(MOST)]
    for index, question in enumerate([*every] * rounds):
        author = random.Random(f"author {index}")
        right = author.random() >= wrong_share
        answer = question.right if right else solver.wrong(question, author)
        sample = Sample("math", question.text, answer, tagged(answer))
        system, prompt = solve_request(sample, task)
        completions: list[Completion] = []
        for number in range(1, MOST + 1):
            seed = slot_seed(0, Slot("math", index, solve=number))
            completions.append(provider.complete(system, prompt, seed))
            solves = judge_solves(sample, completions, reward)
            tallies[number - 1].add(right, not decide(solves))
    return tallies, len(provider.calls)


def chance_kept(count: int, agree: float, rival: float) -> float:
    """The probability that `decide` keeps a row: the sum in its docstring."""
    total = 0.0
    for i in range(needed_of(count, count, MIN_AGREEMENT), count + 1):
        for j in range(min(i, count - i + 1)):
            rest = count - i - j
            ways = math.comb(count, i) * math.comb(count - i, j)
            total += ways * agree**i * rival**j * (1 - agree - rival) ** rest
    return total


def rows(accuracy: float, kind: str, tallies: Sequence[Tally]) -> Iterator[str]:
    """The lines of the table."""
    for count, tally in enumerate(tallies, 1):
        expected = f"{chance_kept(count, accuracy, 0.0):.1%}" if kind == "steady" else ""
        kept = tally.kept[True] + tally.kept[False]
        calls = count * (tally.seen[True] + tally.seen[False])
        wrong = tally.kept[False] / max(1, kept)
        yield (
            f"| {kind} | {accuracy:g} | {count} | {1 - tally.share(False):.1%} "
            f"| {tally.share(True):.1%} | {expected} | {wrong:.2%} | {calls / max(1, kept):.1f} |"
        )


HEAD = (
    "| solver | accuracy | K | wrong answers kept out | good rows kept | without rivals "
    "| wrong among the kept | calls a kept row |\n|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Keep planted wrong answers out by blind solves.")
    parser.add_argument("--questions", type=int, default=10**9, help="how many (all)")
    parser.add_argument("--wrong", type=float, default=0.1, help="share of wrong answers (0.1)")
    parser.add_argument("--rounds", type=int, default=4, help="times that all is drawn anew (4)")
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of the data sets ({DATA})")
    parser.add_argument("--save", type=Path, help="write the table to this file, too")
    options = parser.parse_args()
    path = options.data / "gsm8k" / "test.jsonl"
    if not path.is_file():
        sys.exit(f"the data is missing: there is no file {path}; name its folder with --data")
    every = list(questions(path))[: options.questions]
    started, calls = time.process_time(), 0
    lines: list[str] = []
    for kind in KINDS:
        for accuracy in ACCURACIES:
            tallies, made = run(accuracy, kind, every, options.wrong, options.rounds)
            lines += rows(accuracy, kind, tallies)
            calls += made
    each_ms = 1000 * (time.process_time() - started) / calls
    text = f"{HEAD}\n" + "\n".join(lines)
    about = (
        f"{len(every)} questions, {options.rounds} times, {options.wrong:.0%} wrong answers "
        f"planted; {machine()}; {each_ms:.2f} ms of CPU a solve, judged in up to {MOST} rounds"
    )
    print(f"{about}\n\n{text}")
    if options.save:
        options.save.write_text(f"{about}\n\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
