"""GRPO and its relatives: answers that got more than their group's mean become likelier."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from ...errors import UsageError
from ..engines.roles import Rollout
from ..runs.config import TrainingConfig
from .advantages import group_advantages
from .batches import microbatches
from .encoding import Prompt, prompts
from .learner import Learner
from .loss import PRESETS, policy_loss, sequence_weights
from .mixed import by_dataset
from .rollouts import Reward, RolloutBatch, RolloutLogger, RolloutPrefetcher, Row
from .sft import SFT, likelihood
from .tensors import masked_mean


@dataclass(frozen=True)
class TrainingSample:
    """An answer to learn from: its prompt's ids, its advantage, which group it is of."""

    prompt: list[int]
    answer: Rollout
    advantage: float
    group: int

    def __len__(self) -> int:
        return len(self.prompt) + len(self.answer.ids)


class PolicyGradient:
    """Policy gradients on the rewards of answers, whoever sampled them, by the config's `loss`.

    Where `sft_weight` is positive, the rows that have a response are learned from beside.

    Raises:
        UsageError: a row is no task, or no prompt leaves room for an answer.
    """

    def __init__(self, learner: Learner, rows: Sequence[Row]) -> None:
        config = learner.config
        self._learner = learner
        self._objective = replace(PRESETS[config.loss], beta=config.kl_coef)
        self.prompts = build_prompts(rows, learner.tokenizer, learner.most, config)
        self._sft = SFT(learner, _with_response(rows)) if config.sft_weight else None
        self._reference = learner.load().eval().requires_grad_(False) if config.kl_coef else None

    def turns(self, places: Sequence[int], answers: Sequence[Rollout]) -> list[TrainingSample]:
        """The answers to the prompts at `places`, `group_size` to each, with their advantages."""
        size = self._learner.config.group_size
        found = advantages(answers, self._learner.config).tolist()
        groups = [place for place in range(len(places)) for _ in range(size)]
        return [
            TrainingSample(self.prompts[places[group]].ids, answer, advantage, group)
            for group, answer, advantage in zip(groups, answers, found, strict=True)
        ]

    def learn(self, step: int, turns: Sequence[TrainingSample]) -> dict[str, float]:
        """One update, the number `step` from 0; what is to be told of it.

        Groups whose rewards are all equal teach nothing: they are left out and counted. A step that
        is left with none changes no weight.
        """
        began = time.perf_counter()
        kept = _kept(turns)
        values = self._learn(kept) if kept else {}
        tokens = sum(map(len, kept))
        if self._sft:
            batch = self._sft.batch(step, "mix")
            values["sft_loss"] = likelihood(self._learner, batch, self._learner.config.sft_weight)
            tokens += sum(map(len, batch))
        if values:
            values |= self._learner.update(step)
        taken = time.perf_counter() - began
        return {
            **_told([turn.answer for turn in turns]),
            **values,
            "dropped_groups": len({turn.group for turn in turns} - {turn.group for turn in kept}),
            "tokens": tokens,
            **self._learner.speed(tokens, taken),
            "training_s": taken,
        }

    def _learn(self, turns: Sequence[TrainingSample]) -> dict[str, float]:
        """Add the gradient of the loss of all turns; means of its statistics over their tokens."""
        config = self._learner.config
        weights = sequence_weights(
            torch.tensor([len(turn.answer.ids) for turn in turns]),
            self._objective.reduce,
            groups=torch.tensor([turn.group for turn in turns]),
            constant=config.max_new_tokens,
        )
        sums: dict[str, float] = {}
        lengths = [(len(turn.prompt), len(turn.answer.ids)) for turn in turns]
        for part in _parts([turn.group for turn in turns], lengths, config):
            found = self._backward([turns[place] for place in part], weights[part])
            for name, value in found.items():
                sums[name] = sums.get(name, 0.0) + value
        tokens = sums.pop("tokens")
        loss = sums.pop("loss")
        means = {name: value / tokens for name, value in sums.items()}
        if "clip_low" in means:
            means["clip_share"] = means["clip_low"] + means["clip_high"]
        return {"loss": loss, **means}

    def _backward(self, turns: Sequence[TrainingSample], weights: Tensor) -> dict[str, float]:
        """The loss of a microbatch and its gradient; statistics as sums over its tokens."""
        learner, temperature = self._learner, self._learner.config.temperature
        device = learner.device
        given = [turn.prompt for turn in turns], [turn.answer.ids for turn in turns]
        found = learner.answer_log_probs(*given, temperature=temperature, entropy=True)
        mask = found["response_mask"]
        reference = None
        if self._reference is not None:
            with torch.no_grad():
                reference = learner.answer_log_probs(
                    *given, temperature=temperature, model=self._reference
                )["log_probs"]
        loss, statistics = policy_loss(
            found["log_probs"],
            old_log_probs(turns, mask),
            torch.tensor([turn.advantage for turn in turns], device=device),
            mask,
            self._objective,
            ref_log_probs=reference,
            weights=weights.to(device),
        )
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        statistics["entropy"] = masked_mean(found["token_entropy"].detach(), mask)
        tokens = float(statistics.pop("tokens"))
        del statistics["sequences"]
        means = {name: float(value) * tokens for name, value in statistics.items()}
        return {"loss": float(loss.detach()), "tokens": tokens, **means}


