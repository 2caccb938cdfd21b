"""Section heads: candidates in prose and in structured text, and the best sequence of them.

Prose: each line is stripped of decoration and its words are looked up in `section_names.txt`.
Structured text (JSON and its kin, XML, tables): keys and tags that name a section are read in
order, each with its value, without enforcing a grammar, since models break it. Values are content.
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path

from ..layout import ANSWER, PROMPT, RESPONSE, SECTIONS
from .markup import fenced, is_slip, scan

_MODIFIERS = frozenset(
    """the a an your new my final corrected correct revised updated fixed improved full generated
    original begin start beginning of math coding programming verified complete la le les el die der
    das neue korrigierte""".split()  # noqa: SIM905 - a list of forty strings takes forty lines
)
_CLOSERS = dict(zip("[({<«‹【〔「『《〈［（｛＜", "])}>»›】〕」』》〉］）｝＞", strict=True))
_SHUT = frozenset(_CLOSERS.values())
_OPEN = re.escape("".join(_CLOSERS))
# match: '<h2>', '</td>', '<p class=x>', '<!--'; not '<answer>', '<prompt>'
_TAG = (
    r"(?:</?(?:h[1-6]|b|strong|em|i|u|p|div|span|summary|details|section|article|tr|t[dh]|d[tdl]|li"
    r"|[ou]l|table|tbody|thead|center|font|blockquote|br|hr|mark)\b[^<>\n]{0,80}>|<!--|-->|/\*|\*/)"
)
# match: '<B>', '-->'; not '<answer>'
MARKUP = re.compile(_TAG, re.IGNORECASE)
# match: 'step 1: ', '(2)', '3.', '4: x', '1 [', '1\u20e3', 'IV. x', 'a) x'; not '12', 'a)x'
_ORDINAL = (
    r"\(?\b(?:(?:step|part|section|block|teil|schritt|partie|parte)\s#?\d{1,2}\s?[.):–—-]*\s"
    r"|\d{1,2}(?:[.)]|:(?=\s)|\ufe0f?\u20e3|\s[-–—]?(?=[\[【*\s]))|(?:[IVX]{1,4}|[A-Da-d])[.)](?=\s))"
)
# What precedes the decoration of a head.
# match: '> - x', '<b>', '1. x'; not '[PROMPT]'
_BULLET = re.compile(rf"\A[\s>]*(?:[-*+•]\s+)?|{_TAG}|{_ORDINAL}", re.IGNORECASE)
# A quote or the end of a sentence is no decoration: the name behind it is content.
# fullmatch: '## ', '**[', '> - 1. ', '<h2>', '\\section{', '<<<'; not '"', 'so [', '$'
_LEAD = re.compile(
    rf"(?:{_TAG}|{_ORDINAL}|\\(?:(?:sub)*section|textbf|begin|end)\*?(?=\{{)|[^\w\n\"'“”‘’„$,;^.?!]|_){{0,60}}",
    re.IGNORECASE,
)
# fullmatch: '"Answer:"', '**"Prompt"**'; not 'Answer: "x"', '"Yes," he said.'
_QUOTED = re.compile(r"\s{0,9}(?:[*_]{0,3})[\"'“„”‘’](.{2,60})[\"'“”‘’][*_:]{0,3}\s{0,9}")
# fullmatch: 'answer', "problem's", 'Lösung'; not 'x2', '42', 'two words'
_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|[\u0300-\u036f\u0900-\u0963'’])*")
# fullmatch: 'A N S W E R', 'final answer', 'model_output', 'step-by-step'; not 'answer:'
_WORDS = re.compile(
    rf"(?:[A-Z] ){{4,9}}[A-Z]\b|{_WORD.pattern}(?:[ _-]{{1,2}}{_WORD.pattern}){{0,4}}"
)
# search: 'end of answer', 'END_PROMPT', 'prompt end'; not 'ending', 'trends'
_END = re.compile(r"end(?:[ _-]of)?[ _-](?:the[ _-])?|[ _-]end$", re.IGNORECASE)
# The decoration before the name of a closing head, as of `[/PROMPT]`.
# search: '[/', '</', '**[ /', '\\end{'; not '[', '/'
_CLOSING = re.compile(rf"[{_OPEN}]\s?[/\\]\s?$|\\end\{{$")
# match: ' 1', ' #12', '2:'; not ' 1.5', ' 2nd', ' 1234'
_NUMBER = re.compile(r"\s?#?\d{1,3}(?![\w.,])")
# What may follow a remark or a second name: the end, or more decoration.
# match: ':', ' **', '', ' -'; not ' text'
_AHEAD = r"\s{0,3}(?:[*_:：#|\]】)>–—=-]|$)"
# match: ' (in words):', ' **(optional)**', '(1 point)', ' {#id}'; not ' (see below) for', ' [1]'
_REMARK = re.compile(
    r"\s{0,3}(?:(?P<em>[*_]{0,3})(?:\([^()\n]{1,120}\)|（[^（）\n]{1,120}）)(?P=em)"
    rf"|\{{[#.][\w-]{{1,40}}\}}|(?<=[\])}}>*])\s(?://|[#%])\s[^\n]{{1,120}}\Z)(?={_AHEAD})"
)
# fullmatch: '(https://a.b)', '(#answer)'; not '(in words)', '(42)'
_ADDRESS = re.compile(r"\([!-~]*[./#:=][!-~]*\)")
# A second name beside the first.
# match: ' / Frage:', ' & tests', '·Reponse**'; not ': x', ' (x)'
_SECOND = re.compile(
    rf"\s{{0,3}}(?P<mark>[/|·・,&–—-]?)\s{{0,2}}"
    rf"(?P<words>{_WORD.pattern}(?: {_WORD.pattern}){{0,3}})(?P<ends>{_AHEAD})?"
)
# match: ':', ' := ', ' ->', '=>', ' = x', '|', ' - x', '→'; not '==', '-5', ', x'
_SEPARATOR = re.compile(
    r"\s{0,3}(?:[:：]{1,2}=?|[-=]>|[→⇒➜➡]\ufe0f?|=(?!=)|\|)|(?:\s{1,3}|(?<=[\])}>】]))[-–—]{1,2}(?=\s|$)"
)
# match: '---\n', '=====', '> ***\n'; not '--\n', '--- x'
_UNDERLINE = re.compile(r"[ \t>]{0,8}([=\-~_*#═─━])\1{2,}[ \t]*(?:\n|\Z)")
# Where a head may begin within a line.
# search: 'Sure! [PROMPT] x', 'so. **Answer**', '2 + 2? Answer: 4'; not 'x[1]', 'the answer: 4'
_INLINE = re.compile(
    rf"(?<=[\s>|.!?])(?=[{_OPEN}*_#][\s{_OPEN}*_#]{{0,6}}[^\W\d_])"
    r"|(?<=[\s|;.!?])(?=[A-Z][A-Za-z]{2,12}(?: [A-Za-z]{2,12}){0,2}\s?[:：])"
)
_ORDERS = ("P", "A", "R", "PA", "PR", "AP", "AR", "RP", "RA")
# Points of a run (see `find_runs`), each with a text of `tests/parsing` that is misread without it.
_OWN_NAME, _CLEAR, _SURE = 12, 7, 6  # weights of names: a section's own, a clear one, a usual one
_SAME_STYLE = 4.0  # "## Question", "## Réponse", "**[RESPONSE]**", "## Solution"
_OTHER_STYLE = -12.0  # "[PROMPT]", "**Input:**", "**Output:**" are one prompt with subheads
_AFTER_SYNONYM = -4.0  # a section's own name in another style: "## Réponse", "**[RESPONSE]**"
_USUAL_ORDER = 2  # "<prompt>", "<reference_answer>", "<response>" with "<answer>" in it
_LATE_PROMPT = 6  # "**[ANTWORT]**", "**[LÖSUNG]**", "[PROMPT | easy]"
_LATE_ANSWER = 2  # "[ANSWER]", "[RESPONSE]", "[ANSWER]", "[RESPONSE]"
_SKIPPED = 0.5  # a clear name: "<reference_answer>", in favour of a later "<answer>"
_EMPTY = 3  # "Task:", "Problem: What is 2 + 2?"
_INDENTED = 4  # "Question: Fill in this form.", "    Answer: none", "Correct answer: 4"
_KINDS = {"bracket": 4.0, "tag": 3, "markdown": 2, "html": 2, "bold": 1, "table": 1, "label": 0}


@dataclass(frozen=True)
class Head:
    """The name of a section in the text; `body` is where its content begins, or `value` is it.

    `weight` scores the decoration, `close` is the part of it that ends only after the content: "]"
    in `[ANSWER: 42]`. `remark` is where a remark before the body begins. `closing` heads are
    `[/PROMPT]` and its like.
    """

    kind: str
    name: str
    start: int
    body: int
    weight: float = 0
    close: str = ""
    remark: int = -1
    closing: bool = False
    value: str | None = None


@dataclass(frozen=True)
class Run:
    """The heads of one sample, in order, each with its section, and where the last one ends.

    `toll` is what the clear names before its last head cost that other runs skip: a run that goes
    on later pays for those in between.
    """

    heads: tuple[tuple[Head, str], ...] = ()
    end: int = 0
    closings: tuple[Head, ...] = ()
    score: float = 0
    toll: float = 0

    @property
    def order(self) -> str:
        """The first letters of its sections: "PAR"."""
        return "".join(section[0] for _, section in self.heads).upper()

    @property
    def rank(self) -> tuple[float, ...]:
        """The sort key of runs up to any head: the score, then a late answer, an early response."""
        at = {section: head.start for head, section in self.heads}
        tie = (at.get(ANSWER, -1), -at.get(RESPONSE, 0), -at.get(PROMPT, 0))
        return (self.score + self.toll, *tie)


@lru_cache(4096)
def fold(words: str) -> str:
    """Normalize words: lower case, without accents, full-width forms, underscores, camel case."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|[\s_-]+", " ", unicodedata.normalize("NFKC", words))
    if re.fullmatch(r"(?:\w ){4,}\w", spaced):
        spaced = spaced.replace(" ", "")
    letters = unicodedata.normalize("NFKD", spaced.replace("’", "'").replace("'s ", " "))
    return "".join(c for c in letters if not unicodedata.combining(c)).casefold().strip()


