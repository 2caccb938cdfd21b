"""The examples above each pattern are true: those of `parsing`, and those in the tables below."""

import ast
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any

import pytest
from labelled import assert_none

from infinite_rl import parsing
from infinite_rl.parsing.word_tables import WordTables
from infinite_rl.reward_functions.math.statements import Tokens, production

# The modules of the maths room in whose `.txt` every pattern has an example. Lists of words need
# none, nor does a table that other tables insert: theirs show it.
TABLES = (
    *("boxes", "extract", "notations", "question", "sentences", "statements", "text_answers"),
    "tokens",
)
MATHS = "infinite_rl.reward_functions.math"
# The modules that read lists of words from the table of another.
READERS = {"tokens": ("conditions", "numbers", "parse", "structures")}
# The tables of `statements.txt` that read characters; its others read tokens.
CHARACTERS = {"token", "ended", "numeral"}
ROOM = Path(parsing.__file__).parent
# `# search: 'a text that it reads', 'one more'; not 'a text that it must not'`, then `NAME = ` in a
# module, and `name:` in a table.
EXAMPLES = re.compile(
    r"^# (search|match|fullmatch): (.+(?:\n#  .+)*)\n(?:#.*\n)*(\w[\w ]*?)(?:, any case)?(?: =|:)",
    re.MULTILINE,
)


def examples(source: str) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """The name of each pattern, how it is used, and the texts that it reads and does not."""
    for how, texts, name in EXAMPLES.findall(source):
        reads, _, refuses = texts.replace("\n#", "").partition("; not ")
        yield name, how, *(ast.literal_eval(f"[{each}]") for each in (reads, refuses))


class Production:
    """A production on a text: on its tokens, with or without those that are not seen."""

    def __init__(self, name: str) -> None:
        self._pattern = production(name)

    def __getattr__(self, how: str) -> Callable[[str], Any]:
        use = getattr(self._pattern, how)
        return lambda text: use(Tokens.of(text).kinds) or use(Tokens.of(text).seen().kinds)


def faults(source: str, names: set[str], pattern_of: Callable[[str], Any]) -> Iterator[str]:
    """What is wrong with the examples of a file, and which of the names have none."""
    for name, how, reads, refuses in examples(source):
        use = getattr(pattern_of(name), how)
        names = names - {name} if reads else names
        yield from (f"{name} does not read {text!r}" for text in reads if not use(text))
        yield from (f"{name} reads {text!r}" for text in refuses if (got := use(text)) and got[0])
    yield from (f"{name} has no example" for name in sorted(names))


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.stem)
def test_each_pattern_reads_its_examples_and_nothing_that_it_must_not(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    module = vars(import_module(f"{parsing.__name__}.{path.stem}"))
    names = {*re.findall(r"^(\w+) = re\.compile\(", source, re.MULTILINE)}
    assert_none(faults(source, names, lambda name: re.compile(module[name])))


@pytest.mark.parametrize("stem", TABLES)
def test_each_pattern_of_a_table_reads_its_examples_and_nothing_that_it_must_not(
    stem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists: set[str] = set()  # of words, which the module reads as rows
    read_rows = WordTables.rows

    def rows(tables: WordTables, name: str) -> list[str]:
        lists.add(name)
        return read_rows(tables, name)

    monkeypatch.setattr(WordTables, "rows", rows)
    for reader in (*READERS.get(stem, ()), stem):
        spec = find_spec(f"{MATHS}.{reader}")
        assert spec and spec.loader and spec.origin
        spec.loader.exec_module(module_from_spec(spec))
    tables = WordTables(spec.origin)
    source = Path(spec.origin).with_suffix(".txt").read_text(encoding="utf-8")
    names = {*tables.names} - {*re.findall(r"\{\{([a-z ]+)\}\}", source)} - lists
    tokenized = {*tables.names} - CHARACTERS if stem == "statements" else set()
    pattern_of = lambda name: (Production if name in tokenized else tables.pattern)(name)  # noqa: E731
    headings = re.findall(r"^([a-z][a-z ]*)(?:, any case)?:", source, re.MULTILINE)
    assert len(headings) == len({*headings}), "a second table of one name takes the first's place"
    assert_none(faults(source, names, pattern_of))
