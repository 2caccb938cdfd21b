"""`infinite-rl view`: a local page over rows of any size."""

import webbrowser
from typing import Any

from ..config import FilePath, ranged
from .terminal import DONE, Emit, show_logs, until_signal
from .verb import Verb


class View(Verb):
    """Open a page of this machine over the rows of DATA: search, filters, order, pages, a link to
    each row, notes, tags and a selection that is exported as a file. Any number of rows: they are
    indexed on disk, in the temporary folder. The page follows a run that is writing. Notes and
    tags are kept beside the data, in DATA.notes. Ctrl-C ends it. Needs the extra `serve`.

    source    the rows: a file, or a folder; that of a run shows what it rejected, too
    compare   rows of another data set: which are the same, changed, only here, only there
    findings  a file of `audit rows -o`: its findings stand beside the rows
    audit     make these findings now, in memory
    port      port of the page (default: a free one)
    open      open it in the browser

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

        show_logs()
        viewer = Viewer(self.source, self.compare, self.findings, audit=self.audit)

        def on_ready(url: str) -> None:
            values: dict[str, Any] = {"url": url}
            emit(values, f"{self.source} is at {url}", "Ctrl-C ends it", flush=True)
            if self.open:
                webbrowser.open(url)

        with until_signal():
            serve(viewer, self.port, on_ready)
        return DONE
