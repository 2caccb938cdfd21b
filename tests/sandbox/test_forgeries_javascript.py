"""Programs that try to pass JavaScript tests without computing what they ask for. None may."""

from __future__ import annotations

from pathlib import Path

import pytest

from infinite_rl.runtimes import Limits
from infinite_rl.sandbox.javascript.guest import JavaScriptGuest
from infinite_rl.types import Execution, Program

TESTS = (
    "console.assert(f(3) === 6)",
    "console.assert(f(3) == 6)",
    "console.assert(Math.abs(f(2) - 4) < 1e-6)",
    "const assert = require('assert'); assert.strictEqual(f(4), 8)",
    "import assert from 'node:assert'; assert.equal(f(5), 10)",
    "assert.deepStrictEqual(g(3), [3, 6])",
    "assert.deepEqual(g(3), [3, 6])",
    "console.assert(JSON.stringify(g(3)) === JSON.stringify([3, 6]))",
    "console.assert(g(3).every((x, i) => x === 3 * (i + 1)) && g(3).join() === '3,6')",
    "(async () => { assert.strictEqual(await f(6), 12) })()",
    "assert.strictEqual(await f(7), 14)",
    "f(8).then((x) => { assert.strictEqual(x, 16) })",
    "for (const [x, want] of [[7, 14], [8, 16]]) assert.equal(f(x), want)",
    "[[7, 14], [8, 16]].forEach(([x, want]) => { console.assert(f(x) === want) })",
    "if (f(9) !== 18) throw new Error('no')",
    "function same(a, b) { if (a !== b) throw new Error('no') }\nsame(f(9), 18)",
    "const expected = 18; const found = f(9); assert.strictEqual(found, expected)",
    "assert.deepStrictEqual(m(1), new Map([['a', 1]]))",
    "assert.throws(() => h(-1), RangeError)",
    "let thrown = false; try { h(-1) } catch (e) { thrown = e instanceof RangeError }\n"
    "console.assert(thrown)",
)
CHECK = (
    "function check(candidate) { assert.strictEqual(candidate(3), 6) }",
    "const check = (candidate) => { console.assert(candidate(4) == 8) }",
)
HONEST = """
const f = (x) => x * 2; const g = (x) => [x, x * 2]; const m = (x) => new Map([['a', x]]);
function h(x) { if (x < 0) throw new RangeError('negative'); return x }
"""
WRONG = """
function f(x) { return 0 }; function g(x) { return [0] }; function m(x) { return new Map() }
function h(x) { return x }
"""


def everything(value: str) -> str:
    """All functions answer with the same trick."""
    return f"function f(x) {{ {value} }}; const g = f, m = f, h = f;"


def returning(value: str) -> str:
    return everything(f"return {value}")


