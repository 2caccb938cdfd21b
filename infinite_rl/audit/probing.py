"""The probes of each row, in the accepted forms, as far as the target's claims allow them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from typing import Any

from .foreign_reward.conventions import MESSAGES
from .learning import LEARNED
from .probe_run import MOST_HANGS, SLOW_S, ProbeRun
from .probes import (
    ACCEPT,
    IN_TIME,
    KINDS,
    NO_FILE,
    NO_GAIN,
    NOT_ALL,
    ONE_TURN,
    REFUSE,
    SAME,
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
from .rows import CODE, NUMBER, QUERY, WHOLE, AuditRow
from .surfaces import Surface, surfaces
from .targets import Witness, pays

_GOLDS_S = 5.0  # for the golds of all rows
_TOO_LONG_S, _TOO_LONG = 1.0, 10  # seconds of a call that is slow, and times the fastest call
_OF_SHORT = 0.85  # share of the time after which the calls with a short text are cut
_LONG_S = 0.1  # seconds of a call with a long text, from which a longer one is tried
_CALLED = 12  # rows whose answers are called in batches, threads and forks
_FORGED = 2  # rows of code whose harness is attacked
_FIRST = 24  # programs of the first row, before those that do not end
_ENOUGH = 3  # failures of one kind, of a target that runs programs
_MORE = 3  # programs of that kind that each further row is asked


def note_on_unpaid(run: ProbeRun, rows: Sequence[AuditRow]) -> str:
    """A note on a target that pays no gold. It may pay the prompts, which is a finding."""
    if UNEQUAL in run.failures:
        return "the same call has other results, so no form of a right answer is certain"
    probes = [Probe("prompt", row, row.prompt) for row in rows if row.prompt]
    others = run.target.judge([(probe.row, "?") for probe in probes])
    low = max((reply.reward or 0.0 for reply in others), default=0.0)
    replies = run.target.judge([(probe.row, probe.completion) for probe in probes])
    paid = [reply.reward for reply in replies if reply.reward is not None]
    paid = [reward for reward in paid if reward > low]
    if paid and len(paid) >= len(probes) / 2:
        for probe, reply in zip(probes, replies, strict=True):
            run.record(probe, reply, threshold=min(paid))
        return "no gold is paid, but the prompt is"
    return (
        "no form of a right answer was paid, so no verdict is certain: state the form with "
        "--wrap 'TEXT {answer} TEXT', or give the rows a column response"
    )


def probe_golds(run: ProbeRun, rows: Sequence[AuditRow]) -> None:
    """Each row's gold in the accepted form, and its own response, must be paid."""
    form = run.forms[0]
    most = max(len(rows), min(200, int(_GOLDS_S / max(1e-3, run.call_s))))
    golds = [row for row in run.rows[:most] if row.gold]
    run.probe([Probe("gold refused", row, form(row.gold), ACCEPT) for row in golds])
    if len(golds) - len(run.failures["gold refused"]) < 2:
        run.failures.pop("gold refused")  # the form was not learned for most rows
    for row in rows:
        others = (Probe("other gold refused", row, form(text), ACCEPT) for text in row.others)
        run.probe_alike(list(others))
    own = [row for row in rows if row.response and row.gold and row.gold in row.response]
    run.probe([Probe("response refused", row, row.response, ACCEPT) for row in own])
    if len(run.failures["response refused"]) > len(own) / 2:
        run.failures.pop("response refused")


def probe_unlearned(run: ProbeRun, rows: Sequence[AuditRow]) -> None:
    """The probes that need no paid answer: texts to survive."""
    source = run.target.about.source
    run.tried_forms = run.tried_forms or surfaces(rows[0], source, run.wrap)
    named = [form for form in run.tried_forms if form.text.partition("{}")[0][-12:] in source]
    run.forms = list(dict.fromkeys([*named, run.tried_forms[0], Surface("alone", "{}")]))[:5]
    for form in run.forms:
        run.probe(list(text.hostile(rows[0], form)))
        run.probe_apart(list(text.expensive(rows[0], form)))
    _huge(run, rows[0])


