"""A recipe from end to end: rows, evaluation, training, evaluation on the same items, comparison.

    OUT/rows/               the rows and the test items with their hashes; no prompt is in both
    OUT/before/, after/     the evaluations, as `evaluate` writes them
    OUT/runs/RUN/           the run: its config, events, rollouts, plots, checkpoints
    OUT/locks/, sys/        every installed package, and the machine
    OUT/run_manifest.json   the command, both configs, the versions, and where the parts are
    OUT/comparison.md, .json, plots/comparison.png
                            both scores of each task, and their difference with its interval

The same call resumes at the part that was interrupted.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..adapters.scorer import Scorer
from ..dataset import rows
from ..dataset.checksums import check, pinned, write_pinned
from ..dataset.rows import PINS, Row
from ..dataset.tokens import normalized_text
from ..errors import StoreError, UsageError
from ..estimators import Interval, bootstrap
from ..files.atomic import write_text
from ..manifest import environment_info
from ..redact import redact
from ..training import TrainingConfig, train
from ..training.core.mixed import rows_of
from ..training.runs import checkpoint
from ..training.runs.plots import FOLDER as PLOTS
from ..training.runs.plots import figure_type, save
from ..training.runs.run_folder import MANIFEST, write_machine
from ..training.runs.run_log import OnStep
from .benchmarks import tasks_of
from .config import EvaluationConfig
from .run import RECORDS, SCORE, TaskRun, evaluate
from .score import Score, passes
from .summary import markdown_lines

logger = logging.getLogger(__name__)

ROWS, BEFORE, AFTER, RUNS, MODEL = "rows", "before", "after", "runs", "model"
TABLE, VALUES = "comparison.md", "comparison.json"
TRAINING_ROWS = "train.jsonl"
# What --tiny changes: minutes of a CPU, and no file from elsewhere.
TINY_TRAINING: Mapping[str, Any] = {
    "engine_options": {}, "dtype": "float32", "device": "cpu", "max_steps": 20, "warmup_steps": 0,
    "batch_size": 8, "max_new_tokens": 24, "tokens_per_batch": 16_384, "learning_rate": 2e-4,
    "save_every": 20,
}  # fmt: skip
TINY_EVALUATION: Mapping[str, Any] = {
    "backend": "transformers", "dtype": "float32", "device": "cpu", "max_new_tokens": 24,
}  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """The fraction of a task's items that passed before and after, and the interval of the change.

    `gained` is the number of items with a higher fraction of passing samples after the training,
    `lost` with a lower one. Items without a verdict in one of the evaluations are left out.
    """

    task: str
    items: int
    before: float
    after: float
    difference: Interval
    gained: int
    lost: int

    def cells(self) -> list[str]:
        """Return the cells of a table row."""
        low, high = self.difference
        change = f"{100 * (self.after - self.before):+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]"
        shares = [f"{100 * share:.1f} %" for share in (self.before, self.after)]
        return [self.task, str(self.items), *shares, change, str(self.gained), str(self.lost)]


HEAD = ["task", "items", "before", "after", "difference in points [95 %]", "gained", "lost"]


def run_recipe(
    config: TrainingConfig,
    evaluation: EvaluationConfig,
    out: Path,
    *,
    command: Sequence[str] = (),
    on_phase: Callable[[str], None] = lambda _: None,
    on_step: OnStep | None = None,
) -> list[Comparison]:
    """Prepare the rows, evaluate the model, train it, evaluate it again, and compare.

    `on_phase` gets a line as each part begins. The evaluation is of the native harness; its model
    and its folder are the recipe's.

    Raises:
        UsageError: a config is invalid, or no row is left to train on.
        StoreError: the folder is not writable, or was made with other rows.
        InfiniteRLError: as `train` and `evaluate` raise.
    """
    if evaluation.harness != "native":
        raise UsageError("a recipe compares by the native harness, not by lm_eval")
    on_phase(f"rows: {out / ROWS}")
    training_rows = _prepared(config, evaluation, out)
    _write_manifest(config, evaluation, out, command)
    on_phase(f"evaluation of {config.model}: {out / BEFORE}")
    evaluate(replace(evaluation, model=config.model, out=str(out / BEFORE)))
    on_phase(f"training: {out / RUNS}")
    started_runs = [path for path in sorted((out / RUNS).glob("*")) if checkpoint.newest(path)]
    config = replace(config, out=str(out / RUNS))
    resume = started_runs[-1] if started_runs else None
    last = train(training_rows, None, config, resume=resume, command=command, on_step=on_step)
    on_phase(f"evaluation of {last}: {out / AFTER}")
    scores = evaluate(replace(evaluation, model=str(last), out=str(out / AFTER)))
    comparisons = [compare(name, out) for name in scores]
    _write(comparisons, last, out)
    try:
        _plot(comparisons, out)
    except UsageError as error:
        logger.warning("no plots: %s", error)
    return comparisons


def compare(task: str, out: Path) -> Comparison:
    """Compare the records of a task before and after. Raises StoreError if they are damaged."""
    before, after = (_passed(out / phase / task / RECORDS) for phase in (BEFORE, AFTER))
    pairs = [(before[key], after[key]) for key in before if key in after]
    if not pairs:
        raise StoreError(f"{task}: no item has a verdict before and after")
    changes = [later - earlier for earlier, later in pairs]
    shares = [sum(each) / len(pairs) for each in zip(*pairs, strict=True)]
    return Comparison(
        task,
        len(pairs),
        shares[0],
        shares[1],
        bootstrap(changes),
        sum(change > 0 for change in changes),
        sum(change < 0 for change in changes),
    )


def _passed(path: Path) -> dict[str, float]:
    """The share of each item's judged answers that pass."""
    verdicts: dict[str, list[bool]] = {}
    for record in rows.read(path):
        if record["status"] != "unscored":
            verdicts.setdefault(record["id"], []).append(passes(record))
    return {key: sum(each) / len(each) for key, each in verdicts.items()}


