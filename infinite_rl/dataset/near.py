"""Which rows ask for the same: equal ones, and near-duplicates by MinHash and exact checks.

Two rows are equal when their prompts have the same tokens (see `words`), and their `type` and
`language` are the same. They are near when, besides,

- the Jaccard similarity of their words and pairs of neighbouring words reaches a threshold,
- their answers are the same: of a worked solution, what is behind its `####`,
- they have the same numbers, signs and telling words ("not", "least"), in the same order unless
  whole clauses have moved, and the same literals, in double quotes or capitals,
- where no answer vouches that they are the same task, all their clauses are the same but for
  fillers ("the", "given") and idle clauses ("Think step by step"). A cow is no hen. An answer does
  not vouch if it is missing or says as little as "yes" or "B", if it is an instruction's, which
  says how to answer and not what, or if it is short and the prompt is so, too.

So tasks from one template with other numbers are different tasks; `numbers="ignore"` drops all of
these conditions but the first, `loose` all but the numbers and signs. MinHash with
locality-sensitive hashing (Broder 1997; Indyk and Motwani 1998) only proposes pairs: what is said
of a pair is computed from its shingles. A long text is judged by a sample of 1,024 of them (the
smallest hashes: bottom-k sampling), so a row takes bounded memory.
"""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ..errors import UsageError
from .bands import Bands, Signature
from .shelf import Pieces
from .words import BREAK, Hashes, clauses, hash_of, hashes, literals, text_of, tokens

Numbers: TypeAlias = Literal["exact", "ignore"]

THRESHOLD = 0.6
_SAMPLE = 1_024  # shingles of a row that are kept
_SHORT_PROMPT = 20  # words: in a shorter one, any other word may make another task
_SHORT_ANSWER = 40  # characters: longer ones, such as tests, are not the same by chance
_FILLER_WORDS = "a an the this that these those of in for is are be and given"
_FILLERS = frozenset(_FILLER_WORDS.split())
_IDLE_WORDS = (
    "please solve this task question problem exercise here is a the following for you q answer "
    "think step by carefully explain your let's lets work it out show"
)
_IDLE = frozenset(_IDLE_WORDS.split())  # a clause of nothing else asks for nothing
# Of b bands of r hashes, a pair of similarity s shares one with a chance of 1 - (1 - s^r)^b: 99.6 %
# at 0.6 for 40 bands of 4, 99.4 % at 0.45 for 53 of 3. Strict ones bring the most similar first.
_HASHES = 160
_BANDS = ((THRESHOLD, (40, 4)), (0.45, (53, 3)), (0.0, (80, 2)))
_STRICT_BANDS = (10, 16)
_CANDIDATES = 100  # compared for one row
# Words that make another task of the same sentence; "one" is left out, being a pronoun, too.
_TELLING_WORDS = (
    "no not non never without except unless least most less more fewer greater smaller larger "
    "smallest greatest largest minimum maximum lowest highest shortest longest even odd "
    "increasing decreasing ascending descending first last before after above below half twice "
    "double triple third quarter two three four five six seven eight nine ten eleven twelve "
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty "
    "sixty seventy eighty ninety hundred thousand million dozen "
    # units, and what comes in opposites
    "seconds minute minutes hour hours hourly day days daily week weeks weekly fortnight month "
    "months monthly year years yearly km cm mm kg meter meters metre metres kilometer kilometers "
    "centimeter centimeters mile miles foot feet inch inches yard yards gram grams kilogram "
    "kilograms pound pounds ounce ounces liter liters litre litres gallon gallons dollar dollars "
    "cent cents percent sum product difference quotient average mean median mode area perimeter "
    "volume radius diameter circumference including excluding ignoring counting starts ends prefix "
    "suffix uppercase lowercase upper lower row rows vowel vowels consonant consonants union "
    "intersection positive negative prime composite inner outer start end sin cos tan"
)
_TELLING = frozenset(_TELLING_WORDS.split())


