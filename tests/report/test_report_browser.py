"""The page about a data set in a browser: clicked, filtered, paged, by keys, light and dark."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_rows import ROWS, TEXTS

from infinite_rl.report import report

pytestmark = pytest.mark.slow
api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

Open = Callable[..., Any]
MARKDOWN = Path(__file__).with_name("rendered.md").read_text(encoding="utf-8")
MESSAGES = [{"role": "user", "content": "**Hi**"}, {"role": "assistant", "content": "1. one"}]


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens the page about rows; whatever goes wrong in it, or is loaded, fails the test."""
    trouble: list[str] = []
    opened = []

    def open_page(rows: Any, keys: str = "", scheme: str = "light", **options: Any) -> Any:
        report(rows, tmp_path / "page.html", **options)
        context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 800})
        opened.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(message.text))
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("request", lambda request: trouble.append(request.url))
        page.goto((tmp_path / "page.html").as_uri())
        assert trouble.pop(0).endswith("page.html")
        page.trouble = trouble
        for key in keys:
            page.keyboard.press(key)
        return page

    yield open_page
    for context in opened:
        context.close()
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


def chosen(page: Any) -> Any:
    """The row that is selected in the list."""
    return page.locator("#list").get_by_role("option", selected=True)


def search(page: Any, query: str, count: str) -> None:
    page.fill("#search", query)
    count_says(page, count)


# Hostile rows.
def test_a_hostile_row_runs_nothing_and_is_shown_to_the_letter(open_page: Open) -> None:
    page = open_page(ROWS)
    elements = "document.querySelectorAll('script, img, a, iframe, object, form, link').length"
    before = page.evaluate(elements)
    page.keyboard.press("r")
    for plain in ("rendered", "plain"):
        for number, name in enumerate(TEXTS):
            page.keyboard.press("Home" if number == 0 else "j")
            selected = chosen(page)
            api.expect(selected).to_have_attribute("id", f"row-{number}")
            api.expect(page.locator("#detail .id")).to_have_text(name)
        if plain == "rendered":
            page.keyboard.press("s")
    assert page.evaluate("typeof stolen") == "undefined"
    assert page.evaluate(elements) == before
    assert page.evaluate("({}).x") is None

    for number, name in enumerate(("script", "end of script", "comment")):
        page.locator(f"#row-{number}").click()
        assert page.locator("#detail section.text .body").first.text_content() == TEXTS[name]
    page.keyboard.press("s")
    # Characters that are not seen are shown by their code.
    for name, codes in {
        "bidi": ["U+202E", "U+202C", "U+2066", "U+2069", "U+200F"],
        "separators": ["U+2028", "U+2029"],
        "half pair": ["U+D83D"],
        "control": ["U+0000", "U+001B"],
    }.items():
        page.locator(f"#row-{list(TEXTS).index(name)}").click()
        marks = page.locator("#detail section.text .body").first.locator(".unseen")
        assert marks.all_text_contents() == codes
        shown = page.evaluate("document.querySelector('#rows').textContent")
        assert not re.search(
            "[\u200b-\u200f\u2028-\u202e\u2060-\u2069\x00-\x08\x1b\ud800-\udfff]", shown
        )
    # A field of a million characters is cut, and shown on demand.
    page.locator(f"#row-{list(TEXTS).index('long')}").click()
    section = page.locator("#detail section.text").first
    assert len(section.locator(".body").text_content()) <= 20_000
    section.get_by_role("button", name="Show all 1,000,000 characters").click()
    assert section.locator(".body").text_content() == TEXTS["long"]
    assert section.get_by_role("button").count() == 0


def test_what_the_page_does_not_hold_is_said(open_page: Open) -> None:
    page = open_page([{"prompt": "x" * 30_000}] * 30, most=20, budget=100_000)
    said = page.locator("#left-out").text_content()
    assert "20 of the 30 rows" in said
    assert "20 long texts have only their first 4,025 characters" in said
    page.keyboard.press("r")
    notice = "The page holds 4,025 of its 30,000 characters."
    api.expect(page.locator("#detail .notice")).to_have_text(notice)


