"""The decision: whether two normal forms mean the same, and if not, why."""

import re
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction

from . import normal_form, units
from .bounds import MAX_MEMBERS, MAX_VARIABLES, Budget, OverBudget, Undefined, Unparsed
from .exact import NotPolynomial, Quotients, rational
from .families import WHOLE_NAMES, renamings, same_functions, same_points, same_span
from .parse import parse
from .regions import as_region, cases, stretches
from .text_answers import same_name, same_text
from .tokens import GREEK
from .tree import EXPRESSIONS, REALS, Node, constant, number, show, symbol

_DEGREES, _RADIANS = (("angle", 1),), (("radian", 1),)


def difference(first: Node, second: Node, budget: Budget) -> str:
    """How two forms differ, "" if they are equal.

    Raises OverBudget and OutOfTime, and Undefined if a side has no value.
    """
    budget.spend()
    if first == second:
        return ""
    if first.op == "base" or second.op == "base":
        values = [node.args[0] if node.op == "base" else node for node in (first, second)]
        return difference(values[0], values[1], budget)
    if first.is_expression and second.is_expression:
        return expressions(first, second, budget)
    if _RANKS.get(first.op, 99) > _RANKS.get(second.op, 99):
        first, second = second, first
    if second.op == "set" and len(second.args) == 1 and first.op != "set":
        return difference(first, second.args[0], budget)
    judge = _JUDGES.get(first.op)
    return _other_kind(first, second) if judge is None else judge(first, second, budget)


def _other_kind(first: Node, second: Node) -> str:
    kinds = ["number" if node.op in EXPRESSIONS else node.op for node in (first, second)]
    if kinds[0] == kinds[1]:
        return "the forms differ"
    return f"{'an' if min(kinds)[0] in 'aeiou' else 'a'} {min(kinds)} is no {max(kinds)}"


# -- numbers and expressions ----------------------------------------------------------------------


def expressions(first: Node, second: Node, budget: Budget) -> str:
    """Compare by exact arithmetic, then as quotients of polynomials, then at sample points.

    Of three letters or more, at positive points alone: in `\\sqrt{m k / m^2}` they are measures.
    """
    values = [rational(side, budget) for side in (first, second)]
    if None not in values:
        return "" if values[0] == values[1] else "the numbers differ"
    if first.holds("const", "inf") or second.holds("const", "inf"):
        return "infinity and something else"
    names = _names(first, second)
    if names:
        try:
            return "" if Quotients(names, budget).equal(first, second) else "the polynomials differ"
        except NotPolynomial:
            pass  # the values decide
    from .numeric import agree  # loads mpmath, which most answers do not need

    real = not (first.holds("const", "i") or second.holds("const", "i"))
    reason = agree(first, second, names, real, budget)
    absolute = first.holds("fn", "abs") or second.holds("fn", "abs")
    if not reason or absolute or len(names) < _MEASURES:
        return reason
    squares = {name: Node("pow", (symbol(name), number(2))) for name in names}
    return agree(first.substituted(squares), second.substituted(squares), names, real, budget)


def _names(first: Node, second: Node) -> list[str]:
    """The variables of two expressions, in order. Raises OverBudget for too many."""
    names = sorted(first.symbols | second.symbols)
    if len(names) > MAX_VARIABLES:
        raise OverBudget(f"more than {MAX_VARIABLES} variables")
    return names


def _conditional(first: Node, second: Node, budget: Budget) -> str:
    """Compare answers with conditions: equal ones, or natural conditions on one side only.

    A name that a condition binds may be another one: `2^k` and `2^m` for positive integers.
    """
    body, *conditions = first.args
    if second.op != "conditional":
        fewer = second.op == "congruence" and any(each.args[0] != REALS for each in conditions)
        if first.value != "natural" or fewer:
            return "a condition that one side alone states"
        return difference(body, second, budget)
    other, *opposites = second.args
    if len(conditions) != len(opposites):
        return "the conditions differ"
    for condition, opposite in zip(conditions, opposites, strict=True):
        sets = (condition.args[:2], opposite.args[:2])  # of the natural numbers with 0 or without
        same = any(not difference(one, another, budget) for one in sets[0] for another in sets[1])
        if condition.value != opposite.value or not same:
            return "the conditions differ"
        everything = condition.value == "real" and sets[0][0] == REALS
        names, others = condition.args[2:], opposite.args[2:]
        if everything or names == others:
            continue
        name, bound = (str(each[0].value) for each in (names, others))
        alone = len(names) == len(others) == len(conditions) == 1
        argument = other.op == "named" and bound in str(other.value)  # the `x` of `f(x)`
        if not alone or argument or bound not in other.symbols or name in other.symbols:
            return "conditions on others"
        other = other.substituted({bound: symbol(name)})
    return difference(body, other, budget)


