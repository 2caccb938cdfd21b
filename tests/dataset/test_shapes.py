"""The data sets that people train on: each shape's rows are read, and judged as they should be.

`shapes/NAME.jsonl` has published rows of the shape NAME, with a right, a wrong and an idle program
(or answer), or with the reason for which the row is left out.
"""

import json
import pickle
import re
import sqlite3
from base64 import b64encode
from collections import Counter
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any
from zlib import compress

import pytest

from infinite_rl import cli
from infinite_rl.dataset.loaders import BENCHMARKS
from infinite_rl.dataset.rows import Row, read, sample_of, write
from infinite_rl.dataset.shapes import SHAPES, load_shape, shape_of
from infinite_rl.dataset.shapes.contests import called_checker
from infinite_rl.dataset.shapes.parts import Skipped, limits, pickled_json, python_in
from infinite_rl.errors import StoreError, UsageError
from infinite_rl.reward_functions import RewardFunction, get_reward_functions
from infinite_rl.sandbox.checkers import CHECKERS
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.sandbox.runtimes import RUNTIMES, is_installed

FOLDER = Path(__file__).with_name("shapes")
NAMES = sorted(path.stem for path in FOLDER.glob("*.jsonl"))
# No row of these is judged: there are no tests.
UNTESTED = {"opencodereasoning2"}
# These have no reference solutions.
UNSOLVED = {"livecodebench", "rstar_coder", "codeforces"}
KINDS = ("jsonl", "json", "parquet")


@lru_cache
def rewards() -> dict[str, RewardFunction]:
    return get_reward_functions()


SHOP = """
CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, stock INTEGER);
INSERT INTO item VALUES (1, 'pen', 1.5, 10), (2, 'cup', 4.0, 0), (3, 'für', 4.0, 3);
CREATE TABLE sale (item_id INTEGER REFERENCES item, day TEXT, count INTEGER);
INSERT INTO sale VALUES (1, '2024-01-01', 2), (1, '2024-01-02', 1), (3, '2024-01-02', 5);
"""


