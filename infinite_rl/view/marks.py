"""Notes, tags and the selection: a log beside the data, `FILE.notes`, of JSON lines.

A line has a row's feed, its id, which row of that id it is (`nth`, from 1), and its `note`, `tags`
and `selected` from then on. So marks find their rows when rows were added, removed or moved. A row
without an id is named by a hash of its content.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from sqlite3 import Connection
from typing import Any, TypeAlias

from ..errors import UsageError
from ..files.logs import JsonlLog, read_jsonl
from ..store import DATASET
from .feeds import is_run
from .index import Index, storable

ENDING = ".notes"  # no ending of a file of rows: a folder of those is read without it
_NOTE, _TAGS, _TAG = 10_000, 20, 60  # characters of a note, tags of a row, characters of a tag

Key: TypeAlias = "tuple[str, str, int]"  # feed, id, nth


@dataclass(frozen=True)
class Mark:
    """What a reader said of a row."""

    note: str = ""
    tags: tuple[str, ...] = ()
    selected: bool = False

    @classmethod
    def of(cls, value: Any) -> Mark:
        """Check a mark from the page or the log. Raises ValueError if it is none."""
        note, tags, selected = value["note"], tuple(value["tags"]), value["selected"]
        texts = (note, *tags)
        if not all(isinstance(each, str) for each in texts) or not isinstance(selected, bool):
            raise ValueError("a mark has a note, tags and whether it is selected")
        if len(note) > _NOTE or len(tags) > _TAGS or any(not 0 < len(t) <= _TAG for t in tags):
            raise ValueError(f"a note has {_NOTE} characters at most, a row {_TAGS} tags of {_TAG}")
        return cls(note, tuple(dict.fromkeys(tags)), selected)


def notes_file(source: Path) -> Path:
    """Where the marks of a file or a folder are: of a run's folder beside its rows."""
    path = (source / DATASET if is_run(source) else source).absolute()
    return path.with_name(path.name + ENDING)


class Marks:
    """The marks of the rows in an index, kept in a log. The log is made by the first mark.

    Raises:
        StoreError: the log is damaged.
    """

    def __init__(self, index: Index, path: Path) -> None:
        self._index, self._path = index, path
        self._lock = threading.Lock()
        self._waiting: dict[Key, Mark] = {}  # of rows that are not there yet
        self._rows = 0  # among which they were looked for
        if path.is_file():
            for _, (key, mark) in read_jsonl(path, _parsed):
                self._waiting[key] = mark
                if mark == Mark():
                    del self._waiting[key]

    def locate(self) -> None:
        """Put marks that wait beside their rows, as far as these are there."""
        rows = self._index.counts[0]
        if not self._waiting or rows == self._rows:
            return
        self._rows = rows
        with self._index.writing() as writer:
            for (feed, row_id, nth), mark in list(self._waiting.items()):
                row = writer.execute(
                    "SELECT number FROM rows WHERE id = ? AND side = 0 AND feed = ? "
                    "ORDER BY number LIMIT 1 OFFSET ?",
                    (row_id, feed, nth - 1),
                ).fetchone()
                if row:
                    _put(writer, row[0], mark)
                    del self._waiting[feed, row_id, nth]

    def set(self, number: int, mark: Mark) -> None:
        """Mark a row, in the log and in the index.

        Raises:
            UsageError: there is no such row, or it is one of the compared data set.
            StoreError: the log cannot be written.
        """
        with self._index.reader() as reader:
            row = reader.execute(
                "SELECT feed, id, side FROM rows WHERE number = ?", (number,)
            ).fetchone()
            if row is None or row[2]:
                raise UsageError("only a row of the data can be marked")
            feed, row_id, _ = row
            (nth,) = reader.execute(
                "SELECT count(*) FROM rows WHERE id = ? AND side = 0 AND feed = ? AND number <= ?",
                (row_id, feed, number),
            ).fetchone()
        record = {"feed": feed, "id": row_id, "nth": nth, **asdict(mark)}
        with self._lock, closing(JsonlLog(self._path)) as log:
            log.append(record)
        with self._index.writing() as writer:
            _put(writer, number, mark)

    @staticmethod
    def of(number: int, reader: Connection) -> Mark:
        """The mark of a row."""
        mark = reader.execute(
            "SELECT note, selected FROM marks WHERE number = ?", (number,)
        ).fetchone()
        tags = reader.execute("SELECT tag FROM tags WHERE number = ?", (number,)).fetchall()
        return Mark(mark[0], tuple(tag for (tag,) in tags), bool(mark[1])) if mark else Mark()


def _parsed(value: Any) -> tuple[Key, Mark]:
    if not isinstance(value, Mapping):
        raise ValueError("a line is no mark")
    try:
        return (str(value["feed"]), str(value["id"]), int(value["nth"])), Mark.of(value)
    except KeyError as error:
        raise ValueError(f"a mark lacks {error}") from None


def _put(writer: Connection, number: int, mark: Mark) -> None:
    row = (number, storable(mark.note), int(mark.selected))
    writer.execute("INSERT OR REPLACE INTO marks VALUES (?, ?, ?)", row)
    writer.execute("DELETE FROM tags WHERE number = ?", (number,))
    tags = [(number, storable(tag)) for tag in mark.tags]
    writer.executemany("INSERT INTO tags VALUES (?, ?)", tags)
