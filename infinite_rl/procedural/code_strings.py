"""Texts: sequences of words, and sequences of characters."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from .code import CodingTask, Family, Reference, Step
from .draw import Draw

VOWELS = "aeiouAEIOU"
NO_VOWELS = str.maketrans("", "", VOWELS)
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
EDGES = (("",), ("a",), ("Otter",), ("aa bb aa",), ("level Level LEVEL",), ("x1 y22 z333",))


def make(draw: Draw, level: int) -> CodingTask:
    """A pipeline over the words or the characters of a text."""
    story = FAMILY.draw_record(draw, "stories")
    steps = draw.pick((word_steps, character_steps))(draw, level)
    name = f"{FAMILY.phrase(draw, 'verbs')}_{story['param']}"
    rules = [FAMILY.phrase(draw, group, **story) for group in ("case", "empty text", "vowels")]
    case, empty, vowels = rules
    stated = (
        (empty, vowels, case)
        if any("vowel" in step.instruction for step in steps)
        else (empty, case)
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


# --- references: of words or a text, and the parameters of the row


def keep(test: Callable[[str, Any], bool]) -> Reference:
    return lambda words, p: [word for word in words if test(word, p)]


def each(change: Callable[[str, Any], str]) -> Reference:
    return lambda words, p: [change(word, p) for word in words]


def keep_characters(test: Callable[[str, Any], bool]) -> Reference:
    return lambda text, p: "".join(c for c in text if test(c, p))


def longest(words: list[str], p: Any) -> str:
    best = ""
    for word in words if p.first else reversed(words):
        best = word if len(word) > len(best) else best
    return best


def shift(text: str, p: Any) -> str:
    turned = ALPHABET[p.k :] + ALPHABET[: p.k]
    return text.translate(str.maketrans(ALPHABET + ALPHABET.upper(), turned + turned.upper()))


def squeeze(text: str, p: Any) -> str:
    for c in sorted(set(text)):
        while c * 2 in text:
            text = text.replace(c * 2, c)
    return text


def swap_pairs(text: str, p: Any) -> str:
    pairs = zip(text[::2], text[1::2], strict=False)
    return "".join(b + a for a, b in pairs) + (text[-1] if len(text) % 2 else "")


def run_lengths(text: str, p: Any) -> str:
    starts = [i for i in range(len(text)) if i == 0 or text[i] != text[i - 1]]
    runs = [(text[a], str(b - a)) for a, b in pairwise([*starts, len(text)])]
    return "".join(c + size if p.letter_first else size + c for c, size in runs)


# fmt: off
REFERENCES: dict[str, Reference] = {
    "split": lambda text, p: text.split(),
    "by_length": keep(lambda w, p: bool(w[p.k - 1 :]) if p.more else not w[p.k :]),
    "by_even_length": keep(lambda w, p: len(w) & 1 == p.r),
    "by_first_vowel": keep(lambda w, p: (w[0] in VOWELS) == p.begins),
    "by_letter": keep(lambda w, p: (p.letter in w or p.letter.upper() in w) == p.has),
    "by_mirror": keep(lambda w, p: all(a.lower() == b.lower() for a, b in zip(w, reversed(w), strict=True)) == p.keeps),
    "by_capital": keep(lambda w, p: "A" <= w[0] <= "Z"),
    "by_double": keep(lambda w, p: any(c * 2 in w for c in w)),
    "lower": each(lambda w, p: w.casefold()),
    "upper": each(lambda w, p: w.lower().swapcase()),
    "flip": each(lambda w, p: "".join(reversed(w))),
    "cut": each(lambda w, p: "".join(c for i, c in enumerate(w) if i < p.k)),
    "initial_last": each(lambda w, p: (w + w)[1 : 1 + len(w)]),
    "without_vowels": lambda words, p: [rest for w in words if (rest := w.translate(NO_VOWELS))],
    "with_length": each(lambda w, p: f"{w}{len(w)}"),
    "capitalized": each(lambda w, p: w.capitalize()),
    "framed": each(lambda w, p: w.join((p.mark, p.mark))),
    "first_only": lambda words, p: [w for i, w in enumerate(words) if w not in words[:i]],
    "by_size": lambda words, p: [w for size in (range(99) if p.up else range(99, -1, -1)) for w in words if len(w) == size],
    "alphabetical": lambda words, p: sorted(words, key=lambda w: [ord(c) for c in w]),
    "reversed_order": lambda words, p: list(reversed(words)),
    "every_second": lambda words, p: [w for i, w in enumerate(words) if i & 1 == p.r],
    "join_words": lambda words, p: p.mark.join(words),
    "list_words": lambda words, p: [w for _, w in zip(range(p.k), words, strict=False)],
    "total_length": lambda words, p: len("".join(words)),
    "longest": longest,
    "initials": lambda words, p: "".join(w[0 if p.which == "first" else -1] for w in words if w),
    "word_counts": lambda words, p: {w: words.count(w) for w in words},
    "distinct_lengths": lambda words, p: [k for k in range(99) if k in [len(w) for w in words]],
    "letters": keep_characters(lambda c, p: c.lower() in ALPHABET),
    "no_vowels": keep_characters(lambda c, p: c not in VOWELS),
    "no_spaces": keep_characters(lambda c, p: ord(c) != 32),
    "half": keep_characters(lambda c, p: c.lower() in (ALPHABET[:13] if p.low else ALPHABET[13:])),
    "even_places": lambda text, p: "".join(c for i, c in enumerate(text) if (i - p.r) % p.k == 0),
    "text_lower": lambda text, p: text.casefold(),
    "text_swap": lambda text, p: "".join(c.lower() if c.isupper() else c.upper() for c in text),
    "text_flip": lambda text, p: "".join(reversed(text)),
    "shift": shift,
    "squeeze": squeeze,
    "double_vowels": lambda text, p: "".join((c, c + c)[VOWELS.find(c) >= 0] for c in text),
    "swap_pairs": swap_pairs,
    "as_text": lambda text, p: "".join(c for c, _ in zip(text, range(p.k), strict=False)),
    "count_of": lambda text, p: len([x for x in text if x in (p.c, p.c.upper())]),
    "distinct_chars": lambda text, p: sum(1 for i, c in enumerate(text) if c not in text[:i]),
    "run_lengths": run_lengths,
    "longest_run": lambda text, p: next((k for k in range(len(text), 0, -1) if any(c * k in text for c in text)), 0),
    "mirrored": lambda text, p: all(text[i] == text[-1 - i] for i in range(len(text))),
    "letter_counts": lambda text, p: {c: text.count(c) for c in text if text.count(c) > p.k},
}
# fmt: on
FAMILY = Family("strings", REFERENCES)
