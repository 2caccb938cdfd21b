"""Completions sampled from a causal model, with their token ids and log-probabilities.

A loop of our own over the model's key-value cache: what is trained on are the very ids that were
drawn, so text is never made into tokens again. R is the number of sequences that still grow.
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
from .prefill import Prefilled


@dataclass(frozen=True)
class Sampled:
    """One completion of a prompt.

    `ids` are all tokens that were drawn, the one that ended it included, and `log_probs` their
    log-probabilities at the sampling temperature (at 1 where decoding was greedy), before `top_p`
    has cut anything. `text` has no special tokens, and ends before the first stop string.
    `finish_reason` is "stop" after an end token or a stop string, "length" where none came in time.
    """

    ids: list[int]
    log_probs: list[float]
    text: str
    finish_reason: str


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
    """`n` completions of each prompt, given as token ids, by a causal model of transformers.

    A temperature of 0 takes the likeliest token each time. `top_p` draws from the fewest likeliest
    tokens that have at least this probability together (Holtzman et al., arXiv:1904.09751). The end
    tokens are those of the tokenizer and of the model's `generation_config`. All that is random
    comes from the generator, `max_new_tokens` numbers for each completion in their order: prompts
    sampled together or one after the other, from the same generator, get the same; where each has a
    generator of its own, in any company. So do those
    that are sampled in parts, each of at most `tokens_per_batch` tokens, counted as if every
    completion had `max_new_tokens`, padding included; by default there is one part.

    Raises:
        UsageError: a prompt without tokens, an argument that is out of its range, or a sequence
            longer than `tokens_per_batch`.
        InfiniteRLError: the model's logits are NaN.
    """
    _check(prompts, n, max_new_tokens, temperature, top_p, stop)
    if not prompts:
        return []
    device = next(model.parameters()).device
    numbers = _numbers((len(prompts), n, max_new_tokens), generator).to(_drawing_on(device))
    ends = end_ids(model, tokenizer)
    asked = [prompt for prompt in prompts for _ in range(n)]
    growing = [_Growing(tokenizer, ends, stop) for _ in asked]
    with torch.no_grad(), evaluating(model):
        for part in _parts(asked, max_new_tokens, tokens_per_batch):
            _grow(
                model,
                [asked[row] for row in part],
                [growing[row] for row in part],
                numbers[part],
                temperature,
                top_p,
            )
    found = [each.sampled() for each in growing]
    return [found[first : first + n] for first in range(0, len(found), n)]


def random_numbers(*name: object) -> torch.Generator:
    """Random numbers, the same on every device, that follow from a name."""
    return torch.Generator().manual_seed(Random("/".join(map(str, name))).getrandbits(63))


def _parts(
    prompts: Sequence[Sequence[int]], max_new_tokens: int, budget: int | None
) -> list[list[int]]:
    """The places of the prompts, each part to be sampled at once."""
    if budget is None:
        return [list(range(len(prompts)))]
    lengths = [(len(prompt), max_new_tokens) for prompt in prompts]
    return [sorted(part) for part in microbatches(lengths, budget)]


def _grow(
    model: Any,
    prompts: Sequence[Sequence[int]],
    growing: Sequence[_Growing],
    numbers: Tensor,
    temperature: float,
    top_p: float,
) -> None:
    """Sample completions of the prompts to their ends, by numbers (R, max_new_tokens)."""
    most = numbers.shape[1]
    places = {prompt: place for place, prompt in enumerate(dict.fromkeys(map(tuple, prompts)))}
    batch = Prefilled(model, list(places))
    device = batch.logits.device
    if len(places) < len(prompts):  # a prompt is read once for all its completions
        batch.take(torch.tensor([places[tuple(prompt)] for prompt in prompts], device=device))
    active = list(range(len(growing)))
    for step in range(most):
        tokens, log_probs = _drawn(batch.logits, temperature, top_p, numbers[active, step])
        for row, *drawn in zip(active, tokens.tolist(), log_probs.tolist(), strict=True):
            growing[row].add(*drawn)
        left = [place for place, row in enumerate(active) if not growing[row].ended]
        if not left or step == most - 1:
            break
        if len(left) < len(active):
            active = [active[place] for place in left]
            kept = torch.tensor(left, device=device)
            tokens = tokens[kept]
            batch.take(kept)
        batch.grow(tokens.unsqueeze(1))


def end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """The tokens that end a completion: the tokenizer's and those the model is generated with."""
    given = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    found = [*given] if isinstance(given, list | tuple) else [given]
    found.append(getattr(tokenizer, "eos_token_id", None))
    return frozenset(int(each) for each in found if each is not None)


