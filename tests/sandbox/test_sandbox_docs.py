"""Each fact of `docs/sandbox.md` is a test of the same name, on the real sandboxes."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from wasmtime import Func, Instance, Module, WasmtimeError, wat2wasm

from infinite_rl.errors import UsageError
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.runtimes import Limits
from infinite_rl.sandbox import engine
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.types import Execution
from infinite_rl.workers import pool as workers
from tests.support.labelled import Tables

tables = Tables(__file__)

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sandbox.md").read_text(encoding="utf-8")
LANGUAGES = ("python", "javascript")
HELLO = {"python": "print('hello')", "javascript": "console.log('hello')"}


def test_every_fact_has_a_test_and_every_test_a_fact() -> None:
    facts = re.findall(r"^- `(\w+)`:", PAGE, re.M)
    tests = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert len(facts) == len(set(facts)) >= 40
    assert set(facts) == tests - {"every_fact_has_a_test_and_every_test_a_fact"}


def run(language: str, code: str, *tests: str, **options: Any) -> Execution:
    of_executor = {"memory_limit_mb", "output_limit", "code_limit"} & options.keys()
    limits = {key: options.pop(key) for key in of_executor}
    return RewardExecutor(**limits).execute(code, language, tests=tests, **options)


def passed(execution: Execution) -> list[bool]:
    return [result.passed for result in execution.tests]


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


@tables
def test_time_loop(language: str, code: str) -> None:
    execution = run(language, code, timeout=0.2)
    assert execution.status == "timeout"
    assert execution.duration_s < 2


@tables
def test_time_native_call(language: str, code: str) -> None:
    execution = run(language, code, timeout=0.2)
    assert execution.status == "timeout"
    assert execution.duration_s < 2


@tables
def test_time_wait(wait: str) -> None:
    code = f"import asyncio, time\n{wait}"
    execution = run("python", code, timeout=0.2)
    assert execution.status == "timeout"
    assert execution.duration_s < 2


@tables
def test_time_nobody(wait: str, ending: tuple[str, str]) -> None:
    code = (
        f"import queue, select, threading\nheld = threading.Lock()\nheld.acquire()\nprint({wait})"
    )
    execution = run("python", code)
    assert (execution.stdout, execution.status) == ending
    assert execution.duration_s < 2


@tables
def test_time_not_early(language: str, code: str) -> None:
    assert run(language, code, timeout=0.1).duration_s >= 0.1


@programs(python=("while True: pass",), javascript=("for (;;);",))
def test_time_neighbour(language: str, code: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(run, language, code, timeout=0.3)
        assert run(language, HELLO[language]).status == "ok"
        assert slow.result().status == "timeout"


def test_time_timers() -> None:
    execution = run("javascript", "setTimeout(() => console.log('an hour later'), 3600e3)")
    assert (execution.stdout, execution.status) == ("an hour later\n", "ok")
    assert execution.duration_s < 5


# --- instructions ------------------------------------------------------------------------------

WORK = {
    "python": "import random, time\n"
    "print([str(random.random() + time.time()) for i in range(N)] < [str(time.monotonic())])",
    "javascript": "for (let i = 0; i < N; i++) `${Math.random() + Date.now() + performance.now()}`;"
    "setTimeout(() => console.log(1), 5)",
}


@either
def test_limit_fuel(language: str) -> None:
    execution = run(language, WORK[language].replace("N", "10**9"), fuel=10**7)
    assert (execution.status, execution.exit_code) == ("timeout", 124)
    assert "ran out of fuel (10000000)" in execution.stderr
    assert execution.duration_s < 2
    assert run(language, WORK[language].replace("N", "10"), fuel=10**9).status == "ok"


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
def test_limit_fuel_time(language: str) -> None:
    loop = {"python": "while True: pass", "javascript": "for (;;);"}[language]
    execution = run(language, loop, fuel=10**15, timeout=0.2)
    assert execution.status == "timeout"
    assert "fuel" not in execution.stderr


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


@pytest.mark.parametrize(
    "piece", ["`${", "'\n", "/", "=/[", "import ", "import a from 'x';", "export {"]
)
def test_limit_code_work(piece: str) -> None:
    code = f"import a;{piece * (10**6 // len(piece) - 10)}"
    assert run("javascript", code, timeout=2).duration_s < 8


# --- memory ------------------------------------------------------------------------------------


@tables
def test_memory_limit(language: str, code: str) -> None:
    assert run(language, code, memory_limit_mb=64).status == "memory"


@tables
def test_memory_caught(language: str, code: str) -> None:
    assert run(language, code, memory_limit_mb=64) == Execution("caught\n", "", 0, "ok")


def test_memory_too_small() -> None:
    with pytest.raises(UsageError):
        run("python", "", memory_limit_mb=1)
    assert run("javascript", "", memory_limit_mb=0.01).status == "memory"


def test_memory_tables() -> None:
    grown = """(module (table 1 funcref) (func (export "f") (result i32)
      (table.grow (ref.null func) (i32.const 1000000))))"""
    store = engine.fresh_store(Limits())
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


@tables
def test_output_kept(language: str, code: str) -> None:
    execution = run(language, f"{HELLO[language]}\n{code}", timeout=0.5, memory_limit_mb=64)
    assert execution.status != "ok"
    assert execution.stdout.startswith("hello\n")


@tables
def test_input_given(language: str, code: str) -> None:
    execution = run(language, code, stdin="1\u20ac 2")
    assert "'1\u20ac 2'" in execution.stdout
    assert "EOFError" in execution.stderr


# --- stack -------------------------------------------------------------------------------------


@tables
def test_stack_recursion(language: str, code: str) -> None:
    execution = run(language, code)
    assert (execution.status, execution.exit_code) == ("error", 1)
    assert re.search("RecursionError|RangeError|InternalError", execution.stderr)


@tables
def test_stack_nesting(language: str, code: str) -> None:
    assert run(language, code, timeout=1).status in {"error", "timeout"}
    assert sound(language)


@tables
def test_stack_depth(program: tuple[str, str], depth: int) -> None:
    language, code = program
    prefix = "import sys\nsys.setrecursionlimit(10**6)\n" if language == "python" else ""
    assert run(language, prefix + code.replace("N", str(depth))).status == "ok"


def test_stack_caught() -> None:
    code = "const f = () => 1 + f(); try { f() } catch (error) { console.log(error.name) }"
    assert run("javascript", code) == Execution("RangeError\n", "", 0, "ok")


@either
def test_stack_thread(language: str) -> None:
    size = threading.stack_size(256 * 1024)
    try:
        with ThreadPoolExecutor(1) as pool:
            execution = pool.submit(run, language, HELLO[language]).result()
    finally:
        threading.stack_size(size)
    assert execution.stdout == "hello\n"


# --- files, sockets, processes -----------------------------------------------------------------


@tables
def test_files(language: str, code: str) -> None:
    execution = run(language, code)
    assert (execution.stdout, execution.status) == ("", "error")


def test_files_memory() -> None:
    write = "const fs = require('fs'); fs.writeFileSync('/tmp/a', 'x');"
    assert (
        run("javascript", f"{write} console.log(fs.readFileSync('/tmp/a', 'utf8'))").stdout == "x\n"
    )
    fresh = run("javascript", "require('fs').readFileSync('/tmp/a')")
    assert "ENOENT" in fresh.stderr


@tables
def test_sockets(language: str, code: str) -> None:
    execution = run(language, code)
    assert (execution.stdout, execution.status) == ("", "error")


@tables
def test_processes(language: str, code: str) -> None:
    execution = run(language, code)
    assert (execution.stdout, execution.status) == ("", "error")


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


@tables
def test_isolation_crash(language: str, code: str) -> None:
    execution = run(language, code)
    assert execution.status == "error" and execution.exit_code != 0
    assert execution.stderr or "abort" in code
    assert sound(language)


# --- verdicts ----------------------------------------------------------------------------------

ZERO = {"python": "def f(x): return 0", "javascript": "function f(x) { return 0 }"}
IS_ONE = {"python": "assert f(1) == 1", "javascript": "console.assert(f(1) === 1)"}
TRUE = {"python": "assert True", "javascript": "console.assert(true)"}


@either
def test_verdict_each(language: str) -> None:
    execution = run(language, ZERO[language], TRUE[language], IS_ONE[language], TRUE[language])
    assert passed(execution) == [True, False, True]


@tables
def test_verdict_exit(language: str, code: str) -> None:
    assert True not in passed(run(language, code, IS_ONE[language]))


@tables
def test_verdict_print(language: str, code: str) -> None:
    execution = run(language, f"{ZERO[language]}\n{code}", IS_ONE[language])
    assert "passed" in execution.stdout
    assert passed(execution) == [False]


@tables
def test_verdict_failed_program(language: str, code: str) -> None:
    assert run(language, code, TRUE[language], timeout=0.5).tests == ()


@tables
def test_verdict_builtins(language: str, code: str) -> None:
    tests = {
        "python": ("assert sorted([]) == 1", "assert len([]) == 1", "assert False"),
        "javascript": (
            "console.assert(false)",
            "console.assert(JSON.stringify([0]) === JSON.stringify([1]))",
            "require('assert').deepStrictEqual(0, 1)",
            "require('assert').strictEqual(0, 1)",
        ),
    }[language]
    assert True not in passed(run(language, code, *tests))


def test_verdict_builtins_between_tests() -> None:
    code = "import builtins\ndef f(x): builtins.isinstance = lambda *_: True; return 0"
    tests = ("assert f(1) == 0", "assert isinstance(f(2), str)")
    assert passed(run("python", code, *tests)) == [True, False]


# What a program that knows the harness can do: walk up the stack to it.
WALK = """
import os, sys
frame = sys._getframe()
while 'nonce' not in frame.f_locals: frame = frame.f_back
nonce, report = frame.f_locals['nonce'], frame.f_globals['wit_world'].verdict
harness = frame.f_globals['_Run']
print('found')
"""


def test_verdict_nonce() -> None:
    code = f"{WALK}report('guess', True, '', '[]')\nos._exit(0)"
    execution = run("python", code, "assert False", "assert False")
    assert (execution.stdout, execution.tests, execution.status) == ("found\n", (), "error")


@tables
def test_verdict_canary(attack: str) -> None:
    execution = run("python", f"{WALK}{attack}", "assert False")
    assert execution.stdout == "found\n"
    assert execution.tests == ()


def test_verdict_equality() -> None:
    always = "__eq__ = __ne__ = lambda *_: True"
    for base in ("object", "int", "str", "list"):
        code = f"class A({base}):\n  {always}\ndef f(x): return A()"
        assert passed(run("python", code, "assert f(1) == 2", "assert f(1) == [2]")) == [False] * 2
    code = "import enum\nclass A(enum.IntEnum): TWO = 2\ndef f(x): return A.TWO"
    assert passed(run("python", code, "assert f(1) == 2")) == [True]


def test_verdict_expected() -> None:
    code = """
