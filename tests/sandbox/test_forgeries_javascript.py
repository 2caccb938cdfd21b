"""Programs that try to pass JavaScript tests without computing what they ask for. None may."""

from __future__ import annotations

import re
from pathlib import Path

from infinite_rl.sandbox.executor import RewardExecutor
from tests.sandbox.test_forgeries_python import read_blocks
from tests.support.labelled import assert_none

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


def programs(name: str) -> dict[str, str]:
    """The programs of a file, by name: blocks that `%%%%` divides, each with its name on top."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    pairs = (block.partition("\n") for block in text.split("\n%%%%\n"))
    return {name: code for name, _, code in pairs}


TRICKS = programs("javascript_tricks.txt")  # tried on each test alone
FORGERIES = programs("javascript_forgeries.txt")  # tried on all tests together


def passing(code: str, *tests: str, entry_point: str = "") -> list[int]:
    """The numbers of the tests that a program passes."""
    executor = RewardExecutor(timeout=10)
    run = executor.execute(code, "javascript", tests=tests, entry_point=entry_point)
    return [n for n, result in enumerate(run.tests) if result.passed]


CONVERTS = re.compile(r"valueOf|toString|toPrimitive|get: \(\) => \(\) => 2")
ASKS_FOR_A_NUMBER = re.compile(r"[^=!]==[^=]|\.equal\(|Math\.abs|r > 41")


def is_earned(name: str, test: str) -> bool:
    """Whether the program computes what this test asks for, if as an object that converts."""
    what = {"a Proxy that throws": "RangeError", "toJSON": "JSON"}
    code = TRICKS.get(name) or ATTACKS.get(name) or ""
    return (name in what and what[name] in test) or bool(
        CONVERTS.search(code) and ASKS_FOR_A_NUMBER.search(test)
    )


def test_the_honest_program_passes() -> None:
    later = HONEST.replace("x * 2;", "Promise.resolve(x * 2);")
    for n, test in enumerate(TESTS):
        assert passing(later if ".then(" in test else HONEST, test) == [0], (n, test)
    assert passing(HONEST, *CHECK, entry_point="f") == [0, 1]


def test_a_trick_passes_no_test() -> None:
    faults = []
    for name, code in TRICKS.items():
        tests = [test for test in TESTS if not is_earned(name, test)]
        checks = [check for check in CHECK if not is_earned(name, check)]
        passed = [test for test in tests if passing(code, test)]
        together = passing(code, *tests[:11])
        checked = passing(code, *checks, entry_point="f")
        if passed or together or checked:
            faults.append((name, passed, together, checked))
    assert_none(faults)
    assert len(TRICKS) == 78


def test_a_forgery_passes_none_of_all_tests() -> None:
    assert_none(name for name, code in FORGERIES.items() if passing(code, *TESTS))
    assert len(FORGERIES) == 70


# --- attacks on the channel between the program and its tests ------------------------------------

ASKED = (
    "assert.equal(f(21), 42)",
    "console.assert(f([1]) == 42)",
    "assert.deepEqual(f(2), [42, 1])",
    "const r = f(21); assert(r > 41 && r < 43)",
    "let ok = false; try { ok = f(21) === 42 } catch {} if (!ok) throw new Error('no')",
    "(async () => { assert.strictEqual(await f(21), 42) })()",
    "f(21).then((x) => assert.strictEqual(x, 42))",
    "expect(f(2)).toEqual([42, 1])",
    "describe('a', () => { it('b', async () => { expect(await f(21)).toStrictEqual(42) }) })",
    "const cb = jest.fn((a, b) => typeof a === 'function' ? a(b) : 1); g(cb); "
    "expect(cb).toHaveBeenCalledWith(42, 43)",
    "assert.throws(() => f(-1), { name: 'RangeError', message: 'negative' })",
    "const { f: h } = require('./solution'); assert.strictEqual(h(21), 42)",
    "assert.deepStrictEqual([...f(3)].slice(0, 3), [42, 1, 2])",
    "const xs = [3, 1]; f(xs); assert.deepStrictEqual(xs, [1, 3])",
)
ATTACKS = programs("javascript_attacks.txt")


def test_an_attack_passes_no_test() -> None:
    executor = RewardExecutor(timeout=0.5, memory_limit_mb=96, output_limit=20_000)
    faults = []
    for name, code in ATTACKS.items():
        run = executor.execute(code, "javascript", tests=ASKED)
        passed = [ASKED[n] for n, result in enumerate(run.tests) if result.passed]
        faults += [(name, test) for test in passed if not is_earned(name, test)]
    assert_none(faults)
    assert len(ATTACKS) >= 100


# --- programs that are right or wrong in Node by what only one interpreter seems to show ----------

FIDELITY = programs("javascript_fidelity.txt")


def test_programs_pass_and_fail_as_in_node() -> None:
    faults = []
    for name, text in FIDELITY.items():
        code, _, test = text.partition("\n----\n")
        if (passing(code, test) == [0]) != name.startswith("right"):
            faults.append(name)
    assert_none(faults)
    assert len(FIDELITY) == 192


# --- programs that keep a failure of their tests to themselves, and honest ones ------------------

FAILURES = read_blocks("javascript_failures.txt")


def test_no_program_keeps_a_failure_of_its_tests_to_itself() -> None:
    """Each begins with "forged" or "honest"; that one passes says that it may."""
    faults = []
    for name, (code, tests) in FAILURES.items():
        passed = passing(code, *tests)
        if passed != (list(range(len(tests))) if name.startswith("honest: ") else []):
            faults.append((name, passed))
    assert_none(faults)
    assert len(FAILURES) == 39
