"""Answers sampled for a step's prompts and judged, perhaps while the model learns from others.

With a bound of s on staleness, the answers that step t learns from are asked for at the beginning
of step t - s, with the weights of that moment, and are sampled by a copy of the model in a thread
of its own. So sampling and judging go on beside the update. At s = 0 the model itself samples.
"""

from __future__ import annotations

import copy
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import torch

from ...adapters.scorer import Scorer
from ...errors import UsageError
from ...store import sample_of
from ..engines.roles import Rollout, to_rollout
from ..runs.config import TrainingConfig
from .batches import rows_of_step
from .encoding import Prompt
from .learner import Learner
from .mixed import scorer_of_row
from .sampling import Sampled, random_numbers, sample

Row: TypeAlias = "Mapping[str, Any]"
RolloutLogger: TypeAlias = "Callable[..., None]"  # takes a step and what is to be told of a sample
Reward: TypeAlias = "Scorer | Callable[[Sequence[Row], Sequence[str]], Sequence[float | None]]"


@dataclass(frozen=True)
class RolloutBatch:
    """The answers for the prompts at `places`, `group_size` for each, in the prompts' order.

    `version` is how many updates the policy had that sampled them.
    """

    version: int
    places: list[int]
    answers: list[Rollout]
    sampling_s: float
    judging_s: float


def judge(reward: Reward, rows: Sequence[Row], texts: Sequence[str]) -> list[float | None]:
    """The reward of each completion of a row, None where there is no verdict.

    Raises:
        UsageError: a reward of the caller's own has not given a number, or None, for each.
    """
    if isinstance(reward, Scorer):
        return _judged([scorer_of_row(reward, row) for row in rows], rows, texts)
    found = list(reward(rows, texts))
    if len(found) != len(texts):
        raise UsageError(f"the reward gave {len(found)} values for {len(texts)} completions")
    return [None if each is None else _number(each) for each in found]


def preflight(reward: Reward, rows: Sequence[Row]) -> None:
    """See that a scorer has a reward, and its runtime, for every kind of row, before hours of work.

    A reward of the caller's own is not tried.

    Raises:
        UnknownName: there is no such reward, or language.
        RuntimeMissing, SandboxError: nothing can be judged.
    """
    if isinstance(reward, Scorer):
        kinds = {(row.get("type"), row.get("language") or ""): row for row in rows}
        reward.judge((sample_of(row), "") for row in kinds.values())


def _judged(
    scorers: Sequence[Scorer], rows: Sequence[Row], texts: Sequence[str]
) -> list[float | None]:
    """What each row's scorer gives its completion; those of one scorer together."""
    found: dict[int, float | None] = {}
    for scorer in dict.fromkeys(scorers):
        places = [place for place, its in enumerate(scorers) if its is scorer]
        scores = scorer.judge((sample_of(rows[place]), texts[place]) for place in places)
        found.update(zip(places, map(scorer.reward, scores), strict=True))
    return [found[place] for place in range(len(rows))]


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not -float("inf") < number < float("inf"):
        raise UsageError(f"the reward gave {value!r}, which is no finite number")
    return number


