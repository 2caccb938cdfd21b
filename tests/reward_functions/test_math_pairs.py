"""The conventions of the math verdict: labelled pairs, the package's examples, and the reasons."""

from __future__ import annotations

import doctest
import importlib.util
import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import NamedTuple

import pytest

from benchmarks import math_differences
from benchmarks.math_pairs import Pair, labelled
from infinite_rl.reward_functions import math as package
from infinite_rl.reward_functions.math import tree, verify

TIMEOUT_S = 30.0  # seconds: these tests are not about time, on however busy a machine
PAIRS = labelled()


def test_each_labelled_pair_gets_its_label_in_both_orders() -> None:
    assert [fault for pair in PAIRS if (fault := _fault(pair))] == []


def _fault(pair: Pair) -> str:
    """What is wrong with the verdict on a pair, "" if it is right."""
    verdict = verify(pair.prediction, pair.gold, timeout=TIMEOUT_S)
    swapped = verify(pair.gold, pair.prediction, timeout=TIMEOUT_S)
    where = f"line {pair.line}: {pair.prediction!r} against {pair.gold!r}"
    if verdict.equal != pair.equal:
        return f"{where} is {verdict.status}: {verdict.reason}"
    if swapped.status != verdict.status:
        return f"{where} is {verdict.status}, and {swapped.status} the other way round"
    return f"{where} does not say why" if bool(verdict.reason) == verdict.equal else ""


def test_every_gold_equals_itself() -> None:
    spellings = ("{}", r"\boxed{{{}}}", "<answer>{}</answer>", " {}\n")
    written = [(each.format(gold), gold) for gold in {p.gold for p in PAIRS} for each in spellings]
    assert [pair for pair in written if not verify(*pair, timeout=TIMEOUT_S).equal] == []


def test_the_table_holds_as_many_wrong_answers_as_it_should() -> None:
    wrong = sum(not pair.equal for pair in PAIRS)
    assert len(PAIRS) >= 450 and wrong * 2 >= len(PAIRS)


DOCSTRING = package.__doc__ or ""
CONVENTIONS = DOCSTRING.partition("\nConventions.")[2]
MODULES = [module.name for module in iter_modules(package.__path__)]
STATUSES = {" == ": "equal", " != ": "different", " ?? ": "unparsed"}
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
    assert len(BY_CONVENTION) > 30 and all(BY_CONVENTION.values())


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


OTHER_SUBJECTS = [
    *("nothing", "nobody", "that", "whether", "which", "what", "who", "why", "how", "when"),
    *("where", "opposite", "hardly", "only", "every", "all", "some", "any", "each"),
]


def test_a_sentence_that_says_another_thing_of_its_subject_is_no_answer() -> None:
    assert verify("the triangle is isosceles", "isosceles").equal
    sentences = [f"{word} triangle is isosceles" for word in OTHER_SUBJECTS]
    assert [text for text in sentences if verify(text, "isosceles").equal] == []


@pytest.mark.skipif(
    importlib.util.find_spec("math_verify") is None,
    reason="Math-Verify is not installed: pip install infinite-rl[math-verify]",
)
@pytest.mark.slow
def test_no_difference_is_an_error_of_ours() -> None:
    pairs = labelled()[::4]
    differences = math_differences.differences(pairs)
    assert differences and not [each for each in differences if each.we_err]


def test_the_page_tells_who_errs() -> None:
    pair = Pair("2^{-60}", "2^{-61}", False, "tiny values")
    page = math_differences.page([pair], [math_differences.Difference(pair, "different", "equal")])
    assert "| tiny values | 1 | 0 |" in page and "it accepts 1 wrong answers" in page
    assert "| <code>2^{-60}</code> | <code>2^{-61}</code> | different | equal |" in page
