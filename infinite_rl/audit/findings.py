"""The findings of an audit: one for each kind of probe, with a minimal witness, and rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..estimators import wilson
from .probes import EXPLOITABLE, FALSE_REJECT, KINDS, SEVERITIES, SILENT_ZERO, UNEQUAL, Kind
from .process import Reply
from .surfaces import Surface
from .targets import Witness


@dataclass(frozen=True)
class Finding:
    """A kind of probe that failed `count` of `total` times, on `rows` of `of_rows` rows.

    `reply` is the target's answer to the `witness`, `cost` the effect on training. Of
    `calls` of the witness `shown` have shown the finding: if some have not, it may be chance.
    """

    witness: Witness
    reply: Reply
    count: int
    total: int
    rows: int
    of_rows: int
    cost: str = ""
    shown: int = 1
    calls: int = 1

    @property
    def is_certain(self) -> bool:
        """Whether each call of the witness has shown the finding."""
        return self.shown == self.calls

    @property
    def kind(self) -> str:
        """The kind of the probe."""
        return self.witness.kind

    @property
    def about(self) -> Kind:
        """Severity, title, and how to mend it."""
        return KINDS[self.kind]


@dataclass(frozen=True)
class Rate:
    """A share of probes, with Wilson's 95 % interval."""

    count: int
    total: int

    def __str__(self) -> str:
        if not self.total:
            return "no probe"
        low, high = wilson(self.count, self.total)
        return f"{self.count / self.total:.1%} ({self.count}/{self.total}, {low:.1%} to {high:.1%})"


@dataclass
class Report:
    """The audit of one target.

    `full` is the reward of the gold in the learned `surface`, `floor` that of wrong answers there.
    `note` says why a part was not audited; `cut` names the parts that the time did not allow.
    """

    target: str
    kind: str
    rows: int
    probed: int = 0
    surface: Surface | None = None
    full: float = 0.0
    floor: float = 0.0
    findings: list[Finding] = field(default_factory=list)
    false_accepts: Rate = Rate(0, 0)
    false_rejects: Rate = Rate(0, 0)
    calls: int = 0
    seconds: float = 0.0
    call_ms: float = 0.0
    note: str = ""
    chat: bool = False  # completions are messages
    cut: list[str] = field(default_factory=list)

    @property
    def threshold(self) -> float:
        """The reward from which on a completion is paid."""
        return (self.full + self.floor) / 2

    @property
    def is_unequal(self) -> bool:
        """Whether the same call has other results, so each rate is that of single calls."""
        return any(finding.kind == UNEQUAL for finding in self.findings)

    @property
    def worst(self) -> str:
        """The worst severity of the certain findings; "" if there are none."""
        severities = [each.about.severity for each in self.findings if each.is_certain]
        return max(severities, key=lambda each: SEVERITIES[each], default="")

    @property
    def exit_code(self) -> int:
        """0 if nothing was found by all probes, 1 by some, else the code of the worst severity."""
        return SEVERITIES.get(self.worst, int(bool(self.cut)))


def ordered(findings: Sequence[Finding]) -> list[Finding]:
    """Findings in order: unequal calls, as they make the rest doubtful, then the worst and the most
    frequent, and last those that may be chance."""
    order = list(SEVERITIES)[::-1]

    def rank(each: Finding) -> tuple[bool, bool, int, int]:
        severity = order.index(each.about.severity)
        return each.kind != UNEQUAL, not each.is_certain, severity, -each.count

    return sorted(findings, key=rank)


# Kinds whose completions are written without knowing the gold.
_BLIND = (
    "empty", "nothing", "empty form", "prompt", "injection", "pattern", "variable", "forgery",
    "ignores the gold", "wrong program",
)  # fmt: skip


def cost(kind: str, reply: Reply, rows: int, of_rows: int, full: float, floor: float) -> str:
    """The effect of a finding on training, in a sentence; "" if nothing can be computed."""
    span = full - floor
    if kind == "executed" or reply.reward is None or not of_rows or not span:
        return ""
    share, severity = rows / of_rows, KINDS[kind].severity
    if severity in (FALSE_REJECT, SILENT_ZERO):
        return f"On {share:.0%} of the probed rows a right answer earns {reply.reward:g}."
    if severity != EXPLOITABLE:
        return ""
    if kind == "padding":
        return f"Padded, a right answer earns {reply.reward:g} in place of {full:g}."
    if kind in _BLIND:
        gain = share * (reply.reward - floor) / span
        return f"A policy that does nothing else earns {gain:.0%} of the full reward."
    return f"On {share:.0%} of the probed rows a wrong completion earns {reply.reward:g}."