@pytest.fixture(autouse=True)
def databases(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database of the questions in SQL, where BIRD's are unpacked."""
    root = tmp_path_factory.getbasetemp() / "sql_data"
    path = root / "dev_databases" / "shop" / "shop.sqlite"
    if not path.exists():
        path.parent.mkdir(parents=True)
        with sqlite3.connect(path) as connection:
            connection.executescript(SHOP)
    monkeypatch.setenv("INFINITE_RL_DATA", str(root))


def lines(name: str) -> list[Row]:
    return [*read(FOLDER / f"{name}.jsonl")]


def published(name: str) -> list[Row]:
    return [line["published"] for line in lines(name)]


def loaded(name: str, folder: Path) -> tuple[list[tuple[Row, Row]], Counter[str]]:
    """The fixture's lines that are rows, with these, and the reasons that were counted."""
    path, reasons = folder / "some.jsonl", Counter[str]()
    write(published(name), path)
    rows = list(load_shape(path, reasons=reasons))
    judged = [line for line in lines(name) if "left_out" not in line]
    assert len(rows) == len(judged)
    return list(zip(judged, rows, strict=True)), reasons


def fenced(code: str) -> str:
    return f"```python\n{code}\n```"


def queried(query: str) -> str:
    return f"<answer>\n```sql\n{query}\n```\n</answer>"


def verdict(row: Row, completion: str) -> str:
    score = rewards()[row["type"]].score(sample_of(row), completion)
    return f"{score.status}: {score.error_msg}" if score.status == "unscored" else score.status


def is_runnable(row: Row, right: str) -> bool:
    """Whether this machine can judge a row: its checker's language may be one of an extra."""
    checker = json.loads(row["answer"]).get("checker", "") if row["type"] == "program" else ""
    return isinstance(checker, str) or not verdict(row, right).startswith("unscored")


def test_every_shape_has_its_file() -> None:
    assert {*NAMES} == SHAPES.keys() - BENCHMARKS.keys()
    for name in NAMES:
        assert len(lines(name)) >= 3, name


@pytest.mark.parametrize("name", NAMES)
def test_a_right_answer_passes_a_wrong_and_an_idle_one_fail(name: str, tmp_path: Path) -> None:
    if name in UNTESTED:
        return
    pairs, _ = loaded(name, tmp_path)
    assert any(row["response"] for _, row in pairs) is (name not in UNSOLVED)
    for line, row in pairs:
        assert row["answer"] == line.get("answer", row["answer"])
        write_answer = {"program": fenced, "sql": queried}.get(row["type"], str)
        right = [write_answer(line["gold"])] if line.get("gold") else []
        right += [row["response"]] if row["response"] else []
        assert right, row["id"]
        if not is_runnable(row, right[0]):
            continue
        assert [verdict(row, each) for each in right] == ["passed"] * len(right), row["id"]
        for kind in ("wrong", "noop"):
            assert verdict(row, write_answer(line[kind])) == "failed", (row["id"], kind)


@pytest.mark.parametrize("name", NAMES)
def test_a_row_that_cannot_be_judged_is_left_out_with_its_reason(name: str, tmp_path: Path) -> None:
    wanted = [line["left_out"] for line in lines(name) if "left_out" in line]
    notes = [line["note"] for line in lines(name) if "note" in line]
    if name in UNTESTED:
        path = tmp_path / "some.jsonl"
        write(published(name), path)
        with pytest.raises(StoreError, match=f"no row of {name} is left: 3 left out: {wanted[0]}"):
            list(load_shape(path))
        return
    _, reasons = loaded(name, tmp_path)
    counted = [*chain.from_iterable([text] * number for text, number in reasons.items())]
    assert len(counted) == len(wanted) + len(notes)
    for reason in wanted:
        assert any(text.startswith(f"left out: {reason}") or reason in text for text in counted)
    for note in notes:
        assert f"without a response: {note}" in counted


@pytest.mark.parametrize("name", NAMES)
def test_a_shape_is_recognized_by_its_columns_and_taken_for_no_other(name: str) -> None:
    for row in published(name):
        assert [other for other, shape in SHAPES.items() if shape.fits(row)] == [name]
        assert shape_of(row)[0] == name


def test_the_five_benchmarks_are_recognized_too(tmp_path: Path) -> None:
    for case in read(Path(__file__).with_name("published_rows.jsonl")):
        assert shape_of(case["published"])[0] == case["benchmark"]
        write([case["published"]], path := tmp_path / "some.jsonl")
        (row,) = load_shape(path)
        assert {**row, "split": ""} == {**case["row"], "split": ""} or row["id"].endswith("-0")


@pytest.mark.parametrize("kind", KINDS)
def test_the_rows_are_the_same_in_every_kind_of_file(kind: str, tmp_path: Path) -> None:
    for name in ("apps", "livecodebench", "codecontests", "verl", "numinamath"):
        rows = [line["published"] for line in lines(name) if "left_out" not in line]
        for row in rows:  # Parquet has one type for a column
            if isinstance(row.get("input_output"), dict):
                row["input_output"] = json.dumps(row["input_output"])
        rows = rows[:1] if name == "codecontests" else rows
        write(rows, one := tmp_path / f"{name}.jsonl")
        write(rows, other := tmp_path / f"{name}_2.{kind}")
        assert [*load_shape(other, name)] == [*load_shape(one)]


def test_a_csv_has_texts_and_is_read(tmp_path: Path) -> None:
    write([lines("apps")[0]["published"]], tmp_path / "some.csv")
    (row,) = load_shape(tmp_path / "some.csv")
    assert verdict(row, row["response"]) == "passed"


def test_an_unknown_shape_is_one_line_with_the_nearest_and_what_it_lacks(tmp_path: Path) -> None:
    write(
        [{"question": "q", "solutions": "[]", "input_output": "{}"}], path := tmp_path / "a.jsonl"
    )
    with pytest.raises(UsageError) as error:
        load_shape(path)
    assert "no known shape (its columns: question, solutions, input_output)" in str(error.value)
    assert "the nearest is apps, which also has problem_id" in str(error.value)
    with pytest.raises(UsageError, match="none of taco: it lacks raw_tags"):
        load_shape(path, "taco")
    with pytest.raises(UsageError, match="unknown shape 'tako'"):
        load_shape(path, "tako")
    write([dict.fromkeys(("problem", "tests", "answer", "domain"))], path)
    with pytest.raises(UsageError, match="may be of deepcoder or bigmath: --as says of which"):
        load_shape(path)


def test_a_set_without_a_file_comes_from_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def fetch(uri: str) -> Path:
        asked.append(uri)
        raise StoreError("no network")

    monkeypatch.setattr("infinite_rl.dataset.shapes.fetch", fetch)
    for name, shape in SHAPES.items():
        if shape.hub:
            with pytest.raises(StoreError, match="no network"):
                load_shape("", name)
        else:
            with pytest.raises(UsageError, match=f"{name} has no set on the hub: name a file"):
                load_shape("", name)
    assert all(re.fullmatch(r"hf:[\w-]+/[\w.-]+(:[\w.]+){1,2}", each) for each in asked)
    assert "hf:livecodebench/code_generation_lite:test" in asked


def test_questions_and_answers_are_minervas_by_its_name_alone(tmp_path: Path) -> None:
    write([{"question": "Half of 1?", "answer": "$0.5$"}], path := tmp_path / "test.jsonl")
    (row,) = load_shape(path, "minerva")
    assert (row["answer"], row["split"]) == ("0.5", "test")
    with pytest.raises(StoreError, match="no row of gsm8k is left"):
        list(load_shape(path))


class Hostile:
    def __reduce__(self) -> Any:
        return print, ("a pickle was loaded",)


def test_a_pickle_is_read_as_one_text_and_never_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    def packed(value: object, protocol: int) -> str:
        return b64encode(compress(pickle.dumps(value, protocol))).decode()

    tests = [{"input": "ä\n" * 200, "output": "x" * 70_000}]
    for protocol in range(1, pickle.HIGHEST_PROTOCOL + 1):
        assert pickled_json(packed(json.dumps(tests), protocol)) == tests
        for value in (Hostile(), ["[]"], 7, ["[]", "[]"], ("[]",), b"[]"):
            with pytest.raises(Skipped, match="more than one text|no JSON"):
                pickled_json(packed(value, protocol))
    endless = b64encode(compress(b"\x8c\x02[]" + b"\x94" * 10**7 + b".")).decode()
    with pytest.raises(Skipped, match="more than one text"):
        pickled_json(endless)
    damaged = b64encode(b"no zlib"), b64encode(compress(b"no pickle"))
    for text in ("", "%", *map(bytes.decode, damaged)):
        with pytest.raises(Skipped):
            pickled_json(text)
    assert capsys.readouterr().out == ""


def test_the_first_solution_in_python_3_is_the_response() -> None:
    assert python_in(["", None, "print 1", "print(2)\r\n", "print(3)"]) == "print(2)\n"
    assert python_in(["print 1", 7]) == ""


def test_limits_are_seconds_and_mebibytes_whatever_their_form() -> None:
    cases = [
        ((2, 256), (2, 256)),
        ((2000, 256), (2, 256)),
        (("2.0 seconds", "256.0 megabytes"), (2, 256)),
        ((0.5, 10**6), (0.5, 4096)),
    ]
    for stated, (timeout, memory_mb) in cases:
        assert limits(*stated) == {"limits": {"timeout": timeout, "memory_mb": memory_mb}}
    assert limits(None, None) == limits("unlimited") == limits(0) == {}


def test_a_checker_without_a_main_part_is_refused() -> None:
    for script in ("", "print(1)", "def main(): pass\nmain()", "print 1"):
        with pytest.raises(Skipped):
            called_checker(script)


def test_one_command_loads_a_file_and_the_next_scores_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(published("livecodebench"), problems := tmp_path / "problems.jsonl")
    rows, scored = tmp_path / "rows.jsonl", tmp_path / "scored.jsonl"
    assert cli.main(["data", "load", str(problems), "-o", str(rows)]) == 0
    out = capsys.readouterr().out
    assert "1 rows left out: its private tests are a pickle of more than one text" in out
    assert f"rows: 5, in {rows}" in out
    golds = [line["gold"] for line in lines("livecodebench") if "gold" in line]
    completions = map(fenced, golds)
    write(
        ({**row, "model": text} for row, text in zip(read(rows), completions, strict=True)),
        answered := tmp_path / "answered.jsonl",
    )
    assert cli.main(["score", str(answered), "--completion", "model", "-o", str(scored)]) == 0
    assert [row["status"] for row in read(scored)] == ["passed"] * 5


def test_one_command_scores_a_published_file_with_completions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {**line["published"], "model": fenced(line[kind])}
        for line in lines("livecodebench")
        for kind in ("gold", "wrong")
        if kind in line
    ]
    write([*rows, *published("livecodebench")[-1:]], problems := tmp_path / "problems.jsonl")
    for number, name in enumerate(("livecodebench", "auto")):
        scored = tmp_path / f"scored{number}.jsonl"
        line = ["score", str(problems), "--as", name, "--completion", "model", "-o", str(scored)]
        assert cli.main(line) == 0
        assert "1 rows left out: its private tests are neither" in capsys.readouterr().err
        assert [row["status"] for row in read(scored)] == ["passed", "failed"] * 5
    for more, text in (
        (["--completion", "model"], "add --as livecodebench"),
        (["--completion", "modell", "--as", "auto"], "has no column 'modell' (its columns: quest"),
    ):
        assert cli.main(["score", str(problems), *more, "-o", str(tmp_path / "no.jsonl")]) == 2
        error = capsys.readouterr().err
        assert text in error and error.count("\n") == 1


