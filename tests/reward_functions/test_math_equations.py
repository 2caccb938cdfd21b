"""A number is no answer to a question whose gold is an equation."""

import pytest

from infinite_rl.reward_functions.math import verify

EQUATIONS = ["x^2+y^2=25", "2x + z = 25", "6x+3y+2z=25", "y^2=25", "x^2 + 4y = 25", "xy = 25"]


@pytest.mark.parametrize("gold", EQUATIONS)
@pytest.mark.parametrize("answer", ["25", r"So the answer is \boxed{25}."])
def test_the_right_side_of_an_equation_is_not_the_equation(gold: str, answer: str) -> None:
    assert not verify(answer, gold).equal
    assert not verify(answer, f"${gold}$").equal
    assert verify(rf"\boxed{{{gold}}}", gold).equal
