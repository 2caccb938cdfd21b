"""What the last sentence of a solution states: the value of the quantity that it speaks of.

A sentence has a subject, a verb, a value, and maybe a unit, a restriction and a remark. It is
written as a row of its words and marks with `#` for each piece of mathematics, and the grammar of
`sentences.txt` is read on that row. A clause that denies, supposes or compares claims nothing.
"""

import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple

from ...parsing.number_words import CARDINALS, multiple
from ...parsing.word_tables import WordTables
from .statements import fault_after, fault_before
from .units import is_unit, unit

_TABLES = WordTables(__file__)
_grammar = _TABLES.pattern
_KINDS = ("formula", "pair", "short", "word", "mark", "bare")
_PIECE = re.compile("|".join(f"(?P<{kind}>{_TABLES.source(kind)})" for kind in _KINDS), re.DOTALL)
_PREPOSITIONS, _NO_UNITS, _NO_NAMES = map(_TABLES.words, ("prepositions", "no units", "no names"))
_RAW_KINDS, _ANY_KIND = _TABLES.words("raw kinds"), _TABLES.words("any kind")
_UNIT_WORDS, _NO_LABEL, _ARTICLES = map(_TABLES.words, ("unit words", "no label", "articles"))
_COMMON_WORDS = _TABLES.words("said of any")
_OPPOSITES = [
    [frozenset(names.split()) for names in row.split(",")] for row in _TABLES.rows("opposites")
]
_LONGEST, _MOST = 1_000, 150  # characters, and pieces, of a sentence that is read


class Piece(NamedTuple):
    """A word in small letters, a mark, or `#`, with its place in the sentence."""

    kind: str
    start: int
    end: int


class Row:
    """A sentence as the pieces that it is made of."""

    def __init__(self, text: str, pieces: Sequence[Piece]) -> None:
        self.text, self.pieces = text, pieces
        self.row = " ".join(piece.kind for piece in pieces)

    def part(self, start: int, end: int | None = None) -> "Row":
        """The pieces between two places of the row."""
        last = len(self.pieces) if end is None else len(self.row[:end].split())
        return Row(self.text, self.pieces[len(self.row[:start].split()) : last])

    @property
    def written(self) -> str:
        """The sentence's own text from the first piece to the last."""
        return self.text[self.pieces[0].start : self.pieces[-1].end] if self.pieces else ""


def is_spoken(text: str) -> bool:
    """Whether a text is one sentence, or several, and no bare answer."""
    text = text.strip()
    several = _grammar("sentences").search(text) and _grammar("words").search(text)
    return bool(several or _grammar("sentence").search(text))


def last_claim(text: str, question: str = "") -> str | None:
    """What the last sentence of a text states, that is no remark; None if it states nothing.

    Of several values the `question` tells which one it asks for.
    """
    text = _grammar("qed").sub("", text.strip()).rstrip()
    items = [*takewhile(_grammar("item").fullmatch, reversed(text.split("\n")))]
    if len(items) > 1:  # "* youngest: 8" and so on, each on its line
        values = [_grammar("bullet").sub("", item).strip(" *.,;") for item in reversed(items)]
        return ", ".join(value.replace(":", "") for value in values)
    labels = list(_grammar("part").finditer(text))
    if len(labels) > 1 and labels[0][1] in ("a", "i"):
        ends = [*(match.start() for match in labels[1:]), len(text)]
        parts = [_last(text[m.end() : end], "") for m, end in zip(labels, ends, strict=True)]
        if None not in parts:
            return " ".join(f"({m[1]}) {part}" for m, part in zip(labels, parts, strict=True))
    return _last(text, question)


def _last(text: str, question: str) -> str | None:
    starts = [0, *(match.end() for match in _grammar("sentences").finditer(text))]
    for start, end in zip(starts[::-1], [*starts[1:], len(text)][::-1], strict=True):
        sentence = text[start:end].strip()
        if len(sentence) > _LONGEST:
            return None
        if sentence and not _grammar("remark").fullmatch(sentence):
            return claim(sentence, question)
    return None