NAMES: dict[str, dict[str, int]] = {}  # name -> section -> weight
for _line in Path(__file__).with_name("section_names.txt").read_text("utf-8").splitlines():
    _section, _, _rest = _line.partition(" ")
    for _name in _rest.partition(": ")[2].split(", ") if _section in SECTIONS else ():
        NAMES.setdefault(fold(_name), {}).setdefault(_section, int(_rest.partition(":")[0]))


@lru_cache(4096)
def section_name(words: str) -> str:
    """The name in the table that these words are, up to one wrong letter; "" if there is none."""
    name = fold(words)
    if name in NAMES:
        return name
    first, _, rest = name.partition(" ")
    if rest and first in _MODIFIERS:
        return section_name(rest)
    if name.endswith((" start", " begin", " beginning", " open")):
        return section_name(name[: name.rindex(" ")])
    often_misspelt = (*SECTIONS, "question", "problem", "solution")
    return next((word for word in often_misspelt if is_slip(name, word)), "")


def find_heads(text: str, inline: bool = False) -> list[Head]:
    """Find every head outside of closed code fences, including closing ones (`[/PROMPT]`).

    Heads begin lines; with `inline` also decorated or capitalised heads within a line count.
    """
    inside, heads, offset = fenced(text), [], 0
    for line in text.split("\n"):
        cuts = [match.start() for match in _INLINE.finditer(line)] if inline else []
        cuts = [0, *(cut for cut in cuts if re.search(r"[^\W\d]", line[max(0, cut - 40) : cut]))]
        for begin, end in zip(cuts, [*cuts[1:], len(line)], strict=True):
            head = _head(line[begin:end], offset + begin)
            if head is not None and not inside(head.start):
                heads.append(_underlined(text, head, offset + end))
        offset += len(line) + 1
    return heads


