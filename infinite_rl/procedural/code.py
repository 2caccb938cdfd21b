"""Coding tasks: one computation, described in words, written in two languages, checked by a third."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any, Protocol

from .. import layout
from .code_tables import Parameters, Row, draw_parameters, fill, read_table
from .draw import Draw
from .wording import Problem, capital

FEWEST_TESTS, MOST_TESTS = 5, 8
PROGRAM_SHARE = 0.25
CANDIDATE_INPUTS = 24
Case = tuple[tuple[Any, ...], Any]  # the arguments, and the value that they give
as_json = json.JSONEncoder(sort_keys=True).encode  # equal values, equal texts


class Reference(Protocol):
    """What a step does to a value; `p` holds the parameters of its row as attributes."""

    def __call__(self, value: Any, /, p: Any) -> Any: ...


@dataclass(frozen=True)
class Step:
    """One stage of a computation.

    `instruction` is an imperative ("keep the even ones"). `python` and `javascript` are an
    expression in `IT`, the value so far, or several lines that assign `OUT`, whose name is
    `variable`. `reference` is an implementation written apart from both. The last step of a task
    has the kind of value that it `returns`, and perhaps an `explanation`.
    """

    instruction: str
    python: str
    javascript: str
    reference: Callable[[Any], Any]
    variable: str = "result"
    returns: str = ""
    explanation: str = ""
    helpers_python: tuple[str, ...] = ()
    helpers_javascript: tuple[str, ...] = ()


@dataclass(frozen=True)
class CodingTask:
    """A function to write: its story, instructions, both solutions, a reference and inputs.

    `params` are names and kinds. `instructions` are imperatives, the last of which names the value
    to return. `inputs` are argument tuples, the discriminating ones first. `plan` explains the
    solution. `steps` are those of a task that is a pipeline over its one argument.
    """

    name: str
    params: tuple[tuple[str, str], ...]
    returns: str
    story: str
    instructions: tuple[str, ...]
    rules: tuple[str, ...]
    plan: tuple[str, ...]
    python: str
    javascript: str
    reference: Callable[..., Any]
    inputs: tuple[tuple[Any, ...], ...]
    helpers_python: str = ""
    helpers_javascript: str = ""
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Dialect:
    """What differs between the two languages."""

    title: str
    null: str
    comment: str
    test: str
    helper_gap: str


_DIALECTS = {
    "python": Dialect("Python", "None", "#", "assert {} == {}", "\n\n\n"),
    "javascript": Dialect(
        "JavaScript", "null", "//", "require('assert').deepStrictEqual({}, {});", "\n\n"
    ),
}


def dialects() -> tuple[str, ...]:
    """The languages that tasks are written in."""
    return tuple(_DIALECTS)


# --- a family: its table, and the references of its steps


class Family:
    """The table `tables/NAME.txt`, with a reference for each step by the name of its row."""

    def __init__(self, name: str, references: Mapping[str, Reference]) -> None:
        self._name, self._references = name, references

    @cached_property
    def _rows(self) -> dict[str, Row]:
        return {row.name: row for group in read_table(self._name).values() for row in group.rows}

    def row(self, name: str) -> Row:
        """The row of this name, in whichever group."""
        return self._rows[name]

    def rows(self, group: str) -> list[Row]:
        """The rows of a group, each as often as its weight says."""
        return read_table(self._name)[group].rows

    def draw_shared(self, draw: Draw, group: str, /, **parameters: Any) -> dict[str, Any]:
        """`parameters`, and those that the group draws for all of its rows."""
        shared = read_table(self._name)[group].shared
        return draw_parameters(draw, shared.fields.get("draw", ""), parameters)

    def phrase(self, draw: Draw, group: str, /, **parameters: Any) -> str:
        """One of the group's phrases."""
        return fill(draw.pick(self.rows(group)).name, parameters)

    def record(self, draw: Draw, group: str) -> dict[str, str]:
        """One line of a group, by the names of its columns, which `cols` lists."""
        row, columns = draw.pick(self.rows(group)), read_table(self._name)[group].shared
        values = (value.strip() for value in row.name.split("|"))
        return dict(zip(columns.fields["cols"].split(), values, strict=True))

    def parameters(self, draw: Draw, row: str, /, **parameters: Any) -> dict[str, Any]:
        """`parameters`, and those that the row draws."""
        return draw_parameters(draw, self.row(row).fields.get("draw", ""), parameters)

    def texts(self, draw: Draw, group: str, /, **parameters: Any) -> dict[str, Any]:
        """A row of the group: its name by the last word W of the group's, its fields as `W_FIELD`."""
        drawn = self.draw_shared(draw, group, **parameters)
        row = draw.pick(self.rows(group))
        drawn = draw_parameters(draw, row.fields.get("draw", ""), drawn)
        word = group.split()[-1]
        return {
            **drawn,
            word: row.name,
            **{f"{word}_{key}": text for key, text in row.fields.items()},
        }

    def pick(self, draw: Draw, group: str, /, **parameters: Any) -> Step:
        """One of the group's steps."""
        shared = self.draw_shared(draw, group, **parameters)
        return self.step(draw, draw.pick(self.rows(group)), **shared)

    def step(self, draw: Draw, row: Row | str, /, **parameters: Any) -> Step:
        """The step of a row, with its parameters drawn."""
        row = self.row(row) if isinstance(row, str) else row
        drawn = draw_parameters(draw, row.fields.get("draw", ""), parameters)
        return Step(
            row.text("say", drawn),
            row.text("py", drawn),
            row.text("js", drawn),
            partial(self._references[row.name], p=SimpleNamespace(**drawn)),
            row.text("out", drawn) or "result",
            row.text("type", drawn),
            row.text("how", drawn),
            *self._helpers(row, drawn),
        )

    def _helpers(self, row: Row, parameters: Parameters) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The helpers that a row uses, in Python and JavaScript."""
        used = [self.row(name) for name in row.text("use", parameters).split()]
        python, javascript = (
            tuple(filter(None, (helper.text(key, parameters) for helper in used)))
            for key in ("py", "js")
        )
        return python, javascript

    def task(
        self,
        draw: Draw,
        name: str,
        parameters: Parameters,
        reference: Callable[..., Any],
        edges: Iterable[tuple[Any, ...]],
        fresh: Callable[[], tuple[Any, ...]] | None = None,
        code: str = "",
    ) -> CodingTask:
        """The task of a row, with the solutions of the row `code` (by default the same one).

        Its inputs are discriminating ones out of `edges` and what `fresh` draws; or else the edges.
        """
        row, solution = self.row(name), self.row(code or name)
        names = row.fields["name"].split()
        function = fill(draw.pick(names) if names[1:] else names[0], parameters)
        stories = row.text("tale", parameters).replace('""', "").split("\n")
        story = draw.pick(stories) if len(stories) > 1 else stories[0]
        story = self.phrase(draw, story[1:-1]) if story.startswith("[") else story
        rules = tuple(
            self.phrase(draw, line[1:-1], **parameters) if line.startswith("[") else line
            for line in row.lines("rule", parameters)
        )
        python, javascript = self._helpers(solution, parameters)
        inputs = discriminating_inputs(draw, reference, edges, fresh) if fresh else tuple(edges)
        return CodingTask(
            name=function,
            params=tuple((one, kind) for one, kind in map(str.split, row.lines("par", parameters))),
            returns=row.text("type", parameters),
            story=story,
            instructions=row.lines("say", parameters),
            rules=rules,
            plan=row.lines("plan", parameters),
            python=solution.text("py", parameters),
            javascript=solution.text("js", parameters),
            reference=reference,
            inputs=inputs,
            helpers_python=joined_helpers(python, "python"),
            helpers_javascript=joined_helpers(javascript, "javascript"),
        )

    def pipeline(
        self,
        draw: Draw,
        steps: Sequence[Step],
        parameters: Parameters,
        edges: Iterable[tuple[Any, ...]],
        fresh: Callable[[], tuple[Any, ...]],
    ) -> CodingTask:
        """The task of the row "pipeline": its function does the steps in order on its argument."""
        last, row = steps[-1], self.row("pipeline")
        parameters = {"how": last.explanation, "type": last.returns, **parameters}
        task = self.task(
            draw, "pipeline", parameters, lambda value: run(steps, value), edges, fresh
        )
        python, javascript = (
            [helper for step in steps for helper in getattr(step, f"helpers_{language}")]
            for language in _DIALECTS
        )
        return replace(
            task,
            instructions=tuple(step.instruction for step in steps),
            plan=(*plan_sentences(row, steps), *task.plan),
            python=body_of(steps, task.params[0][0], "python"),
            javascript=body_of(steps, task.params[0][0], "javascript"),
            helpers_python=joined_helpers(python, "python"),
            helpers_javascript=joined_helpers(javascript, "javascript"),
            steps=tuple(steps),
        )


# --- a computation from steps


def body_of(steps: Sequence[Step], start: str, language: str) -> str:
    """The lines of a function that does the steps in order and returns the last result."""
    lines, current, end = [], start, "" if language == "python" else ";"
    assign = "{} = {}" if language == "python" else "const {} = {};"
    for step in steps:
        template = step.python if language == "python" else step.javascript
        out = identifier(step.variable, language)
        code = template.replace("IT", current).replace("OUT", out)
        if "OUT" in template:
            lines.append(code)
            code = out
        elif step is not steps[-1]:
            lines.append(assign.format(out, code))
        current = out
    return "\n".join([*lines, f"return {code}{end}"])


def run(steps: Sequence[Step], value: Any) -> Any:
    """What the references of the steps give for `value`."""
    for step in steps:
        value = step.reference(value)
    return value


def joined_helpers(helpers: Iterable[str], language: str) -> str:
    """Helpers, each once, imports first."""
    ordered = sorted(dict.fromkeys(helpers), key=lambda text: not text.startswith("from"))
    return _DIALECTS[language].helper_gap.join(ordered)


def plan_sentences(row: Row, steps: Sequence[Step]) -> list[str]:
    """One sentence of an explanation for each step, after the patterns of the row."""
    patterns = PROMPT.row("plan").fields | row.fields
    if len(steps) == 1:
        return [fill(patterns["only"], {"say": steps[0].instruction})]
    leads = patterns["lead"].split("\n")
    used = [*(leads + leads[-1:] * len(steps))[: len(steps) - 1], patterns["last"]]
    return [
        fill(pattern, {"say": step.instruction}) for pattern, step in zip(used, steps, strict=True)
    ]


# --- inputs that tell right from wrong


def discriminating_inputs(
    draw: Draw,
    reference: Callable[..., Any],
    edges: Iterable[tuple[Any, ...]],
    fresh: Callable[[], tuple[Any, ...]],
) -> tuple[tuple[Any, ...], ...]:
    """Drawn inputs whose results differ, then edge cases."""
    ranked, counts = [], Counter[str]()
    for arguments in [fresh() for _ in range(CANDIDATE_INPUTS)]:
        result = as_json(reference(*arguments))
        ranked.append((counts[result], arguments))
        counts[result] += 1
    # The first input of every result comes before the second of any.
    picked = [arguments for _, arguments in sorted(ranked, key=lambda pair: pair[0])]
    picked = picked[: draw.between(4, 5)]
    return (*picked, *draw.shuffled(list(edges))[: MOST_TESTS - len(picked)])


def has_discriminating_inputs(task: CodingTask) -> bool:
    """Whether its inputs expose an answer that is one constant, or that leaves out a stage."""
    cases = distinct(task.inputs)
    results = [as_json(task.reference(*arguments)) for arguments in cases]
    if len(cases) < FEWEST_TESTS or 2 * max(Counter(results).values()) > len(cases) + 2:
        return False
    pairs = [(arguments[0], result) for arguments, result in zip(cases, results, strict=True)]
    return all(
        any(stage_matters(task.steps, index, value, result) for value, result in pairs)
        for index in range(len(task.steps) - 1)
    )


def stage_matters(steps: Sequence[Step], index: int, value: Any, result: str) -> bool:
    """Whether the result for `value`, as JSON, differs without the stage at `index`."""
    before = run(steps[:index], value)
    if type(before) is not type(steps[index].reference(before)):
        return True
    return as_json(run(steps[index + 1 :], before)) != result


def distinct(inputs: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The inputs without repetitions."""
    return list({as_json(arguments): arguments for arguments in inputs}.values())


