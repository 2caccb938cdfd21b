"""A folder that one process at a time writes to."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import StoreError


@contextmanager
def locked(out_dir: Path) -> Iterator[None]:
    """Lock a folder, which is created if it is missing, for this process.

    The lock ends with the process or the block, even if a forked process holds a copy of its file.

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
