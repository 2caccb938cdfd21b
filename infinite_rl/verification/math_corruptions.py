"""Answers that are surely wrong, and other spellings of the right one, from its parsed tree.

A change is made only if its value must differ, by exact arithmetic or by a number that is far from
zero: no sign of 0, no coordinate that could stand for another one, no end of an empty interval.
Undecidable changes are left out.
"""

import cmath
import math
import random
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal, Inexact
from fractions import Fraction
from itertools import combinations, starmap

from ..reward_functions.math import units
from ..reward_functions.math.bounds import Budget, OutOfTime, OverBudget, Undefined, Unparsed
from ..reward_functions.math.extract import answer_text
from ..reward_functions.math.normal_form import interval, read
from ..reward_functions.math.question import requested_form, unknown
from ..reward_functions.math.reward import gold_text
from ..reward_functions.math.tree import Node, number
from ..reward_functions.math.units import Unit
from ..reward_functions.reward_function import BadReference
from .latex import Unwritable, folded, fraction, latex

Form = tuple[str, str]  # the kind of a change, and the changed answer
_Changed = tuple[str, Node]
_READ_S = 1.0
_CLEARLY = 1e-6  # how far values must lie apart, relatively, before they surely differ
_FAULTS = (
    Unparsed, OverBudget, OutOfTime, Undefined, Unwritable, BadReference, RecursionError,
)  # fmt: skip
_OTHER_UNITS = {
    "length": ("meters", "km"), "time": ("minutes", "hours"), "mass": ("grams", "kg"),
    "dollar": ("dollars", "cents"), "calendar": ("years", "months"),
}  # fmt: skip
_OTHER_WORDS = ("purple", "Thursday", "giraffe")
_LETTERS = "abcde"


def wrong_answers(answer: str, seed: str) -> list[Form]:
    """Return changed answers, each surely wrong; none if the answer cannot be parsed."""
    parsed = _parsed(answer)
    if parsed is None:
        return []
    forms: dict[str, Form] = {}
    for kind, node in _changed(parsed[1], random.Random(seed)):
        try:
            text = str(node.value) if node.op in ("text", "choice") else latex(node)
        except Unwritable:
            continue
        forms[text] = (kind, text)
    return list(forms.values())


def same_answers(answer: str, question: str = "") -> list[Form]:
    """Return the answer and its equivalent spellings; none if the answer cannot be parsed.

    A number may have the name that the question asks for, else x, and is written in the form that
    the question asks for.
    """
    parsed = _parsed(answer)
    if parsed is None:
        return []
    text, node = parsed
    forms = {text: "itself", rf"\boxed{{{text}}}": "boxed"}
    form = requested_form(question)
    for kind, spelling in _spellings(text, node, unknown(question) or "x"):
        if not form or kind not in ("decimal", "fraction") or kind == form:
            forms.setdefault(spelling, kind)
    return [(kind, spelling) for spelling, kind in forms.items()]


def _parsed(answer: str) -> tuple[str, Node] | None:
    """The text of an answer without its wrapping, and its tree."""
    try:
        text = answer_text(gold_text(answer), reference=True).strip()
        return text, read(text, Budget(_READ_S))
    except _FAULTS:
        return None


def _reads_back(node: Node) -> bool:
    """Whether the LaTeX of a tree parses to the same tree."""
    try:
        tree = folded(node)
        return _plain(folded(read(latex(tree), Budget(_READ_S)))) == _plain(tree)
    except _FAULTS:
        return False


def _plain(node: Node) -> Node:
    """A condition on a variable as its interval; an open interval as the pair it may also be."""
    if node.op == "region":
        span = interval(node)
        return _plain(span) if span else Node("region", node.args)
    return Node("tuple", node.args) if node.op == "interval" and node.value == "()" else node


# --- wrong answers --------------------------------------------------------------------------------


