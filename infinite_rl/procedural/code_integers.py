"""Functions of integers: searching a range by properties, and following a rule step by step."""

from .code import JAVASCRIPT, PYTHON, CodingTask, Family
from .draw import Draw

LEVELS = (1, 2, 3)


def make(draw: Draw, level: int) -> CodingTask:
    """A range search, or a rule that is followed until it stops."""
    return draw.pick((search, search, follow))(draw, level)


def search(draw: Draw, level: int) -> CodingTask:
    """Find the numbers of a range that have one property, or two, and report on them."""
    story = FAMILY.draw_record(draw, "stories")
    rows = draw.some(FAMILY.rows("properties"), 1 if level == 1 else 2)
    properties = [FAMILY.step(draw, row) for row in rows]
    both = level == 1 or draw.chance(0.6)
    signs = [draw.chance(0.75) for _ in properties]
    shared = FAMILY.draw_shared(draw, "results")
    result = FAMILY.step(draw, draw.pick(FAMILY.rows("results")[: 2 + 2 * level]), **shared)
    pairs = list(zip(properties, signs, strict=True))

    def draw_input() -> tuple[int, int]:
        low = draw.between(1, 120)
        return low, low + draw.between(5, 60 + 40 * level)

    conditions = [
        (
            one.instruction.split("\n")[0 if sign else 1],
            one.code[PYTHON] if sign else f"not ({one.code[PYTHON]})",
            one.code[JAVASCRIPT] if sign else f"!({one.code[JAVASCRIPT]})",
        )
        for one, sign in pairs
    ]
    wordings, python, javascript = zip(*conditions, strict=True)
    parameters = {
        **story,
        "that": (" and " if both else " or ").join(wordings),
        "test_py": (" and " if both else " or ").join(python),
        "test_js": (" && " if both else " || ").join(javascript),
        **result.texts("result"),
        "uses": " ".join(row.fields.get("use", "") for row in rows),
    }
    edges = [(10, 10), (1, 1), (20, 12), (draw.between(90, 130),) * 2]
    return FAMILY.task(draw, "search", parameters, edges, draw_input)


def follow(draw: Draw, level: int) -> CodingTask:
    """Start from a number, apply a two-way rule for a number of rounds, and report."""
    p = FAMILY.draw_parameters(draw, "follow", level=level, most=2 + level, digits=False)
    result = FAMILY.step(draw, draw.pick(FAMILY.rows("path results")[: 2 + level]))
    rounds, stop = draw.between(4, 6 + 4 * level), draw.pick((0, 1, 1))

    parameters = {
        **p,
        "rounds": rounds,
        "stop": stop,
        "keeps": "path" in result.code[PYTHON],
        **result.texts("result"),
    }
    edges = [(0,), (1,), (p["m"],), (p["bound"],)]
    return FAMILY.task(draw, "follow", parameters, edges, lambda: (draw.between(2, 300),))


FAMILY = Family("integers")
