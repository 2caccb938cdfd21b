"""The tier `core`: quick, and still a view of every room and of every contract of the project."""

from pathlib import Path
from types import SimpleNamespace as Item
from typing import Any

import pytest
from core_tier import CORE
from long_first import long_first
from test_package import LAYERS

TESTS = Path(__file__).parents[1]
PACKAGE = TESTS.parent / "infinite_rl"


def test_core_has_tests_of_every_room() -> None:
    rooms = {
        room for layer in LAYERS for room in layer if (PACKAGE / room / "__init__.py").exists()
    }
    rooms -= {"runtimes"}  # a face of `sandbox`
    assert {entry.partition("/")[0] for entry in CORE} == {*rooms, "root", "project"}


def test_what_core_names_is_there() -> None:
    for entry in CORE:
        file, _, test = entry.partition("::")
        source = (TESTS / file).read_text(encoding="utf-8")
        assert not test or f"\ndef {test}(" in source, entry


def test_core_stays_small() -> None:
    """A new promise of the first rank takes the place of another one, or adds a room."""
    assert sum("::" not in entry for entry in CORE) <= 60


def test_each_worker_begins_with_long_files_and_no_test_is_lost() -> None:
    def file(name: str, slow: int, quick: int, *seconds: int) -> list[Any]:
        marks = [pytest.mark.slow(*seconds).mark] * slow + [None] * quick
        return [Item(path=name, get_closest_marker=lambda _, mark=mark: mark) for mark in marks]

    files = [file("a", 0, 9), file("b", 3, 1), file("c", 0, 5), file("d", 2, 2), file("e", 1, 0)]
    items = [item for each in files for item in each]
    ordered = long_first(items, 2)
    assert [item.path for item in ordered] == [*"b" * 4, *"a" * 9, *"d" * 4, "e", *"c" * 5]
    longer = [*files[0], *files[1], *file("e", 1, 0, 60)]
    assert [item.path for item in long_first(longer, 2)] == ["e", *"a" * 9, *"b" * 4]
    assert len({*map(id, ordered)}) == len(items) == len(ordered)
