"""ES modules as scripts, and what a program's tests see of its exports."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

from infinite_rl.runtimes import Limits
from infinite_rl.sandbox.javascript.guest import JavaScriptGuest
from infinite_rl.sandbox.javascript.modules import as_script, lending
from infinite_rl.types import Execution, Program
from tests.support.labelled import Tables

tables = Tables(__file__)

MODULE = """import assert, { strictEqual as same } from 'assert';
import * as path from 'node:path';
import {
  EventEmitter, // the usual one
} from "events";
import fs from 'fs'
import 'util';
import util, * as all from 'util';
export const one = 1, three = 3;
export default function add(a, b) { return a + b }
export async function later() { return `${`import x from 'y' ${/`/.test('`')}`} }` }
export class K {}
function hid() {} // import a from 'b'
export { hid as shown, add };
export * from 'os'; export * as system from 'os';
const s = "import q from 'q'", r = /import"/;
const o = { import: 1, export: 2 };
console.log(o.import, o.export, one / three);
same(add(1, 2), 3); assert(true);
console.log(path.join('a', 'b'), typeof EventEmitter, typeof fs.readFileSync, await later());
console.log(all.format('%d', 1), util.inspect(s), r);
const { sep } = await import('path'); console.log(sep, import.meta.url.slice(0, 7));
try { undeclared = 1 } catch (e) { console.log(e.name) }
console.log(new Error('x').stack.match(/main.m?js:(\\d+):/)[1]);
"""


@pytest.fixture(scope="module")
def guest() -> JavaScriptGuest:
    return JavaScriptGuest()


def run(guest: JavaScriptGuest, code: str, *tests: str, entry_point: str = "") -> Execution:
    program = Program(code, tests=tests, entry_point=entry_point)
    return guest.run(program, Limits(timeout_s=2))


def test_a_module_prints_what_node_prints(guest: JavaScriptGuest, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed: nothing to compare with")
    source = MODULE.replace(", // the usual one", ",")
    path = tmp_path / "main.mjs"
    path.write_text(source, encoding="utf-8")
    expected = subprocess.run([node, path], capture_output=True, encoding="utf-8", check=True)
    assert run(guest, source).stdout == expected.stdout


@tables
def test_what_imports_and_exports_nothing_comes_back_as_it_is(source: str) -> None:
    assert as_script(source) == source


def test_lines_stay_where_they_are() -> None:
    made = as_script("import {\n  a,\n  b as c,\n} from 'x';\nlast")
    assert made == "\"use strict\";const a = require('x').a, c = require('x').b;\n\n\n\nlast"


@tables
def test_tests_see_what_the_program_exports(guest: JavaScriptGuest, code: str) -> None:
    execution = run(guest, code, "console.assert(f(1) === 2)", "console.assert(f(1) === 3)")
    assert [result.passed for result in execution.tests] == [True, False]


@tables
def test_tests_may_require_the_program_as_a_file(
    guest: JavaScriptGuest, code: str, test: str
) -> None:
    execution = run(guest, code, test.replace("check", "console.assert"))
    assert [result.passed for result in execution.tests] == [True]


def test_the_program_itself_finds_no_other_file(guest: JavaScriptGuest) -> None:
    assert "Cannot find module './other'" in run(guest, "import a from './other'").stderr


@pytest.mark.parametrize("name", ["console", "JSON", "require", "assert"])
def test_an_export_does_not_stand_in_for_what_tests_use(guest: JavaScriptGuest, name: str) -> None:
    code = f"exports.{name} = Object.assign(() => {{}}, {{ assert() {{}}, equal() {{}} }})"
    test = "const assert = require('assert'); console.assert(JSON.stringify(1) === '1');"
    failing = run(guest, code, test + "assert.equal(1, 2)", test + "console.assert(false)")
    assert [result.passed for result in failing.tests] == [False, False]


def test_an_export_that_throws_is_an_error_of_the_program(guest: JavaScriptGuest) -> None:
    code = "Object.defineProperty(exports, 'f', { enumerable: true, get() { throw Error('no') } })"
    execution = run(guest, code, "1")
    assert (execution.status, execution.tests) == ("error", ())


@pytest.mark.parametrize(
    "source",
    [
        "import " * 20000,
        "import" + " " * 100000,
        "import('a');" + "/[" * 50000,
        "import.meta;" + "`${" * 30000,
        "import('a');" + "/*" * 50000,
        "import('a');" + '"\\' * 50000,
        "export {" + "a," * 50000,
        "export async" + " " * 100000,
        "export function" + "*" * 100000,
        "export {}" + " " * 50000 + "from" + " " * 50000,
        "export * as" + " " * 100000,
    ],
)
def test_hostile_sources_take_linear_time(source: str) -> None:
    started = time.thread_time()
    as_script(source)
    assert time.thread_time() - started < 1


# --- a program's own last resorts ----------------------------------------------------------------


@tables
def test_a_program_can_listen_for_its_own_errors(
    guest: JavaScriptGuest, code: str, printed: str
) -> None:
    execution = run(guest, code)
    assert (execution.stdout, execution.stderr, execution.status) == (printed, "", "ok")


def test_a_listener_that_throws_leaves_the_error_uncaught(guest: JavaScriptGuest) -> None:
    code = "process.on('uncaughtException', () => { throw 2 }); throw new Error('first')"
    execution = run(guest, code)
    assert execution.status == "error" and "Error: first" in execution.stderr


def test_a_program_cannot_silence_the_errors_of_its_tests(guest: JavaScriptGuest) -> None:
    code = (
        "for (const event of ['uncaughtException', 'unhandledRejection'])"
        " process.on(event, () => {});"
    )
    tests = ("throw Error('t')", "Promise.reject(1); 0", "setTimeout(() => { throw 1 })")
    execution = run(guest, code, *tests)
    assert [result.passed for result in execution.tests] == [False, False, False]


@pytest.mark.parametrize(
    "source",
    [
        "const m = require('./m');" * 3000,
        "".join(f"const m{n} = require('./m'); m{n}.f();" for n in range(2000)),
        "const m = require('./m'); " + "{a} = " * 10_000,
    ],
)
def test_the_names_that_tests_take_are_found_in_linear_time(source: str) -> None:
    started = time.process_time()
    lending((source,))
    assert time.process_time() - started < 2
