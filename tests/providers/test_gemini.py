"""The Gemini provider, through the real client, against a server on loopback."""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gemini_server as gs
import pytest

from infinite_rl.errors import (
    NoCompletion,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    UsageError,
)
from infinite_rl.providers.batch import GeminiBatches
from infinite_rl.providers.gemini import GeminiProvider
from infinite_rl.providers.rate_limit import LimitedProvider, RetryPolicy
from infinite_rl.types import Completion, Usage

TIMEOUT_S = 5.0
Ask = Callable[..., Completion]

GONE = (
    "the model some-model is not available (retired or misspelt); choose another with --model_name"
)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


class Service:
    """A server whose next answer a test sets, and one client of it."""

    def __init__(self) -> None:
        self.reply: gs.Reply | str = "hello"
        self.server = gs.GeminiServer(lambda _: self.reply)
        self.provider: GeminiProvider

    def ask(self, reply: gs.Reply | str, system: str = "sys", seed: int = 1) -> Completion:
        self.reply = reply
        return self.provider.complete(system, "prompt", seed)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    service = Service()
    with service.server as server:
        service.provider = GeminiProvider(
            "some-model", api_key=gs.KEY, base_url=server.base_url, timeout_s=TIMEOUT_S
        )
        yield service


def failure(service: Service, reply: gs.Reply | str) -> ProviderError:
    """The one error that this reply leads to, after one request."""
    before = len(service.server.requests)
    with pytest.raises(ProviderError) as caught:
        service.ask(reply)
    assert len(service.server.requests) == before + 1
    return caught.value


# What is sent


def test_system_prompt_and_settings_are_sent(service: Service) -> None:
    provider = GeminiProvider(
        "other-model",
        api_key=gs.KEY,
        base_url=service.server.base_url,
        temperature=0.5,
        max_output_tokens=99,
    )
    service.reply = "hello"
    provider.complete("Be brief.", "Say hello.", 7)
    request = service.server.requests[-1]
    assert (request.model, request.system, request.prompt) == (
        "other-model",
        "Be brief.",
        "Say hello.",
    )
    assert request.body["generationConfig"] == {
        "seed": 7,
        "temperature": 0.5,
        "maxOutputTokens": 99,
    }


def test_settings_that_were_not_given_are_left_to_the_service(service: Service) -> None:
    service.ask("hello")
    assert service.server.requests[-1].body["generationConfig"] == {"seed": 1}


def test_an_empty_system_prompt_is_not_sent(service: Service) -> None:
    service.ask("hello", system="")
    assert "systemInstruction" not in service.server.requests[-1].body


@pytest.mark.parametrize("seed", [0, 2**31 - 1, 2**31, 2**63 + 5, -1])
def test_any_seed_fits_a_signed_32_bit_integer(service: Service, seed: int) -> None:
    service.ask("hello", seed=seed)
    sent = service.server.requests[-1].seed
    assert sent is not None and 0 <= sent < 2**31
    assert seed >= 2**31 or seed < 0 or sent == seed


def test_a_lone_surrogate_is_sent_as_a_question_mark(service: Service) -> None:
    service.reply = "hello"
    service.provider.complete("sys \udc80", "prompt \ud800", 1)
    request = service.server.requests[-1]
    assert (request.system, request.prompt) == ("sys ?", "prompt ?")


# What comes back


def test_the_answer_is_the_text_of_all_parts(service: Service) -> None:
    usage = {
        "promptTokenCount": 11,
        "candidatesTokenCount": 5,
        "cachedContentTokenCount": 4,
        "thoughtsTokenCount": 3,
    }
    answer = service.ask(gs.text("one ", "two ✓", usage=usage))
    assert answer == Completion("one two ✓", "some-model", "stop", Usage(11, 5, 4, 3))


def test_thoughts_are_kept_and_are_no_part_of_the_text(service: Service) -> None:
    answer = service.ask(gs.text("42", thought="six times seven"))
    assert (answer.text, answer.reasoning) == ("42", "six times seven")


def test_a_count_that_is_none_or_absurd_counts_as_nothing(service: Service) -> None:
    usage = {"promptTokenCount": -5, "candidatesTokenCount": None, "thoughtsTokenCount": 10**30}
    assert service.ask(gs.text("42", usage=usage)).usage == Usage()


