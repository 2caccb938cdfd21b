"""`run.json`: with which settings, versions and seeds a folder was made, and what came of it."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .errors import RuntimeMissing, StoreError, UsageError
from .files.replacing import write_text
from .runtimes import RUNTIMES, Runtime, recorded_hash

if TYPE_CHECKING:
    from .generation.progress import Progress

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


class Record:
    """Writes a folder's manifest when a run begins, and again with its results when it ends.

    `timeout` is the seconds that the run gives to one program. The longest of all runs is recorded,
    as rows may need it to be proven again; it is no setting, and another one is never refused.

    Raises:
        StoreError: the manifest that is there cannot be read.
    """

    def __init__(self, folder: Path, settings: Mapping[str, object], timeout: float) -> None:
        before = read_manifest(folder)
        self._folder = folder
        self._settings: dict[str, object] = json.loads(json.dumps(settings))  # as the file has them
        self._before: dict[str, object] = before.get("settings", {})
        earlier = list(before.get("earlier_settings", []))
        if before and self._before != self._settings:
            earlier.append(self._before)
        longest = max(timeout, judging_timeout(folder)) if before else timeout
        self._manifest: dict[str, object] = {
            "settings": self._settings,
            "earlier_settings": earlier,
            "timeout": longest,
            **surroundings(),
            "runs": list(before.get("runs", [])),
        }

    def check(self) -> None:
        """Refuse to go on in a folder that was made with other settings.

        Raises:
            UsageError: names each difference.
        """
        names = [*self._before, *(self._settings.keys() - self._before.keys())]
        changed = [
            f"{name} was {self._before.get(name)!r}, is {self._settings.get(name)!r}"
            for name in names
            if self._before and self._before.get(name) != self._settings.get(name)
        ]
        if changed:
            raise UsageError(
                f"{self._folder} was made with other settings: {'; '.join(changed)}. Use the same, "
                "choose another output folder, or go on with the new ones by --extend"
            )

    def begin(self) -> None:
        """Record the settings, so that a run that is killed cannot be mixed with another."""
        self._began = datetime.now(timezone.utc)
        write_manifest(self._folder, self._manifest)

    def end(self, progress: Progress) -> None:
        """Record what came of it."""
        rows = {
            family: progress.present[family] + progress.accepted[family]
            for family in progress.targets
        }
        spending, made = progress.spending, sum(rows.values())
        run = {
            "began": self._began.isoformat(timespec="seconds"),
            "ended": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "targets": progress.targets,
            "accepted": dict(progress.accepted),
            "rejected": dict(progress.rejected),
            "calls": progress.calls,
            "retries": progress.retries,
            "lost": progress.lost,
            "given_up": progress.given_up,
            "stopped": progress.stopped,
        }
        totals = {
            "rows": rows,
            "calls": spending.calls,
            "tokens": asdict(spending.usage),
            "cost": None if spending.unpriced else round(spending.cost, 9),
            "cost_per_row": None if spending.unpriced or not made else spending.cost / made,
        }
        runs = [*cast("list[object]", self._manifest["runs"]), run]
        write_manifest(self._folder, {**self._manifest, "totals": totals, "runs": runs})


def surroundings(*packages: str) -> dict[str, object]:
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
