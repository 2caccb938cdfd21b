"""`infinite-rl score`: apply rewards to rows, or to completions that are there already."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, get_args

from ..errors import UsageError
from ..types import ScoreStatus
from . import arguments
from .terminal import DONE, NOT_DONE, counting, one_line, show_logs, tell

if TYPE_CHECKING:
    from ..dataset.scoring import Summary


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "score",
        help="apply rewards to rows, or to completions that are there already",
        description="Judge one column of FILE against another, and write the rows with what came "
        "of it: status (passed, failed, unscored), reward, reward_version, format_score, "
        "correctness_score, aux_score, quality_score, error_msg. Rows stay in their order. Run it "
        "again after an interruption, and it goes on.",
        epilog="Example: infinite-rl score samples.jsonl --completion completion --type math "
        "-o scored.jsonl. Exit code: 0 done (with --strict: and every row has a verdict), 1 not "
        "done, 2 wrong usage.",
    )
    arguments.rows_in(parser)
    arguments.rows_out(parser)
    option = arguments.option
    option(parser, "--completion", "response", "column that is judged")
    option(
        parser,
        "--answer",
        "answer",
        "column that it is judged against; or an export's own",
    )
    option(parser, "--type", "", "reward that judges all rows (default: each row's `type`)")
    option(parser, "--language", "", "of the code, in all rows (default: each row's `language`)")
    arguments.timeout(parser)
    what = "replace columns with the names of scores that do not come from here"
    arguments.switch(parser, "--overwrite_columns", what)
    arguments.switch(parser, "--strict", "exit with 1 where a row could not be judged")
    parser.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="the cores of this machine, or the CPUs of a Ray cluster (default: local)",
    )
    option(parser, "--ray_address", None, "of the cluster (default: $RAY_ADDRESS, else one here)")
    arguments.for_machines(parser)
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..dataset.scoring import Judging, on_ray, score_file

    show_logs()
    arguments.refuse_existing(given, given.out, read=[given.source])
    if given.ray_address is not None and given.engine != "ray":
        raise UsageError("--ray_address is of --engine ray")
    judging = Judging(given.completion, given.answer, given.type, given.language, given.timeout)
    cluster = on_ray(given.ray_address) if given.engine == "ray" else nullcontext()
    with counting("completions judged") as count, cluster as spread:
        found = score_file(
            given.source,
            given.out,
            judging,
            spread=spread,
            overwrite=given.overwrite,
            overwrite_columns=given.overwrite_columns,
            on_row=count,
        )
    _print(given, found)
    return NOT_DONE if given.strict and found.without_verdict else DONE


def _print(given: argparse.Namespace, found: Summary) -> None:
    before = f", there before: {found.there_before}" if found.there_before else ""
    rewards = {
        reward: {status: found.counts[reward, status] for status in get_args(ScoreStatus)}
        for reward in sorted({name for name, _ in found.counts})
    }
    lines = [f"rows judged: {found.rows}{before}"]
    for reward, counts in rewards.items():
        lines.append(f"  {reward}: " + ", ".join(f"{status} {n}" for status, n in counts.items()))
    for line in found.unscored:
        print(f"without a verdict: {one_line(line)}", file=sys.stderr)
    if (more := found.without_verdict - len(found.unscored)) > 0:
        print(f"without a verdict: {more} more", file=sys.stderr)
    values = {**vars(found), "counts": rewards, "without_verdict": found.without_verdict}
    tell(given, {**values, "out": given.out}, *lines, f"in {given.out}")
