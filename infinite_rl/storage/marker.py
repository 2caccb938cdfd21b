"""The marker of a published folder: the size and hash that each of its files must have.

    {"files": {"model.safetensors": {"size": 3, "sha256": "ba78...", "etag": "..."}}, "note": {}}

Anybody may have written it, so every field is checked before use.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import StoreError, UsageError

MARKER = "PUBLISHED"
MAX_BYTES = 64 << 20  # of a marker; the rest is not read
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Published:
    """A complete published folder: its URI, and the note that it was published with."""

    uri: str
    note: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The last part of the URI."""
        return self.uri.rstrip("/").rpartition("/")[2]


@dataclass(frozen=True)
class Entry:
    """One file: its bytes, and its ETag in S3 ("" elsewhere), which equality ignores."""

    size: int
    sha256: str
    etag: str = field(default="", compare=False)


@dataclass(frozen=True)
class Marker:
    """The files of a folder by their POSIX paths below it, and a note."""

    files: Mapping[str, Entry]
    note: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, data: bytes, where: str) -> Marker:
        """Parse a marker. Raises StoreError if it is malformed, or names a path outside."""
        try:
            values = json.loads(data)
            files = {safe(name): _entry(each) for name, each in values["files"].items()}
            note = values.get("note", {})
            if files and isinstance(note, dict):
                return cls(files, note)
            reason = "it names no file"
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            reason = str(error) if isinstance(error, UsageError) else type(error).__name__
        raise StoreError(f"{where} is no marker of a folder: {reason}")

    @classmethod
    def of(cls, folder: Path, note: Mapping[str, Any]) -> Marker:
        """The marker of a folder of this machine. Raises as `contents`, OSError for unreadable."""
        paths = contents(folder).items()
        return cls({name: Entry(path.stat().st_size, sha256(path)) for name, path in paths}, note)

    def data(self) -> bytes:
        """The marker as JSON."""
        files = {name: asdict(entry) for name, entry in sorted(self.files.items())}
        return json.dumps({"files": files, "note": dict(self.note)}, indent=1).encode() + b"\n"

    def without(self, names: Collection[str]) -> Marker:
        """The marker without some of the files."""
        files = {name: entry for name, entry in self.files.items() if name not in names}
        return replace(self, files=files)

    def matches(self, folder: Path) -> bool:
        """Whether the folder has each file in its size."""
        try:
            return folder.is_dir() and all(
                (folder / name).stat().st_size == entry.size for name, entry in self.files.items()
            )
        except OSError:
            return False


def contents(folder: Path) -> dict[str, Path]:
    """The files of a folder by name, without its marker.

    Raises:
        UsageError: there are none, or one is a link to a folder, a pipe, a socket or a device.
        OSError: a folder in it cannot be read.
    """

    def fail(error: OSError) -> None:
        raise error

    paths: dict[str, Path] = {}
    for parent, folders, files in os.walk(folder, onerror=fail):
        for path in (Path(parent, name) for name in folders):
            if path.is_symlink():
                raise UsageError(f"{path} is a link to a folder: publish that folder itself")
        for path in (Path(parent, name) for name in files):
            if path.exists() and not path.is_file():
                raise UsageError(f"{path} is no file, but a pipe, a socket or a device")
            paths[safe(path.relative_to(folder).as_posix())] = path
    paths.pop(MARKER, None)
    if not paths:
        raise UsageError(f"there is no file in {folder}")
    return dict(sorted(paths.items()))


def fingerprint(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Inode, size and time of each file, which show a change. Raises as `contents`."""
    states = {name: path.stat() for name, path in contents(folder).items()}
    return {name: (s.st_ino, s.st_size, s.st_mtime_ns) for name, s in states.items()}


def safe(name: str) -> str:
    """Return the name of a file below a folder. Raises UsageError for one that could leave it."""
    parts = name.split("/")
    is_utf8 = name.encode(errors="ignore").decode() == name
    if any(part in ("", ".", "..") for part in parts) or "\0" in name or not is_utf8:
        raise UsageError(f"{name!r} is no name of a file in a folder")
    return name


def sha256(path: Path) -> str:
    """The hash of a file's content."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _entry(values: Mapping[str, Any]) -> Entry:
    size, digest, etag = values["size"], values["sha256"], values.get("etag", "")
    if type(size) is not int or size < 0 or not isinstance(etag, str):
        raise ValueError("a size or an ETag is invalid")
    if not _SHA256.fullmatch(digest):
        raise ValueError("a hash is invalid")
    return Entry(size, digest, etag)
