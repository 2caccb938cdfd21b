"""Numbers in words, as whole numbers, fractions and multiples."""

import doctest
from fractions import Fraction

import pytest

from infinite_rl.parsing import number_words
from infinite_rl.parsing.number_words import normalized_ordinal, number_in_words


def test_the_examples_of_the_module_are_true() -> None:
    assert doctest.testmod(number_words).failed == 0


@pytest.mark.parametrize(
    ("text", "value", "rest"),
    [
        ("one hundred and twenty-three thousand four hundred", Fraction(123400), ""),
        ("minus three quarters", Fraction(-3, 4), ""),
        ("two and a half dozen eggs", Fraction(30), "eggs"),
        ("three point one four", Fraction(157, 50), ""),
    ],
)
def test_a_number_ends_where_its_words_do(text: str, value: Fraction, rest: str) -> None:
    assert number_in_words(text) == (value, rest)


def test_words_that_begin_with_no_number_are_none() -> None:
    assert number_in_words("apples and five pears") is None
    assert number_in_words("five 6") is None


def test_an_ordinal_has_the_ending_of_its_number() -> None:
    assert [normalized_ordinal(each) for each in ("3rd", "third", "21st", "11th")] == [
        "3rd", "3rd", "21st", "11th",
    ]  # fmt: skip
    assert normalized_ordinal("3th") is None
