r"""Tables of steps, tasks and phrases: `tables/FAMILY.txt`, read once and filled in with parameters.

    [filters]                            a group of rows; in a group of phrases each line is a row
    multiples                            a row; `multiples x2` is drawn twice as often
      draw k: 2..5                       parameters of the row, drawn in this order
      say  keep the multiples of $k      its fields; further lines of a field are indented by seven
      py   [n for n in IT if n % $k == 0]

A step has the fields `say` (an imperative), `py` and `js` (an expression in IT, the value so far, or
lines that assign OUT), `out` (the name of the result), `use` (rows with helper functions), `fact`
(words by which a family's code asks what the row is about), and as the last one `type` (the kind of
its value) and `how` (an explanation). A task has `name` (one is drawn),
`par` (parameters with their kinds), `type`, `tale` (one is drawn), `say`, `rule`, `plan`, `py`, `js`
and `use`; `[group]` as a tale or rule draws a phrase. A pipeline may have patterns for the sentences
that explain its steps: `lead`, `last`, and `only` for a single one. `cols` names columns, which `|`
separates.

A task of the group `tasks` may have optional rules, which are rows of the group `rules`: their names
are parameters, true for those that are drawn; their lines of `rule` and `plan` come with those of
the task. `from` and `to` are the levels of a task or rule, `of` names the tasks of a rule and `not`
the rules that it excludes; `more` is the number of rules beyond what the level asks for. `core` are
rules of the task that stand before the optional ones. `open` are
openings of the explanation, of which one is drawn, and `flip` names parameters of the task that are
true or false: with each of them, or one rule, turned, the solution must fail the tests.

Fields before the first row belong to the group; `""` is the empty phrase. Parameters are `k: 2..5`
(both ends included), `k: -6..6 except 0`, `high: low + 6..20`, `down: 60%` (true with this
probability), or options as Python literals: `mark: "-", "+"`; several names take the items of a
tuple: `a, b: (1, 2), (3, 4)`, or different options: `a, b: some of 1, 2, 3`.

A line of code that starts with `?NAME:` is kept only if another line uses the name. A solution then
has no unused tables.

A template holds `$k`, `$(k)`, `$(k+1)`, `$(abs k)`, and `«down:then|else»`, `«k=1:then|else»`,
`«k>0:then|else»`. A parameter may be a template itself. A line of which nothing is left is dropped.
"""

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from .draw import Draw

Parameters = Mapping[str, Any]

_FOLDER = Path(__file__).parent / "tables"
_PLACEHOLDER = re.compile(
    r"«(?P<condition>\w+(?:\+\w+)*)(?:(?P<sign>[=>])(?P<operand>-?\w+))?"
    r":(?P<then>.*?)(?:(?<!\|)\|(?!\|)(?P<else>.*?))?»"
    r"|\$(?:(?P<plain>[a-z]\w*)|\((?P<abs>abs )?(?P<name>[a-z]\w*?)(?P<offset>[+-]\d+)?\))"
)
_MARK = re.compile(r"^\?(\w+):", re.MULTILINE)
_RANGE = re.compile(r"(?:(\w+) \+ )?(\S+)\.\.(\S+)( except 0)?")


@dataclass(frozen=True)
class Row:
    """A row of a table: its name, and its templates by field."""

    name: str
    fields: dict[str, str] = field(default_factory=dict)

    def text(self, key: str, parameters: Parameters) -> str:
        """The field with its parameters filled in; "" if the row has none."""
        template = self.fields.get(key)
        return without_unneeded(fill(template, parameters)) if template else ""

    def allows(self, level: int, task: str = "") -> bool:
        """Whether the row belongs to a level, and to a task: its fields `from`, `to` and `of`."""
        low, high = self.fields.get("from", "1"), self.fields.get("to", "9")
        return int(low) <= level <= int(high) and task in self.fields.get("of", f"{task} ").split(
            " "
        )

    def excludes(self, other: "Row") -> bool:
        """Whether the field `not` of one of two rules names the other."""
        pairs = ((self, other), (other, self))
        return any(two.name in one.fields.get("not", "").split() for one, two in pairs)

    def lines(self, key: str, parameters: Parameters) -> tuple[str, ...]:
        """The lines of a field, filled in, without empty ones."""
        return tuple(filter(None, self.text(key, parameters).split("\n")))


@dataclass(frozen=True)
class Group:
    """Rows to draw from, each as often as its weight says, and the fields that they share."""

    shared: Row
    rows: list[Row] = field(default_factory=list)


