"""`infinite-rl export`: rows in the columns that a trainer reads, with a dataset card."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import arguments
from .terminal import DONE, counted, counting, one_line, show_logs, tell

if TYPE_CHECKING:
    from ..export import Statistics


def add(verbs: arguments.Verbs) -> None:
    from ..export.formats import FORMATS

    parser = verbs.add_parser(
        "export",
        help="write rows in the columns that a trainer reads, with a dataset card",
        description="Write the rows of SOURCE (a run's folder, CSV, JSONL, JSON or Parquet) into "
        "the new folder OUT: one file a split, and README.md, the dataset card. Each row carries "
        "its ground truth as one text, by which the rewards of this package judge. All rows are "
        "checked first; where one cannot be exported it is named, and nothing is written.",
        epilog="Example: infinite-rl export out --to verl -o for_verl --license cc-by-4.0. "
        "Then datasets.load_dataset('for_verl') loads it. "
        "Exit code: 0 done, 1 not done (the reason is printed), 2 wrong usage.",
    )
    parser.add_argument("source", type=Path, metavar="SOURCE", help="the rows")
    parser.add_argument(
        "--to", required=True, choices=list(FORMATS), metavar="FORMAT", help=", ".join(FORMATS)
    )
    parser.add_argument(
        *("-o", "--out"), required=True, type=Path, metavar="OUT", help="the folder to write"
    )
    arguments.option(parser, "--val", None, "rows of another file, as the split validation", Path)
    arguments.option(parser, "--split", "train", "the split of rows without a column split")
    system = "instructions before each task; '' for none (default: how to give the answer)"
    arguments.option(parser, "--system", None, system)
    plain = "texts in the place of messages, for a model without a chat template (trl, openrlhf, "
    arguments.switch(parser, "--plain", plain + "sft)")
    failed = "keep rows whose responses did not pass also where a model learns from these (sft, "
    arguments.switch(parser, "--failed", failed + "sharegpt)")
    arguments.option(parser, "--name", None, "what the card calls the data set (default: OUT)")
    arguments.option(parser, "--license", "unknown", "the licence's identifier, as apache-2.0")
    run_help = (
        "the run's folder that the rows come from, for the card (default: SOURCE, if it is one)"
    )
    arguments.option(parser, "--run", None, run_help, Path)
    arguments.switch(parser, "--overwrite", "replace an earlier export in OUT")
    arguments.for_machines(parser)
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..export import About, export

    show_logs()
    about = About(given.name or given.out.absolute().name, given.license, _manifest(given))
    with counting("rows exported") as count:
        statistics = export(
            counted(_rows(given), count),
            given.to,
            given.out,
            split=given.split,
            system=given.system,
            plain=given.plain,
            failed=given.failed,
            about=about,
            overwrite=given.overwrite,
        )
    if statistics.left_out:
        why = "left out, since their responses did not pass"
        print(f"{why}: {statistics.left_out} (--failed keeps them)", file=sys.stderr)
    elif statistics.not_passed:
        among = "responses among them that did not pass (status)"
        print(f"{among}: {statistics.not_passed}", file=sys.stderr)
    _warn_of_types(statistics, given.to)
    splits = ", ".join(f"{split}: {rows}" for split, rows in statistics.splits.items())
    tell(
        given,
        {
            "rows": statistics.rows,
            "splits": statistics.splits,
            "left_out": statistics.left_out,
            "not_passed": statistics.not_passed,
            "types": sorted({kind for kind, _ in statistics.kinds}),
            "columns": list(statistics.columns),
            "out": given.out,
        },
        f"rows exported: {statistics.rows} ({splits})",
        f"in {given.out}; what they are, and how to train on them, is in its README.md",
    )
    return DONE


def _warn_of_types(statistics: Statistics, to: str) -> None:
    """Say which rows a trainer can judge by a reward of the user's own alone."""
    from ..export import FORMATS
    from ..reward_functions import REWARDS

    types = {kind for kind, _ in statistics.kinds} - set(REWARDS)
    if types and FORMATS[to].make:
        named = one_line(", ".join(sorted(types)))
        print(f"types without a reward in this package: {named}", file=sys.stderr)


def _manifest(given: argparse.Namespace) -> dict[str, Any]:
    from ..errors import UsageError
    from ..manifest import MANIFEST, read_manifest
    from ..store import DATASET

    if given.run:
        if not (given.run / MANIFEST).is_file():
            raise UsageError(f"there is no {MANIFEST} in {given.run}")
        return read_manifest(given.run)
    source: Path = given.source  # only of a run's own file is it certain that it goes with run.json
    folder = source.parent if source.name == DATASET else source
    return read_manifest(folder) if (folder / DATASET).is_file() else {}


def _rows(given: argparse.Namespace) -> Iterator[Mapping[str, Any]]:
    from ..dataset.rows import read_some

    yield from read_some(given.source)
    if given.val:
        yield from ({**row, "split": "validation"} for row in read_some(given.val))
