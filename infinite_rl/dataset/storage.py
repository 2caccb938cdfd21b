"""Where rows may lie, and a file of them on this machine.

    data/train.jsonl                    a file or a folder of this machine
    s3://bucket/folder/train.jsonl      an object of S3 (needs the extra `aws`)
    hf:openai/gsm8k:main:test           NAME[:CONFIG]:SPLIT of the library `datasets` (extra `data`)

What is fetched is kept in a cache (`$INFINITE_RL_CACHE`, else `~/.cache/infinite_rl`), under a
name that says which version of what it is. A file gets that name in one step, when all of it is
there: a download that was cut off is never taken for whole, and several processes may fetch the
same.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from ..cache import cache_folder
from ..errors import StoreError, UsageError
from .rows import replacing, write

_CHUNK = 1 << 20  # bytes that are read at a time
_S3 = re.compile(r"s3://([^/]+)/(.*[^/])", re.DOTALL)


def fetch(uri: str | Path) -> Path:
    """The file, or of this machine also the folder, that `uri` names.

    S3 is asked with the credentials, the region and the endpoint (`AWS_ENDPOINT_URL`) that boto3
    finds. Whether an object has changed is asked each time.

    Raises:
        UsageError: there is no such thing, it may not be read, or an extra is not installed.
        StoreError: it could not be fetched whole, or the cache cannot be written.
    """
    kind, separator, _ = str(uri).partition(":")
    if separator and kind in _FETCHERS:
        return _FETCHERS[kind](str(uri))
    path = Path(uri)
    if not path.exists():
        raise UsageError(f"there is no {uri}")
    return path


def _place(uri: str, version: str, name: str) -> Path:
    """Where this version of `uri` is kept, once it is there."""
    digest = hashlib.sha256(f"{uri}\n{version}".encode()).hexdigest()[:16]
    try:
        return cache_folder() / "data" / digest / name
    except (OSError, RuntimeError) as error:
        raise StoreError(f"there is no cache to keep {uri} in: {error}") from None


# --- S3 ------------------------------------------------------------------------------------------


def _from_s3(uri: str) -> Path:
    found = _S3.fullmatch(uri)
    if not found:
        raise UsageError(f"{uri} is no object of S3: it must be s3://BUCKET/KEY")
    where = {"Bucket": found[1], "Key": found[2]}
    boto3, exceptions = _boto3()
    try:
        client = boto3.client("s3")
        head = client.head_object(**where)
        path = _place(uri, head["ETag"], PurePosixPath(found[2]).name)
        if not path.is_file():
            version = {"IfMatch": head["ETag"]}  # what was asked for, not what came after it
            body = client.get_object(**where, **version)["Body"]
            _download(body, path, uri, head["ContentLength"])
        return path
    except exceptions.ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if status in (301, 400, 401, 403, 404):
            raise UsageError(f"{uri} cannot be read: {error}") from None
        raise StoreError(f"{uri} could not be fetched: {error}") from None
    except exceptions.NoCredentialsError as error:
        raise UsageError(f"{uri} cannot be read: {error}") from None
    except (exceptions.BotoCoreError, exceptions.HTTPClientError, ValueError) as error:
        raise StoreError(f"{uri} could not be fetched: {error}") from None


def _download(body: Any, path: Path, uri: str, size: int) -> None:
    """Write what is streamed, all `size` bytes of it, to the disk."""
    with replacing(path) as unfinished, unfinished.open("wb") as file:
        for piece in body.iter_chunks(_CHUNK):
            file.write(piece)
        if file.tell() != size:
            raise StoreError(f"{uri} was cut off: {file.tell()} bytes of {size}")
        file.flush()
        os.fsync(file.fileno())


def _boto3() -> tuple[Any, Any]:
    try:
        import boto3
        import botocore.exceptions
    except ModuleNotFoundError:
        raise UsageError("S3 needs boto3: pip install 'infinite-rl[aws]'") from None
    return boto3, botocore.exceptions


# --- datasets ------------------------------------------------------------------------------------


def _from_hub(uri: str) -> Path:
    """A split as JSON lines. The `datasets` library has its own cache of what it downloads."""
    name, config, split = _hub_name(uri)
    datasets = _datasets()
    try:
        rows = datasets.load_dataset(name, config, split=split)
    except (OSError, ValueError) as error:  # no network, or no such data set, config or split
        said = " ".join(str(error).split())[:300]
        raise UsageError(f"{uri} cannot be loaded: {type(error).__name__}: {said}") from None
    path = _place(uri, rows._fingerprint, f"{split}.jsonl")
    if not path.is_file():
        write(rows, path)
    return path


def _hub_name(uri: str) -> tuple[str, str | None, str]:
    parts = uri.removeprefix("hf:").split(":")
    if len(parts) not in (2, 3) or not all(parts) or "/" in parts[-1]:
        raise UsageError(f"{uri} names no split: it must be hf:NAME:SPLIT or hf:NAME:CONFIG:SPLIT")
    return parts[0], parts[1] if len(parts) == 3 else None, parts[-1]


def _datasets() -> Any:
    try:
        import datasets
    except ModuleNotFoundError:
        message = "names of the hub need the datasets library: pip install 'infinite-rl[data]'"
        raise UsageError(message) from None
    return datasets


# One row a kind of place.
_FETCHERS: Mapping[str, Callable[[str], Path]] = {"s3": _from_s3, "hf": _from_hub}
