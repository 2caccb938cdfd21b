"""Text to tokens, and a cursor over them: all spellings become one small vocabulary.

Kinds: `num` (text of a numeral), `based` (digits with their base, as `1F_16`), `name` (one-letter
variable), `vector` (a bold one, or one with an arrow), `greek`, `const`, `func`, `word` (several
letters in plain text), `text` (the content of `\\text{}`), `cmd` (a structure such as `frac`),
`field` (`\\mathbb{R}`), `op`, `cur` (a currency sign), `end`.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ...parsing.word_tables import WordTables
from .bounds import MAX_DEPTH, MAX_TOKENS, OverBudget, Unparsed
from .tree import Node, expression
from .units import CURRENCIES, is_unit


class Token(NamedTuple):
    """One token: its kind, and its text in the vocabulary above."""

    kind: str
    text: str
    spaced: bool = False  # white space stands before it


VOCABULARY = WordTables(__file__)


def spellings(name: str) -> dict[str, str]:
    """Each spelling of a table with the text of its token."""
    groups = map(str.split, " ".join(VOCABULARY.rows(name)).split(";"))
    return {word: text for text, *words in groups for word in words or [text]}


FUNCTIONS, SELECTIONS, GREEK = map(VOCABULARY.words, ("functions", "selections", "greek"))
CONSTANTS, _ALIASES = map(spellings, ("constants", "aliases"))
_COMMANDS, _OPERATORS = map(spellings, ("structures", "operators"))
_WORD_OPERATORS, _ARROWS, _ACCENTS = map(spellings, ("word operators", "arrows", "accents"))
_SPACING, _TEXTS = VOCABULARY.words("spacing"), VOCABULARY.words("texts")
_FONTS, _BOLD = VOCABULARY.words("fonts"), VOCABULARY.words("bold")
DENIALS = VOCABULARY.words("denials")
_QUANTITIES = VOCABULARY.words("quantities")
_UNDER_ARROW = re.compile(r"\\?([A-Za-z]+)(_.*)?")
_UNICODE = str.maketrans(
    {
        **dict.fromkeys("\u2009\u202f\u200a", "\\,"),
        "\u00a0": " ",
        **{
            character: f"{text} " if re.fullmatch(r"\\[a-z]+", text) else text
            for character, text in spellings("characters").items()
        },
    }
)
_SUPERSCRIPTS = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿˣ]+")
_SUBSCRIPTS = re.compile("[₀₁₂₃₄₅₆₇₈₉ₙₖᵢⱼₘ]+")
_UP = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿˣ", "0123456789+-nx")
_DOWN = str.maketrans("₀₁₂₃₄₅₆₇₈₉ₙₖᵢⱼₘ", "0123456789nkijm")

_MARKED_CYCLE, _LETTER_TIMES = map(VOCABULARY.pattern, ("marked cycle", "letter times"))
_TOKEN = VOCABULARY.pattern("token")
_SIGNS = re.compile(r"\\[$%]")
_JOINED = re.compile(r"(.*[^,\s]),?\s+(and|or)")  # "hours and"
_GROUP = re.compile(r"\s*(?:\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}|([A-Za-z]))")
_OPENING = re.compile(r"\s*(?:\\left\s*)?(?:\(|\\?\{)")
_SET_OPENING = re.compile(r"\s*(?:\\left\s*)?(?:[(\[]|\\?\{)")
_OPENERS, _CLOSERS = frozenset(["(", "[", "\\{"]), frozenset([")", "]", "\\}", "}"])
_BRACKETS = _OPENERS | _CLOSERS | {"{"}
_SAME_SIGN = {"**": "^", "==": "=", "\\|": "|"}
_BEFORE_SET = frozenset(["=", "(", "[", "\\{", ",", ";", "in", "cup", "or", "and"])


def ascii_text(text: str) -> str:
    """Unicode spellings of mathematics as ASCII; anything else is left as it is."""
    if "x" in text or "X" in text:
        text = _LETTER_TIMES.sub("*", text)
    if "\\dot" in text:
        text = _MARKED_CYCLE.sub(lambda match: f"({re.sub('[^0-9]', '', match[0])})", text)
    if text.isascii():
        return text
    text = _SUPERSCRIPTS.sub(lambda match: "^{" + match[0].translate(_UP) + "}", text)
    text = _SUBSCRIPTS.sub(lambda match: "_{" + match[0].translate(_DOWN) + "}", text)
    # The vulgar fractions: "2½" is the mixed number.
    return text.translate(_UNICODE)


def tokenize(text: str) -> list[Token]:
    """Tokens of an answer, ending with one of kind `end`.

    Raises Unparsed for a character that is no mathematics, OverBudget for too many tokens.
    """
    return _Lexer(ascii_text(text)).run()


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.spaced = False
        self.brackets: list[bool] = []  # of each open bracket: does a comma separate in it?
        self.tokens: list[Token] = []

    def run(self) -> list[Token]:
        text, end, match_at = self.text, len(self.text), _TOKEN.match
        while self.position < end:
            match = match_at(text, self.position)
            if match is None:
                raise Unparsed(f"the character {text[self.position]!r} is not mathematics")
            kind = match.lastgroup or ""
            start, self.position = self.position, match.end()
            if kind == "space":
                self.spaced = True
                continue
            if kind == "num":
                self.add(kind, match[0])
            elif kind == "op":
                self.operator(match[0])
            else:
                self.read(kind, match[0], start)
            if len(self.tokens) > MAX_TOKENS:
                raise OverBudget(f"more than {MAX_TOKENS} tokens")
            self.spaced = False
        self.add("end", "")
        return self.tokens

    def add(self, kind: str, text: str) -> None:
        self.tokens.append(Token(kind, text, self.spaced))

    def read(self, kind: str, text: str, start: int) -> None:
        if kind == "word":
            self.word(text)
        elif kind == "cmd":
            self.command(text[1:])
        elif kind == "comma" and self.brackets and self.brackets[-1]:
            # Inside brackets a comma separates: (12,345) is a point, 12,345 alone is a number.
            end = text.index(",")
            self.add("num", text[:end])
            self.position = start + end
        elif kind in ("grouped", "comma"):
            self.add("num", re.sub(r"[^0-9.]", "", text))
        elif kind == "escaped":
            self.add("op", text[1:])
        elif kind == "cur":
            self.add("cur", CURRENCIES[text[-1]])
        else:
            self.add("num" if kind == "repeating" else kind, text)

    def operator(self, text: str) -> None:
        if text in _BRACKETS:
            self.bracket(text)
        self.tokens.append(Token("op", _SAME_SIGN.get(text, text), self.spaced))

    def bracket(self, text: str) -> None:
        if text in _OPENERS:
            self.brackets.append(True)
        elif text == "{":
            # A brace after nothing or after an operator is a set; elsewhere it holds an argument.
            last = self.tokens[-1] if self.tokens else Token("op", "=")
            self.brackets.append(last.kind == "op" and last.text in _BEFORE_SET)
        elif self.brackets:
            self.brackets.pop()

    def word(self, text: str) -> None:
        lower = text.casefold()
        function = text in FUNCTIONS or lower in ("sqrt", "sin", "cos", "tan", "log", "ln")
        if text == "U" and self.tokens and self.tokens[-1].text in _CLOSERS:
            union = _SET_OPENING.match(self.text, self.position)  # `(-inf, 1] U [4, inf)`
            self.add("op" if union else "name", "cup" if union else text)
        elif len(text) == 1:
            self.add("const" if text in "ei" else "name", text)
        elif not function and (text in CONSTANTS or lower in ("pi", "infinity")):
            self.add("const", CONSTANTS[lower])
        elif not function and lower in _WORD_OPERATORS:
            self.add("op", _WORD_OPERATORS[lower])
        elif not function and lower in GREEK:
            self.add("greek", text)
        elif function or self.selects(text):
            self.add("func", _ALIASES.get(lower, lower))
        else:
            self.word_of_math(text)

    def selects(self, text: str) -> bool:
        """Whether this is `gcd` before a bracket: `min` alone is a unit, `max` a name."""
        name = _ALIASES.get(text.casefold(), text.casefold())
        return name in SELECTIONS and _OPENING.match(self.text, self.position) is not None

    def word_of_math(self, text: str) -> None:
        """`sinx` and `xsin` are sin and x; other runs of letters stay words for the parser."""
        for name in ("sin", "cos", "tan", "ln", "log"):
            if not is_unit(text) and len(text) <= len(name) + 1 and text.startswith(name):
                self.add("func", name)
                self.word(text[len(name) :])
                return
        self.add("word", text)

    def command(self, name: str) -> None:
        if name in _SPACING:
            if name in ("left", "right") and self.text.startswith(".", self.position):
                raise Unparsed("a bracket without a partner")
        elif name in ("color", "textcolor"):
            self.group()
        elif name in _OPERATORS:
            self.operator(_OPERATORS[name])
        elif name in _COMMANDS:
            self.add("cmd", _COMMANDS[name])
        elif name in FUNCTIONS or name in SELECTIONS or name == "det":
            self.add("func", _ALIASES.get(name, name))
        elif name in CONSTANTS:
            self.add("const", CONSTANTS[name])
        elif name in GREEK:
            self.add("greek", _ALIASES.get(name, name))
        elif name in _TEXTS:
            self.text_group(self.group())
        elif name in ("mathrm", "operatorname", "rm") or name in _FONTS:
            self.font(name, self.group())
        elif name in _QUANTITIES:
            self.add("text", name)
        elif name in _ACCENTS:
            self.add("name", self.group().strip() + _ACCENTS[name])
        elif name in _ARROWS:
            self.arrow(_ARROWS[name], self.group().strip())
        elif name.startswith("quad"):
            self.position -= len(name) - 4  # `\\quadx`: the space is lost
        else:
            raise Unparsed(f"the command \\{name[:20]} is not one that is read")

    def arrow(self, kind: str, content: str) -> None:
        """`\\vec{v}` is v and `\\hat{\\imath}` is i; `\\vec{AB}` is another name."""
        match = _UNDER_ARROW.fullmatch(content)
        if match is None:
            raise Unparsed(f"a {kind} over more than a name")
        name = match[1].removesuffix("math")
        plain = len(name) == 1 and (kind == "vec" or name in "ijk")
        self.add("vector", name if plain else f"{kind} {name}")
        self.tokens += _Lexer(match[2] or "").run()[:-1]

    def group(self) -> str:
        """The content of the braces that follow, which hold no braces themselves."""
        match = _GROUP.match(self.text, self.position)
        if match is None:
            raise Unparsed("text without braces")
        self.position = match.end()
        return re.sub(r"\\[ ,]|~", " ", match[1] or match[2] or "")

    def text_group(self, content: str) -> None:
        stripped = content.strip()
        joined = _JOINED.fullmatch(stripped)
        if joined:
            self.text_group(joined[1])
            stripped = joined[2]
        if not stripped:
            return
        if stripped.casefold() in _WORD_OPERATORS or self.selects(stripped):
            self.word(stripped.casefold())
        elif not re.search("[A-Za-z]", stripped) and "\\" not in _SIGNS.sub("", stripped):
            self.tokens += _Lexer(stripped).run()[:-1]  # \text{5} is 5
        else:
            self.add("text", stripped)

    def font(self, name: str, content: str) -> None:
        content = content.strip()
        if name == "mathbb" and content in ("R", "Z", "N", "Q", "C"):
            self.add("field", content)
            return
        unit_vectors = name in _BOLD and ("{j}" in self.text or "{k}" in self.text)
        if content in FUNCTIONS or (content in ("e", "i") and not unit_vectors):
            self.word(content)
        elif name in _FONTS and len(content) == 1 and content.isalpha():
            self.add("vector" if name in _BOLD else "name", content)
        elif name not in _FONTS:
            self.text_group(content)
        elif content.isalpha() or (name not in _BOLD and re.search("[A-Za-z]", content)):
            raise Unparsed(f"a symbol in the font {name}")
        else:
            self.tokens += _Lexer(content).run()[:-1]  # \\mathbf{14} is 14


class Cursor:
    """The tokens of one answer and the position of the next one.

    Each method reads what it names. It raises Unparsed if that is not there, and OverBudget. The
    grammar, `Parser`, has those that are only declared here.
    """

    items: Callable[[], tuple[list[Node], str]]
    starts_atom: Callable[[], bool]
    relation: Callable[[], Node]
    sum: Callable[[], Node]
    product: Callable[[], Node]
    power: Callable[[], Node]
    exponent: Callable[[], Node]
    atom: Callable[[], Node]
    argument: Callable[[], Node]

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

    def expect(self, *operators: str) -> None:
        """Read these operators, one after another. Raises Unparsed if one is not next."""
        for each in operators:
            if not self.accept(each):
                raise Unparsed(f"expected {each!r}, found {self.peek().text[:20] or 'the end'!r}")

    def at_command(self, name: str) -> bool:
        """Whether the next token is this structure, such as `frac`."""
        token = self.peek()
        return token.text == name and token.kind == "cmd"

    def __enter__(self) -> None:
        """Enter one level of nesting."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise OverBudget(f"nested deeper than {MAX_DEPTH}")

    def __exit__(self, *_: object) -> None:
        self.depth -= 1

    def texts(self, count: int) -> list[str]:
        """The texts of the tokens from here on; "num" for a numeral."""
        tokens = [self.peek(ahead) for ahead in range(count)]
        return [token.kind if token.kind == "num" else token.text for token in tokens]

    def brackets(self) -> Iterator[tuple[int, Token, int]]:
        """Each token from here on: its index, itself, and how many brackets are open behind it."""
        depth = 0
        for index, token in enumerate(self.tokens[self.position :], self.position):
            if token.kind == "op":
                depth += (token.text in _OPENERS | {"{"}) - (token.text in _CLOSERS)
            yield index, token, depth

    def part(self, end: int) -> Node:
        """The expression that ends exactly at the token `end`."""
        rest = self.tokens[end:]
        self.tokens[end:] = [Token("end", "")]
        node = expression(self.sum())
        if self.peek().kind != "end":
            raise Unparsed(f"{self.peek().text[:20]!r} is out of place")
        self.tokens[self.position :] = rest
        return node
