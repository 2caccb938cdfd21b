"""`infinite-rl pairs`: chosen and rejected completions of a prompt, for preference training."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice

from . import arguments
from .terminal import DONE, NOT_DONE, counting, show_logs, tell


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "pairs",
        help="chosen and rejected completions of a prompt, for preference training (DPO)",
        description="Put completions that passed beside such as failed at the same prompt: from "
        "the folder of a run (its accepted rows, and the attempts that failed before them, judged "
        "again by the accepted row's answer), and from rows with several scored completions of one "
        "prompt. Columns: prompt, chosen, rejected, chosen_score, rejected_score, type, id, "
        "source.",
        epilog="Example: infinite-rl pairs data attempts.jsonl --most 2 -o pairs.jsonl. Exit code: "
        "0 done, 1 there are no pairs, or not done, 2 wrong usage.",
    )
    parser.add_argument(
        "sources", nargs="+", metavar="SOURCE", help="the folder of a run, or a file of scored rows"
    )
    arguments.rows_out(parser)
    option = arguments.option
    option(parser, "--most", 1, "pairs of one prompt, at most", int)
    option(parser, "--seed", 0, "decides which completions are paired", int)
    option(parser, "--completion", "", "column of scored rows (default: completion, else response)")
    arguments.timeout(parser)
    arguments.for_machines(parser)
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..dataset import rows
    from ..dataset.pairs import PairCounts, pairs

    show_logs()
    arguments.refuse_existing(given, given.out, read=given.sources)
    rows.kind_of(given.out)
    counts, sources = PairCounts(), Counter[str]()
    made = pairs(
        given.sources,
        most=given.most,
        seed=given.seed,
        completion=given.completion,
        timeout=given.timeout,
        counts=counts,
    )
    with counting("pairs made") as count:

        def counted() -> Iterator[rows.Row]:
            for pair in made:
                sources[pair["source"]] += 1
                count(sources.total())
                yield pair

        all_pairs = counted()
        first = list(islice(all_pairs, 1))  # an empty file would be in the next call's way
        total = rows.write(chain(first, all_pairs), given.out) if first else 0
    parts = ", ".join(f"{source} {number}" for source, number in sources.most_common())
    nothing = "nothing is written: no prompt has a completion that passed and a worse one"
    tell(
        given,
        {"pairs": total, "by_source": sources, **vars(counts), "out": given.out if total else None},
        f"pairs: {total}{f' ({parts})' if parts else ''}",
        f"prompts: {counts.prompts}, with a pair: {counts.paired}",
        f"in {given.out}" if total else nothing,
    )
    return DONE if total else NOT_DONE