import linecache, re, sys
def f(x):
    frame, found = sys._getframe(), []
    while frame is not None:
        line = linecache.getline(frame.f_code.co_filename, 1)
        for text in (line, repr(frame.f_code.co_consts), repr(frame.f_locals)):
            found += re.findall(r'7654\\d', text)
        frame = frame.f_back
    return int(found[0]) if found else 0
"""
    assert passed(run("python", code, "assert f(1) == 76543")) == [False]
    assert passed(run("python", code, "want = 76543\nassert f(1) == want")) == [False]


@tables
def test_verdict_harness(attack: str) -> None:
    code = f"{WALK}def f(x): return 1\n{attack}"
    assert True not in passed(run("python", code, "assert f(1) == 2"))


def test_verdict_data() -> None:
    code = "import decimal\ndef f(x): return eval(x)"
    equal = (
        "assert f('[10 ** 5000, -0.0, (1, 2), {3: {4}}]') == [10 ** 5000, 0.0, (1, 2), {3: {4}}]",
        "assert f('\"\\\\ud800\"') == '\\ud800'",
        "assert f('decimal.Decimal(1) / 4') == 0.25",
        "assert f('float(\"nan\")') != float('nan')",
        "assert str(f('-0.0')) == '-0.0'",
    )
    assert passed(run("python", code, *equal)) == [True] * 5
    unequal = (
        "assert f('(1, 2)') == [1, 2]",
        "assert f('float(\"nan\")') == float('nan')",
        "assert f('1') == '1'",
        "x = f('[]')\nfor _ in range(200): x = [x]\nassert x == 0 or x == []",
    )
    assert passed(run("python", code, *unequal)) == [False] * 4


def test_verdict_own() -> None:
    code = """
