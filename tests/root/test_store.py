"""The output folder: what goes in comes out, and no byte is ever lost."""

import csv
import errno
import itertools
import logging
import os
import re
import resource
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from infinite_rl.dataset import load_dataset
from infinite_rl.dataset.rows import write
from infinite_rl.errors import StoreError, UsageError
from infinite_rl.files.logs import csv_line, read_rows
from infinite_rl.store import (
    CERTIFICATE_COLUMNS,
    DATASET,
    DATASET_COLUMNS,
    FAILED,
    FAILED_COLUMNS,
    FAILED_LATER,
    Store,
    sample_of,
)
from infinite_rl.tasks import TASKS
from infinite_rl.types import Attempt, Completion, Outcome, RewardFunctionScore, Sample, Slot

UGLY = [
    *("007", "0.50", "None", "nan", "", " ", "NULL", "-", "1,2", '"', '""', "'", "\\", "\\n"),
    *("a\nb", "a\r\nb", "a\rb", "\n", "\r", "tab\t", '"quoted", and\nbroken', "=1+1", "#x"),
    *("héllo", "日本語", "𝔘𝔫𝔦", "🙂", "\u202eright to left", "\ufeffbom", "\u2028line", "\ud800"),
    "x" * 200_000,
]


def outcome(
    prompt: str = "2 + 3?", *, index: int = 0, answer: str = "5", response: str = "r"
) -> Outcome:
    attempt = Attempt(Slot("math", index), TASKS["math"], "request", 1)
    sample, score = Sample("math", prompt, answer, response), RewardFunctionScore(1.0, 1.0)
    return Outcome(attempt, sample, replace(score, status="passed"), Completion("raw", "a-model"))


def fill(folder: Path, *prompts: str) -> None:
    with Store(folder) as store:
        for index, prompt in enumerate(prompts):
            store.append(outcome(prompt, index=index))


