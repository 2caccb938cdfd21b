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
# A base model goes on with the next exercise of its own making.
NEXT_QUESTION = re.compile(r"^(?:Q|Question|Problem)[ \t]{0,3}\d{0,6}[ \t]{0,3}[:.]", re.MULTILINE)
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
# Words that deny the answer right behind them, over others that only lead to it.
_DENYING = """
    not never cannot nor or neither either maybe perhaps possibly doubt wrong incorrect false except
    unlike
"""
_DENIALS = frozenset(_DENYING.split())
_DENYING_ALL = _DENIALS | {"but", "of", "than"}
_PAIRS = frozenset(
    ["anything but", "all but", "everything but", "instead of", "rather than", "other than"]
)
_COMPARED = frozenset(["more than", "less than", "greater than", "smaller than"])
_ON_THE_WAY = """
    be equal equals to just simply really exactly actually the answer is it its that think believe
    say sure certain a an final value result in x y n text textbf mathrm quad qquad
"""
_LEADING = frozenset(_ON_THE_WAY.split())
# What a sentence leaves open right before a number: "it might be", "suppose x is", "if it were".
_SUPPOSED = re.compile(
    r"\b(?:suppos(?:e|ing)|assum(?:e|ing)|imagine|pretend)\b"
    r"(?:\s+(?:that|the|final|correct|answer|it|is|was|were|equals?|value|of|\$?[a-z](?![a-z])))*"
    r"[\s$=({]*\Z"
    r"|\b(?:might|(?:it|this|that|answer|result)\s+(?:may|could))\s+(?:be|equal|have\s+been)"
    r"(?:\s+to)?[\s$=({]*\Z"
    r"|(?:(?<!\bi )\bwould|\b(?:might|may|could))\s+(?:think|guess|believe)\b[^.,;:!?\n]*\Z"
    r"|\b(?:might|may|could)\s+say\b[^.,;:!?\n]*\Z"
    r"|\b(?:(?:wrong|incorrect|false|mistaken|trap|tempting|naive|previous|old)\)?\s+"
    r"(?:answer|guess|solution)|mistake)(?:\s+(?:is|was|would|be|to|say|get|write))*[\s$=:({]*\Z"
    r"|\bif\b[^.,;:\n]{0,60}\bwere(?:\s+equal\s+to)?[\s$=({]*\Z",
    re.IGNORECASE,
)
# One of these is in all that it finds; to look for them takes a tenth of the time.
_IN_ALL = """
    suppos assum imagine pretend might may could think guess believe wrong incorrect false mistake
    trap tempting naive previous old were
"""
_SUPPOSING = _IN_ALL.split()
_PIECE = re.compile(r"[^\s$*:(\[\]\\={}&_]+")
_NEAR = 80  # characters that are looked at before a statement, and for words
_PHRASE = 50
# What may stand between a sign and its box; then what makes the box a part of something else.
_OPENED = r"(?:[$({]|\\[(,;:! ]|\\left|\\\$|[ \t])*\Z"
_TOUCHING = r"(?:[$({]|\\[(,;:!]|\\left|\\\$)*\Z"
_COUNTED_BEFORE = re.compile(
    rf"(?:(?:[\d}}]|\d\)|\b[b-z])[ \t]*(?:\*|[-+/\u2212\u00d7\u00b7\u00f7])"
    rf"|(?:[)}}]|(?<![</\w])\w{{1,20}})[ \t]*[<>\u2260\u2264\u2265\u00b1^]|[)}}\w]_"
    rf"|(?:(?:[=(&]|\\\\)[ \t]*|\$)[-\u2212]"
    r"|\\(?:cdot|times|div|pm|mp|neq?|not|lt|gt|leq?|geq?|sqrt(?:\[[^\[\]]*\])?|pi|exp"
    r"|(?:sin|cos|tan|log|ln)(?:_\{?\w{1,9}\}?)?)"
    rf"){_OPENED}"
    rf"|(?:\d|(?<![-\u2212])[-\u2212]|(?<![A-Za-z\\])[b-z]){_TOUCHING}"
    r"|(?:\\[dtc]?frac|\\binom)(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\})?\s*\{\s*\Z"
    r"|(?:~~|\\[hv]?phantom\{|\\x?b?cancel\{|\\sout\{|\\overline\{)[\s$]*\Z"
)
# Behind it: more digits, a calculation, a factor.
_LETTER = "[b-zB-HJ-Z](?![A-Za-z])"
_CLOSED = r"(?:[ \t$]|\\[,;!)]|(?:\\right)?\))*"
_COUNTED_BEHIND = re.compile(
    r"(?:[$)\]]|\\[)\]])?(?:[.,]|\{,\}|\\,)?\d"
    rf"|(?:\s*\^\s*\{{?\s*\\circ\s*\}}?)?{_CLOSED}(?:[*+/\u00d7\u00b7\u00f7\u00b1]"
    r"|\^(?!\s*\{?\s*(?:\\circ|\\text|\\mathrm|\\prime|st|nd|rd|th))"
    rf"|[-\u2212](?=[ \t]*(?:[\d\\{{(]|{_LETTER}))|\\(?:cdot|times|div|pm|mp))"
    rf"[ \t$]*(?:[\d\\{{(]|{_LETTER})"
    r"|[A-Za-z](?![A-Za-z])|_(?=[\d{])|\((?:[A-Za-z]|\d+)\s*[-+]"
    rf"|{_CLOSED}\\(?:pi|sqrt|[dt]?frac|sin|cos|tan|log|ln)(?![A-Za-z])"
    rf"|{_CLOSED}(?:->|\u2192|\\(?:to|[rR]ightarrow)\b)[ \t$]*\d"
)
# `2 + \\boxed{3} = 5`: a box that fills a gap.
_EQUATION = re.compile(r"[^\n=.,;<>]{0,60}=")
_CALCULATED = "a calculation with the answer"
_UNIT = re.compile(
    r"[\s$*]*(?:\\[,;! ])*(?:\\(?:text|mathrm)\s*\{\s*)?"
    r"(\\?%|per ?cent\b|(?:hundred|thousand|million|billion|trillion|dozen)s?\b)",
    re.IGNORECASE,
)
_ASKED = re.compile(r"[\s$*)\]}.\\]{0,6}(?:,?\s+or\s[a-z\s]{1,30})?\?")
_DOUBT = re.compile(
    r"\b(?:wrong|incorrect|false|mistaken?|made\s+an\s+error|forgot|(?:scratch|strike)\s+that)\b"
    r"|(?:\bnot|n['\u2019]t)\s+(?:(?:be|look|seem|sound)\s+)?(?:right|correct|it\b|the\s+(?:right|correct|final|answer))",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"\b(?:if|any|anything|no\s+mistakes?|nothing|whether|others?|options|choices|statements"
    r"|(?:option|choice|statement|answer)\s+\(?(?:[A-E1-5]|I+)\b)",
    re.IGNORECASE,
)
_OTHERWISE = re.compile(
    r"(?:\A[\s$*)\]}\\.,(]*(?:\\text\s*\{\s*)?or"
    r"|(?:\A|[.,;:!?(\n])[\s$*)\]}\\.]*(?:\\text\s*\{\s*)?(?:hmm+,?\s*)?"
    r"\b(?:no|instead|rather|hold\s+on|wait|actually|hmm+|correction|edit(?=:)|oops|sorry|i\s+mean"
    r"|on\s+second\s+thoughts?|another\s+(?:possible\s+|valid\s+)?answer|also\s+possible"
    r"|alternatively(?=\s+\$?\d)|it\s+(?:could|might|may)\s+(?:also\s+|even\s+)?be(?=[\s$\\(]+\d)"
    r"|(?:but|however|alternatively)\b(?=[^\d]{0,40}(?:\b(?:is|be|answer|gets?|gives?)\b|'s\b|[=,:])"
    r"[\s$*(\\]{0,9}\d)))\b",
    re.IGNORECASE,
)
# What is said of a number that stands before it: "does not work", "is too large".
_FAILS = re.compile(
    r"(?:[\s$*)\]}]|\\[)\]])*(?:,\s*which\s+|,?\s*but\s+(?:this|that|it)\s+)?"
    r"(?:(?:does|do|did)(?:\s+not|n['\u2019]t)\s+(?:work|satisfy|fit|hold|suffice)\b"
    r"|(?:is|are|was)(?:\s+not|n['\u2019]t)\s+(?:possible|valid|allowed|acceptable|a\s+(?:valid\s+)?solution)\b"
    r"|(?:can\s*not|can['\u2019]t)\s+(?:work|hold|be\s+(?:the|right|correct|true|it|an?)\b)"
    r"|(?:is|are|was|seems|looks)\s+(?:too\s+\w+(?!\s+to\b)\b|impossible|rejected|extraneous|invalid|excluded|ruled\s+out)\b"
    r"|(?:fails|contradicts|violates|leads\s+to\s+a\s+contradiction)\b)",
    re.IGNORECASE,
)
_BEHIND = 200  # characters that are looked at
_ALONE = re.compile(r"\b(no|wait|oops|sorry|hmm+)[.!]", re.IGNORECASE)  # goes with what follows
_END_OF_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def until_ended(text: str) -> str:
    """A text up to the first mark by which a model ends its turn, such as `<|im_end|>`."""
    found = _ENDED.search(text) if "<" in text else None
    return text[: found.start()] if found else text


