"""The provider seam: one method, text in, a completion out."""

from __future__ import annotations

from typing import Protocol

from ..types import Completion


class Provider(Protocol):
    """Whatever can answer a prompt. Called from many threads at once."""

    @property
    def model(self) -> str:
        """The model's name, as rows record it."""
        ...

    def complete(self, system: str, prompt: str, seed: int) -> Completion:
        """Answer `prompt` under the instruction `system`; equal seeds ask for equal answers.

        Raises:
            ProviderUnavailable: passing trouble; the caller may make the same call again.
            ProviderRefused: no retry can help.
            NoCompletion: an answer without usable text.
        """
        ...
