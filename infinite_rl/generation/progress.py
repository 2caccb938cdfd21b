"""The record of a run: its progress, OUT_DIR/run.log for people, and OUT_DIR/run.json."""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, cast

from ..certificates import digest_of_all
from ..inference.budget import Estimate, Spending
from ..inference.clients import RequestPolicy, class_names
from ..manifest import (
    environment_info,
    judging_timeout,
    read_manifest,
    refuse_changes,
    write_manifest,
)
from ..providers import PROVIDERS
from ..redact import one_line, redact

LOG = "run.log"
_MAX_BYTES = 4 * 2**20  # of one log file; one earlier file is kept beside it
_MAX_CHARS, _MAX_READ = 500, 20_000  # of one line, and of its source text
_OF_A_RUN = (
    *("targets", "accepted", "rejected", "calls", "retries", "lost", "given_up", "stopped"),
)
_FROM_PROVIDER = ("model", "verify", "verify_model", "min_agreement")

logger = logging.getLogger(__name__)


@dataclass
class Progress:
    """The state of a run.

    `targets`, `present` and `accepted` are rows per family: the total wanted, those at the start,
    and those generated since. `calls` counts the answered ones, `retries` the repeated ones by the
    kind of failure ("429", "503", "timeout", "reset"), `lost` those in flight when an earlier run
    died. `given_up` holds a reason per family, `stopped` the reason of an early end. `spending` is
    that of the whole folder, including earlier runs; `estimate` is for the rows missing at the
    start. `batches` names the batches in progress. At most `most` calls may be in flight at once,
    and `cap` of them if a provider's failures have slowed them; both are 0 until the run begins.
    `pace` is a line on what the provider's refusals have slowed, with the option to override it,
    or "".
    """

    targets: dict[str, int]
    present: dict[str, int]
    accepted: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    cap: int = 0
    most: int = 0
    pace: str = ""
    calls: int = 0
    retries: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    spending: Spending = field(default_factory=Spending)
    estimate: Estimate | None = None
    batches: list[str] = field(default_factory=list)
    given_up: dict[str, str] = field(default_factory=dict)
    stopped: str = ""

    def missing(self, family: str) -> int:
        """Return the number of rows still missing."""
        return max(0, self.targets[family] - self.present[family] - self.accepted[family])

    @property
    def rows(self) -> int:
        """The number of rows in the data set."""
        return sum(self.present.values()) + self.accepted.total()

    @property
    def wanted(self) -> dict[str, int]:
        """The rows still to generate: none of a family that is given up."""
        return {each: 0 if each in self.given_up else self.missing(each) for each in self.targets}

    @property
    def left(self) -> int:
        """The number of rows still to generate."""
        return sum(self.wanted.values())

    @property
    def acceptance_rate(self) -> float | None:
        """The share of this run's judged completions that became rows; None before the first."""
        judged = self.accepted.total() + self.rejected.total()
        return self.accepted.total() / judged if judged else None

    @property
    def cost_per_row(self) -> float | None:
        """US dollars of all calls of the folder per row; None if unknown."""
        return None if self.spending.unpriced or not self.rows else self.spending.cost / self.rows

    @property
    def projected_cost(self) -> float | None:
        """US dollars of the folder once no row is missing; None if unknown.

        By the cost per row so far; before the first judgement by the estimate of the start, which
        a run without accepted rows refutes.
        """
        each = self.cost_per_row
        if each is not None:
            return self.spending.cost + self.left * each
        if self.spending.unpriced or self.rejected.total():
            return None
        if self.estimate is None or self.estimate.cost is None:
            return None
        return max(self.spending.cost, self.estimate.cost)

    @property
    def wrong_answers_stopped(self) -> int:
        """The number of rows rejected because independent solutions disagree with them."""
        return self.rejected["disagreement"]

    def explain(self) -> None:
        """Give the reasons of the families that are given up as that of the end, if it has none."""
        reasons = (f"{family}: {why}" for family, why in self.given_up.items())
        self.stopped = self.stopped or "; ".join(reasons)

    @property
    def complete(self) -> bool:
        """Whether no family lacks rows."""
        return not any(self.missing(family) for family in self.targets)


def with_pacing(
    policy: RequestPolicy, show: Callable[[Progress], None]
) -> Callable[[Progress], None]:
    """Return `show` with retries and the pace of the slowest provider added to each progress."""

    def report(progress: Progress) -> None:
        stats = [client.stats for client in policy.clients]
        progress.retries = policy.retries
        most = (policy.most, policy.most)
        progress.cap, progress.most = min(((each.cap, each.most) for each in stats), default=most)
        progress.pace = next((each.pace for each in stats if each.pace), "")
        show(progress)

    return report


