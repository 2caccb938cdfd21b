"""The optimizer: AdamW, its learning rate over the steps, and a bound on the gradient."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from ...errors import InfiniteRLError, StoreError
from ..runs.config import TrainingConfig

FLOOR = 0.1  # of the highest learning rate; where the cosine ends
CLIP_NORM = 1.0
BETAS = (0.9, 0.95)


class Diverged(InfiniteRLError):
    """A gradient is not finite: the weights are left as they are, and the run ends."""


def learning_rate(step: int, config: TrainingConfig) -> float:
    """The learning rate of an update; the first one has the number 0.

    It rises in equal parts to its highest at the last of the steps of the warm-up, and falls from
    there as half a cosine, which ends at `FLOOR` of the highest at the last step.
    """
    if step < config.warmup_steps:
        return config.learning_rate * (step + 1) / config.warmup_steps
    top = max(config.warmup_steps - 1, 0)
    share = (step - top) / max(config.max_steps - 1 - top, 1)
    fallen = (1 - math.cos(math.pi * min(share, 1.0))) / 2
    return config.learning_rate * (1 - (1 - FLOOR) * fallen)


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.AdamW:
    """AdamW for all that can be trained; norms, biases and embeddings do not decay.

    An output layer that shares its matrix with the embedding does not, either.
    """
    embeddings = {
        id(each) for module in model.modules() if isinstance(module, nn.Embedding)
        for each in module.parameters(recurse=False)
    }  # fmt: skip
    decaying: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for each in model.parameters():
        if each.requires_grad:
            is_matrix = each.dim() >= 2 and id(each) not in embeddings
            (decaying if is_matrix else others).append(each)
    groups: list[dict[str, Any]] = [
        {"params": decaying, "weight_decay": config.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=BETAS, fused=True)


def restore(optimizer: torch.optim.AdamW, saved: Any) -> None:
    """Put back the moments and counts that `optimizer.state_dict()` gave, and no setting.

    Raises:
        StoreError: they are not those of this model's weights, or not finite.
    """
    own = optimizer.state_dict()
    weights = [each for group in optimizer.param_groups for each in group["params"]]
    try:
        found = dict(saved["state"])
        fits = all(_fits(moments, weights[place]) for place, moments in found.items())
    except (LookupError, TypeError, ValueError, AttributeError):
        fits = False
    if not fits:  # torch would not look, and its kernels would read beyond a tensor that is short
        raise StoreError("the optimizer's state in the checkpoint is damaged, or another model's")
    optimizer.load_state_dict({**own, "state": found})


def _fits(moments: Any, weight: torch.Tensor) -> bool:
    """Whether AdamW's state of one weight has its names and shapes, and is finite."""
    shapes = {"step": torch.Size(), "exp_avg": weight.shape, "exp_avg_sq": weight.shape}
    return moments.keys() == shapes.keys() and all(
        moments[name].shape == shape
        and moments[name].is_floating_point()
        and bool(moments[name].isfinite().all())
        for name, shape in shapes.items()
    )


def update(
    model: nn.Module, optimizer: torch.optim.Optimizer, step: int, config: TrainingConfig
) -> dict[str, float]:
    """Change the weights by the gradients, whose norm is at most `CLIP_NORM`, and clear these.

    Returns `grad_norm`, before it is bounded, and `learning_rate`.

    Raises:
        Diverged: the norm is not finite.
    """
    norm = float(nn.utils.clip_grad_norm_(model.parameters(), CLIP_NORM))
    if not math.isfinite(norm):
        raise Diverged(
            f"the gradient of step {step + 1} is not finite ({norm}): a lower learning_rate or a "
            "longer warmup may help; the checkpoints are whole"
        )
    rate = learning_rate(step, config)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return {"grad_norm": norm, "learning_rate": rate}
