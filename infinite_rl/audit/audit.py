"""The audit of a reward: learn the form that it accepts, probe it, and confirm what fails."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

from .confirming import confirmed_findings
from .findings import Rate, Report, ordered
from .learning import LEARNED, OF_FORM_ALONE, as_lists, learn
from .probe_run import Limits, ProbeRun
from .probes import ACCEPT, EXPLOITABLE, FALSE_REJECT, KINDS, REFUSE
from .probing import (
    note_on_unpaid,
    note_slowest,
    probe_function,
    probe_golds,
    probe_rows,
    probe_unlearned,
)
from .process import Reply, Settings
from .rows import AuditRow
from .targets import Target, Witness

# Shares of the time after which a stage is cut; the rest is for calling again what failed.
_OF_PROBES, _OF_CALLS = 0.55, 0.75


def audit(
    spec: str,
    rows: Sequence[AuditRow],
    settings: Settings | None = None,
    limits: Limits | None = None,
    wrap: str = "",
    on_stage: Callable[[str], None] = lambda _: None,
) -> Report:
    """Audit a target on rows. `wrap` states the form of answers: a text with {answer} in it.

    `on_stage` is called with the name of each stage as it begins.

    Raises:
        UsageError: the target cannot be loaded in time, or the rows do not fit it.
    """
    started, limits = time.monotonic(), limits or Limits()
    with Target(spec, settings or Settings(), started + limits.seconds) as target:
        run = ProbeRun(target, rows, limits, wrap, started)
        run.on_stage = on_stage
        report = _report(run)
    report.seconds = time.monotonic() - started
    return report


def replay(spec: str, witness: Witness, settings: Settings, chat: bool) -> tuple[bool, list[Reply]]:
    """Call a target as a witness says: whether the finding shows, and the replies."""
    with Target(spec, settings) as target:
        target.chat = chat
        return target.shows(witness)


def spread(rows: Iterable[AuditRow], most: int) -> list[AuditRow]:
    """Rows of all kinds, and of different golds, in turn."""
    groups: dict[str, list[AuditRow]] = defaultdict(list)
    golds: set[str] = set()
    later: list[AuditRow] = []
    for row in rows:
        (later if row.gold in golds else groups[row.kind]).append(row)
        golds.add(row.gold)
    mixed = [row for turn in zip_longest(*groups.values()) for row in turn if row is not None]
    return (mixed + later)[:most]


def _report(run: ProbeRun) -> Report:
    """Learn, probe, confirm and count."""
    report, learned = run.result, False
    golds = [row for row in run.rows if row.gold or row.response]
    probed = spread(golds, run.limits.rows)
    report.probed = len(probed)
    with run.until(_OF_CALLS, "the search for the form of a right answer, and all probes"):
        if any(row.others for row in golds):
            run.rows = as_lists(run, golds)
            probed = spread(run.rows, run.limits.rows)
        learned = bool(probed) and learn(run, probed)
    if learned:
        with run.until(_OF_PROBES, "the probes"):
            probe_golds(run, probed)
            probe_rows(run, [row for row in probed if row.gold])
    elif run.rows and report.note != OF_FORM_ALONE and not report.cut:
        with run.until(_OF_PROBES, "the texts that a reward must survive"):
            probe_unlearned(run, probed or run.rows[:LEARNED])
    if run.forms:
        with run.until(_OF_CALLS, "the calls in batches, threads and forks"):
            probe_function(run, probed or run.rows[:LEARNED])
    if not learned and not report.note and not report.cut:
        with run.until(_OF_CALLS, "the prompts as completions"):
            report.note = note_on_unpaid(run, probed)
    if report.cut and not run.failures["hang"]:
        note_slowest(run)
    report.findings = ordered(confirmed_findings(run))
    wrong = {REFUSE: EXPLOITABLE, ACCEPT: FALSE_REJECT}
    rates = {}
    for expect, severity in wrong.items():
        kinds = [kind for kind in run.tried if KINDS[kind].severity == severity]
        total = sum(len(run.tried[kind]) for kind in kinds)
        rates[expect] = Rate(sum(len(run.failures[kind]) for kind in kinds), total)
    report.false_accepts, report.false_rejects = rates[REFUSE], rates[ACCEPT]
    report.calls = run.target.calls
    report.call_ms = 1000 * run.call_s
    return report
