"""TRL: a reward function for `GRPOTrainer` and `RLOOTrainer`, and environments with tools.

The contract is that of TRL 1.16.0 (`GRPOTrainer._calculate_rewards`; "Using a custom reward
function" in its documentation): called by keywords with `prompts`, `completions`, each other column
of the data set as a list, `log_extra` and `log_metric`; one number for each completion, or None,
which leaves it out of its group's mean and gives it no advantage. An environment is an object whose
`reset` gets a row and whose public methods are tools; reward functions get them as `environments`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from ..dataset.ground_truth import unpack
from ..dataset.rows import sample_of
from ..errors import UnknownName, UsageError, look_up
from ..reward_functions.reward_function import RewardFunction, unscored
from ..sandbox.session import SessionLimits
from ..types import Sample
from .scorer import Scorer, text_of
from .tools import NOT_JUDGED, TOOLS, Episode, Tool

TRLReward: TypeAlias = "Callable[..., list[float | None]]"
TRLEnvironment: TypeAlias = "type[_Environment]"


def for_trl(
    *,
    format_weight: float = 0.0,
    partial: bool = False,
    timeout: float = 5,
    extra: Mapping[str, RewardFunction] | None = None,
    rewards: str | Path | None = None,
) -> TRLReward:
    """A reward function for TRL, with the settings of `Scorer`.

    A completion is a text, or a list of messages. The rows have the column `ground_truth`, as
    `export --to trl` writes it, or `type` and `answer`, and for code `language`. The reward of a
    completion that could not be judged is None. A truncated one is judged as it is; TRL's
    `mask_truncated_completions` excludes it from the loss. The table of completions that TRL logs
    gets the columns `status` and `error`.

    The function raises `UsageError` if the columns are missing, and as `Scorer.judge`.
    """
    return reward_of(
        Scorer(
            format_weight=format_weight,
            partial=partial,
            timeout=timeout,
            extra=extra,
            rewards=rewards,
        )
    )


def reward_of(scorer: Scorer) -> TRLReward:
    """`for_trl` with an existing scorer."""

    def infinite_rl(
        prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> list[float | None]:
        samples = _samples({**columns, "prompt": map(_question, prompts)}, len(completions))
        try:
            scores = scorer.judge(zip(samples, map(text_of, completions), strict=True))
        except UnknownName as error:
            if error.kind == "reward":
                error.args = (f"{error}; for_trl(extra={{{error.name!r}: ...}}) gives your own",)
            raise
        faults = [getattr(each, "fault", "") for each in columns.get("environments") or ()]
        for index, fault in enumerate(faults):
            if fault:  # the model could not do what it was promised
                scores[index] = unscored(0.0, NOT_JUDGED + fault)
        if log_extra := columns.get("log_extra"):
            log_extra("status", [score.status for score in scores])
            log_extra("error", [score.error_msg for score in scores])
        return [scorer.reward(score) for score in scores]

    return infinite_rl


def tools_for_trl(*tools: str, limits: SessionLimits | None = None) -> TRLEnvironment:
    """An `environment_factory` for TRL: a class whose methods are tools, by default `python`.

    `for_trl()` judges the model's last message, as without tools. If a tool fails by a fault of
    ours, the reward of the rollout is None. `limits` are those of an episode's session.

    Raises:
        UnknownName: there is no such tool; `submit` is none here, the last message is the answer.
        RuntimeMissing: a language's runtime is not installed.
    """
    names = tools or ("python",)
    table = {name: tool for name, tool in TOOLS.items() if tool.language}
    methods = {name: _method(look_up("tool", name, table)) for name in names}
    Episode(tools=names)  # which looks for the runtimes
    return type("InfiniteRLTools", (_Environment,), {**methods, "_tools": names, "_limits": limits})


class _Environment:
    """The tools of one rollout at a time: TRL makes instances once and resets them."""

    _tools: tuple[str, ...] = ()
    _limits: SessionLimits | None = None

    def __init__(self) -> None:
        self._episode = Episode(tools=self._tools, limits=self._limits)

    def reset(self, **row: Any) -> None:
        """Begin another rollout, without anything of the last one."""
        self._episode.close()
        columns = {name: [value] for name, value in row.items() if name != "prompt"}
        sample = _samples({**columns, "prompt": [_question(row.get("prompt"))]}, 1)[0]
        self._episode = Episode(sample, self._tools, self._limits)

    @property
    def fault(self) -> str:
        """What failed on our side, "" if nothing did."""
        return self._episode.fault


def _method(tool: Tool) -> Callable[[_Environment, str], str]:
    def method(self: _Environment, code: str) -> str:
        return self._episode.call(tool.name, {tool.argument: code})

    tool.document(method)
    return method


def _samples(columns: Mapping[str, Any], count: int) -> list[Sample]:
    if "ground_truth" in columns:
        truths = zip(map(unpack, columns["ground_truth"]), columns["prompt"], strict=True)
        return [each if each.prompt else replace(each, prompt=text) for each, text in truths]
    if not {"type", "answer"} <= columns.keys():
        raise UsageError(
            "the data set needs the column ground_truth, or type and answer "
            f"(its columns: {', '.join(columns)})"
        )
    languages = columns.get("language") or [""] * count
    rows = zip(columns["prompt"], columns["type"], columns["answer"], languages, strict=True)
    names = ("prompt", "type", "answer", "language")
    return [sample_of(dict(zip(names, row, strict=True))) for row in rows]


def _question(prompt: object) -> str:
    """The task of a prompt: a text, or the last message of the user."""
    if isinstance(prompt, list):
        prompt = [each for each in prompt if each.get("role") == "user"]
    return text_of(prompt, "user")
