"""Signatures that share a band are proposed, whichever and however many were added."""

from __future__ import annotations

import numpy as np

from infinite_rl.dataset.dedup import Bands, Signature

SHAPE = [(2, 8), (4, 4)]


def signatures(count: int) -> list[Signature]:
    made = np.random.default_rng(5).integers(1 << 32, size=(count, 16), dtype=np.uint32)
    return list(made)


def filled(made: list[Signature]) -> Bands:
    bands = Bands(SHAPE)
    for signature in made:
        bands.add(bands.tags(signature))
    return bands


def test_every_signature_is_found_by_each_of_its_bands_while_the_table_grows() -> None:
    made = signatures(5_000)
    bands = filled(made)
    assert len(bands) == 5_000
    for number in range(0, 5_000, 97):
        for start in range(0, 16, 4):
            other = made[0] + np.uint32(1)
            other[start : start + 4] = made[number][start : start + 4]
            assert bands.alike(bands.tags(other), 10) == [number]


def test_nothing_is_found_that_shares_no_band() -> None:
    *made, other = signatures(3_000)
    bands = filled(made)
    assert bands.alike(bands.tags(other), 10) == []
    shifted = np.roll(made[7], 4)  # the same hashes in other bands
    assert bands.alike(bands.tags(shifted), 10) == []


def test_of_a_crowd_the_latest_come_and_first_those_that_agree_in_more() -> None:
    crowd = signatures(2_000)
    for signature in crowd:
        signature[12:] = 1
    bands = filled(crowd)
    other = signatures(2_001)[-1]
    other[12:] = 1
    assert bands.alike(bands.tags(other), 3) == [1_999, 1_998, 1_997]
    other[:8] = crowd[4][:8]
    assert bands.alike(bands.tags(other), 3)[0] == 4
