"""The context of an answer: whether the words around a number assert, deny or modify it. Pure.

Nothing is guessed: a sentence with a second number, with a word that counts, compares or denies, or
with an arithmetic sign is returned as it is.
"""

from __future__ import annotations

import re

# End tokens; a model's own text does not continue after one.
_ENDED = re.compile(
    r"<\|(?:im_end|endoftext|end_of_text|eot_id|eom_id|end_of_turn|return)\|>"
    r"|<end_of_turn>|<eos>|<｜end▁of▁sentence｜>|</s>"
)
# A base model continues with an exercise of its own.
NEXT_QUESTION = re.compile(r"^(?:Q|Question|Problem)[ \t]{0,3}\d{0,6}[ \t]{0,3}[:.]", re.MULTILINE)
_MAX_SENTENCE = 400  # characters
_NUMERAL = r"\d[\d,]*(?:\.\d+)?|\.\d+"
_SENTENCE = re.compile(
    r"(?P<before>[^\d]*?)"
    rf"(?P<number>(?:[-+\u2212][ \t]?)?(?:\\?\$|[€£])?[-\u2212]?(?:{_NUMERAL}))"
    r"(?P<after>[^\d]*)"
)
_MONEY = re.compile(r"\\?\$|[€£]")
# Between words; hyphens and apostrophes belong to words.
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
_MODIFYING = frozenset(_WORDS.split())
# Words that deny the answer after them, across words that only lead to it.
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
_LEAD_WORDS = """
    be equal equals to just simply really exactly actually the answer is it its that think believe
    say sure certain a an final value result in x y n text textbf mathrm quad qquad
"""
_LEADING = frozenset(_LEAD_WORDS.split())
# Hypothetical statements of a number: "it might be", "suppose x is", "if it were".
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
# Every match of the pattern has one of these; to look for them takes a tenth of the time.
_HYPOTHETICAL_WORDS = """
    suppos assum imagine pretend might may could think guess believe wrong incorrect false mistake
    trap tempting naive previous old were
"""
_SUPPOSING = _HYPOTHETICAL_WORDS.split()
_PIECE = re.compile(r"[^\s$*:(\[\]\\={}&_]+")
_BEFORE_CHARS = 80  # that are read before a statement
_PHRASE_CHARS = 50
# The text between a sign and its box; then the signs that make the box part of a formula.
_OPENED = r"(?:[$({]|\\[(,;:! ]|\\left|\\\$|[ \t])*\Z"
_TOUCHING = r"(?:[$({]|\\[(,;:!]|\\left|\\\$)*\Z"
_FORMULA_BEFORE = re.compile(
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
# After the box: more digits, a calculation, a factor.
_LETTER = "[b-zB-HJ-Z](?![A-Za-z])"
_CLOSED = r"(?:[ \t$]|\\[,;!)]|(?:\\right)?\))*"
_FORMULA_AFTER = re.compile(
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
# A verdict on the number before it: "does not work", "is too large".
_FAILS = re.compile(
    r"(?:[\s$*)\]}]|\\[)\]])*(?:,\s*which\s+|,?\s*but\s+(?:this|that|it)\s+)?"
    r"(?:(?:does|do|did)(?:\s+not|n['\u2019]t)\s+(?:work|satisfy|fit|hold|suffice)\b"
    r"|(?:is|are|was)(?:\s+not|n['\u2019]t)\s+(?:possible|valid|allowed|acceptable|a\s+(?:valid\s+)?solution)\b"
    r"|(?:can\s*not|can['\u2019]t)\s+(?:work|hold|be\s+(?:the|right|correct|true|it|an?)\b)"
    r"|(?:is|are|was|seems|looks)\s+(?:too\s+\w+(?!\s+to\b)\b|impossible|rejected|extraneous|invalid|excluded|ruled\s+out)\b"
    r"|(?:fails|contradicts|violates|leads\s+to\s+a\s+contradiction)\b)",
    re.IGNORECASE,
)
_AFTER_CHARS = 200  # that are read after a statement
_ALONE = re.compile(
    r"\b(no|wait|oops|sorry|hmm+)[.!]", re.IGNORECASE
)  # belongs to the text that follows
_END_OF_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def until_end_token(text: str) -> str:
    """Cut a text at the first end token, such as `<|im_end|>`."""
    token = _ENDED.search(text) if "<" in text else None
    return text[: token.start()] if token else text


def until_next_question(text: str, start: int = 0) -> str:
    """Cut a text at the first question of its own after `start`."""
    question = NEXT_QUESTION.search(text, start)
    return text[: question.start()] if question else text


def stated_number(sentence: str) -> str:
    """Return the number of a sentence such as "She makes $18 a day.", else the whole sentence.

    It must be the only number, and no word may count ("two", "dozen"), compare ("more than"), deny
    or retract. A label before a number ("question 18") is such a word, too.
    """
    if len(sentence) > _MAX_SENTENCE:
        return sentence
    match = _SENTENCE.fullmatch(sentence)
    if match is None:
        return sentence
    before, number, after = match.group("before", "number", "after")
    if before[-1:].isalnum() or after[:1].isalnum() or after[:1] in ("!", "-"):
        return sentence
    amount = re.sub(r"[\\$€£\s]", "", number).replace("\N{MINUS SIGN}", "-")
    rest = f"{before} {after if _MONEY.search(number) is None else after.removeprefix('$')}"
    words = [word for word in _GAPS.split(rest) if word]
    plain = all(_WORD.fullmatch(word) and not _modifies(word.lower()) for word in words)
    return amount if plain else sentence


def _modifies(word: str) -> bool:
    return word.endswith(("n't", "n\u2019t")) or _MODIFYING.issuperset(word.split("-"))


def unit_after(after: str) -> str:
    """Return the unit at the start of the text after a number: "%", "thousand"; "" without one."""
    unit = _UNIT.match(after)
    return unit[1] if unit else ""


def fault_before(before: str, *, box: bool = False) -> str:
    """Why a number is not asserted, by the text before it in its line; "" if it is.

    A `box` may also be part of a formula.
    """
    near = before[-_BEFORE_CHARS:]
    low = near.casefold()
    supposed = any(map(low.__contains__, _SUPPOSING)) and _SUPPOSED.search(near)
    if _denied(near[-_PHRASE_CHARS:]) or supposed:
        return "an answer that is denied or left open"
    return _CALCULATED if box and _in_formula(near) else ""


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
        return False  # "1/4, or 0.25" is one answer
    both = f"{second} {last}"
    compares = both in _COMPARED and third not in ("no", "not")
    denies = last in _DENIALS or last.endswith(("n't", "n\u2019t"))
    return denies or compares or both in _PAIRS


def _in_formula(near: str) -> bool:
    bare = near.rstrip(" \t$*")
    end = bare[-2:]
    word = len(end) == 2 and end.isascii() and end.isalpha() and "\\" not in bare[-12:]
    if word or bare[-1:] in ("", "=", ":", "."):
        return False  # most often
    return _FORMULA_BEFORE.search(near.rpartition("\n")[2]) is not None


def fault_around(before: str, after: str, answer: str) -> str:
    """Why a box is not asserted as the answer, by the text before and after it; "" if it is.

    In an equation, "2 + \\boxed{3} = 5", a box fills a gap and is not part of a calculation.
    """
    fault = fault_before(before, box=True) or fault_after(after, answer)
    return "" if fault == _CALCULATED and _EQUATION.match(after) else fault


def fault_after(after: str, answer: str) -> str:
    """Why a number is not asserted, by the text after it; "" if it is.

    A remark ("Wait, ...", "But ...") whose last number is that of the answer confirms it.
    """
    if not after.strip("$.*)]}\\ \n"):
        return ""  # most often
    if _FORMULA_AFTER.match(after):
        return _CALCULATED
    if _FAILS.match(after):
        return "an answer that is rejected"
    if _ASKED.match(after):
        return "an answer that is asked, not stated"
    sentences = _END_OF_SENTENCE.split(_ALONE.sub(r"\1,", after[:_AFTER_CHARS]))
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
