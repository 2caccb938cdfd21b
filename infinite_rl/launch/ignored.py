"""What .gitignore files leave out, for a folder where there is no git to ask.

The patterns are those of https://git-scm.com/docs/gitignore: the last one that fits decides, those
of a folder come after those above it, and nothing inside a folder that is left out comes back.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
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


# What stands in a pattern, and the pieces of a regular expression that it becomes.
_NAME, _FOLDERS = "[^/]*", "(?:.*/)?"
_WILD: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"/(?:\*\*/)+"), ("/", _FOLDERS)),
    (re.compile(r"/\*\*$"), ("/", ".+")),
    (re.compile(r"\*+"), (_NAME,)),
    (re.compile(r"\?"), ("[^/]",)),
)
_BRACKETS = re.compile(r"\[([!^]?)(\]?(?:\\.|\[:\w+:\]|[^\]\\])*)\]")


def _regex(pattern: str) -> str:
    """A pattern as a regular expression that tries no combinations of what its stars may hold."""
    inner = re.sub(r"^(\*\*/)+", "", pattern)
    pieces = [_FOLDERS] if inner != pattern else []
    place = 0
    while place < len(inner):
        found, place = _pieces_at(inner, place)
        pieces += found
    names = (f"g{number}" for number in count())

    def of_name(name: list[str]) -> str:
        return _in_order(["".join(each) for each in _cut(name, _NAME)], _NAME, names)

    paths = ["/".join(map(of_name, _cut(path, "/"))) for path in _cut(pieces, _FOLDERS)]
    return _in_order(paths, _FOLDERS, names)


def _pieces_at(pattern: str, place: int) -> tuple[Sequence[str], int]:
    """What a pattern has at a place, as pieces of a regular expression, and where it goes on."""
    for wild, pieces in _WILD:
        if found := wild.match(pattern, place):
            return pieces, found.end()
    if found := _BRACKETS.match(pattern, place):
        none = "^" if found[1] else ""
        return [f"(?!/)[{none}{_inside(found[2])}]"], found.end()
    if pattern[place] == "\\" and place + 1 < len(pattern):
        place += 1
    return [re.escape(pattern[place])], place + 1


def _cut(pieces: Sequence[str], at: str) -> list[list[str]]:
    """What lies between the pieces that are `at`."""
    found: list[list[str]] = [[]]
    for piece in pieces:
        if piece == at:
            found.append([])
        else:
            found[-1].append(piece)
    return found


def _in_order(parts: Sequence[str], wild: str, names: Iterator[str]) -> str:
    """Parts with anything that is `wild` between them.

    But for the first and the last, each is found where it first comes, and nowhere else is tried:
    a later place leaves less for the others. (Python 3.10 has no atomic groups but these.)
    """
    made, first = parts[0], wild.replace("*", "*?").replace(")?", ")??")
    for part in parts[1:-1]:
        name = next(names)
        made += f"(?=(?P<{name}>{first}{part}))(?P={name})"
    return made + (wild + parts[-1] if len(parts) > 1 else "")


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
