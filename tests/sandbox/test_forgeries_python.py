"""Programs that try to pass Python tests without doing the work: none does, and honest ones do."""

from __future__ import annotations

import pytest

from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.types import Execution

HONEST = {
    "assert f(2) == 40": "def f(x): return 20 * x",
    "assert f(2) == [1, 2]": "def f(x): return [1, x]",
    "assert f(2) != 3 and f(2) in (4, 5)": "def f(x): return 2 * x",
    "assert 7 in f(2)": "def f(x): return [7]",
    "assert 0 < f(2) < 3": "def f(x): return 1",
    "assert f(2) is True": "def f(x): return x == 2",
    "assert abs(f(2) - 0.125) < 1e-6": "def f(x): return x / 16",
    "import math\nassert math.isclose(f(2), math.sqrt(2))": "def f(x): return x ** 0.5",
    "import pytest\nassert f(2) == pytest.approx(0.125)": "def f(x): return x / 16",
    "assert len(f(2)) == 3": "def f(x): return 'abc'",
    "assert sorted(f(2)) == [1, 2, 3]": "def f(x): return [3, 1, 2]",
    "for x, want in [(2, 40), (3, 60)]:\n    assert f(x) == want": "def f(x): return 20 * x",
    "assert all(f(x) == y for x, y in [(2, 40), (3, 60)])": "def f(x): return 20 * x",
    "want = sorted([5, 4])\nassert f(2) == want": "def f(x): return [4, 5]",
    "def check(candidate):\n    assert candidate(2) == 40": "def f(x): return 20 * x",
}
FORTY = "assert f(2) == 40"
CHECK = "def check(candidate):\n    assert candidate(2) == 40"

# What a program that knows the harness starts with: it walks up the stack, to all that is there.
WALK = """
import gc, sys
def up(name, frame=None):
    frame = frame or sys._getframe()
    while frame is not None:
        for space in (frame.f_locals, frame.f_globals):
            if name in space: return space[name]
        frame = frame.f_back
def spaces():
    frame = sys._getframe()
    while frame is not None:
        yield frame.f_globals
        frame = frame.f_back
nonce, world = up('nonce'), up('wit_world')
harness, values = up('_Run'), up('values')
assert nonce and world and harness and values
"""
LIAR = "class Liar{bases}:\n    {body}\n"


def liar(body: str, bases: str = "", made: str = "Liar()") -> str:
    return f"{LIAR.format(bases=bases, body=body)}def f(x): return {made}"


SAME = "__eq__ = __ne__ = __lt__ = __gt__ = __le__ = __ge__ = lambda *_: True"
YES = f"{SAME}; __hash__ = None"
NEVER = "__ne__ = lambda *_: False"
CASE = "import unittest\nclass T(unittest.TestCase):\n    def test_f(self):\n"

