"""What a question says of its answer: what it may leave out, what form it has, what work it holds.

With a gold alone, `37 \\cdot 91` is 3367. To "What is 37 · 91?" it is no answer.
"""

import math
import re
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import NamedTuple

from ...parsing.word_tables import WordTables
from . import units
from .bounds import Budget, OutOfTime, OverBudget, Undefined, Unparsed
from .equivalence import difference
from .exact import factors
from .families import bare, same_span
from .normal_form import read
from .sentences import yes_or_no
from .tokens import DENIALS
from .tree import Node

_pattern = WordTables(__file__).pattern
_ORDER, _COUNTED, _MEASURED, _FACTOR = map(_pattern, ("order", "counted", "measured", "factor"))
_FORMULA, _OPERATOR, _CALCULATION = map(_pattern, ("formula", "operator", "calculation"))
_EXPAND, _SLOPE_INTERCEPT = _pattern("expand"), _pattern("slope intercept")
_INTEGRAL, _INITIAL = _pattern("integral"), _pattern("initial value")
_SUBSCRIPT = re.compile(r"_\{[^{}]*\}")  # of `\sum_{k=1}`
ROUNDED = _pattern("rounded")
_PERCENTAGE, _UNKNOWN, _SIZE = map(_pattern, ("percentage", "unknown", "size"))
_BASES, _BASE = {"binary": "2", "octal": "8"}, _pattern("base")
_AFTERNOON, _GENERAL = _pattern("afternoon"), _pattern("general")
_INTERVAL, _SPAN = map(_pattern, ("interval", "span"))
_AROUND_OPTION = re.compile(r"^(?:\\ |[~}\s])+|(?:\\q?quad|\\text(?:bf)?\{|\$|\s)+$")
_LETTERS = ("choice", "sym", "text")
_OPTION, _CHOICES = _pattern("option"), frozenset("abcdefghij")
_LENGTH = "length"
_POWERS = {"area": 2, "volume": 3}  # of a length; other sizes are lengths
_LOWEST_TERMS, _UNSEEN = _pattern("lowest terms"), _pattern("unseen")
_I, _PERCENT = Node("const", (), "i"), Node("num", (), Fraction(1, 100))
_STRUCTURES = frozenset(("tuple", "set", "list", "interval", "matrix", "quantity", "ratio", "neg"))
_ARITHMETIC = frozenset(("add", "mul", "div", "neg"))
# A recursion error means that the caller's stack was nearly full: our own depth is bounded.
FAULTS = (Unparsed, Undefined, OverBudget, OutOfTime, RecursionError)


def in_context(question: str, prediction: Node, gold: Node) -> Node:
    """The prediction without what it repeats of its question.

    `x + y = 5` is 5 where $x + y$ is to be found, and 12 is 12 % where a percentage is. "Not prime"
    is "no" to "Is 91 prime?", and an "isosceles triangle" is "isosceles" where a triangle is asked
    about.
    """
    if _is_in_base(question, prediction, gold) or _is_in_base(question, gold, prediction):
        return gold
    if prediction.op == "equation" and gold.is_expression:
        for formula in _FORMULA.findall(question):
            with suppress(*FAULTS):
                equation = read(f"{formula} = 1", Budget(math.inf))  # alone, `ab` is a word
                if equation.args[:1] == prediction.args[:1]:
                    return prediction.args[1]
    if _is_option(question, prediction, gold) or _is_option(question, gold, prediction):
        return gold
    if prediction.op == gold.op == "clock" and gold.args and _AFTERNOON.search(question):
        later = prediction.value == Fraction(str(gold.value)) + 12 * 60
        return gold if later else prediction
    if prediction.op == "list" and gold.op in ("tuple", "interval") and _INTERVAL.search(question):
        return gold.with_args(prediction.args[::-1])  # `50 \\pm 2`, whose upper sign comes first
    if _SPAN.search(question) and same_span(prediction, gold):
        return gold
    if prediction.is_expression and gold.is_expression and _PERCENTAGE.search(question):
        if _is_percent(prediction) and not _is_percent(gold):
            return prediction.args[0]
        return Node("mul", (prediction, _PERCENT)) if _is_percent(gold) else prediction
    if not prediction.op == gold.op == "text":
        return prediction
    statement, expected = str(prediction.value), str(gold.value)
    if expected in ("yes", "no"):
        return Node("text", (), yes_or_no(question, statement) or statement)
    shorter, longer = sorted((statement, expected), key=len)
    more = longer.removeprefix(shorter).split() if longer.startswith(f"{shorter} ") else []
    same = more and {*re.findall("[a-z]+", question.casefold())}.issuperset(more)
    adverbs = any(word.endswith("ly") for word in more)  # "converges conditionally" says more
    return gold if same and not adverbs and DENIALS.isdisjoint(longer.split()) else prediction


