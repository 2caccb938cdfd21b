"""The tables of task families: a family is one file with one `make`, and one row here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..errors import UsageError, shown
from ..settings import nearest
from . import (
    code_clocks,
    code_graphs,
    code_grids,
    code_integers,
    code_intervals,
    code_machines,
    code_parsing,
    code_records,
    code_recursion,
    code_sequences,
    code_strings,
    code_texts,
    math_complex,
    math_counting,
    math_derivatives,
    math_fractions,
    math_geometry,
    math_inequalities,
    math_integers,
    math_linear,
    math_matrices,
    math_quadratic,
    math_rates,
    math_series,
)
from .code import CodingTask, dialects, is_telling, write_problem
from .draw import Draw
from .wording import Problem

LEVELS = (1, 2, 3)

MATH: Mapping[str, Callable[[Draw, int], Problem]] = {
    "fractions": math_fractions.make,
    "linear": math_linear.make,
    "quadratic": math_quadratic.make,
    "rates": math_rates.make,
    "integers": math_integers.make,
    "derivatives": math_derivatives.make,
    "counting": math_counting.make,
    "geometry": math_geometry.make,
    "series": math_series.make,
    "inequalities": math_inequalities.make,
    "matrices": math_matrices.make,
    "complex": math_complex.make,
}
CODING: Mapping[str, Callable[[Draw, int], CodingTask]] = {
    "sequences": code_sequences.make,
    "strings": code_strings.make,
    "integers": code_integers.make,
    "grids": code_grids.make,
    "records": code_records.make,
    "recursion": code_recursion.make,
    "intervals": code_intervals.make,
    "graphs": code_graphs.make,
    "clocks": code_clocks.make,
    "texts": code_texts.make,
    "parsing": code_parsing.make,
    "machines": code_machines.make,
}
TASKS = ("math", *dialects())


def families(task: str) -> tuple[str, ...]:
    """The names of the families of a task."""
    return tuple(MATH if task == "math" else CODING)


def levels_of(level: int | str | Sequence[int] | None) -> tuple[int, ...] | None:
    """The levels that are meant: 2, "1,3", "1-2" or [1, 2], in order; None for all of them.

    Raises UsageError for what names no level, or one that there is not.
    """
    refused = UsageError(
        f"level is 1, 2, 3, a list such as 1,3, or a range such as 1-2, not {shown(level)}"
    )
    if level is None:
        return None
    if isinstance(level, str):
        parts = [re.fullmatch(r" *([0-9])(?: *- *([0-9]))? *", each) for each in level.split(",")]
        ends = [(int(part[1]), int(part[2] or part[1])) for part in parts if part]
        level = [n for low, high in ends for n in range(low, high + 1)] if all(parts) else []
    chosen = {level} if isinstance(level, int) else set(level)
    if not chosen or not chosen <= set(LEVELS):
        raise refused
    return tuple(sorted(chosen))


def check_families(chosen: Sequence[str], tasks: Iterable[str] = ()) -> None:
    """Raise UsageError for a name that is no family, or a task that none of `chosen` makes."""
    known = {*MATH, *CODING}
    for name in chosen:
        if name not in known:
            raise UsageError(
                f"unknown family {shown(name)}{nearest(name, known)}; known for math: "
                f"{', '.join(MATH)}; for coding: {', '.join(CODING)}"
            )
    for task in tasks if chosen else ():
        if task in TASKS and not set(families(task)) & set(chosen):
            raise UsageError(
                f"no family is chosen for {task} tasks: choose of {', '.join(families(task))}, "
                "or give them the weight 0 (--task_dist)"
            )


def draw_kind(
    task: str, seed: int, levels: Sequence[int] | None = None, names: Sequence[str] = ()
) -> tuple[int, str]:
    """The level and the family of the task that follows from a seed."""
    draw = Draw(f"{task}/{seed}")
    own = [name for name in families(task) if name in names] or families(task)
    return draw.pick(levels or LEVELS), draw.pick(own)


def make_problem(
    task: str, seed: int, level: int | None = None, family: str | None = None
) -> Problem:
    """The problem of a task ("math", "python" or "javascript") that follows from its seed.

    Level and family are drawn from the seed where they are not given.
    """
    draw = Draw(f"{task}/{seed}")
    drawn_level, drawn_family = draw.pick(LEVELS), draw.pick(families(task))
    level, family = level or drawn_level, family or drawn_family
    if task == "math":
        return MATH[family](draw, level)
    return write_problem(draw, make_task(draw, level, family), task)


def make_task(draw: Draw, level: int, family: str) -> CodingTask:
    """The next coding task of a draw whose inputs expose a constant and an omitted stage."""
    task = CODING[family](draw, level)
    while not is_telling(task):
        task = CODING[family](draw, level)
    return task
