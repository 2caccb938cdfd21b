"""Mutants of a program: one operator, operand, constant, call, bound, branch or statement changes.

Python is changed in its syntax tree, JavaScript in its tokens. The programs are a model's: nothing
runs or is compiled here, and a program that is too long or too deep to read has no mutants.
"""

import ast
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from ..parsing.syntax import UNREADABLE, syntax_tree
from ..parsing.word_tables import WordTables
from ..sandbox.javascript.tokens import Token, tokens

_MAX_CHARS = 20_000  # of a program: its tree is about a hundred times as large
_MAX_SPAN = 500  # tokens of one change of JavaScript: the work stays linear


@dataclass(frozen=True)
class Mutant:
    """A changed program and the kind of the change."""

    change: str
    code: str


class _Change(NamedTuple):
    """The kind of a change, and a function that writes the changed program, if it is needed."""

    name: str
    write: Callable[[], str]


def mutants(language: str, code: str) -> Iterator[Mutant]:
    """Yield every single change of a program; none if the program cannot be read.

    A few JavaScript mutants may not compile.
    """
    for change in _changes(language, code):
        try:
            yield Mutant(change.name, change.write())
        except UNREADABLE:
            continue


def some_mutants(language: str, code: str, count: int, seed: str) -> Iterator[Mutant]:
    """Yield up to `count` different mutants, in turn one of each kind of change.

    They follow from the seed alone, and each is written only when it is requested.
    """
    changes = _changes(language, code)
    random.Random(seed).shuffle(changes)
    counts: Counter[str] = Counter()
    turns: list[tuple[int, int]] = []
    for at, change in enumerate(changes):
        turns.append((counts[change.name], at))
        counts[change.name] += 1
    chosen = {code}
    for _, at in sorted(turns):
        if len(chosen) > count:
            break
        try:
            changed = changes[at].write()
        except UNREADABLE:
            continue
        if changed not in chosen:
            chosen.add(changed)
            yield Mutant(changes[at].name, changed)


def rewritten(language: str, code: str) -> str:
    """Return the same program, reformatted; "" if it cannot be read."""
    if language == "javascript":
        return f"// the same program\n{code}\n// its end\n"
    try:
        return ast.unparse(_parsed(code)) if language == "python" else ""
    except UNREADABLE:
        return ""


def _changes(language: str, code: str) -> list[_Change]:
    read = {"python": _python_changes, "javascript": _javascript_changes}.get(language)
    if read is None or len(code) > _MAX_CHARS:
        return []
    try:
        return list(read(code))
    except UNREADABLE:
        return []


# --- Python, by its syntax tree ------------------------------------------------------------------

_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.FloorDiv,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
# The boundary moves, or the order turns.
_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt), ast.Eq: (ast.NotEq, ast.GtE), ast.NotEq: (ast.Eq, ast.Gt),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
_TABLES = WordTables(__file__)
_REMOVED_CALLS = _TABLES.words("python functions")
_REMOVED_METHODS = _TABLES.words("python methods")
_OTHER_CALLS = _TABLES.mapping("python names")
_ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift)
_MAX_DROPPED = 4  # of the elements of a display, the operands of `and`: a long table is data
_Changed = tuple[str, ast.AST]


