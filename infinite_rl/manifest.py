"""`run.json`: the settings, versions and seeds of a folder, and its results."""

import json
import platform
import subprocess
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from .errors import RuntimeMissing, StoreError, UsageError
from .files.atomic import write_text
from .sandbox.runtimes import RUNTIMES, recorded_hash

MANIFEST = "run.json"
_USUAL_TIMEOUT_S = 5  # of older manifests, which do not record it
_PACKAGES = ("infinite-rl", "wasmtime", "google-genai", "openai", "sympy", "mpmath")


def read_manifest(folder: Path) -> dict[str, Any]:
    """The folder's manifest, {} if there is none.

    Raises:
        StoreError: it is malformed.
    """
    path = folder / MANIFEST
    if not path.exists():
        return {}
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(manifest, dict) and isinstance(manifest.get("settings"), dict):
            return manifest
    except (OSError, ValueError):
        pass  # the same error as below
    raise _damaged(path)


def judging_timeout(folder: Path) -> float:
    """The time limit in seconds that the folder's rows were judged with; 5 if unrecorded.

    Raises:
        StoreError: the manifest is malformed.
    """
    seconds: object = read_manifest(folder).get("timeout", _USUAL_TIMEOUT_S)
    if isinstance(seconds, int | float) and seconds > 0:
        return seconds  # not converted: rows record 5 and 5.0 differently
    raise _damaged(folder / MANIFEST)


def _damaged(path: Path) -> StoreError:
    return StoreError(f"{path} is damaged. Move it away or choose another output folder")


def write_manifest(folder: Path, manifest: Mapping[str, object]) -> None:
    """Replace the manifest in one step. Raises StoreError if it cannot be written."""
    path = folder / MANIFEST
    try:
        write_text(path, json.dumps(manifest, indent=2) + "\n")
    except StoreError as error:
        raise StoreError(f"{error}; nothing was lost") from None


def refuse_changes(
    folder: Path,
    before: Mapping[str, object],
    now: Mapping[str, object],
    advice: str,
    change: Callable[[str, object, object], str] = "{} was {!r}, is {!r}".format,
) -> None:
    """Raise UsageError if settings differ; it names each by `change`, and what else may be done."""
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    if names:
        changes = "; ".join(change(name, before.get(name), now.get(name)) for name in names)
        raise UsageError(
            f"{folder} was made with other settings: {changes}. Use the same, {advice}"
        )


def environment_info(*packages: str) -> dict[str, object]:
    """The versions and runtimes that verdicts depend on, and the versions of these packages."""
    versions = {"python": platform.python_version(), "platform": platform.platform()}
    for name in (*_PACKAGES, *packages):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    runtimes: dict[str, str | None] = {}
    for runtime in RUNTIMES:
        try:
            runtimes[runtime.name] = recorded_hash(runtime)
        except RuntimeMissing:  # a run that needs it fails early
            runtimes[runtime.name] = None
    return {"versions": versions, "git": _commit(), "runtimes": runtimes}


def _commit() -> str | None:
    """The commit of a checkout of this code, with a "+" if files differ; else None."""
    here = Path(__file__).parent
    if not (here.parent / ".git").exists():
        return None
    command = ["git", "-C", str(here), "describe", "--always", "--abbrev=40", "--dirty=+"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
