"""Multiplicative functions: Euler's phi and its inverse, sums of gcds, divisors, pairs by lcm."""

from itertools import combinations
from math import prod

from .draw import Draw
from .math_integers import factored, factorize
from .templates import Kinds, Names, listing


def phi(n: int) -> int:
    return prod(p ** (e - 1) * (p - 1) for p, e in factorize(n).items())


def gcd_sum(draw: Draw, level: int) -> Names:
    n = draw.between(150, 4500)
    while sum(factorize(n).values()) < 4 or len(factorize(n)) < 2:
        n = draw.between(150, 4500)
    divisors = [d for d in range(1, n + 1) if n % d == 0]
    product, parts = factored(n), []
    lines = []
    for p, e in factorize(n).items():
        parts.append(sum(p**i * phi(p ** (e - i)) for i in range(e + 1)))
        terms = " + ".join(f"{p**i}·{phi(p ** (e - i))}" for i in range(e + 1))
        over = listing([str(p**i) for i in range(e + 1)])
        lines.append(f"For {p if e == 1 else f'{p}^{e}'}, with d = {over}: {terms} = {parts[-1]}.")
    part_text, answer = " · ".join(map(str, parts)), sum(d * phi(n // d) for d in divisors)
    return locals()


def coprime_in_range(draw: Draw, level: int) -> Names:
    primes = sorted(draw.some((2, 3, 5, 7, 11, 13, 17), level - 1))
    m = prod(p ** draw.between(1, 2 if p < 4 else 1) for p in primes)
    low = draw.between(50, 900)
    high = low + draw.between(300, 4000)

    def up_to(n: int) -> tuple[str, int]:
        shown, left, signed = [], n, str(n)
        for size in range(1, len(primes) + 1):
            counts = [n // prod(c) for c in combinations(primes, size)]
            kind = ("single primes", *(f"products of {n}" for n in ("two", "three", "four")))[
                size - 1
            ]
            sums = " + ".join(map(str, counts))
            sums += f" = {sum(counts)}" if len(counts) > 1 else ""
            shown.append(f"by {kind}: {sums}")
            sign = -1 if size % 2 else 1
            left, signed = left + sign * sum(counts), f"{signed} {'+-'[size % 2]} {sum(counts)}"
        return f"{'; '.join(shown)}. Coprime to {m} are {signed} = {left}.", left

    before = low - 1
    (high_text, until), (low_text, under) = up_to(high), up_to(before)
    answer, prime_list = until - under, listing(primes)
    return locals()


def inverse(draw: Draw, level: int) -> Names:
    value = 0
    solutions: list[int] = []
    while not 3 <= len(solutions) <= 16:
        value = 2 * draw.between(6, 235)
        solutions = sorted(with_phi(value, value + 1))
    primes = [p for p in range(2, value + 2) if value % (p - 1) == 0 and factorize(p) == {p: 1}]
    lines = []
    for p in reversed(primes):
        power, rest = p, value // (p - 1)
        while True:
            smaller = sorted(with_phi(rest, p - 1))
            if smaller:
                numbers = listing([power * k for k in smaller])
                lines.append(
                    f"Largest prime power {power}: phi(m) = {value}/{value // rest} = {rest} with "
                    f"primes below {p} has m = {listing(smaller)}, so n = {numbers}."
                )
            if rest % p:
                break
            power, rest = power * p, rest // p
    prime_list, solution_list, total = listing(primes), listing(solutions), sum(solutions)
    count, largest = len(solutions), solutions[-1]
    return locals()


def with_phi(value: int, bound: int) -> list[int]:
    """All n with phi(n) = value whose primes are at most `bound`."""
    numbers = [1] if value == 1 else []
    for p in range(2, bound + 1):
        if value % (p - 1) == 0 and factorize(p) == {p: 1}:
            power, rest = p, value // (p - 1)
            while True:
                numbers += [power * n for n in with_phi(rest, p - 1)]
                if rest % p:
                    break
                power, rest = power * p, rest // p
    return numbers


def special_divisors(draw: Draw, level: int) -> Names:
    primes = sorted(draw.some((2, 3, 5, 7), 2 if level == 3 else 3))
    powers = [draw.between(2, 9 - len(primes)) for _ in primes]
    number = " · ".join(f"{p}^{e}" for p, e in zip(primes, powers, strict=True))
    d = 1
    while d == 1:
        d = prod(p ** draw.between(0, e // 2) for p, e in zip(primes, powers, strict=True))
    inside = [factorize(d).get(p, 0) for p in primes]
    squares, cubes, sixths, every = (prod(e // k + 1 for e in powers) for k in (2, 3, 6, 1))
    square_text, cube_text, sixth_text, every_text = (
        " · ".join(str(e // k + 1) for e in powers) for k in (2, 3, 6, 1)
    )
    multiples = prod(e - i + 1 for e, i in zip(powers, inside, strict=True))
    multiple_text = " · ".join(str(e - i + 1) for e, i in zip(powers, inside, strict=True))
    either, others = squares + cubes - sixths, every - squares
    rest, divisor = every - multiples, factored(d)
    divisor = f"{d} = {divisor}" if divisor != str(d) else str(d)
    return locals()


def pairs(draw: Draw, level: int) -> Names:
    n = every = 10**6
    while n >= 10**6 or not 8 <= every <= 60:
        primes = draw.some((2, 3, 5, 7, 11, 13, 17, 19, 23), draw.between(2, 4))
        n = prod(p ** draw.between(1, 4 if p < 5 else 2) for p in primes)
        every = prod(e + 1 for e in factorize(n).values())
    powers, product = list(factorize(n).values()), factored(n)
    ordered = prod(2 * e + 1 for e in powers)
    unordered = (ordered + 1) // 2
    triples = prod((e + 1) ** 3 - e**3 for e in powers)
    text, triple_text = (
        " · ".join(part)
        for part in ((str(2 * e + 1) for e in powers), (f"({e + 1}^3 - {e}^3)" for e in powers))
    )
    return locals()


KINDS: Kinds = {
    3: (coprime_in_range, special_divisors),
    4: (coprime_in_range, special_divisors, gcd_sum, pairs),
    5: (coprime_in_range, inverse, pairs, gcd_sum),
}
