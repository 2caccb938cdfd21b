"""`infinite-rl rescore`: judge every answer of a folder again."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import arguments
from .terminal import DONE, counting, show_logs, tell


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "rescore",
        help="judge every answer of a folder again; it costs no call",
        description="Judge the answers in the journal of OUT_DIR with today's rewards, and write "
        "the rows that hold to a new folder, in which `generate` goes on. OUT_DIR stays as it is.",
        epilog="Example: infinite-rl rescore data --dry_run. "
        "Exit code: 0 done, 1 not done (the reason is printed), 2 wrong usage.",
    )
    arguments.out_dir(parser)
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="FOLDER",
        help="the new folder (default: the first of OUT_DIR/rescored_1, rescored_2, ... that is "
        "not there yet)",
    )
    arguments.switch(parser, "--dry_run", "count what would be kept; write nothing")
    arguments.timeout(parser, default=None)
    share = "share of the independent solutions that must agree"
    arguments.option(parser, "--min_agreement", None, share, float)
    arguments.for_machines(parser)
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..generation.rescore import rescore
    from .display import rejections

    show_logs()
    with counting("answers judged") as count:
        found = rescore(
            given.out_dir,
            to=given.out,
            dry_run=given.dry_run,
            timeout=given.timeout,
            min_agreement=given.min_agreement,
            on_progress=count,
        )
    kept = f"rows kept: {found.kept}, gained: {found.gained}, dropped: {found.dropped}"
    lines = [f"{kept}, {rejections(found.rejected)}"]
    if found.unproven:
        unproven = f"rows that lack independent solutions: {found.unproven}"
        lines.append(f"{unproven}; the next run of generate asks for them")
    lines.append(f"in {found.out}" if found.out else "dry run: nothing is written")
    tell(given, {**vars(found), "out_dir": given.out_dir, "dry_run": given.dry_run}, *lines)
    return DONE
