"""What the last sentence of a solution states, by the role that each value has in it.

A sentence is written as a phrase: its words and marks, with `#` for each piece of mathematics. It
is cut into clauses at marks and at words such as "so", "which" and "because". The words right
beside a value give it a role: a result ("it is 5"), an object ("5 are left"), a place ("at x = 5"),
or none ("less than 5"). A clause states, denies, or is an aside. `docs/answers.md` has the rules.
"""

import re
from collections.abc import Sequence
from itertools import permutations, takewhile
from typing import NamedTuple

from ...parsing.number_words import CARDINALS, multiple
from ...parsing.word_tables import WordTables, lazily_compiled
from .statements import fault_after, fault_before
from .units import is_unit

_TABLES = WordTables(__file__)
_pattern, _words = _TABLES.pattern, _TABLES.words


class Token(NamedTuple):
    """A word in small letters, a mark, or `#`, with its place in the sentence."""

    kind: str
    start: int
    end: int


class Phrase:
    """A sentence, or a part of it, as tokens; `words` are their kinds with spaces between."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text, self.tokens = text, tokens
        self.words = " ".join([token.kind for token in tokens])

    def part(self, start: int, end: int | None = None) -> "Phrase":
        """The tokens that begin between two places of the words."""
        last = len(self.tokens) if end is None else self._index(end)
        return Phrase(self.text, self.tokens[self._index(start) : last])

    def _index(self, end: int) -> int:
        return self.words.count(" ", 0, end) + (self.words[end - 1 : end] not in ("", " "))

    @property
    def written(self) -> str:
        """The sentence's own text from the first token to the last."""
        return self.text[self.tokens[0].start : self.tokens[-1].end] if self.tokens else ""


class Clause(NamedTuple):
    """The marks and words that open a clause, its phrase, and "states", "denies" or "aside"."""

    openers: frozenset[str]
    phrase: Phrase
    status: str = "states"


class Value(NamedTuple):
    """A value with its clause, its text, what stands before and behind it, and its role."""

    clause: Clause
    written: str
    before: str
    after: str
    role: str


# -- sentences ------------------------------------------------------------------------------------

_SENTENCES, _SENTENCE, _SEVERAL_WORDS = map(_pattern, ("sentences", "sentence", "words"))
_QED, _OF_A_LIST, _BULLET, _ITEM = map(_pattern, ("qed", "of a list", "bullet", "item"))
_PART, _REMARK = _pattern("part"), _pattern("remark")
_AS_REQUIRED, _CONCLUDES = _pattern("as required"), _pattern("concludes")
_BOLD, _DOUBTED, _EVERYWHERE = map(_pattern, ("bold", "doubted", "everywhere"))
_BOLD_COMMAND = _pattern("bold command")
_LONGEST, _MOST = 1_000, 150  # characters, and tokens, of a sentence that is read
_TAIL = 3_000  # characters at the end of a text in which its last sentence begins


def is_spoken(text: str) -> bool:
    """Whether a text is one sentence, or several, and no bare answer."""
    text = text.strip()[-_TAIL:]
    several = _SENTENCES.search(text) and _SEVERAL_WORDS.search(text)
    return bool(several or _SENTENCE.search(text))


def last_answer(text: str, question: str = "") -> str | None:
    """What the last sentence of a text states, that is no remark; None if it states nothing.

    Of several values the `question` tells which one it asks for.
    """
    text, closed = _OF_A_LIST.subn("", _QED.sub("", text.strip()).rstrip())
    items = [*takewhile(_BULLET.match, reversed(text.rstrip().split("\n")))][::-1]
    if len(items) > 1:  # "* youngest: 8" and so on, each on its line
        items = [_BULLET.sub("", item).replace("*", "").strip(" .,;") for item in items]
        named = all(map(_ITEM.fullmatch, items))
        if named or closed or not any(map(_SEVERAL_WORDS.search, items)):
            values = [
                item.replace(":", "") if named else sentence_answer(f"{item}.") for item in items
            ]
            if None not in values:
                return ", ".join(map(str, values))
    labels = list(_PART.finditer(text)) if "a)" in text or "i)" in text else []
    if len(labels) > 1 and labels[0][1] in ("a", "i"):
        ends = [*(match.start() for match in labels[1:]), len(text)]
        parts = [_last(text[m.end() : end], "") for m, end in zip(labels, ends, strict=True)]
        if None not in parts:
            return " ".join(f"({m[1]}) {part}" for m, part in zip(labels, parts, strict=True))
    return _last(text[-_TAIL:], question)


