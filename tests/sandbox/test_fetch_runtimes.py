"""The installer's ways to a runtime, against a GitHub that answers on loopback."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from build_src import fetch_runtimes, provide_runtimes, runtime_files
from build_src.fetch_runtimes import FetchError, Source, newest_release, release_tagged
from build_src.provide_runtimes import BuildError, RuntimesUnavailable, provide

PYTHON_WASM, JS_WASM = b"\0asm python" * 1000, b"\0asm javascript" * 1000


@dataclass(frozen=True)
class Row:
    """A row of the table of runtimes."""

    name: str
    filename: str
    sha256: str = ""


PYTHON = Row("python", "python.wasm")
JAVASCRIPT = Row("javascript", "universal_js.wasm", hashlib.sha256(JS_WASM).hexdigest())
BOTH = (PYTHON, JAVASCRIPT)


def sums(**files: bytes) -> bytes:
    lines = [f"{hashlib.sha256(body).hexdigest()}  {name}.wasm" for name, body in files.items()]
    return "\n".join(lines).encode()


GOOD = {
    "python.wasm": PYTHON_WASM,
    "universal_js.wasm": JS_WASM,
    "SHA256SUMS": sums(python=PYTHON_WASM, universal_js=JS_WASM),
}


@dataclass
class GitHub:
    """A scripted GitHub: releases by tag, and what to answer instead for a path's ending."""

    url: str = ""
    releases: dict[str, dict[str, bytes]] = field(default_factory=dict)
    flags: dict[str, dict[str, bool]] = field(default_factory=dict)
    instead: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    seen: list[tuple[str, str]] = field(default_factory=list)

    def answer(self, path: str) -> tuple[int, dict[str, str], bytes]:
        for ending, reply in self.instead.items():
            if path.endswith(ending):
                return reply
        parts = path.partition("?")[0].split("/")[4:]
        if parts == ["releases"]:
            return self._json([self.describe(tag) for tag in self.releases])
        if parts[:2] == ["releases", "tags"] and parts[2] in self.releases:
            return self._json(self.describe(parts[2]))
        if parts[:2] == ["releases", "assets"]:
            return 200, {}, self.assets()[int(parts[2])][2]
        return 404, {}, b"{}"

    def assets(self) -> list[tuple[str, str, bytes]]:
        return [(tag, n, body) for tag, files in self.releases.items() for n, body in files.items()]

    def describe(self, tag: str) -> dict[str, object]:
        assets = [{"name": n, "id": i} for i, (t, n, _) in enumerate(self.assets()) if t == tag]
        flags = {"draft": False, "prerelease": False} | self.flags.get(tag, {})
        return {"tag_name": tag, "assets": assets, **flags}

    def asset_path(self, name: str) -> str:
        return f"assets/{[n for _, n, _ in self.assets()].index(name)}"

    def environ(self, **more: str) -> dict[str, str]:
        return {"GITHUB_API_URL": self.url, "RUNTIME_GITHUB_REPO": "owner/rl", **more}

    @staticmethod
    def _json(data: object) -> tuple[int, dict[str, str], bytes]:
        return 200, {}, json.dumps(data).encode()


@pytest.fixture
def github() -> Iterator[GitHub]:
    script = GitHub(releases={"runtimes-v1.2.3": dict(GOOD)})

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            script.seen.append((self.path, self.headers.get("Authorization", "")))
            status, headers, body = script.answer(self.path)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep the test's output clean."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield script
    server.shutdown()
    thread.join()
    server.server_close()


def fetch(github: GitHub, folder: Path, *, tag: str = "v1.2.3", **environ: str) -> None:
    source = Source.from_environment(github.environ(**environ))
    fetch_runtimes.fetch(BOTH, release_tagged(tag, source), source, folder)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# The download.


@pytest.mark.parametrize("tag", ["v1.2.3", "runtimes-v1.2.3"])
def test_both_forms_of_the_tag_bring_both_runtimes(
    github: GitHub, tmp_path: Path, tag: str
) -> None:
    fetch(github, tmp_path, tag=tag)
    assert (tmp_path / "python.wasm").read_bytes() == PYTHON_WASM
    assert (tmp_path / "universal_js.wasm").read_bytes() == JS_WASM
    assert all(runtime_files.is_present(runtime, tmp_path) for runtime in BOTH)


def test_a_runtime_without_a_pinned_hash_gets_a_record_that_sha256sum_reads(
    github: GitHub, tmp_path: Path
) -> None:
    fetch(github, tmp_path)
    assert names(tmp_path) == ["python.wasm", "python.wasm.sha256", "universal_js.wasm"]
    first, second = (tmp_path / "python.wasm.sha256").read_text().splitlines()
    assert first == f"{hashlib.sha256(PYTHON_WASM).hexdigest()}  python.wasm"
    assert second == "# from release runtimes-v1.2.3 of owner/rl"


