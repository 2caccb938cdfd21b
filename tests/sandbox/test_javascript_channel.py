"""The messages between a JavaScript program and its tests: any may come, and fuel is exact."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.javascript.guest import _Side

KINDS = ["o", "a", "f", "m", "s", "d", "x", "e", "b", "t", "p", "w", "g", "q", "?"]
MARKS = ["=", "!", "u", "n", "i", "k", "y", "s", "d", "g", "-", "call", "new", "trap", "settle"]
PATHS = ["Function", "eval", "globalThis", "Array.prototype", "Object", "Math.max", "console.log"]
KEYS = ["then", "toJSON", "valueOf", "constructor", "__proto__", "length", "prototype", "f", "0"]
leaves = st.one_of(
    st.integers(-4, 4),
    st.sampled_from([*MARKS, *KINDS, *PATHS, *KEYS, "NaN", "Uint8Array", "next return", "("]),
    st.sampled_from([None, True, False, 1.5, 2**53, 10**30]),
)
values = st.one_of(
    leaves,
    st.integers(-4, 4).map(lambda n: [n]),
    st.sampled_from([["u"], ["n", "-0"], ["k", "Function"], ["k", "Array.prototype"], ["i", "7"]]),
    st.tuples(st.sampled_from(MARKS), leaves, leaves).map(list),
)
anything = st.recursive(values, lambda inner: st.lists(inner, max_size=4), max_leaves=12)
objects = st.tuples(
    st.integers(-6, 3),
    st.sampled_from(KINDS),
    values,
    st.integers(0, 1),
    st.lists(values, max_size=3),
    st.lists(values, max_size=6),
    st.one_of(leaves, st.tuples(st.integers(0, 2), leaves, leaves, values).map(list)),
).map(list)
changes = st.tuples(st.integers(-6, 6), st.integers(0, 1), st.lists(values), st.lists(values))
messages = st.one_of(
    anything.map(json.dumps),
    st.text(max_size=20),
    st.tuples(
        st.tuples(st.sampled_from(["=", "!", "call"]), values, values, st.lists(values)).map(list),
        st.lists(objects, max_size=3),
        st.lists(changes.map(list), max_size=2),
        st.lists(st.integers(-6, 6), max_size=2),
        st.lists(st.tuples(st.sampled_from(KEYS), values).map(list), max_size=2),
    ).map(json.dumps),
)
KNOWN = json.dumps([["=", ["u"]], [[-1, "f", 0, 1, [], [], [0, "f", 1, 0]]], [], [], [["f", [-1]]]])
LOOK = """
const seen = []; for (const name of Object.getOwnPropertyNames(globalThis).sort()) {
  if (name === 'f' || name === 'seen') continue;
  const value = Object.getOwnPropertyDescriptor(globalThis, name).value;
  for (const each of [value, value?.prototype]) {
    if (each === null || !['object', 'function'].includes(typeof each)) continue;
    for (const own of Object.values(Object.getOwnPropertyDescriptors(each))) seen.push(own.value);
  }
}
"""
TESTS = (
    f"{LOOK} Object.defineProperty(globalThis, 'before', {{ value: seen }});",
    "assert.strictEqual(f([1], (x) => x), 'secret')",
    "assert.deepStrictEqual(f({ a: 1 }, class {}), { secret: 1 })",
    f"{LOOK} seen.pop; let n = 0; for (const each of before) if (!seen.includes(each)) n++;"
    "assert.strictEqual(n, 0); assert.strictEqual(Object.keys({}).length, 0)",
)


@settings(max_examples=150, deadline=None)
@given(st.lists(messages, min_size=1, max_size=4))
def test_no_message_breaks_the_side_of_the_tests_or_passes_a_test(answers: list[str]) -> None:
    told = iter([KNOWN, *answers])

    def answered(side: _Side, start: int) -> int:
        side._depth -= 1
        if not side.is_judge:
            return int(side.machine.call("qjs_get_undefined"))
        return side.machine.new_string(next(told, '[["=",["u"]]]'))

    with patch.object(_Side, "_answered", answered):
        run = RewardExecutor(timeout=20).execute("function f() {}", "javascript", tests=TESTS)
    assert run.status == "ok", (answers, run.stderr)
    assert [result.passed for result in run.tests] == [True, False, False, True], (answers, run)


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
