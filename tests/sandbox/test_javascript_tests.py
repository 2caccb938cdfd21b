"""How JavaScript tests are read: what stays beside the program, what is judged away from it."""

from __future__ import annotations

from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.javascript.tests import read_test
from tests.support.labelled import Tables

tables = Tables(__file__)


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


def test_lines_stay_where_they_are() -> None:
    test = "const a = 1;\nconsole.assert(\n  f(2)\n    === 4,\n)\nthrow a"
    assert read_test(test).source.splitlines()[5] == "throw a"


@tables
def test_what_every_run_reaches_is_required(test: str, required: bool) -> None:
    reading = read_test(test, "f" if "check" in test else "")
    assert [item.required for item in reading.assertions.values()] == [required]


@tables
def test_values_reach_the_judge_as_they_are(value: str) -> None:
    same = f"require('assert').deepStrictEqual(f(), {value})"
    other = "require('assert').notDeepStrictEqual(f(), [0, 0])"
    assert len(read_test(same).assertions) == 1
    code = f"function f() {{ return {value} }}"
    results = RewardExecutor().execute(code, "javascript", tests=[same, other]).tests
    assert [(result.passed, result.message) for result in results] == [(True, "")] * 2
