"""Gemini, through Google's own client.

Everything that the client or the service can do is mapped to a `Completion` or to one of our errors
here, once. The API key is in none of them: texts are cleaned of it, and errors are raised without
their cause, whose text may quote the request.
"""

from __future__ import annotations

import json
import logging
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ..errors import NoCompletion, ProviderError, ProviderRefused
from ..layout import SECTIONS
from ..types import Completion, Usage
from . import remote
from .models import DEFAULT_MODEL, ThinkingRequest
from .remote import GARBAGE, RemoteProvider, T, sendable, token_count

if TYPE_CHECKING:
    from google.genai import Client
    from google.genai.types import Content, GenerateContentConfig
    from google.genai.types import Model as ListedModel

logger = logging.getLogger(__name__)

# In the order in which Google's client prefers them, should both be set.
KEY_VARIABLES = ("GOOGLE_API_KEY", "GEMINI_API_KEY")

_API_VERSION = "v1beta"  # the one that serves experimental models; the client's default varies
_MAX_OUTPUT = 65_536  # of all models of the table; above it the service answers 400
_LISTING_MS = 10_000  # the smallest timeout that the service accepts
_LISTED, _NAMED = 1000, 12  # models requested, and those that an error names
_MODEL_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
_THREADS_A_CLIENT = 32  # each call searches all connections of its client
_MAX_CLIENTS = 64
_UNKNOWN_REASON = "FINISH_REASON_UNSPECIFIED"
SCHEMA_CONFIG = {
    "responseMimeType": "application/json",
    "responseSchema": {
        "type": "OBJECT",
        "properties": {name: {"type": "STRING"} for name in SECTIONS},
        "required": list(SECTIONS),
        "propertyOrdering": list(SECTIONS),
    },
}


