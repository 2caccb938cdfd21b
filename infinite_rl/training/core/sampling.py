"""Completions sampled from a causal model, with their token ids and log-probabilities.

A custom loop over the model's key-value cache: training uses the very ids that were drawn, so text
is never re-tokenized. R is the number of sequences that still grow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from torch import Tensor

from ...errors import InfiniteRLError, UsageError
from .batches import microbatches
from .prefill import PrefilledCache


@dataclass(frozen=True)
class Sampled:
    """One completion of a prompt.

    `ids` are all tokens drawn, the end token included, and `log_probs` their log-probabilities at
    the sampling temperature (at 1 for greedy decoding), before `top_p` is applied. `text` has no
    special tokens and ends before the first stop string. `finish_reason` is "stop" after an end
    token or a stop string, else "length".

    With tools (`tool_turns.py`), `loss_mask` is 0 on the tokens that a tool wrote, `text` is that
    of the last turn, `transcript` that of all, and `fault` what failed on our side.
    """

    ids: list[int]
    log_probs: list[float]
    text: str
    finish_reason: str
    loss_mask: list[int] | None = None
    transcript: str = ""
    tool_calls: int = 0
    fault: str = ""


def sample(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[Sequence[int]],
    *,
    n: int = 1,
    max_new_tokens: int,
    temperature: float = 1.0,
    top_p: float = 1.0,
    stop: Sequence[str] = (),
    generator: torch.Generator | Sequence[torch.Generator] | None = None,
    tokens_per_batch: int | None = None,
) -> list[list[Sampled]]:
    """Sample `n` completions of each prompt, given as token ids, from a transformers model.

    A temperature of 0 is greedy. `top_p` draws from the smallest set of likeliest tokens with at
    least this probability (Holtzman et al., arXiv:1904.09751). End tokens are those of the
    tokenizer and of the model's `generation_config`. All randomness comes from the generator,
    `max_new_tokens` numbers for each completion in order: the same generator gives the same
    completions for prompts sampled together or one after the other; with a generator for each
    prompt, in any batch. The same holds for parts of at most `tokens_per_batch` tokens, counted as
    if every completion had `max_new_tokens`, padding included; by default there is one part.

    Raises:
        UsageError: a prompt without tokens, an argument out of its range, or a sequence longer than
            `tokens_per_batch`.
        InfiniteRLError: the model's logits are NaN.
    """
    if n < 1 or max_new_tokens < 1:
        raise UsageError(f"n and max_new_tokens must be at least 1, not {n} and {max_new_tokens}")
    if not 0 <= temperature < float("inf"):
        raise UsageError(f"the temperature must be 0 or more, not {temperature!r}")
    if not 0 < top_p <= 1:
        raise UsageError(f"top_p must be in (0, 1], not {top_p!r}")
    if isinstance(stop, str) or not all(stop):
        raise UsageError(f"stop must be a list of non-empty strings, not {stop!r}")
    for index, prompt in enumerate(prompts):
        if not len(prompt):
            raise UsageError(f"prompt {index} has no token: a model needs one to begin with")
    if not prompts:
        return []
    device = next(model.parameters()).device
    numbers = _uniform((len(prompts), n, max_new_tokens), generator).to(_drawing_device(device))
    ends = end_ids(model, tokenizer)
    repeated = [prompt for prompt in prompts for _ in range(n)]
    growing = [_Growing(tokenizer, ends, stop) for _ in repeated]
    parts = [list(range(len(repeated)))]
    if tokens_per_batch is not None:
        lengths = [(len(prompt), max_new_tokens) for prompt in repeated]
        parts = [sorted(part) for part in microbatches(lengths, tokens_per_batch)]
    with torch.no_grad(), evaluating(model):
        for part in parts:
            cache = PrefilledCache(model, [repeated[row] for row in part])
            _grow(cache, [growing[row] for row in part], numbers[part], temperature, top_p)
    sampled = [each.sampled() for each in growing]
    return [sampled[first : first + n] for first in range(0, len(sampled), n)]


def random_numbers(*name: object) -> torch.Generator:
    """A generator seeded by a name, the same on every device."""
    return torch.Generator().manual_seed(Random("/".join(map(str, name))).getrandbits(63))


def _grow(
    cache: PrefilledCache,
    growing: Sequence[_Growing],
    numbers: Tensor,
    temperature: float,
    top_p: float,
) -> None:
    """Sample completions of the cached prompts to their ends, by numbers (R, max_new_tokens)."""
    active = list(range(len(growing)))
    for step in range(numbers.shape[1]):
        tokens, log_probs = _draw(cache.logits, temperature, top_p, numbers[active, step])
        for row, *drawn in zip(active, tokens.tolist(), log_probs.tolist(), strict=True):
            growing[row].add(*drawn)
        left = [index for index, row in enumerate(active) if not growing[row].ended]
        if not left or step == numbers.shape[1] - 1:
            break
        if len(left) < len(active):
            active = [active[index] for index in left]
            kept = torch.tensor(left, device=cache.logits.device)
            tokens = tokens[kept]
            cache.select(kept)
        cache.extend(tokens.unsqueeze(1))


def end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """The end tokens of the tokenizer and of the model's generation config."""
    of_model = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    ids = [*of_model] if isinstance(of_model, list | tuple) else [of_model]
    ids.append(getattr(tokenizer, "eos_token_id", None))
    return frozenset(int(each) for each in ids if each is not None)


