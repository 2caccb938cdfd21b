"""A precedence parser for LaTeX, plain ASCII and Unicode mathematics, giving trees of our own.

What it cannot read it refuses, with the reason: it never skips a part and never guesses. It
reads each token once and counts its depth, so its time is linear and its stack is bounded.
"""

from __future__ import annotations

import re
from fractions import Fraction

from . import calculus, environments, quantities, units
from .bounds import (
    MAX_DEPTH,
    MAX_MEMBERS,
    MAX_SERIES,
    OverBudget,
    Unparsed,
)
from .numerals import based, numeral
from .quantities import LITTLE_WORDS, RELATIONS, SEPARATORS, is_run
from .tokens import Token, tokenize, words
from .tree import (
    ONE,
    Node,
    constant,
    expression,
    holds,
    is_expression,
    negated,
    number,
    size,
    substituted,
    symbol,
)
from .words import CARDINALS

_SET_SIGNS = {"cup": "union", "cap": "meet", "minus": "without"}
# What may follow a factor in its product, and a base in its power; most often neither does.
_PRODUCT_SIGNS = frozenset(["*", "/", "(", "{", "lfloor", "lceil", "|"])
_AFTER_BASE = frozenset(["!", "%", "degree", "^", "'", "_"])
_ATOM_KINDS = frozenset(["name", "greek", "const", "func"])
_ATOM_COMMANDS = words("frac sqrt surd binom begin total product limit int bar")
_ONE_ATOM = frozenset(["sqrt", "cbrt", "abs", "floor", "ceil"])  # functions of the next atom alone
_FUNCTION_HEAD = re.compile(
    r"\s*([A-Za-z](?:_\{?[A-Za-z0-9]{1,3}\}?)?(?:\^\{-1\}|'{0,2}))\s*(?:\\left\s*)?"
    r"\(\s*([A-Za-z0-9](?:\s*,\s*[A-Za-z0-9]){0,3})\s*(?:\\right\s*)?\)\s*=(?!=)"
)
_DERIVATIVE_HEAD = re.compile(r"\s*\\[dt]?frac\{d([a-z])\}\{d([a-z])\}\s*=(?!=)")


def parse(text: str) -> Node:
    """The tree of one answer. Raises Unparsed or OverBudget, nothing else, whatever the text."""
    head = _FUNCTION_HEAD.match(text) or _DERIVATIVE_HEAD.match(text)
    parser = Parser(tokenize(text[head.end() :] if head else text))
    node = parser.whole()
    if head:
        prime = "'" if head.re is _DERIVATIVE_HEAD else ""
        name = re.sub(r"\s|[{}]", "", f"{head[1]}{prime}({head[2]})")
        return Node("rel", (symbol(name), node), "=")
    return node


class Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0
        self.bars = 0  # open absolute values

    # -- tokens -----------------------------------------------------------------------------------

    def peek(self, ahead: int = 0) -> Token:
        try:
            return self.tokens[self.position + ahead]
        except IndexError:
            return self.tokens[-1]

    def take(self) -> Token:
        token = self.peek()
        self.position += 1
        return token

    def at(self, *operators: str) -> bool:
        try:  # the commonest question of all: it asks the token without a call
            token = self.tokens[self.position]
        except IndexError:
            return False
        return token.text in operators and token.kind == "op"

    def accept(self, *operators: str) -> bool:
        try:
            token = self.tokens[self.position]
        except IndexError:
            return False
        if token.text in operators and token.kind == "op":
            self.position += 1
            return True
        return False

    def expect(self, operator: str) -> None:
        if not self.accept(operator):
            raise Unparsed(f"expected {operator!r}, found {self.peek().text[:20] or 'the end'!r}")

    def at_command(self, name: str) -> bool:
        token = self.peek()
        return token.text == name and token.kind == "cmd"

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise OverBudget(f"nested deeper than {MAX_DEPTH}")

    # -- lists, relations, sums -------------------------------------------------------------------

    def whole(self) -> Node:
        if self.peek().kind == "end":
            raise Unparsed("nothing is there")
        items, kind = self.items()
        if self.peek().kind != "end":
            raise Unparsed(f"{self.peek().text[:20]!r} is out of place")
        return items[0] if len(items) == 1 else Node("list", tuple(items), kind)

    def items(self) -> tuple[list[Node], str]:
        """The members of a list, and "or", "and" or "," for how they are joined."""
        items, kind = [self.relation()], ","
        while self.peek().kind == "op" and self.peek().text in SEPARATORS:
            word = self.take().text
            while self.at("and", "or"):  # "1, 2, and 3"
                word = self.take().text
            kind = word if word in ("and", "or") else kind
            items.append(self.relation())
            if len(items) > MAX_MEMBERS:
                raise OverBudget(f"a list of more than {MAX_MEMBERS} members")
        if items[-1].op == "congruence":  # "x = 1, 4 (mod 5)": one modulus for all
            modulus = items[-1].args[1]
            items = [
                item if item.op == "congruence" else _congruence(item, modulus) for item in items
            ]
        return items, kind

    def relation(self) -> Node:
        parts, operators = [self.union()], []
        while self.peek().kind == "op" and self.peek().text in RELATIONS:
            operators.append(self.take().text)
            parts.append(self.union())
        node = Node("rel", tuple(parts), " ".join(operators)) if operators else parts[0]
        modulus = self.modulus()
        return node if modulus is None else _congruence(node, modulus)

    def modulus(self) -> Node | None:
        """What follows `\\pmod`, `mod` or stands in `(mod 5)`."""
        bracket = self.at("(") and self.peek(1)[:2] == ("op", "mod")
        if not bracket and not self.at("mod") and not self.at_command("pmod"):
            return None
        self.position += 1 + bracket
        node = self.power()
        if bracket:
            self.expect(")")
        return expression(node)

    def union(self) -> Node:
        """Sets joined by one kind of sign: union, intersection or difference."""
        parts, sign = [self.ratio()], self.peek().text
        if self.peek().kind != "op" or sign not in _SET_SIGNS:
            return parts[0]
        while self.accept(sign):
            parts.append(self.ratio())
        if self.at(*_SET_SIGNS):
            raise Unparsed("unions and intersections without brackets")
        return Node(_SET_SIGNS[sign], tuple(parts))

    def ratio(self) -> Node:
        """`3:4`, `3 : 4 : 5` and `3 to 4`; and `5 \\choose 2`, which binds as loosely."""
        parts = [self.sum()]
        if self.accept("choose"):
            return Node("binom", (expression(parts[0]), expression(self.sum())))
        while self.accept(":", "to"):
            parts.append(self.sum())
        if len(parts) == 1:
            return parts[0]
        return Node("ratio", tuple(expression(part) for part in parts))

    def sum(self) -> Node:
        terms = [self.signed()]
        while self.at("+", "-", "pm", "mp"):
            terms.append(self.signed())
        if len(terms) == 1:
            return terms[0]
        if not all(is_expression(term) for term in terms):
            raise Unparsed("a sum of something that is no number")
        return Node("add", tuple(terms))

    def signed(self) -> Node:
        """One term with the signs before it."""
        minus, either = False, ""
        while self.at("+", "-", "pm", "mp"):
            sign = self.take().text
            minus ^= sign == "-"
            if sign in ("pm", "mp"):
                if either:
                    raise Unparsed("two signs of the kind plus-minus")
                either = sign
        term = self.product()
        if minus and not either and term.op == "matrix":
            return _product([number(-1), term])
        if (minus or either) and term.op not in ("quantity", "base") and not is_expression(term):
            raise Unparsed("a sign before something that is no number")
        term = negated(term) if minus else term
        return Node("pm", (term,), either) if either else term

    # -- products ---------------------------------------------------------------------------------

    def product(self) -> Node:
        currency = units.unit(self.take().text) if self.peek().kind == "cur" else None
        negative = currency is not None and self.accept("-")
        factors = [self.power()]
        node = self.factors(factors)
        if currency is None:
            return node
        unit = currency
        if node.op == "quantity" and node.unit is not None:
            unit = units.product(currency, node.unit)
            node = node.args[0]
        value = negated(expression(node)) if negative else expression(node)
        return Node("quantity", (value,), unit=unit)

    def factors(self, factors: list[Node]) -> Node:
        """The rest of a product, after its first factor, up to a sum, a relation or a unit."""
        while True:
            token = self.peek()
            if token.kind == "end" or (token.kind == "op" and token.text not in _PRODUCT_SIGNS):
                return _product(factors)
            if (
                self.at("/")
                and self.peek(1).kind in ("text", "word")
                and quantities.per_unit(self, factors)
            ):
                return quantities.quantity(self, _product(factors))
            if self.accept("*"):
                factors.append(self.signed_factor())
            elif self.accept("/"):
                factors.append(Node("div", (ONE, expression(self.signed_factor()))))
            elif token.kind == "cur" or quantities.at_unit(self, factors):
                return quantities.quantity(self, _product(factors))
            elif token.kind in ("word", "text") and not self.split_word():
                raise Unparsed(f"the word {token.text[:20]!r} inside mathematics")
            elif self.starts_atom():
                factors.append(self.power())
            else:
                return _product(factors)

    def signed_factor(self) -> Node:
        minus = False
        while self.at("-", "+"):
            minus ^= self.take().text == "-"
        factor = self.power()
        return negated(expression(factor)) if minus else factor

    def starts_atom(self) -> bool:
        token = self.peek()
        if token.kind == "op":
            if token.text == "(" and self.peek(1)[:2] == ("op", "mod"):
                return False
            return token.text in ("(", "{", "lfloor", "lceil") or (
                token.text == "|" and not self.bars
            )
        if token.kind == "cmd":
            return token.text in _ATOM_COMMANDS
        return token.kind in _ATOM_KINDS

    def split_word(self) -> bool:
        """Turn a short run of letters into variables (`xy` is x times y); False for a word."""
        token = self.peek()
        text = token.text
        short = len(text) == 2 or (len(text) == 3 and (not token.spaced or is_run(text)))
        if token.kind != "word" or not short or text.casefold() in LITTLE_WORDS:
            return False
        letters = [Token("const" if letter in "ei" else "name", letter) for letter in text]
        self.tokens[self.position : self.position + 1] = letters
        return True

    # -- powers and atoms -------------------------------------------------------------------------

    def power(self) -> Node:
        base = self.atom()
        raised = False
        while True:
            if base.op == "quantity" or self.peek().text not in _AFTER_BASE:
                return base
            if self.accept("!"):
                if self.at("!") or raised:
                    raise Unparsed("a factorial of a factorial or of an exponent")
                base = Node("fact", (expression(base),))
            elif self.accept("%"):
                base = Node("mul", (expression(base), number(Fraction(1, 100))))
            elif self.at_command("degree"):
                self.take()
                base = self.degrees(base)
            elif self.at("^") and not raised:
                self.take()
                base = self.raised(base)
                raised = base.op == "pow"
            elif self.at("^", "'", "_"):
                raise Unparsed(f"{self.peek().text!r} is out of place")
            else:
                return base

    def raised(self, base: Node) -> Node:
        """`base` with the exponent that follows: a power, or degrees for a raised circle."""
        braced = self.at("{") and self.peek(1)[:2] in (("cmd", "circ"), ("cmd", "degree"))
        if braced:
            self.take()
        if self.at_command("circ") or self.at_command("degree"):
            self.take()
            if braced:
                self.expect("}")
            return self.degrees(base)
        if base.op == "tuple" and self.peek()[:2] == ("name", "T"):  # a column
            self.take()
            return Node("matrix", tuple(Node("row", (expression(arg),)) for arg in base.args))
        return Node("pow", (expression(base), expression(self.exponent())))

    def degrees(self, base: Node) -> Node:
        """Degrees of an angle, or of a temperature where its scale follows."""
        scale = units.temperature(self.peek().text)
        if scale is None or self.peek().kind not in ("name", "text", "word"):
            return Node("deg", (self.arc_minutes(expression(base)),))
        self.take()
        return Node("quantity", (expression(base),), unit=scale)

    def arc_minutes(self, degrees: Node) -> Node:
        """The degrees with the minutes and seconds that follow: `30^\\circ 15' 20''`."""
        for marks, share in ((1, 60), (2, 3600)):
            signs = [self.peek(1 + ahead)[:2] == ("op", "'") for ahead in range(marks)]
            if self.peek().kind == "num" and all(signs) and self.peek(1 + marks).text != "'":
                more = number(numeral(self.take().text) / share)
                degrees = Node("add", (degrees, more))
                self.position += marks
        return degrees

    def exponent(self) -> Node:
        self.enter()
        minus = False
        while self.at("-", "+"):
            minus ^= self.take().text == "-"
        node = number(numeral(self.take().text)) if self.peek().kind == "num" else self.atom()
        if self.accept("^"):  # a^b^c is a^(b^c)
            node = Node("pow", (expression(node), expression(self.exponent())))
        self.depth -= 1
        return negated(expression(node)) if minus else node

    def atom(self) -> Node:
        token = self.take()
        if token.kind == "num":
            return self.numeral(token)
        if token.kind == "based":
            return based(token.text)
        if token.kind == "field":
            if self.at("-"):  # the reals without a set
                self.tokens[self.position] = Token("op", "minus")
            return Node("field", (), token.text)
        if token.kind in ("name", "greek"):
            return self.point(token) or symbol(token.text + self.subscript())
        if token.kind == "const":
            return constant(token.text)
        if token.kind == "func":
            return self.application(token.text)
        if token.kind == "cmd":
            return self.command(token.text)
        if token.kind == "op":
            return self.bracket(token.text)
        if token.kind in ("word", "text"):
            return self.words(token)
        raise Unparsed("an operand is missing")

    def point(self, name: Token) -> Node | None:
        """The point of `A(1, 2)`, where that is the whole answer."""
        if not name.text.isupper() or self.position > 1 or not self.at("("):
            return None
        if self.tokens[-2][:2] != ("op", ")"):
            return None
        place = self.position
        node = self.atom()
        if node.op == "tuple" and self.peek().kind == "end":
            return Node("rel", (symbol(name.text), node), "=")
        self.position = place
        return None

    def numeral(self, token: Token) -> Node:
        value = numeral(token.text)
        if self.at("_"):
            return self.based(token.text)
        if self.peek().kind == "num" and self.peek(1).text == "/" and self.peek(2).kind == "num":
            return self.mixed(value, self.peek().text, self.peek(2).text, 3)
        if self.at_command("frac"):
            tokens = [self.peek(index) for index in range(1, 7)]
            shape = [part.kind if part.kind == "num" else part.text for part in tokens]
            if shape == ["{", "num", "}", "{", "num", "}"]:
                return self.mixed(value, tokens[1].text, tokens[4].text, 7)
            if shape[0] == "num" and len(tokens[0].text) == 2:
                return self.mixed(value, tokens[0].text[0], tokens[0].text[1], 2)
        if self.peek().kind == "num":
            raise Unparsed("two numbers side by side")
        return number(value)

    def mixed(self, whole: Fraction, top: str, bottom: str, length: int) -> Node:
        """`2 3/4` and `2\\frac{3}{4}`: a whole number and a proper fraction."""
        part = Fraction(numeral(top), numeral(bottom) or 1)
        if whole.denominator > 1 or not top.isdigit() or not bottom.isdigit() or not 0 < part < 1:
            raise Unparsed("a number beside a fraction that makes no mixed number")
        self.position += length
        return number(whole + part)

    def based(self, digits: str) -> Node:
        """`52_8`, `101_{2}`: a numeral in a base from 2 to 36, written with the digits 0 to 9."""
        text = self.subscript().strip("_")
        base = int(text) if text.isdigit() and len(text) < 3 else CARDINALS.get(text, 0)
        if (
            not 2 <= base <= 36
            or not digits.isdigit()
            or any(int(digit) >= base for digit in digits)
        ):
            raise Unparsed(f"a numeral with the subscript {text[:10]!r}")
        return Node("base", (number(int(digits, base)),), f"{digits}_{base}")

    def subscript(self) -> str:
        if not self.accept("_"):
            return ""
        if not self.accept("{"):
            return f"_{self.take().text}"
        parts: list[str] = []
        while not self.accept("}"):
            token = self.take()
            if token.kind == "end" or token.text in ("{", "_", "^"):
                raise Unparsed("a subscript")
            parts.append(token.text)
        return f"_{''.join(parts)}"

    def words(self, first: Token) -> Node:
        """Words where a number could stand: two or three letters are variables, others text."""
        self.position -= 1
        if not units.is_unit(first.text) and self.split_word():
            return self.atom()
        parts: list[str] = []
        while self.peek().kind in ("word", "text", "name"):
            parts.append(self.take().text)
        return Node("text", (), " ".join(parts))

    # -- brackets ---------------------------------------------------------------------------------

    def bracket(self, opener: str) -> Node:
        self.enter()
        bars, self.bars = self.bars, 0
        if opener in ("(", "[", "]"):
            node = self.parenthesis(opener)
        elif opener in ("{", "\\{"):
            node = self.braces(opener)
        elif opener in ("lfloor", "lceil"):
            node = Node(
                "fn", (expression(self.sum()),), {"lfloor": "floor", "lceil": "ceil"}[opener]
            )
            self.expect("r" + opener[1:])
        elif opener == "|":
            self.bars = 1
            node = Node("fn", (expression(self.sum()),), "abs")
            self.expect("|")
        else:
            raise Unparsed(f"{opener!r} is out of place")
        self.bars = bars
        self.depth -= 1
        return node

    def parenthesis(self, opener: str) -> Node:
        first = self.peek()
        numeral_in_base = first.kind == "num" and self.peek(1).text == ")"
        if numeral_in_base and self.peek(2)[:2] == ("op", "_"):  # (1101)_2
            self.position += 2
            return self.based(first.text)
        items, kind = self.items()
        closer = self.take().text
        if len(items) == 2 and "]" in (opener, closer) and closer == "[" or opener == "]":
            opener, closer = opener.replace("]", "("), closer.replace("[", ")")  # ]1,3[
        if closer not in (")", "]") or kind != ",":
            raise Unparsed(f"a bracket {opener!r} that is not closed")
        shape = opener + closer
        if len(items) == 1:
            if shape in ("(]", "[)"):
                raise Unparsed("brackets that do not match")
            return items[0]
        if shape == "[]" and first.text == "[" and _rows(items):
            rows = [Node("row", tuple(expression(arg) for arg in item.args)) for item in items]
            return Node("matrix", tuple(rows))
        if shape == "[]" and all(item.op == "tuple" for item in items):
            return Node("list", tuple(items), ",")
        if len(items) == 2 and shape != "()":
            return Node("interval", tuple(items), shape)
        if shape in ("(]", "[)"):
            raise Unparsed("brackets that do not match")
        return Node("tuple", tuple(items))

    def braces(self, opener: str) -> Node:
        closer = "}" if opener == "{" else "\\}"
        if self.accept(closer):
            return Node("set")
        if self.at_builder():
            return self.builder(closer)
        items, _ = self.items()
        self.expect(closer)
        if opener == "{" and len(items) == 1:
            return items[0]
        return Node("set", tuple(items))

    def at_builder(self) -> bool:
        """Whether a set is described: `x | x > 2`, `x \\in R : ...`."""
        if self.peek().kind not in ("name", "greek"):
            return False
        place = 1
        if self.peek(1)[:2] == ("op", "in") and self.peek(2).kind == "field":
            place = 3
        return self.peek(place)[:2] in (("op", "|"), ("op", ":"))

    def builder(self, closer: str) -> Node:
        name = self.take().text
        field = "R"
        if self.accept("in"):
            field = self.take().text
        self.take()
        items, kind = self.items()
        self.expect(closer)
        if field != "R":
            raise Unparsed("a set described over other numbers than the real ones")
        return Node("builder", (environments.conditions(items, kind),), name)

    # -- commands and functions -------------------------------------------------------------------

    def argument(self) -> Node:
        """What a LaTeX command takes: a braced group, or one token, of a numeral one digit."""
        self.enter()
        token = self.peek()
        if token.kind == "num" and len(token.text) > 1:
            if not token.text.isdigit():
                raise Unparsed("an argument without braces")
            self.tokens[self.position] = Token("num", token.text[1:])
            node = number(int(token.text[0]))
        elif token.kind == "num":
            self.take()
            node = number(int(token.text))
        else:
            node = self.atom()
        self.depth -= 1
        return expression(node)

    def command(self, name: str) -> Node:
        if name == "frac":
            operator = calculus.derivative(self)
            if operator is not None:
                return operator
            top = self.argument()
            return Node("div", (top, self.argument()))
        if name == "binom":
            top = self.argument()
            return Node("binom", (top, self.argument()))
        if name == "sqrt":
            return self.root()
        if name == "surd":
            self.enter()
            node = Node("fn", (expression(self.atom()),), "sqrt")
            self.depth -= 1
            return node
        if name == "empty":
            return Node("set")
        if name == "begin":
            by_cases = self.peek(1).text == "cases"
            return environments.cases(self) if by_cases else environments.matrix(self)
        if name in ("total", "product"):
            return self.series(name)
        if name in ("limit", "int"):
            self.enter()
            node = calculus.limit(self) if name == "limit" else calculus.integral(self)
            self.depth -= 1
            return node
        if name == "bar":
            return self.conjugate()
        raise Unparsed(f"{name!r} is out of place")

    def part(self, end: int) -> Node:
        """The expression that ends exactly at the token `end`."""
        rest = self.tokens[end:]
        self.tokens[end:] = [Token("end", "")]
        node = expression(self.sum())
        if self.peek().kind != "end":
            raise Unparsed(f"{self.peek().text[:20]!r} is out of place")
        self.tokens[self.position :] = rest
        return node

    def root(self) -> Node:
        degree = None
        if self.accept("["):
            degree = expression(self.sum())
            self.expect("]")
        token = self.peek()
        if token.kind == "num" and len(token.text) > 1:
            raise Unparsed("a root of digits without braces")
        under = self.argument()
        return (
            Node("fn", (under,), "sqrt") if degree is None else Node("fn", (under, degree), "root")
        )

    def conjugate(self) -> Node:
        """`\\overline{3 + 4i}`; over other things a bar is the name of something."""
        under = self.argument()
        if not holds(under, "const", "i"):
            raise Unparsed("a bar over something without i")
        return conjugated(under)

    def series(self, name: str) -> Node:
        """A finite sum or product over whole numbers, written out: `\\sum_{k=1}^{10} k`."""
        self.enter()
        self.expect("_")
        self.expect("{")
        index = self.take()
        self.expect("=")
        low = self.sum()
        self.expect("}")
        self.expect("^")
        high = self.argument()
        body = expression(self.product())
        first, last = _whole(low), _whole(high)
        if index.kind != "name":
            raise Unparsed("a sum without its index")
        if first is None or last is None:
            self.depth -= 1
            ends = (symbol(index.text), expression(low), expression(high))
            return Node("calculus", (body, *ends), "sum" if name == "total" else "prod")
        if (last - first + 1) * size(body) > MAX_SERIES:
            raise OverBudget("a sum of too many terms")
        terms = tuple(substituted(body, {index.text: number(k)}) for k in range(first, last + 1))
        self.depth -= 1
        if not terms:
            return number(0 if name == "total" else 1)
        return Node("add" if name == "total" else "mul", terms)

    def application(self, name: str) -> Node:
        """A function with its optional base and exponent: `\\log_2 8`, `\\sin^2 x`, `ln(x)`."""
        self.enter()
        base = self.base_of_logarithm() if name == "log" and self.at("_") else None
        exponent = self.exponent() if self.accept("^") else None
        argument = self.function_argument(name)
        inverse = exponent is not None and exponent.op == "num" and exponent.value == -1
        if exponent is not None and inverse and name in ("sin", "cos", "tan"):
            name, exponent = f"arc{name}", None
        node = Node("fn", (argument,) if base is None else (argument, base), name)
        if name == "cis":
            node = Node("pow", (constant("e"), Node("mul", (constant("i"), argument))))
        self.depth -= 1
        return node if exponent is None else Node("pow", (node, expression(exponent)))

    def base_of_logarithm(self) -> Node:
        self.take()
        token = self.peek()
        if token.kind == "num" and token.text.isdigit() and len(token.text) <= 2:
            self.take()
            return number(int(token.text))
        return self.argument()

    def function_argument(self, name: str) -> Node:
        if self.at("(", "[", "{", "|") or name in _ONE_ATOM:
            return expression(self.atom())
        factors = [self.power()]
        while self.starts_atom() and self.peek().kind != "func" and not self.at("("):
            factors.append(self.power())
        return expression(_product(factors))


