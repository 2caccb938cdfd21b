"""SFT: the rows' responses become likelier."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from .batches import microbatches, rows_of_step
from .encoding import Example, examples
from .learner import Learner
from .loss import sft_microbatch_train_step
from .rollouts import RolloutLogger


class SFT:
    """Supervised fine-tuning on rows with a response.

    Raises:
        UsageError: a row is no task or has no response, or none fits in the model.
    """

    def __init__(self, learner: Learner, rows: Sequence[Mapping[str, Any]]) -> None:
        self._learner = learner
        config = learner.config
        self._examples = examples(rows, learner.tokenizer, config.prompt_template, learner.most)

    def step(self, step: int, record: RolloutLogger) -> dict[str, float]:  # noqa: ARG002 -- no sample
        """One update, the number `step` from 0; the loss is the mean over its response tokens."""
        began, learner = time.perf_counter(), self._learner
        batch = self.batch(step)
        loss = likelihood(learner, batch)
        values = {"loss": loss, **learner.update(step)}
        seconds = time.perf_counter() - began
        tokens = sum(map(len, batch))
        return {**values, "tokens": tokens, **learner.speed(tokens, seconds), "seconds": seconds}

    def batch(self, step: int, name: str = "sft") -> list[Example]:
        """The examples of a step; `name` tells schedules of one seed apart."""
        config = self._learner.config
        order = config.order(name)
        places = rows_of_step(len(self._examples), config.batch_size, step, order)
        return [self._examples[place] for place in places]

    def state(self) -> dict[str, Any]:
        """What it takes to go on, beyond the number of the step: nothing."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave."""

    def close(self) -> None:
        """Nothing is held."""


def likelihood(learner: Learner, batch: Sequence[Example], weight: float = 1.0) -> float:
    """Add the gradient of the mean negative log-likelihood of the batch's response tokens, times
    the weight; returns this mean."""
    parts = [
        learner.batch([batch[place].prompt for place in part],
                      [batch[place].response for place in part])
        for part in microbatches([(len(each),) for each in batch], learner.config.tokens_per_batch)
    ]  # fmt: skip
    tokens = sum(int(part["response_mask"].sum()) for part in parts)
    total = 0.0
    for part in parts:
        log_probs = learner.log_probs(part)["log_probs"]
        loss, _ = sft_microbatch_train_step(
            log_probs, part["response_mask"], normalize_constant=max(tokens, 1) / weight
        )
        total += float(loss.detach())
    return total / weight
