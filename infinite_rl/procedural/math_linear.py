"""Linear equations and systems, bare and told as stories."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from .draw import Draw
from .wording import (
    FOODS,
    PEOPLE,
    THINGS,
    VARIABLES,
    Problem,
    in_brackets,
    signed_sum,
    solved,
    times,
)


def make(draw: Draw, level: int) -> Problem:
    """A linear problem of level 1 to 3; the answer is a number or an ordered pair."""
    kinds = (equation, equation, story) if level == 1 else (equation, story, system, purchase)
    return draw.pick(kinds)(draw, level)


# --- one unknown


@dataclass(frozen=True)
class Side:
    """One side of an equation: how it is written, expanded, and its value m·x + n."""

    text: str
    expanded: str
    m: Fraction
    n: Fraction


def equation(draw: Draw, level: int) -> Problem:
    x = draw.pick(VARIABLES)
    root = Fraction(draw.nonzero(-9, 9 + 3 * level))
    if level == 3 and draw.chance(0.4):
        root = Fraction(draw.nonzero(-9, 9), draw.between(2, 5))
    while True:
        left, right = random_sides(draw, level, x)
        if left.m != right.m:
            break
    gap = left.m * root + left.n - right.m * root - right.n
    right = with_constant(right, gap, x)
    steps, value = solve_steps(left, right, x)
    return ask_about_root(draw, level, x, f"{left.text} = {right.text}", steps, value)


def random_sides(draw: Draw, level: int, x: str) -> tuple[Side, Side]:
    constant = Side("0", "0", Fraction(0), Fraction(0))
    if level == 1:
        return draw.pick((plain, plain, bracket, quotient))(draw, x), constant
    if level == 2:
        left = draw.pick((plain, bracket, two_brackets))(draw, x)
        return left, draw.pick((plain, bracket))(draw, x)
    left = draw.pick((two_brackets, two_quotients, bracket))(draw, x)
    return left, draw.pick((plain, bracket, two_brackets, quotient))(draw, x)


def plain(draw: Draw, x: str) -> Side:
    m, n = Fraction(draw.nonzero(-9, 9)), Fraction(draw.nonzero(-20, 20))
    text = (
        signed_sum([times(m, x), str(n)]) if draw.chance(0.7) else signed_sum([str(n), times(m, x)])
    )
    return Side(text, text, m, n)


def bracket(draw: Draw, x: str) -> Side:
    a, b, c = draw.pick((-5, -4, -3, -2, 2, 3, 4, 5, 6)), draw.nonzero(-9, 9), draw.nonzero(-3, 3)
    inside = (
        signed_sum([times(c, x), str(b)]) if draw.chance(0.6) else signed_sum([str(b), times(c, x)])
    )
    return Side(
        f"{a}({inside})",
        signed_sum([times(a * c, x), str(a * b)]),
        Fraction(a * c),
        Fraction(a * b),
    )


def two_brackets(draw: Draw, x: str) -> Side:
    return joined(bracket(draw, x), bracket(draw, x))


def quotient(draw: Draw, x: str) -> Side:
    a, b, d = draw.nonzero(-5, 5), draw.nonzero(-9, 9), draw.between(2, 6)
    m, n = Fraction(a, d), Fraction(b, d)
    return Side(
        f"({signed_sum([times(a, x), str(b)])})/{d}", signed_sum([times(m, x), str(n)]), m, n
    )


def two_quotients(draw: Draw, x: str) -> Side:
    return joined(quotient(draw, x), quotient(draw, x))


def joined(one: Side, two: Side) -> Side:
    text, expanded = signed_sum([one.text, two.text]), signed_sum([one.expanded, two.expanded])
    return Side(text, expanded, one.m + two.m, one.n + two.n)


def with_constant(side: Side, extra: Fraction, x: str) -> Side:
    """The side with a last constant added, so that the equation has the wanted root."""
    n = side.n + extra
    if side.m == 0:
        return Side(str(n), str(n), side.m, n)
    if side.text == side.expanded:
        text = linear_text(side.m, n, x)
        return Side(text, text, side.m, n)
    if extra == 0:
        return side
    return Side(
        f"{signed_sum([side.text, str(extra)])}", signed_sum([side.expanded, str(extra)]), side.m, n
    )


def linear_text(m: Fraction, n: Fraction, x: str) -> str:
    terms = ([times(m, x)] if m else []) + ([str(n)] if n or not m else [])
    return signed_sum(terms)


def solve_steps(left: Side, right: Side, x: str) -> tuple[list[str], Fraction]:
    steps = []
    if (left.text, right.text) != (left.expanded, right.expanded):
        steps.append(
            f"Remove the brackets and write out each term: {left.expanded} = {right.expanded}."
        )
    short = linear_text(left.m, left.n, x), linear_text(right.m, right.n, x)
    if short != (left.expanded, right.expanded):
        steps.append(f"Collect like terms on each side: {short[0]} = {short[1]}.")
    m, n = left.m - right.m, right.n - left.n
    if right.m or left.n:
        steps.append(
            f"Bring the {x} terms to the left and the numbers to the right: {times(m, x)} = {n}."
        )
    value = n / m
    if m != 1:
        steps.append(f"Divide both sides by {m}: {x} = {value}.")
    check = left.m * value + left.n
    steps.append(f"Check: with {x} = {value} both sides are equal to {check}.")
    return steps, value


def ask_about_root(
    draw: Draw, level: int, x: str, text: str, steps: list[str], value: Fraction
) -> Problem:
    if level > 1 and draw.chance(0.35):
        p, q = draw.between(2, 7), draw.nonzero(-12, 12)
        wanted = signed_sum([times(p, x), str(q)])
        result = p * value + q
        steps.append(
            f"Then {wanted} = {p}·{in_brackets(value)} {'+' if q > 0 else '-'} {abs(q)} = {result}."
        )
        return solved(
            draw, draw.pick(DERIVED_FRAMES).format(x=x, eq=text, wanted=wanted), steps, str(result)
        )
    prompt = draw.pick(EQUATION_FRAMES).format(x=x, eq=text)
    return solved(draw, f"{prompt} {draw.pick(VALUE_FORMS).format(x=x)}".strip(), steps, str(value))


EQUATION_FRAMES = (
    "Solve for {x}: {eq}.",
    "Find the number {x} for which {eq}.",
    "What value of {x} makes this equation true?\n\n{eq}\n\n",
    "If {eq}, what is {x}?",
    "The equation {eq} has exactly one solution. Determine it.",
    "Isolate {x} in the equation {eq}.",
    "Two expressions are equal: {eq}. For which {x} does this happen?",
    "For what {x} do both sides of {eq} agree?",
)
VALUE_FORMS = (
    "Give the value of {x} only.",
    "Answer with an integer or a reduced fraction.",
    "Check the result by putting it back in.",
    "Show how each step follows from the one before.",
    "",
)
DERIVED_FRAMES = (
    "Suppose {eq}. Find the value of {wanted}.",
    "Given that {eq}, compute {wanted}.",
    "First solve {eq} for {x}; then give the value of {wanted}.",
    "The number {x} satisfies {eq}. What is {wanted}?",
    "{eq} holds for one number {x}. How large is {wanted} for that number?",
)

# --- stories with one unknown


def story(draw: Draw, level: int) -> Problem:
    return draw.pick((ages, perimeter, consecutive, fares, plans, splitting))(draw, level)


def ages(draw: Draw, level: int) -> Problem:
    a, b = draw.some(PEOPLE, 2)
    young, gap, years = draw.between(3, 30), draw.between(2, 20), draw.between(2, 12)
    factor = draw.between(2, 2 + level)
    multiple = draw.chance(0.5)
    old = factor * young if multiple else young + gap
    total = old + young + 2 * years
    relation = (
        draw.pick(
            (f"{a} is {factor} times as old as {b}", f"{b}'s age times {factor} gives {a}'s age")
        )
        if multiple
        else draw.pick(
            (f"{a} is {gap} years older than {b}", f"{b} is {gap} years younger than {a}")
        )
    )
    later = draw.pick(
        (
            f"In {years} years their ages will add up to {total}.",
            f"The sum of their ages {years} years from now will be {total}.",
            f"After {years} more years, the two ages together make {total}.",
        )
    )
    of_old = draw.chance(0.5)
    question = draw.pick(
        ("How old is {who} now?", "Find {who}'s present age.", "What is {who}'s age today?")
    )
    expression = f"{factor}x" if multiple else f"x + {gap}"
    m, n = (factor + 1, 0) if multiple else (2, gap)
    steps = [
        f"Let x be {b}'s age now. Then {a} is {expression} years old.",
        f"In {years} years both are {years} years older: {linear_text(Fraction(m), Fraction(n), 'x')} + "
        f"{2 * years} = {total}.",
        f"So {times(m, 'x')} = {total - 2 * years - n} and x = {young}.",
        f"{a} is {old} and {b} is {young}; in {years} years they are {old + years} and {young + years}, "
        f"together {total}.",
    ]
    prompt = f"{relation}. {later} {question.format(who=a if of_old else b)}"
    return solved(draw, prompt, steps, str(old if of_old else young))


def perimeter(draw: Draw, level: int) -> Problem:
    shape = draw.pick(("garden", "poster", "courtyard", "football pitch", "window", "table top"))
    width, factor, extra = draw.between(3, 15 * level), draw.between(2, 4), draw.between(1, 12)
    length = factor * width + extra
    around = 2 * (length + width)
    relation = draw.pick(
        (
            f"is {extra} m longer than {factor} times its width",
            f"exceeds {factor} times the width by {extra} m",
            f"equals {factor} widths plus another {extra} m",
        )
    )
    fact = draw.pick(
        (
            "Its perimeter is {p} m.",
            "Walking once around it covers {p} m.",
            "The border is {p} m long.",
        )
    )
    wanted, value, last = draw.pick(
        (
            ("width in metres", width, f"The width is {width} m."),
            ("length in metres", length, f"The length is {factor}·{width} + {extra} = {length} m."),
            (
                "area in square metres",
                width * length,
                f"The area is {width}·{length} = {width * length}.",
            ),
        )
    )
    ask = draw.pick(
        (
            f"What is the {wanted}?",
            f"Find the {wanted}.",
            f"Set up an equation and give the {wanted}.",
        )
    )
    steps = [
        f"Let w be the width. The length is {factor}w + {extra}.",
        f"The perimeter is 2(w + {factor}w + {extra}) = {2 * factor + 2}w + {2 * extra} = {around}.",
        f"So {2 * factor + 2}w = {around - 2 * extra} and w = {width}.",
        last,
    ]
    prompt = f"The length of a rectangular {shape} {relation}. {fact.format(p=around)} {ask}"
    return solved(draw, prompt, steps, str(value))


def consecutive(draw: Draw, level: int) -> Problem:
    count, first = draw.between(3, 3 + level), draw.between(-10, 60)
    kind, gap = draw.pick((("integers", 1), ("even integers", 2), ("odd integers", 2)))
    if gap == 2:
        first = 2 * first + (kind == "odd integers")
    numbers = [first + gap * index for index in range(count)]
    total, shift = sum(numbers), gap * count * (count - 1) // 2
    wanted, value = draw.pick((("smallest", numbers[0]), ("largest", numbers[-1])))
    prompt = draw.pick(
        (
            f"The sum of {count} consecutive {kind} is {total}. Find the {wanted} of them.",
            f"{count} consecutive {kind} add up to {total}. What is the {wanted} one?",
            f"Adding {count} {kind} that follow one another gives {total}. Name the {wanted}.",
            f"Which is the {wanted} of the {count} consecutive {kind} whose sum equals {total}?",
        )
    )
    steps = [
        f"Call the smallest x. The numbers are x, x + {gap}, and so on up to x + {gap * (count - 1)}.",
        f"Their sum is {count}x + {shift} = {total}, so {count}x = {total - shift} and x = {first}.",
        f"The numbers run from {numbers[0]} to {numbers[-1]}; the {wanted} is {value}.",
    ]
    return solved(draw, prompt, steps, str(value))


RIDES = (
    ("A taxi", "kilometre", "ride"),
    ("A courier", "parcel", "pick-up"),
    ("A locksmith", "quarter of an hour", "visit"),
    ("A print shop", "page", "order"),
    ("A boat rental", "hour", "booking"),
    ("A storage firm", "day", "contract"),
)


def fares(draw: Draw, level: int) -> Problem:
    who, (firm, unit, job) = draw.pick(PEOPLE), draw.pick(RIDES)
    base, rate, count = (
        draw.between(2, 15),
        draw.between(2, 4 + 3 * level),
        draw.between(3, 10 + 10 * level),
    )
    off = draw.between(1, base + rate) if level > 1 and draw.chance(0.5) else 0
    total = base + rate * count - off
    coupon = f" A voucher takes ${off} off the bill." if off else ""
    prices = draw.pick(
        (
            f"{firm} charges a fixed ${base} for each {job} and ${rate} for every {unit}.",
            f"{firm} asks ${rate} per {unit}, on top of a basic fee of ${base} for the {job}.",
            f"The price list of a business reads: {job} ${base}, each {unit} ${rate}.",
        )
    )
    ask = draw.pick(
        (
            f"{who} pays ${total}. How many times is the {unit} charged?",
            f"{who}'s bill is ${total}. Find how often the rate per {unit} was counted.",
            f"If {who} is billed ${total}, what number of units (each one {unit}) was billed?",
        )
    )
    steps = [
        f"Let n be the number of units. The cost is {base} + {rate}n{f' - {off}' if off else ''} = {total}.",
        f"So {rate}n = {total - base + off}, which gives n = {total - base + off} ÷ {rate} = {count}.",
    ]
    return solved(draw, f"{prices}{coupon} {ask}", steps, str(count))


PLANS = (
    ("phone company", "a month", "gigabyte"),
    ("gym", "a year", "visit"),
    ("car-sharing club", "a month", "trip"),
    ("laundry service", "a season", "load"),
    ("music school", "a term", "lesson"),
)


def plans(draw: Draw, level: int) -> Problem:
    firm, period, unit = draw.pick(PLANS)
    cheap, dear = draw.between(2, 6), draw.between(7, 9 + 3 * level)
    count, low = draw.between(4, 12 * level + 8), draw.between(0, 20)
    high = low + count * (dear - cheap)
    second = (
        f"${low} {period} and ${dear} per {unit}" if low else f"no fixed fee but ${dear} per {unit}"
    )
    offer = draw.pick(
        (
            f"A {firm} has two offers: one costs ${high} {period} and ${cheap} per {unit}, the other {second}.",
            f"At a {firm}, offer A means ${high} {period} plus ${cheap} for each {unit}; offer B has {second}.",
        )
    )
    total = high + cheap * count
    wanted, value = draw.pick(((0, count), (1, total)))
    ask = draw.pick(
        (
            (
                f"After how many units of one {unit} do both cost the same?",
                "What is the cost, in dollars, where both offers are equal?",
            ),
            (
                f"Find the number of times a {unit} is used for which the offers agree in price.",
                "Find the price in dollars at which the two offers agree.",
            ),
        )
    )[wanted]
    steps = [
        f"For n units, the first costs {high} + {cheap}n and the second {low} + {dear}n.",
        f"They are equal when {high} + {cheap}n = {low} + {dear}n, that is {high - low} = {dear - cheap}n.",
        f"So n = {count}.",
        f"The common price is then {high} + {cheap}·{count} = {total}.",
    ]
    return solved(draw, f"{offer} {ask}", steps[: 3 + wanted], str(value))


def splitting(draw: Draw, level: int) -> Problem:
    a, b, c = draw.some(PEOPLE, 3)
    things, base = draw.pick(THINGS + FOODS), draw.between(3, 12 * level + 6)
    factor, more = draw.between(2, 2 + level), draw.between(1, 15)
    counts = {a: base, b: factor * base, c: base + more}
    total = sum(counts.values())
    fact = draw.pick(
        (
            f"{a}, {b} and {c} share {total} {things}.",
            f"Together {a}, {b} and {c} have {total} {things}.",
            f"{total} {things} are divided among {a}, {b} and {c}.",
        )
    )
    rule = draw.pick(
        (
            f"{b} has {factor} times as many as {a}, and {c} has {more} more than {a}.",
            f"For each one that {a} has, {b} has {factor}; {c} has {more} more than {a}.",
            f"{a} has {more} fewer than {c}, while {b} has {factor} times {a}'s share.",
        )
    )
    who = draw.pick((a, b, c))
    ask = draw.pick(
        (
            f"How many does {who} have?",
            f"What is {who}'s share?",
            f"Find the number that {who} gets.",
        )
    )
    steps = [
        f"Let x be {a}'s number. Then {b} has {factor}x and {c} has x + {more}.",
        f"Together: x + {factor}x + x + {more} = {factor + 2}x + {more} = {total}.",
        f"So {factor + 2}x = {total - more} and x = {base}.",
        f"{a} has {counts[a]}, {b} has {counts[b]}, {c} has {counts[c]}.",
    ]
    return solved(draw, f"{fact} {rule} {ask}", steps, str(counts[who]))


# --- two unknowns

PAIRS = (("x", "y"), ("a", "b"), ("p", "q"), ("u", "v"), ("m", "n"))


def system(draw: Draw, level: int) -> Problem:
    x, y = draw.pick(PAIRS)
    px, py = draw.nonzero(-9, 9), draw.nonzero(-9, 9)
    reach = 3 + 2 * level
    while True:
        a, b, d, e = (draw.nonzero(-reach, reach) for _ in range(4))
        if a * e != b * d:
            break
    c, f = a * px + b * py, d * px + e * py
    first = f"{signed_sum([times(a, x), times(b, y)])} = {c}"
    second = f"{signed_sum([times(d, x), times(e, y)])} = {f}"
    if draw.chance(0.3):
        second = f"{times(d, x)} = {signed_sum([str(f), times(-e, y)])}"
    det, top = a * e - b * d, c * e - f * b
    steps = [
        f"Multiply the first equation by {e} and the second by {b} and subtract, so that {y} drops out: "
        f"{times(det, x)} = {top}, hence {x} = {px}.",
        f"Put {x} = {px} into the first equation: {a}·{in_brackets(px)} + {in_brackets(b)}·{y} = {c}, "
        f"so {times(b, y)} = {c - a * px} and {y} = {py}.",
        f"Check in the second: {d}·{in_brackets(px)} + {in_brackets(e)}·{in_brackets(py)} = {f}.",
    ]
    asked = draw.below(5)
    names = (f"({x}, {y})", x, f"{x} + {y}", f"{x} - {y}", f"{x}·{y}")
    values = (f"({px}, {py})", px, px + py, px - py, px * py)
    if asked > 1:
        steps.append(f"Therefore {names[asked]} = {values[asked]}.")
    wanted = f"the ordered pair {names[0]}" if asked == 0 else names[asked]
    prompt = draw.pick(SYSTEM_FRAMES).format(first=first, second=second, wanted=wanted)
    return solved(draw, prompt, steps, str(values[asked]))


SYSTEM_FRAMES = (
    "Solve the system {first} and {second}. Give {wanted}.",
    "Two equations hold at once:\n\n{first}\n{second}\n\nFind {wanted}.",
    "The lines {first} and {second} meet in one point. Determine {wanted} there.",
    "If {first} and also {second}, what is {wanted}?",
    "Use elimination or substitution on {first}; {second}. State {wanted}.",
    "Numbers satisfy {first} as well as {second}. Work out {wanted}.",
)


def purchase(draw: Draw, level: int) -> Problem:
    who, other = draw.some(PEOPLE, 2)
    one, two = draw.some(draw.pick((FOODS, THINGS)), 2)
    px, py = draw.between(1, 3 + 3 * level), draw.between(2, 4 + 4 * level)
    while True:
        a, b, d, e = (draw.between(2, 9) for _ in range(4))
        if a * e != b * d:
            break
    c, f = a * px + b * py, d * px + e * py
    fact = draw.pick(
        (
            f"{who} buys {a} {one} and {b} {two} for ${c}. {other} pays ${f} for {d} {one} and {e} {two}.",
            f"At a stall, {a} {one} with {b} {two} cost ${c}, while {d} {one} with {e} {two} cost ${f}.",
            f"One receipt lists {a} {one}, {b} {two} and a total of ${c}. Another lists {d} {one}, "
            f"{e} {two} and ${f}.",
        )
    )
    wanted, value = draw.pick(
        (
            (f"the price in dollars of one unit of the {one}", px),
            (f"the price in dollars of one unit of the {two}", py),
            (f"what one of the {one} and one of the {two} cost together, in dollars", px + py),
        )
    )
    ask = draw.pick(
        (
            f"Find {wanted}.",
            f"Each kind has one fixed price. Work out {wanted}.",
            f"Determine {wanted}.",
        )
    )
    det, top = a * e - b * d, c * e - f * b
    steps = [
        f"Let p be the price of one of the {one} and q that of one of the {two}: "
        f"{times(a, 'p')} + {times(b, 'q')} = {c} and {times(d, 'p')} + {times(e, 'q')} = {f}.",
        f"Multiply the first by {e}, the second by {b}, and subtract: {times(det, 'p')} = {top}, so p = {px}.",
        f"Then {times(b, 'q')} = {c} - {a * px} = {c - a * px}, so q = {py}.",
    ]
    if value == px + py:
        steps.append(f"Together they cost {px} + {py} = {px + py}.")
    return solved(draw, f"{fact} {ask}", steps, str(value))
