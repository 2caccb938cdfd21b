"""The table of backends: who answers. One file each, loaded when it is asked for.

    local.py    a model of transformers in this process
    vllm.py     a model of vLLM in this process
    server.py   a server of OpenAI's protocol

A new one is a file, a row of the table here, and its name in `config.BACKENDS`.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pkgutil import resolve_name
from typing import Any, Literal, Protocol

from ...dataset.prompt_templates import RenderedPrompt, render_prompt, token_ids
from ...dataset.rows import Row
from ...errors import UsageError, look_up
from ..answers import Answer
from ..config import EvaluationConfig


@dataclass(frozen=True)
class Request:
    """One item as a model is asked it; `owed` are the numbers of the answers that are wanted."""

    key: str
    system: str
    prompted: RenderedPrompt
    owed: tuple[int, ...] = (0,)

    def answer(
        self, number: int, raw: str, *, cut_off: bool = False, tokens: int | None = None
    ) -> Answer:
        """The answer that a raw text is: up to the first stop string, if one is in it.

        What stands behind one would not have been written: then the answer was not cut off.
        """
        stopped = any(stop in raw for stop in self.prompted.stop)
        finish_reason: Literal["stop", "length"] = "length" if cut_off and not stopped else "stop"
        text = self.prompted.response(raw)
        return Answer(self.key, number, text, finish_reason, tokens)

    def ids(self, tokenizer: Any, room: int) -> list[int]:
        """The prompt's tokens. Raises UsageError where the model has no room for an answer."""
        ids = token_ids(tokenizer, self.prompted.text)
        if 0 < len(ids) < room:
            return ids
        raise UsageError(f"the prompt has {len(ids)} tokens, and the model has room for {room}")

    def unasked(self, why: str) -> Iterator[Answer]:
        """What stands for the answers to a question that could not be put to the model."""
        return (Answer(self.key, number, None, why=why) for number in self.owed)


@dataclass(frozen=True)
class FewShotConfig:
    """How items become questions: `examples` come before each."""

    config: EvaluationConfig
    examples: Sequence[Row]

    @property
    def system(self) -> str | None:
        """The instructions that come first, None for those of the style."""
        return None if self.config.system == "default" else self.config.system

    def by_text(self, key: str, row: Row, tokenizer: Any) -> Request:
        """The question as one text, in the style that the config names."""
        prompted = render_prompt(
            self.config.prompt_template, row, tokenizer, self.examples, system=self.system
        )
        return Request(key, "", self.stopping(prompted))

    def stopping(self, prompted: RenderedPrompt) -> RenderedPrompt:
        """With the config's own stop strings as well."""
        return replace(prompted, stop=(*prompted.stop, *self.config.stop))


def seed_of(*parts: object) -> int:
    """A seed of 56 bits that follows from some texts and numbers, in any process."""
    text = "\n".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")


class Backend(Protocol):
    """Whoever answers."""

    def question(self, key: str, row: Row, asking: FewShotConfig) -> Request:
        """A row as this backend is asked it. Raises UsageError where the style does not allow."""
        ...

    def answers(
        self, batches: Iterable[Sequence[Request]], max_new_tokens: int
    ) -> Iterator[Answer]:
        """The owed answers of all questions, in any order, as they come.

        A batch has always the same questions, whichever of their answers are owed and whatever
        process is asked: what is sampled depends on the batch and on nothing else.
        """
        ...


# One row a backend of `config.BACKENDS`.
_PLACES: Mapping[str, str] = {
    "transformers": "infinite_rl.evaluation.backends.local:LocalModel",
    "vllm": "infinite_rl.evaluation.backends.vllm:VLLM",
    "server": "infinite_rl.evaluation.backends.server:Server",
}


def make_backend(config: EvaluationConfig, stop: threading.Event) -> Backend:
    """The backend that a config names, with its model loaded. Once `stop` is set it ends early.

    Raises:
        UsageError: there is no such model, or an extra is not installed.
    """
    backend: Backend = resolve_name(look_up("backend", config.backend, _PLACES))(config, stop)
    return backend
