"""CSV files that only grow: what is appended is read back as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infinite_rl.files.logs import CsvLog, read_rows


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


def test_a_column_of_an_earlier_version_is_read_and_grown_by_its_name_of_today(
    tmp_path: Path,
) -> None:
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
