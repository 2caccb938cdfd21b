"""Texts: sequences of words, and sequences of characters."""

from __future__ import annotations

from collections.abc import Callable

from .code import CodingTask, Step, task_of_steps, told_in_order
from .draw import Draw

WORDS = (
    *("apple", "river", "Stone", "level", "window", "Banana", "kayak", "sun", "Orange", "tree"),
    *("noon", "Paper", "cloud", "radar", "It", "a", "sea", "Engine", "otter", "bee", "OK", "yes"),
    *("Anna", "moon", "grass", "eve", "Ink", "zebra", "queue", "up", "door", "idea"),
)
STORIES = (
    ("A chat tool cleans up what people type.", "message"),
    ("A newspaper prepares its headlines.", "headline"),
    ("A search box normalizes what it is given.", "query"),
    ("A label printer has room for one line.", "label"),
    ("A word game looks at one line at a time.", "line"),
    ("A spelling tool inspects short notes.", "note"),
    ("", "text"),
    ("", "sentence"),
)
VERBS = ("clean", "encode", "inspect", "transform", "rewrite", "scan", "shorten", "measure")
VOWELS = "aeiou"
NO_VOWELS = {ord(vowel): None for vowel in "aeiouAEIOU"}
PLAN_WORDS = ("To begin with", "Then", "Next", "After that", "Then")


def make(draw: Draw, level: int) -> CodingTask:
    """A pipeline over the words or the characters of a text."""
    story, name = draw.pick(STORIES)
    stages, (final, returns) = draw.pick((word_pipeline, character_pipeline))(draw, level)
    stages = [*stages, final]

    def fresh() -> tuple[str]:
        words = [draw.pick(WORDS) for _ in range(draw.between(3, 7))]
        if draw.chance(0.5):
            words.insert(draw.below(len(words)), draw.pick(words))
        if draw.chance(0.3):
            words.append(str(draw.between(1, 2500)))
        return (" ".join(words),)

    return task_of_steps(
        draw,
        stages,
        name=f"{draw.pick(VERBS)}_{name}",
        param=(name, "text"),
        returns=returns,
        story=story,
        rules=rules_for(draw, name, any("vowel" in step.say for step in stages)),
        plan=(
            *told_in_order(stages, PLAN_WORDS, "At the end"),
            "Every stage is a single pass over the text.",
        ),
        edges=EDGES,
        fresh=fresh,
    )


def rules_for(draw: Draw, name: str, vowels: bool) -> tuple[str, ...]:
    case = draw.pick(
        (
            "Case matters unless a step says otherwise.",
            "Upper and lower case letters differ unless a step says otherwise.",
        )
    )
    empty = draw.pick(
        (
            f"`{name}` may be the empty string; all its characters are printable ASCII.",
            f"An empty `{name}` must not lead to an error. Only printable ASCII characters occur.",
        )
    )
    letters = draw.pick(
        (
            "The vowels are a, e, i, o and u, in either case.",
            "Treat a, e, i, o, u (and A, E, I, O, U) as vowels.",
        )
    )
    return tuple(draw.shuffled((empty, letters, case) if vowels else (empty, case)))


Final = tuple[Step, str]
EDGES = (("",), ("a",), ("Otter",), ("aa bb aa",), ("level Level LEVEL",), ("x1 y22 z333",))


def word_pipeline(draw: Draw, level: int) -> tuple[list[Step], Final]:
    split = Step(
        "split the text into words at white space",
        "IT.split()",
        r"IT.split(/\s+/).filter((word) => word !== '')",
        str.split,
        "words",
    )
    middle = [
        draw.pick(WORD_FILTERS)(draw),
        draw.pick(WORD_CHANGES)(draw),
        draw.pick(WORD_ORDERS)(draw),
    ]
    chosen = (
        [middle[draw.below(2)]]
        if level == 1
        else draw.some(middle[:2], 2)
        if level == 2
        else middle
    )
    return [split, *chosen], draw.pick(WORD_ENDS)(draw)


