"""Order files: ids, one a line; what names no row is an error unless it is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from infinite_rl.dataset.mix import Ordered, arrange, read_order, write_order
from infinite_rl.errors import StoreError, UsageError

KNOWN = {"a": 0, "b": 1, "c": 2, "twin": None}


@pytest.mark.parametrize("ids", [["a"], ["x/1", "x/2#2", "#3", "a b", "é", "a\u2028b", "a\rb"]])
def test_what_was_written_is_read_back(ids: list[str], tmp_path: Path) -> None:
    path = tmp_path / "new" / "train.order"
    write_order(ids, path)
    assert read_order(path) == ids
    assert path.read_bytes().decode().split("\n") == [*ids, ""]


def test_blank_lines_and_the_ends_of_windows_lines_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "order"
    path.write_bytes(b"\xef\xbb\xbfa\r\n\r\n b \n\nc")
    assert read_order(path) == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["", " a", "a\n", "a\nb", "\ud83d"])
def test_an_id_that_a_line_cannot_hold_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot hold the id"):
        write_order(["a", name], tmp_path / "order")
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_missing_empty_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the order in .*: No such file or directory$"):
        read_order(tmp_path / "order")
    (tmp_path / "order").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="cannot read the order"):
        read_order(tmp_path / "order")
    (tmp_path / "order").write_bytes(b"\n\n")
    with pytest.raises(UsageError, match="no ids"):
        read_order(tmp_path / "order")
    with pytest.raises(StoreError, match="cannot write"):
        write_order(["a"], tmp_path / "order" / "below")


def test_rows_come_as_they_are_named_as_often_as_they_are_named() -> None:
    assert arrange(["c", "a", "c"], KNOWN) == Ordered([2, 0, 2], 3, 0, 1)


def test_an_unknown_id_is_an_error_unless_it_is_allowed() -> None:
    wanted = ["c", "who", "a", "is", "this", "then"]
    with pytest.raises(UsageError, match=r"4 of the order's 6 ids .*: 'who', 'is', 'this', \.\.\."):
        arrange(wanted, KNOWN)
    assert arrange(wanted, KNOWN, allow_unknown=True) == Ordered([2, 0], 6, 4, 0)


def test_an_id_that_several_rows_have_is_an_error_even_so() -> None:
    with pytest.raises(UsageError, match="'twin', and several sources have it"):
        arrange(["twin"], KNOWN, allow_unknown=True)


def test_of_an_unknown_id_that_is_long_the_error_quotes_the_beginning() -> None:
    with pytest.raises(UsageError) as refused:
        arrange(["x" * 5_000], {})
    assert len(str(refused.value)) < 200