class _Growing:
    """One completion on its way."""

    def __init__(self, tokenizer: Any, ends: Collection[int], stop: Sequence[str]) -> None:
        self._tokenizer, self._ends, self._stop = tokenizer, ends, stop
        # A character takes four tokens at most; the rest is for tokens that read as no text.
        self._tail = 4 * max([0, *map(len, stop)]) + 8
        self._ids: list[int] = []
        self._log_probs: list[float] = []
        self.ended = False

    def add(self, token: int, log_prob: float) -> None:
        self._ids.append(token)
        self._log_probs.append(log_prob)
        self.ended = token in self._ends or bool(self._stop and self._stopped())

    def _stopped(self) -> bool:
        # A stop string that was not there a token ago lies at the end. Where the tail has one the
        # whole is asked: the first tokens of a tail may read otherwise in the midst of a text.
        return all(
            any(each in _text(self._tokenizer, ids, special=True) for each in self._stop)
            for ids in (self._ids[-self._tail :], self._ids)
        )

    def sampled(self) -> Sampled:
        ids = self._ids[:-1] if self._ids[-1] in self._ends else self._ids
        text = _text(self._tokenizer, ids)
        end = min([len(text), *(text.index(each) for each in self._stop if each in text)])
        reason = "stop" if self.ended else "length"
        return Sampled(self._ids, self._log_probs, text[:end], reason)


def _text(tokenizer: Any, ids: Sequence[int], *, special: bool = False) -> str:
    text: str = tokenizer.decode(
        ids, skip_special_tokens=not special, clean_up_tokenization_spaces=False
    )
    return text


def _drawn(
    logits: Tensor, temperature: float, top_p: float, numbers: Tensor
) -> tuple[Tensor, Tensor]:
    """Next tokens (R,) and their log-probabilities, by logits (R, V) and numbers (R,) in [0, 1)."""
    log_probs = torch.log_softmax(logits.float() / (temperature or 1.0), dim=-1)
    if log_probs.isnan().any():
        raise InfiniteRLError("the model's logits are no numbers: it has diverged")
    if temperature == 0:
        tokens = log_probs.argmax(-1)
    else:
        probs = log_probs.to(numbers.device).double().exp()
        if top_p < 1:
            probs = _nucleus(probs, top_p)
        # The first token at which the summed probability exceeds the number: none of probability 0.
        # Rows of the same numbers get the same tokens, whatever they are batched with.
        sums = probs.cumsum(-1)
        wanted = numbers.unsqueeze(1) * sums[:, -1:]
        tokens = torch.searchsorted(sums, wanted, right=True).squeeze(1).to(log_probs.device)
    return tokens, log_probs.gather(1, tokens.unsqueeze(1)).squeeze(1)


def _drawing_on(device: torch.device) -> torch.device:
    """Where tokens are drawn for a model on a device: MPS has no float64."""
    return torch.device("cpu") if device.type == "mps" else device


def _nucleus(probs: Tensor, top_p: float) -> Tensor:
    """The probabilities (R, V) with 0 for those outside the nucleus."""
    sorted_probs, order = probs.sort(dim=-1, descending=True, stable=True)
    before = sorted_probs.cumsum(-1) - sorted_probs
    return torch.zeros_like(probs).scatter(1, order, sorted_probs * (before < top_p))


def _numbers(
    shape: tuple[int, int, int], generator: torch.Generator | Sequence[torch.Generator] | None
) -> Tensor:
    """Numbers in [0, 1), by (prompt, completion, token); a row for each completion: (B * n, T)."""
    prompts, n, tokens = shape
    if isinstance(generator, Sequence):
        return torch.cat([_numbers((1, n, tokens), each) for each in generator])
    device = generator.device if generator is not None else "cpu"
    size = (prompts * n, tokens)
    return torch.rand(size, generator=generator, dtype=torch.float64, device=device)


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """No dropout, and the cache, which training does without."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def _check(
    prompts: Sequence[Sequence[int]],
    n: int,
    max_new_tokens: int,
    temperature: float,
    top_p: float,
    stop: Sequence[str],
) -> None:
    if n < 1 or max_new_tokens < 1:
        raise UsageError(f"n and max_new_tokens must be at least 1, not {n} and {max_new_tokens}")
    if not 0 <= temperature < float("inf"):
        raise UsageError(f"the temperature must be 0 or more, not {temperature!r}")
    if not 0 < top_p <= 1:
        raise UsageError(f"top_p must be in (0, 1], not {top_p!r}")
    if isinstance(stop, str) or not all(stop):
        raise UsageError(f"stop is a list of texts that are not empty, not {stop!r}")
    for place, prompt in enumerate(prompts):
        if not len(prompt):
            raise UsageError(f"prompt {place} has no token: a model needs one to begin with")
