"""Files and folders that are replaced in one step, or that one process at a time writes to."""

import errno
import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import StoreError, store_errors

UNFINISHED = ".part"
_NEW, _OLD = "new", "old"
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP)  # from mounts of object stores, for folders


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces `path` if the block succeeds; its folder is created.

    Raises:
        StoreError: the file cannot be written.
    """
    with store_errors(f"cannot write {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=UNFINISHED, dir=path.parent)
        os.close(number)
        try:
            yield Path(name)
            mask = os.umask(0)
            os.umask(mask)
            Path(name).chmod(0o666 & ~mask)
            os.replace(name, path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a path; the folder or file that the block creates there becomes `path`.

    It does so when all of it is on the disk. If the block fails, the old content stays. The parent
    is created, and holds a hidden folder meanwhile, which a killed process leaves behind.

    Raises:
        OSError: it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without a part of the name, which may be as long as a name can be.
    room = Path(tempfile.mkdtemp(prefix=".", suffix=UNFINISHED, dir=path.parent))
    lock = _try_lock(room)  # which `clear_abandoned` respects
    draft, before = room / _NEW / path.name, room / _OLD
    try:
        draft.parent.mkdir()
        yield draft
        for each in [*draft.rglob("*"), draft] if draft.is_dir() else [draft]:
            sync(each)
        if path.exists():
            path.rename(before)
        try:
            draft.rename(path)
        except OSError:
            if before.exists():
                before.rename(path)
            raise
        sync(path.parent)
    finally:
        shutil.rmtree(room, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def clear_abandoned(folder: Path) -> None:
    """Remove what killed processes left of `atomic_folder` in a folder that others may write to.

    A folder that was moved away and not replaced gets its name back.
    """
    for room in folder.glob(f".*{UNFINISHED}"):
        if (room / _NEW).is_dir() and (lock := _try_lock(room)) is not None:
            with suppress(OSError):
                for draft in (room / _NEW).iterdir():
                    if (room / _OLD).exists() and not (folder / draft.name).exists():
                        (room / _OLD).rename(folder / draft.name)
                shutil.rmtree(room)
            os.close(lock)


def _try_lock(folder: Path) -> int | None:
    """Lock a folder until this process ends; None if another process holds the lock."""
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
    """Remove what killed processes left in a folder that no other process writes to."""
    for left in folder.glob(f".*{UNFINISHED}"):
        shutil.rmtree(left, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Replace a file in one step, on the disk. Raises StoreError if that fails."""
    with atomic_file(path) as draft, draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def sync(path: Path) -> None:
    """Force a file, or the names in a folder, to the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in _NO_SYNC or not path.is_dir():
            raise
    finally:
        os.close(number)


@contextmanager
def locked(out_dir: Path) -> Iterator[None]:
    """Lock a folder, which is created if it is missing, for this process.

    The lock ends with the process or the block, even if a forked process holds a copy of its file.

    Raises:
        StoreError: the folder cannot be written to, or another run is writing to it.
    """
    with store_errors(f"cannot write to the folder {out_dir}"):
        out_dir.mkdir(parents=True, exist_ok=True)
        file = (out_dir / ".lock").open("wb")
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StoreError(f"another run is writing to the folder {out_dir}") from None
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def refuse_while_written(out_dir: Path) -> None:
    """Raise StoreError if a run is writing to a folder; nothing is created there."""
    with suppress(FileNotFoundError), (out_dir / ".lock").open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            raise StoreError(
                f"a run is writing to the folder {out_dir}: wait for its end"
            ) from None


def cache_folder() -> Path:
    """`$INFINITE_RL_CACHE`, else the user's cache folder; created, private to the user.

    Raises:
        OSError: it cannot be created.
        RuntimeError: there is no home directory.
    """
    if chosen := os.environ.get("INFINITE_RL_CACHE"):
        folder = Path(chosen)
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Caches" / "infinite_rl"
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "infinite_rl"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
