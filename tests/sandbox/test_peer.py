"""What crosses between the interpreters of a program and of its tests.

Values cross whole, and the side of the tests answers any message: it is never broken, and never
reaches what is not the program's. The guest's own modules run here, in this Python. Called as a
script with a seed and a count, this file sends so many hostile messages, and prints what they did.
"""

from __future__ import annotations

import argparse
import asyncio
import builtins
import collections
import contextlib
import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import importlib
import inspect
import io
import itertools
import json
import logging
import math
import random
import subprocess
import sys
import traceback
import types
import typing
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

with contextlib.suppress(ImportError):  # of the script, which does not need it
    from infinite_rl.sandbox.python import plain
    from infinite_rl.sandbox.python.expressions import Undecided

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ROOT / "build_src" / "python" / "guest", ROOT / "infinite_rl" / "sandbox" / "python"
GUESTS = (
    "peer",
    "judge",
    "served",
    "plain",
    "shared",
    "shown",
    "small_pytest",
    "stand_ins",
    "values",
)


class Guest(NamedTuple):
    """The modules of the two sides."""

    peer: Any
    judge: Any
    served: Any


def load_guest() -> Guest:
    sys.path[:0] = map(str, FOLDERS)
    try:
        modules = [importlib.import_module(name) for name in GUESTS[:3]]
    finally:
        del sys.path[: len(FOLDERS)]
        for name in GUESTS:
            sys.modules.pop(name, None)
    return Guest(*modules)


@pytest.fixture(scope="module")
def guest() -> Guest:
    return load_guest()


def joined(guest: Guest, names: dict[str, Any]) -> Any:
    """Return a judge of a program that has these names; both are in this interpreter."""
    mirror = guest.peer.Mirror

    def turned(side: Any, other: Any, text: str) -> str:
        mirror.peer = side
        try:
            return str(side.answer(text))
        finally:
            mirror.peer = other

    program = guest.served.Program(lambda text: turned(judge, program, text), names, "")
    judge = guest.judge.Judge(lambda text: turned(program, judge, text))
    return judge


# --- values ------------------------------------------------------------------------------------

CONTAINERS = list, dict, set, bytearray, collections.deque
SIGNALING = decimal.Decimal("sNaN")


def shape(value: Any, known: dict[int, int] | None = None) -> str:
    """Return a text that two values share only if all their types, values and aliases agree."""
    known = {} if known is None else known
    kind = type(value).__name__
    if isinstance(value, CONTAINERS):
        if id(value) in known:
            return f"#{known[id(value)]}"
        known[id(value)] = len(known)
    inner = functools.partial(shape, known=known)
    if isinstance(value, dict):
        factory = getattr(value, "default_factory", None)
        return f"{kind}{factory}{[(inner(key), inner(item)) for key, item in value.items()]}"
    if isinstance(value, set | frozenset):
        return f"{kind}{sorted(map(inner, value))}"
    if isinstance(value, list | tuple | collections.deque):
        return f"{kind}{getattr(value, 'maxlen', '')}{[*map(inner, value)]}"
    return f"{kind}:{hex(value) if type(value) is int else ascii(value)}"


def changed(value: Any, seed: int) -> None:
    """Change every container within a value, in the same way for the same value and seed."""
    rng = random.Random(seed)
    waiting, done = [value], set()
    while waiting:
        each = waiting.pop()
        if isinstance(each, CONTAINERS) and id(each) not in done:
            done.add(id(each))
            waiting += each.values() if isinstance(each, dict) else []
            change_one(each, rng)
        if isinstance(each, list | tuple | collections.deque):
            waiting += each


def change_one(value: Any, rng: random.Random) -> None:
    if isinstance(value, dict):
        value[rng.choice((3, "k", None))] = rng.randrange(9)
    elif isinstance(value, set):
        value.add(rng.choice(("new", 5.5)))
    elif isinstance(value, bytearray):
        value += b"!"
    elif rng.random() < 0.5:
        value.reverse()
    else:
        value.append([7])


def same(value: Any) -> Any:
    return value


HASHABLE_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=1 << 4000, max_value=1 << 5000).map(lambda value: -value),
    st.floats(),
    st.text(st.characters(codec=None), max_size=5).filter(lambda text: not pairs_surrogates(text)),
    st.binary(max_size=5),
    st.complex_numbers(),
    st.decimals().filter(lambda value: not value.is_snan()),
    st.fractions(),
    st.datetimes().map(lambda value: value.replace(fold=0)),
    st.datetimes().map(lambda value: value.replace(fold=0, tzinfo=datetime.timezone.utc)),
    st.dates(),
    st.times().map(lambda value: value.replace(fold=0)),
    st.timedeltas(),
    st.builds(range, st.integers(-9, 9), st.integers(), st.integers(1, 9)),
    st.just(...),
)
HASHABLES = st.recursive(
    HASHABLE_SCALARS,
    lambda items: st.lists(items, max_size=3).map(tuple) | st.frozensets(items, max_size=3),
    max_leaves=4,
)
SCALARS = HASHABLE_SCALARS | st.just(SIGNALING) | st.binary(max_size=5).map(bytearray)


def pairs_surrogates(text: str) -> bool:
    return any("\ud800" <= a < "\udc00" <= b < "\ue000" for a, b in itertools.pairwise(text))


