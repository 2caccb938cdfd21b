"""A folder that many processes fill: each fills a shard, and all are merged into one data set.

    OUT_DIR/dataset.csv           the rows of all shards, without duplicates
    OUT_DIR/failed_dataset.csv    rows that are left out, as one of another shard asks the same
    OUT_DIR/shards/02_of_08/      a shard: rows, failures, journal and manifest, as of one process

A shard is a folder like any other, so it is gone on with, and judged again, like any other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import StoreError, UsageError
from ..files.csv_log import read_rows
from ..providers.rate_limit import Limits
from ..store import DATASET, DATASET_COLUMNS, DATASET_LATER, Store
from .plan import Shard

SHARDS = "shards"
_NAME = re.compile(r"([0-9]+)_of_([0-9]+)")


def shard_folders(out_dir: Path, count: int) -> list[Path]:
    """The folders of `count` shards, in their order, whether they are there or not."""
    return [out_dir / SHARDS / f"{number + 1:02}_of_{count:02}" for number in range(count)]


def shard_count(out_dir: Path) -> int:
    """How many shards a folder is made of; 0 where it is not.

    Raises:
        StoreError: what is there is no work of ours.
    """
    folder = out_dir / SHARDS
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    found = [_NAME.fullmatch(name) for name in names]
    counts = {int(match[2]) if match else 0 for match in found}
    if len(counts) > 1 or 0 in counts:
        raise StoreError(f"{folder} holds other things than one set of shards: {', '.join(names)}")
    return counts.pop() if counts else 0


def shard_rows(folders: Sequence[Path]) -> Iterator[tuple[int, dict[str, str]]]:
    """Every row of the shards, with the number of its shard."""
    for number, folder in enumerate(folders):
        if (folder / DATASET).exists():
            for row in read_rows(folder / DATASET, DATASET_COLUMNS, DATASET_LATER):
                yield number, row


def merge(store: Store, folders: Sequence[Path]) -> list[Counter[str]]:
    """Add what a store lacks of its shards' rows; how many rows each shard holds, per family.

    Raises:
        StoreError: a file is damaged, or cannot be written.
    """
    present: list[Counter[str]] = [Counter() for _ in folders]
    for number, row in shard_rows(folders):
        present[number][row["type"]] += 1
        store.take(row)
    store.sync()
    return present


def shares(missing: Mapping[str, int], present: Sequence[Mapping[str, int]]) -> list[Shard]:
    """The shards that together make what is missing, beside what each holds already."""
    count = len(present)
    return [
        Shard(
            number,
            count,
            {
                family: present[number].get(family, 0) + total // count + (number < total % count)
                for family, total in missing.items()
            },
        )
        for number in range(count)
    ]


def divided(limits: Limits, parts: int) -> Limits:
    """Limits that hold for each of some workers, so that `limits` hold for all together.

    Raises:
        UsageError: they leave less than one for each.
    """
    for name, limit in vars(limits).items():
        if limit is not None and limit < parts:
            raise UsageError(f"{name} is {limit}, less than one for each of {parts} workers")
    parted = {name: limit and limit // parts for name, limit in vars(limits).items()}
    return replace(limits, **parted)
