"""Settings of long jobs: what is no key, no flag or of the wrong type is said in one line."""

from __future__ import annotations

from typing import Any

import pytest

from infinite_rl.errors import UsageError
from infinite_rl.settings import check_keys, from_flags, typed

KINDS = {"limit": int, "careful": bool, "names": tuple, "options": dict, "share": float}


def test_flags_are_read_by_the_types_of_their_keys() -> None:
    words = ["--limit=3", "--careful", "true", "--names", "a,b", "--options", '{"x": 1}']
    assert from_flags(words, KINDS) == {
        "limit": 3,
        "careful": True,
        "names": ["a", "b"],
        "options": {"x": 1},
    }


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
    ],
)
def test_a_value_of_another_type_is_refused_by_its_key(kind: type, value: Any) -> None:
    with pytest.raises(UsageError, match="^the_key must be "):
        typed("the_key", kind, value)


def test_switches_are_true_or_false() -> None:
    assert typed("careful", bool, from_flags(["--careful=FALSE"], KINDS)["careful"]) is False
    with pytest.raises(UsageError, match="careful must be true or false, not 'maybe'"):
        typed("careful", bool, from_flags(["--careful", "maybe"], KINDS)["careful"])


def test_the_nearest_known_key_is_named() -> None:
    with pytest.raises(UsageError, match="unknown key 'limt'; did you mean limit"):
        check_keys(["careful", "limt"], KINDS)
    with pytest.raises(UsageError, match="unknown flag --limt; did you mean --limit"):
        from_flags(["--limt", "3"], KINDS)
