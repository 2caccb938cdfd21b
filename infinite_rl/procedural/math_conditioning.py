"""Conditional probability: urns with moved balls, coins of unknown kind, dice with a sum, draws."""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb, factorial, prod

from .draw import Draw
from .templates import PEOPLE, Kinds, Names, reduced


def moved_balls(draw: Draw, level: int) -> Names:
    a, b, c, d = draw.integers(4, 2, 4 + level)
    k, drawn = (1, 1) if level == 3 else (2, level - 3)
    lines, weights = [], []
    for i in range(max(0, k - b), min(k, a) + 1):
        prior = Fraction(comb(a, i) * comb(b, k - i), comb(a + b, k))
        later = Fraction(comb(c + i, drawn), comb(c + d + k, drawn))
        weights.append((i, prior * later))
        moving = f"C({a},{i})·C({b},{k - i})/C({a + b},{k}) = {prior}"
        drawing = f"C({c + i},{drawn})/C({c + d + k},{drawn}) = {later}"
        if k == 1:
            moving = reduced(a if i else b, a + b)
        if drawn == 1:
            drawing = reduced(c + i, c + d + k)
        lines.append(
            f"{i} red moved: probability {moving}. Then B has {c + i} red among {c + d + k}, and "
            f"the draw has the probability {drawing}. Together {prior} · {later} = {prior * later}."
        )
    who, (i, weight) = draw.pick(PEOPLE), draw.pick(weights)
    total = sum((w for _, w in weights), Fraction())
    total_text = " + ".join(str(w) for _, w in weights)
    moved = "one ball" if k == 1 else "two balls"
    seen = (
        "one ball is drawn from B, and it is red"
        if drawn == 1
        else ("two balls are drawn together from B, and both are red")
    )
    event = (
        f"the moved ball was {'red' if i else 'blue'}"
        if k == 1
        else ("exactly one of the moved balls was red")
    )
    if k == 2 and i != 1:
        event = f"both moved balls were {'red' if i else 'blue'}"
    answer = weight / total
    return locals()


def unknown_coin(draw: Draw, level: int) -> Names:
    fair, biased = draw.between(1, 9), draw.between(1, 9)
    p = Fraction(*draw.pick(((1, 3), (2, 3), (1, 4), (3, 4), (2, 5), (3, 5), (4, 5), (1, 5))))
    n = draw.between(2 if level < 5 else 4, level)
    h = draw.between(0, n)
    one = Fraction(fair, fair + biased) * comb(n, h) * Fraction(1, 2) ** n
    two = Fraction(biased, fair + biased) * comb(n, h) * p**h * (1 - p) ** (n - h)
    coins, tails, q, orders = fair + biased, n - h, 1 - p, comb(n, h)
    ways = f"{orders}·" if orders > 1 else ""
    fair_text = f"{fair}/{coins} · {ways}(1/2)^{n} = {one}"
    unfair = " · ".join(f"({x}){f'^{e}' if e > 1 else ''}" for x, e in ((p, h), (q, tails)) if e)
    biased_text = f"{biased}/{coins} · {ways}{unfair} = {two}"
    total, who = one + two, draw.pick(PEOPLE)
    posterior, rest = two / total, one / total
    following = rest / 2 + posterior * p
    heads = "no heads" if h == 0 else f"exactly {h} head{'s' * (h > 1)}"
    many_fair, many_biased = (
        f"{k} {kind} coin{'s' * (k > 1)}" for k, kind in ((fair, "fair"), (biased, "biased"))
    )
    land = f"{biased} {'lands' if biased == 1 else 'land'}"
    stay = f"{fair} {'is' if fair == 1 else 'are'} fair"
    show = "shows" if biased == 1 else "show"
    return locals()


def dice_with_sum(draw: Draw, level: int) -> Names:
    count, sides = (3, 6) if level == 3 else (level - 1, draw.pick((6, 8, 10)))
    sets: list[tuple[int, ...]] = []
    total = 0
    while not 3 <= len(sets) <= 14 or len({max(s) for s in sets}) < 2:
        total = draw.between(count + 2, count * sides - 2)
        rolls = combinations_with_replacement(range(1, sides + 1), count)
        sets = [dice for dice in rolls if sum(dice) == total]
    orders = [factorial(count) // prod(map(factorial, Counter(s).values())) for s in sets]
    best = draw.pick(sorted({max(s) for s in sets}))
    tests = {
        "at least two dice show the same number": [len(set(s)) < count for s in sets],
        f"the highest result is {best}": [max(s) == best for s in sets],
        f"no die shows {best}": [best not in s for s in sets],
    }
    event = draw.pick([name for name, fits in sorted(tests.items()) if any(fits) and not all(fits)])
    good = sum(k for k, fits in zip(orders, tests[event], strict=True) if fits)
    every = sum(orders)
    lines = [
        f"{', '.join(map(str, s))}: {k} order{'s' * (k > 1)}{' (counts)' if fits else ''}."
        for s, k, fits in zip(sets, orders, tests[event], strict=True)
    ]
    chance_text, answer = reduced(good, every), Fraction(good, every)
    return locals()


def extreme_cards(draw: Draw, level: int) -> Names:
    n, k = draw.between(12, 18), draw.between(3, 2 + level // 2)
    largest = draw.between(k + 4, n)
    s = draw.between(1, largest - k)
    above = comb(largest - 1 - s, k - 1)
    every = comb(largest - 1, k - 1)
    who, left, less = draw.pick(PEOPLE), largest - 1, k - 1
    free = left - s
    chance_text, answer = reduced(above, every), Fraction(above, every)
    return locals()


KINDS: Kinds = {
    3: (moved_balls, unknown_coin, dice_with_sum),
    4: (moved_balls, unknown_coin, dice_with_sum, extreme_cards),
    5: (moved_balls, unknown_coin, dice_with_sum),
}
