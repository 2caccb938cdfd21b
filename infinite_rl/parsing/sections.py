"""The parser: a model's text to the sections of a sample. Pure and tolerant of format errors.

    parsed = ExampleParser.parse_text(text)
    parsed["prompt"], parsed["answer"], parsed["response"], parsed.strategy

The text is the model's: nothing here raises on it or evaluates it, and time is linear.
"""

import html
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from ..errors import UsageError
from ..layout import ANSWER, ANSWER_TAG, PROMPT, RESPONSE, SECTIONS
from .heads import (
    MARKUP,
    NAMES,
    Head,
    Run,
    find_heads,
    find_runs,
    structured_heads,
    unescaped_cell,
    unquoted,
)
from .markup import THINKING, CodeBlock, TagMatch, code_blocks, scan, split_thinking, tag_matches

__all__ = ["CodeBlock", "ExampleParser", "Parsed", "TagMatch", "code_blocks", "tag_matches"]

DEFAULT_TAGS = (ANSWER_TAG, "summary")

_DATA = frozenset({"", "json", "text", "txt", "plain", "plaintext"})
_PROSE = frozenset({"text", "txt", "plain", "plaintext", "markdown", "md"})
_WRAPPERS = _PROSE | {"", "yaml", "yml", "toml", "html", "xml", "ini"}
# What a chat template or tokenizer leaves at the end.
# search: '42<|im_end|>', 'r</s>', '[/INST]', '<end_of_turn>', '<|im_start|>user'; not '</answer>'
_END_TOKENS = re.compile(
    r"(?:<[|\uff5c](?:start_header_id|im_start)[|\uff5c]>\w{1,12}|<start_of_turn>\w{0,12}"
    r"|<[|\uff5c][\w\u2581-]{1,30}[|\uff5c]>|<end_of_turn>|[<\[]/?(?:eos|inst)[>\]]"
    r"|(?P<stroke></s>))\s{0,9}\Z",
    re.IGNORECASE,
)
# The same at the beginning.
# search: '<s>[PROMPT]', '<|begin_of_text|>Hello'; not '<s>struck</s> and <s>again</s>'
_BEGIN_TOKEN = re.compile(r"\A\s*(?:<s>|<bos>|<\|begin_of_text\|>)(?!.*<s>)", re.IGNORECASE)
_MAX_END_TOKENS = 4
# Marks that the model escaped.
# search: '\\[PROMPT\\]'; not '[PROMPT]'
_ESCAPED_MARK = re.compile(r"\\([<>\[\]])")
_NARROW = str.maketrans("＜＞／", "<>/")
# Words before a sample that corrects an earlier one.
# search: 'Wait, that is off.', 'Corrected version:', 'Fehler'; not 'Here is one more:'
_CORRECTS = re.compile(
    r"\b(?:wait|correct(?:ed|ion|ing)|revis(?:ed|ion)|fix(?:ed|ing)|mistake|wrong|error|redo|rewrit\w+"
    r"|improved|instead|korr(?:ektur|igier\w+)|falsch|fehler|corrig\w+|erreur|correg\w+|исправ\w+"
    r"|ошиб\w+)\b|更正|修正|纠正|訂正|错误|수정",
    re.IGNORECASE,
)
# search: 'x\n[ANSWER]\n42'; not '[answer]', '[ANSWER] 42'
_CLEAN_HEAD = re.compile(r"^\[(PROMPT|ANSWER|RESPONSE)\]$", re.MULTILINE)
# search: 'Answer:', '**response**', '[prompt ]'; not 'the answer is 42'
_LIKE_A_HEAD = re.compile(r"(?:prompt|answer|response)\s{0,3}[\])}:*】]", re.IGNORECASE)
# fullmatch: '---', ' * * *', '====='; not '--', '-=-'
_RULE = re.compile(r"\s*([-*_=])(?:[ ]?\1){2,}\s*")
# What may stand between two samples.
# fullmatch: '', '---', '### Sample 2', '**Beispiel 12:** '; not 'A sample of 2 apples'
_TITLE = re.compile(
    rf"\s*|{_RULE.pattern}|[\W_]*(?:sample|example|task|problem|item|version|variant|attempt|draft"
    r"|beispiel|entry)s?\W{0,3}\d{1,3}\W*",
    re.IGNORECASE,
)
# Words beside a fence that only shows the form of a sample.
# search: 'It should look like this:', 'only an example'; not 'Here is an example:'
_ILLUSTRATES = re.compile(
    r"\b(?:(?:should|would|will|must) look|only an? (?:example|illustration)|illustrat\w+)\b",
    re.IGNORECASE,
)
# fullmatch: '<!-- the answer -->'; not 'x <!-- y -->'
_COMMENT = re.compile(r"\s*<!--[^>]*-->\s*")
# fullmatch: '[END]', '--- end of sample ---'; not '**end**', 'END', 'the end'
_END_MARK = re.compile(
    r"\s*(?![*_]*end)[\W_]{1,12}end(?:[ _-]of[ _-]\w{1,12})?[\W_]{1,12}", re.IGNORECASE
)
# search: '42 [END]', 'so it is 4. <end_of_sample>'; not 'the end', '42[END]'
_END_IN_LINE = re.compile(
    r"\s{1,9}[\[<({*]{1,3}/?end(?:[ _-]of[ _-]\w{1,12})?[\])>}*]{1,3}\Z", re.IGNORECASE
)
# An extra section in the style of the others ends the one before it.
# match: 'Difficulty: hard', 'Topic:', 'Category]', 'Tags**'; not 'Topic of the day', 'tags:'
_EXTRA = (
    r"(?:D(?i:ifficulty)(?i: level)?|T(?i:opic|ags)|C(?i:ategory)|M(?i:etadata)|K(?i:eywords))"
    r"(?:[^\w\n]{0,9}$|[\]*]{0,4}[:：]|\])"
)
# match: '[HINT TEXT]', '### Difficulty: hard', '**Tags**'; not '[ANSWER]', '[x]', 'Tags are'
_BEHIND = re.compile(
    rf"\s*(?:\[(?!(?:PROMPT|ANSWER|RESPONSE)\])[A-Z][A-Z _-]{{3,30}}\]\s*\Z|[\W_]{{0,6}}{_EXTRA})"
)
# fullmatch: '<the problem>', '[Your answer here]', '{final answer}', '...'; not '[1, 2, 3]'
_PLACEHOLDER = re.compile(
    r"<(?:an?|the|your|insert)\s[^\n]{3,200}>|[<({\[](?=[^<>]*[^\W\d_]{3})[^<>]{3,120}[>)}\]]|\.\.\.|…"
)
# The text before a sample that begins within a line.
# search: '', 'Here it is:', '**Task.** '; not 'The format is:', 'and then the'
_BEFORE_INLINE = re.compile(
    r"\A(?!.*\b(?:format|structure|template|sections?|layout|head(?:er)?s?)\b)"
    r"(?:|.*[\n.:!?)\]>*])[\s*]*\Z",
    re.IGNORECASE | re.DOTALL,
)
# A line after the answer that addresses the user does not belong to the response.
# search: 'Let me know if it helps!', 'Would you like one more?', 'Sag Bescheid'; not 'Let x be 2.'
_CHATTER = re.compile(
    r"\b(?:let me know|hope (?:this|it|that) helps|would you like|do you want|feel free|want me to"
    r"|if you(?:'d| would)? (?:like|want|need)|happy to|shall i|should i|sag bescheid|melde dich"
    r"|n'hésitez pas|dis-moi|espero que|avísame|fammi sapere|me avise|дайте знать|надеюсь)\b"
    r"|希望|请告诉|さらに|도움이 되",
    re.IGNORECASE,
)
# search: 'Add two.', '2 + 2', '何が正しい'; not 'and', '...'
_TWO_WORDS = re.compile(r"\w\W+\w|[^\x00-\x7f]{4}")
# A block scalar of YAML.
# match: ' |\n', '>-\n', ' |2 # text\n'; not ' text |\n'
_BLOCK = re.compile(r"[ \t]*[|>][+-]?\d?[+-]?[ \t]*(?:#[^\n]*)?\n")
# The decoration that the other heads of a sample share.
# match: '## ', '**[', '<'; not '- ', 'Answer'
_STYLE = re.compile(r"[#*\[({<【]{1,6} ?")
# search: '> x', 'x\n > y'; not 'x > y'
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
# match: '<p>\n', '</td> x'; not '<answer>'
_MARKUP_THEN_SPACE = re.compile(MARKUP.pattern + r"\s*", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Parsed(Mapping[str, str]):
    """The three sections of a text: a mapping of `prompt`, `answer` and `response`.

    A missing section is "". It equals any mapping of the same three strings.

    `strategy` says how the text was read: by its heads ("bracket", "markdown", "bold", "label",
    "html", "table", "tag" for `<prompt>` alone, or "mixed" if they differ), by the keys, tags or
    fences of structured text ("json", "yaml", "toml", "xml", "fence"), by an answer tag alone
    ("tag"), or not at all ("none").

    `origins` maps each section to where it came from: its own "head" (or tag, or key); the
    "preamble" before the first head (a prompt without head); the "tag" of a text or response (an
    answer without head, so it only repeats the response and proves nothing); the "text" or
    "answer" that held the tag (a response without head); or "missing".
    """

    prompt: str = ""
    answer: str = ""
    response: str = ""
    strategy: str = "none"
    origins: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(SECTIONS, "missing"))

    @property
    def lacking(self) -> tuple[str, ...]:
        """The sections that are empty or had no head."""
        return tuple(n for n in SECTIONS if not self[n] or self.origins[n] != "head")

    @property
    def complete(self) -> bool:
        """Whether no section is lacking."""
        return not self.lacking

    def __getitem__(self, section: str) -> str:
        if section not in SECTIONS:
            raise KeyError(section)
        return str(getattr(self, section))

    def __iter__(self) -> Iterator[str]:
        return iter(SECTIONS)

    def __len__(self) -> int:
        return len(SECTIONS)


