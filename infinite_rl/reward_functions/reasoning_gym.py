"""The reasoning_gym reward: an answer is judged by the package's own scorer, in another process.

https://pypi.org/project/reasoning-gym/ has some hundred tasks, each a generator and a scorer. The
scorers of one version were read and tried; where it is another one, nothing is judged. `REFUSED`
are the tasks that no row may be of:

- some scorers run the answer as Python code (`eval`, or sympy's `parse_expr`, which is no better);
- two run a text of the row;
- some have no reference answer, or one that their own scorer does not take back from JSON;
- some give full marks to what is wrong: to "405 or 7", to "not 405", to "nan", to "0" for 0.25, or
  to 7.024 for 7.023159, of which 12 digits were asked for.

What is left is asked in a process of its own, which is killed when the time is over.
"""

from __future__ import annotations

import atexit
import json
import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import SandboxError, UsageError, shown
from ..layout import ANSWER_TAG
from ..parsing.tags import format_of, tag_matches
from ..types import RewardFunctionScore
from ..workers.worker import NoWorkers, Worker, WorkerGone
from .reward_function import BadReference, Expected, RewardFunction, by_predicate, unscored

if TYPE_CHECKING:
    from .shaping import Shaping

VERSION = "0.1.25"
_RUN = "its scorer runs the answer as code"
_ROW_RUN = "its scorer runs a text of the row as code"
_NO_GOLD = "it has no reference answer that its scorer takes back"
_LENIENT = "its scorer gives full marks to wrong answers"
# One row a task.
REFUSED: Mapping[str, str] = {
    "binary_matrix": _RUN,
    "countdown": _RUN,
    "intermediate_integration": _RUN,
    "n_queens": _RUN,
    "polynomial_multiplication": _RUN,
    "puzzle24": _RUN,
    "simple_integration": _RUN,
    "spiral_matrix": _RUN,
    "string_insertion": _RUN,
    "bitwise_arithmetic": _ROW_RUN,
    "number_sorting": _ROW_RUN,
    "arc_agi": _NO_GOLD,
    "boxnet": _NO_GOLD,
    "composite": _NO_GOLD,
    "graph_color": _NO_GOLD,
    "propositional_logic": _NO_GOLD,
    "rearc": _NO_GOLD,
    "rubiks_cube": _NO_GOLD,
    "rush_hour": _NO_GOLD,
    "advanced_geometry": _LENIENT,
    "coin_flip": _LENIENT,
    "complex_arithmetic": _LENIENT,
    "decimal_arithmetic": _LENIENT,
    "fraction_simplification": _LENIENT,
    "game_of_life_halting": _LENIENT,
    "gsm_symbolic": _LENIENT,
    "kakurasu": _LENIENT,
    "knights_knaves": _LENIENT,
    "letter_jumble": _LENIENT,
    "polynomial_equations": _LENIENT,
    "quantum_lock": _LENIENT,
    "sokoban": _LENIENT,
    "spell_backward": _LENIENT,
    "survo": _LENIENT,
    "time_intervals": _LENIENT,
    "word_sorting": _LENIENT,
}
INSTALL = f"needs reasoning-gym {VERSION}: pip install 'infinite-rl[reasoning-gym]'"
_MOST_CHARS = 20_000  # of an answer; all references are much shorter
_START_S = 120.0


class ReasoningGymRewardFunction(RewardFunction):
    """Judges what the answer tag holds by the scorer of the row's task.

    The reference is a JSON object (or a mapping) with the `task`, its `config` and the `entry` that
    the package made (`dataset.loaders.reasoning_gym_rows` makes them). The correctness is the
    scorer's number, and only 1.0 passes. A reference answer that does not pass itself gives no
    verdict.

    Format: 1.0 for exactly one well-formed answer tag, 0.4 for several or a damaged one, and 0.0
    without; nothing is judged then. Several tags must say the same.

    Judging raises `UsageError` where the package is not installed, or is of another version.
    """

    def __init__(
        self,
        task_name: str = "reasoning_gym",
        timeout: float = 5,
        *,
        shaping: Shaping | None = None,
    ) -> None:
        super().__init__(task_name, timeout, shaping=shaping)

    def prepare(self, language: str = "") -> None:  # noqa: ARG002 -- of code alone
        """Load the package. Raises `UsageError` where that cannot be done."""
        _scorer.prepare()

    def compute_reward(
        self, model_output: str, expected_output: Expected, answer_tag: str = ANSWER_TAG
    ) -> RewardFunctionScore:
        """Score a completion against a row's reference, or a callable that is given the answer."""
        text = model_output if isinstance(model_output, str) else ""
        tags = tag_matches(text, answer_tag)
        format_score = format_of(tags)
        fault = _fault([tag.content for tag in tags])
        if fault:
            score = RewardFunctionScore(format_score, 0.0, fault)
        else:
            score = self._judged(tags[-1].content, expected_output, format_score)
        return self.shaped(score, text)

    def _judged(self, answer: str, expected: Expected, format_score: float) -> RewardFunctionScore:
        if callable(expected):
            return by_predicate(expected, format_score, answer)
        try:
            share = self._share(answer, read_task(expected))
        except (BadReference, WorkerGone) as fault:
            return unscored(format_score, str(fault))
        if share == 1.0:
            return RewardFunctionScore(format_score, share, status="passed")
        return RewardFunctionScore(format_score, share, "the scorer does not accept the answer")

    def _share(self, answer: str, task: dict[str, Any]) -> float:
        own, share = _scorer.ask([task, answer], self.timeout)
        if own != 1.0:
            raise BadReference("the reference answer does not pass its own scorer")
        return float(share)


