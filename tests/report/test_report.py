"""The page about a data set, as far as it can be told without a browser."""

import csv
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hostile_rows import ROWS, TEXTS

from infinite_rl.cli import main
from infinite_rl.dataset.rows import write
from infinite_rl.errors import StoreError, UsageError
from infinite_rl.generator import generate_dataset
from infinite_rl.report import about, report
from infinite_rl.report.family import Families
from infinite_rl.report.page import embedded, page
from infinite_rl.report.sample import RowSample, Truncated, cell, similar_prompts
from infinite_rl.report.statistics import Statistics, histogram, length_histogram
from infinite_rl.report.tasks import Tasks
from infinite_rl.store import DATASET_COLUMNS, FAILED_COLUMNS, Store
from infinite_rl.tasks import TASKS
from infinite_rl.types import (
    Attempt,
    Completion,
    Outcome,
    RewardFunctionScore,
    Sample,
    Slot,
)


def content_of(text: str) -> Any:
    (found,) = re.findall(r'<script type="application/json" id="content">(.*?)</script>', text)
    return json.loads(found)


def rows_of(text: str) -> list[dict[str, Any]]:
    content = content_of(text)
    return [dict(zip(content["columns"], row, strict=True)) for row in content["rows"]]


def made(rows: Any, folder: Path, **options: Any) -> str:
    path = folder / "page.html"
    report(rows, path, **options)
    return path.read_text(encoding="utf-8")


