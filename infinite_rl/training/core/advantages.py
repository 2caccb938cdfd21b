"""Advantages: the reward of a completion relative to the others of the same prompt."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ...errors import UnknownName, UsageError

STDS = ("population", "sample", "none")
SAMPLE_EPS = 1e-4  # what TRL adds to its standard deviation


def group_advantages(
    rewards: Tensor | Sequence[float],
    group_size: int,
    *,
    std: str = "population",
    eps: float = 1e-6,
) -> Tensor:
    """The rewards (N,) minus the mean of their group, divided by its standard deviation.

    Each `group_size` consecutive rewards are a group. The result is float32 of shape (N,). `std`:

        population   (r - mean) / max(s, `eps`), s^2 the mean squared deviation
        sample       (r - mean) / (s + 1e-4), s^2 with n - 1 for n, as TRL
        none         r - mean, as Dr. GRPO

    A group of equal rewards gets exactly 0. NaN is a completion without a verdict: it does not
    count in its group and gets 0.

    GRPO: Shao et al., DeepSeekMath, arXiv:2402.03300. Dr. GRPO: Liu et al., arXiv:2503.20783.

    Raises:
        UsageError: N is no multiple of `group_size`, or a reward is infinite.
        UnknownName: an unknown rule for the standard deviation.
    """
    if std not in STDS:
        raise UnknownName("rule for the standard deviation", std, STDS)
    rewards = torch.as_tensor(rewards, dtype=torch.float64)
    if group_size < 1 or rewards.dim() != 1 or len(rewards) % group_size:
        raise UsageError(
            f"rewards of shape {tuple(rewards.shape)} are no whole number of groups of {group_size}"
        )
    if rewards.isinf().any():
        raise UsageError("a reward is infinite")
    groups = rewards.reshape(-1, group_size)
    scored = ~groups.isnan()
    count = scored.sum(1, keepdim=True)
    mean = groups.nansum(1, keepdim=True) / count
    deviation = torch.where(scored, groups - mean, 0.0)
    low = groups.nan_to_num(nan=torch.inf).amin(1, keepdim=True)
    high = groups.nan_to_num(nan=-torch.inf).amax(1, keepdim=True)
    deviation = torch.where(low < high, deviation, 0.0)  # a rounded mean is not quite the reward
    if std != "none":
        free = count - 1 if std == "sample" else count
        spread = ((deviation**2).sum(1, keepdim=True) / free.clamp(min=1)).sqrt()
        deviation = deviation / (spread + SAMPLE_EPS if std == "sample" else spread.clamp(min=eps))
    return deviation.flatten().float()
