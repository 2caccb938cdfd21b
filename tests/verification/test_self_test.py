"""The verifier's own test: wrong answers are surely wrong, right ones are right, and both show."""

import ast
import json
from fractions import Fraction
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

from infinite_rl.layout import fenced, tagged
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.reward_functions.math import MathRewardFunction, verify
from infinite_rl.reward_functions.math.bounds import Budget
from infinite_rl.reward_functions.math.normal_form import read
from infinite_rl.reward_functions.reward_function import RewardFunction
from infinite_rl.types import RewardFunctionScore, Sample
from infinite_rl.verification.latex import Unwritable, fraction, latex
from infinite_rl.verification.math_corruptions import approximate, same_answers, wrong_answers
from infinite_rl.verification.self_test import SelfTest, corruptions, self_test
from infinite_rl.workers.pool import Lost
from tests.support.labelled import Tables

tables = Tables(__file__)

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
REWARD, CODING = MathRewardFunction(), CodingRewardFunction()
ADD = "def add(a, b):\n    total = a + b\n    return total\n"


def math_row(answer: str) -> Sample:
    return Sample("math", "What is it?", answer, tagged(answer))


def code_row(code: str, *tests: str, language: str = "python") -> Sample:
    response = tagged(f"\n{fenced(code, language)}\n")
    return Sample("coding", "Write it.", json.dumps({"tests": tests}), response, language)


def kinds(answer: str) -> dict[str, str]:
    """One wrong answer of each kind."""
    return {kind: text for kind, text in reversed(wrong_answers(answer, "seed"))}


def spellings(answer: str) -> dict[str, str]:
    return dict(same_answers(answer))


# --- wrong answers
def test_a_number_is_changed_in_each_way() -> None:
    assert kinds("1234").keys() == {"off by one", "digit", "sign", "two answers"}
    assert wrong_answers("7", "seed")[:2] == [("off by one", "8"), ("off by one", "6")]


@tables
def test_a_change_gives_one_of_these(answer: str, kind: str, texts: tuple[str, ...]) -> None:
    text = kinds(answer).get(kind)
    assert text in texts if texts else text is None


def test_one_coordinate_is_changed() -> None:
    assert {text for kind, text in wrong_answers("(4, 4)", "seed") if "coordinate" in kind} <= {
        r"\left(5, 4\right)",
        r"\left(4, 5\right)",
    }
    finite = [text for _, text in wrong_answers(r"(\pi, \infty)", "seed")]
    assert finite == [r"\left(\pi + 1, \infty\right)"]


def test_only_a_finite_end_is_opened_or_closed() -> None:
    flipped = [text for kind, text in wrong_answers("x > 3", "seed") if kind.startswith("open")]
    assert flipped == [r"\left[3, \infty\right)"]


def test_a_changed_member_is_none_of_the_others() -> None:
    for number in range(20):
        for kind, text in wrong_answers(r"\{1, 2, 3\}", str(number)):
            assert len(read(text, Budget(1)).args) == (2 if kind == "missing member" else 3)
            assert not verify(text, r"\{1, 2, 3\}").equal


@tables
def test_where_it_is_not_sure_there_is_no_wrong_answer(answer: str) -> None:
    assert wrong_answers(answer, "seed") == []


def test_they_follow_from_the_seed() -> None:
    assert wrong_answers("123456", "1") == wrong_answers("123456", "1")
    assert wrong_answers("123456", "1") != wrong_answers("123456", "2")


@pytest.mark.parametrize(
    "answer",
    ["9" * 900, "(" * 39 + "1" + ")" * 39, "2^{2^{2^{2^{2}}}}", "1/0", r"\frac{1}{0}", "{" * 5000]
    + ["1000!", "e^{e^{e^{e}}}", r"\sin(10^{30})", "2^{4000}", r"\binom{900}{450}", "(x+1)^{60}"]
    + [", ".join(map(str, range(150))), "9" * 2000, r"\sqrt{" * 30 + "2" + "}" * 30],
)
def test_hostile_answers_are_no_trouble(answer: str) -> None:
    for _, text in wrong_answers(answer, "seed"):
        assert not verify(text, answer).equal
    for _, text in same_answers(answer):
        assert verify(text, answer).equal


# --- right answers
@tables
def test_an_answer_has_this_spelling_of_a_kind(answer: str, kind: str, text: str | None) -> None:
    assert spellings(answer).get(kind) == text


