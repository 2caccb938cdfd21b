"""`infinite-rl export` as a person meets it."""

import json
import shutil
from pathlib import Path

import pytest

from infinite_rl.cli import main
from infinite_rl.dataset import load_dataset
from infinite_rl.dataset.rows import write
from infinite_rl.export import FORMATS, read_export
from infinite_rl.layout import tagged

ROWS = [
    {"type": "math", "prompt": f"{n} + 1?", "answer": str(n + 1), "id": f"n{n}"} for n in range(4)
]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    write(ROWS, tmp_path / "rows.jsonl")
    return tmp_path / "rows.jsonl"


def test_responses_that_did_not_pass(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def exported(to: str, *more: str) -> tuple[str, str]:
        out = str(source.parent / to)
        assert main(["export", str(source), "--to", to, "-o", out, "--overwrite", *more]) == 0
        return capsys.readouterr()

    statuses = ["passed", "failed", "unscored", "failed"]
    rows = [{**row, "response": "7", "status": s} for row, s in zip(ROWS, statuses, strict=True)]
    write(rows, source)
    assert "responses among them that did not pass (status): 3" in exported("trl")[1]
    for to in ("sft", "sharegpt"):
        out, err = exported(to)
        assert "left out, since their responses did not pass: 3 (--failed keeps them)" in err
        assert "rows exported: 1 " in out
        assert "rows exported: 4 " in exported(to, "--failed")[0]
    write(rows[:1], source)
    assert "did not pass" not in exported("sft")[1]
    write([*ROWS, {**ROWS[0], "type": "my\x1bown"}], source)
    assert exported("jsonl")[1] == ""


def test_responses_that_nothing_has_judged_are_said_to_be_not_verified(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{**row, "response": tagged(row["answer"])} for row in ROWS]
    out = source.parent / "out"
    for status, says in ((None, True), ("passed", False)):
        write([{**row, "status": status} for row in rows], source)
        assert main(["export", str(source), "--to", "harbor", "-o", str(out), "--overwrite"]) == 0
        told = "not verified, as their rows have no status: 4; run `infinite-rl score` on the rows"
        assert (told in capsys.readouterr().err) is says
        assert ("**Not verified: 4 responses.**" in (out / "README.md").read_text()) is says
    write(ROWS, source)  # no responses
    assert main(["export", str(source), "--to", "trl", "-o", str(out / "trl")]) == 0
    assert "not verified" not in capsys.readouterr().err


def test_a_type_without_a_reward_here_is_named_and_refused_by_formats_that_run(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = [{**row, "type": "my\x1bown", "response": "7"} for row in ROWS[:1]]
    write([*ROWS, *own], source)
    for to in FORMATS:
        out = source.parent / to
        code = main(["export", str(source), "--to", to, "-o", str(out), "--failed"])
        err = capsys.readouterr().err
        if to in ("verifiers", "ors", "harbor", "nemo-gym"):
            assert code == 2 and not out.exists()
            assert err.startswith("error: row 5 (n0) cannot be exported: this package has no")
            assert err.rstrip().endswith("run: --rewards TYPE=FILE.py:CLASS takes yours along")
        elif to in ("sft", "sharegpt", "jsonl", "parquet"):
            assert "reward in this package" not in err
        else:
            assert code == 0 and "in this package: my\ufffdown; `infinite-rl export" in err
            card = (out / "README.md").read_text(encoding="utf-8")
            assert "need a reward of your own: my own; `infinite-rl export --rewards" in card


def test_a_misspelt_licence_is_warned_of(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for licence, said in (("mitt", "no such identifier; did you mean mit?"), ("mit", "")):
        out = str(source.parent / licence)
        assert main(["export", str(source), "--to", "jsonl", "-o", out, "--license", licence]) == 0
        err = capsys.readouterr().err
        assert said in err and bool(said) == ("licence" in err)


def test_it_says_what_it_wrote(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    val, out = source.parent / "val.jsonl", source.parent / "out"
    write(ROWS[:1], val)
    words = ["export", str(source), "--to", "openrlhf", "-o", str(out), "--val", str(val)]
    assert main([*words, "--license", "cc-by-4.0", "--name", "Sums"]) == 0
    assert "rows exported: 5 (train: 4, validation: 1)" in capsys.readouterr().out
    names = sorted(path.name for path in out.iterdir())
    assert names == ["README.md", "train.jsonl", "validation.jsonl"]
    text = (out / "README.md").read_text(encoding="utf-8")
    assert 'license: "cc-by-4.0"' in text and "# Sums" in text
    assert [row["answer"] for row in read_export(out, "openrlhf")] == [*"1234", "1"]


def test_a_runs_folder_goes_out_whole_with_its_provenance(tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    words = ["generate", "--num_samples", "2", "--provider", "procedural", "--out_dir", str(run)]
    assert main([*words, "--task_dist", "0,1"]) == 0
    assert main(["export", str(run), "--to", "openrlhf", "-o", str(out)]) == 0
    assert [row["id"] for row in read_export(out, "openrlhf")] == list(load_dataset(run)["id"])
    text = (out / "README.md").read_text(encoding="utf-8").replace("\\", "")
    assert "procedural-2: 2" in text and "| the run accepted | math: 2 |" in text

    shutil.copy(run / "dataset.csv", tmp_path / "curated.csv")
    moved = ["export", str(tmp_path / "curated.csv"), "--to", "sft", "-o", str(tmp_path / "sft")]
    assert main([*moved, "--run_dir", str(run)]) == 0
    card = (tmp_path / "sft" / "README.md").read_text(encoding="utf-8")
    assert "| the run accepted | math: 2 |" in card


def test_a_run_json_of_another_program_is_no_concern(source: Path) -> None:
    (source.parent / "run.json").write_text("[]")
    for given in (source, source.parent):
        out = source.parent.parent / "outs" / given.name
        assert main(["export", str(given), "--to", "verifiers", "-o", str(out)]) == 0


def test_bad_input_is_one_clear_line(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = source.parent / "out"
    for words, said in (
        ("--to sft", "row 1 (n0) cannot be exported: completion[0].content is blank"),
        ("--to verifiers --plain", "verifiers takes messages"),
        ("--to jsonl --license My", "no licence's identifier"),
        ("--to jsonl --split a/b", "no name for a split"),
        ("--to jsonl --run_dir nowhere", "there is no run.json in nowhere"),
        ("--to jsonl --val nowhere.csv", "there is no nowhere.csv"),
    ):
        assert main(["export", str(source), "-o", str(out), *words.split()]) == 2
        last = capsys.readouterr().err.splitlines()[-1]
        assert said in last and last.startswith("error: ")
        assert not out.exists()


def test_the_instructions_and_plain_texts_are_chosen(source: Path) -> None:
    out = source.parent / "out"
    words = ["export", str(source), "--to", "openrlhf", "-o", str(out), "--plain", "--overwrite"]
    for system, first in (("", "0 + 1?"), ("Go.", "Go.\n\n0 + 1?")):
        assert main([*words, "--system", system]) == 0
        line = (out / "train.jsonl").read_text(encoding="ascii").splitlines()[0]
        assert json.loads(line)["input"] == first
    assert main(words[:-1]) == 2  # it is there now
