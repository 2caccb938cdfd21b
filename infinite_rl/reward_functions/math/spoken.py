"""Answers that are language as much as mathematics: choices, numbers in words, named sets."""

from __future__ import annotations

import re

from . import units
from .number_words import number_in_words, ordinal
from .respell import respelled
from .tokens import FUNCTIONS, GREEK
from .tree import REALS, Node, number

# Of a word, not of a command.
_LETTERS = re.compile(r"(?<![\\A-Za-z])(?:[A-Za-z]{2}|[A-Z]|[ap]\.\s?m)")
_TEXT_COMMAND = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|bf)\s*\{([^{}]*)\}")
_SPACES = re.compile(r"\\[ ,;:]|\\q?quad(?![A-Za-z])|~")
_CHOICE = re.compile(
    r"(?:\(([A-J])\)|(?:option|choice|answer)\s+\(?([A-J])\)?|([A-J])[.):](?=\s|$))[.:]?"
    r"(?:\s+(?P<rest>\S.*))?",
    re.DOTALL | re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:an?|the)\s+(?=\S)")
_JOINS = re.compile(  # "(A) and (B)", "E is wrong"
    r"(?:and|or|(?:is|are|seems|looks)(?! (?:the )?(?:correct|right|best|true|answer))|isn't|was"
    r"|can't|would|could|might|may|must not)\b|[,;&/=+<>-]",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"\(?(?:wrong|incorrect|rejected|eliminated|ruled out)[).]*", re.IGNORECASE)