def _equations(first: Node, second: Node, budget: Budget) -> str:
    """Compare equations: equal if their differences of sides are proportional."""
    sides: list[Node] = []
    for node in (first, second):
        named = (symbol(str(node.value)), node.args[0])
        left, right = node.args if node.op == "equation" else named
        if not (left.is_expression and right.is_expression):
            return "the equations differ"
        sides.append(left - right)
    one, other = sides
    names = _names(one, other)
    try:
        same = Quotients(names, budget).same_zeros(one, other)
        return "" if same else "the equations differ"
    except NotPolynomial:
        pass  # the values decide
    from .numeric import proportional

    # Both ways round, so that the order of the two cannot matter where one of them vanishes.
    same = proportional(one, other, names, budget) and proportional(other, one, names, budget)
    return "" if same else "the equations differ"


def _named(first: Node, second: Node, budget: Budget) -> str:
    if second.op == "named" and not _HEAD.fullmatch(str(first.value)):
        first, second = second, first
    value = first.args[0]
    if second.op == "named" or second.is_expression:
        first, second = _renamed(first, second)
    if second.op == "named" and first.value == second.value == "span":
        return "" if same_span(value, second.args[0]) else "the spaces differ"
    if second.op == "named":
        kinds = sorted(_kind_of_name(str(node.value)) for node in (first, second))
        constants = all(map(normal_form.C.fullmatch, (str(first.value), str(second.value))))
        if constants and len(value.symbols) > 1:  # `x^2 + y^2 = C`
            return difference(value, second.args[0], budget)
        for curve, name in ((first, second), (second, first)):
            if normal_form.C.fullmatch(str(curve.value)) and str(name.value) in curve.symbols:
                constant, y = symbol(str(curve.value)), normal_form.summed(name.args[0])
                y = y.substituted(
                    dict.fromkeys(filter(normal_form.C.fullmatch, y.symbols), constant)
                )
                along = curve.args[0].substituted({str(name.value): y})
                return difference(along, constant, budget)  # `y = C - x`
        if kinds == ["variable", "variable"] and first.value != second.value:
            return _equations(first, second, budget)
        one, other = (str(node.value).casefold() for node in (first, second))
        if kinds[0] == kinds[1] and one not in other and other not in one:
            return "the names differ"
        return _up_to_constants(value, second.args[0], budget)
    if second.op == "equation":
        return _equations(first, second, budget)
    point = first.value == "C" and value.op == "tuple" and len(value.args) == 2
    if point and second.is_expression:
        value = Node("binom", value.args)  # `C(52, 5)` beside a number
    return _up_to_constants(value, second, budget)


_MEASURES = 3  # letters that a formula of physics has
_HEAD = re.compile(
    r"((?:[A-Za-z]+(?:_[A-Za-z])?|\(\w+\))(?:\^-1|'{1,2})?)(?:\(([a-z]+)\)|_\{?([a-z])\}?)"
)  # `f(x)`, `a_n`


