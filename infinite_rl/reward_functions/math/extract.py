r"""The answers that a text offers, and which one counts: `docs/answers.md` gives the reasons.

A reader finds the candidates of one source (a tag, `####`, a box, a marker such as "The answer is",
a number), with the text around each; a convention names the sources in the order of their rank. All
scans are linear, and nothing is guessed: a text without any of these is itself the answer.
"""

import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import islice
from typing import Literal, NamedTuple

from ...layout import ANSWER_TAG
from ...parsing.markup import TagMatch, format_of, split_thinking, tag_matches
from ...parsing.word_tables import WordTables
from .bounds import Unparsed
from .sentences import is_spoken, last_claim
from .statements import (
    LINE,
    NEXT_QUESTION,
    Tokens,
    fault_after,
    fault_around,
    fault_before,
    production,
    unit_after,
    until_end_token,
    until_next_question,
)
from .units import is_unit

Convention = Literal["tag", "math", "gsm8k", "last_number"]
Source = Literal["tag", "hash", "box", "phrase", "last_number"]
MAX_TEXT = 1_000_000  # characters of a completion; beyond this nothing is read
MAX_MENTIONS = 2_000  # of the tag's name, in tags or not
_TABLES = WordTables(__file__)
_BARE_ANSWER = 1_000  # characters that a text without any mark may have
_MATHEMATICS = re.compile(r"[0-9$]")
_HINT = _TABLES.pattern("hint")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
BOXES = ("\\boxed", "\\fbox", "\\framebox")
_UNBRACED = _TABLES.pattern("unbraced")
_FARTHEST = 8_000  # characters between the openings of two boxes, one in the other
_OR_ELSE = _TABLES.pattern("or else")
_FAR = 200  # characters that are read before and behind a box
_LONGEST_NAME = 20  # characters that are looked at before a box
_MOST_BOXES = 20  # that are read as one list
_WIDEST_JOINT = 120  # characters between two of them
_MARKERS = [marker.replace("\\n", "\n") for marker in _TABLES.rows("markers")]
_TAKEN_BACK, _ENDING = _TABLES.pattern("taken back"), _TABLES.pattern("ending")
_NUMBER = re.compile(r"[-+\u2212]?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)")
_DOUBTFUL, _DISOWNED = production("doubtful clause"), production("disowned")
_CLAUSE = re.compile(r"[.,;:!?](?=\s|$)|\n")
_PLAIN_NUMBER = _TABLES.pattern("plain number")
_LONGEST = 40  # characters of a number that is compared
_BARE = re.compile(r"(?:^|(?<=\n))(?:final )?answer\s+(?=\$|\\[\[(])", re.IGNORECASE)
_HASH, _LAST_LINE = _TABLES.pattern("hash"), _TABLES.pattern("last line")
# GSM8K's own solutions write out what they compute: "9 * 2 = <<9*2=18>>18".
CALCULATION = re.compile(r"<<[^<>\n]{0,200}>>")
_MAX_QUESTIONS = 100


class Candidate(NamedTuple):
    """What one source of a text offers as the answer, with the text before and behind it."""

    source: Source
    content: str
    before: str = ""
    after: str = ""
    format_score: float = 1.0

    @property
    def with_unit(self) -> str:
        """The content with the "%" or "thousand" behind it."""
        return f"{self.content} {unit_after(self.after)}".strip()

    def fault(self, answer: str) -> str:
        """Why the text around it does not state the answer; "" if it does."""
        if self.source == "box":
            return fault_around(self.before, self.after, answer)
        return fault_before(self.before) or fault_after(self.after, answer)


