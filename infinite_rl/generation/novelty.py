"""Novelty: whether a task repeats an earlier one, in other words, or with other names and numbers.

Unlike in `dataset/dedup.py`, which finds copies, a task with other numbers is the same task. An
inverted index proposes earlier rows that share rare words, numbers, answers or structures; the
verdict on each pair is that of `sketches.py`. It sees words and structure, not meaning: of coding
rows in other words and with another algorithm, `Memory.suspects` lists those of the same types, for
`verification.cross_tests.same_function`.
"""

import json
import math
import threading
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, Literal

from ..dataset import MIN_DISTINCT
from ..dataset.tokens import hash_of
from ..types import Sample
from .sketches import Sketch, jaccard, log_odds, sketch_of_idea, sketch_of_row

__all__ = ["Distinct", "Memory", "Novelty", "Repeat", "Sketch", "distinct_tasks", "sketch"]

MIN_ROWS = 50  # fewer are not judged
_BUCKETS = 1 << 18  # of an index
_READ = 60_000  # entries of the index that one search reads, those of the rarest keys first
_COMPARED = 24  # rows that one search compares
_SETS, _HASHES = ("words", "literals", "givens", "results"), ("structure", "answer", "signature")
_SALTS = {name: hash_of(name) for name in (*_SETS, *_HASHES)}
_MANY, _LEAST = 0.6, 0.2  # of the best score: rows that share less are compared if few share more
_RECENT, _ADDED = 512, 64  # searches that are remembered, and rows since one that are compared
_SAME_PROMPT, _SAME_IDEA = 0.5, 0.8  # shares of equal words


def sketch(sample: Sample) -> Sketch:
    """The sketch of a sample. Pure, for any thread; hostile texts take no longer than others."""
    return sketch_of_row(vars(sample))


@dataclass(frozen=True)
class Repeat:
    """The row that is repeated, and what shows it: the "prompt", or else the "reference"."""

    id: str
    why: Literal["prompt", "reference"]


class Memory:
    """The tasks so far, at about 2 kB a row. For one thread; sketches may come from others.

    The verdict on two rows is symmetric, and depends on no other row. A search compares the 24 most
    similar rows of the same type and language.
    """

    def __init__(self) -> None:
        self._indices: dict[tuple[str, str], _Index] = {}
        self._ideas = _Index()

    def add(self, sketch: Sketch, id: str) -> None:
        """Remember a row."""
        self._indices.setdefault((sketch.family, sketch.language), _Index()).add(sketch, id)

    def find(self, sketch: Sketch) -> Repeat | None:
        """The row that this one repeats, of several the most similar; None if the task is new."""
        index = self._indices.get((sketch.family, sketch.language), _NONE)
        at = index.repeated(sketch, log_odds)
        if at is None:
            return None
        alike = jaccard(sketch.words, index.sketches[at].words) >= _SAME_PROMPT
        return Repeat(index.ids[at], "prompt" if alike else "reference")

    def suspects(self, sketch: Sketch, most: int = 8) -> list[str]:
        """Coding rows whose test cases have the same types, the most similar ones first."""
        index = self._indices.get((sketch.family, sketch.language), _NONE)
        return [index.ids[at] for at in index.of_signature(sketch)[:most]]

    def add_idea(self, text: str) -> None:
        """Remember an idea, one line."""
        self._ideas.add(_sketch_of_idea(text), text)

    def find_idea(self, text: str) -> str | None:
        """The idea that this one repeats, up to names, numbers and word order; None if it is new.

        Strict, since one word may make another task of an idea.
        """
        at = self._ideas.repeated(_sketch_of_idea(text), _same_idea)
        return None if at is None else self._ideas.ids[at]

    def near_ideas(self, text: str, most: int = 24) -> list[str]:
        """The ideas that share the rarest words with this one, the most similar first."""
        near = self._ideas.similar(_sketch_of_idea(text))[:most]
        return [self._ideas.ids[at] for at in near]


# An idea is compared when it is listed, screened and written out.
_sketch_of_idea = lru_cache(maxsize=1024)(sketch_of_idea)