def _renamed(first: Node, second: Node) -> tuple[Node, Node]:
    """The second with the bound name of the first: `f(n) = n + 1` as `f(x) = x + 1`.

    An expression without a name is one of its only variable.
    """
    head = _HEAD.fullmatch(str(first.value))
    if head is None:
        return first, second
    bound = head[2] or head[3]
    variables = second.symbols & normal_form.INTEGRATED
    if second.op == "named" and second.value == head[1] and len(variables) == 1:
        name, value = next(iter(variables)), second.args[0]  # `y = e^x` beside `y(t) = e^t`
    elif second.op == "named":
        other = _HEAD.fullmatch(str(second.value))
        if other is None or other[1] != head[1] or bool(other[2]) != bool(head[2]):
            return first, second
        name, value = other[2] or other[3], second.args[0]
    else:
        name, value = next(iter(second.symbols), ""), second
        if len(second.symbols) != 1 or first.args[0].symbols != {bound} or not head[2]:
            return first, second
    if name == bound or bound in value.symbols:
        return first, second
    value = value.substituted({name: symbol(bound)})
    return first, Node("named", (value,), first.value) if second.op == "named" else value


def _up_to_constants(first: Node, second: Node, budget: Budget) -> str:
    """Compare values of a function; their arbitrary constants may have any names."""
    reason = difference(first, second, budget)
    first, second = map(normal_form.summed, (first, second))
    if not reason or not (first.is_expression and second.is_expression):
        return reason
    same = any(not difference(first, each, budget) for each in renamings(first, second))
    return "" if same or same_functions(first, second, budget) else reason


def _kind_of_name(name: str) -> str:
    """`x_1` and `theta` are variables, `f(x)` a function, `Area` a word."""
    if name.endswith(")"):
        return "function"
    letter = re.split("[_^'\u02d9\u00a8~]", name.lstrip("\\").removeprefix("bar "))[0]
    return "variable" if len(letter) == 1 or letter in GREEK else "word"


def _equation(first: Node, second: Node, budget: Budget) -> str:
    if second.op == "equation":
        return _equations(first, second, budget)
    left, right = first.args
    if left.op != "sym" and not right.symbols and not second.symbols and is_quantity(left):
        return difference(right, second, budget)
    if second.is_expression and second.symbols and not expressions(left, right, budget):
        return difference(right, second, budget)  # an identity, such as `\\cos 2x = 2\\cos^2 x - 1`
    return _other_kind(first, second)


def is_quantity(node: Node) -> bool:
    """Whether an expression is what a task asks for, as `m + n`, `|AB|` and `\\tan A` are.

    One of a single variable, such as `2x`, is a step towards that variable, and one of coordinates
    is a side of an equation.
    """
    if node.op in ("sym", "text"):
        return True
    if node.op == "fn" and node.args[0].op == "sym":
        return node.value in ("sin", "cos", "tan", "cot", "sec", "csc")
    if len(node.symbols) < 2 or node.symbols & _COORDINATES:
        return False
    like = {arg.substituted(dict.fromkeys(arg.symbols, symbol("n"))) for arg in node.args}
    alike = node.op == "add" and len(like) == 1  # `m + n` and `r^2 + s^2`, not `a^2 + b`
    return alike or node.op == "div" or all(name[0].isupper() for name in node.symbols)


_COORDINATES = frozenset("xyz")  # an equation of these is a line or a curve


def _inequality(first: Node, second: Node, budget: Budget) -> str:
    if second.op != "inequality" or first.value != second.value:
        return _other_kind(first, second)
    one, other = (node.args[1] - node.args[0] for node in (first, second))
    return expressions(one, other, budget)


def _quantity(first: Node, second: Node, budget: Budget) -> str:
    """Compare quantities after conversion; a missing unit is fine, a different one is not."""
    unit, value = first.unit, first.args[0]
    if unit is None:
        return _other_kind(first, second)
    if second.op == "quantity" and second.unit is not None:
        if {unit.dimension, second.unit.dimension} == {_DEGREES, _RADIANS}:
            one, other = (
                Node("deg", node.args) if measure.dimension == _DEGREES else node.args[0]
                for node, measure in ((first, unit), (second, second.unit))
            )
            return difference(one, other, budget)
        names = {name for name, _ in unit.dimension + second.unit.dimension}
        powers = [[power for _, power in each.dimension] for each in (unit, second.unit)]
        if names == {"unit", "length"} and powers[0] == powers[1]:  # "square units" and an area
            return difference(value, second.args[0], budget)
        if unit.dimension != second.unit.dimension:
            same = "".join(unit.name.split()) == "".join(second.unit.name.split())  # "mg", "m g"
            return difference(value, second.args[0], budget) if same else "the units differ"
        return difference(
            _in_base_units(value, unit), _in_base_units(second.args[0], second.unit), budget
        )
    if not second.is_expression:
        return _other_kind(first, second)
    if second.symbols and (letters := _as_product_of_variables(unit.name)) is not None:
        return difference(Node("mul", (value, letters)), second, budget)
    reason = difference(value, second, budget)
    if reason and unit.dimension == _DEGREES:
        return difference(Node("deg", (value,)), second, budget)
    return reason


