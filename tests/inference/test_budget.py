"""Money: an estimate before it is spent, and a limit that holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from infinite_rl.dataset import load_dataset
from infinite_rl.errors import UsageError
from infinite_rl.generation.progress import Progress
from infinite_rl.generator import generate_dataset
from infinite_rl.inference.budget import Budget, Spending, estimate
from infinite_rl.layout import render, tagged
from infinite_rl.providers.models import Price
from infinite_rl.providers.scripted import ScriptedProvider
from infinite_rl.types import Completion, Usage

DOLLAR_EACH = Price(0.0, 1_000_000.0)  # a call of one token of output costs a dollar


def right(system: str, prompt: str, seed: int) -> Completion:
    text = render(f"What is {seed} + 1?", f"{seed + 1}", tagged(str(seed + 1)))
    return Completion(text, "m", usage=Usage(0, 1))


def spent(calls: int, each: float) -> Spending:
    spending = Spending()
    for _ in range(calls):
        spending.add(Usage(100, 50), each)
    return spending


def test_a_call_starts_only_if_the_most_expensive_one_still_fits() -> None:
    first = Budget(5.0, [Price(0.0, 1000.0)], Spending(), 100, longest_output=1000)
    later = Budget(32.0, [Price(0.0, 1e9)], spent(20, 1.0), 100)  # at 1.25 times the dearest
    queued = Budget(32.0, [Price(0.0, 1e9)], spent(20, 1.0), 100, queued=["one", "two"])
    for budget, fit in ((first, 5), (later, 9), (queued, 7)):
        assert [bool(budget.refusal(n)) for n in range(fit + 1)] == [False] * fit + [True]
    assert not Budget(None, [None], spent(10, 1e9), 100).refusal(1000), "without a limit"


def test_a_refusal_says_what_is_spent_and_what_to_do() -> None:
    said = Budget(20.5, [DOLLAR_EACH], spent(20, 1.0), 100).refusal(0)
    assert "$20.5 is reached" in said
    assert "$20.0000 is spent" in said
    assert "--max_cost" in said


def test_a_limit_below_one_call_is_said_as_such_before_anything_is_asked(tmp_path: Path) -> None:
    provider = ScriptedProvider(right)

    def make(folder: Path, most: float, *, dry_run: bool = False) -> Progress:
        return generate_dataset(
            "m", 4, folder, provider=provider, task_dist="0,1", price=DOLLAR_EACH,
            max_cost=most, max_output_tokens=2, dry_run=dry_run, verify=0,
        )  # fmt: skip

    for dry_run in (True, False):
        with pytest.raises(UsageError, match=r"of \$1.5 is too small for one call: ") as refused:
            make(tmp_path / "out", 1.5, dry_run=dry_run)
        said = "may cost $2.0000, with completions of 2 tokens (--max_output_tokens lowers this)"
        assert said in str(refused.value)
    assert not provider.calls
    assert make(tmp_path, 8).complete
    assert make(tmp_path, 1.5).complete, "nothing is missing, so nothing costs anything"


def test_a_limit_below_a_verified_row_counts_the_calls_that_verify_it() -> None:
    budget = Budget(5.0, [DOLLAR_EACH] * 3, spent(20, 2.0), 100)
    said = "$5 is too small for one call and the 2 that may verify its row: that may cost $7.5000"
    assert said in budget.refusal(0)
    with pytest.raises(UsageError, match="1.25 times the most expensive call so far"):
        budget.check()
    Budget(None, [None], Spending(), 100).check()


def test_a_service_that_counts_no_tokens_cannot_spend_past_a_limit(tmp_path: Path) -> None:
    def uncounted(system: str, prompt: str, seed: int) -> Completion:
        return replace(right(system, prompt, seed), usage=Usage(7, 0))

    provider = ScriptedProvider(uncounted)
    options = {"provider": provider, "task_dist": "0,1", "price": DOLLAR_EACH}
    progress = generate_dataset("m", 4, tmp_path, max_cost=1e9, **options)
    assert "does not report output tokens" in progress.stopped
    assert len(provider.calls) == 1
    assert set(load_dataset(tmp_path)["cost"]) == {""}
    assert generate_dataset("m", 4, tmp_path, **options).complete, "without a limit it goes on"


def test_a_limit_must_be_above_zero_and_needs_a_price() -> None:
    for most in (0.0, -1.0, float("nan")):
        with pytest.raises(UsageError, match="above 0"):
            Budget(most, [DOLLAR_EACH], Spending(), 100)
    with pytest.raises(UsageError, match="--price"):
        Budget(1.0, [None], Spending(), 100)


@pytest.mark.parametrize("threads", [1, 8])
def test_a_run_never_costs_more_than_its_limit_and_goes_on_later(
    tmp_path: Path, threads: int
) -> None:
    def make(most: float) -> Progress:
        return generate_dataset(
            "m", 60, tmp_path, provider=ScriptedProvider(right), task_dist="0,1",
            num_threads=threads, price=DOLLAR_EACH, max_cost=most, max_output_tokens=2,
        )  # fmt: skip

    first = make(31.0)
    assert "limit of $31 is reached" in first.stopped
    assert 28 <= first.spending.cost <= 31
    assert len(load_dataset(tmp_path)) == first.calls
    second = make(100.0)
    assert second.complete
    assert second.spending.cost == 60


def test_a_dry_run_asks_and_writes_nothing(tmp_path: Path) -> None:
    provider = ScriptedProvider(right)
    progress = generate_dataset(
        "m", 70, tmp_path / "out", provider=provider, price=DOLLAR_EACH, dry_run=True
    )
    assert not provider.calls
    assert not (tmp_path / "out").exists()
    generate_dataset("m", 70, tmp_path, provider=provider, price=DOLLAR_EACH, dry_run=True)
    assert not list(tmp_path.iterdir())
    assert progress.estimate
    assert progress.estimate.rows == {"coding": 35, "math": 35}
    assert progress.estimate.calls == 100


def test_an_estimate_follows_the_calls_so_far() -> None:
    spending = spent(100, 0.01)
    found = estimate({"math": 100}, [Price(1.0, 2.0)], 999, present=50, spent=spending)
    assert found.measured
    assert (found.calls, found.usage) == (200, Usage(20_000, 10_000))
    assert found.cost == pytest.approx(2.0)


def test_solves_count_in_the_estimate_and_in_the_limit() -> None:
    missing = {"math": 7}
    prices = [Price(0.0, 1000.0), Price(0.0, 2000.0), Price(0.0, 2000.0)]
    four = estimate(missing, [prices[0], *prices[1:] * 2], 300)
    assert four.calls == 10 + round(2.5 * 7), "fewer are expected than the four that there may be"
    found = estimate(missing, prices, 300)
    assert found.calls == 10 + 2 * 7
    assert found.cost == pytest.approx(10 * 1.5 + 14 * 3.0)
    budget = Budget(10.0, prices, Spending(), 100, longest_output=1000)
    assert [bool(budget.refusal(flying)) for flying in range(3)] == [False, False, True]


def test_a_batch_is_reckoned_at_half_price_and_answers_within_their_limit() -> None:
    missing, prices = {"math": 7}, [Price(0.0, 1000.0)]
    whole = estimate(missing, prices, 300).cost
    assert whole and estimate(missing, prices, 300, batch=True).cost == whole / 2
    bounded = estimate(missing, prices, 300, longest_output=10)
    assert bounded.usage.output_tokens == 10 * bounded.calls
    assert estimate(missing, prices, 300, longest_output=9999).cost == whole
    budget = Budget(5.0, prices, Spending(), 100, longest_output=1000, batch=True)
    assert [bool(budget.refusal(flying)) for flying in (9, 10)] == [False, True]


def test_what_is_computed_here_takes_no_calls(tmp_path: Path) -> None:
    found = generate_dataset(None, 6, tmp_path, provider="procedural", dry_run=True).estimate
    assert found and (found.calls, found.cost, found.usage) == (0, 0.0, Usage())
    assert found.rows == {"coding": 3, "math": 3}


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_limit_that_leaves_room_for_fewer_at_once_is_told_before_anything_is_asked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, dry_run: bool
) -> None:
    def asked(system: str, prompt: str, seed: int) -> Completion:
        assert caplog.messages
        return right(system, prompt, seed)

    generate_dataset(
        "m", 4, tmp_path, provider=ScriptedProvider(asked), task_dist="0,1", num_threads=3,
        price=DOLLAR_EACH, max_cost=5, max_output_tokens=2, dry_run=dry_run,
    )  # fmt: skip
    (line,) = caplog.messages
    assert line.startswith("max_cost of $5 leaves room for 2 of 3 samples at once until 20 calls")
    assert (
        "one may cost $2.0000, with completions of 2 tokens (--max_output_tokens lowers this)"
        in line
    )
    assert not Budget(6.0, [DOLLAR_EACH], Spending(), 100, 2).crowded(3)
    assert not Budget(None, [DOLLAR_EACH], Spending(), 100, 2).crowded(3)


def test_an_estimate_without_a_price_has_no_cost() -> None:
    found = estimate({"math": 7}, [None], 300)
    assert not found.measured
    assert (found.calls, found.cost) == (10, None)
    assert found.usage.input_tokens == 1000
