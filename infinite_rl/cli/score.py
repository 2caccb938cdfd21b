"""`infinite-rl score`: score completions with the rewards."""

import sys
from collections.abc import Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, get_args

from ..config import Number, Strings, one_of
from ..errors import UnknownName, UsageError
from ..types import ScoreStatus
from .terminal import DONE, NOT_DONE, Emit, counting, one_line, show_logs
from .verb import RowsIn, RowsOut

if TYPE_CHECKING:
    from ..dataset.shapes import ShapedRows

_OWN = " (--rewards gives one of your own)"


class Score(RowsIn, RowsOut):
    """Score one column of the rows against another and add the columns status (passed, failed,
    unscored), reward, reward_version, format_score, correctness_score, aux_score, quality_score
    and error_msg. The order of the rows is kept. Run it again after an interruption to resume.

    completion         column that is scored
    shape              the rows are a published file of this data set, or of one that its columns
                       say (auto), with a column of completions (see `data load`)
    prompt             column with the prompt, which some rewards of mathematics read
    answer             column with the reference answer; or an export's own
    type               reward for all rows (default: each row's `type`)
    language           language of the code in all rows (default: each row's `language`)
    rewards            rewards of your own, by the `type` of their rows: NAME=FILE.py:CLASS or
                       NAME=package.module:CLASS, a subclass of RewardFunction
    timeout            seconds one run of a program may take
    first_failure      run no case after one that failed
    time_factor        multiplies the time limits of rows (default: measured once a machine)
    overwrite_columns  replace columns that have the names of scores and come from elsewhere
    strict             exit with 1 if a row could not be scored
    engine             local: the cores of this machine; ray: the CPUs of a Ray cluster
    ray_address        address of the cluster (default: $RAY_ADDRESS, else one is started)

    Example: infinite-rl score samples.jsonl --completion completion --type math -o scored.jsonl;
    infinite-rl score problems.jsonl --as livecodebench --completion model -o scored.jsonl.

    Exit code: 0 done (with --strict: and every row has a verdict), 1 not done, 2 wrong usage, 130
    interrupted: the same command resumes.
    """

    aliases = {**RowsOut.aliases, "shape": "--as"}

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

        show_logs()
        self.refuse_existing(self.out, read=[self.source])
        if self.ray_address is not None and self.engine != "ray":
            raise UsageError("--ray_address needs --engine ray")
        columns = self.completion, self.answer, self.type, self.language
        if self.rewards and self.engine == "ray":
            raise UsageError("--rewards needs --engine local")
        judging = Judging(
            *columns, self.timeout, self.first_failure, self.time_factor, prompt=self.prompt
        )
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
                print("judged rows are kept: the same command resumes", file=sys.stderr)
                raise
            except UnknownName as error:
                raise UsageError(f"{error}{_OWN * (error.kind == 'reward')}") from None
        rewards = {
            reward: {status: summary.counts[reward, status] for status in get_args(ScoreStatus)}
            for reward in sorted({name for name, _ in summary.counts})
        }
        before = f", there before: {summary.there_before}" if summary.there_before else ""
        lines = [f"rows judged: {summary.rows}{before}"]
        for reward, counts in rewards.items():
            lines.append(f"  {reward}: " + ", ".join(f"{each} {n}" for each, n in counts.items()))
        for reason, number in shaped.reasons.most_common() if shaped else ():
            print(one_line(f"{number} rows {reason}"), file=sys.stderr)
        for line in summary.unscored:
            print(f"without a verdict: {one_line(line)}", file=sys.stderr)
        if (more := summary.without_verdict - len(summary.unscored)) > 0:
            print(f"without a verdict: {more} more", file=sys.stderr)
        values = {"counts": rewards, "without_verdict": summary.without_verdict, "out": self.out}
        emit({**vars(summary), **values}, *lines, f"in {self.out}")
        return NOT_DONE if self.strict and summary.without_verdict else DONE

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