def _same_idea(one: Sketch, other: Sketch, least: float) -> float:
    if one.decisive != other.decisive:
        return least
    alike = jaccard(one.words, other.words)
    return alike if alike >= _SAME_IDEA else least


# Of two rows; at most the number if it is no higher.
_Score = Callable[[Sketch, Sketch, float], float]


@dataclass(slots=True)
class _Search:
    """A search: what is similar among the first `count` rows, and which of them is repeated."""

    count: int
    similar: list[int]
    repeated: int | None = None


class _Index:
    """Rows of one type and language by their words and other keys."""

    def __init__(self) -> None:
        self.sketches: list[Sketch] = []
        self.ids: list[str] = []
        self._buckets: dict[int, array[int]] = {}
        # A row is compared when it is judged and when it is stored, an idea when it is listed,
        # screened and written out.
        self._recent: dict[Sketch, _Search] = {}
        self._scored: Any = None  # the last scores

    def add(self, sketch: Sketch, id: str) -> None:
        for key in _keys(sketch):
            self._buckets.setdefault(key, array("I")).append(len(self.ids))
        self.sketches.append(sketch)
        self.ids.append(id)

    def repeated(self, sketch: Sketch, score: _Score) -> int | None:
        """The number of the row with the highest score above 0; None if there is none.

        A sketch that was compared before is only compared with the rows added since.
        """
        search = self._recent.get(sketch)
        if search and search.repeated is not None:
            return search.repeated
        rows: Sequence[int] = range(search.count if search else 0, len(self.ids))
        if not search or len(rows) > _ADDED:
            search = self._recent[sketch] = _Search(len(self.ids), self._search(sketch))
            rows = search.similar
            if len(self._recent) > _RECENT:
                del self._recent[next(iter(self._recent))]
        best = 0.0
        for at in rows:
            if (value := score(sketch, self.sketches[at], best)) > best:
                best, search.repeated = value, at
        return search.repeated

    def similar(self, sketch: Sketch) -> list[int]:
        """The numbers of the rows that share the rarest keys, the most similar first."""
        search = self._recent.get(sketch)
        if search and search.count == len(self.ids):
            return search.similar
        return self._search(sketch)

    def _search(self, sketch: Sketch) -> list[int]:
        import numpy as np  # slow to import, and only needed here

        scores = self._scores(sketch)
        best = scores.max(initial=0.0)
        for share in (_MANY, _LEAST):
            rows = np.flatnonzero(scores >= max(best * share, 1e-9))
            if len(rows) > _COMPARED:
                rows = rows[np.argpartition(-scores[rows], _COMPARED)[:_COMPARED]]
                break
        return [int(at) for at in rows[np.lexsort((rows, -scores[rows]))]]

    def of_signature(self, sketch: Sketch) -> list[int]:
        """The numbers of the rows whose cases have the same types, the most similar first."""
        if not sketch.signature:
            return []
        scores = self._scores(sketch)
        bucket = self._buckets.get(_key("signature", sketch.signature), ())
        rows = [at for at in bucket if self.sketches[at].signature == sketch.signature]
        return sorted(rows, key=lambda at: (-scores[at], at))

    def _scores(self, sketch: Sketch) -> Any:
        """For each row the weight of the keys that it shares."""
        import numpy as np

        buckets = [bucket for key in _keys(sketch) if (bucket := self._buckets.get(key))]
        buckets.sort(key=len)
        sizes = accumulate(map(len, buckets))
        most = max(1, sum(total <= _READ for total in sizes))
        count = len(self.ids)
        if self._scored is None or len(self._scored) < count:  # else no new memory
            self._scored = np.empty(count * 5 // 4 + 1)
        scores = self._scored[:count]
        scores.fill(0)
        for bucket in buckets[:most]:
            weight = math.log(1 + count / len(bucket))
            np.add.at(scores, np.frombuffer(bucket, dtype=np.uint32), weight)
        return scores


_NONE = _Index()


def _keys(sketch: Sketch) -> list[int]:
    """The buckets of a row."""
    keys = {_key(name, value) for name in _HASHES if (value := getattr(sketch, name))}
    for name in _SETS:
        keys.update(_key(name, each) for each in memoryview(getattr(sketch, name)).cast("I"))
    return sorted(keys)


def _key(name: str, value: int) -> int:
    return (value ^ _SALTS[name]) % _BUCKETS


# --- at acceptance --------------------------------------------------------------------------------

# A sample is compared by the thread that judges it, and again when it is stored.
_sketch = lru_cache(maxsize=1024)(sketch)


class Novelty:
    """What all rows of a folder ask for, and the ideas written out; safe from many threads."""

    def __init__(self) -> None:
        self._memory, self._lock = Memory(), threading.Lock()
        self._programs: dict[str, bytes] = {}  # coding rows by id, compressed

    def repeat_of(self, sample: Sample) -> str:
        """Say which row the sample repeats, and in what; "" if it is new."""
        sketched = _sketch(sample)
        with self._lock:
            repeat = self._memory.find(sketched)
        return f"the same {repeat.why} as in row {repeat.id}" if repeat else ""

    def add(self, sample: Sample, row_id: str) -> None:
        """Remember a row."""
        sketched = _sketch(sample)
        with self._lock:
            self._memory.add(sketched, row_id)
            if sample.language:
                texts = json.dumps([sample.prompt, sample.answer, sample.response])
                self._programs[row_id] = zlib.compress(texts.encode())

    def suspects(self, sample: Sample) -> list[tuple[str, Sample]]:
        """Return the coding rows that may ask for the same function, with their ids.

        They have tests with the same types; their words and programs show no repeat.
        """
        sketched = _sketch(sample)
        with self._lock:
            ids = self._memory.suspects(sketched) if sample.language else []
            texts = [json.loads(zlib.decompress(self._programs[row_id])) for row_id in ids]
        kind, language = sample.type, sample.language
        rows = [
            Sample(kind, prompt, answer, response, language) for prompt, answer, response in texts
        ]
        return list(zip(ids, rows, strict=True))

    def knows_idea(self, text: str) -> bool:
        """Whether an idea repeats one that was added."""
        with self._lock:
            return self._memory.find_idea(text) is not None

    def near_ideas(self, text: str) -> list[str]:
        """The added ideas that are most similar to one by their words."""
        with self._lock:
            return self._memory.near_ideas(text)

    def add_idea(self, text: str) -> None:
        """Remember an idea that is written out."""
        with self._lock:
            self._memory.add_idea(text)


# --- the distinct tasks of a data set ------------------------------------------------------------


@dataclass(frozen=True)
class Distinct:
    """The number of rows, and of the rows of each distinct task, the largest first."""

    rows: int
    sizes: tuple[int, ...]

    @property
    def tasks(self) -> int:
        """The number of distinct tasks."""
        return len(self.sizes)

    @property
    def effective(self) -> float:
        """The effective number: exp of the entropy. n tasks of equal size count as n."""
        shares = [size / self.rows for size in self.sizes]
        return math.exp(-sum(share * math.log(share) for share in shares)) if shares else 0.0

    def collapsed(self, least: float = MIN_DISTINCT) -> bool:
        """Whether the share of distinct tasks is below `least`; never for fewer than 50 rows."""
        return self.rows >= MIN_ROWS and self.tasks < least * self.rows

    def __str__(self) -> str:
        tasks = "task" if self.tasks == 1 else "tasks"
        return f"{self.tasks} distinct {tasks} in {self.rows} {'row' if self.rows == 1 else 'rows'}"


def distinct_tasks(rows: Iterable[Mapping[str, Any]]) -> Distinct:
    """Count the distinct tasks of rows with the columns of a `dataset.csv`.

    A row that repeats an earlier one belongs to its task.
    """
    memory, sizes, total = Memory(), Counter[str](), 0
    for total, row in enumerate(rows, 1):
        one = sketch_of_row(row)
        repeat = memory.find(one)
        task = repeat.id if repeat else str(total)
        memory.add(one, task)
        sizes[task] += 1
    return Distinct(total, tuple(sorted(sizes.values(), reverse=True)))
