"""Coding tasks: one computation, told in words, written in two languages, checked by a third."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from .. import layout
from .draw import Draw
from .wording import Problem, capital

FEWEST_TESTS, MOST_TESTS = 5, 8
PROGRAM_SHARE = 0.25
Case = tuple[tuple[Any, ...], Any]  # the arguments, and the value that they give
# How a kind of value is called: Python annotation, Python words, JavaScript words.
KINDS = {
    "int": ("int", "an integer", "an integer"),
    "flag": ("bool", "a truth value", "a boolean"),
    "text": ("str", "a string", "a string"),
    "ints": ("list[int]", "a list of integers", "an array of integers"),
    "words": ("list[str]", "a list of strings", "an array of strings"),
    "grid": ("list[list[int]]", "a list of rows of integers", "an array of rows of integers"),
    "pairs": (
        "list[tuple[str, int]]",
        "a list of (name, amount) pairs",
        "an array of [name, amount] pairs",
    ),
    "spans": (
        "list[list[int]]",
        "a list of [start, end] pairs of integers",
        "an array of [start, end] pairs of integers",
    ),
    "links": (
        "list[tuple[str, str, int]]",
        "a list of (from, to, length) entries",
        "an array of [from, to, length] entries",
    ),
    "totals": (
        "dict[str, int]",
        "a dictionary from strings to integers",
        "an object that maps strings to integers",
    ),
    "nested": (
        "list",
        "a list of integers and of further such lists",
        "an array of integers and of further such arrays",
    ),
}
# Bounds that prompts state: with them no result exceeds the exact integers of JavaScript (2^53).
BOUNDED, MANY = "between -1000000 and 1000000", "at most 100"
ONE_LINE = ("ints", "text", "words", "int")  # kinds that a line of text can hold


@dataclass(frozen=True)
class Step:
    """One stage of a computation.

    `say` is an imperative ("keep the even ones"). `python` and `javascript` are an expression in
    `IT`, the value so far, or several lines that assign `OUT`. `apply` is the reference, written
    apart from both. `out` names the result; `head_python` and `head_javascript` are helpers.
    """

    say: str
    python: str
    javascript: str
    apply: Callable[[Any], Any]
    out: str = "result"
    head_python: str = ""
    head_javascript: str = ""


Ending = tuple[Step, str, str]  # the last stage, the kind that it returns, how it works


@dataclass(frozen=True)
class CodingTask:
    """A function to write: its story, what it must do, both solutions, a reference and inputs.

    `inputs` are argument tuples, the instructive ones first; `says` the imperatives in order, the
    last of which says what to return; `plan` explains the solution. `stages` are the steps of a
    task that is a pipeline over its one argument.
    """

    name: str
    params: tuple[tuple[str, str], ...]
    returns: str
    story: str
    says: tuple[str, ...]
    rules: tuple[str, ...]
    plan: tuple[str, ...]
    python: str
    javascript: str
    reference: Callable[..., Any]
    inputs: tuple[tuple[Any, ...], ...]
    head_python: str = ""
    head_javascript: str = ""
    stages: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Dialect:
    """What differs between the two languages."""

    title: str
    fence: str
    null: str


_DIALECTS = {
    "python": Dialect("Python", "python", "None"),
    "javascript": Dialect("JavaScript", "javascript", "null"),
}


def dialects() -> tuple[str, ...]:
    """The languages that tasks are written in."""
    return tuple(_DIALECTS)


# --- a computation from steps


def body_of(steps: Sequence[Step], start: str, language: str) -> str:
    """The lines of a function that does the steps in order and returns the last result."""
    lines, current = [], start
    for index, step in enumerate(steps):
        template = step.python if language == "python" else step.javascript
        out = spelled(step.out, language)
        code = template.replace("IT", current).replace("OUT", out)
        last = index == len(steps) - 1
        if "OUT" in template:
            lines += [*code.split("\n"), *([return_line(out, language)] if last else [])]
        elif last:
            lines.append(return_line(code, language))
        else:
            lines.append(f"{out} = {code}" if language == "python" else f"const {out} = {code};")
        current = out
    return "\n".join(lines)


def return_line(code: str, language: str) -> str:
    return f"return {code}" if language == "python" else f"return {code};"


def run(steps: Sequence[Step], value: Any) -> Any:
    """What the references of the steps give for `value`."""
    for step in steps:
        value = step.apply(value)
    return value


def heads(steps: Sequence[Step]) -> tuple[str, str]:
    """The helpers of all steps in Python and JavaScript."""
    python = each_once(step.head_python for step in steps)
    return python, each_once((step.head_javascript for step in steps), "\n\n")


def each_once(helpers: Iterable[str], gap: str = "\n\n\n") -> str:
    """Helpers, each once, imports first."""
    found = dict.fromkeys(filter(None, helpers))
    return gap.join(sorted(found, key=lambda head: not head.startswith(("import", "from"))))


def telling_inputs(
    draw: Draw,
    reference: Callable[..., Any],
    edges: Iterable[tuple[Any, ...]],
    fresh: Callable[[], tuple[Any, ...]],
) -> tuple[tuple[Any, ...], ...]:
    """Inputs that tell right from wrong: drawn ones with differing results, then edge cases."""
    ranked, seen = [], Counter[str]()
    for arguments in [fresh() for _ in range(24)]:
        result = as_key(reference(*arguments))
        ranked.append((seen[result], arguments))
        seen[result] += 1
    # The first input of every result comes before the second of any.
    picked = [arguments for _, arguments in sorted(ranked, key=lambda pair: pair[0])]
    picked = picked[: draw.between(4, 5)]
    return (*picked, *draw.shuffled(list(edges))[: MOST_TESTS - len(picked)])


def task_of_steps(
    draw: Draw,
    steps: Sequence[Step],
    *,
    name: str,
    param: tuple[str, str],
    returns: str,
    story: str,
    rules: tuple[str, ...],
    plan: tuple[str, ...],
    edges: Iterable[tuple[Any, ...]],
    fresh: Callable[[], tuple[Any, ...]],
) -> CodingTask:
    """A task whose function does the steps in order on its one argument."""
    head_python, head_javascript = heads(steps)
    reference = partial(run, steps)
    return CodingTask(
        name=name,
        params=(param,),
        returns=returns,
        story=story,
        says=tuple(step.say for step in steps),
        rules=rules,
        plan=plan,
        python=body_of(steps, param[0], "python"),
        javascript=body_of(steps, param[0], "javascript"),
        reference=reference,
        inputs=telling_inputs(draw, reference, edges, fresh),
        head_python=head_python,
        head_javascript=head_javascript,
        stages=tuple(steps),
    )


def told_in_order(
    steps: Sequence[Step],
    words: Sequence[str] = ("First,", "Then,", "After that,", "Next,"),
    last: str = "Finally,",
) -> tuple[str, ...]:
    """One sentence of an explanation for each step; `words` begin them, and `last` the last."""
    if len(steps) == 1:
        return (f"We have to {steps[0].say}.",)
    begun = (*words, *[words[-1]] * len(steps))
    told = (f"{word} we {step.say}." for word, step in zip(begun, steps[:-1], strict=False))
    return (*told, f"{last} we {steps[-1].say}.")


def is_telling(task: CodingTask) -> bool:
    """Whether its inputs find out an answer that is one constant, or that leaves out a stage."""
    cases = distinct(task.inputs)
    results = Counter(as_key(task.reference(*arguments)) for arguments in cases)
    varied = len(cases) >= FEWEST_TESTS and 2 * max(results.values()) <= len(cases) + 2
    stages = range(len(task.stages) - 1)
    return varied and all(
        any(stage_matters(task.stages, stage, arguments[0]) for arguments in cases)
        for stage in stages
    )


def stage_matters(steps: Sequence[Step], index: int, value: Any) -> bool:
    """Whether the result for `value` is another one without the stage at `index`."""
    before = run(steps[:index], value)
    after = steps[index].apply(before)
    if type(before) is not type(after):
        return True
    rest = steps[index + 1 :]
    return as_key(run(rest, before)) != as_key(run(rest, after))


def as_key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


# --- the three heads


def write_problem(draw: Draw, task: CodingTask, language: str) -> Problem:
    """The task as prompt, JSON tests or cases, and worked response, in one language."""
    cases = [(arguments, task.reference(*arguments)) for arguments in distinct(task.inputs)]
    cases = cases[:MOST_TESTS]
    if draw.chance(PROGRAM_SHARE):
        printed = [case for case in cases if can_print(task, case)]
        left = replace(task, inputs=tuple(arguments for arguments, _ in printed))
        if len(printed) >= FEWEST_TESTS and is_telling(left):
            return as_program(draw, task, language, printed)
    return as_function(draw, task, language, cases)


def distinct(inputs: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return list({as_key(arguments): arguments for arguments in inputs}.values())


def as_function(draw: Draw, task: CodingTask, language: str, cases: list[Case]) -> Problem:
    name = spelled(task.name, language)
    calls = [
        (call(name, arguments, language), literal(value, language)) for arguments, value in cases
    ]
    pattern = (
        "assert {} == {}" if language == "python" else "require('assert').deepStrictEqual({}, {});"
    )
    tests = [pattern.format(*pair) for pair in draw.shuffled(calls)]
    prompt = function_prompt(draw, task, language, calls)
    return Problem(
        prompt,
        json.dumps({"tests": tests}),
        explained(draw, task, function_code(task, language), language),
    )


def function_code(task: CodingTask, language: str) -> str:
    if language == "python":
        head = f"{task.head_python}\n\n\n" if task.head_python else ""
        return f"{head}def {signature(task, language)}:\n{indent(task.python, 4)}"
    head = f"{task.head_javascript}\n\n" if task.head_javascript else ""
    return f"{head}function {signature(task, language)} {{\n{indent(task.javascript, 2)}\n}}"


def signature(task: CodingTask, language: str) -> str:
    """Name and parameters, in Python with their types."""
    name = spelled(task.name, language)
    if language != "python":
        return f"{name}({', '.join(param for param, _ in task.params)})"
    typed = ", ".join(f"{param}: {KINDS[kind][0]}" for param, kind in task.params)
    return f"{name}({typed}) -> {KINDS[task.returns][0]}"


def indent(text: str, width: int) -> str:
    return "\n".join(" " * width + line if line else line for line in text.split("\n"))


def spelled(name: str, language: str) -> str:
    """A function name in the language's manner: snake_case or camelCase."""
    first, *rest = name.split("_")
    return name if language == "python" else first + "".join(word.capitalize() for word in rest)


