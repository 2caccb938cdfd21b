"""What needs an optional runtime: skipped where it is not installed."""

import pytest

from infinite_rl.sandbox.runtimes import is_installed, runtime_named
from infinite_rl.tasks import TASKS

_SQL, _C = runtime_named("sql"), runtime_named("c")
needs_sql = pytest.mark.skipif(not is_installed(_SQL), reason=f"install it: {_SQL.install}")
needs_c = pytest.mark.skipif(not is_installed(_C), reason=f"install it: {_C.install}")
# The task types whose rows can be judged here.
TASKS_HERE = [name for name, task in TASKS.items() if task.reward != "sql" or is_installed(_SQL)]