class _Growing:
    """One unfinished completion."""

    def __init__(self, tokenizer: Any, ends: Collection[int], stop: Sequence[str]) -> None:
        self._tokenizer, self._ends, self._stop = tokenizer, ends, stop
        # A character takes four tokens at most; the rest is for tokens without text.
        self._tail = 4 * max([0, *map(len, stop)]) + 8
        self._ids: list[int] = []
        self._log_probs: list[float] = []
        self.ended = False

    def add(self, token: int, log_prob: float) -> None:
        self._ids.append(token)
        self._log_probs.append(log_prob)
        self.ended = token in self._ends or bool(self._stop and self._stopped())

    def _stopped(self) -> bool:
        # A new stop string lies at the end. If the tail has one the whole text is checked: the
        # first tokens of a tail may decode differently inside a text.
        return all(
            any(each in self._text(ids, special=True) for each in self._stop)
            for ids in (self._ids[-self._tail :], self._ids)
        )

    def sampled(self) -> Sampled:
        text = self._text(self._ids[:-1] if self._ids[-1] in self._ends else self._ids)
        end = min([len(text), *(text.index(each) for each in self._stop if each in text)])
        reason = "stop" if self.ended else "length"
        return Sampled(self._ids, self._log_probs, text[:end], reason)

    def _text(self, ids: Sequence[int], *, special: bool = False) -> str:
        text: str = self._tokenizer.decode(
            ids, skip_special_tokens=not special, clean_up_tokenization_spaces=False
        )
        return text


def _draw(
    logits: Tensor, temperature: float, top_p: float, numbers: Tensor
) -> tuple[Tensor, Tensor]:
    """Next tokens (R,) and their log-probabilities, by logits (R, V) and numbers (R,) in [0, 1)."""
    log_probs = torch.log_softmax(logits.float() / (temperature or 1.0), dim=-1)
    if log_probs.isnan().any():
        raise InfiniteRLError("the model's logits are NaN: it has diverged")
    if temperature == 0:
        tokens = log_probs.argmax(-1)
    else:
        probs = log_probs.to(numbers.device).double().exp()
        if top_p < 1:
            probs = _nucleus(probs, top_p)
        # The first token at which the summed probability exceeds the number: none of probability 0.
        # Rows of the same numbers get the same tokens, whatever they are batched with.
        sums = probs.cumsum(-1)
        targets = numbers.unsqueeze(1) * sums[:, -1:]
        tokens = torch.searchsorted(sums, targets, right=True).squeeze(1).to(log_probs.device)
    return tokens, log_probs.gather(1, tokens.unsqueeze(1)).squeeze(1)


def _drawing_device(device: torch.device) -> torch.device:
    """The device that draws tokens for a model: MPS has no float64."""
    return torch.device("cpu") if device.type == "mps" else device


def _nucleus(probs: Tensor, top_p: float) -> Tensor:
    """The probabilities (R, V), with 0 outside the nucleus."""
    sorted_probs, order = probs.sort(dim=-1, descending=True, stable=True)
    before = sorted_probs.cumsum(-1) - sorted_probs
    return torch.zeros_like(probs).scatter(1, order, sorted_probs * (before < top_p))


def _uniform(
    shape: tuple[int, int, int], generator: torch.Generator | Sequence[torch.Generator] | None
) -> Tensor:
    """Numbers in [0, 1), by (prompt, completion, token); a row for each completion: (B * n, T)."""
    prompts, n, tokens = shape
    if isinstance(generator, Sequence):
        return torch.cat([_uniform((1, n, tokens), each) for each in generator])
    device = generator.device if generator is not None else "cpu"
    size = (prompts * n, tokens)
    return torch.rand(size, generator=generator, dtype=torch.float64, device=device)


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Eval mode: no dropout, and the key-value cache."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)
