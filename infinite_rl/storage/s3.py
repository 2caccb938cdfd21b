"""Objects and folders of S3, by boto3 and with its own settings.

What is fetched is read in parts, several at a time, each of the version (ETag) that was asked for;
a part that is cut off goes on where it stopped. An object that has changed meanwhile is an error.
"""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from ..errors import Damaged, StoreError, UsageError, reason_of
from .marker import MARKER, MOST, Entry, Marker, Published, contents, sha256_of, stamps_of
from .transfer import CHUNK, Interrupted, Meter, Transfer, kept

_URI = re.compile(r"s3://([^/]+)/(.*)", re.DOTALL)
_PART = 16 << 20  # bytes of an object that are one request
_AT_ONCE = 8  # requests under way
_FRUITLESS = 5  # how often a part may be cut off without a byte of it
_LOOK_S = 0.1  # between two looks at whether a transfer is to be given up
_PERMISSIONS = {"HeadObject": "GetObject", "ListObjectsV2": "ListBucket"}
_UPLOADS = ("CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload")  # by s3:PutObject
_READS = ("HeadObject", "GetObject")
_OURS = "sha256"  # in an object's metadata: the hash of what its publisher sent
_LIBRARIES = ("boto3", "botocore", "s3transfer", "urllib3")


@dataclass(frozen=True)
class S3Uri:
    """A bucket and a key, or for a folder the beginning of keys, which ends with "/" or is ""."""

    bucket: str
    key: str

    @classmethod
    def of(cls, uri: str) -> S3Uri:
        """The place that a URI names. Raises UsageError where it names none."""
        found = _URI.fullmatch(uri)
        if not found:
            raise UsageError(f"{uri} is no place in S3: it must be s3://BUCKET/KEY")
        return cls(found[1], found[2])

    @property
    def folder(self) -> S3Uri:
        """It as a folder."""
        return self if not self.key or self.key.endswith("/") else replace(self, key=f"{self.key}/")

    def __truediv__(self, name: str) -> S3Uri:
        return S3Uri(self.bucket, self.key + name)

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"

    @property
    def where(self) -> dict[str, str]:
        """It as boto3 wants it."""
        return {"Bucket": self.bucket, "Key": self.key}


@dataclass(frozen=True)
class _File:
    """One object that is fetched, and the file it goes to."""

    place: S3Uri
    entry: Entry
    path: Path


# --- fetching ------------------------------------------------------------------------------------


def fetch(uri: str, transfer: Transfer) -> Path:
    """An object, or where `uri` ends with "/" a whole folder: see `storage.fetch`."""
    place = S3Uri.of(uri)
    with _told(uri, "read"):
        client = _client()
        if not place.key or place.key.endswith("/"):
            return _fetch_folder(client, place, transfer)
        return _fetch_object(client, place, transfer)


def _fetch_object(client: Any, place: S3Uri, transfer: Transfer) -> Path:
    name = PurePosixPath(place.key).name
    if name in ("", ".", "..") or "\0" in name:
        raise UsageError(f"{place} has no name that a file could have")
    head = _head(client, place)
    entry = Entry(head["ContentLength"], "", head["ETag"])

    def make(path: Path) -> None:
        _download(client, [_File(place, entry, path)], transfer)

    return kept(transfer.place(str(place), entry.etag, name), Path.is_file, make)


def _head(client: Any, place: S3Uri) -> Any:
    """What S3 tells of an object; where there is none but a folder, an error that says so."""
    try:
        head = client.head_object(**place.where)
    except client.exceptions.ClientError as error:
        if _status(error) == 404 and _is_folder(client, place.folder):
            raise UsageError(f"{place} is no object, but a folder: {place.folder}") from None
        raise
    if not {"ContentLength", "ETag"} <= head.keys():  # the library takes headers as they come
        raise StoreError(f"{place}: what S3 said of it was cut off")
    return head


def _is_folder(client: Any, place: S3Uri) -> bool:
    try:
        found = client.list_objects_v2(Bucket=place.bucket, Prefix=place.key, MaxKeys=1)
    except client.exceptions.ClientError:
        return False  # who may not list is told of the object alone
    return bool(found.get("Contents"))


