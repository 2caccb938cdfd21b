"""Of rows that ask for the same one is kept; other tasks of the same template all are."""

import tracemalloc
from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np
import pytest
from labelled import Tables

from infinite_rl.dataset import dedup as module
from infinite_rl.dataset.dedup import Bands, Duplicate, Signature, duplicates, without
from infinite_rl.errors import UsageError
from infinite_rl.procedural import families, make_problem

pytest.importorskip("rensa")
tables = Tables(__file__)

HALVES = ("abcdefghijklm", "nopqrstuvwxyz")
PENS = (
    "Tom has 12 red pens and buys 5 more boxes with 8 pens each. "
    "How many pens does Tom have in all after he has bought the boxes?"
)


def row(prompt: str, **more: Any) -> dict[str, Any]:
    return {"type": "math", "prompt": prompt, "answer": "52", **more}


def removed(*prompts: str, answer: str = "52", **options: Any) -> list[int]:
    rows = [row(prompt, answer=answer) for prompt in prompts]
    return [found.row for found in duplicates(rows, **options)]


def test_the_first_of_equal_rows_is_kept() -> None:
    rows = [row("What is 2 + 3?", id="a"), row("Another one", id="b"), row("what is 2+3", id="c")]
    assert duplicates(rows) == [Duplicate(3, "c", 1, "a", 1.0, True)]
    assert list(without(rows, duplicates(rows))) == rows[:2]


def test_rows_without_a_prompt_repeat_each_other_only_if_all_else_is_equal() -> None:
    rows = [
        {"prompt": "", "answer": a, "response": r} for a, r in (("1", "x"), ("2", "x"), ("1", "x"))
    ]
    assert [each.row for each in duplicates(rows)] == [3]


def test_the_best_of_a_column_is_kept_and_another_answer_is_disputed() -> None:
    rows = [row("Same", score="0.5"), row("same", score=1), row("SAME", score="1.0"), row("x y")]
    rows[3]["score"] = "-1e9"
    assert [found.row for found in duplicates(rows, best="score")] == [1, 3]
    assert {found.of_row for found in duplicates(rows, best="score")} == {2}
    for score in ("", "high", None, "nan", "inf"):
        with pytest.raises(UsageError, match="row 2 holds .*, no number, in 'score'"):
            duplicates([row("a", score=1), row("b", score=score)], best="score")
    rows = [{"prompt": "What is 6 times 7?", "answer": answer} for answer in ("42", "42 ", "41")]
    assert [duplicate.disputed for duplicate in duplicates(rows)] == [False, True]


@tables
def test_the_same_task_in_other_words_is_removed(one: str, other: str) -> None:
    assert removed(one, other) == [2]


@tables
def test_another_number_sign_clause_or_telling_word_is_another_task(one: str, other: str) -> None:
    assert removed(one, other) == []


@tables
def test_answers_and_options_decide_which_prompts_are_removed(
    options: dict[str, Any], rows: list[int], prompts: tuple[str, ...]
) -> None:
    assert removed(*prompts, **options) == rows


@tables
def test_answers_types_languages_and_columns_make_another_task(
    options: dict[str, Any], found: list[tuple[int, int, bool, bool]], rows: list[dict[str, Any]]
) -> None:
    made = duplicates(rows, **options)
    assert [(one.row, one.of_row, one.exact, one.disputed) for one in made] == found


@pytest.mark.parametrize(
    "label",
    ["Problem 3: ", "**Question 12.** ", "## Task 7\n", "12) ", "(4) ", "#5: ", "Example No. 2 - "],
)
def test_a_label_that_counts_the_rows_makes_no_other_task(label: str) -> None:
    task = "Ann has 3 pears and buys 5. How many does she have?"
    assert removed(task, label + task) == [2]
    assert removed(f"{task} (variant 17)", f"{label}{task} [copy 2]") == [2]
    assert removed(label + task, label + task.replace("5", "6")) == []


def test_a_number_that_is_no_label_makes_another_task() -> None:
    said = "{} is a prime. Which prime comes next?"
    assert removed(said.format(3), said.format(5)) == []
    assert removed("Solve 3 - x = 2 for x", "Solve 5 - x = 2 for x") == []
    assert removed("2) + 3 = ?", "4) + 3 = ?") == []


