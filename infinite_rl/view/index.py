"""The rows in a SQLite file: memory does not grow with them.

    rows          number, feed, place in it, id; `c0` ... `c63`: the short values of a column each
    lines         each row as JSON
    texts         FTS5: `f0` ... `f63`, the text of a column each; the last has those of all others
    certificates  by the ids of rows
    findings, marks, tags    beside a row

One thread adds rows, any thread reads; a reader sees whole batches. A row of `DATA` that has a
counterpart in the data set that it is compared with names it in `pair`, and that one is `hidden`.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..certificates import in_words
from ..dataset.rows import Row, as_number
from ..dataset.spill import to_json
from ..dataset.tokens import flat_text, hash_of, prompt_column

SLOTS = 64  # columns that are searched and filtered by name
_SHORT = 60  # characters of a value that can be filtered
_TITLE = 300  # characters of a prompt in the list
_KINDS = 24  # values of a column that are offered as a filter
_BATCH, _BATCH_CHARS = 1_000, 8_000_000
SAME, CHANGED, ADDED, REMOVED = "same", "changed", "only here", "only there"
# No quantities, though they may look like numbers; and columns with a value for each row.
_OWN = {"id", "parent", "slot", "seed", "prompt", "answer", "response", "completion", "error_msg"}

_SCHEMA = f"""
    CREATE TABLE rows(
        number INTEGER PRIMARY KEY, side INT, feed TEXT, place INT, id TEXT, key INT, digest INT,
        title TEXT, pair INT, hidden INT DEFAULT 0,
        {", ".join(f"c{slot}" for slot in range(SLOTS))});
    CREATE INDEX by_id ON rows(id);
    CREATE INDEX by_place ON rows(side, feed, place);
    CREATE TABLE lines(number INTEGER PRIMARY KEY, line TEXT);
    CREATE VIRTUAL TABLE texts USING fts5(
        {", ".join(f"f{slot}" for slot in range(SLOTS))}, content='', columnsize=0);
    CREATE TABLE certificates(id TEXT PRIMARY KEY, line TEXT);
    CREATE TABLE findings(number INT, kind TEXT, evidence TEXT);
    CREATE INDEX found ON findings(number);
    CREATE TABLE marks(number INTEGER PRIMARY KEY, note TEXT, selected INT);
    CREATE TABLE tags(number INT, tag TEXT);
    CREATE INDEX tagged ON tags(number);
