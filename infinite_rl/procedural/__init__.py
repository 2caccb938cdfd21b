"""The embedded provider: verified tasks from a seed, with no key and no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import layout
from ..errors import ProviderRefused
from ..types import Completion, TaskType
from .families import TASKS, check_families, draw_kind, families, levels_of, make_problem

__all__ = ["ProceduralProvider", "families", "make_problem"]


class ProceduralProvider:
    """Makes tasks with computed answers, in the text format that a model is asked for.

    The system prompt says which task is wanted; the user prompt is not read, so a request to mend a
    task brings the same task again. Equal seeds give equal text on every machine. Thread-safe.

    `tasks` holds the task types to serve, by default those of the package; `level` is 1, 2 or 3
    (easy to hard), several of them ("1-2", [1, 3]), or None for all, of which the seed draws one;
    `families` names those to draw from, by default all. What was drawn is in the completion's
    `labels`. Raises `UsageError` for another level or family.
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
        """The task that follows from `seed`, as three-head text.

        Raises:
            ProviderRefused: the system prompt is none of the tasks that can be made here.
        """
        name = self._names.get(system)
        if name is None:
            known = ", ".join(sorted(self._names.values())) or "none"
            raise ProviderRefused(f"the procedural provider makes no such task; it makes: {known}")
        level, family = draw_kind(name, seed, self._levels, self._families)
        problem = make_problem(name, seed, level, family)
        return Completion(
            layout.render(problem.prompt, problem.answer, problem.response),
            self.model,
            labels={"family": family, "level": str(level)},
        )


def default_tasks() -> Mapping[str, TaskType]:
    """The task types of the package, imported here since they read their examples when imported."""
    from ..tasks import TASKS as package_tasks

    return package_tasks