def test_a_plain_version_tag_also_means_a_release_without_the_prefix(
    github: GitHub, tmp_path: Path
) -> None:
    github.releases = {"v1.2.3": dict(GOOD)}
    fetch(github, tmp_path)
    assert (tmp_path / "python.wasm").exists()


def test_the_token_is_sent_with_every_request(github: GitHub, tmp_path: Path) -> None:
    fetch(github, tmp_path, GITHUB_TOKEN="s3cret")
    assert len(github.seen) == 4
    assert {token for _, token in github.seen} == {"Bearer s3cret"}


def test_a_netrc_line_does_not_replace_the_token(
    github: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    release_tagged("v1.2.3", Source.from_environment(github.environ(GITHUB_TOKEN="s3cret")))
    assert github.seen[-1][1] == "Bearer s3cret"


def test_the_token_does_not_follow_a_redirect_to_another_host(
    github: GitHub, tmp_path: Path
) -> None:
    away = github.url.replace("127.0.0.1", "localhost") + "/repos/owner/rl/releases/assets/0"
    github.instead[github.asset_path("universal_js.wasm")] = (302, {"Location": away}, b"")
    with pytest.raises(FetchError, match="damaged"):
        fetch(github, tmp_path, GITHUB_TOKEN="s3cret")
    assert github.seen[-1][1] == ""


def test_the_token_is_in_no_repr_and_no_error(github: GitHub, tmp_path: Path) -> None:
    github.instead["/runtimes-v1.2.3"] = (401, {}, b"{}")
    with pytest.raises(FetchError, match="GITHUB_TOKEN") as refusal:
        fetch(github, tmp_path, GITHUB_TOKEN="s3cret")
    assert "s3cret" not in str(refusal.value)
    assert "s3cret" not in repr(Source("a/b", token="s3cret"))


# Faults of a release.

TAG = "runtimes-v1.2.3"
CUT = (200, {"Content-Length": str(len(PYTHON_WASM))}, PYTHON_WASM[:-9])
OTHER = b"\0asm of another version"
OTHER_SUMS = sums(python=PYTHON_WASM, universal_js=OTHER)
# Files of the release that are others (None: missing), answers instead, and the error.
FAULTS: list[tuple[dict[str, bytes | None], dict[str, Any], str]] = [
    ({"python.wasm": None}, {}, f"{TAG} of owner/rl has no asset python.wasm"),
    ({"universal_js.wasm": None}, {}, f"{TAG} of owner/rl has no asset universal_js.wasm"),
    ({"SHA256SUMS": None}, {}, f"{TAG} of owner/rl has no asset SHA256SUMS"),
    ({"python.wasm": b"\0asm evil"}, {}, "python.wasm of release .* damaged or was replaced"),
    ({"universal_js.wasm": OTHER, "SHA256SUMS": OTHER_SUMS}, {}, f"{TAG} is not for this version"),
    ({"SHA256SUMS": sums(universal_js=JS_WASM)}, {}, "SHA256SUMS .* does not list python.wasm"),
    ({"SHA256SUMS": b"<html>"}, {}, "not sha256sum's output"),
    ({"SHA256SUMS": b"\xff\xfe"}, {}, "not sha256sum's output"),
    ({"SHA256SUMS": b"abc  python.wasm"}, {}, "not sha256sum's output"),
    ({}, {"python.wasm": CUT}, "download of python.wasm broke off"),
    ({}, {TAG: (403, {"X-RateLimit-Remaining": "50"}, b"{}")}, r"refuses \(403\) owner/rl"),
    ({}, {TAG: (502, {}, b"")}, "answered 502"),
    ({}, {TAG: (200, {}, b"<html>")}, "broken answer"),
]


@pytest.mark.parametrize(("files", "instead", "error"), FAULTS)
def test_a_fault_of_a_release_is_named_and_no_wrong_file_is_kept(
    github: GitHub,
    tmp_path: Path,
    files: dict[str, bytes | None],
    instead: dict[str, Any],
    error: str,
) -> None:
    release = {name: body for name, body in {**GOOD, **files}.items() if body is not None}
    github.releases[TAG] = release
    for name, reply in instead.items():
        github.instead[github.asset_path(name) if name in release else f"/{name}"] = reply
    with pytest.raises(FetchError, match=error):
        fetch(github, tmp_path)
    kept = [] if "universal_js.wasm" not in files else ["python.wasm", "python.wasm.sha256"]
    assert names(tmp_path) in ([], kept)


def test_an_unknown_tag_is_named_in_both_forms(github: GitHub, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="no release tagged runtimes-v9 or v9 .*GITHUB_TOKEN"):
        fetch(github, tmp_path, tag="v9")


@pytest.mark.parametrize("tag", ["1.2.3", "latest", "v1/../../x", "v1 2", "runtimes-", ""])
def test_a_tag_of_another_form_is_refused_unasked(github: GitHub, tmp_path: Path, tag: str) -> None:
    with pytest.raises(FetchError, match="RUNTIME_RELEASE_TAG is v1.2.3 or runtimes-v1.2.3"):
        fetch(github, tmp_path, tag=tag)
    assert github.seen == []


@pytest.mark.parametrize("repo", ["rl", "a/b/c", "a/b?x", "https://github.com/a/b"])
def test_a_repository_of_another_form_is_refused(repo: str) -> None:
    with pytest.raises(FetchError, match="RUNTIME_GITHUB_REPO to owner/name"):
        Source.from_environment({"RUNTIME_GITHUB_REPO": repo})


@pytest.mark.parametrize(
    ("status", "headers", "told"),
    [
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000000"}, "22:13 UTC"),
        (429, {"Retry-After": "30"}, "try again in 30 s"),
        (403, {"Retry-After": "7"}, "try again in 7 s"),
        (429, {"X-RateLimit-Reset": "soon"}, "used up; set GITHUB_TOKEN"),
    ],
)
def test_a_rate_limit_is_explained_in_one_line(
    github: GitHub, tmp_path: Path, status: int, headers: dict[str, str], told: str
) -> None:
    github.instead["/runtimes-v1.2.3"] = (status, headers, b"{}")
    with pytest.raises(FetchError, match="rate limit is used up") as limited:
        fetch(github, tmp_path)
    assert told in str(limited.value) and "GITHUB_TOKEN" in str(limited.value)
    assert "\n" not in str(limited.value)


def test_a_host_that_does_not_answer_is_an_error_of_ours() -> None:
    source = Source("a/b", api="http://127.0.0.1:1")
    with pytest.raises(FetchError, match="cannot reach http://127.0.0.1:1"):
        release_tagged("v1", source)


def test_the_newest_release_has_the_highest_version_and_is_published(github: GitHub) -> None:
    tags = ["v9.0.0", "runtimes-v0.9.9", "runtimes-v0.10.0", "runtimes-v3.0.0", "runtimes-v2.0.0"]
    github.releases = {tag: {} for tag in tags}
    github.flags = {"runtimes-v3.0.0": {"draft": True}, "runtimes-v2.0.0": {"prerelease": True}}
    assert newest_release(Source.from_environment(github.environ())).tag == "runtimes-v0.10.0"


def test_no_runtimes_release_at_all_is_said(github: GitHub) -> None:
    github.releases = {"v1.0.0": {}}
    with pytest.raises(FetchError, match="no release tagged runtimes-"):
        newest_release(Source.from_environment(github.environ()))


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/owner/rl.git",
        "git@github.com:owner/rl.git",
        "https://github.com/owner/rl/",
    ],
)
def test_the_repository_is_by_default_the_one_this_was_cloned_from(
    tmp_path: Path, url: str
) -> None:
    (tmp_path / ".git").mkdir()
    for name, text in {
        "HEAD": "ref: refs/heads/main\n",
        "config": f'[remote "origin"]\nurl = {url}\n',
    }.items():
        (tmp_path / ".git" / name).write_text(text)
    (tmp_path / ".git" / "objects").mkdir()
    (tmp_path / ".git" / "refs").mkdir()
    assert fetch_runtimes._cloned_from(tmp_path) == "owner/rl"


