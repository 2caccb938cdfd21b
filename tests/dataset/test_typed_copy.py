"""The Parquet copy of a run's rows: what other readers make of it, and that it is current."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from infinite_rl import generate_dataset
from infinite_rl.dataset import load_dataset
from infinite_rl.dataset.parquet import COPY, is_current, keep_copy
from infinite_rl.dataset.rows import read, write
from infinite_rl.errors import StoreError
from infinite_rl.files.logs import ENCODING, ERRORS, csv_line
from infinite_rl.store import DATASET, DATASET_COLUMNS

parquet = pytest.importorskip("pyarrow.parquet")
TEXTS = ("NA", "null", "None", "nan", "", "007", "1.0", "True", "half \ud83d", 'a,b\r\n"c"', " x ")


def log_of(folder: Path, **columns: list[str]) -> list[dict[str, str]]:
    """A log in which each of the texts is a prompt and an answer."""
    rows = []
    for number, text in enumerate(TEXTS):
        row = dict.fromkeys(DATASET_COLUMNS, "")
        row |= {"type": "math", "prompt": text, "answer": text, "id": f"{number:03}"}
        row |= {"quality_score": "0.1", "seed": str(number), "pass_rate": "" if number else "0.25"}
        rows.append(row | {name: values[number % len(values)] for name, values in columns.items()})
    lines = [DATASET_COLUMNS, *([row[name] for name in DATASET_COLUMNS] for row in rows)]
    folder.mkdir(exist_ok=True)
    (folder / DATASET).write_bytes("".join(map(csv_line, lines)).encode(ENCODING, ERRORS))
    return rows


def as_log_row(row: Mapping[str, Any]) -> dict[str, str]:
    """A row of the copy as the log has it: the texts of its numbers, "" for null."""
    return {name: "" if value is None else str(value) for name, value in row.items()}


def test_the_log_can_be_made_of_the_copy(tmp_path: Path) -> None:
    rows = log_of(tmp_path)
    assert keep_copy(tmp_path) == tmp_path / COPY
    assert [as_log_row(row) for row in read(tmp_path / COPY)] == rows
    assert list(read(tmp_path)) == rows, "the folder's rows are those of the log, once"
    frame = load_dataset(tmp_path / COPY)
    assert frame["prompt"].tolist() == list(TEXTS)
    assert frame["quality_score"].dtype == float


@pytest.mark.parametrize("reader", ["pandas", "polars", "duckdb", "datasets"])
def test_other_readers_lose_nothing_by_their_defaults(
    tmp_path: Path, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = pytest.importorskip(reader)
    log_of(tmp_path)
    path = str(keep_copy(tmp_path))
    rows: list[dict[str, Any]]
    if reader == "pandas":
        rows = library.read_parquet(path).to_dict("records")
    elif reader == "polars":
        rows = library.read_parquet(path).to_dicts()
    elif reader == "duckdb":
        cursor = library.connect().execute(f"SELECT * FROM '{path}'")
        names = [each[0] for each in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    else:
        cache = str(tmp_path / "cache")
        given = {"data_files": path, "split": "train", "cache_dir": cache}
        rows = list(library.load_dataset("parquet", **given))
    texts = [text.replace("\ud83d", "\U0010f8ff\ue03d") for text in TEXTS]
    assert [row["prompt"] for row in rows] == [row["answer"] for row in rows] == texts
    assert [row["seed"] for row in rows] == list(range(len(TEXTS)))
    assert [row["quality_score"] for row in rows] == [0.1] * len(TEXTS)
    assert rows[0]["pass_rate"] == 0.25


@pytest.mark.parametrize("field", ["1", "1e3", "0.10", "many", "nan ", "1" * 400])
def test_a_column_of_other_texts_than_its_numbers_stays_text(tmp_path: Path, field: str) -> None:
    rows = log_of(tmp_path, cost=["0.5", field], fuel=["7"])
    keep_copy(tmp_path)
    schema = parquet.read_schema(tmp_path / COPY)
    assert (str(schema.field("cost").type), str(schema.field("fuel").type)) == ("string", "int64")
    assert [as_log_row(row) for row in read(tmp_path / COPY)] == rows


def test_a_run_ends_with_a_current_copy_and_resumes_from_the_log(tmp_path: Path) -> None:
    generate_dataset("m", 2, tmp_path, provider="procedural", task_dist="0,1")
    assert is_current(tmp_path)
    before = (tmp_path / COPY).stat().st_mtime_ns
    generate_dataset("m", 2, tmp_path, provider="procedural", task_dist="0,1")
    assert (tmp_path / COPY).stat().st_mtime_ns == before, "nothing is written anew for no new row"
    generate_dataset("m", 4, tmp_path, provider="procedural", task_dist="0,1")
    assert is_current(tmp_path)
    assert [as_log_row(row) for row in read(tmp_path / COPY)] == list(read(tmp_path / DATASET))
    assert len(list(read(tmp_path / COPY))) == 4


def test_a_copy_that_is_old_or_damaged_is_known_and_made_anew(tmp_path: Path) -> None:
    assert keep_copy(tmp_path) is None and not is_current(tmp_path)
    log_of(tmp_path)
    keep_copy(tmp_path)
    with (tmp_path / DATASET).open("ab") as file:
        file.write(csv_line(["math", *[""] * (len(DATASET_COLUMNS) - 1)]).encode())
    assert not is_current(tmp_path)
    keep_copy(tmp_path)
    assert is_current(tmp_path)
    (tmp_path / COPY).write_bytes(b"no parquet")
    assert not is_current(tmp_path)
    keep_copy(tmp_path)
    assert len(list(read(tmp_path / COPY))) == len(TEXTS) + 1
    (tmp_path / DATASET).write_bytes(b"foreign,columns\r\n")
    with pytest.raises(StoreError, match="was not written by this version"):
        keep_copy(tmp_path)


def test_a_parquet_file_without_prompts_is_refused_as_others_are(tmp_path: Path) -> None:
    write([{"a": 1}], tmp_path / "rows.parquet")
    with pytest.raises(Exception, match="no column 'prompt'"):
        load_dataset(tmp_path / "rows.parquet")
