"""Classify the expressions of a Python test: closed, own, and relations between them.

A closed expression has the same value wherever it is computed: literals, operators, pure built-in
functions, pure parts of the standard library. The host can compute it, out of the program's reach.
An own expression surely creates an object of one of the program's own classes.
"""

from __future__ import annotations

import ast
import builtins
import copy
import re
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...parsing.word_tables import WordTables

_CONSTRUCTION = re.compile(r"\b[A-Z]\w*\(")
_PLAIN = (list, str, dict, set, tuple, int, float, complex, bytes, range, Counter, OrderedDict)
_PLAIN_ATTRIBUTES = frozenset(name for kind in (*_PLAIN, deque) for name in dir(kind))


def own_classes(texts: Iterable[str]) -> frozenset[str]:
    """Return the capitalized names that the tests of a program use as classes.

    That they are called is not enough, since functions may have capital letters, too.
    """
    classes: set[str] = set()
    for text in texts:
        if _CONSTRUCTION.search(text):
            try:
                classes.update(_shown(ast.parse(text)))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
    return frozenset(classes) - vars(builtins).keys() - {""}


def own_names(tree: ast.Module, classes: frozenset[str]) -> frozenset[str]:
    """Return the names that are bound once, to an own expression."""
    counts = Counter(bound(tree))
    names: frozenset[str] = frozenset()
    for name, value in assigned(tree):
        if counts[name] == 1 and is_own(value, names, classes):
            names |= {name}
    return names


def is_own(node: ast.expr, names: frozenset[str], classes: frozenset[str]) -> bool:
    """Whether an expression is own: a constructor call, a name of one, or operators on these.

    What a method gives is not: `Solution().solve(1)` may be a plain value.
    """
    if isinstance(node, ast.BinOp):
        return is_own(node.left, names, classes) or is_own(node.right, names, classes)
    if isinstance(node, ast.UnaryOp):
        return is_own(node.operand, names, classes)
    return (isinstance(node, ast.Name) and node.id in names) or _constructed(node) in classes


def _constructed(node: ast.AST) -> str:
    """Return the capitalized name that the expression calls, or ""."""
    match node:
        case ast.Call(ast.Name(name)) if name[:1].isupper():
            return name
    return ""


def assigned(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the assigned names with their values."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(
                ast.Name(name), _, ast.expr() as value
            ):
                yield name, value


def _shown(tree: ast.Module) -> Iterator[str]:
    classes = {name: _constructed(value) for name, value in assigned(tree)}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ast.Name(name), attribute) if attribute not in _PLAIN_ATTRIBUTES:
                yield classes.get(name, "")
            case ast.Attribute(of, attribute) if attribute not in _PLAIN_ATTRIBUTES:
                yield _constructed(of)
            case ast.BinOp(left, _, right) | ast.Compare(left, _, [right, *_]):
                if _constructed(left) == _constructed(right):
                    yield _constructed(left)
            case ast.Call(ast.Name("isinstance"), [_, *classes_of]):
                yield from (part.id for part in classes_of if isinstance(part, ast.Name))