def _as_product_of_variables(name: str) -> Node | None:
    """A unit of single letters as a product of variables: "9.8 m/s^2" is also an expression."""
    if re.search("[A-Za-z]{2}", name):
        return None
    try:
        node = parse(name)
    except (Unparsed, OverBudget):
        return None
    return node if node.is_expression else None


def _in_base_units(value: Node, unit: units.Unit) -> Node:
    scaled = Node("mul", (value, number(unit.factor)))
    return Node("add", (scaled, number(unit.offset))) if unit.offset else scaled


def _text(first: Node, second: Node, budget: Budget) -> str:
    words = str(first.value)
    if second.op == "text":
        return "" if same_text(words, str(second.value)) else "the texts differ"
    if second.op in ("sym", "const"):
        return "" if words == str(second.value).casefold() else "the texts differ"
    letters = [str(arg.value) for arg in second.args] if second.op == "list" else []
    if letters and all(len(each) == 1 and each.isupper() for each in letters):
        return "" if sorted(words) == sorted("".join(letters).casefold()) else "the choices differ"
    if second.is_expression and words.isalpha() and len(words) <= 3:  # "xy" is also x times y
        names = [constant(letter) if letter in "ei" else symbol(letter) for letter in words]
        return difference(Node("mul", tuple(names)), second, budget)
    return _other_kind(first, second)


# -- collections ----------------------------------------------------------------------------------


def _other_length(first: Sequence[object], second: Sequence[object]) -> str:
    fewer, more = sorted([len(first), len(second)])
    return f"{fewer} members and {more}"


def _ordered(first: Sequence[Node], second: Sequence[Node], budget: Budget) -> str:
    if len(first) != len(second):
        return _other_length(first, second)
    for index, (left, right) in enumerate(zip(first, second, strict=True), 1):
        if difference(left, right, budget):
            return f"member {index} differs"
    return ""


def _unordered(first: Sequence[Node], second: Sequence[Node], budget: Budget) -> str:
    """Compare members one to one, in any order."""
    if len(first) != len(second):
        return _other_length(first, second)
    some, others = _either_way(first, second)
    left = list(others)
    for member in some:
        index = _find(member, left, budget)
        if index is None:
            return "a member has no partner"
        del left[index]
    return ""


def _either_way(first: Sequence[Node], second: Sequence[Node]) -> list[Sequence[Node]]:
    """Compare in both orders: which side is the prediction must not choose the members that are
    met first, and so whether one that is over budget is met before a difference.
    """
    return sorted([first, second], key=lambda members: [show(member) for member in members])


def _find(member: Node, among: Sequence[Node], budget: Budget) -> int | None:
    for index, other in enumerate(among):
        if (member.op == "set") != (other.op == "set"):
            continue  # as a member, {2} is not 2
        try:
            if not difference(member, other, budget):
                return index
        except Undefined:
            continue
    return None


def _as_sets(first: Sequence[Node], second: Sequence[Node], budget: Budget) -> str:
    """Compare as sets: each member of one is in the other, however often."""
    some, others = _either_way(first, second)
    pairs = ((some, others), (others, some))
    inside = all(_find(member, b, budget) is not None for a, b in pairs for member in a)
    return "" if inside else "a member has no partner"


