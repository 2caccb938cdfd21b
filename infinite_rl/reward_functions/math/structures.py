r"""The parts of the grammar for functions, calculus, matrices, cases, sets and vectors.

    \int_0^1 x^2 \, dx   ->   Node("calculus", (body, x, 0, 1), "int")

The arguments of `calculus` are the body, the variable, and the ends or the point if there are any.
Its value is `int`, `sum`, `prod`, `diff`, `lim`, or `lim+` and `lim-` for the limits from one side.
`algebra` evaluates it.
"""

import math
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction

from .bounds import MAX_MEMBERS, MAX_SERIES, Budget, OverBudget, Undefined, Unparsed
from .exact import rational
from .tokens import SELECTIONS, VOCABULARY, Cursor, Token, tokenize
from .tree import ONE, Node, constant, expression, number, product_of, symbol

_ONE_ATOM = frozenset(["sqrt", "cbrt", "abs", "floor", "ceil"])  # functions of the next atom alone


def application(parser: Cursor, name: str) -> Node:
    """A function with its optional base and exponent: `\\log_2 8`, `\\sin^2 x`, `ln(x)`."""
    if name in SELECTIONS or name == "det":
        return selection(parser, name) if name in SELECTIONS else determinant(parser.atom())
    base = None
    if name == "log" and parser.accept("_"):
        token = parser.peek()
        short = token.kind == "num" and token.text.isdigit() and len(token.text) <= 2
        base = number(int(parser.take().text)) if short else parser.argument()  # 2, 10 and {b}
    exponent = parser.exponent() if parser.accept("^") else None
    argument = function_argument(parser, name)
    inverse = exponent is not None and exponent.op == "num" and exponent.value == -1
    if exponent is not None and inverse and name in ("sin", "cos", "tan"):
        name, exponent = f"arc{name}", None
    node = Node("fn", (argument,) if base is None else (argument, base), name)
    if name == "cis":
        node = Node("pow", (constant("e"), Node("mul", (constant("i"), argument))))
    return node if exponent is None else Node("pow", (node, expression(exponent)))


def function_argument(parser: Cursor, name: str) -> Node:
    """What a function is of: a bracket, or all factors up to the next function or bracket."""
    if parser.at("(", "[", "{", "|") or name in _ONE_ATOM:
        return expression(parser.atom())
    factors = [parser.power()]
    while parser.starts_atom() and parser.peek().kind != "func" and not parser.at("("):
        factors.append(parser.power())
    return expression(product_of(factors))


def selection(parser: Cursor, name: str) -> Node:
    """`\\max(2, 3)`, `\\gcd\\{12, 18\\}`: one number of those in brackets."""
    listed = parser.atom() if parser.at("(", "\\{", "{") else None
    if listed is None or listed.op not in ("tuple", "set") or not listed.args:
        raise Unparsed(f"a {name} without its numbers")
    members = [expression(arg) for arg in listed.args]
    if name == "diag":
        size = range(len(members))
        rows = (tuple(members[n] if n == row else number(0) for n in size) for row in size)
        return Node("matrix", tuple(Node("row", row) for row in rows))
    return _extreme(members, name) if name in ("max", "min") else _divisor(members, name)


def _extreme(members: list[Node], name: str) -> Node:
    """The greatest of two is `(a + b + |a - b|) / 2`, the least has a minus there."""
    extreme = members[0]
    for member in members[1:]:
        gap = Node("fn", (extreme - member,), "abs")
        gap = gap if name == "max" else -gap
        extreme = Node("add", (extreme, member, gap)) / number(2)
        if extreme.size > MAX_SERIES:
            raise OverBudget(f"a {name} of too many terms")
    if any(member.holds("const", kind) for member in members for kind in ("i", "inf")):
        raise Unparsed(f"a {name} of what is no real number")
    return extreme


def _divisor(members: list[Node], name: str) -> Node:
    """The greatest common divisor, or the least common multiple, of whole numbers."""
    try:
        values = [rational(member, Budget(math.inf)) for member in members]
    except Undefined:
        values = [None]
    wholes = [value.numerator for value in values if value is not None and value.denominator == 1]
    if len(wholes) < len(values):
        raise Unparsed(f"a {name} of what is no whole number")
    return number(math.lcm(*wholes) if name == "lcm" else math.gcd(*wholes))