class ExampleParser:
    """Read the three-head format, with the deviations that models make."""

    @staticmethod
    def parse_text(text: str | None) -> Parsed:
        """The prompt, answer and response of a text; never raises.

        A head is a line, or a part of one, that is a name in `section_names.txt` without its
        decoration. The heads that fit together best divide the text: with bracket heads,
        `## Solution` is content, as are heads in code fences. Fields of JSON, YAML, TOML, XML and
        tables are sections too. Of several complete samples the first counts, or the last that
        says that it corrects another. Thinking parts are dropped.

        The answer is the last `<answer>` tag of its section, else the section; a fence around it
        goes if it holds data (no language, JSON, text) and stays if it holds a program.

        What `layout.render` wrote comes back exactly, up to outer whitespace and Windows line
        ends, unless the texts themselves hold section heads, thinking tags, fences left open, an
        answer wholly in a tag or a data fence, a prompt wholly in one, placeholders alone, a
        horizontal rule at the end of every section, or behind the last an end mark or a section
        that nobody asked for.
        """
        text = _plain(text)
        if (clean := _clean(text)) is not None:
            return clean
        part = Parsed()
        for inline in (False, True):
            for view in filter(None, _views(text, inline)):
                parsed = _chosen(view, inline)
                if parsed.complete:
                    return parsed
                part = part if part.strategy != "none" else parsed
        visible = split_thinking(text)[0].strip()
        matches = tag_matches(visible) if part.strategy == "none" else []
        if matches:  # no heads at all: the answer is the last tag, the response the whole text
            sources = {PROMPT: "missing", ANSWER: "tag", RESPONSE: "text"}
            return Parsed("", _unfenced(matches[-1].content), visible, "tag", sources)
        return part

    @staticmethod
    def extract_answer_tags(text: str | None, tags: Iterable[str] | str | None = None) -> list[str]:
        """The stripped contents of the tags (default: answer and summary), in order; the last one
        counts. `TagMatch.how` is its form."""
        tags = DEFAULT_TAGS if tags is None else [tags] if isinstance(tags, str) else tags
        text = _plain(text)
        matches = [match for name in dict.fromkeys(tags) for match in tag_matches(text, name)]
        return [match.content for match in sorted(matches, key=lambda match: match.start)]

    @staticmethod
    def parse_file(path: str | Path) -> Parsed:
        """Parse one UTF-8 file.

        Raises:
            FileNotFoundError: there is no such file (or another OSError that reading it gives).
            UsageError: the file is not UTF-8.
        """
        try:
            return ExampleParser.parse_text(Path(path).read_bytes().decode("utf-8"))
        except UnicodeDecodeError as error:
            raise UsageError(f"{path} is not UTF-8 text: {error}") from error

    @staticmethod
    def get_all_examples(directory: str | Path) -> dict[str, Parsed]:
        """Every Markdown file of a folder but its README, parsed, by file stem and in that order.

        Raises:
            UsageError: there is no such folder, or one of its files is not UTF-8.
        """
        folder = Path(directory)
        if not folder.is_dir():
            raise UsageError(f"no folder of examples at {folder}")
        files = sorted(folder.glob("*.md"), key=lambda path: path.stem)
        return {p.stem: ExampleParser.parse_file(p) for p in files if p.stem.lower() != "readme"}


