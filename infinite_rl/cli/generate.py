"""`infinite-rl generate`: bring a data set up to a number of verified rows."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..dataset.diversity import MIN_DISTINCT
from ..errors import StoreError, UsageError
from ..manifest import read_manifest
from ..providers import AUTO, DEFAULT_MODEL, PROVIDERS, resolve_provider
from ..settings import check_range
from ..verification.self_consistency import MIN_AGREEMENT
from .arguments import THINKING, Verbs, for_machines, option, switch, timeout
from .terminal import (
    DONE,
    INTERRUPTED,
    NOT_DONE,
    UNDER_WAY,
    plain,
    show_logs,
    stop_on_signals,
    tell,
)

if TYPE_CHECKING:
    from ..generation.progress import Progress

ARGUMENTS = "batch.json"  # in the folder of a run in batches: what `batch resume` says again
_TEXT_FILES = (".txt", ".md", ".csv")  # a file by its name, even if it is missing; not "Node.js"


def add(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "generate",
        help="bring a data set up to a number of verified rows",
        description="Bring OUT_DIR/dataset.csv up to NUM_SAMPLES verified rows. Run it again, or "
        "after an interruption, and it makes only what is missing.",
        epilog="Example: infinite-rl generate --num_samples 100 --out_dir data. Without "
        "GEMINI_API_KEY or GOOGLE_API_KEY the embedded provider makes the tasks, offline. "
        "Exit code: 0 target reached, 1 not reached or too few distinct tasks, 2 wrong usage, "
        "3 a batch is under way, 130 interrupted.",
        usage="%(prog)s [options]",
    )
    _add_what_is_made(parser)
    _add_what_is_spent(parser)
    _add_ways(parser)
    parser.set_defaults(verb=run)


def _add_what_is_made(parser: argparse.ArgumentParser) -> None:
    opt = partial(option, parser)
    opt("--num_samples", 10, "rows wanted in all, those present included", int)
    opt(
        "--model_name",
        None,
        f"the model to ask (default: that of the folder's rows, else {DEFAULT_MODEL}, of gemini)",
    )
    opt("--out_dir", Path("data"), "folder of dataset.csv", Path)
    opt("--save_every", 1, "rows after which the disk is forced to write", int)
    opt("--threads", 1, "threads: each makes one call at a time and judges its answer", int)
    opt("--max_retries", 5, "failed samples in a row that end a type", int)
    timeout(parser)
    opt("--task_dist", "0.5,0.5", "weights of coding and math")
    opt("--provider", AUTO, f"{AUTO}, {', '.join(PROVIDERS)}")
    opt("--seed", 0, "seed of the run", int)
    opt("--languages", "python,javascript", "languages of coding tasks")
    opt("--temperature", None, "passed to the model", float)
    opt("--max_output_tokens", None, "of an answer; thoughts are bounded apart from it", int)
    opt("--thinking", None, THINKING)
    opt("--level", None, "of procedural tasks: 1, 2 or 3, a list (1,3) or a range (1-2)")
    opt("--families", "", "of procedural tasks, separated by commas (default: all)")
    opt("--topics", None, "topics, separated by commas, or a file with one a line")
    switch(
        parser,
        "--debug",
        "log every outcome, and keep prompts and raw responses in OUT_DIR/debug_prompts",
    )


def _add_what_is_spent(parser: argparse.ArgumentParser) -> None:
    opt = partial(option, parser)
    opt("--rpm", None, "requests a minute, at most", int)
    opt("--tpm", None, "tokens a minute, at most", int)
    opt("--max_concurrency", None, "requests in flight, at most (default: as many as threads)", int)
    opt("--base_url", None, "where the provider's requests go, such as http://localhost:8000/v1")
    opt(
        "--verify",
        None,
        "independent solutions of a row, at most, that decide whether it is kept; 0 for none "
        "(default: those of the folder's earlier runs, else 4 for a model)",
        int,
    )
    opt(
        "--verify_model",
        "",
        "the model that solves (default: another one than the author, where one is known)",
    )
    opt("--min_agreement", MIN_AGREEMENT, "share of the solutions that must agree", float)
    opt("--price", None, "dollars for a million tokens: input,output (default: from a table)")
    opt("--max_cost", None, "dollars that all calls of the folder may cost", float)
    opt(
        "--min_distinct",
        MIN_DISTINCT,
        "share of the rows that must be distinct tasks, from 50 rows on; 0 asks for none",
        float,
    )


def _add_ways(parser: argparse.ArgumentParser) -> None:
    turn, opt = partial(switch, parser), partial(option, parser)
    turn("--dry_run", "show what is missing and what it may cost; ask and write nothing")
    turn("--structured", "have the model held to the three sections by a schema")
    turn(
        "--batch",
        "send calls up as file batches, at half price; `infinite-rl batch resume` goes on",
    )
    parser.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="this process, or the workers of a Ray cluster; OUT_DIR must be a folder that all "
        "its machines see, and the API key in their environment (default: local)",
    )
    opt("--workers", None, "processes of the cluster (default: one for each of its CPUs)", int)
    opt("--ray_address", None, "of the cluster (default: $RAY_ADDRESS, else one made here)")
    turn("--extend", "go on in a folder that was made with other settings")
    said = parser.add_mutually_exclusive_group()
    said.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="print each retry and rejection, too, which OUT_DIR/run.log holds in any case",
    )
    said.add_argument("-q", "--quiet", action="store_true", help="print the end alone")
    for_machines(parser)


def run(given: argparse.Namespace) -> int:
    from ..generation.run import STOPPED_ON_REQUEST
    from .display import planned

    show_logs(debug=given.debug, level=logging.INFO if given.verbose else logging.WARNING)
    check_range("--threads", given.threads, 1)  # which the library calls num_threads
    check_range("--min_distinct", given.min_distinct, 0, 1)
    provider, engine = _chosen_provider(given), _chosen_engine(given)
    try:
        progress = _generated(given, provider, engine)
    except KeyboardInterrupt:
        print("interrupted; what was accepted is kept", file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)  # a call under way would hold up an ordinary exit
    if given.dry_run:
        tell(given, _values(progress, given), planned(progress))
        return DONE
    if progress.batches:
        _keep_words(given)
    diverse = _print_summary(progress, given)
    if progress.batches:
        _note_batches(progress, given)
        return UNDER_WAY
    if progress.complete:
        return DONE if diverse else NOT_DONE
    return INTERRUPTED if progress.stopped == STOPPED_ON_REQUEST else NOT_DONE


def _generated(
    given: argparse.Namespace, provider: str, engine: Callable[..., Progress]
) -> Progress:
    from rich.console import Console

    from ..providers.rate_limit import Limits
    from .display import display

    screen = display(Console(stderr=True), quiet=given.quiet)
    asks = PROVIDERS[provider].asks_a_model
    with stop_on_signals() as stop, screen as show:
        told = asks and given.verify != 0 and not given.dry_run and not given.quiet
        return engine(
            given.model_name,
            given.num_samples,
            given.out_dir,
            save_every=given.save_every,
            max_retries=given.max_retries,
            timeout=given.timeout,
            task_dist=given.task_dist,
            debug=given.debug,
            num_threads=given.threads,
            provider=provider,
            seed=given.seed,
            languages=_listed(given.languages),
            temperature=given.temperature,
            max_output_tokens=given.max_output_tokens,
            thinking=given.thinking,
            topics=_topics(given.topics),
            level=given.level,
            families=_listed(given.families),
            extend=given.extend,
            base_url=given.base_url,
            structured=given.structured,
            batch=given.batch,
            limits=Limits(given.rpm, given.tpm, given.max_concurrency),
            verify=given.verify,
            verify_model=given.verify_model,
            min_agreement=given.min_agreement,
            price=given.price,
            max_cost=given.max_cost,
            dry_run=given.dry_run,
            stop=stop,
            on_progress=_after_estimate(show) if told else show,
        )


def _after_estimate(show: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """The display, but that it first says what is to be spent: solutions multiply it."""
    from .display import estimated

    told = False

    def first(progress: Progress) -> None:
        nonlocal told
        if not told and progress.estimate:
            line = estimated(progress.estimate, progress.spending.calls)
            print(line, file=sys.stderr, flush=True)
        told = True
        show(progress)

    return first


def _values(progress: Progress, given: argparse.Namespace) -> dict[str, object]:
    """Where the run stands; `estimate` is what the rows missing at its start may take."""
    passing = ("in_flight", "cap", "most")
    stands = {name: value for name, value in vars(progress).items() if name not in passing}
    stands |= {"retries": progress.retries.total(), "retries_by_kind": progress.retries}
    missing = {family: progress.missing(family) for family in progress.targets}
    more = {"missing": missing, "complete": progress.complete, "dry_run": given.dry_run}
    figures = ("acceptance_rate", "cost_per_row", "projected_cost", "wrong_answers_stopped")
    more |= {name: getattr(progress, name) for name in figures}
    return {**stands, **more, "out": given.out_dir / "dataset.csv"}


def _print_summary(progress: Progress, given: argparse.Namespace) -> bool:
    """Print what the run came to. False where a model has written the same few tasks again."""
    from ..dataset import load_dataset, summarise
    from ..dataset.diversity import distinct_tasks
    from .display import done, lacking

    asks_a_model = PROVIDERS[resolve_provider(given.provider)].asks_a_model
    # As the run was made, with or without --verify.
    verified = bool(read_manifest(given.out_dir).get("settings", {}).get("verify"))
    told = done(progress, verified=verified, asked=_models_asked(given))
    lines, frame = [told], load_dataset(given.out_dir)
    if len(frame):
        table = summarise(frame)
        lines.append(table.to_string(index=False, float_format=lambda value: f"{value:g}"))
    values = _values(progress, given)
    # Templates repeat by design: the procedural provider is not measured.
    records: list[Any] = frame.to_dict("records") if asks_a_model else []
    distinct = distinct_tasks(records)
    if asks_a_model:
        values["distinct_tasks"] = distinct.tasks
        lines += [str(distinct)] if distinct.rows else []
    tell(given, values, *lines, f"in {values['out']}")
    diverse = not distinct.collapsed(given.min_distinct)
    few = f"{distinct}, fewer than --min_distinct {given.min_distinct:g}"
    repeats = [] if diverse else [f"{few}: ask for other tasks by --topics"]
    for line in [*lacking(progress), *repeats]:
        print(plain(line), file=sys.stderr)
    return diverse


def _keep_words(given: argparse.Namespace) -> None:
    """Keep the words that go on with this run."""
    path = given.out_dir / ARGUMENTS
    try:
        path.write_text(json.dumps(given.words), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from None


def _note_batches(progress: Progress, given: argparse.Namespace) -> None:
    """Say what is under way, and how to go on with it."""
    print(f"under way: {', '.join(progress.batches)}; later: ", end="", file=sys.stderr)
    print(f"infinite-rl batch resume {given.out_dir}", file=sys.stderr)


def _chosen_provider(given: argparse.Namespace) -> str:
    """The provider's name; where it was left to us, a line says which and why."""
    chosen = resolve_provider(given.provider)
    unused = [] if PROVIDERS[chosen].asks_a_model else _meant_for_a_model(given)
    if (given.verify or 0) > 0 and not PROVIDERS[chosen].asks_a_model:
        raise UsageError(f"{chosen} solves no tasks: --verify needs a provider that asks a model")
    if given.model_name is not None and not given.model_name.strip():
        raise UsageError("--model_name is empty: name a model, or leave the option out")
    if given.model_name is None:
        from ..inference.clients import model_to_ask

        recorded = read_manifest(given.out_dir).get("settings", {})
        given.model_name = model_to_ask(None, chosen, recorded)
        if PROVIDERS[chosen].asks_a_model and given.model_name != DEFAULT_MODEL and not given.quiet:
            print(f"model: {given.model_name}, as {given.out_dir} was made with", file=sys.stderr)
    if asked := "" if given.quiet else _models_asked(given):
        asked = f"asking {asked}"
    if given.provider != AUTO and asked:
        print(asked, file=sys.stderr)
    if given.provider == AUTO and not given.quiet:
        why = (
            f"an API key is set, {asked}"
            if chosen == "gemini"
            else "no GEMINI_API_KEY or GOOGLE_API_KEY is set: tasks are made here, offline"
        )
        print(f"provider: {chosen} ({why})", file=sys.stderr)
    if unused:
        print(f"{chosen} asks no model: {', '.join(unused)} not used", file=sys.stderr)
    return chosen


