"""What a run leaves in its folder's manifest: settings when it begins, results when it ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import cast

from ..errors import UsageError
from ..manifest import environment_info, judging_timeout, read_manifest, write_manifest
from ..providers import PROVIDERS
from .progress import Progress

_OF_PROVIDER = ("model", "verify", "verify_model", "min_agreement")


def _with_provider(settings: Mapping[str, object]) -> dict[str, object]:
    """Settings with the provider by its name, which those of batches have as well."""
    name = settings.get("provider")
    for kind, row in PROVIDERS.items():
        if name in [path.rpartition(":")[2] for path in (row.path, row.batches)]:
            name = kind
    return {**settings, "provider": name} if name else dict(settings)


def _change(name: str, before: object, now: object) -> str:
    if name == "prompts":
        return "the prompts of its tasks are not those of this version"
    option = "--model_name" if name == "model" else f"--{name}"
    if (name, now) == ("provider", "procedural"):
        option += "; without an API key it is procedural"
    return f"{name} was {_said(before)}, is {_said(now)} ({option})"


def _said(value: object) -> str:
    """A setting as its option is told it."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {each}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "not set"
    if isinstance(value, bool):
        return "on" if value else "off"
    return "not set" if value is None or value == "" else str(value)


class RunManifest:
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
            **environment_info(),
            "runs": list(before.get("runs", [])),
        }

    def check(self) -> None:
        """Refuse to go on in a folder that was made with other settings.

        Raises:
            UsageError: names each difference.
        """
        now, before = _with_provider(self._settings), _with_provider(self._before)
        names = [name for name in {**before, **now} if before and before.get(name) != now.get(name)]
        if "provider" in names:  # from which they follow
            names = [name for name in names if name not in _OF_PROVIDER]
        changed = [_change(name, before.get(name), now.get(name)) for name in names]
        if changed:
            raise UsageError(
                f"{self._folder} was made with other settings: {'; '.join(changed)}. Use the same, "
                "choose another output folder, or go on with the new ones by --extend"
            )

    def begin(self) -> None:
        """RunManifest the settings, so that a run that is killed cannot be mixed with another."""
        self._began = datetime.now(timezone.utc)
        write_manifest(self._folder, self._manifest)

    def end(self, progress: Progress) -> None:
        """RunManifest what came of it."""
        rows = {
            family: progress.present[family] + progress.accepted[family]
            for family in progress.targets
        }
        spending = progress.spending
        run = {
            "began": self._began.isoformat(timespec="seconds"),
            "ended": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "targets": progress.targets,
            "accepted": dict(progress.accepted),
            "rejected": dict(progress.rejected),
            "calls": progress.calls,
            "retries": dict(progress.retries),
            "lost": progress.lost,
            "given_up": progress.given_up,
            "stopped": progress.stopped,
        }
        totals = {
            "rows": rows,
            "calls": spending.calls,
            "tokens": asdict(spending.usage),
            "cost": None if spending.unpriced else round(spending.cost, 9),
            "cost_per_row": progress.cost_per_row,
        }
        runs = [*cast("list[object]", self._manifest["runs"]), run]
        write_manifest(self._folder, {**self._manifest, "totals": totals, "runs": runs})