def _plain(text: str | None) -> str:
    """Text with Unix line ends, without byte-order mark and without a model's end-of-text marks."""
    text = (text or "").replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff").rstrip()
    text = _BEGIN_TOKEN.sub("", text, count=1)
    for _ in range(_MAX_END_TOKENS):
        mark = _END_TOKENS.search(text, max(0, len(text) - 50))
        if mark is None or (mark["stroke"] and "<s>" in text):
            break
        text = text[: mark.start()].rstrip()
    return text


def _views(text: str, inline: bool) -> Iterator[str]:
    """Yield the texts that may contain the sample, the likeliest first."""
    if (final := text.rfind("<|channel|>final<|message|>")) >= 0:
        text = text[final:].partition("<|message|>")[2]
    visible, thought = split_thinking(text)
    wrapper = next(scan(visible), None)
    if wrapper and wrapper.language in _WRAPPERS and not find_heads(visible[: wrapper.start]):
        inner = visible[visible.find("\n", wrapper.start) + 1 :].lstrip()
        if any(head.start == 0 for head in find_heads(inner[:200])):
            blocks = list(scan(inner))  # the fence that ends the wrapper opens nothing
            stray = blocks and not blocks[-1].closed and not blocks[-1].language
            if not _ILLUSTRATES.search(visible[: wrapper.start] + visible[wrapper.end :]):
                yield inner[: blocks[-1].start] if stray else inner
    yield visible
    if not inline:
        yield thought  # a sample after an unclosed `<think>` is better than none
    strays = [match for match in THINKING.finditer(text) if any(match.groups())]
    if strays and (not visible.strip() or find_heads(visible)):
        last = strays[-1]  # closes nothing: the sample continues after it, or ended before it
        yield split_thinking(text[: last.start()])[0] + text[last.end() :]
    if "\n" not in text and text.count("\\n") > 2:
        yield text.replace("\\n", "\n").replace('\\"', '"')
    if (clear := html.unescape(_ESCAPED_MARK.sub(r"\1", visible)).translate(_NARROW)) != visible:
        yield clear


