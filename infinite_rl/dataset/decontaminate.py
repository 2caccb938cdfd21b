"""Find rows that leak a benchmark: they share word n-grams with one of its texts.

A text of a benchmark is a prompt or a solution. Of a prompt of 26 words and more, and of a
solution, 13-grams are matched (Brown et al. 2020); of a shorter prompt, 8-grams; a prompt of fewer
than 8 words must match as a whole. Signs, case, accents and layout do not count (see `tokens`),
numbers do.

A text with insertions or changes throughout shares no such n-gram. So a text also matches if 30 %
of its 4-grams, and at least 6, occur close together (within twice its length): these are left if
one word in six was changed.

Ignored are n-grams of which not even half are different words with letters ("1 2 3 4 5 6 7 8"), and
those that more than three texts of the benchmarks share ("Write a Python function to find the
sum").
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from .rows import Row, Source, read
from .tokens import (
    Hashes,
    flat_text,
    hash_of,
    hashes,
    prompt_column,
    tokens,
    without_tags_and_accents,
)
from .tokens import words as words_of

SOLUTION_COLUMNS = (
    "response", "answer", "solution", "code", "canonical_solution", "completion", "output",
)  # fmt: skip
_SHOWN = 400  # characters of a matching text
_PIECE, _MIN_PIECES = 4, 6  # words of a short n-gram, and how many are no coincidence
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Hit:
    """A match of a row with a text of a benchmark.

    `words` is the length of the longest match and `text` that match; a match of pieces extends from
    the first to the last. `share` is the fraction of the benchmark's n-grams that match, above 0
    and up to 1.
    """

    column: str
    benchmark: str
    benchmark_row: int
    benchmark_id: str
    benchmark_column: str
    words: int
    share: float
    text: str


class _Text(NamedTuple):
    benchmark: str
    row: int
    id: str
    column: str
    words: int


class Benchmarks:
    """The texts of benchmarks as n-grams: hashes of them, about 24 bytes a word."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        columns: Sequence[str] = (),
        *,
        n: int = 13,
        short: int = 8,
        common: int = 3,
        share: float = 0.3,
    ) -> None:
        """Read benchmarks, by name; `columns` replace the default columns.

        An n-gram that more than `common` different texts share is ignored. `share` is the minimum
        fraction of a text's 4-grams.

        Raises:
            UsageError: a benchmark has no text, 2 <= short <= n or 0 < share <= 1 does not
                hold, or common < 1.
        """
        if not 0 < share <= 1:
            raise UsageError(f"share must be above 0 and at most 1: {share} cannot be")
        if common < 1:
            raise UsageError(f"common is how many texts may share words: {common} cannot be")
        if not 2 <= short <= n:
            raise UsageError(f"short must be at least 2 and at most n: {short} and {n} cannot be")
        self._share = share
        self._texts: list[_Text] = []
        self._whole: dict[int, int] = {}  # the index of a text by its hash
        by_size: dict[int, list[_Grams]] = {n: [], short: []}
        pieces: list[_Grams] = []
        for name, source in sources.items():
            before = len(self._whole)
            for number, row in enumerate(read(source), 1):
                for column in _columns(
                    row, columns, f"row {number} of {name}", "--against_columns"
                ):
                    whole, words = _words(row[column])
                    prompt = bool(columns) or column == prompt_column(row)
                    # A short solution, such as a number, leaks nothing.
                    if whole in self._whole or len(words) < (1 if prompt else n):
                        continue
                    index = self._whole[whole] = len(self._texts)
                    row_id = str(row.get("id") or row.get("task_id") or "")
                    self._texts.append(_Text(name, number, row_id, column, len(words)))
                    size = n if not prompt or len(words) >= 2 * n else short
                    by_size[size].append(_grams(words, size, index))
                    pieces.append(_grams(words, _PIECE, index))
            if len(self._whole) == before:
                raise UsageError(f"{name} has no text to compare with that is new")
        self._grams = {size: _Table(_merged(grams, common)) for size, grams in by_size.items()}
        self._pieces = _Table(_merged(pieces, common))
        owners = np.concatenate([grams.owners for grams in self._grams.values()])
        self._sizes = np.bincount(owners, minlength=len(self._texts))
        self._piece_counts = np.bincount(self._pieces.owners, minlength=len(self._texts))

    def hits(self, row: Mapping[str, Any], columns: Sequence[str] = ()) -> list[Hit]:
        """The matches of a row with the benchmarks, the longest first.

        By default the columns of prompts and solutions are compared.

        Raises:
            UsageError: the row has none of the columns.
        """
        names = _columns(row, columns, "a row", "--columns")
        hits = [hit for column in names for hit in self._shared(column, row[column])]
        return sorted(hits, key=lambda hit: (-hit.words, -hit.share))

    def _shared(self, column: str, value: object) -> Iterator[Hit]:
        def hit(index: int, start: int, end: int | None, share: float) -> Hit:
            name, row, row_id, its_column, _ = self._texts[index]
            match = words[start:end]
            text = " ".join(match[:_SHOWN])[:_SHOWN]
            return Hit(column, name, row, row_id, its_column, len(match), share, text)

        whole, words = _words(value)
        same = self._whole.get(whole)
        if same is not None:
            yield hit(same, 0, None, 1.0)
        hashed = hashes(words)
        matched = {same}
        for size, grams in self._grams.items():
            keys = _ngrams(hashed, size)
            for owner, at in grams.positions(keys).items():
                if owner not in matched:
                    matched.add(owner)
                    share = len(np.unique(keys[at])) / int(self._sizes[owner])
                    yield hit(owner, *_longest(at, size), share)
        keys = _ngrams(hashed, _PIECE)
        for owner, at in self._pieces.positions(keys).items():
            if owner not in matched and len(at) >= _MIN_PIECES:
                near = _densest(np.array(at), 2 * self._texts[owner].words)
                count = len(np.unique(keys[near]))
                share = count / int(self._piece_counts[owner])
                if count >= _MIN_PIECES and share >= self._share:
                    yield hit(owner, int(near[0]), int(near[-1]) + _PIECE, share)


