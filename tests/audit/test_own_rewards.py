"""The audit of this package's own rewards: nothing is found. A new reward needs rows here."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from infinite_rl.audit import Limits, Report, Settings, audit
from infinite_rl.audit.rows import audit_row
from infinite_rl.dataset.loaders import reasoning_gym_rows
from infinite_rl.parser import ExampleParser
from infinite_rl.reward_functions import REWARDS
from infinite_rl.reward_functions.reasoning_gym import VERSION

Rows = Sequence[Mapping[str, Any]]
EXAMPLES = ExampleParser.get_all_examples(Path(__file__).parents[2] / "infinite_rl" / "examples")


def example(name: str, **columns: str) -> Rows:
    return [{**EXAMPLES[name], **columns}]


def answers(*golds: str) -> Rows:
    return [{"prompt": f"Task {n}: work it out.", "answer": gold} for n, gold in enumerate(golds)]


def humaneval() -> Rows:
    prompt, body = 'def double(x):\n    """Twice x."""\n', "    return 2 * x\n"
    check = "def check(f):\n    assert f(3) == 6\n    assert f(-1) == -2"
    answer = {"tests": [check], "entry_point": "double", "prompt": prompt}
    return [{"prompt": prompt, "answer": json.dumps(answer), "response": body}]


def program() -> Rows:
    code = "def double(x):\n    return 2 * x\n"
    tests = ["assert double(3) == 6", "assert double(-1) == -2"]
    answer = json.dumps({"tests": tests})
    return [{"prompt": "Write double(x).", "answer": answer, "response": code}]


def reasoning_gym() -> Rows:
    pytest.importorskip("reasoning_gym", reason=f"reasoning-gym {VERSION} is not installed")
    return [*reasoning_gym_rows("leg_counting", 3), *reasoning_gym_rows("chain_sum", 3)]


ROWS: Mapping[str, Callable[[], Rows]] = {
    "coding": lambda: [
        *example("PYTHON", language="python"),
        *example("JAVASCRIPT", language="javascript"),
    ],
    "instruction": lambda: example("INSTRUCTION"),
    "logic": lambda: example("LOGIC"),
    "sql": lambda: example("SQL"),
    "math": lambda: [
        *example("MATH"),
        *answers(r"\frac{1}{2}", r"2\sqrt{3}", "(1, 2]", "1,200", "B", r"x^2+2x+1", "{1, 2, 3}"),
    ],
    "gsm8k": lambda: answers("He has 9 * 2 = 18.\n#### 18", "#### 1,200", "-3", "0.25"),
    "program": program,
    "mbpp": program,
    "humaneval": humaneval,
    "reasoning_gym": reasoning_gym,
}


def audited(name: str, seconds: float) -> Report:
    rows = [audit_row(n, {**row, "type": name}) for n, row in enumerate(ROWS[name]())]
    settings = Settings(timeout=30, memory=0, keep=("HOME", "XDG_CACHE_HOME"))
    return audit("infinite_rl.audit.ours:compute_reward", rows, settings, Limits(seconds))


@pytest.mark.slow
@pytest.mark.parametrize("name", REWARDS)
def test_the_first_probes_find_nothing_in_a_reward_of_this_package(name: str) -> None:
    report = audited(name, 2.0)
    assert report.surface or report.cut, report.note  # a busy machine does not get that far
    assert not witnesses(report)


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("name", REWARDS)
def test_the_whole_audit_finds_nothing_in_a_reward_of_this_package(name: str) -> None:
    report = audited(name, 60.0)
    assert report.surface, report.note
    assert report.calls > 20 and not witnesses(report)


def witnesses(report: Report) -> list[tuple[str, str]]:
    return [(each.kind, each.witness.pairs[0][1]) for each in report.findings]
