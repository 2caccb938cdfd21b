"""Instructions that a program can check: each of the 25, and what is common to all."""

import json
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from infinite_rl.errors import UnknownName, UsageError
from infinite_rl.reward_functions.instruction import (
    CHECKS,
    InstructionRewardFunction,
    follows,
    read_instructions,
)
from infinite_rl.reward_functions.instruction.text import sentences, words
from tests.support.labelled import Tables, assert_none, read_cases, unescaped

tables = Tables(__file__)

REWARD = InstructionRewardFunction()
LOOSE = InstructionRewardFunction(loose=True)
HERE = Path(__file__).parent
IFEVAL = HERE.parents[2] / "shared" / "data" / "ifeval" / "input_data.jsonl"
needs_ifeval = pytest.mark.skipif(not IFEVAL.exists(), reason="the IFEval data is not here")
# Verdict, instruction, arguments, completion: near misses and near hits of each instruction.
CASES = [
    (label == "right", name, json.loads(kwargs), unescaped(text))
    for label, name, kwargs, text in read_cases(HERE / "instruction_cases.txt", 4)
]


def row(name: str, **kwargs: Any) -> str:
    return json.dumps([{"instruction_id": name, "kwargs": kwargs}])


def test_an_instruction_is_followed_or_not() -> None:
    assert (len(CASES), len(CHECKS), {name for _, name, *_ in CASES}) == (331, 25, CHECKS.keys())
    faults = []
    for followed, name, kwargs, text in CASES:
        score = REWARD.compute_reward(text, row(name, **kwargs))
        wanted = {"instructions": [{"id": name, "followed": followed}]}
        if (score.passed, score.correctness_score, score.details) != (followed, followed, wanted):
            faults.append((followed, name, kwargs, text, score))
    assert_none(faults)
    assert not REWARD.compute_reward("[" * 9999, row("detectable_format:json_format")).passed


def test_a_blank_answer_follows_nothing() -> None:
    blanks = ("", " ", "\n\n", "\u200b", "<answer> </answer>", "<think>a</think>")
    assert_none(
        (reward.loose, blank, name)
        for reward in (REWARD, LOOSE)
        for blank in blanks
        for _, name, kwargs, _ in CASES
        if reward.compute_reward(blank, row(name, **kwargs)).status != "failed"
    )


# --- the loose variants
@tables
def test_loose_forgives_framing(text: str, name: str, kwargs: dict[str, Any]) -> None:
    assert not REWARD.compute_reward(text, row(name, **kwargs)).passed
    assert LOOSE.compute_reward(text, row(name, **kwargs)).passed


def test_loose_forgives_no_second_line() -> None:
    text = "Sure!\nHere it is:\n{}"
    assert not LOOSE.compute_reward(text, row("detectable_format:json_format")).passed


# --- what is judged, and how
def test_several_instructions_are_scored_by_their_share() -> None:
    both = row("punctuation:no_comma")[:-1] + ", " + row("startend:quotation")[1:]
    assert REWARD.compute_reward('"Hello."', both).passed
    score = REWARD.compute_reward("Hello.", both)
    assert (score.status, score.correctness_score) == ("failed", 0.5)
    assert score.error_msg == "not followed: startend:quotation"
    assert [one["followed"] for one in score.details["instructions"]] == [True, False]


@tables
def test_the_final_content_is_judged(text: str, passed: bool, format_score: float) -> None:
    score = REWARD.compute_reward(text, row("startend:quotation"))
    assert (score.passed, score.format_score) == (passed, format_score)


def test_threads_agree() -> None:
    text = "Das ist ein kurzer Satz über Käse und Brot."
    wanted = row("language:response_language", language="de")
    with ThreadPoolExecutor(4) as pool:
        scores = list(pool.map(lambda _: REWARD.compute_reward(text, wanted), range(40)))
    assert all(score.passed for score in scores)


