"""Pairs of a chosen and a rejected completion of one prompt, as preference training (DPO) reads.

A rejected completion is one that the reward of the chosen one's row has failed: what is unscored is
in no pair, and a text that was judged both ways is in none either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from ..errors import NoColumn, UsageError
from ..files.csv_log import read_rows
from ..settings import check_range
from ..store import DATASET, DATASET_COLUMNS, DATASET_LATER, FAILED, FAILED_COLUMNS, FAILED_LATER
from ..types import Slot
from . import rows
from .rows import Row
from .scoring import Judging, score_rows
from .spill import SpillList, to_json

_NEEDED = ("prompt", "status", "format_score", "correctness_score")


@dataclass
class Found:
    """What there was to pair: prompts, and how many of them have a pair."""

    prompts: int = 0
    paired: int = 0


def pairs(
    sources: Iterable[rows.Source],
    *,
    most: int = 1,
    seed: int = 0,
    completion: str = "",
    timeout: float = 5.0,
    found: Found | None = None,
) -> Iterator[Row]:
    """Pairs, at most `most` of a prompt; `seed` decides which.

    Their columns are prompt, chosen, rejected, chosen_score, rejected_score, type, id and source.

    A source is one of these:

    - the folder of a run: its accepted rows, and the attempts at the same task that failed before
      and are to the same prompt. They failed against a reference of their own, so they are judged
      again, against the accepted row's. The pair's `source` is "rectified" where the accepted row
      is a repair of that attempt, or "redrawn";
    - rows with several scored completions of a prompt, such as the attempts that `difficulty`
      keeps, or what `score` wrote: "samples". `completion` names their column, by default
      "completion", else "response". Completions that were cut off at the token limit are left out.

    Completions of a prompt are put together across the sources where type, language, prompt and
    answer are the same. Chosen are those that passed with the best score, rejected those that
    failed, and only where none did, those that passed with a worse score, that is in a worse form.
    A score is the mean of format and correctness. `found` is told what there was.

    Raises:
        UsageError: a row lacks a column, or `most` is less than 1.
        StoreError: a file is damaged.
    """
    check_range("most", most, 1)
    found = found or Found()
    shelf, groups = SpillList(), dict[bytes, list[int]]()
    for source in sources:
        for attempt in _attempts(source, completion, timeout):
            groups.setdefault(_key(attempt), []).append(shelf.add(attempt))
    found.prompts = len(groups)
    for key, numbers in groups.items():
        group = [shelf[number] for number in numbers]
        made = list(islice(_paired(group, Random(f"{seed}/{key.hex()}")), most))
        found.paired += bool(made)
        yield from made


def _key(attempt: Mapping[str, Any]) -> bytes:
    parts = [attempt[name] for name in ("type", "language", "prompt", "answer")]
    return blake2b(to_json(parts).encode("ascii"), digest_size=16).digest()


def _paired(group: Sequence[Row], random: Random) -> Iterator[Row]:
    """The pairs of one prompt, in an order in which completions come again as late as can be."""
    passed = {each["text"].strip(): each for each in group if each["status"] == "passed"}
    failed = {each["text"].strip(): each for each in group if each["status"] == "failed"}
    best = max((each["score"] for each in passed.values()), default=0.0)
    chosen = [each for text, each in passed.items() if each["score"] == best and text not in failed]
    worse = [each for each in passed.values() if each["score"] < best]
    rejected = [each for text, each in failed.items() if text not in passed] or worse
    rejected = [each for each in rejected if each["score"] < best]
    random.shuffle(chosen)
    random.shuffle(rejected)
    size = max(len(chosen), len(rejected))
    for shift in range(size):
        for first in range(len(chosen)):
            second = (first + shift) % size
            if second < len(rejected):
                yield _pair(chosen[first], rejected[second])


def _pair(chosen: Row, rejected: Row) -> Row:
    return {
        "prompt": chosen["prompt"],
        "chosen": chosen["text"],
        "rejected": rejected["text"],
        "chosen_score": chosen["score"],
        "rejected_score": rejected["score"],
        "type": chosen["type"],
        "id": chosen["id"],
        "source": rejected["source"],
    }


# --- attempts, from wherever ---------------------------------------------------------------------


def _attempts(source: rows.Source, completion: str, timeout: float) -> Iterator[Row]:
    """Every scored, whole completion of a source."""
    if isinstance(source, str | Path) and (Path(source) / DATASET).is_file():
        yield from _of_run(Path(source), timeout)
        return
    for number, row in enumerate(rows.read(source), 1):
        where = f"row {number} of {source}" if isinstance(source, str | Path) else f"row {number}"
        column = completion or ("completion" if "completion" in row else "response")
        for name in (*_NEEDED, column):
            if name not in row:
                lacks = NoColumn(name, row, where)
                raise UsageError(f"{lacks}; `infinite-rl score` gives rows their scores")
        if row.get("finish_reason") != "length":
            yield from _attempt(row, row[column], "samples", where)


def _attempt(row: Mapping[str, Any], text: object, source: str, where: str) -> Iterator[Row]:
    """A completion as it is put down, unless it has no verdict or nothing in it."""
    if row["status"] not in ("passed", "failed") or not isinstance(text, str) or not text.strip():
        return
    scores = ("format_score", "correctness_score")
    form, right = (rows.number_of(row, name, where) for name in scores)
    kept = {name: row.get(name) or "" for name in ("language", "prompt", "answer", "id")}
    kept["type"] = row.get("type") or row.get("reward") or ""  # foreign rows may have no type
    score = (form + right) / 2
    yield {**kept, "text": text, "status": row["status"], "score": score, "source": source}


def _of_run(folder: Path, timeout: float) -> Iterator[Row]:
    """The accepted rows of a run, and the attempts that failed before them, judged anew."""
    accepted, shelf = folder / DATASET, SpillList()
    places: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for number, row in enumerate(read_rows(accepted, DATASET_COLUMNS, DATASET_LATER), 1):
        yield from _attempt(row, row["response"], "", f"row {number} of {accepted}")
        places[_place(row)].append(shelf.add(row))
    if (folder / FAILED).is_file():
        failed = (
            answer
            for failure in read_rows(folder / FAILED, FAILED_COLUMNS, FAILED_LATER)
            for answer in _answers(failure, map(shelf.__getitem__, places.get(_place(failure), ())))
        )
        for row in score_rows(failed, Judging("completion", timeout=timeout)):
            yield from _attempt(row, row["completion"], row["source"], "a failed attempt")


def _answers(failure: Mapping[str, str], accepted: Iterable[Row]) -> Iterator[Row]:
    """What failed as a completion of those accepted rows that have the same prompt."""
    for row in accepted if failure["response"].strip() else ():
        if failure["prompt"].split() == row["prompt"].split():
            mended = Slot.parse(failure["slot"]).draft == Slot.parse(row["slot"]).draft
            source = "rectified" if mended else "redrawn"
            yield {**row, "completion": failure["response"], "source": source}


def _place(row: Mapping[str, str]) -> tuple[str, int]:
    """The sample that a row is an attempt at: all of these are of one type and language."""
    slot = Slot.parse(row["slot"])
    return slot.family, slot.index
