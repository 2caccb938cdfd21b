"""`infinite-rl mix`: rows of several sources in one order, or a curriculum."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from . import arguments
from .terminal import DONE, counted, counting, plain, tell

if TYPE_CHECKING:
    from ..dataset.mix import Mixture


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "mix",
        help="rows of several sources in one order, or a curriculum",
        description="Put the rows of all SOURCEs in one order, the same for the same seed, and say "
        "how much of each is in it. Each row gets its id in the column mix_id: its source's name "
        "and its own id.",
        epilog="Examples: infinite-rl mix gsm8k.jsonl:3 code.csv:1:5000 --mode weighted "
        "-o train.jsonl --order_out train.order; infinite-rl mix rated.jsonl --by pass_rate --band "
        "0.2,0.8 -o curriculum.jsonl. Exit code: 0 done, 1 not done, 2 wrong usage.",
    )
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="a file or folder of rows, as PATH[:weight[:count]] (PATH::count: no weight)",
    )
    arguments.rows_out(parser)
    parser.add_argument(
        "--mode",
        choices=("shuffled", "sequential", "weighted"),  # of the library, which is loaded later
        default="shuffled",
        help="how rows follow each other: in a random order, source after source, or drawn by the "
        "sources' weights (default: shuffled)",
    )
    option, switch = arguments.option, arguments.switch
    option(parser, "--seed", 0, "of the order", int)
    option(parser, "--count", None, "rows in all, at most", int)
    switch(parser, "--keep_order", "with weights: leave the rows of each source in their order")
    option(parser, "--order", None, "order file: ids, one a line; only its rows, as it has them")
    switch(parser, "--allow_unknown", "pass over ids of the order file that no source has")
    option(parser, "--order_out", None, "write the order here, as ids", Path)
    option(parser, "--by", "", "column of numbers to sort by, the highest first: easy to hard")
    option(parser, "--band", "", "with --by: only rows between these bounds, as 0.2,0.8")
    switch(parser, "--ascending", "with --by: the lowest first")
    arguments.for_machines(parser)
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..dataset import rows
    from ..dataset.mix import Source, mix, write_order

    _refuse_idle(given)
    sources = [Source.parse(text) for text in given.sources]
    read = [source.rows for source in sources]
    arguments.refuse_existing(given, given.out, given.order_out, read=read)
    rows.kind_of(given.out)
    with counting("rows read") as count:
        mixture = mix(
            sources,
            given.mode,
            seed=given.seed,
            count=given.count,
            order=given.order,
            allow_unknown=given.allow_unknown,
            keep_order=given.keep_order,
            by=given.by,
            band=_band(given.band),
            ascending=given.ascending,
            on_row=count,
        )
    if not len(mixture):
        within = f": none has {given.by!r} within {given.band}" if given.band else ""
        raise UsageError(f"the mixture has no rows{within}; nothing is written")
    with counting("rows written") as count:
        rows.write(counted(mixture, count), given.out)
    if given.order_out:
        write_order(mixture.ids, given.order_out)
    _print(given, mixture)
    return DONE


def _refuse_idle(given: argparse.Namespace) -> None:
    """Raise UsageError for an option that would change nothing."""
    if given.ascending and not given.by:
        raise UsageError("--ascending is of --by")
    if given.keep_order and given.mode != "weighted":
        raise UsageError("--keep_order is of --mode weighted")
    if given.allow_unknown and given.order is None:
        raise UsageError("--allow_unknown is of --order")


def _band(text: str) -> tuple[float, float] | None:
    if not text:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"a band is two numbers, as 0.2,0.8, not {text!r}") from None
    return low, high


def _print(given: argparse.Namespace, mixture: Mixture) -> None:
    """How much of each source is in it, and what the order file was worth."""
    lines, order = [], None
    for part in mixture.coverage:
        share = f"{part.distinct / part.rows:.1%}" if part.rows else "nothing there"
        again = part.taken - part.distinct
        more = f", {again} of them once more" if again else ""
        lines.append(f"  {plain(part.name)}: {part.taken} of {part.rows} rows ({share}){more}")
    if ordered := mixture.ordered:
        known = ordered.lines - ordered.unknown
        order = {name: getattr(ordered, name) for name in ("lines", "unknown", "repeated")}
        lines.append(
            f"  order file: {known} of {ordered.lines} ids found, {ordered.repeated} repeated"
        )
        if ordered.unknown:
            print(f"{ordered.unknown} ids of the order file are in no source", file=sys.stderr)
    values = {"rows": len(mixture), "sources": mixture.coverage, "order": order}
    lines.append(f"rows: {len(mixture)}, in {given.out}")
    tell(given, {**values, "out": given.out, "order_out": given.order_out}, *lines)
