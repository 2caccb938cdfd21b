"""The tables of task families: a family is one file with one `make`, and one row here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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
