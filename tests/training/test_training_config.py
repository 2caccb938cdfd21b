"""The config of a training run: what cannot be is refused before anything runs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from labelled import Tables, unlike

from infinite_rl.errors import UsageError
from infinite_rl.training.runs.config import TrainingConfig

tables = Tables(__file__)


@tables
def test_what_cannot_be_is_refused_by_its_key(values: dict[str, Any], message: str) -> None:
    values = {"model": "m", **values}
    assert not unlike([(f"^UsageError: .*{re.escape(message)}", lambda: TrainingConfig.of(values))])


def test_a_config_can_be_read_back_and_is_called_by_position() -> None:
    config = TrainingConfig("m", max_steps=3, tracking=("wandb",), reward={"timeout": 2})
    assert TrainingConfig.of(config.values()) == config
    with pytest.raises(UsageError, match="max_steps must be a whole number, not True"):
        TrainingConfig("m", max_steps=True)
    base = {"model": "m", "engine": "asyncio", "batch_size": 4, "max_staleness": 2}
    assert TrainingConfig.of(base).sync_every == 1  # in updates
    assert TrainingConfig.of({**base, "prompts_per_sync": 12}).sync_every == 3
