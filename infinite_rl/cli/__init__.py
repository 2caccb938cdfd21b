"""The command line: a config from flags and a file, one call a verb, one line for an error.

A verb is a subclass of `verb.Verb` in a module of this package, and a row of `VERBS`. Its keys are
its flags, and its docstring is its help. A command loads its own module alone, `infinite-rl --help`
none. Output goes through `terminal.Emit`: lines for people, or with --json an object for machines.

Flags have underscores; dashes in their place are the same. An abbreviation is refused, with the
full name: a later flag could give it another meaning.

Exit codes: 0 done, 1 not done (the reason is printed), 2 wrong usage, 3 a batch is in progress, 130
interrupted.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import InfiniteRLError, NoColumn, UsageError, nearest, shown
from .terminal import INTERRUPTED, NOT_DONE, WRONG_USAGE, note, output, plain, show_logs

if TYPE_CHECKING:
    from .verb import Verb

# Each verb's help and class, or its own table of verbs.
Row = tuple[str, "str | Mapping[str, Row]"]
# fmt: off
VERBS: Mapping[str, Row] = {
    "generate": ("generate verified rows, with a model or offline", "generate:Generate"),
    "verify": ("verify a data set offline, or rescore its journal", "verify:Verify"),
    "solve": ("sample a model's solutions: rate difficulty, collect traces", {
        "difficulty": ("estimate difficulty: pass rate over n samples per row", "solve:Difficulty"),
        "traces": ("collect a teacher's reasoning and answers, for SFT", "solve:Traces"),
    }),
    "truth": ("estimate the share of right answers in a data set", "truth:Truth"),
    "data": ("load, clean, split and mix data sets", {
        "load": ("convert a public benchmark to rows", "data:Load"),
        "dedup": ("remove duplicates and near-duplicates", "data:Dedup"),
        "decontaminate": ("remove rows that leak a benchmark", "data:Decontaminate"),
        "split": ("split into train, validation and test without leaks", "data:Split"),
        "mix": ("mix sources into one order, or a curriculum", "data:Mix"),
        "pairs": ("build preference pairs for DPO", "data:Pairs"),
    }),
    "strengthen": ("add tests to coding rows until wrong programs fail", "strengthen:Strengthen"),
    "audit": ("audit any reward function, or the rows that it judges", {
        "TARGET": ("find the false accepts and rejects of rewards", "audit:Audit"),
        "rows": ("find weak tests, contradicted golds, leaks, duplicates", "audit:Rows"),
        "replay": ("call a reward again with the examples of a report", "audit:Replay"),
    }),
    "score": ("score completions with the rewards", "score:Score"),
    "serve": ("serve the rewards and the sandbox over HTTP", "serve:Serve"),
    "export": ("write the columns that a trainer reads, with a dataset card", "export:Export"),
    "mcp": ("serve sandboxed tools and tasks over MCP", "mcp:Mcp"),
    "view": ("browse rows on a local page: search, notes, comparison", "view:View"),
    "report": ("make one HTML page about a data set", "report:Report"),
    "train": ("fine-tune a model by SFT or GRPO on verified rows", {
        "sft": ("supervised fine-tuning on the rows' responses", "train:Sft"),
        "grpo": ("sample completions and learn from their rewards", "train:Grpo"),
        "demo": ("SFT on partly wrong labels, then GRPO, in minutes", "train:Demo"),
        "recipe": ("prepare rows, evaluate, train, evaluate, compare", "train:Recipe"),
        "tiny-model": ("make a tiny model and rows, to try recipes offline", "train:TinyModel"),
        "timeline": ("show where the time of a run went", "train:Timeline"),
    }),
    "evaluate": ("evaluate a model: pass@k with intervals, format errors", "evaluate:Evaluate"),
    "submit": ("train on SageMaker: upload this folder and start a job", "jobs:Submit"),
    "jobs": ("watch and stop jobs on SageMaker", {
        "list": ("list the newest jobs", "jobs:List"),
        "status": ("show the status of a job", "jobs:Status"),
        "logs": ("print the log of a job", "jobs:Logs"),
        "stop": ("stop a job; it has two minutes to save its work", "jobs:Stop"),
        "policy": ("print the IAM policy that submit and jobs need", "jobs:Policy"),
    }),
    "storage": ("copy models, data sets and checkpoints to and from S3", {
        "fetch": ("download a file or folder from S3 or the hub", "storage:Fetch"),
        "publish": ("upload a folder to S3, all or nothing", "storage:Publish"),
    }),
    "doctor": ("check packages, sandboxes, GPU and keys; compile", "doctor:Doctor"),
    "run-examples": ("score the packaged examples, to test the installation", "doctor:RunExamples"),
}
# fmt: on


@dataclass(frozen=True)
class Command:
    """A command line that was read: the verb, the values of its flags, and its config file."""

    verb: type[Verb]
    flags: Mapping[str, Any]
    file: Path | None
    json: bool
    argv: Sequence[str]

    def config(self) -> Verb:
        """The config of the file and the flags, validated."""
        return self.verb.load(self.flags, self.file)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a folder's name may not be ASCII
    try:
        try:
            command = parse(sys.argv[1:] if argv is None else argv)
            with output(command.json, command.argv) as emit:
                verb = command.config()
                show_logs(verb.log_level)
                try:
                    return verb.run(emit)
                except NoColumn as error:
                    raise UsageError(f"{error}{verb.column_hint(error.columns)}") from None
        finally:  # after a help text, too: here a reader that has left can still be handled
            if sys.stdout is not None and not sys.stdout.closed:  # by the caller, or by a server
                sys.stdout.flush()
    except InfiniteRLError as error:
        note(f"error: {plain(str(error))}")
        return WRONG_USAGE if isinstance(error, UsageError) else NOT_DONE
    except ModuleNotFoundError as error:
        note(f"error: {_how_to_install(error)}")
        return NOT_DONE
    except KeyboardInterrupt:
        note("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader has left, as `head` does
        _discard_output()
        return NOT_DONE
    except OSError as error:  # as from a print on a full disk
        what = f"cannot use {error.filename}: " if error.filename else ""
        note(f"error: {plain(f'{what}{error.strerror or error}')}")
        _discard_output()
        return NOT_DONE


def parse(argv: Sequence[str]) -> Command:
    """Read a command line.

    Raises:
        SystemExit: it asks for help, or its flags cannot be read; argparse has printed why.
        UsageError: there is no such verb; the nearest one is named.
    """
    if not argv:
        parser(load=False).print_help(sys.stderr)
        raise SystemExit(WRONG_USAGE)
    table: str | Mapping[str, Row] = VERBS
    depth = 0
    while isinstance(table, Mapping):
        if len(argv) == depth:
            raise UsageError(f"{' '.join(argv)} needs one of {', '.join(table)}")
        if argv[depth] in ("-h", "--help", "--version"):
            parser(load=False).parse_args(argv[: depth + 1])  # prints, and exits
        if argv[depth] not in table and "TARGET" in table:  # stands for any other word
            table = table["TARGET"][1]
            break
        if argv[depth] not in table:
            hint = nearest(argv[depth], table) or f"; known: {', '.join(table)}"
            raise UsageError(f"there is no verb {shown(' '.join(argv[: depth + 1]))}{hint}")
        table, depth = table[argv[depth]][1], depth + 1
    from ..config import flag_values  # loads pydantic
    from .verb import Parser, fill, normalize_flags

    verb = resolve_name(f"{__name__}.{table}")
    # The usage lists the positional arguments where the table has TARGET.
    leaf = Parser(prog=" ".join(["infinite-rl", *(w for w in argv[:depth] if w != "TARGET")]))
    fill(leaf, verb)
    args = leaf.parse_intermixed_args(normalize_flags(argv[depth:]))
    file = getattr(args, "config", None) if verb.config_file else None
    if file == "":  # an unset variable
        raise UsageError("the name of the config file is empty")
    flags = flag_values(vars(args), verb)
    return Command(verb, flags, file and Path(file), hasattr(args, "json"), list(argv))


def parser(*, load: bool = True) -> argparse.ArgumentParser:
    """A parser of all verbs; without `load`, it has the help of each, and loads no module."""
    whole = argparse.ArgumentParser(
        prog="infinite-rl",
        description="Make verified data for reinforcement learning; score, audit, serve and train "
        "with the same rewards.",
        epilog="infinite-rl VERB --help lists the flags of a verb. Flags may have dashes: "
        "--num-samples is --num_samples. --no_FLAG turns off a switch that a config file turns on.",
    )
    whole.add_argument("--version", action="version", version=f"infinite-rl {__version__}")
    _add(whole, VERBS, load)
    return whole


def _add(whole: argparse.ArgumentParser, table: Mapping[str, Row], load: bool) -> None:
    verbs = whole.add_subparsers(required=True, metavar="VERB")
    for name, (text, target) in table.items():
        each = verbs.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if isinstance(target, Mapping):
            if "TARGET" in target:
                each.epilog = f"infinite-rl {name} TARGET --help lists the options for a TARGET."
            _add(each, target, load)
        elif load:
            from .verb import fill

            fill(each, resolve_name(f"{__name__}.{target}"))


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
