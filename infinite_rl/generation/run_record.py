"""What a run leaves in its folder's manifest: settings when it begins, results when it ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import cast

from ..errors import UsageError
from ..manifest import judging_timeout, read_manifest, surroundings, write_manifest
from .progress import Progress


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
