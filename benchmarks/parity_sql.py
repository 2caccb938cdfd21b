"""Queries over generated databases, in the sandbox and by Python's own sqlite3.

`python -m benchmarks.parity_sql` compares verdicts beside BIRD's and Spider's rules.
"""

from __future__ import annotations

import random
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple, cast

from benchmarks.parity import Parity
from infinite_rl.reward_functions.sql.compare import same_results
from infinite_rl.sandbox.runtimes import Limits, load_guest, runtime_named
from infinite_rl.sandbox.sql.guest import SqlGuest
from infinite_rl.sandbox.sql.values import SqlError, literal

SCHEMA = """
CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, city TEXT, born DATE, pay REAL, boss INT);
CREATE TABLE sale(id INTEGER PRIMARY KEY, person INT REFERENCES person, day TEXT, amount NUMERIC,
  state TEXT, pieces INTEGER);
CREATE TABLE thing(a, b, c COLLATE NOCASE, d BLOB);
CREATE INDEX by_person ON sale(person);
CREATE VIEW total AS SELECT person, SUM(amount) AS amount FROM sale GROUP BY person;
"""
CITIES = ("Rome", "rome", "Oslo", "São Paulo", "", "O'Hare", "東京", "a%b_c")
_LIMITS = Limits(timeout_s=20, output_chars=10**7)
_DATABASES = 10


class Query(NamedTuple):
    """One query: its kind, the seed of its database, its text."""

    kind: str
    database: int
    text: str


def parity() -> Parity:
    """Return the row of SQL. Raises `RuntimeMissing`."""
    tool = f"sqlite3 of Python, SQLite {sqlite3.sqlite_version}"
    return Parity(tool, queries, ours, native, lambda query: cast(str, query.kind), _is_near)


@lru_cache(maxsize=_DATABASES)
def script(seed: int) -> str:
    """Return the statements that build a database."""
    chance = random.Random(seed)

    def some(*values: Any) -> Any:
        return chance.choice(values)

    tables: dict[str, list[tuple[Any, ...]]] = {"person": [], "sale": [], "thing": []}
    for n in range(chance.randint(5, 40)):
        born = f"{chance.randint(1930, 2010)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
        pay = some(None, round(chance.uniform(0, 9000), 2), float(chance.randint(0, 9)))
        boss = some(None, chance.randint(1, n + 1))
        tables["person"].append((n + 1, f"N{n % 7}", some(*CITIES, None), born, pay, boss))
    for n in range(chance.randint(10, 150)):
        day = f"{chance.randint(2019, 2024)}-{chance.randint(1, 12):02}-{chance.randint(1, 31):02}"
        amount = some(chance.randint(-5, 500), round(chance.gauss(50, 80), 3), str(n), "x1", None)
        state = some("paid", "open", "PAID", None)
        tables["sale"].append((n + 1, chance.randint(1, 45), day, amount, state, n % 5))
    for _ in range(20):
        values: list[Any] = [
            None,
            0,
            1,
            -1,
            2**53 + 1,
            -(2**63),
            0.1,
            -0.0,
            1e300,
            "",
            "1",
            "1.0",
            "1e2",
            "abc",
        ]
        values += ["ABC", b"", b"abc", b"\x00\xff", "é", "a\0b"]
        tables["thing"].append(tuple(chance.choice(values) for _ in range(4)))
    lines = [
        f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))});"
        for table, rows in tables.items()
        for row in rows
    ]
    return SCHEMA + "BEGIN;" + "\n".join(lines) + "COMMIT;"


def queries(count: int, seed: int) -> list[Query]:
    """Return queries, as many of each kind."""
    chance = random.Random(seed)
    kinds = list(KINDS)
    return [
        Query(kind, chance.randrange(_DATABASES), KINDS[kind](Maker(chance)))
        for kind in (kinds[n % len(kinds)] for n in range(count))
    ]


