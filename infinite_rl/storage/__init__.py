"""Where rows, models and checkpoints may lie; a file or a folder of this machine for each.

    data/train.jsonl, file:///mnt/a     a file or a folder of this machine
    s3://bucket/folder/train.jsonl      an object of S3 (needs the extra `aws`)
    s3://bucket/folder/                 a folder that was published there
    hf:openai/gsm8k:main:test           NAME[:CONFIG]:SPLIT of the library `datasets` (extra `data`)
    hf-model:Qwen/Qwen3-1.7B            NAME[@REVISION] of a model on the hub (extra `train`)

What is fetched is kept in a cache (`$INFINITE_RL_CACHE`, else `~/.cache/infinite_rl`), under a
name that says which version of what it is. It gets that name in one step, when all of it is
there: a transfer that was cut off is never taken for whole. Of several processes that fetch the
same, one does and the others wait.

A folder is published with a marker, the file `PUBLISHED`, that tells the size and the hash of each
of its files, and in S3 the ETag; it is written last. A folder of S3 without its marker, or with
other files than it tells of, is not there.

    local.py      folders of this machine
    s3.py         objects and folders of S3
    hub.py        data sets and models of the hub
    transfer.py   what is told to each of them; the cache
    marker.py     the marker
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ..errors import UsageError
from . import hub, local, s3
from .marker import MARKER, Published
from .transfer import Transfer

__all__ = ["MARKER", "Published", "Transfer", "fetch", "publish", "ready"]


def fetch(uri: str | Path, transfer: Transfer | None = None) -> Path:
    """The file or the folder that `uri` names, on this machine.

    S3 is asked with the credentials, the region and the endpoint (`AWS_ENDPOINT_URL`) that boto3
    finds. Whether it has changed there is asked each time. `transfer` says where it is kept, if not
    in the cache, and is told how far it is.

    Raises:
        UsageError: there is no such thing, it may not be read, or an extra is not installed.
        StoreError: it could not be fetched whole, or the cache cannot be written.
    """
    return _scheme(uri).fetch(str(uri), transfer or Transfer())


def publish(
    folder: str | Path,
    uri: str | Path,
    note: Mapping[str, Any] | None = None,
    transfer: Transfer | None = None,
) -> Published:
    """Copy a folder to `uri`, a folder of this machine or of S3: whole, or not to be seen.

    What is at `uri` is replaced, but for objects of other names, which are no part of it. What is
    there already, with the same content, is not copied again; in S3, neither is a file of it.
    `note` is kept in the marker.

    Raises:
        UsageError: there is no such folder, it is empty, or `uri` cannot be written to.
        StoreError: not all of it is there now; the same call may be made again.
    """
    if not (folder := Path(folder)).is_dir():
        raise UsageError(f"there is no folder {folder}")
    if not str(uri):
        raise UsageError("the place to publish to is missing")
    put = _scheme(uri).publish
    if put is None:
        raise UsageError(f"{uri}: nothing can be published there; a folder or s3://BUCKET/FOLDER/")
    return put(folder, str(uri), note or {}, transfer or Transfer())


def ready(uri: str | Path) -> list[Published]:
    """The whole folders that were published directly below `uri`, by name; others are not seen.

    Raises:
        UsageError: it is no folder of this machine or of S3, or may not be read.
        StoreError: S3 did not answer.
    """
    found = _scheme(uri).ready
    if found is None:
        raise UsageError(f"{uri}: what is there cannot be listed; a folder or s3://BUCKET/FOLDER/")
    return sorted(found(str(uri)), key=lambda each: each.uri)


class _Publish(Protocol):
    def __call__(
        self, folder: Path, uri: str, note: Mapping[str, Any], transfer: Transfer
    ) -> Published: ...


@dataclass(frozen=True)
class _Scheme:
    fetch: Callable[[str, Transfer], Path]
    publish: _Publish | None = field(default=None)
    ready: Callable[[str], list[Published]] | None = field(default=None)


# One row a kind of place; what has none of these before its first colon is a path.
_SCHEMES: Mapping[str, _Scheme] = {
    "s3": _Scheme(s3.fetch, s3.publish, s3.ready),
    "file": _Scheme(local.fetch, local.publish, local.ready),
    "hf": _Scheme(hub.fetch_rows),
    "hf-model": _Scheme(hub.fetch_model),
}


def _scheme(uri: str | Path) -> _Scheme:
    kind, colon, _ = str(uri).partition(":")
    return _SCHEMES[kind if colon and kind in _SCHEMES else "file"]
