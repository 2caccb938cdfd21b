"""Stronger tests: wrong programs fail, right ones pass, and no input is one that nobody meant."""

import ast
import json
from typing import Any

import pytest

from infinite_rl.layout import fenced, tagged
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.reward_functions.coding.reference import read_reference
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.types import Sample
from infinite_rl.verification.aids import Aids
from infinite_rl.verification.distances import FAR, NEAR, OTHER, SHOWN, distance_of
from infinite_rl.verification.forms import form_of
from infinite_rl.verification.inputs import CallInput
from infinite_rl.verification.proposals import Proposals
from infinite_rl.verification.search import SearchLimits
from infinite_rl.verification.strengthen import Strengthened, strengthen
from infinite_rl.verification.trials import Trials
from infinite_rl.verification.variations import variations

REWARD = CodingRewardFunction()
SMALL = SearchLimits(mutants=40, pairs=0, inputs=200)
COUNT = "def count(items, limit):\n    return len([each for each in items if each < limit])\n"
COUNT_TESTS = ["assert count([1, 5, 9], 4) == 1", "assert count([7, 2], 8) == 2"]


def row(code: str, answer: object, language: str = "python", prompt: str = "Do it.") -> Sample:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return Sample("coding", prompt, text, response(code, language), language)


def response(code: str, language: str = "python") -> str:
    return tagged(f"\n{fenced(code, language)}\n")


def accepts(sample: Sample, answer: str, code: str) -> bool:
    score = REWARD.compute_reward(response(code, sample.language), answer, language=sample.language)
    return score.passed


def new_tests(result: Strengthened) -> list[str]:
    tests: list[str] = json.loads(result.answer)["tests"]
    return tests[len(tests) - result.added :]


def calls(result: Strengthened) -> list[list[Any]]:
    """The arguments of the new tests' calls."""
    trees = [ast.parse(test) for test in new_tests(result)]
    nodes = [next(n for n in ast.walk(tree) if isinstance(n, ast.Call)) for tree in trees]
    return [[ast.literal_eval(each) for each in node.args] for node in nodes]


@pytest.mark.core
def test_a_wrong_program_that_the_old_tests_accept_fails_the_new_ones() -> None:
    sample = row(COUNT, {"tests": COUNT_TESTS})
    wrong = COUNT.replace("<", "<=")
    assert accepts(sample, sample.answer, wrong)
    result = strengthen(sample, REWARD, SMALL)
    assert not accepts(sample, result.answer, wrong)
    assert accepts(sample, result.answer, COUNT)
    assert result.killed == result.killable > result.killed_before
    assert json.loads(result.answer)["tests"][:2] == COUNT_TESTS
    assert any("<=" in each.code and each.test in new_tests(result) for each in result.survivors)
    assert strengthen(sample, REWARD, SMALL) == result


@pytest.mark.parametrize(
    ("language", "code", "wrong", "answer"),
    [
        (
            "python",
            "n = int(input())\nprint(sum(x for x in map(int, input().split()) if x < 7))",
            "n = int(input())\nprint(sum(x for x in map(int, input().split()) if x <= 7))",
            {"cases": [{"input": f"{n}\n{x}\n", "output": y} for n, x, y in
                       [(3, "1 5 9", 6), (2, "8 6", 6)]]},
        ),
        (
            "javascript",
            "const f = (a, k) => a.filter(x => x < k).length;",
            "const f = (a, k) => a.filter(x => x <= k).length;",
            {"entry_point": "f", "cases": [{"args": [[1, 5, 9], 4], "output": 1}]},
        ),
        (
            "javascript",
            "const f = (a, k) => a.filter(x => x < k);",
            "const f = (a, k) => a.filter(x => x <= k);",
            "console.assert(f([1, 5], 4)[0] === 1)\nconsole.assert(f([4, 2], 3).length === 1)",
        ),
        (
            "python",
            "def f(a, k):\n    return {x for x in a if x < k}",
            "def f(a, k):\n    return {x for x in a if x <= k}",
            "assert set(f([1, 5, 9], 4)) == set([1])\nassert set(f([7, 2], 8)) == {2, 7}\n",
        ),
        (
            "python",
            "def f(a, k):\n    return sum(x / 3 for x in a if x < k)",
            "def f(a, k):\n    return sum(x / 3 for x in a if x <= k)",
            {
                "tests": ["def check(candidate):\n    assert abs(candidate([1], 4) - 1/3) < 1e-3"],
                "entry_point": "f",
            },
        ),
    ],
)  # fmt: skip
def test_each_form_of_tests_gets_tests_of_its_own_form(
    language: str, code: str, wrong: str, answer: object
) -> None:
    sample = row(code, answer, language)
    assert accepts(sample, sample.answer, code) and accepts(sample, sample.answer, wrong)
    result = strengthen(sample, REWARD, SMALL)
    assert result.added and accepts(sample, result.answer, code)
    assert not accepts(sample, result.answer, wrong)