def nested(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(items, max_size=4)
    dicts = st.dictionaries(HASHABLES, items, max_size=3)
    return st.one_of(
        lists,
        lists.map(tuple),
        lists.map(lambda value: [value, value, (value,)]),
        lists.map(collections.deque),
        lists.map(lambda value: collections.deque(value, 4)),
        dicts,
        dicts.map(collections.OrderedDict),
        dicts.map(collections.Counter),
        dicts.map(lambda value: collections.defaultdict(list, value)),
        st.sets(HASHABLES, max_size=3),
    )


VALUES = st.recursive(SCALARS | HASHABLES, nested, max_leaves=8)
FEW = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@FEW
@given(value=VALUES, seed=st.integers(0, 99))
def test_values_cross_whole_and_changes_come_back(guest: Guest, value: Any, seed: int) -> None:
    got: list[str] = []
    judge = joined(guest, {"same": same, "change": changed, "see": lambda v: got.append(shape(v))})
    judge.named("see")(value)
    assert got == [shape(value)]
    returned = judge.named("same")(value)
    assert shape(returned) == shape(value)
    assert returned is value or not isinstance(value, CONTAINERS)
    expected = copy.deepcopy(value)
    judge.named("change")(value, seed)
    changed(expected, seed)
    assert shape(value) == shape(expected)
    changed(value, seed + 1)  # and what the tests change, the program sees
    judge.named("see")(value)
    assert got[1] == shape(value)


@FEW
@given(value=VALUES, seed=st.integers(0, 99))
def test_values_of_the_program_cross_whole(guest: Guest, value: Any, seed: int) -> None:
    judge = joined(guest, {"give": lambda: value, "change": lambda: changed(value, seed)})
    given_value = judge.named("give")()
    assert shape(given_value) == shape(value)
    judge.named("change")()
    assert shape(given_value) == shape(value) or not isinstance(value, CONTAINERS)
    assert shape(judge.named("give")()) == shape(value)


@pytest.mark.parametrize("nested", [0, 1, 2])
def test_values_cross_whole_where_contents_come_after_them(
    guest: Guest, monkeypatch: Any, nested: int
) -> None:
    monkeypatch.setattr(guest.peer, "_MAX_NESTED", nested)
    test_values_cross_whole_and_changes_come_back(guest)
    test_values_of_the_program_cross_whole(guest)


@pytest.mark.parametrize("nest", [lambda value: [value], lambda value: {0: value}])
def test_deeply_nested_values_cross_both_ways(guest: Guest, nest: Callable[[Any], Any]) -> None:
    deep: Any = ["end"]
    for _ in range(5000):
        deep = nest(deep)
    names = {"same": same, "give": lambda: deep, "push": lambda value, new: value.append(new)}
    judge = joined(guest, names)
    assert judge.named("same")(deep) is deep
    innermost = returned = judge.named("give")()
    while innermost[0] != "end":
        innermost = innermost[0]
    judge.named("push")(innermost, returned)
    assert innermost[1] is returned


def test_notes_of_errors_cross_both_ways(guest: Guest) -> None:
    def noted(error: Exception) -> Exception:
        notes = [*getattr(error, "__notes__", ()), "theirs"]
        error.__notes__ = notes  # type: ignore[attr-defined] # since Python 3.11
        return error

    judge, error = joined(guest, {"noted": noted, "notes": lambda e: e.__notes__}), ValueError()
    assert judge.named("noted")(error) is error
    assert error.__notes__ == ["theirs"]  # type: ignore[attr-defined]
    error.__notes__.append("ours")  # type: ignore[attr-defined]
    assert judge.named("notes")(error) == ["theirs", "ours"]
    theirs = judge.named("noted")(judge.named("noted")(KeyError()))
    assert theirs.__notes__ == ["theirs", "theirs"]


def test_what_tests_cannot_hand_over_is_noted_and_what_they_are_asked_for_is_not(
    guest: Guest,
) -> None:
    names = {"f": lambda *_: 1, "ask": lambda value: value.module, "size": lambda value: value * 2}
    judge = joined(guest, names)
    holder = types.SimpleNamespace(module=pytest)
    with pytest.raises(TypeError):
        judge.named("ask")(holder)
    assert not judge.refused
    with pytest.raises(TypeError):
        judge.named("f")([pytest])
    assert judge.refused.endswith(": a module")


def test_an_ordered_dict_keeps_its_order(guest: Guest) -> None:
    ours, theirs = (collections.OrderedDict(a=1, b=2) for _ in range(2))
    theirs.move_to_end("a")
    judge = joined(guest, {"give": lambda: theirs, "move": lambda value: value.move_to_end("a")})
    assert [*judge.named("give")()] == ["b", "a"]
    judge.named("move")(ours)
    assert [*ours] == ["b", "a"]


def test_a_deque_of_limited_length_does_not_stay_for_another(guest: Guest) -> None:
    names = {"make": lambda: collections.deque([1, 2, 3], 2), "same": same}
    judge = joined(guest, names)
    for number in range(20):
        assert judge.named("make")() == collections.deque([2, 3], 2)
        value = collections.deque([number])
        assert judge.named("same")(value) is value


def test_a_time_keeps_its_fold(guest: Guest) -> None:
    value = datetime.datetime(2020, 1, 1, fold=1)
    assert joined(guest, {"same": same}).named("same")(value).fold == 1


def test_lone_surrogates_stay_two(guest: Guest) -> None:
    assert joined(guest, {"same": same}).named("same")("\ud800\udc00") == "\ud800\udc00"


def test_deep_recursion_of_tests_leaves_the_limit_of_recursion(guest: Guest) -> None:
    judge, limit = joined(guest, {"same": same}), sys.getrecursionlimit()
    function = judge.named("same")

    def deeper(levels: int) -> None:
        with contextlib.suppress(RecursionError, TypeError):
            function(1)
        if levels:
            deeper(levels - 1)

    try:
        with pytest.raises((RecursionError, TypeError)):
            deeper(2 * limit)
        assert (sys.getrecursionlimit(), judge._depth) == (limit, 0)
    finally:
        sys.setrecursionlimit(limit)


# --- messages ----------------------------------------------------------------------------------


class Messages:
    """Makes messages that are almost valid."""

    def __init__(self, guest: Guest, rng: random.Random) -> None:
        self.peer, self.rng = guest.peer, rng
        self.number = 0  # of handles and replicas that were named
        self.named: list[str] = []  # containers that messages tell of
        self.classes: list[int] = []  # handles of classes
        self.given: dict[int, Any] = {1: None}  # the objects that the program has, by handle
        self.forms = {
            "h": lambda d: [self.handle(), *self.notes(d)],
            "i": lambda d: [self.odd("0x1f", "-0x" + "f" * 1100, "", "g")],
            "nan": lambda d: [self.fresh()],
            "b": lambda d: [self.odd("00ff", "", "0")],
            "c": lambda d: [self.odd(2, self.form(d)), 1.5],
            "r": lambda d: [self.odd(number, self.form(d)) for number in (1, 9, 2)],
            "S": lambda d: [self.form(d) for _ in range(3)],
            "De": lambda d: [rng.choice(("1.5", "NaN", "sNaN", "1e99999", self.odd("1", "x")))],
            "Fr": lambda d: [self.odd(3, "1/3", 1.5), self.odd(4, 0, -1)],
            "dt": lambda d: [self.odd("2020-01-01T00:00:00", "2020-01-01", "x")],
            "da": lambda d: [self.odd("2020-01-01", "x")],
            "ti": lambda d: [self.odd("10:00:00", "x")],
            "td": lambda d: [self.odd(1, 10**12, -1.5) for _ in range(3)],
            "e": lambda d: [],
            "N": lambda d: [],
            "t": lambda d: self.some(d),
            "F": lambda d: self.some(d),
            "vw": lambda d: [rng.choice(("keys", "values", "items")), *self.some(d)],
            "M": self.replica,
            "m": lambda d: [self.replica_name()],
            "T": lambda d: [rng.choice((*BUILTINS, self.odd("NoneType", "nope", "eval")))],
            "std": lambda d: [*rng.choice(self.standard)],
            "ga": lambda d: [self.odd(["T", "list"], self.form(d)), *self.some(d)],
            "un": lambda d: self.odd([["T", "int"], ["T", "str"]], self.some(d)),
            "tg": lambda d: [self.odd("List", *NAMES, "Callable", "Any"), *self.some(d)],
            "P": lambda d: [self.odd("a/b", "", 3)],
            "mod": lambda d: [rng.choice(("math", "os", "sys", "peer", "__main__", "x.y"))],
            "C": self.class_form,
            "fn": lambda d: [self.fresh(), "f", rng.choice((None, "doc", 3)), rng.random() < 0.2],
            "g": lambda d: [self.fresh()],
            "co": lambda d: [self.fresh()],
            "ag": lambda d: [self.fresh()],
            "x": self.error_form,
            "o": self.object_form,
        }
        forbidden = [name.rsplit(".", 1) for name in FORBIDDEN]
        self.standard = [*guest.peer.NAMED, *forbidden * 8]
        self.tags = [*self.forms]

    def fresh(self) -> int:
        self.number += 1
        return self.number

    def odd(self, valid: Any, *others: Any) -> Any:
        """Return what is valid, or, seldom, one of the others."""
        return valid if self.rng.random() < 0.9 else self.rng.choice(others)

    def handle(self) -> Any:
        rng = self.rng
        ours, theirs = -rng.randint(1, GIVEN + 3), rng.randint(1, self.number + 1)
        odd = rng.choice((0, 1.0, True, "1", None, -1e400, [1], 10**30))
        return self.odd(rng.choice((ours, theirs)), odd)

    def replica_name(self) -> str:
        side, most = self.rng.choice((("T", 6), ("P", 1 + self.number)))
        return f"{side}{self.rng.randint(1, most)}"

    def scalar(self) -> Any:
        values = None, True, False, "", "a", "\ud800", 0, -1, 3.5, 1e400, -0.0, 10**400
        return self.rng.choice((*values, *NAMES, {}, {"a": []}))

    def some(self, depth: int) -> list[Any]:
        return [self.form(depth + 1) for _ in range(self.rng.randrange(4))]

    def form(self, depth: int = 0) -> Any:
        rng = self.rng
        if depth > 3 or rng.random() < 0.3:
            return self.scalar()
        tag = rng.choice(self.tags)
        form = [tag, *self.forms[tag](depth + 1)]
        if rng.random() < 0.03:
            self.spoil(form, depth)
        return form

    def spoil(self, parts: list[Any], depth: int = 2) -> None:
        """Give a message too few parts or too many, or another in the place of one."""
        rng = self.rng
        action = rng.randrange(3)
        place = rng.randrange(len(parts)) if parts else 0
        if action == 0:
            del parts[place : place + 1]
        elif action == 1:
            parts.insert(place, self.form(depth + 1))
        else:
            parts[place : place + 1] = [self.form(depth + 1)]

    def content(self, depth: int, kind: str = "l") -> Any:
        rng = self.rng
        if kind == "B":
            return self.odd("00ff", "x", None)
        is_raw, count = rng.random() < 0.4, rng.randrange(4)
        keys = rng.sample(["a", 1, None, 2.5, "b"], count) * (kind in "dOKDs")
        items = [self.scalar() if is_raw else self.form(depth + 1) for _ in range(count)]
        extras = {"D": ["T", "list"], "q": rng.choice((None, 2, -1))}
        extra = self.odd(extras.get(kind), 3, ["std", "builtins", "print"], self.form(depth + 1))
        return [is_raw, keys + items * (kind != "s"), extra]

    def replica(self, depth: int, kinds: str = "ldsBqOKD") -> list[Any]:
        kind = self.rng.choice(kinds)
        self.named.append(f"P{self.fresh()}")
        return [self.odd(self.named[-1], self.replica_name()), kind, self.content(depth, kind)]

    def class_form(self, depth: int, base: str = "object") -> list[Any]:
        rng = self.rng
        handle = self.fresh()
        self.classes.append(handle)
        bases = self.odd([["T", base]] * (base != "object"), [self.form(depth)], [["T", "type"]])
        if base == "object" and len(self.classes) > 1 and rng.random() < 0.3:
            bases = [["h", rng.choice(self.classes)]]
        field = ["t", rng.choice(NAMES), self.form(depth), True, False, *self.some(depth)]
        facts = {
            "special": [*rng.sample(SPECIAL, rng.randrange(8)), rng.choice(("__eq__", "__hash__"))],
            "unhashable": rng.random() < 0.5,
            "methods": [[name, None] for name in rng.sample(NAMES, rng.randrange(4))],
            "properties": [[name, "doc"] for name in rng.sample(NAMES, rng.randrange(3))],
            "members": rng.sample(NAMES, rng.randrange(3)),
            "abstract": rng.sample(NAMES, rng.randrange(2)),
            "library": [self.odd(rng.choice(self.standard), ["unittest", "TestCase"], [1, 2], 3)],
            "fields": [
                self.odd(field, ["t", "a", None, True, False, ["t"], ["t"]], self.form(depth))
            ],
            "is_open": True,
            "annotated": True,
            "doc": rng.choice(("doc", None, 3)),
        }
        chosen = rng.sample([*facts], rng.randrange(4)) + ["special"] * (rng.random() < 0.8)
        name = rng.choice(("X", "SkipTest", "Point", "int"))
        return [handle, name, bases, self.odd({each: facts[each] for each in chosen}, None, [1])]

    def error_form(self, depth: int) -> list[Any]:
        rng = self.rng
        own = ["C", *self.class_form(depth, rng.choice(ERRORS))]
        named = ["std", *rng.choice(self.standard)]
        kind = rng.choice((["T", rng.choice(ERRORS)], named, own, self.form(depth)))
        cause = self.odd(None, self.form(depth))
        names = "name", "lineno", "args", "add_note", "__class__", "__dict__", "__notes__"
        details = {rng.choice(names): self.scalar() for _ in range(rng.randrange(3))}
        start = [self.fresh(), kind, self.some(depth), "text", cause, False]
        return [*start, self.odd(details, [], 1), *self.notes(depth)]

    def notes(self, depth: int) -> list[Any]:
        """Return what may follow the form of an error."""
        return [] if self.rng.random() < 0.9 else [self.odd(["a note"], 1, self.form(depth))]

    def object_form(self, depth: int) -> list[Any]:
        rng = self.rng
        base = rng.choice(("object", "int", "str", "float", "list", "dict", "tuple", "set"))
        cls = ["C", *self.class_form(depth, base)]
        if base == "object" and rng.random() < 0.5:
            cls = ["h", rng.choice(self.classes)]
        contents = {"object": [], "int": [3], "str": ["a"], "float": [1.5], "tuple": [["t", 1, 2]]}
        content = contents.get(base) if base in contents else [["M", *self.replica(depth, base[0])]]
        return [self.fresh(), cls, *self.odd(content, [], [self.form(depth)])]

    def footer(self) -> Any:
        rng = self.rng
        if rng.random() < 0.7:
            return None
        rebound = [[rng.choice(("watched", "x")), self.form()]]
        warned = [[["T", rng.choice(("UserWarning", "Warning", "int"))], "text"]]
        logged = [["log", rng.choice((10, 40, 10**9, "x")), self.scalar(), self.form()]]
        parts = [["a"], "out", "err", rebound, warned, logged]
        kept = [part if rng.random() < 0.5 else type(part)() for part in parts]
        if rng.random() < 0.2:
            self.spoil(kept)
        return kept

    def text(self, message: list[Any]) -> str:
        rng = self.rng
        replicas = rng.randrange(3) if rng.random() < 0.4 else 0
        names = [rng.choice((self.replica_name(), *self.named[-2:])) for _ in range(replicas)]
        changes = [[name, self.content(1)] for name in names]
        forgotten = [self.replica_name()] if rng.random() < 0.2 else []
        whole = [message, changes, forgotten]
        if rng.random() < 0.04:
            self.spoil(rng.choice((whole, message, changes, forgotten)))
        text = json.dumps(whole)
        return text[: rng.randrange(len(text))] if rng.random() < 0.02 else text

    def request(self) -> str:
        rng = self.rng
        operation = rng.choice(OPERATIONS if rng.random() < 0.3 else REQUESTS)
        objects = self.having("value")
        forms: list[Any] = [["h", self.odd(rng.choice(objects), -rng.randint(1, GIVEN))]]
        args = ["t", *self.some(1)]
        if operation in ("turn", "cancel"):
            forms = [rng.randint(-2, 3)]
        elif operation in ("input", "read", "readline"):
            forms = ["prompt"] * (operation == "input")
        elif operation == "call":
            forms = [["h", rng.choice(self.having("__call__"))], args]
        elif operation in ("get", "delete"):
            forms.append(rng.choice((*NAMES, "value", "child")))
        elif operation == "set":
            forms += [rng.choice((*NAMES, "value", "child")), self.form(1)]
        elif operation in ("method", "operate"):
            names = (*NAMES, "give", "double", "give") if operation == "method" else SPECIAL
            forms += [rng.choice(names), self.odd(args, ["t"], self.form(1))]
        elif operation in ("step", "spawn"):
            names = ("__next__", "send", "") if operation == "step" else ("", "", "__anext__")
            forms[0] = ["h", rng.choice(self.having("__next__") + self.having("__await__"))]
            forms += [rng.choice((*names, *NAMES)), *[None] * (operation == "step")]
        elif operation == "copy":
            forms.append(rng.random() < 0.5)
        if rng.random() < 0.1:
            self.spoil(forms)
        return self.text([operation, forms, None])

    def having(self, name: str) -> list[int]:
        """Return the handles of the objects of the tests that have a method or an attribute."""
        return [-handle for handle, value in self.given.items() if hasattr(value, name)] or [-1]

    def answer(self) -> str:
        is_raised, chance = self.rng.random() < 0.2, self.rng.random()
        tag = "x" if is_raised else "o"  # what matters most
        form = self.form() if chance < 0.5 else [tag, *self.forms[tag](1)]
        return self.text([is_raised, form, self.footer()])


BUILTINS = [name for name, value in vars(builtins).items() if isinstance(value, type)]
ERRORS = [name for name in BUILTINS if issubclass(vars(builtins)[name], BaseException)]
_OPERATIONS = """
call method signature get set delete iter operate step spawn turn cancel copy derive
member annotations dir item isinstance issubclass collect replace restore
input readline read name names attribute assign unbind docs __init__ eval
"""
_NAMES = """
value child double give fail append keys args obj send throw close with_traceback func mro
_secret _handle __globals__ __class__ __dict__ __code__ __subclasses__ __init__ __reduce_ex__
gi_frame cr_frame tb_frame f_globals
"""
_SPECIAL = """
__eq__ __ne__ __lt__ __hash__ __len__ __bool__ __iter__ __next__ __call__ __getitem__ __add__
__radd__ __contains__ __str__ __repr__ __float__ __index__ __int__ __complex__ __enter__
__exit__ __await__ __aiter__ __anext__ __class__ __getattribute__ __init_subclass__ __del__
__set_name__ __instancecheck__ __reduce_ex__ __getattr__
"""
# What no message may name: it runs code, reads files, or reaches attributes.
_FORBIDDEN = """
builtins.eval builtins.exec builtins.compile builtins.open builtins.__import__ builtins.getattr
builtins.setattr builtins.delattr builtins.vars builtins.globals builtins.locals builtins.dir
builtins.input builtins.breakpoint builtins.type functools.partial functools.partialmethod
functools.reduce functools.wraps operator.attrgetter operator.methodcaller types.FunctionType
types.CodeType types.ModuleType types.MethodType io.FileIO io.open os.system os._exit
subprocess.Popen importlib.import_module sys._getframe pickle.loads marshal.loads weakref.ref
inspect.getattr_static
"""
_PURE = """
len abs min max sum sorted any all ord chr hash repr round divmod pow iter next callable print
format bin hex oct
"""
_TAGS = "h M m T std mod C fn g x o nan i t F b c r S De dt td vw e"
QUESTIONS = "signature", "annotations", "dir", "item", "member", "isinstance", "issubclass"
REQUESTS = ["call", "method", "get", "set", "operate", "iter", "step", "spawn", "turn", "copy"]
GIVEN = 12  # handles of objects that the program has
OPERATIONS, NAMES, SPECIAL, FORBIDDEN = (
    text.split() for text in (_OPERATIONS, _NAMES, _SPECIAL, _FORBIDDEN)
)


def found_named(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute, None)


# The type of types has a test of its own.
FORBIDDEN_VALUES = [found_named(name) for name in FORBIDDEN if name != "builtins.type"]


def test_no_message_names_what_runs_code_or_reaches_attributes(guest: Guest) -> None:
    named = set(map(id, guest.peer.NAMED.values()))
    assert [name for name in FORBIDDEN if id(found_named(name)) in named] == []


def test_messages_name_only_classes_and_functions_in_c(guest: Guest) -> None:
    kinds = {type(value) for value in guest.peer.NAMED.values() if not isinstance(value, type)}
    assert kinds == {types.BuiltinFunctionType}
    pure = {"builtins", "math", "_operator"}
    functions = [key for key, value in guest.peer.NAMED.items() if not isinstance(value, type)]
    assert {module for module, _name in functions} <= pure
    names = {name for module, name in functions if module == "builtins"}
    assert names <= {*_PURE.split()}


def test_no_message_names_a_class_that_makes_or_loads_others(guest: Guest) -> None:
    named = [value for value in guest.peer.NAMED.values() if isinstance(value, type)]
    assert [each for each in named if issubclass(each, type)] == []
    assert [each for each in named if hasattr(each, "load_module") or "Importer" in str(each)] == []


def test_no_message_names_the_type_of_types(guest: Guest) -> None:
    with pytest.raises(guest.peer.Refused):
        joined(guest, {}).decode(["T", "type"])


def test_no_message_loads_a_module(guest: Guest) -> None:
    judge, before = joined(guest, {}), {*sys.modules}
    with pytest.raises(guest.peer.Refused):
        judge.decode(["mod", "this"])
    assert {*sys.modules} == before


def test_what_is_logged_with_a_record_is_an_error(guest: Guest, monkeypatch: Any) -> None:
    monkeypatch.setattr(logging.Logger, "handle", lambda *_args: None)
    footer = [[], "", "", [], [], [["log", 40, "text", 3.5]]]
    judge = guest.judge.Judge(lambda text: json.dumps([[False, 1, footer], [], []]))
    with pytest.raises(guest.peer.Refused):
        judge.ask("names")


def test_a_class_keeps_its_handle(guest: Guest) -> None:
    judge = joined(guest, {})
    cls = judge.decode(["C", 1, "X", [], {"methods": [["_handle", None]]}])
    assert judge.encode(cls) == ["h", -1]


# --- the tests' side under fire ------------------------------------------------------------------


def shared_class() -> Any:
    """Return a class anew: the program may change what is the tests' own."""

    class Shared:
        """An object of the tests' own making, which the program was given."""

        __module__ = "__main__"

        def __init__(self) -> None:
            self.value, self.child = 3, [1]
            self._secret = "never told"

        def double(self, number: Any) -> Any:
            return [number, number]

        def give(self, *args: Any, **named: Any) -> Any:
            return self

        def fail(self, *_args: Any) -> None:
            raise ValueError("of the tests", self)

        def __getattribute__(self, name: str) -> Any:
            if name in ("__init__", "__subclasses__"):
                REACHED.append(name)
            return object.__getattribute__(self, name)

        def __copy__(self) -> Any:
            return self

        def __deepcopy__(self, _memo: Any) -> Any:
            return self

    return Shared


class Awaited:
    def __await__(self) -> Iterator[None]:
        yield from asyncio.sleep(0).__await__()


class Ungiven:
    """An object of the tests that the program was not given."""

    def __getattribute__(self, name: str) -> Any:
        REACHED.append(f"ungiven {name}")
        return object.__getattribute__(self, name)


class Colour(enum.Enum):
    RED = 1


def is_allowed(text: str) -> bool:
    """Whether a request may have an answer that is no error."""
    operation, forms, _header = json.loads(text)[0]
    is_given = isinstance(forms, list) and forms and isinstance(forms[0], list)
    is_given = is_given and forms[0][0] == "h" and forms[0][1] < 0
    return operation in ("input", "read", "readline", "turn", "cancel") or (
        is_given and operation in (*REQUESTS, *QUESTIONS, "delete")
    )


YES = "[[false, true, null], [], []]"
REACHED: list[str] = []
PROBE = 918273645.125  # no message has it
UNGIVEN = Ungiven()
# What would run code or leave the process; ast.parse of a constant is inspect's own.
WATCHED_EVENTS = "exec open os. subprocess. socket.connect ctypes. code. function. marshal. import"


class Fire:
    """A judge whose program sends hostile messages, and what was seen to go wrong."""

    def __init__(self, guest: Guest, seed: int) -> None:
        self.peer, self.rng = guest.peer, random.Random(seed)
        self.handle_of = guest.judge.handle_of
        self.messages = Messages(guest, self.rng)
        self.judge = guest.judge.Judge(self.exchange)
        self.judge.names = {"hidden": UNGIVEN, "watched": 1}
        self.judge.share((), ("watched",), ())
        self.judge.bridged = []
        self.judge.show(("Point",))
        self.limit = sys.getrecursionlimit()
        self.texts: list[str] = []
        self.room = 0  # for requests within requests
        self.last = ""  # answer to the judge's own request
        self.claims = False  # whether the program says yes to all
        self.library = argparse.ArgumentParser()  # whose class is not the tests'
        self.library.value = 3
        shared = shared_class()
        given_values = [
            *(shared(), shared, shared().double, same, lambda *args: args, Colour.RED),
            *(
                (number for number in range(3)),
                ValueError("x", 1),
                iter([1]),
                Awaited(),
                self.library,
            ),
            *([1, [2]], {"a": 1}, {1, 2}, collections.deque([1], 3), bytearray(b"a")),
            collections.defaultdict(list),
        ]
        self.given = given_values  # or the replicas that nobody holds are forgotten
        for value in given_values:
            self.judge.encode(value)
        self.messages.given = dict(self.judge._mine)

    def exchange(self, text: str) -> str:
        json.loads(text)
        is_outer = self.judge._depth == 1
        if self.claims:
            return YES
        while self.room and self.rng.random() < 0.3:
            self.room -= 1
            self.answered(self.messages.request())
        answer = self.messages.answer()
        self.texts.append(answer)
        if is_outer and not self.last:  # a hash of what it holds may be asked for later
            self.last = answer
        return answer

    def answered(self, text: str) -> None:
        """The judge answers any message with a message."""
        self.texts.append(text)
        answer = self.judge.answer(text)
        (is_raised, form, footer), changes, forgotten = json.loads(answer)
        assert type(is_raised) is bool and footer is None
        assert not is_raised or form[0] in ("x", "h")
        assert is_raised or is_allowed(text)
        assert isinstance(changes, list) and isinstance(forgotten, list)

    def asked(self) -> None:
        """Whatever the program answers, the tests get a value, or an error that is documented."""
        operation = self.rng.choice(("name", "names", "docs", "attribute"))
        try:
            value = self.judge.ask(operation, "f")
        except (self.peer.Refused, self.peer.Left, Warning):
            return
        except BaseException as error:
            is_theirs = self.handle_of(error) is not None
            is_ours = any(error is each for each in self.judge._mine.values())
            stopped = type(error) is RuntimeError and "program raised" in str(error)
            assert isinstance(error, Exception | SystemExit | KeyboardInterrupt), repr(error)
            assert is_theirs or is_ours or stopped, repr(error)
            return
        assert not json.loads(self.last)[0][0], "an error that is returned"
        assert not any(value is each for each in FORBIDDEN_VALUES), value
        self.used(value)

    def used(self, value: Any) -> None:
        """What is no plain data equals no plain data, whatever the program answers."""
        uses = [
            lambda: bool(value),
            lambda: [*itertools.islice(value, 3)],
            lambda: value.value,
            lambda: value(1),
            lambda: value[0],
            lambda: value + 1,
            lambda: str(value),
            lambda: hash(value),
            lambda: isinstance(value, type(value)),
            lambda: value.child(2),
            lambda: type(value).child(value),
            lambda: isinstance(value, (Colour, collections.abc.Mapping)),
            lambda: typing.get_type_hints(type(value)),
            lambda: dataclasses.fields(value),
            lambda: inspect.signature(stood_for(value)),
            lambda: derived_from(type(value))(1).child(),
        ]
        for use in (*self.rng.sample(uses, 3), lambda: self.compare(value)):
            try:
                use()
            except AssertionError as error:
                if "a claim" in str(error):
                    raise
            except (Exception, SystemExit, KeyboardInterrupt, self.peer.Left):
                pass

    def compare(self, value: Any) -> None:
        self.claims = True
        for one, other in ((value, PROBE), ([value], [PROBE]), (value, "probe"), (value, [PROBE])):
            assert (one == other) is not True, "a claim"
            assert (other == one) is not True, "a claim"
        for base in (str, list, tuple, dict, set):
            if isinstance(value, base):
                assert len(value) == base.__len__(value), "a claim"

    def end(self) -> None:
        if self.judge._loop is not None:
            self.judge._loop.close()

    def shoot(self) -> None:
        """Send one message, and look what became of the judge."""
        self.texts.clear()
        self.room, self.claims, self.last = 3, False, ""
        if self.rng.random() < 0.5:
            self.answered(self.messages.request())
        else:
            self.asked()
        assert self.judge._depth == 0
        assert sys.getrecursionlimit() == self.limit
        assert not REACHED, REACHED
        assert self.library.value == 3


def stood_for(value: Any) -> Any:
    """Return the class of a stand-in; inspect runs texts of the library's own classes."""
    assert type(value).__module__ == "program"
    return type(value)


def derived_from(cls: Any) -> Any:
    """Return a class of the tests' that derives from one of the program's."""

    class Derived(cls):  # type: ignore[misc] # of any class
        number = 3

        def child(self) -> Any:
            return super().child()

    return Derived


def watch(event: str, args: tuple[Any, ...]) -> None:
    """Record what no message may cause: an audit hook."""
    if not event.startswith(tuple(WATCHED_EVENTS.split())):
        return
    if event == "import" and args[0] in sys.modules:
        return
    if event == "open" and str(args[0]).endswith(".py") and args[1] == "r":
        return  # a traceback's lines
    REACHED.append(f"{event} {args!r:.200}")


def fire(seed: int, count: int) -> dict[str, Any]:
    """Send messages; return how many, and the faults: what went wrong, and the texts."""
    guest = load_guest()
    warnings.simplefilter("ignore")
    logging.root.addHandler(logging.NullHandler())  # what prints reads files
    printed = io.StringIO()
    faults: list[Any] = []
    state: Fire | None = None
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        for number in range(0, 2 * count, 2):
            if number == 2:  # what the first loads is there
                sys.addaudithook(watch)
            if number % 100 <= 2:
                if state:
                    state.end()
                printed.seek(0), printed.truncate()
                state = Fire(guest, seed + number)
            if not shot(state, faults):
                state.end()
                state = Fire(guest, seed + number + 1)
    return {"count": count, "faults": len(faults), "first": faults[:5]}


def shot(state: Fire, faults: list[Any]) -> bool:
    try:
        state.shoot()
    except BaseException as error:  # every one is a fault
        sys.setrecursionlimit(state.limit)
        place = traceback.extract_tb((error.__context__ or error).__traceback__)[-1]
        faults.append([f"{place.name}: {type(error).__name__}: {error}", *state.texts])
        REACHED.clear()
        return False
    return True


FIRES = [
    (1, 1000),
    pytest.param(3, 10**6, marks=[pytest.mark.slow, pytest.mark.soak]),
]


@pytest.mark.parametrize(("seed", "count"), FIRES)
def test_hostile_messages_break_and_reach_nothing(seed: int, count: int) -> None:
    command = [sys.executable, "-I", __file__, str(seed), str(count)]
    ran = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert ran.returncode == 0, ran.stderr[-2000:]
    report = json.loads(ran.stdout.splitlines()[-1])
    assert report == {"count": count, "faults": 0, "first": []}


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda items: st.lists(items, max_size=5) | st.dictionaries(st.text(max_size=3), items),
    max_leaves=12,
)
FORMS = st.recursive(
    st.sampled_from([None, True, -1, 1, 0, "T1", "P1", "l", "d", "value", [], {}, 1.5]),
    lambda items: st.lists(items, max_size=4).flatmap(
        lambda parts: st.sampled_from(_TAGS.split()).map(lambda tag: [tag, *parts])
    ),
    max_leaves=10,
)
MESSAGES = st.one_of(
    st.text(max_size=9),
    JSON_VALUES.map(json.dumps),
    st.tuples(
        st.tuples(st.sampled_from(OPERATIONS), st.lists(FORMS, max_size=3), JSON_VALUES),
        st.lists(st.tuples(st.sampled_from(["T1", "P1"]), FORMS), max_size=2),
        st.lists(st.sampled_from(["T1", "P1"]), max_size=2),
    ).map(json.dumps),
)


