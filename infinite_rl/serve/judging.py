"""The work of a worker process: one job, one result, both JSON values.

A job judges a completion (see `dataset.scoring.job_of`) or runs a program (`executor.run_job`).
"""

from contextlib import suppress
from functools import lru_cache
from typing import Any

from ..dataset.scoring import Job, judged, reward_by
from ..errors import InfiniteRLError
from ..reward_functions import REWARDS, RewardFunction, load_reward
from ..sandbox.executor import run_job

WORK, WARM_UP = f"{__name__}:work", f"{__name__}:warm_up"


def work(job: Job) -> Any:
    """Return the score columns of a completion, or the execution of a program.

    Raises:
        InfiniteRLError: nothing can be judged.
    """
    if "program" in job:
        return run_job(job["program"])
    name = job["sample"]["type"]
    return judged(job, {name: _reward(name, job["path"], *job["how"])})


def warm_up(job: Job) -> bool:
    """Load what the rewards `paths` need. What is missing shows in the verdicts."""
    for name, path in job["paths"].items():
        with suppress(InfiniteRLError):
            _reward(name, path, *job["how"]).prepare()
    return True


@lru_cache(maxsize=64)
def _reward(name: str, path: str, timeout: float, *how: Any) -> RewardFunction:
    if REWARDS.get(name) == path:
        return reward_by(name, timeout, *how)
    return load_reward(name, path)(name, timeout)
