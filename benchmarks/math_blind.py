"""Answers written and labelled before the verdict saw them: 21 rounds, and texts that hedge.

    python -m benchmarks.math_blind [--data FOLDER] [--failures]

Rounds 4 to 7 have 240 pairs, round 11 has 180, the others 300, half of them near misses; the labels
say what a teacher would say to the question, which all but two have. In the rows "question given"
our verdict reads the question; in the others it reads the answer and the gold alone, as its peer
does. The authors had not read the code, and no label was changed after a run. The hedges are
64 texts that commit to no single answer, and 64 that look alike and do. Then follow all ways to
join two boxes into a list, and with `--data` how many golds of published sets cannot be read.
Math-Verify judges beside us where it is installed.
A text that ends in a sentence, without a box, a tag or the word "answer", is counted apart: what
our policy reads of it is in `docs/answers.md`.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.math_verifier import Judge, load, math_verify, ours
from infinite_rl.reward_functions.math import verify

PAIRS = Path(__file__).with_suffix(".jsonl.gz")
MARK = re.compile(r"\\boxed|####|answer", re.IGNORECASE)
SIGNS = (",", ";", r"\quad", r",\ ", r"\\", "\n")
WORDS = ("and", ", and", "or", "as well as", "along with", ". Also", r"\text{and}")
FORMULAS = (("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))
GOLDS = ("golds/ocw.jsonl", "golds/olympiadbench.jsonl", "math500/test.jsonl")


class Marks(NamedTuple):
    """Of a round: pairs, right verdicts, wrong answers accepted, right ones refused."""

    pairs: int
    right: int
    accepts: int
    rejects: int

    @property
    def text(self) -> str:
        share = self.right / self.pairs
        return f"{self.right} of {self.pairs} ({share:.3f}) | {self.accepts} | {self.rejects}"


def rounds() -> dict[str, list[dict[str, Any]]]:
    """The pairs by their round: `id`, `question`, `gold`, `prediction`, `label`, `class`."""
    with gzip.open(PAIRS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    named = [(row["id"].rpartition("-")[0], row) for row in rows]
    return {name: [row for other, row in named if other == name] for name, _ in named}


def with_questions(rows: Sequence[dict[str, Any]]) -> Marks:
    """As `marks`, of our verdict if it is given the question."""
    questions = {(row["prediction"], row["gold"]): row["question"] for row in rows}

    def judge(prediction: str, gold: str) -> bool:
        return verify(prediction, gold, question=questions[prediction, gold]).equal

    return marks(judge, rows)[0]


def marks(judge: Judge, rows: Sequence[dict[str, Any]]) -> tuple[Marks, list[dict[str, Any]]]:
    """How the verdicts agree with the labels, and the rows where they do not."""
    wrong = [row for row in rows if judge(row["prediction"], row["gold"]) != row["label"]]
    rejects = sum(row["label"] for row in wrong)
    return Marks(len(rows), len(rows) - len(wrong), len(wrong) - rejects, rejects), wrong


def joints() -> Iterator[str]:
    """Two boxes, joined in all ways: in one formula, between two, and as two parts."""
    spaced = list(SIGNS) + [f" {sign} " for sign in (*SIGNS, *WORDS)]
    for joint, (left, right) in itertools.product(spaced, FORMULAS):
        words = joint.strip() in WORDS and "\\" not in joint
        inside = rf"\text{{{joint}}}" if words else joint
        yield rf"So {left}\boxed{{1}}{inside}\boxed{{-2}}{right}."
        yield rf"So {left}\boxed{{1}}{right}{joint}{left}\boxed{{-2}}{right}."
    for left, right in FORMULAS:
        yield rf"(a) {left}\boxed{{1}}{right} (b) {left}\boxed{{-2}}{right}"
        yield f"(a) {left}\\boxed{{1}}{right}\n\n(b) {left}\\boxed{{-2}}{right}"


def unread(path: Path) -> tuple[int, int]:
    """How many golds of a file there are, and how many of them are no mathematics that is read."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    golds = [str(row.get("gold", row.get("answer"))) for row in rows]
    return len(golds), sum(verify(gold, gold).status == "unparsed" for gold in golds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="holds " + ", ".join(GOLDS))
    parser.add_argument("--failures", action="store_true", help="print each wrong verdict of ours")
    options = parser.parse_args()
    load()
    peer = math_verify()
    judges = {"Infinite RL": ours} | ({"Math-Verify": peer} if peer else {})
    print("| pairs | judge | right | false accepts | false rejects |\n|---|---|---|---|---|")
    failures = []
    for name, rows in rounds().items():
        stated = [row for row in rows if MARK.search(row["prediction"])]
        for who, judge in judges.items():
            result, wrong = marks(judge, rows)
            print(f"| {name} | {who} | {result.text} |")
            if name.startswith("round"):
                print(f"| {name}, answer marked | {who} | {marks(judge, stated)[0].text} |")
            failures += wrong if judge is ours else []
        if rows[0]["question"]:
            print(f"| {name}, question given | Infinite RL | {with_questions(rows).text} |")
    texts = list(joints())
    for who, judge in judges.items():
        right = sum(judge(text, "1, -2") and not judge(text, "-2") for text in texts)
        print(f"| two boxes joined | {who} | {right} of {len(texts)} | | |")
    for file in GOLDS if options.data else ():
        total, missed = unread(options.data / file)
        print(f"| golds of {file}, unread | Infinite RL | {missed} of {total} | | |")
    for row in failures if options.failures else ():
        print(f"\n{row['id']} ({row['class']}), label {row['label']}: {row['question']}\n"
              f"  gold: {row['gold']}\n  answer: {row['prediction']!r}")  # fmt: skip


if __name__ == "__main__":
    main()
