"""Keeps keys and passwords out of what runs and jobs write about themselves."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

REDACTED = "[redacted]"

# "hub_token", "--api-key", "OPENAI_API_KEY"; yet "eos_token" and "max_new_tokens" are no secrets.
_SECRET_NAME = re.compile(
    r"(?:^|[\W_])(?:(?<!pad_)(?<!eos_)(?<!bos_)(?<!unk_)(?<!sep_)(?<!cls_)(?<!mask_)(?<!stop_)token"
    r"|\w*password|passwd|passphrase|\w*secret|credentials?|authorization|\w+[\W_]key|apikey)$",
    re.IGNORECASE,
)
# What keys of well-known services look like, and the user and password of an address.
_SECRET_TEXT = re.compile(
    r"\b(?:sk|pk|rk)-[\w-]{16,}|\bhf_\w{16,}|\bgh[opsu]_\w{16,}|\bgithub_pat_\w{16,}"
    r"|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}|\bxox[abp]-[\w-]{10,}|(?<=://)[^/\s@]+(?=@)"
)
_SHORTEST = 8  # characters of a variable's value that is looked for elsewhere


def redact(value: Any, name: str = "") -> Any:
    """The value without secrets; mappings and sequences are copied, all else stays as it is.

    Taken out are what stands under a name such as `hub_token`, the values of such environment
    variables wherever they stand, texts that look like a known service's key, and the user and
    password of an address. In a list of arguments, also what follows a flag with such a name.
    """
    if isinstance(value, Mapping):
        return {key: redact(each, str(key)) for key, each in value.items()}
    if _is_secret(name) and value not in (None, "", False, True):
        return REDACTED
    if isinstance(value, str):
        return _cleaned(value)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return list(_arguments(value))
    return value


def _is_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def _arguments(values: Iterable[Any]) -> Iterable[Any]:
    flag = ""
    for value in values:
        name, equals, given = value.partition("=") if isinstance(value, str) else ("", "", "")
        if equals and _is_secret(name):
            yield f"{name}={redact(given, name)}"
        else:
            yield redact(value, flag)
        flag = name if name.startswith("-") and not equals else ""


def _cleaned(text: str) -> str:
    for name, value in os.environ.items():
        if len(value) >= _SHORTEST and value in text and _is_secret(name):
            text = text.replace(value, REDACTED)
    return _SECRET_TEXT.sub(REDACTED, text)
