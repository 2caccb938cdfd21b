"""Section heads: lines are stripped of decoration, words looked up, sequences scored."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path

from ..layout import ANSWER, PROMPT, RESPONSE, SECTIONS
from .fences import fenced
from .tags import is_slip

_MODIFIERS = frozenset(
    """the a an your new my final corrected correct revised updated fixed improved full generated
    original begin start beginning of math coding programming verified complete la le les el die der
    das neue korrigierte""".split()  # noqa: SIM905 - a list of forty strings takes forty lines
)
_CLOSERS = dict(zip("[({<«‹【〔「『《〈［（｛＜", "])}>»›】〕」』》〉］）｝＞", strict=True))
_SHUT = frozenset(_CLOSERS.values())
_OPEN = re.escape("".join(_CLOSERS))
_TAG = (
    r"(?:</?(?:h[1-6]|b|strong|em|i|u|p|div|span|summary|details|section|article|tr|t[dh]|d[tdl]|li"
    r"|[ou]l|table|tbody|thead|center|font|blockquote|br|hr|mark)\b[^<>\n]{0,80}>|<!--|-->|/\*|\*/)"
)
MARKUP = re.compile(_TAG, re.IGNORECASE)
_ORDINAL = (
    r"\(?\b(?:(?:step|part|section|block|teil|schritt|partie|parte)\s#?\d{1,2}\s?[.):–—-]*\s"
    r"|\d{1,2}(?:[.)]|:(?=\s)|\ufe0f?\u20e3|\s[-–—]?(?=[\[【*\s]))|(?:[IVX]{1,4}|[A-Da-d])[.)](?=\s))"
)
_BULLET = re.compile(rf"\A[\s>]*(?:[-*+•]\s+)?|{_TAG}|{_ORDINAL}", re.IGNORECASE)
# A quote or the end of a sentence is no decoration: the name behind it is content.
_LEAD = re.compile(
    rf"(?:{_TAG}|{_ORDINAL}|\\(?:sub)*(?:section|paragraph|textbf|begin|end)\*?(?=\{{)"
    r"|[^\w\n\"'“”‘’„$,;^.?!]|_){0,60}",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\s{0,9}(?:[*_]{0,3})[\"'“„”‘’](.{2,60})[\"'“”‘’][*_:]{0,3}\s{0,9}")
_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|[\u0300-\u036f\u0900-\u0963'’])*")
_WORDS = re.compile(
    rf"(?:[A-Z] ){{4,9}}[A-Z]\b|{_WORD.pattern}(?:[ _-]{{1,2}}{_WORD.pattern}){{0,4}}"
)
_END = re.compile(r"end(?:[ _-]of)?[ _-](?:the[ _-])?|[ _-]end$", re.IGNORECASE)
_CLOSING = re.compile(rf"[{_OPEN}]\s?[/\\]\s?$|\\end\{{$")
_NUMBER = re.compile(r"\s?(?:#|no\.?\s?|n°\s?)?\d{1,3}(?![\w.,])")
_AHEAD = r"\s{0,3}(?:[*_:：#|\]】)>–—=-]|$|</)"
_REMARK = re.compile(
    r"\s{0,3}(?:(?P<em>[*_]{0,3})(?:\([^()\n]{1,120}\)|（[^（）\n]{1,120}）)(?P=em)"
    r"|<!--[^\n]{0,120}?-->|/\*[^\n]{0,120}?\*/|(?<=[\])}>*])\s(?://|[#%])\s[^\n]{1,120}\Z"
    rf"|\{{[#.][\w-]{{1,40}}\}})(?={_AHEAD})"
)
_ADDRESS = re.compile(r"\([!-~]*[./#:=][!-~]*\)")
_SECOND = re.compile(
    rf"\s{{0,3}}(?P<mark>[/|·・,&–—-]?)\s{{0,2}}"
    rf"(?P<words>{_WORD.pattern}(?: {_WORD.pattern}){{0,3}})(?P<ends>{_AHEAD})?"
)
_SEPARATOR = re.compile(
    r"\s{0,3}(?:[:：]{1,2}=?|=>|[-=]>|[→⇒➜➡]\ufe0f?|=(?!=)|\|)|\s{1,3}[-–—]{1,2}(?=\s|$)|--(?=\s|$)"
)
_UNDERLINE = re.compile(r"[ \t>]{0,8}([=\-~_*#═─━])\1{2,}[ \t]*(?:\n|\Z)")
_INLINE = re.compile(
    rf"(?<=[\s>|.!?])(?=(?:[{_OPEN}*_#]|<(?:h[1-6]|b|strong|summary|td|dt)>)"
    rf"[\s{_OPEN}*_#]{{0,6}}[^\W\d_])"
    r"|(?<=[\s|;.!?])(?=[A-Z][A-Za-z]{2,12}(?: [A-Za-z]{2,12}){0,2}\s?[:：])"
)
_ORDERS = ("P", "A", "R", "PA", "PR", "AP", "AR", "RP", "RA")
_KINDS = {"bracket": 4.0, "tag": 3, "markdown": 2, "html": 2, "bold": 1, "table": 1, "label": 0}


@dataclass(frozen=True)
class Head:
    """A name of a section in the text; `body` is where its content begins, or `value` holds it.

    `weight` is how much the decoration tells, `close` what of it ends only behind the content,
    `remark` where a remark before the body begins; `closing` heads are `[/PROMPT]` and its like.
    """

    kind: str
    name: str
    start: int
    body: int
    weight: float = 0
    close: str = ""
    remark: int = -1
    closing: bool = False
    value: str | None = None


@dataclass(frozen=True)
class Run:
    """The heads of one sample, in order, each with its section, and where the last one ends.

    `toll` is what the heads before the last one cost if they are skipped.
    """

    heads: tuple[tuple[Head, str], ...] = ()
    end: int = 0
    closings: tuple[Head, ...] = ()
    score: float = 0
    toll: float = 0

    @property
    def order(self) -> str:
        """The first letters of its sections: "PAR"."""
        return "".join(section[0] for _, section in self.heads).upper()

    @property
    def rank(self) -> tuple[float, ...]:
        """What compares runs up to any head: the score, a late answer, an early response."""
        at = {section: head.start for head, section in self.heads}
        tie = (at.get(ANSWER, -1), -at.get(RESPONSE, 0), -at.get(PROMPT, 0))
        return (self.score + self.toll, *tie)


@lru_cache(4096)
def fold(words: str) -> str:
    """Words in lower case without accents, full-width forms, underscores and camel case."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|[\s_-]+", " ", unicodedata.normalize("NFKC", words))
    if re.fullmatch(r"(?:\w ){4,}\w", spaced):
        spaced = spaced.replace(" ", "")
    letters = unicodedata.normalize("NFKD", spaced.replace("’", "'").replace("'s ", " "))
    return "".join(c for c in letters if not unicodedata.combining(c)).casefold().strip()