# What is already there.


def placed(folder: Path, body: bytes, runtime: Row, origin: str = "# by hand") -> None:
    made = folder / "made"
    made.write_bytes(body)
    runtime_files.place(runtime, made, origin, folder)
    made.unlink()


def test_a_file_with_the_right_hash_is_present_and_a_touched_one_is_not(tmp_path: Path) -> None:
    for runtime, body in ((PYTHON, PYTHON_WASM), (JAVASCRIPT, JS_WASM)):
        assert not runtime_files.is_present(runtime, tmp_path)
        placed(tmp_path, body, runtime)
        assert runtime_files.is_present(runtime, tmp_path)
        (tmp_path / runtime.filename).write_bytes(body + b"!")
        assert not runtime_files.is_present(runtime, tmp_path)


@pytest.mark.parametrize("record", ["", "\n", "# no hash\n"])
def test_a_file_without_a_record_is_not_trusted(tmp_path: Path, record: str) -> None:
    placed(tmp_path, PYTHON_WASM, PYTHON)
    (tmp_path / "python.wasm.sha256").write_text(record)
    assert not runtime_files.is_present(PYTHON, tmp_path)
    (tmp_path / "python.wasm.sha256").unlink()
    assert not runtime_files.is_present(PYTHON, tmp_path)


