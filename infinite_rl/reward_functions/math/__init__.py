r"""Mathematical answers compared by meaning: `verify`, and the reward on top of it.

    >>> verify(r"so the answer is \boxed{\frac{1}{2}}", "0.5").status
    'equal'

How two texts become a verdict:

    extract.py       the answers that a text offers, and which one counts
    boxes.py         the last box, and the boxes that are joined to it into one list
    sentences.py     what a last sentence states: subject, verb, value, unit, restriction, remark
    statements.py    whether the words around an answer state it: a grammar over tokens
    notations.py     "mean 6, variance 4", `5C2` and their like, in the spelling that is read
    tokens.py        LaTeX, ASCII and Unicode spellings as one small vocabulary; the cursor
    units.py         the table of units

    parse.py         a bounded precedence parser, tokens to a tree
    numbers.py       numerals and quantities
    structures.py    functions, calculus, matrices, cases, sets by a condition, vectors
    tree.py          the tree that all later steps read

    normal_form.py   one typed form for many spellings
    text_answers.py  choices, named sets, sentences, dates, remarks such as "for all real x"
    conditions.py    "2x for all x > 0": a condition in order, or none where it says nothing
    regions.py       sets of real numbers as sorted intervals, functions by cases
    algebra.py       integrals, sums, limits and derivatives as closed forms
    solver.py        sympy, on trees built by its constructors, in a process whose forks are killed
                     at the deadline

    equivalence.py   two forms, compared kind by kind
    families.py      arbitrary constants, and parameters of lines, by any names
    exact.py         expressions by arithmetic and polynomials; factored forms
    numeric.py       expressions by values at 50 digits and more, if these do not decide

    verify.py        the steps in turn, for one pair or for many
    question.py      what the question says of the form of its answer
    reward.py        scores
    bounds.py        limits on all sizes and loops

One answer through the stages: the text that counts, its tokens, the tree, the normal form, in which
two relations of x are a region, the canonical form, in which its intervals are sorted and joined,
and the verdict.

    >>> from . import bounds, extract, normal_form, parse, tokens, tree
    >>> from .verify import canonicalize
    >>> output = r"So \boxed{x > 2 \text{ or } 0 < x \le 5}."
    >>> text = extract.answer_text(output)
    >>> text
    'x > 2 \\text{ or } 0 < x \\le 5'
    >>> " ".join(token.text for token in tokens.tokenize(text)).strip()
    'x > 2 or 0 < x <= 5'
    >>> tree.show(parse.parse(text))
    '(list or (rel > x 2) (rel < <= 0 x 5))'
    >>> form = normal_form.read(text, bounds.Budget(1))
    >>> tree.show(form)
    '(region x (interval () 2 inf) (interval (] 0 5))'
    >>> tree.show(canonicalize(form, bounds.Budget(1)))
    '(region x (interval () 0 inf))'
    >>> verify(output, r"x \in (0, \infty)").status
    'equal'

What a module looks up, words and patterns, is in the text file of its name: `units.txt`.
Model text is never evaluated. Every size and every loop is bounded; no signals are used, and any
thread may call.

The conventions of equality are in `docs/equality.md`; each of their examples is a test.
"""

from .reward import MathRewardFunction
from .verify import Verdict, verify, verify_many

__all__ = ["MathRewardFunction", "Verdict", "verify", "verify_many"]