REPORTED = ("row", "id", *(each.name for each in fields(Hit)))  # columns of `Leak.rows`


@dataclass(frozen=True, slots=True)
class Leak:
    """A row, counted from 1, and its matches with the benchmarks, the longest first."""

    row: int
    id: str
    hits: tuple[Hit, ...]

    def rows(self) -> Iterator[Row]:
        """Each hit as a row of a report."""
        return ({"row": self.row, "id": self.id, **asdict(hit)} for hit in self.hits)

    def __str__(self) -> str:
        hit = self.hits[0]
        where = f"{hit.benchmark} row {hit.benchmark_row} ({hit.benchmark_column})"
        return f"row {self.row} ({hit.column}): {where}: {hit.text}"


def decontaminate(
    rows: Iterable[Mapping[str, Any]],
    against: Benchmarks,
    columns: Sequence[str] = (),
    on_leak: Callable[[Leak], None] | None = None,
) -> Iterator[Row]:
    """The rows that match no benchmark; `on_leak` gets each of the others."""
    for number, row in enumerate(rows, 1):
        if hits := against.hits(row, columns):
            if on_leak:
                on_leak(Leak(number, str(row.get("id") or ""), tuple(hits)))
        else:
            yield dict(row)


class _Grams(NamedTuple):
    """Sorted hashes of n-grams, and for each the index of its text."""

    keys: Hashes
    owners: npt.NDArray[np.uint32]


