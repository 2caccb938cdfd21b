"""The command line: arguments in, one call a verb, one clear line for whatever went wrong.

A verb is a module of this package and a row of `VERBS`. Its `add` gives the parser its help and
arguments, and its `run` as the default of "verb"; `run` makes one call of the library, prints what
came of it, and returns an exit code. A verb loads its own module, `infinite-rl --help` all of them:
what is heavy is imported inside `run`. What came of it goes through `terminal.tell`, which prints
lines for people, or under --json an object for machines.

Options have underscores in their names, as in `--out_dir`; dashes in their places are the same. An
abbreviation is refused, with the full name: a later option could give it another meaning.

Exit codes: 0 done, 1 not done (the reason is printed), 2 wrong usage, 3 a batch is under way, 130
interrupted. No verb at all is wrong usage, answered with the help on stderr.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from .. import __version__
from ..errors import InfiniteRLError, UsageError, shown
from ..settings import nearest
from .arguments import spelt
from .terminal import INTERRUPTED, NOT_DONE, WRONG_USAGE, plain, stdout_for_machines

# The modules of the verbs, in the order of the help.
VERBS = (
    "generate",
    "batch",
    "rescore",
    "verify",
    "load",
    "score",
    "difficulty",
    "traces",
    "train",
    "timeline",
    "evaluate",
    "submit",
    "jobs",
    "mix",
    "pairs",
    "export",
    "dedup",
    "decontaminate",
    "split",
    "report",
    "fetch",
    "publish",
    "run_examples",
    "warm_up",
    "doctor",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a folder's name may not be ASCII
    try:
        given = parsed(sys.argv[1:] if argv is None else argv)
        run: Callable[[argparse.Namespace], int] = given.verb
        with stdout_for_machines(given):
            code = run(given)
        if sys.stdout is not None:  # as it is where the caller has closed it
            sys.stdout.flush()  # here, where it can still be dealt with that nobody reads it
        return code
    except InfiniteRLError as error:
        print(f"error: {plain(str(error))}", file=sys.stderr)
        return WRONG_USAGE if isinstance(error, UsageError) else NOT_DONE
    except ModuleNotFoundError as error:
        print(f"error: {_how_to_install(error)}", file=sys.stderr)
        return NOT_DONE
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader has left, as `head` does
        _discard_output()
        return NOT_DONE
    except OSError as error:  # as from a print on a full disk
        what = f"cannot use {error.filename}: " if error.filename else ""
        print(f"error: {plain(f'{what}{error.strerror or error}')}", file=sys.stderr)
        _discard_output()
        return NOT_DONE


_NEGATIVE = re.compile(r"-\.?[0-9][-+0-9.eE,]*")


class _Parser(argparse.ArgumentParser):
    """Says in one line what cannot be read: of an option that there is not, which may be meant."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)
        self.register("type", Path, _path)
        self._negative_number_matcher = _NEGATIVE  # "-1,2" is a value, which its option refuses

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USAGE, f"{self.prog}: error: {message} (see {self.prog} --help)\n")

    def parse_known_args(  # type: ignore[override]  # its overloads are for other namespaces
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        said, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}{self._meant(rest[0])}")
        return said, rest

    def _meant(self, word: str) -> str:
        """The options that a word abbreviates, else the one that is spelt nearly so."""
        name, options = word.partition("=")[0], sorted(set(self._option_string_actions))
        meant = [each for each in options if len(name) > 2 and each.startswith(name)]
        meant = meant[:5] or get_close_matches(name, options, 1, 0.75)
        return f"; did you mean {' or '.join(meant)}?" if meant else ""


def _path(text: str) -> Path:
    """A path that was given: of an empty text, such as an unset variable, it would be "."."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return Path(text)


def parser(names: Sequence[str] = VERBS) -> argparse.ArgumentParser:
    """What reads a command line, with the verbs of these modules."""
    found = _Parser(
        prog="infinite-rl",
        description="Make reinforcement-learning data that is proven before it is kept.",
        epilog="In the name of an option a dash is an underscore: --num-samples is --num_samples.",
    )
    found.add_argument("--version", action="version", version=f"infinite-rl {__version__}")
    verbs = found.add_subparsers(required=True, metavar="VERB")
    for name in names:
        import_module(f".{name}", __name__).add(verbs)
    return found


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """What the words of a command line say: `verb` is what to run; `words` are kept.

    Raises:
        SystemExit: there are none, they ask for help, or cannot be read; argparse has then said
            what there is.
        UsageError: there is no such verb; the nearest one is named.
    """
    if not words:
        parser().print_help(sys.stderr)
        raise SystemExit(WRONG_USAGE)
    modules = {name.replace("_", "-"): name for name in VERBS}
    verb = words[0] if words and not words[0].startswith("-") else None
    if verb is not None and verb not in modules:
        hint = nearest(verb, modules) or "; infinite-rl --help lists those that there are"
        raise UsageError(f"there is no verb {shown(verb)}{hint}")
    # One verb's parser is a twentieth of the work of all.
    return parser([modules[verb]] if verb else VERBS).parse_args(
        spelt(words), argparse.Namespace(words=list(words))
    )


def _how_to_install(error: ModuleNotFoundError) -> str:
    return (
        f"{error.name} is not installed for {sys.executable}: use the Python of the virtual "
        "environment that the README sets up (.venv/bin/python), or run `pip install -e .` in the "
        "project's folder"
    )


def _discard_output() -> None:
    """Let nothing more be written, or the exit would fail on what is still in the buffers."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            os.dup2(nowhere, stream.fileno())