def test_every_text_survives_the_round_trip(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for index, text in enumerate(UGLY):
            made = outcome(f"{index}{text}", index=index, answer=text, response=text)
            assert store.append(made).accepted
            if not index:  # a row is on disk as soon as it is accepted
                assert list(load_dataset(tmp_path)["prompt"]) == ["0007"]
    rows = load_dataset(tmp_path)
    assert list(rows["answer"]) == list(rows["response"]) == UGLY
    assert list(rows["prompt"]) == [f"{index}{text}" for index, text in enumerate(UGLY)]
    csv.field_size_limit(1_000)  # as somebody else may have set it
    assert list(read_rows(tmp_path / DATASET))[-1]["answer"] == "x" * 200_000


def test_a_nul_in_a_models_text_stops_no_run(tmp_path: Path) -> None:
    fill(tmp_path, "a\0b", "after")
    kept = "a\0b" if sys.version_info >= (3, 11) else "a\ufffdb"
    assert [row["prompt"] for row in read_rows(tmp_path / DATASET)] == [kept, "after"]


def test_columns_are_those_that_users_know(tmp_path: Path) -> None:
    fill(tmp_path, "p")
    accepted, failed = (
        (tmp_path / name).read_text(encoding="utf-8").splitlines()[0] for name in (DATASET, FAILED)
    )
    assert accepted.startswith("type,prompt,answer,response,quality_score,")
    assert tuple(accepted.split(",")) == DATASET_COLUMNS
    assert failed == (
        "type,prompt,answer,response,format_score,correctness_score,"
        "error_msg,raw_text,rectified,slot,reason,model,cost,"
        "level,concept,idea,attempts,solved,id,parent"
    )


def without_later_columns(path: Path, columns: tuple[str, ...], later: frozenset[str]) -> None:
    """Write a file anew as the version before its later columns did."""
    earlier = [name for name in columns if name not in later]
    rows = [[row[name] for name in earlier] for row in read_rows(path)]
    text = "".join(csv_line(fields) for fields in [earlier, *rows])
    path.write_bytes(text.encode("utf-8", "surrogatepass"))


def test_failures_of_an_earlier_version_are_read_and_gone_on_with(tmp_path: Path) -> None:
    """Its file gets the columns that it lacks, and keeps every other byte of its rows."""
    with Store(tmp_path) as store:
        for index, text in enumerate(UGLY):
            failed = outcome("p", index=index, answer=text, response=text)
            store.append(failed.rejected("wrong", "expected 5"))
    written = (tmp_path / FAILED).read_bytes()
    without_later_columns(tmp_path / FAILED, FAILED_COLUMNS, FAILED_LATER)
    earlier = (tmp_path / FAILED).read_bytes()
    assert earlier.startswith(b"type,") and b"reason" not in earlier
    for row in read_rows(tmp_path / FAILED, FAILED_COLUMNS, FAILED_LATER):
        assert (row["reason"], row["model"], row["cost"]) == ("", "", "")
    (tmp_path / FAILED).write_bytes(earlier + b'math,"half a r')
    with Store(tmp_path) as store:
        assert len(store.rejected) == len(UGLY)
        store.append(outcome("q", index=99).rejected("wrong", ""))
    *rows, new = read_rows(tmp_path / FAILED, FAILED_COLUMNS)
    assert [(row["answer"], row["response"]) for row in rows] == [(text, text) for text in UGLY]
    assert {(row["reason"], row["model"]) for row in rows} == {("", "")}
    assert (new["reason"], new["model"]) == ("wrong", "a-model")
    assert b"half a r" in (tmp_path / f"{FAILED}.torn").read_bytes()
    assert len(written) > len(earlier)


def test_an_old_file_survives_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path) as store:
        store.append(outcome("p").rejected("wrong", "no"))
    without_later_columns(tmp_path / FAILED, FAILED_COLUMNS, FAILED_LATER)
    earlier = (tmp_path / FAILED).read_bytes()

    def full(_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Store(tmp_path) as store, monkeypatch.context() as patch:
        assert (tmp_path / FAILED).read_bytes() == earlier, "to read it changes nothing"
        patch.setattr("infinite_rl.files.logs.os.fsync", full)
        for index in (1, 2):
            with pytest.raises(StoreError, match="No space left on device"):
                store.append(outcome("q", index=index).rejected("wrong", "no"))
    assert (tmp_path / FAILED).read_bytes() == earlier
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.slow
def test_a_file_cut_at_any_byte_loses_only_the_row_that_was_cut(tmp_path: Path) -> None:
    """At every byte of the rows, and at every seventh of the long header."""
    path, ends = tmp_path / "whole" / DATASET, []
    with Store(path.parent) as store:
        header = path.stat().st_size
        for index, prompt in enumerate(("one", 'two\n"and" more, ünïcode')):
            store.append(outcome(prompt, index=index))
            ends.append(path.stat().st_size)
    data = path.read_bytes()
    for cut in (*range(0, header, 7), *range(header, len(data) + 1)):
        folder = tmp_path / f"cut{cut}"
        folder.mkdir()
        (folder / DATASET).write_bytes(data[:cut])
        whole_rows = sum(end <= cut for end in ends)
        with Store(folder) as store:
            assert store.counts["math"] == whole_rows
            store.append(outcome("after the cut", index=9))
        assert len(list(read_rows(folder / DATASET, DATASET_COLUMNS))) == whole_rows + 1
        aside = folder / (DATASET + ".torn")
        lost = data[:cut][max(end for end in (0, header, *ends) if end <= cut) :]
        assert (aside.read_bytes() if aside.exists() else b"") == (lost + b"\n" if lost else b"")


def test_half_a_row_is_moved_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fill(tmp_path, "one", "two")
    path, aside = tmp_path / DATASET, tmp_path / (DATASET + ".torn")
    whole = path.read_bytes()
    for torn in (b'math,"thr', b"ee"):
        path.write_bytes(whole + torn)
        with caplog.at_level(logging.WARNING, "infinite_rl.store"), Store(tmp_path) as store:
            assert store.counts == {"math": 2}
        assert caplog.messages.pop().endswith(f" its {len(torn)} bytes are in {aside}")
        assert path.read_bytes() == whole
    assert aside.read_bytes() == b'math,"thr\nee\n'
    path.write_bytes(b"type,prom")  # half a header is owed again
    fill(tmp_path, "one")
    assert [row["prompt"] for row in read_rows(path, DATASET_COLUMNS)] == ["one"]


FOREIGN = [
    *("a,b,c\n1,2,3\n", "type,prompt,answer,response,quality_score\ncoding,p,a,r,1.0\n"),
    *("just some text", "\x00\x01\x02", "type,prompt,answer,reason,model,cost\n"),
]


def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    for name, text in itertools.product((DATASET, FAILED), FOREIGN):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(StoreError, match=name) as refused:
            Store(tmp_path)
        assert (tmp_path / name).read_text(encoding="utf-8") == text
        (tmp_path / name).unlink()
        with Store(tmp_path):  # while the error, with its frames, is still there
            assert refused.value
        (tmp_path / name).unlink()


def test_a_damaged_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    def inserted(damage: bytes) -> Callable[[bytes], bytes]:
        return lambda data: data.replace(b"\r\n", b"\r\n" + damage, 2).replace(damage, b"", 1)

    def another_slot(data: bytes) -> bytes:
        return re.sub(rb"math/\d/", b"math/x/", data)

    with Store(tmp_path) as store:
        for index, prompt in enumerate(("one", "two", "two")):
            store.append(outcome(prompt, index=index))
    changes: tuple[tuple[str, Callable[[bytes], bytes], str], ...] = (
        (DATASET, lambda data: b"\xef\xbb\xbf" + data, "a spreadsheet saved it, which may change"),
        (DATASET, lambda data: data.replace(b"type", b"kind", 1), "its columns are kind, prompt"),
        (DATASET, inserted(b"math,too,few\r\n"), "line 3"),
        (DATASET, inserted(b'math,"a"b,c\r\n'), "line 3"),
        (DATASET, inserted(b"\xff\xfe\r\n"), "line 3"),
        (DATASET, lambda data: data.replace(b",one,", b',"on"e,'), "damaged at line 2"),
        (DATASET, another_slot, rf"{DATASET} is damaged \(the slot 'math/x/0/0'\)"),
        (FAILED, another_slot, rf"{FAILED} is damaged \(the slot 'math/x/0/0'\)"),
    )
    for name, change, says in changes:
        before = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(change(before))
        with pytest.raises(StoreError, match=says):
            Store(tmp_path)
        assert (tmp_path / name).read_bytes() == change(before) != before
        (tmp_path / name).write_bytes(before)


def test_a_store_knows_families_and_prompts_whatever_their_case_and_spaces(tmp_path: Path) -> None:
    made = outcome("What is  2 + 3?\n")
    attempt = replace(made.attempt, slot=Slot("a/b", 7))  # a family may have a stroke in its name
    with Store(tmp_path) as store:
        store.append(replace(made, attempt=attempt, sample=replace(made.sample, type="a/b")))
        for index, prompt in enumerate(("one", "two", "three", "x" * 1000)):
            store.append(outcome(prompt, index=index))
    with Store(tmp_path) as store:
        assert store.counts == {"a/b": 1, "math": 4}
        assert store.filled == {"a/b": {7}, "math": {0, 1, 2, 3}}
        assert store.newest("math", "") == ["two", "three", "x" * 300]
        assert store.newest("coding", "python") == []
        known = outcome("").sample
        assert store.repeats(replace(known, prompt=" what IS 2 + 3?"))[0] == "duplicate"
        assert store.repeats(replace(known, prompt="What is 2 + 4?")) == ("", "")
        # Where there is no white space, none is thought of.
        assert store.repeats(replace(known, prompt="What is 2 + 3 ?")) == ("", "")


def test_a_row_with_a_known_prompt_is_a_duplicate_unless_rejected_before(tmp_path: Path) -> None:
    wrong = outcome("2 + 3?", index=2).rejected("wrong", "it is 6")
    with Store(tmp_path) as store:
        assert store.append(outcome("2 + 3?")).accepted
        again = store.append(outcome("2 +  3?", index=1))
        assert store.append(wrong) is wrong
    assert (again.reason, again.score.error_msg) == ("duplicate", "a row has this prompt")
    assert [row["slot"] for row in read_rows(tmp_path / DATASET)] == ["math/0/0/0"]
    failed, _ = read_rows(tmp_path / FAILED)
    assert failed["slot"] == "math/1/0/0"
    assert failed["error_msg"] == "duplicate: a row has this prompt"


def test_one_run_at_a_time_writes_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    synced = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_ino))
    with Store(tmp_path / "a") as store:
        for folder, says in (("a", "another run"), ("file", "file")):
            with pytest.raises(StoreError, match=says):
                Store(tmp_path / folder)
        store.append(outcome("one"))
    assert {(tmp_path / "a" / name).stat().st_ino for name in (DATASET, FAILED)} <= set(synced)
    with Store(tmp_path / "a"):
        pass


