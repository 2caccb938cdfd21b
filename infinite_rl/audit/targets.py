"""A target under audit: its process, its kind of call, and its replies.

How each kind of target is called is in `foreign_reward`, which runs in the target's process. A
target of the kind "ours" is this package's reward.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ..errors import UsageError, look_up
from .claims import claims_of
from .foreign_reward.calls import MAIN, PATCHED
from .foreign_reward.conventions import KINDS
from .probes import (
    ACCEPT,
    IN_TIME,
    NO_FILE,
    NO_GAIN,
    NOT_ALL,
    ONE_TURN,
    REFUSE,
    SAME,
    SURVIVE,
    UNEQUAL,
)
from .process import OutOfTime, Process, Reply, Settings
from .rows import AuditRow, audit_row

_NEAR = 1e-6
_LISTED = 5  # different results of the same call
_OWN_ROWS = 200  # of a taskset, which may have no end
_FAULTS = {
    "nan": "not a number",
    "type": "not a number",
    "timeout": "hang",
    "died": "process ended",
}


@dataclass(frozen=True)
class Witness:
    """Calls that show a finding, and the expectation that a sound reward meets.

    `expect` is that of a probe, or "same": called as `how`, each pair earns what it earns alone, or
    "no file": the text is not executed, or "not all": one of the pairs is refused, or "one turn":
    along the pairs the rewards rise at most once, and then fall, or "in time": a call takes less
    than `threshold` seconds, or "no gain": the first pair earns at most `threshold` more than the
    second. Elsewhere a completion is paid if it earns `threshold` or more.
    """

    kind: str
    expect: str
    pairs: Sequence[tuple[Mapping[str, Any], str]]
    threshold: float
    how: str = MAIN


class Target:
    """A reward that is called in a separate process, which is killed at the `deadline`.

    Raises:
        UsageError: it cannot be loaded in time, or its kind is unknown.
    """

    def __init__(self, spec: str, settings: Settings, deadline: float = math.inf) -> None:
        self.process = Process(spec, settings, deadline)
        self.spec, self.about = spec, self.process.description
        self.claims = claims_of(self.about)
        self.kind, self.chat = settings.kind or self.about.kind, False
        try:
            look_up("kind of target", self.kind, KINDS)
        except UsageError:
            self.process.close()
            raise
        self.calls, self.seconds = 0, 0.0
        self.fastest = math.inf  # seconds of a call
        self.slowest: tuple[AuditRow, str, Reply] | None = None  # of the single calls

    def __enter__(self) -> Target:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.close()

    @property
    def is_server(self) -> bool:
        """Whether the target is a URL, whose process cannot be started again."""
        return self.spec.startswith(("http://", "https://"))

    @property
    def in_batches(self) -> bool:
        """Whether one call judges several completions."""
        return KINDS[self.kind].in_batches

    def judge(
        self, pairs: Sequence[tuple[AuditRow | Mapping[str, Any], str]], how: str = MAIN
    ) -> list[Reply]:
        """The replies to pairs of a row and a completion.

        Raises:
            OutOfTime: the deadline has passed; it has the replies before it.
        """
        plain = [(row.sent() if isinstance(row, AuditRow) else row, text) for row, text in pairs]
        request = {"kind": self.kind, "chat": self.chat, "how": how}
        replies: Sequence[Reply] = ()
        try:
            replies = self.process.ask(plain, request)
        except OutOfTime as error:
            replies = error.replies
            raise
        finally:
            self.calls += len(replies)
            self.seconds += sum(reply.seconds for reply in replies)
            for (row, text), reply in zip(pairs, replies, strict=False):
                self.fastest = min(self.fastest, self.seconds_of(reply))
                last = self.seconds_of(self.slowest[2]) if self.slowest else 0.0
                if how == MAIN and isinstance(row, AuditRow) and self.seconds_of(reply) > last:
                    self.slowest = row, text, reply
        return list(replies)

    def seconds_of(self, reply: Reply) -> float:
        """The seconds that a call has taken: all that it may take if it had to be ended."""
        return self.process.settings.timeout if reply.fault == "timeout" else reply.seconds

    def check_time(self) -> None:
        """Raise OutOfTime if the deadline has passed."""
        if self.process.is_late:
            raise OutOfTime

    def fresh(self) -> None:
        """Go on in a fresh process."""
        self.process.kill()  # the next call starts it

    def shows(self, witness: Witness) -> tuple[bool, list[Reply]]:
        """Whether the calls of a witness show its finding, and their replies."""
        if witness.expect == SAME:
            return self._differs(witness)
        if witness.expect == ONE_TURN:
            replies = self.judge(witness.pairs)
            return _turns_again(replies), replies
        if witness.expect == NOT_ALL:
            replies = self.judge(witness.pairs)
            return all(pays(reply, witness.threshold) for reply in replies), replies
        if witness.expect == NO_GAIN:
            replies = self.judge(witness.pairs)
            more, less = ((each.reward or 0.0) for each in replies)
            return more > less + witness.threshold, replies
        if witness.expect == IN_TIME:  # of two calls, as the first of a process may import
            replies = self.judge([*witness.pairs] * 2)
            return all(self.seconds_of(each) >= witness.threshold for each in replies), replies[-1:]
        [reply] = self.judge(witness.pairs)
        if witness.expect == NO_FILE:
            marker = self.process.marker()
            return marker, [reply]
        return failed(reply, witness) == witness.kind, [reply]

    def _differs(self, witness: Witness) -> tuple[bool, list[Reply]]:
        alone = self.judge(witness.pairs)
        if witness.kind == "patched":
            return any(PATCHED in reply.changed for reply in alone), alone
        if witness.kind == "side effect":
            return any(reply.changed for reply in alone), alone
        if witness.kind == "order":
            self.fresh()
            other = self.judge(witness.pairs[::-1])[::-1]
        else:
            other = self.judge(witness.pairs, witness.how)
        if witness.kind == "growth":
            return any(reply.changed for reply in other), other
        pairs = list(zip(alone, other, strict=True))
        if witness.kind == "thread raises":
            return any(not a.fault and b.fault == "raised" for a, b in pairs), other
        if witness.kind in ("thread", "batch zero"):
            limit = witness.threshold
            lost = [pays(a, limit) and not pays(b, limit) and not b.fault for a, b in pairs]
            return any(lost), other
        if witness.kind == UNEQUAL:
            return _unequal(witness, [*alone, *other])
        return any(not same(a, b) for a, b in pairs), other


def own_rows(
    spec: str, settings: Settings, answer: str = "", seconds: float = math.inf
) -> list[AuditRow]:
    """The rows of a verifiers taskset: the data of its first tasks. `answer` names the golds.

    Raises:
        UsageError: the target has no rows, cannot load them in `seconds`, or they have no gold.
    """
    with Target(spec, settings, time.monotonic() + seconds) as target:
        columns = target.process.rows(_OWN_ROWS)
    return [audit_row(index, each, answer) for index, each in enumerate(columns)]


def _unequal(witness: Witness, replies: Sequence[Reply]) -> tuple[bool, list[Reply]]:
    """Whether a pair has different replies, and its first reply, which then names all of them."""
    by_call: dict[str, list[Reply]] = defaultdict(list)
    for (row, completion), reply in zip([*witness.pairs] * 2, replies, strict=True):
        by_call[repr((row, completion))].append(reply)
    for each in by_call.values():
        if not all(same(each[0], reply) for reply in each):
            results = dict.fromkeys(
                reply.fault if reply.reward is None else f"{reply.reward:g}" for reply in each
            )
            what = f"{', '.join(islice(results, _LISTED))} in {len(each)} same calls"
            return True, [each[0]._replace(what=what), *replies]
    return False, list(replies)


def _turns_again(replies: Sequence[Reply]) -> bool:
    """Whether the rewards rise after they fell, by a twentieth of their range each time."""
    rewards = [reply.reward for reply in replies if reply.reward is not None]
    step = (max(rewards, default=0.0) - min(rewards, default=0.0)) / 20
    top = low = rewards[0] if rewards else 0.0
    is_falling = False
    for reward in rewards:
        top, low = max(top, reward), min(low, reward) if is_falling else reward
        if not is_falling and reward < top - step:
            is_falling, low = True, reward
        if is_falling and reward > low + step:
            return True
    return False


def failed(reply: Reply, witness: Witness) -> str:
    """The kind of finding that a reply to one probe shows; "" if the reply is sound."""
    if reply.fault in _FAULTS:
        return _FAULTS[reply.fault]
    if reply.fault in ("raised", "length"):
        return {"raised": "raises"}.get(reply.fault, reply.fault)
    if reply.reward is None or witness.expect == SURVIVE:
        return ""
    is_paid = reply.reward >= witness.threshold
    wrongly = (witness.expect == REFUSE and is_paid) or (witness.expect == ACCEPT and not is_paid)
    return witness.kind if wrongly else ""


def same(one: Reply, other: Reply) -> bool:
    """Whether two replies are the same reward, or the same fault."""
    if one.reward is None or other.reward is None:
        return one.fault == other.fault
    return abs(one.reward - other.reward) <= _NEAR * max(1.0, abs(one.reward))


def pays(reply: Reply, threshold: float) -> bool:
    """Whether a reply is a reward from the threshold on."""
    return reply.reward is not None and reply.reward >= threshold
