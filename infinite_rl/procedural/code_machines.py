"""Machines and simulations: follow rules step by step."""

from .code import JAVASCRIPT, PYTHON, CodingTask, Family
from .draw import Draw

LEVELS = (1, 2, 3)


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
    effects = list(zip(letters, (FAMILY.step(draw, row, **shared) for row in rows), strict=True))
    parameters = {
        **report,
        "level": level,
        "start": start,
        "bound": bound,
        "meanings": "; ".join(f"`{letter}` {effect.instruction}" for letter, effect in effects),
        "branches_py": "\n".join(
            f'    elif command == "{letter}":\n        {effect.code[PYTHON]}'
            for letter, effect in effects
        ).replace("elif", "if", 1),
        "branches_js": "\n".join(
            f"  else if (command === '{letter}') {effect.code[JAVASCRIPT]};"
            for letter, effect in effects
        ).replace("else if", "if", 1),
    }
    edges = [("",), (letters[0],), (letters[1] * 3,)]

    def draw_input() -> tuple[str]:
        return ("".join(draw.pick(letters) for _ in range(draw.between(4, 12))),)

    return FAMILY.task(draw, "counter", parameters, edges, draw_input)


def walker(draw: Draw, level: int) -> CodingTask:
    """A walker on a grid that has an edge from level 2 on; at level 3 it turns around, too."""
    p = FAMILY.draw_parameters(draw, "walker", level=level, size=0)
    p |= FAMILY.draw_texts(draw, "walker report")
    ahead, left, right, size, ring = p["ahead"], p["left"], p["right"], p["size"], p["wraps"]
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

    return FAMILY.task(draw, "walker", parameters, edges, draw_input)


def queue(draw: Draw, level: int) -> CodingTask:
    """A queue; from level 2 on its room is limited, at level 3 a long one is served faster."""
    p = FAMILY.draw_parameters(draw, "queue", level=level)
    p |= FAMILY.draw_texts(draw, "queue report")
    edges = [([],), ([p["served"]],), ([p["served"] + 3, 0],), ([9, 9],)]

    def draw_input() -> tuple[list[int]]:
        return (draw.integers(draw.between(3, 7), 0, 8),)

    return FAMILY.task(draw, "queue", p, edges, draw_input)


def cells(draw: Draw, level: int) -> CodingTask:
    """Cells in a row that change, all at once, by what their neighbours are."""
    p = FAMILY.draw_parameters(draw, "cells")
    rule = sorted((p["first"], p["second"]))
    rounds = level + p["more"]

    def draw_input() -> tuple[str]:
        return ("".join(draw.pick("#.") for _ in range(draw.between(5, 12))),)

    parameters = {**p, "rounds": rounds, "low": rule[0], "high": rule[1]}
    edges = [("",), ("#",), (".#",), ("#..#.",)]
    return FAMILY.task(draw, "cells", parameters, edges, draw_input)


FAMILY = Family("machines")
