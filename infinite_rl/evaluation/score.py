"""From records to a score, and what it rests on: nothing is left out without being counted.

An answer passes where its reward says so and it was not cut off: the last number of a text that was
cut may have lost its last digits. What could not be judged, or not be asked, is in no rate.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from ..errors import StoreError
from ..estimators import Interval, bootstrap, pass_at_k, percentile, wilson
from ..files.atomic import write_text

SEED = 42  # of the bootstrap, so that the same records always give the same interval


@dataclass(frozen=True)
class Estimate:
    """A rate with its 95 % interval, and the number of items that it is of."""

    value: float
    low: float
    high: float
    items: int


@dataclass(frozen=True)
class Score:
    """What the answers to one task say.

    pass_at             k to the chance that one of k answers passes; nothing where nothing counts
    items, samples      of the task, and the answers asked for each
    answers             that can be judged; the rates below are of these
    unscored            answers that the reward could not judge
    unasked             answers that are missing, as the model could not be asked
    truncated           share of the answers that were cut off
    truncated_passed    answers that were cut off, would have passed, and do not count
    format_errors       share of the answers whose format score is below 1
    correctness         mean of the correctness score, partial credit included
    instructions        share of all instructions that were followed, where they are the task
    tokens_p50, tokens_p95  lengths, None where nobody counted
    reasons             of what could not be judged or asked, the first few
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
        """A score as `write` has left it. Raises StoreError where it is none."""
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            pass_at = {int(k): Estimate(**each) for k, each in found.pop("pass_at").items()}
            return cls(pass_at=pass_at, reasons=tuple(found.pop("reasons")), **found)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise StoreError(f"{path} holds no score: {error}") from None

    def write(self, path: Path) -> None:
        """Write it as JSON, whole or not at all."""
        write_text(path, json.dumps(asdict(self), indent=2) + "\n")


@dataclass
class Tally:
    """Counts records as they come; `score` says what they amount to."""

    samples: int
    attempts: dict[str, int] = field(default_factory=dict)
    solved: dict[str, int] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)
    correctness: list[float] = field(default_factory=list)
    followed: list[tuple[float, int]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    truncated: int = 0
    truncated_passed: int = 0
    misformatted: int = 0
    unscored: int = 0
    unasked: int = 0

    def add(self, record: Mapping[str, Any]) -> None:
        """Count one record."""
        item = str(record["id"])
        self.attempts.setdefault(item, 0)
        self.solved.setdefault(item, 0)
        if record["status"] == "unscored":
            self.unasked += record["completion"] is None
            self.unscored += record["completion"] is not None
            if len(self.reasons) < _REASONS:
                self.reasons.append(f"{item}: {record['unasked'] or record['error_msg']}")
            return
        cut_off, passed = record["finish_reason"] == "length", record["status"] == "passed"
        self.attempts[item] += 1
        self.solved[item] += passed and not cut_off
        self.truncated += cut_off
        self.truncated_passed += passed and cut_off
        self.misformatted += record["format_score"] < 1
        self.correctness.append(record["correctness_score"])
        if record["instructions"]:
            self.followed.append((record["correctness_score"], record["instructions"]))
        if record["tokens"] is not None:
            self.lengths.append(record["tokens"])

    def score(self) -> Score:
        """What has been counted."""
        answers = len(self.correctness)
        checks = sum(count for _, count in self.followed)
        followed = sum(share * count for share, count in self.followed)
        return Score(
            items=len(self.attempts),
            samples=self.samples,
            pass_at=self._pass_at(),
            answers=answers,
            unscored=self.unscored,
            unasked=self.unasked,
            truncated=self.truncated / answers if answers else None,
            truncated_passed=self.truncated_passed,
            format_errors=self.misformatted / answers if answers else None,
            correctness=fmean(self.correctness) if answers else None,
            instructions=followed / checks if checks else None,
            tokens_p50=percentile(self.lengths, 0.5),
            tokens_p95=percentile(self.lengths, 0.95),
            reasons=tuple(self.reasons),
        )

    def _pass_at(self) -> dict[int, Estimate]:
        found: dict[int, Estimate] = {}
        for k in sizes(self.samples):
            counted = [item for item, n in self.attempts.items() if n >= k]
            if not counted:
                continue
            values = [pass_at_k(self.attempts[item], self.solved[item], k) for item in counted]
            interval = _interval(values, self.samples)
            found[k] = Estimate(fmean(values), *interval, len(values))
        return found


_REASONS = 10


def sizes(samples: int) -> list[int]:
    """The k of pass@k: 1, 2, 4, ... and the number of samples."""
    powers = [2**power for power in range(samples.bit_length())]
    return sorted({*powers, samples} & set(range(1, samples + 1)))


def tallied(records: Iterable[Mapping[str, Any]], samples: int) -> Score:
    """The score of records."""
    tally = Tally(samples)
    for record in records:
        tally.add(record)
    return tally.score()


def _interval(values: list[float], samples: int) -> Interval:
    """Wilson's for single answers; with several to an item, the bootstrap by items."""
    if samples == 1:
        return wilson(round(sum(values)), len(values))
    return bootstrap(values, SEED)
