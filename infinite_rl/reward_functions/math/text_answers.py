"""Answers that are language as much as mathematics: choices, named sets, sentences, dates, remarks.

A remark such as "for all real x" is no factor and no unit. It is cut out only if all of it is
read, so that "for all but one x" or "not for all x" cannot state a value; `conditions` judges what
it says. It stays if it says what the answer is: `5k + 3 for all integers k` is a class of numbers,
and "all x > 3" a set.
"""

import datetime
import re
from fractions import Fraction
from typing import NamedTuple

from ...parsing.number_words import normalized_ordinal, number_in_words
from ...parsing.word_tables import WordTables
from . import units
from .tokens import DENIALS
from .tree import REALS, Node, number

_TABLES = WordTables(__file__)
_LETTERS, _TEXT_COMMAND = _TABLES.pattern("letters"), _TABLES.pattern("text command")
_SPACES = re.compile(r"\\[ ,;:]|\\q?quad(?![A-Za-z])|~")
_CHOICE, _JOINS = _TABLES.pattern("choice"), _TABLES.pattern("joins")
_ARTICLE, _THERE_ARE = map(_TABLES.pattern, ("article", "there are"))
_ALL_REALS, _NO_MEMBERS = _TABLES.pattern("all real"), _TABLES.pattern("no members")
_ENDLESS = _TABLES.pattern("endless")
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


def lettered_choice(plain: str) -> tuple[str, str] | None:
    """The letter of `(B) 12`, `B. 12` or `Option B`, and what stands beside it, maybe nothing."""
    match = _CHOICE.fullmatch(plain)
    if match is None:
        return None
    letter = match[1] or match[2] or match[3]
    lower_with_more = letter.islower() and match["rest"]
    if match["rest"] and _JOINS.match(match["rest"]):
        return None  # "(A) and (B)"
    return None if lower_with_more else (letter.casefold(), match["rest"] or "")


def phrase(plain: str) -> Node | None:
    """A number in words, maybe with a unit, or words for a set: `five dozen`, `all reals`."""
    words = plain_text(plain)
    if _ALL_REALS.fullmatch(words):
        return REALS
    if _NO_MEMBERS.fullmatch(words):
        return Node("set")
    if words.removeprefix("limit ") == "does not exist":
        return Node("text", (), "dne")
    if _ENDLESS.fullmatch(words):
        return Node("text", (), "infinitely many")
    nth = normalized_ordinal(plain.casefold().strip(" .").removeprefix("the "))  # "a third" is 1/3
    if nth is not None:
        return Node("text", (), nth)
    opening = _THERE_ARE.match(plain)
    amount = number_in_words(plain[opening.end() :] if opening else plain)
    if amount is None:
        return None
    value, rest = amount
    if not rest:
        return number(value)
    if len(rest.split()) > _MOST_WORDS or number_in_words(rest) is not None:
        return None
    unit = units.unit(rest)
    return None if unit is None else Node("quantity", (number(value),), unit=unit)


def plain_text(text: str) -> str:
    """Words for comparison: one case, no article, single spaces, no quotes or closing stop."""
    stripped = " ".join(text.split()).strip("\"'`.,;:!() ")
    return _ARTICLE.sub("", stripped.casefold())


_ANY, _BEFORE, _KIND = map(_TABLES.pattern, ("any", "before", "kind"))
_NEAR = 60  # characters of a gap that are looked at
_VARIABLES, _OTHER, _DOMAIN = map(_TABLES.pattern, ("variables", "other", "domain"))
_CLOSING, _END, _WHOLE = map(_TABLES.pattern, ("closing", "end", "whole"))
_NEXT, _THEN = map(_TABLES.pattern, ("next", "then"))
_WHERE, _CLAUSE = map(_TABLES.pattern, ("where", "clause"))
_COMMAND = re.compile(r"\\[A-Za-z]+")
_NEUTRAL = _TABLES.words("neutral")
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


def without_where(text: str) -> tuple[str, list[Remark]]:
    """The text before ", where k is a positive integer", and a remark for each clause of that.

    A text without such an ending is returned as it is. `5k + 3, where k is an integer` is one: it
    names a class of numbers, and its letter stands for all whole numbers.
    """
    opening = _WHERE.search(text, 1)
    if opening is None:
        return text, []
    remarks: list[Remark] = []
    index = opening.end()
    while index < len(text):
        clause = _CLAUSE.match(text, index)
        if clause is None:
            return text, []
        index = clause.end()
        names = (clause["first"], *_OTHER.findall(clause["others"]))
        relation = clause["relation"] or (clause["bound"] and f"{names[0]}{clause['bound']}") or ""
        bounds = relation.removeprefix(names[0])
        bounds = f"x{bounds}" if bounds != relation else relation
        kinds, span = _kinds(clause["kind"]), (opening.start(), len(text))
        remarks.append(Remark(names, kinds, clause["set"] or "", bounds, *span))
    whole = [{"integer"}] == [each.kinds for each in remarks] and not remarks[0].bounds
    if not remarks or whole or (len(remarks) == 1 and _WHOLE.search(text, opening.start())):
        return text, []
    return text[: opening.start()].strip(), remarks


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
    while (open_ := _opened(text[start:end])) > 0 and (closed := _CLOSING.match(text, end)):
        end = closed.end()
    if open_ or (variables["bound"] and (variables["others"] or (domain and domain["set"]))):
        return None
    names = (variables["first"], *_OTHER.findall(variables["others"]))
    low, inside = variables["bound"] or "", (domain["set"] if domain else "") or ""
    high = (domain["bound"] if domain else "") or ""
    kinds = _kinds(kind[0] if kind else "")
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