def claim(sentence: str, question: str = "") -> str | None:
    """What a sentence states: its value with unit and restriction, None if it states nothing."""
    if sentence.endswith("?"):
        return None
    bold = list(_grammar("bold").finditer(sentence))
    if len(bold) == 1 and not fault_before(sentence[: bold[0].start()]):
        content = bold[0][1] or bold[0][2]
        return (is_spoken(content) and claim(content, question)) or content
    row = _row(sentence.replace("**", ""))
    if len(row.pieces) > _MOST:
        return None
    while row.pieces:
        yes = _grammar("yes or no").match(row.row)
        if yes:
            return yes["words"]
        rests = [row.part(step.end()) for step in _grammar("step").finditer(row.row)]
        numeric = "#" in row.row and not _grammar("asks words").search(question)
        stating = _grammar("some number" if numeric else "some word")
        rests = [rest for rest in rests if stating.search(rest.row)]
        if not rests:
            return _stated(row, question)
        row = rests[-1]
    return None


def _stated(row: Row, question: str) -> str | None:
    if _grammar("doubted").search(row.row):
        return None
    if _grammar("impossible").search(row.row):
        return "no solution"
    answered = question and yes_or_no(question, row.written)
    if answered:
        return answered
    claims = _claims(row)
    if len(claims) > 1:
        return _asked_for(claims, question)
    theorem = _grammar("theorem").search(row.row)
    row = _without_remarks(row.part(0, theorem.start()) if theorem else row)
    if "#" not in row.row:
        if not _grammar("asks words").search(question):
            row = Row(row.text, _with_numbers(row.pieces))
        if "#" not in row.row:
            return _in_words(row)
    if _of_another(row.row.rpartition("#")[0], question):
        return None
    if _grammar("ratio").search(row.row):
        row = _with_ratios(row)
    for name, reading in _READINGS.items():
        match = _grammar(name).search(row.row)
        stated = reading(row, match) if match else ""
        if stated != "":
            return stated
    return _value(row, question)


def yes_or_no(question: str, statement: str) -> str:
    """What a text answers: "no" if "not prime" is said and "Is 91 prime?" asked; else "".

    All its words must be asked for, in their order; "not" or "or" in the question leaves it open.
    """
    asking = _grammar("yes or no asked").search(question)
    requested = re.findall("[a-z0-9]+", asking[0].casefold()) if asking else []
    stated = re.findall("[a-z0-9]+", statement.casefold())
    about = [word for word in stated if word not in _COMMON_WORDS]
    rest = iter(requested)
    if not about or not all(word in rest for word in about) or {"not", "or"} & {*requested}:
        return ""
    return "yes" if {"not", "no"}.isdisjoint(stated) else "no"


def _value(row: Row, question: str) -> str | None:
    """The value that stands alone or follows the verb, with its unit and its restriction."""
    row, restriction = _without_restriction(row)
    described = _grammar("described").match(row.row)
    requested = re.findall("[a-z]+", question) if "hich " in question else ()
    repeated = described and set(described["words"].split()).issubset(requested)
    if described and not repeated and not _grammar("unclaimed").search(described["before"]):
        return row.part(described.start("words")).written
    if _grammar("unclaimed").search(row.row):
        return None
    if _grammar("equated").match(row.row) and not _grammar("relation").search(row.written):
        written = re.sub(r"\s+is congruent to\s+", r" \\equiv ", row.written)
        written = re.sub(r"\s+modulo\s+\$?(\w+)\$?", r" \\pmod{\1}", written)
        return re.sub(rf"\s+{_TABLES.source('equates')}\s+", " = ", written) + restriction
    if _grammar("two claims").search(row.row):
        return row.written  # "Tom has 5 and Ann has 7"
    match = (
        _grammar("only value").match(row.row)
        or _not_given(row, question)
        or _grammar("value after verb").match(row.row)
    )
    if match is None:
        return _in_words(row)
    before, after = match["before"], match["after"]
    changed = _grammar("changed").search(_grammar("verbs").split(before)[-1])
    pointed = after.strip() and _grammar("pointed").match(before)
    if changed or pointed or _grammar("changed behind").search(after):
        return None
    group = row.part(*match.span("value"))
    behind = _grammar("rounded").sub("", row.text[group.pieces[-1].end :])
    if fault_after(behind, group.written):
        return None
    if fault_before(row.part(0, match.start("value")).written, either=" or " in match["value"]):
        return None
    if after.startswith(" ("):
        return row.part(match.start("value")).written  # "5 (five)"
    value = _last_equation(group) or group.written
    for name, instead in _SPELLED.items():
        value = _grammar(name).sub(instead, value)
    noun = _noun(row.part(match.end("value")), value)
    about = "about " if _grammar("about").search(before) else ""
    return f"{about}{value}{noun}{restriction}"


