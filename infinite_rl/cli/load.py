"""`infinite-rl load`: a public benchmark as rows."""

from __future__ import annotations

import argparse

from ..errors import UsageError
from . import arguments
from .terminal import DONE, tell


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "load",
        help="a public benchmark as rows",
        description="Write a benchmark as rows: each has a prompt, an answer, a response (the "
        "reference solution), the type that names its reward, and an id that stays.",
        epilog="Examples: infinite-rl load gsm8k --from test.jsonl -o gsm8k.jsonl; "
        "infinite-rl load gsm8k --pin --seed 42 -o artifacts/gsm8k. "
        "Exit code: 0 done, 1 not done (the reason is printed), 2 wrong usage.",
    )
    names = "gsm8k, math, mbpp, humaneval, ifeval, or reasoning_gym:TASK, which is made here"
    parser.add_argument("name", metavar="NAME", help=names)
    where = "its file as published, s3://BUCKET/KEY, or hf:NAME[:CONFIG]:SPLIT of the Hugging Face "
    arguments.option(parser, "--from", "", where + "hub; without it, its data set on the hub")
    arguments.option(parser, "--split", "", "the split, where the file's name does not say it")
    count = "how many rows of a reasoning_gym task (default: 100)"
    arguments.option(parser, "--count", None, count, int)
    arguments.option(
        parser, "--seed", None, "of a reasoning_gym task, or of --pin (default: 0)", int
    )
    what = (
        "gsm8k alone: make the folder FILE with train.jsonl, val.jsonl, test.jsonl and their hashes"
    )
    arguments.switch(
        parser, "--pin", what + ", or see that it is unchanged; --from is a folder, too"
    )
    what = "rows of train that --pin puts into val (default: 512)"
    arguments.option(parser, "--validation", None, what, int)
    arguments.rows_out(parser)
    arguments.for_machines(parser)
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..dataset.loaders import load, reasoning_gym_rows
    from ..dataset.rows import write

    if given.pin:
        return _pin(given)
    if given.validation is not None:
        raise UsageError("--validation is of --pin")
    arguments.refuse_existing(given, given.out)
    kind, _, task = given.name.partition(":")
    source = vars(given)["from"]
    if kind == "reasoning_gym":
        if source or given.split:
            raise UsageError("a reasoning_gym task is made here: no --from, no --split")
        rows = reasoning_gym_rows(
            task, 100 if given.count is None else given.count, given.seed or 0
        )
    else:
        if given.count is not None:
            raise UsageError("--count is of a reasoning_gym task: a benchmark is loaded whole")
        if given.seed is not None:
            raise UsageError("--seed is of a reasoning_gym task, or of --pin")
        rows = load(given.name, source, split=given.split)
    count = write(rows, given.out)
    tell(given, {"rows": count, "out": given.out}, f"rows: {count}, in {given.out}")
    return DONE


def _pin(given: argparse.Namespace) -> int:
    from ..dataset.loaders import VALIDATION, pin_gsm8k

    if given.name != "gsm8k" or given.split:
        raise UsageError("--pin makes all splits of gsm8k, and of no other benchmark")
    if given.count is not None:
        raise UsageError("--count is of a reasoning_gym task: all of gsm8k is pinned")
    validation = VALIDATION if given.validation is None else given.validation
    source, counts = vars(given)["from"], {"validation": validation, "seed": given.seed or 0}
    found = pin_gsm8k(given.out, source, **counts, overwrite=given.overwrite)
    rows = ", ".join(f"{name}: {count}" for name, count in found.rows.items())
    values = {"rows": sum(found.rows.values()), "splits": found.rows, "out": given.out}
    tell(given, values, f"rows pinned: {rows}, in {given.out}")
    return DONE