# --- the reference
def test_a_reference_may_be_ifevals_own_form_text_or_not() -> None:
    own = {"instruction_id_list": ["startend:quotation"], "kwargs": [{"num_words": None}]}
    single = {"instruction_id": "startend:quotation"}
    for expected in (own, json.dumps(own), single, [single], json.dumps([single])):
        reference: Any = expected
        assert [each.id for each in read_instructions(reference)] == ["startend:quotation"]
        assert REWARD.compute_reward('"a"', reference).passed


@tables
def test_an_unreadable_reference_is_unscored_and_raises_where_it_is_built(expected: str) -> None:
    score = REWARD.compute_reward('"Hello."', expected)
    assert (score.status, score.correctness_score) == ("unscored", 0.0)
    assert score.error_msg.startswith("cannot judge: ")
    with pytest.raises(UsageError):
        read_instructions(expected)


def test_a_reference_of_thousands_of_brackets_is_unscored() -> None:
    assert REWARD.compute_reward('"Hello."', "[" * 9999).status == "unscored"


def test_an_unknown_instruction_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"punctuation:no_comma"):
        read_instructions(row("punctuation:no_dash"))


# --- hostile text
# Each is repeated up to 50,000 characters.
UNITS = [
    *("[", "*", "<<", "<<a", "\n", ". ", '."', "p.", "* a", "- ", "a", "\x00", "\u0301", "\ud800"),
    *("***\n", "SECTION ", "9", '{"a":', "`", "A.B-", "'", "1. ", "\n1.", "*a"),
    *("a\u0315\u0300", "\u0315\u0300"),
]
HOSTILE = [
    *(unit * (50_000 // len(unit)) for unit in UNITS),
    *(" " * 49_999 + "p", "." * 49_999 + "x"),
]


def test_no_text_takes_longer_than_its_length() -> None:
    rows = {(name, kwargs.get("relation")): row(name, **kwargs) for _, name, kwargs, _ in CASES}
    instructions = [
        instruction for each in rows.values() for instruction in read_instructions(each)
    ]
    for text in HOSTILE:  # a search that goes back over the text would take minutes
        for instruction in instructions:
            assert follows(text, instruction) in (True, False)


def test_a_keyword_is_no_pattern() -> None:
    bomb = "(a+)+$"
    for name in ("keywords:existence", "keywords:forbidden_words"):
        key = "keywords" if name.endswith("existence") else "forbidden_words"
        score = REWARD.compute_reward("a" * 100_000 + "!", row(name, **{key: [bomb]}))
        assert score.passed == (key == "forbidden_words")
    sections = row("detectable_format:multiple_sections", section_spliter="(a+)+", num_sections=1)
    assert not REWARD.compute_reward("a" * 1_000 + "!", sections).passed
    assert REWARD.compute_reward("(a+)+ 1", sections).passed


# --- words and sentences
@tables
def test_a_text_has_its_sentences(text: str, count: int) -> None:
    assert len(sentences(text)) == count, sentences(text)


def test_words_keep_their_marks() -> None:
    assert words("It's e-mail_1, naïve.") == ["It", "s", "e", "mail_1", "naïve"]
    assert len(words("हिन्दी में")) == 2


# No language is clear.
@tables
def test_a_short_list_of_names_is_not_taken_for_another_language(text: str) -> None:
    assert CHECKS["change_case:english_capital"].follows(text)
    assert CHECKS["change_case:english_lowercase"].follows(text.lower())
    assert not CHECKS["change_case:english_lowercase"].follows(text)
    for language in ("hi", "ko", "ru", "ar", "th"):
        assert not CHECKS["language:response_language"].follows(text, language=language)


@tables
def test_a_short_text_in_a_clear_language_is_judged(text: str) -> None:
    assert not CHECKS["change_case:english_capital"].follows(text)
    assert not CHECKS["change_case:english_lowercase"].follows(text.lower())


# --- IFEval's own 541 prompts, and good answers to some of them
# An answer to each of these rows, by its key, that follows all of its instructions.
ANSWERS = (HERE / "instruction_answers.txt").read_text(encoding="utf-8")
GOOD = {int(key): text for key, text in re.findall(r"=== (\d+)\n(.*?)\n(?====|\Z)", ANSWERS, re.S)}


def rows() -> dict[int, dict[str, Any]]:
    lines = IFEVAL.read_text(encoding="utf-8").splitlines()
    return {row["key"]: row for row in map(json.loads, lines)}


@needs_ifeval
def test_every_row_is_read_and_no_empty_answer_follows_it() -> None:
    counts: Counter[str] = Counter()
    for row in rows().values():
        counts.update(each.id for each in read_instructions(row))
        for loose in (False, True):
            score = InstructionRewardFunction(loose=loose).compute_reward("", row)
            assert (score.status, score.correctness_score) == ("failed", 0.0)
    assert len(GOOD) == 21
    assert (len(rows()), counts.total(), counts.keys()) == (541, 834, CHECKS.keys())


@needs_ifeval
def test_a_good_answer_passes_in_each_form_and_for_its_own_row_alone() -> None:
    wanted = rows()
    for key, text in GOOD.items():
        tagged = f"<think>Hm, [a], *b*</think>\n<answer>{text}</answer>"
        assert REWARD.compute_reward(text, wanted[key]).passed, key
        assert REWARD.compute_reward(tagged, wanted[key]).passed, key
        assert not all(REWARD.compute_reward(text, wanted[other]).passed for other in GOOD)


ENGLISH = "I would like to thank you for the letter that you have sent me about our plans."
LANGUAGE = [
    *("language:response_language", "change_case:english_capital", "change_case:english_lowercase")
]


@needs_ifeval
def test_every_instruction_on_language_judges_sentences_and_lets_short_lists_pass() -> None:
    judged: Counter[str] = Counter()
    for row in rows().values():
        for name, kwargs in zip(row["instruction_id_list"], row["kwargs"], strict=True):
            if name not in LANGUAGE:
                continue
            judged[name] += 1
            (each,) = read_instructions([{"instruction_id": name, "kwargs": kwargs}])
            asked = {key: value for key, value in kwargs.items() if value}.get("language", "en")
            text = ENGLISH.upper() if name == LANGUAGE[1] else ENGLISH.lower()
            names = "LONDON, PARIS, BERLIN" if name == LANGUAGE[1] else "london, paris, berlin"
            assert each.follows(text) == (asked == "en"), (row["key"], text)
            assert asked != "en" or each.follows(names), row["key"]
            assert not each.follows("123 🙂")
    assert [judged[name] for name in LANGUAGE] == [31, 25, 39]


def test_the_published_convention_judges_a_language_as_ifevals_own_checker_does() -> None:
    """A short and an upper-case text that ours takes for English, and langdetect does not."""
    langdetect = pytest.importorskip("langdetect")
    langdetect.DetectorFactory.seed = 0
    own, published = InstructionRewardFunction(), InstructionRewardFunction(convention="published")
    texts = ["ANNA, PAUL", "OK", "123 !!", "this is an english sentence about the weather today."]
    differ = 0
    for name, case in (("english_capital", str.upper), ("english_lowercase", str.lower)):
        answer = json.dumps([{"instruction_id": f"change_case:{name}", "kwargs": {}}])
        for text in map(case, texts):
            try:
                right = langdetect.detect(text) == "en"
            except langdetect.LangDetectException:
                right = True
            found = published.compute_reward(text, answer).status
            cased = text.isupper() if case is str.upper else text.islower()
            assert (found == "passed") == (cased and right), text
            differ += found != own.compute_reward(text, answer).status
    assert differ
    commas = json.dumps([{"instruction_id": "punctuation:no_comma", "kwargs": {}}])
    assert published.compute_reward("a, b", commas).status == "failed"
    with pytest.raises(UnknownName, match="convention"):
        InstructionRewardFunction(convention="theirs")
