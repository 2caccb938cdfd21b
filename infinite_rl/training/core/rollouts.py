"""Rollouts of a step's prompts, sampled and scored, possibly while the model learns from others.

With a staleness bound of s, the rollouts of step t are requested at the beginning of step t - s,
with the weights of that moment, and sampled by a copy of the model in a thread. So sampling and
scoring overlap the updates. At s = 0 the model itself samples.
"""

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
from ..runs.config import TrainingConfig
from .batches import CACHED_TOKENS, rows_of_step
from .encoding import Prompt
from .learner import Learner
from .mixed import scorer_of_row
from .rollout_types import Rollout, staleness, to_rollout
from .sampling import Sampled, random_numbers, sample
from .tool_turns import sample_with_tools

Row: TypeAlias = "Mapping[str, Any]"
RolloutLogger: TypeAlias = "Callable[..., None]"  # as `RunLog.rollout`
Reward: TypeAlias = "Scorer | Callable[[Sequence[Row], Sequence[str]], Sequence[float | None]]"


@dataclass(frozen=True)
class RolloutBatch:
    """The rollouts of the prompts at `indices`, `group_size` each, in the order of the prompts.

    `version` counts the updates of the policy that sampled them.
    """

    version: int
    indices: list[int]
    rollouts: list[Rollout]
    sampling_s: float
    judging_s: float


def compute_rewards(
    reward: Reward, rows: Sequence[Row], texts: Sequence[str]
) -> list[float | None]:
    """The reward of each completion of a row; None without a verdict.

    Raises:
        UsageError: a custom reward did not return a finite number, or None, for each completion.
    """
    if not isinstance(reward, Scorer):
        rewards = list(reward(rows, texts))
        if len(rewards) != len(texts):
            raise UsageError(f"the reward gave {len(rewards)} values for {len(texts)} completions")
        return [None if each is None else _finite(each) for each in rewards]
    scorers = [scorer_of_row(reward, row) for row in rows]
    by_index: dict[int, float | None] = {}
    for scorer in dict.fromkeys(scorers):  # the completions of one scorer together
        indices = [index for index, each in enumerate(scorers) if each is scorer]
        scores = scorer.judge((sample_of(rows[index]), texts[index]) for index in indices)
        by_index.update(zip(indices, map(scorer.reward, scores), strict=True))
    return [by_index[index] for index in range(len(rows))]


def preflight(reward: Reward, rows: Sequence[Row]) -> None:
    """Check that a scorer has a reward and a runtime for every kind of row, before hours of work.

    A custom reward is not checked.

    Raises:
        UnknownName: an unknown reward or language.
        RuntimeMissing, SandboxError: nothing can be scored.
    """
    if isinstance(reward, Scorer):
        kinds = {(row.get("type"), row.get("language") or ""): row for row in rows}
        reward.judge((sample_of(row), "") for row in kinds.values())


