"""Rows in and rows out, in every kind of file."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from infinite_rl.dataset.rows import id_of, read, read_some, sample_of, write
from infinite_rl.errors import StoreError, UsageError
from infinite_rl.store import DATASET_COLUMNS
from infinite_rl.types import Sample

KINDS = ["csv", "jsonl", "ndjson", "jsonl.gz", "json", "parquet"]
TEXTS = [
    *("", "007", "None", "nan", '"quoted", and\r\nbroken\n', "naïve 🧮 \x00", " spaced "),
    *("\r", "a\rb", "\ufeffx", "\x85\u2028", "x" * 200_000),
]
kinds = pytest.mark.parametrize("kind", KINDS)


def rows(count: int = 3) -> list[dict[str, Any]]:
    return [{"type": "math", "prompt": f"What is {n}?", "answer": str(n)} for n in range(count)]


def needs(kind: str) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow")


@kinds
def test_what_was_written_is_read_back_exactly(kind: str, tmp_path: Path) -> None:
    needs(kind)
    given = [{"type": "math", "prompt": text, "answer": text[::-1]} for text in TEXTS]
    if kind == "csv":
        given = [row for row in given if "\x00" not in row["prompt"]]
    path = tmp_path / "new" / f"rows.{kind}"
    assert write(iter(given), path) == len(given)
    assert list(read(path)) == list(read(str(path))) == given
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@kinds
def test_the_columns_are_all_that_some_row_has(kind: str, tmp_path: Path) -> None:
    needs(kind)
    path = tmp_path / f"rows.{kind}"
    count = 2_500  # more than a piece of a Parquet file
    given = ({"n": n} if n < count - 1 else {"n": n, "late": [1, 2]} for n in range(count))
    assert write(given, path) == count
    first, *_, last = read(path)
    assert str(first["n"]) == "0" and not first.get("late")
    assert last["late"] == ("[1, 2]" if kind == "csv" else [1, 2])


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv"])
def test_half_a_surrogate_pair_survives(kind: str, tmp_path: Path) -> None:
    given = [{"prompt": "half \ud83d"}]
    write(given, tmp_path / f"rows.{kind}")
    assert list(read(tmp_path / f"rows.{kind}")) == given


@kinds
def test_no_rows_are_no_error(kind: str, tmp_path: Path) -> None:
    needs(kind)
    assert write([], tmp_path / f"rows.{kind}") == 0
    assert list(read(tmp_path / f"rows.{kind}")) == []


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    write(rows(), path)

    def failing() -> Any:
        yield {"prompt": "new"}
        raise KeyError("in the middle")

    with pytest.raises(KeyError):
        write(failing(), path)
    assert list(read(path)) == rows() and [path] == list(tmp_path.iterdir())


def test_rows_can_be_written_over_the_file_that_they_come_from(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    write(rows(), path)
    write((row for row in read(path) if row["answer"] != "1"), path)
    assert [row["answer"] for row in read(path)] == ["0", "2"]


def test_the_folder_of_a_run_stands_for_its_data_set(tmp_path: Path) -> None:
    row = {**dict.fromkeys(DATASET_COLUMNS, ""), "prompt": "a\nb"}
    write([row], tmp_path / "dataset.csv")
    write([{"prompt": "no row"}], tmp_path / "failed_dataset.csv")
    assert list(read(tmp_path)) == [row]


def test_a_row_of_a_run_that_is_not_whole_yet_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "dataset.csv"
    write([{**dict.fromkeys(DATASET_COLUMNS, ""), "prompt": "whole"}], path)
    with path.open("a", encoding="utf-8") as file:
        file.write('math,"half a pro')
    assert [row["prompt"] for row in read(tmp_path)] == ["whole"]


def test_a_folder_of_data_files_is_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("data/train-1.jsonl", "data/train-0.csv"):
        write([{"name": name}], tmp_path / name)
    (tmp_path / "README.md").write_text("no rows")
    assert [row["name"] for row in read(tmp_path)] == ["data/train-0.csv", "data/train-1.jsonl"]


def test_of_a_folder_only_rows_are_read(tmp_path: Path) -> None:
    """No answers of a model, none that were rejected, no manifest of pinned files."""
    for name in ("a/dataset.csv", "a/failed_dataset.csv", "a/journal.jsonl", "a/shards/0/x.jsonl"):
        write([{"name": name}], tmp_path / name)
    for name in ("b.jsonl", "b.jsonl.calls/journal.jsonl", "b.jsonl.calls/rated.jsonl"):
        write([{"name": name}], tmp_path / name)
    write([{"name": "pinned"}], tmp_path / "c" / "val.jsonl")
    (tmp_path / "c" / "pinned.json").write_text("{}")
    (tmp_path / "d.jsonl").mkdir()
    (tmp_path / "c" / "round").symlink_to(tmp_path)
    assert [row["name"] for row in read(tmp_path)] == ["a/dataset.csv", "b.jsonl", "pinned"]


def test_a_source_may_have_to_hold_a_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    write([], path)
    with pytest.raises(UsageError, match=f"there is no row in {path}"):
        list(read_some(path))
    with pytest.raises(UsageError, match="there is no row in what is given"):
        list(read_some([]))
    assert list(read_some([{"a": 1}, {"a": 2}])) == [{"a": 1}, {"a": 2}]


def test_a_csv_begins_with_the_columns_that_are_named(tmp_path: Path) -> None:
    assert write([], tmp_path / "rows.csv", ["a", "b"]) == 0
    assert (tmp_path / "rows.csv").read_text() == "a,b\n"
    write([{"b": 1, "c": 2}], tmp_path / "rows.csv", ["a", "b"])
    assert (tmp_path / "rows.csv").read_text() == "a,b,c\n,1,2\n"


def test_a_foreign_csv_may_have_a_mark_of_its_encoding_and_no_last_line_end(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("\ufeffprompt,answer\r\nwhat?,7".encode())
    assert list(read(tmp_path / "a.csv")) == [{"prompt": "what?", "answer": "7"}]


def test_blank_lines_of_a_foreign_csv_are_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,b\n1,2\n\n3,4\n\n")
    assert [row["a"] for row in read(tmp_path / "a.csv")] == ["1", "3"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (float("nan"), "nan"),
        (True, "True"),
        (-0.0, "-0.0"),
        ({"a": [1, None, "x\n"]}, '{"a": [1, null, "x\\n"]}'),
        ("pair \ud83d\ude42 half \ude42", "pair 🙂 half \ude42"),
    ],
)
def test_a_csv_holds_texts(value: object, text: str, tmp_path: Path) -> None:
    write([{"a": value}], tmp_path / "rows.csv")
    assert list(read(tmp_path / "rows.csv")) == [{"a": text}]


@kinds
def test_a_file_that_cannot_be_read_is_no_fault_of_what_is_written(
    kind: str, tmp_path: Path
) -> None:
    needs(kind)
    (tmp_path / f"in.{kind}").symlink_to("/proc/self/mem")  # even root cannot read its beginning
    with pytest.raises(StoreError, match=f"in.{kind}"):
        write(read(tmp_path / f"in.{kind}"), tmp_path / "out.jsonl")


def test_objects_of_datasets_are_read() -> None:
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_list(rows())
    assert list(read(data)) == rows()
    both = datasets.DatasetDict(train=data, test=datasets.Dataset.from_list(rows(1)))
    assert [row["split"] for row in read(both)] == ["train"] * 3 + ["test"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", b"a,b\n1,2\n3\n", "a.csv is damaged at line 3: 1 fields instead of 2"),
        ("a.csv", b'a,b\n1,"2\n', "a.csv is damaged at line 2"),
        ("a.csv", b"a,b\n\xff,2\n", "a.csv is not UTF-8: byte 0xff, invalid start byte"),
        ("a.csv", b"a,b,a\n1,2,3\n", "a.csv is damaged at line 1: two columns are named 'a'"),
        ("a.jsonl", b'{"a": 1}\n{"a": \n', "a.jsonl is damaged at line 2"),
        ("a.jsonl", b"[1]\n", "line 1: .1. is no object"),
        ("a.jsonl.gz", b"plain", "a.jsonl.gz is damaged at line 1"),
        ("a.json", b'{"a": 1}', "it is no list of objects"),
        ("a.json", b"[1]", "1 is no object"),
        ("a.parquet", b"nothing of the kind", "a.parquet is damaged"),
    ],
)
def test_a_damaged_file_is_said_to_be_so(
    name: str, content: bytes, says: str, tmp_path: Path
) -> None:
    needs(name.rpartition(".")[2])
    (tmp_path / name).write_bytes(content)
    with pytest.raises(StoreError, match=says):
        list(read(tmp_path / name))


def test_what_cannot_be_read_or_written_is_the_callers_fault(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no .*nowhere"):
        list(read(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="the name of the rows is empty"):
        list(read(""))
    with pytest.raises(UsageError, match="no data file"):
        list(read(tmp_path))
    with pytest.raises(UsageError, match="no known kind"):
        write([], tmp_path / "rows.xlsx")
    endless: list[Any] = []
    endless.append(endless)
    for value in (object(), endless, 10**5_000):
        with pytest.raises(UsageError, match="cannot be written as JSON"):
            write([{"a": value}], tmp_path / "rows.jsonl")
    with pytest.raises(UsageError, match="column names must be strings, not 1, '1'"):
        write([{1: "a", "1": "b"}], tmp_path / "rows.csv")  # type: ignore[dict-item]
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot write"):
        write([], tmp_path / "file" / "rows.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ([1, "text"], "row 2 holds 'text' in 'a'"),
        ([1, None, 2.5, [3]], "row 4 holds [3] in 'a'"),
        ([[1], {"x": 1}], "row 2 holds {'x': 1} in 'a'"),
        ([*range(1_500), "late"], "row 1501 holds 'late' in 'a'"),
        ([["x", 1]], "row 1 holds ['x', 1] in 'a'"),
        (["fine", "\ud83d"], "row 2 holds '\\ud83d' in 'a'"),
        ([1, 2**70], f"row 2 holds {2**70} in 'a'"),
        ([{}], "struct type 'a'"),
    ],
)
def test_parquet_says_what_it_cannot_hold(cells: list[Any], says: str, tmp_path: Path) -> None:
    needs("parquet")
    given = [{"id": str(number), "a": cell} for number, cell in enumerate(cells)]
    with pytest.raises(UsageError, match="cannot be written as Parquet, but as .jsonl") as caught:
        write(given, tmp_path / "rows.parquet")
    assert says in str(caught.value) and not list(tmp_path.iterdir())
    assert write(given, tmp_path / "rows.jsonl") == len(given)


def test_a_row_is_a_sample_with_the_rest_as_metadata() -> None:
    row = {**rows(1)[0], "pass_rate": 0.5, "response": None}
    assert sample_of(row) == Sample("math", "What is 0?", "0", "")
    assert sample_of(row).metadata == {"pass_rate": 0.5}


def test_a_column_that_holds_nothing_is_not_listed_among_those_that_are_there() -> None:
    with pytest.raises(UsageError, match=r"no column 'answer' \(its columns: type, prompt\)"):
        sample_of({**rows(1)[0], "answer": None})


@pytest.mark.parametrize(("answer", "says"), [(None, "no column 'answer'"), ({7}, "as JSON")])
def test_a_row_without_what_a_sample_needs_is_refused(answer: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        sample_of({"type": "math", "prompt": "What?", "answer": answer})


def test_the_id_of_a_row_is_its_own_or_the_hash_of_its_content() -> None:
    row = rows(1)[0]
    assert id_of({**row, "id": "mine"}) == "mine" and id_of({**row, "id": 0}) == "0"
    assert id_of({**row, "id": ""}) == id_of({**row, "id": None}) == id_of(row)
    assert id_of(row) == sample_of(row).id


def test_a_csv_opens_in_other_programs(tmp_path: Path) -> None:
    write([{"a": 'x "y"\n', "b": None, "c": 1.5}], tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["a", "b", "c"], ['x "y"\n', "", "1.5"]]


@pytest.mark.parametrize("kind", ["jsonl", "json"])
def test_lists_without_end_are_damage(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{kind}"
    path.write_text("[" * 1_000_000)
    with pytest.raises(StoreError, match="damaged"):
        list(read(path))


def test_what_the_datasets_library_saved_is_read(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    made = datasets.Dataset.from_list(
        [{"prompt": "1+1", "answer": "2"}, {"prompt": "é", "answer": ""}]
    )
    made.save_to_disk(str(tmp_path / "one"))
    assert list(read(tmp_path / "one")) == list(made)
    datasets.DatasetDict({"train": made}).save_to_disk(str(tmp_path / "splits"))
    assert list(read(tmp_path / "splits")) == [{**row, "split": "train"} for row in made]
    for path in (tmp_path / "one").glob("*.arrow"):
        path.unlink()
    with pytest.raises(StoreError, match="cannot read .*one: FileNotFoundError"):
        list(read(tmp_path / "one"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("state.json", text) for text in ("[]", "null", "[" * 99_999, '{"_data_files": 5}')),
        ("dataset_info.json", "[]"),
        ("dataset_info.json", '{"features": {"a": {"_type": "Image"}}}'),
    ],
)
def test_a_saved_set_whose_files_are_none_is_one_clear_error(
    tmp_path: Path, name: str, text: str
) -> None:
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_list([{"a": 1}]).save_to_disk(str(tmp_path / "one"))
    (tmp_path / "one" / name).write_text(text)
    with pytest.raises(StoreError, match="cannot read .*one: "):
        list(read(tmp_path / "one"))


def test_a_saved_set_is_read_as_plain_values_whatever_format_it_asks_for(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    made = datasets.Dataset.from_list([{"a": 1}]).with_format("numpy")
    made.save_to_disk(str(tmp_path / "one"))
    (row,) = read(tmp_path / "one")
    assert type(row["a"]) is int