def answer_text(
    text: str, convention: Convention = "tag", *, reference: bool = False, question: str = ""
) -> str:
    """The part of a text that is its answer, by one of the conventions.

    - "tag": the last `<answer>` tag after the thinking, in it or without it the last box, else what
      follows a marker, else the whole text;
    - "math": the last `\\boxed{}` alone, as MATH is graded;
    - "gsm8k": what follows the last `####`, without one the last number;
    - "last_number": the last number.

    Raises Unparsed if it is missing. A `reference` without the convention's mark is itself the
    answer.
    """
    if convention == "tag":
        if len(text) < _BARE_ANSWER and not (_HINT.search(text.lower()) or is_spoken(text)):
            return text  # a bare answer, the commonest
        visible = visible_text(text)
        tags = _tags(visible, ANSWER_TAG)
        content = tags[-1].content if tags else visible
        stated = _stated_box(content) or after_marker(content)
        if stated is None and is_spoken(content):
            stated = last_claim(content, question)
            if stated is None and not reference and _MATHEMATICS.search(content):
                raise Unparsed("the last sentence states no answer")
        return content if stated is None else stated
    visible = visible_text(text)
    if convention == "math":
        box = _stated_box(visible)
        if box is None and not reference:
            raise Unparsed("no box")
        return text if box is None else box
    if convention == "gsm8k" and "####" in visible:
        return visible.rpartition("####")[2].strip().split("\n", 1)[0]
    return text if reference else last_number(visible)


def candidates(text: str, sources: Iterable[Source], tag: str) -> list[Candidate]:
    """The answers in the first of the sources that offers some; the last one counts.

    A box is that of `find_box`, and what a marker states is one answer. The text ends at the next
    question that the model adds behind the first answer, and `<<9*2=18>>` is left out.
    """
    text = visible_text(text)
    plain = CALCULATION.sub("", text)
    for source in sources:
        offered = _in_tags(text, tag) if source == "tag" else _READERS[source](plain)
        if offered:
            return offered
    return []


# -- tags, `####` and numbers ----------------------------------------------------------------------


def answer_tags(text: str, tag: str = ANSWER_TAG) -> list[TagMatch]:
    """The answer tags of a text. Raises Unparsed if it is longer, or names them more often, than an
    answer does.
    """
    return _tags(visible_text(text), tag)


def _tags(visible: str, tag: str) -> list[TagMatch]:
    if visible.lower().count(tag.lower()) > MAX_MENTIONS:
        raise Unparsed(f"more than {MAX_MENTIONS} mentions of the answer tag")
    return tag_matches(visible, tag)


def visible_text(text: str) -> str:
    """A completion without its thinking, up to the mark that ends the model's turn.

    Raises Unparsed if it is too long.
    """
    if len(text) > MAX_TEXT:
        raise Unparsed(f"a text of more than {MAX_TEXT} characters")
    return until_end_token(split_thinking(text)[0])


def _in_tags(text: str, tag: str) -> list[Candidate]:
    tags = answer_tags(text, tag)
    if not tags:
        return []
    text = until_next_question(text, tags[0].start)
    tags = answer_tags(text, tag) or tags
    last = tags[-1]
    end = text.find(last.content, last.start) + len(last.content)
    closing = re.compile(rf"[^<\w]{{0,10}}</?\s*{re.escape(tag)}[^>\n]{{0,20}}>", re.IGNORECASE)
    closed = closing.match(text, end)
    before, after = text[: last.start], text[closed.end() :] if closed else ""
    form = format_of(tags)
    contents = (CALCULATION.sub("", each.content) for each in tags)
    return [Candidate("tag", content, before, after, form) for content in contents]


def _after_hashes(text: str) -> list[Candidate]:
    first = _HASH.search(text) or _LAST_LINE.search(text)
    if first is None:
        return []
    text = until_next_question(text, first.end())
    matches = list(_HASH.finditer(text)) or [first]
    last = matches[-1]
    around = (text[: last.start()].rpartition("\n")[2], text[last.end() :])
    return [Candidate("hash", each[1].strip(), *around) for each in matches]


def hashed(text: str) -> list[str]:
    """What follows each `####`."""
    return [each[1].strip() for each in _HASH.finditer(text)]


def last_number(text: str) -> str:
    """The last numeral of a text, with its sign: what lenient graders of GSM8K look at."""
    numbers = _NUMBER.findall(text)
    if not numbers:
        raise Unparsed("no number in the text")
    return str(numbers[-1])


