"""Files that take the place of others, whole or not at all, and are forced to the disk."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .errors import StoreError

_NO_SYNC = (errno.EINVAL, errno.ENOTSUP)  # what mounts of object stores say of folders


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write in, which takes the place of `path` when all is well; its folder is made.

    Raises:
        StoreError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        os.close(number)
        try:
            yield Path(name)
            Path(name).chmod(0o666 & ~_umask())
            os.replace(name, path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all, and onto the disk. Raises StoreError where that fails."""
    with replacing(path) as draft, draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def sync(path: Path) -> None:
    """Force a file, or a folder with all that is in it, to the disk."""
    if path.is_dir():
        for each in path.rglob("*"):
            sync_one(each)
    sync_one(path)


def sync_one(path: Path) -> None:
    """Force one file, or the names in one folder, to the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in _NO_SYNC or not path.is_dir():
            raise
    finally:
        os.close(number)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