def test_a_test_compares_no_more_than_the_rows_own_tests() -> None:
    """The order of a set, and the rounding of floats, are no business of a new test."""
    sample = row(
        "def f(a):\n    return list(dict.fromkeys(a))",
        "assert set(f([1, 2, 2])) == {1, 2}\nassert set(f([3, 1, 5])) == {1, 3, 5}",
    )
    result = strengthen(sample, REWARD, SMALL)
    assert result.added and accepts(sample, result.answer, "def f(a):\n    return sorted(set(a))")
    sample = row("def f(a):\n    return sum(a) / 3", "assert f([1, 2]) == 1\nassert f([3]) == 1")
    result = strengthen(sample, REWARD, SMALL)
    assert result.added
    assert accepts(sample, result.answer, "def f(a):\n    return sum(x * (1 / 3) for x in a)")


def test_inputs_are_like_those_of_the_tests() -> None:
    code = "def f(items, n):\n    return sum(items[:n]) + len(set(items))\n"
    sample = row(code, {"tests": ["assert f([2, 4, 7], 3) == 16", "assert f([1, 9], 2) == 12"]})
    result = strengthen(sample, REWARD, SMALL)
    assert result.added
    for items, n in calls(result):
        assert n == len(items) > 0 and items == sorted({*items}) and min(items) > 0


def test_a_value_of_a_kind_that_no_test_shows_is_not_stated() -> None:
    code = "def f(word):\n    return word.upper() if len(word) < 6 else 122\n"
    sample = row(code, {"tests": ["assert f('abc') == 'ABC'", "assert f('defgh') == 'DEFGH'"]})
    result = strengthen(sample, REWARD, SMALL)
    assert result.added and not any("122" in test for test in new_tests(result))
    assert result.far  # it says that a mutant needs such an input


@pytest.mark.parametrize(
    ("code", "answer", "why"),
    [
        (COUNT, {"tests": ["assert count([1], 1) == 1"]}, "its own program fails its tests"),
        ("def f(a):\n    return a", {"tests": ["import random\nassert f(random)"]}, "no test"),
        ("def f(a):\n    return object()", {"tests": ["assert f(1)"]}, "no plain values"),
        ("print(4)", {"output": "4"}, "no test"),
    ],
)
def test_a_row_that_has_no_room_for_tests_is_left_alone(
    code: str, answer: object, why: str
) -> None:
    sample = row(code, answer)
    result = strengthen(sample, REWARD, SMALL)
    assert why in result.why and result.answer == sample.answer and not result.added
    assert result.gold_fails == ("own program" in why)


def test_a_program_of_chance_or_state_gets_no_tests() -> None:
    for body in (
        "import random\n    return a + random.random()",
        "SEEN.append(a)\n    return SEEN",
    ):
        sample = row(f"SEEN = []\ndef f(a):\n    {body}\n", {"tests": ["assert f(1)"]})
        assert not strengthen(sample, REWARD, SMALL).added


def test_an_authors_programs_decide_on_inputs() -> None:
    code = "def f(a):\n    return max(a) if min(a) > -3 else min(a)\n"
    sample = row(code, {"tests": ["assert f([3, 1]) == 3", "assert f([1, 2, 2]) == 2"]})
    aids = Aids(
        seconds=["def f(a):\n    return sorted(a)[0 if min(a) < -2 else -1] if a[0] > -7 else 0\n"],
        generator="def generate(seed):\n    return [[seed - 10, -(seed % 5)]]\n",
        validator="def is_valid(a):\n    return all(-9 <= each < 9 for each in a)\n",
    )
    result = strengthen(sample, REWARD, SMALL, aids)
    arguments = [items for [items] in calls(result)]
    assert all(-9 <= each < 9 for items in arguments for each in items)
    assert any(each < 0 for items in arguments for each in items)
    assert result.disagreements and not any(items[0] <= -7 for items in arguments)
    assert result.validated


@pytest.mark.parametrize("condition", ["True", "max(a) > 3", "1 / 0", "a.pop() and False"])
def test_a_validator_that_tells_nothing_apart_is_not_asked(condition: str) -> None:
    code = "def f(a):\n    return max(a) if min(a) > 3 else min(a)\n"
    sample = row(code, {"tests": ["assert f([3, 1]) == 1", "assert f([1, 2, 2]) == 1"]})
    aids = Aids(validator=f"def is_valid(a):\n    return {condition}\n")
    result = strengthen(sample, REWARD, SMALL, aids)
    assert result.answer == strengthen(sample, REWARD, SMALL).answer and not result.validated


