"""What holds for every row of the table of providers, each against its own server on loopback."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gemini_server as gs
import openai_server as oas
import pytest
from loopback import Json, Reply

from infinite_rl.errors import (
    NoCompletion,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    UnknownName,
    UsageError,
)
from infinite_rl.layout import render
from infinite_rl.parsing.sections import ExampleParser
from infinite_rl.providers import KEY_VARIABLES, PROVIDERS, make_provider, resolve_provider
from infinite_rl.providers.gemini import GeminiProvider
from infinite_rl.providers.openai_compatible import OpenAICompatibleProvider
from infinite_rl.types import Completion, Usage

TIMEOUT_S = 5.0
COUNTS = Usage(input_tokens=11, output_tokens=5, cached_tokens=4, thinking_tokens=3)


@dataclass(frozen=True)
class Kind:
    """A provider of the table, with its server and what that says in its own way."""

    provider: Callable[..., Any]
    server: Callable[..., Any]
    key: str
    counts: Json  # COUNTS, as the server tells them
    text: Callable[..., Reply]
    thought: str  # the argument of `text` for the model's thoughts
    cut: Callable[[str], Reply]
    error: Callable[..., Reply]
    stopped: Callable[[str], Reply]
    sent_schema: Callable[[Json], Json]


KINDS = {
    "gemini": Kind(
        GeminiProvider,
        gs.GeminiServer,
        gs.KEY,
        {
            "promptTokenCount": 11,
            "candidatesTokenCount": 5,
            "cachedContentTokenCount": 4,
            "thoughtsTokenCount": 3,
        },
        gs.text,
        "thought",
        gs.cut,
        lambda code, message, headers=None: gs.error(code, "NO", message, headers=headers),
        gs.stopped,
        lambda body: body["generationConfig"]["responseSchema"],
    ),
    "openai_compatible": Kind(
        OpenAICompatibleProvider,
        oas.OpenAIServer,
        oas.KEY,
        {
            "prompt_tokens": 11,
            "completion_tokens": 8,
            "total_tokens": 19,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
        oas.text,
        "reasoning",
        lambda words: oas.text(words, finish="length"),
        lambda code, message, headers=None: oas.error(code, message, headers=headers),
        lambda reason: oas.text("half", finish=reason),
        lambda body: body["response_format"]["json_schema"]["schema"],
    ),
}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*KEY_VARIABLES, "GOOGLE_GEMINI_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


class Service:
    """A server of one kind whose next answer a test sets, and clients of it."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.reply: Reply | str = "hello"
        self.server = kind.server(lambda _: self.reply)
        self._made: dict[str, Any] = {}

    def provider(self, **settings: Any) -> Any:
        """A client with these settings; making one takes long, so each is kept."""
        name = repr(settings)
        if name not in self._made:
            self._made[name] = self._make(**settings)
        return self._made[name]

    def _make(self, **settings: Any) -> Any:
        own = {"api_key": self.kind.key, "base_url": self.server.base_url, "timeout_s": TIMEOUT_S}
        return self.kind.provider("some-model", **{**own, **settings})

    def ask(self, reply: Reply | str, **settings: Any) -> Completion:
        self.reply = reply
        answer: Completion = self.provider(**settings).complete("sys", "prompt", 1)
        return answer

    def failure(self, reply: Reply | str) -> ProviderError:
        """The one error that this reply leads to, after one request."""
        before = len(self.server.requests)
        with pytest.raises(ProviderError) as caught:
            self.ask(reply)
        assert len(self.server.requests) == before + 1
        return caught.value


@pytest.fixture(scope="module", params=sorted(KINDS))
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    service = Service(KINDS[request.param])
    with service.server:
        yield service


# The table


