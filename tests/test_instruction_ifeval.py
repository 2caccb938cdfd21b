"""The instruction reward on IFEval's own 541 prompts, and on good answers to some of them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from infinite_rl.reward_functions.instruction import (
    CHECKS,
    InstructionRewardFunction,
    read_instructions,
)

FILE = Path(__file__).resolve().parents[2] / "shared" / "data" / "ifeval" / "input_data.jsonl"
pytestmark = pytest.mark.skipif(not FILE.exists(), reason="the IFEval data is not here")

REWARD = InstructionRewardFunction()


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
    assert (len(rows()), counts.total(), counts.keys()) == (541, 834, CHECKS.keys())
