"""Grids of integers: turn them, reduce their lines, and look at neighbours."""

from __future__ import annotations

from collections.abc import Callable

from .code import BOUNDED, CodingTask, Step, task_of_steps
from .draw import Draw

Grid = list[list[int]]
STORIES = (
    ("A field is divided into plots, and each holds a yield.", "plots"),
    ("A camera delivers brightness values row by row.", "image"),
    ("A map stores heights above sea level; some lie below.", "heights"),
    ("A cinema counts the tickets for each seat.", "seats"),
    ("A board game keeps points on a rectangular board.", "board"),
    ("A spreadsheet holds whole numbers only.", "sheet"),
    ("", "grid"),
    ("", "matrix"),
)
VERBS = ("measure", "reduce", "examine", "rate", "score", "profile", "check", "assess")


def make(draw: Draw, level: int) -> CodingTask:
    """Turnings of a grid followed by a reduction: one stage more with each level."""
    story, name = draw.pick(STORIES)
    turns = draw.some(TURNS, level - 1 if draw.chance(0.7) or level == 1 else level)
    final, returns = draw.pick(ENDS)(draw)
    steps = [*(turn(draw) for turn in turns), final]

    def fresh() -> tuple[Grid]:
        width = draw.between(2, 2 + level)
        return ([draw.integers(width, -6, 15) for _ in range(draw.between(2, 2 + level))],)

    edges: list[tuple[Grid]] = [
        ([[draw.between(-5, 9)]],),
        ([[0, 0], [0, 0]],),
        ([draw.integers(4, -3, 9)],),
        ([[n] for n in draw.integers(3, -3, 9)],),
    ]
    rule = draw.pick(
        (
            f"`{name}` has at least one row and one column, and all rows are equally long.",
            f"Every row of `{name}` has the same length; the grid is never empty.",
            f"`{name}` is rectangular and not empty, but it need not be square.",
        )
    )
    return task_of_steps(
        draw,
        steps,
        name=f"{draw.pick(VERBS)}_{name}",
        param=(name, "grid"),
        returns=returns,
        story=story,
        rules=(
            f"{rule} Its numbers lie {BOUNDED}.",
            "Rows and columns are counted from 0, starting at the top left.",
        ),
        plan=plan(steps),
        edges=edges,
        fresh=fresh,
    )


def plan(steps: list[Step]) -> tuple[str, ...]:
    words = ("First we", "Then we", "Next we", "After that we")
    told = [
        f"{words[min(index, 3)]} {step.say}; this builds a new grid."
        for index, step in enumerate(steps[:-1])
    ]
    return (
        *told,
        f"{'With the grid as given, we' if not told else 'Finally we'} {steps[-1].say}.",
        "Each cell is visited a fixed number of times in each stage.",
    )


# --- turnings


def transpose(draw: Draw) -> Step:
    return Step(
        "swap rows and columns",
        "[list(column) for column in zip(*IT)]",
        "IT[0].map((_, c) => IT.map((row) => row[c]))",
        lambda g: [[g[r][c] for r in range(len(g))] for c in range(len(g[0]))],
        "turned",
    )


def rotate_right(draw: Draw) -> Step:
    return Step(
        "rotate the grid by 90 degrees clockwise",
        "[list(column)[::-1] for column in zip(*IT)]",
        "IT[0].map((_, c) => IT.map((row) => row[c]).reverse())",
        lambda g: [[g[len(g) - 1 - r][c] for r in range(len(g))] for c in range(len(g[0]))],
        "rotated",
    )


def mirror(draw: Draw) -> Step:
    return Step(
        "mirror the grid left to right",
        "[row[::-1] for row in IT]",
        "IT.map((row) => row.slice().reverse())",
        lambda g: [list(reversed(row)) for row in g],
        "mirrored",
    )


def upside_down(draw: Draw) -> Step:
    return Step(
        "turn the order of the rows around",
        "IT[::-1]",
        "IT.slice().reverse()",
        lambda g: [g[-1 - r] for r in range(len(g))],
        "upturned",
    )


def cap(draw: Draw) -> Step:
    k = draw.between(3, 9)
    return Step(
        f"replace every number above {k} by {k}",
        f"[[min(n, {k}) for n in row] for row in IT]",
        f"IT.map((row) => row.map((n) => Math.min(n, {k})))",
        lambda g: [[k if n > k else n for n in row] for row in g],
        "capped",
    )


def positive_part(draw: Draw) -> Step:
    return Step(
        "replace every negative number by 0",
        "[[max(n, 0) for n in row] for row in IT]",
        "IT.map((row) => row.map((n) => Math.max(n, 0)))",
        lambda g: [[n if n > 0 else 0 for n in row] for row in g],
        "positive",
    )


