"""Rewrite the rows of a test's table from access by key to unpacking."""

from __future__ import annotations

import ast
from collections import Counter

from .forms import bound, loads

_Key = str | int


def unpack_records(tree: ast.Module) -> None:
    """Rewrite `for case in [{"in": 1}]: ... case["in"]` as `for x, in [(1,)]: ... x`.

    The two are equal if only such subscripts read the row, and only the loop reads the table.
    """
    counts, reads = Counter(bound(tree)), Counter(loads(tree))
    tables = {
        node.targets[0].id: node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and counts[node.targets[0].id] == reads[node.targets[0].id] == 1
    }
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For)]
    for number, loop in enumerate(loops):
        name = _row_name(loop)
        box = _box(loop)
        if isinstance(box, ast.Name) and box.id in tables:
            box = tables[box.id].value
        if not name or counts[name] != 1 or not isinstance(box, (ast.List, ast.Tuple)):
            continue
        keys = _keys(box.elts)
        if keys and _Reads(name, keys).all_of(loop, reads[name]):
            _unpack(loop, box, name, {key: f"__row{number}_{i}" for i, key in enumerate(keys)})


def _is_enumerate(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "enumerate" and bool(node.args)


def _row_name(loop: ast.For) -> str:
    target: ast.expr = loop.target
    if _is_enumerate(loop.iter) and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[1]
    elif _is_enumerate(loop.iter):
        return ""
    return target.id if isinstance(target, ast.Name) else ""


def _box(loop: ast.For) -> ast.expr:
    call = loop.iter
    return call.args[0] if isinstance(call, ast.Call) and _is_enumerate(call) else call


def _keys(rows: list[ast.expr]) -> list[_Key]:
    """Return the keys that all rows have, none if the rows differ."""
    row_keys = [_keys_of(row) for row in rows]
    same = bool(row_keys) and all(
        keys is not None and set(keys) == set(row_keys[0] or ()) for keys in row_keys
    )
    return list(row_keys[0] or ()) if same else []


def _keys_of(row: ast.expr) -> list[_Key] | None:
    if isinstance(row, (ast.Tuple, ast.List)):
        if any(isinstance(cell, ast.Starred) for cell in row.elts):
            return None
        return list(range(len(row.elts)))
    if not isinstance(row, ast.Dict):
        return None
    keys: list[_Key] = [
        key.value
        for key in row.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    ]
    return keys if len(set(keys)) == len(row.keys) else None


class _Reads(ast.NodeVisitor):
    """Counts the subscripts that read a row by one of its keys."""

    def __init__(self, name: str, keys: list[_Key]) -> None:
        self._name, self._keys, self._count = name, keys, 0

    def all_of(self, loop: ast.For, count: int) -> bool:
        for node in loop.body:
            self.visit(node)
        return self._count == count > 0

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self._count += _key_read(node, self._name, self._keys) is not None
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        self._count += _is_unpacking(node, self._name, self._keys)
        self.generic_visit(node)


def _key_read(node: ast.AST, name: str, keys: list[_Key]) -> _Key | None:
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and isinstance(node.slice, ast.Constant)
    ):
        key = node.slice.value
        if isinstance(key, str | int) and not isinstance(key, bool) and key in keys:
            return key
    return None


def _is_unpacking(node: ast.Assign, name: str, keys: list[_Key]) -> bool:
    """Whether it is `a, b = case`, of a row of two."""
    (target, *others) = node.targets
    return (
        not others
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and isinstance(target, ast.Tuple)
        and keys == list(range(len(target.elts)))
        and all(isinstance(part, ast.Name) for part in target.elts)
    )


def _unpack(loop: ast.For, box: ast.List | ast.Tuple, name: str, names: dict[_Key, str]) -> None:
    stored: list[ast.expr] = [ast.Name(each, ast.Store()) for each in names.values()]
    target = ast.Tuple(stored, ast.Store())
    if isinstance(loop.target, ast.Tuple):
        loop.target.elts[1] = target
    else:
        loop.target = target
    box.elts = [ast.Tuple([_cell(row, key) for key in names], ast.Load()) for row in box.elts]
    replace = _Replace(name, names)
    statements = [replace.visit(node) for node in loop.body]
    loop.body = [
        part for each in statements for part in (each if isinstance(each, list) else [each])
    ]


def _cell(row: ast.expr, key: _Key) -> ast.expr:
    if isinstance(row, ast.Dict):
        keys = [each.value for each in row.keys if isinstance(each, ast.Constant)]
        return row.values[keys.index(key)]
    assert isinstance(row, (ast.Tuple, ast.List))
    return row.elts[int(key)]


class _Replace(ast.NodeTransformer):
    def __init__(self, name: str, names: dict[_Key, str]) -> None:
        self._name, self._names = name, names

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        key = _key_read(node, self._name, list(self._names))
        if key is not None:
            return ast.Name(self._names[key], ast.Load())
        self.generic_visit(node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        if not _is_unpacking(node, self._name, list(self._names)):
            self.generic_visit(node)
            return node
        (target,) = node.targets
        assert isinstance(target, ast.Tuple)
        return [
            ast.Assign([part], ast.Name(name, ast.Load()))
            for part, name in zip(target.elts, self._names.values(), strict=True)
        ]