def character_pipeline(draw: Draw, level: int) -> tuple[list[Step], Final]:
    keep, change = draw.pick(CHAR_FILTERS)(draw), draw.pick(CHAR_CHANGES)(draw)
    chosen = [draw.pick((keep, change))] if level == 1 else draw.some((keep, change), 2)
    if level == 3:
        again = draw.pick(CHAR_CHANGES)(draw)
        chosen += [again] if again.out != change.out else []
    return chosen, draw.pick(CHAR_ENDS)(draw)


# --- words


def keep_words(say: str, python: str, javascript: str, test: Callable[[str], bool]) -> Step:
    return Step(
        f"keep only the words that {say}",
        f"[word for word in IT if {python}]",
        f"IT.filter((word) => {javascript})",
        lambda words: [word for word in words if test(word)],
        "kept",
    )


def by_length(draw: Draw) -> Step:
    k, more = draw.between(3, 5), draw.chance(0.5)
    if more:
        return keep_words(
            f"have at least {k} characters",
            f"len(word) >= {k}",
            f"word.length >= {k}",
            lambda w: bool(w[k - 1 :]),
        )
    return keep_words(
        f"have at most {k} characters",
        f"len(word) <= {k}",
        f"word.length <= {k}",
        lambda w: not w[k:],
    )


def by_even_length(draw: Draw) -> Step:
    r = draw.below(2)
    what = "odd" if r else "even"
    return keep_words(
        f"have an {what} number of characters",
        f"len(word) % 2 == {r}",
        f"word.length % 2 === {r}",
        lambda w: len(w) & 1 == r,
    )


def by_first_vowel(draw: Draw) -> Step:
    if draw.chance(0.5):
        return keep_words(
            "begin with a vowel",
            f'word[0].lower() in "{VOWELS}"',
            f"'{VOWELS}'.includes(word[0].toLowerCase())",
            lambda w: w[0] in "aeiouAEIOU",
        )
    return keep_words(
        "do not begin with a vowel",
        f'word[0].lower() not in "{VOWELS}"',
        f"!'{VOWELS}'.includes(word[0].toLowerCase())",
        lambda w: w[0] not in "aeiouAEIOU",
    )


def by_letter(draw: Draw) -> Step:
    letter, has = draw.pick("aeonr"), draw.chance(0.6)
    if has:
        return keep_words(
            f"contain the letter {letter} in either case",
            f'"{letter}" in word.lower()',
            f"word.toLowerCase().includes('{letter}')",
            lambda w: letter in w or letter.upper() in w,
        )
    return keep_words(
        f"do not contain the letter {letter} in either case",
        f'"{letter}" not in word.lower()',
        f"!word.toLowerCase().includes('{letter}')",
        lambda w: not (letter in w or letter.upper() in w),
    )


def by_mirror(draw: Draw) -> Step:
    keeps = draw.chance(0.5)
    return keep_words(
        f"{'read' if keeps else 'do not read'} the same backwards, ignoring case",
        f"word.lower() {'==' if keeps else '!='} word.lower()[::-1]",
        f"word.toLowerCase() {'===' if keeps else '!=='} [...word.toLowerCase()].reverse().join('')",
        lambda w: all(a.lower() == b.lower() for a, b in zip(w, reversed(w), strict=True)) == keeps,
    )


def by_capital(draw: Draw) -> Step:
    return keep_words(
        "begin with a capital letter",
        "word[0].isupper()",
        "/^[A-Z]/.test(word)",
        lambda w: "A" <= w[0] <= "Z",
    )


def by_double(draw: Draw) -> Step:
    return keep_words(
        "contain the same character twice in a row",
        "any(a == b for a, b in zip(word, word[1:]))",
        r"/(.)\1/.test(word)",
        lambda w: any(c * 2 in w for c in w),
    )


WORD_FILTERS = (
    by_length,
    by_even_length,
    by_first_vowel,
    by_letter,
    by_mirror,
    by_capital,
    by_double,
)


def change_words(
    say: str, python: str, javascript: str, change: Callable[[str], str], out: str = "changed"
) -> Step:
    return Step(
        say,
        f"[{python} for word in IT]",
        f"IT.map((word) => {javascript})",
        lambda words: [change(word) for word in words],
        out,
    )


def lower(draw: Draw) -> Step:
    return change_words(
        "convert each word to lower case",
        "word.lower()",
        "word.toLowerCase()",
        str.casefold,
        "lowered",
    )


