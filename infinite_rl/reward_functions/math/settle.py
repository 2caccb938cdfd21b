"""Between reading and judging: what a form holds is worked out, checked and put in order."""

from __future__ import annotations

from .bounds import Budget, Unparsed
from .claims import claim
from .decide import difference
from .regions import SETS, canonical
from .tree import Node, holds, is_expression


def settled(form: Node, budget: Budget, *, same: bool = False) -> Node:
    """The form without integrals and their like, without chains, and with its sets in order.

    Where both answers are the `same` text, integrals need not be worked out, unless a chain of
    equal signs may be wrong. Raises Unparsed where something in it has no closed form, or where
    the parts of a chain are not equal; and what `difference` raises.
    """
    if holds(form, "calculus") and not (same and not holds(form, "chain")):
        from .algebra import without_calculus  # it starts processes: hardly any answer needs it

        form = without_calculus(form, budget.remaining())
    return _checked(form, budget)


def _checked(node: Node, budget: Budget) -> Node:
    """With chains of equal signs taken as their last part: `2 + 2 = 5` states nothing."""
    if is_expression(node):
        return node  # no expression holds a chain
    if node.op == "claim":
        return claim(node, _checked(node.args[0], budget), budget)
    if node.op != "chain":
        inner = tuple(_checked(arg, budget) for arg in node.args)
        whole = node if inner == node.args else Node(node.op, inner, node.value, node.unit)
        return canonical(whole, budget) if node.op in SETS else whole
    first, *rest = (_checked(arg, budget) for arg in node.args)
    name = str(first.value) if first.op in ("sym", "text") else ""
    parts = rest if name else [first, *rest]
    for part in parts[:-1]:
        if difference(part, parts[-1], budget):
            raise Unparsed("the parts of the equation are not equal")
    return Node("named", (parts[-1],), name) if name else parts[-1]