def plain_number(text: str) -> Fraction | None:
    """The value of a plain number, such as `\\frac{1}{2}` and `x = 0.5`; None for another text."""
    number = _PLAIN_NUMBER.fullmatch(text.replace(",", "")) if len(text) <= _LONGEST else None
    if number is None:
        return None
    over, under = number[2] or number[4], number[3] or number[5] or "1"
    return Fraction(f"{number[1]}{over}") / int(under) if int(under) else None


def _same_number(one: str, other: str) -> bool:
    return plain_number(one) is not None and plain_number(one) == plain_number(other)


# -- boxes -----------------------------------------------------------------------------------------


class Box(NamedTuple):
    """The content of a box or of a list of boxes, with its start and end in the text."""

    content: str
    text: str
    start: int
    end: int


def last_box(text: str) -> str | None:
    """The content of the last `\\boxed{...}` or `\\fbox{...}`, None if there is none.

    Boxes that are joined (see `joint`) are one list: `\\boxed{3}` or `\\boxed{4}` is a hedge.
    So are boxes that each have a name, which stays with them.
    """
    box = find_box(text)
    return None if box is None else box.content


def find_box(text: str) -> Box | None:
    """The last box as `last_box` reads it, with its position."""
    if "box " in text or "boxed " in text:
        text = _UNBRACED.sub(r"\1{\2}", text)
    start, opening = _box(text, len(text))
    if start < 0:
        return None
    alone = text.count("box") == 1
    end = closing_brace(text, opening)
    if not alone:
        start, opening, end = _outermost(text, start, opening, end)
    answer = _content(text, opening, end)
    if text.endswith(("-", "\N{MINUS SIGN}"), 0, start) and not text.endswith("--", 0, start):
        raise Unparsed("a sign in front of the box")
    if _RAISED.match(text, end + 1):
        raise Unparsed("a power after the box")
    begin, answer = (start, answer) if alone else _with_joined(text, start, answer)
    return Box(answer, text, begin, end + 1)


_UNIT_BEHIND = _TABLES.pattern("unit behind")
_RAISED = _TABLES.pattern("raised")


def _stated_box(text: str) -> str | None:
    """The content of the last box, None without one. Raises Unparsed if it is not the answer.

    A number of another kind that "or" joins to it, and a word such as "thousand", belong to it.
    """
    box = find_box(text)
    if box is None:
        return None
    answer, behind = box.content, box.text[box.end : box.end + _FAR]
    other = _OR_ELSE.match(behind) if "or" in behind else None
    if other:
        answer = answer if other["near"] else f"{answer} or {other['number']}"
        behind = behind[other.end() :]
    fault = fault_around(box.text[max(0, box.start - _FAR) : box.start], behind, answer)
    stated = _stated_otherwise(behind, answer)
    if stated and not fault and "final answer" in behind.lower() and box.text.count(BOXES[0]) > 1:
        return stated  # the boxes are steps
    if fault or stated:
        raise Unparsed(fault or "another answer behind the box")
    head = _name_before(box.text, box.start) if "=" not in answer else ""
    if head[1:2] == "(" and answer == box.content:  # of a function: its bound name is free
        answer = head + answer
    unit = unit_after(behind) if behind else ""
    if unit[-1:].isalpha() and "cent" not in unit.lower():
        return f"{answer} {unit}"
    named = _UNIT_BEHIND.match(behind) if plain_number(answer) is not None else None
    fits = named and named[1] != "percent" and (is_unit(named[1]) or "base" in named[1])
    return f"{answer} {named[1]}" if named and fits else answer


def _stated_otherwise(behind: str, answer: str) -> str:
    """The other plain number that "The answer is 6" states behind a box, "" without one."""
    if "answer" not in behind.lower() or plain_number(answer) is None:
        return ""
    try:
        later = (after_marker(until_next_question(behind)) or "").strip("$").rstrip(".").strip("$")
    except Unparsed:
        return ""
    return later if plain_number(later) not in (None, plain_number(answer)) else ""