def test_the_policy_forbids_scripts_and_loads_of_anybody_else(open_page: Open) -> None:
    page = open_page([])
    why: list[str] = []
    page.on("requestfailed", lambda request: why.append(request.failure))
    page.evaluate(
        """() => {
          const script = document.createElement("script"), image = document.createElement("img");
          script.textContent = "window.stolen = 1";
          image.src = "https://example.com/x.png";
          document.body.append(script, image);
        }"""
    )
    assert page.evaluate("typeof stolen") == "undefined"
    page.wait_for_function("document.querySelector('img').complete")
    assert why == ["csp"]
    assert sum("Content Security Policy" in line for line in page.trouble) == 2
    page.trouble.clear()


# What is rendered.
def test_markdown_formulas_and_code_are_rendered(open_page: Open) -> None:
    page = open_page([{"prompt": MARKDOWN, "type": "coding"}], "r")
    body = page.locator("#detail .body").first
    for selector, text in {
        "h3": "Head",
        "strong": "bold",
        "p code:not(.tex)": "code",
        "li li": "two",
        "table td >> nth=1": "2",
        ".tagged.answer .keyword >> nth=0": "def",
        ".comment": "# half",
        ".string": '"x"',
        ".call": "f",
        "mfrac mn >> nth=0": "1",
        "mroot mn >> nth=1": "3",
        "msubsup mi": "α",
        ".tex": r"$\unknown{x}$",
    }.items():
        api.expect(body.locator(selector)).to_have_text(text)
    page.keyboard.press("s")
    assert body.text_content() == MARKDOWN


def test_tests_are_code_messages_are_turns_and_a_math_answer_is_a_formula(open_page: Open) -> None:
    tests = '{"tests": ["assert f(2) == 4"]}'
    rows = [
        {"type": "coding", "answer": tests, "language": "python", "messages": MESSAGES},
        {"type": "math", "answer": r"\frac{1}{2}"},
        {"type": "math", "answer": "12345678901234567890"},
        {"type": "x", "answer": '{"n": 12345678901234567890, "a": [1.50, "\\u0041"]}'},
    ]
    page = open_page(rows, "r")
    api.expect(page.locator("#detail pre[data-language=python]")).to_have_text("assert f(2) == 4")
    assert page.locator("#detail .turn .tag").all_text_contents() == ["user", "assistant"]
    api.expect(page.locator("#detail .turn strong")).to_have_text("Hi")
    page.keyboard.press("j")
    api.expect(page.locator("#detail mfrac")).to_have_text("12")
    api.expect(page.locator("#detail pre.plain")).to_have_text(r"\frac{1}{2}")
    page.keyboard.press("j")
    api.expect(page.locator("#detail math")).to_have_text("12345678901234567890")
    page.keyboard.press("j")
    laid_out = '{\n  "n": 12345678901234567890,\n  "a": [\n    1.50,\n    "\\u0041"\n  ]\n}'
    assert page.locator("#detail pre code").text_content() == laid_out


def test_verdict_scores_and_proof_of_a_row_are_shown(open_page: Open) -> None:
    row = {"type": "math", "prompt": "?", "status": "failed", "quality_score": "0.5"}
    row |= {"pass_rate": 0.5, "pass_rate_low": 0.1, "pass_rate_high": 0.9}
    page = open_page([{**row, "reward_version": "3", "error_msg": "3 is not 4", "x": ""}], "r")
    api.expect(page.locator("#detail .head .badge.bad")).to_have_text("failed")
    api.expect(page.get_by_role("meter", name="quality_score")).to_be_visible()
    api.expect(page.locator("#detail .scores")).to_contain_text("pass rate0.5 (0.1–0.9)")
    api.expect(page.locator("#detail .error .body")).to_have_text("3 is not 4")
    version = page.locator("#detail tr", has_text="reward_version").locator("td")
    api.expect(version).to_have_text("3")
    api.expect(page.locator("#detail > p")).to_have_text("empty: x")


