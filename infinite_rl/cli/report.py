"""`infinite-rl report`: one HTML page about a data set, to look at."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from . import arguments
from .terminal import DONE, counting, tell


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "report",
        help="make one HTML page about a data set, to look at",
        description="Write one HTML page about FILE: counts, acceptance by reason, scores, "
        "lengths, difficulty and cost as plots, the nearest prompts, and a browser of the rows "
        "with search, filters, verdicts and proofs. The page loads nothing, so it opens without a "
        "network; press ? in it for its keys. The folder of a run brings what it rejected along.",
        epilog="Example: infinite-rl report data -o report.html. "
        "Exit code: 0 done, 1 not done (the reason is printed), 2 wrong usage.",
    )
    arguments.rows_in(parser)
    arguments.rows_out(parser, "the page, such as report.html")
    option = arguments.option
    option(parser, "--title", "", "heading of the page (default: the name of FILE)")
    option(parser, "--rows", 10_000, "rows in the browser; of more, a random sample", int)
    option(parser, "--megabytes", 20, "characters of rows in the page, in millions", int)
    arguments.for_machines(parser)
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..report import report

    for flag in ("rows", "megabytes"):
        if getattr(given, flag) < 1:
            raise UsageError(f"--{flag} must be at least 1")
    if given.out.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"{given.out} is no name for a page: let it end in .html")
    arguments.refuse_existing(given, given.out)
    with counting("rows read") as count:
        made = report(
            given.source,
            given.out,
            title=given.title,
            most=given.rows,
            budget=given.megabytes * 1_000_000,
            on_row=count,
        )
    cut = f", texts cut to {made.limit} characters: {made.cut}" if made.cut else ""
    tell(
        given,
        {**vars(made), "out": given.out},
        f"rows: {made.rows}, in the browser: {made.shown}{cut}",
        f"in {given.out} ({made.bytes / 1e6:.1f} MB)",
    )
    return DONE
