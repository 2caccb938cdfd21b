"""MinHash signatures by their bands: which earlier ones may be near to a new one.

Signatures that agree in one band, a few neighbouring hashes, are proposed (Indyk and Motwani 1998).
All are kept in flat arrays, 10 to 12 bytes a band, where tables of objects take a hundred: for each
band, the last row of each slot, and for each row and band the one before it in its slot.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Signature: TypeAlias = "npt.NDArray[np.uint32]"

_FACTORS = np.random.default_rng(1).integers(1 << 63, size=64, dtype=np.uint64) * np.uint64(2)
_FACTORS += np.uint64(1)
_FIRST_SLOTS = 1_024
_FULL = 2  # rows for each slot, from which on there are twice as many slots


class Bands:
    """Signatures in the order in which they were added, numbered from 0.

    `shape` says in how many bands of how many hashes a signature is read, one way after another;
    where there are too many proposals, those of the first way come before the others.
    """

    def __init__(self, shape: Sequence[tuple[int, int]]) -> None:
        self._shape = shape
        self._ways = np.split(
            np.arange(sum(bands for bands, _ in shape)),
            np.cumsum([bands for bands, _ in shape])[:-1],
        )
        self._count = sum(bands for bands, _ in shape)
        self._tags, self._before = array("I"), array("i")
        self._last = np.full((self._count, _FIRST_SLOTS), -1, dtype=np.int32)

    def __len__(self) -> int:
        return len(self._tags) // self._count

    def tags(self, signature: Signature) -> Signature:
        """A hash of each band of a signature: what `add` and `alike` take."""
        found = []
        for way, (bands, size) in enumerate(self._shape):
            parts = signature[: bands * size].reshape(bands, size).astype(np.uint64)
            tags = (parts + np.uint64(way + 1)) @ _FACTORS[:size]  # wraps around, as it should
            found.append(((tags ^ (tags >> np.uint64(29))) >> np.uint64(8)).astype(np.uint32))
        return np.concatenate(found)

    def add(self, tags: Signature) -> None:
        """Add a signature, by its tags, under the next number."""
        number = len(self)
        if number >= _FULL * self._last.shape[1]:
            self._grow()
        at = np.arange(self._count), tags % self._last.shape[1]
        self._before.frombytes(self._last[at].tobytes())
        self._tags.frombytes(tags.tobytes())
        self._last[at] = number

    def alike(self, tags: Signature, most: int) -> list[int]:
        """The numbers of at most so many signatures that share a band, the latest first."""
        found: dict[int, None] = {}
        for bands in self._ways:
            self._walk(tags, bands, found, most)
        return list(found)[:most]

    def _walk(self, tags: Signature, bands: Any, found: dict[int, None], most: int) -> None:
        all_tags = np.frombuffer(self._tags, np.uint32).reshape(-1, self._count)
        before = np.frombuffer(self._before, np.int32).reshape(-1, self._count)
        rows = self._last[bands, tags[bands] % self._last.shape[1]]
        while len(found) < most:
            bands, rows = bands[rows >= 0], rows[rows >= 0]
            if not rows.size:
                return
            same = rows[all_tags[rows, bands] == tags[bands]]
            found.update(dict.fromkeys(sorted(same.tolist(), reverse=True)))
            rows = before[rows, bands]

    def _grow(self) -> None:
        slots = 2 * self._last.shape[1]
        self._last = np.full((self._count, slots), -1, dtype=np.int32)
        all_tags = np.frombuffer(self._tags, np.uint32).reshape(-1, self._count)
        before = np.frombuffer(self._before, np.int32).reshape(-1, self._count)
        for band in range(self._count):  # one by one, for the sake of memory
            places = all_tags[:, band] % slots
            order = np.argsort(places, kind="stable")
            follows = places[order][1:] == places[order][:-1]
            before[order, band] = np.concatenate([[-1], np.where(follows, order[:-1], -1)])
            self._last[band, places[order]] = order  # of equal places, the last one stays
