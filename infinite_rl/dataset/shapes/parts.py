"""What the rows of all shapes share: texts, tests, solutions and limits, read and written once."""

from __future__ import annotations

import base64
import binascii
import json
import pickletools
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from ...parsing.syntax import UNREADABLE, syntax_tree
from ..rows import Row

# What the harnesses of APPS, TACO and LiveCodeBench import before a function; then the builtins,
# since `math.pow` is not `pow`.
PREAMBLE = """\
import bisect, collections, copy, datetime, fractions, functools, heapq, itertools, json, math
import operator, random, re, string, sys
from typing import *
from collections import *
from functools import *
from itertools import *
from bisect import *
from heapq import *
from math import *
from builtins import *
"""
_IMAGE = re.compile(r"<image>|<img\b|!\[[^\]\n]*\]\(|\[image\]", re.IGNORECASE)
_MAX_UNPACKED = 2**29  # bytes of the private tests of one problem
_MAX_OPCODES = 16  # of a pickle of one text, which has five
_PICKLED_TEXT = {"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"}
_PICKLE_FRAME = {"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"}
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_MOST = {"timeout": 600.0, "memory_mb": 4096.0}  # that an answer may state


class Skipped(ValueError):
    """Why a published row cannot become one of ours."""


def text_of(published: Mapping[str, Any], column: str) -> str:
    """A column's text with plain line ends. Raises `Skipped` if it is empty or has an image."""
    text = published.get(column)
    if not isinstance(text, str) or not text.strip():
        raise Skipped(f"its {column} is empty")
    if _IMAGE.search(text):
        raise Skipped(f"its {column} has an image")
    return text.replace("\r\n", "\n")


def loaded(value: Any, what: str) -> Any:
    """A value that is published as itself, or as its JSON. Raises `Skipped`."""
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise Skipped(f"its {what} is no JSON") from None


def pickled_json(text: str) -> Any:
    """The value in JSON, or in the base64 of the zlib of the pickle of one text of JSON.

    The pickle is never loaded: its opcodes are listed, and may hold one text alone. Raises
    `Skipped`.
    """
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        unpack = zlib.decompressobj()
        data = unpack.decompress(base64.b64decode(text, validate=True), _MAX_UNPACKED)
        codes = list(islice(pickletools.genops(data), _MAX_OPCODES))
    except (binascii.Error, zlib.error, ValueError):
        raise Skipped("its private tests are neither JSON nor packed JSON") from None
    if not unpack.eof:
        raise Skipped(f"its private tests take more than {_MAX_UNPACKED >> 20} MiB")
    texts = [argument for code, argument, _ in codes if code.name in _PICKLED_TEXT]
    names = {code.name for code, _, _ in codes}
    if len(texts) != 1 or "STOP" not in names or names - _PICKLED_TEXT - _PICKLE_FRAME:
        raise Skipped("its private tests are a pickle of more than one text, which is not read")
    return loaded(texts[0], "private tests")


# --- programs ------------------------------------------------------------------------------------


def program_row(
    prompt: str, answer: Mapping[str, Any], code: str = "", language: str = "python", **more: Any
) -> Row:
    """A row of the program reward; `code` is the reference solution, or ""."""
    code = code.replace("\r\n", "\n").strip("\n")
    fenced = f"```{language}\n{code}\n```" if code and "```" not in code else code
    text = json.dumps(answer)
    row = {"type": "program", "prompt": prompt, "answer": text, "response": fenced}
    return {**row, "language": language, **more}


def stdin_prompt(question: str) -> str:
    """The question, and where the program reads and writes."""
    return (
        f"{question.strip()}\n\n"
        "Write a Python program that reads the input from stdin and prints the answer to stdout."
    )


def function_prompt(question: str, name: str, starter: str = "") -> str:
    """The question, and the function that is called."""
    if starter.strip():
        return f"{question.strip()}\n\nComplete this code:\n\n```python\n{starter.strip()}\n```"
    return f"{question.strip()}\n\nWrite a Python function `{name}`."


def task_prompt(question: str, answer: Mapping[str, Any], starter: str = "") -> str:
    """The prompt of a task that is judged by cases: a function's or a program's."""
    if name := answer.get("entry_point"):
        return function_prompt(question, name, starter)
    return stdin_prompt(question)


def python_in(solutions: Iterable[Any]) -> str:
    """The first solution that is Python 3, or ""."""
    for solution in solutions:
        if not isinstance(solution, str) or not solution.strip():
            continue
        code = solution.replace("\r\n", "\n")
        try:
            syntax_tree(code)
        except UNREADABLE:
            continue
        return code
    return ""


def with_solution(row: Row, solutions: Sequence[Any]) -> Row:
    """Add the first solution in Python 3 as the response, or a note if there is none."""
    if code := python_in(solutions):
        return {**row, **program_row("", {}, code), **{k: row[k] for k in ("prompt", "answer")}}
    if any(isinstance(each, str) and each.strip() for each in solutions):
        return {**row, "note": "no solution is Python 3"}
    return row


