"""What a person sees while a run goes on, at every width of a terminal."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import replace

import pytest
from rich.console import Console

from infinite_rl.cli.display import PlainDisplay, display, estimated, in_flight, rejections
from infinite_rl.generation.progress import Estimate, Progress
from infinite_rl.types import Usage


def terminal(width: int) -> tuple[Console, io.StringIO]:
    screen = io.StringIO()
    return Console(file=screen, force_terminal=True, width=width, color_system=None), screen


def a_run_with_trouble() -> Progress:
    rejected = Counter({"wrong": 190, "duplicate": 33, "no completion": 12, "cut off": 4})
    return Progress(
        targets={"coding": 1000, "math": 1000},
        present={"coding": 100, "math": 10},
        accepted=Counter(coding=400, math=500),
        rejected=rejected,
        in_flight=64,
        given_up={"math": "5 samples in a row failed"},
    )


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_numbers_stay_readable_however_many_reasons_there_are(width: int) -> None:
    console, screen = terminal(width)
    with display(console) as show:
        show(a_run_with_trouble())
    shown = screen.getvalue()
    for number in ("500/1000", "510/1000", "1010/2000", "given up", "64 in flight, 239 rejected"):
        assert number in shown


def test_a_terminal_too_narrow_for_bars_gets_plain_lines() -> None:
    assert isinstance(display(terminal(40)[0]), PlainDisplay)


def test_what_is_no_terminal_gets_plain_lines() -> None:
    assert isinstance(display(Console(file=io.StringIO(), width=120)), PlainDisplay)


def test_a_run_that_its_provider_has_slowed_says_so_on_any_screen() -> None:
    slowed = replace(a_run_with_trouble(), cap=12, most=64)
    assert in_flight(replace(slowed, cap=64)) == "64 in flight"
    console, screen = terminal(120)
    with display(console) as show:
        show(slowed)
    lines = io.StringIO()
    plain = PlainDisplay(Console(file=lines, width=120))
    plain._start = 1.0  # a run that began long ago: its next line is due
    plain(slowed)
    for shown in (screen.getvalue(), lines.getvalue()):
        assert "64 in flight, slowed to 12 of 64 calls at once by the provider" in shown


def test_rejections_are_counted_by_reason() -> None:
    assert rejections(Counter()) == "0 rejected"
    assert rejections(Counter(wrong=9, cut=3)) == "12 rejected (wrong 9, cut 3)"


def test_an_estimate_of_many_calls_can_be_read() -> None:
    said = estimated(Estimate({}, 14_286, Usage(13_000_260, 21_429_000), 12.5, measured=True))
    calls, tokens = "14,286 calls", "13,000,260 tokens in, 21,429,000 out"
    assert said == f"estimate, by the calls so far: {calls}, {tokens}, $12.50"