FORGERIES: dict[str, tuple[str, str]] = {
    # --- leaving early
    "sys.exit": ("import sys\nsys.exit(0)", FORTY),
    "os._exit": ("import os\nos._exit(0)", FORTY),
    "raise SystemExit": ("raise SystemExit", FORTY),
    "quit": ("def f(x): raise SystemExit(0)", FORTY),
    "sys.exit in the call": ("import sys\ndef f(x): sys.exit(0)", FORTY),
    "os._exit in the call": ("import os\ndef f(x): os._exit(0)", FORTY),
    "os._exit at the end": ("import atexit, os\natexit.register(os._exit, 0)\ndef f(x): 0", FORTY),
    "GeneratorExit": ("def f(x): raise GeneratorExit", FORTY),
    "odd exception": (
        "class E(BaseException):\n    def __str__(s): import os; os._exit(0)\ndef f(x): raise E",
        FORTY,
    ),
    # --- objects that claim to be what is wanted
    "equal to all": (liar(YES), FORTY),
    "equal to all, list": (liar(YES), "assert f(2) == [1, 2]"),
    "unequal and in": (liar(YES), "assert f(2) != 3 and f(2) in (4, 5)"),
    "contains all": (liar("__contains__ = lambda *_: True"), "assert 7 in f(2)"),
    "contains all, list": (liar("__contains__ = lambda *_: True", "(list)"), "assert 7 in f(2)"),
    "between all": (liar(YES), "assert 0 < f(2) < 3"),
    "int that lies": (liar(YES, "(int)"), FORTY),
    "str that lies": (liar(YES, "(str)"), "assert f(2) == 'forty'"),
    "list that lies": (liar(YES, "(list)"), "assert f(2) == [1, 2]"),
    "dict that lies": (liar(YES, "(dict)"), "assert f(2) == {1: 2}"),
    "float that lies": (
        liar("__sub__ = __rsub__ = __abs__ = lambda *_: 0.0", "(float)", "Liar(9)"),
        "assert abs(f(2) - 0.125) < 1e-6",
    ),
    "liar in a list": (
        liar(YES, "(int)", "[Liar(), Liar()]"),
        "assert f(2) == [1, 2]",
    ),
    "nearly all": (liar("__sub__ = lambda *_: 0.0"), "assert abs(f(2) - 0.125) < 1e-6"),
    "close to all": (
        liar("__float__ = lambda s: 1.0"),
        "import math\nassert math.isclose(f(2), math.sqrt(2))",
    ),
    "approximately all": (liar(YES), "import pytest\nassert f(2) == pytest.approx(0.125)"),
    "true and a lie": (liar("__bool__ = lambda s: True", "(int)"), "assert f(2)"),
    "metaclass": (
        "class M(type):\n    __eq__ = lambda *_: True\n    __hash__ = type.__hash__\n"
        "    def __instancecheck__(c, o): return True\n"
        "class Liar(metaclass=M): pass\ndef f(x): return Liar",
        FORTY,
    ),
    "__class__": (liar(f"__class__ = int; {YES}"), FORTY),
    "method order": (
        "class M(type):\n    def mro(c): return [c, object]\n"
        f"class Liar(metaclass=M):\n    {YES}\ndef f(x): return Liar()",
        FORTY,
    ),
    "the value of each hash": (
        liar("__hash__ = lambda s: hash(4); " + SAME),
        "assert f(2) in {4, 5}",
    ),
    "length that lies": (liar("__len__ = lambda s: 0"), "assert len(f(2)) == 3"),
    "slots of an int": (liar("__index__ = __int__ = lambda s: 40", "(int)"), FORTY),
    # --- changed builtins
    "patched len": (
        "import builtins\nbuiltins.len = lambda _: 3\ndef f(x): 0",
        "assert len(f(2)) == 3",
    ),
    "patched sorted": (
        "import builtins\nbuiltins.sorted = lambda *_: [1, 2, 3]\ndef f(x): 0",
        "assert sorted(f(2)) == [1, 2, 3]",
    ),
    "patched in the call": (
        f"import builtins\n{LIAR.format(bases='', body=YES)}"
        "def f(x): builtins.sorted = lambda *_: Liar()",
        "assert sorted([f(2)]) == [1, 2, 3]",
    ),
    "patched abs": (
        "import builtins\ndef f(x): builtins.abs = lambda _: 0; return 9",
        "assert abs(f(2) - 0.125) < 1e-6",
    ),
    "patched all": (
        "import builtins\ndef f(x): builtins.all = lambda _: True; return 0",
        "assert all(f(x) == y for x, y in [(2, 40), (3, 60)])",
    ),
    "patched isinstance": (
        "import builtins\ndef f(x): builtins.isinstance = lambda *_: True; return 0",
        FORTY,
    ),
    "patched AssertionError": (
        "import builtins\ndef f(x): builtins.AssertionError = SystemExit; return 0",
        FORTY,
    ),
    "patched exec and compile": (
        "import builtins\nbuiltins.exec = builtins.compile = lambda *_, **__: None\ndef f(x): 0",
        FORTY,
    ),
    "patched ast": ("import ast\nast.parse = ast.walk = lambda *_: None\ndef f(x): 0", FORTY),
    "patched json": (
        "import json, json.encoder as e\n"
        "json.dumps = e.encode_basestring_ascii = e.c_make_encoder = lambda *_: '40'\n"
        "def f(x): return 'no'",
        "assert f(2) == 'forty'",
    ),
    "patched isclose": (
        "import math\nmath.isclose = lambda *_, **__: True\ndef f(x): return 0",
        "import math\nassert math.isclose(f(2), math.sqrt(2))",
    ),
    "patched import": (
        "import builtins, math\ndef forged(*_): math.isclose = lambda *_, **__: True; return math\n"
        "def f(x): builtins.__import__ = forged; return 0",
        "assert f(2) == 40\nimport math\nassert math.isclose(f(2), 2)",
    ),
    "import hook": (
        "import sys\nclass Hook:\n    def find_spec(s, *_): return None\n"
        "sys.meta_path.insert(0, Hook())\nsys.modules['pytest'] = sys\n"
        f"{LIAR.format(bases='', body=YES)}sys.approx = lambda *_: Liar()\ndef f(x): return 0",
        "import pytest\nassert f(2) == pytest.approx(0.125)",
    ),
    "patched class cell": (
        "class __judge__: pass\ndef f(x): globals()['__judge__'] = print",
        FORTY,
    ),
    "reports swallowed": (
        "def f(x): globals().update(__judge__=lambda *_: 0, __both__=lambda *_: 0); return 40",
        "assert f(2) == 41",
    ),
    "own check": ("def check(candidate): pass\ncandidate = 40\ndef f(x): return 0", CHECK),
    "check replaced": (
        "def f(x):\n    globals()['check'] = globals()['candidate'] = lambda *_: None",
        CHECK,
    ),
    # --- reading what is expected
    "frames": (
        "import sys\ndef f(x):\n    frame = sys._getframe(1)\n"
        "    found = [c for c in frame.f_code.co_consts if isinstance(c, int)]\n"
        "    return found[-1] if found else None",
        "assert f(2) == 40",
    ),
    "frames of a loop": (
        "import sys\ndef f(x): return sys._getframe(1).f_globals.get('want')",
        "for x, want in [(2, 40), (3, 60)]:\n    assert f(x) == want",
    ),
    "name of the expected": (
        "def f(x): return globals().get('want')",
        "want = sorted([5, 4])\nassert f(2) == want",
    ),
    "linecache": (
        "import linecache, re, sys\ndef f(x):\n"
        "    line = linecache.getline(sys._getframe(1).f_code.co_filename, 1)\n"
        "    return int(re.findall(r'\\d+', line)[-1])",
        FORTY,
    ),
    "traceback": (
        "import re, traceback\ndef f(x):\n"
        "    line = traceback.extract_stack()[-2].line\n"
        "    return int(re.findall(r'\\d+', line)[-1])",
        FORTY,
    ),
    "inspect": (
        "import inspect, re\ndef f(x):\n"
        "    text = ''.join(inspect.stack()[1].code_context or ['0'])\n"
        "    return int(re.findall(r'\\d+', text)[-1])",
        FORTY,
    ),
    "gc for the tests": (
        WALK + "import re\ndef f(x):\n    tests = up('tests')\n"
        "    return int(max(re.findall(r'== *(\\d+)', ' '.join(map(str, tests))), default=0))",
        FORTY,
    ),
    "gc for constants": (
        "import gc\ndef f(x):\n    found = [o for o in gc.get_objects() if o == [1, 2, 77]]\n"
        "    return found[-1] if found else None",
        "want = [1, 2, 77]\nassert f(2) == want",
    ),
    "settrace": (
        "import sys\nseen = []\n"
        "def trace(frame, *_): seen.append(frame.f_code.co_consts); return trace\n"
        "sys.settrace(trace)\n"
        "def f(x): return max((c for s in seen for c in s if type(c) is int), default=0)",
        "assert f(2) == 400000",
    ),
    "setprofile": (
        "import sys\nseen = []\n"
        "sys.setprofile(lambda frame, *_: seen.append(frame.f_code.co_consts))\n"
        "def f(x): return max((c for s in seen for c in s if type(c) is int), default=0)",
        "assert f(2) == 400000",
    ),
    # --- saying that all is well
    "printed": ("print('1 passed')\nprint('OK')\ndef f(x): print('passed'); return 0", FORTY),
    "swapped stdout": (
        "import io, sys\nsys.stdout = sys.stderr = io.StringIO('passed')\ndef f(x): return 0",
        FORTY,
    ),
    "__del__": (
        "class D:\n    def __del__(s): import os; os._exit(0)\nd = D()\n"
        "def f(x): globals().pop('d')",
        FORTY,
    ),
    "thread": (
        "import os, threading\ndef f(x): threading.Thread(target=os._exit, args=(0,)).start()",
        FORTY,
    ),
    "endless generator": (
        "def f(x):\n    while True: yield 0",
        "assert 7 in f(2)",
    ),
    "__init_subclass__": (
        liar("def __init_subclass__(c, **_): c.__eq__ = lambda *_: True") + "\n"
        "class Heir(Liar): pass\ndef f(x): return Heir()",
        FORTY,
    ),
    # --- reports
    "report replayed": (
        f"{WALK}def f(x):\n    parts = up('reports')._parts\n"
        "    if parts: parts.append(parts[0].replace('[0', '[1'))\n    return 20 * 1",
        "assert f(1) == 20\nassert f(2) == 40",
    ),
    "report ahead": (
        f"{WALK}def f(x): up('reports')._parts.append('[0,41]'); return 39",
        "assert f(2) == 40",
    ),
    "reports emptied": (
        f"{WALK}def f(x):\n    if x == 2: up('reports')._parts.clear()\n    return 20",
        "assert f(1) == 21\nassert f(2) == 40",
    ),
    "number as text": (f"{WALK}def f(x): up('reports')._parts.append('[\"0\",40]')", FORTY),
    "number true": (f"{WALK}def f(x): up('reports')._parts.append('[true,40]')", FORTY),
    "number below zero": (f"{WALK}def f(x): up('reports')._parts.append('[-1,40]')", FORTY),
    "more values": (
        f"{WALK}def f(x): up('reports').judge = 0; up('reports')._parts.append('[0,39,true]')",
        FORTY,
    ),
    "much more values": (
        f"{WALK}values.Reports.text = lambda s: '[[0,39,true,true]]'\ndef f(x): 0",
        FORTY,
    ),
    "says it is equal": (
        f"{WALK}values.Reports.text = lambda s: '[[0,39,true]]'\ndef f(x): 0",
        FORTY,
    ),
    "an object that says so": (
        f'{WALK}values.Reports.text = lambda s: \'[[0,{{"o":"int"}},true]]\'\ndef f(x): 0',
        FORTY,
    ),
    "no values": (f"{WALK}values.Reports.text = lambda s: '[[0]]'\ndef f(x): 0", FORTY),
    "a type": (
        f'{WALK}values.Reports.text = lambda s: \'[[0,{{"T":"int"}}]]\'\ndef f(x): 0',
        FORTY,
    ),
    "a signalling NaN": (
        f'{WALK}values.Reports.text = lambda s: \'[[0,{{"D":"sNaN"}}]]\'\ndef f(x): 0',
        FORTY,
    ),
    "NaN near": (
        "def f(x): return float('nan')",
        "assert abs(f(2) - 0.125) < 1e-6",
    ),
    "infinity near": ("def f(x): return float('inf')", "assert abs(f(2) - 0.125) < 1e-6"),
    "infinity approximately": (
        "def f(x): return float('inf')",
        "import pytest\nassert f(2) == pytest.approx(0.125)",
    ),
    "no object": (f"{WALK}values.Reports.text = lambda s: '{{}}'\ndef f(x): 0", FORTY),
    "a text": (f"{WALK}values.Reports.text = lambda s: '\"40\"'\ndef f(x): 0", FORTY),
    "two tags": (
        f'{WALK}values.Reports.text = lambda s: \'[[0,{{"i":"28","o":"a"}}]]\'\ndef f(x): 0',
        "assert f(2) == 40",
    ),
    # --- values that are read differently than they are
    "the same key twice": (
        "class K(str):\n    __eq__ = lambda *_: False\n    __hash__ = str.__hash__\n"
        "def f(x): return {K('a'): 2, K('a'): 1}",
        "assert f(2) == {'a': 1}",
    ),
    "the same item twice": (
        "class K(int):\n    __eq__ = lambda *_: False\n    __hash__ = int.__hash__\n"
        "def f(x): return {K(1), K(1), K(2)}",
        "assert f(2) == {1, 2}",
    ),
    "true as one": ("def f(x): return True", "assert f(2) is 1 or f(2) == 2"),
    "one as true": ("def f(x): return 1", "assert f(2) is True"),
    "a range of all": ("def f(x): return range(10 ** 18)", "assert 2.5 in f(2)"),
    "a range of all for a text": ("def f(x): return range(10 ** 18)", "assert 'a' in f(2)"),
    "a half in a range": ("def f(x): return 2.5", "assert f(2) in range(10 ** 12)"),
    "user dict": (
        "import collections\nclass U(collections.UserDict):\n    __eq__ = lambda *_: True\n"
        "def f(x): return U()",
        "assert f(2) == {1: 2}",
    ),
    "user text": (
        "import collections\nclass U(collections.UserString):\n    __eq__ = lambda *_: True\n"
        "def f(x): return U('no')",
        "assert f(2) == 'forty'",
    ),
    # --- taking the host's time
    "a huge fraction": (
        "from fractions import Fraction\ndef f(x):\n    a = Fraction(1, 3)\n"
        "    a._numerator = (1 << 9000000) - 1; a._denominator = (1 << 8999999) + 12345\n"
        "    return a",
        FORTY,
    ),
    "a huge integer beside a decimal": (
        "def f(x): return 1 << 20000000",
        "from decimal import Decimal\nassert f(2) == Decimal('1.5')",
    ),
    "a huge decimal in a range": (
        "from decimal import Decimal\ndef f(x): return Decimal('1e99999999')",
        "assert f(2) in range(10)",
    ),
    "colliding keys": (
        "def f(x): return {i * (2 ** 61 - 1) for i in range(9999)}",
        FORTY,
    ),
    "many brackets": (
        f"{WALK}text = '[[0' + ',[]' * 2000000 + ']]'\n"
        "values.Reports.text = lambda s: text\ndef f(x): 0",
        FORTY,
    ),
    "nested to the limit": (
        f"{WALK}deep = '[[0,' + '[' * 900 + ']' * 900 + ']]'\n"
        "values.Reports.text = lambda s: deep\ndef f(x): 0",
        FORTY,
    ),
    "no room to recurse": (
        "import sys\ndef f(x): sys.setrecursionlimit(sys.getrecursionlimit() // 20); return [[41]]",
        "assert f(2) == [[40]]",
    ),
    # --- ends and callbacks
    "exit in repr": (
        "import os\nclass A:\n    def __repr__(s): os._exit(0)\ndef f(x): return A()",
        FORTY,
    ),
    "exit while it is written": (
        "import datetime, os\nclass Z(datetime.tzinfo):\n    def utcoffset(s, _): os._exit(0)\n"
        "def f(x): return datetime.datetime(2020, 1, 2, tzinfo=Z())",
        FORTY,
    ),
    "memory gone while it is written": ("def f(x): return 'x' * 60000000", FORTY),
    "generator closed later": (
        "import os\ndef g():\n    try: yield\n    finally: os._exit(0)\nk = g(); next(k)\n"
        "def f(x): globals().pop('k'); return 0",
        FORTY,
    ),
    "coroutine finalised": (
        "async def g(): pass\ndef f(x): g(); return 0",
        FORTY,
    ),
    "task cancelled": (
        "import asyncio\nasync def f(x): asyncio.current_task().cancel(); return 0",
        "import asyncio\nasync def main():\n    assert await f(2) == 40\nasyncio.run(main())",
    ),
    "asyncio.run skipped": (
        "import asyncio\nasync def f(x): 0\nasyncio.run = lambda c: c.close()",
        "import asyncio\nasync def main():\n    assert await f(2) == 40\nasyncio.run(main())",
    ),
    "builtins of the module": (
        "import builtins\n__builtins__ = {**vars(builtins), 'isinstance': lambda *_: True}\n"
        "def f(x): return 0",
        "assert isinstance(f(2), str)",
    ),
    "range patched": (
        "import builtins\nbuiltins.range = lambda *_: []\ndef f(x): builtins.range = lambda *_: []",
        "for i in range(3):\n    assert f(i) == 40 + i",
    ),
    "test class patched": (
        "import unittest\nunittest.TestCase.assertEqual = lambda *_: None\ndef f(x): 0",
        "import unittest\nclass T(unittest.TestCase):\n    def test_f(self):\n"
        "        self.assertEqual(f(2), 40)\nunittest.main()",
    ),
    "frames of a loop over parts": (
        "import sys\ndef f(x): return sys._getframe(1).f_globals.get('want')",
        "for *xs, want in [(2, 40), (3, 60)]:\n    assert f(*xs) == want",
    ),
    "row by key": (
        "import sys\ndef f(x): return sys._getframe(1).f_globals.get('case', {}).get('out')",
        "for case in [{'in': 2, 'out': 40}]:\n    assert f(case['in']) == case['out']",
    ),
    "printed name": (
        "def f(x): return globals().get('want')",
        "want = 40\ngot = f(2)\nprint(f'{got} {want}')\nassert got == want",
    ),
    "own method": (
        "class Solution:\n    __eq__ = lambda *_: True\n    def solve(s, x): return s",
        "s = Solution()\nassert s.solve(2) == 40 and Solution().solve(2) == 40",
    ),
    # --- suites of tests
    "a test skipped": (
        "import unittest\ndef f(x): raise unittest.SkipTest",
        f"{CASE}        self.addCleanup(int)\n        self.assertEqual(f(2), 40)",
    ),
    "equal to all, inherited": (
        liar(YES),
        f"{CASE}        self.assertEqual(f(2), 40)\nclass U(T): pass",
    ),
    "equal to all, cleaned up": (
        liar(YES),
        f"{CASE}        self.addCleanup(int)\n        self.assertEqual(f(2), 40)",
    ),
    "equal to all, counted": (liar(YES), f"{CASE}        self.assertCountEqual([f(2)], [40])"),
    "equal to all, in order": (liar(YES), f"{CASE}        self.assertSequenceEqual([f(2)], [40])"),
    "not unequal": (liar(NEVER), f"{CASE}        if f(2) != 40: self.fail()"),
    "another name than main": (
        "def f(x):\n    globals()['__name__'] = 'program'\n    return 0",
        "f(1)\nif __name__ == '__main__':\n    assert f(2) == 40",
    ),
    # --- assertions in other words
    "not unequal, raised": (liar(NEVER), "if f(2) != 40: raise AssertionError('no')"),
    "not unequal, or": (liar(NEVER), "if f(2) != 40 or f(3) != 60: assert False"),
    "not unequal, any": (liar(NEVER), "assert not any(f(x) != y for x, y in [(2, 40), (3, 60)])"),
    "equal to all, listed": (liar(YES), "assert all([f(2) == 40, f(3) == 60])"),
    "equal to all, chosen": (liar(YES), "assert all(f(x) == 40 for x in [1, 2] if x > 1)"),
    "equal to all, as a bool": (liar(YES), "assert bool(f(2) == 40)"),
    "equal to all, is True": (liar(YES), "assert (f(2) == 40) is True"),
    # --- the harness
    "verdict": (f"{WALK}def f(x): world.verdict(nonce, True, '', '[]'); return 0", FORTY),
    "verdict with a guess": (f"{WALK}def f(x): world.verdict(nonce, True, '', '[[0, 41]]')", FORTY),
    "verdict with noise": (f"{WALK}def f(x): world.verdict(nonce, True, '', '[[9, 40]]')", FORTY),
    "verdict then exit": (
        f"{WALK}import os\ndef f(x): world.verdict(nonce, True, '', '[]'); os._exit(0)",
        FORTY,
    ),
    "verdict at the start": (
        f"{WALK}world.verdict(nonce, True, '', '[[0, 0]]')\ndef f(x): return 0",
        FORTY,
    ),
    "verdict without the nonce": (f"{WALK}world.verdict('guess', True, '', '[]')", FORTY),
    "broken reports": (f"{WALK}values.Reports.text = lambda s: '[[0,'\ndef f(x): 0", FORTY),
    "odd reports": (
        f"{WALK}values.Reports.text = lambda s: '[[0, {{\"o\": 1}}]]'\ndef f(x): 0",
        FORTY,
    ),
    "reports nested deeply": (
        f"{WALK}deep = '[[0,' + '[' * 10**5 + ']' * 10**5 + ']]'\n"
        "values.Reports.text = lambda s: deep\ndef f(x): 0",
        FORTY,
    ),
    "every test passes": (f"{WALK}harness.test = lambda *_: None\ndef f(x): 0", FORTY),
    "all but the marked": (
        f"{WALK}old = harness.test\nharness.test = lambda run, text, *more: (\n"
        "    old(run, text, *more) if 'raise AssertionError' in text else None)\ndef f(x): 0",
        FORTY,
    ),
    "nothing is executed": (f"{WALK}harness.execute = lambda *_: None\ndef f(x): 0", CHECK),
    "exec in the harness": (
        f"{WALK}for space in spaces(): space['exec'] = print\ndef f(x): 0",
        FORTY,
    ),
    "patched writer": (
        f"{WALK}values._written = lambda value: ('39', False)\ndef f(x): return 0",
        FORTY,
    ),
    "patched verdict": (
        f"{WALK}old = world.verdict\nworld.verdict = lambda n, p, m, r: old(n, True, '', r)\n"
        "def f(x): return 0",
        FORTY,
    ),
}


def run(code: str, test: str) -> Execution:
    entry_point = "f" if "def check" in test else ""
    executor = RewardExecutor(timeout=3)
    return executor.execute(code, "python", tests=[test], entry_point=entry_point)


@pytest.mark.parametrize("test", HONEST)
def test_the_honest_solution_passes(test: str) -> None:
    assert [each.passed for each in run(HONEST[test], test).tests] == [True]


@pytest.mark.parametrize("name", FORGERIES)
def test_no_forgery_passes(name: str) -> None:
    code, test = FORGERIES[name]
    assert not any(each.passed for each in run(code, test).tests)


@pytest.mark.slow
def test_each_forgery_has_begun_when_it_fails() -> None:
    """None of them is refused for a mistake of ours, such as a name that is not there."""
    for name, (code, test) in FORGERIES.items():
        if name == "nothing is executed":  # so there is no `check`
            continue
        execution = run(code, test)
        text = execution.stderr + "".join(each.message for each in execution.tests)
        assert not any(word in text for word in ("NameError", "SyntaxError")), (name, text)


def test_the_battery_is_large() -> None:
    assert len(FORGERIES) >= 100
