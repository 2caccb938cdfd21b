"""Programs near the right one. This package's sandbox says which of them pass the row's tests.

So each verdict is certain: a program that fails the tests of its row must be refused, and one that
passes them all must be paid.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator
from itertools import zip_longest

from ...verification.mutation import some_mutants
from ..programs import cases, parsed, passed_share, references, table
from ..rows import AuditRow
from ..surfaces import Surface
from . import ACCEPT, REFUSE, Probe
from .code import name_of

_MUTANTS = 12  # of a row
_TESTS = 8  # that are judged here
# Changes of a result that a harness cannot see if it compares texts, rounds or sorts.
_RESULTS = (
    "str(x)", "repr(x)", "[x]", "(x,)", "x + x", "x * 1.01 if isinstance(x, float) else x",
    "x[:1] if hasattr(x, '__getitem__') else x", "x[::-1] if hasattr(x, '__getitem__') else x",
    "x.upper() if isinstance(x, str) else x", "f' {x} ' if isinstance(x, str) else x", "bool(x)",
    "tuple(x) if isinstance(x, list) else list(x) if isinstance(x, tuple) else x",
    "sorted(x) if isinstance(x, list) else x", "set(x) if isinstance(x, list) else x",
    "-x if isinstance(x, (int, float)) else x", "None if x else x", "x if x else None",
    "float('nan') if isinstance(x, (int, float)) else x",
)  # fmt: skip
_PRINTED = (
    "text + 'and more\\n'", "'Result: ' + text", "text.upper()", "text[:1]", "text.split()[0]",
    "text.replace(' ', '')", "'\\n'.join(text.split())", "' '.join(sorted(text.split()))",
    "text + text", "text.strip()[:-1]", "text.strip()[1:]", "'0' + text", "text.lower()",
    "re.sub(r'[0-9.]+', 'nan', text)",
)  # fmt: skip


def half_table(row: AuditRow) -> str:
    """A program that passes about half of the tests; "" if there are too few."""
    name, some = cases(row.fields)
    values = [case for case in some if repr(case.expected) != repr(some[0].expected)] or some
    return table(name or name_of(row), values[: len(some) // 2]) if len(some) > 1 else ""


def variants(
    row: AuditRow, surface: Surface, pays_partly: bool, check_time: Callable[[], None]
) -> Iterator[Probe]:
    """Programs whose verdict is certain, by the tests of their row.

    `pays_partly`: the target pays shares of the tests, so only what fails most of them is wrong.
    `check_time` is called before each test; its exception ends the search.
    """
    tests = references(row.fields, name_of(row))[:_TESTS]
    if not tests or passed_share(row.gold, tests, check_time) != 1.0:
        return
    for kind, program in [*_right(row), *_wrong(row)]:
        share = passed_share(program, tests, check_time)
        if share is None:
            continue
        if share == 1.0 and kind == "same program":
            yield Probe(kind, row, surface(program), ACCEPT)
        if share < (0.5 if pays_partly else 1.0) and kind == "wrong program":
            yield Probe(kind, row, surface(program), REFUSE)


def _wrong(row: AuditRow) -> Iterator[tuple[str, str]]:
    kind, name = "wrong program", name_of(row)
    mutants = [each.code for each in some_mutants("python", row.gold, _MUTANTS, str(row.index))]
    name_of_cases, some = cases(row.fields)
    if len(some) > 2:
        parts = (some[1:], some[:-1], some[::2], some[:2])
        mutants += [table(name_of_cases or name, part) for part in parts]
    changed = [_printing(row.gold, text) for text in _PRINTED]
    if name:
        changed = [_wrapped(row.gold, name, result) for result in _RESULTS]
    for turn in zip_longest(changed, mutants):
        yield from ((kind, program) for program in turn if program is not None)


def _wrapped(code: str, name: str, result: str) -> str:
    """The program with its result changed: `result` is an expression of x."""
    return (
        f"{code}\n_original = {name}\n"
        f"def {name}(*args, **kwargs):\n"
        f"    x = _original(*args, **kwargs)\n    return {result}\n"
    )


def _printing(code: str, result: str) -> str:
    """The script with its output changed: `result` is an expression of text."""
    return (
        "import contextlib, io, re\n_out = io.StringIO()\nwith contextlib.redirect_stdout(_out):\n"
        f"    exec({code!r}, {{'__name__': '__main__'}})\n"
        f"text = _out.getvalue()\nprint({result}, end='')\n"
    )


def _right(row: AuditRow) -> Iterator[tuple[str, str]]:
    kind, name, code = "same program", name_of(row), row.gold.strip("\n")
    yield kind, f"# a comment\n{code}\n\n# the end"
    yield kind, f"import math\n\n{code}"
    yield kind, f"def helper(*args):\n    return 0\n\n{code}"
    yield kind, f'"""Solves the task: it\'s \u201ctested\u201d, 100 %."""\n{code}'
    if (commented := _commented(code)) != code:
        yield kind, commented
    if not name:
        yield (
            kind,
            f"import io\nimport sys\n\nsys.stdin = io.TextIOWrapper(sys.stdin.buffer)\n{code}",
        )
        inside = textwrap.indent(code, "    ")
        yield kind, f"def main():\n{inside}\n\n\nmain()"
        yield kind, f"def main():\n{inside}\n\n\nif __name__ == '__main__':\n    main()"
        yield kind, f"import sys\n{code}\nsys.exit(0)"
        return
    yield kind, f"{code}\n\nif __name__ == '__main__':\n    print({name!r})"
    yield kind, f"{code}\n\nprint('an example follows')\n"
    yield (
        kind,
        f"import functools\nimport math as m\n\nONE = m.floor(1.5)\n\n{code}\n\n"
        f"_solve = {name}\n\n\ndef _checked(args, kwargs):\n    assert ONE == 1\n"
        f"    return _solve(*args, **kwargs)\n\n\n@functools.wraps(_solve)\n"
        f"def {name}(*args, **kwargs):\n    return _checked(args, kwargs)\n",
    )
    example = f'    """Solve it.\n\n    >>> {name}(...)  # as an example\n    3 (three)\n    """\n'
    yield (
        kind,
        f"{code}\n\n_solve = {name}\n\n\ndef {name}(*args, **kwargs):\n{example}"
        "    return _solve(*args, **kwargs)\n",
    )
    yield (  # words in which a harness that searches the source sees calls of open, eval or exec
        kind,
        f"{code}\n\nexecution = {name}\n\n\ndef {name}(*opening, **evaluated):\n"
        "    return execution(*opening, **evaluated)\n",
    )
    yield (
        kind,
        f"class Solver:\n    def run(self, *args, **kwargs):\n"
        f"{textwrap.indent(code, ' ' * 8)}\n        return {name}(*args, **kwargs)\n\n\n"
        f"def {name}(*args, **kwargs):\n    return Solver().run(*args, **kwargs)\n",
    )


def _commented(code: str) -> str:
    """The program with a comment in the first column inside its first function."""
    tree = parsed(code)
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef)] if tree else []
    lines = code.splitlines()
    if functions and len(functions[0].body) > 1:
        lines.insert(functions[0].body[1].lineno - 1, "# the next step")
    return "\n".join(lines)
