"""A run may choose levels and families of procedural tasks; each row records its own."""

import csv
import json
from pathlib import Path

import pytest

from infinite_rl import cli, generate_dataset
from infinite_rl.dataset import load_dataset
from infinite_rl.errors import UsageError
from infinite_rl.files.logs import read_rows
from infinite_rl.generation.progress import Progress
from infinite_rl.procedural import ProceduralProvider, make_problem
from infinite_rl.procedural.families import (
    CODING,
    MATH,
    QUERIES,
    draw_level_and_family,
    families,
    family_levels,
    levels_of,
)
from infinite_rl.providers.scripted import ScriptedProvider
from infinite_rl.store import DATASET, DATASET_LATER, FAILED, Store
from infinite_rl.tasks import TASKS


def generate(out: Path, rows: int = 6, **options: object) -> Progress:
    return generate_dataset(
        "", rows, out, **{"provider": "procedural", "task_dist": "0,1", **options}
    )


def settings(out: Path) -> dict[str, object]:
    return dict(json.loads((out / "run.json").read_text())["settings"])


def column(out: Path, name: str) -> list[str]:
    return [row[name] for row in read_rows(out / DATASET)]


LEVELS = {"3": (3,), "3,1": (1, 3), "1-3": (1, 2, 3), " 1 - 2 , 2": (1, 2), None: None, 2: (2,)}
REFUSED = ("", "0", "6", "1-6", "3-1", "1,", "one", "1..2", 0, 9, [], [1, 6])


def test_levels_are_one_a_list_or_a_range_and_others_are_refused_in_one_line() -> None:
    assert {text: levels_of(text) for text in LEVELS} == LEVELS
    assert levels_of([3, 3, 2]) == (2, 3)
    for other in REFUSED:
        with pytest.raises(UsageError, match="^level is one of 1 to 5, a list such as 1,3.*$"):
            levels_of(other)


def test_the_chosen_levels_and_families_are_all_that_is_made() -> None:
    provider = ProceduralProvider(level="2-3", families=["graphs", "clocks", "rates"])
    for task, family in (("python", {"graphs", "clocks"}), ("math", {"rates"})):
        made = [provider.complete(TASKS[task].system_prompt, "", seed) for seed in range(40)]
        assert {each.labels["family"] for each in made} == family
        assert {each.labels["level"] for each in made} == {"2", "3"}


def test_a_family_is_drawn_for_the_levels_that_it_has_only() -> None:
    for task in ("math", "python", "sql"):
        for level in sorted({n for name in families(task) for n in family_levels(task, name)}):
            drawn = {draw_level_and_family(task, seed, [level])[1] for seed in range(400)}
            assert drawn == set(families(task, level))
    assert {draw_level_and_family("math", n, [3, 5], ["rates"])[0] for n in range(20)} == {3}
    with pytest.raises(UsageError, match="^rates: no level 5$"):
        make_problem("math", 1, 5, "rates")


def test_labels_are_those_of_the_text() -> None:
    for seed in range(20):
        made = ProceduralProvider().complete(TASKS["math"].system_prompt, "", seed)
        level, family = int(made.labels["level"]), made.labels["family"]
        assert make_problem("math", seed).prompt in made.text
        assert make_problem("math", seed, level, family).prompt in made.text


def test_an_unknown_family_or_level_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="unknown family 'grahps'; did you mean graphs"):
        ProceduralProvider(families=["grahps"])
    for level in (0, 6, -1):
        with pytest.raises(UsageError, match="level is one of 1 to 5"):
            ProceduralProvider(level=level)


def test_rows_record_family_and_level_and_a_journal_records_them_again(tmp_path: Path) -> None:
    options = {"level": [1, 3], "families": ["rates", "series"]}
    generate(tmp_path, **options)
    rows = load_dataset(tmp_path)
    assert set(rows["family"]) <= {"rates", "series"} and set(rows["level"]) <= {"1", "3"}
    for _, row in rows.iterrows():
        problem = make_problem("math", int(row["seed"]), int(row["level"]), row["family"])
        assert row["prompt"] == problem.prompt
    assert not any(rows["concept"] + rows["form"] + rows["axes"]), "nothing of the space is asked"
    labels = [sorted(column(tmp_path, name)) for name in ("id", "family", "level")]
    (tmp_path / DATASET).unlink()
    generate(tmp_path, **options)
    assert [sorted(column(tmp_path, name)) for name in ("id", "family", "level")] == labels


