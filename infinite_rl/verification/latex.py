"""A tree of mathematics as LaTeX that parses to the same tree."""

from collections.abc import Callable
from fractions import Fraction
from itertools import chain

from ..reward_functions.math.bounds import Budget, OverBudget, Undefined
from ..reward_functions.math.exact import rational
from ..reward_functions.math.tokens import GREEK
from ..reward_functions.math.tree import Node, number

_MAX_STEPS = 10_000  # for the constants of one answer
_MAX_BITS = 3_000  # of a number: Python writes at most 4300 digits
_SIGNS = {"pi": r"\pi", "e": "e", "i": "i", "inf": r"\infty"}
_NAMED_FUNCTIONS = {
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
    "ln", "log", "exp",
}  # fmt: skip
_OPENING, _CLOSING = {"[": r"\left[", "(": r"\left("}, {"]": r"\right]", ")": r"\right)"}


class Unwritable(Exception):
    """The tree has a form that has no LaTeX here."""


def latex(node: Node) -> str:
    """Write a tree as LaTeX that parses to the same tree. Raises `Unwritable`."""
    write = _WRITERS.get(node.op)
    if write is None:
        raise Unwritable(node.op)
    return write(node)


def fraction(value: Fraction) -> str:
    """Write a rational number: `-\\frac{3}{4}`. Raises `Unwritable`."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _MAX_BITS:
        raise Unwritable("a number of too many digits")
    if value.denominator == 1:
        return str(value.numerator)
    sign = "-" if value < 0 else ""
    return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def folded(node: Node) -> Node:
    """Fold each rational constant into one number, as `latex` writes it.

    Raises `Unwritable` if a constant has no value or too large a one.
    """
    try:
        value = rational(node, Budget(1.0, _MAX_STEPS)) if node.is_expression else None
    except (OverBudget, Undefined) as fault:
        raise Unwritable(str(fault)) from None
    if value is not None:
        return number(value)
    args = tuple(map(folded, node.args))
    if node.op == "mul":
        nested = ((arg.args if arg.op == "mul" else (arg,)) for arg in args)
        return Node("mul", tuple(chain.from_iterable(nested)))
    return node.with_args(args)


def _number(node: Node) -> str:
    if not isinstance(node.value, Fraction):
        raise Unwritable("a numeral")
    return fraction(node.value)


def _symbol(node: Node) -> str:
    name, _, index = str(node.value).partition("_")
    if name in GREEK:
        name = rf"\{name}"
    elif len(name) != 1 or not name.isascii():
        raise Unwritable(f"the name {node.value}")
    return f"{name}_{{{index}}}" if index else name


def _atom(node: Node) -> str:
    """A tree as a factor: in brackets unless it is a single sign."""
    text = latex(node)
    bare = node.op in ("sym", "const") or (node.op == "num" and text.isdecimal())
    return text if bare or (node.op == "fn" and node.value == "sqrt") else rf"\left({text}\right)"


def _sum(node: Node) -> str:
    terms = [latex(node.args[0])]
    for term in node.args[1:]:
        text = latex(term)
        terms.append(f"- {text[1:]}" if text.startswith("-") else f"+ {text}")
    return " ".join(terms)


def _function(node: Node) -> str:
    name, inner = str(node.value), [latex(arg) for arg in node.args]
    if name == "abs":
        return rf"\left|{inner[0]}\right|"
    if name == "sqrt":
        return rf"\sqrt{{{inner[0]}}}"
    if name == "root":
        return rf"\sqrt[{inner[1]}]{{{inner[0]}}}"
    if name not in _NAMED_FUNCTIONS or (len(inner) > 1 and name != "log"):
        raise Unwritable(f"the function {name}")
    base = f"_{{{inner[1]}}}" if len(inner) > 1 else ""
    return rf"\{name}{base}\left({inner[0]}\right)"


def _joined_latex(node: Node) -> str:
    return ", ".join(map(latex, node.args))


def _interval(node: Node) -> str:
    shape = str(node.value)
    return f"{_OPENING[shape[0]]}{_joined_latex(node)}{_CLOSING[shape[1]]}"


def _tuple(node: Node) -> str:
    if node.value is None:
        return rf"\left({_joined_latex(node)}\right)"
    names = str(node.value).split(",")
    return ", ".join(f"{name} = {latex(arg)}" for name, arg in zip(names, node.args, strict=True))


def _list(node: Node) -> str:
    if node.value != "," or any(arg.op == "list" for arg in node.args):
        raise Unwritable("a list of another kind")
    return _joined_latex(node)


def _matrix(node: Node) -> str:
    rows = r" \\ ".join(" & ".join(map(latex, row.args)) for row in node.args)
    return rf"\begin{{pmatrix}} {rows} \end{{pmatrix}}"


def _quantity(node: Node) -> str:
    if node.unit is None:
        raise Unwritable("no unit")
    value = latex(node.args[0])
    if node.args[0].op == "add":
        value = rf"\left({value}\right)"
    return value + (r"^\circ" if node.unit.name == "degree" else rf" \text{{ {node.unit.name}}}")


def _based(node: Node) -> str:
    digits, _, base = str(node.value).rpartition("_")
    return f"{digits}_{{{base}}}"


_WRITERS: dict[str, Callable[[Node], str]] = {
    "num": _number,
    "sym": _symbol,
    "const": lambda node: _SIGNS[str(node.value)],
    "add": _sum,
    "mul": lambda node: r" \cdot ".join(map(_atom, node.args)),
    "div": lambda node: rf"\frac{{{latex(node.args[0])}}}{{{latex(node.args[1])}}}",
    "pow": lambda node: f"{_atom(node.args[0])}^{{{latex(node.args[1])}}}",
    "neg": lambda node: f"-{_atom(node.args[0])}",
    "fn": _function,
    "fact": lambda node: f"{_atom(node.args[0])}!",
    "binom": lambda node: rf"\binom{{{latex(node.args[0])}}}{{{latex(node.args[1])}}}",
    "tuple": _tuple,
    "list": _list,
    "set": lambda node: rf"\{{{_joined_latex(node)}\}}",
    "interval": _interval,
    "region": lambda node: r" \cup ".join(map(_interval, node.args)),
    "matrix": _matrix,
    "named": lambda node: f"{_symbol(node)} = {latex(node.args[0])}",
    "quantity": _quantity,
    "base": _based,
    "ratio": lambda node: ":".join(map(_atom, node.args)),
}
