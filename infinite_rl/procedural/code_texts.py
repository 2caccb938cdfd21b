"""One or two texts, by dynamic programming."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .code import JAVASCRIPT, PYTHON, CodingTask, Family, Step, run, with_inputs
from .code_tables import fill
from .draw import Draw
from .templates import listing

LEVELS = (1, 2, 3)
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

    cleaned = after_cleaning(steps, task) if steps else task
    cleaned = with_inputs(draw, cleaned, noisy)
    if not all_matter(task, steps, cleaned.inputs):
        return make(draw, level)
    return cleaned


def after_cleaning(steps: list[Step], task: CodingTask) -> CodingTask:
    """The task on texts that go through the steps first."""
    ends = {PYTHON: "\n", JAVASCRIPT: ";\n"}
    lines = {
        language: "".join(
            f"{name} = {step.code[language].replace('IT', name)}{end}"
            for step in steps
            for name, _ in task.params
        )
        for language, end in ends.items()
    }
    return replace(
        task,
        instructions=(*(step.instruction for step in steps), *task.instructions),
        plan=("The texts are cleaned up first, as described.", *task.plan),
        code={language: before + task.code[language] for language, before in lines.items()},
    )


def all_matter(task: CodingTask, steps: list[Step], inputs: tuple[tuple[Any, ...], ...]) -> bool:
    """Whether leaving out any one of the steps changes the result of some input."""

    def result(some: list[Step], texts: tuple[str, ...]) -> Any:
        return task.result(*(run(some, text) for text in texts))

    return all(
        any(result(steps, texts) != result(steps[:i] + steps[i + 1 :], texts) for texts in inputs)
        for i in range(len(steps))
    )


# --- cleaning up: what makes a text dirty


def scattered(draw: Draw, text: str, options: str) -> str:
    return "".join(c + draw.pick(options) if draw.chance(0.4) else c for c in text)


NOISES: dict[str, Callable[[Draw, str, str], str]] = {
    "lower_case": lambda draw, text, mark: "".join(
        c.upper() if draw.chance(0.4) else c for c in text
    ),
    "without_marks": scattered,
    "without_digits": lambda draw, text, mark: scattered(draw, text, "0123456789"),
}
FAMILY = Family("texts")


# --- two texts


def fresh_pair(draw: Draw) -> tuple[str, str]:
    """Two texts that have something in common."""
    first = "".join(draw.pick(LETTERS) for _ in range(draw.between(3, 6)))
    second = "".join(draw.pick(LETTERS) if draw.chance(0.4) else c for c in first)
    cut = draw.below(3)
    return first, second[cut:] + "".join(draw.pick(LETTERS) for _ in range(draw.below(3)))


def alignment(draw: Draw) -> tuple[CodingTask, Fresh]:
    """The best alignment of two texts, or of parts of them, by points or by costs."""
    p = FAMILY.draw_parameters(draw, "alignment")
    gap, points, inside = p["gap"], p["points"], p["inside"]
    equal, different = (p["same"], -p["other"]) if points else (0, p["other"])
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
    task = FAMILY.task(draw, "alignment", parameters, PAIR_EDGES)
    return task, lambda: fresh_pair(draw)


def common(draw: Draw) -> tuple[CodingTask, Fresh]:
    """What two texts have in common: lengths and values of common texts."""
    p = FAMILY.draw_parameters(draw, "common")
    python = {"row": "row[-1]", "total": "len(first) + len(second)"}
    javascript = {"row": "row[second.length]", "total": "first.length + second.length"}
    p |= {"answer_py": fill(p["answer"], python), "answer_js": fill(p["answer"], javascript)}
    return FAMILY.task(draw, "common", p, PAIR_EDGES), lambda: fresh_pair(draw)


# --- patterns


def occurrences(draw: Draw) -> tuple[CodingTask, Fresh]:
    """The number of ways to choose a pattern from a text."""
    p = FAMILY.draw_parameters(draw, "occurrences")

    def draw_input() -> tuple[str, str]:
        text = "".join(draw.pick("ab") for _ in range(draw.between(4, 8)))
        symbols = "ab?" if p["joker"] else "ab"
        return "".join(draw.pick(symbols) for _ in range(draw.between(1, 3))), text

    edges = (("", "ab"), ("ab", ""), ("aa", "aaaa"), ("abc", "abc"))
    return FAMILY.task(draw, "occurrences", p, edges), draw_input


def wildcards(draw: Draw) -> tuple[CodingTask, Fresh]:
    """The beginnings of a text that fit a pattern with wildcards."""
    p = FAMILY.draw_parameters(draw, "wildcards")

    def draw_input() -> tuple[str, str]:
        text = "".join(draw.pick("ab") for _ in range(draw.between(3, 8)))
        start = text[: draw.between(1, 4)]
        return "".join(draw.pick("?*") if draw.chance(0.5) else c for c in start), text

    edges = (("", "ab"), ("*", ""), ("a*", "abba"), ("?b", "abb"), ("*a", "abab"))
    return FAMILY.task(draw, "wildcards", p, edges), draw_input


# --- one text


def pieces(draw: Draw) -> tuple[CodingTask, Fresh]:
    """The ways to cut a text into given words, or the fewest pieces."""
    options = ("a", "b", "ab", "ba", "aa", "bb", "aba", "bab", "abb")
    words = sorted(draw.some(options, draw.between(4, 5)))
    counts = draw.chance(0.5)

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
    return FAMILY.task(draw, "pieces", parameters, edges, code=code), draw_input


def palindromes(draw: Draw) -> tuple[CodingTask, Fresh]:
    """The longest palindrome in a text, or the characters that it lacks to be one."""
    p = FAMILY.draw_parameters(draw, "palindromes")

    edges = (("",), ("a",), ("ab",), ("abca",))
    task = FAMILY.task(draw, "palindromes", p, edges)
    return task, lambda: ("".join(draw.pick("abcd") for _ in range(draw.between(3, 8))),)
