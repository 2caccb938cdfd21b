r"""The tree that the parser builds and every later stage reads. It holds no text that can be run.

Expressions, which have a number for a value:

    num               `value` is a Fraction
    sym               a variable; its name
    const             pi, e, i or inf
    add mul           two parts or more
    div pow           dividend and divisor, base and exponent
    neg fact deg      one part: -x, x!, x degrees
    binom             of n and k
    fn                a function by its name: sin x, root of x and degree, log of x and base
    pm                one part with both signs; `value` is pm or mp
    calculus          body, variable, ends; see `calculus`. `canonicalize` leaves none

Structures that the parser builds:

    tuple set list    members; of a list `value` says how they are joined: "or", "and" or ","
    interval          low and high end; `value` is "(]" and the like
    union intersection difference   of sets
    builder           the condition that describes a set, and the field Z where its members are
                      whole; the name of its variable
    field             R, Z, N, Q or C
    matrix, row       rows, entries
    piecewise         rows of a value and its condition
    order             numbers that are compared: "< <". `canonicalize` leaves none
    rel               sides; the relations between them: "<= <"
    ratio congruence  parts; remainder and modulus
    base              a numeral with its base: a number in another notation
    quantity          a number with its `unit`
    text              words

What `normal` makes of them:

    named             the value of `x = 5`; its name
    equation inequality  two sides; of an inequality "<", "<=" or "!="
    chain             the parts of `x = 2 + 3 = 5`. `canonicalize` leaves none
    region            intervals side by side, and the variable that they bound, if one is named
    union intersection   conditions of which one must hold, or all
    conditional       an answer, then its conditions: `2x` for all x > 0. `value` is "inside" if one
                      stands between parts of the answer. `canonicalize` leaves one condition, and
                      the value "natural" if the notation implies it (n whole)
    condition         a set and variables; the kind of the numbers. `canonicalize` makes it two
                      sets, with 0 and without it for the natural numbers
    antiderivative    the function and its constant
    choice            what is said beside the letter; the letter
    date clock        `2020-03-05`; minutes after midnight, with the ratio that `2:30` also is
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from .bounds import MAX_SERIES, OverBudget, Unparsed, bits
from .units import Unit

_NO_NAMES: frozenset[str] = frozenset()


class Node(NamedTuple):
    """One operation on its arguments. `value` is the leaf's content: a number, a name, a unit."""

    op: str
    args: tuple[Node, ...] = ()
    value: Fraction | str | None = None
    unit: Unit | None = None

    def __neg__(self) -> Node:
        """`-self`, of a numeral or an amount with the sign inside."""
        if self.op == "num" and type(self.value) is Fraction:
            return number(-self.value)
        if self.op == "quantity":
            return Node("quantity", (-self.args[0],), unit=self.unit)
        return Node("neg", (self,))

    def __sub__(self, other: Node) -> Node:
        """The difference, with its sign before `other`."""
        return Node("add", (self, Node("neg", (other,))))

    def __truediv__(self, other: Node) -> Node:
        """The quotient."""
        return Node("div", (self, other))

    def with_args(self, args: Iterable[Node]) -> Node:
        """The same operation on other arguments."""
        return Node(self.op, tuple(args), self.value, self.unit)

    @property
    def is_expression(self) -> bool:
        """Whether the node has a number for a value."""
        return self.op in EXPRESSIONS

    @property
    def symbols(self) -> frozenset[str]:
        """The names of the free variables in a tree."""
        if self.op == "sym":
            return frozenset([str(self.value)])
        if not self.args:
            return _NO_NAMES
        names = _NO_NAMES.union(*[arg.symbols for arg in self.args])
        bound = self.op == "calculus" and len(self.args) > 2
        return names - {str(self.args[1].value)} if bound else names

    def holds(self, op: str, value: str | None = None) -> bool:
        """Whether some part of the tree has this operation (and this content)."""
        if self.op == op and (value is None or self.value == value):
            return True
        for arg in self.args:  # noqa: SIM110 -- asked so often that a generator is felt
            if arg.holds(op, value):
                return True
        return False

    def substituted(self, values: Mapping[str, Node]) -> Node:
        """The tree with variables replaced."""
        if self.op == "sym":
            return values.get(str(self.value), self)
        if not self.args:
            return self
        name = values.get(str(self.value)) if self.op == "region" else None
        args = tuple(arg.substituted(values) for arg in self.args)
        value = name.value if name is not None and name.op == "sym" else self.value
        return Node(self.op, args, value, self.unit)

    @property
    def size(self) -> int:
        """How many operations and leaves a tree has."""
        return 1 + sum(arg.size for arg in self.args)