def upper(draw: Draw) -> Step:
    return change_words(
        "convert each word to upper case",
        "word.upper()",
        "word.toUpperCase()",
        lambda w: w.lower().swapcase(),
        "raised",
    )


def flip(draw: Draw) -> Step:
    return change_words(
        "reverse each word",
        "word[::-1]",
        "[...word].reverse().join('')",
        lambda w: "".join(reversed(w)),
        "flipped",
    )


def cut(draw: Draw) -> Step:
    k = draw.between(2, 4)
    return change_words(
        f"cut each word after {k} characters",
        f"word[:{k}]",
        f"word.slice(0, {k})",
        lambda w: "".join(c for i, c in enumerate(w) if i < k),
        "cut",
    )


def initial_last(draw: Draw) -> Step:
    return change_words(
        "move the first character of each word to its end",
        "word[1:] + word[0]",
        "word.slice(1) + word[0]",
        lambda w: (w + w)[1 : 1 + len(w)],
        "moved",
    )


def without_vowels(draw: Draw) -> Step:
    return Step(
        "remove the vowels from each word and drop the words that become empty",
        "[rest for word in IT if (rest := strip_vowels(word))]",
        "IT.map((word) => word.replace(/[aeiou]/gi, '')).filter((word) => word !== '')",
        lambda words: [w for w in (w.translate(NO_VOWELS) for w in words) if w],
        "bare",
        head_python=f'def strip_vowels(word: str) -> str:\n    return "".join(c for c in word if c.lower() not in "{VOWELS}")',
    )


def with_length(draw: Draw) -> Step:
    return change_words(
        "append to each word its number of characters",
        "word + str(len(word))",
        "word + word.length",
        lambda w: f"{w}{len(w)}",
        "tagged",
    )


def capitalized(draw: Draw) -> Step:
    return change_words(
        "make the first character of each word upper case and the others lower case",
        "word[:1].upper() + word[1:].lower()",
        "word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase()",
        str.capitalize,
        "titled",
    )


def stutter(draw: Draw) -> Step:
    mark = draw.pick("-*_")
    return change_words(
        f"put a {mark} before and after each word",
        f'f"{mark}{{word}}{mark}"',
        f"`{mark}${{word}}{mark}`",
        lambda w: w.join((mark, mark)),
        "framed",
    )


WORD_CHANGES = (
    lower,
    upper,
    flip,
    cut,
    initial_last,
    without_vowels,
    with_length,
    capitalized,
    stutter,
)


def first_only(draw: Draw) -> Step:
    return Step(
        "remove words that occurred before, keeping the first of each",
        "list(dict.fromkeys(IT))",
        "[...new Set(IT)]",
        lambda words: [w for i, w in enumerate(words) if w not in words[:i]],
        "unique",
    )


def by_size(draw: Draw) -> Step:
    up = draw.chance(0.5)
    return Step(
        f"sort the words by length, the {'shortest' if up else 'longest'} first; words of equal length keep their order",
        f"sorted(IT, key={'len' if up else 'lambda word: -len(word)'})",
        f"IT.slice().sort((a, b) => {'a.length - b.length' if up else 'b.length - a.length'})",
        lambda words: [
            w for size in (range(99) if up else range(99, -1, -1)) for w in words if len(w) == size
        ],
        "ordered",
    )


def alphabetical(draw: Draw) -> Step:
    return Step(
        "sort the words by character code (capital letters before small ones)",
        "sorted(IT)",
        "IT.slice().sort()",
        lambda words: sorted(words, key=lambda w: [ord(c) for c in w]),
        "ordered",
    )


def reversed_order(draw: Draw) -> Step:
    return Step(
        "reverse the order of the words",
        "IT[::-1]",
        "IT.slice().reverse()",
        lambda words: list(reversed(words)),
        "backwards",
    )


def every_second(draw: Draw) -> Step:
    r = draw.below(2)
    return Step(
        f"keep every second word, starting with the {'second' if r else 'first'}",
        f"IT[{r}::2]",
        f"IT.filter((_, i) => i % 2 === {r})",
        lambda words: [w for i, w in enumerate(words) if i & 1 == r],
        "alternate",
    )


