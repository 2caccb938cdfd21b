"""Near-duplicates: MinHash with locality-sensitive hashing proposes pairs, exact checks decide.

Two rows are equal if their prompts have the same tokens (see `tokens`), and their `type` and
`language` are the same. A label such as "Problem 3:" or "(variant 17)" is not compared. They are
near-duplicates if `type` and `language` are the same and

- the Jaccard similarity of their words and word bigrams reaches a threshold,
- their answers are the same: of a worked solution, what is behind its `####`,
- they have the same numbers, signs and telling words ("not", "least"), in the same order unless
  whole clauses have moved, and the same literals, in double quotes or capitals,
- if no answer vouches that they are the same task, all their clauses are the same but for
  fillers ("the", "given") and idle clauses ("Think step by step"). A cow is no hen. An answer does
  not vouch if it is missing or says as little as "yes" or "B", if it is an instruction's, which
  says how to answer and not what, or if it is short and the prompt is short, too.

They are near-duplicates, too, if their worked responses, their answers and the numbers, signs and
telling words of their prompts are the same, however the prompts are worded.

So tasks from one template with other numbers are different tasks; `numbers="ignore"` drops all of
these conditions but the first, `loose` all but the numbers and signs. MinHash (Broder 1997; Indyk
and Motwani 1998) only proposes pairs: the similarity of a pair is computed from its shingles. A
long text is compared by a sample of 1,024 of them (the smallest hashes: bottom-k sampling), so
memory per row is bounded.
"""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import UsageError, import_extra
from ..parsing.word_tables import WordTables
from .rows import Row, Source, number_of, read
from .spill import SpillFile
from .tokens import BREAK, Hashes, clauses, flat_text, hash_of, hashes, literals, text_of, tokens

Numbers: TypeAlias = Literal["exact", "ignore"]
Signature: TypeAlias = "npt.NDArray[np.uint32]"

