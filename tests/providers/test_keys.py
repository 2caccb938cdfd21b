"""The API key is in no file, log line, message or traceback, whatever a server makes of it.

Servers echo what they were sent, in an error's text as in a field nobody thinks of. So each field
of each kind of answer holds the key once.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gemini_server as gemini
import openai_server as openai
import pytest
from loopback import json_reply

from infinite_rl.errors import InfiniteRLError
from infinite_rl.generator import generate_dataset
from infinite_rl.layout import render, tagged
from infinite_rl.providers.base import Provider
from infinite_rl.providers.batch import GeminiBatches
from infinite_rl.providers.gemini import GeminiProvider
from infinite_rl.providers.openai_compatible import OpenAICompatibleProvider
from infinite_rl.providers.rate_limit import RetryPolicy

pytestmark = pytest.mark.slow

ONCE = RetryPolicy(first_wait_s=0.0, max_wait_s=0.0, total_s=0.0)
TASK = render("What is 1 + 1?", "2", f"It is {tagged('2')}.")
USAGE = {"promptTokenCount": 7, "candidatesTokenCount": 3, "cachedContentTokenCount": 1}

GEMINI_REPLIES = (
    gemini.text(TASK, thought="I think.", usage=USAGE),
    gemini.blocked(),
    gemini.rate_limited("0s"),
    gemini.bad_key(),
    gemini.no_model("some-model"),
    gemini.error(400, "INVALID_ARGUMENT", "The input exceeds the maximum number of tokens"),
    gemini.error(500, "INTERNAL", "again later"),
)
OPENAI_REPLIES = (
    openai.text(TASK, reasoning="I think."),
    openai.text(None, refusal="I will not."),
    openai.text(TASK, finish="content_filter"),
    openai.error(429, "too fast", "rate_limit_exceeded"),
    openai.error(429, "no credit", "insufficient_quota"),
    openai.error(401, "a wrong key", "invalid_api_key"),
    openai.error(404, "no such model", "model_not_found"),
    openai.error(400, "too long", "context_length_exceeded"),
)


def echoes(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """The JSON value with the key in one place, for every place; and where that is."""
    if isinstance(value, dict):
        yield "a field", {**value, key: key}
        for name, part in value.items():
            yield from ((f"{name}.{at}", {**value, name: new}) for at, new in echoes(part, key))
    elif isinstance(value, list):
        for n, part in enumerate(value):
            for at, new in echoes(part, key):
                yield f"{n}.{at}", [*value[:n], new, *value[n + 1 :]]
    else:
        yield "instead", key if isinstance(value, str) else {key: key}
        yield "within", f"{value} {key} {value}"


def variants(example: gemini.Reply, key: str) -> Iterator[tuple[str, gemini.Reply]]:
    """The example with the key in each place, in its headers, and where there is no JSON."""
    for at, body in echoes(json.loads(example.body), key):
        yield at, json_reply(example.kind, example.status, body)
    headers = {"Retry-After": key, "Location": f"http://127.0.0.1:9/{key}", "X-Echo": key}
    for status in {example.status, 302}:
        yield "headers", json_reply("headers", status, {}, headers)
    yield "no JSON", gemini.garbage(f"<html>{key}".encode(), example.status)


def told(folder: Path, provider: Provider, **more: Any) -> Iterator[str]:
    """All that a run says and writes, and another one that goes on from there."""
    for _ in range(2):
        try:
            progress = generate_dataset(
                "m", 1, folder, provider=provider, task_dist="0,1", debug=True,
                max_retries=1, retry=ONCE, verify=0, **more,
            )  # fmt: skip
            yield repr(progress)
        except InfiniteRLError as error:
            yield "".join(traceback.format_exception(error))
            yield f"{error.__cause__!r} {error.__context__!r}"
    for path in folder.rglob("*"):
        yield path.name
        if path.is_file() and path.name != ".reserve":
            yield path.read_text(encoding="utf-8", errors="replace")


class Ears:
    """All that is logged and warned of while a test runs."""

    def __init__(
        self, logged: pytest.LogCaptureFixture, warned: pytest.WarningsRecorder, folder: Path
    ) -> None:
        self.logged, self.warned, self.folder = logged, warned, folder
        logged.set_level(logging.INFO)  # a server's whole answer is in the HTTP libraries' DEBUG
        logged.set_level(logging.DEBUG, "infinite_rl")

    def check(self, key: str, where: str, provider: Provider, **more: Any) -> None:
        """Run with the provider and find the key nowhere."""
        folder = self.folder / str(len(list(self.folder.iterdir())))
        said = "".join(told(folder, provider, **more))
        warned = " ".join(str(warning.message) for warning in self.warned)
        assert "m" in said
        for what, text in {"said": said, "log": self.logged.text, "warned": warned}.items():
            assert key not in text, f"{what}, from {where}"


@pytest.fixture
def ears(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    recwarn: pytest.WarningsRecorder,
    tmp_path: Path,
) -> Ears:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return Ears(caplog, recwarn, tmp_path)


def test_gemini_may_echo_the_key_anywhere(ears: Ears) -> None:
    for example in GEMINI_REPLIES:
        answer = [example]
        with gemini.GeminiServer(lambda _, answer=answer: answer[0]) as server:
            provider = GeminiProvider("m", api_key=gemini.KEY, base_url=server.base_url)
            for where, answer[0] in variants(example, gemini.KEY):
                ears.check(gemini.KEY, where, provider)


def test_a_server_of_openais_protocol_may_echo_the_key_anywhere(ears: Ears) -> None:
    for example in OPENAI_REPLIES:
        answer = [example]
        with openai.OpenAIServer(lambda _, answer=answer: answer[0]) as server:
            url = server.base_url
            provider = OpenAICompatibleProvider("m", api_key=openai.KEY, base_url=url)
            for where, answer[0] in variants(example, openai.KEY):
                ears.check(openai.KEY, where, provider)


def test_a_batch_and_its_results_may_echo_the_key_anywhere(ears: Ears) -> None:
    for example in GEMINI_REPLIES:
        answer = [example]
        with gemini.GeminiServer(lambda _, answer=answer: answer[0], polls=0) as server:
            provider = GeminiBatches("m", api_key=gemini.KEY, base_url=server.base_url)
            for where, body in echoes(json.loads(example.body), gemini.KEY):
                answer[0] = json_reply(example.kind, example.status, body)
                ears.check(gemini.KEY, where, provider, batch=True)
    about = {"displayName": "a label", "state": "BATCH_STATE_PENDING", "model": "models/m"}
    batch = {"name": "batches/b0", "metadata": about, "done": False}
    named = {**batch, "name": f"batches/{gemini.KEY}"}
    for path in ("/v1beta/models/m:batchGenerateContent", "/v1beta/batches"):
        with gemini.GeminiServer(lambda _: TASK) as server:
            provider = GeminiBatches("m", api_key=gemini.KEY, base_url=server.base_url)
            for body in (named, *(new for _, new in echoes(batch, gemini.KEY))):
                server.trouble[path] = json_reply("told", 200, body)
                ears.check(gemini.KEY, json.dumps(body), provider, batch=True)
