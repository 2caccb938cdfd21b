"""The tables of task families, and the provider that draws from them.

A family is one module, for maths with its phrases, and one word of a table.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module

from ..errors import ProviderRefused, UsageError, nearest, shown
from ..layout import render
from ..types import Completion, TaskType
from .code import DIALECTS, SQL, CodingTask, has_discriminating_inputs
from .code_prompt import write_problem
from .draw import Draw
from .sql import write_query
from .templates import Kinds, Problem, write

LEVELS = (1, 2, 3, 4, 5)

# A family is a word: its module is `math_WORD`, which has the kinds of problem at each level (one
# is drawn; of a tuple of kinds, one again), or `code_WORD` or `sql_WORD`, whose `make` draws a task
# of a level among its `LEVELS`, by default all.
MATH: Mapping[str, Kinds] = {
    name: import_module(f".math_{name}", __package__).KINDS
    for name in (
        *("fractions", "linear", "quadratic", "rates", "integers", "derivatives", "counting"),
        *("geometry", "series", "inequalities", "matrices", "complex", "remainders", "orders"),
        *("residues", "diophantine", "digits", "totients", "towers"),
        *("sieves", "lattice", "compositions", "necklaces", "tilings"),
        *("conditioning", "walks", "expectations", "games"),
        *("symmetric", "polynomials", "functional", "radicals", "recurrences"),
        *("triangles", "polygons", "circles", "solids"),
    )
}
CODING: Mapping[str, Callable[[Draw, int], CodingTask]] = {
    name: import_module(f".code_{name}", __package__).make
    for name in (
        *("sequences", "strings", "integers", "grids", "records", "recursion", "intervals"),
        *("graphs", "clocks", "texts", "parsing", "machines", "packing", "edits", "splits"),
        *("merges", "numerals", "nesting", "windows", "routes", "caches"),
        *("accounts", "limiters", "rooms", "duels", "sheets", "versions", "assignments"),
        *("fillings", "networks", "projects", "programs", "elections"),
    )
}
QUERIES: Mapping[str, Callable[[Draw, int], CodingTask]] = {
    name: import_module(f".sql_{name}", __package__).make for name in ("orders", "staff", "visits")
}
TASKS = ("math", *DIALECTS)


def families(task: str, level: int | None = None) -> tuple[str, ...]:
    """The names of the families of a task; of those that have a level if there is one."""
    names = tuple({"math": MATH, SQL: QUERIES}.get(task, CODING))
    return tuple(name for name in names if level is None or level in family_levels(task, name))


def family_levels(task: str, family: str) -> tuple[int, ...]:
    """The levels of a family, a subset of `LEVELS`."""
    if task == "math":
        return tuple(MATH[family])
    module = f".{'sql' if task == SQL else 'code'}_{family}"
    return tuple(getattr(import_module(module, __package__), "LEVELS", LEVELS))


def levels_of(level: int | str | Sequence[int] | None) -> tuple[int, ...] | None:
    """Parse levels: 2, "1,3", "1-2" or [1, 2]. Returns them in order, None for all.

    Raises UsageError if the text names no level or an unknown one.
    """
    if level is None:
        return None
    refused = UsageError(
        f"level is one of 1 to 5, a list such as 1,3, or a range such as 1-2, not {shown(level)}"
    )
    if isinstance(level, str):
        parts = [re.fullmatch(r" *([0-9])(?: *- *([0-9]))? *", each) for each in level.split(",")]
        ends = [(int(part[1]), int(part[2] or part[1])) for part in parts if part]
        level = [n for low, high in ends for n in range(low, high + 1)] if all(parts) else []
    chosen = {level} if isinstance(level, int) else set(level)
    if not chosen or not chosen <= set(LEVELS):
        raise refused
    return tuple(sorted(chosen))


def check_families(
    chosen: Sequence[str], tasks: Iterable[str] = (), levels: Sequence[int] = ()
) -> None:
    """Raise UsageError for an unknown family, or a task or its level that no chosen family has."""
    names = {*MATH, *CODING, *QUERIES}
    for name in chosen:
        if name not in names:
            raise UsageError(
                f"unknown family {shown(name)}{nearest(name, names)}; known for math: "
                f"{', '.join(MATH)}; for coding: {', '.join(CODING)}; for sql: {', '.join(QUERIES)}"
            )
    for task in (task for task in tasks if task in TASKS):
        if chosen and not set(families(task)) & set(chosen):
            raise UsageError(
                f"no family is chosen for {task} tasks: choose of {', '.join(families(task))}, "
                "or give them the weight 0 (--task_dist)"
            )
        for level in levels:
            having = families(task, level)
            if not set(having) & set(chosen or having):
                raise UsageError(
                    f"no chosen family of {task} tasks has level {level}; it is a level of "
                    f"{', '.join(having) or 'none'}"
                )


def draw_level_and_family(
    task: str, seed: int, levels: Sequence[int] | None = None, chosen: Sequence[str] = ()
) -> tuple[int, str]:
    """Draw the level and the family of a task from a seed, of those chosen or of all.

    A level that no chosen family has is never drawn. Raises UsageError if that is true of all.
    """
    return _draw_level_and_family(Draw(f"{task}/{seed}"), task, levels or LEVELS, chosen)


def _draw_level_and_family(
    draw: Draw, task: str, levels: Sequence[int], chosen: Sequence[str]
) -> tuple[int, str]:
    names = [name for name in families(task) if name in chosen] or families(task)
    options = {n: [name for name in names if n in family_levels(task, name)] for n in levels}
    possible = [level for level in levels if options[level]]
    if not possible:
        raise UsageError(
            f"{', '.join(chosen) or f'the {task} families'}: no level {', '.join(map(str, levels))}"
        )
    level = draw.pick(possible)
    return level, draw.pick(options[level])


def make_problem(
    task: str, seed: int, level: int | None = None, family: str | None = None
) -> Problem:
    """Make the problem of a task ("math", "python", "javascript" or "sql") from a seed.

    Level and family are drawn from the seed if they are None. Raises UsageError if the family does
    not have the level.
    """
    draw = Draw(f"{task}/{seed}")
    level, family = _draw_level_and_family(
        draw, task, (level,) if level else LEVELS, (family,) if family else ()
    )
    if task == "math":
        kind = draw.pick(MATH[family][level])
        while not callable(kind):
            kind = draw.pick(kind)
        return write(draw, level, family, kind)
    coding_task = make_task(draw, level, family)
    if task == SQL:
        return write_query(draw, coding_task)
    return write_problem(draw, coding_task, task)


def make_task(draw: Draw, level: int, family: str) -> CodingTask:
    """Draw a coding task whose inputs expose a constant answer and an omitted stage."""
    make = {**CODING, **QUERIES}[family]
    task = make(draw, level)
    while not has_discriminating_inputs(task):
        task = make(draw, level)
    return task


# --- the provider ---------------------------------------------------------------------------------


class ProceduralProvider:
    """Makes tasks with computed answers, in the text format that a model is asked for.

    The system prompt selects the task type. The user prompt is ignored, so a request to mend a task
    returns the same task again. Equal seeds give equal text on every machine. Thread-safe.

    `tasks` are the task types to serve, by default those of the package. `level` is 1 to 5
    (easy to hard), several of them ("1-2", [1, 3]) or None for all; the seed draws one, and a
    family that has it. `families` are the names to draw from, by default all. The completion's
    `labels` are the level and family drawn. Raises `UsageError` for an unknown level or family.
    """

    model = "procedural-2"

    def __init__(
        self,
        tasks: Mapping[str, TaskType] | None = None,
        level: int | str | Sequence[int] | None = None,
        families: Sequence[str] = (),
    ) -> None:
        check_families(families)
        served = default_tasks() if tasks is None else tasks
        self._levels, self._families = levels_of(level), tuple(families)
        self._names = {
            task.system_prompt: task.name for task in served.values() if task.name in TASKS
        }

    def complete(self, system: str, prompt: str, seed: int) -> Completion:
        """Make the task of a seed, as three-head text.

        Raises:
            ProviderRefused: the system prompt is not that of a task type that is served.
        """
        name = self._names.get(system)
        if name is None:
            served = ", ".join(sorted(self._names.values())) or "none"
            raise ProviderRefused(f"the procedural provider makes no such task; it makes: {served}")
        level, family = draw_level_and_family(name, seed, self._levels, self._families)
        problem = make_problem(name, seed, level, family)
        return Completion(
            render(problem.prompt, problem.answer, problem.response),
            self.model,
            labels={"family": family, "level": str(level)},
        )


def default_tasks() -> Mapping[str, TaskType]:
    """The task types of the package. The import is late: it reads their examples."""
    from ..tasks import TASKS as package_tasks

    return package_tasks
