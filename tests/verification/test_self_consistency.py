"""Independent solutions: what a solver is shown, who agrees with whom, which rows are kept."""

import json
from typing import Any

import pytest

from infinite_rl.errors import UsageError
from infinite_rl.layout import fenced, tagged
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.reward_functions.math import MathRewardFunction
from infinite_rl.solver_prompts import default_system_prompt, solver_request
from infinite_rl.tasks import TASKS
from infinite_rl.types import Completion, Sample
from infinite_rl.verification.self_consistency import (
    ConsistencyResult,
    judge_solutions,
    rejection_reason,
)

MATH, CODING = MathRewardFunction(), CodingRewardFunction()
ROW = Sample("math", "What is a half?", "1/2", "The secret response: <answer>1/2</answer>")


def said(*answers: str) -> list[Completion | None]:
    return [Completion(tagged(answer), "solver") for answer in answers]


def judged(*answers: str) -> ConsistencyResult:
    return judge_solutions(ROW, said(*answers), MATH)


# --- the request
@pytest.mark.parametrize("name", TASKS)
def test_a_solver_sees_the_prompt_and_neither_answer_nor_response(name: str) -> None:
    task = TASKS[name]
    row = Sample(task.family, "the prompt", "the gold", "the worked one", task.language)
    system, prompt = solver_request(row)
    assert prompt == "the prompt"
    assert "gold" not in system and "worked" not in system
    assert "<answer>" in system or name == "instruction", "whose prompts state the form"
    assert not task.language or f"```{task.language}" in system


def test_the_instructions_say_how_a_row_is_answered() -> None:
    kinds = (("math", ""), ("coding", "python"), ("instruction", ""))
    math, python, told = (
        default_system_prompt(Sample(kind, "", "", "", name)) for kind, name in kinds
    )
    assert "<answer>" in math and "value alone" in math
    assert "<answer>" in python and "```python" in python
    assert told == ""  # an instruction may forbid just that


# --- agreement
def test_agreement_is_by_meaning() -> None:
    result = judged("0.5", r"\frac{2}{4}", "1/3", "x = 1/2")
    assert (result.requested, result.judged, result.agreeing, result.rival) == (4, 4, 3, 1)
    assert result.agreement == result.solve_rate == 0.75
    assert result.columns() == {
        "agreement": "0.75",
        "solve_rate": "0.75",
        "majority_answer": "0.5",
        "inputs_compared": "",
    }


def test_another_majority_is_found_by_meaning() -> None:
    result = judged("0.25", "1/4", r"\frac14", "1/2")
    assert (result.agreeing, result.rival, result.majority_answer) == (1, 3, "0.25")
    assert not result.agreeing > result.rival


def test_a_solution_without_an_answer_disagrees_and_is_no_rival() -> None:
    texts: list[Completion | None] = [Completion("I cannot say.", "m"), None, *said("1/2")]
    result = judge_solutions(ROW, texts, MATH)
    assert (result.judged, result.agreeing, result.rival) == (3, 1, 0)


def test_a_solution_that_was_cut_off_says_nothing_of_the_answer() -> None:
    cut = Completion("Let me see: <answer>7", "m", finish_reason="length")
    result = judge_solutions(ROW, [cut, cut, *said("1/2", "1/2")], MATH)
    assert (result.judged, result.agreement, result.solve_rate) == (2, 1.0, 0.5)
    assert rejection_reason(result) == ""


def test_a_solution_that_could_not_be_judged_says_nothing_of_the_answer() -> None:
    unreadable = Sample("math", "p", "((", "r")
    result = judge_solutions(unreadable, said("1", "2"), MATH)
    assert (result.requested, result.judged) == (2, 0)
    assert rejection_reason(result) == "none of 2 independent solutions came to an end"


def program(body: str) -> Completion:
    return Completion(tagged(f"\n{fenced(f'def double(n):{chr(10)}    {body}', 'python')}\n"), "m")


def test_programs_agree_by_what_they_do() -> None:
    answer = json.dumps({"tests": ["assert double(2) == 4", "assert double(3) == 6"]})
    row = Sample("coding", "Double it.", answer, "", "python")
    wrong = [program("return n * n"), program("return n ** 2"), program("return n + 9")]
    result = judge_solutions(row, [*wrong, program("return n + n")], CODING)
    assert (result.agreeing, result.rival) == (1, 2)
    assert "1 of 2 tests passed" in result.majority_answer
    assert judge_solutions(row, [program("return n + n")] * 2, CODING).majority_answer == "passes"


