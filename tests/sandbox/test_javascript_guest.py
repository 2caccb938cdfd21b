"""The JavaScript sandbox: how programs end, their limits, their tests, and how it is built."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import wasmtime

from build_src.javascript.snapshot import snapshot
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.types import Execution
from tests.support.labelled import Tables
from tests.support.sandbox_runs import Block, check, groups_of

tables = Tables(__file__)


def run(code: str, timeout: float = 5, memory_limit_mb: float = 256) -> Execution:
    executor = RewardExecutor(timeout, memory_limit_mb)  # type: ignore[arg-type]  # parts of a MiB
    return executor.execute(code, "javascript")


@groups_of(Path(__file__).with_name("javascript_runs.txt"))
def test_programs_end_as_their_blocks_say(blocks: list[Block]) -> None:
    check(blocks)


def test_a_long_output_arrives_whole() -> None:
    assert run("console.log('é😀'.repeat(100000))").stdout == "é😀" * 100000 + "\n"


@pytest.mark.slow
def test_output_is_kept_when_time_is_up_inside_a_call_to_the_host() -> None:
    code = "console.log('before'); setInterval(() => {}, 1)"
    endings = [run(code, timeout=0.15) for _ in range(10)]
    assert {(ending.status, ending.stdout) for ending in endings} == {("timeout", "before\n")}


@tables
def test_the_memory_limit_holds(hoard: str) -> None:
    assert run(hoard, memory_limit_mb=32).status in ("memory", "error")


def test_running_out_of_memory_is_said() -> None:
    for pages in range(6):  # how the engine reports it depends on what is left
        limit = 32 + pages / 16
        execution = run("const a = []; for (;;) a.push([1, 2, 3])", memory_limit_mb=limit)
        assert (execution.status, execution.exit_code) == ("memory", 1)
        assert "out of memory" in execution.stderr


def test_threads_do_not_disturb_each_other() -> None:
    codes = ("for (;;);", "console.log(1)", "const f = () => 1 + f(); f()", "process.exit(7)")
    with ThreadPoolExecutor(16) as pool:
        endings = list(pool.map(lambda n: run(codes[n % 4], timeout=1.5), range(16)))
    assert [ending.status for ending in endings] == ["timeout", "ok", "error", "error"] * 4
    assert endings[7].exit_code == 7


def test_values_that_are_too_large_or_too_deep_fail_their_test() -> None:
    code = "let deep = []; for (let i = 0; i < 5000; i++) deep = [deep]; const f = () => deep;"
    code += "const g = () => 'x'.repeat(9e6)"
    tests = ("assert(f())", "assert(g())", "assert(1 + 1 === 2)")
    results = RewardExecutor().execute(code, "javascript", tests=tests).tests
    assert [result.passed for result in results] == [False, False, True]
    assert "nested too deeply" in results[0].message and "too large" in results[1].message


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
