"""Sheets: cells with formulas that refer to each other, perhaps in a circle."""

from .code import CodingTask, Family
from .draw import Draw

NAMES = "abcdef"


def make(draw: Draw, level: int) -> CodingTask:
    """A spreadsheet with more operators and rules at each level."""
    p = FAMILY.draw_rules(draw, level, "report")
    p |= {"tight": p["times"] and p["tight"], "product": p["times"] and p["tight"]}
    p["signed"] = any(p[rule] for rule, _ in SIGNS)
    signs = ["+", *(sign for rule, sign in SIGNS if p[rule] for _ in "ab")]

    def draw_input() -> tuple[list[str]]:
        lines = []
        for name in draw.some(NAMES, draw.between(3, 5)):
            operands = [operand() for _ in range(draw.between(1, 4))]
            rest = "".join(f" {draw.pick(signs)} {one}" for one in operands[1:])
            lines.append(f"{name} = {operands[0]}{rest}")
        if lines and draw.chance(0.5 if p["grow"] else 0.2):
            lines.append(f"{draw.pick(lines)[0]} = {operand()}")
        return (lines,)

    def operand() -> str:
        if p["above"] and draw.chance(0.3):
            return "@"
        return draw.pick(NAMES[:5]) if draw.chance(0.35) else str(draw.between(0, 12))

    edges = [([],), (["a = 5"],), (["b = a + 2", "a = 3"],), (["a = b", "b = a", "c = a + 1"],)]
    edges += [(["c = f + 1", "d = 4"],), (["a = 7", "a = 1 + 1"],)]
    return FAMILY.task(draw, "sheets", p, edges, draw_input)


SIGNS = (("minus", "-"), ("times", "*"), ("larger", "^"))
FAMILY = Family("sheets")
