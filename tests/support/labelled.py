"""Labelled cases in text files: one case a line, its fields divided by " |"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

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
