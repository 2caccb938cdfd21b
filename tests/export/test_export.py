"""Rows in a trainer's own columns, and back: nothing lost, nothing half written."""

import json
import re
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from labelled import assert_none, unlike

from infinite_rl.adapters.harbor import judge
from infinite_rl.dataset.ground_truth import pack, score
from infinite_rl.dataset.rows import read, sample_of
from infinite_rl.errors import StoreError, UsageError
from infinite_rl.export import FORMATS, About, export, read_export
from infinite_rl.export.formats import ANY, MESSAGES, TEXT, fault_of
from infinite_rl.layout import tagged
from infinite_rl.parsing.sections import ExampleParser
from infinite_rl.reward_functions import get_reward_functions
from infinite_rl.solver_prompts import default_system_prompt

ROOT = Path(__file__).parents[2]
MATH = {
    "type": "math",
    "prompt": "What is 2 + 5?",
    "answer": "7",
    "response": "2 + 5 = <answer>7</answer>",
    "language": "",
    "id": "sum-7",
}
TRUTH = '{"type": "math", "answer": "7", "prompt": "What is 2 + 5?"}'
TASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": MATH["prompt"]}]

# What each trainer is given for MATH, with the instructions "Be brief."
_ROWS = Path(__file__).with_name("expected.json").read_text(encoding="utf-8")
EXPECTED: Mapping[str, Mapping[str, Any]] = {**json.loads(_ROWS), "jsonl": MATH, "parquet": MATH}
formats = pytest.mark.parametrize("to", EXPECTED)


def examples() -> list[dict[str, str]]:
    """The archived samples, one of them a Python task and one of JavaScript."""
    found = []
    for path in sorted((ROOT / "archive_examples").glob("*.md")):
        parts = ExampleParser.parse_text(path.read_text(encoding="utf-8"))
        type_ = "math" if path.name.startswith("math") else "coding"
        language = path.name.split("_")[0] if type_ == "coding" else ""
        found.append({**parts, "type": type_, "language": language, "id": path.stem})
    return found


def rows_in(folder: Path, to: str, split: str = "train") -> list[Any]:
    """The exported rows of a split, wherever the format keeps them."""
    tasks, files = folder / split, folder.rglob(f"{split}.{FORMATS[to].ending}")
    return [row for path in sorted(tasks.rglob("*.jsonl")) or files for row in read(path)]


