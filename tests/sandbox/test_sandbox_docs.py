"""Each fact of the guides on the sandbox is a test here, or a group of `sandbox_facts.txt`."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from wasmtime import Func, Instance, Module, WasmtimeError, wat2wasm

from infinite_rl.errors import UsageError
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.runtimes import Limits
from infinite_rl.sandbox import compiled, engine
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.runtimes import Runtime
from infinite_rl.types import Execution
from infinite_rl.workers import pool as workers
from tests.support.labelled import Tables
from tests.support.sandbox_runs import Block, check, groups_of, read_groups

tables = Tables(__file__)

ROOT = Path(__file__).parents[2]
GUIDES = ("sandbox", "containment", "sandbox-tests", "sandbox-speed")
PAGES = "".join((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in GUIDES)
FACTS = Path(__file__).with_name("sandbox_facts.txt")
LANGUAGES = ("python", "javascript")
HELLO = {"python": "print('hello')", "javascript": "console.log('hello')"}


def test_every_fact_has_a_test_and_every_test_a_fact() -> None:
    facts = re.findall(r"^- `(\w+)`:", PAGES, re.M)
    tests = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert len(facts) == len(set(facts)) >= 40
    assert {*facts, "every_fact_has_a_test_and_every_test_a_fact", "fact"} == {
        *tests,
        *read_groups(FACTS),
    }


@groups_of(FACTS)
def test_fact(blocks: list[Block]) -> None:
    check(blocks)


def run(language: str, code: str, *tests: str, **options: Any) -> Execution:
    of_executor = {"memory_limit_mb", "output_limit", "code_limit"} & options.keys()
    limits = {key: options.pop(key) for key in of_executor}
    return RewardExecutor(**limits).execute(code, language, tests=tests, **options)


def programs(
    *, python: tuple[str, ...] = (), javascript: tuple[str, ...] = ()
) -> pytest.MarkDecorator:
    """The test runs once for each of these programs."""
    pairs = [("python", code) for code in python] + [("javascript", code) for code in javascript]
    return pytest.mark.parametrize(("language", "code"), pairs)


either = pytest.mark.parametrize("language", LANGUAGES)


def sound(language: str) -> bool:
    return run(language, HELLO[language]) == Execution("hello\n", "", 0, "ok")


# --- time --------------------------------------------------------------------------------------


@programs(python=("while True: pass",), javascript=("for (;;);",))
def test_time_neighbour(language: str, code: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(run, language, code, timeout=0.3)
        assert run(language, HELLO[language]).status == "ok"
        assert slow.result().status == "timeout"


# --- instructions ------------------------------------------------------------------------------

WORK = {
    "python": "import random, time\n"
    "print([str(random.random() + time.time()) for i in range(N)] < [str(time.monotonic())])",
    "javascript": "for (let i = 0; i < N; i++) `${Math.random() + Date.now() + performance.now()}`;"
    "setTimeout(() => console.log(1), 5)",
}


@either
def test_limit_fuel_same(language: str) -> None:
    code = WORK[language].replace("N", "100")
    low, high = 0, 10**9
    while high - low > 1:
        middle = (low + high) // 2
        if run(language, code, fuel=middle, timeout=60).status == "ok":
            high = middle
        else:
            low = middle
    with ThreadPoolExecutor(2) as pool:
        for fuel, status in ((low, "timeout"), (high, "ok")):
            ends = pool.map(
                lambda fuel: run(language, code, fuel=fuel, timeout=60).status, [fuel] * 10
            )
            assert list(ends) == [status] * 10


@either
def test_limit_fuel_day(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code = {
        "python": "from datetime import date; print(date.today())",
        "javascript": "console.log(new Date().toISOString().slice(0, 10))",
    }[language]
    monkeypatch.setattr("time.time_ns", lambda: 1_234_567_890 * 10**9)  # in 2009
    assert run(language, code, fuel=10**9, timeout=60).stdout == "2026-01-01\n"


@either
def test_limit_code(language: str) -> None:
    comment = {"python": "#", "javascript": "//"}[language]
    assert run(language, comment.ljust(1000), code_limit=1000).status == "ok"
    for execution in (
        run(language, comment.ljust(1001), code_limit=1000),
        run(language, comment, comment.ljust(500), comment.ljust(500), code_limit=1000),
        run(language, comment.ljust(10**6 + 1)),
    ):
        assert (execution.status, execution.tests) == ("error", ())
        assert "the code is longer than" in execution.stderr


@either
def test_limit_input(language: str) -> None:
    execution = run(language, HELLO[language], stdin="x" * (2**24 + 1), memory_limit_mb=64)
    assert (execution.status, execution.stdout) == ("error", "")
    assert "the input is longer than" in execution.stderr


def test_limit_code_work() -> None:
    for piece in ("`${", "'\n", "/", "=/[", "import ", "import a from 'x';", "export {"):
        code = f"import a;{piece * (10**6 // len(piece) - 10)}"
        assert run("javascript", code, timeout=2).duration_s < 8, piece


# --- memory ------------------------------------------------------------------------------------


def test_memory_too_small() -> None:
    with pytest.raises(UsageError, match="8 MiB"):
        run("python", "", memory_limit_mb=8)
    assert run("javascript", "", memory_limit_mb=0.01).status == "memory"


def test_memory_tables() -> None:
    grown = """(module (table 1 funcref) (func (export "f") (result i32)
      (table.grow (ref.null func) (i32.const 1000000))))"""
    store = engine.fresh_store(Limits(), engine.engine_for(engine.Code.OPTIMISED))
    module = Module(store.engine, wat2wasm(grown))
    with pytest.raises(WasmtimeError, match="instance count"):
        for _ in range(1000):
            instance = Instance(store, module, [])
    function = instance.exports(store)["f"]
    assert isinstance(function, Func)

    def call() -> Any:
        with engine.deadline(store, 1):
            return function(store)

    assert engine.shielded(call) == -1


# --- output and input --------------------------------------------------------------------------


@tables
def test_output_limit(language: str, code: str) -> None:
    execution = run(language, code, output_limit=1000)
    reason = execution.stderr.splitlines()[-1]
    assert execution.status == "output"
    assert len(execution.stdout) + len(execution.stderr) <= 1000 + len(f"\n{reason}\n")


# --- stack -------------------------------------------------------------------------------------


@tables
def test_stack_nesting(language: str, code: str) -> None:
    assert run(language, code, timeout=1).status in {"error", "timeout"}
    assert sound(language)


@either
def test_stack_thread(language: str) -> None:
    size = threading.stack_size(256 * 1024)
    try:
        with ThreadPoolExecutor(1) as pool:
            execution = pool.submit(run, language, HELLO[language]).result()
    finally:
        threading.stack_size(size)
    assert execution.stdout == "hello\n"


# --- environment, clocks, randomness -------------------------------------------------------------


@programs(
    python=(
        "import os, sys, socket, platform\n"
        "print(dict(os.environ), sys.argv, os.getcwd(), socket.gethostname(), platform.uname())",
    ),
    javascript=("console.log(process.env, process.argv, process.cwd(), process.title)",),
)
def test_environment(language: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDBOX_SECRET", "confidential")
    execution = run(language, code)
    told = execution.stdout
    assert execution.status == "ok" and "{}" in told
    known = {"confidential", os.uname().nodename, str(Path.cwd()), *sys.argv} - {"", "-", "-c"}
    assert not [word for word in known if word in told]


@programs(
    python=("import time\nprint(time.time(), time.timezone)",),
    javascript=("console.log(Date.now() / 1000, new Date().getTimezoneOffset())",),
)
def test_clock_wall(language: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    before = time.time()
    clock, zone = run(language, code).stdout.split()
    assert before - 0.01 <= float(clock) <= time.time() + 0.01
    assert zone == "0"


def test_clock_timers() -> None:
    code = "const start = Date.now(); setTimeout(() => console.log(Date.now() - start), 60000)"
    assert 60000 <= int(run("javascript", code).stdout) < 65000


CHANCE = {
    "python": "import os, random, secrets, uuid\n"
    "print(random.random(), os.urandom(8), uuid.uuid4(), secrets.token_hex(9))",
    "javascript": "const { randomBytes, randomUUID } = require('crypto');"
    "console.log(Math.random(), randomBytes(8).toString('hex'), randomUUID())",
}


@either
def test_random_differs(language: str) -> None:
    one, other = (run(language, CHANCE[language]).stdout.split() for _ in range(2))
    assert len(one) > 2
    assert not set(one) & set(other)


@either
def test_random_seed(language: str) -> None:
    outputs = [run(language, CHANCE[language], seed=seed).stdout for seed in (5, 5, 6, -(10**30))]
    assert outputs[0] == outputs[1] != ""
    assert len(set(outputs)) == 3


def test_random_hashes() -> None:
    code = "print(hash('a'), set('random order'))"
    assert run("python", code).stdout == run("python", code).stdout


# --- isolation between runs --------------------------------------------------------------------


@tables
def test_isolation_fresh(language: str, code: str) -> None:
    look = {
        "python": "import json, sys\n"
        "print('left' in dir(__builtins__) + dir(json) + [*sys.modules], sys.getrecursionlimit())",
        "javascript": "console.log(typeof left, Math.left, require('assert').left, [].push(1))",
    }[language]
    expected = run(language, look)
    run(language, code)
    assert expected.status == "ok"
    assert run(language, look) == expected


@tables
def test_isolation_threads(language: str, code: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        endings = list(pool.map(lambda n: run(language, code, stdin=f"{n}\n-{n}\n"), range(24)))
    assert [(e.stdout, e.stderr) for e in endings] == [(f"{n}\n", f"-{n}\n") for n in range(24)]


# --- verdicts ----------------------------------------------------------------------------------


@either
def test_verdict_unscored(language: str) -> None:
    reward = CodingRewardFunction()
    right = {"python": "def f(x): return 2", "javascript": "const f = (x) => 2"}
    wrong = {"python": "def f(x): int x", "javascript": "const f = (x) => require('x')"}
    test = {"python": "assert f(1) == 2", "javascript": "console.assert(f(1) === 2)"}
    missing = {"python": "import numpy\n", "javascript": "require('lodash');"}
    for code, tests, status in (
        (right, test[language], "passed"),
        (wrong, test[language], "failed"),
        (right, test[language] + "((", "unscored"),
        (right, missing[language] + test[language], "unscored"),
    ):
        answer = f"<answer>{code[language]}</answer>"
        assert reward.compute_reward(answer, {"tests": [tests]}, language=language).status == status
    forged = {
        "python": "class np: allclose = staticmethod(lambda *a: True)\ndef f(x): return 1",
        "javascript": "var chai = { expect: () => ({ to: { equal() {} } }) }; const f = (x) => 1",
    }
    forgot = {
        "python": "assert np.allclose(f(1), 2)",
        "javascript": "chai.expect(f(1)).to.equal(2)",
    }
    for code in (right, forged):
        answer = f"<answer>{code[language]}</answer>"
        verdict = reward.compute_reward(answer, {"tests": [forgot[language]]}, language=language)
        assert verdict.status == "unscored"
    ava = {"tests": ["require('ava')('f', (t) => { t.is(f(1), 2) })"]}
    answer = f"<answer>{right['javascript']}</answer>"
    assert reward.compute_reward(answer, ava, language="javascript").status == "unscored"


def test_verdict_unjudged() -> None:
    program = "class Two:\n def two(self): return 2\ndef name(x): return x.__name__\nf = {}".format
    module = "import pytest\nassert name(pytest) == 'pytest'"
    ignored = "import pytest\ntry: name(pytest)\nexcept TypeError: pass"
    derived = """
