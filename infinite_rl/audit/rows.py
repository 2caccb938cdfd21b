"""The rows of an audit: a prompt, a gold, and the kind of the gold, which decides the probes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from ..dataset.rows import Source, read_some
from ..errors import UsageError
from ..files.json_text import plain_text
from .foreign_reward.parameters import PROMPT
from .programs import program_of

CHOICE, NUMBER, MATHS, TEXT, CODE, OTHER = "choice", "number", "maths", "text", "code", "other"
# A day in the form of ISO 8601; members that are all required; an object or array of JSON; SQL.
DATE, LIST, JSON, QUERY = "date", "list", "json", "query"
WHOLE = "whole"  # no answer can be read from the gold: the row's own response stands for it
_GOLD = (
    "answer", "ground_truth", "gold", "target", "final_answer", "label", "reference", "expected",
    "solution", "tests", "test", "test_list", "test_cases", "cases",
)  # fmt: skip
# A column whose name has one of these holds a gold, if no usual one is there.
_LIKE_GOLD = re.compile(r"answer|expected|gold|truth|target|reference|solution|label", re.I)
_INSTRUCTIONS = ("instructions", "instruction_id_list", "constraints")
_CHOICES = ("choices", "options")
_NESTED = ("target", "answer", "ground_truth", "value", "gold", "text", "aliases")
_RESPONSES = ("response", "completion", "gold_response", "reference_response")
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|[-+]?\.\d+", re.ASCII)
_CODING = ("coding", "code", "program", "humaneval")  # types of rows with programs
_MOST_TEXT = 200  # characters of a gold that is an answer


@dataclass(frozen=True)
class AuditRow:
    """A row as it is sent to a target; `gold` is the answer as a text, "" if it has none.

    `others` are further texts of a gold that lists several. A `tolerant` row needs wrong answers
    that are far from the gold.
    """

    index: int
    kind: str
    prompt: str
    answer: Any
    gold: str
    response: str
    columns: Mapping[str, Any]
    others: Sequence[str] = ()
    tolerant: bool = False

    @property
    def fields(self) -> dict[str, Any]:
        """The columns, with those of nested records beside them."""
        return _fields(self.columns)

    def sent(self) -> dict[str, Any]:
        """The row for the process of the target."""
        return {"prompt": self.prompt, "answer": self.answer, "columns": dict(self.columns)}


def audit_rows(source: Source, answer: str = "") -> Iterator[AuditRow]:
    """Read rows. `answer` names the column of the golds; without it, the usual names are tried.

    Raises:
        UsageError: there is no such source, or a row has no gold; StoreError: it is damaged.
    """
    for index, columns in enumerate(read_some(source)):
        yield audit_row(index, columns, answer)


def audit_row(index: int, columns: Mapping[str, Any], answer: str = "") -> AuditRow:
    """One row. Raises UsageError if it has no column that may hold a gold."""
    fields = _fields(columns)
    named = [name for name in fields if _LIKE_GOLD.search(name)]
    names = (answer,) if answer else (*_GOLD, *named)
    golds_of = (fields[name] for name in names if fields.get(name) is not None)
    values = [plain_text(each) or each for each in golds_of]  # dates and decimals, as elsewhere
    response = _first(columns, _RESPONSES)
    if not values and not isinstance(response, str):
        raise UsageError(
            f"row {index + 1} has no gold: name its column with --answer "
            f"(its columns: {', '.join(map(str, columns))})"
        )
    value = values[0] if values else response
    prompt = _text_of_prompt(_first({**_request(columns), **columns}, PROMPT))
    if response is None and isinstance(value, str) and not _gold_text(value):
        response = value  # a whole answer, with its reasoning
    golds = (_choice(fields, each) or _gold_texts(each) for each in values)
    gold, *others = next((texts for texts in golds if texts[0]), [""])
    kind = _kind(fields, gold)
    if kind == CODE:
        gold = program_of(fields)
    response = response if isinstance(response, str) else ""
    if any(isinstance(fields.get(name), list) for name in _INSTRUCTIONS):
        response, gold = response or gold, ""  # any text that follows them is right
    if response and (not gold or kind in (OTHER, JSON) and gold not in response):
        kind, gold = WHOLE, response
    tolerant = any("tol" in str(name).lower() for name in fields)
    return AuditRow(index, kind, prompt, value, gold, response, columns, others, tolerant)


def _fields(columns: Mapping[str, Any]) -> dict[str, Any]:
    nested = [_fields(each) for each in columns.values() if isinstance(each, Mapping)]
    return {**{name: each[name] for each in nested for name in each}, **columns}


def _first(columns: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((columns[name] for name in names if columns.get(name) is not None), None)


def _text_of_prompt(prompt: Any) -> str:
    if isinstance(prompt, list):  # messages
        parts = [
            each.get("content", each.get("text")) for each in prompt if isinstance(each, Mapping)
        ]
        return "\n".join(filter(None, map(_text_of_prompt, parts)))
    return prompt if isinstance(prompt, str) else ""


def _request(columns: Mapping[str, Any]) -> Mapping[str, Any]:
    """The request to a model that a row of NeMo Gym holds."""
    request = columns.get("responses_create_params")
    return request if isinstance(request, Mapping) else {}


def _choice(fields: Mapping[str, Any], value: Any) -> list[str]:
    """The letter of a gold that is the index of a choice; empty if it is none."""
    choices = _first(fields, _CHOICES)
    if not isinstance(choices, list) or not isinstance(value, int) or isinstance(value, bool):
        return []
    return [chr(ord("A") + value)] if 0 <= value < min(10, len(choices)) else []


def _gold_texts(value: Any) -> list[str]:
    """The text of a gold, and those of its other spellings if it lists several."""
    if isinstance(value, Mapping) and value.keys() <= set(_NESTED):
        value = next((value[name] for name in _NESTED if value.get(name)), value)
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return [_gold_text(each) for each in value]
    if isinstance(value, Mapping | list):
        try:
            value = json.dumps(value)
        except (TypeError, ValueError):
            value = ""
    return [_gold_text(value)]


def _gold_text(value: Any) -> str:
    """The answer in a gold: what follows "####" in GSM8K's, else the value as a text."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = str(value).strip()
    if "####" in text:
        text = text.rpartition("####")[2].strip()
    return text if len(text) <= _MOST_TEXT and "\n" not in text else ""


