"""What providers behind HTTP share: checked settings, errors mapped once, no text with the key,
one connection pool, and structured output: the three sections as JSON by a schema.
"""

import json
import os
import re
import socket
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from ..errors import (
    NoCompletion,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    UsageError,
    check_if_set,
)
from ..layout import SECTIONS, render
from ..redact import one_line, without_key
from ..types import Completion, Usage
from .models import ThinkingRequest, check_available, cut_off_advice, thinking_request

T = TypeVar("T")

# More than the threads of any run. With the HTTP library's own 100 the others would queue, and with
# its 20 keep-alive connections most calls would begin with a new handshake.
CONNECTIONS = 2048
SEED_MASK = 0x7FFFFFFF  # the services take a signed 32-bit seed
# What a client raises, apart from its own errors, when a body is not the answer it expects.
GARBAGE = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
NO_KEY = "none"  # for servers without keys: clients require one
# Added to the system prompt, whose format is the one with heads. It says "JSON", without which
# some services refuse JSON mode.
INSTRUCTION = (
    "Instead of writing heads, give the three sections as the strings "
    + ", ".join(f'"{name}"' for name in SECTIONS)
    + " of one JSON object."
)

_MAX_TOKENS = 10**9  # no call has more
_MESSAGE_CHARS = 300
# How Gemini (quota ids), OpenAI, Groq and OpenRouter (messages) name what a 429 is about.
_LONG_QUOTA = re.compile(
    r"per[ _-]?(day|month)|\b[RT]PD\b|spend(ing)? cap|monthly spend|prepay\w* credits?",
    re.IGNORECASE,
)
_MINUTE_QUOTA = re.compile(r"per[ _-]?min|\b[RT]PM\b", re.IGNORECASE)


