"""Keep one row of those that ask for the same."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .near import THRESHOLD, Index, Numbers, Sketches, answer_tokens, sketch
from .rows import Row, Source, number_of, read
from .words import hash_of


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A row that asks for the same as another one, which is kept. Rows are counted from 1.

    `disputed` says that their answers are not written alike: one of them may be wrong.
    """

    row: int
    id: str
    of_row: int
    of_id: str
    similarity: float
    exact: bool
    disputed: bool = False


def duplicates(
    rows: Iterable[Mapping[str, Any]],
    columns: Sequence[str] = (),
    *,
    threshold: float = THRESHOLD,
    numbers: Numbers = "exact",
    loose: bool = False,
    best: str = "",
) -> list[Duplicate]:
    """The rows to remove, so that no two are left of which `near` says that they are the same.

    Of those that are the same the first row is kept, or that with the highest number in the column
    `best`, which must be finite. Each removed row is the same as the kept row that is named beside
    it. `columns` are compared instead of the prompt; a similarity of `threshold` is near, and 1
    leaves exact duplicates only. With `loose`, near rows may have other words and other answers,
    with `numbers` "ignore" also other numbers. A row takes about 1 kB of memory, however long it
    is, and up to 8 kB of the disk.

    Raises:
        UsageError: a row has no such column, or no number in `best`.
    """
    index = Index(threshold)
    sketches, ids = Sketches(), list[str]()
    answers, merits = array("Q"), array("d")
    for number, row in enumerate(rows, 1):
        sketches.add(sketch(row, columns, numbers, loose=loose))
        ids.append(str(row.get("id") or ""))
        answers.append(hash_of(answer_tokens(row)))
        merits.append(number_of(row, best, f"row {number}") if best else 0.0)
    found = []
    for place in sorted(range(len(sketches)), key=lambda place: -merits[place]):
        made = sketches[place]
        matches = index.matches(made)
        if not matches:
            index.add(made, place)
            continue
        of = matches[0]
        pair = place + 1, ids[place], of.place + 1, ids[of.place]
        disputed = answers[place] != answers[of.place]
        found.append(Duplicate(*pair, of.similarity, of.exact, disputed))
    return sorted(found, key=lambda duplicate: duplicate.row)


def dedup(source: Source, columns: Sequence[str] = (), **options: Any) -> Iterator[Row]:
    """The rows that are kept, in their order; `options` are those of `duplicates`.

    The source is read twice. An iterator is held in memory for that, so give a file if it is long.
    """
    if isinstance(source, Iterator):
        source = list(source)
    return without(read(source), duplicates(read(source), columns, **options))


def without(rows: Iterable[Row], removed: Iterable[Duplicate]) -> Iterator[Row]:
    """The rows but for those that `duplicates` names."""
    numbers = {duplicate.row for duplicate in removed}
    return (row for number, row in enumerate(rows, 1) if number not in numbers)
