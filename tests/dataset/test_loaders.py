"""The public benchmarks as rows."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from infinite_rl import cli
from infinite_rl.dataset.loaders import BENCHMARKS, load
from infinite_rl.dataset.rows import read, sample_of, write
from infinite_rl.errors import StoreError, UnknownName, UsageError

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
FILES = [
    ("gsm8k", "gsm8k/train.jsonl", 7473, "gsm8k-train-3"),
    ("gsm8k", "gsm8k/test.jsonl", 1319, "gsm8k-test-3"),
    ("math", "math500/test.jsonl", 500, "math-test-number_theory-572"),
    ("mbpp", "mbpp/sanitized-mbpp.json", 427, "mbpp-6"),
    ("humaneval", "humaneval/HumanEval.jsonl.gz", 164, "humaneval-3"),
    ("ifeval", "ifeval/input_data.jsonl", 541, "ifeval-1012"),
]
COLUMNS = {"id", "type", "prompt", "answer", "response", "language", "source", "split"}


def there(path: str) -> Path:
    if not (DATA / path).is_file():
        pytest.skip(f"the data is missing: {DATA / path}")
    return DATA / path


@pytest.mark.parametrize(("name", "path", "count", "fourth"), FILES, ids=lambda value: str(value))
def test_every_row_of_a_published_file_is_a_row(
    name: str, path: str, count: int, fourth: str
) -> None:
    rows = list(load(name, there(path)))
    assert len(rows) == len({row["id"] for row in rows}) == count
    assert rows[3]["id"] == fourth
    for row in rows:
        assert row.keys() >= COLUMNS and row["source"] == name
        assert sample_of(row).answer and (row["response"] or name == "ifeval")


GIVEN: dict[str, dict[str, Any]] = {
    "gsm8k": {"question": "1000 + 200?", "answer": "<<1000+200=1200>>\n#### 1,200"},
    "math": {"problem": "$1+1$?", "solution": "It is $\\boxed{2}$.", "level": "Level 5"},
    "mbpp": {
        "task_id": 602,
        "text": "Add.",
        "code": "def f(a):\r\n  return a",
        "test_list": ["assert f(1) == 1"],
        "test_setup_code": "import math",
    },
    "humaneval": {
        "task_id": "HumanEval/7",
        "prompt": "def f(a):\n",
        "entry_point": "f",
        "canonical_solution": "    return a\n",
        "test": "def check(candidate):\n    assert candidate(1) == 1\n",
    },
    "ifeval": {
        "key": 5,
        "prompt": "Say hello.",
        "instruction_id_list": ["punctuation:no_comma", "keywords:existence"],
        "kwargs": [{"keywords": None}, {"keywords": ["hello"]}],
    },
}


def one(name: str, folder: Path, split: str = "", **changes: Any) -> dict[str, Any]:
    path = folder / "rows.jsonl"
    write([{**GIVEN[name], **changes}], path)
    return next(load(name, path, split=split))


def test_each_benchmark_has_a_row_here() -> None:
    assert GIVEN.keys() == BENCHMARKS.keys()


def test_the_answer_of_gsm8k_is_its_number_without_commas(tmp_path: Path) -> None:
    assert one("gsm8k", tmp_path)["answer"] == "1200"


def test_the_answer_of_math_is_in_its_last_box(tmp_path: Path) -> None:
    row = one("math", tmp_path)
    assert row["answer"] == "2" and row["level"] == "5"
    assert row["response"] == "It is $\\boxed{2}$.\n\n<answer>$2$</answer>"


def test_the_prompt_of_mbpp_shows_the_tests_which_alone_name_the_function(tmp_path: Path) -> None:
    row = one("mbpp", tmp_path)
    assert row["prompt"].startswith("Add.") and "assert f(1) == 1" in row["prompt"]
    assert json.loads(row["answer"]) == {"tests": ["assert f(1) == 1"], "setup": "import math"}
    assert (row["id"], row["response"]) == ("mbpp-602", "def f(a):\n  return a")


@pytest.mark.parametrize(
    ("number", "split"),
    [(1, "prompt"), (10, "prompt"), (11, "test"), (510, "test"), (511, "validation")]
    + [(600, "validation"), (601, "train"), (974, "train")],
)
def test_the_split_of_mbpp_is_in_its_number(number: int, split: str, tmp_path: Path) -> None:
    assert one("mbpp", tmp_path, task_id=number)["split"] == split


def test_the_answer_of_humaneval_has_the_prompt_that_is_continued(tmp_path: Path) -> None:
    row = one("humaneval", tmp_path)
    assert json.loads(row["answer"]).keys() == {"tests", "entry_point", "prompt"}
    assert (row["id"], row["response"]) == ("humaneval-7", "    return a\n")


def test_the_answer_of_ifeval_lists_each_check_with_what_it_is_given(tmp_path: Path) -> None:
    assert json.loads(one("ifeval", tmp_path)["answer"]) == [
        {"instruction_id": "punctuation:no_comma", "kwargs": {}},
        {"instruction_id": "keywords:existence", "kwargs": {"keywords": ["hello"]}},
    ]


@pytest.mark.parametrize("file", ["train.jsonl", "my-train_v2.jsonl"])
def test_the_split_is_in_the_name_of_the_file(file: str, tmp_path: Path) -> None:
    write([GIVEN["gsm8k"]], tmp_path / file)
    row = next(load("gsm8k", tmp_path / file))
    assert (row["split"], row["id"]) == ("train", "gsm8k-train-0")


def test_or_it_is_said(tmp_path: Path) -> None:
    assert one("gsm8k", tmp_path)["split"] == "test"
    assert one("gsm8k", tmp_path, "dev")["id"] == "gsm8k-dev-0"


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_row_of_another_kind_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=f"row 1 is none of {name} "):
        one(name, tmp_path, **dict.fromkeys(GIVEN[name]))
    write([{"text": "hello"}], tmp_path / "other.jsonl")
    with pytest.raises(StoreError, match=f"other.jsonl: row 1 is none of {name} "):
        list(load(name, tmp_path / "other.jsonl"))


def test_a_solution_without_its_answer_is_none_of_gsm8k(tmp_path: Path) -> None:
    for answer in ("It is 5.", "It is\n####  "):
        with pytest.raises(StoreError, match="none of gsm8k"):
            one("gsm8k", tmp_path, answer=answer)


def test_humaneval_in_another_language_is_none_of_humaneval(tmp_path: Path) -> None:
    test = "const testTruncate = () => {\n  console.assert(truncate(3.5) === 0.5)\n}"
    with pytest.raises(StoreError, match="none of humaneval .*not in Python"):
        one("humaneval", tmp_path, test=test)


def test_a_folder_says_no_split(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder: name one of its files"):
        load("gsm8k", tmp_path)


def test_an_unknown_benchmark_is_wrong_usage() -> None:
    with pytest.raises(UnknownName, match="unknown benchmark 'mmlu'; known: gsm8k, "):
        list(load("mmlu", "x.jsonl"))


def test_without_a_source_it_comes_from_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fetch(uri: str) -> Path:
        asked.append(uri)
        raise StoreError("no network")

    monkeypatch.setattr("infinite_rl.dataset.loaders.fetch", fetch)
    for name, split in (("gsm8k", ""), ("gsm8k", "train"), ("ifeval", "")):
        with pytest.raises(StoreError):
            list(load(name, split=split))
    assert asked == [
        "hf:openai/gsm8k:main:test",
        "hf:openai/gsm8k:main:train",
        "hf:google/IFEval:train",
    ]


# The command line.


def test_the_verb_writes_the_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = tmp_path / "test.jsonl", tmp_path / "out.csv"
    write([GIVEN["gsm8k"]] * 2, source)
    words = ["data", "load", "gsm8k", "--path", str(source), "-o", str(out)]
    assert cli.main(words) == 0
    assert capsys.readouterr().out == f"rows: 2, in {out}\n"
    assert Counter(row["id"] for row in read(out)) == Counter(["gsm8k-test-0", "gsm8k-test-1"])
    assert cli.main(words) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert cli.main([*words, "--overwrite"]) == 0


@pytest.mark.parametrize(
    ("name", "source", "code"), [("mmlu", "a.jsonl", 2), ("gsm8k", "no.jsonl", 2)]
)
def test_bad_input_is_one_clear_line(
    name: str, source: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["data", "load", name, "--path", source, "-o", str(tmp_path / "a.csv")]) == code
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["gsm8k", "--count", "5"], "a benchmark is loaded whole"),
        (["gsm8k", "--seed", "5"], "--seed is for a reasoning_gym task, or for --pin"),
        (["gsm8k", "--validation", "5"], "--validation needs --pin"),
        (["reasoning_gym:chain_sum", "--path", "a.jsonl"], "leave --path and --split out"),
        (["reasoning_gym:chain_sum", "--split", "test"], "leave --path and --split out"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["data", "load", *words, "-o", str(tmp_path / "a.csv")]) == 2
    assert says in capsys.readouterr().err and not list(tmp_path.iterdir())
