"""Grids of integers: turn them, reduce their lines, and look at neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .code import CodingTask, Family, Reference
from .draw import Draw

Grid = list[list[int]]


def make(draw: Draw, level: int) -> CodingTask:
    """Changes of a grid followed by a reduction: one stage more with each level."""
    story = FAMILY.draw_record(draw, "stories")
    count = level - 1 if draw.chance(0.7) or level == 1 else level
    rows = draw.some(FAMILY.rows("changes"), count)
    ending = FAMILY.pick(draw, "endings")
    steps = [*(FAMILY.step(draw, row) for row in rows), ending]
    edges: list[tuple[Grid]] = [
        ([[draw.between(-5, 9)]],),
        ([[0, 0], [0, 0]],),
        ([draw.integers(4, -3, 9)],),
        ([[n] for n in draw.integers(3, -3, 9)],),
    ]

    def draw_input() -> tuple[Grid]:
        width = draw.between(2, 2 + level)
        return ([draw.integers(width, -6, 15) for _ in range(draw.between(2, 2 + level))],)

    shape = FAMILY.phrase(draw, "shape", **story)
    return FAMILY.pipeline(draw, steps, {**story, "shape": shape}, edges, draw_input)


# --- references: of a grid and the parameters of the row


def rearrange(cell: Callable[[Grid, int, int], int]) -> Reference:
    """The grid with rows and columns exchanged; `cell` gives the number of a new column and row."""
    return lambda g, p: [[cell(g, r, c) for r in range(len(g))] for c in range(len(g[0]))]


def replace(change: Callable[[int, Any], int]) -> Reference:
    return lambda g, p: [[change(n, p) for n in row] for row in g]


REDUCERS: dict[str, Callable[[list[int]], int]] = {
    "sum": sum,
    "largest number": lambda line: sorted(line)[-1],
    "smallest number": lambda line: sorted(line)[0],
    "difference between the largest and the smallest number": lambda line: (
        sorted(line)[-1] - sorted(line)[0]
    ),
}


def lines_then(g: Grid, p: Any) -> int | list[int]:
    columns = [[row[c] for row in g] for c in range(len(g[0]))]
    values = [REDUCERS[p.inner](line) for line in (columns if p.line == "column" else g)]
    return REDUCERS[p.outer](values) if p.outer else values


def best_line(g: Grid, p: Any) -> int:
    target = sorted(sum(row) for row in g)[-1 if p.word == "largest" else 0]
    matches = [r for r, row in enumerate(g) if sum(row) == target]
    return matches[0] if p.first else matches[-1]


def border(g: Grid, p: Any) -> int:
    inner = sum(sum(row[1:-1]) for row in g[1:-1])
    return inner if p.inside else sum(map(sum, g)) - inner


def diagonal(g: Grid, p: Any) -> int | list[int]:
    if not p.pattern:
        return [row[i] for i, row in enumerate(g) if i < len(row)]
    cells = [(i, j) for i in range(len(g)) for j in range(len(g[0]))]
    return sum(g[i][j] for i, j in cells if (i + j - p.r) % p.k == 0)


def peaks(g: Grid, p: Any) -> int:
    sign = 1 if p.word == "greater" else -1
    cells = {(r, c): sign * n for r, row in enumerate(g) for c, n in enumerate(row)}
    highest = [
        sign * n
        for (r, c), n in cells.items()
        if all(n > other for (i, j), other in cells.items() if abs(i - r) + abs(j - c) == 1)
    ]
    return len(highest) if p.counts else sum(highest)


def regions(g: Grid, p: Any) -> int:
    label = {(r, c): (r, c) for r, row in enumerate(g) for c, n in enumerate(row) if n >= p.k}
    for _ in label:
        for r, c in label:
            near = ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1))
            label[r, c] = min([label[r, c], *(label[cell] for cell in near if cell in label)])
    sizes = [list(label.values()).count(root) for root in set(label.values())]
    return max(sizes, default=0) if p.largest else len(sizes)


def snake(g: Grid, p: Any) -> list[int]:
    turned = [row if (r % 2 == 0) == p.right else reversed(row) for r, row in enumerate(g)]
    return [n for row in turned for n in row]


# fmt: off
REFERENCES: dict[str, Reference] = {
    "transpose": rearrange(lambda g, r, c: g[r][c]),
    "rotate_right": rearrange(lambda g, r, c: g[len(g) - 1 - r][c]),
    "mirror": lambda g, p: [list(reversed(row)) for row in g],
    "upside_down": lambda g, p: [g[-1 - r] for r in range(len(g))],
    "cap": replace(lambda n, p: p.k if n > p.k else n),
    "positive_part": replace(lambda n, p: n if n > 0 else 0),
    "add_index": lambda g, p: [[g[r][c] + p.a * r + p.b * c for c in range(len(g[0]))] for r in range(len(g))],
    "sort_rows": lambda g, p: [sorted(row)[::-1] if p.down else sorted(row) for row in g],
    "running_rows": lambda g, p: [[sum(row[: c + 1]) for c in range(len(row))] for row in g],
    "drop_first_row": lambda g, p: [row for r, row in enumerate(g) if r or len(g) == 1],
    "lines_then": lines_then,
    "best_line": best_line,
    "border": border,
    "diagonal": diagonal,
    "peaks": peaks,
    "regions": regions,
    "same_grid": replace(lambda n, p: sum([n] * p.k)),
    "snake": snake,
}
# fmt: on
FAMILY = Family("grids", REFERENCES)
