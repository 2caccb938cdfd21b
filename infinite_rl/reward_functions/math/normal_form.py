"""Text to a typed normal form: spelling is settled here, so that the decision meets few shapes.

The forms are listed in `tree`.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product, repeat

from ...parsing.word_tables import lazily_compiled
from . import units
from .bounds import MAX_CHARACTERS, MAX_SIGNS, Budget, OverBudget, Unparsed
from .notations import spelled_out
from .numbers import numeral, sum_of_quantities
from .parse import parse
from .structures import is_linear
from .text_answers import (
    Remark,
    lettered_choice,
    may_be_text_answer,
    phrase,
    plain_text,
    without_commands,
    without_quantifiers,
    without_where,
)
from .tokens import CONSTANTS, DENIALS, FUNCTIONS, GREEK, ascii_text
from .tree import INFINITY, MINUS_INFINITY, ONE, REALS, WHOLE, Node, number, show, symbol

_WRAPPERS = [("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)")]
_WRAPPERS += [(mark, mark) for mark in ("$", "**", "```", "`", '"')]
_WRAPPING = frozenset(opener[0] for opener, _ in _WRAPPERS)
# "Problem 2", "H2O2". It must not be possible to cut a run of digits in two: what could be cut in
# many ways would be tried in all of them.
_LABEL = re.compile(r"(?:[A-Z][A-Za-z]*|[a-z]{4,} ) ?[0-9][0-9A-Za-z]*(?: [0-9][0-9A-Za-z]*)*")
_PROSE = re.compile(r"[A-Za-z][A-Za-z\s.,'\"-]*")
_SHORT_UNIT = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{1,2}(?![A-Za-z])")
_WORD = re.compile(r"[A-Za-z]+")
_CONNECTIVES = frozenset(["or", "and", "percent", "pm"])
_CONVERSE = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
INTEGRATED = frozenset(["x", "y", "z", "t", "u", "v", "w", "r", "s", "theta", "phi", "varphi"])
_DEGREE = units.unit("degree")
_CONDITIONS = frozenset(["region", "inequality", "intersection", "union", "difference"])
# "The speed is **5** m/s", but no power: "2**3".
_BOLD = re.compile(r"(?<=\s)\*\*(?=\S)([^*]+)(?<=\S)\*\*(?=[\s.,]|$)")
_ANOTHER_CHOICE = re.compile(r"\s\(?[A-J]\)(?:\s|$)")  # "B) 5 C) 6"
_OPENED, _CLOSED = re.compile(r"(?<!\\)\\\("), re.compile(r"(?<!\\)\\\)")
_COMPUTED = re.compile(r"[0-9]|\\pi(?![a-z])")  # in what is no mere name
_BRACED_MARK = re.compile(r"(?<=[0-9])\{([:.])\}(?=[0-9])")
_PER_CENT = re.compile(r"\bper cent\b|(?<=[0-9] )percentage$")
_ALPHABET = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ xz"  # an order of names
_VALUE = re.compile(r"\(mul ([fgh]) ([a-z])\)")  # `f(x)`
_WORD_NAME = re.compile(r"[A-Za-z]{3}|E[\[(]")
_NUMERAL = re.compile(r"[-+]?[0-9][0-9,.]*")
_ABOUT = lazily_compiled(
    r"(?:[A-Za-z]\s*(?=\\approx|≈))?(?:(?:\\text\{\s*)?(?:approximately|about)\s*\}?|\\approx|≈)\s*"
    r"(-?[0-9]*\.[0-9]*[1-9](?:\s+[A-Za-z][A-Za-z/^0-9 ]*)?)"
    r"|(-?[0-9]*\.[0-9]*[1-9])\s*(?:\\text\{)?\s*\(?approx(?:imately|\.)?\)?\}?"
)
_CONTROLS, _ESCAPED = "\a\b\f\v", re.compile(r"\\?([\a\b\f\v])(?=[a-z])")
_DOUBLED, _COMMAND = re.compile(r"\\\\[a-z]{2}"), re.compile(r"(?<!\\)\\[a-z]{2}")
C = re.compile("C(?:_[0-9])?|c|K")  # of integration
_NEARLY = re.compile("appro|≈|about|roughly")
_ROUNDED = lazily_compiled(
    r"(?:\bor\s)?(?:\\approx|≈|approximately|about|roughly)\s*"
    r"(?P<value>[-+]?[0-9][0-9,]*\.[0-9]+(?:\s*(?:\\?%|°|\^\{?\\circ\}?|\\?[a-z]{1,12}[²³]?(?:/[a-z]{1,6}(?:[²³]|\^\{?[23]\}?)?)?"
    r"|(?:\\[ ,]|\s)*\\(?:text|mathrm)\{(?:[^{}]|\{[^{}]*\}){1,30}\})?\)?"
    r"|\s*\\(?:sqrt|frac)\{(?:(?!\b(?:or|and)\b)[^=<>≈,;]){1,40}))$"
)
# "E \\approx 3.2 J", but no whole number, which would be meant to be exact.
_MEASURED = lazily_compiled(
    r"(^|[,;]\s*|\b(?:or|and)\b[\s}]*)([A-Z]\([^()]{1,40}\)|[A-Za-zΔλ\\](?:[^0-9=≈<>,;]|_\{[^{}]{1,20}\}|_[0-9]){0,60}?)"
    r"\s*(?:\\approx(?![a-z])|≈)\s*"
    r"(?=[-+]?[0-9][0-9,]*(?:\.[0-9]*[1-9]"
    r"|(?:\.[0-9]+)?(?:\\[ ,;]|[\s~])*(?!or\b|and\b)\\?[A-Za-z×·]))"
)
_EVENT = re.compile(r"[A-Z]\([^()]*\)")  # "P(X > 2)"
_ASIDE = lazily_compiled(
    r"([A-Za-z]{3,}(?: [A-Za-z]+)*) \([0-9][0-9., ]*[a-z/]{0,4}\)"
)  # "Bath (41 mm)"
_QUANTIFIED = re.compile(r"(?i:\b(?:for|where)\b)|\\forall|∀|,\s*[a-z]\b|\\in(?![a-z])|∈")


def read(text: str, budget: Budget) -> Node:
    """The normal form of an answer. Raises Unparsed, OverBudget or OutOfTime."""
    cleaned = clean(text)
    if len(cleaned) > MAX_CHARACTERS:
        raise OverBudget(f"an answer of more than {MAX_CHARACTERS} characters")
    budget.spend(len(cleaned) // 16)
    if cleaned.isdecimal() and cleaned.isascii():
        return number(numeral(cleaned))  # the commonest answer
    if _NUMERAL.fullmatch(cleaned):
        return normal(parse(cleaned))  # nothing but a number
    if cleaned.startswith("~"):
        raise Unparsed("a number that is about right, or struck out")
    in_words = _text_answer(cleaned)
    if in_words is not None:
        return in_words
    if _QUANTIFIED.search(cleaned):
        text, remarks, around = without_quantifiers(cleaned)
        text, behind = without_where(text)
        if remarks or behind:
            conditions = map(_condition, remarks + behind)
            kind = "" if around or behind else "inside"
            return Node("conditional", (_formula(text), *conditions), kind)
    return _formula(cleaned)


def _formula(cleaned: str) -> Node:
    """What is more a formula than language."""
    spelled = spelled_out(cleaned)
    try:
        return normal(parse(spelled))
    except Unparsed:
        if _LABEL.fullmatch(cleaned):
            return Node("text", (), plain_text(cleaned))
        if _SHORT_UNIT.search(spelled) is None:
            raise
        return normal(parse(spelled, short_units=False))  # "2 g h" under a root is no amount


def _condition(remark: Remark) -> Node:
    """The numbers that a remark is on: a set, its variables, their kinds in words."""
    text, kinds = remark.inside or remark.bounds, remark.kinds
    if "R" in text or "ℝ" in text:
        kinds |= {"real"}
    try:
        inside = normal(parse(text)) if text else REALS
        if interval(inside) is not None:
            inside = union((inside,))
    except Unparsed:
        inside = Node("text", (), "".join(text.split()))
    names = tuple(symbol(name) for name in sorted(set(remark.names)))
    return Node("condition", (inside, *names), " ".join(sorted(kinds)) or ("" if text else "any"))


def _text_answer(text: str) -> Node | None:
    """Answers that are more language than mathematics; None for the others."""
    plain = without_commands(text)
    aside = _ASIDE.fullmatch(plain)
    if aside and is_prose(aside[1]):
        plain = text = aside[1]
    if not may_be_text_answer(plain):
        return None
    from .text_answers import moment  # loads the calendar, which few answers need

    answer = moment(plain) or _choice(plain) or phrase(plain)
    if answer is not None:
        return answer if answer.op == "text" else normal(answer)
    prose = is_prose(plain if "\\textbf{" in text else text)
    return Node("text", (), plain_text(plain)) if prose else None


def _choice(plain: str) -> Node | None:
    parts = lettered_choice(plain)
    if parts is None:
        return None
    letter, rest = parts
    if not rest:
        return Node("choice", (), letter)
    if lettered_choice(rest) is not None or _ANOTHER_CHOICE.search(rest):
        raise Unparsed("two choices")
    try:
        return Node("choice", (read(rest, Budget(math.inf)),), letter)
    except (Unparsed, OverBudget):
        return Node("choice", (Node("text", (), plain_text(rest)),), letter)


def clean(text: str) -> str:
    """The answer without what surrounds it: math delimiters, emphasis, a closing full stop."""
    if not text.isprintable():  # a program took the "\\f" of a fraction for a form feed
        text = _ESCAPED.sub(lambda match: "\\" + "abfv"[_CONTROLS.index(match[1])], text)
    text = text.strip()
    if "\\\\" in text and _DOUBLED.search(text) and not _COMMAND.search(text):
        text = text.replace("\\\\", "\\")  # as JSON writes it
    for _ in range(8):
        before = text
        if text.endswith((".", ",", ";", ":")) and not text.endswith(("...", "\\,", "\\;", "\\:")):
            text = text[:-1].rstrip()
        for opener, closer in _WRAPPERS if text[:1] in _WRAPPING else ():
            if text.startswith(opener) and text.endswith(closer):
                inner = text[len(opener) : len(text) - len(closer)]
                if len(text) > len(opener + closer) and opener not in inner:
                    text = inner.strip()
        if text == before:
            break
    if "**" in text and " " in text:
        text = _BOLD.sub(r"\1", text)
    if "cent" in text:
        text = _PER_CENT.sub("percent", text)
    if "{:}" in text or "{.}" in text:  # braces against the space around a mark
        text = _BRACED_MARK.sub(r"\1", text)
    if "\\(" in text and len(_OPENED.findall(text)) == len(_CLOSED.findall(text)):
        text = _OPENED.sub(" ", _CLOSED.sub(" ", text)).strip()
    dollars = text.replace("\\$", "").count("$")
    if dollars and dollars % 2 == 0:  # pairs are delimiters, an odd one is money
        text = re.sub(r"(?<!\\)\$", " ", text)
        text = text.strip() or text
    return _exactly(text) if _NEARLY.search(text) else text


def rounded_part(text: str) -> str:
    """The rounded value behind an exact one: of `t = 10 \\ln 2 \\approx 6.93`; "" without one."""
    rounded = _ROUNDED.search(text)
    return rounded["value"] if rounded else ""


def _exactly(text: str) -> str:
    """`\\sqrt{2} \\approx 1.41` without the rounded value; other texts as they are."""
    about = _ABOUT.fullmatch(text)
    if about:  # "approximately 3.14", where a whole number would be meant to be exact
        return about[1] or about[2]
    text = _MEASURED.sub(_with_equals, text)
    rounded = _ROUNDED.search(text)
    exact = text[: rounded.start()].rstrip(" ,(") if rounded else ""
    return exact if _COMPUTED.search(exact) else text


def _with_equals(match: re.Match[str]) -> str:
    """`E \\approx` as `E =`; `\\pi \\approx`, which has a value of its own, as it is."""
    try:
        name = parse(match[2])
    except Unparsed:
        return f"{match[1]}{match[2]} = " if _EVENT.fullmatch(match[2].rstrip()) else match[0]
    return f"{match[1]}{match[2]} = " if name.symbols or name.op == "text" else match[0]


def is_prose(text: str) -> bool:
    """Whether a text is words alone: `east`, `no solution`, but not `sin x` or `x or y`."""
    text = ascii_text(text)
    if not _PROSE.fullmatch(text):
        return False
    words = _WORD.findall(text)
    mathematical = [
        word in CONSTANTS or word in GREEK or word.casefold() in FUNCTIONS or word in _CONNECTIVES
        for word in words
    ]
    if len(words) == 1:
        return len(words[0]) > 1 and not mathematical[0]
    longest = max(
        (len(word) for word, math in zip(words, mathematical, strict=True) if not math), default=0
    )
    return longest > 3 or (longest > 1 and len(words) > 2)


def normal(node: Node) -> Node:
    """The normal form of a parsed answer."""
    if node.op == "list":
        return _list(node)
    if node.op == "rel":
        return _relation(node)
    if node.op == "interval" and node.holds("pm"):
        raise Unparsed("an interval with two signs")
    if node.op in ("tuple", "matrix", "ratio", "congruence") and node.holds("pm"):
        return Node("list", tuple(map(normal, _each_sign(node))), ",")
    if node.op in ("set", "tuple", "interval"):
        members = tuple(_flat(normal(arg) for arg in node.args))
        return Node(node.op, members, node.value)
    if node.op == "chain":  # a set that is given twice
        return node.with_args(map(normal, node.args))
    if node.op == "union":
        return union(tuple(normal(arg) for arg in node.args))
    if node.op in ("intersection", "difference"):
        return Node(node.op, tuple(union((normal(arg),)) for arg in node.args))
    if node.op == "builder":
        return Node("builder", (normal(node.args[0]), *node.args[1:]), node.value)
    if node.op == "field":  # `R>0` is an interval, `Z>0` a name
        name, mark = str(node.value)[0], str(node.value)[1:]
        if name != "R" or mark[:1] == "^":
            return node
        return ray("", mark[:-1], number(0)) if mark else REALS
    if node.op == "piecewise":
        return _piecewise(node)
    if node.op == "text":
        return _text(node)
    if node.op in ("matrix", "base", "ratio", "congruence"):
        return node
    return _expression(node)


def _piecewise(node: Node) -> Node:
    """Values with their conditions, and the one variable that these are on."""
    rows: list[Node] = []
    names: frozenset[str] = frozenset()
    for row in node.args:
        value, condition = normal(row.args[0]), row.args[1]
        names |= condition.symbols
        condition = condition if condition.op == "text" else normal(condition)
        if condition.op == "named":
            condition = Node("set", condition.args)
        if not value.is_expression:
            raise Unparsed("a case that is no number")
        rows.append(Node("row", (value, condition)))
    if len(names) > 1:
        raise Unparsed("cases on several variables")
    return Node("piecewise", tuple(rows), "".join(names))


def _flat(nodes: Iterable[Node]) -> list[Node]:
    """Members, with those of a list (from plus-minus) in its place."""
    members: list[Node] = []
    for node in nodes:
        members.extend(node.args if node.op == "list" else (node,))
    return members


def _text(node: Node) -> Node:
    content = str(node.value)
    in_words = _text_answer(content)
    if in_words is not None:
        return in_words
    bare = content.strip("() .")
    if len(bare) > 1 and not is_prose(content):
        try:
            inner = parse(content)
        except Unparsed:
            inner = node  # words with marks among them: compared as text
        if inner.op != "text":
            return normal(inner)
    return Node("text", (), plain_text(content))


def _expression(node: Node) -> Node:
    if node.holds("pm"):
        return Node("list", tuple(map(_expression, _each_sign(node))), ",")
    if node.op == "quantity":
        return _quantity(node)
    if node.op == "deg":
        return Node("quantity", node.args, unit=_DEGREE)
    return _without_constant(node) if node.op == "add" else node


def _quantity(node: Node) -> Node:
    value = _expression(node.args[0])
    if value.op == "list":
        amounts = (Node("quantity", (arg,), unit=node.unit) for arg in value.args)
        return Node("list", tuple(amounts), ",")
    if node.unit is not None and not node.unit.dimension:
        same = node.unit.factor == 1
        return value if same else Node("mul", (value, number(node.unit.factor)))
    if value.op in ("quantity", "antiderivative"):
        raise Unparsed("two units")
    return Node("quantity", (value,), unit=node.unit)


def _each_sign(node: Node) -> list[Node]:
    """The trees without plus-minus: beside a minus-plus all go together, else each is free."""
    if node.holds("pm", "mp"):
        return [_signed(node, repeat(flipped)) for flipped in (False, True)]
    signs = _count(node)
    if signs > MAX_SIGNS:
        raise OverBudget(f"more than {MAX_SIGNS} free signs")
    return [_signed(node, iter(flips)) for flips in product((False, True), repeat=signs)]


def _count(node: Node) -> int:
    return (node.op == "pm") + sum(map(_count, node.args))


def _signed(node: Node, flips: Iterator[bool]) -> Node:
    """The tree with each plus-minus read as its upper sign, or as its lower one if flipped."""
    flipped = node.op == "pm" and next(flips)
    args = tuple(_signed(arg, flips) for arg in node.args)
    if node.op == "pm":
        return -args[0] if (node.value == "pm") == flipped else args[0]
    return node.with_args(args)


def _without_constant(node: Node) -> Node:
    """A sum with the term `C` apart, the constant of integration, where that is what C must be.

    It is a term like others where another capital letter or another C stands beside it, and where
    nothing that one integrates over does: `A + B + C` and `a + b + C` are sums.
    """
    constants = [term for term in node.args if term.op == "sym" and C.fullmatch(str(term.value))]
    terms = tuple(term for term in node.args if term not in constants)
    if len(constants) != 1 or len(terms) != len(node.args) - 1:
        return node
    names = frozenset().union(*(term.symbols for term in terms))
    name = str(constants[0].value)
    if not names & INTEGRATED or any(letter[0].isupper() for letter in names) or name in names:
        return node
    if name == "c" and len(names) > 1:
        return node
    rest = terms[0] if len(terms) == 1 else Node("add", terms)
    return Node("antiderivative", (rest, constants[0]))


def _list(node: Node) -> Node:
    first, *others = node.args
    last = node.args[-1]  # of a class of numbers `k \\in \\mathbb{Z}`
    whole = last.op == "rel" and last.value == "in" and last.args[1] == Node("field", (), "Z")
    classes: list[Node] = []
    if whole and last.args[0].op == "sym":
        classes = residues([normal(arg) for arg in node.args[:-1]], str(last.args[0].value))
    if classes:
        return classes[0] if len(classes) == 1 else Node("list", tuple(classes), ",")
    if whole and last.args[0].value in first.symbols:  # `(2 + 3t, t), t \\in \\mathbb{Z}`
        name = str(last.args[0].value)
        node = Node("list", node.args[:-1], ",").substituted({name: symbol(name + WHOLE)})
        return normal(node if len(node.args) > 1 else node.args[0])
    each_value = _indexed(node)
    if each_value:
        return normal(Node("list", each_value, ","))
    if first.op == "rel" and first.value == "!=" and all(each.is_expression for each in others):
        others = [Node("rel", (first.args[0], other), "!=") for other in others]
        return Node("intersection", tuple(map(normal, [first, *others])))  # "x is not 2, 3"
    if first.op == "rel" and first.value == "=" and first.args[0].op == "tuple":
        others = [  # "(x, y) = (1, 2), (3, 4)"
            Node("rel", (first.args[0], other), "=") if other.op == "tuple" else other
            for other in others
        ]
    members = [normal(arg) for arg in (first, *others)]
    limits = [member for member in members[1:] if _is_limit(member, members)]
    if limits:  # "x = cos t, y = sin t, 0 <= t <= 2 pi"; of a real parameter nothing is said
        stated = [_joined([member for member in members if member not in limits], node)]
        members = stated + [limit for limit in limits if limit.args != REALS.args]
        return members[0] if len(members) == 1 else Node("list", tuple(members), ",")
    return _joined(members, node)


def _indexed(node: Node) -> tuple[Node, ...]:
    """The values of `z_k = 2k + 1, k = 0, 1, 2`; none of other lists."""
    first, second, *others = node.args
    value = first.args[1] if first.op == "rel" and first.value == "=" else first
    if not others or second.op != "rel" or second.value != "=" or second.args[0].op != "sym":
        return ()
    name, numbers = str(second.args[0].value), (second.args[1], *others)
    plain = value.is_expression and all(each.op == "num" for each in numbers)
    if not plain or name not in value.symbols:
        return ()
    return tuple(value.substituted({name: each}) for each in numbers)


def _is_limit(member: Node, members: Sequence[Node]) -> bool:
    """Whether a member bounds a variable of the values of others."""
    if member.op != "region" or not member.value:
        return False
    values = [each.args[0] if each.op == "named" else each for each in members]
    return any(member.value in value.symbols for value in values if value.op != "inequality")


def _joined(members: list[Node], node: Node) -> Node:
    """The members of a list as what they are together."""
    if len(members) == 1:
        return members[0]
    if node.value == "or":
        members = _with_points(members)
        if all(member.op in ("region", "interval") for member in members):
            return union(tuple(members))
    holes = any(member.op == "region" and len(member.args) > 1 for member in members)
    if (members[0] == REALS or holes) and all(member.op in _CONDITIONS for member in members):
        joint = "union" if node.value == "or" else "intersection"
        return Node(joint, tuple(members))  # "x > 1, x != 2"
    if node.value in ("and", "or") and all(member.op in _CONDITIONS for member in members):
        return Node("intersection" if node.value == "and" else "union", tuple(members))
    if node.value == "and" and len(members) == 2:
        both = sum_of_quantities(*members)  # "5 dollars and 25 cents"
        if both is not None:
            return both
    names = [str(member.value) for member in members if member.op == "named"]
    assigned = _assigned(members, str(node.value)) if len(names) == len(members) else None
    if assigned is not None:
        return assigned
    if names and len(set(names)) == 1 and members[0].op == "named":
        values = tuple(member.args[0] if member.op == "named" else member for member in members)
        return Node("named", (Node("list", tuple(_flat(values)), ","),), names[0])
    letters = all(member.op == "sym" for member in members)
    return Node("list", tuple(_flat(members)), node.value if letters else ",")


def _with_points(members: Sequence[Node]) -> list[Node]:
    """Where "x < -2 or x = 0" is told, the single values as intervals."""
    bounded = {member.value for member in members if member.op == "region" and member.value}
    return [
        Node("region", (Node("interval", (member.args[0], member.args[0]), "[]"),), member.value)
        if member.op == "named" and member.value in bounded and member.args[0].is_expression
        else member
        for member in members
    ]


def _assigned(members: Sequence[Node], joint: str) -> Node | None:
    """`x = 1, y = 2` as a tuple, and `x = 1, y = 2; x = 2, y = 1` as a list of them.

    None if the names do not come back in turns of all; "or" between different names is kept.
    """
    names = sorted({str(member.value) for member in members})
    width = len(names)
    mixed = max(map(len, names)) == 1 and "".join(names) not in _ALPHABET
    free = mixed or any(map(_WORD_NAME.match, names))  # words have no order of their own
    if width == len(members) > 1 and joint != "or" and free:
        values = tuple(member.args[0] for member in members)
        return Node("tuple", values, ",".join(str(member.value) for member in members))
    turns = [
        sorted(members[index : index + width], key=lambda member: str(member.value))
        for index in range(0, len(members), width)
    ]
    if width == 1 or any([member.value for member in turn] != names for turn in turns):
        return None
    if joint == "or" and len(turns) == 1:
        return Node("list", tuple(members), "or")
    points = [
        Node("tuple", tuple(member.args[0] for member in turn), ",".join(names)) for turn in turns
    ]
    return points[0] if len(points) == 1 else Node("list", tuple(points), ",")


# -- relations ------------------------------------------------------------------------------------


def _relation(node: Node) -> Node:
    operators = str(node.value).split()
    parts = [arg if arg.op == "text" else normal(arg) for arg in node.args]
    if operators == ["in"] and node.args[0].op == "sym":
        name, inside = str(node.args[0].value), parts[1]
        if inside.op == "region" and inside.value is None:
            return Node("region", inside.args, name)
        span = interval(inside)  # `x \\in (0, 5)` is `0 < x < 5`; other sets go without the name
        return inside if span is None else Node("region", (span,), name)
    if operators == ["in"] and parts[0].op == "tuple" and parts[1].op == "set":
        return Node("set", tuple(_named_tuple(parts[0], arg) for arg in parts[1].args))
    if "equiv" in operators:
        raise Unparsed("a congruence without its modulus")
    if operators == ["="] and parts[0].op == "tuple" and parts[1].op == "tuple":
        return _named_tuple(parts[0], parts[1])
    unknowns = operators == ["="] and parts[0].op == parts[1].op == "matrix"
    if unknowns and all(arg.op == "sym" for row in parts[0].args for arg in row.args):
        return _named_tuple(*map(_as_tuple, parts))
    if operators == ["="] and parts[0].op == "tuple" and parts[1].op == "list":
        return Node("list", tuple(_named_tuple(parts[0], arg) for arg in parts[1].args), ",")
    if operators == ["="] and parts[0].op == "ratio":
        return parts[1]
    if all(operator == "=" for operator in operators):
        return _equation(parts)
    if operators == ["!="] and parts[0].op == "sym" and parts[1].op == "list":  # x is not +-2
        holes = (_inequality(parts[0], "!=", part) for part in parts[1].args)
        return Node("intersection", tuple(holes))
    if "in" in operators or not all(part.is_expression for part in parts):
        raise Unparsed("a relation between things that are no numbers")
    if len(parts) > 2 and not any(part.symbols for part in parts):
        return Node("order", tuple(parts), " ".join(operators))
    heads = [_VALUE.fullmatch(show(part)) for part in parts]
    parts = [symbol(f"{h[1]}({h[2]})") if h else p for h, p in zip(heads, parts, strict=True)]
    if len(parts) == 2:
        return _inequality(parts[0], operators[0], parts[1])
    return _double_inequality(parts, operators)


def _named_tuple(names: Node, values: Node) -> Node:
    """`(x, y) = (1, 2)`: what `x = 1, y = 2` is."""
    if len(names.args) != len(values.args) or any(name.op != "sym" for name in names.args):
        raise Unparsed("an equation between tuples")
    pairs = zip(names.args, values.args, strict=True)
    return _list(Node("list", tuple(Node("rel", pair, "=") for pair in pairs), ","))


def _as_tuple(matrix: Node) -> Node:
    """The entries of a matrix, row by row: those of a column, mostly."""
    return Node("tuple", tuple(arg for row in matrix.args for arg in row.args))


def _equation(parts: list[Node]) -> Node:
    """`x = 5` is 5 with a name; `7 * 8 = 56` and `x = 2 + 3 = 5` are chains, to be checked."""
    first, last = parts[0], parts[-1]
    if first.op == "const" and (first.value == "e" or last.op in ("tuple", "matrix", "set")):
        first = symbol(str(first.value))  # an eccentricity; a vector that is called pi
        parts = [first, *parts[1:]]
    named = first.op in ("sym", "text")
    cases = any(part.op == "piecewise" for part in parts) and not named
    if len(parts) > 2 or cases or not (named or first.symbols or last.symbols):
        return Node("chain", tuple(parts))
    if first.op == "text" and not DENIALS.isdisjoint(str(first.value).casefold().split()):
        raise Unparsed("an equation that is denied or left open")
    if named:
        return Node("named", (last,), str(first.value).strip())
    if last.op == "sym":
        return Node("named", (first,), str(last.value))
    if last.op == "text":  # `MR = SRMC`
        return Node("text", (), f"{show(first)} = {last.value}")
    if last.op == "matrix" and first.op == "pow" and first.args[0].op == "sym":
        return Node("named", (last,), "^".join(show(arg) for arg in first.args))  # A^{-1} = ...
    first, last = summed(first), summed(last)
    if not (first.is_expression and last.is_expression):
        raise Unparsed("an equation between things that are no numbers")
    return Node("equation", (first, last))


def summed(node: Node) -> Node:
    """An antiderivative as the sum that it is."""
    return Node("add", node.args) if node.op == "antiderivative" else node


def ray(name: str, operator: str, bound: Node) -> Node:
    """The numbers x with `x operator bound`: a region that keeps the name of its variable."""
    if operator == "!=":
        low = Node("interval", (MINUS_INFINITY, bound), "()")
        return Node("region", (low, Node("interval", (bound, INFINITY), "()")), name)
    closed = operator.endswith("=")
    if operator.startswith("<"):
        part = Node("interval", (MINUS_INFINITY, bound), "(]" if closed else "()")
    else:
        part = Node("interval", (bound, INFINITY), "[)" if closed else "()")
    return Node("region", (part,), name)


def _inequality(left: Node, operator: str, right: Node) -> Node:
    if left.op == "sym" and not right.symbols:
        return ray(str(left.value), operator, right)
    if right.op == "sym" and not left.symbols:
        return ray(str(right.value), _CONVERSE[operator], left)
    if operator in (">", ">="):
        left, operator, right = right, _CONVERSE[operator], left
    return Node("inequality", (left, right), operator)


def _double_inequality(parts: list[Node], operators: list[str]) -> Node:
    """`2 < x <= 7` and `7 >= x > 2`: an interval."""
    if operators[0][0] == ">":
        parts, operators = parts[::-1], [_CONVERSE[operator] for operator in operators[::-1]]
    if len(parts) != 3 or not all(operator[0] == "<" for operator in operators):
        raise Unparsed("a chain of relations")
    low, middle, high = parts
    if middle.op != "sym" or low.symbols or high.symbols:
        sides = (_inequality(low, operators[0], middle), _inequality(middle, operators[1], high))
        return Node("intersection", sides)
    shape = ("[" if "=" in operators[0] else "(") + ("]" if "=" in operators[1] else ")")
    return Node("region", (Node("interval", (low, high), shape),), middle.value)


def interval(node: Node) -> Node | None:
    """A form as one interval, where it can be read as one: `(2, 5)` is also an open interval."""
    if node.op == "region" and len(node.args) == 1:
        return node.args[0]
    if node.op == "interval":
        return node
    if node.op == "tuple" and len(node.args) == 2 and node.value is None:
        return Node("interval", node.args, "()")
    return None


def union(parts: tuple[Node, ...]) -> Node:
    """`(0, 1) \\cup \\{2\\}` as one region, of intervals in their order.

    Raises Unparsed for a part that is no set of numbers, and for conditions on several variables.
    """
    intervals: list[Node] = []
    for part in parts:
        span = interval(part)
        if part.op == "region":
            intervals.extend(part.args)
        elif part.op == "set" and all(arg.is_expression for arg in part.args):
            intervals.extend(Node("interval", (arg, arg), "[]") for arg in part.args)
        elif span is not None:
            intervals.append(span)
        else:
            raise Unparsed(f"a union with {show(part, 30)}")
    names = {str(part.value) for part in parts if part.op == "region" and part.value}
    if len(names) > 1:
        raise Unparsed("conditions on several variables")
    return Node("region", tuple(intervals), names.pop() if names else None)


def residues(nodes: Sequence[Node], name: str) -> list[Node]:
    """`5k + 3` for all whole `k` as the congruence `3 (mod 5)`; `x = 5k + 3` keeps its name, which
    holds for those behind it as well.

    Nothing where one of them is no such class, or where they are on several variables.
    """
    name_of_value = str(nodes[0].value) if nodes[0].op == "named" else ""
    names = {str(node.value) for node in nodes if node.op == "named"} - {name_of_value}
    members = [node.args[0] if node.op == "named" else node for node in nodes]
    values = [arg for node in members for arg in (node.args if node.op == "list" else (node,))]
    if names or not all(
        value.is_expression and value.symbols == {name} and is_linear(value, [name])
        for value in values
    ):
        return []
    congruences: list[Node] = []
    for value in values:
        start = value.substituted({name: number(0)})
        step = value.substituted({name: ONE}) - start
        congruences.append(Node("congruence", (start, Node("fn", (step,), "abs")), name_of_value))
    return congruences