# --- the three heads

PROMPT = Family("prompt", {})


def write_problem(draw: Draw, task: CodingTask, language: str) -> Problem:
    """The task as prompt, JSON tests or cases, and worked response, in one language."""
    cases = [(arguments, task.reference(*arguments)) for arguments in distinct(task.inputs)]
    cases = cases[:MOST_TESTS]
    if draw.chance(PROGRAM_SHARE):
        printed = [case for case in cases if can_print(task, case)]
        left = replace(task, inputs=tuple(arguments for arguments, _ in printed))
        if len(printed) >= FEWEST_TESTS and has_discriminating_inputs(left):
            return as_program(draw, task, language, printed)
    return as_function(draw, task, language, cases)


def as_function(draw: Draw, task: CodingTask, language: str, cases: list[Case]) -> Problem:
    """The task as a function, with assertions as tests."""
    name = identifier(task.name, language)
    calls = [
        (
            f"{name}({', '.join(literal(argument, language) for argument in arguments)})",
            literal(value, language),
        )
        for arguments, value in cases
    ]
    tests = [_DIALECTS[language].test.format(*pair) for pair in draw.shuffled(calls)]
    prompt = function_prompt(draw, task, language, calls)
    response = explained(draw, task, function_code(task, language), language)
    return Problem(prompt, json.dumps({"tests": tests}), response)


