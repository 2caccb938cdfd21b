"""Files that must stay what they were: a manifest beside them has the SHA-256 of each.

The manifest is removed first and written last, so a folder with one is whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from ..errors import StoreError
from ..files.atomic import write_text
from .rows import PINS as MANIFEST
from .rows import Row, write
from .shelf import to_line


@dataclass(frozen=True)
class Pinned:
    """What a manifest says: where the rows come from and how they were divided; by the name of each
    file how many rows it has, and its SHA-256."""

    source: str
    seed: int
    rows: Mapping[str, int]
    sha256: Mapping[str, str]


def pinned(files: Mapping[str, list[Row]], source: str, seed: int) -> Pinned:
    """What the manifest of these files, each in JSON lines, will say."""
    contents = {name: b"".join(map(to_line, rows)) for name, rows in files.items()}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    return Pinned(source, seed, {name: len(rows) for name, rows in files.items()}, digests)


def write_pinned(folder: Path, files: Mapping[str, list[Row]], found: Pinned) -> None:
    """Write the files and their manifest. Raises StoreError where that fails."""
    manifest = folder / MANIFEST
    try:
        manifest.unlink(missing_ok=True)
        for name, rows in files.items():
            write(rows, folder / name)
        write_text(manifest, json.dumps(asdict(found), indent=2) + "\n")
    except OSError as error:
        raise StoreError(f"cannot write {manifest}: {error.strerror or error}") from None


def check(folder: str | Path) -> Pinned:
    """The manifest of a folder whose files are still what it says.

    Raises:
        StoreError: there is no manifest, or a file has changed since it was written.
    """
    folder = Path(folder)
    if not (folder / MANIFEST).is_file():
        raise StoreError(
            f"{folder} is not pinned, or was not finished: there is no {MANIFEST} in it; "
            "--overwrite makes it anew"
        )
    found = _read(folder / MANIFEST)
    for name in found.sha256:
        _check(folder / name, found)
    return found


def check_file(path: Path) -> None:
    """See that a file is still what the manifest beside it says, if there is one that names it.

    Raises:
        StoreError: it is not.
    """
    manifest = path.with_name(MANIFEST)
    if manifest.is_file() and path.name in (found := _read(manifest)).sha256:
        _check(path, found)


def _read(manifest: Path) -> Pinned:
    try:
        found = Pinned(**json.loads(manifest.read_bytes()))
        if isinstance(found.sha256, dict) and all("/" not in name for name in found.sha256):
            return found
        raise ValueError("it names no files")
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"{manifest} is damaged: {error}") from None


def _check(path: Path, found: Pinned) -> None:
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from None
    if digest != found.sha256[path.name]:
        raise StoreError(
            f"{path} is not what was pinned: its SHA-256 begins with {digest[:12]}, in {MANIFEST} "
            f"with {found.sha256[path.name][:12]}"
        )