def root(parser: Cursor) -> Node:
    """What follows `\\sqrt`: perhaps a degree in brackets, then what is under it."""
    degree = None
    if parser.accept("["):
        degree = expression(parser.sum())
        parser.expect("]")
    token = parser.peek()
    if token.kind == "num" and len(token.text) > 1:
        raise Unparsed("a root of digits without braces")
    under = parser.argument()
    return Node("fn", (under,), "sqrt") if degree is None else Node("fn", (under, degree), "root")


def conjugate(parser: Cursor) -> Node:
    """`\\overline{3 + 4i}`; over letters a bar makes a name: `\\bar{x}`, `\\overline{AB}`."""
    braced = parser.at("{") and parser.peek(2)[:2] == ("op", "}")
    letters = parser.peek(int(braced))
    if letters.kind in ("name", "word"):
        parser.position += 3 if braced else 1
        segment = letters.text.isupper() and len(letters.text) > 1
        return symbol(letters.text if segment else f"bar {letters.text}")
    under = parser.argument()
    if not under.holds("const", "i"):
        raise Unparsed("a bar over something without i")
    return conjugated(under)


def conjugated(node: Node) -> Node:
    """The expression with -i for i."""
    if node == constant("i"):
        return -node
    return node.with_args(map(conjugated, node.args))


def binomial(parser: Cursor, name: str) -> Node | None:
    """`C(5, 2)` inside mathematics, as the number of choices; alone it is a point."""
    top, bottom = parser.peek(1).text, parser.peek(3).text
    if name != "C" or parser.texts(5) != ["(", "num", ",", "num", ")"]:
        return None
    if not (top.isdigit() and bottom.isdigit()):
        return None
    parser.position += 5
    return Node("binom", (number(int(top)), number(int(bottom))))


def series(parser: Cursor, name: str) -> Node:
    """A finite sum or product over whole numbers, written out: `\\sum_{k=1}^{10} k`."""
    parser.expect("_", "{")
    index = parser.take()
    parser.expect("=")
    low = parser.sum()
    parser.expect("}", "^")
    high = parser.argument()
    body = expression(parser.product())
    first, last = _whole(low), _whole(high)
    if index.kind != "name":
        raise Unparsed("a sum without its index")
    if first is None or last is None:
        ends = (symbol(index.text), expression(low), expression(high))
        return Node("calculus", (body, *ends), "sum" if name == "total" else "prod")
    if (last - first + 1) * body.size > MAX_SERIES:
        raise OverBudget("a sum of too many terms")
    terms = tuple(body.substituted({index.text: number(k)}) for k in range(first, last + 1))
    if not terms:
        return number(0 if name == "total" else 1)
    return Node("add" if name == "total" else "mul", terms)


def _whole(node: Node) -> int | None:
    value = node.value
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else None


def integral(parser: Cursor) -> Node:
    """What follows `\\int`: its ends, the body, and `dx`."""
    ends = _ends(parser)
    _out_of_numerator(parser.tokens, parser.position)
    index, width, name = _differential(parser)
    _refuse_functions(parser.tokens[parser.position : index])
    body = parser.part(index)
    if len(ends) == 1 or parser.peek().kind == "end":
        raise Unparsed("an integral with one end")
    parser.position += width
    return Node("calculus", (body, symbol(name), *ends), "int")


def _out_of_numerator(tokens: list[Token], start: int) -> None:
    r"""Write `\frac{2 dx}{x}` as `\frac{2}{x} dx`."""
    if tokens[start][:2] != ("cmd", "frac") or tokens[start + 1].text != "{":
        return
    middle = _closing(tokens, start + 1)
    end = _closing(tokens, middle + 1) if tokens[middle + 1].text == "{" else 0
    for index in range(start + 2, middle) if end else ():
        width = _is_differential(tokens, index)
        if width and index + width == middle:
            moved = tokens[index:middle]
            left = [] if index > start + 2 else [Token("num", "1")]
            tokens[index : end + 1] = [*left, *tokens[middle : end + 1], *moved]
            return


def _closing(tokens: list[Token], start: int) -> int:
    """Where the brace that opens at `start` is closed."""
    depth = 0
    for index in range(start, len(tokens)):
        text = tokens[index].text if tokens[index].kind == "op" else ""
        depth += (text == "{") - (text == "}")
        if not depth:
            return index
    raise Unparsed("a brace that is not closed")


