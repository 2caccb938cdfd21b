"""GRPO and its relatives: completions with a reward above their group's mean become likelier."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from ...errors import UsageError
from ..runs.config import TrainingConfig
from .advantages import group_advantages
from .batches import microbatches
from .encoding import Prompt, build_prompts
from .learner import Learner
from .loss import PRESETS, objective_of, policy_loss, sequence_weights
from .mixed import by_dataset
from .rollout_types import Rollout, staleness
from .rollouts import Reward, RolloutLogger, RolloutPrefetcher, Row
from .sft import SFT, likelihood
from .tensors import masked_mean


@dataclass(frozen=True)
class TrainingSample:
    """A rollout to train on: its prompt's ids, advantage, group number, and policy version."""

    prompt: list[int]
    rollout: Rollout
    advantage: float
    group: int
    version: int

    def __len__(self) -> int:
        return len(self.prompt) + len(self.rollout.ids)


class PolicyGradient:
    """Policy gradient updates on rollouts, wherever they were sampled, by the config's `loss`.

    With a positive `sft_weight`, an SFT loss on the rows that have a response is added.

    Raises:
        UsageError: a row without the columns of a task, or no prompt leaves room for a completion.
    """

    def __init__(self, learner: Learner, rows: Sequence[Row]) -> None:
        config = learner.config
        self._learner = learner
        self._objective = objective_of(config)
        self.prompts = build_prompts(rows, learner.tokenizer, learner.max_tokens, config)
        self._sft = None
        if config.sft_weight:
            with_response = [row for row in rows if row.get("response")]
            if not with_response:
                raise UsageError("sft_weight needs rows with a response, and none has one")
            self._sft = SFT(learner, with_response)
        self._reference = learner.load().eval().requires_grad_(False) if config.kl_coef else None

    def samples(
        self, indices: Sequence[int], rollouts: Sequence[Rollout], versions: Sequence[int]
    ) -> list[TrainingSample]:
        """The rollouts of the prompts at `indices`, `group_size` each, with their advantages.

        `versions` are those of the policies that sampled each group.
        """
        values = advantages(rollouts, self._learner.config).tolist()
        size = self._learner.config.group_size
        groups = [group for group in range(len(indices)) for _ in range(size)]
        return [
            TrainingSample(
                self.prompts[indices[group]].ids, rollout, advantage, group, versions[group]
            )
            for group, rollout, advantage in zip(groups, rollouts, values, strict=True)
        ]

    def learn(self, step: int, samples: Sequence[TrainingSample]) -> dict[str, float]:
        """One update, the number `step` from 0; returns its metrics.

        Groups of equal rewards have zero advantages: they are dropped and counted. A step whose
        groups are all dropped changes no weights. The loss's means are over the rest, so a group
        weighs the more, the fewer there are; with `count_equal_groups` they are over all groups, as
        in TRL, and dropped groups have a part in the divergence.
        """
        began = time.perf_counter()
        with_signal = {sample.group for sample in samples if sample.advantage}
        counted = [sample for sample in samples if sample.rollout.reward is not None]
        kept = [sample for sample in counted if sample.group in with_signal]
        if not self._learner.config.count_equal_groups:
            counted = kept
        elif self._objective.beta:
            kept = counted
        values = self._accumulate(kept, counted) if kept else {}
        tokens = sum(map(len, kept))
        if self._sft:
            batch = self._sft.batch(step, "mix")
            values["sft_loss"] = likelihood(self._learner, batch, self._learner.config.sft_weight)
            tokens += sum(map(len, batch))
        if values:
            values |= self._learner.update(step)
        seconds = time.perf_counter() - began
        return {
            **_rollout_metrics([sample.rollout for sample in samples]),
            **values,
            "staleness": fmean(staleness(step, sample.version) for sample in samples),
            "dropped_groups": len({sample.group for sample in samples} - with_signal),
            "tokens": tokens,
            **self._learner.speed(tokens, seconds),
            "training_s": seconds,
        }

    def _accumulate(
        self, samples: Sequence[TrainingSample], counted: Sequence[TrainingSample]
    ) -> dict[str, float]:
        """Accumulate the gradient of the loss, whose means are over `counted`, which `samples` are
        among. The statistics are means over the response tokens."""
        config = self._learner.config
        weights = sequence_weights(
            torch.tensor([sample.rollout.drawn for sample in counted]),
            self._objective.reduce,
            groups=torch.tensor([sample.group for sample in counted]),
            constant=config.max_new_tokens,
        )
        learned = set(map(id, samples))
        weights = weights[torch.tensor([id(sample) in learned for sample in counted])]
        sums: defaultdict[str, float] = defaultdict(float)
        for part in _forward_passes(samples, config):
            statistics = self._backward([samples[i] for i in part], weights[part])
            for name, value in statistics.items():
                sums[name] += value
        tokens, loss = sums.pop("tokens"), sums.pop("loss")
        means = {name: value / tokens for name, value in sums.items()}
        if "clip_low" in means:
            means["clip_share"] = means["clip_low"] + means["clip_high"]
        return {"loss": loss, **means}

    def _backward(self, samples: Sequence[TrainingSample], weights: Tensor) -> dict[str, float]:
        """The loss of a microbatch and its gradient; statistics as sums over its tokens."""
        learner, temperature = self._learner, self._learner.config.temperature
        device = learner.device
        inputs = [sample.prompt for sample in samples], [sample.rollout.ids for sample in samples]
        policy = learner.response_log_probs(*inputs, temperature=temperature, entropy=True)
        mask = drawn_tokens(samples, policy["response_mask"])
        reference = None
        if self._reference is not None:
            with torch.no_grad():
                reference = learner.response_log_probs(
                    *inputs, temperature=temperature, model=self._reference
                )["log_probs"]
        loss, statistics = policy_loss(
            policy["log_probs"],
            old_log_probs(samples, policy["response_mask"]),
            torch.tensor([sample.advantage for sample in samples], device=device),
            mask,
            self._objective,
            ref_log_probs=reference,
            weights=weights.to(device),
        )
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        statistics["entropy"] = masked_mean(policy["token_entropy"].detach(), mask)
        tokens = float(statistics.pop("tokens"))
        del statistics["sequences"]
        sums = {name: float(value) * tokens for name, value in statistics.items()}
        return {"loss": float(loss.detach()), "tokens": tokens, **sums}


