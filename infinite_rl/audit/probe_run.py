"""Probes run on one target: what was tried, and what failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from .findings import Report
from .probes import REFUSE, UNEQUAL, Probe
from .process import OutOfTime, Reply
from .rows import AuditRow
from .surfaces import Surface
from .targets import Target, Witness, failed, pays

SLOW_S = 0.3  # seconds of a call, from which fewer are made
MOST_HANGS = 2  # after which no further long text is sent
AGAIN = 10  # calls of a witness, if the reward is random
COMPARED = ("order", "batch", "batch zero", "threads", "fork", "thread", "many calls")
_SHORT = 2000  # characters of a text that is sent to a target that hangs
_PROBED = 12  # rows that are probed in full


@dataclass(frozen=True)
class Limits:
    """`seconds` of the audit of one target, and `rows` that are probed in full.

    The seconds are those of all: the start of the process, the probes, the calls that show a
    finding again, and smaller witnesses. The audit ends two seconds later at most.
    """

    seconds: float = 60.0
    rows: int = _PROBED


class ProbeRun:
    """What one audit knows of its target so far.

    `forms` are the accepted forms of answers that are probed, `tried_forms` all that were tried,
    the likeliest first. `tried` has the row of each probe and `failures` those that failed, by
    kind. `wrap` states the form of answers.
    """

    def __init__(
        self, target: Target, rows: Sequence[AuditRow], limits: Limits, wrap: str, started: float
    ) -> None:
        self.target, self.rows, self.limits, self.wrap = target, rows, limits, wrap
        self.started, self.claims = started, target.claims
        self.stage = ""  # the work that is cut if the time is over now
        self.on_stage: Callable[[str], None] = lambda _: None
        if self.claims.tolerance:
            self.rows = [replace(row, tolerant=True) for row in rows]
        self.is_graded = False  # wrong answers earn more the nearer they are
        self.result = Report(target.spec, target.kind, len(rows))
        self.forms: list[Surface] = []
        self.tried_forms: list[Surface] = []
        self.failures: dict[str, list[tuple[Probe, Witness, Reply]]] = defaultdict(list)
        self.tried: dict[str, list[int]] = defaultdict(list)
        self.hangs = 0
        self.endless: list[Probe] = []  # programs that a server gets last: it may not answer again

    @contextmanager
    def until(self, share: float, stage: str) -> Iterator[None]:
        """End a block at a share of the time, and note the stage that was cut by that."""
        self.stage = stage
        self.on_stage(stage)
        self.target.process.deadline = self.started + share * self.limits.seconds
        try:
            yield
        except OutOfTime:
            self.result.cut.append(self.stage)

    def probe(self, probes: Sequence[Probe]) -> None:
        """Run probes; if the target hangs, only short ones."""
        if self.hangs >= MOST_HANGS:
            probes = [probe for probe in probes if len(probe.completion) < _SHORT]
        try:
            replies = self.target.judge([(probe.row, probe.completion) for probe in probes])
        except OutOfTime as error:
            for probe, reply in zip(probes, error.replies, strict=False):
                self.record(probe, reply)
            raise
        for probe, reply in zip(probes, replies, strict=True):
            self.record(probe, reply)

    def probe_alike(self, probes: Sequence[Probe]) -> None:
        """Run probes of which all must be paid, if one of them is."""
        replies = self.target.judge([(probe.row, probe.completion) for probe in probes])
        if any(pays(reply, self.result.threshold) for reply in replies):
            for probe, reply in zip(probes, replies, strict=True):
                self.record(probe, reply)

    def probe_apart(self, probes: Sequence[Probe]) -> None:
        """As `probe`, until some of them have hung."""
        for probe in probes:
            if self.hangs >= MOST_HANGS:
                return
            self.probe([probe])

    def show(self, witness: Witness, probe: Probe | None = None) -> None:
        """Note a witness that the target judges by several calls, if it shows its finding.

        A difference between ways of calling says nothing if the same call differs already.
        """
        probe = probe or Probe(witness.kind, self.rows[0], witness.pairs[0][1])
        self.tried[witness.kind].append(probe.row.index)
        is_shown, replies = self.target.shows(witness)
        if is_shown and not (witness.kind in COMPARED and UNEQUAL in self.failures):
            self.failures[witness.kind].append((probe, witness, replies[0]))

    def record(self, probe: Probe, reply: Reply, threshold: float | None = None) -> None:
        """Count a probe, and keep it if it failed."""
        self.tried[probe.kind].append(probe.row.index)
        pairs = [(probe.row.sent(), probe.completion)]
        limit = self.threshold(probe.expect) if threshold is None else threshold
        witness = Witness(probe.kind, probe.expect, pairs, limit)
        if kind := failed(reply, witness):
            self.hangs += kind == "hang"
            self.failures[kind].append((probe, replace(witness, kind=kind), reply))
            if kind != probe.kind:
                self.tried[kind].append(probe.row.index)

    def threshold(self, expect: str) -> float:
        """The reward from which a completion is paid: if wrong answers are graded, the full one."""
        full, floor = self.result.full, self.result.floor
        if self.is_graded and expect == REFUSE:
            return full - (full - floor) / 1000
        return self.result.threshold

    @property
    def call_s(self) -> float:
        """The mean seconds of a call."""
        return self.target.seconds / max(1, self.target.calls)
