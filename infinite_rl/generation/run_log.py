"""OUT_DIR/run.log: a line for each retry, rejection and stop, for a person who looks later."""

from __future__ import annotations

import logging
import threading
from datetime import datetime, timezone
from pathlib import Path

from ..errors import StoreError
from ..files.append_only import AppendOnlyFile
from ..redact import redact

LOG = "run.log"
_MOST_BYTES = 4 * 2**20  # of one file; one earlier file is kept beside it
_MOST_CHARS, _MOST_READ = 500, 20_000  # of one line, and of the text that it is made of

logger = logging.getLogger(__name__)


class RunLog:
    """The log of one folder; `write` may be called from any thread.

    Runs append to it. At 4 MiB it becomes `run.log.1`, in the place of an earlier one. It is made
    with its first line. Nothing depends on it: where it cannot be written, as on a full disk, one
    warning says so, and the run goes on without it.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOG
        self._lock = threading.Lock()
        self._file: _Lines | None = None
        self._failed = False

    def write(self, kind: str, text: str) -> None:
        """Append a line: the time in UTC, a word for its kind, and a text without secrets."""
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        line = f"{now} {kind} {_plain(str(redact(text[:_MOST_READ])))}\n".encode()
        with self._lock:
            if self._failed:
                return
            try:
                self._opened(len(line)).append(line)
            except (StoreError, OSError) as error:
                self._failed = True
                logger.warning("%s; the run goes on without its log", error)

    def close(self) -> None:
        """Close the file, if there is one."""
        with self._lock:
            if self._file:
                self._file.close()
            self._file = None

    def _opened(self, more: int) -> _Lines:
        """The file, or a new one where so many bytes more would be too many."""
        if self._file is None:
            self._file = _Lines(self._path)
        if 0 < self._path.stat().st_size > _MOST_BYTES - more:
            self._file.close()
            self._path.replace(self._path.with_name(f"{LOG}.1"))
            self._file = _Lines(self._path)
        return self._file


class _Lines(AppendOnlyFile):
    """The file; the first line after a kill begins on a line of its own."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - 1))
            self._torn = file.read() not in (b"", b"\n")

    def append(self, line: bytes) -> None:
        self._write(b"\n" * self._torn + line)
        self._torn = False


def _plain(text: str) -> str:
    """Text as one line that no terminal obeys."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _MOST_CHARS else f"{line[: _MOST_CHARS - 3]}..."