THRESHOLD = 0.6
_SAMPLE = 1_024  # shingles of a row that are kept
_SHORT_PROMPT = 20  # words: in a shorter one, any other word may make another task
_SHORT_ANSWER = 40  # characters: longer ones, such as tests, are not the same by chance
_TABLES = WordTables(__file__)
_FILLERS, _IDLE, _TELLING = map(_TABLES.words, ("fillers", "idle", "telling"))
_LABEL = _TABLES.pattern("label")
# Of b bands of r hashes, a pair of similarity s shares one with a chance of 1 - (1 - s^r)^b: 99.6 %
# at 0.6 for 40 bands of 4, 99.4 % at 0.45 for 53 of 3. Strict bands list the most similar first.
_HASHES = 160
_BANDS = ((THRESHOLD, (40, 4)), (0.45, (53, 3)), (0.0, (80, 2)))
_STRICT_BANDS = (10, 16)
_CANDIDATES = 100  # compared for one row
_PAIR_FACTOR, _SALT_FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xFF51AFD7ED558CCD)
_FACTORS = np.random.default_rng(1).integers(1 << 63, size=64, dtype=np.uint64) * np.uint64(2)
_FACTORS += np.uint64(1)
_FIRST_SLOTS = 1_024
_FULL = 2  # rows per slot at which the number of slots doubles


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A row to remove, and the row that is kept in its place. Rows are counted from 1.

    `disputed`: their answers are not written alike, so one of them may be wrong.
    """

    row: int
    id: str
    of_row: int
    of_id: str
    similarity: float
    exact: bool
    disputed: bool = False


def duplicates(
    rows: Iterable[Mapping[str, Any]],
    columns: Sequence[str] = (),
    *,
    threshold: float = THRESHOLD,
    numbers: Numbers = "exact",
    loose: bool = False,
    best: str = "",
) -> list[Duplicate]:
    """The rows to remove so that no two of the others are duplicates.

    Of a group of duplicates the first row is kept, or the one with the highest finite number in the
    column `best`. Each removed row is a duplicate of the kept row that is named with it. `columns`
    are compared instead of the prompt. Near-duplicates have a similarity of at least `threshold`; 1
    removes exact duplicates only. With `loose`, near-duplicates may have other words and answers,
    with `numbers` "ignore" also other numbers. A row takes about 1 kB of memory, however long it
    is, and up to 8 kB of disk.

    Raises:
        UsageError: a row has no such column, or no number in `best`.
    """
    index = Index(threshold)
    sketches, ids = _SketchList(), list[str]()
    answers, scores = array("Q"), array("d")
    for number, row in enumerate(rows, 1):
        sketches.add(sketch(row, columns, numbers, loose=loose))
        ids.append(str(row.get("id") or ""))
        answers.append(hash_of(answer_tokens(row)))
        scores.append(number_of(row, best, f"row {number}") if best else 0.0)
    removed = []
    for row_index in sorted(range(len(sketches)), key=lambda at: -scores[at]):
        one = sketches[row_index]
        matches = index.matches(one)
        if not matches:
            index.add(one, row_index)
            continue
        of = matches[0]
        pair = row_index + 1, ids[row_index], of.index + 1, ids[of.index]
        disputed = answers[row_index] != answers[of.index]
        removed.append(Duplicate(*pair, of.similarity, of.exact, disputed))
    return sorted(removed, key=lambda duplicate: duplicate.row)


def dedup(source: Source, columns: Sequence[str] = (), **options: Any) -> Iterator[Row]:
    """The rows that are kept, in their order; `options` are those of `duplicates`.

    The source is read twice. An iterator is copied into memory for that: pass a file if it is long.
    """
    if isinstance(source, Iterator):
        source = list(source)
    return without(read(source), duplicates(read(source), columns, **options))


def without(rows: Iterable[Row], removed: Iterable[Duplicate]) -> Iterator[Row]:
    """The rows that `duplicates` does not list."""
    numbers = {duplicate.row for duplicate in removed}
    return (row for number, row in enumerate(rows, 1) if number not in numbers)


# --- what a row is compared by -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sketch:
    """Hashes of a row's text, of the order of its numbers, of its clauses; its sorted shingles; a
    hash of its worked response and answer, or 0 if they are no evidence."""

    exact: int
    order: int
    moved: int
    shingles: Hashes
    worked: int = 0


def sketch(
    row: Mapping[str, Any],
    columns: Sequence[str] = (),
    numbers: Numbers = "exact",
    *,
    loose: bool = False,
) -> Sketch:
    """The sketch of a row's prompt, or of the named columns.

    With `loose`, of all conditions on near-duplicates only that on numbers and signs is left, and
    their order is ignored: for uses in which a false match costs little.

    Raises:
        UsageError: the row has none of these columns.
    """
    text = _LABEL.sub(" ", text_of(row, columns))
    parts = clauses(text)
    all_tokens = [token for token in parts if token != BREAK]
    kind = f"{row.get('type') or ''}\0{row.get('language') or ''}"
    exact = hash_of("\0".join((kind, *all_tokens)))
    by_clause: list[list[str]] = [[]]
    for token in parts:
        if token in (BREAK, "and"):
            by_clause.append([])
        else:
            by_clause[-1].append(token)
    by_clause = [clause for clause in by_clause if not _IDLE.issuperset(clause)]
    words = [token for clause in by_clause for token in clause if token.isalpha()]
    # Salted shingles can only be shared by rows that agree in all of the salt.
    if numbers == "ignore":
        return Sketch(exact, 0, 0, _shingles(words, kind))
    marks = [token for token in all_tokens if _is_mark(token)]
    answer, response = answer_tokens(row), "\0".join(tokens(flat_text(row.get("response"))))
    worked = 0
    if answer and len(response) > _SHORT_ANSWER and not columns:
        worked = hash_of("\0".join((kind, answer, "", response, "", *sorted(marks))))
    if loose:
        signs = sorted(mark for mark in marks if not mark.isalpha())
        return Sketch(exact, 0, 0, _shingles(words, "\0".join((kind, *signs))), worked)
    content: list[str] = []
    # Rows that have the same telling answer, and are alike, are the same task.
    vouches = row.get("type") != "instruction" and any(map(str.isdigit, answer))
    if not vouches or (len(words) < _SHORT_PROMPT and len(answer) <= _SHORT_ANSWER):
        content = _sorted([word for word in clause if word not in _FILLERS] for clause in by_clause)
    salt = "\0".join((kind, answer, *sorted(marks), "", *literals(text), "", *content))
    moved = _sorted(clause for clause in by_clause if any(map(_is_mark, clause)))
    order = hash_of("\0".join(marks))
    return Sketch(exact, order, hash_of("\n".join(moved)), _shingles(words, salt), worked)


def answer_tokens(row: Mapping[str, Any]) -> str:
    """The tokens of a row's answer, joined; of a worked solution, those behind its `####`."""
    answer = row.get("answer")
    text = answer if isinstance(answer, str) else "" if answer is None else str(answer)
    return "\0".join(tokens(text.rpartition("####")[2]))


