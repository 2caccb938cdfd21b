"""What a person sees of a training run, at every width of a terminal and without one."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from infinite_rl.cli.display import TrainingLines, numbers, training_display

STEP = {"reward": 0.5123, "kl": 0.00312, "length": 87.4, "tokens_per_s": 1203.4, "loss": -0.01}
WORDS = "reward 0.512, loss -0.0100, KL 0.0031, 87 tokens, 1,203 tokens/s"


def test_a_steps_numbers_are_put_into_words() -> None:
    assert numbers(STEP) == WORDS
    assert numbers({"loss": 2, "reward": None, "note": "x"}) == "loss 2.0000"
    assert numbers({}) == ""
    assert numbers({"loss": -1e-9}) == "loss 0.0000"
    assert numbers({"staleness": 0.0, "idle": 0.0}) == "0% idle"
    assert numbers({"staleness": 1.25, "idle": 0.318}) == "1.2 updates old, 32% idle"


def test_groups_that_teach_nothing_and_missing_verdicts_are_shown() -> None:
    assert numbers({"dropped_groups": 3, "unscored": 2}) == "3 groups of equal rewards, 2 unscored"
    assert numbers({"dropped_groups": 0, "unscored": 0, "filtered": 0}) == ""
    assert numbers({"filtered": 9}) == "9 groups of equal rewards passed over"
    assert numbers({"frac_reward_zero_std": 0.25}) == "25% of groups of equal rewards"


@pytest.mark.parametrize("width", [70, 80, 120])
def test_a_terminal_shows_a_bar_and_all_numbers(width: int) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=width, color_system=None)
    with training_display(console, 200, first_step=50) as show:
        show(60, STEP)
    assert not isinstance(show, TrainingLines)
    shown = screen.getvalue()
    assert " 50/200" in shown and " 60/200" in shown and WORDS in shown


@pytest.mark.parametrize(
    "console",
    [Console(file=io.StringIO(), width=120), Console(force_terminal=True, width=40)],
)
def test_no_terminal_or_a_narrow_one_gets_plain_lines(console: Console) -> None:
    with training_display(console, 3) as show:
        assert isinstance(show, TrainingLines)


def plain(steps: int, first_step: int = 0) -> tuple[TrainingLines, io.StringIO]:
    lines = io.StringIO()
    return TrainingLines(Console(file=lines, width=120), steps, first_step), lines


def test_plain_lines_come_every_few_seconds_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    show, lines = plain(6)
    for step in range(1, 7):
        now[0] += 2
        show(step, {"reward": step / 10})
    assert lines.getvalue().splitlines() == [
        "step 3/6, reward 0.300, 6 s left",
        "step 6/6, reward 0.600",
    ]


def test_the_time_left_is_reckoned_from_the_steps_of_this_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    show, lines = plain(200, first_step=100)
    now[0] = 10
    show(110, {})
    assert lines.getvalue() == "step 110/200, 90 s left\n"


def test_a_plain_line_is_shown_as_it_is() -> None:
    show, lines = plain(1)
    show(1, {"reward": 1.0})
    assert lines.getvalue() == "step 1/1, reward 1.000\n"