class RemoteProvider:
    """A provider behind HTTP. Thread-safe.

    `temperature`, `max_output_tokens` and `thinking` are the service's defaults if None. `thinking`
    is a level or a number of tokens (`models.parse_thinking`). `base_url` is the address of the
    service, `api_key` its key; both are by default those of the environment. `timeout_s` bounds
    each wait for the server, so it must exceed the longest answer. With `structured`, the service
    constrains the model to the three sections as JSON, and the completion is their three-head text.
    The client's own retries are off: `rate_limit.LimitedProvider` retries.

    A key of 8 characters or more is cut out of all results, completions included.

    Subclasses describe the service, and `_connect` sets `_status_error`, `_transport_errors` and
    `_garbled_errors`, the exceptions of its client.

    Raises:
        ProviderRefused: the key or the client's package is missing, or the key is malformed.
        UsageError: the model's name or the base URL is malformed, a setting has no meaning, the
            model does not support the thinking setting, or it is shut down.
    """

    _default_model: str | None = None
    _model_form = r"[!-~]+"
    _url_variable: str
    _default_url: str
    _finish_reasons: Mapping[str, Literal["stop", "length"]]
    _passing = frozenset({408, 429})  # and every 5xx
    _status_error: type[Exception]
    _transport_errors: tuple[type[Exception], ...]
    _garbled_errors: tuple[type[Exception], ...] = GARBAGE

    def __init__(
        self,
        model: str | None = None,
        *,
        api_key: str | None = None,
        temperature: float | None = None,
        max_output_tokens: int | None = None,
        base_url: str | None = None,
        timeout_s: float = 300.0,
        structured: bool = False,
        thinking: str | int | None = None,
    ) -> None:
        model = self._default_model if model is None else model
        if not re.fullmatch(self._model_form, model or "", re.ASCII):
            raise UsageError(f"not a model name: {model!r}")
        check_if_set("temperature", temperature, 0)
        check_if_set("max_output_tokens", max_output_tokens, 1)
        self._model, self._timeout_s, self._structured = model or "", timeout_s, structured
        self._temperature, self._max_output_tokens = temperature, max_output_tokens
        self._address = base_url or os.environ.get(self._url_variable) or self._default_url
        check_base_url(self._address)
        self._check_model()
        self._key, self._key_source = self._find_key(api_key)
        if not re.fullmatch(r"[!-~]+", self._key):
            source = self._key_source
            raise ProviderRefused(f"the key from {source} holds characters that no key has")
        self._connect(thinking_request(self._model, thinking))

    @property
    def model(self) -> str:
        """The model's name, as configured."""
        return self._model

    @property
    def _service(self) -> str:
        """The name of the service in messages."""
        raise NotImplementedError

    def _check_model(self) -> None:
        """Refuse a model that is shut down, before any request."""
        check_available(self._model)

    def _find_key(self, api_key: str | None) -> tuple[str, str]:
        """The key and the variable that it came from. Raises ProviderRefused if one is missing."""
        raise NotImplementedError

    def _connect(self, thinking: ThinkingRequest) -> None:
        """Load the client's package, and prepare what all requests have in common."""
        raise NotImplementedError

    def _call(self, send: Callable[[], T], missing: str = "") -> T:
        """Call `send` and map all that the client raises to our errors.

        `missing` says what a 404 stands for; by default the model.
        """
        try:
            return send()
        except Exception as error:
            if isinstance(error, self._status_error):
                failure = self._status_failure(error, missing)
            elif isinstance(error, self._transport_errors):
                failure = self._transport_failure(error)
            elif isinstance(error, self._garbled_errors):
                failure = self._garbled(type(error).__name__)
            else:
                raise
        # Raised out here so that not even __context__ leads to a text with the key in it.
        raise failure

    def _status_failure(self, error: Any, missing: str) -> ProviderError:
        """The error that an HTTP status and its body stand for."""
        raise NotImplementedError

    def _transport_failure(self, error: BaseException) -> ProviderUnavailable:
        name = type(error).__name__
        kind = "timeout" if "Timeout" in name else "reset"
        reason = f"{name}: {self._clean(str(error))}"
        if name in ("ConnectError", "ConnectTimeout", "ProxyError"):
            kind, reason = "unreachable", _unreachable(error, self._address)
        message = f"no answer from {self._service} ({reason})"
        if kind == "timeout":
            message = f"{self._service} sent nothing for {self._timeout_s:g} s ({name})"
        return ProviderUnavailable(message, kind=kind)

    def _garbled(self, reason: str) -> ProviderUnavailable:
        message = f"the answer of {self._service} is garbled ({reason})"
        return ProviderUnavailable(message, kind="garbled")

    def _refusal(
        self,
        code: int,
        message: str,
        retry_after: float | None = None,
        *,
        of_key: bool = False,
        of_prompt: bool = False,
    ) -> ProviderError:
        """The error that a status stands for.

        `of_key` and `of_prompt`: the body says that the key or this prompt is refused.
        """
        of_minute = code == 429 and bool(_MINUTE_QUOTA.search(message))
        of_longer = code == 429 and _LONG_QUOTA.search(message)  # than any wait of ours
        message = self._clean(message)
        if of_longer:
            return ProviderRefused(
                f"{self._service}: a daily quota or a spending cap is used up ({message}); "
                "run the same command again when it is renewed or raised"
            )
        if code in self._passing or code >= 500:
            text = f"{self._service} answered {message}"
            return ProviderUnavailable(
                text, retry_after=retry_after, status=code, rate_limit=of_minute
            )
        if of_prompt:  # the next one may be shorter, or not against the rules
            return NoCompletion(f"{self._service} refused the prompt ({message})")
        if of_key or code in (401, 403):
            key = "a call without a key"
            if self._key != NO_KEY:
                key = f"the key from {self._key_source}"
            return ProviderRefused(
                f"{self._service} refused {key} ({message}); "
                f"set {self._key_source} to a key that may use this model"
            )
        if code == 404:
            return ProviderRefused(self._missing_model(message))
        return ProviderRefused(f"{self._service} refused the request ({message})")

    def _missing_model(self, message: str) -> str:
        """What to do about a model that the service does not have."""
        raise NotImplementedError

    def _completed(
        self, text: str, reasoning: str, reason: str, usage: Usage, cost: float | None = None
    ) -> Completion:
        """The completion, without the key; of structured output its three-head text.

        Raises NoCompletion if it was stopped or is empty, by the service's word for the reason.
        """
        reason = self._clean(reason)
        if (finish := self._finish_reasons.get(reason)) is None:
            raise NoCompletion(f"{self._service} stopped the answer ({reason})", usage=usage)
        if not text.strip():
            advice = f": {cut_off_advice(usage)}" if finish == "length" else ""
            raise NoCompletion(f"{self._service} sent no text ({reason}{advice})", usage=usage)
        text, reasoning = without_key(text, self._key), without_key(reasoning, self._key)
        text = three_heads(text) if self._structured else text
        return Completion(text, self._model, finish, usage, cost, reasoning)

    def _clean(self, text: str) -> str:
        """A server's message as one printable line of bounded length, without the key."""
        return one_line(without_key(text, self._key), _MESSAGE_CHARS)