def _shingles(words: list[str], salt: str) -> Hashes:
    """Words and bigrams as sorted hashes; the smallest ones of a long text."""
    ones = hashes(words)
    pairs = ones[:-1] * _PAIR_FACTOR + ones[1:]  # wraps around, as it should
    salted = (np.concatenate([ones, pairs]) ^ np.uint64(hash_of(salt))) * _SALT_FACTOR
    sample: Hashes = np.unique(salted)[:_SAMPLE].copy()
    return sample


def _sorted(by_clause: Iterable[list[str]]) -> list[str]:
    """The clauses as texts, in an order that does not depend on theirs."""
    return sorted("\0".join(clause) for clause in by_clause if clause)


def _is_mark(token: str) -> bool:
    if token.isalpha():
        return token in _TELLING
    return not unicodedata.category(token[0]).startswith("M")  # an accent is a part of a word


# --- the index -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Match:
    """An earlier row and its Jaccard similarity; 1.0 and `exact` if the tokens are the same, 1.0 if
    the worked response and the answer are."""

    index: int
    similarity: float
    exact: bool


class Index:
    """Rows by what they ask for. `matches` finds the duplicates among those that were added.

    A similarity of at least `threshold`, from above 0 to 1, is near; at 1, tokens must agree.

    Raises:
        UsageError: the threshold is out of its range, or rensa is not installed.
    """

    def __init__(self, threshold: float = THRESHOLD) -> None:
        if not 0 < threshold <= 1:
            raise UsageError(f"a threshold is above 0 and at most 1, not {threshold}")
        self._threshold = threshold
        self._rensa = (
            import_extra("rensa", "near-duplicates need", "data") if threshold < 1 else None
        )
        self._exact: dict[int, int] = {}
        self._worked: dict[int, int] = {}
        self._seen: set[int] = set()
        shape = next(shape for least, shape in _BANDS if threshold >= least)
        self._bands = Bands([_STRICT_BANDS, shape])
        self._near, self._indices = _SketchList(), array("Q")  # of the rows in the bands
        self._recent: tuple[Sketch, Signature] | None = None

    def matches(self, sketch: Sketch) -> list[Match]:
        """The duplicates, the most similar first; of equally similar ones the earlier."""
        numbers = []
        if self._rensa and sketch.shingles.size:
            numbers = self._bands.alike(self._tags(sketch), _CANDIDATES)
        near = [
            Match(self._indices[number], similarity, False)
            for number in numbers
            if (similarity := _similarity(sketch, self._near[number])) >= self._threshold
        ]
        if self._rensa and (worked := self._worked.get(sketch.worked)) is not None:
            near = [Match(worked, 1.0, False), *(match for match in near if match.index != worked)]
        near.sort(key=lambda match: (-match.similarity, match.index))
        index = self._exact.get(sketch.exact)
        if index is None:
            return near
        return [Match(index, 1.0, True), *(match for match in near if match.index != index)]

    def add(self, sketch: Sketch, index: int) -> None:
        """Add a row under an index of the caller's."""
        self._exact.setdefault(sketch.exact, index)
        if sketch.worked:
            self._worked.setdefault(sketch.worked, index)
        if not self._rensa or not sketch.shingles.size:
            return
        key = sketch.exact ^ int(sketch.shingles[0])
        if key not in self._seen:  # copies would only crowd the others out
            self._seen.add(key)
            self._bands.add(self._tags(sketch))
            self._near.add(sketch)
            self._indices.append(index)

    def _tags(self, sketch: Sketch) -> Signature:
        if self._recent and self._recent[0] is sketch:
            return self._recent[1]
        assert self._rensa
        minhash = self._rensa.RMinHash(_HASHES, seed=1)
        data = sketch.shingles.astype("<u8").tobytes()
        minhash.update([data[at : at + 8] for at in range(0, len(data), 8)])
        tags = self._bands.tags(np.array(minhash.digest(), dtype=np.uint32))
        self._recent = sketch, tags
        return tags