class Maker:
    """Random parts of queries."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def one(self, *choices: str) -> str:
        return self.chance.choice(choices)

    def number(self, depth: int = 2) -> str:
        """An expression over `person p` and `sale s` that is mostly a number."""
        if depth == 0 or self.chance.random() < 0.2:
            leaf = str(self.chance.choice([0, 1, -3, 7, 2.5, 1e10, 9223372036854775807]))
            return self.one("p.id", "p.pay", "s.amount", "s.pieces", "NULL", leaf, "p.boss")
        one, other = self.number(depth - 1), self.number(depth - 1)
        return self.one(
            f"({one} {self.one('+', '-', '*', '/', '%', '&', '|', '<<', '>>')} {other})",
            f"({one} {self.one('=', '<>', '<', '<=', 'IS', 'IS NOT')} {other})",
            f"{self.one('abs', 'round', 'sign', 'typeof', 'ceil', 'floor')}({one})",
            f"round({one}, {self.chance.randint(0, 4)})",
            f"{self.one('max', 'min', 'coalesce', 'nullif', 'ifnull')}({one}, {other})",
            f"CASE WHEN {self.test(depth - 1)} THEN {one} ELSE {other} END",
            f"CAST({self.text(depth - 1)} AS {self.one('INTEGER', 'REAL', 'NUMERIC')})",
            f"({one} BETWEEN {other} AND {self.number(0)})",
            f"({one} IN (1, 2.5, NULL, {other}))",
            f"{self.one('sqrt', 'exp', 'ln', 'sin', 'degrees')}({one} % 50)",
            f"length({self.text(depth - 1)})",
            f"instr({self.text(depth - 1)}, {self.one(chr(39) + 'o' + chr(39), 'p.name')})",
            f"iif({self.test(depth - 1)}, {one}, {other})",
        )

    def text(self, depth: int = 2) -> str:
        """An expression that is mostly a text."""
        if depth == 0 or self.chance.random() < 0.2:
            return self.one("p.name", "p.city", "s.state", "s.day", "p.born", "'x y'", "NULL")
        one, other = self.text(depth - 1), self.text(depth - 1)
        size = self.chance.randint(-3, 4)
        return self.one(
            f"({one} || {other})",
            f"{self.one('upper', 'lower', 'trim', 'hex', 'quote', 'typeof', 'soundex')}({one})",
            f"substr({one}, {size}, {self.chance.randint(-2, 5)})",
            f"replace({one}, {self.one(chr(39) + 'o' + chr(39), 'p.name')}, {other})",
            f"printf('%5.2f|%-6s|%x|%,d', {self.number(1)}, {one}, s.id, s.id * 12345)",
            f"CAST({self.number(depth - 1)} AS TEXT)",
            f"strftime('%Y-%m %j %w', {self.one('s.day', 'p.born')})",
            f"{self.one('ltrim', 'rtrim', 'trim')}({one}, 'NRo')",
            "char(65 + s.pieces, 233)",
            f"json_extract(json_object('a', {one}, 'b', json_array(s.id)), '$.a')",
        )

    def test(self, depth: int = 1) -> str:
        """A condition."""
        one, other = self.number(depth), self.number(depth)
        if depth and self.chance.random() < 0.4:
            return f"({self.test(depth - 1)} {self.one('AND', 'OR')} NOT {self.test(depth - 1)})"
        return self.one(
            f"{one} {self.one('=', '>', '<', '<>', '>=', 'IS NOT')} {other}",
            f"{self.text(depth)} {self.one('LIKE', 'NOT LIKE', 'GLOB')} '%{self.one('o', 'N_', '*')}%'",
            f"{self.text(depth)} IS {self.one('', 'NOT ')}NULL",
            f"p.id IN (SELECT boss FROM person WHERE boss > {self.chance.randint(0, 5)})",
            "EXISTS (SELECT 1 FROM sale x WHERE x.person = p.id AND x.pieces > 2)",
            f"s.day {self.one('<', '>')} '202{self.chance.randint(0, 4)}-06-15'",
        )

    @property
    def joined(self) -> str:
        join = self.one("JOIN", "LEFT JOIN", "JOIN", "CROSS JOIN")
        return f"person p {join} sale s ON {self.one('s.person = p.id', 's.person = p.id + 1')}"

    def ordered(self, columns: str) -> str:
        """An order that leaves nothing open."""
        direction = self.one(
            "", " DESC", " NULLS LAST" if sqlite3.sqlite_version_info > (3, 30) else ""
        )
        return f"ORDER BY {columns}{direction}, p.id, s.id"


def _select(m: Maker) -> str:
    columns = ", ".join([m.number(), m.text(), m.number(1)])
    return f"SELECT {columns} FROM {m.joined} WHERE {m.test()} {m.ordered('1')} LIMIT 30"


def _aggregate(m: Maker) -> str:
    key, name = (
        m.one("p.city", "s.state", "s.pieces", "substr(s.day, 1, 4)"),
        m.one("SUM", "AVG", "TOTAL"),
    )
    columns = f"{key}, COUNT(*), COUNT(DISTINCT {m.number(1)}), {name}(s.pieces), MIN({m.text(1)})"
    more = f"MAX({m.number(1)}), SUM(s.id) FILTER (WHERE {m.test(0)})"
    having = m.one("", f"HAVING COUNT(*) > {m.chance.randint(0, 9)}")
    return f"SELECT {columns}, {more} FROM {m.joined} WHERE {m.test()} GROUP BY {key} {having}"


def _window(m: Maker) -> str:
    over = f"(PARTITION BY {m.one('p.city', 's.state', 's.pieces')} ORDER BY s.day, s.id, p.id"
    frame = m.one(
        ")", " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)", " ROWS UNBOUNDED PRECEDING)",
        " GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING)", " ROWS 3 PRECEDING EXCLUDE CURRENT ROW)",
    )  # fmt: skip
    ranks = m.one(
        "ROW_NUMBER()", "RANK()", "DENSE_RANK()", "NTILE(3)", "PERCENT_RANK()", "LAG(s.id, 2)"
    )
    sums = m.one(
        "SUM(s.pieces)", "COUNT(s.amount)", "MAX(s.day)", "FIRST_VALUE(s.id)", "GROUP_CONCAT(s.id)"
    )
    return f"SELECT s.id, p.id, {ranks} OVER {over}), {sums} OVER {over}{frame} FROM {m.joined}"


def _sets(m: Maker) -> str:
    parts = [
        f"SELECT {m.one('name', 'city', 'boss', 'id % 4', 'pay')} FROM person" for _ in range(3)
    ]
    kinds = [m.one("UNION", "UNION ALL", "INTERSECT", "EXCEPT") for _ in range(2)]
    return f"{parts[0]} {kinds[0]} {parts[1]} {kinds[1]} {parts[2]}"


def _nulls(m: Maker) -> str:
    one, other = (m.one("a", "b", "c", "d", "NULL", "0", "''", "1.0") for _ in range(2))
    sign = m.one(
        "=", "<>", "<", ">=", "IS", "IS NOT", "+", "||", "*", "AND", "OR", "IS DISTINCT FROM"
    )
    if sign.startswith("IS D") and sqlite3.sqlite_version_info < (3, 39):
        sign = "IS"
    more = m.one(
        f"typeof({one} {sign} {other})", f"NOT {one}", f"{one} IN ({other}, NULL)", f"-{one}"
    )
    return f"SELECT {one} {sign} {other}, {more}, CAST({one} AS TEXT), {other} || '' FROM thing"


def _order(m: Maker) -> str:
    columns = [m.one("a", "b", "c", "d") for _ in range(2)]
    collate = m.one("", "COLLATE NOCASE", "COLLATE RTRIM", "COLLATE BINARY")
    picked = m.one("MIN(b), MAX(b)", "COUNT(DISTINCT a), MAX(d)", "MIN(c COLLATE BINARY)")
    ordered = f"SELECT typeof({columns[0]}), {columns[0]} FROM thing ORDER BY {columns[0]} {collate}, rowid"
    return m.one(
        ordered, f"SELECT {columns[1]}, {picked} FROM thing GROUP BY {columns[1]} {collate}"
    )


def _dates(m: Maker) -> str:
    day = m.one(
        "day",
        "'2024-02-29 12:34:56.789'",
        "'2020-13-01'",
        "2459000.5",
        "1700000000",
        "'-4713-11-24'",
    )
    shift = m.one("+1 month", "-1 day", "start of month", "weekday 0", "+1 year", "unixepoch", "julianday",
                  "-90 minutes", "start of year", "+10 seconds", "localtime", "utc")  # fmt: skip
    name = m.one(
        "date", "time", "datetime", "julianday", "strftime('%s',", "strftime('%W %H:%M:%f',"
    )
    call = name if name.endswith(",") else f"{name}("
    return f"SELECT id, {call}{day}, '{shift}') FROM sale ORDER BY id LIMIT 10"


def _recursive(m: Maker) -> str:
    n = m.chance.randint(3, 60)
    return m.one(
        f"WITH RECURSIVE f(n, a, b) AS (SELECT 1, 0, 1 UNION ALL SELECT n + 1, b, a + b FROM f"
        f" WHERE n < {n}) SELECT n, a, a * 1.0 / b FROM f",
        "WITH RECURSIVE up(id, depth) AS (SELECT id, 0 FROM person WHERE boss IS NULL UNION SELECT"
        f" p.id, depth + 1 FROM person p JOIN up ON p.boss = up.id WHERE depth < {n % 9}) SELECT * FROM up",
        f"WITH x AS (SELECT city, COUNT(*) AS c FROM person GROUP BY 1), y AS (SELECT MAX(c) AS m FROM x)"
        f" SELECT city, c, m, c * {n}.0 / m FROM x, y",
    )


def _nested(m: Maker) -> str:
    n = m.chance.randint(1, 5)
    return m.one(
        f"SELECT name, (SELECT COUNT(*) FROM sale s WHERE s.person = p.id AND s.pieces >= {n}) FROM person p",
        f"SELECT * FROM (SELECT city, AVG(pay) AS a FROM person GROUP BY city) WHERE a > {n * 500}",
        "SELECT name FROM person WHERE pay > (SELECT AVG(pay) FROM person) AND id NOT IN"
        f" (SELECT person FROM sale WHERE pieces = {n})",
        f"SELECT t.amount, p.name FROM total t LEFT JOIN person p ON p.id = t.person WHERE t.amount > {n * 50}",
        f"SELECT DISTINCT p.city, q.city FROM person p JOIN person q ON p.boss = q.id AND p.id <> q.id + {n}",
        f"SELECT name, pay FROM person ORDER BY pay DESC, id LIMIT {n} OFFSET {n}",
    )


def _json(m: Maker) -> str:
    n = m.chance.randint(0, 4)
    text = f'{{"a": [1, 2.5, null, "x", {n}], "b": {{"c": true}}}}'
    return m.one(
        f"SELECT key, value, type, atom FROM json_each('{text}', '$.a')",
        f"SELECT json_extract('{text}', '$.a[{n}]', '$.b.c'), json_type('{text}', '$.a[{n}]')",
        "SELECT json_group_array(name), json_group_object(id, pay) FROM (SELECT * FROM person ORDER BY id)",
        f"SELECT '{text}' -> '$.a', '{text}' ->> '$.a[{n}]', json_array_length('{text}', '$.a')",
        f"SELECT fullkey, atom FROM json_tree('{text}') WHERE atom IS NOT NULL",
    )


def _error(m: Maker) -> str:
    return m.one(
        f"SELECT nope FROM {m.one('person', 'sale')}", "SELECT * FROM nowhere", "SELEC 1", "SELECT 1 +",
        f"SELECT {m.one('abs', 'substr', 'nofunc')}()", "SELECT SUM(SUM(pay)) FROM person",
        "SELECT id FROM person JOIN sale", "SELECT 1 UNION SELECT 1, 2", "SELECT pay FROM person LIMIT 'x'",
        "SELECT abs(-9223372036854775807 - 1)", "SELECT SUM(9223372036854775807) FROM person",
        "SELECT COUNT(*) FROM person WHERE COUNT(*) > 1", "SELECT json('{')", "SELECT 1 WHERE", "",
        "SELECT ROW_NUMBER() FROM person", "SELECT 'a' LIKE 'b' ESCAPE 'cc'", "SELECT (SELECT 1, 2)",
    )  # fmt: skip


KINDS: Mapping[str, Callable[[Maker], str]] = {
    "expressions, CASE, joins": _select,
    "aggregates": _aggregate,
    "windows": _window,
    "set operations": _sets,
    "NULL and types": _nulls,
    "order and collation": _order,
    "dates": _dates,
    "recursion, WITH": _recursive,
    "subqueries": _nested,
    "JSON": _json,
    "errors": _error,
}


# --- running --------------------------------------------------------------------------------------


@lru_cache(maxsize=_DATABASES)
def _image(seed: int) -> bytes:
    return _guest().image(script(seed), _LIMITS)


def _guest() -> SqlGuest:
    return cast(SqlGuest, load_guest(runtime_named("sql")))


@lru_cache(maxsize=_DATABASES)
def _connection(seed: int) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    connection.executescript(script(seed))
    return connection


def ours(query: Query) -> object:
    """Return the rows of a query in the sandbox, or that it failed."""
    try:
        return _ending(query, _guest().select(query.text, _image(query.database), _LIMITS).rows)
    except SqlError as error:
        assert error.status == "error", error
        return "an error"


def native(query: Query) -> object:
    """Return the rows of a query by Python's sqlite3, or that it failed."""
    try:
        cursor = _connection(query.database).execute(query.text)
        rows = cursor.fetchall()
    except (sqlite3.Error, sqlite3.Warning):
        return "an error"
    return _ending(query, rows) if cursor.description else "an error"