def _clean(text: str) -> Parsed | None:
    """The parse of an unambiguous text, in a fifth of the time; else None.

    Its three heads stand alone on their lines, in order, and nothing else looks like a head.
    """
    matches = list(_CLEAN_HEAD.finditer(text))
    if [match[1] for match in matches] != ["PROMPT", "ANSWER", "RESPONSE"] or matches[0].start():
        return None
    if len(_LIKE_A_HEAD.findall(text)) > 3 or THINKING.search(text):
        return None
    ends = [*(match.start() for match in matches[1:]), len(text)]
    spans = [text[match.end() : end] for match, end in zip(matches, ends, strict=True)]
    if any(span.count("```") % 2 or "~~~" in span or not span.strip() for span in spans):
        return None  # a head may stand in a fence
    heads = (Head("bracket", match[1].lower(), match.start(), match.end()) for match in matches)
    parsed = _parsed(text, Run(tuple(zip(heads, SECTIONS, strict=True)), len(text)))
    placeholders = all(map(_PLACEHOLDER.fullmatch, parsed.values()))
    return parsed if parsed.complete and not placeholders else None


def _chosen(text: str, inline: bool) -> Parsed:
    """The first complete sample, or a later one that corrects it; else the best partial one."""
    readers = [find_heads(text, inline)] if inline else [*structured_heads(text), find_heads(text)]
    runs = [run for heads in readers for run in find_runs(text, heads)]
    chosen = part = Parsed()
    for run in sorted(runs, key=lambda run: text.rfind("\n", 0, run.heads[0][0].start)):
        start = run.heads[0][0].start
        if chosen.complete and not _corrects(text, start):
            continue
        parsed = _parsed(text, run)
        data = parsed.strategy in ("json", "yaml", "toml", "table")
        if all(map(_PLACEHOLDER.fullmatch, parsed.values())):
            continue
        if inline and not (
            _BEFORE_INLINE.search(text[max(0, start - 80) : start])
            and _TWO_WORDS.search(parsed.prompt)
        ):
            continue  # a sentence about the form of a sample
        if len(part.lacking) < 2 and (data or parsed.strategy == "xml"):
            break  # data inside an incomplete sample is content of that sample
        if parsed.complete:
            chosen = parsed
        elif not data and len(parsed.lacking) < max(len(part.lacking), part.strategy == "none"):
            part = parsed
    return chosen if chosen.complete else part