class Bands:
    """MinHash signatures by their bands (LSH), numbered from 0 in the order of addition.

    Signatures that agree in one band, a few neighbouring hashes, are proposed. `shape` lists one or
    more ways to read a signature, each as (number of bands, hashes per band); if there are too many
    proposals, those of the first way come first. Flat arrays take 10 to 12 bytes a band, where
    tables of objects take a hundred: for each band, the last row of each slot, and for each row and
    band the row before it in its slot.
    """

    def __init__(self, shape: Sequence[tuple[int, int]]) -> None:
        self._shape = shape
        self._count = sum(bands for bands, _ in shape)
        ends = np.cumsum([bands for bands, _ in shape])[:-1]
        self._ways = np.split(np.arange(self._count), ends)
        self._tags, self._before = array("I"), array("i")
        self._last = np.full((self._count, _FIRST_SLOTS), -1, dtype=np.int32)

    def __len__(self) -> int:
        return len(self._tags) // self._count

    def tags(self, signature: Signature) -> Signature:
        """A hash of each band of a signature: the argument of `add` and `alike`."""
        by_way = []
        for way, (bands, size) in enumerate(self._shape):
            parts = signature[: bands * size].reshape(bands, size).astype(np.uint64)
            tags = (parts + np.uint64(way + 1)) @ _FACTORS[:size]  # wraps around, as it should
            by_way.append(((tags ^ (tags >> np.uint64(29))) >> np.uint64(8)).astype(np.uint32))
        return np.concatenate(by_way)

    def add(self, tags: Signature) -> None:
        """Add a signature, by its tags, under the next number."""
        number = len(self)
        if number >= _FULL * self._last.shape[1]:
            self._grow()
        at = np.arange(self._count), tags % self._last.shape[1]
        self._before.frombytes(self._last[at].tobytes())
        self._tags.frombytes(tags.tobytes())
        self._last[at] = number

    def alike(self, tags: Signature, most: int) -> list[int]:
        """The numbers of at most `most` signatures that share a band, the latest first."""
        numbers: dict[int, None] = {}
        all_tags, before = self._tables()
        for bands in self._ways:
            rows = self._last[bands, tags[bands] % self._last.shape[1]]
            while len(numbers) < most:
                bands, rows = bands[rows >= 0], rows[rows >= 0]
                if not rows.size:
                    break
                same = rows[all_tags[rows, bands] == tags[bands]]
                numbers.update(dict.fromkeys(sorted(same.tolist(), reverse=True)))
                rows = before[rows, bands]
        return list(numbers)[:most]

    def _tables(self) -> tuple[Any, Any]:
        """The tags and predecessors, a row for each signature and a column for each band."""
        parts = ((self._tags, np.uint32), (self._before, np.int32))
        tags, before = (np.frombuffer(*part).reshape(-1, self._count) for part in parts)
        return tags, before

    def _grow(self) -> None:
        slots = 2 * self._last.shape[1]
        self._last = np.full((self._count, slots), -1, dtype=np.int32)
        all_tags, before = self._tables()
        for band in range(self._count):  # one by one, for the sake of memory
            at = all_tags[:, band] % slots
            order = np.argsort(at, kind="stable")
            follows = at[order][1:] == at[order][:-1]
            before[order, band] = np.concatenate([[-1], np.where(follows, order[:-1], -1)])
            self._last[band, at[order]] = order  # of equal slots, the last one stays


class _SketchList(SpillFile):
    """Sketches on disk."""

    def add(self, sketch: Sketch) -> None:
        head = np.array([sketch.exact, sketch.order, sketch.moved, sketch.worked], dtype=np.uint64)
        self.put(head.tobytes() + sketch.shingles.tobytes())

    def __getitem__(self, index: int) -> Sketch:
        values = np.frombuffer(self.piece(index), dtype=np.uint64)
        exact, order, moved, worked = values[:4].tolist()
        return Sketch(exact, order, moved, values[4:], worked)


def _similarity(one: Sketch, other: Sketch) -> float:
    """Jaccard similarity of the shingles; 0 if numbers have changed places within a clause."""
    if one.order != other.order and one.moved != other.moved:
        return 0.0
    union = np.union1d(one.shingles, other.shingles)[:_SAMPLE]
    shared = np.intersect1d(one.shingles, other.shingles, assume_unique=True)
    return int(np.count_nonzero(shared <= union[-1])) / len(union)