def _is_near(one: Any, other: Any) -> str:
    """Whether the rows are equal with numbers of 12 digits."""

    def rounded(rows: Any) -> object:
        number = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
        return [number.sub(lambda match: f"{float(match[0]):.12g}", row) for row in rows]

    are_rows = isinstance(one, list) and isinstance(other, list)
    return "the last digits of numbers" if are_rows and rounded(one) == rounded(other) else ""


def _ending(query: Query, rows: list[tuple[Any, ...]]) -> list[str]:
    """Return rows by their `repr`, which tells types and digits apart; sorted if order is open."""
    texts = list(map(repr, rows))
    return texts if "ORDER BY" in query.text.rpartition(" FROM ")[2] else sorted(texts)


# --- verdicts ------------------------------------------------------------------------------------


def verdicts(count: int, seed: int) -> None:
    """Print how many verdicts are those of BIRD's and Spider's rules, on rows of Python's sqlite3.

    A prediction is the gold query, a change of it or another query.
    """
    chance, agree, passed, differing = random.Random(seed), 0, 0, []
    golds = [each for each in queries(count, seed) if ours(each) != "an error"]
    for number in range(count):
        gold = golds[number % len(golds)]
        text = gold.text
        forms = ("{0}", "SELECT * FROM ({0})", "SELECT DISTINCT * FROM ({0})", "{1}",
                 "SELECT * FROM ({0}) LIMIT 3", "SELECT * FROM ({0}) ORDER BY 1 DESC")  # fmt: skip
        form = chance.choice(forms).format(text, chance.choice(golds).text)
        other = Query(gold.kind, gold.database, form)
        compare = chance.choice(["bird", "spider"])
        verdict, native_verdict = (
            _verdict(gold, other, compare),
            _native_verdict(gold, other, compare),
        )
        passed += verdict
        agree += verdict == native_verdict
        if verdict != native_verdict:
            differing.append((compare, gold, other.text))
    print(f"verdicts: {agree} of {count} agree, {passed} pass")
    for each in differing:
        print(*each, sep="\n  ")