def _is_differential(tokens: list[Token], index: int) -> int:
    """Of how many tokens the `dx` at this place is, 0 if there is none."""
    token, following = tokens[index], tokens[index + 1]
    if token.kind == "word" and len(token.text) == 2 and token.text[0] == "d":
        return 1
    return 2 if token.text == "d" and following.kind in ("name", "greek") else 0


def _ends(parser: Cursor) -> list[Node]:
    """The lower and the upper end, in whatever order they are written."""
    ends: dict[str, Node] = {}
    while parser.at("_", "^"):
        mark = parser.take().text
        if mark in ends:
            raise Unparsed("an integral with two upper or two lower ends")
        if parser.at("-"):
            raise Unparsed("an end without braces")
        ends[mark] = parser.argument()
    return [ends[mark] for mark in ("_", "^") if mark in ends]


def _differential(parser: Cursor) -> tuple[int, int, str]:
    """Where the `dx` of an integral stands, of how many tokens it is, and its variable."""
    inner = 0
    for index, token, depth in parser.brackets():
        if depth < 0 or token.kind == "end":
            break
        inner += token[:2] == ("cmd", "int")
        width = _is_differential(parser.tokens, index)
        if width and not depth:
            if not inner:
                return index, width, token.text[1] if width == 1 else parser.tokens[index + 1].text
            inner -= 1
    raise Unparsed("an integral without its variable")


def limit(parser: Cursor) -> Node:
    """What follows `\\lim`: `_{x \\to 0}`, perhaps with a side, and one term."""
    parser.expect("_", "{")
    variable = parser.take()
    if variable.kind not in ("name", "greek"):
        raise Unparsed("a limit without its variable")
    parser.expect("to")
    side = _side(parser)
    point = expression(parser.sum())
    if side:
        parser.position += 4 if parser.peek(1).text == "{" else 2
    parser.expect("}")
    _refuse_functions(parser.tokens[parser.position :])
    body = expression(parser.product())
    if parser.at("+", "-"):
        raise Unparsed("a limit of a sum without brackets")
    return Node("calculus", (body, symbol(variable.text), point), f"lim{side}")


def _side(parser: Cursor) -> str:
    """The sign in `0^+` or `0^{-}`, hidden from the parser of the point by an end in its place."""
    for index, token, depth in parser.brackets():
        if depth < 0:
            return ""
        after = [behind.text for behind in parser.tokens[index + 1 : index + 5]]
        if token.text == "^" and not depth:
            braced = len(after) == 4 and after[0] == "{" and after[2:] == ["}", "}"]
            sign = after[1] if braced else after[0] if after[1:2] == ["}"] else ""
            if sign in ("+", "-"):
                parser.tokens[index] = Token("op", "}")
                return sign
    return ""


def derivative(parser: Cursor) -> Node | None:
    """`\\frac{d}{dx}` after its command, with its term; None for any other fraction."""
    texts = parser.texts(7)
    if texts[:4] != ["{", "d", "}", "{"]:
        return None
    if texts[5] == "}" and len(texts[4]) == 2 and texts[4][0] == "d":
        name, width = texts[4][1], 6
    elif texts[4] == "d" and texts[6] == "}":
        name, width = texts[5], 7
    else:
        return None
    parser.position += width
    _refuse_functions(parser.tokens[parser.position :])
    return Node("calculus", (expression(parser.product()), symbol(name)), "diff")


def _refuse_functions(tokens: list[Token]) -> None:
    """Here `f(x)` is no product: the integral of an unknown function has no value."""
    for token, following in zip(tokens, tokens[1:], strict=False):
        if token.kind == "name" and token.text in "fghFG" and following.text == "(":
            raise Unparsed("a function that is not known, in an integral, limit or derivative")


# -- matrices, cases, sets, vectors ---------------------------------------------------------------