def _interval(first: Node, second: Node, budget: Budget) -> str:
    other = normal_form.interval(second)
    if other is None:
        return _other_kind(first, second)
    for index, end in enumerate(("low", "high")):
        if difference(first.args[index], other.args[index], budget):
            return f"the {end} ends differ"
        infinite = first.args[index].holds("const", "inf")
        if not infinite and str(first.value)[index] != str(other.value)[index]:
            return f"the {end} end is open in one, closed in the other"
    return ""


def _region(first: Node, second: Node, budget: Budget) -> str:
    if second.op == "region" and first.value and second.value and first.value != second.value:
        return "the names differ"
    single = normal_form.interval(first)
    if single is not None and normal_form.interval(second) is not None:
        return _interval(single, second, budget)
    if second.op == "list" and all(map(normal_form.interval, second.args)):
        second = as_region(normal_form.union(second.args), budget)  # "increasing on A and B"
    if second.op != "region":
        return _other_kind(first, second)
    return _unordered(first.args, second.args, budget)


def _tuple(first: Node, second: Node, budget: Budget) -> str:
    if second.op == "tuple":
        named = first.value is not None and second.value is not None
        if named and first.value != second.value:
            return _by_names(first, second, budget)
        return _vectors(first.args, second.args, budget)
    if second.op == "matrix" and (len(second.args) == 1 or len(second.args[0].args) == 1):
        return _vectors(first.args, [arg for row in second.args for arg in row.args], budget)
    letters = {name.partition("_")[0] for name in str(first.value).split(",")}
    if second.op == "list" and len(letters) == 1 and re.search("_{?[0-9]", str(first.value)):
        return _unordered(first.args, second.args, budget)  # `x_1,x_2`: solutions, say
    if second.op == "list" and second.value == "," and first.value is not None:
        return _ordered(first.args, second.args, budget)
    return _other_kind(first, second)


def _vectors(first: Sequence[Node], second: Sequence[Node], budget: Budget) -> str:
    """Compare vectors, with parameters as all points that they run through."""
    reason = _ordered(first, second, budget)
    parallel = len(first) == len(second) and all(e.is_expression for e in (*first, *second))
    return "" if reason and parallel and same_points(first, second, budget) else reason


def _by_names(first: Node, second: Node, budget: Budget) -> str:
    """Compare values with names, whatever their order: `V = 2, h = 5` is `height 5, volume 2`.

    A name may be short for another or say less, and one pair of names at most may be unlike.
    """
    names, others = (str(node.value).split(",") for node in (first, second))
    if len(names) != len(others):
        return _other_length(names, others)
    partners = [[n for n, other in enumerate(others) if same_name(name, other)] for name in names]
    left = [n for n in range(len(others)) if [n] not in partners]
    if sum(len(each) == 1 for each in partners) + len(left) != len(others) or len(left) > 1:
        return "the names differ"
    order = [each[0] if len(each) == 1 else left[0] for each in partners]
    pairs = zip(names, partners, strict=True)
    unlike = [name + others[left[0]] for name, each in pairs if not each]
    if len(names) == len(left) or len(set(order)) < len(order) or any(len(n) < 4 for n in unlike):
        return "the names differ"
    return _ordered(first.args, [second.args[n] for n in order], budget)


def _list(first: Node, second: Node, budget: Budget) -> str:
    bounds = [[arg for arg in side.args if arg.op == "region"] for side in (first, second)]
    if second.op == "list" and len(bounds[0]) == len(bounds[1]) == 1:  # a bound name is free
        names = [str(each[0].value or "") for each in bounds]
        if names[0] != names[1] and all(names) and names[0] not in second.symbols:
            second = second.substituted({names[1]: symbol(names[0])})
            heads = [f"({name})" for name in names]
            second = second.with_args(
                arg._replace(value=str(arg.value).replace(heads[1], heads[0]))
                if arg.op == "named"
                else arg
                for arg in second.args
            )
    if second.op == "set":
        return _as_sets(first.args, second.args, budget)
    if second.op == "list":
        if "or" in (first.value, second.value) and first.value != second.value:
            return 'one says "or", the other does not'  # letters: choices, statements
        if _is_union((*first.args, *second.args)) and not _congruence(first, second, budget):
            return ""
        points = all(arg.op == "tuple" for arg in (*first.args, *second.args))
        several = points and min(len(set(side.args)) for side in (first, second)) > 1
        repeats = len(set(first.args)) < len(first.args) and not several  # mean, median and mode
        judge = _as_sets if several else _ordered if repeats else _unordered
        return judge(first.args, second.args, budget)
    if second.is_expression and len(set(first.args)) == len(first.args):
        # "3/4, or 0.75": one number in several spellings
        return next(filter(None, (difference(arg, second, budget) for arg in first.args)), "")
    return _other_kind(first, second)


