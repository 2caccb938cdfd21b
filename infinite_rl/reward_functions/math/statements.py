"""What the words around an answer do to it: state it, deny it, suppose it, quote it, count with it.

The text is cut into tokens, each of one kind, and the productions of `statements.txt` are rows of
kinds; a text of kinds is a string with a character for each token.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ...parsing.word_tables import WordTables, lazily_compiled

TABLES = WordTables(__file__)
_ENDED = TABLES.pattern("ended")
# A base model continues with another exercise.
NEXT_QUESTION = re.compile(r"^(?:Q|Question|Problem)[ \t]{0,3}\d{0,6}[ \t]{0,3}[:.]", re.MULTILINE)
_TOKEN = TABLES.pattern("token")
_NUMERAL = TABLES.pattern("numeral")
_BEFORE_CHARS, _AFTER_CHARS = 100, 200  # that are read before and behind an answer

# -- the engine: kinds of tokens as characters, productions as patterns of these ------------------

_KINDS_OF, _UNIONS = (" ".join(TABLES.rows(name)).split("|") for name in ("kinds", "unions"))
KINDS = [kind.split() for kind in _KINDS_OF]
KINDS += [[word, word] for word in TABLES.listed("words")]
_CODES = {name: chr(0xE000 + index) for index, (name, *_) in enumerate(KINDS)}
_OTHERS = ("num", "letter", "word", "cmd", "space", "line", "sign")
_CODES |= {name: chr(0xE800 + index) for index, name in enumerate(_OTHERS)}
_KINDS = {word: _CODES[name] for name, *words in KINDS for word in words}
for _name, *_parts in map(str.split, _UNIONS):
    _CODES[_name] = "".join(_CODES[part] for part in _parts)
_NUM, LINE, _SPACE = (_CODES[name] for name in ("num", "line", "space"))
_UNSEEN = dict.fromkeys(map(ord, _CODES["unseen"]))
_REFERENCE = re.compile(r"(!?)([a-z]+)|\s+")


def production(name: str) -> re.Pattern[str]:
    """The pattern of a table of productions, for a string of kinds; `<kinds>` are its group."""
    rows = re.sub(r"\((?!\?)", "(?:", TABLES.source(name)).replace("<", "(").replace(">", ")")
    return lazily_compiled(_REFERENCE.sub(_coded, rows))


def _coded(match: re.Match[str]) -> str:
    return f"[{'^' * len(match[1])}{_CODES[match[2]]}]" if match[2] else ""


class Tokens(NamedTuple):
    """The tokens of a text, and their kinds as one string."""

    texts: list[str]
    kinds: str

    @classmethod
    def of(cls, text: str) -> "Tokens":
        """Cut a text into its tokens."""
        texts = _TOKEN.findall(text)
        return cls(texts, "".join([_KINDS.get(token) or _kind(token) for token in texts]))

    def seen(self) -> "Tokens":
        """The tokens that count between words."""
        kept = [index for index, kind in enumerate(self.kinds) if ord(kind) not in _UNSEEN]
        return Tokens([self.texts[index] for index in kept], self.kinds.translate(_UNSEEN))


@lru_cache(4096)
def _kind(token: str) -> str:
    first, lower = token[0], token.lower()
    if lower in _KINDS:
        return _KINDS[lower]
    if first.isalpha():
        if lower.endswith(("n't", "n\u2019t")):
            return _CODES["deny"]
        return _CODES["letter" if len(token) == 1 else "word"]
    if first.isdigit() or token[-1].isdigit():
        return _NUM
    if token[-1].isspace():
        return LINE if "\n" in token else _SPACE
    return _CODES["cmd" if first == "\\" and len(token) > 2 else "sign"]


def _faults(side: str) -> list[tuple[str, re.Pattern[str]]]:
    """The tables of one side, each with the fault that its name says."""
    return [
        (name.removeprefix(side), production(name))
        for name in TABLES.names
        if name.startswith(side)
    ]


_BEFORE, _AFTER = _faults("before "), _faults("after ")
_TRIGGERS = frozenset(_CODES["trigger"])  # of which each row has one, and few texts have any
_CALCULATION, _FORMULA_TOKENS = production("formula before"), 20
_OPEN, CALCULATED = "one of two answers", "a calculation"
_EQUATION, _UNIT = production("equation"), production("unit")
_GUESSED, _DOUBT, _INNOCENT = map(production, ("guess again", "doubt", "innocent"))
_OTHERWISE = production("otherwise")
_ALONE, _ENDS = _CODES["alone"], _CODES["stop"] + _CODES["bang"] + _CODES["ask"]


def fault_before(before: str, *, box: bool = False, either: bool = False) -> str:
    """Why a number is not asserted, by the text before it; "" if it is.

    A `box` may also be part of a formula. `either` may stand before a list of answers.
    """
    tokens = Tokens.of(before[-_BEFORE_CHARS:])
    if box and _CALCULATION.search(tokens.kinds.rpartition(LINE)[2][-_FORMULA_TOKENS:]):
        return CALCULATED
    words = tokens.kinds.translate(_UNSEEN)
    if not _TRIGGERS.isdisjoint(words):
        for fault, pattern in _BEFORE:
            if pattern.search(words) and not (either and fault == _OPEN):
                return fault
    return ""


def fault_around(before: str, after: str, answer: str) -> str:
    """Why a box is not asserted as the answer, by the text before and after it; "" if it is.

    In an equation, "2 + \\boxed{3} = 5", a box fills a gap and is not part of a calculation.
    """
    fault = fault_before(before, box=True, either=" or " in answer) or fault_after(after, answer)
    fills = fault == CALCULATED and _EQUATION.match(Tokens.of(after[:_AFTER_CHARS]).kinds)
    return "" if fills else fault


def fault_after(after: str, answer: str) -> str:
    """Why a number is not asserted, by the text after it; "" if it is.

    A remark ("Wait, ...", "But ...") whose last number is that of the answer confirms it.
    """
    if not after.strip("$.*)]}\\ \n"):
        return ""  # most often
    tokens = Tokens.of(after[:_AFTER_CHARS])
    words = tokens.kinds.translate(_UNSEEN)
    for fault, pattern in _AFTER:
        if pattern.match(tokens.kinds if fault == CALCULATED else words):
            return fault
    if any(_doubts(each, answer) for each in _sentences(tokens)):
        return "an answer that is taken back"
    return ""


def _sentences(tokens: Tokens) -> Iterator[Tokens]:
    """The sentences of a text; "No." belongs to the one behind it."""
    start, texts, kinds = 0, tokens.texts, tokens.kinds
    for index, kind in enumerate(kinds):
        stops = kind in _ENDS and kinds[index + 1 : index + 2] in ("", _SPACE, LINE)
        if kind == LINE or (stops and not (index and kinds[index - 1] in _ALONE)):
            yield Tokens(texts[start : index + 1], kinds[start : index + 1]).seen()
            start = index + 1
    yield Tokens(texts[start:], kinds[start:]).seen()


def _doubts(sentence: Tokens, answer: str) -> bool:
    kinds = sentence.kinds
    innocent = _INNOCENT.search(kinds)
    if not innocent and (_DOUBT.search(kinds) or _GUESSED.search(kinds)):
        return True
    other = _OTHERWISE.search(kinds)
    first = kinds.find(_NUM, other.start()) if other else -1
    if first < 0 or (innocent and innocent.start() < first):
        return False
    return sentence.texts[kinds.rindex(_NUM)] not in _NUMERAL.findall(answer)[-1:]


def unit_after(after: str) -> str:
    """Return the unit at the start of the text after a number: "%", "thousand"; "" without one."""
    tokens = Tokens.of(after[:40])
    unit = _UNIT.match(tokens.kinds)
    return "".join(tokens.texts[unit.start(1) : unit.end(1)]) if unit else ""


# -- cuts -----------------------------------------------------------------------------------------


def until_end_token(text: str) -> str:
    """Cut a text at the first end token, such as `<|im_end|>`."""
    token = _ENDED.search(text) if "<" in text else None
    return text[: token.start()] if token else text


def until_next_question(text: str, start: int = 0) -> str:
    """Cut a text at the first question that the model adds after `start`."""
    question = NEXT_QUESTION.search(text, start)
    return text[: question.start()] if question else text