class GeminiProvider(RemoteProvider):
    """Answers prompts with a Gemini model; a client serves up to 32 threads.

    `max_output_tokens` bounds the answer: the limit that is sent is larger by the thinking budget,
    which the service counts against it, but never above 65,536 for that reason. The real service
    refuses a `timeout_s` under 10. For the rest see `RemoteProvider`.
    """

    _default_model = DEFAULT_MODEL
    _model_form = r"(?!.*\.\.)[A-Za-z0-9][\w./:@-]*"
    _url_variable = "GOOGLE_GEMINI_BASE_URL"
    _default_url = "https://generativelanguage.googleapis.com"
    _service = "Gemini"
    _finish_reasons = {
        **dict.fromkeys(("STOP", _UNKNOWN_REASON), "stop"),
        **dict.fromkeys(("MAX_TOKENS", "CONTINUATION"), "length"),
    }

    def _find_key(self, api_key: str | None) -> tuple[str, str]:
        key, source = remote.find_key(api_key, KEY_VARIABLES)
        if not key:
            raise ProviderRefused(
                "no Gemini API key: set GEMINI_API_KEY or GOOGLE_API_KEY, "
                "or use --provider procedural, which needs none"
            )
        return key, source

    def _connect(self, thinking: ThinkingRequest) -> None:
        if self._max_output_tokens is not None and thinking.budget:
            limit = min(self._max_output_tokens + thinking.budget, _MAX_OUTPUT)
            self._max_output_tokens = max(self._max_output_tokens, limit)
        self._generation_config: dict[str, Any] = dict(SCHEMA_CONFIG) if self._structured else {}
        budget = 0 if thinking.level == "off" else thinking.tokens
        if budget is not None:  # the service refuses both fields together
            self._generation_config["thinkingConfig"] = {"thinkingBudget": budget}
        elif thinking.level:
            level = {"thinkingLevel": thinking.level.upper()}
            self._generation_config["thinkingConfig"] = level

        from google import genai
        from google.genai import errors, types

        # The client warns on stderr of values that it does not know, and quotes them unescaped.
        warnings.filterwarnings("ignore", r"(?s).* is not a valid ", module=r"google\.genai\b")
        self._make_client = partial(
            genai.Client,
            api_key=self._key,
            vertexai=False,  # or an environment variable could send the key elsewhere
            http_options=types.HttpOptions(
                base_url=self._address,
                api_version=_API_VERSION,
                timeout=max(1, round(self._timeout_s * 1000)),
                retry_options=types.HttpRetryOptions(attempts=1),
                client_args=remote.http_settings(),
            ),
        )
        self._clients: list[Client] = []
        self._local = threading.local()  # the client of a thread
        self._threads = 0
        self._lock = threading.Lock()
        self._offer: str | None = None  # the service's models, once they are listed
        self._types = types
        self._config_type = _quick(types.GenerateContentConfig)
        self._content_type, self._part_type = _quick(types.Content), _quick(types.Part)
        # Not as the config's schema: the client would then parse the text, and fail on some. And
        # it sends the fields of a thinking config by other names than the service documents.
        extra_body = {"generationConfig": self._generation_config}
        self._http_options = (
            types.HttpOptions(extra_body=extra_body) if self._generation_config else None
        )
        self._status_error = errors.APIError
        self._transport_errors = remote.transport_errors()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._model!r})"

    def complete(self, system: str, prompt: str, seed: int) -> Completion:
        """Answer `prompt` under the instruction `system`; of `seed`, the lowest 31 bits are sent.

        Raises:
            ProviderUnavailable: 408, 429, 5xx, a timeout, a broken connection, a garbled answer.
            ProviderRefused: the key, the model or the request is refused.
            NoCompletion: the prompt is too long or was blocked, or the answer was stopped or is
                empty.
        """

        def send() -> Completion:
            response = self._client.models.generate_content(
                model=self._model, contents=self._content(prompt), config=self._config(system, seed)
            )
            http = response.sdk_http_response
            return self._completion(json.loads((http and http.body) or "{}"))

        return self._call(send)

    @property
    def _client(self) -> Client:
        """The client of this thread."""
        client: Client | None = getattr(self._local, "client", None)
        if client is None:
            with self._lock:
                index = self._threads // _THREADS_A_CLIENT % _MAX_CLIENTS
                self._threads += 1
                if index == len(self._clients):
                    self._clients.append(self._make_client())
                client = self._local.client = self._clients[index]
        return client

    def _config(self, system: str, seed: int) -> GenerateContentConfig:
        system = remote.instructed(system) if self._structured else system
        config = self._config_type(
            system_instruction=self._content(system) if system else None,
            seed=seed & remote.SEED_MASK,
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

    def _offered(self) -> str:
        """The models that the service has for this key, as the end of a sentence; listed once.

        "" if the service does not say: the error that led here is the one to report.
        """
        client = self._client
        with self._lock:
            if self._offer is None:
                self._offer = ""
                quick = self._types.HttpOptions(timeout=_LISTING_MS)
                config = self._types.ListModelsConfig(page_size=_LISTED, http_options=quick)
                failures: tuple[type[Exception], ...] = (self._status_error, *GARBAGE)
                try:
                    page = client.models.list(config=config).page
                    self._offer = _offer(page, self._clean)
                except (*failures, *self._transport_errors) as error:
                    logger.debug("the models were not listed: %s", type(error).__name__)
            return self._offer

    def _content(self, text: str) -> Content:
        return self._content_type(parts=[self._part_type(text=sendable(text))], role="user")

    def _completion(self, response: Any) -> Completion:
        """The completion in the service's own JSON. Raises `GARBAGE` if it is malformed."""
        candidates, usage = _field(list, response, "candidates"), _usage(response)
        if not candidates:
            if reason := _field(str, _field(dict, response, "promptFeedback"), "blockReason"):
                blocked = f"Gemini blocked the prompt ({self._clean(reason)})"
                raise NoCompletion(blocked, usage=usage)
            if not response.keys() & {"promptFeedback", "usageMetadata"}:
                raise self._garbled("no known field")
            raise NoCompletion("Gemini sent no candidate", usage=usage)
        parts = _field(list, _field(dict, candidates[0], "content"), "parts")
        texts = [(_field(str, part, "text"), _field(bool, part, "thought")) for part in parts]
        text = "".join(text for text, thought in texts if not thought)
        reason = _field(str, candidates[0], "finishReason") or _UNKNOWN_REASON
        reasoning = "".join(text for text, thought in texts if thought)
        return self._completed(text, reasoning, reason, usage)

    def _status_failure(self, error: Any, missing: str) -> ProviderError:
        details: object = error.details
        body = details.get("error", details) if isinstance(details, dict) else None
        body = body if isinstance(body, dict) else {}
        if error.code == 404 and missing:
            return ProviderRefused(missing)
        message = f"{error.code} {error.status or ''}: {error.message or 'no message'}"
        return self._error_of(error.code, message, body, _delay(error, body))

    def _error_of(
        self, code: int, message: str, body: Mapping[str, Any], delay: float | None = None
    ) -> ProviderError:
        """The error that a status and the `error` object of its body stand for."""
        reasons = (str(item.get("reason")) for item in _error_details(body))
        return self._refusal(
            code,
            ", ".join([message, *_quota_names(body)]),
            delay,
            # The service answers 400 to a malformed key.
            of_key=any(each.startswith("API_KEY_") for each in reasons),
            of_prompt="exceeds the maximum number of tokens" in message,
        )

    def _missing_model(self, _message: str) -> str:
        return (
            f"the model {self._model} is not available (retired or misspelt); "
            f"choose another with --model_name{self._offered()}"
        )


def _offer(models: Iterable[ListedModel], clean: Callable[[str], str]) -> str:
    """The names of text models, newest versions first: a dozen, and the number of others."""
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


def _quick(model: type[T]) -> type[T]:
    """A subclass of a client's pydantic model that makes requests in half the time.

    For each field the client tests whether the name is `in` the model, which would search all
    fields and is never true.
    """
    never = {"__contains__": lambda *_: False, "__module__": __name__}
    return cast("type[T]", type(model.__name__, (model,), never))


def _field(kind: type[T], parent: Any, name: str) -> T:
    """A field of a JSON object; empty if it is missing or null.

    Raises TypeError or AttributeError if it has another type, or if the parent is no object.
    """
    value = parent.get(name)
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise TypeError(f"{name} is no {kind.__name__}")
    return value


def _usage(response: Mapping[str, Any]) -> Usage:
    counts = _field(dict, response, "usageMetadata")
    return Usage(
        input_tokens=token_count(counts.get("promptTokenCount")),
        output_tokens=token_count(counts.get("candidatesTokenCount")),
        cached_tokens=token_count(counts.get("cachedContentTokenCount")),
        thinking_tokens=token_count(counts.get("thoughtsTokenCount")),
    )


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


def _delay(error: Any, body: Mapping[str, Any]) -> float | None:
    """The seconds to wait that the server named: `RetryInfo` in the body, else `Retry-After`."""
    named = [str(item["retryDelay"]) for item in _error_details(body) if "retryDelay" in item]
    headers = getattr(error.response, "headers", None)
    if headers is not None:
        named.append(f"{headers.get('Retry-After')}s")
    delays = (remote.seconds(text[:-1]) for text in named if text.endswith("s"))
    return next((delay for delay in delays if delay is not None), None)
