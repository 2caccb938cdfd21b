"""Fetch rows, models and checkpoints by URI, and publish folders: whole or not at all.

    data/train.jsonl, file:///mnt/a     a file or a folder of this machine
    s3://bucket/folder/train.jsonl      an object in S3 (needs the extra `aws`)
    s3://bucket/folder/                 a folder that was published to S3
    hf:openai/gsm8k:main:test           NAME[:CONFIG]:SPLIT of the `datasets` library (extra `data`)
    hf-model:Qwen/Qwen3-1.7B            NAME[@REVISION] of a model on the hub (extra `train`)

Downloads go to a cache (`$INFINITE_RL_CACHE`, else `~/.cache/infinite_rl`), one path per version.
A download gets that path in one step, when it is complete: a transfer that was cut off is never
used. If several processes fetch the same version, one downloads and the others wait.

Publishing writes a marker last: the file `PUBLISHED`, with the size and hash of each file (in S3
also the ETag). A folder in S3 without its marker, or with files that differ from it, does not count
as published.

    local.py      folders of this machine
    s3.py         objects and folders in S3
    hub.py        data sets and models of the hub
    aws_setup.py  boto3, and what is wrong with the user's AWS configuration
    transfer.py   options of a transfer, and the cache
    marker.py     the marker
"""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UsageError, store_errors
from ..files.atomic import atomic_folder
from . import hub, local, s3
from .marker import MARKER, Published
from .transfer import Transfer

__all__ = ["MARKER", "Published", "Transfer", "copy_to", "fetch", "list_published", "publish"]


def fetch(uri: str | Path, transfer: Transfer | None = None) -> Path:
    """Fetch a file or a folder, and return its path on this machine.

    S3 is read with the credentials, the region and the endpoint (`AWS_ENDPOINT_URL`) of boto3, and
    checked for a new version on each call. `transfer` sets the cache and reports progress.

    Raises:
        UsageError: the URI does not exist, access is denied, or an extra is not installed.
        StoreError: the download is incomplete, or the cache is not writable.
    """
    return _scheme(uri).fetch(str(uri), transfer or Transfer())


def publish(
    folder: str | Path,
    uri: str | Path,
    note: Mapping[str, Any] | None = None,
    transfer: Transfer | None = None,
) -> Published:
    """Copy a folder to `uri`, on this machine or in S3, so that readers see all of it or nothing.

    A folder that was published to `uri` before is replaced; in S3, objects with other names stay
    but do not belong to it. Unchanged files are not sent to S3 again. The marker stores `note`.

    Raises:
        UsageError: the folder is missing or empty, or `uri` is not writable.
        StoreError: the upload is incomplete; the same call can be repeated.
    """
    if not (folder := Path(folder)).is_dir():
        raise UsageError(f"there is no folder {folder}")
    if not str(uri):
        raise UsageError("the URI to publish to is missing")
    if (put := _scheme(uri).publish) is None:
        raise UsageError(f"{uri} is read-only: publish to a folder or to s3://BUCKET/FOLDER/")
    return put(folder, str(uri), note or {}, transfer or Transfer())


def list_published(uri: str | Path) -> list[Published]:
    """List the complete published folders directly below `uri`, by name; other folders are skipped.

    Raises:
        UsageError: `uri` is neither a folder of this machine nor in S3, or access is denied.
        StoreError: S3 did not answer.
    """
    if (listing := _scheme(uri).list_published) is None:
        raise UsageError(f"{uri} cannot be listed: use a folder or s3://BUCKET/FOLDER/")
    return sorted(listing(str(uri)), key=lambda each: each.uri)


def copy_to(path: Path, target: Path) -> Path:
    """Copy a file or a folder to a new path, whole or not at all.

    Raises:
        StoreError: it cannot be written.
    """
    with store_errors(f"cannot write {target}"), atomic_folder(target) as draft:
        (shutil.copytree if path.is_dir() else shutil.copyfile)(path, draft)
    return target


@dataclass(frozen=True)
class _Scheme:
    fetch: Callable[[str, Transfer], Path]
    publish: Callable[[Path, str, Mapping[str, Any], Transfer], Published] | None = None
    list_published: Callable[[str], list[Published]] | None = None


# One row per scheme; a URI without one of these before its first colon is a path.
_SCHEMES: Mapping[str, _Scheme] = {
    "s3": _Scheme(s3.fetch, s3.publish, s3.list_published),
    "file": _Scheme(local.fetch, local.publish, local.list_published),
    "hf": _Scheme(hub.fetch_rows),
    "hf-model": _Scheme(hub.fetch_model),
}


def _scheme(uri: str | Path) -> _Scheme:
    scheme, colon, _ = str(uri).partition(":")
    return _SCHEMES[scheme if colon and scheme in _SCHEMES else "file"]
