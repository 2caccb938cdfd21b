"""Recursion and dynamic programming."""

from typing import Any

from .code import CodingTask, Family
from .draw import Draw
from .templates import listing

LEVELS = (1, 2, 3)
FAMILY = Family("recursion")


def make(draw: Draw, level: int) -> CodingTask:
    """A counting, optimizing or nesting problem of level 1 to 3."""
    kinds = (climb, recurrence, nested, subset, chain, coins, paths)
    return draw.pick(kinds[: 3 if level == 1 else 7])(draw, level)


def climb(draw: Draw, level: int) -> CodingTask:
    """The ways to reach a number by steps of given sizes."""
    story = FAMILY.draw_record(draw, "climb stories")
    sizes = sorted(draw.some((1, 2, 3, 4, 5), 1 + level if level < 3 else draw.between(2, 4)))
    bad = draw.between(3, 5) if level > 1 and draw.chance(0.7) else 0
    no_repeat = level == 3 and draw.chance(0.5)
    modulus = draw.pick((7, 10, 97)) if level > 1 and draw.chance(0.3) else 0

    index = "total" if no_repeat else "i"
    parameters = {
        **story,
        "listing": listing(sizes, "or"),
        "sizes": ", ".join(map(str, sizes)),
        "bad": bad,
        "bad_js": f" && ({index} % {bad} !== 0 || {index} === n)" if bad else "",
        "no_repeat": no_repeat,
        "joint": " and" if bad else ",",
        "modulus": modulus,
    }
    code = "climb_with_memory" if no_repeat else "climb"
    edges = [(0,), (1,), (2,)]
    return FAMILY.task(draw, "climb", parameters, edges, lambda: (draw.between(3, 14),), code)


def recurrence(draw: Draw, level: int) -> CodingTask:
    """The terms of a sequence; from level 2 on, some indices have another rule."""
    p = FAMILY.draw_parameters(draw, "recurrence", level=level)
    goal = draw.pick(FAMILY.rows("goal")[: 1 + level])

    parameters = {**p, **{f"goal_{key}": text for key, text in goal.fields.items()}}
    edges = [(0,), (1,), (2,)]
    return FAMILY.task(draw, "recurrence", parameters, edges, lambda: (draw.between(3, 15),))


# --- nested lists


def nested(draw: Draw, level: int) -> CodingTask:
    """A total over the numbers of a nested list, by their depth."""
    p: dict[str, Any] = FAMILY.draw_record(draw, "nested stories")
    p = FAMILY.draw_parameters(draw, "nested", **p)
    p = FAMILY.draw_texts(draw, "weight", **FAMILY.draw_texts(draw, "number", **p))
    limit = draw.between(2, 3) if level > 1 and draw.chance(0.6) else 0
    flips = level > 2 and draw.chance(0.5)

    def tree(depth: int) -> list[Any]:
        return [
            tree(depth - 1) if depth > 1 and draw.chance(0.4) else draw.between(-4, 12)
            for _ in range(draw.between(1, 4))
        ]

    depth = "depth" in p["weight_fact"] or limit > 0 or flips
    parameters = {**p, "limit": limit, "flips": flips, "depth": depth}
    edges = [([],), ([[]],), ([3],), ([[2], [[4]]],)]
    return FAMILY.task(draw, "nested", parameters, edges, lambda: (tree(2 + level),))


# --- the best part of a list


def subset(draw: Draw, level: int) -> CodingTask:
    """The best choice of entries with gaps between them."""
    gap = draw.between(1, level)
    fee = draw.between(1, 4) if level > 2 and draw.chance(0.5) else 0
    story = FAMILY.draw_record(draw, "subset stories")

    edges = [([],), ([-3],), ([5],), ([4] * (gap + 2),)]
    return FAMILY.task(
        draw,
        "subset",
        {**story, "gap": gap, "fee": fee},
        edges,
        lambda: (draw.integers(draw.between(4, 8), -4, 20),),
    )


def chain(draw: Draw, level: int) -> CodingTask:
    """The longest or largest subsequence in which neighbours are in a relation."""
    p = FAMILY.draw_texts(draw, "relation", k=draw.between(1, 4))
    by_sum = draw.chance(0.4)

    p |= {"param": draw.pick(("values", "heights", "sizes", "prices", "ranks")), "by_sum": by_sum}
    edges = [([],), ([4],), ([2, 2, 2],), ([9, 6, 3],), ([1, 2, 4, 8],)]
    return FAMILY.task(draw, "chain", p, edges, lambda: (draw.integers(draw.between(4, 8), 1, 24),))


# --- sums of given values


def coins(draw: Draw, level: int) -> CodingTask:
    """The ways to make up an amount from given values, or the fewest pieces."""
    values = sorted(draw.some((1, 2, 3, 4, 5, 6, 7, 9, 10), draw.between(2, 3)))
    counts = draw.chance(0.5)
    limit = draw.between(3, 5) if level > 2 and draw.chance(0.6) else 0
    story = FAMILY.draw_record(draw, "coin stories")

    parameters = {
        **story,
        "listing": listing(values, "or"),
        "sizes": ", ".join(map(str, values)),
        "limit": limit,
        "counts": counts,
        "used_js": f"used <= {limit} && used * value <= total"
        if limit
        else "used * value <= total",
    }
    code = "fewest_coins"
    if counts:
        code = "count_limited_coins" if limit else "count_coins"
    edges = [(0,), (1,), (values[-1],)]
    return FAMILY.task(draw, "coins", parameters, edges, lambda: (draw.between(2, 30),), code)


# --- paths through a grid


def paths(draw: Draw, level: int) -> CodingTask:
    """The best walk through a grid, or the number of walks."""
    p = FAMILY.draw_parameters(draw, "paths")

    def draw_input() -> tuple[list[list[int]]]:
        width = draw.between(2, 4)
        return ([draw.integers(width, 0, 9) for _ in range(draw.between(2, 4))],)

    edges = [([[3]],), ([[9]],), ([[1, 2, 3]],), ([[1], [8], [2]],)]
    return FAMILY.task(draw, "paths", p, edges, draw_input)
