"""Append-only files: a record is there whole or not at all, a CSV row is read as it was written."""

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infinite_rl.errors import DiskFull, StoreError
from infinite_rl.files.atomic import locked
from infinite_rl.files.logs import (
    AppendOnlyFile,
    CsvLog,
    damaged,
    read_lines,
    read_rows,
    whole_lines,
)


class Failing:
    """A file that takes three bytes per write, and after so many writes fails."""

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
    whole = file._file
    return lambda writes, error: monkeypatch.setattr(file, "_file", Failing(whole, writes, error))


def test_one_process_writes_a_file_until_it_closes_it(file: AppendOnlyFile) -> None:
    file._lock_file()
    with pytest.raises(StoreError, match="another process is writing .*x"):
        AppendOnlyFile(file.path)._lock_file()
    copy = os.dup(file._file.fileno())  # as a forked process has until it runs its program
    file.close()
    AppendOnlyFile(file.path)._lock_file()
    file.close()  # again does nothing
    os.close(copy)


def test_one_process_writes_a_folder_within_the_block(tmp_path: Path) -> None:
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
    """The file descriptors of a file that this process has open."""
    there = path.stat()
    found = []
    for number in range(3, 1000):
        with suppress(OSError):
            if os.path.samestat(os.fstat(number), there):
                found.append(number)
    return found


def test_a_record_is_appended_and_its_offset_returned(file: AppendOnlyFile, broken: Break) -> None:
    assert (file._write(b"one\n"), file._write(b"two\n")) == (6, 10)
    broken(100, errno.EIO)
    file._write(b"a long record\n")  # which the system takes in pieces
    assert file.path.read_bytes() == b"there\none\ntwo\na long record\n"


def test_nothing_is_left_of_a_record_that_fails(file: AppendOnlyFile, broken: Break) -> None:
    said = "cannot write .*x: no luck; the records before are complete"
    for writes in (0, 1, 2):
        for error in (errno.EIO, errno.ENOSPC, errno.EDQUOT):
            broken(writes, error)
            with pytest.raises(StoreError, match=said) as caught:
                file._write(b"a long record\n")
            assert isinstance(caught.value, DiskFull) == (error != errno.EIO)
            assert file.path.read_bytes() == b"there\n"


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot write .*: Is a directory"):
        AppendOnlyFile(tmp_path)


def test_lines_come_with_their_ends_and_a_torn_one_can_be_dropped(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a\r\nb\rc\n\nto")
    assert list(read_lines(path)) == [(3, b"a\r\n"), (7, b"b\rc\n"), (8, b"\n"), (10, b"to")]
    for text, left in ((b"", b""), (b"ha", b""), (b"a\nb\nha", b"a\nb\n")):
        path.write_bytes(text)
        assert b"".join(line for _, line in whole_lines(path)) == left
        AppendOnlyFile(path)._drop_torn_line()
        assert path.read_bytes() == left


def test_damage_is_reported_with_the_number_of_its_line(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"one\ntwo\nthree\n")
    assert "x is damaged at line 2 (odd)" in str(damaged(tmp_path / "x", 8, "odd"))
    assert "x is damaged (odd)" in str(damaged(tmp_path / "x", None, "odd"))


# --- rows of CSV ---------------------------------------------------------------------------------
@given(st.lists(st.text(), min_size=2, max_size=2))
@settings(max_examples=200, deadline=None)
def test_any_unicode_survives(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    log = CsvLog(path, ("a", "b"))
    assert list(log.recover("a", "b")) == []
    row = dict(zip("ab", (text.replace("\0", "") for text in texts), strict=True))
    log.append(row)
    log.append(row)
    log.close()
    assert list(read_rows(path)) == [row, row]


@pytest.mark.parametrize("torn", ["math,", 'math,"12\n', ""])
def test_a_torn_last_row_is_left_out_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, torn: str
) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(f"type,answer\r\nmath,1\r\n{torn}".encode())
    assert list(read_rows(path)) == [{"type": "math", "answer": "1"}]
    said = f"{path} ends in half a row, which is skipped"
    assert caplog.messages == ([said] if torn else [])


def test_an_earlier_versions_column_is_read_and_grown_by_its_new_name(tmp_path: Path) -> None:
    path, later = tmp_path / "log.csv", {"recall": "score", "extra": ""}
    columns = ("name", "recall", "count", "extra")
    path.write_text("name,score,count\na,0.5,1\n")
    assert list(read_rows(path, columns, later)) == [
        {"name": "a", "recall": "0.5", "count": "1", "extra": ""}
    ]
    log = CsvLog(path, columns, later)
    assert list(log.recover("name", "recall")) == [("a", "0.5")]
    log.append({"name": "b", "recall": "1.0", "count": "2", "extra": "x"})
    log.close()
    assert path.read_text().split() == ["name,recall,count,extra", "a,0.5,1,", "b,1.0,2,x"]
    path.write_text("name,score,count,extra\na,0.5,1,y\n")  # nothing is missing: the header stays
    log = CsvLog(path, columns, later)
    assert list(log.recover("name", "extra")) == [("a", "y")]
    log.append({"name": "b", "recall": "1.0", "count": "2", "extra": "x"})
    log.close()
    assert [row["recall"] for row in read_rows(path, columns, later)] == ["0.5", "1.0"]