class GRPO(PolicyGradient):
    """Policy gradients on answers that are sampled and judged here, each step's or ahead."""

    def __init__(self, learner: Learner, rows: Sequence[Row], reward: Reward) -> None:
        super().__init__(learner, rows)
        self._rollouts = RolloutPrefetcher(learner, self.prompts, reward)

    def step(self, step: int, record: RolloutLogger) -> dict[str, float]:
        """Sample, and learn as `learn` says; `record` is told of each answer."""
        began = time.perf_counter()
        rollout = self._rollouts.take(step)
        waited = time.perf_counter() - began
        turns = self.turns(rollout.places, rollout.answers)
        self._tell(step, rollout, turns, record)
        return {
            **self.learn(step, turns),
            **by_dataset(self._groups(rollout)),
            "staleness": step - rollout.version,
            "too_old": self._rollouts.too_old,
            "sampling_s": rollout.sampling_s,
            "judging_s": rollout.judging_s,
            "waiting_s": waited,
            "seconds": time.perf_counter() - began,
        }

    def state(self) -> dict[str, Any]:
        """What it takes to go on, beyond the number of the step: answers sampled ahead."""
        return {"rollouts": self._rollouts.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave."""
        self._rollouts.restore(state["rollouts"])

    def close(self) -> None:
        """End the sampling thread."""
        self._rollouts.close()

    def _groups(self, rollout: RolloutBatch) -> Iterator[tuple[Row, list[float | None]]]:
        """The row of each prompt, and its answers' rewards."""
        size = self._learner.config.group_size
        rewards = [each.reward for each in rollout.answers]
        for group, place in enumerate(rollout.places):
            yield self.prompts[place].row, rewards[group * size : (group + 1) * size]

    def _tell(
        self,
        step: int,
        rollout: RolloutBatch,
        turns: Sequence[TrainingSample],
        record: RolloutLogger,
    ) -> None:
        for turn in turns:
            prompt = self.prompts[rollout.places[turn.group]]
            told = rollout_record(prompt, turn.answer, turn.advantage)
            record(step + 1, version=rollout.version, **told)


def build_prompts(
    rows: Sequence[Row], tokenizer: Any, most: int, config: TrainingConfig
) -> list[Prompt]:
    """The rows as prompts that leave room for an answer in a sequence of `most` tokens.

    Raises:
        UsageError: a row is no task, or no prompt leaves room for an answer.
    """
    left = most - config.max_new_tokens
    if left < 1:
        raise UsageError(
            f"max_new_tokens ({config.max_new_tokens}) leaves no room for a prompt: a sequence "
            f"may have {most} tokens, by the model's context and tokens_per_batch"
        )
    return prompts(rows, tokenizer, config.prompt_template, left)


def rollout_record(prompt: Prompt, answer: Rollout, advantage: float) -> dict[str, Any]:
    """What a line of rollouts.jsonl says of an answer."""
    return {
        "row": prompt.id,
        "prompt": prompt.said.text,
        "completion": answer.text,
        "reward": answer.reward,
        "advantage": advantage,
        "tokens": len(answer.ids),
        "finish_reason": answer.finish_reason,
    }


def advantages(answers: Sequence[Rollout], config: TrainingConfig) -> Tensor:
    """The advantage of each answer among its `group_size`, 0 where it has no verdict: (N,)."""
    rewards = [_NO_VERDICT if each.reward is None else each.reward for each in answers]
    return group_advantages(rewards, config.group_size, std=PRESETS[config.loss].std)


def old_log_probs(turns: Sequence[TrainingSample], mask: Tensor) -> Tensor:
    """What the sampler gave each token of the answers, where the mask is 1: (B, T)."""
    found = torch.zeros(mask.shape, device=mask.device)
    given = [value for turn in turns for value in turn.answer.log_probs]
    found[mask.bool()] = torch.tensor(given, device=mask.device)
    return found


def _parts(
    groups: Sequence[int], lengths: Sequence[tuple[int, int]], config: TrainingConfig
) -> list[list[int]]:
    """The places of turns, cut into forward passes by the config's bounds."""
    passes: dict[int, list[int]] = {}
    for place, group in enumerate(groups):
        passes.setdefault(group // (config.prompts_per_pass or len(groups)), []).append(place)
    return [
        [places[each] for each in part]
        for places in passes.values()
        for part in microbatches([lengths[place] for place in places], config.tokens_per_batch)
    ]


def _told(answers: Sequence[Rollout]) -> dict[str, float]:
    """What the answers of a step were like."""
    rewards = [each.reward for each in answers if each.reward is not None]
    lengths = [len(each.ids) for each in answers]
    cut = [each.finish_reason == "length" for each in answers]
    return {
        **({"reward": fmean(rewards)} if rewards else {}),
        "unscored": len(answers) - len(rewards),
        "length": fmean(lengths),
        "truncated": fmean(cut),
        "completions": len(answers),
        "sampled_tokens": sum(lengths),
    }


def _kept(turns: Sequence[TrainingSample]) -> list[TrainingSample]:
    """The answers of groups in which some advantage is not 0."""
    telling = {turn.group for turn in turns if turn.advantage}
    return [turn for turn in turns if turn.group in telling and turn.answer.reward is not None]


def _with_response(rows: Sequence[Row]) -> list[Row]:
    found = [row for row in rows if row.get("response")]
    if not found:
        raise UsageError("sft_weight needs rows with a response, and none has one")
    return found


_NO_VERDICT = float("nan")
