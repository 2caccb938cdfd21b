"""Near-duplicates: MinHash with locality-sensitive hashing proposes pairs, exact checks decide.

Two rows are equal if their prompts have the same tokens (see `tokens`), and their `type` and
`language` are the same. A label such as "Problem 3:" or "(variant 17)" is not compared. They are
near-duplicates if `type` and `language` are the same and

- the Jaccard similarity of their words and word bigrams reaches a threshold,
- their answers are the same: of a worked solution, what is behind its `####`,
- they have the same numbers, signs and distinctive words ("not", "least"), in the same order unless
  whole clauses have moved, and the same literals, in double quotes or capitals,
- unless the answer identifies the task, all their clauses are the same except fillers ("the",
  "given") and idle clauses ("Think step by step"): a cow is not a hen. An answer does not identify
  the task if it is missing, says as little as "yes" or "B", belongs to an instruction (which says
  how to answer, not what), or is short while the prompt is short.

They are also near-duplicates if their worked responses, their answers and the numbers, signs and
distinctive words of their prompts are the same, however the prompts are worded.

So tasks from one template with other numbers are different tasks; `numbers="ignore"` drops all of
these conditions but the first, `loose` all but the numbers and signs. MinHash (Broder 1997; Indyk
and Motwani 1998) only proposes pairs: the similarity of a pair is computed from its shingles. A
long text is compared by a sample of 1,024 of them (the smallest hashes: bottom-k sampling), so
memory per row is bounded.
"""

from __future__ import annotations

import mmap
import tempfile
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ..errors import UsageError, import_extra
from ..parsing.word_tables import WordTables
from .rows import Row, number_of
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
_BLOCK = 1_024  # signatures that are written at once


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
    on_compared: Callable[[int], None] = lambda _: None,
) -> list[Duplicate]:
    """The rows to remove so that no two of the others are duplicates.

    Of a group of duplicates the first row is kept, or the one with the highest finite number in the
    column `best`. Each removed row is a duplicate of the kept row that is named with it. `columns`
    are compared instead of the prompt. Near-duplicates have a similarity of at least `threshold`; 1
    removes exact duplicates only. With `loose`, near-duplicates may have other words and answers,
    with `numbers` "ignore" also other numbers. A row takes about 0.1 kB of memory, however long it
    is, a removed one 0.3 kB more, and up to 9 kB of disk, 0.2 kB of which are mapped. After all
    rows are read, `on_compared` gets the number of those that are compared.

    Raises:
        UsageError: a row has no such column, or no number in `best`.
    """
    sketches, ids = Sketches(threshold), SpillFile()
    answers, scores = array("Q"), array("d")
    for number, row in enumerate(rows, 1):
        sketches.add(sketch(row, columns, numbers, loose=loose))
        ids.put(str(row.get("id") or "").encode("utf-8", "surrogatepass"))
        answers.append(hash_of(answer_tokens(row)))
        scores.append(number_of(row, best, f"row {number}") if best else 0.0)
    removed = []
    index = Index(sketches, np.argsort(-np.array(scores), kind="stable"))
    for number, (at, matches) in enumerate(index, 1):
        on_compared(number)
        if not matches:
            index.add()
            continue
        of = matches[0]
        id_, of_id = (ids.piece(n).decode("utf-8", "surrogatepass") for n in (at, of.index))
        disputed = answers[at] != answers[of.index]
        pair = at + 1, id_, of.index + 1, of_id
        removed.append(Duplicate(*pair, of.similarity, of.exact, disputed))
    return sorted(removed, key=lambda duplicate: duplicate.row)


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
    if not all_tokens:  # rows without a prompt repeat each other if all else is equal
        all_tokens = [str(row.get("answer")), str(row.get("response"))]
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


