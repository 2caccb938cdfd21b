"""The page's query as SQL.

    word  "a phrase"  -without  column:word     words begin so, in any column or in one
    column=value  column>0.5  column<=3         an exact short value; a number

Filters by value have names of columns, or of what is beside the rows: @finding, @tag, @selected,
@noted, @compared. Every text is a bound parameter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .index import ADDED, CHANGED, REMOVED, SAME, SLOTS, Column, Index, storable

PAGE = 50
_TERM = re.compile(r'(-?)(?:([\w.]+)(:|>=|<=|=|>|<))?(?:"([^"]*)"?|(\S+))')
_WORD = re.compile(r"[^\W_]")
# What is beside a row: its condition, whose parameter is the value, if it has one.
_BESIDE: Mapping[str, str] = {
    "@finding": "rows.number IN (SELECT number FROM findings WHERE kind = ?)",
    "@tag": "rows.number IN (SELECT number FROM tags WHERE tag = ?)",
    "@selected": "rows.number IN (SELECT number FROM marks WHERE selected) AND ? <> ''",
    "@noted": "rows.number IN (SELECT number FROM marks WHERE note <> '') AND ? <> ''",
}
_OTHER = "(SELECT digest FROM rows AS other WHERE other.number = rows.pair)"
_COMPARED: Mapping[str, str] = {
    SAME: f"rows.pair IS NOT NULL AND rows.digest = {_OTHER}",
    CHANGED: f"rows.pair IS NOT NULL AND rows.digest <> {_OTHER}",
    ADDED: "rows.side = 0 AND rows.pair IS NULL",
    REMOVED: "rows.side = 1 AND rows.pair IS NULL",
}


@dataclass(frozen=True)
class Query:
    """What the page asks for. `sort` is a column, "" for the order of the file."""

    text: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    sort: str = ""
    down: bool = False


@dataclass
class Plan:
    """A query as SQL: the conditions with their parameters, and terms that were not understood."""

    conditions: list[str] = field(default_factory=list)
    parameters: list[Any] = field(default_factory=list)
    match: str = ""
    ignored: list[str] = field(default_factory=list)

    def add(self, condition: str, *parameters: Any) -> None:
        """Add a condition that must hold, too."""
        self.conditions.append(condition)
        self.parameters += parameters

    def sql(self, what: str) -> tuple[str, list[Any]]:
        """A statement that selects `what` of the matching rows, and its parameters."""
        source, conditions, parameters = "rows", list(self.conditions), list(self.parameters)
        if self.match:
            source = "texts CROSS JOIN rows ON rows.number = texts.rowid"
            conditions.insert(0, "texts MATCH ?")
            parameters.insert(0, self.match)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT {what} FROM {source}{where}", parameters


def plan(query: Query, columns: Mapping[str, Column], *, compares: bool = False) -> Plan:
    """Make the plan of a query; a column that no row has is a part of the word."""
    result, matches = Plan(), []
    if compares:
        result.add("rows.hidden = 0")
    by_name = {name.casefold(): column for name, column in columns.items()}
    for sign, name, operator, phrase, word in _TERM.findall(query.text):
        text, column = phrase or word, by_name.get(name.casefold()) if name else None
        if name and column is None:
            text = f"{name}{operator}{text}"
        if column and operator != ":":
            condition, parameter = _comparison(column, operator, text)
            if condition:
                result.add(f"NOT ({condition})" if sign else condition, parameter)
            else:
                result.ignored.append(f"{name}{operator}{text}")
            continue
        if not _WORD.search(text):
            result.ignored.append(text)
            continue
        where = f"{{f{column.slot}}} : " if column else ""
        term = f'{where}"{_quoted(text)}" *'
        if sign:
            result.add("rows.number NOT IN (SELECT rowid FROM texts WHERE texts MATCH ?)", term)
        else:
            matches.append(f"({term})")
    result.match = " AND ".join(matches)
    for name, value in query.values.items():
        if name in _BESIDE:
            result.add(_BESIDE[name], storable(value))
        elif name == "@compared":
            result.add(_COMPARED.get(value, "0"))
        elif name in columns:
            result.add(f"rows.c{columns[name].slot} = ?", storable(value))
        else:
            result.ignored.append(name)
    return result


def order(query: Query, columns: Mapping[str, Column]) -> str:
    """The order of a query's rows; rows without a value come last."""
    column = columns.get(query.sort)
    if column is None or column.slot >= SLOTS:
        return "rows.number"
    value = f"rows.c{column.slot}"
    key = f"CAST({value} AS REAL)" if column.numeric else value
    return f"{value} IS NULL, {key} {'DESC' if query.down else 'ASC'}, rows.number"


def numbers(index: Index, query: Query, start: int, count: int) -> list[int]:
    """The numbers of the rows from one place of the result on."""
    if query == Query() and not index.compares:  # they are counted from 1
        return list(range(start + 1, min(start + count, index.shown) + 1))
    statement, parameters = plan(query, index.columns, compares=index.compares).sql("rows.number")
    statement += f" ORDER BY {order(query, index.columns)} LIMIT ? OFFSET ?"
    with index.reader() as reader:
        return [row[0] for row in reader.execute(statement, [*parameters, count, start])]


def total(index: Index, query: Query) -> int:
    """How many rows match."""
    chosen = plan(query, index.columns, compares=index.compares)
    if not chosen.match and chosen.conditions == (["rows.hidden = 0"] if index.compares else []):
        return index.shown
    with index.reader() as reader:
        if chosen.match and not chosen.conditions:  # the index alone: no row is looked up
            counted = reader.execute(
                "SELECT count(*) FROM texts WHERE texts MATCH ?", [chosen.match]
            )
        else:
            counted = reader.execute(*chosen.sql("count(*)"))
        return int(counted.fetchone()[0])


def place_of(index: Index, query: Query, number: int) -> int:
    """The place of a row among the matching ones, from 0; -1 if it is none of them."""
    chosen = plan(query, index.columns, compares=index.compares)
    chosen.add("rows.number = ?", number)
    with index.reader() as reader:
        if reader.execute(*chosen.sql("1")).fetchone() is None:
            return -1
        if not query.sort:
            chosen.conditions[-1] = "rows.number < ?"
            return int(reader.execute(*chosen.sql("count(*)")).fetchone()[0])
        chosen.conditions[-1] = "rows.number > ?"
        chosen.parameters[-1] = -1
        statement, parameters = chosen.sql("rows.number")
        statement += f" ORDER BY {order(query, index.columns)}"
        for position, (each,) in enumerate(reader.execute(statement, parameters)):
            if each == number:
                return position
    return -1


def _comparison(column: Column, operator: str, text: str) -> tuple[str, Any]:
    cell = f"rows.c{column.slot}"
    if operator == "=":
        return f"{cell} = ?", storable(text)
    try:
        return f"{cell} IS NOT NULL AND CAST({cell} AS REAL) {operator} ?", float(text)
    except ValueError:
        return "", None


def _quoted(text: str) -> str:
    return storable(text).replace('"', '""').replace("\0", " ")
