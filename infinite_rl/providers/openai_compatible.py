"""Any server that speaks OpenAI's protocol, through the `openai` package.

vLLM, SGLang, Ollama, OpenRouter, DeepSeek and OpenAI differ in the details that are noted below;
each is told by its host or by its answer, never by a setting. Of the answers, the JSON itself is
read: the client does not check it. Errors are raised without their cause, as for Gemini.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from ..errors import NoCompletion, ProviderError, ProviderRefused, ProviderUnavailable, UsageError
from ..types import Completion, Usage
from .models import check_available
from .remote import (
    GARBAGE,
    SEED_MASK,
    check_base_url,
    check_settings,
    http_settings,
    named_quota,
    one_line,
    redacted,
    seconds,
    sendable,
    token_count,
    transport_errors,
    transport_trouble,
)
from .structured import SCHEMA, instructed, three_heads
from .thinking import ThinkingRequest, cut_off_advice, thinking_request

KEY_VARIABLE = "OPENAI_API_KEY"
DEEPSEEK_KEY_VARIABLE = "DEEPSEEK_API_KEY"  # which goes to DeepSeek alone
OPENAI_URL = "https://api.openai.com/v1"
DEEPSEEK_URL = "https://api.deepseek.com"

_MOST_DOLLARS = 1e6  # no call costs more
_NO_KEY = "none"  # what servers that ask for no key are sent: the client wants one
_PASSING = frozenset({408, 409, 429})  # and every 5xx
_KEY_CODES = frozenset({401, 403})
_UNPAID = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_FINISHED: Mapping[str, Literal["stop", "length"]] = {
    "": "stop",  # where the server does not say
    "stop": "stop",
    "length": "length",
}
# The server gave up, not the model: DeepSeek, vLLM, OpenRouter.
_INTERRUPTED = frozenset({"insufficient_system_resource", "abort", "error"})
# This prompt is refused (too long, or against the rules); the next one may not be.
_PROMPT_CODES = frozenset(
    {"context_length_exceeded", "content_filter", "content_policy_violation", "invalid_prompt"}
)
_MESSAGE_KEYS = ("message", "detail")
_PROMPT_WORDS = ("context length", "content exists risk")  # vLLM and SGLang; DeepSeek

_Json = Mapping[str, Any]


class OpenAICompatibleProvider:
    """Answers prompts with the model of a server. Thread-safe: one client serves all threads.

    `base_url` (else the environment's `OPENAI_BASE_URL`, else OpenAI) is where requests go, such as
    "http://localhost:8000/v1". The key is the environment's `OPENAI_API_KEY`, whoever's it is, or
    first of all `DEEPSEEK_API_KEY` where it is DeepSeek that is asked; only OpenAI itself must have
    one. `temperature`, `max_output_tokens` and `thinking` are the server's own where None.
    `thinking` is a level, sent as `reasoning_effort`; the limit on tokens is then larger by a room
    for thoughts, which servers count against it. `timeout_s` bounds each wait for the server, so it
    is longer than the longest answer takes. With `structured`, the server holds the model to the
    three sections as JSON, and the completion is their three-head text. The client's own retries
    are off.

    A key of 8 characters or more is cut out of all that comes back, completions included.

    Raises:
        ProviderRefused: the `openai` package is missing, or the key is, or it cannot be one.
        UsageError: the model's name or the base URL cannot be one, a setting has no meaning, or the
            model cannot think so.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        temperature: float | None = None,
        max_output_tokens: int | None = None,
        timeout_s: float = 300.0,
        structured: bool = False,
        thinking: str | int | None = None,
    ) -> None:
        if not re.fullmatch(r"[!-~]+", model):
            raise UsageError(f"not a model name: {model!r}")
        check_settings(temperature, max_output_tokens)
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
        self._address, self._host = base_url, _checked_host(base_url)
        if _is_at(self._host, "googleapis.com"):
            check_available(model)
        self._model = model
        self._key, self._key_source = _checked_key(api_key, self._host)
        self._timeout_s = timeout_s
        self._structured = structured
        self._settings = _settings(
            self._host,
            temperature,
            max_output_tokens,
            thinking_request(model, thinking),
            structured=structured,
        )
        self._openai = _sdk()
        client = self._openai.OpenAI(
            api_key=self._key,
            base_url=base_url,
            timeout=timeout_s,
            max_retries=0,
            http_client=self._openai.DefaultHttpxClient(timeout=timeout_s, **http_settings()),
        )
        self._create = client.chat.completions.with_raw_response.create
        self._transport_errors = transport_errors()

    @property
    def model(self) -> str:
        """The model's name, as it was asked for."""
        return self._model

    def __repr__(self) -> str:
        return f"OpenAICompatibleProvider({self._model!r}, {self._host!r})"

    def complete(self, system: str, prompt: str, seed: int) -> Completion:
        """Answer `prompt` under the instruction `system`; of `seed`, the lowest 31 bits are sent.

        Raises:
            ProviderUnavailable: 408, 409, 429, 5xx, a timeout, a broken connection, a garbled or
                an interrupted answer.
            ProviderRefused: the key, the model or the request is refused, or there is no credit.
            NoCompletion: the prompt is too long or was blocked, or the answer was stopped or holds
                no text.
        """
        failure: ProviderError
        try:
            answer = self._create(
                model=self._model,
                messages=self._messages(system, prompt),
                seed=seed & SEED_MASK,
                **self._settings,
            ).http_response
            body = json.loads(answer.content)
        except self._openai.APIStatusError as error:
            failure = self._refusal(error.status_code, _body(error.response), error.response)
        except (self._openai.APIConnectionError, *self._transport_errors) as error:
            failure = self._transport_failure(error)
        except (self._openai.OpenAIError, *GARBAGE) as error:
            said = f"the answer of {self._host} is garbled ({type(error).__name__})"
            failure = ProviderUnavailable(said, kind="garbled")
        else:
            return self._completion(body)
        # Raised out here so that not even __context__ leads to a text with the key in it.
        raise failure

    def _messages(self, system: str, prompt: str) -> list[dict[str, str]]:
        if self._structured:
            system = instructed(system)
        messages = [{"role": "system", "content": sendable(system)}] if system else []
        return [*messages, {"role": "user", "content": sendable(prompt)}]

    def _completion(self, body: object) -> Completion:
        answer = _object(body)
        choice = _first(answer.get("choices"))
        if trouble := _object(answer.get("error")) or _object(choice.get("error")):
            # OpenRouter's way of passing on a refusal: status 200, the real one in the body.
            code = trouble.get("code")
            raise self._refusal(code if isinstance(code, int) else 500, {"error": trouble})
        message = choice.get("message")
        text = _object(message).get("content") or ""
        if not isinstance(message, dict) or not isinstance(text, str):
            said = f"the answer of {self._host} is garbled (no message)"
            raise ProviderUnavailable(said, kind="garbled")
        reason, usage = self._clean(str(choice.get("finish_reason") or "")), _usage(answer)
        self._check_end(text, message, reason, usage)
        text, reasoning = redacted(text, self._key), redacted(_reasoning(message), self._key)
        return Completion(
            three_heads(text) if self._structured else text,
            self._model,
            _FINISHED[reason],
            usage,
            _told_cost(answer, self._host),
            reasoning,
        )

    def _check_end(self, text: str, message: _Json, reason: str, usage: Usage) -> None:
        """Raise where the answer is not one that the model finished, or where it is empty."""
        if reason in _INTERRUPTED:
            raise ProviderUnavailable(f"{self._host} broke the answer off ({reason})")
        if reason not in _FINISHED:
            raise NoCompletion(f"{self._host} stopped the answer ({reason})", usage=usage)
        if text.strip():
            return
        if refusal := message.get("refusal"):
            raise NoCompletion(f"the model refused ({self._clean(str(refusal))})", usage=usage)
        advice = f": {cut_off_advice(usage)}" if reason == "length" else ""
        raise NoCompletion(f"{self._host} sent no text ({reason or 'stop'}{advice})", usage=usage)

    def _refusal(self, code: int, body: object, response: Any = None) -> ProviderError:
        """The error of ours that a status and its body stand for."""
        trouble = _object(_object(body).get("error")) or _object(body)
        said = self._clean(f"{code}: {_message(body) or 'no message'}")
        if code == 402 or _code(trouble) in _UNPAID:  # also of a 429 that no waiting ends
            return ProviderRefused(f"{self._host} wants to be paid first ({said})")
        quota = named_quota(said) if code == 429 else ""
        if quota == "long":
            return ProviderRefused(
                f"{self._host}: a daily quota or a spending cap is used up ({said}); "
                "run the same command again when it is renewed or raised"
            )
        if code in _PASSING or code >= 500:
            return ProviderUnavailable(
                f"{self._host} answered {said}",
                retry_after=_delay(response),
                status=code,
                rate_limit=quota == "minute",
            )
        if _blames_the_prompt(trouble):
            return NoCompletion(f"{self._host} refused the prompt ({said})")
        if code in _KEY_CODES:
            return ProviderRefused(f"{self._host} refused {self._key_source} ({said})")
        if code == 404:
            return ProviderRefused(
                f"{self._host} has no model {self._model} at this address ({said}); choose another "
                "with --model_name, or mend --base_url"
            )
        return ProviderRefused(f"{self._host} refused the request ({said})")

    def _transport_failure(self, error: Exception) -> ProviderUnavailable:
        cause = error.__cause__ or error
        kind, where = transport_trouble(cause, self._address)
        if kind == "timeout":
            said = f"{self._host} sent nothing for {self._timeout_s:g} s"
        else:
            said = where or f"{type(cause).__name__}: {self._clean(str(cause))}"
            said = f"no answer from {self._host} ({said})"
        return ProviderUnavailable(said, kind=kind)

    def _clean(self, text: str) -> str:
        return one_line(text, self._key)


