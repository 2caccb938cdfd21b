"""Units: a factor and a dimension for the common ones, a separate dimension for each other word."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ...parsing.number_words import multiple
from ...parsing.word_tables import WordTables

Dimension = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """`factor` times the base units of `dimension`. `name` is the unit as it was written.

    `offset`, in base units, is where a scale of temperature has its zero.
    """

    name: str
    factor: Fraction
    dimension: Dimension
    offset: Fraction = Fraction(0)


_TABLES = WordTables(__file__)


def _units() -> Iterator[tuple[str, tuple[Fraction, Dimension]]]:
    for row in _TABLES.rows("units"):
        bases, _, units = row.partition(":")
        powers = re.findall(r"([a-z-]+?)(-?[0-9])?(?: |$)", bases)
        dimension = tuple((base, int(power or 1)) for base, power in powers)
        for factor, *names in map(str.split, units.split(",")):
            yield from ((name, (Fraction(factor), dimension)) for name in names)


UNITS: dict[str, tuple[Fraction, Dimension]] = dict(_units())
CURRENCIES = {"$": "dollar", "€": "euro", "£": "GBP", "¥": "yen", "₹": "rupee", "¢": "cent"}
# Letters that are units rather than variables in plain text, where they close an answer: "15 m".
SINGLE_LETTERS = frozenset("msghLNJWVKCTA")
_ZEROS = {"celsius": Fraction("273.15"), "fahrenheit": Fraction(45967, 180)}
_SCALES = {"C": "celsius", "F": "fahrenheit", "Celsius": "celsius", "Fahrenheit": "fahrenheit"}
_DOTTED = re.compile(r"\\(?:cdot|times)(?![A-Za-z])")
_SCALE = re.compile(r"\s*(?:degrees?\s+)?(celsius|fahrenheit)\s*", re.IGNORECASE)
_POWERS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3}
_FILLERS = frozenset(["of", "a", "an", "the", "each"])
_COUNTED = frozenset(["dozen", "gross", "half", "halves"])  # "3 dollars per dozen"
_NO_UNITS, _SHORT_PLURALS = _TABLES.words("no units"), _TABLES.words("short plurals")
_IRREGULAR = _TABLES.mapping("irregular")
_PLURAL = re.compile(r"(?<=x|z)es$|(?<=ch|sh|ss)es$|(?<!s)s$")
_WORD = re.compile(r"([A-Za-z]+)|\^?(-?[0-9])|(/)|([*.·-])|\s+")


def _lookup(word: str) -> tuple[Fraction, Dimension, bool]:
    """A word's factor and dimension, and whether it is one of the table."""
    for form in (word, word.casefold(), word.casefold().removesuffix("s")):
        short = form == word or word.isupper() or word in _SHORT_PLURALS
        if form in UNITS and (len(form) > 2 or short):
            return (*UNITS[form], True)
    return Fraction(1), ((_singular(word.casefold()), 1),), False


def _singular(noun: str) -> str:
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    for ending in ("ies", "ie"):  # a cookie, which is not told from a "cooky"
        if noun.endswith(ending) and len(noun) > 4:
            return noun.removesuffix(ending) + "y"
    return _PLURAL.sub("", noun)


def is_unit(word: str) -> bool:
    """Whether a word is in the table (`cm`, `Hours`), not merely some noun."""
    return word in ("sq", "cu") or _lookup(word)[2]


def temperature(word: str) -> Unit | None:
    """The scale that `C`, `F` or its name stands for after degrees."""
    name = _SCALES.get(word.strip())
    return None if name is None else Unit(name, *UNITS[name], _ZEROS[name])


def unit(text: str) -> Unit | None:
    """Read `km/h`, `square inches`, `m/s^2`, `red apples`; None for what is no list of words."""
    text = _DOTTED.sub("*", text).replace("{", "").replace("}", "")
    scale = _SCALE.fullmatch(text)
    if scale:
        return temperature(scale[1].capitalize())
    dimension: dict[str, int] = {}
    factor, sign, pending, position = Fraction(1), 1, 1, 0
    last: tuple[Fraction, Dimension] | None = None
    while position < len(text):
        match = _WORD.match(text, position)
        if match is None:
            return None
        position = match.end()
        word, digit, slash, _ = match.groups()
        if word and (word.casefold() in _NO_UNITS or (word == "times" and text[position:].strip())):
            return None  # "5 times" counts, "5 times x" multiplies
        many = multiple(word) if word and word not in _COUNTED else None
        if many is not None and sign < 0:  # "5 per thousand"
            factor /= many
            continue
        letter = word and len(word) == 1 and word not in UNITS and word not in _FILLERS
        if many is not None or letter:  # "5 depending on x"
            return None
        if slash or word == "per":
            sign, last = -1, None
            continue
        if word in _POWERS and not word.endswith("ed"):
            pending = _POWERS[word]
            continue
        if digit or word in _POWERS:
            if last is None:  # "5 squared" is 25, not five of something
                return None
            power = (int(digit) if digit else _POWERS[word]) - 1
            factor = _merge(dimension, factor, last, sign * power)
            last = None
        elif word and word not in _FILLERS:
            last = _lookup(word)[:2]
            factor = _merge(dimension, factor, last, sign * pending)
            pending = 1
    return Unit(" ".join(text.split()), factor, _sorted(dimension))


def _merge(
    dimension: dict[str, int], factor: Fraction, part: tuple[Fraction, Dimension], power: int
) -> Fraction:
    for name, own in part[1]:
        dimension[name] = dimension.get(name, 0) + own * power
    return Fraction(factor * part[0] ** power)


def _sorted(dimension: Mapping[str, int]) -> Dimension:
    return tuple(sorted((name, power) for name, power in dimension.items() if power))


def product(first: Unit, second: Unit) -> Unit:
    """Two units side by side, as in `$5 per hour`; `$5 USD` names one twice."""
    if first.dimension == second.dimension and first.factor == second.factor:
        return first
    dimension = dict(first.dimension)
    factor = _merge(dimension, first.factor, (second.factor, second.dimension), 1)
    return Unit(f"{first.name} {second.name}", factor, _sorted(dimension))
