"""The marker of a published folder: what its files must be for it to be whole.

    {"files": {"model.safetensors": {"size": 3, "sha256": "ba78...", "etag": "..."}}, "note": {}}

It may have been written by anybody, so all in it is checked before it is used.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import StoreError, UsageError
from .transfer import CHUNK

MARKER = "PUBLISHED"
MOST = 64 << 20  # bytes of a marker that anybody reads
Stamps: TypeAlias = "dict[str, tuple[int, int, int]]"
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Published:
    """A whole folder: where it is, and what was noted of it when it was published."""

    uri: str
    note: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The last part of its place."""
        return self.uri.rstrip("/").rpartition("/")[2]


@dataclass(frozen=True)
class Entry:
    """What is told of a file; the ETag is that of S3, "" elsewhere."""

    size: int
    sha256: str
    etag: str = ""

    def is_as(self, other: Entry | None) -> bool:
        """Whether both are the same bytes, wherever they are."""
        return other is not None and replace(self, etag="") == replace(other, etag="")


@dataclass(frozen=True)
class Marker:
    """The files of a folder, by their names below it with "/" between the parts, and a note."""

    files: Mapping[str, Entry]
    note: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, data: bytes, where: str) -> Marker:
        """A marker as `data` gives it. Raises StoreError where it is none, or leads elsewhere."""
        try:
            found = json.loads(data)
            files = {safe(name): _entry(told) for name, told in found["files"].items()}
            note = found.get("note", {})
            if files and isinstance(note, dict):
                return cls(files, note)
            reason = "it names no file"
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            reason = str(error) if isinstance(error, UsageError) else type(error).__name__
        raise StoreError(f"{where} is no marker of a folder: {reason}")

    @classmethod
    def of(cls, folder: Path, note: Mapping[str, Any]) -> Marker:
        """The marker of a folder of this machine.

        Raises:
            UsageError: it is empty, or holds what cannot be published.
            OSError: a file cannot be read.
        """
        files = {name: _entry_of(path) for name, path in contents(folder).items()}
        return cls(files, note)

    def data(self) -> bytes:
        """It as JSON."""
        files = {name: asdict(entry) for name, entry in sorted(self.files.items())}
        return json.dumps({"files": files, "note": dict(self.note)}, indent=1).encode() + b"\n"

    def without(self, names: Collection[str]) -> Marker:
        """It without some of the files."""
        files = {name: entry for name, entry in self.files.items() if name not in names}
        return replace(self, files=files)

    def is_of(self, folder: Path) -> bool:
        """Whether each file is there in its size."""
        try:
            return folder.is_dir() and all(
                (folder / name).stat().st_size == entry.size for name, entry in self.files.items()
            )
        except OSError:
            return False

    def same_content(self, other: Marker) -> bool:
        """Whether both tell of the same files, wherever they are, and have the same note."""
        return self.note == other.note and self._content() == other._content()

    def _content(self) -> dict[str, Entry]:
        return {name: replace(entry, etag="") for name, entry in self.files.items()}


def contents(folder: Path) -> dict[str, Path]:
    """The files of a folder by name, but for a marker of its own.

    Raises:
        UsageError: there are none, or it holds a link to a folder, or what is no file.
        OSError: a folder in it cannot be read.
    """
    found: dict[str, Path] = {}
    for place, folders, files in os.walk(folder, onerror=_raise):
        for name in folders:
            if (Path(place) / name).is_symlink():
                raise UsageError(f"{Path(place) / name} is a link to a folder: publish that itself")
        for name in files:
            path = Path(place) / name
            if path.exists() and not path.is_file():
                raise UsageError(f"{path} is no file, but a pipe, a socket or a device")
            found[safe(path.relative_to(folder).as_posix())] = path
    found.pop(MARKER, None)
    if not found:
        raise UsageError(f"there is no file in {folder}")
    return dict(sorted(found.items()))


def stamps_of(folder: Path) -> Stamps:
    """By what it shows that a file of a folder has changed. Raises as `contents`."""
    return {name: _stamp(path.stat()) for name, path in contents(folder).items()}


def _stamp(state: os.stat_result) -> tuple[int, int, int]:
    return state.st_ino, state.st_size, state.st_mtime_ns


def _raise(error: OSError) -> None:
    raise error


def safe(name: str) -> str:
    """The name of a file below a folder. Raises UsageError for one that could leave it."""
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in name or not _is_utf8(name):
        raise UsageError(f"{name!r} is no name of a file in a folder")
    return name


def sha256_of(path: Path) -> str:
    """The hash of a file's content."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _entry_of(path: Path) -> Entry:
    return Entry(path.stat().st_size, sha256_of(path))


def _entry(told: Mapping[str, Any]) -> Entry:
    size, sha256, etag = told["size"], told["sha256"], told.get("etag", "")
    if type(size) is not int or size < 0 or not isinstance(etag, str):
        raise ValueError("a size or an ETag is none")
    if not _SHA256.fullmatch(sha256):
        raise ValueError("a hash is none")
    return Entry(size, sha256, etag)
