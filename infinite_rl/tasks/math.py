"""Mathematics problems with one exact answer."""

from __future__ import annotations

from ..types import TaskType
from .frame import example, frame

MATH = TaskType(
    name="math",
    family="math",
    reward="math",
    system_prompt=frame(
        answer=(
            "The value only, in plain text or LaTeX: a number, an expression, a set or a tuple.\n"
            "Exact: 7/8, never 0.88."
        ),
        response="The tag holds exactly one value, with no words and no second form of it.",
        rules=(
            "The problem has exactly one right answer, and it can be given exactly.",
            "The prompt says in which form or unit the answer is wanted if that could be in doubt.",
            "Show the steps, in order, with the numbers worked out.",
        ),
    ),
    request=(
        "Create a new mathematics problem: algebra, number theory, combinatorics, geometry, "
        "probability or calculus."
    ),
    examples=(example("MATH"),),
)