class _Swap(ast.NodeTransformer):
    """Replace one node by another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self._new if node is self._old else self.generic_visit(node)


def _parsed(code: str) -> ast.Module:
    if len(code) > _MAX_CHARS:
        raise ValueError("the program is too long")
    return syntax_tree(code)


def _python_changes(code: str) -> Iterator[_Change]:
    tree = _parsed(code)

    def write(node: ast.AST, new: ast.AST) -> str:
        changed = ast.fix_missing_locations(_Swap(node, new).visit(tree))
        try:
            return ast.unparse(changed)
        finally:
            _Swap(new, node).visit(tree)

    for node in _changeable(tree):
        for name, new in [*_changed_expression(node), *_changed_statement(node)]:
            yield _Change(name, partial(write, node, new))


def _changed_expression(node: ast.AST) -> Iterator[_Changed]:
    if isinstance(node, ast.BinOp):
        yield "operator", ast.BinOp(node.left, _BINARY.get(type(node.op), ast.Add)(), node.right)
        yield "dropped operand", node.left
        yield "dropped operand", node.right
        if isinstance(node.op, _ORDERED):
            yield "swapped operands", ast.BinOp(node.right, node.op, node.left)
    elif isinstance(node, ast.Compare):
        for kind in _COMPARE[type(node.ops[0])]:
            yield "operator", ast.Compare(node.left, [kind(), *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "operator", ast.BoolOp(other, node.values)
        for values in _without_one(node.values):
            yield "dropped operand", ast.BoolOp(node.op, values) if values[1:] else values[0]
    elif isinstance(node, ast.UnaryOp):
        yield "operator", node.operand
    elif isinstance(node, ast.IfExp):
        yield "swapped branches", ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.List | ast.Tuple | ast.Set) and not _is_target(node):
        for elements in _without_one(node.elts):
            yield "dropped element", type(node)(elements, *_context(node))
    elif isinstance(node, ast.comprehension):
        for left in _without_one(node.ifs):
            yield "dropped filter", ast.comprehension(node.target, node.iter, left, node.is_async)
    elif isinstance(node, ast.Call):
        yield from _changed_call(node)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield from _changed_subscript(node)
    elif isinstance(node, ast.Constant):
        yield from _changed_constant(node.value)


def _without_one(nodes: Sequence[Any]) -> Iterator[list[Any]]:
    return ([*nodes[:at], *nodes[at + 1 :]] for at in range(min(len(nodes), _MAX_DROPPED)))


def _is_target(node: ast.List | ast.Tuple | ast.Set) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)


def _context(node: ast.AST) -> list[ast.expr_context]:
    return [node.ctx] if isinstance(node, ast.List | ast.Tuple) else []


def _plus(node: ast.expr, number: int) -> ast.expr:
    operator: ast.operator = ast.Add() if number > 0 else ast.Sub()
    return ast.BinOp(node, operator, ast.Constant(abs(number)))


def _changed_call(node: ast.Call) -> Iterator[_Changed]:
    """A call removed, exchanged, or with other arguments."""
    args = node.args
    if isinstance(node.func, ast.Name):
        name = node.func.id
        if name in _REMOVED_CALLS and len(args) == 1:
            yield "dropped call", args[0]
        if name in _OTHER_CALLS:
            other = ast.Name(_OTHER_CALLS[name], ast.Load())
            yield "operator", ast.Call(other, args, node.keywords)
        if name == "range" and 0 < len(args) <= 2:
            for number in (1, -1):
                yield "off by one", ast.Call(node.func, [*args[:-1], _plus(args[-1], number)], [])
            first, rest = (args[0], args[1:]) if len(args) == 2 else (ast.Constant(0), args)
            yield "off by one", ast.Call(node.func, [_plus(first, 1), *rest], [])
    elif isinstance(node.func, ast.Attribute) and node.func.attr in _REMOVED_METHODS:
        yield "dropped call", node.func.value
    elif isinstance(node.func, ast.Attribute) and node.func.attr in _OTHER_CALLS:
        other_method = ast.Attribute(node.func.value, _OTHER_CALLS[node.func.attr], ast.Load())
        yield "operator", ast.Call(other_method, args, node.keywords)
    if len(args) > 1 and not (isinstance(node.func, ast.Name) and node.func.id in ("min", "max")):
        yield "swapped operands", ast.Call(node.func, [args[1], args[0], *args[2:]], node.keywords)
    for keywords in _without_one(node.keywords):
        yield "dropped operand", ast.Call(node.func, args, keywords)


def _changed_subscript(node: ast.Subscript) -> Iterator[_Changed]:
    """Another index, or a slice with other bounds. Constant ones change as constants."""
    part = node.slice
    if not isinstance(part, ast.Slice):
        if not isinstance(part, ast.Constant | ast.Tuple | ast.UnaryOp):
            for number in (1, -1):
                yield "off by one", ast.Subscript(node.value, _plus(part, number), node.ctx)
        return
    bounds: dict[str, Any] = {"lower": part.lower, "upper": part.upper, "step": part.step}
    for name, bound in bounds.items():
        if bound is None:
            continue
        for changed in [None] if isinstance(bound, ast.Constant) else [None, _plus(bound, 1)]:
            other = ast.Slice(**{**bounds, name: changed})
            yield "off by one", ast.Subscript(node.value, other, node.ctx)


def _changed_constant(value: object) -> Iterator[_Changed]:
    if isinstance(value, bool):
        yield "constant", ast.Constant(not value)
    elif isinstance(value, int | float):
        yield "off by one", ast.Constant(value + 1)
        yield "off by one", ast.Constant(value - 1)
    elif isinstance(value, str):
        yield "constant", ast.Constant(value[:-1] if value else "x")


def _changed_statement(node: ast.AST) -> Iterator[_Changed]:
    if isinstance(node, ast.If | ast.While):
        negated = ast.UnaryOp(ast.Not(), node.test)
        yield "negated condition", type(node)(negated, node.body, node.orelse)
    if isinstance(node, ast.If) and node.orelse:
        yield "swapped branches", ast.If(node.test, node.orelse, node.body)
        yield "dropped branch", ast.If(node.test, node.body, [])
    elif isinstance(node, ast.If):
        yield "dropped branch", ast.Pass()
    if isinstance(node, ast.For | ast.While):
        body = [*node.body, ast.Break()]  # the loop ends after its first round
        names = {name: getattr(node, name) for name in node._fields}
        yield "loop", type(node)(**{**names, "body": body})
    if isinstance(node, ast.Break | ast.Continue):
        yield "loop", ast.Continue() if isinstance(node, ast.Break) else ast.Break()
        yield "loop", ast.Pass()
    if isinstance(node, ast.Return) and node.value:
        yield "dropped return", ast.Expr(node.value)
    if isinstance(node, ast.AugAssign):
        kind = _BINARY.get(type(node.op), ast.Add)()
        yield "operator", ast.AugAssign(node.target, kind, node.value)
    if isinstance(node, ast.Expr | ast.Assign | ast.AugAssign):
        yield "dropped statement", ast.Pass()


def _changeable(tree: ast.AST) -> list[ast.AST]:
    """All nodes except docstrings, annotations and the text of f-strings."""
    left_out: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left_out |= {node, node.value}
        elif isinstance(node, ast.JoinedStr | ast.arg):
            left_out |= set(ast.walk(node))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns:
            left_out |= set(ast.walk(node.returns))
        elif isinstance(node, ast.AnnAssign):
            left_out |= set(ast.walk(node.annotation))
    return [node for node in ast.walk(tree) if node not in left_out]


# --- JavaScript, by its tokens -------------------------------------------------------------------

_MARKS, _WORDS = _TABLES.mapping("marks"), _TABLES.mapping("words")
_MEMBERS, _REMOVED = _TABLES.mapping("javascript members"), _TABLES.words("javascript methods")
_KEYWORDS = _TABLES.words("keywords")


def _javascript_changes(code: str) -> Iterator[_Change]:
    stream = list(tokens(code))
    for at, token in enumerate(stream):
        for name, end, text in _changed_token(code, stream, at):
            yield _Change(name, partial(_spliced, code, token.start, text, end))


def _spliced(code: str, start: int, text: str, end: int) -> str:
    return code[:start] + text + code[end:]


def _changed_token(code: str, stream: Sequence[Token], at: int) -> Iterator[tuple[str, int, str]]:
    """Each change at a token: its kind, the end of the replaced text, and the new text."""
    token = stream[at]
    before = stream[at - 1].text if at else ";"
    after = stream[at + 1].text if at + 1 < len(stream) else ""
    if token.kind == "mark" and token.text in _MARKS:
        yield "operator", token.end, _MARKS[token.text]
    elif token.kind == "mark" and token.text == "!":
        yield "operator", token.end, ""
    elif token.text in _WORDS and before != ".":
        kind = "constant" if token.text in ("true", "false") else "loop"
        yield kind, token.end, _WORDS[token.text]
    elif before == "." and token.text in _MEMBERS:
        yield "operator", token.end, _MEMBERS[token.text]
    elif token.text == "." and after in _REMOVED and (close := _closing(stream, at + 2)):
        yield "dropped call", close, ""
    elif token.text.isdecimal():
        yield "off by one", token.end, str(int(token.text) + 1)
        if token.text != "0":
            yield "off by one", token.end, str(int(token.text) - 1)
    elif token.kind == "string" and len(token.text) > 2 and token.text[0] != "`":
        yield "constant", token.end, token.text[0] * 2
    elif token.text == "return":
        yield "dropped return", token.end, "void"
    elif token.text in ("if", "while") and (close := _closing(stream, at + 1)):
        condition = code[stream[at + 1].start : close]
        yield "negated condition", close, f"{token.text} (!{condition})"
    elif _starts_statement(token, before) and (end := _statement(stream, at)):
        yield "dropped statement", end, ""


def _starts_statement(token: Token, before: str) -> bool:
    return token.kind == "word" and before in (";", "{", "}") and token.text not in _KEYWORDS


def _closing(stream: Sequence[Token], at: int) -> int:
    """The end of the bracket that opens at a token; 0 if it does not close."""
    depth = 0
    for token in stream[at : at + _MAX_SPAN]:
        depth += token.opens - token.closes
        if depth == 0:
            return token.end
    return 0


def _statement(stream: Sequence[Token], at: int) -> int:
    """The end of the statement that starts at a token, with its semicolon; 0 for a key or label."""
    depth = 0
    for token in stream[at : at + _MAX_SPAN]:
        depth += token.opens - token.closes
        if depth < 0 or (depth == 0 and token.text in (":", ",")):
            return 0
        if depth == 0 and token.text == ";":
            return token.end
    return 0
