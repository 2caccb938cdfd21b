"""What the answer of a row says: gold queries, the database, how results are compared.

The answer is JSON:

    {"query": "SELECT ...",                a gold query, or a list of queries that are all right
     "database": {"schema": "CREATE TABLE t(a, b); ...",
                  "rows": {"t": [[1, "x"], {"a": 2, "b": null}]}},
     "compare": "bird",                    the default
     "tolerance": 1e-6,                    optional: numbers may differ by it, see `compare.py`
     "limits": {"timeout": 30, "memory_mb": 512}}        optional

A database is one of these, or a list of them, all of which the query must answer:

    {"schema": SQL, "rows": {table: rows}}   rows are lists in the order of the columns, or objects;
                                             a value is null, a boolean, a number, a text, or
                                             {"blob": hexadecimal digits}; "rows" may be absent
    {"file": "shop/shop.sqlite", "sha256": hexadecimal digits}
                                             a file of SQLite below `$INFINITE_RL_DATA`
    {"base64": text}                         the bytes of such a file
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..coding.reference import RowLimits, read_limits
from ..reward_function import BadReference, reference_object
from .compare import COMPARISONS

_KEYS = {"query", "database", "compare", "tolerance", "limits"}
_NOTHING = frozenset[str]()
_FORMS = (({"schema"}, {"rows"}), ({"file", "sha256"}, _NOTHING), ({"base64"}, _NOTHING))


@dataclass(frozen=True)
class SqlReference:
    """A row's answer. `databases` are JSON texts."""

    queries: tuple[str, ...]
    databases: tuple[str, ...]
    compare: str
    tolerance: float
    limits: RowLimits


@lru_cache(maxsize=64)
def read_reference(text: str) -> SqlReference:
    """Read the answer of a row. Raises `BadReference`."""
    value = reference_object(text, "the answer")
    if not {"query", "database"} <= value.keys() <= _KEYS:
        raise BadReference(f"the answer must be an object of {', '.join(sorted(_KEYS))}")
    compare = value.get("compare", "bird")
    if compare not in COMPARISONS:
        raise BadReference(f"compare must be one of {', '.join(COMPARISONS)}")
    return SqlReference(
        _queries(value["query"]),
        _databases(value["database"]),
        compare,
        _tolerance(value.get("tolerance", 0)),
        read_limits(value),
    )


def _queries(value: Any) -> tuple[str, ...]:
    queries = value if isinstance(value, list) else [value]
    if not queries or not all(isinstance(each, str) and each.strip() for each in queries):
        raise BadReference("query must be a text of SQL, or a list of them")
    return tuple(queries)


def _databases(value: Any) -> tuple[str, ...]:
    databases = value if isinstance(value, list) else [value]
    for each in databases:
        keys = set(each) if isinstance(each, Mapping) else set()
        if not any(must <= keys <= must | may for must, may in _FORMS):
            forms = '{"schema", "rows"}, {"file", "sha256"} or {"base64"}'
            raise BadReference(f"a database is an object of one of these forms: {forms}")
    if not databases:
        raise BadReference("there is no database")
    return tuple(json.dumps(each, sort_keys=True) for each in databases)


def _tolerance(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        raise BadReference("tolerance must be a number from 0 to 1")
    return float(value)
