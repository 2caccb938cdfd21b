"""The humaneval reward: the prompt starts a function and the completion ends it."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..parsing.syntax import UNREADABLE, syntax_tree
from .coding.programs import (
    Submission,
    definition,
    from_first_line,
    marked,
    with_needed_definitions,
)
from .coding.reference import Reference, Tests, read_reference
from .coding.reward import CodingRewardFunction
from .reward_function import BadReference, Expected, reference_object

# The start of the first line of a function's body, unlike that of a sentence.
_STATEMENT = re.compile(
    r"(?:assert|async|await|class|def|del|for|from|global|if|import|match|nonlocal|pass|raise|return|try|while"
    r"|with|yield)\b|[\w.]{1,80}\(|[^\s=!<>][^\n=!<>]{0,80}=|[#@\"']"
)
_WORD = re.compile(r"[^\W\d]\w*")


class HumanEvalRewardFunction(CodingRewardFunction):
    """Judge by tests as the coding reward does; the reference has one more key, `prompt`.

    A completion that begins with an indented line continues the prompt; that line may have lost its
    indentation, since some services strip completions. A completion that defines the function
    (`entry_point`) anew, with or without the rest of the prompt, follows the prompt's text before
    that function, such as imports and helpers. Any other completion continues the prompt, too. The
    program is found by the rules of `programs.py`: a bare completion ends at a statement that is
    not part of the function, including `def`, `class`, `if` and `print`, the stop sequences of Chen
    et al. 2021, arXiv 2107.03374.

    The tests have their own copies of the prompt's other functions and of its imports: a program
    that redefines one, such as the helper that checks its result, changes it for itself alone.

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
        if callable(expected):
            return read_reference(expected)
        prompt, rest = split_prompt(expected)
        reference = read_reference(rest)
        if not isinstance(reference, Tests):
            return reference
        name = reference.entry_point.partition("(")[0]
        helpers = helpers_of_tests(prompt, name, (reference.setup, *reference.tests))
        return replace(
            reference, setup=f"{helpers}\n{reference.setup}" if helpers else reference.setup
        )


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


def helpers_of_tests(prompt: str, name: str, tests: Sequence[str]) -> str:
    """The functions and imports of a Python prompt, before its function `name`, that tests use.

    With what those use in turn; "" if that includes a class, whose objects the program makes.
    """
    match = definition(prompt, name) if name else None
    try:
        body = syntax_tree(prompt[: match.start()] if match else "").body
    except UNREADABLE:
        return ""
    owners = {bound: n for n, each in enumerate(body) for bound in _bound(each) if bound != name}
    needed, waiting = set[int](), _WORD.findall("\n".join(tests))
    while waiting:
        n = owners.get(waiting.pop(), -1)
        if n >= 0 and n not in needed:
            needed.add(n)
            waiting += _WORD.findall(ast.unparse(body[n]))
    if any(isinstance(body[n], ast.ClassDef) for n in needed):
        return ""
    return "\n".join(ast.unparse(body[n]) for n in sorted(needed))


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a top-level statement binds."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        if getattr(statement, "module", "") != "__future__":
            for alias in statement.names:
                yield alias.asname or alias.name.partition(".")[0]
    else:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def split_prompt(expected: object) -> tuple[str, dict[str, object]]:
    """Split a reference into its prompt and the rest. Raises `BadReference`."""
    value = reference_object(expected, "the reference")
    rest = {key: item for key, item in value.items() if key != "prompt"}
    prompt = value.get("prompt", "")
    if not isinstance(prompt, str):
        raise BadReference("prompt must be a text")
    return prompt, rest
