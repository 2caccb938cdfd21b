"""Times of the day and dates: shift, round, select, and report."""

from dataclasses import replace
from datetime import date

from .code import CodingTask, Family
from .draw import Draw

LEVELS = (1, 2, 3)
DAY = 24 * 60
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
        first = date(2001, 1, 1).toordinal() + draw.below(9000)
        spread = draw.pick((6, 12, 40, 90))
        days = [first + draw.below(spread) for _ in range(draw.between(4, 7))]
        return ([date.fromordinal(day).isoformat() for day in days],)

    edges = CLOCK_EDGES if on_clock else DATE_EDGES
    task = FAMILY.pipeline(draw, steps, {**story, "on_clock": on_clock}, edges, draw_input)
    # Reading the text is a detail of the solution.
    return replace(task, instructions=task.instructions[1:])


def clock(minutes: int) -> str:
    return f"{minutes // 60:02}:{minutes % 60:02}"


FAMILY = Family("clocks")
