"""Objects and folders in S3: boto3's transfer manager, with checks that a transfer is complete.

Each download is pinned to the version (ETag) that was asked for. If the object changes meanwhile,
the download fails.
"""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from ..errors import Damaged, StoreError, UsageError, reason_of
from .aws_setup import new_boto3_session, setup_problem
from .marker import MARKER, MAX_BYTES, Entry, Marker, Published, contents, fingerprint, sha256
from .transfer import Interrupted, Meter, Transfer, cached

_URI = re.compile(r"s3://([^/]+)/(.*)", re.DOTALL)
_PART = 16 << 20  # bytes of an object that one request downloads
_CONCURRENCY = 8
_ATTEMPTS = 5  # to read the marker
_POLL_S = 0.1  # between two looks at whether a transfer is to stop
# Operations whose permission has another name.
PERMISSIONS = {"HeadObject": "GetObject", "ListObjectsV2": "ListBucket"} | dict.fromkeys(
    ("CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload"), "PutObject"
)
_LIBRARIES = ("boto3", "botocore", "s3transfer", "urllib3")
_HASH = "sha256"  # metadata of an object: the hash of the file that its publisher sent


@dataclass(frozen=True)
class S3Uri:
    """A bucket and a key; the key of a folder is a prefix that ends with "/" or is ""."""

    bucket: str
    key: str

    @classmethod
    def parse(cls, uri: str) -> S3Uri:
        """Parse a URI. Raises UsageError if it is not s3://BUCKET/KEY."""
        if not (match := _URI.fullmatch(uri)):
            raise UsageError(f"{uri} is no S3 URI: it must be s3://BUCKET/KEY")
        return cls(match[1], match[2])

    @property
    def is_folder(self) -> bool:
        """Whether the key is a prefix."""
        return not self.key or self.key.endswith("/")

    @property
    def as_folder(self) -> S3Uri:
        """The URI of the folder with this key."""
        return self if self.is_folder else replace(self, key=f"{self.key}/")

    def __truediv__(self, name: str) -> S3Uri:
        return S3Uri(self.bucket, self.key + name)

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"

    @property
    def args(self) -> dict[str, str]:
        """The arguments that name the object in a call of boto3."""
        return {"Bucket": self.bucket, "Key": self.key}


# --- fetching ------------------------------------------------------------------------------------


def fetch(uri: str, transfer: Transfer) -> Path:
    """Fetch an object or a folder, with or without a "/" at its end: see `storage.fetch`."""
    source = S3Uri.parse(uri)
    name = PurePosixPath(source.key).name or (source.bucket if source.is_folder else "")
    if name in ("", ".", "..") or "\0" in name:
        raise UsageError(f"{source} ends with no valid file name")
    with _errors_of(uri, "read"):
        client = new_boto3_session("S3 needs").client("s3")
        if not source.is_folder:
            head = _head(client, source)
            if head is None:
                return fetch(str(source.as_folder), transfer)
            entry = Entry(head["ContentLength"], "", head["ETag"])
            path = transfer.cache_path(str(source), entry.etag, name)
            return cached(
                path, Path.is_file, lambda to: _download(client, [(source, entry, to)], transfer)
            )
        marker, etag = _marker(client, source)
        marker = marker.without(transfer.leave_out)
        path = transfer.cache_path(str(source), "\n".join((etag, *transfer.leave_out)), name)

        def make(to: Path) -> None:
            files = [(source / name, entry, to / name) for name, entry in marker.files.items()]
            _download(client, files, transfer)

        return cached(path, marker.matches, make)


def _head(client: Any, uri: S3Uri) -> Any:
    """The HEAD of an object; None if the key is that of a folder."""
    try:
        return client.head_object(**uri.args)
    except client.exceptions.ClientError as error:
        if _status(error) == 404 and _folder_exists(client, uri.as_folder):
            return None
        raise


def _folder_exists(client: Any, folder: S3Uri) -> bool:
    try:
        page = client.list_objects_v2(Bucket=folder.bucket, Prefix=folder.key, MaxKeys=1)
    except client.exceptions.ClientError:
        return False  # without the permission to list, the error is about the object
    return bool(page.get("Contents"))


def _marker(client: Any, folder: S3Uri) -> tuple[Marker, str]:
    """A folder's marker, and its ETag."""
    retryable = import_module("s3transfer.utils").S3_RETRYABLE_DOWNLOAD_ERRORS
    for _ in range(_ATTEMPTS):
        try:
            response = client.get_object(**(folder / MARKER).args)
            with response["Body"] as body:
                data = body.read(MAX_BYTES)
        except client.exceptions.NoSuchKey:
            raise UsageError(
                f"{folder} is no complete folder: it has no {MARKER}, so its upload was cut off, "
                "or it was not made by `infinite-rl storage publish`"
            ) from None
        except retryable:
            continue
        if len(data) == min(response["ContentLength"], MAX_BYTES):
            return Marker.read(data, str(folder / MARKER)), response["ETag"]
    raise StoreError(f"{folder / MARKER} was cut off {_ATTEMPTS} times")


