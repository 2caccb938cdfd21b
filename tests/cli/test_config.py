"""Configs: a value that cannot be is refused in one line that names its key."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from infinite_rl.config import (
    Config,
    FilePath,
    Mappings,
    Number,
    Strings,
    flag_value,
    one_of,
    ranged,
)
from infinite_rl.dataset.prompt_templates import PROMPT_TEMPLATES
from infinite_rl.errors import UsageError
from infinite_rl.evaluation.config import EvaluationConfig
from infinite_rl.launch.config import SageMakerConfig
from infinite_rl.training.runs.config import Dataset, TrainingConfig


class Walk(Config):
    """A walk.

    name      who walks
    limit     the miles, which may be explained
              on a second line
    share     of the way; "auto": all of it
    careful   look left and right
    shoe      which is worn
    stops     names
    options   whatever else
    breaks    where, and how long
    path      a file
    """

    name: str
    limit: int = ranged(5, 1)
    share: Literal["auto"] | Annotated[Number, Field(ge=0, le=1)] = "auto"
    careful: bool = False
    shoe: Annotated[str, one_of("left", "right")] = "left"
    stops: Strings = ("inn",)
    options: Mapping[str, Any] = field(default_factory=dict)
    breaks: Mappings = ()
    path: FilePath | None = None


class Hike(Walk):
    """A walk uphill.

    height  in metres
    name    who hikes
    """

    height: Number = 1.0

    def __post_init__(self) -> None:
        if self.height > 8849:
            raise UsageError("no mountain is so high")


REFUSED: list[tuple[dict[Any, Any], str]] = [
    ({}, "name is missing: who walks"),
    ({"name": " "}, "name is missing: who walks"),
    ({"name": None}, "name must be a string, not None"),
    ({"name": True}, "name must be a string, not True"),
    ({"limt": 1}, "unknown key 'limt'; did you mean limit?"),
    ({"zzz": 1}, "unknown key 'zzz'; known: breaks, careful, limit, name, options, path, share,"),
    ({3: 1}, "unknown key 3; known: "),
    ({"limit": 0}, "limit must be at least 1, not 0"),
    ({"limit": 1.5}, "limit must be a whole number, not 1.5"),
    ({"limit": True}, "limit must be a whole number, not True"),
    ({"limit": "3"}, "limit must be a whole number, not '3'"),
    ({"share": 2}, "share must be at most 1, not 2"),
    ({"share": "most"}, "share must be a number, not 'most'"),
    ({"share": True}, "share must be a number, not True"),
    ({"share": float("nan")}, "share must be a finite number, not nan"),
    ({"share": 10**400}, "share must be a number, not 1000"),
    ({"careful": 1}, "careful must be true or false, not 1"),
    ({"careful": "yes"}, "careful must be true or false, not 'yes'"),
    ({"shoe": "hat"}, "shoe must be one of left, right, not 'hat'"),
    ({"stops": "inn"}, "stops must be a list, not 'inn'"),
    ({"stops": [1]}, "stops must be a string, not 1"),
    ({"options": ["x"]}, "options must be a mapping with string keys, not ['x']"),
    ({"options": {1: 2}}, "options must be a mapping with string keys, not 1"),
    ({"breaks": [1]}, "breaks must be a mapping with string keys, not 1"),
    ({"breaks": {"x": 1}}, "breaks must be a list, not {'x': 1}"),
    ({"breaks": [{1: 2}]}, "breaks must be a mapping with string keys, not 1"),
    ({"path": ""}, "path must not be empty"),
]


def test_a_value_that_cannot_be_is_refused_in_one_line_with_its_key() -> None:
    faults = []
    for values, expected in REFUSED:
        try:
            faults.append((values, Walk.of({**({"name": "x"} if values else {}), **values})))
        except UsageError as error:
            if not str(error).startswith(expected) or "\n" in str(error):
                faults.append((values, str(error)))
    assert not faults


def test_a_class_may_have_rules_of_its_own() -> None:
    assert Hike("x", height=1).height == 1.0
    with pytest.raises(UsageError, match="^no mountain is so high$"):
        Hike("x", height=9000)


def test_numbers_may_be_whole_and_yamls_text_of_a_number() -> None:
    assert Walk("x").share == "auto" and Walk("x", share=1).share == 1.0
    assert Walk.of({"name": "x", "share": "1e-3"}).share == 1e-3


def test_a_config_can_be_read_back_and_not_changed() -> None:
    walk = Walk("x", stops=["a"], breaks=[{"at": 1, "shops": ["a"]}], path=Path("a/b"))
    assert walk.values()["breaks"] == [{"at": 1, "shops": ["a"]}]
    assert walk.values()["path"] == "a/b"
    assert Walk.of(walk.values()) == walk
    assert replace(walk, limit=2).limit == 2
    with pytest.raises(UsageError, match="limit must be at least 1"):
        replace(walk, limit=0)
    with pytest.raises(FrozenInstanceError):
        walk.limit = 3  # type: ignore[misc]
    assert Hike("x", limit=9, height=2).part(Walk) == Walk("x", limit=9)


def test_the_docstrings_explain_each_key_and_the_defaults_are_known() -> None:
    assert Walk.explained()["limit"] == "the miles, which may be explained on a second line"
    assert Hike.explained()["name"] == "who hikes" and Hike.explained()["height"] == "in metres"
    assert Hike.explained().keys() == Hike.kinds().keys() == {*Walk.kinds(), "height"}
    defaults = {"limit": 5, "share": "auto", "careful": False, "shoe": "left", "stops": ("inn",)}
    assert Walk.defaults() == {**defaults, "options": {}, "breaks": (), "path": None}


def test_flags_are_read_by_the_types_of_their_keys() -> None:
    texts = {
        "name": ("7", "7"),
        "limit": ("3", 3),
        "share": ("0.5", 0.5),
        "careful": ("FALSE", False),
        "stops": ("a, b", ("a", "b")),
        "options": ('{"x": 1}', {"x": 1}),
        "breaks": ('[{"at": 1}, {"at": 2}]', ({"at": 1}, {"at": 2})),
        "path": ("a/b", Path("a/b")),
    }
    kinds = Walk.kinds()
    walk = Walk.of({key: flag_value(key, kinds[key], text) for key, (text, _) in texts.items()})
    assert {key: getattr(walk, key) for key in texts} == {key: v for key, (_, v) in texts.items()}
    for key, example in (("options", '{"key": 1}'), ("breaks", '[{"key": 1}]')):
        with pytest.raises(UsageError) as refused:
            flag_value(key, kinds[key], "x")
        assert str(refused.value) == f"--{key} takes JSON, such as {example}, not 'x'"


# --- files ---------------------------------------------------------------------------------------


def test_a_file_is_read_between_defaults_and_changes(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("name: x\nlimit: 9\nshare: 1e-3\noptions: {y: &a [1], z: *a}\n")
    walk = Walk.read(path, {"shoe": "right"}, {"limit": 3, "careful": True})
    assert (walk.limit, walk.share, walk.shoe, walk.careful) == (9, 1e-3, "right", True)
    assert walk.options == {"y": [1], "z": [1]}
    path.write_text('{"name": "x", "limit": 2}')  # JSON is YAML
    assert Walk.read(path).limit == 2


FILES = [
    (b"- a\n- b\n", "it does not hold a mapping"),
    (b"", "it does not hold a mapping"),
    (b"a: [", "it is not valid YAML"),
    (b"name: m\nlimit: 1\nlimit: 2\n", "the key 'limit' is there twice"),
    (b"name: m\nlimits: 2\n", "did you mean limit?"),
    (b"name: !!python/object/apply:os.system ['true']\n", "it is not valid YAML"),
    (b"? {a: 1}\n: 2\n", "it is not valid YAML"),
    (b"name: 2020-13-45\n", "it is not valid YAML"),
    (b"name: \xe9", "it is not UTF-8"),
    (b"options: &a {x: *a}", "it is not valid YAML: "),
    (b"options: &a {x: [*a]}", "it is not valid YAML: "),
    (b"breaks: &a [*a]", "it is not valid YAML: "),
    (b"&a name: *a\noptions: &b {c: *b}", "it is not valid YAML: "),
    (None, "there is no such file"),
]


def test_a_file_that_holds_no_config_is_refused_in_one_line(tmp_path: Path) -> None:
    path, faults = tmp_path / "c.yaml", []
    for text, expected in FILES:
        path.unlink() if text is None else path.write_bytes(text)
        try:
            faults.append((text, Walk.read(path)))
        except UsageError as error:
            if not str(error).startswith(f"{path}: ") or expected not in str(error):
                faults.append((text, str(error)))
            if "\n" in str(error):
                faults.append((text, str(error)))
    assert not faults
    with pytest.raises(UsageError, match="there is no such file"):
        Walk.read(tmp_path)


# --- the configs of this package -----------------------------------------------------------------

CONFIGS = [TrainingConfig, Dataset, EvaluationConfig, SageMakerConfig]


def test_every_key_and_every_name_that_it_may_have_is_explained() -> None:
    from infinite_rl.evaluation import config as evaluation
    from infinite_rl.training.runs import config as training

    for config in CONFIGS:
        assert config.explained().keys() == config.kinds().keys()
    names = {
        TrainingConfig: {
            "algorithm": training.ALGORITHMS,
            "mix": training.MODES,
            "engine": training.ENGINES,
            "loss": training.LOSSES,
            "rollout_backend": training.ROLLOUTS,
            "dtype": training.DTYPES,
            "tracking": training.TRACKERS,
            "prompt_template": PROMPT_TEMPLATES,
        },
        EvaluationConfig: {
            "harness": evaluation.HARNESSES,
            "backend": evaluation.BACKENDS,
            "dtype": evaluation.DTYPES,
            "prompt_template": PROMPT_TEMPLATES,
        },
    }
    assert not [
        (key, name)
        for config, keys in names.items()
        for key, known in keys.items()
        for name in known
        if not re.search(rf"\b{name}\b", config.explained()[key])
    ]


def test_a_config_needs_neither_torch_nor_yaml() -> None:
    code = (
        "import sys; from infinite_rl.training.runs.config import TrainingConfig as C;"
        "C('m').values();"
        "sys.exit(bool({'torch', 'transformers', 'yaml'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
