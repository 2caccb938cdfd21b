"""`infinite-rl truth`: the share of right answers in a data set, with an interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..config import FilePath
from .solve import ModelSolves
from .terminal import Emit, plain

if TYPE_CHECKING:
    from ..dataset.solving import SolveConfig

_SHOWN = 20  # doubtful rows on a terminal; the file has all


class Truth(ModelSolves):
    """Estimate the share of right answers in a data set of any origin, with a 95 % interval. A
    model solves a sample of the rows several times without their answers; the sample has the
    proportions of type, language, and level or difficulty. A solver that is often wrong does not
    make golds wrong: attempts with many different answers indicate a hard row, attempts that agree
    on another answer indicate a wrong gold, and the interval includes the remaining doubt. No call
    is made for an answer that follows from an expression, an equation or a count in the prompt.
    Doubtful rows are listed with the evidence. Completions are kept in OUT.calls: run the command
    again to resume, or with a larger sample.

    sample    rows of the sample
    attempts  completions sampled per row

    Example: infinite-rl truth rows.jsonl --solver gemini-3.8-flash -n 200 --max_cost 5.
    """

    role, counted = "solver", "rows checked"
    aliases: ClassVar[Mapping[str, str]] = {
        "out": "-o", "sample": "-n", "model_name": "--solver",
    }  # fmt: skip

    out: FilePath = Path("truth.jsonl")
    sample: int = 200
    attempts: int = 4

    def run(self, emit: Emit) -> int:
        from ..dataset.truth import CHECKED, truth

        def job(config: SolveConfig, count: Callable[[int], None]) -> None:
            options = self.pick("sample", "calls")
            result = truth(self.source, self.out, config, on_row=count, **options)
            lines = []
            if rate := result.rate:
                lines.append(
                    f"right answers: {rate.rate:.1%}, between {rate.low:.1%} and {rate.high:.1%} "
                    "with a probability of 95 %"
                )
            lines.append(
                f"rows looked at: {result.sampled} of {result.rows}, of which {result.derived} "
                f"needed no call and {result.unjudged} could not be judged; "
                f"doubtful: {len(result.doubtful)}"
            )
            for doubt in result.doubtful[:_SHOWN]:
                lines.append(f"  {doubt.id} ({doubt.probability:.0%}): {plain(doubt.evidence)}")
            values: dict[str, object] = {
                "rate": rate and rate.rate, "low": rate and rate.low, "high": rate and rate.high,
                "doubtful": [each._asdict() for each in result.doubtful],
            }  # fmt: skip
            self.emit_with_cost(emit, result, values, *lines, f"in {self.out}")

        return self.solve(CHECKED, self.attempts, job)
