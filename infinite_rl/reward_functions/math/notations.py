"""Sentences, and notations of more than one token, as the spellings that the parser reads.

    >>> spelled_out("The mean is 6, the variance is 4.2")
    '\\\\text{mean} = 6, \\\\text{variance} = 4.2'
    >>> spelled_out("101 base 2"), spelled_out("{}_5C_2")
    ('101_{2}', '(\\\\binom{5}{2})')

Each notation is a row of `_NOTATIONS`, and its pattern a table of `notations.txt`.
"""

import re
from collections.abc import Callable
from itertools import permutations

from ...parsing.number_words import CARDINALS, number_in_words
from ...parsing.word_tables import WordTables
from .tokens import DENIALS, FUNCTIONS, GREEK
from .units import SINGLE_LETTERS, is_unit

_TABLES = WordTables(__file__)
_LEAD, _EXCEPT, _OPENING = map(_TABLES.pattern, ("lead", "except", "opening"))
_PART, _AGAIN, _SENTENCE = map(_TABLES.pattern, ("part", "again", "sentence"))
_VALUE_OF, _TEXT_GROUP = map(_TABLES.pattern, ("value of", "text group"))
_TEXT_BEFORE = _TABLES.pattern("text before")
_SEPARATOR, _LABELLED, _PLACE = map(_TABLES.pattern, ("separator", "labelled", "place"))
_ALIGNED, _ALIGNED_BREAK = map(_TABLES.pattern, ("aligned", "aligned break"))
_CURRENCY_FIRST = _TABLES.pattern("currency first")
_SIGN_OF = _TABLES.mapping("currency signs")
_RELATION = re.compile(r"[^()]*[=<>]")
_SHORTEST_SUBJECT = 3
_ROMAN = ("i", "ii", "iii", "iv", "v")
_NO_LABELS = (FUNCTIONS | GREEK | DENIALS | CARDINALS.keys()) - {"max", "min"}


def spelled_out(text: str) -> str:
    """The text with each notation rewritten in the spelling that the parser reads."""
    if "all" in text or "All" in text or "nswer" in text:
        text = _EXCEPT.sub(r"\\mathbb{R} \\setminus \\{\1\\}", _LEAD.sub("", text))
    if text.endswith(")"):
        text = _as_chain(text)
    if text.startswith(("(a)", "(i)", "a)", "i)")):
        text = _without_labels(text)
    if text[:1].isalpha() and " " in text:
        opening = _OPENING.match(text)
        text = _with_its_name(_labelled(text[opening.end() :] if opening else text))
    if text.startswith("\\text"):
        text = _with_its_name(_TEXT_BEFORE.sub(r"\1 ", text))
    if text.startswith("\\text{") and ("," in text or ";" in text or " and" in text):
        text = _labelled(text)
    if "integer" in text or "Z" in text or "ℤ" in text:
        text = " ".join(text.split())
    if "\\begin{align" in text:
        text = _ALIGNED_BREAK.sub(", ", _ALIGNED.sub("", text)).replace("&", " ").strip(" ,")
    for sign, pattern, replacement in _REWRITTEN:
        if sign in text:
            text = pattern.sub(replacement, text)
    money = _CURRENCY_FIRST.match(text)
    return _SIGN_OF[money[1].casefold()] + text[money.end() :] if money else text


def _as_chain(text: str) -> str:
    """`3/4 (or 0.75)` as the chain `3/4 = 0.75`, which must hold; other texts as they are."""
    first, _, second = text[:-1].rpartition("(")
    in_words = number_in_words(second) if re.fullmatch("[a-zA-Z -]+", second) else None
    if in_words is not None and not in_words[1]:  # "5 (five)"
        return f"{first} = {in_words[0]}"
    again = _AGAIN.match(second)
    numbers = all(re.search("[0-9]", part) for part in (first, second))
    return f"{first} = {second[again.end() :]}" if again and numbers and ")" not in second else text


