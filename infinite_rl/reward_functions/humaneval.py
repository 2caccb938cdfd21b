"""The humaneval reward: the prompt starts a function and the completion ends it."""

import re
from dataclasses import replace

from .coding.programs import (
    Submission,
    definition,
    from_first_line,
    marked,
    with_needed_definitions,
)
from .coding.reference import Reference, read_reference
from .coding.reward import CodingRewardFunction
from .reward_function import BadReference, Expected, reference_object

# The start of the first line of a function's body, unlike that of a sentence.
_STATEMENT = re.compile(
    r"(?:assert|async|await|class|def|del|for|from|global|if|import|match|nonlocal|pass|raise|return|try|while"
    r"|with|yield)\b|[\w.]{1,80}\(|[^\s=!<>][^\n=!<>]{0,80}=|[#@\"']"
)


class HumanEvalRewardFunction(CodingRewardFunction):
    """Judge by tests as the coding reward does; the reference has one more key, `prompt`.

    A completion that begins with an indented line continues the prompt; that line may have lost its
    indentation, since some services strip completions. A completion that defines the function
    (`entry_point`) anew, with or without the rest of the prompt, follows the prompt's text before
    that function, such as imports and helpers. Any other completion continues the prompt, too. The
    program is found by the rules of `programs.py`: a bare completion ends at a statement that is
    not part of the function, including `def`, `class`, `if` and `print`, the stop sequences of Chen
    et al. 2021, arXiv 2107.03374.

    Format: 1.0; 0.3 for a damaged fence, at most 0.5 for code that does not compile, and 0.0 if
    there is nothing to run.
    """

    name = "humaneval"

    def _submission(
        self, model_output: str, expected: Expected, answer_tag: str, language: str
    ) -> Submission:
        try:
            prompt, rest = split_prompt(expected)
            name = str(rest.get("entry_point") or "").partition("(")[0]  # the class of a method
        except BadReference:
            prompt = name = ""
        program = marked(model_output, [name] if name else [], answer_tag, language)
        code = completed(prompt, program.code, name)
        if program.ended != "yes" and language == "python":
            code = with_needed_definitions(code, [name])
        is_new = code.strip() != prompt.strip()
        return replace(program, code=code if is_new else "").submission()

    def _reference(self, expected: Expected) -> Reference:
        return read_reference(expected if callable(expected) else split_prompt(expected)[1])


def completed(prompt: str, code: str, name: str) -> str:
    """The whole program: `code` after the prompt, or after the prompt's start if it has `name`."""
    text = code if code.lstrip("\r\n")[:1].isspace() else from_first_line(code)
    if not text.lstrip("\r\n")[:1].isspace() and name and definition(text, name):
        match = definition(prompt, name)
        start = prompt[: match.start()] if match else ""
        return text if text.startswith(start.strip()) else f"{start}{text}"
    line, body = prompt.rstrip().rpartition("\n")[2], code.lstrip("\r\n")
    if _STATEMENT.match(body):  # the first line lost its indentation: that of the prompt's end
        code = line[: len(line) - len(line.lstrip())] + body
    return f"{prompt}{code}" if prompt.endswith("\n") or not prompt else f"{prompt}\n{code}"


def split_prompt(expected: object) -> tuple[str, dict[str, object]]:
    """Split a reference into its prompt and the rest. Raises `BadReference`."""
    value = reference_object(expected, "the reference")
    rest = {key: item for key, item in value.items() if key != "prompt"}
    prompt = value.get("prompt", "")
    if not isinstance(prompt, str):
        raise BadReference("prompt must be a text")
    return prompt, rest