def _corrects(text: str, start: int) -> bool:
    """Whether the text before a sample, or its first line, says that it corrects another."""
    before = text[max(0, start - 300) : start].rstrip()
    before = before[max(before.rfind(mark) for mark in ("</", "```", "}")) + 1 :]
    line = text[start : start + 100].partition("\n")[0]
    return bool(_CORRECTS.search(before[before.rfind("\n\n") + 1 :] + "\n" + line))


def _parsed(text: str, run: Run) -> Parsed:
    """The parse of a run of heads."""
    heads = [head for head, _ in run.heads]
    ends = [head.start for head in heads[1:]] + [run.end]
    spans = list(zip(run.heads, ends, strict=True))
    bodies = {section: _body(text, head, end, run.closings) for (head, section), end in spans}
    if any(head.value is None and MARKUP.search(text[head.start : head.body]) for head in heads):
        bodies = {section: _without_markup(body) for section, body in bodies.items()}
    if any(_BLOCK.match(text, head.body) for head in heads if head.kind == "label"):
        bodies = {section: unquoted(body) for section, body in bodies.items()}
    bodies = _parted(bodies, run.end < len(text))
    sources = {name: "head" if name in bodies else "missing" for name in SECTIONS}
    preamble = text[: heads[0].start].strip()
    if preamble and PROMPT not in bodies and len(bodies) > 1:
        bodies[PROMPT], sources[PROMPT] = preamble, "preamble"
    last = spans[-1][0][1]
    for section in {RESPONSE, last} & {ANSWER, RESPONSE} & bodies.keys():
        bodies[section] = _without_chatter(bodies[section], section == ANSWER)
    _fill_from_tags(bodies, sources)
    for section, languages in ((PROMPT, _PROSE | {""}), (RESPONSE, _PROSE)):
        bodies[section] = _unfenced(bodies.get(section, ""), languages)
    strategy = heads[0].kind if len({head.kind for head in heads}) == 1 else "mixed"
    return Parsed(bodies[PROMPT], bodies.get(ANSWER, ""), bodies[RESPONSE], strategy, sources)


def _without_chatter(body: str, plain: bool) -> str:
    """Drop chatter after a section's answer tag; a `plain` answer needs no tag."""
    end = body.rfind("</answer>")
    if plain and end < 0:
        end = next((block.end for block in scan(body) if block.closed), 0)
    for line in re.finditer(r"[^\n]+", body[end:]) if end >= 0 else ():
        chatter = (
            _RULE.fullmatch(line[0]) or _BEHIND.match(line[0]) or _CHATTER.search(line[0], 0, 120)
        )
        if line.start() and chatter:
            return body[: end + line.start()].rstrip()
    return body


def _body(text: str, head: Head, end: int, closings: tuple[Head, ...]) -> str:
    """The text under a head, without the decoration of heads."""
    if head.value is not None:
        return head.value.strip()
    at = bisect_left(closings, end, key=lambda each: each.start) - 1
    roles = NAMES[head.name].keys()
    while at >= 0 and closings[at].start >= head.body and NAMES[closings[at].name].keys() & roles:
        end, at = closings[at].start, at - 1
        if at >= 0 and text[closings[at].body : end].strip():
            break  # `</answer>` right before `[/ANSWER]` is one more
    # "[ANSWER] (3, 4)": with nothing behind it, it was no remark.
    no_remark = head.remark >= 0 and not text[head.body : end].strip()
    start = head.remark if no_remark else head.body
    line, newline, more = text[start:end].partition("\n")
    if head.kind == "table":
        return unescaped_cell(line.rstrip().removesuffix("|"))
    decoration = text[head.start : head.body]
    style = _STYLE.match(decoration)
    if style and (extra := re.search(rf"(?m)^{re.escape(style[0])}{_EXTRA}", more)):
        more = more[: extra.start()]
    if head.kind == "label" and _BLOCK.match(text, start):
        return _dedented(more, len(decoration) - len(decoration.lstrip(" -"))).strip()

    closes_on_line = head.close and line.rstrip().endswith(head.close)
    closes_below = head.close and more.rstrip().endswith(head.close)
    describes = decoration.rstrip()[-1] in "-–—|,;" and more.strip()
    quoted = decoration[0] == ">" and all(
        each.lstrip()[:1] in ("", ">") for each in more.split("\n")
    )
    if closes_on_line and describes:
        line = ""  # "[PROMPT — Geometry, easy]", then the prompt
    elif closes_on_line:
        line = line.rstrip()[: -len(head.close)]  # "[ANSWER: 42]"
    elif closes_below:
        more = more.rstrip()[: -len(head.close)]  # the same over several lines
    if quoted:
        more = _QUOTE.sub("", more)
    if not line.strip() or decoration[0] in "-*+":
        more = _dedented(more)
    return f"{line}{newline}{more}".strip()


