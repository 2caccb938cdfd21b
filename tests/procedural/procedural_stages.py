"""The stages of coding tasks, carried out from the words of the prompt.

An oracle for the solutions and references of `infinite_rl/procedural`: it shares no code
with them and reads only what a prompt says. `STAGES` maps a family to patterns of imperatives, each
with a function that takes the groups of the match and gives the function that does the stage.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cmp_to_key
from itertools import groupby, pairwise
from math import floor
from statistics import median_low
from typing import Any

Stage = Callable[[Any], Any]
Table = Mapping[str, Callable[..., Stage]]
SIGN = {"minus": -1, "plus": 1}
VOWELS = frozenset("aeiouAEIOU")


class Unread(ValueError):
    """A sentence that no pattern reads."""


def stage(tables: Iterable[Table], say: str) -> Stage:
    """The function that does what an imperative says."""
    for table in tables:
        for pattern, build in table.items():
            if match := re.fullmatch(pattern, say):
                return build(
                    *(int(g) if re.fullmatch(r"-?\d+", g or "") else g for g in match.groups())
                )
    raise Unread(say)


def kept(test: Callable[[Any], object]) -> Stage:
    return lambda values: [value for value in values if test(value)]


def each(change: Callable[[Any], Any]) -> Stage:
    return lambda values: [change(value) for value in values]


# --- lists of integers


def digits(n: int) -> list[int]:
    return [int(c) for c in str(n) if c != "-"]


def until(values: list[int], k: int) -> list[int]:
    found: list[int] = []
    for n in values:
        if n > k:
            return found
        found.append(n)
    return found


def sums(values: list[int]) -> list[int]:
    found: list[int] = []
    for n in values:
        found.append(n + (found[-1] if found else 0))
    return found


def rises(values: list[int]) -> int:
    """The longest strictly rising stretch, from the places where it is broken."""
    breaks = [i for i in range(1, len(values)) if values[i] <= values[i - 1]]
    places = [0, *breaks, len(values)]
    return max(b - a for a, b in pairwise(places)) if values else 0


def most_frequent(values: list[int], smallest: bool) -> int:
    runs = [(len(list(run)), -n if smallest else n) for n, run in groupby(sorted(values))]
    best = max(runs, default=(0, 0))[1]
    return -best if smallest else best


def checksum(values: list[int], base: int, m: int) -> int:
    total = 0
    for n in values:
        total = total * base + n
    return total % m


KEEP = "keep only the numbers that "
POSITIONS = r" \(counted from 0\) leaves the remainder (\d+) on division by (\d+)"
NUMBERS: Table = {
    rf"{KEEP}are divisible by (\d+)": lambda k: kept(lambda n: Fraction(n, k).denominator == 1),
    rf"{KEEP}are not divisible by (\d+)": lambda k: kept(lambda n: Fraction(n, k).denominator > 1),
    rf"{KEEP}are greater than (-?\d+)": lambda k: kept(lambda n: n > k),
    rf"{KEEP}are less than (-?\d+)": lambda k: kept(lambda n: n < k),
    rf"{KEEP}lie between (-?\d+) and (-?\d+), both included": lambda a, b: kept(
        lambda n: a <= n <= b
    ),
    rf"{KEEP}are smaller than (-?\d+) or larger than (-?\d+)": lambda a, b: kept(
        lambda n: not a <= n <= b
    ),
    rf"{KEEP}end in a decimal digit of at least (\d) \(ignore the sign\)": lambda k: kept(
        lambda n: digits(n)[-1] >= k
    ),
    rf"{KEEP}leave the remainder (\d+) on division by (\d+) \(.*\)": lambda r, m: kept(
        lambda n: n - m * floor(Fraction(n, m)) == r
    ),
    rf"keep only the numbers whose position{POSITIONS}": lambda r, m: (
        lambda values: [n for i, n in enumerate(values) if divmod(i, m)[1] == r]
    ),
    rf"{KEEP}are greater than the first one": lambda: lambda v: [n for n in v if n > v[0]],
    rf"{KEEP}are at least as large as the first one": lambda: lambda v: [n for n in v if n >= v[0]],
    r"keep only the numbers before the first one that exceeds (\d+) \(.*\)": lambda k: (
        lambda values: until(values, k)
    ),
    "replace each number by its square": lambda: each(lambda n: abs(n) ** 2),
    r"replace each number by (\d+) times the number (plus|minus) (\d+)": lambda k, sign, c: each(
        lambda n: k * n + SIGN[sign] * c
    ),
    "replace each number by its absolute value": lambda: each(abs),
    r"replace each number by the sum of its decimal digits \(ignore the sign\)": lambda: each(
        lambda n: sum(digits(n))
    ),
    r"replace each number by the nearest number in the range from (-?\d+) to (-?\d+) \(.*\)": (
        lambda a, b: each(lambda n: a if n < a else b if n > b else n)
    ),
    r"replace each number by the number divided by (\d+), rounded down \(.*\)": lambda k: each(
        lambda n: floor(Fraction(n, k))
    ),
    r"replace each number by its non-negative remainder on division by (\d+)": lambda k: each(
        lambda n: n - k * floor(Fraction(n, k))
    ),
    r"replace each number as follows: an even number becomes (\d+) times as large, to an odd number (\d+) is added": (
        lambda k, c: each(lambda n: k * n if digits(n)[-1] in (0, 2, 4, 6, 8) else n + c)
    ),
    r"replace each number by its distance from (-?\d+)": lambda k: each(
        lambda n: n - k if n >= k else k - n
    ),
    r"replace each number by the number (plus|times) its position \(positions start at 1\)": (
        lambda op: lambda v: [n + i if op == "plus" else n * i for i, n in enumerate(v, 1)]
    ),
    "sort what you have in ascending order": lambda: sorted,
    "sort what you have in descending order": lambda: lambda v: [-n for n in sorted(-n for n in v)],
    "remove repeated numbers, keeping the first occurrence of each": lambda: first_of_each,
    r"replace the list by its running sums \(.*\)": lambda: sums,
    r"replace the list by the differences of neighbours \(.*\)": lambda: (
        lambda v: [b - a for a, b in pairwise(v)]
    ),
    r"move the first (?:(\d+) numbers|number) to the end, in the same order \(.*\)": lambda k: (
        lambda v: v if len(v) <= (k or 1) else v[(k or 1) :] + v[: (k or 1)]
    ),
    r"replace the list by the sums of every (\d+) neighbouring numbers \(.*\)": lambda k: (
        lambda v: [b - a for a, b in zip([0, *sums(v)], sums(v)[k - 1 :], strict=False)]
    ),
    "reverse the order": lambda: lambda v: [v[-i] for i in range(1, len(v) + 1)],
    r"keep only the numbers that are larger than everything before them \(.*\)": lambda: (
        lambda v: [n for i, n in enumerate(v) if i == 0 or n > max(v[:i])]
    ),
    r"return the sum of the numbers \(0 for none\)": lambda: lambda v: (sums(v) or [0])[-1],
    r"return how many of the numbers are at least (\d+)": lambda k: (
        lambda v: sum(n >= k for n in v)
    ),
    r"return the last (\d+) numbers as a list \(.*\)": lambda k: lambda v: v[::-1][:k][::-1],
    r"return the difference between the largest and the smallest number \(0 for none\)": lambda: (
        lambda v: max((a - b for a in v for b in v), default=0)
    ),
    r"return the (largest|smallest) number \((-?\d+) if there is none\)": lambda word, none: (
        lambda v: sorted(v)[-1 if word == "largest" else 0] if v else none
    ),
    r"return the alternating sum: .*": lambda: lambda v: sum(v[0::2]) - sum(v[1::2]),
    r"return the length of the longest stretch of neighbours that strictly increases \(.*\)": (
        lambda: rises
    ),
    r"return the number of neighbouring pairs that differ by at most (\d+)": lambda k: (
        lambda v: sum(-k <= a - b <= k for a, b in pairwise(v))
    ),
    r"return the most frequent number, the (smallest|largest) one in case of a tie \(0 for none\)": (
        lambda tie: lambda v: most_frequent(v, tie == "smallest")
    ),
    r"return the lower median: .*": lambda: lambda v: median_low(v) if v else 0,
    r"return whether every number is greater than (-?\d+) \(.*\)": lambda k: (
        lambda v: min(v, default=k + 1) > k
    ),
    r"return a checksum: start with 0, and for each number multiply by (\d+), add the number and take the non-negative remainder on division by (\d+)": (
        lambda base, m: lambda v: checksum(v, base, m)
    ),
}


def first_of_each(values: list[Any]) -> list[Any]:
    seen: set[Any] = set()
    return [value for value in values if not (value in seen or seen.add(value))]  # type: ignore[func-returns-value]


# --- texts: words and characters (ASCII, as the prompt says)


def lowered(text: str) -> str:
    return "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)


def raised(text: str) -> str:
    return "".join(chr(ord(c) - 32) if "a" <= c <= "z" else c for c in text)


def is_letter(c: str) -> bool:
    return "A" <= c <= "Z" or "a" <= c <= "z"


def shifted(c: str, k: int) -> str:
    for first in "aA":
        if 0 <= ord(c) - ord(first) < 26:
            return chr(ord(first) + (ord(c) - ord(first) + k) % 26)
    return c


def longest(words: list[str], which: str) -> str:
    sizes = [len(word) for word in words]
    tied = [word for word in words if len(word) == max(sizes)]
    return (tied[0] if which == "first" else tied[-1]) if words else ""


def counted(items: Iterable[str], least: int = 1) -> dict[str, int]:
    runs = {item: len(list(run)) for item, run in groupby(sorted(items))}
    return {item: size for item, size in runs.items() if size >= least}


def run_code(text: str, letter_first: bool) -> str:
    runs = [(m[0][0], str(len(m[0]))) for m in re.finditer(r"(.)\1*", text, re.DOTALL)]
    return "".join(c + size if letter_first else size + c for c, size in runs)


JOINS = {"a space": " ", "a comma and a space": ", "}
LETTER = r"the letter (\w) in either case"
WORDS: Table = {
    "split the text into words at white space": lambda: (
        lambda text: [word for word in text.split(" ") if word]
    ),
    r"keep only the words that have at least (\d+) characters": lambda k: kept(
        lambda w: len(w) >= k
    ),
    r"keep only the words that have at most (\d+) characters": lambda k: kept(
        lambda w: len(w) <= k
    ),
    r"keep only the words that have an (odd|even) number of characters": lambda kind: kept(
        lambda w: len(w) % 2 == (kind == "odd")
    ),
    "keep only the words that begin with a vowel": lambda: kept(lambda w: w[0] in VOWELS),
    "keep only the words that do not begin with a vowel": lambda: kept(
        lambda w: w[0] not in VOWELS
    ),
    rf"keep only the words that contain {LETTER}": lambda c: kept(lambda w: c in lowered(w)),
    rf"keep only the words that do not contain {LETTER}": lambda c: kept(
        lambda w: c not in lowered(w)
    ),
    r"keep only the words that (do not )?read the same backwards, ignoring case": lambda no: kept(
        lambda w: (lowered(w) == "".join(reversed(lowered(w)))) != bool(no)
    ),
    "keep only the words that begin with a capital letter": lambda: kept(
        lambda w: "A" <= w[0] <= "Z"
    ),
    "keep only the words that contain the same character twice in a row": lambda: kept(
        lambda w: len([*groupby(w)]) < len(w)
    ),
    "convert each word to lower case": lambda: each(lowered),
    "convert each word to upper case": lambda: each(raised),
    "reverse each word": lambda: each(lambda w: "".join(reversed(w))),
    r"cut each word after (\d+) characters": lambda k: each(lambda w: w[:k]),
    "move the first character of each word to its end": lambda: each(lambda w: w[1:] + w[:1]),
    "remove the vowels from each word and drop the words that become empty": lambda: (
        lambda words: [*filter(None, ("".join(c for c in w if c not in VOWELS) for w in words))]
    ),
    "append to each word its number of characters": lambda: each(lambda w: f"{w}{len(w)}"),
    "make the first character of each word upper case and the others lower case": lambda: each(
        lambda w: raised(w[:1]) + lowered(w[1:])
    ),
    r"put a (.) before and after each word": lambda mark: each(lambda w: mark + w + mark),
    "remove words that occurred before, keeping the first of each": lambda: first_of_each,
    r"sort the words by length, the (shortest|longest) first; .*": lambda which: (
        lambda words: [
            words[i]
            for _, i in sorted(
                (len(w) if which == "shortest" else -len(w), i) for i, w in enumerate(words)
            )
        ]
    ),
    r"sort the words by character code \(.*\)": lambda: (
        lambda words: [bytes(b).decode() for b in sorted(w.encode() for w in words)]
    ),
    "reverse the order of the words": lambda: lambda words: words[::-1],
    r"keep every second word, starting with the (first|second)": lambda which: (
        lambda words: [w for i, w in enumerate(words, 1) if i % 2 == (which == "first")]
    ),
    r"return the words joined by (?:the character )?(.+?) \(the empty string if no word is left\)": (
        lambda mark: lambda words: JOINS.get(mark, mark).join(words)
    ),
    r"return the first (\d+) of the words in a list \(.*\)": lambda k: lambda words: words[:k],
    "return the total number of characters of the words": lambda: lambda w: sum(map(len, w)),
    r"return the longest word, the (first|last) of them in case of a tie \(.*\)": lambda which: (
        lambda words: longest(words, which)
    ),
    r"return the string made of the (first|last) characters of the words \(.*\)": lambda which: (
        lambda words: "".join(w[:1] if which == "first" else w[-1:] for w in words)
    ),
    "return how often each word occurs, with the words as keys": lambda: counted,
    "return the distinct lengths of the words in ascending order": lambda: (
        lambda words: sorted({len(w) for w in words})
    ),
}
CHARACTERS: Table = {
    "keep only the characters that are letters": lambda: lambda t: "".join(filter(is_letter, t)),
    "keep only the characters that are not vowels": lambda: (
        lambda t: "".join(c for c in t if c not in VOWELS)
    ),
    "keep only the characters that are not spaces": lambda: lambda t: t.replace(" ", ""),
    r"keep only the characters that are letters from the \w+ half of the alphabet, (\w) to (\w), in either case": (
        lambda a, b: lambda t: "".join(c for c in t if a <= lowered(c) <= b)
    ),
    r"keep only the characters whose index \(from 0\) leaves the remainder (\d+) on division by (\d+)": (
        lambda r, k: lambda t: t[r::k]
    ),
    "convert the text to lower case": lambda: lowered,
    "swap upper and lower case in every letter": lambda: (
        lambda t: "".join(raised(c) if "a" <= c <= "z" else lowered(c) for c in t)
    ),
    "reverse the text": lambda: lambda t: t[::-1],
    r"shift every letter forward by (\d+) places? in the alphabet, from z back to a, keeping its case": (
        lambda k: lambda t: "".join(shifted(c, k) for c in t)
    ),
    "replace every run of one and the same character by a single one": lambda: (
        lambda t: "".join(c for c, _ in groupby(t))
    ),
    "double every vowel": lambda: lambda t: re.sub("([aeiouAEIOU])", r"\1\1", t),
    r"swap the characters in every pair of neighbours \(.*": lambda: (
        lambda t: "".join(t[i ^ 1] if i ^ 1 < len(t) else t[i] for i in range(len(t)))
    ),
    r"return the first (\d+) characters of the final text \(.*\)": lambda k: lambda t: t[:k],
    r"return how often the letter (\w) occurs in either case": lambda c: (
        lambda t: sum(lowered(x) == c for x in t)
    ),
    "return the number of different characters": lambda: lambda t: len(counted(t)),
    r"return the run-length code: .* \(aab gives (\w+)\)": lambda example: (
        lambda t: run_code(t, example == "a2b1")
    ),
    r"return the length of the longest run of equal characters \(0 for an empty text\)": lambda: (
        lambda t: max((len(m[0]) for m in re.finditer(r"(.)\1*", t)), default=0)
    ),
    r"return whether the final text reads the same backwards \(.*\)": lambda: (
        lambda t: t[: len(t) // 2] == t[::-1][: len(t) // 2]
    ),
    r"return how often each character occurs, leaving out those that occur fewer than (\d+) times": (
        lambda k: lambda t: counted(t, k)
    ),
}

# --- grids, as a map from places to numbers

Grid = list[list[int]]


def moved(grid: Grid, place: Callable[[int, int], tuple[int, int]], turned: bool) -> Grid:
    """The grid in which the number of row r and column c stands at `place(r, c)`."""
    height, width = len(grid), len(grid[0])
    new = [[0] * (height if turned else width) for _ in range(width if turned else height)]
    for r, row in enumerate(grid):
        for c, n in enumerate(row):
            i, j = place(r, c)
            new[i][j] = n
    return new


def cells(change: Callable[[int, int, int], int]) -> Stage:
    return lambda g: [[change(n, r, c) for c, n in enumerate(row)] for r, row in enumerate(g)]


REDUCED: Mapping[str, Callable[[list[int]], int]] = {
    "sum": lambda v: sum(v[::-1]),
    "largest number": lambda v: sorted(v)[-1],
    "smallest number": lambda v: sorted(v)[0],
    "difference between the largest and the smallest number": lambda v: (
        sorted(v)[-1] - sorted(v)[0]
    ),
}
REDUCER = f"({'|'.join(REDUCED)})"


def grid_lines(grid: Grid, kind: str) -> Grid:
    return [list(line) for line in zip(*grid, strict=True)] if kind == "column" else grid


def best_row(grid: Grid, word: str, which: str) -> int:
    sign, tie = (-1 if word == "largest" else 1), (1 if which == "lowest" else -1)
    return min((sign * sum(row), tie * r, r) for r, row in enumerate(grid))[2]


def on_border(grid: Grid, r: int, c: int) -> bool:
    return r in (0, len(grid) - 1) or c in (0, len(grid[0]) - 1)


def border_sum(grid: Grid, wanted: bool) -> int:
    return sum(
        n
        for r, row in enumerate(grid)
        for c, n in enumerate(row)
        if on_border(grid, r, c) == wanted
    )


def outstanding(grid: Grid, sign: int) -> list[int]:
    """The cells that are greater (sign 1) or smaller (-1) than all beside them."""
    wall = float("-inf")
    padded = [[wall] * (len(grid[0]) + 2)]
    padded += [[wall, *(sign * n for n in row), wall] for row in grid]
    padded += [padded[0]]
    return [
        n
        for r, row in enumerate(grid, 1)
        for c, n in enumerate(row, 1)
        if sign * n > max(padded[r - 1][c], padded[r + 1][c], padded[r][c - 1], padded[r][c + 1])
    ]


def regions(grid: Grid, k: int) -> list[int]:
    """The sizes of the regions, by joining sets."""
    of: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for r, row in enumerate(grid):
        for c, n in enumerate(row):
            if n >= k:
                joint = {(r, c)}.union(*(of.get(p, set()) for p in ((r - 1, c), (r, c - 1))))
                of.update(dict.fromkeys(joint, joint))
    return [len(region) for region in {id(region): region for region in of.values()}.values()]


def snake(grid: Grid, even: str) -> list[int]:
    return [
        n
        for r, row in enumerate(grid)
        for n in (row if (r % 2 == 0) == (even == "right") else row[::-1])
    ]


def factor(text: object) -> int:
    return int(str(text).split()[0]) if text else 1


GRIDS: Table = {
    "swap rows and columns": lambda: lambda g: moved(g, lambda r, c: (c, r), True),
    "rotate the grid by 90 degrees clockwise": lambda: (
        lambda g: moved(g, lambda r, c: (c, len(g) - 1 - r), True)
    ),
    "mirror the grid left to right": lambda: (
        lambda g: moved(g, lambda r, c: (r, len(g[0]) - 1 - c), False)
    ),
    "turn the order of the rows around": lambda: (
        lambda g: moved(g, lambda r, c: (len(g) - 1 - r, c), False)
    ),
    r"replace every number above (\d+) by \d+": lambda k: cells(lambda n, r, c: k if n > k else n),
    "replace every negative number by 0": lambda: cells(lambda n, r, c: (n + abs(n)) // 2),
    r"add to every number (\d+ times )?its row number and (\d+ times )?its column number": (
        lambda a, b: cells(lambda n, r, c: n + factor(a) * r + factor(b) * c)
    ),
    r"sort the numbers inside each row in (\w+) order": lambda order: each(
        lambda row: sorted(row, key=lambda n: n if order == "ascending" else -n)
    ),
    "replace each row by its running sums from left to right": lambda: each(sums),
    "remove the first row if there is more than one": lambda: lambda g: g[-max(1, len(g) - 1) :],
    rf"return the list that holds the {REDUCER} of each (row|column), in order": lambda one, kind: (
        lambda g: [REDUCED[one](line) for line in grid_lines(g, kind)]
    ),
    rf"compute the {REDUCER} of each (row|column) and return the {REDUCER} (?:among|of) these results": (
        lambda one, kind, two: (
            lambda g: REDUCED[two]([REDUCED[one](line) for line in grid_lines(g, kind)])
        )
    ),
    r"return the index of the row with the (\w+) sum, the (\w+) index in case of a tie": (
        lambda word, which: lambda g: best_row(g, word, which)
    ),
    r"return the sum of the cells that (do not lie|lie) on the border \(.*\)": lambda how: (
        lambda g: border_sum(g, how == "lie")
    ),
    r"return the sum of the cells whose row number plus column number leaves the remainder (\d) on division by (\d)": (
        lambda m, k: lambda g: sum(n for r, row in enumerate(g) for n in row[(m - r) % k :: k])
    ),
    r"return the cells of the diagonal .*": lambda: (
        lambda g: [row[i] for row, i in zip(g, range(len(g[0])), strict=False)]
    ),
    r"return the (number|sum) of the cells that are (greater|smaller) than each of their neighbours \(.*\)": (
        lambda what, word: (
            lambda g: (len if what == "number" else sum)(
                outstanding(g, 1 if word == "greater" else -1)
            )
        )
    ),
    r"look at the cells of at least (\d+), .* and return the number of regions": lambda k: (
        lambda g: len(regions(g, k))
    ),
    r"look at the cells of at least (\d+), .* and return the number of cells in the largest region \(.*\)": (
        lambda k: lambda g: max(regions(g, k), default=0)
    ),
    r"return the grid in which every number is replaced by (\d+) times the number": lambda k: cells(
        lambda n, r, c: k * n
    ),
    r"return all numbers in one list, read row by row, going (\w+) in even rows .*": lambda even: (
        lambda g: snake(g, even)
    ),
}

# --- records

Pairs = list[tuple[str, int]]
COMPARE: Mapping[str, Callable[[int, int], bool]] = {
    "at least": lambda n, k: n >= k,
    "less than": lambda n, k: n < k,
    "more than": lambda n, k: n > k,
}


def group(
    pairs: Pairs, key: Callable[[str], str], value: Callable[[list[int]], int]
) -> dict[str, int]:
    found: dict[str, list[int]] = {}
    for name, amount in pairs:
        found[key(name)] = [*found.get(key(name), []), amount]
    return {name: value(amounts) for name, amounts in found.items()}


def key_of(words: str) -> Callable[[str], str]:
    if words.startswith("first letter of"):
        return lambda name: name[:1].lower()
    if words.endswith("without regard to case (in lower case)"):
        return str.lower
    if words.startswith("number of characters"):
        return lambda name: str(sum(1 for _ in name))
    return str


VALUES: Mapping[str, Callable[[list[int]], int]] = {
    "the sum of its amounts": lambda v: sum(sorted(v)),
    "the number of its pairs": len,
    "its largest amount": max,
    "its smallest amount": min,
    "the mean of its amounts, rounded down (towards minus infinity)": lambda v: floor(
        Fraction(sum(v), len(v))
    ),
    "the difference between its largest and smallest amount": lambda v: max(v) - min(v),
    "its first amount in the given order": lambda v: v[0],
    "its last amount in the given order": lambda v: v[-1],
    "the number of different amounts in it": lambda v: len(first_of_each(v)),
}
Order = Callable[[str], Any]  # a key by which the language's `<` orders strings
MARKS = {"semicolons": ";", "commas": ",", "spaces": " "}


def records(order: Order) -> Table:
    """The stages of records, with names in the order of the language."""

    def ranked(totals: dict[str, int], sign: int) -> list[str]:
        def compare(a: str, b: str) -> int:
            if totals[a] != totals[b]:
                return sign * (totals[a] - totals[b])
            return (order(a) > order(b)) - (order(a) < order(b))

        return sorted(totals, key=cmp_to_key(compare))

    return {
        r"keep only the pairs whose .+? is (at least|less than|more than) (\d+)": lambda how, k: (
            kept(lambda pair: COMPARE[how](pair[1], k))
        ),
        r"keep only the pairs whose .+? is (odd|even)": lambda kind: kept(
            lambda pair: (digits(pair[1])[-1] % 2 == 1) == (kind == "odd")
        ),
        r"keep only the pairs whose .+? has more than (\d+) characters": lambda k: kept(
            lambda pair: len(pair[0]) > k
        ),
        "remove exact repetitions of a pair, keeping the first": lambda: first_of_each,
        r"leave out the first (?:pair|(\d+) pairs)": lambda k: lambda pairs: pairs[(k or 1) :],
        r"group the pairs by the (.+) and compute for each group (.+)": lambda key, value: (
            lambda pairs: group(pairs, key_of(key), VALUES[value])
        ),
        r"drop the groups whose result is below (\d+)": lambda k: (
            lambda totals: {name: n for name, n in totals.items() if n >= k}
        ),
        "drop the groups whose result is below the mean of all results": lambda: (
            lambda totals: {
                name: n
                for name, n in totals.items()
                if n >= Fraction(sum(totals.values()), len(totals))
            }
        ),
        "drop the groups whose result is odd": lambda: (
            lambda totals: {name: n for name, n in totals.items() if n % 2 == 0}
        ),
        r"drop the groups whose result is the largest of all \(.*\)": lambda: (
            lambda totals: {name: n for name, n in totals.items() if n != max(totals.values())}
        ),
        "return the results with the groups as keys": lambda: dict,
        "return the names of the groups in ascending order of character codes": lambda: (
            lambda totals: sorted(totals, key=order)
        ),
        r"return the names of the (\d) groups with the (\w+) results .*": lambda k, word: (
            lambda totals: ranked(totals, -1 if word == "largest" else 1)[:k]
        ),
        r"return the name of the group with the largest result, .* \((.+) if there is no group\)": (
            lambda none: (
                lambda totals: (
                    ranked(totals, -1)[0]
                    if totals
                    else ""
                    if none == "the empty string"
                    else none.removeprefix("the string ")
                )
            )
        ),
        r"return the sum of all results \(0 if there is no group\)": lambda: (
            lambda totals: sum(totals.values())
        ),
        r"return how many groups have a result of at least (\d+)": lambda k: (
            lambda totals: len([n for n in totals.values() if n >= k])
        ),
        r"return the results alone, in (\w+) order": lambda word: (
            lambda totals: sorted(totals.values(), reverse=word == "descending")
        ),
        r"return one string with an item such as x(\S+)3 for each group, .* joined by (\w+)": (
            lambda mark, gap: (
                lambda totals: MARKS[gap].join(
                    f"{name}{mark}{totals[name]}" for name in sorted(totals, key=order)
                )
            )
        ),
    }


# --- intervals: by the stretches between neighbouring ends

Spans = list[list[int]]


def cover(spans: Spans) -> list[tuple[int, int, int]]:
    """Stretches between neighbouring ends: (from, to, how many intervals cover it)."""
    ends = sorted({end for span in spans for end in span})
    return [(a, b, sum(s <= a and b <= e for s, e in spans)) for a, b in pairwise(ends)]


def joined(stretches: Iterable[tuple[int, int]]) -> Spans:
    found: Spans = []
    for a, b in stretches:
        if found and found[-1][1] == a:
            found[-1][1] = b
        else:
            found.append([a, b])
    return found


def merged(spans: Spans, slack: int) -> Spans:
    """Joining any two that are near, again and again."""
    rest = [list(span) for span in spans]
    for _ in spans:
        for one in rest:
            near = [two for two in rest if two[0] <= one[1] + slack and one[0] <= two[1] + slack]
            if len(near) > 1:
                rest = [two for two in rest if two not in near]
                rest.append([min(s for s, _ in near), max(e for _, e in near)])
                break
    return sorted(rest)


def in_turn(spans: Spans) -> Spans:
    found: Spans = []
    for s, e in spans:
        if not [1 for a, b in found if max(a, s) < min(b, e)]:
            found.append([s, e])
    return found


def free_time(spans: Spans, k: int) -> int:
    times = sorted({0, *(e for _, e in spans if e > 0)})
    return next(t for t in times if not any(max(s, t) < min(e, t + k) for s, e in spans))


def busiest(spans: Spans) -> int:
    return min(((-n, a) for a, _, n in cover(spans)), default=(0, -1))[1]


def most_apart(spans: Spans) -> int:
    """The most that go together, by the latest starts first."""
    count, limit = 0, float("inf")
    for s, e in sorted(spans, key=lambda span: -span[0]):
        if e <= limit:
            count, limit = count + 1, s
    return count


def clash(one: list[int], two: list[int]) -> bool:
    return max(one[0], two[0]) < min(one[1], two[1])


INTERVALS: Table = {
    r"keep only the intervals that last at least (\d+)": lambda k: kept(lambda s: s[1] - s[0] >= k),
    r"keep only the intervals that last less than (\d+)": lambda k: kept(lambda s: s[1] - s[0] < k),
    r"keep only the intervals that start at (\d+) or later": lambda k: kept(lambda s: s[0] >= k),
    r"keep only the intervals that lie completely between (\d+) and (\d+) \(.*\)": lambda a, b: (
        kept(lambda s: a <= s[0] and s[1] <= b)
    ),
    r"keep only the intervals that have something in common with the interval from (\d+) to (\d+) \(.*\)": (
        lambda a, b: kept(lambda s: clash(s, [a, b]))
    ),
    r"let every interval end (\d+) later": lambda k: each(lambda s: [s[0], s[1] + k]),
    r"let every interval start (\d+) earlier and end \d+ later": lambda k: each(
        lambda s: [s[0] - k, s[1] + k]
    ),
    r"cut off what lies before (\d+) or after (\d+), .*": lambda a, b: (
        lambda spans: [[max(s, a), min(e, b)] for s, e in spans if clash([s, e], [a, b])]
    ),
    r"replace every interval by one with the same start that is at most (\d+) long": lambda k: each(
        lambda s: [s[0], s[0] + min(k, s[1] - s[0])]
    ),
    r"merge intervals that overlap or (?:touch|are at most (\d) apart) into one, .*": lambda k: (
        lambda spans: merged(spans, k or 0)
    ),
    r"replace the list by the gaps, .*": lambda: (
        lambda spans: joined((a, b) for a, b, n in cover(spans) if n == 0)
    ),
    "drop each interval that lies completely inside another one that is longer": lambda: (
        lambda spans: [
            s for s in spans if not any(a <= s[0] and s[1] <= b and [a, b] != s for a, b in spans)
        ]
    ),
    r"go through the list in the given order and drop each interval .*": lambda: in_turn,
    r"return how much the intervals cover together, .*": lambda: (
        lambda spans: sum(b - a for a, b, n in cover(spans) if n)
    ),
    "return the sum of the lengths of the intervals": lambda: (
        lambda spans: sum((b - a) * n for a, b, n in cover(spans))
    ),
    r"return the smallest time t, .* from t up to t \+ (\d+)": lambda k: (
        lambda spans: free_time(spans, k)
    ),
    "return the intervals, ordered by start and, for equal starts, by end": lambda: (
        lambda spans: [list(t) for t in sorted(map(tuple, spans))]
    ),
    "return the largest number of intervals that cover the same point": lambda: (
        lambda spans: max((n for _, _, n in cover(spans)), default=0)
    ),
    r"return the total length of what is covered by more than (\d|one) intervals?": lambda k: (
        lambda spans: sum(b - a for a, b, n in cover(spans) if n > (1 if k == "one" else k))
    ),
    r"return the smallest integer t that is covered by as many intervals as any other \(.*\)": (
        lambda: busiest
    ),
    "return the largest number of intervals that can be chosen such that no two overlap": (
        lambda: most_apart
    ),
    "return how many pairs of intervals overlap": lambda: (
        lambda spans: sum(clash(a, b) for i, a in enumerate(spans) for b in spans[i + 1 :])
    ),
    "return how many intervals overlap with no other one": lambda: (
        lambda spans: sum(sum(clash(a, b) for b in spans) == 1 for a in spans)
    ),
}
