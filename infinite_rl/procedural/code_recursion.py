"""Recursion and dynamic programming; the references try everything out on small inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

from .code import CodingTask, Family
from .draw import Draw
from .templates import listing

FAMILY = Family("recursion", {})


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

    def ways(n: int, at: int = 0, last: int = 0) -> int:
        if at == n:
            return 1
        return sum(
            ways(n, at + s, s)
            for s in sizes
            if at + s <= n
            and not (bad and (at + s) % bad == 0 and at + s != n)
            and not (no_repeat and s == last)
        )

    def reference(n: int) -> int:
        return ways(n) % modulus if modulus else ways(n)

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
    return FAMILY.task(
        draw, "climb", parameters, reference, edges, lambda: (draw.between(3, 14),), code
    )


def recurrence(draw: Draw, level: int) -> CodingTask:
    """The terms of a sequence; from level 2 on, some indices have another rule."""
    p = FAMILY.draw_parameters(draw, "recurrence", level=level)
    goal = draw.pick(FAMILY.rows("goal")[: 1 + level])

    def term(i: int) -> int:
        if i < 2:
            return int((p["first"], p["second"])[i])
        if level > 1 and i % p["k"] == 0:
            return int((term(i - 1) + p["extra"]) % p["m"])
        return int((p["a"] * term(i - 1) + p["b"] * term(i - 2) + p["c"]) % p["m"])

    def reference(n: int) -> int | list[int]:
        terms = [term(i) for i in range(n + 1)]
        return terms if goal.name == "list" else sum(terms) if goal.name == "sum" else terms[-1]

    parameters = {**p, **{f"goal_{key}": text for key, text in goal.fields.items()}}
    edges = [(0,), (1,), (2,)]
    return FAMILY.task(
        draw, "recurrence", parameters, reference, edges, lambda: (draw.between(3, 15),)
    )


# --- nested lists


def flat(tree: Any, depth: int = 1) -> Iterator[tuple[int, int]]:
    """Every number of a nested list with its depth."""
    for item in tree:
        if isinstance(item, list):
            yield from flat(item, depth + 1)
        else:
            yield item, depth


NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "every": lambda n, k: True,
    "above": lambda n, k: n > k,
    "even": lambda n, k: not n & 1,
    "odd": lambda n, k: bool(n & 1),
    "negative": lambda n, k: n < 0,
}
WEIGHTS: dict[str, Callable[[int, int, int], int]] = {
    "item": lambda n, depth, k: n,
    "one": lambda n, depth, k: 1,
    "product": lambda n, depth, k: n * depth,
    "depth": lambda n, depth, k: depth,
    "increased": lambda n, depth, k: n + k * depth,
}


def nested(draw: Draw, level: int) -> CodingTask:
    """A total over the numbers of a nested list, by their depth."""
    p: dict[str, Any] = FAMILY.draw_record(draw, "nested stories")
    p = FAMILY.draw_parameters(draw, "nested", **p)
    p = FAMILY.draw_texts(draw, "weight", **FAMILY.draw_texts(draw, "number", **p))
    limit = draw.between(2, 3) if level > 1 and draw.chance(0.6) else 0
    flips = level > 2 and draw.chance(0.5)
    test, weight, k = NUMBERS[p["number"]], WEIGHTS[p["weight"]], p["k"]

    def reference(tree: list[Any]) -> int:
        return sum(
            (-1) ** (depth - 1 if flips else 0) * weight(n, depth, k)
            for n, depth in flat(tree)
            if test(n, k) and (not limit or depth <= limit)
        )

    def tree(depth: int) -> list[Any]:
        return [
            tree(depth - 1) if depth > 1 and draw.chance(0.4) else draw.between(-4, 12)
            for _ in range(draw.between(1, 4))
        ]

    depth = "depth" in p["weight_py"] or limit > 0 or flips
    parameters = {**p, "limit": limit, "flips": flips, "depth": depth}
    edges = [([],), ([[]],), ([3],), ([[2], [[4]]],)]
    return FAMILY.task(draw, "nested", parameters, reference, edges, lambda: (tree(2 + level),))


# --- the best part of a list


def subset(draw: Draw, level: int) -> CodingTask:
    """The best choice of entries with gaps between them."""
    gap = draw.between(1, level)
    fee = draw.between(1, 4) if level > 2 and draw.chance(0.5) else 0
    story = FAMILY.draw_record(draw, "subset stories")

    def reference(values: list[int]) -> int:
        return max(
            sum(values[i] - fee for i in chosen)
            for size in range(len(values) + 1)
            for chosen in combinations(range(len(values)), size)
            if all(b - a > gap for a, b in zip(chosen, chosen[1:], strict=False))
        )

    edges = [([],), ([-3],), ([5],), ([4] * (gap + 2),)]
    return FAMILY.task(
        draw,
        "subset",
        {**story, "gap": gap, "fee": fee},
        reference,
        edges,
        lambda: (draw.integers(draw.between(4, 8), -4, 20),),
    )


RELATIONS: dict[str, Callable[[int, int, int], bool]] = {
    "greater": lambda a, b, k: b > a,
    "not_less": lambda a, b, k: not b < a,
    "larger_by": lambda a, b, k: b >= a + k + 1,
    "near": lambda a, b, k: a - k <= b <= a + k,
    "other_parity": lambda a, b, k: (a + b) % 2 == 1,
    "multiple": lambda a, b, k: b in range(2 * a, 400, a),
}


def chain(draw: Draw, level: int) -> CodingTask:
    """The longest or largest subsequence in which neighbours are in a relation."""
    p = FAMILY.draw_texts(draw, "relation", k=draw.between(1, 4))
    by_sum = draw.chance(0.4)
    holds, k = RELATIONS[p["relation"]], p["k"]

    def reference(values: list[int]) -> int:
        return max(
            sum(chosen) if by_sum else len(chosen)
            for size in range(len(values) + 1)
            for chosen in combinations(values, size)
            if all(holds(a, b, k) for a, b in zip(chosen, chosen[1:], strict=False))
        )

    p |= {"param": draw.pick(("values", "heights", "sizes", "prices", "ranks")), "by_sum": by_sum}
    edges = [([],), ([4],), ([2, 2, 2],), ([9, 6, 3],), ([1, 2, 4, 8],)]
    return FAMILY.task(
        draw, "chain", p, reference, edges, lambda: (draw.integers(draw.between(4, 8), 1, 24),)
    )


# --- sums of given values


def coins(draw: Draw, level: int) -> CodingTask:
    """The ways to make up an amount from given values, or the fewest pieces."""
    values = sorted(draw.some((1, 2, 3, 4, 5, 6, 7, 9, 10), draw.between(2, 3)))
    counts = draw.chance(0.5)
    limit = draw.between(3, 5) if level > 2 and draw.chance(0.6) else 0
    story = FAMILY.draw_record(draw, "coin stories")

    def sizes(total: int, allowed: list[int]) -> list[int]:
        """The sizes of all multisets of the allowed values with this sum."""
        if total == 0:
            return [0]
        if not allowed:
            return []
        first, *rest = allowed
        most = min(limit, total // first) if limit else total // first
        return [
            used + size for used in range(most + 1) for size in sizes(total - used * first, rest)
        ]

    def reference(amount: int) -> int:
        used = sizes(amount, values)
        return len(used) if counts else min(used, default=-1)

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
    return FAMILY.task(
        draw, "coins", parameters, reference, edges, lambda: (draw.between(2, 30),), code
    )


# --- paths through a grid


def paths(draw: Draw, level: int) -> CodingTask:
    """The best walk through a grid, or the number of walks."""
    p = FAMILY.draw_parameters(draw, "paths")
    counts = p["kind"] == "count"
    moves = ((1, 0), (0, 1), (1, 1)) if p["diagonal"] else ((1, 0), (0, 1))

    def walks(grid: list[list[int]], r: int = 0, c: int = 0) -> list[int]:
        """The sum of every allowed walk from a cell to the last one."""
        if r >= len(grid) or c >= len(grid[0]) or (counts and grid[r][c] > p["wall"]):
            return []
        if (r, c) == (len(grid) - 1, len(grid[0]) - 1):
            return [grid[r][c]]
        return [grid[r][c] + rest for dr, dc in moves for rest in walks(grid, r + dr, c + dc)]

    def reference(grid: list[list[int]]) -> int:
        return len(walks(grid)) if counts else sorted(walks(grid))[p["index"]]

    def draw_input() -> tuple[list[list[int]]]:
        width = draw.between(2, 4)
        return ([draw.integers(width, 0, 9) for _ in range(draw.between(2, 4))],)

    edges = [([[3]],), ([[9]],), ([[1, 2, 3]],), ([[1], [8], [2]],)]
    return FAMILY.task(draw, "paths", p, reference, edges, draw_input)
