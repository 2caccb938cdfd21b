"""The shared engine: its clock, and the cache of compiled code."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from wasmtime import Func, Instance, Module, Store, Trap, TrapCode, WasmtimeError, wat2wasm

from infinite_rl.errors import RuntimeMissing, SandboxError
from infinite_rl.sandbox import engine, runtimes
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.runtimes import Runtime

TINY = wat2wasm('(module (func (export "spin") (loop (br 0))) (func (export "f")))')


def compiled(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "cache").glob("*.cwasm"))


def forget_and_forbid_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    engine._loaded.clear()
    monkeypatch.setattr(engine, "_compile", None)


def spin(seconds: float) -> TrapCode | None:
    def call() -> None:
        store = Store(engine.ENGINE)
        function = Instance(store, Module(engine.ENGINE, TINY), []).exports(store)["spin"]
        assert isinstance(function, Func)
        with engine.deadline(store, seconds):
            function(store)

    with pytest.raises(Trap) as stopped:
        engine.shielded(call)
    return stopped.value.trap_code


def test_a_deadline_interrupts_a_loop() -> None:
    assert spin(0.02) is TrapCode.INTERRUPT


def test_a_deadline_is_never_early(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.0995, 0.0995])
    monkeypatch.setattr(engine.time, "monotonic", lambda: next(clock))
    ticks = []
    fake = type("Engine", (), {"increment_epoch": lambda _self: ticks.append(1)})()
    ticker = engine._Ticker(fake)
    ticker._ticked_at = engine.time.monotonic()
    ticker._catch_up()
    assert len(ticks) == 9 < engine.deadline_ticks(0.0995)
    ticker._catch_up()
    assert len(ticks) == 9


def test_nothing_ticks_while_nothing_runs() -> None:
    spin(0.01)
    assert engine._ticker._running == 0


def test_a_guest_is_not_called_on_a_thread_whose_stack_may_be_too_small() -> None:
    with pytest.raises(SandboxError, match="shielded"), engine.deadline(Store(engine.ENGINE), 1):
        pass


def test_compiled_code_is_kept_and_used_again(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = engine.load_compiled(runtime)
    assert engine.load_compiled(runtime) is module
    assert len(compiled(tmp_path)) == 1
    forget_and_forbid_compiling(monkeypatch)
    assert engine.load_compiled(runtime) is not module


def test_code_that_counts_instructions_is_compiled_and_kept_apart(
    runtime: Runtime, tmp_path: Path
) -> None:
    plain, metered = (
        engine.load_compiled(runtime),
        engine.load_compiled(runtime, is_metered=True),
    )
    assert plain is not metered
    assert len(compiled(tmp_path)) == 2
    with pytest.raises(WasmtimeError):
        Instance(Store(engine.ENGINE), metered, [])


def test_a_file_that_others_can_write_is_not_loaded(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.load_compiled(runtime)
    compiled(tmp_path)[0].chmod(0o622)
    forget_and_forbid_compiling(monkeypatch)
    with pytest.raises(TypeError):  # it went to the compiler, which the test has taken away
        engine.load_compiled(runtime)


def test_a_cache_that_cannot_be_made_is_done_without(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("INFINITE_RL_CACHE", str(tmp_path / "file" / "cache"))
    assert isinstance(engine.load_compiled(runtime), Module)
    assert (tmp_path / "file").read_bytes() == b""


def test_code_unused_for_a_month_leaves_the_cache(runtime: Runtime, tmp_path: Path) -> None:
    engine.load_compiled(runtime)
    old = compiled(tmp_path)[0].with_name(f"tiny-{'0' * 24}-{'0' * 32}.cwasm")
    recent, other = (old.with_name(name) for name in ("tiny-recent.cwasm", "other-old.cwasm"))
    for path in (old, recent, other):
        path.touch()
    for path in (old, other):
        os.utime(path, (0, 0))
    engine._remove_unused(tmp_path / "cache", "tiny")
    assert not old.exists()
    assert recent.exists() and other.exists() and len(compiled(tmp_path)) == 3


def test_compiling_one_build_does_not_wait_for_another(runtime: Runtime, tmp_path: Path) -> None:
    engine.load_compiled(runtime)
    lock = compiled(tmp_path)[0].name.rsplit("-", 1)[0]
    assert [path.name for path in (tmp_path / "cache").glob("*.lock")] == [f"{lock}.lock"]


def test_another_file_than_the_one_built_is_refused(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "tiny.wasm").write_bytes(TINY + b"\0")
    with pytest.raises(RuntimeMissing, match="not the file that was built"):
        engine.load_compiled(runtime)


def test_a_missing_file_names_the_ways_out(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "tiny.wasm").unlink()
    with pytest.raises(RuntimeMissing, match=r"build_wasm\.sh.*RUNTIME_RELEASE_TAG"):
        engine.load_compiled(runtime)


def test_a_hash_that_is_not_pinned_is_read_from_its_record(
    tmp_path: Path, runtime: Runtime
) -> None:
    unpinned = Runtime("tiny", (), "tiny.wasm", "", "")
    (tmp_path / "tiny.wasm.sha256").write_text(f"# a note\n{runtime.sha256}  tiny.wasm\n")
    assert runtimes.recorded_hash(unpinned) == runtime.sha256
    engine.load_compiled(unpinned)


def test_a_missing_record_is_a_missing_runtime(runtime: Runtime) -> None:
    with pytest.raises(RuntimeMissing, match="no hash"):
        runtimes.recorded_hash(Runtime("tiny", (), runtime.filename, "", ""))


def _compiles(runtime: Runtime) -> bool:
    engine._loaded.clear()
    return engine.load_compiled(runtime) is not None


def test_a_forked_child_can_compile(runtime: Runtime) -> None:
    engine._compile(runtimes.runtime_file(runtime), runtime.sha256, False)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_compiles, (runtime,)).get(timeout=30)


def test_a_call_is_made_on_a_thread_of_our_own_that_is_used_again() -> None:
    first = engine.shielded(threading.current_thread)
    assert first is not threading.current_thread()
    assert engine.shielded(threading.current_thread) is first


def test_starting_a_thread_leaves_the_usual_stack_size_as_it_was() -> None:
    size = threading.stack_size(64 * 1024)
    try:
        engine._Runner().end()
        assert threading.stack_size() == 64 * 1024
    finally:
        threading.stack_size(size)


def test_no_more_idle_threads_are_kept_than_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_MAX_IDLE_THREADS", 0)
    thread = engine.shielded(threading.current_thread)
    thread.join(timeout=30)
    assert not thread.is_alive()


def test_no_room_for_a_thread_is_a_sandbox_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(engine, "_idle", [])
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(SandboxError, match="no thread"):
        engine.shielded(int)


def test_a_shielded_call_raises_what_the_call_raises() -> None:
    with pytest.raises(ZeroDivisionError):
        engine.shielded(lambda: 1 / 0)


INTERRUPTED = """
import signal, time
from infinite_rl.sandbox.executor import RewardExecutor

