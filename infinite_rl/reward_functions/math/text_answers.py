"""Answers that are language as much as mathematics: choices, named sets, sentences, dates, remarks.

A remark such as "for all real x" is no factor and no unit. It is cut out only if all of it is
read, so that "for all but one x" or "not for all x" cannot state a value; `canonicalize` judges its
conditions. It stays if it says what the answer is: `5k + 3 for all integers k` is a class of
numbers, and "all x > 3" a set.
"""

from __future__ import annotations

import datetime
import re
from fractions import Fraction
from typing import NamedTuple

from . import units
from .preprocess import number_in_words, ordinal, respelled
from .tokens import FUNCTIONS, GREEK
from .tree import REALS, Node, number

# Of a word, not of a command.
_LETTERS = re.compile(r"(?<![\\A-Za-z])(?:[A-Za-z]{2}|[A-Z]|[ap]\.\s?m)")
_TEXT_COMMAND = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|bf)\s*\{([^{}]*)\}")
_SPACES = re.compile(r"\\[ ,;:]|\\q?quad(?![A-Za-z])|~")
_CHOICE = re.compile(
    r"(?:\(([A-J])\)|(?:option|choice|answer)\s+\(?([A-J])\)?|([A-J])[.):](?=\s|$))[.:]?"
    r"(?:\s+(?P<rest>\S.*))?",
    re.DOTALL | re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:an?|the)\s+(?=\S)")
_JOINS = re.compile(  # "(A) and (B)", "E is wrong"
    r"(?:and|or|(?:is|are|seems|looks)(?! (?:the )?(?:correct|right|best|true|answer))|isn't|was"
    r"|can't|would|could|might|may|must not)\b|[,;&/=+<>-]",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"\(?(?:wrong|incorrect|rejected|eliminated|ruled out)[).]*", re.IGNORECASE)
