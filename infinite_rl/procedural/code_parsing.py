"""Small languages: read a line of text as numbers, then work on them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from . import code_sequences as numbers
from .code import MANY, CodingTask, Step, task_of_steps, told_in_order
from .draw import Draw

OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "&": min,
    "|": max,
}


@dataclass(frozen=True)
class Language:
    """How one part of a line is written, drawn and read: a function in both languages, a reference.

    Where `many` is set, `read` gives a list for each part, and the lists are put together.
    """

    form: str
    part: Callable[[], str]
    edges: tuple[str, ...]
    python: str
    javascript: str
    reference: Callable[[str], list[int]]
    how: str
    many: bool = False


def make(draw: Draw, level: int) -> CodingTask:
    """A line is read as integers; then come as many stages as the level says, the last included."""
    language = draw.pick(
        (ranges, repeats, durations, romans, digits, formulas, formulas, postfix, depths)
    )(draw, level)
    separator, said = draw.pick(
        ((";", "semicolons"), ("/", "slashes"), (",", "commas"), (" ", "single spaces"))
    )
    groups = draw.some((numbers.FILTERS, numbers.CHANGES, numbers.ARRANGEMENTS), level - 1)
    final, returns = draw.pick(numbers.AGGREGATES)(draw)
    steps = [reading(language, separator), *(draw.pick(group)(draw) for group in groups), final]
    name = draw.pick(("line", "text", "entry", "source", "message"))

    def fresh() -> tuple[str]:
        return (separator.join(language.part() for _ in range(draw.between(2, 5))),)

    return task_of_steps(
        draw,
        steps,
        name=f"{draw.pick(('read', 'parse', 'interpret', 'decode', 'evaluate'))}_{name}",
        param=(name, "text"),
        returns=returns,
        story=draw.pick(STORIES),
        rules=(
            f"`{name}` has one or more parts, separated by {said}. {language.form}",
            f"{draw.pick(('The text is always well formed.', 'Malformed texts do not occur.'))} A text gives {MANY} integers, and no number in it, read or computed, exceeds 1000000.",
        ),
        plan=(*told_in_order(steps), language.how),
        edges=[(edge,) for edge in (*language.edges, separator.join(language.edges))],
        fresh=fresh,
    )


STORIES = (
    "A device sends its readings in a terse notation.",
    "A form lets people type numbers in a short notation.",
    "An old archive holds lines in a notation of its own.",
    "A small calculator language is to be supported.",
    "",
)


def reading(language: Language, separator: str) -> Step:
    javascript = f"IT.split('{separator}')"
    return Step(
        "read the integers from all parts, from left to right"
        if language.many
        else "replace each part by its value, from left to right",
        f'[n for part in IT.split("{separator}") for n in read_part(part)]'
        if language.many
        else f'[read_part(part) for part in IT.split("{separator}")]',
        f"{javascript}.{'flatMap' if language.many else 'map'}((part) => readPart(part))",
        lambda text: [n for part in text.split(separator) for n in language.reference(part)],
        "numbers_read",
        head_python=language.python,
        head_javascript=language.javascript,
    )


# --- lists in short


def ranges(draw: Draw, level: int) -> Language:
    mark, down = draw.pick(("..", "-", ":")), level > 1

    def reference(part: str) -> list[int]:
        first, last = (re.findall("[0-9]+", part) * 2)[:2]
        places = sorted((int(first), int(last)))
        whole = [n for n in range(100) if places[0] <= n <= places[1]]
        return whole if int(first) <= int(last) else whole[::-1]

    def part() -> str:
        first, last = draw.between(1, 12), draw.between(3, 15)
        first, last = (first, last) if down else sorted((first, last))
        return f"{first}{mark}{last}" if draw.chance(0.6) else str(first)

    return Language(
        f"A part is a positive integer like 7, or a range like `3{mark}6`, which stands for all integers from 3 to 6, both included{f'; a range may also count down, as in `6{mark}3`' if down else ''}.",
        part,
        ("4", f"5{mark}5", f"2{mark}6"),
        f'def read_part(part: str) -> list[int]:\n    first, _, end = part.partition("{mark}")\n    start, stop = int(first), int(end or first)\n'
        + (
            "    step = 1 if start <= stop else -1\n    return list(range(start, stop + step, step))"
            if down
            else "    return list(range(start, stop + 1))"
        ),
        f"function readPart(part) {{\n  const [first, end = first] = part.split('{mark}').map(Number);\n"
        + (
            "  const step = first <= end ? 1 : -1;\n  return Array.from({ length: Math.abs(end - first) + 1 }, (_, i) => first + i * step);\n}"
            if down
            else "  return Array.from({ length: end - first + 1 }, (_, i) => first + i);\n}"
        ),
        reference,
        "A part without a range mark is a range from its number to the same number.",
        many=True,
    )


def repeats(draw: Draw, level: int) -> Language:
    mark, first = draw.pick(("x", "#")), draw.chance(0.5)
    example = f"3{mark}8"

    def reference(part: str) -> list[int]:
        found = [int(n) for n in re.findall("[0-9]+", part)]
        if len(found) == 1:
            return found
        count, n = found if first else found[::-1]
        return [n for _ in range(count)]

    def part() -> str:
        return (
            f"{draw.between(1, 4)}{mark}{draw.between(1, 5)}"
            if draw.chance(0.6)
            else str(draw.between(1, 20))
        )

    count, value = ("one", "two") if first else ("two", "one")
    return Language(
        f"A part is a positive integer, which stands for itself, or of the form `{example}`, which stands for {'three eights' if first else 'eight threes'}.",
        part,
        ("6", f"2{mark}3", f"1{mark}4"),
        f'def read_part(part: str) -> list[int]:\n    if "{mark}" not in part:\n        return [int(part)]\n    one, two = map(int, part.split("{mark}"))\n    return [{value}] * {count}',
        f"function readPart(part) {{\n  if (!part.includes('{mark}')) return [Number(part)];\n  const [one, two] = part.split('{mark}').map(Number);\n  return new Array({count}).fill({value});\n}}",
        reference,
        "Only parts with the mark are split; the others hold one number.",
        many=True,
    )


# --- numbers in other notations


def durations(draw: Draw, level: int) -> Language:
    small, middle, big = draw.pick((("m", "h", "d"), ("s", "m", "h")))
    units = {small: 1, middle: 60, big: 24 * 60 if big == "d" else 3600}
    words = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
    table = ", ".join(f'"{unit}": {size}' for unit, size in units.items())

    def part() -> str:
        return (
            "".join(f"{draw.between(1, 30)}{u}" for u in (big, middle, small) if draw.chance(0.5))
            or f"5{middle}"
        )

    return Language(
        f"A part is a duration like `2{big}30{middle}5{small}`: numbers, each followed by {big} for {words[big]}, {middle} for {words[middle]} or {small} for {words[small]}. Its value is the duration in {words[small]}.",
        part,
        (f"1{big}", f"59{small}", f"2{middle}3{small}"),
        f"def read_part(part: str) -> int:\n    total = number = 0\n    for c in part:\n        if c.isdigit():\n            number = 10 * number + int(c)\n        else:\n            total += number * {{{table}}}[c]\n            number = 0\n    return total",
        f"function readPart(part) {{\n  const sizes = {{ {table} }};\n  const pairs = [...part.matchAll(/(\\d+)(\\D)/g)];\n  return pairs.reduce((total, [, count, unit]) => total + Number(count) * sizes[unit], 0);\n}}",
        lambda part: [sum(int(n) * units[unit] for n, unit in re.findall("([0-9]+)([a-z])", part))],
        "Every number is multiplied by the size of the unit behind it, and the products are added.",
    )


def roman(n: int) -> str:
    """A number below 90 in Roman numerals, each decimal digit from a list."""
    tens = ("", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX")
    ones = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
    return tens[n // 10] + ones[n % 10]


def romans(draw: Draw, level: int) -> Language:
    return Language(
        "A part is a number from 1 to 89 in Roman numerals with the letters I, V, X and L, in the usual form with IV, IX and XL; its value is that number.",
        lambda: roman(draw.between(1, 89)),
        ("I", "XLIX", "XIV"),
        'def read_part(part: str) -> int:\n    values = [{"I": 1, "V": 5, "X": 10, "L": 50}[c] for c in part]\n    pairs = zip(values, [*values[1:], 0])\n    return sum(-value if value < following else value for value, following in pairs)',
        "function readPart(part) {\n  const values = [...part].map((c) => ({ I: 1, V: 5, X: 10, L: 50 })[c]);\n  return values.reduce((total, value, i) => total + (value < values[i + 1] ? -value : value), 0);\n}",
        lambda part: [next(n for n in range(1, 90) if roman(n) == part)],
        "A numeral counts negative if a larger one follows it.",
    )


def digits(draw: Draw, level: int) -> Language:
    base = draw.pick((2, 3, 4, 5, 7, 8))

    def part() -> str:
        rest = (str(draw.below(base)) for _ in range(draw.between(0, 4 if base < 4 else 2)))
        return str(draw.between(1, base - 1)) + "".join(rest)

    return Language(
        f"A part is a positive integer in base {base}, with the most significant digit first; its value is that integer.",
        part,
        ("1", "10", "101"),
        f"def read_part(part: str) -> int:\n    value = 0\n    for digit in part:\n        value = {base} * value + int(digit)\n    return value",
        f"function readPart(part) {{\n  return [...part].reduce((value, digit) => {base} * value + Number(digit), 0);\n}}",
        lambda part: [sum(int(c) * base**i for i, c in enumerate(reversed(part)))],
        f"Reading from the left, each digit is added to {base} times the value so far.",
    )


# --- expressions


def formulas(draw: Draw, level: int) -> Language:
    """Infix expressions in which one operator binds tighter than the other, or neither does."""
    one, two = draw.some(tuple(OPERATIONS), 2)
    equal, brackets = draw.chance(0.4), level > 1
    loose, tight = (one + two, "") if equal else (one, two)
    order = (
        f"`{one}` and `{two}` bind equally and are applied from left to right"
        if equal
        else f"`{two}` is applied before `{one}`"
    )

    def value(text: str) -> int:
        for operators in (loose, tight):
            for i in reversed(range(len(text))):
                if text[i] in operators and text[:i].count("(") == text[:i].count(")"):
                    return OPERATIONS[text[i]](value(text[:i]), value(text[i + 1 :]))
        return value(text[1:-1]) if text[0] == "(" else int(text)

    def part() -> str:
        terms = [str(draw.between(1, 9)) for _ in range(draw.between(2, 4))]
        if brackets and len(terms) > 2:
            i = draw.below(len(terms) - 1)
            terms[i : i + 2] = [f"({terms[i]}{draw.pick(one + two)}{terms[i + 1]})"]
        return terms[0] + "".join(draw.pick(one + two) + term for term in terms[1:])

    python, javascript = formula_code(loose, tight, brackets)
    return Language(
        f"A part is an expression of positive integers with the operators `{one}` and `{two}`{' and round brackets' if brackets else ''}, and stands for its value. {meaning(one + two)}; {order}{' unless brackets say otherwise' if brackets else ''}.",
        part,
        ("7", f"2{one}3{two}4", f"2{two}3{one}4"),
        python,
        javascript,
        lambda text: [value(text)],
        "Reading an expression, a function for each rank of operators asks the next tighter one for its operands.",
    )


def meaning(operators: str) -> str:
    """What the operators do, in a sentence without its full stop."""
    told = {
        "+": "adds",
        "*": "multiplies",
        "&": "takes the smaller number",
        "|": "takes the larger number",
    }
    return " and ".join(f"`{operator}` {told[operator]}" for operator in operators)


def formula_code(loose: str, tight: str, brackets: bool) -> tuple[str, str]:
    python = 'def read_part(part: str) -> int:\n    spaced = "".join(c if c.isdigit() else f" {c} " for c in part)\n    tokens = spaced.split()\n\n    def atom() -> int:\n'
    javascript = "function readPart(part) {\n  const tokens = part.match(/\\d+|./g);\n  const atom = () => {\n"
    if brackets:
        python += '        if tokens[0] == "(":\n            tokens.pop(0)\n            value = loose()\n            tokens.pop(0)\n            return value\n'
        javascript += "    if (tokens[0] === '(') {\n      tokens.shift();\n      const value = loose();\n      tokens.shift();\n      return value;\n    }\n"
    python += "        return int(tokens.pop(0))\n"
    javascript += "    return Number(tokens.shift());\n  };\n"
    ranks = (
        [("tight", tight, "atom"), ("loose", loose, "tight")]
        if tight
        else [("loose", loose, "atom")]
    )
    for name, operators, operand in ranks:
        python += f'\n    def {name}() -> int:\n        value = {operand}()\n        while tokens and tokens[0] in "{operators}":\n            sign, other = tokens.pop(0), {operand}()\n            value = {chosen(operators, "python")}\n        return value\n'
        javascript += f"  const {name} = () => {{\n    let value = {operand}();\n    while (tokens.length > 0 && '{operators}'.includes(tokens[0])) {{\n      const [sign, other] = [tokens.shift(), {operand}()];\n      value = {chosen(operators, 'javascript')};\n    }}\n    return value;\n  }};\n"
    return f"{python}\n    return loose()", f"{javascript}  return loose();\n}}"


def chosen(operators: str, language: str) -> str:
    """The expression that applies `sign`, one of the operators, to `value` and `other`."""
    lead = "" if language == "python" else "Math."
    code = {
        "+": "value + other",
        "*": "value * other",
        "&": f"{lead}min(value, other)",
        "|": f"{lead}max(value, other)",
    }
    if len(operators) == 1:
        return code[operators]
    one, two = operators[0], operators[1]
    if language == "python":
        return f'{code[one]} if sign == "{one}" else {code[two]}'
    return f"sign === '{one}' ? {code[one]} : {code[two]}"


def postfix(draw: Draw, level: int) -> Language:
    one, two = draw.some(tuple(OPERATIONS), 2)

    def value(tokens: list[str]) -> int:
        """The value of the expression that ends the tokens, which are used up."""
        last = tokens.pop()
        if last.isdigit():
            return int(last)
        right = value(tokens)
        return OPERATIONS[last](value(tokens), right)

    def part() -> str:
        text, open_values = str(draw.between(1, 9)), 1
        for _ in range(draw.between(1, 2 + level)):
            text += str(draw.between(1, 9))
            open_values += 1
            while open_values > 1 and draw.chance(0.6):
                text += draw.pick(one + two)
                open_values -= 1
        return text + "".join(draw.pick(one + two) for _ in range(open_values - 1))

    return Language(
        f"A part is an expression of single digits in postfix notation: each operator stands behind its two operands, so that `23{one}4{two}` first applies `{one}` to 2 and 3 and then `{two}` to the result and 4. {meaning(one + two)}.",
        part,
        ("7", f"23{one}", f"23{two}4{one}"),
        f"def read_part(part: str) -> int:\n    stack: list[int] = []\n    for sign in part:\n        if sign.isdigit():\n            stack.append(int(sign))\n        else:\n            other, value = stack.pop(), stack.pop()\n            stack.append({chosen(one + two, 'python')})\n    return stack[0]",
        f"function readPart(part) {{\n  const stack = [];\n  for (const sign of part) {{\n    if (/\\d/.test(sign)) {{\n      stack.push(Number(sign));\n    }} else {{\n      const [other, value] = [stack.pop(), stack.pop()];\n      stack.push({chosen(one + two, 'javascript')});\n    }}\n  }}\n  return stack[0];\n}}",
        lambda text: [value(list(text))],
        "A stack holds the values that still wait for their operator.",
    )


def depths(draw: Draw, level: int) -> Language:
    opening, closing = draw.pick((("(", ")"), ("[", "]"), ("<", ">")))

    def part() -> str:
        text, depth = "", 0
        for _ in range(draw.between(3, 7)):
            kind = draw.below(3)
            if kind == 0 and depth < 3:
                text, depth = text + opening, depth + 1
            elif kind == 1 and depth:
                text, depth = text + closing, depth - 1
            else:
                text += str(draw.between(1, 9))
        return text + closing * depth

    def reference(part: str) -> list[int]:
        places = [i for i, c in enumerate(part) if c.isdigit()]
        return [
            int(part[i]) * (part[:i].count(opening) - part[:i].count(closing) + 1) for i in places
        ]

    return Language(
        f"A part is made of single digits and of pairs of `{opening}` and `{closing}`, which are nested properly. Every digit in it stands for the integer that is the digit times one more than the number of pairs around it.",
        part,
        ("5", f"{opening}4{closing}", f"1{opening}2{opening}3{closing}{closing}"),
        f'def read_part(part: str) -> list[int]:\n    found: list[int] = []\n    factor = 1\n    for c in part:\n        if c == "{opening}":\n            factor += 1\n        elif c == "{closing}":\n            factor -= 1\n        else:\n            found.append(factor * int(c))\n    return found',
        f"function readPart(part) {{\n  const found = [];\n  let factor = 1;\n  for (const c of part) {{\n    if (c === '{opening}') factor += 1;\n    else if (c === '{closing}') factor -= 1;\n    else found.push(factor * Number(c));\n  }}\n  return found;\n}}",
        reference,
        "A counter goes up at each opening sign and down at each closing one.",
        many=True,
    )
