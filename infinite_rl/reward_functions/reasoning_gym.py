"""The reasoning_gym reward: the package's own scorer judges an answer, in another process.

https://pypi.org/project/reasoning-gym/ has about a hundred tasks, each a generator and a scorer.
The scorers of one version were reviewed; any other version is refused. Rows of the tasks in
`REFUSED` are not judged:

- some scorers run the answer as Python code (`eval`, or sympy's `parse_expr`, which does the same);
- two run a text of the row;
- some have no reference answer, or one that their own scorer rejects after a round trip as JSON;
- some give full marks to wrong answers: "405 or 7", "not 405", "nan", "0" for 0.25, or 7.024 for
  7.023159 if 12 digits were requested.

The other scorers run in a separate process, which is killed at its deadline.
"""

import json
from functools import lru_cache
from typing import Any

from ..errors import SandboxError, UsageError, shown
from ..parsing.markup import format_of, tag_matches
from ..parsing.word_tables import WordTables
from ..types import RewardFunctionScore
from ..workers.lender import Lender
from ..workers.worker import NoWorkers, Worker, WorkerGone, message_of
from .reward_function import (
    AnswerRewardFunction,
    BadReference,
    NoAnswer,
    reference_object,
    unscored,
)

VERSION = "0.1.25"
_TABLES = WordTables(__file__)
# Tasks whose rows are refused, with the reason.
REFUSED = {task: reason for reason in _TABLES.names for task in _TABLES.listed(reason)}
INSTALL = f"needs reasoning-gym {VERSION}: pip install 'infinite-rl[reasoning-gym]'"
_MAX_CHARS = 20_000  # of an answer; all references are much shorter
_START_S = 120.0


class ReasoningGymRewardFunction(AnswerRewardFunction):
    """Judge the content of the answer tag by the scorer of the row's task.

    The reference is a JSON object (or a mapping) with the `task`, its `config` and the package's
    `entry` (see `dataset.loaders.reasoning_gym_rows`). The correctness is the scorer's number, and
    only 1.0 passes. A reference answer that its own scorer rejects gives no verdict.

    Format: 1.0 for exactly one well-formed answer tag, 0.4 for several or a damaged one, and 0.0
    without a tag; then nothing is judged. Several tags must agree.

    Judging raises `UsageError` if the package is missing or of another version.
    """

    name = "reasoning_gym"
    version = "2"

    def prepare(self, language: str = "") -> None:  # noqa: ARG002 -- for code
        """Load the package. Raises `UsageError` if it is missing or of another version."""
        with _scorer.worker(most=1):
            pass

    def _content(self, text: str, answer_tag: str) -> tuple[float, str]:
        tags = tag_matches(text, answer_tag)
        if fault := _fault([tag.content for tag in tags]):
            raise NoAnswer(fault, format_of(tags))
        return format_of(tags), tags[-1].content

    def _judged(self, format_score: float, content: str, expected: object) -> RewardFunctionScore:
        """Score an answer by the scorer of the row's task."""
        try:
            share = self._share(content, read_task(expected))
        except WorkerGone as gone:
            return unscored(format_score, str(gone))
        if share == 1.0:
            return RewardFunctionScore(format_score, share, status="passed")
        return RewardFunctionScore(format_score, share, "the scorer does not accept the answer")

    def _share(self, answer: str, task: dict[str, Any]) -> float:
        try:
            message = message_of([task, answer])
        except (TypeError, ValueError, RecursionError) as error:
            raise BadReference(f"the reference is not JSON: {error}") from None
        with _scorer.worker(most=1) as worker:
            [(kind, value)] = worker.answers(f"{__name__}:score_job", [message], self.timeout)
        if kind != "ok":
            raise BadReference(f"the scorer cannot read the reference: {value[1]}")
        own, share = value
        if own != 1.0:
            raise BadReference("the reference answer does not pass its own scorer")
        return float(share)


def read_task(expected: object) -> dict[str, Any]:
    """Return the task of a reference. Raises `BadReference` if there is none, or it is refused."""
    value = reference_object(expected, "the reference")
    if value.keys() != {"task", "config", "entry"}:
        raise BadReference("the reference is not an object with task, config and entry")
    if not isinstance(value["task"], str) or value["task"] in REFUSED:
        reason = REFUSED.get(value["task"]) if isinstance(value["task"], str) else None
        raise BadReference(f"{shown(value['task'])}: {reason or 'not a task'}")
    return dict(value)


def _fault(answers: list[str]) -> str:
    if not answers:
        return "no answer tag"
    if len({*answers}) > 1:
        return "several answer tags that disagree"
    if not answers[0].strip():
        return "the answer is empty"
    return "the answer is too long" if len(answers[0]) > _MAX_CHARS else ""


# --- the scorer's process -----------------------------------------------------------------------


def _start() -> Worker:
    """Start a worker that loads the package. Raises `SandboxError`; and `UsageError` as `load`."""
    try:
        worker = Worker()
        ((kind, value),) = worker.answers(f"{__name__}:load", [message_of(None)], _START_S)
    except (NoWorkers, WorkerGone) as error:
        raise SandboxError(f"the process that judges could not be started: {error}") from None
    if kind != "ok":
        worker.close()
        raise UsageError(value[1])
    return worker


_scorer = Lender(_start)


def load(_: object = None) -> None:
    """Import the package. Raises `UsageError` if it is missing or not the reviewed version."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        installed = version("reasoning-gym")
        import reasoning_gym  # noqa: F401 -- takes seconds
    except (PackageNotFoundError, ImportError):
        raise UsageError(f"reasoning_gym {INSTALL}") from None
    if installed != VERSION:
        raise UsageError(f"reasoning_gym {INSTALL} (installed: {installed})")


@lru_cache(8)
def _dataset(task: str, config: str) -> Any:
    """The data set of a task, which has its scorer: some load lists of words for a while."""
    from reasoning_gym.factory import create_dataset

    return create_dataset(task, **{"seed": 0, "size": 1, **json.loads(config)})


def score_job(job: tuple[dict[str, Any], str]) -> list[float]:
    """Score the entry's own answer and this one, in a worker process."""
    task, answer = job
    entry = task["entry"]
    scorer = _dataset(task["task"], json.dumps(task["config"]))
    own = float(scorer.score_answer(entry["answer"], entry))
    try:
        share = float(scorer.score_answer(answer, entry))
    except Exception:  # scorers raise whatever an answer in another form leads to
        share = 0.0
    return [own, min(1.0, max(0.0, share)) if share == share else 0.0]