def _fetch_folder(client: Any, place: S3Uri, transfer: Transfer) -> Path:
    marker, etag = _marker(client, place)
    marker = marker.without(transfer.leave_out)
    version = "\n".join((etag, *transfer.leave_out))
    name = PurePosixPath(place.key).name or place.bucket
    if name in (".", "..") or "\0" in name:
        raise UsageError(f"{place} has no name that a folder could have")

    def make(folder: Path) -> None:
        files = [_File(place / each, entry, folder / each) for each, entry in marker.files.items()]
        _download(client, files, transfer)

    return kept(transfer.place(str(place), version, name), marker.is_of, make)


def _marker(client: Any, place: S3Uri) -> tuple[Marker, str]:
    """A folder's marker, and its ETag."""
    for left in reversed(range(_FRUITLESS)):
        try:
            found = client.get_object(**(place / MARKER).where)
            with found["Body"] as body:
                return Marker.read(body.read(MOST), str(place / MARKER)), found["ETag"]
        except client.exceptions.NoSuchKey:
            raise UsageError(
                f"{place} is no whole folder: it has no {MARKER}, so its upload was cut off, or it "
                "was not made by `infinite-rl publish`"
            ) from None
        except _cut_off():
            if not left:
                raise
    raise AssertionError("the last time it is raised")


def _download(client: Any, files: list[_File], transfer: Transfer) -> None:
    """Write objects to files, all or an error; one that has another content is an error too."""
    for file in files:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        file.path.touch()
    total = sum(file.entry.size for file in files)
    for file in files[:1]:  # a marker may tell of any size
        if total > (free := shutil.disk_usage(file.path.parent).free):
            raise StoreError(f"{total} bytes do not go on the disk, which has {free} left")
    meter = Meter(transfer, total)
    parts = [
        (file, first, min(first + _PART, file.entry.size))
        for file in files
        for first in range(0, file.entry.size, _PART)
    ]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        moved = [pool.submit(_part, client, *part, transfer, meter) for part in parts]
        try:
            _all(moved, transfer)
            _all([pool.submit(_verify, file) for file in files if file.entry.sha256], transfer)
        except BaseException:  # whatever it is, Ctrl-C too: the parts under way must not go on
            meter.over.set()
            pool.shutdown(wait=False, cancel_futures=True)  # nothing of what is left is begun
            raise


def _all(futures: list[Any], transfer: Transfer) -> None:
    """Wait for all; raise what the first of them has raised, or Interrupted."""
    left = set(futures)
    while left:
        done, left = wait(left, _LOOK_S, FIRST_EXCEPTION)
        for each in done:
            each.result()
        transfer.check()


def _part(client: Any, file: _File, first: int, end: int, transfer: Transfer, meter: Meter) -> None:
    """Write one part of an object to its place in the file."""
    fruitless = 0
    with file.path.open("r+b") as target:
        while first < end and not meter.over.is_set():
            transfer.check()
            target.seek(first)
            try:
                for piece in _pieces(client, file, first, end):
                    target.write(piece)
                    first += len(piece)
                    meter.add(len(piece))
                    fruitless = 0
                    transfer.check()
                    if meter.over.is_set():
                        return
                reason: Exception | None = None
            except _cut_off() as error:
                reason = error
            fruitless += 1
            if first < end and fruitless >= _FRUITLESS:
                size, why = file.entry.size, f": {reason}" if reason else ""
                raise StoreError(f"{file.place} was cut off at {first} of {size} bytes{why}")


def _pieces(client: Any, file: _File, first: int, end: int) -> Iterator[bytes]:
    """The bytes of an object from `first` to `end`, or fewer where the connection is cut."""
    size = file.entry.size
    whole = first == 0 and end == size
    part = {} if whole else {"Range": f"bytes={first}-{end - 1}"}
    found = client.get_object(**file.place.where, **part, IfMatch=file.entry.etag)
    with found["Body"] as body:
        asked = size if whole else f"bytes {first}-{end - 1}/{size}"
        given = found.get("ContentLength" if whole else "ContentRange")
        if given != asked:
            raise StoreError(f"{file.place}: S3 gave {given}, not {asked}")
        left = end - first
        while left and (piece := body.read(min(CHUNK, left))):
            left -= len(piece)
            yield piece