def continued(items: Sequence[Node], last: Node) -> list[Node]:
    """The terms behind `1, 2, ...` up to the last one, of a sequence with equal steps or ratios."""
    values = [_exact(item) for item in items]
    end = _exact(last)
    if len(values) < 2:
        raise Unparsed("a sequence of one term that goes on")
    step = values[1] - values[0]
    ratio = values[1] / values[0] if values[0] else Fraction(0)
    pairs = list(zip(values, values[1:], strict=False))
    if step and all(b - a == step for a, b in pairs):
        count = (end - values[-1]) / step
        if count.denominator > 1 or not 0 < count <= MAX_MEMBERS:
            raise Unparsed("a sequence that does not reach its last term")
        return [number(values[-1] + step * n) for n in range(1, int(count) + 1)]
    if len(values) < 3 or abs(ratio) in (0, 1) or any(b != a * ratio for a, b in pairs):
        raise Unparsed("a sequence that is not determined")
    terms = [values[-1] * ratio]
    while terms[-1] != end and len(terms) < MAX_MEMBERS and abs(terms[-1].numerator) < 10**99:
        terms.append(terms[-1] * ratio)
    if terms[-1] != end:
        raise Unparsed("a sequence that does not reach its last term")
    return [number(term) for term in terms]


def arithmetic_sum(terms: Sequence[Node], last: Node) -> Node:
    """`1 + 2 + ... + n` in closed form; the terms shown have equal steps."""
    values = [_exact(term) for term in terms]
    step = values[1] - values[0] if len(values) > 1 else Fraction(0)
    if not step or any(b - a != step for a, b in zip(values, values[1:], strict=False)):
        raise Unparsed("a sum that is not determined")
    first = number(values[0])
    count = Node("add", ((last - first) / number(step), ONE))
    return Node("mul", (Node("add", (first, expression(last))), count)) / number(2)


def _exact(node: Node) -> Fraction:
    try:
        value = rational(expression(node), Budget(math.inf))
    except Undefined:
        value = None
    if value is None:
        raise Unparsed("a sequence of other terms than numbers")
    return value


_MATRICES, _CONDITION_WORDS = map(VOCABULARY.words, ("matrices", "condition words"))
_COPULAS, _OTHERWISE = map(VOCABULARY.words, ("copulas", "otherwise"))


def environment(parser: Cursor) -> Node:
    """What follows `\\begin`, up to its `\\end`."""
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
    if math.factorial(len(table) - 1) * matrix.size > MAX_SERIES:
        raise OverBudget("a determinant of too many terms")
    return _expanded(table)


def _expanded(table: Sequence[Sequence[Node]]) -> Node:
    if len(table) == 1:
        return table[0][0]
    terms: list[Node] = []
    for column, entry in enumerate(table[0]):
        minor = _expanded([[*row[:column], *row[column + 1 :]] for row in table[1:]])
        term = Node("mul", (entry, minor))
        terms.append(-term if column % 2 else term)
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


def residue_classes(parser: Cursor, closer: str) -> Node | None:
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
    if node.symbols.isdisjoint(names):
        return free
    if node.op in ("add", "neg", "pm"):
        return all(is_linear(arg, names, free) for arg in node.args)
    if node.op in ("mul", "div"):
        factors = [arg for arg in node.args if not arg.symbols.isdisjoint(names)]
        divides = node.op == "div" and factors[-1] is node.args[1]
        return len(factors) == 1 and not divides and is_linear(factors[0], names, free)
    return node.op == "sym"


def refuse_products(node: Node, vectors: Collection[str]) -> None:
    """Raises Unparsed if two vectors meet in a product, a quotient or a power.

    As numbers they would commute, and `|a||b|` would be `|a b|`.
    """
    factors = [arg for arg in node.args if not arg.symbols.isdisjoint(vectors)]
    product = node.op in ("mul", "div") and len(factors) > 1
    power = node.op == "pow" and node.args[0] in factors and node.args[0].op != "sym"
    if product or power:
        raise Unparsed("a product of vectors")
    for arg in factors:
        refuse_products(arg, vectors)


def in_columns(node: Node, vectors: Collection[str]) -> Node:
    """`3i + 4j` as the column (3, 4), where `i`, `j` and `k` are the unit vectors."""
    if not node.is_expression:
        return node.with_args(in_columns(arg, vectors) for arg in node.args)
    vector = node if "i" in vectors else _with_vector_i(node)
    basis = vector.symbols.intersection(_BASIS)
    if len(basis) < 1 + (not vectors) or not is_linear(vector, basis, free=False):
        return node
    size = 3 if "k" in basis else 2
    rows: list[Node] = []
    for name in _BASIS[:size]:
        values = {other: ONE if other == name else number(0) for other in _BASIS}
        rows.append(Node("row", (vector.substituted(values),)))
    return Node("matrix", tuple(rows))


def _with_vector_i(node: Node) -> Node:
    if node == constant("i"):
        return symbol("i")
    return node.with_args(map(_with_vector_i, node.args))
