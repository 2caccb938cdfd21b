"""The math reward: format from the tags, correctness from `verify`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import InfiniteRLError
from ...layout import ANSWER_TAG
from ...parsing.markup import TagMatch, format_of
from ...types import RewardFunctionScore, Sample
from ..reward_function import AnswerRewardFunction, BadReference, Expected, NoAnswer, unscored
from .bounds import Unparsed
from .boxes import BOXES, plain_number
from .extract import Convention, answer_tags, answer_text
from .verify import Decimals, Verdict, verify

if TYPE_CHECKING:
    from ..judge import Judge, JudgeModel
    from ..shaping import Shaping

_MOST_TAGS = 10  # a completion with more is a list of guesses
_ENVELOPE_KEYS = ("answer", "result", "solution", "value")


class MathRewardFunction(AnswerRewardFunction):
    """Judges a mathematical answer by its meaning. Safe to call from many threads at once.

    Format: 1.0 for exactly one well-formed answer tag, 0.4 for several or for a damaged one, 0.0
    for none. Without a tag the last `\\boxed{}` is still judged, so that correctness tells what
    the model knew. A box states no answer where the words or signs around it deny it, suppose it,
    ask, count with it, or take it back right behind it. The text ends at a mark such as
    `<|im_end|>`.

    Correctness: 1.0 if `verify` finds the answer equal to the reference, else 0.0. Of several
    tags the last one after the thinking counts, and they must all mean the same: who answers twice
    differently has not answered.

    The status is "unscored" where the reference cannot be read, or where the time ran out: neither
    is the model's fault. A prediction that cannot be read, or that asks for too much work, has
    failed.

    `extract` names another convention of where the answer stands: "math" (the last box), "gsm8k"
    (`#### `, without it the last number) or "last_number". Its format is then 1.0 if the answer
    stands there, 0.4 for the last number in place of `#### `, and 0.0 without one.

    `decimals="gold"` accepts what rounds to a reference with a decimal point, as `verify` does.

    `judge` is a model, as a provider or as a function from a prompt to a reply. It is asked if the
    rules find a difference or cannot read a side, unless both sides are plain numbers. It must
    refuse the canaries of `judge.py` first. `details["decided_by"]` is "rules" or "judge". If the
    judge gives no verdict the completion is "unscored".

    The row's prompt is the `question` of `verify`.
    """

    name = "math"
    version = "11"
    options = frozenset({"judge"})
    reads_prompt = True

    def __init__(
        self,
        task_name: str = "",
        timeout: float = 5,
        *,
        shaping: Shaping | None = None,
        extract: Convention = "tag",
        decimals: Decimals = "exact",
        judge: JudgeModel | None = None,
    ) -> None:
        super().__init__(task_name, timeout, shaping=shaping)
        self.convention = extract
        self.decimals = decimals
        self.judge: Judge | None = None
        if judge is not None:
            from ..judge import Judge  # few rewards have one

            self.judge = Judge(judge)

    @property
    def limits(self) -> dict[str, Any]:
        """The timeout in seconds, and the name of the judge if there is one."""
        return super().limits | ({} if self.judge is None else {"judge": self.judge.name})

    def prepare(self, language: str = "") -> None:  # noqa: ARG002 -- an argument of the base class
        """Ask the judge its canaries. Raises UsageError if it fails, JudgeFailed if it is away."""
        if self.judge is not None:
            self.judge.check()

    def score(self, sample: Sample, completion: str) -> RewardFunctionScore:
        """Score a completion of a row; the row's prompt is the question."""
        if type(self).compute_reward is not MathRewardFunction.compute_reward:
            return self.compute_reward(completion, sample.answer)  # an override has no question
        return self.compute_reward(completion, sample.answer, question=sample.prompt)

    def compute_reward(
        self,
        model_output: str,
        expected_output: Expected,
        answer_tag: str = ANSWER_TAG,
        *,
        question: str = "",
    ) -> RewardFunctionScore:
        """Score a completion.

        `expected_output` is text (bare, in an answer tag, in a box, or a JSON object with the key
        answer, result, solution or value), a number, such an object as a mapping, or a callable
        that is given the extracted content and returns True, False or a share in [0, 1].
        """
        judged = partial(self._judged, question=question)
        return self._scored(model_output, expected_output, answer_tag, judged)

    def _content(self, text: str, answer_tag: str) -> tuple[float, str]:
        try:
            if self.convention != "tag":
                content = answer_text(text, self.convention)
                unmarked = self.convention == "gsm8k" and "####" not in text
                return 0.4 if unmarked else 1.0, content
            tags = answer_tags(text, answer_tag)
        except Unparsed as fault:
            raise NoAnswer(str(fault)) from None
        format_score = format_of(tags)
        if not tags and not any(box in text for box in BOXES):
            raise NoAnswer("no answer tag and no box", format_score)
        if disagreement := self._disagreement(tags):
            raise NoAnswer(disagreement, format_score)
        return format_score, tags[-1].content if tags else text

    def _judged(
        self, format_score: float, content: str, expected: object, question: str = ""
    ) -> RewardFunctionScore:
        gold = gold_text(expected)
        verdict = self._verdict(content, gold, question)
        score = score_of(format_score, verdict)
        if self.judge is None or verdict.status not in ("different", "unparsed"):
            return score
        try:
            answer, reference = answer_text(content), answer_text(gold, reference=True)
        except Unparsed:
            return score  # a text that asserts no answer is not judged
        if plain_number(answer) is not None and plain_number(reference) is not None:
            return score
        details = {**score.details, "decided_by": "judge"}
        try:
            equal = self.judge.accepts(question, reference, answer)
        except InfiniteRLError as fault:  # no verdict, or a model that can be fooled
            return unscored(format_score, str(fault), **details)
        if equal:
            return RewardFunctionScore(format_score, 1.0, status="passed", details=details)
        return _failed(format_score, f"{verdict.status}: {verdict.reason}", **details)

    def _verdict(self, answer: str, gold: str, question: str = "") -> Verdict:
        return verify(answer, gold, timeout=self.timeout, decimals=self.decimals, question=question)

    def _disagreement(self, tags: list[TagMatch]) -> str:
        """Why several tags are no answer; "" if they all mean the same."""
        if len(tags) > _MOST_TAGS:
            return f"{len(tags)} answer tags"
        for tag in tags[:-1]:
            same = tag.content == tags[-1].content
            if not same and not self._verdict(tag.content, tags[-1].content).equal:
                return "several answer tags that disagree"
        return ""