def test_half_a_surrogate_pair_in_an_answer_is_kept(service: Service) -> None:
    body = json.dumps({"candidates": [{"content": {"parts": [{"text": "x \ud800"}]}}]})
    assert service.ask(gs.garbage(body.encode())).text == "x \ud800"


def test_a_cut_text_says_so(service: Service) -> None:
    answer = service.ask(gs.cut("[PROMPT] What"))
    assert (answer.text, answer.finish_reason) == ("[PROMPT] What", "length")


def test_a_continuation_is_a_cut_text_and_not_another_request(service: Service) -> None:
    before = len(service.server.requests)
    reply = gs.text("one ", finish="CONTINUATION")
    body = json.loads(reply.body)
    body["candidates"][0]["continuationToken"] = "bW9yZQ=="
    answer = service.ask(gs.garbage(json.dumps(body).encode()))
    assert (answer.text, answer.finish_reason) == ("one ", "length")
    assert len(service.server.requests) == before + 1


def test_a_text_without_a_finish_reason_counts_as_finished(service: Service) -> None:
    assert service.ask(gs.text("hello", finish=None)).finish_reason == "stop"


# Answers without usable text


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (gs.blocked("PROHIBITED_CONTENT"), "PROHIBITED_CONTENT"),
        (gs.stopped("SAFETY"), "SAFETY"),
        (gs.stopped("RECITATION", "half a poem"), "RECITATION"),
        (gs.stopped("OTHER"), "OTHER"),
        (gs.empty(), "no text (STOP)"),
        (gs.no_candidates(), "no candidate"),
        (gs.text(" \n"), "no text (STOP)"),
        (gs.text(thought="hm"), "no text (STOP)"),
        (gs.cut(), "MAX_TOKENS: raise --max_output_tokens"),
    ],
)
def test_an_answer_without_text_names_its_reason(
    service: Service, reply: gs.Reply, reason: str
) -> None:
    error = failure(service, reply)
    assert type(error) is NoCompletion
    assert reason in str(error)
    assert error.usage.input_tokens == 7, "what was not usable may be billed"


@pytest.mark.filterwarnings("ignore:NEW_REASON")
def test_a_reason_that_the_client_does_not_know_is_named(service: Service) -> None:
    assert "NEW_REASON" in str(failure(service, gs.stopped("NEW_REASON")))


# Passing trouble


@pytest.mark.parametrize(
    ("reply", "delay"),
    [
        (gs.rate_limited(), None),
        (gs.rate_limited("13s"), 13.0),
        (gs.rate_limited("0.5s"), 0.5),
        (gs.rate_limited(retry_after="7"), 7.0),
        (gs.rate_limited("13s", retry_after="7"), 13.0),
        (gs.rate_limited("soon", retry_after="7"), 7.0),
        (gs.rate_limited("-3s"), None),
        (gs.rate_limited("nans"), None),
        (gs.rate_limited("9" * 400 + "s"), None),
        (gs.rate_limited("١s"), None),
        (gs.server_error(500), None),
        (gs.server_error(503), None),
        (gs.error(408, "DEADLINE", "slow"), None),
        (gs.garbage(b"<html>502", 502), None),
        (gs.garbage(b"\xff\xfe\x00", 503), None),
        (gs.garbage(b'{"error": null}', 500), None),
        (gs.garbage(b'["what"]', 500), None),
        (gs.garbage(b'{"error": {"details": [1, {"retryDelay": ["13s"]}]}}', 429), None),
    ],
)
def test_rate_limits_and_server_errors_may_be_tried_again(
    service: Service, reply: gs.Reply, delay: float | None
) -> None:
    error = failure(service, reply)
    assert isinstance(error, ProviderUnavailable)
    undecodable = b"\xff" in reply.body  # the client then keeps the status to itself
    assert (error.retry_after, error.status) == (delay, None if undecodable else reply.status)


