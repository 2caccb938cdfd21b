"""`infinite-rl doctor`: what is installed, compiled and reachable, and what to do."""

from __future__ import annotations

import argparse

from . import arguments
from .terminal import DONE, NOT_DONE, one_line, tell


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "doctor",
        help="say what is installed, compiled and reachable, and what to do",
        description="Look at this installation: packages, extras, sandboxes (compiled, and tried), "
        "GPU and keys. No value of a key is shown.",
        epilog="Example: infinite-rl doctor --online. Exit code: 0 what everything needs is there, "
        "1 something of it is broken, 2 wrong usage. Extras, keys and GPUs may be absent.",
    )
    arguments.switch(parser, "--online", "ask also whether Gemini, OpenAI and the hub answer")
    arguments.for_machines(parser, "a JSON object a line")
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..doctor import findings

    code = DONE
    for one in findings(given.online):
        if one.state == "broken":
            code = NOT_DONE
        todo = [f"{'':<8}{'':<25}-> {one.todo}"] if one.todo else []
        line = f"{one.state:<8}{one.part:<25}{one_line(one.said)}"
        tell(given, one, line, *todo, flush=True)
    return code
