"""Numbers with units: where a unit begins, where it ends, what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import units
from .bounds import Unparsed
from .tokens import Token, words
from .tree import ONE, Node, expression, is_expression, number, symbols

if TYPE_CHECKING:
    from .parse import Parser

RELATIONS = frozenset(["=", "<", ">", "<=", ">=", "!=", "in", "equiv"])
SEPARATORS = frozenset([",", ";", "and", "or"])
LITTLE_WORDS = words("is of to no if as at by an on so we up do not are the but for all")
# What may follow a unit: what separates, what relates, what closes.
_AFTER_UNITS = (
    SEPARATORS
    | RELATIONS
    | frozenset([")", "]", "}", "\\}", "|", "rfloor", "rceil", "&", "\\\\", ":", "mod"])
)


def at_unit(parser: Parser, factors: list[Node]) -> bool:
    """Whether the next token begins a unit of what stands before it."""
    token = parser.peek()
    if token.text == "frac" and token.kind == "cmd" and not fraction_of_units(parser):
        return False
    token = parser.peek()
    if token.kind not in ("text", "word", "name"):
        return False
    if any(symbols(factor) for factor in factors):
        return token.kind == "text" and units.is_unit(token.text.split()[0])
    if token.kind == "text":
        return True
    if token.kind == "word":
        known = units.is_unit(token.text)
        spelled = len(token.text) > 3 or (len(token.text) == 3 and token.spaced)
        return known or (
            spelled and token.text.casefold() not in LITTLE_WORDS and not is_run(token.text)
        )
    # "15 m", "9.8 m/s^2": one letter with a space before it, where nothing but units follows.
    return token.kind == "name" and token.spaced and only_units_follow(parser)


def only_units_follow(parser: Parser) -> bool:
    """Whether the rest of the answer is nothing but units and their powers."""
    for token in parser.tokens[parser.position : -1]:
        single = token.kind == "name" and token.text in units.SINGLE_LETTERS
        known = token.kind == "word" and units.is_unit(token.text)
        if not (single or known or token.kind == "num" or token.text in ("/", "^", "*", "{", "}")):
            return False
    return True


def per_unit(parser: Parser, factors: list[Node]) -> bool:
    """Whether `/hour` follows a number."""
    return units.is_unit(parser.peek(1).text) and not any(map(symbols, factors))


def fraction_of_units(parser: Parser) -> bool:
    """Turn `\\frac{km}{h}` after a number into `km / h`; False for any other fraction."""
    place, inside = parser.position + 1, 0
    braces: list[int] = []
    while len(braces) < 4:
        token = parser.tokens[min(place, len(parser.tokens) - 1)]
        if token.text in ("{", "}") and token.kind == "op":
            inside += 1 if token.text == "{" else -1
            if inside == (token.text == "{"):
                braces.append(place)
        elif not inside or not _of_units(token):
            return False
        place += 1
    top, end, bottom, last = braces
    if end == top + 1 or parser.tokens[top + 1].kind == "num":
        return False
    kept = [*parser.tokens[top + 1 : end], Token("op", "/"), *parser.tokens[bottom + 1 : last]]
    parser.tokens[parser.position : last + 1] = [kept[0]._replace(spaced=True), *kept[1:]]
    return True


def quantity(parser: Parser, value: Node) -> Node:
    """A number with the unit that follows it; raises Unparsed for words that are none."""
    pieces: list[str] = []
    value = multiplied(parser, value)
    if parser.peek().kind not in ("word", "text", "name", "cur") and not parser.at("/"):
        return value
    while parser.peek().kind in ("word", "text", "name", "cur") or parser.at("/", "^", "*"):
        token = parser.take()
        pieces.append(unit_power(parser) if token.text == "^" else f" {token.text} ")
    found = units.unit("".join(pieces))
    if found is None or not is_expression(value):
        raise Unparsed(f"the unit {''.join(pieces)[:30].strip()!r}")
    token = parser.peek()
    if token.kind == "num":
        return with_smaller(parser, Node("quantity", (value,), unit=found))
    if token.kind != "end" and token.text not in _AFTER_UNITS:
        raise Unparsed("a unit inside mathematics")
    return Node("quantity", (value,), unit=found)


def with_smaller(parser: Parser, large: Node) -> Node:
    """`1 h 30 min`, `6 ft 2 in`: what follows must be less of the same, in a smaller unit."""
    both = sum_of_quantities(large, parser.product())
    if both is None:
        raise Unparsed("a unit inside mathematics")
    return both


def multiplied(parser: Parser, value: Node) -> Node:
    """The number with the words that belong to it: `5 million`, `3 tenths`."""
    while parser.peek().kind in ("word", "text"):
        token = parser.peek()
        word, _, rest = token.text.partition(" ")
        factor = units.multiple(word, one=value == ONE)
        if factor is None:
            break
        value = Node("mul", (expression(value), number(factor)))
        parser.tokens[parser.position : parser.position + 1] = (
            [Token("text", rest.strip(), True)] if rest.strip() else []
        )
    return value


def unit_power(parser: Parser) -> str:
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
    """Two amounts of one dimension as one in the unit of the first, None where they are none."""
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


def as_letters(tokens: list[Token]) -> list[Token]:
    """The tokens with each unit of one or two letters as variables: `\\sqrt{2 g h}`, `mg/k`."""
    result: list[Token] = []
    for token in tokens:
        if (
            token.kind == "word"
            and len(token.text) == 2
            and token.text not in LITTLE_WORDS | {"in"}
        ):
            kinds = ["const" if letter in "ei" else "name" for letter in token.text]
            result += [Token(kind, part) for kind, part in zip(kinds, token.text, strict=True)]
        else:
            result.append(token._replace(spaced=False) if token.kind == "name" else token)
    return result


def is_run(word: str) -> bool:
    """Whether a word is a run of the alphabet, such as `abc`: three variables, no noun."""
    return len(word) == 3 and {ord(b) - ord(a) for a, b in zip(word, word[1:], strict=False)} == {1}
