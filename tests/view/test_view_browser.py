"""The viewer's page in a browser: hostile rows, search, marks, links, comparison, keys."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hostile_rows import ROWS, TEXTS

pytestmark = pytest.mark.slow
api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from viewing import viewing

from infinite_rl.dataset.rows import read, write
from infinite_rl.view import Viewer

Open = Callable[..., Any]
TABLE = "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 5_000
WIDE = "| a | b |\n|---|---|\n" + ("|1" * 19 + "|\n") * 4_900  # just below what is shown as text


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens the viewer on rows; whatever goes wrong in it fails the test."""
    trouble: list[str] = []

    with ExitStack() as opened:

        def open_page(rows: Any, against: Any = None, scheme: str = "light", **more: Any) -> Any:
            paths = []
            for name, each in (("new", rows), ("old", against)):
                if each is not None:
                    write(each, path := tmp_path / f"{name}.jsonl")
                    paths.append(path)
            url = opened.enter_context(viewing(Viewer(*paths, **more)))
            size = {"width": 1280, "height": 800}
            context = browser.new_context(color_scheme=scheme, viewport=size)
            opened.callback(context.close)
            page = context.new_page()
            page.on("console", lambda message: trouble.append(message.text))
            page.on("pageerror", lambda error: trouble.append(str(error)))
            page.on(
                "request",
                lambda request: (
                    None if request.url.startswith(url) else trouble.append(request.url)
                ),
            )
            page.goto(url)
            page.address = url
            return page

        yield open_page
    assert trouble == []


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


def count_says(page: Any, text: str) -> None:
    api.expect(page.locator("#count")).to_have_text(text)


def shows(page: Any, row_id: str) -> None:
    api.expect(page.locator("#detail .id")).to_have_text(row_id)


# --- hostile rows --------------------------------------------------------------------------------
def test_a_hostile_row_runs_nothing_and_is_drawn_at_once(open_page: Open) -> None:
    tables = [{"id": name, "prompt": text} for name, text in (("table", TABLE), ("wide", WIDE))]
    page = open_page([*ROWS, *tables])
    count_says(page, f"1–{len(ROWS) + 2} of {len(ROWS) + 2}")
    elements = "document.querySelectorAll('script, img, iframe, object, link').length"
    before = page.evaluate(elements)
    slowest = 0.0
    for plain in ("rendered", "plain"):
        for number, name in enumerate((*TEXTS, "table", "wide")):
            start = time.perf_counter()
            page.keyboard.press("j" if number else "Home")
            shows(page, name)
            page.evaluate("document.body.offsetHeight")  # laid out
            slowest = max(slowest, time.perf_counter() - start)
        if plain == "rendered":
            page.keyboard.press("s")
    print(f"the slowest row took {slowest:.2f} s")
    assert page.evaluate("typeof stolen") == "undefined"
    assert page.evaluate(elements) == before
    assert page.evaluate("({}).x") is None
    assert (
        page.evaluate("document.querySelectorAll('a[href]').length") == 2
    )  # the row's own, the export's
    page.keyboard.press("Home")
    shows(page, "script")
    assert page.locator("#detail section.text .body").first.text_content() == TEXTS["script"]


def test_a_table_of_thousands_of_lines_is_shown_whole(open_page: Open) -> None:
    page = open_page([{"id": "wide", "prompt": WIDE}])
    page.get_by_role("button", name="Show all").click()
    body = page.locator("#detail section.text .body")
    assert body.locator("td").count() <= 5_000
    shown = body.text_content()
    assert shown.count("1") == WIDE.count("1")


# --- search, order, pages, links -----------------------------------------------------------------
def test_search_filters_order_pages_and_a_link_to_each_row(open_page: Open) -> None:
    page = open_page(numbered(200))
    count_says(page, "1–50 of 200")
    page.keyboard.press("/")
    page.keyboard.type("number odd", delay=10)
    count_says(page, "1–50 of 100")
    page.get_by_label("type").select_option("coding")
    count_says(page, "0 rows")
    page.get_by_role("button", name="Clear all").click()
    count_says(page, "1–50 of 200")
    page.get_by_label("sort").select_option(label="pass_rate ↓")
    shows(page, "id-199")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Next page").click()
    count_says(page, "51–100 of 200")
    shows(page, "id-149")
    page.keyboard.press("/")
    page.fill("#search", "even")
    count_says(page, "1–50 of 100")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    shows(page, "id-196")
    # The address leads to this row in this search, from anywhere.
    link = page.locator("#detail").get_by_role("link", name="link").get_attribute("href")
    other = page.context.new_page()
    other.goto(page.address + link)
    shows(other, "id-196")
    count_says(other, "1–50 of 100")
    assert other.input_value("#search") == "even"
    page.reload()
    shows(page, "id-196")
    page.keyboard.press("End")
    shows(page, "id-0")
    count_says(page, "51–100 of 100")


def test_a_search_that_cannot_be_made_is_said(open_page: Open) -> None:
    page = open_page(numbered(3))
    page.fill("#search", "number ++")
    api.expect(page.locator("#ignored")).to_have_text("not searched: ++")
    count_says(page, "1–3 of 3")