def _head(line: str, offset: int) -> Head | None:
    """The head at the start of a line: decoration, a section name, decoration, a separator."""
    if quoted := _QUOTED.fullmatch(line):
        head = _head(quoted[1], offset + quoted.start(1))
        alone = head is not None and head.body == offset + quoted.end(1)
        return replace(head, start=offset, body=offset + len(line)) if head and alone else None
    prefix = lead[0] if (lead := _LEAD.match(line)) else ""
    words = _WORDS.match(line, len(prefix))
    for word in reversed([*_WORD.finditer(words[0])] if words else []):  # the longest name
        written = line[len(prefix) : len(prefix) + word.end()]
        if name := section_name(_END.sub("", written)):
            return _HeadReader(line, prefix, written, name).head(offset)
    return None


class _HeadReader:
    """A reader of a line that begins with decoration and a section name.

    `core` is the decoration before the name without bullets and tags, `need` what closes it, less
    what `_decoration` has read.
    """

    def __init__(self, line: str, prefix: str, written: str, name: str) -> None:
        self.line, self.prefix, self.written, self.name = line, prefix, written, name
        self.titled = not written[0].islower()
        self.core = _BULLET.sub("", prefix)
        self.brackets = [mark for mark in self.core if mark in _CLOSERS]
        self.stars = [mark for mark in self.core if mark in "*_`~"]
        self.need = [_CLOSERS[mark] for mark in self.brackets] + self.stars
        self.separator, self.remark, self.position = "", -1, len(prefix) + len(written)

    @property
    def rest(self) -> str:
        """What follows on the line."""
        return self.line[self.position :].strip()

    def head(self, offset: int) -> Head | None:
        """The head; None if the words are part of a sentence."""
        self._decoration()
        kind = self._kind()
        if not kind or not self._is_divided(kind):
            return None
        indented = self.line.startswith("    ")
        return Head(
            kind,
            self.name,
            offset,
            offset + self.position,
            _KINDS[kind] + self.titled - _INDENTED * indented,
            "".join(self.need),
            offset + self.remark if self.remark >= 0 and not self.separator else -1,
            bool(_END.search(self.written) or _CLOSING.search(self.prefix)),
        )

    def _decoration(self) -> None:
        """Read the decoration behind the name, up to a separator."""
        if number := _NUMBER.match(self.line, self.position):
            self.position = number.end()
        while self.position < len(self.line) and (self._closes() or self._continues()):
            pass

    def _next(self) -> tuple[int, str]:
        """The position of the next mark, and the mark: a backslash before it does not count."""
        near = self.line[self.position : self.position + 4]
        at = self.position + len(near) - len(near.lstrip())
        at += self.line[at : at + 1] == "\\"
        return at, self.line[at : at + 1]

    def _closes(self) -> bool:
        """Read a mark that closes the decoration before the name."""
        at, mark = self._next()
        spaced = self.line[self.position].isspace()
        if mark in self.need and not (spaced and self.separator):  # `[ANSWER]`, `**Answer:**`
            self.need.remove(mark)
        elif mark in _SHUT and (wrong := _SHUT.intersection(self.need)):  # `[PROMPT}`
            self.need.remove(min(wrong))
        elif mark in {*"])】"} and self.titled and not self.brackets:  # `ANSWER]` lost its bracket
            self.brackets = [mark]
        else:
            return False
        self.position = at + 1
        return True

    def _continues(self) -> bool:
        """Read a further part: a tag, a remark, a second name, a separator."""
        line = self.line
        at, mark = self._next()
        if match := MARKUP.match(line, at):  # `<b>Answer</b>`
            self.separator, self.position = self.separator or "tag", match.end()
        elif self.separator not in ("", "tag"):
            return False
        elif match := _REMARK.match(line, self.position):  # `Answer (in words)`
            if self.brackets and not self.need and _ADDRESS.fullmatch(match[0]):
                return False  # `[Answer](url)`
            self.remark, self.position = self.position, match.end()
        elif (match := _SECOND.match(line, self.position)) and (  # `Prompt / Frage`
            section_name(match["words"])
            or (match["mark"] in ("/", "·", "・") and match["ends"] is not None)
        ):
            self.position = match.end("words")
        elif match := _SEPARATOR.match(line, self.position):  # `Answer:`
            self.separator, self.position = match[0].strip(), match.end()
        # `**Answer.**`, `[PROMPT, easy]`
        elif (mark == "." and self.need) or (
            mark in (",", ";") and self.need == [line.rstrip()[-1]]
        ):
            self.separator, self.position = mark, at + 1
        elif set(line[self.position :]) <= {*self.prefix, "#", " "}:  # `## Answer ##`
            self.position = len(line)
        else:
            return False
        return True

    def _kind(self) -> str:
        """A key of `_KINDS`; "" for a bracket that only begins a sentence, as in `[Answer me`."""
        core, prefix = self.core, self.prefix
        if prefix.lstrip(" >")[:1] == "|" and self.separator == "|":
            return "table"
        if self.brackets and not _SHUT.intersection(self.need):
            return "tag" if core.strip().lstrip("/\\") == "<" else "bracket"
        if self.brackets and not self.separator and (self.rest or not self.titled):
            return ""  # `[ANSWER` alone has only lost its bracket
        if "#" in core or re.search(r"<h\d|\\", prefix) or re.search(r"([=~═━─-])\1", core):
            return "markdown"
        if self.stars or re.search(r"<(?:b|strong)\b", prefix):
            return "bold"
        return "html" if MARKUP.search(prefix) else "bracket" if self.brackets else "label"

    def _is_divided(self, kind: str) -> bool:
        """Whether what follows on the line is content, and not the rest of a sentence."""
        rest = self.rest
        spaced = self.line[self.position : self.position + 1].isspace() and (
            self.titled or (rest[:1].isalnum() and self.name in SECTIONS)
        )
        glued = self.brackets == ["["] and "[/" not in rest and rest[:1].isalnum()  # `[ANSWER]42`
        if kind == "bracket":
            divided = spaced or glued or (self.titled and rest[:1] not in ("(", "["))
        else:
            divided = kind == "tag" or bool(self.stars and spaced and not self.need)
        if rest and not self.separator and not divided:
            return False
        is_word = kind == "label" and not self.titled and self.separator in "-–—|"  # `answer - and`
        is_element = kind == "tag" and f"</{self.written}" in rest  # `<answer>42</answer>`
        return not (is_word or is_element)


