"""Sums of multiples: vectors, which are not multiplied here, and classes such as `5k + 3`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from .bounds import Unparsed
from .tree import ONE, Node, constant, is_expression, minus, number, substituted, symbol, symbols

_BASIS = ("i", "j", "k")


def is_linear(node: Node, names: Collection[str], free: bool = True) -> bool:
    """Whether a tree is a sum of multiples of the names, and of terms without them if `free`."""
    if symbols(node).isdisjoint(names):
        return free
    if node.op in ("add", "neg", "pm"):
        return all(is_linear(arg, names, free) for arg in node.args)
    if node.op in ("mul", "div"):
        held = [arg for arg in node.args if not symbols(arg).isdisjoint(names)]
        divides = node.op == "div" and held[-1] is node.args[1]
        return len(held) == 1 and not divides and is_linear(held[0], names, free)
    return node.op == "sym"


def refuse_products(node: Node, vectors: Collection[str]) -> None:
    """Raises Unparsed where two vectors meet in a product, a quotient or a power.

    As numbers they would commute, and `|a||b|` would be `|a b|`.
    """
    held = [arg for arg in node.args if not symbols(arg).isdisjoint(vectors)]
    product = node.op in ("mul", "div") and len(held) > 1
    power = node.op == "pow" and node.args[0] in held and node.args[0].op != "sym"
    if product or power:
        raise Unparsed("a product of vectors")
    for arg in held:
        refuse_products(arg, vectors)


def in_columns(node: Node, vectors: Collection[str]) -> Node:
    """`3i + 4j` as the column (3, 4), where `i`, `j` and `k` are the unit vectors."""
    if not is_expression(node):
        return node._replace(args=tuple(in_columns(arg, vectors) for arg in node.args))
    given = node if "i" in vectors else _with_vector_i(node)
    held = symbols(given).intersection(_BASIS)
    if len(held) < 1 + (not vectors) or not is_linear(given, held, free=False):
        return node
    size = 3 if "k" in held else 2
    return Node("matrix", tuple(Node("row", (_share(given, name),)) for name in _BASIS[:size]))


def _share(node: Node, name: str) -> Node:
    return substituted(node, {other: ONE if other == name else number(0) for other in _BASIS})


def _with_vector_i(node: Node) -> Node:
    if node == constant("i"):
        return symbol("i")
    return node._replace(args=tuple(map(_with_vector_i, node.args)))


def residues(nodes: Sequence[Node], name: str) -> list[Node]:
    """`5k + 3` for all whole `k` as the congruence `3 (mod 5)`; `x = 5k + 3` keeps its name, which
    holds for those behind it as well.

    Nothing where one of them is no such class, or where they are on several variables.
    """
    called = str(nodes[0].value) if nodes[0].op == "named" else ""
    names = {str(node.value) for node in nodes if node.op == "named"} - {called}
    members = [node.args[0] if node.op == "named" else node for node in nodes]
    values = [arg for node in members for arg in (node.args if node.op == "list" else (node,))]
    if names or not all(
        is_expression(value) and symbols(value) == {name} and is_linear(value, [name])
        for value in values
    ):
        return []
    found: list[Node] = []
    for value in values:
        start = substituted(value, {name: number(0)})
        step = minus(substituted(value, {name: ONE}), start)
        found.append(Node("congruence", (start, Node("fn", (step,), "abs")), called))
    return found
