"""Files and folders that take the place of others: whole or not at all, and on the disk."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import StoreError

UNFINISHED = ".part"
_NEW, _OLD = "new", "old"
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP)  # what mounts of object stores say of folders


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A file to write in, which takes the place of `path` when all is well; its folder is made.

    Raises:
        StoreError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=UNFINISHED, dir=path.parent)
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


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A path of that name where nothing is: the folder, or file, made there becomes `path`.

    It does when all of it is on the disk. What was there stays until then, and for good where the
    block raises. The parent is made. What a killed process leaves is hidden in there.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # It has no part of the name, which may be as long as a name can be.
    room = Path(tempfile.mkdtemp(prefix=".", suffix=UNFINISHED, dir=path.parent))
    held = _held(room)  # by which `clear_abandoned` knows that it is
    draft, before = room / _NEW / path.name, room / _OLD
    try:
        draft.parent.mkdir()
        yield draft
        sync(draft)
        if path.exists():
            path.rename(before)
        try:
            draft.rename(path)
        except OSError:
            if before.exists():
                before.rename(path)
            raise
        sync_one(path.parent)
    finally:
        shutil.rmtree(room, ignore_errors=True)
        if held is not None:
            os.close(held)


def clear_abandoned(folder: Path) -> None:
    """Remove what killed processes left of `atomic_folder`, and nothing else, in a folder.

    Others may be at it there. A folder that was moved away and not replaced gets its name back.
    """
    for room in folder.glob(f".*{UNFINISHED}"):
        if (room / _NEW).is_dir() and (held := _held(room)) is not None:
            with suppress(OSError):
                for draft in (room / _NEW).iterdir():
                    if (room / _OLD).exists() and not (folder / draft.name).exists():
                        (room / _OLD).rename(folder / draft.name)
                shutil.rmtree(room)
            os.close(held)


def _held(folder: Path) -> int | None:
    """A lock on a folder, which goes with its process; None where that cannot be had."""
    number = None
    try:
        number = os.open(folder, os.O_RDONLY)
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        if number is not None:
            os.close(number)
        return None
    return number


def clear_unfinished(folder: Path) -> None:
    """Remove what killed processes left in a folder where nobody makes any folder now."""
    for left in folder.glob(f".*{UNFINISHED}"):
        shutil.rmtree(left, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all, and onto the disk. Raises StoreError where that fails."""
    with atomic_file(path) as draft, draft.open("w", encoding="utf-8") as file:
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