def _underlined(text: str, head: Head, end: int) -> Head:
    """A head with the rules below and above it: `===`, `PROMPT`, `===`."""
    rule = _UNDERLINE.match(text, end + 1) if head.kind != "bracket" else None
    if rule is None or text[head.body : end].strip():
        return head
    above = text.rfind("\n", 0, max(0, head.start - 1)) + 1
    start = above if _UNDERLINE.match(text, above) and above < head.start else head.start
    weight = max(head.weight, _KINDS["markdown"])
    return replace(head, kind="markdown", start=start, body=rule.end(), weight=weight)


def find_runs(text: str, heads: Iterable[Head]) -> Iterator[Run]:
    """Divide a text into samples by its heads: each complete one, then the best part of one.

    A sample is the sequence of heads, at most one per section, with the highest score: clear names
    and decoration, equal decoration, the usual order. The next sample begins where the head of this
    one's prompt occurs again.
    """
    heads = list(heads)
    closings = tuple(head for head in heads if head.closing)
    opening = _merged(text, [head for head in heads if not head.closing])
    runs: dict[tuple[str, str], Run] = {}  # the best by order and by kind of the last head
    best = part = Run()
    toll = 0.0
    for head, following in zip_longest(opening, opening[1:]):
        first = next((each for each, section in best.heads if section == PROMPT), head)
        if first is not head and (first.name, first.kind) == (head.name, head.kind):
            best = replace(best, end=head.start, closings=closings)
            if len(best.heads) == 3:
                yield best
            else:
                part = max(best, part, key=lambda run: run.score)
            runs, best = {}, Run()
        end = following.start if following else len(text)
        worth = head.weight - _EMPTY * (head.value is None and not text[head.body : end].strip())
        roles = NAMES[head.name]
        steps = [each for section in roles for each in _steps(runs, head, section, worth, toll)]
        toll += _cost(roles)
        for run in steps:
            for key in ((run.order, "*"), (run.order, head.kind)):
                if key not in runs or run.rank > runs[key].rank:
                    runs[key] = run
            if not best.heads or (run.score, run.rank[1:]) > (best.score, best.rank[1:]):
                best = run
    part = max(replace(best, end=len(text), closings=closings), part, key=lambda run: run.score)
    if len(part.heads) > 1 or (part.heads and part.heads[0][0].kind == "bracket"):
        yield part


