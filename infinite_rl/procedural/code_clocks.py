"""Times of the day and dates: shift, round, select, and report; the references count a calendar."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from .code import CodingTask, Family, Reference
from .draw import Draw

DAY = 24 * 60
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
Numbers = tuple[int, ...]  # the references use minutes of a day, or indices of the calendar
CLOCK_EDGES: tuple[tuple[list[str]], ...] = (
    ([],),
    (["00:00"],),
    (["23:59", "00:01"],),
    (["12:00", "12:30", "00:30"],),
    (["09:05", "09:05", "21:40"],),
)
DATE_EDGES: tuple[tuple[list[str]], ...] = (
    ([],),
    (["2024-02-29"],),
    (["2023-12-31", "2024-01-01"],),
    (["2023-01-31", "2023-02-28", "2023-03-01"],),
    (["2025-08-09", "2025-08-08", "2025-08-09"],),
)


def make(draw: Draw, level: int) -> CodingTask:
    """Times of a day or dates: read, change or select once or more, and report."""
    on_clock = draw.chance(0.5)
    kind = "clock" if on_clock else "date"
    story = FAMILY.draw_record(draw, f"{kind} stories")
    drawn = FAMILY.draw_shared(draw, f"{kind} stages")
    if on_clock:
        low = drawn["hour"] * 60 + drawn["minute"]
        high = low + drawn["hours"] * 60
        drawn |= {"low": low, "high": high, "from_time": clock(low), "to_time": clock(high)}
    rows = ["read_times" if on_clock else "read_dates"]
    rows += [row.name for row in draw.some(FAMILY.rows(f"{kind} stages"), level)]
    endings = "clock endings" if on_clock else draw.pick(("date texts", "date numbers"))
    ending = FAMILY.pick(draw, endings)
    steps = [*(FAMILY.step(draw, row, **drawn) for row in rows), ending]

    def draw_input() -> tuple[list[str]]:
        if on_clock:
            return ([clock(draw.below(DAY)) for _ in range(draw.between(3, 7))],)
        # Dates near each other, so that runs, weeks and months occur.
        first, spread = index_of("2001-01-01") + draw.below(9000), draw.pick((6, 12, 40, 90))
        return ([calendar()[first + draw.below(spread)] for _ in range(draw.between(4, 7))],)

    edges = CLOCK_EDGES if on_clock else DATE_EDGES
    task = FAMILY.pipeline(draw, steps, {**story, "on_clock": on_clock}, edges, draw_input)
    return replace(
        task, instructions=task.instructions[1:]
    )  # reading the text is a detail of the solution


# --- the clock and the calendar of the references


def clock(minutes: int) -> str:
    return ":".join(str(part).rjust(2, "0") for part in divmod(minutes % DAY, 60))


@cache
def clock_face() -> tuple[str, ...]:
    return tuple(map(clock, range(DAY)))


@cache
def calendar() -> tuple[str, ...]:
    """Every date from Monday, 1 January 1990, to the end of 2050, in order."""
    dates = []
    for year in range(1990, 2051):
        leap = year % 4 == 0  # in these years
        for month in range(1, 13):
            short = 30 if month in (4, 6, 9, 11) else 31
            length = (29 if leap else 28) if month == 2 else short
            dates += [f"{year}-{month:02}-{day:02}" for day in range(1, length + 1)]
    return tuple(dates)


@cache
def months() -> list[str]:
    return list(dict.fromkeys(text[:7] for text in calendar()))


def index_of(text: str) -> int:
    return bisect_left(calendar(), text)


def month_of(number: int) -> str:
    return calendar()[number][:7]


# --- references: of numbers and the parameters of the row


def keep(test: Callable[[int, Any], bool]) -> Reference:
    return lambda numbers, p: tuple(n for n in numbers if test(n, p))


def each(change: Callable[[int, Any], int]) -> Reference:
    return lambda numbers, p: tuple(change(n, p) for n in numbers)


def distinct(numbers: Numbers, p: Any) -> Numbers:
    return tuple(sorted(n for i, n in enumerate(numbers) if n not in numbers[:i]))


def months_on(n: int, p: Any) -> int:
    month = months()[months().index(month_of(n)) + p.months]
    return bisect_right(calendar(), month + calendar()[n][7:]) - 1


def wait(numbers: Numbers, p: Any) -> int:
    pairs = zip(numbers, numbers[1:], strict=False)
    waits = [b - a if b >= a else b - a + DAY for a, b in pairs]
    return sum(waits) if p.best == "sum" else max(waits, default=0)


def angle(n: int) -> int:
    apart = abs(n % 60 * 12 - n % 720)
    return min(apart, 720 - apart)


def twelve_hours(n: int) -> str:
    return f"{(12, *range(1, 13), *range(1, 12))[n // 60]}{clock(n)[2:]}{'ap'[n >= 720]}m"


def longest_run(numbers: Numbers, p: Any) -> int:
    lengths = (
        size
        for size in range(len(numbers), 0, -1)
        for n in numbers
        if all(n + i in numbers for i in range(size))
    )
    return next(lengths, 0)


def working_days(numbers: Numbers, p: Any) -> int:
    between = range(min(numbers), max(numbers) + 1) if numbers else range(0)
    return sum(WEEKDAYS[n % 7][0] != "S" for n in between)


# fmt: off
REFERENCES: dict[str, Reference] = {
    "read_times": lambda texts, p: tuple(bisect_left(clock_face(), text) for text in texts),
    "read_dates": lambda texts, p: tuple(map(index_of, texts)),
    "shifted": each(lambda n, p: bisect_left(clock_face(), clock(n + p.k if p.sign == "+" else n - p.k))),
    "rounded": each(lambda n, p: max(range(0, n + 1, p.grid))),
    "rounded_up": each(lambda n, p: min(range(0, DAY + 1, p.grid), key=lambda m: (m < n, m)) % DAY),
    "during": keep(lambda n, p: p.from_time <= clock(n) <= p.to_time),
    "outer": keep(lambda n, p: not p.from_time <= clock(n) <= p.to_time),
    "distinct_times": distinct,
    "later": each(lambda n, p: n + p.k),
    "moved": each(lambda n, p: next(m for m in range(n, n + 7) if m % 7 == p.w)),
    "weekend": keep(lambda n, p: (WEEKDAYS[n % 7][0] == "S") is p.free),
    "months_on": each(months_on),
    "firsts": each(lambda n, p: index_of(month_of(n) + "-01")),
    "distinct_dates": distinct,
    "written_times": lambda numbers, p: list(map(clock, numbers)),
    "extreme_time": lambda numbers, p: sorted(map(clock, numbers))[-1 if p.word == "latest" else 0] if numbers else "none",
    "twelve_hours": lambda numbers, p: list(map(twelve_hours, numbers)),
    "wait": wait,
    "angles": lambda numbers, p: list(map(angle, numbers)),
    "hour_counts": lambda numbers, p: dict(Counter(clock(n)[:2] for n in numbers)),
    "written_dates": lambda numbers, p: [calendar()[n] for n in numbers],
    "weekdays": lambda numbers, p: [WEEKDAYS[n % 7] for n in numbers],
    "month_counts": lambda numbers, p: dict(Counter(map(month_of, numbers))),
    "extent": lambda numbers, p: len(range(min(numbers), max(numbers))) if numbers else 0,
    "longest_run": longest_run,
    "days_of_year": lambda numbers, p: [n - index_of(f"{calendar()[n][:4]}-01-01") + 1 for n in numbers],
    "working_days": working_days,
}
# fmt: on
FAMILY = Family("clocks", REFERENCES)
