"""The messages between a JavaScript program and its tests: any may come, and fuel is exact."""

from __future__ import annotations

import json
import random
import re
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.javascript.guest import JavaScriptGuest
from infinite_rl.sandbox.javascript.run import Side
from infinite_rl.sandbox.runtimes import Limits
from infinite_rl.types import Program
from tests.support.labelled import assert_none

KNOWN = json.dumps([["=", ["u"]], [[-1, "f", 0, 1, [], [], [0, "f", 1, 0]]], [], [], [["f", [-1]]]])
KINDS = "oafmsdxebtpwgqr"
PATHS = (
    "Function eval globalThis Array.prototype Object Object.prototype Math.max console.log Error"
)
PATHS += " Symbol.iterator Symbol.toPrimitive Map.prototype TypedArray.prototype Promise Reflect"
KEYS = "then toJSON valueOf toString constructor __proto__ length prototype f 0 1 next return name"
KEYS += " get set value message stack size lastIndex has module.exports exports done secret"
TRAPS = "get set has deleteProperty getPrototypeOf ownKeys apply construct defineProperty"
ODD = None, True, "", "x", "-0", 0, -1, 1.5, 2**53, 10**30, [], {}, {"a": []}, ["u"], [None]
MORE: dict[str, tuple[Any, ...]] = {
    "x": (["a+", "g"], ["(", ""], ["a", "zz"]),
    "b": (0, 3, 8, -1, "x"),
    "p": (1, "ab", True, ["i", "7"], ["k", "Symbol.iterator"]),
    "g": ("next return throw", "get set has delete", "__proto__"),
    "q": (0, 1, 2),
}


