"""The audit of a reward: learn the form that it accepts, probe it, and minimize what fails."""

from __future__ import annotations

import json
import math
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from typing import Any

from ..errors import UsageError
from .child import MESSAGES
from .findings import Finding, Rate, Report, cost, ordered
from .probes import (
    ACCEPT,
    EXPLOITABLE,
    FALSE_REJECT,
    IN_TIME,
    KINDS,
    NO_FILE,
    NO_GAIN,
    NOT_ALL,
    ONE_TURN,
    REFUSE,
    SAME,
    SEVERITIES,
    SLOW,
    SURVIVE,
    UNEQUAL,
    Probe,
    answers,
    code,
    function,
    spellings,
    text,
    variants,
)
from .process import OutOfTime, Reply
from .rows import CODE, LIST, NUMBER, QUERY, TEXT, WHOLE, AuditRow
from .surfaces import Surface, in_turn, surfaces, without_work
from .targets import Settings, Target, Witness, failed, pays, same

_LEARNED = 3  # rows on which all forms are tried
_PROBED = 12  # rows that are probed in full
_FORMS = 2  # accepted forms that are probed
_SLOW_S = 0.3  # seconds of a call, from which forms are learned on one row
_GOLDS_S = 5.0  # for the golds of all rows
_SHORT = 2000  # characters of a text that is sent to a target that hangs
_TOO_LONG_S, _TOO_LONG = 1.0, 10  # seconds of a call that is slow, and times the fastest call
_LONG_S = 0.1  # seconds of a call with a long text, from which a longer one is tried
# Shares of the time after which a stage is cut; the rest is for calling again what failed.
_OF_PROBES, _OF_CALLS, _OF_SHORT = 0.55, 0.75, 0.85
_OF_STATE = ("order", UNEQUAL, "many calls", "growth", "side effect", "patched", "executed")
_WHOLE = ("batch", "batch zero", "patched", "prompt", SLOW)  # witnesses that are not made smaller
_COMPARED = ("order", "batch", "batch zero", "threads", "fork", "thread", "many calls")
_RUN = (CODE, QUERY)
_FORGED = 2  # rows of code whose harness is attacked
_FIRST = 24  # programs of the first row, before those that do not end
_ENOUGH = 3  # failures of one kind, of a target that runs programs
_MORE = 3  # programs of that kind that each further row is asked
_MOST_HANGS = 2  # after which no further long text is sent
_AGAIN = 10  # calls of a witness, if the reward is random
_OF_FORM_ALONE = "it judges the form alone, as it says: nothing to audit on rows"


@dataclass(frozen=True)
class Limits:
    """`seconds` of the audit of one target, and `rows` that are probed in full.

    The seconds are those of all: the start of the process, the probes, the calls that show a
    finding again, and smaller witnesses. The audit ends two seconds later at most.
    """

    seconds: float = 60.0
    rows: int = _PROBED


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
        run = _Audit(target, rows, limits, wrap, started)
        run.on_stage = on_stage
        report = run.report()
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


def _differ(one: str, other: str) -> bool:
    return answers.number(one) != answers.number(other)


