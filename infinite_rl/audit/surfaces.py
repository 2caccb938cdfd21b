"""The forms in which a target accepts an answer, learned from controls with the gold itself.

A probe is certain only within a form that the target accepts: a reward that reads boxes is not
wrong to refuse an answer in a tag.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .programs import parsed
from .rows import CODE, QUERY, WHOLE, AuditRow

_WORK = "First I look at what is asked, then I work it out step by step."
# Tags and labels that a target's source or a prompt names.
_TAG = re.compile(r"<([A-Za-z][\w-]{1,30})>")
_LABEL = re.compile(
    r"(?:^|[\"'`(\s*])((?:[A-Z][A-Za-z]*)(?: [A-Za-z]+){0,3}:)(?=[\s\"'`*\\(]|$)", re.M
)
_THINKING = ("think", "thinking", "reasoning", "thought", "scratchpad", "analysis")
# A quoted form with a slot: 'Final: N', `The answer is X.`
_TEMPLATE = re.compile(
    r"['\"`]([^'\"`\n{}]{1,40}?)(?<![A-Za-z])(?:N|n|X|x|ANSWER|LETTER|your answer|<answer>|\.\.\.)"
    r"(?![A-Za-z])([^'\"`\n{}]{0,20})['\"`]"
)
_MOST = 12  # tags and labels that are tried


class Surface(NamedTuple):
    """A text with a slot "{}" for the answer. Inside `bounded` ones, marks stand at both ends."""

    name: str
    text: str
    bounded: bool = False

    def __call__(self, answer: str) -> str:
        return self.text.replace("{}", answer)


_FIRST = (
    Surface("tag", f"{_WORK}\n<answer>{{}}</answer>", True),
    Surface("box", f"{_WORK}\nThe answer is $\\boxed{{{{}}}}$.", True),
    Surface("thinking and tag", f"<think>\n{_WORK}\n</think>\n<answer>{{}}</answer>", True),
    Surface("thinking and lines", f"<think>\n{_WORK}\n</think>\n<answer>\n{{}}\n</answer>", True),
    Surface(
        "reasoning and lines",
        f"<reasoning>\n{_WORK}\n</reasoning>\n<answer>\n{{}}\n</answer>\n",
        True,
    ),
    Surface("thinking and box", f"<think>\n{_WORK}\n</think>\n\\boxed{{{{}}}}", True),
    Surface("tag and box", f"<think>\n{_WORK}\n</think>\n<answer>\\boxed{{{{}}}}</answer>", True),
    Surface("hashes", f"{_WORK}\n#### {{}}"),
    Surface("minerva", f"{_WORK}\nFinal Answer: The final answer is ${{}}$. I hope it is correct."),
)  # fmt: skip
_LAST = (
    Surface("answer line", f"{_WORK}\nAnswer: {{}}"),
    Surface("bold answer", f"{_WORK}\n**Answer:** {{}}"),
    Surface("final sentence", f"{_WORK}\nThe final answer is {{}}"),
    Surface("sentence", f"{_WORK}\nThe answer is {{}}."),
    Surface("open sentence", f"{_WORK}\nThe answer is {{}}"),
    Surface("brackets", f"{_WORK}\nThe answer is ({{}})."),
    Surface("json", '{"answer": "{}"}', True),
    Surface("fenced json", f"{_WORK}\n```json\n{{}}\n```", True),
    Surface("last line", f"{_WORK}\n{{}}"),
    Surface("words and tag", "<think>so it is</think><answer>{}</answer>", True),
    Surface("bare tag", "<answer>{}</answer>", True),
    Surface("bare box", "\\boxed{{}}", True),
    Surface("alone", "{}"),
)
_OF_CODE = (
    Surface("fence", f"{_WORK}\n```python\n{{}}\n```"),
    Surface("tag and fence", f"{_WORK}\n<answer>\n```python\n{{}}\n```\n</answer>"),
    Surface("thinking and fence", f"<think>\n{_WORK}\n</think>\n```python\n{{}}\n```"),
    Surface("tag", f"{_WORK}\n<answer>\n{{}}\n</answer>"),
    Surface("alone", "{}"),
)
_OF_QUERIES = (
    Surface("sql fence", f"{_WORK}\n```sql\n{{}}\n```", True),
    Surface("tag and sql fence", f"{_WORK}\n<answer>\n```sql\n{{}}\n```\n</answer>", True),
    Surface("sql tag", f"{_WORK}\n<sql>{{}}</sql>", True),
)


def surfaces(row: AuditRow, source: str, wrap: str = "") -> list[Surface]:
    """The forms to try for a row: `wrap` alone if it is stated, else all that are in use."""
    if wrap:
        return [Surface("stated", wrap.replace("{answer}", "{}"), bounded=_is_bounded(wrap))]
    if row.kind == CODE:
        return list(_OF_CODE)
    if row.kind == WHOLE:
        return [Surface("alone", "{}")]
    if row.kind == QUERY:
        return [*_OF_QUERIES, *_FIRST, *_LAST]
    named = list(_named_in(row.prompt, source))
    own = [each for each in [_of_response(row)] if each]
    return [*_FIRST, *named, *_LAST, *own]


def _named_in(prompt: str, source: str) -> Iterator[Surface]:
    """Forms that are named: tags, labels, and templates such as 'Final: N'."""
    text = f"{prompt}\n{source}"
    for before, after in list(dict.fromkeys(_TEMPLATE.findall(text)))[:_MOST]:
        yield Surface(f"{before}...{after}", f"{_WORK}\n{before}{{}}{after}")
    tags = [tag for tag in dict.fromkeys(_TAG.findall(text)) if tag.lower() not in _THINKING]
    thinking = next((tag for tag in _TAG.findall(text) if tag.lower() in _THINKING), "")
    for tag in tags[:_MOST]:
        inside = f"<{tag}>{{}}</{tag}>"
        yield Surface(f"<{tag}>", f"{_WORK}\n{inside}", True)
        if thinking:
            yield Surface(
                f"<{thinking}> and <{tag}>", f"<{thinking}>{_WORK}</{thinking}>\n{inside}", True
            )
    for label in list(dict.fromkeys(_LABEL.findall(text)))[:_MOST]:
        yield Surface(label, f"{_WORK}\n{label} {{}}")
    # A short string that ends in a blank or a sign may mark an answer: "-> ".
    marks = [each for each in literals(source) if re.fullmatch(r"[^\s{}].{1,18}[\s:=>#]", each)]
    for mark in marks[:_MOST]:
        yield Surface(mark, f"{_WORK}\n{mark}{{}}")


def literals(source: str) -> list[str]:
    """The different strings in a source of Python."""
    tree = parsed(source)
    nodes = ast.walk(tree) if tree else ()
    values = [each.value for each in nodes if isinstance(each, ast.Constant)]
    return list(dict.fromkeys(value for value in values if isinstance(value, str)))


def _of_response(row: AuditRow) -> Surface | None:
    """The form of a row's own response, if it states the gold once."""
    if not row.gold or row.response.count(row.gold) != 1 or "{}" in row.response:
        return None
    text = row.response.replace(row.gold, "{}")
    return Surface("as the response", text, _is_bounded(text))


def _is_bounded(text: str) -> bool:
    before, _, after = text.replace("{answer}", "{}").partition("{}")
    return bool(re.search(r"(?:[{>]|\$)\s*\Z", before) and re.match(r"\s*(?:[}<]|\$)", after))


def without_work(text: str) -> str:
    """A completion without the sentence that stands for reasoning, which states nothing."""
    return text.replace(f"{_WORK}\n", "")


def in_turn(groups: Sequence[Sequence[Surface]]) -> list[Surface]:
    """The different surfaces of several rows, in their order."""
    return list(dict.fromkeys(surface for group in groups for surface in group))
