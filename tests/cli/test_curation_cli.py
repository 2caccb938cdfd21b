"""The verbs `dedup`, `decontaminate` and `split`: files in, files out."""

import json
import random
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from commands import Here

from infinite_rl.cli.data import Dedup, Split
from infinite_rl.dataset import dedup, split
from infinite_rl.dataset.rows import read, write

pytest.importorskip("rensa")

LEAK = "A farmer walks along the river with a heavy basket of apples and sells a dozen of them."
SCORES = ("format_score", "correctness_score", "quality_score")
PROMPTS = ["What is 2+3?", "What is 2 + 3", "What is 2+4?", LEAK, f"{LEAK} Or not?", "Hi \x1b[31m"]
HALVES = "--shares train=0.5,test=0.5"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with rows.jsonl."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": f"r{n}", "prompt": prompt, "score": n} for n, prompt in enumerate(PROMPTS)]
    write(rows, tmp_path / "rows.jsonl")
    return tmp_path


def ids(path: str) -> list[str]:
    return [row["id"] for row in read(path)]


def names(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def test_the_verbs_and_their_functions_have_one_threshold() -> None:
    assert Dedup.threshold == dedup.THRESHOLD
    assert Split.threshold == split.THRESHOLD


def test_dedup(here: Here) -> None:
    done = here("data dedup rows.jsonl -o out.csv --report report.jsonl")
    assert done.returncode == 0 and ids("out.csv") == ["r0", "r2", "r3", "r4", "r5"]
    assert "rows: 6, kept: 5, equal to a kept one: 1, nearly so: 0" in done.stdout
    equal = {"similarity": 1.0, "exact": True, "disputed": False}
    assert list(read("report.jsonl")) == [
        {"row": 2, "id": "r1", "of_row": 1, "of_id": "r0", **equal}
    ]
    done = here("data dedup rows.jsonl -o rows.jsonl --best score --overwrite")
    assert done.returncode == 0 and ids("rows.jsonl") == ["r1", "r2", "r3", "r4", "r5"]


def test_the_report_of_dedup_names_rows_without_an_id_by_number(here: Here) -> None:
    write(({"ident": n, "prompt": "What is 3+4?"} for n in range(2)), Path("own.jsonl"))
    assert here("data dedup own.jsonl -o out.csv --report report.jsonl").returncode == 0
    (row,) = read("report.jsonl")
    assert (row["id"], row["of_id"]) == ("row 2", "row 1")


def test_dedup_tells_golds_of_any_column_apart_or_says_that_there_is_none(here: Here) -> None:
    table = [{"question_text": PROMPTS[0], "gold": gold, "kind": "x"} for gold in ("5", "6", "5")]
    write(table, Path("golds.jsonl"))
    command = "data dedup golds.jsonl --prompt question_text -o out.jsonl --overwrite --json"
    done = here(command)
    assert json.loads(done.stdout)["disputed"] == 0
    assert "no row has a gold in 'answer'" in done.stderr and "--answer" in done.stderr
    done = here(f"{command} --answer gold --type math")
    assert json.loads(done.stdout)["disputed"] == 1 and "no row has a gold" not in done.stderr
    assert list(read("out.jsonl")) == table[:1]  # the columns stay those of the source


def test_split_and_audit_read_the_same_columns_as_dedup(here: Here) -> None:
    table = [{"q_text": f"{LEAK} {n}", "gold": str(n), "kind": "x"} for n in range(6)]
    write([*table, {**table[0], "gold": "7"}], Path("golds.jsonl"))
    names = "--prompt q_text --answer gold --type math"
    done = here(f"data split golds.jsonl {names} {HALVES} -o parts.csv")
    assert done.returncode == 0, done.stderr
    assert list(next(read("parts.csv"))) == ["q_text", "gold", "kind", "split"]
    done = here(f"audit rows golds.jsonl {names} --json")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert "disputed" in {each["check"] for each in found["findings"]}
    assert found["checked"]["disputed"] == 7


def test_dates_and_decimals_of_a_parquet_file_pass_through_every_verb(here: Here) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    row = {"type": "math", "prompt": LEAK, "answer": Decimal("7.50"), "at": date(2026, 1, 2)}
    parquet.write_table(pyarrow.Table.from_pylist([row]), "typed.parquet")
    write([{"prompt": "Nothing of this is in any row, it is but another text."}], Path("b.jsonl"))
    for verb in ("dedup", "split", "mix", "decontaminate"):
        more = {"split": "--shares train=1", "decontaminate": "--against b.jsonl"}.get(verb, "")
        done = here(f"data {verb} typed.parquet {more} -o out.parquet --overwrite")
        assert done.returncode == 0, done.stderr
        assert next(read("out.parquet")).items() >= {"answer": "7.50", "at": "2026-01-02"}.items()
    assert here("audit rows typed.parquet").returncode == 0
    Path("r.py").write_text("def r(completion, answer):\n    return completion == answer\n")
    done = here("audit r.py:r --rows typed.parquet --seconds 20 --json")
    assert done.returncode in (0, 1, 13, 14) and "Traceback" not in done.stderr


def test_all_columns_that_rows_lack_are_named_with_their_options(here: Here) -> None:
    write([{"said": "5", "gold": "5"}], Path("odd.jsonl"))
    for command, says in (
        ("score odd.jsonl", "row 1 has no columns 'response', 'answer', 'type' (its columns: said, "
         "gold); name them with --completion, --answer, --type"),
        ("score odd.jsonl --completion said --answer gold --type math", ""),
        ("data dedup odd.jsonl", "a row has no column 'prompt' (its columns: said, gold); name it "
         "with --prompt"),
        ("data dedup odd.jsonl --prompt spoken", "row 1 has no column 'spoken' (its columns: said, "
         "gold)\n"),
        ("data split odd.jsonl", "name it with --prompt"),
        ("data decontaminate rows.jsonl --against odd.jsonl", "name others with --against_columns"),
    ):  # fmt: skip
        done = here(f"{command} -o out.jsonl --overwrite")
        assert says in done.stderr and done.returncode == (2 if says else 0), command
    done = here("audit rows odd.jsonl")
    assert "name it with --prompt" in done.stderr


def test_decontaminate(here: Here) -> None:
    """--against may be given more than once."""
    write([{"task_id": "b", "problem": LEAK + "\x1b[31m"}], Path("bench.json"))
    write([{"prompt": "Nothing of this is in any row, it is but another text."}], Path("b.jsonl"))
    words = "data decontaminate rows.jsonl --against bench.json --report report.csv -o out.jsonl"
    done = here(words, "--against", "b.jsonl")
    assert done.returncode == 0 and ids("out.jsonl") == ["r0", "r1", "r2", "r5"]
    assert "rows: 6, kept: 4, sharing with a benchmark: 2" in done.stdout
    assert "row 4 (prompt): " in done.stderr and "a farmer walks" in done.stderr
    assert [row["benchmark_id"] for row in read("report.csv")] == ["b", "b"]


def test_a_report_of_nothing_and_a_side_without_rows_have_their_columns(here: Here) -> None:
    write([{"id": 1, "prompt": PROMPTS[0]}], Path("row.csv"))
    write([{"prompt": LEAK}], Path("other.csv"))
    for verb, columns in (
        ("dedup row.csv", "row,id,of_row,of_id,similarity,exact,disputed\n"),
        ("decontaminate row.csv --against other.csv", "row,id,column,benchmark,"),
    ):
        done = here(f"data {verb} --report report.csv -o out.csv --overwrite")
        assert done.returncode == 0 and Path("report.csv").read_text("utf-8").startswith(columns)
    assert here("data split row.csv -o parts").returncode == 0
    heads = [path.read_text("utf-8").splitlines()[0] for path in Path("parts").iterdir()]
    assert heads == ["id,prompt,split"] * 3


# --- split ---------------------------------------------------------------------------------------
def test_split_makes_a_file_for_each_side_or_one_for_all(here: Here) -> None:
    Path("there.csv").mkdir()
    for parts in ("parts", "parts.v1", "there.csv"):  # a folder may have a dot in its name
        done = here(f"data split rows.jsonl -o {parts} {HALVES} --overwrite")
        assert done.returncode == 0 and names(parts) == ["test.jsonl", "train.jsonl"]
        assert sorted(ids(parts)) == ids("rows.jsonl")
        assert done.stdout.startswith("rows: 6, train: ")
    words = "data split rows.jsonl -o all.csv --shares test=0.5,train=0.5 --seed 5 --keep parts"
    assert here(words).returncode == 0
    sides = {row["id"]: row["split"] for row in read("parts")}
    assert {row["id"]: row["split"] for row in read("all.csv")} == sides


def test_a_split_is_not_split_again_in_its_place_nor_beside_sides_of_another(here: Here) -> None:
    split = "data split rows.jsonl -o parts --overwrite"
    assert here(f"{split} {HALVES}").returncode == 0
    for source in ("parts", "parts/train.jsonl"):
        again = here(f"data split {source} -o parts --overwrite {HALVES} --seed 3")
        assert again.returncode == 2 and "would be changed while it is read" in again.stderr
    assert sorted(ids("parts")) == ids("rows.jsonl")
    assert here(f"{split} {HALVES} --keep parts").returncode == 0
    beside = here(f"{split} --shares train=1")
    assert beside.returncode == 2
    assert "parts/test.jsonl would stay beside the new split" in beside.stderr
    Path("parts/test.jsonl").unlink()
    assert here(f"{split} --shares train=1").returncode == 0
    assert ids("parts/train.jsonl") == ids("rows.jsonl")


def test_split_says_where_it_cannot_meet_the_shares(here: Here) -> None:
    """Nine rows ask for the same and stay together; of one row alone no second side is filled."""
    alike = [{"prompt": f"{LEAK} How many does he sell?{' ' * n}"} for n in range(9)]
    write([*alike, {"prompt": "Name a river."}], Path("alike.jsonl"))
    write(alike[:1], Path("one.jsonl"))
    said = here(f"data split alike.jsonl -o a.jsonl {HALVES}").stdout
    sides = [row["split"] for row in read("a.jsonl")]
    for side in ("train", "test"):
        share = f"{sides.count(side) / 10:.2%}"
        assert f"share not met: {side} has {share} of the rows, not 50.00%" in said
    assert len({*sides[:9]}) == 1 and "try another --seed" in said
    assert "is replaced" not in said
    again = here(f"data split a.jsonl -o c.jsonl {HALVES}").stdout
    assert "rows whose column `split` is replaced: 10" in again
    done = here(f"data split one.jsonl -o b.jsonl {HALVES} --json")
    unmet = json.loads(done.stdout)["unmet"].values()
    assert [each["rows"] for each in unmet] == [0.0], "the side that is empty"
    assert {each["asked"] for each in unmet} == {0.5}


def test_split_is_silent_where_the_shares_are_met(here: Here) -> None:
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=9)) for _ in range(12_000)]
    rows = [{"prompt": " ".join(words[n : n + 6])} for n in range(0, 12_000, 6)]
    write(rows, Path("many.jsonl"))
    done = here("data split many.jsonl -o a.jsonl --shares train=0.98,test=0.02,none=0")
    assert done.returncode == 0 and "share not met" not in done.stdout