def _download(client: Any, files: list[tuple[S3Uri, Entry, Path]], transfer: Transfer) -> None:
    """Download objects to paths, all of them or an error."""
    total = sum(entry.size for _, entry, _ in files)
    for _, _, path in files:
        path.parent.mkdir(parents=True, exist_ok=True)
    for _, _, path in files[:1]:  # the size comes from the marker, which anybody may have written
        if total > (free := shutil.disk_usage(path.parent).free):
            raise StoreError(f"{total} bytes do not fit on the disk, which has {free} left")
    meter, etags = Meter(transfer, total), {uri.key: entry.etag for uri, entry, _ in files}

    def pin(params: dict[str, Any], **_: Any) -> None:
        params["IfMatch"] = etags[params["Key"]]  # the manager pins some of its requests alone

    client.meta.events.register("before-parameter-build.s3.GetObject", pin)

    def submit(manager: Any) -> Iterator[Any]:
        for uri, entry, path in files:
            callbacks = [_Callbacks(meter, entry)]
            yield manager.download(uri.bucket, uri.key, str(path), None, callbacks)

    _run_transfers(client, submit, transfer)
    with ThreadPoolExecutor(_CONCURRENCY) as pool:
        for _ in pool.map(lambda file: _verify(*file), files):
            transfer.check()


def _verify(uri: S3Uri, entry: Entry, path: Path) -> None:
    if (size := path.stat().st_size) != entry.size:
        raise StoreError(f"{uri} was cut off: {size} of {entry.size} bytes came")
    if entry.sha256 and sha256(path) != entry.sha256:
        raise Damaged(f"{uri} is not what was published: its hash differs")


# --- boto3's transfer manager --------------------------------------------------------------------


class _Callbacks:
    """What the transfer manager calls; with an entry, it asks S3 for no size and ETag."""

    def __init__(self, meter: Meter, entry: Entry | None = None) -> None:
        self._meter, self._entry = meter, entry

    def on_queued(self, future: Any, **_: Any) -> None:
        if self._entry:
            future.meta.provide_transfer_size(self._entry.size)
            future.meta.provide_object_etag(self._entry.etag)

    def on_progress(self, bytes_transferred: int, **_: Any) -> None:
        self._meter.add(bytes_transferred)

    def on_done(self, **_: Any) -> None: ...


def _run_transfers(client: Any, submit: Callable[[Any], Iterable[Any]], transfer: Transfer) -> None:
    """Submit transfers to a manager, and wait for them. An error or a stop cancels all of them."""
    from boto3.s3.transfer import TransferConfig, create_transfer_manager

    config = TransferConfig(
        _PART, _CONCURRENCY, multipart_chunksize=_PART, preferred_transfer_client="classic"
    )
    with create_transfer_manager(client, config) as manager:
        for future in list(submit(manager)):
            while not future.done():
                if transfer.stop.wait(_POLL_S):
                    raise Interrupted("the transfer was stopped")
            future.result()
    transfer.check()


# --- publishing ----------------------------------------------------------------------------------


def publish(folder: Path, uri: str, note: Mapping[str, Any], transfer: Transfer) -> Published:
    """Upload the files, verify them, then write the marker: see `storage.publish`."""
    target = S3Uri.parse(uri).as_folder
    if not target.key:
        raise UsageError(f"{uri} is a whole bucket: name a folder in it")
    with _errors_of(uri, "published"):
        client = new_boto3_session("S3 needs").client("s3")
        before, marker = fingerprint(folder), Marker.of(folder, note)
        old = _whole(client, target, _listing(client, target)) or Marker({})
        if old != marker:
            unchanged = {
                name: old.files[name].etag
                for name, entry in marker.files.items()
                if old.files.get(name) == entry
            }
            _upload(client, folder, target, marker.without(unchanged), transfer)
            marker = _verify_upload(client, target, marker, unchanged)
            if fingerprint(folder) != before:
                raise StoreError(f"{folder} changed while it was published")
            client.put_object(**(target / MARKER).args, Body=marker.data())
    return Published(str(target), dict(note))


def _upload(client: Any, folder: Path, target: S3Uri, marker: Marker, transfer: Transfer) -> None:
    meter = Meter(transfer, sum(entry.size for entry in marker.files.values()))

    def submit(manager: Any) -> Iterator[Any]:
        for name, path in contents(folder).items():
            if name in marker.files:
                args = {"Metadata": {_HASH: marker.files[name].sha256}}
                key = (target / name).key
                yield manager.upload(str(path), target.bucket, key, args, [_Callbacks(meter)])

    _run_transfers(client, submit, transfer)


