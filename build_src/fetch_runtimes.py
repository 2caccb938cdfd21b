"""Fetch released runtimes from GitHub; nothing is kept that its release's checksum file disowns.

A release holds the runtimes' files and `SHA256SUMS`, the output of `sha256sum` over them. Settings
come from the environment:

    RUNTIME_RELEASE_TAG   `v1.2.3` or `runtimes-v1.2.3`
    RUNTIME_GITHUB_REPO   `owner/name`; by default the GitHub repository this was cloned from
    GITHUB_TOKEN          for a private repository, or for a higher rate limit
    GITHUB_API_URL        for GitHub Enterprise; by default https://api.github.com
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests

from .runtime_files import FOLDER, ROOT, Runtime, WrongFile, file_hash, place

CHECKSUMS = "SHA256SUMS"
PREFIX = "runtimes-"

_API = "https://api.github.com"
_TIMEOUT_S = (10.0, 60.0)  # to connect, and between two pieces of a body
_PIECE = 1 << 20
_TAG = re.compile(r"(?:runtimes-)?v\d[\w.+-]*")
_REPO = re.compile(r"[\w.-]+/[\w.-]+")
_GITHUB_REMOTE = re.compile(r"github\.com[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?$")


class FetchError(Exception):
    """A release could not be used; the message says what to do about it."""


class NotFound(FetchError):
    """GitHub knows no such thing, or does not show it without a token."""


class _Bearer(requests.auth.AuthBase):
    """A token as `auth`, since a line in ~/.netrc would win over a header set by hand."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request


@dataclass(frozen=True)
class Source:
    """The GitHub repository that holds the releases. The token stays out of the repr."""

    repo: str
    api: str = _API
    token: str = field(default="", repr=False)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Source:
        """The repository that the variables name. Raises `FetchError` where none is known."""
        repo = environ.get("RUNTIME_GITHUB_REPO") or _cloned_from(ROOT)
        if not _REPO.fullmatch(repo):
            raise FetchError(f"set RUNTIME_GITHUB_REPO to owner/name; it is {repo!r}")
        api = environ.get("GITHUB_API_URL") or _API
        return cls(repo, api.rstrip("/"), environ.get("GITHUB_TOKEN", ""))

    def get(self, path: str, accept: str = "application/vnd.github+json") -> requests.Response:
        """The answer to `GET /repos/<repo>/<path>`, its body unread. Raises `FetchError`."""
        headers = {"Accept": accept, "X-GitHub-Api-Version": "2022-11-28"}
        auth = _Bearer(self.token) if self.token else None
        url = f"{self.api}/repos/{self.repo}/{path}"
        try:
            answer = requests.get(url, headers=headers, auth=auth, timeout=_TIMEOUT_S, stream=True)
        except requests.RequestException as error:
            raise FetchError(f"cannot reach {self.api}: {error}") from error
        if answer.status_code != 200:
            answer.close()
            raise _refusal(answer, self)
        return answer

    def json(self, path: str) -> Any:
        """The JSON that GitHub answers. Raises `FetchError`."""
        try:
            with self.get(path) as answer:
                return answer.json()
        except requests.RequestException as error:
            raise FetchError(f"{self.api} sent a broken answer for {path}: {error}") from error


@dataclass(frozen=True)
class Release:
    """A release: its tag, and the id of each asset by file name."""

    tag: str
    assets: Mapping[str, int]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Release:
        """A release as GitHub's API describes it."""
        assets = {str(asset["name"]): int(asset["id"]) for asset in data["assets"]}
        return cls(str(data["tag_name"]), assets)


def fetch(
    runtimes: Iterable[Runtime], release: Release, source: Source, folder: Path = FOLDER
) -> None:
    """Download the runtimes from the release into the folder.

    Each file is checked against the release's `SHA256SUMS`, and against its pinned hash if it has
    one, before it takes its place. Raises `FetchError`.
    """
    with tempfile.TemporaryDirectory(prefix="runtimes-") as scratch:
        sums = _checksums(_download(CHECKSUMS, release, source, Path(scratch)), release)
        for runtime in runtimes:
            made = _download(runtime.filename, release, source, Path(scratch))
            _check(made, sums, release)
            try:
                place(runtime, made, f"# from release {release.tag} of {source.repo}", folder)
            except WrongFile as error:
                raise FetchError(
                    f"release {release.tag} is not for this version: {error}"
                ) from None


