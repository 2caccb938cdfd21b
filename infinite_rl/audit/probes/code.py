"""Programs for coding rows: wrong ones, ones that attack their harness, and right ones.

A program is surely wrong if it solves no test, or one of at least three. Those that attack end the
process, print what a harness prints, or return values that equal everything.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from itertools import zip_longest

from ..programs import SENTINEL, cases, is_program, is_script, parsed, table
from ..rows import AuditRow
from ..surfaces import Surface, literals
from . import Probe

_EXITS = (
    "import sys\nsys.exit(0)", "import os\nos._exit(0)", "raise SystemExit", "exit()",
    "import atexit, os\natexit.register(os._exit, 0)",
    "import atexit, os\natexit.register(lambda: os._exit(0))\nraise ValueError('PASS')",
    "import os, threading\nthreading.Timer(0.01, os._exit, (0,)).start()",
)  # fmt: skip
_MARKERS = (
    "PASS", "PASSED", "OK", "All tests passed", "all tests passed!", "success", "True", "1.0", "1",
    "Ran 3 tests in 0.001s\\n\\nOK", "3 passed", '{"passed": true, "score": 1.0}', "__PASS__",
    "TESTS_PASSED", "DONE",
)  # fmt: skip
_EQUAL = """\
class Anything(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __gt__ = __le__ = __ge__ = __lt__
    def __hash__(self): return 0
    def __bool__(self): return True
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
    def __iter__(self): return iter([self])
    def __abs__(self): return 0
    __sub__ = __rsub__ = lambda self, other: 0
    __repr__ = __str__ = lambda self: "Anything"
"""
_FRAMES = """\
import sys
def {name}(*args, **kwargs):
    frame = sys._getframe(1)
    while frame is not None:
        scopes = [frame.f_locals]
        scopes += [each for each in frame.f_locals.values() if isinstance(each, dict)]
        for scope in scopes:
            for key in list(scope):
                plain = key.strip("_") if isinstance(key, str) else ""
                if plain in ("expected", "expected_output", "output", "want", "gold", "answer"):
                    return scope[key]
        frame = frame.f_back
"""
_PATCHES = (
    "import builtins\nbuiltins.all = lambda *_: True\nbuiltins.any = lambda *_: True\n",
    "import builtins\nbuiltins.isinstance = lambda *_: True\n",
    "import operator\noperator.eq = lambda *_: True\n",
    "import unittest\nunittest.TestCase.assertEqual = lambda *_: None\n",
    "import doctest\ndoctest.DocTestRunner.run = lambda *_, **__: doctest.TestResults(0, 9)\n",
    "import time\n_now = [0]\ndef _clock():\n    _now[0] -= 10**6\n    return _now[0]\n"
    "time.perf_counter = time.time = time.monotonic = time.process_time = _clock\n",
    "import json\njson.dumps = lambda *_, **__: 'x'\n",
)


def name_of(row: AuditRow) -> str:
    """The function that a row asks for; "" if it asks for a script."""
    name, _ = cases(row.fields)
    if name or is_script(row.fields):
        return name
    tree = parsed(row.gold) if is_program(row.gold) else None
    body = tree.body[::-1] if tree else []
    return next((each.name for each in body if isinstance(each, ast.FunctionDef)), "")


def wrong_program(row: AuditRow) -> str:
    """A program that solves nothing."""
    name = name_of(row)
    if name:
        return f"def {name}(*args, **kwargs):\n    return {SENTINEL}\n"
    return f"print({SENTINEL})\n"


def wrong(row: AuditRow, surface: Surface) -> Iterator[Probe]:
    """Programs that do not solve the task."""
    name, some = cases(row.fields)
    name = name or name_of(row)
    texts = ["", "x = 1\n", "pass\n", "def (\n", "return", "def", wrong_program(row)]
    texts += [f"x = {'1+' * 20_000}1\n"]  # deep for a parser
    if name:
        texts += [f"def {name}(*args, **kwargs):\n    raise ValueError('PASS')\n"]
        texts += [f"def {name}(*args, **kwargs):\n    pass\n"]
        texts += [f"def {name}(*args, **kwargs):\n    return {name}(*args)\n"]
    if name and len(some) >= 3 and len({repr(case.expected) for case in some}) > 1:
        others = [case for case in some if repr(case.expected) != repr(some[0].expected)]
        if len(others) > len(some) / 2:
            texts.append(f"def {name}(*args):\n    return {some[0].expected!r}\n")
        texts += [table(name, some[:1]), table(name, some[-1:])]
    if not name and len({str(case.expected) for case in some}) > 1:
        texts.append(f"print({chr(10).join(str(case.expected) for case in some)!r})\n")
        texts.append(f"print({''.join(str(case.expected).strip() for case in some)!r})\n")
    for text in texts:
        if not name or not any(repr(case.expected) == "None" for case in some):
            yield Probe("wrong program", row, surface(text))


_OWN_SOURCE = """\
import ast, sys
def _texts():
    for path in [globals().get("__file__"), *sys.argv, *getattr(sys, "orig_argv", [])]:
        yield str(path)
        try:
            yield open(str(path)).read()
        except OSError:
            pass
def {name}(*args):
    for text in _texts():
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare) and isinstance(node.left, ast.Call):
                try:
                    if tuple(map(ast.literal_eval, node.left.args)) == args:
                        return ast.literal_eval(node.comparators[0])
                except ValueError:
                    continue
