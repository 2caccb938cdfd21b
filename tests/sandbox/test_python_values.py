"""Values cross from the Python guest exactly, and nothing that crosses can harm the host."""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict, deque
from datetime import date, datetime, timedelta, timezone
from datetime import time as clock
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.python.values import Opaque, Unreadable, read_reports, shown
from tests.support.labelled import Tables

tables = Tables(__file__)

IMPORTS = """
import datetime, decimal, enum, fractions
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
"""
BERLIN = timezone(timedelta(hours=1))
VALUES: dict[str, Any] = {
    "None": None,
    "True": True,
    "-7": -7,
    "2 ** 64": 2**64,
    "-(10 ** 5000)": -(10**5000),
    "[10 ** 5000, 1]": [10**5000, 1],
    "0.1": 0.1,
    "-0.0": -0.0,
    "1e308 * 10": math.inf,
    "5e-324": 5e-324,
    "1 - 2j": 1 - 2j,
    "'a\\n\"\\\\\\0é\\U0001f600'": 'a\n"\\\0é\U0001f600',
    "'\\ud800x'": "\ud800x",
    "['\\ud800', 'b']": ["\ud800", "b"],
    "b'\\x00\\xff'": b"\x00\xff",
    "bytearray(b'ab')": bytearray(b"ab"),
    "[]": [],
    "[1, [2.5, ['x']], None]": [1, [2.5, ["x"]], None],
    "(1, (2,), ())": (1, (2,), ()),
    "{1, 'a', (2,)}": {1, "a", (2,)},
    "frozenset({frozenset({1})})": frozenset({frozenset({1})}),
    "{'o': 1, 2: [3], (4,): {}}": {"o": 1, 2: [3], (4,): {}},
    "{True: 1, 'T': {'t': 2}}": {True: 1, "T": {"t": 2}},
    "range(1, 9, 3)": range(1, 9, 3),
    "range(2 ** 70)": range(2**70),
    "{1: 2}.keys()": {1: 2}.keys(),
    "{1: 2}.items()": {1: 2}.items(),
    "decimal.Decimal('1.50')": Decimal("1.50"),
    "fractions.Fraction(-1, 3)": Fraction(-1, 3),
    "fractions.Fraction(10 ** 700, 3)": Fraction(10**700, 3),
    "datetime.date(2024, 2, 29)": date(2024, 2, 29),
    "datetime.time(1, 2, 3, 4)": clock(1, 2, 3, 4),
    "datetime.datetime(2024, 2, 29, 1, 2, 3, 4)": datetime(2024, 2, 29, 1, 2, 3, 4),
    "datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))": (
        datetime(2024, 1, 1, tzinfo=BERLIN)
    ),
    "datetime.timedelta(-1, 2, 3)": timedelta(-1, 2, 3),
    "Counter('aab')": Counter("aab"),
    "OrderedDict([(2, 1), (1, 2)])": OrderedDict([(2, 1), (1, 2)]),
    "defaultdict(list, {1: [2]})": {1: [2]},
    "deque([1, [2]])": deque([1, [2]]),
    "int": int,
    "[str, type(None), ValueError]": [str, type(None), ValueError],
    "...": ...,
    "namedtuple('P', 'x y')(1, [2])": (1, [2]),
    "enum.IntEnum('E', 'A B').B": 2,
    "type('S', (str,), {})('x')": "x",
    "type('D', (dict,), {'items': 1})(a=1)": {"a": 1},
}


def reported(expression: str) -> Any:
    """What crosses, seen through an assertion's message: the reader is asked for it directly."""
    code = f"{IMPORTS}\nf = lambda: {expression}\n"
    code += "import sys\nframe = sys._getframe()\n"
    code += "while 'values' not in frame.f_globals: frame = frame.f_back\n"
    code += "print(frame.f_globals['values']._written(f())[0])"
    execution = RewardExecutor(output_limit=20_000_000).execute(code, "python")
    assert execution.status == "ok", execution.stderr
    ((_, (value,)),) = read_reports(f"[[0, {execution.stdout}]]")
    return value


@pytest.mark.parametrize("expression", VALUES)
def test_a_value_crosses_exactly(expression: str) -> None:
    value, wanted = reported(expression), VALUES[expression]
    assert value == wanted
    assert type(value).__name__.removeprefix("_") == type(wanted).__name__  # decimals are guarded
    if isinstance(wanted, float):
        assert math.copysign(1, value) == math.copysign(1, wanted)
    if isinstance(wanted, datetime):
        assert value.utcoffset() == wanted.utcoffset()


def test_nan_crosses() -> None:
    value = reported("[float('nan'), -float('inf')]")
    assert math.isnan(value[0])
    assert value[1] == -math.inf


@tables
def test_any_other_object_is_opaque(expression: str) -> None:
    value = reported(expression)
    assert isinstance(value, Opaque)
    assert value != reported(expression)


@pytest.mark.slow
@tables
def test_what_is_too_deep_or_too_large_fails_its_test_and_no_more(build: str) -> None:
    code = f"def f():\n  global x\n  {build.replace(chr(10), chr(10) + '  ')}\n  return x"
    tests = ["assert f() == 1", "assert f() is not None", "assert 1 == 1"]
    execution = RewardExecutor().execute(code, "python", tests=tests)
    assert [each.passed for each in execution.tests] == [False, True, True]


def test_nesting_up_to_80_crosses() -> None:
    value: Any = []
    for _ in range(78):
        value = {1: value}
    assert reported("__import__('functools').reduce(lambda x, _: {1: x}, range(78), [])") == value


def test_too_much_that_crosses_is_an_output_limit() -> None:
    code = "def f(): return ['x' * 1000] * 9000"
    execution = RewardExecutor().execute(code, "python", tests=["assert f() == []"])
    assert (execution.status, execution.tests) == ("output", ())


@tables
def test_text_that_the_guest_does_not_write_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        read_reports(text)


def test_deep_text_is_refused() -> None:
    for opening, closing in (("[", "]"), ('{"t":[', "]}")):
        with pytest.raises(Unreadable):
            read_reports(f"[[0, {opening * 100_000}{closing * 100_000}]]")
    with pytest.raises(Unreadable):
        read_reports("[[0, " + "9" * 5000 + "]]")


def test_a_type_is_looked_up_among_types_alone() -> None:
    assert isinstance(read_reports('[[0, {"T": "open"}]]')[0][1][0], Opaque)


@pytest.mark.parametrize("tag", ["s", "k", "f"])
def test_keys_that_collide_are_refused_before_they_take_long(tag: str) -> None:
    keys = ",".join(f'{{"i":"{(2**61 - 1) * n:x}"}}' for n in range(2000))
    with pytest.raises(Unreadable, match="hash"):
        read_reports(f'[[0, {{"{tag}":[{keys}]}}]]')


def test_a_long_list_is_written_fast_enough_for_a_short_limit() -> None:
    code = "def f(): return list(range(100_000))"
    started = time.monotonic()
    tests = ["assert f() == list(range(100_000))"]
    execution = RewardExecutor(timeout=2).execute(code, "python", tests=tests)
    assert execution.tests[0].passed, (execution.tests, time.monotonic() - started)


def test_shown_is_short_whatever_it_is() -> None:
    for value in (10**9999, "x" * 9999, [list(range(99))] * 99, b"x" * 9999, {1: "y" * 999}):
        assert len(shown(value)) <= 163
    assert shown([1, "a", None, Opaque("P")]) == "[1, 'a', None, <P object>]"
