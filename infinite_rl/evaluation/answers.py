"""The answers of a model, kept as they come: what was asked once is never asked again.

A folder holds one file for each process that has worked on it, and all of them are read. The place
of an answer is the question's key and the sample's number, whichever process has written it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ..dataset.spill import to_json
from ..errors import StoreError
from ..files.append_only import AppendOnlyFile, damaged, whole_lines

FOLDER = "answers"

Key: TypeAlias = tuple[str, int]


@dataclass(frozen=True)
class Answer:
    """What came of asking one question once.

    `text` is what a reward is to judge, None where there was nothing to judge and the model is not
    to blame for it; `why` says the reason. `finish_reason` is "length" where the text was cut off.
    `tokens` is how many the model wrote, None where nobody counted.
    """

    question: str
    number: int
    text: str | None
    finish_reason: Literal["stop", "length"] = "stop"
    tokens: int | None = None
    why: str = ""

    @property
    def key(self) -> Key:
        """Its place among all answers to a task."""
        return self.question, self.number


class CompletionIndex:
    """The answers in a folder, by their places: texts stay on the disk.

    Raises:
        StoreError: a file there is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self._places: dict[Key, tuple[Path, int]] = {}
        for path in sorted((folder / FOLDER).glob("*.jsonl")):
            for begin, answer in _answers(path):
                self._places.setdefault(answer.key, (path, begin))

    def __contains__(self, key: Key) -> bool:
        return key in self._places

    def __getitem__(self, key: Key) -> Answer:
        path, begin = self._places[key]
        with path.open("rb") as file:
            file.seek(begin)
            return Answer(**json.loads(file.readline()))


class CompletionWriter(AppendOnlyFile):
    """Appends answers to the file of one process. Half an answer at its end is dropped.

    Raises:
        StoreError: another process is writing it, or it cannot be written.
    """

    recovery_hint = "the answers before it are kept"

    def __init__(self, folder: Path, process: int) -> None:
        try:
            (folder / FOLDER).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot write to {folder}: {error.strerror}") from None
        super().__init__(folder / FOLDER / f"{process:03}.jsonl")
        with ExitStack() as refused:
            refused.callback(self._file.close)
            self._claim()
            self._drop_half_line()
            refused.pop_all()

    def keep(self, answer: Answer) -> None:
        """Append an answer, which outlives this process."""
        self._write(to_json(asdict(answer)).encode("ascii") + b"\n")


def _answers(path: Path) -> Iterator[tuple[int, Answer]]:
    """Each whole answer of a file, and where it begins."""
    for end, line in whole_lines(path):
        try:
            yield end - len(line), Answer(**json.loads(line))
        except (TypeError, ValueError) as error:
            raise damaged(path, end, str(error)) from None
