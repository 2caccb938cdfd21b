"""OUT_DIR/solutions.jsonl: every attempt of the learner, a row each, with its score.

They are rows of attempts as those of `difficulty`: preference pairs and traces are made from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from ..dataset.scoring import score_columns
from ..files.logs import JsonlLog, read_jsonl
from ..store import SOLUTIONS
from ..types import Outcome


class Solutions(JsonlLog):
    """The attempts of a folder. Those at one draft are written once, also if a run is resumed.

    Raises:
        StoreError: the file is not writable, or damaged.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / SOLUTIONS)
        self._written = {(row["slot"], row["attempt"]) for _, row in read_jsonl(self.path, dict)}

    def add(self, outcome: Outcome) -> None:
        """Append the solutions of an outcome that the file does not have."""
        sample, version = outcome.sample, outcome.certificate.get("reward_version", "")
        for number, solution in enumerate(outcome.solutions, 1):
            completion, score = solution.completion, solution.score
            self.take({
                "type": sample.type, "prompt": sample.prompt, "answer": sample.answer,
                "language": sample.language, "id": sample.id, "slot": str(outcome.attempt.slot),
                "attempt": number, "completion": completion.text,
                "reasoning": completion.reasoning, "model": completion.model,
                "finish_reason": completion.finish_reason,
                **score_columns(score, outcome.attempt.task.reward, version),
            })  # fmt: skip

    def take(self, row: Mapping[str, Any]) -> None:
        """Append a row that the file does not have."""
        key = row["slot"], row["attempt"]
        if key not in self._written:
            self._written.add(key)
            self.append(row)


def merge_solutions(folder: Path, shards: Iterable[Path]) -> None:
    """Append the attempts of the shards of a folder to its own file, if there are any."""
    files = [shard / SOLUTIONS for shard in shards if (shard / SOLUTIONS).is_file()]
    if not files:
        return
    with closing(Solutions(folder)) as merged:
        for file in files:
            for _, row in read_jsonl(file, dict):
                merged.take(row)
