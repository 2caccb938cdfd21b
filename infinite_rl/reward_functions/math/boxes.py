r"""The last `\boxed{}` of a text, and the boxes that are joined to it into one list.

`\boxed{3} or \boxed{4}` is the list `3 or 4`, `x = \boxed{1}, y = \boxed{2}` one with names;
`docs/boxes.md` has the rules. All scans are linear, and only the last box must be whole,
unless it is cut off while its line is said again.
"""

import re
from fractions import Fraction
from typing import NamedTuple

from ...parsing.word_tables import WordTables
from .bounds import Unparsed
from .statements import LINE, Tokens, production

_TABLES = WordTables(__file__)
BOXES = ("\\boxed", "\\fbox", "\\framebox")
_MOST_BOXES = 20  # that are read as one list
FAR = 200  # characters that are read before and behind a box


class Box(NamedTuple):
    """The content of a box or of a list of boxes, with its start and end in the text."""

    content: str
    text: str
    start: int
    end: int


def last_box(text: str) -> str | None:
    """The content of the last `\\boxed{...}` or `\\fbox{...}`, None if there is none.

    Boxes that are joined (see `Joint`) are one list: `\\boxed{3}` or `\\boxed{4}` is a hedge.
    So are boxes that each have a name, which stays with them.
    """
    box = find_box(text)
    return None if box is None else box.content


_UNBRACED, _RAISED = _TABLES.pattern("unbraced"), _TABLES.pattern("raised")


def find_box(text: str) -> Box | None:
    """The last box as `last_box` reads it, with its position."""
    if "box " in text or "boxed " in text:
        text = _UNBRACED.sub(r"\1{\2}", text)
    start, opening = _opening(text, len(text))
    if start < 0:
        return None
    alone = text.count("box") == 1
    try:
        end = closing_brace(text, opening)
    except Unparsed:
        before, _, last = text.rstrip().rpartition("\n")
        line = before.rstrip().rpartition("\n")[2]
        whole = line.count("{") == line.count("}")
        if alone or not whole or start < len(before) or not line.startswith(last):
            raise
        return find_box(before)  # the last line is said again, until its length runs out
    if not alone:
        start, opening, end = _outermost(text, start, opening, end)
    answer = _content(text, opening, end)
    if text.endswith(("-", "\N{MINUS SIGN}"), 0, start) and not text.endswith("--", 0, start):
        raise Unparsed("a sign in front of the box")
    if _RAISED.match(text, end + 1):
        raise Unparsed("a power after the box")
    begin, answer = (start, answer) if alone else _with_joined(text, start, answer)
    return Box(answer, text, begin, end + 1)


# -- one box --------------------------------------------------------------------------------------


def _opening(text: str, stop: int) -> tuple[int, int]:
    """Where the last box before `stop` begins, and where its brace opens; -1 without one."""
    start, opening = -1, 0
    for name in BOXES:
        index = text.rfind(name, start + 1, stop)
        if index >= 0:
            start, opening = index, index + len(name)
    while start >= 0 and opening < len(text) and text[opening] in " \t\n":
        opening += 1
    if start >= 0 and text[opening : opening + 1] != "{":
        raise Unparsed("a box without braces")
    return start, opening


_FARTHEST = 8_000  # characters between the openings of two boxes, one in the other


def _outermost(text: str, start: int, opening: int, end: int) -> tuple[int, int, int]:
    """The start, the brace and the end of the box around this one, or of this one itself."""
    index, outer = start, (start, opening, end)
    for _ in range(_MOST_BOXES):
        try:
            index, opening = _opening(text, index)
            if index < 0 or outer[0] - index > _FARTHEST:
                return outer
            end = closing_brace(text, opening)
        except Unparsed:
            return outer  # one without an end holds nothing
        if end > outer[2]:
            outer = (index, opening, end)
    return outer


def _content(text: str, opening: int, end: int) -> str:
    content = text[opening + 1 : end].strip()
    if content.startswith(BOXES) and content.endswith("}"):
        inner = content.index("{")
        if content[:inner] in BOXES and closing_brace(content, inner) == len(content) - 1:
            return _content(content, inner, len(content) - 1)
    if not content:
        raise Unparsed("an empty box")
    return content


_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


def closing_brace(text: str, opening: int) -> int:
    """The index of the brace that closes the one at `opening`; escaped braces do not count."""
    depth = 0
    for mark in _BRACE.finditer(text, opening):
        if mark[0] == "{":
            depth += 1
        elif mark[0] == "}":
            depth -= 1
            if not depth:
                return mark.start()
    raise Unparsed("a box that is not closed")


# -- boxes that are one list -----------------------------------------------------------------------


class Joint(NamedTuple):
    """What joins two boxes into a list."""

    sign: str  # "or" in \boxed{3} or \boxed{4}; "" if nothing separates them
    name: str  # of the second box, "y = " in x = \boxed{3}, y = \boxed{4}; else ""
    part: bool  # whether the second has a label or a title, so that it counts even if it is equal
    repeats: bool  # whether the second may say the first again, as no word or mark joins them
    lettered: bool = False  # whether the label is a letter: (a) \boxed{3} (b) \boxed{4}
    first: str = ""  # name of the first box, if both have a title: Minimum: \boxed{3}


_WIDEST_JOINT = 120  # characters between two boxes
_LETTER_END = re.compile(r"(?<![A-Za-z(])(?:[a-h]|i{1,3}|iv|v)\)")


