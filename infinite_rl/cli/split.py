"""`infinite-rl split`: train, validation and test, of which none knows the other."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from . import arguments
from .terminal import DONE, counted, counting, show_logs, tell

if TYPE_CHECKING:
    from ..dataset.rows import Row

_SHARES = "train=0.9,validation=0.05,test=0.05"
_OFF = 0.01  # of all rows: how far a side may be from its share before it is said


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "split",
        help="split rows into train, validation and test without leaks between them",
        description="Write the rows of FILE with the column `split`, so that rows that ask for the "
        "same are on the same side. A side depends on the row and on those before it: it stays "
        "when rows are added at the end. A row that links two sides is left out.",
        epilog="Example: infinite-rl split unique.jsonl --shares train=0.8,test=0.2 -o parts. "
        "Exit code: 0 done, 1 not done, 2 wrong usage.",
    )
    arguments.rows_in(parser)
    arguments.rows_out(
        parser,
        "one file for all rows (its name ends in .csv, .jsonl, ...), or else a new folder with a "
        "file for each side (parts/train.jsonl, ...)",
    )
    arguments.compared(parser)
    arguments.near(parser, 0.45)
    arguments.option(parser, "--shares", _SHARES, "sides and their shares, which add up to 1")
    arguments.option(parser, "--seed", 0, "another seed gives another split", int)
    what = "an earlier split, as this made it: its rows stay on their sides, and theirs with them"
    arguments.option(parser, "--keep", None, what)
    arguments.for_machines(parser)
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..dataset.rows import read, read_some
    from ..dataset.split import LEFT_OUT, split

    show_logs()
    arguments.refuse_existing(given, given.out, read=[given.source])
    shares = _shares(given.shares)
    files = _files(given, [*shares])
    with counting("rows placed") as count:
        placed = split(
            counted(read_some(given.source), count),
            shares,
            given.columns,
            seed=given.seed,
            threshold=given.threshold,
            numbers=given.numbers,
            keep=read(given.keep) if given.keep else (),
        )
        sides, columns = [], dict[str, None]()
        for row in placed:
            sides.append(row["split"])
            columns.update(dict.fromkeys(row))
    _write(given, sides, files, list(columns))
    counts = Counter(sides)
    splits, left_out = {name: counts[name] for name in shares}, counts[LEFT_OUT]
    lines = [f"rows: {len(sides)}, " + ", ".join(f"{name}: {n}" for name, n in splits.items())]
    if left_out:
        lines.append(f"left out, as they are close to rows of different sides: {left_out}")
    unmet = _unmet(splits, shares)
    lines += [
        f"share not met: {name} has {each['rows']:.2%} of the rows, asked for {each['asked']:.2%}"
        for name, each in unmet.items()
    ]
    if unmet:
        lines.append(
            "a row goes where a hash of it falls, and rows that ask for the same stay together: "
            "few rows, or many alike, miss the shares; another --seed splits otherwise"
        )
    values = {"rows": len(sides), "splits": splits, "left_out": left_out, "unmet": unmet}
    tell(given, {**values, "out": given.out}, *lines, f"in {given.out}")
    return DONE


def _unmet(splits: Mapping[str, int], shares: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """The sides that are farther from their share than one row and one percent, or empty."""
    total = sum(splits.values())
    return {
        name: {"asked": share, "rows": splits[name] / max(1, total)}
        for name, share in shares.items()
        if abs(splits[name] - share * total) > max(1, _OFF * total) or (share and not splits[name])
    }


def _files(given: argparse.Namespace, names: list[str]) -> dict[Path, list[str]]:
    """The files to make, and whose rows each one holds.

    Raises UsageError where another split's file would stay beside these, for its rows are in these
    as well, and where the source would be changed before it is read to its end.
    """
    from ..dataset.rows import ending_of, kind_of

    if ending_of(given.out.name) and not given.out.is_dir():
        return {given.out: names}
    source = Path(given.source)
    kind = kind_of(source) if source.is_file() else "jsonl"
    files = {given.out / f"{name}.{kind}": [name] for name in names}
    if given.out.resolve() in (source.resolve(), source.resolve().parent) and source.exists():
        raise UsageError(f"{source} would be changed while it is read: name another folder")
    if given.out.is_dir() and (others := sorted({*given.out.iterdir()} - {*files})):
        raise UsageError(
            f"{others[0]} would stay beside the new split: remove it, or name another folder"
        )
    return files


def _write(
    given: argparse.Namespace, sides: list[str], files: dict[Path, list[str]], columns: list[str]
) -> None:
    from ..dataset.rows import read, write

    def rows_of(wanted: list[str]) -> Iterator[Row]:
        for row, side in zip(read(given.source), sides, strict=True):
            if side in wanted:
                yield {**row, "split": side}

    for file, wanted in files.items():
        write(rows_of(wanted), file, columns)


def _shares(text: str) -> dict[str, float]:
    try:
        parts: Iterable[list[str]] = [part.split("=") for part in text.split(",")]
        shares = [(name.strip(), float(share)) for name, share in parts]
    except ValueError:
        raise UsageError(f"--shares is like {_SHARES}, not {text!r}") from None
    names = [name for name, _ in shares]
    if len({*names}) < len(names):
        raise UsageError(f"--shares names a side twice: {text!r}")
    for name in names:
        if not re.fullmatch(r"\w+", name):  # it becomes a file's name
            raise UsageError(f"{name!r} is no name for a side: letters, digits and _")
    return dict(shares)