def _models_asked(given: argparse.Namespace) -> str:
    """The models that the calls go to: "a-model, checked by another"; "" where none is asked."""
    from ..inference.clients import Verification

    chosen = resolve_provider(given.provider)
    if not PROVIDERS[chosen].asks_a_model:
        return ""
    recorded = read_manifest(given.out_dir).get("settings", {})
    model = str(given.model_name)
    solves = Verification.of(given.verify, given.verify_model, chosen, model, recorded)
    return f"{model}, checked by {solves.model or 'itself'}" if solves.count else model


def _chosen_engine(given: argparse.Namespace) -> Callable[..., Progress]:
    """What generates: this process, or a cluster."""
    if given.engine == "ray":
        from ..generation.ray import generate_on_ray

        return partial(generate_on_ray, workers=given.workers, address=given.ray_address)
    from ..generator import generate_dataset

    for name in ("workers", "ray_address"):
        if getattr(given, name) is not None:
            raise UsageError(f"--{name} is of --engine ray")
    return generate_dataset


def _meant_for_a_model(given: argparse.Namespace) -> list[str]:
    """The options given that only a model could heed."""
    names = (
        *("model_name", "temperature", "max_output_tokens", "thinking", "topics", "base_url"),
        *("structured", "verify_model", "price", "max_cost"),
    )
    return [f"--{name}" for name in names if getattr(given, name)]


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _topics(text: str | None) -> list[str]:
    """Topics from a file, one a line, or from the text itself."""
    path = Path(text or "")
    if not text or not (path.is_file() or path.suffix in _TEXT_FILES):
        if text and not _listed(text):
            raise UsageError(f"--topics {text!r} names no topic")
        return _listed(text or "")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the topics in {path}: {error}") from None
    topics = [line.strip() for line in lines if line.strip()]
    if not topics:
        raise UsageError(f"there are no topics in {path}")
    return topics
