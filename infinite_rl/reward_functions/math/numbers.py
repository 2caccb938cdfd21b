"""The part of the grammar for numerals and units: decimals, cycles, other bases, quantities."""

import re
from fractions import Fraction

from ...parsing.number_words import CARDINALS, multiple
from . import units
from .bounds import MAX_DIGITS, MAX_EXPONENT, OverBudget, Unparsed
from .tokens import VOCABULARY, Cursor, Token
from .tree import ONE, Node, constant, expression, number, product_of, symbol

_NUMERAL = re.compile(r"([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
_REPEATING = re.compile(r"([0-9]*)\.([0-9]*)[^0-9]+([0-9]+)[^0-9]")
_GOING_ON = re.compile(r"([0-9]*)\.([0-9]+)(?:\.\.\.|\\[a-z]+)")
_PREFIXES = {"x": 16, "b": 2, "o": 8}


def numeral(text: str) -> Fraction:
    """The exact value of `12`, `.5`, `3.2e5`, `0.1(6)`. Raises OverBudget for a huge one."""
    if len(text) > MAX_DIGITS:
        raise OverBudget(f"a numeral of more than {MAX_DIGITS} digits")
    if text.isdecimal():
        return Fraction(int(text))
    repeating = _REPEATING.fullmatch(text) or _GOING_ON.fullmatch(text)
    if repeating:
        whole, fixed, cycle = (*repeating.groups(), "")[:3]
        fixed, cycle = (fixed, cycle) if cycle else _cycle(fixed)
        scale = 10 ** len(fixed)
        tail = Fraction(int(cycle), (10 ** len(cycle) - 1) * scale)
        return Fraction(int(whole + fixed or "0"), scale) + tail
    plain = _NUMERAL.fullmatch(text)
    if plain is None:
        raise Unparsed(f"the numeral {text[:20]!r}")
    whole, decimals, power = plain.group(1), plain.group(2) or "", plain.group(3) or "0"
    if len(power) > 6 or abs(int(power)) > MAX_EXPONENT:
        raise OverBudget(f"a power of ten beyond {MAX_EXPONENT}")
    value = Fraction(int(whole + decimals or "0"), 10 ** len(decimals))
    return value * Fraction(10) ** int(power)


def _cycle(decimals: str) -> tuple[str, str]:
    """The decimals of `0.1666...` before their cycle, and the cycle, which must show twice.

    A cycle of one digit must show three times, unless there is nothing but it.
    """
    for start in range(min(len(decimals), 40)):
        tail = decimals[start:]
        for length in range(1, len(tail) // 2 + 1):
            seen = length > 1 or not start or len(tail) > 2
            if seen and tail[length:] == tail[:-length]:
                return decimals[:start], tail[:length]
    raise Unparsed("a decimal that goes on without a cycle")


def based(text: str) -> Node:
    """`0x1F`, `0b101`, `1F_{16}`."""
    digits, _, base = text.partition("_")
    if not base:
        digits, base = text[2:], str(_PREFIXES[text[1].casefold()])
    radix = int(base.strip("{}"))
    if len(digits) > MAX_DIGITS:
        raise OverBudget(f"a numeral of more than {MAX_DIGITS} digits")
    if any(int(digit, 36) >= radix for digit in digits):
        raise Unparsed(f"a digit beyond the base {radix}")
    return Node("base", (number(int(digits, radix)),), f"{digits.upper()}_{radix}")


def mixed_or_plain(parser: Cursor, token: Token) -> Node:
    """The number of a numeral that is taken, with the fraction or the base behind it."""
    value = numeral(token.text)
    following = parser.peek()
    if following.kind in ("op", "end") and following.text != "_":
        return number(value)  # nearly always
    if parser.at("_"):
        return in_base(parser, token.text)
    if parser.peek().kind == "num" and parser.peek(1).text == "/" and parser.peek(2).kind == "num":
        return _mixed(parser, value, parser.peek().text, parser.peek(2).text, 3)
    if parser.at_command("frac"):
        _, *shape = parser.texts(7)
        if shape == ["{", "num", "}", "{", "num", "}"]:
            return _mixed(parser, value, parser.peek(2).text, parser.peek(5).text, 7)
        digits = parser.peek(1).text
        if shape[0] == "num" and len(digits) == 2:
            return _mixed(parser, value, digits[0], digits[1], 2)
    if parser.peek().kind == "num":
        raise Unparsed("two numbers side by side")
    return number(value)


def _mixed(parser: Cursor, whole: Fraction, top: str, bottom: str, length: int) -> Node:
    """`2 3/4` and `2\\frac{3}{4}`: a whole number and a proper fraction."""
    part = Fraction(numeral(top), numeral(bottom) or 1)
    if whole.denominator > 1 or not top.isdigit() or not bottom.isdigit() or not 0 < part < 1:
        raise Unparsed("a number beside a fraction that makes no mixed number")
    parser.position += length
    return number(whole + part)


def in_base(parser: Cursor, digits: str) -> Node:
    """`52_8`, `101_{2}`: a numeral in a base from 2 to 36, written with the digits 0 to 9."""
    text = subscript(parser).strip("_")
    base = int(text) if text.isdigit() and len(text) < 3 else CARDINALS.get(text, 0)
    whole, _, part = digits.partition(".")
    digits = whole + part
    if not 2 <= base <= 36 or not digits.isdigit() or any(int(digit) >= base for digit in digits):
        raise Unparsed(f"a numeral with the subscript {text[:10]!r}")
    value = Fraction(int(digits, base), base ** len(part))
    return Node("base", (number(value),), f"{digits}_{base}")


def subscript(parser: Cursor) -> str:
    """`_1` of `x_{1}`; "" if none follows."""
    if not parser.accept("_"):
        return ""
    if not parser.accept("{"):
        return f"_{parser.take().text}"
    parts: list[str] = []
    while not parser.accept("}"):
        token = parser.take()
        if token.kind == "end" or token.text in ("{", "_", "^"):
            raise Unparsed("a subscript")
        parts.append(token.text)
    return f"_{''.join(parts)}"


RELATIONS, SEPARATORS = map(VOCABULARY.words, ("relations", "separators"))
LITTLE_WORDS, _AFTER_UNITS = map(VOCABULARY.words, ("little words", "after units"))


def at_unit(parser: Cursor, factors: list[Node]) -> bool:
    """Whether the next token begins a unit of what stands before it."""
    token = parser.peek()
    if token.text == "frac" and token.kind == "cmd" and not fraction_of_units(parser):
        return False
    token = parser.peek()
    if token.kind not in ("text", "word", "name"):
        return False
    if any(factor.symbols for factor in factors):
        noun = parser.peek(1).kind == "end" and re.fullmatch("[a-z]{4,20}", token.text)
        return token.kind == "text" and bool(noun or units.is_unit(token.text.split()[0]))
    if token.kind == "text":
        return True
    if token.kind == "word":
        spelled = len(token.text) > 3 or (len(token.text) == 3 and token.spaced)
        variables = token.text.casefold() in LITTLE_WORDS or is_consecutive_letters(token.text)
        return units.is_unit(token.text) or (spelled and not variables)
    # "15 m", "9.8 m/s^2": one letter with a space before it, where nothing but units follows.
    return token.kind == "name" and token.spaced and only_units_follow(parser)


def only_units_follow(parser: Cursor) -> bool:
    """Whether the rest of the answer is nothing but units and their powers."""
    for token in parser.tokens[parser.position : -1]:
        single = token.kind == "name" and token.text in units.SINGLE_LETTERS
        unit_word = token.kind == "word" and units.is_unit(token.text)
        sign = token.kind == "num" or token.text in ("/", "^", "*", "{", "}")
        if not (single or unit_word or sign):
            return False
    return True


def fraction_of_units(parser: Cursor) -> bool:
    """Turn `\\frac{km}{h}` after a number into `km / h`; False for any other fraction."""
    index, inside = parser.position + 1, 0
    braces: list[int] = []
    while len(braces) < 4:
        token = parser.tokens[min(index, len(parser.tokens) - 1)]
        if token.text in ("{", "}") and token.kind == "op":
            inside += 1 if token.text == "{" else -1
            if inside == (token.text == "{"):
                braces.append(index)
        elif not inside or not _of_units(token):
            return False
        index += 1
    top, end, bottom, last = braces
    if end == top + 1 or parser.tokens[top + 1].kind == "num":
        return False
    flattened = [*parser.tokens[top + 1 : end], Token("op", "/"), *parser.tokens[bottom + 1 : last]]
    parser.tokens[parser.position : last + 1] = [flattened[0]._replace(spaced=True), *flattened[1:]]
    return True


def quantity(parser: Cursor, value: Node) -> Node:
    """A number with the unit that follows it; raises Unparsed for words that are none."""
    pieces: list[str] = []
    value = multiplied(parser, value)
    if parser.peek() == ("word", "in", False):  # `-4in` is a product
        parser.take()
        return product_of([value, constant("i"), symbol("n")])
    if parser.peek().kind not in ("word", "text", "name", "cur") and not parser.at("/"):
        return value
    while parser.peek().kind in ("word", "text", "name", "cur") or parser.at("/", "^", "*"):
        token = parser.take()
        pieces.append(unit_power(parser) if token.text == "^" else f" {token.text} ")
    measure = units.unit("".join(pieces))
    if measure is None or not value.is_expression:
        raise Unparsed(f"the unit {''.join(pieces)[:30].strip()!r}")
    token = parser.peek()
    amount: Node | None = Node("quantity", (value,), unit=measure)
    if token.kind == "num" and amount is not None:  # `1 h 30 min`: less of it, in a smaller unit
        amount = sum_of_quantities(amount, parser.product())
    elif token.kind != "end" and token.text not in _AFTER_UNITS:
        amount = None
    if amount is None:
        raise Unparsed("a unit inside mathematics")
    return amount


def multiplied(parser: Cursor, value: Node) -> Node:
    """The number with the words that belong to it: `5 million`, `3 tenths`."""
    while parser.peek().kind in ("word", "text"):
        token = parser.peek()
        word, _, rest = token.text.partition(" ")
        factor = multiple(word, one=value == ONE)
        if factor is None:
            break
        value = Node("mul", (expression(value), number(factor)))
        parser.tokens[parser.position : parser.position + 1] = (
            [Token("text", rest.strip(), True)] if rest.strip() else []
        )
    return value


def unit_power(parser: Cursor) -> str:
    """What follows the `^` of a unit, as `^2` or `^-1`."""
    braced = parser.accept("{")
    sign = "-" if parser.accept("-") else ""
    token = parser.take()
    if token.kind != "num" or len(token.text) != 1:
        raise Unparsed("the power of a unit")
    if braced:
        parser.expect("}")
    return f"^{sign}{token.text}"


def sum_of_quantities(large: Node, small: Node) -> Node | None:
    """Two amounts of one dimension as one in the unit of the first, None if they are none."""
    one, other = large.unit, small.unit
    if one is None or other is None or one.dimension != other.dimension:
        return None
    if one.factor <= other.factor:
        return None
    more = Node("mul", (small.args[0], number(other.factor / one.factor)))
    return Node("quantity", (Node("add", (large.args[0], more)),), unit=one)


def _of_units(token: Token) -> bool:
    if token.kind in ("text", "word"):
        return units.is_unit(token.text)
    return token.text in units.SINGLE_LETTERS or token.text in ("^", "*") or token.kind == "num"


def units_as_variables(tokens: list[Token]) -> list[Token]:
    """The tokens with each unit of one or two letters as variables: `\\sqrt{2 g h}`, `mg/k`."""
    result: list[Token] = []
    for token in tokens:
        short = token.kind == "word" and len(token.text) == 2
        if short and token.text not in LITTLE_WORDS | {"in"}:
            kinds = ["const" if letter in "ei" else "name" for letter in token.text]
            result += [Token(kind, part) for kind, part in zip(kinds, token.text, strict=True)]
        else:
            result.append(token._replace(spaced=False) if token.kind == "name" else token)
    return result


def is_consecutive_letters(word: str) -> bool:
    """Whether a word is a run of the alphabet, such as `abc`: three variables, no noun."""
    return len(word) == 3 and {ord(b) - ord(a) for a, b in zip(word, word[1:], strict=False)} == {1}
