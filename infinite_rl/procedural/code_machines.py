"""Machines and simulations: follow rules step by step; the references keep every state."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from .code import CodingTask, Family, Reference
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """A machine that follows its input; the higher the level, the more rules it obeys."""
    return draw.pick((counter, counter, walker, walker, queue, cells))(draw, level)


def counter(draw: Draw, level: int) -> CodingTask:
    """A counter with commands, one letter each; from level 2 on it has bounds."""
    shared = FAMILY.draw_shared(draw, "effects")
    rows = draw.some(FAMILY.rows("effects"), level + 1)
    letters = draw.some("abcdxyz", len(rows))
    start, bound = draw.between(0, 9), draw.between(18, 40)
    report = FAMILY.draw_texts(draw, "counter report")
    effects = {
        letter: FAMILY.step(draw, row, **shared) for letter, row in zip(letters, rows, strict=True)
    }

    def step(n: int, letter: str) -> int:
        after: int = effects[letter].reference(n)
        return n if level > 1 and abs(after) > bound else after

    def states(commands: str) -> list[int]:
        return reduce(lambda past, letter: [*past, step(past[-1], letter)], commands, [start])

    python = [
        f'    elif command == "{letter}":\n        {effect.python}'
        for letter, effect in effects.items()
    ]
    javascript = [
        f"  else if (command === '{letter}') {effect.javascript};"
        for letter, effect in effects.items()
    ]
    parameters = {
        **report,
        "level": level,
        "start": start,
        "bound": bound,
        "meanings": "; ".join(
            f"`{letter}` {effect.instruction}" for letter, effect in effects.items()
        ),
        "branches_py": "\n".join(python).replace("elif", "if", 1),
        "branches_js": "\n".join(javascript).replace("else if", "if", 1),
    }
    edges = [("",), (letters[0],), (letters[1] * 3,)]

    def draw_input() -> tuple[str]:
        return ("".join(draw.pick(letters) for _ in range(draw.between(4, 12))),)

    return simulation(draw, "counter", parameters, states, edges, draw_input)


def walker(draw: Draw, level: int) -> CodingTask:
    """A walker on a grid that has an edge from level 2 on; at level 3 it turns around, too."""
    p = FAMILY.draw_parameters(draw, "walker", level=level, size=0)
    p |= FAMILY.draw_texts(draw, "walker report")
    ahead, left, right, size, ring = p["ahead"], p["left"], p["right"], p["size"], p["wraps"]

    def states(moves: str) -> list[tuple[int, int]]:
        position, facing, past = 0j, 1j, [(0, 0)]
        for move in moves:
            facing *= {left: 1j, right: -1j, p["back"]: -1}.get(move, 1)
            if move == ahead:
                x, y = (int(n) for n in ((position + facing).real, (position + facing).imag))
                if size and ring:
                    x, y = (-n // abs(n) * size if abs(n) > size else n for n in (x, y))
                if not size or max(abs(x), abs(y)) <= size:
                    position = complex(x, y)
            past.append((int(position.real), int(position.imag)))
        return past

    letters = ahead + left + right + (p["back"] if level > 2 else "") + ahead * 3
    parameters = {
        **p,
        "walled": size and not ring,
        "ring": size and ring,
        "edge": "it comes in again on the opposite side" if ring else "it stays where it is",
        "width": 2 * size + 1,
        "beyond": 3 * size + 1,
    }
    edges = [("",), (ahead * 5,), (right + ahead * 2 + left + ahead * 4,)]

    def draw_input() -> tuple[str]:
        return ("".join(draw.pick(letters) for _ in range(draw.between(5, 14))),)

    return simulation(draw, "walker", parameters, states, edges, draw_input)


def queue(draw: Draw, level: int) -> CodingTask:
    """A queue; from level 2 on its room is limited, at level 3 a long one is served faster."""
    p = FAMILY.draw_parameters(draw, "queue", level=level)
    p |= FAMILY.draw_texts(draw, "queue report")

    def after(waiting: int, arrivals: int) -> int:
        inside = list(range(waiting + arrivals))[: p["room"] if level > 1 else None]
        return len(inside[p["served"] + (level > 2 and len(inside) > p["limit"]) :])

    def states(arrivals: list[int]) -> list[int]:
        return reduce(lambda past, n: [*past, after(past[-1], n)], arrivals, [0])

    edges = [([],), ([p["served"]],), ([p["served"] + 3, 0],), ([9, 9],)]

    def draw_input() -> tuple[list[int]]:
        return (draw.integers(draw.between(3, 7), 0, 8),)

    return simulation(draw, "queue", p, states, edges, draw_input)


def simulation(
    draw: Draw,
    name: str,
    parameters: dict[str, Any],
    states: Callable[[Any], list[Any]],
    edges: list[tuple[Any]],
    draw_input: Callable[[], tuple[Any]],
) -> CodingTask:
    """The task of a row, with the report among its parameters on the list of all states."""
    report = REFERENCES[parameters["report"]]
    return FAMILY.task(
        draw, name, parameters, lambda value: report(states(value), None), edges, draw_input
    )


def cells(draw: Draw, level: int) -> CodingTask:
    """Cells in a row that change, all at once, by what their neighbours are."""
    p = FAMILY.draw_parameters(draw, "cells")
    rule = sorted((p["first"], p["second"]))
    rounds = level + p["more"]

    def once(row: str) -> str:
        padded = row[-1:] + row + row[:1] if p["ring"] else f".{row}."
        hit = [padded[i] + padded[i + 2] in rule for i in range(len(row))]
        pairs = zip(row, hit, strict=True)
        return "".join(".#"[(c == "#") ^ h if p["flips"] else h] for c, h in pairs)

    def reference(row: str) -> str | int:
        last = reduce(lambda now, _: once(now), range(rounds), row)
        return last.count("#") if p["counts"] else last

    def draw_input() -> tuple[str]:
        return ("".join(draw.pick("#.") for _ in range(draw.between(5, 12))),)

    parameters = {**p, "rounds": rounds, "low": rule[0], "high": rule[1]}
    edges = [("",), ("#",), (".#",), ("#..#.",)]
    return FAMILY.task(draw, "cells", parameters, reference, edges, draw_input)


# --- references: of a value and the parameters of the effects; of the list of all states


# fmt: off
REFERENCES: dict[str, Reference] = {
    "add": lambda n, p: n + p.k,
    "subtract": lambda n, p: n - p.k - 1,
    "double": lambda n, p: n + n,
    "mirror": lambda n, p: p.c - n,
    "reset": lambda n, p: p.low,
    "halve": lambda n, p: (n - (n & 1)) // 2,
    "wrap": lambda n, p: n - p.low if not n < p.low else n + 1,
    "final_value": lambda states, p: states[-1],
    "largest_value": lambda states, p: max(states),
    "values": lambda states, p: states[1:],
    "distinct_values": lambda states, p: sum(n not in states[:i] for i, n in enumerate(states)),
    "distinct_fields": lambda states, p: len(set(states)),
    "position": lambda states, p: list(states[-1]),
    "distance": lambda states, p: max(states[-1][0], -states[-1][0]) + max(states[-1][1], -states[-1][1]),
    "largest_x": lambda states, p: max(x for x, _ in states),
    "final_length": lambda states, p: states[-1],
    "lengths": lambda states, p: states[1:],
    "total": lambda states, p: sum(states),
    "idle_minutes": lambda states, p: states[1:].count(0),
}
# fmt: on
FAMILY = Family("machines", REFERENCES)