class Messages:
    """Makes messages of a program that are almost valid."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.made = [-1]  # the ids of the program's objects
        self.given: dict[str, list[int]] = {kind: [0] for kind in KINDS}  # those of the tests
        self.old: list[int] = []  # of these, what the program will no longer need

    def odd(self, valid: Any) -> Any:
        """Return what is valid, or, seldom, something else."""
        return valid if self.rng.random() < 0.96 else self.rng.choice(ODD)

    def known(self) -> int:
        rng = self.rng
        return rng.choice(self.made[-9:]) if rng.random() < 0.7 else rng.randint(2, 60)

    def value(self, depth: int = 0) -> Any:
        rng, chance = self.rng, self.rng.random()
        if chance < 0.45:
            return [self.known()]
        if chance < 0.7:
            return rng.choice((1, -2.5, "a", "", True, None, 7))
        if chance < 0.73:
            return self.array()
        forms = (
            ["u"],
            ["n", rng.choice(("-0", "NaN", "Infinity", "1", "x"))],
            ["i", rng.choice(("7", "-9" * 30, "x"))],
            ["k", rng.choice(PATHS.split())],
            ["y", "key"],
            ["s", rng.choice((-1, -2, 3)), rng.choice((None, "text"))],
        )
        return self.odd(rng.choice(forms))

    def values(self, most: int = 3) -> list[Any]:
        return [self.value() for _ in range(self.rng.randrange(most + 1))]

    def items(self) -> list[Any]:
        patch = ["~", self.odd(self.rng.randrange(3)), self.value()]
        kinds = self.values(), [["-"], *self.values()], [["-", 20]], [1, 2, 3], [patch]
        return self.rng.choice(kinds)

    def pairs(self) -> list[Any]:
        rng, pairs = self.rng, []
        for _ in range(rng.randrange(4)):
            pairs.append(self.odd(rng.choice((*KEYS.split(), ["k", "Symbol.iterator"]))))
            own = ["d", rng.randrange(8), self.value()]
            accessor = ["g", rng.randrange(8), self.value(), rng.choice((["u"], self.value()))]
            pairs.append(self.odd(rng.choice((self.value(), own, accessor))))
        return pairs

    def array(self) -> list[Any]:
        number = -len(self.made) - 1
        self.made.append(number)
        return [number, self.odd(self.items())]

    def object(self) -> list[Any]:
        rng = self.rng
        if rng.random() < 0.1:
            return self.array()
        kind, number = rng.choice(KINDS), -len(self.made) - 1
        self.made.append(number)
        more = self.odd(rng.choice(MORE.get(kind, (0,))))
        if kind == "t":
            name = rng.choice(("Uint8Array", "Float64Array", "BigInt64Array", "DataView", "eval"))
            more = [name, [self.known()], rng.choice((0, 0, 8, -1)), rng.randrange(3)]
        if kind == "f":
            more = [rng.randrange(3), "f", rng.randrange(3), rng.choice((0, self.value()))]
        prototype = rng.choice((0, 0, None, ["k", rng.choice(PATHS.split())], [self.known()]))
        parts = [
            number,
            kind,
            prototype,
            rng.choice((1, 1, 1, 0, 2, 3, 4)),
            self.items(),
            self.pairs(),
            more,
        ]
        return self.spoilt(parts, 0.03)

    def spoilt(self, parts: list[Any], chance: float) -> list[Any]:
        """Give a message too few parts or too many, or another in the place of one."""
        rng = self.rng
        if rng.random() < chance:
            place = rng.randrange(len(parts) + 1)
            parts[place : place + rng.randrange(2)] = [
                self.value() for _ in range(rng.randrange(2))
            ]
        return parts

    def text(self, head: Any, news: list[Any]) -> str:
        rng = self.rng
        whole: list[Any] = [self.spoilt(head, 0.03) if isinstance(head, list) else head]
        if news or rng.random() < 0.5:
            changes = [
                self.spoilt([self.known(), rng.randrange(5), self.items(), self.pairs()], 0.1)
                for _ in range(rng.randrange(3))
            ]
            gone = [self.known()] * (rng.random() < 0.1) + self.old
            self.old = []
            names = [[rng.choice(KEYS.split()), self.value()]] * (rng.random() < 0.1)
            whole += [news, changes, gone, names]
        text = json.dumps(self.spoilt(whole, 0.01))
        return text[: rng.randrange(len(text))] if rng.random() < 0.01 else text

    def answer(self) -> str:
        news = [self.object() for _ in range(self.rng.randrange(4))]
        value = [news[-1][0]] if news and self.rng.random() < 0.7 else self.value()
        return self.text(["=" if self.rng.random() < 0.9 else "!", value], news)

    def request(self) -> str:
        rng = self.rng
        kind = rng.choice("ffrrngqww")
        number = rng.choice(self.made if kind == "w" else self.given["f" if kind in "nr" else kind])
        heads: dict[str, list[Any]] = {
            "f": ["call", [number], self.value(), self.values()],
            "r": ["run", [number], self.values()],
            "n": ["new", [number], self.values(), rng.choice((None, self.value()))],
            "g": ["method", [number], rng.choice(("next", "return", "add", "get")), self.values()],
            "q": ["trap", [number], rng.choice(TRAPS.split()), self.values()],
            "w": ["settle", [number], rng.choice((True, False)), self.value()],
        }
        return self.text(rng.choice(([*ODD], *[heads[kind]] * 19)), [])

    def heard(self, text: str) -> list[Any]:
        """Learn from a message of the tests which objects the program has; return it."""
        parts: list[Any] = json.loads(text)
        news = parts[1] or [] if len(parts) > 1 else []
        for number, kind, *_ in news:
            self.given["a" if isinstance(kind, list) else kind].append(number)
            if number > 60:
                self.old.append(number)
            if isinstance(kind, list):  # an array, which may hold others
                news += [
                    item
                    for item in kind
                    if isinstance(item, list) and len(item) == 2 and isinstance(item[1], list)
                ]
        return parts


FIRE = Path(__file__).with_name("javascript_fire.js").read_text(encoding="utf-8")
# Why a promise of the tests was rejected: by the engine, for what is no fault of theirs.
FAULTY = re.compile(
    r"Error: FAULT|(Type|Syntax|Reference|Internal)Error: "
    r"(?!given|not an? |proxy: |promise self|class con|must be |Cannot (?:read|conv)|toPrimitive)"
)


class Fire:
    """Tests whose program sends hostile messages, and what was seen to go wrong."""

    def __init__(self) -> None:
        self.messages, self.sent, self.faults = Messages(random.Random(0)), 0, list[Any]()
        self.claims = False  # whether the program says yes to all
        self.is_ended = False  # whether the first test ran to its end
        self.room = 0  # for requests of the program's
        self.texts = deque[str](maxlen=20)
        real = Side.on_host_call

        def exchanged(side: Side, name: int, size: int, this: int, count: int, values: int) -> int:
            is_told = side.is_judge and side.machine.read(name, size) == b"exchange"
            if not is_told:
                return real(side, name, size, this, count, values)
            text = side.machine.text(side.machine.word(values))
            return side.machine.new_string(self.answer(side, text))

        def rejected(side: Side, _promise: int, reason: int, is_handled: int) -> None:
            box = None if is_handled else side.machine.drive("explain", reason)
            text = "Uncaught " if box is None else side.machine.text(box)
            self.is_ended = self.is_ended or text == "Error: END"
            if FAULTY.match(text):
                self.faults.append([text, *self.texts])

        with (
            patch.object(Side, "on_host_call", exchanged),
            patch.object(Side, "on_host_promise_rejection", rejected),
        ):
            self.guest = JavaScriptGuest()

    def answer(self, side: Side, text: str) -> str:
        """Answer the tests, after requests of the program's own."""
        parts = self.messages.heard(text)
        if parts[0][0] == "names":
            return KNOWN
        if '"claims' in text:
            self.claims = "no more" not in text
        if self.claims or '"claims' in text:
            return '[["=",true]]'
        while self.room and self.messages.rng.random() < 0.4:
            self.room -= 1
            self.ask(side, self.messages.request())
        return self.told(self.messages.answer())

    def told(self, text: str) -> str:
        self.sent += 1
        self.texts.append(text)
        return text

    def ask(self, side: Side, text: str) -> None:
        """The side of the tests answers any message with a message."""
        question = side.machine.question("serve", self.told(text).encode())
        data = side.machine.take_answer(side.machine.call("answer", *question))
        assert data is not None, "no answer"
        (mark, _value), *_rest = self.messages.heard(data.decode("utf-8", "surrogatepass"))
        assert mark in ("=", "!")

    def shoot(self, seed: int) -> None:
        """Run tests that send some messages, and look what became of them."""
        self.messages, self.room = Messages(random.Random(seed)), 200
        self.claims = self.is_ended = False
        tests = (FIRE.replace("SEED", str(seed)), "assert.strictEqual(f(), 918273645.125)")
        run = self.guest.run(Program("function f() {}", tests=tests), Limits(timeout_s=20))
        messages = [result.message for result in run.tests]
        is_sound = self.is_ended or messages[:1] == ["a promise of the test was never settled"]
        if run.status != "ok" or not is_sound or len(messages) < 2 or not messages[1]:
            self.faults.append([seed, run.status, run.stderr, messages, *self.texts])


