"""How much a model is asked to think: what is sent, the room for thoughts, and what is said."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import gemini_server as gs
import openai_server as oa
import pytest

from infinite_rl.errors import NoCompletion, UsageError
from infinite_rl.inference.budget import Budget, Spending, estimate, estimate_calls
from infinite_rl.providers import make_provider, prices
from infinite_rl.providers.batch import GeminiBatches
from infinite_rl.providers.gemini import GeminiProvider
from infinite_rl.providers.models import (
    LEVELS,
    ThinkingRequest,
    cut_off_advice,
    parse_thinking,
    thinking_request,
)
from infinite_rl.providers.openai_compatible import OpenAICompatibleProvider
from infinite_rl.providers.prices import MODELS, Price, cost
from infinite_rl.types import Usage


@pytest.fixture(autouse=True)
def _in_november(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prices, "today", lambda: date(2026, 11, 22))


def sent(model: str, **settings: Any) -> dict[str, Any]:
    """The generation config that the real client sends to the service."""
    with gs.GeminiServer(lambda _: "hello") as server:
        GeminiProvider(model, api_key=gs.KEY, base_url=server.base_url, **settings).complete(
            "", "p", 1
        )
        config = server.requests[0].body["generationConfig"]
    assert isinstance(config, dict)
    return config


@pytest.mark.parametrize(
    ("model", "asked", "told"),
    [
        ("gemini-3.8-flash", None, None),
        ("gemini-3.8-flash", "low", {"thinkingLevel": "LOW"}),
        ("gemini-flash-latest", "high", {"thinkingLevel": "HIGH"}),
        ("gemini-3.6-flash", "minimal", {"thinkingLevel": "MINIMAL"}),
        ("gemini-2.5-flash", "off", {"thinkingBudget": 0}),
        ("gemini-2.5-flash", "0", {"thinkingBudget": 0}),
        ("gemini-2.5-flash", "medium", {"thinkingBudget": 8192}),
        ("gemini-2.5-flash", 700, {"thinkingBudget": 700}),
        ("gemini-2.5-flash-lite", "off", {"thinkingBudget": 0}),
        ("some-model", "high", {"thinkingLevel": "HIGH"}),
        ("some-model", "off", {"thinkingBudget": 0}),
        ("some-model", "500", {"thinkingBudget": 500}),
    ],
)
def test_a_model_is_told_in_its_own_way(
    model: str, asked: str | int | None, told: dict[str, Any] | None
) -> None:
    assert sent(model, thinking=asked).get("thinkingConfig") == told


@pytest.mark.parametrize(
    ("model", "asked", "answer", "limit"),
    [
        ("gemini-3.8-flash", "low", 2000, 2000 + 1024),
        ("gemini-3.8-flash", None, 2000, 2000 + 8192),  # it thinks on a medium level by itself
        ("gemini-3.8-flash", "high", 60_000, 65_536),
        ("gemini-3.8-flash", "high", 70_000, 70_000),
        ("gemini-2.5-flash", 700, 2000, 2700),
        ("gemini-2.5-flash", "off", 2000, 2000),
        ("gemini-2.5-flash-lite", None, 2000, 2000),
        ("some-model", None, 2000, 2000),
        ("some-model", "medium", 2000, 2000 + 8192),
    ],
)
def test_thoughts_have_their_tokens_beside_those_of_the_answer(
    model: str, asked: str | int | None, answer: int, limit: int
) -> None:
    assert sent(model, thinking=asked, max_output_tokens=answer)["maxOutputTokens"] == limit


def test_without_a_limit_on_the_answer_none_is_sent() -> None:
    assert "maxOutputTokens" not in sent("gemini-3.8-flash", thinking="high")


def test_a_batch_says_the_same_as_a_call() -> None:
    settings: dict[str, Any] = {"thinking": "low", "max_output_tokens": 2000, "temperature": 0.5}
    with gs.GeminiServer(lambda _: "hello") as server:
        batches = GeminiBatches(
            "gemini-3.8-flash", api_key=gs.KEY, base_url=server.base_url, **settings
        )
        batches.submit({"k": ("", "p", 1)})
        line = json.loads(server.uploads[0])
    config = line["request"]["generationConfig"]
    alone = sent("gemini-3.8-flash", **settings)
    for name in ("thinkingConfig", "maxOutputTokens", "temperature", "seed"):
        assert config[name] == alone[name]
    assert config["thinkingConfig"] == {"thinkingLevel": "LOW"}


@pytest.mark.parametrize(
    ("model", "asked", "said"),
    [
        ("gemini-3.8-flash", "off", "cannot switch its thinking off: --thinking is low, medium"),
        ("gemini-3.8-flash", "minimal", "has no thinking level 'minimal': --thinking is low, "),
        ("gemini-3.8-flash", "2000", "takes no number of thinking tokens: --thinking is low, "),
        ("gemini-2.5-pro", "off", "cannot switch its thinking off"),
        ("gemini-2.5-pro", "64", "thinks in 128 to 32768 tokens, not in 64"),
        ("gpt-4o", "low", "does not think: leave --thinking low out"),
        ("gpt-5-mini", "off", "cannot switch its thinking off"),
    ],
)
def test_a_model_that_cannot_think_so_is_refused_in_one_line(
    model: str, asked: str, said: str
) -> None:
    name = "gemini" if model.startswith("gemini") else "openai_compatible"
    with pytest.raises(UsageError) as refused:
        make_provider(name, model, thinking=asked, api_key="k" * 8, base_url="http://127.0.0.1:9")
    assert str(refused.value).startswith(f"{model} {said}") and "\n" not in str(refused.value)


@pytest.mark.parametrize("asked", ["", None])
def test_nothing_asked_is_nothing_said(asked: str | None) -> None:
    assert parse_thinking(asked) is None


@pytest.mark.parametrize("asked", ["on", "-1", "1.5", "1e3", "9" * 8, "٣", "low,high", True, -5])
def test_what_is_no_way_of_thinking_is_refused(asked: str | int) -> None:
    with pytest.raises(UsageError, match="thinking is off, minimal, low, medium, high or a number"):
        parse_thinking(asked)


@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_level_of_the_table_can_be_asked_for_and_no_other(model: str) -> None:
    thinking = MODELS[model].thinking
    if thinking is None:
        return
    for level in LEVELS:
        if level in thinking.levels or (level == "off" and not thinking.levels):
            thinking_request(model, level)
        else:
            with pytest.raises(UsageError):
                thinking_request(model, level)
    assert thinking.usual in ("", *thinking.levels)


def test_more_thinking_never_has_less_room() -> None:
    rooms = [thinking_request("some-model", level).budget for level in LEVELS]
    assert rooms == sorted(rooms) and rooms[0] == 0 < rooms[1]


@pytest.mark.parametrize(
    ("asked", "told", "limit"),
    [(None, None, 100), ("off", "none", 100), ("low", "low", 1124), ("high", "high", 24_676)],
)
def test_a_server_of_openais_protocol_is_told_an_effort(
    asked: str | None, told: str | None, limit: int
) -> None:
    with oa.OpenAIServer(lambda _: "hello") as server:
        OpenAICompatibleProvider(
            "some-model", base_url=server.base_url, api_key=oa.KEY, thinking=asked,
            max_output_tokens=100,
        ).complete("", "p", 1)  # fmt: skip
        body = server.requests[0].body
    assert (body.get("reasoning_effort"), body["max_tokens"]) == (told, limit)


def test_openais_protocol_has_no_number_of_thinking_tokens() -> None:
    with pytest.raises(UsageError, match="give a level"):
        OpenAICompatibleProvider("m", base_url="http://127.0.0.1:9", thinking="2000")


# What is said of an answer that thoughts have used up


def test_an_answer_that_was_thought_away_says_what_was_too_small() -> None:
    with gs.GeminiServer(lambda _: gs.cut(thoughts=1990)) as server:
        provider = GeminiProvider(
            "gemini-3.8-flash", api_key=gs.KEY, base_url=server.base_url, max_output_tokens=500
        )
        with pytest.raises(NoCompletion) as failed:
            provider.complete("", "p", 1)
    assert str(failed.value) == (
        "Gemini sent no text (MAX_TOKENS: 1,990 of its 1,990 tokens were thoughts: "
        "--max_output_tokens is too small; raise it, or lower --thinking)"
    )
    assert failed.value.usage.thinking_tokens == 1990


def test_thoughts_are_counted_and_kept_apart_from_the_answer() -> None:
    with gs.GeminiServer(lambda _: gs.cut("two words", thoughts=90)) as server:
        provider = GeminiProvider("gemini-3.8-flash", api_key=gs.KEY, base_url=server.base_url)
        completion = provider.complete("", "p", 1)
    assert completion.finish_reason == "length"
    usage = completion.usage
    assert (usage.output_tokens, usage.thinking_tokens) == (2, 90)
    assert "90 of its 92 tokens were thoughts" in cut_off_advice(usage)
    assert cut_off_advice(Usage(7, 92)) == "raise --max_output_tokens"


# What is reckoned with before it is spent


def test_a_limit_reckons_with_thoughts_beside_the_longest_answer() -> None:
    price = Price(0.0, 1000.0)  # a thousand tokens cost a dollar

    def dearest(room: int) -> str:
        return Budget(5.0, [price], Spending(), 0, longest_output=1000, room=room).refusal(2)

    assert not dearest(0) and not dearest(600)
    assert "may cost $2.0000" in dearest(1000)


def test_an_estimate_shows_thoughts_apart_and_prices_them_as_output() -> None:
    missing, price = {"math": 7}, Price(1.0, 2.0)
    bare = estimate(missing, [price], 300)
    found = estimate(missing, [price], 300, room=8192)
    assert bare.usage.thinking_tokens == 0
    assert found.usage.thinking_tokens == 10 * 2048
    assert found.usage.output_tokens == bare.usage.output_tokens
    assert found.cost == pytest.approx(cost(found.usage, price))
    one = estimate_calls(3, 300, price, Spending(), room=8192)
    assert one.usage.thinking_tokens == 3 * 2048


def test_an_estimate_by_the_calls_so_far_keeps_thoughts_apart() -> None:
    spending = Spending()
    for _ in range(100):
        spending.add(Usage(100, 50, thinking_tokens=200), 0.01)
    found = estimate({"m": 100}, [Price(1.0, 2.0)], 9, 8192, present=50, spent=spending)
    assert found.usage == Usage(20_000, 10_000, thinking_tokens=40_000)


def test_nothing_is_reserved_where_nothing_is_known() -> None:
    assert thinking_request("Qwen/Qwen3-8B", None) == ThinkingRequest()