def _finite(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not -float("inf") < number < float("inf"):
        raise UsageError(f"the reward gave {value!r}, which is no finite number")
    return number


class RolloutPrefetcher:
    """Samples the rollouts of the steps, up to `max_staleness` steps ahead.

    A step's prompts and the draws for them depend on the seed, the step and the weights alone.
    """

    def __init__(self, learner: Learner, prompts: Sequence[Prompt], reward: Reward) -> None:
        self._learner, self._prompts, self._reward = learner, prompts, reward
        self._ahead = learner.config.max_staleness
        self._pending: dict[int, Future[RolloutBatch]] = {}
        # A copy: the model itself changes while the thread samples.
        self._sampler: Any = copy.deepcopy(learner.model) if self._ahead else None
        self._thread = ThreadPoolExecutor(1, "sampler") if self._ahead else None
        self.too_old = 0  # discarded batches
        self._fingerprint = sampling_fingerprint(learner.config, prompts) if self._ahead else ""

    def take(self, step: int) -> RolloutBatch:
        """The rollouts of a step, sampled at most `max_staleness` updates ago.

        An older batch, prefetched by a run with a larger bound, is discarded and sampled again.
        """
        self._prefetch(step)
        pending = self._pending.pop(step, None)
        if pending is not None:
            batch = pending.result()
            if staleness(step, batch.version) <= self._ahead:
                return batch
            self.too_old += 1
        return self._sample(self._learner.model, step, version=step)

    def state(self) -> list[dict[str, Any]]:
        """The batches of the steps to come, once they are sampled."""
        return [
            {"step": step, "sampling": self._fingerprint, **asdict(pending.result())}
            for step, pending in self._pending.items()
        ]

    def restore(self, state: Sequence[Mapping[str, Any]]) -> None:
        """Restore what `state` returned, except for other prompts or sampling settings."""
        for entry in state:  # by position: earlier versions used other keys
            step, fingerprint, version, indices, rollouts, *seconds = entry.values()
            if fingerprint != self._fingerprint:
                self.too_old += 1
                continue
            done: Future[RolloutBatch] = Future()
            rollouts = [Rollout(**each) for each in rollouts]
            done.set_result(RolloutBatch(version, indices, rollouts, *seconds))
            self._pending[step] = done

    def close(self) -> None:
        """End the thread after its current batch."""
        if self._thread:
            self._thread.shutdown(cancel_futures=True)

    def _prefetch(self, step: int) -> None:
        """Request all steps up to `max_staleness` ahead that were not requested yet."""
        last = min(step + self._ahead, self._learner.config.max_steps - 1)
        missing = [each for each in range(step, last + 1) if each not in self._pending]
        if not missing or self._thread is None:
            return
        weights = {
            name: tensor.detach().clone()
            for name, tensor in self._learner.model.state_dict().items()
        }

        def prefetched(ahead: int) -> RolloutBatch:
            self._sampler.load_state_dict(weights)
            return self._sample(self._sampler, ahead, version=step)

        for each in missing:
            self._pending[each] = self._thread.submit(prefetched, each)

    def _sample(self, model: Any, step: int, version: int) -> RolloutBatch:
        config = self._learner.config
        order = config.order("prompts")
        indices = rows_of_step(len(self._prompts), config.batch_size, step, order)
        began = time.perf_counter()
        generator = random_numbers(config.seed, "sample", step)
        prompts = [self._prompts[index] for index in indices]
        if config.tools:
            sampled = sample_with_tools(self._learner, model, prompts, generator)
        else:
            sampled = sum(sample_groups(self._learner, model, prompts, generator), [])
        scoring = time.perf_counter()
        rows = [prompt.row for prompt in prompts for _ in range(config.group_size)]
        rewards = compute_rewards(self._reward, rows, [each.text for each in sampled])
        rollouts = [to_rollout(config, *pair) for pair in zip(sampled, rewards, strict=True)]
        seconds = scoring - began, time.perf_counter() - scoring
        return RolloutBatch(version, indices, rollouts, *seconds)


def sample_groups(
    learner: Learner,
    model: Any,
    prompts: Sequence[Prompt],
    generator: torch.Generator | Sequence[torch.Generator],
) -> list[list[Sampled]]:
    """`group_size` completions of each prompt, as the learner's config says; see `sample`.

    The `text` of each is what the reward scores, with the part that the prompt has begun.
    """
    config = learner.config
    by_stop: dict[tuple[str, ...], list[int]] = {}
    for index, prompt in enumerate(prompts):
        by_stop.setdefault(prompt.rendered.stop, []).append(index)
    groups: dict[int, list[Sampled]] = {}
    with learner.autocast():
        for stop, indices in by_stop.items():
            sampled = sample(
                model,
                learner.tokenizer,
                [prompts[index].ids for index in indices],
                n=config.group_size,
                max_new_tokens=config.max_new_tokens,
                temperature=config.temperature,
                top_p=config.top_p,
                stop=stop,
                generator=[generator[index] for index in indices]
                if isinstance(generator, Sequence)
                else generator,
                tokens_per_batch=CACHED_TOKENS * config.tokens_per_batch,
            )
            groups.update(zip(indices, sampled, strict=True))
    return [
        [replace(each, text=prompt.rendered.response(each.text)) for each in groups[index]]
        for index, prompt in enumerate(prompts)
    ]


def sampling_fingerprint(config: TrainingConfig, prompts: Sequence[Prompt]) -> str:
    """Identifies the prompts and the sampling settings of prefetched rollouts."""
    settings = (config.seed, config.batch_size, config.group_size, config.temperature)
    inputs = [(each.ids, each.rendered.stop) for each in prompts]
    tools = [config.tools, config.max_tool_calls] if config.tools else []
    text = json.dumps([*settings, config.top_p, config.max_new_tokens, inputs, *tools])
    return hashlib.sha256(text.encode("ascii")).hexdigest()