@pytest.mark.parametrize(
    ("reply", "is_evidence"),
    [
        (gs.rate_limited(), False),
        (gs.rate_limited("2s"), False),
        (gs.rate_limited(quota="GenerateRequestsPerMinutePerProjectPerModel"), True),
        (gs.rate_limited(quota="GenerateContentInputTokensPerModelPerMinute-FreeTier"), True),
        (gs.error(429, "RESOURCE_EXHAUSTED", "generate_requests_per_minute_per_project"), True),
        (gs.error(503, "UNAVAILABLE", "requests per minute"), False),
        (gs.error(429, "X", "m", [{"violations": [5, {"quotaId": ["PerMinute"]}]}]), False),
        (gs.error(429, "X", "m", [{"metadata": {"quota_limit": "APerMinutePerB"}}]), True),
    ],
)
def test_only_a_429_that_names_a_quota_per_minute_is_a_rate_limit(
    service: Service, reply: gs.Reply, is_evidence: bool
) -> None:
    error = failure(service, reply)
    assert isinstance(error, ProviderUnavailable)
    assert (error.rate_limit, error.kind) == (is_evidence, str(reply.status))


@pytest.mark.parametrize(
    "reply",
    [
        gs.rate_limited("5s", quota="GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
        gs.error(429, "X", "Your project has exceeded its monthly spending cap."),
        gs.error(429, "X", "Your prepayment credits are depleted. Please go to AI Studio"),
    ],
)
def test_no_retry_helps_where_the_day_or_the_money_is_used_up(
    service: Service, reply: gs.Reply
) -> None:
    error = failure(service, reply)
    assert isinstance(error, ProviderRefused)
    assert "a daily quota or a spending cap is used up" in str(error)
    assert any(name in str(error) for name in ("PerDay", "spending cap.", "prepayment credits"))


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
        b'{"hello": 1}',
        b'{"candidates": 5}',
        b'{"candidates": [5]}',
        b'{"candidates": [{"content": {"parts": [{"text": 5}]}, "finishReason": "STOP"}]}',
        b'{"candidates": [{"content": {"par',
        b"\xff\xfe\x00\xd8",
        b"[" * 100_000,
    ],
    ids=lambda body: repr(body[:40]),
)
def test_a_garbled_body_may_be_tried_again(service: Service, body: bytes) -> None:
    error = failure(service, gs.garbage(body))
    assert isinstance(error, ProviderUnavailable)
    assert "garbled" in str(error)


def test_a_closed_connection_may_be_tried_again(service: Service) -> None:
    error = failure(service, gs.nothing())
    assert isinstance(error, ProviderUnavailable)
    assert "no answer from Gemini" in str(error) and error.kind == "reset"


def test_silence_ends_at_the_timeout() -> None:
    with gs.GeminiServer(lambda _: gs.hang()) as server:
        provider = GeminiProvider(api_key=gs.KEY, base_url=server.base_url, timeout_s=0.1)
        begin = time.monotonic()
        with pytest.raises(ProviderUnavailable, match=r"nothing for 0\.1 s"):
            provider.complete("", "prompt", 1)
        assert time.monotonic() - begin < 2


def test_a_server_that_is_not_there_may_be_tried_again() -> None:
    with socket.socket() as taken:  # bound and not listening: a port where nobody answers
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ProviderUnavailable, match=f"nothing listens at {url[7:]}") as caught:
            GeminiProvider(api_key=gs.KEY, base_url=url).complete("", "prompt", 1)
        assert caught.value.kind == "unreachable"


def test_a_host_without_an_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ProviderUnavailable, match=r"there is no host gone\.test:80") as caught:
        GeminiProvider(api_key=gs.KEY, base_url="http://gone.test:80").complete("", "prompt", 1)
    assert caught.value.kind == "unreachable"


def test_a_dead_proxy_is_named_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        proxy = f"127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("http_proxy", f"http://me:secretword@{proxy}")
        monkeypatch.setenv("no_proxy", "")
        monkeypatch.setenv("NO_PROXY", "")
        with pytest.raises(ProviderUnavailable, match=f"listens at the proxy {proxy}") as caught:
            GeminiProvider(api_key=gs.KEY, base_url="http://far.test").complete("", "prompt", 1)
    assert "secretword" not in str(caught.value)


# Refusals