def test_kinds_of_input_that_no_test_shows_need_a_validator_and_a_vote() -> None:
    code = "def f(a):\n    return max(a)\n"
    sample = row(code, {"tests": ["assert f([3, 1]) == 3", "assert f([1, 4, 2]) == 4"]})
    second = "def f(a):\n    return sorted(a)[-1]\n"
    validator = "def is_valid(a):\n    return len(a) > 0 and all(abs(x) < 99 for x in a)\n"
    both = calls(strengthen(sample, REWARD, SMALL, Aids([second], validator=validator)))
    assert all(items and all(abs(each) < 99 for each in items) for [items] in both)
    for holds in (
        lambda items: max(items) < 0,
        lambda items: {*items} == {0},
        lambda items: len(items) == 1,
        lambda items: len(items) > 9,
        lambda items: len(items) > 2 and items == sorted(items, reverse=True),
    ):
        assert any(holds(items) for [items] in both)
    for aids in (Aids([second]), Aids(validator=validator)):
        alone = calls(strengthen(sample, REWARD, SMALL, aids))
        assert not any(len(items) > 9 for [items] in alone)


@pytest.mark.parametrize("value", [3, -2.5, "ab", "", [], [[1, "a"], [2, "b"]], {"k": [1]}, (1, 2)])
def test_a_variation_has_the_type_of_the_value(value: Any) -> None:
    others = list(variations(value))
    assert len({kind for kind, _ in others}) >= 1
    assert all(type(other) is type(value) for _, other in others)


def test_most_of_the_other_solutions_decide_on_an_input() -> None:
    code = "def f(a):\n    return max(a)\n"
    sample = row(code, {"tests": ["assert f([3, 1]) == 3", "assert f([4, 2, 3]) == 4"]})
    same, other = code, "def f(a):\n    return a[0]\n"
    none = "def f(a):\n    return {(3, 1): 3, (4, 2, 3): 4}[tuple(a)]\n"
    wrong = "def f(a):\n    return 0\n"  # fails the row's own tests
    assert strengthen(sample, REWARD, SMALL, Aids([same, same, other])).added
    assert not strengthen(sample, REWARD, SMALL, Aids([same, same, other])).disagreements
    disputed = strengthen(sample, REWARD, SMALL, Aids([same, other, other])).disagreements
    assert any("f([" in each for each in disputed)
    assert not strengthen(sample, REWARD, SMALL, Aids([none])).added
    assert strengthen(sample, REWARD, SMALL, Aids([wrong])).added


@pytest.mark.parametrize(
    "code",
    [
        "def f(a):\n    while a > 3: pass\n    return a\n",
        "def f(a):\n    if a > 3: raise SystemExit(0)\n    return a\n",
        "def f(a):\n    print('x' * 10 ** 6)\n    return a\n",
        "def f(a):\n    return 'x' * 10 ** 7 if a > 3 else a\n",
        "import sys\nsys.stdout = None\ndef f(a):\n    return a\n",
    ],
)
def test_a_hostile_program_is_no_trouble(code: str) -> None:
    sample = row(code, {"tests": ["assert f(1) == 1", "assert f(3) == 3"]})
    result = strengthen(sample, REWARD, SMALL)
    assert accepts(sample, result.answer, "def f(a):\n    return a\n")


# --- distances -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "shown", "distance"),
    [
        *((5, [3, 8], SHOWN), (9, [3, 8], NEAR), (1, [3, 8], NEAR), (0, [3, 8], FAR)),
        *((-1, [3, 8], FAR), (99, [3, 8], FAR), (0, [-3, 8], FAR), (-4, [-3, 8], NEAR)),
        *((True, [3, 8], OTHER), (3.0, [3, 8], OTHER), (None, [3], OTHER), ([], [[1]], FAR)),
        *(([3, 2], [[1, 2, 3]], FAR), ([2, 3], [[3, 1]], SHOWN), ([2, 2], [[3, 1]], FAR)),
        *(([2, 2, 1], [[3, 3, 1]], SHOWN), ([["a", 1]], [[["b", 2]]], FAR)),
        *(("cab", ["abc"], SHOWN), ("x", ["abcd"], NEAR), ("é", ["abcd"], FAR)),
        *(("10", ["0110"], FAR), ("01", ["0110", "10"], SHOWN), ("2", ["0110", "10"], FAR)),
        *((" a", ["ab cd"], FAR), ("", ["ab"], FAR), ("2020-1", ["2021-12", "2020-02"], FAR)),
        *(
            ("2020-11", ["2021-12", "2020-02"], SHOWN),
            ("4 5 6 7", ["4 5", "6 7 8"], NEAR),
            ("ab cd ef", ["ab cd", "ef ab"], NEAR),
        ),
        *(("2020", ["2021-12", "2020-02"], FAR), (("a", 1), [("b", 2), ("c", 3)], FAR)),
        *((("b", 4), [("b", 2), ("c", 3)], NEAR), ({"a": 1}, [{"a": 1, "b": 2}], NEAR)),
    ],
)
def test_the_distance_of_a_value(value: Any, shown: list[Any], distance: int) -> None:
    assert distance_of(value, shown) == distance


