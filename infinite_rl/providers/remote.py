"""What providers behind HTTP share: checked settings, errors mapped once, no text with the key,
one connection pool, and structured output: the three sections as JSON by a schema.
"""

from __future__ import annotations

import json
import re
import socket
import sys
from collections.abc import Callable
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from ..errors import ProviderError, ProviderRefused, ProviderUnavailable, UsageError, check_range
from ..layout import SECTIONS, render
from ..redact import without_key
from ..types import Completion, Usage

T = TypeVar("T")

# More than the threads of any run. With the HTTP library's own 100 the others would queue, and with
# its 20 keep-alive connections most calls would begin with a new handshake.
CONNECTIONS = 2048
SEED_MASK = 0x7FFFFFFF  # the services take a signed 32-bit seed
# What a client raises, apart from its own errors, when a body is not the answer it expects.
GARBAGE = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
KEY_CODES = frozenset({401, 403})
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
    """A provider behind HTTP.

    `service` is its name in messages and `address` its URL. Subclasses set `_status_error`,
    `_transport_errors` and `_garbled_errors`, the exceptions of their client, and define
    `_status_failure`.

    Raises:
        UsageError: a setting that no model can have, or an address that is no base URL.
        ProviderRefused: the key has characters that no key has.
    """

    _passing = frozenset({408, 429})  # and every 5xx
    _status_error: type[Exception]
    _transport_errors: tuple[type[Exception], ...]
    _garbled_errors: tuple[type[Exception], ...] = GARBAGE

    def __init__(
        self,
        model: str,
        key: str,
        service: str,
        address: str,
        *,
        timeout_s: float,
        structured: bool,
    ) -> None:
        self._model, self._key, self._service = model, key, service
        self._address, self._timeout_s, self._structured = address, timeout_s, structured

    @property
    def model(self) -> str:
        """The model's name, as configured."""
        return self._model

    def _call(self, send: Callable[[], T], missing: str = "") -> T:
        """Call `send` and map all that the client raises to our errors.

        `missing` says what a 404 stands for; by default the model.
        """
        try:
            return send()
        except Exception as error:
            failure = self._failure(error, missing)
            if failure is None:
                raise
        # Raised out here so that not even __context__ leads to a text with the key in it.
        raise failure

    def _failure(self, error: Exception, missing: str) -> ProviderError | None:
        if isinstance(error, self._status_error):
            return self._status_failure(error, missing)
        if isinstance(error, self._transport_errors):
            return self._transport_failure(error)
        if isinstance(error, self._garbled_errors):
            return self._garbled(type(error).__name__)
        return None

    def _status_failure(self, error: Any, missing: str) -> ProviderError:
        """The error that an HTTP status and its body stand for."""
        raise NotImplementedError

    def _transport_failure(self, error: Exception) -> ProviderUnavailable:
        name = type(error).__name__
        kind, where = transport_trouble(error, self._address)
        if kind == "timeout":
            message = f"{self._service} sent nothing for {self._timeout_s:g} s ({name})"
        else:
            reason = where or f"{name}: {self._clean(str(error))}"
            message = f"no answer from {self._service} ({reason})"
        return ProviderUnavailable(message, kind=kind)

    def _garbled(self, reason: str) -> ProviderUnavailable:
        message = f"the answer of {self._service} is garbled ({reason})"
        return ProviderUnavailable(message, kind="garbled")

    def _quota_or_passing(
        self, code: int, message: str, retry_after: float | None
    ) -> ProviderError | None:
        """The error of an exhausted quota or a passing status; None for any other status."""
        per_minute = code == 429 and bool(_MINUTE_QUOTA.search(message))
        longer = code == 429 and _LONG_QUOTA.search(message)  # than any wait of ours
        message = self._clean(message)
        if longer:
            return ProviderRefused(
                f"{self._service}: a daily quota or a spending cap is used up ({message}); "
                "run the same command again when it is renewed or raised"
            )
        if code not in self._passing and code < 500:
            return None
        return ProviderUnavailable(
            f"{self._service} answered {message}",
            retry_after=retry_after,
            status=code,
            rate_limit=per_minute,
        )

    def _completed(
        self,
        text: str,
        reasoning: str,
        finish_reason: Literal["stop", "length"],
        usage: Usage,
        cost: float | None = None,
    ) -> Completion:
        """The completion, without the key; of structured output its three-head text."""
        text, reasoning = without_key(text, self._key), without_key(reasoning, self._key)
        text = three_heads(text) if self._structured else text
        return Completion(text, self._model, finish_reason, usage, cost, reasoning)

    def _clean(self, text: str) -> str:
        return one_line(text, self._key)


def one_line(text: str, secret: str) -> str:
    """A server's message as one printable line of bounded length, without the secret."""
    line = "".join(c if c.isprintable() else " " for c in without_key(text, secret))
    return " ".join(line.split())[:_MESSAGE_CHARS]


def sendable(text: str) -> str:
    """`text` as valid UTF-8: a lone surrogate becomes "?"."""
    return text.encode("utf-8", "replace").decode("utf-8")


def seconds(text: str) -> float | None:
    """The delay that a text such as "13" or "0.5" names; None for anything else."""
    return float(text) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) else None


def token_count(value: object) -> int:
    """A number of tokens that can be summed and priced; 0 for a value that is none."""
    return value if isinstance(value, int) and 0 <= value <= _MAX_TOKENS else 0


def check_key(key: str, source: str) -> None:
    """Raise ProviderRefused for a key that no HTTP header can carry."""
    if not re.fullmatch(r"[!-~]+", key):
        raise ProviderRefused(f"{source} holds characters no key has")


def check_settings(temperature: float | None, max_output_tokens: int | None) -> None:
    """Raise UsageError for a setting that no model can have."""
    if temperature is not None:
        check_range("temperature", temperature, 0)
    if max_output_tokens is not None:
        check_range("max_output_tokens", max_output_tokens, 1)


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


def transport_trouble(error: BaseException, base_url: str) -> tuple[str, str]:
    """The kind of a transport error, as `ProviderUnavailable.kind`, and which address refused.

    The address is "" if a connection was made.
    """
    name = type(error).__name__
    if name in ("ConnectError", "ConnectTimeout", "ProxyError"):
        return "unreachable", _unreachable(error, base_url)
    return ("timeout" if "Timeout" in name else "reset"), ""


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
