"""What a row's verifier is tested with: wrong responses, and others that are as good as its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..layout import ANSWER_TAG, fenced, tagged
from ..types import Sample

MUTANTS = 6  # of one program


@dataclass(frozen=True)
class Corruption:
    """A response made from a row, and what was done to it.

    With `equal` it must pass: another spelling of the answer, or the same program written anew. The
    others must fail. A wrong answer is surely wrong; a changed program may by chance do the same.
    """

    kind: str
    response: str
    equal: bool = False


def corruptions(sample: Sample) -> Iterator[Corruption]:
    """The responses to test a row's verifier with, those that must pass first.

    They follow from the row alone: for mathematics from its answer, for code from the program in
    its response. There are none for other types, nor for what cannot be read. Nothing of the row is
    run here, and each response is made when it is asked for.
    """
    if sample.language:
        return _of_code(sample)
    return _of_mathematics(sample) if sample.type == "math" else iter(())


def empty_response(language: str) -> str:
    """A response that solves nothing: no reference may accept it."""
    nothing = "0" if language else ""  # a program that does nothing: the reward runs no empty one
    return _program(nothing, language)


def _of_mathematics(sample: Sample) -> Iterator[Corruption]:
    from .math_corruptions import same_answers, wrong_answers  # the parser, which code needs not

    for kind, text in same_answers(sample.answer):
        yield Corruption(kind, tagged(text), True)
    for kind, text in wrong_answers(sample.answer, sample.id):
        yield Corruption(kind, tagged(text))


def _of_code(sample: Sample) -> Iterator[Corruption]:
    from ..reward_functions.coding.reward import read_submission
    from .mutation import rewritten, some_mutants

    code = read_submission(sample.response, ANSWER_TAG, sample.language).code
    if not code.strip():
        return
    again = rewritten(sample.language, code)
    respelled = Corruption("rewritten", _program(again, sample.language), True)
    yield respelled if again else Corruption("itself", sample.response, True)
    for each in some_mutants(sample.language, code, MUTANTS, sample.id):
        yield Corruption(each.change, _program(each.code, sample.language))


def _program(code: str, language: str) -> str:
    return tagged(f"\n{fenced(code, language)}\n")
