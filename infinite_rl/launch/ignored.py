"""What .gitignore files leave out, for a folder where there is no git to ask.

The patterns are those of https://git-scm.com/docs/gitignore: the last one that fits decides, those
of a folder come after those above it, and nothing inside a folder that is left out comes back.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_FILE = ".gitignore"


@dataclass(frozen=True)
class Rule:
    """One line of a .gitignore: which paths, relative to that file's folder, and what of them."""

    regex: re.Pattern[str]
    folders_only: bool
    ignores: bool


def kept(folder: Path) -> Iterator[str]:
    """The files and links below a folder that no .gitignore leaves out, relative to it."""
    yield from _walk(folder, "", [])


def _walk(root: Path, at: str, above: Sequence[tuple[str, list[Rule]]]) -> Iterator[str]:
    here = root / at
    scopes = list(above)
    if (here / _FILE).is_file():
        text = (here / _FILE).read_text(encoding="utf-8", errors="surrogateescape")
        scopes.append((at, rules(text)))
    with os.scandir(here) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        path = f"{at}{entry.name}"
        folder = entry.is_dir(follow_symlinks=False)
        if entry.name == ".git" or _is_ignored(path, folder, scopes):
            continue
        if folder:
            yield from _walk(root, f"{path}/", scopes)
        elif entry.is_symlink() or entry.is_file():
            yield path


def _is_ignored(path: str, folder: bool, scopes: Sequence[tuple[str, list[Rule]]]) -> bool:
    for at, found in reversed(scopes):
        for rule in reversed(found):
            if (folder or not rule.folders_only) and rule.regex.fullmatch(path[len(at) :]):
                return rule.ignores
    return False


def rules(text: str) -> list[Rule]:
    """The rules of a .gitignore's text, in its order; a line that is no pattern gives none."""
    found = (_rule(line.removesuffix("\r")) for line in text.removeprefix("\ufeff").split("\n"))
    return [rule for rule in found if rule]


def _rule(line: str) -> Rule | None:
    line = re.sub(r"(?<!\\) +$", "", line)
    if not line or line.startswith("#"):
        return None
    ignores = not line.startswith("!")
    line = line.removeprefix("!")
    folders_only = line.endswith("/")
    pattern = line[:-1] if folders_only else line
    if not pattern:
        return None
    anchored = "/" in pattern
    try:
        regex = re.compile(("" if anchored else "(?:.*/)?") + _regex(pattern.removeprefix("/")))
    except re.error:  # brackets that git does not understand either: it then matches nothing
        return None
    return Rule(regex, folders_only, ignores)


# Each piece of a pattern, and the regular expression of what it fits.
_PIECES: tuple[tuple[str, str], ...] = (
    (r"^\*\*/", "(?:.*/)?"),
    (r"/\*\*/", "/(?:.*/)?"),
    (r"/\*\*$", "/.+"),
    (r"\*+", "[^/]*"),
    (r"\?", "[^/]"),
)
_BRACKETS = re.compile(r"\[([!^]?)(\]?(?:\\.|\[:\w+:\]|[^\]\\])*)\]")


def _regex(pattern: str) -> str:
    made, place = "", 0
    while place < len(pattern):
        for piece, regex in _PIECES:
            if piece.startswith("^") and place:
                continue
            if found := re.compile(piece.removeprefix("^")).match(pattern, place):
                made, place = made + regex, found.end()
                break
        else:
            if found := _BRACKETS.match(pattern, place):
                none = "^" if found[1] else ""
                made, place = made + f"(?!/)[{none}{_inside(found[2])}]", found.end()
                continue
            if pattern[place] == "\\" and place + 1 < len(pattern):
                place += 1
            made, place = made + re.escape(pattern[place]), place + 1
    return made


_CLASSES = {
    **{"alnum": "a-zA-Z0-9", "alpha": "a-zA-Z", "digit": "0-9", "xdigit": "0-9a-fA-F"},
    **{"lower": "a-z", "upper": "A-Z", "space": r"\s", "blank": r" \t"},
}


def _inside(brackets: str) -> str:
    """What stands between brackets, as a regular expression has it there."""
    parts = re.split(r"\[:(\w+):\]", brackets)
    for number, part in enumerate(parts):
        if number % 2:
            parts[number] = _CLASSES.get(part, "")
        else:
            parts[number] = re.sub(r"([\[&|~])", r"\\\1", part)
    text = "".join(parts)
    return f"\\{text}" if text.startswith(("]", "^")) else text
