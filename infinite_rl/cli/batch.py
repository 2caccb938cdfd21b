"""`infinite-rl batch`: go on with a run in batches, or look at it."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from ..errors import StoreError, UsageError
from . import arguments, generate, parsed
from .terminal import DONE, UNDER_WAY, tell

_LONGEST_WAIT_S = 86_400


def add(verbs: arguments.Verbs) -> None:
    batch = verbs.add_parser("batch", help="go on with a run in batches, or look at it")
    ways = batch.add_subparsers(required=True, metavar="WAY")
    status = ways.add_parser(
        "status",
        help="the batches that are under way, by the journal",
        epilog="Example: infinite-rl batch status data. Exit code: 0 no batch is under way, 1 not "
        "done, 2 wrong usage, 3 a batch is under way.",
    )
    arguments.out_dir(status)
    arguments.for_machines(status)
    status.set_defaults(verb=_status)
    resume = ways.add_parser(
        "resume",
        help="keep what has come down, judge it, and send up what is still owed",
        epilog="Example: infinite-rl batch resume data --wait 600. Exit code: 3 a batch is under "
        "way; else as `generate`.",
    )
    arguments.out_dir(resume)
    resume.add_argument(
        "--wait",
        type=float,
        default=0.0,
        metavar="S",
        help="look again every S seconds until the target is reached (default: look once)",
    )
    arguments.for_machines(resume, "a JSON object a look, as `generate` does,")
    resume.set_defaults(verb=_resume)


def _status(given: argparse.Namespace) -> int:
    from ..inference.journal import batches

    there = [batch for batch in batches(given.out_dir) if batch.slots]
    lines = [
        f"{batch.name or 'not named yet'}: {len(batch.slots)} calls to come down" for batch in there
    ]
    batches_up = [{"name": batch.name or None, "calls": len(batch.slots)} for batch in there]
    tell(given, {"batches": batches_up}, *(lines or ["no batch is under way"]))
    return UNDER_WAY if there else DONE


def _resume(given: argparse.Namespace) -> int:
    if not 0 <= given.wait <= _LONGEST_WAIT_S:
        raise UsageError(f"--wait must be between 0 and {_LONGEST_WAIT_S} seconds")
    again = _begun(given.out_dir / generate.ARGUMENTS)
    again.out_dir = given.out_dir  # which may have been moved
    again.json, again.told = given.json, given.told
    while (code := generate.run(again)) == UNDER_WAY and given.wait:
        time.sleep(given.wait)
    return code


def _begun(path: Path) -> argparse.Namespace:
    """What `generate` was told when it began the run."""
    try:
        words = json.loads(path.read_text(encoding="utf-8"))
        if not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
            raise ValueError("it is no list of words")
        again = parsed(words)
    except FileNotFoundError:
        raise UsageError(f"there is no {path}: no run in batches was begun here") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot read {path}: {error}") from None
    if again.verb != generate.run:
        raise StoreError(f"{path} is damaged: it is not what `generate` was told")
    return again