def function_code(task: CodingTask, language: str) -> str:
    """The solution: helpers, and the function."""
    python = language == "python"
    helpers = task.helpers_python if python else task.helpers_javascript
    body = (task.python if python else task.javascript).split("\n")
    width = 4 if python else 2
    indented = "\n".join(" " * width + line if line else line for line in body)
    head = f"{helpers}{_DIALECTS[language].helper_gap}" if helpers else ""
    if python:
        return f"{head}def {signature(task, language)}:\n{indented}"
    return f"{head}function {signature(task, language)} {{\n{indented}\n}}"


def signature(task: CodingTask, language: str) -> str:
    """Name and parameters, in Python with their types."""
    name = identifier(task.name, language)
    if language != "python":
        return f"{name}({', '.join(param for param, _ in task.params)})"
    typed = ", ".join(f"{param}: {kind_text(kind, 'type')}" for param, kind in task.params)
    return f"{name}({typed}) -> {kind_text(task.returns, 'type')}"


def kind_text(kind: str, field: str, **parameters: str) -> str:
    """A field of a kind of value, "" if it has none."""
    return PROMPT.row(kind).text(field, parameters)


def kind_words(kind: str, language: str) -> str:
    """How the language calls values of a kind."""
    return kind_text(kind, "py" if language == "python" else "js")


