"""The tokens of one answer, how far they are read, and the rules that all parts of the grammar use.

`parse.Parser` implements the rules. `numbers`, `functions` and `structures` hold the parts of the
grammar that have files of their own: functions of a `Cursor`.
"""

from __future__ import annotations

from .bounds import MAX_DEPTH, OverBudget, Unparsed
from .tokens import Token
from .tree import Node, expression


class Cursor:
    """The tokens of one answer and the position of the next one.

    Each method reads what it names. It raises Unparsed if that is not there, and OverBudget.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.position = 0
        self.depth = 0
        self.bars = 0  # open absolute values
        self.vectors: set[str] = set()

    def peek(self, ahead: int = 0) -> Token:
        """The next token, or one behind it; beyond the end the last one, of kind `end`."""
        try:
            return self.tokens[self.position + ahead]
        except IndexError:
            return self.tokens[-1]

    def take(self) -> Token:
        """Read the next token."""
        token = self.peek()
        self.position += 1
        return token

    def at(self, *operators: str) -> bool:
        """Whether the next token is one of these operators."""
        try:  # the commonest question of all: it asks the token without a call
            token = self.tokens[self.position]
        except IndexError:
            return False
        return token.text in operators and token.kind == "op"

    def accept(self, *operators: str) -> bool:
        """Read the next token if it is one of these operators; whether it was."""
        try:
            token = self.tokens[self.position]
        except IndexError:
            return False
        if token.text in operators and token.kind == "op":
            self.position += 1
            return True
        return False

    def expect(self, operator: str) -> None:
        """Read this operator. Raises Unparsed if it is not next."""
        if not self.accept(operator):
            raise Unparsed(f"expected {operator!r}, found {self.peek().text[:20] or 'the end'!r}")

    def at_command(self, name: str) -> bool:
        """Whether the next token is this structure, such as `frac`."""
        token = self.peek()
        return token.text == name and token.kind == "cmd"

    def enter(self) -> None:
        """Enter one level of nesting; the caller decrements `depth` when it leaves."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise OverBudget(f"nested deeper than {MAX_DEPTH}")

    def part(self, end: int) -> Node:
        """The expression that ends exactly at the token `end`."""
        rest = self.tokens[end:]
        self.tokens[end:] = [Token("end", "")]
        node = expression(self.sum())
        if self.peek().kind != "end":
            raise Unparsed(f"{self.peek().text[:20]!r} is out of place")
        self.tokens[self.position :] = rest
        return node

    def items(self) -> tuple[list[Node], str]:
        """The members of a list, and "or", "and" or "," for how they are joined."""
        raise NotImplementedError

    def relation(self) -> Node:
        """`2 < x <= 7`, `x = 3 (mod 5)`, or one side alone."""
        raise NotImplementedError

    def sum(self) -> Node:
        """Terms with signs between them."""
        raise NotImplementedError

    def product(self) -> Node:
        """Factors, with a currency before them or a unit behind."""
        raise NotImplementedError

    def starts_atom(self) -> bool:
        """Whether the next token begins a factor without a sign before it."""
        raise NotImplementedError

    def power(self) -> Node:
        """An atom with what stands behind it: an exponent, `!`, `%`, degrees."""
        raise NotImplementedError

    def exponent(self) -> Node:
        """What follows `^`, with its sign."""
        raise NotImplementedError

    def atom(self) -> Node:
        """A numeral, a name, a function, a bracket, a command, or words."""
        raise NotImplementedError

    def argument(self) -> Node:
        """What a LaTeX command takes: a braced group, or one token, of a numeral one digit."""
        raise NotImplementedError