def _verify_upload(
    client: Any, target: S3Uri, marker: Marker, unchanged: Mapping[str, str]
) -> Marker:
    """The marker with the ETags in S3. Raises StoreError if another publisher wrote an object.

    An object is ours if its metadata has the hash that we sent, or if it has the ETag of a file
    that was `unchanged` and so not sent.
    """

    def verify(name: str) -> Entry:
        entry, head = marker.files[name], _head(client, target / name)
        is_ours = head["Metadata"].get(_HASH) == entry.sha256
        is_ours = is_ours or head["ETag"] == unchanged.get(name)
        if head["ContentLength"] != entry.size or not is_ours:
            raise StoreError(f"{target / name} is not what was sent: another process publishes it")
        return replace(entry, etag=head["ETag"])

    with ThreadPoolExecutor(_CONCURRENCY) as pool:
        entries = pool.map(verify, marker.files)
        return replace(marker, files=dict(zip(marker.files, entries, strict=True)))


# --- listing -------------------------------------------------------------------------------------


def list_published(uri: str) -> list[Published]:
    """The complete folders below a folder: see `storage.list_published`."""
    parent = S3Uri.parse(uri).as_folder
    with _errors_of(uri, "listed"):
        client = new_boto3_session("S3 needs").client("s3")
        folders: dict[str, dict[str, Any]] = defaultdict(dict)
        for name, listed in _listing(client, parent).items():
            folder, slash, rest = name.partition("/")
            if slash and rest:
                folders[folder][rest] = listed
        markers = {
            name: _whole(client, parent / f"{name}/", files) for name, files in folders.items()
        }
    return [Published(str(parent / f"{name}/"), m.note) for name, m in markers.items() if m]


def _listing(client: Any, folder: S3Uri) -> dict[str, Any]:
    """What S3 lists of each object below a folder, by its name there."""
    pages = client.get_paginator("list_objects_v2")
    return {
        each["Key"][len(folder.key) :]: each
        for page in pages.paginate(Bucket=folder.bucket, Prefix=folder.key)
        for each in page.get("Contents", [])
    }


def _whole(client: Any, folder: S3Uri, files: Mapping[str, Any]) -> Marker | None:
    """A folder's marker, if all its files are among the objects that are listed."""
    if MARKER not in files:
        return None
    try:
        marker, _ = _marker(client, folder)
    except (UsageError, StoreError):
        return None  # removed meanwhile, or not a marker of ours
    expected = {name: (entry.size, entry.etag) for name, entry in marker.files.items()}
    listed = {name: (each["Size"], each["ETag"]) for name, each in files.items()}
    return marker if expected.items() <= listed.items() else None


# --- errors --------------------------------------------------------------------------------------


@contextmanager
def _errors_of(uri: str, verb: str) -> Iterator[None]:
    """Map what boto3 and the disk raise to one line that says whose fault it is."""
    try:
        yield
    except (ImportError, StoreError, UsageError, Interrupted):
        raise
    except OSError as error:
        raise StoreError(f"{uri} could not be {verb}: {error}") from None
    except KeyError as error:  # boto3 takes headers that were cut off
        raise StoreError(f"{uri} could not be {verb}: the response lacks {error}") from None
    except Exception as error:
        # boto3's classes cannot be named here: it may not be installed.
        library = type(error).__module__.partition(".")[0]
        if problem := setup_problem(error):
            raise UsageError(f"{uri} cannot be {verb}: {problem}") from None
        if _status(error) == 412 or "expected ETag" in str(error):
            changed = f"{uri} could not be {verb}: an object changed during the transfer"
            raise StoreError(changed) from None
        if hasattr(error, "operation_name"):
            raise _refusal(uri, verb, error) from None
        if isinstance(error, ValueError) or library in _LIBRARIES:
            raise StoreError(f"{uri} could not be {verb}: {reason_of(error)}") from None
        raise


def _refusal(uri: str, verb: str, error: Any) -> Exception:
    """The error for an error response of S3."""
    code, status = str(error.response.get("Error", {}).get("Code")), _status(error)
    operation = error.operation_name
    problem = ""
    if code == "NoSuchBucket":
        problem = f"there is no bucket {S3Uri.parse(uri).bucket}"
    elif status == 404:
        problem = "there is no such object (404)"
    elif code in ("AccessDenied", "403", "AllAccessDisabled"):
        problem = f"s3:{PERMISSIONS.get(operation, operation)} is denied"
        if operation in ("HeadObject", "GetObject"):  # S3 hides a missing object in the same way
            problem += ", or there is no such object"
    elif status in (301, 400, 401, 403):
        problem = reason_of(error)
    if problem:
        return UsageError(f"{uri} cannot be {verb}: {problem}")
    return StoreError(f"{uri} could not be {verb}: {reason_of(error)}")


def _status(error: Any) -> int:
    response = getattr(error, "response", None) or {}
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