_TABLES = WordTables(__file__)
_PURE_MODULES, _PURE_BUILTINS = _TABLES.words("pure modules"), _TABLES.words("pure builtins")
_IMPURE_ATTRIBUTES = frozenset({"now", "today", "utcnow"})
_IMMUTABLE_CALLS = _TABLES.words("immutable calls")
_EXPRESSIONS = (
    ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.BinOp, ast.UnaryOp, ast.BoolOp,
    ast.Compare, ast.IfExp, ast.Call, ast.Attribute, ast.Subscript, ast.Slice, ast.Starred,
    ast.JoinedStr, ast.FormattedValue, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.GeneratorExp, ast.Name,
)  # fmt: skip
_PARTS = (
    ast.keyword, ast.arguments, ast.arg, ast.comprehension, ast.expr_context, ast.operator,
    ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip


def is_literal(node: ast.expr) -> bool:
    """Whether the expression spells out its value."""
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def immutable(node: ast.expr) -> bool:
    """Whether the value surely cannot change once it is there."""
    match node:
        case ast.Constant():
            return True
        case ast.Tuple(items):
            return all(map(immutable, items))
        case ast.UnaryOp(_, operand):
            return immutable(operand)
        case ast.BinOp(left, _, right):
            return immutable(left) and immutable(right)
        case ast.Call(ast.Name(name)):
            return name in _IMMUTABLE_CALLS
    return False


def literal_of(number: int) -> ast.expr:
    """Return the literal of an integer."""
    return ast.parse(repr(number), mode="eval").body


def walk(node: ast.AST) -> list[ast.AST]:
    """Yield a node and its descendants as `ast.walk` does, in a third of the time."""
    nodes = [node]
    for each in nodes:
        for name in each._fields:
            value = getattr(each, name, None)
            if isinstance(value, ast.AST):
                nodes.append(value)
            elif isinstance(value, list):
                nodes += [part for part in value if isinstance(part, ast.AST)]
    return nodes


def loads(node: ast.AST) -> Iterator[str]:
    """Yield the names that the node reads."""
    for part in walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
            yield part.id


def bound(node: ast.AST) -> Iterator[str]:
    """The names that are bound or unbound in any way, each as often as it is."""
    for part in walk(node):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            yield part.id
        elif isinstance(part, ast.arg):
            yield part.arg
        elif isinstance(part, ast.alias):
            yield part.asname or part.name.partition(".")[0]
        elif isinstance(part, (ast.Global, ast.Nonlocal)):
            yield from part.names
        elif isinstance(part, ast.MatchMapping):
            yield part.rest or ""
        elif isinstance(part, _NAMED):
            yield part.name or ""


_NAMED = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs,
    ast.MatchStar,
)  # fmt: skip


class _Open(Exception):
    """The expression depends on what is not known."""