def test_plots_and_texts_show_what_is_not_seen_by_its_code(open_page: Open) -> None:
    rows = [{"type": "a\u202eb", "prompt": "👩‍💻 and a\u200db"}, {"type": "c", "prompt": "??"}]
    page = open_page(rows)
    labels = page.locator("#plots svg text").all_text_contents()
    assert "aU+202Eb" in labels and page.locator("#plots svg span").count() == 0
    page.get_by_role("button", name="aU+202Eb: 1", exact=True).click()
    count_says(page, "1–1 of 1")
    body = page.locator("#detail .body").first  # a joiner inside an emoji stays
    assert body.locator(".unseen").all_text_contents() == ["U+200D"]
    assert body.text_content() == "👩‍💻 and aU+200Db"


def test_only_outcome_and_status_say_in_colour_how_a_row_ended(open_page: Open) -> None:
    rows = [
        {"outcome": "kept", "status": "passed", "type": "format", "prompt": "?"},
        {"outcome": "weak verifier", "status": "unscored", "type": "kept", "prompt": "??"},
    ]
    page = open_page(rows, "r")
    assert page.locator("#row-0 .badge.good").all_text_contents() == ["kept", "passed"]
    assert page.locator("#row-1 .badge.bad").all_text_contents() == ["weak verifier"]
    assert page.locator("#row-0 .bad, #row-1 .good").count() == 0


# What was asked of the task engine.
EVIL = "</script><img src=x onerror='stolen=1'>\u202e__proto__"


def asked(number: int, **more: Any) -> dict[str, Any]:
    row = {"id": f"id-{number}", "type": "math", "prompt": f"Prompt {number}", "outcome": "kept"}
    return {**row, "concept": "graphs", "level": "1", "idea": EVIL, "parent": "", **more}


def test_the_map_shows_each_measure_and_a_cell_leads_to_its_rows(open_page: Open) -> None:
    rows = [
        asked(0, pass_rate="0.2", cost="0.25"),
        asked(1, pass_rate="0.6", cost="0.25"),
        asked(2, outcome="too easy", cost="0.5"),
        asked(3, level="2"),
        asked(4, concept=EVIL),
        asked(5, concept=EVIL, level="2", outcome="repeat"),
    ]
    page = open_page(rows)
    table = page.locator("#map table")

    def line(number: int) -> list[str]:
        return table.locator("tbody tr").nth(number).locator("td").all_text_contents()

    assert table.locator("thead th").all_text_contents() == ["concept", "level 1", "level 2", "all"]
    assert (line(0), line(1)) == (["2", "1", "3"], ["1", "0", "1"])
    assert "U+202E__proto__" in table.locator("tbody th").nth(1).text_content()
    assert page.evaluate("typeof stolen") == "undefined" and page.locator("#map img").count() == 0
    choose = page.get_by_label("show")
    for measure, seen in {
        "acceptance": ["67 %", "100 %", "75 %"],
        "mean pass rate": ["0.4", "–", "0.4"],
        "cost a row, $": ["0.5", "0", "0.333"],
    }.items():
        choose.select_option(label=measure)
        assert line(0) == seen
    page.get_by_role(
        "button",
        name="graphs, level 1: 2 rows, 1 rejected (too easy 1), mean pass rate 0.4, $0.5 a row",
    ).click()
    count_says(page, "1–3 of 3")
    page.keyboard.press("o")
    table.locator("tbody tr").nth(1).get_by_role("button").last.click()
    count_says(page, "1–2 of 2")
    page.keyboard.press("o")
    page.set_viewport_size({"width": 320, "height": 800})
    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(wider) <= 0


def test_many_concepts_are_seen_by_area_and_opened_by_key(open_page: Open) -> None:
    rows = [
        asked(n, concept=f"concept {n}", axes=f'{{"area": "area {n % 4}"}}') for n in range(100)
    ]
    page = open_page(rows)
    lines = page.locator("#map tbody tr")
    assert lines.count() == 4
    page.get_by_role("button", name="area 1 (25)").press("Enter")
    assert lines.count() == 29
    focused = "document.activeElement.getAttribute('aria-expanded')"
    assert page.evaluate(focused) == "true"
    page.get_by_role("button", name="concept 5, level 1: 1 rows").press("Enter")
    count_says(page, "1–1 of 1")
    api.expect(chosen(page)).to_contain_text("Prompt 5")


