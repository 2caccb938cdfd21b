"""What can go wrong, and whose fault it is.

A model's mistake is data: a score with its reason, never an exception. What is raised is ours, the
user's or the provider's:

    InfiniteRLError
     +-- UsageError               the caller asked for what cannot be done (also a ValueError)
     |    +-- UnknownName         no such task, language, provider or reward; names the known ones
     |    +-- NoColumn            a row lacks a column; names those that it has
     +-- StoreError               a file in the output folder is foreign, locked or not writable
     |    +-- DiskFull            there is no space for it
     |    +-- Damaged             published content has changed: no retry can help
     +-- RuntimeMissing           a .wasm runtime is absent or not the one that was built
     |    +-- ExtraMissing        an optional runtime is not installed
     +-- SandboxError             the sandbox itself broke; a guest's failure is an Execution
     +-- JudgingUnavailable       a server of rewards gave no answer: nothing is known of the rows
     +-- LaunchError              the cloud, or a program that builds for it, did not do its part
     +-- RunDied                  a part of a training run died that the run cannot replace
     +-- ProviderError            the provider did not answer with a completion
          +-- ProviderUnavailable passing trouble (429, 5xx, network): the call may be repeated
          |    +-- Stopped        the caller's own signal ended the wait for an answer
          +-- ProviderRefused     no retry can help (key, model name, request): the run stops
          +-- NoCompletion        an answer without usable text (blocked, empty): redraw the task

Exceptions of other libraries are turned into these once, at the edge that meets them.
"""

import errno
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

from .types import Usage

T = TypeVar("T")


class InfiniteRLError(Exception):
    """Base class of everything that this package raises on purpose."""


class UsageError(InfiniteRLError, ValueError):
    """The caller asked for something that cannot be done."""


class UnknownName(UsageError):
    """A name that is not in its table; the message lists those that are, and the nearest."""

    def __init__(self, kind: str, name: object, names: Iterable[str], where: str = "") -> None:
        self.kind, self.name, table = kind, name, sorted(names)
        hint = nearest(name, table) if isinstance(name, str) else ""
        super().__init__(f"{where}unknown {kind} {shown(name)}; known: {', '.join(table)}{hint}")


def shown(value: object) -> str:
    """A value as errors show it: the first 80 characters of its `repr`, or what kind it is."""
    try:
        return repr(value)[:80]
    except (ValueError, RecursionError):  # of thousands of digits, nested too deeply
        return f"a value of type {type(value).__name__}"


