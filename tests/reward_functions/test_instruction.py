"""Instructions that a program can check: each of the 25, and what is common to all."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from infinite_rl.errors import UnknownName, UsageError
from infinite_rl.reward_functions.instruction import (
    CHECKS,
    InstructionRewardFunction,
    follows,
    read_instructions,
)
from infinite_rl.reward_functions.instruction.words import sentences, words

REWARD = InstructionRewardFunction()
LOOSE = InstructionRewardFunction(loose=True)

AT_LEAST, LESS_THAN = {"relation": "at least"}, {"relation": "less than"}

# Of each instruction and its arguments: texts that follow it, and texts that do not (near misses).
CASES: list[tuple[str, dict[str, Any], list[str], list[str]]] = [
    (
        "keywords:existence",
        {"keywords": ["mom", "C++"]},
        ["My Mom likes c++.", "mommy, C++!"],
        ["My mom likes C.", "C++ only", "m o m C++"],
    ),
    (
        "keywords:frequency",
        {"keyword": "the", "frequency": 2} | AT_LEAST,
        ["The cat and the dog", "other others"],
        ["The cat", "th e the"],
    ),
    ("keywords:frequency", {"keyword": "a.b", "frequency": 1} | LESS_THAN, ["axb"], ["A.B", "a.b"]),
    (
        "keywords:forbidden_words",
        {"forbidden_words": ["can", "ride"]},
        ["candy and pride", "canned"],
        ["I can.", "RIDE!", "a can-do view", "ca\u200bn"],
    ),
    ("keywords:forbidden_words", {"forbidden_words": ["C++"]}, ["C+ is"], ["I like C++ a lot"]),
    (
        "keywords:letter_frequency",
        {"letter": "q", "let_frequency": 3, "let_relation": "at least"},
        ["Qq and q"],
        ["Qq", "pp gg oo"],
    ),
    (
        "keywords:letter_frequency",
        {"letter": "#", "let_frequency": 2, "let_relation": "less than"},
        ["# one", "none"],
        ["##"],
    ),
    (
        "language:response_language",
        {"language": "de"},
        ["Das ist ein kurzer Satz über Käse und Brot.", "Guten Tag, wie geht es Ihnen heute?"],
        [
            "This is a short sentence about cheese and bread.",
            "Dit is een korte zin over kaas en brood, en nog wat.",
            "123",
            "🙂",
        ],
    ),
    (
        "language:response_language",
        {"language": "mr"},
        ["सकाळी घाई झाली ट्रेन सुटली पुन्हा मी धावतच आहे"],
        ["मैं आज परोसे गए भोजन से बहुत नाराज हूँ।", "sakali ghai jhali train sutli"],
    ),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 3} | AT_LEAST,
        ["One. Two! Three?", "one. two. three", "Hi.\nYou there?\nYes."],
        ["One. Two!", "Dr. A. B. Smith of 3.5 St. Mary Ave. came, e.g. today.", "1. One\n2. Two."],
    ),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 2} | LESS_THAN,
        ["One, two, three", '"Stop!" he said.', "a\nb\nc"],
        ["One. Two.", "我来。你去。"],
    ),
    (
        "length_constraints:number_paragraphs",
        {"num_paragraphs": 2},
        ["a\n***\nb", "a *** b", "***\na\n***\nb\n***", "a\n\nb\n***\nc"],
        ["a\n\nb", "a\n***\nb\n***\nc", "a\n***\n***\nb", "a\n* * *\nb"],
    ),
    (
        "length_constraints:number_words",
        {"num_words": 4} | AT_LEAST,
        ["one two three four", "well-known and good", "don't go now"],
        ["one two three", "one - two - three .", "हिन्दी में लिखो"],
    ),
    ("length_constraints:number_words", {"num_words": 3} | LESS_THAN, ["a b"], ["a b c", "a-b-c"]),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Summary"},
        ["a b\n\nsummary of it", 'a\n\n"Summary," he said', "a\n\nSummary: it", "a\n\n\n\nsummary"],
        ["a\n\nsummaries", "a\nsummary", "summary\n\na", "a\n\nsummary\n\nb", "a\n\nA summary"],
    ),
    (
        "detectable_content:number_placeholders",
        {"num_placeholders": 2},
        ["[name] and [address]", "[a][b]"],
        ["[name]", "[] []", "[ ] [x", "[a\nb] [c]", "[[a]"],
    ),
    (
        "detectable_content:postscript",
        {"postscript_marker": "P.S."},
        ["Bye.\nP.S. More", "bye\n\np. s. more", "**P.S.** more"],
        ["Bye. PS: more", "Bye.\nP.P.S. More", "I work at U.P.S. now", "P.S without"],
    ),
    (
        "detectable_content:postscript",
        {"postscript_marker": "P.P.S"},
        ["Bye.\nP.P.S more", "P.P.S. more", "p. p. s. more"],
        ["P.S. more", "PPS more", "p.p.some"],
    ),
    ("detectable_content:postscript", {"postscript_marker": "N.B."}, ["n.b. it"], ["nxbx it"]),
    (
        "detectable_format:number_bullet_lists",
        {"num_bullets": 2},
        [
            "* a\n* b",
            "- a\n  - b",
            "Here:\n* **a**\n* *b*\n\n---\nBye",
            "*a\n*b",
            "*Note* it\n* a\n* b",
        ],
        ["* a", "* a\n* b\n* c", "1. a\n2. b", "• a\n• b", "**a**\n**b**", "*\n*", "* * *\n* a"],
    ),
    (
        "detectable_format:constrained_response",
        {},
        ["My answer is yes.", "Well... My answer is maybe. Who knows?"],
        ["My answer is Yes.", "my answer is no.", "yes", "My answer is yes. My answer is no."],
    ),
    (
        "detectable_format:number_highlighted_sections",
        {"num_highlights": 2},
        ["*a* and *b c*", "**a** and *b*", "* *a*\n* **b**"],
        [
            "*a*",
            "***a***",
            "** ** and * *",
            "2 * 3 * 4 * 5",
            "*a\nb* *c\nd*",
            "_a_ and _b_",
            "* **a**",
        ],
    ),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "SECTION", "num_sections": 2},
        ["SECTION 1\na\nSECTION 2\nb", "SECTION1 a SECTION2 b SECTION3"],
        ["SECTION 1\na", "Section 1\na\nSection 2\nb", "SECTION A\nSECTION B", "SECTION\nSECTION"],
    ),
    (
        "detectable_format:json_format",
        {},
        ['{"a": [1, 2.5, null]}', '```json\n{"a": 1}\n```', "```JSON\n[]\n```", " [1] "],
        [
            '{"a": 1,}',
            'Here: {"a": 1}',
            "{'a': 1}",
            '{"a": NaN}',
            "```json\n{}\n```\nDone",
            "[" * 9999,
        ],
    ),
    (
        "detectable_format:title",
        {},
        ["<<poem of joy>>\n...", "The <<<Title>>>", "<<>> <<a>>"],
        ["<poem>", "<<>>", "<< >>", "<<a\nb>>", ">>a<<", "«a»"],
    ),
    (
        "combination:two_responses",
        {},
        ["a\n******\nb", "******\na\n******\nb\n******", "a ****** b\n***\nc"],
        [
            "a",
            "a\n******\na",
            "a ****** b ****** c",
            "a\n***\nb",
            "a\n************\nb",
            "******\na",
        ],
    ),
    (
        "combination:repeat_prompt",
        {"prompt_to_repeat": "Write a song, please. "},
        ["Write a song, please. La la.", "  write a song, please.\n\nLa"],
        ["La la. Write a song, please.", '"Write a song, please."', "Write a song please. La"],
    ),
    (
        "startend:end_checker",
        {"end_phrase": "Is there more?"},
        ["Yes. Is there more?", '"Yes. is there more?"', "Is there more? \n"],
        ["Is there more? Yes.", "Is there more", "Is there more?!"],
    ),
    (
        "startend:quotation",
        {},
        ['"Hello."', '\n"a "b" c"\n'],
        ['"Hello', 'Hello"', "'Hello'", '"', '""', '" "', "“Hello”", '"Hello".'],
    ),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 3, "capital_relation": "at least"},
        ["I LIKE IT", "NASA's U.S. TOP-SECRET", "**GO** _UP_ [NOW]"],
        ["I LIKE it", "WELL-KNOWN NEWS", "1 2 3", "Go Up Now", "DON'T GO"],
    ),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 2, "capital_relation": "less than"},
        ["I'm here", "none"],
        ["A and B"],
    ),
    (
        "change_case:english_capital",
        {},
        ["THE CAT SAT ON THE MAT AND SLEPT ALL DAY.", "NO", "HELLO WORLD"],
        ["THE CAT SAT ON A mAT", "LE CHAT DORT SUR LE CANAPÉ TOUTE LA JOURNÉE.", "123"],
    ),
    (
        "change_case:english_lowercase",
        {},
        ["the cat sat on the mat and slept all day.", "hello"],
        [
            "The cat sat on the mat",
            "le chat dort sur le canapé toute la journée.",
            "i like NASA",
            "1",
        ],
    ),
    (
        "punctuation:no_comma",
        {},
        ["No pause; none.", "a · b"],
        ["Well, no.", "1,000", "然后，走", "مرحبا، أهلا", "a‚b,c"],
    ),
]
EACH = [
    pytest.param(name, kwargs, text, followed, id=f"{name}-{followed}-{text[:20]!a}")
    for name, kwargs, right, wrong in CASES
    for followed, texts in ((True, right), (False, wrong))
    for text in texts
]


def asked(name: str, **kwargs: Any) -> str:
    return json.dumps([{"instruction_id": name, "kwargs": kwargs}])


@pytest.mark.parametrize(("name", "kwargs", "text", "followed"), EACH)
def test_an_instruction_is_followed_or_not(
    name: str, kwargs: dict[str, Any], text: str, followed: bool
) -> None:
    score = REWARD.compute_reward(text, asked(name, **kwargs))
    assert (score.passed, score.correctness_score) == (followed, float(followed)), score
    assert score.details["instructions"] == [{"id": name, "followed": followed}]


def test_each_of_the_25_has_cases() -> None:
    assert len(CHECKS) == 25
    assert {name for name, *_ in CASES} == CHECKS.keys()


@pytest.mark.parametrize(
    "blank", ["", " ", "\n\n", "\u200b", "<answer> </answer>", "<think>a</think>"]
)
@pytest.mark.parametrize("reward", [REWARD, LOOSE])
def test_a_blank_answer_follows_nothing(blank: str, reward: InstructionRewardFunction) -> None:
    for name, kwargs, *_ in CASES:
        assert reward.compute_reward(blank, asked(name, **kwargs)).status == "failed", name


# --- the loose variants


@pytest.mark.parametrize(
    ("text", "name", "kwargs"),
    [
        ("Sure!\n{}", "detectable_format:json_format", {}),
        ("{}\nI hope this helps.", "detectable_format:json_format", {}),
        ("Sure!\n{}\nI hope this helps.", "detectable_format:json_format", {}),
        ("*{}*", "detectable_format:json_format", {}),
        ("Well, sure!\n**a**\nb, c", "punctuation:no_comma", {}),
        ("**Peace!**", "startend:end_checker", {"end_phrase": "Peace!"}),
        ("**Sure:**\n*Peace!*\nBye", "startend:end_checker", {"end_phrase": "Peace!"}),
    ],
)
def test_loose_forgives_a_first_and_a_last_line_and_asterisks(
    text: str, name: str, kwargs: dict[str, Any]
) -> None:
    assert not REWARD.compute_reward(text, asked(name, **kwargs)).passed
    assert LOOSE.compute_reward(text, asked(name, **kwargs)).passed


def test_loose_forgives_no_second_line() -> None:
    text = "Sure!\nHere it is:\n{}"
    assert not LOOSE.compute_reward(text, asked("detectable_format:json_format")).passed


# --- what is judged, and how


def test_several_instructions_are_scored_by_their_share() -> None:
    both = asked("punctuation:no_comma")[:-1] + ", " + asked("startend:quotation")[1:]
    assert REWARD.compute_reward('"Hello."', both).passed
    score = REWARD.compute_reward("Hello.", both)
    assert (score.status, score.correctness_score) == ("failed", 0.5)
    assert score.error_msg == "not followed: startend:quotation"
    assert [one["followed"] for one in score.details["instructions"]] == [True, False]


@pytest.mark.parametrize(
    ("text", "format_score"),
    [
        ('"Hello."', 1.0),
        ('Let me see, well.\n<answer>"Hello."</answer>', 1.0),
        ('<think>a, b</think>\n\n"Hello."', 1.0),
        ('<think><answer>no</answer></think><answer>"Hello."</answer>', 1.0),
        ('<answer>a, b</answer>\n<answer>"Hello."</answer>', 0.4),
        ('<answer>"Hello."', 0.4),
    ],
)
def test_the_final_content_is_judged(text: str, format_score: float) -> None:
    score = REWARD.compute_reward(text, asked("startend:quotation"))
    assert (score.passed, score.format_score) == (True, format_score)


def test_what_stands_beside_the_tag_does_not_count() -> None:
    assert not REWARD.compute_reward('"<answer>Hello</answer>"', asked("startend:quotation")).passed
    assert not REWARD.compute_reward('<think>"a"', asked("startend:quotation")).passed


def test_windows_lines_are_lines() -> None:
    wanted = {"num_paragraphs": 2, "nth_paragraph": 1, "first_word": "one"}
    name = "length_constraints:nth_paragraph_first_word"
    assert REWARD.compute_reward("One.\r\n\r\nTwo.", asked(name, **wanted)).passed


def test_threads_agree() -> None:
    text = "Das ist ein kurzer Satz über Käse und Brot."
    wanted = asked("language:response_language", language="de")
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


@pytest.mark.parametrize(
    "expected",
    [
        *("", "no JSON", "[]", "{}", "5", "null", '["startend:quotation"]', "[" * 9999),
        asked("startend:quotations"),
        asked("startend:quotation", num_words=3),
        asked("startend:end_checker"),
        asked("startend:end_checker", end_phrase=None),
        asked("startend:end_checker", end_phrase=" "),
        asked("startend:end_checker", end_phrase="\u200b"),
        asked("length_constraints:number_words", num_words=3),
        asked("length_constraints:number_words", num_words=3, relation="at most"),
        asked("length_constraints:number_words", num_words=0, relation="at least"),
        asked("length_constraints:number_words", num_words=2.5, relation="at least"),
        asked("length_constraints:number_words", num_words=True, relation="at least"),
        asked("length_constraints:number_words", num_words="3", relation="at least"),
        asked("keywords:existence", keywords=[]),
        asked("keywords:existence", keywords="mom"),
        asked("keywords:existence", keywords=["mom", ""]),
        asked("keywords:letter_frequency", letter="ab", let_frequency=1, let_relation="at least"),
        asked("language:response_language", language="xx"),
        asked(
            "length_constraints:nth_paragraph_first_word",
            num_paragraphs=2,
            nth_paragraph=3,
            first_word="a",
        ),
        asked(
            "length_constraints:nth_paragraph_first_word",
            num_paragraphs=2,
            nth_paragraph=1,
            first_word="a b",
        ),
        json.dumps({"instruction_id_list": ["startend:quotation"], "kwargs": []}),
        json.dumps({"instruction_id_list": ["startend:quotation"]}),
        json.dumps({"instruction_id_list": "startend:quotation", "kwargs": [{}]}),
        json.dumps({"instruction_id_list": [], "kwargs": []}),
        json.dumps([{"instruction_id": ["a"], "kwargs": {}}]),
        json.dumps([{"instruction_id": "startend:quotation", "kwargs": [1]}]),
    ],
)
def test_a_reference_that_cannot_be_read_is_unscored_and_raises_where_it_is_built(
    expected: str,
) -> None:
    score = REWARD.compute_reward('"Hello."', expected)
    assert (score.status, score.correctness_score) == ("unscored", 0.0)
    assert score.error_msg.startswith("cannot judge: ")
    with pytest.raises(UsageError):
        read_instructions(expected)


def test_an_unknown_instruction_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match=r"punctuation:no_comma"):
        read_instructions(asked("punctuation:no_dash"))


def test_a_number_that_a_table_made_a_float_is_read() -> None:
    wanted = asked("length_constraints:number_words", num_words=3.0, relation="less than")
    assert REWARD.compute_reward("a b", wanted).passed


# --- hostile text

HOSTILE = [
    *(
        "[" * 100_000,
        "*" * 100_000,
        "<<" * 50_000,
        "<<a" * 33_333,
        " " * 99_999 + "p",
        "\n" * 99_999,
    ),
    *(
        "." * 99_999 + "x",
        ". " * 50_000,
        '."' * 50_000,
        "p." * 50_000,
        "* a" * 33_333,
        "- " * 50_000,
    ),
    *("a" * 100_000, "\x00" * 100_000, "\u0301" * 100_000, "\ud800" * 100_000, "***\n" * 25_000),
    *(
        "SECTION " * 12_500,
        "9" * 100_000,
        '{"a":' * 20_000,
        "`" * 100_000,
        "A.B-" * 25_000,
        "'" * 99_999,
    ),
    *(
        "1. " * 33_333,
        "\n1." * 33_333,
        "*a" * 50_000,
        "a\u0315\u0300" * 33_333,
        "\u0315\u0300" * 50_000,
    ),
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:6]))
def test_no_text_takes_longer_than_its_length(text: str) -> None:
    for name, kwargs, *_ in CASES:  # a search that goes back over the text would take minutes
        for instruction in read_instructions([{"instruction_id": name, "kwargs": kwargs}]):
            assert follows(text, instruction) in (True, False)


def test_a_keyword_is_no_pattern() -> None:
    bomb = "(a+)+$"
    for name in ("keywords:existence", "keywords:forbidden_words"):
        key = "keywords" if name.endswith("existence") else "forbidden_words"
        score = REWARD.compute_reward("a" * 100_000 + "!", asked(name, **{key: [bomb]}))
        assert score.passed == (key == "forbidden_words")
    sections = asked("detectable_format:multiple_sections", section_spliter="(a+)+", num_sections=1)
    assert not REWARD.compute_reward("a" * 1_000 + "!", sections).passed
    assert REWARD.compute_reward("(a+)+ 1", sections).passed


# --- words and sentences


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Mr. and Mrs. J. R. Smith paid $3.50 at 5 p.m. on No. 5 St. James Ave. yesterday.", 1),
        ("He lives in the U.S. The weather is fine.", 2),
        ("the u.s. economy grew. it was good.", 2),
        ("We bought apples, pears, etc. Then we left.", 2),
        ("Wait... what? Really?! Yes...", 3),
        ("Wait... What?", 2),
        ("Wait...... what?", 1),
        ("See e.g. *this* or i.e. [that].", 1),
        ("So did I. Then she left.", 2),
        ("It was 1990. then it was 1991.", 2),
        ("She said: 1. sit 2. eat.", 1),
        ("1. First item.\n2. Second item.\n3) Third", 3),
        ("# Title\n\nText without an end", 1),
        ('He said "Go home." Then he left. (It was late.)', 3),
        ("**Bold.** Next.", 2),
        ("Visit www.example.com. It is fine!", 2),
        ("मैं आया। तुम गए।", 2),
        ("Great! 😀", 1),
        ("... *** ---", 0),
    ],
)
def test_sentences(text: str, count: int) -> None:
    assert len(sentences(text)) == count, sentences(text)


def test_words_keep_their_marks() -> None:
    assert words("It's e-mail_1, naïve.") == ["It", "s", "e", "mail_1", "naïve"]
    assert len(words("हिन्दी में")) == 2


@pytest.mark.parametrize(
    "text",
    [
        "RED, BLUE, GREEN",
        "APPLES, BANANAS, CHERRIES",
        "1. MILK\n2. EGGS\n3. BREAD",
        "LONDON, PARIS, BERLIN, MADRID",
        "* SMITH\n* GARCIA\n* MARTINEZ\n* LOPEZ",
        "PIZZA, PASTA, RISOTTO",
        "TACO, BURRITO, QUESADILLA",
        "TITANIC\nAVATAR\nINCEPTION\nGLADIATOR",
        "TOKYO, KYOTO, OSAKA, NAGOYA",
        "YES",
    ],
)
def test_a_short_list_of_names_is_not_taken_for_another_language(text: str) -> None:
    assert CHECKS["change_case:english_capital"].follows(text)
    assert CHECKS["change_case:english_lowercase"].follows(text.lower())
    assert not CHECKS["change_case:english_lowercase"].follows(text)
    for language in ("hi", "ko", "ru", "ar", "th"):
        assert not CHECKS["language:response_language"].follows(text, language=language)


@pytest.mark.parametrize(
    "text",
    [
        "LA VIDA ES BELLA",
        "NON LO SO",
        "C'EST LA VIE",
        "JE NE SAIS PAS",
        "LECHE, HUEVOS, PAN",
        "EINS, ZWEI, DREI",
        "TERIMA KASIH",
        "DAS IST EIN KURZER SATZ UND NICHT ENGLISCH",
    ],
)
def test_a_short_text_that_tells_its_language_is_judged(text: str) -> None:
    assert not CHECKS["change_case:english_capital"].follows(text)
    assert not CHECKS["change_case:english_lowercase"].follows(text.lower())
