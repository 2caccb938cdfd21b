"""Coding tasks, carried out from the words of their prompts; and inputs wider than their own.

An oracle beside the solutions and references of the templates, with which it shares no code.
`solver` reads a task's sentences; `wide_inputs` draws arguments that these sentences allow.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from procedural_stages import (
    CHARACTERS,
    GRIDS,
    INTERVALS,
    NUMBERS,
    WORDS,
    Order,
    Stage,
    Table,
    Unread,
    digits,
    each,
    first_of_each,
    kept,
    records,
    stage,
)

from infinite_rl.procedural.code import CodingTask
from infinite_rl.procedural.draw import Draw

Solver = Callable[..., Any]
ORDERS: Mapping[str, Order] = {
    "python": lambda text: [ord(c) for c in text],
    "javascript": lambda text: text.encode("utf-16-be"),  # by its 16-bit units
}


def solver(family: str, task: CodingTask, language: str) -> Solver:
    """The function that the task's sentences ask for. Raises `Unread` for an unknown sentence."""
    order = ORDERS[language]
    if family in READERS:
        return READERS[family](task)
    says = list(task.instructions)
    first: list[Stage] = []
    if family == "parsing":
        first = [reader(task.rules[0])]
        del says[0]
    if family == "clocks":
        first = [read_clock]
    tables: Mapping[str, tuple[Table, ...]] = {
        "sequences": (NUMBERS,),
        "parsing": (NUMBERS,),
        "strings": (WORDS, CHARACTERS),
        "grids": (GRIDS,),
        "records": (records(order),),
        "intervals": (INTERVALS,),
        "graphs": (graphs(order),),
        "clocks": (CLOCKS,),
    }
    stages = [*first, *(stage(tables[family], say) for say in says)]

    def run(value: Any) -> Any:
        for step in stages:
            value = step(value)
        return value

    return run


def read(pattern: str, text: str) -> re.Match[str]:
    match = re.fullmatch(pattern, text, re.DOTALL)
    if match is None:
        raise Unread(f"{text!r} is not {pattern!r}")
    return match


# --- graphs

Links = list[tuple[str, str, int]]
FAR = float("inf")


def distances(links: Links, weighted: bool) -> dict[tuple[str, str], float]:
    """The shortest way between any two names, by Floyd and Warshall."""
    names = {name for link in links for name in link[:2]}
    best = {(a, b): 0.0 if a == b else FAR for a in names for b in names}
    for a, b, length in links:
        best[a, b] = min(best[a, b], length if weighted else 1)
    for via in names:
        for a in names:
            for b in names:
                best[a, b] = min(best[a, b], best[a, via] + best[via, b])
    return best


def reached(links: Links, start: str) -> dict[str, int]:
    far = distances(links, weighted=False)
    return {start: 0} | {b: int(d) for (a, b), d in far.items() if a == start and d < FAR}


def way(links: Links, start: str, goal: str, weighted: bool) -> int:
    if start == goal:
        return 0
    far = distances(links, weighted).get((start, goal), FAR)
    return -1 if far == FAR else int(far)


def groups(links: Links) -> list[int]:
    """The sizes of the groups, by union and find."""
    root: dict[str, str] = {}

    def find(name: str) -> str:
        root.setdefault(name, name)
        while root[name] != name:
            name = root[name]
        return name

    for a, b, _ in links:
        root[find(a)] = find(b)
    roots = [find(name) for name in list(root)]
    return [roots.count(one) for one in set(roots)]


def arranged(links: Links, order: Order) -> list[str]:
    """Kahn's algorithm, with a heap."""
    names = {name for link in links for name in link[:2]}
    waits = {name: sum(b == name for _, b, _ in links) for name in names}
    ready = [(order(name), name) for name in names if waits[name] == 0]
    heapq.heapify(ready)
    done: list[str] = []
    while ready:
        _, name = heapq.heappop(ready)
        done.append(name)
        for a, b, _ in links:
            if a == name:
                waits[b] -= 1
                if waits[b] == 0:
                    heapq.heappush(ready, (order(b), b))
    return done


def forest(links: Links) -> int:
    """Prim's algorithm, from every name that is not yet joined."""
    total, inside = 0, set[str]()
    for start in {a for a, _, _ in links}:
        if start in inside:
            continue
        inside.add(start)
        while edge := [link for link in links if (link[0] in inside) != (link[1] in inside)]:
            a, b, length = min(edge, key=lambda link: link[2])
            total += length
            inside |= {a, b}
    return total


def longest_way(links: Links, weighted: bool) -> int:
    @cache
    def after(name: str) -> int:
        return max(((n if weighted else 1) + after(b) for a, b, n in links if a == name), default=0)

    return max((after(a) for a, _, _ in links), default=0)


def ways(links: Links, start: str, goal: str) -> int:
    @cache
    def from_here(name: str) -> int:
        return (name == goal) + sum(from_here(b) for a, b, _ in links if a == name)

    return from_here(start)


