"""What surrounds the rows in a folder that a hub runs: code, configuration and instructions.

`hubs/FORMAT/` has the files of a format, with `.txt` at the end of their names. `MODULE` in a path
stands for the package's module. In a text, `$module`, `$package`, `$title` (a class's name) and
`$version` (of this library) are replaced; `USE.md` is the card's part on how to use the folder.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path, PurePosixPath
from string import Template
from typing import Any

from .. import __version__

_USE = "USE.md"
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
RUN pip install --no-cache-dir "infinite-rl>=$version" && infinite-rl doctor --warm_up all
WORKDIR /app
""")
_TEST = """#!/bin/bash
python -m infinite_rl.adapters.harbor /tests/row.jsonl /app/answer.txt /logs/verifier/reward.json
"""
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


def package_files(format_name: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file around the rows; none for most formats."""
    root = Path(str(files(__package__))) / "hubs" / format_name
    for path in sorted(root.rglob("*.txt")):
        yield at(path.relative_to(root).with_suffix("").as_posix(), name), _filled(path, name)


def use_text(format_name: str, name: str) -> str:
    """Return how to use the folder; "" for formats without files of their own."""
    path = Path(str(files(__package__))) / "hubs" / format_name / _USE
    return _filled(path, name) if path.is_file() else ""


def harbor_task(row: Mapping[str, Any], name: str) -> dict[str, str]:
    """Return the files of one task of Harbor: its instruction, its verifier and its solution."""
    messages = "\n\n".join(each["content"] for each in row["prompt"])
    texts = (
        f"{messages}\n\nWrite your whole answer to /app/answer.txt.\n",
        _TASK.substitute(name=name),
        _DOCKERFILE.substitute(version=__version__),
        _TEST,
        json.dumps(row) + "\n",
        json.loads(row["info"])["response"],
        _SOLVE,
    )
    return dict(zip(TASK_FILES, texts, strict=True))


def task_name(number: int, row_id: str) -> str:
    """Return the name of a row's task: its number, and its id as far as that is a plain name."""
    return f"{number:06}-{re.sub(r'[^a-z0-9]+', '-', row_id.lower()).strip('-')[:40]}".strip("-")


def at(path: str, name: str) -> str:
    """Return a path within the folder, with the module in the place of `MODULE`."""
    return str(PurePosixPath(path.replace("MODULE", module_name(name))))


def _filled(path: Path, name: str) -> str:
    module = module_name(name)
    return Template(path.read_text(encoding="utf-8")).substitute(
        module=module,
        package=module.replace("_", "-"),
        title="".join(part.capitalize() for part in module.split("_")),
        version=__version__,
    )
