"""What a reference and a fence say of a program: its language, its name, its entry, its numbers.

Honest programs in every form that references ask for, and the ways to pass, or to leave a verdict,
that these forms might have opened.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from infinite_rl.layout import fenced, tagged
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.reward_functions.coding.reference import BadReference, Tolerance, read_reference
from infinite_rl.reward_functions.compare import compare
from infinite_rl.reward_functions.humaneval import HumanEvalRewardFunction
from infinite_rl.reward_functions.mbpp import MbppRewardFunction
from infinite_rl.types import RewardFunctionScore, Sample
from tests.support.labelled import Tables

tables = Tables(__file__)

DOUBLE = {"python": "def f(x): return 2 * x", "javascript": "function f(x) { return 2 * x; }"}
LANGUAGES = sorted(DOUBLE)


def judge(
    code: str, reference: Any, language: str | None = None, fence: str = ""
) -> RewardFunctionScore:
    reward = CodingRewardFunction()
    return reward.compute_reward(tagged(fenced(code, fence)), reference, language=language)


def calls(*outputs: Any, entry: str = "f", args: Any = ()) -> dict[str, Any]:
    return {
        "entry_point": entry,
        "cases": [{"args": list(args), "output": output} for output in outputs],
    }


# --- tests for a runner that is not there

MOCHA = "describe('f', () => { it('doubles', () => { require('assert').equal(f(2), 4) }) })"
RUNNERS = [
    MOCHA,
    "const test = require('node:test'); test('f', () => { console.assert(f(2) === 4) })",
    "import { test, expect } from '@jest/globals'; test('f', () => expect(f(2)).toBe(4))",
    "test('f', () => { expect(f(2)).toBe(4) })",
    "expect(f(2)).toBe(4)",
]


@pytest.mark.parametrize("test", RUNNERS)
@pytest.mark.parametrize("code", [DOUBLE["javascript"], "function f(x) { return 3; }", "f(", "("])
def test_tests_for_a_runner_fail_no_program(test: str, code: str) -> None:
    score = judge(code, {"tests": [test]}, "javascript")
    assert score.status == "unscored"
    assert "cannot run: they are written for" in score.error_msg


@tables
def test_a_program_cannot_be_the_runner_of_its_own_tests(code: str) -> None:
    assert judge(code, {"tests": [MOCHA]}, "javascript").status == "unscored"


@tables
def test_no_program_can_make_tests_those_of_a_runner(code: str) -> None:
    tests = {"tests": ["console.assert(f(2) === 4)", "console.assert(f(3) === 6)"]}
    assert judge(code, tests, "javascript").status == "failed"


def test_a_test_that_brings_its_own_helper_runs() -> None:
    own = "const it = (name, run) => run();\nit('doubles', () => { console.assert(f(2) === 4) })"
    for tests in (
        {"tests": [own]},
        {"tests": [own.split("\n")[1]], "setup": own.split("\n")[0]},
    ):
        assert judge(DOUBLE["javascript"], tests, "javascript").passed
        assert judge("function f(x) { return 3; }", tests, "javascript").status == "failed"


@pytest.mark.parametrize("language", ["javascript", None])
@pytest.mark.parametrize("test", RUNNERS)
def test_the_runner_is_the_reason_for_tests_in_one_text_too(
    test: str, language: str | None
) -> None:
    for fence in ("javascript",) if test in RUNNERS[-1:] else ("javascript", ""):  # Python, too
        score = judge(DOUBLE["javascript"], {"tests": test}, language, fence)
        assert score.status == "unscored"
        assert "cannot run: they are written for" in score.error_msg


def test_a_program_may_be_a_runner_itself() -> None:
    code = "const names = []; function test(name, run) { names.push(name); run(); }"
    tests = {"tests": ["test('a', () => {}); require('assert').deepEqual(names, ['a'])"]}
    assert judge(code, tests, "javascript").passed
    assert judge("const names = []; const test = () => {}", tests, "javascript").status == "failed"


# --- the program as a module

PYTHON_IMPORTS = [
    "from solution import f\nassert f(2) == 4",
    "from main import f as g\nassert g(2) == 4",
    "import solution\nassert solution.f(2) == 4",
    "import main as m\n\ndef test_double():\n    assert m.f(2) == 4",
    "import importlib\nassert importlib.import_module('solution').f(2) == 4",
    "from solution import *\nassert f(2) == 4",
    "import unittest\nfrom solution import f\n\nclass TestF(unittest.TestCase):\n"
    "    def test_double(self):\n        self.assertEqual(f(2), 4)",
]


@pytest.mark.parametrize("test", PYTHON_IMPORTS)
def test_solution_and_main_are_modules_of_a_python_program(test: str) -> None:
    assert judge(DOUBLE["python"], {"tests": [test]}, "python").passed
    assert judge("def f(x): return 3", {"tests": [test]}, "python").status == "failed"
    assert judge("def g(x): return 4", {"tests": [test]}, "python").status == "failed"


@tables
def test_tests_in_one_text_are_one_test(language: str, text: str) -> None:
    wrong = DOUBLE[language].replace("2 * x", "x ** 3 / 3")
    for named in (language, None):
        right = judge(DOUBLE[language], {"tests": text}, named, language)
        assert right.passed and right.details["tests"] == 1
        assert judge(wrong, {"tests": text}, named, language).status == "failed"
        assert judge("", {"tests": text}, named, language).status == "failed"


@tables
def test_a_text_that_tests_nothing_is_unscored(text: str) -> None:
    assert judge(DOUBLE["python"], {"tests": text}, "python").status == "unscored"


def test_the_file_that_a_reference_names_is_a_module_too() -> None:
    tests = {"tests": ["from bank import f\nassert f(2) == 4"]}
    for file in ("bank.py", "bank"):
        assert judge(DOUBLE["python"], {**tests, "file": file}, "python").passed
    assert judge(DOUBLE["python"], tests, "python").status == "unscored"  # there is no such module
    check = {"tests": "from bank import f\ndef check(g): assert g(2) == f(2) == 4"}
    assert judge(
        DOUBLE["python"], {**check, "entry_point": "f", "file": "bank.py"}, "python"
    ).passed


def test_a_package_that_lacks_is_known_behind_an_import_of_the_program() -> None:
    test = "from solution import f\nimport numpy\nassert numpy.all(f(2) == 4)"
    assert judge(DOUBLE["python"], {"tests": [test]}, "python").status == "unscored"
    hidden = "import numpy\ndef f(x): return 4"  # the same of the program is its own fault
    assert judge(hidden, {"tests": [PYTHON_IMPORTS[0]]}, "python").status == "failed"


def test_a_setup_may_import_the_program() -> None:
    future = "from __future__ import (\n    annotations,\n)\nimport main"
    for setup in (
        "from solution import f as g",
        "from __future__ import annotations\nimport main",
        future,
    ):
        tests = {"tests": ["assert f(2) == 4"], "setup": setup}
        assert judge(DOUBLE["python"], tests, "python").passed
    setup = "const { f: g } = require('./solution');"
    javascript = {"tests": ["console.assert(g(2) === 4)"], "setup": setup}
    assert judge(DOUBLE["javascript"], javascript, "javascript").passed
    assert judge("function f() {}", javascript, "javascript").status == "failed"


@tables
def test_a_file_is_no_path_and_no_module_of_pythons_own(file: Any) -> None:
    reference = {"tests": ["assert f(2) == 4"], "file": file}
    assert judge(DOUBLE["python"], reference, "python").status == ("unscored" if file else "passed")


@tables
def test_no_program_gains_by_being_a_module(code: str) -> None:
    for test in ("from solution import f\nassert f(2) == 4", "import main\nassert main.f(2) == 4"):
        assert judge(code, {"tests": [test]}, "python").status == "failed"


EXPORTS = ["", "module.exports = { f };", "exports.f = f;", "module.exports.f = f"]


@tables
@pytest.mark.parametrize("exports", EXPORTS)
def test_a_javascript_program_is_a_module_also_where_it_exports_nothing(
    test: str, exports: str
) -> None:
    assert judge(f"{DOUBLE['javascript']}\n{exports}", {"tests": [test]}, "javascript").passed
    wrong = f"function f(x) {{ return 3; }}\n{exports}"
    assert judge(wrong, {"tests": [test]}, "javascript").status == "failed"
    assert judge("const g = 1", {"tests": [test]}, "javascript").status == "failed"


OTHER_FILES = [
    "const { f } = require('./other');\nconsole.assert(f(2) === 4)",
    'const other = require("../lib/helpers.js"); console.assert(f(2) === 4)',
    "import { f } from './other.js';\nconsole.assert(f(2) === 4)",
    "import './polyfill'; console.assert(f(2) === 4)",
    "const { f } = await import('./other.mjs');\nconsole.assert(f(2) === 4)",
    "console.assert(require('.').f(2) === 4)",
    "console.assert(require('../').f(2) === 4)",
]


@pytest.mark.parametrize("test", OTHER_FILES)
def test_a_file_that_no_reference_names_is_not_the_program(test: str) -> None:
    setup, _, check = test.partition("\n")
    references: list[dict[str, Any]] = [{"tests": [test]}, {"tests": test}]
    if check:
        references.append({"tests": [check], "setup": setup})
    for reference in references:
        for code in (DOUBLE["javascript"], "function f(x) { return 3; }", "("):
            score = judge(code, reference, "javascript")
            assert score.status == "unscored"
            assert "there is no file" in score.error_msg
        assert judge(DOUBLE["javascript"], reference, fence="js").status == "unscored"


def test_the_file_that_a_reference_names_is_there_for_javascript_too() -> None:
    for file in ("other.js", "other"):
        for test in OTHER_FILES[:1] + OTHER_FILES[2:3] + OTHER_FILES[4:5]:
            assert judge(DOUBLE["javascript"], {"tests": [test], "file": file}, "javascript").passed
            wrong = judge("const f = x => 3", {"tests": [test], "file": file}, "javascript")
            assert wrong.status == "failed"


@tables
def test_what_only_looks_like_an_import_of_a_file_is_none(test: str) -> None:
    assert judge(DOUBLE["javascript"], {"tests": [test]}, "javascript").passed
    assert judge("const f = x => 3", {"tests": [test]}, "javascript").status == "failed"


def test_no_program_makes_its_tests_unscored_by_a_file_that_is_not_there() -> None:
    tests = {"tests": ["console.assert(f(2) === 4)"]}
    for code in ("require('./other'); const f = x => 4", "const f = x => require('./other')"):
        assert judge(code, tests, "javascript").status == "failed"


def test_what_a_program_exports_itself_stays() -> None:
    code = "function f(x) { return 3; }\nmodule.exports = { f: (x) => 2 * x };"
    tests = {"tests": ["const { f } = require('./solution');\nconsole.assert(f(2) === 4)"]}
    assert judge(code, tests, "javascript").passed
    default = {"tests": ["import f from './solution';\nconsole.assert(f(2) === 4)"]}
    assert judge(DOUBLE["javascript"], default, "javascript").passed
    assert judge(f"export default {DOUBLE['javascript']}", default, "javascript").passed


# --- values of calls


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0.1 + 0.2", 0.3),
        ("3.0", 3),
        ("3", 3.0),
        ("[1, [2.0000000000000004]]", [1, [2]]),
        ("1e999 - 1e999", float("nan")),
        ("1e999", float("inf")),
        ('{"a": [0.1 + 0.2]}', {"a": [0.3]}),
    ],
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_call_returns_is_compared_as_json(value: str, expected: Any, language: str) -> None:
    code = {
        "python": f"def f(): return {value}",
        "javascript": f"function f() {{ return {value}; }}",
    }
    assert judge(code[language], calls(expected), language).passed
    text = json.dumps(calls(expected))
    assert judge(code[language], text, language).passed


@tables
def test_no_object_passes_for_a_value_that_it_is_not(
    language: str, value: str, expected: Any
) -> None:
    code = {
        "python": "class Liar:\n    def __eq__(self, other): return True\n"
        "    def __float__(self): return 3.0\n    __hash__ = None\n"
        "class LyingList(list):\n    def __len__(self): return 3\n"
        "    def __eq__(self, other): return True\n    def __iter__(self): return iter([1, 2, 3])\n"
        "class LyingTuple(tuple):\n    def __len__(self): return 3\n"
        "    def __iter__(self): return iter([1, 2, 3])\n"
        "class LyingFloat(float):\n    def __eq__(self, other): return True\n"
        "    def __sub__(self, other): return 0.0\n    def __repr__(self): return '3.0'\n"
        "class LyingDict(dict):\n    def items(self): return [('a', 3)]\n"
        "    def __getitem__(self, key): return 3\n"
        "class LyingStr(str):\n    def __eq__(self, other): return True\n"
        f"    def __str__(self): return 'b'\ndef f(): return {value}",
        "javascript": f"function f() {{ return ({value}); }}",
    }
    assert judge(code[language], calls(expected), language).status == "failed"


def test_a_program_that_reports_for_itself_passes_no_call() -> None:
    for code in (
        "def f():\n    __judge__(0, 3)\n    return 3",
        "def f():\n    __judge__(0, 3)\n    raise SystemExit",
        "import sys\ndef f():\n    sys._getframe(1).f_globals['__judge__'](0, 3)",
        "def f():\n    global __judge__\n    __judge__ = lambda *_: None",
    ):
        assert judge(code, calls(3), "python").status == "failed"
    for code in (
        "function f() { $report(0, [3]); return 3; }\nfunction g() {}",
        "function f() { process.exit(0); }",
        "const $report = () => {}; const f = () => 4;",
        "Object.defineProperty(Array.prototype, 0, { get: () => 3 }); const f = () => 4;",
    ):
        assert judge(code, calls(3), "javascript").status == "failed"


@pytest.mark.parametrize("language", LANGUAGES)
def test_rows_of_calls_are_judged_in_brief_as_they_are_in_full(language: str) -> None:
    cases = [{"args": [number], "output": 2 * number} for number in range(3)]
    answer = json.dumps({"entry_point": "f", "cases": cases})
    row, reward = Sample("coding", "", answer, "", language=language), CodingRewardFunction()
    wrong = DOUBLE[language].replace("2 * x", "2 * x * (x < 2)")
    for code, passes in ((DOUBLE[language], True), (wrong, False)):
        completion = tagged(fenced(code, language))
        assert reward.score(row, completion).passed is passes
        for likely in (True, False):
            assert reward.passes(row, completion, likely=likely) is passes
    assert not reward.accepts_empty(row, tagged(fenced("", language)))
    assert not reward.sees_spelling(row)
    builtin = json.dumps(calls([1, 2], entry="sorted", args=[[2, 1]]))
    assert reward.sees_spelling(Sample("coding", "", builtin, "", language="python"))
    printed_by_code = Sample("coding", "", fenced("print(4)", ""), "", language="python")
    assert reward.passes(printed_by_code, tagged(fenced("print(4)", "python")), likely=True)


def test_the_message_of_a_call_says_what_it_gave() -> None:
    assert (
        "assert f(2) == [1] (got 4)"
        in judge(DOUBLE["python"], calls([1], args=[2]), "python").error_msg
    )
    score = judge(DOUBLE["javascript"], calls([1], args=[2]), "javascript")
    assert "f(2) is 4, and should be [1]" in score.error_msg


def test_a_nan_may_be_an_argument() -> None:
    code = {"python": "def f(x): return x != x", "javascript": "const f = x => x !== x"}
    for language in LANGUAGES:
        assert judge(code[language], calls(True, args=[float("nan")]), language).passed


# --- a method as the entry

SOLUTION = {
    "python": "class Solution:\n    def double(self, x): return 2 * x",
    "javascript": "class Solution {\n  double(x) { return 2 * this.one(x); }\n"
    "  one(x) { return x; }\n}",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_method_of_solution_is_an_entry_point(language: str) -> None:
    reference = calls(4, args=[2], entry="Solution().double")
    assert judge(SOLUTION[language], reference, language).passed
    assert judge(SOLUTION[language].replace("2 *", "3 *"), reference, language).status == "failed"
    assert judge(DOUBLE[language], reference, language).status == "failed"
    exported = f"{SOLUTION['javascript']}\nmodule.exports = Solution;"
    assert judge(exported, reference, "javascript").passed


def test_a_check_is_called_with_a_method_too() -> None:
    python = {"tests": "def check(g):\n    assert g(2) == 4", "entry_point": "Solution().double"}
    assert judge(SOLUTION["python"], python, "python").passed
    assert (
        judge("class Solution:\n    def double(self, x): return 3", python, "python").status
        == "failed"
    )
    assert judge(DOUBLE["python"], python, "python").status == "failed"
    javascript = {**python, "tests": "function check(g) { console.assert(g(2) === 4); }"}
    assert judge(SOLUTION["javascript"], javascript, "javascript").passed
    assert judge("class Solution { double() {} }", javascript, "javascript").status == "failed"
    numpy = {**python, "tests": "def check(g):\n    import numpy\n    assert g(2) == 4"}
    assert judge(SOLUTION["python"], numpy, "python").status == "unscored"


@tables
def test_nothing_else_is_an_entry_point(entry: str) -> None:
    with pytest.raises(BadReference):
        read_reference(calls(1, entry=entry))
    assert judge("x = 1", calls(1, entry="class().f"), "python").status == "unscored"


# --- a tolerance for what is printed


def printed(output: Any, tolerance: Any) -> dict[str, Any]:
    return {"cases": [{"output": output}], "tolerance": tolerance}


@tables
def test_printed_numbers_may_be_off_by_the_tolerance(
    text: str, output: str, tolerance: Any
) -> None:
    assert judge(f'print("{text}")', printed(output, tolerance), "python").passed
    assert judge(f'console.log("{text}")', printed(output, tolerance), "javascript").passed
    whole = {"output": output, "compare": "tolerant", "tolerance": tolerance}
    assert judge(f'print("{text}")', whole, "python").passed


@tables
def test_no_more_is_forgiven_than_the_tolerance(text: str, output: str, tolerance: Any) -> None:
    assert judge(f'print("{text}")', printed(output, tolerance), "python").status == "failed"


@pytest.mark.parametrize(
    "tolerance",
    [
        -1,
        float("nan"),
        float("inf"),
        True,
        "0.1",
        None,
        [],
        {},
        {"rel": 1},
        {"relative": 1},
        1,
        10**400,
    ],
)
def test_a_tolerance_is_a_number_that_means_something(tolerance: Any) -> None:
    with pytest.raises(BadReference):
        read_reference(printed("1", tolerance))


def test_a_tolerance_goes_with_what_is_printed_alone() -> None:
    for reference in (
        {**printed("1", 0.1), "compare": "exact"},
        {**calls(1), "tolerance": 0.1},
        {"tests": ["assert f(2) == 4"], "tolerance": 0.1},
    ):
        with pytest.raises(BadReference):
            read_reference(reference)


def test_long_texts_are_compared_with_a_tolerance_in_linear_time() -> None:
    for part in ("1", "1.", "1 ", "+1", "1e", ".1"):
        text = part * (300_000 // len(part))
        assert compare(f"{text}x", f"{text}y", Tolerance(0.1)).rung == "similarity"


# --- languages


@pytest.mark.parametrize(("fence", "other"), [("python", "javascript"), ("javascript", "python")])
@pytest.mark.parametrize(
    "reward", [CodingRewardFunction, MbppRewardFunction, HumanEvalRewardFunction]
)
def test_a_fence_in_another_language_than_the_references_has_failed_and_is_told(
    fence: str, other: str, reward: type[CodingRewardFunction]
) -> None:
    tests = {"python": "assert f(2) == 4", "javascript": "console.assert(f(2) === 4)"}
    answer = tagged(fenced(DOUBLE[other], fence))
    reference = {"tests": [tests[other]], "language": other, "entry_point": ""}
    score = reward().compute_reward(answer, reference)
    assert (score.status, score.correctness_score) == ("failed", 0.0)
    assert score.error_msg == f"the reference says {other}, and the fence {fence}"
    row = Sample("coding", "", json.dumps({"tests": [tests[other]]}), "", language=other)
    assert reward().score(row, answer).error_msg == score.error_msg
    set_once = reward()
    set_once.set_language(other)
    assert set_once.compute_reward(answer, {"tests": [tests[other]]}).status == "failed"
    right = tagged(fenced(DOUBLE[other], other))
    assert set_once.compute_reward(right, reference).passed


def test_the_language_of_the_reference_counts_more_than_that_of_the_call() -> None:
    reference = {**calls(4, args=[2]), "language": "js"}
    assert judge(DOUBLE["javascript"], reference, "python").passed
    assert judge(DOUBLE["python"], reference, "python").status == "failed"
    assert judge(DOUBLE["python"], {**reference, "language": "ruby"}).status == "unscored"
    assert judge(DOUBLE["python"], {**reference, "language": 3}).status == "unscored"


@pytest.mark.parametrize("language", LANGUAGES)
def test_where_nothing_else_says_a_language_the_fence_does(language: str) -> None:
    assert judge(DOUBLE[language], calls(4, args=[2]), fence=language).passed
    tests = {"python": "assert f(2) == 4", "javascript": "console.assert(f(2) === 4)"}
    assert judge(DOUBLE[language], {"tests": [tests[language]]}, fence=language).passed
    shown = {"python": "print(4)", "javascript": "console.log(4)"}
    assert judge(shown[language], "4", fence=language).passed


@pytest.mark.parametrize("fence", ["", "text", "console", "output"])
def test_a_fence_that_names_no_language_says_none(fence: str) -> None:
    assert judge(DOUBLE["python"], calls(4, args=[2]), fence=fence).passed
    assert judge(DOUBLE["javascript"], calls(4, args=[2]), "javascript", fence).passed
    javascript = {"tests": ["console.assert(f(2) === 4)"]}
    assert judge(DOUBLE["javascript"], javascript, fence=fence).passed


JAVASCRIPT_ONLY = [{"tests": ["console.assert(f(2) === 4)"]}, calls(4, entry="$f", args=[2])]


@tables
@pytest.mark.parametrize("fence", ["javascript", "js", "typescript", "ts", "java", "cpp", "bash"])
@pytest.mark.parametrize("code", ["def f(x): return 3", "const f = x => 4", DOUBLE["python"]])
def test_no_fence_is_a_way_out_of_tests_that_are_written_in_python(
    reference: dict[str, Any], fence: str, code: str
) -> None:
    assert judge(code, reference, fence=fence).status == "failed"
    assert judge(code, reference, "python", fence).status == "failed"


@pytest.mark.parametrize("reference", JAVASCRIPT_ONLY)
@pytest.mark.parametrize("fence", ["python", "py", "java"])
def test_nor_of_those_that_are_written_in_javascript(reference: dict[str, Any], fence: str) -> None:
    assert judge("def f(x): return 3", reference, fence=fence).status == "failed"
    assert judge("def f(x): return 3", reference, "javascript", fence).status == "failed"


def test_what_cannot_be_judged_in_any_language_is_unscored_whatever_the_fence() -> None:
    for reference in (
        {"tests": ["import numpy\nassert f(2) == 4"]},
        {"tests": [MOCHA]},
        {"tests": ["("]},
        {"tests": ["pass"]},
    ):
        for fence in ("", "python"):
            assert judge(DOUBLE["python"], reference, fence=fence).status == "unscored"


def test_reference_code_is_not_run_in_the_language_of_the_answer() -> None:
    reference = fenced("print(2 + 2)", "")
    assert judge("console.log(4)", reference, fence="js").passed
    assert judge("console.log(5)", reference, fence="js").status == "failed"
    javascript = fenced("console.log(2 + 2)", "")
    assert judge("console.log(4)", javascript, "javascript").passed


@pytest.mark.parametrize("fence", ["ts", "typescript", "TypeScript", "tsx"])
def test_typescript_is_unscored_where_nothing_says_another_language(fence: str) -> None:
    code = "function f(x: number): number { return 2 * x; }"
    score = judge(code, calls(4, args=[2]), fence=fence)
    assert (score.status, score.error_msg) == (
        "unscored",
        "cannot judge: TypeScript cannot be run",
    )
    javascript = {"tests": ["console.assert(f(2) === 4)"]}
    assert judge(code, javascript, fence=fence).status == "unscored"
    assert judge("console.log(4)", "4", fence=fence).status == "unscored"
    for language in LANGUAGES:
        score = judge(code, calls(4, args=[2]), language, fence)
        assert score.error_msg == f"the reference says {language}, and the fence typescript"
        assert score.status == "failed"


def test_a_reference_for_typescript_fails_nobody() -> None:
    for code, fence in ((DOUBLE["javascript"], "js"), ("no", ""), ("const f: any = 1", "ts")):
        assert judge(code, {**calls(4), "language": "ts"}, fence=fence).status == "unscored"
        assert judge(code, calls(4), "typescript", fence).status == "unscored"
    row = Sample("coding", "", "4", "", language="typescript")
    assert CodingRewardFunction().score(row, tagged("1")).status == "unscored"
    assert judge("print(4)", fenced("console.log(4)", "ts")).status == "unscored"


def test_of_several_blocks_one_that_can_be_run_is_taken_before_typescript() -> None:
    answer = tagged(f"{fenced('let x: any', 'ts')}\n{fenced(DOUBLE['javascript'], 'js')}")
    reward = CodingRewardFunction()
    assert reward.compute_reward(answer, calls(4, args=[2])).passed
    wrong = answer.replace("2 * x", "3 * x")
    assert reward.compute_reward(wrong, calls(4, args=[2])).status == "failed"


def test_many_are_judged_in_the_language_of_each_like_one() -> None:
    reward = CodingRewardFunction()
    answers = [tagged(fenced(DOUBLE[name], name)) for name in LANGUAGES]
    answers += [tagged(fenced("const f: any = 1", "ts")), tagged(fenced(DOUBLE["python"], "js"))]
    references = [calls(4, args=[2])] * 4
    one_by_one = [reward.compute_reward(answer, references[0]) for answer in answers]
    assert reward.compute_rewards(answers, references) == one_by_one
    assert [score.status for score in one_by_one] == ["passed", "passed", "unscored", "failed"]


# --- a method of LeetCode's class

LEETCODE = {
    "python": "class Solution:\n    def f(self, x):\n        return 2 * x\n",
    "javascript": "class Solution {\n  f(x) { return 2 * x; }\n}\n",
}


def of_leetcode(language: str) -> list[dict[str, Any]]:
    check = {
        "python": "def check(g): assert g(2) == 4",
        "javascript": "function check(g) { console.assert(g(2) === 4); }",
    }
    return [calls(4, args=[2]), {"tests": check[language], "entry_point": "f"}]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("named", [True, False])
def test_an_entry_point_may_be_a_method_of_solution(language: str, named: bool) -> None:
    right = LEETCODE[language]
    row = Sample("coding", "", json.dumps(of_leetcode(language)[0]), "", language=language)
    reward = CodingRewardFunction()
    assert reward.passes(row, tagged(fenced(right, language)), likely=True)
    for reference in of_leetcode(language):
        stated = language if named else None
        assert judge(right, reference, stated, language).passed
        for wrong in (
            right.replace("2 * x", "3 * x"),
            right.replace("Solution", "Other"),
            right.replace("f(", "g("),
        ):
            assert judge(wrong, reference, stated, language).status == "failed"


@tables
def test_a_function_of_that_name_counts_before_a_method(language: str, top: str) -> None:
    for reference in of_leetcode(language):
        for code in (f"{LEETCODE[language]}\n{top}", f"{top}\n{LEETCODE[language]}"):
            assert judge(code, reference, language).status == "failed"
