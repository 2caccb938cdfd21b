"""The losses: worked by hand, checked by finite differences, the same however they are cut."""

import math
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from labelled import unlike

from infinite_rl.errors import UnknownName, UsageError
from infinite_rl.training.core.advantages import STDS, group_advantages
from infinite_rl.training.core.loss import (
    PRESETS,
    Objective,
    objective_of,
    policy_loss,
    sequence_weights,
    sft_microbatch_train_step,
)
from infinite_rl.training.runs.config import TrainingConfig

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


def test_nothing_under_the_mask_leaks_into_the_likelihood_and_arguments_are_checked() -> None:
    log_probs = leaf()
    loss, found = sft_microbatch_train_step(log_probs, torch.zeros(2, 3))
    assert loss.item() == 0 and not log_probs.grad.any()
    assert all(value.isfinite() for value in found.values())
    log_probs = leaf([[-0.1, NAN, -0.2], [-INF, -2.0, -0.4]])
    loss, _ = sft_microbatch_train_step(log_probs, MASK)
    assert loss.item() == pytest.approx(2.7, abs=1e-6)
    assert log_probs.grad.tolist() == (-MASK).tolist()
    with pytest.raises(ValueError, match="shape"):
        sft_microbatch_train_step(leaf(), MASK[:, :2])
    for steps, constant in ((0, 1.0), (-1, 1.0), (1, 0.0), (1, NAN)):
        with pytest.raises(ValueError, match="positive"):
            sft_microbatch_train_step(leaf(), MASK, steps, constant)


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_the_gradient_of_an_update_does_not_depend_on_its_microbatches(size: int) -> None:
    torch.manual_seed(0)
    log_probs = torch.randn(6, 4, requires_grad=True)
    mask = torch.rand(6, 4) < 0.5
    for rows in torch.arange(6).split(size):
        sft_microbatch_train_step(log_probs[rows], mask[rows], 1, mask.sum().item())
    assert log_probs.grad is not None
    assert log_probs.grad.allclose(-mask.float() / mask.sum(), atol=1e-7)


# --- weights -------------------------------------------------------------------------------------
LENGTHS, GROUPS = torch.tensor([1, 3, 0, 4]), torch.tensor([7, 7, 5, 5])


def test_the_weights_of_each_reduction_by_hand() -> None:
    zeros = torch.zeros(2, dtype=torch.int64)
    for reduce, expected in (
        ("sequence", [1 / 3, 1 / 9, 0, 1 / 12]),
        ("group", [1 / 8, 1 / 8, 0, 1 / 8]),
        ("token", [1 / 8, 1 / 8, 0, 1 / 8]),
        ("constant", [1 / 30, 1 / 30, 0, 1 / 30]),
    ):
        found = sequence_weights(LENGTHS, reduce, groups=GROUPS, constant=10)
        assert found.tolist() == pytest.approx(expected, abs=1e-6), reduce
        assert sequence_weights(zeros, reduce, groups=zeros, constant=1).tolist() == [0, 0]
    groups = torch.tensor([0, 1, 0, 1, 2])  # each counts as much, however long it is
    found = sequence_weights(torch.tensor([2, 1, 4, 2, 0]), "group", groups=groups)
    assert found.tolist() == pytest.approx([1 / 12, 1 / 6, 1 / 12, 1 / 6, 0], abs=1e-6)
    assert not unlike(
        [
            ("UsageError: .*needs the group", lambda: sequence_weights(LENGTHS, "group")),
            ("positive constant", lambda: sequence_weights(LENGTHS, "constant", constant=0)),
            ("UnknownName: .*group, sequence, token", lambda: sequence_weights(LENGTHS, "tokens")),
        ]
    )


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
    for other, sign in ((leaf().detach(), 0), (leaf().detach() - 0.01, 1), (OLD, 1)):
        found = policy_loss(leaf(), OLD, ADVANTAGES, MASK, ref_log_probs=other)[1]
        assert (found["kl"] > 0) == sign and found["kl"] >= 0


def test_the_estimators_of_the_divergence_by_hand() -> None:
    without, _ = loss_of("grpo")
    changes = (0.1, 0.2, 2.0, 0.4)  # of the reference's log-probability to the policy's
    for name, each in (("k1", [-d for d in changes]), ("k2", [d * d / 2 for d in changes])):
        loss, found = loss_of("grpo", beta=0.5, kl=name)
        assert loss - without == pytest.approx(0.5 * sum(each) / 4, abs=1e-6)
        assert found["kl"] == pytest.approx(sum(each) / 4, abs=1e-6)
    with pytest.raises(UsageError, match="estimator"):
        replace(PRESETS["grpo"], kl="k4")