_SPELLED = {"equal sign": r"\1", "last stop": r"\1", "name of matrix": "", "factorial": r"\1 ="}
_SPELLED |= {"measured product": r"\1", "and then": ","}


def _of_another(subject: str, question: str) -> bool:
    """Whether a subject is the opposite of what is asked: "The minimum is" for a maximum."""
    requested = set(re.findall("[a-z]+", question.rpartition(". ")[2].casefold()))
    named = set(subject.split())
    for group in _OPPOSITES if question else ():
        wanted = [not names.isdisjoint(requested) for names in group]
        stated = [not names.isdisjoint(named) for names in group]
        if sum(wanted) == 1 and any(stated) and not stated[wanted.index(True)]:
            return True
    return False


def _not_given(row: Row, question: str) -> re.Match[str] | None:
    """The only value that the question does not give: `3 hours` of "It needs 3 hours for 240 km".

    What the question counts ("How many balls") must be named beside it.
    """
    numerals = _grammar("numeral").findall
    repeated = set(numerals(question))
    counted = _grammar("how many").search(question)
    beside = counted and not is_unit(counted[1]) and counted[1].casefold() not in row.row.split()
    if not question or beside:
        return None
    values = [
        match
        for match in _grammar("each value").finditer(row.row)
        if not repeated.issuperset(numerals(row.part(*match.span("value")).written))
    ]
    alone = len(values) == 1 and _grammar("asserting").search(values[0]["before"])
    return values[0] if alone else None


def _claims(row: Row) -> list[tuple[str, str]]:
    """The names and values of "The radius is 5 and the center is (2, 3)"; [] if it is no list."""
    end = len(row.row.rstrip(" .!"))
    starts = [match.span() for match in _grammar("join").finditer(row.row, 0, end)]
    claims: list[tuple[str, str]] = []
    begin = 0
    for stop, following in [*starts, (end, end)]:
        part = row.row[begin:stop]
        claimed = _grammar("part claim").match(part)
        if claimed is None and claims:
            claimed = _grammar("without verb").match(part)  # "and perimeter 30"
        if claimed is None:
            continue  # "2 and 3 and the ..."
        words = (claimed["noun"] or claimed["subject"]).split()
        names = [word for word in words if word.replace("-", "").isalpha()]
        label = " ".join([word for word in names if word not in _NO_LABEL][:3])
        subject = f"{claimed['subject']} {claimed['noun'] or ''} "[-20:]
        if (
            not label
            or _grammar("unclaimed").search(claimed[0])
            or _grammar("changed").search(subject)
        ):
            return []
        value = row.part(begin, stop).part(claimed.start("value")).written
        claims.append((label.removesuffix("-coordinate"), value.replace("\N{MINUS SIGN}", "-")))
        begin = following + 1
    return claims if begin == end + 1 else []


def _asked_for(claims: list[tuple[str, str]], question: str) -> str:
    """The value of the only name that the question has, else all with their names."""
    words = set(" ".join(_grammar("asked").findall(question)).casefold().split())
    requested = [value for label, value in claims if words.issuperset(label.split())]
    if len(requested) == 1 and "and" not in words:
        return requested[0]
    return ", ".join(f"{label}{' =' * (len(label) == 1)} {value}" for label, value in claims)


