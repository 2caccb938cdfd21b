"""How JavaScript tests are read: what stays beside the program, what is judged away from it."""

from __future__ import annotations

import pytest

from infinite_rl.runtimes import Limits
from infinite_rl.sandbox.javascript.guest import JavaScriptGuest
from infinite_rl.sandbox.javascript.tests import read_test
from infinite_rl.types import Program


@pytest.fixture(scope="module")
def guest() -> JavaScriptGuest:
    return JavaScriptGuest()


def judged(guest: JavaScriptGuest, code: str, *tests: str, entry_point: str = "") -> list[str]:
    """For each test why it failed, or ""."""
    program = Program(code, tests=tests, entry_point=entry_point)
    execution = guest.run(program, Limits(timeout_s=5))
    assert len(execution.tests) == len(tests)
    assert all(result.passed is (result.message == "") for result in execution.tests)
    return [result.message for result in execution.tests]


@pytest.mark.parametrize(
    ("test", "beside", "away"),
    [
        ("console.assert(f(2) === 4)", "[f(2)]", "console.assert($value(0) === 4, "),
        ("console . assert ( f(2) /* two */ == 4 , 'no' )", "[f(2)]", "($value(0) == 4, 'no')"),
        ("assert(f(2))", "[f(2)]", "assert($value(0), "),
        ("assert.equal(await f(2), 4)", "[await f(2)]", "assert.equal($value(0), 4)"),
        ("require('node:assert').equal(f(2), x)", "[f(2), x]", "equal($value(0), $value(1))"),
        ("require('assert/strict').equal(f(2), 4)", "[f(2)]", "assert.strict.equal($value(0), 4)"),
        (
            "const { deepEqual: same } = require('assert').strict; same(f(2), { a: [1] })",
            "[f(2)]",
            "assert.strict.deepEqual($value(0), { a: [1] })",
        ),
        (
            "import { strictEqual } from 'assert'; strictEqual(f(2), 4)",
            "[f(2)]",
            "assert.strictEqual($value(0), 4)",
        ),
        (
            "console.assert(JSON.stringify(f('(')) === '[1]')",
            "[JSON.stringify(f('('))]",
            "$value(0) === '[1]'",
        ),
        (
            "console.assert(Math.abs(f(2) - 4) < 1e-6)",
            "[f(2)]",
            "Math.abs($value(0) - 4) < 1e-6",
        ),
        (
            "assert(f(2) && f(3).length > 1)",
            "[() => (f(2)), () => (f(3).length)], true",
            "$value(0) && $value(1) > 1",
        ),
        ("assert(f(2).every((x) => x > 0))", "[f(2)]", "$value(0).every((x) => x > 0)"),
        ("assert(f(2).sort().length > 1)", "[f(2)]", "$value(0).sort().length > 1"),
        ("assert(f(2).map((x) => x).all())", "[f(2).map((x) => x).all()]", "assert($value(0), "),
        ("assert(List.of(2).includes(1))", "[List.of(2).includes(1)]", "assert($value(0), "),
        ("assert.equal([2].sort(f)[0], 1)", "[([2].sort(f)[0])]", "assert.equal($value(0), 1)"),
        ("assert(Math.max(...f(2)) > 1)", "[[...f(2)]]", "Math.max(...$value(0)) > 1"),
        ("assert.ok(/[/(]+/g.test(f(2)))", "[f(2)]", "/[/(]+/g.test($value(0))"),
        ("assert.equal(`${f(2)}`, `four`)", "[(`${f(2)}`)]", "assert.equal($value(0), `four`)"),
        (
            "assert.deepEqual([1].map((x) => f(x)), [2])",
            "[([1].map((x) => f(x)))]",
            "assert.deepEqual($value(0), [2])",
        ),
        ("if (f(2) !== 4) throw new Error('no')", "[f(2)]", "!($value(0) !== 4)"),
        (
            "assert.deepStrictEqual(f(2), new Map([[1, new Date(0)]]))",
            "[f(2)]",
            "new Map([[1, new Date(0)]])",
        ),
        ("assert(f(2) < new Date())", "[f(2), new Date()]", "$value(0) < $value(1)"),
        ("assert(f(2) <= Math.random())", "[f(2), Math.random()]", "$value(0) <= $value(1)"),
    ],
)
def test_an_assertion_is_cut_where_it_names_what_a_program_can_have_made(
    test: str, beside: str, away: str
) -> None:
    reading = read_test(test)
    assert f"{reading.reporter}(0, {beside})" in reading.source
    assert [away in asked.script for asked in reading.asked.values()] == [True]


