"""The price table and the arithmetic of costs."""

from __future__ import annotations

from datetime import date

import pytest

from infinite_rl.errors import UsageError
from infinite_rl.providers.prices import (
    ALIASES,
    BATCH_FACTOR,
    MODELS,
    Price,
    cost,
    known_as,
    parse_price,
    price_of,
)
from infinite_rl.types import Usage

MILLION = 1_000_000


BEFORE, AFTER = date(2026, 11, 22), date(2027, 1, 1)


@pytest.mark.parametrize("day", [BEFORE, AFTER])
@pytest.mark.parametrize("model", sorted({*MODELS, *ALIASES}))
def test_every_price_is_a_price(model: str, day: date) -> None:
    price = price_of(model, day)
    assert price and 0 < price.input < price.output
    assert price.cached is None or 0 < price.cached < price.input


def test_a_price_that_ends_is_followed_by_the_next_one() -> None:
    assert price_of("gemini-3.8-flash", date(2026, 12, 31)) == Price(0.75, 3.75, 0.075)
    assert price_of("gemini-3.8-flash", AFTER) == Price(1.50, 7.50, 0.15)


@pytest.mark.parametrize("name", sorted(ALIASES))
def test_another_name_costs_what_its_model_costs(name: str) -> None:
    assert price_of(name, AFTER) == price_of(ALIASES[name], AFTER)


@pytest.mark.parametrize(
    ("model", "priced_as"),
    [
        ("gemini-2.0-flash-exp", "gemini-2.0-flash"),
        ("gemini-2.0-flash-001", "gemini-2.0-flash"),
        ("gemini-2.5-flash-lite", "gemini-2.5-flash-lite"),
        ("gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash"),
        ("gemini-3.1-pro-preview", "gemini-3.1-pro"),
        ("models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),
        ("gpt-5-mini-2025-08-07", "gpt-5-mini"),
        ("o3-20250416", "o3"),
    ],
)
def test_a_release_costs_what_its_model_costs(model: str, priced_as: str) -> None:
    assert known_as(model) == priced_as
    assert price_of(model, BEFORE) == price_of(priced_as, BEFORE)


@pytest.mark.parametrize(
    "model",
    ["", "gemini", "gemini-2.5-flash-image", "gpt-5-pro", "gpt-4o-audio-preview", "gpt-50", "o3x"]
    + ["gemini-2.5", "Qwen/Qwen3-8B", "scripted", "procedural", "google/gemini-2.5-flash"],
)
def test_an_unknown_model_has_no_price(model: str) -> None:
    assert price_of(model) is None


def test_a_cost_is_the_sum_over_fresh_and_cached_input_and_all_that_was_written() -> None:
    usage = Usage(
        input_tokens=3 * MILLION,
        output_tokens=2 * MILLION,
        cached_tokens=MILLION,
        thinking_tokens=5 * MILLION,
    )
    assert cost(usage, Price(1.0, 10.0, 0.25)) == 2 * 1.0 + 0.25 + 7 * 10.0


def test_cached_input_without_a_price_of_its_own_costs_what_input_costs() -> None:
    assert cost(Usage(input_tokens=MILLION, cached_tokens=MILLION), Price(1.0, 10.0)) == 1.0


def test_more_cached_than_there_was_is_as_much_as_there_was() -> None:
    assert cost(Usage(input_tokens=MILLION, cached_tokens=9 * MILLION), Price(1, 2, 0.5)) == 0.5


def test_a_batch_halves_all_but_cached_input() -> None:
    usage = Usage(input_tokens=2 * MILLION, output_tokens=MILLION, cached_tokens=MILLION)
    assert BATCH_FACTOR == 0.5
    assert cost(usage, Price(1.0, 10.0, 0.25), batch=True) == 0.5 + 0.25 + 5.0


def test_no_usage_costs_nothing() -> None:
    assert cost(Usage(), Price(1.0, 2.0)) == 0.0


@pytest.mark.parametrize(
    ("text", "price"),
    [
        ("0.10,0.40", Price(0.1, 0.4)),
        (" 1 , 2 ", Price(1.0, 2.0)),
        (".5,2.,0.05", Price(0.5, 2.0, 0.05)),
        ("0,0", Price(0.0, 0.0)),
    ],
)
def test_a_price_is_read(text: str, price: Price) -> None:
    assert parse_price(text) == price


@pytest.mark.parametrize(
    "text",
    ["", "1", "1,2,3,4", "1;2", "-1,2", "nan,1", "inf,1", "1e3,2", "1,", "a,b", "1_0,2", "١,٢"]
    + ["9" * 400 + ",1"],
)
def test_a_text_that_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a price"):
        parse_price(text)
