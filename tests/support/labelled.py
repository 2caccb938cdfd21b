"""Labelled cases in text files: one case a line, its fields divided by " |"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from infinite_rl.errors import InfiniteRLError

_ESCAPE = re.compile(r"\\(u[0-9a-f]{4}|.)")
_SIGNS = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}


def unescaped(text: str) -> str:
    r"""The text with `\n`, `\r`, `\t`, `\0`, `\\` and `\uXXXX` replaced by their characters."""
    return _ESCAPE.sub(
        lambda match: (
            chr(int(match[1][1:], 16)) if len(match[1]) > 1 else _SIGNS.get(match[1], match[1])
        ),
        text,
    )


def read_cases(path: Path, fields: int) -> list[list[str]]:
    """The fields of each line, stripped and still escaped; blank lines and comments are skipped."""
    lines = path.read_text(encoding="utf-8").split("\n")
    cases = [line for line in lines if line and not line.startswith("#")]
    return [[field.strip() for field in line.split(" |", fields - 1)] for line in cases]


def assert_none(faults: Iterable[object]) -> None:
    """Fail with the list of all faults if there is one."""
    listed = [str(fault) for fault in faults]
    assert not listed, "\n".join([f"{len(listed)} faults:", *listed])


def error_of(call: Callable[[], object]) -> str:
    """The class and the message of the package's error that a call raises, "" if it raises none."""
    try:
        call()
    except InfiniteRLError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def unlike(cases: Iterable[tuple[str, Callable[[], object]]]) -> list[str]:
    """Of patterns and calls, those whose error is not one line that the pattern is found in."""
    errors = [(pattern, error_of(call)) for pattern, call in cases]
    return [
        f"{error!r} is not like {pattern!r}"
        for pattern, error in errors
        if not re.search(pattern, error) or "\n" in error
    ]