def reason_of(error: BaseException) -> str:
    """The message of another library's exception in one line; its kind if it has no message."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def nearest(name: str, names: Iterable[str], least: float = 0.6) -> str:
    """Suggest the nearest known name: "; did you mean NAME?", "" if none is near.

    `least` is the similarity in [0, 1] that it must have.
    """
    from difflib import get_close_matches  # needed for errors alone

    near = get_close_matches(name, names, 1, least)
    return f"; did you mean {near[0]}?" if near else ""


def check_range(name: str, value: float, low: float, high: float = math.inf) -> None:
    """Raise UsageError unless a number is finite and between `low` and `high`."""
    if not (low <= value <= high and value < math.inf):  # also refuses nan
        limits = f"at least {low:g}" if high == math.inf else f"in [{low:g}, {high:g}]"
        raise UsageError(f"{name} must be {limits}, not {value!r}")


def check_if_set(name: str, value: float | None, low: float) -> None:
    """As `check_range` without an upper limit, for a number that may be None."""
    if value is not None:
        check_range(name, value, low)


def look_up(kind: str, name: object, table: Mapping[str, T], where: str = "") -> T:
    """Look up a name in a table. Raises UnknownName, after `where`, if the table lacks it."""
    if not isinstance(name, str) or name not in table:
        raise UnknownName(kind, name, table, where)
    return table[name]


def import_extra(module: str, subject: str, extra: str) -> Any:
    """Import a module of an extra.

    Raises:
        UsageError: it is not installed: "`subject` MODULE: pip install ...".
    """
    try:
        import_module(module.partition(".")[0])
        return import_module(module)
    except ModuleNotFoundError as error:
        install = f"pip install 'infinite-rl[{extra}]'"
        raise UsageError(f"{subject} {error.name or module}: {install}") from None


class NoColumn(UsageError):
    """A row lacks columns that it needs; the message lists those that it has."""

    def __init__(
        self, column: str | Sequence[str], row: Iterable[object], where: str = "a row"
    ) -> None:
        self.columns = (column,) if isinstance(column, str) else tuple(column)
        names = ", ".join(map(repr, self.columns))
        super().__init__(
            f"{where} has no column{'s' * (len(self.columns) > 1)} {names} "
            f"(its columns: {', '.join(map(str, row))})"
        )


class StoreError(InfiniteRLError):
    """A file in the output folder is foreign, damaged, locked or not writable."""


class DiskFull(StoreError):
    """There is no space on the disk."""


_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_FULL = os.strerror(errno.ENOSPC)


def store_error(what: str, error: BaseException) -> StoreError:
    """The StoreError "`what`: REASON" for another error: `DiskFull` if the disk is full.

    Libraries hide the system's error behind another one (torch), or have its text alone
    (safetensors, tokenizers).
    """
    cause: BaseException | None = error
    while cause is not None:
        if getattr(cause, "errno", None) in _NO_SPACE or _FULL in str(cause):
            return DiskFull(f"{what}: {getattr(cause, 'strerror', None) or _FULL}")
        cause = cause.__cause__ or cause.__context__
    system = error.strerror if isinstance(error, OSError) else None
    lines = str(error).splitlines() or [type(error).__name__]
    return StoreError(f"{what}: {system or lines[0]}")


@contextmanager
def store_errors(what: str) -> Iterator[None]:
    """Raise the `store_error` "`what`: REASON" for an OSError in the block."""
    try:
        yield
    except OSError as error:
        raise store_error(what, error) from None


class Damaged(StoreError):
    """The published content has changed: fetching it again would give the same."""


class RuntimeMissing(InfiniteRLError):
    """A WebAssembly runtime is absent, or is not the file that was built."""


class ExtraMissing(RuntimeMissing):
    """An optional runtime is not installed; the message says how to install it."""


class SandboxError(InfiniteRLError):
    """The sandbox itself broke: our fault, never the guest program's."""


class JudgingUnavailable(InfiniteRLError):
    """A server of rewards gave no answer in time: nothing is known of the completions."""


class LaunchError(InfiniteRLError):
    """The cloud, or a program that builds an image for it, did not do what it was asked."""


class ProviderError(InfiniteRLError):
    """The provider did not answer with a completion."""


class ProviderUnavailable(ProviderError):
    """Passing trouble: rate limit, server error, network. The same call may be made again.

    `retry_after` is the delay the server asked for, in seconds, or None if it named none. `status`
    is the HTTP status, None if the server sent none. `kind` names the trouble in counts of retries:
    the status, or "timeout", "reset" (the connection broke), "unreachable" (it was never made),
    "garbled" or "other". `rate_limit` is true if the server named a quota per minute.
    """

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        status: int | None = None,
        kind: str = "",
        rate_limit: bool = False,
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.status = status
        self.kind = kind or str(status or "other")
        self.rate_limit = rate_limit


class RunDied(InfiniteRLError):
    """A part of a training run died that it cannot replace; its checkpoints stay."""


class Stopped(ProviderUnavailable):
    """The caller asked to stop; the provider may be healthy."""


class ProviderRefused(ProviderError):
    """No retry can help: a missing or wrong key, a retired model, a malformed request."""


class NoCompletion(ProviderError):
    """An answer without usable text, blocked or empty. A new task may fare better.

    `usage` has the tokens of the call: a blocked or an empty answer may be billed too.
    """

    def __init__(self, message: str, *, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage or Usage()
