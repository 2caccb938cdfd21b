"""Logic puzzles: variables with finite domains and constraints; a solver is the judge.

A row's answer is the puzzle itself, in JSON:

    {"variables": {"Ann": ["red", "blue"], "Bob": [1, 2, 3]},
     "constraints": ["Ann == 'red' or Bob > 1", "different(Ann, Carl)"]}

Constraints are a subset of Python's expressions: names of variables, numbers and texts, `and`,
`or`, `not`, comparisons, `+ - * // %` of numbers, and the functions `different`, `implies`,
`count(value, a, b, ...)`, `abs`, `min`, `max`, `sum`. They are read, never run. A puzzle must have
exactly one solution, which the solver finds: so the verdict depends on no author's answer.
"""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from ..parsing.syntax import UNREADABLE, syntax_tree
from ..types import RewardFunctionScore, ScoreStatus
from .reward_function import AnswerRewardFunction, BadReference, reference_object, reference_text

Value: TypeAlias = "int | str | bool"
Assignment: TypeAlias = Mapping[str, Value]

MAX_VARIABLES, MAX_DOMAIN, MAX_CONSTRAINTS, MAX_CHARS = 60, 60, 200, 400
MAX_STEPS = 400_000  # constraints that the solver checks
_MAX_NUMBER = 10**9
_LINE = re.compile(r"^[\s*>-]*([^\n:=]{1,80}?)\s*(?::|=|->|→)\s*([^\n]{1,200}?)[\s,;.]*$", re.M)
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_NUMBERS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "different": lambda *values: len(set(values)) == len(values),
    "implies": lambda one, other: not one or bool(other),
    "count": lambda value, *values: values.count(value),
    "abs": abs, "min": min, "max": max, "sum": lambda *values: sum(values),
}  # fmt: skip


class LogicRewardFunction(AnswerRewardFunction):
    """Judge a solution of a puzzle by its constraints.

    The solution is in the answer tag: a JSON object, or a line "variable: value" for each variable.
    Format: as for mathematics. Correctness: the share of the constraints that hold, 0.0 if a
    variable has no value of its domain; the status is "passed" only if all hold.

    The status is "unscored" if the puzzle cannot be read, or has no solution, or several.
    """

    name = "logic"
    version = "2"

    def _judged(self, format_score: float, content: str, expected: object) -> RewardFunctionScore:
        """Score a solution of a puzzle, which is JSON, decoded or not."""
        puzzle = sound_puzzle(reference_text(expected, "the puzzle"))
        values = read_assignment(content, puzzle)
        if isinstance(values, str):
            return RewardFunctionScore(format_score, 0.0, values)
        broken = [text for text, holds in puzzle.constraints.items() if not _holds(holds, values)]
        share = 1 - len(broken) / len(puzzle.constraints)
        error = f"does not hold: {broken[0]}" if broken else ""
        status: ScoreStatus = "failed" if broken else "passed"
        return RewardFunctionScore(format_score, share, error, status=status)


@dataclass(frozen=True)
class Puzzle:
    """Domains by variable, and constraints by their text. `names` has the variables of each."""

    domains: Mapping[str, Sequence[Value]]
    constraints: Mapping[str, Callable[[Assignment], Any]]
    names: Mapping[str, frozenset[str]]


@lru_cache(maxsize=256)
def sound_puzzle(text: str) -> Puzzle:
    """Read a puzzle that has exactly one solution.

    Raises:
        BadReference: it cannot be read, or has no solution, or several, or too many to tell.
    """
    puzzle = read_puzzle(text)
    solutions = solve(puzzle, 2)
    if not solutions:
        raise BadReference("the puzzle has no solution")
    if len(solutions) > 1:
        one, other = ({name: each[name] for name in each} for each in solutions)
        apart = next(name for name in one if one[name] != other[name])
        raise BadReference(
            f"the puzzle has several solutions: {apart} may be {one[apart]!r} or {other[apart]!r}"
        )
    return puzzle


def read_puzzle(text: str) -> Puzzle:
    """Read a puzzle from JSON. Raises BadReference if it is none."""
    value = reference_object(text, "the puzzle")
    if set(value) != {"variables", "constraints"}:
        raise BadReference("a puzzle is an object of variables and constraints")
    domains, texts = value["variables"], value["constraints"]
    if not isinstance(domains, dict) or not 0 < len(domains) <= MAX_VARIABLES:
        raise BadReference(f"variables must be an object of 1 to {MAX_VARIABLES} names")
    for name, domain in domains.items():
        if not name.isidentifier() or name in _FUNCTIONS:
            raise BadReference(f"{name!r} cannot name a variable: use letters, digits and _")
        if not isinstance(domain, list) or not 0 < len(domain) <= MAX_DOMAIN:
            raise BadReference(f"{name} needs a list of 1 to {MAX_DOMAIN} values")
        if not all(_is_value(each) for each in domain) or len(set(domain)) < len(domain):
            raise BadReference(f"the values of {name} must be different texts or whole numbers")
    if not isinstance(texts, list) or not 0 < len(texts) <= MAX_CONSTRAINTS:
        raise BadReference(f"constraints must be a list of 1 to {MAX_CONSTRAINTS} texts")
    constraints, names = {}, {}
    for each in texts:
        if not isinstance(each, str) or len(each) > MAX_CHARS:
            raise BadReference(f"a constraint is a text of at most {MAX_CHARS} characters")
        try:
            tree = syntax_tree(each.strip(), "eval").body
        except UNREADABLE:
            raise BadReference(f"the constraint {each!r} is no expression") from None
        constraints[each] = _compiled(tree, domains, each)
        names[each] = frozenset(
            node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in domains
        )
    return Puzzle(domains, constraints, names)