def _boxes(text: str) -> list[Candidate]:
    starts = [start for start in map(text.find, BOXES) if start >= 0]
    box = find_box(until_next_question(text, min(starts))) if starts else None
    if box is None:
        return []
    return [Candidate("box", box.content, box.text[: box.start], box.text[box.end :])]


def _with_joined(text: str, start: int, last: str) -> tuple[int, str]:
    """Where the list begins that the last box, which begins at `start`, ends, and its content."""
    answer, parts = last, [last]
    for _ in range(_MOST_BOXES):
        stop = start
        try:
            start, opening = _box(text, stop)
            end = closing_brace(text, opening) if start >= 0 else stop
            near = start >= 0 and stop - end <= _WIDEST_JOINT
            content = _content(text, opening, end) if near else ""
        except Unparsed:
            return stop, answer  # only the last box must be whole
        joined = joint(text[end + 1 : stop]) or _titled(text, start, end, stop) if near else None
        if joined is None:
            labelled = len(parts) > 1 and not any(map(_LETTER_END.search, parts))
            labels = zip("abcdefghijklmnopqrstuvwxyz", parts[::-1], strict=False)
            return stop, " ".join(f"({n}) {part}" for n, part in labels) if labelled else answer
        parts = [*parts, content] if parts and joined.lettered else []
        if joined.repeats and (content == last or _same_number(content, last)):
            continue
        if not joined.sign:
            raise Unparsed("several boxes in a row")
        name = _name_before(text, start)
        if joined.name and not name and not joined.part and joined.sign in (",", ";"):
            return stop, answer  # "We get \\boxed{3}, x = \\boxed{4}": another statement
        if name and joined.name:
            answer = answer if answer.startswith(joined.name) else joined.name + answer
            content = name + content
        elif content == last and not joined.part:
            continue
        answer = f"{content} {joined.sign} {answer}"
    raise Unparsed(f"more than {_MOST_BOXES} boxes in a row")


def _box(text: str, stop: int) -> tuple[int, int]:
    """Where the last box before `stop` begins, and where its brace opens; -1 without one."""
    start, opening = -1, 0
    for name in BOXES:
        index = text.rfind(name, 0, stop)
        if index > start:
            start, opening = index, index + len(name)
    while start >= 0 and opening < len(text) and text[opening] in " \t\n":
        opening += 1
    if start >= 0 and text[opening : opening + 1] != "{":
        raise Unparsed("a box without braces")
    return start, opening


def _outermost(text: str, start: int, opening: int, end: int) -> tuple[int, int, int]:
    """The start, the brace and the end of the box around this one, or of this one itself."""
    index, outer = start, (start, opening, end)
    for _ in range(_MOST_BOXES):
        try:
            index, opening = _box(text, index)
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
    inner = next((name for name in BOXES if content.startswith(f"{name}{{")), None)
    if inner and closing_brace(content, len(inner)) == len(content) - 1:
        return _content(content, len(inner), len(content) - 1)
    if not content:
        raise Unparsed("an empty box")
    return content


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


class Joint(NamedTuple):
    """Of two boxes: the sign between them in a list, and the second one's name, `x = ` or "".

    The sign is "" if nothing separates them. The second is a separate answer, even if equal, if it
    is of another `part`, which is `lettered` in "(b)". It may repeat the first if no word or mark
    joins them.
    """

    sign: str
    name: str
    part: bool
    repeats: bool
    lettered: bool = False


_JOINT, _NAME, _NAMED = production("joint"), production("name"), production("named")
_LABEL, _JOINING, _SEPARATOR = map(production, ("label", "joining", "separator"))
_OR, _LETTERED = production("or word"), production("lettered")
_LETTER_END = re.compile(r"(?<![A-Za-z(])(?:[a-h]|i{1,3}|iv|v)\)")


def joint(between: str) -> Joint | None:
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


