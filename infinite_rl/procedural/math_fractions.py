"""Fractions: expressions to evaluate, shares of a whole, and operations to undo."""

from __future__ import annotations

import operator
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from .draw import Draw
from .templates import PEOPLE, Kinds, Names, in_brackets, listing, phrases, rows

LARGEST_DENOMINATOR = 400
SYMBOLS = {"+": "+", "-": "-", "*": "×", "/": "÷"}
APPLY = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}

# --- an expression to evaluate


class Node(NamedTuple):
    """A binary operation on fractions."""

    op: str
    left: Node | Fraction
    right: Node | Fraction


def evaluate(draw: Draw, level: int) -> Names:
    leaves = level + 1 + draw.below(2) if level > 1 else 2
    value = None
    while value is None:
        tree = random_tree(draw, leaves, level)
        operations: list[str] = []
        value = reduce_tree(tree, operations)
    expression, several = show(tree), leaves > 2
    return locals()


def random_tree(draw: Draw, leaves: int, level: int) -> Node | Fraction:
    if leaves == 1:
        bottom = draw.between(2, 4 + 3 * level)
        top = draw.between(1, bottom - 1) if draw.chance(0.8) else draw.between(1, 2 * bottom)
        return Fraction(top, bottom)
    left, op = draw.between(1, leaves - 1), draw.pick("++--*/")
    return Node(op, random_tree(draw, left, level), random_tree(draw, leaves - left, level))


def reduce_tree(tree: Node | Fraction, steps: list[str]) -> Fraction | None:
    """The value, with one written step an operation; None if the numbers grow unwieldy."""
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
    value: Fraction = APPLY[op](left, right)
    text = f"{left} {SYMBOLS[op]} {in_brackets(right)}"
    if op in "+-":
        common = lcm(left.denominator, right.denominator)
        one, two = int(left * common), int(right * common)
        raw = f"{APPLY[op](one, two)}/{common}"
        term = f"({two}/{common})" if two < 0 else f"{two}/{common}"
        text += f" = {one}/{common} {op} {term} = {raw}" if common > 1 else ""
    else:
        factor = right if op == "*" else 1 / right
        raw = f"{left.numerator * factor.numerator}/{left.denominator * factor.denominator}"
        text += f" = {in_brackets(left)} × {in_brackets(factor)}" if op == "/" else ""
        text += f" = {raw}"
    return value, f"{text}." if text.endswith(f" = {value}") else f"{text} = {value}."


def show(tree: Node | Fraction, parent: str = "", right_hand: bool = False) -> str:
    if isinstance(tree, Fraction):
        return str(tree)
    text = f"{show(tree.left, tree.op)} {SYMBOLS[tree.op]} {show(tree.right, tree.op, True)}"
    tight, tight_parent = tree.op in "*/", parent in ("*", "/")
    order_matters = right_hand and (parent in ("-", "/") or (parent == "*" and tight))
    return (
        f"({text})" if tight_parent > tight or (order_matters and tight_parent == tight) else text
    )


# --- shares of a whole


class Stage(NamedTuple):
    """One part used: of the whole, or of what is left by then."""

    share: Fraction
    of_rest: bool


def shares(draw: Draw, level: int) -> Names:
    plain, sized, *acts, used, rest, unit = draw.pick(rows("fractions", "wholes"))
    who = draw.pick(PEOPLE)
    stages = random_stages(draw, level)
    lines, left = stage_steps(stages)
    question = draw.pick(("left", "used", "amount left", "amount used", "total")[: 2 + level])
    story = stage_story(draw, acts, stages, who)
    of_used, total = question.endswith("used"), question == "total"
    what, part = (used, 1 - left) if of_used else (rest, left)
    measured = question not in ("left", "used")
    amount = measured and not total
    size = left.denominator * draw.between(2, 12) if measured else 0
    whole = (sized if amount else plain).format(who=who, size=size)
    rest_size, value = int(left * size), int(part * size)
    result = size if total else value if amount else part
    return locals()


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
    """A line or two for each stage, and the part of the whole that is left."""
    left, steps, name = Fraction(1), [], "The first part"
    for share, of_rest in stages:
        part = share * left if of_rest else share
        if of_rest:
            steps.append(f"{share} of the remaining {left} is {share} × {left} = {part}.")
        steps.append(f"{name} is {part} of the whole, so {left} - {part} = {left - part} is left.")
        left, name = left - part, "This part"
    return steps, left


def stage_story(draw: Draw, templates: list[str], stages: list[Stage], who: str) -> str:
    acts = []
    for act, (share, of_rest) in zip(draw.some(templates, len(stages)), stages, strict=True):
        rest = draw.pick(phrases("fractions", "of the rest"))
        acts.append(act.format(part=f"{share} {rest if of_rest else 'of the whole'}"))
    if len(acts) == 1 or draw.chance(0.5):
        return f"{who} {listing(acts, 'and then')}."
    words = phrases("fractions", "then")
    return " ".join(
        [f"First, {who} {acts[0]}."] + [f"{draw.pick(words)}, {who} {act}." for act in acts[1:]]
    )


# --- operations to undo


def undo(draw: Draw, level: int) -> Names:
    while True:
        start = Fraction(draw.between(1, 9), draw.between(2, 9))
        moves = [(draw.pick("+-*/"), random_share(draw)) for _ in range(level + draw.below(2))]
        value = start
        for op, number in moves:
            value = APPLY[op](value, number)
        if value.denominator <= LARGEST_DENOMINATOR:
            break
    words = [draw.pick(phrases("fractions", f"move {op}")).format(n=n) for op, n in moves]
    story, lines, current = listing(words, "and then"), [], value
    for op, number in reversed(moves):
        verb, inverse = UNDO[op]
        current, line = operate(inverse, current, number)
        lines.append(f"Undo {verb} {number}: {line}")
    prompt = draw.pick(phrases("fractions", "undo prompts"))
    prompt = prompt.format(who=draw.pick(PEOPLE), story=story, value=value)
    return locals()


UNDO = {
    "+": ("adding", "-"),
    "-": ("subtracting", "+"),
    "*": ("multiplying by", "/"),
    "/": ("dividing by", "*"),
}


def random_share(draw: Draw) -> Fraction:
    bottom = draw.between(2, 9)
    return Fraction(draw.between(1, bottom - 1), bottom)


KINDS: Kinds = dict.fromkeys((1, 2, 3), (evaluate, evaluate, shares, shares, undo))
