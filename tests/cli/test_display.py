"""What a person sees while a run goes on, at every width of a terminal."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import replace

import pytest
from rich.console import Console

from infinite_rl.cli.display import (
    LiveDisplay,
    PlainDisplay,
    costs,
    display,
    dollars,
    done,
    estimated,
    in_flight,
    lacking,
    pace,
    planned,
    rejections,
)
from infinite_rl.generation.progress import Progress
from infinite_rl.inference.budget import Estimate, Spending
from infinite_rl.types import Usage

SLOWED = (
    "slowed by the provider to at most 1200 calls a minute (--rpm overrides) and 12 of 64 calls at "
    "once (--max_concurrency bounds)"
)


def terminal(width: int) -> tuple[Console, io.StringIO]:
    screen = io.StringIO()
    return Console(file=screen, force_terminal=True, width=width, color_system=None), screen


def a_run_with_trouble() -> Progress:
    """A long run with everything that there is to say, and a family with a long name."""
    rejected = {"wrong": 190_000, "duplicate": 33_000, "no completion": 12_000, "cut off": 4_000}
    rejected |= {"weak verifier": 3_000, "disagreement": 2_000, "incomplete": 1_000}
    return Progress(
        targets={"coding": 1_000_000, "math": 1_000_000, "a family with a very long name": 10},
        present={"coding": 100_000, "math": 10_000, "a family with a very long name": 0},
        accepted=Counter(coding=400_000, math=500_000),
        rejected=Counter(rejected),
        in_flight=64,
        cap=12,
        most=64,
        pace=SLOWED,
        retries=Counter({"429": 120_000, "503": 7_000, "timeout": 12}),
        spending=Spending(1_145_000, Usage(12_345_678_901, 6_789_012_345), 12_345.6789, 0.1),
        given_up={"math": "5 samples in a row failed"},
    )


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def shown_live(width: int, progress: Progress) -> list[str]:
    """The picture of a live display after 12,345 seconds, line by line."""
    console, screen = terminal(width)
    clock = Clock()
    show = LiveDisplay(console, clock)
    show(progress)
    clock.now += 12_345
    console.print(show._picture())
    return [line.rstrip() for line in screen.getvalue().split("\n")]


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


@pytest.mark.parametrize("width", [60, 80, 120])
def test_everything_is_seen_however_long_the_numbers_are(width: int) -> None:
    lines = shown_live(width, a_run_with_trouble())
    assert max(map(len, lines)) <= width
    told = " ".join(" ".join(lines).split())
    for part in PARTS:
        assert part in told
    bars = {
        name: line for line in lines for name in ("coding", "math", "all") if line.startswith(name)
    }
    assert bars["coding"].endswith("500,000/1,000,000")
    assert bars["math"].split()[-3:] == ["510,000/1,000,000", "given", "up"]
    assert bars["all"].endswith("1,010,000/2,000,010")
    assert any(line.startswith("a family with a ver") and line.endswith("0/10") for line in lines)
    assert all("━━━━" in bar for bar in bars.values())


def test_the_last_picture_stays_on_the_screen() -> None:
    console, screen = terminal(80)
    with display(console) as show:
        show(a_run_with_trouble())
    assert "245,000 rejected" in " ".join(screen.getvalue().split()[-200:])


def test_at_80_columns_the_lines_are_few_enough_for_a_small_screen() -> None:
    assert len(shown_live(80, a_run_with_trouble())) <= 16


def test_a_plain_line_says_it_all_once_in_a_while() -> None:
    """Where there is no terminal, as in a job's log: one line, however long."""
    lines, clock = io.StringIO(), Clock()
    plain = PlainDisplay(Console(file=lines, width=60), clock)
    progress = a_run_with_trouble()
    for now in (0, 1, 4.9, 12_345, 12_346):
        clock.now = 1_000 + now
        plain(progress)
    (line,) = lines.getvalue().splitlines()
    counts = "coding 500,000/1,000,000, math 510,000/1,000,000, a family with a very long name 0/10"
    for part in (counts, *PARTS):
        assert part in line


def test_a_live_display_is_not_disturbed_by_the_run_that_goes_on() -> None:
    """Its pictures are made in a thread of their own: of a copy, which nobody changes."""
    console, _ = terminal(80)
    progress = a_run_with_trouble()
    display = LiveDisplay(console)
    display(progress)
    progress.rejected["format"] = progress.spending.calls = 1
    progress.retries["500"] = progress.accepted["coding"] = 1
    seen = display._progress
    assert seen and "format" not in seen.rejected and "500" not in seen.retries
    assert (seen.spending.calls, seen.accepted["coding"]) == (1_145_000, 400_000)


def test_a_quiet_display_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    console, screen = terminal(80)
    with display(console, quiet=True) as show:
        show(a_run_with_trouble())
    assert not screen.getvalue()
    assert capsys.readouterr() == ("", "")


def test_a_terminal_too_narrow_for_bars_gets_plain_lines() -> None:
    with display(terminal(40)[0]) as show:
        assert isinstance(show, PlainDisplay)


def test_what_is_no_terminal_gets_plain_lines() -> None:
    with display(Console(file=io.StringIO(), width=120)) as show:
        assert isinstance(show, PlainDisplay)