def test_a_row_leads_to_its_parents_and_children(open_page: Open) -> None:
    rows = [
        asked(0, outcome="too easy", parent=EVIL.replace(" ", "-")),
        asked(1, parent="id-0"),
        asked(2, parent="id-1 id-3"),
        asked(3, parent="id-2", prompt=EVIL),  # a circle, as no run writes it
        asked(4, id="__proto__"),
    ]
    page = open_page(rows)
    page.keyboard.press("r")
    page.locator("#row-1").click()
    family = page.locator("#detail .family")
    parents, children = family.locator("> ul").all()
    assert "too easy 1 Prompt 0" in parents.inner_text().replace("\n", " ").replace("  ", " ")
    assert "a seed, or a row of other data" in parents.text_content()
    assert "U+202E__proto__" in parents.text_content()
    assert family.locator("img").count() == 0
    assert "Prompt 2" in children.text_content() and "onerror" in children.text_content()
    assert children.text_content().count("(above)") == 1, "a circle ends"
    children.get_by_role("button").first.click()
    api.expect(page.locator("#detail h2")).to_have_text("Row 3")
    page.locator("#row-4").click()
    api.expect(page.locator("#detail h2")).to_have_text("Row 5")
    assert family.count() == 0


def test_rows_that_the_engine_did_not_make_have_neither_map_nor_family(open_page: Open) -> None:
    page = open_page(numbered(3))
    assert page.locator("#map").is_hidden()
    assert "tasks" not in page.locator("#tiles").text_content()
    page.keyboard.press("r")
    assert page.locator("#detail .family").count() == 0


# Searching, filtering, paging.
def test_search_filters_order_and_the_bars_of_plots(open_page: Open) -> None:
    page = open_page(numbered(200))
    page.keyboard.press("/")
    count_says(page, "1–50 of 200")
    search(page, "NUMBER 19", "1–14 of 14")  # 19, 119, 190 to 199, and the rates 0.19, 0.195
    search(page, '"number 19,"', "1–1 of 1")
    search(page, "number -odd", "1–50 of 100")
    search(page, "id:id-19", "1–11 of 11")
    search(page, "type:coding -answer:0", "1–38 of 38")
    search(page, "no such thing", "0 of 200")
    api.expect(page.locator("#list")).to_have_text("No row matches.")
    page.get_by_role("button", name="Clear all").click()
    count_says(page, "1–50 of 200")
    page.get_by_role("combobox", name="type").select_option("coding")
    count_says(page, "1–50 of 50")
    page.get_by_label("sort").select_option(label="pass_rate ↓")
    api.expect(chosen(page)).to_contain_text("number 196")
    page.get_by_label("sort").select_option(label="pass_rate ↑")
    api.expect(chosen(page)).to_contain_text("number 0")
    page.get_by_role("button", name="Clear all").click()
    # A bar of a plot shows its rows, and its chip takes the filter back.
    page.get_by_role("tab", name="Overview").click()
    page.get_by_role("button", name="0.5 to 0.55: 10 rows").click()
    count_says(page, "1–10 of 10")
    api.expect(chosen(page)).to_contain_text("number 100")
    page.get_by_role("button", name="Remove the filter pass_rate: 0.5–0.55").click()
    count_says(page, "1–50 of 200")
    page.get_by_role("tab", name="Overview").click()
    page.get_by_role("button", name="coding: 50").press("Enter")
    count_says(page, "1–50 of 50")


def test_pages_by_click_and_by_key(open_page: Open) -> None:
    page = open_page(numbered(120))
    page.get_by_role("tab", name="Rows").click()
    api.expect(page.get_by_role("button", name="Page before")).to_be_disabled()
    page.get_by_role("button", name="Next page").click()
    count_says(page, "51–100 of 120")
    page.keyboard.press("r")
    page.keyboard.press("ArrowRight")
    count_says(page, "101–120 of 120")
    api.expect(page.get_by_role("button", name="Next page")).to_be_disabled()
    page.keyboard.press("k")
    count_says(page, "51–100 of 120")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("End")
    count_says(page, "101–120 of 120")
    page.keyboard.press("Home")
    count_says(page, "1–50 of 120")


