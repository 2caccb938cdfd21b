"""What the last sentence of a solution states, and what claims nothing."""

from pathlib import Path

from infinite_rl.reward_functions.math import verify
from infinite_rl.reward_functions.math.sentences import sentence_answer

LINES = Path(__file__).with_name("math_sentences.txt").read_text(encoding="utf-8").splitlines()
SOLUTIONS = [line.split(" | ") for line in LINES if line and not line.startswith("#")]


def test_a_last_sentence_passes_only_with_the_value_that_it_states() -> None:
    faults = [
        (label, question, gold, text)
        for label, *question, gold, text in SOLUTIONS
        if verify(text.replace("¶", "\n"), gold, question="".join(question)).equal
        != (label == "right")
    ]
    assert len(SOLUTIONS) > 500 and faults == []


def test_a_predicate_answers_yes_or_no_to_the_question_that_has_its_words() -> None:
    def answers(question: str, text: str, gold: str) -> bool:
        return verify(text, gold, question=question).equal

    said = "We divide. So 91 is not prime."
    assert answers("Is 91 prime?", said, "No") and not answers("Is 91 prime?", said, "Yes")
    assert not answers("Is 91 not prime?", said, "No") and not answers("Is 91 odd?", said, "No")
    assert not answers("", said, "No")


def test_a_restriction_stays_with_its_value_and_a_remark_does_not() -> None:
    assert sentence_answer("It is $2k$, where $k$ is an integer.") == "$2k$, k \\in \\mathbb{Z}"
    assert sentence_answer("It is $2k$, where $k$ is odd.") == "$2k$ , where $k$ is odd"
    assert sentence_answer("It is $9$, which is attained at $x = 3$.") == "$9$"
