"""What a model is asked: requests built from the task table, and the request to mend a sample."""

from __future__ import annotations

from collections.abc import Sequence

from .tasks import TASKS
from .types import RewardFunctionScore, TaskType

# A family stands for its first task.
_NAMED = {task.family: task for task in reversed(TASKS.values())} | TASKS

TYPE_PROMPTS: dict[str, str] = {name: task.request for name, task in _NAMED.items()}
TASK_SYSTEM_PROMPTS: dict[str, str] = {name: task.system_prompt for name, task in _NAMED.items()}

RECTIFY_PROMPT = """Your last sample was rejected.

Format score: {format_score:.2f} of 1.00
Correctness score: {correctness_score:.2f} of 1.00
Reason: {error}

This is what you wrote:

{previous}

Find the fault, in the reference as well as in the response, and write the whole sample again: all
three sections, complete, in the required form. Keep the task unless the task itself is at fault."""


def task_request(task: TaskType, topic: str = "", previous: Sequence[str] = ()) -> str:
    """The user prompt for a new sample: an example, the request, a topic, and what to differ from.

    `previous` are prompts of earlier samples.
    """
    parts = [f"An example, for its form only:\n\n{text.strip()}" for text in task.examples]
    parts.append(task.request)
    if topic:
        parts.append(f"The task is about this topic: {topic}")
    if previous:
        quoted = "\n".join(f"- {' '.join(prompt.split())}" for prompt in previous)
        parts.append(f"These tasks exist already. Make one that differs in kind:\n{quoted}")
    return "\n\n".join(parts)


def rectify_request(score: RewardFunctionScore, previous_output: str) -> str:
    """The user prompt that asks for a rejected sample once more, told what failed."""
    return RECTIFY_PROMPT.format(
        format_score=score.format_score,
        correctness_score=score.correctness_score,
        error=score.error_msg or "not accepted",
        previous=previous_output,
    )