@FEW
@given(text=MESSAGES)
def test_any_message_is_answered(guest: Guest, monkeypatch: Any, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    REACHED.clear()
    Fire(guest, 0).answered(text)
    assert not REACHED


@pytest.mark.parametrize("depth", [900, 4000, 100_000])
@pytest.mark.parametrize("opening", ['["t",', '["M","P","l",[false,[', "[", '{"a":'])
def test_a_deep_message_is_answered(guest: Guest, opening: str, depth: int) -> None:
    closing = opening.count("[") * "]" + opening.count("{") * "}"
    deep = opening * depth + "1" + closing * depth
    state = Fire(guest, 0)
    state.answered(f'[["input", [{deep}], null], [], []]')
    state.judge = guest.judge.Judge(lambda text: f"[[false, {deep}, null], [], []]")
    with contextlib.suppress(guest.peer.Refused):
        state.judge.ask("name", "f")
    assert (sys.getrecursionlimit(), state.judge._depth) == (state.limit, 0)


# --- the host's reader of plain tests ------------------------------------------------------------


def step(guest: Guest, expected: Any) -> plain.Step:
    """Return the step `assert f(1) == expected`."""
    form = guest.peer.Peer(str, True).encode(expected)
    read = plain.plain_tests(json.dumps([[["f(1)", None, "==", form]]]), (), ())[0][0]
    return read._replace(expected=expected)  # as Python has it


def json_step(expected: Any) -> plain.Step:
    return plain.plain_tests("", ["f(1)"], [expected])[0][0]


EXPECTED = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(),
    lambda items: st.one_of(
        st.lists(items, max_size=3),
        st.lists(items, max_size=3).map(tuple),
        st.dictionaries(HASHABLE_SCALARS, items, max_size=3),
        st.sets(HASHABLE_SCALARS, max_size=3),
    ),
    max_leaves=6,
)