NAMES: dict[str, dict[str, int]] = {}  # of each name its sections, with their weights
for _line in Path(__file__).with_name("section_names.txt").read_text("utf-8").splitlines():
    _section, _, _rest = _line.partition(" ")
    for _name in _rest.partition(": ")[2].split(", ") if _section in SECTIONS else ():
        NAMES.setdefault(fold(_name), {}).setdefault(_section, int(_rest.partition(":")[0]))


@lru_cache(4096)
def known(words: str) -> str:
    """The name in the table that these words are, if need be but for one letter; "" for none."""
    name = fold(words)
    if name in NAMES:
        return name
    first, _, rest = name.partition(" ")
    if rest and first in _MODIFIERS:
        return known(rest)
    if name.endswith((" start", " begin", " beginning", " open")):
        return known(name[: name.rindex(" ")])
    often_misspelt = (*SECTIONS, "question", "problem", "solution")
    return next((word for word in often_misspelt if is_slip(name, word)), "")


def find_heads(text: str, inline: bool = False) -> list[Head]:
    """Every head outside of closed code fences, closing ones (`[/PROMPT]`) too.

    Heads begin lines; with `inline` also decorated or capitalised ones within a line are found.
    """
    inside, heads, offset = fenced(text), [], 0
    for line in text.split("\n"):
        cuts = [found.start() for found in _INLINE.finditer(line)] if inline else []
        cuts = [0, *(cut for cut in cuts if re.search(r"[^\W\d]", line[max(0, cut - 40) : cut]))]
        for begin, end in zip(cuts, [*cuts[1:], len(line)], strict=True):
            head = _head(line[begin:end], offset + begin)
            if head is not None and not inside(head.start):
                heads.append(_underlined(text, head, offset + end))
        offset += len(line) + 1
    return heads


