"""Published folders: readers see all of a folder or nothing, whatever cuts a transfer off.

S3 is a real server on loopback, with a proxy before it that cuts connections.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from labelled import assert_none, error_of, unlike
from s3_server import SECRET, Proxy, answering, bucket, credentials

from infinite_rl import cli
from infinite_rl.errors import StoreError, UsageError
from infinite_rl.files.atomic import cache_folder
from infinite_rl.storage import MARKER, Transfer, fetch, list_published, publish, s3
from infinite_rl.storage.transfer import Interrupted

FILES = {
    "config.json": b"{}",
    "deep/er/vocabulary é.txt": b"a\nb\n",
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
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def left(cache: Path) -> list[str]:
    """The names of the files in the cache, without locks."""
    paths = [path for path in cache.rglob("*") if path.is_file() and path.name != ".lock"]
    return sorted(path.name for path in paths)


# There and back.
def test_a_folder_comes_back_as_it_was(client: Any, folder: Path, tmp_path: Path) -> None:
    assert publish(folder, "s3://models/tiny").uri == URI
    own = Transfer(tmp_path / "own")
    assert tmp_path / "own" in fetch(URI, own).parents and not (tmp_path / "cache/data").exists()
    path = fetch(URI)
    assert path.name == "tiny" and files(path) == FILES
    assert fetch(URI) == path
    (path / "config.json").unlink()  # the cache was damaged
    assert files(fetch(URI)) == FILES and fetch(URI) == path
    assert fetch("s3://models/tiny") == path, "as it was given to publish"


def test_what_is_fetched_may_be_copied_to_a_new_place(
    client: Any, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(folder, "s3://models/tiny")
    out = tmp_path / "new" / "model"
    words = ["storage", "fetch", "s3://models/tiny", "-o", str(out)]
    assert cli.main(words) == 0 and files(out) == FILES
    assert capsys.readouterr().out.strip().endswith(str(out))
    assert cli.main(words) == 2 and "is there already" in capsys.readouterr().err
    assert (
        cli.main(["storage", "fetch", f"{URI}config.json", "-o", str(tmp_path / "one.json")]) == 0
    )
    assert (tmp_path / "one.json").read_bytes() == FILES["config.json"]


def test_a_folder_of_this_machine_is_published_as_well(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "a b" / "tiny"
    inodes = set()
    for uri in (str(target), target.as_uri()):
        publish(folder, uri, {"step": 3})
        assert files(fetch(uri)).items() >= FILES.items()
        inodes.add(target.stat().st_ino)
    assert len(inodes) == 1  # the same content is not copied again
    assert [(p.name, p.note) for p in list_published(target.parent)] == [("tiny", {"step": 3})]
    (folder / "config.json").unlink()
    publish(folder, target)
    assert not (target / "config.json").exists() and os.listdir(target.parent) == ["tiny"]
    other = tmp_path / "others" / "other"
    other.mkdir(parents=True)
    os.mkfifo(other / MARKER)  # is not waited for
    assert list_published(other.parent) == [] and fetch(other)


def test_a_large_file_is_transferred_in_parts(client: Any, folder: Path) -> None:
    large = os.urandom(1 << 20) * 9
    (folder / "large").write_bytes(large)
    publish(folder, URI)
    assert "-2" in client.head_object(Bucket="models", Key="tiny/large")["ETag"]  # of two parts
    assert (fetch(URI) / "large").read_bytes() == large


def test_only_what_has_changed_is_sent_and_fetched(client: Any, folder: Path) -> None:
    publish(folder, URI)
    moved: list[tuple[int, int]] = []
    report = Transfer(on_progress=lambda *each: moved.append(each))
    publish(folder, URI, transfer=report)
    assert moved == []
    old, total = fetch(URI, report), sum(map(len, FILES.values()))
    assert moved == sorted(moved) and moved[-1] == (total, total)
    moved.clear()
    assert fetch(URI, report) == old and moved == []
    (folder / "config.json").write_bytes(b"[]")
    publish(folder, URI, transfer=report)
    assert {total for _, total in moved} == {2}
    assert files(fetch(URI)) == {**FILES, "config.json": b"[]"}
    assert files(old) == FILES  # another process may be reading it


def test_only_complete_folders_are_listed(client: Any, folder: Path) -> None:
    for name in ("run_step2", "run_step10", "half", "cut", "run_final"):
        publish(folder, f"s3://models/jobs/a/{name}", {"step": 1})
    client.delete_object(Bucket="models", Key=f"jobs/a/half/{MARKER}")
    client.put_object(Bucket="models", Key="jobs/a/cut/config.json", Body=b"{")
    client.put_object(Bucket="models", Key="jobs/a/notes.txt", Body=b"not of them")
    client.put_object(Bucket="models", Key=f"jobs/a/odd/{MARKER}", Body=b"[" * 100_000)
    listed = list_published("s3://models/jobs/a/")
    assert [each.name for each in listed] == ["run_final", "run_step10", "run_step2"]
    assert listed[0].uri == "s3://models/jobs/a/run_final/" and listed[0].note == {"step": 1}
    assert list_published("s3://models/nothing/") == []


# Cut off, changed, killed.
def cut_off(call: Callable[[], object], said: str) -> bool:
    """Whether a call was cut off, which its error says in one line."""
    error = error_of(call)
    assert not error or error.startswith(f"StoreError: {said}") and "\n" not in error, error
    return bool(error)


@pytest.mark.slow
@pytest.mark.parametrize("cuts", [CUTS[::3], pytest.param(CUTS, marks=pytest.mark.soak)])
def test_a_transfer_that_is_cut_off_leaves_a_whole_folder_or_none(
    proxy: Proxy, folder: Path, cache: Path, cuts: tuple[int, ...]
) -> None:
    """Each connection is cut after so many bytes: down while it fetches, up or down as it sends."""
    for most in cuts:
        uri = f"s3://models/fetched{most}/"
        publish(folder, uri)
        proxy.down = most
        if cut_off(partial(fetch, uri), uri.rstrip("/")):
            assert not [*cache.glob(f"*/fetched{most}")]
        proxy.down = None
        assert files(fetch(uri)) == FILES
        for direction in ("up", "down"):
            uri = f"s3://models/{direction}{most}/"
            setattr(proxy, direction, most)
            is_cut = cut_off(partial(publish, folder, uri), uri.rstrip("/"))
            setattr(proxy, direction, None)
            is_there = uri in [each.uri for each in list_published("s3://models/")]
            if is_there:
                assert files(fetch(uri)) == FILES
            if direction == "up":  # down, the last response may be lost alone
                assert is_there != is_cut
            if is_cut and not is_there:
                with pytest.raises(UsageError, match="no complete folder"):
                    fetch(uri)
            publish(folder, uri)
            assert files(fetch(uri)) == FILES


def test_a_part_that_is_cut_off_is_fetched_again(proxy: Proxy, folder: Path) -> None:
    publish(folder, URI)
    proxy.down = 40_000  # of each connection: one part of 32,000, and no second one
    assert files(fetch(URI)) == FILES


def test_half_a_new_version_is_not_mixed_with_the_old(proxy: Proxy, folder: Path) -> None:
    publish(folder, URI)
    for name in FILES:
        (folder / name).write_bytes(b"other")
    proxy.up = 4_000  # enough for some of the files
    (folder / "model.safetensors").write_bytes(bytes(100_000))
    with pytest.raises(StoreError):
        publish(folder, URI)
    proxy.up = None
    assert list_published("s3://models/") == []
    with pytest.raises(StoreError, match="changed during the transfer"):
        fetch(URI)


def test_an_object_that_was_changed_is_refused(client: Any, folder: Path, cache: Path) -> None:
    faults, said = [], "changed during the transfer|no such object"
    for name in ("config.json", "model.safetensors"):
        for body in (FILES[name][:-1], b"x" * len(FILES[name]), None):
            client.delete_object(Bucket="models", Key=f"tiny/{MARKER}")
            publish(folder, URI)
            args = {"Bucket": "models", "Key": f"tiny/{name}"}
            client.delete_object(**args) if body is None else client.put_object(**args, Body=body)
            faults += unlike([(said, lambda: fetch(URI))])
            faults += [*list_published("s3://models/"), *left(cache)]
    assert_none(faults)
    publish(folder, URI)
    marker = {"Bucket": "models", "Key": f"tiny/{MARKER}"}
    values = json.loads(client.get_object(**marker)["Body"].read())
    values["files"]["config.json"]["sha256"] = "0" * 64
    client.put_object(**marker, Body=json.dumps(values))
    with pytest.raises(StoreError, match="config.json is not what was published: its hash"):
        fetch(URI)
    assert left(cache) == []


def test_a_change_between_parts(client: Any, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client.put_object(Bucket="models", Key="rows.bin", Body=bytes(200_000))
    monkeypatch.setattr(s3, "_CONCURRENCY", 1)

    def change(done: int, total: int) -> None:
        if done <= 32_000:
            client.put_object(Bucket="models", Key="rows.bin", Body=b"x" * 200_000)

    with pytest.raises(StoreError, match="rows.bin could not be read: an object changed"):
        fetch("s3://models/rows.bin", Transfer(on_progress=change))
    assert left(cache) == []


def fetching() -> subprocess.Popen[str]:
    program = "import sys; from infinite_rl.storage import fetch; print(fetch(sys.argv[1]))"
    words = [sys.executable, "-c", program, URI]
    return subprocess.Popen(words, text=True, stdout=subprocess.PIPE)


@pytest.mark.slow
def test_one_of_two_processes_downloads(proxy: Proxy, folder: Path, cache: Path) -> None:
    publish(folder, URI)
    proxy.down, proxy.hold = 50_000, True
    process = fetching()
    assert proxy.held.wait(60)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert list(cache.glob("*/.*.part"))  # what it left
    proxy.down, proxy.hold, proxy.passed = None, False, 0
    processes = [fetching(), fetching()]
    (path,) = {process.communicate(timeout=120)[0].strip() for process in processes}
    assert files(Path(path)) == FILES
    assert left(cache) == sorted(Path(name).name for name in FILES)
    assert proxy.passed < 2 * len(FILES["model.safetensors"])


@pytest.mark.parametrize("call", ["Path.rename", "local.shutil.copyfile"])
def test_a_kill_while_publishing_loses_nothing(folder: Path, tmp_path: Path, call: str) -> None:
    target = tmp_path / "far" / "folder"
    publish(folder, target, {"step": 1})
    (target.parent / ".mine.part").mkdir()
    program = (
        "import os\n"
        "from pathlib import Path\n"
        "from infinite_rl.storage import local, publish\n"
        f"whole = {call}\n"
        "def killed(*args):\n"
        "    whole(*args)\n"
        "    os.kill(os.getpid(), 9)\n"
        f"{call} = killed\n"
        f"publish({str(folder)!r}, {str(target)!r}, {{'step': 2}})\n"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == -signal.SIGKILL
    assert target.exists() == (call != "Path.rename")  # between the two renames it is not
    publish(folder, target.with_name("other"))
    assert {path.name for path in target.parent.iterdir()} == {"folder", "other", ".mine.part"}
    assert files(target.with_name("other")).keys() == files(target).keys()
    assert list_published(target.parent)[0].note == {"step": 1}


def test_the_unfinished_work_of_another_process_stays(folder: Path, tmp_path: Path) -> None:
    target, inside = tmp_path / "far" / "folder", list[str]()

    def publish_other(_: int, __: int) -> None:
        if not inside:
            inside.append("it")
            publish(folder, target.with_name("other"))

    publish(folder, target, transfer=Transfer(on_progress=publish_other))
    assert [each.name for each in list_published(target.parent)] == ["folder", "other"]


def test_a_transfer_stops_when_its_event_is_set(
    client: Any, folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(folder, URI)
    calls: list[Callable[[Transfer], object]] = [
        lambda transfer: fetch(URI, transfer),
        lambda transfer: publish(folder, "s3://models/other/", transfer=transfer),
    ]
    for call in calls:
        transfer = Transfer()
        transfer.stop.set()
        with pytest.raises(Interrupted):
            call(transfer)

    def stop_at_once(done: int, total: int) -> None:
        seen.append(done)
        transfer.stop.set()
        threading.Event().wait(0.3)  # longer than the transfer looks away

    monkeypatch.setattr(s3, "_CONCURRENCY", 1)
    for call in calls:
        seen: list[int] = []
        transfer = Transfer(on_progress=stop_at_once)
        with pytest.raises(Interrupted):
            call(transfer)
        assert max(seen) < sum(map(len, FILES.values()))
    assert [each.name for each in list_published("s3://models/")] == ["tiny"] and left(cache) == []


# Hostile, forbidden, wrong.
def test_a_malformed_or_hostile_marker_is_refused(client: Any, tmp_path: Path, cache: Path) -> None:
    def marked(files: object) -> str:
        return json.dumps({"files": files})

    entry = {"size": 2, "sha256": "0" * 64, "etag": ""}
    names = ["../up", "a/../../up", "/tmp/up", "a//b", "", ".", "..", "a/", "nul\0", "\ud800"]
    markers = [marked({name: entry}) for name in names]
    markers += ["", "[]", "{}", "[" * 99_999, marked({}), marked([]), marked({"a": 1})]
    wrong = {"size": -1, "sha256": ""}, {"size": 1e9, "sha256": ""}, {"size": 1, "sha256": "no"}
    markers += [marked({"a": each}) for each in wrong]
    client.put_object(Bucket="models", Key="tiny/../up", Body=b"{}")
    faults = []
    for marker in markers:
        client.put_object(Bucket="models", Key=f"tiny/{MARKER}", Body=marker)
        faults += unlike([("StoreError: .*is no marker of a folder", lambda: fetch(URI))])
        faults += [*list_published("s3://models/"), *left(cache), *tmp_path.rglob("up")]
    huge = marked({"a": {**entry, "size": 10**18}})  # takes no memory and no requests
    client.put_object(Bucket="models", Key=f"tiny/{MARKER}", Body=huge)
    faults += [
        *unlike([("StoreError: .*do not fit on the disk", lambda: fetch(URI))]),
        *left(cache),
    ]
    assert_none(faults)


@pytest.mark.parametrize("uri", [URI, "target"])
def test_what_cannot_be_published_whole_is_refused_and_not_skipped(
    client: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (folder / "link").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="link is a link to a folder"):
        publish(folder, uri)
    (folder / "link").unlink()
    os.mkfifo(folder / "pipe")
    with pytest.raises(UsageError, match="pipe is no file"):
        publish(folder, uri)
    (folder / "pipe").unlink()

    def touch(_: int, __: int) -> None:
        os.utime(folder / "model.safetensors", ns=(1, 1))  # as of other content in the same size

    with pytest.raises(StoreError, match="changed while it was published"):
        publish(folder, uri, transfer=Transfer(on_progress=touch))
    whole = os.scandir

    def scandir(path: Any) -> Any:
        if Path(path) != folder:
            raise PermissionError(13, "Permission denied")
        return whole(path)

    monkeypatch.setattr(os, "scandir", scandir)  # root can read any folder
    with pytest.raises(StoreError, match="Permission denied"):
        publish(folder, uri)
    monkeypatch.undo()
    assert not (tmp_path / "target").exists()


def test_objects_of_another_publisher_are_not_ours(client: Any, folder: Path) -> None:
    weights = bytes(len(FILES["model.safetensors"]))  # other content of the same size

    def overwrite(done: int, total: int) -> None:
        if done == total:
            client.put_object(Bucket="models", Key="tiny/config.json", Body=b"{}")
            client.put_object(Bucket="models", Key="tiny/model.safetensors", Body=weights)

    with pytest.raises(StoreError, match="another process publishes it"):
        publish(folder, URI, transfer=Transfer(on_progress=overwrite))
    assert list_published("s3://models/") == []
    publish(folder, URI)
    assert files(fetch(URI)) == FILES
    # Objects that lost their metadata can be published again: the ETag of a small one stays.
    small = {"Bucket": "models", "Key": "tiny/deep/er/vocabulary é.txt"}
    client.copy_object(**small, CopySource=small, Metadata={}, MetadataDirective="REPLACE")
    (folder / "config.json").write_text("[1]", encoding="utf-8")
    publish(folder, URI)
    assert (fetch(URI) / "config.json").read_text(encoding="utf-8") == "[1]"


def test_wrong_usage_is_said_in_one_line(client: Any, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    over, target = "is, or holds, the folder to publish", tmp_path / "target"
    no_bucket, uri = "there is no bucket no-such-bucket", "s3://no-such-bucket/a/"
    cases: list[tuple[str, Callable[[], object]]] = [
        ("name a folder in it", partial(publish, folder, "s3://models/")),
        ("read-only", partial(publish, folder, "hf:a:b")),
        ("read-only", partial(publish, folder, "hf-model:a")),
        ("URI to publish to is missing", partial(publish, folder, "")),
        (over, partial(publish, folder, folder)),
        (over, partial(publish, folder, folder.parent)),
        ("there is no file in", partial(publish, tmp_path / "none", target)),
        ("there is no folder", partial(publish, tmp_path / "nowhere", target)),
        ("cannot be listed: use a folder", partial(list_published, "hf:a:b")),
        *(("no valid file name", partial(fetch, f"s3://models/{key}")) for key in ("..", "a/../")),
        *((no_bucket, partial(call, uri)) for call in (fetch, list_published)),
        (no_bucket, partial(publish, folder, uri)),
    ]
    assert_none(unlike((f"UsageError: .*{said}", call) for said, call in cases))
    assert files(folder) == FILES


def test_a_missing_permission_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("boto3")
    body = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
    head = b"HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"

    def reply(request: bytes) -> bytes:
        return head % 0 if request.startswith(b"HEAD") else head % len(body) + body

    cases = [
        ("s3:GetObject", lambda: fetch("s3://models/a.csv")),
        ("s3:GetObject", lambda: fetch(URI)),
        ("s3:ListBucket", lambda: list_published(URI)),
        ("s3:ListBucket", lambda: publish(folder, URI)),
    ]
    with answering(reply) as endpoint:
        credentials(monkeypatch, endpoint)
        said = f"UsageError: s3://models/(?!.*{SECRET}).*: {{}} is denied"
        assert_none(unlike((said.format(permission), call) for permission, call in cases))


def test_without_credentials_the_error_says_how_to_set_them(
    client: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    with pytest.raises(UsageError, match="there are no AWS credentials .* run `aws configure`"):
        publish(folder, URI)
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(UsageError, match="profile .nobody. could not be found"):
        fetch(URI)


def test_the_commands_publish_and_fetch(
    client: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["storage", "publish", str(folder), "s3://models/tiny"]) == 0
    assert capsys.readouterr().out == f"{URI}\n"
    assert cli.main(["storage", "fetch", URI]) == 0
    assert files(Path(capsys.readouterr().out.strip())) == FILES
    assert cli.main(["storage", "fetch", "s3://models/none/"]) == 2
    assert "no complete folder" in capsys.readouterr().err
