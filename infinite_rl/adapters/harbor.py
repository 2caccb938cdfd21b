"""Harbor: judge the file that an agent wrote, in the verifier of a task.

    python -m infinite_rl.adapters.harbor ROW ANSWER REWARD [REWARDS]

ROW is a JSONL file with the exported row, ANSWER the agent's file, REWARD the file that Harbor
reads, REWARDS a folder with rewards of one's own. What could not be judged leaves no REWARD and
exits with 1: Harbor 0.24 reports an exception then, and counts 0 in its mean.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from infinite_rl.adapters.scorer import Scorer
from infinite_rl.dataset.ground_truth import unpack
from infinite_rl.dataset.rows import read

_MOST_BYTES = 10_000_000


def judge(row: Path, answer: Path, reward: Path, rewards: Path | None = None) -> str:
    """Judge an answer; write the reward if there is a verdict. Return the reason if not.

    A file that is missing, too long or no text is an empty answer.
    """
    (truth,) = (each["answer"] for each in read(row))
    scorer = Scorer(rewards=rewards)
    text = ""
    if answer.is_file() and not answer.is_symlink() and answer.stat().st_size <= _MOST_BYTES:
        text = answer.read_text(encoding="utf-8", errors="replace")
    score = scorer.judge_one(unpack(truth), text)
    if (value := scorer.reward(score)) is None:
        return f"not scored: {score.error_msg}"
    reward.write_text(json.dumps({"reward": value}), encoding="utf-8")
    return ""


if __name__ == "__main__":
    sys.exit(judge(*map(Path, sys.argv[1:])) or 0)
