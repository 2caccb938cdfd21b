"""What stands between `\\begin` and `\\end`: matrices, functions by cases, systems of equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import TYPE_CHECKING

from .bounds import MAX_MEMBERS, MAX_SERIES, OverBudget, Unparsed
from .tokens import tokenize, words
from .tree import Node, expression, negated, size

if TYPE_CHECKING:
    from .parse import Parser

_MATRICES = words("pmatrix bmatrix matrix Bmatrix array smallmatrix vmatrix")
_CONDITION_WORDS = words("if for when where")
_COPULAS = words("is are if for when where an a")
_OTHERWISE = words("otherwise else elsewhere")


def environment(parser: Parser) -> Node:
    """What follows `\\begin`, up to its `\\end`."""
    parser.enter()
    name = _name(parser)
    if name == "cases":
        node = cases(parser)
    elif name in _MATRICES:
        node = matrix(parser, name)
    else:
        raise Unparsed(f"the environment {name[:20]!r}")
    parser.take()  # `\\end`
    if _name(parser) != name:
        raise Unparsed(f"an environment {name!r} that ends as another")
    parser.depth -= 1
    return node


def _name(parser: Parser) -> str:
    parser.expect("{")
    name = parser.take().text
    parser.expect("}")
    return name


def rows(parser: Parser, first: Node, row: Callable[[], Node]) -> tuple[Node, ...]:
    """All rows up to `\\end`, with a line break between two of them and perhaps after the last."""
    found = [first]
    while not parser.at_command("finish"):
        parser.expect("\\\\")
        if not parser.at_command("finish"):
            found.append(row())
        if len(found) > MAX_MEMBERS:
            raise OverBudget(f"more than {MAX_MEMBERS} rows")
    return tuple(found)


def matrix(parser: Parser, name: str) -> Node:
    """The rows of a matrix, or the determinant that `vmatrix` stands for."""
    if name == "array" and parser.accept("{"):
        while not parser.accept("}"):
            if parser.take().kind == "end":
                raise Unparsed("an array without its columns")
    found = rows(parser, entries(parser), lambda: entries(parser))
    if len({len(row.args) for row in found}) > 1:
        raise Unparsed("a matrix with rows of different lengths")
    node = Node("matrix", found)
    return determinant(node) if name == "vmatrix" else node


def entries(parser: Parser) -> Node:
    """One row of a matrix."""
    found = [expression(parser.sum())]
    while parser.accept("&"):
        found.append(expression(parser.sum()))
        if len(found) > MAX_MEMBERS:
            raise OverBudget(f"a row of more than {MAX_MEMBERS} entries")
    return Node("row", tuple(found))


def determinant(matrix: Node) -> Node:
    """The determinant of a square matrix, expanded along its first row."""
    table = [row.args for row in matrix.args]
    if matrix.op != "matrix" or any(len(row) != len(table) for row in table):
        raise Unparsed("a determinant of what is no square matrix")
    if factorial(len(table) - 1) * size(matrix) > MAX_SERIES:
        raise OverBudget("a determinant of too many terms")
    return _expanded(table)


def _expanded(table: Sequence[Sequence[Node]]) -> Node:
    if len(table) == 1:
        return table[0][0]
    terms: list[Node] = []
    for column, entry in enumerate(table[0]):
        minor = _expanded([[*row[:column], *row[column + 1 :]] for row in table[1:]])
        term = Node("mul", (entry, minor))
        terms.append(negated(term) if column % 2 else term)
    return Node("add", tuple(terms))


def cases(parser: Parser) -> Node:
    """Values with their conditions, or equations one below the other, which hold together."""
    first = parser.relation()
    if first.op == "rel":
        return Node("list", rows(parser, first, parser.relation), "and")
    return Node("piecewise", rows(parser, case(parser, first), lambda: case(parser, parser.sum())))


def case(parser: Parser, value: Node) -> Node:
    """A value and its condition, with `&`, a comma or "if" between them."""
    marks = [parser.accept(","), parser.accept("&"), parser.accept(","), condition_word(parser)]
    if not any(marks):
        raise Unparsed("a row of cases without a condition")
    return Node("row", (expression(value), condition(parser)))


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
    """When a case holds: formulas, words such as "even", or `otherwise`."""
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