def call(name: str, arguments: Sequence[Any], language: str) -> str:
    return f"{name}({', '.join(literal(argument, language) for argument in arguments)})"


def literal(value: Any, language: str) -> str:
    """Source text of a value built from None, bool, int, str, list, tuple and dict."""
    if value is None:
        return _DIALECTS[language].null
    if isinstance(value, bool):
        return str(value) if language == "python" else str(value).lower()
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)}: {literal(item, language)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, (list, tuple)):
        inside = ", ".join(literal(item, language) for item in value)
        as_tuple = isinstance(value, tuple) and language == "python"
        return f"({inside}{',' if len(value) == 1 else ''})" if as_tuple else f"[{inside}]"
    return str(value)


# --- the prompt


def function_prompt(
    draw: Draw, task: CodingTask, language: str, calls: list[tuple[str, str]]
) -> str:
    dialect = _DIALECTS[language]
    opening = draw.pick(OPENINGS).format(title=dialect.title, signature=signature(task, language))
    returns = draw.pick(RETURNS).format(kind=kind_words(task.returns, language))
    takes = f"{said_parameters(task, language)} {returns}".strip()
    duty = told_steps(draw, task.says, DUTIES)
    start = draw.pick(
        (
            (opening, task.story, takes),
            (task.story, opening, takes),
            (opening, takes, task.story),
        )
    )
    parts = [" ".join(part for part in start if part), duty]
    rules = told_rules(draw, task.rules)
    parts += [rules] if rules else []
    parts.append(told_examples(draw, calls[: draw.between(1, 2)], dialect))
    mutable = any(kind not in ("int", "text") for _, kind in task.params)
    closing = draw.pick(CLOSINGS if mutable else CLOSINGS[:3])
    parts += [closing] if closing else []
    return "\n\n".join(parts)