def _sdk() -> Any:
    try:
        import openai
    except ModuleNotFoundError:
        raise ProviderRefused(
            "the openai package is not installed: pip install 'infinite-rl[openai]'"
        ) from None
    return openai


def _checked_host(base_url: str) -> str:
    """The host and port of a base URL, as messages name them."""
    check_base_url(base_url)
    return urlsplit(base_url).netloc


def _checked_key(api_key: str | None, host: str) -> tuple[str, str]:
    """The key, and what to call it in a message."""
    key, source = api_key or "", "the key from api_key"
    own = [DEEPSEEK_KEY_VARIABLE] if _is_at(host, "deepseek.com") else []
    for name in (*own, KEY_VARIABLE):
        if not key.strip():
            key, source = os.environ.get(name, ""), f"the key from {name}"
    key = key.strip()
    if not key and _is_openai(host):
        raise ProviderRefused(
            f"no OpenAI API key: set {KEY_VARIABLE}, or name another server with --base_url"
        )
    if not key:
        return _NO_KEY, f"a call without a key: set {[*own, KEY_VARIABLE][0]}"
    if not re.fullmatch(r"[!-~]+", key):
        raise ProviderRefused(f"{source} holds characters no key has")
    return key, source


def _settings(
    host: str,
    temperature: float | None,
    max_output_tokens: int | None,
    thinking: ThinkingRequest,
    *,
    structured: bool,
) -> dict[str, Any]:
    """What every request says beside its words.

    OpenAI's reasoning models refuse `max_tokens`, and Ollama, among others, does not know the
    `max_completion_tokens` that replaced it, so the host decides. DeepSeek can be held to JSON, but
    not to a schema.
    """
    settings: dict[str, Any] = {}
    if thinking.tokens is not None:
        raise UsageError("OpenAI's protocol has no number of thinking tokens: give a level")
    if thinking.level:
        settings["reasoning_effort"] = "none" if thinking.level == "off" else thinking.level
    if temperature is not None:
        settings["temperature"] = temperature
    if max_output_tokens is not None:
        name = "max_completion_tokens" if _is_openai(host) else "max_tokens"
        settings[name] = max_output_tokens + thinking.room
    if structured and _is_at(host, "deepseek.com"):
        settings["response_format"] = {"type": "json_object"}
    elif structured:
        schema = {"name": "sample", "strict": True, "schema": SCHEMA}
        settings["response_format"] = {"type": "json_schema", "json_schema": schema}
    return settings