FORGERIES = {
    "exit at load": "process.exit(0)",
    "exit when called": everything("process.exit(0)"),
    "reallyExit": everything("process.reallyExit?.(0); process.exitCode = 0; return 0"),
    "abort": everything("process.abort()"),
    "exit in a listener": f"{WRONG} process.on('exit', () => {{ process.exitCode = 0 }})",
    "valueOf": returning("{ valueOf: () => 2 * x }"),
    "valueOf of a class": returning("new (class { valueOf() { return 2 * x } })"),
    "toString": returning("{ toString: () => String(2 * x) }"),
    "toPrimitive": returning("{ [Symbol.toPrimitive]: () => 2 * x }"),
    "toJSON": returning("{ toJSON: () => [x, 2 * x] }"),
    "toStringTag": returning("{ [Symbol.toStringTag]: 'Map', size: 1, get: () => x }"),
    "hasInstance": returning("{ [Symbol.hasInstance]: () => true }"),
    "hasInstance of errors": f"""{WRONG}
        h = () => {{ throw new TypeError('x') }}
        Object.defineProperty(RangeError, Symbol.hasInstance, {{ value: () => true }})""",
    "a Proxy for anything": returning(
        "new Proxy(function () {}, { get: (t, k) => (k === 'then' ? undefined : () => true) })"
    ),
    "a Proxy for an array": returning(
        "new Proxy([], { get: (t, k) => (k === 'every' ? () => true : 2), has: () => true })"
    ),
    "a Proxy that throws": returning("new Proxy({}, { get() { throw new RangeError('x') } })"),
    "an object with array methods": returning(
        "{ every: () => true, length: 2, map: () => [], join: () => '' }"
    ),
    "a class with array methods": returning(
        "new (class extends Array { every() { return true } get length() { return 2 } })"
    ),
    "a getter that changes": returning(
        "Object.defineProperty([], 0, { enumerable: true, get() { return Math.random() } })"
    ),
    "a Map that lies": returning(
        "Object.assign(new Map(), { get: () => 1, size: 1, [Symbol.iterator]: null })"
    ),
    "a thenable that never calls back": returning("{ then() {} }"),
    "a promise that never settles": returning("new Promise(() => {})"),
    "a rejected promise": returning("Promise.reject()"),
    "throwing null": everything("throw null"),
    "throwing undefined later": everything("setTimeout(() => { throw undefined }); return 0"),
    "throwing a trap": everything("throw { get message() { process.exit(0) } }"),
    "console.assert": f"{WRONG} console.assert = () => {{}}",
    "console": f"{WRONG} globalThis.console = {{ assert() {{}} }}",
    "console.assert when called": everything(
        "Object.defineProperty(console, 'assert', { value() {} }); return 0"
    ),
    "assert's functions": f"""{WRONG} const it = require('assert');
        for (const k in it) try {{ it[k] = () => {{}} }} catch {{}}""",
    "a global assert": f"{WRONG} globalThis.assert = new Proxy(() => 0, {{ get: () => () => 0 }})",
    "a lexical assert": f"{WRONG} var assert = Object.assign(() => 0, require('assert'),"
    " { strictEqual() {}, deepStrictEqual() {}, throws() {} })",
    "require": f"{WRONG} require = () => new Proxy(() => 0, {{ get: () => () => 0 }})",
    "Object.is": f"{WRONG} Object.is = () => true; Object.keys = () => []",
    "Array.prototype.every": f"{WRONG} Array.prototype.every = () => true",
    "Array.prototype.forEach": f"{WRONG} Array.prototype.forEach = () => {{}}",
    "Array.prototype.forEach as an accessor": f"""{WRONG} const real = [].forEach; let n = 0;
        Object.defineProperty(Array.prototype, 'forEach', {{ get: () => n++ ? () => 0 : real }})""",
    "the iterator of arrays": f"{WRONG} Array.prototype[Symbol.iterator] = function* () {{}}",
    "the iterator of arrays, for good": f"""{WRONG} Object.defineProperty(Array.prototype,
        Symbol.iterator, {{ value: function* () {{}}, writable: false, configurable: false }})""",
    "the iterator when called": everything(
        "Array.prototype[Symbol.iterator] = function* () {};"
        "Object.getPrototypeOf([].values()).next = () => ({ done: true }); return 0"
    ),
    "Array.prototype.toJSON": f"{WRONG} Array.prototype.toJSON = () => 1",
    "Object.prototype.toJSON when called": everything(
        "Object.prototype.toJSON = () => 1; return 0"
    ),
    "Array.prototype.join": f"{WRONG} Array.prototype.join = Array.prototype.push = () => ''",
    "JSON.stringify": f"{WRONG} JSON.stringify = () => '1'",
    "JSON": f"{WRONG} globalThis.JSON = {{ stringify: () => 1 }}",
    "setters of Object.prototype": f"""{WRONG}
        for (const k of ['0', '1', 'value', 'get', 'message'])
        Object.defineProperty(Object.prototype, k, {{ set() {{}}, get: () => 1 }})""",
    "Object.prototype.then when called": everything(
        "Object.prototype.then = function (done) { done(2 * x) }; return {}"
    ),
    "Object.prototype.valueOf when called": everything(
        "Object.prototype.valueOf = () => 2 * x; return {}"
    ),
    "Array.isArray": f"{WRONG} Array.isArray = () => true",
    "Promise.prototype.then": f"{WRONG} Promise.prototype.then = function () {{ return this }}",
    "Promise": f"{WRONG} globalThis.Promise = class {{ then() {{}} }}",
    "Error": f"{WRONG} globalThis.Error = globalThis.RangeError = function () {{}}",
    "Map.prototype.get": f"{WRONG} Map.prototype.get = Map.prototype.has = () => 1",
    "Map.prototype.size": f"""{WRONG}
        Object.defineProperty(Map.prototype, 'size', {{ get: () => 1 }})""",
    "RegExp.prototype.exec": f"{WRONG} RegExp.prototype.exec = () => ['']",
    "Math.abs": f"{WRONG} Math.abs = () => 0",
    "Function.prototype.call": f"""{WRONG}
        Function.prototype.call = Function.prototype.apply = () => 0""",
    "a global check": f"{WRONG} globalThis.check = () => {{}}; globalThis.candidate = () => 6",
    "a global same": f"""{WRONG}
        globalThis.same = globalThis.expected = globalThis.found = () => 0""",
    "undefined and NaN": f"{WRONG} try {{ globalThis.undefined = globalThis.NaN = 6 }} catch {{}}",
    "listeners that swallow": f"""{WRONG}
        for (const k of ['uncaughtException', 'unhandledRejection'])
        process.on(k, () => {{}})""",
    "Error.prepareStackTrace": f"{WRONG} Error.prepareStackTrace = () => process.exit(0)",
    "reading the caller": everything(
        "const told = [new Error().stack, (() => { try { return String(arguments.callee.caller) }"
        " catch { return '' } })()].join(); const n = /=== (\\d+)|, (\\d+)\\)/.exec(told);"
        "return n ? Number(n[1] ?? n[2]) : 0"
    ),
    "looking for the reporter": everything(
        "for (const k of Reflect.ownKeys(globalThis)) if (String(k)[0] === '$') return x * 2;"
        "return 0"
    ),
    "calling the reporter": everything("try { $report(0, [x * 2]) } catch {} return 0"),
    "waiting for the reporter": f"""{WRONG} Object.setPrototypeOf(globalThis, new Proxy({{}}, {{
        has: (t, k) => String(k)[0] === '$', get: () => () => () => 0 }}))""",
    "printing": f"{WRONG} console.log('passed'); process.stdout.write('0=[6]\\n1 passed')",
    "writing to other channels": everything(
        "for (let fd = 0; fd < 9; fd++) try { require('fs').writeSync(fd, '0=[6]') } catch {}"
        "return 0"
    ),
    "an endless generator": f"function* f(x) {{ for (;;) yield x }} {WRONG[20:]}",
    "an iterator of nothing": returning("{ [Symbol.iterator]: () => ({ next: () => 0 }) }"),
    "timers that run later": everything(
        "setTimeout(() => { try { console.assert = () => 0 } catch {} f = g = () => x }); return 0"
    ),
    "floods of microtasks": everything(
        "let n = 1000; const next = () => n-- && Promise.resolve().then(next); next(); return 0"
    ),
    "with and labels": everything(
        "with (globalThis) { out: { assert = console = check = null; break out } } return 0"
    ),
    "accessors of the global object": f"""{WRONG}
        for (const k of ['$value', '$told', 'test', 'assert'])
        Object.defineProperty(globalThis, k, {{ get: () => () => 6 }})""",
    "freezing": f"{WRONG} Object.freeze(globalThis)",
    "own classes named like builtins": returning(
        "new (class Map { constructor() { this.a = x } get size() { return 1 } })"
    ),
    "an array with another prototype": returning("Object.setPrototypeOf([x], null)"),
    "functions": returning("() => 2 * x"),
}