FIRES = [
    (1, 1000),
    pytest.param(10**8, 10**6, marks=[pytest.mark.slow, pytest.mark.soak]),
]


@pytest.mark.parametrize(("seed", "count"), FIRES)
def test_hostile_messages_break_and_reach_nothing(seed: int, count: int) -> None:
    fire = Fire()
    while fire.sent < count and not fire.faults:
        fire.shoot(seed)
        seed += 1
    assert_none(fire.faults)


def test_fuel_with_tests_is_exact() -> None:
    code = "const f = async (xs, g) => { await null; return xs.map((x) => g(x) + Math.random()) }"
    tests = ["const r = await f([1, 2], (x) => x); assert(r[0] >= 1)", "expect(1).toBe(1)"]

    def used(fuel: int) -> tuple[Any, ...]:
        run = RewardExecutor(fuel=fuel).execute(code, "javascript", tests=tests)
        return run.status, len(run.tests), run.stdout, run.stderr

    low, high = 10**5, 10**8
    while high - low > 1:  # the least fuel with which all tests run
        middle = (low + high) // 2
        low, high = (low, middle) if used(middle)[:2] == ("ok", 2) else (middle, high)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(used, [high] * 10)) == {("ok", 2, "", "")}
        assert {each[0] for each in pool.map(used, [high - 1] * 10)} == {"timeout"}


def test_what_was_earned_before_a_stop_is_kept() -> None:
    tests = ["assert(f(1))", "f(2)", "assert(f(1))"]
    code = "const f = (x) => { while (x > 1); return x }"
    run = RewardExecutor(timeout=0.3).execute(code, "javascript", tests=tests)
    assert (run.status, [result.passed for result in run.tests]) == ("timeout", [True])


def test_calls_go_a_hundred_levels_deep_between_the_sides_and_then_fail() -> None:
    code = "const f = (g, n) => { console.log('x'.repeat(9000)); return n < 1 ? 0 : 1 + g(n - 1) }"
    g = "const g = (n) => { jest.advanceTimersByTime(1); return f(g, n) };"
    tests = [f"{g} assert.equal(g(100), 100)", f"{g} assert.throws(() => g(1e6), RangeError)"]
    run = RewardExecutor(output_limit=10**8).execute(code, "javascript", tests=tests)
    assert [result.message for result in run.tests] == ["", ""]
