"""The score of a task from its records, with everything that it excludes.

An answer passes if its reward says so and it was not truncated: the last number of a truncated text
may lack digits. Answers that could not be judged, and items that could not be asked, are in no
rate.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from ..errors import StoreError
from ..estimators import bootstrap, pass_at_k, percentile, wilson
from ..files.atomic import write_text

SEED = 42  # of the bootstrap, so that the same records have the same interval
_REASONS = 10


@dataclass(frozen=True)
class Estimate:
    """A rate with its 95 % interval and its number of items."""

    value: float
    low: float
    high: float
    items: int

    def __str__(self) -> str:
        return f"{100 * self.value:.2f} % [{100 * self.low:.2f}, {100 * self.high:.2f}]"


@dataclass(frozen=True)
class Score:
    """The score of the answers to one task.

    pass_at             k to the probability that one of k answers passes; empty without answers
    items, samples      of the task, and the answers requested for each
    answers             that can be judged; the rates below are of these
    unscored            answers that the reward could not judge
    unasked             missing answers, because the model could not be asked
    truncated           share of the answers that were truncated
    truncated_passed    truncated answers that would have passed, and do not count
    format_errors       share of the answers with a format score below 1
    correctness         mean of the correctness score, including partial credit
    instructions        share of all instructions that were followed, for instruction tasks
    tokens_p50, tokens_p95  lengths, None if unknown
    reasons             of the first answers that could not be judged or requested
    """

    items: int
    samples: int
    pass_at: Mapping[int, Estimate]
    answers: int
    unscored: int
    unasked: int
    truncated: float | None
    truncated_passed: int
    format_errors: float | None
    correctness: float | None
    instructions: float | None
    tokens_p50: int | None
    tokens_p95: int | None
    reasons: tuple[str, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Score:
        """Return the score that `write` wrote. Raises StoreError if it is none."""
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            pass_at = {int(k): Estimate(**each) for k, each in values.pop("pass_at").items()}
            return cls(pass_at=pass_at, reasons=tuple(values.pop("reasons")), **values)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise StoreError(f"{path} holds no score: {error}") from None

    def write(self, path: Path) -> None:
        """Write the score as JSON, whole or not at all."""
        write_text(path, json.dumps(asdict(self), indent=2) + "\n")


def sizes(samples: int) -> list[int]:
    """Return the k of pass@k: 1, 2, 4, ... and the number of samples."""
    return sorted({*(2**power for power in range(samples.bit_length())), samples} - {0})


def passes(record: Mapping[str, Any]) -> bool:
    """Whether a record's answer passes: its reward says so, and it was not truncated."""
    return bool(record["status"] == "passed" and record["finish_reason"] != "length")


def score_of(records: Iterable[Mapping[str, Any]], samples: int) -> Score:
    """Return the score of records; they are iterated once."""
    attempts: dict[str, int] = {}
    counts, solved = Counter[str](), Counter[str]()
    lengths: list[int] = []
    correctness: list[float] = []
    reasons: list[str] = []
    followed = instructions = 0.0
    for record in records:
        item, status = str(record["id"]), record["status"]
        attempts.setdefault(item, 0)
        if status == "unscored":
            counts["unasked" if record["completion"] is None else "unscored"] += 1
            if len(reasons) < _REASONS:
                reasons.append(f"{item}: {record['unasked'] or record['error_msg']}")
            continue
        truncated = record["finish_reason"] == "length"
        attempts[item] += 1
        solved[item] += passes(record)
        counts["truncated"] += truncated
        counts["truncated_passed"] += truncated and status == "passed"
        counts["misformatted"] += record["format_score"] < 1
        correctness.append(record["correctness_score"])
        instructions += record["instructions"]
        followed += record["instructions"] * record["correctness_score"]
        if record["tokens"] is not None:
            lengths.append(record["tokens"])
    answers = len(correctness)
    return Score(
        items=len(attempts),
        samples=samples,
        pass_at=_pass_at(attempts, solved, samples),
        answers=answers,
        unscored=counts["unscored"],
        unasked=counts["unasked"],
        truncated=counts["truncated"] / answers if answers else None,
        truncated_passed=counts["truncated_passed"],
        format_errors=counts["misformatted"] / answers if answers else None,
        correctness=fmean(correctness) if answers else None,
        instructions=followed / instructions if instructions else None,
        tokens_p50=percentile(lengths, 0.5),
        tokens_p95=percentile(lengths, 0.95),
        reasons=tuple(reasons),
    )


def _pass_at(
    attempts: Mapping[str, int], solved: Mapping[str, int], samples: int
) -> dict[int, Estimate]:
    """Return pass@k with Wilson's interval for single answers, else the bootstrap over items."""
    rates: dict[int, Estimate] = {}
    for k in sizes(samples):
        values = [pass_at_k(n, solved[item], k) for item, n in attempts.items() if n >= k]
        if values:
            single = samples == 1
            interval = (
                wilson(round(sum(values)), len(values)) if single else bootstrap(values, SEED)
            )
            rates[k] = Estimate(fmean(values), *interval, len(values))
    return rates
