"""What the words around a number say of it: that it is the answer, that it is not, or more. Pure.

Nothing is guessed: a sentence with a second number, with a word that counts, compares or denies, or
with a sign of calculation is left as it is.
"""

from __future__ import annotations

import re

# What a model writes when it has ended, and what its own text does not go on behind.
_ENDED = re.compile(
    r"<\|(?:im_end|endoftext|end_of_text|eot_id|eom_id|end_of_turn|return)\|>"
    r"|<end_of_turn>|<eos>|<｜end▁of▁sentence｜>|</s>"
)
_LONGEST = 400  # characters of a sentence that is read
_NUMERAL = r"\d[\d,]*(?:\.\d+)?|\.\d+"
_SENTENCE = re.compile(
    r"(?P<before>[^\d]*?)"
    rf"(?P<number>(?:[-+\u2212][ \t]?)?(?:\\?\$|[€£])?[-\u2212]?(?:{_NUMERAL}))"
    r"(?P<after>[^\d]*)"
)
_MONEY = re.compile(r"\\?\$|[€£]")
# Between words; a hyphen or an apostrophe stands in one.
_GAPS = re.compile(r"(?:[\s*()!:=]|[.,](?=[\s*)]|\Z))+")
_WORD = re.compile(r"[^\W\d_]{2,}(?:['\u2019-][^\W\d_]+)*['\u2019]?|[aAI]")
# Words with which a sentence says more than "it is this number".
_WORDS = """
    not no never neither nor cannot without doubt wrong incorrect false mistake wait actually sorry
    correction oops forgot instead however alternatively but except or either maybe perhaps possibly
    unless if whether between from most least than over under above below up almost nearly about
    approximately roughly around somewhere plus minus negative times divided multiplied squared
    cubed square cube root power mod modulo pi sqrt infinity factorial choose percentage twice too
    reciprocal inverse opposite close far off double triple thrice half halves third thirds quarter
    quarters fifth fifths tenth tenths hundred hundreds thousand thousands million millions billion
    billions trillion trillions dozen dozens score zero one two three four five six seven eight nine
    ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty
    forty fifty sixty seventy eighty ninety step part question problem exercise example page option
    choice number line
"""
_TELLING = frozenset(_WORDS.split())
# Before a number in its line: it is denied, one of several, compared, or half of a calculation.
_DENIED = re.compile(
    r"(?:\b(?:not|never|cannot|nor|or|either|maybe|perhaps|possibly)|n['\u2019]t)"
    r"(?:\s+(?:be|equal|to|just|simply|really|the|answer|is)){0,3}[\s$*:(\[\\]*\Z",
    re.IGNORECASE,
)
_COUNTED_BEFORE = re.compile(
    r"(?:(?:[\d}]|\d\)|\b[b-zB-Z])[ \t]*(?:\*|[-+/\u2212\u00d7\u00b7\u00f7])"
    r"|[\w)}][ \t]*[<>\u2260\u2264\u2265\u00b1^]"
    r"|\\(?:cdot|times|div|pm|mp|neq?|lt|gt|leq?|geq?))[ \t]*(?:\\?[$(\[])?[ \t]*\Z"
    r"|\d\$?\Z|\\(?:sqrt|[dt]?frac(?:\{[^{}]*\})?)\s*\{\s*\Z"
)
# Behind it: more digits, a calculation, a letter.
_COUNTED_BEHIND = re.compile(
    r"[.,]?\d|[ \t$]*(?:[*+/\u00d7\u00b7\u00f7\u00b1^]|[-\u2212](?=[ \t]*[\d\\{(])"
    r"|\\(?:cdot|times|div|pm|mp))[ \t]*(?:\d|[\\{(])|[A-Za-z](?![A-Za-z])"
)
_UNIT = re.compile(
    r"[\s$*]*(?:\\[,;! ])*(?:\\(?:text|mathrm)\s*\{\s*)?"
    r"(\\?%|per ?cent\b|(?:hundred|thousand|million|billion|trillion|dozen)s?\b)",
    re.IGNORECASE,
)
_ASKED = re.compile(r"[\s$*)\]}.\\]{0,6}\?")
_DOUBT = re.compile(
    r"\b(?:wrong|incorrect|false|mistaken?|forgot|scratch\s+that)\b"
    r"|(?:\bnot|n['\u2019]t)\s+(?:(?:be|look|seem|sound)\s+)?(?:right|correct|it\b|the\s+(?:right|correct|final|answer))",
    re.IGNORECASE,
)
_HARMLESS = re.compile(r"\b(?:if|any|anything|no\s+mistakes?|nothing|whether)\b", re.IGNORECASE)
_OTHERWISE = re.compile(
    r"(?:\A[\s$*)\]}\\.,(]*(?:\\text\s*\{\s*)?or"
    r"|(?:\A|[.,;:!?(\n])[\s$*)\]}\\.]*(?:\\text\s*\{\s*)?(?:hmm+,?\s*)?"
    r"\b(?:but|however|alternatively|no|instead|rather|hold\s+on|wait|actually|correction|oops"
    r"|sorry|i\s+mean))\b",
    re.IGNORECASE,
)
_BEHIND = 200  # characters that are looked at
_END_OF_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def until_ended(text: str) -> str:
    """A text up to the first mark by which a model ends its turn, such as `<|im_end|>`."""
    found = _ENDED.search(text)
    return text[: found.start()] if found else text


