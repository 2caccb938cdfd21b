"""`infinite-rl evaluate`: evaluate a model by our rewards or by lm_eval's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config import Number, ranged
from ..errors import InfiniteRLError, UsageError
from ..evaluation.config import EvaluationConfig
from .terminal import (
    DONE,
    INTERRUPTED,
    Emit,
    aligned,
    counting,
    hide_hugging_face_progress,
    note,
    plain,
    stop_on_signals,
)
from .verb import Verb

if TYPE_CHECKING:
    from ..evaluation import Score


class Evaluate(Verb, EvaluationConfig):
    """Sample a model's answers to tasks (gsm8k, math500, mbpp, humaneval, ifeval, or files of
    rows), score the answers with the rewards of the rows, and write records, a table and a page to
    OUT: pass@k with intervals, truncation, format errors, lengths. Decoding is greedy by default.
    After an interruption, the same command resumes; no item is asked twice.

    watch    folder of a run, or the URI to which it publishes (s3://BUCKET/FOLDER/): evaluate each
             checkpoint, until the run ends
    every    with --watch: seconds between two checks for checkpoints
    publish  with --watch: upload the results after each checkpoint to s3://BUCKET/FOLDER/
    once     with --watch: evaluate only the checkpoints that exist now

    Examples: infinite-rl evaluate --model runs/a/checkpoints/step_200 --tasks gsm8k --limit 100
    -o out. infinite-rl evaluate configs/eval/gsm8k.yaml --model MODEL -o out. infinite-rl evaluate
    --watch RUN --tasks heldout.jsonl.
    """

    config_file = "config"
    json_form = "one JSON object (with --watch: one per line)"

    watch: str = ""
    every: Number = ranged(30.0, 1e-3)
    publish: str = ""
    once: bool = False

    @classmethod
    def load(cls, flags: Mapping[str, Any], file: Path | None) -> Evaluate:
        """With --watch, the model is each checkpoint of the run."""
        if "watch" in flags and "model" in flags:
            raise UsageError("--watch evaluates the checkpoints of a run: leave --model out")
        if "watch" in flags:
            flags = {**flags, "model": flags["watch"]}
        return super().load(flags, file)

    def run(self, emit: Emit) -> int:
        if self.publish and not self.watch:
            raise UsageError("--publish needs --watch; else use `infinite-rl storage publish`")
        hide_hugging_face_progress()
        config = self.part(EvaluationConfig)
        with stop_on_signals() as stop, counting("answers") as count:
            try:
                if self.watch:
                    self._watch(config, stop, count, emit)
                elif config.harness == "lm_eval":
                    from ..evaluation.harness import read_lines, run_harness

                    text = plain(run_harness(config))
                    figures = read_lines(Path(config.out))
                    emit({"figures": figures, "out": config.out}, text.removesuffix("\n"))
                else:
                    from ..evaluation.run import evaluate

                    _report(emit, config, evaluate(config, stop=stop, on_answer=count))
            except InfiniteRLError as error:
                if not stop.is_set():
                    raise
                note(plain(str(error)))
                return INTERRUPTED
        return INTERRUPTED if self.watch and stop.is_set() else DONE

    def _watch(
        self,
        config: EvaluationConfig,
        stop: threading.Event,
        count: Callable[[int], None],
        emit: Emit,
    ) -> None:
        from ..evaluation.metrics import ReportLine
        from ..evaluation.watch import watch

        options = {**self.pick("once"), "every_s": self.every, "publish_to": self.publish}
        for line in watch(self.watch, config, stop=stop, on_answer=count, **options):
            if isinstance(line, ReportLine):
                emit(line.values, plain(line), flush=True)
            else:
                print(plain(line), flush=True)


def _report(emit: Emit, config: EvaluationConfig, scores: Mapping[str, Score]) -> None:
    from ..evaluation.summary import MARKDOWN, notes, table

    lines = [*aligned(table(scores)), *notes(scores, config.convention)]
    values = {"scores": scores, "out": config.out}
    emit(values, *map(plain, lines), f"in {config.out}/{MARKDOWN}")