@dataclass(frozen=True, slots=True)
class Sketch:
    """What a row is compared by: hashes of its text, its order and its shingles, sorted."""

    exact: int
    order: int
    moved: int
    shingles: Hashes


@dataclass(frozen=True, slots=True)
class Match:
    """An earlier row and its Jaccard similarity; 1.0 and `exact` where the tokens are the same."""

    place: int
    similarity: float
    exact: bool


def sketch(
    row: Mapping[str, Any],
    columns: Sequence[str] = (),
    numbers: Numbers = "exact",
    *,
    loose: bool = False,
) -> Sketch:
    """The sketch of a row's prompt, or of the columns that are named.

    With `loose`, of all conditions on near rows only that on numbers and signs is left, and their
    order does not count: more is taken for the same, as one wants where that costs little.

    Raises:
        UsageError: the row has none of these columns.
    """
    text = text_of(row, columns)
    parts = clauses(text)
    found = [token for token in parts if token != BREAK]
    kind = f"{row.get('type') or ''}\0{row.get('language') or ''}"
    exact = hash_of("\0".join((kind, *found)))
    told = [clause for clause in _split(parts) if not _IDLE.issuperset(clause)]
    said = [token for clause in told for token in clause if token.isalpha()]
    # Shingles that are salted can only be shared by rows that agree in all of the salt.
    if numbers == "ignore":
        return Sketch(exact, 0, 0, _shingles(said, kind))
    marks = [token for token in found if _is_mark(token)]
    if loose:
        signs = sorted(mark for mark in marks if not mark.isalpha())
        return Sketch(exact, 0, 0, _shingles(said, "\0".join((kind, *signs))))
    answer = answer_tokens(row)
    content: list[str] = []
    if not _vouches(answer, row, said):
        content = _sorted([word for word in clause if word not in _FILLERS] for clause in told)
    salt = "\0".join((kind, answer, *sorted(marks), "", *literals(text), "", *content))
    moved = _sorted(clause for clause in told if any(map(_is_mark, clause)))
    order = hash_of("\0".join(marks))
    return Sketch(exact, order, hash_of("\n".join(moved)), _shingles(said, salt))


def answer_tokens(row: Mapping[str, Any]) -> str:
    """The tokens of a row's answer, joined; of a worked solution, those behind its `####`."""
    answer = row.get("answer")
    text = answer if isinstance(answer, str) else "" if answer is None else str(answer)
    return "\0".join(tokens(text.rpartition("####")[2]))


class Sketches(Pieces):
    """Sketches by number, from 0; in memory there are but their places, eight bytes each."""

    def add(self, sketch: Sketch) -> None:
        """Put a sketch down, under the next number."""
        head = np.array([sketch.exact, sketch.order, sketch.moved], dtype=np.uint64)
        self.put(head.tobytes() + sketch.shingles.tobytes())

    def __getitem__(self, number: int) -> Sketch:
        found = np.frombuffer(self.piece(number), dtype=np.uint64)
        exact, order, moved = found[:3].tolist()
        return Sketch(exact, order, moved, found[3:])


