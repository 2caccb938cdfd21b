"""Gemini, through Google's own client.

Everything that the client or the service can do is turned into a `Completion` or into one of our
errors here, once. The API key is in none of them: texts are cleaned of it, and errors are raised
without their cause, whose text may quote the request.
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from ..errors import NoCompletion, ProviderError, ProviderRefused, ProviderUnavailable, UsageError
from ..layout import SECTIONS
from ..types import Completion, Usage
from .models import DEFAULT_MODEL, check_available
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
from .structured import instructed, three_heads
from .thinking import ThinkingRequest, cut_off_advice, thinking_request

if TYPE_CHECKING:
    from google.genai import Client
    from google.genai.errors import APIError
    from google.genai.types import Content, GenerateContentConfig, HttpOptions
    from google.genai.types import Model as ListedModel

T = TypeVar("T")
logger = logging.getLogger(__name__)

# In the order in which Google's client prefers them, should both be set.
KEY_VARIABLES = ("GOOGLE_API_KEY", "GEMINI_API_KEY")

_API_VERSION = "v1beta"  # the one that serves experimental models; the client's default varies
_ADDRESS = "https://generativelanguage.googleapis.com"
_MOST_OUTPUT = 65_536  # of all models of the table; above it the service answers 400
_LISTING_MS = 10_000  # the least that the service takes as a timeout
_LISTED, _NAMED = 1000, 12  # models asked for, and those that an error names
_MODEL_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
_THREADS_A_CLIENT = 32  # each call looks at all connections of its client
_MOST_CLIENTS = 64
_PASSING = frozenset({408, 429})  # and every 5xx
_KEY_CODES = frozenset({401, 403})
_FINISHED: Mapping[str, Literal["stop", "length"]] = {
    "STOP": "stop",
    "FINISH_REASON_UNSPECIFIED": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
}
SCHEMA_CONFIG = {
    "responseMimeType": "application/json",
    "responseSchema": {
        "type": "OBJECT",
        "properties": {name: {"type": "STRING"} for name in SECTIONS},
        "required": list(SECTIONS),
        "propertyOrdering": list(SECTIONS),
    },
}


def environment_key() -> tuple[str, str] | None:
    """The API key in the environment and the variable it came from, or None.

    `GOOGLE_API_KEY` wins over `GEMINI_API_KEY`, as in Google's client. An empty value is no key.
    """
    for variable in KEY_VARIABLES:
        if key := os.environ.get(variable, "").strip():
            return key, variable
    return None


class GeminiProvider:
    """Answers prompts with a Gemini model. Thread-safe; a client serves up to 32 threads.

    `temperature`, `max_output_tokens` and `thinking` are the service's own where None. `thinking`
    is a level or a number of tokens (`thinking.parse_thinking`). `max_output_tokens` bounds the
    answer: what is sent is larger by the room for thoughts, which the service counts against it,
    but never more than 65,536 for that reason. `base_url` (else the
    environment's `GOOGLE_GEMINI_BASE_URL`, else Google) is where requests go. `timeout_s` bounds
    each wait for the server, so it is longer than the longest answer takes; the real service
    refuses values under 10. With `structured`, the service holds the model to the three sections as
    JSON, and the completion is their three-head text. The client's own retries are off:
    `limits.LimitedProvider` owns them.

    A key of 8 characters or more is cut out of all that comes back, completions included.

    Raises:
        ProviderRefused: there is no API key, or it cannot be one.
        UsageError: the model's name or the base URL cannot be one, a setting has no meaning, the
            model cannot think so, or it is shut down.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        api_key: str | None = None,
        temperature: float | None = None,
        max_output_tokens: int | None = None,
        base_url: str | None = None,
        timeout_s: float = 300.0,
        structured: bool = False,
        thinking: str | int | None = None,
    ) -> None:
        self._model = _checked_model(model)
        self._check_available()
        self._key, self._key_source = _checked_key(api_key)
        check_settings(temperature, max_output_tokens)
        self._temperature = temperature
        request = thinking_request(model, thinking)
        self._max_output_tokens = _with_room(max_output_tokens, request.room)
        self._generation_config = _thinking_config(request) | (SCHEMA_CONFIG if structured else {})
        self._timeout_s = timeout_s
        self._structured = structured
        base_url = base_url or os.environ.get("GOOGLE_GEMINI_BASE_URL") or None
        if base_url is not None:
            check_base_url(base_url)
        self._address = base_url or _ADDRESS

        from google import genai
        from google.genai import errors, types

        # The client warns on stderr of words that it does not know, and quotes them as they come.
        warnings.filterwarnings("ignore", r"(?s).* is not a valid ", module=r"google\.genai\b")
        self._make_client = partial(
            genai.Client,
            api_key=self._key,
            vertexai=False,  # or an environment variable could send the key elsewhere
            http_options=_http_options(base_url, timeout_s),
        )
        self._clients: list[Client] = []
        self._mine = threading.local()  # the client of a thread
        self._threads = 0
        self._lock = threading.Lock()
        self._offer: str | None = None  # the models that there are, once somebody needed to know
        self._types = types
        self._config_type = _quick(types.GenerateContentConfig)
        self._content_type, self._part_type = _quick(types.Content), _quick(types.Part)
        # Not as the config's schema: the client would then parse the text, and stumble on some. And
        # it sends the fields of a thinking config by other names than the service documents.
        asked = {"generationConfig": self._generation_config}
        self._http_options = (
            types.HttpOptions(extra_body=asked) if self._generation_config else None
        )
        self._api_error = errors.APIError
        self._transport_errors = transport_errors()

    @property
    def model(self) -> str:
        """The model's name, as it was asked for."""
        return self._model

    def __repr__(self) -> str:
        return f"GeminiProvider({self._model!r})"

    def complete(self, system: str, prompt: str, seed: int) -> Completion:
        """Answer `prompt` under the instruction `system`; of `seed`, the lowest 31 bits are sent.

        Raises:
            ProviderUnavailable: 408, 429, 5xx, a timeout, a broken connection, a garbled answer.
            ProviderRefused: the key, the model or the request is refused.
            NoCompletion: the prompt is too long or was blocked, or the answer was stopped or holds
                no text.
        """
        return self._asked(
            lambda: self._completion(
                self._answered(self._content(prompt), self._config(system, seed))
            )
        )

    @property
    def _client(self) -> Client:
        """The client of this thread."""
        client: Client | None = getattr(self._mine, "client", None)
        if client is None:
            with self._lock:
                turn = self._threads // _THREADS_A_CLIENT % _MOST_CLIENTS
                self._threads += 1
                if turn == len(self._clients):
                    self._clients.append(self._make_client())
                client = self._mine.client = self._clients[turn]
        return client

    def _answered(self, content: Content, config: GenerateContentConfig) -> object:
        """The service's own JSON."""
        response = self._client.models.generate_content(
            model=self._model, contents=content, config=config
        )
        http = response.sdk_http_response
        return json.loads((http and http.body) or "{}")

    def _asked(self, ask: Callable[[], T], missing: str = "") -> T:
        """What `ask` returns, with whatever the client raises turned into one of our errors.

        `missing` says what is not there where the service answers 404; by default the model.
        """
        failure: ProviderError
        try:
            return ask()
        except self._api_error as error:
            failure = self._api_failure(error, missing)
        except self._transport_errors as error:
            failure = self._transport_failure(error)
        except GARBAGE as error:
            said = f"Gemini's answer is garbled ({type(error).__name__})"
            failure = ProviderUnavailable(said, kind="garbled")
        # Raised out here so that not even __context__ leads to a text with the key in it.
        raise failure

    def _config(self, system: str, seed: int) -> GenerateContentConfig:
        system = instructed(system) if self._structured else system
        config = self._config_type(
            system_instruction=self._content(system) if system else None,
            seed=seed & SEED_MASK,
            temperature=self._temperature,
            max_output_tokens=self._max_output_tokens,
            automatic_function_calling=self._types.AutomaticFunctionCallingConfig(disable=True),
            http_options=self._http_options,
            should_return_http_response=True,  # its own models take longer to fill than the call
        )
        if "automatic_continuation" in self._types.GenerateContentConfig.model_fields:
            # One call is one request; clients before 3 do not know the field.
            config = config.model_copy(update={"automatic_continuation": False})
        return config

    def _check_available(self) -> None:
        """Refuse a model that is shut down before anything is asked."""
        check_available(self._model)

    def _offered(self) -> str:
        """The models that the service has for this key, as the end of a sentence; asked for once.

        "" where the service does not say: what led here is the error to tell of.
        """
        client = self._client
        with self._lock:
            if self._offer is None:
                self._offer = ""
                quick = self._types.HttpOptions(timeout=_LISTING_MS)
                config = self._types.ListModelsConfig(page_size=_LISTED, http_options=quick)
                failures: tuple[type[Exception], ...] = (self._api_error, *GARBAGE)
                try:
                    page = client.models.list(config=config).page
                    self._offer = _offer(page, self._clean)
                except (*failures, *self._transport_errors) as error:
                    logger.debug("the models were not listed: %s", type(error).__name__)
            return self._offer

    def _content(self, text: str) -> Content:
        return self._content_type(parts=[self._part_type(text=sendable(text))], role="user")

    def _completion(self, response: Any) -> Completion:
        """The completion in the service's own JSON. Raises `GARBAGE` where it is none."""
        candidates = _of(list, response, "candidates")
        if not candidates:
            raise self._no_candidate(response)
        candidate = candidates[0]
        text, reasoning = _words(candidate)
        reason = _of(str, candidate, "finishReason") or "FINISH_REASON_UNSPECIFIED"
        usage = _usage(response)
        if reason not in _FINISHED:
            raise NoCompletion(f"Gemini stopped the answer ({self._clean(reason)})", usage=usage)
        if not text.strip():
            advice = f": {cut_off_advice(usage)}" if _FINISHED[reason] == "length" else ""
            raise NoCompletion(f"Gemini sent no text ({reason}{advice})", usage=usage)
        text = redacted(text, self._key)
        return Completion(
            three_heads(text) if self._structured else text,
            self._model,
            _FINISHED[reason],
            usage,
            reasoning=redacted(reasoning, self._key),
        )

    def _no_candidate(self, response: Mapping[str, Any]) -> ProviderError:
        usage = _usage(response)
        if reason := _of(str, _of(dict, response, "promptFeedback"), "blockReason"):
            return NoCompletion(f"Gemini blocked the prompt ({self._clean(reason)})", usage=usage)
        if not response.keys() & {"promptFeedback", "usageMetadata"}:
            said = "Gemini's answer is garbled (no part of it is known)"
            return ProviderUnavailable(said, kind="garbled")
        return NoCompletion("Gemini sent no candidate", usage=usage)

    def _api_failure(self, error: APIError, missing: str) -> ProviderError:
        body = _error_body(error)
        said = f"{error.code} {error.status or ''}: {error.message or 'no message'}"
        if error.code == 404 and missing:
            return ProviderRefused(missing)
        return self._refusal(error.code, said, body, _delay(error, body))

    def _refusal(
        self, code: int, said: str, body: Mapping[str, Any], delay: float | None = None
    ) -> ProviderError:
        """The error of ours that a status stands for, with what the service `said` of it."""
        names = _quota_names(body)
        quota = named_quota(" ".join([said, *names])) if code == 429 else ""
        said = self._clean(", ".join([said, *names]))
        if quota == "long":
            return ProviderRefused(
                f"a daily quota or a spending cap is used up ({said}); "
                "run the same command again when it is renewed or raised"
            )
        if code in _PASSING or code >= 500:
            return ProviderUnavailable(
                f"Gemini answered {said}",
                retry_after=delay,
                status=code,
                rate_limit=quota == "minute",
            )
        if code in _KEY_CODES or _blames_the_key(body):
            return ProviderRefused(
                f"Gemini refused the key from {self._key_source} ({said}); "
                f"set {self._key_source} to a key that may use this model"
            )
        if code == 404:
            return ProviderRefused(
                f"the model {self._model} is not available (retired or misspelt); "
                f"choose another with --model_name{self._offered()}"
            )
        if "exceeds the maximum number of tokens" in said:  # the next prompt may be shorter
            return NoCompletion(f"Gemini refused the prompt ({said})")
        return ProviderRefused(f"Gemini refused the request ({said})")

    def _transport_failure(self, error: Exception) -> ProviderUnavailable:
        name = type(error).__name__
        kind, where = transport_trouble(error, self._address)
        if kind == "timeout":
            said = f"Gemini sent nothing for {self._timeout_s:g} s ({name})"
        else:
            said = where or f"{name}: {self._clean(str(error))}"
            said = f"no answer from Gemini ({said})"
        return ProviderUnavailable(said, kind=kind)

    def _clean(self, text: str) -> str:
        return one_line(text, self._key)