def test_relations_between_parameters_hold_in_near_calls() -> None:
    shown = [
        CallInput("f", ([4, 4, 1], 2, "ab", "b"), {}),
        CallInput("f", ([1, 1], 1, "cb", "c"), {}),
    ]
    proposals = Proposals(shown, "def f(): pass", "python", "", "seed")
    assert proposals.distance(CallInput("f", ([4, 1, 1], 2, "ac", "c"), {})) <= NEAR
    assert proposals.distance(CallInput("f", ([4], 2, "ab", "b"), {})) == FAR
    assert proposals.distance(CallInput("f", ([4, 4, 1], 2, "ab", "c"), {})) == FAR


@pytest.mark.parametrize(
    "value", [[1, [2, "a"], "b"], [], {}, {"a": [1]}, [[]], ("a", None), 1.5, ""]
)
def test_any_value_has_others_near_it_or_none(value: Any) -> None:
    calls = [CallInput("f", (value, 3), {})]
    proposals = Proposals(calls, "x = 1", "python", "", "seed")
    for point, distance in proposals.next(50, FAR):
        assert isinstance(point, CallInput) and proposals.distance(point) == distance <= FAR
        assert type(point.args[0]) is type(value)


def test_either_of_two_numbers_that_are_called_alike_may_be_the_larger() -> None:
    shown = [CallInput("f", (1, 5, 9), {}), CallInput("f", (2, 3, 4), {})]
    for code, distance in (
        ("def f(a, b, c): pass", NEAR),
        ("def f(num1: int, num2: int, num3=1): pass", NEAR),
        ("const f = (x, y, z) => x;", NEAR),
        ("def f(low, middle, high): pass", FAR),
        ("def f(n, k, r): pass", FAR),
    ):
        proposals = Proposals(shown, code, "python", "", "seed")
        assert proposals.distance(CallInput("f", (2, 1, 5), {})) == distance


def test_what_the_prompt_names_counts_as_shown() -> None:
    shown = [CallInput("f", ([4, 2],), {})]
    for prompt, value, distance in (
        ("", [], FAR),
        ("of a list that may be empty", [], NEAR),
        ("of a non-empty list", [], FAR),
        ("of numbers, maybe negative", [-3], NEAR),
        ("of non-negative numbers", [-3], FAR),
        ("without duplicates", [2, 2], SHOWN),
    ):
        proposals = Proposals(shown, "", "python", prompt, "seed")
        assert proposals.distance(CallInput("f", (value,), {})) == distance


def test_nested_values_that_a_search_moves_are_no_trouble() -> None:
    code = (
        "def f(a):\n    if not isinstance(a, dict): return 0\n"
        "    return 1 + max(map(f, a.values()), default=0)\n"
    )
    tests = [
        "assert f({'a': 1, 'b': {'c': {'d': {}}}}) == 4",
        "assert f({'a': 1, 'b': {'c': 'p'}}) == 2",
    ]
    for seed in range(3):
        limits = SearchLimits(mutants=20, pairs=0, inputs=200, seed=str(seed))
        assert strengthen(row(code, {"tests": tests}), REWARD, limits).killable


@pytest.mark.parametrize(
    ("language", "code", "test"),
    [
        (
            "python",
            "def f(n):\n    while n == 3:\n        pass\n    return n",
            "assert f({0}) == {0}",
        ),
        (
            "javascript",
            "function f(n) { while (n === 3); return n; }",
            "require('assert').deepStrictEqual(f({0}), {0})",
        ),
    ],
)
def test_an_input_that_never_ends_costs_no_others(language: str, code: str, test: str) -> None:
    reference = read_reference({"tests": [test.format(n) for n in range(1, 3)]})
    form = form_of(reference, code, language)
    assert form
    trials = Trials(RewardExecutor(), form)
    assert trials.calibrate(code) == [1, 2]
    points = [CallInput("f", (n,), {}) for n in range(6)]
    values = [form.value(text) if text else None for text in trials.values(code, points)]
    assert values == [0, 1, 2, None, 4, 5]
    zero = trials.values(code, points)[0]
    checks = [check for point in points if (check := form.check(point, zero))]
    assert trials.passed(code, checks) == [True, False, False, False, False, False]
    ended = trials.exhausted
    assert not all(trials.outcomes(code, checks, until_killed=True))
    assert trials.exhausted <= ended + 1
