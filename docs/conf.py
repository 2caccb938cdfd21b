"""How the pages are made: of the guides beside this file, the docstrings, and the commands' help.

    python -m sphinx -W docs build/docs

Docstrings are plain text: names between single backticks, sections like `Raises:`, and columns (a
name, two blanks or more, what it is). Sphinx reads reStructuredText, in which much of that means
something else; so each is put into its terms first.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

project = "Infinite RL"
release = version = (ROOT / "VERSION.txt").read_text(encoding="utf-8").strip()
html_title = f"{project} {release}"
html_theme = "furo"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_argparse_cli",
]
smartquotes = False
myst_heading_anchors = 3  # the guides link to headings
autodoc_member_order = "bysource"
linkcheck_ignore = ["http://localhost"]  # the servers that readers start

default_role = "code"  # the commands' help has single backticks, too

_CODE = re.compile(r"(``.+?``|`[^`]+`)", re.S)
_COLUMN = re.compile(r"(\S.*?) {2,}(\S.*)")
_SECTION = re.compile(r" *(Args|Attributes|Example|Note|Raises|Returns|Yields):$")


def as_rst(docstring: str) -> str:
    """A docstring in reStructuredText: columns as definitions, names as code, and what is indented
    as it stands."""
    return "\n\n".join(_paragraph(each) for each in docstring.split("\n\n"))


def _paragraph(text: str) -> str:
    lines = textwrap.dedent(text).splitlines()
    if not lines or _SECTION.match(lines[0]):
        return _escaped(text)
    columns = [_COLUMN.fullmatch(line) for line in lines]
    if columns[0] and all(one or line[0] == " " for one, line in zip(columns, lines, strict=True)):
        return "\n".join(
            f"``{one[1]}``\n    {_escaped(one[2])}" if one else f"    {_escaped(line.strip())}"
            for one, line in zip(columns, lines, strict=True)
        )
    if re.search(r"\S {2,}\S", text) or text.startswith("  "):
        return "::\n\n" + textwrap.indent("\n".join(lines), "    ")
    return _escaped(text)


def _escaped(text: str) -> str:
    """Names in backticks as code, and whatever else has a meaning as it stands."""
    parts = _CODE.split(text)
    for place, part in enumerate(parts):
        if place % 2:
            parts[place] = f"``{' '.join(part.strip('`').split())}``"
        else:
            parts[place] = re.sub(r"[\\*|]|(?<=\w)_(?!\w)", lambda one: f"\\{one[0]}", part)
    return "".join(parts)


def _put(*given: Any) -> None:
    _, what, _, _, _, lines = given
    lines[:] = as_rst("\n".join(lines)).splitlines()
    if what in ("attribute", "data", "property"):
        lines.insert(0, "")  # or napoleon takes the words before a colon for a type


def setup(app: Any) -> None:
    """Have docstrings read as they are written; before napoleon, which makes lists of sections."""
    app.connect("autodoc-process-docstring", _put, priority=400)
