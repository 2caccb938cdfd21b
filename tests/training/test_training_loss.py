"""The losses: worked by hand, checked by finite differences, the same however they are cut."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from infinite_rl.errors import UnknownName, UsageError
from infinite_rl.training.core.loss import (
    PRESETS,
    Objective,
    compute_grpo_clip_loss,
    policy_loss,
    sequence_weights,
    sft_microbatch_train_step,
)

NAN, INF = math.nan, math.inf
MASK = torch.tensor([[1, 0, 1], [0, 1, 1]])
LOG_PROBS = [[-0.1, -1.0, -0.2], [-0.3, -2.0, -0.4]]


def leaf(values: Any = None) -> Any:
    return torch.tensor(LOG_PROBS if values is None else values, requires_grad=True)


# --- likelihood ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("steps", "constant"), [(1, 1.0), (4, 1.0), (1, 8.0), (2, 4.0)])
@pytest.mark.parametrize("kind", [torch.bool, torch.int64, torch.float32])
def test_the_likelihood_and_its_gradient_by_hand(steps: int, constant: float, kind: Any) -> None:
    log_probs = leaf()
    loss, found = sft_microbatch_train_step(log_probs, MASK.to(kind), steps, constant)
    assert loss.shape == () and loss.requires_grad
    assert loss.item() == pytest.approx(2.7 / (steps * constant), abs=1e-6)
    assert log_probs.grad.allclose(-MASK / (steps * constant), atol=1e-7)
    assert {name: value.item() for name, value in found.items()} == pytest.approx(
        {
            "nll_unscaled": 2.7,
            "loss": 2.7 / (steps * constant),
            "token_count": 4,
            "avg_response_token_logprob": -0.675,
            "avg_response_token_nll": 0.675,
        },
        abs=1e-6,
    )


def test_a_mask_of_zeros_has_no_gradient_and_finite_means() -> None:
    log_probs = leaf()
    loss, found = sft_microbatch_train_step(log_probs, torch.zeros(2, 3))
    assert loss.item() == 0 and not log_probs.grad.any()
    assert all(value.isfinite() for value in found.values())


def test_a_nan_under_the_mask_does_not_leak_into_the_likelihood() -> None:
    log_probs = leaf([[-0.1, NAN, -0.2], [-INF, -2.0, -0.4]])
    loss, _ = sft_microbatch_train_step(log_probs, MASK)
    assert loss.item() == pytest.approx(2.7, abs=1e-6)
    assert log_probs.grad.tolist() == (-MASK).tolist()


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_the_gradient_of_an_update_does_not_depend_on_its_microbatches(size: int) -> None:
    torch.manual_seed(0)
    log_probs = torch.randn(6, 4, requires_grad=True)
    mask = torch.rand(6, 4) < 0.5
    for rows in torch.arange(6).split(size):
        sft_microbatch_train_step(log_probs[rows], mask[rows], 1, mask.sum().item())
    assert log_probs.grad is not None
    assert log_probs.grad.allclose(-mask.float() / mask.sum(), atol=1e-7)


def test_shapes_and_divisors_of_the_likelihood_are_checked() -> None:
    with pytest.raises(ValueError, match="shape"):
        sft_microbatch_train_step(leaf(), MASK[:, :2])
    for steps, constant in ((0, 1.0), (-1, 1.0), (1, 0.0), (1, NAN)):
        with pytest.raises(ValueError, match="positive"):
            sft_microbatch_train_step(leaf(), MASK, steps, constant)


# --- weights -------------------------------------------------------------------------------------

LENGTHS, GROUPS = torch.tensor([1, 3, 0, 4]), torch.tensor([7, 7, 5, 5])


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [
        ("sequence", [1 / 3, 1 / 9, 0, 1 / 12]),
        ("group", [1 / 8, 1 / 8, 0, 1 / 8]),
        ("token", [1 / 8, 1 / 8, 0, 1 / 8]),
        ("constant", [1 / 30, 1 / 30, 0, 1 / 30]),
    ],
)
def test_the_weights_of_each_reduction_by_hand(reduce: str, expected: list[float]) -> None:
    found = sequence_weights(LENGTHS, reduce, groups=GROUPS, constant=10)
    assert found.tolist() == pytest.approx(expected, abs=1e-6)


def test_a_group_counts_as_much_as_another_however_long_it_is() -> None:
    groups = torch.tensor([0, 1, 0, 1, 2])
    found = sequence_weights(torch.tensor([2, 1, 4, 2, 0]), "group", groups=groups)
    assert found.tolist() == pytest.approx([1 / 12, 1 / 6, 1 / 12, 1 / 6, 0], abs=1e-6)


def test_no_token_at_all_weighs_nothing() -> None:
    zeros = torch.zeros(2, dtype=torch.int64)
    for reduce in ("sequence", "group", "token", "constant"):
        assert sequence_weights(zeros, reduce, groups=zeros, constant=1).tolist() == [0, 0]


def test_a_reduction_says_what_it_lacks() -> None:
    with pytest.raises(UsageError, match="needs the group"):
        sequence_weights(LENGTHS, "group")
    with pytest.raises(UsageError, match="positive constant"):
        sequence_weights(LENGTHS, "constant", constant=0)
    with pytest.raises(UnknownName, match="sequence, token"):
        sequence_weights(LENGTHS, "tokens")


# --- policy gradient -----------------------------------------------------------------------------

OLD = torch.tensor([[-0.4, -1.0, 0.0], [-0.3, -1.6, -0.4]])
ADVANTAGES = torch.tensor([2.0, -1.0])
R = [[math.exp(0.3), 1.0, math.exp(-0.2)], [1.0, math.exp(-0.4), 1.0]]  # new over old


def loss_of(name: str, **changes: Any) -> tuple[float, dict[str, float]]:
    objective = replace(PRESETS[name], **changes)
    weights = sequence_weights(
        MASK.sum(1), objective.reduce, groups=torch.tensor([0, 1]), constant=5
    )
    ref = torch.zeros(2, 3) if objective.beta else None
    loss, found = policy_loss(
        leaf(), OLD, ADVANTAGES, MASK, objective, ref_log_probs=ref, weights=weights
    )
    return loss.item(), {name: value.item() for name, value in found.items()}


def test_grpo_by_hand() -> None:
    loss, found = loss_of("grpo")
    first = -(1.2 * 2 + R[0][2] * 2) / 2  # what rises is clipped at 1.2, what falls is not
    second = (0.8 + 1.0) / 2  # of a negative advantage what falls is clipped at 0.8
    assert loss == pytest.approx((first + second) / 2, abs=1e-6)
    assert found["ratio"] == pytest.approx((R[0][0] + R[0][2] + R[1][1] + 1) / 4, abs=1e-6)
    assert (found["clip_low"], found["clip_high"]) == (0.25, 0.25)
    k3 = [math.exp(-d) - 1 + d for d in (0.3, -0.2, -0.4, 0.0)]
    assert found["old_kl"] == pytest.approx(sum(k3) / 4, abs=1e-6)
    assert (found["tokens"], found["sequences"]) == (4, 2)


def test_the_reductions_by_hand() -> None:
    sums = [-(1.2 * 2 + R[0][2] * 2), 0.8 + 1.0]
    upper = [-(1.28 * 2 + R[0][2] * 2), 0.8 + 1.0]
    assert loss_of("dr_grpo")[0] == pytest.approx(sum(sums) / (2 * 5), abs=1e-6)
    assert loss_of("dapo")[0] == pytest.approx(sum(upper) / 4, abs=1e-6)
    assert loss_of("dapo_group")[0] == pytest.approx(sum(upper) / 4, abs=1e-6)


def test_gspo_takes_one_ratio_a_sequence() -> None:
    first, second = math.exp((0.3 - 0.2) / 2), math.exp((-0.4 + 0.0) / 2)
    loss, found = loss_of("gspo", clip=(0.5, 0.5))
    assert loss == pytest.approx((-2 * first + second) / 2, abs=1e-6)
    assert found["ratio"] == pytest.approx((first + second) / 2, abs=1e-6)
    clipped, found = loss_of("gspo")
    assert clipped == pytest.approx((-2 * (1 + 4e-4) + (1 - 3e-4)) / 2, abs=1e-6)
    assert (found["clip_low"], found["clip_high"]) == (0.5, 0.5)


def test_reinforce_takes_no_ratio() -> None:
    loss, found = loss_of("reinforce")
    assert loss == pytest.approx((2 * 0.15 - 1.2) / 2, abs=1e-6)
    assert "clip_low" not in found
    assert policy_loss(leaf(), None, ADVANTAGES, MASK, PRESETS["reinforce"])[0].item() == (
        pytest.approx(loss, abs=1e-6)
    )


def test_the_divergence_is_k3_and_weighs_beta() -> None:
    without, _ = loss_of("grpo")
    loss, found = loss_of("grpo", beta=0.5)
    k3 = [math.exp(d) - d - 1 for d in (0.1, 0.2, 2.0, 0.4)]
    assert loss - without == pytest.approx(0.5 * sum(k3) / 4, abs=1e-6)
    assert found["kl"] == pytest.approx(sum(k3) / 4, abs=1e-6)


def test_the_divergence_from_itself_is_0_and_from_others_positive() -> None:
    for other, sign in ((leaf().detach(), 0), (leaf().detach() - 0.01, 1), (OLD, 1)):
        found = policy_loss(leaf(), OLD, ADVANTAGES, MASK, ref_log_probs=other)[1]
        assert (found["kl"] > 0) == sign and found["kl"] >= 0


def drawn(count: int = 6, length: int = 5) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(1)
    old = -torch.rand(count, length, generator=generator, dtype=torch.float64)
    # Every ratio is well inside or outside the clip range: there the loss has a derivative.
    change = torch.tensor([-0.5, -0.1, 0.0, 0.1, 0.5], dtype=torch.float64)
    picked = torch.randint(5, (count, length), generator=generator)
    lengths = torch.tensor([5, 1, 3, 0, 2, 4])[:count]
    return {
        "log_probs": (old + change[picked]).requires_grad_(),
        "old": old,
        "ref": -torch.rand(count, length, generator=generator, dtype=torch.float64),
        "advantages": torch.tensor([1.0, -1.0, 0.5, 2.0, -2.0, 0.7], dtype=torch.float64)[:count],
        "mask": torch.arange(length) < lengths.unsqueeze(1),
        "groups": torch.arange(count) // 2,
    }


def weights_of(given: dict[str, Any], objective: Objective) -> Any:
    return sequence_weights(
        given["mask"].sum(1), objective.reduce, groups=given["groups"], constant=5
    )


@pytest.mark.parametrize("name", PRESETS)
def test_the_gradient_is_that_of_finite_differences(name: str) -> None:
    given, objective = drawn(), replace(PRESETS[name], beta=0.1)

    def loss(log_probs: Any) -> Any:
        return policy_loss(
            log_probs,
            given["old"],
            given["advantages"],
            given["mask"],
            objective,
            ref_log_probs=given["ref"],
            weights=weights_of(given, objective),
        )[0]

    assert torch.autograd.gradcheck(loss, given["log_probs"])


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("size", [1, 2, 4, 6])
def test_microbatches_add_up_to_the_update(name: str, size: int) -> None:
    given, objective = drawn(), replace(PRESETS[name], beta=0.1)
    weights, gradients, losses = weights_of(given, objective), [], []
    for cut in (6, size):
        log_probs, total = given["log_probs"].detach().clone().requires_grad_(), 0.0
        for rows in torch.arange(6).split(cut):
            width = max(int(given["mask"][rows].sum(1).max()), 1)  # as padded as it needs to be
            loss, _ = policy_loss(
                log_probs[rows, :width],
                given["old"][rows, :width],
                given["advantages"][rows],
                given["mask"][rows, :width],
                objective,
                ref_log_probs=given["ref"][rows, :width],
                weights=weights[rows],
            )
            loss.backward()
            total += loss.item()
        gradients.append(log_probs.grad)
        losses.append(total)
    assert gradients[0].allclose(gradients[1], atol=1e-9)
    assert losses[0] == pytest.approx(losses[1], abs=1e-9)


@pytest.mark.parametrize("name", PRESETS)
def test_what_was_better_than_its_group_becomes_likelier(name: str) -> None:
    logits = torch.zeros(2, 3, 4, requires_grad=True)
    log_probs = logits.log_softmax(-1)[..., 0]
    objective, mask = PRESETS[name], torch.ones(2, 3)
    weights = sequence_weights(mask.sum(1), objective.reduce, groups=torch.zeros(2), constant=3)
    policy_loss(
        log_probs, log_probs.detach(), torch.tensor([1.0, -1.0]), mask, objective, weights=weights
    )[0].backward()
    assert logits.grad is not None
    assert (logits.grad[0, :, 0] < 0).all() and (logits.grad[1, :, 0] > 0).all()


def test_a_clipped_token_has_no_gradient() -> None:
    log_probs = leaf()
    policy_loss(log_probs, OLD, ADVANTAGES, MASK)[0].backward()
    assert (log_probs.grad != 0).tolist() == [[False, False, True], [False, False, True]]


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("poison", [NAN, INF, -INF, 1e4])
def test_nothing_under_the_mask_leaks_into_the_policy_loss(name: str, poison: float) -> None:
    given, objective = drawn(), replace(PRESETS[name], beta=0.1)
    weights = weights_of(given, objective)
    found = []
    for fill in (0.0, poison):
        hidden = ~given["mask"]
        log_probs = given["log_probs"].detach().masked_fill(hidden, fill).requires_grad_()
        loss, statistics = policy_loss(
            log_probs,
            given["old"].masked_fill(hidden, -fill),
            given["advantages"],
            given["mask"],
            objective,
            ref_log_probs=given["ref"].masked_fill(hidden, fill),
            weights=weights,
        )
        loss.backward()
        found.append((loss.item(), log_probs.grad.tolist(), statistics))
    assert found[0] == found[1]


def test_a_batch_without_any_response_token_has_loss_0() -> None:
    log_probs = leaf()
    loss, found = policy_loss(log_probs, OLD, ADVANTAGES, torch.zeros(2, 3))
    loss.backward()
    assert loss.item() == 0 and not log_probs.grad.any()
    assert all(value.isfinite() for value in found.values())


def test_advantages_may_be_one_a_sequence_or_one_a_token() -> None:
    losses = {
        policy_loss(leaf(), OLD, given, MASK)[0].item()
        for given in (ADVANTAGES, ADVANTAGES.unsqueeze(1), ADVANTAGES.unsqueeze(1).expand(2, 3))
    }
    assert len(losses) == 1


def test_the_token_losses_carry_their_ratios() -> None:
    advantages = ADVANTAGES.unsqueeze(1)
    loss, found = compute_grpo_clip_loss(advantages, leaf(), OLD, 0.2)
    ratio = torch.tensor(R)
    assert found["importance_wts"].allclose(ratio, atol=1e-6)
    assert found["clipped_wts"].allclose(ratio.clamp(0.8, 1.2), atol=1e-6)
    assert found["was_clipped"].tolist() == [[1, 0, 0], [0, 1, 0]]
    assert found["min_is_rhs"].tolist() == [[1, 0, 0], [0, 1, 0]]
    assert found["was_clipped"].dtype == torch.int
    assert loss.allclose(-torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages))
    uneven = compute_grpo_clip_loss(advantages, leaf(), OLD, (0.2, 0.4))[1]
    assert uneven["was_clipped"].tolist() == [[0, 0, 0], [0, 1, 0]]


def test_what_is_missing_or_misshapen_is_named() -> None:
    with pytest.raises(ValueError, match="needs old_log_probs"):
        policy_loss(leaf(), None, ADVANTAGES, MASK)
    with pytest.raises(ValueError, match="needs ref_log_probs"):
        policy_loss(leaf(), OLD, ADVANTAGES, MASK, Objective(beta=0.1))
    with pytest.raises(UsageError, match="needs the group"):
        policy_loss(leaf(), OLD, ADVANTAGES, MASK, PRESETS["dapo_group"])
    wrong = torch.ones(2, 2)
    for name, given in {
        "mask": (OLD, ADVANTAGES, wrong),
        "old_log_probs": (wrong, ADVANTAGES, MASK),
        "advantages": (OLD, torch.ones(3), MASK),
    }.items():
        with pytest.raises(ValueError, match=f"but {name} of"):
            policy_loss(leaf(), *given)
    with pytest.raises(ValueError, match="but weights of"):
        policy_loss(leaf(), OLD, ADVANTAGES, MASK, weights=torch.ones(3))
    with pytest.raises(ValueError, match="but ref_log_probs of"):
        policy_loss(leaf(), OLD, ADVANTAGES, MASK, ref_log_probs=wrong)


def test_an_objective_is_checked_where_it_is_made() -> None:
    for changes in ({"ratio": "tokens"}, {"reduce": "mean"}):
        with pytest.raises(UnknownName):
            Objective(**changes)
    for changes in ({"clip": (-0.1, 0.2)}, {"clip": (0.1, NAN)}, {"beta": -1.0}, {"beta": NAN}):
        with pytest.raises(UsageError):
            Objective(**changes)  # type: ignore[arg-type]
