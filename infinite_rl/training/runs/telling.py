"""Warns where a run learns nothing from its rewards, which looks like training otherwise."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from .config import TrainingConfig

logger = logging.getLogger(__name__)

EARLY_WARNING_STEPS = 10  # steps' worth of groups


class ZeroAdvantageMonitor:
    """Counts the groups of a run; a group tells nothing if its rewards are all equal, or missing.

    It warns once when `PATIENCE` steps' worth of groups in a row have told nothing.
    """

    def __init__(self, config: TrainingConfig) -> None:
        self._config = config
        self._silent = 0  # groups in a row
        self._ever = self._warned = False

    def count(self, telling: float, silent: float) -> None:
        """Of the next groups so many tell something, and so many nothing."""
        self._ever = self._ever or telling > 0
        self._silent = 0 if telling > 0 else self._silent + round(silent)
        if self._silent >= EARLY_WARNING_STEPS * self._config.batch_size and not self._warned:
            self._warned = True
            logger.warning("%d groups in a row %s", self._silent, _SAID)

    def step(self, values: Mapping[str, Any]) -> None:
        """Count the groups of a step by its values, where it has any."""
        groups = self._config.batch_size
        share = values.get("frac_reward_zero_std")  # TRL's
        silent = values.get("dropped_groups") if share is None else share * groups
        if silent is not None:
            self.count(groups - silent, silent)

    def end(self) -> None:
        """Warn where no group of the run has told anything."""
        if self._silent and not self._ever:
            logger.warning("all %d groups of the run %s", self._silent, _SAID)


_SAID = (
    "had equal rewards, or no verdict: nothing is learned from them. Are the tasks too hard or too "
    "easy for the model, or are its answers cut off or of another form? See rollouts.jsonl"
)
