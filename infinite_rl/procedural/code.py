"""Coding tasks: one computation, described in words, written in two languages, checked by a third.

A family is a table of steps and tasks (`tables/FAMILY.txt`, read by `code_tables`) and a module with
a function `make` that puts them together, and the references. `code_prompt` writes the prompts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any, Protocol

from .code_tables import Parameters, Row, draw_parameters, fill, read_table
from .draw import Draw

FEWEST_TESTS, MOST_TESTS = 5, 8
CANDIDATE_INPUTS = 24
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

    def texts(self, name: str) -> dict[str, str]:
        """The texts as parameters of a template: instruction, both solutions, kind of value."""
        solutions = {f"{name}_py": self.python, f"{name}_js": self.javascript}
        return {name: self.instruction, **solutions, f"{name}_type": self.returns}


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


DIALECTS = {
    "python": Dialect("Python", "None", "#", "assert {} == {}", "\n\n\n"),
    "javascript": Dialect(
        "JavaScript", "null", "//", "require('assert').deepStrictEqual({}, {});", "\n\n"
    ),
}


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

    def draw_record(self, draw: Draw, group: str) -> dict[str, str]:
        """One line of a group, by the names of its columns, which `cols` lists."""
        row, columns = draw.pick(self.rows(group)), read_table(self._name)[group].shared
        values = (value.strip() for value in row.name.split("|"))
        return dict(zip(columns.fields["cols"].split(), values, strict=True))

    def draw_parameters(self, draw: Draw, row: str, /, **parameters: Any) -> dict[str, Any]:
        """`parameters`, and those that the row draws."""
        return draw_parameters(draw, self.row(row).fields.get("draw", ""), parameters)

    def draw_texts(self, draw: Draw, group: str, /, **parameters: Any) -> dict[str, Any]:
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
        draw_input: Callable[[], tuple[Any, ...]] | None = None,
        code: str = "",
    ) -> CodingTask:
        """The task of a row, with the solutions of the row `code` (by default the same one).

        Its inputs are discriminating ones out of `edges` and what `draw_input` draws; or else the edges.
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
        inputs = (
            discriminating_inputs(draw, reference, edges, draw_input)
            if draw_input
            else tuple(edges)
        )
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
        draw_input: Callable[[], tuple[Any, ...]],
    ) -> CodingTask:
        """The task of the row "pipeline": its function does the steps in order on its argument."""
        last, row = steps[-1], self.row("pipeline")
        parameters = {"how": last.explanation, "type": last.returns, **parameters}
        task = self.task(draw, "pipeline", parameters, partial(run, steps), edges, draw_input)
        python, javascript = (
            [helper for step in steps for helper in getattr(step, f"helpers_{language}")]
            for language in DIALECTS
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

PROMPT = Family("prompt", {})  # what all families share


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


def identifier(name: str, language: str) -> str:
    """A name in the language's manner: snake_case or camelCase."""
    first, *rest = name.split("_")
    return name if language == "python" else first + "".join(word.capitalize() for word in rest)


def run(steps: Sequence[Step], value: Any) -> Any:
    """What the references of the steps give for `value`."""
    for step in steps:
        value = step.reference(value)
    return value


def joined_helpers(helpers: Iterable[str], language: str) -> str:
    """Helpers, each once, imports first."""
    ordered = sorted(dict.fromkeys(helpers), key=lambda text: not text.startswith("from"))
    return DIALECTS[language].helper_gap.join(ordered)


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
    draw_input: Callable[[], tuple[Any, ...]],
) -> tuple[tuple[Any, ...], ...]:
    """Drawn inputs whose results differ, then edge cases."""
    ranked, counts = [], Counter[str]()
    for arguments in [draw_input() for _ in range(CANDIDATE_INPUTS)]:
        result = as_json(reference(*arguments))
        ranked.append((counts[result], arguments))
        counts[result] += 1
    # The first input of every result comes before the second of any.
    picked = [arguments for _, arguments in sorted(ranked, key=lambda pair: pair[0])]
    picked = picked[: draw.between(4, 5)]
    return (*picked, *draw.shuffled(list(edges))[: MOST_TESTS - len(picked)])


def has_discriminating_inputs(task: CodingTask) -> bool:
    """Whether its inputs expose an answer that is one constant, or that leaves out a step."""
    cases = distinct(task.inputs)
    results = [as_json(task.reference(*arguments)) for arguments in cases]
    if len(cases) < FEWEST_TESTS or 2 * max(Counter(results).values()) > len(cases) + 2:
        return False
    pairs = [(arguments[0], result) for arguments, result in zip(cases, results, strict=True)]
    return all(
        any(step_matters(task.steps, index, value, result) for value, result in pairs)
        for index in range(len(task.steps) - 1)
    )


def step_matters(steps: Sequence[Step], index: int, value: Any, result: str) -> bool:
    """Whether the result for `value`, as JSON, differs without the step at `index`."""
    before = run(steps[:index], value)
    if type(before) is not type(steps[index].reference(before)):
        return True
    return as_json(run(steps[index + 1 :], before)) != result


def distinct(inputs: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The inputs without repetitions."""
    return list({as_json(arguments): arguments for arguments in inputs}.values())