def _thinking_config(request: ThinkingRequest) -> dict[str, Any]:
    """What is asked of the model's thinking, in the service's own JSON; one of two forms, as both
    are refused together."""
    tokens = 0 if request.level == "off" else request.tokens
    if tokens is not None:
        return {"thinkingConfig": {"thinkingBudget": tokens}}
    return {"thinkingConfig": {"thinkingLevel": request.level.upper()}} if request.level else {}


def _with_room(max_output_tokens: int | None, room: int) -> int | None:
    """The limit to send, so that the answer may have its tokens beside those of thoughts."""
    if max_output_tokens is None or not room:
        return max_output_tokens
    return max(max_output_tokens, min(max_output_tokens + room, _MOST_OUTPUT))


def _offer(models: Iterable[ListedModel], clean: Callable[[str], str]) -> str:
    """The names of models that write text, newest versions first; some, and how many more."""
    names = {
        (model.name or "").removeprefix("models/")
        for model in models
        if "generateContent" in (model.supported_actions or ())
    }
    usable = sorted((name for name in names if _MODEL_NAME.fullmatch(name)), reverse=True)
    usable = [name for name in usable if clean(name) == name]
    usable.sort(key=lambda name: not name.startswith("gemini-"))
    if not usable:
        return ""
    rest = f" and {len(usable) - _NAMED} more" if len(usable) > _NAMED else ""
    return f"; the service offers {', '.join(usable[:_NAMED])}{rest}"


