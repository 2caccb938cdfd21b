"""`infinite-rl run-examples`: does this installation work?"""

from __future__ import annotations

import argparse

from .arguments import Verbs


def add(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "run-examples",
        help="score the packaged examples: does this installation work?",
        description="Score the packaged examples with the real rewards and sandboxes.",
    )
    parser.set_defaults(verb=run)


def run(_: argparse.Namespace) -> int:
    from ..run_examples import main

    return main()