def _without_labels(text: str) -> str:
    """`(a) 3 (b) 5` as values with names, which are in order; other texts as they are."""
    _, *pieces = _PART.split(text)
    labels, parts = pieces[::2], [part.strip(" \t\n,;.") for part in pieces[1::2]]
    in_order = tuple(labels) in (tuple("abcdefgh")[: len(labels)], _ROMAN[: len(labels)])
    if not in_order or len(parts) < 2 or not all(parts):
        return text
    if any("=" in part for part in parts):
        return ", ".join(parts)  # they have names
    named = zip(labels, parts, strict=True)
    return ", ".join(f"\\text{{part {label}}} = {part}" for label, part in named)


def _labelled(text: str) -> str:
    """`mean 6, variance 4.2` as equations, for each value with words before it; others as they are.

    Words before an equation add nothing: `vertical: x = 3`.
    """
    pieces = _SEPARATOR.split(_TEXT_GROUP.sub(r" \1 ", text))
    values = [_LABELLED.fullmatch(piece.strip(" .")) for piece in pieces]
    if len(pieces) < 2 or None in values:
        return text
    parts: list[str] = []
    for match in filter(None, values):
        words, value = match["label"].casefold().split(), _PLACE.sub("", match["value"]).rstrip()
        label = " ".join(words)
        if not _NO_LABELS.isdisjoint(words) or (is_unit(label) and label != "min"):
            return text
        parts.append(value if _RELATION.match(value) else f"\\text{{{label}}} = {value}")
    return ", ".join(parts)


def _with_its_name(text: str) -> str:
    """`The total cost is 5` as the equation that it states; other texts as they are."""
    sentence = _SENTENCE.match(text)
    if sentence is None:
        return text
    subject, value = sentence["subject"], text[sentence.end() :]
    value = value.strip("*") if value.startswith("**") else value
    words = subject.casefold().split()
    if len(words) == 1 and (words[0] in GREEK or words[0] in FUNCTIONS):
        return text
    equations = sentence["colon"] and "=" in value  # "Solutions: x = 1 or x = 2"
    if sentence["named"] is not None or equations:
        return value if DENIALS.isdisjoint(words) else text
    letter = _VALUE_OF.fullmatch(subject) if not sentence["colon"] else None
    if letter:
        return f"{letter[1]} = {value}"
    letters = any(len(word) == 1 and word != "a" for word in words)
    of_kind = words[0] == "the" and len(words) > 2  # "the largest n"
    if (letters and not of_kind) or len(subject) < _SHORTEST_SUBJECT:
        return text
    return f"\\text{{{subject}}} = {value}"


def _permuted(match: re.Match[str]) -> str:
    entries = match[1][1:-1].split(",")
    return ", ".join(f"({','.join(order)})" for order in dict.fromkeys(permutations(entries)))


def _counted(match: re.Match[str]) -> str:
    top, letter, bottom = match.groups()
    if top.isdigit() and int(bottom) > int(top):
        return match[0]
    orders = rf" \cdot {bottom}!" if letter == "P" else ""
    return rf"(\binom{{{top}}}{{{bottom}}}{orders})"


def _counted_plainly(match: re.Match[str]) -> str:
    in_base = "base" in match.string or "hex" in match.string
    return match[0] if in_base else _counted(match)


def _matrix(match: re.Match[str]) -> str:
    rows = [" & ".join(re.split(r"\s*,\s*|\s+", row.strip())) for row in match[1].split(";")]
    return r"\begin{pmatrix} " + r" \\ ".join(rows) + r" \end{pmatrix}"


def _full_money(match: re.Match[str]) -> str:
    in_full = {"k": "thousand", "m": "million", "b": "billion"}
    return f"{match[1]} {in_full[match[2][0].casefold()]}"


def _each_under(match: re.Match[str]) -> str:
    units = [re.sub("[0-9^]", "", unit) for unit in match.groups()]
    all_units = all(unit in SINGLE_LETTERS or is_unit(unit) for unit in units)
    return f"/{match[1]}/{match[2]}" if all_units else match[0]