def conjugated(node: Node) -> Node:
    if node == constant("i"):
        return negated(node)
    return Node(node.op, tuple(map(conjugated, node.args)), node.value, node.unit)


def _rows(items: list[Node]) -> bool:
    """Whether these are the rows of a matrix: tuples or intervals of one length."""
    alike = all(item.op == "tuple" or item.value == "[]" for item in items)
    return alike and len({len(item.args) for item in items}) == 1 and bool(items[0].args)


def _whole(node: Node) -> int | None:
    whole = isinstance(node.value, Fraction) and node.value.denominator == 1
    return int(node.value) if whole and isinstance(node.value, Fraction) else None


def _congruence(node: Node, modulus: Node) -> Node:
    """`x = 3 (mod 5)`, with the name "" where it has none."""
    if node.op == "rel" and str(node.value) in ("equiv", "=") and node.args[0].op == "sym":
        return Node("congruence", (expression(node.args[1]), modulus), str(node.args[0].value))
    return Node("congruence", (expression(node), modulus), "")


def _product(factors: list[Node]) -> Node:
    if len(factors) == 1:
        return factors[0]
    matrices = [place for place, factor in enumerate(factors) if factor.op == "matrix"]
    if len(matrices) == 1:
        matrix = factors.pop(matrices[0])
        scale = _product(factors)
        rows = [
            Node("row", tuple(_product([scale, arg]) for arg in row.args)) for row in matrix.args
        ]
        return Node("matrix", tuple(rows))
    for factor in factors:
        expression(factor)
    if len(factors) == 2 and factors[1].op == "div" and factors[1].args[0] is ONE:
        return Node("div", (factors[0], factors[1].args[1]))
    return Node("mul", tuple(factors))