# More of them, each the name and below it the program.
_FILE = Path(__file__).parent / "javascript_forgeries.txt"
MORE = [entry.split("\n") for entry in _FILE.read_text(encoding="utf-8").split("\n%%%%\n")]


@pytest.fixture(scope="module")
def guest() -> JavaScriptGuest:
    return JavaScriptGuest()


def run(guest: JavaScriptGuest, code: str, *tests: str, entry_point: str = "") -> Execution:
    program = Program(code, tests=tests, entry_point=entry_point)
    return guest.run(program, Limits(timeout_s=10))


def passing(execution: Execution) -> list[int]:
    return [n for n, result in enumerate(execution.tests) if result.passed]


def is_earned(name: str, test: str) -> bool:
    """Whether the program computes what this test asks for."""
    what = {"a Proxy that throws": "RangeError", "toJSON": "JSON"}
    return name in what and what[name] in test


def test_the_honest_program_passes(guest: JavaScriptGuest) -> None:
    later = HONEST.replace("x * 2;", "Promise.resolve(x * 2);")
    for n, test in enumerate(TESTS):
        code = later if ".then(" in test else HONEST
        assert [result.message for result in run(guest, code, test).tests] == [""], (n, test)
    assert passing(run(guest, HONEST, *CHECK, entry_point="f")) == [0, 1]


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_passes_no_test(guest: JavaScriptGuest, name: str) -> None:
    tests = [test for test in TESTS if not is_earned(name, test)]
    for test in tests:
        assert passing(run(guest, FORGERIES[name], test)) == [], test
    assert passing(run(guest, FORGERIES[name], *tests[:11])) == []
    checks = [check for check in CHECK if not is_earned(name, check)]
    assert passing(run(guest, FORGERIES[name], *checks, entry_point="f")) == []


@pytest.mark.parametrize("forgery", MORE, ids=[entry[0] for entry in MORE])
def test_a_forgery_passes_none_of_all_tests(guest: JavaScriptGuest, forgery: list[str]) -> None:
    assert passing(run(guest, "\n".join(forgery[1:]), *TESTS)) == []


def test_programs_may_add_to_builtins(guest: JavaScriptGuest) -> None:
    code = """
        Array.prototype.last = function () { return this[this.length - 1] };
        Object.defineProperty(Object.prototype, 'keys', { value() { return Object.keys(this) } });
        Array.prototype.map = function (each) {
            const made = [];
            for (let i = 0; i < this.length; i++) made.push(each(this[i]));
            return made };
        const f = (all) => all.map((x) => 2 * x).last(); const g = (x) => x.keys();
        class Odd extends Error { constructor() { super('odd'); this.name = 'Odd' } }
        function h() { const e = new Odd(); e.toString = () => 'odd'; throw e }"""
    tests = (
        "assert.strictEqual(f([1, 2]), 4)",
        "assert.deepStrictEqual(g({ a: 1 }), ['a'])",
        "assert.strictEqual([1, 2].last(), 2)",
        "assert.throws(h, { name: 'Odd' })",
    )
    assert [result.message for result in run(guest, code, *tests).tests] == [""] * 4
