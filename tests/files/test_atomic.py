"""What takes another's place does so whole, or not at all."""

from __future__ import annotations

import errno
import os
import stat
from functools import partial
from pathlib import Path

import pytest

from infinite_rl.errors import StoreError
from infinite_rl.files.atomic import (
    atomic_file,
    atomic_folder,
    clear_abandoned,
    clear_unfinished,
    write_text,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def made(path: Path, text: str) -> None:
    with atomic_folder(path) as draft:
        draft.mkdir()
        (draft / text).write_text(text)


# Folders.


def test_a_folder_takes_the_place_of_whatever_was_there(tmp_path: Path) -> None:
    place = tmp_path / "new" / "parent" / "place"
    made(place, "first")
    made(place, "second")
    assert names(place) == ["second"] and names(place.parent) == ["place"]
    with atomic_folder(place) as draft:
        assert draft.name == "place"  # so that it has the ending that says what a file is
        draft.write_text("a file")
    assert place.read_text() == "a file"
    made(place, "third")
    assert names(place) == ["third"] and names(place.parent) == ["place"]


def test_until_it_is_whole_a_folder_is_not_there_and_its_elder_is(tmp_path: Path) -> None:
    place = tmp_path / "place"
    with atomic_folder(place) as draft:
        draft.mkdir()
        assert not place.exists()
    (place / "elder").touch()
    with pytest.raises(ZeroDivisionError), atomic_folder(place) as draft:
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


def test_all_of_a_folder_is_on_the_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, synced = tmp_path / "place", dict[int, bool]()
    monkeypatch.setattr(os, "fsync", lambda f: synced.update({os.fstat(f).st_ino: place.exists()}))
    with atomic_folder(place) as draft:
        (draft / "sub").mkdir(parents=True)
        (draft / "sub" / "file").touch()
    inside = [place, place / "sub", place / "sub" / "file"]
    assert synced == {path.stat().st_ino: path == tmp_path for path in [*inside, tmp_path]}


@pytest.mark.parametrize("error", [errno.EINVAL, errno.ENOTSUP, errno.EIO])
def test_a_mount_that_syncs_no_folders_has_its_files_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def refuse(file: int, *, folders: bool) -> None:
        if stat.S_ISDIR(os.fstat(file).st_mode) == folders:
            raise OSError(error, "no")

    monkeypatch.setattr(os, "fsync", partial(refuse, folders=True))
    if error == errno.EIO:
        with pytest.raises(OSError):
            made(tmp_path / "place", "file")
    else:
        made(tmp_path / "place", "file")
        assert names(tmp_path / "place") == ["file"]
    monkeypatch.setattr(os, "fsync", partial(refuse, folders=False))
    with pytest.raises(OSError):
        made(tmp_path / "other", "file")


def test_a_folder_may_have_the_longest_name_there_is(tmp_path: Path) -> None:
    made(tmp_path / ("x" * 255), "file")
    assert names(tmp_path) == ["x" * 255]


def test_what_killed_processes_left_is_cleared_and_nothing_else(tmp_path: Path) -> None:
    made(tmp_path / "whole", "file")
    making = atomic_folder(tmp_path / "half")
    making.__enter__().mkdir()
    assert len(names(tmp_path)) == 2
    clear_unfinished(tmp_path)
    assert names(tmp_path) == ["whole"]


def left(folder: Path, name: str, *, elder: bool) -> None:
    """What a process leaves that was killed as a folder was to take its place."""
    (folder / f".{name}.part" / "new" / name / "half").mkdir(parents=True)
    if elder:
        (folder / f".{name}.part" / "old" / "elder").mkdir(parents=True)


def test_what_others_are_making_is_not_cleared_and_an_elder_gets_its_name_back(
    tmp_path: Path,
) -> None:
    left(tmp_path, "began", elder=False)
    left(tmp_path, "moved", elder=True)
    left(tmp_path, "replaced", elder=True)
    (tmp_path / "replaced" / "younger").mkdir(parents=True)
    (tmp_path / ".another.part" / "file").mkdir(parents=True)
    with atomic_folder(tmp_path / "made") as draft:
        files = len(os.listdir("/dev/fd"))
        clear_abandoned(tmp_path)
        assert len(os.listdir("/dev/fd")) == files
        draft.mkdir()
    assert names(tmp_path) == [".another.part", "made", "moved", "replaced"]
    assert names(tmp_path / "moved") == ["elder"] and names(tmp_path / "replaced") == ["younger"]


def test_no_lock_is_held_when_a_folder_has_its_place(tmp_path: Path) -> None:
    before = len(os.listdir("/dev/fd"))
    left(tmp_path, "began", elder=False)
    clear_abandoned(tmp_path)
    made(tmp_path / "place", "file")
    write_text(tmp_path / "file", "text")
    assert len(os.listdir("/dev/fd")) == before


# Files.


def test_a_file_is_whole_or_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.txt"
    write_text(path, "first")
    with pytest.raises(ZeroDivisionError), atomic_file(path) as draft:
        draft.write_text("sec")
        raise ZeroDivisionError
    assert path.read_text() == "first" and names(path.parent) == ["a.txt"]
    with pytest.raises(StoreError, match="cannot write .*file/b.txt: "):
        write_text(path / "file" / "b.txt", "never")


def test_a_file_may_be_read_by_whom_the_system_lets_read_new_ones(tmp_path: Path) -> None:
    before = os.umask(0o020)
    try:
        write_text(tmp_path / "a.txt", "text")
        assert os.umask(0o020) == 0o020
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o646


def test_all_of_a_text_is_on_the_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced = tmp_path / "a.txt", list[tuple[int, bool]]()
    monkeypatch.setattr(
        os, "fsync", lambda file: synced.append((os.fstat(file).st_size, path.exists()))
    )
    write_text(path, "four")
    assert synced == [(4, False)]