class Sketches(SpillFile):
    """Sketches on disk, and their MinHash signatures; in memory only three hashes of each.

    A similarity of at least `threshold`, from above 0 to 1, is near; at 1, tokens must agree.

    Raises:
        UsageError: the threshold is out of its range, or rensa is not installed.
    """

    def __init__(self, threshold: float = THRESHOLD) -> None:
        if not 0 < threshold <= 1:
            raise UsageError(f"a threshold is above 0 and at most 1, not {threshold}")
        super().__init__()
        self.threshold = threshold
        self._rensa = (
            import_extra("rensa", "near-duplicates need", "data") if threshold < 1 else None
        )
        shape = next(shape for least, shape in _BANDS if threshold >= least)
        self.bands = Bands([_STRICT_BANDS, shape])
        self.exact, self.worked, self.near = array("Q"), array("Q"), array("Q")

    def add(self, sketch: Sketch) -> None:
        """Append the sketch of a row."""
        head = np.array([sketch.exact, sketch.order, sketch.moved, sketch.worked], dtype=np.uint64)
        self.put(head.tobytes() + sketch.shingles.tobytes())
        near = sketch.exact ^ int(sketch.shingles[0]) if sketch.shingles.size else 0
        self.exact.append(sketch.exact)
        self.worked.append(sketch.worked)
        self.near.append(near)
        if self._rensa:
            minhash = self._rensa.RMinHash(_HASHES, seed=1)
            data = sketch.shingles.astype("<u8").tobytes()
            minhash.update([data[at : at + 8] for at in range(0, len(data), 8)])
            self.bands.add(minhash.digest())

    def __getitem__(self, index: int) -> Sketch:
        values = np.frombuffer(self.piece(index), dtype=np.uint64)
        exact, order, moved, worked = values[:4].tolist()
        return Sketch(exact, order, moved, values[4:], worked)


class Index:
    """Rows by what they ask for: an iterator over all of them, in an order, each with its
    duplicates among the earlier ones that were added. Rows are counted from 0.

    All rows are known before the first is compared. So tables are made by sorting, a column after
    the other, and kept as flat arrays: about 0.1 kB a row, where dictionaries and hash tables that
    grow row by row took 0.9 kB.
    """

    def __init__(self, sketches: Sketches, order: npt.NDArray[np.int_] | None = None) -> None:
        self._sketches = sketches
        self._order = np.arange(len(sketches)) if order is None else order
        self._exact, self._worked = _First(sketches.exact), _First(sketches.worked)
        self._near = _First(sketches.near)
        self._bands = sketches.bands if sketches.threshold < 1 else None
        self._at = -1

    def __iter__(self) -> Iterator[tuple[int, list[Match]]]:
        """Each row and its duplicates, the most similar first; of equal ones the earlier."""
        if self._bands and len(self._order):
            self._bands.link(self._order)
        for at, row in enumerate(self._order.tolist()):
            self._at = at
            yield row, self._matches(row)

    def add(self) -> None:
        """Let the rows after this one be compared with it."""
        row = int(self._order[self._at])
        self._exact.add(row)
        if self._sketches.worked[row]:
            self._worked.add(row)
        # Without words there is nothing to compare, and copies would only crowd the others out.
        if self._bands and self._sketches.near[row] and self._near.get(row) is None:
            self._near.add(row)
            self._bands.take(self._at)

    def _matches(self, row: int) -> list[Match]:
        near: list[Match] = []
        if self._bands:
            alike = self._bands.alike(self._at, _CANDIDATES)
            if alike and self._sketches.near[row]:
                near = self._compared(row, self._order[alike].tolist())
            if (worked := self._worked.get(row)) is not None:
                near = [Match(worked, 1.0, False), *(one for one in near if one.index != worked)]
        near.sort(key=lambda match: (-match.similarity, match.index))
        index = self._exact.get(row)
        if index is None:
            return near
        return [Match(index, 1.0, True), *(match for match in near if match.index != index)]

    def _compared(self, row: int, others: list[int]) -> list[Match]:
        sketch = self._sketches[row]
        return [
            Match(other, similarity, False)
            for other in others
            if (similarity := _similarity(sketch, self._sketches[other]))
            >= self._sketches.threshold
        ]


class _First:
    """Of the rows with the same key, the one that was added first: 8 bytes a row."""

    def __init__(self, keys: Sequence[int]) -> None:
        different, groups = np.unique(np.array(keys, dtype=np.uint64), return_inverse=True)
        self._groups = groups.astype(np.int32)
        self._rows = np.full(len(different), -1, dtype=np.int32)

    def get(self, row: int) -> int | None:
        first = int(self._rows[self._groups[row]])
        return first if first >= 0 else None

    def add(self, row: int) -> None:
        if self.get(row) is None:
            self._rows[self._groups[row]] = row


