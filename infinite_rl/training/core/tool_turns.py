"""Rollouts of several turns: the model calls a tool in its tag, and reads what the tool returns.

    The product is <python>17 * 23</python><output>391</output>so it is <answer>391</answer>

The model draws what lies outside of `<output>`; the rest is appended, and carries no loss. Code
runs in one session for each rollout and tool, which keeps its names from call to call. The reward
sees the text after the last output: what a tool prints is not an answer of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch

from ...adapters.tools import TOOLS, Episode
from ...dataset.prompt_templates import token_ids
from ...errors import InfiniteRLError
from ...reward_functions.reward_function import BadReference
from ...sandbox.session import SessionLimits
from ...store import sample_of
from ...workers.pool import default_count, in_threads
from ..runs.config import TrainingConfig
from .batches import CACHED_TOKENS
from .encoding import Prompt
from .learner import Learner
from .sampling import Sampled, sample

OUTPUT = "<output>{}</output>"
_OUTPUT_CHARS = 1000  # of a call, at most


def sample_with_tools(
    learner: Learner, model: Any, prompts: Sequence[Prompt], generator: torch.Generator
) -> list[Sampled]:
    """`group_size` rollouts of each prompt, in their order, with the tools of the learner's config.

    A rollout has at most `max_new_tokens` tokens, those of the tools included, and at most
    `max_tool_calls` calls: a tag after these is text. `Sampled.loss_mask` is 0 on tokens of a tool;
    their log-probabilities are 0.
    """
    config = learner.config
    with ExitStack() as stack:
        dialogues = [
            stack.enter_context(_Dialogue(prompt, learner.tokenizer, config))
            for prompt in prompts
            for _ in range(config.group_size)
        ]
        for turn in range(config.max_tool_calls + 1):
            tools = config.tools if turn < config.max_tool_calls else ()
            _draw(learner, model, [each for each in dialogues if not each.ended], tools, generator)
            calling = [each for each in dialogues if each.call]
            for _ in in_threads(_Dialogue.answer, calling, default_count()):
                pass
        return [each.sampled() for each in dialogues]


def _draw(
    learner: Learner,
    model: Any,
    dialogues: Sequence[_Dialogue],
    tools: Sequence[str],
    generator: torch.Generator,
) -> None:
    """Draw the next turn of each dialogue."""
    config, closings = learner.config, [f"</{name}>" for name in tools]
    for stop in dict.fromkeys(each.stop for each in dialogues):
        part = [each for each in dialogues if each.stop == stop]
        with learner.autocast():
            sampled = sample(
                model,
                learner.tokenizer,
                [each.context for each in part],
                max_new_tokens=max(each.room for each in part),
                temperature=config.temperature,
                top_p=config.top_p,
                stop=[*stop, *closings],
                generator=generator,
                tokens_per_batch=CACHED_TOKENS * config.tokens_per_batch,
            )
        for dialogue, (turn,) in zip(part, sampled, strict=True):
            dialogue.add(turn, tools)


class _Dialogue:
    """One rollout: a prompt, and the tokens after it, of the model and of the tools."""

    def __init__(self, prompt: Prompt, tokenizer: Any, config: TrainingConfig) -> None:
        self._prompt, self._tokenizer, self._most = prompt, tokenizer, config.max_new_tokens
        limits = SessionLimits(turns=config.max_tool_calls, output_chars=_OUTPUT_CHARS, seed=0)
        sample = sample_of(prompt.row) if "sql" in config.tools else None
        self._episode = Episode(sample, config.tools, limits)
        self._ids: list[int] = []
        self._log_probs: list[float] = []
        self._mask: list[int] = []
        self._text, self._reason = "", "stop"  # of the last turn, and how it ended
        self._calls = 0
        self.call: tuple[str, str] | None = None  # the tool, and its code
        self.ended = False

    def __enter__(self) -> _Dialogue:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._episode.close()

    @property
    def stop(self) -> tuple[str, ...]:
        """The stop strings of the prompt."""
        return self._prompt.rendered.stop

    @property
    def context(self) -> list[int]:
        """The tokens so far, with the prompt's."""
        return [*self._prompt.ids, *self._ids]

    @property
    def room(self) -> int:
        """How many tokens there may still be."""
        return self._most - len(self._ids)

    def add(self, turn: Sampled, tools: Sequence[str]) -> None:
        """Add what the model has drawn; then it is a call, or the rollout has ended."""
        is_cut = len(turn.ids) > self.room
        ids, log_probs = turn.ids[: self.room], turn.log_probs[: self.room]
        drawn = self._decoded(ids)
        self._extend(ids, log_probs, 1)
        self._text = drawn if is_cut else turn.text
        self._reason = "length" if is_cut else turn.finish_reason
        after = drawn[len(self._text) :]
        for name in tools if self._reason == "stop" else ():
            before, tag, code = self._text.rpartition(f"<{name}>")
            if tag and after.startswith(f"</{name}>"):
                self.call, self._text = (name, code), before
                return
        self.ended = True

    def answer(self) -> None:
        """Run the call, and append what the tool returns."""
        if self.call is None:
            return
        (name, code), self.call = self.call, None
        self._calls += 1
        try:
            output = self._episode.call(name, {TOOLS[name].argument: code})
        except (InfiniteRLError, BadReference):  # ours, so the rollout has no reward
            output = ""
        ids = token_ids(self._tokenizer, OUTPUT.format(output))[: self.room]
        self._extend(ids, [0.0] * len(ids), 0)
        self._text = ""
        if not self.room or self._episode.fault:  # without room nothing can be said after it
            self.ended, self._reason = True, "length"

    def sampled(self) -> Sampled:
        """Return the rollout."""
        text = self._text if self._calls else self._prompt.rendered.response(self._text)
        transcript = self._decoded(self._ids)
        extra = self._mask, transcript, self._calls, self._episode.fault
        return Sampled(self._ids, self._log_probs, text, self._reason, *extra)

    def _extend(self, ids: Sequence[int], log_probs: Sequence[float], mask: int) -> None:
        self._ids += ids
        self._log_probs += log_probs
        self._mask += [mask] * len(ids)

    def _decoded(self, ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(
            ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text
