"""Which forms of a right answer a target pays, how much, and what wrong answers earn there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import UsageError
from .probe_run import AGAIN, SLOW_S, ProbeRun
from .probes import SAME, UNEQUAL, Probe, answers
from .rows import LIST, TEXT, WHOLE, AuditRow
from .surfaces import Surface, in_turn, surfaces
from .targets import Witness

LEARNED = 3  # rows on which all forms are tried
OF_FORM_ALONE = "it judges the form alone, as it says: nothing to audit on rows"
_FORMS = 2  # accepted forms that are probed


def as_lists(run: ProbeRun, rows: list[AuditRow]) -> list[AuditRow]:
    """Rows whose members are all required, if the target pays them together and not alone."""
    listed = [
        replace(row, kind=LIST, gold=", ".join([row.gold, *row.others]), others=()) for row in rows
    ]
    for form in surfaces(rows[0], run.target.about.source, run.wrap):
        pairs = [(row, form(row.gold)) for row in [*rows, *listed]]
        earned = [reply.reward or 0.0 for reply in run.target.judge(pairs)]
        if sum(earned[len(rows) :]) > sum(earned[: len(rows)]):
            return listed
    return rows


def learn(run: ProbeRun, rows: Sequence[AuditRow]) -> bool:
    """Set the forms in which golds are paid, their reward, and that of wrong answers."""
    first = [row for row in rows if row.gold][:LEARNED] or rows[:LEARNED]
    source = run.target.about.source
    forms = in_turn([surfaces(row, source, run.wrap) for row in first])
    run.target.judge([(first[0], forms[0](first[0].gold))] * 2)
    if run.call_s > SLOW_S:
        first = first[:1]
    pairs = [(row, form(row.gold)) for form in forms for row in first]
    replies = run.target.judge(pairs)
    if all(reply.fault == "none" for reply in replies):
        run.result.note = "it returns None for every completion"
        return False
    if all(reply.fault == "raised" for reply in replies):
        run.target.chat = run.result.chat = True
        replies = run.target.judge(pairs)
    if all(reply.fault == "unfit" for reply in replies):
        raise UsageError(f"{run.target.spec}: {' '.join(replies[0].what.split())}")
    if all(reply.fault == "raised" for reply in replies):
        run.result.note = f"it raises on every completion: {replies[0].what}"
        return False
    earned = [reply.reward or 0.0 for reply in replies]
    _repeat(run, [pairs[at] for at in sorted(range(len(pairs)), key=earned.__getitem__)])
    width = len(first)
    by_form = [earned[at * width : (at + 1) * width] for at in range(len(forms))]
    for _ in range(_calls_of_one(run) - 1):  # a form may have been paid by chance
        again = [reply.reward or 0.0 for reply in run.target.judge(pairs)]
        for at, rewards in enumerate(by_form):
            rewards += again[at * width : (at + 1) * width]
    means = [sum(rewards) / len(rewards) for rewards in by_form]
    nothing = run.target.judge([(row, "I do not know.") for row in first])
    low = min((reply.reward or 0.0 for reply in nothing), default=0.0)
    order = sorted(range(len(forms)), key=lambda at: (-round(means[at], 6), at))
    best = order[0]
    full = max(by_form[best], default=0.0)
    run.tried_forms = forms
    floor = _floor(run, first, forms[best], full, low)
    alike = [at for at in order[1:] if abs(means[at] - means[best]) < 1e-9]
    while full - floor < 1e-9 and alike:  # another form may tell right from wrong
        at = alike.pop(0)
        lower = _floor(run, first, forms[at], full, low)
        if lower < floor:
            best, floor = at, lower
    if full - floor < 1e-9 or _is_indifferent(run, first, forms[best]):
        return _constant(run, forms[best], full)
    run.result.full, run.result.floor = full, floor
    run.is_graded = run.claims.similarity or _grades(run, first, forms[best])
    run.result.surface = forms[best]
    paid = [at for at in order if means[at] >= means[best] - 0.25 * (full - floor)]
    run.forms = _different([forms[at] for at in dict.fromkeys([best, *paid])])
    return True


def _calls_of_one(run: ProbeRun) -> int:
    """The calls that a verdict on one text takes: ten if the reward is random."""
    return AGAIN if UNEQUAL in run.failures else 1


def _repeat(run: ProbeRun, pairs: Sequence[tuple[AuditRow, str]]) -> None:
    """Repeat the calls with the highest, the lowest and a middle reward: results may differ."""
    chosen = [pairs[-1], pairs[0], pairs[len(pairs) // 2]]
    copies = 1 if run.call_s > SLOW_S else AGAIN
    calls = [(row.sent(), completion) for row, completion in chosen] * copies
    run.show(Witness(UNEQUAL, SAME, calls, run.result.threshold))


def _floor(
    run: ProbeRun, rows: Sequence[AuditRow], form: Surface, full: float, low: float
) -> float:
    """The reward of wrong answers in a form, or of no answer if wrong ones earn all."""
    pairs = [(row, form(text)) for row in rows for text in answers.wrong_texts(row)[:3]]
    earned = [reply.reward for reply in run.target.judge(pairs) if reply.reward is not None]
    lowest = min(earned, default=low)
    return lowest if lowest < full - 1e-9 else min(low, full)


def _grades(run: ProbeRun, rows: Sequence[AuditRow], form: Surface) -> bool:
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
    full, floor = run.result.full, run.result.floor
    rewards = [reply.reward for reply in run.target.judge(pairs) if reply.reward is not None]
    if UNEQUAL in run.failures:  # its noise is no grade
        tenths = {round(10 * (reward - floor) / (full - floor)) for reward in rewards}
        return len(tenths - {0, 10}) > 1
    low = floor + (full - floor) / 100
    return len({round(each, 6) for each in rewards if low < each < full - 1e-9}) > 1


def _is_indifferent(run: ProbeRun, rows: Sequence[AuditRow], form: Surface) -> bool:
    """Whether right and wrong answers of the same length always earn the same."""
    pairs = []
    for row in rows:
        wrong = answers.wrong_texts(row) + ["q" * len(row.gold)] * (row.kind == TEXT)
        if same := [each for each in wrong if len(each) == len(row.gold)]:
            pairs += [(row, form(row.gold)), (row, form(same[0]))] * _calls_of_one(run)
    rewards = [reply.reward for reply in run.target.judge(pairs)]
    paid = [pair for pair in zip(rewards[::2], rewards[1::2], strict=True) if pair[0]]
    return bool(paid) and all(right == wrong for right, wrong in paid)


def _constant(run: ProbeRun, form: Surface, full: float) -> bool:
    """All controls earn the same: a reward of the form alone, or one that pays everything."""
    row = next(row for row in run.rows if row.gold)
    if row.kind == WHOLE:
        run.result.note = "a text without an answer earns as much as the rows' responses"
    elif full > 0 and not run.claims.form:
        texts = ["I do not know.", *(form(each) for each in answers.wrong_texts(row))]
        replies = run.target.judge([(row, text) for text in texts])
        for text, reply in zip(texts, replies, strict=True):
            if reply.reward is not None and reply.reward >= full:
                run.record(Probe("ignores the gold", row, text), reply, threshold=full)
        run.result.note = "right and wrong answers earn the same"
    elif full > 0:
        run.result.note = OF_FORM_ALONE
    return False


def _different(forms: Sequence[Surface]) -> list[Surface]:
    """The first accepted form, and the next one that marks the answer in another way."""

    def marks(form: Surface) -> str:
        before, _, after = form.text.partition("{}")
        return f"{before[-8:]}|{after[:8]}"

    chosen = {marks(form): form for form in reversed(forms)}
    return [form for form in forms if chosen[marks(form)] is form][:_FORMS]