@tables
def test_an_answer_that_is_written_out_reads_back(answer: str) -> None:
    assert verify(latex(read(answer, Budget(1))), answer).equal


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(Unwritable):
        fraction(Fraction(10**5000))
    with pytest.raises(Unwritable):
        latex(read("5x - 7y = 4", Budget(1)))


def test_a_value_is_only_told_where_its_digits_are_known() -> None:
    value = approximate(read(r"\sqrt{2} + \pi x", Budget(1)), {"x": 2.0})
    assert value is not None and abs(value - 7.697398) < 1e-6
    assert approximate(read("x", Budget(1)), {}) is None
    assert (
        approximate(read(r"\sqrt{2} \cdot 10^{9} - \sqrt{2} \cdot 10^{9}", Budget(1)), {}) is None
    )


# --- of a row
def test_corruptions_say_what_must_pass() -> None:
    found = list(corruptions(math_row("5")))
    assert found[0].response == "<answer>5</answer>" and found[0].equal
    assert "<answer>6</answer>" in [each.response for each in found if not each.equal]
    assert not list(corruptions(Sample("law", "p", "5", "r")))


def test_a_program_is_changed_in_its_response() -> None:
    found = list(corruptions(code_row(ADD, "assert add(1, 2) == 3")))
    assert [each.kind for each in found if each.equal] == ["rewritten"]
    assert any("a - b" in each.response for each in found if not each.equal)
    assert not list(corruptions(Sample("coding", "p", "5", "no code", "python")))


# --- the self-test
class Fake(RewardFunction):
    """Judges by a function of the completion."""

    def __init__(self, judge: object) -> None:
        super().__init__("fake")
        self.judge = judge

    def compute_reward(self, model_output, expected_output, answer_tag="answer"):  # type: ignore
        return RewardFunctionScore(1.0, 0.0, status=self.judge(model_output))  # type: ignore


def test_a_sound_mathematical_row_has_no_fault() -> None:
    result = self_test(math_row("-12"), REWARD)
    assert result == SelfTest(5, 5, 5, 5) and result.verifier_recall == 1.0
    assert result.columns() == {"verifier_recall": "1.0", "mutants": "5", "fuel": ""}


def test_a_verifier_that_accepts_a_wrong_answer_is_a_fault() -> None:
    result = self_test(math_row("12"), Fake(lambda _: "passed"))
    assert result.killed == 0 and "accepts a wrong answer (off by one)" in result.fault


def test_a_verifier_that_compares_text_is_a_fault() -> None:
    by_text = Fake(lambda text: "passed" if text == "<answer>12</answer>" else "failed")
    result = self_test(math_row("12"), by_text)
    assert "rejects what is right (boxed)" in result.fault
    assert (result.passed_equivalents, result.total) == (1, 0)


def test_what_the_reward_cannot_judge_does_not_count() -> None:
    assert self_test(math_row("12"), Fake(lambda _: "unscored")) == SelfTest()


def test_a_row_without_corruptions_is_not_judged() -> None:
    result = self_test(Sample("law", "p", "a", "r"), REWARD)
    assert result == SelfTest() and result.columns() == {
        "verifier_recall": "",
        "mutants": "0",
        "fuel": "",
    }


def test_tests_that_see_the_changes_have_no_fault() -> None:
    result = self_test(code_row(ADD, "assert add(1, 2) == 3"), CODING)
    assert (result.killed, result.total, result.fault) == (2, 2, "")


@tables
def test_a_program_runs_respelled_where_that_matters(code: str, test: str, runs: int) -> None:
    assert self_test(code_row(code, test), CODING).total_equivalents == runs


def test_tests_that_read_the_program_are_a_fault() -> None:
    code = "def add(a, b):\n    # the sum\n    return a + b\n"
    row = code_row(code, "assert add.__code__.co_firstlineno + add(0, 1) == 2", "add.x = 1")
    again = "add.__code__.co_code and add.__code__.co_positions().__next__()[0] == 1"
    spelled = code_row(code, f"assert list(add.__code__.co_lines())[-1][2] == 3; {again}")
    assert not self_test(row, CODING).fault
    assert "rejects what is right (rewritten)" in self_test(spelled, CODING).fault


def test_a_slow_program_has_mutants_as_slow() -> None:
    slow = "def f(n):\n    total = 0\n    for i in range(1_500_000):\n        total += i % 2\n"
    row = code_row(slow + "    return n + 1\n", "assert f(1) == 2")
    assert self_test(row, CODING).total > 0


