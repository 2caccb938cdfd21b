"""Accounts: carry out operations on balances, some of which are refused."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """A ledger with more rules at each level."""
    p = FAMILY.draw_rules(draw, level, "report")
    special = [name for name in ("undo", "month") if p[name]] * 2

    def operation() -> str:
        kind = draw.pick(("deposit", "deposit", "withdraw", "transfer", "transfer", *special))
        if kind in special:
            return kind
        one, two = draw.some("ABC", 2)
        names = f"{one} {two}" if kind == "transfer" else one
        return f"{kind} {names} {draw.between(1, 60)}"

    def draw_input() -> tuple[list[str]]:
        return ([operation() for _ in range(draw.between(5, 12))],)

    edges = [([],), (["deposit A 9"],), (["withdraw B 5", "deposit B 5", "withdraw B 5"],)]
    edges += [(["deposit A 60", "transfer A B 45", "withdraw B 50", "withdraw A 20"],)]
    return FAMILY.task(draw, "accounts", p, edges, draw_input)


FAMILY = Family("accounts")
