"""What is seen of a generation and of a training, at every width of a terminal and without one."""

import io
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from infinite_rl.cli.display import (
    RunDisplay,
    by_model,
    costs,
    difficulty,
    display,
    diversity,
    dollars,
    done,
    estimated,
    in_flight,
    lacking,
    numbers,
    pace,
    planned,
    rejections,
    training_display,
)
from infinite_rl.generation.novelty import Distinct
from infinite_rl.generation.progress import Progress
from infinite_rl.inference.budget import Estimate, Spending
from infinite_rl.types import Usage

SLOWED = (
    "slowed by the provider to at most 1200 calls a minute (--rpm overrides) and 12 of 64 calls at "
    "once (--max_concurrency bounds)"
)
LONG = "a family with a very long name"
PARTS = (
    "900,000 rows made (79% of 1,145,000 judged), 245,000 rejected",
    "wrong 190,000, duplicate 33,000, no completion 12,000, cut off 4,000",
    "weak verifier 3,000, disagreement 2,000, incomplete 1,000",
    "$12,345.68 spent, about $18,457.52 in all, $0.0122 a row",
    "12,345,678,901 tokens in, 6,789,012,345 out",
    "72.9 rows/s, 3:25:45 gone, about 1:54:18 left; 64 in flight",
    "calls made again: 429 x120,000, 503 x7,000, timeout x12",
    SLOWED,
)
FREE = Progress({"math": 10}, {"math": 0})


def terminal(width: int) -> tuple[Console, io.StringIO]:
    screen = io.StringIO()
    return Console(file=screen, force_terminal=True, width=width, color_system=None), screen


