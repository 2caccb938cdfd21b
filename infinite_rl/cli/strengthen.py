"""`infinite-rl strengthen`: add tests to coding rows until they reject each killable mutant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar

from ..config import FilePath, one_of
from ..errors import UsageError
from .solve import ModelSolves
from .terminal import DONE, Emit, counting, note, one_line

if TYPE_CHECKING:
    from ..dataset.solving import SolveConfig
    from ..dataset.strengthening import Summary

_LISTED = 10  # golds that are printed
# Keys that do nothing unless a model is asked.
_OF_CALLS = ("provider", "base_url", "calls", "max_cost", "price", "dry_run")


class Strengthen(ModelSolves):
    """Add tests to coding rows until no killable mutant of their own program passes: programs in
    Python or JavaScript, with tests that call a function or give a standard input. The row's own
    program, run in the sandbox, gives the expected values. Old tests stay unchanged, and new inputs
    resemble theirs. Rows that cannot be strengthened are written unchanged. The column
    strengthening has the counts, or the reason why a row is unchanged, and wrong programs that the
    old tests accept. After an interruption, the same command resumes.

    With --author a model is asked once per row, from its prompt alone, for a second solution, a
    generator of inputs and a validator. They run in the sandbox; an input counts if the second
    solution agrees and the validator accepts it. Rows on which the second solution returns another
    value are listed. Completions are kept in OUT.calls; no call is paid for twice.

    model_name  model that writes these programs (default: no model is asked)
    benchmark  mbpp or humaneval: the file is as its authors publish it
    reach      distance of new inputs from those of the tests: shown, near, far
    max_tests  maximum new tests per row
    inputs     inputs that the search may try per row
    report     file for the wrong programs that the old tests accept, each with the test that now
               rejects it

    Examples: infinite-rl strengthen rows.jsonl -o stronger.jsonl --report wrong.jsonl. infinite-rl
    strengthen sanitized-mbpp.json --benchmark mbpp -o mbpp.jsonl. infinite-rl strengthen rows.jsonl
    --author gemini-3.8-flash --max_cost 5 -o stronger.jsonl.
    """

    role, counted = "author", "rows strengthened"
    aliases: ClassVar[Mapping[str, str]] = {"out": "-o", "model_name": "--author"}
    hidden = ("system",)

    benchmark: str = ""
    reach: Annotated[str, one_of("shown", "near", "far")] = "near"
    max_tests: int = 120
    inputs: int = 600
    report: FilePath | None = None

    def run(self, emit: Emit) -> int:
        from ..dataset.strengthening import Settings, strengthen_file

        settings = Settings(**self.pick("benchmark", "reach", "max_tests", "inputs", "timeout"))
        files = self.pick("report", "overwrite", "calls")

        def job(author: SolveConfig | None, count: Callable[[int], None]) -> None:
            summary = strengthen_file(
                self.source, self.out, settings, author=author, on_row=count, **files
            )
            self._emit(emit, summary)

        if self.model_name:
            return self.solve("", 1, job, self.report)
        if unused := [name for name in _OF_CALLS if getattr(self, name) != self.defaults()[name]]:
            raise UsageError(f"--{unused[0]} needs --author, the model that is asked")
        self.refuse_existing(self.out, self.report, read=[self.source])
        with counting(self.counted) as count:
            job(None, count)
        return DONE

    def _emit(self, emit: Emit, summary: Summary) -> None:
        if not emit.json:
            _warn(summary.wrong_golds)
            _warn(summary.doubtful)
        before, after = summary.killed_before, summary.killed
        lines = [
            f"rows: {summary.rows}, strengthened: {summary.strengthened}, "
            f"new tests: {summary.added}",
            f"killable mutants: {summary.killable}, killed by the old tests: {before}, "
            f"now: {after}; only by inputs far from the tests': {summary.far}",
            f"wrong programs that the old tests accept: {summary.wrong_programs}",
            f"golds that fail their own tests: {len(summary.wrong_golds)}",
            *_reasons(summary.left_alone),
        ]
        where = f"in {self.out}" + (f", wrong programs in {self.report}" if self.report else "")
        if self.model_name:
            count = len(summary.doubtful)
            lines.append(f"rows where the author's solution has another value: {count}")
            self.emit_with_cost(emit, summary, {"report": self.report}, *lines, where)
        else:
            emit({**vars(summary), "out": self.out, "report": self.report}, *lines, where)


def _warn(golds: list[str]) -> None:
    for each in golds[:_LISTED]:
        note(one_line(each))
    if len(golds) > _LISTED:
        note(f"and {len(golds) - _LISTED} more")


def _reasons(left_alone: Mapping[str, int]) -> list[str]:
    return [f"left alone, {one_line(why)}: {count}" for why, count in sorted(left_alone.items())]