def test_similar_prompts_lead_to_their_rows(open_page: Open) -> None:
    rows = [{"prompt": f"Row {n} stands alone {n * 7} {n * 13}"} for n in range(60)]
    page = open_page([*rows, {"prompt": "the very same words"}, {"prompt": "the very same words"}])
    line = page.locator("#similar tbody tr").first
    api.expect(line.locator("td").first).to_have_text("100 %")
    line.get_by_role("button").nth(1).click()
    api.expect(page.locator("#detail h2")).to_have_text("Row 62")


def test_ten_thousand_rows_are_rendered_a_page_at_a_time(open_page: Open) -> None:
    page = open_page({**row, "response": "word " * 300} for row in numbered(10_000))
    page.keyboard.press("/")
    page.keyboard.type("number 9999 odd", delay=20)  # each letter begins another search
    count_says(page, "1–1 of 1")
    search(page, "", "1–50 of 10,000")
    assert page.locator("#list").get_by_role("option").count() == 50
    page.keyboard.press("Escape")
    page.keyboard.press("End")
    count_says(page, "9,951–10,000 of 10,000")


# Keys, names for assistive tools, light and dark.
def test_keys(open_page: Open) -> None:
    page = open_page(numbered(60))
    selected = chosen(page)
    focused = "document.activeElement.id"
    page.keyboard.press("/")
    assert page.evaluate(focused) == "search"
    page.keyboard.type("j?")  # letters are text there
    assert page.input_value("#search") == "j?"
    count_says(page, "0 of 60")
    page.fill("#search", "")
    count_says(page, "1–50 of 60")
    page.keyboard.press("Escape")
    assert page.evaluate(focused) == "list"
    for key, number in (("j", 1), ("ArrowDown", 2), ("j", 3), ("k", 2), ("ArrowUp", 1)):
        page.keyboard.press(key)
        api.expect(selected).to_contain_text(f"number {number},")
    page.keyboard.press("Enter")
    assert page.evaluate(focused) == "detail"
    page.keyboard.press("ArrowDown")  # scrolls
    api.expect(selected).to_contain_text("number 1,")
    page.keyboard.press("Escape")
    assert page.evaluate(focused) == "list"
    page.keyboard.press("o")
    api.expect(page.locator("#overview")).to_be_visible()
    page.keyboard.press("ArrowRight")  # from tab to tab
    api.expect(page.locator("#rows")).to_be_visible()
    page.keyboard.press("?")
    api.expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    api.expect(page.get_by_role("dialog")).to_be_hidden()


def test_names_selection_and_focus_for_assistive_tools(open_page: Open) -> None:
    page = open_page(numbered(60))
    page.keyboard.press("Tab")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    page.keyboard.press("r")
    of_entry = "getComputedStyle(document.querySelector('[aria-selected=true].entry')).outlineStyle"
    assert page.evaluate(of_entry) == "solid"
    page.keyboard.press("j")
    rows = page.get_by_role("listbox", name="Rows")
    api.expect(rows).to_have_attribute("aria-activedescendant", "row-1")
    unnamed = """
      [...document.querySelectorAll("button, input, select, [role=button], dialog, main")].filter(
        (node) => !(node.textContent.trim() || node.ariaLabel || node.labels?.length
          || node.getAttribute("aria-labelledby"))).length"""
    assert page.evaluate(unnamed) == 0
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert len(ids) == len(set(ids))


def test_light_and_dark_follow_the_system_or_a_switch(open_page: Open, tmp_path: Path) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    seen = {}
    for scheme, other in (("light", "dark"), ("dark", "light")):
        page = open_page(numbered(60), scheme=scheme)
        seen[scheme] = page.evaluate(paper)
        page.screenshot(path=tmp_path / f"{scheme}.png")
        page.get_by_role("button", name=other.capitalize()).click()
        assert page.evaluate(paper) != seen[scheme]
        page.keyboard.press("t")
        assert page.evaluate(paper) == seen[scheme]
    assert seen["light"] != seen["dark"]
    pictures = [(tmp_path / f"{scheme}.png").read_bytes() for scheme in seen]
    assert pictures[0] != pictures[1] and min(map(len, pictures)) > 10_000


def test_nothing_sticks_out_sideways(open_page: Open) -> None:
    page = open_page([*ROWS, *numbered(60)])
    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    for tab in ("o", "r"):
        page.keyboard.press(tab)
        for width in (320, 700, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate(wider) <= 0, (tab, width)
