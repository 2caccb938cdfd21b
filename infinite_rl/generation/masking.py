"""What a task asks for, up to its names and numbers: the features that `novelty.py` compares.

Every text is cut before it is read, and every pattern takes linear time. Programs are read as
tokens: nothing is parsed, and nothing runs.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ..parsing.number_words import CARDINALS
from ..parsing.word_tables import WordTables

PROMPT_CHARS, PROGRAM_CHARS, ANSWER_CHARS = 4_000, 4_000, 8_000  # that are read
_RESPONSE_CHARS = 40_000  # in which the program is searched for
_TABLES = WordTables(__file__)


def _stem(word: str) -> str:
    size = len(word)
    for ending, other in _ENDINGS:
        if word.endswith(ending) and size - len(ending) >= 3 and word[-2:] != "ss":
            word = word[: -len(ending)] + other
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 4 and word[-1] == "e" else word


_ENDINGS = (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("ly", ""), ("s", ""))


def _phrases(table: str) -> dict[str, list[str]]:
    """For each name of a table, what stands behind its colon, between semicolons."""
    rows = (row.split(":", 1) for row in _TABLES.rows(table))
    return {name: re.split(r"\s*;\s*", text.strip(" ;")) for name, text in rows}


_COMMON = _TABLES.words("common")
_SYNONYMS = {head: head for head in (row.split()[0] for row in _TABLES.rows("synonyms"))}
_SYNONYMS |= _TABLES.mapping("synonyms")
_SYNONYMS = {_stem(word): head for word, head in _SYNONYMS.items()} | _SYNONYMS
_NUMERALS = {word: float(value) for word, value in CARDINALS.items()}
_NUMERALS |= {word: float(value) for word, value in _TABLES.mapping("numerals").items()}
_ONE_WORD = {text: name for name, texts in _phrases("phrases").items() for text in texts}
_PHRASE = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, _ONE_WORD), key=len)[::-1])})\b")
# Each decisive word is a bit, and each row of the table a mask.
DECISIVE = {word: bit for bit, word in enumerate(dict.fromkeys(_TABLES.listed("decisive")))}
OPPOSITES = [sum(1 << DECISIVE[word] for word in row.split()) for row in _TABLES.rows("decisive")]

_IN_TICKS = re.compile(r"`[^`\n]{1,80}`|\b[A-Za-z]+_\w{1,80}|\b\w{1,80}\([^()\n]{0,60}\)")
_LITERAL = re.compile(r"\"[^\"\n]{1,80}\"|'[^'\n]{1,80}'(?!\w)")
_CAPITAL = re.compile(r"\b[A-Z][a-z]{1,30}\b")
_NAME = re.compile(
    r"(?<=[a-z,;] )[A-Z][a-z]{1,30}\b"
    rf"|\b[A-Z][a-z]{{1,30}}(?='s\b| (?:{'|'.join(_TABLES.listed('persons'))}) )"
)
_LATEX = re.compile(
    r"\\(?:text|left|right|begin|end|mathrm|quad|displaystyle|[dt]?frac|\W)|\{[pbv]?matrix\}"
)
_TOKEN = re.compile(r"\d[\d,]*(?:\.\d+)?|[^\W\d_]+|[-+*/^=<>%]")
_EXAMPLE = re.compile(r"(?:for example|e\.g\.|examples?:|>>>)[^\n]*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.?!](?=\s|\Z)|\n")
_FENCE = re.compile(r"```[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
_CODE = re.compile(
    r"(?P<comment>\"\"\".*?(?:\"\"\"|\Z)|'''.*?(?:'''|\Z)|#[^\n]*|//(?=\s[A-Za-z])[^\n]*"
    r"|/\*.*?(?:\*/|\Z)|->\s*\w+(?:\[[^\]\n]*\])?)"
    r"|(?P<text>[rbf]?\"(?:[^\"\\\n]|\\.)*\"|[rbf]?'(?:[^'\\\n]|\\.)*'|`[^`]*`)"
    r"|(?P<number>\d[\d._]*)|(?P<word>\.?[^\W\d]\w*)"
    r"|===|!==|=>|\+\+|[-+*/%<>=!&|^]=|\*\*|//|<<|>>|&&|\|\||[^\s\w;]",
    re.DOTALL,
)
_DIGITS = 100  # of a number that are read
_WORD = re.compile(r"[^\W\d]\w*")
_SMALL = ("0", "1", "2", "0.5")  # numbers with a meaning of their own
_DOES = _phrases("profile")
_BITS = {name: 1 << at for at, name in enumerate(_DOES)}
_PROFILE = [(f" {text} ", _BITS[name]) for name, texts in _DOES.items() for text in texts]
STYLE = sum(_BITS[name] for name in _TABLES.words("style"))
_NESTED, _RECURSIVE, _HELPERS = (1 << len(_BITS) + extra for extra in range(3))
_KEPT = _TABLES.words("code").union(
    word.lstrip(".")
    for texts in _DOES.values()
    for text in texts
    for word in text.split()
    if len(word) > 1
)
_IMPORT = re.compile(r"^[ \t]*(?:import|from)\b[^\n]*", re.MULTILINE)
_FORMULA = re.compile(
    r"\\[A-Za-z]+|\d[\d,]*(?:\.\d+)?|\*\*|[-+*/^=<>%()×÷·!]|(?<=\d )x(?= \d)"
    r"|\b[A-Za-z]{1,20}(?=\()"
)
_SIGNS = {"\\times": "*", "\\cdot": "*", "×": "*", "·": "*", "x": "*", "÷": "/", "\\frac": "/"}
_SIGNS |= {"\\dfrac": "/", "\\tfrac": "/", "**": "^", "\\div": "/", "\\binom": "!"}
_WORKED = re.compile(r"<<[^<>\n]*>>|<answer>.*", re.DOTALL)
_CALL = re.compile(
    r"[\w$]{1,80}\((?P<args>[^\n]{1,300}?)\){1,3}\s{0,9}(?P<out>(?:===?|!=|is )[^\n]{1,200})"
)
_CASE_CHARS = 200
_NAME_OR_TEXT = re.compile(r"\"[^\"]*\"|'[^']*'|(?P<name>[^\W\d]\w*)")
_NUMBER = re.compile(r"[-+]?\d[\d.]*(?:e[-+]?\d+)?")
_BRACKETS = str.maketrans("()", "[]", " =!;")
_AGAIN = re.compile(r"([0s]|\[[^\[\]]{0,40}\]|\{[^{}]{0,40}\})(?:,\1)+")
_NOISE = re.compile(r"[\s'\"=;()]")
_WRAPPED = re.compile(r"\b(?:console\.assert|JSON\.stringify|assert)\b\(?")


# --- prompts -------------------------------------------------------------------------------------


def words_of(text: str) -> Iterator[str]:
    """The concepts of a text in lower case, in order; "0" for each number, and its signs."""
    text = _PHRASE.sub(lambda match: f" {_ONE_WORD[match[0]]} ", text)
    for token in _TOKEN.findall(text):
        if token[0].isdigit() or token in _NUMERALS:
            yield "0"
        if token.isalpha():
            if concept := _concept(token):
                yield concept
        elif not token[0].isdigit():
            yield token


@lru_cache(maxsize=1 << 15)
def _concept(word: str) -> str:
    word = word[:40]
    if word in _COMMON:
        return ""
    stem = _stem(word)
    return _SYNONYMS.get(word) or ("" if stem in _COMMON else _SYNONYMS.get(stem, stem))


def readable(text: str, *, code: bool) -> str:
    """A prompt in lower case without its names: identifiers, examples, proper names."""
    text = unicodedata.normalize("NFKC", text[:PROMPT_CHARS])[:PROMPT_CHARS]
    if code:
        text = _LITERAL.sub(" ", _IN_TICKS.sub(" ", _EXAMPLE.sub(" ", text)))
    text = _LATEX.sub(" ", text)
    names = set(_NAME.findall(text))
    return _CAPITAL.sub(lambda match: " " if match[0] in names else match[0], text).lower()


def sentences_of(text: str) -> list[str]:
    """The sentences and lines of a readable prompt."""
    return _SENTENCE_END.split(text)


def numbers_of(text: str) -> list[float]:
    """The numbers in a text, in digits or words."""
    numbers = []
    for token in _TOKEN.findall(text[:PROMPT_CHARS].lower()):
        if token[0].isdecimal():  # ² is no decimal
            numbers.append(float(token.replace(",", "")[:_DIGITS]))
        elif token in _NUMERALS:
            numbers.append(_NUMERALS[token])
    return numbers


def decisive(concepts: Iterable[str]) -> int:
    """The decisive words among concepts, as bits."""
    return sum(1 << DECISIVE[concept] for concept in set(concepts) & DECISIVE.keys())


# --- references ----------------------------------------------------------------------------------


class Program:
    """The last code block of a response, or all of it, as tokens.

    `masked` has each name as v, `numbered` as the number of its first use; `literals` are those of
    more meaning than 0, 1 or 2; `profile` says what the program does, as bits.
    """

    def __init__(self, response: str) -> None:
        blocks = _FENCE.findall(response[:_RESPONSE_CHARS])
        code = (blocks[-1] if blocks else response)[:PROGRAM_CHARS]
        self.masked: list[str] = []
        self.numbered: list[str] = []
        self.literals: set[str] = set()
        imported = {word for line in _IMPORT.findall(code) for word in _WORD.findall(line)}
        names: dict[str, str] = {}
        before = ""
        for match in _CODE.finditer(code):
            kind, token = match.lastgroup, match[0]
            if kind == "comment":
                continue
            if kind == "text":
                self.literals.add(token.strip("rbf'\"`"))
                token = "s"
            elif kind == "number" and token not in _SMALL:
                self.literals.add(token)
                token = "n"
            masked = token
            if kind == "word" and token.lstrip(".") not in _KEPT:
                masked = ".v" if token[0] == "." else "v"
                of_library = before in imported if masked == ".v" else token in imported
                number = token if of_library else f"{masked}{len(names)}"
                token = names.setdefault(token, number)
            before = match[0]
            self.masked.append(masked)
            self.numbered.append(token)
        self.literals.discard("")
        self.profile = self._profile()

    def _profile(self) -> int:
        text = f" {' '.join(self.masked)} "
        bits = 0
        for pattern, bit in _PROFILE:
            if pattern in text:
                bits |= bit
        functions = [
            name
            for before, name in zip(self.masked, self.numbered[1:], strict=False)
            if before in ("def", "function")
        ][:20]
        bits |= _NESTED * (self.masked.count("for") > 1) | _HELPERS * (len(functions) > 1)
        return bits | _RECURSIVE * any(self.numbered.count(name) > 1 for name in functions)


def calculation_of(response: str) -> list[str]:
    """The signs of a worked solution, with each number as 0."""
    text = _WORKED.sub(" ", response[:PROMPT_CHARS])
    parts = ("0" if part[0].isdigit() else part for part in _FORMULA.findall(text))
    return [_SIGNS.get(part, part) for part in parts]


def plain_answer(answer: str) -> str:
    """An answer of mathematics without its form: its number, if it has only one."""
    text = answer[:ANSWER_CHARS].rpartition("####")[2].lower()
    numbers = re.findall(r"-?\d[\d,]*(?:\.\d+)?", text)
    if len(numbers) == 1 and not re.search(r"[\\^*/(]|sqrt|pi\b", text):
        return f"{numbers[0]}".replace(",", "")
    return re.sub(r"[\s$\\{}()*,]|[dt]?frac|text", "", text)


def cases_of(answer: str) -> list[tuple[str, str]]:
    """The test cases of a coding answer: the text of the input, and of what must come out."""
    answer = answer[:ANSWER_CHARS]
    cases: list[tuple[str, str]] = []
    try:
        spec = json.loads(answer)
        if isinstance(spec, dict):
            tests, listed = spec.get("tests"), spec.get("cases")
            answer = "\n".join(map(str, tests if isinstance(tests, list) else []))
            for case in listed if isinstance(listed, list) else []:
                if isinstance(case, dict):
                    inputs = [case[key] for key in ("input", "args", "kwargs") if key in case]
                    cases.append((json.dumps(inputs)[1:-1], json.dumps(case.get("output"))))
    except (ValueError, RecursionError):  # no JSON, or nested too deeply: read as text
        pass
    calls = _CALL.finditer(_WRAPPED.sub(" ", answer[:ANSWER_CHARS]))
    return cases + [(match["args"], match["out"]) for match in calls]


def plain_case(text: str) -> str:
    """A value of a test case without its quotes and blanks."""
    return _NOISE.sub("", text)


def signature_of(cases: Sequence[tuple[str, str]]) -> str:
    """The types of a task's input and output, as its longest case shows them: "[0],0>[s]"."""
    if not cases:
        return ""
    longest = max(cases, key=lambda case: len(case[0]))
    text = ">".join(longest)[:_CASE_CHARS]
    text = _NUMBER.sub("0", _NAME_OR_TEXT.sub("s", text)).translate(_BRACKETS)
    for _ in range(3):
        text = _AGAIN.sub(r"\1", text)
    return text
