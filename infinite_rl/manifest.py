"""`run.json`: with which settings, versions and seeds a folder was made, and what came of it."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .errors import RuntimeMissing, StoreError
from .files.atomic import write_text
from .sandbox.runtimes import RUNTIMES, Runtime, recorded_hash

MANIFEST = "run.json"
_USUAL_TIMEOUT_S = 5  # that of folders whose manifest is older than its record
_PACKAGES = ("infinite-rl", "wasmtime", "google-genai", "openai", "sympy", "mpmath")


def read_manifest(folder: Path) -> dict[str, Any]:
    """The folder's manifest, {} where there is none.

    Raises:
        StoreError: it cannot be read as one.
    """
    path = folder / MANIFEST
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(found, dict) and isinstance(found.get("settings"), dict):
            return found
    except (OSError, ValueError):
        pass  # said below, in the same words
    raise _damaged(path)


def judging_timeout(folder: Path) -> float:
    """Seconds that one run of a program had where the folder's rows were judged; 5 if unrecorded.

    Raises:
        StoreError: the manifest cannot be read, or this is no number of seconds.
    """
    seconds: object = read_manifest(folder).get("timeout", _USUAL_TIMEOUT_S)
    if isinstance(seconds, int | float) and seconds > 0:
        return seconds  # as it was given: rows record 5 and 5.0 in different letters
    raise _damaged(folder / MANIFEST)


def _damaged(path: Path) -> StoreError:
    return StoreError(f"{path} is damaged. Move it away or choose another output folder")


def write_manifest(folder: Path, manifest: Mapping[str, object]) -> None:
    """Replace the manifest, whole or not at all. Raises StoreError where it cannot be written."""
    path = folder / MANIFEST
    try:
        write_text(path, json.dumps(manifest, indent=2) + "\n")
    except StoreError as error:
        raise StoreError(f"{error}; nothing was lost") from None


def environment_info(*packages: str) -> dict[str, object]:
    """The versions and the runtimes by which verdicts are made; of these packages also."""
    versions = {"python": platform.python_version(), "platform": platform.platform()}
    for name in (*_PACKAGES, *packages):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    runtimes = {runtime.name: _hash(runtime) for runtime in RUNTIMES}
    return {"versions": versions, "git": _commit(), "runtimes": runtimes}


def _hash(runtime: Runtime) -> str | None:
    try:
        return recorded_hash(runtime)
    except RuntimeMissing:
        return None  # a run that needs it is refused before it asks anything


def _commit() -> str | None:
    """The commit of this code where it runs from a checkout, with a "+" where files differ."""
    here = Path(__file__).parent
    if not (here.parent / ".git").exists():
        return None
    command = ["git", "-C", str(here), "describe", "--always", "--abbrev=40", "--dirty=+"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
