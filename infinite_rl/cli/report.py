"""`infinite-rl report`: one HTML page about a data set."""

from ..config import ranged
from ..errors import UsageError
from .terminal import DONE, Emit, counting
from .verb import RowsIn, RowsOut


class Report(RowsIn, RowsOut):
    """Make one HTML page about the rows: counts, acceptance by reason, plots of scores, lengths,
    difficulty and cost, the nearest prompts, and a browser of the rows with search, filters,
    verdicts and certificates. For rows that were requested by concept and level, the page has a map
    of both, the effective number of tasks and family trees. The page loads nothing, so it opens
    without a network; press ? for its keys. The folder of a run adds the rejected rows.

    out        the page, such as report.html
    title      heading of the page (default: the name of SOURCE)
    rows       maximum rows in the browser; if there are more, a random sample
    megabytes  maximum size of the rows in the page, in MB

    Example: infinite-rl report data -o report.html.
    """

    title: str = ""
    rows: int = ranged(10_000, 1)
    megabytes: int = ranged(20, 1)

    def run(self, emit: Emit) -> int:
        from ..report import report

        if self.out.suffix.lower() not in (".html", ".htm"):
            raise UsageError(f"{self.out} must end in .html: it is a page")
        self.refuse_existing(self.out)
        limits = {"most": self.rows, "budget": self.megabytes * 1_000_000}
        with counting("rows read") as count:
            page = report(self.source, self.out, title=self.title, on_row=count, **limits)
        cut = f", texts cut to {page.limit} characters: {page.cut}" if page.cut else ""
        emit(
            {**vars(page), "out": self.out},
            f"rows: {page.rows}, in the browser: {page.shown}{cut}",
            f"in {self.out} ({page.bytes / 1e6:.1f} MB)",
        )
        return DONE
