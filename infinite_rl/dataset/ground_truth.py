"""The ground truth of a row as one string, for any trainer.

Trainers pass a reward the completion and one text of the row. Here that text is a JSON object with
the row's `type`, which names the reward, its `answer`, its `language` if it has one, and its
`prompt` if the reward reads it, as that of maths and those of one's own do.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pkgutil import resolve_name
from typing import Any

from ..errors import UsageError, look_up
from ..reward_functions import REWARDS
from ..reward_functions.reward_function import RewardFunction
from ..types import RewardFunctionScore, Sample


def pack(sample: Sample, *, own: bool = False) -> str:
    """The ground truth of a sample; `own` says that a reward of the user's own judges it."""
    parts = {"type": sample.type, "answer": sample.answer}
    prompt = sample.prompt if own or _reads_prompt(sample.type) else ""
    more = {"language": sample.language, "prompt": prompt}
    return json.dumps({**parts, **{name: text for name, text in more.items() if text}})


@cache
def _reads_prompt(name: str) -> bool:
    """Whether the verdict of a reward depends on the prompt; that of an unknown one may."""
    return name not in REWARDS or resolve_name(REWARDS[name]).reads_prompt


def unpack(text: str) -> Sample:
    """A sample with the same ground truth as the packed one, and the prompt if that is packed.

    Raises:
        UsageError: the text is not one of `pack`; a missing part is named.
    """
    try:
        parts = json.loads(text)
        sample = Sample(
            parts["type"], parts.get("prompt", ""), parts["answer"], "", parts.get("language", "")
        )
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
