"""`infinite-rl warm-up`: compile the sandboxes ahead of their first use."""

from __future__ import annotations

import argparse
import sys
import time

from . import arguments
from .terminal import DONE, NOT_DONE, show_logs, tell


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "warm-up",
        help="compile the sandboxes for this machine now, not at their first use",
        description="Compile the sandboxes for this machine into the cache ($INFINITE_RL_CACHE, "
        "else the user's cache folder), and load each once.",
        epilog="Example: infinite-rl warm-up python. Exit code: 0 all are in the cache, 1 one is "
        "not (the reason is printed), 2 wrong usage, 130 interrupted.",
    )
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE", help="by default all")
    arguments.for_machines(parser, "a JSON object a line")
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..sandbox.engine import is_compiled
    from ..sandbox.runtimes import RUNTIMES, load_guest, runtime_named

    show_logs()
    chosen = [runtime_named(name.lower()) for name in given.languages] or RUNTIMES
    code = DONE
    for runtime in chosen:
        there, started = is_compiled(runtime), time.monotonic()
        load_guest(runtime)
        seconds = time.monotonic() - started
        said = f"{runtime.name}: compiled in {seconds:.1f} seconds"
        if there:
            said = f"{runtime.name}: already compiled, loaded in {seconds:.2f} seconds"
        elif not is_compiled(runtime):
            print(f"{runtime.name}: compiled, but it cannot be kept", file=sys.stderr)
            code = NOT_DONE
            continue
        values = {"runtime": runtime.name, "was_compiled": there, "seconds": seconds}
        tell(given, values, said, flush=True)
    return code
