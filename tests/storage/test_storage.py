"""A file of this machine for whatever a URI names; the server of S3 is a real one, on loopback."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from s3_server import answering, bucket, credentials

from infinite_rl.dataset.rows import read, write
from infinite_rl.errors import StoreError, UsageError
from infinite_rl.files.cache import cache_folder
from infinite_rl.storage import fetch, publish, ready

ROWS = [{"question": f"What is {n}?", "answer": f"#### {n}"} for n in range(5)]
BODY = b"x" * 3_000_000


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INFINITE_RL_CACHE", str(tmp_path / "cache"))
    return cache_folder() / "data"


def kept(cache: Path) -> list[Path]:
    """The files that are there, but for the locks of those who wait."""
    return sorted(path for path in cache.rglob("*") if path.is_file() and path.name != ".lock")


# Files of this machine.


def test_a_file_and_a_folder_of_this_machine_are_themselves(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    write(ROWS, path)
    assert fetch(path) == fetch(str(path)) == path
    assert fetch(tmp_path) == tmp_path


def test_what_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no .*nowhere"):
        fetch(tmp_path / "nowhere.csv")


@pytest.mark.parametrize(
    "uri", ["a\0b", "file:///a%00b", "\ud800", "file://[x/y", "file://other/a", "x" * 300]
)
def test_a_name_that_no_file_can_have_is_one_clear_error(tmp_path: Path, uri: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").touch()
    for call in (fetch, ready, lambda uri: publish(tmp_path / "a", uri)):
        with pytest.raises((UsageError, StoreError), match="no place on this|cannot be reached"):
            call(uri)


# S3.


@pytest.fixture
def s3(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    credentials(monkeypatch, s3_endpoint)
    with bucket("rows") as client:
        yield client


def test_an_object_of_s3_is_fetched_once(s3: Any, cache: Path) -> None:
    s3.put_object(Bucket="rows", Key="deep/er/train.jsonl", Body=b'{"a": 1}\n')
    path = fetch("s3://rows/deep/er/train.jsonl")
    assert path.name == "train.jsonl" and list(read(path)) == [{"a": 1}]
    before = path.stat().st_mtime_ns
    assert fetch("s3://rows/deep/er/train.jsonl") == path
    assert path.stat().st_mtime_ns == before and kept(cache) == [path]


def test_an_object_that_has_changed_is_fetched_anew(s3: Any) -> None:
    s3.put_object(Bucket="rows", Key="a.txt", Body=b"old")
    old = fetch("s3://rows/a.txt")
    s3.put_object(Bucket="rows", Key="a.txt", Body=b"new")
    assert fetch("s3://rows/a.txt").read_bytes() == b"new"
    assert old.read_bytes() == b"old"  # somebody may be reading it


def test_many_may_fetch_the_same_at_once(s3: Any, cache: Path) -> None:
    s3.put_object(Bucket="rows", Key="big.bin", Body=BODY)
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(fetch, ["s3://rows/big.bin"] * 8))
    assert {path.read_bytes() == BODY for path in paths} == {True}
    assert kept(cache) == [paths[0]]


@pytest.mark.parametrize("uri", ["s3://rows/nothing.csv", "s3://no-such-bucket/a.csv"])
def test_an_object_that_is_not_there_is_wrong_usage(s3: Any, cache: Path, uri: str) -> None:
    with pytest.raises(UsageError, match=f"{uri} cannot be read: .*404"):
        fetch(uri)
    assert kept(cache) == []


@pytest.mark.parametrize("uri", ["s3://rows", "s3:rows/a.csv", "s3:///a.csv", "s3://"])
def test_a_uri_without_a_bucket_is_wrong_usage(uri: str) -> None:
    with pytest.raises(UsageError, match="must be s3://BUCKET/KEY"):
        fetch(uri)


def test_a_server_that_nobody_runs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    credentials(monkeypatch, f"http://127.0.0.1:{port}")
    with pytest.raises(StoreError, match="s3://rows/a.csv could not be read: Could not connect"):
        fetch("s3://rows/a.csv")


@pytest.mark.parametrize("honest", [True, False], ids=["length told", "length not told"])
def test_a_download_that_is_cut_off_is_never_taken_for_whole(
    honest: bool, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("boto3")
    sent = len(BODY) // 2
    length = len(BODY) if honest else sent
    head = b'HTTP/1.1 200 OK\r\nETag: "v1"\r\nConnection: close\r\nContent-Length: %d\r\n\r\n'

    def reply(request: bytes) -> bytes:
        asked_for_head = request.startswith(b"HEAD")
        return head % len(BODY) if asked_for_head else head % length + BODY[:sent]

    with answering(reply) as endpoint:
        credentials(monkeypatch, endpoint)
        with pytest.raises(StoreError, match="s3://rows/a.csv(: S3 gave| was cut off)"):
            fetch("s3://rows/a.csv")
    assert kept(cache) == []


@pytest.mark.parametrize(
    "said", [b'ETag: "v1"\r\nContent-Length: 30', b"Content-Length: 30\r\nETag", b""]
)
def test_an_object_whose_head_was_cut_off_is_not_taken_for_whole(
    cache: Path, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    pytest.importorskip("boto3")
    whole = b'HTTP/1.1 200 OK\r\nETag: "v1"\r\nContent-Length: 300\r\n\r\n' + b"x" * 300

    def reply(request: bytes) -> bytes:
        return b"HTTP/1.1 200 OK\r\n" + said if request.startswith(b"HEAD") else whole

    with answering(reply) as endpoint:
        credentials(monkeypatch, endpoint)
        with pytest.raises(StoreError, match="S3 gave 300, not 30|S3 said of it was cut off"):
            fetch("s3://rows/a.csv")
    assert kept(cache) == []


def test_an_object_that_changes_meanwhile_is_not_taken_for_what_it_was(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("boto3")
    head = b'HTTP/1.1 %s\r\nETag: "v1"\r\nConnection: close\r\nContent-Length: 3\r\n\r\n'

    def reply(request: bytes) -> bytes:
        if request.startswith(b"HEAD"):
            return head % b"200 OK"
        refused = b'if-match: "v1"' in request.lower()
        return head % (b"412 Precondition Failed" if refused else b"200 OK") + b"new"

    with answering(reply) as endpoint:
        credentials(monkeypatch, endpoint)
        with pytest.raises(StoreError, match="s3://rows/a.csv could not be read"):
            fetch("s3://rows/a.csv")
    assert kept(cache) == []


# The hub.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    for split in ("train", "test"):
        write([{**row, "split": split} for row in ROWS], tmp_path / "set" / f"{split}.jsonl")
    return tmp_path / "set"


def test_a_data_set_of_the_hubs_library_becomes_lines(folder: Path, cache: Path) -> None:
    path = fetch(f"hf:{folder}:test")
    assert list(read(path)) == [{**row, "split": "test"} for row in ROWS]
    assert fetch(f"hf:{folder}:test") == path and kept(cache) == [path]
    assert next(read(fetch(f"hf:{folder}:default:train")))["split"] == "train"


@pytest.mark.parametrize(
    ("where", "reason"),
    [("{folder}:dev", "dev"), ("{folder}:other:test", "other"), ("{folder}/no:test", "find")],
)
def test_a_set_a_config_or_a_split_that_is_not_there_is_wrong_usage(
    folder: Path, cache: Path, where: str, reason: str
) -> None:
    with pytest.raises(UsageError, match=f"hf:.* cannot be loaded: .*{reason}"):
        fetch("hf:" + where.format(folder=folder))
    assert kept(cache) == []


@pytest.mark.parametrize("uri", ["hf:gsm8k", "hf:", "hf:a:b:c:d", "hf:openai/gsm8k:", "hf:a::test"])
def test_a_hub_name_needs_a_split(uri: str) -> None:
    with pytest.raises(UsageError, match="must be hf:NAME:SPLIT"):
        fetch(uri)


def test_the_hub_without_a_network_is_one_clear_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UsageError, match="hf:nobody/nothing:test cannot be loaded: .*"):
        fetch("hf:nobody/nothing:test")


def test_the_cache_is_made_for_the_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFINITE_RL_CACHE", str(tmp_path / "new"))
    before = os.umask(0o002)  # as where each user has a group of their own
    try:
        assert not cache_folder().stat().st_mode & 0o022
    finally:
        os.umask(before)


# Models of the hub.


def snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str]) -> Path:
    """A library's cache without a network, in which a model has these files."""
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    commit, model = "0" * 40, tmp_path / "hub" / "models--org--tiny"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text(commit)
    folder = model / "snapshots" / commit
    folder.mkdir(parents=True)
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    for name in names:
        (folder / name).write_text(json.dumps(index) if name.endswith("index.json") else "{}")
    return folder


