"""Python programming tasks, verified by tests in the sandbox."""

from __future__ import annotations

from ..types import TaskType
from .frame import example, frame

_FORM = '{"tests": ["assert f(2) == 4", "assert f(0) == 0"]}'

PYTHON = TaskType(
    name="python",
    family="coding",
    reward="coding",
    language="python",
    system_prompt=frame(
        answer=(
            f"JSON of the form {_FORM}: five to eight\n"
            "independent assertions that call the function of the prompt, edge cases among them."
        ),
        response="The final content is one fenced ```python block that defines the function.",
        rules=(
            "The prompt names the function, its parameters and what it returns, and settles every "
            "edge case that the tests touch.",
            "The code is Python 3 with the standard library only: no input, files or network.",
            "All tests together finish within four seconds.",
            "A plausible but wrong solution must fail at least one test.",
        ),
    ),
    request="Create a new Python task: an algorithm, a data structure or text processing.",
    examples=(example("PYTHON"),),
    answer_form=_FORM,
)