# --- tests ---------------------------------------------------------------------------------------


def cases(tests: Any, starter: str = "", name: str = "", **judge: Any) -> dict[str, Any]:
    """The answer of tests in the forms in which they are published.

    They are an object of `inputs`, `outputs` and for a function `fn_name`, or a list of objects of
    `input` and `output`, of which `testtype` or `type` and `fn_name` or `metadata.func_name` say
    the same. A function's input is a list of its arguments, or a text with one JSON value a line.
    `name` is the function, where the tests do not say it; `judge` says how printed text is
    compared, and the limits. Raises `Skipped`.
    """
    if isinstance(tests, Mapping):
        inputs, outputs = tests.get("inputs"), tests.get("outputs")
        name = tests.get("fn_name") or name
    else:
        listed = [each for each in tests or () if isinstance(each, Mapping)]
        inputs, outputs = ([each.get(key) for each in listed] for key in ("input", "output"))
        name = (_name_in(listed[0]) if listed else "") or name
    if not isinstance(inputs, list) or not isinstance(outputs, list) or not inputs:
        raise Skipped("it has no tests")
    if len(inputs) != len(outputs):
        raise Skipped("it has more inputs than outputs, or fewer")
    if name:
        limits = {key: judge[key] for key in ("limits",) if key in judge}
        return {**_calls(name, inputs, outputs, starter), **limits}
    printed = [
        {"input": _printed(one), "output": _printed(other)}
        for one, other in zip(inputs, outputs, strict=True)
    ]
    return {"cases": printed, **judge}


def _name_in(test: Mapping[str, Any]) -> str:
    metadata = test.get("metadata")
    stated = metadata.get("func_name") if isinstance(metadata, Mapping) else None
    kind = test.get("testtype") or test.get("type")
    name = test.get("fn_name") or stated
    if kind in ("functional", "function_call") and not name:
        raise Skipped("its tests do not name the function")
    return str(name) if name and kind not in ("stdin", "stdin_stdout") else ""


def _printed(value: Any) -> str:
    """A text with plain line ends; published lists are of lines."""
    if isinstance(value, list):
        value = "\n".join(map(str, value))
    if value is None or isinstance(value, Mapping):
        raise Skipped("an input or an output is no text")
    return str(value).replace("\r\n", "\n")


def _calls(name: str, inputs: list[Any], outputs: list[Any], starter: str) -> dict[str, Any]:
    rule = "equal"
    if all(isinstance(value, str) for value in inputs):
        args = [_values(value) for value in inputs]
        expected = [_values(value)[0] if isinstance(value, str) else value for value in outputs]
    else:
        args, expected = inputs, _unwrapped(outputs, starter)
        rule = "equal" if expected is outputs else "wrapped"
    if not all(isinstance(each, list) for each in args):
        raise Skipped("the inputs of its function are no lists of arguments")
    if any(map(_had_numbers_as_keys, chain(chain.from_iterable(args), expected))):
        raise Skipped("JSON turned the numbers that are keys of its dictionaries into texts")
    pairs = zip(args, expected, strict=True)
    called = [{"args": one, "output": two} for one, two in pairs]
    return {"entry_point": name, "cases": called, "compare": rule, "preamble": PREAMBLE}


def _had_numbers_as_keys(value: Any) -> bool:
    return isinstance(value, Mapping) and any(re.fullmatch(r"-?[0-9]+", key) for key in value)


def _values(text: str) -> list[Any]:
    """The JSON values of a text, one a line. Raises `Skipped`."""
    try:
        return [json.loads(line) for line in text.replace("\r\n", "\n").split("\n") if line.strip()]
    except (ValueError, RecursionError):
        raise Skipped("the inputs of its function are no JSON") from None


def _unwrapped(outputs: list[Any], starter: str) -> list[Any]:
    """The values that APPS and TACO publish in lists of one.

    Their judges accept the value and the list; here the list alone is right if the starter code
    says that the function returns one.
    """
    wrapped = all(isinstance(each, list) and len(each) == 1 for each in outputs)
    if wrapped and not re.search(r"->\s*(?:typing\.)?(?:list|List|Tuple|tuple)\b", starter):
        return [each[0] for each in outputs]
    return outputs


def limits(timeout: Any = None, memory_mb: Any = None) -> dict[str, Any]:
    """The limits of one test as a part of an answer; {} if none is stated.

    A time is in seconds, above 60 in milliseconds; a text states its number.
    """
    seconds = _number(timeout)
    stated = {
        "timeout": seconds / 1000 if seconds > 60 else seconds,
        "memory_mb": _number(memory_mb),
    }
    kept = {name: min(value, _MOST[name]) for name, value in stated.items() if value > 0}
    return {"limits": kept} if kept else {}


def _number(value: Any) -> float:
    match = _NUMBER.search(str(value))
    return float(match[0]) if match else 0.0