@pytest.mark.parametrize("text", ["[]", '{"weight_map": 5}', "[" * 99_999])
def test_an_index_of_weights_that_is_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    folder = snapshot(tmp_path, monkeypatch, SHARDS)
    (folder / SHARDS[0]).write_text(text)
    with pytest.raises(StoreError, match="an index of weights in .* that is none"):
        fetch("hf-model:org/tiny")


SHARDS = ["model.safetensors.index.json", "model-1.safetensors", "model-2.safetensors"]


@pytest.mark.parametrize("names", [["model.safetensors"], SHARDS])
def test_a_model_of_the_hub_is_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str]
) -> None:
    folder = snapshot(tmp_path, monkeypatch, ["config.json", *names])
    assert fetch("hf-model:org/tiny") == folder == fetch("hf-model:org/tiny@main")


@pytest.mark.parametrize(
    ("names", "reason"),
    [([], "a file of weights is missing"), (SHARDS[:2], "model-2.safetensors is missing")],
)
def test_a_model_that_is_there_in_part_is_not_taken_for_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], reason: str
) -> None:
    snapshot(tmp_path, monkeypatch, ["config.json", *names])
    with pytest.raises(StoreError, match=f"hf-model:org/tiny is not whole in .*: {reason}"):
        fetch("hf-model:org/tiny")


@pytest.mark.parametrize("uri", ["hf-model:org/none", "hf-model:", "hf-model:a/b/c/d"])
def test_a_model_that_is_not_there_is_wrong_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str
) -> None:
    snapshot(tmp_path, monkeypatch, [])
    with pytest.raises(UsageError, match="hf-model:.*(cannot be loaded|names no model)"):
        fetch(uri)