def interrupt(*_):
    raise KeyboardInterrupt

execute = RewardExecutor(output_limit=10**9).execute
execute("0", LANGUAGE)
signal.signal(signal.SIGALRM, interrupt)
started = time.monotonic()
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    execute(CODE, LANGUAGE, timeout=2)
except KeyboardInterrupt:
    print(execute("0", LANGUAGE).status, time.monotonic() - started < 1.5)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "while True: print(1, flush=True)"),
        ("javascript", "for (;;) console.log('x'.repeat(9000))"),
    ],
)
def test_a_signal_handler_that_raises_stops_a_run_and_not_the_process(
    language: str, code: str
) -> None:
    RewardExecutor().execute("", language)  # compiles it, which would say so on stderr
    script = f"LANGUAGE, CODE = {(language, code)!r}\n{INTERRUPTED}"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("ok True\n", "", 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "code"), [("python", "while True: pass"), ("javascript", "for (;;);")]
)
def test_a_program_that_ctrl_c_left_does_not_hold_up_the_end(language: str, code: str) -> None:
    script = (
        "import signal\n"
        "from infinite_rl import RewardExecutor\n"
        "executor = RewardExecutor(timeout=3600)\n"
        f"executor.execute('1', {language!r})\n"
        "signal.signal(signal.SIGALRM, signal.default_int_handler)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.2)\n"
        f"executor.execute({code!r}, {language!r})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "KeyboardInterrupt" in done.stderr
