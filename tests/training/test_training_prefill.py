"""Answers whose prompts are read once: the numbers and gradients of whole sequences."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_models import gpt2, qwen3

from infinite_rl.training.core.prefill import shared_prompt_log_probs, supports_shared_prompts
from infinite_rl.training.core.tensors import get_response_log_probs, shifted

LONG, SHORT, OTHER = [5, 6, 7, 8, 9, 10], [4], [30, 31, 32, 33, 34, 35]
UNEQUAL = [LONG, SHORT, LONG, OTHER, SHORT, LONG], [[9, 8], [7], [1], [2, 3, 4, 5, 6], [0, 0], [5]]
EQUAL = [LONG, OTHER, LONG], [[9, 8, 7], [1], [6, 5]]
SINGLE = [LONG, SHORT, SHORT], [[1], [2], [3]]
MODELS = {"qwen3": qwen3, "gpt2": gpt2}


def gradients(model: Any, loss: Any) -> dict[str, Any]:
    model.zero_grad()
    loss.backward()
    return {name: each.grad.clone() for name, each in model.named_parameters()}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("given", [UNEQUAL, EQUAL, SINGLE])
def test_log_probs_entropies_and_gradients_are_those_of_whole_sequences(
    name: str, given: Any
) -> None:
    temperature = 0.7
    model = MODELS[name]().double()
    batch = shifted(*given)
    whole = get_response_log_probs(
        model, batch["input_ids"], batch["labels"], True, temperature=temperature
    )
    found = shared_prompt_log_probs(model, *given, True, temperature=temperature)
    kept, mask = batch["response_mask"].bool(), found["response_mask"].bool()
    assert mask.sum(1).tolist() == [len(answer) for answer in given[1]]
    weights = torch.randn(int(mask.sum()), dtype=torch.float64)  # in the same order in both
    ours, theirs = (
        gradients(model, (one["log_probs"][at] * weights + one["token_entropy"][at]).sum())
        for one, at in ((found, mask), (whole, kept))
    )
    for key in ("log_probs", "token_entropy"):
        assert found[key][mask].allclose(whole[key][kept], atol=1e-6, rtol=0)
    assert ours.keys() == theirs.keys() and any(each.any() for each in theirs.values())
    for each in ours:
        assert ours[each].allclose(theirs[each], atol=1e-6, rtol=1e-6), each


def test_a_model_that_keeps_less_or_more_than_keys_and_values_shares_no_prompt() -> None:
    assert supports_shared_prompts(qwen3()) and supports_shared_prompts(gpt2())
    sliding = qwen3(use_sliding_window=True, sliding_window=4, max_window_layers=0)
    assert not supports_shared_prompts(sliding)
    stateful = qwen3()
    stateful._is_stateful = True
    assert not supports_shared_prompts(stateful)