def _verdict(gold: Query, other: Query, compare: str) -> bool:
    image = _image(gold.database)
    try:
        result = _guest().select(other.text, image, _LIMITS)
    except SqlError:
        return False
    return same_results(_guest().select(gold.text, image, _LIMITS), result, gold.text, compare)


def _native_verdict(gold: Query, other: Query, compare: str) -> bool:
    connection = _connection(gold.database)
    wanted = connection.execute(gold.text).fetchall()
    try:
        rows = connection.execute(other.text).fetchall()
    except (sqlite3.Error, sqlite3.Warning):
        return False
    if compare == "bird":
        return set(wanted) == set(rows)
    if len(wanted) != len(rows) or not rows:
        return len(wanted) == len(rows)
    own, theirs = (
        [Counter(column) for column in zip(*each, strict=True)] for each in (wanted, rows)
    )
    fitting = [[n for n, column in enumerate(theirs) if column == each] for each in own]
    for order in product(*fitting) if len(own) == len(theirs) else ():
        permuted = [tuple(row[n] for n in order) for row in rows]
        is_same = (
            permuted == wanted
            if "order by" in gold.text.lower()
            else Counter(permuted) == Counter(wanted)
        )
        if is_same and len(set(order)) == len(order):
            return True
    return False


if __name__ == "__main__":
    verdicts(10_000, 0)
