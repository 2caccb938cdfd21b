"""`infinite-rl doctor`: what is installed, compiled and reachable, and what to do."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from .arguments import Verbs
from .terminal import DONE, NOT_DONE, one_line


def add(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "doctor",
        help="say what is installed, compiled and reachable, and what to do",
        description="Look at this installation: packages, extras, sandboxes (compiled, and tried), "
        "GPU and keys. No value of a key is shown.",
        epilog="Exit code: 0 what everything needs is there, 1 something of it is broken, 2 wrong "
        "usage. Extras, keys and GPUs may be absent.",
    )
    parser.add_argument(
        "--online", action="store_true", help="ask also whether Gemini, OpenAI and the hub answer"
    )
    parser.add_argument("--json", action="store_true", help="a JSON object a line, for machines")
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..doctor import findings

    code = DONE
    for one in findings(given.online):
        if one.state == "broken":
            code = NOT_DONE
        if given.json:
            print(json.dumps(asdict(one)), flush=True)
            continue
        print(f"{one.state:<8}{one.part:<25}{one_line(one.said)}", flush=True)
        if one.todo:
            print(f"{'':<8}{'':<25}-> {one.todo}", flush=True)
    return code
