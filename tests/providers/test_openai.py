"""The provider for OpenAI's protocol, through the real client, against a server on loopback."""

from __future__ import annotations

import builtins
import socket
import sys
from collections.abc import Iterator
from typing import Any

import openai_server as oas
import pytest

from infinite_rl.errors import (
    NoCompletion,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    UsageError,
)
from infinite_rl.providers import openai_compatible
from infinite_rl.providers.openai_compatible import OpenAICompatibleProvider
from infinite_rl.types import Completion, Usage


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


class Service:
    """A server whose next answer a test sets, and one client of it."""

    def __init__(self) -> None:
        self.reply: oas.Reply | str = "hello"
        self.server = oas.OpenAIServer(lambda _: self.reply)
        self.provider: OpenAICompatibleProvider

    def ask(self, reply: oas.Reply | str, system: str = "sys", seed: int = 1) -> Completion:
        self.reply = reply
        return self.provider.complete(system, "prompt", seed)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    service = Service()
    with service.server as server:
        service.provider = OpenAICompatibleProvider(
            "some-model", api_key=oas.KEY, base_url=server.base_url, timeout_s=5
        )
        yield service


def failure(service: Service, reply: oas.Reply | str) -> ProviderError:
    """The one error that this reply leads to, after one request."""
    before = len(service.server.requests)
    with pytest.raises(ProviderError) as caught:
        service.ask(reply)
    assert len(service.server.requests) == before + 1
    return caught.value


