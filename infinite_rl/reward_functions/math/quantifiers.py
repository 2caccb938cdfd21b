"""Remarks such as "for all real x" behind a value or before it: for which variables it holds.

They are no factor and no unit. A remark is cut out only if all of it is read, so that "for all but
one x" or "not for all x" cannot state a value; `claims` judges the conditions in it. It is kept
where it says what the answer is: `5k + 3 for all integers k` is a class of numbers, and "all x > 3"
a set.
"""

from __future__ import annotations

import re
from typing import NamedTuple

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
    place = 0
    remarks: list[Remark] = []
    around = False
    for _ in range(_MOST):
        word = _ANY.search(text, place)
        if word is None:
            break
        remark = _remark(text, word)
        if remark is None:
            place = word.end()
            continue
        opens = not remarks and not text[: remark.start].strip()
        around = opens or _END.match(text, remark.end) is not None
        remarks.append(remark)
        text, place = f"{text[: remark.start]} {text[remark.end :]}".strip(), remark.start
    return text, remarks, around


def _remark(text: str, word: re.Match[str]) -> Remark | None:
    """The remark that has this word in it; None where it is no remark."""
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
    whole = _WHOLE.search(text, word.start(), end)
    return None if whole and _is_class(body, variables["first"]) else remark


def _opened(text: str) -> int:
    return sum(map(text.count, "({")) - sum(map(text.count, ")}"))


def _is_class(body: str, name: str) -> bool:
    """Whether `name` runs through the whole numbers in the value, as in `x = 5k + 3`."""
    head, sign, value = _COMMAND.sub(" ", body).rpartition("=")
    return name in value and not (sign and name in head)