def _last(text: str, question: str) -> str | None:
    """The answer of the last sentence, or of the conclusion that it finds to be as required."""
    checking = None
    starts = [0, *(match.end() for match in _SENTENCES.finditer(text))]
    for start, end in zip(starts[::-1], [*starts[1:], len(text)][::-1], strict=True):
        sentence = text[start:end].strip()
        if len(sentence) > _LONGEST:
            return None
        if not sentence or _REMARK.fullmatch(sentence):
            continue
        if checking is None and _AS_REQUIRED.search(sentence):
            checking = sentence
        elif checking is None or _CONCLUDES.search(sentence):
            return sentence_answer(sentence, question)
        else:
            break
    return sentence_answer(checking, question) if checking else None


def sentence_answer(sentence: str, question: str = "") -> str | None:
    """What a sentence states: its value with unit and restriction, None if it states nothing.

    The last conclusion counts that has a value, or words if the question asks for them.
    """
    if sentence.endswith("?") or len(sentence) > _LONGEST:
        return None
    sentence = _BOLD_COMMAND.sub(r"**\1**", sentence) if "\\textbf" in sentence else sentence
    bold = list(_BOLD.finditer(sentence)) if "**" in sentence else []
    if len(bold) == 1 and not fault_before(sentence[: bold[0].start()]):
        content = bold[0][1] or bold[0][2]
        return (is_spoken(content) and sentence_answer(content, question)) or content
    phrase = _tokenized(sentence.replace("**", ""))
    if len(phrase.tokens) > _MOST or _DOUBTED.search(phrase.words):
        return None
    closing = " .,;:!" if " ( " in phrase.words else " .,;:!)"
    phrase = phrase.part(0, len(phrase.words.rstrip(closing)))
    everywhere = _EVERYWHERE.search(phrase.words)
    if everywhere and not _DISCLAIMED.search(everywhere[1]):
        kinds = everywhere["kinds"].strip().removesuffix("s")
        numbers = re.split(r"\\in(?![a-z])|∈", phrase.part(everywhere.start("numbers")).written)[1:]
        if kinds or numbers:
            return f"all {kinds}s" if kinds else f"${numbers[0].partition('$')[0]}$"
    phrase, restriction = _without_restriction(phrase)
    asks_words = _ASKS_WORDS.search(question)
    grouped = _grouped(phrase)
    for part in reversed(_conclusions(grouped)):
        numeric = "#" in phrase.words or any("#" in _counted(c.phrase).words for c in part)
        words = _verdict(part, question)
        if not words and (asks_words or not numeric):
            words = _in_words(part, question)
        if words and not _repeated(words, question):
            return words
        stated = _stated(part, grouped, question)
        if stated != "":
            return stated and stated + restriction
    return None


# -- tokens ---------------------------------------------------------------------------------------

_KINDS = ("formula", "pair", "short", "word", "mark", "bare")
_TOKEN = lazily_compiled(
    "|".join(f"(?P<{kind}>{_TABLES.source(kind)})" for kind in _KINDS), re.DOTALL
)
_NO_UNITS, _UNIT_WORDS, _PER_UNIT = _words("no units"), _words("unit words"), _pattern("per unit")
_QUOTES = str.maketrans("\u201c\u201d", '""')
_GROUPS = {True: _pattern("ratio group"), False: _pattern("group")}
_ARROW, _RATIO, _FRONTED, _ONE = map(_pattern, ("arrow", "ratio", "fronted", "one"))


def _tokenized(sentence: str) -> Phrase:
    tokens: list[Token] = []
    for match in _TOKEN.finditer(sentence):
        last = tokens[-1] if tokens else Token("", 0, 0)
        follows = last.kind == "#" and not sentence[last.end : match.start()].strip()
        word = match[0].casefold()
        if match.lastgroup in ("word", "mark", "short"):
            measure = follows and word not in _NO_UNITS and (is_unit(word) or word in _UNIT_WORDS)
            if follows and (measure or _PER_UNIT.match(sentence, match.start())):
                tokens[-1] = Token("#", last.start, match.end())
            else:
                name = "iff" if word.startswith("if and") else word.translate(_QUOTES)
                tokens.append(Token(name, *match.span()))
        elif follows or (
            last.kind in ("minus", "negative") and [t.kind for t in tokens[-2:-1]] != ["#"]
        ):
            tokens[-1] = Token("#", last.start, match.end())
        elif last.kind in ("as", "when") and _ARROW.search(match[0]):
            tokens.pop()  # "as $x \\to 0$"
        else:
            tokens.append(Token("#", *match.span()))
    return Phrase(sentence, tokens)


