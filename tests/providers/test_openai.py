"""OpenAI's protocol and its dialects, through the real client, against a server on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai_server as oas
import pytest
from provider_services import KINDS, Service, without_keys

from infinite_rl.errors import NoCompletion, ProviderRefused, ProviderUnavailable
from infinite_rl.providers import openai_compatible
from infinite_rl.providers.openai_compatible import OpenAICompatibleProvider
from infinite_rl.types import Usage
from tests.support.labelled import assert_none


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    without_keys(monkeypatch)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    service = Service(KINDS["openai_compatible"])
    with service.server:
        yield service


# What is sent


def test_prompts_seed_and_settings_are_sent(service: Service) -> None:
    request = service.sent(
        model="other/model:7b", system="Be brief.", prompt="Say hello.", seed=7,
        temperature=0.5, max_output_tokens=99,
    )  # fmt: skip
    assert request.body == {
        "model": "other/model:7b",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Say hello."},
        ],
        "seed": 7,
        "temperature": 0.5,
        "max_tokens": 99,
    }
    messages = [{"role": "user", "content": "prompt"}]
    bare = {"model": "some-model", "messages": messages, "seed": 1}
    assert service.sent(system="").body == bare, "the rest is left to the server"


def sent_to(host: str, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> dict[str, Any]:
    """The request that a provider for this host would send."""
    sent: dict[str, Any] = {}
    provider = OpenAICompatibleProvider("m", base_url=f"https://{host}/v1", api_key="k", **settings)

    def create(**request: Any) -> Any:
        sent.update(request)
        raise ValueError

    monkeypatch.setattr(provider, "_create", create)
    with pytest.raises(ProviderUnavailable):
        provider.complete("sys", "prompt", 1)
    return sent


def test_the_host_decides_the_dialect(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, *hosts in (
        ("max_completion_tokens", "api.openai.com", "us.api.openai.com", "mine.openai.azure.com"),
        ("max_tokens", "openrouter.ai", "api.deepseek.com", "localhost:8000"),
        ("max_tokens", "notapi.openai.com.example.org"),
    ):
        for host in hosts:
            sent = sent_to(host, monkeypatch, max_output_tokens=5)
            assert {key: sent[key] for key in sent if key.startswith("max_")} == {name: 5}, host
    sent = sent_to("api.deepseek.com", monkeypatch, structured=True)
    assert sent["response_format"] == {"type": "json_object"}
    assert "JSON" in sent["messages"][0]["content"], "or DeepSeek refuses"
    sent = sent_to("localhost", monkeypatch, structured=True)
    assert sent["response_format"]["json_schema"]["strict"] is True


# What comes back


def test_tokens_are_counted_alike_by_every_server(service: Service) -> None:
    thinking = {"completion_tokens_details": {"reasoning_tokens": 3}}
    beside = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 19, **thinking}
    cases: list[tuple[dict[str, Any], Usage]] = [
        (beside, Usage(11, 5, 0, 3)),
        ({"prompt_tokens": 11, "prompt_cache_hit_tokens": 4}, Usage(11, 0, 4)),  # DeepSeek
        (
            {"prompt_tokens": 11, "completion_tokens": 5, "prompt_tokens_details": None},
            Usage(11, 5),
        ),
        ({"prompt_tokens": -1, "completion_tokens": "5", "total_tokens": None}, Usage()),
        ({"prompt_tokens": [], "prompt_tokens_details": 3}, Usage()),
        ({"prompt_tokens": 10**30, "completion_tokens": 10**400, "total_tokens": 7}, Usage(0, 7)),
    ]
    for counts, usage in cases:
        assert service.ask(oas.text("hello", usage=counts)).usage == usage


def test_an_answer_is_read_in_every_dialect(service: Service) -> None:
    for name in ("reasoning_content", "reasoning"):
        assert service.ask(oas.text("42", **{name: "six times seven"})).reasoning[:3] == "six"
    for no_text in (None, 5, {"text": "hm"}):
        assert service.ask(oas.text("42", reasoning=no_text)).reasoning == ""
    for finish, reason in (("stop", "stop"), (None, "stop"), ("length", "length")):
        assert service.ask(oas.text("hello", finish=finish)).finish_reason == reason
    plain = oas.Reply("plain", 200, oas.text("hello").body, {"Content-Type": "text/plain"})
    answer = service.ask(plain)
    assert (answer.text, answer.model) == ("hello", "some-model")


def test_openrouter_reports_the_cost_of_a_call() -> None:
    cost_of = openai_compatible._reported_cost
    assert cost_of({"usage": {"cost": 0.25}}, "openrouter.ai") == 0.25
    assert cost_of({"usage": {"cost": 0}}, "openrouter.ai:443") == 0.0
    for cost in (-1, 10**400, float("nan"), float("inf"), "1", None):
        assert cost_of({"usage": {"cost": cost}}, "openrouter.ai") is None
    assert cost_of({"usage": {"cost": 0.25}}, "elsewhere.example") is None


def test_an_answer_without_text_names_its_reason_and_its_usage(service: Service) -> None:
    faults = service.faults(
        NoCompletion,
        (oas.text(None), "no text (stop)"),
        (oas.text(" \n"), "no text (stop)"),
        (oas.text("", reasoning="hm"), "no text (stop)"),
        (oas.text(None, finish=None), "no text (stop)"),
        (oas.text("", finish="length"), "no text (length: raise --max_output_tokens)"),
        (oas.text("half", finish="content_filter"), "stopped the answer (content_filter)"),
        (oas.text(None, finish="tool_calls"), "stopped the answer (tool_calls)"),
        (oas.text(None, refusal="I can't do that."), "the model refused (I can't do that.)"),
        usage=Usage(7, 3),
    )
    assert_none(faults)


def test_a_missing_model_and_a_refused_prompt_say_so(service: Service) -> None:
    flagged = {"reasons": ["x"], "flagged_input": "prompt"}
    replies = (
        oas.error(400, "This is too long.", "context_length_exceeded"),
        oas.error(400, "This model's maximum context length is 8192 tokens.", 400),
        oas.error(400, "Filtered.", "content_filter"),
        oas.error(400, "Content Exists Risk", "invalid_request_error"),
        oas.error(403, "Flagged.", 403, metadata=flagged),
    )
    cases = [(reply, "refused the prompt") for reply in replies]
    faults = service.faults(NoCompletion, *cases)
    said = "has no model some-model at this address (404: No.); choose another with --model_name"
    assert_none(faults + service.faults(ProviderRefused, (oas.error(404, "No."), said)))


# Failures


def test_a_rate_limit_has_the_delay_that_the_server_named(service: Service) -> None:
    faults = []
    for delay, headers in (
        (None, {}),
        (7.0, {"Retry-After": "7"}),
        (6.5, {"Retry-After": "7", "retry-after-ms": "6500"}),
        (None, {"Retry-After": "soon"}),
        (None, {"Retry-After": "-3"}),
        (None, {"Retry-After": "9" * 400}),
        (None, {"Retry-After": "Sat, 21 Nov 2026 15:00:00 GMT"}),
    ):
        reply = oas.error(429, "Slow down.", "rate_limit_exceeded", headers)
        expected = {"retry_after": delay, "rate_limit": False}
        faults += service.faults(ProviderUnavailable, (reply, ""), **expected)
    messages = (
        "Rate limit reached on requests per min (RPM): Limit 3, Used 3. Please try again in 20s.",
        "Rate limit reached on tokens per min. Limit: 10000",
        "Rate limit exceeded: free-models-per-min.",
    )
    named = [(oas.error(429, each, "rate_limit_exceeded"), "") for each in messages]
    assert_none([*faults, *service.faults(ProviderUnavailable, *named, rate_limit=True)])


def test_server_trouble_may_be_tried_again(service: Service) -> None:
    replies = [
        *(oas.error(code, "Trouble.") for code in (408, 409, 500, 502, 503, 529)),
        oas.garbage(b"<html>502", 502),
        oas.garbage(b"[" * 100_000, 503),
        oas.garbage(b'{"error": 5}', 500),
        oas.text("half", finish="insufficient_system_resource"),
        oas.text("half", finish="abort"),
        oas.json_reply("inside", 200, {"error": {"code": 502, "message": "upstream"}}),
        oas.json_reply("inside", 200, {"error": {"code": "odd", "message": "upstream"}}),
        oas.json_reply("inside", 200, {"choices": [{"error": {"code": 429, "message": "busy"}}]}),
    ]
    bodies = (
        b"", b"<html>teapot", b"null", b"[]", b'"text"', b"5", b"{}", b'{"choices": 5}',
        b'{"choices": []}', b'{"choices": [5]}',
        b'{"choices": [{"message": "text", "finish_reason": "stop"}]}',
        b'{"choices": [{"message": {"content": 5}, "finish_reason": "stop"}]}',
        b'{"choices": [{"message": {"content": ["a"]}, "finish_reason": "stop"}]}',
        b'{"choices": [{"message": {"con', b"\xff\xfe\x00\xd8", b"[" * 100_000,
        b'{"usage": ' + b"9" * 5000 + b"}",
    )  # fmt: skip
    garbled = [(oas.garbage(body), "garbled") for body in bodies]
    cases: list[tuple[oas.Reply | str, str]] = [(reply, "") for reply in replies]
    assert_none(service.faults(ProviderUnavailable, *cases, *garbled))


def test_no_retry_helps_an_empty_account_or_a_used_up_day(service: Service) -> None:
    replies = (
        oas.error(429, "You exceeded your current quota.", "insufficient_quota"),
        oas.error(429, "Billing hard limit has been reached", "billing_hard_limit_reached"),
        oas.error(429, "Rate limit exceeded: free-models-per-day. Add 10 credits", 429),
        oas.error(429, "Rate limit reached on requests per day (RPD): Limit 200, Used 200"),
        oas.error(402, "Insufficient Balance"),
        oas.json_reply("inside", 200, {"error": {"code": 402, "message": "no credits"}}),
    )
    assert_none(service.faults(ProviderRefused, *((reply, "") for reply in replies)))


def test_an_error_code_of_any_json_type_is_one_of_our_errors(service: Service) -> None:
    faults = []
    for code in ([], {}, ["insufficient_quota"]):
        body = {"error": {"code": code, "message": "busy"}}
        inside = [oas.json_reply("inside", status, body) for status in (200, 429, 503)]
        faults += service.faults(ProviderUnavailable, *((reply, "") for reply in inside))
        faults += service.faults(ProviderRefused, (oas.json_reply("inside", 400, body), ""))
    assert_none(faults)


def test_any_other_refusal_quotes_the_server(service: Service) -> None:
    bodies: tuple[tuple[object, str], ...] = (
        ({"error": {"message": "temperature\n is\x1b[31m too high"}}, "temperature is [31m too hi"),
        ({"object": "error", "message": "vLLM's old form"}, "400: vLLM's old form"),
        ({"error": "Ollama's own form"}, "400: Ollama's own form"),
        ({"detail": "FastAPI's form"}, "400: FastAPI's form"),
        ({"detail": [{"loc": ["body"]}]}, "400: no message"),
        ([1], "400: no message"),
    )
    cases = [(oas.json_reply("refused", 400, body), said) for body, said in bodies]
    assert_none(service.faults(ProviderRefused, *cases))


# The key


def test_a_refused_key_says_which_variable_to_mend(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = OpenAICompatibleProvider("m", base_url=service.server.base_url)
    said = "refused a call without a key .*; set OPENAI_API_KEY to a key"
    with pytest.raises(ProviderRefused, match=said):
        provider.complete("", "prompt", 1)
    monkeypatch.setenv("OPENAI_API_KEY", oas.KEY)
    provider = OpenAICompatibleProvider("m", base_url=service.server.base_url)
    for code in (401, 403):
        service.reply = oas.error(code, "No.")
        with pytest.raises(ProviderRefused, match="refused the key from OPENAI_API_KEY") as caught:
            provider.complete("", "prompt", 1)
        assert "\n" not in str(caught.value)


def test_only_openai_itself_must_have_a_key() -> None:
    for url in (None, "https://api.openai.com/v1", "https://eu.api.openai.com/v1"):
        with pytest.raises(ProviderRefused, match="set OPENAI_API_KEY"):
            OpenAICompatibleProvider("m", base_url=url)
    with oas.OpenAIServer(lambda _: "none of it", key=None) as server:
        provider = OpenAICompatibleProvider("m", base_url=server.base_url)
        assert provider.complete("", "prompt", 1).text == "none of it"