@pytest.mark.parametrize(
    "test",
    [
        "console.assert(true)",
        "assert.throws(() => f(1), RangeError)",
        "my.console.assert(f(2) === 4)",
        "function assert(x) { } assert(f(2))",
        "try { assert.equal(f(1), 1) } catch { other() }",
        "'console.assert(f(2) === 4)'; // console.assert(f(2) === 4)",
        "assert.equal(...f(2))",
        "console.assert(f(2) === 4",
        "const flaky = () => { if (n++ < 2) throw new Error('again') }; f(flaky)",
    ],
)
def test_what_is_no_such_assertion_stays_as_it_is(test: str) -> None:
    known = 'const assert = require("assert");'
    assert read_test(test).source.removeprefix(known) == test
    assert read_test(test).asked == {}


def test_an_assert_that_nobody_declared_is_the_module(guest: JavaScriptGuest) -> None:
    code = "function assert() {}; const f = () => 1"
    first, second = judged(guest, code, "assert.throws(() => {})", "assert.strictEqual(f(), 1)")
    assert "Missing expected exception" in first and second == ""


def test_names_may_stand_in_the_setup(guest: JavaScriptGuest) -> None:
    code = "const f = () => '1'; require('assert').strict.throws = () => {}"
    setup = "import { strict as assert, deepStrictEqual as same } from 'assert';"
    tests = ("assert.equal(f(), '1')", "assert.equal(f(), 1)", "same(f(), 1)", "assert.throws(f)")
    execution = guest.run(Program(code, tests=tests, setup=setup), Limits())
    assert [result.passed for result in execution.tests] == [True, False, False, False]


def test_lines_stay_where_they_are() -> None:
    test = "const a = 1;\nconsole.assert(\n  f(2)\n    === 4,\n)\nthrow a"
    assert read_test(test).source.splitlines()[5] == "throw a"


@pytest.mark.parametrize(
    ("test", "required"),
    [
        ("assert(f(1))", True),
        ("g()\nassert(f(1))", True),
        ("const t = () => {\n assert(f(1)) }\nt()", True),
        ("async function t() { assert(await f(1)) }\nt()", True),
        ("(async () => { assert(await f(1)) })()", True),
        ("(function () { assert(f(1)) }())", True),
        ("f(1).then((v) => assert(v))", True),
        ("f(1).then((v) => { assert(v) }, () => {})", True),
        ("const check = (candidate) => { assert(candidate(1)) }", True),
        ("const g = () => { return 1 }; assert(f(g))", True),
        ("if (x) assert(f(1))", False),
        ("if (x) { assert(f(1)) }", False),
        ("for (const x of f(1)) assert(x)", False),
        ("f(0).forEach((x) => { assert(x) })", False),
        ("const t = () => { if (x) return; assert(f(1)) }\nt()", False),
        ("const never = () => { assert(f(1)) }", False),
        ("f(1).catch((e) => assert(e))", False),
    ],
)
def test_what_every_run_reaches_is_required(test: str, required: bool) -> None:
    reading = read_test(test, "f" if "check" in test else "")
    assert [asked.required for asked in reading.asked.values()] == [required]


VALUES = """undefined
null
true
0
-0
NaN
-Infinity
1.5e300
12345678901234567890n
'text'
'\\ud83d \\ud83d\\ude00 \\u2028 \\0'
[1, [2], 'x']
[1, , 2]
Object.assign([1], { extra: 2 })
{ b: 1, a: { c: [] }, 1: 0, '__proto__x': 1 }
JSON.parse('{"__proto__": 1}')
Object.assign(Object.create(null), { a: 1 })
new Map([[{ a: 1 }, new Set([1, 'x'])], ['k', NaN]])
new Date(5)
new Date(NaN)
/a[/]b/gi
new Uint8Array([1, 2])
new BigInt64Array([1n])
new Uint8Array([1, 2]).buffer
Buffer.from('hi')
new Number(-0)
new String('x')
new RangeError('message')
Object.assign(new Error('message'), { code: 'E' })
Symbol.for('s')
Symbol.iterator
{ [Symbol.for('s')]: 1 }
Math.max
TypeError""".splitlines()


@pytest.mark.parametrize("value", VALUES)
def test_values_reach_the_judge_as_they_are(guest: JavaScriptGuest, value: str) -> None:
    test = f"require('assert').deepStrictEqual(f(), {value})"
    other = "require('assert').notDeepStrictEqual(f(), [0, 0])"
    assert len(read_test(test).asked) == 1
    assert judged(guest, f"function f() {{ return {value} }}", test, other) == ["", ""]