def number_in(sentence: str) -> str:
    """The number of a sentence such as "She makes $18 a day.", or else the sentence as it is.

    It is the only one, and no word counts ("two", "dozen"), compares ("more than"), denies or takes
    back. A name before a number ("question 18") is such a word as well.
    """
    if len(sentence) > _LONGEST:
        return sentence
    found = _SENTENCE.fullmatch(sentence)
    if found is None:
        return sentence
    before, number, after = found.group("before", "number", "after")
    if before[-1:].isalnum() or after[:1].isalnum() or after[:1] in ("!", "-"):
        return sentence
    amount = re.sub(r"[\\$€£\s]", "", number).replace("\N{MINUS SIGN}", "-")
    rest = f"{before} {after if _MONEY.search(number) is None else after.removeprefix('$')}"
    words = [word for word in _GAPS.split(rest) if word]
    plain = all(_WORD.fullmatch(word) and not _tells(word.lower()) for word in words)
    return amount if plain else sentence


def _tells(word: str) -> bool:
    return word.endswith(("n't", "n\u2019t")) or _TELLING.issuperset(word.split("-"))


def unit_behind(behind: str) -> str:
    """What belongs to a number right before: "%", "thousand" and the like; "" without any."""
    found = _UNIT.match(behind)
    return found[1] if found else ""


def fault_before(before: str, *, box: bool = False) -> str:
    """Why a statement is none, by what stands before it in its line; "" where it is one.

    A `box` may also be part of a formula.
    """
    line = before[-_BEHIND:].rpartition("\n")[2]
    if _DENIED.search(line):
        return "an answer that is denied or left open"
    return "a calculation with the answer" if box and _COUNTED_BEFORE.search(line) else ""


def fault_behind(behind: str, answer: str) -> str:
    """Why a statement is none, by what stands right behind it; "" where it is one.

    A remark ("Wait, ...", "But ...") whose last number is that of the answer confirms it.
    """
    if _COUNTED_BEHIND.match(behind):
        return "a calculation with the answer"
    if _ASKED.match(behind):
        return "an answer that is asked, not stated"
    sentences = _END_OF_SENTENCE.split(behind[:_BEHIND])
    if any(_doubts(each, answer) for each in sentences):
        return "an answer that is taken back"
    return ""


def _doubts(sentence: str, answer: str) -> bool:
    harmless = _HARMLESS.search(sentence)
    if not harmless and _DOUBT.search(sentence):
        return True
    other = _OTHERWISE.search(sentence)
    numbers = re.findall(_NUMERAL, sentence[other.start() :]) if other else []
    if not numbers or (harmless and harmless.start() < sentence.find(numbers[0])):
        return False
    return numbers[-1] not in re.findall(_NUMERAL, answer)[-1:]
