"""What of a text matters, and what does not."""

from __future__ import annotations

import pytest

from infinite_rl.dataset.tokens import (
    BREAK,
    clauses,
    hash_of,
    hashes,
    literals,
    text_of,
    tokens,
    without_markup,
    words,
)
from infinite_rl.errors import UsageError

SAME = [
    ("What is 2+3?", "what is  2 + 3"),
    ("**Note:** find x.", "Note find x"),
    ("It's well-known", "its well known"),
    ("It’s “so” — really", "It's 'so' - really"),
    ("- one\n- two", "one two"),
    ("# Task\nAdd them", "task: add them"),
    ("a 3-digit number", "a 3 digit number"),
    ("1,000 apples", "1000 apples"),
    ("It costs 5.", "it costs 5"),
    ("$x^2$", "x^2"),
    ("`f(x)`", "f(x)"),
    ("cafe\u0301 ＡＢＣ", "café abc"),
    ("pass\u200bword\u202e \xadhere", "password here"),
    ("x − 3 × 2", "x - 3 * 2"),
    ("你好，世界", "你好 世界"),
]
DIFFERENT = [
    ("2+3", "2+4"),
    ("2+3", "2-3"),
    ("2 - 3", "2 3"),
    ("x is -3", "x is 3"),
    ("is 2*3", "is 2 3"),
    ("2*(3+4)", "2*3+4"),
    ("(0,1)", "[0,1]"),
    ("1.5", "15"),
    ("1.5", "1 5"),
    ("1,5", "15"),
    (".5", "5"),
    ("3:4", "3-4"),
    ("5%", "5"),
    ("€5", "5"),
    ("10²", "102"),
    ("2½", "21/2"),
    ("log₂8", "log28"),
    ("n!", "n"),
    ("f'(x)", "f(x)"),
    ("a_b", "ab"),
    ("x<3", "x>3"),
    ("हिन्दी", "हन्द"),
    ("你好", "你"),
]


def test_numbers_and_signs_matter_and_spelling_does_not() -> None:
    assert [pair for pair in SAME if tokens(pair[0]) != tokens(pair[1])] == []
    assert [pair for pair in DIFFERENT if tokens(pair[0]) == tokens(pair[1])] == []


def test_clauses_end_at_punctuation_and_n_grams_are_words_and_numbers() -> None:
    assert clauses("Add 1,000, then 2.5. Stop") == [
        *("\n", "add", "1000", BREAK, "then", "2.5", BREAK, "stop")
    ]
    found = words(tokens("Is f(x) = 3.5 * x, or \\frac{1}{2}?"))
    assert " ".join(found) == "is f x 3.5 x or frac 1 2"


def test_markup_accents_and_invisible_characters_can_be_removed() -> None:
    for written in (
        "the&nbsp;caf\u00e9 sells 12 buns",
        "the cafe\u0301 sells 12 buns",
        "the ca&shy;fe sells 12 buns",
        "the c\u200bafe sells 12 buns",
        "the cafe sells \uff11\uff12 buns",
        "the cafe&#32;sells &#x31;2 buns",
        "the c\u034fafe sells 12\ufe0f buns",
        "<p>the <b>cafe</b> sells<br/>12 buns</p>",
    ):
        assert tokens(without_markup(written)) == ["the", "cafe", "sells", "12", "buns"], written
    for one, other in (("10²", "102"), ("हिन्दी", "हन्द"), ("a<b", "a>b")):
        assert tokens(without_markup(one)) == tokens(one) != tokens(without_markup(other))


LONG = 100_000


def test_any_text_has_tokens_in_linear_time() -> None:
    for text in (
        *("", "\u200b", "\ud800", "\x00", "(" * LONG, "." * LONG + "x", "\n" * LONG, "a'" * LONG),
        *("_" * LONG + "a", "a" + "-" * LONG + "1", "000," * LONG, "*" * LONG, ".)" * LONG),
        *("\n- " * LONG, '"' * LONG, "#" * LONG, "A" * LONG + "1", "\u0301" * LONG),
        "." + ")" * LONG,
    ):
        hashes(tokens(text))
        tokens(without_markup("&" + text + "<b "))
        hash_of(text)
        literals(text)


def test_literals_are_in_double_quotes_or_capitals() -> None:
    assert literals('Spell "red" and “Blue” or TEPEE, not A.') == ['"blue"', '"red"', "tepee"]


def test_hashes_are_the_same_on_every_machine() -> None:
    assert hash_of("word") == 0x958EC7D727CFA44A
    assert hashes(["word"]).tolist() == [hash_of("word")]


def test_the_prompt_of_a_row_is_found_in_its_columns() -> None:
    assert text_of({"answer": "4", "question": "2+2?"}) == "2+2?"
    assert text_of({"a": 1, "b": None, "c": "x"}, ["a", "b", "c"]) == "1\n\n\n\nx"
    chat = [
        {"role": "user", "content": [{"type": "text", "content": "Hi"}]},
        {"role": "assistant", "content": "Hello"},
    ]
    assert text_of({"messages": chat}).split() == ["Hi"]
    with pytest.raises(UsageError, match="no column 'prompt' .its columns: answer"):
        text_of({"answer": "4"})
    with pytest.raises(UsageError, match="no column 'b'"):
        text_of({"a": "4"}, ["a", "b"])
