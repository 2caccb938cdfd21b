"""Model text to sections, tags and code. Pure and tolerant; it says how it matched.

    parsed = ExampleParser.parse_text(text)
    parsed["prompt"], parsed["answer"], parsed["response"], parsed.strategy

The text is the model's, so nothing here raises on it, evaluates it, or takes more than linear time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .errors import UsageError
from .layout import ANSWER, ANSWER_TAG, PROMPT, RESPONSE, SECTIONS
from .parser_fences import CodeBlock, code_blocks, scan
from .parser_heads import choose, find_heads, spans
from .parser_tags import TagMatch, answer_tags, split_thinking, tag_matches

__all__ = ["CodeBlock", "ExampleParser", "Parsed", "TagMatch", "code_blocks", "tag_matches"]

DEFAULT_TAGS = (ANSWER_TAG, "summary")

_DATA_LANGUAGES = frozenset({"", "json", "text", "txt", "plain", "plaintext"})
_WRAPPER_LANGUAGES = frozenset({"", "markdown", "md", "text", "txt", "plaintext"})
_END_TOKENS = re.compile(
    r"(?:<[|\uff5c][\w\u2581-]{1,30}[|\uff5c]>|<end_of_turn>|(?P<stroke></s>))\s{0,9}\Z"
)
_MAX_END_TOKENS = 4


@dataclass(frozen=True, eq=False)
class Parsed(Mapping[str, str]):
    """The three sections of a text: a mapping of `prompt`, `answer` and `response`.

    A section that is not there is "". It equals any mapping of the same three strings.

    `strategy` says how the text was read: by its heads ("bracket", "markdown", "bold", "label", or
    "mixed" where they differ), as one JSON object ("json"), by a tag around each section ("xml"),
    by an answer tag alone ("tag"), or not at all ("none").

    `found` says for each section where it came from: its own "head" (or tag, or key); the
    "preamble" before the first head (a prompt without head); the "tag" of a text or response (an
    answer without head, so it only repeats the response and proves nothing); the "text" or
    "answer" that held the tag (a response without head); or "missing".
    """

    prompt: str = ""
    answer: str = ""
    response: str = ""
    strategy: str = "none"
    found: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(SECTIONS, "missing"))

    @property
    def lacking(self) -> tuple[str, ...]:
        """The sections that hold nothing, or that did not stand under a head of their own."""
        return tuple(n for n in SECTIONS if not self[n] or self.found[n] != "head")

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
    """Reads the three-head format, whatever the model made of it."""

    @staticmethod
    def parse_text(text: str | None) -> Parsed:
        """The prompt, answer and response of a text; never raises.

        Heads are `[PROMPT]`, `[ANSWER]`, `[RESPONSE]`, or the same (or a synonym) as a Markdown or
        bold heading or a label, in any case. Only a line that is such a head begins a section, and
        only in the style that structures the text: with bracket heads, `## Solution` is content.
        Heads in code fences are content. Thinking parts are dropped.

        The answer is the last `<answer>` tag of its section, else the section; a fence around it
        goes if it holds data (no language, JSON, text) and stays if it holds a program.

        What `layout.render` wrote comes back exactly, up to outer whitespace and Windows line
        ends, unless the texts themselves hold section heads, thinking tags, fences left open, an
        answer wholly in a tag or a data fence, or a horizontal rule at the end of every section.
        """
        text = _plain(text)
        for strategy in _STRATEGIES:
            parsed = strategy(text)
            if parsed is not None:
                return parsed
        return Parsed()

    @staticmethod
    def extract_answer_tags(text: str | None, tags: Iterable[str] | str | None = None) -> list[str]:
        """The stripped contents of the tags (default: answer and summary), in order.

        The last one is the one that counts. Thinking parts are not searched. `tag_matches` says
        how each was found.
        """
        return answer_tags(_plain(text), DEFAULT_TAGS if tags is None else tags)

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
        return {
            path.stem: ExampleParser.parse_file(path)
            for path in files
            if path.stem.lower() != "readme"
        }


def _plain(text: str | None) -> str:
    """Text with Unix line ends, without byte-order mark and without a model's end-of-text marks."""
    text = (text or "").replace("\r\n", "\n").removeprefix("\ufeff").rstrip()
    for _ in range(_MAX_END_TOKENS):
        mark = _END_TOKENS.search(text, max(0, len(text) - 50))
        if mark is None or (mark["stroke"] and "<s>" in text):
            break
        text = text[: mark.start()].rstrip()
    return text


def _from_wrapped(text: str) -> Parsed | None:
    """The whole sample in one fence: ```` ```markdown ````, then a head."""
    visible, _ = split_thinking(text)
    fence = next(scan(visible), None)
    if fence is None or fence.language not in _WRAPPER_LANGUAGES:
        return None
    begin = visible.find("\n", fence.start) + 1
    inner = visible[begin:].lstrip() if begin else ""
    heads = find_heads(inner[:200])
    if not heads or heads[0].start > 0 or find_heads(visible[: fence.start]):
        return None
    blocks = list(scan(inner))
    if blocks and not blocks[-1].closed and not blocks[-1].language:
        inner = inner[: blocks[-1].start]  # the fence that ends the wrapper opened nothing
    return _sections(inner)


def _from_heads(text: str) -> Parsed | None:
    return _sections(split_thinking(text)[0])


def _from_unfinished_thought(text: str) -> Parsed | None:
    """Heads after a `<think>` that was never closed: better a sample to verify than none."""
    return _sections(split_thinking(text)[1])


