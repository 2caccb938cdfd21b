"""What providers that are far away share: checked settings, texts without the key, one pool."""

from __future__ import annotations

import re
import socket
import sys
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from ..errors import UsageError
from ..settings import check_range

# More than the threads of any run: with the HTTP library's own 100, the others would wait in line,
# and with its 20 that are kept open, most calls would begin with a new handshake.
CONNECTIONS = 2048
SEED_MASK = 0x7FFFFFFF  # the services take a signed 32-bit seed
# What a client raises, apart from its own errors, when a body is not the answer it expects.
GARBAGE = (ValueError, TypeError, AttributeError, LookupError, RecursionError)

_MOST_TOKENS = 10**9  # no call has more
_SHORTEST_SECRET = 8  # shorter "keys" (of local servers) also occur in ordinary text
_MESSAGE_CHARS = 300
# How Gemini (quota ids), OpenAI, Groq and OpenRouter (messages) name what a 429 is about.
_LONG_QUOTA = re.compile(
    r"per[ _-]?(day|month)|\b[RT]PD\b|spend(ing)? cap|monthly spend|prepay\w* credits?",
    re.IGNORECASE,
)
_MINUTE_QUOTA = re.compile(r"per[ _-]?min|\b[RT]PM\b", re.IGNORECASE)


def redacted(text: str, secret: str) -> str:
    """`text` with each `secret` of at least 8 characters replaced by "[key]"."""
    return text.replace(secret, "[key]") if len(secret) >= _SHORTEST_SECRET else text


def one_line(text: str, secret: str) -> str:
    """A server's words as one printable line of bounded length, without the secret."""
    line = "".join(c if c.isprintable() else " " for c in redacted(text, secret))
    return " ".join(line.split())[:_MESSAGE_CHARS]


def sendable(text: str) -> str:
    """`text` as JSON in UTF-8 can carry it: a lone surrogate becomes "?"."""
    return text.encode("utf-8", "replace").decode("utf-8")


def seconds(text: str) -> float | None:
    """The delay that a text such as "13" or "0.5" names; None for anything else."""
    return float(text) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) else None


def token_count(told: object) -> int:
    """A number of tokens that can be summed and priced: a server's nonsense counts as nothing."""
    return told if isinstance(told, int) and 0 <= told <= _MOST_TOKENS else 0


def check_settings(temperature: float | None, max_output_tokens: int | None) -> None:
    """Raises UsageError for a setting that no model can have."""
    if temperature is not None:
        check_range("temperature", temperature, 0)
    if max_output_tokens is not None:
        check_range("max_output_tokens", max_output_tokens, 1)


def check_base_url(base_url: str) -> None:
    """Raises UsageError where requests cannot go to `base_url`, or it holds a secret."""
    if not re.match(r"https?://[^/]", base_url):
        raise UsageError(f"not a base URL: {base_url!r}; it starts with http:// or https://")
    if "@" in urlsplit(base_url).netloc:
        raise UsageError("the base URL holds a password: a key is given in the environment instead")


def http_settings() -> dict[str, Any]:
    """The settings of the HTTP client: a pool for all threads, and no redirects.

    A redirect would carry the header that holds the key to another host.
    """
    library = _http_libraries()[-1]
    limits = library.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
    return {"limits": limits, "follow_redirects": False}


def transport_errors() -> tuple[type[Exception], ...]:
    """The base errors of the HTTP libraries that clients have loaded."""
    return tuple(library.HTTPError for library in _http_libraries())


def named_quota(text: str) -> Literal["minute", "long", ""]:
    """The kind of quota that a refusal names: per minute, or one that no wait of ours outlasts."""
    if _LONG_QUOTA.search(text):
        return "long"
    return "minute" if _MINUTE_QUOTA.search(text) else ""


def transport_trouble(error: BaseException, base_url: str) -> tuple[str, str]:
    """The kind of a transport error, as `ProviderUnavailable.kind`, and a text where it tells more.

    Only a connection that was never made has a text: which address did not accept it.
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
    """Those that clients have loaded: httpx, and its fork httpx2, which newer clients prefer."""
    loaded = (sys.modules.get(name) for name in ("httpx", "httpx2"))
    return [library for library in loaded if library is not None]