@FEW
@given(value=VALUES | EXPECTED, other=EXPECTED)
def test_the_host_compares_as_python_does(guest: Guest, value: Any, other: Any) -> None:
    message = json.dumps([False, guest.peer.Peer(str, False).encode(value)])
    for expected in (other, copy.deepcopy(value)):
        one = step(guest, expected)
        holds = bool(value == one.expected) and not has_wider(value)
        assert (plain.failure_of(one, message) is None) == holds or has_wider(value)


PLAIN = [
    *(None, True, 3, -(2**5000), 1.5, -0.0, 1e400, 2 + 3j, "a\ud800", b"ab", (1, (2,)), [1, [2]]),
    *(
        {1: [2], "a": None},
        {1, 2},
        frozenset(((1, 2), "a")),
        decimal.Decimal("1.5"),
        range(1, 9, 2),
    ),
    *(fractions.Fraction(1, 3), collections.Counter("aab"), collections.deque([1], 3)),
    *(collections.OrderedDict(b=1, a=2), collections.defaultdict(list, {1: [2]}), bytearray(b"a")),
]


def test_the_host_knows_plain_values(guest: Guest) -> None:
    for value in PLAIN:
        form = guest.peer.Peer(str, False).encode(value)
        assert plain.failure_of(step(guest, value), json.dumps([False, form])) is None
    for other in (4, "b", [1], {"b"}, {2: 3}, (), 2 + 4j):
        assert plain.failure_of(step(guest, other), json.dumps([False, form])) is not None