class Bands:
    """MinHash signatures by their bands (LSH).

    Signatures that agree in one band, a few neighbouring hashes, are proposed. `shape` lists one or
    more ways to read a signature, each as (number of bands, hashes per band); if there are too many
    proposals, those of the first way come first.

    All signatures are added, then put in an order and linked: each, in each band, with the one
    before it that agrees there. Then they are asked one by one. Links are 4 bytes a band, in a
    mapped file: most signatures share no band and ask for none.
    """

    def __init__(self, shape: Sequence[tuple[int, int]]) -> None:
        self._shape = shape
        self._count = sum(bands for bands, _ in shape)
        ends = np.cumsum([bands for bands, _ in shape])[:-1]
        self._ways = np.split(np.arange(self._count), ends)
        self._signatures: list[Sequence[int]] = []  # not yet on disk
        self._tags = SpillFile()  # a piece for each band of each block

    def add(self, signature: Sequence[int]) -> None:
        """Add a signature."""
        self._signatures.append(signature)
        if len(self._signatures) == _BLOCK:
            self._spill()

    def link(self, order: npt.NDArray[np.int_]) -> None:
        """Put all signatures in an order, a list of their numbers: their positions count."""
        self._spill()
        self._taken, self._linked = np.zeros((2, len(order)), dtype=bool)
        positions = np.arange(len(order), dtype=np.uint64)
        with tempfile.TemporaryFile() as file:
            for band in range(self._count):
                pieces = range(band, len(self._tags), self._count)
                tags = np.concatenate(
                    [np.zeros(0, np.uint32)]
                    + [np.frombuffer(self._tags.piece(at), np.uint32) for at in pieces]
                )
                keys = tags[order].astype(np.uint64) << np.uint64(32) | positions
                keys.sort()  # one array of numbers: several times as fast as a stable argsort
                by_tag, sorted_tags = keys.astype(np.uint32), keys >> np.uint64(32)
                follows = sorted_tags[1:] == sorted_tags[:-1]
                before = np.full(len(order), -1, dtype=np.int32)
                before[by_tag[1:][follows]] = by_tag[:-1][follows]
                self._linked |= before >= 0
                file.write(before.tobytes())
            file.flush()
            # The system takes the pages of a mapped file back when memory is short. No page is a
            # hole, so that a full disk is an error above, and no signal later.
            links = np.frombuffer(mmap.mmap(file.fileno(), 0), dtype=np.int32)
        self._before = links.reshape(self._count, -1)

    def alike(self, position: int, most: int) -> list[int]:
        """The positions of at most `most` signatures before this one that share a band with it and
        were taken, the latest first. It is to be called for each position, in order.
        """
        if not self._linked[position]:
            return []
        before = self._before[:, position]
        (bands,) = np.nonzero(before >= 0)
        # Those that were not taken are passed over once: what follows need not walk along them.
        passed = bands[~self._taken[before[bands]]]
        before[passed] = self._before[passed, before[passed]]
        candidates: dict[int, None] = {}
        for bands in self._ways:
            at = before[bands]
            while len(candidates) < most:
                bands, at = bands[at >= 0], at[at >= 0]
                if not at.size:
                    break
                candidates.update(dict.fromkeys(sorted(at.tolist(), reverse=True)))
                at = self._before[bands, at]
        return list(candidates)[:most]

    def take(self, position: int) -> None:
        """Propose the signature at this position to those that follow."""
        self._taken[position] = True

    def _spill(self) -> None:
        """Write the tags of the signatures, a hash of each band, to disk."""
        signatures = np.array(self._signatures, dtype=np.uint64)
        self._signatures.clear()
        if not len(signatures):
            return
        for way, (bands, size) in enumerate(self._shape):
            parts = signatures[:, : bands * size].reshape(-1, bands, size)
            tags = (parts + np.uint64(way + 1)) @ _FACTORS[:size]  # wraps around, as it should
            tags = ((tags ^ (tags >> np.uint64(29))) >> np.uint64(8)).astype(np.uint32)
            for band in range(bands):
                self._tags.put(tags[:, band].tobytes())


def _similarity(one: Sketch, other: Sketch) -> float:
    """Jaccard similarity of the shingles; 0 if numbers have changed places within a clause."""
    if one.order != other.order and one.moved != other.moved:
        return 0.0
    union = np.union1d(one.shingles, other.shingles)[:_SAMPLE]
    shared = np.intersect1d(one.shingles, other.shingles, assume_unique=True)
    return int(np.count_nonzero(shared <= union[-1])) / len(union)
