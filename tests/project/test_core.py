"""The tier `core`: quick, and still a view of every room and of every contract of the project."""

from pathlib import Path

from core_tier import CORE
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
