"""What the hub's metric `code_eval` computes, pass@1, by running programs in our sandbox.

lm_eval asks for the metric by its name, and `evaluate` looks for a folder of that name first.
"""

from typing import Any

import datasets
import evaluate

from infinite_rl.executor import RewardExecutor


class CodeEval(evaluate.Metric):
    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        features = {"predictions": datasets.Sequence(text), "references": text}
        return evaluate.MetricInfo(
            description="pass@1", citation="", features=datasets.Features(features)
        )

    def _compute(
        self, predictions: list[list[str]], references: list[str], k: list[int]
    ) -> tuple[dict[str, float], dict[str, Any]]:
        assert list(k) == [1]
        executor = RewardExecutor(timeout=5)
        shares = []
        for programs, test in zip(predictions, references, strict=True):
            done = [executor.execute(f"{each}\n{test}", "python") for each in programs]
            shares.append(sum(each.status == "ok" for each in done) / len(done))
        return {"pass@1": sum(shares) / len(shares)}, {}
