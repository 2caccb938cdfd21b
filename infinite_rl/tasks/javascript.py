"""JavaScript programming tasks, verified by tests in the sandbox."""

from __future__ import annotations

from ..types import TaskType
from .frame import example, frame

_FORM = """{"tests": ["require('assert').strictEqual(f(2), 4)"]}"""

JAVASCRIPT = TaskType(
    name="javascript",
    family="coding",
    reward="coding",
    language="javascript",
    system_prompt=frame(
        answer=(
            "JSON of the form\n"
            f"{_FORM}: five to eight independent\n"
            "statements that call the function of the prompt and throw when the result is wrong,\n"
            "edge cases among them; use deepStrictEqual for arrays and objects."
        ),
        response="The final content is one fenced ```javascript block that defines the function.",
        rules=(
            "The prompt names the function, its parameters and what it returns, and settles every "
            "edge case that the tests touch.",
            "The code is a plain modern script (ES2023): no packages, browser, files or input.",
            "All tests together finish within four seconds.",
            "A plausible but wrong solution must fail at least one test.",
        ),
    ),
    request="Create a new JavaScript task: an algorithm, a data structure or text processing.",
    examples=(example("JAVASCRIPT"),),
    answer_form=_FORM,
)
