"""The command line: arguments in, one call a verb, one clear line for whatever went wrong.

Exit codes: 0 done, 1 not done (the reason is printed), 2 wrong usage, 3 a batch is under way, 130
interrupted.
"""

from __future__ import annotations

import argparse
import io
import json
import logging
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, TypeAlias

from . import __version__
from .errors import InfiniteRLError, StoreError, UsageError
from .proof.solves import MIN_AGREEMENT
from .providers import AUTO, DEFAULT_MODEL, KEY_VARIABLES, PROVIDERS, resolve_provider
from .providers.service import redacted

if TYPE_CHECKING:
    from .progress import Estimate, Progress

    _Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

DONE, NOT_DONE, WRONG_USAGE, UNDER_WAY, INTERRUPTED = 0, 1, 2, 3, 130
_ARGUMENTS = "batch.json"  # in the folder of a run in batches: what `batch resume` says again
_TIMEOUT = "seconds one run of a program may take (default: 5.0)"
_LONGEST_WAIT_S = 86_400
_TEXT_FILES = (".txt", ".md", ".csv")  # a file by its name, even if it is missing; not "Node.js"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a folder's name may not be ASCII
    try:
        words = list(sys.argv[1:] if argv is None else argv)
        arguments = _parser().parse_args(words, argparse.Namespace(words=words))
        verb: Callable[[argparse.Namespace], int] = arguments.verb
        code = verb(arguments)
        sys.stdout.flush()  # here, where it can still be dealt with that nobody reads it
        return code
    except InfiniteRLError as error:
        print(f"error: {_plain(str(error))}", file=sys.stderr)
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


def _how_to_install(error: ModuleNotFoundError) -> str:
    return (
        f"{error.name} is not installed for {sys.executable}: use the Python of the virtual "
        "environment that the README sets up (.venv/bin/python), or run `pip install -e .` in the "
        "project's folder"
    )


