"""What a reference and a fence say of a program: its language, its name, its entry, its numbers.

Honest programs in every form that references ask for, and the ways to pass, or to leave a verdict,
that these forms might have opened.
"""

import json
from typing import Any

import pytest

from infinite_rl.layout import fenced, tagged
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.reward_functions.coding.reference import BadReference, read_reference
from infinite_rl.reward_functions.compare import Tolerance, compare
from infinite_rl.reward_functions.humaneval import HumanEvalRewardFunction
from infinite_rl.reward_functions.program import ProgramRewardFunction
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


# --- tests for a runner
MOCHA = "describe('f', () => { it('doubles', () => { require('assert').equal(f(2), 4) }) })"
RUNNERS = [
    MOCHA,
    "const test = require('node:test'); test('f', () => { console.assert(f(2) === 4) })",
    "import { test, expect } from '@jest/globals'; test('f', () => expect(f(2)).toBe(4))",
    "test('f', () => { expect(f(2)).toBe(4) })",
    "expect(f(2)).toBe(4)",
    "test.each([[2, 4], [3, 6]])('f(%i)', async (x, y) => { expect(await f(x)).toBe(y) })",
    "it('waits', (done) => { setTimeout(() => { expect(f(2)).toEqual(4); done() }, 10) })",
    "const g = jest.fn(f); test('is called', () => { [2].map((x) => g(x)); "
    "expect(g).toHaveBeenCalledWith(2); expect(g.mock.results[0].value).toBe(4) })",
    "const { test, mock } = require('node:test'); test('f', async (t) => { "
    "await t.test('inner', () => { require('assert').equal(f(2), 4) }) })",
    "let x; beforeEach(() => { x = f(1) }); it('has a hook', () => { expect(x).toBe(2) })",
]


@pytest.mark.parametrize("test", RUNNERS)
def test_tests_for_a_runner_are_run(test: str) -> None:
    assert judge(DOUBLE["javascript"], {"tests": [test]}, "javascript").passed
    for code in ("function f(x) { return 3; }", "f(", "("):
        assert judge(code, {"tests": [test]}, "javascript").status == "failed"


def test_tests_for_a_runner_that_is_not_there_fail_no_program() -> None:
    for code in (DOUBLE["javascript"], "f("):
        score = judge(code, {"tests": ["require('ava')('f', (t) => t.is(f(2), 4))"]}, "javascript")
        assert score.status == "unscored" and "they are written for ava" in score.error_msg


# --- lists of tests, and tests without a fence
@tables
def test_a_list_of_tests_and_a_text_of_tests_are_tests(language: str, tests: Any) -> None:
    texts, count = [tests], 1
    if isinstance(tests, list):
        texts, count = [tests, json.dumps(tests)], len(tests)
    wrong = DOUBLE[language].replace("2 * x", "x ** 3 / 3")
    for answer in texts:
        score = judge(DOUBLE[language], answer, language)
        assert score.passed and score.details["tests"] == count
        assert judge(wrong, answer, language).status == "failed"
        assert judge("print('assert')", answer, language).status == "failed"


@tables
def test_any_other_list_or_text_is_printed(printed: Any) -> None:
    text = printed if isinstance(printed, str) else json.dumps(printed)
    for answer in (printed, text):
        assert judge(f"print({text!r})", answer).passed
        assert judge("print(0)", answer).status == "failed"


def test_an_empty_list_has_no_tests() -> None:
    for answer in ([], "[]", " [ ]\n"):
        score = judge("print([])", answer)
        assert score.status == "unscored" and "there are no tests" in score.error_msg
    assert judge("print([])", {"output": []}).passed


# --- the program as a module
@tables
def test_tests_in_one_text_are_one_test(language: str, text: str) -> None:
    wrong = DOUBLE[language].replace("2 * x", "x ** 3 / 3")
    for named in (language, None):
        right = judge(DOUBLE[language], {"tests": text}, named, language)
        assert right.passed and right.details["tests"] == 1
        assert judge(wrong, {"tests": text}, named, language).status == "failed"
        assert judge("", {"tests": text}, named, language).status == "failed"