class _Table:
    """N-grams to look up. Nearly all n-grams of nearly all rows are in no benchmark: a table of the
    first bits of the keys says so in one step, where a search takes seventeen.
    """

    def __init__(self, grams: _Grams) -> None:
        self._keys, self.owners = grams
        bits = len(self._keys).bit_length() + 4  # one key in 16 or more entries
        self._shift = np.uint64(64 - bits)
        self._present = np.zeros(1 << bits, dtype=bool)
        self._present[self._keys >> self._shift] = True

    def positions(self, keys: Hashes) -> dict[int, list[int]]:
        """The positions in `keys` of the n-grams of each text, by its index."""
        positions = defaultdict(list)
        (possible,) = self._present[keys >> self._shift].nonzero()
        if possible.size:
            low = self._keys.searchsorted(keys[possible], "left")
            high = self._keys.searchsorted(keys[possible], "right")
            for at, *span in zip(possible.tolist(), low.tolist(), high.tolist(), strict=True):
                for owner in self.owners[slice(*span)].tolist():
                    positions[owner].append(at)
        return positions


def _words(value: object) -> tuple[int, list[str]]:
    """A hash of a text's tokens, and its words."""
    parts = tokens(without_tags_and_accents(flat_text(value)))
    return hash_of("\0".join(parts)), words_of(parts)


def _grams(words: Sequence[str], size: int, index: int) -> _Grams:
    """The n-grams of a text of which at least half are different words with letters."""
    keys = _ngrams(hashes(words), size)
    counts = (
        len({word for word in words[at : at + size] if word.isalpha()}) for at in range(len(keys))
    )
    keys = np.unique(keys[np.fromiter((2 * count >= size for count in counts), bool, len(keys))])
    return _Grams(keys, np.full(len(keys), index, dtype=np.uint32))


def _merged(parts: Sequence[_Grams], common: int) -> _Grams:
    """The n-grams that at most `common` texts share."""
    keys = np.concatenate([np.zeros(0, np.uint64), *(part.keys for part in parts)])
    owners = np.concatenate([np.zeros(0, np.uint32), *(part.owners for part in parts)])
    order = np.argsort(keys, kind="stable")
    keys, owners = keys[order], owners[order]
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    rare = counts[which] <= common
    return _Grams(keys[rare], owners[rare])


def _ngrams(hashed: Hashes, size: int) -> Hashes:
    """The hash of each n-gram: a polynomial of its words' hashes, modulo 2 ** 64.

    An odd factor has an inverse, so each is a difference of two sums of the whole text: a few
    operations on arrays, whatever the size.
    """
    count = len(hashed)
    if count < size:
        return np.zeros(0, dtype=np.uint64)
    powers, inverses = _powers(1 << count.bit_length())
    sums = np.zeros(count + 1, dtype=np.uint64)
    np.cumsum(hashed * inverses[:count], out=sums[1:])
    return (sums[size:] - sums[:-size]) * powers[size - 1 : count]


@lru_cache(maxsize=16)  # the lengths of texts, rounded up; those of long ones are made anew
def _powers(count: int) -> tuple[Hashes, Hashes]:
    """The powers of the factor from 0, and those of its inverse."""
    inverse = np.uint64(pow(int(_FACTOR), -1, 2**64))
    one = np.ones(1, dtype=np.uint64)
    return tuple(  # type: ignore[return-value]
        np.multiply.accumulate(np.concatenate([one, np.full(count - 1, factor)]))
        for factor in (_FACTOR, inverse)
    )


def _longest(at: Sequence[int], size: int) -> tuple[int, int]:
    """The first word of the longest run of adjacent n-grams, and the end of its last."""
    best, start = (at[0], at[0]), at[0]
    for before, here in zip((at[0], *at), at, strict=False):
        start = start if here <= before + 1 else here
        if here - start > best[1] - best[0]:
            best = (start, here)
    return best[0], best[1] + size


def _densest(at: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.int64]:
    """The most of the sorted positions that lie within `width`."""
    counts = np.searchsorted(at, at + width) - np.arange(len(at))
    start = int(counts.argmax())
    return at[start : start + int(counts[start])]


def _columns(row: Mapping[str, Any], columns: Sequence[str], where: str, option: str) -> list[str]:
    names = columns or (prompt_column(row), *SOLUTION_COLUMNS)
    present = [name for name in names if name in row]
    if not present:
        raise UsageError(
            f"{where} has none of the columns {', '.join(names)} (its columns: "
            f"{', '.join(map(str, row))}); name others with {option}"
        )
    return present
