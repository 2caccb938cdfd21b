"""Which JavaScript tests need a runner, by their own text alone."""

from __future__ import annotations

import time

import pytest

from infinite_rl.sandbox.javascript.runners import runner_of

FOR_A_RUNNER = [
    "describe('f', () => { it('doubles', () => { assert.strictEqual(f(2), 4) }) })",
    (
        "const assert = require('assert');\ndescribe('f', function () {\n  it('x'"
        ", function () {\n    assert.equal(f(1), 2);\n  });\n});"
    ),
    (
        "const test = require('node:test');\nconst assert = require('assert');\nt"
        "est('x', () => { assert.ok(f(1)) })"
    ),
    "import test from 'node:test'; test('x', t => {})",
    "import { describe, it } from 'node:test'",
    "import {expect} from '@jest/globals'; expect(1)",
    "expect(f(2)).toBe(4)",
    "expect(f(2)).toBe(4)\nexpect(f(3)).toEqual(6)",
    "const r = f(2)\nexpect(r).toBe(4)",
    "await expect(f(2)).resolves.toBe(4)",
    "test.each([[1, 2]])('f(%i)', (a, b) => { expect(f(a)).toBe(b) })",
    "describe.only('x', () => {})",
    "for (const [a, b] of [[1,2]]) { it(`f ${a}`, () => { assert.equal(f(a), b) }) }",
    "[[1,2]].forEach(([a,b]) => it('f' + a, () => assert.equal(f(a), b)))",
    (
        "const equal = assert.strictEqual;\ndescribe('x', () => { it('y', async "
        "() => { equal(await f(1), 2) }) })"
    ),
    (
        "function same(a, b) { if (a !== b) throw new Error('x') }\ndescribe('x'"
        ", () => { it('y', () => { same(f(1), 2) }) })"
    ),
    "const { f } = require('./solution');\ntest('a', () => {\n  expect(f(1)).toBe(2);\n});",
    "suite('x', () => { test('y', () => { assert(f(1)) }) })",
    "test('x', function () { console.assert(f(1) === 2) })",
    (
        "const chai = require('chai'); const { expect } = chai; describe('a', ("
        ") => { it('b', () => { expect(f(1)).to.equal(2) }) })"
    ),
    "describe('f', () => {\n  test('a', () => expect(f(1)).toBe(2));\n})",
    "const cases=[1];\ncases.map(c => test(`a`, () => { expect(f(c)).toBe(1) }))",
]
FOR_NONE = [
    "console.assert(test(2) === 4)",
    "assert.strictEqual(expect(5).toBe(5), true)",
    "assert.throws(() => expect(5).notToBe(5))",
    "assert.throws(() => { expect(5).notToBe(5); })",
    "require('assert').throws(() => { expect(5).notToBe(5); }, /x/)",
    "function it(name, run) { run(); }\nit('x', () => { assert(f(2) === 4) })",
    "const test = (n, g) => g();\ntest('x', () => { console.assert(f(2) === 4) })",
    "const log = []; test('a', () => log.push(1)); assert.strictEqual(log.length, 1)",
    "const { it } = require('./solution'); it('x', () => {})",
    "import { test } from './main.js'; test('x', () => 1)",
    "assert.equal(describe({a: 1}), 'x')",
    "// describe('x', () => {})\nassert(f(1))",
    "const s = \"describe('x', () => { it('y', () => {}) })\"; assert.equal(f(s), 1)",
    "assert.equal(obj.test('a', () => 1), 2)",
    "/x/.test('a', () => 1)",
    "let r = test('x', () => 1); console.assert(r === 1)",
    "const o = { test(a, b) { return 1 } }; console.assert(f(o) === 1)",
    "class T { it(a, b) { } describe() {} }\nconsole.assert(f(T))",
    "globalThis.it = (n, g) => g(); it('x', () => { assert(f(1)) })",
    "'mocha'; assert(f('mocha') === 1)",
    "assert.deepStrictEqual(f(['jest', 'node:test']), [])",
    "function check(candidate) { console.assert(candidate(1) === 2) }",
]


@pytest.mark.parametrize("test", FOR_A_RUNNER)
def test_a_test_for_a_runner_is_known(test: str) -> None:
    assert runner_of(test)


@pytest.mark.parametrize("test", FOR_NONE)
def test_a_test_that_needs_no_runner_is_left_alone(test: str) -> None:
    assert runner_of(test) == ""


def test_the_reason_names_the_runner_or_its_functions() -> None:
    assert runner_of("import { it } from 'node:test'; it('x', () => {})") == "node:test"
    assert runner_of("describe('x', () => { it('y', () => {}) })") == "describe and it"


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