class RolloutPrefetcher:
    """Makes the rollouts of the steps, as far ahead as the config's `max_staleness` says.

    Which prompts a step has, and what is drawn for them, follows from the seed, the step and the
    weights alone.
    """

    def __init__(self, learner: Learner, prompts: Sequence[Prompt], reward: Reward) -> None:
        self._learner, self._prompts, self._reward = learner, prompts, reward
        self._ahead = learner.config.max_staleness
        self._pending: dict[int, Future[RolloutBatch]] = {}
        # A copy of the model, made before it learns: in the thread it would change meanwhile.
        self._sampler: Any = copy.deepcopy(learner.model) if self._ahead else None
        self._thread = ThreadPoolExecutor(1, "sampler") if self._ahead else None
        self.too_old = 0  # rollouts that were sampled, but not to be learned from any more
        self._asked = name_of(learner.config, prompts) if self._ahead else ""

    def take(self, step: int) -> RolloutBatch:
        """The rollout of a step, sampled at most `max_staleness` updates ago.

        An older one, left by a run that allowed more, is put aside, and its prompts are sampled
        again.
        """
        self._ask_ahead(step)
        waiting = self._pending.pop(step, None)
        if waiting is not None:
            rollout = waiting.result()
            if step - rollout.version <= self._ahead:
                return rollout
            self.too_old += 1
        return self._made(self._learner.model, step, version=step)

    def state(self) -> list[dict[str, Any]]:
        """The rollouts of the steps to come, once they are there."""
        return [
            {"step": step, "asked": self._asked, **asdict(waiting.result())}
            for step, waiting in self._pending.items()
        ]

    def restore(self, state: Sequence[Mapping[str, Any]]) -> None:
        """Put back what `state` gave, but for answers to other prompts, or sampled otherwise."""
        for kept in state:
            if kept.get("asked") != self._asked:
                self.too_old += 1
                continue
            values = {name: kept[name] for name in kept if name not in _OF_STATE}
            answers = [Rollout(**answer) for answer in kept["answers"]]
            done: Future[RolloutBatch] = Future()
            done.set_result(RolloutBatch(answers=answers, **values))
            self._pending[kept["step"]] = done

    def close(self) -> None:
        """End the thread, once it has done what it is at."""
        if self._thread:
            self._thread.shutdown(cancel_futures=True)

    def _ask_ahead(self, step: int) -> None:
        """Ask for all steps up to `max_staleness` ahead that are not asked for yet."""
        last = min(step + self._ahead, self._learner.config.max_steps - 1)
        missing = [each for each in range(step, last + 1) if each not in self._pending]
        if not missing or self._thread is None:
            return
        weights = {
            name: tensor.detach().clone()
            for name, tensor in self._learner.model.state_dict().items()
        }
        for each in missing:
            self._pending[each] = self._thread.submit(self._made_beside, weights, each, step)

    def _made_beside(self, weights: Mapping[str, Any], step: int, version: int) -> RolloutBatch:
        self._sampler.load_state_dict(weights)
        return self._made(self._sampler, step, version)

    def _made(self, model: Any, step: int, version: int) -> RolloutBatch:
        config = self._learner.config
        order = config.order("prompts")
        places = rows_of_step(len(self._prompts), config.batch_size, step, order)
        began = time.perf_counter()
        generator = random_numbers(config.seed, "sample", step)
        asked = [self._prompts[place] for place in places]
        sampled = sum(sample_groups(self._learner, model, asked, generator), [])
        judging = time.perf_counter()
        rows = [prompt.row for prompt in asked for _ in range(config.group_size)]
        rewards = judge(self._reward, rows, [each.text for each in sampled])
        pairs = zip(sampled, rewards, strict=True)
        answers = [to_rollout(config, *pair) for pair in pairs]
        return RolloutBatch(
            version, places, answers, judging - began, time.perf_counter() - judging
        )


def sample_groups(
    learner: Learner,
    model: Any,
    prompts: Sequence[Prompt],
    generator: torch.Generator | Sequence[torch.Generator],
) -> list[list[Sampled]]:
    """`group_size` answers to each prompt, as the learner's config says; see `sample`.

    The `text` of each is what is to be judged, with what the prompt has begun of it.
    """
    config = learner.config
    by_stop: dict[tuple[str, ...], list[int]] = {}
    for place, prompt in enumerate(prompts):
        by_stop.setdefault(prompt.said.stop, []).append(place)
    found: dict[int, list[Sampled]] = {}
    with learner.autocast():
        for stop, places in by_stop.items():
            its = generator
            if isinstance(generator, Sequence):
                its = [generator[place] for place in places]
            groups = sample(
                model,
                learner.tokenizer,
                [prompts[place].ids for place in places],
                n=config.group_size,
                max_new_tokens=config.max_new_tokens,
                temperature=config.temperature,
                stop=stop,
                generator=its,
                tokens_per_batch=_CACHED * config.tokens_per_batch,
            )
            found.update(zip(places, groups, strict=True))
    return [
        [replace(each, text=prompt.said.response(each.text)) for each in found[place]]
        for place, prompt in enumerate(prompts)
    ]


# How many tokens may be in the cache for one that is trained on: that one keeps 34 bytes of a
# layer's width for the gradient (Korthikanti et al., arXiv:2205.05198, section 4.1, 16 bits), a key
# and a value take 4 at most.
_CACHED = 8
_OF_STATE = ("step", "asked", "answers")


def name_of(config: TrainingConfig, prompts: Sequence[Prompt]) -> str:
    """What tells the rollouts of these prompts, with these settings of sampling, from others."""
    settings = (config.seed, config.batch_size, config.group_size, config.temperature)
    asked = [(each.ids, each.said.stop) for each in prompts]
    text = json.dumps([*settings, config.max_new_tokens, asked])
    return hashlib.sha256(text.encode("ascii")).hexdigest()
