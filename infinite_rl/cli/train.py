"""`infinite-rl train`: SFT or GRPO on verified rows, the demo of both, and a run's timeline."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..config import FilePath, ranged
from ..errors import Stopped, UsageError, import_extra
from ..training.runs.config import TrainingConfig
from .terminal import (
    DONE,
    INTERRUPTED,
    Emit,
    aligned,
    hide_hugging_face_progress,
    note,
    one_line,
    plain,
    stop_on_signals,
)
from .verb import Verb

_VERSIONS = 20  # lines of the table of prompts by version


class _Train(Verb, TrainingConfig):
    """resume  the folder of a run to resume, which was begun with the same settings"""

    config_file = "config"
    hidden = ("algorithm",)

    model: str = ""
    resume: FilePath | None = None

    @classmethod
    def load(cls, flags: Mapping[str, Any], file: Path | None) -> _Train:
        """The config of a file, or of a run's folder, which is then resumed."""
        from ..redact import REDACTED
        from ..training.runs.run_folder import CONFIG, read_config

        algorithm = cls.__name__.lower()
        if file and file.is_dir():
            if "resume" in flags:
                raise UsageError(f"{file} is a run's folder: --resume needs a YAML file")
            if not (file / CONFIG).is_file():
                raise UsageError(f"{file} is neither a YAML file nor the folder of a run")
            config = cls.of({**read_config(file), **flags, "resume": file})
            file = file / CONFIG
        else:
            config = cls.read(file, flags, {"algorithm": algorithm}) if file else cls.of(flags)
        if config.algorithm != algorithm:
            raise UsageError(f"{file} is a config for {config.algorithm}, not for {algorithm}")
        for key, value in config.values().items():
            if file and file.name == CONFIG and REDACTED in str(value):
                raise UsageError(f"{file} lacks the secrets in {key}: give --{key} again")
        return config

    def run(self, emit: Emit) -> int:
        from ..training import train
        from ..training.runs.checkpoint import newest, step_of

        algorithm = type(self).__name__.lower()
        config = self.part(TrainingConfig)
        start = newest(self.resume) if self.resume else None
        hide_hugging_face_progress()
        # Clusters send SIGTERM some time before they kill.
        save_on_sigterm = stop_on_signals(
            signal.SIGTERM, what="a checkpoint is saved after this step"
        )
        try:
            with ExitStack() as shown, save_on_sigterm as stop:
                checkpoint = train(
                    None,
                    None,
                    config,
                    resume=self.resume,
                    command=emit.argv,
                    on_step=_display(shown, config.max_steps, step_of(start) if start else 0),
                    stop=stop,
                )
        except Stopped as error:
            note(plain(str(error)))
            return INTERRUPTED
        run = checkpoint.parent.parent
        values = {"algorithm": algorithm, "run": run, "checkpoint": checkpoint}
        emit(values, f"trained: {plain(str(checkpoint))}")
        return DONE


class Sft(_Train):
    """Fine-tune a model on the responses of rows. The run gets its own folder, with its config,
    events, plots and checkpoints. Give that folder as CONFIG to resume from its newest checkpoint.

    Example: infinite-rl train sft config.yaml --max_steps 500.
    """

    algorithm: str = "sft"


class Grpo(_Train):
    """Sample completions of the rows' prompts and learn from their rewards. The run gets its own
    folder, with its config, events, rollouts, plots and checkpoints. Give that folder as CONFIG to
    resume from its newest checkpoint.

    Example: infinite-rl train grpo config.yaml --max_steps 500.
    """


def _display(shown: ExitStack, steps: int, start: int) -> Callable[[int, Mapping[str, Any]], None]:
    from rich.console import Console

    from .display import training_display

    return shown.enter_context(training_display(Console(stderr=True), steps, start))


