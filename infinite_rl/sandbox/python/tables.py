"""Loops of a Python test over literal tables: their rows and the names that they bind."""

from __future__ import annotations

import ast
import copy
from collections import Counter

from .forms import Scope, bound, is_literal, literal_of, loads

MOST_ROWS = 1000  # of a table, and occurrences of one assertion


def rows_of(node: ast.expr, scope: Scope) -> list[ast.expr] | None:
    """Return the items of a loop over the expression, one expression per iteration."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return None if any(isinstance(e, ast.Starred) for e in node.elts) else node.elts
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    if isinstance(node.func, ast.Attribute):
        box = node.func.value
        if node.func.attr != "items" or node.args or not isinstance(box, ast.Dict):
            return None
        return _dict_rows(box)
    if scope.means(node.func, "range"):
        return _range_rows([_length(part, scope) for part in node.args])
    if scope.means(node.func, "enumerate") and 1 <= len(node.args) <= 2:
        inner, first = rows_of(node.args[0], scope), 0
        if len(node.args) == 2:
            start = node.args[1]
            if not isinstance(start, ast.Constant) or type(start.value) is not int:
                return None
            first = start.value
        return inner and [_pair(ast.Constant(i), row) for i, row in enumerate(inner, first)]
    if scope.means(node.func, "zip") and node.args:
        columns = [rows_of(part, scope) for part in node.args]
        if any(column is None for column in columns):
            return None
        return [ast.Tuple(list(row), ast.Load()) for row in zip(*filter(None, columns))]  # noqa: B905 - as zip cuts
    return None


def _dict_rows(node: ast.Dict) -> list[ast.expr] | None:
    keys = [key for key in node.keys if key is not None and is_literal(key)]
    if len(keys) != len(node.values):
        return None
    try:
        if len({ast.literal_eval(key) for key in keys}) != len(keys):
            return None
    except TypeError:
        return None
    return [_pair(key, value) for key, value in zip(keys, node.values, strict=True)]


def still_names(tree: ast.AST) -> frozenset[str]:
    """Names of which nothing is read but the length and single parts, so that it stays as long."""
    reads = Counter(loads(tree))
    for node in ast.walk(tree):
        of = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            of = node.value
        elif isinstance(node, ast.Call) and len(node.args) == 1:
            of = node.args[0] if ast.unparse(node.func) == "len" else None
        if isinstance(of, ast.Name):
            reads[of.id] -= 1
    return frozenset(name for name, count in reads.items() if not count)


def _length(node: ast.expr, scope: Scope) -> ast.expr:
    """`len` of a list or tuple that is spelled out, as a number."""
    if not (isinstance(node, ast.Call) and scope.means(node.func, "len") and len(node.args) == 1):
        return node
    rows = node.args[0]
    if not isinstance(rows, (ast.List, ast.Tuple)) or rows_of(rows, scope) is None:
        return node
    return ast.Constant(len(rows.elts))


def _range_rows(args: list[ast.expr]) -> list[ast.expr] | None:
    if not 1 <= len(args) <= 3 or not all(map(is_literal, args)):
        return None
    numbers = [ast.literal_eval(part) for part in args]
    if not all(type(number) is int for number in numbers) or numbers[2:] == [0]:
        return None
    span = range(*numbers)
    if len(span[: MOST_ROWS + 1]) > MOST_ROWS:
        return None
    return [literal_of(number) for number in span]


def _pair(left: ast.expr, right: ast.expr) -> ast.expr:
    return ast.Tuple([left, right], ast.Load())


def targets_of(target: ast.expr) -> list[str] | None:
    """Return the names of a loop's target in order; None if it is no tuple of distinct names."""
    if isinstance(target, ast.Starred):
        target = target.value
    if isinstance(target, ast.Name):
        return [target.id]
    if not isinstance(target, (ast.Tuple, ast.List)):
        return None
    names: list[str] = []
    for part in target.elts:
        inner = targets_of(part)
        if inner is None:
            return None
        names += inner
    return names if len(set(names)) == len(names) else None