_IN_BASE = re.compile(
    r"(?<![0-9A-F])([0-9A-F]+)\s*(?:\\text\{\s*)?\(?\s*"
    r"(?:in\s+)?base[ -]?\s*([0-9]{1,2}|[a-z]{3,7})\s*\)?\}?$"
)
_CASES_OPEN = re.compile(r"\\left\s*\\\{\s*\\begin\{(?:array|aligned|matrix)\}(?:\{[lcr| ]*\})?")
_CASES_CLOSE = re.compile(r"\\end\{(?:array|aligned|matrix)\}\s*\\right\s*(?:\.|$)")
_ROW_GAP = re.compile(r"\\\\\[\s*-?[0-9.]+\s*(?:pt|ex|em|mm|cm)\s*\]")  # "\\[4pt]"
_GAPS = r"(?:\\[ ,;:]|[\s~])*"
_MICRO = re.compile(  # not "2 \\mu g": a product of letters
    rf"([0-9}}])(?:\s*[μµ]([mCFAVWLJTHs])|{_GAPS}(?:\\mu{_GAPS}\\(?:text|mathrm)\{{\s*"
    r"|\\(?:text|mathrm)\{[\s~]*(?:\\mu|[μµ])\s*)([msgCFAVWLJTHN]|mol|Pa|eV)\s*\})$"
)
_OHM = re.compile(
    r"([0-9])(?:[\s~]|\\[ ,;])*(?:\\(?:text|mathrm)\{)?([kM]?)\}?(?:\\Omega|[Ω\u2126])\}?$"
)
_GLUE = r"(?:\\text\s?\{|[\s,$}~]){0,4}"
_CONSTANT = re.compile(  # a note on what a letter is: "for any constant c", "where c is a constant"
    r"[\s,$]{0,4}(?:\\text\s?\{\s?)?"
    rf"(?:for{_GLUE}(?:any|some|all|every){_GLUE}(?:real)?{_GLUE}constants?{_GLUE}[a-z]"
    rf"|where{_GLUE}[a-z]{_GLUE}is{_GLUE}(?:an?|any|some){_GLUE}(?:real|arbitrary)?{_GLUE}constant)"
    rf"{_GLUE}$",
    re.IGNORECASE,
)
_CLOSING_STOP = re.compile(r"[.,;]\s*(?=\\\\|\\end\{)")
_THERE = r"there\s+are\s+(?:exactly\s+|a\s+total\s+of\s+|in\s+total\s+)?"
_THERE_ARE = re.compile(rf"^(?:(?:so|thus|therefore|hence)\b,?\s*)?{_THERE}", re.IGNORECASE)
# "So x = 5", "Therefore, there are 5 ways": words that lead to an answer.
_OPENING = re.compile(
    r"(?:so|thus|therefore|hence|then|finally)\b[,:]?\s*(?:(?:we\s+(?:get|have|find|obtain))\b[,:]?\s*)?"
    rf"(?:{_THERE}(?=[0-9]))?|{_THERE}(?=[0-9])",
    re.IGNORECASE,
)
# "The value of x is 5": what is spoken of, and a value that is no word.
_SENTENCE = re.compile(
    r"(?P<subject>[a-z][a-z ,'-]{0,100}?)"
    r"(?:\s+(?:is|are|equals|will\s+be)\s+(?:equal\s+to\s+|at\s+)?|(?P<colon>:\s+))"
    r"(?:(?P<named>(?=[a-z](?:\^\{?-1\}?)?(?:\([a-z]\))?\s*(?:[=<>≤≥]|\\[lg]eq?)))"
    r"|(?=[^a-z\s:=]|[a-z](?:[(^_]|\s?[-+*/])))",
    re.IGNORECASE,
)
_SHORTEST_SUBJECT = 3
_AGAIN = re.compile(r"(?:i\.e\.,?|that is,?|or)\s+(?=\S)")
_DIGIT = re.compile("[0-9]")
# In the name of a value these deny it or leave it open: `not x = 5`.
DENIALS = frozenset([
    "not", "no", "never", "neither", "nor", "cannot", "maybe", "perhaps", "possibly", "if",
    "unless", "or", "about", "none", "suppose", "assume", "assuming", "except", "guess", "wrong",
    "incorrect", "false",
])  # fmt: skip
_VALUE_OF = re.compile(r"(?:(?:the\s+)?value\s+of\s+)?([b-hj-z])", re.IGNORECASE)
_LEAD = re.compile(
    r"^(?:\\text\{\s*)?(?:the\s+)?(?:final\s+)?answer(?:\s+is|\s*:)\s*:?\s*\}?|"
    r"^(?:\\text\{\s*(?:for\s+)?all(?:\s+real)?\s*\}|(?:for\s+)?all(?:\s+real)?\s)\s*"
    r"(?=[a-z](?![a-z])\s*(?:[<>=≤≥≠∈]|\\(?:[lg]e|ne|lt|gt|in)))",
    re.IGNORECASE,
)
_ANGLE = re.compile(r"(?<![A-Za-z])m?\\angle\s*\{?([A-Z]{1,3})(?![A-Za-z])\}?")
_EXCEPT = re.compile(
    r"(?:\\text\{\s*)?all\s+real\s+(?:(?:numbers|values)\s*)?(?:x\s+)?(?:except|other\s+than)(?:\s+for)?\s*\}?"
    r"\s*(?:[a-z]\s*=\s*)?(.*)",
    re.IGNORECASE | re.DOTALL,
)
_SIGN_OF = {"usd": "$", "us$": "$", "us\\$": "$", "eur": "€", "gbp": "£", "rs": "₹", "inr": "₹"}
_CURRENCY_FIRST = re.compile(r"(usd|us\\?\$|eur|gbp|rs|inr)\.?\s*(?=[0-9])", re.IGNORECASE)
_ALL_REALS = frozenset([
    "all real numbers", "all reals", "real numbers", "all real values", "the real numbers",
    "the set of all real numbers", "the set of real numbers", "any real number", "all real x",
])  # fmt: skip
_EVERY_REAL = re.compile(
    r"(?:(?:true|holds|valid)?\s?for )?(?:all|every|any) (?:real )?(?:values? of |numbers? )?[t-y]"
)
_NO_MEMBERS = frozenset([
    "no solution", "no solutions", "no real solution", "no real solutions", "empty set",
    "the empty set", "there is no solution", "there are no solutions", "no real roots",
    "no solution exists", "no solutions exist",
])  # fmt: skip
_NUMBERED = re.compile(r"(?<![A-Za-z0-9\\}_^])([a-zA-Z])([0-9])(?=\s*=(?!=))")  # "x1 = 3"
_MOST_WORDS = 3  # of a unit after a number in words


def without_commands(text: str) -> str:
    """The text without the commands and spaces of LaTeX that only set words."""
    if "\\" in text or "~" in text:
        text = _SPACES.sub(" ", _TEXT_COMMAND.sub(r"\1", text.replace("\\!", "")))
    return text.strip().strip("$.,;:").strip() if text[:1] == "$" or text[-1:] in "$.,;:" else text


def may_be_spoken(plain: str) -> bool:
    """Whether a text may be a date, a time, a choice or words: most formulas cannot."""
    signs = ":" in plain or plain.count("-") == 2 or plain.count("/") == 2
    return signs or _LETTERS.search(plain) is not None


