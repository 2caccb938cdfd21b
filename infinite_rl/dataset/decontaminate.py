"""Find rows that give a benchmark away: n words in a row that they share with one of its texts.

A text of a benchmark is a prompt or a solution. Of a prompt of 26 words and more, and of a
solution, 13 words in a row are looked for (Brown et al. 2020); of a shorter prompt, 8; one of fewer
than 8 must be met as a whole. Signs, case, accents and layout do not count (see `words`), numbers
do.

Where words were put in or changed all over a text, no such run is left. So a text is also met if
30 % of its runs of 4 words, and 6 of them at least, are found close together (in twice its length):
these are left when one word in six was changed.

No evidence are n words of which not even half are different words with letters ("1 2 3 4 5 6 7 8"),
and those that more than three texts of the benchmarks share ("Write a Python function to find
the sum").
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import UsageError
from .rows import Row, Source, read
from .tokens import Hashes, flat_text, hash_of, hashes, prompt_column, tokens, without_markup, words

SOLUTION_COLUMNS = (
    "response", "answer", "solution", "code", "canonical_solution", "completion", "output",
)  # fmt: skip
_SHOWN = 400  # characters of a matching text
_PIECE, _FEWEST = 4, 6  # words of a piece, and how many pieces are no chance


@dataclass(frozen=True, slots=True)
class Hit:
    """What a row and a text of a benchmark share.

    `words` is the length of the longest match and `text` that match; where a text was met in
    pieces, it goes from the first to the last. `share` is how much of the benchmark's text was
    found, from above 0 to 1, counted in n-grams.
    """

    column: str
    benchmark: str
    benchmark_row: int
    benchmark_id: str
    benchmark_column: str
    words: int
    share: float
    text: str


@dataclass(frozen=True, slots=True)
class _Text:
    benchmark: str
    row: int
    id: str
    column: str


class Benchmarks:
    """The texts of benchmarks as n-grams: hashes of them, about 24 bytes for each word."""

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
        """Read benchmarks, by their names; `columns` are compared instead of those that are known.

        An n-gram that more than `common` different texts share is no evidence. `share` is how much
        of a text must be met in pieces of 4 words.

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
        self._n, self._short, self._share = n, short, share
        self._texts: list[_Text] = []
        self._whole: dict[int, int] = {}  # hash of a text -> its place
        self._lengths: list[int] = []  # of the texts, in words
        found: dict[int, list[_Grams]] = {n: [], short: []}
        pieces: list[_Grams] = []
        for name, source in sources.items():
            before = len(self._whole)
            for number, row in enumerate(read(source), 1):
                for column in _columns(row, columns, f"row {number} of {name}"):
                    text = _Text(name, number, _id(row), column)
                    prompt = bool(columns) or column == prompt_column(row)
                    self._add(text, flat_text(row[column]), prompt, found, pieces)
            if len(self._whole) == before:
                raise UsageError(f"{name} has no text to compare with that is new")
        self._grams = {size: _index(grams, common) for size, grams in found.items()}
        self._pieces = _index(pieces, common)
        owners = np.concatenate([grams.owners for grams in self._grams.values()])
        self._sizes = np.bincount(owners, minlength=len(self._texts))
        self._count_of_pieces = np.bincount(self._pieces.owners, minlength=len(self._texts))

    def hits(self, row: Mapping[str, Any], columns: Sequence[str] = ()) -> list[Hit]:
        """What a row shares with the benchmarks, the longest match first.

        By default the columns that are known to hold prompts and solutions are compared.

        Raises:
            UsageError: the row has none of the columns.
        """
        found = [
            hit for column in _columns(row, columns, "a row") for hit in self._shared(row, column)
        ]
        return sorted(found, key=lambda hit: (-hit.words, -hit.share))

    def _add(
        self,
        text: _Text,
        content: str,
        prompt: bool,
        found: Mapping[int, list[_Grams]],
        pieces: list[_Grams],
    ) -> None:
        said = tokens(without_markup(content))
        spoken = words(said)
        whole = hash_of("\0".join(said))
        if whole in self._whole or len(spoken) < (1 if prompt else self._n):
            return  # a short solution, such as a number, gives nothing away
        place = self._whole[whole] = len(self._texts)
        self._texts.append(text)
        self._lengths.append(len(spoken))
        size = self._n if not prompt or len(spoken) >= 2 * self._n else self._short
        found[size].append(_grams(spoken, size, place))
        pieces.append(_grams(spoken, _PIECE, place))

    def _shared(self, row: Mapping[str, Any], column: str) -> Iterator[Hit]:
        said = tokens(without_markup(flat_text(row[column])))
        spoken = words(said)
        place = self._whole.get(hash_of("\0".join(said)))
        if place is not None:
            yield self._hit(column, place, spoken, 1.0)
        hashed = hashes(spoken)
        met = {place}
        for size, grams in self._grams.items():
            keys = _ngrams(hashed, size)
            for owner, at in grams.found(keys).items():
                if owner not in met:
                    met.add(owner)
                    share = len(np.unique(keys[at])) / int(self._sizes[owner])
                    start, end = _longest(at, size)
                    yield self._hit(column, owner, spoken[start:end], share)
        keys = _ngrams(hashed, _PIECE)
        for owner, at in self._pieces.found(keys).items():
            if owner not in met and len(at) >= _FEWEST:
                near = _densest(np.array(at), 2 * self._lengths[owner])
                count = len(np.unique(keys[near]))
                share = count / int(self._count_of_pieces[owner])
                if count >= _FEWEST and share >= self._share:
                    yield self._hit(column, owner, spoken[near[0] : near[-1] + _PIECE], share)

    def _hit(self, column: str, place: int, said: Sequence[str], share: float) -> Hit:
        text = self._texts[place]
        shown = " ".join(said[:_SHOWN])[:_SHOWN]
        return Hit(column, text.benchmark, text.row, text.id, text.column, len(said), share, shown)


