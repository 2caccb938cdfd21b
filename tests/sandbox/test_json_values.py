"""When a value that a program returned is the JSON value that was expected."""

from __future__ import annotations

import json
import math
from collections import Counter, OrderedDict
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from infinite_rl.sandbox.json_values import same_json, shown_json
from tests.support.labelled import assert_none

NAN, INF = math.nan, math.inf


SAME: list[tuple[Any, Any]] = [
    *((3, 3.0), (3.0, 3), (-0.0, 0), ((1, (2, [])), [1, [2, ()]]), (0.1 + 0.2, 0.3), (NAN, NAN)),
    *((2.0000000000000004, 2), (1e-30 * (1 + 1e-12), 1e-30), (1e20 * (1 + 1e-12), 1e20)),
    *((1.2246467991473532e-16, 0), (INF, INF), (10**400, 10**400), (Decimal("0.5"), 0.5)),
    *((Fraction(1, 2), 0.5), (Counter(a=1), {"a": 1})),
    *((OrderedDict(b=1, a=2.0), {"a": 2, "b": 1}), ({"a": (None, True)}, {"a": [None, True]})),
]
DIFFERENT: list[tuple[Any, Any]] = [
    *((True, 1), (1, True), (0, False), (None, 0), (False, None), ("1", 1), (1, "1"), ("a", ["a"])),
    *(([1, 2], [2, 1]), ([1], [1, 1]), ({1}, [1]), ({"a": 1}, [["a", 1]]), (b"a", "a")),
    *(({"a": 1, "b": 2}, {"a": 1}), ({True: 1}, {1: 1}), ({1: 1}, {"1": 1}), (range(2), [0, 1])),
    (999_999_999, 1_000_000_000),  # one part in 10**9, and one too few
    *((1_000_000_008.0, 1_000_000_007), (1_000_000_008, 1_000_000_007.0)),
    *((1_000_000_007.5, 1_000_000_007), (1_000_000_007, 1_000_000_007.5)),
    *((float(10**18 + 1000), 10**18), (10**18 + 1, 10**18), (0.3000001, 0.3), (1e-10, 0)),
    *((0, 1e-10), (INF, 1e308), (1e308, INF), (-INF, INF), (NAN, 0), (0, NAN), (NAN, None)),
    *((object(), 1), ([object()], [1]), (complex(1, 1e-12), 1.0)),
    *((Decimal("sNaN"), 1.0), (Decimal("1e999999"), INF), (10**400, 1e300)),
]


def test_json_tells_apart_what_is_not_the_same_and_nothing_else() -> None:
    assert_none(pair for pair in SAME if not same_json(*pair))
    assert_none(pair for pair in DIFFERENT if same_json(*pair))
    assert (len(SAME), len(DIFFERENT)) == (17, 39)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_a_value_is_itself_also_after_json(value: Any) -> None:
    assert same_json(value, value)
    assert same_json(json.loads(json.dumps(value)), value)


@given(JSON, JSON)
def test_without_floats_it_is_the_equality_of_json_texts(one: Any, other: Any) -> None:
    texts = [json.dumps(value, sort_keys=True) for value in (one, other)]
    if texts[0] == texts[1]:
        assert same_json(one, other)
    elif not any(character in "".join(texts) for character in ".eNI"):
        assert not same_json(one, other)


def test_a_deep_or_large_value_is_compared_and_shown_without_a_stack() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    assert same_json(deep, deep)
    assert len(shown_json(list(range(10**6)))) < 200
    assert shown_json({"a": [1.5, NAN, "é"]}) == '{"a": [1.5, NaN, "é"]}'
