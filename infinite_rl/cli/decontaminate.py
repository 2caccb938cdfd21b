"""`infinite-rl decontaminate`: leave out rows that give a benchmark away."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from . import arguments
from .terminal import DONE, counted, counting, one_line, show_logs, tell

if TYPE_CHECKING:
    from ..dataset.decontaminate import Leak

_LISTED = 20


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "decontaminate",
        help="leave out rows that give a benchmark away",
        description="Write the rows of FILE that share no 13 words in a row with a prompt or a "
        "solution of the benchmarks, no 8 with a short prompt, nor many shorter runs, and are not "
        "the same as a very short one. What was shared is listed.",
        epilog="Example: infinite-rl decontaminate data --against gsm8k_test.jsonl "
        "HumanEval.jsonl.gz --report leaks.csv -o clean.jsonl. Exit code: 0 done, 1 not done, 2 "
        "wrong usage.",
    )
    arguments.rows_in(parser)
    arguments.rows_out(parser)
    parser.add_argument(
        "--against",
        action="extend",  # given twice, it means both
        nargs="+",
        required=True,
        metavar="FILE",
        help="benchmarks: files or folders of rows; their prompts and solutions are found by the "
        "names of their columns",
    )
    arguments.compared(parser, "those of prompts and solutions")
    arguments.compared(parser, "those of prompts and solutions", "--against_columns")
    arguments.option(parser, "--n", 13, "words in a row that are a leak", int)
    arguments.option(parser, "--short", 8, "the same, in prompts of less than twice --n", int)
    what = "texts of the benchmarks that may share such words before they are taken for idiom"
    arguments.option(parser, "--common", 3, what, int)
    what = "share of a text's runs of 4 words that are a leak, as words may have been changed"
    arguments.option(parser, "--share", 0.3, what, float)
    arguments.option(parser, "--report", None, "file for what was shared, row by row", Path)
    arguments.for_machines(parser)
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..dataset.decontaminate import REPORTED, Benchmarks, decontaminate
    from ..dataset.rows import read_some, write

    show_logs()
    arguments.refuse_existing(given, given.out, given.report, read=[given.source])
    sizes = {"n": given.n, "short": given.short, "common": given.common}
    names = {name: name for name in given.against}
    against = Benchmarks(names, given.against_columns, share=given.share, **sizes)
    leaks: list[Leak] = []
    with counting("rows compared") as count:
        rows = counted(read_some(given.source), count)
        kept = write(decontaminate(rows, against, given.columns, leaks.append), given.out)
    if given.report:
        write((row for leak in leaks for row in leak.rows()), given.report, REPORTED)
    for leak in leaks[:_LISTED]:
        print(one_line(str(leak)), file=sys.stderr)
    if len(leaks) > _LISTED:
        print(f"and {len(leaks) - _LISTED} more rows", file=sys.stderr)
    total, files = kept + len(leaks), {"out": given.out, "report": given.report}
    tell(
        given,
        {"rows": total, "kept": kept, "leaks": len(leaks), **files},
        f"rows: {total}, kept: {kept}, sharing with a benchmark: {len(leaks)}",
        f"in {given.out}" + (f", what was shared in {given.report}" if given.report else ""),
    )
    return DONE
