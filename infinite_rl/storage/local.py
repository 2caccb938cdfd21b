"""Folders of this machine: `/data/x`, `file:///data/x`."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ..errors import StoreError, UsageError
from ..files.atomic import atomic_folder, clear_abandoned
from .marker import MARKER, MOST, Marker, Published, contents, stamps_of
from .transfer import Meter, Transfer

_SCHEME = "file:"


def fetch(uri: str, transfer: Transfer) -> Path:  # noqa: ARG001  # nothing is moved
    """The file or the folder itself; one that was published, only if it is whole."""
    path = _path(uri)
    if not path.exists():
        raise UsageError(f"there is no {uri}")
    if (path / MARKER).is_file() and _whole(path) is None:
        raise StoreError(f"{uri} is not whole: its files are not those that its {MARKER} tells of")
    return path


def publish(folder: Path, uri: str, note: Mapping[str, Any], transfer: Transfer) -> Published:
    """Copy it beside its new place, and give it its name when all is on the disk."""
    target = _path(uri)
    if target.is_file():
        raise UsageError(f"{uri} is a file: a folder cannot take its place")
    if target.resolve() in (folder.resolve(), *folder.resolve().parents):
        raise UsageError(f"{uri} is, or holds, what is to be published there")
    try:
        stamps = stamps_of(folder)
        marker = Marker.of(folder, note)
        there = _whole(target)
        if there is None or not there.same_content(marker):
            clear_abandoned(target.parent)
            with atomic_folder(target) as draft:
                _copy(folder, draft, marker, transfer)
                if not marker.is_of(draft) or stamps_of(folder) != stamps:
                    raise StoreError(f"{folder} changed while it was published")
                (draft / MARKER).write_bytes(marker.data())
    except OSError as error:
        raise StoreError(f"cannot publish to {uri}: {error.strerror or error}") from None
    return Published(uri, dict(note))


def ready(uri: str) -> list[Published]:
    """The whole folders below one; those that were not published here have no marker."""
    folder = _path(uri)
    if not folder.exists():
        return []  # as in S3, where there are no empty folders
    if not folder.is_dir():
        raise UsageError(f"{uri} is no folder")
    try:
        names = [path for path in folder.iterdir() if path.name[0] != "."]
    except OSError as error:
        raise StoreError(f"{uri} cannot be listed: {error.strerror or error}") from None
    markers = {path: _whole(path) for path in names}
    return [Published(str(path), marker.note) for path, marker in markers.items() if marker]


def _path(uri: str) -> Path:
    """The path that is meant, there or not. Raises UsageError or StoreError where none can be."""
    try:
        path = _path_of(uri) if uri.startswith(_SCHEME) else Path(uri)
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return path
    except ValueError:
        raise UsageError(f"{uri} is no place on this machine: a path, or file:///PATH") from None
    except OSError as error:
        raise StoreError(f"{uri} cannot be reached: {error.strerror or error}") from None
    return path


def _path_of(uri: str) -> Path:
    parts = urlsplit(uri)
    if parts.netloc not in ("", "localhost") or parts.query or parts.fragment:
        raise ValueError
    return Path(unquote(parts.path))


def _whole(folder: Path) -> Marker | None:
    """A folder's marker, if there is one and its files are as it tells."""
    if not (folder / MARKER).is_file():  # a pipe would be waited for
        return None
    try:
        with (folder / MARKER).open("rb") as file:
            marker = Marker.read(file.read(MOST), str(folder / MARKER))
    except (OSError, StoreError):
        return None
    return marker if marker.is_of(folder) else None


def _copy(folder: Path, draft: Path, marker: Marker, transfer: Transfer) -> None:
    meter = Meter(transfer, sum(entry.size for entry in marker.files.values()))
    for name, path in contents(folder).items():
        transfer.check()
        (draft / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, draft / name)
        meter.add(path.stat().st_size)
