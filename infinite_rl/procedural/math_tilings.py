"""Counting by recurrence: coloured tiles, words without a pattern, seats apart in a circle."""

from math import comb, gcd

from .draw import Draw
from .templates import Kinds, Names, listing


def tiles(draw: Draw, level: int) -> Names:
    size = 2 if level == 3 else 3
    lengths = sorted(draw.some(range(1, 7), size))
    while lengths[0] > 2 or gcd(*lengths) > 1:  # else there are few rows, or none
        lengths = sorted(draw.some(range(1, 7), size))
    colours = draw.integers(len(lengths), 1, 4)
    n = draw.between(8, 9 + level)
    kinds = list(zip(lengths, colours, strict=True))
    tile_list = listing([f"length {k} in {c} colour{'s' * (c > 1)}" for k, c in kinds])
    apart = level == 5
    piece = draw.pick(("tile", "brick"))
    long, shades = kinds[-1]
    ends = [1] + [0] * n  # that do not end in a longest tile
    values = [1] + [0] * n
    for m in range(1, n + 1):
        ends[m] = sum(c * values[m - k] for k, c in kinds[: -1 if apart else None] if k <= m)
        values[m] = ends[m] + (shades * ends[m - long] if apart and m >= long else 0)
    rule = " + ".join(
        f"{f'{c}·' if c > 1 else ''}f(m - {k})" for k, c in (kinds[:-1] if apart else kinds)
    )
    last_part = f"{f'{shades}·' if shades > 1 else ''}g(m - {long})"
    value_list, end_list = (", ".join(map(str, v)) for v in (values, ends))
    answer = values[n]
    return locals()


def avoiding(draw: Draw, level: int) -> Names:
    letters = draw.pick(("01", "AB", "HT", "XY", "UD", "LR", "PQ", "MN", "EW"))
    a, b = letters[0], letters[1]
    sizes, n = (3, 4) if level == 5 else (draw.between(level - 1, level),), draw.between(7, 13)
    patterns = ["", ""]
    while patterns[0] in patterns[-1] and (level == 5 or not patterns[0]):
        patterns = ["".join(draw.pick((a, b)) for _ in range(size)) for size in sizes]
    beginnings = sorted({p[:j] for p in patterns for j in range(len(p))}, key=lambda s: (len(s), s))
    moves: dict[str, list[str]] = {}
    for ending in beginnings:
        words = [ending + a, ending + b]
        moves[ending] = [
            ""
            if word.endswith(tuple(patterns))
            else max((s for s in beginnings if word.endswith(s)), key=len) or "nothing"
            for word in words
        ]
    transitions = "; ".join(
        f"from {state or 'nothing'}, "
        + " and ".join(
            f"{letter} leads to {end}" if end else f"{letter} is forbidden"
            for letter, end in zip((a, b), ends, strict=True)
        )
        for state, ends in moves.items()
    )
    counts = dict.fromkeys(beginnings, 0) | {"": 1}
    lines = []
    for length in range(1, n + 1):
        following = dict.fromkeys(beginnings, 0)
        for ending, many in counts.items():
            for end in filter(None, moves[ending]):
                following["" if end == "nothing" else end] += many
        counts = following
        shown = ", ".join(map(str, counts.values()))
        lines.append(f"Length {length}: {shown}; in all {sum(counts.values())}.")
    answer, states = sum(counts.values()), listing(["nothing", *beginnings[1:]])
    pattern_list, both, first = listing(patterns, "or"), level == 5, patterns[0]
    return locals()


def circle(draw: Draw, level: int) -> Names:
    gap = draw.between(2, level - 1)
    n, k = draw.between(10, 40), draw.between(3, 8)
    while n - gap * k - k < 2:
        n, k = draw.between(10, 40), draw.between(3, 8)
    left, rest, less = n - gap * k - k, n - gap * k - 1, k - 1
    fixed = comb(rest, less)
    answer = n * fixed // k
    return locals()


KINDS: Kinds = {3: (tiles, avoiding, circle), 4: (tiles, avoiding, circle), 5: (tiles, avoiding)}
