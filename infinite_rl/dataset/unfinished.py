"""Files of rows that take hours to write: finished rows survive whatever happens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ..errors import StoreError
from ..files.logs import JsonlLog, read_jsonl, read_lines
from .rows import Row, read, write
from .spill import to_line

ENDING = ".part"


class RowLog(JsonlLog):
    """Rows as JSON lines, which any reader sees at once."""

    def add(self, row: Mapping[str, Any]) -> None:
        """Append a row, which outlives this process. Raises StoreError if that fails."""
        self._write(to_line(row))


@contextmanager
def collected(path: Path, out: Path) -> Iterator[RowLog]:
    """Collect rows in `path`, where they are readable at once; at the end move them to `out`."""
    path.unlink(missing_ok=True)  # of an earlier run
    with closing(RowLog(path)) as writer:
        yield writer
    write(read(path), out)
    path.unlink()


class UnfinishedRows(RowLog):
    """Rows of the file `out` that are collected in `out` + ".part".

    The first line there has the `settings` of the rows, each further line a row. After a kill the
    whole rows are `done`, and a torn last line is dropped. `finish` writes them to `out`, in the
    format of its name. No file is left without rows. With `overwrite`, rows that were made with
    other settings are dropped.

    Raises:
        StoreError: the rows were made with other settings, another process writes them, or the
            file is not writable.
    """

    def __init__(
        self, out: Path, settings: Mapping[str, object], *, overwrite: bool = False
    ) -> None:
        super().__init__(out.with_name(out.name + ENDING))
        self._out, header = out, to_line({"settings": settings})
        self._begin = len(header)
        lines = read_lines(self.path)
        if next(lines, (0, b""))[1] == header:
            return
        if next(lines, None) and not overwrite:
            self.close()
            raise StoreError(
                f"{self.path} holds rows of a run with other settings: repeat that one, or "
                "start again with --overwrite"
            )
        self._file.truncate(0)
        self._write(header)

    def __enter__(self) -> UnfinishedRows:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self.path.exists() and self.path.stat().st_size == self._begin:
            self.path.unlink()
        self.close()

    def done(self) -> Iterator[Row]:
        """The present rows. Raises StoreError if they are damaged."""
        return (row for offset, row in read_jsonl(self.path, dict) if offset)

    def finish(self) -> int:
        """Write all rows to `out` and return their number."""
        count = write(self.done(), self._out)
        self.path.unlink()
        return count

    def discard(self) -> None:
        """Drop the present rows."""
        self._file.truncate(self._begin)