def choice(plain: str) -> tuple[str, str] | None:
    """The letter of `(B) 12`, `B. 12` or `Option B`, and what stands beside it, maybe nothing."""
    found = _CHOICE.fullmatch(plain)
    if found is None:
        return None
    letter = found[1] or found[2] or found[3]
    lower_with_more = letter.islower() and found["rest"]
    if found["rest"] and (_JOINS.match(found["rest"]) or _REFUSED.fullmatch(found["rest"])):
        return None  # "(A) and (B)"
    return None if lower_with_more else (letter.casefold(), found["rest"] or "")


def phrase(plain: str) -> Node | None:
    """A number in words, maybe with a unit, or words for a set: `five dozen`, `all reals`."""
    words = plain_text(plain)
    if words in _ALL_REALS or _EVERY_REAL.fullmatch(words):
        return REALS
    if words in _NO_MEMBERS:
        return Node("set")
    if words == "does not exist":
        return Node("text", (), "dne")
    nth = ordinal(plain.casefold().strip(" .").removeprefix("the "))  # "a third" is 1/3
    if nth is not None:
        return Node("text", (), nth)
    found = number_in_words(_THERE_ARE.sub("", plain, count=1))
    if found is None:
        return None
    value, rest = found
    if not rest:
        return number(value)
    if rest.casefold() == "percent":
        return number(value / 100)
    if len(rest.split()) > _MOST_WORDS or number_in_words(rest) is not None:
        return None
    unit = units.unit(rest)
    return None if unit is None else Node("quantity", (number(value),), unit=unit)


def plain_text(text: str) -> str:
    """Words for comparison: one case, no article, single spaces, no quotes or closing stop."""
    stripped = " ".join(text.split()).strip("\"'`.,;:!() ")
    return _ARTICLE.sub("", stripped.casefold())


def spelled_out(text: str) -> str:
    """Respellings that need more than one token: `101 base 2`, `USD 5`, cases as an array."""
    if "all" in text or "All" in text or "nswer" in text:
        text = _EXCEPT.sub(r"\\mathbb{R} \\setminus \\{\1\\}", _LEAD.sub("", text))
    if text.endswith(")"):
        text = _as_chain(text)
    if text[:1].isalpha() and " " in text:
        text = _with_its_name(_OPENING.sub("", text, count=1))
    text = respelled(text).replace("∠", "\\angle ")
    if "\\angle" in text:
        text = _ANGLE.sub(r"\\text{angle \1}", text)
    money = _CURRENCY_FIRST.match(text)
    if money:
        text = _SIGN_OF[money[1].casefold()] + text[money.end() :]
    if "=" in text:
        text = _NUMBERED.sub(r"\1_\2", text)
    if "base" in text:
        text = _IN_BASE.sub(r"\1_{\2}", text)
    if "constant" in text:
        text = _CONSTANT.sub("", text)
    if "\\begin" in text:
        text = _ROW_GAP.sub(r"\\\\", text)
        if "\\right" in text:
            text = _CASES_CLOSE.sub(r"\\end{cases}", _CASES_OPEN.sub(r"\\begin{cases}", text))
        if "cases" in text:
            text = _CLOSING_STOP.sub(" ", text)
    if "\\mu" in text or "\\Omega" in text or not text.isascii():
        text = _MICRO.sub(_millionth, _OHM.sub(r"\1 \2ohm", text))
    return text


def _as_chain(text: str) -> str:
    """`3/4 (or 0.75)` as the chain `3/4 = 0.75`, which must hold; other texts as they are."""
    first, _, second = text[:-1].rpartition("(")
    again = _AGAIN.match(second)
    if again is None or ")" in second or not (_DIGIT.search(first) and _DIGIT.search(second)):
        return text
    return f"{first} = {second[again.end() :]}"


def _millionth(found: re.Match[str]) -> str:
    unit = found[2] or found[3]
    return rf"{found[1]} um" if unit == "m" else rf"{found[1]} \cdot 10^{{-6}} \text{{{unit}}}"


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
    if sentence["named"] is not None:
        return value if DENIALS.isdisjoint(words) else text
    letter = _VALUE_OF.fullmatch(subject) if not sentence["colon"] else None
    if letter:
        return f"{letter[1]} = {value}"
    if any(len(word) == 1 and word != "a" for word in words) or len(subject) < _SHORTEST_SUBJECT:
        return text
    return f"\\text{{{subject}}} = {value}"