def _kinds(text: str | None) -> frozenset[str]:
    """The words for kinds of numbers, in the singular."""
    words = re.findall("[a-z]+", _COMMAND.sub(" ", text or "").casefold().replace("-", ""))
    return frozenset(word.removesuffix("s") for word in words) - _NEUTRAL


def _opened(text: str) -> int:
    return sum(map(text.count, "({")) - sum(map(text.count, ")}"))


_MONTHS, _DAYS = map(_TABLES.listed, ("months", "days"))
_MONTH_NUMBERS = {name: n for n, month in enumerate(_MONTHS, 1) for name in (month, month[:3])}
_MONTH_NUMBERS |= {"sept": 9}
_DATES = [*map(_TABLES.pattern, ("month first", "day first", "year first", "numerals"))]
_WEEKDAY = re.compile(rf"({'|'.join(_DAYS)}),?\s+(?=\S)", re.IGNORECASE)
_TIME = _TABLES.pattern("time")
_HALVES = {"noon": "pm", "midnight": "am"}
_PARTS_OF_DAY = {"morning": "am", "afternoon": "pm", "evening": "pm", "night": "pm"}
_LONGEST = 40  # characters of a date or a time


def moment(text: str) -> Node | None:
    """A date or a time of day as a separate node; None for other texts.

    A `date` has the value `2020-03-05`, with dashes for what is not said; a `clock` has the minutes
    after midnight, and, where it could be one, the ratio that `2:30` also is.
    """
    text = " ".join(text.split())
    if len(text) > _LONGEST or re.search("[0-9]", text) is None:
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
        name = parts["month"]
        month = int(name) if name.isdigit() else _MONTH_NUMBERS.get(name.casefold())
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


# -- whether two texts say the same ---------------------------------------------------------------

_STATEMENT = re.compile(r"(?:[a-z]+ ){1,3}?(?:is|are|will be) ([a-z][a-z -]*)")
_STEM_ENDING = re.compile(r"(?<=\w{6})(?:ally|al|ly|ences?|ent|es?|s|ing|ed)$")
_OPEN_WORDS = DENIALS | _TABLES.words("open words")
_SORTS, _OF_VERBS = _TABLES.words("sorts"), _TABLES.words("series")
_SYNONYMS, _VAGUE = _TABLES.mapping("synonyms"), _TABLES.words("vague")


def same_text(words: str, others: str) -> bool:
    """Whether two plain texts say the same: `north-east`, `northeast`; `sum is even`, `even`."""
    if not _unhyphened(words).isdisjoint(_unhyphened(others)) or _stems(words) == _stems(others):
        return True
    return any(
        text == other or _of_a_kind(text, other)
        for one, other in ((words, others), (others, words))
        for text in (one, *_stated(one))
    )


def _unhyphened(words: str) -> frozenset[str]:
    """Words written apart and together: `north-east` is `northeast`, and is `north east`."""
    return frozenset([words.replace("-", ""), words.replace("-", " ")])


def _stems(words: str) -> list[str] | str:
    """The stems of a few words, in any order: `convergent series`, `series converges`."""
    each = words.split()
    if not 1 <= len(each) <= 3 or not _OPEN_WORDS.isdisjoint(each):
        return words
    return sorted(_STEM_ENDING.sub("", word) for word in each)


def _of_a_kind(words: str, others: str) -> bool:
    """Whether a text only adds what it speaks of: `odd function` is `odd`."""
    rest = words.removeprefix(others) if words.startswith((f"{others} ", f"{others},")) else ""
    subject, _, verb = words.rpartition(" ")
    says = verb == others and verb in ("converges", "diverges") and subject in _OF_VERBS
    return rest.strip() in _SORTS or says or (others in ("yes", "no") and rest.startswith(","))


def _stated(words: str) -> tuple[str, ...]:
    """The predicate of a plain sentence: `isosceles` of `triangle is isosceles`."""
    sentence = _STATEMENT.fullmatch(words)
    return (plain_text(sentence[1]),) if sentence and _OPEN_WORDS.isdisjoint(words.split()) else ()


def same_name(name: str, other: str) -> bool:
    """Whether two names may be of one value: `E[X]` and `mean`, `V` and `volume`."""
    sides = []
    for each in (name, other):
        words = re.findall("[a-z]+", re.split(r"[\[(_]", each)[0].casefold())
        sides.append({_SYNONYMS.get(word, word) for word in words} - _VAGUE or set(words))
    one, two = sorted(sides, key=lambda words: len("".join(words)))
    letter = "".join(one)
    initial = len(letter) == 1 and any(word.startswith(letter) for word in two)
    return initial or one <= two or two <= one