def kind_words(kind: str, language: str) -> str:
    return KINDS[kind][1 if language == "python" else 2]


def said_parameters(task: CodingTask, language: str) -> str:
    if [kind for _, kind in task.params] == ["int", "int"]:
        return f"`{task.params[0][0]}` and `{task.params[1][0]}` are integers."
    said = [f"`{name}` is {kind_words(kind, language)}" for name, kind in task.params]
    return capital(" and ".join(said)) + "."


def told_steps(draw: Draw, says: Sequence[str], duties: Sequence[str]) -> str:
    """The imperatives as one sentence, as a numbered list, or goal first."""
    *before, last = says
    style = draw.below(4 if before else 2)
    if style == 2:
        return (
            draw.pick(LISTED)
            + "\n\n"
            + "\n".join(f"{n}. {capital(say)}." for n, say in enumerate(says, 1))
        )
    if style == 3:
        return f"{draw.pick(duties)} {last}. {draw.pick(BEFOREHAND)}: {'; then '.join(before)}."
    if style == 1 and before:
        sentences = [
            f"First {before[0]}.",
            *(f"{draw.pick(('Then', 'Next', 'After that'))} {say}." for say in before[1:]),
        ]
        return " ".join([*sentences, f"Finally {last}."])
    joined = ", then ".join(before)
    return f"{draw.pick(duties)} {joined + ', and ' if before else ''}{last}."


