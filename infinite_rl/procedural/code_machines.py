"""Machines and simulations: follow rules step by step; the references keep every state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from .code import CodingTask, telling_inputs
from .draw import Draw


@dataclass(frozen=True)
class Report:
    """What a simulation returns: words, kind, what to do before, in and after each step, reference.

    `apply` takes the list of all states, the first included.
    """

    say: str
    returns: str
    start: tuple[str, str]
    each: tuple[str, str]
    end: tuple[str, str]
    apply: Callable[[list[Any]], Any]


def make(draw: Draw, level: int) -> CodingTask:
    """A machine that follows its input; the higher the level, the more rules it obeys."""
    return draw.pick((counter, counter, walker, walker, queue, cells))(draw, level)


def lines(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


# --- a counter with commands


@dataclass(frozen=True)
class Effect:
    say: str
    python: str
    javascript: str
    apply: Callable[[int], int]


def effects(draw: Draw) -> list[Effect]:
    k, c, low = draw.between(2, 9), draw.between(5, 15), draw.between(3, 8)
    return [
        Effect(f"adds {k}", f"value += {k}", f"value += {k}", lambda n: n + k),
        Effect(f"subtracts {k + 1}", f"value -= {k + 1}", f"value -= {k + 1}", lambda n: n - k - 1),
        Effect("doubles the value", "value *= 2", "value *= 2", lambda n: n + n),
        Effect(
            f"replaces the value by {c} minus the value",
            f"value = {c} - value",
            f"value = {c} - value",
            lambda n: c - n,
        ),
        Effect(f"sets the value to {low}", f"value = {low}", f"value = {low}", lambda n: low),
        Effect(
            "halves the value, rounding down (towards minus infinity)",
            "value //= 2",
            "value = Math.floor(value / 2)",
            lambda n: (n - (n & 1)) // 2,
        ),
        Effect(
            f"subtracts {low} if the value is at least {low}, and adds 1 otherwise",
            f"value += -{low} if value >= {low} else 1",
            f"value += value >= {low} ? -{low} : 1",
            lambda n: n - low if not n < low else n + 1,
        ),
    ]


def counter(draw: Draw, level: int) -> CodingTask:
    chosen = draw.some(effects(draw), level + 1)
    letters = draw.some("abcdxyz", len(chosen))
    start, bound = draw.between(0, 9), draw.between(18, 40)
    bounded = level > 1
    report = draw.pick(COUNTER_REPORTS)

    def step(n: int, letter: str) -> int:
        after = chosen[letters.index(letter)].apply(n)
        return n if bounded and abs(after) > bound else after

    def reference(commands: str) -> Any:
        return report.apply(reduce(lambda past, c: [*past, step(past[-1], c)], commands, [start]))

    python, javascript = counter_code(
        list(zip(letters, chosen, strict=True)), bound if bounded else 0
    )
    meanings = "; ".join(
        f"`{letter}` {effect.say}" for letter, effect in zip(letters, chosen, strict=True)
    )
    return CodingTask(
        name=draw.pick(("run_commands", "run_counter", "operate", "follow_program")),
        params=(("commands", "text"),),
        returns=report.returns,
        story=draw.pick(
            (
                "A machine has one counter.",
                "A toy computer keeps a single value.",
                "A dial is turned by commands.",
                "",
            )
        ),
        says=(
            f"start with the value {start} and carry out the commands one after the other: {meanings}",
            f"return {report.say}",
        ),
        rules=(
            *(
                (
                    f"A command that would bring the value above {bound} or below -{bound} is skipped: the value stays as it is.",
                )
                * bounded
            ),
            "`commands` holds no other characters; it may be empty and has at most 30 of them.",
        ),
        plan=(
            "A loop over the commands changes the value in one branch for each letter.",
            *(("The old value is kept, so that a command can be taken back.",) * bounded),
            f"In the end we have {report.say}.",
        ),
        python=lines(f"value = {start}", report.start[0], python, report.each[0], report.end[0]),
        javascript=lines(
            f"let value = {start};", report.start[1], javascript, report.each[1], "}", report.end[1]
        ),
        reference=reference,
        inputs=telling_inputs(
            draw,
            reference,
            [("",), (letters[0],), (letters[1] * 3,)],
            lambda: ("".join(draw.pick(letters) for _ in range(draw.between(4, 12))),),
        ),
    )


def counter_code(commands: list[tuple[str, Effect]], bound: int) -> tuple[str, str]:
    """The loop over the commands in both languages; that of JavaScript is left open."""
    python = ["for command in commands:", *(["    before = value"] if bound else [])]
    javascript = [
        "for (const command of commands) {",
        *(["  const before = value;"] if bound else []),
    ]
    for i, (letter, effect) in enumerate(commands):
        python += [
            f'    {"elif" if i else "if"} command == "{letter}":',
            f"        {effect.python}",
        ]
        javascript.append(
            f"  {'else ' if i else ''}if (command === '{letter}') {effect.javascript};"
        )
    if bound:
        python += [f"    if abs(value) > {bound}:", "        value = before"]
        javascript.append(f"  if (Math.abs(value) > {bound}) value = before;")
    return "\n".join(python), "\n".join(javascript)


COUNTER_REPORTS = (
    Report(
        "the final value",
        "int",
        ("", ""),
        ("", ""),
        ("return value", "return value;"),
        lambda past: past[-1],
    ),
    Report(
        "the largest value that was ever held, the first one included",
        "int",
        ("largest = value", "let largest = value;"),
        ("    largest = max(largest, value)", "  largest = Math.max(largest, value);"),
        ("return largest", "return largest;"),
        max,
    ),
    Report(
        "the list of the values after each command",
        "ints",
        ("history = []", "const history = [];"),
        ("    history.append(value)", "  history.push(value);"),
        ("return history", "return history;"),
        lambda past: past[1:],
    ),
    Report(
        "the number of different values that were held, the first one included",
        "int",
        ("held = {value}", "const held = new Set([value]);"),
        ("    held.add(value)", "  held.add(value);"),
        ("return len(held)", "return held.size;"),
        lambda past: sum(n not in past[:i] for i, n in enumerate(past)),
    ),
)

# --- a walker on a grid

WALKER_REPORTS = (
    Report(
        "the number of different fields on which it stood, the first one included",
        "int",
        ("seen = {(x, y)}", "const seen = new Set([`${x},${y}`]);"),
        ("    seen.add((x, y))", "  seen.add(`${x},${y}`);"),
        ("return len(seen)", "return seen.size;"),
        lambda past: len(set(past)),
    ),
    Report(
        "its final position as a list of x and y",
        "ints",
        ("", ""),
        ("", ""),
        ("return [x, y]", "return [x, y];"),
        lambda past: list(past[-1]),
    ),
    Report(
        "its final distance from the start, counted as the difference in x plus the difference in y, both without sign",
        "int",
        ("", ""),
        ("", ""),
        ("return abs(x) + abs(y)", "return Math.abs(x) + Math.abs(y);"),
        lambda past: max(past[-1][0], -past[-1][0]) + max(past[-1][1], -past[-1][1]),
    ),
    Report(
        "the largest x at which it ever stood, the first field included",
        "int",
        ("largest = x", "let largest = x;"),
        ("    largest = max(largest, x)", "  largest = Math.max(largest, x);"),
        ("return largest", "return largest;"),
        lambda past: max(x for x, _ in past),
    ),
)


def walker(draw: Draw, level: int) -> CodingTask:
    ahead, left, right, back = draw.pick((tuple("FLRB"), tuple("GLRB"), tuple("^<>v")))
    size = draw.between(1, 3) if level > 1 else 0
    wraps, turns_back = draw.chance(0.4), level > 2
    report = draw.pick(WALKER_REPORTS)

    def walk(moves: str) -> list[tuple[int, int]]:
        place, facing, past = 0j, 1j, [(0, 0)]
        for move in moves:
            facing *= {left: 1j, right: -1j, back: -1}.get(move, 1)
            if move == ahead:
                x, y = (int(n) for n in ((place + facing).real, (place + facing).imag))
                if size and wraps:
                    x, y = (-n // abs(n) * size if abs(n) > size else n for n in (x, y))
                place = place if size and max(abs(x), abs(y)) > size else complex(x, y)
            past.append((int(place.real), int(place.imag)))
        return past

    letters = ahead + left + right + (back if turns_back else "")
    python, javascript = walker_code(letters, size, wraps)
    edge = "it comes in again on the opposite side" if wraps else "it stays where it is"
    return CodingTask(
        name=draw.pick(("walk", "drive", "follow_moves", "wander")),
        params=(("moves", "text"),),
        returns=report.returns,
        story=draw.pick(
            (
                "A robot drives over a grid.",
                "A beetle walks on tiles.",
                "A token moves on squared paper.",
                "",
            )
        ),
        says=(
            f"start on the field x = 0, y = 0, looking in the direction of growing y, and carry out the moves one after the other: `{ahead}` goes one field ahead, `{left}` turns left by 90 degrees, `{right}` turns right by 90 degrees"
            + (f", `{back}` turns around" if turns_back else ""),
            f"return {report.say}",
        ),
        rules=(
            "With y growing upwards, x grows to the right.",
            *(
                (
                    f"The grid has only fields with x and y from -{size} to {size}; where a step would leave it, {edge}.",
                )
                if size
                else ()
            ),
            "`moves` holds no other characters; it may be empty.",
        ),
        plan=(
            "We keep the position and the direction (dx, dy), and change them with every move.",
            "A left turn makes (dx, dy) into (-dy, dx), a right turn into (dy, -dx).",
            f"In the end we have {report.say}.",
        ),
        python=lines(
            "x, y, dx, dy = 0, 0, 0, 1", report.start[0], python, report.each[0], report.end[0]
        ),
        javascript=lines(
            "let [x, y, dx, dy] = [0, 0, 0, 1];",
            report.start[1],
            javascript,
            report.each[1],
            "}",
            report.end[1],
        ),
        reference=lambda moves: report.apply(walk(moves)),
        inputs=telling_inputs(
            draw,
            lambda moves: report.apply(walk(moves)),
            [("",), (ahead * 5,), (right + ahead * 2 + left + ahead * 4,)],
            lambda: ("".join(draw.pick(letters + ahead * 3) for _ in range(draw.between(5, 14))),),
        ),
    )


def walker_code(letters: str, size: int, wraps: bool) -> tuple[str, str]:
    """The loop over the moves in both languages; that of JavaScript is left open."""
    python = [
        f'    if move == "{letters[1]}":',
        "        dx, dy = -dy, dx",
        f'    elif move == "{letters[2]}":',
        "        dx, dy = dy, -dx",
    ]
    javascript = [
        f"  if (move === '{letters[1]}') [dx, dy] = [-dy, dx];",
        f"  else if (move === '{letters[2]}') [dx, dy] = [dy, -dx];",
    ]
    if len(letters) > 3:
        python += [f'    elif move == "{letters[3]}":', "        dx, dy = -dx, -dy"]
        javascript.append(f"  else if (move === '{letters[3]}') [dx, dy] = [-dx, -dy];")
    test, js_test, width = "    else:", "  else", 2 * size + 1
    step, js_step = "x, y = x + dx, y + dy", "[x, y] = [x + dx, y + dy]"
    if size and wraps:
        step = f"x, y = ((n + {size}) % {width} - {size} for n in (x + dx, y + dy))"
        js_step = f"[x, y] = [x + dx, y + dy].map((n) => ((n + {size + width}) % {width}) - {size})"
    elif size:
        test = f"    elif abs(x + dx) <= {size} and abs(y + dy) <= {size}:"
        js_test = f"  else if (Math.abs(x + dx) <= {size} && Math.abs(y + dy) <= {size})"
    python += [test, f"        {step}"]
    javascript.append(f"{js_test} {js_step};")
    return "\n".join(["for move in moves:", *python]), "\n".join(
        ["for (const move of moves) {", *javascript]
    )


# --- a queue

QUEUE_REPORTS = (
    Report(
        "how many are waiting at the end of the last minute",
        "int",
        ("", ""),
        ("", ""),
        ("return waiting", "return waiting;"),
        lambda past: past[-1],
    ),
    Report(
        "the list of the numbers that are waiting at the end of each minute",
        "ints",
        ("history = []", "const history = [];"),
        ("    history.append(waiting)", "  history.push(waiting);"),
        ("return history", "return history;"),
        lambda past: past[1:],
    ),
    Report(
        "the sum of the numbers that are waiting at the end of each minute",
        "int",
        ("total = 0", "let total = 0;"),
        ("    total += waiting", "  total += waiting;"),
        ("return total", "return total;"),
        sum,
    ),
    Report(
        "the number of minutes at the end of which nobody is waiting",
        "int",
        ("idle = 0", "let idle = 0;"),
        ("    if waiting == 0:\n        idle += 1", "  if (waiting === 0) idle += 1;"),
        ("return idle", "return idle;"),
        lambda past: past[1:].count(0),
    ),
)


def queue(draw: Draw, level: int) -> CodingTask:
    served, room = draw.between(2, 5), draw.between(6, 10)
    full, rush = level > 1, level > 2
    limit = draw.between(4, 5)
    report = draw.pick(QUEUE_REPORTS)

    def after(waiting: int, arrivals: int) -> int:
        inside = list(range(waiting + arrivals))[: room if full else None]
        return len(inside[served + (1 if rush and len(inside) > limit else 0) :])

    def reference(arrivals: list[int]) -> Any:
        return report.apply(reduce(lambda past, n: [*past, after(past[-1], n)], arrivals, [0]))

    speed = (
        f"{served} (or {served + 1}, if more than {limit} are waiting then)"
        if rush
        else f"{served}"
    )
    fast, js_fast = (
        (
            f"({served + 1} if waiting > {limit} else {served})",
            f"(waiting > {limit} ? {served + 1} : {served})",
        )
        if rush
        else (str(served), str(served))
    )
    come, js_come = (
        (f"min(waiting + arriving, {room})", f"Math.min(waiting + arriving, {room})")
        if full
        else ("waiting + arriving", "waiting + arriving")
    )
    return CodingTask(
        name=draw.pick(("serve", "run_counter_desk", "simulate_queue", "work_off")),
        params=(("arrivals", "ints"),),
        returns=report.returns,
        story=draw.pick(
            (
                "People queue at a desk.",
                "Jobs wait for a printer.",
                "Cars wait at a ferry.",
                "Parcels wait to be sorted.",
            )
        ),
        says=(
            "simulate a queue that is empty at first: in every minute as many join it as the next entry of `arrivals` says"
            + (
                f", but those for whom there is no room, because {room} are waiting already, go away for good"
                if full
                else ""
            )
            + f"; after that, still in the same minute, {speed} of those who are waiting are served and leave, or all of them if there are fewer",
            f"return {report.say}",
        ),
        rules=(
            "The simulation ends with the last entry of `arrivals`, which may be empty; the entries lie between 0 and 1000000.",
        ),
        plan=(
            "One number, how many are waiting, is the whole state.",
            "Every minute first adds the arrivals and then takes away those who are served, but never goes below zero.",
            f"In the end we have {report.say}.",
        ),
        python=lines(
            "waiting = 0",
            report.start[0],
            f"for arriving in arrivals:\n    waiting = {come}\n    waiting = max(0, waiting - {fast})",
            report.each[0],
            report.end[0],
        ),
        javascript=lines(
            "let waiting = 0;",
            report.start[1],
            f"for (const arriving of arrivals) {{\n  waiting = {js_come};\n  waiting = Math.max(0, waiting - {js_fast});",
            report.each[1],
            "}",
            report.end[1],
        ),
        reference=reference,
        inputs=telling_inputs(
            draw,
            reference,
            [([],), ([served],), ([served + 3, 0],), ([9, 9],)],
            lambda: (draw.integers(draw.between(3, 7), 0, 8),),
        ),
    )


# --- cells in a row


def cells(draw: Draw, level: int) -> CodingTask:
    rounds, ring = level + draw.between(1, 2), draw.chance(0.5)
    rule = tuple(sorted(draw.some(("..", ".#", "#.", "##"), 2)))
    flips = draw.chance(0.5)  # else the cell's own state does not matter
    counts = draw.chance(0.5)
    listed, js_listed = (
        ", ".join(f'"{pair}"' for pair in rule),
        ", ".join(f"'{pair}'" for pair in rule),
    )

    def once(row: str) -> str:
        padded = row[-1:] + row + row[:1] if ring else f".{row}."
        hit = [padded[i] + padded[i + 2] in rule for i in range(len(row))]
        return "".join(".#"[(c == "#") ^ h if flips else h] for c, h in zip(row, hit, strict=True))

    def reference(row: str) -> Any:
        last = reduce(lambda now, _: once(now), range(rounds), row)
        return last.count("#") if counts else last

    fate = "changes its state (from `#` to `.` or from `.` to `#`)" if flips else "becomes `#`"
    rest = "keeps it" if flips else "becomes `.`"
    py_new = (
        '("." if c == "#" else "#") if pair in RULE else c'
        if flips
        else '"#" if pair in RULE else "."'
    )
    js_new = "fits ? (c === '#' ? '.' : '#') : c" if flips else "fits ? '#' : '.'"
    padded = (
        ("row[-1:] + row + row[:1]", "row.slice(-1) + row + row.slice(0, 1)")
        if ring
        else ('"." + row + "."', "`.${row}.`")
    )
    return CodingTask(
        name=draw.pick(("evolve", "grow_row", "next_rows", "run_cells")),
        params=(("row", "text"),),
        returns="int" if counts else "text",
        story=draw.pick(
            (
                "Lamps in a row are on (`#`) or off (`.`).",
                "Cells in a row are alive (`#`) or dead (`.`).",
                "",
            )
        ),
        says=(
            f"do the following {rounds} times: every cell of `row`, all at the same time, {fate} if the cell to its left and the cell to its right, in this order, are {' or '.join(f'`{pair}`' for pair in rule)}, and {rest} otherwise",
            "return the number of `#` in the end" if counts else "return the row in the end",
        ),
        rules=(
            "`row` holds only `#` and `.`; it may be empty.",
            "The row is closed to a ring: the first and the last cell are neighbours."
            if ring
            else "Beyond both ends of the row, all counts as `.`.",
        ),
        plan=(
            "In every round, a new row is made from the old one, so that no cell sees a change too early.",
            "The row is padded by one cell on either side, which gives every cell two neighbours.",
        ),
        python=f'for _ in range({rounds}):\n    padded = {padded[0]}\n    pairs = [a + b for a, b in zip(padded, padded[2:])]\n    row = "".join({py_new.replace("RULE", f"({listed})")} for c, pair in zip(row, pairs))\nreturn '
        + ('row.count("#")' if counts else "row"),
        javascript=f"for (let round = 0; round < {rounds}; round += 1) {{\n  const padded = {padded[1]};\n  row = [...row].map((c, i) => {{\n    const fits = [{js_listed}].includes(padded[i] + padded[i + 2]);\n    return {js_new};\n  }}).join('');\n}}\nreturn "
        + ("row.split('#').length - 1;" if counts else "row;"),
        reference=reference,
        inputs=telling_inputs(
            draw,
            reference,
            [("",), ("#",), (".#",), ("#..#.",)],
            lambda: ("".join(draw.pick("#.") for _ in range(draw.between(5, 12))),),
        ),
    )