@cache
def read_table(name: str) -> dict[str, Group]:
    """The groups of a table by name."""
    groups: dict[str, Group] = {}
    row, key = Row(""), ""
    for line in (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").split("\n"):
        if line.startswith("["):
            row = Row(line[1:-1])
            groups[row.name] = Group(row)
        elif line[:1].strip():
            phrase, _, weight = line.partition(" x") if line[-3:-1] == " x" else (line, "", "1")
            row = Row("" if phrase == '""' else phrase)
            if line[0] != "#":
                groups[list(groups)[-1]].rows.extend([row] * int(weight))
        elif line[2:7].strip():
            key = line[2:7].strip()
            row.fields[key] = line[7:]
        elif key in row.fields:
            row.fields[key] += f"\n{line[7:]}"
    for group in groups.values():
        for row in (group.shared, *group.rows):
            row.fields.update({key: text.rstrip("\n") for key, text in row.fields.items()})
    return groups


def fill(template: str, parameters: Parameters) -> str:
    """The template with its parameters filled in. Raises KeyError for an unknown one."""
    if "$" not in template and "«" not in template:
        return template
    lines = []
    for line in template.split("\n"):
        pieces = [one if isinstance(one, str) else one(parameters) for one in _compiled(line)]
        text = "".join(pieces)
        if text.strip() or not line.strip():
            lines.append(text)
    return "\n".join(lines)


def without_unneeded(code: str) -> str:
    """The code without the lines `?NAME:` of a name that no other line has, and without marks."""
    for name in dict.fromkeys(_MARK.findall(code)):
        mark, lines = f"?{name}:", code.split("\n")
        others = [line for line in lines if not line.startswith(mark)]
        needed = re.search(rf"\b{name}\b", "\n".join(others))
        code = "\n".join(line.removeprefix(mark) for line in (lines if needed else others))
    return code


@cache
def _compiled(line: str) -> tuple[str | Callable[[Parameters], str], ...]:
    """The pieces of a line of a template: texts, and functions of the parameters."""
    pieces: list[str | Callable[[Parameters], str]] = []
    end = 0
    for match in _PLACEHOLDER.finditer(line):
        build = _choice if match["condition"] else _value
        pieces += [line[end : match.start()], build(match)]
        end = match.end()
    return tuple(filter(None, [*pieces, line[end:]]))


def _choice(match: re.Match[str]) -> Callable[[Parameters], str]:
    names, sign, operand = match["condition"].split("+"), match["sign"], match["operand"]
    then, otherwise = match["then"], match["else"] or ""

    def text(parameters: Parameters) -> str:
        value = next(filter(None, map(parameters.__getitem__, names)), parameters[names[0]])
        if sign:
            value = str(value) == operand if sign == "=" else value > int(operand)
        return fill(then if value else otherwise, parameters)

    return text


def _value(match: re.Match[str]) -> Callable[[Parameters], str]:
    name, absolute, offset = match["plain"] or match["name"], match["abs"], match["offset"]

    def text(parameters: Parameters) -> str:
        value = parameters[name]
        if absolute or offset:
            value = abs(value) if absolute else value + int(offset)
        return fill(value, parameters) if isinstance(value, str) else str(value)

    return text


def draw_parameters(draw: Draw, specification: str, parameters: Parameters) -> dict[str, Any]:
    """`parameters`, and those that the specification draws."""
    drawn = dict(parameters)

    def bound(text: str) -> int:
        return int(fill(f"$({text})" if text[0].isalpha() else text, drawn))

    for line in specification.split("\n") if specification else ():
        names, _, source = (fill(line, drawn) if line[0] == "«" else line).partition(": ")
        if not names:
            continue
        if source.endswith("%"):
            drawn[names] = draw.chance(int(source[:-1]) / 100)
        elif match := _RANGE.fullmatch(source):
            start, low, high, nonzero = match.groups()
            between = draw.nonzero if nonzero else draw.between
            drawn[names] = (drawn[start] if start else 0) + between(bound(low), bound(high))
        elif source.startswith("some of "):
            keys = names.split(", ")
            drawn.update(zip(keys, draw.some(_options(source[8:]), len(keys)), strict=True))
        else:
            keys, option = names.split(", "), draw.pick(_options(source))
            drawn.update(zip(keys, option, strict=True) if keys[1:] else [(names, option)])
    return drawn


@cache
def _options(source: str) -> tuple[Any, ...]:
    options: tuple[Any, ...] = ast.literal_eval(f"({source},)")
    return options
