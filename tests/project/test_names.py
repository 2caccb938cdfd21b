"""Names are the field's: the private words that the project once used are gone from its code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Participles and metaphors that say nothing of a value; then names of former definitions.
_VAGUE = """
found given made known held told asked spelt owed begun gone said place places
"""
_RENAMED = """
Asked Asker Asking Answering Answers Patience Told Telling telling Begun settled Turn Schedule
Found Flow fate Placement Seat Packed credited try_out heat Work Own Kept Keeper Question Figure
Best Purse Shelf Pieces Gate Traffic Spacing LearnedPace Place Meeting spoken respell
mutation_score surroundings comfort tell proof shelf replays keep_equal_groups reward_cut_off
"""
OLD_NAMES = {*_VAGUE.split(), *_RENAMED.split()}


def definitions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Each name that a module gives to a class, a function, a parameter, a variable or a field."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


@pytest.mark.parametrize("folder", ["infinite_rl", "benchmarks", "scripts"])
def test_the_old_words_are_gone(folder: str) -> None:
    faults = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        shown = path.relative_to(ROOT)
        if path.stem in OLD_NAMES:
            faults.append(f"{shown}: the name of the module")
        for line, name in definitions(ast.parse(path.read_text(encoding="utf-8"))):
            if name.strip("_") in OLD_NAMES:
                faults.append(f"{shown}:{line} {name}")
    assert not faults, "\n".join(faults)


# --- docstrings ----------------------------------------------------------------------------------
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# Words in backticks with which a sentence begins: "`text` and `start` are ...".
SUBJECTS = re.compile(r"(?:\A|\.\s+|\n\s*\n\s*)((?:`[a-z_]\w*`[,\s]+(?:and |or )?)+)[a-z]")


def words(tree: ast.Module) -> set[str]:
    """The names in a module, and the words of its strings that are names and no sentences."""
    parts = ("id", "attr", "arg", "name", "module", "value")
    texts = [getattr(node, part, None) for node in ast.walk(tree) for part in parts]
    names = (text for text in texts if isinstance(text, str) and re.fullmatch(r"[\w. ]+", text))
    return {word for text in names for word in re.split(r"[. ]", text)}


@pytest.mark.slow
def test_a_docstring_explains_parameters_and_fields_that_are_there() -> None:
    """Those of the maths are left out: there a word in backticks may be that of an answer."""
    paths = [p for p in (ROOT / "infinite_rl").rglob("*.py") if p.parent.name != "math"]
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(paths)}
    defined = {
        path: [node for node in ast.walk(tree) if isinstance(node, DEFINITIONS)]
        for path, tree in trees.items()
    }
    anywhere = {node.name for nodes in defined.values() for node in nodes}
    faults = [
        f"{path.relative_to(ROOT)}:{node.lineno} `{word}`"
        for path, nodes in defined.items()
        for here in [words(trees[path]) | anywhere]
        for node in nodes
        for subjects in SUBJECTS.findall(ast.get_docstring(node) or "")
        for word in re.findall(r"`(\w+)`", subjects)
        if word not in here
    ]
    assert not faults, "\n".join(faults)


def test_the_glossary_explains_the_words_that_the_code_uses() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    glossary = guide.split("## Glossary")[1].split("\n## ")[0]
    words = re.findall(r"^\| ([\w /-]+) \|", glossary, re.M)
    code = "\n".join(path.read_text("utf-8") for path in (ROOT / "infinite_rl").rglob("*.py"))
    assert len(words) > 15
    assert [word for word in words if word.split(" / ")[0].lower() not in code.lower()] == []
