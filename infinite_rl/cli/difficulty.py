"""`infinite-rl difficulty`: how often a model solves each row."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from . import arguments, solving
from .terminal import show_logs

if TYPE_CHECKING:
    from ..dataset.difficulty import Rating
    from ..dataset.solving import SolveConfig


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "difficulty",
        help="how often a model solves each row: its pass rate, with a confidence interval",
        description="Have a model solve each row of FILE some times from its prompt alone, judge "
        "what it says, and write the rows with attempts, solved, pass_rate, pass_rate_low and "
        "pass_rate_high (Wilson's interval, 95 %). Answers are kept as they come, in OUT.calls: "
        "run it again after an interruption, and it goes on; none is paid for twice. Rows that are "
        "rated before all are can be read there (rated.jsonl).",
        epilog="Example: infinite-rl difficulty data/dataset.csv --attempts 8 --max_cost 5 "
        "--keep attempts.jsonl -o rated.jsonl. Exit code: 0 done, 1 not done, 2 wrong usage, 130 "
        "interrupted.",
    )
    arguments.rows_in(parser)
    arguments.rows_out(parser)
    option = partial(arguments.option, parser)
    option("--attempts", 4, "times that each row is solved", int)
    option("--keep", None, "write the attempts themselves here, with their scores", Path)
    solving.add_options(parser)
    arguments.for_machines(parser)
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..dataset.difficulty import RATED, difficulty

    show_logs()
    solving.refuse_existing(given, given.keep)

    def job(asking: SolveConfig, count: Callable[[int], None]) -> None:
        files = {"keep": given.keep, "calls": given.calls}
        _print(difficulty(given.source, given.out, asking, **files, on_row=count), given)

    return solving.asked(given, "solver", "rows rated", RATED, given.attempts, job)


def _print(found: Rating, given: argparse.Namespace) -> None:
    sometimes = found.rows - found.always - found.never - found.unrated
    solving.told(
        given,
        found,
        {"sometimes": sometimes, "keep": given.keep},
        f"rows rated: {found.rows}, solved always {found.always}, sometimes {sometimes}, "
        f"never {found.never}, not to be judged {found.unrated}",
        where=f"in {given.out}" + (f", attempts in {given.keep}" if given.keep else ""),
    )
