"""Mathematical answers compared by meaning: `verify`, and the reward on top of it.

    >>> verify(r"so the answer is \\boxed{\\frac{1}{2}}", "0.5").status
    'equal'

The stages, each a file: `extract` (where the answer stands), `tokens` and `parse` (our own bounded
parser, with `numerals`, `quantities` and `environments`), `normal` (one typed form for many
spellings), `calculus` and `algebra` (integrals, sums, limits and derivatives, to their closed
forms), `decide` with `exact` and `numeric` (the decision), `verify`, `reward`. Model text is never
evaluated; every size and every loop is bounded (`bounds`); no signals, any thread. Only closed
forms are the work of sympy: on trees built by its constructors, in a process (`solver`) whose forks
are killed at the deadline.

The conventions, one example each:

- Equality is exact: `7/8` is not `0.88`; `0.\\overline{3}` is `1/3`; `1/50!` is not `1/51!`;
  `\\pi + 10^{-60}` is not `\\pi`, nor are 60 digits of it.
  `0.1666...` goes on with its last cycle.
- A missing unit is fine (`15` for `15 cm`), a different one is wrong (`15 m`), a converted one is
  right (`2 km`, `2000 m`), and so is a sum (`1 h 30 min`, `90 min`). `20` degrees Celsius are `68`
  degrees Fahrenheit. `5 apples` are not `5 pears`; "square units" are of any length.
- `5 million` and `five dozen` are numbers. Words that take a number back are no unit.
- Degrees are a unit: `45^\\circ` is `45`, and it is `\\pi/4`. `\\sin 30` is of radians.
- Percent is a number: `25%` is `1/4`, and is not `25`.
- `12,345` is a number and not `12.345`; inside brackets the comma separates: `(12,345)` is a point.
- Of several boxes the last one counts; those joined by a comma, "and" or "or" are one list. An
  answer tag goes before a box outside of it, and both before thinking. "I do not think that the
  answer is 4" answers nothing.
- A hedge (`5 or 6`), an empty box, a refusal, a list of guesses are wrong.
- `x = 5` is `5`, `f(x) = e^x` is `e^x`; `x = 5` is not `y = 5`; `2x = y` is `y - 2x = 0`.
- An interval is its inequality: `x > 3` is `(3, \\infty)`, as `2x > 6` and
  `\\{t \\mid t > 3\\}` are, and not `y > 3`. Open ends are not closed ends. Unions are compared as
  sets: `[0,1] \\cup [1,2]` is `[0,2]`.
- Functions by cases are compared on every stretch and at every edge: cases can be `|x|`.
- Tuples are ordered; sets, lists of solutions and lists of points are not. `1 \\pm \\sqrt{2}` is a
  list of two.
- A numeral with a base is its value: `101_2` and `0x5` are `5_{10}`, and are not `101_3`.
- A ratio is proportional, and of two parts a quotient: `6:8` is `3:4` and `3/4`.
- `2:30 pm` is `14:30` and not `2:30`; `March 5, 2020` is `2020-03-05` and `3/5/2020`.
- `(B) 12` is `B`, and it is `12`; it is neither `C` nor `13`.
- `x \\equiv 8 \\pmod 5` is `x \\equiv 3 \\pmod 5`, and is not `3`.
- An integral, a limit, a derivative, an endless sum is its closed form: `\\int_0^1 2x \\, dx` is
  `1`. One without a closed form that numbers confirm is `unparsed`.
- Variables are real: `\\sqrt{x^2}` is `|x|`. Where a side has no real value the point is not
  compared, unless an absolute value asks for it: `\\ln |x|` is not `\\ln x`.
- `e` and `i` are the constants; `\\log` without a base is natural; `\\sin^{-1}` is the arc sine.
- A `+ C` beside `x` or another variable of integration may be missing; two antiderivatives with it
  may differ by a number. `a + b + C` is a sum.
- What takes an answer back wins: "The answer is 4. No wait, 5" answers `5`.
- Words ignore case: `East` is `east`, `(C)` is `c`. Two or three letters in a formula are
  variables: `2xy`.
- What cannot be read is `unparsed`. No part of an answer is ever skipped to reach a number.
"""

from __future__ import annotations

from .reward import MathRewardFunction
from .verify import Verdict, verify, verify_many

__all__ = ["MathRewardFunction", "Verdict", "verify", "verify_many"]
