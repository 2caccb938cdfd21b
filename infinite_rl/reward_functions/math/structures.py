"""The part of the grammar for matrices, cases, systems, sets by a condition, and vectors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import factorial

from .bounds import MAX_MEMBERS, MAX_SERIES, OverBudget, Unparsed
from .tokens import Cursor, Token, tokenize, words
from .tree import (
    ONE,
    Node,
    constant,
    expression,
    is_expression,
    negated,
    number,
    size,
    substituted,
    symbol,
    symbols,
)

_MATRICES = words("pmatrix bmatrix matrix Bmatrix array smallmatrix vmatrix")
_CONDITION_WORDS = words("if for when where")
_COPULAS = words("is are if for when where an a")
_OTHERWISE = words("otherwise else elsewhere")


def environment(parser: Cursor) -> Node:
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


def _name(parser: Cursor) -> str:
    parser.expect("{")
    name = parser.take().text
    parser.expect("}")
    return name


def rows(parser: Cursor, first: Node, row: Callable[[], Node]) -> tuple[Node, ...]:
    """All rows up to `\\end`, with a line break between two of them and perhaps after the last."""
    result = [first]
    while not parser.at_command("finish"):
        parser.expect("\\\\")
        if not parser.at_command("finish"):
            result.append(row())
        if len(result) > MAX_MEMBERS:
            raise OverBudget(f"more than {MAX_MEMBERS} rows")
    return tuple(result)


def matrix(parser: Cursor, name: str) -> Node:
    """The rows of a matrix, or the determinant that `vmatrix` stands for."""
    if name == "array" and parser.accept("{"):
        while not parser.accept("}"):
            if parser.take().kind == "end":
                raise Unparsed("an array without its columns")
    table = rows(parser, entries(parser), lambda: entries(parser))
    if len({len(row.args) for row in table}) > 1:
        raise Unparsed("a matrix with rows of different lengths")
    node = Node("matrix", table)
    return determinant(node) if name == "vmatrix" else node


def entries(parser: Cursor) -> Node:
    """One row of a matrix."""
    row = [expression(parser.sum())]
    while parser.accept("&"):
        row.append(expression(parser.sum()))
        if len(row) > MAX_MEMBERS:
            raise OverBudget(f"a row of more than {MAX_MEMBERS} entries")
    return Node("row", tuple(row))


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


def cases(parser: Cursor) -> Node:
    """Values with their conditions, or equations one below the other, which hold together."""
    first = parser.relation()
    if first.op == "rel":
        return Node("list", rows(parser, first, parser.relation), "and")
    return Node("piecewise", rows(parser, case(parser, first), lambda: case(parser, parser.sum())))


def case(parser: Cursor, value: Node) -> Node:
    """A value and its condition, with `&`, a comma or "if" between them."""
    marks = [parser.accept(","), parser.accept("&"), parser.accept(","), condition_word(parser)]
    if not any(marks):
        raise Unparsed("a row of cases without a condition")
    return Node("row", (expression(value), condition(parser)))


def condition_word(parser: Cursor) -> bool:
    """Skip "if" or its like before a condition; what else its text holds is read after it."""
    token = parser.peek()
    word, _, rest = token.text.partition(" ")
    if token.kind not in ("word", "text") or word.casefold() not in _CONDITION_WORDS:
        return False
    inner = tokenize(rest.replace("$", ""))[:-1] if rest.strip() else []
    parser.tokens[parser.position : parser.position + 1] = inner
    return True


def condition(parser: Cursor) -> Node:
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


def condition_in_words(parser: Cursor) -> str:
    """`n is even` as "even", with the position after it; "" for a condition in formulas."""
    texts: list[str] = []
    for index in range(parser.position, len(parser.tokens)):
        token = parser.tokens[index]
        if token.text in ("\\\\", "finish"):
            break
        if token.kind in ("word", "text"):
            texts += [word for word in token.text.casefold().split() if word not in _COPULAS]
        elif token.kind not in ("name", "greek"):
            return ""
    if texts:
        parser.position = index
    return " ".join(texts).strip(".,")


def conditions(items: list[Node], kind: str) -> Node:
    """One condition, or several that hold together unless "or" joins them."""
    if len(items) == 1:
        return items[0]
    return Node("list", tuple(items), "or" if kind == "or" else "and")


_MARKS = {"+": ">0", "-": "<0", "*": "!=0", ">=": ">=0", "<=": "<=0", ">=0": ">=0", "<=0": "<=0"}
_MARKS |= {">0": ">0", "<0": "<0", "2": "^2", "3": "^3", "n": "^n"}


def at_builder(parser: Cursor) -> bool:
    """Whether a set is described: `x | x > 2`, `x \\in R : ...`."""
    if parser.peek().kind not in ("name", "greek"):
        return False
    index = 1
    if parser.peek(1)[:2] == ("op", "in") and parser.peek(2).kind == "field":
        index = 3
    return parser.peek(index)[:2] in (("op", "|"), ("op", ":"))


def classes(parser: Cursor, closer: str) -> Node | None:
    """What `5k + 3 : k \\in \\mathbb{Z}` holds, up to its closing brace: a list as without braces.

    None, and nothing read, where this is no set of that kind.
    """
    end = parser.position
    while parser.tokens[end].text != closer:
        if parser.tokens[end].kind == "end":
            return None
        end += 1
    if end < parser.position + 5:
        return None
    bar, name, sign, whole = parser.tokens[end - 4 : end]
    if bar.text not in ("|", ":") or sign.text != "in" or whole.text != "Z":
        return None
    value = parser.part(end - 4)
    parser.position += 5
    inside = Node("rel", (symbol(name.text), Node("field", (), "Z")), "in")
    return Node("list", (value, inside), ",")


def field(parser: Cursor, name: str) -> Node:
    """`\\mathbb{R}`, with the mark that may follow: `^+`, `_{\\ge 0}`, `^*`."""
    if parser.accept("^", "_"):
        name += _mark(parser)
    if parser.at("-"):  # the reals without a set
        parser.tokens[parser.position] = Token("op", "minus")
    return Node("field", (), name)


def _mark(parser: Cursor) -> str:
    pieces = [parser.take().text]
    while pieces[0] == "{" and pieces[-1] != "}" and len(pieces) < 5:
        pieces.append(parser.take().text)
    mark = "".join(pieces).strip("{}")
    mark = _MARKS.get(mark, mark)
    if mark not in _MARKS.values():
        raise Unparsed(f"the mark {mark[:10]!r} of a set of numbers")
    return mark


def builder(parser: Cursor, closer: str) -> Node:
    """A set by the condition on its members, up to the brace that closes it."""
    name = parser.take().text
    field = "R"
    if parser.accept("in"):
        field = parser.take().text
    parser.take()
    items, kind = parser.items()
    parser.expect(closer)
    if field not in ("R", "Z"):
        raise Unparsed("a set described over other numbers than the real or the whole ones")
    whole = (Node("field", (), "Z"),) if field == "Z" else ()
    return Node("builder", (conditions(items, kind), *whole), name)


_BASIS = ("i", "j", "k")


def is_linear(node: Node, names: Collection[str], free: bool = True) -> bool:
    """Whether a tree is a sum of multiples of the names, and of terms without them if `free`."""
    if symbols(node).isdisjoint(names):
        return free
    if node.op in ("add", "neg", "pm"):
        return all(is_linear(arg, names, free) for arg in node.args)
    if node.op in ("mul", "div"):
        factors = [arg for arg in node.args if not symbols(arg).isdisjoint(names)]
        divides = node.op == "div" and factors[-1] is node.args[1]
        return len(factors) == 1 and not divides and is_linear(factors[0], names, free)
    return node.op == "sym"


def refuse_products(node: Node, vectors: Collection[str]) -> None:
    """Raises Unparsed if two vectors meet in a product, a quotient or a power.

    As numbers they would commute, and `|a||b|` would be `|a b|`.
    """
    factors = [arg for arg in node.args if not symbols(arg).isdisjoint(vectors)]
    product = node.op in ("mul", "div") and len(factors) > 1
    power = node.op == "pow" and node.args[0] in factors and node.args[0].op != "sym"
    if product or power:
        raise Unparsed("a product of vectors")
    for arg in factors:
        refuse_products(arg, vectors)


def in_columns(node: Node, vectors: Collection[str]) -> Node:
    """`3i + 4j` as the column (3, 4), where `i`, `j` and `k` are the unit vectors."""
    if not is_expression(node):
        return node._replace(args=tuple(in_columns(arg, vectors) for arg in node.args))
    vector = node if "i" in vectors else _with_vector_i(node)
    basis = symbols(vector).intersection(_BASIS)
    if len(basis) < 1 + (not vectors) or not is_linear(vector, basis, free=False):
        return node
    size = 3 if "k" in basis else 2
    rows: list[Node] = []
    for name in _BASIS[:size]:
        values = {other: ONE if other == name else number(0) for other in _BASIS}
        rows.append(Node("row", (substituted(vector, values),)))
    return Node("matrix", tuple(rows))


def _with_vector_i(node: Node) -> Node:
    if node == constant("i"):
        return symbol("i")
    return node._replace(args=tuple(map(_with_vector_i, node.args)))