def test_a_config_changes_what_it_names_of_its_loss() -> None:
    def objective(**values: Any) -> Objective:
        return objective_of(TrainingConfig.of({"model": "m", "loss": "dapo", **values}))

    assert objective() == PRESETS["dapo"]
    assert objective(clip_high=0.4).clip == (0.2, 0.4)
    assert objective(clip_low=0.1, kl_coef=0.5, kl_estimator="k2") == replace(
        PRESETS["dapo"], clip=(0.1, 0.28), beta=0.5, kl="k2"
    )
    assert objective(loss="reinforce") == PRESETS["reinforce"]


def test_truncated_importance_sampling_weighs_tokens_by_the_policys_ratio_to_its_sampler() -> None:
    """By hand: ratios 0.5, 1.5 and 4 under a cap of 2 weigh the gradient of A log_probs."""
    sampler = torch.log(torch.tensor([[0.2, 0.2, 0.1]], dtype=torch.float64))
    mask, advantages = torch.ones(1, 3), torch.tensor([3.0], dtype=torch.float64)
    for name in ("grpo", "dapo", "reinforce"):
        policy = torch.log(torch.tensor([[0.1, 0.3, 0.4]], dtype=torch.float64)).requires_grad_()
        objective = replace(PRESETS[name], cap=2.0)
        loss, found = policy_loss(policy, sampler, advantages, mask, objective)
        loss.backward()
        assert policy.grad.tolist()[0] == pytest.approx([-0.5, -1.5, -2.0])  # -3 * factor / 3
        assert float(found["importance"]) == pytest.approx(4 / 3)
        assert float(found["capped"]) == pytest.approx(1 / 3)
    same = policy.detach().clone().requires_grad_()
    loss, found = policy_loss(
        same, same.detach(), advantages, mask, replace(PRESETS["grpo"], cap=2.0)
    )
    without, _ = policy_loss(same, same.detach(), advantages, mask, PRESETS["grpo"])
    assert float(loss) == float(without) and float(found["capped"]) == 0


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


def loss_of_drawn(
    name: str, given: dict[str, Any], log_probs: Any, rows: Any = slice(None), width: int = 5
) -> tuple[Any, dict[str, Any]]:
    """The loss of these rows of an update, cut to a width."""
    objective = replace(PRESETS[name], beta=0.1)
    weights = sequence_weights(
        given["mask"].sum(1), objective.reduce, groups=given["groups"], constant=5
    )
    old, mask, ref = (given[each][rows, :width] for each in ("old", "mask", "ref"))
    return policy_loss(
        log_probs[rows, :width], old, given["advantages"][rows], mask, objective,
        ref_log_probs=ref, weights=weights[rows],
    )  # fmt: skip


@pytest.mark.parametrize("name", PRESETS)
def test_the_gradient_is_that_of_finite_differences(name: str) -> None:
    given = drawn()
    assert torch.autograd.gradcheck(
        lambda log_probs: loss_of_drawn(name, given, log_probs)[0], given["log_probs"]
    )


@pytest.mark.parametrize("name", PRESETS)
def test_microbatches_add_up_to_the_update(name: str) -> None:
    given, gradients, losses = drawn(), [], []
    for size in (6, 1, 2, 4):
        log_probs, total = given["log_probs"].detach().clone().requires_grad_(), 0.0
        for rows in torch.arange(6).split(size):
            width = max(int(given["mask"][rows].sum(1).max()), 1)  # as padded as it needs to be
            loss, _ = loss_of_drawn(name, given, log_probs, rows, width)
            loss.backward()
            total += loss.item()
        gradients.append(log_probs.grad)
        losses.append(total)
    assert all(each.allclose(gradients[0], atol=1e-9) for each in gradients)
    assert losses == pytest.approx([losses[0]] * 4, abs=1e-9)


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


@pytest.mark.parametrize("name", PRESETS)
def test_nothing_under_the_mask_leaks_into_the_policy_loss(name: str) -> None:
    given, found = drawn(), []
    hidden = ~given["mask"]
    for fill in (0.0, NAN, INF, -INF, 1e4):
        log_probs = given["log_probs"].detach().masked_fill(hidden, fill).requires_grad_()
        filled = {
            "old": given["old"].masked_fill(hidden, -fill),
            "ref": given["ref"].masked_fill(hidden, fill),
        }
        loss, statistics = loss_of_drawn(name, {**given, **filled}, log_probs)
        loss.backward()
        found.append((loss.item(), log_probs.grad.tolist(), statistics))
    assert all(each == found[0] for each in found)
    log_probs = leaf()  # and a batch without any response token has loss 0
    loss, statistics = policy_loss(log_probs, OLD, ADVANTAGES, torch.zeros(2, 3))
    loss.backward()
    assert loss.item() == 0 and not log_probs.grad.any()
    assert all(value.isfinite() for value in statistics.values())