def test_the_command_says_what_was_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(published("opencodereasoning2"), path := tmp_path / "some.jsonl")
    out = str(tmp_path / "rows.jsonl")
    cases = [
        ([str(path), "-o", out], 1, "it has no tests: load the problem's own set"),
        ([str(path), "--as", "apps", "-o", out], 2, "none of apps: it lacks input_output"),
        (["livecodebnch", "-o", out], 2, "unknown data set 'livecodebnch'"),
        (["apps", "--as", "apps", "-o", out], 2, "--as is for a file"),
        ([str(path), "--path", str(path), "-o", out], 2, "leave --path out"),
    ]
    for arguments, code, text in cases:
        assert cli.main(["data", "load", *arguments]) == code
        error = capsys.readouterr().err
        assert text in error and error.count("\n") == 1
    assert not Path(out).exists()


# --- the tables of docs/datasets.md
DOCS = Path(__file__).parents[2] / "docs" / "datasets.md"


def table(head: str) -> list[list[str]]:
    """The cells of the table with this first line, without its heads."""
    text = DOCS.read_text(encoding="utf-8")
    after = text[text.index(head) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in after]


def parts(cell: str) -> set[str]:
    return {part.strip().strip("`") for part in cell.split(",")} - {"", "none"}


def task_of(row: Row) -> str:
    if row["type"] != "program":
        return {"gsm8k": "math"}.get(row["type"], row["type"])
    answer = json.loads(row["answer"])
    return "tests" if "tests" in answer else "function" if "entry_point" in answer else "stdin"