_IN_BASE = re.compile(
    r"(?<![0-9A-F])([0-9A-F]+)\s*(?:\\text\{\s*)?\(?\s*"
    r"(?:in\s+)?base[ -]?\s*([0-9]{1,2}|[a-z]{3,7})\s*\)?\}?$"
)
_CASES_OPEN = re.compile(r"\\left\s*\\\{\s*\\begin\{(?:array|aligned|matrix)\}(?:\{[lcr| ]*\})?")
_CASES_CLOSE = re.compile(r"\\end\{(?:array|aligned|matrix)\}\s*\\right\s*(?:\.|$)")
_ROW_GAP = re.compile(r"\\\\\[\s*-?[0-9.]+\s*(?:pt|ex|em|mm|cm)\s*\]")  # "\\[4pt]"
_GAPS = r"(?:\\[ ,;:]|[\s~])*"
_MICRO = re.compile(  # not "2 \\mu g": a product of letters
    rf"([0-9}}])(?:\s*[μµ]([mCFAVWLJTHs])|{_GAPS}(?:\\mu{_GAPS}\\(?:text|mathrm)\{{\s*"
    r"|\\(?:text|mathrm)\{[\s~]*(?:\\mu|[μµ])\s*)([msgCFAVWLJTHN]|mol|Pa|eV)\s*\})$"
)
_OHM = re.compile(
    r"([0-9])(?:[\s~]|\\[ ,;])*(?:\\(?:text|mathrm)\{)?([kM]?)\}?(?:\\Omega|[Ω\u2126])\}?$"
)
_GLUE = r"(?:\\text\s?\{|[\s,$}~]){0,4}"
_CONSTANT = re.compile(  # a note on what a letter is: "for any constant c", "where c is a constant"
    r"[\s,$]{0,4}(?:\\text\s?\{\s?)?"
    rf"(?:for{_GLUE}(?:any|some|all|every){_GLUE}(?:real)?{_GLUE}constants?{_GLUE}[a-z]"
    rf"|where{_GLUE}[a-z]{_GLUE}is{_GLUE}(?:an?|any|some){_GLUE}(?:real|arbitrary)?{_GLUE}constant)"
    rf"{_GLUE}$",
    re.IGNORECASE,
)
_CLOSING_STOP = re.compile(r"[.,;]\s*(?=\\\\|\\end\{)")
_THERE = r"there\s+are\s+(?:exactly\s+|a\s+total\s+of\s+|in\s+total\s+)?"
_THERE_ARE = re.compile(rf"^(?:(?:so|thus|therefore|hence)\b,?\s*)?{_THERE}", re.IGNORECASE)
# "So x = 5", "Therefore, there are 5 ways": words that lead to an answer.
_OPENING = re.compile(
    r"(?:so|thus|therefore|hence|then|finally)\b[,:]?\s*(?:(?:we\s+(?:get|have|find|obtain))\b[,:]?\s*)?"
    rf"(?:{_THERE}(?=[0-9]))?|{_THERE}(?=[0-9])",
    re.IGNORECASE,
)
# "The value of x is 5": what is spoken of, and a value that is no word.
_SENTENCE = re.compile(
    r"(?P<subject>[a-z][a-z ,'-]{0,100}?)"
    r"(?:\s+(?:is|are|equals|will\s+be)\s+(?:equal\s+to\s+|at\s+)?|(?P<colon>:\s+))"
    r"(?:(?P<named>(?=[a-z](?:\^\{?-1\}?)?(?:\([a-z]\))?\s*(?:[=<>≤≥]|\\[lg]eq?)))"
    r"|(?=[^a-z\s:=]|[a-z](?:[(^_]|\s?[-+*/])))",
    re.IGNORECASE,
)
_SHORTEST_SUBJECT = 3
_AGAIN = re.compile(r"(?:i\.e\.,?|that is,?|or)\s+(?=\S)")
_DIGIT = re.compile("[0-9]")
# In the name of a value these deny it or leave it open: `not x = 5`.
DENIALS = frozenset([
    "not", "no", "never", "neither", "nor", "cannot", "maybe", "perhaps", "possibly", "if",
    "unless", "or", "about", "none", "suppose", "assume", "assuming", "except", "guess", "wrong",
    "incorrect", "false",
])  # fmt: skip
_VALUE_OF = re.compile(r"(?:(?:the\s+)?value\s+of\s+)?([b-hj-z])", re.IGNORECASE)
_LEAD = re.compile(
    r"^(?:\\text\{\s*)?(?:the\s+)?(?:final\s+)?answer(?:\s+is|\s*:)\s*:?\s*\}?|"
    r"^(?:\\text\{\s*(?:for\s+)?all(?:\s+real)?\s*\}|(?:for\s+)?all(?:\s+real)?\s)\s*"
    r"(?=[a-z](?![a-z])\s*(?:[<>=≤≥≠∈]|\\(?:[lg]e|ne|lt|gt|in)))",
    re.IGNORECASE,
)
_ANGLE = re.compile(r"(?<![A-Za-z])m?\\angle\s*\{?([A-Z]{1,3})(?![A-Za-z])\}?")
_EXCEPT = re.compile(
    r"(?:\\text\{\s*)?all\s+real\s+(?:(?:numbers|values)\s*)?(?:x\s+)?(?:except|other\s+than)(?:\s+for)?\s*\}?"
    r"\s*(?:[a-z]\s*=\s*)?(.*)",
    re.IGNORECASE | re.DOTALL,
)
_SIGN_OF = {"usd": "$", "us$": "$", "us\\$": "$", "eur": "€", "gbp": "£", "rs": "₹", "inr": "₹"}
_CURRENCY_FIRST = re.compile(r"(usd|us\\?\$|eur|gbp|rs|inr)\.?\s*(?=[0-9])", re.IGNORECASE)
_ALL_REALS = frozenset([
    "all real numbers", "all reals", "real numbers", "all real values", "the real numbers",
    "the set of all real numbers", "the set of real numbers", "any real number", "all real x",
])  # fmt: skip
_EVERY_REAL = re.compile(
    r"(?:(?:true|holds|valid)?\s?for )?(?:all|every|any) (?:real )?(?:values? of |numbers? )?[t-y]"
)
_NO_MEMBERS = frozenset([
    "no solution", "no solutions", "no real solution", "no real solutions", "empty set",
    "the empty set", "there is no solution", "there are no solutions", "no real roots",
    "no solution exists", "no solutions exist",
])  # fmt: skip
_NUMBERED = re.compile(r"(?<![A-Za-z0-9\\}_^])([a-zA-Z])([0-9])(?=\s*=(?!=))")  # "x1 = 3"
_MOST_WORDS = 3  # of a unit after a number in words