def _changed(node: Node, chance: random.Random) -> Iterator[_Changed]:
    """Each wrong tree with the kind of its change."""
    if node.op == "choice":
        others = [letter for letter in _LETTERS if letter != str(node.value).casefold()]
        yield "another choice", Node("choice", (), chance.choice(others).upper())
        return
    if node.op == "text":
        plain = str(node.value).casefold()
        others = [word for word in _OTHER_WORDS if word.casefold() not in plain]
        yield "another word", Node("text", (), chance.choice(others))
        return
    change = _CHANGES.get(node.op) or (_values if node.is_expression else None)
    if change is None or not _reads_back(node):
        return
    try:
        yield from change(folded(node), chance)
    except _FAULTS:
        return


def _values(node: Node, chance: random.Random) -> Iterator[_Changed]:
    """Other values of a number or an expression."""
    if node.holds("const", "inf"):
        return
    if isinstance(node.value, Fraction):
        exact, digit = node.value, _digit_changed(node.value, chance)
        yield "off by one", number(exact + 1)
        yield "off by one", number(exact - 1)
        yield "digit", number(digit)
        if exact:
            yield "sign", number(-exact)
        yield "two answers", Node("list", (node, number(digit)), ",")
        return
    if any(name[0] in "CcKk" for name in node.symbols):
        return  # a constant of integration absorbs a difference of one
    yield "off by one", Node("add", (node, number(1)))
    value = approximate(node, _point(node))
    if value is not None and abs(value) > _CLEARLY:
        yield "sign", Node("neg", (node,))


def _digit_changed(value: Fraction, chance: random.Random) -> Fraction:
    """The number with another digit in its numerator."""
    digits = str(abs(value.numerator))
    at = chance.randrange(len(digits))
    choices = [digit for digit in "123456789" if digit != digits[at]]
    top = int(digits[:at] + chance.choice(choices) + digits[at + 1 :])
    return Fraction(-top if value < 0 else top, value.denominator)


def _of_a_quantity(node: Node, chance: random.Random) -> Iterator[_Changed]:
    for kind, value in _values(node.args[0], chance):
        if value.op != "list":
            yield kind, Node("quantity", (value,), unit=node.unit)
    amount = approximate(node.args[0], {})
    other = _other_unit(node.unit) if node.unit else None
    if other is not None and amount is not None and abs(amount) > _CLEARLY:
        yield "unit", Node("quantity", node.args, unit=other)


def _other_unit(unit: Unit) -> Unit | None:
    """A unit in which the same number is surely another amount, or None."""
    if unit.offset or "unit" in unit.name or len(unit.dimension) != 1:
        return None
    name, power = unit.dimension[0]
    if power != 1:
        return None
    for other in map(units.unit, _OTHER_UNITS.get(name, ("kilograms",))):
        if other is not None and (other.dimension, other.factor) != (unit.dimension, unit.factor):
            return other
    return None


def _with_part(node: Node, at: int, part: Node) -> Node:
    return node.with_args((*node.args[:at], part, *node.args[at + 1 :]))


def _of_a_tuple(node: Node, chance: random.Random) -> Iterator[_Changed]:
    """One coordinate is changed."""
    positions = [at for at, part in enumerate(node.args) if part.is_expression]
    chance.shuffle(positions)
    for at in positions[:2]:
        for kind, value in _values(node.args[at], chance):
            if value.op != "list":
                yield f"{kind} in a coordinate", _with_part(node, at, value)
                break


def _of_a_row(node: Node, chance: random.Random) -> Iterator[_Changed]:
    at = chance.randrange(len(node.args))
    for kind, row in _of_a_tuple(node.args[at], chance):
        yield kind, _with_part(node, at, row)


def _of_members(node: Node, chance: random.Random) -> Iterator[_Changed]:
    """A member is missing or changed, if all members surely differ."""
    point = _point(node)
    members = [_member_values(part, point) for part in node.args]
    if len(members) < 2 or not _all_apart(members):
        return
    at = chance.randrange(len(members))
    left = (*node.args[:at], *node.args[at + 1 :])
    yield "missing member", left[0] if len(left) == 1 else Node(node.op, left, node.value)
    change = _of_a_tuple if node.args[at].op == "tuple" else _values
    for kind, changed in change(node.args[at], chance):
        others = [*members[:at], *members[at + 1 :], _member_values(changed, point)]
        if changed.op != "list" and _all_apart(others):
            yield f"{kind} in a member", _with_part(node, at, changed)
            return


