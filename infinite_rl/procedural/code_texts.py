"""Two texts side by side, by dynamic programming; the references try out every choice."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations

from .code import CodingTask, Step, run, telling_inputs
from .draw import Draw
from .wording import listing

Fresh = Callable[[], tuple[str, ...]]
LETTERS = "abc"


def make(draw: Draw, level: int) -> CodingTask:
    """A question about one or two texts; at level 2 they are cleaned up first, at level 3 twice."""
    kind = draw.pick((alignment, alignment, common, occurrences, wildcards, pieces, palindromes))
    task, noisy = kind(draw)
    cleaned = draw.some(cleanings(draw), level - 1)
    steps = [step for step, _ in cleaned]
    for _, noise in cleaned:
        noisy = with_noise(noisy, noise)
    plain = task.reference
    for step in reversed(steps):
        task = after(step, task)
    if steps:
        named = listing([f"`{name}`" for name, _ in task.params])
        cleaning = tuple(step.say.replace("TEXTS", named) for step in steps)
        task = replace(task, says=(*cleaning, *task.says))
        task = replace(task, plan=("The texts are cleaned up first, as described.", *task.plan))
    inputs = telling_inputs(draw, task.reference, task.inputs, noisy)
    return replace(task, inputs=inputs) if all_matter(plain, steps, inputs) else make(draw, level)


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


def with_noise(fresh: Fresh, noise: Callable[[str], str]) -> Fresh:
    return lambda: tuple(map(noise, fresh()))


def after(step: Step, task: CodingTask) -> CodingTask:
    """The task on texts that go through the step first."""
    reference, names = task.reference, [name for name, _ in task.params]
    python = [f"{name} = {step.python.replace('IT', name)}\n" for name in names]
    javascript = [f"{name} = {step.javascript.replace('IT', name)};\n" for name in names]
    return replace(
        task,
        python="".join(python) + task.python,
        javascript="".join(javascript) + task.javascript,
        reference=lambda *texts: reference(*map(step.apply, texts)),
    )


def cleanings(draw: Draw) -> list[tuple[Step, Callable[[str], str]]]:
    """Steps that clean a text up, each with what makes a text dirty."""
    mark, what = draw.pick((("-", "hyphens"), ("_", "underscores"), (".", "full stops")))

    def scattered(options: str) -> Callable[[str], str]:
        return lambda text: "".join(c + draw.pick(options) if draw.chance(0.4) else c for c in text)

    return [
        (
            Step(
                "change all capital letters in TEXTS to small ones",
                "IT.lower()",
                "IT.toLowerCase()",
                str.casefold,
            ),
            lambda text: "".join(c.upper() if draw.chance(0.4) else c for c in text),
        ),
        (
            Step(
                f"remove all {what} from TEXTS",
                f'IT.replace("{mark}", "")',
                f"IT.split('{mark}').join('')",
                lambda text: "".join(c for c in text if c != mark),
            ),
            scattered(mark),
        ),
        (
            Step(
                "remove all decimal digits from TEXTS",
                '"".join(c for c in IT if c not in "0123456789")',
                "IT.replace(/[0-9]/g, '')",
                lambda text: "".join(re.findall("[^0-9]", text)),
            ),
            scattered("0123456789"),
        ),
    ]


def fresh_pair(draw: Draw) -> tuple[str, str]:
    """Two texts that have something in common."""
    first = "".join(draw.pick(LETTERS) for _ in range(draw.between(3, 6)))
    second = "".join(draw.pick(LETTERS) if draw.chance(0.4) else c for c in first)
    cut = draw.below(3)
    return first, second[cut:] + "".join(draw.pick(LETTERS) for _ in range(draw.below(3)))


PAIR_EDGES = (("", ""), ("abc", ""), ("", "b"), ("abc", "abc"), ("aab", "baa"))


def text_task(
    draw: Draw,
    name: str,
    params: tuple[str, ...],
    says: tuple[str, ...],
    plan: tuple[str, ...],
    python: str,
    javascript: str,
    reference: Callable[..., int],
    edges: tuple[tuple[str, ...], ...],
    rules: tuple[str, ...] = (),
) -> CodingTask:
    """A task on texts that returns an integer; its inputs are the edge cases so far."""
    named = listing([f"`{param}`" for param in params])
    return CodingTask(
        name=name,
        params=tuple((param, "text") for param in params),
        returns="int",
        story=draw.pick(STORIES),
        says=says,
        rules=(
            *rules,
            f"{named} may be empty{' and hold' if len(params) > 1 else ' and holds'} at most 30 characters{' each' if len(params) > 1 else ''}, all of them printable ASCII.",
        ),
        plan=plan,
        python=python,
        javascript=javascript,
        reference=reference,
        inputs=edges,
    )


STORIES = (
    "A laboratory compares strands of a molecule.",
    "A spelling checker compares what people type.",
    "An archive compares copies of old signs.",
    "A music program compares melodies, with one letter for each note.",
    "A robot's moves are logged as letters.",
    "",
)

# --- alignments with costs or points


def alignment(draw: Draw) -> tuple[CodingTask, Fresh]:
    gap, other, same = draw.between(1, 3), draw.between(1, 4), draw.between(2, 5)
    scope = draw.pick(("costs", "costs inside", "points", "points inside"))
    points, inside = scope.startswith("points"), scope.endswith("inside")
    best = max if points else min

    @cache
    def total(a: str, b: str) -> int:
        if not a or not b:
            return (len(a) + len(b)) * (-gap if points else gap)
        match = same if a[0] == b[0] else -other
        cost = 0 if a[0] == b[0] else other
        over = match if points else cost
        lone = -gap if points else gap
        return best(total(a[1:], b[1:]) + over, total(a[1:], b) + lone, total(a, b[1:]) + lone)

    def reference(first: str, second: str) -> int:
        if not inside:
            return total(first, second)
        parts = substrings(first) if points else {first}
        return best(total(a, b) for a in parts for b in substrings(second))

    python, javascript = alignment_code(points, inside, (gap, other, same))
    value = (
        f"two equal characters above each other bring {same} points, two different ones cost {other}, and a gap costs {gap}"
        if points
        else f"two different characters above each other cost {other}, two equal ones nothing, and a gap costs {gap}"
    )
    partly = (
        "some part of `first` and some part of `second`"
        if points
        else "`first` and some part of `second`"
    )
    task = text_task(
        draw,
        draw.pick(("align", "compare", "match_up", "best_alignment")),
        ("first", "second"),
        (
            f"write {partly if inside else '`first` and `second`'} one above the other, where gaps may be put in anywhere, but no gap above a gap; {value}",
            f"return the {'largest possible number of points' if points else 'smallest possible total cost'}",
        ),
        (
            "A table holds the best value for every beginning of the one and of the other text.",
            "The last column of an alignment is a pair, or a character above or below a gap: three cases for each entry.",
            f"As the alignment may begin and end anywhere inside{' both' if points else ' `second`'}, the empty one counts at the start and we look for the best end."
            if inside
            else "The entry for the two whole texts is the result.",
        ),
        python,
        javascript,
        reference,
        PAIR_EDGES,
        ("A part is any run of neighbouring characters, also the whole text or none of it.",)
        * inside
        + ("The number of points may be negative.",) * (points and not inside),
    )
    return task, lambda: fresh_pair(draw)


def substrings(text: str) -> set[str]:
    places = range(len(text) + 1)
    return {text[i:j] for i in places for j in places if i <= j}


def alignment_code(points: bool, inside: bool, values: tuple[int, int, int]) -> tuple[str, str]:
    """The bodies in both languages; `values` are gap, different and equal pair."""
    gap, other, same = values
    best, sign, pair = ("max", "-", (same, -other)) if points else ("min", "+", (0, other))
    local, gaps = inside and points, f"{gap} * " if gap > 1 else ""
    edge, js_edge = (f"-{gaps}", f"0 - {gaps}") if points else (gaps, gaps)  # -3 * 0 is -0 there
    floor, side, js_side = ("0, ", "0", "0") if local else ("", f"{edge}i", f"{js_edge}i")
    top = "[0] * (len(second) + 1)" if inside else f"[{edge}j for j in range(len(second) + 1)]"
    js_top = "() => 0" if inside else f"(_, j) => {js_edge}j"
    start, js_start = ("largest = 0\n", "let largest = 0;\n") if local else ("", "")
    keep = "    largest = max(largest, *row)\n" if local else ""
    js_keep = "  largest = Math.max(largest, ...row);\n" if local else ""
    end, js_end = ("min(row)", "Math.min(...row)") if inside else ("row[-1]", "row[second.length]")
    end, js_end = ("largest", "largest") if local else (end, js_end)
    python = f"row = {top}\n{start}for i, x in enumerate(first, 1):\n    above, row = row, [{side}]\n    for j, y in enumerate(second, 1):\n        pair = above[j - 1] + ({pair[0]} if x == y else {pair[1]})\n        row.append({best}({floor}pair, above[j] {sign} {gap}, row[-1] {sign} {gap}))\n{keep}return {end}"
    javascript = f"let row = Array.from({{ length: second.length + 1 }}, {js_top});\n{js_start}for (let i = 1; i <= first.length; i += 1) {{\n  const above = row;\n  row = [{js_side}];\n  for (let j = 1; j <= second.length; j += 1) {{\n    const pair = above[j - 1] + (first[i - 1] === second[j - 1] ? {pair[0]} : {pair[1]});\n    row.push(Math.{best}({floor}pair, above[j] {sign} {gap}, row[j - 1] {sign} {gap}));\n  }}\n{js_keep}}}\nreturn {js_end};"
    return python, javascript


# --- what two texts have in common


def subsequences(text: str) -> set[str]:
    return {"".join(some) for size in range(len(text) + 1) for some in combinations(text, size)}


def common(draw: Draw) -> tuple[CodingTask, Fresh]:
    vowel = draw.between(2, 4)
    total = "len(first) + len(second)", "first.length + second.length"
    goals = (
        ("the length of the longest text that can be made from both", "{}", "1", "1", 0, 1),
        (
            "the smallest number of characters to delete from the two texts, taken together, so that the rests are equal",
            "{total} - 2 * {}",
            "1",
            "1",
            1,
            -2,
        ),
        (
            "the length of the shortest text from which both `first` and `second` can be made",
            "{total} - {}",
            "1",
            "1",
            1,
            -1,
        ),
        (
            f"the largest value of a text that can be made from both, where each letter a counts {vowel} and every other character 1",
            "{}",
            f'({vowel} if x == "a" else 1)',
            f"(x === 'a' ? {vowel} : 1)",
            0,
            1,
        ),
    )
    goal, answer, own, js_own, lengths, factor = draw.pick(goals)
    valued = own != "1"

    def reference(first: str, second: str) -> int:
        shared = subsequences(first) & subsequences(second)
        best = max(len(text) + valued * (vowel - 1) * text.count("a") for text in shared)
        return lengths * (len(first) + len(second)) + factor * best

    task = text_task(
        draw,
        draw.pick(("shared_text", "common_part", "compare_texts", "overlap")),
        ("first", "second"),
        (f"return {goal}",),
        (
            "We fill a table with the best common text of every beginning of `first` and every beginning of `second`.",
            "Equal last characters are used both; otherwise one of the two is left out, whichever is better.",
            *(
                (
                    "What is asked for follows from the lengths of the texts and of their longest common text.",
                )
                * lengths
            ),
        ),
        f"row = [0] * (len(second) + 1)\nfor x in first:\n    above, row = row, [0]\n    for j, y in enumerate(second):\n        row.append(above[j] + {own} if x == y else max(above[j + 1], row[j]))\nreturn {answer.format('row[-1]', total=total[0])}",
        f"let row = new Array(second.length + 1).fill(0);\nfor (const x of first) {{\n  const above = row;\n  row = [0];\n  for (let j = 0; j < second.length; j += 1) {{\n    row.push(x === second[j] ? above[j] + {js_own} : Math.max(above[j + 1], row[j]));\n  }}\n}}\nreturn {answer.format('row[second.length]', total=total[1])};",
        reference,
        PAIR_EDGES,
        (
            "A text is made from another by deleting any characters, or none, and leaving the others in their order.",
        ),
    )
    return task, lambda: fresh_pair(draw)


# --- patterns


def occurrences(draw: Draw) -> tuple[CodingTask, Fresh]:
    joker, modulus = draw.chance(0.5), draw.pick((0, 0, 7, 10))

    def reference(pattern: str, text: str) -> int:
        ways = sum(
            all(p == c or (joker and p == "?") for p, c in zip(pattern, chosen, strict=True))
            for chosen in combinations(text, len(pattern))
        )
        return ways % modulus if modulus else ways

    ends = f" % {modulus}" if modulus else ""
    python_test = 'pattern[j] in (x, "?")' if joker else "pattern[j] == x"
    js_test = "pattern[j] === x" + (" || pattern[j] === '?'" if joker else "")
    task = text_task(
        draw,
        draw.pick(("count_choices", "occurrences", "ways_to_choose")),
        ("pattern", "text"),
        (
            "return in how many ways one can choose positions of `text` whose characters, read from left to right, give `pattern`"
            + (", where a question mark in `pattern` stands for any one character" if joker else "")
            + (
                f"; give only the remainder of this number on division by {modulus}"
                if modulus
                else ""
            ),
        ),
        (
            "For every beginning of the pattern we count the ways to choose it from the characters seen so far.",
            "A new character prolongs the ways for a beginning by one character if it fits there; going from the end to the start uses it only once.",
        ),
        f"ways = [1] + [0] * len(pattern)\nfor x in text:\n    for j in reversed(range(len(pattern))):\n        if {python_test}:\n            ways[j + 1] += ways[j]\nreturn ways[-1]{ends}",
        f"const ways = [1, ...new Array(pattern.length).fill(0)];\nfor (const x of text) {{\n  for (let j = pattern.length - 1; j >= 0; j -= 1) {{\n    if ({js_test}) ways[j + 1] += ways[j];\n  }}\n}}\nreturn ways[pattern.length]{ends};",
        reference,
        (("", "ab"), ("ab", ""), ("aa", "aaaa"), ("abc", "abc")),
        ("The empty pattern can be chosen in one way.",),
    )

    def fresh() -> tuple[str, str]:
        text = "".join(draw.pick("ab") for _ in range(draw.between(4, 8)))
        symbols = "ab?" if joker else "ab"
        return "".join(draw.pick(symbols) for _ in range(draw.between(1, 3))), text

    return task, fresh


def wildcards(draw: Draw) -> tuple[CodingTask, Fresh]:
    least, longest = draw.below(2), draw.chance(0.5)

    def reference(pattern: str, text: str) -> int:
        parts = {"?": ".", "*": ".+" if least else ".*"}
        regex = re.compile("".join(parts.get(c, re.escape(c)) for c in pattern))
        fits = [n for n in range(len(text) + 1) if regex.fullmatch(text[:n])]
        return max(fits, default=-1) if longest else len(fits)

    goal = (
        "the length of the longest beginning of `text` that fits `pattern` (-1 if none fits)"
        if longest
        else "how many different beginnings of `text` fit `pattern`"
    )
    task = text_task(
        draw,
        draw.pick(("fitting_prefix", "match_start", "prefix_match")),
        ("pattern", "text"),
        (
            f"read `pattern` like this: a question mark fits any one character, a star fits any run of {'at least one character' if least else 'characters, also an empty one'}, and every other character fits itself only",
            f"return {goal}",
        ),
        (
            "We keep the set of all positions in the text up to which the pattern so far can reach.",
            "A star reaches every later position; any other character moves on by one where it fits.",
        ),
        "reached = {0}\nfor p in pattern:\n"
        + f'    if p == "*":\n        start = min(reached, default=len(text) + 1)\n        reached = set(range(start{" + 1" * least}, len(text) + 1))\n    else:\n        reached = {{i + 1 for i in reached if i < len(text) and p in (text[i], "?")}}\n'
        + ("return max(reached, default=-1)" if longest else "return len(reached)"),
        "let reached = new Set([0]);\nfor (const p of pattern) {\n  const next = new Set();\n"
        + f"  for (const i of reached) {{\n    if (p === '*') for (let end = i{' + 1' * least}; end <= text.length; end += 1) next.add(end);\n    else if (i < text.length && (p === '?' || p === text[i])) next.add(i + 1);\n  }}\n  reached = next;\n}}\n"
        + ("return Math.max(-1, ...reached);" if longest else "return reached.size;"),
        reference,
        (("", "ab"), ("*", ""), ("a*", "abba"), ("?b", "abb"), ("*a", "abab")),
        ("A beginning of a text may be empty or the whole text.",),
    )

    def fresh() -> tuple[str, str]:
        text = "".join(draw.pick("ab") for _ in range(draw.between(3, 8)))
        pattern = "".join(
            draw.pick("?*") if draw.chance(0.5) else c for c in text[: draw.between(1, 4)]
        )
        return pattern, text

    return task, fresh


# --- a text in pieces


def cuts(text: str) -> list[list[str]]:
    """All ways to cut a text into non-empty pieces."""
    if not text:
        return [[]]
    return [[text[:n], *rest] for n in range(1, len(text) + 1) for rest in cuts(text[n:])]


def pieces(draw: Draw) -> tuple[CodingTask, Fresh]:
    words = sorted(
        draw.some(("a", "b", "ab", "ba", "aa", "bb", "aba", "bab", "abb"), draw.between(4, 5))
    )
    counts = draw.chance(0.5)

    def reference(text: str) -> int:
        sizes = [len(cut) for cut in cuts(text) if all(piece in words for piece in cut)]
        return len(sizes) if counts else min(sizes, default=-1)

    listed = ", ".join(words)
    python_words, js_words = ", ".join(f'"{w}"' for w in words), ", ".join(f"'{w}'" for w in words)
    goal = (
        "return the number of ways to cut `text` into pieces"
        if counts
        else "return the smallest number of pieces (-1 if that is impossible) into which `text` can be cut"
    )
    if counts:
        python = f"ways = [1]\nfor end in range(1, len(text) + 1):\n    fits = [word for word in ({python_words}) if text[:end].endswith(word)]\n    ways.append(sum(ways[end - len(word)] for word in fits))\nreturn ways[-1]"
        javascript = f"const ways = [1];\nfor (let end = 1; end <= text.length; end += 1) {{\n  const fits = [{js_words}].filter((word) => text.slice(0, end).endsWith(word));\n  ways.push(fits.reduce((total, word) => total + ways[end - word.length], 0));\n}}\nreturn ways[text.length];"
    else:
        python = f"fewest = [0]\nfor end in range(1, len(text) + 1):\n    fits = [word for word in ({python_words}) if text[:end].endswith(word)]\n    counts = [fewest[end - len(word)] for word in fits]\n    fewest.append(min((count + 1 for count in counts if count >= 0), default=-1))\nreturn fewest[-1]"
        javascript = f"const fewest = [0];\nfor (let end = 1; end <= text.length; end += 1) {{\n  const fits = [{js_words}].filter((word) => text.slice(0, end).endsWith(word));\n  fewest.push(Math.min(...fits.map((word) => fewest[end - word.length] + 1)));\n}}\nreturn fewest[text.length] === Infinity ? -1 : fewest[text.length];"
    task = text_task(
        draw,
        draw.pick(("cut_up", "split_into_words", "segment")),
        ("text",),
        (f"{goal}, where each piece must be one of the words {listed}",),
        (
            "A table holds the answer for every beginning of the text.",
            "A beginning is a shorter one followed by a word; we go through all words that can be the last piece.",
        ),
        python,
        javascript,
        reference,
        (("",), ("a",), ("bb",), ("abab",)),
        (
            "A word may be used several times. The empty text needs no pieces, and there is one way to cut it.",
        ),
    )

    def fresh() -> tuple[str]:
        text = "".join(draw.pick(words) for _ in range(draw.between(2, 4)))
        return ((text + draw.pick(("", "", "a", "b")))[:9],)

    return task, fresh


# --- palindromes


def palindromes(draw: Draw) -> tuple[CodingTask, Fresh]:
    inserted = draw.chance(0.5)

    def mirrored(text: str) -> bool:
        return text == "".join(reversed(text))

    def longest(text: str) -> int:
        kept = max(len(some) for some in subsequences(text) if mirrored(some))
        return len(text) - kept if inserted else kept

    goal = (
        "the smallest number of characters that must be inserted into `text`, anywhere, to make it a palindrome"
        if inserted
        else "the length of the longest palindrome that can be made from `text` by deleting characters"
    )
    last = (
        ("return len(text) - row[-1]", "return text.length - row[text.length];")
        if inserted
        else ("return row[-1]", "return row[text.length];")
    )
    task = text_task(
        draw,
        draw.pick(("mirror", "palindrome_size", "make_palindrome")),
        ("text",),
        (f"return {goal}",),
        (
            "The longest palindrome that is left after deletions is the longest common subsequence of the text and its reverse.",
            "We fill the usual table for it row by row.",
            *(
                ("Every character outside of that palindrome needs a partner that is inserted.",)
                * inserted
            ),
        ),
        f"row = [0] * (len(text) + 1)\nfor x in text:\n    above, row = row, [0]\n    for j, y in enumerate(reversed(text)):\n        row.append(above[j] + 1 if x == y else max(above[j + 1], row[j]))\n{last[0]}",
        f"const turned = [...text].reverse();\nlet row = new Array(text.length + 1).fill(0);\nfor (const x of text) {{\n  const above = row;\n  row = [0];\n  for (let j = 0; j < turned.length; j += 1) {{\n    row.push(x === turned[j] ? above[j] + 1 : Math.max(above[j + 1], row[j]));\n  }}\n}}\n{last[1]}",
        longest,
        (("",), ("a",), ("ab",), ("abca",)),
        ("A palindrome reads the same in both directions; the empty text is one.",),
    )
    return task, lambda: ("".join(draw.pick("abcd") for _ in range(draw.between(3, 8))),)
