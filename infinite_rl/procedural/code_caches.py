"""Caches: replay requests under a policy of eviction and further rules."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """A cache with more rules at each level."""
    keys = ("init", "hit", "miss", "out", "jini", "jhit", "jmis", "jout")
    blank = {f"report_{key}": "" for key in keys}
    blank |= {"policy_def": "", "pool": "«pinned:free|stored»"}
    p = FAMILY.draw_rules(draw, level, "policy", "report", **blank)
    p["by_used"] = p["expiry"] or "used" in p["policy_fact"]
    p["by_uses"] = p["tired"] or "uses" in p["policy_fact"]

    def draw_input() -> tuple[list[int], int]:
        keys = draw.integers(draw.between(3, 7), 1, 9)
        if p["flush"]:
            keys.append(0)
        if p["drop"]:
            keys.append(-draw.pick(keys))
        requests = [draw.pick(keys) for _ in range(draw.between(6, 16))]
        return requests, draw.between(2, 4)

    edges = [([], 2), ([5, 5, 5], 1), ([1, 2, 3, 1, 2, 3], 2), ([4, 8, 4, 8, 6, 4], 3)]
    return FAMILY.task(draw, "caches", p, edges, draw_input)


FAMILY = Family("caches")
