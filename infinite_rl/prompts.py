"""Prompts of generation: a request per task type, and the request to correct a sample."""

from collections.abc import Sequence

from .space import Cell
from .tasks import TASKS
from .types import RewardFunctionScore, TaskType

# A family name means its first task.
_TASKS = {task.family: task for task in reversed(TASKS.values())} | TASKS

TASK_SYSTEM_PROMPTS: dict[str, str] = {name: task.system_prompt for name, task in _TASKS.items()}

RECTIFY_PROMPT = """Your last sample was rejected.

Format score: {format_score:.2f} of 1.00
Correctness score: {correctness_score:.2f} of 1.00
Reason: {error}

This is what you wrote:

{previous}

Find the fault, in the reference as well as in the response, and write the whole sample again: all
three sections, complete, in the required form. Keep the task unless the task itself is at fault."""


TOPIC = "The task is about this topic: {}"
_IDEA_LINE = "Write out this idea: {}"
HARDER_PROMPT = """This task is too easy: a learner solved it in nearly every attempt.

{previous}

Write a harder version of it, as a whole new sample in all three sections. Make it harder by what a
solver has to find or to keep in mind: another step that depends on the first, a stronger
requirement, a case that the obvious solution misses. Larger numbers or a longer text alone do not
make it harder. It stays clear, and its reference exactly right."""


def task_request(
    task: TaskType,
    topic: str = "",
    previous: Sequence[str] = (),
    *,
    cell: Cell | None = None,
    idea: str = "",
) -> str:
    """Return the user prompt for a new sample: examples, the request, and what it is to be about.

    `cell` is drawn from the task's space. The new sample is to write out `idea`, or to differ in
    kind from `previous`, the prompts of earlier samples.

    Raises:
        UsageError: the request is a template that fails for this cell.
    """
    parts = [f"An example, for its form only:\n\n{text.strip()}" for text in task.examples]
    parts.append("\n".join(stated(task, cell or {}, idea)))
    if topic:
        parts.append(TOPIC.format(topic))
    if previous:
        quoted = "\n".join(f"- {' '.join(prompt.split())}" for prompt in previous)
        parts.append(f"These tasks exist already. Make one that differs in kind:\n{quoted}")
    return "\n\n".join(parts)


def stated(task: TaskType, cell: Cell, idea: str = "") -> list[str]:
    """Return the request of a task type for a cell and an idea, as lines.

    Its template states the axes that it names; a line states each other one, and the idea.

    Raises:
        UsageError: the request is a template that fails for this cell.
    """
    text, names = task.request, frozenset[str]()
    if task.template:
        from .tasks.templates import rendered  # Jinja2 is for task types in YAML alone

        text, names = rendered(task, cell, idea)
    rest = {name: value for name, value in cell.items() if name not in names}
    lines = [text, *(task.space.lines(rest) if rest else ())]
    return [*lines, _IDEA_LINE.format(idea)] if idea and "idea" not in names else lines


def harder_request(previous_output: str) -> str:
    """Return the user prompt that asks for a harder version of a sample."""
    return HARDER_PROMPT.format(previous=previous_output)


def rectify_request(score: RewardFunctionScore, previous_output: str) -> str:
    """Return the user prompt that asks for a corrected sample, with the reason for rejection."""
    return RECTIFY_PROMPT.format(
        format_score=score.format_score,
        correctness_score=score.correctness_score,
        error=score.error_msg or "not accepted",
        previous=previous_output,
    )
