"""Section heads: which lines are one, and which of them structure the text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from .layout import ANSWER, PROMPT, RESPONSE, SECTIONS
from .parser_fences import scan

# Every name of a section; the first of each is the canonical one.
_NAMES: Mapping[str, tuple[str, ...]] = {
    PROMPT: (PROMPT, "question", "problem", "input", "instruction", "instructions"),
    ANSWER: (ANSWER, "expected answer", "solution", "target"),
    RESPONSE: (RESPONSE, "output", "model response", "model output"),
}
_SECTION_OF = {name: section for section, names in _NAMES.items() for name in names}

_ANY_NAME = "|".join(
    name.replace(" ", "[ _-]") for name in sorted(_SECTION_OF, key=len, reverse=True)
)
_NAME = f"(?P<name>{_ANY_NAME})"
_NUMBER = r"(?:\d{1,2}[.):]\s{0,3})?"
# What some models adorn a head with: an emoji, or a space of no width.
_ORNAMENT = r"(?:[^\w\x00-\x7f【】]{1,4}\s{0,3})?"
_COLON = r"\s{0,3}(?P<colon>[:：])?"
_REST = r"[ \t]*(?P<rest>.*)"

# The ways to write a head, most telling first.
_STYLES: Mapping[str, re.Pattern[str]] = {
    style: re.compile(pattern, re.IGNORECASE)
    for style, pattern in (
        (
            "bracket",
            rf"[\s>*_#`]{{0,12}}{_ORNAMENT}{_NUMBER}[*_]{{0,3}}\\?[\[【]\s{{0,3}}{_NAME}\s{{0,3}}[:：]?\\?[\]】]"
            rf"[*_`]{{0,3}}{_COLON}[*_`]{{0,3}}{_REST}",
        ),
        (
            "markdown",
            rf"[\s>]{{0,8}}#{{1,6}}\s{{0,3}}{_ORNAMENT}{_NUMBER}[*_`]{{0,3}}{_NAME}(?:[*_`]{{0,3}}{_COLON}"
            rf"[*_`]{{0,3}})[ \t#]*(?P<rest>.*)",
        ),
        (
            "bold",
            rf"[\s>]{{0,8}}{_ORNAMENT}{_NUMBER}[*_]{{1,3}}{_NUMBER}{_NAME}{_COLON}[*_]{{1,3}}"
            rf"\s{{0,3}}(?P<after>[:：])?{_REST}",
        ),
        ("label", rf"[\s>]{{0,8}}{_NUMBER}{_NAME}{_COLON}{_REST}"),
    )
}
_NEAR_NAME = re.compile(
    rf"^(?=[^A-Za-z\n]{{0,30}}{_NAME}).*", re.MULTILINE | re.IGNORECASE
)  # one cheap pass that skips the lines which cannot be a head

# What a choice of heads is made by: a style, and whether the names are the canonical ones.
_TIERS = (
    ("bracket", True),
    ("markdown", True),
    ("bold", True),
    ("bracket", False),
    ("markdown", False),
    ("bold", False),
    ("label", True),
    ("label", False),
)
# One lone head of these is believed; others also stand in plain prose ("**Answer:** 42").
_TRUSTED_ALONE = frozenset({("bracket", True), ("bracket", False)})


@dataclass(frozen=True)
class Head:
    """A head line: it begins at `start`, what it announces begins at `body`."""

    section: str
    name: str
    style: str
    start: int
    body: int

    @property
    def tier(self) -> tuple[str, bool]:
        """Its place in `_TIERS`."""
        return self.style, self.canonical

    @property
    def canonical(self) -> bool:
        """Whether it is the section's own name, no synonym."""
        return self.name == self.section


@dataclass(frozen=True)
class Choice:
    """The heads that structure a text, at most one a section, in order, and where the last ends."""

    heads: tuple[Head, ...]
    end: int


def find_heads(text: str) -> list[Head]:
    """Every line outside of closed code fences that is a section head in some style."""
    fences = [block for block in scan(text) if block.closed]
    starts = [block.start for block in fences]
    heads = []
    for line in _NEAR_NAME.finditer(text):
        index = bisect_right(starts, line.start()) - 1
        if index >= 0 and line.start() < fences[index].end:
            continue
        head = _head(line[0], line.start())
        if head is not None:
            heads.append(head)
    return heads


def choose(text: str, heads: list[Head]) -> Choice | None:
    """Pick the heads that are the structure; the others are content. None where there are none.

    A synonym (`## Input`) is content where the canonical name stands in as telling a style; a
    solution beside an answer is the response. One style decides: the one that names most
    sections, in the order of `_TIERS`. Where its heads are repeated (a draft, a restated sample, a
    model that runs on), the last run with the most sections filled counts. A section it lacks is
    taken from another style where one stands in its place.
    """
    heads = _without_rivals(_with_worked_solutions(heads))
    primary = _primary(heads)
    if not primary:
        return None
    runs = _runs(primary, len(text))
    best = max(runs, key=lambda run: _filled(text, run))  # the first of equals: runs are reversed
    floor = 0 if best is runs[-1] else best.heads[0].start
    return _completed(best, heads, floor)


