"""Prompts read into a model's key-value cache, once for all answers to them.

N is the number of prompts, P the tokens of the longest, V the vocabulary. Shorter prompts are
padded on the left, so that answers begin at one place; `mask` (N, P) is 0 on padding, and None
where there is none.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .tensors import label_log_probs, positions


class Prefilled:
    """Prompts in a cache, to be gone on from; `logits` (N, V) are those of the next tokens."""

    def __init__(self, model: Any, prompts: Sequence[Sequence[int]]) -> None:
        device = next(model.parameters()).device
        lengths = [len(prompt) for prompt in prompts]
        ids = torch.zeros((len(prompts), max(lengths)), dtype=torch.int64)
        mask = torch.zeros_like(ids)
        for place, prompt in enumerate(prompts):
            ids[place, ids.shape[1] - len(prompt) :] = torch.tensor(prompt)
            mask[place, ids.shape[1] - len(prompt) :] = 1
        # Without padding there is nothing to mask but the future, which the model does by itself.
        self._mask = None if min(lengths) == max(lengths) else mask.to(device)
        self._model = model
        options = {"logits_to_keep": 1} if _takes(model, "logits_to_keep") else {}
        out = model(
            ids.to(device),
            attention_mask=self._mask,
            position_ids=positions(mask).to(device),
            use_cache=True,
            **options,
        )
        self._cache = out.past_key_values
        self._next = torch.tensor(lengths, device=device)
        self.logits: Tensor = out.logits[:, -1]

    def grow(self, tokens: Tensor) -> Tensor:
        """The logits (N, T, V) after each of the tokens (N, T), which go on from what is there."""
        if self._mask is not None:
            self._mask = torch.cat([self._mask, torch.ones_like(tokens)], dim=1)
        steps = torch.arange(tokens.shape[1], device=tokens.device)
        out = self._model(
            tokens,
            attention_mask=self._mask,
            position_ids=self._next.unsqueeze(1) + steps,
            past_key_values=self._cache,
            use_cache=True,
        )
        self._cache = out.past_key_values
        self._next = self._next + tokens.shape[1]
        self.logits = out.logits[:, -1]
        logits: Tensor = out.logits
        return logits

    def take(self, places: Tensor) -> None:
        """Leave the sequences at these places, each as often as it is named."""
        self._cache.batch_select_indices(places)
        self._next = self._next[places]
        self.logits = self.logits[places]
        if self._mask is not None:
            self._mask = self._mask[places]


def answer_log_probs(
    model: Any,
    prompts: Sequence[Sequence[int]],
    answers: Sequence[Sequence[int]],
    return_token_entropy: bool = False,
    *,
    temperature: float = 1.0,
) -> dict[str, Tensor]:
    """The log-probabilities of answers to prompts, each of token ids, as `log_probs` (B, T).

    They are those of `tensors.get_response_log_probs`, and so are their gradients, but equal
    prompts are read once: as in sampling, their answers go on from one key-value cache. T is the
    length of the longest answer, and `response_mask` (B, T) is 1 where an answer has a token. If
    asked for, `token_entropy` (B, T) is the entropy of each token's distribution.

    The model must be one that `shares_prompts`, and no prompt or answer empty.
    """
    places = {prompt: place for place, prompt in enumerate(dict.fromkeys(map(tuple, prompts)))}
    read = Prefilled(model, list(places))
    device = read.logits.device
    labels = torch.zeros((len(answers), max(map(len, answers))), dtype=torch.int64)
    mask = torch.zeros_like(labels)
    for place, answer in enumerate(answers):
        labels[place, : len(answer)] = torch.tensor(answer)
        mask[place, : len(answer)] = 1
    labels, mask = labels.to(device), mask.to(device)
    read.take(torch.tensor([places[tuple(prompt)] for prompt in prompts], device=device))
    logits = [read.logits.unsqueeze(1)]
    if labels.shape[1] > 1:
        logits.append(read.grow(labels[:, :-1]))
    found = [
        label_log_probs(some, those, return_token_entropy, temperature=temperature)
        for some, those in zip(logits, (labels[:, :1], labels[:, 1:]), strict=False)
    ]
    joined = {name: torch.cat([each[name] for each in found], dim=1) for name in found[0]}
    return {**joined, "response_mask": mask}


def shares_prompts(model: Any) -> bool:
    """Whether all layers of a model of transformers keep the keys and values of all tokens, and
    nothing else: then several tokens at once may go on from a cache."""
    config = model.config.get_text_config()
    less = ("sliding_window", "attention_chunk_size", "kv_sharing_modes")
    return (
        not model._is_stateful
        and set(getattr(config, "layer_types", None) or ()) <= {"full_attention"}
        and all(getattr(config, name, None) is None for name in less)
    )


def _takes(model: Any, name: str) -> bool:
    return name in inspect.signature(model.forward).parameters