# --- what all have in common ---------------------------------------------------------------------
def test_the_files_of_a_run_may_be_made_beside_it_in_its_folder(here: Here) -> None:
    write([{"type": "math", "prompt": "1+1"}], Path("run/dataset.csv"))
    assert here("data dedup run -o run/unique.jsonl").returncode == 0
    assert [row["prompt"] for row in read("run/unique.jsonl")] == ["1+1"]


SHOWN = {
    "score rows.jsonl -o OUT.jsonl": "completions judged (of 3): 3",
    "data dedup rows.jsonl -o OUT2.jsonl": "rows read: 3, compared: 3",
    "data decontaminate rows.jsonl --against rows.jsonl -o OUT3.jsonl": "rows compared: 3",
    "data split rows.jsonl -o OUT4": "rows read: 3, compared: 3",
    "export rows.jsonl --to trl -o OUT5": "rows exported: 3",
    "report rows.jsonl -o OUT.html": "rows read: 3",
    "data pairs rows.jsonl -o OUT6.jsonl": "pairs made: 1",
}


def test_long_work_shows_its_progress(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infinite_rl.cli.terminal.LINE_EVERY_S", 0)
    row = {"type": "math", "prompt": "2+5?", "answer": "7", **dict.fromkeys(SCORES, 1.0)}
    right = {**row, "response": "<answer>7</answer>", "status": "passed", "reward_version": "1"}
    wrong = {**right, **dict.fromkeys(SCORES, 0.0)}
    wrong |= {"response": "<answer>8</answer>", "status": "failed"}
    write([right, wrong, {**right, "prompt": LEAK}], Path("rows.jsonl"))
    for words, shown in SHOWN.items():
        done = here(words)
        assert done.returncode == 0 and shown in done.stderr, words
