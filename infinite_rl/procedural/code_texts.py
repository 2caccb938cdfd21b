"""One or two texts, by dynamic programming; the references try out every choice."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

from .code import CodingTask, Family, Reference, Step, discriminating_inputs, run
from .code_tables import fill
from .draw import Draw
from .templates import listing

Fresh = Callable[[], tuple[str, ...]]
LETTERS = "abc"
PAIR_EDGES = (("", ""), ("abc", ""), ("", "b"), ("abc", "abc"), ("aab", "baa"))


def make(draw: Draw, level: int) -> CodingTask:
    """A question about one or two texts; at level 2 they are cleaned up first, at level 3 twice."""
    kind = draw.pick((alignment, alignment, common, occurrences, wildcards, pieces, palindromes))
    task, draw_input = kind(draw)
    shared = FAMILY.draw_shared(draw, "cleanings")
    rows = draw.some(FAMILY.rows("cleanings"), level - 1)
    texts = listing([f"`{name}`" for name, _ in task.params])
    steps = [FAMILY.step(draw, row, texts=texts, **shared) for row in rows]
    noises = [NOISES[row.name] for row in rows]

    def noisy() -> tuple[str, ...]:
        dirty = draw_input()
        for noise in noises:
            dirty = tuple(noise(draw, text, shared["mark"]) for text in dirty)
        return dirty

    cleaned = after(steps, task) if steps else task
    inputs = discriminating_inputs(draw, cleaned.reference, cleaned.inputs, noisy)
    if not all_matter(task.reference, steps, inputs):
        return make(draw, level)
    return replace(cleaned, inputs=inputs)


def after(steps: list[Step], task: CodingTask) -> CodingTask:
    """The task on texts that go through the steps first."""
    pairs = [(name, step) for step in steps for name, _ in task.params]
    python = [f"{name} = {step.python.replace('IT', name)}\n" for name, step in pairs]
    javascript = [f"{name} = {step.javascript.replace('IT', name)};\n" for name, step in pairs]
    return replace(
        task,
        instructions=(*(step.instruction for step in steps), *task.instructions),
        plan=("The texts are cleaned up first, as described.", *task.plan),
        python="".join(python) + task.python,
        javascript="".join(javascript) + task.javascript,
        reference=lambda *texts: task.reference(*(run(steps, text) for text in texts)),
    )


def all_matter(
    reference: Callable[..., int], steps: list[Step], inputs: tuple[tuple[str, ...], ...]
) -> bool:
    """Whether leaving out any one of the steps changes the result of some input."""

    def result(some: list[Step], texts: tuple[str, ...]) -> int:
        return reference(*(run(some, text) for text in texts))

    return all(
        any(result(steps, texts) != result(steps[:i] + steps[i + 1 :], texts) for texts in inputs)
        for i in range(len(steps))
    )


# --- cleaning up: references, and what makes a text dirty


def scattered(draw: Draw, text: str, options: str) -> str:
    return "".join(c + draw.pick(options) if draw.chance(0.4) else c for c in text)


NOISES: dict[str, Callable[[Draw, str, str], str]] = {
    "lower_case": lambda draw, text, mark: "".join(
        c.upper() if draw.chance(0.4) else c for c in text
    ),
    "without_marks": scattered,
    "without_digits": lambda draw, text, mark: scattered(draw, text, "0123456789"),
}
REFERENCES: dict[str, Reference] = {
    "lower_case": lambda text, p: text.casefold(),
    "without_marks": lambda text, p: "".join(c for c in text if c != p.mark),
    "without_digits": lambda text, p: "".join(re.findall("[^0-9]", text)),
}
FAMILY = Family("texts", REFERENCES)


# --- two texts


def fresh_pair(draw: Draw) -> tuple[str, str]:
    """Two texts that have something in common."""
    first = "".join(draw.pick(LETTERS) for _ in range(draw.between(3, 6)))
    second = "".join(draw.pick(LETTERS) if draw.chance(0.4) else c for c in first)
    cut = draw.below(3)
    return first, second[cut:] + "".join(draw.pick(LETTERS) for _ in range(draw.below(3)))


def substrings(text: str) -> set[str]:
    indices = range(len(text) + 1)
    return {text[i:j] for i in indices for j in indices if i <= j}


def subsequences(text: str) -> set[str]:
    return {"".join(some) for size in range(len(text) + 1) for some in combinations(text, size)}


def alignment(draw: Draw) -> tuple[CodingTask, Fresh]:
    """The best alignment of two texts, or of parts of them, by points or by costs."""
    p = FAMILY.draw_parameters(draw, "alignment")
    gap, points, inside = p["gap"], p["points"], p["inside"]
    equal, different = (p["same"], -p["other"]) if points else (0, p["other"])
    best: Callable[..., int] = max if points else min
    lone: int = -gap if points else gap

    @cache
    def total(a: str, b: str) -> int:
        if not a or not b:
            return (len(a) + len(b)) * lone
        over = equal if a[0] == b[0] else different
        return best(total(a[1:], b[1:]) + over, total(a[1:], b) + lone, total(a, b[1:]) + lone)

    def reference(first: str, second: str) -> int:
        if not inside:
            return total(first, second)
        parts = substrings(first) if points else {first}
        return best(total(a, b) for a in parts for b in substrings(second))

    local, gaps = inside and points, f"{gap} * " if gap > 1 else ""
    end = ("min(row)", "Math.min(...row)") if inside else ("row[-1]", "row[second.length]")
    parameters = {
        **p,
        "equal": equal,
        "different": different,
        "below_zero": points and not inside,
        "local": local,
        "floor": "0, " if local else "",
        "edge_py": f"-{gaps}" if points else gaps,
        "edge_js": f"0 - {gaps}" if points else gaps,  # -3 * 0 is -0 there
        "end_py": "largest" if local else end[0],
        "end_js": "largest" if local else end[1],
    }
    task = FAMILY.task(draw, "alignment", parameters, reference, PAIR_EDGES)
    return task, lambda: fresh_pair(draw)


def common(draw: Draw) -> tuple[CodingTask, Fresh]:
    """What two texts have in common: lengths and values of common texts."""
    p = FAMILY.draw_parameters(draw, "common")
    more = p["vowel"] - 1 if p["valued"] else 0

    def reference(first: str, second: str) -> int:
        shared = subsequences(first) & subsequences(second)
        best = max(len(text) + more * text.count("a") for text in shared)
        return int(p["lengths"] * (len(first) + len(second)) + p["factor"] * best)

    python = {"row": "row[-1]", "total": "len(first) + len(second)"}
    javascript = {"row": "row[second.length]", "total": "first.length + second.length"}
    p |= {"answer_py": fill(p["answer"], python), "answer_js": fill(p["answer"], javascript)}
    return FAMILY.task(draw, "common", p, reference, PAIR_EDGES), lambda: fresh_pair(draw)


# --- patterns


def occurrences(draw: Draw) -> tuple[CodingTask, Fresh]:
    """The number of ways to choose a pattern from a text."""
    p = FAMILY.draw_parameters(draw, "occurrences")
    joker, modulus = p["joker"], p["modulus"]

    def reference(pattern: str, text: str) -> int:
        ways = sum(
            all(one == c or (joker and one == "?") for one, c in zip(pattern, chosen, strict=True))
            for chosen in combinations(text, len(pattern))
        )
        return ways % modulus if modulus else ways

    def draw_input() -> tuple[str, str]:
        text = "".join(draw.pick("ab") for _ in range(draw.between(4, 8)))
        symbols = "ab?" if joker else "ab"
        return "".join(draw.pick(symbols) for _ in range(draw.between(1, 3))), text

    edges = (("", "ab"), ("ab", ""), ("aa", "aaaa"), ("abc", "abc"))
    return FAMILY.task(draw, "occurrences", p, reference, edges), draw_input


def wildcards(draw: Draw) -> tuple[CodingTask, Fresh]:
    """The beginnings of a text that fit a pattern with wildcards."""
    p = FAMILY.draw_parameters(draw, "wildcards")

    def reference(pattern: str, text: str) -> int:
        signs = {"?": ".", "*": ".+" if p["least"] else ".*"}
        regex = re.compile("".join(signs.get(c, re.escape(c)) for c in pattern))
        fits = [n for n in range(len(text) + 1) if regex.fullmatch(text[:n])]
        return max(fits, default=-1) if p["longest"] else len(fits)

    def draw_input() -> tuple[str, str]:
        text = "".join(draw.pick("ab") for _ in range(draw.between(3, 8)))
        start = text[: draw.between(1, 4)]
        return "".join(draw.pick("?*") if draw.chance(0.5) else c for c in start), text

    edges = (("", "ab"), ("*", ""), ("a*", "abba"), ("?b", "abb"), ("*a", "abab"))
    return FAMILY.task(draw, "wildcards", p, reference, edges), draw_input


# --- one text


def cuts(text: str) -> list[list[str]]:
    """All ways to cut a text into non-empty pieces."""
    if not text:
        return [[]]
    return [[text[:n], *rest] for n in range(1, len(text) + 1) for rest in cuts(text[n:])]


def pieces(draw: Draw) -> tuple[CodingTask, Fresh]:
    """The ways to cut a text into given words, or the fewest pieces."""
    options = ("a", "b", "ab", "ba", "aa", "bb", "aba", "bab", "abb")
    words = sorted(draw.some(options, draw.between(4, 5)))
    counts = draw.chance(0.5)

    def reference(text: str) -> int:
        sizes = [len(cut) for cut in cuts(text) if all(piece in words for piece in cut)]
        return len(sizes) if counts else min(sizes, default=-1)

    def draw_input() -> tuple[str]:
        text = "".join(draw.pick(words) for _ in range(draw.between(2, 4)))
        return ((text + draw.pick(("", "", "a", "b")))[:9],)

    parameters: dict[str, Any] = {
        "counts": counts,
        "words": ", ".join(words),
        "words_py": ", ".join(f'"{word}"' for word in words),
        "words_js": ", ".join(f"'{word}'" for word in words),
    }
    code = "count_pieces" if counts else "fewest_pieces"
    edges = (("",), ("a",), ("bb",), ("abab",))
    return FAMILY.task(draw, "pieces", parameters, reference, edges, code=code), draw_input


def palindromes(draw: Draw) -> tuple[CodingTask, Fresh]:
    """The longest palindrome in a text, or the characters that it lacks to be one."""
    p = FAMILY.draw_parameters(draw, "palindromes")

    def reference(text: str) -> int:
        longest = max(len(one) for one in subsequences(text) if one == "".join(reversed(one)))
        return len(text) - longest if p["inserted"] else longest

    edges = (("",), ("a",), ("ab",), ("abca",))
    task = FAMILY.task(draw, "palindromes", p, reference, edges)
    return task, lambda: ("".join(draw.pick("abcd") for _ in range(draw.between(3, 8))),)
