"""What stands between `\\begin` and `\\end`: matrices, functions by cases, systems of equations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .bounds import MAX_MEMBERS, OverBudget, Unparsed
from .tokens import tokenize, words
from .tree import Node, expression

if TYPE_CHECKING:
    from .parse import Parser

_MATRICES = frozenset(["pmatrix", "bmatrix", "matrix", "Bmatrix", "array", "smallmatrix"])
_CONDITION_WORDS = words("if for when where")
_COPULAS = words("is are if for when where an a")
_OTHERWISE = words("otherwise else elsewhere")


def environment(parser: Parser) -> str:
    parser.expect("{")
    name = parser.take().text
    parser.expect("}")
    if name not in _MATRICES:
        raise Unparsed(f"the environment {name[:20]!r}")
    return name


def matrix(parser: Parser) -> Node:
    parser.enter()
    if environment(parser) == "array" and parser.accept("{"):
        while not parser.accept("}"):
            if parser.take().kind == "end":
                raise Unparsed("an array without its columns")
    rows: list[list[Node]] = [[expression(parser.sum())]]
    count = 1
    while not parser.at_command("finish"):
        if parser.accept("&"):
            rows[-1].append(expression(parser.sum()))
        else:
            parser.expect("\\\\")
            if parser.at_command("finish"):
                break
            rows.append([expression(parser.sum())])
        count += 1
        if count > MAX_MEMBERS:
            raise OverBudget(f"a matrix of more than {MAX_MEMBERS} entries")
    parser.take()
    environment(parser)
    parser.depth -= 1
    if len({len(row) for row in rows}) > 1:
        raise Unparsed("a matrix with rows of different lengths")
    return Node("matrix", tuple(Node("row", tuple(row)) for row in rows))


def cases(parser: Parser) -> Node:
    """Rows of a value and its condition, with `&`, a comma or "if" between them."""
    parser.enter()
    parser.position += 3
    rows: list[Node] = []
    while not parser.at_command("finish"):
        value = parser.relation() if not rows else parser.sum()
        if value.op == "rel":
            return system(parser, value)
        marks = [parser.accept(","), parser.accept("&"), parser.accept(","), condition_word(parser)]
        if not any(marks):
            raise Unparsed("a row of cases without a condition")
        rows.append(Node("row", (expression(value), condition(parser))))
        if not parser.at_command("finish"):
            parser.expect("\\\\")
        if len(rows) > MAX_MEMBERS:
            raise OverBudget(f"more than {MAX_MEMBERS} cases")
    parser.position += 1
    parser.expect("{")
    parser.position += 1
    parser.expect("}")
    parser.depth -= 1
    return Node("piecewise", tuple(rows))


def system(parser: Parser, first: Node) -> Node:
    """Equations one below the other, which hold together."""
    rows = [first]
    while not parser.at_command("finish"):
        parser.expect("\\\\")
        if not parser.at_command("finish"):
            rows.append(parser.relation())
        if len(rows) > MAX_MEMBERS:
            raise OverBudget(f"more than {MAX_MEMBERS} equations")
    parser.position += 1
    parser.expect("{")
    parser.position += 1
    parser.expect("}")
    parser.depth -= 1
    return Node("list", tuple(rows), "and")


def condition_word(parser: Parser) -> bool:
    """Skip "if" or its like before a condition; what else its text holds is read after it."""
    token = parser.peek()
    word, _, rest = token.text.partition(" ")
    if token.kind not in ("word", "text") or word.casefold() not in _CONDITION_WORDS:
        return False
    inner = tokenize(rest.replace("$", ""))[:-1] if rest.strip() else []
    parser.tokens[parser.position : parser.position + 1] = inner
    return True


def condition(parser: Parser) -> Node:
    token = parser.peek()
    if token.kind in ("word", "text") and token.text.strip(" .").casefold() in _OTHERWISE:
        parser.position += 1
        return Node("text", (), "otherwise")
    words = condition_in_words(parser)
    if words:
        return Node("text", (), words)
    items, kind = parser.items()
    return conditions(items, kind)


def condition_in_words(parser: Parser) -> str:
    """`n is even` as "even", with the position after it; "" for a condition in formulas."""
    texts: list[str] = []
    for place in range(parser.position, len(parser.tokens)):
        token = parser.tokens[place]
        if token.text in ("\\\\", "finish"):
            break
        if token.kind in ("word", "text"):
            texts += [word for word in token.text.casefold().split() if word not in _COPULAS]
        elif token.kind not in ("name", "greek"):
            return ""
    if texts:
        parser.position = place
    return " ".join(texts).strip(".,")


def conditions(items: list[Node], kind: str) -> Node:
    """One condition, or several that hold together unless "or" joins them."""
    if len(items) == 1:
        return items[0]
    return Node("list", tuple(items), "or" if kind == "or" else "and")
