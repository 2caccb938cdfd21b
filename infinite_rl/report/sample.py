"""The rows on a page: a fair sample, truncated to fit a browser, and similar prompts."""

import json
import math
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from random import Random
from typing import Any, NamedTuple, TypeAlias

WHOLE = 2_000_000  # characters of a text while all fit into the budget
_SHORTEST = 200  # characters that each text keeps, whatever the budget
_SAFE = 2**53  # a larger integer would lose digits in a browser
_NGRAM, _HASHES, _COMMON, _PAIRS = 3, 64, 6, 20
_READ = 20_000  # characters of a prompt
_MIN_SIMILARITY = 0.3


class Truncated(NamedTuple):
    """The beginning of a text, and the number of characters of the whole."""

    text: str
    of: int


Cell: TypeAlias = "str | int | float | bool | Truncated | None"


class RowSample:
    """At most `most` rows, whose texts have at most `budget` characters together.

    It is a uniform reservoir sample with a fixed seed. If the texts are too long together, `limit`,
    the characters per text, is reduced by fifths until they fit (or are down to 200 each). Memory
    is bounded by the budget, not by the rows added.
    """

    def __init__(self, most: int, budget: int) -> None:
        self.limit, self.seen = WHOLE, 0
        self._most, self._budget, self._size = most, budget, 0
        self._rows: list[tuple[int, dict[str, Cell]]] = []
        self._random = Random(0)

    def add(self, row: Mapping[str, Any]) -> None:
        """Offer a row to the sample."""
        number, self.seen = self.seen, self.seen + 1
        index = number if number < self._most else self._random.randrange(self.seen)
        if index >= self._most:
            return
        cells = {str(name): truncated(cell(value), self.limit) for name, value in row.items()}
        if index < len(self._rows):
            self._size -= _size(self._rows[index][1])
            self._rows[index] = (number, cells)
        else:
            self._rows.append((number, cells))
        self._size += _size(cells)
        while self._size > self._budget and self.limit > _SHORTEST:
            longest = max(len(text) for _, cells in self._rows for text in _texts(cells))
            self.limit = max(min(self.limit, longest) * 4 // 5, _SHORTEST)
            for _, cells in self._rows:
                cells.update({name: truncated(each, self.limit) for name, each in cells.items()})
            self._size = sum(_size(cells) for _, cells in self._rows)

    @property
    def rows(self) -> list[dict[str, Cell]]:
        """The rows, in the order in which they were added."""
        return [cells for _, cells in sorted(self._rows, key=lambda numbered: numbered[0])]


def cell(value: object) -> Cell:
    """A value for the page; values that JSON or a browser cannot hold exactly become text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _SAFE else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def similar_prompts(prompts: Sequence[str]) -> list[tuple[int, int, float]]:
    """The most similar pairs of prompts, with their similarity in (0, 1], the highest first.

    The similarity is the Jaccard similarity of their word trigrams, estimated by the 64 smallest
    hashes of each (Broder 1997). Of prompts that share a trigram with more than five others, only
    neighbours are compared, so the cost is linear in the rows.
    """
    sketches = [_sketch(prompt) for prompt in prompts]
    holders: defaultdict[int, list[int]] = defaultdict(list)
    for number, sketch in enumerate(sketches):
        for ngram in sketch:
            holders[ngram].append(number)
    shared: Counter[tuple[int, int]] = Counter()
    for numbers in holders.values():
        few = len(numbers) <= _COMMON
        shared.update(combinations(numbers, 2) if few else zip(numbers, numbers[1:], strict=False))
    pairs = []
    for (one, other), _ in shared.most_common(50 * _PAIRS):
        smallest = sorted(sketches[one] | sketches[other])[:_HASHES]
        both = sum(each in sketches[one] and each in sketches[other] for each in smallest)
        similarity = round(both / len(smallest), 3)
        if similarity >= _MIN_SIMILARITY:
            pairs.append((one, other, similarity))
    return sorted(pairs, key=lambda pair: (-pair[2], pair[:2]))[:_PAIRS]


def _sketch(prompt: str) -> frozenset[int]:
    words = re.findall(r"\w+|[^\w\s]", prompt[:_READ].casefold())
    starts = range(max(1, len(words) - _NGRAM + 1) if words else 0)
    ngrams = (" ".join(words[at : at + _NGRAM]) for at in starts)
    hashes = {zlib.crc32(ngram.encode("utf-8", "surrogatepass")) for ngram in ngrams}
    return frozenset(sorted(hashes)[:_HASHES])


def truncated(value: Cell, limit: int) -> Cell:
    """Truncate a text to `limit` characters; other values stay."""
    if isinstance(value, Truncated):
        return Truncated(value.text[:limit], value.of)
    if isinstance(value, str) and len(value) > limit:
        return Truncated(value[:limit], len(value))
    return value


def _size(cells: Mapping[str, Cell]) -> int:
    return sum(map(len, _texts(cells)))


def _texts(cells: Mapping[str, Cell]) -> Iterator[str]:
    for value in cells.values():
        if isinstance(value, str):
            yield value
        elif isinstance(value, Truncated):
            yield value.text