def without_commands(text: str) -> str:
    """The text without the commands and spaces of LaTeX that only set words."""
    if "\\" in text or "~" in text:
        text = _SPACES.sub(" ", _TEXT_COMMAND.sub(r"\1", text.replace("\\!", "")))
    return text.strip().strip("$.,;:").strip() if text[:1] == "$" or text[-1:] in "$.,;:" else text


def may_be_text_answer(plain: str) -> bool:
    """Whether a text may be a date, a time, a choice or words: most formulas cannot."""
    signs = ":" in plain or plain.count("-") == 2 or plain.count("/") == 2
    return signs or _LETTERS.search(plain) is not None


def choice(plain: str) -> tuple[str, str] | None:
    """The letter of `(B) 12`, `B. 12` or `Option B`, and what stands beside it, maybe nothing."""
    match = _CHOICE.fullmatch(plain)
    if match is None:
        return None
    letter = match[1] or match[2] or match[3]
    lower_with_more = letter.islower() and match["rest"]
    if match["rest"] and (_JOINS.match(match["rest"]) or _REFUSED.fullmatch(match["rest"])):
        return None  # "(A) and (B)"
    return None if lower_with_more else (letter.casefold(), match["rest"] or "")


def phrase(plain: str) -> Node | None:
    """A number in words, maybe with a unit, or words for a set: `five dozen`, `all reals`."""
    words = plain_text(plain)
    if words in _ALL_REALS or _EVERY_REAL.fullmatch(words):
        return REALS
    if words in _NO_MEMBERS:
        return Node("set")
    if words == "does not exist":
        return Node("text", (), "dne")
    nth = ordinal(plain.casefold().strip(" .").removeprefix("the "))  # "a third" is 1/3
    if nth is not None:
        return Node("text", (), nth)
    amount = number_in_words(_THERE_ARE.sub("", plain, count=1))
    if amount is None:
        return None
    value, rest = amount
    if not rest:
        return number(value)
    if rest.casefold() == "percent":
        return number(value / 100)
    if len(rest.split()) > _MOST_WORDS or number_in_words(rest) is not None:
        return None
    unit = units.unit(rest)
    return None if unit is None else Node("quantity", (number(value),), unit=unit)


def plain_text(text: str) -> str:
    """Words for comparison: one case, no article, single spaces, no quotes or closing stop."""
    stripped = " ".join(text.split()).strip("\"'`.,;:!() ")
    return _ARTICLE.sub("", stripped.casefold())


def spelled_out(text: str) -> str:
    """Respellings that need more than one token: `101 base 2`, `USD 5`, cases as an array."""
    if "all" in text or "All" in text or "nswer" in text:
        text = _EXCEPT.sub(r"\\mathbb{R} \\setminus \\{\1\\}", _LEAD.sub("", text))
    if text.endswith(")"):
        text = _as_chain(text)
    if text[:1].isalpha() and " " in text:
        text = _with_its_name(_OPENING.sub("", text, count=1))
    text = respelled(text).replace("∠", "\\angle ")
    if "\\angle" in text:
        text = _ANGLE.sub(r"\\text{angle \1}", text)
    money = _CURRENCY_FIRST.match(text)
    if money:
        text = _SIGN_OF[money[1].casefold()] + text[money.end() :]
    if "=" in text:
        text = _NUMBERED.sub(r"\1_\2", text)
    if "base" in text:
        text = _IN_BASE.sub(r"\1_{\2}", text)
    if "constant" in text:
        text = _CONSTANT.sub("", text)
    if "\\begin" in text:
        text = _ROW_GAP.sub(r"\\\\", text)
        if "\\right" in text:
            text = _CASES_CLOSE.sub(r"\\end{cases}", _CASES_OPEN.sub(r"\\begin{cases}", text))
        if "cases" in text:
            text = _CLOSING_STOP.sub(" ", text)
    if "\\mu" in text or "\\Omega" in text or not text.isascii():
        text = _MICRO.sub(_millionth, _OHM.sub(r"\1 \2ohm", text))
    return text