def _of_an_interval(node: Node, _: random.Random) -> Iterator[_Changed]:
    """The other kind of end, or a wider interval."""
    ends, shape = [_end(part) for part in node.args], str(node.value)
    if ends[0] is None or ends[1] is None or not ends[0] < ends[1] - _CLEARLY:
        return
    for at, signs in enumerate(("[(", "])")):
        if math.isinf(ends[at] or 0.0):
            continue
        flipped = signs[1 - signs.index(shape[at])]
        other = flipped + shape[1] if at == 0 else shape[0] + flipped
        yield "open or closed end", Node(node.op, node.args, other)
        farther = Node("add", (node.args[at], number(-1 if at == 0 else 1)))
        yield "off by one in an end", _with_part(node, at, folded(farther))


def _of_a_region(node: Node, chance: random.Random) -> Iterator[_Changed]:
    """One interval is changed as an interval; of several disjoint ones, one is left out."""
    if len(node.args) == 1:
        for kind, changed in _of_an_interval(node.args[0], chance):
            yield kind, Node("region", (changed,), node.value)
        return
    ends = [(_end(part.args[0]), _end(part.args[1])) for part in node.args]
    spans = sorted((low, high) for low, high in ends if low is not None and high is not None)
    if len(spans) < len(ends) or not all(low < high for low, high in spans):
        return
    if all(one[1] <= other[0] for one, other in zip(spans, spans[1:], strict=False)):
        at = chance.randrange(len(node.args))
        left = (*node.args[:at], *node.args[at + 1 :])
        yield "missing part", Node("region", left, node.value)


def _of_a_name(node: Node, chance: random.Random) -> Iterator[_Changed]:
    """The named value is changed."""
    for kind, changed in _changed(node.args[0], chance):
        if changed.op != "list" or node.args[0].op == "list":
            yield kind, Node("named", (changed,), node.value)


def _of_a_base(node: Node, _: random.Random) -> Iterator[_Changed]:
    value, base = node.args[0].value, int(str(node.value).rpartition("_")[2])
    if isinstance(value, Fraction):
        yield "off by one", Node("base", (), f"{_digits(int(value) + 1, base)}_{base}")


def _digits(value: int, base: int) -> str:
    """The digits of a number in a base. Raises `Unwritable` if it needs letters."""
    digits = ""
    while value:
        value, digit = divmod(value, base)
        if digit > 9:
            raise Unwritable("a digit beyond 9")
        digits = f"{digit}{digits}"
    return digits or "0"


def _of_a_ratio(node: Node, _: random.Random) -> Iterator[_Changed]:
    parts = [part.value for part in node.args]
    if all(isinstance(part, Fraction) and part for part in parts):
        yield "off by one in a part", _with_part(node, 0, number(Fraction(parts[0] or 0) + 1))


_CHANGES: dict[str, Callable[[Node, random.Random], Iterator[_Changed]]] = {
    "quantity": _of_a_quantity,
    "tuple": _of_a_tuple,
    "matrix": _of_a_row,
    "list": _of_members,
    "set": _of_members,
    "interval": _of_an_interval,
    "region": _of_a_region,
    "named": _of_a_name,
    "base": _of_a_base,
    "ratio": _of_a_ratio,
}


# --- equivalents ----------------------------------------------------------------------------------


def _spellings(text: str, node: Node, letter: str) -> Iterator[Form]:
    if "$" not in text:
        yield "in a formula", f"${text}$"
    if r"\frac" in text:
        yield r"\dfrac", text.replace(r"\frac", r"\dfrac")
    if not _reads_back(node):
        return
    node = folded(node)
    yield "respelled", latex(node)
    if node.is_expression and not node.symbols and not node.holds("const", "inf"):
        yield "named", f"{letter} = {text}"
    if isinstance(node.value, Fraction):
        yield from _numerals(node.value)
    if node.op in ("set", "list"):
        turned = Node(node.op, node.args[::-1], node.value)
        yield "reordered", latex(turned)
    if node.op == "named":
        yield "without its name", latex(node.args[0])