def add_index(draw: Draw) -> Step:
    a, b = draw.between(1, 3), draw.between(1, 3)
    left, right = ("r" if a == 1 else f"{a} * r"), ("c" if b == 1 else f"{b} * c")
    return Step(
        f"add to every number {'its row number' if a == 1 else f'{a} times its row number'} and {'its column number' if b == 1 else f'{b} times its column number'}",
        f"[[n + {left} + {right} for c, n in enumerate(row)] for r, row in enumerate(IT)]",
        f"IT.map((row, r) => row.map((n, c) => n + {left} + {right}))",
        lambda g: [[g[r][c] + a * r + b * c for c in range(len(g[0]))] for r in range(len(g))],
        "raised",
    )


def sort_rows(draw: Draw) -> Step:
    down = draw.chance(0.5)
    return Step(
        f"sort the numbers inside each row in {'descending' if down else 'ascending'} order",
        f"[sorted(row{', reverse=True' if down else ''}) for row in IT]",
        f"IT.map((row) => row.slice().sort((a, b) => {'b - a' if down else 'a - b'}))",
        lambda g: [sorted(row)[::-1] if down else sorted(row) for row in g],
        "arranged",
    )


def running_rows(draw: Draw) -> Step:
    return Step(
        "replace each row by its running sums from left to right",
        "[list(accumulate(row)) for row in IT]",
        "IT.map((row) => row.map((_, c) => row.slice(0, c + 1).reduce((a, b) => a + b, 0)))",
        lambda g: [[sum(row[: c + 1]) for c in range(len(row))] for row in g],
        "sums",
        head_python="from itertools import accumulate",
    )


def drop_first_row(draw: Draw) -> Step:
    return Step(
        "remove the first row if there is more than one",
        "IT[1:] or IT",
        "IT.length > 1 ? IT.slice(1) : IT",
        lambda g: [row for r, row in enumerate(g) if r or len(g) == 1],
        "rest",
    )


TURNS = (
    transpose,
    rotate_right,
    mirror,
    upside_down,
    cap,
    positive_part,
    add_index,
    sort_rows,
    running_rows,
    drop_first_row,
)

# --- reductions

Final = tuple[Step, str]

REDUCERS: tuple[tuple[str, str, str, Callable[[list[int]], int]], ...] = (
    ("sum", "sum({})", "{}.reduce((a, b) => a + b, 0)", lambda v: sum(v)),
    ("largest number", "max({})", "Math.max(...{})", lambda v: sorted(v)[-1]),
    ("smallest number", "min({})", "Math.min(...{})", lambda v: sorted(v)[0]),
    (
        "difference between the largest and the smallest number",
        "max({0}) - min({0})",
        "Math.max(...{0}) - Math.min(...{0})",
        lambda v: sorted(v)[-1] - sorted(v)[0],
    ),
)


def lines_then(draw: Draw) -> Final:
    """Reduce every row or column, then reduce the results."""
    inner, outer = draw.pick(REDUCERS), draw.pick((*REDUCERS, None))
    columns = draw.chance(0.5)
    python_line, javascript_line = (
        inner[1].format("column" if columns else "row"),
        inner[2].format("column" if columns else "row"),
    )
    python = f"[{python_line} for {'column in zip(*IT)' if columns else 'row in IT'}]"
    javascript = (
        f"IT[0].map((_, c) => {{\n  const column = IT.map((row) => row[c]);\n  return {javascript_line};\n}})"
        if columns
        else f"IT.map((row) => {javascript_line})"
    )
    name = "column" if columns else "row"

    def line_values(g: Grid) -> list[int]:
        lines = [[g[r][c] for r in range(len(g))] for c in range(len(g[0]))] if columns else g
        return [inner[3](line) for line in lines]

    if outer is None:
        return Step(
            f"return the list that holds the {inner[0]} of each {name}, in order",
            python,
            javascript,
            line_values,
        ), "ints"
    python_end, javascript_end = outer[1].format("lines"), outer[2].format("lines")
    return (
        Step(
            f"compute the {inner[0]} of each {name} and return the {outer[0]} among these results"
            if outer[0] != "sum"
            else f"compute the {inner[0]} of each {name} and return the sum of these results",
            f"lines = {python}\nOUT = {python_end}",
            f"const lines = {javascript};\nconst OUT = {javascript_end};",
            lambda g: outer[3](line_values(g)),
            "answer",
        ),
        "int",
    )


