"""A transfer: where it goes to, what it is told to stop by, and the step in which it is there."""

from __future__ import annotations

import fcntl
import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import InfiniteRLError, StoreError
from ..files.atomic import atomic_folder, clear_unfinished
from ..files.cache import cache_folder

CHUNK = 1 << 20  # bytes that are read at a time
_LOCK = ".lock"


class Interrupted(InfiniteRLError):
    """The caller asked for a transfer to be given up."""


@dataclass(frozen=True)
class Transfer:
    """How things are fetched and published.

    cache      the folder that what is fetched is kept in; None: that of the user
    told       is called, from any thread, with the bytes so far and the bytes in all
    stop       a transfer is given up when this is set, and raises Interrupted
    leave_out  names of files that are not fetched with a folder of S3
    """

    cache: Path | None = None
    told: Callable[[int, int], None] = lambda _done, _total: None
    stop: threading.Event = field(default_factory=threading.Event)
    leave_out: tuple[str, ...] = ()

    def place(self, uri: str, version: str, name: str) -> Path:
        """Where this version of what `uri` names is kept, once it is there."""
        digest = hashlib.sha256(f"{uri}\n{version}".encode()).hexdigest()[:16]
        try:
            return (self.cache or cache_folder()) / "data" / digest / name
        except (OSError, RuntimeError) as error:
            raise StoreError(f"there is no cache to keep {uri} in: {error}") from None

    def check(self) -> None:
        """Raise Interrupted where it is to be given up."""
        if self.stop.is_set():
            raise Interrupted("the transfer was given up")


class Meter:
    """Adds up the bytes of parts that are moved at the same time; `over` ends those under way."""

    def __init__(self, transfer: Transfer, total: int) -> None:
        self._transfer, self._total, self._done = transfer, total, 0
        self._turn = threading.Lock()
        self.over = threading.Event()

    def add(self, count: int) -> None:
        """So many bytes more have been moved."""
        with self._turn:
            self._done += count
            self._transfer.told(self._done, self._total)


def kept(place: Path, is_whole: Callable[[Path], bool], make: Callable[[Path], object]) -> Path:
    """`place`, made by `make` at another path where it is not there whole.

    It gets its name when all of it is on the disk. Of several who want it at once, one makes it.

    Raises:
        StoreError: it cannot be written. Whatever `make` raises.
    """
    if is_whole(place):
        return place
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _turn(place.parent):
            if not is_whole(place):
                with atomic_folder(place) as draft:
                    make(draft)
    except OSError as error:
        raise StoreError(f"cannot write {place}: {error.strerror or error}") from None
    return place


@contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Wait until nobody else makes anything in a folder; what killed processes left is removed.

    A lock goes with its process. Where the file system has none, each makes its own in peace.
    """
    with (folder / _LOCK).open("wb") as file:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
            clear_unfinished(folder)
        yield