def a_run_with_trouble() -> Progress:
    """A long run with everything that there is to say, and a family with a long name."""
    rejected = {"wrong": 190_000, "duplicate": 33_000, "no completion": 12_000, "cut off": 4_000}
    rejected |= {"weak verifier": 3_000, "disagreement": 2_000, "incomplete": 1_000}
    return Progress(
        targets={"coding": 1_000_000, "math": 1_000_000, LONG: 10},
        present={"coding": 100_000, "math": 10_000, LONG: 0},
        accepted=Counter(coding=400_000, math=500_000),
        rejected=Counter(rejected),
        in_flight=64, cap=12, most=64, pace=SLOWED,
        retries=Counter({"429": 120_000, "503": 7_000, "timeout": 12}),
        spending=Spending(1_145_000, Usage(12_345_678_901, 6_789_012_345), 12_345.6789, 0.1),
        given_up={"math": "5 samples in a row failed"},
    )  # fmt: skip


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time in seconds, which a test sets."""
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_rows_are_summed_up_by_their_type_language_and_model() -> None:
    one = {"type": "math", "language": "", "model": "m", "quality_score": "1", "prompt": "1+1?"}
    rows = [
        {**one, "response": "two"},
        {**one, "response": "2", "quality_score": "0.5", "prompt": "1+2+3?"},
        {**one, "response": "2" * 1000, "type": "coding", "language": "python"},
    ]
    assert [line.split() for line in by_model(rows)] == [
        ["type", "language", "model", "rows", "quality", "prompt_chars", "response_chars"],
        ["coding", "python", "m", "1", "1", "4", "1000"],
        ["math", "m", "2", "0.75", "5", "2"],
    ]
    assert by_model([]) == []


def test_everything_is_seen_however_long_the_numbers_are(clock: list[float]) -> None:
    for width in (60, 80, 120):
        console, screen = terminal(width)
        show, clock[0] = RunDisplay(console), 1_000.0
        show(a_run_with_trouble())
        clock[0] += 12_345
        console.print(show.picture())
        lines = [line.rstrip() for line in screen.getvalue().split("\n")]
        assert max(map(len, lines)) <= width
        assert width < 80 or len(lines) <= 16, "few enough for a small screen"
        told = " ".join(" ".join(lines).split())
        assert not [part for part in PARTS if part not in told]
        names = ("coding", "math", "all")
        bars = {name: line for line in lines for name in names if line.startswith(name)}
        assert bars["coding"].endswith("500,000/1,000,000")
        assert bars["math"].split()[-3:] == ["510,000/1,000,000", "given", "up"]
        assert bars["all"].endswith("1,010,000/2,000,010")
        assert all("━━━━" in bar for bar in bars.values())
        assert any(line.startswith(LONG[:18]) and line.endswith("0/10") for line in lines)


def test_the_last_picture_stays_and_quiet_shows_none(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet in (False, True):
        console, screen = terminal(80)
        with display(console, quiet=quiet) as show:
            show(a_run_with_trouble())
        assert ("245,000 rejected" in " ".join(screen.getvalue().split()[-200:])) is not quiet
    assert not screen.getvalue() and capsys.readouterr() == ("", "")


def test_a_live_display_is_not_disturbed_by_the_run_that_goes_on(clock: list[float]) -> None:
    """Its pictures are made in a thread of their own: of a copy, which nobody changes."""
    console, screen = terminal(120)
    show, progress = RunDisplay(console), a_run_with_trouble()
    show(progress)
    progress.rejected["format"] = progress.spending.calls = 1
    progress.retries["500"] = progress.accepted["coding"] = 1
    clock[0] += 12_345
    console.print(show.picture())
    seen = " ".join(screen.getvalue().split())
    assert not [part for part in PARTS if part not in seen]


@pytest.mark.parametrize(
    "console", [terminal(40)[0], Console(file=io.StringIO(), width=120)], ids=["narrow", "none"]
)
def test_without_a_terminal_or_room_for_bars_a_plain_line_says_it_all_once_in_a_while(
    console: Console, clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with display(console) as show:
        for now in (0, 1, 4.9, 12_345, 12_346):
            clock[0] = 1_000 + now
            show(a_run_with_trouble())
    (line,) = capsys.readouterr().err.splitlines()
    counts = f"coding 500,000/1,000,000, math 510,000/1,000,000, {LONG} 0/10"
    assert not [part for part in (counts, *PARTS) if part not in line]


def test_calls_in_flight_say_whether_they_are_slowed() -> None:
    slowed = replace(a_run_with_trouble(), cap=12, most=64)
    assert in_flight(replace(slowed, cap=64)) == "64 in flight"
    assert in_flight(slowed) == "64 in flight, slowed to 12 of 64 calls at once by the provider"


# --- cost ----------------------------------------------------------------------------------------
def test_what_a_run_costs_is_told_as_far_as_it_is_known() -> None:
    unpriced = replace(FREE, spending=Spending(9, Usage(5, 7), unpriced=9))
    assert costs(replace(FREE, spending=Spending(9))) == ""
    assert costs(unpriced) == "cost unknown (say --price); 5 tokens in, 7 out"
    plan = Estimate({"math": 10}, 14, Usage(), 2.5, measured=False)
    begun = Progress({"math": 10}, {"math": 0}, estimate=plan, spending=Spending(1, cost=0.5))
    rejected = replace(begun, rejected=Counter(wrong=9))
    assert rejected.projected_cost is None
    assert costs(rejected).startswith("$0.5000 spent, in all unknown until a row is kept; ")
    assert costs(begun).startswith("$0.5000 spent, about $2.5000 in all; ")
    assert begun.cost_per_row is None
    begun.accepted["math"] = 2
    assert costs(begun).startswith("$0.5000 spent, about $2.5000 in all, $0.2500 a row; ")
    begun.given_up["math"] = "5 samples in a row failed"
    assert begun.projected_cost == 0.5, "no more is made of what is given up"


def test_a_small_price_of_a_row_is_no_zero() -> None:
    amounts = [None, 0.0, 0.000021, 0.00123, 0.5, 12.3456, 12_345.6]
    assert [dollars(each) for each in amounts] == [
        "cost unknown (say --price)",
        *("$0.0000", "$0.000021", "$0.0012", "$0.5000", "$12.35", "$12,345.60"),
    ]


def test_an_estimate_says_what_it_goes_by() -> None:
    for calls, basis in (
        (0, "no calls to go by yet"),
        (12, "12 calls so far, and 20 are enough to go by"),
        (25, "none of 25 calls has made a row to go by"),
    ):
        said = estimated(Estimate({}, 4, Usage(1, 2), 0.5), calls)
        assert said.startswith(f"estimate, by rule of thumb: {basis}: 4 calls, ")
    said = estimated(Estimate({}, 14_286, Usage(13_000_260, 21_429_000), 12.5, measured=True))
    tokens = "13,000,260 tokens in, 21,429,000 out"
    assert said == f"estimate, by the calls so far: 14,286 calls, {tokens}, $12.50"


# --- rows ----------------------------------------------------------------------------------------
def test_what_is_not_wanted_is_not_shown_and_one_reason_is_said_once() -> None:
    none = Progress({"coding": 0, "math": 2}, {"coding": 0, "math": 0}, estimate=Estimate({}))
    assert planned(none) == "math: 0 of 2 rows are there\nestimate: 0 calls, $0"
    assert lacking(none) == ["target not reached: math lacks 2: not finished"]
    both = replace(none, targets={"coding": 1, "math": 2}, stopped="the key is refused")
    assert lacking(both) == ["target not reached: coding lacks 1, math lacks 2: the key is refused"]
    both.given_up["math"] = "it failed"
    assert len(lacking(both)) == 2


def test_a_slow_pace_is_told_by_the_minute() -> None:
    slow = replace(FREE, accepted=Counter(math=3))
    assert pace(slow, 0.4) == "0:00:00 gone"
    assert pace(slow, 60) == "3.0 rows/min, 0:01:00 gone, about 0:02:20 left"


def test_the_wait_before_the_first_row_is_named_and_is_no_pace(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    show = RunDisplay(terminal(40)[0])
    run = replace(FREE, targets={"math": 20}, present={"math": 0}, accepted=Counter())
    show(run)
    clock[0] += 90
    monkeypatch.setattr("infinite_rl.cli.display.compiling", ["python.wasm"])
    show(run)
    assert "compiling python.wasm, once a machine" in show.line(run)
    monkeypatch.setattr("infinite_rl.cli.display.compiling", [])
    for rows, left in ((1, ""), (5, "about 0:00:30 left")):
        clock[0] += 5
        run = replace(run, accepted=Counter(math=rows))
        show(run)
        line = show.line(run)
        assert left in line and bool(left) == ("left" in line) and "compiling" not in line


def test_the_end_says_what_was_made_stopped_repeated_and_paid_and_for_which_models() -> None:
    said = done(a_run_with_trouble(), models="a, checked by b").splitlines()
    assert said[0].startswith("rows made: 900000, there before: 110000, 245,000 rejected (wrong ")
    assert said[0].endswith(", incomplete 1,000), acceptance rate 79%")
    assert said[1:] == [
        "calls answered: 0, repeated: 127012 (429 x120,000, 503 x7,000, timeout x12)",
        "wrong answers stopped by independent solutions: 2000",
        "12,345,678,901 tokens in, 6,789,012,345 out, $12,345.68, $0.0122 a row (a, checked by b)",
        SLOWED,
    ]
    nothing = Progress({"math": 1}, {"math": 1})
    assert done(nothing) == (
        "rows made: 0, there before: 1, 0 rejected\ncalls answered: 0, repeated: 0"
    )
    assert "wrong answers stopped by independent solutions: 0" in done(nothing, verified=True)
    assert rejections(Counter(wrong=9, cut=3)) == "12 rejected (wrong 9, cut 3)"


def test_the_end_says_how_new_and_how_hard_the_rows_are_in_80_columns() -> None:
    distinct = Distinct(1_010_000, (12_345, *[1] * 997_655))
    rejected = Counter(duplicate=33_000, repeat=155_000, wrong=9)
    progress = replace(a_run_with_trouble(), rejected=rejected)
    rows = [{"pass_rate": "0.25", "attempts": "4"}, {"pass_rate": "0.75", "attempts": "15"}]
    said = [*diversity(progress, distinct), *difficulty("0.2:0.8", [*rows, {"pass_rate": ""}])]
    assert said == [
        "997656 distinct tasks in 1010000 rows, effective number 900,144.0",
        "repeats rejected: 188,000, calls a row: 1.13",
        "pass rate: 0.50 on average, 0.2:0.8 wanted; attempts at a row kept: 9.5",
    ]
    assert max(map(len, said)) <= 80
    nothing = Progress({"math": 1}, {"math": 0})
    assert diversity(nothing, Distinct(0, ())) == difficulty("0:1", []) == []
    assert diversity(nothing, Distinct(1, (1,)))[1] == "repeats rejected: 0"


# --- training ------------------------------------------------------------------------------------
STEP = {"reward": 0.5123, "kl": 0.00312, "length": 87.4, "tokens_per_s": 1203.4, "loss": -0.01}
WORDS = "reward 0.512, loss -0.0100, KL 0.0031, 87 tokens, 1,203 tokens/s"
STEPS: list[tuple[dict[str, Any], str]] = [
    (STEP, WORDS),
    ({"loss": 2, "reward": None, "note": "x"}, "loss 2.0000"),
    ({}, ""),
    ({"loss": -1e-9}, "loss 0.0000"),
    ({"staleness": 0.0, "idle": 0.0}, "0% idle"),
    ({"staleness": 1.25, "idle": 0.318}, "1.2 updates old, 32% idle"),
    ({"dropped_groups": 3, "unscored": 2}, "3 groups of equal rewards, 2 unscored"),
    ({"dropped_groups": 0, "unscored": 0, "filtered": 0}, ""),
    ({"filtered": 9}, "9 groups of equal rewards passed over"),
    ({"frac_reward_zero_std": 0.25}, "25% of groups of equal rewards"),
]


def test_a_steps_numbers_are_put_into_words() -> None:
    assert [numbers(values) for values, _ in STEPS] == [words for _, words in STEPS]


def test_a_training_has_a_bar_and_all_numbers() -> None:
    for width in (70, 80, 120):
        console, screen = terminal(width)
        with training_display(console, 200, first_step=50) as show:
            show(60, STEP)
        shown = screen.getvalue()
        assert " 50/200" in shown and " 60/200" in shown and WORDS in shown


def test_plain_lines_come_and_end(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    """The time left is reckoned from the steps of this process."""
    for console in (terminal(40)[0], Console(file=io.StringIO(), width=120)):
        with training_display(console, 6) as show:
            for step in range(1, 7):
                clock[0] += 2
                show(step, {"reward": step / 10})
        with training_display(console, 200, first_step=100) as show:
            clock[0] += 10
            show(110, {})
        assert capsys.readouterr().err.splitlines() == [
            "step 3/6, reward 0.300, 6 s left",
            "step 6/6, reward 0.600",
            "step 110/200, 90 s left",
        ]
