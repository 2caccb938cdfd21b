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


@pytest.mark.parametrize(("name", "path", "count", "fourth"), FILES, ids=str)
def test_every_row_of_a_published_file_is_a_row(
    name: str, path: str, count: int, fourth: str
) -> None:
    rows = list(load(name, there(path)))
    assert len(rows) == len({row["id"] for row in rows}) == count
    assert rows[3]["id"] == fourth
    for row in rows:
        assert row.keys() >= COLUMNS and row["source"] == name
        assert sample_of(row).answer and (row["response"] or name == "ifeval")


PUBLISHED: dict[str, dict[str, Any]] = {
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
    write([{**PUBLISHED[name], **changes}], path)
    return next(load(name, path, split=split))


def test_each_benchmark_has_its_answer_and_its_prompt(tmp_path: Path) -> None:
    assert PUBLISHED.keys() == BENCHMARKS.keys()
    assert one("gsm8k", tmp_path)["answer"] == "1200"
    row = one("math", tmp_path)
    assert row["answer"] == "2" and row["level"] == "5"
    assert row["response"] == "It is $\\boxed{2}$.\n\n<answer>$2$</answer>"
    row = one("mbpp", tmp_path)
    assert row["prompt"].startswith("Add.") and "assert f(1) == 1" in row["prompt"]
    assert json.loads(row["answer"]) == {"tests": ["assert f(1) == 1"], "setup": "import math"}
    assert (row["id"], row["response"]) == ("mbpp-602", "def f(a):\n  return a")
    row = one("humaneval", tmp_path)
    assert json.loads(row["answer"]).keys() == {"tests", "entry_point", "prompt"}
    assert (row["id"], row["response"]) == ("humaneval-7", "    return a\n")
    assert json.loads(one("ifeval", tmp_path)["answer"]) == [
        {"instruction_id": "punctuation:no_comma", "kwargs": {}},
        {"instruction_id": "keywords:existence", "kwargs": {"keywords": ["hello"]}},
    ]


def test_the_split_is_in_the_number_or_the_name_of_the_file_or_an_argument(tmp_path: Path) -> None:
    for numbers, split in (
        *(((1, 10), "prompt"), ((11, 510), "test"), ((511, 600), "validation")),
        ((601, 974), "train"),
    ):
        for number in numbers:
            assert one("mbpp", tmp_path, task_id=number)["split"] == split
    for file in ("train.jsonl", "my-train_v2.jsonl"):
        write([PUBLISHED["gsm8k"]], tmp_path / file)
        row = next(load("gsm8k", tmp_path / file))
        assert (row["split"], row["id"]) == ("train", "gsm8k-train-0")
    assert one("gsm8k", tmp_path)["split"] == "test"
    assert one("gsm8k", tmp_path, "dev")["id"] == "gsm8k-dev-0"


def test_a_row_of_another_kind_is_named(tmp_path: Path) -> None:
    write([{"text": "hello"}], tmp_path / "other.jsonl")
    for name in BENCHMARKS:
        with pytest.raises(StoreError, match=f"row 1 is none of {name} "):
            one(name, tmp_path, **dict.fromkeys(PUBLISHED[name]))
        with pytest.raises(StoreError, match=f"other.jsonl: row 1 is none of {name} "):
            list(load(name, tmp_path / "other.jsonl"))
    for answer in ("It is 5.", "It is\n####  "):
        with pytest.raises(StoreError, match="none of gsm8k"):
            one("gsm8k", tmp_path, answer=answer)
    test = "const testTruncate = () => {\n  console.assert(truncate(3.5) === 0.5)\n}"
    with pytest.raises(StoreError, match="none of humaneval .*not in Python"):
        one("humaneval", tmp_path, test=test)
    with pytest.raises(UsageError, match="is a folder: name one of its files"):
        load("gsm8k", tmp_path)
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
    write([PUBLISHED["gsm8k"]] * 2, source)
    words = ["data", "load", "gsm8k", "--path", str(source), "-o", str(out)]
    assert cli.main(words) == 0
    assert capsys.readouterr().out == f"rows: 2, in {out}\n"
    assert Counter(row["id"] for row in read(out)) == Counter(["gsm8k-test-0", "gsm8k-test-1"])
    assert cli.main(words) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert cli.main([*words, "--overwrite"]) == 0


def test_bad_input_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, says in (
        (["mmlu", "--path", "a.jsonl"], "mmlu"),
        (["gsm8k", "--path", "no.jsonl"], "no.jsonl"),
        (["gsm8k", "--count", "5"], "a benchmark is loaded whole"),
        (["gsm8k", "--seed", "5"], "--seed is for a reasoning_gym task, or for --pin"),
        (["gsm8k", "--validation", "5"], "--validation needs --pin"),
        (["reasoning_gym:chain_sum", "--path", "a.jsonl"], "leave --path and --split out"),
        (["reasoning_gym:chain_sum", "--split", "test"], "leave --path and --split out"),
    ):
        assert cli.main(["data", "load", *words, "-o", str(tmp_path / "a.csv")]) == 2
        said = capsys.readouterr().err
        assert said.startswith("error: ") and said.count("\n") == 1 and says in said
    assert list(tmp_path.iterdir()) == []
