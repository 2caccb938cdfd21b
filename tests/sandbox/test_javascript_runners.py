"""Which JavaScript tests need a runner, by their own text alone."""

from __future__ import annotations

import time

import pytest

from infinite_rl.sandbox.javascript.runners import missing_library, missing_member, runner_of
from tests.support.labelled import Tables

tables = Tables(__file__)


@tables
def test_a_test_for_a_runner_is_known(test: str) -> None:
    assert runner_of(test)


@tables
def test_a_test_that_needs_no_runner_is_left_alone(test: str) -> None:
    assert runner_of(test) == ""


@tables
def test_a_library_that_the_tests_never_import_is_named(test: str) -> None:
    assert missing_library((test,)) in ("chai", "_", "sinon", "lodash")
    assert missing_library(("const chai = _ = sinon = lodash = {}; f(1)", test)) == ""


@tables
def test_a_name_that_is_no_library_of_the_tests_is_left_alone(test: str) -> None:
    assert missing_library((test,)) == ""


def test_the_reason_names_the_runner_or_its_functions() -> None:
    assert runner_of("import { it } from 'node:test'; it('x', () => {})") == "node:test"
    assert runner_of("describe('x', () => { it('y', () => {}) })") == "describe and it"


def test_what_no_runner_here_has_is_named() -> None:
    assert missing_member("jest.mock('./a')") == "jest.mock"
    assert missing_member("expect(f(1)).toMatchInlineSnapshot(`1`)") == "toMatchInlineSnapshot"
    assert missing_member("delete require.cache[require.resolve('./a')]") == "require.cache"
    assert missing_member("const a = Object.keys(globalThis);").startswith("list of")
    assert missing_member("Reflect.ownKeys(global).length").startswith("list of")
    assert missing_member("Object.keys(globalThis.f())") == ""
    assert missing_member("const f = jest.fn(); expect(f).not.toBe('jest.mock')") == ""


def test_a_helper_of_the_setup_and_a_name_of_the_program_are_no_runner() -> None:
    test = "it('x', () => { console.assert(f(1) === 2) })"
    assert runner_of(test) == "it"
    assert runner_of(test, "const it = (name, run) => run();") == ""
    assert runner_of(test, "", ("it",)) == ""
    assert runner_of("f(1)", "const { it } = require('mocha');") == "mocha"


@pytest.mark.parametrize(
    "part", ["describe(", "test('a', ", "{", "expect(1).x;(", "a(1).", "assert(", "`${"]
)
def test_the_work_is_linear_in_the_text(part: str) -> None:
    def seconds(count: int) -> float:
        started = time.process_time()
        runner_of(part * count)
        return time.process_time() - started

    assert min(seconds(4000) for _ in range(3)) < 12 * min(seconds(1000) for _ in range(3)) + 0.02
