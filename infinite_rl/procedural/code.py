"""Coding tasks: one computation, described in words and written in two languages.

A family is a table of steps and tasks (`tables/FAMILY.txt`, read by `code_tables`) and a module with
a function `make` that puts them together. `code_prompt` writes the prompts. The values that a row's
tests expect are those of the Python solution, which is our own text and runs here; the tests of the
package derive them again from the words of the prompt.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from textwrap import indent
from typing import Any

from .code_tables import Parameters, Row, draw_parameters, fill, read_table
from .draw import Draw

FEWEST_TESTS, MOST_TESTS = 5, 10
CANDIDATE_INPUTS = 24
NEAR_MISS_INPUTS = 12  # of them: there are many near misses
as_json = json.JSONEncoder(sort_keys=True).encode  # equal values, equal texts


@lru_cache(1024)
def compiled(parameters: str, body: str, helpers: str = "") -> Callable[..., Any]:
    """The Python function with these parameters and this body, of texts of our tables."""
    names: dict[str, Any] = {}
    exec(f"{helpers}\ndef solution({parameters}):\n{indent(body, '    ')}", names)
    function: Callable[..., Any] = names["solution"]
    return function


@dataclass(frozen=True)
class Step:
    """One stage of a computation.

    `instruction` is an imperative ("keep the even ones"). `code` and `helpers` are by language:
    an expression in `IT`, the value so far, or several lines that assign `OUT`, whose name is
    `variable`; and the functions that it calls. The last step of a task has the kind of value that
    it `returns`, and perhaps an `explanation`. `facts` are words by which a family's code asks what
    the step is about. `unguarded` answers the same question for values that an earlier step would
    have removed (links in a circle): `step_matters` shows by it that the earlier step is needed.
    """

    instruction: str
    code: Mapping[str, str]
    helpers: Mapping[str, Sequence[str]]
    variable: str = "result"
    returns: str = ""
    explanation: str = ""
    facts: Sequence[str] = ()
    unguarded: Callable[[Any], Any] | None = None

    @cached_property
    def result(self) -> Callable[[Any], Any]:
        """What the step makes of a value."""
        return compiled("IT", body_of([self], "IT", PYTHON), joined_helpers([self], PYTHON))

    def texts(self, name: str) -> dict[str, str]:
        """The texts as parameters of a template: instruction, both solutions, kind of value."""
        code = {f"{name}_{DIALECTS[language].key}": text for language, text in self.code.items()}
        return {name: self.instruction, **code, f"{name}_type": self.returns}


@dataclass(frozen=True)
class CodingTask:
    """A function to write: its story, instructions, inputs, and the solutions by language.

    `params` are names and kinds. `instructions` are imperatives, the last of which names the value
    to return. `inputs` are argument tuples, the discriminating ones first. `opening` and `plan`
    explain the solution. `steps` are those of a task that is a pipeline over its one argument.
    `misreadings` are Python bodies, each of which ignores or turns one rule, and `near_misses` have
    one number of a rule raised by one. `draw_input` draws further arguments.
    """

    name: str
    params: tuple[tuple[str, str], ...]
    returns: str
    story: str
    instructions: tuple[str, ...]
    rules: tuple[str, ...]
    plan: tuple[str, ...]
    code: Mapping[str, str]
    helpers: Mapping[str, str]
    inputs: tuple[tuple[Any, ...], ...]
    steps: tuple[Step, ...] = ()
    opening: str = ""
    misreadings: tuple[str, ...] = ()
    near_misses: tuple[str, ...] = ()
    draw_input: Callable[[], tuple[Any, ...]] | None = None

    @cached_property
    def result(self) -> Callable[..., Any]:
        """What the function returns."""
        return self._compiled(self.code[PYTHON])

    def exposes(self, arguments: tuple[Any, ...], bodies: Iterable[str]) -> set[str]:
        """The bodies that return something else for the arguments than the solution, or fail."""
        result = as_json(self.result(*arguments))
        return {body for body in bodies if differs(self._compiled(body), arguments, result)}

    def _compiled(self, body: str) -> Callable[..., Any]:
        return compiled(", ".join(name for name, _ in self.params), body, self.helpers[PYTHON])


@dataclass(frozen=True)
class Dialect:
    """What differs between the languages."""

    title: str
    key: str  # its field of a row
    null: str
    comment: str
    test: str
    helper_gap: str


PYTHON, JAVASCRIPT, SQL = "python", "javascript", "sql"
DIALECTS = {
    PYTHON: Dialect("Python", "py", "None", "#", "assert {} == {}", "\n\n\n"),
    JAVASCRIPT: Dialect(
        "JavaScript", "js", "null", "//", "require('assert').deepStrictEqual({}, {});", "\n\n"
    ),
    SQL: Dialect("SQL", "sql", "NULL", "--", "", ""),
}


# --- a family: its table


class Family:
    """The table `tables/NAME.txt`."""

    def __init__(self, name: str) -> None:
        self._name = name

    @cached_property
    def _rows(self) -> dict[str, Row]:
        groups = (read_table("prompt")["helpers"], *read_table(self._name).values())
        return {row.name: row for group in groups for row in group.rows}

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
        """A row of the group: its name by the last word W of the group's, its fields as `W_FIELD`.

        `W_fact` is "" if the row has none.
        """
        drawn = self.draw_shared(draw, group, **parameters)
        row = draw.pick(self.rows(group))
        drawn = draw_parameters(draw, row.fields.get("draw", ""), drawn)
        word = group.split()[-1]
        return {
            **drawn,
            word: row.name,
            f"{word}_fact": "",
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
            codes(row, drawn),
            self._helpers(row, drawn),
            row.text("out", drawn) or "result",
            row.text("type", drawn),
            row.text("how", drawn),
            row.text("fact", drawn).split(),
        )

    def _helpers(self, row: Row, parameters: Parameters) -> dict[str, list[str]]:
        """The helpers that a row uses, by language."""
        used = [codes(self.row(name), parameters) for name in row.text("use", parameters).split()]
        return {language: [one[language] for one in used if one[language]] for language in DIALECTS}

    def draw_rules(
        self, draw: Draw, level: int, /, *groups: str, **parameters: Any
    ) -> dict[str, Any]:
        """A task of the level, as many optional rules as the level asks for, texts of `groups`.

        The parameters say for each rule whether it is `chosen`; those of chosen rules are drawn.
        """
        task = draw.pick([row for row in self.rows("tasks") if row.allows(level)])
        shared = self.draw_shared(draw, "tasks", level=level, task=task.name, **parameters)
        drawn = draw_parameters(draw, task.fields.get("draw", ""), shared)
        rules = [row for row in self.rows("rules") if row.allows(level, task.name)]
        count = max(0, level - 2 + draw.below(2) + int(task.fields.get("more", "0")))
        picked: list[Row] = []
        for row in draw.shuffled(rules):
            if len(picked) < count and not any(row.excludes(one) for one in picked):
                picked.append(row)
        chosen = [row for row in rules if row in picked]
        drawn |= {row.name: row in chosen for row in self.rows("rules")}
        for row in chosen:
            drawn = draw_parameters(draw, self.row(row.name).fields.get("draw", ""), drawn)
        for group in groups:
            drawn = self.draw_texts(draw, group, **drawn)
        return {**drawn, "chosen": chosen}

    def task(
        self,
        draw: Draw,
        name: str,
        parameters: Parameters,
        edges: Iterable[tuple[Any, ...]],
        draw_input: Callable[[], tuple[Any, ...]] | None = None,
        code: str = "",
        steps: Sequence[Step] = (),
    ) -> CodingTask:
        """The task of a row, with the solutions of the row `code` (by default the same one), or of
        the steps, which a function does in order on its argument.

        Its inputs are discriminating ones out of `edges` and what `draw_input` draws; or else the edges.
        """
        row, solution = self.row(name), self.row(code or name)
        names = row.fields["name"].split()
        function = fill(draw.pick(names) if names[1:] else names[0], parameters)
        stories = row.text("tale", parameters).replace('""', "").split("\n")
        story = draw.pick(stories) if len(stories) > 1 else stories[0]
        story = self.phrase(draw, story[1:-1]) if story.startswith("[") else story
        chosen: Sequence[Row] = parameters.get("chosen", ())
        rules = tuple(
            self.phrase(draw, line[1:-1], **parameters) if line.startswith("[") else line
            for one, key in ((row, "core"), *((one, "rule") for one in (*chosen, row)))
            for line in one.lines(key, parameters)
        )
        flags = [*(one.name for one in chosen), *row.fields.get("flip", "").split()]
        openings = row.lines("open", parameters)
        params = tuple((one, kind) for one, kind in map(str.split, row.lines("par", parameters)))
        users: Sequence[Step] = steps
        if not steps:
            users = [Step("", codes(solution, parameters), self._helpers(solution, parameters))]
        task = CodingTask(
            name=function,
            params=params,
            returns=row.text("type", parameters),
            story=story,
            instructions=tuple(step.instruction for step in steps) or row.lines("say", parameters),
            rules=rules,
            plan=(
                *(plan_sentences(row, steps) if steps else ()),
                *(line for one in (row, *chosen) for line in one.lines("plan", parameters)),
            ),
            code={
                language: body_of(steps, params[0][0], language) if steps else text
                for language, text in users[0].code.items()
            },
            helpers={language: joined_helpers(users, language) for language in DIALECTS},
            inputs=tuple(edges),
            steps=tuple(steps),
            opening=draw.pick(openings) if openings else self.phrase(draw, "openings"),
            misreadings=tuple(
                solution.text("py", {**parameters, flag: not parameters[flag]}) for flag in flags
            ),
            near_misses=tuple(
                solution.text("py", {**parameters, name: parameters[name] + 1})
                for name in drawn_numbers(chosen, parameters)
            ),
            draw_input=draw_input,
        )
        return with_inputs(draw, task, draw_input) if draw_input else task

    def pipeline(
        self,
        draw: Draw,
        steps: Sequence[Step],
        parameters: Parameters,
        edges: Iterable[tuple[Any, ...]],
        draw_input: Callable[[], tuple[Any, ...]],
    ) -> CodingTask:
        """The task of the row "pipeline": its function does the steps in order on its argument."""
        last = steps[-1]
        parameters = {"how": last.explanation, "type": last.returns, **parameters}
        return self.task(draw, "pipeline", parameters, edges, draw_input, steps=steps)


def drawn_numbers(rules: Iterable[Row], parameters: Parameters) -> list[str]:
    """The parameters of the rules that are integers."""
    lines = (line for row in rules for line in row.fields.get("draw", "").split("\n"))
    names = (name for line in lines for name in line.partition(": ")[0].split(", "))
    return [name for name in names if name and type(parameters[name]) is int]


def codes(row: Row, parameters: Parameters) -> dict[str, str]:
    """The code of a row by language."""
    return {name: row.text(dialect.key, parameters) for name, dialect in DIALECTS.items()}


# --- a computation from steps

PROMPT = Family("prompt")  # what all families share


def body_of(steps: Sequence[Step], start: str, language: str) -> str:
    """The lines of a function that does the steps in order and returns the last result."""
    lines, current, end = [], start, "" if language == PYTHON else ";"
    assign = "{} = {}" if language == PYTHON else "const {} = {};"
    for step in steps:
        template = step.code[language]
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
    return name if language == PYTHON else first + "".join(word.capitalize() for word in rest)


def run(steps: Sequence[Step], value: Any) -> Any:
    """What the steps make of `value`."""
    for step in steps:
        value = step.result(value)
    return value


def joined_helpers(steps: Iterable[Step], language: str) -> str:
    """The helpers of the steps, each once, imports first."""
    helpers = dict.fromkeys(helper for step in steps for helper in step.helpers[language])
    ordered = sorted(helpers, key=lambda text: not text.startswith(("from", "import")))
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


def with_inputs(
    draw: Draw, task: CodingTask, draw_input: Callable[[], tuple[Any, ...]]
) -> CodingTask:
    """The task with drawn inputs whose results differ, then its own as edge cases."""
    ranked, counts = [], Counter[str]()
    for arguments in [draw_input() for _ in range(CANDIDATE_INPUTS * (1 + bool(task.misreadings)))]:
        result = as_json(task.result(*arguments))
        ranked.append((counts[result], arguments))
        counts[result] += 1
    # The first input of every result comes before the second of any.
    drawn = [arguments for _, arguments in sorted(ranked, key=lambda pair: pair[0])]
    count = draw.between(4, 5) + (2 if task.misreadings else 0)
    picked = telling_inputs(task, drawn)[:count]
    picked += [arguments for arguments in drawn if arguments not in picked][: count - len(picked)]
    edges = draw.shuffled(task.inputs)[: MOST_TESTS - len(picked)]
    return replace(task, inputs=(*picked, *edges))


def telling_inputs(task: CodingTask, drawn: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Of the inputs, in order, those that expose a misreading that none before exposes."""
    chosen: dict[str, tuple[Any, ...]] = {}
    for bodies, pool in ((task.misreadings, drawn), (task.near_misses, drawn[:NEAR_MISS_INPUTS])):
        rest = set(bodies).difference(*(task.exposes(one, bodies) for one in chosen.values()))
        for arguments in pool:
            exposed = task.exposes(arguments, rest)
            if exposed:
                chosen[as_json(arguments)] = arguments
                rest -= exposed
    return list(chosen.values())


