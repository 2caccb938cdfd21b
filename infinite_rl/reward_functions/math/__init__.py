r"""Mathematical answers compared by meaning: `verify`, and the reward on top of it.

    >>> verify(r"so the answer is \boxed{\frac{1}{2}}", "0.5").status
    'equal'

How two texts become a verdict:

    extract.py       the answers that a text offers, and which one counts
    statements.py    whether the words around an answer state it: a grammar over tokens
    preprocess.py    numbers in words, and notations of more than one token, rewritten
    tokens.py        LaTeX, ASCII and Unicode spellings as one small vocabulary; the cursor
    units.py         the table of units

    parse.py         a bounded precedence parser, tokens to a tree
    numbers.py       numerals and quantities
    structures.py    functions, calculus, matrices, cases, sets by a condition, vectors
    tree.py          the tree that all later steps read

    normal_form.py   one typed form for many spellings
    text_answers.py  choices, named sets, sentences, dates, remarks such as "for all real x"
    canonicalize.py  calculus evaluated, chains checked, sets and conditions in order
    regions.py       sets of real numbers as sorted intervals, functions by cases
    algebra.py       integrals, sums, limits and derivatives as closed forms
    solver.py        sympy, on trees built by its constructors, in a process whose forks are killed
                     at the deadline

    equivalence.py   two forms, compared kind by kind
    exact.py         expressions by arithmetic and polynomials
    numeric.py       expressions by values at 50 digits and more, if these do not decide

    verify.py        the steps in turn, for one pair or for many
    reward.py        scores
    bounds.py        limits on all sizes and loops

What a module looks up, words and patterns, is in the text file of its name: `units.txt`.
Model text is never evaluated. Every size and every loop is bounded; no signals are used, and any
thread may call.

Conventions. Each example is a test: `==` are equal, `!=` are different, `??` cannot be read.

- Numbers are exact and nothing is rounded. `...` goes on with the last cycle.
      7/8 != 0.88    0.\overline{3} == 1/3    0.1666... == 1/6    1/50! != 1/51!
      3.14159265358979323846264338327950288419716939937510582097494 != \pi
- Spelling is free: LaTeX, plain text or Unicode; mixed numbers, powers of ten, spaces.
      \dfrac12 == 1/2    2\frac{1}{2} == 2½    3 \times 10^8 == 3e8    2*sqrt(3) == \sqrt{12}
- A missing unit is fine, another one is wrong, a converted one is right, and so is a sum.
      15 == 15 cm    15 m != 15 cm    2 km == 2000 m    90 min == 1.5 h    1 h 30 min == 90 min
      20 degrees Celsius == 68 degrees Fahrenheit    5 apples != 5 pears
- "Square units" are of any length.
      12 square units == 12 cm^2
- Words can be numbers. Words that take a number back are no unit.
      5 million == 5000000    five dozen == 60    3 sevenths == 3/7    5 factorial ?? 5
- Degrees are a unit, and a number without one may be meant in them. Functions take radians.
      45^\circ == 45    45^\circ == \pi/4    \sin 30^\circ == 1/2    \sin 30 != 1/2
- Money is a unit.
      $5 == 5 dollars    50 cents == \$0.50    $5 != 5 euros
- A percentage is a number.
      25\% == 1/4    25\% != 25
- A comma between thousands is no decimal point; inside brackets it separates.
      12,345 == 12345    12,345 != 12.345    (12,345) == (12, 345)
- The last box wins. Boxes joined by a comma, "and" or "or", by lines of their own or as the parts
  (a) and (b) are one list; names stay with them, and other words between them join nothing.
      \boxed{4}, so it is \boxed{5} == 5    \boxed{4} or \boxed{5} != 5
      x = \boxed{4} or x = \boxed{5} == 4, 5    x = \boxed{4}, y = \boxed{5} == (4, 5)
      (a) \boxed{4} (b) \boxed{5} == 4, 5    \(\boxed{4}\) and \(\boxed{5}\) != 5
- "For all x" is a remark and no factor; behind `5k + 3` "for all integers k" makes a class.
      f(x) = 1 \text{ for all } x == f(x) = 1    f(x) = 1 \text{ for all } x != f(x) = x
- "For all x > 0" is a condition, and two of them must be equal. One that only one side states makes
  another claim, unless it is the natural one: whole numbers n (also from 0 or 1 on), complex z, the
  real numbers at which the value exists, positive ones if it does not exist at 0. A claim that is
  plainly false cannot be read.
      2x for all x > 0 == 2x for all positive x    2x for all x > 0 != 2x for all x < 0
      2x for all x > 0 != 2x    \ln x for all x > 0 == \ln x    3n for all n \ge 1 == 3n
      3n for all n \ge 2 != 3n    x > 0 for all x ?? x > 0    all x == \mathbb{R}
- An answer tag goes before a box outside of it, and both before thinking.
      <answer>3</answer> \boxed{4} == 3    <think>\boxed{4}</think> \boxed{3} == 3
- What takes an answer back wins, and what denies one answers nothing.
      The answer is 4. No wait, 5 == 5    I do not think that the answer is 4 ?? 4
- A refusal, a hedge, an empty box, a list of guesses are wrong.
      I cannot answer that. != 5    5 or 6 != 5    \boxed{} ?? 5    1, 2, 3, 4, 5 != 5
- A value may have a name. Equations are the same where their solutions plainly are.
      x = 5 == 5    f(x) = e^x == e^x    x = 5 != y = 5    2x = y == y - 2x = 0
- A sentence with "is" states a value. What denies it, or leaves it open, states none.
      The total cost is $5 == 5    x is 5 != y = 5    So the value is 5 == 5    None is 5 ?? 5
- A chain of equal signs must hold; it is worth its last part.
      2 + 3 = 5 == 5    2 + 2 = 5 ?? 5
- A bound name is free, and so are those of arbitrary constants and of the whole number beside pi.
      f(n) = n + 1 == f(x) = x + 1    f(x) = x + 1 != g(x) = x + 1    y = Ce^x == y = Ae^x
      y = C e^{2x} != y = C e^x    x = \frac{\pi}{4} + k\pi == x = \frac{\pi}{4} + n\pi
- A quantity that a task asks for may stand before its value; a single variable's multiple may not.
      m + n = 306 + 9 = 315 == 315    P(X > 2) = 1/4 == 1/4    |AB| = 5 == 5    2x = 10 != 10
- Values of several names are in the order of the names; a list with a value twice is in order.
      x = 1, y = 2 == 1, 2    x = 1, y = 2 != 2, 1    4, 3, 3 != 3, 4, 3
- Dots go on with equal steps or ratios.
      1, 3, \ldots, 9 == 1, 3, 5, 7, 9    1 + 2 + \cdots + n == n(n+1)/2    2, 3, 5, \ldots, 11 ?? 5
- Derivatives have names of their own, and vectors are added entry by entry.
      y' + y = 0 != y'' + y = 0    (1, 2) + t(3, 4) == (1 + 3t, 2 + 4t)
- A set that is given twice must be the same.
      x \le 1: (-\infty, 1] == x \le 1    x \le 1: (-\infty, 2] ?? x \le 2
- "About" before a number with a decimal point is a remark.
      \approx 3.14 == 3.14    \approx 3.14 != \pi
- The last sentence counts where it concludes: what is bold at its end, or what "so" leads to.
      We add. So it is 5. == 5    We add. The sum is **5**. == 5    It is 4. We add. Done. ?? 4
- An interval is its inequality in one variable. Open ends are not closed ends.
      x > 3 == (3, \infty)    2x > 6 == x > 3    y > 3 != x > 3    [3, 4) != [3, 4]
- Sets of numbers are compared as sets, however they are put together or described.
      [0,1] \cup [1,2] == [0,2]    \{t \mid t > 3\} == (3, \infty)    |x| < 2 == (-2, 2)
- Functions by cases are compared on every stretch and at every edge.
      \begin{cases} x & x \ge 0 \\ -x & x < 0 \end{cases} == |x|
- Tuples are ordered; brace sets, lists of solutions and lists of points are not.
      (1,2) != (2,1)    \{1,2\} == \{2,1\}    x = 1, x = 2 == 2, 1    (1,2), (3,4) == (3,4), (1,2)
      x = 1, y = 2; x = 2, y = 1 == (2,1), (1,2)    x = 1 or y = 2 != (1, 2)
- Each plus-minus is free; beside a minus-plus all go together.
      1 \pm \sqrt{2} == 1 + \sqrt{2}, 1 - \sqrt{2}    \pm 2 \pm 3 == 5, 1, -1, -5
      \pm 2 \mp 3 == 1, -1    (\pm 2, 0) == (2, 0), (-2, 0)
- Matrices are compared entry by entry; a column is a vector.
      \begin{pmatrix} 1 \\ 2 \end{pmatrix} == (1, 2)    3\hat{i} + 4\hat{j} == (3, 4)
- Vectors, bold or with an arrow, are not multiplied: that is no product of numbers.
      \vec{a} + 2\vec{b} == 2\vec{b} + \vec{a}    \vec{a} \times \vec{b} ?? \vec{b} \times \vec{a}
- A numeral with a base is its value.
      101_2 == 5_{10}    0x5 == 5_{10}    101_2 != 101_3
- A ratio is proportional.
      6:8 == 3:4    6:8 != 4:3    2:4:6 == 1:2:3
- Dates and times of day have many spellings.
      2:30 pm == 14:30    March 5, 2020 == 2020-03-05    March 5 != March 6
- A choice is its letter or what is said beside it.
      (B) 12 == B    (B) 12 == 12    (B) 12 != C    (B) 12 != 13    (C) == c
- A congruence has a modulus. `x = 5k + 3` is one where it says that `k` is whole.
      x = 5k + 3, k \in \mathbb{Z} == x \equiv 3 \pmod 5    x = 5k + 3 != x \equiv 3 \pmod 5
      x \equiv 8 \pmod 5 == x \equiv 3 \pmod 5    x \equiv 8 \pmod 5 != 3
      \{5k + 3 : k \in \mathbb{Z}\} == x \equiv 3 \pmod 5
- An integral, a limit, a derivative, an endless sum is its closed form, if numbers confirm it.
      \int_0^1 2x \, dx == 1    \int_0^1 x^x \, dx ?? 0.78
- A constant of integration may be missing; with one each, antiderivatives may differ by a number.
      x^2 + C == x^2    x^2 + C == x^2 + 1 + C    a + b + C != a + b
- Variables are real. `e` and `i` are constants, and letters side by side are a product.
      \sqrt{x^2} == |x|    i^2 == -1    2xy == 2yx    \sin^{-1} x == \arcsin x
- Text ignores case, articles and hyphens. A plain sentence with "is" states it.
      East == east    the circle == circle    north != south    north-east == northeast
      The sum is even == even    The sum is not even != even
- Letters joined by "or" are no list of them.
      A and C == A, C    A or C != A, C
- A rounded value after an exact one is a remark.
      \sqrt{2} \approx 1.41 == \sqrt{2}    \sqrt{2} \approx 1.41 != 1.41
- What cannot be read is unparsed: no part of an answer is skipped to reach a number.
      it is 5 !! ?? 5    5 + ?? 5

Disputable conventions, where others may decide otherwise:

- A time without "am" or "pm" is of 24 hours.
      2:30 != 2:30 pm    14:30 == 2:30 pm
- A ratio of two parts is also their quotient.
      3:4 == 3/4
- A box states the answer, unless the words or signs around it deny it, suppose it, ask, count with
  it, or take it back right behind it, as another plain number does that "the answer is".
      \boxed{5}, as 6 is even == 5    \boxed{5}. Wait, no, it is 6. ?? 5    2\boxed{5} ?? 5
- A date in numerals has the month first, unless the year leads.
      01/02/2020 == January 2, 2020    2020-01-02 == January 2, 2020
- Where a side has no real value nothing is compared, unless an absolute value asks for it.
      \ln x^2 == 2 \ln x    \ln x != \ln|x|    \frac{x^2}{x} == x
- A logarithm without a base is natural.
      \log e == 1    \log 100 != 2
- A number may leave out its unit, even degrees; radians are the unit of a bare angle as well.
      30 == 30^\circ    \pi/6 == 30^\circ
- A point and an open interval are written alike, and the other side decides.
      (2, 5) == 2 < x < 5
- So are the point C and a number of choices.
      C(5, 2) == 10    C(5, 2) == (5, 2)
"""

from .reward import MathRewardFunction
from .verify import Verdict, verify, verify_many

__all__ = ["MathRewardFunction", "Verdict", "verify", "verify_many"]
