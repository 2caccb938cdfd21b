"""How JavaScript tests are read: what stays beside the program, what is judged away from it."""

from __future__ import annotations

import pytest

from infinite_rl.runtimes import Limits
from infinite_rl.sandbox.javascript.guest import JavaScriptGuest
from infinite_rl.sandbox.javascript.tests import read_test
from infinite_rl.types import Program
from tests.support.labelled import Tables

tables = Tables(__file__)


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


@tables
def test_an_assertion_is_cut_where_it_names_what_a_program_can_have_made(
    test: str, beside: str, away: str
) -> None:
    reading = read_test(test)
    assert f"{reading.reporter}(0, {beside})" in reading.source
    assert [away in item.script for item in reading.assertions.values()] == [True]


@tables
def test_what_is_no_such_assertion_stays_as_it_is(test: str) -> None:
    known = 'const assert = require("assert");'
    assert read_test(test).source.removeprefix(known) == test
    assert read_test(test).assertions == {}


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


@tables
def test_what_every_run_reaches_is_required(test: str, required: bool) -> None:
    reading = read_test(test, "f" if "check" in test else "")
    assert [item.required for item in reading.assertions.values()] == [required]


@tables
def test_values_reach_the_judge_as_they_are(guest: JavaScriptGuest, value: str) -> None:
    test = f"require('assert').deepStrictEqual(f(), {value})"
    other = "require('assert').notDeepStrictEqual(f(), [0, 0])"
    assert len(read_test(test).assertions) == 1
    assert judged(guest, f"function f() {{ return {value} }}", test, other) == ["", ""]


@tables
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


@tables
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