def told_rules(draw: Draw, rules: Sequence[str]) -> str:
    if not rules:
        return ""
    if draw.chance(0.5):
        return " ".join(rules)
    return (
        draw.pick(("Details:", "Notes:", "Rules:", "Edge cases:"))
        + "\n"
        + "\n".join(f"- {rule}" for rule in rules)
    )


def told_examples(draw: Draw, calls: list[tuple[str, str]], dialect: Dialect) -> str:
    style = draw.below(5)
    if style == 0:
        return " ".join(
            f"For example, `{source}` returns `{value}`." for source, value in calls[:1]
        )
    if style == 1:
        return "Examples:\n" + "\n".join(
            f"- `{source}` returns `{value}`" for source, value in calls
        )
    if style == 2:
        mark = "#" if dialect.fence == "python" else "//"
        return layout.fenced(
            "\n".join(f"{source}  {mark} {value}" for source, value in calls), dialect.fence
        )
    if style == 3:
        return "\n".join(f"Calling `{source}` must give `{value}`." for source, value in calls)
    return "Sample calls:\n\n" + "\n".join(f"`{source}` → `{value}`" for source, value in calls)


OPENINGS = (
    "Write a {title} function `{signature}`.",
    "Implement `{signature}` in {title}.",
    "In {title}, define a function `{signature}`.",
    "Your task is a {title} function with the signature `{signature}`.",
    "A {title} function `{signature}` is needed.",
    "Complete the {title} function `{signature}`.",
)
RETURNS = (
    "The result is {kind}.",
    "The function returns {kind}.",
    "Return {kind}.",
    "",
)
DUTIES = ("The function should", "It must", "Your code has to", "The job is to")
LISTED = (
    "Do the following:",
    "Follow these steps:",
    "Proceed like this:",
    "The computation has these stages:",
)
BEFOREHAND = ("Before that, do this in order", "To get there", "These steps come first")
# The last two make sense for arguments that can be changed.
CLOSINGS = (
    "",
    "Only the standard library may be used.",
    "Define the function only; no input or output is needed.",
    "Do not print anything and do not change the input.",
    "The function must not modify its arguments.",
)

# --- the worked response


def explained(draw: Draw, task: CodingTask, code: str, language: str) -> str:
    """A short explanation, then the code in its fence in the answer tag."""
    lines = [capital(line) for line in task.plan]
    if len(lines) > 2 and draw.chance(0.4):
        text = "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
    else:
        text = " ".join(lines)
    opening = draw.pick(APPROACHES)
    block = layout.fenced(code, _DIALECTS[language].fence)
    return f"{opening}{chr(10) * 2 if opening else ''}{text}\n\n{layout.tagged(f'{chr(10)}{block}{chr(10)}')}"


APPROACHES = (
    "",
    "The approach follows the description closely.",
    "Here is how I would build it.",
    "Let me plan this before writing the code.",
    "A direct solution is enough here.",
)

# --- the same task as a program on standard input and output


