"""The command line: arguments in, one call a verb, one clear line for whatever went wrong.

Exit codes: 0 done, 1 not done (the reason is printed), 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from . import __version__
from .errors import InfiniteRLError, UsageError
from .providers import AUTO, DEFAULT_MODEL, resolve_provider
from .providers.gemini import KEY_VARIABLES, redacted

if TYPE_CHECKING:
    from .generator import Progress

DONE, NOT_DONE, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    verb: Callable[[argparse.Namespace], int] = arguments.verb
    try:
        return verb(arguments)
    except InfiniteRLError as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG_USAGE if isinstance(error, UsageError) else NOT_DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="infinite-rl",
        description="Make reinforcement-learning data that is proven before it is kept.",
    )
    parser.add_argument("--version", action="version", version=f"infinite-rl {__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    generate = verbs.add_parser(
        "generate",
        help="bring a data set up to a number of verified rows",
        description="Bring OUT_DIR/dataset.csv up to NUM_SAMPLES verified rows. Run it again, or "
        "after an interruption, and it makes only what is missing.",
        epilog="Without GEMINI_API_KEY or GOOGLE_API_KEY the embedded provider makes the tasks, "
        "offline. Exit code: 0 target reached, 1 not reached, 2 wrong usage, 130 interrupted.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    _add_generate_options(generate)
    generate.set_defaults(verb=_generate)
    examples = verbs.add_parser(
        "run-examples",
        help="score the packaged examples: does this installation work?",
        description="Score the packaged examples with the real rewards and sandboxes.",
    )
    examples.set_defaults(verb=_run_examples)
    return parser


def _add_generate_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--num_samples", type=int, default=10, help="rows wanted in all, those present included")
    add("--model_name", default=DEFAULT_MODEL, help="the model to ask")
    add("--out_dir", type=Path, default=Path("data"), help="folder of dataset.csv")
    add("--save_every", type=int, default=1, help="rows after which the disk is forced to write")
    add("--threads", type=int, default=1, help="calls made at once")
    add("--max_retries", type=int, default=5, help="failed samples in a row that end a type")
    add("--timeout", type=float, default=5, help="seconds a reward may take")
    add("--task_dist", default="0.5,0.5", help="weights of coding and math")
    add("--debug", action="store_true", help="keep prompts and raw responses, log verbosely")
    add("--provider", default=AUTO, help="auto, gemini or procedural")
    add("--seed", type=int, default=0, help="seed of the run")
    add("--languages", default="python,javascript", help="languages of coding tasks")
    add("--temperature", type=float, default=None, help="passed to the model")
    add("--max_output_tokens", type=int, default=None, help="passed to the model")
    add("--topics", default="", help="topics, separated by commas, or a file with one a line")


def _generate(arguments: argparse.Namespace) -> int:
    from rich.console import Console

    from .display import display
    from .generator import STOPPED_ON_REQUEST, generate_dataset

    console = Console(stderr=True)
    _set_up_logging(debug=arguments.debug)
    provider = _chosen_provider(arguments)
    try:
        with _stop_on_signals() as stop, display(console) as show:
            progress = generate_dataset(
                arguments.model_name,
                arguments.num_samples,
                arguments.out_dir,
                arguments.save_every,
                arguments.max_retries,
                arguments.timeout,
                arguments.task_dist,
                arguments.debug,
                arguments.threads,
                provider=provider,
                seed=arguments.seed,
                languages=_listed(arguments.languages),
                temperature=arguments.temperature,
                max_output_tokens=arguments.max_output_tokens,
                topics=_topics(arguments.topics),
                stop=stop,
                on_progress=show,
            )
    except KeyboardInterrupt:
        print("interrupted; what was accepted is kept", file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)  # a call under way would hold up an ordinary exit
    _print_summary(progress, arguments.out_dir)
    if progress.complete:
        return DONE
    return INTERRUPTED if progress.stopped == STOPPED_ON_REQUEST else NOT_DONE


def _chosen_provider(arguments: argparse.Namespace) -> str:
    """The provider's name; where it was left to us, a line says which and why."""
    chosen = resolve_provider(arguments.provider)
    if arguments.provider == AUTO:
        why = (
            f"an API key is set, asking {arguments.model_name}"
            if chosen == "gemini"
            else "no GEMINI_API_KEY or GOOGLE_API_KEY is set: tasks are made here, offline"
        )
        print(f"provider: {chosen} ({why})", file=sys.stderr)
    return chosen


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _topics(text: str) -> list[str]:
    """Topics from a file, one a line, or from the text itself."""
    path = Path(text)
    if not text or not path.is_file():
        return _listed(text)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the topics in {path}: {error}") from None
    return [line.strip() for line in lines if line.strip()]


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


class _Redacting(logging.Formatter):
    """Log lines without the API keys of this process."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        for name in KEY_VARIABLES:
            text = redacted(text, os.environ.get(name, "").strip())
        return text


class _Stderr:
    """Whatever stands for stderr at the moment: live bars put a stand-in of their own there."""

    def write(self, text: str) -> None:
        sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def _set_up_logging(*, debug: bool) -> None:
    handler = logging.StreamHandler(_Stderr())
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s" if debug else "%(message)s"
    handler.setFormatter(_Redacting(form))
    # Ours only: the HTTP libraries' debug output is noise and shows whole requests.
    logger = logging.getLogger("infinite_rl")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if debug else logging.INFO)


def _print_summary(progress: Progress, out_dir: Path) -> None:
    from .dataset import load_dataset, summarise
    from .display import rejections

    made = sum(progress.accepted.values())
    present = sum(progress.present.values())
    print(f"{made} rows made, {present} were there, {rejections(progress.rejected)}; ", end="")
    print(f"{progress.calls} calls answered, {progress.retries} repeated")
    frame = load_dataset(out_dir)
    if len(frame):
        print(summarise(frame).to_string(index=False, float_format=lambda value: f"{value:g}"))
    print(f"in {out_dir / 'dataset.csv'}")
    for family in progress.targets:
        if missing := progress.missing(family):
            why = progress.given_up.get(family) or progress.stopped or "not finished"
            print(f"target not reached: {family} lacks {missing}: {why}", file=sys.stderr)


def _run_examples(_: argparse.Namespace) -> int:
    from .run_examples import main as run

    return run()