# --- marks ---------------------------------------------------------------------------------------
def test_notes_tags_and_the_selection_by_keys_and_their_export(
    open_page: Open, tmp_path: Path
) -> None:
    page = open_page(numbered(60))
    shows(page, "id-0")
    for _ in range(2):
        page.keyboard.press("j")
    shows(page, "id-2")
    page.keyboard.press("x")
    api.expect(page.locator("#row-3 .chosen-mark")).to_be_visible()
    for key in "jxjxkxk":  # however fast, a key means the row that is chosen then
        page.keyboard.press(key)
    api.expect(page.locator("#row-5 .chosen-mark")).to_be_visible()
    assert page.locator(".chosen-mark").count() == 2
    api.expect(page.locator("#note")).to_be_enabled()  # the row is there
    page.keyboard.press("e")
    page.keyboard.type("Is 2 right? <b>no</b>")
    page.keyboard.press("Escape")
    api.expect(page.locator("#row-3")).to_contain_text("✎")
    page.keyboard.press("g")
    page.keyboard.type("check, units")
    page.keyboard.press("Escape")
    api.expect(page.locator("#row-3")).to_contain_text("#check#units")
    api.expect(page.get_by_label("with a note")).to_contain_text("yes (1)")
    page.reload()
    shows(page, "id-2")
    assert page.input_value("#note") == "Is 2 right? <b>no</b>"
    page.locator("select[name='@tag']").select_option("units")
    count_says(page, "1–1 of 1")
    page.locator("#exporting summary").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download").click()
    download.value.save_as(tmp_path / "selection.jsonl")
    row, other = read(tmp_path / "selection.jsonl")
    assert (row["id"], row["reader_tags"], other["id"]) == ("id-2", "check, units", "id-4")
    assert download.value.suggested_filename == "new-selection.jsonl"


def test_a_row_that_comes_late_does_not_undo_a_mark_made_meanwhile(open_page: Open) -> None:
    page = open_page(numbered(3))
    shows(page, "id-0")
    late: list[tuple[Any, Any]] = []
    released = False

    def hold(route: Any) -> None:
        answer = route.fetch()
        if released:
            route.fulfill(response=answer)
        else:
            late.append((route, answer))

    page.route("**/row/*", hold)
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("e")
    page.keyboard.type("Is it?")
    page.keyboard.press("Escape")
    api.expect(page.locator("#row-1")).to_contain_text("✎")
    api.expect(page.locator("#saved")).to_have_text("saved")
    # The page asks again on its own if its rows have changed: all answers are held, however many.
    while not any(route.request.url.endswith("/row/1") for route, _ in late):
        page.wait_for_timeout(20)
    with page.expect_response("**/row/1"):
        released = True
        for route, answer in late:
            route.fulfill(response=answer)
    page.keyboard.press("g")
    page.keyboard.type("check")
    page.keyboard.press("Escape")
    api.expect(page.locator("#row-1")).to_contain_text("#check✎")
    page.reload()
    shows(page, "id-0")
    assert page.input_value("#note") == "Is it?"


def test_the_page_follows_a_file_and_keeps_the_row_that_is_open(
    open_page: Open, tmp_path: Path
) -> None:
    page = open_page(numbered(3))
    shows(page, "id-0")
    page.keyboard.press("j")
    shows(page, "id-1")
    with (tmp_path / "new.jsonl").open("a", encoding="ascii") as file:
        file.write(json.dumps({"id": "late", "prompt": "Just written"}) + "\n")
    count_says(page, "1–4 of 4")
    shows(page, "id-1")
    page.keyboard.press("End")
    shows(page, "late")


# --- beside the rows -----------------------------------------------------------------------------
def test_findings_and_the_differences_of_two_data_sets_stand_beside_a_row(
    open_page: Open, tmp_path: Path
) -> None:
    evil = "<img src=x onerror='stolen=1'>\u202e"
    findings = [{"check": "leak", "row": 2, "id": "", "evidence": evil}]
    write(findings, tmp_path / "findings.jsonl")
    old = numbered(4)
    new = [{**row, "answer": f"1{evil}"} if row["id"] == "id-1" else row for row in old[:3]]
    page = open_page(new, old, findings=tmp_path / "findings.jsonl")
    count_says(page, "1–4 of 4")
    page.get_by_label("compared").select_option("changed")
    shows(page, "id-1")
    api.expect(page.locator("#detail .findings")).to_contain_text("onerror='stolen=1'>U+202E")
    sides = page.locator("#detail .difference").first.locator("pre")
    assert sides.nth(0).locator("mark").text_content().startswith("<img src=x")
    assert sides.nth(1).text_content() == "1"
    page.get_by_label("compared").select_option("only there")
    shows(page, "id-3")
    api.expect(page.locator("#detail .notice")).to_have_text("This row is only in old.jsonl.")
    assert page.locator("#marking").is_hidden()
    assert page.evaluate("typeof stolen") == "undefined"
    page.get_by_label("finding").select_option("leak")
    count_says(page, "0 rows")


# --- keys, names, sizes --------------------------------------------------------------------------
def test_keys_reach_all_that_the_page_does(open_page: Open) -> None:
    page = open_page(numbered(60))
    shows(page, "id-0")
    for key, row_id in (("j", "id-1"), ("ArrowDown", "id-2"), ("k", "id-1"), ("n", "id-50"),
                        ("p", "id-0"), ("End", "id-59"), ("Home", "id-0")):  # fmt: skip
        page.keyboard.press(key)
        shows(page, row_id)
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "detail"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "list"
    page.keyboard.press("/")
    page.keyboard.type("x?j")  # letters are text there
    assert page.input_value("#search") == "x?j"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    api.expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_controls_have_names_and_nothing_sticks_out(open_page: Open) -> None:
    page = open_page([*ROWS, *numbered(60)])
    shows(page, "script")
    unnamed = """
      [...document.querySelectorAll("button, input, select, textarea, dialog")].filter(
        (node) => !(node.textContent.trim() || node.ariaLabel || node.labels?.length
          || node.getAttribute("aria-labelledby"))).length"""
    assert page.evaluate(unnamed) == 0
    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    for width in (320, 700, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(wider) <= 0, width