def _is_at(host: str, domain: str) -> bool:
    name = host.rsplit(":", 1)[0].lower()
    return name == domain or name.endswith(f".{domain}")


def _is_openai(host: str) -> bool:
    return _is_at(host, "api.openai.com") or _is_at(host, "openai.azure.com")


def _object(value: object) -> _Json:
    """A JSON object; an empty one where the server sent something else."""
    return value if isinstance(value, dict) else {}


def _code(trouble: _Json) -> str:
    """The code of an error, which servers send as a text, as a number, or as anything else."""
    return str(trouble.get("code"))


def _first(value: object) -> _Json:
    return _object(value[0]) if isinstance(value, list) and value else {}


def _body(response: Any) -> object:
    try:
        return json.loads(response.content)
    except (ValueError, RecursionError):
        return None


def _message(body: object) -> str:
    """What the server says of an error, in the forms of OpenAI, vLLM, Ollama and FastAPI."""
    error = _object(body).get("error")
    for told in (_object(error).get("message"), error, *map(_object(body).get, _MESSAGE_KEYS)):
        if isinstance(told, str):
            return told
    return ""


def _blames_the_prompt(trouble: _Json) -> bool:
    """Whether an error is about this prompt alone, so that the run can go on."""
    told = str(trouble.get("message")).lower()
    return (
        _code(trouble) in _PROMPT_CODES
        or any(words in told for words in _PROMPT_WORDS)
        or "flagged_input" in _object(trouble.get("metadata"))  # OpenRouter's moderation: a 403
    )


