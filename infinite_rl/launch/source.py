"""The folder that a job runs in, as one archive: the same files give the same bytes.

What git ignores stays here, and so does what looks like a secret, also where git tracks it. What
the config names is sent all the same, as rows mostly lie in a folder that git ignores. The job log
stays here as well: each job adds a line to it, and no two would share a source.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from ..errors import StoreError, UsageError
from .ignored import kept
from .job_log import FILE as JOB_LOG

ARCHIVE = "source.tar.gz"
# Names that mean keys or passwords, of a file or of a folder.
_SECRET = re.compile(
    r"\.env(?!\.(?:example|sample|template|dist)$)(\..*)?|.*\.(pem|key|p12|pfx|jks|keystore|kdbx)"
    r"|id_(rsa|dsa|ecdsa|ed25519).*|\.netrc|_netrc|\.pypirc|\.npmrc|\.htpasswd|\.git-credentials"
    r"|credentials(\.json|\.ya?ml|\.toml|\.csv|\.ini)?|client_secret.*\.json"
    r"|\.?secrets?(\.(json|ya?ml|toml|ini|txt|env))?|service[_-]account.*\.json|\.aws|\.ssh|\.gnupg"
    r"|\.kube|\.azure|\.dockercfg|\.dockerconfigjson|(.*/)?\.docker/config\.json|kubeconfig"
    r"|.*\.tfstate(\..*)?|.*\.tfvars|\.terraformrc|\.databrickscfg|\.boto|\.s3cfg|\.envrc|.*\.env"
    r"|.*\.(ppk|p8)|\.pgpass|\.my\.cnf|\.passwd|\.vault-token|kaggle\.json|rootkey\.csv"
    r"|.*accesskeys?\.csv|.*[_-]credentials(\.(json|ya?ml|toml|csv|ini|txt))?|passwords?\.txt"
    r"|(.*[_-])?(api|hub|hf|access|auth|wandb|github|gh|openai|aws)[_-](keys?|tokens?)"
    r"(\.(txt|json|ya?ml|csv))?|\.[a-z]+_history|\.modal\.toml|(.*/)?\.huggingface/token"
    r"|(.*/)?\.config/gh/hosts\.yml",
    re.IGNORECASE,
)
_LOOKS = "it looks like a secret"
# Keys of a config whose values may be files or folders of this machine that a job needs.
_FILES = ("data", "model", "shots", "include_path")
_LISTS: Mapping[str, tuple[str, ...]] = {"datasets": ("path", "order"), "tasks": ()}


@dataclass(frozen=True)
class Source:
    """An archive of a folder.

    `digest` names its content, whatever compressed it. `size` is in bytes, `files` their count,
    `held_back` what was not sent though git does not ignore it, each with the reason.
    """

    path: Path
    digest: str
    size: int
    files: int
    held_back: Mapping[str, str]


@contextmanager
def archived(
    folder: Path, named: Iterable[Path] = (), private: Iterable[Path] = ()
) -> Iterator[Source]:
    """The archive of a folder and of what is `named` inside it, there while the block runs.

    `private` files are held back as secrets are; what is named by itself is sent all the same.

    Raises:
        UsageError: what is named lies outside the folder, or there is nothing to send.
        StoreError: something cannot be read, or there is no room for the archive.
    """
    with TemporaryDirectory(prefix="infinite-rl-") as place:
        try:
            held = {each.resolve() for each in private}
            source = _archive(folder.resolve(), list(named), held, Path(place) / ARCHIVE)
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            raise StoreError(f"cannot archive {folder}: {error.strerror or error}{where}") from None
        yield source


def _archive(folder: Path, named: list[Path], private: set[Path], path: Path) -> Source:
    held_back: dict[str, str] = {}
    there = [name for name in listed(folder) if name != JOB_LOG.as_posix()]
    wanted = {name: False for name in there if not _held_back(folder, name, held_back)}
    for each in named:
        for name in _below(folder, each):
            inner = os.path.relpath(name, each)  # "." where it is itself named, whatever it is
            if inner != "." and _is_secret(folder / name, inner):
                held_back[name] = _LOOKS
            else:  # as a file even where it is a link to one elsewhere
                wanted[name] = True
    its_own = {each.as_posix() for each in named}
    for name in [name for name in wanted if name not in its_own]:
        if (folder / name).resolve() in private:
            held_back[name] = "it may hold keys, and a job does not need it"
            del wanted[name]
    if not wanted:
        raise UsageError(f"there is nothing to send in {folder}")
    for name in wanted:
        held_back.pop(name, None)
    with (
        path.open("wb") as file,
        _Hashed(file) as hashed,
        tarfile.open(fileobj=hashed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in sorted(wanted):
            _add(archive, folder, name, wanted[name])
    digest = hashed.content.hexdigest()[:32]
    return Source(path, digest, path.stat().st_size, len(wanted), held_back)


class _Hashed(gzip.GzipFile):
    """A file that is compressed as it is written, and whose content is hashed before that."""

    def __init__(self, file: IO[bytes]) -> None:
        self.content = hashlib.sha256()
        # No time and no name in its head: the same content must give the same bytes.
        super().__init__(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)

    def write(self, data: Any) -> int:
        self.content.update(data)
        return super().write(data)


def _add(archive: tarfile.TarFile, folder: Path, name: str, follow: bool) -> None:
    """Add a file with nothing of this machine but its bytes and whether it may be executed."""
    path = folder / name
    entry = tarfile.TarInfo(name)
    if path.is_symlink() and not follow:
        entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(path)
        archive.addfile(entry)
        return
    with path.open("rb") as file:
        state = os.fstat(file.fileno())
        entry.size, entry.mode = state.st_size, 0o755 if state.st_mode & 0o100 else 0o644
        archive.addfile(entry, file)


def _held_back(folder: Path, name: str, held_back: dict[str, str]) -> bool:
    path = folder / name
    if _is_secret(path, name):
        held_back[name] = _LOOKS
    elif path.is_symlink():
        root = os.path.realpath(folder)
        if os.path.isabs(os.readlink(path)) or not _inside(root, os.path.realpath(path)):
            held_back[name] = "it is a link out of the folder"
    elif not path.is_file():
        return True  # deleted since git saw it, or a pipe
    return name in held_back


def _is_secret(path: Path, name: str) -> bool:
    """Whether its name, or that of the file that it leads to, is one of keys or passwords."""
    names = name, os.path.basename(os.path.realpath(path))
    return any(_SECRET.fullmatch(part) for each in names for part in (each, *each.split("/")))


def _inside(root: str, path: str) -> bool:
    return os.path.commonpath((root, path)) == root


def _below(folder: Path, path: Path) -> Iterator[str]:
    """The files of what is named, relative to the folder; nothing of git's own."""
    place = os.path.normpath(folder / path)
    if path.is_absolute() or not _inside(str(folder), place):
        raise UsageError(
            f"{path} would not be there in a job: name something inside {folder}, relative to it, "
            "or in S3"
        )
    if os.path.isfile(place):
        yield Path(os.path.relpath(place, folder)).as_posix()
        return
    for at, inner, names in os.walk(place):
        inner[:] = [name for name in inner if name != ".git"]
        for name in names:
            if os.path.isfile(os.path.join(at, name)):
                yield Path(os.path.relpath(os.path.join(at, name), folder)).as_posix()