WORD_ORDERS = (first_only, by_size, alphabetical, reversed_order, every_second)


def join_words(draw: Draw) -> Final:
    mark = draw.pick((" ", "-", ", ", "/", "_", "+"))
    said = {" ": "a space", ", ": "a comma and a space"}.get(mark, f"the character {mark}")
    return Step(
        f"return the words joined by {said} (the empty string if no word is left)",
        f'"{mark}".join(IT)',
        f"IT.join('{mark}')",
        lambda words: mark.join(words),
    ), "text"


def list_words(draw: Draw) -> Final:
    k = draw.between(3, 5)
    return Step(
        f"return the first {k} of the words in a list (all of them if there are fewer)",
        f"IT[:{k}]",
        f"IT.slice(0, {k})",
        lambda words: [w for _, w in zip(range(k), words, strict=False)],
    ), "words"


def total_length(draw: Draw) -> Final:
    return Step(
        "return the total number of characters of the words",
        "sum(len(word) for word in IT)",
        "IT.reduce((total, word) => total + word.length, 0)",
        lambda words: len("".join(words)),
    ), "int"


def longest(draw: Draw) -> Final:
    first = draw.chance(0.5)

    def apply(words: list[str]) -> str:
        best = ""
        for word in words if first else reversed(words):
            best = word if len(word) > len(best) else best
        return best

    python = 'max(IT, key=len, default="")' if first else 'max(reversed(IT), key=len, default="")'
    javascript = f"IT.reduce((best, word) => (word.length {'>' if first else '>='} best.length ? word : best), '')"
    return Step(
        f"return the longest word, the {'first' if first else 'last'} of them in case of a tie (the empty string for none)",
        python,
        javascript,
        apply,
    ), "text"


def initials(draw: Draw) -> Final:
    which = draw.pick(("first", "last"))
    index = "[:1]" if which == "first" else "[-1:]"
    code = "slice(0, 1)" if which == "first" else "slice(-1)"
    return Step(
        f"return the string made of the {which} characters of the words (an empty word adds nothing)",
        f'"".join(word{index} for word in IT)',
        f"IT.map((word) => word.{code}).join('')",
        lambda words: "".join(w[0 if which == "first" else -1] for w in words if w),
    ), "text"


def word_counts(draw: Draw) -> Final:
    return (
        Step(
            "return how often each word occurs, with the words as keys",
            "OUT = {}\nfor word in IT:\n    OUT[word] = OUT.get(word, 0) + 1",
            "const counts = new Map();\nfor (const word of IT) counts.set(word, (counts.get(word) || 0) + 1);\nconst OUT = Object.fromEntries(counts);",
            lambda words: {w: words.count(w) for w in words},
            "frequencies",
        ),
        "totals",
    )


def distinct_lengths(draw: Draw) -> Final:
    return Step(
        "return the distinct lengths of the words in ascending order",
        "sorted({len(word) for word in IT})",
        "[...new Set(IT.map((word) => word.length))].sort((a, b) => a - b)",
        lambda words: [k for k in range(99) if k in [len(w) for w in words]],
    ), "ints"


WORD_ENDS = (
    join_words,
    join_words,
    list_words,
    total_length,
    longest,
    initials,
    word_counts,
    distinct_lengths,
)

# --- characters


def keep_chars(say: str, python: str, javascript: str, test: Callable[[str], bool]) -> Step:
    return Step(
        f"keep only the characters that are {say}",
        f'"".join(c for c in IT if {python})',
        f"[...IT].filter((c) => {javascript}).join('')",
        lambda text: "".join(filter(test, text)),
        "kept",
    )


def letters(draw: Draw) -> Step:
    return keep_chars(
        "letters",
        "c.isalpha()",
        "/[a-zA-Z]/.test(c)",
        lambda c: c.lower() in "abcdefghijklmnopqrstuvwxyz",
    )


def no_vowels(draw: Draw) -> Step:
    return keep_chars(
        "not vowels",
        f'c.lower() not in "{VOWELS}"',
        f"!'{VOWELS}'.includes(c.toLowerCase())",
        lambda c: c not in "aeiouAEIOU",
    )