def _is_option(question: str, prediction: Node, gold: Node) -> bool:
    """Whether an answer is the text of the option whose letter is the gold: 17 for B of (B) 17."""
    letter = str(gold.value).casefold() if gold.op in _LETTERS and not gold.args else ""
    if letter not in _CHOICES or str(prediction.value).casefold() in _CHOICES:
        return False
    _, *parts = _OPTION.split(question)
    options = dict(zip(map(str.casefold, parts[::2]), parts[1::2], strict=True))
    text = _AROUND_OPTION.sub("", options.get(letter, ""))
    with suppress(*FAULTS):
        return text != "" and not difference(
            read(text, Budget(math.inf)), prediction, Budget(math.inf)
        )
    return False


def unknown(question: str) -> str:
    """The only letter whose value a question asks for; "" without one."""
    letters = {*"".join(map("".join, _UNKNOWN.findall(question)))}
    return letters.pop() if len(letters) == 1 else ""


def _is_percent(form: Node) -> bool:
    return form.op == "mul" and form.args[-1] == _PERCENT


def not_as_requested(question: str, prediction: Node, gold: Node, budget: Budget) -> str:
    """Why an answer that equals the gold has not the form that is asked for; "" if it has.

    A list must have its order, a number its unit if the gold has none, and a product its factors. A
    constant of integration is one only where something is integrated, and `y = 5` is not x.
    """
    if prediction.op == gold.op == "list" and _ORDER.search(question):
        pairs = zip(prediction.args, gold.args, strict=False)
        return "another order" if any(difference(*pair, budget) for pair in pairs) else ""
    unit = prediction.args[0].unit if prediction.op == "named" else prediction.unit
    fault = _unit_fault(question, unit) if unit is not None and gold.unit is None else ""
    if fault:
        return fault
    if gold.op == "base" and prediction.op == "num" and not _is_in_base(question, gold, prediction):
        return "in another base" if _BASE.search(question) else ""
    if prediction.op == "named" and gold.op != "named":
        name, letter = str(prediction.value), unknown(question)
        other = letter and len(name) == 1 and name.casefold() != letter.casefold()
        return f"{name} is not what is asked for" if other else ""
    if prediction.op == "antiderivative" and gold.op != "antiderivative":
        general = _INTEGRAL.search(question) and not _INITIAL.search(question)
        return "" if general else "a constant that is not asked for"
    values = [bare(form).op == "antiderivative" for form in (prediction, gold)]
    if values == [False, True] and _GENERAL.search(question):
        return "the constant is missing"
    parts = [factors(form, budget) for form in (prediction, gold)]
    if len(parts[1]) > 1 and _FACTOR.search(question):
        counts = [sum(bool(factor.symbols) for factor in each) for each in parts]
        return "it is not factored" if len(parts[0]) < 2 or counts[0] < counts[1] else ""
    return ""


def _unit_fault(question: str, unit: units.Unit) -> str:
    """Why a unit is not the one that the question counts or measures in: `24 h` in minutes."""
    sizes = _SIZE.findall(question)
    if sizes and [name for name, _ in unit.dimension] == [_LENGTH]:
        size = sizes[-1].casefold()
        if unit.dimension != ((_LENGTH, _POWERS.get(size, 1)),):
            return f"no unit of {size}"
    measured = units.is_unit(unit.name)
    counted = _COUNTED.search(question)
    if counted and measured:
        kind = units.unit(counted[1])
        if kind is None or kind.dimension != unit.dimension:
            return f"not a number of {counted[1]}"
    words = [counted[1]] if counted else []
    words += _MEASURED.findall(question)
    for word in reversed(words):
        wanted = units.unit(word) if any(map(units.is_unit, re.split("[ /]", word))) else None
        if wanted is not None:
            alike = wanted.dimension == unit.dimension
            same = alike and wanted.factor == unit.factor
            return f"not in {wanted.name}" if not same and (alike or measured) else ""
    return ""


