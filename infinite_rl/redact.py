"""What runs and jobs write: without keys and passwords, without what a terminal would obey."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

REDACTED = "[redacted]"

# "hub_token", "--api-key", "OPENAI_API_KEY", but not "eos_token" and "max_new_tokens".
_SECRET_NAME = re.compile(
    r"(?:^|[\W_])(?:(?<!pad_)(?<!eos_)(?<!bos_)(?<!unk_)(?<!sep_)(?<!cls_)(?<!mask_)(?<!stop_)token"
    r"|\w*password|passwd|passphrase|\w*secret|credentials?|authorization|\w+[\W_]key|apikey)$",
    re.IGNORECASE,
)
# The forms of well-known services' keys, and the user and password of a URL.
_SECRET_TEXT = re.compile(
    r"\b(?:sk|pk|rk)-[\w-]{16,}|\bhf_\w{16,}|\bgh[opsu]_\w{16,}|\bgithub_pat_\w{16,}"
    r"|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}|\bxox[abp]-[\w-]{10,}|(?<=://)[^/\s@]+(?=@)"
)
_SHORTEST = 8  # characters: shorter "keys" (of local servers) also occur in ordinary text


def redact(value: Any, name: str = "") -> Any:
    """Return the value without secrets; mappings and sequences are copied.

    Secrets are values under a name like `hub_token`, values of environment variables with such a
    name anywhere in a text, texts in the form of a known service's key, the user and password of a
    URL, and in a list of arguments the value after a flag with such a name.
    """
    if isinstance(value, Mapping):
        return {key: redact(each, str(key)) for key, each in value.items()}
    if _SECRET_NAME.search(name) and value not in (None, "", False, True):
        return REDACTED
    if isinstance(value, str):
        for variable, secret in os.environ.items():
            if len(secret) >= _SHORTEST and secret in value and _SECRET_NAME.search(variable):
                value = value.replace(secret, REDACTED)
        return _SECRET_TEXT.sub(REDACTED, value)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return list(_arguments(value))
    return value


def without_key(text: str, key: str) -> str:
    """Return the text with "[key]" for each occurrence of a key of at least 8 characters."""
    return text.replace(key, "[key]") if len(key) >= _SHORTEST else text


def printable(text: str) -> str:
    """Return a text with U+FFFD for control characters, but for line ends and tabs."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


def one_line(text: str, most: int) -> str:
    """Return a text as one line of at most `most` characters, without control characters."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


def _arguments(values: Iterable[Any]) -> Iterable[Any]:
    flag = ""
    for value in values:
        name, equals, text = value.partition("=") if isinstance(value, str) else ("", "", "")
        if equals and _SECRET_NAME.search(name):
            yield f"{name}={redact(text, name)}"
        else:
            yield redact(value, flag)
        flag = name if name.startswith("-") and not equals else ""
