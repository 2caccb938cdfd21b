"""The page's parts put together: one HTML text that loads nothing and runs nothing but its own."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import unicodedata
from importlib.resources import files
from string import Template

# In the order in which they build on each other.
_SCRIPTS = ("text", "maths", "code", "markdown", "plots", "detail", "search", "browser")


def page(title: str, content: object) -> str:
    """The whole page. `content` is what its scripts show: JSON values, of any text.

    Whatever the content says, it cannot leave its place: it is ASCII JSON without a `<`, in an
    element that is not run. The policy in the head lets nothing run but the scripts of this
    package, by their hash, and nothing load at all.
    """
    template = Template(_part("page.html"))
    style, script = _part("page.css"), "".join(_part(f"{name}.js") for name in _SCRIPTS)
    script = f'(() => {{\n"use strict";\n{script}}})();\n'
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    return template.substitute(
        policy=policy, title=_title(title), style=style, script=script, content=embedded(content)
    )


def embedded(content: object) -> str:
    """JSON that can stand in a script element: no text ends the element or opens a comment."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _title(text: str) -> str:
    """Text for the head, where no mark can be made visible: what is not seen is left out."""
    seen = (char for char in text[:200] if unicodedata.category(char)[0] != "C")
    return html.escape("".join(seen))


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
