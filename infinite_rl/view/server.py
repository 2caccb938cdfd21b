"""The page and its calls: on loopback, behind a random path, for this machine's names alone."""

from __future__ import annotations

import json
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..certificates import CERTIFICATES
from ..dataset.rows import Row, read_some, write
from ..errors import InfiniteRLError, NoColumn, UsageError, import_extra
from ..report.page import one_script, part
from ..report.sample import WHOLE, Cell, cell, truncated
from ..report.statistics import CERTIFICATE
from ..serve.server import listening
from ..store import CERTIFICATE_COLUMNS
from .feeds import ROWS, JsonLines, feeds_of
from .index import Index, compared
from .marks import Mark, Marks, notes_file
from .query import PAGE, Query, numbers, order, place_of, plan, total

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HOST, NAMES = "127.0.0.1", ("127.0.0.1", "localhost")
_POLL_S = 1.0
_SCRIPTS = ("text", "maths", "code", "markdown", "detail", "controls")  # of the report
_BADGES = ("outcome", "status", "type", "language")
_SCORES = ("pass_rate", "quality_score")
_NOTE, _TAGS = "reader_note", "reader_tags"  # columns of an export
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Viewer:
    """A data set that is viewed: its index, which a thread fills and keeps up with the files.

    `against` is another data set to compare with, by ids, or by prompts where rows have none.
    `findings` is a file of `infinite-rl audit rows -o`; `audit` makes these findings here, in
    memory, once the rows are read.

    Raises:
        UsageError: there is no such file, or `findings` lacks a column.
        StoreError: the notes are damaged.
    """

    def __init__(
        self,
        source: Path,
        against: Path | None = None,
        findings: Path | None = None,
        *,
        audit: bool = False,
    ) -> None:
        self.source, self.against = source, against
        self.task, self.faults = "reading rows", list[str]()
        self._findings = list(_read_findings(findings)) if findings else []
        self._audit = audit
        sources = [each for each in (source, against) if each]
        self._sides = [feeds_of(each, rejected=against is None) for each in sources]
        self._certificates = JsonLines(source / CERTIFICATES, needed=("id",))
        self._folder = tempfile.TemporaryDirectory(prefix="infinite-rl-view-")
        self.index = Index(Path(self._folder.name))
        self.marks = Marks(self.index, notes_file(source))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="index", daemon=True)

    def __enter__(self) -> Viewer:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stop.set()
        self._thread.join()
        self.index.close()
        self._folder.cleanup()

    def _follow(self) -> None:
        """Read all, then what is appended."""
        try:
            if self.against:
                self.index.compare()
            while not self._stop.is_set():
                for side, feeds in enumerate(self._sides):
                    for feed in feeds():
                        rows = takewhile(lambda _: not self._stop.is_set(), feed.new())
                        self.index.add(rows, feed.name, side)
                self.index.add_certificates(self._certificates.new())
                self.marks.locate()
                if self._findings:
                    self.index.add_findings(self._findings, ROWS)
                    self._findings = []
                if self._audit:
                    self._audit = False
                    self._add_audit()
                self.task = ""
                self._stop.wait(_POLL_S)
        except InfiniteRLError as error:  # the rows before stay
            self.faults.append(str(error))
        finally:
            self.task = ""

    def _add_audit(self) -> None:
        from ..audit.data import audit_data

        def on_check(name: str) -> None:
            self.task = f"auditing: {name}"

        try:
            report = audit_data(self.source, on_check=on_check)
        except InfiniteRLError as error:
            self.faults.append(f"no audit: {error}")
            return
        self.index.add_findings(
            ((each.row, each.check, each.evidence) for each in report.findings), ROWS
        )

    # --- what the page asks ----------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """The state of the index: how many rows, which filters there are, what went wrong."""
        index = self.index
        with index.reader() as reader:
            counts = {
                "@finding": reader.execute(
                    "SELECT kind, count(DISTINCT number) FROM findings GROUP BY kind"
                ).fetchall(),
                "@tag": reader.execute("SELECT tag, count(*) FROM tags GROUP BY tag").fetchall(),
            }
            (selected,) = reader.execute("SELECT count(*) FROM marks WHERE selected").fetchone()
            (noted,) = reader.execute("SELECT count(*) FROM marks WHERE note <> ''").fetchone()
        return {
            "title": self.source.absolute().name,
            "against": self.against.absolute().name if self.against else "",
            "rows": index.counts[0],
            "version": index.version,
            "task": self.task,
            "faults": self.faults,
            "columns": [[each.name, each.numeric] for each in list(index.columns.values())],
            "facets": [
                *index.facets(),
                *((name, kinds) for name, kinds in counts.items() if kinds),
            ],
            "selected": selected,
            "noted": noted,
            "certificate": [CERTIFICATE, *CERTIFICATE_COLUMNS],
        }

    def page(self, query: Query, start: int) -> dict[str, Any]:
        """A page of the matching rows, in short, and how many match."""
        index = self.index
        row_numbers = numbers(index, query, start, PAGE)
        shown = [name for name in (*_BADGES, *_SCORES) if name in index.columns]
        cells = "".join(f", rows.c{index.columns[name].slot}" for name in shown)
        entries = []
        with index.reader() as reader:
            for number in row_numbers:
                position, side, title, pair, same, *values = reader.execute(
                    "SELECT place, side, title, pair, digest = (SELECT digest FROM rows AS other "
                    f"WHERE other.number = rows.pair){cells} FROM rows WHERE number = ?",
                    (number,),
                ).fetchone()
                kinds = reader.execute(
                    "SELECT DISTINCT kind FROM findings WHERE number = ?", (number,)
                ).fetchall()
                entry = {"number": number, "place": position, "title": title}
                entry |= dict(zip(shown, values, strict=True))
                entry["findings"] = [kind for (kind,) in kinds]
                if index.compares:
                    entry["compared"] = compared(side, pair, bool(same))
                entries.append({**entry, "mark": vars(self.marks.of(number, reader))})
        ignored = plan(query, index.columns).ignored
        return {"total": total(index, query), "start": start, "rows": entries, "ignored": ignored}

    def row(self, number: int) -> dict[str, Any]:
        """A row in full, with what is beside it. Raises KeyError if there is none."""
        with self.index.reader() as reader:
            position, side, row_id, pair = reader.execute(
                "SELECT place, side, id, pair FROM rows WHERE number = ?", (number,)
            ).fetchone() or (0, 0, "", None)
            findings = reader.execute(
                "SELECT kind, evidence FROM findings WHERE number = ?", (number,)
            ).fetchall()
            mark = vars(self.marks.of(number, reader))
        row = self.index.line(number)
        if words := self.index.certificate(row_id):
            row[CERTIFICATE] = words
        return {
            "number": number,
            "place": position,
            "side": side,
            "row": _cells(row),
            "other": _cells(self.index.line(pair)) if pair is not None else None,
            "findings": findings,
            "mark": mark,
        }

    def exported(self, query: Query) -> Iterator[Row]:
        """The matching rows, as they are, with the reader's note and tags where there are any."""
        chosen = plan(query, self.index.columns, compares=self.index.compares)
        beside = (
            "(SELECT line FROM lines WHERE lines.number = rows.number)",
            "(SELECT note FROM marks WHERE marks.number = rows.number)",
            "(SELECT group_concat(tag, ', ') FROM tags WHERE tags.number = rows.number)",
        )
        statement, parameters = chosen.sql(", ".join(beside))
        statement += f" ORDER BY {order(query, self.index.columns)}"
        with self.index.reader() as reader:
            for line, note, tags in reader.execute(statement, parameters):
                marked = {name: text for name, text in ((_NOTE, note), (_TAGS, tags)) if text}
                yield {**json.loads(line), **marked}