def _prepared(config: TrainingConfig, evaluation: EvaluationConfig, out: Path) -> list[Row]:
    """The rows to train on, pinned beside the test items; rows with the prompt of one are left out.

    Raises:
        UsageError: no row is left.
        StoreError: the folder has other rows.
    """
    runs = [TaskRun.of(evaluation, task) for task in tasks_of(evaluation.tasks)]
    tests = {f"{run.task.name}_test.jsonl": list(run.items) for run in runs}
    test_prompts = {
        normalized_text(str(row["prompt"])) for items in tests.values() for row in items
    }
    scorer = Scorer.of(config.reward) if config.algorithm == "grpo" else None
    every = rows_of(config, scorer)
    kept = [row for row in every if normalized_text(str(row.get("prompt"))) not in test_prompts]
    if not kept:
        raise UsageError(f"all {len(every)} rows have the prompt of a test item")
    files = {TRAINING_ROWS: kept, **tests}
    source = config.data or ", ".join(each.path or each.benchmark for each in config.mixture)
    manifest = pinned(files, source, config.seed)
    folder = out / ROWS
    if not (folder / PINS).is_file():
        write_pinned(folder, files, manifest)
    elif check(folder).sha256 != manifest.sha256:
        raise StoreError(f"{folder} has other rows than these configs give: name another folder")
    return kept


def _write_manifest(
    config: TrainingConfig, evaluation: EvaluationConfig, out: Path, command: Sequence[str]
) -> None:
    if (out / MANIFEST).is_file():
        return  # of the call that began
    write_machine(out)
    parts = {name: str(out / name) for name in (ROWS, BEFORE, RUNS, AFTER)}
    configs = {"training": config.values(), "evaluation": evaluation.values()}
    versions = environment_info("torch", "transformers", "trl", "vllm")
    manifest = redact({"command": list(command), "parts": parts, **configs, **versions})
    write_text(out / MANIFEST, json.dumps(manifest, indent=2) + "\n")


def _write(comparisons: Sequence[Comparison], last: Path, out: Path) -> None:
    values = {"checkpoint": str(last), "tasks": [asdict(each) for each in comparisons]}
    write_text(out / VALUES, json.dumps(values, indent=2) + "\n")
    lines = markdown_lines([HEAD, *(each.cells() for each in comparisons)])
    write_text(out / TABLE, "\n".join([*lines, "", f"checkpoint: {last}", ""]))


def _plot(comparisons: Sequence[Comparison], out: Path) -> None:
    """Draw the scores of each task. Raises UsageError: matplotlib is not installed."""
    figure = figure_type()(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot(ylabel="share of items that pass, with 95 % intervals")
    for offset, phase in ((-0.2, BEFORE), (0.2, AFTER)):
        scores = [Score.read(out / phase / each.task / SCORE) for each in comparisons]
        rates = [score.pass_at[min(score.pass_at)] for score in scores]
        positions = [index + offset for index in range(len(rates))]
        heights = [rate.value for rate in rates]
        below = [max(0.0, rate.value - rate.low) for rate in rates]
        above = [max(0.0, rate.high - rate.value) for rate in rates]
        axes.bar(positions, heights, 0.36, yerr=[below, above], capsize=4, label=phase)
    axes.set_xticks(range(len(comparisons)), [each.task for each in comparisons])
    axes.legend()
    save(figure, out / PLOTS / "comparison.png")


def tiny_configs(
    config: Mapping[str, Any], evaluation: Mapping[str, Any], folder: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of both configs with the model, rows and items that `make_tiny` made in `folder`.

    Raises:
        UsageError: a data set or a task has no tiny form.
    """
    from ..training.runs.tiny import ITEMS
    from ..training.runs.tiny import ROWS as TINY_ROWS

    def stand_in(kind: str, name: str) -> str:
        path = folder / kind / f"{Path(name).name.partition('.')[0]}.jsonl"
        if not path.is_file():
            there = ", ".join(sorted(each.stem for each in path.parent.glob("*.jsonl")))
            raise UsageError(f"--tiny has no stand-in for {name}: it has {there}")
        return str(path)

    training = {**config, **TINY_TRAINING, "model": str(folder)}
    if config.get("data"):
        training["data"] = stand_in(TINY_ROWS, config["data"])
    training["datasets"] = [
        {**each, "path": stand_in(TINY_ROWS, each["path"]), "count": 0, "order": ""}
        for each in config.get("datasets") or ()
    ]
    tasks = evaluation.get("tasks") or ()
    names = [each.partition("=")[0] for each in ([tasks] if isinstance(tasks, str) else tasks)]
    items = [f"{name}={stand_in(ITEMS, name)}" for name in names]
    return training, {**evaluation, **TINY_EVALUATION, "tasks": items}
