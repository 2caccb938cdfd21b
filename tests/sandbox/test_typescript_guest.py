"""TypeScript in the sandbox: what is stripped, what is refused, and that nothing gets out."""

from __future__ import annotations

import pytest

from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.javascript.typescript import TypeScriptGuest, doubt_of
from infinite_rl.sandbox.runtimes import Limits
from infinite_rl.types import Execution, Program

# What node prints for what `tsc` emits (TypeScript 6.0.3, target ES2022, assigned fields).
FEATURES = [
    ("interface P { x: number }\nconst p: P = { x: 1 }; type Q = P & { y?: string }", "p.x", "1"),
    ("enum C { Red, Green = 5, Blue }", "[C.Blue, C[5]]", '[6,"Green"]'),
    ("const enum E { A = 1 << 2, B = 'b' }", "[E.A, E.B]", '[4,"b"]'),
    ("class A<T> { n = 2; constructor(readonly x: T, private y?: T) {} }", "new A(1)",
     '{"x":1,"n":2}'),
    ("class A { b = this.a + 1; constructor(public a: number) {} }", "new A(1).b", "2"),
    ("abstract class S { abstract f(): number; g() { return this.f(); } }\n"
     "class R extends S { override f(): number { return 3; } }", "new R().g()", "3"),
    ("function f(x: string): string;\nfunction f(x: any) { return x; }", "f(4)", "4"),
    ("function is(this: void, x: unknown): x is string { return typeof x === 'string' }",
     "is('')", "true"),
    ("const id = <T,>(x: T): T => x; const y = <any>id(5)!;", "y as number", "5"),
    ("const o = { a: 1 } satisfies Record<string, number>;", "o?.a ?? 2", "1"),
    ("declare const missing: number; declare function g(): void; let u: [a: 1, b?: 2] = [1];", "u",
     "[1]"),
    ("namespace N { export interface I { x: number } }\nlet i: N.I = { x: 7 };", "i.x", "7"),
    ("import type { T } from './t';\nimport { U } from './t';\nlet t: T | U = 8 as any;", "t", "8"),
    ("let big = 1_000n; class P { #x: bigint = big; get v() { return this.#x } }",
     "String(new P().v)", '"1000"'),
]  # fmt: skip
DOUBTFUL = [
    "@sealed class A {}", "class A { @f x = 1 }", "class A { @ (f) m() {} }", "export = f",
    "import fs = require('fs')", "namespace N { export const x = 1 }", "class A { accessor x = 1 }",
    "export namespace A.B { function f() {} }", "module M { class C {} }",
    "class A { static x = 1; static { A.x = 2 } }",
]  # fmt: skip
PLAIN = [
    "const s = '@sealed class A {}' // @x", "module.exports = { f: 1 }; module = 1; const t = `@a`",
    "namespace N { export type T = { function: 1 }; interface I {} }",
    "declare namespace N { const x: number }", "export const x = 1; let accessor = 2",
    "import x from 'fs'; export default 1", "const namespace = { const: 1 }; namespace",
]  # fmt: skip
HOSTILE = [
    ("timeout", "while (true) { const x: number = 1 }"),
    ("output", "while (true) console.log('x'.repeat(1000) as string)"),
    ("memory", "const x: string[] = []; while (true) x.push('y'.repeat(999999) + x.length)"),
    ("error", "const f = (x: number): number => f(x) + 1; f(1)"),
    ("error", "process.exit(3 as number)"),
    ("error", "require('fs').readFileSync('/etc/passwd' as string)"),
    ("error", "const x: = 1"),
    ("error", f"let x = {'(' * 20000}1{')' * 20000}"),
    ("error", f"let x: {'Array<' * 20000}1"),
    ("error", "`" + "${" * 5000),
]


def run(code: str, **more: object) -> Execution:
    return RewardExecutor(memory_limit_mb=64).execute(code, "ts", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("code", "value", "printed"), FEATURES)
def test_types_are_stripped_and_the_rest_runs(code: str, value: str, printed: str) -> None:
    done = run(f"{code}\nconsole.log(JSON.stringify({value}))")
    assert (done.status, done.stdout, done.doubt) == ("ok", f"{printed}\n", "")


@pytest.mark.parametrize("code", DOUBTFUL)
def test_what_cannot_be_translated_leaves_a_doubt(code: str) -> None:
    assert doubt_of(f"let a = 1;\n{code}").startswith("TypeScript's ")
    assert run(code).doubt == doubt_of(code)


@pytest.mark.parametrize("code", PLAIN)
def test_what_only_looks_like_it_leaves_none(code: str) -> None:
    assert doubt_of(code) == ""


@pytest.mark.parametrize(("status", "code"), HOSTILE)
def test_a_hostile_program_is_stopped_as_in_javascript(status: str, code: str) -> None:
    done = run(code, timeout=0.5 if status == "timeout" else 20)
    assert (done.status, done.doubt) == (status, "")
    assert "root:" not in done.stdout


def test_tests_are_in_typescript_or_in_javascript_and_one_that_is_neither_fails_alone() -> None:
    tests = ["const y: number = f(2); if (y !== 4) throw y", "f(1", "console.assert(f(1) === 2)"]
    done = run("import { T } from './t';\nexport const f = (x: number) => 2 * x", tests=tests)
    assert [test.passed for test in done.tests] == [True, False, True]
    imported = "import { f } from './solution'; import assert from 'assert'"
    done = run("export const f = (x: number) => x", setup=imported, tests=["assert.equal(f(2), 2)"])
    assert [test.passed for test in done.tests] == [True]


def test_a_program_cannot_change_how_its_tests_are_stripped() -> None:
    code = "String.prototype.charCodeAt = () => 0; JSON.parse = () => []; export const f = () => 1"
    (test,) = run(code, tests=["const x: number = f(); if (x !== 2) throw new Error('x')"]).tests
    assert not test.passed


def test_a_program_is_stripped_again_if_the_time_was_short() -> None:
    guest, program = TypeScriptGuest(), Program("let x: number = 1;\n" * 4000)
    assert guest.run(program, Limits(timeout_s=0.01)).status == "timeout"
    assert guest._kept.cache_info().currsize == 0
    assert guest.run(program, Limits(timeout_s=60)).exit_code == 1  # it declares x twice
    assert guest._kept.cache_info().currsize == 1


def test_a_program_runs_in_strict_mode_as_compiled_ones_do() -> None:
    code = "const x: readonly number[] = Object.freeze([]);\n(x as number[])[0] = 1;"
    assert "TypeError" in run(code).stderr
    assert run("(function (this: any) { console.log(typeof this) })()").stdout == "undefined\n"


def test_with_fuel_the_same_program_takes_the_same() -> None:
    first, second = (run("let x: number = 1; while (x) x++", fuel=10**7) for _ in range(2))
    assert first.status == second.status == "timeout" and first.fuel == second.fuel
