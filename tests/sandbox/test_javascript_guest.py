"""The JavaScript sandbox: what programs print, how they are stopped, what they cannot forge."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import wasmtime

from build_src.javascript.snapshot import snapshot
from infinite_rl.runtimes import Limits
from infinite_rl.sandbox.javascript.guest import JavaScriptGuest
from infinite_rl.types import Execution, Program
from tests.support.labelled import Tables

tables = Tables(__file__)

VALUES = Path(__file__).parent / "javascript_values.txt"
MiB = 1024 * 1024
Run = Callable[..., Execution]


@pytest.fixture(scope="module")
def guest() -> JavaScriptGuest:
    return JavaScriptGuest()


def judged(guest: JavaScriptGuest, code: str, *tests: str, entry_point: str = "") -> Execution:
    program = Program(code, tests=tests, entry_point=entry_point)
    return guest.run(program, Limits(timeout_s=2))


def passed(execution: Execution) -> list[bool]:
    return [result.passed for result in execution.tests]


@pytest.fixture
def run(guest: JavaScriptGuest) -> Run:
    def run(code: str, stdin: str = "", **limits: Any) -> Execution:
        return guest.run(Program(code, stdin), Limits(**limits))

    return run


# --- what is printed ---------------------------------------------------------------------------


def test_values_print_as_node_prints_them(run: Run) -> None:
    node = shutil.which("node")
    if node is None or not _version(node).startswith("v20."):
        pytest.skip("Node 20 is not installed: nothing to compare with")
    values = [line for line in VALUES.read_text(encoding="utf-8").splitlines() if line]
    assert len(values) >= 80
    code = "".join(f"console.log({value});\nconsole.log('\\0');\n" for value in values)
    printed = subprocess.run(
        [node, "-"],
        input=code,
        capture_output=True,
        encoding="utf-8",
        check=True,
        env={"TZ": "UTC"},
    )
    ours = run(code).stdout.split("\0\n")
    for value, expected, found in zip(values, printed.stdout.split("\0\n"), ours, strict=False):
        assert (value, found) == (value, expected)
    assert len(ours) == len(values) + 1


def _version(node: str) -> str:
    return subprocess.run([node, "--version"], capture_output=True, text=True).stdout


def test_console_methods_go_to_their_streams(run: Run) -> None:
    execution = run(
        "console.log('l'); console.info('i'); console.debug('d');"
        "console.error('e'); console.warn('w'); console.trace('t')"
    )
    assert execution.stdout == "l\ni\nd\n"
    assert execution.stderr == "e\nw\nTrace: t\n"
    assert execution.status == "ok"


def test_streams_write_without_a_newline(run: Run) -> None:
    execution = run("process.stdout.write('a'); process.stderr.write('b')")
    assert (execution.stdout, execution.stderr) == ("a", "b")


def test_half_a_surrogate_pair_prints_as_the_replacement_character(run: Run) -> None:
    assert run("console.log('\\ud83d', '\\ud83d\\ude00')").stdout == "\ufffd 😀\n"


def test_a_long_output_arrives_whole(run: Run) -> None:
    assert run("console.log('é😀'.repeat(100000))").stdout == "é😀" * 100000 + "\n"


# --- how programs end --------------------------------------------------------------------------


@tables
def test_what_nobody_catches_ends_the_program_with_code_1(run: Run, code: str, reason: str) -> None:
    execution = run(f"console.log('before');{code}" if "let" not in code else code)
    assert execution.stderr.startswith(reason)
    assert (execution.exit_code, execution.status) == (1, "error")


def test_a_rejection_that_is_handled_in_time_is_no_error(run: Run) -> None:
    code = "const p = Promise.reject(1); queueMicrotask(() => p.catch(() => console.log('ok')))"
    assert run(code) == Execution("ok\n", "", 0, "ok")


def test_exit_stops_the_program_with_its_code(run: Run) -> None:
    code = "try { process.exit(3) } catch { console.log(2) } finally { console.log(3) }"
    assert run(f"console.log(1); {code}") == Execution("1\n", "", 3, "error")


def test_the_exit_code_can_be_left_behind(run: Run) -> None:
    assert run("process.exitCode = 4; console.log(1)") == Execution("1\n", "", 4, "error")


def test_a_failed_assertion_is_an_error_and_the_program_goes_on(run: Run) -> None:
    execution = run(
        "console.assert(1 === 2, 'one is %d', 1); console.assert(true); console.log('on')"
    )
    assert execution == Execution("on\n", "Assertion failed: one is 1\n", 1, "error")


def test_a_top_level_await_that_never_ends_is_an_error(run: Run) -> None:
    assert run("await new Promise(() => {})").exit_code == 13


def test_each_run_starts_afresh(run: Run) -> None:
    assert run("globalThis.left = 1; Array.prototype.push = null").status == "ok"
    assert run("console.log(typeof left, typeof [].push)").stdout == "undefined function\n"


# --- limits ------------------------------------------------------------------------------------


@tables
def test_the_timeout_stops_a_program_and_keeps_its_output(run: Run, loop: str) -> None:
    execution = run(f"console.log('before'); {loop}", timeout_s=0.2)
    assert execution.status == "timeout"
    assert execution.stdout == "before\n"
    assert execution.stderr == "timed out after 0.2 s\n"
    assert execution.duration_s < 2


@pytest.mark.slow
def test_output_is_kept_when_time_is_up_inside_a_call_to_the_host(run: Run) -> None:
    code = "console.log('before'); setInterval(() => {}, 1)"
    endings = [run(code, timeout_s=0.15) for _ in range(10)]
    assert {(ending.status, ending.stdout) for ending in endings} == {("timeout", "before\n")}


@tables
def test_the_memory_limit_holds(run: Run, hoard: str) -> None:
    assert run(hoard, memory_bytes=32 * MiB).status in ("memory", "error")


@pytest.mark.parametrize("pages", range(6))  # how the engine reports it depends on what is left
def test_running_out_of_memory_is_said(run: Run, pages: int) -> None:
    limit = 32 * MiB + pages * 65536
    execution = run("const a = []; for (;;) a.push([1, 2, 3])", memory_bytes=limit)
    assert (execution.status, execution.exit_code) == ("memory", 1)
    assert "out of memory" in execution.stderr


def test_a_limit_below_the_engine_itself_is_met_at_once(run: Run) -> None:
    assert run("1", memory_bytes=65536).status == "memory"


def test_the_output_limit_stops_a_program(run: Run) -> None:
    execution = run("for (;;) console.log('x'.repeat(99))", output_chars=1000)
    assert (execution.status, len(execution.stdout)) == ("output", 1000)


@tables
def test_deep_recursion_is_an_error_and_the_host_is_unharmed(run: Run, dive: str) -> None:
    execution = run(dive)
    assert execution.status == "error"
    assert execution.stderr.startswith(
        ("RangeError: Maximum call stack", "SyntaxError", "InternalError")
    )


def test_a_thousand_levels_of_recursion_are_fine_and_too_many_can_be_caught(run: Run) -> None:
    code = """
        const depth = (n) => n === 0 ? 0 : 1 + depth(n - 1);
        console.log(depth(3000));
        try { depth(1e6) } catch (error) { console.log(error instanceof RangeError, error.message) }
    """
    assert run(code).stdout == "3000\ntrue Maximum call stack size exceeded\n"


def test_threads_do_not_disturb_each_other(guest: JavaScriptGuest) -> None:
    endings: dict[int, Execution] = {}
    codes = {
        0: "for (;;);",
        1: "console.log(1)",
        2: "const f = () => 1 + f(); f()",
        3: "process.exit(7)",
    }

    def work(number: int) -> None:
        endings[number] = guest.run(Program(codes[number % 4]), Limits(timeout_s=1.5))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = ["timeout", "ok", "error", "error"]
    assert [endings[n].status for n in range(16)] == expected * 4
    assert endings[7].exit_code == 7


# --- surroundings ------------------------------------------------------------------------------


def test_tasks_run_in_nodes_order_without_waiting(run: Run) -> None:
    execution = run("""
        setTimeout(() => console.log('late'), 60000);
        setTimeout(() => console.log('soon'), 10);
        setImmediate(() => console.log('immediate'));
        Promise.resolve().then(() => console.log('promise'));
        process.nextTick(() => console.log('tick'));
        console.log('script');
    """)
    assert execution.stdout.split() == ["script", "tick", "promise", "immediate", "soon", "late"]
    assert execution.duration_s < 5


def test_clocks_know_of_the_time_that_was_jumped_over(run: Run) -> None:
    code = """
        const [date, mark] = [Date.now(), performance.now()];
        await new Promise((done) => setTimeout(done, 5000));
        console.log(Date.now() - date >= 5000, performance.now() - mark >= 5000, mark >= 0);
    """
    assert run(code).stdout == "true true true\n"


def test_an_interval_runs_until_it_is_cleared(run: Run) -> None:
    code = "let n = 0; const i = setInterval(() => { console.log(++n); n > 2 && clearInterval(i) })"
    assert run(code).stdout == "1\n2\n3\n"


@tables
def test_standard_input_is_read(run: Run, code: str) -> None:
    assert run(code, "één\n2\n\n4").stdout == "één|2||4\n"


@tables
def test_assert_judges_as_nodes(run: Run, check: str, holds: bool) -> None:
    execution = run(f"require('assert').{check}")
    assert execution.status == ("ok" if holds else "error")
    assert ("AssertionError" in execution.stderr) is not holds


def test_modules_and_globals_are_there(run: Run) -> None:
    execution = run("""
        const { promisify, inspect, isDeepStrictEqual } = require('util');
        class Bell extends require('events') {}
        const bell = new Bell();
        bell.once('ring', (n) => console.log('ring', n));
        console.log(bell.emit('ring', 1), bell.emit('ring', 2));
        const more = promisify((x, done) => done(null, x + 1));
        console.log(await more(1), isDeepStrictEqual([1], [1]));
        console.log(structuredClone({d: new Date(0), m: new Map([[1, [2]]])}));
        console.log(new TextDecoder().decode(new TextEncoder().encode('é😀')), inspect({a: 1}));
        console.log(process.argv.length, process.env, require('js-md5')('Hello world'));
        await require('assert').rejects(Promise.reject(new Error('x')), /x/);
    """)
    assert execution.stderr == ""
    assert execution.stdout == (
        "ring 1\ntrue false\n2 true\n{ d: 1970-01-01T00:00:00.000Z, m: Map(1) { 1 => [ 2 ] } }\n"
        "é😀 { a: 1 }\n2 {} 3e25960a79dbc69b674cd4ec67a72c62\n"
    )


def test_standard_input_is_bytes_where_no_encoding_is_named(run: Run) -> None:
    execution = run("const b = require('fs').readFileSync(0); console.log(b.length, b[0])", "é")
    assert execution.stdout == "2 195\n"


def test_nothing_of_the_host_is_reachable(run: Run) -> None:
    assert "ENOENT" in run("require('fs').readFileSync('/etc/passwd')").stderr
    assert run("console.log(typeof host, typeof std, typeof os, typeof fetch)").stdout == (
        "undefined undefined undefined undefined\n"
    )


# --- tests of a program ------------------------------------------------------------------------

SQUARE = "const square = (x) => x * x;"


def test_each_test_has_its_own_result(guest: JavaScriptGuest) -> None:
    execution = judged(
        guest,
        SQUARE,
        "console.assert(square(2) === 4)",
        "console.assert(square(2) === 5, 'five')",
        "const assert = require('assert'); assert.strictEqual(square(3), 9)",
        "const assert = require('assert'); assert.strictEqual(square(3), 8)",
        "throw new Error('no')",
        "let broken = ;",
    )
    assert passed(execution) == [True, False, True, False, False, False]
    messages = [result.message for result in execution.tests]
    assert messages[1] == "Assertion failed: five"
    assert messages[3].startswith("AssertionError: Expected values to be strictly equal")
    assert messages[4] == "Error: no"


def test_asynchronous_tests_are_run_to_their_end(guest: JavaScriptGuest) -> None:
    execution = judged(
        guest,
        "const later = async (x) => { await null; return x };",
        "require('assert').strictEqual(await later(1), 1)",
        "require('assert').strictEqual(await later(1), 2)",
        "(async () => { if (await later(1)) throw new Error('late') })()",
        "setTimeout(() => console.assert(false), 50)",
        "(async () => { await new Promise(() => {}) })()",
        "new Promise(() => {})",
    )
    assert passed(execution) == [True, False, False, False, False, False]


def test_an_entry_point_is_handed_to_check(guest: JavaScriptGuest) -> None:
    check = "const check = (candidate) => { console.assert(candidate(3) === 9) }"
    assert passed(judged(guest, SQUARE, check, entry_point="square")) == [True]
    wrong = SQUARE.replace("*", "+")
    assert passed(judged(guest, wrong, check, entry_point="square")) == [False]
    assert passed(judged(guest, SQUARE, check, entry_point="missing")) == [False]


@tables
def test_a_program_that_does_not_load_has_no_results(guest: JavaScriptGuest, code: str) -> None:
    execution = guest.run(Program(code, tests=("1", "2")), Limits(timeout_s=1.5))
    assert execution.tests == ()


def test_leaving_early_in_a_test_is_not_a_pass(guest: JavaScriptGuest) -> None:
    execution = judged(guest, "function f() { process.exit(0) }", "1", "f()", "1")
    assert passed(execution) == [True]


TESTS = (
    "console.assert(f() === 1)",
    "const assert = require('assert'); assert.strictEqual(f(), 1)",
    "require('assert').deepStrictEqual([f()], [1])",
    "require('assert')(f() === 1)",
)


@tables
def test_a_wrong_program_passes_no_test_whatever_it_patches(
    guest: JavaScriptGuest, attack: str
) -> None:
    execution = judged(guest, f"function f() {{ return 0 }}\n{attack}", *TESTS)
    assert True not in passed(execution)


@tables
def test_tests_see_the_json_that_javascript_has(guest: JavaScriptGuest, attack: str) -> None:
    stringified = "console.assert(JSON.stringify([0]) === JSON.stringify([1]))"
    parsed = "console.assert(JSON.parse('0') === JSON.parse('1'))"
    assert True not in passed(judged(guest, attack, stringified, parsed))


@tables
def test_a_function_that_answers_with_tricks_passes_no_test(
    guest: JavaScriptGuest, body: str
) -> None:
    assert True not in passed(judged(guest, f"function f() {{ {body} }}", *TESTS))


# --- the build ---------------------------------------------------------------------------------

MODULE = """(module
  (import "env" "unused" (func))
  (memory (export "memory") 1)
  (global (export "stack") (mut i32) (i32.const 0))
  (data (i32.const 0) "old")
  (func (export "qjs_is_job_pending") (result i32) (i32.load8_u (i32.const 5000)))
  (func (export "qjs_execute_pending_job") (result i32)
    (i32.store8 (i32.const 5000) (i32.sub (i32.load8_u (i32.const 5000)) (i32.const 1)))
    (i32.sub (i32.const 0) (i32.load8_u (i32.const 5001))))
  (func (export "dropped")))"""


def _snapshot_exports(memory: bytes) -> tuple[wasmtime.Store, wasmtime.InstanceExports]:
    written = snapshot(
        bytes(wasmtime.wat2wasm(MODULE)),
        memory,
        ["memory", "stack"],
        {"address": -5, "other": 70000},
        stack_pointer=65536,
    )
    store = wasmtime.Store()
    idle = wasmtime.Func(store, wasmtime.FuncType([], []), lambda: None)
    instance = wasmtime.Instance(store, wasmtime.Module(store.engine, written), [idle])
    return store, instance.exports(store)


def test_a_snapshot_starts_with_the_memory_it_was_given() -> None:
    memory = bytearray(3 * 65536)
    memory[0:3] = b"new"
    memory[150000] = 7
    store, exports = _snapshot_exports(bytes(memory))
    found = exports["memory"]
    assert isinstance(found, wasmtime.Memory)
    assert bytes(found.read(store, 0, 3 * 65536)) == bytes(memory)


def test_a_snapshot_exports_what_was_asked_for_and_no_more() -> None:
    store, exports = _snapshot_exports(bytes(65536))
    assert set(exports) == {"memory", "stack", "drain", "address", "other"}
    values = [exports[name] for name in ("address", "other", "stack")]
    assert [v.value(store) for v in values if isinstance(v, wasmtime.Global)] == [-5, 70000, 65536]


def test_a_module_with_other_globals_than_its_stack_pointer_is_refused() -> None:
    module = MODULE.replace("(data", "(global (mut i32) (i32.const 0)) (data")
    with pytest.raises(ValueError, match="other globals"):
        snapshot(bytes(wasmtime.wat2wasm(module)), bytes(65536), ["memory"], {}, 0)


def test_drain_runs_all_jobs_and_stops_at_one_that_fails() -> None:
    memory = bytearray(65536)
    memory[5000] = 9
    store, exports = _snapshot_exports(bytes(memory))
    drain, found = exports["drain"], exports["memory"]
    assert isinstance(drain, wasmtime.Func) and isinstance(found, wasmtime.Memory)
    assert (drain(store), found.read(store, 5000, 5001)[0]) == (0, 0)
    found.write(store, b"\x09\x01", 5000)
    assert (drain(store), found.read(store, 5000, 5001)[0]) == (-1, 8)
