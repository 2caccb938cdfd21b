"""`infinite-rl rescore`: judge every answer of a folder again."""

from __future__ import annotations

import argparse

from . import arguments
from .terminal import DONE, counting, show_logs, tell


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "rescore",
        help="judge every answer of a folder again; it costs no call",
        description="Write OUT_DIR/dataset.csv and failed_dataset.csv anew from the journal, as if "
        "today's rewards had judged the run. The old files are kept beside them (.before).",
        epilog="Example: infinite-rl rescore data. "
        "Exit code: 0 done, 1 not done (the reason is printed), 2 wrong usage.",
    )
    arguments.out_dir(parser)
    arguments.timeout(parser, default=None)
    share = "share of the solves that must agree"
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
            timeout=given.timeout,
            min_agreement=given.min_agreement,
            on_progress=count,
        )
    kept = f"rows kept: {found.kept}, gained: {found.gained}, dropped: {found.dropped}"
    lines = [f"{kept}, {rejections(found.rejected)}"]
    if found.unproven:
        unproven = f"not solved blind yet: {found.unproven}"
        lines.append(f"{unproven}; the next run of generate sees to them")
    tell(given, {**vars(found), "out_dir": given.out_dir}, *lines)
    return DONE