def _set(first: Node, second: Node, budget: Budget) -> str:
    if second.op == "set":
        return _as_sets(first.args, second.args, budget)
    alone = len(first.args) == 1
    return difference(first.args[0], second, budget) if alone else _other_kind(first, second)


def _matrix(first: Node, second: Node, budget: Budget) -> str:
    if second.op != "matrix" or len(first.args) != len(second.args):
        return "the shapes differ" if second.op == "matrix" else _other_kind(first, second)
    if all(len(row.args) == 1 for row in (*first.args, *second.args)):
        one, other = ([row.args[0] for row in node.args] for node in (first, second))
        return _vectors(one, other, budget)
    rows = zip(first.args, second.args, strict=True)
    return next(filter(None, (_ordered(a.args, b.args, budget) for a, b in rows)), "")


def _choice(first: Node, second: Node, budget: Budget) -> str:
    """Compare choices: an answer may give the letter or the text beside it."""
    beside = first.args[0] if first.args else None
    if second.op == "choice":
        if first.value != second.value:
            return "the choices differ"
        both = beside is not None and second.args
        return difference(beside, second.args[0], budget) if both and beside else ""
    if second.op in ("text", "sym", "const") and len(str(second.value)) == 1:
        return "" if str(second.value).casefold() == first.value else "the choices differ"
    return _other_kind(first, second) if beside is None else difference(beside, second, budget)


def _antiderivative(first: Node, second: Node, budget: Budget) -> str:
    """Compare antiderivatives: with a constant each they may differ by a number."""
    whole, written = first.args
    if second.op == "antiderivative":
        gap = whole - second.args[0]
        constant_gap = _somewhere(gap, gap.symbols & normal_form.INTEGRATED)
        shifted = Node("add", (second.args[0], constant_gap))
        return expressions(whole, shifted, budget)
    if written.value == "C":
        return difference(whole, second, budget)
    return difference(Node("add", first.args), second, budget)


def _ratio(first: Node, second: Node, budget: Budget) -> str:
    """Compare ratios: proportional ones are equal; one of two parts is also a quotient."""
    if second.op != "ratio":
        if len(first.args) != 2 or not second.is_expression:
            return _other_kind(first, second)
        return expressions(Node("div", first.args), second, budget)
    if len(first.args) != len(second.args):
        return "the ratios have different lengths"
    sides = (first.args, second.args)
    if any(all(rational(part, budget) == 0 for part in side) for side in sides):
        return "a ratio of zeros"
    parts = list(zip(*sides, strict=True))
    for index, (left, right) in enumerate(parts):
        for other, opposite in parts[:index]:
            products = Node("mul", (left, opposite)), Node("mul", (right, other))
            if expressions(*products, budget):
                return "the ratios differ"
    return ""


def _clock(first: Node, second: Node, budget: Budget) -> str:
    if second.op == "clock":
        return "" if first.value == second.value else "the times differ"
    ratio = Node("ratio", first.args)
    return _ratio(ratio, second, budget) if first.args else _other_kind(first, second)


def _date(first: Node, second: Node) -> str:
    """Compare dates, and a weekday beside them if the calendar cannot check it."""
    if second.op != "date":
        return _other_kind(first, second)
    (one, _, weekday), (other, _, named) = (str(d.value).partition(" ") for d in (first, second))
    if one != other:
        return "the dates differ"
    return "the days of the week differ" if weekday and named and weekday != named else ""


