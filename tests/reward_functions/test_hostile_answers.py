"""Labelled answers, many of them wrong and looking right, to the rewards of the benchmarks."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infinite_rl.dataset.loaders import load
from infinite_rl.reward_functions import get_reward_functions
from infinite_rl.reward_functions.math import verify

HERE = Path(__file__).parent
DATA = HERE.parents[2] / "shared" / "data"
FILES = {"mbpp": "mbpp/sanitized-mbpp.json", "humaneval": "humaneval/HumanEval.jsonl.gz"}
REWARDS = get_reward_functions()
HASTY = get_reward_functions(1)  # seconds: what never ends does not end in five either
_ESCAPE = re.compile(r"\\(u[0-9a-f]{4}|.)")


def unescaped(text: str) -> str:
    signs = {"n": "\n", "r": "\r", "0": "\0"}
    return _ESCAPE.sub(
        lambda found: (
            chr(int(found[1][1:], 16)) if len(found[1]) > 1 else signs.get(found[1], found[1])
        ),
        text,
    )


def lines(name: str, parts: int) -> list[list[str]]:
    text = (HERE / name).read_text(encoding="utf-8")
    given = [line for line in text.split("\n") if line and not line.startswith("#")]
    return [[*map(str.strip, line.split(" |", parts - 1))] for line in given]


NUMBERS = lines("gsm8k_answers.txt", 3) + lines("gsm8k_statements.txt", 3)
STATEMENTS = lines("math_statements.txt", 3)
INSTRUCTIONS = lines("instruction_near_misses.txt", 4)
PROGRAMS = re.findall(
    r"=== (\w+) (\w+) (\d+) ([^\n]+)\n(.*?)\n(?====|\Z)",
    (HERE / "program_answers.txt").read_text(encoding="utf-8"),
    re.DOTALL,
)


def test_the_sets_are_as_large_as_promised() -> None:
    assert (len(NUMBERS), len(PROGRAMS), len(INSTRUCTIONS)) == (315 + 290, 97, 123)
    assert len(STATEMENTS) == 894


@pytest.mark.parametrize(("label", "gold", "answer"), NUMBERS)
def test_a_number_passes_only_where_it_is_right(label: str, gold: str, answer: str) -> None:
    passed = REWARDS["gsm8k"].compute_reward(unescaped(answer), gold).passed
    assert passed == (label == "right")


def test_no_answer_passes_for_two_numbers() -> None:
    for _, gold, answer in NUMBERS:
        text = unescaped(answer)
        stated = {gold, *re.findall(r"\d+", text)}
        passed = [each for each in stated if REWARDS["gsm8k"].compute_reward(text, each).passed]
        values = {float(each) if "/" not in each else 0.5 for each in passed}
        assert len(values) <= 1, (text, passed)


@pytest.mark.parametrize(("label", "gold", "answer"), STATEMENTS)
def test_a_box_passes_only_where_it_states_the_answer(label: str, gold: str, answer: str) -> None:
    text, gold = unescaped(answer), unescaped(gold)
    assert verify(text, gold).equal == (label == "right")
    if "box" in text or "<answer" in text:
        assert REWARDS["math"].compute_reward(text, gold).passed == (label == "right")


@pytest.mark.parametrize(("label", "name", "kwargs", "answer"), INSTRUCTIONS)
def test_a_near_miss_is_a_miss(label: str, name: str, kwargs: str, answer: str) -> None:
    asked = [{"instruction_id": name, "kwargs": json.loads(kwargs)}]
    passed = REWARDS["instruction"].compute_reward(unescaped(answer), asked).passed
    assert passed == (label == "right")


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
def test_a_program_passes_only_where_it_solves_the_task(
    label: str, kind: str, number: str, what: str, answer: str
) -> None:
    if what == "windows_line_ends":
        answer = answer.replace("\n", "\r\n")
    row = benchmark(kind)[f"{kind}-{number}"]
    rewards = HASTY if what == "infinite" else REWARDS
    score = rewards[kind].compute_reward(answer, row["answer"])
    assert score.passed == (label == "right"), score.error_msg
