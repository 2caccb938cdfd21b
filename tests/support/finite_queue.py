"""A queue of prompts that ends, so that a run of the asynchronous engine ends by itself."""

from collections.abc import Sequence

from infinite_rl.training.engines.prompt_queue import PromptQueue


class FiniteQueue(PromptQueue):
    """A `PromptQueue` of some epochs; None is without end."""

    def __init__(self, ids: Sequence[str], *, seed: object = 0, epochs: int | None = None) -> None:
        self.epochs = epochs
        super().__init__(ids, seed=seed)

    def _has_next_epoch(self) -> bool:
        is_last = self.epochs is not None and self.epoch + 1 >= self.epochs
        return not is_last and super()._has_next_epoch()

    @property
    def in_flight(self) -> int:
        """The number of requests in flight."""
        return len(self.state()["in_flight"])

    @property
    def finished(self) -> bool:
        """Whether every prompt of every epoch is done or failed."""
        state = self.state()
        left = state["in_flight"] or state["waiting"] or state["at"] < len(self)
        return not left and not self._has_next_epoch()
