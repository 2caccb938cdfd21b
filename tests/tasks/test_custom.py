"""Task types in YAML: a file is enough, its mistakes are named in one line, values stay data."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from infinite_rl import generate_dataset, load_dataset
from infinite_rl.cli import main
from infinite_rl.config import read_yaml, to_yaml
from infinite_rl.errors import UsageError
from infinite_rl.prompts import stated
from infinite_rl.providers.scripted import ScriptedProvider
from infinite_rl.space import Axis, Space
from infinite_rl.tasks.axes import reweighted
from infinite_rl.tasks.custom import read_task_type
from infinite_rl.types import TaskType

CONFIGS = Path(__file__).parents[2] / "configs" / "tasks"
CONVERSIONS = CONFIGS / "conversions.yaml"


def with_keys(tmp_path: Path, **changes: Any) -> Path:
    """The file of conversions with other keys."""
    path = tmp_path / "task.yaml"
    path.write_text(to_yaml({**read_yaml(CONVERSIONS), **changes}), encoding="utf-8")
    return path


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: str(path.stem))
def test_a_file_is_a_task_type_that_makes_verified_rows(path: Path, tmp_path: Path) -> None:
    task = read_task_type(path)
    assert (task.name, task.family) == (path.stem, path.stem)
    progress = generate_dataset(
        "scripted",
        num_samples=1,
        out_dir=tmp_path / "data",
        task_dist={task.family: 1.0},
        provider=ScriptedProvider(task.examples),
        languages=("python",),
        extra_tasks={task.name: task},
        verify=0,
    )
    assert progress.complete
    row = load_dataset(tmp_path / "data").iloc[0]
    assert (row["type"], row["family"]) == (task.reward, task.name)
    assert row["prompt"] in task.examples[0].replace("\r", "")


def test_without_a_model_a_preview_shows_what_one_would_be_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["generate", "--provider", "procedural", "--tasks", str(CONVERSIONS)]
    assert main([*words, "--preview", "3", "--json"]) == 0
    shown = [each["request"] for each in json.loads(capsys.readouterr().out)["requests"]]
    assert main([*words, "--preview", "3"]) == 0
    output = capsys.readouterr()
    assert output.out.count("system: ") == 1 and output.err == ""
    assert output.out.endswith("requests: 3; no model is set, so none was asked\n")
    assert not list(tmp_path.iterdir())
    task = read_task_type(CONVERSIONS)
    provider = ScriptedProvider(["unreadable"] * 9)
    generate_dataset(
        "scripted",
        num_samples=3,
        out_dir=tmp_path / "data",
        task_dist={task.family: 1.0},
        provider=provider,
        extra_tasks={task.name: task},
        verify=0,
        ideas=False,
        max_retries=9,
        num_threads=1,
    )
    assert len(set(shown)) == 3 and shown[0] == provider.calls[0].prompt
    assert main([*words, "--out_dir", "data"]) == 2
    assert "--preview 3 needs none" in capsys.readouterr().err


def test_the_template_states_the_axes_that_it_names_and_lines_the_others() -> None:
    task = read_task_type(CONVERSIONS)
    cell = {"quantity": "mass", "unit": "stone", "level": "3", "place": "a farm", "trap": "none"}
    assert stated(task, cell) == [
        "Write a riddle set in a farm whose solution converts a mass to stone\n(14 pounds).\n"
        "It is hard to see which conversion comes first."
    ]
    easy = {**cell, "level": "1"}
    assert "hard to see" not in stated(task, easy)[0]
    trapped = {**easy, "trap": "a unit that is named only by its symbol"}
    assert stated(task, trapped, "two carts")[1:] == [
        "A trap: a unit that is named only by its symbol",
        "Write out this idea: two carts",
    ]


def test_a_plain_request_is_followed_by_the_cell_and_the_idea() -> None:
    space = Space((Axis("level", {"1": 1}, notes={"1": "Easy."}),))
    task = TaskType("t", "math", "math", "", "Ask {{ nothing }}.", space=space)
    assert stated(task, {"level": "1"}, "{{ 1 + 1 }}") == [
        "Ask {{ nothing }}.", "level: 1. Easy.", "Write out this idea: {{ 1 + 1 }}"
    ]  # fmt: skip


def test_values_and_ideas_are_data_never_templates(tmp_path: Path) -> None:
    axes = {"unit": {"values": {"{{ 7 * 7 }}": "{% raw %}"}}}
    request = "{{ unit }} {{ notes.unit }} {{ idea }}"
    task = read_task_type(with_keys(tmp_path, axes=axes, request=request))
    assert stated(task, task.space.cell(0, 0), "{{ unit }}") == ["{{ 7 * 7 }} {% raw %} {{ unit }}"]


@pytest.mark.parametrize("expression", ["''.__class__", "unit.__init__.__globals__", "cycler.x.y"])
def test_a_template_reaches_nothing_beyond_its_values(tmp_path: Path, expression: str) -> None:
    path = with_keys(tmp_path, request="{{ " + expression + " }}")
    with pytest.raises(UsageError, match="request: "):
        read_task_type(path)


def test_axes_have_weights_notes_conditions_and_refinements() -> None:
    task = read_task_type(CONVERSIONS)
    assert "- All units are exact by definition; nothing is measured or" in task.system_prompt
    space = task.space
    cells = [space.cell(1, index) for index in range(300)]
    lengths = sum(cell["quantity"] == "length" for cell in cells)
    assert abs(lengths - 200) <= 3
    units = {"length": {"mile", "fathom", "furlong"}, "mass": {"stone", "hundredweight"}}
    assert all(cell["unit"] in units[cell["quantity"]] for cell in cells)
    assert all(("trap" in cell) == (cell["level"] in ("2", "3")) for cell in cells)
    assert space.lines({"unit": "hundredweight"}) == [
        "The unit to find is the hundredweight. 112 pounds"
    ]


BAD: Mapping[str, tuple[dict[str, Any], str]] = {
    "unknown key": ({"axis": {}}, "unknown key 'axis'; did you mean axes?"),
    "no reward": ({"reward": ""}, "reward is missing: the reward that judges it: coding,"),
    "undefined": ({"request": "{{ unot }}"}, "request: 'unot' is no axis; did you mean unit?"),
    "no note": ({"request": "{{ notes.unot }}"}, "request: 'dict object' has no attribute"),
    "syntax": ({"request": "a\n{% if unit %}"}, "request, line 2: Unexpected end of template."),
    "type": ({"request": "{{ level + 1 }}"}, 'request: can only concatenate str'),
    "long": ({"request": "x" * 2**20}, "it is larger than 1 MB"),
    "loop": ({"request": "a\n{% for x in unit %}{% endfor %}"}, "request, line 2: no for is poss"),
    "product": ({"request": "{{ 'x' * 9999999999 }}"}, "request, line 1: no mul is possible here"),
    "format": ({"request": "{{ '%99999999999s' % unit }}"}, "request, line 1: no mod is possible"),
    "call": ({"request": "{{ range(3) }}"}, "request, line 1: no call is possible here"),
    "filter": ({"request": "{{ unit|center(9) }}"}, "request, line 1: no filter 'center' is poss"),
    "characters": ({"name": "a=1, b"}, "name: 'a=1, b' has other characters than letters, digits,"),
    "language": ({"reward": "coding"}, "language must be python or javascript, not ''"),
    "sections": ({"examples": ["[PROMPT]\nonly"]}, "examples: '[PROMPT]\\nonly' has no section"),
    "no file": ({"examples": ["gone.md"]}, "examples: cannot read 'gone.md'"),
    "name": ({"axes": {"a b": [1]}}, "axes: 'a b' cannot name an axis: use letters, digits and _"),
    "reserved": ({"axes": {"idea": [1]}}, "axes: 'idea' cannot name an axis"),
    "axis": ({"axes": {"a": 3}}, "axes.a: must be a list or a mapping, not 3"),
    "axis key": ({"axes": {"a": {"value": [1]}}}, "axes.a: unknown key 'value'; did you mean"),
    "no values": ({"axes": {"a": {"refines": "b"}}}, "axes.a: values is missing"),
    "empty": ({"axes": {"a": []}}, "axes.a: values must be a list or a mapping, not []"),
    "phrase": ({"axes": {"a": {"values": [1], "phrase": 3}}}, "axes.a: phrase: 3 is not possible"),
    "boolean": ({"axes": {"a": [True]}}, "axes.a: True is no text: write it in quotes"),
    "weight": ({"axes": {"a": {"values": {"b": -1}}}}, "axes.a: b: weight must be at least 0"),
    "weights": ({"axes": {"a": {"values": {"b": 0}}}}, "axes.a: values: all weights are 0"),
    "value key": (
        {"axes": {"a": {"values": {"b": {"wieght": 2}}}}},
        "axes.a: b: unknown key 'wieght'; did you mean weight?",
    ),
    "later": (
        {"axes": {"a": {"values": [1], "when": {"b": 1}}, "b": [1]}},
        "axes.a: 'b' is no earlier axis; earlier are: none",
    ),
    "condition": (
        {"axes": {"size": ["small"], "a": {"values": [1], "when": {"size": "smal"}}}},
        "axes.a: size has no value 'smal'; did you mean small?",
    ),
    "parent": (
        {"axes": {"size": ["small"], "a": {"refines": "size", "values": {"big": [1]}}}},
        "axes.a: size has no value 'big'; known: small",
    ),
    "flat": (
        {"axes": {"size": ["small"], "a": {"refines": "size", "values": [1]}}},
        "axes.a: values must be by value of size, not [1]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", BAD)
def test_a_mistake_is_one_line_with_the_file_and_the_key(tmp_path: Path, fault: str) -> None:
    changes, message = BAD[fault]
    if "axes" in changes:
        changes = {**changes, "request": "A task."}
    path = with_keys(tmp_path, **changes)
    with pytest.raises(UsageError, match=re.escape(f"{path}: {message}")) as error:
        read_task_type(path)
    assert "\n" not in str(error.value)


def test_an_example_that_its_reward_rejects_is_refused_before_a_call(tmp_path: Path) -> None:
    right = read_yaml(CONVERSIONS)["examples"][0]
    path = with_keys(tmp_path, examples=[right, right.replace("9/2", "9/4", 1)])
    task, provider = read_task_type(path), ScriptedProvider([])
    with pytest.raises(UsageError, match="example 2 of the task type conversions is wrong: diff"):
        generate_dataset(
            "scripted", 1, tmp_path / "data", provider=provider,
            task_dist={"conversions": 1}, extra_tasks={"conversions": task},
        )  # fmt: skip
    assert not provider.calls


def test_weights_multiply_and_a_star_stands_for_all_others() -> None:
    space = read_task_type(CONVERSIONS).space
    light = reweighted(space, {"quantity": {"length": 3}, "place": {"*": 0, "a farm": 1}})
    cells = [light.cell(0, index) for index in range(140)]
    assert {cell["place"] for cell in cells} == {"a farm"}
    assert abs(sum(cell["quantity"] == "mass" for cell in cells) - 20) <= 2  # 2 * 3 : 1
    mass = reweighted(space, {"unit": {"mile": 0, "fathom": 0, "furlong": 0}})
    assert {mass.cell(0, index)["quantity"] for index in range(50)} == {"mass"}
    levels = reweighted(space, {"level": {3: 0}})  # type: ignore[dict-item] -- as YAML reads it
    assert {levels.cell(0, index)["level"] for index in range(50)} == {"1", "2"}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"concpet": {}}, "weights: unknown axis 'concpet'; known: quantity, unit, level,"),
        ({"unit": {"mille": 1}}, "weights.unit: unknown value 'mille'; did you mean mile?"),
        ({"unit": {"mile": -1}}, "weights.unit: mile must be a number from 0 on, not -1"),
        ({"unit": {"mile": "3"}}, "weights.unit: mile must be a number from 0 on, not '3'"),
        ({"unit": 3}, "weights.unit must map values to numbers, not 3"),
    ],
)  # fmt: skip
def test_wrong_weights_are_one_line_with_the_nearest_name(weights: Any, message: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(message)}"):
        reweighted(read_task_type(CONVERSIONS).space, weights)


def test_packaged_axes_are_taken_by_name(tmp_path: Path) -> None:
    axes = {"concept": "code", "level": "math", "theme": ["a harbour", "a farm"]}
    request = "{{ theme }}: {{ concept }}, {{ skill }}"
    space = read_task_type(with_keys(tmp_path, axes=axes, request=request)).space
    assert [axis.name for axis in space.axes] == ["area", "concept", "skill", "level", "theme"]
    for wrong, message in (
        ({"level": "maths"}, "axes.level: there is no packaged space 'maths'; did you mean math?"),
        ({"lever": "math"}, "axes.lever: math has no such axis; it has area, concept"),
        ({"setting": "math"}, "axes.setting: 'form' is no earlier axis; earlier are: none"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=re.escape(message)):
            read_task_type(with_keys(tmp_path, axes=wrong, request="A task."))
