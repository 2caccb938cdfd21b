"""`infinite-rl traces`: a teacher's reasoning and answers, for SFT."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..providers import AUTO
from ..providers.openai_compatible import DEEPSEEK_KEY_VARIABLE, DEEPSEEK_URL
from . import arguments, solving
from .terminal import show_logs

if TYPE_CHECKING:
    from ..dataset.solving import SolveConfig
    from ..dataset.traces import Tracing

_TEACHER = "deepseek-v4-pro"  # thinks unless it is told not to


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "traces",
        help="a teacher's reasoning and answers to each row, judged and cleaned up, for SFT",
        description="Have a reasoning model solve each row of FILE, and write what it thought and "
        "answered: reasoning, response (the reasoning in <think>, then the answer), messages for "
        "SFT, and the score of the row's reward. Traces that are wrong or were cut off are left "
        "out. The reasoning loses what it says of its instructions and answers that are stated "
        "twice. Answers are kept as they come, in OUT.calls: run it again after an interruption, "
        "and it goes on; none is paid for twice. Traces that there are before all rows are done "
        "can be read there (traces.jsonl).",
        epilog=f"With {DEEPSEEK_KEY_VARIABLE} in the environment, DeepSeek is asked "
        f"({_TEACHER}), with --base_url another server that speaks as OpenAI does (its key in "
        "OPENAI_API_KEY). Example: infinite-rl traces train.jsonl --samples 4 --max_cost 20 -o "
        "traces.jsonl. Exit code: 0 done, 1 not done, 2 wrong usage, 130 interrupted.",
    )
    arguments.rows_in(parser)
    arguments.rows_out(parser)
    arguments.option(parser, "--samples", 1, "traces that are asked for each row", int)
    what = "write wrong and unfinished traces, too, with the column `dropped` that says why"
    arguments.switch(parser, "--keep_all", what)
    solving.add_options(parser)
    arguments.for_machines(parser)
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..dataset.traces import TRACES, traces

    show_logs()
    solving.refuse_existing(given)
    _choose_teacher(given)

    def job(asking: SolveConfig, count: Callable[[int], None]) -> None:
        found = traces(
            given.source,
            given.out,
            asking,
            keep_all=given.keep_all,
            calls=given.calls,
            on_row=count,
        )
        _print(found, given)

    return solving.asked(given, "teacher", "rows traced", TRACES, given.samples, job)


def _choose_teacher(given: argparse.Namespace) -> None:
    """Where no provider is named, it is the server that is, else DeepSeek where its key is set."""
    if given.provider != AUTO:
        return
    if given.base_url:
        given.provider = "openai_compatible"
    elif os.environ.get(DEEPSEEK_KEY_VARIABLE, "").strip():
        given.provider, given.base_url = "openai_compatible", DEEPSEEK_URL
        given.model_name = given.model_name or _TEACHER


def _print(found: Tracing, given: argparse.Namespace) -> None:
    told = "".join(f", {why} {count}" for why, count in sorted(found.dropped.items()))
    lines = [f"traces kept: {found.kept}, of {found.rows} rows{told}"]
    if found.unasked:
        lines.append(f"rows that cannot be judged, and were not asked: {found.unasked}")
    solving.told(given, found, {}, *lines, where=f"in {given.out}")
