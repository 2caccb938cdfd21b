"""The table of task types: one file each, one row each."""

from __future__ import annotations

from ..types import TaskType
from .javascript import JAVASCRIPT
from .math import MATH
from .python import PYTHON

TASKS: dict[str, TaskType] = {task.name: task for task in (PYTHON, JAVASCRIPT, MATH)}
