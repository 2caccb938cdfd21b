"""`infinite-rl difficulty`: how often a model solves each row."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InfiniteRLError, Stopped, UsageError
from ..providers import AUTO, DEFAULT_MODEL, PROVIDERS, resolve_provider
from . import arguments
from .terminal import DONE, INTERRUPTED, counting, show_logs, stop_on_signals

if TYPE_CHECKING:
    from ..dataset.difficulty import Rating


_SOLVERS = [name for name, row in PROVIDERS.items() if row.asks_a_model]


def add(verbs: arguments.Verbs) -> None:
    parser = verbs.add_parser(
        "difficulty",
        help="how often a model solves each row: its pass rate, with a confidence interval",
        description="Have a model solve each row of FILE some times from its prompt alone, judge "
        "what it says, and write the rows with attempts, solved, pass_rate, pass_rate_low and "
        "pass_rate_high (Wilson's interval, 95 %). Answers are kept as they come, in OUT.calls: "
        "run it again after an interruption, and it goes on; none is paid for twice. Rows that are "
        "rated before all are can be read there (rated.jsonl).",
        epilog="Example: infinite-rl difficulty data/dataset.csv --attempts 8 --max_cost 5 "
        "--keep attempts.jsonl -o rated.jsonl. Exit code: 0 done, 1 not done, 2 wrong usage, 130 "
        "interrupted.",
    )
    arguments.rows_in(parser)
    arguments.rows_out(parser)
    option = partial(arguments.option, parser)
    option("--attempts", 4, "times that each row is solved", int)
    option("--keep", None, "write the attempts themselves here, with their scores", Path)
    option("--calls", None, "folder of the answers (default: OUT.calls)", Path)
    option("--provider", AUTO, f"{AUTO}, {', '.join(_SOLVERS)}")
    option("--model_name", None, f"the model that solves (default: {DEFAULT_MODEL}, of gemini)")
    option("--base_url", None, "where requests go, such as http://localhost:8000/v1")
    option("--system", None, "what it is told before each prompt (default: the answer's form)")
    option("--seed", 0, "of the attempts: another one makes others", int)
    option("--temperature", None, "passed to the model", float)
    option("--max_output_tokens", None, "passed to the model", int)
    option("--threads", 8, "rows that are solved at a time", int)
    option("--rpm", None, "requests a minute, at most", int)
    option("--tpm", None, "tokens a minute, at most", int)
    option("--max_concurrency", None, "requests in flight, at most (default: threads)", int)
    option("--price", None, "dollars for a million tokens: input,output (default: from a table)")
    option("--max_cost", None, "dollars that all calls of the folder may cost", float)
    arguments.timeout(parser)
    arguments.switch(parser, "--dry_run", "show what it may cost; ask and write nothing")
    parser.set_defaults(verb=run)


def run(given: argparse.Namespace) -> int:
    from ..dataset.difficulty import difficulty
    from ..limits import Limits

    show_logs()
    if not given.dry_run:
        arguments.refuse_existing(given, given.out, given.keep, read=[given.source])
    if given.threads < 1:
        raise UsageError(f"threads must be at least 1, not {given.threads}")
    provider, model = _chosen(given)
    print(f"solver: {model}, asked through {provider}", file=sys.stderr)
    with stop_on_signals() as stop, counting("rows rated") as count:
        try:
            found = difficulty(
                given.source,
                given.out,
                provider=provider,
                model=model,
                attempts=given.attempts,
                keep=given.keep,
                calls=given.calls,
                system=given.system,
                seed=given.seed,
                temperature=given.temperature,
                max_output_tokens=given.max_output_tokens,
                base_url=given.base_url,
                price=given.price,
                max_cost=given.max_cost,
                dry_run=given.dry_run,
                threads=given.threads,
                timeout=given.timeout,
                limits=Limits(given.rpm, given.tpm, given.max_concurrency),
                stop=stop,
                on_row=count,
            )
        except Stopped:
            print("stopped; what was answered is kept: run it again to go on", file=sys.stderr)
            _show_rated(given)
            return INTERRUPTED
        except InfiniteRLError:
            _show_rated(given)
            raise
    _print(found, given)
    return DONE


def _show_rated(given: argparse.Namespace) -> None:
    """Where the rows are that were rated before a run ended early."""
    from ..dataset.difficulty import RATED, folder_of

    rated = folder_of(given.out, given.calls) / RATED
    if rated.is_file() and rated.stat().st_size and not given.dry_run:
        print(f"the rows that are rated already are in {rated}", file=sys.stderr)


def _chosen(given: argparse.Namespace) -> tuple[str, str]:
    """The provider and its model."""
    provider = resolve_provider(given.provider)
    if not PROVIDERS[provider].asks_a_model:
        raise UsageError(
            f"{provider} solves no tasks: set GEMINI_API_KEY, or give --provider and --model_name"
        )
    if given.model_name is None and provider == "openai_compatible":
        raise UsageError("say which model to ask: --model_name")
    return provider, given.model_name or DEFAULT_MODEL


def _print(found: Rating, given: argparse.Namespace) -> None:
    from ..display import estimated, spent

    if found.estimate:
        print(estimated(found.estimate))
        return
    sometimes = found.rows - found.always - found.never - found.unrated
    print(
        f"rows rated: {found.rows}, solved always {found.always}, sometimes {sometimes}, "
        f"never {found.never}, not to be judged {found.unrated}"
    )
    print(f"calls answered: {found.calls}; in all: {spent(found.spending)}")
    print(f"in {given.out}" + (f", attempts in {given.keep}" if given.keep else ""))
