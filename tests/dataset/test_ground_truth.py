"""What a completion is judged against, as one string."""

import pytest

from infinite_rl.dataset.ground_truth import pack, score, unpack
from infinite_rl.errors import UnknownName, UsageError
from infinite_rl.layout import tagged
from infinite_rl.reward_functions import get_reward_functions
from infinite_rl.types import Sample

MATH = Sample("math", "What is 2 + 5?", "7", "2 + 5 = <answer>7</answer>")
CODE = Sample("coding", "Print é.", "é", "", "javascript")


def test_what_is_packed_is_judged_alike_by_the_reward_that_its_type_names() -> None:
    for sample in (MATH, CODE):
        kept = unpack(pack(sample))
        assert (kept.type, kept.answer, kept.language) == (
            *(sample.type, sample.answer, sample.language),
        )
        assert pack(kept) == pack(sample)
    assert unpack(pack(MATH)).prompt == MATH.prompt, "a reward that refuses it restated reads it"
    assert unpack(pack(CODE)).prompt == ""
    assert not score(unpack(pack(MATH)), tagged("2 + 5"), get_reward_functions()).passed
    rewards = get_reward_functions()
    assert score(unpack(pack(MATH)), tagged("7"), rewards).passed
    assert not score(unpack(pack(MATH)), tagged("8"), rewards).passed
    with pytest.raises(UnknownName, match="unknown reward 'poetry'; known: coding, "):
        score(Sample("poetry", "", "", ""), "", rewards)
    for text in ("", "7", "null", "[]", '{"type": "math"}', '{"type": 1, "answer": "7"}', "{"):
        with pytest.raises(UsageError, match="no ground truth"):
            unpack(text)
    with pytest.raises(UsageError, match="as it has no 'answer'"):
        unpack('{"type": "math"}')
