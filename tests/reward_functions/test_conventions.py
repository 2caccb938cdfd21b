"""The rewards of benchmarks: gsm8k, mbpp and humaneval read answers as these are given."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from infinite_rl.dataset.ground_truth import pack, score, unpack
from infinite_rl.dataset.loaders import load
from infinite_rl.dataset.rows import Row, sample_of
from infinite_rl.errors import UsageError
from infinite_rl.reward_functions import get_reward_functions
from infinite_rl.reward_functions.gsm8k import Gsm8kRewardFunction
from infinite_rl.types import RewardFunctionScore
from tests.support.labelled import Tables, assert_none

tables = Tables(__file__)

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
REWARDS = get_reward_functions(timeout=20)


# gsm8k.
def gsm8k(output: str, gold: Any = "18", **options: Any) -> RewardFunctionScore:
    reward = Gsm8kRewardFunction(**options) if options else REWARDS["gsm8k"]
    return reward.compute_reward(output, gold)


@tables
def test_gsm8k_finds_the_number_where_it_is_stated(output: str) -> None:
    found = gsm8k(output)
    assert (found.status, found.format_score, found.correctness_score) == ("passed", 1.0, 1.0)


@tables
def test_gsm8k_fails_what_does_not_state_it(output: str, reason: str) -> None:
    found = gsm8k(output)
    assert found.status == "failed" and found.correctness_score == 0 and reason in found.error_msg


@tables
def test_the_gold_may_have_commas_and_its_solution(gold: Any) -> None:
    for output in ("#### 1,200", "#### 1200", "The answer is $1,200.00."):
        assert gsm8k(output, gold).passed
    assert not gsm8k("#### 1", gold).passed and not gsm8k("#### 200", gold).passed


@tables
def test_where_the_number_is_looked_for_can_be_said(place: str, number: int) -> None:
    output = "<answer>1</answer>\n#### 2\n\\boxed{3}\nThe answer is 4.\n5"
    passed = [each for each in range(1, 6) if gsm8k(output, each, extract=place).passed]
    assert passed == [number]
    assert gsm8k("five", 5, extract=place).format_score == 0


def test_another_place_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="extract must be one of any, tag, hash, box"):
        Gsm8kRewardFunction(extract="first_number")  # type: ignore[arg-type]


def test_the_format_of_several_or_damaged_tags_is_worth_less() -> None:
    for output in ("<answer>18</answer><answer>18</answer>", "<answer>18"):
        assert (gsm8k(output).format_score, gsm8k(output).passed) == (0.4, True)


@tables
def test_a_long_hostile_text_is_read_in_one_pass(piece: str) -> None:
    assert not gsm8k("#### 17 " + piece * (200_000 // len(piece))).passed
    assert not gsm8k(piece * 100_000 + "x" * 1_000_000).passed
    for mark in (
        "{}",
        "#### {}",
        "#### {}\nx",
        "<answer>{}</answer>",
        "The answer is {}",
        "\\boxed{{{}}}",
    ):
        text = mark.format(piece * (200_000 // len(piece)))
        assert not gsm8k(text).passed
        assert not REWARDS["math"].compute_reward(text, "18").passed


# program.
MBPP = json.dumps({"tests": ["assert add(1, 2) == 3", "assert add(2, 2) == 4"]})
ADD = "def add(a, b):\n    return a + b\n"


@tables
def test_program_takes_the_code(output: str) -> None:
    found = REWARDS["program"].compute_reward(output, MBPP)
    assert (found.status, found.format_score, found.correctness_score) == ("passed", 1.0, 1.0)


@tables
def test_program_fails_what_is_no_answer(output: str, scores: tuple[float, float]) -> None:
    found = REWARDS["program"].compute_reward(output, MBPP)
    assert found.status == "failed"
    assert (found.format_score, found.correctness_score) == scores


def test_a_damaged_fence_costs_format_alone() -> None:
    found = REWARDS["program"].compute_reward(f"```python\n{ADD}", MBPP)
    assert (found.status, found.format_score) == ("passed", 0.3)


# humaneval.
PROMPT = (
    'from math import pi\n\n\ndef half(x):\n    return x / 2\n\n\ndef turn(x):\n    """Add pi."""\n'
)
CHECK = "def check(candidate):\n    assert candidate(2) == pi + 1\n"
HUMANEVAL = json.dumps({"tests": [CHECK], "entry_point": "turn", "prompt": PROMPT})
BODY = "    return half(x) + pi\n"


@tables
def test_humaneval_goes_on_with_the_prompt_or_repeats_it(output: str) -> None:
    found = REWARDS["humaneval"].compute_reward(output, HUMANEVAL)
    assert (found.status, found.format_score, found.correctness_score) == ("passed", 1.0, 1.0)


@tables
def test_humaneval_fails_what_is_no_answer(output: str, format_score: float) -> None:
    found = REWARDS["humaneval"].compute_reward(output, HUMANEVAL)
    assert (found.status, found.correctness_score) == ("failed", 0.0)
    assert found.format_score == format_score


def test_a_reference_that_is_none_gives_no_verdict() -> None:
    golds = [("gsm8k", "#### 18", gold) for gold in ("", "####", "what?")]
    broken = ("", "[]", "{", '{"tests": [], "prompt": ""}', '{"prompt": 3}')
    golds += [("humaneval", BODY, gold) for gold in broken]
    found = [(*each, REWARDS[each[0]].compute_reward(*each[1:]).status) for each in golds]
    assert_none(each for each in found if each[-1] != "unscored")


def test_a_repeated_start_is_not_repeated_twice() -> None:
    prompt = f"from __future__ import annotations\n{PROMPT}"
    answer = {"tests": [CHECK], "entry_point": "turn", "prompt": prompt}
    assert REWARDS["humaneval"].compute_reward(prompt + BODY, answer).passed


def test_a_prompt_may_be_missing_where_the_program_is_whole() -> None:
    check = "def check(candidate):\n    assert candidate(2) == 3\n"
    answer = {"tests": [check], "entry_point": "f"}
    assert REWARDS["humaneval"].compute_reward("def f(x):\n    return x + 1", answer).passed


POLY = (
    "import math\n\n\ndef poly(xs, x):\n"
    "    return sum(c * math.pow(x, i) for i, c in enumerate(xs))\n\n\n"
    'def zero(xs):\n    """Find x with poly(xs, x) == 0."""\n'
)
ZERO = "def check(candidate):\n    assert math.fabs(poly([4, -2], candidate([4, -2]))) < 1e-6\n"
OWN_POLY = "def poly(xs, x):\n    return xs[0] + xs[1] * x\n\n\n"


@pytest.mark.parametrize(
    ("output", "status"),
    [
        ("    return -xs[0] / xs[1]\n", "passed"),
        (f"{OWN_POLY}def zero(xs):\n    return -xs[0] / xs[1]\n", "passed"),
        (f"{POLY}    return -xs[0] / xs[1]\n", "passed"),
        ("def poly(*a):\n    return 0.0\n\n\ndef zero(xs):\n    return 0\n", "failed"),
        ("class math:\n    fabs = lambda x: 0.0\n\n\ndef zero(xs):\n    return 0\n", "failed"),
        ("    global poly\n    poly = lambda *a: 0.0\n    return 0\n", "failed"),
    ],
)
def test_the_tests_keep_the_helpers_of_the_prompt(output: str, status: str) -> None:
    answer = {"tests": [ZERO], "entry_point": "zero", "prompt": POLY}
    assert REWARDS["humaneval"].compute_reward(f"```python\n{output}```", answer).status == status


def test_a_class_of_the_prompt_is_the_programs() -> None:
    prompt = "class Node:\n    def __init__(self, x):\n        self.x = x\n\n\ndef f(n):\n"
    check = "def check(candidate):\n    assert candidate(Node(2)) == 4\n"
    answer = {"tests": [check], "entry_point": "f", "prompt": prompt}
    body = "    return 2 * n.x if isinstance(n, Node) else 0\n"
    assert REWARDS["humaneval"].compute_reward(body, answer).passed


# All of them.
def test_a_batch_is_judged_in_worker_processes_alike() -> None:
    for name, answer, good in (("program", MBPP, ADD), ("humaneval", HUMANEVAL, BODY)):
        outputs = [good, "    pass", "", good + "\nprint("] * 3
        alone = [REWARDS[name].compute_reward(output, answer) for output in outputs]
        assert REWARDS[name].compute_rewards(outputs, [answer] * len(outputs)) == alone
        assert {each.status for each in alone} == {"passed", "failed"}


FILES = {
    "gsm8k": "gsm8k/test.jsonl",
    "math": "math500/test.jsonl",
    "mbpp": "mbpp/sanitized-mbpp.json",
    "humaneval": "humaneval/HumanEval.jsonl.gz",
}


def rows_of(name: str) -> list[Row]:
    path = DATA / FILES[name]
    if not path.is_file():
        pytest.skip(f"the data is missing: {path}")
    return list(load(name, path))


@pytest.mark.parametrize("name", FILES)
def test_a_rows_own_response_passes_in_full(name: str) -> None:
    for row in rows_of(name)[::25]:
        sample = sample_of(row)
        found = score(unpack(pack(sample)), sample.response, REWARDS)
        assert (found.status, found.format_score, found.correctness_score) == ("passed", 1, 1), row


@pytest.mark.parametrize(
    "step", [pytest.param(8, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.soak)]
)
@pytest.mark.parametrize("name", FILES)
def test_every_rows_own_response_passes_in_full(name: str, step: int) -> None:
    rows = [row for row in rows_of(name) if row["id"] != "mbpp-123"][::step]  # it takes a minute
    pairs = [(sample_of(row), row["response"]) for row in rows]
    scores = REWARDS[pairs[0][0].type].score_many(pairs)
    failed = [row["id"] for row, found in zip(rows, scores, strict=True) if not found.passed]
    assert failed == [] and {found.quality_score for found in scores} == {1.0}


@pytest.mark.parametrize("name", FILES)
def test_the_response_of_another_row_does_not_pass(name: str) -> None:
    rows = rows_of(name)[:200:20]
    answers = [row["answer"] for row in rows]
    for row, answer in zip(rows, answers[1:] + answers[:1], strict=True):
        if row["answer"] != answer:
            assert not REWARDS[row["type"]].compute_reward(row["response"], answer).passed


@pytest.mark.parametrize("name", FILES)
def test_the_empty_answer_never_passes(name: str) -> None:
    outputs: list[Any] = ["", " ", None, "\0", "\ud800", "<answer></answer>", "#### "]
    answers = [row["answer"] for row in rows_of(name)[:3]]
    found = [REWARDS[name].compute_reward(*each).status for each in product(outputs, answers)]
    assert found == ["failed"] * 21