def _millionth(match: re.Match[str]) -> str:
    unit = match[2] or match[3]
    return rf"{match[1]} um" if unit == "m" else rf"{match[1]} \cdot 10^{{-6}} \text{{{unit}}}"


# What is rewritten, in this order: signs of which the text must have one, the name of the pattern,
# and what is put in its place.
_NOTATIONS: list[tuple[str, str, str | Callable[[re.Match[str]], str]]] = [
    ("integer Z ℤ", "whole", lambda match: rf", {match[match.lastindex or 0]} \in \mathbb{{Z}}"),
    (" of ", "of a whole", " "),
    ("equivalently", "equally", lambda match: match[0] if "=" in match.string else " = "),
    ("out in", "share", r"\1/\2"),
    ("\\cup \\cap ∪ ∩", "name of set", ""),
    ("* \\ast \\star", "starred", r"\1"),
    (
        "\\nabla det \\operatorname \\mathrm \\text \\mathcal max min D_ N( ker",
        "operation on",
        "",
    ),
    ("\\circ", "standard", r"\1"),
    ("/sec", "per second", "/s"),
    ("^", "iterated", r"\1_\2"),
    ("\\int", "integrated", ""),
    (" only ", "sole", ""),
    ("H", "acidity", r"\\text{pH}"),
    ("\\Delta", "change", r"\\text{Delta \1}"),
    ("\\hbar", "reduced", r"(\\frac{h}{2\\pi})"),
    ("attained at when for", "attained", ""),
    ("] [", "member", r"\1 \\in "),
    ("\\mathbf \\vec \\boldsymbol \\overrightarrow", "vector of", r"\1 "),
    ("away long tall wide altogether total", "measured", r"\1"),
    ("_", "counted", _counted),
    ("multiplicity", "multiplicity", lambda match: ", ".join([match[1]] * int(match[2]))),
    ("R r", "remainder", r"\\text{quotient} = \1, \\text{remainder} = \2"),
    ("C P", "counted plainly", _counted_plainly),
    ("\\prime", "primes", lambda match: "'" * match[0].count("prime")),
    ("' ′ ’", "feet", r"\1 ft \2 in"),
    (";", "rows", _matrix),
    ("<", "angles", r"(\1)"),
    ("h", "hours", r"\1 h \2 min"),
    ("\\AA \\mathring \u00c5 \u212b", "angstrom", r"\\text{ angstrom}"),
    ("\\pm ±", "tolerance", r"(\1)\2"),
    ("\\in ∈", "multiples", r"\\text{span} = \\{\2"),
    ("span Span", "span", r"\\text{span} = "),
    ("ermutations", "permutations", _permuted),
    ("%", "per cent", ""),
    ("$ € £ ¥ ₹", "short money", _full_money),
    ("/", "under", _each_under),
    ('"', "seconds", lambda match: "''" if re.search("circ|°", match.string) else match[0]),
    ("_", "text digits", r"\1"),
    ("_", "base in brackets", r"_{\1}"),
    ("∠ \\angle", "angle", lambda match: rf"\text{{angle {re.sub('[ {}]', '', match[1])}}}"),
    (".", "module", ""),
    ("=", "slope", r"\\frac{d\1}{d\2}"),
    ("=", "numbered", r"\1_\2"),
    ("base", "in base", r"\1_{\2}"),
    ("constant arbitrary", "constant", ""),
    ("\\begin", "row gap", r"\\\\"),
    ("\\begin", "cases open", r"\\begin{cases}"),
    ("\\begin", "cases close", r"\\end{cases}"),
    ("\\begin{cases}", "closing stop", " "),
    ("\\Omega Ω \u2126", "ohm", r"\1 \2ohm"),
    ("\\mu μ µ", "micro", _millionth),
]
_REWRITTEN = [
    (sign, _TABLES.pattern(name), replacement)
    for signs, name, replacement in _NOTATIONS
    for sign in signs.split()
]
