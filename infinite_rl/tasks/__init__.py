"""The table of task types: one file and one row each.

python.py      Python programming tasks with tests
javascript.py  JavaScript programming tasks with tests
math.py        mathematics problems with one exact answer
frame.py       the part that all system prompts share
"""

from __future__ import annotations

from ..types import TaskType
from .javascript import JAVASCRIPT
from .math import MATH
from .python import PYTHON

TASKS: dict[str, TaskType] = {task.name: task for task in (PYTHON, JAVASCRIPT, MATH)}
