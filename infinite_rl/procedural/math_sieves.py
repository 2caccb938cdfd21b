"""Inclusion and exclusion: multiples, letters that must occur, couples apart, equal beads apart."""

from fractions import Fraction
from itertools import combinations
from math import comb, factorial, lcm

from .draw import Draw
from .templates import PEOPLE, Kinds, Names, in_brackets, listing, phrases, polynomial, signed_sum


def multiples(draw: Draw, level: int) -> Names:
    size = 3 if level < 5 else 4
    divisors = sorted(draw.some((4, 6, 8, 9, 10, 12, 14, 15, 18, 20, 21, 25), size))
    top, wanted_count = draw.between(1500, 20000), draw.between(1, 2 if level < 5 else 3)
    exact = level > 3
    sums = [0] * (size + 1)
    lines = []
    for j in range(wanted_count, size + 1):
        common = [lcm(*group) for group in combinations(divisors, j)]
        counts = [top // n for n in common]
        sums[j] = sum(counts)
        name = f"multiples of {listing(common)}" if j > 1 else f"multiples of {listing(divisors)}"
        total = f" = {sums[j]}" if len(counts) > 1 else ""
        lines.append(f"S_{j}, {name}: {' + '.join(map(str, counts))}{total}.")
    k = wanted_count
    factors = [
        (-1) ** (j - k) * (comb(j, k) if exact else comb(j - 1, k - 1)) for j in range(k, size + 1)
    ]
    pairs = list(zip(factors, sums[k:], strict=True))
    answer = sum(f * s for f, s in pairs)
    total_text = signed_sum([f"{f}·{s}".removeprefix("1·").replace("-1·", "-") for f, s in pairs])
    divisor_list = listing(divisors, "and")
    amount = f"{'exactly' if exact else 'at least'} {('one', 'two', 'three')[k - 1]}"
    return locals()


def required_letters(draw: Draw, level: int) -> Names:
    length, size = draw.between(5, 6 + level), draw.between(4, 9)
    needed = draw.between(2, min(level, size - 1))
    alphabet = "".join(draw.some("ABCDEFGHKLMNPRSTUVXZ", size))
    letter_list, must = listing(sorted(alphabet)), listing(sorted(alphabet[:needed]))
    counts = [(-1) ** i * comb(needed, i) * (size - i) ** length for i in range(needed + 1)]
    terms = [
        f"{'-' if i % 2 else '+'} {comb(needed, i)}·{size - i}^{length}" for i in range(needed + 1)
    ]
    total_text, answer = " ".join(terms).removeprefix("+ "), sum(counts)
    return locals()


def couples(draw: Draw, level: int) -> Names:
    pairs = draw.between(2, 4)
    singles = draw.between(1, 5)
    n = 2 * pairs + singles
    who = draw.some(PEOPLE, 2 * pairs)
    couple_list = listing([f"{a} with {b}" for a, b in zip(who[::2], who[1::2], strict=True)])
    terms = [f"{'-' if i % 2 else '+'} {comb(pairs, i)}·{2**i}·{n - i}!" for i in range(pairs + 1)]
    total_text = " ".join(terms).removeprefix("+ ")
    answer = sum((-1) ** i * comb(pairs, i) * 2**i * factorial(n - i) for i in range(pairs + 1))
    return locals()


def beads(draw: Draw, level: int) -> Names:
    counts = [9]
    while max(counts) < 2 or not level + 2 <= sum(counts) <= 10 or 2 * max(counts) > sum(counts):
        counts = draw.integers(3 if level == 4 else draw.between(3, 4), 1, 4)
    colours = draw.some(phrases("sieves", "colours"), len(counts))
    beads_text = listing([f"{k} {colour}" for k, colour in zip(counts, colours, strict=True)])
    by_blocks = {0: Fraction(1)}
    factor_lines = []
    for k, colour in zip(counts, colours, strict=True):
        weights = {
            i: Fraction((-1) ** (k - i) * comb(k - 1, i - 1), factorial(i)) for i in range(1, k + 1)
        }
        shown = polynomial([weights.get(i, 0) for i in range(k, -1, -1)], "x")
        factor_lines.append(f"{k} {colour}: {shown}.")
        longer: dict[int, Fraction] = {}
        for m, c in by_blocks.items():
            for i, w in weights.items():
                longer[m + i] = longer.get(m + i, Fraction(0)) + c * w
        by_blocks = longer
    lines = [
        f"x^{m}: {in_brackets(c)}·{m}! = {c * factorial(m)}." for m, c in sorted(by_blocks.items())
    ]
    values = [int(c * factorial(m)) for m, c in sorted(by_blocks.items())]
    total_text, answer = signed_sum([str(v) for v in values]), sum(values)
    return locals()


KINDS: Kinds = {
    3: (multiples, required_letters),
    4: (multiples, required_letters, couples, beads),
    5: (multiples, beads, beads, required_letters),
}
