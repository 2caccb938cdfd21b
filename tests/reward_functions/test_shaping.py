"""The shaping signals: repetition, length, language, and their weighted sum."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infinite_rl.errors import UnknownName, UsageError
from infinite_rl.reward_functions import shaping
from infinite_rl.reward_functions.shaping import (
    LANGUAGES,
    cosine_length_reward,
    language_consistency,
    ngram_repetition_reward,
    read_shaping,
    shape,
    words,
)
from infinite_rl.types import RewardFunctionScore
from tests.support.labelled import Tables

tables = Tables(__file__)

PROSE = {
    "en": "First we sort the list, then we take the last value of it.",
    "ru": "Сначала отсортируем список, затем возьмём последнее значение.",
    "ar": "أولا نرتب القائمة ثم نأخذ القيمة الأخيرة منها",
    "ko": "먼저 목록을 정렬한 다음 마지막 값을 가져옵니다.",
    "ja": "まずリストを並べ替えて、最後の値を取り出します。",
    "zh": "首先对列表进行排序，然后从里面取出最后一个数。这样问题就解决了。",
    "zh-hant": "首先對列表進行排序，然後從裡面取出最後一個數。這樣問題就解決了。",
    "yue": "首先將個列表排好次序，跟住攞最後嗰個數出嚟，噉樣就搞掂咗。",
}


# repetition


def test_words_are_runs_of_letters_and_single_cjk_characters() -> None:
    assert words("The cat_2, наïve 你好 \U00020000\U00020001!") == [
        *["the", "cat_2", "наïve", "你", "好", "\U00020000", "\U00020001"]
    ]


@tables
def test_repetition_is_the_repeated_share_times_the_weight(
    text: str, n: int, weight: float, expected: float
) -> None:
    assert ngram_repetition_reward(text, n, weight) == pytest.approx(expected)


@pytest.mark.parametrize("n", [0, -1])
def test_ngrams_of_no_words_are_refused(n: int) -> None:
    with pytest.raises(ValueError):
        ngram_repetition_reward("text", n)


# length


def test_a_correct_answer_scores_full_up_to_the_target_and_nothing_at_the_maximum() -> None:
    lengths = (0, 1, 100, 550, 1000, 5000)
    scores = [cosine_length_reward(length, 1, 1000, 100) for length in lengths]
    assert scores == pytest.approx([1.0, 1.0, 1.0, 0.5, 0.0, 0.0])


def test_without_a_target_the_fall_begins_at_the_minimum() -> None:
    assert cosine_length_reward(50, 0, 100) == pytest.approx(0.5)
    assert cosine_length_reward(25, 0, 100) == pytest.approx(0.853553, abs=1e-6)


def test_an_incorrect_answer_scores_more_the_longer_it_is() -> None:
    scores = [cosine_length_reward(length, 0, 100, correct=False) for length in (0, 50, 100, 900)]
    assert scores == pytest.approx([0.0, 0.5, 1.0, 1.0])


def test_a_target_at_the_maximum_keeps_the_maximum_whole() -> None:
    assert cosine_length_reward(100, 1, 100, 100) == 1.0
    assert cosine_length_reward(101, 1, 100, 100) == 0.0


@pytest.mark.parametrize("bounds", [(5, 5, None), (9, 5, None), (1, 5, 6), (2, 5, 1)])
def test_bounds_that_make_no_sense_are_refused(bounds: tuple[int, int, int | None]) -> None:
    with pytest.raises(ValueError):
        cosine_length_reward(3, *bounds)


# language


@pytest.mark.parametrize("language", LANGUAGES)
def test_prose_in_its_language_scores_full(language: str) -> None:
    assert language_consistency(PROSE[language], language) == 1.0


CHINESE = {"zh", "zh-hant", "yue"}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("other", LANGUAGES)
def test_prose_in_another_script_scores_nothing(language: str, other: str) -> None:
    if language != other and not {language, other} <= CHINESE:
        assert language_consistency(PROSE[other], language) == 0.0


@tables
def test_another_kind_of_chinese_counts_in_part(wanted: str, got: str, score: float) -> None:
    assert language_consistency(PROSE[got], wanted) == score


def test_chinese_that_says_nothing_of_its_kind_suits_each() -> None:
    assert [language_consistency("三加二等于五".replace("于", ""), kind) for kind in CHINESE] == [
        1.0
    ] * 3


def test_a_mixed_text_scores_its_share() -> None:
    assert language_consistency("one two три четыре", "en") == 0.5
    assert language_consistency("one two три четыре", "ru") == 0.5
    assert language_consistency("你好 hello world", "zh") == 0.5


@tables
def test_code_and_mathematics_do_not_count(aside: str) -> None:
    assert language_consistency(f"Привет {aside}", "ru") == 1.0


@pytest.mark.parametrize("text", ["", "42", "```\ncode\n```", "!?"])
def test_a_text_without_prose_scores_nothing(text: str) -> None:
    assert language_consistency(text, "en") == 0.0


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(UnknownName):
        language_consistency("bonjour", "fr")


def test_the_two_writings_of_chinese_share_no_character() -> None:
    assert len(shaping._PAIRS) % 2 == 0
    assert not shaping._SIMPLIFIED & shaping._TRADITIONAL


@pytest.mark.parametrize(
    "piece", ["`", "$", "\\[", "<a", "```", "\\(", "$$", "https://", "~~~", "a "]
)
def test_hostile_prose_is_read_in_linear_work(piece: str) -> None:
    assert language_consistency(piece * 200_000, "en") == 0.0


# the table and the sum


def judged(status: str) -> RewardFunctionScore:
    return RewardFunctionScore(1.0, 0.5, status=status, details={"rung": "exact"})  # type: ignore[arg-type] # a Literal


def test_aux_is_zero_when_no_signal_is_on() -> None:
    assert read_shaping(None) == ()
    assert shape(judged("passed"), "text", ()) == judged("passed")


def test_aux_is_the_weighted_sum_and_the_parts_are_kept() -> None:
    signals = read_shaping(
        {
            "repetition": 0.1,
            "length": {"weight": 2, "max_len": 11},
            "language": {"weight": 1, "language": "en"},
        }
    )
    score = shape(judged("passed"), "one two три one two три", signals)
    parts = score.details["aux"]
    assert parts == {
        "repetition": pytest.approx(0.75),
        "length": pytest.approx(0.5),
        "language": pytest.approx(2 / 3),
    }
    assert score.aux_score == pytest.approx(0.1 * 0.75 + 2 * 0.5 + 2 / 3)
    assert score.details["rung"] == "exact"
    assert (score.format_score, score.correctness_score, score.status) == (1.0, 0.5, "passed")


def test_the_length_signal_turns_with_correctness() -> None:
    signals = read_shaping({"length": 1.0})
    assert shape(judged("passed"), "short", signals).aux_score == 1.0
    assert shape(judged("failed"), "short", signals).aux_score == 0.0


def test_what_could_not_be_judged_is_not_shaped() -> None:
    score = shape(judged("unscored"), "text", read_shaping({"repetition": 1.0}))
    assert score == judged("unscored")
    assert "aux" not in score.details


@pytest.mark.parametrize(
    "wrong",
    [
        {"unknown": 0.1},
        {"length": "much"},
        {"length": True},
        {"length": float("nan")},
        {"length": {"max_len": 10}},
        {"length": {"weight": 1, "max": 10}},
        {"length": {"weight": 1, "max_len": 0}},
        {"length": {"weight": 1, "max_len": "10"}},
        {"repetition": {"weight": 1, "n": 0}},
        {"language": 0.1},
        {"language": {"weight": 1, "language": "xx"}},
    ],
)
def test_a_shaping_that_cannot_work_is_refused_at_once(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        read_shaping(wrong)  # type: ignore[arg-type] # wrong on purpose


@pytest.mark.slow
@given(st.text())
def test_every_signal_of_every_text_lies_between_0_and_1(text: str) -> None:
    signals = read_shaping(
        {"repetition": 1, "length": 1, "language": {"weight": 1, "language": "yue"}}
    )
    for status in ("passed", "failed"):
        parts = shape(judged(status), text, signals).details["aux"]
        assert all(0.0 <= part <= 1.0 for part in parts.values())
