"""Text to a typed normal form: spelling is settled here, so that the decision meets few shapes.

Forms beyond plain expressions: `named` (a name and its value, from `x = 5`), `equation`,
`inequality`, `region` (intervals side by side), `list`, `set`, `tuple`, `interval`, `matrix`,
`quantity`, `base`, `text`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from . import units
from .bounds import MAX_CHARACTERS, Budget, OverBudget, Unparsed
from .parse import parse
from .tokens import CONSTANTS, FUNCTIONS, GREEK, ascii_text
from .tree import Node, constant, holds, is_expression, negated, number, show, symbols

_WRAPPERS = (
    ("$$", "$$"),
    ("\\[", "\\]"),
    ("\\(", "\\)"),
    ("$", "$"),
    ("**", "**"),
    ("`", "`"),
    ('"', '"'),
)
_PROSE = re.compile(r"[A-Za-z][A-Za-z\s.,'\"-]*")
_WORD = re.compile(r"[A-Za-z]+")
_CONNECTIVES = frozenset(["or", "and", "percent", "pm"])
_CONVERSE = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
_MINUS_INFINITY, _INFINITY = negated(constant("inf")), constant("inf")
_INTEGRATED = frozenset(["x", "y", "z", "t", "u", "v", "w", "r", "s", "theta", "phi", "varphi"])
_DEGREE = units.unit("degree")


def read(text: str, budget: Budget) -> Node:
    """The normal form of an answer. Raises Unparsed, OverBudget or OutOfTime."""
    cleaned = clean(text)
    if len(cleaned) > MAX_CHARACTERS:
        raise OverBudget(f"an answer of more than {MAX_CHARACTERS} characters")
    budget.spend(len(cleaned) // 16)
    if is_prose(cleaned):
        return Node("text", (), plain_text(cleaned))
    return normal(parse(cleaned))


def clean(text: str) -> str:
    """The answer without what surrounds it: math delimiters, emphasis, a closing full stop."""
    text = text.strip()
    for _ in range(8):
        before = text
        if text.endswith((".", ",", ";", ":")) and not text.endswith(("\\,", "\\;", "\\:")):
            text = text[:-1].rstrip()
        for opener, closer in _WRAPPERS:
            inner = text[len(opener) : len(text) - len(closer)]
            wrapped = text.startswith(opener) and text.endswith(closer) and inner
            if wrapped and len(text) > len(opener + closer) and opener not in inner:
                text = inner.strip()
        if text == before:
            break
    dollars = text.replace("\\$", "").count("$")
    if dollars and dollars % 2 == 0:  # pairs are delimiters, an odd one is money
        text = re.sub(r"(?<!\\)\$", " ", text)
    return text


def is_prose(text: str) -> bool:
    """Whether a text is words alone: `east`, `no solution`, but not `sin x` or `x or y`."""
    text = ascii_text(text)
    if not _PROSE.fullmatch(text):
        return False
    words = _WORD.findall(text)
    known = [
        word in CONSTANTS or word in GREEK or word.casefold() in FUNCTIONS or word in _CONNECTIVES
        for word in words
    ]
    if len(words) == 1:
        return len(words[0]) > 1 and not known[0]
    longest = max(
        (len(word) for word, math in zip(words, known, strict=True) if not math), default=0
    )
    return longest > 3 or (longest > 1 and len(words) > 2)


def plain_text(text: str) -> str:
    """Words for comparison: one case, single spaces, no quotes, brackets or closing stop."""
    stripped = " ".join(text.split()).strip("\"'`.,;:!() ")
    return stripped.casefold()


def normal(node: Node) -> Node:
    """The normal form of a parsed answer."""
    if node.op == "list":
        return _list(node)
    if node.op == "rel":
        return _relation(node)
    if node.op in ("set", "tuple", "interval"):
        members = tuple(_flat(normal(arg) for arg in node.args))
        return Node(node.op, members, node.value)
    if node.op == "union":
        return _region(tuple(normal(arg) for arg in node.args))
    if node.op == "text":
        return _text(node)
    if node.op == "matrix" or node.op == "base":
        return node
    return _expression(node)


def _flat(nodes: Iterable[Node]) -> list[Node]:
    """Members, with those of a list (from plus-minus) in its place."""
    members: list[Node] = []
    for node in nodes:
        members.extend(node.args if node.op == "list" else (node,))
    return members


def _text(node: Node) -> Node:
    content = str(node.value)
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
    if holds(node, "pm"):
        return Node("list", tuple(_expression(_signed(node, sign)) for sign in (False, True)), ",")
    if node.op == "quantity":
        return _quantity(node)
    if node.op == "neg" and node.args[0].op == "deg":
        return Node("quantity", (negated(node.args[0].args[0]),), unit=_DEGREE)
    if node.op == "deg":
        return Node("quantity", node.args, unit=_DEGREE)
    return _without_constant(node) if node.op == "add" else node


def _quantity(node: Node) -> Node:
    value = _expression(node.args[0])
    if value.op == "list":
        return Node(
            "list", tuple(Node("quantity", (arg,), unit=node.unit) for arg in value.args), ","
        )
    if node.unit is not None and not node.unit.dimension:
        same = node.unit.factor == 1
        return value if same else Node("mul", (value, number(node.unit.factor)))
    if value.op == "quantity":
        raise Unparsed("two units")
    return Node("quantity", (value,), unit=node.unit)


def _signed(node: Node, flipped: bool) -> Node:
    """The tree with each plus-minus read as its upper sign, or its lower one."""
    if node.op == "pm":
        inner = _signed(node.args[0], flipped)
        return negated(inner) if (node.value == "pm") == flipped else inner
    args = tuple(_signed(arg, flipped) for arg in node.args)
    return Node(node.op, args, node.value, node.unit)


def _without_constant(node: Node) -> Node:
    """A sum without its last term `C`, the constant of integration, where that is what C must be.

    It is kept where another capital letter or another C stands beside it, and where nothing that
    one integrates over does: `A + B + C` and `a + b + C` are sums.
    """
    *terms, last = node.args
    if last.op != "sym" or last.value != "C":
        return node
    names = frozenset().union(*(symbols(term) for term in terms))
    if not names & _INTEGRATED or any(name[0].isupper() for name in names):
        return node
    return terms[0] if len(terms) == 1 else Node("add", tuple(terms))


def _list(node: Node) -> Node:
    members = [normal(arg) for arg in node.args]
    if node.value == "or" and all(member.op in ("region", "interval") for member in members):
        return _region(tuple(members))
    if node.value == "and" and all(member.op == "region" for member in members):
        return _intersection(members)
    names = [str(member.value) for member in members if member.op == "named"]
    if len(names) == len(members) and len(set(names)) == len(names):
        ordered = sorted(members, key=lambda member: str(member.value))
        values = tuple(member.args[0] for member in ordered)
        return Node("tuple", values, ",".join(sorted(names)))
    if names and len(set(names)) == 1 and members[0].op == "named":
        values = tuple(member.args[0] if member.op == "named" else member for member in members)
        return Node("named", (Node("list", tuple(_flat(values)), ","),), names[0])
    return Node("list", tuple(_flat(members)), ",")


# -- relations ------------------------------------------------------------------------------------


def _relation(node: Node) -> Node:
    operators = str(node.value).split()
    parts = [arg if arg.op == "text" else normal(arg) for arg in node.args]
    if operators == ["in"] and node.args[0].op == "sym":
        return parts[1]
    if all(operator == "=" for operator in operators):
        return _equation(parts)
    if "in" in operators or not all(is_expression(part) for part in parts):
        raise Unparsed("a relation between things that are no numbers")
    if len(parts) == 2:
        return _inequality(parts[0], operators[0], parts[1])
    return _double_inequality(parts, operators)


def _equation(parts: list[Node]) -> Node:
    """`x = 5` is 5 with a name; `7 * 8 = 56` and `x = 2 + 3 = 5` are chains, to be checked."""
    first, last = parts[0], parts[-1]
    named = first.op in ("sym", "text")
    if len(parts) > 2 or not (named or _has_names(first) or _has_names(last)):
        return Node("chain", tuple(parts))
    if named:
        return Node("named", (last,), str(first.value).strip())
    if last.op == "sym":
        return Node("named", (first,), str(last.value))
    if not (is_expression(first) and is_expression(last)):
        raise Unparsed("an equation between things that are no numbers")
    return Node("equation", (first, last))


def _has_names(node: Node) -> bool:
    return bool(symbols(node))


def _ray(name: str, operator: str, bound: Node) -> Node:
    """The numbers x with `x operator bound`: a region that keeps the name of its variable."""
    if operator == "!=":
        low = Node("interval", (_MINUS_INFINITY, bound), "()")
        return Node("region", (low, Node("interval", (bound, _INFINITY), "()")), name)
    closed = operator.endswith("=")
    if operator.startswith("<"):
        part = Node("interval", (_MINUS_INFINITY, bound), "(]" if closed else "()")
    else:
        part = Node("interval", (bound, _INFINITY), "[)" if closed else "()")
    return Node("region", (part,), name)


def _inequality(left: Node, operator: str, right: Node) -> Node:
    if left.op == "sym" and not _has_names(right):
        return _ray(str(left.value), operator, right)
    if right.op == "sym" and not _has_names(left):
        return _ray(str(right.value), _CONVERSE[operator], left)
    if operator in (">", ">="):
        left, operator, right = right, _CONVERSE[operator], left
    return Node("inequality", (left, right), operator)


def _double_inequality(parts: list[Node], operators: list[str]) -> Node:
    """`2 < x <= 7` and `7 >= x > 2`: an interval."""
    if operators[0][0] == ">":
        parts, operators = parts[::-1], [_CONVERSE[operator] for operator in operators[::-1]]
    rising = len(parts) == 3 and all(operator[0] == "<" for operator in operators)
    low, middle, high = parts if rising else (None, None, None)
    if low is None or middle is None or high is None or middle.op != "sym":
        raise Unparsed("a chain of relations")
    if _has_names(low) or _has_names(high):
        raise Unparsed("a chain of relations")
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


def _region(parts: tuple[Node, ...]) -> Node:
    intervals: list[Node] = []
    for part in parts:
        found = interval(part)
        if part.op in ("region", "set"):
            intervals.extend(part.args)
        elif found is not None:
            intervals.append(found)
        else:
            raise Unparsed(f"a union with {show(part, 30)}")
    return Node("region", tuple(intervals), _one_name(parts))


def _one_name(parts: Sequence[Node]) -> str | None:
    """The variable that all the conditions are on, None where they name none."""
    names = {str(part.value) for part in parts if part.op == "region" and part.value}
    if len(names) > 1:
        raise Unparsed("conditions on several variables")
    return names.pop() if names else None


def _intersection(members: list[Node]) -> Node:
    """`x > 2 and x <= 5`: a ray up and a ray down make an interval."""
    rays = [interval(member) for member in members]
    up = [ray for ray in rays if ray is not None and ray.args[1] == _INFINITY]
    down = [ray for ray in rays if ray is not None and ray.args[0] == _MINUS_INFINITY]
    if len(rays) != 2 or len(up) != 1 or len(down) != 1:
        raise Unparsed("conditions joined by and")
    shape = str(up[0].value)[0] + str(down[0].value)[1]
    both = Node("interval", (up[0].args[0], down[0].args[1]), shape)
    return Node("region", (both,), _one_name(members))