def identifier(name: str, language: str) -> str:
    """A name in the language's manner: snake_case or camelCase."""
    first, *rest = name.split("_")
    return name if language == "python" else first + "".join(word.capitalize() for word in rest)


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
    """The prompt of a function: signature, story, duties, rules and examples."""
    title = _DIALECTS[language].title
    opening = PROMPT.phrase(draw, "openings", title=title, signature=signature(task, language))
    returns = PROMPT.phrase(draw, "returns", kind=kind_words(task.returns, language))
    takes = f"{parameters_text(task, language)} {returns}".strip()
    duty = instructions_text(draw, task.instructions, "duties")
    orders = (
        (opening, task.story, takes),
        (task.story, opening, takes),
        (opening, takes, task.story),
    )
    start = " ".join(filter(None, draw.pick(orders)))
    rules = rules_text(draw, task.rules)
    examples = examples_text(draw, calls[: draw.between(1, 2)], language)
    mutable = any(kind not in ("int", "text") for _, kind in task.params)
    closing = PROMPT.phrase(draw, "closings of mutable arguments" if mutable else "closings")
    return "\n\n".join(filter(None, (start, duty, rules, examples, closing)))


def parameters_text(task: CodingTask, language: str) -> str:
    """A sentence that says what the parameters are."""
    if [kind for _, kind in task.params] == ["int", "int"]:
        return f"`{task.params[0][0]}` and `{task.params[1][0]}` are integers."
    parts = [f"`{name}` is {kind_words(kind, language)}" for name, kind in task.params]
    return capital(" and ".join(parts)) + "."


def instructions_text(draw: Draw, instructions: Sequence[str], duties: str) -> str:
    """The instructions as one sentence, as several, as a numbered list, or goal first."""
    *before, last = instructions
    style = draw.below(4 if before else 2)
    if style == 2:
        items = [f"{number}. {capital(text)}." for number, text in enumerate(instructions, 1)]
        return "\n".join([f"{PROMPT.phrase(draw, 'steps')}\n", *items])
    if style == 3:
        goal = f"{PROMPT.phrase(draw, duties)} {last}."
        return f"{goal} {PROMPT.phrase(draw, 'beforehand')}: {'; then '.join(before)}."
    if style == 1 and before:
        middle = [f"{PROMPT.phrase(draw, 'next step')} {text}." for text in before[1:]]
        return " ".join([f"First {before[0]}.", *middle, f"Finally {last}."])
    joined = ", then ".join(before)
    return f"{PROMPT.phrase(draw, duties)} {joined + ', and ' if before else ''}{last}."