class Demo(Verb):
    """Make a tokenizer, a tiny model and rows; train by SFT on answers of which three in ten are
    wrong, then by GRPO with the project's own reward; and print how many of 1,000 other prompts
    are answered correctly before and after. Nothing is downloaded.

    out    folder of the model and the runs
    quick  take twenty seconds: an improvement, but not a good model
    seed   seed of everything random

    Example: infinite-rl train demo -o demo.
    """

    out: FilePath = Path("artifacts/demo")
    quick: bool = False
    seed: int = 42

    def run(self, emit: Emit) -> int:
        hide_hugging_face_progress()
        try:
            from ..training.runs import demo
        except ModuleNotFoundError as error:
            needed = f"the demo needs {error.name}: pip install 'infinite-rl[train]'"
            raise UsageError(needed) from None
        from dataclasses import replace

        from ..estimators import wilson

        recipe = replace(demo.QUICK if self.quick else demo.Recipe(), seed=self.seed)
        began = time.monotonic()
        with ExitStack() as shown:
            displays: dict[str, Callable[[int, Mapping[str, Any]], None]] = {}

            def on_step(phase: str, step: int, steps: int, values: Mapping[str, Any]) -> None:
                if phase not in displays:
                    shown.close()
                    displays[phase] = _display(shown, steps, 0)
                displays[phase](step, values)

            result = demo.demo(self.out, recipe, on_step)
        seconds, count = time.monotonic() - began, result.prompts
        lines = [
            f"rows: {count['sft']} for SFT, {result.wrong_labels} of them with a wrong answer; "
            f"{count['grpo']} for GRPO; {count['test']} for the test, with other numbers"
        ]
        after = {}
        for phase, right in result.right.items():
            low, high = wilson(sum(right), len(right))
            after[phase] = {"right": sum(right), "of": len(right), "low": low, "high": high}
            lines.append(
                f"after {phase.upper()}: {sum(right[:100])} of the first 100 test prompts, "
                f"{sum(right)} of {len(right)} (95 %: {low:.1%} to {high:.1%})"
            )
        lines += [
            f"reward: {plain(str(result.checkpoints['grpo'].parent.parent))}/plots/reward.png",
            f"in {seconds:.0f} seconds; the runs: {plain(str(self.out))}/runs",
        ]
        values = {"rows": count, "wrong_labels": result.wrong_labels, "after": after}
        paths = {"checkpoints": result.checkpoints, "out": self.out}
        emit({**values, **paths, "seconds": seconds}, *lines)
        return DONE


class TinyModel(Verb):
    """Make a tiny model that takes any prompt, and tiny rows of GSM8K, MATH, MBPP, HumanEval and
    IFEval: each recipe in configs/ then runs offline on a CPU. The model has learnt the form of an
    answer from some of the rows, and answers a few correctly. Use it only to test a recipe.

    out        folder of the model; its rows are in rows/, the test items in benchmarks/
    overwrite  replace a model that is there
    steps      steps of SFT on the rows; 0 leaves the weights random
    seed       seed of everything random

    Example: infinite-rl train tiny-model -o artifacts/tiny.
    """

    out: FilePath = Path("artifacts/tiny")
    overwrite: bool = False
    steps: int = ranged(150, 0, 10_000)
    seed: int = 42

    def run(self, emit: Emit) -> int:
        hide_hugging_face_progress()
        import_extra("torch", "a model needs", "train")
        from ..training.runs.tiny import is_complete, make_tiny

        if is_complete(self.out) and not self.overwrite:
            raise UsageError(f"{self.out} is there already: --overwrite replaces it")

        counts = make_tiny(self.out, steps=self.steps, seed=self.seed)
        lines = [f"{count} rows: {plain(str(self.out / name))}" for name, count in counts.items()]
        emit({"out": self.out, "rows": counts}, *lines, f"model: {plain(str(self.out))}")
        return DONE