EXPRESSIONS = frozenset(
    ["num", "sym", "const", "add", "mul", "pow", "div", "neg", "fn", "fact", "binom", "pm", "deg"]
    + ["calculus"]  # none is left when the decision begins
)
INFINITY = Node("const", (), "inf")
MINUS_INFINITY = Node("neg", (INFINITY,))
REALS = Node("region", (Node("interval", (MINUS_INFINITY, INFINITY), "()"),))
ONE = Node("num", (), Fraction(1))
WHOLE = "\u2208Z"  # ends the name of a parameter that is whole
_MOST_ENTRIES = 200  # products of entries in the product of two matrices
_MOST_BITS = 2_000  # that are shown: Python refuses to print integers of more than 4,300 digits


def number(value: Fraction | int) -> Node:
    """An exact number."""
    return Node("num", (), value if type(value) is Fraction else Fraction(value))


def symbol(name: str) -> Node:
    """A variable."""
    return Node("sym", (), name)


def constant(name: str) -> Node:
    """`pi`, `e`, `i` or `inf`."""
    return Node("const", (), name)


def product_of(factors: list[Node]) -> Node:
    """A product, of a matrix entry by entry. Raises Unparsed for what is no number."""
    if len(factors) == 1:
        return factors[0]
    if all(factor.op == "matrix" for factor in factors):
        return _of_matrices(factors)
    vectors = [index for index, factor in enumerate(factors) if factor.op in ("matrix", "tuple")]
    if len(vectors) == 1:
        vector = factors.pop(vectors[0])
        scale = product_of(factors)
        return vector.with_args(
            product_of([scale, arg])
            if vector.op == "tuple"
            else arg.with_args(product_of([scale, entry]) for entry in arg.args)
            for arg in vector.args
        )
    for factor in factors:
        expression(factor)
    if len(factors) == 2 and factors[1].op == "div" and factors[1].args[0] is ONE:
        return Node("div", (factors[0], factors[1].args[1]))
    return Node("mul", tuple(factors))


def _of_matrices(factors: list[Node]) -> Node:
    first, *others = ([row.args for row in factor.args] for factor in factors)
    for table in others:
        if len(first[0]) != len(table) or len(first) * len(table) * len(table[0]) > _MOST_ENTRIES:
            raise Unparsed("a product of matrices without a value")
        first = [
            tuple(
                Node("add", tuple(Node("mul", pair) for pair in zip(row, column, strict=True)))
                for column in zip(*table, strict=True)
            )
            for row in first
        ]
        if sum(entry.size for row in first for entry in row) > MAX_SERIES:
            raise OverBudget("a product of matrices of too many terms")
    return Node("matrix", tuple(Node("row", row) for row in first))


def sum_of(terms: list[Node]) -> Node:
    """A sum, of matrices and of vectors entry by entry. Raises Unparsed for what is no number."""
    if all(term.is_expression for term in terms):
        return Node("add", tuple(terms))
    first = terms[0]
    shapes = {(term.op, term.value, len(term.args)) for term in terms}
    if len(shapes) > 1 or first.op not in ("matrix", "row", "tuple"):
        raise Unparsed("a sum of something that is no number")
    return first.with_args(
        sum_of(list(parts)) for parts in zip(*(term.args for term in terms), strict=True)
    )


def show(node: Node, limit: int = 200) -> str:
    """The tree as prefix text, for people: `(add x 1)`."""
    pieces: list[str] = []
    _write(node, pieces)
    text = "".join(pieces)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _write(node: Node, pieces: list[str]) -> None:
    if len(pieces) > 400:
        return
    value = "" if node.value is None else node.value
    if type(value) is Fraction and bits(value) > _MOST_BITS:
        value = f"a number of {bits(value)} bits"
    if node.unit is not None:
        value = f"{value}{node.unit.name}"
    if not node.args:
        bare = node.op in ("num", "sym", "const", "text")
        pieces.append(str(value) if bare else f"({node.op} {value})")
        return
    pieces.append(f"({node.op} {value}".rstrip())
    for arg in node.args:
        pieces.append(" ")
        _write(arg, pieces)
    pieces.append(")")


def expression(node: Node) -> Node:
    """The node itself. Raises Unparsed if it is no number or expression."""
    if not node.is_expression:
        raise Unparsed(f"a {node.op} where a number should stand")
    return node