"""
_INSERT_ROW = (
    "INSERT INTO rows(number, side, feed, place, id, key, digest, title, "
    + ", ".join(f"c{slot}" for slot in range(SLOTS))
    + f") VALUES (?{', ?' * (7 + SLOTS)})"
)
_INSERT_TEXT = (
    "INSERT INTO texts(rowid, "
    + ", ".join(f"f{slot}" for slot in range(SLOTS))
    + f") VALUES (?{', ?' * SLOTS})"
)


@dataclass
class Column:
    """A column of the rows: its slot, whether its values are numbers, its values if few."""

    name: str
    slot: int
    numeric: bool = True
    kinds: Counter[str] | None = field(default_factory=Counter)

    def add(self, text: str, number: float | None) -> None:
        """Count a value that is not empty."""
        self.numeric = self.numeric and number is not None
        if self.kinds is not None:
            self.kinds[text[: _SHORT + 1]] += 1
            if len(self.kinds) > _KINDS or len(text) > _SHORT:
                self.kinds = None


class Index:
    """Rows in a folder's SQLite file.

    `columns` are those with a slot, in the order of their appearance. `counts` has the rows by
    side: 0 the data, 1 what it is compared with. `version` rises with every change.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "index.sqlite"
        self.columns: dict[str, Column] = {}
        self.counts = [0, 0]
        self.shown = 0  # rows that are not hidden
        self.version = 0
        self.compares = False
        self._rows_read: Counter[tuple[int, str]] = Counter()
        self._lock = threading.Lock()
        self._writer = sqlite3.connect(self._path, check_same_thread=False)
        # What is lost with the machine is made anew from the rows.
        for pragma in ("journal_mode = WAL", "synchronous = OFF", "cache_size = -65536"):
            self._writer.execute(f"PRAGMA {pragma}")
        self._writer.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._writer.close()

    @contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """A connection that reads, for one thread."""
        uri = f"{self._path.as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, check_same_thread=False)) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The connection that writes, in a transaction of the caller's own."""
        with self._lock, self._writer:
            yield self._writer
        self.version += 1

    # --- adding ----------------------------------------------------------------------------------

    def compare(self) -> None:
        """Begin to compare: rows of side 1 are now looked up in side 0."""
        with self.writing() as writer:
            writer.execute("CREATE INDEX by_key ON rows(side, key)")
        self.compares = True

    def add(self, rows: Iterable[Mapping[str, Any]], feed: str, side: int = 0) -> int:
        """Add rows in batches. Returns their number."""
        batch: list[tuple[Mapping[str, Any], str]] = []
        size = count = 0
        try:
            for row in rows:
                batch.append((row, line := to_json(row)))
                size, count = size + len(line), count + 1
                if len(batch) >= _BATCH or size >= _BATCH_CHARS:
                    full, batch, size = batch, [], 0
                    self._add_batch(full, feed, side)
        finally:  # the rows before a damaged line, too
            if batch:
                self._add_batch(batch, feed, side)
        return count

    def _add_batch(
        self, batch: Sequence[tuple[Mapping[str, Any], str]], feed: str, side: int
    ) -> None:
        first = sum(self.counts) + 1
        with self.writing() as writer:
            shorts, texts = [], []
            for number, (row, line) in enumerate(batch, first):
                self._rows_read[side, feed] += 1
                cells, words, digest = self._cells(row, side)
                row_id = storable(_text(row.get("id")) or f"#{hash_of(line):016x}")
                prompt = flat_text(row.get(prompt_column(row)))
                key = _signed(hash_of(_text(row.get("id")) or prompt))
                own = (row_id, key, digest, storable(prompt[:_TITLE]))
                shorts.append((number, side, feed, self._rows_read[side, feed], *own, *cells))
                texts.append((number, *words))
            writer.executemany(_INSERT_ROW, shorts)
            writer.executemany(
                "INSERT INTO lines VALUES (?, ?)",
                ((number, line) for number, (_, line) in enumerate(batch, first)),
            )
            writer.executemany(_INSERT_TEXT, texts)
            hidden = self._pair(writer, first, len(batch), side) if self.compares else 0
        self.counts[side] += len(batch)
        self.shown += len(batch) - hidden

    def _cells(
        self, row: Mapping[str, Any], side: int
    ) -> tuple[list[str | None], list[str | None], int]:
        """The short values by slot, the texts by slot, and a hash of all that is not empty."""
        cells: list[str | None] = [None] * SLOTS
        words: list[str | None] = [None] * SLOTS
        whole = []
        for name, value in row.items():
            if not (text := _text(value)):
                continue
            whole.append(f"{name}\0{text}")
            column = self.columns.get(name)
            if column is None and len(self.columns) < SLOTS - 1:
                column = self.columns[name] = Column(name, len(self.columns))
            stored = storable(text)
            if column is None:
                words[-1] = f"{words[-1]}\n{stored}" if words[-1] else stored
                continue
            words[column.slot] = stored
            if side == 0:
                column.add(text, as_number(value) if name not in _OWN else None)
            if len(text) <= _SHORT:
                cells[column.slot] = stored
        return cells, words, _signed(hash_of("\0\0".join(sorted(whole))))

    def _pair(self, writer: sqlite3.Connection, first: int, count: int, side: int) -> int:
        """Pair new rows with the first of the other side that has their key and no pair yet."""
        hidden = 0
        for number in range(first, first + count):
            (key,) = writer.execute("SELECT key FROM rows WHERE number = ?", (number,)).fetchone()
            other = writer.execute(
                "SELECT number FROM rows WHERE side = ? AND key = ? AND pair IS NULL "
                "ORDER BY number LIMIT 1",
                (1 - side, key),
            ).fetchone()
            if other:
                pair = (number, other[0])
                for one, its in (pair, pair[::-1]):
                    writer.execute("UPDATE rows SET pair = ? WHERE number = ?", (its, one))
                there = number if side else other[0]
                writer.execute("UPDATE rows SET hidden = 1 WHERE number = ?", (there,))
                hidden += 1
        return hidden

    def add_certificates(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Add certificates; the first of an id is kept."""
        lines = [(storable(str(record["id"])), to_json(record)) for record in records]
        if lines:
            with self.writing() as writer:
                writer.executemany("INSERT OR IGNORE INTO certificates VALUES (?, ?)", lines)

    def add_findings(self, findings: Iterable[tuple[int, str, str]], feed: str) -> int:
        """Put findings beside the rows of a feed: place, kind, evidence. Returns the number kept.

        One without a row, about all of them, has the place 0 and is left out.
        """
        kept = 0
        with self.writing() as writer:
            for position, kind, evidence in findings:
                kept += writer.execute(
                    "INSERT INTO findings SELECT number, ?, ? FROM rows "
                    "WHERE side = 0 AND feed = ? AND place = ?",
                    (storable(kind), storable(evidence), feed, position),
                ).rowcount
        return kept

    # --- reading ---------------------------------------------------------------------------------

    def line(self, number: int) -> Row:
        """A row. Raises KeyError if there is none."""
        with self.reader() as reader:
            line = reader.execute("SELECT line FROM lines WHERE number = ?", (number,)).fetchone()
        if line is None:
            raise KeyError(number)
        row: Row = json.loads(line[0])
        return row

    def certificate(self, row_id: str) -> str:
        """What the certificate of a row says, "" if it has none."""
        with self.reader() as reader:
            evidence = reader.execute(
                "SELECT line FROM certificates WHERE id = ?", (storable(row_id),)
            ).fetchone()
        return in_words(json.loads(evidence[0])) if evidence else ""

    def facets(self) -> list[tuple[str, list[tuple[str, int]]]]:
        """The columns of few values, with the values and their rows."""
        return [
            (column.name, column.kinds.most_common())
            for column in list(self.columns.values())
            if column.kinds is not None and len(column.kinds) > 1
            if column.name not in _OWN and not (column.numeric and len(column.kinds) > 8)
        ]


def compared(side: int, pair: int | None, same: bool) -> str:
    """The outcome of a comparison for one row."""
    if pair is None:
        return REMOVED if side else ADDED
    return SAME if same else CHANGED


def _text(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def storable(text: str) -> str:
    """Make a text one that SQLite takes: half a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value