class Recipe(Verb, TrainingConfig):
    """Run a recipe from end to end: prepare its rows, evaluate its model, train it, evaluate the
    last checkpoint on the same items, and compare both. CONFIG is that of the training. Rows that
    have the prompt of a test item are left out. Run it again after an interruption to resume.

    evaluation  config of the evaluation before and after, such as configs/eval/gsm8k.yaml
    tiny        a tiny model and tiny rows in place of the config's: offline, minutes on a CPU
    out         folder of everything: rows, both evaluations, the run, the comparison, the locks

    Example: infinite-rl train recipe configs/train/gsm8k_grpo.yaml --evaluation
    configs/eval/gsm8k.yaml --tiny -o artifacts/recipe.
    """

    config_file = "config"
    hidden = ("algorithm",)

    model: str = ""
    evaluation: FilePath
    tiny: bool = False
    out: str = "artifacts/recipe"

    @classmethod
    def load(cls, flags: Mapping[str, Any], file: Path | None) -> Recipe:
        """The config of the training, whose file is required."""
        if file is None:
            raise UsageError("CONFIG is missing: the YAML file of a training")
        return cls.read(file, flags)

    def run(self, emit: Emit) -> int:
        from ..config import read_yaml
        from ..evaluation.config import EvaluationConfig
        from ..evaluation.recipe import HEAD, MODEL, TABLE, run_recipe, tiny_configs

        hide_hugging_face_progress()
        out, config = Path(self.out), self.part(TrainingConfig)
        evaluation: Mapping[str, Any] = read_yaml(self.evaluation)
        with ExitStack() as stack:
            if self.tiny:
                import_extra("torch", "a model needs", "train")
                from ..training.runs.demo import one_thread
                from ..training.runs.tiny import is_complete, make_tiny

                stack.enter_context(one_thread())
                if not is_complete(out / MODEL):
                    note(f"tiny model: {plain(str(out / MODEL))}")
                    make_tiny(out / MODEL, seed=self.seed)
                values, evaluation = tiny_configs(config.values(), evaluation, out / MODEL)
                config = TrainingConfig.of(values)
            comparisons = run_recipe(
                config,
                EvaluationConfig.of({**evaluation, "model": config.model}),
                out,
                command=emit.argv,
                on_phase=lambda line: note(plain(line)),
                on_step=_display(stack, config.max_steps, 0),
            )
        lines = aligned([HEAD, *(each.cells() for each in comparisons)])
        values = {"comparison": [asdict(each) for each in comparisons], "out": out}
        emit(values, *map(plain, lines), f"in {plain(str(out / TABLE))}")
        return DONE


class Timeline(Verb):
    """Write the stages of each worker as a Chrome trace, for Perfetto, and print the time by
    stage, the fraction in which workers were idle, the overlap of sampling and learning, and the
    outcomes of the prompts by policy version. The run may still be running or have been resumed.
    The engines asyncio and ray log the events that this needs.

    run_dir  the folder of a run
    out      the trace (default: RUN_DIR/plots/trace.json)
    against  another run, to compare the idle fractions with

    Example: infinite-rl train timeline artifacts/runs/20260131T120000Z_1a2b3c4d.
    """

    positional = ("run_dir",)

    run_dir: FilePath
    out: FilePath | None = None
    against: FilePath | None = None

    def run(self, emit: Emit) -> int:
        from ..training.runs.timeline import TRACE, read, summary, write_trace

        timeline = read(self.run_dir)
        totals = summary(timeline)
        other = summary(read(self.against)) if self.against else None
        path = self.out or self.run_dir / TRACE
        write_trace(timeline, path)
        values = {**totals, **({"against": other} if other else {})}
        emit(
            values,
            *_lines(totals, other),
            f"in {plain(str(path))}: open it in https://ui.perfetto.dev",
        )
        return DONE


def _lines(totals: Mapping[str, Any], other: Mapping[str, Any] | None) -> Iterator[str]:
    yield f"{totals['seconds']:.1f} seconds, {len(totals['workers'])} workers"
    yield "by stage: " + ", ".join(
        f"{one_line(name, 40)} {each['seconds']:.1f} s in {each['spans']}"
        for name, each in totals["stages"].items()
    )
    for name, times in totals["workers"].items():
        parts = [
            f"{one_line(stage, 40)} {s:.1f} s" for stage, s in times.items() if stage != "idle"
        ]
        parts.append(f"idle {times['idle']:.0%}")
        if name in totals["lost"]:
            parts.append(f"died {totals['lost'][name]} times")
        yield f"  {one_line(name, 40)}: {', '.join(parts)}"
    for role, share in totals["idle"].items():
        beside = other["idle"].get(role) if other else None
        more = "" if beside is None else f", {beside:.1%} in the other run"
        yield f"idle share of {one_line(role, 40)}: {share:.1%}{more}"
    overlap = totals["overlap"]
    yield (
        f"sampling and learning at once: {overlap['seconds']:.1f} s, "
        f"{overlap['of_training']:.1%} of the time of learning"
    )
    yield from _outcomes(totals["outcomes"])


def _outcomes(outcomes: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """The outcomes of the prompts by version; of many versions, several in a line."""
    if len(outcomes) == 1:
        return
    versions = [name for name in outcomes if name != "all"]
    size = -(-len(versions) // _VERSIONS)
    yield "prompts: " + _counts(outcomes["all"])
    for begin in range(0, len(versions), size):
        some = versions[begin : begin + size]
        sums = {name: sum(outcomes[each].get(name, 0) for each in some) for name in outcomes["all"]}
        span = some[0] if len(some) == 1 else f"{some[0]} to {some[-1]}"
        yield f"  version {span}: {_counts(sums)}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