def until_next(text: str, place: int = 0) -> str:
    """A text up to the first question of its own behind a place."""
    found = NEXT_QUESTION.search(text, place)
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
    near = before[-_NEAR:]
    if _denied(near[-_PHRASE:]) or _supposed(near):
        return "an answer that is denied or left open"
    return _CALCULATED if box and _counted(near) else ""


def _supposed(before: str) -> bool:
    """Whether a number right behind is supposed or thought of, not stated."""
    low = before.casefold()
    return any(map(low.__contains__, _SUPPOSING)) and bool(_SUPPOSED.search(before))


def _denied(near: str) -> bool:
    words = near.lower().replace("$", " ").split()
    while words and words[-1] in _LEADING:
        words.pop()
    if not words or (words[-1].isalpha() and words[-1] not in _DENYING_ALL):
        return False  # most often
    pieces = [piece for word in words for piece in _PIECE.findall(word)]
    while pieces and pieces[-1] in _LEADING:
        pieces.pop()
    third, second, last = ["", "", ",", *pieces][-3:] if pieces else ("", ",", "")
    if last == "or" and second.endswith(","):
        return False  # "1/4, or 0.25" is one
    both = f"{second} {last}"
    compares = both in _COMPARED and third not in ("no", "not")
    denies = last in _DENIALS or last.endswith(("n't", "n\u2019t"))
    return denies or compares or both in _PAIRS


