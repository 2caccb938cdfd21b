"""Clean-up of a teacher's trace: what it says of its instructions, and says twice, is not learnt.

Each filter takes a text and gives it without one kind of noise; all are linear in its length, and
leave what stands in code fences alone. None adds a word, so that what is kept can be judged anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ..layout import ANSWER_TAG

_FENCE = re.compile(r"[ \t]*(```|~~~)")
# What an instruction about the form of an answer speaks of ...
_FORM = re.compile(
    rf"</?{ANSWER_TAG}>|\b{ANSWER_TAG}\W{{1,4}}tags?\b|\\boxed\b|\bANSWER:"
    r"|\b(?:answer|output|response)\s+format\b|\bformat\s+of\s+the\s+(?:answer|output|response)\b"
    r"|\bon\s+its\s+own\s+line\b|\bcode\s+(?:block|fence)s?\b"
    r"|\bstep[- ]by[- ]step\b|\bshow\s+(?:my|your|the)\s+(?:reasoning|work|steps)\b"
    r"|\bfinal\s+(?:numeric\s+)?(?:answer|content)\s+(?:alone|once|only)\b",
    re.IGNORECASE,
)
# ... and how a model speaks of having been told, or of what it is about to write.
_TOLD = re.compile(
    r"\binstruct(?:ions?|ed|s)\b|\b(?:as\s+)?request(?:ed|s)?\b|\bas\s+(?:instructed|asked)\b"
    r"|\b(?:prompt|user|problem|question|task|system\s+message|it)\s+(?:says?|asks?|wants?|requires?)\b"
    r"|\b(?:I|we)\s+(?:should|must|need\s+to|have\s+to|will|am\s+(?:asked|told|supposed)"
    r"|are\s+(?:asked|told))\b|\b(?:I|we)['\u2019](?:ll|m|re)\b"
    r"|\blet\s+me\s+(?:now\s+)?(?:output|write|format|present|put|provide)\b"
    r"|\bremember\s+to\b|\bmake\s+sure\b|\bdon['\u2019]t\s+forget\b|\bat\s+the\s+(?:very\s+)?end\b",
    re.IGNORECASE,
)
_COMPUTES = re.compile(r"[\w)}][ \t]{0,3}=[ \t]{0,3}[-\d({\\]")  # such a sentence is not only echo
_SENTENCE = re.compile(r"(?<=[^\d\s][.!?])[ \t]+(?=[A-Z\d\"'(*<$\\])|(?<=\d[.!?])[ \t]+(?=[A-Z])")
_WORD = re.compile(r"\w+")
_LEAST_ECHO = 5  # words that a sentence shares with its instructions, in their order
_LONGEST_SENTENCE = 2_000  # characters: what is longer is no echo
_STATED_WITHIN = 400  # characters at the end, in which an answer may be stated once more
_MOST_STATEMENTS = 20  # lines
_NESTED = r"((?:[^{}\n]|\{[^{}\n]*\})*)"
# A line, or a tag of several lines, that only states the answer; the best form first.
_STATEMENTS = tuple(
    re.compile(rf"(?<=\n)[ \t]*{form}[ \t]*\Z", re.IGNORECASE)
    for form in (
        rf"<{ANSWER_TAG}>([^<>]*)</{ANSWER_TAG}>",
        rf"(?:\\\[|\$\$?)?[ \t]*\\boxed\{{{_NESTED}\}}\.?[ \t]*(?:\\\]|\$\$?)?\.?",
        r"####[ \t]*([^\n#]+)",
        r"\**(?:the[ \t]+)?(?:final[ \t]+)?answer(?:[ \t]+is)?\**[ \t]*[:=]\**[ \t]*([^\n]+?)\**",
    )
)
_NO_VALUE = re.compile(r"[\s$,*]|\\[!,;]|\.\Z")


def cleaned(text: str, told: str = "", answer: str = "") -> str:
    """A text after all filters; `told` are its instructions, `answer` is what follows it."""
    text = without_repeated_answers(without_echoes(text, told), answer)
    return collapsed_blanks(text).strip()


def without_echoes(text: str, told: str = "") -> str:
    """Without sentences about the form of the answer, and those that repeat what was `told`."""
    known = f" {_words(told)} "

    def lines(part: str) -> str:
        kept = []
        for line in part.split("\n"):
            sentences = _SENTENCE.split(line)
            left = [each for each in sentences if not _is_echo(each, known)]
            if len(left) == len(sentences):
                kept.append(line)
            elif left:
                kept.append(" ".join(left))
        return "\n".join(kept)

    return _outside_fences(text, lines)


def _is_echo(sentence: str, known: str) -> bool:
    if len(sentence) > _LONGEST_SENTENCE or _COMPUTES.search(sentence):
        return False
    if _FORM.search(sentence) and _TOLD.search(sentence):
        return True
    words = _words(sentence)
    return words.count(" ") + 1 >= _LEAST_ECHO and f" {words} " in known


def _words(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def without_repeated_answers(text: str, answer: str = "") -> str:
    """Without the lines at the end that only state what `answer` states at its own end; else, where
    several state the same, with one of them: a tag, else a box, `####`, "ANSWER:".

    Where they differ from each other all are left: which one counts is not for a filter to say.
    """
    rest, stated = _parted(text)
    values = {each.value for each in stated}
    if len(values) != 1:
        return text
    if values <= {each.value for each in _parted(answer)[1]}:
        return rest
    return text if len(stated) == 1 else f"{rest}\n\n{min(stated).words}".lstrip("\n")


class _Statement(NamedTuple):
    """A line that only states an answer: the rank of its form, what it states, and its words."""

    rank: int
    value: str
    words: str


def _parted(text: str) -> tuple[str, list[_Statement]]:
    """A text without the statements at its end, and these, the last one first."""
    stated: list[_Statement] = []
    text = text.rstrip()
    while True:
        begin = max(0, len(text) - _STATED_WITHIN)
        window = text[begin:] if begin else f"\n{text}"
        tries = ((rank, form.search(window)) for rank, form in enumerate(_STATEMENTS))
        rank, found = next(((rank, hit) for rank, hit in tries if hit), (0, None))
        if found is None or len(stated) == _MOST_STATEMENTS:
            return text, stated
        stated.append(_Statement(rank, _NO_VALUE.sub("", found[1].casefold()), found[0].strip()))
        text = text[: len(text) - len(found[0])].rstrip()


def collapsed_blanks(text: str) -> str:
    """With one empty line at most between two others, and no white space at the end of lines."""

    def lines(part: str) -> str:
        stripped = "\n".join(line.rstrip() for line in part.split("\n"))
        return re.sub(r"\n{3,}", "\n\n", stripped)

    return _outside_fences(text, lines)


def _outside_fences(text: str, change: Callable[[str], str]) -> str:
    """The text with the lines changed that are in no code fence."""
    done: list[str] = []
    part: list[str] = []
    opened = ""
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if fence and not opened:
            done += [change("\n".join(part))] if part else []
            part, opened = [line], fence[1]
        elif fence and fence[1] == opened:
            done.append("\n".join([*part, line]))
            part, opened = [], ""
        else:
            part.append(line)
    rest = "\n".join(part)
    return "\n".join([*done, *([rest if opened else change(rest)] if part else [])])
