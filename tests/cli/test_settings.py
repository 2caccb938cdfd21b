"""Settings of long jobs: what is no key or of the wrong type or range is said in one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from infinite_rl.errors import UsageError
from infinite_rl.settings import Settings, check_keys, of_texts, one_of, ranged, typed


@dataclass(frozen=True)
class Walk(Settings):
    """A walk.

    name      who walks
    limit     the miles
    share     of the way; "auto": all of it
    careful   look left and right
    shoes     which are worn
    options   whatever else
    stops     where, and how long
    """

    name: str
    limit: int = ranged(5, 1)
    share: str | float = ranged("auto", 0, 1)
    careful: bool = False
    shoes: Sequence[str] = one_of(("left", "right"), ["left", "right", "spare"])
    options: Mapping[str, Any] = field(default_factory=dict)
    stops: Sequence[Mapping[str, Any]] = ()


def test_texts_are_read_by_the_types_of_their_keys() -> None:
    texts = {
        "limit": "3",
        "careful": "true",
        "shoes": "left,spare",
        "options": '{"x": 1}',
        "stops": '[{"at": 1}, {"at": 2}]',
        "share": None,
    }
    assert of_texts(texts, Walk.kinds()) == {
        "limit": 3,
        "careful": True,
        "shoes": ["left", "spare"],
        "options": {"x": 1},
        "stops": [{"at": 1}, {"at": 2}],
    }


@pytest.mark.parametrize(("key", "such"), [("options", '{"key": 1}'), ("stops", '[{"key": 1}]')])
def test_mappings_are_told_in_json(key: str, such: str) -> None:
    with pytest.raises(UsageError) as refused:
        of_texts({key: "x"}, Walk.kinds())
    assert str(refused.value) == f"--{key} takes JSON, such as {such}, not 'x'"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (int, True),
        (int, "3"),
        (bool, 1),
        (bool, "yes"),
        (str, True),
        (float, "much"),
        (float, True),
        (list, {"x": 1}),
        (list, "names"),
        (list, [{"x": 1}, "y"]),
        (list, [{1: 2}]),
    ],
)
def test_a_value_of_another_type_is_refused_by_its_key(kind: type, value: Any) -> None:
    with pytest.raises(UsageError, match="^the_key must be "):
        typed("the_key", kind, value)


def test_switches_are_true_or_false() -> None:
    assert typed("careful", bool, of_texts({"careful": "FALSE"}, Walk.kinds())["careful"]) is False
    with pytest.raises(UsageError, match="careful must be true or false, not 'maybe'"):
        Walk.of({"name": "x", **of_texts({"careful": "maybe"}, Walk.kinds())})


def test_the_nearest_known_key_is_named() -> None:
    with pytest.raises(UsageError, match="unknown key 'limt'; did you mean limit"):
        check_keys(["careful", "limt"], Walk.kinds())


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "name is missing: who walks"),
        ({"name": " "}, "name is missing: who walks"),
        ({"name": "x", "limit": 0}, "limit must be at least 1, not 0"),
        ({"name": "x", "share": 2}, "share must be in [0, 1], not 2.0"),
        ({"name": "x", "share": "most"}, "share must be a number, not 'most'"),
        ({"name": "x", "shoes": ["left", "hat"]}, "shoes is one of left, right, spare, not 'hat'"),
        ({"name": "x", "stops": [1]}, "stops must be a list of mappings of names, not [1]"),
    ],
)
def test_a_record_says_what_its_keys_may_hold(values: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        Walk.of(values)
    assert str(refused.value) == said


def test_a_default_may_be_a_word_where_else_a_number_is() -> None:
    assert Walk("x").share == "auto" and Walk("x", share=1).share == 1.0


def test_what_a_record_says_can_be_read_back() -> None:
    walk = Walk("x", shoes=["spare"], stops=[{"at": 1, "shops": ["a"]}])
    assert walk.values()["stops"] == [{"at": 1, "shops": ["a"]}]
    assert Walk.of(walk.values()) == walk


def test_the_default_of_each_key_that_has_one_is_known() -> None:
    assert Walk.defaults() == {
        "limit": 5,
        "share": "auto",
        "careful": False,
        "shoes": ("left", "right"),
        "options": {},
        "stops": (),
    }


@pytest.mark.parametrize(
    "text",
    [
        "options: &a {x: *a}",
        "options: &a {x: [*a]}",
        "stops: &a [*a]",
        "&a name: *a\noptions: &b {c: *b}",
    ],
)
def test_yaml_that_holds_itself_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.yaml").write_text(f"{text}\n")
    with pytest.raises(UsageError, match=r"c\.yaml: an alias in it holds itself$"):
        Walk.read(tmp_path / "c.yaml")


def test_yaml_may_say_the_same_twice_by_an_alias(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("name: x\nstops: [&a {at: 1}, *a]\noptions: {y: *a}\n")
    assert Walk.read(tmp_path / "c.yaml").stops == ({"at": 1}, {"at": 1})


def test_the_class_explains_each_key() -> None:
    assert Walk.explained()["share"] == 'of the way; "auto": all of it'
    assert Walk.explained().keys() == Walk.kinds().keys()
