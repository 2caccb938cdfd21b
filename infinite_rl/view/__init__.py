"""A local page over rows of any size: searched, filtered, compared, annotated; live while written.

    feeds.py    files of rows, read once or followed while a run writes them
    index.py    the rows in SQLite, on disk: their texts for search, their short values for filters
    query.py    the page's query as SQL
    marks.py    notes, tags and the selection, in a log beside the data
    server.py   the page and its calls, on loopback behind a random path

The texts of rows reach the page as JSON, and its elements as text nodes alone: the scripts that
draw a row are those of `report/`.
"""

from .index import Index
from .marks import Marks
from .server import Viewer, app, serve

__all__ = ["Index", "Marks", "Viewer", "app", "serve"]