class P:
  def __init__(self, x): self.x = x
  def __eq__(self, other): return True
"""
    tests = ("assert P(1) == P(2)", "assert [P(1)] == [1]")
    assert passed(run("python", code, *tests)) == [True, False]
    assert passed(run("python", code, "assert P(1) == 1")) == [False]
    tests = ("assert P(1) == 1\nassert P(1).x == 1", "p = P(1)\nassert p == 1 and 1 <= 1")
    assert passed(run("python", code, *tests)) == [True, True]
    functions = "class A:\n  __eq__ = lambda *_: True\ndef f(x): return A()\nSolution = A\nA.f = f"
    tests = ("assert f(1) == 1", "assert Solution().f() == 1", "s = Solution()\nassert s.f() == 1")
    assert passed(run("python", functions, *tests)) == [False] * 3


@tables
def test_verdict_main(test: str) -> None:
    assert passed(run("python", "def f(x): return 2 * x", test)) == [True]
    assert passed(run("python", "def f(x): return 0", test)) == [False]


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
    jest = {"tests": ["test('f', () => { expect(f(1)).toBe(2) })"]}
    answer = f"<answer>{right['javascript']}</answer>"
    assert reward.compute_reward(answer, jest, language="javascript").status == "unscored"


@either
def test_verdict_module(language: str) -> None:
    tests = {
        "python": "from {} import f\nassert f(1) == 1",
        "javascript": "const {{ f }} = require('./{}');\nconsole.assert(f(1) === 1)",
    }
    for name in ("solution", "main", "bank"):
        test = tests[language].format(name)
        assert passed(run(language, ZERO[language].replace("0", "1"), test, file="bank.py")) == [
            True
        ]
        assert passed(run(language, ZERO[language], test, file="bank.py")) == [False]


@either
def test_verdict_json(language: str) -> None:
    code = {
        "python": "def f(): return (1, 0.1 + 0.2)",
        "javascript": "const f = () => [1, 0.1 + 0.2]",
    }
    wanted = ([1, 0.3], [1.0, 0.3], [True, 0.3], [1, 0.30001], ["1", 0.3])
    told = run(language, code[language], *["f()"] * len(wanted), expected=wanted)
    assert passed(told) == [True, True, False, False, False]


def test_verdict_vacuous() -> None:
    reward = CodingRewardFunction()
    for tests, status in (
        ("if f:\n def test_f(): assert f(1) == 2", "passed"),  # it asks whether there is an f
        ("if 1:\n def test_f(): assert f(1) == 2", "unscored"),
        ("try: f(1)\nexcept TypeError: pass", "passed"),
    ):
        told = reward.compute_reward("<answer>def f(x): return 9</answer>", {"tests": [tests]})
        assert told.status == status


def test_verdict_names() -> None:
    code = "N = 7\ndef f(): return N"
    tests = ("N = 8\nassert f() == N", "N = 8\nassert f() == 8\nprint(str(N))")
    assert passed(run("python", code, *tests)) == [False, True]


@tables
def test_verdict_tricks(value: str, test: str) -> None:
    code = f"function f() {{ return {value} }}"
    own = "class P { x = 1; valueOf() { return 2 } toJSON() { return 3 } }; const f = () => new P()"
    assert passed(run("javascript", code, test, "assert.deepEqual(f(1), [2])")) == [False, False]
    assert passed(run("javascript", own, "assert(f() instanceof P && f().x === 1)")) == [True]
    tests = ("assert(f() == 2)", "assert(new P() == 2)", "assert(JSON.stringify(f()) === '3')")
    assert passed(run("javascript", own, *tests)) == [False, True, True]


def test_verdict_values() -> None:
    values = "[-0, NaN, 10n ** 30n, [, 1], '\\ud83d', new Map([[{}, 1]]), new Set([1]), new Date(5)"
    values += ", /x/g, new Uint8Array(2), new TypeError('e')]"
    code = f"const f = () => {values}; const o = {{}}; const g = () => [o, o];"
    code += "let deep = []; for (let i = 0; i < 401; i++) deep = [deep]"
    tests = (
        f"assert.deepStrictEqual(f(), {values})",
        "const r = g(); assert(r[0] === r[1] && Object.is(f()[0], -0))",
        "assert.deepStrictEqual(f(), [0])",
        "assert(deep)",
        "assert('x'.repeat(4e6) === o)",
    )
    results = run("javascript", code, *tests).tests
    assert [result.passed for result in results] == [True, True, False, False, False]
    assert "too deeply" in results[3].message


def test_verdict_prototypes() -> None:
    code = (
        f"Array.prototype.every = () => true; Array.prototype.one = () => 1; {ZERO['javascript']}"
    )
    late = "const f = () => { Array.prototype.every = () => true; return 0 }"
    test = "console.assert([1].every((x) => f(x) === 1))"
    assert passed(run("javascript", code, test, "assert([].one() === 1)")) == [False, True]
    assert passed(run("javascript", late, test, test)) == [False, False]


@tables
def test_verdict_reached(test: str) -> None:
    assert passed(run("javascript", "const f = () => ({ then() {} })", test)) == [False]
    assert passed(run("javascript", "const f = async () => 1", test)) == [True]


# --- what can still be forged ----------------------------------------------------------------


def test_open_beside() -> None:
    code = "def g(x): return 1\ndef f(x):\n  if x: return 0\n  real = globals()['__both__']\n"
    code += "  globals()['__both__'] = lambda number, relation, a, b: real(number, relation, b, b)"
    assert passed(run("python", code, "f(0)\nassert f(1) == g(1)")) == [True]


def test_open_shadow() -> None:
    code = "import re\ndef isinstance(*_): return True\nre.match = isinstance\ndef f(x): return 0"
    tests = ("assert isinstance(f(1), str)", "import re\nassert re.match('a', f(1))")
    assert passed(run("python", code, *tests)) == [True, True]

    code = "globalThis.setTimeout = () => {}; const f = () => 0"
    test = "setTimeout(() => assert.strictEqual(f(1), 1))"
    assert passed(run("javascript", code, test)) == [True]


def test_open_compare() -> None:
    code = "class Yes:\n  __eq__ = lambda *_: True\n  __sub__ = lambda *_: 0\n"
    code += "def f(x): return Yes()"
    tests = ("ok = f(1) == 2\nassert ok", "assert round(f(1) - 2, 7) == 0")
    assert passed(run("python", code, *tests)) == [True, True]


def test_open_arguments() -> None:
    code = "def f(xs):\n  xs.clear()\n  return []"
    assert passed(run("python", code, "xs = [2, 1]\nassert f(xs) == sorted(xs)")) == [True]
    code = "const f = (xs) => { xs.length = 0; return [] }"
    test = "const xs = [2, 1]; assert.deepStrictEqual(f(xs), xs.toSorted())"
    assert passed(run("javascript", code, test)) == [True]


def test_open_flow() -> None:
    code = f"{WALK}old = harness.test\ndef f(x): return 0\n"
    code += (
        "harness.test = lambda run, text, *more: None if text[0] == 't' else old(run, text, *more)"
    )
    test = "try:\n  assert f(1) == 1\nfinally:\n  pass"
    assert passed(run("python", code, test)) == [True]


def test_open_names() -> None:
    code = "def f(x): return ref(x)"
    assert passed(run("python", code, "def ref(x): return x + 1\nassert f(3) == ref(3)")) == [True]
    code = "def f(x): return next(v[x] for v in globals().values() if type(v) is dict and x in v)"
    test = "expected = {1: 2}\nfor x in expected: assert f(x) == expected[x], print(expected)"
    assert passed(run("python", code, "table = {1: 2}", test)) == [True, True]


def test_open_members() -> None:
    code = "class I(list):\n  def __iter__(self): return iter(())\n  def __len__(self): return 5\n"
    code += "def f(x): return I()"
    test = "r = f(5)\nassert len(r) == 5\nassert all(x > 100 for x in r)"
    assert passed(run("python", code, test)) == [True]


def test_open_methods() -> None:
    code = "function f(x) { return { every: () => true } }"
    test = "const r = f(1); console.assert(r.every((x) => x === 1))"
    assert passed(run("javascript", code, test)) == [True]


# --- exit codes --------------------------------------------------------------------------------


@tables
def test_exit_own(language: str, code: str) -> None:
    execution = run(language, code)
    assert (execution.exit_code, execution.status) == (3, "error")


@tables
def test_exit_uncaught(language: str, code: str) -> None:
    execution = run(language, code)
    assert (execution.exit_code, execution.status) == (1, "error")
    assert "KeyError" in execution.stderr


def test_exit_hook() -> None:
    code = "import sys\nsys.excepthook = lambda kind, error, trace: print(kind.__name__)\n1 / 0"
    execution = run("python", code)
    assert (execution.stdout, execution.stderr) == ("ZeroDivisionError\n", "")
    assert execution.exit_code == 1


@tables
def test_exit_stopped(language: str, code: str, exit_code: int) -> None:
    limits = {"timeout": 0.2} if exit_code == 124 else {"output_limit": 10_000}
    assert run(language, code, **limits).exit_code == exit_code


@programs(python=("bytes(10**9)",), javascript=("const a = []; for (;;) a.push([1, 2, 3])",))
def test_exit_memory(language: str, code: str) -> None:
    execution = run(language, code, memory_limit_mb=64)
    assert (execution.exit_code, execution.status) == (1, "memory")


# --- the compile cache ---------------------------------------------------------------------------

LOAD = """
import sys
from infinite_rl.sandbox.executor import RewardExecutor
print(RewardExecutor().execute("console.log('hello')", "javascript").stdout, end="")
"""


def load_in_a_new_process(folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs JavaScript with the cache in `folder`, under a careless umask."""
    done = subprocess.run(
        [sys.executable, "-c", LOAD],
        env={**os.environ, "INFINITE_RL_CACHE": str(folder), "PYTHONPATH": str(ROOT)},
        umask=0,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "hello\n"
    return done


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache that holds the compiled JavaScript runtime."""
    folder = tmp_path_factory.mktemp("sandbox") / "cache"
    assert "compiling" in load_in_a_new_process(folder).stderr
    assert "compiling" not in load_in_a_new_process(folder).stderr
    yield folder


@pytest.mark.slow
def test_cache_private(cache: Path) -> None:
    (compiled,) = cache.glob("*.cwasm")
    assert [path.stat().st_mode & 0o022 for path in (cache, compiled)] == [0, 0]


@pytest.mark.slow
def test_cache_damaged(cache: Path) -> None:
    (compiled,) = cache.glob("*.cwasm")
    whole = compiled.read_bytes()
    middle = len(whole) // 2
    damaged = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    compiled.write_bytes(damaged)
    assert "compiling" in load_in_a_new_process(cache).stderr
    assert damaged not in [path.read_bytes() for path in cache.glob("*.cwasm")]


@pytest.mark.slow
def test_cache_foreign(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    assert "not private" in load_in_a_new_process(tmp_path).stderr
    assert list(tmp_path.iterdir()) == []


# --- threads, fork, signals ----------------------------------------------------------------------


def test_threads_loops() -> None:
    code = (
        "import threading\nstop = []\ndef run():\n    while not stop: pass\n"
        "threading.Thread(target=run).start()\nstop.append(1)"
    )
    assert run("python", code, timeout=0.5).status == "timeout"


@tables
def test_threads_below(wait: str, deadlock: bool) -> None:
    code = (
        "import threading\nevent = threading.Event()\n"
        f"def run():\n    {wait}\n"
        "thread = threading.Thread(target=run)\nthread.start()\nevent.set()\nthread.join()"
    )
    assert ("RuntimeError: deadlock" in run("python", code).stderr) == deadlock


def test_threads_inline() -> None:
    code = (
        "import threading\nevent = threading.Event()\n"
        "def run():\n    print(1)\n    event.wait()\n    print(3)\n"
        "thread = threading.Thread(target=run)\nthread.start()\nprint(2)\nevent.set()\n"
        "thread.join()\nprint(4)"
    )
    assert run("python", code).stdout == "1\n2\n3\n4\n"
    code = "console.log(typeof Worker); new (require('worker_threads').Worker)('x.js')"
    execution = run("javascript", code)
    assert (execution.stdout, execution.status) == ("undefined\n", "error")


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
        pids = {worker.pid for worker in workers._pool._idle}
    assert pids and not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.slow
def test_batch_death() -> None:
    with RewardExecutor() as executor:
        assert executor.batch_run([HELLO["python"]] * 3, "python")
        for worker in workers._pool._idle:
            os.kill(worker.pid, signal.SIGKILL)
        assert executor.batch_run([HELLO["python"]] * 3, "python") == [("hello", "")] * 3


def _batch_and_workers() -> tuple[list[tuple[str, str]], set[int]]:
    told = RewardExecutor().batch_run([HELLO["python"]] * 3, "python")
    return told, {worker.pid for worker in workers._pool._idle}


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
