"""One HTML page about a data set: what is in it, and a browser of its rows.

The page holds everything itself and loads nothing, so it can be mailed, archived and opened
without a network. Rows are a model's text: nothing of them is ever markup or a program there.

    statistics.py   counts and histograms of all rows
    shown.py        the rows that the browser has, cut to a size that it takes
    nearest.py      which of them ask nearly the same
    page.py         the page, put together of the .html, .css and .js beside it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..dataset.rows import Row, Source, read
from ..files.atomic import write_text
from ..files.csv_log import read_rows
from ..manifest import read_manifest
from ..store import CERTIFICATE_COLUMNS, DATASET, FAILED, FAILED_COLUMNS, FAILED_LATER
from ..types import REASONS
from .nearest import nearest
from .page import page
from .shown import Cell, Cut, Shown
from .statistics import OUTCOME, Statistics

MOST, BUDGET = 10_000, 20_000_000
KEPT = "kept"


@dataclass(frozen=True)
class Reported:
    """What a page was made of: `cut` texts have only their first `limit` characters in it."""

    rows: int
    shown: int
    cut: int
    limit: int
    bytes: int


def report(
    source: Source,
    path: str | Path,
    *,
    title: str = "",
    most: int = MOST,
    budget: int = BUDGET,
    on_row: Callable[[int], None] = lambda _: None,
) -> Reported:
    """Write the page about a file, a folder or an iterable of rows, whole or not at all.

    The folder of a run brings what it rejected, its settings and its cost along. Statistics are
    of all rows. The browser has at most `most` of them, a fair sample of more, with `budget`
    characters of text altogether; the page says what was left out.

    Raises:
        UsageError: there is no such source, or it is of a kind that is not known.
        StoreError: the source is damaged, or the page cannot be written.
    """
    statistics, shown = Statistics(), Shown(most, budget)
    for number, row in enumerate(_rows(source), 1):
        statistics.add(row)
        shown.add(row)
        on_row(number)
    folder = Path(source) if isinstance(source, str | Path) else None
    manifest = read_manifest(folder) if folder and folder.is_dir() else {}
    title = title or (folder.resolve().name if folder else "rows")
    content = _content(title, shown, statistics, manifest)
    text = page(title, content)
    write_text(Path(path), text)
    return Reported(shown.seen, len(content["rows"]), content["cut"], shown.limit, len(text))


def _rows(source: Source) -> Iterator[Row]:
    """The rows; those of a run's folder say whether they were kept, or why not."""
    folder = Path(source) if isinstance(source, str | Path) else None
    if folder is None or not (folder / DATASET).is_file():
        yield from read(source)
        return
    for row in read(folder):
        yield {OUTCOME: KEPT, **row}
    if (folder / FAILED).is_file():
        for row in read_rows(folder / FAILED, FAILED_COLUMNS, FAILED_LATER):
            yield {OUTCOME: _reason(row["error_msg"]), **row}


def _reason(error: str) -> str:
    reason = error.partition(":")[0]
    return reason if reason and reason in REASONS else "rejected"


def _content(
    title: str, shown: Shown, statistics: Statistics, manifest: Mapping[str, Any]
) -> dict[str, Any]:
    """What the page's scripts are given; rows are lists, in the order of `columns`."""
    rows, columns = shown.rows, statistics.columns
    cut = sum(isinstance(value, Cut) for row in rows for value in row.values())
    outcomes = columns[OUTCOME].kinds if OUTCOME in columns else None
    return {
        "title": title,
        "seen": shown.seen,
        "kept": outcomes[KEPT] if outcomes else None,
        "cut": cut,
        "limit": shown.limit,
        "about": about(manifest),
        "columns": list(columns),
        "numeric": [name for name, column in columns.items() if column.numeric],
        "facets": statistics.facets(),
        "constants": statistics.constants(),
        "certificate": CERTIFICATE_COLUMNS,
        "plots": statistics.plots(),
        "nearest": _nearest(rows),
        "rows": [[row.get(name) for name in columns] for row in rows],
    }


def _nearest(rows: Sequence[Mapping[str, Cell]]) -> list[tuple[int, int, float]]:
    """Pairs of numbers of rows that are alike: among those that were kept, if any were."""
    some = [
        (number, prompt.text if isinstance(prompt, Cut) else prompt)
        for number, row in enumerate(rows)
        if row.get(OUTCOME, KEPT) == KEPT and (prompt := row.get("prompt"))
    ]
    pairs = nearest([str(prompt) for _, prompt in some])
    return [(some[one][0], some[other][0], likeness) for one, other, likeness in pairs]


def about(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a run's manifest tells, a line each: its totals, its settings, what it ran with."""
    totals = manifest.get("totals", {})
    runs = manifest.get("runs", [])
    found = {
        "calls": totals.get("calls"),
        **{name.replace("_", " "): count for name, count in totals.get("tokens", {}).items()},
        "cost, $": totals.get("cost"),
        "cost of a row, $": totals.get("cost_per_row"),
        "runs": len(runs) or None,
        "began": runs[0].get("began") if runs else None,
        "ended": runs[-1].get("ended") if runs else None,
        **manifest.get("settings", {}),
        **{f"version of {name}": text for name, text in manifest.get("versions", {}).items()},
        "commit": manifest.get("git"),
    }
    return [(name, _said(value)) for name, value in found.items() if value not in (None, "", [])]


def _said(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {part}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