def _congruence(first: Node, second: Node, budget: Budget) -> str:
    """Compare classes of numbers: 1 and 3 modulo 4 are 1 modulo 2."""
    named = first.op == "congruence" and first.value and second.is_expression
    if named and second.holds("const", "pi") and second.symbols <= WHOLE_NAMES:
        second = next(iter(normal_form.residues([second], "".join(second.symbols))), second)
    sides = [node.args if node.op == "list" else (node,) for node in (first, second)]
    if not all(map(_is_union, sides)):
        return _other_kind(first, second)
    names = {str(member.value) for side in sides for member in side if member.value}
    if len(names) > 1:
        return "the names differ"
    moduli = [side[0].args[1] for side in sides]
    for side, modulus in zip(sides, moduli, strict=True):
        if any(expressions(member.args[1], modulus, budget) for member in side[1:]):
            return "the moduli differ"
    share = _fraction(moduli[0] / moduli[1], budget)
    if not share:
        return "the moduli differ"
    times = [share.denominator, abs(share.numerator)]  # of each modulus in their common multiple
    if sum(times) * max(map(len, sides)) > MAX_MEMBERS:
        raise OverBudget("classes of too many remainders")
    common = Node("mul", (moduli[0], number(times[0])))
    spread = [
        [
            Node("add", (member.args[0], Node("mul", (number(turn), member.args[1]))))
            for member in side
            for turn in range(count)
        ]
        for side, count in zip(sides, times, strict=True)
    ]
    for some, others in (spread, spread[::-1]):
        for one in some:
            if not any(_turns(one, other, common, budget) for other in others):
                return "the remainders differ"
    return ""


def _is_union(members: Sequence[Node]) -> bool:
    return all(member.op == "congruence" for member in members)


def _turns(first: Node, second: Node, modulus: Node, budget: Budget) -> bool:
    """Whether two numbers are congruent."""
    turns = _fraction((first - second) / modulus, budget)
    return turns is not None and turns.denominator == 1


def _fraction(node: Node, budget: Budget) -> Fraction | None:
    """A constant as a fraction, even if other terms cancel: `2 pi / 4 pi`, `a + 4 - a`."""
    value = rational(node, budget)
    if value is not None:
        return value
    somewhere = _somewhere(node, node.symbols)
    value = rational(somewhere, budget)
    if value is None:
        from .numeric import real_value  # loads mpmath

        value = real_value(somewhere, budget).limit_denominator(MAX_MEMBERS)
    return None if expressions(node, number(value), budget) else value


def _somewhere(node: Node, names: Collection[str]) -> Node:
    """The tree with a fraction in the place of each of these variables."""
    there = {name: number(Fraction(7 + index, 11)) for index, name in enumerate(sorted(names))}
    return node.substituted(there)


def _piecewise(first: Node, second: Node, budget: Budget) -> str:
    if second.op != "piecewise" and not second.is_expression:
        return _other_kind(first, second)
    if second.op == "piecewise" and first.value != second.value:
        return "the names differ"
    name = str(first.value)
    if not name:  # cases told in words, such as "n is even"
        return _unordered(first.args, second.args, budget)
    functions = [cases(first, budget), cases(second, budget)]
    for stretch in stretches(functions):
        one, other = (stretch.value(function, name) for function in functions)
        if (one is None) != (other is None):
            return "one function has a value where the other has none"
        if one is not None and other is not None and expressions(one, other, budget):
            return "the functions differ"
    return ""


# fmt: off
_JUDGES: dict[str, Callable[[Node, Node, Budget], str]] = {
    "conditional": _conditional, "choice": _choice, "named": _named,
    "antiderivative": _antiderivative, "equation": _equation, "inequality": _inequality,
    "clock": _clock,
    "quantity": _quantity, "text": _text, "ratio": _ratio, "congruence": _congruence,
    "piecewise": _piecewise, "region": _region, "interval": _interval, "tuple": _tuple,
    "list": _list, "set": _set, "matrix": _matrix,
    "date": lambda first, second, _: _date(first, second),
    "row": lambda first, second, budget: _ordered(first.args, second.args, budget),
}
# fmt: on
# The order in which a pair is put before it is judged: so the verdict cannot depend on its order.
_RANKS = {op: rank for rank, op in enumerate(_JUDGES)}