def _merged(text: str, heads: list[Head]) -> list[Head]:
    """Drop heads that only repeat the next one, as comments and titles do."""
    merged: list[Head] = []
    for head in heads:
        last = merged[-1] if merged else None
        if (
            last is not None
            and last.value is None
            and last.name == head.name
            and not text[last.body : head.start].strip()
        ):
            best = max(last, head, key=lambda each: each.weight + max(NAMES[each.name].values()))
            merged[-1] = replace(best, start=last.start, body=head.body, value=head.value)
        else:
            merged.append(head)
    return merged


def _cost(roles: dict[str, int]) -> float:
    return _SKIPPED * (max(roles.values()) >= _CLEAR and {*roles} != {PROMPT})


def _steps(
    runs: dict[tuple[str, str], Run], head: Head, section: str, worth: float, toll: float
) -> Iterator[Run]:
    """Every run that begins or continues with this head as this section."""
    letter, weight = section[0].upper(), NAMES[head.name][section]
    beyond = toll + _cost(NAMES[head.name])
    yield Run(((head, section),), score=weight + worth, toll=beyond)
    for order in (order for order in _ORDERS if letter not in order):
        # A prompt after the answer or response, or an answer after the response, is unusual.
        late = (
            _LATE_PROMPT if letter == "P" else _LATE_ANSWER if letter == "A" and "R" in order else 0
        )
        for key, bonus in ((head.kind, _SAME_STYLE), ("*", _OTHER_STYLE)):
            if (run := runs.get((order, key))) is None:
                continue
            last, role = run.heads[-1]
            if late and NAMES[last.name][role] < _SURE:
                continue  # "Output" between a problem and its answer is an example
            if key == "*" and weight == _OWN_NAME:
                bonus = 0.0 if last.name in SECTIONS else _AFTER_SYNONYM
            score = run.score - toll + run.toll + weight + worth + bonus - late
            score += _USUAL_ORDER * (order + letter == "PAR")
            yield Run((*run.heads, (head, section)), score=score, toll=beyond)