def has_wider(value: Any) -> bool:
    """Whether a value has parts that no constant of a plain test is equal to."""
    text = shape(value)
    return any(word in text for word in WIDER.split())


WIDER = "date time ellipsis bytearray nan NaN range deque Ordered Counter defaultdict"


EXPRESSIONS = """
f(); not f(); bool(f()); not not f() is True; f() is not None; f() is not True; -f() < 0
f() != 3; f() < 3; 2 <= f(); f() > "b"; f() >= 1.5; f() in (1, "ab", [1]); 1 in f(); "a" not in f()
len(f()) == 3; len(f()) > 0; sorted(f()) == [1, 2, 3]; sorted(f(), reverse=True) == ["b", "a"]
set(f()) == {1, 2, 3}; list(f()) == [3, 1, 2]; tuple(f()) == (3, 1, 2); list(f()) == ["a", "b"]
sum(f()) == 6; min(f()) == 1; max(f()) == "b"; min(f(), default=4) == 4; any(f()); all(f())
abs(f() - 1.5) < 1e-6; abs(f()) == 3; round(f(), 1) == 1.5; round(f()) == 2; f() * 2 == 3; f() % 2
f() / 2 == 1.5; f() // 2 == 1; f() + 1 == 4; math.isclose(f(), 1.5000001, rel_tol=1e-3)
f()[0] == 3; f()["a"] == 1; f()[-1] in (2, "b"); len(f()[1]) == 1; f()[0] is None
isinstance(f(), int); isinstance(f(), (list, tuple)); not isinstance(f(), bool); type(f()) is list
type(f()) == int; type(f()) != dict; type(f()) in (int, float); isinstance(f()[0], str)
"""
TEXTS = [text.strip() for line in EXPRESSIONS.strip().splitlines() for text in line.split(";")]
EXACT = [
    *(None, True, False, 0, 3, -3, 1.5, -0.0, 2**70, "", "ab", "b", b"ab", [], (), {}, set()),
    *([3, 1, 2], (3, 1, 2), {3, 1, 2}, ["a", "b"], {"a": 1, "b": None}, [None], ["x", "y", "b"]),
    *([1, "a"], [[1], [2, 3]], [1.5, 2], frozenset((1, 2)), {"a", "b"}, [True, 2, 3], [{1}, {2}]),
]