def read_task(expected: object) -> dict[str, Any]:
    """The task of a reference. Raises `BadReference` where it is none, or one that is refused."""
    try:
        value = json.loads(expected) if isinstance(expected, str) else expected
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, Mapping) or value.keys() != {"task", "config", "entry"}:
        raise BadReference("the reference is no object with a task, its config and its entry")
    if not isinstance(value["task"], str) or value["task"] in REFUSED:
        reason = REFUSED.get(value["task"]) if isinstance(value["task"], str) else None
        raise BadReference(f"{shown(value['task'])}: {reason or 'no task'}")
    return dict(value)


def _fault(answers: list[str]) -> str:
    if not answers:
        return "no answer tag"
    if len({*answers}) > 1:
        return "several answer tags that disagree"
    if not answers[0].strip():
        return "the answer is empty"
    return "the answer is too long" if len(answers[0]) > _MOST_CHARS else ""


# --- the process that asks the package -----------------------------------------------------------


class _Scorer:
    """One worker process, started on first need and again after it had to be killed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: Worker | None = None

    def prepare(self) -> None:
        with self._lock:
            self._ready()

    def ask(self, job: Any, timeout: float) -> Any:
        """What `score_job` says. Raises `BadReference`, and `WorkerGone` where the time is over."""
        try:
            text = json.dumps(job)
        except (TypeError, ValueError, RecursionError) as error:
            raise BadReference(f"the reference is no JSON: {error}") from None
        with self._lock:
            ((kind, value),) = self._ready().answers(f"{__name__}:score_job", [text], timeout)
        if kind != "ok":
            raise BadReference(f"the scorer cannot read the reference: {value[1]}")
        return value

    def _ready(self) -> Worker:
        if self._worker is not None and self._worker.alive():
            return self._worker
        try:
            worker = Worker()
            ((kind, said),) = worker.answers(f"{__name__}:load", ["null"], _START_S)
        except (NoWorkers, WorkerGone) as error:
            raise SandboxError(f"the process that judges could not be started: {error}") from None
        if kind != "ok":
            worker.close()
            raise UsageError(said[1])
        self._worker = worker
        return worker

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()

    def forget(self) -> None:
        if self._worker is not None:
            self._worker.forget()


def load(_: object = None) -> None:
    """Import the package. Raises `UsageError` where it is not the one whose scorers were read."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version("reasoning-gym")
        import reasoning_gym  # noqa: F401 -- takes seconds
    except (PackageNotFoundError, ImportError):
        raise UsageError(f"reasoning_gym {INSTALL}") from None
    if found != VERSION:
        raise UsageError(f"reasoning_gym {INSTALL} (there is {found})")


def score_job(job: tuple[dict[str, Any], str]) -> list[float]:
    """What the scorer gives to the entry's own answer, and to this one; in a worker process."""
    from reasoning_gym.factory import create_dataset

    task, answer = job
    entry = task["entry"]
    scorer = create_dataset(task["task"], **{"seed": 0, "size": 1, **task["config"]})
    own = float(scorer.score_answer(entry["answer"], entry))
    try:
        share = float(scorer.score_answer(answer, entry))
    except Exception:  # scorers raise whatever an answer in another form leads to
        share = 0.0
    return [own, min(1.0, max(0.0, share)) if share == share else 0.0]


_scorer = _Scorer()


def _after_fork() -> None:
    """A forked child has a process of its own: the lock may be held by a thread it has not."""
    global _scorer
    _scorer.forget()
    _scorer = _Scorer()


def _close() -> None:
    _scorer.close()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_close)
