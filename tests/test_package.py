"""The package as a whole: light to import, honest about its names, with examples that pass."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import infinite_rl
from infinite_rl.layout import header
from infinite_rl.prompts import (
    RECTIFY_PROMPT,
    TASK_SYSTEM_PROMPTS,
    TYPE_PROMPTS,
    rectify_request,
    task_request,
)
from infinite_rl.run_examples import EXAMPLES, run_examples
from infinite_rl.tasks import TASKS
from infinite_rl.types import RewardFunctionScore, TaskType

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "infinite_rl"
# The rooms of the package, the lowest first: each imports from layers below its own alone.
LAYERS = (
    {"types", "layout", "parser_fences"},
    {"errors", "parser_heads", "parser_tags", "tasks"},
    {"parser", "prompts", "files", "workers", "settings", "estimators", "vllm_library"},
    {"providers", "runtimes", "storage", "store"},
    {"executor", "manifest"},
    {"reward_functions", "doctor"},
    {"proof"},
    {"generation"},
    {"generator", "dataset", "run_examples"},
    {"adapters"},
    {"training"},
    {"evaluation"},
    {"launch"},
    {"cli"},
)
IMPORT = re.compile(r"^[ \t]*from \.*[\w.]* import (?:\([^)]*\)|.*)", re.MULTILINE)
# What imports from above all the same.
UPWARDS = {
    ("generation/cluster.py", "generator"): "each worker of a cluster calls what one process calls",
    ("storage/hub.py", "dataset"): "rows of the hub are kept as a file of rows",
    ("run_examples.py", "cli"): "`python -m infinite_rl.run_examples` is a verb",
    ("launch/container.py", "cli"): "the program of a job has a command line",
}


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_importing_the_package_loads_nothing_else() -> None:
    code = (
        "import sys, infinite_rl; print([m for m in sys.modules if m.startswith('infinite_rl.')])"
    )
    assert python(code) == "[]\n"


def test_importing_the_rewards_loads_nothing_heavy() -> None:
    heavy = "{'wasmtime', 'pandas', 'numpy', 'google.genai', 'rich', 'sympy', 'mpmath', 'torch'}"
    code = "import sys, infinite_rl.reward_functions.math, infinite_rl.reward_functions.coding\n"
    assert python(code + f"print({heavy} & set(sys.modules))") == "set()\n"


def rooms_imported(path: Path) -> Iterator[str]:
    """The rooms that a file imports from, be it at its top, in a function or for types alone."""
    package = path.relative_to(ROOT).parts[:-1]
    for found in IMPORT.finditer(path.read_text(encoding="utf-8")):
        (node,) = ast.parse(found[0].strip()).body  # a tree of each whole file would take seconds
        assert isinstance(node, ast.ImportFrom)
        above = package[: len(package) + 1 - node.level] if node.level else ()
        place = [*above, *filter(None, (node.module or "").split("."))]
        if place[0] == PACKAGE.name:
            yield from place[1:2] or (each.name for each in node.names)


def test_layers_import_downwards_only() -> None:
    height = {room: number for number, layer in enumerate(LAYERS) for room in layer}
    own = {path: path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")}
    rooms = {path: name.removesuffix(".py") for path, name in own.items() if name[:2] != "__"}
    assert set(rooms.values()) == set(height), "each room is in one layer"
    upwards = {
        (path.relative_to(PACKAGE).as_posix(), other)
        for path, room in rooms.items()
        for other in {*rooms_imported(path)} & {*height} - {room}
        if height[other] >= height[room]
    }
    assert upwards == set(UPWARDS)


@pytest.mark.parametrize("name", infinite_rl.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    thing = getattr(infinite_rl, name)
    assert isinstance(thing, str) or thing.__doc__
    assert name in dir(infinite_rl)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        infinite_rl.nonsense  # noqa: B018 -- the access is the test


def test_run_examples_stays_a_function_after_its_module_is_loaded() -> None:
    code = "import infinite_rl; infinite_rl.run_examples; print(callable(infinite_rl.run_examples))"
    assert python(code) == "True\n"


def test_the_packaged_examples_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert {path.stem for path in EXAMPLES.glob("*.md")} >= {"PYTHON", "JAVASCRIPT", "MATH"}
    assert run_examples()
    assert "3 of 3 examples pass" in capsys.readouterr().out


def test_the_archived_examples_pass() -> None:
    assert run_examples(ROOT / "archive_examples")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("MATH", "[PROMPT]\n1 + 1?\n[ANSWER]\n2\n[RESPONSE]\n<answer>3</answer>\n"),
        ("MATH", "[PROMPT]\n1 + 1?\n[ANSWER]\n2\n[RESPONSE]\nIt is 2.\n"),
        ("POEM", "[PROMPT]\np\n[ANSWER]\n2\n[RESPONSE]\n<answer>2</answer>\n"),
    ],
)
def test_an_example_that_fails_is_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    assert not run_examples(tmp_path)
    assert name in capsys.readouterr().out


def test_an_empty_folder_is_no_pass(tmp_path: Path) -> None:
    assert not run_examples(tmp_path)


def test_prompts_derive_from_the_task_table() -> None:
    names = {*TASKS, *(task.family for task in TASKS.values())}
    assert set(TYPE_PROMPTS) == set(TASK_SYSTEM_PROMPTS) == names
    assert TASK_SYSTEM_PROMPTS["coding"] == TASKS["python"].system_prompt


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
def test_every_task_asks_for_the_three_heads_and_one_tag(task: TaskType) -> None:
    prompt = task.system_prompt
    for section in ("prompt", "answer", "response"):
        assert header(section) in prompt
    assert "<answer>" in prompt
    assert "{{" not in prompt, "a template's braces must not reach the model"


def test_a_request_shows_the_example_the_topic_and_what_exists() -> None:
    request = task_request(TASKS["math"], "knots", ["first\nprompt", "second {prompt}"])
    assert TASKS["math"].examples[0].strip() in request
    assert "knots" in request
    assert "- first prompt\n- second {prompt}" in request


def test_a_repair_is_told_scores_error_and_output_whatever_they_hold() -> None:
    request = rectify_request(RewardFunctionScore(0.5, 0.25, "{error}"), "{previous} {0} %s")
    for told in ("0.50", "0.25", "{error}", "{previous} {0} %s"):
        assert told in request
    assert "{previous}" in RECTIFY_PROMPT
