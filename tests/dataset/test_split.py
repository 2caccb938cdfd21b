"""No side knows another, and no row ever changes sides."""

import random
from collections import Counter
from typing import Any

import pytest

from infinite_rl.dataset.split import LEFT_OUT, split
from infinite_rl.errors import UsageError

pytest.importorskip("rensa")

HALVES = {"train": 0.5, "test": 0.5}
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def task(name: int) -> list[str]:
    """The words of a task; those of different tasks have nothing in common."""
    chance = random.Random(name)
    return ["".join(chance.choices(LETTERS, k=8)) for _ in range(20)]


def row(name: int, change: str = "") -> dict[str, Any]:
    said = task(name)
    return {"prompt": " ".join([*said[:19], change or said[19]]), "n": name}


def splits(rows: list[dict[str, Any]], **options: Any) -> list[str]:
    return [assigned["split"] for assigned in split(rows, HALVES, **options)]


def test_every_twenty_rows_meet_the_shares() -> None:
    rows = [row(n) for n in range(600)]
    assigned = list(split(rows, {"a": 0.7, "b": 0.2, "c": 0.1, "d": 0}))
    assert [{k: v for k, v in one.items() if k != "split"} for one in assigned] == rows
    for end in range(20, 601, 20):
        counts = Counter(one["split"] for one in assigned[:end])
        assert counts == {"a": end * 7 // 10, "b": end // 5, "c": end // 10}
    blocks = {tuple(one["split"] for one in assigned[at : at + 20]) for at in range(0, 600, 20)}
    assert len(blocks) > 25, "which rows of a block are in which split is drawn"


def test_groups_of_similar_rows_are_made_up_for_by_others() -> None:
    rows = [row(n // 5, LETTERS[n % 5] * 9) if n < 100 else row(n) for n in range(400)]
    counts = Counter(one["split"] for one in split(rows, HALVES))
    assert abs(counts["train"] - 200) <= 1
    crowd = [row(1, LETTERS[n % 26] * (9 + n // 26)) for n in range(60)]
    counts = Counter(
        one["split"] for one in split([*crowd, *(row(n) for n in range(2, 42))], HALVES)
    )
    assert sorted(counts.values()) == [40, 60], "more than its share, and no other row joins it"


def test_near_duplicates_are_on_one_side() -> None:
    rows = [row(n, change) for change in ("", "other", "words") for n in range(40)]
    found = splits(rows)
    assert found[:40] == found[40:80] == found[80:] and len(set(found)) == 2
    said = (
        "{0} has {3} cats and {1} has 3 cats. If {0} gives {2} 4 of her cats, how many more cats "
        "does {0} have than {1}?"
    )
    people = (("Susan", "Bob", "Robert"), ("Wilhelmina", "Xiomara", "Cosmo"))
    named = [{"prompt": said.format(*names, n)} for names in people for n in range(10, 40)]
    found = splits(named)  # short prompts with other names
    assert found[:30] == found[30:] and len(set(found)) == 2


def test_no_row_moves_when_others_are_added_and_another_seed_moves_them() -> None:
    rows = [row(n % 40, f"x{'y' * (n // 40)}") for n in range(120)]
    assert splits(rows[:70]) == splits(rows)[:70]
    rows = [row(n) for n in range(60)]
    assert splits(rows) == splits(rows, seed=0) != splits(rows, seed=1)


def bridged() -> list[dict[str, Any]]:
    """Two rows of different sides, and one that is close to both."""
    first = next(n for n in range(99) if splits([row(n)]) == ["train"])
    second = next(n for n in range(99) if splits([row(n)]) == ["test"])
    both = {"prompt": " ".join([*task(first), *task(second)]), "n": -1}
    return [row(first), row(second), both]


def test_a_row_that_links_two_sides_is_left_out_and_nothing_moves() -> None:
    rows = bridged()
    options: dict[str, Any] = {"threshold": 0.4}
    assert splits(rows, **options) == ["train", "test", LEFT_OUT]
    assert splits([*rows, rows[2]], **options)[3] == LEFT_OUT
    assert splits([*rows, rows[1]], **options)[3] == "test"
    assert LEFT_OUT not in splits(
        [rows[2], *rows[:2]], **options
    )  # before them, it draws them near


def test_rows_of_an_earlier_split_stay_in_any_order() -> None:
    earlier = list(split([row(n) for n in range(40)], HALVES))
    new = [row(n, "other") for n in range(40)]
    rows = [*new, *(row(n) for n in range(39, -1, -1))]
    by_name = {one["n"]: one["split"] for one in earlier}
    for one in split(rows, HALVES, seed=7, keep=earlier):
        assert one["split"] == by_name[one["n"]]
    earlier = [{**row(1), "split": "train"}, {**row(1, "other"), "split": "test"}]
    found = splits([row(1, "other"), row(1), row(1, "new")], keep=earlier)
    assert found == ["test", "train", LEFT_OUT], "a copy goes where its like is"


def test_rows_to_keep_are_in_a_split_and_those_left_out_are_ignored() -> None:
    rows = list(split(bridged(), HALVES, threshold=0.4))
    assert splits(rows, keep=rows, threshold=0.4) == ["train", "test", LEFT_OUT]
    for wrong in ("dev", None):
        with pytest.raises(UsageError, match=f"no split of the shares: {wrong!r}"):
            splits([row(1)], keep=[{**row(1), "split": wrong}])


def test_other_numbers_are_another_task_unless_they_are_ignored() -> None:
    rows = [{"prompt": " ".join([*task(1), str(n)])} for n in range(40)]
    assert len(set(splits(rows))) == 2
    assert len(set(splits(rows, numbers="ignore"))) == 1


def test_shares_that_cannot_be_are_the_callers_fault() -> None:
    for shares in ({}, {"a": 0.5}, {"a": 1.5, "b": -0.5}, {"a": float("nan")}):
        with pytest.raises(UsageError, match="shares"):
            list(split([row(1)], shares))