def rules_text(draw: Draw, rules: Sequence[str]) -> str:
    """The rules as a paragraph or as a list."""
    if not rules or draw.chance(0.5):
        return " ".join(rules)
    return "\n".join([PROMPT.phrase(draw, "rules"), *(f"- {rule}" for rule in rules)])


def examples_text(draw: Draw, calls: list[tuple[str, str]], language: str) -> str:
    """Calls with their results."""
    style = draw.below(5)
    mark = _DIALECTS[language].comment
    pattern = (
        "For example, `{}` returns `{}`.",
        "- `{}` returns `{}`",
        f"{{}}  {mark} {{}}",
        "Calling `{}` must give `{}`.",
        "`{}` → `{}`",
    )[style]
    lines = "\n".join(pattern.format(*pair) for pair in (calls if style else calls[:1]))
    if style == 2:
        return layout.fenced(lines, language)
    return {1: "Examples:\n", 4: "Sample calls:\n\n"}.get(style, "") + lines


# --- the worked response


def explained(draw: Draw, task: CodingTask, code: str, language: str) -> str:
    """A short explanation, then the code in its fence in the answer tag."""
    lines = [capital(line) for line in task.plan]
    if len(lines) > 2 and draw.chance(0.4):
        text = "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))
    else:
        text = " ".join(lines)
    answer = layout.tagged(f"\n{layout.fenced(code, language)}\n")
    return "\n\n".join(filter(None, (PROMPT.phrase(draw, "approaches"), text, answer)))


# --- the same task as a program on standard input and output


def can_print(task: CodingTask, case: Case) -> bool:
    """Whether the case can be given and answered as a line of text without loss."""
    arguments, value = case
    kinds = [kind for _, kind in task.params] + [task.returns]
    if len(kinds) != 2 or not all(kind_text(kind, "out") for kind in kinds):
        return False
    line, printed = as_line(arguments[0]), as_line(value) if value is not None else ""
    clean = all(text == " ".join(text.split()) and text for text in (line, printed))
    words_whole = not isinstance(value, list) or all(
        str(item) and " " not in str(item) for item in value
    )
    return clean and words_whole


def as_line(value: Any) -> str:
    """The value as a line of text."""
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def as_program(draw: Draw, task: CodingTask, language: str, cases: list[Case]) -> Problem:
    """The task as a program, with inputs and outputs as cases."""
    lines = [(as_line(arguments[0]), as_line(value)) for arguments, value in cases]
    name, kind = task.params[0]
    opening = PROMPT.phrase(draw, "program openings", title=_DIALECTS[language].title)
    takes = f"The input is one line: {kind_text(kind, 'in', name=name)}."
    prints = f"Print {kind_text(task.returns, 'out')}."
    duty = instructions_text(draw, task.instructions, "program duties")
    start = (task.story, opening) if draw.chance(0.5) else (opening, task.story)
    parts = [" ".join(filter(None, start)), f"{takes} {prints}"]
    parts.append(f"{duty} {PROMPT.phrase(draw, 'return means print')}")
    parts += filter(None, [rules_text(draw, task.rules)])
    line, printed = lines[0]
    examples = (
        f"For the input `{line}` the program prints `{printed}`.",
        f"Example input:\n\n```\n{line}\n```\n\nExample output:\n\n```\n{printed}\n```",
        f"Example: `{line}` gives `{printed}`.",
    )
    prompt = "\n\n".join([*parts, draw.pick(examples)])
    shuffled = [{"input": f"{text}\n", "output": out} for text, out in draw.shuffled(lines)]
    response = explained(draw, task, program_code(task, language), language)
    return Problem(prompt, json.dumps({"cases": shuffled}), response)


def program_code(task: CodingTask, language: str) -> str:
    """The function, and a few lines that read its argument and print its result."""
    name, kind = identifier(task.name, language), task.params[0][1]
    function, is_list = function_code(task, language), task.returns in ("ints", "words")
    if language == "python":
        imports = "import sys\n" if task.helpers_python.startswith("from") else "import sys\n\n\n"
        result = f"{'*' if is_list else ''}{name}({kind_text(kind, 'pyin')})"
        return f"{imports}{function}\n\n\nprint({result})"
    call = f"{name}({kind_text(kind, 'jsin')})"
    result = f"{call}.join(' ')" if is_list else f"String({call})"
    read = "const input = require('fs').readFileSync(0, 'utf8').trim();"
    return f"{function}\n\n{read}\nconsole.log({result});"
