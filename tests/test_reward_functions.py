"""The rewards as users call them, and the parser: a smoke suite for an installation.

It needs only the standard library's unittest: `python -m unittest discover tests`.
"""

import json
import subprocess
import sys
import unittest
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any, NamedTuple

from infinite_rl.errors import UsageError
from infinite_rl.layout import MAX_COMPLETION, fenced, render, tagged
from infinite_rl.parsing.sections import ExampleParser
from infinite_rl.reward_functions import REWARDS, RewardFunction, get_reward_functions
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.sandbox.runtimes import is_installed, runtime_named
from infinite_rl.types import RewardFunctionScore, Sample

REWARD = get_reward_functions(timeout=5)

CHECKED = "def check(candidate):\n    assert candidate(2) == 4\n"


def doubling(factor: int) -> str:
    return fenced(f"def f(n):\n    return {factor} * n\n\nprint(f(2))", "python")


class Case(NamedTuple):
    """A reward's name, a reference, an answer that is right and one that is wrong."""

    name: str
    gold: Any
    right: str
    wrong: str

    @property
    def reward(self) -> Any:
        return REWARD[self.name]

    def score(self, content: str) -> RewardFunctionScore:
        return score(self.name, content, self.gold)


QUOTED = json.dumps([{"instruction_id": "startend:quotation", "kwargs": {}}])
SHOP = {
    "query": "SELECT 12",
    "database": {"schema": "CREATE TABLE item(price)", "rows": {"item": [[5], [7]]}},
}
TESTS = {"tests": ["assert f(2) == 4"]}
CASES = [
    Case("coding", "42", fenced("print(6 * 7)", "python"), fenced("print(41)", "python")),
    Case("instruction", QUOTED, '"Hello."', "Hello."),
    Case("logic", {"variables": {"a": [1, 2]}, "constraints": ["a > 1"]}, "a: 2", "a: 1"),
    Case("math", "(x+1)^2", "x^2 + 2x + 1", "x^2 + 2x"),
    Case("gsm8k", "so 1,200\n#### 1,200", "$1200", "1,201"),
    Case("program", TESTS, doubling(2), doubling(3)),
    Case("humaneval", {"tests": [CHECKED], "entry_point": "f"}, doubling(2), doubling(3)),
]
if is_installed(runtime_named("sql")):  # optional
    CASES.append(Case("sql", SHOP, "SELECT SUM(price) FROM item", "SELECT MAX(price) FROM item"))
if find_spec("reasoning_gym"):  # an extra
    ENTRY = {"question": "2 + 2?", "answer": "4", "metadata": {}}
    PUZZLE = {"task": "chain_sum", "config": {}, "entry": ENTRY}
    CASES.append(Case("reasoning_gym", PUZZLE, "4", "5"))
WHOLE_TEXT = ("instruction", "program", "humaneval")  # judge the whole text where there is no tag


def score(name: str, content: str, expected: Any, **options: Any) -> RewardFunctionScore:
    return REWARD[name].compute_reward(tagged(content), expected, **options)


def of_each(test: Callable[[Any, Case], None]) -> Callable[[unittest.TestCase], None]:
    """A test of every reward."""

    def of_all(self: unittest.TestCase) -> None:
        for case in CASES:
            with self.subTest(case.name):
                test(self, case)

    return of_all