# -- work that an answer leaves to the reader -----------------------------------------------------


class Attempt(NamedTuple):
    """An answer and the gold of its question, as they are written and as they are read."""

    question: str
    text: str
    gold_text: str
    form: Node
    gold: Node

    @property
    def value(self) -> Node:
        """The last part of the answer, without its name and its unit: 6 of `A = 2 * 3 = 6 m`."""
        last = self.form.args[-1] if self.form.op in ("chain", "equation") else self.form
        return bare(last)

    @property
    def gold_value(self) -> Node:
        """The same of the gold, which is no chain."""
        return bare(self.gold)

    def requests(self, form: re.Pattern[str]) -> bool:
        """Whether the question has this pattern."""
        return form.search(self.question) is not None


def requested_form(question: str) -> str:
    """The way of writing a number that a question asks for: "fraction", say; "" for none."""
    return next((form for form in _WRITTEN_FORMS if _pattern(form).search(question)), "")


def left_undone(attempt: Attempt) -> str:
    """What an answer leaves to the reader, by its form as it is written; "" for nothing.

    Each form is one only if the gold has it, too.
    """
    text, operators = _SUBSCRIPT.sub("", attempt.text), _OPERATOR.findall
    if "=" not in text and not {*operators(text)} <= {*operators(attempt.gold_text)}:
        return UNDONE  # `\\gcd(12, 18)`, which is read as 6
    form = requested_form(attempt.question)
    written = _pattern(f"written {form.partition(' ')[0]}") if form else None
    if written and written.search(attempt.gold_text) and not written.search(attempt.text):
        return f"not written as a {form}"
    if attempt.form == attempt.gold:
        return ""
    return next((fault for fault, applies in _FAULTS if applies(attempt)), "")


def _restates(attempt: Attempt) -> bool:
    """`2^{10}` for 1024, where the question is "Compute $2^{10}$"."""
    if not attempt.form.args or attempt.form.op in (*_STRUCTURES, "choice"):
        return False
    seen, task = _UNSEEN.sub("", attempt.text), _OPTION.split(attempt.question)[0]
    if seen not in _UNSEEN.sub("", task):  # the pattern takes longest to make
        return False
    formula = f"(?:{_UNSEEN.pattern})*".join(map(re.escape, seen))
    return re.search(rf"(?<![\w.]){formula}(?!\w|\.\d)", task) is not None


def _is_calculation(attempt: Attempt) -> bool:
    """`91 * 37` for 3367, where the question has a calculation; `12 * 11` ways are an answer.

    So is `10!/7!`, but not where the value of a formula is asked for. `2^{10}` is one everywhere.
    """
    value = attempt.value
    if attempt.gold.op == "quantity" and value.holds("const", "pi"):
        return False  # an angle in radians
    if value.op == "set" and len(value.args) == 1:
        value = value.args[0]
    if _is_plain(value) or not _is_plain(attempt.gold_value) or value.symbols:
        return False
    if _is_arithmetic(value):
        return attempt.requests(_CALCULATION)
    if not value.is_expression or _is_power(value) or _is_complex(value):
        return False
    return attempt.requests(_CALCULATION) or attempt.requests(_FORMULA)


def _is_unsolved(attempt: Attempt) -> bool:
    """`2x = 8` for 4, `2x < 8` for `x < 4`, and `y - 1 = 2x` where y = mx + b is to be written."""
    gold, form = attempt.gold, attempt.form
    relation = form.args[0] if form.op == "builder" else form
    if relation.op not in ("equation", "inequality") or _is_solved(relation):
        return False
    if attempt.value == attempt.gold_value:
        return False
    if gold.op == "inequality" and _is_solved(gold):
        return True
    if attempt.requests(_SLOPE_INTERCEPT):
        return True
    return not (gold.symbols or in_context(attempt.question, relation, gold).is_expression)


def _is_reducible(attempt: Attempt) -> bool:
    """`4/6` for `2/3`, or `3\\sqrt 8` for `6\\sqrt 2`, where the question says "simplify"."""
    radicals = [_radicals(side) for side in (attempt.value, attempt.gold_value)]
    if radicals[0] > radicals[1] and not attempt.value.symbols:
        return attempt.requests(_LOWEST_TERMS)
    divisors = []
    for side in (attempt.value, attempt.gold_value):
        whole = [int(arg.value) for arg in side.args if isinstance(arg.value, Fraction)]
        divisors += [math.gcd(*whole)] if side.op == "div" and len(whole) == 2 else []
    larger = len(divisors) == 2 and divisors[0] > divisors[1]
    return larger and attempt.requests(_LOWEST_TERMS)