def _delay(response: Any) -> float | None:
    """The seconds to wait that the server named: `retry-after-ms` is OpenAI's finer form."""
    if response is None:
        return None
    finer = seconds(response.headers.get("retry-after-ms", ""))
    return seconds(response.headers.get("retry-after", "")) if finer is None else finer / 1000


def _reasoning(message: _Json) -> str:
    """What the server shows of the model's thoughts: vLLM, SGLang and DeepSeek; others."""
    told = (message.get(name) for name in ("reasoning_content", "reasoning"))
    return next((text for text in told if isinstance(text, str)), "")


def _usage(answer: _Json) -> Usage:
    """The tokens of a call.

    OpenAI counts thoughts in `completion_tokens`; where a server counts them beside, its total is
    larger than prompt and completion are.
    """
    counts = _object(answer.get("usage"))
    prompt, written, total = (
        token_count(counts.get(f"{name}_tokens")) for name in ("prompt", "completion", "total")
    )
    written = max(written, total - prompt)
    thinking = token_count(_object(counts.get("completion_tokens_details")).get("reasoning_tokens"))
    cached = token_count(_object(counts.get("prompt_tokens_details")).get("cached_tokens"))
    cached = cached or token_count(counts.get("prompt_cache_hit_tokens"))  # DeepSeek's own name
    return Usage(
        input_tokens=prompt,
        output_tokens=max(0, written - thinking),
        cached_tokens=cached,
        thinking_tokens=thinking,
    )


def _told_cost(answer: _Json, host: str) -> float | None:
    """What OpenRouter says that the call cost: it alone knows whom it asked."""
    told = _object(answer.get("usage")).get("cost")
    if not isinstance(told, int | float) or not _is_at(host, "openrouter.ai"):
        return None
    return float(told) if 0 <= told <= _MOST_DOLLARS else None
