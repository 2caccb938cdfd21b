"""What a caller's predicate says of an answer: one rule for every reward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import shown
from ...types import RewardFunctionScore
from ..reward_function import BadReference, unscored


def predicate_share(predicate: Callable[[str], Any], text: str) -> float:
    """What `predicate(text)` gives, True and False as 1.0 and 0.0, a number from 0 to 1 as it is.

    Raises:
        BadReference: it raised, or gave anything else: a reward on another scale must not be cut
            down silently.
    """
    try:
        result = predicate(text)
    except Exception as fault:  # the caller's own code may raise whatever it likes
        raise BadReference(f"the predicate raised {type(fault).__name__}: {fault}") from fault
    if isinstance(result, (bool, int, float)) and 0 <= result <= 1:
        return float(result)
    raise BadReference(
        f"the predicate returned {shown(result)}, neither a bool nor a number from 0 to 1"
    )


def by_predicate(
    predicate: Callable[[str], Any], format_score: float, text: str
) -> RewardFunctionScore:
    """The score of a text that a caller's predicate judges."""
    try:
        share = predicate_share(predicate, text)
    except BadReference as fault:
        return unscored(format_score, str(fault))
    if share == 1.0:
        return RewardFunctionScore(format_score, share, status="passed")
    return RewardFunctionScore(format_score, share, "the predicate rejects the answer")
