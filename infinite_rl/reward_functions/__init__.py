"""Rewards by name: a row and a completion in, a score out.

    reward_function.py  the base class, unscored results, and predicates as references
    exported.py         rewards of one's own in the folder of an export
    shaping.py          auxiliary signals: length, repetition, language
    judge.py            a model that is asked after the rules of a reward have said no

    compare.py          how close one printed text is to another
    program.py          programs in any form of answers, also of base models
    humaneval.py        functions that the prompt starts

    gsm8k.py            the number that an answer states

    logic.py            logic puzzles, judged by their constraints
    reasoning_gym.py    the puzzles of that package, judged by its own scorers

`coding/` judges programs, `sql/` queries, `math/` mathematics, `instruction/` instructions that a
program can check. Importing this package loads no reward.
"""

import os
import sys
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from os import PathLike
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any
from zlib import crc32

from ..errors import UsageError, nearest, reason_of, shown
from .reward_function import RewardFunction, check_timeout

__all__ = ["REWARDS", "RewardFunction", "get_reward_functions"]

# One row per reward: its name and the path of its class.
REWARDS: Mapping[str, str] = {
    "coding": "infinite_rl.reward_functions.coding.reward:CodingRewardFunction",
    "instruction": "infinite_rl.reward_functions.instruction:InstructionRewardFunction",
    "logic": "infinite_rl.reward_functions.logic:LogicRewardFunction",
    "sql": "infinite_rl.reward_functions.sql:SqlRewardFunction",
    "math": "infinite_rl.reward_functions.math:MathRewardFunction",
    "gsm8k": "infinite_rl.reward_functions.gsm8k:Gsm8kRewardFunction",
    "program": "infinite_rl.reward_functions.program:ProgramRewardFunction",
    "mbpp": "infinite_rl.reward_functions.program:ProgramRewardFunction",  # its earlier name
    "humaneval": "infinite_rl.reward_functions.humaneval:HumanEvalRewardFunction",
    "reasoning_gym": "infinite_rl.reward_functions.reasoning_gym:ReasoningGymRewardFunction",
}


def new_reward(name: str, timeout: float, options: Mapping[str, Any]) -> RewardFunction:
    """Create a built-in reward, with those of `options` that it takes."""
    kind: type[RewardFunction] = resolve_name(REWARDS[name])
    own = {option: value for option, value in options.items() if option in kind.options}
    return kind(name, timeout, **own)


def load_reward(name: str, path: str) -> type[RewardFunction]:
    """Import a reward of one's own: "FILE.py:CLASS" or "package.module:CLASS".

    Raises:
        UsageError: there is no such class, its import fails, or it is no reward.
    """
    where, _, attribute = path.rpartition(":")
    try:
        if where.endswith(".py"):
            names = vars(_module(where))
            if attribute not in names:
                hint = nearest(attribute, names)
                raise UsageError(f"there is no {shown(attribute)} in {where}{hint}")
            kind = names[attribute]
        else:
            kind = resolve_name(path)
    except UsageError:
        raise
    except Exception as error:  # what the import of a foreign module raises
        raise UsageError(f"the reward {name!r} cannot be imported: {reason_of(error)}") from None
    if not (isinstance(kind, type) and issubclass(kind, RewardFunction)):
        raise UsageError(f"the reward {name!r} is no subclass of RewardFunction: {path}")
    if missing := kind.__abstractmethods__:
        raise UsageError(f"the reward {name!r} has no {', '.join(sorted(missing))}: {path}")
    return kind


class _Uncached(SourceFileLoader):
    """Runs the text of a file, never a cached compilation, and writes none beside it."""

    def path_stats(self, path: str | bytes | PathLike[str]) -> Mapping[str, Any]:
        raise OSError(f"{path!r} is not cached")


@lru_cache(maxsize=64)
def _module(file: str) -> ModuleType:
    """Import a file, under a name that hides no other module: files may have one stem."""
    path = Path(file).resolve()
    name = f"reward_file_{crc32(os.fsencode(path)):08x}_{path.stem}"
    spec = spec_from_file_location(name, path, loader=_Uncached(name, str(path)))
    assert spec is not None and spec.loader is not None  # its name ends with .py
    module = sys.modules[spec.name] = module_from_spec(spec)  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


def own_rewards(specs: Iterable[str], timeout: float = 5) -> dict[str, RewardFunction]:
    """Create rewards of one's own by name, each given as NAME=PATH (see `load_reward`).

    Raises:
        UsageError: one is malformed, or as `load_reward`.
    """
    named = map(named_path, specs)
    return {name: load_reward(name, path)(name, timeout) for name, path in named}


def named_path(spec: str) -> tuple[str, str]:
    """Split NAME=PATH. Raises UsageError if it is malformed."""
    name, _, path = spec.partition("=")
    if not name or not path:
        raise UsageError(f"--rewards takes NAME=FILE.py:CLASS, not {spec!r}")
    return name, path


def get_reward_functions(
    timeout: float = 5,
    extra: Mapping[str, RewardFunction] | None = None,
    *,
    only: Collection[str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> dict[str, RewardFunction]:
    """Create every reward, by name. Any thread may call them.

    `timeout` is the seconds that one run of a program, or one comparison, may take. `extra` adds
    rewards or replaces built-in ones. `only` names the built-in ones to create, by default all.
    `options` are further arguments of those that take them, such as `first_failure` of coding.

    Raises:
        UsageError: a timeout that is not positive, or an `extra` that is no reward.
    """
    check_timeout(timeout)
    rewards: dict[str, RewardFunction] = {
        name: new_reward(name, timeout, options or {})
        for name in REWARDS
        if only is None or name in only
    }
    if not isinstance(extra, Mapping | None):
        name = getattr(extra, "task_name", "") or "NAME"
        kind = extra if isinstance(extra, type) else type(extra)
        write = f"{{{name!r}: {kind.__name__}({name!r})}}"
        if not issubclass(kind, RewardFunction):
            write = "{'NAME': REWARD}"
        raise UsageError(f"extra rewards are a mapping by name: write {write}, not {shown(extra)}")
    for name, reward in (extra or {}).items():
        if not isinstance(name, str) or not name:
            raise UsageError(f"the name of an extra reward must be a text, not {name!r}")
        if isinstance(reward, type) and issubclass(reward, RewardFunction):
            instance = f"{reward.__name__}({name!r})"
            raise UsageError(f"the extra reward {name!r} is a class: write {instance}")
        if not isinstance(reward, RewardFunction):
            raise UsageError(f"the extra reward {name!r} is not a RewardFunction: {reward!r}")
        rewards[name] = reward
    return rewards
