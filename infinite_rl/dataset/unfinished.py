"""A file of rows that takes hours to make: what is there is kept, whatever happens meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from ..errors import StoreError
from ..files.append_only import AppendOnlyFile, damaged, read_lines
from .rows import Row, read, write
from .spill import to_line

ENDING = ".part"


class Lines(AppendOnlyFile):
    """A file of rows, one a line in JSON, which any reader sees as they come."""

    def add(self, row: Mapping[str, Any]) -> None:
        """Append a row, which outlives this process. Raises StoreError where that fails."""
        self._write(to_line(row))


@contextmanager
def meanwhile(path: Path, out: Path) -> Iterator[Lines]:
    """Rows that can be read in `path` as they come, and are in `out` when all have."""
    path.unlink(missing_ok=True)  # of an earlier run
    with closing(Lines(path)) as lines:
        yield lines
    write(read(path), out)
    path.unlink()


class Unfinished(Lines):
    """Rows on their way into the file `out`, which they wait for in `out` + ".part".

    Each row is a line there, after one that says with which settings they are made. A run that was
    killed leaves whole rows; those are `done` for the next one, and half a row at the end is
    dropped. `finish` writes them to `out`, in the kind of file that its name says. Where there are
    no rows, no file is left.

    With `afresh`, rows that were made with other settings are thrown away.

    Raises:
        StoreError: the rows that are there were made with other settings, another run is at work
            on them, or the file cannot be written.
    """

    def __init__(self, out: Path, settings: Mapping[str, object], *, afresh: bool = False) -> None:
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot write {out}: {error.strerror}") from None
        super().__init__(out.with_name(out.name + ENDING))
        self._out = out
        with ExitStack() as refused:
            refused.callback(self._file.close)
            self._claim()
            self._recover(to_line({"settings": settings}), afresh=afresh)
            refused.pop_all()

    def __enter__(self) -> Unfinished:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self.path.exists() and self.path.stat().st_size == self._begin:
            self.path.unlink()
        self.close()

    def done(self) -> Iterator[Row]:
        """The rows that are there. Raises StoreError where they are damaged."""
        for end, line in read_lines(self.path):
            if end > self._begin:
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise damaged(self.path, end, str(error)) from None

    def finish(self) -> int:
        """Write all rows to where they belong; how many they are."""
        count = write(self.done(), self._out)
        self.path.unlink()
        return count

    def discard(self) -> None:
        """Forget the rows that are there."""
        self._file.truncate(self._begin)

    def _recover(self, first: bytes, *, afresh: bool) -> None:
        self._begin = len(first)
        lines = read_lines(self.path)
        _, header = next(lines, (0, b""))
        if header != first:
            if next(lines, None) and not afresh:
                raise StoreError(
                    f"{self.path} holds rows of a run with other settings: repeat that one, or "
                    "begin anew with --overwrite"
                )
            self._file.truncate(0)
            self._write(first)
        self._drop_half_line()