# --- run.log -------------------------------------------------------------------------------------


class RunLog(RotatingFileHandler):
    """OUT_DIR/run.log: a line for each retry, rejection and stop; `write` is thread-safe.

    Runs append to it. At 4 MiB it becomes `run.log.1`, which replaces an earlier one. The first
    line creates it. The run does not depend on it: if it is not writable, one warning says so.
    """

    def __init__(self, folder: Path) -> None:
        options: dict[str, Any] = {"maxBytes": _MAX_BYTES, "encoding": "utf-8", "delay": True}
        super().__init__(folder / LOG, backupCount=1, **options)
        self._failed = False

    def write(self, kind: str, text: str) -> None:
        """Append a line: the time in UTC, a word for its kind, and a text without secrets."""
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        line = f"{now} {kind} {one_line(str(redact(text[:_MAX_READ])), _MAX_CHARS)}"
        if not self._failed:
            self.handle(logging.makeLogRecord({"msg": line}))

    def _open(self) -> TextIOWrapper:
        """Open the file; the first line after a kill starts on a new line."""
        with open(self.baseFilename, "a+b") as file:
            file.seek(max(0, file.seek(0, 2) - 1))
            if file.read(1) not in (b"", b"\n"):
                file.write(b"\n")
        return super()._open()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 -- logging's
        self._failed = True
        error = sys.exc_info()[1]
        reason = error.strerror if isinstance(error, OSError) else error
        logger.warning(
            "cannot write %s: %s; the run continues without its log", self.baseFilename, reason
        )


# --- run.json ------------------------------------------------------------------------------------


class RunManifest:
    """Writes a folder's manifest when a run begins, and again with its results when it ends.

    `timeout` is the limit of one program in seconds. The manifest records the longest of all runs,
    as rows may need it to be verified again; it is no setting, and may change between runs.

    Raises:
        StoreError: the present manifest is unreadable.
    """

    def __init__(self, folder: Path, settings: Mapping[str, object], timeout: float) -> None:
        before = read_manifest(folder)
        self._folder = folder
        self._settings: dict[str, object] = json.loads(json.dumps(settings))  # as in the file
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
        """Raise UsageError with every difference if the folder has other settings."""
        now, before = _with_provider_name(self._settings), _with_provider_name(self._before)
        if not before:
            return
        if now.get("provider") != before.get("provider"):  # these follow from it
            now |= {name: before.get(name) for name in _FROM_PROVIDER}
        advice = "choose another output folder, or continue with the new ones by --extend"
        refuse_changes(self._folder, before, now, advice, _change)

    def begin(self) -> None:
        """Record the settings, so that a killed run cannot be mixed with another."""
        self._began = datetime.now(timezone.utc)
        digest = {**digest_of_all(self._folder), "open": True}
        write_manifest(self._folder, {**self._manifest, "certificates": digest})

    def end(self, progress: Progress) -> None:
        """Record the results."""
        spending, present = progress.spending, Counter(progress.present)
        run = {
            "began": self._began.isoformat(timespec="seconds"),
            "ended": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            **{name: getattr(progress, name) for name in _OF_A_RUN},
        }
        totals = {
            "rows": {name: present[name] + progress.accepted[name] for name in progress.targets},
            "calls": spending.calls,
            "tokens": asdict(spending.usage),
            "cost": None if spending.unpriced else round(spending.cost, 9),
            "cost_per_row": progress.cost_per_row,
        }
        runs = [*cast("list[object]", self._manifest["runs"]), run]
        results = {"totals": totals, "runs": runs, "certificates": digest_of_all(self._folder)}
        write_manifest(self._folder, {**self._manifest, **results})


def _with_provider_name(settings: Mapping[str, object]) -> dict[str, object]:
    """Return the settings with the provider by name instead of class."""
    provider = settings.get("provider")
    for kind in PROVIDERS:
        if provider in class_names(kind):
            provider = kind
    return {**settings, "provider": provider} if provider else dict(settings)


def _change(name: str, before: object, now: object) -> str:
    if name == "prompts":
        return "the prompts of its tasks are not those of this version, or of --tasks"
    option = "--model_name" if name == "model" else f"--{name}"
    if (name, now) == ("provider", "procedural"):
        option += "; without an API key it is procedural"
    return f"{name} was {_as_option(before)}, is {_as_option(now)} ({option})"


def _as_option(value: object) -> str:
    if isinstance(value, dict) and any(isinstance(each, dict) for each in value.values()):
        return ", ".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {each}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "not set"
    if isinstance(value, bool):
        return "on" if value else "off"
    return "not set" if value is None or value == "" else str(value)