# --- structured text ------------------------------------------------------------------------------

# search: '{"prompt": "', "answer = '", '- response: |', '"a" => 1'; not 'a == 1', 'so (a) is 1'
_KEY = re.compile(
    r"(?:^|(?P<brace>[{,(\[]))\s{0,80}(?:-\s{1,3})?(?P<quote>\\?[\"'`“])?"
    r"[\[<*#]{0,3}(?P<key>[^\W\d][^\W_]{0,30}(?:[ _-][^\W_]{1,30}){0,3})[\]>*:]{0,3}"
    r"(?(quote)\\?[\"'`”])"
    r"[ \t]{0,3}(?:=>|[:=：])(?!=)[ \t]*\n?[ \t]*",
    re.MULTILINE,
)
# A quote ends a string if the structure continues after it: models forget to escape others.
# match: '}', ', "answer"', '\nresponse:', '\n}'; not ' he said', ', he said'
_AFTER = (
    r"(?=\s{0,200}(?:[}\])]|,\s{0,200}(?:[\"'`“{\[}\])\d/#-]|\w+\s?[:=]|true|null|false|None|\Z|\n)"
    r"|\Z|</|```|;|\n\s{0,80}(?:#[^\n]{0,80}\n)?[\"']?[\w ]{1,40}[\"']?\s?[:=]))"
)
# match: '\n', ',  # why\n', '```'; not ' x', ']'
_AFTER_LINE = r"(?=[ \t]*,?[ \t]*(?:#[^\n]*)?(?:\n|\Z|```|</))"
# match: '42,', '-1.5e3}', 'true\n'; not '4 2,', '"x",'
_BARE = re.compile(r"-?[\w.][\w.+/%^-]{0,60}(?=\s*(?:[,}\])\n]|\Z))")
# match: '42', '1,000\n', '50%'; not '42 apples', 'true'
_BARE_LINE = re.compile(r"-?\d[\d.,/e%]*(?=[ \t]*(?:\n|\Z))")
# A string, in which brackets are text, or a bracket.
# match: '"a } b"', '"\\""', '[', '}'; not 'x'
_NESTED = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)
_NAME_KEYS = {"section", "name", "role", "type", "title", "heading", "label", "key", "field"}
_VALUE_KEYS = {"content", "text", "value", "body", "data"}
# LaTeX commands whose backslash was not doubled stay: no text has a tab before "imes".
# fullmatch: '\\n', '\\u00e9', '\\x41', '\\times', '\\frac', '\\"'; not 'n', '\\names'
_ESCAPE = re.compile(
    r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|(?:t(?:imes|ext\w{0,6}|heta|an|au|riangle|frac|o)"
    r"|n(?:abla|eq(?!\s*=)|ot)|r(?:ight|ho|angle)|[bf]\w{2,12})(?![a-z])|.)",
    re.DOTALL,
)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\n": "", **{mark: mark for mark in "\"'`\\/"}}
_MAX_DEPTH = 4

