"""What takes another's place does so whole, or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from infinite_rl.errors import StoreError
from infinite_rl.files.replacing import clear_unfinished, replacing, replacing_folder, write_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def made(path: Path, text: str) -> None:
    with replacing_folder(path) as draft:
        draft.mkdir()
        (draft / text).write_text(text)


# Folders.


def test_a_folder_takes_the_place_of_whatever_was_there(tmp_path: Path) -> None:
    place = tmp_path / "new" / "parent" / "place"
    made(place, "first")
    made(place, "second")
    assert names(place) == ["second"] and names(place.parent) == ["place"]
    with replacing_folder(place) as draft:
        assert draft.name == "place"  # so that it has the ending that says what a file is
        draft.write_text("a file")
    assert place.read_text() == "a file"
    made(place, "third")
    assert names(place) == ["third"] and names(place.parent) == ["place"]


def test_until_it_is_whole_a_folder_is_not_there_and_its_elder_is(tmp_path: Path) -> None:
    place = tmp_path / "place"
    with replacing_folder(place) as draft:
        draft.mkdir()
        assert not place.exists()
    (place / "elder").touch()
    with pytest.raises(ZeroDivisionError), replacing_folder(place) as draft:
        draft.mkdir()
        assert names(place) == ["elder"]
        raise ZeroDivisionError
    assert names(place) == ["elder"] and names(tmp_path) == ["place"]


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_folder_that_cannot_take_its_place_leaves_the_elder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    made(tmp_path / "place", "elder")
    real = Path.rename

    def fails(path: Path | int, *target: Path) -> Path:
        if isinstance(path, Path) and path.parent.name != "new":
            return real(path, *target)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os if call == "fsync" else Path, call, fails)
    with pytest.raises(OSError, match="No space left"):
        made(tmp_path / "place", "younger")
    assert names(tmp_path / "place") == ["elder"] and names(tmp_path) == ["place"]


def test_a_folder_may_have_the_longest_name_there_is(tmp_path: Path) -> None:
    made(tmp_path / ("x" * 255), "file")
    assert names(tmp_path) == ["x" * 255]


def test_what_killed_processes_left_is_cleared_and_nothing_else(tmp_path: Path) -> None:
    made(tmp_path / "whole", "file")
    making = replacing_folder(tmp_path / "half")
    making.__enter__().mkdir()
    assert len(names(tmp_path)) == 2
    clear_unfinished(tmp_path)
    assert names(tmp_path) == ["whole"]


# Files.


def test_a_file_is_whole_or_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.txt"
    write_text(path, "first")
    with pytest.raises(ZeroDivisionError), replacing(path) as draft:
        draft.write_text("sec")
        raise ZeroDivisionError
    assert path.read_text() == "first" and names(path.parent) == ["a.txt"]
    with pytest.raises(StoreError, match="cannot write .*file/b.txt: "):
        write_text(path / "file" / "b.txt", "never")
