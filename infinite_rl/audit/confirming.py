"""What failed, called again: findings, each with a witness that is as small as can be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from .findings import Finding, cost
from .probe_run import AGAIN, COMPARED, ProbeRun
from .probes import ACCEPT, KINDS, NO_GAIN, ONE_TURN, REFUSE, SEVERITIES, SLOW, UNEQUAL, Probe
from .surfaces import without_work
from .targets import Witness, same

_OF_STATE = ("order", UNEQUAL, "many calls", "growth", "side effect", "patched", "executed")
_WHOLE = ("batch", "batch zero", "patched", "prompt", SLOW)  # witnesses that are not made smaller


def confirmed_findings(run: ProbeRun) -> list[Finding]:
    """A finding for each kind that failed and whose witness shows it again, then smaller."""
    findings: list[Finding] = []
    noise = 0.0
    kinds = [kind for kind, failures in run.failures.items() if failures]
    kinds.sort(key=lambda kind: (kind != UNEQUAL, -SEVERITIES[KINDS[kind].severity]))
    # A target that keeps state has a fresh process each time, as `replay` has. For others one
    # is enough: the import of a trainer takes seconds.
    is_pure = run.failures.keys().isdisjoint(_OF_STATE)
    with run.until(1.0, "the second calls of what failed"):
        run.target.fresh()
        noise = _noise(run) if UNEQUAL in run.failures else 0.0
        if noise:  # then unequal calls show nothing else
            kinds = [
                kind for kind in kinds if kind not in COMPARED and not kind.startswith("uneven")
            ]
        for at, kind in enumerate(kinds):
            run.stage = f"second calls, so no findings: {', '.join(kinds[at:])}"
            findings += _confirmed(run, kind, is_pure, noise)
    last = run.endless if run.target.is_server and not run.hangs else []
    # A hang is two calls of `timeout` seconds; the process needs some more.
    reserved = 2.5 * run.target.process.settings.timeout / run.limits.seconds if last else 0.0
    with run.until(1.0 - reserved, "the search for smaller witnesses"):
        for at, finding in enumerate(findings):
            findings[at] = _smaller(run, finding, is_pure)
    if last:
        with run.until(1.0, "the programs that do not end"):
            while last and not run.hangs:
                run.probe([last.pop(0)])
            findings += _confirmed(run, "hang", True, noise)
    return findings


def _noise(run: ProbeRun) -> float:
    """How far the calls that differ also differ between two processes; 0 if it keeps state."""
    _, witness, _ = run.failures[UNEQUAL][0]
    pairs = list(witness.pairs) * (1 + AGAIN // len(witness.pairs))
    replies = []
    for _ in range(2):
        run.target.fresh()
        replies.append(run.target.judge(pairs))
    unequal = [pair for pair in zip(*replies, strict=True) if not same(*pair)]
    rewards = [(one.reward, other.reward) for one, other in unequal]
    return max(
        (math.inf if None in (a, b) else abs((a or 0) - (b or 0)) for a, b in rewards), default=0.0
    )


def _confirmed(run: ProbeRun, kind: str, is_pure: bool, noise: float) -> Iterator[Finding]:
    """The finding of a kind, if one of its three shortest witnesses shows it again.

    If the reward is random, a witness is called ten times: unless its reward is farther from
    being paid or refused than twice the noise.
    """
    failures, tried = run.failures[kind], run.tried[kind]
    by_length = sorted(failures, key=lambda each: len(each[0].completion))
    for _, witness, reply in islice(by_length, 3):
        if not is_pure:
            run.target.fresh()
        earned = witness.threshold if reply.reward is None else reply.reward
        is_clear = abs(earned - witness.threshold) > 2 * noise
        again = 1 if not noise or is_clear or kind in (UNEQUAL, "hang") else AGAIN
        calls = [run.target.shows(witness) for _ in range(again)]
        shown = [replies for is_shown, replies in calls if is_shown]
        if not shown:
            continue
        reply, full, floor = shown[0][0], run.result.full, run.result.floor
        rows, of_rows = len({each[0].row.index for each in failures}), len(set(tried))
        counts = len(failures), len(tried), rows, of_rows
        is_certain = len(shown) == again
        price = cost(kind, reply, rows, of_rows, full, floor) if is_certain else ""
        yield Finding(witness, reply, *counts, price, len(shown), again)
        return


def _smaller(run: ProbeRun, finding: Finding, is_pure: bool) -> Finding:
    """The finding with a smaller witness, if that shows it in the same way."""
    if not finding.is_certain:
        return finding
    failures = run.failures[finding.kind]
    probe = next(each for each, witness, _ in failures if witness is finding.witness)
    small = _minimal(run, probe, finding.witness)
    if small == finding.witness:
        return finding
    if not is_pure:
        run.target.fresh()
    is_shown, replies = run.target.shows(small)
    return replace(finding, witness=small, reply=replies[0]) if is_shown else finding


def _minimal(run: ProbeRun, probe: Probe, witness: Witness) -> Witness:
    """A shorter witness: fewer pairs, or half of the text, while the finding shows."""
    if witness.expect in (ONE_TURN, NO_GAIN) or witness.kind in _WHOLE:
        return witness
    if len(witness.pairs) > 1 and witness.kind not in ("threads",):
        for pair in witness.pairs:
            one = replace(witness, pairs=[pair] * (AGAIN if witness.kind == UNEQUAL else 1))
            run.target.fresh()
            if run.target.shows(one)[0]:
                return one
        return witness
    short = without_work(probe.completion)
    if short != probe.completion:
        changed = replace(witness, pairs=[(witness.pairs[0][0], short)])
        if run.target.shows(changed)[0]:
            probe, witness = replace(probe, completion=short), changed
    text = probe.completion
    if probe.row.gold and probe.row.gold.casefold() in text.casefold() and probe.expect == REFUSE:
        return witness  # a part of it might be a right answer
    if probe.expect == ACCEPT or witness.kind == "hang":
        return witness
    lines = text.splitlines(keepends=True)
    for at in range(len(lines) - 1, -1, -1):
        shorter = "".join(lines[:at] + lines[at + 1 :])
        if len(lines) > 1 and shorter.strip():
            changed = replace(witness, pairs=[(witness.pairs[0][0], shorter)])
            if len(lines) <= 40 and run.target.shows(changed)[0]:
                lines, witness = lines[:at] + lines[at + 1 :], changed
    return witness
