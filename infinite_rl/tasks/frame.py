"""The part that all system prompts share: the form of a sample and the common rules."""

from __future__ import annotations

from pathlib import Path

from ..layout import ANSWER, ANSWER_TAG, PROMPT, RESPONSE, header

_FRAME = f"""You write one task for a reinforcement-learning data set, with its reference answer
and a worked solution. A program checks every sample: only one that is exactly right is of use.

Write three sections, each under its own header line, in this order, with nothing around them:

{header(PROMPT)}
The task as a learner will read it: complete, unambiguous and self-contained.

{header(ANSWER)}
The reference by which a program judges any solution. {{answer}}

{header(RESPONSE)}
A worked solution: clear reasoning first, then the final content, once, in <{ANSWER_TAG}> tags
closed by </{ANSWER_TAG}>.
{{response}}

Rules:
{{rules}}
- The response solves the task from its prompt alone; it never mentions the reference or the rules.
- Work the solution out before you settle the reference, and check the two against each other."""


def frame(*, answer: str, response: str, rules: tuple[str, ...]) -> str:
    """Return a system prompt: the shared form with a task's reference, response and rules."""
    listed = "\n".join(f"- {rule}" for rule in rules)
    return _FRAME.format(answer=answer, response=response, rules=listed)


def example(name: str) -> str:
    """Return a packaged seed sample in the on-disk format."""
    path = Path(__file__).parent.parent / "examples" / f"{name}.md"
    return path.read_text(encoding="utf-8")
