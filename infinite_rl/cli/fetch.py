"""`infinite-rl fetch`: whatever a URI names, on this machine."""

from __future__ import annotations

import argparse

from . import arguments
from .terminal import DONE, counting, tell


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "fetch",
        help="bring a file or a folder here from S3 or the hub, whole or not at all",
        description="Fetch what URI names into the cache, and print where it is: s3://BUCKET/KEY, "
        "s3://BUCKET/FOLDER/ (as `publish` left it), hf:NAME[:CONFIG]:SPLIT, "
        "hf-model:NAME[@REVISION]. What is there already in the same version is not fetched again. "
        "S3 is asked with boto3's own settings (AWS_PROFILE, AWS_ENDPOINT_URL, ...).",
        epilog="Example: infinite-rl fetch s3://bucket/checkpoints/job/run_final/. Exit code: 0 "
        "done, 1 not done, 2 wrong usage.",
    )
    parser.add_argument("uri", metavar="URI", help="what to fetch")
    arguments.for_machines(parser)
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..storage import Transfer, fetch

    with counting("MB fetched") as count:
        path = fetch(given.uri, Transfer(on_progress=lambda done, _: count(done // 10**6)))
    tell(given, {"uri": given.uri, "path": path}, str(path))
    return DONE
