"""docs/job_log.md of the user's folder: a table with one row per submitted job."""

import fcntl
import os
import re
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from ..errors import StoreError, store_errors
from ..redact import one_line, redact

FILE = Path("docs") / "job_log.md"
_COLUMNS = ("submitted (UTC)", "job", "config", "machines", "image", "source", "description")
_MARKUP = re.compile(r"([\\`*_{}\[\]<>|~#!&$])")  # of Markdown, within a table's cell
_MAX_LENGTH = 1000


def row(now: datetime, texts: Sequence[str]) -> str:
    """A row of the table: the time, then one cell per other column, without secrets."""
    when = now.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    return _line([when, *map(_escaped, redact(texts))])


def append(folder: Path, line: str) -> Path:
    """Add a row to the folder's log, which is created if missing; safe for parallel processes.

    Raises:
        StoreError: the log cannot be written.
    """
    path = folder / FILE
    with store_errors(f"cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
            file.seek(0)
            before = file.read().decode(errors="replace")
            start = "" if not before or before.endswith("\n") else "\n"
            if not before.rstrip().rpartition("\n")[2].startswith("|"):  # no table is open
                head = f"{_line(_COLUMNS)}\n{_line(['---'] * len(_COLUMNS))}\n"
                start += f"\n{head}" if before.strip() else f"# Jobs\n\n{head}"
            file.write(f"{start}{line}\n".encode())
            file.flush()
            os.fsync(file.fileno())
    return path


def check_writable(folder: Path) -> None:
    """Raise StoreError if `append` could not write, before a job is created."""
    path = folder / FILE
    nearest = next(each for each in (path, *path.absolute().parents) if each.exists())
    is_wrong = path.is_dir() or (nearest != path and not nearest.is_dir())
    if is_wrong or not os.access(nearest, os.W_OK):
        raise StoreError(f"cannot write {path}")


def _escaped(text: str) -> str:
    """A text that a cell shows as it is: one line, no markup, no control characters."""
    return _MARKUP.sub(r"\\\1", one_line(text, _MAX_LENGTH))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