def files_in(folder: Path) -> list[Path]:
    """All files of a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def needs(to: str) -> None:
    if FORMATS[to].ending == "parquet":
        pytest.importorskip("pyarrow")


@formats
def test_a_row_has_exactly_the_columns_that_the_trainer_reads(to: str, tmp_path: Path) -> None:
    needs(to)
    assert list(EXPECTED) == list(FORMATS)
    export([MATH], to, tmp_path / "out", system="Be brief.")
    (row,) = rows_in(tmp_path / "out", to)
    assert row == EXPECTED[to]
    if FORMATS[to].plain:
        export([MATH], to, tmp_path / "plain", system="Be brief.", plain=True)
        (row,) = rows_in(tmp_path / "plain", to)
        assert row["input" if to == "openrlhf" else "prompt"] == "Be brief.\n\nWhat is 2 + 5?"
        assert row.get("completion") in (None, MATH["response"])


@formats
def test_an_export_that_is_read_back_is_rewarded_alike(to: str, tmp_path: Path) -> None:
    needs(to)
    before, rewards = examples(), get_reward_functions()
    assert {row["language"] for row in before} == {"python", "javascript", ""}
    export(before, to, tmp_path / "out")
    after = list(read_export(tmp_path / "out", to))
    assert len(after) == len(before)
    for old, new in zip(before, after, strict=True):
        assert {name: new[name] for name in old} == old
        for completion in (old["response"], tagged("no"), ""):
            native = score(sample_of(old), completion, rewards)
            assert score(sample_of(new), completion, rewards) == native
            assert native.passed == (completion == old["response"])


def test_hubs_get_a_folder_that_they_run_and_that_is_replaced_whole(tmp_path: Path) -> None:
    folder = tmp_path / "2nd Set"
    for to, files in {
        "verifiers": "pyproject.toml rows_2nd_set/__init__.py rows_2nd_set/rows/train.jsonl",
        "ors": "Dockerfile requirements.txt rows/train.jsonl server.py",
        "nemo-gym": "resources_servers/rows_2nd_set/app.py "
        "resources_servers/rows_2nd_set/configs/rows_2nd_set.yaml "
        "resources_servers/rows_2nd_set/requirements.txt "
        "resources_servers/rows_2nd_set/rows/train.jsonl",
    }.items():
        for overwrite in (False, True):
            export([MATH], to, folder, overwrite=overwrite)
        assert sorted(path.relative_to(folder).as_posix() for path in files_in(folder)) == sorted(
            ["README.md", *files.split()]
        )
        for path in files_in(folder):
            if path.suffix == ".py":
                compile(path.read_text(encoding="utf-8"), path.name, "exec")
        (folder / "notes.txt").write_text("mine", encoding="utf-8")
        with pytest.raises(UsageError, match="holds more than an export"):
            export([MATH], to, folder, overwrite=True)
        shutil.rmtree(folder)


@pytest.mark.parametrize("to", ["verifiers", "ors", "harbor", "nemo-gym"])
def test_each_file_that_installs_this_package_says_that_it_is_on_no_index(
    to: str, tmp_path: Path
) -> None:
    export([MATH], to, tmp_path / "out", about=About("x", "cc-by-4.0"))
    texts = [path.read_text("utf-8") for path in (tmp_path / "out").rglob("*") if path.is_file()]
    installing = [text for text in texts if "infinite-rl>=" in text or "pip install" in text]
    assert installing and all("not on PyPI yet" in text for text in installing)
    assert "not on PyPI yet" in (tmp_path / "out" / "README.md").read_text("utf-8")


def test_the_configuration_of_nemo_gym_names_the_licence_as_it_does(tmp_path: Path) -> None:
    known = {"cc-by-4.0": "Creative Commons Attribution 4.0 International", "odc-by": "TBD"}
    for license_, name in known.items():
        export([MATH], "nemo-gym", tmp_path / license_, about=About("x", license_))
        (config,) = (tmp_path / license_).rglob("x.yaml")
        assert f"license: {name}\n" in config.read_text("utf-8")


def test_an_export_is_replaced_also_under_another_name_and_in_another_format(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "env"
    export([MATH], "verifiers", folder, about=About("ferry_env"))
    with pytest.raises(UsageError, match="holds an export already: --overwrite replaces it"):
        export([MATH], "verifiers", folder)
    for to in ("verifiers", "nemo-gym", "ors", "trl"):  # the first without the name of before
        export([MATH], to, folder, overwrite=True)
        export([MATH], to, folder, about=About("Ferry, 2nd"), overwrite=True)
    assert sorted(path.name for path in files_in(folder)) == ["README.md", "train.parquet"]
    export([MATH], "verifiers", folder, about=About("ferry_env"), overwrite=True)
    (folder / "ferry_env" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="holds more than an export"):
        export([MATH], "verifiers", folder, overwrite=True)


def test_a_task_of_harbor_has_its_gold_in_no_file_that_the_agent_gets(tmp_path: Path) -> None:
    rows = [{**MATH, "answer": "918273", "response": tagged("918273"), "id": "../up"}] * 2
    export(rows, "harbor", tmp_path / "out")
    tasks = sorted((tmp_path / "out" / "train").iterdir())
    assert [task.name for task in tasks] == ["000001-up", "000002-up"]
    for task in tasks:
        holding = [path for path in files_in(task) if "918273" in path.read_text(encoding="utf-8")]
        names = sorted(path.relative_to(task).as_posix() for path in holding)
        assert names == ["solution/response.txt", "tests/row.jsonl"]


@pytest.mark.parametrize(
    ("answer", "reward"), [(tagged("7"), 1.0), (tagged("8"), 0.0), ("", 0.0), (None, 0.0)]
)
def test_the_verifier_of_harbor_judges_the_file_of_the_agent(
    answer: str | None, reward: float, tmp_path: Path
) -> None:
    export([MATH], "harbor", tmp_path / "out")
    (row,) = (tmp_path / "out").rglob("row.jsonl")
    written, paid = tmp_path / "answer.txt", tmp_path / "reward.json"
    if answer is not None:
        written.write_text(answer, encoding="utf-8")
    assert judge(row, written, paid) == ""
    assert json.loads(paid.read_text(encoding="utf-8")) == {"reward": reward}


def test_the_verifier_of_harbor_writes_no_reward_without_a_verdict(tmp_path: Path) -> None:
    export([{**MATH, "answer": "\\frac{"}], "harbor", tmp_path / "out")
    (row,) = (tmp_path / "out").rglob("row.jsonl")
    written, paid = tmp_path / "answer.txt", tmp_path / "reward.json"
    written.write_text(tagged("7"), encoding="utf-8")
    assert "not scored" in judge(row, written, paid)
    assert not paid.exists()


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
filled = texts.filter(str.strip)
samples = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["math", "coding", "instruction", "gsm8k"]),
        "prompt": filled,
        "answer": texts,
        "response": filled,
        "language": st.sampled_from(["", "python", "javascript"]),
        "id": filled,
        "split": st.sampled_from(["train", "test"]),
    }
)


@pytest.mark.parametrize(
    ("to", "plain"),
    [(to, plain) for to in EXPECTED for plain in (False, True) if FORMATS[to].plain or not plain],
)
@settings(deadline=None, max_examples=25)
@given(rows=st.lists(samples, min_size=1, max_size=4), system=st.none() | st.just("") | filled)
def test_any_text_survives(
    to: str,
    plain: bool,
    rows: list[dict[str, str]],
    system: str | None,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    needs(to)
    if system is not None and not system.strip():
        system = ""
    folder = tmp_path_factory.mktemp("any") / "out"
    export(rows, to, folder, system=system, plain=plain)
    found = sorted(read_export(folder, to, system=system), key=repr)
    assert sorted(map(repr, map(sorted, map(dict.items, found)))) == sorted(
        map(repr, map(sorted, map(dict.items, rows)))
    )


def test_the_default_instructions_are_exported_and_none_on_request(tmp_path: Path) -> None:
    for system, roles in ((None, ["system", "user"]), ("", ["user"])):
        export([MATH], "nemo-gym", tmp_path / "out", system=system, overwrite=True)
        (row,) = rows_in(tmp_path / "out", "nemo-gym")
        messages = row["responses_create_params"]["input"]
        assert [each["role"] for each in messages] == roles
        assert system == "" or messages[0]["content"] == default_system_prompt(sample_of(MATH))
    needs("open-instruct")  # which may drop the last of several messages
    export([MATH], "open-instruct", tmp_path / "one")
    (row,) = read(tmp_path / "one" / "train.parquet")
    assert [each["role"] for each in row["messages"]] == ["user"]


def test_a_line_for_nemo_gym_is_a_request_to_the_responses_api(tmp_path: Path) -> None:
    pytest.importorskip("openai.types.responses", reason="openai before 1.66 has none")
    from openai.types.responses import EasyInputMessageParam
    from pydantic import TypeAdapter

    export(examples(), "nemo-gym", tmp_path / "out")
    lines = TypeAdapter(list[EasyInputMessageParam])
    for row in rows_in(tmp_path / "out", "nemo-gym"):
        assert lines.validate_python(row["responses_create_params"]["input"], strict=True)


@formats
def test_datasets_loads_the_folder_with_its_splits(
    to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    rows = [{**MATH, "prompt": f"{n}\u2028\x00🧮", "split": ""} for n in range(3)]
    rows[1]["split"] = "validation"
    export(rows, to, tmp_path / "out", split="seen", system="Be brief.")
    loaded = datasets.load_dataset(str(tmp_path / "out"), cache_dir=str(tmp_path / "cache"))
    assert {split: len(part) for split, part in loaded.items()} == {"seen": 2, "validation": 1}
    for split in ("seen", "validation"):
        assert loaded[split].to_list() == rows_in(tmp_path / "out", to, split)


def test_datasets_loads_late_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)

    def loaded(rows: list[dict[str, Any]], to: str) -> Any:
        export(rows, to, tmp_path / to, overwrite=True)
        return datasets.load_dataset(str(tmp_path / to), cache_dir=str(tmp_path / "cache"))

    rated = {**MATH, "split": "train", "score": 0.5, "n": None}
    for to in ("jsonl", "parquet"):
        both = loaded([rated, {**MATH, "split": "test", "source": "gsm8k", "n": 1}], to)
        assert both["train"][0] == {**rated, "source": None}
        assert both["test"][0]["score"] is None and both["test"][0]["n"] == 1
    long = {**MATH, "score": None, "n": 1, "response": "y" * 1_000_000}
    late = {**MATH, "score": 0.5, "n": 1.5, "ok": True, "naïve: 🧮": "x"}
    train = loaded([long] * 11 + [late], "jsonl")["train"]  # types are guessed from 10 MB
    assert train[11] == late
    assert train[0] == {**long, "ok": None, "naïve: 🧮": None}


# --- what cannot be exported ---------------------------------------------------------------------
BAD: tuple[tuple[dict[str, Any], str], ...] = (
    ({"prompt": " \n"}, "prompt is blank"),
    ({"answer": None}, "no column 'answer'"),
    ({"prompt": ["7"]}, "the column 'prompt' holds list, not text"),
    ({"prompt": [{"content": "7"}]}, "list, not text: these are messages, as in an export; give"),
    ({"response": "\ud83d"}, "response is no valid Unicode"),
    ({"answer": "\ud83d"}, "answer is no valid Unicode"),
    *(({"split": split}, "no name for a split") for split in ("../x", "all", 1)),
)


@pytest.mark.parametrize("to", [name for name, each in FORMATS.items() if each.make])
def test_a_row_that_cannot_be_exported_is_named(to: str, tmp_path: Path) -> None:
    needs(to)
    for change, said in BAD:
        with pytest.raises(UsageError, match=rf"row 2 \(sum-8\) cannot be exported: .*{said}"):
            export([MATH, {**MATH, "id": "sum-8", **change}], to, tmp_path / "out")
    if FORMATS[to].learns:
        with pytest.raises(UsageError, match="row 1 .* is blank"):
            export([{**MATH, "response": ""}], to, tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("to", ["jsonl", "parquet"])
def test_rows_stay_as_they_are_where_no_trainer_is_named(to: str, tmp_path: Path) -> None:
    needs(to)
    pair = {"prompt": "?", "chosen": "yes", "rejected": "no", "margin": 0.5, "tags": ["a"]}
    export([pair], to, tmp_path / "out")
    assert list(read_export(tmp_path / "out", to)) == [pair]
    for bad in ({"tags": ["\udc00"]}, {"\udc00": 1}, {"deep": {"er": "\udc00"}}):
        with pytest.raises(UsageError, match=r"row 1 cannot .* valid Unicode"):
            export([{**pair, **bad}], to, tmp_path / "bad")
    with pytest.raises(UsageError, match=r"row 1 cannot .* JSON serializable"):
        export([{**pair, "when": object()}], to, tmp_path / "bad")
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(UsageError, match=r"row 1 cannot .* recursion"):
        export([{**pair, "deep": deep}], to, tmp_path / "bad")
    with pytest.raises(UsageError, match="there is no prompt"):
        export([{"question": "?"}], to, tmp_path / "bad")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_wrong_call_is_refused_and_writes_nothing(tmp_path: Path) -> None:
    out, many = tmp_path / "out", [{**MATH, "split": f"s{n}"} for n in range(51)]
    cases: list[tuple[str, Callable[[], object]]] = [
        ("UsageError: .*no row", partial(export, [], "jsonl", out)),
        ("unknown format 'csv'; known: harbor, jsonl", partial(export, [MATH], "csv", out)),
        ("more than 50 splits", partial(export, many, "jsonl", out)),
        (
            "verl takes messages; .* trl, openrlhf, sft",
            partial(export, [MATH], "verl", out, plain=True),
        ),
    ]
    assert_none(unlike(cases))
    assert not list(tmp_path.iterdir())


def test_an_export_is_replaced_on_request_alone_and_whole(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    export([{**MATH, "split": "test"}], "jsonl", folder)  # an empty folder is fine
    with pytest.raises(UsageError, match="holds an export already: --overwrite replaces it"):
        export([MATH], "jsonl", folder)
    with pytest.raises(UsageError, match="row 1"):
        export([{**MATH, "split": "all"}], "jsonl", folder, overwrite=True)
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "test.jsonl"]
    export([MATH], "jsonl", folder, overwrite=True)
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "train.jsonl"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_is_no_export_is_never_replaced(tmp_path: Path) -> None:
    for number, other in enumerate(("notes.txt", "train.jsonl/inner", "README.md", "README.md/x")):
        folder = tmp_path / str(number)
        (folder / other).parent.mkdir(parents=True)
        (folder / other).write_text("mine")
        for overwrite in (True, False):
            with pytest.raises(UsageError, match="more than an export: choose another folder"):
                export([MATH], "jsonl", folder, overwrite=overwrite)
        assert (folder / other).read_text() == "mine"
    (tmp_path / "file").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "link").symlink_to(tmp_path / "0")
    for name in ("file", "dangling", "link"):
        with pytest.raises(UsageError, match="is no folder"):
            export([MATH], "jsonl", tmp_path / name, overwrite=True)
    with pytest.raises(StoreError, match="cannot write"):
        export([MATH], "jsonl", tmp_path / "file" / "out")


def test_another_file_is_no_export(tmp_path: Path) -> None:
    export([MATH], "nemo-gym", tmp_path / "out")
    with pytest.raises(UsageError, match="no export for verifiers: in row 1, there is no prompt"):
        list(read_export(tmp_path / "out", "verifiers"))
    with pytest.raises(UsageError, match="no .parquet file"):
        list(read_export(tmp_path / "out", "verl"))
    (tmp_path / "out" / "train.jsonl").write_text(
        json.dumps({**EXPECTED["nemo-gym"], "ground_truth": "7"})
    )
    with pytest.raises(UsageError, match="no ground truth of this package.*export. writes it"):
        list(read_export(tmp_path / "out", "nemo-gym"))


# --- shapes --------------------------------------------------------------------------------------
def test_a_fault_says_where_it_is() -> None:
    cases: tuple[tuple[object, object, str], ...] = (
        ("x", TEXT, ""),
        ("", str, ""),
        ("", TEXT, "it is blank"),
        (1, TEXT, "it is no text"),
        (1, int, ""),
        (True, int, "it is no whole number"),
        ({"a": 1}, {"a": int}, ""),
        ({}, {"a": int}, "there is no it.a"),
        ([], {"a": int}, "it is no object"),
        (TASK, MESSAGES, ""),
        ([], MESSAGES, "it is no list with something in it"),
        ([{"role": "user", "content": ""}], MESSAGES, "it[0].content is blank"),
        ("x", (MESSAGES, TEXT), ""),
        (7, (MESSAGES, TEXT), "it is no list with something in it"),
        ([{"a": ("x", None, 1.5)}], ANY, ""),
        ([{"a": ("x", "\udfff")}], ANY, "it[0].a[1] is no valid Unicode at character 0"),
    )
    assert [case for case in cases if fault_of(case[0], case[1], "it") != case[2]] == []
    assert pack(sample_of(MATH)) == TRUTH


def test_the_documentation_lists_each_formats_columns() -> None:
    text = (ROOT / "docs" / "export.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)` \|.*\| (.*) \|$", text, re.M))
    for to, row in EXPECTED.items():
        if to not in ("jsonl", "parquet"):
            assert re.findall(r"`(\w+)[^`]*`", rows[to]) == list(row), to
