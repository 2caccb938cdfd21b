"""What the verbs share that have a model solve rows: options, whom they ask, and what is said."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InfiniteRLError, Stopped, UsageError
from ..providers import AUTO, DEFAULT_MODEL, PROVIDERS, resolve_provider
from . import arguments
from .terminal import DONE, INTERRUPTED, counting, stop_on_signals, tell

if TYPE_CHECKING:
    from ..dataset.solving import Cost, SolveConfig

_SOLVERS = [name for name, row in PROVIDERS.items() if row.asks_a_model]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Who is asked, within which limits, and where the answers are kept."""
    option = partial(arguments.option, parser)
    option("--calls", None, "folder of the answers (default: OUT.calls)", Path)
    option("--provider", AUTO, f"{AUTO}, {', '.join(_SOLVERS)}")
    option("--model_name", None, f"the model that solves (default: {DEFAULT_MODEL}, of gemini)")
    option("--base_url", None, "where requests go, such as http://localhost:8000/v1")
    option("--system", None, "what it is told before each prompt (default: the answer's form)")
    option("--seed", 0, "of the attempts: another one makes others", int)
    option("--temperature", None, "passed to the model", float)
    option("--max_output_tokens", None, "of an answer, beside thoughts", int)
    option("--thinking", None, arguments.THINKING)
    option("--threads", 8, "rows that are solved at a time", int)
    option("--rpm", None, "requests a minute, at most", int)
    option("--tpm", None, "tokens a minute, at most", int)
    option("--max_concurrency", None, "requests in flight, at most (default: threads)", int)
    option("--price", None, "dollars for a million tokens: input,output (default: from a table)")
    option("--max_cost", None, "dollars that all calls of the folder may cost", float)
    arguments.timeout(parser)
    arguments.switch(parser, "--dry_run", "show what it may cost; ask and write nothing")


def refuse_existing(given: argparse.Namespace, *more: Path | None) -> None:
    """See that the output, and `more` files, may be made; a dry run makes none."""
    if not given.dry_run:
        arguments.refuse_existing(given, given.out, *more, read=[given.source])


def asked(
    given: argparse.Namespace,
    role: str,
    what: str,
    meanwhile: str,
    attempts: int,
    job: Callable[[SolveConfig, Callable[[int], None]], None],
) -> int:
    """Do a job with whom the options name, who has this role; an exit code.

    The job is given what counts the rows that are done, which are `what`. Whatever ends it early,
    it is said where those rows are: in the file `meanwhile` of the folder of the answers.
    """
    provider, model = _chosen(given)
    print(f"{role}: {model}, asked through {provider}", file=sys.stderr)
    with stop_on_signals() as stop:
        asking = _asking(given, provider, model, attempts, stop)
        try:
            with counting(what, partial(_in_flight, asking)) as count:
                job(asking, count)
        except Stopped:
            print("stopped; what was answered is kept: run it again to go on", file=sys.stderr)
            _show_done(given, what, meanwhile)
            return INTERRUPTED
        except InfiniteRLError:
            _show_done(given, what, meanwhile)
            raise
    return DONE


def _in_flight(asking: SolveConfig) -> str:
    """The calls under way, once there are some."""
    from .display import in_flight

    return ", ".join(in_flight(each.stats) for each in asking.clients)


def _asking(
    given: argparse.Namespace, provider: str, model: str, attempts: int, stop: threading.Event
) -> SolveConfig:
    from ..dataset.solving import SolveConfig
    from ..providers.rate_limit import Limits

    return SolveConfig(
        provider,
        model,
        attempts,
        system=given.system,
        seed=given.seed,
        temperature=given.temperature,
        max_output_tokens=given.max_output_tokens,
        thinking=given.thinking,
        base_url=given.base_url,
        price=given.price,
        max_cost=given.max_cost,
        dry_run=given.dry_run,
        threads=given.threads,
        timeout=given.timeout,
        limits=Limits(given.rpm, given.tpm, given.max_concurrency),
        stop=stop,
    )


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


def _show_done(given: argparse.Namespace, what: str, meanwhile: str) -> None:
    """Where the rows are that were done before a run ended early."""
    from ..dataset.solving import folder_of

    done = folder_of(given.out, given.calls) / meanwhile
    if done.is_file() and done.stat().st_size and not given.dry_run:
        print(f"{what} so far are in {done}", file=sys.stderr)


def told(
    given: argparse.Namespace, found: Cost, more: Mapping[str, object], *lines: str, where: str
) -> None:
    """Tell what came of it, and what was spent; of a dry run, what is to be spent alone."""
    from .display import estimated, spent

    values = {**vars(found), **more, "dry_run": given.dry_run, "out": given.out}
    if found.estimate:
        cost = estimated(found.estimate)
    else:
        cost = f"calls answered: {found.calls}; in all: {spent(found.spending)}"
    tell(given, values, *([cost] if given.dry_run else [*lines, cost, where]))