@tables
def test_a_file_is_no_path_and_no_module_of_pythons_own(file: Any) -> None:
    reference = {"tests": ["assert f(2) == 4"], "file": file}
    assert judge(DOUBLE["python"], reference, "python").status == ("unscored" if file else "passed")


EXPORTS = ["", "module.exports = { f };", "exports.f = f;", "module.exports.f = f"]


@tables
@pytest.mark.parametrize("exports", EXPORTS)
def test_a_javascript_program_is_a_module_even_without_exports(test: str, exports: str) -> None:
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


# --- values of calls
RETURNED: list[tuple[str, Any]] = [
    *(("0.1 + 0.2", 0.3), ("3.0", 3), ("3", 3.0), ("[1, [2.0000000000000004]]", [1, [2]])),
    *(("1e999 - 1e999", float("nan")), ("1e999", float("inf"))),
    ('{"a": [0.1 + 0.2]}', {"a": [0.3]}),
]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_call_returns_is_compared_as_json(language: str) -> None:
    shape = {"python": "def f(): return {}", "javascript": "const f = () => ({})"}[language]
    for value, expected in RETURNED:
        for reference in (calls(expected), json.dumps(calls(expected))):
            assert judge(shape.replace("{}", value), reference, language).passed, value


@tables
def test_no_object_passes_for_another_value(language: str, value: str, expected: Any) -> None:
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


# --- a method as the entry
@tables
def test_nothing_else_is_an_entry_point(entry: str) -> None:
    with pytest.raises(BadReference):
        read_reference(calls(1, entry=entry))
    assert judge("x = 1", calls(1, entry="class().f"), "python").status == "unscored"


# --- a tolerance for what is printed
def printed(output: Any, tolerance: Any) -> dict[str, Any]:
    return {"cases": [{"output": output}], "tolerance": tolerance}


@tables
def test_printed_numbers_may_be_off_by_tolerance(text: str, output: str, tolerance: Any) -> None:
    assert judge(f'print("{text}")', printed(output, tolerance), "python").passed
    assert judge(f'console.log("{text}")', printed(output, tolerance), "javascript").passed
    whole = {"output": output, "compare": "tolerant", "tolerance": tolerance}
    assert judge(f'print("{text}")', whole, "python").passed


@tables
def test_no_more_is_forgiven_than_the_tolerance(text: str, output: str, tolerance: Any) -> None:
    assert judge(f'print("{text}")', printed(output, tolerance), "python").status == "failed"


def test_a_tolerance_is_a_number_that_means_something_and_goes_with_what_is_printed() -> None:
    wrong: list[Any] = [-1, float("nan"), float("inf"), True, "0.1", None, [], {}, 1, 10**400]
    for reference in (
        *(printed("1", tolerance) for tolerance in [*wrong, {"rel": 1}, {"relative": 1}]),
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
    "reward", [CodingRewardFunction, ProgramRewardFunction, HumanEvalRewardFunction]
)
def test_another_language_fails(fence: str, other: str, reward: type[CodingRewardFunction]) -> None:
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


@tables
def test_no_fence_is_a_way_out_of_tests_that_are_written_in_python(reference: Any) -> None:
    for fence in ("javascript", "js", "typescript", "ts", "java", "cpp", "bash"):
        for code in ("def f(x): return 3", "const f = x => 4", DOUBLE["python"]):
            assert judge(code, reference, fence=fence).status == "failed"
            assert judge(code, reference, "python", fence).status == "failed"


def test_nor_of_those_that_are_written_in_javascript() -> None:
    tests = {"tests": ["console.assert(f(2) === 4)"]}
    for reference in (tests, calls(4, entry="$f", args=[2])):
        for fence in ("python", "py", "java"):
            for language in (None, "javascript"):
                score = judge("def f(x): return 3", reference, language, fence)
                assert score.status == "failed"