def _read_findings(path: Path) -> Iterator[tuple[int, str, str]]:
    for row in read_some(path):
        for name in ("check", "row", "evidence"):
            if name not in row:
                raise NoColumn(name, row, str(path))
        try:
            yield int(row["row"]), str(row["check"]), str(row["evidence"])
        except ValueError:
            raise UsageError(f"{path}: {row['row']!r} is no number of a row") from None


def _cells(row: Mapping[str, Any]) -> dict[str, Cell]:
    return {name: truncated(cell(value), WHOLE) for name, value in row.items()}


# --- HTTP ----------------------------------------------------------------------------------------


def app(viewer: Viewer, token: str) -> Starlette:
    """The application: all of it below the path `token`, for requests to loopback's names."""
    import_extra("starlette", "the viewer needs", "serve")
    from starlette.applications import Starlette
    from starlette.background import BackgroundTask
    from starlette.concurrency import run_in_threadpool
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import FileResponse, Response
    from starlette.routing import Mount, Route

    def reply(value: object, status: int = 200) -> Response:
        text = json.dumps(value, allow_nan=False)  # ASCII: half a surrogate pair survives
        return Response(text, status, _HEADERS, "application/json")

    def text_reply(text: str, kind: str) -> Callable[[Request], Response]:
        return lambda _: Response(text, 200, _HEADERS, kind)

    def get_rows(request: Request) -> Response:
        start = request.query_params.get("from", "0")
        if not (start.isascii() and start.isdigit() and len(start) < 16):
            raise UsageError(f"from is no number: {start[:40]!r}")
        return reply(viewer.page(_query(request), int(start)))

    def get_place(request: Request) -> Response:
        number = request.path_params["number"]
        return reply({"place": place_of(viewer.index, _query(request), number)})

    def get_row(request: Request) -> Response:
        try:
            return reply(viewer.row(request.path_params["number"]))
        except KeyError:
            return reply({"error": "there is no such row"}, 404)

    async def set_mark(request: Request) -> Response:
        if request.headers.get("content-type") != "application/json":
            return reply({"error": "a mark is JSON"}, 415)
        try:
            mark = Mark.of(await request.json())
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UsageError(f"no mark: {error}") from None
        await run_in_threadpool(viewer.marks.set, request.path_params["number"], mark)
        return reply(vars(mark))

    def export(request: Request) -> Response:
        kind = request.query_params.get("kind", "jsonl")
        if kind not in ("jsonl", "csv", "parquet"):
            raise UsageError(f"{kind!r} is no kind of file for an export")
        with tempfile.NamedTemporaryFile(suffix=f".{kind}", delete=False) as file:
            path = Path(file.name)
        try:
            write(viewer.exported(_query(request)), path)
        except InfiniteRLError:
            path.unlink()
            raise
        name = f"{viewer.source.absolute().stem}-selection.{kind}"
        done = BackgroundTask(path.unlink)
        return FileResponse(path, headers=_HEADERS, filename=name, background=done)

    def failed(_: Request, error: Exception) -> Response:
        return reply({"error": str(error)}, 400)

    script = one_script([*map(part, _SCRIPTS), _own("view.js")])
    routes = [
        Route("/", text_reply(_own("view.html"), "text/html")),
        Route("/view.js", text_reply(script, "text/javascript")),
        Route("/view.css", text_reply(part("page", "css") + _own("view.css"), "text/css")),
        Route("/status", lambda _: reply(viewer.status())),
        Route("/rows", get_rows),
        Route("/row/{number:int}", get_row),
        Route("/place/{number:int}", get_place),
        Route("/mark/{number:int}", set_mark, methods=["POST"]),
        Route("/export", export),
    ]
    return Starlette(
        routes=[Mount(f"/{token}", routes=routes)],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(NAMES))],
        exception_handlers={InfiniteRLError: failed},
    )


def serve(viewer: Viewer, port: int = 0, on_ready: Callable[[str], None] = lambda _: None) -> None:
    """Serve a viewer until interrupted; `on_ready` gets the address. Port 0 is any free one.

    Raises:
        UsageError: the extra is missing.
        InfiniteRLError: the port cannot be listened on.
    """
    uvicorn = import_extra("uvicorn", "the viewer needs", "serve")
    token = secrets.token_urlsafe(24)
    application = app(viewer, token)
    config = uvicorn.Config(application, log_level="warning", access_log=False, lifespan="off")
    with listening(HOST, port) as listener, viewer:  # the address is told before the server starts
        on_ready(f"http://{HOST}:{listener.getsockname()[1]}/{token}/")
        uvicorn.Server(config).run(sockets=[listener])


def _query(request: Request) -> Query:
    parameters = request.query_params
    try:
        values = json.loads(parameters.get("values", "{}"))
        values = {str(name): str(value) for name, value in values.items()}
    except (ValueError, AttributeError, RecursionError):
        raise UsageError("the filters are no JSON object") from None
    down = parameters.get("down") == "1"
    return Query(parameters.get("q", ""), values, parameters.get("sort", ""), down)


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