# --- which files --------------------------------------------------------------------------------


def listed(folder: Path) -> list[str]:
    """The files and links below a folder that git does not ignore, tracked or not."""
    if not shutil.which("git"):
        return sorted(kept(folder))
    if _git(folder, "rev-parse", "--is-inside-work-tree") is not None:
        return sorted(_of_git(folder))
    with TemporaryDirectory(prefix="infinite-rl-") as empty:  # a repository that tracks nothing
        _git(folder, "init", "--quiet", "--bare", empty)
        return sorted(_of_git(folder, f"--git-dir={empty}", f"--work-tree={folder.resolve()}"))


def _of_git(folder: Path, *options: str) -> set[str]:
    command = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    found = _git(folder, *options, *command)
    if found is None:
        raise StoreError(f"git cannot list the files of {folder}")
    names: set[str] = set()
    for name in filter(None, found.split("\0")):
        name = name.rstrip("/")
        if (folder / name).is_dir() and not (folder / name).is_symlink():  # a repository of its own
            names |= {f"{name}/{inner}" for inner in listed(folder / name)}
        else:
            names.add(name)
    return names


def _git(folder: Path, *words: str) -> str | None:
    """What git prints, None where it fails."""
    # Another repository's variables would have git list that one's files.
    environ = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    done = subprocess.run(["git", *words], cwd=folder, env=environ, capture_output=True)
    return os.fsdecode(done.stdout) if done.returncode == 0 else None


def named(values: Mapping[str, Any], folder: Path) -> list[Path]:
    """The files and folders of this machine that a config's values name, each once."""
    found = [values.get(key) for key in _FILES]
    for key, keys in _LISTS.items():
        for each in values.get(key) or ():
            if isinstance(each, str):
                found.append(each.partition("=")[2] or each)
            elif isinstance(each, Mapping):
                found += [each.get(inner) for inner in keys]
    texts = [text for text in found if isinstance(text, str) and text]
    return [Path(text) for text in dict.fromkeys(texts) if (folder / text).exists()]
