"""The relations between expressions that a Python assertion states."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from .closed import Scope

_RELATIONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_NEGATED = {"==": "!=", "is": "is not", "in": "not in", "approx": "not approx"}
_NEGATED |= {negation: relation for relation, negation in _NEGATED.items()}
TRUTHS = (("true",), ("false",))
BOTH = frozenset({"==", "!=", "<", "<=", ">", ">=", "in", "not in"})  # objects can be asked
SAME_ITEMS = "__unittest__.TestCase().assertCountEqual"
_ORDERS = frozenset({"==", "!=", "<", "<=", ">", ">="})


@dataclass(frozen=True)
class Form:
    """An assertion as relations between expressions."""

    relations: tuple[str, ...]
    operands: list[ast.expr]
    own: bool = False  # an object of the program's own class is to be asked itself


def form_of(test: ast.expr, scope: Scope, is_own: Callable[[ast.expr], bool]) -> Form:
    """What is asserted; `is_own` says of an expression whether it makes such an object."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = form_of(test.operand, scope, is_own)
        if inner.relations == ("true",):
            return Form(("false",), inner.operands)
        if len(inner.relations) == 1 and inner.relations[0] in _NEGATED and not inner.own:
            return Form((_NEGATED[inner.relations[0]],), inner.operands)
        return Form(("false",), [test.operand])
    close = _isclose(test, scope)
    if close is not None:
        return close
    if isinstance(test, ast.BoolOp):
        test = _membership(test) or test
    if not isinstance(test, ast.Compare):
        return Form(("true",), [test])
    if isinstance(test.left, ast.Call) and ast.unparse(test.left.func) == SAME_ITEMS:
        return Form(("same items",), test.left.args)
    operands = [test.left, *test.comparators]
    relations = tuple(_RELATIONS[type(op)] for op in test.ops)
    if any(map(is_own, operands)):
        alone = len(operands) == 2 and relations[0] in BOTH
        return Form(relations, operands, own=True) if alone else Form(("true",), [test])
    if len(operands) == 2:
        near = _near(operands, relations[0], scope) or _approx(operands, relations[0])
        if near is not None:
            return near
    elif not _ORDERS.issuperset(relations):
        return Form(("true",), [test])
    return Form(relations, operands)


def _near(operands: list[ast.expr], relation: str, scope: Scope) -> Form | None:
    """`abs(A - B) < tolerance`."""
    call, tolerance = operands
    if relation in (">", ">="):
        call, tolerance, relation = tolerance, call, relation.replace(">", "<")
    if not (isinstance(call, ast.Call) and len(call.args) == 1 and not call.keywords):
        return None
    inside = call.args[0]
    if relation not in ("<", "<=") or not (
        isinstance(inside, ast.BinOp) and isinstance(inside.op, ast.Sub)
    ):
        return None
    if not scope.means(call.func, "abs", "math.fabs"):
        return None
    return Form((f"near {relation}",), [inside.left, inside.right, tolerance])


def _isclose(test: ast.expr, scope: Scope) -> Form | None:
    """`math.isclose(A, B, rel_tol=..., abs_tol=...)`."""
    if not (isinstance(test, ast.Call) and scope.means(test.func, "math.isclose")):
        return None
    options = {word.arg: word.value for word in test.keywords}
    if len(test.args) != 2 or not options.keys() <= {"rel_tol", "abs_tol"}:
        return None
    tolerances = [
        options.get("rel_tol", ast.Constant(1e-09)),
        options.get("abs_tol", ast.Constant(0.0)),
    ]
    return Form(("isclose",), [*test.args, *tolerances])


def _approx(operands: list[ast.expr], relation: str) -> Form | None:
    """`A == pytest.approx(B, rel=..., abs=...)`."""
    actual, call = operands
    if isinstance(actual, ast.Call) and _is_approx(actual):
        actual, call = call, actual
    if relation not in _APPROX or not (isinstance(call, ast.Call) and _is_approx(call)):
        return None
    options = {word.arg: word.value for word in call.keywords}
    given = [*call.args[1:]]
    for name in ("rel", "abs")[len(given) :]:
        given.append(options.pop(name, ast.Constant(None)))
    if options or len(given) != 2 or not call.args:
        return None
    return Form((_APPROX[relation],), [actual, call.args[0], *given])


_APPROX = {"==": "approx", "!=": "not approx"}


def _is_approx(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "__approx__"


def _membership(test: ast.BoolOp) -> ast.Compare | None:
    """`x == 1 or x == 2` as `x in (1, 2)`."""
    options: list[ast.expr] = []
    asked = ""
    for part in test.values:
        if not (isinstance(part, ast.Compare) and [type(op) for op in part.ops] == [ast.Eq]):
            return None
        if asked and ast.dump(part.left) != asked:
            return None
        asked = ast.dump(part.left)
        options.append(part.comparators[0])
    first = test.values[0]
    if not (isinstance(test.op, ast.Or) and isinstance(first, ast.Compare)):
        return None
    box = ast.Tuple(options, ast.Load())
    return ast.Compare(first.left, [ast.In()], [box])
