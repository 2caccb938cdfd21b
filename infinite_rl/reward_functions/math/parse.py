"""A precedence parser for LaTeX, plain ASCII and Unicode mathematics, giving trees of our own.

What it cannot read it refuses, with the reason: it never skips a part and never guesses. It
reads each token once and counts its depth, so its time is linear and its stack is bounded.
"""

import re
from fractions import Fraction

from . import numbers, structures, units
from .bounds import MAX_MEMBERS, OverBudget, Unparsed
from .numbers import LITTLE_WORDS, RELATIONS, SEPARATORS, based, is_consecutive_letters, numeral
from .tokens import VOCABULARY, Cursor, Token, tokenize
from .tree import ONE, Node, constant, expression, number, product_of, show, sum_of, symbol

_VOWELS = frozenset("aeiouy")
_SET_SIGNS = {"cup": "union", "cap": "intersection", "minus": "difference"}
# What may follow a factor in its product, and a base in its power; most often neither does.
_PRODUCT_SIGNS = frozenset(["*", "/", "(", "[", "{", "lfloor", "lceil", "|"])
_AFTER_BASE = frozenset(["!", "%", "degree", "^", "'", "_"])
_BARS = {"|": "abs", "lfloor": "floor", "lceil": "ceil"}
_BEFORE_LIMITS = VOCABULARY.words("before limits")
_NAMES = frozenset("fghFG")  # of functions, where one is of another
_ATOM_KINDS = frozenset(["name", "vector", "greek", "const", "func"])
_ATOM_COMMANDS = VOCABULARY.words("atoms")
_FUNCTION_HEAD = VOCABULARY.pattern("function head")
_LONGEST_HEAD = 18  # tokens
_BEHIND_NAME = frozenset(["(", "_", "^", "'", "["])
_HEAD_KINDS = frozenset(["name", "const", "greek", "text", "word"])
_DERIVATIVE_HEAD = re.compile(
    r"\s*\\[dt]?frac\{(?:d|\\partial ?)([a-z])\}\{(?:d|\\partial ?)([a-z])\}\s*=(?!=)"
)


def parse(text: str, *, short_units: bool = True) -> Node:
    """The tree of one answer. Raises Unparsed or OverBudget, nothing else, whatever the text.

    Without `short_units` their letters are variables: `mg` is m times g.
    """
    head = _DERIVATIVE_HEAD.match(text)
    tokens = tokenize(text[head.end() :] if head else text)
    node = Parser(tokens if short_units else numbers.units_as_variables(tokens)).whole()
    return Node("rel", (symbol(f"{head[1]}'({head[2]})"), node), "=") if head else node


