"""Digits: numerals with a sum or a product of digits, written digits, reversals."""

from collections import Counter
from itertools import combinations_with_replacement
from math import comb, factorial, prod

from .draw import Draw
from .math_integers import factored
from .templates import Kinds, Names, added, listing

PLACES = {1: "units", 10: "tens", 100: "hundreds", 1000: "thousands"}


def with_sum(length: int, total: int) -> int:
    """The strings of digits with a sum, by inclusion and exclusion."""
    return sum(
        (-1) ** j * comb(length, j) * comb(total - 10 * j + length - 1, length - 1)
        for j in range(length + 1)
        if total >= 10 * j
    )


def digit_sum(draw: Draw, level: int) -> Names:
    length = draw.between(4, 8)
    total = draw.between(11, 9 * length - 10)
    summed, answer, top = sum_text(length, total), with_sum(length, total), 10**length
    return locals()


def bounded_sum(draw: Draw, level: int) -> Names:
    top = draw.between(10 ** (level - 1), 3 * 10**level)
    numeral = str(top)
    total = draw.between(8, 9 * len(numeral) - 15)
    lines, counts, before = [], [], 0
    example = ""
    for index, digit in enumerate(map(int, numeral)):
        rest = len(numeral) - index - 1
        choices = [d for d in range(digit) if 0 <= total - before - d <= 9 * rest]
        if choices:
            ways = [with_sum(rest, total - before - d) if rest else 1 for d in choices]
            prefix = f"First {numeral[:index]}, then" if index else "First"
            names = " + ".join(f"N({rest},{total - before - d})" for d in choices)
            sums = " + ".join(map(str, ways))
            span = f"{choices[0]} to {choices[-1]}" if len(choices) > 2 else listing(choices, "or")
            total_is = f" = {sum(ways)}" if len(ways) > 1 else ""
            lines.append(f"{prefix} a digit {span}: {names} = {sums}{total_is}.")
            if rest == 0:
                lines[-1] = f"{prefix} the last digit {span}: 1 number."
            elif not example:
                example = f"N({rest},{total - before - choices[0]}) = "
                example += sum_text(rest, total - before - choices[0])
            counts.append(sum(ways))
        before += digit
    last, has_example = before == total, bool(example)
    answer = sum(counts) + last
    total_text = added([*counts, *([1] if last else [])])
    return locals()


def written(draw: Draw, level: int) -> Names:
    d = draw.between(1, 9)
    low = 1 if level == 3 else draw.between(100, 3000)
    high = low + draw.between(500, 1500 * level)

    def up_to(n: int) -> tuple[str, int]:
        shown, counts = [], []
        for unit, name in PLACES.items():
            if unit <= n:
                above, here, below = n // (10 * unit), n // unit % 10, n % unit
                part = unit if here > d else below + 1 if here == d else 0
                shown.append(f"{name} {above}·{unit} + {part}")
                counts.append(above * unit + part)
        return f"{', '.join(shown)}; {' + '.join(map(str, counts))} = {sum(counts)}", sum(counts)

    lines = [f"From 1 to {n}: {up_to(n)[0]}." for n in ([high] if low == 1 else [high, low - 1])]
    later, until, before = low > 1, up_to(high)[1], up_to(low - 1)[1]
    answer = until - before
    return locals()


def digit_product(draw: Draw, level: int) -> Names:
    length = draw.between(3, 4) if level == 3 else draw.between(5, level + 2)
    target = prod(draw.integers(length, 1, 9))
    sets = [s for s in combinations_with_replacement(range(1, 10), length) if prod(s) == target]
    while not (2 if level == 3 else 3) <= len(sets) <= 14:
        target = prod(draw.integers(length, 1, 9))
        sets = [s for s in combinations_with_replacement(range(1, 10), length) if prod(s) == target]
    orders = [factorial(length) // prod(map(factorial, Counter(s).values())) for s in sets]
    lines = []
    for s, k in zip(sets, orders, strict=True):
        repeats = [f"{n}!" for n in Counter(s).values() if n > 1]
        below = "·".join(repeats) if len(repeats) < 2 else f"({'·'.join(repeats)})"
        quotient = f"{length}!/{below} = {k}" if repeats else f"{length}! = {k}"
        lines.append(f"{', '.join(map(str, s))}: {quotient} order{'s' * (k > 1)}.")
    factors, total_text, answer = factored(target), " + ".join(map(str, orders)), sum(orders)
    count = len(sets)
    return locals()


def reversal(draw: Draw, level: int) -> Names:
    a, b, c = draw.between(1, 9), draw.below(10), draw.below(10)
    while a <= c or c == 0:
        a, c = draw.between(1, 9), draw.below(10)
    answer, total, gap = 100 * a + 10 * b + c, a + b + c, 99 * (a - c)
    square, difference = a * a + b * b + c * c, a - c
    candidates = [
        (x, y, x - difference)
        for x in range(difference, 10)
        for y in (total - 2 * x + difference,)
        if 0 <= y <= 9
    ]
    tried = listing([f"{x}{y}{z} ({x * x + y * y + z * z})" for x, y, z in candidates])
    fits = [one for one in candidates if sum(n * n for n in one) == square]
    smallest = min(100 * x + 10 * y + z for x, y, z in fits)
    return locals()


def sum_text(length: int, total: int) -> str:
    """The alternating sum for `with_sum` in binomials, and its value."""
    terms = [
        f"{'-' if j % 2 else '+'} {f'C({length},{j})·' if j else ''}"
        f"C({total - 10 * j + length - 1},{length - 1})"
        for j in range(length + 1)
        if total >= 10 * j
    ]
    return f"{' '.join(terms).removeprefix('+ ')} = {with_sum(length, total)}"


KINDS: Kinds = {
    3: (digit_sum, written, digit_product, reversal),
    4: (bounded_sum, written, digit_product),
    5: (bounded_sum, bounded_sum, digit_product),
}
