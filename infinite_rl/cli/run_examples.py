"""`infinite-rl run-examples`: does this installation work?"""

from __future__ import annotations

import argparse

from . import arguments
from .terminal import DONE, NOT_DONE, show_logs, tell


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "run-examples",
        help="score the packaged examples: does this installation work?",
        description="Score the packaged examples with the real rewards and sandboxes.",
        epilog="Example: infinite-rl run-examples. Exit code: 0 all pass, 1 one does not, 2 wrong "
        "usage.",
    )
    arguments.for_machines(parser)
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..run_examples import is_pass, judged, run_examples

    show_logs()  # a sandbox that is compiled on this machine for the first time says so
    if not given.json:
        return DONE if run_examples() else NOT_DONE
    examples = [(name, score, is_pass(score)) for name, score in judged()]
    values = [{"example": name, "passed": ok, "score": score} for name, score, ok in examples]
    tell(given, {"examples": values})
    return DONE if examples and all(ok for _, _, ok in examples) else NOT_DONE