def at(host: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A stand-in for the client: what a provider for this host would send."""
    sent: dict[str, Any] = {}

    def provider(**settings: Any) -> dict[str, Any]:
        made = OpenAICompatibleProvider("m", base_url=f"https://{host}/v1", api_key="k", **settings)

        def create(**request: Any) -> Any:
            sent.update(request)
            raise ValueError

        monkeypatch.setattr(made, "_create", create)
        with pytest.raises(ProviderUnavailable):
            made.complete("sys", "prompt", 1)
        return sent

    return provider


# What is sent


def test_prompts_seed_and_settings_are_sent(service: Service) -> None:
    provider = OpenAICompatibleProvider(
        "other/model:7b",
        api_key=oas.KEY,
        base_url=service.server.base_url,
        temperature=0.5,
        max_output_tokens=99,
    )
    service.reply = "hello"
    provider.complete("Be brief.", "Say hello.", 7)
    assert service.server.requests[-1].body == {
        "model": "other/model:7b",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Say hello."},
        ],
        "seed": 7,
        "temperature": 0.5,
        "max_tokens": 99,
    }


def test_settings_that_were_not_given_are_left_to_the_server(service: Service) -> None:
    service.ask("hello", system="")
    messages = [{"role": "user", "content": "prompt"}]
    body = {"model": "some-model", "messages": messages, "seed": 1}
    assert service.server.requests[-1].body == body


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("api.openai.com", "max_completion_tokens"),
        ("us.api.openai.com", "max_completion_tokens"),
        ("mine.openai.azure.com", "max_completion_tokens"),
        ("openrouter.ai", "max_tokens"),
        ("api.deepseek.com", "max_tokens"),
        ("localhost:8000", "max_tokens"),
        ("notapi.openai.com.example.org", "max_tokens"),
    ],
)
def test_the_host_decides_what_the_limit_is_called(
    host: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = at(host, monkeypatch)(max_output_tokens=5)
    assert {key: sent[key] for key in sent if key.startswith("max_")} == {name: 5}


def test_deepseek_is_asked_for_json_and_the_others_for_a_schema(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = at("api.deepseek.com", monkeypatch)(structured=True)
    assert sent["response_format"] == {"type": "json_object"}
    assert "JSON" in sent["messages"][0]["content"], "or DeepSeek refuses"
    sent = at("localhost", monkeypatch)(structured=True)
    assert sent["response_format"]["json_schema"]["strict"] is True


# What comes back


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        (
            {
                "prompt_tokens": 11,
                "completion_tokens": 8,
                "total_tokens": 19,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            Usage(11, 5, 4, 3),
        ),
        (  # thoughts beside the completion
            {
                "prompt_tokens": 11,
                "completion_tokens": 5,
                "total_tokens": 19,
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            Usage(11, 5, 0, 3),
        ),
        ({"prompt_tokens": 11, "prompt_cache_hit_tokens": 4}, Usage(11, 0, 4)),  # DeepSeek
        (
            {"prompt_tokens": 11, "completion_tokens": 5, "prompt_tokens_details": None},
            Usage(11, 5),
        ),
        ({"prompt_tokens": -1, "completion_tokens": "5", "total_tokens": None}, Usage()),
        ({"prompt_tokens": [], "prompt_tokens_details": 3}, Usage()),
        ({"prompt_tokens": 10**30, "completion_tokens": 10**400, "total_tokens": 7}, Usage(0, 7)),
    ],
)
def test_tokens_are_counted_alike_whoever_counts(
    service: Service, counts: dict[str, Any], usage: Usage
) -> None:
    assert service.ask(oas.text("hello", usage=counts)).usage == usage


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thoughts_are_kept_and_are_no_part_of_the_text(service: Service, field: str) -> None:
    answer = service.ask(oas.text("42", **{field: "six times seven"}))
    assert (answer.text, answer.reasoning) == ("42", "six times seven")


@pytest.mark.parametrize("thoughts", [None, 5, {"text": "hm"}])
def test_thoughts_that_are_no_text_are_left_out(service: Service, thoughts: object) -> None:
    assert service.ask(oas.text("42", reasoning=thoughts)).reasoning == ""


@pytest.mark.parametrize(("finish", "reason"), [("stop", "stop"), (None, "stop"), ("length",) * 2])
def test_a_cut_text_says_so(service: Service, finish: str | None, reason: str) -> None:
    assert service.ask(oas.text("hello", finish=finish)).finish_reason == reason


def test_the_model_is_the_one_that_was_asked_for(service: Service) -> None:
    assert service.ask("hello").model == "some-model"


def test_openrouter_says_what_a_call_cost() -> None:
    told = openai_compatible._reported_cost
    assert told({"usage": {"cost": 0.25}}, "openrouter.ai") == 0.25
    assert told({"usage": {"cost": 0}}, "openrouter.ai:443") == 0.0
    for cost in (-1, 10**400, float("nan"), float("inf"), "1", None):
        assert told({"usage": {"cost": cost}}, "openrouter.ai") is None
    assert told({"usage": {"cost": 0.25}}, "elsewhere.example") is None


# Answers without usable text


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (oas.text(None), "no text (stop)"),
        (oas.text(" \n"), "no text (stop)"),
        (oas.text("", reasoning="hm"), "no text (stop)"),
        (oas.text(None, finish=None), "no text (stop)"),
        (oas.text("", finish="length"), "no text (length: raise --max_output_tokens)"),
        (oas.text("half", finish="content_filter"), "stopped the answer (content_filter)"),
        (oas.text(None, finish="tool_calls"), "stopped the answer (tool_calls)"),
        (oas.text(None, refusal="I can't do that."), "the model refused (I can't do that.)"),
    ],
)
def test_an_answer_without_text_names_its_reason_and_its_usage(
    service: Service, reply: oas.Reply, reason: str
) -> None:
    error = failure(service, reply)
    assert isinstance(error, NoCompletion)
    assert reason in str(error)
    assert error.usage == Usage(7, 3)


@pytest.mark.parametrize(
    "reply",
    [
        oas.error(400, "This is too long.", "context_length_exceeded"),
        oas.error(400, "This model's maximum context length is 8192 tokens.", 400),
        oas.error(400, "Filtered.", "content_filter"),
        oas.error(400, "Content Exists Risk", "invalid_request_error"),
        oas.error(403, "Flagged.", 403, metadata={"reasons": ["x"], "flagged_input": "prompt"}),
    ],
)
def test_a_prompt_that_is_refused_ends_no_run(service: Service, reply: oas.Reply) -> None:
    error = failure(service, reply)
    assert isinstance(error, NoCompletion)
    assert "refused the prompt" in str(error)


# Passing trouble


@pytest.mark.parametrize(
    ("headers", "delay"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "7", "retry-after-ms": "6500"}, 6.5),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "9" * 400}, None),
        ({"Retry-After": "Sat, 21 Nov 2026 15:00:00 GMT"}, None),
    ],
)
def test_a_rate_limit_holds_the_delay_that_the_server_named(
    service: Service, headers: dict[str, str], delay: float | None
) -> None:
    error = failure(service, oas.error(429, "Slow down.", "rate_limit_exceeded", headers))
    assert isinstance(error, ProviderUnavailable)
    assert error.retry_after == delay and not error.rate_limit


@pytest.mark.parametrize(
    "message",
    [
        "Rate limit reached on requests per min (RPM): Limit 3, Used 3. Please try again in 20s.",
        "Rate limit reached on tokens per min. Limit: 10000",
        "Rate limit exceeded: free-models-per-min.",
    ],
)
def test_a_limit_per_minute_that_is_named_is_a_rate_limit(service: Service, message: str) -> None:
    error = failure(service, oas.error(429, message, "rate_limit_exceeded"))
    assert isinstance(error, ProviderUnavailable) and error.rate_limit


@pytest.mark.parametrize(
    "reply",
    [oas.error(code, "Trouble.") for code in (408, 409, 500, 502, 503, 529)]
    + [
        oas.garbage(b"<html>502", 502),
        oas.garbage(b"[" * 100_000, 503),
        oas.garbage(b'{"error": 5}', 500),
        oas.text("half", finish="insufficient_system_resource"),
        oas.text("half", finish="abort"),
        oas.json_reply("inside", 200, {"error": {"code": 502, "message": "upstream"}}),
        oas.json_reply("inside", 200, {"error": {"code": "odd", "message": "upstream"}}),
        oas.json_reply("inside", 200, {"choices": [{"error": {"code": 429, "message": "busy"}}]}),
    ],
)
def test_server_trouble_may_be_tried_again(service: Service, reply: oas.Reply) -> None:
    assert isinstance(failure(service, reply), ProviderUnavailable)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>teapot",
        b"null",
        b"[]",
        b'"text"',
        b"5",
        b"{}",
        b'{"choices": 5}',
        b'{"choices": []}',
        b'{"choices": [5]}',
        b'{"choices": [{"message": "text", "finish_reason": "stop"}]}',
        b'{"choices": [{"message": {"content": 5}, "finish_reason": "stop"}]}',
        b'{"choices": [{"message": {"content": ["a"]}, "finish_reason": "stop"}]}',
        b'{"choices": [{"message": {"con',
        b"\xff\xfe\x00\xd8",
        b"[" * 100_000,
        b'{"usage": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda body: repr(body[:40]),
)
def test_a_garbled_body_may_be_tried_again(service: Service, body: bytes) -> None:
    error = failure(service, oas.garbage(body))
    assert isinstance(error, ProviderUnavailable)
    assert "garbled" in str(error)


def test_a_body_of_another_type_is_read_all_the_same(service: Service) -> None:
    reply = oas.text("hello")
    plain = oas.Reply("plain", 200, reply.body, {"Content-Type": "text/plain"})
    assert service.ask(plain).text == "hello"


def test_a_closed_connection_may_be_tried_again(service: Service) -> None:
    error = failure(service, oas.nothing())
    assert isinstance(error, ProviderUnavailable)
    assert "no answer from 127.0.0.1:" in str(error)


def test_a_server_that_is_not_there_may_be_tried_again() -> None:
    with socket.socket() as taken:  # bound and not listening: a port where nobody answers
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(ProviderUnavailable, match="nothing listens at 127"):
            OpenAICompatibleProvider("m", base_url=url).complete("", "prompt", 1)


# Refusals


@pytest.mark.parametrize("code", [401, 403])
def test_a_refused_key_says_which_variable_to_mend(
    service: Service, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", oas.KEY)
    service.reply = oas.error(code, "No.")
    provider = OpenAICompatibleProvider("m", base_url=service.server.base_url)
    with pytest.raises(ProviderRefused, match="refused the key from OPENAI_API_KEY") as caught:
        provider.complete("", "prompt", 1)
    assert "\n" not in str(caught.value)


def test_a_server_that_asks_for_a_key_says_which_variable_to_set(service: Service) -> None:
    provider = OpenAICompatibleProvider("m", base_url=service.server.base_url)
    with pytest.raises(ProviderRefused, match="a call without a key: set OPENAI_API_KEY"):
        provider.complete("", "prompt", 1)


@pytest.mark.parametrize(
    "reply",
    [
        oas.error(429, "You exceeded your current quota.", "insufficient_quota"),
        oas.error(429, "Billing hard limit has been reached", "billing_hard_limit_reached"),
        oas.error(429, "Rate limit exceeded: free-models-per-day. Add 10 credits", 429),
        oas.error(429, "Rate limit reached on requests per day (RPD): Limit 200, Used 200"),
        oas.error(402, "Insufficient Balance"),
        oas.json_reply("inside", 200, {"error": {"code": 402, "message": "no credits"}}),
    ],
)
def test_no_retry_helps_an_empty_account_or_a_used_up_day(
    service: Service, reply: oas.Reply
) -> None:
    assert isinstance(failure(service, reply), ProviderRefused)


@pytest.mark.parametrize("code", [[], {}, ["insufficient_quota"]])
@pytest.mark.parametrize("status", [200, 429, 503])
def test_an_error_code_of_any_json_type_is_one_of_our_errors(
    service: Service, status: int, code: object
) -> None:
    body = {"error": {"code": code, "message": "busy"}}
    reply = oas.json_reply("inside", status, body)
    assert isinstance(failure(service, reply), ProviderUnavailable)
    reply = oas.json_reply("inside", 400, body)
    assert isinstance(failure(service, reply), ProviderRefused)


def test_a_missing_model_gives_one_clear_line() -> None:
    with oas.OpenAIServer(lambda _: "hello", models=["known"]) as server:
        provider = OpenAICompatibleProvider("unknown", api_key=oas.KEY, base_url=server.base_url)
        with pytest.raises(ProviderRefused, match="has no model unknown .*--model_name"):
            provider.complete("", "prompt", 1)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            {"error": {"message": "temperature\n is\x1b[31m too high"}},
            "temperature is [31m too high",
        ),
        ({"object": "error", "message": "vLLM's old form"}, "400: vLLM's old form"),
        ({"error": "Ollama's own form"}, "400: Ollama's own form"),
        ({"detail": "FastAPI's form"}, "400: FastAPI's form"),
        ({"detail": [{"loc": ["body"]}]}, "400: no message"),
        ([1], "400: no message"),
    ],
)
def test_any_other_refusal_holds_what_the_server_said(
    service: Service, body: object, said: str
) -> None:
    error = failure(service, oas.json_reply("refused", 400, body))
    assert isinstance(error, ProviderRefused)
    assert said in str(error)


# The key, the host, the package


def test_openai_itself_must_have_a_key() -> None:
    for url in (None, "https://api.openai.com/v1", "https://eu.api.openai.com/v1"):
        with pytest.raises(ProviderRefused, match="set OPENAI_API_KEY"):
            OpenAICompatibleProvider("m", base_url=url)


def test_a_local_server_needs_no_key() -> None:
    with oas.OpenAIServer(lambda _: "none of it", key=None) as server:
        provider = OpenAICompatibleProvider("m", base_url=server.base_url)
        assert provider.complete("", "prompt", 1).text == "none of it"


@pytest.mark.parametrize("wrong", ["two words", "kéy", "key\nX-Other: 1"])
def test_without_a_possible_key_nothing_is_built(
    monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", wrong)
    with pytest.raises(ProviderRefused, match="OPENAI_API_KEY") as caught:
        OpenAICompatibleProvider("m")
    assert wrong not in str(caught.value)


def test_an_argument_wins_over_the_environment(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    service.reply = "hello"
    provider = OpenAICompatibleProvider("m", api_key=oas.KEY, base_url=service.server.base_url)
    assert provider.complete("", "prompt", 1).text == "hello"


def test_the_environment_says_where_to_ask(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in service.server.environment.items():
        monkeypatch.setenv(name, value)
    service.reply = "hello"
    assert OpenAICompatibleProvider("m").complete("", "prompt", 1).text == "hello"


@pytest.mark.parametrize("model", ["", "a b", "m\n", "é"])
def test_a_text_that_is_no_model_name_is_refused(model: str) -> None:
    with pytest.raises(UsageError, match="model name"):
        OpenAICompatibleProvider(model, api_key=oas.KEY)


def test_a_missing_package_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_openai(name: str, *arguments: Any, **more: Any) -> Any:
        if name == "openai":
            raise ModuleNotFoundError("No module named 'openai'", name="openai")
        return real(name, *arguments, **more)

    monkeypatch.delitem(sys.modules, "openai", raising=False)
    monkeypatch.setattr(builtins, "__import__", without_openai)
    with pytest.raises(ProviderRefused, match=r"pip install 'infinite-rl\[openai\]'"):
        OpenAICompatibleProvider("m", api_key=oas.KEY)