def _grouped(phrase: Phrase) -> Phrase:
    """The phrase with one `#` for "1, 2 and 3", and for "3 to 5" in a ratio.

    The comma of "Dividing by 3, x = 2" joins nothing.
    """
    tokens: list[Token] = []
    begin = 0
    for match in _GROUPS[bool(_RATIO.search(phrase.words))].finditer(phrase.words):
        start = match.start()
        if _FRONTED.search(phrase.words[:start]):
            start = start + match[0].rfind(", ") + 2 if ", " in match[0] else match.end()
        group = phrase.part(start, match.end()).tokens
        tokens += phrase.part(begin, start).tokens
        tokens += [Token("#", group[0].start, group[-1].end)] if group else []
        begin = match.end()
    return Phrase(phrase.text, [*tokens, *phrase.part(begin).tokens]) if begin else phrase


def _counted(phrase: Phrase) -> Phrase:
    """The phrase with `#` for a number in words."""
    kinds = [*[token.kind for token in phrase.tokens], ".", "."]
    if not any(kind.partition("-")[0] in CARDINALS for kind in kinds):
        return phrase
    result: list[Token] = []
    for index, token in enumerate(phrase.tokens):
        last = result[-1] if result else Token("", 0, 0)
        first = token.kind.partition("-")[0]
        ahead = kinds[index + 1] if kinds[index + 1] not in ("and", "or") else kinds[index + 2]
        many = first in CARDINALS or multiple(token.kind, one=True) is not None or is_unit(first)
        if (last.kind == "#" and many) or (
            first in CARDINALS and last.kind in ("minus", "negative")
        ):
            result[-1] = Token("#", last.start, token.end)
        elif first not in CARDINALS or (
            token.kind == "one"
            and not (ahead == "." and _ONE.search(" ".join(kinds[:index])))
            and not (ahead in CARDINALS or multiple(ahead, one=True) is not None)
        ):
            result.append(token)
        else:
            result.append(Token("#", token.start, token.end))
    return Phrase(phrase.text, result)


# -- clauses --------------------------------------------------------------------------------------

_MARKS = frozenset(',;:!?()"\u2013\u2014.')
_OPENERS, _CONCLUDING, _GOVERNING = map(_words, ("openers", "concluding", "governing"))
_ASIDE, _SUPPOSING = _words("aside"), _words("supposing")
_VERBS, _GOES_ON, _OF_IT = map(_pattern, ("verbs", "goes on", "of it"))
_ALONE = _pattern("alone")
_SUPPOSES, _HYPOTHETICAL, _SET_APART = map(_pattern, ("supposes", "hypothetical", "set apart"))
_UNCLAIMED, _DISCLAIMED, _ROUNDED = map(_pattern, ("unclaimed", "disclaimed", "rounded"))
_CHANGED, _CHANGED_BEHIND = _pattern("changed"), _pattern("changed behind")
_COMPARED_WITH = _pattern("compared with")


def _conclusions(phrase: Phrase) -> list[list[Clause]]:
    """The clauses of each part of a sentence; a word such as "so" begins another part."""
    kinds = phrase.words.split()
    parts: list[list[Clause]] = [[]]
    openers: set[str] = set()
    begin = 0
    for index, kind in enumerate([*kinds, "."]):
        if kind not in _MARKS and not _opens(kinds, begin, index):
            continue
        if begin < index:
            if not _CONCLUDING.isdisjoint(openers) and parts[-1]:
                parts.append([])
            clause = Phrase(phrase.text, phrase.tokens[begin:index])
            parts[-1].append(Clause(frozenset(openers), clause))
            openers = set()
        openers.add(kind)
        begin = index + 1
    return [_judged(part) for part in parts if part]


def _opens(kinds: Sequence[str], begin: int, index: int) -> bool:
    """Whether a word begins a clause, and joins no two words and governs no value."""
    word, head, rest = kinds[index], kinds[begin:index], kinds[index + 1 :]
    if word not in _OPENERS or not head:
        return word in _OPENERS or (word == "whose" and not head)
    if word in ("and", "or"):
        rest = [*takewhile(lambda other: other not in _MARKS | _OPENERS, rest)]
        return "#" in rest or (word == "and" and _VERBS.search(" ".join(rest)) is not None)
    if word in _GOVERNING:
        alone = rest[:1] == ["#"] and (len(rest) == 1 or rest[1] in _MARKS | _OPENERS)
        return not alone and ("#" in head or _VERBS.search(" ".join(head)) is not None)
    return not _GOES_ON.search(" ".join(kinds[begin : index + 1]))  # "is therefore", "all but"


