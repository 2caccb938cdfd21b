"""What a model answers to some prompts, with the numbers that one looks at while it learns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from ...errors import UsageError
from .sampling import end_ids, evaluating
from .tensors import compute_entropy, pad_id_of


def log_generations(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[str],
    references: Sequence[str] | None = None,
    *,
    max_new_tokens: int = 2048,
    temperature: float = 0.0,
    top_p: float = 1.0,
    reward_fn: Callable[..., Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """Generate a response to each prompt by transformers' `generate`, and sum up what came.

    A temperature of 0 is greedy; sampling is from torch's global state. `reward_fn(response)`, or
    `reward_fn(response, reference)` if it needs two, gives a mapping; its `is_correct` is what
    tells right from wrong. Without one a response is right that equals its reference but for space
    around. Prompts get no special tokens, and no padding counts as one of the response: this ends
    with its first end token, which is counted.

    Returns:
        `prompts`, `responses`, `references` ("" where there are none), `rewards` (mappings);
        `avg_token_entropy` over all response tokens, in nats, of the distributions drawn from;
        `avg_response_length` in tokens, and that of right and wrong ones,
        `avg_response_length_correct` and `_incorrect`, None where there are none; `per_example`,
        each with `prompt`, `response`, `reference`, `length`, `mean_token_entropy`, `reward`.

    Raises:
        UsageError: the references are not as many as the prompts, or a prompt has no token.
    """
    if references is not None and len(references) != len(prompts):
        raise UsageError(f"{len(prompts)} prompts, but {len(references)} references")
    options: dict[str, Any] = {"max_new_tokens": max_new_tokens, "do_sample": temperature > 0}
    if temperature > 0:  # `generate` would else draw from the 50 likeliest tokens only
        options |= {"temperature": temperature, "top_p": top_p, "top_k": 0}
    tokens, entropies = _generated(model, tokenizer, prompts, options) if prompts else ([], [])
    responses = [tokenizer.decode(ids, skip_special_tokens=True) for ids in tokens]
    known = list(references) if references is not None else [""] * len(prompts)
    if reward_fn is None:
        reward_fn = _exact if references is not None else _unknown
    arguments = zip(responses, known, strict=True) if _takes_two(reward_fn) else zip(responses)
    rewards = [dict(reward_fn(*each)) for each in arguments]
    lengths = [len(ids) for ids in tokens]
    right = [found.get("is_correct") for found in rewards]
    columns = (prompts, responses, known, lengths, map(_mean, entropies), rewards)
    names = ("prompt", "response", "reference", "length", "mean_token_entropy", "reward")
    return {
        "prompts": list(prompts),
        "responses": responses,
        "references": known,
        "rewards": rewards,
        "avg_token_entropy": _mean([each for row in entropies for each in row]),
        "avg_response_length": _mean(lengths),
        "avg_response_length_correct": _mean_where(lengths, right, True),
        "avg_response_length_incorrect": _mean_where(lengths, right, False),
        "per_example": [
            dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)
        ],
    }


def _generated(
    model: Any, tokenizer: Any, prompts: Sequence[str], options: Mapping[str, Any]
) -> tuple[list[list[int]], list[list[float]]]:
    """The tokens of each response, and the entropy of the distribution of each of them."""
    given = tokenizer(
        list(prompts),
        return_tensors="pt",
        padding=True,
        padding_side="left",  # what is generated follows the last column
        add_special_tokens=False,
    )
    device = next((weights.device for weights in model.parameters()), torch.device("cpu"))
    sent, mask = given["input_ids"].to(device), given["attention_mask"].to(device)
    if not mask.any(1).all():
        raise UsageError("a prompt has no token: a model needs one to begin with")
    with torch.no_grad(), evaluating(model):
        out = model.generate(
            input_ids=sent,
            attention_mask=mask,
            pad_token_id=pad_id_of(tokenizer),
            return_dict_in_generate=True,
            output_scores=True,
            **options,
        )
    steps = [compute_entropy(scores.float()) for scores in out.scores]
    entropies = torch.stack(steps, dim=1).tolist()
    ends, tokens = end_ids(model, tokenizer), []
    for row, before, length in zip(out.sequences, sent, mask.sum(1).tolist(), strict=True):
        fresh = row[_first_new(row, before, length) :][: len(steps)].tolist()
        end = next((place for place, token in enumerate(fresh, 1) if token in ends), len(fresh))
        tokens.append(fresh[:end])
    return tokens, [row[: len(ids)] for row, ids in zip(entropies, tokens, strict=True)]


def _first_new(row: Tensor, before: Tensor, length: int) -> int:
    """Where the response begins: after the padded prompt, if that is what the row begins with.

    A model that does without the padding on the right puts it after the prompt's own length.
    """
    return len(before) if torch.equal(row[: len(before)], before) else length


def _exact(response: str, reference: str) -> dict[str, Any]:
    return {"is_correct": response.strip() == reference.strip()}


def _unknown(_: str) -> dict[str, Any]:
    return {}


def _takes_two(reward: Callable[..., Any]) -> bool:
    try:
        inspect.signature(reward).bind("", "")
    except TypeError:
        return False
    return True


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else 0.0


def _mean_where(lengths: Sequence[int], right: Sequence[bool | None], wanted: bool) -> float | None:
    found = [
        length
        for length, is_right in zip(lengths, right, strict=True)
        if is_right is not None and bool(is_right) == wanted
    ]
    return fmean(found) if found else None