def _verify(file: _File) -> None:
    if sha256_of(file.path) != file.entry.sha256:
        raise Damaged(f"{file.place} is not what was published: its hash is another")


# --- publishing ----------------------------------------------------------------------------------


def publish(folder: Path, uri: str, note: Mapping[str, Any], transfer: Transfer) -> Published:
    """Upload all files, see that they are there, then say so: see `storage.publish`."""
    place = S3Uri.of(uri).folder
    if not place.key:
        raise UsageError(f"{uri} is a whole bucket: name a folder in it")
    with _told(uri, "published"):
        client = _client()
        stamps = stamps_of(folder)
        marker = Marker.of(folder, note)
        there = _there(client, place)
        if there is None or not there.same_content(marker):
            kept = there.files if there else {}
            same = {
                name: kept[name].etag
                for name, entry in marker.files.items()
                if entry.is_as(kept.get(name))
            }
            _upload(client, folder, place, marker.without(same), transfer)
            told = _as_there(client, place, marker, same)
            if stamps_of(folder) != stamps:
                raise StoreError(f"{folder} changed while it was published")
            client.put_object(**(place / MARKER).where, Body=told.data())
    return Published(str(place), dict(note))


def _there(client: Any, place: S3Uri) -> Marker | None:
    """The marker of what is at a place, if all of it is there."""
    return _whole(client, place, _listing(client, place))


def _upload(client: Any, folder: Path, place: S3Uri, marker: Marker, transfer: Transfer) -> None:
    from boto3.s3.transfer import TransferConfig, create_transfer_manager

    meter = Meter(transfer, sum(entry.size for entry in marker.files.values()))
    config = TransferConfig(max_concurrency=_AT_ONCE, preferred_transfer_client="classic")
    with create_transfer_manager(client, config) as manager:  # an error cancels all of it
        futures = [
            manager.upload(
                *(str(path), place.bucket, (place / name).key),
                {"Metadata": {_OURS: marker.files[name].sha256}},
                [_Subscriber(meter)],
            )
            for name, path in contents(folder).items()
            if name in marker.files
        ]
        for future in futures:
            while not future.done():
                if transfer.stop.wait(_LOOK_S):
                    raise Interrupted("the upload was given up")
            future.result()


class _Subscriber:
    """Tells a meter of what boto3 has sent."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def on_progress(self, bytes_transferred: int, **_: Any) -> None:
        self._meter.add(bytes_transferred)

    def on_queued(self, **_: Any) -> None: ...

    def on_done(self, **_: Any) -> None: ...


def _as_there(client: Any, place: S3Uri, marker: Marker, same: Mapping[str, str]) -> Marker:
    """The marker with the ETags that S3 tells of, if all is there.

    An object that somebody else has put there meanwhile is not taken for this one: it has the hash
    that it was sent with, or the ETag by which it was known as the `same` and was not sent again.

    Raises:
        StoreError: one is missing, or is another.
    """

    def there(name: str) -> Entry:
        entry, head = marker.files[name], _head(client, place / name)
        known = head["Metadata"].get(_OURS) == entry.sha256 or head["ETag"] == same.get(name)
        if head["ContentLength"] != entry.size or not known:
            raise StoreError(
                f"{place / name} is not what was sent: another publishes there as well"
            )
        return replace(entry, etag=head["ETag"])

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return replace(
            marker, files=dict(zip(marker.files, pool.map(there, marker.files), strict=True))
        )


# --- listing -------------------------------------------------------------------------------------


def ready(uri: str) -> list[Published]:
    """The whole folders below a place: see `storage.ready`."""
    place = S3Uri.of(uri).folder
    with _told(uri, "listed"):
        client = _client()
        folders: dict[str, dict[str, Any]] = defaultdict(dict)
        for name, listed in _listing(client, place).items():
            folder, slash, rest = name.partition("/")
            if slash and rest:
                folders[folder][rest] = listed
        markers = {
            name: _whole(client, place / f"{name}/", files) for name, files in folders.items()
        }
    whole = {name: marker for name, marker in markers.items() if marker}
    return [Published(str(place / f"{name}/"), each.note) for name, each in whole.items()]


def _listing(client: Any, place: S3Uri) -> dict[str, Any]:
    """What S3 tells of each object below a place, by its name there."""
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=place.bucket, Prefix=place.key)
    return {
        each["Key"][len(place.key) :]: each for page in pages for each in page.get("Contents", [])
    }


def _whole(client: Any, place: S3Uri, files: Mapping[str, Any]) -> Marker | None:
    """A folder's marker, where all it tells of is among the objects that are listed."""
    if MARKER not in files:
        return None
    try:
        marker, _ = _marker(client, place)
    except (UsageError, StoreError):
        return None  # gone meanwhile, or somebody else's: all the same here
    told = {name: (entry.size, entry.etag) for name, entry in marker.files.items()}
    listed = {name: (each["Size"], each["ETag"]) for name, each in files.items()}
    return marker if told.items() <= listed.items() else None


