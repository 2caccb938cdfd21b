"""Words and numbers that all families share, and the frame of a worked answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from .. import layout
from .draw import Draw

PEOPLE = (
    *("Amara", "Ben", "Chiara", "Dmitri", "Elena", "Farid", "Grace", "Hiro", "Ines", "Jonas"),
    *("Kavya", "Liam", "Mei", "Nadia", "Omar", "Priya", "Quentin", "Rosa", "Samir", "Tove"),
    *("Ursula", "Viktor", "Wanjiru", "Ximena", "Yusuf", "Zoe"),
)
FOODS = (
    "apples",
    "bagels",
    "carrots",
    "dates",
    "eggs",
    "figs",
    "lemons",
    "onions",
    "pears",
    "plums",
)
THINGS = (
    "pens",
    "notebooks",
    "marbles",
    "stickers",
    "stamps",
    "beads",
    "candles",
    "magnets",
    "ribbons",
)
# The names that a skeleton masks, beside numbers, single letters and code.
NAMES = PEOPLE + FOODS + THINGS

EXACT = ("Give an exact value.", "Keep square roots exact, written like sqrt(2).", "Do not round.")
VARIABLES = ("x", "y", "z", "t", "n", "k", "m", "w")
FEWEST_STEPS_FOR_NUMBERS = 2


@dataclass(frozen=True)
class Problem:
    """A task with its computed answer and its worked response: the three heads."""

    prompt: str
    answer: str
    response: str


def solved(draw: Draw, prompt: str, steps: Sequence[str], answer: str) -> Problem:
    """A math problem whose response walks through `steps` and ends in the tagged answer."""
    lines = list(steps)
    style = draw.below(3) if len(lines) >= FEWEST_STEPS_FOR_NUMBERS else 0
    if style == 1:
        lines = [f"{number}. {line}" for number, line in enumerate(lines, 1)]
    elif style == 2:
        lines = [f"Step {number}: {line}" for number, line in enumerate(lines, 1)]
    opening = draw.pick(OPENINGS)
    closing = draw.pick(CLOSINGS).format(answer=answer)
    parts = [opening, "\n".join(lines), f"{closing}\n\n{layout.tagged(answer)}"]
    prompt = "\n".join(line.strip() for line in prompt.strip().split("\n"))
    return Problem(prompt, answer, "\n\n".join(part for part in parts if part))


OPENINGS = (
    "",
    "",
    "Let us work through this step by step.",
    "I will write down what is given and go on from there.",
    "Here is the reasoning.",
    "We take it one step at a time.",
)
CLOSINGS = (
    "So the answer is {answer}.",
    "The result is {answer}.",
    "This gives {answer}.",
    "Hence the answer: {answer}.",
)


@dataclass(frozen=True)
class Question:
    """What is asked of a fact: a noun phrase ("the number of ..."), its answer, the steps to it.

    Of `forms`, sentences on how to write the answer, one is added.
    """

    wanted: str
    answer: object
    steps: Sequence[str] = ()
    forms: Sequence[str] = ("",)


def posed(
    draw: Draw, given: str | Sequence[str], question: Question, steps: Sequence[str] = ()
) -> Problem:
    """A problem put together from a fact and a question, in one of many frames.

    `given` is a clause that begins with a word ("a die is thrown twice"), or several ways to say
    the same; `steps` come before those of the question.
    """
    fact = given if isinstance(given, str) else draw.pick(given)
    frame, form = draw.pick(FRAMES), draw.pick(question.forms)
    prompt = frame.format(given=fact, Given=capital(fact), wanted=question.wanted)
    return solved(draw, f"{prompt} {form}", [*steps, *question.steps], str(question.answer))


FRAMES = (
    "{Given}. Find {wanted}.",
    "{Given}. What is {wanted}?",
    "{Given}. Work out {wanted}.",
    "{Given}. Your task is to find {wanted}.",
    "Find {wanted} if {given}.",
    "What is {wanted} when {given}?",
    "Calculate {wanted}, knowing that {given}.",
    "Suppose that {given}. Compute {wanted}.",
    "It is known that {given}. Determine {wanted}.",
    "Assume that {given}. State {wanted}.",
    "If {given}, what is {wanted}?",
    "In an exercise, {given}. Report {wanted}.",
    "Here is what is known: {given}. Derive {wanted}.",
    "Say that {given}. How would you find {wanted}, and what is the result?",
)


def capital(text: str) -> str:
    """The text with its first letter as a capital, and the others as they are."""
    return text[:1].upper() + text[1:]


def listing(items: Sequence[object], word: str = "and") -> str:
    """`a, b and c`."""
    texts = [str(item) for item in items]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {word} {texts[-1]}"


def decimal(value: Fraction) -> str:
    """An exact decimal where there is one, a fraction otherwise."""
    for places in range(7):
        scaled = value * 10**places
        if scaled.denominator == 1:
            return fixed(int(scaled), places)
    return str(value)


def fixed(scaled: int, places: int) -> str:
    """The integer `scaled` / 10^`places` in decimal digits."""
    sign, digits = "-" if scaled < 0 else "", str(abs(scaled)).rjust(places + 1, "0")
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def money(value: Fraction) -> str:
    """Dollars, with two decimals where there are cents."""
    return f"${value}" if value.denominator == 1 else f"${fixed(int(value * 100), 2)}"


def in_brackets(value: Fraction | int) -> str:
    """The number, in brackets where it is negative: `(-3)`."""
    return f"({value})" if value < 0 else str(value)


def signed_sum(terms: Sequence[str]) -> str:
    """Terms joined with their signs: `3x - 4 + y`."""
    text = terms[0]
    for term in terms[1:]:
        text += f" - {term[1:]}" if term.startswith("-") else f" + {term}"
    return text


def times(coefficient: Fraction | int, symbol: str) -> str:
    """`3x`, `-x`, `(2/3)x`."""
    if coefficient == 1:
        return symbol
    if coefficient == -1:
        return f"-{symbol}"
    value = Fraction(coefficient)
    if value.denominator == 1:
        return f"{value}{symbol}"
    return f"-({-value}){symbol}" if value < 0 else f"({value}){symbol}"


def polynomial(coefficients: Sequence[Fraction | int], symbol: str) -> str:
    """A polynomial from its coefficients, the highest power first; `0` when all are zero."""
    top = len(coefficients) - 1
    terms = []
    for index, coefficient in enumerate(coefficients):
        power = top - index
        if coefficient == 0:
            continue
        name = symbol if power == 1 else f"{symbol}^{power}"
        terms.append(str(coefficient) if power == 0 else times(coefficient, name))
    return signed_sum(terms) if terms else "0"


def multiple(value: Fraction | int, symbol: str) -> str:
    """An exact multiple with signs of its own: `2*pi`, `-pi/3`, `5*sqrt(2)/4`, `0`."""
    value = Fraction(value)
    if value == 0:
        return "0"
    front = "" if abs(value.numerator) == 1 else f"{abs(value.numerator)}*"
    below = "" if value.denominator == 1 else f"/{value.denominator}"
    return f"{'-' if value < 0 else ''}{front}{symbol}{below}"


def root_of(square: Fraction | int, factor: Fraction | int = 1) -> str:
    """The square root of a fraction that is not negative, times a factor, simplified: `3*sqrt(2)/5`."""
    square = Fraction(square)
    outside, inside = Fraction(factor, square.denominator), square.numerator * square.denominator
    for divisor in range(isqrt(inside), 1, -1):
        if inside % divisor**2 == 0:
            outside, inside = outside * divisor, inside // divisor**2
    if inside == 0:
        return "0"
    return str(outside) if inside == 1 else multiple(outside, f"sqrt({inside})")


def reduced(top: int, bottom: int) -> str:
    """`4/6 = 2/3`, and `2/3` where nothing cancels."""
    value = Fraction(top, bottom)
    return f"{top}/{bottom} = {value}" if value.denominator != bottom else str(value)
