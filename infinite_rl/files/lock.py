"""A folder that one process at a time writes to."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import StoreError


@contextmanager
def locked(out_dir: Path) -> Iterator[None]:
    """Be the one that writes to the folder, which is made where it is missing.

    The lock goes with the process, so a killed run leaves none behind. It ends with the block, also
    where a process that was forked meanwhile holds a copy of what is open here.

    Raises:
        StoreError: the folder cannot be written to, or another run is writing to it.
    """
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        file = (out_dir / ".lock").open("wb")
    except OSError as error:
        raise StoreError(f"cannot write to the folder {out_dir}: {error.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StoreError(f"another run is writing to the folder {out_dir}") from None
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
