"""Which tests only call the program and compare the values that it returns.

Such a test fails without a program, and reformatting the program cannot change its verdict. No run
is needed to show either.
"""

import ast
import builtins
import re
from functools import lru_cache

from ...parsing.syntax import UNREADABLE, syntax_tree
from ...parsing.word_tables import WordTables
from ...sandbox.javascript.tokens import tokens
from .reference import Tests

_MAX_CACHED = 256
_MAX_CHARS = 5_000  # of a test: the tree of a longer one costs more than a run

_TABLES = WordTables(__file__)
_FUNCTIONS = _TABLES.words("python functions")
_NODES = (  # that are always fully evaluated
    *(ast.Module, ast.Assert, ast.Compare, ast.cmpop, ast.Call, ast.keyword, ast.Name, ast.Load),
    *(ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.UnaryOp, ast.unaryop),
    *(ast.BinOp, ast.operator),
)
_WORDS, _GLOBALS = _TABLES.words("javascript words"), _TABLES.words("javascript globals")
_MARKS = re.compile(r"[][(){},:.+\-*/%<>!]|\.\.\.|\*\*|[<>]=|[!=]==?")
_MODULES = re.compile(r"""(['"])(?:node:)?assert(?:/strict)?\1""")
_PROGRAM_NAME = re.compile(r"[a-z_$][\w$]*", re.ASCII)  # a capital begins a class of the language


@lru_cache(_MAX_CACHED)
def are_plain_calls(tests: Tests, language: str) -> bool:
    """Whether each test always calls the program and depends only on values.

    For tests that a program passed, so their syntax is valid.
    """
    is_plain = {"python": _is_plain_python, "javascript": _is_plain_javascript}.get(language)
    if is_plain is None or tests.setup or tests.entry_point or not tests.tests:
        return False
    if tests.expected:  # all call one function, and the host compares the value
        name = tests.tests[0].partition("(")[0]
        is_known = name in _GLOBALS or hasattr(builtins, name)
        return not is_known and bool(_PROGRAM_NAME.fullmatch(name))
    return all(len(text) <= _MAX_CHARS and is_plain(text) for text in tests.tests)


def _is_plain_python(test: str) -> bool:
    """One `assert` that is always fully evaluated."""
    try:
        nodes = list(ast.walk(tree := syntax_tree(test.strip())))
    except UNREADABLE:
        return False
    statement = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(statement, ast.Assert) or not all(map(_is_evaluated, nodes)):
        return False
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    program = {name for name in names if name not in _FUNCTIONS}
    reserved = any(hasattr(builtins, name) or name.startswith("_") for name in program)
    return bool(program) and not reserved and isinstance(statement.msg, ast.Constant | None)


def _is_evaluated(node: ast.AST) -> bool:
    is_chain = isinstance(node, ast.Compare) and len(node.ops) > 1
    is_method = isinstance(node, ast.Call) and not isinstance(node.func, ast.Name)
    return isinstance(node, _NODES) and not is_chain and not is_method


def _is_plain_javascript(test: str) -> bool:
    """One call of an assertion that is always fully evaluated."""
    stream = list(tokens(test.strip().rstrip("; ")))
    texts = ["", *(token.text for token in stream), ""]
    calls_program = False
    for token, before, after in zip(stream, texts, texts[2:], strict=False):
        text = token.text
        if token.kind == "word" and not text[0].isdigit() and text not in _WORDS:
            if text == "require":
                continue  # its argument is checked below
            if after == ":" and before in ("{", ","):
                continue
            is_call = after == "(" and before != "." and _PROGRAM_NAME.fullmatch(text)
            if not is_call or text in _GLOBALS:
                return False
            calls_program = True
        elif token.kind not in ("word", "string") and not _MARKS.fullmatch(text):
            return False
    required = [texts[at + 2] for at, text in enumerate(texts[:-2]) if text == "require"]
    begins = texts[1] in ("assert", "console", "require")
    return begins and calls_program and all(map(_MODULES.fullmatch, required))
