"""The conventions of the math verdict: labelled pairs, the package's examples, real golds."""

import doctest
import importlib.util
import json
import re
from collections.abc import Iterable
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import NamedTuple

import pytest

from benchmarks import math_differences
from benchmarks.math_pairs import Pair, labelled
from benchmarks.math_verifier import labelled_boxes
from infinite_rl.reward_functions import math as package
from infinite_rl.reward_functions.math import tree, verify
from tests.support.labelled import assert_none

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
TIMEOUT_S = 30.0  # seconds: these tests are not about time, on however busy a machine
PAIRS = labelled()


def test_each_labelled_pair_gets_its_label_in_both_orders() -> None:
    assert [fault for pair in PAIRS if (fault := _fault(pair))] == []


def test_each_labelled_pair_gets_its_label_in_a_box_after_prose() -> None:
    """Where the sentence's grammar has no part."""
    boxes = labelled_boxes(PAIRS)
    assert len(boxes) > 3_900
    assert_none(p for p, label in boxes if verify(*p, timeout=TIMEOUT_S).equal != label)


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


DOCS = Path(__file__).parents[2] / "docs"
GUIDES = [
    (DOCS / f"{page}.md").read_text(encoding="utf-8")
    for page in ("answers", "boxes", "equality", "equality-lists")
]
CONVENTIONS = "".join(text.partition("\n## Examples\n")[2] or text for text in GUIDES)
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


def test_every_convention_has_examples_that_hold_in_both_orders() -> None:
    assert len(BY_CONVENTION) > 30 and all(BY_CONVENTION.values())
    faults = [
        example
        for shown in BY_CONVENTION.values()
        for example in shown
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


# -- real references: the golds of GSM8K and MATH-500 ---------------------------------------------
def golds(name: str, count: int) -> list[str]:
    """The gold answers of a file of GSM8K or MATH-500."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the data set {path} is not here")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == count
    return [str(row["answer"]) for row in rows]


def unequal(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [pair for pair in pairs if not verify(*pair).equal]


def equal(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [pair for pair in pairs if verify(*pair).equal]


@pytest.mark.parametrize(("name", "count"), [("test", 1319), ("train", 7473)])
def test_every_gsm8k_gold_equals_itself_and_no_neighbour(name: str, count: int) -> None:
    solutions = golds(f"gsm8k/{name}.jsonl", count)
    numbers = [solution.split("#### ")[1].strip() for solution in solutions]
    bare = [number.replace(",", "") for number in numbers]
    assert unequal((f"#### {number}", number) for number in numbers) == []
    assert unequal(zip((rf"\boxed{{{each}}}" for each in bare), numbers, strict=True)) == []
    assert equal((f"{number}1", number) for number in bare) == []
    assert equal((f"-{number}", number) for number in bare if number.strip("-0")) == []
    assert unequal(zip(solutions[:300], numbers, strict=False)) == [], "read at its mark"


def grouped(gold: str, sign: str) -> str:
    """Whole numbers of four digits and more with a sign between each three."""
    commas = re.sub(r"(?<![0-9.{,!])[0-9]{4,}(?![0-9.])", lambda n: f"{int(n[0]):,}", gold)
    return commas.replace(",", sign)


def as_decimal(gold: str) -> str:
    """A whole gold `\\frac{a}{b}` as a decimal where that is exact."""
    found = re.fullmatch(r"(-?)\\frac\{([0-9]+)\}\{([0-9]+)\}", gold)
    if found is None or 10**6 % int(found[3]):
        return gold
    return found[1] + str(Decimal(int(found[2])) / Decimal(int(found[3])))


def turned(gold: str) -> str:
    """A list without brackets, the other way round."""
    bare = not re.search(r"[()\[\]{}=]", gold) and not re.search(r"\\!|[0-9]{3}", gold)
    return ", ".join(reversed(gold.split(","))) if bare else gold


def respelled(gold: str) -> list[str]:
    tight = re.sub(r"(?<![A-Za-z\\]) ", "", gold)  # the space after a command ends its name
    brackets = gold.replace("(", r"\left(").replace(")", r"\right)")
    plain = not re.search(r"[,.a-zA-Z(\\]", gold)
    spellings = [
        gold.replace(r"\frac", r"\dfrac"),
        gold.replace(r"\frac", r"\tfrac"),
        brackets if gold.count("(") == gold.count(")") and r"\left" not in gold else gold,
        tight,
        re.sub(r"([+=<])", r" \1 ", gold),
        gold.replace(", ", r",\! ").replace(" + ", r" \,+\, "),
        gold.replace(r"\mbox", r"\text").replace(r"\text{ ", r"\text{"),
        gold.replace(r"\pi", "π ").replace(r"^\circ", "°").replace(r"\cup", "∪"),
        gold.replace(r"\infty", "∞").replace(r"\le ", "≤").replace("-", "−"),
        gold.replace("^2", "²").replace("^3", "³").replace(r"\cdot", r"\times"),
        re.sub(r"\^(?:\{([0-9])\}|([0-9]))", r"**\1\2", gold),
        as_decimal(gold),
        turned(gold),
    ]
    return spellings + [grouped(gold, sign) for sign in (",", "{,}", r"\,") if plain]


def test_every_math_500_gold_equals_itself_in_each_wrapping_and_spelling() -> None:
    wrappings = ("{}", r"so \boxed{{{}}}.", "<answer>{}</answer>", r"$\boxed{{{}}}$", "${}$")
    for gold in golds("math500/test.jsonl", 500):
        spellings = [*(each.format(gold) for each in wrappings), *respelled(gold)]
        assert unequal((spelling, gold) for spelling in spellings) == []


def perturbed(gold: str) -> list[str]:
    """The gold with one digit raised by one, at each place in turn."""
    places = [place for place, character in enumerate(gold) if character in "0123456789"]
    return [gold[:at] + str((int(gold[at]) + 1) % 10) + gold[at + 1 :] for at in places]


def misread(gold: str) -> list[str]:
    """Copies with another sign or size, another order of a tuple, an end opened or closed."""
    copies: list[str] = []
    if re.fullmatch(r"[0-9.,!\\]*[1-9][0-9]*|\\frac.*|[0-9]*\\sqrt.*|\\pi.*", gold):
        copies += [f"-{gold}", f"{gold} + 1", rf"2 \cdot {gold}"]
    point = re.fullmatch(r"(?:\\left)?\s*\(([^,()]*),([^,()]*?)(?:\\right)?\s*\)", gold)
    if point and point[1].strip() != point[2].strip() and "infty" not in gold:
        copies += [f"({point[2]},{point[1]})", f"({point[1]},-({point[2]})-1)"]
    if re.search(r"\[[^\]()]*\)|\([^()]*\]|infty|cup", gold) and "<" not in gold:
        flips = str.maketrans("()[]", "[]()")
        ends = [at for at, sign in enumerate(gold) if sign in "()[]" and not by_infinity(gold, at)]
        copies += [gold[:at] + gold[at].translate(flips) + gold[at + 1 :] for at in ends]
    return copies


def by_infinity(gold: str, place: int) -> bool:
    """Whether the bracket stands at an infinite end, where open and closed are the same."""
    before = re.search(r"\\infty\s*(?:\\right)?$", gold[:place])
    return bool(before or re.match(r"[(\[]\s*-\s*\\infty", gold[place:]))


def test_no_math_500_gold_equals_a_copy_with_another_digit_or_a_misread_one() -> None:
    for changed in (perturbed, misread):
        copies = [
            (each, gold) for gold in golds("math500/test.jsonl", 500) for each in changed(gold)
        ]
        assert len(copies) > 900 and equal(copies) == []