def test_a_full_disk_leaves_no_half_row(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Store(tmp_path) as store:
        store.append(outcome("kept"))
        room = (tmp_path / DATASET).stat().st_size + 3  # bytes
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
        try:
            with pytest.raises(StoreError, match="File too large; nothing was lost"):
                store.append(outcome("does not fit", index=1))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        store.append(outcome("fits again", index=1))
    assert [row["prompt"] for row in read_rows(tmp_path / DATASET)] == ["kept", "fits again"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="cannot write"):
        Store(tmp_path / "out")


def test_what_was_rejected_is_known_again_until_its_sample_has_a_row(tmp_path: Path) -> None:
    score = RewardFunctionScore(1.0, 0.25, "expected: 5, got: 6")
    wrong = replace(outcome("p", index=7), score=score, reason="wrong")
    with Store(tmp_path) as store:
        store.append(wrong)
        store.append(replace(wrong, attempt=replace(wrong.attempt, slot=Slot("math", 8))))
        store.append(outcome("q", index=8))
    with Store(tmp_path) as store:
        ((slot, known),) = store.rejected.items()
        again = known.outcome(wrong.attempt)
    assert slot == "math/7/0/0" and again.sample == Sample("math", "", "", "")
    assert (again.attempt, again.score, again.reason) == (wrong.attempt, wrong.score, "wrong")


def test_a_failure_keeps_its_raw_text_and_what_is_not_known_is_empty(tmp_path: Path) -> None:
    made = replace(outcome("p"), completion=None)
    priced = Completion("the whole text\r\n", "m", cost=0.5)
    repair = Attempt(Slot("math", 0, 0, 1), TASKS["math"], "", 1)
    score = RewardFunctionScore(1.0, 0.0, "expected 5, got 6")
    other = replace(made.sample, prompt="q")
    with Store(tmp_path) as store:
        store.append(made)
        store.append(replace(outcome("r"), completion=priced))
        store.append(replace(made.rejected("wrong", ""), sample=other))
        store.append(Outcome(repair, made.sample, score, priced, "wrong"))
    row, known = read_rows(tmp_path / DATASET)
    assert {row[column] for column in ("model", "cost", *CERTIFICATE_COLUMNS)} == {""}
    assert sample_of(row) == made.sample and row["id"] == made.sample.id
    assert (known["model"], known["cost"]) == ("m", "0.5")
    empty, failed = read_rows(tmp_path / FAILED, FAILED_COLUMNS)
    scores = {"format_score": "1.0", "correctness_score": "0.0"}
    details = {"raw_text": "the whole text\r\n", "rectified": "True", "slot": "math/0/0/1"}
    assert failed == {
        **{"type": "math", "prompt": "p", "answer": "5", "response": "r", **scores, **details},
        **{"error_msg": "wrong: expected 5, got 6", "reason": "wrong", "model": "m", "cost": "0.5"},
        **dict.fromkeys(("level", "concept", "idea", "attempts", "solved", "parent"), ""),
        "id": made.sample.id,
    }
    unknown = {"raw_text": "", "rectified": "False", "error_msg": "wrong", "model": "", "cost": ""}
    assert {name: empty[name] for name in unknown} == unknown and empty["reason"] == "wrong"


def test_what_is_written_for_debugging_is_there_exactly(tmp_path: Path) -> None:
    with Store(tmp_path / "new" / "folder") as store:
        for text in ("first", "half a pair: \ud800"):
            store.write_debug("a", text)
    (written,) = (tmp_path / "new" / "folder" / "debug_prompts").iterdir()
    assert written.name == "a.txt"
    assert written.read_bytes() == "half a pair: \ud800".encode(errors="surrogatepass")


def test_a_data_set_is_loaded_by_its_folder_or_its_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no data file in"):
        load_dataset(tmp_path)
    fill(tmp_path, "one", "three")
    assert load_dataset(tmp_path).equals(load_dataset(tmp_path / DATASET))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "jsonl.gz", "json", "parquet"])