import unittest
class T(unittest.TestCase, Two):
    def test_two(self): self.assertEqual(self.two(), 2)
"""
    large = "x = f(1)\nname(8 * x)"
    for tests, value, status in (
        ([module], "len", "unscored"),
        ([ignored, "assert f('12') == 2"], "len", "unscored"),
        ([module, "assert f('12') == 2"], "len", "unscored"),
        ([module, "assert f('12') == 2"], "min", "failed"),
        ([derived], "len", "unscored"),
        (["x = f([])\nassert name(f) == 'len'"], "len", "passed"),
        ([large], "lambda n: 'x' * 10_000_000", "failed"),  # too large by the program's choice
    ):
        answer = f"<answer>{program(value)}</answer>"
        score = CodingRewardFunction().compute_reward(answer, {"tests": tests}, language="python")
        assert score.status == status, (tests, score)


def test_verdict_vacuous() -> None:
    reward = CodingRewardFunction()
    for tests, status in (
        ("if f:\n def test_f(): assert f(1) == 9", "passed"),
        ("def go(): assert f(1) == 9", "unscored"),  # nobody calls it
        ("try: f(1)\nexcept TypeError: pass", "passed"),
    ):
        told = reward.compute_reward("<answer>def f(x): return 9</answer>", {"tests": [tests]})
        assert told.status == status


# --- the compile cache ---------------------------------------------------------------------------


def test_cache_private(runtime: Runtime, tmp_path: Path) -> None:
    careless = os.umask(0)
    try:
        compiled.load_compiled(runtime)
    finally:
        os.umask(careless)
    cache = tmp_path / "cache"
    (file,) = cache.glob("*.cwasm")
    assert [path.stat().st_mode & 0o777 for path in (cache, file)] == [0o700, 0o600]


def test_cache_read_only(runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled.load_compiled(runtime)
    cache = tmp_path / "cache"
    (file,) = cache.glob("*.cwasm")
    file.chmod(0o444)
    cache.chmod(0o555)
    # Root may write everywhere but to such a file system.
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK)
    compiled._loaded.clear()
    monkeypatch.setattr(compiled, "_compile", None)
    assert compiled.private_folder() is None and compiled.is_compiled(runtime)
    compiled.load_compiled(runtime)
    cache.chmod(0o777)  # what others could have put there is not loaded
    compiled._loaded.clear()
    with pytest.raises(TypeError):  # it went to the compiler
        compiled.load_compiled(runtime)


def test_cache_damaged(runtime: Runtime, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    compiled.load_compiled(runtime)
    (file,) = (tmp_path / "cache").glob("*.cwasm")
    whole = file.read_bytes()
    for at in (len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        compiled._loaded.clear()
        caplog.clear()
        compiled.load_compiled(runtime)
        assert "compiling tiny.wasm" in caplog.text
        assert [path.read_bytes() for path in (tmp_path / "cache").glob("*.cwasm")] == [whole]


def test_cache_foreign(runtime: Runtime, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    compiled.load_compiled(runtime)
    assert "is not private to this user" in caplog.text
    assert list(cache.iterdir()) == []


# --- threads, fork, signals ----------------------------------------------------------------------


def _stopped(language: str) -> str:
    loop = {"python": "while True: pass", "javascript": "for (;;);"}[language]
    return run(language, loop, timeout=0.2).status


@either
def test_fork_limit(language: str) -> None:
    assert sound(language)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_stopped, (language,)).get(timeout=30) == "timeout"


@either
def test_batch_processes(language: str) -> None:
    print_it = {"python": "print({})", "javascript": "console.log({})"}[language]
    codes = [print_it.format(number) for number in range(10)]
    with RewardExecutor() as executor:
        assert executor.batch_run(codes, language) == [
            executor.run_single(code, language) for code in codes
        ]
        pids = {worker.pid for worker in workers._pool.idle}
    assert pids and not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.slow
def test_batch_death() -> None:
    with RewardExecutor() as executor:
        assert executor.batch_run([HELLO["python"]] * 3, "python")
        for worker in workers._pool.idle:
            os.kill(worker.pid, signal.SIGKILL)
        assert executor.batch_run([HELLO["python"]] * 3, "python") == [("hello", "")] * 3


def _batch_and_workers() -> tuple[list[tuple[str, str]], set[int]]:
    told = RewardExecutor().batch_run([HELLO["python"]] * 3, "python")
    return told, {worker.pid for worker in workers._pool.idle}


@pytest.mark.slow
def test_batch_fork() -> None:
    with RewardExecutor():
        told, mine = _batch_and_workers()
        with multiprocessing.get_context("fork").Pool(1) as pool:
            theirs, others = pool.apply_async(_batch_and_workers).get(timeout=60)
        assert theirs == told == [("hello", "")] * 3
        assert mine and others and not mine & others


@programs(python=("while True: pass",), javascript=("for (;;);",))
def test_signal_raise(language: str, code: str) -> None:
    class Interrupted(Exception):
        pass

    def interrupt(*_: object) -> None:
        raise Interrupted

    old = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    started = time.monotonic()
    try:
        with pytest.raises(Interrupted):
            run(language, code, timeout=2)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert time.monotonic() - started < 1.5
    assert sound(language)


@pytest.mark.slow
@pytest.mark.parametrize("taken", ["faulthandler.enable()", "signal.signal(signal.SIGILL, 0)"])
def test_signal_faults(taken: str) -> None:
    program = "import sys\nsys.setrecursionlimit(10**8)\ndef f(): f()\nf()"
    code = (
        "import faulthandler, signal\n"
        "from infinite_rl.sandbox.executor import RewardExecutor\n"
        f"sandbox, program = RewardExecutor(), {program!r}\n"
        "before = sandbox.run_single(program, 'python')\n"
        f"{taken}\n"
        "assert before[1] and sandbox.run_single(program, 'python') == before\n"
    )
    run = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True)
    assert run.returncode == 0, run.stderr