def probe_rows(run: ProbeRun, rows: Sequence[AuditRow]) -> None:
    refused = {probe.row.index for probe, _, _ in run.failures["gold refused"]}
    rows = [row for row in rows if row.index not in refused]
    _programs(run, [row for row in rows if row.kind == CODE])
    rows, about = [row for row in rows if row.kind != CODE], run.target.about
    if rows and rows[0].kind != WHOLE:
        texts = answers.lengths(rows[0], run.forms[0])
        pairs = [(rows[0].sent(), each) for each in texts]
        run.show(Witness("uneven length", ONE_TURN, pairs, run.result.threshold))
        _padding(run, pairs)
    for number, row in enumerate(rows):
        run.stage = f"the probes, from row {number + 1} of {len(rows)} on"
        if number < LEARNED and (texts := answers.wrong_texts(row)):
            # Whatever the form: a text that states a wrong answer alone is wrong.
            run.probe([Probe("wrong answer", row, form(texts[0])) for form in run.tried_forms])
        before = rows[number - 1].gold
        if (
            number
            and row.kind == NUMBER == rows[number - 1].kind
            and answers.number(before) != answers.number(row.gold)
        ):
            run.probe([Probe("wrong answer", row, run.forms[0](before))])
        if run.claims.similarity:
            nothing = text.nothing(row, run.forms[0])
            run.probe([each for each in nothing if each.kind in ("empty", "nothing")])
            run.probe(list(answers.dissimilar(row, run.forms[0], about.doc)))
            run.probe(list(text.hostile(row, run.forms[0])) if number < 2 else [])
            continue
        for form in run.forms:
            probes = [*text.nothing(row, form)]
            if about.prompted:
                probes += text.restated(row, form, tolerant=run.claims.tolerance or row.tolerant)
            probes += answers.wrong(row, form, about.source)
            run.probe([*probes, *answers.several(row, form)])
            if not run.is_graded:
                run.probe(list(answers.right(row, form)))
            if not run.claims.first:
                run.probe(list(answers.retracted(row, form)))
        if number < LEARNED and not run.claims.anywhere:
            pairs = [(row.sent(), each) for each in answers.either_order(row, run.forms[0])]
            if pairs:
                run.show(Witness("either order", NOT_ALL, pairs, run.threshold(REFUSE)))
        if number < 2:
            run.probe(list(text.hostile(row, run.forms[0])))
            run.probe_apart([*text.expensive(row, run.forms[0])])
            _executed(run, row)
        if number == 0:
            _messages(run, row)
    run.stage = "the probes of spellings and of long texts"
    if not run.is_graded:
        _spellings(run, rows)
    if rows:
        _huge(run, rows[0])


def _programs(run: ProbeRun, rows: Sequence[AuditRow]) -> None:
    """Wrong programs, forgeries and right programs; of the first row those that do not end."""
    form = run.forms[0]
    for number, row in enumerate(rows):
        run.stage = f"the programs, from row {number + 1} of {len(rows)} on"
        if number == 0:  # on a process that no program has changed yet
            pairs = [(row.sent(), code.patching(row, form))]
            run.show(Witness("patched", SAME, pairs, run.result.threshold))
        near = variants.variants(row, form, _pays_partly(run, row), run.target.check_time)
        source = run.target.about.source
        attacks = code.forgeries(row, form, source) if number < _FORGED else ()
        plain = code.wrong(row, form) if number < _FORGED else ()
        # In turn: a target that runs each program for a second is asked some of each.
        turns = zip_longest(attacks, plain, near)
        programs = (probe for turn in turns for probe in turn if probe is not None)
        _run_some(run, islice(programs, _FIRST))
        if number == 0:
            run.endless = list(code.endless(row, form))
            if not run.target.is_server:
                run.probe_apart(run.endless)
        _run_some(run, programs)
        if number == 0:
            run.probe(list(text.nothing(row, form)))
            _messages(run, row)


def _run_some(run: ProbeRun, probes: Iterable[Probe]) -> None:
    """Run probes one at a time, of each kind until some have failed, and a few more."""
    more = dict.fromkeys(KINDS, _MORE)
    for probe in probes:
        if len(run.failures[probe.kind]) >= _ENOUGH:
            more[probe.kind] -= 1  # what is paid in one row may raise in another
        if more[probe.kind] > 0:
            run.probe([probe])
            if "patched" in run.failures and code.patches(probe.completion):
                run.target.fresh()


def _pays_partly(run: ProbeRun, row: AuditRow) -> bool:
    """Whether a program that passes half of the tests earns a part of the reward."""
    half = variants.half_table(row)
    [reply] = run.target.judge([(row, run.forms[0](half))])
    step = (run.result.full - run.result.floor) / 100
    low, high = run.result.floor + step, run.result.full - step
    return not half or reply.reward is not None and low < reply.reward < high