def _judged(part: Sequence[Clause]) -> list[Clause]:
    """The clauses with what each does: state, deny, or stand aside as a reason or a condition."""
    result: list[Clause] = []
    supposed = enclosed = False
    for clause in part:
        openers, words = clause.openers, clause.phrase.words
        last = result[-1].status if result else "states"
        fronted = all(other.status == "aside" for other in result)
        enclosed = "(" in openers or (enclosed and ")" not in openers)
        conditional = not _SUPPOSING.isdisjoint(openers)
        if result and (
            (conditional and "," not in openers)  # "5 if n is odd"
            or (openers == {","} and _CHANGED_BEHIND.match(words))  # ", in metres"
        ):
            result[-1] = result[-1]._replace(status="denies")
        supposed = (
            (supposed and "but" not in openers) or conditional or bool(_SUPPOSES.search(words))
        )
        relevant = {"where"} if _OF_IT.search(words) else set()  # "where its value is 5"
        alternative = "or" in openers and "#" in words
        alone = _ALONE.search(words)
        status = "states"
        if (
            supposed
            or (len(part) > 1 and openers & _ASIDE - relevant)
            or (enclosed and not alternative)
            or (alternative and _ROUNDED.search(words))
            or (_HYPOTHETICAL if clause is part[-1] else _SET_APART).search(words)
            or (alone and last == "aside" and not fronted)
        ):
            status = "aside"
        elif (
            alternative
            or (last == "denies" and ("that" in openers or alone))  # "I have no idea, 5"
            or _UNCLAIMED.search(words)
        ):
            status = "denies"
        result.append(clause._replace(status=status))
    return result


# -- values ---------------------------------------------------------------------------------------

_CONTRASTING = _words("contrasting")
_SUBJECT, _DESCRIBED = _pattern("subject"), _pattern("described")
_HOW_MANY, _ASKED, _ASKS_WORDS = map(_pattern, ("how many", "asked", "asks words"))


def _stated(part: Sequence[Clause], sentence: Phrase, question: str) -> str | None:
    """What the last clause with a result states; None if that is denied, "" without a value."""
    first, last = part[0].phrase.tokens[0], part[-1].phrase.tokens[-1]
    within = [token for token in sentence.tokens if first.start <= token.start <= last.start]
    other_form = _in_other_form(Phrase(sentence.text, within), question)
    if other_form != "":
        return other_form
    values = [_values(c, question) if c.status == "states" else [] for c in part]
    for roles in (("result", "object"), ("place",)):
        for index in reversed(range(len(part))):
            clause = part[index]
            denial = clause.status == "denies" and "#" in clause.phrase.words and "object" in roles
            contrast = clause.openers & _CONTRASTING or clause.phrase.words.startswith("not ")
            if denial and not contrast:
                return None
            value = _chosen(values[index], roles, question)
            if value is not None:
                subject = _SUBJECT.search(value.before)
                for other in range(index if subject and subject["noun"] is not None else 0):
                    named = [v for v in sum(values[other][:1], []) if v.role == "asked"]
                    if named and value.role == "result":  # "It has area 5, and the other is 7"
                        return _text_of(part[: other + 1], named[-1], question)
                return _text_of(part[: index + 1], value, question)
            if roles == ("place",) and clause.status == "states" and "#" in clause.phrase.words:
                break  # "... and 3^20 is greater than 2^30"
    stating = [clause.phrase for clause in part if clause.status == "states"]
    for phrase in reversed(stating):
        described = _DESCRIBED.search(phrase.words)
        if described and not _repeated(described["words"], question):
            return phrase.part(described.start("words")).written
    return None if sum(phrase.words.count("#") for phrase in stating) > 1 else ""


def _repeated(words: str, question: str) -> bool:
    """Whether words are a part of the question, so that what they are said of is the answer."""
    counted = _HOW_MANY.search(question)
    options = set(re.findall("[a-z]+", question)) if "hich " in question else set()
    return set(words.split()) <= (options or {counted[1] if counted else ""})