def _kind(columns: Mapping[str, Any], gold: str) -> str:
    tests = [
        name for name in columns if name in ("tests", "test", "test_cases", "cases", "test_list")
    ]
    if columns.get("language") or tests or columns.get("type") in _CODING:
        return CODE
    if program_of(columns) and columns.get("type") not in ("math", "gsm8k"):
        return CODE  # `{3 - i, 3 + i}` could be a program, too
    if not gold:
        return OTHER
    if re.fullmatch(r"\(?[A-J]\)?", gold):
        return CHOICE
    if _NUMBER.fullmatch(gold):
        return NUMBER
    if day(gold):
        return DATE
    if re.match(r"(?:select|with)\s", gold, re.I):
        return QUERY
    if gold[0] in "{[" and _is_json(gold):
        return JSON
    return MATHS if _is_maths(gold) else TEXT


def day(text: str) -> date | None:
    """The day that a text of the form 2001-12-31 names."""
    try:
        return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else None
    except ValueError:
        return None


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except ValueError:
        return False


def _is_maths(gold: str) -> bool:
    from ..reward_functions.math.bounds import Budget, OutOfTime, OverBudget, Unparsed
    from ..reward_functions.math.normal_form import read

    if not re.search(r"[\d\\^]", gold):
        return False
    try:
        node = read(gold, Budget(1.0))
    except (Unparsed, OverBudget, OutOfTime, RecursionError):
        return False
    return node.op not in ("text", "choice")