def test_typescript_runs_where_nothing_says_another_language() -> None:
    right = "interface N { x: number }\nexport function f(x: number): number { return 2 * x; }"
    wrong = right.replace("2 *", "3 *")
    javascript = {"tests": ["console.assert(f(2) === 4)", "if (f(3) !== 6) throw new Error()"]}
    typed = {"tests": ["const y: number = f(2); console.assert(y === 4)"], "language": "typescript"}
    for fence in ("ts", "typescript", "TypeScript", "tsx"):
        for reference in (calls(4, args=[2]), javascript, typed):
            assert judge(right, reference, fence=fence).passed
            assert judge(right, reference, "typescript", fence).passed
            assert judge(wrong, reference, fence=fence).status == "failed"
        assert judge("const x: string = '1'; console.log(x)", "1", fence=fence).passed
        for language in LANGUAGES:
            score = judge(right, calls(4, args=[2]), language, fence)
            assert score.error_msg == f"the reference says {language}, and the fence typescript"
            assert score.status == "failed"
    for fence in ("js", "javascript"):  # which is TypeScript, too
        assert judge(DOUBLE["javascript"], typed, "typescript", fence).passed
        assert judge("const f = (x) => 3 * x", typed, "typescript", fence).status == "failed"


def test_code_that_is_no_typescript_fails_and_what_cannot_be_translated_is_unscored() -> None:
    broken = judge("function f(x: ): number { return 2 * x; }", calls(4, args=[2]), fence="ts")
    assert (broken.status, broken.format_score) == ("failed", 0.5)
    assert "SyntaxError: Unexpected token (1:15)" in broken.error_msg
    decorated = "function d(c: any) {}\n@d class A {}\nconst f = (x: number) => 2 * x;"
    for reference in (calls(4, args=[2]), {"tests": ["f(2)"]}, "4", {"cases": [{"output": "4"}]}):
        score = judge(decorated, reference, "typescript", "ts")
        assert score.status == "unscored"
        assert score.error_msg.endswith("TypeScript's decorators cannot be run")
    row = Sample("coding", "", "4", "", language="typescript")
    answers = [tagged(fenced(code, "ts")) for code in ("console.log(4 as any)", "console.log(5)")]
    assert [CodingRewardFunction().score(row, each).passed for each in answers] == [True, False]
    assert judge("print(4)", fenced("console.log(4 as any)", "ts")).passed


def test_many_are_judged_in_the_language_of_each_like_one() -> None:
    reward = CodingRewardFunction()
    answers = [tagged(fenced(DOUBLE[name], name)) for name in LANGUAGES]
    typescript = "const f = (x: any) => 2 * x"
    answers += [tagged(fenced(typescript, "ts")), tagged(fenced(DOUBLE["python"], "js"))]
    references = [calls(4, args=[2])] * 4
    one_by_one = [reward.compute_reward(answer, references[0]) for answer in answers]
    assert reward.compute_rewards(answers, references) == one_by_one
    assert [score.status for score in one_by_one] == ["passed"] * 3 + ["failed"]


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
def test_an_entry_point_may_be_a_method_of_solution(language: str) -> None:
    right = LEETCODE[language]
    row = Sample("coding", "", json.dumps(of_leetcode(language)[0]), "", language=language)
    assert CodingRewardFunction().passes(row, tagged(fenced(right, language)), likely=True)
    wrong = [right.replace(*pair) for pair in (("2 *", "3 *"), ("Solution", "Other"), ("f(", "g("))]
    for reference in of_leetcode(language):
        for stated in (language, None):
            assert judge(right, reference, stated, language).passed
            for code in wrong:
                assert judge(code, reference, stated, language).status == "failed"


@tables
def test_a_function_of_that_name_counts_before_a_method(language: str, top: str) -> None:
    for reference in of_leetcode(language):
        for code in (f"{LEETCODE[language]}\n{top}", f"{top}\n{LEETCODE[language]}"):
            assert judge(code, reference, language).status == "failed"