class EveryReward(unittest.TestCase):
    """What holds for each row of the table."""

    def test_there_is_a_sample_for_every_reward(self) -> None:
        others = {"reasoning_gym", "sql", "mbpp"}
        self.assertEqual({case.name for case in CASES} | others, REWARDS.keys())
        self.assertEqual(REWARD.keys(), REWARDS.keys())

    def test_rows_with_the_earlier_name_of_the_program_reward_are_judged_alike(self) -> None:
        for answer in (doubling(2), doubling(3)):
            self.assertEqual(score("mbpp", answer, TESTS), score("program", answer, TESTS))

    @of_each
    def test_each_can_be_made_without_arguments(self, case: Case) -> None:
        made = type(case.reward)()
        self.assertEqual((made.task_name, made.timeout), (case.name, 5))

    @of_each
    def test_a_completion_of_more_than_a_million_characters_fails_unread(self, case: Case) -> None:
        at_limit = "." * (MAX_COMPLETION - len(tagged(case.right)) - 1) + "\n" + tagged(case.right)
        reward = type(case.reward)()
        self.assertNotIn("characters", reward.compute_reward(at_limit, case.gold).error_msg)
        beyond = reward.compute_reward("." + at_limit, case.gold)
        self.assertEqual((beyond.status, beyond.format_score), ("failed", 0.0))
        self.assertEqual(beyond.error_msg, "a text of more than 1000000 characters")

    @of_each
    def test_signals_are_switched_on_by_name(self, case: Case) -> None:
        shaped = type(case.reward)(shaping={"repetition": 0.5})
        given = shaped.compute_reward(tagged(case.right), case.gold)
        self.assertTrue(given.passed)
        self.assertAlmostEqual(given.aux_score, 0.5 * given.details["aux"]["repetition"])
        self.assertGreater(given.aux_score, 0.0)

    @of_each
    def test_a_right_answer_gets_full_marks(self, case: Case) -> None:
        given = case.score(case.right)
        self.assertEqual((given.format_score, given.correctness_score), (1.0, 1.0))
        self.assertEqual((given.status, given.error_msg, given.aux_score), ("passed", "", 0.0))
        row = Sample(case.name, "A task.", case.gold, tagged(case.right))
        self.assertTrue(case.reward.score(row, row.response).passed)

    @of_each
    def test_a_wrong_answer_fails_and_says_why(self, case: Case) -> None:
        given = case.score(case.wrong)
        self.assertEqual((given.format_score, given.status), (1.0, "failed"))
        self.assertLess(given.correctness_score, 0.95)
        self.assertTrue(given.error_msg)

    @of_each
    def test_the_arguments_can_be_named_and_the_tag_chosen(self, case: Case) -> None:
        given = case.reward.compute_reward(
            model_output=tagged(case.right, "final"), expected_output=case.gold, answer_tag="final"
        )
        self.assertTrue(given.passed)

    @of_each
    def test_without_a_tag_nothing_is_right_but_in_a_whole_text(self, case: Case) -> None:
        given, whole = case.reward.compute_reward(case.right, case.gold), case.name in WHOLE_TEXT
        self.assertEqual((given.format_score, given.passed), (float(whole), whole))

    @of_each
    def test_a_predicate_may_stand_for_the_expected_output(self, case: Case) -> None:
        self.assertTrue(score(case.name, case.right, lambda text: bool(text)).passed)
        self.assertEqual(score(case.name, case.right, lambda _: False).status, "failed")
        self.assertEqual(score(case.name, case.right, lambda _: 1 / 0).status, "unscored")

    @of_each
    def test_a_reference_that_is_none_cannot_be_judged(self, case: Case) -> None:
        given = score(case.name, case.right, None)
        self.assertEqual((given.status, given.correctness_score), ("unscored", 0.0))
        self.assertTrue(given.error_msg)
        deep: list[Any] = []
        for _ in range(3000):
            deep = [deep]
        huge = 10**5000
        references = [deep, huge, {"instruction_id": deep}, lambda _: deep, lambda _: huge]
        references += [{"task": deep, "config": {}, "entry": {}}, {"output": deep, "compare": huge}]
        statuses = [score(case.name, case.right, reference).status for reference in references]
        self.assertNotIn("passed", statuses)

    @of_each
    def test_whatever_a_model_writes_is_scored(self, case: Case) -> None:
        nothing: list[Any] = [None, 123, b"bytes", ["list"], ""]
        hostile = ["\x00", "\ud800", "<answer>", "</answer>", "<answer></answer>"]
        hostile.append("<answer>" * 1_000)
        contents = ["__import__('os').system('true')", "9" * 10_000, "(" * 10_000]
        contents += ["9^9^9^9^9", "passed", "```"]
        for text in (*nothing, *hostile, *map(tagged, contents)):
            with self.subTest(text=str(text)[:40].encode("ascii", "replace")):
                given = case.reward.compute_reward(text, case.gold)
                self.assertEqual(given.status, "failed")
                if text in nothing:
                    self.assertEqual(given.format_score, 0.0)

    @of_each
    def test_threads_share_one_reward(self, case: Case) -> None:
        with ThreadPoolExecutor(4) as pool:
            given = list(pool.map(case.score, [case.right, case.wrong] * 8))
        self.assertEqual([each.passed for each in given], [True, False] * 8)


class Coding(unittest.TestCase):
    def test_output_is_compared_on_a_ladder(self) -> None:
        ladder: dict[str, tuple[Any, float]] = {
            "print('Hello')": ("HELLO", 1.0),
            'print(\'{"b": 2, "a": 1}\')': ('{"a": 1, "b": 2}', 1.0),
            "print(1.0)": (1, 1.0),
            "print('1.000000000001')": ("1", 0.99),
            "print('a  b')": ("a b", 0.95),
            "print('Result: 10')": ("Result: 12", 0.9),
            "print(41)": ("42", 0.5),
        }
        for code, (expected, correctness) in ladder.items():
            with self.subTest(code):
                given = score("coding", fenced(code, "python"), expected)
                self.assertEqual(given.correctness_score, correctness)
                self.assertEqual(given.passed, correctness >= 0.95)

    def test_the_format_has_degrees(self) -> None:
        code = "print(40 + 2)"
        degrees = {tagged(fenced(code, "python")): 1.0, tagged(code): 0.5, code: 0.0}
        degrees |= {tagged(f"```python\n{code}"): 0.3, tagged("```python\nx"): 0.2}
        for text, format_score in degrees.items():
            with self.subTest(text):
                given = REWARD["coding"].compute_reward(text, "42")
                self.assertEqual(given.format_score, format_score)
                self.assertEqual(given.passed, format_score >= 0.3)

    def test_tests_checks_and_cases_are_run(self) -> None:
        code, check = fenced("def f(x):\n    return x * x", "python"), CHECKED.replace("2", "-2")
        references: list[Any] = [TESTS, json.dumps(TESTS), {"tests": check, "entry_point": "f"}]
        for reference in references:
            self.assertTrue(score("coding", code, reference).passed, reference)
        cases = {"cases": [{"input": "3", "output": "9"}]}
        self.assertTrue(score("coding", fenced("print(int(input())**2)", "python"), cases).passed)
        self.assertEqual(score("coding", "f = abs", {"tests": []}).status, "unscored")

    def test_an_early_exit_is_not_a_pass(self) -> None:
        for code in ("import sys; sys.exit(0)", "import os; os._exit(0)", "print('passed')"):
            with self.subTest(code):
                self.assertEqual(score("coding", fenced(code, "python"), TESTS).status, "failed")

    def test_javascript_is_a_language_of_the_call_or_of_the_object(self) -> None:
        code = fenced("console.log([1, 2].map(x => x * 21)[1])", "javascript")
        self.assertTrue(score("coding", code, 42, language="javascript").passed)
        reward = CodingRewardFunction()
        reward.set_language("javascript")
        self.assertTrue(reward.compute_reward(tagged(code), 42).passed)
        with self.assertRaises(ValueError):
            reward.set_language("ruby")