def test_equal_responses_and_answers_make_the_same_task_if_the_numbers_agree() -> None:
    said = "Ann buys 3 pears at 4 dollars each. What does she pay?"
    reworded = "At 4 dollars for one pear, how much money must be spent by Ann on 3 of them?"
    response = "Each of the 3 pears costs 4 dollars, so Ann pays 3 * 4 = 12 dollars."
    same = {"answer": "12", "response": response}
    assert [d.row for d in duplicates([row(said, **same), row(reworded, **same)])] == [2]
    for other in (
        row(reworded.replace("3", "6"), **same),
        row(reworded, answer="12", response="Ann pays 3 * 4 = 12."),
        row(reworded, answer="13", response=response),
        {**row(reworded, **same), "type": "python"},
    ):
        assert duplicates([row(said, **same), other]) == []
    short = {"answer": "12", "response": "12"}
    assert duplicates([row(said, **short), row(reworded, **short)]) == []
    assert duplicates([row(said, **same), row(reworded, **same)], threshold=1) == []


def test_every_removed_row_is_as_similar_as_asked_to_one_that_is_kept() -> None:
    old, new = (["".join(pair) for pair in product(letters, letters)] for letters in HALVES)
    chain = [" ".join(new[:at] + old[at:60]) for at in range(0, 60, 4)]  # each near to the next
    found = duplicates(map(row, chain))
    gone = {one.row for one in found}
    assert all(one.of_row not in gone and one.similarity >= 0.6 for one in found)
    assert len(chain) / 2 < len(found) < len(chain) - 1  # the ends of a chain are not the same


def test_a_threshold_is_above_0_and_at_most_1_and_columns_are_there() -> None:
    with pytest.raises(UsageError, match="no column 'text'"):
        duplicates([row(PENS)], ["text"])
    for threshold in (0, -1, 1.01, float("nan")):
        with pytest.raises(UsageError, match="threshold"):
            removed(PENS, threshold=threshold)


@pytest.mark.slow
def test_a_long_text_takes_bounded_memory_and_is_still_found() -> None:
    long = " ".join(map("".join, product(*HALVES, HALVES[0])))
    made = module.sketch(row(long * 20))
    assert made.shingles.nbytes <= 8 * 1024
    assert removed(long, long.replace("ana", "other"), "x" * 1_000_000, "x " * 300_000) == [2]


def peak(count: int) -> int:
    """The most memory that the comparison of so many unlike rows takes, in bytes."""
    chance = np.random.default_rng(3)
    tracemalloc.start()
    sketches = module.Sketches()
    for number in range(1, count + 1):
        shingles = chance.integers(1 << 63, size=60, dtype=np.uint64)
        sketches.add(module.Sketch(number, number, 0, np.unique(shingles), number))
    index = module.Index(sketches)
    for _ in index:
        index.add()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def test_a_row_takes_about_a_tenth_of_a_kilobyte_of_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_BLOCK", 64)
    _, few, many = (peak(blocks * module._BLOCK) for blocks in (1, 2, 10))  # the first warms up
    assert (many - few) / (8 * module._BLOCK) < 130


def test_a_crowd_of_one_template_is_not_compared_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    similarity = module._similarity
    monkeypatch.setattr(module, "_similarity", lambda *two: calls.append(two) or similarity(*two))
    monkeypatch.setattr(module, "_CANDIDATES", 40)
    frame = (
        "Please write a short story for small children about a {} who meets an old {} in a dark "
        "wood, and who learns from the {} a lot about life and about the trees."
    )
    prompts = [frame.format(a + b, b + a, a + a + b) for a, b in product(*HALVES)]
    copies = [prompt + " today" for prompt in prompts[-5:]]
    found = duplicates(map(row, [*prompts, *copies]), threshold=0.8)
    assert {one.row for one in found} >= set(range(len(prompts) + 1, len(prompts) + 6))
    assert 0 < len(calls) <= 40 * (len(prompts) + 5)


