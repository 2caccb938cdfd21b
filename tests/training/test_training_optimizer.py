"""The optimizer: its rates by hand, who decays, and what bounds a gradient."""

import math
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from infinite_rl.errors import StoreError
from infinite_rl.training.core.optimizer import (
    Diverged,
    learning_rate,
    make_optimizer,
    restore,
    update,
)
from infinite_rl.training.runs.config import TrainingConfig


class Model(torch.nn.Module):
    """An embedding that the output shares, a matrix with a bias, and a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(5, 3)
        self.matrix = torch.nn.Linear(3, 3)
        self.norm = torch.nn.LayerNorm(3)
        self.head = torch.nn.Linear(3, 5, bias=False)
        self.head.weight = self.embedding.weight


def config(**values: object) -> TrainingConfig:
    return TrainingConfig.of({"model": "m", "learning_rate": 1.0, "max_steps": 11, **values})


def test_the_rate_rises_in_equal_parts_and_falls_by_a_cosine_to_a_tenth() -> None:
    rates = [learning_rate(step, config()) for step in range(11)]
    assert rates[0] == 1.0 and rates == sorted(rates, reverse=True)
    assert rates[5] == pytest.approx(0.55, abs=1e-12)  # half way down: (1 + 0.1) / 2
    assert rates[10] == pytest.approx(0.1, abs=1e-12)
    rates = [learning_rate(step, config(warmup_steps=4, max_steps=10)) for step in range(10)]
    assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
    expected = [0.1 + 0.9 * (1 + math.cos(math.pi * k / 6)) / 2 for k in range(1, 7)]
    assert rates[4:] == pytest.approx(expected, abs=1e-12)
    assert learning_rate(0, config(max_steps=1)) == 1.0


def test_matrices_alone_decay() -> None:
    model = Model()
    decaying, others = make_optimizer(model, config(weight_decay=0.5)).param_groups
    assert (decaying["weight_decay"], others["weight_decay"]) == (0.5, 0.0)
    assert [id(each) for each in decaying["params"]] == [id(model.matrix.weight)]
    assert {id(each) for each in others["params"]} == {
        id(model.embedding.weight),
        id(model.matrix.bias),
        id(model.norm.weight),
        id(model.norm.bias),
    }
    model.matrix.requires_grad_(False)  # what is frozen is left out
    (others,) = make_optimizer(model, config()).param_groups
    assert len(others["params"]) == 3


def test_an_update_is_that_of_adamw_with_the_gradient_clipped() -> None:
    """By hand: AdamW's first step is -rate * sign(g), after the decay of rate * weight_decay."""
    layer = torch.nn.Linear(2, 1, bias=False)
    layer.weight.data = torch.tensor([[1.0, -2.0]])
    settings = config(learning_rate=0.1, weight_decay=0.5, max_grad_norm=0.5, adam_beta1=0.8)
    optimizer = make_optimizer(layer, settings)
    layer.weight.grad = torch.tensor([[3.0, -4.0]])
    found = update(layer, optimizer, 0, settings)
    assert found["grad_norm"] == pytest.approx(5.0)
    assert found["learning_rate"] == 0.1
    assert layer.weight.tolist()[0] == pytest.approx([0.95 - 0.1, -1.9 + 0.1], abs=1e-6)
    moment = optimizer.state[layer.weight]["exp_avg"][0].tolist()
    assert moment == pytest.approx([0.2 * 3 / 5 * 0.5, -0.2 * 4 / 5 * 0.5], abs=1e-6)
    assert layer.weight.grad is None


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_changes_nothing(bad: float) -> None:
    layer = torch.nn.Linear(2, 1)
    before = layer.weight.clone()
    layer.weight.grad = torch.tensor([[bad, 1.0]])
    with pytest.raises(Diverged, match="the gradient of step 8 is not finite"):
        update(layer, make_optimizer(layer, config()), 7, config())
    assert torch.equal(layer.weight, before)


def learnt() -> tuple[Any, Any]:
    """A model's optimizer after a step."""
    model = Model()
    optimizer = make_optimizer(model, config())
    model.head(model.norm(model.matrix(model.embedding(torch.arange(5))))).sum().backward()
    update(model, optimizer, 0, config())
    return model, optimizer


def test_an_optimizer_goes_on_with_its_moments_and_with_no_setting_of_the_file() -> None:
    _, optimizer = learnt()
    saved = optimizer.state_dict()
    saved["param_groups"][0] |= {"betas": (0.0, 0.0), "weight_decay": 9.0}
    fresh = make_optimizer(Model(), config())
    before = [{**group, "params": None} for group in fresh.param_groups]
    restore(fresh, saved)
    assert [{**group, "params": None} for group in fresh.param_groups] == before
    found = fresh.state_dict()["state"]
    assert found.keys() == saved["state"].keys() and found
    for place, moments in saved["state"].items():
        assert all(torch.equal(found[place][name], each) for name, each in moments.items())


SPOILED: list[Callable[[Any], Any]] = [
    lambda state: None,
    lambda state: {"state": 3},
    lambda state: {"state": {99: state[0]}},
    lambda state: {"state": {0: {"exp_avg": state[0]["exp_avg"]}}},
    lambda state: {"state": {0: {**state[0], "more": 1}}},
    lambda state: {"state": {0: {**state[0], "exp_avg": torch.zeros(1)}}},
    lambda state: {"state": {0: {**state[0], "exp_avg_sq": state[0]["exp_avg"].long()}}},
    lambda state: {"state": {0: {**state[0], "exp_avg": state[0]["exp_avg"] * math.nan}}},
    lambda state: {"state": {0: {**state[0], "step": "1"}}},
]


def test_a_state_that_is_not_of_these_weights_is_refused_before_a_kernel_reads_it() -> None:
    _, optimizer = learnt()
    for spoil in SPOILED:
        fresh = make_optimizer(Model(), config())
        with pytest.raises(StoreError, match="the optimizer's state in the checkpoint is damaged"):
            restore(fresh, spoil(optimizer.state_dict()["state"]))
        assert not fresh.state
