"""Programs: run a small machine with registers, jumps and further instructions."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """An interpreter with more instructions and rules at each level."""
    p = FAMILY.draw_rules(draw, level, "report")
    more = [kind for kind in ("half", "odd", "swap", "times", "most") if p[kind]]
    more += ["push", "pop"] if p["stack"] else []

    def draw_input() -> tuple[list[str], int]:
        count = draw.between(3, 7)
        return [instruction(draw, count, more) for _ in range(count)], draw.between(0, 9)

    loop = ["take a 1", "add b 3", "go 0 a", "add c b"]
    edges = [([], 4), (["add a 5"], 3), (loop, 4), (["go 0 a"], 1), (["set b a", "take b 9"], 2)]
    return FAMILY.task(draw, "programs", p, edges, draw_input)


def instruction(draw: Draw, count: int, more: list[str]) -> str:
    """A line of a program that has `count` lines."""
    kind = draw.pick(["set", "add", "add", "take", "take", "go", *more * 2])
    register, value = draw.pick("abc"), draw.pick(["a", "b", "c", str(draw.between(1, 9))])
    if kind == "go":
        return f"go {draw.between(0, count)} {register}"
    if kind in ("push", "pop", "half", "odd"):
        return f"{kind} {register}"
    if kind == "swap":
        return "swap {} {}".format(*draw.some("abc", 2))
    return f"{kind} {register} {value}"


FAMILY = Family("programs")
