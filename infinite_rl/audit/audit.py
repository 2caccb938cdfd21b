"""The audit of a reward: learn the form that it accepts, probe it, and minimize what fails."""

from __future__ import annotations

import json
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest

from ..errors import UsageError
from .child import MESSAGES
from .findings import Finding, Rate, Report, cost, ordered
from .probes import (
    ACCEPT,
    EXPLOITABLE,
    FALSE_REJECT,
    KINDS,
    NO_FILE,
    NOT_ALL,
    ONE_TURN,
    REFUSE,
    SAME,
    Probe,
    answers,
    code,
    function,
    spellings,
    text,
    variants,
)
from .process import Reply
from .rows import CODE, LIST, NUMBER, QUERY, TEXT, WHOLE, AuditRow
from .surfaces import Surface, in_turn, surfaces, without_work
from .targets import Settings, Target, Witness, failed, pays

_LEARNED = 3  # rows on which all forms are tried
_PROBED = 12  # rows that are probed in full
_FORMS = 2  # accepted forms that are probed
_SLOW_S = 0.3  # seconds of a call, from which forms are learned on one row
_GOLDS_S = 5.0  # for the golds of all rows
_SHORT = 2000  # characters of a text that is sent to a target that hangs
_LONG_S = 0.1  # seconds of a call with a long text, from which a longer one is tried
_OF_PROBES = 0.7  # of the time
_OF_WITNESSES = 1.5  # of the time, after which none is made smaller
_OF_STATE = ("order", "repeated", "many calls", "growth", "side effect", "patched", "executed")
_FORGED = 2  # rows of code whose harness is attacked
_ENOUGH = 3  # failures of one kind, of a target that runs programs
_MOST_HANGS = 2  # after which no further long text is sent
_OF_FORM_ALONE = "it judges the form alone, as it says: nothing to audit on rows"


@dataclass(frozen=True)
class Limits:
    """`seconds` that the probes of one target may take in all, `rows` that are probed in full."""

    seconds: float = 45.0
    rows: int = _PROBED