def _values(clause: Clause, question: str) -> list[list[Value]]:
    """The values of a clause that have a role: without, and with, numbers in words."""
    described = _DESCRIBED.search(clause.phrase.words)
    if described and not _repeated(described["words"], question):
        return []
    counted = _counted(clause.phrase)
    phrases = [clause.phrase] if counted is clause.phrase else [clause.phrase, _grouped(counted)]
    each: list[list[Value]] = []
    for phrase in phrases:
        spans = [match.span() for match in re.finditer("#", phrase.words)]
        around = [
            (phrase.part(*p).written, phrase.words[: p[0]], phrase.words[p[1] :]) for p in spans
        ]
        of_phrase = clause._replace(phrase=phrase)
        values = [Value(of_phrase, *texts, _role(*texts, question)) for texts in around]
        each.append([value for value in values if value.role])
    return each


def _chosen(each: list[list[Value]], roles: Sequence[str], question: str) -> Value | None:
    """The last result, the only object that is new, or the only place; None without any."""
    for values in each:
        new = [value for value in values if not _is_in_question(value, question, len(values) > 1)]
        for role in roles:
            matches = [v for v in values if v.role == role or (v.role, role) == ("asked", "result")]
            if role == "object":
                matches = [value for value in matches if value in new]
            alone = len(matches) == 1 and (role == "object" or new == matches)
            if matches and (alone or role == "result"):
                return matches[-1]
    return None


_NUMERAL, _PLAIN_VALUE = _pattern("numeral"), _pattern("plain value")
_FORMULA = re.compile(r"\$[^$]*[A-Za-z\\][^$]*\$")


def _is_in_question(value: Value, question: str, several: bool) -> bool:
    """Whether a value only repeats a number of the question; a count that it asks for may do so."""
    if not several:
        if not _PLAIN_VALUE.fullmatch(value.written) or "ow many" not in question:
            return False
        if value.role == "object" and len(value.before.split()) < 2:
            return False
        question = _FORMULA.sub("", question)
    return {*_NUMERAL.findall(question)}.issuperset(_NUMERAL.findall(value.written))


_OF_ANOTHER, _POINTED, _NAMED_VALUE = map(_pattern, ("of another", "pointed", "named value"))
_CIRCUMSTANCE, _RESULT, _PLACE = map(_pattern, ("circumstance", "result", "place"))
_SINGLE, _AMOUNT, _REACHED = map(_pattern, ("single", "amount", "reached"))
_NO_LABEL = _words("no label")


def _role(written: str, before: str, behind: str, question: str) -> str:
    """What a value is by the words beside it: a result, an object, a place, or "" for none."""
    after, near = behind.partition("#")[0], before.rpartition("#")[2]
    changed, compared = _CHANGED_BEHIND.search(after), _COMPARED_WITH.search(after)
    if (
        _CHANGED.search(_VERBS.split(before)[-1])
        or (changed and changed[0] not in question.rpartition(". ")[2])
        or (compared and compared[0] not in question.casefold())  # "14 more girls than boys"
        or (_OF_ANOTHER.search(behind) and not written.endswith(("%", "percent")))
        or (behind and _POINTED.search(before))
    ):
        return ""
    requested = [word.casefold() for word in _requested(question)]
    named = _NAMED_VALUE.search(before)
    if named and named[1] in requested and named[1] not in _NO_LABEL and "and" not in requested:
        return "" if _CIRCUMSTANCE.search(before) else "asked"
    if _RESULT.search(before):
        return "result"
    if (before or behind) and _SINGLE.fullmatch(written):
        return ""  # a letter
    if not before and "#" in behind and not _PLAIN_VALUE.fullmatch(written):
        return ""  # the subject of "x + y is 5 more than 2"
    phrase = _PLACE.search(near)
    verb_part = before[: -len(phrase[0])].strip() if phrase else ""
    fronted = not verb_part and phrase and len(phrase[0].split()) > 3  # "in total she earns"
    if phrase is None or fronted or _AMOUNT.search(before):
        return "object"
    if not verb_part and not behind:
        return "place"  # "In 10 years"
    blocked = not verb_part or _REACHED.search(verb_part + phrase[0]) or _VERBS.search(after)
    return "" if blocked else "place"


_SPELLED = {"equal sign": r"\1", "last stop": r"\1", "name of matrix": "", "factorial": r"\1 ="}
_SPELLED |= {"measured product": r"\1", "and then": r"\1", "minus sign": "-"}
_SPELLINGS = [(_pattern(name), instead) for name, instead in _SPELLED.items()]
_ROUNDED_OFF = _pattern("rounded off")
_SPELLED_OUT, _ALL_EQUAL, _ABOUT = map(_pattern, ("spelled out", "all equal", "about"))
_NAMES, _VARIABLE, _MODULUS = map(_pattern, ("names", "variable", "modulus"))