def _as_chain(text: str) -> str:
    """`3/4 (or 0.75)` as the chain `3/4 = 0.75`, which must hold; other texts as they are."""
    first, _, second = text[:-1].rpartition("(")
    again = _AGAIN.match(second)
    if again is None or ")" in second or not (_DIGIT.search(first) and _DIGIT.search(second)):
        return text
    return f"{first} = {second[again.end() :]}"


def _millionth(match: re.Match[str]) -> str:
    unit = match[2] or match[3]
    return rf"{match[1]} um" if unit == "m" else rf"{match[1]} \cdot 10^{{-6}} \text{{{unit}}}"


def _with_its_name(text: str) -> str:
    """`The total cost is 5` as the equation that it states; other texts as they are."""
    sentence = _SENTENCE.match(text)
    if sentence is None:
        return text
    subject, value = sentence["subject"], text[sentence.end() :]
    value = value.strip("*") if value.startswith("**") else value
    words = subject.casefold().split()
    if len(words) == 1 and (words[0] in GREEK or words[0] in FUNCTIONS):
        return text
    if sentence["named"] is not None:
        return value if DENIALS.isdisjoint(words) else text
    letter = _VALUE_OF.fullmatch(subject) if not sentence["colon"] else None
    if letter:
        return f"{letter[1]} = {value}"
    if any(len(word) == 1 and word != "a" for word in words) or len(subject) < _SHORTEST_SUBJECT:
        return text
    return f"\\text{{{subject}}} = {value}"


_ANY = re.compile(r"\\forall(?![A-Za-z])|\bfor\s+(?:all|every|each|any)\b", re.IGNORECASE)
_GAP = r"(?:[\s~$]|\\[ ,;:!]|\\q?quad(?![A-Za-z])|\\(?:text(?:rm|it)?|mathrm|mbox)\s?\{|[{}])"
_OPEN_GAP = _GAP.replace("[{}]", "[{,(]")
_BEFORE = re.compile(rf"{_OPEN_GAP}{{1,20}}\Z")
_NEAR = 60  # characters of a gap that are looked at
_KINDS = """
    real positive negative nonnegative non-negative nonpositive non-positive nonzero non-zero
    natural whole complex rational irrational odd even prime possible given the values value of
    numbers number integers integer reals primes
"""
_KIND = re.compile(rf"(?:{_GAP}{{0,8}}(?:{'|'.join(_KINDS.split())})(?![A-Za-z-])){{0,6}}")
_NUMBER = r"[-+]?(?:\d{1,9}(?:[./]\d{1,9})?|\\[dt]?frac\{\d{1,9}\}\{\d{1,9}\}|\\pi|\\infty)"
_COMPARED = r"(?:<=?|>=?|!=|[≤≥≠]|\\(?:leqslant|geqslant|leq?|geq?|neq?|lt|gt)(?![A-Za-z]))"
_LETTER = (
    r"(?:\\(?:alpha|beta|gamma|theta|lambda|epsilon|varepsilon|mu|phi)|[A-Za-z])(?:_\{?\d\}?)?"
)
_ALONE = r"(?![A-Za-z]|\s?['=^(*/+-])"
_VARIABLES = re.compile(
    rf"{_GAP}{{0,8}}(?P<bound>{_NUMBER}\s?{_COMPARED}\s?)?(?P<first>{_LETTER}){_ALONE}"
    rf"(?P<others>(?:{_GAP}{{0,8}}(?:,|\band\b){_GAP}{{0,8}}{_LETTER}{_ALONE}){{0,4}})"
)
_OTHER = re.compile(rf"(?:,|\band\b){_GAP}{{0,8}}({_LETTER}){_ALONE}")
_SET = (
    r"(?:\\mathbb\s?(?:\{[A-Z]\}|[A-Z])|[ℝℤℕℚℂ]|[\[(][^\[\]()]{1,40}[\])])"
    r"(?:\s?[_^]\s?(?:\{[^{}]{1,20}\}|[-+*0-9])){0,2}"
    r"(?:\s?(?:\\setminus|\\backslash)\s?\\\{[^{}]{1,20}\\\})?"
)
_DOMAIN = re.compile(
    rf"{_GAP}{{0,8}}(?:(?:\\in(?![A-Za-z])|∈|\bin\b){_GAP}{{0,8}}(?P<set>{_SET})"
    rf"|(?P<bound>{_COMPARED}\s?{_NUMBER}))"
)
_CLOSED = re.compile(r"(?:[\s~$]|\\[ ,;:!])*[})]")
_END = re.compile(r"(?:[\s~$.]|\\[ ,;:!])*\Z")
_NEXT = re.compile(rf"{_GAP}{{0,8}}(?:[,;]|\b(?:and|or)\b){_GAP}{{0,8}}\S")
_THEN = re.compile(rf"{_GAP}{{0,8}}[,:]{_GAP}{{0,8}}(?=\S)")
_WHOLE = re.compile(r"(?:all|any|every|each|\})[\s}]+integer|\\mathbb\s?\{?Z(?!\}?\s?[_^])|ℤ")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_WORD = re.compile("[a-z]+")
_NEUTRAL = frozenset(["possible", "given", "the", "value", "values", "of", "number", "numbers"])
_MOST = 8  # remarks of one answer


