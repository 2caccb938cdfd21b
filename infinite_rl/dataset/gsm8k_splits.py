"""GSM8K fetched once and pinned: train, validation and test, the same bytes for everybody.

The folder holds `train.jsonl`, `val.jsonl` and `test.jsonl`, each row with `question`, `answer` and
`id`, a hash of its content, and the manifest of `pins.py`. The validation set is drawn from the
training set; which rows it gets depends on the seed and on their content, not on their order. No
question is there twice, and none of the test set's is on another side.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..errors import StoreError, UsageError
from .loaders import BENCHMARKS, load
from .pins import Pinned, check, pinned, write_pinned
from .rows import Row, sample_of
from .words import asked, hash_of

VALIDATION = 512  # rows
FILES = ("train.jsonl", "val.jsonl", "test.jsonl")


def pin(
    folder: str | Path,
    source: str = "",
    *,
    validation: int = VALIDATION,
    seed: int = 0,
    overwrite: bool = False,
) -> Pinned:
    """Make the folder, or see that it is what the same call would make.

    `source` has `train.jsonl` and `test.jsonl` as GSM8K's authors publish them: a folder,
    s3://BUCKET/FOLDER, or a data set of the hub with these splits, hf:NAME[:CONFIG]; by default
    GSM8K's own.

    Raises:
        UsageError: there is no such source, or no row would be left for training.
        StoreError: the folder holds anything else, and `overwrite` is not given; a row is none of
            GSM8K; a file cannot be written.
    """
    folder, source = Path(folder), source or f"hf:{BENCHMARKS['gsm8k'].hub}"
    train, test = (list(_published(source, split)) for split in ("train", "test"))
    files = dict(zip(FILES, _sides(train, test, validation, seed), strict=True))
    found = pinned(files, source, seed)
    if overwrite or not any((folder / name).exists() for name in FILES):
        write_pinned(folder, files, found)
    elif check(folder).sha256 != found.sha256:
        raise StoreError(
            f"{folder} pins other rows than {source} gives, with {validation} for validation by "
            f"the seed {seed}: --overwrite pins these"
        )
    return found


def _published(source: str, split: str) -> Iterator[Row]:
    hub = source.startswith("hf:")
    place = f"{source}:{split}" if hub else f"{source.rstrip('/')}/{split}.jsonl"
    for row in load("gsm8k", place, split=split):
        question, answer = row["prompt"].strip(), row["response"].strip()
        sample = sample_of({**row, "prompt": question, "response": answer})
        yield {"question": question, "answer": answer, "id": sample.id}


def _sides(
    train: list[Row], test: list[Row], validation: int, seed: int
) -> tuple[list[Row], list[Row], list[Row]]:
    tested = {asked(row["question"]): row for row in test}
    found = ((asked(row["question"]), row) for row in train)
    known = {question: row for question, row in found if question not in tested}
    if not 0 <= validation < len(known):
        raise UsageError(
            f"there are {len(known)} questions: {validation} for validation are too many"
        )
    drawn = sorted(known, key=lambda each: hash_of(f"{seed}:{known[each]['id']}"))[:validation]
    val = {*drawn}
    return (
        [row for question, row in known.items() if question not in val],
        [row for question, row in known.items() if question in val],
        [*tested.values()],
    )