def _dedented(text: str, column: int = -1) -> str:
    """The leading lines that are indented by more than `column`, without their common margin."""
    indents = ((len(line) - len(line.lstrip(" ")), line) for line in text.split("\n"))
    lines = [*takewhile(lambda each: each[0] > column or not each[1].strip(), indents)]
    margin = min((indent for indent, line in lines if line.strip()), default=0)
    return "\n".join(line[margin:] for _, line in lines)


def _without_markup(body: str) -> str:
    """Drop the HTML tags at both ends of a body."""
    start, end = 0, len(body)
    while tag := _MARKUP_THEN_SPACE.match(body, start):
        start = tag.end()
    while end > start and body[end - 1] == ">":
        tag = MARKUP.fullmatch(body, max(start, body.rfind("<", max(start, end - 90), end)), end)
        if not tag:
            break
        end = tag.start()
        while end > start and body[end - 1].isspace():
            end -= 1
    return body[start:end]


def _fill_from_tags(bodies: dict[str, str], sources: dict[str, str]) -> None:
    """Read the answer from its section; if answer or response is missing, use the other."""
    if ANSWER in bodies:
        section = bodies[ANSWER]
        bodies[ANSWER] = _answer(section)
        has_more = len(section) > len(bodies[ANSWER]) + 2 * len(ANSWER_TAG) + 20
        if RESPONSE not in bodies and has_more and tag_matches(section):
            bodies[RESPONSE], sources[RESPONSE] = section, "answer"
    elif RESPONSE in bodies and (matches := tag_matches(bodies[RESPONSE])):
        bodies[ANSWER], sources[ANSWER] = _unfenced(matches[-1].content), "tag"


def _answer(section: str) -> str:
    """The answer of an answer section, in one form for all ways to write it."""
    bare = _unfenced(section)
    if bare.startswith("{"):
        return bare  # data; a tag in it belongs to a test's text
    if matches := tag_matches(section):
        return _unfenced(matches[-1].content)
    data = [
        block.code.strip()
        for block in code_blocks(section)
        if block.closed and block.language in ("", "json")
    ]
    return data[0] if len(data) == 1 and data[0].startswith('{"') else bare  # words about data


def _unfenced(text: str, languages: Collection[str] = _DATA) -> str:
    """Drop a fence around the whole text if it holds data; a program keeps its fence."""
    text = text.strip()
    blocks = code_blocks(text)
    if len(blocks) != 1 or blocks[0].language not in languages:
        return text
    block = blocks[0]
    whole = block.closed and block.start == 0 and block.end == len(text)
    return block.code.strip() if whole else text


def _parted(bodies: dict[str, str], another: bool) -> dict[str, str]:
    """Drop the rules between sections, and the title of `another` sample at the end.

    A single rule is content: separators stand between any two sections, or under each head.
    """
    lines = {section: body.strip().split("\n") for section, body in bodies.items()}
    *others, last = lines
    lines[last][-1] = _END_IN_LINE.sub("", lines[last][-1])
    for section, body in lines.items():
        mark = _TITLE if another and section == last else _END_MARK if section == last else _COMMENT
        while len(body) > 1 and (mark.fullmatch(body[-1]) or _COMMENT.fullmatch(body[-1])):
            body.pop()
    for at, sections in ((0, [*lines]), (-1, others)):
        if others and all(_RULE.fullmatch(lines[section][at]) for section in sections):
            for body in lines.values():
                body[at] = "" if _RULE.fullmatch(body[at]) else body[at]
    if others and all(lines[section][-1].endswith(" |") for section in others):
        for section in others:
            lines[section][-1] = lines[section][-1][:-2]
    return {section: "\n".join(body).strip() for section, body in lines.items()}
