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


CASES = r"\begin{cases} x & x > 0 \\ 0 & x \le 0 \end{cases}"
EVEN_ODD = r"\begin{cases} x^2-1 & \text{if n is even} \\ 2 & \text{if n is odd} \end{cases}"
ODD_EVEN = r"\begin{cases} 2 & \text{if n is odd} \\ (x-1)(x+1) & \text{if n is even} \end{cases}"
ROW, COLUMN = r"\begin{pmatrix} 1 & 2 \end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"


EQUAL = [
    ("(1, 2)", ROW),
    ("(1, 2)", COLUMN),
    ("x^2 + c", "x^2 + 2c - c"),  # a constant of integration, and a parameter
    (r"e^{ix} + e^{-ix}", r"2\cos x"),
    ("x = 1 + 1 = 2", "2"),
    (r"\text{Area} = 5", r"\text{Area of the circle} = 5"),
    (r"\{5\text{ cm}\}", r"5\text{ cm}"),
    (EVEN_ODD, ODD_EVEN),
    ("y = e^x", "2y = 2e^x"),
]
DIFFERENT = [
    ("(1, 2)", "3", "a number is no tuple"),
    ("x^2 + y < 3", "{1, 2}", "an inequality is no set"),
    ("January 5, 2020", "5", "a date is no number"),
    (CASES, r"\{1, 2\}", "a piecewise is no set"),
    (r"\{5, 6\}", r"5\text{ cm}", "a quantity is no set"),
    ("x < y", r"x \le y", "the forms differ"),
    ("(1, 3)", ROW, "member 2 differs"),
    (r"\infty", "x", "infinity and something else"),
    (r"\{\frac{1}{0}, 1\}", r"\{2, 1\}", "a member has no partner"),  # it has no value
    ("x = 1 + 1 = 2", "y = 2", "the equations differ"),
    ("e^x = 1", "e^x = 2", "the equations differ"),
    (r"\text{Area} = 5", r"\text{Perimeter} = 5", "the names differ"),
    (r"x \equiv a \pmod{4}", r"x \equiv b \pmod{4}", "the remainders differ"),
    ("January 5, 2020", "January 6, 2020", "the dates differ"),
    (CASES, "x", "the functions differ"),
    ("equilateral", "isosceles", "the texts differ"),
]
OTHER_SUBJECTS = [
    *("nothing", "nobody", "that", "whether", "which", "what", "who", "why", "how", "when"),
    *("where", "opposite", "hardly", "only", "every", "all", "some", "any", "each"),
]


def verdicts(first: str, second: str) -> list[tuple[str, str]]:
    """The status and the reason of a pair, in both orders."""
    both = (verify(*pair, timeout=TIMEOUT_S) for pair in ((first, second), (second, first)))
    return [(verdict.status, verdict.reason) for verdict in both]


def test_two_ways_to_say_the_same_are_equal() -> None:
    assert [pair for pair in EQUAL if verdicts(*pair) != [("equal", "")] * 2] == []


def test_a_difference_is_named_the_same_in_both_orders() -> None:
    faults = [row for row in DIFFERENT if verdicts(*row[:2]) != [("different", row[2])] * 2]
    assert faults == []


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
