"""`infinite-rl evaluate`: how well a model does, by our rewards or by lm_eval's."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InfiniteRLError, UsageError
from . import arguments
from .terminal import (
    DONE,
    INTERRUPTED,
    counting,
    hide_progress_of_others,
    plain,
    show_logs,
    stop_on_signals,
    tell,
)

if TYPE_CHECKING:
    from ..evaluation import EvaluationConfig, Score

_EVERY_S = 30.0


def add(verbs: arguments.Verbs) -> None:
    from ..evaluation.config import EvaluationConfig

    parser = verbs.add_parser(
        "evaluate",
        help="how well a model does: pass@k with intervals, truncation, format errors, lengths",
        description="Have a model answer tasks (gsm8k, math500, mbpp, humaneval, ifeval, or files "
        "of rows), judge the answers by the rewards of the rows, and write records, a table and a "
        "page to OUT. Greedy by default. Run it again after an interruption, and it goes on; "
        "nothing is asked twice.",
        epilog="Examples: infinite-rl evaluate --model runs/a/checkpoints/step_200 --tasks gsm8k "
        "--limit 100 -o out. infinite-rl evaluate configs/eval/gsm8k.yaml --model MODEL "
        "-o out. infinite-rl evaluate --watch RUN --tasks heldout.jsonl. A watch ends with the "
        "run. Exit code: 0 done, 1 not done, 2 wrong usage, 130 interrupted.",
    )
    parser.add_argument("file", nargs="?", type=Path, metavar="CONFIG", help="a YAML file")
    arguments.keys(parser, EvaluationConfig)
    option = arguments.option
    what = "a run's folder, or where it publishes (s3://BUCKET/FOLDER/): each of its checkpoints"
    option(parser, "--watch", None, what)
    option(parser, "--every", _EVERY_S, "seconds between two looks at the run", float)
    what = "with --watch: also publish the results, after each checkpoint, to s3://BUCKET/FOLDER/"
    option(parser, "--publish", "", what)
    arguments.switch(parser, "--once", "with --watch: only the checkpoints that are there now")
    arguments.for_machines(parser, "one JSON object (with --watch: one a line)")
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    show_logs()
    hide_progress_of_others()
    config = _config(given)
    with stop_on_signals() as stop, counting("answers") as count:
        try:
            if given.watch:
                _watch(given, config, stop, count)
            elif config.harness == "lm_eval":
                from ..evaluation.harness import read_lines, run_harness

                text = plain(run_harness(config))
                figures = read_lines(Path(config.out))
                tell(given, {"figures": figures, "out": config.out}, text.removesuffix("\n"))
            else:
                from ..evaluation.run import evaluate

                _print(given, config.out, evaluate(config, stop=stop, on_answer=count))
        except InfiniteRLError as error:
            if not stop.is_set():
                raise
            print(plain(str(error)), file=sys.stderr)
            return INTERRUPTED
    return INTERRUPTED if given.watch and stop.is_set() else DONE


def _config(given: argparse.Namespace) -> EvaluationConfig:
    """The file's values, and those of the flags in their place."""
    from ..evaluation.config import EvaluationConfig

    changes = arguments.keys_given(given, EvaluationConfig)
    if given.publish and not given.watch:
        raise UsageError("--publish goes with --watch; else `infinite-rl publish`")
    if not given.every > 0:
        raise UsageError(f"--every must be a positive number of seconds, not {given.every:g}")
    if given.watch:
        if "model" in changes:
            raise UsageError("--watch evaluates the checkpoints of a run: leave --model out")
        changes["model"] = given.watch  # stands for each of its checkpoints
    if given.file:
        return EvaluationConfig.read(given.file, changes)
    return EvaluationConfig.of(changes)


def _watch(
    given: argparse.Namespace,
    config: EvaluationConfig,
    stop: threading.Event,
    count: Callable[[int], None],
) -> None:
    from ..evaluation.metrics import ReportLine
    from ..evaluation.watch import watch

    told = {"every_s": given.every, "once": given.once, "publish_to": given.publish}
    for line in watch(given.watch, config, **told, stop=stop, on_answer=count):
        if isinstance(line, ReportLine):
            tell(given, line.values, plain(line), flush=True)
        else:
            print(plain(line), flush=True)


def _print(given: argparse.Namespace, out: str, scores: Mapping[str, Score]) -> None:
    from ..evaluation.summary import MARKDOWN, notes, table

    rows = table(scores)
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    told = map(plain, [*lines, *notes(scores)])
    tell(given, {"scores": scores, "out": out}, *told, f"in {out}/{MARKDOWN}")