def _radicals(form: Node, below: bool = False) -> int:
    """How many square roots hold a square factor, or stand below a fraction's line."""
    count = 0
    if form.op == "fn" and form.value == "sqrt":
        root = form.args[0].value
        square = isinstance(root, Fraction) and any(root % n**2 == 0 for n in range(2, 100))
        count = below or square
    parts = enumerate(form.args)
    return count + sum(_radicals(arg, below or (form.op == "div" and n == 1)) for n, arg in parts)


_WRITTEN_FORMS = ("mixed number", "fraction", "decimal", "scientific notation")
UNDONE = "a calculation that is not carried out"
_FAULTS: list[tuple[str, Callable[[Attempt], bool]]] = [
    # `1011_2` for 11
    (
        "in another base",
        lambda a: (
            a.gold.op == "num" and _has_base(a.form) and not _is_in_base(a.question, a.form, a.gold)
        ),
    ),
    ("it restates the question", _restates),
    # `\\int_0^1 2t dt` for 1
    (UNDONE, lambda a: a.value.holds("calculus") and not a.gold.holds("calculus")),
    (UNDONE, _is_calculation),
    ("it is not solved", _is_unsolved),
    # `(x + 1)^2` for `x^2 + 2x + 1`, where the question says "expand"
    (
        "it is not expanded",
        lambda a: (
            (a.requests(_EXPAND) or a.requests(_SLOPE_INTERCEPT))
            and _is_product(a.value)
            and not _is_product(a.gold_value)
        ),
    ),
    ("not in lowest terms", _is_reducible),
]


def _has_base(form: Node) -> bool:
    return form.op == "base" and not str(form.value).endswith("_10")


def _is_in_base(question: str, form: Node, gold: Node) -> bool:
    """Whether a form writes the digits of the gold with the base that is asked for: `101_2`."""
    digits, _, base = str(form.value).partition("_")
    names = {*map(str.casefold, map("".join, _BASE.findall(question)))}
    named = "".join(names - {"10"} or names)  # "the base-10 number 25 in base 2"
    same = base == _BASES.get(named, named) and str(gold.value) == digits
    return form.op == "base" and gold.op == "num" and same


def _is_plain(form: Node) -> bool:
    """Whether a form is a numeral or a fraction of two."""
    form = form.args[0] if form.op == "neg" else form
    return form.op == "num" or (form.op == "div" and all(arg.op == "num" for arg in form.args))


def _is_power(form: Node) -> bool:
    """Whether a form is a power of numerals, or a numeral times one: `2.5 \\cdot 10^3`."""
    *factors, last = form.args if form.op == "mul" else [form]
    powers = last.op == "pow" and all(arg.op == "num" for arg in last.args)
    return powers and len(factors) < 2 and all(factor.op == "num" for factor in factors)


def _is_complex(form: Node) -> bool:
    """Whether a form is `a + bi`, with numerals."""
    real, *imaginary = form.args if form.op == "add" else [form]
    parts = [arg for part in imaginary for arg in (part.args if part.op == "mul" else [part])]
    return _is_plain(real) and all(_is_plain(part) or part == _I for part in parts)


def _is_arithmetic(form: Node) -> bool:
    """Whether a form is made of numerals alone."""
    return form.op == "num" or (form.op in _ARITHMETIC and all(map(_is_arithmetic, form.args)))


def _is_product(form: Node) -> bool:
    """Whether a sum is multiplied or raised to a power, maybe as one of several terms."""
    if form.op in ("add", "neg"):
        return any(map(_is_product, form.args))
    return form.op in ("mul", "pow") and any(
        arg.op in ("add", "pow") and arg.holds("add") for arg in form.args
    )


def _is_solved(relation: Node) -> bool:
    """Whether a side is a letter, a name such as AB, or the size of a letter."""
    return any(
        side.op == "sym"
        or (side.op == "mul" and all(arg.op == "sym" for arg in side.args))
        or (side.op == "fn" and side.value == "abs" and side.args[0].op == "sym")
        for side in relation.args
    )