def _failed(format_score: float, reason: str, **details: str) -> RewardFunctionScore:
    return RewardFunctionScore(format_score, 0.0, reason, status="failed", details=details)


def score_of(format_score: float, verdict: Verdict) -> RewardFunctionScore:
    """Return the score of an answer by its verdict: "unscored" if that is not the model's fault."""
    details = {
        "verdict": verdict.status,
        "prediction_form": verdict.prediction_form,
        "gold_form": verdict.gold_form,
        "decided_by": "rules",
    }
    if verdict.equal:
        return RewardFunctionScore(format_score, 1.0, status="passed", details=details)
    reason = f"{verdict.status}: {verdict.reason}"
    if not verdict.gold_form or verdict.status == "timeout" or verdict.missing:
        return unscored(format_score, reason, **details)
    return _failed(format_score, reason, **details)


def gold_text(expected: object) -> str:
    """A reference as text. Raises `BadReference` for what no answer can be compared with."""
    if isinstance(expected, str):
        return _enveloped(expected)
    if isinstance(expected, float) and not math.isfinite(expected):
        raise BadReference(f"the reference {expected!r}")
    if isinstance(expected, (bool, int, float)):
        try:
            return str(expected)
        except ValueError:  # more digits than Python writes
            raise BadReference("a reference of thousands of digits") from None
    if isinstance(expected, Mapping):
        for key in _ENVELOPE_KEYS:
            if key in expected and not isinstance(expected[key], Mapping):
                return gold_text(expected[key])
        raise BadReference(f"a reference without any of the keys {', '.join(_ENVELOPE_KEYS)}")
    raise BadReference(f"a reference of type {type(expected).__name__}")


def _enveloped(text: str) -> str:
    """JSON such as `{"answer": 5}` unwrapped; any other text, `{1, 2}` among them, as it is."""
    stripped = text.strip()
    if not (stripped.startswith("{") and stripped.endswith("}") and '"' in stripped):
        return text
    import json  # hardly any reference needs it

    try:
        content = json.loads(stripped, parse_float=str, parse_int=str)
    except (ValueError, RecursionError):
        return text
    if isinstance(content, dict) and any(key in content for key in _ENVELOPE_KEYS):
        return gold_text(content)
    return text