def test_a_data_set_of_an_earlier_version_gets_the_columns(tmp_path: Path) -> None:
    generate(tmp_path, 2)
    rows = list(read_rows(tmp_path / DATASET))
    assert {"family", "level", "concept", "pass_rate"} <= set(rows[0])
    names = [name for each in rows[0] if (name := DATASET_LATER.get(each, each))]
    assert "mutation_score" in names
    with (tmp_path / DATASET).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows({**row, "mutation_score": "0.5"} for row in rows)
    frame = load_dataset(tmp_path)
    assert list(frame["family"]) == ["", ""] and list(frame["verifier_recall"]) == ["0.5", "0.5"]
    with Store(tmp_path) as store:
        assert store.counts["math"] == 2
    generate(tmp_path, 3)
    *earlier, new = column(tmp_path, "level")
    assert earlier == ["", ""] and new in ("1", "2", "3")
    assert column(tmp_path, "verifier_recall") == ["0.5", "0.5", "1.0"]


def test_other_levels_or_families_are_other_settings(tmp_path: Path) -> None:
    generate(tmp_path, 2, level="2,1", families=["series", "rates"])
    recorded = settings(tmp_path)
    assert (recorded["level"], recorded["families"]) == ([1, 2], ["rates", "series"])
    generate(tmp_path, 3, level=[1, 2], families=["rates", "series"])
    with pytest.raises(UsageError, match=r"level was 1, 2, is 3 \(--level\)"):
        generate(tmp_path, 4, level=3, families=["rates", "series"])
    with pytest.raises(UsageError, match="families was rates, series, is not set"):
        generate(tmp_path, 4, level="1-2")


def test_a_folder_made_without_a_choice_goes_on_without_one(tmp_path: Path) -> None:
    generate(tmp_path, 1)
    record = json.loads((tmp_path / "run.json").read_text())
    for name in ("level", "families"):  # as before there were these
        assert record["settings"].pop(name) is None
    (tmp_path / "run.json").write_text(json.dumps(record))
    assert generate(tmp_path, 2).complete


def test_a_wanted_task_that_no_family_makes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no family is chosen for math tasks: choose of fractions"):
        generate(tmp_path, families=["graphs"], task_dist="0.5,0.5")
    with pytest.raises(UsageError, match="no chosen family of math tasks has level 5; it is a"):
        generate(tmp_path, level="3,5", families=["rates"])
    assert not list(tmp_path.iterdir())
    assert generate(tmp_path, 1, families=["graphs"], task_dist="1,0").complete


def test_they_are_refused_with_another_provider(tmp_path: Path) -> None:
    local = {"provider": "openai_compatible", "base_url": "http://localhost:1/v1"}
    for kinds in ({"level": 2}, {"families": ["graphs"]}):
        with pytest.raises(UsageError, match="^--level and --families choose.*openai_compatible$"):
            generate_dataset("m", 1, tmp_path, **kinds, **local)
    with pytest.raises(UsageError, match="the provider is ScriptedProvider"):
        generate(tmp_path, families=["rates"], provider=ScriptedProvider(["text"]))
    assert not (tmp_path / FAILED).exists()


FLAGS = {
    "--level 7": "level is one of 1 to 5, a list such as 1,3, or a range such as 1-2, not '7'",
    "--task_dist -1,2": "none may be negative",
    "--model_name ": "--model_name is empty",
    "--families rate": "did you mean rates?",
    "--families rates --task_dist 1,0": "no family is chosen for python tasks",
}


def test_a_command_refuses_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--out_dir", str(tmp_path), "--provider", "procedural"]
    for flags, message in FLAGS.items():
        assert cli.main(["generate", *out, *flags.split(" ")]) == 2
        error = capsys.readouterr().err.strip()
        assert message in error and "\n" not in error


def test_options_that_are_not_used_are_no_settings_of_the_folder(tmp_path: Path) -> None:
    unused = {"temperature": 0.5, "max_output_tokens": 9, "thinking": "low", "topics": ["knots"]}
    generate(tmp_path, 1, **unused, structured=True)
    expected = {**dict.fromkeys(unused), "topics": [], "structured": False}
    assert {name: settings(tmp_path)[name] for name in expected} == expected
    assert generate(tmp_path, 2).complete
    assert generate(tmp_path, 3, **{**unused, "temperature": 1.0}).complete


def test_the_command_makes_what_is_chosen(tmp_path: Path) -> None:
    out = ["--out_dir", str(tmp_path), "--provider", "procedural", "--num_samples", "4"]
    chosen = ["--level", "1-2", "--families", "rates, records", "--task_dist", "0.5,0.5"]
    assert cli.main(["generate", *out, *chosen]) == 0
    rows = load_dataset(tmp_path)
    labels = set(zip(rows["type"], rows["family"], strict=True))
    assert labels == {("math", "rates"), ("coding", "records")}


def test_the_documentation_lists_every_family() -> None:
    page = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")
    lines = {line.split("|")[1].strip(): line for line in page.splitlines() if "| `" in line}
    assert all(f"`{name}`" in lines["math"] for name in MATH)
    assert all(f"`{name}`" in lines["coding"] for name in CODING)
    assert all(f"`{name}`" in lines["sql"] for name in QUERIES)
