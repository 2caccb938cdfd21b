r"""The answers that a text offers, and which one counts: `docs/answers.md` gives the reasons.

A reader finds the candidates of one source (a tag, `####`, a box, a marker such as "The answer is",
a number), with the text around each; a convention names the sources in the order of their rank. All
scans are linear, and nothing is guessed: a text without any of these is itself the answer.
"""

import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Literal, NamedTuple

from ...layout import ANSWER_TAG, MAX_COMPLETION
from ...parsing.markup import TagMatch, format_of, split_thinking, tag_matches
from ...parsing.word_tables import WordTables
from .bounds import Unparsed
from .boxes import BOXES, FAR, find_box, name_before, plain_number
from .sentences import is_spoken, last_answer, sentence_answer
from .statements import (
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
_TABLES = WordTables(__file__)


class Candidate(NamedTuple):
    """What one source of a text offers as the answer, with the text before and behind it."""

    source: Source
    content: str
    before: str = ""
    after: str = ""
    format_score: float = 1.0

    @property
    def stated(self) -> str:
        """The content with the unit behind a tag or a box, and without the "!" of a sentence."""
        if self.source == "phrase":
            return self.content.rstrip("!")  # "The answer is 18!"
        if self.source in ("tag", "box"):
            return f"{self.content} {unit_after(self.after)}".strip()
        return self.content

    def fault(self, answer: str) -> str:
        """Why the text around it does not state the answer; "" if it does."""
        if self.source == "box":
            return fault_around(self.before, self.after, answer)
        return fault_before(self.before) or fault_after(self.after, answer)


_HINT = _TABLES.pattern("hint")
_BARE_NUMBER = re.compile(r"(\\boxed\{)?(-?[0-9][0-9.,/]*)(?(1)\})")
_BARE_ANSWER = 1_000  # characters that a text without any mark may have
_CLAIM = _TABLES.pattern("claim")
_MATHEMATICS = re.compile(r"[0-9$]")


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
        bare = _BARE_NUMBER.fullmatch(text)
        if bare:
            return bare[2]  # the commonest: no word, mark or sign stands beside it
        hinted = len(text) >= _BARE_ANSWER or "box" in text or _HINT.search(text.lower())
        if not hinted and not is_spoken(text):
            return text
        visible = visible_text(text)
        tags = _tags(visible, ANSWER_TAG)
        content = tags[-1].content if tags else visible
        stated = _stated_box(content) or after_marker(content)
        if stated and _CLAIM.match(stated) and _MATHEMATICS.search(stated):
            stated = sentence_answer(f"{stated}.", question) or stated
        if stated is None and is_spoken(content):
            stated = last_answer(content, question)
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


# GSM8K's own solutions write out what they compute: "9 * 2 = <<9*2=18>>18".
CALCULATION = re.compile(r"<<[^<>\n]{0,200}>>")


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

MAX_MENTIONS = 2_000  # of the tag's name, in tags or not


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
    if len(text) > MAX_COMPLETION:
        raise Unparsed(f"a text of more than {MAX_COMPLETION} characters")
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


_HASH, _LAST_LINE = _TABLES.pattern("hash"), _TABLES.pattern("last line")


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


_NUMBER = re.compile(r"[-+\u2212]?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)")


def last_number(text: str) -> str:
    """The last numeral of a text, with its sign: what lenient graders of GSM8K look at."""
    numbers = _NUMBER.findall(text)
    if not numbers:
        raise Unparsed("no number in the text")
    return str(numbers[-1])


# -- boxes -----------------------------------------------------------------------------------------

_OR_ELSE, _UNIT_BEHIND = _TABLES.pattern("or else"), _TABLES.pattern("unit behind")


def _stated_box(text: str) -> str | None:
    """The content of the last box, None without one. Raises Unparsed if it is not the answer.

    A number of another kind that "or" joins to it, and a word such as "thousand", belong to it.
    """
    box = find_box(text)
    if box is None:
        return None
    before, behind = box.text[max(0, box.start - FAR) : box.start], box.text[box.end :][:FAR]
    answer, other = box.content, _OR_ELSE.match(behind) if "or" in behind else None
    if other:
        answer = answer if other["near"] else f"{answer} or {other['number']}"
        behind = behind[other.end() :]
    fault, stated = fault_around(before, behind, answer), _stated_otherwise(behind, answer)
    if stated and not fault and "final answer" in behind.lower() and box.text.count(BOXES[0]) > 1:
        return stated  # the boxes are steps
    if fault or stated:
        raise Unparsed(fault or "another answer behind the box")
    head = name_before(box.text, box.start) if "(" in before and "=" not in answer else ""
    if head[1:2] == "(" and answer == box.content:  # of a function: its bound name is free
        answer = head + answer
    if not behind.strip("$.*)]}\\ \n"):
        return answer  # most often
    unit, named = unit_after(behind), _UNIT_BEHIND.match(behind)
    if unit[-1:].isalpha() and "cent" not in unit.lower():
        return f"{answer} {unit}"
    fits = named and named[1] != "percent" and (is_unit(named[1]) or "base" in named[1])
    return f"{answer} {named[1]}" if named and fits and plain_number(answer) is not None else answer


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


# -- markers ---------------------------------------------------------------------------------------

_MARKERS = [marker.replace("\\n", "\n") for marker in _TABLES.rows("markers")]
_STEMS = ("ans", "####", "option is", "choice is")  # of which each marker has one
_BARE = re.compile(r"(?:^|(?<=\n))(?:final )?answer\s+(?=\$|\\[\[(])", re.IGNORECASE)
_TAKEN_BACK, _ENDING = _TABLES.pattern("taken back"), _TABLES.pattern("ending")
_DOUBTFUL, _DISOWNED = production("doubtful clause"), production("disowned")
_FENCE = re.compile(r"```[a-z]*\n([^`]*)```")
_CLAUSE = re.compile(r"[.,;:!?](?=\s|$)|\n")


def after_marker(text: str) -> str | None:
    """What the last marker, such as `#### ` or `The answer is`, states; None without a marker.

    It ends with its line or its sentence. What takes it back wins: "The answer is 4. No wait, 5".
    Raises Unparsed if its own clause denies it: "I do not think that the answer is 4".
    """
    lowered = text.lower()
    if len(lowered) != len(text) or not any(stem in lowered for stem in _STEMS):
        return None  # some capital letters lower to two characters
    index, length = max((lowered.rfind(marker), len(marker)) for marker in _MARKERS)
    bare = _BARE.search(text) if index < 0 else None
    if bare:  # "Answer $9$"
        index, length = bare.span()[0], len(bare[0])
    if index < 0:
        return None
    if fault_before(text[max(0, index - FAR) : index]):
        raise Unparsed("an answer that is denied or left open")
    clause = _CLAUSE.split(text[max(0, index - 200) : index])[-1]
    if _DOUBTFUL.search(Tokens.of(clause).seen().kinds):
        raise Unparsed("an answer that is denied or left open")
    rest = text[index + length :].lstrip(" \t:*\n}")
    if _DISOWNED.match(Tokens.of(rest[:FAR]).seen().kinds):
        raise Unparsed("an answer that is called wrong")
    taken_back = list(_TAKEN_BACK.finditer(rest))
    rest = rest[taken_back[-1].end() :] if taken_back else rest
    statement = _statement(rest)
    fault = fault_after(rest.partition(statement)[2], statement) if statement else ""
    if fault:
        raise Unparsed(fault)
    return statement


def _statement(rest: str) -> str:
    fence = _FENCE.match(rest)
    if fence:
        return fence[1].strip()
    for opener, closer in (("$$", "$$"), ("\\[", "\\]")):
        if rest.startswith(opener) and closer in rest[2:]:
            return rest[: rest.index(closer, 2) + 2]
    line = rest.split("\n", 1)[0]
    statement = _ENDING.split(line, maxsplit=1)[0].strip(" \t*")
    statement = statement[:-1].rstrip("*") if statement.endswith("**.") else statement
    return f"{statement}**" if statement.count("**") == 1 else statement  # "2 * 3 = **6**"


_MAX_QUESTIONS = 100


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
