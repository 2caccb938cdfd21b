"""Labelled answers, many of them wrong and looking right, to the rewards of the benchmarks."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infinite_rl.dataset.loaders import load
from infinite_rl.reward_functions import get_reward_functions
from infinite_rl.reward_functions.math import verify
from tests.support.labelled import assert_none, read_cases, unescaped

HERE = Path(__file__).parent
DATA = HERE.parents[2] / "shared" / "data"
FILES = {"mbpp": "mbpp/sanitized-mbpp.json", "humaneval": "humaneval/HumanEval.jsonl.gz"}
REWARDS = get_reward_functions()
HASTY = get_reward_functions(1)  # seconds: what never ends does not end in five either

NUMBERS = [
    *read_cases(HERE / "gsm8k_answers.txt", 3),
    *read_cases(HERE / "gsm8k_statements.txt", 3),
]
STATEMENTS = read_cases(HERE / "math_statements.txt", 3)
PROGRAMS = re.findall(
    r"=== (\w+) (\w+) (\d+) ([^\n]+)\n(.*?)\n(?====|\Z)",
    (HERE / "program_answers.txt").read_text(encoding="utf-8"),
    re.DOTALL,
)


def test_the_sets_are_as_large_as_promised() -> None:
    assert (len(NUMBERS), len(PROGRAMS), len(STATEMENTS)) == (315 + 306, 97, 1062)


def test_a_number_passes_only_where_it_is_right() -> None:
    assert_none(
        (label, gold, answer)
        for label, gold, answer in NUMBERS
        if REWARDS["gsm8k"].compute_reward(unescaped(answer), gold).passed != (label == "right")
    )


def test_no_answer_passes_for_two_numbers() -> None:
    for _, gold, answer in NUMBERS:
        text = unescaped(answer)
        stated = {gold, *re.findall(r"\d+", text)}
        passed = [each for each in stated if REWARDS["gsm8k"].compute_reward(text, each).passed]
        values = {float(each) if "/" not in each else 0.5 for each in passed}
        assert len(values) <= 1, (text, passed)


def test_a_box_passes_only_where_it_states_the_answer() -> None:
    faults = []
    for label, gold, answer in STATEMENTS:
        text, gold = unescaped(answer), unescaped(gold)
        verdicts = {verify(text, gold).equal}
        if "box" in text or "<answer" in text:
            verdicts.add(REWARDS["math"].compute_reward(text, gold).passed)
        if verdicts != {label == "right"}:
            faults.append((label, gold, answer))
    assert_none(faults)


@cache
def benchmark(name: str) -> dict[str, Any]:
    path = DATA / FILES[name]
    if not path.exists():
        pytest.skip(f"the data of {name} is not here")
    return {row["id"]: row for row in load(name, path)}


@pytest.mark.parametrize(
    ("label", "kind", "number", "what", "answer"),
    [pytest.param(*each, id="-".join(each[:4]).replace(" ", "_")) for each in PROGRAMS],
)
def test_only_solutions_pass(label: str, kind: str, number: str, what: str, answer: str) -> None:
    if what == "windows_line_ends":
        answer = answer.replace("\n", "\r\n")
    row = benchmark(kind)[f"{kind}-{number}"]
    rewards = HASTY if what == "infinite" else REWARDS
    score = rewards[kind].compute_reward(answer, row["answer"])
    assert score.passed == (label == "right"), score.error_msg
