"""Any server that speaks OpenAI's protocol, through the `openai` package.

vLLM, SGLang, Ollama, OpenRouter, DeepSeek and OpenAI differ in the details that are noted below;
each is recognized by its host or its answer, never by a setting. Answers are read from the raw
JSON: the client does not validate it. Errors are raised without their cause, as for Gemini.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from ..errors import NoCompletion, ProviderError, ProviderRefused, ProviderUnavailable, UsageError
from ..layout import SECTIONS
from ..types import Completion, Usage
from . import remote
from .models import ThinkingRequest, check_available, cut_off_advice, thinking_request
from .remote import RemoteProvider, sendable, token_count

KEY_VARIABLE = "OPENAI_API_KEY"
DEEPSEEK_KEY_VARIABLE = "DEEPSEEK_API_KEY"  # which goes to DeepSeek alone
OPENAI_URL = "https://api.openai.com/v1"
DEEPSEEK_URL = "https://api.deepseek.com"

_MAX_DOLLARS = 1e6  # no call costs more
_NO_KEY = "none"  # for servers without keys: the client requires one
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in SECTIONS},
    "required": list(SECTIONS),
    "additionalProperties": False,
}
_UNPAID = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
# "": the server does not say
_FINISHED: Mapping[str, Literal["stop", "length"]] = {
    "": "stop",
    "stop": "stop",
    "length": "length",
}
# The server gave up, not the model: DeepSeek, vLLM, OpenRouter.
_INTERRUPTED = frozenset({"insufficient_system_resource", "abort", "error"})
# This prompt is refused (too long, or against the rules); the next one may not be.
_PROMPT_CODES = frozenset(
    {"context_length_exceeded", "content_filter", "content_policy_violation", "invalid_prompt"}
)
_PROMPT_WORDS = ("context length", "content exists risk")  # vLLM and SGLang; DeepSeek

_Json = Mapping[str, Any]


class OpenAICompatibleProvider(RemoteProvider):
    """Answers prompts with the model of a server. Thread-safe: one client serves all threads.

    `base_url` (else the environment's `OPENAI_BASE_URL`, else OpenAI) is the server's address, such
    as "http://localhost:8000/v1". The key is the environment's `OPENAI_API_KEY`; for DeepSeek,
    `DEEPSEEK_API_KEY` comes first. Only OpenAI itself requires one. `temperature`,
    `max_output_tokens` and `thinking` are the server's defaults if None. `thinking` is a level,
    sent as `reasoning_effort`; the limit on tokens is then larger by a thinking budget, which
    servers count against it. `timeout_s` bounds each wait for the server, so it must exceed the
    longest answer. With `structured`, the server constrains the model to the three sections as
    JSON, and the completion is their three-head text. The client's own retries are off.

    A key of 8 characters or more is cut out of all results, completions included.

    Raises:
        ProviderRefused: the `openai` package or the key is missing, or the key is malformed.
        UsageError: the model's name or the base URL is malformed, a setting has no meaning, or the
            model does not support the thinking setting.
    """

    _passing = frozenset({408, 409, 429})

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
        remote.check_settings(temperature, max_output_tokens)
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
        remote.check_base_url(base_url)
        host = urlsplit(base_url).netloc  # with the port
        if _is_at(host, "googleapis.com"):
            check_available(model)
        key, self._key_source = _checked_key(api_key, host)
        super().__init__(
            model, key, service=host, address=base_url, timeout_s=timeout_s, structured=structured
        )
        request = thinking_request(model, thinking)
        self._settings = _settings(
            host, temperature, max_output_tokens, request, structured=structured
        )
        try:
            import openai
        except ModuleNotFoundError:
            raise ProviderRefused(
                "the openai package is not installed: pip install 'infinite-rl[openai]'"
            ) from None
        client = openai.OpenAI(
            api_key=key,
            base_url=base_url,
            timeout=timeout_s,
            max_retries=0,
            http_client=openai.DefaultHttpxClient(timeout=timeout_s, **remote.http_settings()),
        )
        self._create: Any = client.chat.completions.with_raw_response.create
        self._status_error = openai.APIStatusError
        self._transport_errors = (openai.APIConnectionError, *remote.transport_errors())
        self._garbled_errors = (openai.OpenAIError, *remote.GARBAGE)

    def __repr__(self) -> str:
        return f"OpenAICompatibleProvider({self._model!r}, {self._service!r})"

    def complete(self, system: str, prompt: str, seed: int) -> Completion:
        """Answer `prompt` under the instruction `system`; of `seed`, the lowest 31 bits are sent.

        Raises:
            ProviderUnavailable: 408, 409, 429, 5xx, a timeout, a broken connection, a garbled or
                an interrupted answer.
            ProviderRefused: the key, the model or the request is refused, or there is no credit.
            NoCompletion: the prompt is too long or was blocked, or the answer was stopped or is
                empty.
        """

        def send() -> object:
            instruction = remote.instructed(system) if self._structured else system
            messages = [{"role": "user", "content": sendable(prompt)}]
            if instruction:
                messages.insert(0, {"role": "system", "content": sendable(instruction)})
            answer = self._create(
                model=self._model, messages=messages, seed=seed & remote.SEED_MASK, **self._settings
            )
            return json.loads(answer.http_response.content)

        return self._completion(self._call(send))

    def _completion(self, body: object) -> Completion:
        answer = _object(body)
        choices = answer.get("choices")
        choice = _object(choices[0]) if isinstance(choices, list) and choices else {}
        if trouble := _object(answer.get("error")) or _object(choice.get("error")):
            # OpenRouter passes refusals on with status 200 and the real one in the body.
            code = trouble.get("code")
            raise self._refusal(code if isinstance(code, int) else 500, {"error": trouble})
        message = choice.get("message")
        text = _object(message).get("content") or ""
        if not isinstance(message, dict) or not isinstance(text, str):
            raise self._garbled("no message")
        reason, usage = self._clean(str(choice.get("finish_reason") or "")), _usage(answer)
        if reason in _INTERRUPTED:
            raise ProviderUnavailable(f"{self._service} broke the answer off ({reason})")
        if reason not in _FINISHED:
            raise NoCompletion(f"{self._service} stopped the answer ({reason})", usage=usage)
        if not text.strip():
            if refusal := message.get("refusal"):
                raise NoCompletion(f"the model refused ({self._clean(str(refusal))})", usage=usage)
            why = (reason or "stop") + (f": {cut_off_advice(usage)}" if reason == "length" else "")
            raise NoCompletion(f"{self._service} sent no text ({why})", usage=usage)
        # vLLM, SGLang and DeepSeek; others
        thoughts = (message.get(name) for name in ("reasoning_content", "reasoning"))
        reasoning = next((each for each in thoughts if isinstance(each, str)), "")
        cost = _reported_cost(answer, self._service)
        return self._completed(text, reasoning, _FINISHED[reason], usage, cost)

    def _status_failure(self, error: Any, _missing: str) -> ProviderError:
        try:
            body = json.loads(error.response.content)
        except (ValueError, RecursionError):
            body = None
        return self._refusal(error.status_code, body, error.response)

    def _transport_failure(self, error: Exception) -> ProviderUnavailable:
        cause = error.__cause__  # the client wraps the HTTP library's error
        return super()._transport_failure(cause if isinstance(cause, Exception) else error)

    def _refusal(self, code: int, body: object, response: Any = None) -> ProviderError:
        """The error that a status and its body stand for."""
        trouble = _object(_object(body).get("error")) or _object(body)
        refusal = self._clean(f"{code}: {_message(body) or 'no message'}")
        error_code = str(trouble.get("code"))  # servers send a text, a number, or anything else
        if code == 402 or error_code in _UNPAID:  # also of a 429 that no waiting ends
            return ProviderRefused(f"{self._service} wants to be paid first ({refusal})")
        if failure := self._quota_or_passing(code, refusal, _delay(response)):
            return failure
        message = str(trouble.get("message")).lower()
        if (
            error_code in _PROMPT_CODES
            or any(words in message for words in _PROMPT_WORDS)
            or "flagged_input" in _object(trouble.get("metadata"))  # OpenRouter's moderation: a 403
        ):
            return NoCompletion(f"{self._service} refused the prompt ({refusal})")
        if code in remote.KEY_CODES:
            return ProviderRefused(f"{self._service} refused {self._key_source} ({refusal})")
        if code == 404:
            return ProviderRefused(
                f"{self._service} has no model {self._model} at this address ({refusal}); choose "
                "another with --model_name, or mend --base_url"
            )
        return ProviderRefused(f"{self._service} refused the request ({refusal})")


def _checked_key(api_key: str | None, host: str) -> tuple[str, str]:
    """The key, and its name in messages."""
    key, source = api_key or "", "the key from api_key"
    names = [DEEPSEEK_KEY_VARIABLE] if _is_at(host, "deepseek.com") else []
    names.append(KEY_VARIABLE)
    for name in names:
        if not key.strip():
            key, source = os.environ.get(name, ""), f"the key from {name}"
    key = key.strip()
    if not key and _is_openai(host):
        raise ProviderRefused(
            f"no OpenAI API key: set {KEY_VARIABLE}, or name another server with --base_url"
        )
    if not key:
        return _NO_KEY, f"a call without a key: set {names[0]}"
    remote.check_key(key, source)
    return key, source


def _settings(
    host: str,
    temperature: float | None,
    max_output_tokens: int | None,
    thinking: ThinkingRequest,
    *,
    structured: bool,
) -> dict[str, Any]:
    """The settings of every request.

    OpenAI's reasoning models refuse `max_tokens`, and Ollama, among others, does not know the
    `max_completion_tokens` that replaced it, so the host decides. DeepSeek supports JSON mode, but
    no schema.
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
        settings[name] = max_output_tokens + thinking.budget
    if structured and _is_at(host, "deepseek.com"):
        settings["response_format"] = {"type": "json_object"}
    elif structured:
        schema = {"name": "sample", "strict": True, "schema": _SCHEMA}
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


def _message(body: object) -> str:
    """The server's error message, in the forms of OpenAI, vLLM, Ollama and FastAPI."""
    answer = _object(body)
    error = answer.get("error")
    texts = (_object(error).get("message"), error, answer.get("message"), answer.get("detail"))
    return next((text for text in texts if isinstance(text, str)), "")


def _delay(response: Any) -> float | None:
    """The seconds to wait that the server named: `retry-after-ms` is OpenAI's finer form."""
    if response is None:
        return None
    finer = remote.seconds(response.headers.get("retry-after-ms", ""))
    return (
        remote.seconds(response.headers.get("retry-after", "")) if finer is None else finer / 1000
    )


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


def _reported_cost(answer: _Json, host: str) -> float | None:
    """The cost of the call as OpenRouter reports it: it alone knows which provider served."""
    cost = _object(answer.get("usage")).get("cost")
    if not isinstance(cost, int | float) or not _is_at(host, "openrouter.ai"):
        return None
    return float(cost) if 0 <= cost <= _MAX_DOLLARS else None
