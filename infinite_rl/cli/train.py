"""`infinite-rl train`: SFT or GRPO on rows, by the rewards that the rows name; or the demo."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from . import arguments
from .terminal import DONE, hide_progress_of_others, plain, show_logs, tell

if TYPE_CHECKING:
    from ..training import TrainingConfig
    from ..training.runs.demo import Found

_CODES = "Exit code: 0 done, 1 not done, 2 wrong usage."


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "train",
        help="SFT or GRPO on rows, by the rewards that the rows name; or a demo of both",
        description="Fine-tune a model on verified rows.",
        epilog="Examples: infinite-rl train grpo configs/train/gsm8k_grpo.yaml --seed 7. "
        f"infinite-rl train demo. {_CODES}",
    )
    kinds = parser.add_subparsers(required=True, metavar="ALGORITHM")
    _add_algorithm(kinds, "sft", "learn the responses of rows")
    _add_algorithm(kinds, "grpo", "sample answers, and learn from their rewards")
    _add_demo(kinds)


def _add_algorithm(kinds: arguments.Verbs, name: str, what: str) -> None:
    from ..training.runs.config import TrainingConfig

    parser = kinds.add_parser(
        name,
        help=what,
        description=f"{what.capitalize()}. The run gets a folder of its own, with its settings, "
        "events, samples, plots and checkpoints; a run that was interrupted goes on from its "
        "newest checkpoint where CONFIG is its folder. What neither a flag nor CONFIG says has the "
        "default.",
        epilog=f"Example: infinite-rl train {name} config.yaml --max_steps 500. {_CODES}",
    )
    parser.add_argument(
        "source", type=Path, metavar="CONFIG", help="a YAML file, or the folder of a run to go on"
    )
    what = "with a CONFIG: the folder of a run to go on, which was begun with the same settings"
    arguments.option(parser, "--resume", None, what, Path)
    arguments.keys(parser, TrainingConfig, but=["algorithm"])
    arguments.for_machines(parser)
    parser.set_defaults(verb=run, algorithm=name)


def _add_demo(kinds: arguments.Verbs) -> None:
    parser = kinds.add_parser(
        "demo",
        help="SFT on partly wrong labels, then GRPO, from nothing and in minutes",
        description="Make a tokenizer, a tiny model and rows, train by SFT on answers of which "
        "three in ten are wrong, then by GRPO with the project's own reward, and say how many of "
        "1,000 other prompts are answered rightly before and after. Nothing is downloaded.",
        epilog=f"Example: infinite-rl train demo -o demo. {_CODES}",
    )
    parser.add_argument(
        "-o", "--out", type=Path, default=Path("artifacts/demo"), metavar="PATH",
        help="where the model and the runs go (default: artifacts/demo)",
    )  # fmt: skip
    arguments.switch(parser, "--quick", "twenty seconds of it: a rise, but no good model")
    arguments.option(parser, "--seed", 42, "of everything random", int)
    arguments.for_machines(parser)
    parser.set_defaults(verb=demo)


def run(given: argparse.Namespace) -> int:
    from ..training import train

    show_logs()
    config = _config(given)
    resume = given.source if given.source.is_dir() else given.resume
    hide_progress_of_others()
    with ExitStack() as shown:
        on_step = _shown(shown, config.max_steps, _done(resume))
        found = train(None, None, config, resume=resume, command=given.words, on_step=on_step)
    values = {"algorithm": config.algorithm, "run": found.parent.parent, "checkpoint": found}
    tell(given, values, f"trained: {plain(str(found))}")
    return DONE


def _config(given: argparse.Namespace) -> TrainingConfig:
    """The file's values or the run's, and those of the flags in their place."""
    from ..redact import REDACTED
    from ..training.runs.config import TrainingConfig
    from ..training.runs.run_folder import CONFIG

    path, algorithm = given.source, given.algorithm
    if path.is_dir():
        if given.resume:
            raise UsageError(f"{path} is a run's folder: --resume goes with a YAML file")
        if not (path / CONFIG).is_file():
            raise UsageError(f"{path} is neither a YAML file nor the folder of a run")
        path = path / CONFIG
    changes = arguments.keys_given(given, TrainingConfig)
    del changes["algorithm"]  # the command's, which is no flag
    config = TrainingConfig.read(path, changes, {"algorithm": algorithm})
    if config.algorithm != algorithm:
        raise UsageError(f"{path} is a config for {config.algorithm}, not for {algorithm}")
    for name, value in config.values().items():
        if given.source.is_dir() and REDACTED in str(value):
            raise UsageError(f"{path} is without the secrets in {name}: give --{name} anew")
    return config


def _done(resume: Path | None) -> int:
    """The steps that a run has behind it."""
    from ..training.runs.checkpoint import newest, step_of

    start = newest(resume) if resume else None
    return step_of(start) if start else 0


def _shown(shown: ExitStack, steps: int, begun: int) -> Callable[[int, Mapping[str, Any]], None]:
    from rich.console import Console

    from .training_display import display

    on_step = display(Console(stderr=True), steps, begun=begun)
    on_step.__enter__()
    shown.push(on_step.__exit__)
    return on_step


def demo(given: argparse.Namespace) -> int:
    hide_progress_of_others()
    try:
        from ..training.runs import demo as demonstration
    except ModuleNotFoundError as error:
        raise UsageError(f"the demo needs {error.name}: pip install 'infinite-rl[train]'") from None
    from dataclasses import replace

    show_logs()
    recipe = demonstration.QUICK if given.quick else demonstration.Recipe()
    recipe = replace(recipe, seed=given.seed)
    began = time.monotonic()
    with ExitStack() as shown:
        displays: dict[str, Callable[[int, Mapping[str, Any]], None]] = {}

        def on_step(phase: str, step: int, steps: int, values: Mapping[str, Any]) -> None:
            if phase not in displays:
                shown.close()
                displays[phase] = _shown(shown, steps, 0)
            displays[phase](step, values)

        found = demonstration.demo(given.out, recipe, on_step)
    _print(given, found, time.monotonic() - began)
    return DONE


def _print(given: argparse.Namespace, found: Found, seconds: float) -> None:
    from ..estimators import wilson

    count = found.prompts
    lines = [
        f"rows: {count['sft']} for SFT, {found.wrong_labels} of them with a wrong answer; "
        f"{count['grpo']} for GRPO; {count['test']} for the test, about other numbers"
    ]
    after = {}
    for phase, right in found.right.items():
        low, high = wilson(sum(right), len(right))
        after[phase] = {"right": sum(right), "of": len(right), "low": low, "high": high}
        lines.append(
            f"after {phase.upper()}: {sum(right[:100])} of the first 100 test prompts, "
            f"{sum(right)} of {len(right)} (95 %: {low:.1%} to {high:.1%})"
        )
    lines += [
        f"reward: {plain(str(found.checkpoints['grpo'].parent.parent))}/plots/reward.png",
        f"in {seconds:.0f} seconds; the runs: {plain(str(given.out))}/runs",
    ]
    values = {"rows": count, "wrong_labels": found.wrong_labels, "after": after}
    where = {"checkpoints": found.checkpoints, "out": given.out}
    tell(given, {**values, **where, "seconds": seconds}, *lines)
