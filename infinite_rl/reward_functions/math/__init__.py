r"""Mathematical answers compared by meaning: `verify`, and the reward on top of it.

    >>> verify(r"so the answer is \boxed{\frac{1}{2}}", "0.5").status
    'equal'

How two texts become a verdict:

    extract.py       the answers that a text offers, and which one counts
    sentences.py     what a last sentence states: subject, verb, value, unit, restriction, remark
    statements.py    whether the words around an answer state it: a grammar over tokens
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
    exact.py         expressions by arithmetic and polynomials; factored forms
    numeric.py       expressions by values at 50 digits and more, if these do not decide

    verify.py        the steps in turn, for one pair or for many; what a question asks
    reward.py        scores
    bounds.py        limits on all sizes and loops

What a module looks up, words and patterns, is in the text file of its name: `units.txt`.
Model text is never evaluated. Every size and every loop is bounded; no signals are used, and any
thread may call.

The conventions of equality are in `docs/answers.md`; each of their examples is a test.
"""

from .reward import MathRewardFunction
from .verify import Verdict, verify, verify_many

__all__ = ["MathRewardFunction", "Verdict", "verify", "verify_many"]
