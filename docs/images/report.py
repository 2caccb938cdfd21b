"""The picture of a report: `python -m docs.images.report` makes report.png anew beside this file.

Sixty rows of the embedded provider, their page, and Chromium's pictures of its two views, one above
the other, in 128 colours. Needs the dev packages, and Debian's `chromium` or Playwright's own.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from infinite_rl.cli import main
from infinite_rl.report import report

PICTURE = Path(__file__).with_suffix(".png")
WIDTH, OVERVIEW, ROWS = 1200, 655, 640  # pixels


def made(folder: Path) -> Image.Image:
    """The picture of a page about rows that are made in a folder."""
    main(["generate", "--num_samples", "60", "--provider", "procedural", "--out_dir", str(folder)])
    report(folder, folder / "report.html", title="60 rows")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        views = shots(browser, folder / "report.html")
        browser.close()
    picture = Image.new("RGB", (WIDTH, OVERVIEW + ROWS))
    picture.paste(views[0], (0, 0))
    picture.paste(views[1], (0, OVERVIEW))
    return picture.quantize(128, dither=Image.Dither.NONE)


def shots(browser: Browser, page: Path) -> list[Image.Image]:
    """The overview, and the rows with the first of them opened."""
    view = browser.new_page(viewport={"width": WIDTH, "height": OVERVIEW}, color_scheme="light")
    view.goto(page.as_uri())
    overview = view.screenshot()
    view.set_viewport_size({"width": WIDTH, "height": ROWS})
    view.keyboard.press("r")
    return [Image.open(io.BytesIO(each)) for each in (overview, view.screenshot())]


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        made(Path(folder)).save(PICTURE, optimize=True)