def _discard_output() -> None:
    """Let nothing more be written, or the exit would fail on what is still in the buffers."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.dup2(nowhere, sys.stderr.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="infinite-rl",
        description="Make reinforcement-learning data that is proven before it is kept.",
    )
    parser.add_argument("--version", action="version", version=f"infinite-rl {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    _add_generate(verbs)
    _add_batch(verbs)
    _add_rescore(verbs)
    _add_verify(verbs)
    _add_run_examples(verbs)
    _add_warm_up(verbs)
    return parser


def _add_generate(verbs: _Verbs) -> None:
    generate = verbs.add_parser(
        "generate",
        help="bring a data set up to a number of verified rows",
        description="Bring OUT_DIR/dataset.csv up to NUM_SAMPLES verified rows. Run it again, or "
        "after an interruption, and it makes only what is missing.",
        epilog="Without GEMINI_API_KEY or GOOGLE_API_KEY the embedded provider makes the tasks, "
        "offline. Exit code: 0 target reached, 1 not reached, 2 wrong usage, 3 a batch is under "
        "way, 130 interrupted.",
        usage="%(prog)s [options]",
    )
    _add_generate_options(generate)
    generate.set_defaults(verb=_generate)


def _add_batch(verbs: _Verbs) -> None:
    batch = verbs.add_parser("batch", help="go on with a run in batches, or look at it")
    ways = batch.add_subparsers(required=True, metavar="WAY")
    status = ways.add_parser("status", help="the batches that are under way, by the journal")
    status.add_argument("out_dir", type=Path, metavar="OUT_DIR")
    status.set_defaults(verb=_batch_status)
    resume = ways.add_parser(
        "resume",
        help="keep what has come down, judge it, and send up what is still owed",
        epilog="Exit code: 3 a batch is under way; else as `generate`.",
    )
    resume.add_argument("out_dir", type=Path, metavar="OUT_DIR")
    resume.add_argument(
        "--wait",
        type=float,
        default=0.0,
        metavar="S",
        help="look again every S seconds until the target is reached (default: look once)",
    )
    resume.set_defaults(verb=_batch_resume)


def _add_rescore(verbs: _Verbs) -> None:
    again = verbs.add_parser(
        "rescore",
        help="judge every answer of a folder again; it costs no call",
        description="Write OUT_DIR/dataset.csv and failed_dataset.csv anew from the journal, as if "
        "today's rewards had judged the run. The old files are kept beside them (.before).",
        epilog="Exit code: 0 done, 1 not done (the reason is printed), 2 wrong usage.",
    )
    again.add_argument("out_dir", type=Path, metavar="OUT_DIR")
    again.add_argument("--timeout", type=float, default=5.0, metavar="X", help=_TIMEOUT)
    again.add_argument(
        "--min_agreement", type=float, metavar="X", help="share of the solves that must agree"
    )
    again.set_defaults(verb=_rescore)


def _add_verify(verbs: _Verbs) -> None:
    proof = verbs.add_parser(
        "verify",
        help="prove every row of a data set again, offline",
        description="Prove every row of OUT_DIR/dataset.csv again and name those that fail: by its "
        "content's hash, its reward, and wrong answers that its verifier must reject. A note says "
        "where another version of the reward or build of the sandbox judged when it was made.",
        epilog="Exit code: 0 all rows hold, 1 some do not, 2 wrong usage.",
    )
    proof.add_argument("out_dir", type=Path, metavar="OUT_DIR", help="the folder, or the file")
    proof.add_argument("--timeout", type=float, default=5.0, metavar="X", help=_TIMEOUT)
    proof.set_defaults(verb=_verify)


def _add_run_examples(verbs: _Verbs) -> None:
    examples = verbs.add_parser(
        "run-examples",
        help="score the packaged examples: does this installation work?",
        description="Score the packaged examples with the real rewards and sandboxes.",
    )
    examples.set_defaults(verb=_run_examples)


def _add_warm_up(verbs: _Verbs) -> None:
    warm_up = verbs.add_parser(
        "warm-up",
        help="compile the sandboxes for this machine now, not at their first use",
        description="Compile the sandboxes for this machine into the cache ($INFINITE_RL_CACHE, "
        "else the user's cache folder), and load each once.",
        epilog="Exit code: 0 all are in the cache, 1 one is not (the reason is printed), "
        "2 wrong usage, 130 interrupted.",
    )
    warm_up.add_argument("languages", nargs="*", metavar="LANGUAGE", help="by default all")
    warm_up.set_defaults(verb=_warm_up)


def _add_generate_options(parser: argparse.ArgumentParser) -> None:
    def add(flag: str, default: object, help_text: str, kind: type = str) -> None:
        metavar = {int: "N", float: "X", Path: "PATH"}.get(kind, "TEXT")
        if default not in (None, ""):
            help_text += f" (default: {default})"
        parser.add_argument(flag, type=kind, default=default, metavar=metavar, help=help_text)

    add("--num_samples", 10, "rows wanted in all, those present included", int)
    add("--model_name", None, f"the model to ask (default: {DEFAULT_MODEL}, of gemini)")
    add("--out_dir", Path("data"), "folder of dataset.csv", Path)
    add("--save_every", 1, "rows after which the disk is forced to write", int)
    add("--threads", 1, "threads: each makes one call at a time and judges its answer", int)
    add("--max_retries", 5, "failed samples in a row that end a type", int)
    add("--timeout", 5.0, "seconds one run of a program may take", float)
    add("--task_dist", "0.5,0.5", "weights of coding and math")
    add("--provider", AUTO, f"{AUTO}, {', '.join(PROVIDERS)}")
    add("--seed", 0, "seed of the run", int)
    add("--languages", "python,javascript", "languages of coding tasks")
    add("--temperature", None, "passed to the model", float)
    add("--max_output_tokens", None, "passed to the model", int)
    add("--topics", None, "topics, separated by commas, or a file with one a line")
    parser.add_argument(
        "--debug",
        action="store_true",
        help="log every outcome, and keep prompts and raw responses in OUT_DIR/debug_prompts",
    )
    add("--rpm", None, "requests a minute, at most", int)
    add("--tpm", None, "tokens a minute, at most", int)
    add("--max_concurrency", None, "requests in flight, at most (default: as many as threads)", int)
    add("--base_url", None, "where the provider's requests go, such as http://localhost:8000/v1")
    add("--verify", 0, "times that each task is solved blind before its row is kept", int)
    add("--verify_model", "", "the model that solves them (default: the one that is asked)")
    add("--min_agreement", MIN_AGREEMENT, "share of the solves that must agree", float)
    add("--price", None, "dollars for a million tokens: input,output (default: from a table)")
    add("--max_cost", None, "dollars that all calls of the folder may cost", float)
    parser.add_argument(
        "--dry_run",
        action="store_true",
        help="show what is missing and what it may cost; ask and write nothing",
    )
    parser.add_argument(
        "--structured",
        action="store_true",
        help="have the model held to the three sections by a schema",
    )
    parser.add_argument(
        "--batch",
        action="store_true",
        help="send calls up as file batches, at half price; `infinite-rl batch resume` goes on",
    )
    parser.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="this process, or the workers of a Ray cluster; OUT_DIR must be a folder that all "
        "its machines see, and the API key in their environment (default: local)",
    )
    add("--workers", None, "processes of the cluster (default: one for each of its CPUs)", int)
    add("--ray_address", None, "of the cluster (default: $RAY_ADDRESS, else one made here)")
    parser.add_argument(
        "--extend",
        action="store_true",
        help="go on in a folder that was made with other settings",
    )


def _generate(arguments: argparse.Namespace) -> int:
    from rich.console import Console

    from .display import display
    from .limits import Limits
    from .run import STOPPED_ON_REQUEST

    console = Console(stderr=True)
    _set_up_logging(debug=arguments.debug)
    provider, generate = _chosen_provider(arguments), _chosen_engine(arguments)
    try:
        with _stop_on_signals() as stop, display(console) as show:
            told = arguments.verify and not arguments.dry_run
            progress = generate(
                arguments.model_name,
                arguments.num_samples,
                arguments.out_dir,
                save_every=arguments.save_every,
                max_retries=arguments.max_retries,
                timeout=arguments.timeout,
                task_dist=arguments.task_dist,
                debug=arguments.debug,
                num_threads=arguments.threads,
                provider=provider,
                seed=arguments.seed,
                languages=_listed(arguments.languages),
                temperature=arguments.temperature,
                max_output_tokens=arguments.max_output_tokens,
                topics=_topics(arguments.topics),
                extend=arguments.extend,
                base_url=arguments.base_url,
                structured=arguments.structured,
                batch=arguments.batch,
                limits=Limits(arguments.rpm, arguments.tpm, arguments.max_concurrency),
                verify=arguments.verify,
                verify_model=arguments.verify_model,
                min_agreement=arguments.min_agreement,
                price=arguments.price,
                max_cost=arguments.max_cost,
                dry_run=arguments.dry_run,
                stop=stop,
                on_progress=_after_estimate(show) if told else show,
            )
    except KeyboardInterrupt:
        print("interrupted; what was accepted is kept", file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)  # a call under way would hold up an ordinary exit
    if arguments.dry_run:
        _print_plan(progress)
        return DONE
    _print_summary(progress, arguments.out_dir)
    if progress.batches:
        _note_batches(progress, arguments)
        return UNDER_WAY
    if progress.complete:
        return DONE
    return INTERRUPTED if progress.stopped == STOPPED_ON_REQUEST else NOT_DONE


def _note_batches(progress: Progress, arguments: argparse.Namespace) -> None:
    """Keep the words that go on with this run, and say so."""
    path = arguments.out_dir / _ARGUMENTS
    try:
        path.write_text(json.dumps(arguments.words), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from None
    print(f"under way: {', '.join(progress.batches)}; later: ", end="", file=sys.stderr)
    print(f"infinite-rl batch resume {arguments.out_dir}", file=sys.stderr)


def _batch_status(arguments: argparse.Namespace) -> int:
    from .journal import batches

    there = [batch for batch in batches(arguments.out_dir) if batch.slots]
    for batch in there:
        print(f"{batch.name or 'not named yet'}: {len(batch.slots)} calls to come down")
    if not there:
        print("no batch is under way")
    return UNDER_WAY if there else DONE


def _batch_resume(arguments: argparse.Namespace) -> int:
    if not 0 <= arguments.wait <= _LONGEST_WAIT_S:
        raise UsageError(f"--wait must be between 0 and {_LONGEST_WAIT_S} seconds")
    path = arguments.out_dir / _ARGUMENTS
    try:
        words = json.loads(path.read_text(encoding="utf-8"))
        again = _parser().parse_args(words, argparse.Namespace(words=words))
    except FileNotFoundError:
        raise StoreError(f"there is no {path}: no run in batches was begun here") from None
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"cannot read {path}: {error}") from None
    if again.verb != _generate:
        raise StoreError(f"{path} is damaged: it is not what `generate` was told")
    again.out_dir = arguments.out_dir  # which may have been moved
    while (code := _generate(again)) == UNDER_WAY and arguments.wait:
        time.sleep(arguments.wait)
    return code


def _chosen_provider(arguments: argparse.Namespace) -> str:
    """The provider's name; where it was left to us, a line says which and why."""
    chosen = resolve_provider(arguments.provider)
    unused = [] if PROVIDERS[chosen].asks_a_model else _meant_for_a_model(arguments)
    if arguments.verify > 0 and not PROVIDERS[chosen].asks_a_model:
        raise UsageError(f"{chosen} solves no tasks: --verify needs a provider that asks a model")
    if arguments.model_name is None:
        if chosen == "openai_compatible":
            raise UsageError("say which model to ask: --model_name")
        arguments.model_name = DEFAULT_MODEL
    if arguments.provider == AUTO:
        why = (
            f"an API key is set, asking {arguments.model_name}"
            if chosen == "gemini"
            else "no GEMINI_API_KEY or GOOGLE_API_KEY is set: tasks are made here, offline"
        )
        print(f"provider: {chosen} ({why})", file=sys.stderr)
    if unused:
        print(f"{chosen} asks no model: {', '.join(unused)} not used", file=sys.stderr)
    return chosen