def test_tests_that_see_nothing_are_a_fault() -> None:
    result = self_test(code_row(ADD, "assert callable(add)"), CODING)
    assert (result.killed, result.verifier_recall) == (0, 0.0)
    assert f"accepts {result.total} of {result.total} programs" in result.fault


class Counting(RewardFunction):
    """Passes the row's own program, and the mutants that `kills` leaves; counts what it judged."""

    def __init__(self, own: str, kills: str) -> None:
        super().__init__("counting")
        self.own, self.kills, self.judged = own, iter(kills), []  # shared with copies of this one

    def compute_reward(self, model_output, expected_output, answer_tag="answer"):  # type: ignore
        self.judged.append(model_output)
        status = "passed" if self.own in model_output else KILLS[next(self.kills)]
        return RewardFunctionScore(1.0, 0.0, status=status)


KILLS = {"k": "failed", "s": "passed", "u": "unscored"}
MUTATED = "def f(a, b):\n    c = a + 1\n    d = b * 2\n    return c - d\n"


@tables
def test_no_more_mutants_are_run_than_decide(kills: str, judged: int, fault: bool) -> None:
    reward = Counting(ast.unparse(ast.parse(MUTATED)), kills.ljust(6, "s"))
    result = self_test(code_row(MUTATED, "assert f(1, 2) == -2"), reward)
    assert bool(result.fault) == fault
    assert len(reward.judged) == judged + 1
    assert result.total == judged - kills[:judged].count("u")


def test_one_worker_call_runs_all_programs_of_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def in_one_call(work: str, jobs: list[Any], count: int, bound_s: float) -> list[Any]:
        calls.append((work, len(jobs)))
        return [resolve_name(work)(json.loads(json.dumps(job))) for job in jobs]

    monkeypatch.setattr("infinite_rl.verification.self_test.in_workers", in_one_call)
    assert not self_test(code_row(ADD, "assert add(1, 2) == 3"), CODING).fault
    assert calls == [("infinite_rl.verification.self_test:self_test_job", 1)]


def test_programs_that_end_their_workers_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "infinite_rl.verification.self_test.in_workers", lambda *_: [Lost("it died")]
    )
    assert self_test(code_row(ADD, "assert add(1, 2) == 3"), CODING) == SelfTest()


def test_javascript_is_tested_too() -> None:
    code = "function add(a, b) { let c = a + b; if (c > 100) { c = 100; } return c; }"
    good = "require('assert').strictEqual(add(1, 2), 3)"
    assert not self_test(code_row(code, good, language="javascript"), CODING).fault
    poor = "require('assert').ok(add)"
    assert self_test(code_row(code, poor, language="javascript"), CODING).fault


def test_a_mutant_that_never_ends_does_not_count() -> None:
    code = "def f(n):\n    while n > 0:\n        n -= 1\n    return n\n"
    result = self_test(code_row(code, "assert f(3) == 0"), CODING)
    ended = {each.kind for each in corruptions(code_row(code)) if not each.equal}
    assert "dropped statement" in ended and result.total < len(ended) + 1
    assert not result.fault


def test_few_mutants_say_nothing() -> None:
    result = self_test(code_row("f = abs", "assert callable(f)"), CODING)
    assert 0 < result.total < 3 and not result.fault


def test_the_share_that_the_tests_must_see_can_be_chosen() -> None:
    row = code_row(
        "def f(a, b):\n    if a:\n        return 1\n    return 2 + b - 1 + 5 - 5\n",
        "assert f(1, 1) == 1",
    )
    result = self_test(row, CODING, min_recall=1.0)
    assert 0 < result.killed < result.total and result.fault
    assert not self_test(row, CODING, min_recall=0.01).fault


def golds(name: str) -> list[str]:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the data set {path} is not here")
    answers = [json.loads(line)["answer"] for line in path.read_text("utf-8").splitlines()]
    return [answer.rpartition("#### ")[2].strip() for answer in answers]


@pytest.mark.parametrize(("name", "most"), [("math500/test.jsonl", 3), ("gsm8k/test.jsonl", 0)])
def test_each_real_answer_has_corruptions_and_no_fault(name: str, most: int) -> None:
    results = [self_test(math_row(gold), REWARD) for gold in golds(name)]
    assert [result.fault for result in results if result.fault] == []
    assert sum(result.total == 0 for result in results) <= most
