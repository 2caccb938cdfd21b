"""Order files: ids, one a line, in the order in which their rows are to be visited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError
from ..files.atomic import atomic_file

_NAMED, _CHARS = 3, 80  # ids that an error quotes, and characters of each


@dataclass(frozen=True)
class Ordered:
    """What an order file means for some rows.

    `numbers` are the rows it names, in its order; `unknown` how many of its `lines` name no row,
    `repeated` how many name one that was named before.
    """

    numbers: Sequence[int]
    lines: int
    unknown: int
    repeated: int


def read_order(path: str | Path) -> list[str]:
    """The ids of an order file; empty lines are passed over.

    Raises:
        UsageError: there is no such file, or it names nothing.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")  # a lone \r is a part of an id
    except OSError as error:
        raise UsageError(f"cannot read the order in {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"cannot read the order in {path}: {error}") from None
    ids = [line.strip() for line in text.split("\n") if line.strip()]
    if not ids:
        raise UsageError(f"there are no ids in {path}")
    return ids


def write_order(ids: Iterable[str], path: str | Path) -> None:
    """Write an order file, whole or not at all.

    Raises:
        UsageError: an id that is empty, or that one line cannot hold.
        StoreError: the file cannot be written.
    """
    try:
        with (
            atomic_file(Path(path)) as draft,
            draft.open("w", encoding="utf-8", newline="") as file,
        ):
            for name in ids:
                if not name or name != name.strip() or "\n" in name:
                    raise UsageError(f"an order file cannot hold the id {name!r}")
                file.write(name + "\n")
    except UnicodeEncodeError:
        raise UsageError(f"an order file cannot hold the id {name!r}") from None


def arrange(
    wanted: Sequence[str],
    known: Mapping[str, int | None],
    *,
    allow_unknown: bool = False,
    of: str = "",
) -> Ordered:
    """The rows that `wanted` ids name, in that order, a row once for each time it is named.

    `known` gives the number of a row by its id; None stands for an id that several rows have. `of`
    is the name of the source where the order is that of one alone, for what an error says.

    Raises:
        UsageError: an id that several rows have, or that none has, unless `allow_unknown`.
    """
    numbers: list[int] = []
    unknown: list[str] = []
    for name in wanted:
        number = known.get(name)
        if number is not None:
            numbers.append(number)
        elif name in known:
            raise UsageError(f"the order names {name!r}, and several sources have it: say which")
        else:
            unknown.append(name)
    if unknown and not allow_unknown:
        raise UsageError(_coverage(unknown, len(wanted), of))
    return Ordered(numbers, len(wanted), len(unknown), len(numbers) - len(set(numbers)))


def _coverage(unknown: Sequence[str], lines: int, of: str) -> str:
    named = ", ".join(repr(name)[:_CHARS] for name in unknown[:_NAMED])
    named += ", ..." if len(unknown) > _NAMED else ""
    if not of:
        return (
            f"{len(unknown)} of the order's {lines} ids are in no source: {named}; "
            "--allow_unknown passes over them"
        )
    return (
        f"of the {lines} ids in the order of {of} {lines - len(unknown)} are known, "
        f"{len(unknown)} are in none of its rows: {named}"
    )