def _chosen_engine(arguments: argparse.Namespace) -> Callable[..., Progress]:
    """What generates: this process, or a cluster."""
    if arguments.engine == "ray":
        from .cluster import generate_on_ray

        return partial(generate_on_ray, workers=arguments.workers, address=arguments.ray_address)
    from .generator import generate_dataset

    for name in ("workers", "ray_address"):
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name} is of --engine ray")
    return generate_dataset


def _meant_for_a_model(arguments: argparse.Namespace) -> list[str]:
    """The options given that only a model could heed."""
    names = ("model_name", "temperature", "max_output_tokens", "topics", "base_url", "structured")
    return [f"--{name}" for name in names if getattr(arguments, name)]


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _topics(text: str | None) -> list[str]:
    """Topics from a file, one a line, or from the text itself."""
    path = Path(text or "")
    if not text or not (path.is_file() or path.suffix in _TEXT_FILES):
        return _listed(text or "")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the topics in {path}: {error}") from None
    topics = [line.strip() for line in lines if line.strip()]
    if not topics:
        raise UsageError(f"there are no topics in {path}")
    return topics


@contextmanager
def _stop_on_signals() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C or SIGTERM sets; the second interrupts at once."""
    stop = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 -- signal's own form
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        print(
            "stopping: calls under way are waited for and kept; once more to quit at once",
            file=sys.stderr,
        )

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class _Plain(logging.Formatter):
    """Log lines as `_plain` text."""

    def format(self, record: logging.LogRecord) -> str:
        return _plain(super().format(record))


class _Stderr:
    """Whatever stands for stderr at the moment: live bars put a stand-in of their own there."""

    def write(self, text: str) -> None:
        sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def _set_up_logging(*, debug: bool) -> None:
    handler = logging.StreamHandler(_Stderr())
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s" if debug else "%(message)s"
    handler.setFormatter(_Plain(form))
    # Ours only: the HTTP libraries' debug output is noise and shows whole requests.
    logger = logging.getLogger("infinite_rl")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if debug else logging.INFO)


def _print_summary(progress: Progress, out_dir: Path) -> None:
    from .dataset import load_dataset, summarise
    from .display import rejections, spent

    made = sum(progress.accepted.values())
    present = sum(progress.present.values())
    print(f"rows made: {made}, there before: {present}, {rejections(progress.rejected)}; ", end="")
    print(f"calls answered: {progress.calls}, repeated: {progress.retries}", end="")
    print(f", lost when a run died: {progress.lost}" if progress.lost else "")
    if progress.spending.calls:
        print(spent(progress.spending))
    frame = load_dataset(out_dir)
    if len(frame):
        print(summarise(frame).to_string(index=False, float_format=lambda value: f"{value:g}"))
    print(f"in {out_dir / 'dataset.csv'}")
    for family in progress.targets:
        if missing := progress.missing(family):
            why = progress.given_up.get(family) or progress.stopped or "not finished"
            print(f"target not reached: {family} lacks {missing}: {_plain(why)}", file=sys.stderr)


def _after_estimate(show: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """The display, but that it first says what is to be spent: blind solves multiply it."""
    told = False

    def first(progress: Progress) -> None:
        nonlocal told
        if not told and progress.estimate:
            print(_estimate(progress.estimate), file=sys.stderr, flush=True)
        told = True
        show(progress)

    return first


def _estimate(plan: Estimate) -> str:
    from .display import dollars

    basis = "by the calls so far" if plan.measured else "by rule of thumb: no calls to go by yet"
    return (
        f"estimate, {basis}: {plan.calls} calls, {plan.usage.input_tokens} tokens in, "
        f"{plan.usage.output_tokens} out, {dollars(plan.cost)}"
    )


def _print_plan(progress: Progress) -> None:
    """What a dry run has found."""
    plan = progress.estimate
    assert plan is not None, "every run begins with an estimate"
    for family, target in progress.targets.items():
        print(f"{family}: {progress.present[family]} of {target} rows are there")
    print(_estimate(plan))


def _plain(text: str) -> str:
    """Text that may come from a server, without API keys and without what a terminal would obey."""
    for name in KEY_VARIABLES:
        text = redacted(text, os.environ.get(name, "").strip())
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


def _rescore(arguments: argparse.Namespace) -> int:
    from .display import rejections
    from .rescore import rescore

    _set_up_logging(debug=False)
    with _counting("answers judged") as count:
        found = rescore(
            arguments.out_dir,
            timeout=arguments.timeout,
            min_agreement=arguments.min_agreement,
            on_progress=count,
        )
    print(f"rows kept: {found.kept}, gained: {found.gained}, dropped: {found.dropped}, ", end="")
    print(rejections(found.rejected))
    if found.unproven:
        print(f"not solved blind yet: {found.unproven}; the next run of generate sees to them")
    return DONE


def _verify(arguments: argparse.Namespace) -> int:
    from .dataset import dataset_file
    from .proof.reprove import reprove
    from .reward_functions import get_reward_functions
    from .store import DATASET_COLUMNS, read_rows

    _set_up_logging(debug=False)
    path = dataset_file(arguments.out_dir)
    failed = number = 0
    changes: Counter[str] = Counter()
    with _counting("rows proven") as count:
        rows = read_rows(path, DATASET_COLUMNS)
        for row in reprove(rows, get_reward_functions(arguments.timeout)):
            number = row.number
            if row.fault:
                failed += 1
                print(f"row {number} ({row.sample.id}): {_plain(row.fault)}", flush=True)
            changes[row.changes] += bool(row.changes)
            count(number)
    for change, rows_changed in (+changes).items():
        print(f"note: made under another judge, rows: {rows_changed} ({_plain(change)})")
    print(f"rows: {number}, proven: {number - failed}, failed: {failed}")
    return NOT_DONE if failed else DONE


@contextmanager
def _counting(what: str) -> Iterator[Callable[[int], None]]:
    """Shows how far a long job is, on a terminal only."""
    from rich.console import Console

    with Console(stderr=True).status(what) as status:
        yield lambda count: status.update(f"{what}: {count}")


def _run_examples(_: argparse.Namespace) -> int:
    from .run_examples import main as run

    return run()


def _warm_up(arguments: argparse.Namespace) -> int:
    from .runtimes import RUNTIMES, load_guest, runtime_named
    from .runtimes.engine import is_compiled

    _set_up_logging(debug=False)
    chosen = [runtime_named(name.lower()) for name in arguments.languages] or RUNTIMES
    code = DONE
    for runtime in chosen:
        there, started = is_compiled(runtime), time.monotonic()
        load_guest(runtime)
        seconds = time.monotonic() - started
        if there:
            print(f"{runtime.name}: already compiled, loaded in {seconds:.2f} seconds")
        elif is_compiled(runtime):
            print(f"{runtime.name}: compiled in {seconds:.1f} seconds", flush=True)
        else:
            print(f"{runtime.name}: compiled, but it cannot be kept", file=sys.stderr)
            code = NOT_DONE
    return code