# search: '<prompt>', '<section name="answer">', '<x=answer>'; not '<<PROMPT>>', '</prompt>', '< 3>'
_OPENING = re.compile(  # `<<PROMPT>>` is a head
    r"(?<!<)<(?P<tag>[^\W\d][\w:.-]{0,40})(?P<rest>(?:\s[^<>]{0,200}|=[^<>]{1,60})?)>(?!>)"
)
# search: ' name="answer"', '=answer'; not ' name'
_ATTRIBUTE = re.compile(r"=\s?[\"']?([^\"'<>=]{1,40}?)[\"']?(?=\s|$)")
# search: 'a | b'; not 'a \\| b'
_CELL = re.compile(r"(?<!\\)\|")


def structured_heads(text: str) -> Iterator[list[Head]]:
    """Yield the heads that each reader of structured text finds."""
    yield list(_elements(text))
    yield list(_fields(text))
    yield list(_cells(text))
    yield [
        Head("fence", name, block.start, block.end, value=block.code)
        for block in scan(text)
        if (name := section_name(block.language))
    ]


def _fields(text: str, depth: int = 0) -> Iterator[Head]:
    """The fields of objects in JSON, JavaScript, Python, YAML or TOML, or of a call's arguments."""
    position, named, dead = 0, "", set[str]()
    while match := _KEY.search(text, position):
        key, braced = match["key"].lower(), bool(match["brace"] or match["quote"])
        value, position = _value(text, match.end(), braced, dead)
        if value is None:
            position = max(match.end() - 1, match.start() + 1)
            continue
        name = section_name(match["key"])
        inner = list(_fields(value, depth + 1)) if value[:1] in "{[" and depth < _MAX_DEPTH else []
        if inner and (not name or _has_all(inner)):
            yield from (replace(head, start=match.start()) for head in inner)
            continue
        if key in _VALUE_KEYS and named:
            name, named = named, ""
        elif key in _NAME_KEYS:
            name, named = "", section_name(value)
        if name:
            kind = "json" if braced else "yaml" if ":" in match[0] else "toml"
            yield Head(kind, name, match.start("key"), position, value=value)


def _has_all(heads: list[Head]) -> bool:
    return {role for head in heads for role in NAMES[head.name]} == {*SECTIONS}