def _numerals(value: Fraction) -> Iterator[Form]:
    """A number as a fraction, as an exact decimal, and with thousands separators."""
    try:
        exact = Context(prec=40, traps=[Inexact])
        decimal = exact.divide(Decimal(value.numerator), Decimal(value.denominator))
    except Inexact:
        return
    plain = f"{decimal:f}"
    yield "decimal", plain if "." in plain else f"{plain}.0"
    if value.denominator == 1 and abs(value) >= 1000:
        yield "thousands", f"{value.numerator:,}"
    elif value.denominator > 1:
        yield "fraction", fraction(value)


# --- values --------------------------------------------------------------------------------------

_FUNCTIONS: dict[str, Callable[[complex], complex]] = {
    "sqrt": cmath.sqrt, "sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan, "ln": cmath.log,
    "exp": cmath.exp, "abs": lambda value: complex(abs(value)),
}  # fmt: skip
_CONSTANTS = {"pi": math.pi, "e": math.e, "i": 1j}
_MAX_LOSS = 1e6  # the largest step as a multiple of the result: nine digits stay right


def approximate(node: Node, point: dict[str, float]) -> complex | None:
    """The value of an expression to about nine digits, or None if that is not certain."""
    sizes = [1.0]
    try:
        value = _approximate(node, point, sizes)
    except (ArithmeticError, ValueError, KeyError, TypeError):
        return None
    return value if max(sizes) <= _MAX_LOSS * max(1.0, abs(value)) else None


def _approximate(node: Node, point: dict[str, float], sizes: list[float]) -> complex:
    """Append the size of each step to `sizes`. Raises KeyError, ArithmeticError for no value."""
    if isinstance(node.value, Fraction):
        value = complex(float(node.value))
    elif node.op == "const":
        value = complex(_CONSTANTS[str(node.value)])
    elif node.op == "sym":
        value = complex(point[str(node.value)])
    else:
        value = _step(node, [_approximate(part, point, sizes) for part in node.args])
    sizes.append(abs(value))
    return value


def _step(node: Node, values: list[complex]) -> complex:
    if node.op == "add":
        return sum(values)
    if node.op == "mul":
        return math.prod(values, start=complex(1))
    if node.op == "fn" and len(values) == 1:
        return _FUNCTIONS[str(node.value)](values[0])
    first, *others = values
    steps: dict[str, Callable[[], complex]] = {
        "neg": lambda: -first,
        "div": lambda: first / others[0],
        "pow": lambda: first ** others[0],
    }
    return steps[node.op]()


def _point(node: Node) -> dict[str, float]:
    """Values for the variables that are generic: no special case holds there."""
    return {name: 1.3 + 0.37 * at for at, name in enumerate(sorted(node.symbols))}


def _end(node: Node) -> float | None:
    """The end of an interval."""
    if node == Node("const", (), "inf"):
        return math.inf
    if node == -Node("const", (), "inf"):
        return -math.inf
    value = approximate(node, {})
    return value.real if value is not None and abs(value.imag) < _CLEARLY else None


def _member_values(node: Node, point: dict[str, float]) -> tuple[complex, ...] | None:
    """The values of a member: one of an expression, one for each coordinate of a point."""
    values = [approximate(part, point) for part in (node.args if node.op == "tuple" else (node,))]
    return None if None in values else tuple(value for value in values if value is not None)


def _all_apart(members: Sequence[tuple[complex, ...] | None]) -> bool:
    """Whether all values are known and no two members could be equal."""

    def are_apart(one: Sequence[complex], other: Sequence[complex]) -> bool:
        pairs = zip(one, other, strict=False)
        far = (abs(left - right) > _CLEARLY * max(1.0, abs(left)) for left, right in pairs)
        return len(one) != len(other) or any(far)

    values = [member for member in members if member is not None]
    return len(values) == len(members) and all(starmap(are_apart, combinations(values, 2)))
