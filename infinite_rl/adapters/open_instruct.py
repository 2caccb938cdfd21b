"""open-instruct: a verifier for the rows whose column `dataset` says "infinite_rl".

    import infinite_rl.adapters.open_instruct  # before build_all_verifiers is called

The contract is that of open_instruct/ground_truth_utils.py at commit c28e030 of
allenai/open-instruct: `build_all_verifiers` makes one of each class that is derived from
`VerifierFunction`, and `apply_verifiable_reward` awaits its `async_call`, which calls it in a
thread. The score is a number: what could not be judged gets 0.0, a warning, and the reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from open_instruct.ground_truth_utils import VerificationResult, VerifierFunction

from ..dataset.ground_truth import unpack
from .scorer import scorer


class InfiniteRLVerifier(VerifierFunction):
    """Judges a prediction against the ground truth of its row.

    Settings are the class's attributes, those of `Scorer`.
    """

    format_weight = 0.0
    partial = False
    timeout = 5.0
    rewards: str | Path | None = None

    def __init__(self, verifier_config: Any = None) -> None:
        super().__init__("infinite_rl", verifier_config=verifier_config, weight=1.0)

    def __call__(
        self,
        tokenized_prediction: list[int],
        prediction: str,
        label: str,
        query: str | None = None,
        **more: Any,
    ) -> VerificationResult:
        """The score in [0, 1], and why not more.

        Raises:
            UsageError: `label` is no ground truth of this package; or as `Scorer.judge`.
        """
        judge = scorer(self.format_weight, self.partial, self.timeout, self.rewards)
        score = judge.judge_one(unpack(label), prediction)
        return VerificationResult(score=judge.number(score), reasoning=score.error_msg or None)
