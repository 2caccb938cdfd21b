"""The ground truth of a row as one string, for any trainer.

Trainers pass a reward the completion and one text of the row. Here that text is a JSON object with
the row's `type`, which names the reward, its `answer`, and its `language` if it has one.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ..errors import UsageError, look_up
from ..reward_functions.reward_function import RewardFunction
from ..types import RewardFunctionScore, Sample


def pack(sample: Sample) -> str:
    """The ground truth of a sample."""
    parts = {"type": sample.type, "answer": sample.answer, "language": sample.language}
    return json.dumps({name: text for name, text in parts.items() if text or name != "language"})


def unpack(text: str) -> Sample:
    """A sample without a prompt, with the same ground truth as the packed one.

    Raises:
        UsageError: the text is not one of `pack`; a missing part is named.
    """
    try:
        parts = json.loads(text)
        sample = Sample(parts["type"], "", parts["answer"], "", parts.get("language", ""))
    except KeyError as error:
        raise UsageError(
            f"no ground truth of this package, as it has no {error}: {str(text)[:80]!r}"
        ) from None
    except (TypeError, ValueError, AttributeError):
        sample = None
    if sample is None or not all(isinstance(part, str) for part in vars(sample).values() if part):
        wanted = 'a text such as {"type": "math", "answer": "5"}, as `infinite-rl export` writes it'
        raise UsageError(f"no ground truth of this package: {str(text)[:80]!r}; give {wanted}")
    return sample


def packed_in(row: Mapping[str, Any]) -> Sample | None:
    """The ground truth of an exported row, for any trainer; None if the row is not exported."""
    rewards = (row.get("reward_model"), row.get("reward_spec"))
    texts = [row.get("ground_truth"), row.get("label"), row.get("answer")]
    texts += [each.get("ground_truth") for each in rewards if isinstance(each, Mapping)]
    for text in texts:
        if isinstance(text, str) and text.startswith('{"type"'):
            with suppress(UsageError):
                return unpack(text)
    return None


def score(
    sample: Sample, completion: str, rewards: Mapping[str, RewardFunction]
) -> RewardFunctionScore:
    """Score a completion with the reward that the sample's type names.

    Raises:
        UnknownName: there is no such reward.
    """
    return look_up("reward", sample.type, rewards).score(sample, completion)
