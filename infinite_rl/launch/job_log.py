"""docs/job_log.md of the user's folder: a table with a row for each job that was submitted."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from ..errors import StoreError
from ..redact import redact

FILE = Path("docs") / "job_log.md"
_TITLE = "# Jobs\n"
_COLUMNS = ("submitted (UTC)", "job", "config", "machines", "image", "source", "description")
# What Markdown would take for something else than text, within the cell of a table.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>|~#!&$])")
_LONGEST = 1000


def row(now: datetime, texts: Sequence[str]) -> str:
    """A row of the table: when, and a text for each other column, without what is a key's form."""
    when = now.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    return _row([when, *map(escaped, redact(texts))])


def escaped(text: str) -> str:
    """A text that shows in a cell as it is: one line, no markup, nothing a terminal would obey."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST - 3]}..."
    return _MARKUP.sub(r"\\\1", line)


def append(folder: Path, line: str) -> Path:
    """Add a row to the folder's log, which is made if it is missing; several may do so at once.

    Raises:
        StoreError: it cannot be written.
    """
    path = folder / FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until it is closed
            file.seek(0)
            file.write(_joined(file.read().decode(errors="replace"), line).encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None
    return path


def check_writable(folder: Path) -> None:
    """Raise StoreError where `append` could not write, before there is a job to tell of."""
    path = folder / FILE
    place = next(each for each in (path, *path.absolute().parents) if each.exists())
    wrong = path.is_dir() or (place != path and not place.is_dir())
    if wrong or not os.access(place, os.W_OK):
        raise StoreError(f"cannot write {path}")


def _joined(before: str, line: str) -> str:
    """What goes to the end of a log: the row, and a table's head where none is open there."""
    lines = before.rstrip().split("\n")
    start = "" if not before or before.endswith("\n") else "\n"
    if lines[-1].startswith("|"):
        return f"{start}{line}\n"
    head = _row(_COLUMNS) + "\n" + _row(["---"] * len(_COLUMNS)) + "\n"
    return f"{start}\n{head}{line}\n" if before.strip() else f"{_TITLE}\n{head}{line}\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