def _messages(run: ProbeRun, row: AuditRow) -> None:
    """Answers in the messages of a chat, or in the items of a response."""
    if run.target.kind == "nemo_gym":
        # A strict form has no line before it, in one message or in two.
        lead, answer = "Let me think.\n", run.forms[0](row.gold)
        [reply] = run.target.judge([(row, lead + answer)])
        lead *= pays(reply, run.result.threshold)
        run.probe(list(text.responses(row, run.forms[0], lead)))
    elif _reads_messages(run, row):
        run.probe(list(text.messages(row, run.forms[0])))


def _reads_messages(run: ProbeRun, row: AuditRow) -> bool:
    """Whether the target pays the gold in a chat message, and knows of tools."""
    if not run.claims.tools and not re.search(r"\btool", " ".join(row.columns), re.I):
        return False  # without tools each message has a text
    if run.target.chat or run.target.kind not in ("trl", "verifiers"):
        return run.target.chat
    chat = [{"role": "assistant", "content": run.forms[0](row.gold)}]
    [reply] = run.target.judge([(row, MESSAGES + json.dumps(chat))])
    return pays(reply, run.result.threshold)


def _spellings(run: ProbeRun, rows: Sequence[AuditRow]) -> None:
    """Spellings that the target promises to read, or that it reads of other golds."""
    about, form = run.target.about, run.forms[0]
    others: dict[str, list[Probe]] = defaultdict(list)
    for row in rows:
        for name, spelling in spellings.spelled(row, form.bounded):
            if spelling == row.gold:
                continue
            kind = "equivalent" if name in spellings.FORMULAS else "spelling"
            probe = Probe(kind, row, form(spelling), ACCEPT)
            is_plain = name in spellings.PLAIN and not run.claims.spelling
            if is_plain or spellings.promised(name, about.text):
                run.probe([probe])
            else:
                others[name].append(replace(probe, kind="uneven spelling"))
    for probes in others.values():
        run.probe_alike(probes)


def _huge(run: ProbeRun, row: AuditRow) -> None:
    """Long texts, and much longer ones of the same kind if one takes long."""
    source, form = run.target.about.source, run.forms[0]
    sizes = (text.huge(row, form, source, size) for size in text.SIZES)
    for short, long in zip(*sizes, strict=True):
        if run.hangs >= MOST_HANGS:
            return
        [reply] = run.target.judge([(short.row, short.completion)])
        run.record(short, reply)
        if not reply.fault and reply.seconds > _LONG_S:
            run.probe([long])


def _executed(run: ProbeRun, row: AuditRow) -> None:
    for probe in answers.executed(row, run.forms[0]):
        pairs = [(row.sent(), probe.completion)]
        run.show(Witness("executed", NO_FILE, pairs, run.result.threshold), probe)


def probe_function(run: ProbeRun, rows: Sequence[AuditRow]) -> None:
    form, pairs = run.forms[0], []
    most = LEARNED if run.call_s > SLOW_S else _CALLED
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
    run.target.fresh()
    for witness in function.witnesses(run.target, pairs, run.result.threshold):
        if witness.kind not in run.failures:
            run.show(witness)


def _padding(run: ProbeRun, pairs: Sequence[tuple[Mapping[str, Any], str]]) -> None:
    """Whether a right answer earns more after words; `pairs` are from the shortest text on."""
    if UNEQUAL in run.failures or "uneven length" in run.failures:
        return
    earned = [reply.reward or 0.0 for reply in run.target.judge(pairs)]
    best = max(range(len(pairs)), key=earned.__getitem__)
    limit = (run.result.full - run.result.floor) / 10
    run.show(Witness("padding", NO_GAIN, [pairs[best], pairs[0]], limit))


def note_slowest(run: ProbeRun) -> None:
    """Note the slowest text if it took the time: its call was ended, or the text made it slow.

    Programs may run as long as their reward allows, and are no texts that make it slow.
    """
    if run.target.slowest is None:
        return
    row, completion, reply = run.target.slowest
    seconds = run.target.seconds_of(reply)
    if reply.fault == "timeout":
        run.record(Probe("hang", row, completion, SURVIVE), reply)
        return
    with run.until(_OF_SHORT, "the calls with a short text"):
        run.target.judge([(row, "?")] * 2)  # to compare with
    limit = max(_TOO_LONG_S, _TOO_LONG * run.target.fastest)
    if seconds >= limit and row.kind not in (CODE, QUERY):
        witness = Witness(SLOW, IN_TIME, [(row.sent(), completion)], seconds / 2)
        run.tried[SLOW].append(row.index)
        run.failures[SLOW].append((Probe(SLOW, row, completion, IN_TIME), witness, reply))