class Remark(NamedTuple):
    """A remark: its variables, the kinds of numbers in words, and a set or a relation of "x"."""

    names: tuple[str, ...]
    kinds: frozenset[str]
    inside: str
    bounds: str
    start: int
    end: int


def without_quantifiers(text: str) -> tuple[str, list[Remark], bool]:
    """The text without such remarks, as far as they can be read, and the remarks.

    The third tells whether they stand where a condition is one on the whole text: a single remark
    before or behind it, or several of which the last one ends it.
    """
    text = text.replace("∀", "\\forall ")
    index = 0
    remarks: list[Remark] = []
    around = False
    for _ in range(_MOST):
        word = _ANY.search(text, index)
        if word is None:
            break
        remark = _remark(text, word)
        if remark is None:
            index = word.end()
            continue
        opens = not remarks and not text[: remark.start].strip()
        around = opens or _END.match(text, remark.end) is not None
        remarks.append(remark)
        text, index = f"{text[: remark.start]} {text[remark.end :]}".strip(), remark.start
    return text, remarks, around


def _remark(text: str, word: re.Match[str]) -> Remark | None:
    """The remark that has this word in it; None if it is no remark."""
    near = max(0, word.start() - _NEAR)
    gap = _BEFORE.search(text[near : word.start()])
    start = near + gap.start() if gap else word.start()
    kind = _KIND.match(text, word.end())
    variables = _VARIABLES.match(text, kind.end() if kind else word.end())
    if variables is None:
        return None
    domain = _DOMAIN.match(text, variables.end())
    end = domain.end() if domain else variables.end()
    while (open_ := _opened(text[start:end])) > 0 and (closed := _CLOSED.match(text, end)):
        end = closed.end()
    if open_ or (variables["bound"] and (variables["others"] or (domain and domain["set"]))):
        return None
    names = (variables["first"], *_OTHER.findall(variables["others"]))
    low, inside = variables["bound"] or "", (domain["set"] if domain else "") or ""
    high = (domain["bound"] if domain else "") or ""
    words = _COMMAND.sub(" ", kind[0]).casefold().replace("-", "") if kind else ""
    kinds = frozenset(_WORD.findall(words)) - _NEUTRAL
    remark = Remark(names, kinds, inside, f"{low}x{high}" if low or high else "", start, end)
    body = text[:start].strip()
    if not body:  # "For all x, f(x) = 1"
        then = _THEN.match(text, end)
        states = then and "=" in text[then.end() :]
        return remark._replace(end=then.end()) if then and states else None
    if not (_END.match(text, end) or _NEXT.match(text, end)):
        return None
    head, sign, value = _COMMAND.sub(" ", body).rpartition("=")
    name = variables["first"]
    of_class = name in value and not (sign and name in head)  # `x = 5k + 3`, for whole `k`
    return None if of_class and _WHOLE.search(text, word.start(), end) else remark


def _opened(text: str) -> int:
    return sum(map(text.count, "({")) - sum(map(text.count, ")}"))