class _Audit:
    """One audit: the learned forms of answers, and the failed probes."""

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

    def report(self) -> Report:
        """Learn, probe, minimize and count."""
        report, learned = self.result, False
        golds = [row for row in self.rows if row.gold or row.response]
        probed = spread(golds, self.limits.rows)
        report.probed = len(probed)
        with self._until(_OF_CALLS, "the search for the form of a right answer, and all probes"):
            if any(row.others for row in golds):
                self.rows = self._as_lists(golds)
                probed = spread(self.rows, self.limits.rows)
            learned = bool(probed) and self._learn(probed)
        if learned:
            with self._until(_OF_PROBES, "the probes"):
                self._golds(probed)
                self._probes([row for row in probed if row.gold])
        elif self.rows and report.note != _OF_FORM_ALONE and not report.cut:
            with self._until(_OF_PROBES, "the texts that a reward must survive"):
                self._unlearned(probed or self.rows[:_LEARNED])
        if self.forms:
            with self._until(_OF_CALLS, "the calls in batches, threads and forks"):
                self._function(probed or self.rows[:_LEARNED])
        if not learned and not report.note and not report.cut:
            with self._until(_OF_CALLS, "the prompts as completions"):
                report.note = self._of_unpaid(probed)
        if report.cut and not self.failures["hang"]:
            self._slowest()
        report.findings = ordered(self._findings())
        wrong = {REFUSE: EXPLOITABLE, ACCEPT: FALSE_REJECT}
        rates = {}
        for expect, severity in wrong.items():
            kinds = [kind for kind in self.tried if KINDS[kind].severity == severity]
            total = sum(len(self.tried[kind]) for kind in kinds)
            rates[expect] = Rate(sum(len(self.failures[kind]) for kind in kinds), total)
        report.false_accepts, report.false_rejects = rates[REFUSE], rates[ACCEPT]
        report.calls = self.target.calls
        report.call_ms = 1000 * self._call_s()
        return report

    @contextmanager
    def _until(self, share: float, stage: str) -> Iterator[None]:
        """End a block at a share of the time, and note the stage that was cut by that."""
        self.stage = stage
        self.on_stage(stage)
        self.target.end_at(self.started + share * self.limits.seconds)
        try:
            yield
        except OutOfTime:
            self.result.cut.append(self.stage)

    def _slowest(self) -> None:
        """Note the slowest text if it took the time: its call was ended, or the text made it slow.

        Programs may run as long as their reward allows, and are no texts that make it slow.
        """
        if self.target.slowest is None:
            return
        row, text, reply = self.target.slowest
        seconds = self.target.seconds_of(reply)
        if reply.fault == "timeout":
            self._record(Probe("hang", row, text, SURVIVE), reply)
            return
        with self._until(_OF_SHORT, "the calls with a short text"):
            self.target.judge([(row, "?")] * 2)  # to compare with
        if seconds >= max(_TOO_LONG_S, _TOO_LONG * self.target.fastest) and row.kind not in _RUN:
            witness = Witness(SLOW, IN_TIME, [(row.sent(), text)], seconds / 2)
            self.tried[SLOW].append(row.index)
            self.failures[SLOW].append((Probe(SLOW, row, text, IN_TIME), witness, reply))

    def _of_unpaid(self, rows: Sequence[AuditRow]) -> str:
        """A note on a target that pays no gold. It may pay the prompts, which is a finding."""
        if UNEQUAL in self.failures:
            return "the same call has other results, so no form of a right answer is certain"
        probes = [Probe("prompt", row, row.prompt) for row in rows if row.prompt]
        others = self.target.judge([(probe.row, "?") for probe in probes])
        low = max((reply.reward or 0.0 for reply in others), default=0.0)
        replies = self.target.judge([(probe.row, probe.completion) for probe in probes])
        paid = [reply.reward for reply in replies if reply.reward is not None]
        paid = [reward for reward in paid if reward > low]
        if paid and len(paid) >= len(probes) / 2:
            for probe, reply in zip(probes, replies, strict=True):
                self._record(probe, reply, threshold=min(paid))
            return "no gold is paid, but the prompt is"
        return (
            "no form of a right answer was paid, so no verdict is certain: state the form with "
            "--wrap 'TEXT {answer} TEXT', or give the rows a column response"
        )

    # --- controls --------------------------------------------------------------------------------

    def _as_lists(self, rows: list[AuditRow]) -> list[AuditRow]:
        """Rows whose members are all required, if the target pays them together and not alone."""
        listed = [
            replace(row, kind=LIST, gold=", ".join([row.gold, *row.others]), others=())
            for row in rows
        ]
        for form in surfaces(rows[0], self.target.about.source, self.wrap):
            pairs = [(row, form(row.gold)) for row in [*rows, *listed]]
            earned = [reply.reward or 0.0 for reply in self.target.judge(pairs)]
            if sum(earned[len(rows) :]) > sum(earned[: len(rows)]):
                return listed
        return rows

    def _learn(self, rows: Sequence[AuditRow]) -> bool:
        """Set the forms in which golds are paid, their reward, and that of wrong answers."""
        first = [row for row in rows if row.gold][:_LEARNED] or rows[:_LEARNED]
        source = self.target.about.source
        forms = in_turn([surfaces(row, source, self.wrap) for row in first])
        self.target.judge([(first[0], forms[0](first[0].gold))] * 2)
        if self._call_s() > _SLOW_S:
            first = first[:1]
        pairs = [(row, form(row.gold)) for form in forms for row in first]
        replies = self.target.judge(pairs)
        if all(reply.fault == "none" for reply in replies):
            self.result.note = "it returns None for every completion"
            return False
        if all(reply.fault == "raised" for reply in replies):
            self.target.chat = self.result.chat = True
            replies = self.target.judge(pairs)
        if all(reply.fault == "unfit" for reply in replies):
            raise UsageError(f"{self.target.spec}: {' '.join(replies[0].what.split())}")
        if all(reply.fault == "raised" for reply in replies):
            self.result.note = f"it raises on every completion: {replies[0].what}"
            return False
        earned = [reply.reward or 0.0 for reply in replies]
        self._repeat([pairs[at] for at in sorted(range(len(pairs)), key=earned.__getitem__)])
        width = len(first)
        by_form = [earned[at * width : (at + 1) * width] for at in range(len(forms))]
        for _ in range(self._calls_of_one() - 1):  # a form may have been paid by chance
            again = [reply.reward or 0.0 for reply in self.target.judge(pairs)]
            for at, rewards in enumerate(by_form):
                rewards += again[at * width : (at + 1) * width]
        means = [sum(rewards) / len(rewards) for rewards in by_form]
        nothing = self.target.judge([(row, "I do not know.") for row in first])
        low = min((reply.reward or 0.0 for reply in nothing), default=0.0)
        order = sorted(range(len(forms)), key=lambda at: (-round(means[at], 6), at))
        best = order[0]
        full = max(by_form[best], default=0.0)
        self.tried_forms = forms
        floor = self._floor(first, forms[best], full, low)
        alike = [at for at in order[1:] if abs(means[at] - means[best]) < 1e-9]
        while full - floor < 1e-9 and alike:  # another form may tell right from wrong
            at = alike.pop(0)
            lower = self._floor(first, forms[at], full, low)
            if lower < floor:
                best, floor = at, lower
        if full - floor < 1e-9 or self._is_indifferent(first, forms[best]):
            return self._constant(forms[best], full)
        self.result.full, self.result.floor = full, floor
        self.is_graded = self.claims.similarity or self._grades(first, forms[best])
        self.result.surface = forms[best]
        paid = [at for at in order if means[at] >= means[best] - 0.25 * (full - floor)]
        self.forms = self._different([forms[at] for at in dict.fromkeys([best, *paid])])
        return True

    def _calls_of_one(self) -> int:
        """The calls that a verdict on one text takes: ten if the reward is random."""
        return _AGAIN if UNEQUAL in self.failures else 1

    def _repeat(self, pairs: Sequence[tuple[AuditRow, str]]) -> None:
        """Repeat the calls with the highest, the lowest and a middle reward: results may differ."""
        chosen = [pairs[-1], pairs[0], pairs[len(pairs) // 2]]
        copies = 1 if self._call_s() > _SLOW_S else _AGAIN
        calls = [(row.sent(), completion) for row, completion in chosen] * copies
        self._show(Witness(UNEQUAL, SAME, calls, self.result.threshold))

    def _floor(self, rows: Sequence[AuditRow], form: Surface, full: float, low: float) -> float:
        """The reward of wrong answers in a form, or of no answer if wrong ones earn all."""
        pairs = [(row, form(text)) for row in rows for text in answers.wrong_texts(row)[:3]]
        earned = [reply.reward for reply in self.target.judge(pairs) if reply.reward is not None]
        lowest = min(earned, default=low)
        return lowest if lowest < full - 1e-9 else min(low, full)

    def _grades(self, rows: Sequence[AuditRow], form: Surface) -> bool:
        """Whether wrong answers earn at least two different parts of the full reward."""
        plain = [replace(row, tolerant=False) for row in rows]
        texts = [(row, text) for row in plain for text in answers.wrong_texts(row)]
        texts += [(row, text) for row in plain for text in answers.near_misses(row)]
        texts += [
            (row, f"{row.gold}{' purple' * n}")
            for row in plain * (plain[0].kind == TEXT)
            for n in (1, 3)
        ]
        pairs = [(row, form(text)) for row, text in texts]
        full, floor = self.result.full, self.result.floor
        rewards = [reply.reward for reply in self.target.judge(pairs) if reply.reward is not None]
        if UNEQUAL in self.failures:  # its noise is no grade
            tenths = {round(10 * (reward - floor) / (full - floor)) for reward in rewards}
            return len(tenths - {0, 10}) > 1
        low = floor + (full - floor) / 100
        return len({round(each, 6) for each in rewards if low < each < full - 1e-9}) > 1

    def _is_indifferent(self, rows: Sequence[AuditRow], form: Surface) -> bool:
        """Whether right and wrong answers of the same length always earn the same."""
        pairs = []
        for row in rows:
            wrong = answers.wrong_texts(row) + ["q" * len(row.gold)] * (row.kind == TEXT)
            if same := [each for each in wrong if len(each) == len(row.gold)]:
                pairs += [(row, form(row.gold)), (row, form(same[0]))] * self._calls_of_one()
        rewards = [reply.reward for reply in self.target.judge(pairs)]
        paid = [pair for pair in zip(rewards[::2], rewards[1::2], strict=True) if pair[0]]
        return bool(paid) and all(right == wrong for right, wrong in paid)

    def _constant(self, form: Surface, full: float) -> bool:
        """All controls earn the same: a reward of the form alone, or one that pays everything."""
        row = next(row for row in self.rows if row.gold)
        if row.kind == WHOLE:
            self.result.note = "a text without an answer earns as much as the rows' responses"
        elif full > 0 and not self.claims.form:
            texts = ["I do not know.", *(form(wrong) for wrong in answers.wrong_texts(row))]
            replies = self.target.judge([(row, text) for text in texts])
            for text, reply in zip(texts, replies, strict=True):
                if reply.reward is not None and reply.reward >= full:
                    self._record(Probe("ignores the gold", row, text), reply, threshold=full)
            self.result.note = "right and wrong answers earn the same"
        elif full > 0:
            self.result.note = _OF_FORM_ALONE
        return False

    @staticmethod
    def _different(forms: Sequence[Surface]) -> list[Surface]:
        """The first accepted form, and the next one that marks the answer in another way."""

        def marks(form: Surface) -> str:
            before, _, after = form.text.partition("{}")
            return f"{before[-8:]}|{after[:8]}"

        chosen = {marks(form): form for form in reversed(forms)}
        return [form for form in forms if chosen[marks(form)] is form][:_FORMS]

    def _golds(self, rows: Sequence[AuditRow]) -> None:
        """Each row's gold in the accepted form, and its own response, must be paid."""
        form = self.forms[0]
        most = max(len(rows), min(200, int(_GOLDS_S / max(1e-3, self._call_s()))))
        golds = [row for row in self.rows[:most] if row.gold]
        self._run([Probe("gold refused", row, form(row.gold), ACCEPT) for row in golds])
        if len(golds) - len(self.failures["gold refused"]) < 2:
            self.failures.pop("gold refused")  # the form was not learned for most rows
        for row in rows:
            others = (Probe("other gold refused", row, form(text), ACCEPT) for text in row.others)
            self._run_alike(list(others))
        own = [row for row in rows if row.response and row.gold and row.gold in row.response]
        self._run([Probe("response refused", row, row.response, ACCEPT) for row in own])
        if len(self.failures["response refused"]) > len(own) / 2:
            self.failures.pop("response refused")

    def _unlearned(self, rows: Sequence[AuditRow]) -> None:
        """The probes that need no paid answer: texts to survive."""
        source = self.target.about.source
        self.tried_forms = self.tried_forms or surfaces(rows[0], source, self.wrap)
        named = [form for form in self.tried_forms if form.text.partition("{}")[0][-12:] in source]
        self.forms = list(dict.fromkeys([*named, self.tried_forms[0], Surface("alone", "{}")]))[:5]
        for form in self.forms:
            self._run(list(text.hostile(rows[0], form)))
            self._run_apart(list(text.expensive(rows[0], form)))
        self._huge(rows[0])

    # --- probes ----------------------------------------------------------------------------------

    def _probes(self, rows: Sequence[AuditRow]) -> None:
        refused = {probe.row.index for probe, _, _ in self.failures["gold refused"]}
        rows = [row for row in rows if row.index not in refused]
        self._programs([row for row in rows if row.kind == CODE])
        rows, about = [row for row in rows if row.kind != CODE], self.target.about
        if rows and rows[0].kind != WHOLE:
            texts = answers.lengths(rows[0], self.forms[0])
            pairs = [(rows[0].sent(), each) for each in texts]
            self._show(Witness("uneven length", ONE_TURN, pairs, self.result.threshold))
            self._padding(pairs)
        for number, row in enumerate(rows):
            self.stage = f"the probes, from row {number + 1} of {len(rows)} on"
            if number < _LEARNED and (texts := answers.wrong_texts(row)):
                # Whatever the form: a text that states a wrong answer alone is wrong.
                self._run([Probe("wrong answer", row, form(texts[0])) for form in self.tried_forms])
            before = rows[number - 1].gold
            if number and row.kind == NUMBER == rows[number - 1].kind and _differ(before, row.gold):
                self._run([Probe("wrong answer", row, self.forms[0](before))])
            if self.claims.similarity:
                nothing = text.nothing(row, self.forms[0])
                self._run([each for each in nothing if each.kind in ("empty", "nothing")])
                self._run(list(answers.dissimilar(row, self.forms[0], about.doc)))
                self._run(list(text.hostile(row, self.forms[0])) if number < 2 else [])
                continue
            for form in self.forms:
                probes = [*text.nothing(row, form)]
                probes += answers.wrong(row, form, about.source)
                self._run([*probes, *answers.several(row, form)])
                if not self.is_graded:
                    self._run(list(answers.right(row, form)))
                if not self.claims.first:
                    self._run(list(answers.retracted(row, form)))
            if number < _LEARNED and not self.claims.anywhere:
                pairs = [(row.sent(), each) for each in answers.either_order(row, self.forms[0])]
                if pairs:
                    self._show(Witness("either order", NOT_ALL, pairs, self._threshold(REFUSE)))
            if number < 2:
                self._run(list(text.hostile(row, self.forms[0])))
                self._run_apart([*text.expensive(row, self.forms[0])])
                self._executed(row)
            if number == 0:
                self._messages(row)
        self.stage = "the probes of spellings and of long texts"
        if not self.is_graded:
            self._spellings(rows)
        if rows:
            self._huge(rows[0])

    def _padding(self, pairs: Sequence[tuple[Mapping[str, Any], str]]) -> None:
        """Whether a right answer earns more after words; `pairs` are from the shortest text on."""
        if UNEQUAL in self.failures or "uneven length" in self.failures:
            return
        earned = [reply.reward or 0.0 for reply in self.target.judge(pairs)]
        best = max(range(len(pairs)), key=earned.__getitem__)
        limit = (self.result.full - self.result.floor) / 10
        self._show(Witness("padding", NO_GAIN, [pairs[best], pairs[0]], limit))

    def _programs(self, rows: Sequence[AuditRow]) -> None:
        """Wrong programs, forgeries and right programs; of the first row those that do not end."""
        form = self.forms[0]
        for number, row in enumerate(rows):
            self.stage = f"the programs, from row {number + 1} of {len(rows)} on"
            if number == 0:  # on a process that no program has changed yet
                pairs = [(row.sent(), code.patching(row, form))]
                self._show(Witness("patched", SAME, pairs, self.result.threshold))
            near = variants.variants(row, form, self._pays_partly(row), self.target.check_time)
            source = self.target.about.source
            attacks = code.forgeries(row, form, source) if number < _FORGED else ()
            plain = code.wrong(row, form) if number < _FORGED else ()
            # In turn: a target that runs each program for a second is asked some of each.
            turns = zip_longest(attacks, plain, near)
            programs = (probe for turn in turns for probe in turn if probe is not None)
            self._run_some(islice(programs, _FIRST))
            if number == 0:
                self.endless = list(code.endless(row, form))
                if not self.target.is_server:
                    self._run_apart(self.endless)
            self._run_some(programs)
            if number == 0:
                self._run(list(text.nothing(row, form)))
                self._messages(row)

    def _run_some(self, probes: Iterable[Probe]) -> None:
        """Run probes one at a time, of each kind until some have failed, and a few more."""
        more = dict.fromkeys(KINDS, _MORE)
        for probe in probes:
            if len(self.failures[probe.kind]) >= _ENOUGH:
                more[probe.kind] -= 1  # what is paid in one row may raise in another
            if more[probe.kind] > 0:
                self._run([probe])
                if "patched" in self.failures and code.patches(probe.completion):
                    self.target.fresh()

    def _pays_partly(self, row: AuditRow) -> bool:
        """Whether a program that passes half of the tests earns a part of the reward."""
        half = variants.half_table(row)
        [reply] = self.target.judge([(row, self.forms[0](half))])
        step = (self.result.full - self.result.floor) / 100
        low, high = self.result.floor + step, self.result.full - step
        return not half or reply.reward is not None and low < reply.reward < high

    def _messages(self, row: AuditRow) -> None:
        """Answers in the messages of a chat, or in the items of a response."""
        if self.target.kind == "nemo_gym":
            # A strict form has no line before it, in one message or in two.
            lead, answer = "Let me think.\n", self.forms[0](row.gold)
            [reply] = self.target.judge([(row, lead + answer)])
            lead *= pays(reply, self.result.threshold)
            self._run(list(text.responses(row, self.forms[0], lead)))
        elif self._reads_messages(row):
            self._run(list(text.messages(row, self.forms[0])))

    def _reads_messages(self, row: AuditRow) -> bool:
        """Whether the target pays the gold in a chat message, and knows of tools."""
        if not self.claims.tools and not re.search(r"\btool", " ".join(row.columns), re.I):
            return False  # without tools each message has a text
        if self.target.chat or self.target.kind not in ("trl", "verifiers"):
            return self.target.chat
        chat = [{"role": "assistant", "content": self.forms[0](row.gold)}]
        [reply] = self.target.judge([(row, MESSAGES + json.dumps(chat))])
        return pays(reply, self.result.threshold)

    def _show(self, witness: Witness) -> None:
        """Note a witness of several calls if it shows its finding."""
        self.tried[witness.kind].append(0)
        is_shown, replies = self.target.shows(witness)
        if is_shown:
            self._record_calls(witness, replies)

    def _spellings(self, rows: Sequence[AuditRow]) -> None:
        """Spellings that the target promises to read, or that it reads of other golds."""
        about, form = self.target.about, self.forms[0]
        others: dict[str, list[Probe]] = defaultdict(list)
        for row in rows:
            for name, spelling in spellings.spelled(row, form.bounded):
                if spelling == row.gold:
                    continue
                kind = "equivalent" if name in spellings.FORMULAS else "spelling"
                probe = Probe(kind, row, form(spelling), ACCEPT)
                is_plain = name in spellings.PLAIN and not self.claims.spelling
                if is_plain or spellings.promised(name, about.text):
                    self._run([probe])
                else:
                    others[name].append(replace(probe, kind="uneven spelling"))
        for probes in others.values():
            self._run_alike(probes)

    def _huge(self, row: AuditRow) -> None:
        """Long texts, and much longer ones of the same kind if one takes long."""
        source, form = self.target.about.source, self.forms[0]
        sizes = (text.huge(row, form, source, size) for size in text.SIZES)
        for short, long in zip(*sizes, strict=True):
            if self.hangs >= _MOST_HANGS:
                return
            [reply] = self.target.judge([(short.row, short.completion)])
            self._record(short, reply)
            if not reply.fault and reply.seconds > _LONG_S:
                self._run([long])

    def _call_s(self) -> float:
        """The mean seconds of a call."""
        return self.target.seconds / max(1, self.target.calls)

    def _run(self, probes: Sequence[Probe]) -> None:
        if self.hangs >= _MOST_HANGS:
            probes = [probe for probe in probes if len(probe.completion) < _SHORT]
        try:
            replies = self.target.judge([(probe.row, probe.completion) for probe in probes])
        except OutOfTime as error:
            for probe, reply in zip(probes, error.replies, strict=False):
                self._record(probe, reply)
            raise
        for probe, reply in zip(probes, replies, strict=True):
            self._record(probe, reply)

    def _run_alike(self, probes: Sequence[Probe]) -> None:
        """Run probes of which all must be paid, if one of them is."""
        replies = self.target.judge([(probe.row, probe.completion) for probe in probes])
        if any(pays(reply, self.result.threshold) for reply in replies):
            for probe, reply in zip(probes, replies, strict=True):
                self._record(probe, reply)

    def _run_apart(self, probes: Sequence[Probe]) -> None:
        """As `_run`, until some of them have hung."""
        for probe in probes:
            if self.hangs >= _MOST_HANGS:
                return
            self._run([probe])

    def _record(self, probe: Probe, reply: Reply, threshold: float | None = None) -> None:
        """Count a probe, and keep it if it failed."""
        self.tried[probe.kind].append(probe.row.index)
        pairs = [(probe.row.sent(), probe.completion)]
        limit = self._threshold(probe.expect) if threshold is None else threshold
        witness = Witness(probe.kind, probe.expect, pairs, limit)
        if kind := failed(reply, witness):
            self.hangs += kind == "hang"
            self.failures[kind].append((probe, replace(witness, kind=kind), reply))
            if kind != probe.kind:
                self.tried[kind].append(probe.row.index)

    def _threshold(self, expect: str) -> float:
        """The reward from which a completion is paid: if wrong answers are graded, the full one."""
        full, floor = self.result.full, self.result.floor
        if self.is_graded and expect == REFUSE:
            return full - (full - floor) / 1000
        return self.result.threshold

    def _executed(self, row: AuditRow) -> None:
        for probe in answers.executed(row, self.forms[0]):
            pairs = [(row.sent(), probe.completion)]
            witness = Witness("executed", NO_FILE, pairs, self.result.threshold)
            self.tried["executed"].append(row.index)
            is_shown, replies = self.target.shows(witness)
            if is_shown:
                self.failures["executed"].append((probe, witness, replies[0]))

    def _function(self, rows: Sequence[AuditRow]) -> None:
        form, pairs = self.forms[0], []
        most = _LEARNED if self._call_s() > _SLOW_S else _PROBED
        for row in [row for row in rows if row.gold][:most]:
            pairs.append((row.sent(), form(row.gold)))
            pairs += [(row.sent(), form(wrong)) for wrong in answers.wrong_texts(row)[:1]]
        first = rows[0]
        pairs.append((first.sent(), "I do not know."))
        pairs += [(first.sent(), "word " * 30 + f"\n{pairs[0][1]}")] * (first.kind != CODE)
        if first.kind == CODE:  # it must not get the score that an earlier program has left
            pairs.append((first.sent(), form("raise RuntimeError")))
        tables = re.findall(r"(?i)\b(?:from|join)\s+(\w+)", first.gold)
        if first.kind == QUERY and tables:  # a query that changes what later ones read
            pairs += [(first.sent(), form(f"DELETE FROM {tables[0]}")), pairs[0]]
        pairs += [(row, pairs[0][1]) for row, _ in pairs[1:] if row != pairs[0][0]][:2]
        self.target.fresh()
        for witness in function.witnesses(self.target, pairs, self.result.threshold):
            if witness.kind not in self.failures:
                self._show(witness)

    def _record_calls(self, witness: Witness, replies: Sequence[Reply]) -> None:
        """Keep a difference between ways of calling, unless the same call differs already."""
        if witness.kind in _COMPARED and UNEQUAL in self.failures:
            return
        probe = Probe(witness.kind, self.rows[0], witness.pairs[0][1])
        self.failures[witness.kind].append((probe, witness, replies[0]))

    # --- findings --------------------------------------------------------------------------------

    def _findings(self) -> list[Finding]:
        """A finding for each kind that failed and whose witness shows it again, then smaller."""
        findings: list[Finding] = []
        noise = 0.0
        kinds = [kind for kind, failures in self.failures.items() if failures]
        kinds.sort(key=lambda kind: (kind != UNEQUAL, -SEVERITIES[KINDS[kind].severity]))
        # A target that keeps state has a fresh process each time, as `replay` has. For others one
        # is enough: the import of a trainer takes seconds.
        is_pure = self.failures.keys().isdisjoint(_OF_STATE)
        with self._until(1.0, "the second calls of what failed"):
            self.target.fresh()
            noise = self._noise() if UNEQUAL in self.failures else 0.0
            if noise:  # then unequal calls show nothing else
                kinds = [
                    kind
                    for kind in kinds
                    if kind not in _COMPARED and not kind.startswith("uneven")
                ]
            for at, kind in enumerate(kinds):
                self.stage = f"second calls, so no findings: {', '.join(kinds[at:])}"
                findings += self._confirmed(kind, is_pure, noise)
        last = self.endless if self.target.is_server and not self.hangs else []
        # A hang is two calls of `timeout` seconds; the process needs some more.
        reserved = 2.5 * self.target.process.timeout / self.limits.seconds if last else 0.0
        with self._until(1.0 - reserved, "the search for smaller witnesses"):
            for at, finding in enumerate(findings):
                findings[at] = self._smaller(finding, is_pure)
        if last:
            with self._until(1.0, "the programs that do not end"):
                while last and not self.hangs:
                    self._run([last.pop(0)])
                findings += self._confirmed("hang", True, noise)
        return findings

    def _noise(self) -> float:
        """How far the calls that differ also differ between two processes; 0 if it keeps state."""
        _, witness, _ = self.failures[UNEQUAL][0]
        pairs = list(witness.pairs) * (1 + _AGAIN // len(witness.pairs))
        replies = []
        for _ in range(2):
            self.target.fresh()
            replies.append(self.target.judge(pairs))
        unequal = [pair for pair in zip(*replies, strict=True) if not same(*pair)]
        rewards = [(one.reward, other.reward) for one, other in unequal]
        return max(
            (math.inf if None in (a, b) else abs((a or 0) - (b or 0)) for a, b in rewards),
            default=0.0,
        )

    def _confirmed(self, kind: str, is_pure: bool, noise: float) -> Iterator[Finding]:
        """The finding of a kind, if one of its three shortest witnesses shows it again.

        If the reward is random, a witness is called ten times: unless its reward is farther from
        being paid or refused than twice the noise.
        """
        failures, tried = self.failures[kind], self.tried[kind]
        by_length = sorted(failures, key=lambda each: len(each[0].completion))
        for _, witness, reply in islice(by_length, 3):
            if not is_pure:
                self.target.fresh()
            earned = witness.threshold if reply.reward is None else reply.reward
            is_clear = abs(earned - witness.threshold) > 2 * noise
            again = 1 if not noise or is_clear or kind in (UNEQUAL, "hang") else _AGAIN
            calls = [self.target.shows(witness) for _ in range(again)]
            shown = [replies for is_shown, replies in calls if is_shown]
            if not shown:
                continue
            reply, full, floor = shown[0][0], self.result.full, self.result.floor
            rows, of_rows = len({each[0].row.index for each in failures}), len(set(tried))
            counts = len(failures), len(tried), rows, of_rows
            is_certain = len(shown) == again
            price = cost(kind, reply, rows, of_rows, full, floor) if is_certain else ""
            yield Finding(witness, reply, *counts, price, len(shown), again)
            return

    def _smaller(self, finding: Finding, is_pure: bool) -> Finding:
        """The finding with a smaller witness, if that shows it in the same way."""
        if not finding.is_certain:
            return finding
        failures = self.failures[finding.kind]
        probe = next(each for each, witness, _ in failures if witness is finding.witness)
        small = self._minimal(probe, finding.witness)
        if small == finding.witness:
            return finding
        if not is_pure:
            self.target.fresh()
        is_shown, replies = self.target.shows(small)
        return replace(finding, witness=small, reply=replies[0]) if is_shown else finding

    def _minimal(self, probe: Probe, witness: Witness) -> Witness:
        """A shorter witness: fewer pairs, or half of the text, while the finding shows."""
        if witness.expect in (ONE_TURN, NO_GAIN) or witness.kind in _WHOLE:
            return witness
        if len(witness.pairs) > 1 and witness.kind not in ("threads",):
            for pair in witness.pairs:
                one = replace(witness, pairs=[pair] * (_AGAIN if witness.kind == UNEQUAL else 1))
                self.target.fresh()
                if self.target.shows(one)[0]:
                    return one
            return witness
        short = without_work(probe.completion)
        if short != probe.completion:
            changed = replace(witness, pairs=[(witness.pairs[0][0], short)])
            if self.target.shows(changed)[0]:
                probe, witness = replace(probe, completion=short), changed
        text = probe.completion
        if (
            probe.row.gold
            and probe.row.gold.casefold() in text.casefold()
            and probe.expect == REFUSE
        ):
            return witness  # a part of it might be a right answer
        if probe.expect == ACCEPT or witness.kind == "hang":
            return witness
        lines = text.splitlines(keepends=True)
        for at in range(len(lines) - 1, -1, -1):
            shorter = "".join(lines[:at] + lines[at + 1 :])
            if len(lines) > 1 and shorter.strip():
                changed = replace(witness, pairs=[(witness.pairs[0][0], shorter)])
                if len(lines) <= 40 and self.target.shows(changed)[0]:
                    lines, witness = lines[:at] + lines[at + 1 :], changed
        return witness