def _text_of(clauses: Sequence[Clause], value: Value, question: str) -> str | None:
    """A value as it is written, with its noun, or with the values that stand beside it."""
    named = _named_values(clauses, value)
    if len(named) > 1:
        return _asked_for(named, question)
    phrase, written = value.clause.phrase, value.written
    if _is_of_another(phrase.words, value.after, written, question):
        return None
    start = len(value.before)
    behind = phrase.text[phrase.part(start, start + 1).tokens[0].end :]
    spelled, before = _SPELLED_OUT.search(behind), phrase.part(0, start).written
    if fault_after(_ROUNDED_OFF.sub("", behind), written):
        return None
    if fault_before(before, either=" or " in written):
        return None
    if spelled:
        return f"{written} {spelled[0]}"
    subject = phrase.part(0, 1).written
    if _NAMES.search(value.before) and _VARIABLE.search(subject):
        sign = "\\equiv" if "congruent" in value.before else "="
        written = _MODULUS.sub(r"\\pmod{\1}", written)
        return f"{subject} {sign} {written}"
    equal = _ALL_EQUAL.search(value.before)
    if equal:
        names = re.findall(r"\b[A-Za-z]\b", subject)
        return f"({', '.join([written] * CARDINALS.get(equal[1] or '', len(names)))})"
    written = _last_equation(written) or written
    for pattern, instead in _SPELLINGS:
        written = pattern.sub(instead, written)
    about = "about " if _ABOUT.search(value.before) else ""
    return f"{about}{written}{_noun(phrase.part(start + 1), written)}"


_NO_NAMES, _OF_A_TOTAL = _words("no names"), _pattern("of a total")
_OPPOSITES = [
    [frozenset(names.split()) for names in row.split(",")] for row in _TABLES.rows("opposites")
]


def _is_of_another(stated: str, after: str, written: str, question: str) -> bool:
    """Whether a clause speaks of what is not asked: of the minimum, and not of the maximum.

    So does one about another person, or about what is not counted.
    """
    if not question:
        return False
    words, named = re.findall("[A-Za-z]+", question), {*stated.split()}
    request = _requested(question) or re.findall("[A-Za-z]+", question.rpartition(". ")[2])
    requested = {word.casefold() for word in request}
    counted, numerals = _HOW_MANY.search(question), _NUMERAL.findall(written)
    in_question = numerals and {*_NUMERAL.findall(question)}.issuperset(numerals)
    of_others = _OF_A_TOTAL.search(after) or "remaining" in named or in_question
    if counted and counted[1] not in named and len(named) > 2 and of_others:
        return True
    if counted and stated.startswith(f"the {counted[1].removesuffix('s')} is #"):
        return True
    names = {word.casefold() for word in words if word[0].isupper()} - _NO_NAMES
    names -= {word for word in words if word.islower()}
    if names & requested and names & named and names.isdisjoint(requested & named):
        return True
    for group in _OPPOSITES:
        wanted = [names for names in group if not names.isdisjoint(requested)]
        present = [names for names in group if not names.isdisjoint(named)]
        if len(wanted) == 1 and present and wanted[0] not in present:
            return True
    return False


def _requested(question: str) -> list[str]:
    """The words of what is asked for: `the area` of "What is the area of the triangle?"."""
    return " ".join(_ASKED.findall(question)).split()


_JOINING = _words("joining")


def _named_values(clauses: Sequence[Clause], last: Value) -> list[tuple[str, str]]:
    """The names and values of "The radius is 5 and the center is (2, 3)"."""
    named = [(_label(last), last.written)]
    joined = not _JOINING.isdisjoint(last.clause.openers)
    for clause in reversed(clauses[:-1]):
        if "#" not in clause.phrase.words:
            joined = joined or not _JOINING.isdisjoint(clause.openers)
            continue
        values = _values(clause, "") if joined and clause.status == "states" else []
        value = _chosen(values, ("result", "object"), "")
        if value is None or not _label(value) or not named[0][0]:
            break
        named.insert(0, (_label(value), value.written))
        joined = not (_JOINING | {","}).isdisjoint(clause.openers)
    return [(name, value.replace("\N{MINUS SIGN}", "-")) for name, value in named]


def _label(value: Value) -> str:
    """The name that a value is given: `slope` in "has slope 2", "" for "it is 2"."""
    if _NAMES.search(value.before):
        return value.clause.phrase.part(0, 1).written.strip("$")
    match = _SUBJECT.search(value.before)
    if match is None or (match["noun"] is None and _VERBS.search(value.before)):
        return ""
    words = (match["noun"] or match["subject"]).split()
    names = [word for word in words if word.replace("-", "").isalpha() and word not in _NO_LABEL]
    return " ".join(names[:3]).removesuffix("-coordinate")


