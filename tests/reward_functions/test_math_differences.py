"""A second opinion: where Math-Verify's verdict differs from ours, ours is the label's."""

from __future__ import annotations

import importlib.util

import pytest

from benchmarks import math_differences
from benchmarks.math_pairs import Pair, labelled

needs_math_verify = pytest.mark.skipif(
    importlib.util.find_spec("math_verify") is None,
    reason="Math-Verify is not installed: pip install infinite-rl[math-verify]",
)


@needs_math_verify
@pytest.mark.slow
def test_no_difference_is_an_error_of_ours() -> None:
    pairs = labelled()[::4]
    found = math_differences.differences(pairs)
    assert found and not [one for one in found if one.we_err]


def test_the_page_tells_who_errs() -> None:
    pair = Pair("2^{-60}", "2^{-61}", False, "tiny values")
    page = math_differences.page([pair], [math_differences.Difference(pair, "different", "equal")])
    assert "| tiny values | 1 | 0 |" in page and "it accepts 1 wrong answers" in page
    assert "| <code>2^{-60}</code> | <code>2^{-61}</code> | different | equal |" in page