def total_of(links: Links, index: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for link in links:
        found[link[index]] = link[2] + found.get(link[index], 0)
    return found


ENDS = {"start": 0, "end": 1}


def graphs(order: Order) -> Table:
    def busiest(links: Links, index: int) -> str:
        ends = [link[index] for link in links]
        tied = [name for name in ends if ends.count(name) == max(map(ends.count, ends))]
        return min(tied, key=order, default="")

    def only(links: Links, index: int) -> list[str]:
        there = {link[index] for link in links} - {link[1 - index] for link in links}
        return sorted(there, key=order)

    def mutual(links: Links) -> int:
        return len(
            {frozenset((a, b)) for a, b, _ in links if any(link[:2] == (b, a) for link in links)}
        )

    return {
        r"ignore all links longer than (\d+)": lambda k: kept(lambda link: link[2] <= k),
        r"ignore all links shorter than (\d+)": lambda k: kept(lambda link: link[2] >= k),
        r"ignore all links that start or end at (\w+)": lambda out: kept(
            lambda link: out not in link[:2]
        ),
        "add to every link the one that leads back, with the same length": lambda: (
            lambda links: [*links, *((b, a, n) for a, b, n in links)]
        ),
        "turn every link around": lambda: each(lambda link: (link[1], link[0], link[2])),
        "ignore all links that do not lead forwards in the alphabet .*": lambda: kept(
            lambda link: order(link[0]) < order(link[1])
        ),
        r"return all names that can be reached from (\w+) along links .*": lambda start: (
            lambda links: sorted(reached(links, start), key=order)
        ),
        r"return the smallest number of links that lead from (\w+) to (\w+) \(.*\)": lambda a, b: (
            lambda links: way(links, a, b, weighted=False)
        ),
        r"take, for each name that can be reached from (\w+), the smallest number .*": lambda a: (
            lambda links: max(reached(links, a).values())
        ),
        r"return the smallest total length of a way along links from (\w+) to (\w+) \(.*\)": (
            lambda a, b: lambda links: way(links, a, b, weighted=True)
        ),
        "return the number of groups of names that occur in links, .*": lambda: (
            lambda links: len(groups(links))
        ),
        r"return the number of names in the largest group \(0 if there is none\), .*": lambda: (
            lambda links: max(groups(links), default=0)
        ),
        "return a list of names that is built up like this: .*": lambda: (
            lambda links: arranged(links, order)
        ),
        "return how many of the names that occur in links lie on a cycle or .*": lambda: (
            lambda links: len({n for link in links for n in link[:2]}) - len(arranged(links, order))
        ),
        "return the smallest total length of links that one must keep .*": lambda: forest,
        r"return the names at which some link (start|end)s but none (?:start|end)s, .*": lambda word: (
            lambda links: only(links, ENDS[word])
        ),
        r"return for each name at which some link (start|end)s the total length .*": lambda word: (
            lambda links: total_of(links, ENDS[word])
        ),
        r"return the name at which the most links (start|end), .*": lambda word: (
            lambda links: busiest(links, ENDS[word])
        ),
        "return how many pairs of names are linked in both directions": lambda: mutual,
        r"return the largest (total length|number of links) of a way along links, .*": lambda what: (
            lambda links: longest_way(links, what == "total length")
        ),
        r"return the number of different ways along links from (\w+) to (\w+), .*": lambda a, b: (
            lambda links: ways(links, a, b)
        ),
    }


# --- clocks: times as minutes, dates as (year, month, day)

Date = tuple[int, int, int]
WEEK = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def read_clock(texts: list[str]) -> list[Any]:
    return [
        tuple(map(int, text.split("-"))) if "-" in text else int(text[:2]) * 60 + int(text[3:])
        for text in texts
    ]


def days_in(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 400 == 0 or (year % 4 == 0 and year % 100) else 28
    return 31 - (month in (4, 6, 9, 11))


def next_day(date: Date) -> Date:
    year, month, day = date
    if day < days_in(year, month):
        return year, month, day + 1
    return (year, month + 1, 1) if month < 12 else (year + 1, 1, 1)


def days_later(date: Date, count: int) -> Date:
    for _ in range(count):
        date = next_day(date)
    return date


def weekday(date: Date) -> int:
    """By Zeller's congruence; 0 is Monday."""
    year, month, day = date
    year, month = (year - 1, month + 12) if month < 3 else (year, month)
    return (day + 13 * (month + 1) // 5 + year + year // 4 - year // 100 + year // 400 + 5) % 7


def until_weekday(date: Date, wanted: int) -> Date:
    while weekday(date) != wanted:
        date = next_day(date)
    return date


def months_later(date: Date, count: int) -> Date:
    year, month, day = date
    for _ in range(count):
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)
    return year, month, min(day, days_in(year, month))


def day_number(date: Date) -> int:
    """The number of days before the date since 1 January of the year 1."""
    year, month, day = date
    past = year - 1
    leaps = past // 4 - past // 100 + past // 400
    return past * 365 + leaps + sum(days_in(year, m) for m in range(1, month)) + day - 1


def longest_run(dates: list[Date]) -> int:
    best, there = 0, set(dates)
    for date in there:
        size = 1
        while (date := next_day(date)) in there:
            size += 1
        best = max(best, size)
    return best


def dashed(date: Date) -> str:
    return f"{date[0]:04d}-{date[1]:02d}-{date[2]:02d}"


def hhmm(n: int) -> str:
    return f"{n // 60:02d}:{n % 60:02d}"


def twelve(n: int) -> str:
    hour, half = n // 60, "am" if n < 12 * 60 else "pm"
    return f"{hour - 12 if hour > 12 else hour or 12}:{n % 60:02d}{half}"


def waits(times: list[int]) -> list[int]:
    return [next(w for w in range(1440) if (a + w) % 1440 == b) for a, b in pairwise(times)]


def angle(n: int) -> int:
    """Half degrees between the hands, which are n and 12n half degrees from the top."""
    apart = abs(n % 720 - 12 * n % 720)
    return apart if apart <= 360 else 720 - apart


def counted(names: Sequence[str]) -> dict[str, int]:
    return {name: names.count(name) for name in sorted(set(names))}


def minutes(text: str) -> int:
    return int(text.split(":")[0]) * 60 + int(text.split(":")[1])


WEEKEND = ("Sat", "Sun")
CLOCKS: Table = {
    r"make every time (\d+) minutes (later|earlier), .*": lambda k, how: each(
        lambda n: (n + (k if how == "later" else 1440 * 2 - k)) % 1440
    ),
    r"round every time down to a multiple of (\d+) minutes .*": lambda k: each(
        lambda n: k * (n // k)
    ),
    r"round every time up to a multiple of (\d+) minutes .*": lambda k: each(
        lambda n: -(-n // k) * k % 1440
    ),
    r"keep only the times from (\S+) to (\S+), both included": lambda a, b: kept(
        lambda n: minutes(a) <= n <= minutes(b)
    ),
    r"keep only the times before (\S+) and those after (\S+)": lambda a, b: kept(
        lambda n: n < minutes(a) or n > minutes(b)
    ),
    "put the (?:times|dates) in ascending order and drop repetitions": lambda: (
        lambda values: first_of_each(sorted(values))
    ),
    r"make every date (\d+) days later": lambda k: each(lambda date: days_later(date, k)),
    r"replace every date by the first (\w+) that is not before it": lambda name: each(
        lambda date: until_weekday(date, WEEK.index(name))
    ),
    "keep only the dates that fall on a Saturday or Sunday": lambda: kept(
        lambda date: WEEK[weekday(date)] in WEEKEND
    ),
    "keep only the dates that fall on Monday to Friday": lambda: kept(
        lambda date: WEEK[weekday(date)] not in WEEKEND
    ),
    r"make every date (\d+) months? later, .*": lambda k: each(lambda date: months_later(date, k)),
    "replace every date by the first day of its month": lambda: each(
        lambda date: (date[0], date[1], 1)
    ),
    'return the times as a list of strings "HH:MM", .*': lambda: each(hhmm),
    r'return the (latest|earliest) time as "HH:MM" .*': lambda word: (
        lambda v: hhmm((max if word == "latest" else min)(v)) if v else "none"
    ),
    "return the times in the 12-hour form, .*": lambda: each(twelve),
    r"return the (sum|largest) of the waits .*": lambda word: (
        lambda v: sum(waits(v)) if word == "sum" else max(waits(v), default=0)
    ),
    "return for each time the angle .*": lambda: each(angle),
    "return for each hour that occurs how many .*": lambda: (
        lambda v: counted([f"{n // 60:02d}" for n in v])
    ),
    'return the dates as a list of strings "YYYY-MM-DD", .*': lambda: each(dashed),
    "return the days of the week of the dates, .*": lambda: each(lambda date: WEEK[weekday(date)]),
    "return how many of the dates lie in each month that occurs; .*": lambda: (
        lambda v: counted([dashed(date)[:7] for date in v])
    ),
    "return the number of days from the earliest of the dates to the latest .*": lambda: (
        lambda v: day_number(max(v)) - day_number(min(v)) if v else 0
    ),
    "return the length of the longest run of consecutive days .*": lambda: longest_run,
    "return for each date which day of its year it is .*": lambda: each(
        lambda date: day_number(date) - day_number((date[0], 1, 1)) + 1
    ),
    "return the number of days from Monday to Friday that lie between .*": lambda: (
        lambda v: working_days(min(v), max(v)) if v else 0
    ),
}


def working_days(first: Date, last: Date) -> int:
    whole, rest = divmod(day_number(last) - day_number(first) + 1, 7)
    return 5 * whole + sum((weekday(first) + i) % 7 < 5 for i in range(rest))


# --- parsing: the small languages, by their descriptions

ROMAN = (("L", 50), ("XL", 40), ("X", 10), ("IX", 9), ("V", 5), ("IV", 4), ("I", 1))
APPLY: Mapping[str, Callable[[int, int], int]] = {
    "adds": lambda a, b: a + b,
    "multiplies": lambda a, b: a * b,
    "takes the smaller number": lambda a, b: a if a < b else b,
    "takes the larger number": lambda a, b: a if a > b else b,
}
SEPARATORS = {"semicolons": ";", "slashes": "/", "commas": ",", "single spaces": " "}


def reader(rule: str) -> Stage:
    separator, form = form_of(rule)
    part = part_reader(form)
    return lambda text: [n for piece in text.split(separator) for n in part(piece)]


def form_of(rule: str) -> tuple[str, str]:
    match = read(r"`\w+` has one or more parts, separated by ([a-z ]+)\. (.+)", rule)
    return SEPARATORS[match[1]], match[2]


def operators_of(form: str) -> dict[str, Callable[[int, int], int]]:
    found = re.findall(r"`(.)` (adds|multiplies|takes the \w+ number)", form)
    return {sign: APPLY[word] for sign, word in found}


def ranged(part: str, mark: str) -> list[int]:
    first, _, last = part.partition(mark)
    a, b = int(first), int(last or first)
    return list(range(a, b + 1)) if a <= b else list(range(b, a + 1))[::-1]


def repeated(part: str, mark: str, count_first: bool) -> list[int]:
    if mark not in part:
        return [int(part)]
    one, two = part.split(mark)
    return [int(two)] * int(one) if count_first else [int(one)] * int(two)


def duration(part: str, units: Mapping[str, int]) -> int:
    total = 0
    for piece in re.findall(r"\d+\D", part):
        total += int(piece[:-1]) * units[piece[-1]]
    return total


def roman(part: str) -> int:
    total = 0
    for sign, value in ROMAN:
        while part.startswith(sign):
            total, part = total + value, part[len(sign) :]
    return total


def infix(
    part: str, ranks: Mapping[str, int], apply: Mapping[str, Callable[[int, int], int]]
) -> int:
    """Dijkstra's two stacks."""
    values: list[int] = []
    signs: list[str] = []

    def reduce() -> None:
        right = values.pop()
        values.append(apply[signs.pop()](values.pop(), right))

    for token in re.findall(r"\d+|.", part):
        if token.isdigit():
            values.append(int(token))
        elif token == "(":
            signs.append(token)
        elif token == ")":
            while signs[-1] != "(":
                reduce()
            signs.pop()
        else:
            while signs and signs[-1] != "(" and ranks[signs[-1]] >= ranks[token]:
                reduce()
            signs.append(token)
    while signs:
        reduce()
    return values[0]


def postfix(part: str, apply: Mapping[str, Callable[[int, int], int]]) -> int:
    """By replacing an operator behind two values, again and again."""
    items: list[Any] = [int(c) if c.isdigit() else c for c in part]
    while len(items) > 1:
        i = next(i for i, item in enumerate(items) if isinstance(item, str))
        items[i - 2 : i + 1] = [apply[items[i]](items[i - 2], items[i - 1])]
    return int(items[0])


def depths(part: str, opening: str, closing: str) -> list[int]:
    found: list[int] = []
    levels = [0]
    for c in part:
        if c in opening + closing:
            levels.append(levels[-1] + (1 if c == opening else -1))
        else:
            found.append(int(c) * (levels[-1] + 1))
    return found


def part_reader(form: str) -> Callable[[str], list[int]]:
    if match := re.match(r"A part is a positive integer like 7, or a range like `3(\D+)6`", form):
        return lambda part: ranged(part, match[1])
    if match := re.match(
        r"A part is a positive integer, .* form `3(\D)8`, .* stands for (\w+)", form
    ):
        return lambda part: repeated(part, match[1], match[2] == "three")
    if match := re.match(r"A part is a duration .* the duration in (\w+)", form):
        sizes = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
        units = {u: sizes[w] // sizes[match[1]] for u, w in re.findall(r"(\w) for (\w+)", form)}
        return lambda part: [duration(part, units)]
    if "Roman" in form:
        return lambda part: [roman(part)]
    if match := re.match(r"A part is a positive integer in base (\d)", form):
        base = int(match[1])
        return lambda part: [int(part, base)]
    apply = operators_of(form)
    if "postfix" in form:
        return lambda part: [postfix(part, apply)]
    if "bind equally" in form:
        return lambda part: [infix(part, dict.fromkeys(apply, 1), apply)]
    if match := re.search(r"`(.)` is applied before `(.)`", form):
        ranks = {match[1]: 2, match[2]: 1}
        return lambda part: [infix(part, ranks, apply)]
    match = re.match(r"A part is made of single digits and of pairs of `(.)` and `(.)`", form)
    if match is None:
        raise Unread(form)
    return lambda part: depths(part, match[1], match[2])


# --- integers

PROPERTIES: Mapping[str, Callable[..., Callable[[int], bool]]] = {
    r"are (not )?divisible by (\d+)": lambda no, k: (
        lambda n: (n in range(0, n + 1, int(k))) != bool(no)
    ),
    r"are (not )?prime": lambda no: lambda n: (divisors(n) == 2) != bool(no),
    r"have a digit sum that is (not )?divisible by (\d+)": lambda no, k: (
        lambda n: (sum(digits(n)) % int(k) == 0) != bool(no)
    ),
    r"have a digit sum of at least (\d+)": lambda k: lambda n: sum(digits(n)) >= int(k),
    r"have a digit sum below (\d+)": lambda k: lambda n: sum(digits(n)) < int(k),
    r"are (not )?divisible by their own digit sum": lambda no: (
        lambda n: (n % sum(digits(n)) == 0) != bool(no)
    ),
    r"(do not )?read the same backwards": lambda no: (
        lambda n: (digits(n) == digits(n)[::-1]) != bool(no)
    ),
    r"are (not )?perfect squares": lambda no: lambda n: (divisors(n) % 2 == 1) != bool(no),
    r"(do not )?contain the digit (\d)": lambda no, d: lambda n: (int(d) in digits(n)) != bool(no),
    r"have (no|a) repeated digit": lambda how: (
        lambda n: (len(set(digits(n))) == len(digits(n))) == (how == "no")
    ),
    r"(do not )?have exactly (\d) positive divisors": lambda no, k: (
        lambda n: (divisors(n) == int(k)) != bool(no)
    ),
    r"have an (odd|even) number of ones in binary": lambda kind: (
        lambda n: n.bit_count() % 2 == (kind == "odd")
    ),
}


@cache
def divisors(n: int) -> int:
    return sum(n % d == 0 for d in range(1, n + 1))


def property_of(text: str) -> Callable[[int], bool]:
    for pattern, build in PROPERTIES.items():
        if match := re.fullmatch(pattern, text):
            return build(*match.groups())
    raise Unread(text)


FOUND: Table = {
    "return how many numbers were found": lambda: len,
    "return the sum of the numbers found": lambda: sum,
    r"return the largest of the numbers found \(-1 if there is none\)": lambda: (
        lambda f: max([-1, *f])
    ),
    "return all numbers found in ascending order": lambda: list,
    r"return the smallest (\d) of the numbers found in ascending order .*": lambda k: (
        lambda f: f[:k]
    ),
    "return the largest gap between two neighbours among the numbers found .*": lambda: (
        lambda f: max((b - a for a, b in pairwise(f)), default=0)
    ),
    r"return the sum of the remainders of the numbers found on division by (\d+)": lambda m: (
        lambda f: sum(divmod(n, m)[1] for n in f)
    ),
    r"return the sum of the smallest and the largest number found \(0 if there is none\)": lambda: (
        lambda f: f[0] + f[-1] if f else 0
    ),
}
PATH: Table = {
    "return the number reached": lambda: lambda path: path[-1],
    "return how many rounds were made": lambda: lambda path: len(path) - 1,
    "return the largest number seen, the starting number included": lambda: max,
    "return the sum of all numbers seen, the starting number included": lambda: sum,
    "return all numbers seen in order, the starting number included": lambda: list,
}


def integers(task: CodingTask) -> Solver:
    if len(task.params) == 2:
        found = read(
            r"find all integers from `\w+` to `\w+`, both included, that (.+)", task.instructions[0]
        )
        one, *more = re.split(r" (and|or) ", found[1])
        tests = [property_of(text) for text in (one, *more[1:])]
        join: Callable[..., bool] = any if more[:1] == ["or"] else all
        report = stage([FOUND], task.instructions[1])
        return lambda a, b: report([n for n in range(a, b + 1) if join(test(n) for test in tests)])
    begin = read(
        r"start with `n` and make at most (\d+) rounds, .* the number is (\d+)",
        task.instructions[0],
    )
    rule = read(
        r"in each round divide the number by (\d+) if it is divisible by \d+; otherwise "
        r"(?:multiply it by (\d+) and add (\d+)|add (\d+) times its digit sum) and take the "
        r"remainder on division by (\d+)",
        task.instructions[1],
    )
    rounds, stop = int(begin[1]), int(begin[2])
    m, k, c, d, bound = (int(group or 0) for group in rule.groups())
    report = stage([PATH], task.instructions[2])

    def path(n: int, left: int) -> list[int]:
        if n == stop or left == 0:
            return [n]
        other = n + d * sum(digits(n)) if d else k * n + c
        return [n, *path(n // m if n % m == 0 else other % bound, left - 1)]

    return lambda n: report(path(n, rounds))


# --- recursion


def listed(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", text)]


def climb(task: CodingTask) -> Solver:
    sizes = listed(read(r".* by ([\d, or]+) at a time\.", task.story)[1])
    say = task.instructions[0]
    bad = re.search(r"divisible by (\d+) \(except", say)
    modulus = re.search(r"remainder on division by (\d+)$", say)
    no_repeat = "never making two moves of the same size in a row" in say

    def count(n: int) -> int:
        """Forwards, by the place and the last move."""
        at: dict[tuple[int, int], int] = {(0, 0): 1}
        total = 1 if n == 0 else 0
        for place in range(n):
            for last in (0, *sizes):
                for size in sizes if (place, last) in at else ():
                    to = place + size
                    if to > n or (no_repeat and size == last):
                        continue
                    if bad and to % int(bad[1]) == 0 and to != n:
                        continue
                    if to == n:
                        total += at[place, last]
                    else:
                        at[to, size] = at.get((to, size), 0) + at[place, last]
        return total % int(modulus[1]) if modulus else total

    return count


def recurrence(task: CodingTask) -> Solver:
    head = read(
        r"use the values f\(0\) = (\d+) and f\(1\) = (\d+) and, for n of at least 2, this rule: f\(n\) "
        r"is the remainder of (?:(\d+) )?f\(n - 1\) \+ (?:(\d+) )?f\(n - 2\)(?: \+ (\d+))? on division by (\d+)"
        r"(?:, but for n divisible by (\d+) it is the remainder of f\(n - 1\) \+ (\d+) on division by \d+)?",
        task.instructions[0],
    )
    f0, f1, a, b, c, m, k, extra = (int(g) if g else None for g in head.groups())

    def sequence(n: int) -> list[int]:
        new, old, found = f1, f0, [f0]
        for i in range(2, n + 2):
            found.append(new)
            if k and i % k == 0:
                new, old = (new + extra) % m, new
            else:
                new, old = ((a or 1) * new + (b or 1) * old + (c or 0)) % m, new
        return found

    if task.instructions[1] == "return f(n)":
        return lambda n: sequence(n)[n]
    return lambda n: sum(sequence(n)) if "the sum" in task.instructions[1] else sequence(n)


def nested(task: CodingTask) -> Solver:
    rules = " ".join(task.rules)
    goal = read(
        r"return (?:the sum of all|how many|the sum of the depths of all) (.+?)( there are at any depth"
        r"| at any depth|, each multiplied by its depth|, each increased by \d+ times its depth|)",
        task.instructions[0],
    )
    limit = re.search(r"deeper than depth (\d+) are ignored", rules)
    flips = "even depths are subtracted" in rules
    more = re.match(r"numbers greater than (\d+)", goal[1])
    increase = re.search(r"each increased by (\d+) times", task.instructions[0])

    def wanted(n: int) -> bool:
        if more:
            return n > int(more[1])
        kind = goal[1].split()[0]
        tests = {"even": n % 2 == 0, "odd": n % 2 == 1, "negative": n < 0}
        return tests.get(kind, True)

    def worth(n: int, depth: int) -> int:
        if "how many" in task.instructions[0]:
            return 1
        if "sum of the depths" in task.instructions[0]:
            return depth
        if "multiplied by its depth" in task.instructions[0]:
            return n * depth
        return n + int(increase[1]) * depth if increase else n

    def total(tree: list[Any]) -> int:
        """Level by level."""
        result, depth, level = 0, 1, tree
        while level:
            if limit is None or depth <= int(limit[1]):
                found = [worth(n, depth) for n in level if not isinstance(n, list) and wanted(n)]
                result += -sum(found) if flips and depth % 2 == 0 else sum(found)
            level = [item for inner in level if isinstance(inner, list) for item in inner]
            depth += 1
        return result

    return total


def subset(task: CodingTask) -> Solver:
    gap = int(read(r".* always at least (\d+) that (?:is|are) not chosen", task.instructions[0])[1])
    fee = re.search(r"with its value minus (\d+)", " ".join(task.instructions))

    def best(values: list[int]) -> int:
        @cache
        def after(i: int) -> int:
            if i >= len(values):
                return 0
            return max(after(i + 1), values[i] - int(fee[1] if fee else 0) + after(i + gap + 1))

        return after(0)

    return best


FOLLOWS: Mapping[str, Callable[[int, int, int], bool]] = {
    r"is greater than the one before it": lambda a, b, _: b > a,
    r"is at least as large as the one before it": lambda a, b, _: b >= a,
    r"is larger than the one before it by at least (\d+)": lambda a, b, k: b - k >= a,
    r"differs from the one before it by at most (\d+)": lambda a, b, k: -k <= a - b <= k,
    r"has another parity than the one before it \(.*\)": lambda a, b, _: a % 2 != b % 2,
    r"is a proper multiple of the one before it": lambda a, b, _: b % a == 0 and b != a,
}


def chain(task: CodingTask) -> Solver:
    say = read(
        r"consider subsequences of `\w+` .* every entry but the first (.+)", task.instructions[0]
    )[1]
    follows, k = next(
        (test, int(match[1]) if match.groups() else 0)
        for pattern, test in FOLLOWS.items()
        if (match := re.fullmatch(pattern, say))
    )
    by_sum = "largest sum" in task.instructions[1]

    def best(values: list[int]) -> int:
        @cache
        def after(i: int) -> int:
            """The best of a chain that begins at i."""
            further = (
                after(j) for j in range(i + 1, len(values)) if follows(values[i], values[j], k)
            )
            return (values[i] if by_sum else 1) + max(further, default=0)

        return max((after(i) for i in range(len(values))), default=0)

    return best


def coins(task: CodingTask) -> Solver:
    values = listed(read(r".* has the value ([\d, or]+)\.", task.story)[1])
    most = re.search(r"At most (\d+) ", task.rules[0])
    counts = "number of ways" in task.instructions[0]

    def found(amount: int) -> int:
        @cache
        def sizes(total: int, i: int) -> tuple[int, int]:
            """How many ways, and the fewest pieces, with the values from i on."""
            if i == len(values):
                return (1, 0) if total == 0 else (0, 10**9)
            uses = min(total // values[i], int(most[1]) if most else total)
            each_way = [sizes(total - used * values[i], i + 1) for used in range(uses + 1)]
            return (
                sum(ways for ways, _ in each_way),
                min(used + fewest for used, (_, fewest) in enumerate(each_way)),
            )

        ways, fewest = sizes(amount, 0)
        return ways if counts else -1 if fewest >= 10**9 else fewest

    return found


def paths(task: CodingTask) -> Solver:
    text = " ".join(task.instructions)
    wall = re.search(r"a number greater than (\d+)", text)
    moves = [(1, 0), (0, 1), *([(1, 1)] if "diagonally" in text else [])]
    best = max if "largest" in text else min

    def result(grid: list[list[int]]) -> int:
        height, width = len(grid), len(grid[0])

        @cache
        def onwards(r: int, c: int) -> int | None:
            if r >= height or c >= width or (wall and grid[r][c] > int(wall[1])):
                return None
            if (r, c) == (height - 1, width - 1):
                return 1 if wall else grid[r][c]
            further = [n for dr, dc in moves if (n := onwards(r + dr, c + dc)) is not None]
            if wall:
                return sum(further)
            return grid[r][c] + best(further)

        return onwards(0, 0) or 0

    return result


def recursion(task: CodingTask) -> Solver:
    kinds = {
        "return the number of different sequences of moves": climb,
        "use the values f(0)": recurrence,
        "choose any entries": subset,
        "consider subsequences": chain,
        "return the number of ways to make up": coins,
        "return the smallest number of": coins,
        "count the ways to walk": paths,
        "walk from the top left": paths,
    }
    if task.params[0][1] == "nested":
        return nested(task)
    for words, kind in kinds.items():
        if task.instructions[0].startswith(words):
            return kind(task)
    raise Unread(task.instructions[0])


# --- texts


def alignment(say: str, goal: str) -> Solver:
    points = "points" in goal
    same = re.search(r"bring (\d+) points", say)
    other = re.search(r"(?:two different ones|above each other) cost (\d+)", say)
    gap = int(read(r".*a gap costs (\d+)", say)[1])
    if other is None:
        raise Unread(say)
    part_of_first = "write some part of `first`" in say
    part_of_second = "some part of `second`" in say
    equal, different = (int(same[1]), -int(other[1])) if same else (0, -int(other[1]))

    def value(first: str, second: str) -> int:
        """The best score of the ends from i and from j on, to which ends may be cut off."""

        @cache
        def best(i: int, j: int) -> int:
            options = []
            if (i == len(first) or part_of_first) and (j == len(second) or part_of_second):
                options.append(0)
            if i < len(first) and j < len(second):
                pair = equal if first[i] == second[j] else different
                options.append(pair + best(i + 1, j + 1))
            if i < len(first):
                options.append(best(i + 1, j) - gap)
            if j < len(second):
                options.append(best(i, j + 1) - gap)
            return max(options)

        starts = range(len(first) + 1) if part_of_first else (0,)
        others = range(len(second) + 1) if part_of_second else (0,)
        score = max(best(i, j) for i in starts for j in others)
        return score if points else -score

    return value


def common(goal: str) -> Solver:
    vowel = re.search(r"each letter a counts (\d+)", goal)

    def value(first: str, second: str) -> int:
        @cache
        def shared(i: int, j: int) -> int:
            """The best value of what can be made from the beginnings of i and j characters."""
            if i == 0 or j == 0:
                return 0
            if first[i - 1] == second[j - 1]:
                own = int(vowel[1]) if vowel and first[i - 1] == "a" else 1
                return own + shared(i - 1, j - 1)
            return max(shared(i - 1, j), shared(i, j - 1))

        @cache
        def deletions(i: int, j: int) -> int:
            if i == 0 or j == 0:
                return i + j
            if first[i - 1] == second[j - 1]:
                return deletions(i - 1, j - 1)
            return 1 + min(deletions(i - 1, j), deletions(i, j - 1))

        @cache
        def joint(i: int, j: int) -> int:
            if i == 0 or j == 0:
                return i + j
            if first[i - 1] == second[j - 1]:
                return 1 + joint(i - 1, j - 1)
            return 1 + min(joint(i - 1, j), joint(i, j - 1))

        kind = deletions if "to delete" in goal else joint if "shortest text" in goal else shared
        return kind(len(first), len(second))

    return value


def occurrences(goal: str) -> Solver:
    joker, modulus = "question mark" in goal, re.search(r"on division by (\d+)", goal)

    def value(pattern: str, text: str) -> int:
        @cache
        def ways(i: int, j: int) -> int:
            if i == len(pattern):
                return 1
            if j == len(text):
                return 0
            fits = pattern[i] == text[j] or (joker and pattern[i] == "?")
            return ways(i, j + 1) + (ways(i + 1, j + 1) if fits else 0)

        return ways(0, 0) % int(modulus[1]) if modulus else ways(0, 0)

    return value


def wildcards(say: str, goal: str) -> Solver:
    least = 1 if "at least one character" in say else 0

    def value(pattern: str, text: str) -> int:
        @cache
        def fits(i: int, j: int) -> bool:
            """Whether the first i signs of the pattern fit the first j characters."""
            if i == 0:
                return j == 0
            if pattern[i - 1] == "*":
                return any(fits(i - 1, k) for k in range(j + 1 - least))
            return j > 0 and pattern[i - 1] in ("?", text[j - 1]) and fits(i - 1, j - 1)

        good = [n for n in range(len(text) + 1) if fits(len(pattern), n)]
        return max([-1, *good]) if "longest beginning" in goal else len(good)

    return value


def pieces(goal: str) -> Solver:
    words = read(r".* must be one of the words ([a-z, ]+)", goal)[1].split(", ")
    counts = "number of ways" in goal

    def value(text: str) -> int:
        @cache
        def cut(start: int) -> tuple[int, float]:
            if start == len(text):
                return 1, 0
            rest = [cut(start + len(w)) for w in words if text.startswith(w, start)]
            return sum(n for n, _ in rest), 1 + min((k for _, k in rest), default=FAR)

        ways, fewest = cut(0)
        return ways if counts else -1 if fewest == FAR else int(fewest)

    return value


def palindromes(goal: str) -> Solver:
    def value(text: str) -> int:
        @cache
        def missing(i: int, j: int) -> int:
            """The fewest characters to insert into text[i:j]."""
            if j - i < 2:
                return 0
            if text[i] == text[j - 1]:
                return missing(i + 1, j - 1)
            return 1 + min(missing(i + 1, j), missing(i, j - 1))

        inserts = missing(0, len(text))
        return inserts if "inserted" in goal else len(text) - inserts

    return value


CLEANINGS: Table = {
    "change all capital letters in .* to small ones": lambda: str.lower,
    "remove all hyphens from .*": lambda: lambda text: "".join(text.split("-")),
    "remove all underscores from .*": lambda: lambda text: "".join(text.split("_")),
    "remove all full stops from .*": lambda: lambda text: "".join(text.split(".")),
    "remove all decimal digits from .*": lambda: (
        lambda text: text.translate({n: None for n in range(48, 58)})
    ),
}


def texts(task: CodingTask) -> Solver:
    cleanings: list[Stage] = []
    says = list(task.instructions)
    while says[0].startswith(("change all", "remove all")):
        cleanings.append(stage([CLEANINGS], says.pop(0)))
    goal = says[-1]
    if says[0].startswith("write "):
        plain = alignment(says[0], goal)
    elif says[0].startswith("read `pattern`"):
        plain = wildcards(says[0], goal)
    elif "give `pattern`" in goal:
        plain = occurrences(goal)
    elif "must be one of the words" in goal:
        plain = pieces(goal)
    elif "palindrome" in goal:
        plain = palindromes(goal)
    elif "made from both" in goal or "delete from the two" in goal or "can be made" in goal:
        plain = common(goal)
    else:
        raise Unread(goal)

    def clean(text: str) -> str:
        for step in cleanings:
            text = step(text)
        return text

    return lambda *given: plain(*map(clean, given))


# --- machines

EFFECTS: Table = {
    r"adds (\d+)": lambda k: lambda n: n + k,
    r"subtracts (\d+)": lambda k: lambda n: n - k,
    "doubles the value": lambda: lambda n: 2 * n,
    r"replaces the value by (\d+) minus the value": lambda c: lambda n: c - n,
    r"sets the value to (\d+)": lambda k: lambda n: k,
    r"halves the value, rounding down .*": lambda: lambda n: n >> 1,
    r"subtracts (\d+) if the value is at least \d+, and adds 1 otherwise": lambda k: (
        lambda n: n - k if n >= k else n + 1
    ),
}
# What is reported of the list of all states, the first one included.
STATES: Table = {
    "return the final value": lambda: lambda s: s[-1],
    "return the largest value that was ever held, .*": lambda: max,
    "return the list of the values after each command": lambda: lambda s: s[1:],
    "return the number of different values that were held, .*": lambda: lambda s: len(set(s)),
    "return the number of different fields on which it stood, .*": lambda: lambda s: len(set(s)),
    "return its final position as a list of x and y": lambda: lambda s: list(s[-1]),
    "return its final distance from the start, .*": lambda: lambda s: sum(map(abs, s[-1])),
    "return the largest x at which it ever stood, .*": lambda: lambda s: max(x for x, _ in s),
    "return how many are waiting at the end of the last minute": lambda: lambda s: s[-1],
    "return the list of the numbers that are waiting at the end of each minute": lambda: (
        lambda s: s[1:]
    ),
    "return the sum of the numbers that are waiting at the end of each minute": lambda: sum,
    "return the number of minutes at the end of which nobody is waiting": lambda: (
        lambda s: s[1:].count(0)
    ),
}


def counter(task: CodingTask) -> Solver:
    begin = read(
        r"start with the value (\d+) and carry out the commands .*: (`.*)", task.instructions[0]
    )
    effects = {text[1]: stage([EFFECTS], text[4:]) for text in re.split(r"; (?=`)", begin[2])}
    bound = re.search(r"above (\d+) or below -\d+ is skipped", task.rules[0])
    report = stage([STATES], task.instructions[1])

    def run(commands: str) -> Any:
        states = [int(begin[1])]
        for command in commands:
            new = effects[command](states[-1])
            outside = bound and not -int(bound[1]) <= new <= int(bound[1])
            states.append(states[-1] if outside else new)
        return report(states)

    return run


COMPASS = ((0, 1), (1, 0), (0, -1), (-1, 0))  # clockwise


def walker(task: CodingTask) -> Solver:
    signs = {
        meaning: sign
        for sign, meaning in re.findall(
            r"`(.)` (goes|turns left|turns right|turns around)", task.instructions[0]
        )
    }
    turns = {signs["turns left"]: 3, signs["turns right"]: 1, signs.get("turns around"): 2}
    size = re.search(r"x and y from -(\d+) to", " ".join(task.rules))
    wraps = "it comes in again on the opposite side" in " ".join(task.rules)
    report = stage([STATES], task.instructions[1])

    def run(moves: str) -> Any:
        states, facing = [(0, 0)], 0
        limit = int(size[1]) if size else len(moves) + 1
        for move in moves:
            facing = (facing + turns.get(move, 0)) % 4
            to = states[-1]
            if move == signs["goes"]:
                to = to[0] + COMPASS[facing][0], to[1] + COMPASS[facing][1]
                if any(abs(n) > limit for n in to):
                    crossed = tuple(-limit if n > limit else limit if n < -limit else n for n in to)
                    to = (crossed[0], crossed[1]) if wraps else states[-1]
            states.append(to)
        return report(states)

    return run


def queue(task: CodingTask) -> Solver:
    say = task.instructions[0]
    room = re.search(r"because (\d+) are waiting already", say)
    speed = read(
        r".*same minute, (\d+)(?: \(or (\d+), if more than (\d+) are waiting then\))? of .*", say
    )
    served, faster, many = (int(group or 0) for group in speed.groups())
    report = stage([STATES], task.instructions[1])

    def run(arrivals: list[int]) -> Any:
        states = [0]
        for coming in arrivals:
            free = int(room[1]) - states[-1] if room else coming
            waiting = states[-1] + min(coming, free)
            gone = faster if faster and waiting > many else served
            states.append(waiting - min(waiting, gone))
        return report(states)

    return run


def cells(task: CodingTask) -> Solver:
    say = read(
        r"do the following (\d+) times: every cell .* in this order, are (.+), and .*",
        task.instructions[0],
    )
    rule = {tuple(c == "#" for c in pair) for pair in re.findall(r"`(..)`", say[2])}
    flips = "changes its state" in task.instructions[0]
    ring = "closed to a ring" in task.rules[1]

    def run(row: str) -> Any:
        alive = {i for i, c in enumerate(row) if c == "#"}

        def on(i: int) -> bool:
            return (i % len(row) if ring else i) in alive

        for _ in range(int(say[1])):
            hit = {i for i in range(len(row)) if (on(i - 1), on(i + 1)) in rule}
            alive = alive ^ hit if flips else hit
        if "number of `#`" in task.instructions[1]:
            return len(alive)
        return "".join("#" if i in alive else "." for i in range(len(row)))

    return run


def machines(task: CodingTask) -> Solver:
    kinds = {"commands": counter, "moves": walker, "arrivals": queue, "row": cells}
    return kinds[task.params[0][0]](task)


READERS: Mapping[str, Callable[[CodingTask], Solver]] = {
    "integers": integers,
    "recursion": recursion,
    "texts": texts,
    "machines": machines,
}

# --- inputs, wider than those of the templates, that the prompts allow

LARGEST = 10**6
NAMES = (
    *("a", "b", "c", "d", "e", "f", "ab", "aa", "A", "Z", "zz", "a b", " ", ",", "a,b", "'", '"'),
    *(
        "\\",
        "\n",
        "0",
        "10",
        "-1",
        "__proto__",
        "constructor",
        "toString",
        "length",
        "hasOwnProperty",
    ),
    *(
        "é",
        "e\u0301",
        "ß",
        "ﬁ",
        "İ",
        "Σ",
        "ΑΣ",
        "\U0001f600",
        "\U0001d4d0b",
        "\uffee",
        "日本",
        "ÿ",
        "\u200d",
    ),
    *("a" * 40, "name with several words", "\U0001f469\u200d\U0001f4bb", "𐐀", "𐐨", "\ufb00", "Éa"),
)


def wide_inputs(family: str, task: CodingTask, draw: Draw, count: int) -> list[tuple[Any, ...]]:
    """`count` tuples of arguments."""
    return [wide(family, task, draw) for _ in range(count)]


def wide(family: str, task: CodingTask, draw: Draw) -> tuple[Any, ...]:
    kinds = [kind for _, kind in task.params]
    if family in WIDE:
        return WIDE[family](task, draw)
    if kinds == ["ints"]:
        return (numbers(draw, -LARGEST),)
    return (grid(draw, -LARGEST),)


def size(draw: Draw, most: int) -> int:
    return draw.pick((0, 1, 2, draw.below(most + 1), draw.below(most + 1)))


def integer(draw: Draw, low: int) -> int:
    """Small ones, large ones, and those at the bounds."""
    value = draw.pick(
        (
            draw.between(-12, 30),
            draw.between(-12, 30),
            draw.between(-300, 300),
            draw.between(-LARGEST, LARGEST),
            draw.pick((-LARGEST, LARGEST, LARGEST - 1, 0, 1)),
        )
    )
    return max(low, value)


def numbers(draw: Draw, low: int, most: int = 14) -> list[int]:
    most = 97 if draw.chance(0.03) else most
    values = [integer(draw, low) for _ in range(size(draw, most))]
    if draw.chance(0.4):
        values += [draw.pick(values) for _ in range(3) if values]
    return draw.shuffled(values)


def grid(draw: Draw, low: int) -> list[list[int]]:
    height, width = draw.between(1, 6), draw.between(1, 6)
    small = draw.chance(0.5)
    return [
        [max(low, draw.between(-4, 12)) if small else integer(draw, low) for _ in range(width)]
        for _ in range(height)
    ]


def wide_records(task: CodingTask, draw: Draw) -> tuple[Any, ...]:
    names = draw.some(NAMES, draw.between(1, 8))
    pairs = [(draw.pick(names), integer(draw, -LARGEST)) for _ in range(size(draw, 14))]
    if pairs and draw.chance(0.4):
        pairs += [draw.pick(pairs) for _ in range(3)]
    return (pairs,)


def wide_links(task: CodingTask, draw: Draw) -> tuple[Any, ...]:
    names = draw.some(NAMES, draw.between(2, 7)) if draw.chance(0.6) else []
    names = list(dict.fromkeys([*names, *draw.some("abcdef", draw.between(2, 6))]))
    links = []
    for _ in range(size(draw, 14)):
        a, b = draw.some(names, 2)
        links.append(
            (a, b, draw.pick((draw.between(1, 9), draw.between(1, 9), draw.between(1, LARGEST))))
        )
    if links and draw.chance(0.3):
        links += [draw.pick(links) for _ in range(2)]
    return (links,)


def wide_spans(task: CodingTask, draw: Draw) -> tuple[Any, ...]:
    spans = []
    for _ in range(size(draw, 12)):
        start = draw.pick(
            (draw.between(-10, 40), draw.between(-10, 40), integer(draw, 10 - LARGEST))
        )
        start = min(start, LARGEST - 1)
        length = draw.pick((1, draw.between(1, 12), draw.between(1, 12), draw.between(1, LARGEST)))
        spans.append([start, min(start + length, LARGEST)])
    if spans and draw.chance(0.3):
        spans += [list(draw.pick(spans))]
    return (spans,)


def wide_clocks(task: CodingTask, draw: Draw) -> tuple[Any, ...]:
    count = size(draw, 12)
    if "time of the day" in task.rules[0]:
        values = [hhmm(draw.pick((0, 1, 719, 720, 1439, draw.below(1440)))) for _ in range(count)]
    else:
        year, close = draw.between(2000, 2040), draw.chance(0.5)
        values = []
        for _ in range(count):
            own = year if close else draw.between(2000, 2040)
            month = draw.pick((1, 2, 2, 12, draw.between(1, 12)))
            last = days_in(own, month)
            values.append(
                dashed((own, month, draw.pick((1, last, last - 1, draw.between(1, last)))))
            )
    if values and draw.chance(0.3):
        values.append(draw.pick(values))
    return (values,)


def wide_text(task: CodingTask, draw: Draw) -> tuple[Any, ...]:
    """Printable ASCII."""
    words = [
        *(
            "constructor",
            "__proto__",
            "toString",
            "valueOf",
            "a",
            "A",
            "level",
            "LeVel",
            "x1",
            "$&",
        ),
        *(
            "Hello,",
            "'q'",
            '"',
            "\\",
            "\\n",
            "[a-z]",
            ".*",
            "--",
            "10",
            "2",
            "aa",
            "Aa",
            "Otto",
            "`${x}`",
        ),
    ]
    if draw.chance(0.5):
        return (draw.pick((" ", "  ", "")).join(draw.pick(words) for _ in range(size(draw, 9))),)
    letters = draw.pick((" aAbB", "aeiouAEIOUxyz ", "".join(map(chr, range(32, 127)))))
    return ("".join(draw.pick(letters) for _ in range(size(draw, 40))),)


def wide_pair(task: CodingTask, draw: Draw) -> tuple[Any, ...]:
    letters = draw.pick(
        ("ab", "abc", "abAB-_.", "ab?*", "ab?*.-_0123AB", "".join(map(chr, range(32, 127))))
    )
    if len(task.params) == 1 and draw.chance(0.7):
        letters = draw.pick(("ab", "aab", "abAB-_.0"))

    def text(most: int) -> str:
        return "".join(draw.pick(letters) for _ in range(size(draw, most)))

    first = text(16)
    if len(task.params) == 1:
        return (first,)
    second = first[draw.below(3) :] + text(5) if draw.chance(0.5) else text(16)
    pair = (first[:6], second) if task.params[0][0] == "pattern" else (first, second)
    return pair


def wide_part(form: str, draw: Draw) -> str:
    if match := re.match(r"A part is a positive integer like 7, or a range like `3(\D+)6`", form):
        first = draw.pick((draw.between(1, 30), draw.between(1, 3000)))
        last = first + draw.pick((0, 1, draw.below(40)))
        if "count down" in form and draw.chance(0.5):
            first, last = last, first
        return f"{first}{match[1]}{last}" if draw.chance(0.6) else str(first)
    if match := re.match(r"A part is a positive integer, .* form `3(\D)8`", form):
        count, value = draw.between(1, 12), draw.between(1, 12)
        return f"{count}{match[1]}{value}" if draw.chance(0.6) else str(draw.between(1, 99999))
    if "a duration" in form:
        units = re.findall(r"(\w) for \w+", form)
        some = draw.some(units, draw.between(1, 3))
        return "".join(
            f"{draw.pick((0, 7, draw.below(10)))}{draw.pick(('', '0', '1'))}{u}" for u in some
        )
    if "Roman" in form:
        n, text = draw.between(1, 89), ""
        for sign, value in ROMAN:
            while n >= value:
                text, n = text + sign, n - value
        return text
    if match := re.match(r"A part is a positive integer in base (\d)", form):
        base = int(match[1])
        rest = "".join(str(draw.below(base)) for _ in range(draw.below(6)))
        return str(draw.between(1, base - 1)) + rest
    if match := re.match(r"A part is made of single digits and of pairs of `(.)` and `(.)`", form):
        return bracketed(draw, match[1], match[2], 4)
    signs = "".join(operators_of(form))
    if "postfix" in form:
        return postfixed(draw, signs, 3)
    return expression(draw, signs, 3, "round brackets" in form)


def bracketed(draw: Draw, opening: str, closing: str, depth: int) -> str:
    text = str(draw.below(10))
    for _ in range(draw.below(4)):
        inner = bracketed(draw, opening, closing, depth - 1) if depth and draw.chance(0.6) else ""
        text += f"{opening}{inner}{closing}" if inner else str(draw.below(10))
    return text


def postfixed(draw: Draw, signs: str, depth: int) -> str:
    if depth == 0 or draw.chance(0.3):
        return str(draw.between(1, 9))
    return postfixed(draw, signs, depth - 1) + postfixed(draw, signs, depth - 1) + draw.pick(signs)


def expression(draw: Draw, signs: str, depth: int, brackets: bool) -> str:
    terms = []
    for _ in range(draw.between(1, 4)):
        if brackets and depth and draw.chance(0.3):
            terms.append(f"({expression(draw, signs, depth - 1, brackets)})")
        else:
            terms.append(str(draw.pick((draw.between(1, 9), draw.between(1, 99)))))
    return terms[0] + "".join(draw.pick(signs) + term for term in terms[1:])


def wide_line(task: CodingTask, draw: Draw) -> tuple[Any, ...]:
    separator, form = form_of(task.rules[0])
    part = part_reader(form)
    while True:
        parts = [wide_part(form, draw) for _ in range(draw.between(1, 5))]
        if (
            all(0 <= n <= LARGEST for text in parts for n in part(text))
            and sum(len(part(text)) for text in parts) <= 100
        ):
            return (separator.join(parts),)


def wide_integers(task: CodingTask, draw: Draw) -> tuple[Any, ...]:
    if len(task.params) == 1:
        return (draw.pick((0, 1, draw.below(100), draw.below(5000), draw.below(LARGEST), LARGEST)),)
    a = draw.pick((1, draw.between(1, 50), draw.between(1, 1200)))
    return a, a + draw.pick((-draw.below(a), 0, 1, draw.below(150)))


def wide_recursion(task: CodingTask, draw: Draw) -> tuple[Any, ...]:
    kind = task.params[0][1]
    if kind == "int":
        return (draw.pick((0, 1, 2, draw.below(12), draw.below(41))),)
    if kind == "ints":
        positive = "positive integers" in task.rules[0]
        return (numbers(draw, 1 if positive else -LARGEST),)
    if kind == "nested":
        return (tree(draw, draw.between(1, 8)),)
    return (grid(draw, 0 if draw.chance(0.5) else -LARGEST),)


def tree(draw: Draw, depth: int) -> list[Any]:
    return [
        tree(draw, depth - 1) if depth and draw.chance(0.4) else integer(draw, -LARGEST)
        for _ in range(draw.below(4))
    ]


def wide_machines(task: CodingTask, draw: Draw) -> tuple[Any, ...]:
    name = task.params[0][0]
    if name == "arrivals":
        return (numbers(draw, 0),)
    letters = "#." if name == "row" else "".join(re.findall(r"`(.)` [a-z]", task.instructions[0]))
    if draw.chance(0.2):
        return (draw.pick(letters) * size(draw, 30),)
    return ("".join(draw.pick(letters) for _ in range(size(draw, 30))),)


WIDE: Mapping[str, Callable[[CodingTask, Draw], tuple[Any, ...]]] = {
    "records": wide_records,
    "graphs": wide_links,
    "intervals": wide_spans,
    "clocks": wide_clocks,
    "strings": wide_text,
    "texts": wide_pair,
    "parsing": wide_line,
    "integers": wide_integers,
    "recursion": wide_recursion,
    "machines": wide_machines,
}