def run_folder(folder: Path) -> Path:
    """A run's folder with three rows kept, and two rejected for different reasons."""
    folder.mkdir(exist_ok=True)
    kept = [{"type": "math", "prompt": f"{n} + 1?", "answer": str(n)} for n in range(3)]
    errors = ["wrong: 3 is not 4", "a reason of a later version"]
    failed = [{"type": "math", "prompt": f"{error}?", "error_msg": error} for error in errors]
    for name, columns, rows in (
        ("dataset.csv", DATASET_COLUMNS, kept),
        ("failed_dataset.csv", FAILED_COLUMNS, failed),
    ):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, restval="")
            writer.writeheader()
            writer.writerows(rows)
    manifest = {"settings": {"model": "m-1"}, "totals": {"calls": 7, "cost": 0.25}}
    (folder / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    return folder


# The page: nothing of a row is markup, and nothing is loaded.
def test_hostile_rows_are_read_back_exactly_and_add_no_element(tmp_path: Path) -> None:
    text = made(ROWS, tmp_path, title="</title><script>alert(1)</script>")
    assert [row["prompt"] for row in rows_of(text)] == list(TEXTS.values())
    assert len(TEXTS["long"]) == 1_000_000  # is whole if there is room
    content = text.split('id="content">')[1].split("</script>")[0]
    assert content.isascii() and "<" not in content
    ordinary = made([], tmp_path, title="ordinary")
    for sign in ("<script", "</script", "<style", "<img", "<!--", "<a ", "onerror="):
        outside = re.sub(r'id="content">.*', "", text)
        assert outside.count(sign) == re.sub(r'id="content">.*', "", ordinary).count(sign), sign
    same = made(iter(ROWS), tmp_path, title="</title><script>alert(1)</script>")
    assert same == text, "the same rows make the same page"


def test_the_page_loads_nothing_and_runs_only_what_its_policy_names(tmp_path: Path) -> None:
    text = made([], tmp_path)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy and "http" not in policy and "data:" not in policy
    namespaces = re.findall(r"https?://[\w./]+", text)
    assert {address.split("/")[2] for address in namespaces} <= {"www.w3.org"}  # MathML and SVG
    assert not re.findall(r"<link|\ssrc=|\shref=|@import|url\(|import\(|fetch\(|XMLHttp", text)


def test_the_scripts_make_no_nodes_of_text_and_declare_no_name_twice() -> None:
    text = page("", {})
    for sign in (
        *("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "DOMParser"),
        *("Function(", 'setAttribute("on'),
    ):
        assert sign not in text
    script = text.split("<script>")[1]
    declared = re.findall(r"^(?:const|let|(?:async )?function|class) (\w+)", script, re.MULTILINE)
    assert len(declared) > 50
    assert [name for name, count in Counter(declared).items() if count > 1] == []


def test_the_title_is_escaped_and_without_marks_that_turn_text(tmp_path: Path) -> None:
    text = made([], tmp_path, title="a </title> \u202e b \ud83d")
    assert "<title>a &lt;/title&gt;  b </title>" in text
    assert content_of(text)["title"] == "a </title> \u202e b \ud83d"


def test_embedded_content_is_ascii_json_without_an_angle_bracket() -> None:
    for text in ("</script>", "<!--", "\u2028", "\ud800", "\x00", "é"):
        content = embedded({"text": text})
        assert content.isascii() and "<" not in content
        assert json.loads(content) == {"text": text}


# What is shown, and what is left out.
def test_of_more_rows_than_fit_a_fair_sample_is_shown_in_order(tmp_path: Path) -> None:
    text = made(({"n": n} for n in range(1_000)), tmp_path, most=100)
    shown = [row["n"] for row in rows_of(text)]
    assert len(shown) == 100 and shown == sorted(set(shown))
    assert 30 <= sum(n < 500 for n in shown) <= 70
    assert content_of(text)["seen"] == 1_000


def test_long_texts_are_cut_until_all_fit_and_the_page_says_so(tmp_path: Path) -> None:
    rows = [{"prompt": "short"}, *({"prompt": "x" * 10_000} for _ in range(9))]
    made_of = report(rows, tmp_path / "page.html", budget=20_000)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert (made_of.cut, made_of.limit) == (9, content_of(text)["limit"])
    assert rows_of(text)[0]["prompt"] == "short"
    assert rows_of(text)[1]["prompt"] == ["x" * made_of.limit, 10_000]
    assert 9 * made_of.limit + 5 <= 20_000 < 9 * (made_of.limit + 1) * 5 / 4 + 5
    shown = RowSample(10, 1_000)
    for size in (800, 5_000, 7_000):
        shown.add({"text": "x" * size})
    texts = [row["text"] for row in shown.rows]  # truncated, they keep the length of the whole
    assert [each.of for each in texts if isinstance(each, Truncated)] == [800, 5_000, 7_000]


def test_a_value_that_a_browser_cannot_hold_exactly_becomes_text() -> None:
    for same in (None, True, 7):
        assert cell(same) == same
    assert cell(2**53 + 1) == "9007199254740993"
    assert (cell(float("nan")), cell(float("inf"))) == ("nan", "inf")
    assert (cell([1, "é"]), cell(b"123")) == ('[1, "é"]', "3 bytes")


# Statistics.
def statistics(rows: list[dict[str, Any]]) -> Statistics:
    found = Statistics()
    for row in rows:
        found.add(row)
    return found


def test_a_column_is_a_facet_a_quantity_a_constant_or_an_identifier() -> None:
    found = statistics([{"type": kind} for kind in ("math", "math", "coding")])
    assert found.facets() == ["type"]
    (plot,) = found.plots()
    assert (plot["kind"], plot["bars"]) == ("bars", [["math", 2], ["coding", 1]])

    texts = {"pass_rate": "0.5", "answer": "3", "majority_answer": "3", "seed": "17", "id": "4"}
    found = statistics([texts, {**texts, "pass_rate": "0.75", "answer": "4", "seed": "18"}])
    numeric = [name for name, column in found.columns.items() if column.numeric]
    assert numeric == ["pass_rate"]
    assert [plot["title"] for plot in found.plots()] == ["pass_rate"]

    found = statistics([{"type": "math", "reward_version": version} for version in (1, 2)])
    assert not found.columns["reward_version"].numeric
    assert found.plots() == [] and found.facets() == []
    for other in ("wide", "nan", "1_000", True, [1]):
        assert not statistics([{"score": 0.25}, {"score": other}]).columns["score"].numeric
    found = statistics([{"model": "m", "aux_score": 0.0}] * 3)
    assert found.constants() == [("model", "m"), ("aux_score", "0.0")]
    assert found.plots() == []


def test_every_number_is_in_one_bar() -> None:
    ranges = ([0.0, 0.5, 1.0], [3, 9, 9, 4], [-1.5, 2.25, 7.75], [1, 1_000_000], [0.001, 0.002])
    for numbers in ranges:
        plot = histogram("x", numbers)
        edges, counts = plot["edges"], plot["counts"]
        assert sum(counts) == len(numbers) and len(edges) == len(counts) + 1
        assert edges == sorted(set(edges)) and edges[0] <= min(numbers)
        for low, high, count in zip(edges, edges[1:], counts, strict=False):
            last = high == edges[-1]
            assert count == sum(low <= n < high or (last and n == high) for n in numbers)
    assert histogram("x", [0.25, 0.5])["edges"][::20] == [0.0, 1.0]
    assert histogram("x", [1, 2, 5])["edges"] == [1, 2, 3, 4, 5, 6]
    plot = length_histogram("prompt", [3, 7, 40, 40])
    assert plot["edges"] == [2, 5, 10, 20, 50] and plot["counts"] == [1, 1, 0, 2]


def test_cost_and_difficulty_are_told_by_type() -> None:
    rows = [
        {"type": kind, "cost": str(cost), "pass_rate": rate}
        for kind, cost, rate in (("math", 0.5, 0.0), ("math", 0.25, 1.0), ("coding", 2.0, 0.25))
    ]
    plots = {plot["title"]: plot.get("bars") for plot in statistics(rows).plots()}
    assert plots["cost by type, $"] == [["coding", 2.0], ["math", 0.75]]
    assert plots["mean pass_rate by type"] == [["coding", 0.25], ["math", 0.5]]


# Nearest prompts.
def test_similar_prompts_come_first_and_different_ones_not_at_all() -> None:
    prompts = [
        "A farmer has twelve sheep and buys five more; how many sheep has the farmer now?",
        "Name the capital of France, and say in which year it became that.",
        "A farmer has twelve sheep and buys nine more; how many sheep has the farmer now?",
        "A farmer has twelve sheep and buys five more; how many sheep has the farmer now?",
        "",
    ]
    (first, second, third) = similar_prompts(prompts)
    assert first == (0, 3, 1.0)
    assert {second[:2], third[:2]} == {(0, 2), (2, 3)}
    assert 0.3 < second[2] == third[2] < 1
    little = ["how many sheep are " + " ".join(f"{name}{n}" for n in range(9)) for name in "ab"]
    assert similar_prompts(little) == [], "one trigram in common is below the least similarity"
    template = [f"What is the sum of the numbers {n} and {n + 1}?" for n in range(10_000)]
    assert 0 < len(similar_prompts(template)) <= 20


# What was asked of the task engine.
def asked(concept: str, level: str, number: int, **more: Any) -> dict[str, Any]:
    """A row that the task engine made."""
    row = {"id": f"id{number}", "type": "math", "prompt": f"Prompt {number}", "answer": "7"}
    return {**row, "concept": concept, "level": level, "parent": "", **more}


def test_the_map_has_rows_acceptance_pass_rate_and_cost_of_each_concept_and_level() -> None:
    tasks = Tasks()
    for row in (
        asked("graphs", "2", 1, outcome="kept", pass_rate="0.25", cost="0.5"),
        asked("graphs", "2", 2, outcome="kept", pass_rate="0.75", cost="0.5"),
        asked("graphs", "2", 3, outcome="too easy", cost="1.5"),
        asked("graphs", "10", 4, outcome="repeat"),
        asked("strings", "", 5),
        {"type": "math", "prompt": "no concept", "cost": "9"},
    ):
        tasks.add(row)
    found = tasks.content()["map"]
    assert (found["levels"], found["concepts"]) == (["2", "10", ""], 2)
    graphs = [[2, 1, 1.0, 2.0, 2.5, ["too easy", 1]], [0, 1, 0, 0, 0, ["repeat", 1]], 0]
    assert found["groups"] == [["", [["graphs", graphs], ["strings", [0, 0, [1, 0, 0, 0, 0]]]]]]


@pytest.mark.slow
def test_many_concepts_are_grouped_by_area_or_the_rarer_ones_together() -> None:
    of_areas, plain, endless = Tasks(), Tasks(), Tasks()
    for n in range(300):
        axes = {"area": f"area {n % 3}"} if n else {"area": ["no text"]}
        of_areas.add(asked(f"concept {n}", "1", n, axes=json.dumps(axes)))
        of_areas.add(asked(f"concept {n}", "2", n, outcome="wrong"))  # as in a run: without axes
        for _ in range(2 if n == 250 else 1):
            plain.add(asked(f"concept {n}", "1", n, axes='{"area":' * 100_000))
    groups = of_areas.content()["map"]["groups"]
    assert [(area, len(lines)) for area, lines in groups] == [
        ("area 1", 100), ("area 2", 100), ("area 0", 99), (None, 1),
    ]  # fmt: skip
    (first, shown), (rest, folded) = plain.content()["map"]["groups"]
    assert (first, rest, len(shown), len(folded)) == ("", None, 30, 270)
    assert shown[0][0] == "concept 250", "the most frequent come first"
    for n in range(5_000):
        endless.add(asked(f"concept {n}", str(n), n))
    endless.add(asked("x" * 1_000, "1", 0))
    found = endless.content()["map"]
    names = [name for _, lines in found["groups"] for name, _ in lines]
    assert (found["concepts"], len(names), names[-1]) == (1_000, 1_001, None)
    assert len(found["levels"]) == 13 and found["levels"][-1] is None
    cells = [cell for _, lines in found["groups"] for _, line in lines for cell in line if cell]
    assert sum(cell[0] for cell in cells) == 5_001, "all rows are counted"


def test_rows_of_the_engine_tell_how_many_tasks_they_are_and_others_do_not() -> None:
    tasks = Tasks()
    sheep = "A farmer has {} sheep and buys more; how many sheep graze on the meadow now?"
    trains = "Two trains leave distant stations towards each other. When do their drivers wave?"
    for number, prompt in enumerate([*map(sheep.format, (7, 12, 30)), trains]):
        tasks.add(asked("sums", "1", number, prompt=prompt, answer=str(number)))
    tasks.add(asked("sums", "1", 5, prompt="Rejected?", outcome="wrong"))
    found = tasks.content()["distinct"]
    assert (found["rows"], found["tasks"], found["drawn"]) == (4, 2, False)
    assert round(found["effective"], 3) == 1.755  # exp of the entropy of 3/4 and 1/4
    others = Tasks()
    others.add({"prompt": "?", "level": "1"})
    assert others.content() == {"map": None, "distinct": None}


def test_a_family_has_rows_rejected_rows_seeds_and_what_is_not_shown() -> None:
    families = Families()
    for row in (
        {"id": "a", "prompt": "A", "parent": "seed b", "outcome": "kept"},
        {"id": "b", "prompt": "B", "parent": None, "outcome": "too easy"},
        {"id": "c", "prompt": "C" * 1_000, "parent": "a a", "outcome": "kept"},
        {"id": "c", "prompt": "a duplicate", "parent": "", "outcome": "duplicate"},
        {"id": "d", "prompt": "D", "parent": "", "outcome": "kept"},
    ):
        families.add(row)
    assert families.content(["d", "a", "", "b"]) == [
        ["a", "", "kept", 1, [2, 1]],
        ["b", "", "too easy", 3, []],
        ["seed", "", None, -1, []],
        ["c", "C" * 100, "kept", -1, [0]],
    ]
    assert families.content(["d"]) == []
    without = Families()
    without.add({"id": "a", "prompt": "no such column"})
    assert without.content(["a"]) == []


def test_families_are_bounded_and_circles_end() -> None:
    families = Families()
    for n in range(30_000):
        families.add({"id": str(n), "prompt": "x" * 200, "parent": f"{(n + 1) % 30_000} {n}"})
    families.add({"id": "many", "parent": " ".join(map(str, range(1_000)))})
    nodes = families.content(["many"])
    assert len(nodes) == 20_000 and len(nodes[0][4]) == 20


def test_a_runs_rejected_row_is_found_as_the_parent_of_its_harder_version(tmp_path: Path) -> None:
    first = Completion("text", "m", labels={"concept": "graphs", "level": "1", "parent": "seed"})
    sample = Sample("math", "Easy?", "1", "\\boxed{1}")
    attempt = Attempt(Slot("math", 0), TASKS["math"], "", 1)
    easy = Outcome(attempt, sample, RewardFunctionScore(1.0, 1.0), first, reason="too easy")
    second = replace(first, labels={"concept": "graphs", "level": "2", "parent": sample.id})
    hard = replace(easy, sample=replace(sample, prompt="Hard?"), completion=second, reason="")
    with Store(tmp_path / "run") as store:
        store.append(easy)
        store.append(hard)
    content = content_of(made(tmp_path / "run", tmp_path))
    assert [[outcome, number, parents] for _, _, outcome, number, parents in content["family"]] == [
        ["kept", 0, [1]], ["too easy", 1, [2]], [None, -1, []],
    ]  # fmt: skip
    (group,) = content["map"]["groups"]
    assert group[1][0][1] == [[0, 1, 0, 0, 0, ["too easy", 1]], [1, 0, 0, 0, 0]]


# The run's folder, and the command.
def test_a_runs_folder_brings_what_was_rejected_with_the_reason(tmp_path: Path) -> None:
    text = made(run_folder(tmp_path / "run"), tmp_path)
    outcomes = [row["outcome"] for row in rows_of(text)]
    assert outcomes == ["kept", "kept", "kept", "wrong", "rejected"]
    content = content_of(text)
    assert (content["seen"], content["kept"], content["title"]) == (5, 3, "run")
    assert dict(map(tuple, content["about"])) == {"calls": "7", "cost, $": "0.25", "model": "m-1"}
    settings = {"task_dist": {"math": 1.0}, "topics": [], "languages": ["a", "b"]}
    told = [("task_dist", "math 1.0"), ("languages", "a, b")]
    assert about({"settings": settings}) == told and about({}) == []


def test_a_kept_row_has_its_certificate_in_words(tmp_path: Path) -> None:
    generate_dataset("p", 1, tmp_path, task_dist="0,1", provider="procedural")
    (row,) = rows_of(made(tmp_path, tmp_path))
    assert row["certificate"].startswith("Written by procedural-")
    assert "wrong solutions" in row["certificate"] and "Its answer was" in row["certificate"]


def test_rows_without_the_usual_columns_and_no_rows_make_a_page(tmp_path: Path) -> None:
    assert rows_of(made([], tmp_path)) == []
    assert rows_of(made([{"x": 1}, {"y": [None]}], tmp_path)) == [
        {"x": 1, "y": None},
        {"x": None, "y": "[null]"},
    ]


def test_a_missing_source_or_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot write"):
        report([], tmp_path / "file" / "page.html")
    with pytest.raises(UsageError, match="there is no"):
        report(tmp_path / "absent.jsonl", tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_the_command_says_what_it_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(ROWS[:2], tmp_path / "rows.jsonl")
    words = ["report", str(tmp_path / "rows.jsonl"), "-o", str(tmp_path / "page.html")]
    assert main([*words, "--rows", "1", "--title", "Mine"]) == 0
    assert "rows: 2, in the browser: 1\n" in capsys.readouterr().out
    assert "<title>Mine</title>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert main(words) == 2
    assert "--overwrite replaces it" in capsys.readouterr().err
    assert main([*words, "--overwrite", "--rows", "0"]) == 2
    assert "rows must be at least 1" in capsys.readouterr().err
    rows = tmp_path / "rows.jsonl"
    before = rows.read_bytes()
    assert main(["report", str(rows), "-o", str(rows), "--overwrite"]) == 2
    assert "rows.jsonl must end in .html" in capsys.readouterr().err
    assert rows.read_bytes() == before