def test_a_clipped_token_has_no_gradient_and_advantages_are_of_sequences_or_tokens() -> None:
    for given in (ADVANTAGES, ADVANTAGES.unsqueeze(1), ADVANTAGES.unsqueeze(1).expand(2, 3)):
        log_probs = leaf()
        loss, _ = policy_loss(log_probs, OLD, given, MASK)
        loss.backward()
        assert (log_probs.grad != 0).tolist() == [[False, False, True], [False, False, True]]
        assert loss.item() == pytest.approx(loss_of("grpo")[0], abs=1e-6)


def test_what_is_missing_or_misshapen_is_named() -> None:
    wrong, rows = torch.ones(2, 2), torch.ones(3)
    cases: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("needs old_log_probs", (None, ADVANTAGES, MASK), {}),
        ("needs ref_log_probs", (OLD, ADVANTAGES, MASK, Objective(beta=0.1)), {}),
        ("needs the group", (OLD, ADVANTAGES, MASK, PRESETS["dapo_group"]), {}),
        ("but mask of", (OLD, ADVANTAGES, wrong), {}),
        ("but old_log_probs of", (wrong, ADVANTAGES, MASK), {}),
        ("but advantages of", (OLD, rows, MASK), {}),
        ("but weights of", (OLD, ADVANTAGES, MASK), {"weights": rows}),
        ("but ref_log_probs of", (OLD, ADVANTAGES, MASK), {"ref_log_probs": wrong}),
    ]
    for message, given, options in cases:
        with pytest.raises(ValueError, match=message):
            policy_loss(leaf(), *given, **options)
    objectives: list[dict[str, Any]] = [
        {"ratio": "tokens"}, {"reduce": "mean"}, {"clip": (-0.1, 0.2)}, {"clip": (0.1, NAN)},
        {"beta": -1.0}, {"beta": NAN},
    ]  # fmt: skip
    for changes in objectives:
        with pytest.raises(UnknownName if {"ratio", "reduce"} & {*changes} else UsageError):
            Objective(**changes)


# --- advantages ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("std", "expected"),
    [
        ("population", [-math.sqrt(1.5), 0.0, math.sqrt(1.5)]),
        ("sample", [-1 / 1.0001, 0.0, 1 / 1.0001]),
        ("none", [-1.0, 0.0, 1.0]),
    ],
)
def test_each_rule_is_the_one_worked_by_hand(std: str, expected: list[float]) -> None:
    values = group_advantages([0.0, 1.0, 2.0, 5.0, 6.0, 7.0], 3, std=std)
    assert values.dtype == torch.float32 and values.shape == (6,)
    assert values.tolist() == pytest.approx(expected * 2, abs=1e-6)


@pytest.mark.parametrize("std", STDS)
def test_equal_rewards_get_exactly_0(std: str) -> None:
    for reward in (0.0, 0.1, 1 / 3, -7.3, 1e30):
        assert group_advantages([reward] * 7, 7, std=std).tolist() == [0.0] * 7
    assert group_advantages([3.0, 4.0], 1, std=std).tolist() == [0.0, 0.0], "groups of one"


@pytest.mark.parametrize("std", STDS)
def test_what_has_no_verdict_is_left_out_of_its_group(std: str) -> None:
    values = group_advantages([0.0, NAN, 1.0, 2.0, NAN, NAN, NAN, NAN], 4, std=std).tolist()
    three = group_advantages([0.0, 1.0, 2.0], 3, std=std).tolist()
    assert values == [three[0], 0.0, *three[1:], 0.0, 0.0, 0.0, 0.0]


def test_rewards_must_be_whole_groups_of_finite_numbers() -> None:
    values = group_advantages([0.0, 2e-3], 2, eps=0.5)  # a spread below eps counts as eps
    assert values.tolist() == pytest.approx([-2e-3, 2e-3], abs=1e-9)
    for rewards, size in (([1.0, 2.0, 3.0], 2), ([1.0], 0), ([1.0], -1)):
        with pytest.raises(UsageError, match="whole number of groups"):
            group_advantages(rewards, size)
    with pytest.raises(UsageError, match="infinite"):
        group_advantages([1.0, math.inf], 2)
    with pytest.raises(UnknownName, match="population"):
        group_advantages([1.0, 2.0], 2, std="smaple")
    assert group_advantages([], 4).tolist() == []