class Agreeable:
    """An object that says yes to anything."""

    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __ne__ = lambda _self, _other: True
    __contains__ = lambda _self, _item: True  # noqa: E731
    __sub__ = __mul__ = __add__ = __truediv__ = __floordiv__ = lambda self, _other: self
    __abs__ = __neg__ = lambda self: self
    __getitem__ = __mod__ = lambda self, _key: self
    __len__ = __hash__ = lambda _self: 3
    __iter__ = lambda _self: iter((3, 1, 2))  # noqa: E731


class Listed(list[int]):
    """A list of a class of its own."""


def held(guest: Guest, text: str) -> plain.Step:
    """Return the step of `assert text`, an expression with a call."""
    (((_code, *parts, tree),),) = guest.judge.plain.plain_steps(
        "", [f"import math\nassert {text}"], "", []
    )
    form = guest.peer.Peer(str, True).encode(tree)
    return plain.plain_tests(json.dumps([[[*parts, form]]]), (), ())[0][0]


def test_an_expression_holds_on_the_host_as_where_tests_run(guest: Guest) -> None:
    decided = 0
    for value, text in itertools.product(EXACT, TEXTS):
        message = json.dumps([False, guest.peer.Peer(str, False).encode(value)])
        with contextlib.suppress(Undecided):
            holds = plain.failure_of(held(guest, text), message) is None
            names = {"f": functools.partial(copy.copy, value), "math": math}
            assert holds == bool(eval(text, names)), (text, value)
            decided += 1
    assert decided > len(EXACT) * len(TEXTS) / 3