def _from_json(text: str) -> Parsed | None:
    """One JSON object, bare or fenced, with the three sections as its keys."""
    visible = _unfenced(split_thinking(text)[0])
    if not visible.startswith("{"):
        return None
    try:
        content = json.loads(visible)
        "".join(value for value in content.values() if isinstance(value, str)).encode()
    except (ValueError, RecursionError):  # also for half a surrogate pair, which is no text
        return None
    sections = {str(key).lower(): value for key, value in content.items()}
    bodies = {name: sections.get(name) for name in SECTIONS}
    if not all(isinstance(body, str) for body in bodies.values()):
        return None
    return _parsed({name: str(body).strip() for name, body in bodies.items()}, "json")


def _from_section_tags(text: str) -> Parsed | None:
    """`<prompt>...</prompt>` and so on; an answer tag in the response is not the section."""
    visible, _ = split_thinking(text)
    prompts, responses = tag_matches(visible, PROMPT), tag_matches(visible, RESPONSE)
    if not (prompts and responses and prompts[-1].start < responses[-1].start):
        return None
    between = visible[prompts[-1].start : responses[-1].start]
    answers = [match for match in tag_matches(between) if match.how == "well_formed"]
    bodies = {PROMPT: prompts[-1].content, RESPONSE: responses[-1].content}
    if answers:
        bodies[ANSWER] = answers[-1].content
    return _parsed(bodies, "xml")


def _from_tag(text: str) -> Parsed | None:
    """No heads at all: the answer is the last tag, the response the whole text."""
    visible = split_thinking(text)[0].strip()
    matches = tag_matches(visible)
    if not matches:
        return None
    found = {PROMPT: "missing", ANSWER: "tag", RESPONSE: "text"}
    return Parsed("", _unfenced(matches[-1].content), visible, "tag", found)


_STRATEGIES: tuple[Callable[[str], Parsed | None], ...] = (
    _from_wrapped,
    _from_heads,
    _from_unfinished_thought,
    _from_json,
    _from_section_tags,
    _from_tag,
)


def _sections(text: str) -> Parsed | None:
    """Cut a text at its heads."""
    choice = choose(text, find_heads(text))
    if choice is None:
        return None
    bodies = {
        head.section: _without_end_head(text[start:end].strip(), head.name)
        for head, start, end in spans(choice)
    }
    bodies = _without_rules(bodies)
    styles = {head.style for head in choice.heads}
    strategy = styles.pop() if len(styles) == 1 else "mixed"
    return _parsed(bodies, strategy, text[: choice.heads[0].start].strip())


def _parsed(bodies: dict[str, str], strategy: str, preamble: str = "") -> Parsed:
    """The parse of the sections that were found, with what can be said of the others."""
    found = {name: "head" if name in bodies else "missing" for name in SECTIONS}
    if preamble and PROMPT not in bodies and len(bodies) > 1:
        bodies[PROMPT], found[PROMPT] = preamble, "preamble"
    _fill_from_tags(bodies, found)
    sections = {name: bodies.get(name, "") for name in SECTIONS}
    return Parsed(**sections, strategy=strategy, found=found)


def _fill_from_tags(bodies: dict[str, str], found: dict[str, str]) -> None:
    """Read the answer out of its section; where answer or response is missing, use the other."""
    if ANSWER in bodies:
        section = bodies[ANSWER]
        bodies[ANSWER] = _answer(section)
        around = len(section) > len(bodies[ANSWER]) + 2 * len(ANSWER_TAG) + 20
        if RESPONSE not in bodies and around and tag_matches(section):
            bodies[RESPONSE], found[RESPONSE] = section, "answer"
    elif RESPONSE in bodies and (matches := tag_matches(bodies[RESPONSE])):
        bodies[ANSWER], found[ANSWER] = _unfenced(matches[-1].content), "tag"


def _answer(section: str) -> str:
    """The answer of an answer section, in one form whichever way it was written."""
    bare = _unfenced(section)
    if bare.startswith("{"):
        return bare  # data; a tag in it belongs to a test's text
    matches = tag_matches(section)
    return _unfenced(matches[-1].content) if matches else bare


def _unfenced(text: str) -> str:
    """Text without a fence that is around all of it and holds data; a program keeps its fence."""
    text = text.strip()
    blocks = code_blocks(text)
    if len(blocks) != 1 or blocks[0].language not in _DATA_LANGUAGES:
        return text
    block = blocks[0]
    whole = block.closed and block.start == 0 and block.end == len(text)
    return block.code.strip() if whole else text


def _without_end_head(body: str, name: str) -> str:
    """A section without the `[/PROMPT]` that some models end it with."""
    end = f"[/{name}]"
    return body[: -len(end)].rstrip() if body[-len(end) :].lower() == end else body


def _without_rules(bodies: dict[str, str]) -> dict[str, str]:
    """Sections without the horizontal rules between them, if there is one between any two."""
    last = list(bodies)[-1]
    if len(bodies) < 2 or not all(_is_rule(_last_line(bodies[s])) for s in bodies if s != last):
        return bodies
    return {
        section: body[: -len(_last_line(body))].rstrip() if _is_rule(_last_line(body)) else body
        for section, body in bodies.items()
    }


def _last_line(body: str) -> str:
    return body[body.rfind("\n") + 1 :]


def _is_rule(line: str) -> bool:
    line = line.strip()
    return len(line) >= 3 and line.strip(line[0]) == "" and line[0] in "-*_="