def no_spaces(draw: Draw) -> Step:
    return keep_chars("not spaces", 'c != " "', "c !== ' '", lambda c: ord(c) != 32)


def half(draw: Draw) -> Step:
    low = draw.chance(0.5)
    return keep_chars(
        f"letters from the {'first' if low else 'second'} half of the alphabet, {'a to m' if low else 'n to z'}, in either case",
        f'"{"a" if low else "n"}" <= c.lower() <= "{"m" if low else "z"}"',
        f"/[{'a-m' if low else 'n-z'}]/i.test(c)",
        lambda c: c.lower() in ("abcdefghijklm" if low else "nopqrstuvwxyz"),
    )


def even_places(draw: Draw) -> Step:
    k = draw.between(2, 3)
    r = draw.below(k)
    return Step(
        f"keep only the characters whose index (from 0) leaves the remainder {r} on division by {k}",
        f"IT[{r}::{k}]",
        f"[...IT].filter((_, i) => i % {k} === {r}).join('')",
        lambda text: "".join(c for i, c in enumerate(text) if (i - r) % k == 0),
        "picked",
    )


CHAR_FILTERS = (letters, no_vowels, no_spaces, half, even_places)


def text_lower(draw: Draw) -> Step:
    return Step(
        "convert the text to lower case", "IT.lower()", "IT.toLowerCase()", str.casefold, "lowered"
    )


def text_swap(draw: Draw) -> Step:
    return Step(
        "swap upper and lower case in every letter",
        "IT.swapcase()",
        "[...IT].map((c) => (c === c.toUpperCase() ? c.toLowerCase() : c.toUpperCase())).join('')",
        lambda text: "".join(c.lower() if c.isupper() else c.upper() for c in text),
        "swapped",
    )


def text_flip(draw: Draw) -> Step:
    return Step(
        "reverse the text",
        "IT[::-1]",
        "[...IT].reverse().join('')",
        lambda text: "".join(reversed(text)),
        "flipped",
    )


def shift(draw: Draw) -> Step:
    k = draw.between(1, 25)
    alphabet = "abcdefghijklmnopqrstuvwxyz"

    def apply(text: str) -> str:
        turned = alphabet[k:] + alphabet[:k]
        return text.translate(str.maketrans(alphabet + alphabet.upper(), turned + turned.upper()))

    python = (
        f"def shift(c: str) -> str:\n    if not c.isalpha():\n        return c\n"
        f'    base = ord("a") if c.islower() else ord("A")\n    return chr((ord(c) - base + {k}) % 26 + base)'
    )
    javascript = (
        "function shift(c) {\n  if (!/[a-zA-Z]/.test(c)) return c;\n  const base = c >= 'a' ? 97 : 65;\n"
        f"  return String.fromCharCode(((c.charCodeAt(0) - base + {k}) % 26) + base);\n}}"
    )
    places = "place" if k == 1 else "places"
    return Step(
        f"shift every letter forward by {k} {places} in the alphabet, from z back to a, keeping its case",
        '"".join(shift(c) for c in IT)',
        "[...IT].map(shift).join('')",
        apply,
        "shifted",
        head_python=python,
        head_javascript=javascript,
    )


def squeeze(draw: Draw) -> Step:
    return Step(
        "replace every run of one and the same character by a single one",
        '"".join(c for i, c in enumerate(IT) if i == 0 or c != IT[i - 1])',
        r"IT.replace(/(.)\1+/g, '$1')",
        squeezed,
        "squeezed",
    )


def squeezed(text: str) -> str:
    for c in sorted(set(text)):
        while c * 2 in text:
            text = text.replace(c * 2, c)
    return text


def double_vowels(draw: Draw) -> Step:
    return Step(
        "double every vowel",
        f'"".join(c * 2 if c.lower() in "{VOWELS}" else c for c in IT)',
        "IT.replace(/[aeiou]/gi, (c) => c + c)",
        lambda text: "".join((c, c + c)["aeiouAEIOU".find(c) >= 0] for c in text),
        "doubled",
    )


