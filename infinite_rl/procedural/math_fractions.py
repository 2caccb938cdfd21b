"""Fractions: expressions to evaluate, shares of a whole, and operations to undo."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from .draw import Draw
from .wording import PEOPLE, Problem, listing, solved

LARGEST_DENOMINATOR = 400
SYMBOLS = {"+": "+", "-": "-", "*": "×", "/": "÷"}


def make(draw: Draw, level: int) -> Problem:
    """A fraction problem of level 1 to 3; the answer is a reduced fraction or an integer."""
    return draw.pick((evaluate, evaluate, shares, shares, undo))(draw, level)


# --- an expression to evaluate


@dataclass(frozen=True)
class Node:
    """A binary operation on fractions."""

    op: str
    left: Node | Fraction
    right: Node | Fraction


def evaluate(draw: Draw, level: int) -> Problem:
    leaves = level + 1 + draw.below(2) if level > 1 else 2
    while True:
        tree = random_tree(draw, leaves, level)
        steps: list[str] = []
        value = reduce_tree(tree, steps)
        if value is not None:
            break
    frame = draw.pick(EVALUATE_FRAMES)
    prompt = f"{frame.format(expression=show(tree))} {draw.pick(EVALUATE_FORMS)}"
    if leaves > 2:
        steps.insert(0, draw.pick(ORDER_REMINDERS))
    return solved(draw, prompt, steps, str(value))


def random_tree(draw: Draw, leaves: int, level: int) -> Node | Fraction:
    if leaves == 1:
        bottom = draw.between(2, 4 + 3 * level)
        top = draw.between(1, bottom - 1) if draw.chance(0.8) else draw.between(1, 2 * bottom)
        return Fraction(top, bottom)
    left = draw.between(1, leaves - 1)
    op = draw.pick("++--*/")
    return Node(op, random_tree(draw, left, level), random_tree(draw, leaves - left, level))


def reduce_tree(tree: Node | Fraction, steps: list[str]) -> Fraction | None:
    """The value, with one written step an operation; None where the numbers grow unwieldy."""
    if isinstance(tree, Fraction):
        return tree
    left, right = reduce_tree(tree.left, steps), reduce_tree(tree.right, steps)
    if left is None or right is None or (tree.op == "/" and right == 0):
        return None
    value, step = operate(tree.op, left, right)
    steps.append(step)
    return value if value.denominator <= LARGEST_DENOMINATOR else None


def operate(op: str, left: Fraction, right: Fraction) -> tuple[Fraction, str]:
    """The value of one operation and the line that works it out."""
    value = apply(op, left, right)
    a, b = bracketed(left), bracketed(right)
    if op in "+-":
        common = least_common(left.denominator, right.denominator)
        tops = (
            left.numerator * common // left.denominator,
            right.numerator * common // right.denominator,
        )
        raw = tops[0] + tops[1] if op == "+" else tops[0] - tops[1]
        middle = f" = {tops[0]}/{common} {op} {as_term(tops[1], common)} = {raw}/{common}"
        return value, tidy(
            f"{left} {op} {b}", middle if common > 1 else "", f"{raw}/{common}", value
        )
    if op == "/":
        flipped = 1 / right
        text = f"{left} ÷ {b} = {a} × {bracketed(flipped)}"
        return value, tidy(text, raw_product(left, flipped), raw_text(left, flipped), value)
    return value, tidy(f"{left} × {b}", raw_product(left, right), raw_text(left, right), value)


def apply(op: str, left: Fraction, right: Fraction) -> Fraction:
    if op == "+":
        return left + right
    if op == "-":
        return left - right
    return left * right if op == "*" else left / right


def raw_text(left: Fraction, right: Fraction) -> str:
    return f"{left.numerator * right.numerator}/{left.denominator * right.denominator}"


def raw_product(left: Fraction, right: Fraction) -> str:
    return f" = {raw_text(left, right)}"


def tidy(start: str, middle: str, raw: str, value: Fraction) -> str:
    """`start = middle = value`, without repeating a form that is already reduced."""
    return f"{start}{middle}." if raw == str(value) and middle else f"{start}{middle} = {value}."


def as_term(top: int, bottom: int) -> str:
    return f"({top}/{bottom})" if top < 0 else f"{top}/{bottom}"


def bracketed(value: Fraction) -> str:
    return f"({value})" if value < 0 else str(value)


def least_common(a: int, b: int) -> int:
    return Fraction(a, b).numerator * b


def show(tree: Node | Fraction, parent: str = "", right_hand: bool = False) -> str:
    if isinstance(tree, Fraction):
        return str(tree)
    text = f"{show(tree.left, tree.op)} {SYMBOLS[tree.op]} {show(tree.right, tree.op, True)}"
    tight = tree.op in "*/"
    loose_inside_tight = parent in ("*", "/") and not tight
    order_matters = right_hand and (parent == "-" or parent == "/" or (parent == "*" and tight))
    same_rank = (parent in ("*", "/")) == tight
    return f"({text})" if loose_inside_tight or (order_matters and same_rank) else text


EVALUATE_FRAMES = (
    "Calculate {expression}.",
    "Work out the exact value of {expression}.",
    "What is {expression}?",
    "A calculator shows only decimals, so do this one by hand: {expression}.",
    "Simplify {expression} to a single number.",
    "Find the value of this expression:\n\n{expression}\n\n",
    "Let A = {expression}. What number is A?",
    "A worksheet asks for {expression}. What should be written down?",
    "Carry out the operations in the right order: {expression}.",
    "Which number does the expression {expression} stand for?",
)
EVALUATE_FORMS = (
    "Give the answer as a reduced fraction or an integer.",
    "Write the result in lowest terms.",
    "Do not round; an improper fraction is fine.",
    "Leave the result as an exact fraction in lowest terms (or a whole number if it is one).",
    "Show each step and give a fully reduced fraction.",
    "The answer should be a fraction p/q in lowest terms, or an integer.",
)
ORDER_REMINDERS = (
    "Brackets come first, then multiplication and division, then addition and subtraction.",
    "We evaluate the inner parts first and combine them afterwards.",
)

# --- shares of a whole


@dataclass(frozen=True)
class Whole:
    """Something that is used up in parts: how it is introduced, used and measured."""

    plain: str
    sized: str
    acts: tuple[str, ...]
    used: str
    left: str
    unit: str


WHOLES = (
    Whole(
        *("{who} is reading a book.", "{who} is reading a book of {size} pages."),
        ("reads {part} on Monday", "reads {part} on Tuesday", "reads {part} on Wednesday"),
        *("has been read", "is still unread", "pages"),
    ),
    Whole(
        *(
            "{who} fills a water tank in the morning.",
            "{who} has a tank with {size} litres of water.",
        ),
        ("uses {part} for the garden", "uses {part} for cleaning", "uses {part} in the kitchen"),
        *("has been used", "remains", "litres"),
    ),
    Whole(
        *("{who} gets a monthly salary.", "{who} gets a monthly salary of {size} dollars."),
        ("spends {part} on rent", "spends {part} on food", "puts {part} into savings"),
        *("has gone", "is left over", "dollars"),
    ),
    Whole(
        *("{who} sets out on a long hike.", "{who} sets out on a hike of {size} kilometres."),
        ("covers {part} before noon", "covers {part} in the afternoon", "covers {part} at dusk"),
        *("has been walked", "lies ahead", "kilometres"),
    ),
    Whole(
        *("{who} owns a field.", "{who} owns a field of {size} hectares."),
        ("plants wheat on {part}", "plants maize on {part}", "plants beans on {part}"),
        *("is planted", "lies fallow", "hectares"),
    ),
    Whole(
        *("{who} bakes a large batch of rolls.", "{who} bakes {size} rolls."),
        ("sells {part} at the market", "gives {part} to neighbours", "freezes {part}"),
        *("has been handed on or stored", "is still on the table", "rolls"),
    ),
    Whole(
        *("{who} cuts pieces from a rope.", "{who} has a rope of {size} metres."),
        ("cuts off {part} for a swing", "cuts off {part} for a tent", "cuts off {part} for a boat"),
        *("has been cut off", "is left on the roll", "metres"),
    ),
    Whole(
        *("{who} runs a small library.", "{who} runs a library with {size} books."),
        ("lends out {part} in spring", "lends out {part} in summer", "lends out {part} in autumn"),
        *("has been lent out", "is still on the shelves", "books"),
    ),
)


@dataclass(frozen=True)
class Stage:
    """One part taken: of the whole, or of what is left by then."""

    share: Fraction
    of_rest: bool


def shares(draw: Draw, level: int) -> Problem:
    whole, who = draw.pick(WHOLES), draw.pick(PEOPLE)
    stages = random_stages(draw, level)
    steps, left = stage_steps(stages)
    question = draw.pick(("left", "used", "amount left", "amount used", "total")[: 2 + level])
    story = stage_story(draw, whole, stages, who)
    if question in ("left", "used"):
        value = left if question == "left" else 1 - left
        if question == "used":
            steps.append(f"The part taken is 1 - {left} = {value}.")
        what = whole.left if question == "left" else whole.used
        ask = draw.pick(PART_QUESTIONS).format(what=what)
        return solved(draw, f"{whole.plain.format(who=who)} {story} {ask}", steps, str(value))
    size = left.denominator * draw.between(2, 12)
    rest = int(left * size)
    sized = whole.sized.format(who=who, size=size)
    if question == "total":
        steps.append(f"{left} of the whole is {rest}, so the whole is {rest} ÷ {left} = {size}.")
        fact = draw.pick(REST_FACTS).format(rest=rest, unit=whole.unit, what=whole.left)
        ask = draw.pick(TOTAL_QUESTIONS).format(unit=whole.unit)
        return solved(draw, f"{whole.plain.format(who=who)} {story} {fact} {ask}", steps, str(size))
    value = Fraction(rest if question == "amount left" else size - rest)
    part = left if question == "amount left" else 1 - left
    if question == "amount used":
        steps.append(f"The part taken is 1 - {left} = {part}.")
    steps.append(f"{part} of {size} is {part} × {size} = {value}.")
    what = whole.left if question == "amount left" else whole.used
    ask = draw.pick(AMOUNT_QUESTIONS).format(unit=whole.unit, what=what)
    return solved(draw, f"{sized} {story} {ask}", steps, str(value))


def random_stages(draw: Draw, level: int) -> list[Stage]:
    """Stages that leave something over, at most 3."""
    while True:
        count = draw.between(1, 2) if level == 1 else draw.between(2, 3)
        stages = []
        for index in range(count):
            bottom = draw.between(3, 6 + 2 * level)
            of_rest = index > 0 and level > 1 and draw.chance(0.5)
            stages.append(Stage(Fraction(draw.between(1, bottom // 2), bottom), of_rest))
        left = stage_steps(stages)[1]
        if left > 0 and left.denominator <= LARGEST_DENOMINATOR:
            return stages


def stage_steps(stages: list[Stage]) -> tuple[list[str], Fraction]:
    left, steps = Fraction(1), []
    for number, stage in enumerate(stages):
        taken = stage.share * left if stage.of_rest else stage.share
        if stage.of_rest:
            steps.append(
                f"{stage.share} of the remaining {left} is {stage.share} × {left} = {taken}."
            )
        now = left - taken
        name = "The first part" if number == 0 else "This part"
        steps.append(f"{name} is {taken} of the whole, so {left} - {taken} = {now} is left.")
        left = now
    return steps, left


def stage_story(draw: Draw, whole: Whole, stages: list[Stage], who: str) -> str:
    acts = []
    for act, stage in zip(draw.some(whole.acts, len(stages)), stages, strict=True):
        rest = draw.pick(("of what is left", "of the rest", "of what remains at that point"))
        acts.append(act.format(part=f"{stage.share} {rest if stage.of_rest else 'of the whole'}"))
    if len(acts) == 1 or draw.chance(0.5):
        return f"{who} {listing(acts, 'and then')}."
    later = " ".join(
        f"{draw.pick(('Next', 'After that', 'Then'))}, {who} {act}." for act in acts[1:]
    )
    return f"First, {who} {acts[0]}. {later}"


PART_QUESTIONS = (
    "What fraction {what}?",
    "Which part of the whole {what}? Answer with a reduced fraction.",
    "Express as a fraction in lowest terms how much {what}.",
    "As a fraction of the whole, how much {what}?",
)
AMOUNT_QUESTIONS = (
    "How much is that in {unit}: what {what}?",
    "Work out how many {unit} this makes for the part that {what}.",
    "Give the number of {unit} for the part that {what}.",
)
REST_FACTS = (
    "At the end, the part that {what} comes to {rest} {unit}.",
    "In the end {rest} {unit} make up the part that {what}.",
)
TOTAL_QUESTIONS = (
    "How many {unit} were there at the start?",
    "Find the original number of {unit}.",
    "Work backwards: what was the whole, in {unit}?",
)

# --- operations to undo

PUZZLE_WORDS = {
    "+": ("{n} is added", "it grows by {n}"),
    "-": ("{n} is subtracted", "it is made smaller by {n}"),
    "*": ("it is multiplied by {n}", "one takes {n} of it"),
    "/": ("it is divided by {n}", "one divides by {n}"),
}
UNDO = {"+": "-", "-": "+", "*": "/", "/": "*"}
UNDO_WORDS = {"+": "adding", "-": "subtracting", "*": "multiplying by", "/": "dividing by"}


def undo(draw: Draw, level: int) -> Problem:
    while True:
        start = Fraction(draw.between(1, 9), draw.between(2, 9))
        moves = [(draw.pick("+-*/"), random_share(draw)) for _ in range(level + draw.below(2))]
        value = start
        for op, number in moves:
            value = apply(op, value, number)
        if value.denominator <= LARGEST_DENOMINATOR:
            break
    story = listing(
        [draw.pick(PUZZLE_WORDS[op]).format(n=number) for op, number in moves], "and then"
    )
    steps, current = [], value
    for op, number in reversed(moves):
        back, line = operate(UNDO[op], current, number)
        steps.append(f"Undo {UNDO_WORDS[op]} {number}: {line}")
        current = back
    prompt = draw.pick(UNDO_FRAMES).format(who=draw.pick(PEOPLE), story=story, value=value)
    return solved(draw, f"{prompt} {draw.pick(EVALUATE_FORMS)}", steps, str(current))


def random_share(draw: Draw) -> Fraction:
    bottom = draw.between(2, 9)
    return Fraction(draw.between(1, bottom - 1), bottom)


UNDO_FRAMES = (
    "{who} thinks of a number. Then {story}. The result is {value}. What was the number?",
    "Starting from an unknown number, {story}; this ends at {value}. Find the number.",
    "Some number goes through these steps in order: {story}. What comes out is {value}. What went in?",
    "For which starting number does one end at {value}, if {story}?",
    "{value} is what is left after {who} started from a secret number and did this: {story}. "
    "Which number was the secret?",
)
