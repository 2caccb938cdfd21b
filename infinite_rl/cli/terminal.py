"""What verbs share at a terminal: exit codes, plain text, log lines, a count, signals to stop."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from ..providers import KEY_VARIABLES
from ..providers.service import redacted

T = TypeVar("T")
DONE, NOT_DONE, WRONG_USAGE, UNDER_WAY, INTERRUPTED = 0, 1, 2, 3, 130
_LINE_EVERY_S = 5.0


def plain(text: str) -> str:
    """Text that may come from a server, without API keys and without what a terminal would obey."""
    for name in KEY_VARIABLES:
        text = redacted(text, os.environ.get(name, "").strip())
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


def one_line(text: str, most: int = 240) -> str:
    """Text as `plain`, in one line of at most so many characters."""
    line = " ".join(plain(text).split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


class _Plain(logging.Formatter):
    """Log lines as `plain` text."""

    def format(self, record: logging.LogRecord) -> str:
        return plain(super().format(record))


class _Stderr:
    """Whatever stands for stderr at the moment: live bars put a stand-in of their own there."""

    def write(self, text: str) -> None:
        sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def show_logs(*, debug: bool = False) -> None:
    """Show this package's log lines on stderr, with `debug` all of them."""
    handler = logging.StreamHandler(_Stderr())
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s" if debug else "%(message)s"
    handler.setFormatter(_Plain(form))
    # Ours only: the HTTP libraries' debug output is noise and shows whole requests.
    logger = logging.getLogger("infinite_rl")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if debug else logging.INFO)


@contextmanager
def counting(what: str, more: Callable[[], str] = str) -> Iterator[Callable[[int], None]]:
    """Shows how far a long job is: live on a terminal, else in a line every few seconds.

    `more` is what else there is to say at the time, "" for nothing.
    """
    from rich.console import Console

    console, shown = Console(stderr=True), time.monotonic()

    def text(count: int) -> str:
        return ", ".join(filter(None, (f"{what}: {count}", more())))

    def line(count: int) -> None:
        nonlocal shown
        if time.monotonic() - shown >= _LINE_EVERY_S:
            shown = time.monotonic()
            print(text(count), file=sys.stderr, flush=True)

    if not console.is_terminal:
        yield line
        return
    with console.status(what) as status:
        yield lambda count: status.update(text(count))


def counted(items: Iterable[T], count: Callable[[int], None]) -> Iterator[T]:
    """The items, each of which is counted when it is taken."""
    for number, item in enumerate(items, 1):
        count(number)
        yield item


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
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