def swap_pairs(draw: Draw) -> Step:
    return Step(
        "swap the characters in every pair of neighbours (1st and 2nd, 3rd and 4th, ...); a last single one stays",
        '"".join(IT[i : i + 2][::-1] for i in range(0, len(IT), 2))',
        "IT.replace(/(.)(.)/g, '$2$1')",
        lambda text: (
            "".join(b + a for a, b in zip(text[::2], text[1::2], strict=False))
            + (text[-1] if len(text) % 2 else "")
        ),
        "paired",
    )


CHAR_CHANGES = (text_lower, text_swap, text_flip, shift, squeeze, double_vowels, swap_pairs)


def as_text(draw: Draw) -> Final:
    k = draw.between(8, 20)
    return Step(
        f"return the first {k} characters of the final text (all of it if it is shorter)",
        f"IT[:{k}]",
        f"IT.slice(0, {k})",
        lambda text: "".join(c for c, _ in zip(text, range(k), strict=False)),
    ), "text"


def count_of(draw: Draw) -> Final:
    c = draw.pick("aeonrt")
    return Step(
        f"return how often the letter {c} occurs in either case",
        f'IT.lower().count("{c}")',
        f"IT.toLowerCase().split('{c}').length - 1",
        lambda text: len([x for x in text if x in (c, c.upper())]),
    ), "int"


def distinct_chars(draw: Draw) -> Final:
    return Step(
        "return the number of different characters",
        "len(set(IT))",
        "new Set(IT).size",
        lambda text: sum(1 for i, c in enumerate(text) if c not in text[:i]),
    ), "int"


def run_lengths(draw: Draw) -> Final:
    letter_first = draw.chance(0.5)

    def apply(text: str) -> str:
        parts: list[str] = []
        start = 0
        for i in range(1, len(text) + 1):
            if i == len(text) or text[i] != text[start]:
                parts.append(
                    f"{text[start]}{i - start}" if letter_first else f"{i - start}{text[start]}"
                )
                start = i
        return "".join(parts)

    pair = "{c}{len(list(run))}" if letter_first else "{len(list(run))}{c}"
    js_pair = "run[0] + run.length" if letter_first else "run.length + run[0]"
    order = (
        "the character, then the length of the run"
        if letter_first
        else "the length of the run, then the character"
    )
    example = "a2b1" if letter_first else "2a1b"
    return (
        Step(
            f"return the run-length code: for each run of equal characters {order} (aab gives {example})",
            f'"".join(f"{pair}" for c, run in groupby(IT))',
            rf"(IT.match(/(.)\1*/g) || []).map((run) => {js_pair}).join('')",
            apply,
            head_python="from itertools import groupby",
        ),
        "text",
    )


def longest_run(draw: Draw) -> Final:
    return (
        Step(
            "return the length of the longest run of equal characters (0 for an empty text)",
            "max((len(list(run)) for _, run in groupby(IT)), default=0)",
            r"Math.max(0, ...(IT.match(/(.)\1*/g) || []).map((run) => run.length))",
            lambda text: next(
                (k for k in range(len(text), 0, -1) if any(c * k in text for c in text)), 0
            ),
            head_python="from itertools import groupby",
        ),
        "int",
    )


def mirrored(draw: Draw) -> Final:
    return Step(
        "return whether the final text reads the same backwards (true for the empty text)",
        "IT == IT[::-1]",
        "IT === [...IT].reverse().join('')",
        lambda text: all(text[i] == text[-1 - i] for i in range(len(text))),
    ), "flag"


def letter_counts(draw: Draw) -> Final:
    k = draw.between(1, 2)
    return (
        Step(
            f"return how often each character occurs, leaving out those that occur fewer than {k + 1} times",
            f"counts = Counter(IT)\nOUT = {{c: k for c, k in counts.items() if k > {k}}}",
            f"const counts = {{}};\nfor (const c of IT) counts[c] = (counts[c] || 0) + 1;\nconst OUT = Object.fromEntries(Object.entries(counts).filter(([, k]) => k > {k}));",
            lambda text: {c: text.count(c) for c in text if text.count(c) > k},
            "frequent",
            head_python="from collections import Counter",
        ),
        "totals",
    )


CHAR_ENDS = (
    as_text,
    as_text,
    count_of,
    distinct_chars,
    run_lengths,
    longest_run,
    mirrored,
    letter_counts,
)
