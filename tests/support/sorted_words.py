"""A reward of a user's own, as a file that an export takes along. It reads the row's prompt."""

from infinite_rl import RewardFunction, RewardFunctionScore
from infinite_rl.layout import tagged
from infinite_rl.types import Sample


class SortedWords(RewardFunction):
    """Whether an answer has the words of the prompt in the order of the alphabet."""

    def score(self, sample: Sample, completion: str) -> RewardFunctionScore:
        """Score a completion: the answer is computed from the prompt alone."""
        words = sorted(sample.prompt.partition(": ")[2].split())
        return self.compute_reward(completion, tagged(" ".join(words)))

    def compute_reward(
        self, model_output: str, expected_output: object, answer_tag: str = "answer"
    ) -> RewardFunctionScore:
        """Compare two texts."""
        right = model_output.strip() == expected_output
        status = "passed" if right else "failed"
        return RewardFunctionScore(1.0, float(right), status=status)  # type: ignore[arg-type]