def _value(text: str, begin: int, braced: bool, dead: set[str]) -> tuple[str | None, int]:
    """The value that begins here, and where it ends; None if there is none.

    `dead` are the quotes and brackets that nothing closes any more. A truncated string is a value
    only if its answer is complete.
    """
    match = re.compile(r'"""|\'\'\'|\\"|["\'`“{\[]').match(text, begin)
    mark = match[0] if match else ""
    if mark in dead:
        return None, begin
    if mark in ("{", "["):
        level = 0
        for nested in _NESTED.finditer(text, begin):
            level += {"[": 1, "{": 1, "]": -1, "}": -1}.get(nested[0], 0)
            if level == 0:
                return text[begin : nested.end()], nested.end()
    elif mark:
        start = begin + len(mark)
        if closing := _closing(mark, braced).search(text, start):
            return _decoded(text[start : closing.start()], mark, braced), closing.end()
        rest = text[start:].rstrip().removesuffix("```").rstrip(" \n}])")
        if braced and rest.endswith("</answer>"):
            return _decoded(rest, mark, braced), len(text)
    elif bare := (_BARE if braced else _BARE_LINE).match(text, begin):
        return "" if bare[0] in ("null", "None", "undefined") else bare[0], bare.end()
    if mark:
        dead.add(mark)
    return None, begin


@lru_cache
def _closing(mark: str, braced: bool) -> re.Pattern[str]:
    closer = re.escape("”" if mark == "“" else mark)
    if len(mark) == 3:
        return re.compile(closer)
    return re.compile(rf"(?<!\\)(?:\\\\){{0,20}}{closer}{_AFTER if braced else _AFTER_LINE}")


def _decoded(text: str, mark: str, braced: bool) -> str:
    """Decode a string literal."""

    def character(match: re.Match[str]) -> str:
        code = match[1]
        is_number = code[0] in "ux" and len(code) > 1
        return chr(int(code[1:], 16)) if is_number else _ESCAPED.get(code, match[0])

    if mark in ("'", "'''") and not braced:
        return text.replace("''", "'")
    for _ in range(1 + (mark == '\\"')):
        text = _ESCAPE.sub(character, text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _elements(text: str, depth: int = 0) -> Iterator[Head]:
    """The elements of XML or HTML with a section's name as tag or attribute."""
    position, dead = 0, set[str]()
    while match := _OPENING.search(text, position):
        position, tag = match.end(), match["tag"].lower()
        names = map(section_name, [tag, *_ATTRIBUTE.findall(match["rest"])])
        if tag in dead or not (name := next(filter(None, names), "")):
            continue
        head = Head("xml", name, match.start(), position)
        closing = _closing_tag(tag).search(text, position)
        if closing is None:
            dead.add(tag)
            yield head
            continue
        value = text[position : closing.start()].strip()
        value = value.removeprefix("<![CDATA[").removesuffix("]]>")
        inner = list(_elements(value, depth + 1)) if depth < _MAX_DEPTH else []
        position = closing.end()
        if _has_all(inner):
            yield from (replace(each, start=head.start) for each in inner)
        else:
            yield replace(head, value=value if "<" in value else html.unescape(value))


@lru_cache
def _closing_tag(tag: str) -> re.Pattern[str]:
    return re.compile(rf"<\s?[/\\]\s?{re.escape(tag)}\s?>", re.IGNORECASE)


def _cells(text: str) -> Iterator[Head]:
    """The cells of a Markdown table under a row of section names, row by row."""
    names: list[str] = []
    offset = 0
    for line in text.split("\n"):
        cells = _CELL.split(line.strip().strip("|")) if line.lstrip().startswith("|") else []
        words = [section_name(cell.strip(" *`")) for cell in cells]
        roles = {role for word in words for role in NAMES.get(word, ())}
        if len({*words} - {""}) > 2 and roles == {*SECTIONS}:
            names = words
        elif len(cells) != len(names):
            names = []
        elif set(line) - set("|-: "):
            for name, cell in zip(names, cells, strict=True):
                if name:
                    yield Head("table", name, offset, offset, value=unescaped_cell(cell))
        offset += len(line) + 1


def unescaped_cell(cell: str) -> str:
    """The content of a cell of a Markdown table."""
    return re.sub(r"<br\s?/?>", "\n", cell).replace("\\|", "|").strip()


def unquoted(text: str) -> str:
    """A string of YAML or TOML without its quotes."""
    quoted = re.fullmatch(r"(\"\"\"|'''|\"|')(.*)\1", text, re.DOTALL)
    return _decoded(quoted[2], quoted[1], braced=False) if quoted else text