def best_line(draw: Draw) -> Final:
    first, most = draw.chance(0.5), draw.chance(0.5)
    word, which = ("largest" if most else "smallest"), ("lowest" if first else "highest")

    def apply(g: Grid) -> int:
        target = sorted(sum(row) for row in g)[-1 if most else 0]
        matches = [r for r, row in enumerate(g) if sum(row) == target]
        return matches[0] if first else matches[-1]

    sign = ">" if most else "<"
    compare = sign if first else sign + "="
    return (
        Step(
            f"return the index of the row with the {word} sum, the {which} index in case of a tie",
            f"totals = [sum(row) for row in IT]\nOUT = 0\nfor index, total in enumerate(totals):\n    if total {compare} totals[OUT]:\n        OUT = index",
            f"const totals = IT.map((row) => row.reduce((a, b) => a + b, 0));\nlet OUT = 0;\ntotals.forEach((total, index) => {{\n  if (total {compare} totals[OUT]) OUT = index;\n}});",
            apply,
            "best",
        ),
        "int",
    )


def border(draw: Draw) -> Final:
    inside = draw.chance(0.5)
    test = "0 < r < height - 1 and 0 < c < width - 1"
    javascript_test = "r > 0 && r < height - 1 && c > 0 && c < width - 1"

    def apply(g: Grid) -> int:
        inner = sum(sum(row[1:-1]) for row in g[1:-1])
        return inner if inside else sum(map(sum, g)) - inner

    return (
        Step(
            f"return the sum of the cells {'that do not lie' if inside else 'that lie'} on the border (first or last row or column)",
            "height, width = len(IT), len(IT[0])\nOUT = 0\nfor r in range(height):\n    for c in range(width):\n"
            f"        if {test if inside else f'not ({test})'}:\n            OUT += IT[r][c]",
            "const height = IT.length;\nconst width = IT[0].length;\nlet OUT = 0;\nfor (let r = 0; r < height; r += 1) {\n  for (let c = 0; c < width; c += 1) {\n"
            f"    if ({javascript_test if inside else f'!({javascript_test})'}) OUT += IT[r][c];\n  }}\n}}",
            apply,
            "total",
        ),
        "int",
    )


def diagonal(draw: Draw) -> Final:
    k, pattern = draw.between(2, 4), draw.chance(0.5)
    if pattern:
        r = draw.below(k)
        return (
            Step(
                f"return the sum of the cells whose row number plus column number leaves the remainder {r} on division by {k}",
                f"sum(n for r, row in enumerate(IT) for c, n in enumerate(row) if (r + c) % {k} == {r})",
                f"IT.reduce((total, row, r) => total + row.reduce((part, n, c) => ((r + c) % {k} === {r} ? part + n : part), 0), 0)",
                lambda g: sum(
                    g[i][j] for i in range(len(g)) for j in range(len(g[0])) if (i + j - r) % k == 0
                ),
            ),
            "int",
        )
    return (
        Step(
            "return the cells of the diagonal that starts at the top left and goes down to the right as far as the grid reaches, as a list",
            "[IT[i][i] for i in range(min(len(IT), len(IT[0])))]",
            "IT.slice(0, IT[0].length).map((row, i) => row[i])",
            lambda g: [row[i] for i, row in enumerate(g) if i < len(row)],
        ),
        "ints",
    )


SIDES = "((-1, 0), (1, 0), (0, -1), (0, 1))"


def peaks(draw: Draw) -> Final:
    above, counts = draw.chance(0.5), draw.chance(0.5)
    word, sign = ("greater", ">") if above else ("smaller", "<")
    what = "the number" if counts else "the sum"
    around_python = (
        "def neighbours(grid: list[list[int]], r: int, c: int) -> list[int]:\n"
        f"    places = [(r + dr, c + dc) for dr, dc in {SIDES}]\n"
        "    return [grid[i][j] for i, j in places if 0 <= i < len(grid) and 0 <= j < len(grid[0])]"
    )
    around_javascript = (
        "function neighbours(grid, r, c) {\n  const places = [[r - 1, c], [r + 1, c], [r, c - 1], [r, c + 1]];\n"
        "  return places\n    .filter(([i, j]) => i >= 0 && i < grid.length && j >= 0 && j < grid[0].length)\n    .map(([i, j]) => grid[i][j]);\n}"
    )

    def apply(g: Grid) -> int:
        found = []
        for r in range(len(g)):
            for c in range(len(g[0])):
                near = [
                    g[i][j]
                    for i in range(len(g))
                    for j in range(len(g[0]))
                    if abs(i - r) + abs(j - c) == 1
                ]
                if all((g[r][c] > n) if above else (g[r][c] < n) for n in near):
                    found.append(g[r][c])
        return len(found) if counts else sum(found)

    return (
        Step(
            f"return {what} of the cells that are {word} than each of their neighbours (up, down, left, right, as far as they exist; a single cell counts)",
            f"OUT = 0\nfor r, row in enumerate(IT):\n    for c, n in enumerate(row):\n        if all(n {sign} other for other in neighbours(IT, r, c)):\n            OUT += {'1' if counts else 'n'}",
            f"let OUT = 0;\nIT.forEach((row, r) => {{\n  row.forEach((n, c) => {{\n    if (neighbours(IT, r, c).every((other) => n {sign} other)) OUT += {'1' if counts else 'n'};\n  }});\n}});",
            apply,
            "answer",
            head_python=around_python,
            head_javascript=around_javascript,
        ),
        "int",
    )