def find_key(api_key: str | None, variables: Iterable[str]) -> tuple[str, str]:
    """The key, and the variable it came from or "api_key"; the first that is set, else two ""."""
    keys = [("api_key", api_key or ""), *((name, os.environ.get(name, "")) for name in variables)]
    return next(((key.strip(), source) for source, key in keys if key.strip()), ("", ""))


def sendable(text: str) -> str:
    """`text` as valid UTF-8: a lone surrogate becomes "?"."""
    return text.encode("utf-8", "replace").decode("utf-8")


def seconds(text: str) -> float | None:
    """The delay that a text such as "13" or "0.5" names; None for anything else."""
    return float(text) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) else None


def token_count(value: object) -> int:
    """A number of tokens that can be summed and priced; 0 for a value that is none."""
    return value if isinstance(value, int) and 0 <= value <= _MAX_TOKENS else 0


def check_base_url(base_url: str) -> None:
    """Raise UsageError if requests cannot go to `base_url`, or it contains a secret."""
    if not re.match(r"https?://[^/]", base_url):
        raise UsageError(f"not a base URL: {base_url!r}; it starts with http:// or https://")
    if "@" in urlsplit(base_url).netloc:
        raise UsageError("the base URL holds a password: put the key into the environment instead")


def http_settings() -> dict[str, Any]:
    """The settings of the HTTP client: a pool for all threads, and no redirects.

    A redirect would send the header with the key to another host.
    """
    library = _http_libraries()[-1]
    limits = library.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
    return {"limits": limits, "follow_redirects": False}


def transport_errors() -> tuple[type[Exception], ...]:
    """The base errors of the HTTP libraries that clients have loaded."""
    return tuple(library.HTTPError for library in _http_libraries())


def _unreachable(error: BaseException, base_url: str) -> str:
    url = urlsplit(base_url)
    proxy = urlsplit(getproxies().get(url.scheme, ""))
    if proxy.hostname and not proxy_bypass(url.netloc):
        at = f"the proxy {proxy.hostname}:{proxy.port or 80}"
    else:
        at = url.netloc
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionRefusedError):
            return f"nothing listens at {at}"
        if isinstance(cause, socket.gaierror):
            return f"there is no host {at}"
        cause = cause.__cause__ or cause.__context__
    return f"no connection to {at}"


def _http_libraries() -> list[Any]:
    """The HTTP libraries that clients have loaded: httpx, and its fork httpx2 of newer clients."""
    loaded = (sys.modules.get(name) for name in ("httpx", "httpx2"))
    return [library for library in loaded if library is not None]


def instructed(system: str) -> str:
    """The system prompt with the instruction to answer in JSON."""
    return f"{system}\n\n{INSTRUCTION}" if system else INSTRUCTION


def three_heads(reply: str) -> str:
    """The three-head text of a reply that is JSON by the schema; any other reply unchanged.

    Unchanged is also a reply whose sections contain heads, which would divide the text elsewhere:
    the parser reads the JSON itself.
    """
    try:
        content = json.loads(reply)
    except (ValueError, RecursionError):
        return reply
    if not isinstance(content, dict) or not all(isinstance(content.get(s), str) for s in SECTIONS):
        return reply
    text = render(*(content[name] for name in SECTIONS))
    from ..parsing.sections import ExampleParser  # the help of a verb needs no parser

    same = ExampleParser.parse_text(text) == ExampleParser.parse_text(reply)
    return text if same else reply