def _all_but(row: Row, match: re.Match[str]) -> str | None:
    before = row.row[: match.start()]
    if _grammar("unclaimed").search(before) or _grammar("changed").search(before):
        return None
    return row.part(match.start()).written.replace(" and ", ", ")


def _share(row: Row, match: re.Match[str]) -> str:
    """`35%` of "28 is 35% of 80"."""
    share = row.part(*match.span("value")).written
    return share if share.endswith(("%", "percent")) else ""


def _counts(row: Row, match: re.Match[str]) -> str:
    """`8 goats and 12 chickens`."""
    changed = _grammar("changed").search(row.row) or _grammar("unclaimed").search(row.row)
    return "" if changed else row.part(match.start()).written


def _last_equation(group: Row) -> str:
    """Of `a = 2`, `b = 3`, `a + b = 5` the last, whose left side joins the others; else ""."""
    parts = [group.text[p.start : p.end].strip("$ ") for p in group.pieces if p.kind == "#"]
    *names, last = [part.partition("=")[0].strip() for part in parts]
    joined = len(names) > 1 and len(last) > 2 and all(len(n) == 1 and n in last for n in names)
    return parts[-1] if joined and all("=" in part for part in parts) else ""


def _inequality(row: Row, match: re.Match[str]) -> str:
    """`x \\ge 2 \\text{ and } x < 5` of "x is at least 2 and less than 5"."""
    span = row.part(match.start(), match.end())
    letter, *values = [span.text[p.start : p.end] for p in span.pieces if p.kind == "#"]
    between = " between " in span.row
    signs = [">", "<"] if between else map(_sign, _grammar("bound").findall(span.row))
    return " and ".join(f"{letter} {sign} {n}" for sign, n in zip(signs, values, strict=True))


def _sign(bound: str) -> str:
    upper = bound.startswith(("at most", "no more", "less", "smaller", "fewer"))
    closed = bound.startswith(("at", "no")) or bound.endswith("equal to")
    return ("\\le" if closed else "<") if upper else ("\\ge" if closed else ">")


_READINGS: dict[str, Callable[[Row, re.Match[str]], str | None]] = {
    "all but": _all_but,
    "bounded": _inequality,
    "part of whole": _share,
    "counted": _counts,
}


def _noun(behind: Row, value: str) -> str:
    """The noun, or the time of day, that follows a value and belongs to it."""
    words = behind.row.split()
    time = _grammar("time of day").match(behind.row)
    count = len(time[0].split()) if time else 0
    if not count and not _grammar("relation").search(value) and "\\text" not in value:
        phrase = next((n for n, word in enumerate(words) if word in _PREPOSITIONS), len(words))
        plain = phrase <= 2 and _ARTICLES.isdisjoint(words[:phrase])
        plain = plain and not _grammar("filler").match(" ".join(words[phrase - 1 :]))
        count = phrase if plain and unit(" ".join(words[:phrase])) is not None else 0
    return f" {Row(behind.text, behind.pieces[:count]).written}" if count else ""


def _without_remarks(row: Row) -> Row:
    """The row up to a remark, a contrast or the last mark."""
    row = row.part(0, len(row.row.rstrip(" .,;:!" if " ( " in row.row else " .,;:!)")))
    for name in ("contrast", "remark behind"):
        for match in _grammar(name).finditer(row.row):
            head, tail = row.part(0, match.start()), row.part(match.start())
            restricts = _without_restriction(row)[1]
            goes_on = restricts or (
                _grammar("restated").search(tail.row) and not _grammar("claimed").search(head.row)
            )
            short = len(head.pieces) < 3
            begins = row.row[: match.start()].endswith(" ")  # a word, and not "somewhere"
            if not begins or ("#" in row.row and "#" not in head.row):
                continue
            if name == "contrast" or not (goes_on or (short and "#" not in row.row)):
                return _without_remarks(head)
    return row