def judge_of(row: Row) -> str:
    if row["type"] not in ("program", "sql"):
        return str(row["type"])
    answer = json.loads(row["answer"])
    if checker := answer.get("checker"):
        return f"{checker['language'] if isinstance(checker, dict) else 'python'} checker"
    return str(answer.get("compare", "tests"))


SETS = {cells[0].strip("`"): cells for cells in table("| name | tasks | answers in |")}


def test_the_guide_has_every_shape() -> None:
    assert {*SETS} == {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_each_cell_of_the_guide_is_what_the_rows_say(name: str, tmp_path: Path) -> None:
    _, tasks, answers, judges, _ = SETS[name]
    rows = [] if name in UNTESTED else [row for _, row in loaded(name, tmp_path)[0]]
    assert parts(tasks) == {task_of(row) for row in rows}
    assert parts(answers) == {row["language"] or "text" for row in rows}
    assert parts(judges) == {judge_of(row) for row in rows}


LANGUAGES = table("| language | programs |")


def test_the_guide_has_every_language() -> None:
    assert [cells[0] for cells in LANGUAGES] == [each.name for each in RUNTIMES]


@pytest.mark.parametrize("cells", LANGUAGES, ids=lambda cells: cells[0])
def test_each_cell_of_the_languages_is_true(cells: list[str]) -> None:
    language, programs, tests, checkers, sets, origin, libraries = cells
    runtime = {each.name: each for each in RUNTIMES}[language]
    assert (programs == "yes") is not runtime.is_query_language
    assert (tests == "yes") is (runtime.runs_tests and not runtime.is_query_language)
    using = {
        name
        for name, (_, _, answers, judges, _) in SETS.items()
        if language in parts(answers) or f"{language} checker" in parts(judges)
    }
    assert language == "python" or {*re.findall("`(.+?)`", sets)} == using
    assert (checkers == "yes") is (language in CHECKERS)
    assert origin.strip("`") in (runtime.install or "every installation")
    imports = dict.fromkeys(("python", "scientific"), "import {}")
    names = re.findall("`(.+?)`", libraries)
    code = "\n".join(imports.get(language, "require('{}')").format(each) for each in names)
    if code and is_installed(runtime):
        assert RewardExecutor(10).execute(code, language).status == "ok"


def test_a_row_with_no_more_than_a_shapes_columns_is_of_this_shape_alone() -> None:
    for name, shape in SHAPES.items():
        assert shape_of(dict.fromkeys(shape.columns))[0] == name