_MONTHS = [
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
]  # fmt: skip
_MONTH_NUMBERS = {name: n for n, month in enumerate(_MONTHS, 1) for name in (month, month[:3])}
_MONTH_NUMBERS |= {"sept": 9}
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_MONTH = r"(?P<month>[A-Za-z]{3,9})\.?"
_DAY = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>[0-9]{4})"
_DATES = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_MONTH}\s*{_DAY}(?:\s*,?\s*{_YEAR})?",
        rf"(?:the\s+)?{_DAY}\s*(?:of\s+)?{_MONTH}(?:\s*,?\s*{_YEAR})?",
        rf"{_MONTH},?\s+{_YEAR}",
        rf"{_YEAR}[-/](?P<month>[0-9]{{1,2}})[-/]{_DAY}",
        rf"(?P<month>[0-9]{{1,2}})/{_DAY}/{_YEAR}",
    )
]
_WEEKDAY = re.compile(rf"({'|'.join(_DAYS)}),?\s+(?=\S)", re.IGNORECASE)
_TIME = re.compile(
    r"(?:at\s+)?(?P<hour>[0-9]{1,2})(?:[:.](?P<minute>[0-9]{2}))?(?::(?P<second>[0-9]{2}))?\s*"
    r"(?P<half>a\.?\s?m\.?|p\.?\s?m\.?|noon|midnight|o['\u2019]?clock)?"
    r"(?:\s+in\s+the\s+(?:morning|afternoon|evening)|\s+at\s+night)?",
    re.IGNORECASE,
)
_HALVES = {"noon": "pm", "midnight": "am"}
_PARTS_OF_DAY = {"morning": "am", "afternoon": "pm", "evening": "pm", "night": "pm"}
_LONGEST = 40  # characters of a date or a time


def moment(text: str) -> Node | None:
    """A date or a time of day as a node of its own; None for other texts.

    A `date` has the value `2020-03-05`, with dashes for what is not said; a `clock` has the minutes
    after midnight, and, where it could be one, the ratio that `2:30` also is.
    """
    text = " ".join(text.split())
    if len(text) > _LONGEST or _DIGIT.search(text) is None:
        return {"noon": _clock(12, 0), "midnight": _clock(0, 0)}.get(text.casefold())
    return _time(text) or _date(text)


def _clock(hour: int, minute: int, second: int = 0, ratio: tuple[Node, ...] = ()) -> Node:
    return Node("clock", ratio, Fraction(hour * 3600 + minute * 60 + second, 60))


def _time(text: str) -> Node | None:
    match = _TIME.fullmatch(text)
    if match is None or not (":" in text or match["half"]):
        return None
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    half = (match["half"] or "").casefold().replace(".", "").replace(" ", "")
    if hour > 24 or minute > 59 or second > 59:
        return None
    if half in ("noon", "midnight") and (hour, minute) != (12, 0):
        return None
    has_half = half in ("am", "pm", "noon", "midnight")
    words = text.casefold().rpartition(" ")[2]  # "in the morning"
    later = _HALVES.get(half, half) if has_half else _PARTS_OF_DAY.get(words, "")
    if later:
        if not 1 <= hour <= 12:
            return None
        return _clock(hour % 12 + 12 * (later == "pm"), minute, second)
    plain = match["minute"] and not match["second"] and not half
    return _clock(hour, minute, second, (number(hour), number(minute)) if plain else ())


def _date(text: str) -> Node | None:
    weekday = _WEEKDAY.match(text)
    for pattern in _DATES:
        match = pattern.fullmatch(text, weekday.end() if weekday else 0)
        if match is None:
            continue
        parts = match.groupdict()
        month = _month(parts["month"])
        if month is None:
            return None
        year, day = parts.get("year"), parts.get("day")
        try:  # a leap year stands in for a year that is not said
            date = datetime.date(int(year or 2000), month, int(day or 1))
        except ValueError:
            return None
        if weekday and year and _DAYS[date.weekday()] != weekday[1].casefold():
            return None
        unchecked = f" {weekday[1].casefold()}" if weekday and not year else ""
        return Node("date", (), f"{year or '-'}-{month:02}-{date.day if day else '-'}{unchecked}")
    return None


def _month(name: str) -> int | None:
    return int(name) if name.isdigit() else _MONTH_NUMBERS.get(name.casefold())