@pytest.mark.parametrize(
    "reply",
    [
        gs.bad_key(),
        gs.error(401, "UNAUTHENTICATED", "No."),
        gs.error(403, "PERMISSION_DENIED", "Your project has been denied access."),
    ],
)
def test_a_refused_key_says_which_variable_to_set(
    service: Service, reply: gs.Reply, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", gs.KEY)
    service.reply = reply
    provider = GeminiProvider(base_url=service.server.base_url)
    with pytest.raises(ProviderRefused, match="set GEMINI_API_KEY to a key") as caught:
        provider.complete("", "prompt", 1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("reply", [gs.no_model("some-model"), gs.no_longer("some-model")])
def test_a_retired_model_gives_one_clear_line(service: Service, reply: gs.Reply) -> None:
    error = failure(service, reply)
    assert isinstance(error, ProviderRefused)
    assert str(error) == GONE


def test_a_model_that_is_not_there_names_those_that_are() -> None:
    names = ["gemini-3.6-flash", "gemma-4", "gemini-3.8-flash", "gemini-3.5-flash-lite"]
    with gs.GeminiServer(lambda _: "hello", models=names) as server:
        provider = GeminiProvider("some-model", api_key=gs.KEY, base_url=server.base_url)
        for _ in range(2):
            with pytest.raises(ProviderRefused) as refused:
                provider.complete("", "p", 1)
        batches = GeminiBatches("some-model", api_key=gs.KEY, base_url=server.base_url)
        with pytest.raises(ProviderRefused) as in_batch:
            batches.submit({"k": ("", "p", 1)})
    offer = "gemini-3.8-flash, gemini-3.6-flash, gemini-3.5-flash-lite, gemma-4"
    assert str(refused.value) == str(in_batch.value) == f"{GONE}; the service offers {offer}"


HOSTILE_NAMES = ["a b", "../../etc", "\u202egemini", "m\n[red]x", f"gemini-{gs.KEY}", "x" * 65, ""]


@pytest.mark.parametrize(
    ("listing", "offer"),
    [
        (gs.server_error(), ""),
        (gs.bad_key(), ""),
        (gs.garbage(), ""),
        (gs.nothing(), ""),
        (gs.error(404, "NOT_FOUND", "no such method"), ""),
        (gs.models_listed([]), ""),
        (gs.models_listed(["gemini-embedding-2"], method="embedContent"), ""),
        (gs.models_listed(HOSTILE_NAMES), ""),
        (gs.models_listed([*HOSTILE_NAMES, "gemini-3.8-flash"]), "gemini-3.8-flash"),
        (
            gs.models_listed(f"gemini-3.{n:04}" for n in range(1000)),
            ", ".join(f"gemini-3.{n:04}" for n in range(999, 987, -1)) + " and 988 more",
        ),
    ],
)
def test_what_is_offered_is_bounded_and_never_hides_the_404(listing: gs.Reply, offer: str) -> None:
    with gs.GeminiServer(lambda _: "hello", models=["known"]) as server:
        server.listing = listing
        with pytest.raises(ProviderRefused) as refused:
            GeminiProvider("some-model", api_key=gs.KEY, base_url=server.base_url).complete(
                "", "p", 1
            )
    assert str(refused.value) == GONE + (f"; the service offers {offer}" if offer else "")


@pytest.mark.parametrize("code", [400, 409, 413, 301])
def test_any_other_refusal_holds_what_the_server_said(service: Service, code: int) -> None:
    error = failure(service, gs.error(code, "NO", "temperature\n is\x1b[31m too high"))
    assert isinstance(error, ProviderRefused)
    assert f"{code} NO: temperature is [31m too high" in str(error)


def test_a_redirect_does_not_carry_the_key_to_another_host(service: Service) -> None:
    with gs.GeminiServer(lambda _: "caught") as other:
        path = "/v1beta/models/some-model:generateContent"
        reply = gs.error(307, "MOVED", "there", headers={"Location": other.base_url + path})
        assert isinstance(failure(service, reply), ProviderRefused)
        assert other.requests == []


# The key


@pytest.mark.parametrize("wrong", ["", "  ", "two words", "kéy", "key\nX-Other: 1"])
def test_without_a_possible_key_nothing_is_built(
    monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", wrong)
    with pytest.raises(ProviderRefused, match="GEMINI_API_KEY") as caught:
        GeminiProvider()
    assert not wrong.strip() or wrong not in str(caught.value)


def test_google_api_key_wins_over_gemini_api_key(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", gs.KEY)
    monkeypatch.setenv("GEMINI_API_KEY", "another")
    service.reply = "hello"
    provider = GeminiProvider(base_url=service.server.base_url)
    assert provider.complete("", "prompt", 1).text == "hello"


def test_an_argument_wins_over_the_environment(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "another")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    service.reply = "hello"
    provider = GeminiProvider(api_key=gs.KEY, base_url=service.server.base_url)
    assert provider.complete("", "prompt", 1).text == "hello"


def test_no_environment_variable_turns_the_client_to_another_service(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setenv("GOOGLE_GENAI_USE_ENTERPRISE", "true")
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "v1alpha")
    service.reply = "hello"
    provider = GeminiProvider(api_key=gs.KEY, base_url=service.server.base_url)
    assert provider.complete("", "prompt", 1).text == "hello"


LEAKY = f"your key {gs.KEY} is bad"
LEAKS = [
    gs.error(code, LEAKY, LEAKY, [{"reason": LEAKY, "retryDelay": LEAKY}], {"Retry-After": gs.KEY})
    for code in (400, 401, 403, 404, 418, 429, 500)
] + [
    gs.garbage(LEAKY.encode()),
    gs.garbage(LEAKY.encode(), 500),
    gs.garbage(json.dumps({"candidates": [{"content": LEAKY}]}).encode()),
    gs.garbage(f"{LEAKY}\xff".encode("latin-1"), 503),
    gs.garbage(("[" * 290 + gs.KEY).encode(), 400),
    gs.Reply("bad header", headers={gs.KEY + " :": gs.KEY}),
    gs.Reply("bad status", status=99, headers={gs.KEY: gs.KEY}),
    gs.nothing(),
]


@pytest.mark.parametrize("reply", LEAKS)
def test_the_key_is_in_no_error_chain_or_log(
    service: Service, reply: gs.Reply, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "infinite_rl")
    error = failure(service, reply)
    shown = "".join(traceback.format_exception(error)) + repr(error) + caplog.text
    assert gs.KEY not in shown
    assert error.__cause__ is None and error.__context__ is None


@pytest.mark.filterwarnings("ignore:.*is not a valid")
@pytest.mark.parametrize("reply", [gs.stopped(LEAKY), gs.blocked(LEAKY)])
def test_the_key_is_in_no_reason(service: Service, reply: gs.Reply) -> None:
    assert gs.KEY not in str(failure(service, reply))


def test_the_key_is_cut_out_of_a_completion(service: Service) -> None:
    in_two_parts = gs.text(f"<{gs.KEY[:9]}", f"{gs.KEY[9:]}>")
    assert service.ask(in_two_parts).text == "<[key]>"


def test_a_key_as_short_as_a_word_leaves_the_text_alone() -> None:
    with gs.GeminiServer(lambda _: "a test of it", key="test") as server:
        provider = GeminiProvider(api_key="test", base_url=server.base_url)
        assert provider.complete("", "prompt", 1).text == "a test of it"


def test_the_key_is_not_in_the_repr(service: Service) -> None:
    assert repr(service.provider) == "GeminiProvider('some-model')"


# Many threads


def test_a_client_serves_up_to_32_threads() -> None:
    provider = GeminiProvider(api_key=gs.KEY)
    together = threading.Barrier(40)

    def client(_: int) -> int:
        together.wait()
        return id(provider._client)

    with ThreadPoolExecutor(40) as pool:
        served = Counter(pool.map(client, range(40)))
    assert sorted(served.values()) == [8, 32]


def test_no_name_is_in_a_model_of_the_client() -> None:
    # On this rests that the provider's own models, which say so at once, send the same requests.
    from google.genai import types

    for model in (types.GenerateContentConfig(seed=1), types.Content(), types.Part(text="x")):
        assert not any(name in model for name in type(model).model_fields)


# Names, retries, other processes


@pytest.mark.parametrize("model", ["", "a b", "../files", "m?key=1", "m\n", "m#x", "é"])
def test_a_text_that_is_no_model_name_is_refused(model: str) -> None:
    with pytest.raises(UsageError, match="model name"):
        GeminiProvider(model, api_key=gs.KEY)


@pytest.mark.parametrize("url", ["localhost:80", "ftp://x", "http:///x"])
def test_a_text_that_is_no_base_url_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="base URL"):
        GeminiProvider(api_key=gs.KEY, base_url=url)


@pytest.mark.slow
def test_retries_make_exactly_the_calls_that_the_faults_cost() -> None:
    answer = gs.faulty(lambda request: request.prompt, kinds=gs.PASSING_FAULTS)
    with gs.GeminiServer(answer) as server:
        provider = GeminiProvider("m", api_key=gs.KEY, base_url=server.base_url)
        told: list[float] = []
        patient = LimitedProvider(
            provider,
            RetryPolicy(first_wait_s=0.001, max_wait_s=0.01),
            on_retry=lambda _, wait_s: told.append(wait_s),
        )

        def ask(seed: int) -> str:
            return patient.complete("", f"prompt {seed}", seed).text

        with ThreadPoolExecutor(8) as pool:
            texts = list(pool.map(ask, range(60)))
    assert texts == [f"prompt {seed}" for seed in range(60)]
    assert server.kinds["text"] == 60
    assert (
        len(told) == sum(server.kinds.values()) - 60 == sum(map(faults_before_success, range(60)))
    )


def faults_before_success(seed: int) -> int:
    attempt = 1
    while gs.planned_fault(seed, attempt, kinds=gs.PASSING_FAULTS):
        attempt += 1
    return attempt - 1


@pytest.mark.slow
def test_the_environment_of_the_server_reaches_another_process() -> None:
    code = (
        "from infinite_rl.providers import make_provider;"
        "print(make_provider('auto', 'm').complete('', 'prompt', 1).text)"
    )
    root = Path(__file__).parents[2]
    with gs.GeminiServer(lambda _: "hello") as server:
        run = subprocess.run(
            [sys.executable, "-c", code],
            cwd=root,
            env=server.environment,
            capture_output=True,
            text=True,
        )
    assert run.stdout.strip() == "hello", run.stderr


# The server's own promises, on which other tests build


def test_the_server_refuses_a_wrong_key_and_an_unknown_model() -> None:
    with gs.GeminiServer(lambda _: "hello", models=["known"]) as server:
        with pytest.raises(ProviderRefused, match="key from api_key"):
            GeminiProvider("known", api_key="other", base_url=server.base_url).complete("", "p", 1)
        with pytest.raises(ProviderRefused, match="model unknown"):
            GeminiProvider("unknown", api_key=gs.KEY, base_url=server.base_url).complete("", "p", 1)
        assert server.kinds == {"bad_key": 1, "no_model": 1}


def test_a_fault_plan_is_the_same_whatever_the_order() -> None:
    answer = gs.faulty(lambda _: "hello")
    with gs.GeminiServer(answer) as server:
        provider = GeminiProvider("m", api_key=gs.KEY, base_url=server.base_url)

        def ask(seed: int) -> None:
            for _ in range(2):
                try:
                    provider.complete("", "prompt", seed)
                except (ProviderUnavailable, NoCompletion):
                    continue

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(ask, range(40)))
        seen = {(request.seed, request.attempt): reply.kind for request, reply in server.exchanges}
    for (seed, attempt), kind in seen.items():
        planned = gs.planned_fault(seed, attempt)
        assert kind == (gs.FAULTS[planned]().kind if planned else "text")
    assert len(seen) == 80


def test_a_fault_plan_meets_its_share_and_every_kind() -> None:
    plan = [gs.planned_fault(seed, attempt) for seed in range(500) for attempt in (1, 2)]
    assert set(plan) == {"", *gs.FAULTS}
    assert 0.25 < sum(map(bool, plan)) / len(plan) < 0.35


def test_a_released_server_lets_go_of_those_that_hang() -> None:
    with gs.GeminiServer(lambda _: gs.hang()) as server:
        threading.Timer(0.05, server.release).start()
        with pytest.raises(ProviderUnavailable, match="no answer"):
            GeminiProvider(api_key=gs.KEY, base_url=server.base_url).complete("", "prompt", 1)
