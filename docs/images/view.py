"""The pictures of the viewer: `python -m docs.images.view` makes view.png, view_compare.png anew.

Procedural rows of mathematics, of which some are spoilt so that the audit finds something; they
are compared with a data set that has other answers. Needs the dev packages, and Debian's `chromium`
or Playwright's own.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from infinite_rl.dataset.rows import write
from infinite_rl.procedural import make_problem

HERE = Path(__file__).parent
WIDTH, HEIGHT = 1200, 620  # pixels
ROWS, SPOILT, LEAKS = 400, (3, 40, 41, 222), (7, 90)
CHANGED = 5  # a row whose answer the other data set has otherwise


def rows() -> list[dict[str, Any]]:
    """Rows with pass rates; some golds are wrong, and some prompts state the answer."""
    made = []
    for seed in range(ROWS):
        problem = make_problem("math", seed)
        row: dict[str, Any] = {"id": f"row-{seed}", "type": "math", "prompt": problem.prompt}
        row |= {"answer": problem.answer, "response": problem.response}
        made.append({**row, "pass_rate": (seed * 37 % 100) / 100})
    for number in SPOILT:
        made[number]["answer"] = "17"
    for number in LEAKS:
        made[number]["prompt"] += f" The answer is {made[number]['answer']}."
    return made


@contextmanager
def viewed(*arguments: str | Path) -> Iterator[str]:
    """The address of the page while the command runs."""
    command = [sys.executable, "-m", "infinite_rl", "view", *map(str, arguments), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield str(json.loads(process.stdout.readline())["url"])
        finally:
            process.terminate()


def picture(arguments: Sequence[str | Path], prepare: Callable[[Page], None]) -> Image.Image:
    """The page of a command, after some clicks, in 128 colours."""
    with sync_playwright() as playwright, viewed(*arguments) as url:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(url)
        prepare(page)
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        browser.close()
    return picture.quantize(128, dither=Image.Dither.NONE)


def findings(page: Page) -> None:
    """Show the rows with a finding, the first with a note and a tag."""
    page.locator("select[name='@finding'] option").nth(1).wait_for(
        state="attached", timeout=120_000
    )
    page.locator("#state", has_not_text="auditing").wait_for()
    page.locator("select[name='@finding']").select_option("contradiction")
    page.locator("#list .found").first.wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("x")
    page.fill("#tags", "gold")
    page.fill("#note", "The gold is of another row: ask the author.")
    page.locator("#list").focus()
    page.locator("select[name='@noted']").wait_for()


def difference(page: Page) -> None:
    """Show the row that the two data sets have in different forms."""
    page.locator("select[name='@compared']").select_option("changed")
    page.locator("#detail .difference").first.wait_for()


def main() -> None:
    with TemporaryDirectory() as folder:
        old = rows()
        new = [{**row} for row in old[2:]]
        new[CHANGED]["answer"] += "/2"
        write(old, data := Path(folder) / "rows.jsonl")
        write(new, other := Path(folder) / "new_rows.jsonl")
        picture([data, "--audit"], findings).save(HERE / "view.png", optimize=True)
        compared = picture([other, "--compare", data], difference)
        compared.save(HERE / "view_compare.png", optimize=True)


if __name__ == "__main__":
    main()
