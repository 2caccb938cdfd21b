"""Mathematical answers compared by meaning: `verify`, and the reward on top of it.

    >>> verify(r"so the answer is \\boxed{\\frac{1}{2}}", "0.5").status
    'equal'

The stages, each a file: `extract` (where the answer stands), `tokens` and `parse` (our own bounded
parser), `normal` (one typed form for many spellings), `decide` with `exact` and `numeric` (the
decision), `verify`, `reward`. Model text is never evaluated; every size and every loop is bounded
(`bounds`); no signals, any thread.

The conventions, one example each:

- Equality is exact: `7/8` is not `0.88`; `0.\\overline{3}` is `1/3`; `1/50!` is not `1/51!`;
  `\\pi + 10^{-60}` is not `\\pi`, nor are 60 digits of it.
- A missing unit is fine (`15` for `15 cm`), a different one is wrong (`15 m`), a converted one is
  right (`2 km`, `2000 m`). `5 million` is a number. Words that take a number back are no unit.
- Degrees are a unit: `45^\\circ` is `45`, and it is `\\pi/4`.
- Percent is a number: `25%` is `1/4`, and is not `25`.
- `12,345` is a number and not `12.345`; inside brackets the comma separates: `(12,345)` is a point.
- Of several boxes the last one counts; those joined by a comma, "and" or "or" are one list. An
  answer tag goes before a box outside of it, and both before thinking. "I do not think that the
  answer is 4" answers nothing.
- A hedge (`5 or 6`), an empty box, a refusal, a list of guesses are wrong.
- `x = 5` is `5`, `f(x) = e^x` is `e^x`; `x = 5` is not `y = 5`; `2x = y` is `y - 2x = 0`.
- An interval is its inequality: `x > 3` is `(3, \\infty)`, and not `y > 3`. Open ends
  are not closed ends.
- Tuples are ordered; sets, lists of solutions and lists of points are not. `1 \\pm \\sqrt{2}` is a
  list of two.
- A numeral with a base is its value: `101_2` is `5_{10}`, and is not `101_3`.
- Variables are real: `\\sqrt{x^2}` is `|x|`. Where a side has no real value the point is not
  compared.
- `e` and `i` are the constants; `\\log` without a base is natural; `\\sin^{-1}` is the arc sine.
- A last `+ C` beside `x` or another variable of integration is ignored; `a + b + C` is a sum.
- Words ignore case: `East` is `east`, `(C)` is `c`. Two or three letters in a formula are
  variables: `2xy`.
- What cannot be read is `unparsed`. No part of an answer is ever skipped to reach a number.
"""

from __future__ import annotations

from .reward import MathRewardFunction
from .verify import Verdict, verify, verify_many

__all__ = ["MathRewardFunction", "Verdict", "verify", "verify_many"]
