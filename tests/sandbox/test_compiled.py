"""The cache of compiled code, and how optimised code takes the place of baseline code."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from wasmtime import Instance, Module, Store, WasmtimeError, wat2wasm

from infinite_rl.errors import RuntimeMissing, UsageError
from infinite_rl.files.atomic import cache_folder
from infinite_rl.sandbox import compiled, runtimes
from infinite_rl.sandbox.compiled import LatestCode
from infinite_rl.sandbox.engine import Code, engine_for
from infinite_rl.sandbox.instance import Prepared
from infinite_rl.sandbox.python.guest import PythonGuest
from infinite_rl.sandbox.runtimes import Limits, Runtime
from infinite_rl.types import Program

Makers = list[subprocess.Popen[bytes]]


def kept(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "cache").glob("*.cwasm"))


def forbid_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled._loaded.clear()
    monkeypatch.setattr(compiled, "_compile", None)


def test_compiled_code_is_kept_and_used_again(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = compiled.load_compiled(runtime)
    assert compiled.load_compiled(runtime) is module
    assert len(kept(tmp_path)) == 1
    forbid_compiling(monkeypatch)
    assert compiled.load_compiled(runtime) is not module


def test_code_that_counts_instructions_is_compiled_and_kept_apart(
    runtime: Runtime, tmp_path: Path
) -> None:
    plain, metered = (
        compiled.load_compiled(runtime),
        compiled.load_compiled(runtime, Code.METERED),
    )
    assert plain is not metered
    assert len(kept(tmp_path)) == 2
    with pytest.raises(WasmtimeError):
        Instance(Store(engine_for(Code.OPTIMISED)), metered, [])


def test_a_file_that_others_can_write_is_not_loaded(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled.load_compiled(runtime)
    kept(tmp_path)[0].chmod(0o622)
    forbid_compiling(monkeypatch)
    with pytest.raises(TypeError):  # it went to the compiler, which the test has taken away
        compiled.load_compiled(runtime)


def test_a_cache_behind_a_link_is_judged_by_the_folder_that_it_leads_to(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, link = tmp_path / "cache", tmp_path / "link"
    compiled.load_compiled(runtime)
    link.symlink_to(folder)
    monkeypatch.setenv("INFINITE_RL_CACHE", str(link))
    assert compiled.private_folder() == folder and compiled.is_compiled(runtime)
    folder.chmod(0o777)
    assert compiled.private_folder() is None


def test_a_cache_that_cannot_be_made_is_done_without(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("INFINITE_RL_CACHE", str(tmp_path / "file" / "cache"))
    assert isinstance(compiled.load_compiled(runtime), Module)
    assert (tmp_path / "file").read_bytes() == b""


def test_code_unused_for_a_month_leaves_the_cache(runtime: Runtime, tmp_path: Path) -> None:
    compiled.load_compiled(runtime)
    old = kept(tmp_path)[0].with_name(f"tiny-{'0' * 24}-{'0' * 32}.cwasm")
    recent, other = (old.with_name(name) for name in ("tiny-recent.cwasm", "other-old.cwasm"))
    for path in (old, recent, other):
        path.touch()
    for path in (old, other):
        os.utime(path, (0, 0))
    compiled._remove_unused(tmp_path / "cache", "tiny")
    assert not old.exists()
    assert recent.exists() and other.exists() and len(kept(tmp_path)) == 3


def test_compiling_one_build_does_not_wait_for_another(runtime: Runtime, tmp_path: Path) -> None:
    compiled.load_compiled(runtime)
    lock = kept(tmp_path)[0].name.rsplit("-", 1)[0]
    assert [path.name for path in (tmp_path / "cache").glob("*.lock")] == [f"{lock}.lock"]


def test_another_file_than_the_one_built_is_refused(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "tiny.wasm").write_bytes((tmp_path / "tiny.wasm").read_bytes() + b"\0")
    with pytest.raises(RuntimeMissing, match="not the file that was built"):
        compiled.load_compiled(runtime)


def test_a_missing_file_names_the_ways_out(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "tiny.wasm").unlink()
    with pytest.raises(RuntimeMissing, match=r"build_wasm\.sh.*RUNTIME_RELEASE_TAG"):
        compiled.load_compiled(runtime)


def test_a_hash_that_is_not_pinned_is_read_from_its_record(
    tmp_path: Path, runtime: Runtime
) -> None:
    unpinned = Runtime("tiny", (), "tiny.wasm", "", "")
    (tmp_path / "tiny.wasm.sha256").write_text(f"# a note\n{runtime.sha256}  tiny.wasm\n")
    assert runtimes.recorded_hash(unpinned) == runtime.sha256
    compiled.load_compiled(unpinned)


def test_a_missing_record_is_a_missing_runtime(runtime: Runtime) -> None:
    with pytest.raises(RuntimeMissing, match="no hash"):
        runtimes.recorded_hash(Runtime("tiny", (), runtime.filename, "", ""))


def _compiles(runtime: Runtime) -> bool:
    compiled._loaded.clear()
    return compiled.load_compiled(runtime) is not None


def test_a_forked_child_can_compile(runtime: Runtime) -> None:
    compiled._compile(compiled._Source.of(runtime), Code.OPTIMISED)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_compiles, (runtime,)).get(timeout=30)


# --- baseline code first -------------------------------------------------------------------------

BASELINE, OPTIMISED = Code.BASELINE, Code.OPTIMISED


@pytest.fixture
def makers(monkeypatch: pytest.MonkeyPatch, runtime: Runtime) -> Makers:
    """The processes that make optimised code, as where no compiler is asked for."""
    started: Makers = []

    class Recorded(subprocess.Popen[bytes]):
        def __init__(self, command: list[str], **how: Any) -> None:
            super().__init__(command, **how)
            started.append(self)

    monkeypatch.delenv("INFINITE_RL_COMPILER")
    monkeypatch.setattr(compiled.subprocess, "Popen", Recorded)
    monkeypatch.setattr(compiled, "_LOOK_S", 0.0)
    return started


def latest(runtime: Runtime) -> LatestCode:
    """What a process that starts now has."""
    compiled._loaded.clear()
    return LatestCode(runtime, lambda _interface, _name: lambda: None)


def wait_for_maker(runtime: Runtime) -> None:
    key = compiled._Source.of(runtime).key(OPTIMISED)
    with compiled._locked(cache_folder(), key):  # the maker has it until it ends
        pass


def test_the_first_code_is_baseline_code_and_the_optimised_takes_its_place(
    runtime: Runtime, makers: Makers, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = latest(runtime)
    assert code.is_baseline(code.code()) and code.code().engine is engine_for(BASELINE)
    wait_for_maker(runtime)
    forbid_compiling(monkeypatch)
    assert code.code().engine is engine_for(OPTIMISED)
    assert compiled.is_compiled(runtime) and not compiled.is_compiled(runtime, BASELINE)
    assert latest(runtime).code().engine is engine_for(OPTIMISED)
    assert len(makers) == 1


def test_one_process_makes_optimised_code_for_all(runtime: Runtime, makers: Makers) -> None:
    key = compiled._Source.of(runtime).key(OPTIMISED)
    with compiled._locked(cache_folder(), key):  # as if another process had started it
        assert latest(runtime).code().engine is engine_for(BASELINE)
    assert makers == []


def test_a_maker_that_is_killed_is_followed_by_the_next(
    runtime: Runtime, tmp_path: Path, makers: Makers
) -> None:
    code = latest(runtime)
    makers[0].kill()
    wait_for_maker(runtime)
    assert code.code().engine is engine_for(BASELINE)
    key = compiled._Source.of(runtime).key(OPTIMISED)
    draft = tmp_path / "cache" / f"{key}-{'0' * 32}.tmp"
    draft.write_bytes(b"half of the code")
    assert latest(runtime).code().engine is engine_for(BASELINE)
    wait_for_maker(runtime)
    assert code.code().engine is engine_for(OPTIMISED) and len(makers) == 2
    assert not draft.exists()


def test_what_needs_optimised_code_waits_for_its_maker(
    runtime: Runtime, makers: Makers, caplog: pytest.LogCaptureFixture
) -> None:
    code = latest(runtime)
    assert code.optimised() is code.code() and not code.is_baseline(code.code())
    assert caplog.text.count("compiling") == 1


@pytest.mark.parametrize(
    ("asked_for", "engine"), [("baseline", BASELINE), ("optimising", OPTIMISED)]
)
def test_a_compiler_that_is_asked_for_is_kept_to(
    runtime: Runtime, makers: Makers, monkeypatch: pytest.MonkeyPatch, asked_for: str, engine: Code
) -> None:
    monkeypatch.setenv("INFINITE_RL_COMPILER", asked_for)
    code = latest(runtime)
    assert code.optimised().engine is engine_for(OPTIMISED)
    assert code.code().engine is engine_for(engine)
    assert makers == []
    monkeypatch.setenv("INFINITE_RL_COMPILER", "winch")
    with pytest.raises(UsageError, match="baseline or optimising, not 'winch'"):
        latest(runtime)


TAIL_CALL = wat2wasm('(module (func $f (export "f") return_call $f))')


@pytest.mark.parametrize("why", ["machine", "module", "cache", "metered"])
def test_where_there_can_be_no_baseline_code_the_first_is_the_best(
    runtime: Runtime, makers: Makers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    if why == "machine":
        monkeypatch.setattr(compiled, "_HAS_BASELINE", False)
    elif why == "module":  # the baseline compiler has no tail calls
        (tmp_path / "tiny.wasm").write_bytes(TAIL_CALL)
        runtime = replace(runtime, sha256=hashlib.sha256(TAIL_CALL).hexdigest())
    elif why == "cache":
        (tmp_path / "cache").mkdir()
        (tmp_path / "cache").chmod(0o777)
    code = LatestCode(runtime, lambda _interface, _name: lambda: None, why == "metered")
    assert code.code().engine is engine_for(Code.METERED if why == "metered" else OPTIMISED)
    assert makers == []


NESTED = "x = []\nfor _ in range({}): x = [x]\ndel x"


@pytest.mark.slow
def test_a_limit_that_baseline_code_meets_is_for_optimised_code_to_judge(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guests = []
    for compiler in ("baseline", "optimising"):
        monkeypatch.setenv("INFINITE_RL_COMPILER", compiler)
        guests.append(PythonGuest())
    calls: list[Prepared] = []
    run_with = PythonGuest._run_with

    def counted(guest: PythonGuest, code: Prepared, *more: Any) -> Any:
        calls.append(code)
        return run_with(guest, code, *more)

    monkeypatch.setattr(PythonGuest, "_run_with", counted)
    for code, status, runs in (
        (NESTED.format(20_000), "ok", 1),
        (NESTED.format(60_000), "ok", 2),  # only the stack of optimised code has room for it
        (NESTED.format(120_000), "error", 2),
        ("while True: pass", "timeout", 2),
    ):
        calls.clear()
        baseline = guests[0].run(Program(code), Limits(timeout_s=1))
        assert (baseline.status, len(calls)) == (status, runs)
        optimised = guests[1].run(Program(code), Limits(timeout_s=1))
        assert baseline == optimised
