"""Python source as a syntax tree, in any thread."""

from __future__ import annotations

import ast
from threading import RLock
from typing import Literal, overload

# CPython 3.11 counts the depth of the trees of all threads together: where a finalizer lets another
# thread parse in between, both fail with SystemError.
_ONE_AT_A_TIME = RLock()
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)  # what hostile source raises


@overload
def syntax_tree(source: str, mode: Literal["exec"] = "exec") -> ast.Module: ...
@overload
def syntax_tree(source: str, mode: Literal["eval"]) -> ast.Expression: ...
def syntax_tree(source: str, mode: str = "exec") -> ast.AST:
    """Parse a program ("exec"), or an expression ("eval").

    Raises one of `UNREADABLE`.
    """
    with _ONE_AT_A_TIME:
        return ast.parse(source, mode=mode)
