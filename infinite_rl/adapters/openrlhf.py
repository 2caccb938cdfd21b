"""OpenRLHF: `--reward.remote_url FILE.py`, a file that defines `reward_func`.

    from infinite_rl.adapters.openrlhf import reward_func

The contract is that of OpenRLHF 0.11.2 (`SingleTurnAgentExecutor` in openrlhf/utils/agent.py): the
file is loaded by its path, and `reward_func(queries, prompts, labels)` is called in a thread with
one query at a time. A query is the prompt and the response as decoded tokens, special ones and all.
"rewards" train, "scores" in [0, 1] are for dynamic filtering, "extra_logs" are logged. What the
function raises is logged there as "Failed to fetch reward", and the step then ends for want of a
reward. There is no way to say "no reward" for one response, so what could not be judged gets 0.0, a
warning, and "unscored" 1.0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from infinite_rl.adapters.scorer import scorer
from infinite_rl.dataset.ground_truth import unpack
from infinite_rl.errors import UsageError

_TAIL = 16  # characters of a prompt that prove that the query begins with its end
_LONGEST = 48
_START = re.compile(r"<[|｜][^|｜<>\s]{1,40}[|｜]>|<s>|<bos>")
_END = re.compile(r"(?:<[|｜][^|｜<>\s]{1,40}[|｜]>|</s>|<eos>|<pad>|<end_of_turn>)\s*\Z")


def reward_func(
    queries: Sequence[str], prompts: Sequence[str], labels: Sequence[str], **more: Any
) -> dict[str, Any]:
    """The rewards of responses, with the default settings of `Scorer`, as tensors of shape (B,).

    `labels` are the ground truths. Further arguments are ignored.

    Raises:
        UsageError: a label is no ground truth of this package, or a query does not begin with its
            prompt; or as `Scorer.judge`.
    """
    return for_openrlhf()(queries, prompts, labels, **more)


def for_openrlhf(
    *,
    format_weight: float = 0.0,
    partial: bool = False,
    timeout: float = 5,
    rewards: str | Path | None = None,
) -> Callable[..., dict[str, Any]]:
    """`reward_func` with settings of your own: `reward_func = for_openrlhf(partial=True)`."""
    judge = scorer(format_weight, partial, timeout, rewards)

    def reward_func(
        queries: Sequence[str], prompts: Sequence[str], labels: Sequence[str], **more: Any
    ) -> dict[str, Any]:
        import torch

        responses = [response_of(*pair) for pair in zip(queries, prompts, strict=True)]
        scores = judge.judge(zip(map(unpack, labels), responses, strict=True))
        rewards = torch.tensor([judge.number(score) for score in scores])
        logs = {
            "passed": torch.tensor([float(score.passed) for score in scores]),
            "format": torch.tensor([score.format_score for score in scores]),
            "unscored": torch.tensor([float(score.status == "unscored") for score in scores]),
        }
        return {"rewards": rewards, "scores": rewards, "extra_logs": logs}

    return reward_func


def response_of(query: str, prompt: str) -> str:
    """The response in a query, without the special tokens at its end.

    The start of a long prompt may be truncated, and a special token may precede it.

    Raises:
        UsageError: the query begins neither with the prompt nor with its end. An answer format in
            the prompt must not be taken for an answer.
    """
    first = _START.match(query)
    for at in (0, first.end() if first else 0):
        if query.startswith(prompt, at):
            return _without_end(query[at + len(prompt) :])
    head = query[:_TAIL]
    start = prompt.find(head, 1) if len(head) == _TAIL else -1
    while start > 0:
        if query.startswith(prompt[start:]):
            return _without_end(query[len(prompt) - start :])
        start = prompt.find(head, start + 1)
    raise UsageError(f"the query does not begin with its prompt: {query[:80]!r}")


def _without_end(text: str) -> str:
    end = len(text)
    while match := _END.search(text, max(0, end - _LONGEST), end):
        end = match.start()
    return text[:end]