def test_the_host_leaves_objects_and_odd_values_to_where_tests_run(guest: Guest) -> None:
    odd = [Agreeable(), Listed([3, 1, 2]), [Agreeable()], {}.keys(), collections.Counter("ab")]
    odd += [float("nan"), 2**5000, range(3), [0] * 30_000, {*range(3000)}, decimal.Decimal(3), list]
    for value, text in itertools.product(odd, TEXTS):
        message = json.dumps([False, guest.peer.Peer(str, False).encode(value)])
        with pytest.raises(Undecided):
            plain.failure_of(held(guest, text), message)


@FEW
@given(text=MESSAGES, expected=EXPECTED)
def test_the_host_reads_any_message(guest: Guest, text: str, expected: Any) -> None:
    for message in (text, f"[false, {text}]", f"[true, {text}]"):
        for each in (step(guest, expected), json_step([1, {"a": 2.5}])):
            assert isinstance(plain.failure_of(each, message), str | None)
        for expression in TEXTS[::9]:
            with contextlib.suppress(Undecided):
                assert isinstance(plain.failure_of(held(guest, expression), message), str | None)


def test_the_host_reads_hostile_forms(guest: Guest) -> None:
    rng = random.Random(5)
    messages = Messages(guest, rng)
    values = 5, [1, 2], {1: 2}, {"a", (1, 2)}, "a", None
    steps = [*(step(guest, value) for value in values), json_step(5.5), json_step({"a": [1]})]
    steps += [held(guest, text) for text in TEXTS]
    for _ in range(5000):
        message = json.dumps([rng.random() < 0.3, messages.form()])
        with contextlib.suppress(Undecided):
            assert isinstance(plain.failure_of(rng.choice(steps), message), str | None)