def _head(line: str, offset: int) -> Head | None:
    """The head that a line begins with: decoration, a known name, decoration, a separator."""
    if quoted := _QUOTED.fullmatch(line):
        head = _head(quoted[1], offset + quoted.start(1))
        alone = head is not None and head.body == offset + quoted.end(1)
        return replace(head, start=offset, body=offset + len(line)) if head and alone else None
    prefix = lead[0] if (lead := _LEAD.match(line)) else ""
    words = _WORDS.match(line, len(prefix))
    if words is None:
        return None
    for end in reversed([word.end() for word in _WORD.finditer(words[0])]):
        written = words[0][:end]
        if name := known(_END.sub("", written)):
            break
    else:
        return None

    core = _BULLET.sub("", prefix)
    brackets = [mark for mark in core if mark in _CLOSERS]
    stars = [mark for mark in core if mark in "*_`~"]
    need = [_CLOSERS[mark] for mark in brackets] + stars
    separator, remark, position = "", -1, len(prefix) + len(written)
    titled = not written[0].islower()
    if number := _NUMBER.match(line, position):
        position = number.end()
    while position < len(line):
        spaces = len(line[position : position + 4]) - len(line[position : position + 4].lstrip())
        at = position + spaces
        escaped = line[at : at + 1] == "\\"
        mark = line[at + escaped : at + escaped + 1]
        if mark in need and not (spaces and separator):
            need.remove(mark)
            position = at + 1 + escaped
        elif mark in _SHUT and (wrong := _SHUT.intersection(need)):
            need.remove(min(wrong))  # `[PROMPT}`
            position = at + 1
        elif mark and mark in "])】" and not brackets and titled:
            brackets, position = [mark], at + 1  # `ANSWER]` has only lost its bracket
        elif found := MARKUP.match(line, at):
            separator, position = separator or "tag", found.end()
        elif separator not in ("", "tag"):
            break
        elif found := _REMARK.match(line, position):
            if brackets and not need and _ADDRESS.fullmatch(found[0]):
                break  # `[Answer](url)`
            remark, position = position, found.end()
        elif (found := _SECOND.match(line, position)) and (
            known(found["words"])
            or (found["mark"] in ("/", "·", "・") and found["ends"] is not None)
        ):
            position = found.end("words")
        elif found := _SEPARATOR.match(line, position):
            separator, position = found[0].strip(), found.end()
        elif (
            (mark == "." and need)
            or (mark in (",", ";") and need == [line.rstrip()[-1]])
            or (
                brackets and not need and re.match(r"[-–—]\s", line[at:])  # not `[ANSWER]-5`
            )
        ):
            separator, position = mark, at + 1
        elif set(line[position:]) <= {*prefix, "#", " "}:
            position = len(line)
        else:
            break

    rest = line[position:].strip()
    if prefix.lstrip(" >")[:1] == "|" and separator == "|":
        kind = "table"
    elif brackets and not _SHUT.intersection(need):
        kind = "tag" if core.strip().lstrip("/\\") == "<" else "bracket"
    elif brackets and not separator and (rest or not titled):
        return None  # `[ANSWER` alone has only lost its bracket
    elif "#" in core or re.search(r"<h\d|\\", prefix) or re.search(r"([=~═━─-])\1", core):
        kind = "markdown"
    elif stars or re.search(r"<(?:b|strong)\b", prefix):
        kind = "bold"
    else:
        kind = "html" if MARKUP.search(prefix) else "bracket" if brackets else "label"
    if rest and not separator:
        spaced = line[position].isspace() and (titled or (rest[0].isalnum() and name in SECTIONS))
        if kind == "bracket":
            plain = spaced or (titled and rest[0] not in "([")
            glued = brackets == ["["] and name in SECTIONS and "[/" not in rest
            plain = plain or (glued and rest[0].isalnum())
        else:
            plain = kind == "tag" or bool(stars and spaced and titled and not need)
        if not plain:
            return None
    if kind == "label" and not titled and (not separator or separator in "-–—|"):
        return None
    if kind == "tag" and f"</{written}" in rest:
        return None  # a whole element: no head, a tag
    slip = fold(_END.sub("", written)) not in NAMES
    return Head(
        kind,
        name,
        offset,
        offset + position,
        _KINDS[kind] + titled - 3 * slip - 4 * line.startswith("    "),
        "".join(need),
        offset + remark if remark >= 0 and not rest and not separator else -1,
        bool(_END.search(written) or _CLOSING.search(prefix)),
    )


