"""A folder that one process at a time writes to."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO

from ..errors import StoreError


def locked(out_dir: Path) -> IO[bytes]:
    """An open, locked file in the folder, which is made where it is missing.

    The lock goes with the process, so a killed run leaves none behind.
    """
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        file = (out_dir / ".lock").open("wb")
    except OSError as error:
        raise StoreError(f"cannot write to the folder {out_dir}: {error.strerror}") from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise StoreError(f"another run is writing to the folder {out_dir}") from None
    return file