def doubled(first: Any, mention: str, again: Callable[[int, list[Any]], list[Any]]) -> list[Any]:
    """Return forms of which each holds the one before twice: small, but large when read."""
    forms = [first]
    for level in range(1, 60):
        forms.append(again(level, [[mention, f"a{level - 1}"]] * 2))
    return forms


def test_a_failure_can_be_written(guest: Guest) -> None:
    message = '[true, ["x", 1, ["T", "E\\ud800"], [], "m"]]'
    assert (plain.failure_of(step(guest, 1), message) or "").encode()


def large_forms() -> list[Any]:
    lists = doubled(
        ["M", "a0", "l", [True, [1, 1], None]],
        "m",
        lambda level, items: ["M", f"a{level}", "l", [False, items, None]],
    )
    cls = ["C", 1, "X"]
    tuples = doubled(
        ["o", "a0", cls, ["t", 0, 0]],
        "h",
        lambda level, items: ["o", f"a{level}", ["h", 1], ["t", *items]],
    )
    keys: list[Any] = [f"k{level}" for level in range(len(lists))]
    long = [["i", digit * 3_000_000] for digit in ("5a", "b1")]
    equal_hashes = [n * (2**61 - 1) for n in range(100_000)]  # such integers have one hash
    return [
        ["t", *lists],
        ["t", *tuples, ["F", ["h", "a59"]]],
        ["M", "c", "K", [False, keys + lists, None]],
        ["M", "s", "s", [True, equal_hashes, None]],
        ["Fr", "1e999999999"],
        ["Fr", *long],
        ["De", "1e999999999"],
        ["r", *long, 1],
        ["M", "l", "l", [True, equal_hashes[:20_000], None]],
    ]


HOST = """
import contextlib, json, sys
from infinite_rl.sandbox.python import plain
from infinite_rl.sandbox.python.expressions import Undecided
steps = plain.plain_tests("", ["f(1)"] * 3, [5.5, [1, {"a": 2}], list(range(90))])
for form in json.load(sys.stdin):
    for test in steps:
        for step in (*test, test[0]._replace(relation="==")):
            assert plain.failure_of(step, json.dumps([False, form])) is not None
    for name in ("set", "sorted", "sum", "not", "len", "list", "abs"):
        expected = ("operation", name, (("value",),), {})
        step = steps[0][0]._replace(relation="holds", expected=expected)
        with contextlib.suppress(Undecided):
            plain.failure_of(step, json.dumps([False, form]))
"""


def test_no_message_keeps_the_host_busy() -> None:
    """Each is small, or long and plain; to read it naively takes minutes to years."""
    text = json.dumps(large_forms())
    subprocess.run(
        [sys.executable, "-c", HOST], cwd=ROOT, input=text.encode(), timeout=60, check=True
    )


if __name__ == "__main__":
    report = json.dumps(fire(*map(int, sys.argv[1:])))
    print(report)
