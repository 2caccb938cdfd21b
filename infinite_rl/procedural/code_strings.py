"""Texts: sequences of words, and sequences of characters."""

from .code import CodingTask, Family, Step
from .draw import Draw

LEVELS = (1, 2, 3)
EDGES = (("",), ("a",), ("Otter",), ("aa bb aa",), ("level Level LEVEL",), ("x1 y22 z333",))


def make(draw: Draw, level: int) -> CodingTask:
    """A pipeline over the words or the characters of a text."""
    story = FAMILY.draw_record(draw, "stories")
    steps = draw.pick((word_steps, character_steps))(draw, level)
    name = f"{FAMILY.phrase(draw, 'verbs')}_{story['param']}"
    rules = [FAMILY.phrase(draw, group, **story) for group in ("case", "empty text", "vowels")]
    case, empty, vowels = rules
    stated = (
        (empty, vowels, case) if any("vowels" in step.facts for step in steps) else (empty, case)
    )
    vocabulary = [row.name for row in FAMILY.rows("words")]

    def draw_input() -> tuple[str]:
        words = [draw.pick(vocabulary) for _ in range(draw.between(3, 7))]
        if draw.chance(0.5):
            words.insert(draw.below(len(words)), draw.pick(words))
        if draw.chance(0.3):
            words.append(str(draw.between(1, 2500)))
        return (" ".join(words),)

    parameters = {**story, "name": name, "rules": "\n".join(draw.shuffled(stated))}
    return FAMILY.pipeline(draw, steps, parameters, EDGES, draw_input)


def word_steps(draw: Draw, level: int) -> list[Step]:
    """The words: one filter or change at level 1, both at level 2, an order, too, at level 3."""
    split = FAMILY.step(draw, "split")
    middle = [FAMILY.pick(draw, f"word {kind}") for kind in ("filters", "changes", "orders")]
    if level < 3:
        middle = [middle[draw.below(2)]] if level == 1 else draw.some(middle[:2], 2)
    return [split, *middle, FAMILY.pick(draw, "word endings")]


def character_steps(draw: Draw, level: int) -> list[Step]:
    """The characters: a filter or a change at level 1, both at level 2, a second change at level 3."""
    keep, change = (FAMILY.pick(draw, f"character {kind}") for kind in ("filters", "changes"))
    steps = [draw.pick((keep, change))] if level == 1 else draw.some((keep, change), 2)
    if level == 3:
        again = FAMILY.pick(draw, "character changes")
        steps += [again] if again.variable != change.variable else []
    return [*steps, FAMILY.pick(draw, "character endings")]


FAMILY = Family("strings")
