"""The embedded provider: verified tasks from a seed, without a key or a network.

Maths: `math_*.py` draw the numbers, `phrases/*.txt` word them, `templates.py` joins the two.
Coding: `code_*.py` on top of `code.py`. `families.py` has the tables of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import layout
from ..errors import ProviderRefused
from ..types import Completion, TaskType
from .families import (
    TASKS,
    check_families,
    draw_level_and_family,
    families,
    levels_of,
    make_problem,
)

__all__ = ["ProceduralProvider", "families", "make_problem"]


class ProceduralProvider:
    """Makes tasks with computed answers, in the text format that a model is asked for.

    The system prompt selects the task type. The user prompt is ignored, so a request to mend a task
    returns the same task again. Equal seeds give equal text on every machine. Thread-safe.

    `tasks` are the task types to serve, by default those of the package. `level` is 1, 2 or 3
    (easy to hard), several of them ("1-2", [1, 3]) or None for all; the seed draws one. `families`
    are the names to draw from, by default all. The completion's `labels` are the level and family
    drawn. Raises `UsageError` for an unknown level or family.
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
            layout.render(problem.prompt, problem.answer, problem.response),
            self.model,
            labels={"family": family, "level": str(level)},
        )


def default_tasks() -> Mapping[str, TaskType]:
    """The task types of the package. The import is late: it reads their examples."""
    from ..tasks import TASKS as package_tasks

    return package_tasks