def test_calls_in_flight_say_whether_they_are_slowed() -> None:
    slowed = replace(a_run_with_trouble(), cap=12, most=64)
    assert in_flight(replace(slowed, cap=64)) == "64 in flight"
    assert in_flight(slowed) == "64 in flight, slowed to 12 of 64 calls at once by the provider"


def test_what_costs_nothing_says_nothing_of_cost() -> None:
    free = replace(a_run_with_trouble(), spending=Spending(9))
    assert costs(free) == ""
    unpriced = replace(free, spending=Spending(9, Usage(5, 7), unpriced=9))
    assert costs(unpriced) == "cost unknown (say --price); 5 tokens in, 7 out"


def test_before_the_first_row_the_whole_cost_is_the_estimate_of_the_start() -> None:
    plan = Estimate({"math": 10}, 14, Usage(), 2.5, measured=False)
    begun = Progress({"math": 10}, {"math": 0}, estimate=plan, spending=Spending(1, cost=0.5))
    assert costs(begun).startswith("$0.5000 spent, about $2.5000 in all; ")
    assert begun.cost_per_row is None
    begun.accepted["math"] = 2
    assert costs(begun).startswith("$0.5000 spent, about $2.5000 in all, $0.2500 a row; ")
    begun.given_up["math"] = "5 samples in a row failed"
    assert begun.projected_cost == 0.5, "no more is made of what is given up"


def test_where_all_is_rejected_nobody_knows_what_the_whole_will_cost() -> None:
    plan = Estimate({"math": 10}, 14, Usage(), 0.18, measured=False)
    begun = Progress({"math": 10}, {"math": 0}, estimate=plan, spending=Spending(9, cost=0.28))
    begun.rejected["wrong"] = 9
    assert begun.projected_cost is None
    assert costs(begun).startswith("$0.2800 spent, in all unknown until a row is kept; ")


def test_what_is_not_wanted_is_not_shown_and_one_reason_is_said_once() -> None:
    none = Progress({"coding": 0, "math": 2}, {"coding": 0, "math": 0}, estimate=Estimate({}))
    assert planned(none) == "math: 0 of 2 rows are there\nestimate: 0 calls, $0"
    assert lacking(none) == ["target not reached: math lacks 2: not finished"]
    both = replace(none, targets={"coding": 1, "math": 2}, stopped="the key is refused")
    assert lacking(both) == ["target not reached: coding lacks 1, math lacks 2: the key is refused"]
    both.given_up["math"] = "it failed"
    assert len(lacking(both)) == 2


def test_the_models_that_the_cost_is_of_are_named() -> None:
    said = done(a_run_with_trouble(), models="a, checked by b").splitlines()
    assert said[3].endswith("$12,345.68, $0.0122 a row (a, checked by b)")


@pytest.mark.parametrize(
    ("calls", "basis"),
    [
        (0, "no calls to go by yet"),
        (12, "12 calls so far, and 20 are enough to go by"),
        (25, "none of 25 calls has made a row to go by"),
    ],
)
def test_an_estimate_says_why_it_does_not_go_by_the_calls_so_far(calls: int, basis: str) -> None:
    said = estimated(Estimate({}, 4, Usage(1, 2), 0.5), calls)
    assert said.startswith(f"estimate, by rule of thumb: {basis}: 4 calls, ")


def test_a_small_price_of_a_row_is_no_zero() -> None:
    amounts = [None, 0.0, 0.000021, 0.00123, 0.5, 12.3456, 12_345.6]
    assert [dollars(each) for each in amounts] == [
        "cost unknown (say --price)",
        *("$0.0000", "$0.000021", "$0.0012", "$0.5000", "$12.35", "$12,345.60"),
    ]


def test_a_slow_pace_is_told_by_the_minute() -> None:
    slow = Progress({"math": 10}, {"math": 0}, accepted=Counter(math=3))
    assert pace(slow, 0.4) == "0:00:00 gone"
    assert pace(slow, 60) == "3.0 rows/min, 0:01:00 gone, about 0:02:20 left"


def test_the_end_says_what_was_made_stopped_repeated_and_paid() -> None:
    said = done(a_run_with_trouble()).splitlines()
    assert said[0].startswith("rows made: 900000, there before: 110000, 245,000 rejected (wrong ")
    assert said[0].endswith(", incomplete 1,000), acceptance rate 79%")
    assert said[1:] == [
        "calls answered: 0, repeated: 127012 (429 x120,000, 503 x7,000, timeout x12)",
        "wrong answers stopped by independent solutions: 2000",
        "12,345,678,901 tokens in, 6,789,012,345 out, $12,345.68, $0.0122 a row",
        SLOWED,
    ]
    nothing = Progress({"math": 1}, {"math": 1})
    assert done(nothing) == (
        "rows made: 0, there before: 1, 0 rejected\ncalls answered: 0, repeated: 0"
    )
    assert "wrong answers stopped by independent solutions: 0" in done(nothing, verified=True)


def test_rejections_are_counted_by_reason() -> None:
    assert rejections(Counter()) == "0 rejected"
    assert rejections(Counter(wrong=9, cut=3)) == "12 rejected (wrong 9, cut 3)"


def test_an_estimate_of_many_calls_can_be_read() -> None:
    said = estimated(Estimate({}, 14_286, Usage(13_000_260, 21_429_000), 12.5, measured=True))
    calls, tokens = "14,286 calls", "13,000,260 tokens in, 21,429,000 out"
    assert said == f"estimate, by the calls so far: {calls}, {tokens}, $12.50"
