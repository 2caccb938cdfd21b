"""Plain JavaScript tests, which the host compares, have the verdicts of tests that run."""

import re
from dataclasses import replace

import pytest

from infinite_rl.sandbox.javascript.guest import JavaScriptGuest
from infinite_rl.sandbox.javascript.plain import plain_steps
from infinite_rl.sandbox.javascript.run import PlainTests
from infinite_rl.sandbox.runtimes import Limits
from infinite_rl.types import Program
from tests.support.labelled import assert_none, soak


class _Running(JavaScriptGuest):
    """A guest that runs all tests."""

    def _read_plain(self, *_tests: object) -> PlainTests | None:
        return None


GUEST, RUNNING = JavaScriptGuest(), _Running()
VALUES = re.split(
    r";\s",
    """0; -0; 1; -1.5; 1e21; 2**53; NaN; Infinity; undefined; null; true; false;
""; "a\\n"; "1"; 1n; [];
[1]; [1, 2]; ["1"]; [-0]; [NaN]; [undefined]; [, 1]; [[1], { a: 2 }]; {}; { a: 1 }; { b: 2, a: 1 };
{ a: undefined }; { a: { b: [1] } }; new Map(); new Set([1]); new Date(0); new Number(1); () => 1;
new (class A { a = 1 }); Object.create(null); Object.assign([1], { a: 1 }); Object.freeze([1]);
Promise.resolve(1); Symbol.iterator; new Proxy([1], {}); { get a() { return 1 } }; new Error("x");
(function () { return arguments })(1); (() => { throw new RangeError("no") })();
{ valueOf: () => 1 }""",
)
CONSTANTS = re.split(
    r";\s",
    """0; -0; 1; -1.5; NaN; Infinity; undefined; null; true; "a\\n"; "1";
[]; [1]; [1, 2]; [-0]; [NaN]; [[1], { a: 2 }]; {}; { a: 1, b: 2 }; { a: 1 }; { 0: 1 }""",
)
FORMS = (
    "assert.strictEqual(f(1), {})",
    "require('assert').deepStrictEqual(f(1), {});",
    "const assert = require('assert'); assert.equal(f(1), {}, 'note')",
    "assert.deepEqual(f(1), {})",
    "console.assert(f(1) === {})\nconsole.assert(f(1) == {})",
    "const t = () => { assert(f(1) === {}); assert.ok(f(1) == {}, 'two') }\n\nt()",
    "console.assert(JSON.stringify(f(1)) === JSON.stringify({}))",
)


@pytest.mark.parametrize("step", [len(FORMS), *soak(1)])
@pytest.mark.parametrize("form", FORMS)
def test_values_compare_as_where_the_tests_run(form: str, step: int) -> None:
    """Each value with each constant, in all forms together or (1) in each form."""
    every = tuple(form.replace("{}", constant) for constant in CONSTANTS)
    assert all(map(plain_steps, every, [""] * len(every)))
    faults = []
    for number, value in enumerate(VALUES, FORMS.index(form)):
        tests = every[number % step :: step]
        program = Program(f"function f() {{ return (\n{value}\n) }}", tests=tests)
        expected = RUNNING.run(program, Limits()).tests
        for test, result in zip(tests, expected, strict=True):  # alone: or all run, if one must
            (found,) = GUEST.run(replace(program, tests=(test,)), Limits()).tests
            faults += [(value, test, found.message, result.message)] if found != result else []
    assert_none(faults)


PROGRAMS = (
    "let n = 0; const f = () => ++n",
    "exports.f = (x) => x",
    "const f = () => { setTimeout(() => { throw new Error('late') }); return 1 }",
    "const f = () => { Promise.reject(new Error('late')); return 1 }",
    "const f = () => { console.log('out'); return 1 }; setTimeout(() => {}, 5)",
    "const f = (x) => x < 2 ? 1 : process.exit(0)",
    "var f = () => { f = () => 2; return 1 }",
    "const check = 3; function f(x) { return check - 2 }",
    "const f = 1",
    "",
)
TESTS = (
    ("assert.equal(f(1), 1)", "assert.equal(f(2), 2)", "assert.strictEqual(f(1), 3)"),
    ("console.assert(f(1) === 1); console.assert(f(3) === 2)", "console.assert(f(1) === 1)"),
    ("assert.equal(Math.max(1, 2), 2)", "assert.equal(f(1), 1)"),
)


def test_programs_end_as_where_the_tests_run() -> None:
    faults = []
    for code in PROGRAMS:
        for tests in TESTS:
            program = Program(code, tests=tests)
            runs = [guest.run(program, Limits()) for guest in (GUEST, RUNNING)]
            first, second = ((run.status, run.stdout, run.tests) for run in runs)
            faults += [(code, tests, first, second)] if first != second else []
    assert_none(faults)


def test_a_check_is_plain_for_its_entry_point() -> None:
    test = "function check(candidate) { assert.strictEqual(candidate(3), 6) }"
    program = Program("const f = (x) => 2 * x", tests=(test,), entry_point="f")
    assert GUEST.run(program, Limits()).tests[0].passed
    assert [step.call for step in plain_steps(test, "f")] == ["f(3)"]


MORE = """
assert.equal(f(g(1)), 1)
assert.equal(f(x), 1)
assert.equal(f(1), 1 || 2)
assert.equal(f('a'.length), 1)
assert.equal(f([1][0]), 1)
assert.equal(f({ __proto__: 1 }), 1)
assert.equal(f(`${1}`), 1)
assert.equal(f(...[1]), 1)
assert.equal(f(/a/), 1)
assert.equal(f(1)
assert.equal(o.f(1), 1)
assert.x(f(1), 1)
assert(f(1))
f(1)
if (1) assert.equal(f(1), 1)
const t = () => { assert.equal(f(1), 1) }
"""


def test_what_does_more_is_not_plain() -> None:
    assert [test for test in MORE.splitlines() if plain_steps(test, "")] == []
