"""AdamW, its learning rate schedule, and gradient clipping."""

import math
from typing import Any

import torch
from torch import nn

from ...errors import InfiniteRLError, StoreError
from ..runs.config import TrainingConfig

FLOOR = 0.1  # the last learning rate, as a fraction of the highest


class Diverged(InfiniteRLError):
    """A gradient is not finite: the weights stay as they are, and the run ends."""


def learning_rate(step: int, config: TrainingConfig) -> float:
    """The learning rate of the update number `step`, from 0.

    Linear warm-up to the highest at the last warm-up step, then half a cosine down to `FLOOR` of it
    at the last step.
    """
    if step < config.warmup_steps:
        return config.learning_rate * (step + 1) / config.warmup_steps
    top = max(config.warmup_steps - 1, 0)
    share = (step - top) / max(config.max_steps - 1 - top, 1)
    decay = (1 - math.cos(math.pi * min(share, 1.0))) / 2
    return config.learning_rate * (1 - (1 - FLOOR) * decay)


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.AdamW:
    """AdamW for all trainable weights; no decay of norms, biases and embeddings, tied or not."""
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
    betas = config.adam_beta1, config.adam_beta2
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=betas, fused=True)


def restore(optimizer: torch.optim.AdamW, saved: Any) -> None:
    """Restore the moments and counts of `optimizer.state_dict()`, but not its settings.

    Raises:
        StoreError: they do not fit this model's weights, or are not finite.
    """
    weights = [each for group in optimizer.param_groups for each in group["params"]]
    try:
        state = dict(saved["state"])
        fits = all(_fits(moments, weights[index]) for index, moments in state.items())
    except (LookupError, TypeError, ValueError, AttributeError):
        fits = False
    if not fits:  # torch does not check, and its kernels would read beyond a short tensor
        raise StoreError("the optimizer's state in the checkpoint is damaged, or another model's")
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def _fits(moments: Any, weight: torch.Tensor) -> bool:
    """Whether AdamW's state of a weight has the right names and shapes, and is finite."""
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
    """Update the weights by the gradients, clipped to `max_grad_norm`, and clear these.

    Returns `grad_norm`, before clipping, and `learning_rate`.

    Raises:
        Diverged: the norm is not finite.
    """
    norm = float(nn.utils.clip_grad_norm_(model.parameters(), config.max_grad_norm))
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