def _with_worked_solutions(heads: list[Head]) -> list[Head]:
    """In "Question, Solution, Answer" the solution is the response, if nothing else is."""
    answered = {head.style for head in heads if head.name == ANSWER}
    if any(head.section == RESPONSE for head in heads):
        return heads
    return [
        replace(head, section=RESPONSE, name=RESPONSE)
        if head.name == "solution" and head.style in answered
        else head
        for head in heads
    ]


def _without_rivals(heads: list[Head]) -> list[Head]:
    order = list(_STYLES)
    canonical: dict[str, int] = {}
    for head in heads:
        if head.canonical:
            rank = order.index(head.style)
            canonical[head.section] = min(rank, canonical.get(head.section, rank))
    return [
        head
        for head in heads
        if head.canonical or canonical.get(head.section, len(order)) > order.index(head.style)
    ]


def _head(line: str, offset: int) -> Head | None:
    tried = ((style, pattern.fullmatch(line)) for style, pattern in _STYLES.items())
    style, found = next(((style, found) for style, found in tried if found), ("", None))
    if found is None:
        return None
    rest, written = found["rest"].strip(), found["name"]
    colon = found["colon"] or (style == "bold" and found["after"])
    if style == "bracket":
        # `[Answer] 42` is a head; `[answer](url)` and `[input] + rest` are prose or code.
        plain = not rest or colon or (written[0].isupper() and rest[0] not in "([")
    elif style == "label":
        plain = colon or (not rest and written[0].isupper())
    else:
        plain = not rest or colon
    if not plain:
        return None
    name = re.sub("[ _-]", " ", written.lower())
    return Head(_SECTION_OF[name], name, style, offset, offset + found.start("rest"))


def _primary(heads: list[Head]) -> list[Head]:
    """The heads of the deciding style."""
    tiers: dict[tuple[str, bool], list[Head]] = {tier: [] for tier in _TIERS}
    for head in heads:
        tiers[head.tier].append(head)

    covered = {tier: len({head.section for head in tiers[tier]}) for tier in _TIERS}
    best = max(_TIERS, key=lambda tier: covered[tier])  # the first of equals
    if covered[best] > 1:
        return tiers[best]
    for labels in (False, True):
        mixed = [head for head in heads if (head.style == "label") == labels]
        if len({head.section for head in mixed}) > 1:
            return tiers[min((head.tier for head in mixed), key=_TIERS.index)]  # others fill in
    return tiers[best] if best in _TRUSTED_ALONE else []


def _runs(heads: list[Head], end: int) -> list[Choice]:
    """Heads in runs of one sample each, the last first; a new run begins where the first did."""
    runs: list[list[Head]] = []
    seen: set[str] = set()
    for head in heads:
        if not runs or head.section in (PROMPT, runs[-1][0].section):
            runs.append([])
            seen = set()
        if head.section not in seen:
            runs[-1].append(head)
            seen.add(head.section)
    ends = [run[0].start for run in runs[1:]] + [end]
    return [Choice(tuple(run), stop) for run, stop in zip(runs, ends, strict=True)][::-1]


def _filled(text: str, run: Choice) -> tuple[int, bool]:
    bodies = [text[start:end] for _, start, end in spans(run)]
    return sum(1 for body in bodies if body.strip()), "</" in "".join(bodies[-1:])


def spans(choice: Choice) -> Iterable[tuple[Head, int, int]]:
    """Each head with the place of its body."""
    ends = [head.start for head in choice.heads[1:]] + [choice.end]
    return ((head, head.body, end) for head, end in zip(choice.heads, ends, strict=True))


def _completed(choice: Choice, heads: list[Head], floor: int) -> Choice:
    """The choice with heads of other styles for the sections it lacks, where the order allows."""
    chosen = {head.section: head for head in choice.heads}
    style = choice.heads[0].style
    usable = [
        head
        for head in heads
        if floor <= head.start < choice.end and (head.style == style or head.style != "label")
    ]
    for rank, section in enumerate(SECTIONS):
        if section in chosen:
            continue
        low = max((h.start for h in chosen.values() if _rank(h) < rank), default=-1)
        high = min((h.start for h in chosen.values() if _rank(h) > rank), default=choice.end)
        between = low >= 0 and high < choice.end
        fitting = [
            head
            for head in usable
            if head.section == section
            and low < head.start < high
            and (head.canonical or head.style == style or between)
        ]
        if fitting:
            chosen[section] = min(fitting, key=lambda head: _TIERS.index(head.tier))
    return Choice(tuple(sorted(chosen.values(), key=lambda head: head.start)), choice.end)


def _rank(head: Head) -> int:
    return SECTIONS.index(head.section)