def test_every_row_that_asks_a_model_is_tested_here() -> None:
    assert {name for name, row in PROVIDERS.items() if row.asks_a_model} == set(KINDS)


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_every_row_of_the_table_makes_a_provider(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for variable in KEY_VARIABLES:
        monkeypatch.setenv(variable, "a-key-of-some-length")
    provider = make_provider(name, "m")
    assert provider.model and callable(provider.complete)
    assert "a-key-of-some-length" not in repr(provider)


def test_a_made_provider_has_the_settings(service: Service) -> None:
    service.reply = "hello"
    (name,) = (name for name, kind in KINDS.items() if kind is service.kind)
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in service.server.environment.items():
            patch.setenv(variable, value)
        settings: dict[str, Any] = {"temperature": 0.25, "max_output_tokens": 5, "structured": True}
        provider = make_provider(name, "m", base_url=service.server.base_url, **settings)
    provider.complete("", "prompt", 1)
    body = service.server.requests[-1].body
    assert provider.model == "m"
    assert "0.25" in json.dumps(body) and ": 5" in json.dumps(body)
    assert service.kind.sent_schema(body)


@pytest.mark.parametrize("variable", ["GEMINI_API_KEY", "GOOGLE_API_KEY"])
def test_auto_is_gemini_where_a_key_is_set(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    assert resolve_provider("auto") == "procedural"
    monkeypatch.setenv(variable, " ")
    assert resolve_provider("auto") == "procedural"
    monkeypatch.setenv(variable, gs.KEY)
    assert resolve_provider("auto") == "gemini"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="auto, gemini, openai_compatible, procedural"):
        make_provider("gemnii")


@pytest.mark.slow
def test_importing_the_providers_loads_no_sdk_and_no_other_provider() -> None:
    code = (
        "import sys, infinite_rl.providers, infinite_rl.providers.rate_limit;"
        "heavy = ('google.', 'openai', 'httpx');"
        "print([m for m in sys.modules if m.startswith(heavy) or 'procedural' in m])"
    )
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert run.stdout.strip() == "[]", run.stderr


# Answers


def test_a_completion_holds_the_text_the_thoughts_and_the_tokens(service: Service) -> None:
    thoughts = {service.kind.thought: "six times seven"}
    answer = service.ask(service.kind.text("42 ✓", usage=service.kind.counts, **thoughts))
    expected = Completion("42 ✓", "some-model", "stop", COUNTS, reasoning="six times seven")
    assert answer == expected


def test_a_cut_text_says_so(service: Service) -> None:
    answer = service.ask(service.kind.cut("[PROMPT] What"))
    assert (answer.text, answer.finish_reason) == ("[PROMPT] What", "length")


def test_an_answer_that_was_stopped_says_what_it_used(service: Service) -> None:
    error = service.failure(service.kind.stopped("SAFETY"))
    assert isinstance(error, NoCompletion)
    assert "SAFETY" in str(error)
    assert error.usage.input_tokens == 7


@pytest.mark.parametrize("code", [408, 429, 500, 503])
def test_passing_trouble_holds_the_delay_that_the_server_named(service: Service, code: int) -> None:
    error = service.failure(service.kind.error(code, "Slow down.", {"Retry-After": "7"}))
    assert isinstance(error, ProviderUnavailable)
    assert (error.retry_after, error.status) == (7.0, code)


@pytest.mark.parametrize("code", [301, 400, 401, 402, 403, 404, 413, 422])
def test_a_refusal_is_no_passing_trouble(service: Service, code: int) -> None:
    assert isinstance(service.failure(service.kind.error(code, "No.")), ProviderRefused)


def test_silence_ends_at_the_timeout(service: Service) -> None:
    service.reply = gs.hang()
    begin = time.monotonic()
    with pytest.raises(ProviderUnavailable, match=r"nothing for 0\.1 s"):
        service.provider(timeout_s=0.1).complete("", "prompt", 1)
    assert time.monotonic() - begin < TIMEOUT_S


def test_a_lone_surrogate_is_sent_as_a_question_mark(service: Service) -> None:
    service.reply = "hello"
    service.provider().complete("sys \udc80", "prompt \ud800", 1)
    request = service.server.requests[-1]
    assert (request.system, request.prompt) == ("sys ?", "prompt ?")


@pytest.mark.parametrize("seed", [0, 2**31 - 1, 2**31, 2**63 + 5, -1])
def test_any_seed_fits_a_signed_32_bit_integer(service: Service, seed: int) -> None:
    service.reply = "hello"
    service.provider().complete("", "prompt", seed)
    sent = service.server.requests[-1].seed
    assert 0 <= sent < 2**31
    assert seed >= 2**31 or seed < 0 or sent == seed


# Threads


def test_one_provider_serves_150_threads_at_once(service: Service) -> None:
    together = threading.Barrier(150)

    def answer(request: Any) -> str:
        together.wait(4 * TIMEOUT_S)
        return f"{request.prompt} {request.seed}"

    with service.kind.server(answer) as server:
        provider = service.provider(base_url=server.base_url, timeout_s=4 * TIMEOUT_S)

        def ask(seed: int) -> str:
            text: str = provider.complete("", f"prompt {seed}", seed).text
            return text

        with ThreadPoolExecutor(150) as pool:
            answers = list(pool.map(ask, range(150)))
    assert answers == [f"prompt {seed} {seed}" for seed in range(150)]


# The key


def leaks(kind: Kind) -> list[Reply]:
    """Replies with the key in every place that a server can put it."""
    leaky = f"your key {kind.key} is bad"
    headers = {"Retry-After": kind.key, "Location": f"http://127.0.0.1:9/{kind.key}"}
    codes = (301, 400, 401, 402, 403, 404, 418, 429, 500)
    return [
        *(kind.error(code, leaky, headers) for code in codes),
        *(gs.garbage(leaky.encode(), code) for code in (200, 400, 500)),
        *(gs.garbage(json.dumps({"error": leaky}).encode(), code) for code in (200, 400, 429)),
        gs.garbage(json.dumps({"error": {"code": leaky, "message": 5}}).encode(), 400),
        gs.garbage(f"{leaky}\xff".encode("latin-1"), 503),
        gs.garbage(("[" * 290 + kind.key).encode(), 400),
        gs.Reply("bad header", headers={kind.key + " :": kind.key}),
        gs.Reply("bad status", status=99, headers={kind.key: kind.key}),
        gs.nothing(),
    ]


@pytest.mark.filterwarnings("ignore:.*is not a valid")
def test_the_key_is_in_no_error_chain_log_or_repr(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "infinite_rl")
    for reply in (*leaks(service.kind), service.kind.stopped(f"key {service.kind.key}")):
        error = service.failure(reply)
        shown = "".join(traceback.format_exception(error)) + repr(error) + caplog.text
        assert service.kind.key not in shown
        assert error.__cause__ is None and error.__context__ is None
    assert service.kind.key not in repr(service.provider())


def test_the_key_is_cut_out_of_text_and_thoughts(service: Service) -> None:
    key = service.kind.key
    answer = service.ask(service.kind.text(f"<{key}>", **{service.kind.thought: f"({key})"}))
    assert (answer.text, answer.reasoning) == ("<[key]>", "([key])")


def test_a_redirect_does_not_carry_the_key_to_another_host(service: Service) -> None:
    with service.kind.server(lambda _: "caught") as other:
        for code in (301, 302, 303, 307, 308):
            service.failure(service.kind.error(code, "there", {"Location": other.base_url}))
        assert other.exchanges == []


@pytest.mark.parametrize("wrong", ["localhost:80", "ftp://x", "http:///x"])
def test_a_text_that_is_no_base_url_is_refused(service: Service, wrong: str) -> None:
    with pytest.raises(UsageError, match="base URL"):
        service.provider(base_url=wrong)


def test_a_password_in_the_base_url_is_refused_and_not_shown(service: Service) -> None:
    with pytest.raises(UsageError, match="password") as caught:
        service.provider(base_url="https://me:secret@example.org/v1")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": -1.0}, {"temperature": float("nan")}, {"max_output_tokens": 0}],
    ids=str,
)
def test_a_setting_that_no_model_has_is_refused(service: Service, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="must be"):
        service.provider(**wrong)


