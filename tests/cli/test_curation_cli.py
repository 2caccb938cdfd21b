"""The verbs `dedup`, `decontaminate` and `split`: files in, files out, one line for errors."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from commands import commands
from commands import read as command

from infinite_rl.cli import main
from infinite_rl.dataset.rows import read, write

pytest.importorskip("rensa")

LEAK = "A farmer walks along the river with a heavy basket of apples and sells a dozen of them."
SCORES = ("format_score", "correctness_score", "quality_score")
PROMPTS = ["What is 2+3?", "What is 2 + 3", "What is 2+4?", LEAK, f"{LEAK} Or not?", "Hi \x1b[31m"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = [{"id": f"r{n}", "prompt": prompt, "score": n} for n, prompt in enumerate(PROMPTS)]
    write(rows, tmp_path / "rows.jsonl")
    return tmp_path / "rows.jsonl"


def run(*words: str | Path) -> int:
    verb, *more = map(str, words)
    return main([*verb.split(), *more])


def ids(path: Path) -> list[str]:
    return [row["id"] for row in read(path)]


def test_dedup(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, report = file.parent / "out.csv", file.parent / "report.jsonl"
    assert run("data dedup", file, "-o", out, "--report", report) == 0
    assert ids(out) == ["r0", "r2", "r3", "r4", "r5"]
    assert list(read(report)) == [
        {
            "row": 2,
            "id": "r1",
            "of_row": 1,
            "of_id": "r0",
            "similarity": 1.0,
            "exact": True,
            "disputed": False,
        }
    ]
    assert "rows: 6, kept: 5, equal to a kept one: 1, nearly so: 0" in capsys.readouterr().out
    assert run("data dedup", file, "-o", file, "--best", "score", "--overwrite") == 0
    assert ids(file) == ["r1", "r2", "r3", "r4", "r5"]


def test_decontaminate(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, report = file.parent / "out.jsonl", file.parent / "report.csv"
    write([{"task_id": "b", "problem": LEAK + "\x1b[31m"}], file.parent / "bench.json")
    bench = file.parent / "bench.json"
    assert run("data decontaminate", file, "--against", bench, "-o", out, "--report", report) == 0
    assert ids(out) == ["r0", "r1", "r2", "r5"]
    said = capsys.readouterr()
    assert "rows: 6, kept: 4, sharing with a benchmark: 2" in said.out
    assert "row 4 (prompt): " in said.err and "a farmer walks" in said.err
    assert [row["benchmark_id"] for row in read(report)] == ["b", "b"]


def test_split_makes_a_file_for_each_side_or_one_for_all(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts, out = file.parent / "parts", file.parent / "all.csv"
    assert run("data split", file, "-o", parts, "--shares", "train=0.5,test=0.5") == 0
    assert sorted(path.name for path in parts.iterdir()) == ["test.jsonl", "train.jsonl"]
    assert sorted([*ids(parts / "train.jsonl"), *ids(parts / "test.jsonl")]) == ids(file)
    shares = "test=0.5,train=0.5"
    assert (
        run("data split", file, "-o", out, "--shares", shares, "--seed", "5", "--keep", parts) == 0
    )
    by_side = {row["id"]: row["split"] for row in read(out)}
    assert by_side == {row["id"]: row["split"] for row in read(parts)}
    assert "rows: 6, train: " in capsys.readouterr().out


WRONG = [
    ("data dedup FILE -o FILE", "is there already: --overwrite replaces it"),
    ("data dedup FILE -o x.csv --columns a,b", "a row has no column 'a'"),
    ("data dedup FILE -o x.csv --threshold 0", "a threshold is above 0"),
    ("data decontaminate FILE -o x.csv --against no.csv", "there is no no.csv"),
    ("data split FILE -o x.csv --shares train", "--shares must be like train=0.9"),
    ("data split FILE -o x.csv --shares train=2", "shares are positive"),
    ("data split FILE -o x.csv --keep FILE", "is in no split of the shares"),
    ("data dedup FILE -o OUT/a.csv --report OUT/a.csv", "two things"),
    ("data dedup IN -o IN/out.csv", "would be read with the files of"),
    ("data dedup IN -o OUT/a.csv --report IN/sub/a.csv", "would be read with"),
    ("data mix IN:2 --mode weighted -o IN/out.csv", "would be read with"),
    ("data split IN -o IN/parts", "would be read with"),
    ("score RUN -o RUN/dataset.csv --overwrite", "belongs to a run"),
    ("score RUN -o RUN/journal.jsonl --overwrite", "belongs to a run"),
    ("data mix IN -o OUT/a.csv --ascending", "--ascending needs --by"),
    ("data mix IN -o OUT/a.csv --keep_order", "--keep_order needs --mode weighted"),
    ("data mix IN -o OUT/a.csv --allow_unknown", "--allow_unknown needs --order"),
    ("data split IN -o OUT/p --shares ../a=1", "letters, digits and _, not '../a'"),
    ("data split IN -o OUT/p --shares =1", "letters, digits and _, not ''"),
    ("data split IN -o OUT/p --shares a=0.5,a=1", "names a split twice"),
]


def test_what_would_lose_rows_or_mean_nothing_is_refused_in_one_line(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    for name in ("in", "run"):
        write(read(file), file.parent / name / "rows.jsonl")
    for name in ("dataset.csv", "journal.jsonl"):
        (file.parent / "run" / name).write_text("paid for", encoding="utf-8")
    before, faults = sorted(file.parent.rglob("*")), []
    marks = {"FILE": str(file), "IN": "in", "OUT": "out", "RUN": "run"}
    for words, says in WRONG:
        code = run(*(re.sub(r"\b(FILE|IN|OUT|RUN)\b", lambda m: marks[m[0]], words).split()))
        last = capsys.readouterr().err.splitlines()[-1]
        if code != 2 or not last.startswith("error: ") or says not in last:
            faults.append((words, code, last))
    assert not faults
    assert sorted(file.parent.rglob("*")) == before
    assert (file.parent / "run" / "journal.jsonl").read_text(encoding="utf-8") == "paid for"


def test_against_may_be_given_more_than_once(file: Path) -> None:
    out, first, second = (file.parent / name for name in ("out.jsonl", "1.jsonl", "2.jsonl"))
    write([{"prompt": LEAK}], first)
    write([{"prompt": "Nothing of this is in any of the rows, it is but another text."}], second)
    assert run("data decontaminate", file, "--against", first, "--against", second, "-o", out) == 0
    assert ids(out) == ["r0", "r1", "r2", "r5"]


def test_the_files_of_a_run_may_be_made_beside_it_in_its_folder(file: Path) -> None:
    folder = file.parent / "run"
    write([{"type": "math", "prompt": "1+1"}], folder / "dataset.csv")
    assert run("data dedup", folder, "-o", folder / "unique.jsonl") == 0
    assert [row["prompt"] for row in read(folder / "unique.jsonl")] == ["1+1"]


@pytest.mark.parametrize("name", ["parts.v1", "there.csv"])
def test_a_folder_may_have_a_dot_in_its_name(file: Path, name: str) -> None:
    (file.parent / "there.csv").mkdir()
    out = file.parent / name
    assert run("data split", file, "-o", out, "--shares", "train=0.5,test=0.5", "--overwrite") == 0
    assert sorted(path.name for path in out.iterdir()) == ["test.jsonl", "train.jsonl"]


def test_a_split_is_not_split_again_in_its_own_place(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts, shares = file.parent / "parts", "train=0.5,test=0.5"
    assert run("data split", file, "-o", parts, "--shares", shares) == 0
    again = ("-o", parts, "--shares", shares, "--seed", "3", "--overwrite")
    for source in (parts, parts / "train.jsonl"):
        assert run("data split", source, *again) == 2
        assert "would be changed while it is read" in capsys.readouterr().err
    assert sorted(ids(parts)) == sorted(ids(file))
    assert (
        run("data split", file, "-o", parts, "--shares", shares, "--keep", parts, "--overwrite")
        == 0
    )


@pytest.mark.slow
def test_a_side_of_another_split_does_not_stay_beside_a_new_one(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = file.parent / "parts"
    assert run("data split", file, "-o", parts, "--shares", "train=0.5,test=0.5") == 0
    assert run("data split", file, "-o", parts, "--shares", "train=1", "--overwrite") == 2
    assert f"{parts / 'test.jsonl'} would stay beside the new split" in capsys.readouterr().err
    (parts / "test.jsonl").unlink()
    assert run("data split", file, "-o", parts, "--shares", "train=1", "--overwrite") == 0
    assert ids(parts / "train.jsonl") == ids(file)


ON_NOTHING = [
    "data dedup EMPTY -o OUT.csv",
    "data decontaminate EMPTY --against FILE -o OUT.csv",
    "data split EMPTY -o OUT",
    "score EMPTY -o OUT.csv",
    "export EMPTY --to jsonl -o OUT",
    "export FILE --val EMPTY --to jsonl -o OUT",
    "data load gsm8k --path EMPTY -o OUT.csv",
    "solve difficulty EMPTY --provider openai_compatible --model_name m -o OUT.csv",
]


def test_rows_that_are_none_are_an_error(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    empty = file.with_name("empty.jsonl")
    empty.touch()
    for words in ON_NOTHING:
        words = words.replace("EMPTY", str(empty)).replace("FILE", str(file))
        assert run(*words.replace("OUT", str(file.with_name("out"))).split()) == 2
        assert capsys.readouterr().err.splitlines()[-1] == f"error: there is no row in {empty}"
        assert not list(file.parent.glob("out*"))


def test_a_report_of_nothing_has_its_columns(tmp_path: Path) -> None:
    row, other, report = (tmp_path / name for name in ("row.csv", "other.csv", "report.csv"))
    write([{"prompt": PROMPTS[0]}], row)
    write([{"prompt": LEAK}], other)
    for verb, columns in (
        (["dedup"], "row,id,of_row,of_id,similarity,exact,disputed\n"),
        (["decontaminate", "--against", other], "row,id,column,benchmark,"),
    ):
        words = [*verb, "--report", report, "-o", tmp_path / "out.csv", "--overwrite"]
        assert run("data", words[0], row, *words[1:]) == 0
        assert report.read_text("utf-8").startswith(columns)


def test_a_side_without_rows_has_their_columns(tmp_path: Path) -> None:
    write([{"id": 1, "prompt": PROMPTS[0]}], tmp_path / "rows.csv")
    assert run("data split", tmp_path / "rows.csv", "-o", tmp_path / "parts") == 0
    heads = [path.read_text("utf-8").splitlines()[0] for path in (tmp_path / "parts").iterdir()]
    assert heads == ["id,prompt,split"] * 3


SHOWN = [
    ("score FILE -o OUT.jsonl", "completions judged: 3"),
    ("data dedup FILE -o OUT2.jsonl", "rows compared: 3"),
    ("data decontaminate FILE --against FILE -o OUT3.jsonl", "rows compared: 3"),
    ("data split FILE -o OUT4", "rows placed: 3"),
    ("export FILE --to trl -o OUT5", "rows exported: 3"),
    ("report FILE -o OUT.html", "rows read: 3"),
    ("data pairs FILE -o OUT6.jsonl", "pairs made: 1"),
]


def test_long_work_shows_its_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("infinite_rl.cli.terminal._LINE_EVERY_S", 0)
    row = {"type": "math", "prompt": "2+5?", "answer": "7", **dict.fromkeys(SCORES, 1.0)}
    right = {**row, "response": "<answer>7</answer>", "status": "passed", "reward_version": "1"}
    wrong = {**right, **dict.fromkeys(SCORES, 0.0)}
    wrong |= {"response": "<answer>8</answer>", "status": "failed"}
    write([right, wrong, {**right, "prompt": LEAK}], tmp_path / "rows.jsonl")
    for words, shown in SHOWN:
        words = words.replace("FILE", str(tmp_path / "rows.jsonl"))
        assert run(*words.replace("OUT", str(tmp_path / "out")).split()) == 0, words
        assert shown in capsys.readouterr().err, words


def test_rows_of_no_name_are_not_those_of_the_working_directory(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    for verb in ("score", "report", "data dedup", "data split", "data pairs"):
        out = {"report": "out.html", "data split": "out"}.get(verb, "out.jsonl")
        assert run(*verb.split(), "", "-o", out) == 2
        said = capsys.readouterr().err
        assert said in (
            "error: source is missing: the rows: a file (.csv, .jsonl, .jsonl.gz, .json, "
            ".parquet), or a folder\n",
            "error: the name of the rows is empty\n",
        )
        assert list(file.parent.iterdir()) == [file]


def test_the_help_has_examples_that_are_understood(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    for verb in commands():
        with pytest.raises(SystemExit):
            main([*verb.split(), "--help"])
        said = capsys.readouterr().out.splitlines()[-1]
        examples = re.findall(r"infinite-rl (.+?)(?=[.;]? (?:Exit|Then|infinite-rl)|$)", said)
        assert examples and re.search("Exit code: 0 ", said), verb
        for example in examples:
            assert example.startswith(verb)
            command(example.rstrip(".;"))


def test_split_says_where_it_cannot_meet_the_shares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nine rows ask for the same and stay together; of one row alone no second side is filled."""
    alike = [{"prompt": f"{LEAK} How many does he sell?{' ' * n}"} for n in range(9)]
    write([*alike, {"prompt": "Name a river."}], tmp_path / "alike.jsonl")
    write(alike[:1], tmp_path / "one.jsonl")
    shares = ("--shares", "train=0.5,test=0.5")
    assert run("data split", tmp_path / "alike.jsonl", "-o", tmp_path / "a.jsonl", *shares) == 0
    said = capsys.readouterr().out
    sides = [row["split"] for row in read(tmp_path / "a.jsonl")]
    for side in ("train", "test"):
        share = f"{sides.count(side) / 10:.2%}"
        assert f"share not met: {side} has {share} of the rows, not 50.00%" in said
    assert len({*sides[:9]}) == 1 and "try another --seed" in said
    assert (
        run("data split", tmp_path / "one.jsonl", "-o", tmp_path / "b.jsonl", *shares, "--json")
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert [each["rows"] for each in told["unmet"].values()] == [0.0], "the side that is empty"
    assert {each["asked"] for each in told["unmet"].values()} == {0.5}


def test_split_is_silent_where_the_shares_are_met(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=9)) for _ in range(12_000)]
    rows = [{"prompt": " ".join(words[n : n + 6])} for n in range(0, 12_000, 6)]
    write(rows, tmp_path / "rows.jsonl")
    shares = ("--shares", "train=0.98,test=0.02,none=0")
    assert run("data split", tmp_path / "rows.jsonl", "-o", tmp_path / "a.jsonl", *shares) == 0
    assert "share not met" not in capsys.readouterr().out