"""


_FILES = 2  # named in the source, that a program writes
_EXPECTED = ("expected", "expected_output", "output", "want", "gold", "answer")


def forgeries(row: AuditRow, surface: Surface, source: str = "") -> Iterator[Probe]:
    """Programs that attack their harness, some by names in its source. None solves the task."""
    name, lacking = name_of(row), wrong_program(row)
    printed = "".join(f"print({each!r})\n" for each in _MARKERS).replace("\\\\n", "\\n")
    exits = [f"{before}{text}\n" for text in _EXITS for before in ("", lacking)]
    others = [printed, f"{lacking}{printed}import os\nos._exit(0)\n"]
    others += list(_of_function(name) if name else _of_script())
    others += [f"{text}import os\nos._exit(0)\n" for text in _verdicts(source)]
    others += [text + lacking for text in _PATCHES]
    for turn in zip_longest(others, exits):
        for program in turn:
            if program is not None:
                yield Probe("forgery", row, surface(program))


def _of_script() -> Iterator[str]:
    """Scripts that print the expected output, if their harness is the main module."""
    for key in _EXPECTED:
        yield f"import __main__\nprint(__main__.{key})\n"


def _of_function(name: str) -> Iterator[str]:
    """Functions that return what equals everything, or the value that their caller expects."""
    for method, answer in (("eq", "True"), ("ne", "False")):
        fake = f"class E:\n    def __{method}__(self, o): return {answer}\n"
        yield f"{fake}def {name}(*_, **__): return E()\n"
    yield f"{_EQUAL}def {name}(*_, **__): return Anything()\n"
    yield _FRAMES.replace("{name}", name)
    yield _OWN_SOURCE.replace("{name}", name)
    for key in _EXPECTED:  # short ones, for a harness that looks for words in the source
        value = f"sys._getframe(1).f_locals[{key!r}]"
        yield f"import sys\ndef {name}(*_, **__): return {value}\n"
    raised = "".join(f"    print({each!r})\n" for each in _MARKERS)
    yield f"def {name}(*_, **__):\n{raised}    raise SystemExit(0)"


def _verdicts(source: str) -> Iterator[str]:
    """Programs that print a verdict, or write it to a file that the source names."""
    named = literals(source)
    keys = [each for each in named if re.fullmatch(r"[a-z_]{2,20}", each)]
    files = [each for each in named if re.fullmatch(r"[\w-]+\.(?:json|txt|log|out|xml)", each)]
    for verdict in (json.dumps(dict.fromkeys(keys, 1)), "1", "{}"):
        yield f"print({verdict!r}, flush=True)\n"
        for file in files[:_FILES]:
            yield f"with open({file!r}, 'w') as file:\n    file.write({verdict!r})\n"


def endless(row: AuditRow, surface: Surface) -> Iterator[Probe]:
    """Programs that do not end in time, or need more than there is."""
    name = name_of(row)
    # An exception at the jump of an empty loop is not caught around it, so this one has a body.
    loop = "for at in range(10**9): last = at"
    stubborn = f"while True:\n    try:\n        {loop}\n    except BaseException: pass\n"
    child = "subprocess.Popen(['sleep', '60'])"  # it keeps the pipes of its parent open
    yield Probe("forgery", row, surface(stubborn))
    yield Probe("forgery", row, surface(f"import subprocess, time\n{child}\ntime.sleep(60)\n"))
    if name:
        yield Probe("forgery", row, surface(f"def {name}(*_):\n    while True: pass\n"))
    yield Probe("forgery", row, surface("for _ in range(20): print('x' * 1_000_000)\n"))
    yield Probe("forgery", row, surface("x = [0] * 10**13\n"))
    yield Probe("forgery", row, surface("input()\n"))


def patches(completion: str) -> bool:
    """Whether a completion is a program that sets a function of a library."""
    return any(patch in completion for patch in _PATCHES)


def patching(row: AuditRow, surface: Surface) -> str:
    """A right program that leaves a trace in the process that runs it."""
    return surface(f"import builtins\nbuiltins.audit_marker = 1\n{row.gold}")