def can_print(task: CodingTask, case: Case) -> bool:
    """Whether the case can be given and answered as a line of text without loss."""
    arguments, value = case
    if len(task.params) != 1 or task.params[0][1] not in ONE_LINE or task.returns not in ONE_LINE:
        return False
    line, printed = as_line(arguments[0]), as_line(value) if value is not None else ""
    clean = all(text == " ".join(text.split()) and text for text in (line, printed))
    words_whole = not isinstance(value, list) or all(
        str(item) and " " not in str(item) for item in value
    )
    return clean and words_whole


def as_line(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def as_program(draw: Draw, task: CodingTask, language: str, cases: list[Case]) -> Problem:
    dialect = _DIALECTS[language]
    shown = [(as_line(arguments[0]), as_line(value)) for arguments, value in cases]
    name, kind = task.params[0]
    opening = draw.pick(PROGRAM_OPENINGS).format(title=dialect.title)
    takes = f"The input is one line: {INPUT_LINES[kind].format(name=name)}."
    prints = f"Print {OUTPUT_LINES[task.returns]}."
    duty = told_steps(draw, task.says, PROGRAM_DUTIES)
    start = (task.story, opening) if draw.chance(0.5) else (opening, task.story)
    parts = [" ".join(part for part in start if part), f"{takes} {prints}"]
    parts.append(f"{duty} {draw.pick(RETURN_MEANS_PRINT)}")
    rules = told_rules(draw, task.rules)
    parts += [rules] if rules else []
    parts.append(program_example(draw, *shown[0]))
    answer = json.dumps(
        {"cases": [{"input": f"{line}\n", "output": out} for line, out in draw.shuffled(shown)]}
    )
    return Problem(
        "\n\n".join(parts), answer, explained(draw, task, program_code(task, language), language)
    )


def program_example(draw: Draw, line: str, printed: str) -> str:
    return draw.pick(
        (
            f"For the input `{line}` the program prints `{printed}`.",
            f"Example input:\n\n```\n{line}\n```\n\nExample output:\n\n```\n{printed}\n```",
            f"Example: `{line}` gives `{printed}`.",
        )
    )


def program_code(task: CodingTask, language: str) -> str:
    """The function, and a few lines that read its argument and print its result."""
    name, kind = spelled(task.name, language), task.params[0][1]
    function = function_code(task, language)
    if language == "python":
        shown = (
            f"*{name}({READ_PYTHON[kind]})"
            if task.returns in ("ints", "words")
            else f"{name}({READ_PYTHON[kind]})"
        )
        gap = "\n\n" if task.head_python.startswith(("import", "from")) else "\n\n\n"
        start = "import sys" + ("\n" if gap == "\n\n" else gap)
        return f"{start}{function}\n\n\nprint({shown})"
    result = f"{name}({READ_JAVASCRIPT[kind]})"
    shown = f"{result}.join(' ')" if task.returns in ("ints", "words") else f"String({result})"
    return f"{function}\n\nconst input = require('fs').readFileSync(0, 'utf8').trim();\nconsole.log({shown});"


READ_PYTHON = {
    "ints": "[int(word) for word in sys.stdin.read().split()]",
    "words": "sys.stdin.read().split()",
    "text": "sys.stdin.read().strip()",
    "int": "int(sys.stdin.read())",
}
READ_JAVASCRIPT = {
    "ints": "input.split(/\\s+/).map(Number)",
    "words": "input.split(/\\s+/)",
    "text": "input",
    "int": "Number(input)",
}
INPUT_LINES = {
    "ints": "integers separated by single spaces, called `{name}` below",
    "words": "words separated by single spaces, called `{name}` below",
    "text": "a text, called `{name}` below",
    "int": "one integer, called `{name}` below",
}
OUTPUT_LINES = {
    "ints": "the resulting integers on one line, separated by single spaces",
    "words": "the resulting words on one line, separated by single spaces",
    "text": "the resulting text on one line",
    "int": "the result, a single integer",
}
PROGRAM_OPENINGS = (
    "Write a {title} program that reads standard input and writes standard output.",
    "Solve this with a complete {title} program (standard input to standard output).",
    "A {title} script is needed that reads one line from standard input.",
)
PROGRAM_DUTIES = ("The program should", *DUTIES[1:])
RETURN_MEANS_PRINT = (
    "What is returned is what the program prints.",
    "The value that is returned goes to standard output.",
)
