"""`infinite-rl view`: a local page over rows of any size."""

import webbrowser
from typing import Any

from ..config import FilePath, ranged
from .terminal import DONE, Emit, until_signal
from .verb import Verb


class View(Verb):
    """Serve a local page over the rows of SOURCE: search, filters, order, pages, a link to each
    row, notes, tags and a selection that is exported as a file. Any number of rows is indexed on
    disk, in the temporary folder. Rows that a run adds appear on the page. Notes and tags are kept
    beside the data, in SOURCE.notes. Ctrl-C ends the server. It needs the extra `serve`.

    source    the rows: a file, or a folder; the folder of a run also shows rejected rows
    compare   another data set: show which rows are the same, changed, only here, only there
    findings  file of `audit rows -o`: show its findings beside the rows
    audit     compute these findings now, in memory
    port      port of the page (default: a free one)
    open      open the page in the browser

    Example: infinite-rl view data --open; infinite-rl view new.jsonl --compare old.jsonl.

    Exit code: 0 ended by Ctrl-C or SIGTERM, 1 not done, 2 wrong usage.
    """

    positional = ("source",)

    source: FilePath
    compare: FilePath | None = None
    findings: FilePath | None = None
    audit: bool = False
    port: int = ranged(0, 0, 65535)
    open: bool = False

    def run(self, emit: Emit) -> int:
        from ..view import Viewer, serve

        viewer = Viewer(self.source, self.compare, self.findings, audit=self.audit)

        def on_ready(url: str) -> None:
            values: dict[str, Any] = {"url": url}
            emit(values, f"{self.source} is at {url}", "Ctrl-C ends it", flush=True)
            if self.open:
                webbrowser.open(url)

        with until_signal():
            serve(viewer, self.port, on_ready)
        return DONE
