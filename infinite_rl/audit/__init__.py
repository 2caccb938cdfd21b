"""The audit of anybody's reward: who is paid wrongly, with a witness that replays.

    rows.py      rows as an audit sees them, with the kind of each gold
    programs.py  the programs and tests of foreign coding rows
    foreign_reward/  what runs in the process of a foreign reward: the standard library alone
    process.py   starts that process, asks it, and kills it with all that it started
    claims.py    the documented behavior of a target, which rules out some probes
    targets.py   the kinds of rewards, and whether a witness shows its finding
    surfaces.py  the forms of answers that a reward may accept
    probes/      completions and calls whose verdict is certain
    probe_run.py probes run on one target: what was tried, and what failed
    learning.py  the forms in which a right answer is paid, and what wrong ones earn
    probing.py   the probes of each row, as far as the claims allow them
    confirming.py  calls again what failed, and makes its witness smaller
    audit.py     one audit: learn, probe, confirm, count
    findings.py  findings, their severity and cost, and rates with intervals
    pages.py     the report as text, JSON, SARIF and HTML
    ours.py      this package's reward as a plain function: the drop-in
    rollouts.py  the audit in training: rollouts that are paid for a trick
    data.py      the audit of rows, whatever rewards judge them

A probe is used only if the gold decides its verdict: to accuse a sound reward is the worst error.
"""

from .audit import audit, replay
from .findings import Finding, Report
from .probe_run import Limits
from .process import Settings
from .rows import AuditRow, audit_rows
from .targets import Target, Witness, own_rows

__all__ = [
    "AuditRow", "Finding", "Limits", "Report", "Settings", "Target", "Witness", "audit",
    "audit_rows", "own_rows", "replay",
]  # fmt: skip
