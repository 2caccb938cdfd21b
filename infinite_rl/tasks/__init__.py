"""The table of task types: a text and a row each.

NAME.txt   what a model is told: the answer, the form of one in JSON, the response, rules, a request
frame.txt  the part that all system prompts share: the form of a sample and the common rules
"""

from __future__ import annotations

import re
from pathlib import Path

from ..layout import ANSWER, ANSWER_TAG, PROMPT, RESPONSE, header
from ..types import TaskType

_FOLDER = Path(__file__).parent


def _task_type(name: str, family: str) -> TaskType:
    """The task type of a text, with the packaged sample of its name as example."""
    text = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    texts = dict(re.findall(r"^\[(\w+)\]\n(.*?)\n(?=\[|\Z)", text, re.MULTILINE | re.DOTALL))
    frame = (_FOLDER / "frame.txt").read_text(encoding="utf-8").rstrip("\n")
    return TaskType(
        name=name,
        family=family,
        reward=family,
        language=name if family == "coding" else "",
        system_prompt=frame.format(
            prompt_header=header(PROMPT),
            answer_header=header(ANSWER),
            response_header=header(RESPONSE),
            tag=ANSWER_TAG,
            **texts,
        ),
        request=texts["request"],
        examples=((_FOLDER.parent / "examples" / f"{name.upper()}.md").read_text("utf-8"),),
        answer_form=texts.get("form", ""),
    )


TASKS: dict[str, TaskType] = {
    name: _task_type(name, family)
    for name, family in (("python", "coding"), ("javascript", "coding"), ("math", "math"))
}
