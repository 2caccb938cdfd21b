"""The page: one HTML text that loads nothing and runs only this package's scripts."""

import base64
import hashlib
import html
import json
import unicodedata
from collections.abc import Iterable
from importlib.resources import files
from string import Template

# In the order in which they build on each other.
_SCRIPTS = (
    *("text", "maths", "code", "markdown", "plots", "map", "family", "detail", "search"),
    *("controls", "browser"),
)


def page(title: str, content: object) -> str:
    """Assemble the page. `content` is the data of its scripts: JSON values, with any text.

    Content cannot escape its element: it is ASCII JSON without a `<`, in an element that is not
    executed. The policy in the head allows only the scripts of this package, by their hash, and no
    loading at all.
    """
    template = Template(part("page", "html"))
    style, script = part("page", "css"), one_script(map(part, _SCRIPTS))
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    # In the head no mark can be made visible: control characters are dropped.
    shown = "".join(char for char in title[:200] if unicodedata.category(char)[0] != "C")
    return template.substitute(
        policy=policy,
        title=html.escape(shown),
        style=style,
        script=script,
        content=embedded(content),
    )


def embedded(content: object) -> str:
    """JSON for a script element: no text can end the element or open a comment."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def one_script(scripts: Iterable[str]) -> str:
    """Join scripts into one, whose names are its own."""
    return f'(() => {{\n"use strict";\n{"".join(scripts)}}})();\n'


def part(name: str, kind: str = "js") -> str:
    """The text of a file beside this module: a script, or with `kind` the style or the page."""
    return files(__package__).joinpath(f"{name}.{kind}").read_text(encoding="utf-8")