# --- the decision
def test_the_first_answer_that_two_share_decides() -> None:
    assert rejection_reason(judged("1/2", "0.5"), max_solutions=4) == ""
    assert rejection_reason(judged("1/2", "3", "0.5"), max_solutions=4) == ""
    refused = "0 of 2 independent solutions agree with the answer, and 2 on another one: 3"
    assert rejection_reason(judged("3", "3.0"), max_solutions=4) == refused
    assert rejection_reason(judged("1/2", "1/2", "3", "3.0")), "no more than another answer has"


def test_another_is_asked_for_only_while_it_can_change_the_decision() -> None:
    for open_ in (judged("1/2", "3"), judged("3", "4"), judged("1/2", "3", "4")):
        assert rejection_reason(open_, max_solutions=4) is None
    assert rejection_reason(judged("3", "4", "5"), max_solutions=4) is None, (
        "one that agrees would keep it"
    )
    assert rejection_reason(judged("3", "4", "5"), max_solutions=4, repaired=True), (
        "but not a repaired row"
    )
    assert rejection_reason(judged("3", "4"), max_solutions=2).startswith(
        "0 of 2 independent solutions agree"
    )
    assert rejection_reason(judged("1/2"), max_solutions=1) == ""
    assert rejection_reason(judged("2"), max_solutions=1)


def test_where_no_answer_is_shared_one_that_agrees_keeps_a_row_that_was_not_repaired() -> None:
    scattered = judged("1/2", "2", "3", "4")
    assert rejection_reason(scattered) == ""
    assert rejection_reason(scattered, repaired=True).startswith(
        "1 of 4 independent solutions agree"
    )
    assert rejection_reason(judged("1/2", "2", "3", "0.5"), repaired=True) == ""
    assert rejection_reason(judged("2", "3", "4", "5")).startswith(
        "0 of 4 independent solutions agree"
    )


def test_no_outcome_of_the_solutions_that_are_not_asked_for_would_change_the_decision() -> None:
    """Every course of up to six solutions: the decision that ends it is that of all its ends."""

    def ends(asked: int, agreeing: int, rival: int, scattered: int, **rule: Any) -> set[bool]:
        found = rejection_reason(
            ConsistencyResult(asked, asked, agreeing, max(rival, min(1, scattered))), **rule
        )
        if found is not None and asked >= 2:
            return {found == ""}
        assert asked < rule["max_solutions"], "the last one always decides"
        counts = (agreeing, rival, scattered)
        return set().union(
            *(
                ends(asked + 1, *(n + (which == m) for m, n in enumerate(counts)), **rule)
                for which in range(3)
            )
        )

    for most in (2, 3, 4, 5, 6):
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            for repaired in (False, True):
                rule = {"max_solutions": most, "min_agreement": share, "repaired": repaired}
                assert ends(0, 0, 0, 0, **rule) == {True, False}, rule
                for agreeing in range(most + 1):
                    # An open decision has two ends: else it was fixed, and nothing left to ask.
                    for asked in range(2, most):
                        for rival in range(asked - agreeing + 1 if agreeing <= asked else 0):
                            result = ConsistencyResult(asked, asked, agreeing, rival)
                            if rejection_reason(result, **rule) is None:
                                left = asked - agreeing - rival
                                found = ends(asked, agreeing, rival, left, **rule)
                                assert found == {True, False}, (rule, result)


def test_the_share_that_must_agree_can_be_chosen() -> None:
    result = judged("1/2", "1/2", "1/2", "4")
    assert rejection_reason(result, 0.75) == ""
    assert rejection_reason(result, 0.76) == (
        "3 of 4 independent solutions agree with the answer, which is not enough; most say 1/2"
    )
    assert rejection_reason(ConsistencyResult(100, 100, 7), 0.07) == ""
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(UsageError):
            rejection_reason(result, share)


def test_solutions_that_were_cut_off_do_not_make_one_enough() -> None:
    assert rejection_reason(ConsistencyResult(requested=4, judged=1, agreeing=1))
