"""The instruction reward on IFEval's own 541 prompts, and on good answers to some of them."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from infinite_rl.reward_functions.instruction import (
    CHECKS,
    InstructionRewardFunction,
    read_instructions,
)

FILE = Path(__file__).resolve().parents[3] / "shared" / "data" / "ifeval" / "input_data.jsonl"
pytestmark = pytest.mark.skipif(not FILE.exists(), reason="the IFEval data is not here")

REWARD = InstructionRewardFunction()


# An answer to each of these rows, by its key, that follows all of its instructions.
ANSWERS = Path(__file__).with_name("instruction_answers.txt").read_text(encoding="utf-8")
GOOD = {int(key): text for key, text in re.findall(r"=== (\d+)\n(.*?)\n(?====|\Z)", ANSWERS, re.S)}


def rows() -> dict[int, dict[str, Any]]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return {row["key"]: row for row in map(json.loads, lines)}


def test_every_row_is_read_and_no_empty_answer_follows_it() -> None:
    counts: Counter[str] = Counter()
    for row in rows().values():
        counts.update(each.id for each in read_instructions(row))
        for loose in (False, True):
            score = InstructionRewardFunction(loose=loose).compute_reward("", row)
            assert (score.status, score.correctness_score) == ("failed", 0.0)
    assert len(GOOD) == 21
    assert (len(rows()), counts.total(), counts.keys()) == (541, 834, CHECKS.keys())


@pytest.mark.parametrize("key", GOOD)
def test_a_good_answer_passes_after_thinking_and_in_a_tag_too(key: int) -> None:
    row = rows()[key]
    assert REWARD.compute_reward(GOOD[key], row).passed
    assert REWARD.compute_reward(
        f"<think>Hm, [a], *b*</think>\n<answer>{GOOD[key]}</answer>", row
    ).passed


def test_no_answer_does_for_every_row() -> None:
    wanted = rows()
    for text in GOOD.values():
        assert not all(REWARD.compute_reward(text, wanted[key]).passed for key in GOOD)


ENGLISH = "I would like to thank you for the letter that you have sent me about our plans."
LANGUAGE = (
    "language:response_language",
    "change_case:english_capital",
    "change_case:english_lowercase",
)


def test_every_instruction_on_language_judges_sentences_and_lets_short_lists_pass() -> None:
    judged: Counter[str] = Counter()
    for row in rows().values():
        for name, kwargs in zip(row["instruction_id_list"], row["kwargs"], strict=True):
            if name not in LANGUAGE:
                continue
            judged[name] += 1
            (each,) = read_instructions([{"instruction_id": name, "kwargs": kwargs}])
            asked = {key: value for key, value in kwargs.items() if value}.get("language", "en")
            text = ENGLISH.upper() if name == LANGUAGE[1] else ENGLISH.lower()
            names = "LONDON, PARIS, BERLIN" if name == LANGUAGE[1] else "london, paris, berlin"
            assert each.follows(text) == (asked == "en"), (row["key"], text)
            assert asked != "en" or each.follows(names), row["key"]
            assert not each.follows("123 🙂")
    assert judged == {LANGUAGE[0]: 31, LANGUAGE[1]: 25, LANGUAGE[2]: 39}
