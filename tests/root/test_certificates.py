"""A row's certificate: signed as a whole, written before its row, and read back by its id."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from infinite_rl.certificates import (
    CERTIFICATES,
    CertificateIndex,
    Solver,
    TestStrength,
    changed_field,
    digest_of_all,
    in_words,
    signed,
)
from infinite_rl.errors import StoreError
from infinite_rl.files.logs import read_rows
from infinite_rl.store import DATASET, Store
from infinite_rl.tasks import TASKS
from infinite_rl.types import Attempt, Completion, Outcome, RewardFunctionScore, Sample, Slot

TESTIMONY = {
    "provider": "GeminiProvider",
    "solvers": [Solver("solver", "a-solver", 4, 3)],
    "self_test": {"killed": 5, "total": 5, "passed_equivalents": 2, "total_equivalents": 2},
    "tests": TestStrength(40, 39, 1, 7),
    "agreement": "0.75",
    "reward": "math",
    "reward_version": "5",
}


def outcome(index: int, certificate: Mapping[str, Any] = TESTIMONY) -> Outcome:
    attempt = Attempt(Slot("math", index), TASKS["math"], "request", 1)
    sample = Sample("math", f"{index} + 3?", str(index + 3), "r")
    score = RewardFunctionScore(1.0, 1.0, status="passed")
    completion = Completion("raw", "a-model")
    return Outcome(attempt, sample, score, completion, certificate=certificate)


def fill(folder: Path, *indices: int) -> list[dict[str, Any]]:
    with Store(folder) as store:
        for index in indices:
            assert store.append(outcome(index)).accepted
    return [json.loads(line) for line in (folder / CERTIFICATES).read_text("ascii").splitlines()]


def ids(folder: Path) -> list[str]:
    return [row["id"] for row in read_rows(folder / DATASET)]


def test_a_certificate_has_its_rows_columns_and_what_has_none(tmp_path: Path) -> None:
    (record,) = fill(tmp_path, 1)
    (row,) = read_rows(tmp_path / DATASET)
    columns = {name: text for name, text in row.items() if text}
    texts = {name: columns.pop(name) for name in ("prompt", "answer", "response")}
    assert columns.items() <= record.items() and not texts.keys() & record.keys()
    solver = {"role": "solver", "model": "a-solver", "attempts": 4, "matched": 3}
    assert record["solvers"] == [solver] and record["tests"]["killed"] == 39
    assert changed_field(record) == "" and record["infinite_rl"] and record["wasmtime"]
    words = in_words(record)
    for text in ("a-model through GeminiProvider", "4 times, and agrees 3", "39 of 40 mutants"):
        assert text in words


def test_each_changed_field_is_named(tmp_path: Path) -> None:
    (record,) = fill(tmp_path, 1)
    for name in record.keys() - {"checks", "digest"}:
        assert changed_field({**record, name: "another"}) == name
        assert changed_field(signed({**record, name: "another"})) == ""
        assert changed_field({key: record[key] for key in record if key != name})
    assert changed_field({**record, "more": 1}) == "checks"
    assert changed_field({**record, "digest": "0"}) == "digest"
    assert "was changed" in in_words({**record, "model": "another"})


def test_a_certificate_without_its_row_is_removed_when_the_folder_is_opened(tmp_path: Path) -> None:
    records = fill(tmp_path, 1, 2, 3)
    path, data = tmp_path / CERTIFICATES, tmp_path / DATASET
    whole, rows = path.read_bytes(), data.read_bytes()
    last = rows.rindex(b"\n", 0, -1) + 1
    for cut in (last, last + 9):  # killed before the row, and within it
        path.write_bytes(whole)
        data.write_bytes(rows[:cut])
        Store(tmp_path).__exit__()
        assert path.read_bytes() == whole[: whole.rindex(b"\n", 0, -1) + 1]
    path.write_bytes(whole + b'{"id": "half')
    data.write_bytes(rows)
    assert fill(tmp_path) == records, "and half a line"
    data.write_bytes(rows[: rows.index(b"\n") + 1])
    assert fill(tmp_path) == []


def test_no_certificate_stays_for_a_row_that_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: object) -> None:
        raise StoreError("the disk is full")

    with Store(tmp_path) as store:
        store.append(outcome(1))
        before = (tmp_path / CERTIFICATES).read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(store._accepted, "append", full)
            with pytest.raises(StoreError, match="full"):
                store.append(outcome(2))
        assert (tmp_path / CERTIFICATES).read_bytes() == before
        store.append(outcome(3))
    index = CertificateIndex(tmp_path)
    assert all(map(index.take, ids(tmp_path))) and index.surplus == []


def test_rows_of_an_earlier_version_have_none_and_later_ones_do(tmp_path: Path) -> None:
    fill(tmp_path, 1, 2)
    (tmp_path / CERTIFICATES).unlink()
    assert len(fill(tmp_path, 3)) == 1
    index = CertificateIndex(tmp_path)
    assert [bool(index.take(row_id)) for row_id in ids(tmp_path)] == [False, False, True]


def test_a_row_of_another_store_brings_its_certificate(tmp_path: Path) -> None:
    (record,) = fill(tmp_path / "shard", 1)
    (row,) = read_rows(tmp_path / "shard" / DATASET)
    with Store(tmp_path / "whole") as store:
        store.take(row, record)
        store.take({**row, "slot": "math/9/0/0"}, record)  # its prompt is there
    assert fill(tmp_path / "whole") == [record]


def test_the_index_names_what_no_row_asks_for(tmp_path: Path) -> None:
    one, two = fill(tmp_path, 1, 2)
    with (tmp_path / CERTIFICATES).open("a") as file:
        file.write(json.dumps(two) + "\n")
    index = CertificateIndex(tmp_path)
    assert index.take(two["id"]) == two and index.take("another") is None
    assert index.surplus == [one["id"], two["id"]]
    (tmp_path / CERTIFICATES).write_text("[]\n")
    with pytest.raises(StoreError, match="damaged at line 1"):
        CertificateIndex(tmp_path)


def test_the_digest_of_all_is_that_of_a_prefix_too(tmp_path: Path) -> None:
    assert digest_of_all(tmp_path)["count"] == 0
    fill(tmp_path, 1)
    one = digest_of_all(tmp_path)
    fill(tmp_path, 2)
    assert digest_of_all(tmp_path, one["bytes"]) == one != digest_of_all(tmp_path)