# --- what S3 says --------------------------------------------------------------------------------


def _client() -> Any:
    try:
        import boto3.session
    except ModuleNotFoundError:
        raise UsageError("S3 needs boto3: pip install 'infinite-rl[aws]'") from None
    return boto3.session.Session().client("s3")  # a session of one's own: threads may not share it


def _cut_off() -> tuple[type[Exception], ...]:
    """What is raised where a connection ends while an object is read."""
    from botocore import exceptions as known
    from urllib3.exceptions import ProtocolError  # which not every botocore makes its own

    return (
        ProtocolError,
        *(known.ReadTimeoutError, known.ResponseStreamingError, known.IncompleteReadError),
        *(known.FlexibleChecksumError, ConnectionError, TimeoutError),
    )


@contextmanager
def _told(uri: str, what: str) -> Iterator[None]:
    """Say what boto3 and the disk raise in one line, and whose fault it is."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{uri} could not be {what}: {error}") from None
    except (ImportError, StoreError, UsageError, Interrupted):
        raise
    except Exception as error:
        # Whatever boto3 raises; its classes are not there to be named where it is not installed.
        raise _meant(uri, what, error) from None


def _meant(uri: str, what: str, error: Exception) -> Exception:
    from botocore import exceptions as known

    if isinstance(error, known.ClientError):
        return _refused(uri, what, error)
    if isinstance(error, known.NoCredentialsError | known.PartialCredentialsError):
        return UsageError(
            f"{uri} cannot be {what}: there are no AWS credentials (in the environment, a profile "
            "or a role)"
        )
    said = reason_of(error)
    wrong = (known.ProfileNotFound, known.NoRegionError, known.ParamValidationError)
    if isinstance(error, wrong) or "endpoint" in said and isinstance(error, ValueError):
        return UsageError(f"{uri} cannot be {what}: {said}")
    module = type(error).__module__.partition(".")[0]
    if isinstance(error, ValueError) or module in _LIBRARIES:
        return StoreError(f"{uri} could not be {what}: {said}")
    return error


def _refused(uri: str, what: str, error: Any) -> Exception:
    """What an answer of S3 that is an error means."""
    code, status = str(error.response.get("Error", {}).get("Code")), _status(error)
    bucket = S3Uri.of(uri).bucket
    if code == "NoSuchBucket":
        return UsageError(f"{uri} cannot be {what}: there is no bucket {bucket}")
    if status == 404:
        return UsageError(f"{uri} cannot be {what}: there is no such object (404)")
    if code in ("AccessDenied", "403", "AllAccessDisabled"):
        operation = "PutObject" if error.operation_name in _UPLOADS else error.operation_name
        denied = f"s3:{_PERMISSIONS.get(operation, operation)} is denied"
        # S3 tells who may not list as little of an object that is not there.
        also = ", or there is no such object" if operation in _READS else ""
        return UsageError(f"{uri} cannot be {what}: {denied}{also}")
    if status == 412:
        return StoreError(f"{uri} could not be {what}: an object changed meanwhile (412)")
    said = reason_of(error)
    if status in (301, 400, 401, 403):
        return UsageError(f"{uri} cannot be {what}: {said}")
    return StoreError(f"{uri} could not be {what}: {said}")


def _status(error: Any) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