def _asked_for(named: list[tuple[str, str]], question: str) -> str:
    """The value of the only name that the question has, else all with their names."""
    words = {word.casefold() for word in _requested(question)}
    requested = [value for label, value in named if words.issuperset(label.split())]
    if len(requested) == 1 and "and" not in words:
        return requested[0]
    return ", ".join(f"{label}{' =' * (len(label) == 1)} {value}" for label, value in named)


def _last_equation(written: str) -> str:
    """Of `a = 2`, `b = 3`, `a + b = 5` the last, whose left side joins the others; else ""."""
    parts = re.split(r", (?:and )?| and ", written.replace("$", ""))
    *names, last = [part.partition("=")[0].strip() for part in parts]
    joined = len(names) > 1 and len(last) > 2 and all(len(n) == 1 and n in last for n in names)
    return parts[-1] if joined and all("=" in part for part in parts) else ""


_NOUN, _TIME_OF_DAY, _RELATION = map(_pattern, ("noun", "time of day", "relation"))
_NUMBERS = _pattern("numbers")


def _noun(behind: Phrase, value: str) -> str:
    """The noun, or the time of day, that follows a value and belongs to it.

    Another word makes another value, or none: "3 tenths", "5 doubled".
    """
    match = _NOUN.search(behind.words)
    noun = match[0] if match else ""
    if not _TIME_OF_DAY.search(noun):
        plain = not _RELATION.search(value) and "\\text" not in value
        noun = noun if plain and not _NUMBERS.search(noun) else ""
    return f" {behind.part(0, len(noun)).written}" if noun else ""


# -- other forms ----------------------------------------------------------------------------------

_FORMS = {name: _pattern(name) for name in ("exception", "bounded", "listed")}
_BOUND, _RESTRICTION, _BOUNDS = map(_pattern, ("bound", "restriction", "bounds"))
_RAW_KINDS, _ANY_KIND = _words("raw kinds"), _words("any kind")


def _in_other_form(phrase: Phrase, question: str) -> str | None:
    """An exception, bounds, or things that are counted; "" if a conclusion is none of these."""
    for name, pattern in _FORMS.items():
        match = pattern.search(phrase.words)
        if match is None or _DISCLAIMED.search(phrase.words[: match.start()]):
            continue
        if _is_of_another(phrase.words, "", "", question):
            return None
        form, counted = phrase.part(match.start()), _HOW_MANY.search(question)
        thing = re.search(f"# {counted[1]}\\b", form.words) if counted else None
        if name == "bounded":
            return _inequality(form)
        if name == "listed" and thing:
            return form.part(thing.start(), thing.start() + 1).written
        return form.written.replace(" and ", ", ")
    return ""


def _inequality(phrase: Phrase) -> str:
    """`x \\ge 2 \\text{ and } x < 5` of "x is at least 2 and less than 5"."""
    letter, *values = [phrase.text[t.start : t.end] for t in phrase.tokens if t.kind == "#"]
    signs = [*map(_sign, _BOUND.findall(phrase.words))]
    if " between " in phrase.words:
        values, signs = re.split(r"\s+and\s+", values[0]), [">", "<"]
    return " and ".join(f"{letter} {sign} {n}" for sign, n in zip(signs, values, strict=True))


def _sign(bound: str) -> str:
    upper = bound.startswith(("at most", "no more", "less", "smaller", "fewer"))
    closed = bound.startswith(("at", "no")) or bound.endswith("equal to")
    return ("\\le" if closed else "<") if upper else ("\\ge" if closed else ">")


def _without_restriction(phrase: Phrase) -> tuple[Phrase, str]:
    """The phrase without "where k is an integer", and that as a formula."""
    match = _RESTRICTION.search(phrase.words)
    if match is None or "#" not in phrase.words[: match.start()]:
        return phrase, ""
    head, tail = phrase.part(0, match.start()), phrase.part(match.start())
    letter = next(tail.text[t.start : t.end] for t in tail.tokens if t.kind == "#").strip("$ ")
    words = f"{match['lead']} {match['kinds']}".replace("-", "").split()
    kinds = {word.removesuffix("s") for word in words} - _ANY_KIND
    every = match["lead"].split()[:1] in (["all"], ["any"], ["every"], ["each"])
    if not every and "\\in" in letter:
        return head, f", {letter}"
    if not every and not kinds:
        *others, last = head.tokens
        of_value = letter.partition("=")[0].strip() in head.text[last.start : last.end]
        bound = _BOUNDS.search(letter) or of_value
        if tail.words not in ("for #", "with #", "where #") or not bound:
            return phrase, ""
        if _SINGLE.fullmatch(head.text[last.start : last.end]):
            return Phrase(phrase.text, [*others, tail.tokens[-1]]), ""  # "all x with x > 2"
        return head, f" for all ${letter}$"
    if every or kinds & _RAW_KINDS or not kinds & {"integer", "whole", "real", "parameter"}:
        return head, f" {tail.written}"
    if "real" in kinds or "parameter" in kinds:
        return head, f", {letter} \\in \\mathbb{{R}}"
    return head, f", {letter} \\in \\mathbb{{Z}}{'^+' if 'positive' in kinds else ''}"