def test_copies_do_not_crowd_out_another_row_that_is_near() -> None:
    many = module._CANDIDATES + 50
    sketches = module.Sketches()
    for name in [*["Tom"] * many, "Aisha", "Ben"]:
        sketches.add(module.sketch(row(PENS.replace("Tom", name))))
    index = module.Index(sketches)
    for number, matches in index:
        index.add()
        if number > many:
            assert [match.index for match in matches] == [0, many]


def test_different_tasks_of_the_procedural_families_are_all_kept() -> None:
    problems = [
        make_problem("math", seed, family=name) for name in families("math") for seed in range(40)
    ]
    rows = [row(problem.prompt, answer=problem.answer) for problem in problems]
    for one in duplicates(rows):
        assert rows[one.row - 1]["answer"] == rows[one.of_row - 1]["answer"]
    assert len(duplicates(rows)) < len(rows) / 50


# The bands
SHAPE = [(2, 8), (4, 4)]


def signatures(count: int) -> list[Signature]:
    made = np.random.default_rng(5).integers(1 << 32, size=(count, 16), dtype=np.uint32)
    return list(made)


def proposals(
    made: list[Signature], most: int, taken: Iterable[int] | None = None
) -> list[list[int]]:
    """What is proposed to each signature, of those that were taken, by default all."""
    bands = Bands(SHAPE)
    for signature in made:
        bands.add(signature.tolist())
    bands.link(np.arange(len(made)))
    found = []
    for position in range(len(made)):
        found.append(bands.alike(position, most))
        if taken is None or position in taken:
            bands.take(position)
    return found


def test_every_signature_is_found_by_each_of_its_bands() -> None:
    made = signatures(5_000)
    numbers = range(0, 5_000, 97)
    others = [made[0] + np.uint32(1) for _ in numbers for _ in range(4)]
    for at, other in enumerate(others):
        start = 4 * (at % 4)
        other[start : start + 4] = made[numbers[at // 4]][start : start + 4]
    found = proposals([*made, *others], 10, range(5_000))[5_000:]
    assert found == [[number] for number in numbers for _ in range(4)]


def test_nothing_is_found_that_shares_no_band() -> None:
    *made, other = signatures(3_000)
    shifted = np.roll(made[7], 4)  # the same hashes in other bands
    assert not any(proposals([*made, other, shifted], 10))


def test_exactly_the_earlier_signatures_that_share_a_band_and_were_taken_are_found() -> None:
    chance = np.random.default_rng(6)
    made = list(chance.integers(3, size=(2_500, 16), dtype=np.uint32))
    taken = {int(at) for at in np.flatnonzero(chance.random(len(made)) < 0.5)}
    keys = np.array([np.split(one, 4) for one in made]) @ np.array([27, 9, 3, 1])
    found = proposals(made, len(made), taken)
    for position in range(0, len(made), 50):
        near = np.flatnonzero((keys[:position] == keys[position]).any(axis=1))
        assert sorted(found[position]) == [at for at in near.tolist() if at in taken]


def test_rows_are_compared_in_the_order_that_is_given() -> None:
    made = signatures(1)
    bands = Bands(SHAPE)
    for signature in (made[0], made[0] + np.uint32(1), made[0]):
        bands.add(signature.tolist())
    bands.link(np.array([2, 1, 0]))
    found = []
    for position in range(3):
        found.append(bands.alike(position, 9))
        bands.take(position)
    assert found == [[], [], [0]]


def test_of_a_crowd_the_latest_come_and_first_those_that_agree_in_more() -> None:
    crowd = signatures(2_000)
    for signature in crowd:
        signature[12:] = 1
    other = signatures(2_001)[-1]
    other[12:] = 1
    assert proposals([*crowd, other], 3)[-1] == [1_999, 1_998, 1_997]
    other[:8] = crowd[4][:8]
    assert proposals([*crowd, other], 3)[-1][0] == 4
    both = np.concatenate([crowd[0][:8], crowd[1][8:]])
    assert proposals([*crowd[:2], both], 2)[-1] == [1, 0]
    assert proposals([*crowd[:2], both], 1)[-1] == [1]


def test_a_crowd_that_was_not_taken_is_passed_over_at_once() -> None:
    made = signatures(1) * 3_000  # walked along each time, they would take minutes
    assert proposals(made, 10, {5})[5:] == [[], *([[5]] * 2_994)]
