"""The humaneval reward: a function that the prompt begins and the completion ends."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from .coding.programs import definition, from_first_line, marked, until_complete
from .coding.reference import Reference, read_reference
from .coding.reward import CodingRewardFunction, Submission
from .mbpp import handed_in
from .reward_function import BadReference, Expected

# How the first line of a function's body begins, unlike a sentence.
_STATEMENT = re.compile(
    r"(?:assert|async|await|class|def|del|for|from|global|if|import|match|nonlocal|pass|raise|return|try|while"
    r"|with|yield)\b|[\w.]{1,80}\(|[^\s=!<>][^\n=!<>]{0,80}=|[#@\"']"
)


class HumanEvalRewardFunction(CodingRewardFunction):
    """Judges as the coding reward does, by tests; the reference has one more key, `prompt`.

    A completion that begins with an indented line goes on where the prompt ends; that line may have
    lost its indentation, as where a service strips what a model wrote. One that defines
    the function (`entry_point`) anew, with or without the rest of the prompt, follows what the
    prompt has before that function, such as imports and helpers. Any other goes on, too. It is
    taken by the rules of `programs.py`: so a bare completion ends where a statement begins that is
    no part of the function, `def`, `class`, `if` and `print` among them, the stop sequences of Chen
    et al. 2021, arXiv 2107.03374.

    Format: 1.0, for a damaged fence 0.3, 0.5 at most for what does not compile, and 0.0 where there
    is nothing to run.
    """

    name = "humaneval"

    def _submission(
        self, model_output: str, expected: Expected, answer_tag: str, language: str
    ) -> Submission:
        try:
            prompt, rest = parted(expected)
            name = str(rest.get("entry_point") or "").partition("(")[0]  # of a method, its class
        except BadReference:
            prompt = name = ""
        program = marked(model_output, [name] if name else [], answer_tag, language)
        code = completed(prompt, program.code, name)
        if program.ended != "yes" and language == "python":
            code = until_complete(code, [name])
        is_new = code.strip() != prompt.strip()
        return handed_in(replace(program, code=code if is_new else ""))

    def _reference(self, expected: Expected) -> Reference:
        return read_reference(expected if callable(expected) else parted(expected)[1])


def completed(prompt: str, code: str, name: str) -> str:
    """The whole program: `code` after the prompt, or where it has the function, after its start."""
    text = code if code.lstrip("\r\n")[:1].isspace() else from_first_line(code)
    goes_on = text.lstrip("\r\n")[:1].isspace() or not (name and definition(text, name))
    if goes_on:
        body = _as_deep(prompt, code)
        return f"{prompt}{body}" if prompt.endswith("\n") or not prompt else f"{prompt}\n{body}"
    begun = definition(prompt, name)
    start = prompt[: begun.start()] if begun else ""
    return text if text.startswith(start.strip()) else f"{start}{text}"


def _as_deep(prompt: str, code: str) -> str:
    """The code with its first line as deep as the prompt ends, if it has lost its indentation."""
    line, body = prompt.rstrip().rpartition("\n")[2], code.lstrip("\r\n")
    return line[: len(line) - len(line.lstrip())] + body if _STATEMENT.match(body) else code


def parted(expected: object) -> tuple[str, dict[str, object]]:
    """The prompt of a reference, and the rest of it. Raises `BadReference`."""
    try:
        value = json.loads(expected) if isinstance(expected, str) else expected
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, Mapping):
        raise BadReference("it is no object with tests, entry_point and prompt")
    rest = {key: each for key, each in value.items() if key != "prompt"}
    prompt = value.get("prompt", "")
    if not isinstance(prompt, str):
        raise BadReference("prompt must be a text")
    return prompt, rest