def regions(draw: Draw) -> Final:
    k, largest = draw.between(1, 5), draw.chance(0.5)
    head_python = (
        "def region_sizes(cells: set[tuple[int, int]]) -> list[int]:\n    sizes = []\n    while cells:\n        stack = [cells.pop()]\n        size = 0\n"
        "        while stack:\n            r, c = stack.pop()\n            size += 1\n            for place in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)):\n"
        "                if place in cells:\n                    cells.remove(place)\n                    stack.append(place)\n        sizes.append(size)\n    return sizes"
    )
    head_javascript = (
        "function regionSizes(open) {\n  const sizes = [];\n  open.forEach((row, top) => row.forEach((_, left) => {\n    let size = 0;\n    const stack = [[top, left]];\n"
        "    while (stack.length > 0) {\n      const [r, c] = stack.pop();\n      if (open[r] && open[r][c]) {\n        open[r][c] = false;\n        size += 1;\n"
        "        stack.push([r - 1, c], [r + 1, c], [r, c - 1], [r, c + 1]);\n      }\n    }\n    if (size > 0) sizes.push(size);\n  }));\n  return sizes;\n}"
    )

    def apply(g: Grid) -> int:
        label = {(r, c): (r, c) for r, row in enumerate(g) for c, n in enumerate(row) if n >= k}
        for _ in label:
            for r, c in label:
                near = [
                    label[p] for p in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)) if p in label
                ]
                label[r, c] = min([label[r, c], *near])
        sizes = [list(label.values()).count(root) for root in set(label.values())]
        return max(sizes, default=0) if largest else len(sizes)

    return (
        Step(
            f"look at the cells of at least {k}, which form regions by touching along a side, and return "
            + (
                "the number of cells in the largest region (0 if there is none)"
                if largest
                else "the number of regions"
            ),
            f"cells = {{(r, c) for r, row in enumerate(IT) for c, n in enumerate(row) if n >= {k}}}\n"
            + (
                "OUT = max(region_sizes(cells), default=0)"
                if largest
                else "OUT = len(region_sizes(cells))"
            ),
            f"const sizes = regionSizes(IT.map((row) => row.map((n) => n >= {k})));\n"
            + ("const OUT = Math.max(0, ...sizes);" if largest else "const OUT = sizes.length;"),
            apply,
            "answer",
            head_python=head_python,
            head_javascript=head_javascript,
        ),
        "int",
    )


def same_grid(draw: Draw) -> Final:
    k = draw.between(2, 3)
    return (
        Step(
            f"return the grid in which every number is replaced by {k} times the number",
            f"[[{k} * n for n in row] for row in IT]",
            f"IT.map((row) => row.map((n) => {k} * n))",
            lambda g: [[sum([n] * k) for n in row] for row in g],
        ),
        "grid",
    )


def snake(draw: Draw) -> Final:
    right = draw.chance(0.5)

    def apply(g: Grid) -> list[int]:
        return [
            n
            for r, row in enumerate(g)
            for n in (row if (r % 2 == 0) == right else list(reversed(row)))
        ]

    return (
        Step(
            f"return all numbers in one list, read row by row, going {'right' if right else 'left'} in even rows and {'left' if right else 'right'} in odd rows (row 0 is even)",
            f"OUT = []\nfor r, row in enumerate(IT):\n    OUT.extend(row if r % 2 == {0 if right else 1} else row[::-1])",
            f"const OUT = [];\nIT.forEach((row, r) => {{\n  OUT.push(...(r % 2 === {0 if right else 1} ? row : row.slice().reverse()));\n}});",
            apply,
            "path",
        ),
        "ints",
    )


ENDS = (
    lines_then,
    lines_then,
    lines_then,
    best_line,
    border,
    diagonal,
    peaks,
    regions,
    same_grid,
    snake,
)
