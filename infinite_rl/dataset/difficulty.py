"""How hard rows are for a model: it solves each some times from its prompt alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..estimators import wilson
from . import rows
from .rows import Row
from .scoring import score_columns
from .solving import Cost, SolveConfig, Solved, folder_of, solve
from .spill import SpillList
from .unfinished import meanwhile

RATE_COLUMNS = ("attempts", "solved", "pass_rate", "pass_rate_low", "pass_rate_high")
RATED = "rated.jsonl"  # in the folder of the answers, the rows that are rated, until all are


@dataclass(frozen=True)
class Rated:
    """A row with the columns `RATE_COLUMNS`, and a row for each of its attempts."""

    row: Row
    attempts: list[Row]


@dataclass
class Rating(Cost):
    """What came of it: rows by how many were solved always, never and sometimes; and the cost."""

    rows: int = 0
    always: int = 0
    never: int = 0
    unrated: int = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Count a row that has its `RATE_COLUMNS`."""
        self.rows += 1
        self.unrated += not row["attempts"]
        if row["attempts"]:
            self.always += row["solved"] == row["attempts"]
            self.never += not row["solved"]


def difficulty(
    source: rows.Source,
    out: str | Path,
    asking: SolveConfig,
    *,
    keep: str | Path | None = None,
    calls: str | Path | None = None,
    on_row: Callable[[int], None] = lambda _: None,
) -> Rating:
    """Write the rows of `source` to `out` with how often a model solves them.

    `attempts` is how many are made and can be judged: one that was cut off counts, and has not
    solved; one that the reward could not judge is left out. `solved` is how many pass the row's
    reward, `pass_rate` their share, None where there is no attempt, and `pass_rate_low` and
    `pass_rate_high` bound it (see `wilson`). A row whose answer the reward cannot read is not
    asked.

    The answers are kept in the folder `calls`, by default `out` + ".calls", whatever happens: the
    same call made again goes on. `out` is written when all rows are rated; those that are rated
    meanwhile are in `RATED` in that folder, JSON lines, which stays there if it ends early.

    Args:
        keep: a file for the attempts themselves, one a row, with their scores: for `pairs`.
        on_row: told how many rows are rated.

    Raises:
        UsageError: an argument or a row cannot be used.
        ProviderError: the provider did not answer, or `stop` is set (`Stopped`); what it answered
            before is kept.
        InfiniteRLError: `max_cost` is reached, or nothing can be judged.
    """
    out, keep, rating = Path(out), Path(keep) if keep else None, Rating()
    for file in (out, keep):
        if file:
            rows.kind_of(file)
    folder = folder_of(out, calls)

    def take(rated: Iterator[Rated]) -> None:
        _write(rated, folder / RATED, out, keep, rating, on_row)

    solve(source, folder, asking, rating, _rated, take)
    return rating


def _write(
    rated: Iterator[Rated],
    so_far: Path,
    out: Path,
    keep: Path | None,
    rating: Rating,
    on_row: Callable[[int], None],
) -> None:
    shelf = SpillList()
    with meanwhile(so_far, out) as lines:
        for each in rated:
            rating.add(each.row)
            lines.add(each.row)
            for attempt in each.attempts if keep else ():
                shelf.add(attempt)
            on_row(rating.rows)
    if keep:
        rows.write(shelf, keep)


def _rated(solved: Solved) -> Rated:
    made = list(zip(solved.completions, solved.scores, strict=True))
    judged = [pair for pair in made if pair[1].status != "unscored"]
    passed = sum(score.passed and each.finish_reason != "length" for each, score in judged)
    low, high = wilson(passed, len(judged))
    rate = passed / len(judged) if judged else None
    values = (len(judged), passed, rate, low, high)
    row = {**solved.row, **dict(zip(RATE_COLUMNS, values, strict=True))}
    attempts = [
        {
            **solved.shared(),
            "attempt": number,
            "completion": each.text,
            "model": each.model,
            "finish_reason": each.finish_reason,
            **score_columns(score, solved.sample.type, solved.reward.version),
        }
        for number, (each, score) in enumerate(made, 1)
    ]
    return Rated(row, attempts)
