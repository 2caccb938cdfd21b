"""`infinite-rl publish`: a folder to S3, or elsewhere on this machine, whole or not to be seen."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import arguments
from .terminal import DONE, counting, tell


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "publish",
        help="copy a folder to S3, whole or not to be seen: a model, a data set, results",
        description="Copy the files of FOLDER to URI (s3://BUCKET/FOLDER/, or a folder of this "
        "machine), see that all are there, and write a marker last. Without its marker nobody "
        "takes the folder for whole. Run it again after an interruption.",
        epilog="Example: infinite-rl publish models/qwen s3://bucket/models/qwen/. Exit code: 0 "
        "done, 1 not done, 2 wrong usage.",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="what to publish")
    parser.add_argument("uri", metavar="URI", help="where it goes")
    arguments.for_machines(parser)
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..storage import Transfer, publish

    with counting("MB published") as count:
        found = publish(
            given.folder,
            given.uri,
            transfer=Transfer(on_progress=lambda done, _: count(done // 10**6)),
        )
    tell(given, {"folder": given.folder, "uri": found.uri}, found.uri)
    return DONE