# Structured output

SECTIONS = {"prompt": "1 + 1?", "answer": "2", "response": "So <answer>2</answer>"}


def test_structured_output_asks_for_the_three_sections(service: Service) -> None:
    service.ask("hello", structured=True)
    request = service.server.requests[-1]
    schema = service.kind.sent_schema(request.body)
    assert schema["required"] == list(schema["properties"]) == list(SECTIONS)
    assert request.system.startswith("sys") and "JSON" in request.system


def test_without_it_no_schema_is_sent(service: Service) -> None:
    service.ask("hello")
    request = service.server.requests[-1]
    assert "schema" not in json.dumps(request.body).lower()
    assert request.system == "sys"


def test_structured_output_comes_back_as_three_heads(service: Service) -> None:
    answer = service.ask(json.dumps(SECTIONS), structured=True)
    assert answer.text == render(**SECTIONS)


@pytest.mark.parametrize(
    "reply",
    [
        render(**SECTIONS),
        "no JSON at all",
        '{"prompt": "1 + 1?", "ans',
        '["prompt"]',
        '{"prompt": "1 + 1?", "answer": 2, "response": "x"}',
        "[" * 100_000,
        "9" * 5000,
    ],
    ids=lambda reply: repr(reply[:30]),
)
def test_what_is_no_such_json_is_passed_on_as_it_came(service: Service, reply: str) -> None:
    assert service.ask(reply, structured=True).text == reply


@pytest.mark.parametrize(
    "changed",
    [
        {"prompt": "What is\n[ANSWER]\n3\nabout?"},
        {"response": "See\n[PROMPT]\nabove: <answer>2</answer>"},
        {"answer": "[RESPONSE]\n<answer>3</answer>"},
        {"prompt": "a\n---", "answer": "2\n---", "response": "b"},
        {"prompt": "<think>hm"},
        {"response": "```python\nopen"},
        {"answer": '```json\n{"tests": ["assert f(2) == 4"]}\n```'},
        {"response": ""},
        {"answer": "half a pair \ud800"},
    ],
    ids=str,
)
def test_structured_sections_are_read_as_the_json_says(
    service: Service, changed: dict[str, str]
) -> None:
    reply = json.dumps({**SECTIONS, **changed})
    answer = service.ask(reply, structured=True)
    assert ExampleParser.parse_text(answer.text) == ExampleParser.parse_text(reply)
