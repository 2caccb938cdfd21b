"""What surrounds the rows in a folder that a hub runs: code, configuration and instructions.

`hubs/FORMAT/` has the files of a format, with `.txt` at the end of their names. `MODULE` in a path
stands for the package's module. In a text, `$module`, `$package`, `$title` (a class's name),
`$version` (of this library), `$license` (as NeMo Gym names it), `$notice` and `$more` (further
requirements, quoted, or a line each in `$lines`) are replaced. A line that begins with `$own|` is
for folders with rewards of one's own. `USE.md` is the card's part on how to use the folder.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path, PurePosixPath
from string import Template
from typing import Any

from .. import __version__
from .own_rewards import FOLDER, OwnReward, reward_files

_USE = "USE.md"
# Until the release: who gets a folder from a hub reads no other page of this project.
_NOTICE = (
    "infinite-rl is not on PyPI yet, and anybody may register the name: "
    "install the wheel of your own clone (python -m build --wheel) in its place."
)
# The licences that NeMo Gym 0.4 knows, by the hub's identifiers; "TBD" stands for the others.
_NEMO_GYM_LICENSES = {
    "apache-2.0": "Apache 2.0",
    "mit": "MIT",
    "cc-by-4.0": "Creative Commons Attribution 4.0 International",
    "cc-by-sa-4.0": "Creative Commons Attribution-ShareAlike 4.0 International",
    "cc-by-nc-3.0": "CC BY-NC 3.0",
    "gpl-3.0": "GNU General Public License v3.0",
}
# The verifier has a container of its own: an agent cannot change the Python that judges it.
_TASK = Template("""schema_version = "1.1"
artifacts = ["/app/answer.txt"]

[task]
name = "infinite-rl/$name"
description = "A task with a verified answer, judged by Infinite RL."

[verifier]
environment_mode = "separate"
timeout_sec = 120.0

[agent]
timeout_sec = 600.0

[environment]
build_timeout_sec = 600.0
""")
_DOCKERFILE = Template("""FROM python:3.12-slim
# $notice
RUN pip install --no-cache-dir "infinite-rl>=$version"$more && infinite-rl doctor --warm_up all
WORKDIR /app
""")
_TEST = """#!/bin/bash
python -m infinite_rl.adapters.harbor /tests/row.jsonl /app/answer.txt /logs/verifier/reward.json"""
_TEST_REWARDS = f" /tests/{FOLDER}"
TASK_FILES = (
    *("instruction.md", "task.toml", "environment/Dockerfile", "tests/test.sh", "tests/row.jsonl"),
    *("solution/response.txt", "solution/solve.sh"),
)
_SOLVE = "#!/bin/bash\ncp /solution/response.txt /app/answer.txt\n"
_TAKEN = {*sys.stdlib_module_names, "infinite_rl", "verifiers", "openreward", "nemo_gym", "harbor"}


def module_name(name: str) -> str:
    """Return a name for the package's module: lower-case letters, digits and _.

    >>> module_name("My tasks, 2nd")
    'my_tasks_2nd'
    """
    slug = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    slug = slug if slug[:1].isalpha() else f"rows_{slug}".strip("_")
    return f"{slug}_rows" if slug in _TAKEN else slug


def package_files(
    format_name: str, name: str, license_: str = "unknown", rewards: Sequence[OwnReward] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file around the rows; none for most formats."""
    root = Path(str(files(__package__))) / "hubs" / format_name
    for path in sorted(root.rglob("*.txt")):
        text = _filled(path, name, license_, rewards)
        yield at(path.relative_to(root).with_suffix("").as_posix(), name), text


def use_text(format_name: str, name: str) -> str:
    """Return how to use the folder; "" for formats without files of their own."""
    path = Path(str(files(__package__))) / "hubs" / format_name / _USE
    return _filled(path, name) if path.is_file() else ""


def harbor_task(
    row: Mapping[str, Any], name: str, rewards: Sequence[OwnReward]
) -> dict[str, str | bytes]:
    """Return the files of one task of Harbor: its instruction, its verifier and its solution."""
    info = json.loads(row["info"])
    own = [each for each in rewards if each.name == info["type"]]
    messages = "\n\n".join(each["content"] for each in row["prompt"])
    texts = (
        f"{messages}\n\nWrite your whole answer to /app/answer.txt.\n",
        _TASK.substitute(name=name),
        _DOCKERFILE.substitute(version=__version__, notice=_NOTICE, more=_quoted(own, " ")),
        _TEST + _TEST_REWARDS * bool(own) + "\n",
        json.dumps(row) + "\n",
        info["response"],
        _SOLVE,
    )
    return {**dict(zip(TASK_FILES, texts, strict=True)), **reward_files(own, beside="tests/rows")}


def task_name(number: int, row_id: str) -> str:
    """Return the name of a row's task: its number, and its id as far as that is a plain name."""
    return f"{number:06}-{re.sub(r'[^a-z0-9]+', '-', row_id.lower()).strip('-')[:40]}".strip("-")


def at(path: str, name: str) -> str:
    """Return a path within the folder, with the module in the place of `MODULE`."""
    return str(PurePosixPath(path.replace("MODULE", module_name(name))))


def _quoted(rewards: Sequence[OwnReward], between: str) -> str:
    needed = sorted({each for reward in rewards for each in reward.requirements})
    return "".join(f'{between}"{each}"' for each in needed)


def _filled(
    path: Path, name: str, license_: str = "unknown", rewards: Sequence[OwnReward] = ()
) -> str:
    module, text = module_name(name), path.read_text(encoding="utf-8")
    text = re.sub(r"^\$own\|" if rewards else r"^\$own\|.*\n", "", text, flags=re.MULTILINE)
    return Template(text).substitute(
        module=module,
        package=module.replace("_", "-"),
        title="".join(part.capitalize() for part in module.split("_")),
        version=__version__,
        license=_NEMO_GYM_LICENSES.get(license_, "TBD"),
        notice=_NOTICE,
        more=_quoted(rewards, ", "),
        lines=_quoted(rewards, "\n").replace('"', ""),
    )