def audit(
    spec: str,
    rows: Sequence[AuditRow],
    settings: Settings | None = None,
    limits: Limits | None = None,
    wrap: str = "",
) -> Report:
    """Audit a target on rows. `wrap` states the form of answers: a text with {answer} in it.

    Raises:
        UsageError: the target cannot be loaded, or the rows do not fit it.
    """
    started = time.monotonic()
    with Target(spec, settings or Settings()) as target:
        run = _Audit(target, rows, limits or Limits(), wrap)
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
    """One audit: what it has learned of the target, and what failed."""

    def __init__(self, target: Target, rows: Sequence[AuditRow], limits: Limits, wrap: str) -> None:
        self.target, self.rows, self.limits, self.wrap = target, rows, limits, wrap
        self.started, self.claims = time.monotonic(), target.claims
        if self.claims.tolerance:
            self.rows = [replace(row, tolerant=True) for row in rows]
        self.is_graded = False  # wrong answers earn more the nearer they are
        self.result = Report(target.spec, target.kind, len(rows))
        self.forms: list[Surface] = []
        self.tried_forms: list[Surface] = []
        self.failures: dict[str, list[tuple[Probe, Witness, Reply]]] = defaultdict(list)
        self.tried: dict[str, list[int]] = defaultdict(list)
        self.hangs = 0

    def report(self) -> Report:
        """Learn, probe, minimize and count."""
        report = self.result
        golds = [row for row in self.rows if row.gold or row.response]
        if any(row.others for row in golds):
            self.rows = golds = self._as_lists(golds)
        probed = spread(golds, self.limits.rows)
        learned = bool(probed) and self._learn(probed)
        if learned:
            self._golds(probed)
            self._probes([row for row in probed if row.gold])
            self._function(probed)
        elif self.rows and report.note != _OF_FORM_ALONE:
            self._unlearned(probed or self.rows[:_LEARNED])
        if not learned and not report.note and not self._prompts(probed):
            report.note = (
                "no form of a right answer was paid, so no verdict is certain: state the form with "
                "--wrap 'TEXT {answer} TEXT', or give the rows a column response"
            )
        report.findings = ordered([*report.findings, *self._findings()])
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

    def _prompts(self, rows: Sequence[AuditRow]) -> bool:
        """Of a target that pays no gold: whether it pays the prompt."""
        pairs = [(row.sent(), row.prompt) for row in rows if row.prompt]
        others = self.target.judge([(row, "?") for row, _ in pairs])
        low = max((reply.reward or 0.0 for reply in others), default=0.0)
        paid = [
            (pair, reply)
            for pair, reply in zip(pairs, self.target.judge(pairs), strict=True)
            if reply.reward is not None and reply.reward > low
        ]
        if not paid or len(paid) < len(pairs) / 2:
            return False
        pair, reply = paid[0]
        witness = Witness("prompt", REFUSE, [pair], reply.reward or 0.0)
        finding = Finding(witness, reply, len(paid), len(pairs), len(paid), len(pairs))
        self.result.findings.append(finding)
        self.result.note = "no gold is paid, but the prompt is"
        return True

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
        """Set the forms in which golds are paid, what they earn, and what wrong answers earn."""
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
        width = len(first)
        means = [sum(earned[at * width : (at + 1) * width]) / width for at in range(len(forms))]
        nothing = self.target.judge([(row, "I do not know.") for row in first])
        low = min((reply.reward or 0.0 for reply in nothing), default=0.0)
        order = sorted(range(len(forms)), key=lambda at: (-round(means[at], 6), at))
        best = order[0]
        full = max(earned[best * width : (best + 1) * width], default=0.0)
        self.tried_forms = forms
        floor = self._floor(first, forms[best], full, low)
        if full - floor < 1e-9 or self._is_indifferent(first, forms[best]):
            return self._constant(full)
        self.result.full, self.result.floor = full, floor
        self.is_graded = self.claims.similarity or self._grades(first, forms[best])
        self.result.surface = forms[best]
        paid = [at for at in order if means[at] >= means[best] - 0.25 * (full - floor)]
        self.forms = self._different([forms[at] for at in paid])
        return True

    def _floor(self, rows: Sequence[AuditRow], form: Surface, full: float, low: float) -> float:
        """What wrong answers earn in a form; if it pays them in full, what no answer earns."""
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
        step = (self.result.full - self.result.floor) / 100
        low, high = self.result.floor + step, self.result.full
        rewards = [reply.reward for reply in self.target.judge(pairs) if reply.reward is not None]
        return len({round(each, 6) for each in rewards if low < each < high - 1e-9}) > 1

    def _is_indifferent(self, rows: Sequence[AuditRow], form: Surface) -> bool:
        """Whether right and wrong answers of the same length always earn the same."""
        pairs = []
        for row in rows:
            wrong = answers.wrong_texts(row) + ["q" * len(row.gold)] * (row.kind == TEXT)
            if same := [each for each in wrong if len(each) == len(row.gold)]:
                pairs += [(row, form(row.gold)), (row, form(same[0]))]
        rewards = [reply.reward for reply in self.target.judge(pairs)]
        paid = [pair for pair in zip(rewards[::2], rewards[1::2], strict=True) if pair[0]]
        return bool(paid) and all(right == wrong for right, wrong in paid)

    def _constant(self, full: float) -> bool:
        """All controls earn the same: a reward of the form alone, or one that pays everything."""
        row = next(row for row in self.rows if row.gold)
        if row.kind == WHOLE:
            self.result.note = "a text without an answer earns as much as the rows' responses"
        elif full > 0 and not self.claims.form:
            pairs = [(row.sent(), "I do not know.")]
            [reply] = self.target.judge(pairs)
            if reply.reward is not None:
                witness = Witness("ignores the gold", REFUSE, pairs, reply.reward)
                self.result.findings.append(Finding(witness, reply, 1, 1, 1, 1))
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
        """What is certain though no answer is paid: texts to survive, and equal calls."""
        source = self.target.about.source
        self.tried_forms = self.tried_forms or surfaces(rows[0], source, self.wrap)
        named = [form for form in self.tried_forms if form.text.partition("{}")[0][-12:] in source]
        self.forms = list(dict.fromkeys([*named, self.tried_forms[0], Surface("alone", "{}")]))[:5]
        for form in self.forms:
            self._run(list(text.hostile(rows[0], form)))
            self._run_apart(list(text.expensive(rows[0], form)))
        self._huge(rows[0])
        self._function(rows)

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
        for number, row in enumerate(rows):
            if self._is_late():
                return
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
            if number == 0 and self._reads_messages(row):
                self._run(list(text.messages(row, self.forms[0])))
        if not self.is_graded:
            self._spellings(rows)
        if rows:
            self._huge(rows[0])

    def _programs(self, rows: Sequence[AuditRow]) -> None:
        """Wrong programs, forgeries and right programs; of the first row those that do not end."""
        form = self.forms[0]
        for number, row in enumerate(rows):
            near = variants.variants(row, form, self._pays_partly(row))
            attacks = code.forgeries(row, form) if number < _FORGED else ()
            plain = code.wrong(row, form) if number < _FORGED else ()
            # In turn: a target that runs each program for a second is asked some of each.
            turns = zip_longest(attacks, plain, near)
            self._run_some([probe for turn in turns for probe in turn if probe is not None])
            if number == 0:
                pairs = [(row.sent(), code.patching(row, form))]
                self._show(Witness("patched", SAME, pairs, self.result.threshold))
                self._run(list(text.nothing(row, form)))
                if self._reads_messages(row):
                    self._run(list(text.messages(row, form)))
                self._run_apart(list(code.endless(row, form)))

    def _run_some(self, probes: Sequence[Probe]) -> None:
        """Run probes while there is time, of each kind until some have failed."""
        for probe in probes:
            if self._is_late():
                return
            if len(self.failures[probe.kind]) < _ENOUGH:
                self._run([probe])

    def _pays_partly(self, row: AuditRow) -> bool:
        """Whether a program that passes half of the tests earns a part of the reward."""
        half = variants.half_table(row)
        [reply] = self.target.judge([(row, self.forms[0](half))])
        step = (self.result.full - self.result.floor) / 100
        low, high = self.result.floor + step, self.result.full - step
        return not half or reply.reward is not None and low < reply.reward < high

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
            self._take_calls(witness, replies)

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
            if self.hangs >= _MOST_HANGS or self._is_late():
                return
            [reply] = self.target.judge([(short.row, short.completion)])
            self._take(short, reply)
            if not reply.fault and reply.seconds > _LONG_S:
                self._run([long])

    def _call_s(self) -> float:
        """The mean seconds of a call."""
        return self.target.seconds / max(1, self.target.calls)

    def _is_late(self, share: float = _OF_PROBES) -> bool:
        """Whether a share of the time is over. The rest is for the reward as a function."""
        is_late = time.monotonic() - self.started > share * self.limits.seconds
        self.result.is_cut |= is_late
        return is_late

    def _run(self, probes: Sequence[Probe]) -> None:
        if self.hangs >= _MOST_HANGS:
            probes = [probe for probe in probes if len(probe.completion) < _SHORT]
        replies = self.target.judge([(probe.row, probe.completion) for probe in probes])
        for probe, reply in zip(probes, replies, strict=True):
            self._take(probe, reply)

    def _run_alike(self, probes: Sequence[Probe]) -> None:
        """Run probes of which all must be paid, if one of them is."""
        replies = self.target.judge([(probe.row, probe.completion) for probe in probes])
        if any(pays(reply, self.result.threshold) for reply in replies):
            for probe, reply in zip(probes, replies, strict=True):
                self._take(probe, reply)

    def _run_apart(self, probes: Sequence[Probe]) -> None:
        """As `_run`, until some of them have hung."""
        for probe in probes:
            if self.hangs >= _MOST_HANGS or self._is_late():
                return
            self._run([probe])

    def _take(self, probe: Probe, reply: Reply) -> None:
        self.tried[probe.kind].append(probe.row.index)
        pairs = [(probe.row.sent(), probe.completion)]
        witness = Witness(probe.kind, probe.expect, pairs, self._threshold(probe.expect))
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
        tables = re.findall(r"(?i)\b(?:from|join)\s+(\w+)", first.gold)
        if first.kind == QUERY and tables:  # a query that changes what later ones read
            pairs += [(first.sent(), form(f"DELETE FROM {tables[0]}")), pairs[0]]
        pairs += [(row, pairs[0][1]) for row, _ in pairs[1:] if row != pairs[0][0]][:2]
        self.target.fresh()
        for witness in function.witnesses(self.target, pairs, self.result.threshold):
            if witness.kind in self.failures or self._is_late(1.0):
                continue
            self._show(witness)

    def _take_calls(self, witness: Witness, replies: Sequence[Reply]) -> None:
        """Note a difference between ways of calling, unless the reward is random altogether."""
        blaming = {"order", "batch", "threads", "fork", "thread"}
        if witness.kind in blaming and "repeated" in self.failures:
            return
        probe = Probe(witness.kind, self.rows[0], witness.pairs[0][1])
        self.failures[witness.kind].append((probe, witness, replies[0]))

    # --- findings --------------------------------------------------------------------------------

    def _findings(self) -> Iterator[Finding]:
        """A finding for each kind that failed and whose witness shows it again."""
        # A target that keeps state has a fresh process each time, as `replay` has. For others one
        # is enough: the import of a trainer takes seconds.
        is_pure = self.failures.keys().isdisjoint(_OF_STATE)
        self.target.fresh()
        for kind, failures in self.failures.items():
            by_length = sorted(failures, key=lambda each: len(each[0].completion))
            for probe, witness, _ in islice(by_length, 3):
                if not is_pure:
                    self.target.fresh()
                small = self._minimal(probe, witness)
                if not is_pure:
                    self.target.fresh()
                is_shown, replies = self.target.shows(small)
                if is_shown:
                    tried, full, floor = self.tried[kind], self.result.full, self.result.floor
                    rows, of_rows = len({each[0].row.index for each in failures}), len(set(tried))
                    price = cost(kind, replies[0], rows, of_rows, full, floor)
                    counts = len(failures), len(tried), rows, of_rows
                    yield Finding(small, replies[0], *counts, price)
                    break

    def _minimal(self, probe: Probe, witness: Witness) -> Witness:
        """A shorter witness: fewer pairs, or half of the text, while the finding shows."""
        if time.monotonic() - self.started > _OF_WITNESSES * self.limits.seconds:
            return witness
        if witness.expect == ONE_TURN or witness.kind in ("batch", "batch zero", "patched"):
            return witness
        if len(witness.pairs) > 1 and witness.kind not in ("threads",):
            for pair in witness.pairs:
                one = replace(witness, pairs=[pair, pair] if witness.kind == "repeated" else [pair])
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
