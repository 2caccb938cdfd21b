"""Shared by all adapters: judge completions and compute the trainer's reward."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Iterable, Mapping
from inspect import signature
from pathlib import Path
from typing import Any

from ..errors import UsageError, look_up
from ..reward_functions import REWARDS, get_reward_functions
from ..reward_functions.exported import rewards_in
from ..reward_functions.reward_function import RewardFunction
from ..types import RewardFunctionScore, Sample

logger = logging.getLogger(__name__)


class Scorer:
    """Judges completions by the rewards that their rows name. Thread-safe.

    The reward is the verdict: 1.0 if passed, else 0.0. With `partial` it is the correctness, in
    [0, 1], with credit for the share of tests that passed and for similar output. A `format_weight`
    of w makes it (1 - w) * that + w * format, so a wrong answer in good format is worth w.
    `timeout` is in seconds; `extra` are your own rewards by name, as in `get_reward_functions`.
    `rewards` is the folder `rewards` of an export, whose files are imported (`rewards_in`).

    Raises:
        UsageError: a weight outside [0, 1], a `partial` that is no bool, a timeout that is not
            positive, or as `rewards_in`.
    """

    def __init__(
        self,
        *,
        format_weight: float = 0.0,
        partial: bool = False,
        timeout: float = 5,
        extra: Mapping[str, RewardFunction] | None = None,
        rewards: str | Path | None = None,
    ) -> None:
        if not isinstance(format_weight, int | float) or not 0 <= format_weight <= 1:
            raise UsageError(f"the format's weight must be in [0, 1], not {format_weight!r}")
        if not isinstance(partial, bool):  # the text "false" would be true
            raise UsageError(f"partial is true or false, not {partial!r}")
        self.format_weight = format_weight
        self.partial = partial
        self._settings: dict[str, Any] = {
            "format_weight": format_weight,
            "partial": partial,
            "timeout": timeout,
            "extra": extra,
            "rewards": Path(rewards).absolute() if rewards else None,
        }
        self._others: dict[str, Scorer] = {}
        if rewards:
            extra = {**rewards_in(rewards, timeout), **(extra or {})}
        self._rewards = get_reward_functions(timeout, extra, only=())
        self._by_name = {**REWARDS, **self._rewards}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the settings: another process makes its own sandboxes."""
        return functools.partial(Scorer, **self._settings), ()

    @classmethod
    def of(cls, options: Mapping[str, Any], **others: Any) -> Scorer:
        """A scorer from the settings in a file (all but those that bring code), and `others`.

        Raises:
            UsageError: an unknown setting, or a wrong value.
        """
        names = [name for name in signature(cls).parameters if name not in ("extra", "rewards")]
        for name in options:
            if name not in names:
                raise UsageError(f"reward has no option {name!r}; known: {', '.join(names)}")
        return cls(**{**others, **options})

    def but(self, options: Mapping[str, Any]) -> Scorer:
        """A cached scorer with these settings, otherwise this one's.

        Raises:
            UsageError: an unknown setting, or a wrong value.
        """
        if not options:
            return self
        key = json.dumps(options, sort_keys=True, default=repr)
        if key not in self._others:
            self._others.setdefault(key, Scorer.of(options, **self._settings))
        return self._others[key]

    def judge(self, pairs: Iterable[tuple[Sample, str]]) -> list[RewardFunctionScore]:
        """The native score of each pair of a row and a completion, in their order.

        Raises:
            UnknownName: there is no such reward, or language.
            RuntimeMissing, SandboxError: nothing can be judged.
        """
        pairs = list(pairs)
        by_type: dict[str, list[int]] = {}
        for index, (sample, _) in enumerate(pairs):
            look_up("reward", sample.type, self._by_name)
            by_type.setdefault(sample.type, []).append(index)
        scores: dict[int, RewardFunctionScore] = {}
        for name, indices in by_type.items():
            if name not in self._rewards:  # loaded for the first row that needs it
                self._rewards |= get_reward_functions(self._settings["timeout"], only=(name,))
            judged = self._rewards[name].score_many(pairs[index] for index in indices)
            scores.update(zip(indices, judged, strict=True))
        return [scores[index] for index in range(len(pairs))]

    def judge_one(self, sample: Sample, completion: str) -> RewardFunctionScore:
        """The native score of one completion. Raises as `judge`."""
        return self.judge([(sample, completion)])[0]

    def reward(self, score: RewardFunctionScore) -> float | None:
        """The trainer's reward; None if the completion could not be judged."""
        if score.status == "unscored":
            return None
        right = score.correctness_score if self.partial else float(score.passed)
        return (1 - self.format_weight) * right + self.format_weight * score.format_score

    def number(self, score: RewardFunctionScore) -> float:
        """`reward` for trainers that require a number: 0.0 and a warning without a verdict."""
        reward = self.reward(score)
        if reward is None:
            logger.warning("no verdict, so the reward is 0.0: %s", score.error_msg)
            return 0.0
        return reward


@functools.lru_cache(maxsize=16)
def scorer(
    format_weight: float = 0.0,
    partial: bool = False,
    timeout: float = 5,
    rewards: str | Path | None = None,
) -> Scorer:
    """The process-wide scorer with these settings."""
    return Scorer(format_weight=format_weight, partial=partial, timeout=timeout, rewards=rewards)


def text_of(completion: Any, role: str = "assistant") -> str:
    """The model's answer: a text, or the last message if it is one of the model's `role`.

    A message holds a text, a list of parts, of which those of type "text" count, or None.
    """
    if isinstance(completion, str):
        return completion
    last = completion[-1] if completion else {}
    content = last.get("content") if last.get("role") == role else None
    if isinstance(content, list):
        texts = [part.get("text") for part in content if part.get("type") == "text"]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""
