"""The package's docstring is true: each convention has an example, and each example holds."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import NamedTuple

from infinite_rl.reward_functions import math as package
from infinite_rl.reward_functions.math import tree, verify

DOCSTRING = package.__doc__ or ""
CONVENTIONS = DOCSTRING.partition("\nConventions.")[2]
MODULES = [module.name for module in iter_modules(package.__path__)]
STATUSES = {" == ": "equal", " != ": "different", " ?? ": "unparsed"}
TIMEOUT_S = 30.0  # seconds: these tests are not about time, on however busy a machine
SIGN = re.compile(" == | != | \\?\\? ")


class Example(NamedTuple):
    prediction: str
    status: str
    gold: str


def examples(convention: str) -> list[Example]:
    """The examples of one convention: the lines that are indented, with wide gaps in them."""
    lines = [line for line in convention.split("\n") if line.startswith(" " * 6)]
    result: list[Example] = []
    for text in (part for line in lines for part in re.split(" {4,}", line.strip())):
        sign = list(SIGN.finditer(text))[-1]
        result.append(Example(text[: sign.start()], STATUSES[sign[0]], text[sign.end() :]))
    return result


BY_CONVENTION = {text.split("\n")[0]: examples(text) for text in CONVENTIONS.split("\n- ")[1:]}


def test_every_convention_has_an_example() -> None:
    assert len(BY_CONVENTION) > 30
    assert not [name for name, shown in BY_CONVENTION.items() if not shown]


def test_every_example_of_a_convention_holds_in_both_orders() -> None:
    faults = [
        example
        for example in (each for shown in BY_CONVENTION.values() for each in shown)
        for pair in (example[::2], example[::-2])
        if verify(*pair, timeout=TIMEOUT_S).status != example.status
    ]
    assert faults == []


def test_the_tree_names_every_operation() -> None:
    sources = [path.read_text(encoding="utf-8") for path in Path(package.__path__[0]).glob("*.py")]
    built = {name for text in sources for name in re.findall(r'\bNode\(\s*"(\w+)"', text)}
    rows = re.findall(r"^ {4}(\w[\w ,]*?)  ", tree.__doc__ or "", re.M)
    assert built and built <= set(re.findall(r"\w+", " ".join(rows)))


def test_the_examples_of_every_docstring_are_true() -> None:
    modules = [package, *(import_module(f"{package.__name__}.{name}") for name in MODULES)]
    assert [module.__name__ for module in modules if doctest.testmod(module).failed] == []
