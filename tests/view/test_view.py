"""The viewer's index and its calls over HTTP: what is found, marked, exported and refused."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import requests
from hostile_rows import ROWS, TEXTS

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from viewing import TOKEN, until, viewing

from infinite_rl.dataset.rows import read, write
from infinite_rl.errors import StoreError, UsageError
from infinite_rl.files.logs import csv_line
from infinite_rl.store import DATASET_COLUMNS, FAILED_COLUMNS
from infinite_rl.view import Index, Marks, Viewer


def numbered(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"id-{n}",
            "type": "math" if n % 4 else "coding",
            "prompt": f"Prompt number {n}, {'even' if n % 2 == 0 else 'odd'} one",
            "answer": str(n),
            "pass_rate": n / count,
        }
        for n in range(count)
    ]


@pytest.fixture
def rows_file(tmp_path: Path) -> Path:
    write(numbered(200), path := tmp_path / "rows.jsonl")
    return path


def asked(url: str, q: str = "", **more: str) -> dict[str, Any]:
    answer = requests.get(f"{url}rows", params={"q": q, **more}, timeout=60)
    assert answer.status_code == 200, answer.text
    value: dict[str, Any] = answer.json()
    return value


def ids(url: str, q: str = "", **more: str) -> list[str]:
    rows = asked(url, q, **more)["rows"]
    return [
        requests.get(f"{url}row/{row['number']}", timeout=60).json()["row"]["id"] for row in rows
    ]


def mark(url: str, number: int, **more: Any) -> requests.Response:
    value = {"note": "", "tags": [], "selected": False, **more}
    return requests.post(f"{url}mark/{number}", json=value, timeout=60)


def run_folder(folder: Path, kept: int, failed: int) -> None:
    folder.mkdir(exist_ok=True)
    for name, columns, count, more in (
        ("dataset.csv", DATASET_COLUMNS, kept, {}),
        ("failed_dataset.csv", FAILED_COLUMNS, failed, {"error_msg": "wrong: 3 is not 4"}),
    ):
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            file.write(csv_line(columns))
        append(folder / name, columns, range(count), **more)


def append(path: Path, columns: Any, numbers: Any, **more: str) -> None:
    with path.open("a", encoding="utf-8", newline="") as file:
        for n in numbers:
            row = {"type": "math", "prompt": f"Prompt\n{n}", "id": f"r{n}", **more}
            file.write(csv_line([row.get(name, "") for name in columns]))


def test_words_phrases_columns_numbers_and_filters_find_their_rows(rows_file: Path) -> None:
    with viewing(Viewer(rows_file)) as url:
        for query, total in {
            "": 200,
            "NUMBER 19": 13,  # 19, 190 to 199, and of the rates 0.19, 0.195
            '"number 19"': 11,
            "number -odd": 100,
            "-even -type:math": 0,
            "-even": 100,
            "id:id-19": 11,
            "type:coding -answer:0": 49,
            "pass_rate>=0.5": 100,
            "pass_rate<0.01 -pass_rate=0.0": 1,
            "answer=19": 1,
            "no such thing": 0,
            "nocolumn:3": 0,
        }.items():
            assert asked(url, query)["total"] == total, query
        assert asked(url, "++ number")["ignored"] == ["++"]
        assert asked(url, values='{"type": "coding"}')["total"] == 50
        assert ids(url, sort="pass_rate", down="1")[:2] == ["id-199", "id-198"]
        assert ids(url, "type:coding", sort="pass_rate")[:2] == ["id-0", "id-4"]
        last = asked(url, **{"from": "150"})
        assert len(last["rows"]) == 50 and last["rows"][-1]["place"] == 200
        facets = dict(requests.get(f"{url}status", timeout=60).json()["facets"])
        assert facets == {"type": [["math", 150], ["coding", 50]]}


@pytest.mark.parametrize(
    "query", ['"', "f0:x", "NEAR(", "* OR *", "a AND", "{f0}: x", "'; --", "\x00", "\ud800"]
)
def test_no_query_reaches_the_language_of_the_index(rows_file: Path, query: str) -> None:
    with viewing(Viewer(rows_file)) as url:
        given = quote(query, errors="surrogatepass")
        answer = requests.get(f"{url}rows?q={given}", timeout=60)
        assert answer.status_code == 200
        assert answer.json()["total"] in (0, 200)


def test_a_row_has_its_place_in_any_search(rows_file: Path) -> None:
    with viewing(Viewer(rows_file)) as url:
        number = asked(url, "id:id-77")["rows"][0]["number"]
        for parameters, place in (({}, 77), ({"q": "odd"}, 38), ({"q": "even"}, -1),
                                  ({"sort": "pass_rate", "down": "1"}, 122)):  # fmt: skip
            found = requests.get(f"{url}place/{number}", params=parameters, timeout=60).json()
            assert found == {"place": place}


def test_hostile_rows_come_through_to_the_letter(tmp_path: Path) -> None:
    write(ROWS, tmp_path / "rows.jsonl")
    with viewing(Viewer(tmp_path / "rows.jsonl")) as url:
        assert asked(url)["total"] == len(ROWS)
        for number, text in enumerate(TEXTS.values(), 1):
            answer = requests.get(f"{url}row/{number}", timeout=60)
            assert answer.headers["content-type"] == "application/json"
            assert answer.json()["row"]["prompt"] == text


# --- marks and exports ---------------------------------------------------------------------------
def test_marks_outlive_the_viewer_and_follow_their_rows(rows_file: Path) -> None:
    with viewing(Viewer(rows_file)) as url:
        assert mark(url, 5, note="Wrong unit?\n\ud800", tags=["units", "units"]).status_code == 200
        assert mark(url, 9, selected=True).ok and mark(url, 10, selected=True).ok
        assert mark(url, 9).ok  # and not any more
        assert asked(url, values='{"@tag": "units"}')["total"] == 1
    write([{"id": "new", "prompt": "Another"}, *reversed(numbered(200))], rows_file)
    with viewing(Viewer(rows_file)) as url:
        assert ids(url, values='{"@noted": "yes"}') == ["id-4"]
        assert ids(url, values='{"@selected": "yes"}') == ["id-9"]
        (row,) = asked(url, values='{"@tag": "units"}')["rows"]
        assert row["mark"]["tags"] == ["units"] and "Wrong unit?" in row["mark"]["note"]


def test_a_mark_without_its_row_waits_and_changes_nothing(tmp_path: Path) -> None:
    record = {"feed": "rows", "id": "late", "nth": 1, "note": "x", "tags": [], "selected": False}
    (log := tmp_path / "rows.notes").write_text(json.dumps(record) + "\n", encoding="ascii")
    index = Index(tmp_path)
    marks = Marks(index, log)
    index.add([{"id": "early"}], "rows")
    marks.locate()
    version = index.version
    marks.locate()
    assert index.version == version
    index.add([{"id": "late"}], "rows")
    marks.locate()
    with index.reader() as reader:
        assert [marks.of(number, reader).note for number in (1, 2)] == ["", "x"]
    index.close()


def test_of_rows_with_one_id_the_marked_one_stays_marked(tmp_path: Path) -> None:
    write([{"id": "a", "prompt": text} for text in ("1", "2", "3")], path := tmp_path / "rows.csv")
    with viewing(Viewer(path)) as url:
        assert mark(url, 2, note="second").ok
    with viewing(Viewer(path)) as url:
        (row,) = asked(url, values='{"@noted": "yes"}')["rows"]
        assert row["place"] == 2


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_an_export_is_a_file_that_other_verbs_read(
    rows_file: Path, tmp_path: Path, kind: str
) -> None:
    with viewing(Viewer(rows_file)) as url:
        assert mark(url, 3, selected=True, note="good", tags=["a", "b"]).ok
        assert mark(url, 8, selected=True).ok
        for values, expected in (('{"@selected": "yes"}', ["id-2", "id-7"]), ("{}", None)):
            given = {"kind": kind, "values": values, "q": "" if expected else "type:coding"}
            answer = requests.get(f"{url}export", params=given, timeout=60)
            assert "attachment" in answer.headers["content-disposition"]
            (path := tmp_path / f"out.{kind}").write_bytes(answer.content)
            rows = list(read(path))
            assert len(rows) == (2 if expected else 50)
            if expected:
                assert [row["id"] for row in rows] == expected
                assert (rows[0]["reader_note"], rows[0]["reader_tags"]) == ("good", "a, b")
                assert not rows[1].get("reader_note")
                assert float(rows[0]["pass_rate"]) == 0.01


def test_what_is_no_mark_is_refused(rows_file: Path) -> None:
    with viewing(Viewer(rows_file)) as url:
        for value in ({}, [], "x", {"note": 3, "tags": [], "selected": True},
                      {"note": "", "tags": [""], "selected": True},
                      {"note": "x" * 20_000, "tags": [], "selected": True}):  # fmt: skip
            answer = requests.post(f"{url}mark/1", json=value, timeout=60)
            assert answer.status_code == 400 and answer.json()["error"]
        assert mark(url, 999).status_code == 400
        form = requests.post(f"{url}mark/1", data="note=x", timeout=60)  # as of another site
        assert form.status_code == 415
    assert not rows_file.with_name("rows.jsonl.notes").exists()


def test_notes_that_are_damaged_are_left_alone(rows_file: Path) -> None:
    notes = rows_file.with_name("rows.jsonl.notes")
    notes.write_text('{"feed": "rows"}\n', encoding="ascii")
    with pytest.raises(StoreError, match="rows.jsonl.notes is damaged at line 1"):
        Viewer(rows_file)
    assert notes.read_text(encoding="ascii") == '{"feed": "rows"}\n'


# --- who may ask ---------------------------------------------------------------------------------
def test_only_the_path_and_this_machine_s_names_are_answered(rows_file: Path) -> None:
    with viewing(Viewer(rows_file)) as url:
        assert requests.get(url, timeout=60).status_code == 200
        for path in ("", "status", "wrong/status", "rows"):
            answer = requests.get(url.replace(f"{TOKEN}/", path), timeout=60)
            assert answer.status_code == 404, path
        # A name that a server elsewhere has bound to loopback's address.
        rebound = requests.get(url, headers={"Host": "evil.example"}, timeout=60)
        assert rebound.status_code == 400
        page = requests.get(url, timeout=60)
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert "access-control-allow-origin" not in page.headers
        for call in ("row/99999", "place/x", "export?kind=exe", "rows?from=-1", "rows?values=3"):
            assert requests.get(f"{url}{call}", timeout=60).status_code in (400, 404)


# --- runs, certificates, findings ----------------------------------------------------------------
@pytest.mark.slow
def test_a_run_is_followed_while_it_writes(tmp_path: Path) -> None:
    run_folder(folder := tmp_path / "run", 3, 2)
    with viewing(Viewer(folder)) as url:
        assert asked(url)["total"] == 5
        assert asked(url, values='{"outcome": "wrong"}')["total"] == 2
        with (folder / "dataset.csv").open("a", encoding="utf-8", newline="") as file:
            file.write('math,"half a')  # a row that is being written
            file.flush()
            append(folder / "failed_dataset.csv", FAILED_COLUMNS, [7], error_msg="odd: x")
            until(lambda: asked(url)["total"] == 6)
            row = ["math", "half a\nrow", *[""] * (len(DATASET_COLUMNS) - 2)]
            file.write(csv_line(row)[len("math,half a") + 1 :])
        until(lambda: asked(url)["total"] == 7)
        (row,) = asked(url, '"half a row"')["rows"]
        assert (row["place"], row["outcome"]) == (4, "kept")
        assert requests.get(f"{url}status", timeout=60).json()["faults"] == []


def test_lines_that_a_log_gets_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.jsonl"
    path.write_text('{"prompt": "one"}\n{"prompt": "two"}', encoding="ascii")
    with viewing(Viewer(path)) as url:
        assert asked(url)["total"] == 2
        with path.open("a", encoding="ascii") as file:
            file.write('\n\n{"prompt": "thr')
            file.flush()
            file.write('ee"}\n')
        until(lambda: asked(url)["total"] == 3)


def test_a_damaged_file_is_named_and_the_rows_before_it_stay(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "one"}\nno json\n{"prompt": "two"}\n', encoding="ascii")
    with viewing(Viewer(path)) as url:
        assert asked(url)["total"] == 1
        (fault,) = requests.get(f"{url}status", timeout=60).json()["faults"]
        assert "rows.jsonl is damaged at line 2" in fault


def test_certificates_and_findings_stand_beside_their_rows(tmp_path: Path) -> None:
    run_folder(folder := tmp_path / "run", 3, 0)
    record = {"id": "r1", "model": "author", "provider": "somewhere", "reward": "math"}
    (folder / "certificates.jsonl").write_text(json.dumps(record) + "\n", encoding="ascii")
    findings = [{"check": "leak", "row": 3, "id": "r2", "evidence": "<b>The answer is 3</b>"},
                {"check": "flat difficulty", "row": 0, "id": "", "evidence": "all"}]  # fmt: skip
    write(findings, tmp_path / "findings.csv")
    with viewing(Viewer(folder, findings=tmp_path / "findings.csv")) as url:
        row = requests.get(f"{url}row/2", timeout=60).json()["row"]
        assert row["certificate"].startswith("It was changed since it was written")
        (entry,) = asked(url, values='{"@finding": "leak"}')["rows"]
        assert entry["place"] == 3 and entry["findings"] == ["leak"]
        beside = requests.get(f"{url}row/{entry['number']}", timeout=60).json()["findings"]
        assert beside == [["leak", "<b>The answer is 3</b>"]]


def test_a_damaged_certificate_is_named_and_the_rows_stay(tmp_path: Path) -> None:
    run_folder(folder := tmp_path / "run", 3, 0)
    (folder / "certificates.jsonl").write_text('{"id": "r1"}\n{"model": "x"}\n', "ascii")
    with viewing(Viewer(folder)) as url:
        assert asked(url)["total"] == 3
        (fault,) = requests.get(f"{url}status", timeout=60).json()["faults"]
        assert "certificates.jsonl is damaged at line 2 (a line has no 'id')" in fault


def test_the_audit_can_be_made_while_one_looks(tmp_path: Path) -> None:
    prompts = {"1 + 1? The answer is 2.": "2", "What is 3 + 4?": "7"}
    rows = [{"type": "math", "prompt": p, "answer": a, "response": a} for p, a in prompts.items()]
    write(rows, tmp_path / "rows.jsonl")
    with viewing(Viewer(tmp_path / "rows.jsonl", audit=True)) as url:
        (entry,) = asked(url, values='{"@finding": "leak"}')["rows"]
        assert entry["place"] == 1


def test_a_file_without_the_columns_of_findings_is_refused(rows_file: Path) -> None:
    with pytest.raises(UsageError, match="rows.jsonl has no column 'check'"):
        Viewer(rows_file, findings=rows_file)


# --- two data sets -------------------------------------------------------------------------------
@pytest.fixture
def two(tmp_path: Path) -> Iterator[str]:
    old = numbered(10)
    new = [{**row, "answer": "0"} if row["id"] == "id-3" else row for row in old[1:]]
    write([*new, {"id": "more", "prompt": "Another"}], tmp_path / "new.jsonl")
    write([{name: str(row[name]) for name in reversed(row)} for row in old], tmp_path / "old.csv")
    with viewing(Viewer(tmp_path / "new.jsonl", tmp_path / "old.csv")) as url:
        yield url


def test_two_data_sets_are_compared_by_id(two: str) -> None:
    assert asked(two)["total"] == 11
    for outcome, expected in {
        "same": [f"id-{n}" for n in range(1, 10) if n != 3],
        "changed": ["id-3"],
        "only here": ["more"],
        "only there": ["id-0"],
    }.items():
        given = json.dumps({"@compared": outcome})
        assert ids(two, values=given) == expected
        assert {row["compared"] for row in asked(two, values=given)["rows"]} == {outcome}
    number = asked(two, values='{"@compared": "changed"}')["rows"][0]["number"]
    row = requests.get(f"{two}row/{number}", timeout=60).json()
    assert (row["row"]["answer"], row["other"]["answer"]) == ("0", "3")


def test_a_row_of_the_other_data_set_is_not_marked(two: str) -> None:
    number = asked(two, values='{"@compared": "only there"}')["rows"][0]["number"]
    assert mark(two, number, note="x").status_code == 400


def test_rows_without_ids_are_compared_by_their_prompts(tmp_path: Path) -> None:
    write([{"prompt": "a", "x": 1}, {"prompt": "a", "x": 2}, {"prompt": "b"}], tmp_path / "1.jsonl")
    write([{"prompt": "b"}, {"prompt": "a", "x": 1}, {"prompt": "c"}], tmp_path / "2.jsonl")
    with viewing(Viewer(tmp_path / "1.jsonl", tmp_path / "2.jsonl")) as url:
        outcomes = [row["compared"] for row in asked(url)["rows"]]
    assert outcomes == ["same", "only here", "same", "only there"]


def test_words_of_columns_beyond_those_with_a_slot_are_found(tmp_path: Path) -> None:
    wide = [
        {"prompt": f"p{n}", **{f"column {n} {m}": f"word{n}x{m}" for m in range(40)}}
        for n in range(5)
    ]
    write(wide, tmp_path / "rows.jsonl")
    with viewing(Viewer(tmp_path / "rows.jsonl")) as url:
        assert asked(url, "word4x39")["total"] == 1  # beyond the columns with a place of their own
        assert asked(url, "word0x1")["total"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_the_page_until_it_is_ended_and_leaves_no_index(
    rows_file: Path, number: signal.Signals
) -> None:
    command = [sys.executable, "-m", "infinite_rl", "view", str(rows_file), "--json"]
    (folder := rows_file.with_name("temporary")).mkdir()
    environment = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as process:
        try:
            assert process.stdout
            url = json.loads(process.stdout.readline())["url"]
            until(lambda: asked(url)["total"] == 200)
            assert "<title>Rows</title>" in requests.get(url, timeout=60).text
            assert list(folder.glob("*/index.sqlite"))
            process.send_signal(number)
            assert process.wait(60) == 0
            assert not list(folder.iterdir())
        finally:
            process.kill()