def _titled(text: str, start: int, end: int, stop: int) -> Joint | None:
    """What joins two boxes that each have a title, or the label of the next part, before them."""
    kinds = Tokens.of(text[max(0, start - _FAR) : start]).kinds
    between = Tokens.of(text[end + 1 : stop])
    titles = _TITLES.fullmatch(between.kinds) and _TITLED.search(kinds.rpartition(LINE)[2])
    part = _PARTED.fullmatch(between.kinds)
    label = between.texts[part.start(1)].lower() if part else ""
    last = _LABELS[_LABELS.index(label) - 1] if label in _LABELS[1:] else ""
    before = re.compile(rf"(?:^|[\s*(]){last}\)").search(text[max(0, start - _FAR) : start])
    lettered = bool(last and before)
    counted = _COUNTED.fullmatch(between.kinds)
    return Joint(",", "", True, False, lettered) if titles or lettered or counted else None


_TITLES, _TITLED, _PARTED, _COUNTED = map(production, ("titles", "titled", "parted", "counted"))
_LABELS = ["a", "b", "c", "d", "e", "f", "", "i", "ii", "iii", "iv"]


def _name_before(text: str, start: int) -> str:
    """The name `x = ` that ends right before a box, "" without one."""
    texts, kinds = Tokens.of(text[max(0, start - _LONGEST_NAME) : start])
    name = _NAMED.search(kinds)
    return _spelled(texts[name.start(1) : name.end(1)]) if name else ""


def _spelled(texts: list[str]) -> str:
    """`x &=` and `x=` as `x = `."""
    return "".join(texts).rstrip("= \t\n&$") + " = "


# -- markers ---------------------------------------------------------------------------------------


def after_marker(text: str) -> str | None:
    """What the last marker, such as `#### ` or `The answer is`, states; None without a marker.

    It ends with its line or its sentence. What takes it back wins: "The answer is 4. No wait, 5".
    Raises Unparsed if its own clause denies it: "I do not think that the answer is 4".
    """
    lowered = text.lower()
    if len(lowered) != len(text):  # some capital letters lower to two characters
        return None
    index, length = max((lowered.rfind(marker), len(marker)) for marker in _MARKERS)
    bare = _BARE.search(text) if index < 0 else None
    if bare:  # "Answer $9$"
        index, length = bare.span()[0], len(bare[0])
    if index < 0:
        return None
    if fault_before(text[max(0, index - _FAR) : index]):
        raise Unparsed("an answer that is denied or left open")
    clause = _CLAUSE.split(text[max(0, index - 200) : index])[-1]
    if _DOUBTFUL.search(Tokens.of(clause).seen().kinds):
        raise Unparsed("an answer that is denied or left open")
    rest = text[index + length :].lstrip(" \t:*\n}")
    if _DISOWNED.match(Tokens.of(rest[:_FAR]).seen().kinds):
        raise Unparsed("an answer that is called wrong")
    taken_back = list(_TAKEN_BACK.finditer(rest))
    rest = rest[taken_back[-1].end() :] if taken_back else rest
    statement = _statement(rest)
    fault = fault_after(rest.partition(statement)[2], statement) if statement else ""
    if fault:
        raise Unparsed(fault)
    return statement


def _statement(rest: str) -> str:
    for opener, closer in (("$$", "$$"), ("\\[", "\\]")):
        if rest.startswith(opener) and closer in rest[2:]:
            return rest[: rest.index(closer, 2) + 2]
    line = rest.split("\n", 1)[0]
    statement = _ENDING.split(line, maxsplit=1)[0].strip(" \t*")
    return statement[:-1].rstrip("*") if statement.endswith("**.") else statement


def _phrases(text: str) -> list[Candidate]:
    begin = 0
    questions = islice(NEXT_QUESTION.finditer(text), _MAX_QUESTIONS)
    for end in [*(match.start() for match in questions), len(text)]:
        part = text[begin:end].replace("####", "")  # the rest of it are headings
        answer = after_marker(part)
        if answer is not None:
            marker = max(0, part.lower().rfind("answer"))
            after = part[marker:].partition(answer)[2] if answer else ""
            return [Candidate("phrase", answer, after=after)]
        begin = end
    return []


_READERS: dict[Source, Callable[[str], list[Candidate]]] = {
    "hash": _after_hashes,
    "box": _boxes,
    "phrase": _phrases,
    "last_number": lambda text: [Candidate("last_number", last_number(text))],
}