class GRPO(PolicyGradient):
    """Policy gradients on rollouts that are sampled and scored in this process."""

    def __init__(self, learner: Learner, rows: Sequence[Row], reward: Reward) -> None:
        super().__init__(learner, rows)
        self._prefetcher = RolloutPrefetcher(learner, self.prompts, reward)

    def step(self, step: int, log: RolloutLogger) -> dict[str, float]:
        """Sample, log each rollout, and `learn`."""
        began = time.perf_counter()
        batch = self._prefetcher.take(step)
        waited = time.perf_counter() - began
        samples = self.samples(batch.indices, batch.rollouts, [batch.version] * len(batch.indices))
        rewards: list[list[float | None]] = [[] for _ in batch.indices]
        for sample in samples:
            prompt = self.prompts[batch.indices[sample.group]]
            rewards[sample.group].append(sample.rollout.reward)
            record = rollout_record(prompt, sample.rollout, sample.advantage)
            log(step + 1, prompt.row, version=batch.version, **record)
        return {
            **self.learn(step, samples),
            **by_dataset(zip((self.prompts[i].row for i in batch.indices), rewards, strict=True)),
            "too_old": self._prefetcher.too_old,
            "sampling_s": batch.sampling_s,
            "judging_s": batch.judging_s,
            "waiting_s": waited,
            "seconds": time.perf_counter() - began,
        }

    def state(self) -> dict[str, Any]:
        """The checkpoint state besides the step: prefetched rollouts."""
        return {"rollouts": self._prefetcher.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        self._prefetcher.restore(state["rollouts"])

    def close(self) -> None:
        """End the sampling thread."""
        self._prefetcher.close()


def rollout_record(prompt: Prompt, rollout: Rollout, advantage: float) -> dict[str, Any]:
    """A rollout as a line of rollouts.jsonl."""
    return {
        "row": prompt.id,
        "prompt": prompt.rendered.text,
        "completion": rollout.text,
        "reward": rollout.reward,
        "advantage": advantage,
        "tokens": len(rollout.ids),
        "finish_reason": rollout.finish_reason,
        **({"transcript": rollout.transcript} if rollout.tool_calls else {}),
    }


def advantages(rollouts: Sequence[Rollout], config: TrainingConfig) -> Tensor:
    """The advantage of each rollout in its group of `group_size`; 0 without a verdict: (N,)."""
    rewards = [float("nan") if each.reward is None else each.reward for each in rollouts]
    return group_advantages(rewards, config.group_size, std=PRESETS[config.loss].std)


def old_log_probs(samples: Sequence[TrainingSample], mask: Tensor) -> Tensor:
    """The sampler's log-probability of each response token, by the mask: (B, T)."""
    log_probs = torch.zeros(mask.shape, device=mask.device)
    values = [value for sample in samples for value in sample.rollout.log_probs]
    log_probs[mask.bool()] = torch.tensor(values, device=mask.device)
    return log_probs


def drawn_tokens(samples: Sequence[TrainingSample], mask: Tensor) -> Tensor:
    """The response mask (B, T), with 0 on tokens that a tool wrote."""
    drawn = mask.clone()
    for row, sample in enumerate(samples):
        if sample.rollout.loss_mask is not None:
            values = torch.tensor(sample.rollout.loss_mask, device=mask.device, dtype=mask.dtype)
            drawn[row, mask[row].bool()] = values
    return drawn


def _forward_passes(samples: Sequence[TrainingSample], config: TrainingConfig) -> list[list[int]]:
    """Indices of samples, split into forward passes by `prompts_per_pass` and tokens."""
    prompts_per_pass = config.prompts_per_pass or len(samples)
    passes: defaultdict[int, list[int]] = defaultdict(list)
    for index, sample in enumerate(samples):
        passes[sample.group // prompts_per_pass].append(index)
    lengths = [(len(sample.prompt), len(sample.rollout.ids)) for sample in samples]
    return [
        [indices[i] for i in part]
        for indices in passes.values()
        for part in microbatches([lengths[index] for index in indices], config.tokens_per_batch)
    ]


def _rollout_metrics(rollouts: Sequence[Rollout]) -> dict[str, float]:
    rewards = [each.reward for each in rollouts if each.reward is not None]
    lengths = [len(each.ids) for each in rollouts]
    calls = [each.tool_calls for each in rollouts]
    return {
        **({"reward": fmean(rewards)} if rewards else {}),
        "unscored": len(rollouts) - len(rewards),
        "length": fmean(lengths),
        "truncated": fmean(each.finish_reason == "length" for each in rollouts),
        "completions": len(rollouts),
        "sampled_tokens": sum(each.drawn for each in rollouts),
        **({"tool_calls": fmean(calls)} if any(calls) else {}),
    }
