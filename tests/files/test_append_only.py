"""Files that only grow: a record is there whole, or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from infinite_rl.errors import StoreError
from infinite_rl.files.append_only import AppendOnlyFile, DiskFull, damaged, read_lines, whole_lines
from infinite_rl.files.lock import locked


class Failing:
    """A file that takes three bytes at a time, and after so many writes none."""

    def __init__(self, file: object, writes: int, error: int) -> None:
        self.file, self.writes, self.error = file, writes, error

    def write(self, data: bytes) -> int:
        if not self.writes:
            raise OSError(self.error, "no luck")
        self.writes -= 1
        return int(self.file.write(data[:3]))  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> object:
        return getattr(self.file, name)


Break = Callable[[int, int], None]


@pytest.fixture
def file(tmp_path: Path) -> AppendOnlyFile:
    (tmp_path / "x").write_bytes(b"there\n")
    return AppendOnlyFile(tmp_path / "x")


@pytest.fixture
def broken(file: AppendOnlyFile, monkeypatch: pytest.MonkeyPatch) -> Break:
    """Have the file fail after so many writes."""
    return lambda writes, error: monkeypatch.setattr(
        file, "_file", Failing(file._file, writes, error)
    )


def test_a_closed_file_is_free_though_a_child_holds_a_copy_of_it(file: AppendOnlyFile) -> None:
    file._claim()
    copy = os.dup(file._file.fileno())  # as one that was forked does until it runs its program
    file.close()
    AppendOnlyFile(file.path)._claim()
    file.close()  # again does nothing
    os.close(copy)


def test_a_folder_is_free_after_the_block_though_a_child_holds_a_copy(tmp_path: Path) -> None:
    with locked(tmp_path):
        copies = [os.dup(number) for number in open_files(tmp_path / ".lock")]
        with pytest.raises(StoreError, match="another run"), locked(tmp_path):
            pass
    assert copies
    with locked(tmp_path):
        pass
    for copy in copies:
        os.close(copy)


def open_files(path: Path) -> list[int]:
    """The numbers under which this process has the file open."""
    there = path.stat()
    found = []
    for number in range(3, 1000):
        with suppress(OSError):
            if os.path.samestat(os.fstat(number), there):
                found.append(number)
    return found


def test_a_record_comes_after_what_is_there_and_its_place_is_told(file: AppendOnlyFile) -> None:
    assert (file._write(b"one\n"), file._write(b"two\n")) == (6, 10)
    assert file.path.read_bytes() == b"there\none\ntwo\n"


def test_a_record_that_the_system_takes_in_pieces_is_whole(
    file: AppendOnlyFile, broken: Break
) -> None:
    broken(100, errno.EIO)
    file._write(b"a long record\n")
    assert file.path.read_bytes() == b"there\na long record\n"


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_nothing_is_left_of_a_record_that_fails(
    file: AppendOnlyFile, broken: Break, writes: int
) -> None:
    broken(writes, errno.EIO)
    with pytest.raises(StoreError, match=r"cannot write .*x: no luck; what was kept is whole") as e:
        file._write(b"a long record\n")
    assert not isinstance(e.value, DiskFull)
    assert file.path.read_bytes() == b"there\n"


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT])
def test_a_want_of_room_is_told_apart(file: AppendOnlyFile, broken: Break, error: int) -> None:
    broken(1, error)
    with pytest.raises(DiskFull, match="no luck"):
        file._write(b"a long record\n")
    assert file.path.read_bytes() == b"there\n"


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot write .*: Is a directory"):
        AppendOnlyFile(tmp_path)


def test_lines_come_with_their_ends_and_a_torn_one_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"a\r\nb\rc\n\nto")
    assert list(read_lines(tmp_path / "x")) == [
        (3, b"a\r\n"),
        (7, b"b\rc\n"),
        (8, b"\n"),
        (10, b"to"),
    ]


def test_damage_is_told_by_the_number_of_its_line(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"one\ntwo\nthree\n")
    assert "x is damaged at line 2 (odd)" in str(damaged(tmp_path / "x", 8, "odd"))
    assert "x is damaged (odd)" in str(damaged(tmp_path / "x", None, "odd"))


@pytest.mark.parametrize(("text", "left"), [(b"", b""), (b"ha", b""), (b"a\nb\nha", b"a\nb\n")])
def test_half_a_line_is_dropped(tmp_path: Path, text: bytes, left: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(text)
    assert b"".join(line for _, line in whole_lines(path)) == left
    AppendOnlyFile(path)._drop_half_line()
    assert path.read_bytes() == left


def test_one_process_alone_writes(file: AppendOnlyFile) -> None:
    file._claim()
    with pytest.raises(StoreError, match="another process is writing .*x"):
        AppendOnlyFile(file.path)._claim()