def _checked_model(model: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][\w./:@-]*", model, re.ASCII) or ".." in model:
        raise UsageError(f"not a model name: {model!r}")
    return model


def _checked_key(api_key: str | None) -> tuple[str, str]:
    found = (api_key.strip(), "api_key") if api_key else environment_key()
    if not found:
        raise ProviderRefused(
            "no Gemini API key: set GEMINI_API_KEY or GOOGLE_API_KEY, "
            "or use --provider procedural, which needs none"
        )
    key, source = found
    if not re.fullmatch(r"[!-~]+", key):
        raise ProviderRefused(f"the Gemini API key from {source} holds characters no key has")
    return key, source


def _http_options(base_url: str | None, timeout_s: float) -> HttpOptions:
    """How a client sends each request, once: `limits.LimitedProvider` repeats them."""
    from google.genai import types

    return types.HttpOptions(
        base_url=base_url,
        api_version=_API_VERSION,
        timeout=max(1, round(timeout_s * 1000)),
        retry_options=types.HttpRetryOptions(attempts=1),
        client_args=http_settings(),
    )


def _quick(model: type[T]) -> type[T]:
    """The client's model, by which it makes requests in half the time.

    Of each field that there is, it asks whether the name is `in` the model, and would look through
    all of them, to find that it never is.
    """
    never = {"__contains__": lambda *_: False, "__module__": __name__}
    return cast("type[T]", type(model.__name__, (model,), never))


