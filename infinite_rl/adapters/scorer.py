"""What every adapter does: judge completions natively, and say what the trainer gets for it."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Iterable, Mapping
from inspect import signature
from typing import Any

from ..errors import UsageError, look_up
from ..reward_functions import get_reward_functions
from ..reward_functions.reward_function import RewardFunction
from ..types import RewardFunctionScore, Sample

logger = logging.getLogger(__name__)


class Scorer:
    """Judges completions by the rewards that their rows name. Safe to call from many threads.

    The trainer gets the verdict: 1.0 for what has passed, 0.0 for what has not. With `partial` it
    gets the correctness, in [0, 1], with credit for the share of tests that passed and for an
    output that is merely similar. A `format_weight` of w makes it (1 - w) * that + w * format: then
    a wrong answer in good form is worth w. `timeout` is in seconds, `extra` holds rewards of your
    own by name, as `get_reward_functions` takes them.

    Raises:
        UsageError: a weight outside [0, 1], a `partial` that is neither true nor false, or a
            timeout that is not positive.
    """

    def __init__(
        self,
        *,
        format_weight: float = 0.0,
        partial: bool = False,
        timeout: float = 5,
        extra: Mapping[str, RewardFunction] | None = None,
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
        }
        self._others: dict[str, Scorer] = {}
        self._rewards = get_reward_functions(timeout, extra)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process gets a scorer of the same settings, with sandboxes of its own."""
        return functools.partial(Scorer, **self._settings), ()

    @classmethod
    def of(cls, options: Mapping[str, Any], **others: Any) -> Scorer:
        """The scorer of settings as a file can say them, all but `extra`, and of `others`.

        Raises:
            UsageError: there is no such setting, or none of such a value.
        """
        known = [name for name in signature(cls).parameters if name != "extra"]
        for name in options:
            if name not in known:
                raise UsageError(f"reward has no option {name!r}; known: {', '.join(known)}")
        return cls(**{**others, **options})

    def but(self, options: Mapping[str, Any]) -> Scorer:
        """A scorer of these settings and, in all else, this one's; the same for the same.

        Raises:
            UsageError: there is no such setting, or none of such a value.
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
        places: dict[str, list[int]] = {}
        for place, (sample, _) in enumerate(pairs):
            look_up("reward", sample.type, self._rewards)
            places.setdefault(sample.type, []).append(place)
        scores: dict[int, RewardFunctionScore] = {}
        for name, its in places.items():
            found = self._rewards[name].score_many(pairs[place] for place in its)
            scores.update(zip(its, found, strict=True))
        return [scores[place] for place in range(len(pairs))]

    def judge_one(self, sample: Sample, completion: str) -> RewardFunctionScore:
        """The native score of one completion. Raises as `judge`."""
        return self.judge([(sample, completion)])[0]

    def reward(self, score: RewardFunctionScore) -> float | None:
        """What the trainer gets; None where the completion could not be judged."""
        if score.status == "unscored":
            return None
        right = score.correctness_score if self.partial else float(score.passed)
        return (1 - self.format_weight) * right + self.format_weight * score.format_score

    def number(self, score: RewardFunctionScore) -> float:
        """`reward`, for hosts that take numbers only: without a verdict 0.0, and a warning."""
        reward = self.reward(score)
        if reward is None:
            logger.warning("no verdict, so the reward is 0.0: %s", score.error_msg)
            return 0.0
        return reward


@functools.lru_cache(maxsize=16)
def scorer(format_weight: float = 0.0, partial: bool = False, timeout: float = 5) -> Scorer:
    """The scorer with these settings that this process shares."""
    return Scorer(format_weight=format_weight, partial=partial, timeout=timeout)


def text_of(completion: Any) -> str:
    """What the model has answered: a text as it is, or the last message if the model wrote it.

    A message holds a text, a list of parts, of which those of type "text" count, or None.
    """
    if isinstance(completion, str):
        return completion
    last = completion[-1] if completion else {}
    content = last.get("content") if last.get("role") == "assistant" else None
    if isinstance(content, list):
        texts = [part.get("text") for part in content if part.get("type") == "text"]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""
