"""Small languages: read a line of text as numbers, then work on them."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from .code import CodingTask, Family
from .code_sequences import FAMILY as SEQUENCES
from .draw import Draw

LEVELS = (1, 2, 3)
TENS = ("", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX")
ONES = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")


def make(draw: Draw, level: int) -> CodingTask:
    """A line is read as integers; then come as many stages as the level says, the last included."""
    p = FAMILY.draw_texts(draw, "language", level=level)
    p |= expression_parameters(p) if "one" in p else {}
    p |= FAMILY.draw_record(draw, "separators")
    p["separator"] = separator = p["separator"].replace("space", " ")
    p["many"] = "language_many" in p
    groups = draw.some(("filters", "changes", "arrangements"), level - 1)
    ending = SEQUENCES.pick(draw, "endings")
    middle = [SEQUENCES.pick(draw, group) for group in groups]
    steps = [FAMILY.step(draw, "read_parts", **p), *middle, ending]
    p["param"] = FAMILY.phrase(draw, "parameters")
    edges = FAMILY.row(p["language"]).lines("edge", p)
    part, values = PARTS[p["language"]], SimpleNamespace(**p)

    def draw_input() -> tuple[str]:
        return (separator.join(part(draw, values) for _ in range(draw.between(2, 5))),)

    return FAMILY.pipeline(
        draw, steps, p, [(edge,) for edge in (*edges, separator.join(edges))], draw_input
    )


def expression_parameters(p: dict[str, Any]) -> dict[str, str]:
    """What the two operators mean, how to apply them, and the functions that read their ranks."""
    one, two = p["one"], p["two"]
    ranks = [("loose", one + two, "atom")]
    if not p.get("equal", True):
        ranks = [("tight", two, "atom"), ("loose", one, "tight")]
    texts = {
        "meaning": " and ".join(f"`{sign}` {FAMILY.row(sign).fields['say']}" for sign in (one, two))
    }
    for language, gap in (("py", "\n\n"), ("js", "\n")):
        written = [
            FAMILY.row("rank").text(
                language,
                {
                    "name": name,
                    "signs": signs,
                    "operand": operand,
                    f"apply_{language}": applied(signs, language),
                },
            )
            for name, signs, operand in ranks
        ]
        texts |= {
            f"ranks_{language}": gap.join(written),
            f"apply_{language}": applied(one + two, language),
        }
    return texts


def applied(signs: str, language: str) -> str:
    """The expression that applies `sign`, one of the signs, to `value` and `other`."""
    one, two = (FAMILY.row(sign).fields[language] for sign in (signs[0], signs[-1]))
    if len(signs) == 1:
        return one
    if language == "py":
        return f'{one} if sign == "{signs[0]}" else {two}'
    return f"sign === '{signs[0]}' ? {one} : {two}"


# --- random parts of a line, of the parameters of the language


def ranges_part(draw: Draw, p: Any) -> str:
    first, last = draw.between(1, 12), draw.between(3, 15)
    first, last = (first, last) if p.level > 1 else sorted((first, last))
    return f"{first}{p.mark}{last}" if draw.chance(0.6) else str(first)


def repeats_part(draw: Draw, p: Any) -> str:
    if draw.chance(0.6):
        return f"{draw.between(1, 4)}{p.mark}{draw.between(1, 5)}"
    return str(draw.between(1, 20))


def durations_part(draw: Draw, p: Any) -> str:
    units = (p.big, p.middle, p.small)
    return "".join(f"{draw.between(1, 30)}{u}" for u in units if draw.chance(0.5)) or f"5{p.middle}"


def digits_part(draw: Draw, p: Any) -> str:
    rest = (str(draw.below(p.base)) for _ in range(draw.between(0, 4 if p.base < 4 else 2)))
    return str(draw.between(1, p.base - 1)) + "".join(rest)


def formulas_part(draw: Draw, p: Any) -> str:
    signs = p.one + p.two
    terms = [str(draw.between(1, 9)) for _ in range(draw.between(2, 4))]
    if p.level > 1 and len(terms) > 2:
        i = draw.below(len(terms) - 1)
        terms[i : i + 2] = [f"({terms[i]}{draw.pick(signs)}{terms[i + 1]})"]
    return terms[0] + "".join(draw.pick(signs) + term for term in terms[1:])


def postfix_part(draw: Draw, p: Any) -> str:
    text, open_values = str(draw.between(1, 9)), 1
    for _ in range(draw.between(1, 2 + p.level)):
        text += str(draw.between(1, 9))
        open_values += 1
        while open_values > 1 and draw.chance(0.6):
            text += draw.pick(p.one + p.two)
            open_values -= 1
    return text + "".join(draw.pick(p.one + p.two) for _ in range(open_values - 1))


def depths_part(draw: Draw, p: Any) -> str:
    text, depth = "", 0
    for _ in range(draw.between(3, 7)):
        kind = draw.below(3)
        if kind == 0 and depth < 3:
            text, depth = text + p.opening, depth + 1
        elif kind == 1 and depth:
            text, depth = text + p.closing, depth - 1
        else:
            text += str(draw.between(1, 9))
    return f"{text}{p.closing * depth}"


PARTS: dict[str, Callable[[Draw, Any], str]] = {
    "ranges": ranges_part,
    "repeats": repeats_part,
    "durations": durations_part,
    "romans": lambda draw, p: roman(draw.between(1, 89)),
    "digits": digits_part,
    "formulas": formulas_part,
    "postfix": postfix_part,
    "depths": depths_part,
}


def roman(n: int) -> str:
    """A number below 90 in Roman numerals, each decimal digit from a list."""
    return TENS[n // 10] + ONES[n % 10]


FAMILY = Family("parsing")
