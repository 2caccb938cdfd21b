"""`infinite-rl dedup`: keep one row of those that ask for the same."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from . import arguments
from .terminal import DONE, counted, counting, show_logs, tell

if TYPE_CHECKING:
    from ..dataset.dedup import Duplicate


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "dedup",
        help="keep one row of those that ask for the same",
        description="Write the rows of FILE without those that ask for the same as a row that is "
        "kept: equal but for case, white space and idle punctuation, or nearly the same words with "
        "the same numbers, signs and answer. The first one is kept, or the best one.",
        epilog="Example: infinite-rl dedup data --best quality_score --report removed.csv "
        "-o unique.jsonl. Exit code: 0 done, 1 not done, 2 wrong usage.",
    )
    arguments.rows_in(parser)
    arguments.rows_out(parser)
    arguments.compared(parser)
    arguments.near(parser, 0.6)
    what = "take rows for the same also where some words or the answers differ, if numbers do not"
    arguments.switch(parser, "--loose", what)
    arguments.option(parser, "--best", "", "column of numbers: keep the row with the highest one")
    what = "file for the rows removed: which row each one is the same as, and how similar"
    arguments.option(parser, "--report", None, what, Path)
    arguments.for_machines(parser)
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from dataclasses import asdict, fields

    from ..dataset.dedup import Duplicate, duplicates, without
    from ..dataset.rows import read, read_some, write

    show_logs()
    arguments.refuse_existing(given, given.out, given.report, read=[given.source])
    with counting("rows compared") as count:
        found = duplicates(
            counted(read_some(given.source), count),
            given.columns,
            threshold=given.threshold,
            numbers=given.numbers,
            loose=given.loose,
            best=given.best,
        )
    if given.report:
        write(map(asdict, found), given.report, [each.name for each in fields(Duplicate)])
    kept = write(without(read(given.source), found), given.out)
    _print(given, kept, found)
    return DONE


def _print(given: argparse.Namespace, kept: int, found: Sequence[Duplicate]) -> None:
    total, exact = kept + len(found), sum(duplicate.exact for duplicate in found)
    near, disputed = len(found) - exact, sum(duplicate.disputed for duplicate in found)
    if disputed:
        advice = "" if given.report else " (--report names them)"
        print(f"removed with another answer than the kept one: {disputed}{advice}", file=sys.stderr)
    counts = {"rows": total, "kept": kept, "exact": exact, "near": near, "disputed": disputed}
    tell(
        given,
        {**counts, "out": given.out, "report": given.report},
        f"rows: {total}, kept: {kept}, equal to a kept one: {exact}, nearly so: {near}",
        f"in {given.out}" + (f", what was removed in {given.report}" if given.report else ""),
    )