class Parser(Cursor):
    """The grammar. Each method reads what it names, from the tokens of one answer."""

    # -- lists, relations, sums -------------------------------------------------------------------

    def whole(self) -> Node:
        """The answer, from its first token to the last."""
        if self.peek().kind == "end":
            raise Unparsed("nothing is there")
        items, kind = self.items()
        if self.peek().kind != "end":
            raise Unparsed(f"{self.peek().text[:20]!r} is out of place")
        node = items[0] if len(items) == 1 else Node("list", tuple(items), kind)
        if self.vectors:  # products of them are refused, and `3i + 4j` is a column
            structures.refuse_products(node, self.vectors)
        elif not node.is_expression or not {"i", "j"} <= {token.text for token in self.tokens}:
            return node
        return structures.in_columns(node, self.vectors)

    def items(self) -> tuple[list[Node], str]:
        """The members of a list, and "or", "and" or "," for how they are joined."""
        items, kind = [self.relation()], ","
        while self.at_separator():
            word = self.take().text
            while self.at("and", "or"):  # "1, 2, and 3"
                word = self.take().text
            kind = word if word in ("and", "or") else kind
            if self.accept("..."):
                self.expect(",")
                items += structures.continued(items, self.relation())
            else:
                items.append(self.relation())
            if len(items) > MAX_MEMBERS:
                raise OverBudget(f"a list of more than {MAX_MEMBERS} members")
        if items[-1].op == "congruence":  # "x = 1, 4 (mod 5)": one modulus for all
            modulus = items[-1].args[1]
            items = [
                item if item.op == "congruence" else _congruence(item, modulus) for item in items
            ]
        return items, kind

    def at_separator(self) -> bool:
        """Whether a sign or a word such as "for" stands between two members of a list."""
        token = self.peek()
        word = token.kind in ("text", "word") and token.text in _BEFORE_LIMITS
        return word or (token.kind == "op" and token.text in SEPARATORS)

    def relation(self) -> Node:
        """`2 < x <= 7`, `x = 3 (mod 5)`, or one side alone."""
        parts, operators = [self.function_head() or self.union()], []
        while self.peek().kind == "op" and self.peek().text in RELATIONS:
            operators.append(self.take().text)
            parts.append(self.union())
        node = Node("rel", tuple(parts), " ".join(operators)) if operators else parts[0]
        if operators and self.at(":"):  # a set that is given twice
            self.take()
            node = Node("chain", (node, self.union()))
        modulus = self.modulus()
        return node if modulus is None else _congruence(node, modulus)

    def function_head(self) -> Node | None:
        """The name in `f(x) = ...`, no product there; `f(2) = 3` is one of its values."""
        composition = self.at("(") and self.peek(2).text == "circ"
        named = self.peek().kind in _HEAD_KINDS and self.peek(1).text in _BEHIND_NAME
        if not named and not composition:
            return None
        ahead = self.tokens[self.position : self.position + _LONGEST_HEAD]
        head = _FUNCTION_HEAD.match("".join(token.text for token in ahead))
        if head is None:
            return None
        name = head[head.lastindex or 1]
        length = len(name)
        while length > 0:
            length -= len(self.take().text)
        return symbol(re.sub("[{}]", "", name))

    def modulus(self) -> Node | None:
        """What follows `\\pmod`, `mod` or stands in `(mod 5)`."""
        if self.peek().text not in ("(", "mod", "pmod"):
            return None
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
        while self.at(":", "to") and not (self.peek(1).text in ("(", "[") and self.set_follows()):
            self.take()
            parts.append(self.sum())
        if len(parts) == 1:
            return parts[0]
        return Node("ratio", tuple(expression(part) for part in parts))

    def sum(self) -> Node:
        """Terms with signs between them."""
        terms = [self.signed()]
        while self.at("+", "-", "pm", "mp"):
            if self.at("+") and self.peek(1).text == "...":
                self.position += 2
                self.expect("+")
                terms = [structures.arithmetic_sum(terms, self.product())]
            else:
                terms.append(self.signed())
        if len(terms) == 1:
            return terms[0]
        return sum_of(terms)

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
        if (minus or either) and term.op in ("matrix", "tuple"):
            opposite = product_of([number(-1), term])
            return Node("list", (term, opposite), ",") if either else opposite
        if (minus or either) and term.op not in ("quantity", "base") and not term.is_expression:
            raise Unparsed("a sign before something that is no number")
        term = -term if minus else term
        return Node("pm", (term,), either) if either else term

    # -- products ---------------------------------------------------------------------------------

    def product(self) -> Node:
        """Factors, with a currency before them or a unit behind."""
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
        value = -expression(node) if negative else expression(node)
        return Node("quantity", (value,), unit=unit)

    def factors(self, factors: list[Node]) -> Node:
        """The rest of a product, after its first factor, up to a sum, a relation or a unit."""
        while True:
            token = self.peek()
            if token.kind == "end" or (token.kind == "op" and token.text not in _PRODUCT_SIGNS):
                return product_of(factors)
            if token.text in _BEFORE_LIMITS and token.kind in ("word", "text"):
                return product_of(factors)
            rate = self.at("/") and self.peek(1).kind in ("text", "word")
            rate = rate and units.is_unit(self.peek(1).text)
            if rate and not any(factor.symbols for factor in factors):
                return numbers.quantity(self, product_of(factors))
            if self.accept("*"):
                factors.append(self.signed_factor())
            elif self.accept("/"):
                factors.append(ONE / expression(self.signed_factor()))
            elif token.kind == "cur" or numbers.at_unit(self, factors):
                return numbers.quantity(self, product_of(factors))
            elif token.kind in ("word", "text") and not self.split_word():
                raise Unparsed(f"the word {token.text[:20]!r} inside mathematics")
            elif self.composed(factors[-1]):
                factors[-1] = symbol(f"{factors[-1].value}({show(self.atom())})")
            elif (
                (self.at("[") and self.holds_one())
                or self.starts_atom()
                or (token.kind == "num" and self.multiplies(factors[-1]))
            ):
                factors.append(self.power())
            else:
                return product_of(factors)

    def signed_factor(self) -> Node:
        """A factor behind a sign of multiplication, which may have a sign, too."""
        minus = False
        while self.at("-", "+"):
            minus ^= self.take().text == "-"
        factor = self.power()
        return -expression(factor) if minus else factor

    def starts_atom(self) -> bool:
        """Whether the next token begins a factor without a sign before it."""
        token = self.peek()
        if token.kind == "op":
            if token.text == "(" and self.peek(1)[:2] == ("op", "mod"):
                return False
            opens = token.text in ("(", "{", "lfloor", "lceil")
            return opens or (token.text == "|" and not self.bars)
        if token.kind == "cmd":
            return token.text in _ATOM_COMMANDS
        return token.kind in _ATOM_KINDS

    def composed(self, last: Node) -> bool:
        """Whether `f(g(` stands here: no product, whose factors could change their places."""
        inner = self.at("(") and self.peek(1).kind == "name" and self.peek(2).text == "("
        return inner and last.op == "sym" and {last.value, self.peek(1).text} <= _NAMES

    def set_follows(self) -> bool:
        """Whether an interval stands behind the next token."""
        self.position += 1
        one = self.holds_one()
        self.position -= 1
        return not one

    def holds_one(self) -> bool:
        """Whether the bracket that opens next holds one expression: `a[b + 1]`."""
        start = self.position
        for index, token, depth in self.brackets():
            if not depth and index > start:
                return token.text in (")", "]")
            if depth == 1 and token[:2] in (("op", ","), ("op", ";")):
                return False
        return False

    def multiplies(self, last: Node) -> bool:
        """Whether a numeral continues with a product: `2!3!`, `n 2^n`, `n2^{n-1}`, not `x1^2`."""
        if last.op == "fact":
            return True
        if last.op in ("num", "quantity") or self.peek(1).text != "^":
            return False
        return self.peek().spaced or last.op != "sym" or self.peek(2).kind != "num"

    def split_word(self) -> bool:
        """Turn a short run of letters into variables (`xy` is x times y); False for a word."""
        token = self.peek()
        text = token.text
        short = len(text) == 2 or (
            len(text) == 3
            and (not token.spaced or is_consecutive_letters(text) or _is_product(text))
        )
        if token.kind != "word" or not short or text.casefold() in LITTLE_WORDS:
            return False
        letters = [Token("const" if letter in "ei" else "name", letter) for letter in text]
        self.tokens[self.position : self.position + 1] = letters
        return True

    # -- powers and atoms -------------------------------------------------------------------------

    def power(self) -> Node:
        """An atom with what stands behind it: an exponent, `!`, `%`, degrees."""
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
        if base.op == "matrix":
            if self.exponent() != symbol("T"):
                raise Unparsed("a power of a matrix")
            columns = zip(*(row.args for row in base.args), strict=True)
            return Node("matrix", tuple(Node("row", column) for column in columns))
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
        """What follows `^`, with its sign."""
        minus = False
        with self:
            while self.at("-", "+"):
                minus ^= self.take().text == "-"
            node = number(numeral(self.take().text)) if self.peek().kind == "num" else self.atom()
            if self.accept("^"):  # a^b^c is a^(b^c)
                node = Node("pow", (expression(node), expression(self.exponent())))
        return -expression(node) if minus else node

    def atom(self) -> Node:
        """A numeral, a name, a function, a bracket, a command, or words."""
        token = self.take()
        if token.kind == "num":
            return numbers.mixed_or_plain(self, token)
        if token.kind == "based":
            return based(token.text)
        if token.kind == "field":
            return structures.field(self, token.text)
        if token.kind in ("name", "greek"):
            return (
                self.point(token)
                or structures.binomial(self, token.text)
                or symbol(token.text + numbers.subscript(self) + self.primes())
            )
        if token.kind == "vector":
            name = token.text + numbers.subscript(self)
            self.vectors.add(name)
            return symbol(name)
        if token.kind == "const":
            return constant(token.text)
        if token.kind == "func":
            with self:
                return structures.application(self, token.text)
        if token.kind == "cmd":
            return self.command(token.text)
        if token.kind == "op":
            return self.bracket(token.text)
        if token.kind in ("word", "text"):
            return self.words(token)
        raise Unparsed("an operand is missing")

    def primes(self) -> str:
        """The marks of a derivative: `y''`."""
        marks = 0
        while self.accept("'"):
            marks += 1
        if marks > 3:
            raise Unparsed("a derivative of more than the third order")
        return "'" * marks

    def point(self, name: Token) -> Node | None:
        """The point of `A(1, 2)`, where that is the whole answer."""
        if not name.text.isupper() or self.position > 1 or not self.at("("):
            return None
        start = self.position
        node = self.atom()
        if node.op == "tuple" and self.peek().kind == "end":
            return Node("rel", (symbol(name.text), node), "=")
        self.position = start
        return None

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
        """What a bracket that is taken holds, up to its partner."""
        bars, self.bars = self.bars, int(opener == "|")
        with self:
            if opener in ("(", "[", "]"):
                node = self.parenthesis(opener)
            elif opener in ("{", "\\{"):
                node = self.braces(opener)
            elif opener in ("lfloor", "lceil", "|"):
                node = Node("fn", (expression(self.sum()),), _BARS[opener])
                self.expect(opener.replace("l", "r", 1))
            else:
                raise Unparsed(f"{opener!r} is out of place")
        self.bars = bars
        return node

    def parenthesis(self, opener: str) -> Node:
        """The same of a round or square one: a group, a point, an interval, a matrix."""
        first = self.peek()
        numeral_in_base = first.kind == "num" and self.peek(1).text == ")"
        if numeral_in_base and self.peek(2)[:2] == ("op", "_"):  # (1101)_2
            self.position += 2
            return numbers.in_base(self, first.text)
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
        """The same of a brace: a group or a set."""
        closer = "}" if opener == "{" else "\\}"
        first = self.peek()
        if first.kind == "num" and opener == "{" and self.peek(1)[:2] == ("op", "}"):
            self.position += 2
            return number(numeral(first.text))  # what most commands and exponents take
        if self.accept(closer):
            return Node("set")
        if structures.at_builder(self):
            return structures.builder(self, closer)
        residues = structures.residue_classes(self, closer)
        if residues is not None:
            return residues
        items, _ = self.items()
        self.expect(closer)
        if opener == "{" and len(items) == 1:
            return items[0]
        return Node("set", tuple(items))

    # -- commands and functions -------------------------------------------------------------------

    def argument(self) -> Node:
        """What a LaTeX command takes: a braced group, or one token, of a numeral one digit."""
        token = self.peek()
        if token.kind == "num" and len(token.text) > 1:
            if not token.text.isdigit():
                raise Unparsed("an argument without braces")
            self.tokens[self.position] = Token("num", token.text[1:])
            return number(int(token.text[0]))
        with self:
            return number(int(self.take().text)) if token.kind == "num" else expression(self.atom())

    def command(self, name: str) -> Node:
        """What follows a structure that is taken, such as `frac`."""
        if name == "frac":
            operator = structures.derivative(self)
            return operator or self.argument() / self.argument()
        if name == "binom":
            return Node("binom", (self.argument(), self.argument()))
        if name == "empty":
            return Node("set")
        if name == "sqrt":
            return structures.root(self)
        if name == "bar":
            return structures.conjugate(self)
        with self:
            if name == "surd":
                return Node("fn", (expression(self.atom()),), "sqrt")
            if name == "begin":
                return structures.environment(self)
            if name in ("total", "product"):
                return structures.series(self, name)
            if name in ("limit", "int"):
                return structures.limit(self) if name == "limit" else structures.integral(self)
        raise Unparsed(f"{name!r} is out of place")


def _is_product(text: str) -> bool:
    """Whether three letters are no word: they have no vowel, as `nRT` and `mgh`."""
    return _VOWELS.isdisjoint(text.casefold()) and text != "nth" and not units.is_unit(text)


def _rows(items: list[Node]) -> bool:
    """Whether these are the rows of a matrix: tuples or intervals of one length."""
    alike = all(item.op == "tuple" or item.value == "[]" for item in items)
    return alike and len({len(item.args) for item in items}) == 1 and bool(items[0].args)


def _congruence(node: Node, modulus: Node) -> Node:
    """`x = 3 (mod 5)`, with the name "" if it has none."""
    if node.op == "rel" and str(node.value) in ("equiv", "=") and node.args[0].op == "sym":
        return Node("congruence", (expression(node.args[1]), modulus), str(node.args[0].value))
    if node.op == "rel" and not any(arg.symbols for arg in node.args):
        return expression(node.args[-1])  # of `7^{100} \\equiv 1 (mod 5)`
    return Node("congruence", (expression(node), modulus), "")
