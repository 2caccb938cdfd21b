"""Running a program in the sandbox: `RewardExecutor`. The work is done in `sandbox/`."""

from .sandbox.executor import Executor, RewardExecutor

__all__ = ["Executor", "RewardExecutor"]
