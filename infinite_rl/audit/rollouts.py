"""The audit in training: rollouts that are paid for a trick, while the reward rises.

    monitor = RolloutMonitor(strict=compute_reward)
    trainer = GRPOTrainer(model, watched(my_reward, monitor), ...)

`watched` records the rewards of a TRL reward function and logs the shares of suspicious rollouts.
Other loops call `RolloutMonitor.add` and `report` themselves.
"""

from __future__ import annotations

import random
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from statistics import median
from typing import Any, NamedTuple

from ..adapters.scorer import text_of

_MARKS = re.compile(r"\\boxed|<answer>|####|final answer", re.I)
_MANY_MARKS = 4  # stated answers in one rollout
_WINDOW, _PAID = 1024, 0.5  # rollouts that are kept, and the least reward of a paid one
_SAME = 4  # different prompts for which one text is paid
_SHORT = 0.25  # of the median length of earlier paid rollouts
_LEAST = 32  # rollouts, before anything is reported
_JUDGED = 16  # rollouts of a report that the strict reward judges


class Rollout(NamedTuple):
    """A completion in training, its reward, and its gold."""

    prompt: str
    completion: str
    reward: float
    answer: Any = None


class Suspicion(NamedTuple):
    """A kind of trick, the share of the paid rollouts that show it, and one of them."""

    kind: str
    share: float
    example: Rollout


class RolloutMonitor:
    """Keeps the last 1,024 rollouts; a rollout is paid from a reward of 0.5 on.

    `strict` is a stricter reward, f(completion, answer): 16 paid rollouts of each report are judged
    by it. It is called in the trainer's process: pass one that you trust, such as
    `infinite_rl.audit.ours.compute_reward`.
    """

    def __init__(self, strict: Callable[[str, Any], float | None] | None = None) -> None:
        self.strict = strict
        self._rollouts: deque[Rollout] = deque(maxlen=_WINDOW)
        self._chance = random.Random(0)
        self._length: float | None = None  # the median of the first paid rollouts

    def add(self, rollouts: Sequence[Rollout]) -> None:
        """Record rollouts of a step."""
        self._rollouts.extend(rollouts)
        if self._length is None and len(paid := self._paid()) >= _LEAST:
            self._length = median(len(each.completion) for each in paid)

    def is_rising(self) -> bool:
        """Whether the later half of the window earns more than the earlier half."""
        rewards = [each.reward for each in self._rollouts]
        half = len(rewards) // 2
        return len(rewards) >= _LEAST and sum(rewards[half:]) > sum(rewards[: len(rewards) - half])

    def report(self) -> list[Suspicion]:
        """The tricks of the paid rollouts of the window, the most frequent first."""
        paid = self._paid()
        if len(paid) < _LEAST:
            return []
        prompts: dict[str, set[str]] = {}
        for each in paid:
            prompts.setdefault(" ".join(each.completion.split()), set()).add(each.prompt)
        tricks: Mapping[str, Callable[[Rollout], bool]] = {
            "same text": lambda r: len(prompts[" ".join(r.completion.split())]) >= _SAME,
            "many answers": lambda r: len(_MARKS.findall(r.completion)) >= _MANY_MARKS,
            "short": lambda r: len(r.completion) < _SHORT * (self._length or 0),
        }
        suspicions = [
            Suspicion(kind, len(cases) / len(paid), min(cases, key=lambda r: len(r.completion)))
            for kind, shows in tricks.items()
            if (cases := [each for each in paid if shows(each)])
        ]
        suspicions += self._disagreements(paid)
        return sorted(suspicions, key=lambda each: -each.share)

    def metrics(self, suspicions: Sequence[Suspicion] | None = None) -> dict[str, float]:
        """The shares by kind, of a report or of a new one, for a trainer's log."""
        report = self.report() if suspicions is None else suspicions
        shares = {f"audit/{each.kind.replace(' ', '_')}": each.share for each in report}
        return {**shares, "audit/rising": float(self.is_rising())}

    def _paid(self) -> list[Rollout]:
        return [each for each in self._rollouts if each.reward >= _PAID]

    def _disagreements(self, paid: Sequence[Rollout]) -> list[Suspicion]:
        """Paid rollouts that the strict reward refuses."""
        if self.strict is None:
            return []
        sample = self._chance.sample(list(paid), min(_JUDGED, len(paid)))
        verdicts = [(each, self.strict(each.completion, each.answer)) for each in sample]
        refused = [each for each, verdict in verdicts if verdict is not None and verdict <= 0]
        return [Suspicion("refused", len(refused) / len(sample), refused[0])] if refused else []


def watched(
    reward: Callable[..., list[float | None]], monitor: RolloutMonitor, answer: str = "answer"
) -> Callable[..., list[float | None]]:
    """A TRL reward function that also records its rollouts; `answer` is the column of golds.

    The shares of suspicious rollouts are logged by TRL's `log_metric`.
    """

    @wraps(reward)
    def watching(
        prompts: Sequence[Any], completions: Sequence[Any], **columns: Any
    ) -> list[float | None]:
        rewards = reward(prompts=prompts, completions=completions, **columns)
        golds = columns.get(answer) or [None] * len(completions)
        monitor.add(
            [
                Rollout(str(prompt), text_of(completion), float(value), gold)
                for prompt, completion, value, gold in zip(
                    prompts, completions, rewards, golds, strict=True
                )
                if value is not None
            ]
        )
        if log_metric := columns.get("log_metric"):
            for name, share in monitor.metrics().items():
                log_metric(name, share)
        return rewards

    return watching
