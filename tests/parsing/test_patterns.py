"""The examples above each pattern of the room are true."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from labelled import assert_none

from infinite_rl import parsing

ROOM = Path(parsing.__file__).parent
# `# search: 'a text that it reads', 'one more'; not 'a text that it must not'`, then `NAME = `.
EXAMPLES = re.compile(
    r"^# (search|match|fullmatch): (.+(?:\n#  .+)*)\n(?:#.*\n)*(\w+) = ", re.MULTILINE
)


def examples(source: str) -> Iterator[tuple[str, str, list[str], list[str]]]:
    """The name of each pattern, how it is used, and the texts that it reads and does not."""
    for how, texts, name in EXAMPLES.findall(source):
        reads, _, refuses = texts.replace("\n#", "").partition("; not ")
        yield name, how, *(ast.literal_eval(f"[{each}]") for each in (reads, refuses))


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.stem)
def test_each_pattern_reads_its_examples_and_nothing_that_it_must_not(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    module = vars(import_module(f"{parsing.__name__}.{path.stem}"))
    faults, seen = [], set()
    for name, how, reads, refuses in examples(source):
        use = getattr(re.compile(module[name]), how)
        seen.add(name)
        faults += [f"{name} does not read {text!r}" for text in reads if not use(text)]
        faults += [f"{name} reads {text!r}" for text in refuses if (got := use(text)) and got[0]]
        faults += [] if reads else [f"{name} has no example"]
    own = re.findall(r"^(\w+) = re\.compile\(", source, re.MULTILINE)
    assert_none([*faults, *(f"{name} has no example" for name in own if name not in seen)])