REPORTED = ("row", "id", *(each.name for each in fields(Hit)))  # columns of `Leak.rows`


@dataclass(frozen=True, slots=True)
class Leak:
    """A row, counted from 1, and what it shares with the benchmarks, the longest match first."""

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
    """The rows that share nothing with the benchmarks; `on_leak` is told of each of the others."""
    for number, row in enumerate(rows, 1):
        if hits := against.hits(row, columns):
            if on_leak:
                on_leak(Leak(number, str(row.get("id") or ""), tuple(hits)))
        else:
            yield dict(row)


@dataclass(frozen=True, slots=True)
class _Grams:
    """Hashes of n-grams, sorted, and the places of the texts that they come from."""

    keys: Hashes
    owners: npt.NDArray[np.uint32]

    def found(self, keys: Hashes) -> dict[int, list[int]]:
        """Which of `keys` there are: by the place of the text, their positions in order."""
        low = np.searchsorted(self.keys, keys, "left")
        high = np.searchsorted(self.keys, keys, "right")
        positions = defaultdict(list)
        for at in np.flatnonzero(high > low).tolist():
            for owner in self.owners[low[at] : high[at]].tolist():
                positions[owner].append(at)
        return positions


def _grams(spoken: Sequence[str], size: int, place: int) -> _Grams:
    """The n-grams of a text that tell something."""
    keys = _ngrams(hashes(spoken), size)
    telling = [_tells(spoken[at : at + size]) for at in range(len(keys))]
    keys = np.unique(keys[np.array(telling, dtype=bool)])
    return _Grams(keys, np.full(len(keys), place, dtype=np.uint32))


def _index(parts: Sequence[_Grams], common: int) -> _Grams:
    keys = np.concatenate([np.zeros(0, np.uint64), *(part.keys for part in parts)])
    owners = np.concatenate([np.zeros(0, np.uint32), *(part.owners for part in parts)])
    order = np.argsort(keys, kind="stable")
    keys, owners = keys[order], owners[order]
    _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    rare = counts[which] <= common
    return _Grams(keys[rare], owners[rare])


def _ngrams(hashed: Hashes, size: int) -> Hashes:
    """The hash of each `size` neighbours: a polynomial of their hashes, modulo 2 ** 64."""
    count = max(0, len(hashed) - size + 1)
    found = np.zeros(count, dtype=np.uint64)
    for at in range(size):
        found = found * np.uint64(0x9E3779B97F4A7C15) + hashed[at : at + count]
    return found


def _tells(ngram: Sequence[str]) -> bool:
    return 2 * len({word for word in ngram if word.isalpha()}) >= len(ngram)


def _longest(at: Sequence[int], size: int) -> tuple[int, int]:
    """From where to where the longest run of neighbouring n-grams goes, in words."""
    best, start = (at[0], at[0]), at[0]
    for before, here in zip((at[0], *at), at, strict=False):
        start = start if here <= before + 1 else here
        if here - start > best[1] - best[0]:
            best = (start, here)
    return best[0], best[1] + size


def _densest(at: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.int64]:
    """Those of some sorted positions that lie within `width`, where they are the most."""
    counts = np.searchsorted(at, at + width) - np.arange(len(at))
    start = int(counts.argmax())
    return at[start : start + int(counts[start])]


def _columns(row: Mapping[str, Any], columns: Sequence[str], where: str) -> list[str]:
    names = columns or (prompt_column(row), *SOLUTION_COLUMNS)
    found = [name for name in names if name in row]
    if not found:
        raise UsageError(
            f"{where} has none of the columns {', '.join(names)} (its columns: "
            f"{', '.join(map(str, row))})"
        )
    return found


def _id(row: Mapping[str, Any]) -> str:
    return str(row.get("id") or row.get("task_id") or "")