class Scope:
    """What the names of one test mean, with `setup` before it."""

    def __init__(self, tree: ast.Module, setup: ast.Module, entry_point: str) -> None:
        self._imports: dict[str, tuple[str, str]] = {}  # name: the statement, what it stands for
        imported: Counter[str] = Counter()
        self.starred = False
        for node in (*ast.walk(setup), *ast.walk(tree)):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                imported.update(self._add_import(node))
        self.bound = Counter(bound(setup)) + Counter(bound(tree))
        shadowed = {name for name, count in self.bound.items() if count != imported[name]}
        self._shadowed = shadowed | {entry_point, "candidate"}

    def _add_import(self, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        source = node.module if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            if alias.name == "*":
                self.starred = True
                continue
            name = alias.asname or alias.name
            if (source or alias.name) not in _PURE_MODULES or alias.name.startswith("_"):
                continue
            statement = f"from {source} import" if source else "import"
            meaning = f"{source}.{alias.name}" if source else alias.name
            entry = self._imports.setdefault(name, (f"{statement} {alias.name} as {name}", meaning))
            if entry[1] == meaning:  # else the name stands for two things
                yield name

    def imported(self, name: str) -> bool:
        """Whether the test imports the name from a pure module."""
        return name in self._imports and name not in self._shadowed

    def means(self, node: ast.expr, *meanings: str) -> bool:
        """Whether the expression is a built-in or an imported function with one of these names."""
        if isinstance(node, ast.Name) and node.id not in self._shadowed:
            return self._imports.get(node.id, ("", node.id))[1] in meanings
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = node.value.id
            return self.imported(name) and f"{self._imports[name][1]}.{node.attr}" in meanings
        return False

    def close(self, node: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr | None:
        """Substitute the `values` of names; return None if the expression is not closed then."""
        if isinstance(node, ast.Constant):
            return node
        inner = set(bound(node))
        if inner & values.keys():
            return None
        try:
            closed: ast.expr = _Substitute(self, values, inner).visit(copy.deepcopy(node))
        except _Open:
            return None
        return closed

    def is_pure(self, name: str) -> bool:
        """Whether the name is the test's own import or Python's own function."""
        if name in self._shadowed or self.starred:
            return False
        return name in self._imports or name in _PURE_BUILTINS

    def source(self, node: ast.expr) -> str:
        """Return the program that reports the value of a closed expression."""
        inner = set(bound(node))
        names = sorted({name for name in loads(node) if name in self._imports} - inner)
        imports = "".join(f"{self._imports[name][0]}\n" for name in names)
        return f"{imports}__judge__(0, {ast.unparse(node)})"


class _Substitute(ast.NodeTransformer):
    """Puts expressions in the place of names, and refuses what is not closed."""

    def __init__(self, scope: Scope, values: Mapping[str, ast.expr], inner: set[str]) -> None:
        self._scope, self._values, self._inner = scope, values, inner

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, (*_EXPRESSIONS, *_PARTS)):
            raise _Open
        return super().generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._values:
            return copy.deepcopy(self._values[node.id])
        if node.id in self._inner or self._scope.is_pure(node.id):
            return node
        raise _Open

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr.startswith("_") or node.attr in _IMPURE_ATTRIBUTES:
            raise _Open
        return self.generic_visit(node)


_RELATIONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is", ast.IsNot: "is not", ast.In: "in",
    ast.NotIn: "not in", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
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
    """Return the form of an assertion; `is_own` tells whether an expression is own."""
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
    match operands, relation:
        case [call, tolerance], "<" | "<=":
            pass
        case [tolerance, call], ">" | ">=":
            relation = relation.replace(">", "<")
        case _:
            return None
    match call:
        case ast.Call(function, [ast.BinOp(left, ast.Sub(), right)], []):
            if scope.means(function, "abs", "math.fabs"):
                return Form((f"near {relation}",), [left, right, tolerance])
    return None


def _isclose(test: ast.expr, scope: Scope) -> Form | None:
    """`math.isclose(A, B, rel_tol=..., abs_tol=...)`."""
    match test:
        case ast.Call(function, [left, right], words) if scope.means(function, "math.isclose"):
            options = {word.arg: word.value for word in words}
            relative = options.pop("rel_tol", ast.Constant(1e-09))
            absolute = options.pop("abs_tol", ast.Constant(0.0))
            return None if options else Form(("isclose",), [left, right, relative, absolute])
    return None


def _approx(operands: list[ast.expr], relation: str) -> Form | None:
    """`A == pytest.approx(B, rel=..., abs=...)`."""
    actual, call = operands
    if isinstance(actual, ast.Call) and _is_approx(actual):
        actual, call = call, actual
    if relation not in _APPROX or not (isinstance(call, ast.Call) and _is_approx(call)):
        return None
    options = {word.arg: word.value for word in call.keywords}
    tolerances = [*call.args[1:]]
    for name in ("rel", "abs")[len(tolerances) :]:
        tolerances.append(options.pop(name, ast.Constant(None)))
    if options or len(tolerances) != 2 or not call.args:
        return None
    return Form((_APPROX[relation],), [actual, call.args[0], *tolerances])


_APPROX = {"==": "approx", "!=": "not approx"}


def _is_approx(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "__approx__"


def _membership(test: ast.BoolOp) -> ast.Compare | None:
    """`x == 1 or x == 2` as `x in (1, 2)`."""
    pairs = []
    for part in test.values:
        match part:
            case ast.Compare(left, [ast.Eq()], [right]):
                pairs.append((left, right))
            case _:
                return None
    if isinstance(test.op, ast.And) or len({ast.dump(left) for left, _ in pairs}) > 1:
        return None
    box = ast.Tuple([right for _, right in pairs], ast.Load())
    return ast.Compare(pairs[0][0], [ast.In()], [box])
