"""Folders that are published: whole, or not to be seen, whatever happens on the way.

The server of S3 is a real one, on loopback, with a proxy before it that cuts connections.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from s3_server import SECRET, Proxy, answering, bucket, credentials

from infinite_rl import cli
from infinite_rl.errors import InfiniteRLError, StoreError, UsageError
from infinite_rl.files.cache import cache_folder
from infinite_rl.storage import MARKER, Transfer, fetch, publish, ready, s3
from infinite_rl.storage.transfer import Interrupted

FILES = {
    "config.json": b"{}",
    "deep/er/vocabulary \xc3\xa9.txt".encode("latin-1").decode(): b"a\nb\n",
    "empty": b"",
    "model.safetensors": bytes(range(256)) * 400,
}
URI = "s3://models/tiny/"
CUTS = (0, 1, 200, 400, 800, 1_500, 4_000, 20_000, 60_000, 90_000)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INFINITE_RL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(s3, "_PART", 32_000)
    return cache_folder() / "data"


@pytest.fixture
def client(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    credentials(monkeypatch, s3_endpoint)
    with bucket("models") as client:
        yield client


@pytest.fixture
def proxy(s3_endpoint: str, client: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    with Proxy(s3_endpoint) as proxy:
        credentials(monkeypatch, proxy.endpoint)
        yield proxy


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / "made" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "made" / name).write_bytes(content)
    return tmp_path / "made"


def files(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def left(cache: Path) -> list[str]:
    """What is in the cache, but for locks and the folders that things are kept in."""
    found = [path for path in cache.rglob("*") if path.is_file() and path.name != ".lock"]
    return sorted(path.name for path in found)


# There and back.


def test_a_folder_comes_back_as_it_was(client: Any, folder: Path) -> None:
    assert publish(folder, "s3://models/tiny").uri == URI
    path = fetch(URI)
    assert path.name == "tiny" and files(path) == FILES
    assert fetch(URI) == path


def test_a_folder_of_this_machine_is_published_as_well(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "a b" / "tiny"
    for uri in (str(target), target.as_uri()):
        publish(folder, uri, {"step": 3})
        assert files(fetch(uri)).items() >= FILES.items()
    assert [(each.name, each.note) for each in ready(target.parent)] == [("tiny", {"step": 3})]
    (folder / "config.json").unlink()
    publish(folder, target)
    assert not (target / "config.json").exists() and os.listdir(target.parent) == ["tiny"]


def test_a_large_file_goes_up_and_comes_down_in_parts(
    client: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = os.urandom(1 << 20) * 9
    (folder / "large").write_bytes(large)
    publish(folder, URI)
    assert "-2" in client.head_object(Bucket="models", Key="tiny/large")["ETag"]  # of two parts
    monkeypatch.setattr(s3, "_PART", 1 << 20)
    assert (fetch(URI) / "large").read_bytes() == large


def test_what_is_there_is_neither_sent_nor_fetched_again(proxy: Proxy, folder: Path) -> None:
    publish(folder, URI)
    sent: list[tuple[int, int]] = []
    publish(folder, URI, transfer=Transfer(told=lambda *each: sent.append(each)))
    assert sent == []
    fetch(URI, Transfer(told=lambda *each: sent.append(each)))
    total = sum(map(len, FILES.values()))
    assert sent == sorted(sent) and sent[-1] == (total, total)
    sent.clear()
    fetch(URI, Transfer(told=lambda *each: sent.append(each)))
    assert sent == []


def test_of_a_new_version_only_what_has_changed_is_sent(client: Any, folder: Path) -> None:
    publish(folder, URI)
    sent: list[int] = []
    (folder / "config.json").write_bytes(b"[]")
    publish(folder, URI, transfer=Transfer(told=lambda done, total: sent.append(total)))
    assert set(sent) == {2}
    assert files(fetch(URI)) == {**FILES, "config.json": b"[]"}


def test_a_cached_folder_that_was_damaged_is_fetched_anew(client: Any, folder: Path) -> None:
    publish(folder, URI)
    path = fetch(URI)
    (path / "config.json").unlink()
    assert files(fetch(URI)) == FILES and fetch(URI) == path


def test_another_version_is_another_folder(client: Any, folder: Path) -> None:
    publish(folder, URI)
    old = fetch(URI)
    (folder / "config.json").write_bytes(b"[]")
    publish(folder, URI)
    assert (fetch(URI) / "config.json").read_bytes() == b"[]"
    assert files(old) == FILES  # somebody may be reading it


def test_a_cache_of_ones_own_is_where_it_is_kept(
    client: Any, folder: Path, tmp_path: Path, cache: Path
) -> None:
    publish(folder, URI)
    assert tmp_path / "own" in fetch(URI, Transfer(tmp_path / "own")).parents
    assert not cache.exists()


def test_only_whole_folders_are_listed(client: Any, folder: Path) -> None:
    for name in ("run_step2", "run_step10", "half", "cut", "run_final"):
        publish(folder, f"s3://models/jobs/a/{name}", {"step": 1})
    client.delete_object(Bucket="models", Key=f"jobs/a/half/{MARKER}")
    client.put_object(Bucket="models", Key="jobs/a/cut/config.json", Body=b"{")
    client.put_object(Bucket="models", Key="jobs/a/notes.txt", Body=b"not of them")
    client.put_object(Bucket="models", Key=f"jobs/a/odd/{MARKER}", Body=b"[" * 100_000)
    found = ready("s3://models/jobs/a/")
    assert [each.name for each in found] == ["run_final", "run_step10", "run_step2"]
    assert found[0].uri == "s3://models/jobs/a/run_final/" and found[0].note == {"step": 1}
    assert ready("s3://models/nothing/") == []


# Cut off, changed, killed.


@pytest.mark.slow
@pytest.mark.parametrize("most", CUTS)
def test_a_fetch_that_is_cut_off_is_whole_or_nothing(
    proxy: Proxy, folder: Path, cache: Path, most: int
) -> None:
    publish(folder, URI)
    proxy.down = most
    try:
        assert files(fetch(URI)) == FILES
    except StoreError as error:
        assert str(error).startswith(URI.rstrip("/")) and "\n" not in str(error)
        assert left(cache) == []
    proxy.down = None
    assert files(fetch(URI)) == FILES


def test_a_part_goes_on_where_it_was_cut_off(proxy: Proxy, folder: Path) -> None:
    publish(folder, URI)
    proxy.down = 20_000  # of each connection, and a part has 32,000
    assert files(fetch(URI)) == FILES


@pytest.mark.slow
@pytest.mark.parametrize("most", CUTS)
def test_a_folder_whose_upload_is_cut_off_is_not_there(
    proxy: Proxy, folder: Path, most: int
) -> None:
    proxy.up = most
    try:
        publish(folder, URI)
        done = True
    except StoreError as error:
        assert str(error).startswith(URI.rstrip("/")) and "\n" not in str(error)
        done = False
    proxy.up = None
    assert bool(ready("s3://models/")) == done
    if not done:
        with pytest.raises(UsageError, match="no whole folder"):
            fetch(URI)
    publish(folder, URI)
    assert files(fetch(URI)) == FILES


@pytest.mark.slow
@pytest.mark.parametrize("most", CUTS)
def test_an_answer_that_is_cut_off_leaves_a_whole_folder_or_none(
    proxy: Proxy, folder: Path, most: int
) -> None:
    proxy.down = most
    try:
        publish(folder, URI)
    except StoreError as error:
        assert str(error).startswith(URI.rstrip("/")) and "\n" not in str(error)
    proxy.down = None
    if ready("s3://models/"):
        assert files(fetch(URI)) == FILES
    publish(folder, URI)
    assert files(fetch(URI)) == FILES


def test_a_new_version_that_is_cut_off_is_not_mixed_with_the_old(
    proxy: Proxy, folder: Path
) -> None:
    publish(folder, URI)
    for name in FILES:
        (folder / name).write_bytes(b"other")
    proxy.up = 4_000  # enough for some of the files
    (folder / "model.safetensors").write_bytes(bytes(100_000))
    with pytest.raises(StoreError):
        publish(folder, URI)
    proxy.up = None
    assert ready("s3://models/") == []
    with pytest.raises(StoreError, match="changed meanwhile"):
        fetch(URI)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
@pytest.mark.parametrize("change", ["cut short", "changed", "gone"])
def test_an_object_that_is_not_what_was_published_is_refused(
    client: Any, folder: Path, cache: Path, name: str, change: str
) -> None:
    publish(folder, URI)
    where = {"Bucket": "models", "Key": f"tiny/{name}"}
    if change == "gone":
        client.delete_object(**where)
    else:
        body = FILES[name][:-1] if change == "cut short" else b"x" * len(FILES[name])
        client.put_object(**where, Body=body)
    with pytest.raises(InfiniteRLError, match=r"changed meanwhile|no such object"):
        fetch(URI)
    assert ready("s3://models/") == [] and left(cache) == []


def test_content_that_has_another_hash_is_refused(client: Any, folder: Path, cache: Path) -> None:
    publish(folder, URI)
    key = f"tiny/{MARKER}"
    marker = json.loads(client.get_object(Bucket="models", Key=key)["Body"].read())
    marker["files"]["config.json"]["sha256"] = "0" * 64
    client.put_object(Bucket="models", Key=key, Body=json.dumps(marker))
    with pytest.raises(StoreError, match="config.json is not what was published: its hash"):
        fetch(URI)
    assert left(cache) == []


def test_an_object_that_changes_between_two_parts_is_refused(
    client: Any, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.put_object(Bucket="models", Key="rows.bin", Body=bytes(200_000))
    monkeypatch.setattr(s3, "_AT_ONCE", 1)

    def change(done: int, total: int) -> None:
        if done <= 32_000:
            client.put_object(Bucket="models", Key="rows.bin", Body=b"x" * 200_000)

    with pytest.raises(StoreError, match="rows.bin could not be read: an object changed"):
        fetch("s3://models/rows.bin", Transfer(told=change))
    assert left(cache) == []


FETCHING = "import sys; from infinite_rl.storage import fetch; print(fetch(sys.argv[1]))"


def fetching() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", FETCHING, URI], text=True, stdout=subprocess.PIPE
    )


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_fetches_leaves_nothing(
    proxy: Proxy, folder: Path, cache: Path
) -> None:
    publish(folder, URI)
    proxy.down, proxy.hold = 50_000, True
    process = fetching()
    assert proxy.held.wait(60)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert list(cache.glob("*/.*.part"))  # what it left
    proxy.down, proxy.hold = None, False
    assert files(fetch(URI)) == FILES
    assert left(cache) == sorted(Path(name).name for name in FILES)


@pytest.mark.parametrize("moment", ["while it copies", "between two names"])
def test_a_process_that_is_killed_while_it_publishes_here_loses_nothing(
    folder: Path, tmp_path: Path, moment: str
) -> None:
    target = tmp_path / "far" / "folder"
    publish(folder, target, {"step": 1})
    (target.parent / ".mine.part").mkdir()
    call = "Path.rename" if moment == "between two names" else "local._copy"
    program = (
        "import os\n"
        "from pathlib import Path\n"
        "from infinite_rl.storage import local, publish\n"
        f"whole = {call}\n"
        "def killed(*given):\n"
        "    whole(*given)\n"
        "    os.kill(os.getpid(), 9)\n"
        f"{call} = killed\n"
        f"publish({str(folder)!r}, {str(target)!r}, {{'step': 2}})\n"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == -signal.SIGKILL
    assert target.exists() == (moment == "while it copies")
    publish(folder, target.with_name("other"))
    assert {path.name for path in target.parent.iterdir()} == {"folder", "other", ".mine.part"}
    assert files(target.with_name("other")).keys() == files(target).keys()
    assert ready(target.parent)[0].note == {"step": 1}


def test_what_another_is_publishing_here_is_not_removed(folder: Path, tmp_path: Path) -> None:
    target, inside = tmp_path / "far" / "folder", list[str]()

    def told(_: int, __: int) -> None:
        if not inside:
            inside.append("it")
            publish(folder, target.with_name("other"))

    publish(folder, target, transfer=Transfer(told=told))
    assert [each.name for each in ready(target.parent)] == ["folder", "other"]


@pytest.mark.slow
def test_of_two_processes_that_fetch_the_same_one_does(
    proxy: Proxy, folder: Path, cache: Path
) -> None:
    publish(folder, URI)
    proxy.passed = 0
    processes = [fetching(), fetching()]
    paths = {process.communicate(timeout=120)[0].strip() for process in processes}
    (path,) = paths
    assert files(Path(path)) == FILES
    assert proxy.passed < 2 * len(FILES["model.safetensors"])


def test_a_transfer_is_given_up_when_it_is_told_to(client: Any, folder: Path, cache: Path) -> None:
    publish(folder, URI)
    for call in (
        lambda transfer: fetch(URI, transfer),
        lambda transfer: publish(folder, "s3://models/other/", transfer=transfer),
    ):
        transfer = Transfer()
        transfer.stop.set()
        with pytest.raises(Interrupted):
            call(transfer)
    assert [each.name for each in ready("s3://models/")] == ["tiny"] and left(cache) == []


# Hostile, forbidden, wrong.


@pytest.mark.parametrize(
    "name", ["../up", "a/../../up", "/tmp/up", "a//b", "", ".", "..", "a/", "nul\0", "\ud800"]
)
def test_no_name_leads_out_of_the_folder(
    client: Any, tmp_path: Path, cache: Path, name: str
) -> None:
    entry = {"size": 2, "sha256": "0" * 64, "etag": ""}
    client.put_object(Bucket="models", Key="tiny/../up", Body=b"{}")
    client.put_object(
        Bucket="models", Key=f"tiny/{MARKER}", Body=json.dumps({"files": {name: entry}})
    )
    with pytest.raises(StoreError, match="is no marker of a folder"):
        fetch(URI)
    assert left(cache) == [] and not list(tmp_path.rglob("up"))
    assert ready("s3://models/") == []


@pytest.mark.parametrize(
    "marker",
    [
        *("", "[]", "{}", '{"files": {}}', '{"files": []}', '{"files": {"a": 1}}', "[" * 99_999),
        '{"files": {"a": {"size": -1, "sha256": ""}}}',
        '{"files": {"a": {"size": 1e9, "sha256": ""}}}',
        '{"files": {"a": {"size": 1, "sha256": "no"}}}',
    ],
)
def test_a_marker_that_is_none_is_refused(client: Any, marker: str) -> None:
    client.put_object(Bucket="models", Key=f"tiny/{MARKER}", Body=marker)
    with pytest.raises(StoreError, match="is no marker of a folder"):
        fetch(URI)


@pytest.mark.parametrize("uri", ["s3://models/..", "s3://models/a/../"])
def test_an_object_whose_name_is_no_files_is_refused(client: Any, folder: Path, uri: str) -> None:
    client.put_object(Bucket="models", Key=uri[len("s3://models/") :], Body=b"")
    with pytest.raises(UsageError, match="no name that|no whole folder"):
        fetch(uri)


def test_a_link_to_a_folder_is_not_left_out_in_silence(folder: Path, tmp_path: Path) -> None:
    (folder / "link").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="link is a link to a folder"):
        publish(folder, tmp_path / "target")


@pytest.mark.parametrize("where", ["models", "here"])
def test_what_is_no_file_is_refused_and_not_waited_for(
    client: Any, folder: Path, tmp_path: Path, where: str
) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(UsageError, match="pipe is no file"):
        publish(folder, URI if where == "models" else tmp_path / "target")
    (tmp_path / "other").mkdir()
    os.mkfifo(tmp_path / "other" / MARKER)
    assert ready(tmp_path) == [] and fetch(tmp_path / "other")


def test_a_folder_inside_that_cannot_be_read_is_not_left_out_in_silence(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = os.scandir

    def scandir(path: Any) -> Any:
        if Path(path) != folder:
            raise PermissionError(13, "Permission denied")
        return whole(path)

    monkeypatch.setattr(os, "scandir", scandir)  # who may do anything can read any folder
    with pytest.raises(StoreError, match="Permission denied"):
        publish(folder, tmp_path / "target")


@pytest.mark.parametrize("where", ["models", "here"])
def test_a_file_that_changes_while_it_is_published_is_told_of(
    client: Any, folder: Path, tmp_path: Path, where: str
) -> None:
    def told(_: int, __: int) -> None:
        weights = folder / "model.safetensors"
        os.utime(weights, ns=(1, 1))  # as of another content in the same size

    with pytest.raises(StoreError, match="changed while it was published"):
        publish(
            folder, URI if where == "models" else tmp_path / "target", transfer=Transfer(told=told)
        )
    assert ready("s3://models/") == [] and not (tmp_path / "target").exists()


def test_a_folder_whose_objects_lost_their_metadata_can_be_published_again(
    client: Any, folder: Path
) -> None:
    publish(folder, URI)
    weights = {"Bucket": "models", "Key": "tiny/model.safetensors"}
    client.copy_object(**weights, CopySource=weights, Metadata={}, MetadataDirective="REPLACE")
    (folder / "config.json").write_text("[1]", encoding="utf-8")
    publish(folder, URI)
    assert (fetch(URI) / "config.json").read_text(encoding="utf-8") == "[1]"


def test_what_another_publisher_has_put_there_is_not_taken_for_ones_own(
    client: Any, folder: Path
) -> None:
    weights = bytes(len(FILES["model.safetensors"]))  # another content of the same size

    def told(done: int, total: int) -> None:
        if done == total:
            client.put_object(Bucket="models", Key="tiny/config.json", Body=b"{}")
            client.put_object(Bucket="models", Key="tiny/model.safetensors", Body=weights)

    with pytest.raises(StoreError, match="another publishes there as well"):
        publish(folder, URI, transfer=Transfer(told=told))
    assert ready("s3://models/") == []
    publish(folder, URI)
    assert files(fetch(URI)) == FILES


def test_a_size_that_no_disk_holds_takes_no_memory_and_no_requests(
    client: Any, cache: Path
) -> None:
    entry = {"size": 10**18, "sha256": "0" * 64, "etag": ""}
    client.put_object(
        Bucket="models", Key=f"tiny/{MARKER}", Body=json.dumps({"files": {"a": entry}})
    )
    with pytest.raises(StoreError, match="do not go on the disk"):
        fetch(URI)
    assert left(cache) == []


@pytest.mark.parametrize("uri", ["s3://models/", "hf:a:b", "hf-model:a", ""])
def test_what_cannot_be_published_to_is_wrong_usage(folder: Path, uri: str) -> None:
    with pytest.raises(UsageError):
        publish(folder, uri)


def test_a_folder_is_not_published_over_itself(folder: Path, tmp_path: Path) -> None:
    for target in (folder, folder.parent):
        with pytest.raises(UsageError, match="is, or holds, what is to be published"):
            publish(folder, target)
    (tmp_path / "none").mkdir()
    with pytest.raises(UsageError, match="there is no file in"):
        publish(tmp_path / "none", tmp_path / "target")
    with pytest.raises(UsageError, match="there is no folder"):
        publish(tmp_path / "nowhere", tmp_path / "target")
    assert files(folder) == FILES


def test_an_object_is_no_folder_and_the_error_says_which(client: Any, folder: Path) -> None:
    publish(folder, URI)
    with pytest.raises(UsageError, match=f"s3://models/tiny is no object, but a folder: {URI}"):
        fetch("s3://models/tiny")


@pytest.mark.parametrize(
    ("call", "permission"),
    [
        (lambda folder: fetch("s3://models/a.csv"), "s3:GetObject"),
        (lambda folder: fetch(URI), "s3:GetObject"),
        (lambda folder: ready(URI), "s3:ListBucket"),
        (lambda folder: publish(folder, URI), "s3:ListBucket"),
    ],
)
def test_a_permission_that_is_missing_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, call: Any, permission: str
) -> None:
    pytest.importorskip("boto3")
    body = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
    head = b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"

    def reply(request: bytes) -> bytes:
        return head % 0 if request.startswith(b"HEAD") else head % len(body) + body

    with answering(reply) as endpoint:
        credentials(monkeypatch, endpoint)
        with pytest.raises(UsageError, match=f"^s3://models/.*: {permission} is denied") as raised:
            call(folder)
    assert "\n" not in str(raised.value) and SECRET not in str(raised.value)


def test_a_bucket_that_is_not_there_is_named(client: Any, folder: Path) -> None:
    for call in (
        lambda: fetch("s3://no-such-bucket/a/"),
        lambda: ready("s3://no-such-bucket/a/"),
        lambda: publish(folder, "s3://no-such-bucket/a/"),
    ):
        with pytest.raises(UsageError, match="there is no bucket no-such-bucket"):
            call()


def test_without_credentials_it_is_said_where_they_are_looked_for(
    client: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    with pytest.raises(UsageError, match="there are no AWS credentials"):
        publish(folder, URI)
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(UsageError, match="profile .nobody. could not be found"):
        fetch(URI)


# The command.


def test_the_commands_publish_and_fetch(
    client: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["publish", str(folder), "s3://models/tiny"]) == 0
    assert capsys.readouterr().out == f"{URI}\n"
    assert cli.main(["fetch", URI]) == 0
    assert files(Path(capsys.readouterr().out.strip())) == FILES
    assert cli.main(["fetch", "s3://models/none/"]) == 2
    assert "no whole folder" in capsys.readouterr().err