def test_a_build_from_sources_that_have_changed_since_is_not_present(tmp_path: Path) -> None:
    guest = tmp_path / "src" / "python" / "app.py"
    guest.parent.mkdir(parents=True)
    guest.write_text("one")
    placed(tmp_path, PYTHON_WASM, PYTHON, runtime_files.built_from("python", tmp_path / "src"))
    assert runtime_files.is_present(PYTHON, tmp_path, tmp_path / "src")
    guest.write_text("two")
    assert not runtime_files.is_present(PYTHON, tmp_path, tmp_path / "src")


def test_a_file_that_is_not_the_pinned_one_is_not_placed(tmp_path: Path) -> None:
    with pytest.raises(runtime_files.WrongFile, match="pins"):
        placed(tmp_path, b"other", JAVASCRIPT)
    assert names(tmp_path) == ["made"]


def test_placing_leaves_nothing_else_behind_when_it_cannot_finish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(runtime_files.os, "replace", full_disk)
    with pytest.raises(OSError, match="No space"):
        placed(tmp_path, PYTHON_WASM, PYTHON)
    assert names(tmp_path) == ["made"]


# The order of the ways.


@dataclass
class Builder:
    """A local build that writes the right bytes, or fails."""

    folder: Path
    broken: tuple[str, ...] = ()
    asked: list[str] = field(default_factory=list)

    def __call__(self, runtime: runtime_files.Runtime) -> None:
        self.asked.append(runtime.name)
        if runtime.name in self.broken:
            raise BuildError("npm cannot reach its index")
        placed(self.folder, PYTHON_WASM if runtime.name == "python" else JS_WASM, runtime)


def run(github: GitHub, build: Builder, **environ: str) -> list[str]:
    said: list[str] = []
    provide(BOTH, github.environ(**environ), said.append, build=build, folder=build.folder)
    assert all(runtime_files.is_present(runtime, build.folder) for runtime in BOTH)
    return said


def test_what_is_present_is_neither_built_nor_fetched(github: GitHub, tmp_path: Path) -> None:
    run(github, build := Builder(tmp_path))
    build.asked.clear()
    assert run(github, build, RUNTIME_RELEASE_TAG="v1.2.3") == [
        "python.wasm: present",
        "universal_js.wasm: present",
    ]
    assert build.asked == [] and github.seen == []


def test_without_a_tag_the_local_build_comes_first(github: GitHub, tmp_path: Path) -> None:
    run(github, build := Builder(tmp_path))
    assert build.asked == ["python", "javascript"] and github.seen == []


def test_only_what_is_missing_is_built(github: GitHub, tmp_path: Path) -> None:
    placed(tmp_path, PYTHON_WASM, PYTHON)
    run(github, build := Builder(tmp_path))
    assert build.asked == ["javascript"]


def test_a_named_release_comes_before_the_build(github: GitHub, tmp_path: Path) -> None:
    run(github, build := Builder(tmp_path), RUNTIME_RELEASE_TAG="v1.2.3")
    assert build.asked == []


def test_a_named_release_that_fails_is_an_error_and_nothing_else_is_tried(
    github: GitHub, tmp_path: Path
) -> None:
    build = Builder(tmp_path)
    with pytest.raises(RuntimesUnavailable, match="RUNTIME_RELEASE_TAG=v7: owner/rl has no"):
        run(github, build, RUNTIME_RELEASE_TAG="v7")
    assert build.asked == [] and names(tmp_path) == []


def test_what_cannot_be_built_comes_from_the_newest_release(github: GitHub, tmp_path: Path) -> None:
    said = run(github, Builder(tmp_path, broken=("javascript",)))
    assert said[-1] == "fetching release runtimes-v1.2.3 of owner/rl"
    assert not any(path.endswith(github.asset_path("python.wasm")) for path, _ in github.seen)


def test_when_every_way_fails_the_error_names_each_and_the_ways_out(
    github: GitHub, tmp_path: Path
) -> None:
    github.releases = {}
    with pytest.raises(RuntimesUnavailable) as failure:
        run(github, Builder(tmp_path, broken=("python", "javascript")))
    for part in (
        "cannot provide python.wasm and universal_js.wasm",
        "javascript: npm cannot reach its index",
        "newest release: owner/rl has no release",
        "bash build_src/build_wasm.sh",
        "RUNTIME_RELEASE_TAG=",
    ):
        assert part in str(failure.value)


def test_a_failed_build_script_is_a_build_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BuildError, match="build_wasm.sh ruby ended with status 1"):
        provide_runtimes.build_locally(Row("ruby", "ruby.wasm"))
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(BuildError, match="no bash"):
        provide_runtimes.build_locally(PYTHON)