def _without_restriction(row: Row) -> tuple[Row, str]:
    """The row without "where k is an integer", and that as a formula."""
    match = _grammar("restriction").search(row.row)
    if match is None or "#" not in row.row[: match.start()]:
        return row, ""
    head, tail = row.part(0, match.start()), row.part(match.start())
    letter = next(tail.text[p.start : p.end] for p in tail.pieces if p.kind == "#").strip("$ ")
    words = f"{match['lead']} {match['kinds']}".replace("-", "").split()
    kinds = {word.removesuffix("s") for word in words} - _ANY_KIND
    every = match["lead"].split()[:1] in (["all"], ["any"], ["every"], ["each"])
    if not every and "\\in" in letter:
        return head, f", {letter}"
    if not every and not kinds:
        relation = _grammar("relation").search(letter) and tail.row == "for #"
        return (head, f" for all ${letter}$") if relation else (row, "")
    if every or kinds & _RAW_KINDS or not kinds & {"integer", "whole", "real", "parameter"}:
        return head, f" {tail.written}"
    if "real" in kinds or "parameter" in kinds:
        return head, f", {letter} \\in \\mathbb{{R}}"
    return head, f", {letter} \\in \\mathbb{{Z}}{'^+' if 'positive' in kinds else ''}"


def _in_words(row: Row) -> str | None:
    """The predicate of a sentence without a value, or the one that it calls the best."""
    text = row.row
    none = _grammar("none").match(text)
    if none:
        return row.part(none.start("words"), none.end("words")).written
    first = row.written[: row.written.find(" ")]
    if _grammar("named").match(text) and first[:1].isupper() and first.casefold() not in _NO_NAMES:
        return first
    match = _grammar("predicate").match(text)
    subject = (match["subject"] or "") if match else text
    if _grammar("unclaimed").search(subject) or _grammar("other subject").search(subject):
        return None
    if match:
        return None if "#" in match["words"] else row.part(match.start("words")).written
    return None if "#" in text or _grammar("speaker").match(text) else row.written


def _row(sentence: str) -> Row:
    pieces: list[Piece] = []
    for match in _PIECE.finditer(sentence):
        last = pieces[-1] if pieces else Piece("", 0, 0)
        follows = last.kind == "#" and not sentence[last.end : match.start()].strip()
        word = match[0].casefold()
        if match.lastgroup in ("word", "mark", "short"):
            measure = word not in _NO_UNITS and (is_unit(word) or word in _UNIT_WORDS)
            if follows and (measure or _grammar("per unit").match(sentence, match.start())):
                pieces[-1] = Piece("#", last.start, match.end())
            else:
                name = word.replace("\u201c", '"').replace("\u201d", '"')
                pieces.append(Piece(name, *match.span()))
        elif follows:
            pieces[-1] = Piece("#", last.start, match.end())
        elif last.kind in ("as", "when") and _grammar("arrow").search(match[0]):
            pieces.pop()  # "as $x \\to 0$"
        else:
            pieces.append(Piece("#", *match.span()))
    return Row(sentence, pieces)


def _with_ratios(row: Row) -> Row:
    """The row with `#` for "3 to 5"."""
    pieces = list(row.pieces)
    for index in reversed(range(len(pieces) - 2)):
        if [piece.kind for piece in pieces[index : index + 3]] == ["#", "to", "#"]:
            pieces[index : index + 3] = [Piece("#", pieces[index].start, pieces[index + 2].end)]
    return Row(row.text, pieces)


def _with_numbers(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces with `#` for a number in words."""
    result: list[Piece] = []
    for index, piece in enumerate(pieces):
        following = pieces[index + 1].kind if index + 1 < len(pieces) else "."
        last = result[-1] if result else Piece("", 0, 0)
        first = piece.kind.partition("-")[0]
        many = multiple(piece.kind, one=True) is not None
        fraction = multiple(following, one=True) is not None
        if last.kind == "#" and (first in CARDINALS or many or is_unit(first)):
            result[-1] = Piece("#", last.start, piece.end)
        elif first not in CARDINALS or (piece.kind == "one" and not fraction and following != "."):
            result.append(piece)
        elif last.kind in ("minus", "negative"):
            result[-1] = Piece("#", last.start, piece.end)
        else:
            result.append(Piece("#", piece.start, piece.end))
    return result
