"""The table of task types: one file each, one row each.

python.py      a Python program, with its tests
javascript.py  the same in JavaScript
math.py        a problem with one exact answer
frame.py       the words that all system prompts share
"""

from __future__ import annotations

from ..types import TaskType
from .javascript import JAVASCRIPT
from .math import MATH
from .python import PYTHON

TASKS: dict[str, TaskType] = {task.name: task for task in (PYTHON, JAVASCRIPT, MATH)}