# -- answers in words -----------------------------------------------------------------------------

_YES_OR_NO, _YES_OR_NO_ASKED = _pattern("yes or no"), _pattern("yes or no asked")
_IMPOSSIBLE, _ENDLESS, _NONE = map(_pattern, ("impossible", "endless", "none"))
_NAMED, _PREDICATE, _OTHER_SUBJECT = map(_pattern, ("named", "predicate", "other subject"))
_COMMON_WORDS = _words("said of any")
_ANTONYMS = {a: b for row in _TABLES.rows("antonyms") for a, b in permutations(row.split())}


def _verdict(part: Sequence[Clause], question: str) -> str | None:
    """Yes, no, or how many solutions there are; None if a conclusion says none of these."""
    for clause in reversed(part):
        words = clause.phrase.words
        if clause.status == "aside" or _is_told(clause):
            continue
        if _YES_OR_NO.search(words):
            return words
        if question and (verdict := yes_or_no(question, clause.phrase.written)):
            return verdict
        if _IMPOSSIBLE.search(words):
            if _YES_OR_NO_ASKED.search(question):
                return "no"
            return "0" if _HOW_MANY.search(question) else "no solution"
        if _ENDLESS.search(words):
            return "infinitely many"
    return None


def _is_told(clause: Clause) -> bool:
    """Whether another clause denies what it says: "One might think that it is prime"."""
    denied = clause.status == "denies" and "that" in clause.openers
    return denied and not _UNCLAIMED.search(clause.phrase.words)


def yes_or_no(question: str, statement: str) -> str:
    """What a text answers: "no" if "not prime" is said and "Is 91 prime?" asked; else "".

    All its words must be asked for, in their order; "not" or "or" in the question leaves it open.
    """
    asking = _YES_OR_NO_ASKED.search(question)
    if asking is None:
        return ""
    request = asking[0].partition("?")[0].casefold()
    requested, stated = (re.findall("[a-z0-9]+", text) for text in (request, statement.casefold()))
    denied = not {"not", "no"}.isdisjoint(stated)
    about = [word.removesuffix("s") for word in stated if word not in _COMMON_WORDS]
    for word, other in _ANTONYMS.items():
        if word in about and other in requested:
            about[about.index(word)], denied = other, not denied
    rest = iter([word.removesuffix("s") for word in requested])
    if not about or not all(word in rest for word in about) or {"not", "or"} & {*requested}:
        return ""
    return "no" if denied else "yes"


def _in_words(part: Sequence[Clause], question: str) -> str | None:
    """The predicate of the last clause that has one, or the one that it calls the best."""
    for clause in reversed(part):
        phrase, words = clause.phrase, clause.phrase.words
        relative = "," in clause.openers and clause.openers & {"who", "which"}
        if clause.status == "aside" or relative:
            continue
        if _is_told(clause):
            return None
        if ":" in clause.openers:
            return phrase.written
        none = _NONE.search(words)
        if none:
            return phrase.part(none.start("words"), none.end("words")).written
        first = phrase.written.partition(" ")[0]
        if _NAMED.search(words) and first[0].isupper() and first.casefold() not in _NO_NAMES:
            return None if len(part) > 1 or _is_of_another(words, "", "", question) else first
        if len(part) > 1 and _is_of_another(words, "", "", question):
            continue
        match = _PREDICATE.search(words)
        subject = (match["subject"] or "") if match else words
        if _UNCLAIMED.search(subject) or _OTHER_SUBJECT.search(subject):
            return None
        if match:
            return None if "#" in match["words"] else phrase.part(match.start("words")).written
    first_phrase = part[0].phrase
    states = part[0].status == "states" and not first_phrase.words.startswith(("we ", "i "))
    return first_phrase.written if states and "#" not in first_phrase.words else None