def _with_joined(text: str, start: int, last: str) -> tuple[int, str]:
    """Where the list begins that the last box, which begins at `start`, ends, and its content."""
    answer, parts = last, [last]
    for _ in range(_MOST_BOXES):
        stop = start
        try:
            start, opening = _opening(text, stop)
            end = closing_brace(text, opening) if start >= 0 else stop
            near = start >= 0 and stop - end <= _WIDEST_JOINT
            content = _content(text, opening, end) if near else ""
        except Unparsed:
            return stop, answer  # only the last box must be whole
        joined = _joint(text[end + 1 : stop]) or _titled(text, start, end, stop) if near else None
        if joined is None:
            labelled = len(parts) > 1 and not any(map(_LETTER_END.search, parts))
            labels = zip("abcdefghijklmnopqrstuvwxyz", parts[::-1], strict=False)
            return stop, " ".join(f"({n}) {part}" for n, part in labels) if labelled else answer
        parts = [*parts, content] if parts and joined.lettered else []
        same = content == last or plain_number(content) == plain_number(last) is not None
        if joined.repeats and same:
            continue
        if not joined.sign:
            raise Unparsed("several boxes in a row")
        name = joined.first or name_before(text, start)
        if joined.name and not name and not joined.part and joined.sign in (",", ";"):
            return stop, answer  # "We get \\boxed{3}, x = \\boxed{4}": another statement
        if name and joined.name:
            answer = answer if answer.startswith(joined.name) else joined.name + answer
            content = name + content
        elif same and not joined.part:
            continue
        answer = f"{content} {joined.sign} {answer}"
    raise Unparsed(f"more than {_MOST_BOXES} boxes in a row")


_JOINT, _NAME = production("joint"), production("name")
_LABEL, _JOINING, _SEPARATOR = map(production, ("label", "joining", "separator"))
_OR, _LETTERED = production("or word"), production("lettered")


def _joint(between: str) -> Joint | None:
    """What joins two boxes with this text between them; None if it begins a new statement."""
    texts, kinds = Tokens.of(between)
    depth = 0
    for token in texts:
        depth += (token == "{") - (token == "}")
        if depth < 0:
            return None  # a brace of what the first box stands in
    if _JOINT.fullmatch(kinds) is None:
        return None
    mark = next((token for token in reversed(texts) if token in (",", ";")), "")
    name, label = _NAME.search(kinds), _LABEL.search(kinds)
    word = "or" if _OR.search(kinds) else "and" if _JOINING.search(kinds) else ""
    separated = "," if label or _SEPARATOR.search(kinds) else ""
    named = _spelled(texts[name.start() : name.end()]) if name else ""
    sign = mark + word or separated
    lettered = label is not None and _LETTERED.search(kinds[slice(*label.span())]) is not None
    return Joint(sign, named, label is not None, not (mark or word or label), lettered)


_TITLES, _TITLED, _PARTED, _COUNTED = map(production, ("titles", "titled", "parted", "counted"))
_LABELS = ["a", "b", "c", "d", "e", "f", "", "i", "ii", "iii", "iv"]


def _titled(text: str, start: int, end: int, stop: int) -> Joint | None:
    """What joins two boxes that each have a title, or the label of the next part, before them."""
    texts, kinds = Tokens.of(text[max(0, start - FAR) : start])
    between = Tokens.of(text[end + 1 : stop])
    line = kinds.rpartition(LINE)[2]
    second, first = _TITLES.fullmatch(between.kinds), _TITLED.search(line)
    part = _PARTED.fullmatch(between.kinds)
    label = between.texts[part.start(1)].lower() if part else ""
    last = _LABELS[_LABELS.index(label) - 1] if label and label in _LABELS[1:] else ""
    before = re.compile(rf"(?:^|[\s*(]){last}\)").search(text[max(0, start - FAR) : start])
    lettered = bool(last and before)
    counted = _COUNTED.fullmatch(between.kinds)
    if second and first:
        names = (
            _title(between.texts[slice(*second.span(1))]),
            _title(texts[len(kinds) - len(line) :][slice(*first.span(1))]),
        )
        name, other = names if all(names) else ("", "")
        return Joint(",", name, True, False, lettered, other)
    return Joint(",", "", True, False, lettered) if lettered or counted else None


def _title(texts: list[str]) -> str:
    """The name `minimum = ` of a title of one word, "The minimum is" or "Minimum:"; else ""."""
    words = [each for each in texts if each.isalpha() and each not in ("The", "the", "is")]
    return f"{words[0].lower()} = " if len(words) == 1 else ""


# -- names and numbers beside boxes ----------------------------------------------------------------

_NAMED = production("named")
_LONGEST_NAME = 20  # characters that are looked at before a box


def name_before(text: str, start: int) -> str:
    """The name `x = ` that ends right before a box, "" without one."""
    texts, kinds = Tokens.of(text[max(0, start - _LONGEST_NAME) : start])
    name = _NAMED.search(kinds)
    return _spelled(texts[name.start(1) : name.end(1)]) if name else ""


def _spelled(texts: list[str]) -> str:
    """`x &=` and `x=` as `x = `."""
    return "".join(texts).rstrip("= \t\n&$") + " = "


_PLAIN_NUMBER = _TABLES.pattern("plain number")
_LONGEST = 40  # characters of a number that is compared


def plain_number(text: str) -> Fraction | None:
    """The value of a plain number, such as `\\frac{1}{2}` and `x = 0.5`; None for another text."""
    number = _PLAIN_NUMBER.fullmatch(text.replace(",", "")) if len(text) <= _LONGEST else None
    if number is None:
        return None
    over, under = number[2] or number[4], number[3] or number[5] or "1"
    return Fraction(f"{number[1]}{over}") / int(under) if int(under) else None