class Index:
    """Rows by what they ask for. `matches` finds those that were added and are the same."""

    def __init__(self, threshold: float = THRESHOLD) -> None:
        """Near is a similarity of at least `threshold`, from above 0 to 1; at 1, tokens must agree.

        Raises:
            UsageError: it is out of its range, or rensa is not installed.
        """
        if not 0 < threshold <= 1:
            raise UsageError(f"a threshold is above 0 and at most 1, not {threshold}")
        self._threshold = threshold
        self._rensa = _rensa() if threshold < 1 else None
        self._exact: dict[int, int] = {}
        self._known: set[int] = set()
        shape = next(shape for least, shape in _BANDS if threshold >= least)
        self._bands = Bands([_STRICT_BANDS, shape])
        self._near, self._places = Sketches(), array("Q")  # of what is in the bands
        self._recent: tuple[Sketch, Signature] | None = None

    def matches(self, sketch: Sketch) -> list[Match]:
        """The rows that are the same, the most similar one first; of equals the earlier."""
        found = [
            Match(self._places[number], similarity, False)
            for number in self._candidates(sketch)
            if (similarity := _similarity(sketch, self._near[number])) >= self._threshold
        ]
        found.sort(key=lambda match: (-match.similarity, match.place))
        place = self._exact.get(sketch.exact)
        if place is None:
            return found
        return [Match(place, 1.0, True), *(match for match in found if match.place != place)]

    def add(self, sketch: Sketch, place: int) -> None:
        """Add a row under a number of its own."""
        self._exact.setdefault(sketch.exact, place)
        if not self._rensa or not sketch.shingles.size:
            return
        known = sketch.exact ^ int(sketch.shingles[0])
        if known not in self._known:  # copies would only crowd the others out
            self._known.add(known)
            self._bands.add(self._tags(sketch))
            self._near.add(sketch)
            self._places.append(place)

    def _candidates(self, sketch: Sketch) -> list[int]:
        if not self._rensa or not sketch.shingles.size:
            return []
        return self._bands.alike(self._tags(sketch), _CANDIDATES)

    def _tags(self, sketch: Sketch) -> Signature:
        if self._recent and self._recent[0] is sketch:
            return self._recent[1]
        assert self._rensa
        made = self._rensa.RMinHash(_HASHES, seed=1)
        data = sketch.shingles.astype("<u8").tobytes()
        made.update([data[at : at + 8] for at in range(0, len(data), 8)])
        tags = self._bands.tags(np.array(made.digest(), dtype=np.uint32))
        self._recent = sketch, tags
        return tags


def _similarity(one: Sketch, other: Sketch) -> float:
    """Jaccard similarity of the shingles; 0 where numbers have changed places within a clause."""
    if one.order != other.order and one.moved != other.moved:
        return 0.0
    union = np.union1d(one.shingles, other.shingles)[:_SAMPLE]
    shared = np.intersect1d(one.shingles, other.shingles, assume_unique=True)
    return int(np.count_nonzero(shared <= union[-1])) / len(union)


def _shingles(said: list[str], salt: str) -> Hashes:
    """Words and pairs of neighbours as hashes, sorted; the smallest ones of a long text."""
    ones = hashes(said)
    pairs = ones[:-1] * np.uint64(0x9E3779B97F4A7C15) + ones[1:]  # wraps around, as it should
    salted = (np.concatenate([ones, pairs]) ^ np.uint64(hash_of(salt))) * np.uint64(
        0xFF51AFD7ED558CCD
    )
    found: Hashes = np.unique(salted)[:_SAMPLE].copy()
    return found


def _split(parts: Sequence[str]) -> list[list[str]]:
    """The clauses of a text; those that "and" joins are two."""
    found: list[list[str]] = [[]]
    for token in parts:
        if token in (BREAK, "and"):
            found.append([])
        else:
            found[-1].append(token)
    return found


def _sorted(told: Iterable[list[str]]) -> list[str]:
    """The same for the same clauses, in whatever order."""
    return sorted("\0".join(clause) for clause in told if clause)


def _is_mark(token: str) -> bool:
    if token.isalpha():
        return token in _TELLING
    return not unicodedata.category(token[0]).startswith("M")  # an accent is a part of a word


def _vouches(answer: str, row: Mapping[str, Any], said: Sequence[str]) -> bool:
    """Whether rows that have this answer, and are alike, can be taken for the same task."""
    if row.get("type") == "instruction" or not any(map(str.isdigit, answer)):
        return False
    return len(said) >= _SHORT_PROMPT or len(answer) > _SHORT_ANSWER


def _rensa() -> Any:
    try:
        import rensa
    except ModuleNotFoundError:
        raise UsageError("near-duplicates need rensa: pip install 'infinite-rl[data]'") from None
    return rensa
