"""`infinite-rl score`: score completions with the rewards."""

from collections.abc import Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

from ..config import Number, Strings, one_of
from ..errors import UnknownName, UsageError
from ..layout import without_tag
from ..types import STATUSES
from .terminal import DONE, NOT_DONE, Emit, counting, note, one_line
from .verb import OWN_REWARDS, RowsIn, RowsOut

if TYPE_CHECKING:
    from ..dataset.scoring import Summary
    from ..dataset.shapes import ShapedRows

_REASONS = 3  # of the most frequent reasons of `failed` that are printed
_NEARLY_ALL = 0.9
_OWN = " (--rewards gives one of your own)"


class Score(RowsIn, RowsOut):
    """Score one column of the rows against another and add the columns status (passed, failed,
    unscored), reward, reward_version, format_score, correctness_score, aux_score, quality_score and
    error_msg. The order of the rows is kept. After an interruption, the same command resumes.

    completion         column that is scored
    shape              the rows are a published file of this data set (auto: recognised by its
                       columns), with a column of completions (see `data load`)
    prompt             column with the prompt, which some maths rewards read
    answer             column with the reference answer (default: answer, or the ground truth of an
                       export)
    type               reward for all rows (default: each row's `type`)
    language           language of the code in all rows (default: each row's `language`)
    rewards            rewards of your own, by the `type` of their rows: NAME=FILE.py:CLASS or
                       NAME=package.module:CLASS, a subclass of RewardFunction
    timeout            seconds one run of a program may take
    first_failure      stop at the first failed case
    time_factor        multiplies the time limits of rows (default: measured once per machine)
    overwrite_columns  replace existing columns that have the names of scores
    strict             exit with 1 if a row could not be scored
    engine             local: the cores of this machine; ray: the CPUs of a Ray cluster
    ray_address        address of the cluster (default: $RAY_ADDRESS, else a cluster is started)

    Example: infinite-rl score samples.jsonl --completion completion --type math -o scored.jsonl;
    infinite-rl score problems.jsonl --as livecodebench --completion model -o scored.jsonl.

    Exit code: 0 done (with --strict: and every row has a verdict), 1 not done, 2 wrong usage, 130
    interrupted.
    """

    aliases = {**RowsOut.aliases, "shape": "--as"}
    metavars = {"rewards": OWN_REWARDS}

    completion: str = "response"
    shape: str = ""
    prompt: str = "prompt"
    answer: str = "answer"
    type: str = ""
    language: str = ""
    rewards: Strings = ()
    timeout: Number = 5.0
    first_failure: bool = False
    time_factor: Number | None = None
    overwrite_columns: bool = False
    strict: bool = False
    engine: Annotated[str, one_of("local", "ray")] = "local"
    ray_address: str | None = None

    def run(self, emit: Emit) -> int:
        from ..dataset.rows import read
        from ..dataset.scoring import Judging, on_ray, score_file
        from ..reward_functions import own_rewards

        self.refuse_existing(self.out, read=[self.source])
        if self.ray_address is not None and self.engine != "ray":
            raise UsageError("--ray_address needs --engine ray")
        if self.rewards and self.engine == "ray":
            raise UsageError("--rewards needs --engine local")
        columns = self.pick("completion", "answer", "prompt", "type", "language")
        judging = Judging(**columns, **self.pick("timeout", "first_failure", "time_factor"))
        cluster = on_ray(self.ray_address) if self.engine == "ray" else nullcontext()
        total = sum(1 for _ in read(self.source)) if not self.shape else 0
        what = f"completions judged (of {total})" if total else "completions judged"
        with counting(what) as count, cluster as spread:
            options = self.pick("overwrite", "overwrite_columns")
            shaped = self._shaped()
            source = self.source if shaped is None else shaped
            own = own_rewards(self.rewards, self.timeout)
            try:
                summary = score_file(
                    source, self.out, judging, own=own, spread=spread, on_row=count, **options
                )
            except KeyboardInterrupt:
                note("judged rows are kept: the same command resumes")
                raise
            except UnknownName as error:
                raise UsageError(f"{error}{_OWN * (error.kind == 'reward')}") from None
        for reason, number in shaped.reasons.most_common() if shaped else ():
            note(one_line(f"{number} rows {reason}"))
        for line in summary.unscored:
            note(f"without a verdict: {one_line(line)}")
        if (more := summary.without_verdict - len(summary.unscored)) > 0:
            note(f"without a verdict: {more} more")
        self._report(summary, emit)
        return NOT_DONE if self.strict and summary.without_verdict else DONE

    def _report(self, summary: "Summary", emit: Emit) -> None:
        """Emit the verdicts by reward, and the most frequent reasons of failures."""
        rewards = {
            reward: {status: summary.counts[reward, status] for status in STATUSES}
            for reward in sorted({name for name, _ in summary.counts})
        }
        before = f", there before: {summary.there_before}" if summary.there_before else ""
        lines = [f"rows judged: {summary.rows}{before}"]
        for reward, counts in rewards.items():
            lines.append(f"  {reward}: " + ", ".join(f"{each} {n}" for each, n in counts.items()))
        reasons = summary.reasons.most_common(_REASONS)
        for (reward, reason), number in reasons:
            of = f" ({reward})" if len(rewards) > 1 else ""
            lines.append("    " + one_line(f"failed {number}: {reason}{of}", 76))
        untagged = summary.reasons["coding", without_tag()]
        if untagged and untagged >= _NEARLY_ALL * sum(rewards["coding"].values()):
            lines.append(
                "    the reward coding reads an <answer> tag; --type program reads any form"
            )
        values = {"counts": rewards, "without_verdict": summary.without_verdict, "out": self.out}
        values["reasons"] = [
            {"reward": reward, "reason": reason, "rows": number}
            for (reward, reason), number in reasons
        ]
        emit({**vars(summary), **values}, *lines, f"in {self.out}")

    def column_hint(self, columns: Iterable[str]) -> str:
        """Name also the option for a file that is that of a data set."""
        from ..dataset.rows import read
        from ..dataset.shapes import SHAPES

        first = {} if self.shape else next(read(self.source), {})
        names = [name for name, shape in SHAPES.items() if shape.fits(first)]
        of_a_shape = f"; they are those of {names[0]}: add --as {names[0]}" if names else ""
        return super().column_hint(columns) + of_a_shape

    def _shaped(self) -> "ShapedRows | None":
        from ..dataset.shapes import ShapedRows

        if not self.shape:
            return None
        keep = () if self.completion == Score.completion else (self.completion,)
        return ShapedRows(self.source, "" if self.shape == "auto" else self.shape, keep)
