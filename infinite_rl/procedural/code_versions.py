"""Versions: compare version numbers with tags, epochs and further rules."""

from .code import CodingTask, Family
from .draw import Draw


def make(draw: Draw, level: int) -> CodingTask:
    """An order of versions with more rules at each level."""
    blank = {"report_then": "", "report_end": "", "report_jend": ""}
    p = FAMILY.draw_rules(draw, level, "report", **blank)
    tags = p["tags"].split()
    p |= {"tags_py": ", ".join(f'"{tag}"' for tag in tags)}
    p |= {"tags_js": ", ".join(f"'{tag}'" for tag in tags)}
    p |= {"first_tag": tags[0], "words": ", ".join(f"`{tag}`" for tag in tags)}

    def version() -> str:
        numbers = [
            draw.pick((0, 1, 1, 2, 3, 9, 10, 12)) for _ in range(draw.pick((1, 2, 2, 3, 3, 4)))
        ]
        text = ".".join(map(str, numbers))
        if p["epoch"] and draw.chance(0.3):
            text = f"{draw.between(0, 2)}!{text}"
        if p["tagged"] and draw.chance(0.5):
            text += f"-{draw.pick(tags)}{draw.pick(('', '', '1', '2', '10'))}"
        if p["build"] and draw.chance(0.4):
            text += f"+{draw.pick(('b1', 'b7', 'x'))}"
        return text

    def draw_input() -> tuple[list[str]]:
        versions = [version() for _ in range(draw.between(3, 8))]
        return ([*versions, *draw.some(versions, draw.below(2))],)

    edges = [([],), (["1.2"],), (["1.10", "1.9", "1.2"],), (["2", "2.0", "2.0.0", "1.9.9"],)]
    edges += [(["0.9", "1.1", "1.2", "0.12.3"],)]
    return FAMILY.task(draw, "versions", p, edges, draw_input)


FAMILY = Family("versions")