def _counted(near: str) -> bool:
    bare = near.rstrip(" \t$*")
    end = bare[-2:]
    word = len(end) == 2 and end.isascii() and end.isalpha() and "\\" not in bare[-12:]
    if word or bare[-1:] in ("", "=", ":", "."):
        return False  # most often
    return _COUNTED_BEFORE.search(near.rpartition("\n")[2]) is not None


def fault_around(before: str, behind: str, answer: str) -> str:
    """Why a box is no statement, by what stands before it and behind it; "" where it is one.

    In an equation, "2 + \\boxed{3} = 5", it fills a gap and is no part of a calculation.
    """
    fault = fault_before(before, box=True) or fault_behind(behind, answer)
    return "" if fault == _CALCULATED and _EQUATION.match(behind) else fault


def fault_behind(behind: str, answer: str) -> str:
    """Why a statement is none, by what stands right behind it; "" where it is one.

    A remark ("Wait, ...", "But ...") whose last number is that of the answer confirms it.
    """
    if not behind.strip("$.*)]}\\ \n"):
        return ""  # most often
    if _COUNTED_BEHIND.match(behind):
        return _CALCULATED
    if _FAILS.match(behind):
        return "an answer that is rejected"
    if _ASKED.match(behind):
        return "an answer that is asked, not stated"
    sentences = _END_OF_SENTENCE.split(_ALONE.sub(r"\1,", behind[:_BEHIND]))
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
