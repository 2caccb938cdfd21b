"""Rewards of one's own that an export takes along, each as the file that it is in.

A file goes alone, so it may import the standard library, this package and packages that are
installed from an index, which the folder then requires. Its imports are read, and nothing of it is
run here but by `load_reward`.
"""

import ast
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import Distribution, distribution, packages_distributions
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from ..errors import UsageError, reason_of, shown
from ..reward_functions import load_reward, named_path
from ..reward_functions.exported import LIST

FOLDER = "rewards"
_HERE = "infinite_rl"


@dataclass(frozen=True)
class OwnReward:
    """A reward that judges the rows of the type `name`: its file, class, source and requirements.

    `file` is the file's name in the export.
    """

    name: str
    file: str
    kind: str
    source: bytes
    requirements: tuple[str, ...]

    @property
    def sha256(self) -> str:
        """The hash of the file."""
        return hashlib.sha256(self.source).hexdigest()


def read_rewards(specs: Iterable[str]) -> list[OwnReward]:
    """Read the rewards that are given as NAME=FILE.py:CLASS.

    Raises:
        UsageError: one is malformed or no reward, or its file would not run alone: it imports what
            no index has, or reads files beside it.
    """
    rewards: dict[str, OwnReward] = {}
    for spec in specs:
        name, path = named_path(spec)
        file, _, kind = path.rpartition(":")
        if not file.endswith(".py"):
            raise UsageError(
                f"an export takes a reward along as one file: NAME=FILE.py:CLASS, not {spec!r}"
            )
        try:
            source = Path(file).read_bytes()
            requirements = _requirements(Path(file), ast.parse(source))
        except OSError as error:
            raise UsageError(f"the reward {name!r} cannot be read: {error}") from None
        except (SyntaxError, ValueError, RecursionError) as error:
            if isinstance(error, UsageError):
                raise
            raise UsageError(f"{file} cannot be read as Python: {reason_of(error)}") from None
        load_reward(name, path)
        stem = re.sub(r"\W+", "_", Path(file).stem, flags=re.ASCII).strip("_") or "reward"
        rewards[name] = OwnReward(name, f"{stem}.py", kind, source, requirements)
    return list(_with_names_apart(rewards.values()))


def rewards_beside(rows: str) -> str:
    """The folder of rewards in an export, beside its folder of rows."""
    return str(PurePosixPath(rows).parent / FOLDER)


def reward_files(rewards: Sequence[OwnReward], *, beside: str) -> dict[str, bytes]:
    """The files of rewards beside a folder of rows, by path; none without rewards."""
    entries = {
        each.name: {"file": each.file, "class": each.kind, "sha256": each.sha256}
        for each in rewards
    }
    text = json.dumps(entries, indent=2) + "\n"
    files = {**{each.file: each.source for each in rewards}, LIST: text.encode("ascii")}
    return {f"{rewards_beside(beside)}/{name}": files[name] for name in files if rewards}


def _with_names_apart(rewards: Iterable[OwnReward]) -> Iterator[OwnReward]:
    """Give each file another name; some disks ignore the case."""
    sources: dict[str, bytes] = {}
    for reward in rewards:
        if sources.setdefault(reward.file.lower(), reward.source) != reward.source:
            reward = replace(reward, file=f"{reward.file[:-3]}_{reward.sha256[:16]}.py")
        yield reward


# --- what a file needs ---------------------------------------------------------------------------


def _requirements(path: Path, tree: ast.Module) -> tuple[str, ...]:
    """The packages of an index that a file imports. Raises UsageError for any other import."""
    if any(isinstance(node, ast.Name) and node.id == "__file__" for node in ast.walk(tree)):
        raise UsageError(
            f"{path} reads files beside it (__file__), and an export takes {path.name} alone: "
            "write their content into it"
        )
    requirements: dict[str, None] = {}
    distributions = None
    for module, optional in _imports(ast.iter_child_nodes(tree)):
        top = module.partition(".")[0]
        if top == _HERE or top in sys.stdlib_module_names:
            continue
        if not top:
            raise UsageError(f"{path} imports {module}, {_alone(path)}")
        try:
            spec = find_spec(top)
        except ValueError:  # a module without a spec, such as __main__
            spec = None
        if spec is None and optional:
            continue
        if spec is None:
            raise UsageError(f"{path} imports {shown(top)}, which is not installed")
        distributions = distributions or packages_distributions()
        origin = spec.origin or next(iter(spec.submodule_search_locations or ()), "")
        owners = [distribution(each) for each in {*distributions.get(top, ())}]
        if not any(_from_index(each, Path(origin)) for each in owners):
            raise UsageError(
                f"{path} imports {top} ({origin}), which no package index has: {_alone(path)}"
            )
        for owner in owners:
            requirements[f"{owner.name}>={owner.version.partition('+')[0]}"] = None
    return tuple(sorted(requirements))


def _alone(path: Path) -> str:
    return f"and an export takes {path.name} alone: write that code into it"


def _from_index(owner: Distribution, origin: Path) -> bool:
    """Whether a module belongs to a distribution that was not installed from a folder or a URL."""
    site = Path(str(owner.locate_file(""))).resolve()
    return origin.resolve().is_relative_to(site) and owner.read_text("direct_url.json") is None


_FOR_TYPES = ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def _imports(nodes: Iterable[ast.AST], optional: bool = False) -> Iterator[tuple[str, bool]]:
    """The modules that are imported, and whether the code is prepared for their absence."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, optional) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or ""), optional
        elif isinstance(node, ast.If) and ast.unparse(node.test) in _FOR_TYPES:
            yield from _imports(node.orelse, optional)
        else:
            prepared = optional or isinstance(node, ast.Try)
            yield from _imports(ast.iter_child_nodes(node), prepared)