def _underlined(text: str, head: Head, end: int) -> Head:
    """A head with the rule under it, and the one above: `===`, `PROMPT`, `===`."""
    rule = _UNDERLINE.match(text, end + 1) if head.kind != "bracket" else None
    if rule is None or text[head.body : end].strip():
        return head
    above = text.rfind("\n", 0, max(0, head.start - 1)) + 1
    start = above if _UNDERLINE.match(text, above) and above < head.start else head.start
    weight = max(head.weight, _KINDS["markdown"])
    return replace(head, kind="markdown", start=start, body=rule.end(), weight=weight)


def find_runs(text: str, heads: Iterable[Head]) -> Iterator[Run]:
    """The samples that heads divide a text into: each complete one, then the best part of one.

    A sample is the sequence of heads, at most one a section, with the highest score: names and
    decoration that tell, equal decoration, the usual order. The next sample begins where the head
    of this one's prompt stands again.
    """
    heads = list(heads)
    closings = tuple(head for head in heads if head.closing)
    opening = _merged(text, [head for head in heads if not head.closing])
    runs: dict[tuple[str, str], Run] = {}  # the best by order and by kind of the last head
    best = part = Run()
    toll = 0.0
    for head, following in zip_longest(opening, opening[1:]):
        first = next((each for each, section in best.heads if section == PROMPT), head)
        if first is not head and (first.name, first.kind) == (head.name, head.kind):
            best = replace(best, end=head.start, closings=closings)
            if len(best.heads) == 3:
                yield best
            else:
                part = max(best, part, key=lambda run: run.score)
            runs, best = {}, Run()
        end = following.start if following else len(text)
        worth = head.weight - 3 * (head.value is None and not text[head.body : end].strip())
        roles = NAMES[head.name]
        steps = [each for section in roles for each in _steps(runs, head, section, worth, toll)]
        toll += _cost(roles)
        for run in steps:
            for key in ((run.order, "*"), (run.order, head.kind)):
                if key not in runs or run.rank > runs[key].rank:
                    runs[key] = run
            if not best.heads or (run.score, run.rank[1:]) > (best.score, best.rank[1:]):
                best = run
    part = max(replace(best, end=len(text), closings=closings), part, key=lambda run: run.score)
    if len(part.heads) > 1 or (part.heads and part.heads[0][0].kind == "bracket"):
        yield part


def _merged(text: str, heads: list[Head]) -> list[Head]:
    """Heads without those that only repeat the next one, as comments and titles do."""
    merged: list[Head] = []
    for head in heads:
        last = merged[-1] if merged else None
        if (
            last is not None
            and last.value is None
            and last.name == head.name
            and not text[last.body : head.start].strip()
        ):
            best = max(last, head, key=lambda each: each.weight + max(NAMES[each.name].values()))
            merged[-1] = replace(best, start=last.start, body=head.body, value=head.value)
        else:
            merged.append(head)
    return merged


def _cost(roles: dict[str, int]) -> float:
    return 0.5 * (max(roles.values()) >= 7 and {*roles} != {PROMPT})


def _steps(
    runs: dict[tuple[str, str], Run], head: Head, section: str, worth: float, toll: float
) -> Iterator[Run]:
    """Every run that begins, or goes on, with this head as this section."""
    letter, weight = section[0].upper(), NAMES[head.name][section]
    beyond = toll + _cost(NAMES[head.name])
    yield Run(((head, section),), score=weight + worth, toll=beyond)
    for order in (order for order in _ORDERS if letter not in order):
        # A prompt behind what it asks for, or an answer behind the response, is less usual.
        astray = 6 if letter == "P" else 2 if letter == "A" and "R" in order else 0
        for key, bonus in ((head.kind, 4.0), ("*", -12.0)):
            if (run := runs.get((order, key))) is None:
                continue
            last, role = run.heads[-1]
            if astray and NAMES[last.name][role] < 6:
                continue  # "Output" between a problem and its answer is an example
            if key == "*" and weight == 12:
                bonus = 0.0 if last.name in SECTIONS else -4.0
            score = run.score - toll + run.toll + weight + worth + bonus - astray
            score += 2 * (order + letter == "PAR")
            yield Run((*run.heads, (head, section)), score=score, toll=beyond)
