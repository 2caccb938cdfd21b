"""Rows in and rows out, in every kind of file."""

import csv
from datetime import datetime, timezone
from decimal import Decimal
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from labelled import assert_none, unlike

from infinite_rl.dataset import load_dataset
from infinite_rl.dataset.rows import id_of, read, read_some, sample_of, write
from infinite_rl.dataset.scoring import score_file
from infinite_rl.errors import StoreError, UsageError
from infinite_rl.store import DATASET_COLUMNS
from infinite_rl.types import Sample

KINDS = ["csv", "csv.gz", "jsonl", "ndjson", "jsonl.gz", "json"]
KINDS += ["parquet"] if find_spec("pyarrow") else []
TEXTS = [
    *("", "007", "None", "nan", '"quoted", and\r\nbroken\n', "naïve 🧮", " spaced "),
    *("\r", "a\rb", "\ufeffx", "\x85\u2028", "x" * 200_000),
    *("\x00", "half \ud83d"),  # not in each kind of file
]
kinds = pytest.mark.parametrize("kind", KINDS)


def rows(count: int = 3) -> list[dict[str, Any]]:
    return [{"type": "math", "prompt": f"What is {n}?", "answer": str(n)} for n in range(count)]


@kinds
def test_what_was_written_is_read_back_exactly(kind: str, tmp_path: Path) -> None:
    texts = [text for text in TEXTS if text != "\x00" or not kind.startswith("csv")]
    items = [{"type": "math", "prompt": text, "answer": text[::-1]} for text in texts]
    path = tmp_path / "new" / f"rows.{kind}"
    assert write(iter(items), path) == len(items)
    assert list(read(path)) == list(read(str(path))) == items
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    before = path.read_bytes()
    write(items, path)
    assert path.read_bytes() == before, "the same rows give the same bytes"


