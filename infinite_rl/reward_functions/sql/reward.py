"""The sql reward: run the query of a completion, and compare its rows with the gold's."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

from ...errors import RuntimeMissing
from ...layout import ANSWER_TAG, tagged
from ...parsing.markup import code_blocks, format_of, split_thinking, tag_matches
from ...sandbox.calibration import time_factor
from ...sandbox.runtimes import FUEL_EPOCH_NS, Limits
from ...sandbox.sql.values import ResultSet, SqlError
from ...types import RewardFunctionScore, Sample
from ..reward_function import AnswerRewardFunction, BadReference, reference_text, unscored
from .compare import as_run, same_results
from .databases import image_of, sql_guest
from .reference import SqlReference, read_reference

MEMORY_BYTES, RESULT_BYTES = 256 * 1024 * 1024, 16 * 1024 * 1024
_NOW_NS = FUEL_EPOCH_NS  # for each query, so that 'now' is the same for gold and prediction
_FENCES = ("sql", "sqlite", "sqlite3")
_GOLDS = 8  # whose results are kept


class SqlRewardFunction(AnswerRewardFunction):
    """Judge a query of SQLite's dialect by the rows that it returns.

    The query is the last fenced block in the last answer tag (in "sql" or no language), else the
    whole content of the tag; without a tag the last block in "sql" of the completion less thinking.
    It is one statement that returns rows, and can change nothing. `reference.py` says what the
    answer of a row is, `compare.py` when results are equal.

    Format: as for mathematics, 0.5 for a block without a tag. Correctness: 1.0 if the rows are
    those of a gold query on all databases, else 0.0. `details["limit"]` names a limit that stopped
    the query: "timeout", "memory" or "output".

    Queries run with the same time of day, the beginning of 2026, and the same random numbers.

    The status is "unscored" if the answer cannot be read, a gold query fails, a database is
    missing or the runtime is not installed (`details["missing"]`); the reason says what to do.
    """

    name = "sql"
    version = "2"
    runtime = "sql"

    @property
    def limits(self) -> dict[str, Any]:
        """The limits of one query: seconds, MiB of memory, bytes of its result."""
        memory_mb = MEMORY_BYTES // 2**20
        return {"timeout": self.timeout, "memory_mb": memory_mb, "result_bytes": RESULT_BYTES}

    def prepare(self, language: str = "") -> None:  # noqa: ARG002
        """Load the sandbox, which is compiled once on each machine."""
        sql_guest()

    def _content(self, text: str, answer_tag: str) -> tuple[float, str]:
        return read_query(text, answer_tag)

    def accepts_empty(self, sample: Sample, empty: str) -> bool:  # noqa: ARG002
        """Whether a row's answer accepts a query without rows."""
        return self.score(sample, tagged("SELECT 1 WHERE 0")).passed

    def _judged(self, format_score: float, content: str, expected: object) -> RewardFunctionScore:
        """Score a query. `expected` is the answer of the row as JSON, decoded or not."""
        reference = read_reference(reference_text(expected, "the answer"))
        try:
            return self._compared(format_score, content, reference)
        except RuntimeMissing as fault:
            return unscored(format_score, str(fault), missing="sql")

    def _compared(self, form: float, query: str, reference: SqlReference) -> RewardFunctionScore:
        """Compare rows with those of the gold. Raises `BadReference`, `RuntimeMissing`."""
        if not query.strip():
            return RewardFunctionScore(form, 0.0, "the answer holds no query")
        timeout = reference.limits.timeout
        limits = Limits(
            timeout_s=timeout * time_factor() if timeout else self.timeout,
            memory_bytes=int(reference.limits.memory_mb * 2**20) or MEMORY_BYTES,
            output_chars=RESULT_BYTES,
            seed=0,
        )
        query = as_run(query, reference.compare)
        for database in reference.databases:
            try:
                result = sql_guest().select(query, image_of(database), limits, _NOW_NS)
            except SqlError as error:
                details = {} if error.status == "error" else {"limit": error.status}
                return RewardFunctionScore(form, 0.0, error.reason, details=details)
            if not any(
                same_results(
                    _gold(database, as_run(gold, reference.compare), limits),
                    *(result, gold, reference.compare, reference.tolerance),
                )
                for gold in reference.queries
            ):
                rows = f"{len(result.rows)} rows of {len(result.columns)} columns"
                reason = f"the result is not that of the gold query ({rows})"
                return RewardFunctionScore(form, 0.0, reason)
        return RewardFunctionScore(form, 1.0, status="passed")


@lru_cache(maxsize=_GOLDS)
def _gold(database: str, query: str, limits: Limits) -> ResultSet:
    """Return the rows of a gold query. Raises `BadReference`, `RuntimeMissing`."""
    try:
        return sql_guest().select(query, image_of(database), limits, _NOW_NS)
    except SqlError as error:
        raise BadReference(f"the gold query fails: {error.reason}") from None


def read_query(output: str, answer_tag: str = ANSWER_TAG) -> tuple[float, str]:
    """Return the format score and the query of a completion, "" if it has none."""
    tags = tag_matches(output, answer_tag)
    if tags:
        queries = _fenced(tags[-1].content, (*_FENCES, ""))
        return format_of(tags), queries[-1] if queries else tags[-1].content
    queries = _fenced(split_thinking(output)[0], _FENCES)
    return (0.5, queries[-1]) if queries else (0.0, "")


def _fenced(text: str, languages: Collection[str]) -> list[str]:
    return [block.code for block in code_blocks(text) if block.language in languages]
