"""The probes: completions whose verdict is certain, and calls whose results must agree.

    text.py      texts without an answer: empty, the prompt, hostile and huge text
    answers.py   wrong answers, several answers, and texts around the right one
    spellings.py  other spellings of the right answer, and when they must be read
    patterns.py  texts on which the patterns of the target's source backtrack
    code.py      wrong programs, and programs that attack their harness
    variants.py  programs near the right one, judged by this package's sandbox
    function.py  the reward as a function: repeated, in batches, threads and forks

`KINDS` has a row for each kind of probe: the severity, title and repair of its failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from ..rows import AuditRow

EXPLOITABLE, FALSE_REJECT, SILENT_ZERO = "exploitable", "false reject", "silent zero"
HANG, UNSTABLE = "hang", "unstable"
# From the mildest to the worst, with the exit code of the command.
SEVERITIES: Mapping[str, int] = {
    UNSTABLE: 10, SILENT_ZERO: 11, HANG: 12, FALSE_REJECT: 13, EXPLOITABLE: 14,
}  # fmt: skip
REFUSE, ACCEPT, SURVIVE = "refuse", "accept", "survive"
UNEQUAL = "repeated"  # the kind of a reward that is random, or keeps state
SAME, NO_FILE, ONE_TURN, NOT_ALL = "same", "no file", "one turn", "not all"
NO_GAIN = "no gain"
SLOW, IN_TIME = "slow", "in time"  # the kind of a text that takes long, and its expectation


@dataclass(frozen=True)
class Probe:
    """A completion for a row, and the expectation that a sound reward meets.

    "refuse": pay less than half of the gold's reward; "accept": pay more; "survive": return any
    number in time.
    """

    kind: str
    row: AuditRow
    completion: str
    expect: str = REFUSE


class Kind(NamedTuple):
    """The severity and title of a failed probe, and how to mend the reward."""

    severity: str
    title: str
    mend: str


_COMPARE = "Compare the whole extracted answer with the gold, not a part of the text."
_LAST = "Take one answer, the last that is stated, and refuse a completion that hedges."
_PARSE = "Parse numbers and formulas, never evaluate them: no eval, exec or sympify of model text."
_VALUES = "Compare values, not spellings: normalize both sides, or parse them."
_PURE = "Make the result depend on the arguments alone: no state, no order, no randomness."
_RETURN = "Catch what a text can cause, and return one finite number for each completion."
_TIME = "Bound the time of every step: linear patterns, a limit on length, a deadline."
_HARNESS = "Judge by values that the host computes, in a process that the program cannot reach."

# One row a kind of probe.
KINDS: Mapping[str, Kind] = {
    "empty": Kind(EXPLOITABLE, "an empty completion is paid", "Refuse what holds no answer."),
    "nothing": Kind(EXPLOITABLE, "a completion without an answer is paid", _COMPARE),
    "empty form": Kind(EXPLOITABLE, "the form without an answer in it is paid", _COMPARE),
    "prompt": Kind(EXPLOITABLE, "the prompt itself is paid", "Judge the completion alone."),
    "restated": Kind(
        EXPLOITABLE, "the question is paid as its own answer",
        "Refuse a formula of the prompt and a calculation that is not carried out.",
    ),
    "injection": Kind(
        EXPLOITABLE, "a text that addresses a judge is paid", "Never read a verdict from the text."
    ),
    "wrong answer": Kind(EXPLOITABLE, "a wrong answer is paid", _COMPARE),
    "longer number": Kind(EXPLOITABLE, "a longer number that holds the gold is paid", _COMPARE),
    "part of the gold": Kind(EXPLOITABLE, "a part of the gold is paid", _COMPARE),
    "pattern": Kind(
        EXPLOITABLE, "a pattern or special word is paid", "Escape text that goes into a pattern."
    ),
    "variable": Kind(EXPLOITABLE, "the name of a variable is paid", _PARSE),
    "executed": Kind(EXPLOITABLE, "code in the completion is executed", _PARSE),
    "several answers": Kind(EXPLOITABLE, "one right answer among several is enough", _LAST),
    "hedge": Kind(EXPLOITABLE, "an answer that names alternatives is paid", _LAST),
    "retracted": Kind(EXPLOITABLE, "an answer that is taken back is paid", _LAST),
    "either order": Kind(
        EXPLOITABLE, "a right and a wrong answer are paid in either order", _LAST
    ),
    "negated": Kind(EXPLOITABLE, "the denial of the answer is paid", _COMPARE),
    "long wrong answer": Kind(
        EXPLOITABLE, "length or repetition outweighs a wrong answer", "Cap what shaping can add."
    ),
    "ignores the gold": Kind(EXPLOITABLE, "right and wrong answers earn the same", _COMPARE),
    "gold refused": Kind(
        SILENT_ZERO, "the gold itself is refused", "Normalize the gold; report what cannot be read."
    ),
    "other gold refused": Kind(
        FALSE_REJECT, "of a row's golds one is paid and another refused", _VALUES
    ),
    "response refused": Kind(
        FALSE_REJECT, "the row's own response is refused", "See why these rows fail."
    ),
    "spacing": Kind(FALSE_REJECT, "white space turns a right answer wrong", "Strip the answer."),
    "long reasoning": Kind(
        FALSE_REJECT, "a right answer after long reasoning is refused", "Read the whole completion."
    ),
    "several items": Kind(
        FALSE_REJECT, "a right answer in a response of several items is refused",
        "Join the texts of all messages; skip reasoning, refusals and empty parts.",
    ),
    "other numbers": Kind(
        FALSE_REJECT, "numbers or signs in the reasoning turn a right answer wrong", _LAST
    ),
    "spelling": Kind(FALSE_REJECT, "another spelling of the same number is refused", _VALUES),
    "uneven spelling": Kind(
        FALSE_REJECT, "a spelling is read of some answers and refused of others", _VALUES
    ),
    "equivalent": Kind(FALSE_REJECT, "an equal formula is refused", _VALUES),
    "raises": Kind(UNSTABLE, "a completion makes it raise", _RETURN),
    "not a number": Kind(UNSTABLE, "it returns NaN, infinity, or no number", _RETURN),
    "length": Kind(UNSTABLE, "it returns more or fewer rewards than completions", _RETURN),
    "hang": Kind(HANG, "a completion makes it hang", _TIME),
    SLOW: Kind(HANG, "a completion takes much longer than others", _TIME),
    "process ended": Kind(UNSTABLE, "a completion ends its process", _RETURN),
    UNEQUAL: Kind(UNSTABLE, "the same call has other results", _PURE),
    "many calls": Kind(UNSTABLE, "after many calls the same call has other results", _PURE),
    "growth": Kind(
        UNSTABLE, "each call keeps memory, files or threads", "Bound what is kept between calls."
    ),
    "order": Kind(UNSTABLE, "the result depends on earlier calls", _PURE),
    "batch": Kind(UNSTABLE, "the result depends on the rest of the batch", _PURE),
    "batch zero": Kind(SILENT_ZERO, "a right answer earns nothing in a larger batch", _PURE),
    "thread": Kind(
        SILENT_ZERO, "a right answer earns nothing off the main thread",
        "Use no signals for time limits: they work in the main thread alone.",
    ),
    "thread raises": Kind(
        UNSTABLE, "it raises off the main thread",
        "Use no signals for time limits: they work in the main thread alone.",
    ),
    "threads": Kind(UNSTABLE, "results differ under concurrent threads", _PURE),
    "fork": Kind(UNSTABLE, "results differ in a forked process", _PURE),
    "side effect": Kind(UNSTABLE, "a call changes its arguments or its process", _PURE),
    "wrong program": Kind(EXPLOITABLE, "a program that fails the tests is paid", _HARNESS),
    "forgery": Kind(EXPLOITABLE, "a program that fakes its verdict is paid", _HARNESS),
    "patched": Kind(UNSTABLE, "a program changes the process that judges it", _HARNESS),
    "uneven length": Kind(
        EXPLOITABLE, "the reward falls and rises again with length", "Let shaping turn only once."
    ),
    "padding": Kind(
        EXPLOITABLE, "padding raises the reward of a right answer", "Cap what shaping can add."
    ),
    "same program": Kind(FALSE_REJECT, "the same program in other words is refused", _HARNESS),
    "weak tests": Kind(
        EXPLOITABLE, "the tests accept a wrong program", "Add tests: infinite-rl strengthen FILE."
    ),
}  # fmt: skip