@pytest.mark.parametrize(
    ("code", "test"),
    [
        ("const f = () => { const a = {}; a.self = a; return a }", "f().self === f"),
        ("const f = (x) => x; const o = {}", "f(o) === o"),
        ("const f = (x) => [...x]; const o = [1]", "f(o) !== o"),
        ("class P { constructor() { this.x = 1 } }; const f = () => new P()", "f() instanceof P"),
        ("class E extends TypeError {}; const f = () => new E('m')", "f() instanceof TypeError"),
        ("const f = () => [1].constructor", "f() === Array"),
        ("const f = () => () => 1", "typeof f() === 'function'"),
        ("const f = async () => 1", "f() instanceof Promise"),
        ("const f = () => Symbol('s')", "f().toString() === 'Symbol(s)'"),
        ("function* f() { yield 1; yield 2 }", "Array.from(f()).length === 2"),
    ],
)
def test_identity_and_classes_are_kept(guest: JavaScriptGuest, code: str, test: str) -> None:
    test = test.replace("f().self === f", "(r => r.self === r)(f())")
    assert judged(guest, code, f"console.assert({test})", f"console.assert(!({test}))")[0] == ""
    assert judged(guest, code, f"console.assert(!({test}))") != [""]


def test_instances_of_one_class_are_compared_by_what_they_hold(guest: JavaScriptGuest) -> None:
    code = "class P { constructor(x) { this.x = x } }; const f = (x) => new P(x)"
    same = "require('assert').deepStrictEqual(f(1), new P(1))"
    other = "require('assert').deepStrictEqual(f(1), new P(2))"
    plain = "require('assert').deepStrictEqual(f(1), { x: 1 })"
    first, second, third = judged(guest, code, same, other, plain)
    assert (first, bool(second), bool(third)) == ("", True, True)


TRIPLE = "const f = (x) => x * 3; const later = async (x) => f(x)"


@pytest.mark.parametrize(
    "test",
    [
        "console.assert(f({0}) === 9)",
        "const assert = require('assert')\nassert(f({0}) == '9' && f(1) > 2)\nassert.ok(f(1) < 4)",
        "import assert from 'node:assert';\nassert.strictEqual(f({0}), 9)",
        "const t = () => {{ console.assert(f({0}) === 9) }}\nt()",
        "(async () => {{ require('assert').equal(await later({0}), 9) }})()",
        "later({0}).then((v) => {{ console.assert(v === 9) }})",
        "const expected = 9; const found = await later({0}); assert.strictEqual(found, expected)",
        "for (const [x, want] of [[1, 3], [{0}, 9]]) assert.equal(f(x), want)",
        "[[{0}, 9]].forEach(([x, want]) => {{ console.assert(f(x) === want) }})",
        "if (f({0}) !== 9) throw new Error('wrong')",
        "function same(a, b) {{ if (a !== b) {{ throw new Error('x') }} }}\nsame(f({0}), 9)",
        "function assert(c) {{ if (!c) throw new Error('x') }}\nassert(f({0}) === 9)",
        "assert.deepStrictEqual([{0}].map((x) => f(x)), [9])",
        "const r = f({0}); console.assert(r === 9 || r === 10, `got ${{r}}`)",
        "console.assert(f({0}) !== 6)",
        "let n = 0; while (n < 1) {{ n++; console.assert([9].includes(f({0}))) }}",
        "try {{ if (f({0}) !== 9) throw new Error('x') }} finally {{ f(1) }}",
        "assert.ok(null === undefined || f({0}) === 9)",
    ],
)
def test_what_a_test_means_is_kept(guest: JavaScriptGuest, test: str) -> None:
    right, wrong = judged(guest, TRIPLE, test.format("3"), test.format("2"))
    assert (right, bool(wrong)) == ("", True)


def test_a_message_shows_what_was_found(guest: JavaScriptGuest) -> None:
    code = "const f = (x) => [x * 3]"
    asserted, thrown = judged(
        guest, code, "console.assert(f(1)[0] === 4)", "if (f(2)[0] > 5) throw new Error('big')"
    )
    assert asserted == "Assertion failed: f(1)[0] === 4; f(1)[0] is 3"
    assert thrown == "Assertion failed: if (f(2)[0] > 5) throw; f(2)[0] is 6"


def test_values_that_are_too_large_or_too_deep_fail_their_test(guest: JavaScriptGuest) -> None:
    code = "let deep = []; for (let i = 0; i < 5000; i++) deep = [deep]; const f = () => deep"
    large = "const g = () => 'x'.repeat(9e6)"
    first, second, third = judged(
        guest, f"{code}; {large}", "assert(f())", "assert(g())", "assert(1 + 1 === 2)"
    )
    assert "nested too deeply" in first and "too large" in second and third == ""