class Math(unittest.TestCase):
    def test_forms_of_one_value_are_equal_and_other_values_are_not(self) -> None:
        equal = [("1/2", "0.5"), (r"\frac{1}{2}", "1/2"), ("x = 5", "5"), ("$5", 5)]
        others = [("3x", "3y"), ("2 or 3", "2"), ("5-", "5"), ("ten hours", "11")]
        for answer, gold in equal + others:
            with self.subTest(answer=answer, gold=gold):
                passed = score("math", answer, gold).passed
                self.assertEqual(passed, (answer, gold) in equal)


class Table(unittest.TestCase):
    def test_a_reward_of_ones_own_is_added_or_replaces_one(self) -> None:
        class Polite(RewardFunction):
            def compute_reward(
                self, model_output: str, expected_output: Any, answer_tag: str = "answer"
            ) -> RewardFunctionScore:
                del expected_output, answer_tag
                polite = float("please" in model_output)
                return self.shaped(RewardFunctionScore(1.0, polite), model_output)

        polite = Polite("polite")
        rewards = get_reward_functions(extra={"polite": polite, "math": polite})
        self.assertEqual(set(rewards), {*REWARDS, "polite"})
        self.assertIs(rewards["math"], polite)
        self.assertEqual(polite.compute_reward("please", "").correctness_score, 1.0)

    def test_what_is_no_reward_is_refused(self) -> None:
        wrong: list[Any] = [{"mine": len}, {"mine": CodingRewardFunction}, {"": None}, {3: None}]
        for extra in wrong:
            with self.subTest(extra=extra), self.assertRaises(UsageError):
                get_reward_functions(extra=extra)

    def test_a_timeout_that_is_none_is_refused(self) -> None:
        timeouts: list[Any] = [0, -1, float("nan"), "5", None]
        for timeout in timeouts:
            with self.subTest(timeout=timeout), self.assertRaises(UsageError):
                get_reward_functions(timeout=timeout)

    def test_importing_the_package_loads_no_reward_and_no_engine(self) -> None:
        heavy = ["wasmtime", "mpmath", "sympy", "py3langid", "pandas", "torch"]
        heavy.append("infinite_rl.sandbox.executor")
        code = (
            "import sys, infinite_rl.reward_functions as r; r.get_reward_functions; "
            f"print([name for name in {heavy!r} if name in sys.modules])"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
        self.assertEqual(run.stdout.strip(), "[]", run.stderr)


class Parser(unittest.TestCase):
    def test_a_sample_comes_back_as_it_was_written(self) -> None:
        parts = {"prompt": "Print 42.", "answer": "42", "response": tagged("print(42)")}
        self.assertEqual(dict(ExampleParser.parse_text(render(**parts))), parts)

    def test_headings_may_be_markdown_and_parts_may_be_missing(self) -> None:
        parsed = ExampleParser.parse_text("## Question\nWhat is 6 x 7?\n\n## Answer\n42\n")
        self.assertEqual((parsed["prompt"], parsed["answer"]), ("What is 6 x 7?", "42"))
        self.assertEqual(set(dict(ExampleParser.parse_text("")).values()), {""})

    def test_the_content_of_tags_is_found(self) -> None:
        self.assertEqual(ExampleParser.extract_answer_tags("<answer> 42 </answer>"), ["42"])
        self.assertEqual(ExampleParser.extract_answer_tags("no tag"), [])

    def test_what_was_parsed_can_be_scored(self) -> None:
        text = render("Print 42.", "42", tagged(fenced("print(42)", "python")))
        parsed = ExampleParser.parse_text(text)
        given = REWARD["coding"].compute_reward(parsed["response"], parsed["answer"])
        self.assertTrue(given.passed)


if __name__ == "__main__":
    unittest.main()
