"""Units: a factor and a dimension for the common ones, a dimension of its own for other words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

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


_ENERGY, _POWER, _FORCE = "length2 mass time-2", "length2 mass time-3", "length mass time-2"
# Of each dimension the units, with their factors and then their names in the singular. The factor
# of eV is exact by definition (SI, 2019).
_TABLE = f"""
length: 1 m meter metre, 1000 km kilometer kilometre, 1/10 dm decimeter decimetre
length: 1/100 cm centimeter centimetre, 1/1000 mm millimeter millimetre, 1/1000000 um micrometer
length: 1/1000000000 nm nanometer, 0.0254 in inch inche, 0.3048 ft foot feet, 0.9144 yd yard
length: 1609.344 mi mile, 1852 nmi
time: 1 s sec second, 1/1000 ms millisecond, 1/1000000 microsecond, 1/1000000000 ns nanosecond
time: 60 min minute, 3600 h hr hour, 86400 day, 604800 wk week
calendar: 1 month, 12 yr year, 120 decade, 1200 century centurie
mass: 1 g gram, 1000 kg kilogram, 1/1000 mg milligram, 1/1000000 mcg microgram, 1000000 tonne
mass: 453.59237 lb pound, 28.349523125 oz ounce
length3: 0.001 L l liter litre, 1/1000000 ml mL cc milliliter millilitre
dollar: 1 dollar USD usd buck, 1/100 cent ¢, 1/4 quarter, 1/10 dime, 1/20 nickel
euro: 1 euro EUR
pound-sterling: 1 GBP gbp, 1/100 pence
yen: 1 yen JPY
rupee: 1 rupee INR Rs
yuan: 1 yuan RMB CNY
angle: 1 degree deg
ampere: 1 A amp ampere, 1/1000 mA milliamp milliampere
temperature: 1 K kelvin, 1 celsius, 5/9 fahrenheit
volt: 1 V volt, 1000 kV kilovolt, 1/1000 mV millivolt
ohm: 1 ohm, 1000 kohm kiloohm, 1000000 Mohm megaohm
coulomb: 1 C coulomb
tesla: 1 T tesla
mole: 1 mol mole, 1/1000 mmol
area: 1 acre
cup: 1 cup, 2 pint, 4 quart qt, 16 gallon gal
byte: 1 byte, 1000 kB KB kilobyte, 1000000 MB megabyte, 1000000000 GB gigabyte
time-1: 1 Hz hertz, 1000 kHz, 1e6 MHz, 1e9 GHz
{_FORCE}: 1000 N newton, 1e6 kN
{_ENERGY}: 1000 J joule, 1 mJ, 1e6 kJ kilojoule, 1e9 MJ, 36e8 kWh
{_ENERGY}: 1.602176634e-16 eV, 1.602176634e-13 keV, 1.602176634e-10 MeV, 1.602176634e-7 GeV
{_POWER}: 1000 W watt, 1 mW, 1e6 kW kilowatt, 1e9 MW
length-1 mass time-2: 1000 Pa pascal, 101325000 atm, 1e6 kPa, 1e9 MPa, 1e12 GPa
length2: 10000 hectare ha
length time-1: 0.44704 mph, 5/18 kph kmh
radian: 1 radian rad
unit: 1 unit
: 1/100 percent
"""


def _units() -> Iterator[tuple[str, tuple[Fraction, Dimension]]]:
    for line in _TABLE.strip().splitlines():
        bases, _, rows = line.partition(":")
        powers = re.findall(r"([a-z-]+?)(-?[0-9])?(?: |$)", bases)
        dimension = tuple((base, int(power or 1)) for base, power in powers)
        for factor, *names in map(str.split, rows.split(",")):
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
# Words that are part of the number before them: "5 million dollars", "3 tenths".
MULTIPLES = {
    **{"hundred": Fraction(100), "thousand": Fraction(1000), "million": Fraction(10**6)},
    **{"billion": Fraction(10**9), "trillion": Fraction(10**12), "quadrillion": Fraction(10**15)},
    **{"lakh": Fraction(10**5), "crore": Fraction(10**7), "half": Fraction(1, 2)},
    **{"halves": Fraction(1, 2), "dozen": Fraction(12), "gross": Fraction(144)},
}
_SMALL_PARTS = [
    "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
    "nineteenth", "twentieth",
]  # fmt: skip
PARTS = {
    **{name: count for count, name in enumerate(_SMALL_PARTS, 3)},
    **{"thirtieth": 30, "fortieth": 40, "fiftieth": 50, "sixtieth": 60, "hundredth": 100},
    **{"thousandth": 1000, "millionth": 10**6, "billionth": 10**9},
}
_COUNTED = frozenset(["dozen", "gross", "half", "halves"])  # "3 dollars per dozen"
# Words that are no unit: they change the number, take it back, or leave it open.
_NO_UNITS = frozenset([
    "plus", "minus", "negative", "positive", "factorial", "inverse", "reciprocal", "root",
    "roots", "power", "mod", "modulo", "remainder", "base", "binary", "octal", "hex",
    "hexadecimal", "decimal", "off", "if", "unless", "except", "exactly", "is", "are", "was",
    "were", "not", "wrong", "incorrect", "correct", "maybe", "perhaps", "possibly", "probably",
    "about", "around", "roughly", "approximately", "approx", "nearly", "almost", "or", "and",
    "nor", "to", "than", "but", "instead", "never", "wait", "through", "at", "least", "most",
    "below", "above", "beneath", "zero", "one", "two", "three", "four", "five", "six", "seven",
    "eight", "nine", "ten", "doubled", "tripled", "quadrupled", "halved", "divided", "multiplied",
    "conjugate", "imaginary", "otherwise", "either", "depending", "depends", "fails", "false",
    "rejected", "extraneous", "invalid", "excluded", "impossible", "permille", "mille", "basis",
    "debt", "short", "score", "myriad", "googol", "ppm", "quintillion", "max", "maximum", "minimum",
    "tops", "too", "something", "unknown", "pending", "guess", "guessing", "estimate", "estimated",
    "rounded", "truncated", "ignoring", "when", "where", "inverted", "negated", "recurring",
    "repeating",
])  # fmt: skip
_IRREGULAR = {
    "people": "person", "children": "child", "men": "man", "women": "woman", "mice": "mouse",
    "dice": "die", "geese": "goose", "teeth": "tooth", "halves": "half", "vertices": "vertex",
}  # fmt: skip
_SHORT_PLURALS = frozenset(["lbs", "hrs", "yds", "kgs", "kms", "cms", "yrs", "wks"])
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


def multiple(word: str, *, one: bool = False) -> Fraction | None:
    """The factor of `million` or `tenths` behind a number; None for other words.

    A fraction in the singular counts after `one` only: "20 seventh graders" are 20.
    """
    word = word.casefold()
    single = word.removesuffix("s")
    if single in PARTS:
        return Fraction(1, PARTS[single]) if one or word != single else None
    return MULTIPLES.get(word, MULTIPLES.get(single))


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
