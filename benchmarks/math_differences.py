"""Where our verdict and Math-Verify's differ, and why: a page in `docs/results`.

    pip install infinite-rl[math-verify]
    python -m benchmarks.math_differences [--data FOLDER] [--out FILE]

The pairs are the labelled ones of the tests and, with `--data`, the references of MATH-500 in
`math500/test.jsonl`: each against itself, against respellings made by rule, and against copies with
one digit changed. A difference is explained by the convention that decides it: for a labelled pair
the section of the table that it stands in, for a reference the rule that made it. Exits with 1
where Math-Verify is right and we are not.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.math_pairs import Pair, labelled
from benchmarks.math_verifier import math_verify
from infinite_rl.reward_functions.math import verify

OUT = Path(__file__).resolve().parent.parent / "docs" / "results" / "math_verify_differences.md"


class Difference(NamedTuple):
    pair: Pair
    ours: str
    theirs: str

    @property
    def we_err(self) -> bool:
        return (self.ours == "equal") != self.pair.equal


def references(folder: Path) -> Iterator[Pair]:
    """MATH-500's golds: themselves, respelled, and with one digit changed."""
    rows = (folder / "math500" / "test.jsonl").read_text(encoding="utf-8").splitlines()
    for row in rows:
        gold = json.loads(row)["answer"]
        yield Pair(gold, gold, True, "the reference itself")
        respelled = (
            gold.replace(r"\frac", r"\dfrac").replace("(", r"\left(").replace(")", r"\right)")
        )
        if (
            respelled != gold
            and gold.count("(") == gold.count(")")
            and r"\left\left" not in respelled
        ):
            yield Pair(respelled, gold, True, "the reference respelled")
        digits = [index for index, character in enumerate(gold) if character.isdecimal()]
        for index in digits[:2]:
            digit = str((int(gold[index]) + 1) % 10)
            copy = gold[:index] + digit + gold[index + 1 :]
            yield Pair(copy, gold, False, "a digit of the reference changed")


def differences(pairs: list[Pair]) -> list[Difference]:
    judge = math_verify()
    if judge is None:
        sys.exit("Math-Verify is not installed: pip install infinite-rl[math-verify]")
    results: list[Difference] = []
    for pair in pairs:
        ours = verify(pair.prediction, pair.gold).status
        theirs = "equal" if judge(boxed(pair.prediction), pair.gold) else "different"
        if (ours == "equal") != (theirs == "equal"):
            results.append(Difference(pair, ours, theirs))
    return results


def boxed(prediction: str) -> str:
    """Math-Verify looks for an answer in a text; a bare one must be marked for it."""
    marked = any(mark in prediction.lower() for mark in ("box", "answer", "####", "$"))
    return prediction if marked else rf"\boxed{{{prediction}}}"


def page(pairs: list[Pair], results: list[Difference]) -> str:
    wrong = [one for one in results if one.we_err]
    false_accepts = sum(not one.pair.equal for one in results if not one.we_err)
    lines = [
        "# Where our verdicts and Math-Verify's differ",
        "",
        "Written by `python -m benchmarks.math_differences`. The convention that decides a row is",
        "the section of `math_pairs.txt` that its pair stands in, where it was labelled by",
        "hand; references of MATH-500 carry the rule that made them.",
        "",
        f"Of {len(pairs)} pairs Math-Verify 0.9.0 judges {len(results)} differently.",
        f"In {len(wrong)} of them it agrees with the label and we do not.",
        f"In the other {len(results) - len(wrong)} we do: it accepts {false_accepts} wrong answers",
        f"and rejects {len(results) - len(wrong) - false_accepts} right ones.",
        "",
        "| convention | accepted wrongly | rejected wrongly |",
        "|---|---:|---:|",
    ]
    accepted = Counter(one.pair.reason for one in results if not one.we_err and not one.pair.equal)
    rejected = Counter(one.pair.reason for one in results if not one.we_err and one.pair.equal)
    for reason in sorted(accepted.keys() | rejected.keys()):
        lines.append(f"| {reason} | {accepted[reason]} | {rejected[reason]} |")
    lines += ["", "## Each of them", "", "| convention | prediction | gold | we | Math-Verify |"]
    lines.append("|---|---|---|---|---|")
    for one in results:
        cells = [one.pair.reason, _code(one.pair.prediction), _code(one.pair.gold)]
        lines.append(f"| {' | '.join([*cells, one.ours, one.theirs])} |")
    return "\n".join(lines) + "\n"


def _code(text: str) -> str:
    shown = " ".join(text.split()).replace("|", "&#124;").replace("<", "&lt;")
    return f"<code>{shown[:120]}</code>"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder that holds math500/test.jsonl")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    pairs = labelled()
    if options.data is not None:
        pairs += references(options.data)
    results = differences(pairs)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(page(pairs, results), encoding="utf-8")
    errors = [one for one in results if one.we_err]
    print(f"{len(pairs)} pairs, {len(results)} differences, we err in {len(errors)}: {options.out}")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