def solve(puzzle: Puzzle, most: int) -> list[dict[str, Value]]:
    """Return up to `most` solutions, by backtracking; the most constrained variables come first.

    Raises:
        BadReference: more than `MAX_STEPS` constraints were checked.
    """
    weight = {name: sum(name in each for each in puzzle.names.values()) for name in puzzle.domains}
    order: list[str] = []
    while len(order) < len(weight):  # next to those that are assigned, with few values
        linked = {name for each in puzzle.names.values() if each & set(order) for name in each}
        rest = [name for name in weight if name not in order]
        order.append(min(rest, key=lambda n: (n not in linked, len(puzzle.domains[n]), -weight[n])))
    ready: dict[str, list[Callable[[Assignment], Any]]] = {name: [] for name in order}
    always = []
    for text, names in puzzle.names.items():
        holds = puzzle.constraints[text]
        if names:
            ready[max(names, key=order.index)].append(holds)
        else:
            always.append(holds)
    if not all(_holds(holds, {}) for holds in always):
        return []
    solutions: list[dict[str, Value]] = []
    values: dict[str, Value] = {}
    untried = [iter(puzzle.domains[order[0]])]
    steps = 0
    while untried and len(solutions) < most:
        name = order[len(untried) - 1]
        values.pop(name, None)
        value = next(untried[-1], None)
        if value is None:
            untried.pop()
            continue
        steps += 1 + len(ready[name])
        if steps > MAX_STEPS:
            raise BadReference(f"the puzzle is too large: {MAX_STEPS} checks do not solve it")
        values[name] = value
        if not all(_holds(holds, values) for holds in ready[name]):
            continue
        if len(untried) == len(order):
            solutions.append(dict(values))
        else:
            untried.append(iter(puzzle.domains[order[len(untried)]]))
    return solutions


def read_assignment(content: str, puzzle: Puzzle) -> dict[str, Value] | str:
    """Read the value of each variable; a text says what is wrong instead."""
    try:
        stated = json.loads(content)
    except (ValueError, RecursionError):
        stated = None
    pairs = stated.items() if isinstance(stated, dict) else _LINE.findall(content)
    by_name = {_plain(name): name for name in puzzle.domains}
    values: dict[str, Value] = {}
    for name, value in pairs:
        variable = by_name.get(_plain(str(name)))
        if variable is None:
            continue
        allowed = {_plain(str(each)): each for each in puzzle.domains[variable]}
        if not isinstance(value, str | int) or _plain(str(value)) not in allowed:
            return f"{variable} cannot be {str(value)[:80]!r}"
        read = allowed[_plain(str(value))]
        if values.setdefault(variable, read) != read:
            return f"{variable} has two values"
    missing = [name for name in puzzle.domains if name not in values]
    return f"no value for {missing[0]}" if missing else values


def _plain(text: str) -> str:
    return re.sub(r"[\s_*`'\"]+", " ", text).strip().casefold()


def _is_value(value: object) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= 80
    return type(value) is int and abs(value) <= _MAX_NUMBER


def _holds(constraint: Callable[[Assignment], Any], values: Assignment) -> bool:
    """Whether a constraint holds; one that compares or divides what it cannot does not."""
    try:
        return bool(constraint(values))
    except (TypeError, ZeroDivisionError):
        return False


def _compiled(
    node: ast.expr, names: Mapping[str, object], text: str
) -> Callable[[Assignment], Any]:
    """A constraint as a function of an assignment. Raises BadReference for what is not allowed."""
    match node:
        case ast.Constant(value=bool() | int() | str() as constant):
            if isinstance(constant, bool) or _is_value(constant):
                return lambda _: constant
        case ast.Name(id=name) if name in names:
            return lambda values: values[name]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _compiled(operand, names, text)
            return lambda values: not inner(values)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _compiled(operand, names, text)
            return lambda values: -inner(values)
        case ast.BoolOp(op=kind, values=operands):
            parts = [_compiled(each, names, text) for each in operands]
            if isinstance(kind, ast.And):
                return lambda values: all(part(values) for part in parts)
            return lambda values: any(part(values) for part in parts)
        case ast.BinOp(left=left, op=kind, right=right) if type(kind) in _NUMBERS:
            one, other = (_compiled(each, names, text) for each in (left, right))
            return lambda values: _number(_NUMBERS[type(kind)], one(values), other(values))
        case ast.Compare(left=left, ops=kinds, comparators=rest):
            if all(type(kind) in _COMPARE for kind in kinds):
                sides = [_compiled(each, names, text) for each in (left, *rest)]
                tests = [_COMPARE[type(kind)] for kind in kinds]
                return lambda values: all(
                    test(one(values), other(values))
                    for test, one, other in zip(tests, sides, sides[1:], strict=False)
                )
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            arguments = [_compiled(each, names, text) for each in args]
            return lambda values: _FUNCTIONS[name](*(each(values) for each in arguments))
    raise BadReference(f"the constraint {text!r} has {ast.unparse(node)[:60]!r}: it is not allowed")


def _number(combine: Callable[[int, int], int], one: object, other: object) -> int:
    """The result of an operation on numbers of bounded size, never on texts."""
    if not isinstance(one, int) or not isinstance(other, int):
        raise TypeError("an operand is no number")
    result = combine(one, other)
    if abs(result) > _MAX_NUMBER**2:
        raise TypeError("a number is too large")
    return result
