"""`infinite-rl solve`: a model samples completions of each row, to rate it or to distill them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..config import FilePath
from ..errors import InfiniteRLError, Stopped, UsageError
from ..providers import AUTO, DEFAULT_MODEL, PROVIDERS, resolve_provider
from ..providers.openai_compatible import DEEPSEEK_KEY_VARIABLE, DEEPSEEK_URL
from .terminal import DONE, INTERRUPTED, Emit, counting, note, stop_on_signals
from .verb import AsksModel, RowsIn, RowsOut

if TYPE_CHECKING:
    from ..dataset.solving import Cost, SolveConfig

_TEACHER = "deepseek-v4-pro"  # it thinks by default


class ModelSolves(RowsIn, RowsOut, AsksModel):
    """
    model_name  model that solves (default: gemini's default)
    seed        seed of the attempts; another seed gives other samples
    calls       folder of the completions (default: OUT.calls)
    system      system prompt (default: the form of the answer)
    threads     rows that are solved concurrently
    """

    role: ClassVar[str]
    counted: ClassVar[str]

    calls: FilePath | None = None
    system: str | None = None
    threads: int = 8

    def solve(
        self,
        partial_file: str,
        attempts: int,
        job: Callable[[SolveConfig, Callable[[int], None]], None],
        *outputs: Path | None,
    ) -> int:
        """Run a job with the model that the keys name, and return the exit code.

        The job is given a counter of the rows done. If it ends early, a line says where those rows
        are: in `partial_file` of the folder of the completions.
        """
        from ..dataset.solving import SolveConfig
        from .display import in_flight

        if not self.dry_run:
            self.refuse_existing(self.out, *outputs, read=[self.source])
        provider, model, base_url = self.chosen()
        if not PROVIDERS[provider].asks_a_model:
            hint = "set GEMINI_API_KEY, or give --provider and --model_name"
            raise UsageError(f"{provider} solves no tasks: {hint}")
        if not model and provider == "openai_compatible":
            raise UsageError("say which model to ask: --model_name")
        model = model or DEFAULT_MODEL
        note(f"{self.role}: {model}, asked through {provider}")
        with stop_on_signals() as stop:
            same = self.pick(
                *(each.name for each in fields(SolveConfig) if hasattr(self, each.name))
            )
            chosen = {"provider": provider, "model": model, "base_url": base_url, "stop": stop}
            config = SolveConfig(**{**same, **chosen, "attempts": attempts})

            def traffic() -> str:
                return ", ".join(in_flight(each.stats) for each in config.clients)

            try:
                with counting(self.counted, traffic) as count:
                    job(config, count)
            except Stopped:
                note("stopped; completions are kept: run it again to resume")
                self._show_done(partial_file)
                return INTERRUPTED
            except InfiniteRLError:
                self._show_done(partial_file)
                raise
        return DONE

    def chosen(self) -> tuple[str, str | None, str | None]:
        """The provider, its model and its URL."""
        return resolve_provider(self.provider), self.model_name, self.base_url

    def _show_done(self, partial_file: str) -> None:
        from ..dataset.solving import folder_of

        done = folder_of(self.out, self.calls) / partial_file
        if done.is_file() and done.stat().st_size and not self.dry_run:
            note(f"{self.counted} so far are in {done}")

    def emit_with_cost(
        self, emit: Emit, result: Cost, more: dict[str, object], *lines: str
    ) -> None:
        """Emit the result and its cost; of a dry run, only the estimate."""
        from .display import estimated, spent

        values = {**vars(result), **more, "dry_run": self.dry_run, "out": self.out}
        if result.estimate:
            cost = estimated(result.estimate)
        else:
            cost = f"calls answered: {result.calls}; in all: {spent(result.spending)}"
        emit(values, *([cost] if self.dry_run else [*lines[:-1], cost, lines[-1]]))


class Difficulty(ModelSolves):
    """Estimate the difficulty of each row: the pass rate of a model over several attempts, with a
    95 % interval (Wilson's). Columns: attempts, solved, pass_rate, pass_rate_low and
    pass_rate_high. Completions are kept in OUT.calls: the same command resumes, and pays for no
    call twice. Rows rated so far are in OUT.calls/rated.jsonl.

    attempts  completions sampled per row
    keep      write the attempts with their scores to this file

    Example: infinite-rl solve difficulty data/dataset.csv --attempts 8 --max_cost 5 --keep
    attempts.jsonl -o rated.jsonl.
    """

    role, counted = "solver", "rows rated"

    attempts: int = 4
    keep: FilePath | None = None

    def run(self, emit: Emit) -> int:
        from ..dataset.difficulty import RATED, difficulty

        def job(config: SolveConfig, count: Callable[[int], None]) -> None:
            files = self.pick("keep", "calls")
            result = difficulty(self.source, self.out, config, on_row=count, **files)
            sometimes = result.rows - result.always - result.never - result.unrated
            self.emit_with_cost(
                emit,
                result,
                {"sometimes": sometimes, "keep": self.keep},
                f"rows rated: {result.rows}, solved always {result.always}, sometimes {sometimes}, "
                f"never {result.never}, not to be judged {result.unrated}",
                f"in {self.out}" + (f", attempts in {self.keep}" if self.keep else ""),
            )

        return self.solve(RATED, self.attempts, job, self.keep)


class Traces(ModelSolves):
    """Collect a reasoning model's solutions of each row for SFT. Columns: reasoning, response (the
    reasoning in <think>, then the answer), messages, and the score of the row's reward. Wrong and
    truncated traces are left out. Sentences of the reasoning about its instructions, and repeated
    answers, are removed. Completions are kept in OUT.calls: the same command resumes, and pays for
    no call twice. Traces so far are in OUT.calls/traces.jsonl.

    The default teacher is DeepSeek (DEEPSEEK_API_KEY); --provider names another, --base_url a
    server of OpenAI's protocol (its key in OPENAI_API_KEY).

    If the rows are existing attempts (the solutions.jsonl of a generation, or the attempts that
    `difficulty --keep` wrote), their completions become the traces, and no model is asked.

    model_name  model that solves (default: deepseek-v4-pro; with --provider, its own)
    samples     traces sampled per row
    keep_all    write wrong and truncated traces too; the column `dropped` says why

    Examples: infinite-rl solve traces train.jsonl --samples 4 --max_cost 20 -o traces.jsonl.
    infinite-rl solve traces data/solutions.jsonl -o traces.jsonl.
    """

    role, counted = "teacher", "rows traced"

    samples: int = 1
    keep_all: bool = False

    def chosen(self) -> tuple[str, str | None, str | None]:
        """Without a provider it is the server of the URL, else DeepSeek.

        Raises UsageError without DeepSeek's key: no other paid service is asked in its place.
        """
        if self.provider != AUTO:
            return super().chosen()
        if self.base_url:
            return "openai_compatible", self.model_name, self.base_url
        if not os.environ.get(DEEPSEEK_KEY_VARIABLE, "").strip():
            raise UsageError(
                f"the default teacher is DeepSeek, and {DEEPSEEK_KEY_VARIABLE} is not set: set it, "
                "or name another teacher by --provider, or by --base_url and --model_name"
            )
        return "openai_compatible", self.model_name or _TEACHER, DEEPSEEK_URL

    def run(self, emit: Emit) -> int:
        from ..dataset.traces import TRACES, Tracing, are_attempts, traces, traces_of_attempts

        def show(result: Tracing) -> None:
            dropped = "".join(f", {why} {n}" for why, n in sorted(result.dropped.items()))
            lines = [f"traces kept: {result.kept}, of {result.rows} rows{dropped}"]
            if result.unasked:
                lines.append(f"rows that cannot be judged, and were not asked: {result.unasked}")
            self.emit_with_cost(emit, result, {}, *lines, f"in {self.out}")

        def job(config: SolveConfig, count: Callable[[int], None]) -> None:
            options = self.pick("keep_all", "calls")
            show(traces(self.source, self.out, config, on_row=count, **options))

        if not are_attempts(self.source):
            return self.solve(TRACES, self.samples, job)
        note(f"the rows of {self.source} are attempts: no model is asked")
        if not self.dry_run:
            self.refuse_existing(self.out, read=[self.source])
            options = self.pick("keep_all", "system", "timeout", "threads")
            with counting(self.counted) as count:
                result = traces_of_attempts(self.source, self.out, on_row=count, **options)
            show(result)
        return DONE