def _of(kind: type[T], holder: Any, name: str) -> T:
    """What a JSON object holds under a name, empty where it holds nothing or null.

    Raises TypeError or AttributeError where it is of another kind, or where this is no object.
    """
    value = holder.get(name)
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise TypeError(f"{name} is no {kind.__name__}")
    return value


def _words(candidate: Any) -> tuple[str, str]:
    """The words of an answer, and the model's thoughts, which are no part of it."""
    parts = _of(list, _of(dict, candidate, "content"), "parts")
    said = [(_of(str, part, "text"), _of(bool, part, "thought")) for part in parts]
    return (
        "".join(text for text, thought in said if not thought),
        "".join(text for text, thought in said if thought),
    )


def _usage(response: Mapping[str, Any]) -> Usage:
    counts = _of(dict, response, "usageMetadata")
    return Usage(
        input_tokens=token_count(counts.get("promptTokenCount")),
        output_tokens=token_count(counts.get("candidatesTokenCount")),
        cached_tokens=token_count(counts.get("cachedContentTokenCount")),
        thinking_tokens=token_count(counts.get("thoughtsTokenCount")),
    )


def _error_body(error: APIError) -> Mapping[str, Any]:
    """The `error` object of a refusal's JSON; empty where the server sent something else."""
    details: object = error.details
    body = details.get("error", details) if isinstance(details, dict) else None
    return body if isinstance(body, dict) else {}


def _error_details(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    details = body.get("details")
    return [d for d in details if isinstance(d, dict)] if isinstance(details, list) else []


def _quota_names(body: Mapping[str, Any]) -> list[str]:
    """The quotas that a `google.rpc.QuotaFailure` lists, or the one of a `google.rpc.ErrorInfo`."""
    names: list[object] = []
    for detail in _error_details(body):
        violations, about = detail.get("violations"), detail.get("metadata")
        for each in violations if isinstance(violations, list) else ():
            if isinstance(each, dict):
                names.append(each.get("quotaId") or each.get("description"))
        if isinstance(about, dict):
            names.append(about.get("quota_limit"))
    return [name for name in names if isinstance(name, str)]


def _blames_the_key(body: Mapping[str, Any]) -> bool:
    """Whether the error says that the API key is wrong: a 400 in the service's language."""
    reasons = (str(item.get("reason")) for item in _error_details(body))
    return any(reason.startswith("API_KEY_") for reason in reasons)


def _delay(error: APIError, body: Mapping[str, Any]) -> float | None:
    """The seconds to wait that the server named: `RetryInfo` in the body, else `Retry-After`."""
    named = [str(item["retryDelay"]) for item in _error_details(body) if "retryDelay" in item]
    headers = getattr(error.response, "headers", None)
    if headers is not None:
        named.append(f"{headers.get('Retry-After')}s")
    delays = (seconds(text[:-1]) for text in named if text.endswith("s"))
    return next((delay for delay in delays if delay is not None), None)
