"""Tasks of SQL: a question in words about tables, a query, and its value computed in Python.

A family is a table of a task and its rules (`tables/FAMILY.txt`) with the query in `sql` and the
same computation over lists of rows in `py`. The databases of a row are inputs of the latter, chosen
so that the result differs for each rule that is ignored. SQLite itself runs only in the sandbox.
"""

from __future__ import annotations

import json

from .. import layout
from .code import MOST_TESTS, SQL, CodingTask, Family, distinct
from .code_prompt import rules_text
from .draw import Draw
from .templates import Problem, capital

_PHRASES = Family("queries")


def write_query(draw: Draw, task: CodingTask) -> Problem:
    """The task as prompt, JSON of query and databases, and worked response."""
    schema = "\n".join(_table(name, columns) for name, columns in task.params)
    fenced = layout.fenced(schema, "sql")
    shown = f"{_PHRASES.phrase(draw, 'schemas')}\n\n{fenced}"
    parts = [f"{shown}\n\n{task.story}"] if draw.chance(0.5) else [f"{task.story}\n\n{shown}"]
    duty = _PHRASES.phrase(draw, "query duties")
    parts += [f"{duty} {', and '.join(task.instructions)}.", rules_text(draw, task.rules)]
    parts.append(_PHRASES.phrase(draw, "query closings"))
    names = [name for name, _ in task.params]
    databases = [
        {"schema": schema, "rows": dict(zip(names, tables, strict=True))}
        for tables in distinct(task.inputs)[:MOST_TESTS]
    ]
    query = task.code[SQL]
    answer = {"query": query, "database": databases, "compare": task.returns}
    plan = " ".join(capital(line) for line in task.plan)
    tag = layout.tagged(f"\n{layout.fenced(query, 'sql')}\n")
    response = "\n\n".join((task.opening, plan, tag))
    return Problem("\n\n".join(filter(None, parts)), json.dumps(answer), response)


def _table(name: str, columns: str) -> str:
    """The statement that creates a table, of `NAME:TYPE,NAME:TYPE`."""
    typed = ", ".join(" ".join(each.split(":")).replace("-", " ") for each in columns.split(","))
    return f"CREATE TABLE {name}({typed});"