def test_whatever_the_verbs_write_is_loaded_with_exact_strings(ending: str, tmp_path: Path) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    texts = ["007", "NA", "null", "None", "", "nan", " 1e5"]
    own = [{"prompt": text, "answer": text, "mine": text, "aux_score": "0.5"} for text in texts]
    write([*own, {"prompt": "p", "answer": "a"}], tmp_path / f"rows.{ending}")
    frame = load_dataset(tmp_path / f"rows.{ending}")
    assert frame.columns.to_list() == ["prompt", "answer", "mine", "aux_score"]
    for name in ("prompt", "answer", "mine"):
        assert frame[name][: len(texts)].to_list() == texts
    assert frame["aux_score"][: len(texts)].to_list() == [0.5] * len(texts)
    assert frame["mine"][len(texts)] == ("" if ending == "csv" else None)


def test_a_file_without_a_prompt_is_not_loaded(tmp_path: Path) -> None:
    write([{"city": "Rome"}], tmp_path / "rows.jsonl")
    with pytest.raises(UsageError, match="no column 'prompt'"):
        load_dataset(tmp_path / "rows.jsonl")


def test_another_folders_row_is_taken_once_and_a_second_prompt_is_a_failure(tmp_path: Path) -> None:
    fill(tmp_path / "a", "one?", "two?")
    rows = list(read_rows(tmp_path / "a" / DATASET))
    with Store(tmp_path / "b") as store:
        for row in [*rows, rows[0], {**rows[0], "prompt": "another?"}]:
            store.take(row)
        assert store.counts == {"math": 2} and not store.rejected
        with pytest.raises(StoreError, match="invalid slot: 'math/'"):
            store.take({**rows[0], "slot": "math/"})
        for slot in ("math/3/0/0", "math/3/0/0", "math/4/0/1"):
            store.take({**rows[0], "prompt": "ONE?", "slot": slot})
        assert list(store.rejected) == ["math/3/0/0", "math/4/0/1"]
    assert list(read_rows(tmp_path / "b" / DATASET)) == rows
    says = "duplicate: in another shard, a row has this prompt"
    shown = ("slot", "rectified", "error_msg", "raw_text")
    assert [[one[name] for name in shown] for one in read_rows(tmp_path / "b" / FAILED)] == [
        ["math/3/0/0", "False", says, ""],
        ["math/4/0/1", "True", says, ""],
    ]


def test_an_answer_that_is_no_text_is_its_json_and_nothing_is_none() -> None:
    def answer(value: object) -> str:
        return sample_of({"type": "math", "prompt": "?", "answer": value}).answer

    values = [7, 7.5, True, {"tests": []}]
    assert [answer(value) for value in values] == ["7", "7.5", "true", '{"tests": []}']
    for nothing in (None, float("nan")):
        with pytest.raises(UsageError, match="no column 'answer'"):
            answer(nothing)
    with pytest.raises(UsageError, match="cannot be written as JSON"):
        answer({1})
