"""GSM8K pinned: the same bytes for the same seed, disjoint sides, and no change unnoticed."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from infinite_rl import cli
from infinite_rl.dataset.checksums import MANIFEST, check
from infinite_rl.dataset.loaders import FILES, load, pin_gsm8k
from infinite_rl.dataset.rows import Row, read, write
from infinite_rl.errors import StoreError, UsageError

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "gsm8k"


def item(number: int, words: str = "What is {} + 1?") -> Row:
    return {"question": words.replace("{}", str(number)), "answer": f"So.\n#### {number + 1}"}


def published(folder: Path, train: list[Row] | None = None) -> Path:
    write(train or [item(n) for n in range(40)], folder / "train.jsonl")
    write([item(n) for n in range(100, 110)], folder / "test.jsonl")
    return folder


def made(folder: Path, **more: int) -> dict[str, list[Row]]:
    source = folder / "published"
    if not source.exists():
        published(source)
    pin_gsm8k(folder / "out", str(source), **{"validation": 8, **more})
    return {name: list(read(folder / "out" / name)) for name in FILES}


def test_validation_is_carved_from_train_and_nothing_is_lost(tmp_path: Path) -> None:
    train, val, test = made(tmp_path).values()
    assert (len(train), len(val), len(test)) == (32, 8, 10)
    assert {*train[0]} == {"question", "answer", "id"}
    assert {row["question"] for row in train + val} == {item(n)["question"] for n in range(40)}
    assert [row["answer"] for row in test] == [item(n)["answer"] for n in range(100, 110)]
    assert len({row["id"] for row in train + val + test}) == 50


def test_the_same_seed_draws_the_same_questions_in_whatever_order_they_come(tmp_path: Path) -> None:
    first = made(tmp_path / "a")["val.jsonl"]
    rows = [item(n) for n in range(40)]
    random.Random(0).shuffle(rows)
    published(tmp_path / "b" / "published", rows)
    second = made(tmp_path / "b")["val.jsonl"]
    other = made(tmp_path / "c", seed=1)["val.jsonl"]
    ids = [{row["id"] for row in rows} for rows in (first, second, other)]
    assert ids[0] == ids[1] != ids[2]


def test_an_id_says_the_content_and_nothing_of_the_place(tmp_path: Path) -> None:
    rows = [row for side in made(tmp_path).values() for row in side]
    published(tmp_path / "published", [item(0), {**item(1), "answer": "#### 3"}, item(2), item(3)])
    pin_gsm8k(tmp_path / "other", str(tmp_path / "published"), validation=0)
    ids = {row["question"]: row["id"] for row in rows}
    found = {row["question"]: row["id"] for row in read(tmp_path / "other" / "train.jsonl")}
    same = {question for question in found if found[question] == ids[question]}
    assert same == {item(n)["question"] for n in (0, 2, 3)}


def test_a_question_is_on_one_side_and_there_once(tmp_path: Path) -> None:
    twice = [item(7), item(7, "what IS  {} + 1 ?"), item(100, "What is **{}** + 1?")]
    published(tmp_path / "published", [*(item(n) for n in range(9)), *twice])
    train, val, test = made(tmp_path).values()
    assert (len(train) + len(val), len(test)) == (9, 10)


def test_made_again_it_is_unchanged(tmp_path: Path) -> None:
    made(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    made(tmp_path)
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    assert len(before) == 4
    assert check(tmp_path / "out").rows == {"train.jsonl": 32, "val.jsonl": 8, "test.jsonl": 10}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_has_changed_is_refused(name: str, tmp_path: Path) -> None:
    made(tmp_path)
    path = tmp_path / "out" / name
    path.write_bytes(path.read_bytes().replace(b"So.", b"So!", 1))
    for use in (
        lambda: check(tmp_path / "out"),
        lambda: pin_gsm8k(tmp_path / "out", str(tmp_path / "published"), validation=8),
        lambda: load("gsm8k", path),
    ):
        with pytest.raises(StoreError, match=f"{name} is not what was pinned: its SHA-256 begins"):
            use()
    pin_gsm8k(tmp_path / "out", str(tmp_path / "published"), validation=8, overwrite=True)
    check(tmp_path / "out")


def test_a_folder_that_is_not_what_it_was_is_refused(tmp_path: Path) -> None:
    made(tmp_path)
    published(tmp_path / "published", [item(n) for n in range(1, 41)])
    with pytest.raises(StoreError, match="pins other rows than .*: --overwrite pins these"):
        made(tmp_path)
    check(tmp_path / "out")  # the folder itself is unchanged
    (tmp_path / "out" / "val.jsonl").unlink()
    with pytest.raises(StoreError, match=r"val\.jsonl cannot be read"):
        check(tmp_path / "out")
    for text in ("", "{}", "[]", '{"sha256": {"../../x": ""}}', "\0"):
        (tmp_path / "out" / MANIFEST).write_text(text)
        with pytest.raises(StoreError, match=rf"{MANIFEST} is damaged: [^\n]*$"):
            check(tmp_path / "out")
    (tmp_path / "out" / MANIFEST).unlink()  # as a run that was killed leaves it
    with pytest.raises(StoreError, match="was not finished: .* --overwrite"):
        made(tmp_path)


def test_no_question_left_for_training_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="40 questions: 40 for validation are too many"):
        made(tmp_path, validation=40)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("source", "uris"),
    [
        ("", ["hf:openai/gsm8k:main:train", "hf:openai/gsm8k:main:test"]),
        ("hf:mine/gsm8k", ["hf:mine/gsm8k:train", "hf:mine/gsm8k:test"]),
        ("s3://rows/gsm8k/", ["s3://rows/gsm8k/train.jsonl", "s3://rows/gsm8k/test.jsonl"]),
    ],
)
def test_the_hub_and_s3_are_asked_for_both_splits(
    source: str, uris: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[str] = []
    published(tmp_path)

    def fetch(uri: str) -> Path:
        fetched.append(uri)
        return tmp_path / ("train.jsonl" if "train" in uri else "test.jsonl")

    monkeypatch.setattr("infinite_rl.dataset.loaders.fetch", fetch)
    assert pin_gsm8k(tmp_path / "out", source, validation=1).rows["train.jsonl"] == 39
    assert fetched == uris


def test_pinned_rows_keep_their_ids_and_sides_as_rows_of_the_benchmark(tmp_path: Path) -> None:
    val = made(tmp_path)["val.jsonl"]
    rows = list(load("gsm8k", tmp_path / "out" / "val.jsonl"))
    assert [row["id"] for row in rows] == [f"gsm8k-{row['id']}" for row in val]
    assert {row["split"] for row in rows} == {"validation"}


def test_the_verb_pins_and_sees_that_nothing_has_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published(tmp_path)
    out = tmp_path / "artifacts" / "gsm8k"
    words = ["data", "load", "gsm8k", "--pin", "--path", str(tmp_path), "--seed", "42"]
    words += ["-o", str(out), "--validation", "8"]
    for _ in range(2):
        assert cli.main(words) == 0
        said = capsys.readouterr().out
        assert said == (f"rows pinned: train.jsonl: 32, val.jsonl: 8, test.jsonl: 10, in {out}\n")
    assert json.loads((out / MANIFEST).read_text())["seed"] == 42
    (out / "val.jsonl").write_text("")
    assert cli.main(words) == 1
    assert "val.jsonl is not what was pinned" in capsys.readouterr().err
    assert cli.main([*words, "--overwrite"]) == 0


def test_only_gsm8k_as_a_whole_is_pinned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = "--pin makes all splits of gsm8k, and of no other benchmark"
    for words, says in (
        (["gsm8k", "--count", "5"], "a benchmark is loaded whole"),
        (["math"], whole),
        (["gsm8k", "--split", "train"], whole),
    ):
        assert cli.main(["data", "load", *words, "--pin", "-o", str(tmp_path / "out")]) == 2
        assert says in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(not DATA.is_dir(), reason="the benchmark's files are not there")
def test_the_real_gsm8k_is_divided_into_6961_512_and_1319(tmp_path: Path) -> None:
    found = pin_gsm8k(tmp_path, str(DATA), seed=42)
    assert found.rows == {"train.jsonl": 6961, "val.jsonl": 512, "test.jsonl": 1319}
    sides = [{row["question"] for row in read(tmp_path / name)} for name in FILES]
    assert sum(map(len, sides)) == len(set.union(*sides)) == 8792
    digests = [digest[:8] for digest in found.sha256.values()]
    assert digests == ["16e5a4b6", "8ad90d64", "a14b7571"]  # on every machine