@kinds
def test_columns_are_all_that_some_row_has_and_no_rows_no_error(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{kind}"
    count = 2_500  # more than a piece of a Parquet file
    items = ({"n": n} if n < count - 1 else {"n": n, "late": [1, 2]} for n in range(count))
    assert write(items, path) == count
    first, *_, last = read(path)
    assert str(first["n"]) == "0" and not first.get("late")
    assert last["late"] == ("[1, 2]" if kind.startswith("csv") else [1, 2])
    assert write([], path) == 0 and list(read(path)) == []


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    write(rows(), path)

    def failing() -> Any:
        yield {"prompt": "new"}
        raise KeyError("in the middle")

    with pytest.raises(KeyError):
        write(failing(), path)
    assert list(read(path)) == rows() and [path] == list(tmp_path.iterdir())
    write((row for row in read(path) if row["answer"] != "1"), path)
    assert [row["answer"] for row in read(path)] == ["0", "2"], "over the file they come from"


def test_the_folder_of_a_run_is_its_data_set_without_an_incomplete_row(tmp_path: Path) -> None:
    row = {**dict.fromkeys(DATASET_COLUMNS, ""), "prompt": "a\nb"}
    write([row], tmp_path / "dataset.csv")
    write([{"prompt": "no row"}], tmp_path / "failed_dataset.csv")
    with (tmp_path / "dataset.csv").open("a", encoding="utf-8") as file:
        file.write('math,"half a pro')
    assert list(read(tmp_path)) == [row]


def test_of_a_folder_only_rows_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    """No answers of a model, none that were rejected, no manifest of pinned files."""
    for name in (
        *("a/dataset.csv", "a/failed_dataset.csv", "a/journal.jsonl", "a/shards/0/x.jsonl"),
        *("b.jsonl", "b.jsonl.calls/journal.jsonl", "b.jsonl.calls/rated.jsonl", "c/val.jsonl"),
        *("e/train-1.jsonl", "e/train-0.csv"),
    ):
        write([{"name": name}], tmp_path / name)
    (tmp_path / "c" / "pinned.json").write_text("{}")
    (tmp_path / "d.jsonl").mkdir()
    (tmp_path / "c" / "round").symlink_to(tmp_path)
    (tmp_path / "e" / "README.md").write_text("no rows")
    assert [row["name"] for row in read(tmp_path)] == [
        *("a/dataset.csv", "b.jsonl", "c/val.jsonl", "e/train-0.csv", "e/train-1.jsonl")
    ]


def test_a_source_may_have_to_hold_a_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    write([], path)
    with pytest.raises(UsageError, match=f"there is no row in {path}"):
        list(read_some(path))
    with pytest.raises(UsageError, match="there is no row in what is given"):
        list(read_some([]))
    assert list(read_some([{"a": 1}, {"a": 2}])) == [{"a": 1}, {"a": 2}]


def test_a_csv_holds_texts_under_its_columns_and_is_read_as_others_write_it(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    for made, text in (([], "a,b\n"), ([{"b": 1, "c": 2}], "a,b,c\n,1,2\n")):
        assert write(made, path, ["a", "b"]) == len(made)
        assert path.read_text() == text
    for value, text in (
        (None, ""),
        (float("nan"), "nan"),
        (True, "True"),
        (-0.0, "-0.0"),
        ({"a": [1, None, "x\n"]}, '{"a": [1, null, "x\\n"]}'),
        ("pair \ud83d\ude42 half \ude42", "pair 🙂 half \ude42"),
    ):
        write([{"a": value}], path)
        assert list(read(path)) == [{"a": text}]
    write([{"a": 'x "y"\n', "b": None, "c": 1.5}], path)
    with path.open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["a", "b", "c"], ['x "y"\n', "", "1.5"]]
    path.write_bytes("\ufeffprompt,answer\r\nwhat?,7".encode())
    assert list(read(path)) == [{"prompt": "what?", "answer": "7"}]
    path.write_bytes(b"a,b\n1,2\n\n3,4\n\n")
    assert [row["a"] for row in read(path)] == ["1", "3"]


@kinds
def test_an_unreadable_file_is_no_fault_of_what_is_written(kind: str, tmp_path: Path) -> None:
    (tmp_path / f"in.{kind}").symlink_to("/proc/self/mem")  # even root cannot read its beginning
    with pytest.raises(StoreError, match=f"in.{kind}"):
        write(read(tmp_path / f"in.{kind}"), tmp_path / "out.jsonl")


def test_a_damaged_file_is_said_to_be_so(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for name, content, says in (
        ("a.csv", b"a,b\n1,2\n3\n", "a.csv is damaged at line 3: 1 fields instead of 2"),
        ("a.csv", b'a,b\n1,"2\n', "a.csv is damaged at line 2"),
        ("a.csv", b"a,b\n\xff,2\n", "a.csv is not UTF-8: byte 0xff, invalid start byte"),
        ("a.csv", b"a,b,a\n1,2,3\n", "a.csv is damaged at line 1: two columns are named 'a'"),
        (
            "a.jsonl",
            b'{"a": 1}\n{"a": \n',
            "a.jsonl is damaged at line 2: Expecting value .character 8.$",
        ),
        ("a.jsonl", b"[1]\n", "line 1: .1. is no object"),
        ("a.jsonl", b"[" * 1_000_000, "damaged"),
        ("a.jsonl.gz", b"plain", "a.jsonl.gz is damaged at line 1"),
        ("a.csv.gz", b"plain", "a.csv.gz is damaged at line 1"),
        ("a.json", b'{"a": 1}', "it is no list of objects"),
        ("a.json", b"[1]", "1 is no object"),
        ("a.json", b"[" * 1_000_000, "damaged"),
        ("a.parquet", b"nothing of the kind", "a.parquet is damaged"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(StoreError, match=says):
            list(read(tmp_path / name))


def test_dates_and_decimals_of_a_parquet_file_are_exact_texts(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    at, price = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc), Decimal("18.50")
    table = {
        "type": ["math"],
        "prompt": ["?"],
        "answer": [price],
        "response": ["<answer>18.5</answer>"],
    }
    path = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.table({**table, "at": [at], "day": [at.date()]}), path)
    texts = {"answer": "18.50", "at": "2026-01-02T03:04:05+00:00", "day": "2026-01-02"}
    for name in ("out.jsonl", "out.json", "out.csv", "out.parquet"):
        write(read(path), tmp_path / name)
        (row,) = read(tmp_path / name)
        assert {column: row[column] for column in texts} == texts, name
    score_file(path, tmp_path / "scored.jsonl")
    assert [row["status"] for row in read(tmp_path / "scored.jsonl")] == ["passed"]


def test_a_value_without_json_is_named_by_its_row_and_column(tmp_path: Path) -> None:
    for name in ("rows.jsonl", "rows.json", "rows.csv"):
        with pytest.raises(UsageError, match="row 2 cannot be written as JSON: 'b' holds b'x'"):
            write([{"a": 1, "b": ""}, {"a": 1, "b": b"x"}], tmp_path / name)


def test_what_cannot_be_read_or_written_is_the_callers_fault(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    endless: list[Any] = []
    endless.append(endless)
    read_all = [
        ("there is no .*nowhere", tmp_path / "nowhere"),
        ("the name of the rows is empty", ""),
        ("storage fetch` brings it", "s3://bucket/rows.parquet"),
        ("storage fetch` brings it", Path("s3://bucket/rows.parquet")),
        ("no data file", tmp_path / "empty"),
        ("is of no known kind", tmp_path / "file"),
    ]
    written: list[tuple[str, list[dict[Any, Any]], str]] = [
        ("UsageError: .*no known kind", [], "rows.xlsx"),
        *(
            ("UsageError: .*cannot be written as JSON", [{"a": value}], "rows.jsonl")
            for value in (object(), endless, 10**5_000)
        ),
        ("column names must be strings, not 1, '1'", [{1: "a", "1": "b"}], "rows.csv"),
        ("StoreError: cannot write", [], "file/rows.csv"),
    ]
    calls = [
        (says, partial(lambda source: list(read(source)), source)) for says, source in read_all
    ]
    calls += [(says, partial(write, made, tmp_path / name)) for says, made, name in written]  # type: ignore[misc]
    assert_none(unlike(calls))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "file"]


def test_the_names_of_hive_partitions_are_columns(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"prompt": ["a", "b", "c"], "type": ["x/y", "math", None]})
    parquet.write_to_dataset(table, tmp_path / "parts", partition_cols=["type"])
    expected = {"a": "x/y", "b": "math", "c": None}
    assert {row["prompt"]: row["type"] for row in read(tmp_path / "parts")} == expected
    frame = load_dataset(tmp_path / "parts")
    assert dict(zip(frame["prompt"], frame["type"], strict=True)) == expected


def test_files_of_rows_that_lie_unread_in_the_folder_of_a_run_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write([{"a": "1"}], tmp_path / "dataset.csv")
    for name in ("run.json", "failed_dataset.csv", "dataset.parquet", "notes.md"):
        (tmp_path / name).touch()
    assert list(read(tmp_path)) == [{"a": "1"}] and not caplog.messages
    for name in ("train.jsonl", "test.jsonl"):
        (tmp_path / name).touch()
    assert list(read(tmp_path)) == [{"a": "1"}]
    says = f"{tmp_path}: only dataset.csv is read, not test.jsonl, train.jsonl"
    assert caplog.messages == [says]


def test_parquet_gives_back_halves_of_surrogate_pairs_that_others_read_past(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = [
        "half \ud83d of a pair",
        "\udfff\ud800",
        "🙂",
        "\U0010f8ff",
        "\U0010f8ff\ue03d",
        "\ue03d",
    ]
    texts += ["\U0010f8ff\U0010f8ff\ud83d", "\\ud83d", ""]
    table = [{"prompt": text, "nested": [{"x": text}], "n": n} for n, text in enumerate(texts)]
    write(table, path := tmp_path / "rows.parquet")
    assert list(read(path)) == table
    frame = load_dataset(path)
    assert frame["prompt"].tolist() == texts
    assert frame["nested"].tolist() == [row["nested"] for row in table]
    raw = parquet.read_table(path)["prompt"].to_pylist()
    assert raw[0] == "half \U0010f8ff\ue03d of a pair" and raw[2] == "🙂"
    # In a file of somebody else these characters mean themselves.
    pyarrow = pytest.importorskip("pyarrow")
    parquet.write_table(pyarrow.table({"prompt": raw}), path)
    assert [row["prompt"] for row in read(path)] == raw


def test_parquet_says_what_it_cannot_hold(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    columns: tuple[tuple[list[Any], str], ...] = (
        ([1, "text"], "row 2 holds 'text' in 'a'"),
        ([1, None, 2.5, [3]], "row 4 holds [3] in 'a'"),
        ([[1], {"x": 1}], "row 2 holds {'x': 1} in 'a'"),
        ([*range(1_500), "late"], "row 1501 holds 'late' in 'a'"),
        ([["x", 1]], "row 1 holds ['x', 1] in 'a'"),
        ([1, 2**70], f"row 2 holds {2**70} in 'a'"),
        ([{}], "struct type 'a'"),
    )
    for cells, says in columns:
        table = [{"id": str(number), "a": cell} for number, cell in enumerate(cells)]
        with pytest.raises(UsageError, match="cannot be written as Parquet, but as .json") as error:
            write(table, tmp_path / "rows.parquet")
        assert says in str(error.value) and not list(tmp_path.glob("*.parquet"))
        assert write(table, tmp_path / "rows.jsonl") == len(table)


def test_a_row_is_a_sample_with_the_rest_as_metadata_and_has_an_id() -> None:
    row = {**rows(1)[0], "pass_rate": 0.5, "response": None}
    assert sample_of(row) == Sample("math", "What is 0?", "0", "")
    assert sample_of(row).metadata == {"pass_rate": 0.5}
    with pytest.raises(UsageError, match=r"no column 'answer' \(its columns: type, prompt\)"):
        sample_of({**rows(1)[0], "answer": None})
    with pytest.raises(UsageError, match="as JSON"):
        sample_of({**rows(1)[0], "answer": {7}})
    row = rows(1)[0]
    assert id_of({**row, "id": "mine"}) == "mine" and id_of({**row, "id": 0}) == "0"
    assert id_of({**row, "id": ""}) == id_of({**row, "id": None}) == id_of(row)
    assert id_of(row) == sample_of(row).id


def test_what_the_datasets_library_holds_or_saved_is_read(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    given = [{"prompt": "1+1", "answer": "2", "n": 1}, {"prompt": "é", "answer": "", "n": 2}]
    made = datasets.Dataset.from_list(given)
    both = datasets.DatasetDict(train=made, test=datasets.Dataset.from_list(given[:1]))
    splits = [{**row, "split": "train"} for row in given] + [{**given[0], "split": "test"}]
    made.with_format("numpy").save_to_disk(str(tmp_path / "one"))
    both.save_to_disk(str(tmp_path / "both"))
    assert list(read(made)) == list(read(tmp_path / "one")) == given
    assert list(read(both)) == list(read(tmp_path / "both")) == splits
    assert type(next(read(tmp_path / "one"))["n"]) is int, "plain values in any format"
    for path in (tmp_path / "one").glob("*.arrow"):
        path.unlink()
    with pytest.raises(StoreError, match="cannot read .*one: FileNotFoundError"):
        list(read(tmp_path / "one"))


def test_a_damaged_saved_set_is_one_clear_error(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    for number, (name, text) in enumerate(
        [
            *(("state.json", text) for text in ("[]", "null", "[" * 99_999, '{"_data_files": 5}')),
            ("dataset_info.json", "[]"),
            ("dataset_info.json", '{"features": {"a": {"_type": "Image"}}}'),
        ]
    ):
        folder = tmp_path / str(number)
        datasets.Dataset.from_list([{"a": 1}]).save_to_disk(str(folder))
        (folder / name).write_text(text)
        with pytest.raises(StoreError, match=f"cannot read .*{number}: "):
            list(read(folder))
