"""Times of the day and dates: shift, round, select, and report; the references count a calendar."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from .code import CodingTask, Ending, Step, task_of_steps, told_in_order
from .draw import Draw

DAY = 24 * 60
Numbers = tuple[int, ...]  # the references hold minutes of a day, or places in the calendar
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
CLOCK_STORIES = (
    ("A bus stop lists its departures.", "departures"),
    ("A bell tower keeps a list of its strikes.", "strikes"),
    ("A nurse notes when medicine is given.", "doses"),
    ("A door logs when it is opened.", "openings"),
    ("A baker sets several alarms.", "alarms"),
    ("", "times"),
)
DATE_STORIES = (
    ("A library stores when books are due.", "due_dates"),
    ("A clinic keeps a list of visits.", "visits"),
    ("A gardener writes down when it rained.", "rainy_days"),
    ("A team plans its releases.", "releases"),
    ("An office lists its deadlines.", "deadlines"),
    ("", "dates"),
)
VERBS = ("adjust", "check", "plan", "review", "convert", "study", "tidy")


def make(draw: Draw, level: int) -> CodingTask:
    """Times of a day or dates: read, change or select once or more, and report."""
    on_clock = draw.chance(0.5)
    story, name = draw.pick(CLOCK_STORIES if on_clock else DATE_STORIES)
    stages = clock_stages(draw) if on_clock else date_stages(draw)
    read = read_times() if on_clock else read_dates()
    middle = draw.some(stages, level)
    endings = clock_endings if on_clock else draw.pick((date_texts, date_numbers))
    ending, returns, how = draw.pick(endings(draw))
    steps = [read, *middle, ending]
    form = (
        'Every entry is a time of the day from "00:00" to "23:59", written as "HH:MM".'
        if on_clock
        else 'Every entry is a valid date of the years 2000 to 2040, written as "YYYY-MM-DD".'
    )
    task = task_of_steps(
        draw,
        steps,
        name=f"{draw.pick(VERBS)}_{name}",
        param=(name, "words"),
        returns=returns,
        story=story,
        rules=(
            form,
            draw.pick(
                (
                    f"`{name}` may be empty, may hold repetitions, and is in no particular order.",
                    f"The entries of `{name}` come in any order and may repeat; there may be none.",
                )
            ),
        ),
        plan=(*told_in_order(steps), how),
        edges=CLOCK_EDGES if on_clock else DATE_EDGES,
        fresh=(lambda: (fresh_times(draw),)) if on_clock else (lambda: (fresh_dates(draw),)),
    )
    return replace(task, says=task.says[1:])  # reading the text is the solution's own affair


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


def fresh_times(draw: Draw) -> list[str]:
    return [clock(draw.below(DAY)) for _ in range(draw.between(3, 7))]


def fresh_dates(draw: Draw) -> list[str]:
    """Dates near each other, so that runs, weeks and months are met."""
    first, spread = place("2001-01-01") + draw.below(9000), draw.pick((6, 12, 40, 90))
    return [iso(first + draw.below(spread)) for _ in range(draw.between(4, 7))]


# --- the references' own clock and calendar


def clock(minutes: int) -> str:
    return ":".join(str(part).rjust(2, "0") for part in divmod(minutes % DAY, 60))


@cache
def clock_face() -> tuple[str, ...]:
    return tuple(map(clock, range(DAY)))


@cache
def list_of_months() -> list[str]:
    return list(dict.fromkeys(text[:7] for text in calendar()))


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


def place(text: str) -> int:
    return bisect_left(calendar(), text)


def iso(number: int) -> str:
    return calendar()[number]


def month_of(number: int) -> str:
    return iso(number)[:7]


# --- stages


def read_times() -> Step:
    return Step(
        "turn every time into minutes since midnight",
        "[int(text[:2]) * 60 + int(text[3:]) for text in IT]",
        "IT.map((text) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3)))",
        lambda texts: tuple(bisect_left(clock_face(), text) for text in texts),
        "minutes",
    )


def read_dates() -> Step:
    return Step(
        "turn every date into a number that grows by 1 from day to day",
        "[date.fromisoformat(text).toordinal() for text in IT]",
        "IT.map((text) => Date.parse(text) / 86400000)",
        lambda texts: tuple(map(place, texts)),
        "days",
        head_python="from datetime import date",
    )


def changing(
    say: str, python: str, javascript: str, change: Callable[[int], int], out: str, **heads: str
) -> Step:
    return Step(
        say,
        f"[{python} for n in IT]",
        f"IT.map((n) => {javascript})",
        lambda numbers: tuple(map(change, numbers)),
        out,
        **heads,
    )


def keeping(say: str, python: str, javascript: str, test: Callable[[int], bool], out: str) -> Step:
    return Step(
        say,
        f"[n for n in IT if {python}]",
        f"IT.filter((n) => {javascript})",
        lambda numbers: tuple(filter(test, numbers)),
        out,
    )


def unique(what: str) -> Step:
    return Step(
        f"put the {what} in ascending order and drop repetitions",
        "sorted(set(IT))",
        "[...new Set(IT)].sort((a, b) => a - b)",
        lambda numbers: tuple(
            sorted(numbers[i] for i in range(len(numbers)) if numbers[i] not in numbers[:i])
        ),
        "ordered",
    )


def clock_stages(draw: Draw) -> list[Step]:
    k, grid = draw.between(25, 400), draw.pick((5, 10, 15, 20, 30, 60))
    low = draw.between(3, 10) * 60 + draw.pick((0, 15, 30))
    high = low + draw.between(5, 11) * 60
    shift, sign = draw.pick((("later", "+"), ("earlier", "-")))
    signed = k if sign == "+" else -k
    return [
        changing(
            f"make every time {k} minutes {shift}, on a 24-hour clock that passes from 23:59 to 00:00",
            f"(n {sign} {k}) % 1440",
            f"(n {sign} {k} + 1440) % 1440",
            lambda n: bisect_left(clock_face(), clock(n + signed)),
            "shifted",
        ),
        changing(
            f"round every time down to a multiple of {grid} minutes since midnight",
            f"n - n % {grid}",
            f"n - (n % {grid})",
            lambda n: max(range(0, n + 1, grid)),
            "rounded",
        ),
        changing(
            f"round every time up to a multiple of {grid} minutes since midnight (24:00 becomes 00:00)",
            f"(n + {grid - 1}) // {grid} * {grid} % 1440",
            f"(Math.ceil(n / {grid}) * {grid}) % 1440",
            lambda n: min(range(0, DAY + 1, grid), key=lambda m: (m < n, m)) % DAY,
            "rounded_up",
        ),
        keeping(
            f"keep only the times from {clock(low)} to {clock(high)}, both included",
            f"{low} <= n <= {high}",
            f"n >= {low} && n <= {high}",
            lambda n: clock(low) <= clock(n) <= clock(high),
            "kept",
        ),
        keeping(
            f"keep only the times before {clock(low)} and those after {clock(high)}",
            f"n < {low} or n > {high}",
            f"n < {low} || n > {high}",
            lambda n: not clock(low) <= clock(n) <= clock(high),
            "outer",
        ),
        unique("times"),
    ]


def date_stages(draw: Draw) -> list[Step]:
    k, w = draw.between(3, 40), draw.below(7)
    return [
        changing(
            f"make every date {k} days later", f"n + {k}", f"n + {k}", lambda n: n + k, "later"
        ),
        changing(
            f"replace every date by the first {WEEKDAYS[w]} that is not before it",
            f"n + ({w + 1} - n) % 7",
            f"n + ((({w + 4} - n) % 7) + 7) % 7",
            lambda n: next(m for m in range(n, n + 7) if m % 7 == w),
            "moved",
        ),
        *(weekend(draw.chance(0.5)), months_later(draw.pick((1, 2, 3, 6, 12)))),
        changing(
            "replace every date by the first day of its month",
            "n - date.fromordinal(n).day + 1",
            "n - new Date(n * 86400000).getUTCDate() + 1",
            lambda n: place(month_of(n) + "-01"),
            "firsts",
        ),
        unique("dates"),
    ]


def weekend(free: bool) -> Step:
    return keeping(
        f"keep only the dates that fall on {'a Saturday or Sunday' if free else 'Monday to Friday'}",
        f"n % 7 {'in' if free else 'not in'} (6, 0)",
        f"{'' if free else '!'}[2, 3].includes(n % 7)",
        lambda n: (WEEKDAYS[n % 7][0] == "S") is free,
        "weekend_days" if free else "working_days",
    )


def months_later(k: int) -> Step:
    def later(n: int) -> int:
        months = list_of_months()
        month = months[months.index(month_of(n)) + k]
        return bisect_right(calendar(), month + iso(n)[7:]) - 1

    return changing(
        f"make every date {f'{k} months' if k > 1 else '1 month'} later, keeping the day of the month, or taking the last day of the month where that is too short",
        f"months_later(n, {k})",
        f"monthsLater(n, {k})",
        later,
        "next_dates",
        head_python="def months_later(n: int, count: int) -> int:\n    day = date.fromordinal(n)\n    month = day.year * 12 + day.month - 1 + count\n    first = date(month // 12, month % 12 + 1, 1).toordinal()\n    last = date((month + 1) // 12, (month + 1) % 12 + 1, 1).toordinal() - 1\n    return min(first + day.day - 1, last)",
        head_javascript="function monthsLater(n, count) {\n  const day = new Date(n * 86400000);\n  const [year, month] = [day.getUTCFullYear(), day.getUTCMonth() + count];\n  const last = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();\n  return Date.UTC(year, month, Math.min(day.getUTCDate(), last)) / 86400000;\n}",
    )


# --- the last stage, for times


def clock_endings(draw: Draw) -> tuple[Ending, ...]:
    late = draw.chance(0.5)
    best, word = ("max", "latest") if late else ("min", "earliest")
    python_text = 'f"{{{0} // 60:02}}:{{{0} % 60:02}}"'
    js_text = "`${{String(Math.floor({0} / 60)).padStart(2, '0')}}:${{String({0} % 60).padStart(2, '0')}}`"
    return (
        (
            Step(
                'return the times as a list of strings "HH:MM", in the order that they have now',
                f"[{python_text.format('n')} for n in IT]",
                f"IT.map((n) => {js_text.format('n')})",
                lambda numbers: list(map(clock, numbers)),
            ),
            "words",
            "Hours and minutes are the quotient and the remainder on division by 60, with two digits each.",
        ),
        (
            Step(
                f'return the {word} time as "HH:MM" (the string none if there is none)',
                f'{best}_minutes = {best}(IT, default=-1)\nOUT = {python_text.format(best + "_minutes")} if IT else "none"',
                f"const found = Math.{best}(...IT);\nconst OUT = IT.length > 0 ? {js_text.format('found')} : 'none';",
                lambda numbers: (
                    sorted(map(clock, numbers))[-1 if late else 0] if numbers else "none"
                ),
                word,
            ),
            "text",
            "Minutes since midnight are compared as numbers, and written as hours and minutes in the end.",
        ),
        (
            Step(
                'return the times in the 12-hour form, such as "12:05am", "9:30am", "12:00pm" or "4:07pm", in the order that they have now',
                "[f\"{(n // 60 + 11) % 12 + 1}:{n % 60:02}{'am' if n < 720 else 'pm'}\" for n in IT]",
                "IT.map((n) => `${((Math.floor(n / 60) + 11) % 12) + 1}:${String(n % 60).padStart(2, '0')}${n < 720 ? 'am' : 'pm'}`)",
                lambda numbers: [
                    f"{(12, *range(1, 13), *range(1, 12))[n // 60]}{clock(n)[2:]}{'ap'[n >= 720]}m"
                    for n in numbers
                ],
            ),
            "words",
            "The hour 0 is written 12, and the hours after 12 lose 12.",
        ),
        *clock_numbers(draw),
    )


def clock_numbers(draw: Draw) -> tuple[Ending, ...]:
    best, word = draw.pick((("sum", "sum"), ("max", "largest")))
    gaps = "(b - a) % 1440 for a, b in zip(IT, IT[1:])"
    python = f"sum({gaps})" if best == "sum" else f"max(({gaps}), default=0)"
    js_best = "waits.reduce((a, b) => a + b, 0)" if best == "sum" else "Math.max(0, ...waits)"

    def waits(numbers: Numbers) -> list[int]:
        pairs = zip(numbers, numbers[1:], strict=False)
        return [b - a if b >= a else b - a + DAY for a, b in pairs]

    def angle(n: int) -> int:
        apart = abs(n % 60 * 12 - n % 720)
        return min(apart, 720 - apart)

    return (
        (
            Step(
                f"return the {word} of the waits between neighbours in the list, in minutes, where a wait is the time until a 24-hour clock shows the next entry, so from 0 for equal entries to 1439 (return 0 if there is no wait)",
                python,
                f"const waits = IT.slice(1).map((n, i) => (n - IT[i] + 1440) % 1440);\nconst OUT = {js_best};",
                lambda numbers: (
                    sum(waits(numbers)) if best == "sum" else max(waits(numbers), default=0)
                ),
                "wait",
            ),
            "int",
            "A difference below zero means that midnight is passed, so waits are counted modulo 1440.",
        ),
        (
            Step(
                "return for each time the angle of at most 180 degrees between hour hand and minute hand, in half degrees, as a list in the order that the times have now (both hands move steadily: in a minute, the hour hand by one half degree, the minute hand by twelve)",
                "[min(11 * n % 720, 720 - 11 * n % 720) for n in IT]",
                "IT.map((n) => Math.min((11 * n) % 720, 720 - ((11 * n) % 720)))",
                lambda numbers: list(map(angle, numbers)),
            ),
            "ints",
            "The minute hand gains 11 half degrees a minute on the hour hand; a full turn has 720.",
        ),
        (
            Step(
                'return for each hour that occurs how many of the times lie in it; the keys are strings such as "07"',
                'OUT: dict[str, int] = {}\nfor n in IT:\n    OUT[f"{n // 60:02}"] = OUT.get(f"{n // 60:02}", 0) + 1',
                "const OUT = {};\nfor (const n of IT) {\n  const hour = String(Math.floor(n / 60)).padStart(2, '0');\n  OUT[hour] = (OUT[hour] ?? 0) + 1;\n}",
                lambda numbers: dict(Counter(clock(n)[:2] for n in numbers)),
                "counts",
            ),
            "totals",
            "The hour is the quotient on division by 60.",
        ),
    )


# --- the last stage, for dates


def date_texts(draw: Draw) -> tuple[Ending, ...]:
    listed = ", ".join(WEEKDAYS)
    js_names = ", ".join(f"'{name}'" for name in ("Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"))
    return (
        (
            Step(
                'return the dates as a list of strings "YYYY-MM-DD", in the order that they have now',
                "[date.fromordinal(n).isoformat() for n in IT]",
                "IT.map((n) => new Date(n * 86400000).toISOString().slice(0, 10))",
                lambda numbers: list(map(iso, numbers)),
            ),
            "words",
            "The library turns the numbers into dates again.",
        ),
        (
            Step(
                f"return the days of the week of the dates, in the order that they have now, as a list of the strings {listed}",
                f"[{WEEKDAYS}[(n - 1) % 7] for n in IT]".replace("'", '"'),
                f"IT.map((n) => [{js_names}][n % 7])",
                lambda numbers: [WEEKDAYS[n % 7] for n in numbers],
            ),
            "words",
            "The remainder of the number on division by 7 tells the day of the week.",
        ),
        (
            Step(
                'return how many of the dates lie in each month that occurs; the keys are strings "YYYY-MM"',
                "OUT: dict[str, int] = {}\nfor n in IT:\n    month = date.fromordinal(n).isoformat()[:7]\n    OUT[month] = OUT.get(month, 0) + 1",
                "const OUT = {};\nfor (const n of IT) {\n  const month = new Date(n * 86400000).toISOString().slice(0, 7);\n  OUT[month] = (OUT[month] ?? 0) + 1;\n}",
                lambda numbers: dict(Counter(map(month_of, numbers))),
                "counts",
            ),
            "totals",
            "The first seven characters of a written date are its year and month.",
        ),
    )


def date_numbers(draw: Draw) -> tuple[Ending, ...]:
    def run(numbers: Numbers) -> int:
        lengths = (
            size
            for size in range(len(numbers), 0, -1)
            for n in numbers
            if all(n + i in numbers for i in range(size))
        )
        return next(lengths, 0)

    def working(numbers: Numbers) -> int:
        between = range(min(numbers), max(numbers) + 1) if numbers else range(0)
        return sum(WEEKDAYS[n % 7][0] != "S" for n in between)

    return (
        (
            Step(
                "return the number of days from the earliest of the dates to the latest (0 if there are none)",
                "max(IT) - min(IT) if IT else 0",
                "IT.length > 0 ? Math.max(...IT) - Math.min(...IT) : 0",
                lambda numbers: len(range(min(numbers), max(numbers))) if numbers else 0,
            ),
            "int",
            "The numbers of the days can simply be subtracted.",
        ),
        (
            Step(
                "return the length of the longest run of consecutive days among the dates (0 if there are none)",
                "lengths = dict.fromkeys(sorted(IT), 0)\nfor n in lengths:\n    lengths[n] = lengths.get(n - 1, 0) + 1\nOUT = max(lengths.values(), default=0)",
                "const lengths = new Map();\nfor (const n of IT.slice().sort((a, b) => a - b)) lengths.set(n, (lengths.get(n - 1) ?? 0) + 1);\nconst OUT = Math.max(0, ...lengths.values());",
                run,
                "longest",
            ),
            "int",
            "In ascending order, the run that ends on a day is one longer than the run that ends on the day before.",
        ),
        (
            Step(
                "return for each date which day of its year it is (1 January is day 1), as a list in the order that the dates have now",
                "[date.fromordinal(n).timetuple().tm_yday for n in IT]",
                "IT.map((n) => n - Date.UTC(new Date(n * 86400000).getUTCFullYear(), 0, 1) / 86400000 + 1)",
                lambda numbers: [n - place(f"{iso(n)[:4]}-01-01") + 1 for n in numbers],
            ),
            "ints",
            "It is the distance from the first day of the year, plus one.",
        ),
        (
            Step(
                "return the number of days from Monday to Friday that lie between the earliest and the latest of the dates, both included (0 if there are none)",
                "first, last = min(IT, default=1), max(IT, default=0)\nOUT = sum(1 for n in range(first, last + 1) if n % 7 not in (6, 0))",
                "const first = Math.min(...IT);\nconst last = Math.max(...IT);\nlet OUT = 0;\nfor (let n = first; n <= last; n += 1) {\n  if (n % 7 !== 2 && n % 7 !== 3) OUT += 1;\n}",
                working,
                "working",
            ),
            "int",
            "We go through all days from the earliest to the latest and look at the day of the week.",
        ),
    )