def differs(function: Callable[..., Any], arguments: tuple[Any, ...], result: str) -> bool:
    """Whether the function returns something else than `result`, as JSON, or raises an error."""
    try:
        return as_json(function(*arguments)) != result
    except (ArithmeticError, LookupError, TypeError, ValueError):  # what the rule had kept away
        return True


def has_discriminating_inputs(task: CodingTask) -> bool:
    """Whether its inputs expose a constant answer, an omitted step, and each misreading."""
    cases = distinct(task.inputs)
    results = [as_json(task.result(*arguments)) for arguments in cases]
    if len(cases) < FEWEST_TESTS or 2 * max(Counter(results).values()) > len(cases) + 2:
        return False
    rest = set(task.misreadings)
    for arguments in cases:
        rest -= task.exposes(arguments, rest)
    if rest:
        return False
    pairs = [(arguments[0], result) for arguments, result in zip(cases, results, strict=True)]
    return all(
        any(step_matters(task.steps, index, value, result) for value, result in pairs)
        for index in range(len(task.steps) - 1)
    )


def step_matters(steps: Sequence[Step], index: int, value: Any, result: str) -> bool:
    """Whether the result for `value`, as JSON, differs without the step at `index`."""
    before = run(steps[:index], value)
    if not same_kind(before, steps[index].result(before)):
        return True
    rest = steps[index + 1 :]
    follow = rest[0].unguarded or partial(run, rest)
    return as_json(follow(before)) != result


def same_kind(one: Any, two: Any) -> bool:
    """Whether two values have one type, and the first items of two lists, too."""
    lists = isinstance(one, list) and isinstance(two, list)
    items = zip(one[:1], two[:1], strict=False) if lists else ()
    return type(one) is type(two) and all(type(a) is type(b) for a, b in items)


def distinct(inputs: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The inputs without repetitions."""
    return list({as_json(arguments): arguments for arguments in inputs}.values())
