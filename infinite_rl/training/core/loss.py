"""The losses: negative log-likelihood, and the policy gradient family in one function.

Every reduction gives all tokens of a sequence the same weight. The weights are computed once for
all sequences of an update (`sequence_weights`), and a loss is a sum with these weights: the losses
of microbatches add up to the update's, however it is split.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ...errors import UnknownName, UsageError
from ..runs.config import KL_ESTIMATORS, TrainingConfig
from .tensors import masked_normalize

REDUCTIONS = ("sequence", "group", "token", "constant")
RATIOS = ("token", "sequence")


@dataclass(frozen=True)
class Objective:
    """A member of the policy gradient family.

    `std` is its rule of `group_advantages`. `clip` is the range below and above 1 in which the
    ratio of new to old probability has a gradient; None uses no ratio. `ratio` is per token or per
    sequence: the geometric mean of its tokens'. `reduce` is how tokens are averaged
    (`sequence_weights`). `beta` is the coefficient of the divergence from a reference model, `kl`
    its estimator. `cap` is that of truncated importance sampling; 0 uses none.
    """

    std: str = "population"
    clip: tuple[float, float] | None = (0.2, 0.2)
    ratio: str = "token"
    reduce: str = "sequence"
    beta: float = 0.0
    kl: str = "k3"
    cap: float = 0.0

    def __post_init__(self) -> None:
        if self.ratio not in RATIOS:
            raise UnknownName("ratio", self.ratio, RATIOS)
        if self.reduce not in REDUCTIONS:
            raise UnknownName("reduction", self.reduce, REDUCTIONS)
        if self.clip is not None and not all(side >= 0 for side in self.clip):
            raise UsageError(f"a clip range is two non-negative numbers, not {self.clip!r}")
        if self.kl not in KL_ESTIMATORS:
            raise UnknownName("estimator", self.kl, KL_ESTIMATORS)
        if not self.beta >= 0:
            raise UsageError(f"beta must not be negative, as {self.beta!r} is")


# REINFORCE: Williams, Machine Learning 8 (1992). GRPO: arXiv:2402.03300. Dr. GRPO:
# arXiv:2503.20783. DAPO: arXiv:2503.14476, whose mean is over all tokens of an update;
# "dapo_group" takes it within each prompt's group first. GSPO: arXiv:2507.18071.
PRESETS: Mapping[str, Objective] = {
    "reinforce": Objective(clip=None),
    "grpo": Objective(),
    "dr_grpo": Objective(std="none", reduce="constant"),
    "dapo": Objective(clip=(0.2, 0.28), reduce="token"),
    "dapo_group": Objective(clip=(0.2, 0.28), reduce="group"),
    "gspo": Objective(clip=(3e-4, 4e-4), ratio="sequence"),
}


def objective_of(config: TrainingConfig) -> Objective:
    """The preset of a config's `loss`, with the config's clip range, divergence and cap."""
    own = PRESETS[config.loss]
    clip = own.clip and (config.clip_low or own.clip[0], config.clip_high or own.clip[1])
    return replace(
        own,
        clip=clip,
        beta=config.kl_coef,
        kl=config.kl_estimator,
        cap=config.importance_sampling_cap,
    )


def sft_microbatch_train_step(
    policy_log_probs: Tensor,
    response_mask: Tensor,
    gradient_accumulation_steps: int = 1,
    normalize_constant: float = 1.0,
) -> tuple[Tensor, dict[str, Tensor]]:
    """The negative log-likelihood of the masked tokens of a microbatch, and its `backward()`.

    Log-probabilities and mask are (B, T). The loss, of shape (), is the sum over the masked tokens
    divided by both other arguments. For a gradient that does not depend on the microbatches,
    `normalize_constant` is the number of masked tokens of the whole update, and the steps are 1.
    The metadata are the sum, the loss, the number of tokens and their means.

    Raises:
        UsageError: the shapes differ, or a divisor is not positive.
    """
    if not gradient_accumulation_steps > 0 or not normalize_constant > 0:
        raise UsageError("gradient_accumulation_steps and normalize_constant must be positive")
    total = -masked_normalize(policy_log_probs, response_mask)
    loss = total / (gradient_accumulation_steps * normalize_constant)
    loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
    tokens = response_mask.bool().sum().to(total.dtype)
    nll = total.detach()
    mean = nll / tokens.clamp(min=1)
    return loss, {
        "nll_unscaled": nll,
        "loss": loss.detach(),
        "token_count": tokens,
        "avg_response_token_logprob": -mean,
        "avg_response_token_nll": mean,
    }


def sequence_weights(
    lengths: Tensor, reduce: str, *, groups: Tensor | None = None, constant: float | None = None
) -> Tensor:
    """The weight of each token of a sequence in the loss of an update: (B,), float32.

    `lengths` (B,) are the numbers of response tokens of all n sequences of the update; sequences
    without any do not count.

        sequence   1 / (n * its length)                    the mean of the sequences' means
        group      1 / (groups * tokens of its group)      the mean of the groups' means
        token      1 / (tokens of the update)              the mean of all tokens
        constant   1 / (n * constant)                      usually max_new_tokens

    `groups` (B,) are integers, equal for sequences of one prompt.

    Raises:
        UsageError: the reduction needs groups, or a positive constant.
        UnknownName: an unknown reduction.
    """
    if reduce not in REDUCTIONS:
        raise UnknownName("reduction", reduce, REDUCTIONS)
    device = lengths.device
    lengths = lengths.cpu().to(torch.float64)  # MPS has no float64
    some = lengths > 0
    if reduce == "sequence":
        share = some.sum() * lengths
    elif reduce == "token":
        share = lengths.sum().expand_as(lengths)
    elif reduce == "constant":
        if constant is None or not constant > 0:
            raise UsageError("the reduction 'constant' needs a positive constant")
        share = (some.sum() * constant).to(lengths).expand_as(lengths)
    else:
        if groups is None or groups.shape != lengths.shape:
            raise UsageError("the reduction 'group' needs the group of each sequence")
        index = torch.unique(groups.cpu(), return_inverse=True)[1]
        tokens = torch.zeros_like(lengths).index_add(0, index, lengths)
        share = (tokens > 0).sum() * tokens[index]
    return torch.where(some, 1 / share.clamp(min=1e-300), 0.0).float().to(device)


def policy_loss(
    log_probs: Tensor,
    old_log_probs: Tensor | None,
    advantages: Tensor,
    mask: Tensor,
    objective: Objective = PRESETS["grpo"],
    *,
    ref_log_probs: Tensor | None = None,
    weights: Tensor | None = None,
) -> tuple[Tensor, dict[str, Tensor]]:
    """The policy gradient loss of a (micro)batch, of shape (), and statistics of it.

    `log_probs` (B, T) are the policy's, `old_log_probs` those of the sampling policy at its
    temperature, `ref_log_probs` those of the reference, and `mask` is 1 on response tokens.
    `advantages` are (B,), (B, 1) or (B, T). `weights` (B,) are these rows of the update's
    `sequence_weights`; without them the batch is a whole update. With A the advantage, r the ratio
    exp(log_probs - old_log_probs), or its geometric mean, and d = ref_log_probs - log_probs, it is
    the sum over masked tokens of

        weight * (-min(r A, clip(r, 1 - low, 1 + high) A) + beta * k)

    or, without a clip, of weight * (-A log_probs + ...). k estimates the divergence
    KL(policy || reference) (Schulman, "Approximating KL divergence", 2020): -d is k1, d^2 / 2 is
    k2, exp(d) - d - 1 is k3. The expected gradient of k1 is 0, so k1 only adds noise to a loss.

    With a `cap` of the objective, old_log_probs may be of a sampler that computes otherwise than
    the policy, as vLLM does: the ratio r is to the policy as it is now, and the first term is
    multiplied with min(exp(log_probs - old_log_probs), cap), which has no gradient (Yao et al.,
    "Your Efficient RL Framework Secretly Brings You Off-Policy RL Training", 2025).

    The statistics are means over the masked tokens: `ratio`, `clip_low`, `clip_high` (where the
    minimum has no gradient), `old_kl` (k3 to the old policy), `kl` (to the reference), with
    a cap `importance` (the factor) and `capped` (the fraction of tokens above the cap), and the
    counts `tokens` and `sequences`, to combine the means of microbatches.

    Raises:
        UsageError: shapes do not fit, or the objective needs a missing argument.
    """
    kept = mask.bool()
    _check(log_probs, old_log_probs, advantages, kept, objective, ref_log_probs, weights)
    lengths = kept.sum(1)
    if weights is None:
        weights = sequence_weights(lengths, objective.reduce)
    if advantages.dim() == 1:
        advantages = advantages.unsqueeze(1)
    log_probs = torch.where(kept, log_probs, 0.0)  # padding may be NaN, and so would exp be
    statistics = {"tokens": lengths.sum(), "sequences": (lengths > 0).sum()}
    change = None if old_log_probs is None else log_probs - torch.where(kept, old_log_probs, 0.0)
    importance = None
    if objective.cap and change is not None:
        factor = change.detach().exp()
        importance = factor.clamp(max=objective.cap)
        statistics["importance"] = _mean(importance, kept)
        statistics["capped"] = _mean((factor > objective.cap).to(factor), kept)
    if objective.clip is None or change is None:
        each = -advantages * log_probs
    else:
        statistics["old_kl"] = _mean(_k3(change), kept)
        if importance is not None:
            change = log_probs - log_probs.detach()
        if objective.ratio == "sequence":
            change = (change.sum(1) / lengths.clamp(min=1)).unsqueeze(1).expand_as(change)
        ratio = change.exp()
        free = ratio * advantages
        clipped = ratio.clamp(1 - objective.clip[0], 1 + objective.clip[1]) * advantages
        each, is_clipped = -torch.min(free, clipped), clipped < free  # no gradient where it is
        statistics |= {
            "ratio": _mean(ratio, kept),
            "clip_low": _mean(is_clipped & (ratio < 1), kept),
            "clip_high": _mean(is_clipped & (ratio > 1), kept),
        }
    if importance is not None:
        each = each * importance
    if ref_log_probs is not None:
        divergence = _DIVERGENCES[objective.kl](log_probs - torch.where(kept, ref_log_probs, 0.0))
        statistics["kl"] = _mean(divergence, kept)
        each = each + objective.beta * divergence
    loss = (masked_normalize(each, kept, dim=1) * weights.to(each)).sum()
    return loss, statistics


def _k3(change: Tensor) -> Tensor:
    """exp(d) - d - 1 for d = -change, exact for small d."""
    return torch.expm1(-change) + change


# Schulman 2020, of log_probs - ref_log_probs.
_DIVERGENCES: Mapping[str, Callable[[Tensor], Tensor]] = {
    "k1": lambda change: change,
    "k2": lambda change: change.square() / 2,
    "k3": _k3,
}


def _mean(values: Tensor, kept: Tensor) -> Tensor:
    return masked_normalize(values.detach(), kept) / kept.sum().clamp(min=1)


def _check(
    log_probs: Tensor,
    old_log_probs: Tensor | None,
    advantages: Tensor,
    kept: Tensor,
    objective: Objective,
    ref_log_probs: Tensor | None,
    weights: Tensor | None,
) -> None:
    if objective.clip is not None and old_log_probs is None:
        raise UsageError("a clipped objective needs old_log_probs")
    if objective.beta and ref_log_probs is None:
        raise UsageError("a divergence (beta) needs ref_log_probs")
    rows, length = log_probs.shape
    full, per_row = (rows, length), (rows,)
    allowed: tuple[tuple[str, Tensor | None, tuple[tuple[int, ...], ...]], ...] = (
        ("mask", kept, (full,)),
        ("old_log_probs", old_log_probs, (full,)),
        ("ref_log_probs", ref_log_probs, (full,)),
        ("advantages", advantages, (per_row, (rows, 1), full)),
        ("weights", weights, (per_row,)),
    )
    for name, tensor, shapes in allowed:
        if tensor is not None and tuple(tensor.shape) not in shapes:
            raise UsageError(f"log_probs are of shape {full}, but {name} of {tuple(tensor.shape)}")
