"""What verbs share at a terminal: exit codes, what is told, log lines, a count, signals to stop."""

from __future__ import annotations

import io
import json
import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import partial
from numbers import Integral, Real
from types import FrameType
from typing import TYPE_CHECKING, TextIO, TypeVar

from ..redact import one_line as bounded_line
from ..redact import printable, without_key

if TYPE_CHECKING:
    from rich.text import Text

T = TypeVar("T")
DONE, NOT_DONE, WRONG_USAGE, UNDER_WAY, INTERRUPTED = 0, 1, 2, 3, 130
LINE_EVERY_S = 5.0  # where no live picture can be drawn


def plain(text: str) -> str:
    """Text that may come from a server, without API keys and without what a terminal would obey."""
    from ..providers import KEY_VARIABLES

    for name in KEY_VARIABLES:
        text = without_key(text, os.environ.get(name, "").strip())
    return printable(text)


def one_line(text: str, most: int = 240) -> str:
    """Text as `plain`, in one line of at most so many characters."""
    return bounded_line(plain(text), most)


def note(text: str) -> None:
    """Print what is no part of the result, on stderr."""
    print(text, file=sys.stderr, flush=True)


class Emit:
    """Prints the result of a verb: its lines, or with --json its values as an object in a line."""

    def __init__(self, json: bool, argv: Sequence[str] = (), stream: TextIO | None = None) -> None:
        self.json, self.argv, self._stream = json, argv, stream

    def __call__(self, values: object, *lines: str, flush: bool = False) -> None:
        if self.json:
            text = json.dumps(_for_json(values), allow_nan=False)
            print(text, file=self._stream, flush=True)
            return
        for line in lines:
            print(line, file=self._stream, flush=flush)


def _for_json(value: object) -> object:
    """A value in JSON's own types: no number that is not finite, paths and times as text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    if is_dataclass(value):
        return {each.name: _for_json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _for_json(value._asdict())
    if isinstance(value, Mapping):
        return {plain(str(key)): _for_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_for_json(each) for each in value]
    return plain(value.isoformat() if isinstance(value, datetime) else str(value))


@contextmanager
def output(json: bool, argv: Sequence[str]) -> Iterator[Emit]:
    """What a verb emits its result by. With --json, stdout holds nothing else.

    What a library or a child process prints besides goes to stderr.
    """
    stream: TextIO = sys.stdout or io.StringIO()  # None if the caller has closed it
    with ExitStack() as undone:
        if json:
            if _is(sys.stdout, 1) and _is(sys.stderr, 2):
                sys.stdout.flush()
                stream = undone.enter_context(os.fdopen(os.dup(1), "w", encoding="utf-8"))
                undone.callback(os.dup2, stream.fileno(), 1)
                os.dup2(2, 1)
            undone.enter_context(redirect_stdout(sys.stderr))
        yield Emit(json, argv, stream)


def _is(stream: TextIO | None, number: int) -> bool:
    """Whether a stream is the process's own, as it is not where a test or a notebook catches it."""
    try:
        return stream is not None and stream.fileno() == number
    except OSError:  # it is no file
        return False


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


def show_logs(level: int) -> None:
    """Show this package's log lines on stderr from a level on."""
    handler = logging.StreamHandler(_Stderr())
    is_long = level == logging.DEBUG
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s" if is_long else "%(message)s"
    handler.setFormatter(_Plain(form))
    # Ours only: the HTTP libraries' debug output is noise and shows whole requests.
    logger = logging.getLogger("infinite_rl")
    logger.addHandler(handler)
    logger.setLevel(level)


def hide_hugging_face_progress() -> None:
    """Have transformers show no bars, here and in processes begun from here: none is of the job."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")  # read when it is imported
    if "transformers" in sys.modules:
        from transformers.utils import logging as bars

        bars.disable_progress_bar()  # type: ignore[no-untyped-call]  # it has no types


class Lines:
    """Prints how far a job is, where no live picture can be drawn: a line every few seconds.

    The line is made when it is printed; none is printed twice. With `last` it is printed at once.
    """

    def __init__(self) -> None:
        self._lock, self._last, self._text = threading.Lock(), time.monotonic(), ""

    def __call__(self, line: Callable[[], str], *, last: bool = False) -> None:
        with self._lock:
            early = time.monotonic() - self._last < LINE_EVERY_S and not last
            if early or (text := line()) == self._text:
                return
            self._last, self._text = time.monotonic(), text
            print(text, file=sys.stderr, flush=True)


@dataclass
class _Count:
    """How far a long job is, and what else there is to say of it."""

    what: str
    more: Callable[[], str]
    count: int = -1

    def __str__(self) -> str:
        so_far = self.what if self.count < 0 else f"{self.what}: {self.count}"
        return ", ".join(filter(None, (so_far, self.more())))

    def __rich__(self) -> Text:  # called for each picture of a live display
        from rich.text import Text

        return Text(str(self))


@contextmanager
def counting(what: str, more: Callable[[], str] = str) -> Iterator[Callable[[int], None]]:
    """Shows how far a long job is: live on a terminal, else in a line every few seconds.

    `more` is what else there is to say at the time, "" for nothing. It is shown also while nothing
    is counted, as in a provider's pause.
    """
    from rich.console import Console

    console, state, say = Console(stderr=True), _Count(what, more), Lines()
    if console.is_terminal:
        with console.status(state):
            yield partial(setattr, state, "count")
        return
    over = threading.Event()

    def on_count(count: int) -> None:
        state.count = count
        say(state.__str__)

    def keep_saying() -> None:
        while not over.wait(LINE_EVERY_S):
            say(state.__str__)

    thread = threading.Thread(target=keep_saying, name="count", daemon=True)
    if more is not str:
        thread.start()
    try:
        yield on_count
    finally:
        over.set()
        if thread.is_alive():
            thread.join()


def counted(items: Iterable[T], count: Callable[[int], None]) -> Iterator[T]:
    """The items, each of which is counted when it is taken."""
    for number, item in enumerate(items, 1):
        count(number)
        yield item


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table whose rows have a cell for each column."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


@contextmanager
def until_signal() -> Iterator[None]:
    """Let Ctrl-C or SIGTERM end the block, and not the process: for servers.

    uvicorn answers what is under way and then repeats the signal, which is raised here.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 -- signal's own form
        raise KeyboardInterrupt

    with _handling(signal.SIGINT, signal.SIGTERM, handler=interrupt), suppress(KeyboardInterrupt):
        yield


@contextmanager
def stop_on_signals(
    *signals: signal.Signals, what: str = "calls under way are waited for and kept"
) -> Iterator[threading.Event]:
    """An event that the first of the signals sets; the second interrupts at once.

    `signals` are Ctrl-C and SIGTERM by default; `what` says what is done before the end.
    """
    stop = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 -- signal's own form
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        note(f"stopping: {what}; once more to quit at once")

    with _handling(*(signals or (signal.SIGINT, signal.SIGTERM)), handler=handle):
        yield stop


@contextmanager
def _handling(
    *signals: signal.Signals, handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    """Handle signals so within the block."""
    before = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