def release_tagged(tag: str, source: Source) -> Release:
    """The release that a tag means: `v1.2.3` is `runtimes-v1.2.3` where there is one.

    Raises `FetchError` for a tag of another form, and where neither release exists.
    """
    if not _TAG.fullmatch(tag):
        raise FetchError(f"RUNTIME_RELEASE_TAG is v1.2.3 or {PREFIX}v1.2.3, not {tag!r}")
    tags = [tag] if tag.startswith(PREFIX) else [PREFIX + tag, tag]
    for name in tags:
        try:
            return Release.from_json(source.json(f"releases/tags/{quote(name, safe='')}"))
        except NotFound:
            continue
    raise FetchError(
        f"{source.repo} has no release tagged {' or '.join(tags)}"
        " (a private repository shows none without GITHUB_TOKEN)"
    )


def newest_release(source: Source) -> Release:
    """The published `runtimes-*` release with the highest version. Raises `FetchError`."""
    releases = [
        Release.from_json(data)
        for data in source.json("releases?per_page=100")
        if data["tag_name"].startswith(PREFIX) and not data["draft"] and not data["prerelease"]
    ]
    if not releases:
        raise FetchError(f"{source.repo} has no release tagged {PREFIX}*")
    return max(releases, key=lambda release: [int(n) for n in re.findall(r"\d+", release.tag)])


def _download(name: str, release: Release, source: Source, folder: Path) -> Path:
    """One asset of the release, whole. Raises `FetchError`."""
    if name not in release.assets:
        raise FetchError(f"release {release.tag} of {source.repo} has no asset {name}")
    path = folder / name
    answer = source.get(f"releases/assets/{release.assets[name]}", "application/octet-stream")
    try:
        with answer, path.open("wb") as file:
            for piece in answer.iter_content(_PIECE):
                file.write(piece)
    except requests.RequestException as error:
        raise FetchError(f"the download of {name} broke off: {error}") from error
    return path


def _checksums(path: Path, release: Release) -> dict[str, str]:
    """`sha256sum`'s lines as hash by file name. Raises `FetchError` for anything else."""
    sums = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        match = re.fullmatch(r"([0-9a-fA-F]{64}) [ *](\S+)", line.strip())
        if match:
            sums[match[2]] = match[1].lower()
        elif line.strip() and not line.startswith("#"):
            raise FetchError(f"{CHECKSUMS} of release {release.tag} is not sha256sum's output")
    return sums


def _check(path: Path, sums: Mapping[str, str], release: Release) -> None:
    if path.name not in sums:
        raise FetchError(f"{CHECKSUMS} of release {release.tag} does not list {path.name}")
    found = file_hash(path)
    if found != sums[path.name]:
        raise FetchError(
            f"{path.name} of release {release.tag} is damaged or was replaced:"
            f" sha256 {found}, but {CHECKSUMS} says {sums[path.name]}"
        )


def _refusal(answer: requests.Response, source: Source) -> FetchError:
    """What a status other than 200 means to the one who installs."""
    status, headers = answer.status_code, answer.headers
    spent = headers.get("X-RateLimit-Remaining") == "0" or "Retry-After" in headers
    if status == 429 or (status == 403 and spent):
        hint = "" if source.token else "; set GITHUB_TOKEN for a higher one"
        return FetchError(f"GitHub's rate limit is used up{_until(headers)}{hint}")
    if status in (401, 403):
        return FetchError(f"GitHub refuses ({status}) {source.repo}: GITHUB_TOKEN lacks the right")
    if status == 404:
        return NotFound(f"GitHub has no {answer.url}")
    return FetchError(f"GitHub answered {status} {answer.reason} for {answer.url}")


def _until(headers: Mapping[str, str]) -> str:
    """When the rate limit ends, as far as GitHub says it."""
    wait, reset = headers.get("Retry-After", ""), headers.get("X-RateLimit-Reset", "")
    if wait.isdecimal():
        return f"; try again in {wait} s"
    if reset.isdecimal():
        return f" until {datetime.fromtimestamp(int(reset), timezone.utc):%H:%M} UTC"
    return ""


def _cloned_from(root: Path) -> str:
    """`owner/name` of the GitHub repository that `root` is a clone of, or "" for any other tree."""
    if not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "config", "--get", "remote.origin.url"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    except FileNotFoundError:  # a machine without git
        return ""
    match = _GITHUB_REMOTE.search(found.stdout.strip())
    return match[1] if match else ""