def unpacked(target: ast.expr, row: ast.expr) -> list[ast.expr] | None:
    """Return the parts of a row in the order of the target's names."""
    if isinstance(target, ast.Name):
        return [row]
    if not isinstance(target, (ast.Tuple, ast.List)) or not isinstance(row, (ast.Tuple, ast.List)):
        return None
    cells = list(row.elts)
    if any(isinstance(cell, ast.Starred) for cell in cells):
        return None
    for position, name in enumerate(target.elts):
        if isinstance(name, ast.Starred):
            end = position + 1 + len(cells) - len(target.elts)
            cells[position:end] = [ast.List(cells[position:end], ast.Load())]
    if len(target.elts) != len(cells):
        return None
    parts: list[ast.expr] = []
    for name, cell in zip(target.elts, cells, strict=True):
        inner = unpacked(name.value if isinstance(name, ast.Starred) else name, cell)
        if inner is None:
            return None
        parts += inner
    return parts


# --- rows that are read by key, rewritten to unpacking --------------------------------------------

_Key = str | int


def unpack_records(tree: ast.Module) -> None:
    """Rewrite `for case in [{"in": 1}]: ... case["in"]` as `for x, in [(1,)]: ... x`.

    The two are equal if only such subscripts read the row, and only the loop reads the table.
    """
    counts, reads = Counter(bound(tree)), Counter(loads(tree))
    tables: dict[str, ast.expr] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign([ast.Name(name)], value) if counts[name] == reads[name] == 1:
                tables[name] = value
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For)]
    for number, loop in enumerate(loops):
        match loop.iter, loop.target:
            case ast.Call(ast.Name("enumerate"), [box, *_]), ast.Tuple([_, ast.Name(name)]):
                pass
            case (ast.Call(ast.Name("enumerate"), [_, *_]), _):
                continue
            case box, ast.Name(name):
                pass
            case _:
                continue
        if isinstance(box, ast.Name):
            box = tables.get(box.id, box)
        if counts[name] != 1 or not isinstance(box, (ast.List, ast.Tuple)):
            continue
        rows = [_cells(row) for row in box.elts]
        if not rows or not rows[0] or any(row.keys() != rows[0].keys() for row in rows):
            continue
        names = {key: f"__row{number}_{at}" for at, key in enumerate(rows[0])}
        unpack = _Unpack(name, names)
        body = unpack.visit(ast.Module(copy.deepcopy(loop.body), [])).body
        if not unpack.count == reads[name] > 0:
            continue
        stored: list[ast.expr] = [ast.Name(each, ast.Store()) for each in names.values()]
        target = ast.Tuple(stored, ast.Store())
        if isinstance(loop.target, ast.Tuple):
            loop.target.elts[1] = target
        else:
            loop.target = target
        box.elts = [ast.Tuple([row[key] for key in names], ast.Load()) for row in rows]
        loop.body = body


def _cells(row: ast.expr) -> dict[_Key, ast.expr]:
    """Return the cells of a row by their keys, none if it has others than texts or positions."""
    if isinstance(row, (ast.Tuple, ast.List)):
        is_plain = not any(isinstance(cell, ast.Starred) for cell in row.elts)
        return dict(enumerate(row.elts)) if is_plain else {}
    if not isinstance(row, ast.Dict):
        return {}
    cells: dict[_Key, ast.expr] = {
        key.value: value
        for key, value in zip(row.keys, row.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }
    return cells if len(cells) == len(row.keys) else {}


class _Unpack(ast.NodeTransformer):
    """Replaces and counts the reads of a row by one of its keys, and `a, b = case` of all."""

    def __init__(self, row: str, names: dict[_Key, str]) -> None:
        self._row, self._names, self.count = row, names, 0

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        match node:
            case ast.Subscript(ast.Name(self._row), ast.Constant(str() | int() as key), ast.Load()):
                if key in self._names and not isinstance(key, bool):
                    self.count += 1
                    return ast.Name(self._names[key], ast.Load())
        self.generic_visit(node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        match node:
            case ast.Assign([ast.Tuple(parts)], ast.Name(self._row)) if [*self._names] == [
                *range(len(parts))
            ] and all(isinstance(part, ast.Name) for part in parts):
                self.count += 1
                values = [ast.Name(name, ast.Load()) for name in self._names.values()]
                pairs = zip(parts, values, strict=True)
                return [ast.Assign([part], value) for part, value in pairs]
        self.generic_visit(node)
        return node
