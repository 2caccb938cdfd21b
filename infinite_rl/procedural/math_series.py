"""Sequences and series: terms, sums, formulas, recurrences and limits."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from .draw import Draw
from .wording import Problem, Question, in_brackets, polynomial, posed, reduced, signed_sum, times


def make(draw: Draw, level: int) -> Problem:
    """A problem of level 1 to 3 on a sequence; the answer is a number or an expression in n."""
    kinds = (arithmetic, geometric, recurrence, squares)
    harder = (infinite, power_sum, telescope, quotient, repeating)
    return draw.pick(kinds if level == 1 else (*kinds, *harder))(draw, level)


NO_ROUNDING = ("", "Do not round.", "Give an exact value.", "Fractions stay fractions.")
POLYNOMIAL = ("Answer with a polynomial in n.", "Expand the result in powers of n.")
FORMULA = (
    "Give an expression in n, where n = 1 belongs to the first term.",
    "The first term is the one with n = 1.",
    "Count n from 1, and answer with an expression in n.",
)


def listed(terms: Sequence[object]) -> str:
    return ", ".join(map(str, terms))


def factor(value: Fraction) -> str:
    """The number as it stands in a product: `3`, `(-3)`, `(2/3)`."""
    return f"({value})" if value.denominator > 1 else in_brackets(value)


def ordinal(n: int) -> str:
    """`1st`, `12th`, `23rd`."""
    last = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{last}"


# --- equal steps, equal ratios


def arithmetic(draw: Draw, level: int) -> Problem:
    a, d = draw.between(-9, 12 * level), draw.nonzero(-6, 4 + 3 * level)
    n = draw.between(8, 12 + 12 * level)
    last, i, j = a + (n - 1) * d, draw.between(2, 4), draw.between(6, 9)
    total = n * (a + last) // 2
    term = f"The {ordinal(n)} term is {a} + {n - 1}·{in_brackets(d)} = {last}."
    added = f"The sum is {n}·({a} + {in_brackets(last)})/2 = {total}."
    rule = polynomial((d, a - d), "n")
    formula = f"The terms are {a} + (n - 1)·{in_brackets(d)}, that is {rule}."
    which = f"{rule} = {last} holds for n = {n}."
    questions = (
        Question(f"the {ordinal(n)} term", last, (term,)),
        Question(f"the sum of the first {n} terms", total, (term, added)),
        Question("a formula for the term with number n", rule, (formula,), FORMULA),
        Question(f"the number n of the term that equals {last}", n, (formula, which)),
    )
    first = listed([a + k * d for k in range(3 + draw.below(2))])
    facts = [
        f"an arithmetic sequence begins with {first}",
        f"a sequence starts with {a} and each term is the one before plus {in_brackets(d)}",
        f"numbers with equal differences are listed: {first}, and so on",
    ]
    u, v = a + (i - 1) * d, a + (j - 1) * d
    if level == 1 or draw.chance(0.4):
        return posed(draw, facts, draw.pick(questions), [f"The common difference is {d}."])
    facts = [
        f"the {ordinal(i)} term of an arithmetic sequence is {u} and the {ordinal(j)} term is {v}",
        f"in an arithmetic sequence a_{i} = {u} and a_{j} = {v}",
    ]
    steps = [
        f"The common difference is ({v} - {in_brackets(u)})/{j - i} = {d}.",
        f"The first term is {u} - {i - 1}·{in_brackets(d)} = {a}.",
    ]
    return posed(draw, facts, draw.pick(questions), steps)


def geometric(draw: Draw, level: int) -> Problem:
    a = draw.nonzero(-4, 6) * (1 if level < 3 else 12)
    ratio = Fraction(draw.pick((2, 3, -2, 4, -3, 5)))
    if level == 3:
        ratio = Fraction(draw.pick((1, -1, 2, -2, 3)), draw.pick((2, 3, 4)))
        ratio = ratio if abs(ratio) != 1 else Fraction(1, 2)
    n = draw.between(4, 5 + level)
    last, total = a * ratio ** (n - 1), sum(a * ratio**k for k in range(n))
    r = factor(ratio)
    term = f"The {ordinal(n)} term is {a}·{r}^{n - 1} = {last}."
    added = f"The sum is {a}·({r}^{n} - 1)/({ratio} - 1) = {total}."
    front = {1: "", -1: "-"}.get(a, f"{a}*")
    rule = f"{front}{r}^(n - 1)"
    questions = (
        Question(f"the {ordinal(n)} term", last, (term,), NO_ROUNDING),
        Question(f"the sum of the first {n} terms", total, (added,), NO_ROUNDING),
        Question("a formula for the term with number n", rule, (f"That is {rule}.",), FORMULA),
    )
    first = listed([a * ratio**k for k in range(3)])
    given = (
        f"a geometric sequence begins with {first}",
        f"a sequence starts with {a} and each term is the one before times {r}",
        f"numbers with equal ratios are listed: {first}, and so on",
    )
    start = f"The common ratio is {ratio}, so a term is {a}·{r}^k after k steps."
    return posed(draw, given, draw.pick(questions), [start])


# --- rules from term to term


def recurrence(draw: Draw, level: int) -> Problem:
    a, b = draw.between(1, 5), draw.between(1, 6)
    p, q = draw.nonzero(-2, 3), draw.nonzero(-6, 6) if level == 1 else draw.nonzero(-2, 3)
    n = draw.between(4, 5 + level)
    terms = [a] if level == 1 else [a, b]
    steps = []
    while len(terms) < n:
        if level == 1:
            made, text = p * terms[-1] + q, f"{p}·{in_brackets(terms[-1])} + {in_brackets(q)}"
        else:
            made = p * terms[-1] + q * terms[-2]
            text = f"{p}·{in_brackets(terms[-1])} + {in_brackets(q)}·{in_brackets(terms[-2])}"
        terms.append(made)
        steps.append(f"Term {len(terms)}: {text} = {made}.")
    if level == 1:
        rule = f"a_1 = {a} and a_(n+1) = {signed_sum([times(p, 'a_n'), str(q)])}"
    else:
        rule = f"a_1 = {a}, a_2 = {b} and a_(n+2) = {signed_sum([times(p, 'a_(n+1)'), times(q, 'a_n')])}"
    total, rise = sum(terms), terms[-1] - terms[-2]
    drop = f"{terms[-1]} - {in_brackets(terms[-2])}"
    added = " + ".join(in_brackets(term) for term in terms)
    questions = (
        Question(f"the value of a_{n}", terms[-1]),
        Question(f"the sum of the first {n} terms", total, (f"Added: {added} = {total}.",)),
        Question(f"the difference a_{n} - a_{n - 1}", rise, (f"The difference: {drop} = {rise}.",)),
        Question(
            f"the largest of the first {n} terms",
            max(terms),
            (f"Of {listed(terms)} the largest is {max(terms)}.",),
        ),
    )
    given = (
        f"a sequence is defined by {rule}",
        f"numbers a_1, a_2, a_3, ... obey the rule {rule}",
        f"a program computes a list with {rule}",
    )
    return posed(draw, given, draw.pick(questions), steps)


def squares(draw: Draw, level: int) -> Problem:
    rule = (draw.nonzero(-2, 1 + level), draw.between(-4, 4), draw.between(-5, 5))
    n = draw.between(10, 15 + 10 * level)

    def term(k: int) -> int:
        return rule[0] * k * k + rule[1] * k + rule[2]

    shown = [term(k) for k in range(1, 6)]
    differences = [after - before for before, after in zip(shown, shown[1:], strict=False)]
    formula, value = polynomial(rule, "n"), term(n)
    steps = [
        f"The differences are {listed(differences)}; they change by {2 * rule[0]} each time.",
        f"So the n^2 has the factor {2 * rule[0]}/2 = {rule[0]}; comparing terms gives {formula}.",
    ]
    put = f"{rule[0]}·{n}^2 + {in_brackets(rule[1])}·{n} + {in_brackets(rule[2])} = {value}"
    questions = (
        Question("a quadratic formula for the term with number n", formula, (), FORMULA),
        Question(f"the term with number {n}", value, (f"For n = {n}: {put}.",)),
        Question("the next term", term(6), (f"Next: {shown[-1]} + {in_brackets(differences[-1] + 2 * rule[0])} = {term(6)}.",)),
    )  # fmt: skip
    given = (
        f"a sequence with constant second differences begins with {listed(shown)}",
        f"the values of a quadratic polynomial at n = 1, 2, 3, 4, 5 are {listed(shown)}, and the values at the next integers follow",
        f"the list {listed(shown)} goes on by a formula of degree two",
    )
    return posed(draw, given, draw.pick(questions), steps)


# --- sums without end


def infinite(draw: Draw, level: int) -> Problem:
    ratio = Fraction(draw.between(1, 4), draw.between(5, 9)) * draw.pick((1, 1, -1))
    a = Fraction(draw.between(1, 12), draw.between(1, level))
    total, start = a / (1 - ratio), draw.between(2, 4)
    shown = signed_sum([str(a * ratio**k) for k in range(4)])
    formula = f"First term over (1 - ratio): {factor(a)}/(1 - {in_brackets(ratio)}) = {total}."
    tail = total * ratio**start
    even = a / (1 - ratio**2)
    rest = f"The tail begins with another first term, {factor(a)}·({ratio})^{start} = {a * ratio**start}."
    every = f"The ratio becomes ({ratio})^2 = {ratio**2}, so the sum is {factor(a)}/(1 - {ratio**2}) = {even}."
    questions = (
        Question("the sum of the whole series", total, (formula,), NO_ROUNDING),
        Question(f"the sum of all terms after the {ordinal(start)}", tail, (formula, rest, f"Its sum is {factor(total)}·({ratio})^{start} = {tail}."), NO_ROUNDING),
        Question("the sum of the 1st, 3rd, 5th and all further terms with odd numbers", even, (every,), NO_ROUNDING),
    )  # fmt: skip
    given = (
        f"the geometric series {shown} + ... goes on forever",
        f"an infinite geometric series has the first term {a} and the ratio {ratio}",
        f"the terms of an endless series start with {a} and are multiplied by {in_brackets(ratio)} each time",
    )
    return posed(draw, given, draw.pick(questions), [f"The ratio is {ratio}, below 1 in size."])


def repeating(draw: Draw, level: int) -> Problem:
    whole, size = draw.below(4), draw.between(1, level)
    block = draw.between(1, 10**size - 2)
    lead = draw.between(0, 9) if level > 2 or draw.chance(0.3) else None
    digits = str(block).rjust(size, "0")
    nines = 10**size - 1
    value = Fraction(block, nines) if lead is None else (lead + Fraction(block, nines)) / 10
    shown = f"{whole}.{'' if lead is None else lead}({digits})"
    steps = [f"The block {digits} alone, right after the point, is {reduced(block, nines)}."]
    if lead is not None:
        steps.append(f"Moved by one place: ({lead} + {Fraction(block, nines)})/10 = {value}.")
    if whole:
        steps.append(f"With the whole part: {whole} + {value} = {whole + value}.")
    wanted = ("the number as a reduced fraction", "the number as a quotient of two integers")
    given = (
        f"the brackets in {shown} hold the digits that repeat forever",
        f"a number is written as {shown}, its block in brackets being repeated without end",
        f"the decimal {shown} has a period, shown in brackets",
    )
    return posed(draw, given, Question(draw.pick(wanted), whole + value, steps))


# --- sums of powers, fractions that cancel, limits


def power_sum(draw: Draw, level: int) -> Problem:
    p, q, r = draw.between(1, level), draw.between(-3, 5), draw.between(-4, 6)
    n = draw.between(6, 10 * level)
    squares_sum, numbers_sum = n * (n + 1) * (2 * n + 1) // 6, n * (n + 1) // 2
    total = p * squares_sum + q * numbers_sum + r * n
    closed = polynomial(
        (Fraction(p, 3), Fraction(p + q, 2), Fraction(p, 6) + Fraction(q, 2) + r, 0), "n"
    )
    body = polynomial((p, q, r), "k")
    known = [
        "The squares of 1 to n add up to n(n + 1)(2n + 1)/6, and the numbers to n(n + 1)/2.",
        f"So the sum is {p}·n(n + 1)(2n + 1)/6 + {in_brackets(q)}·n(n + 1)/2 + {in_brackets(r)}·n.",
    ]
    parts = (
        f"For n = {n}: {p}·{squares_sum} + {in_brackets(q)}·{numbers_sum} + {in_brackets(r)}·{n} = {total}.",
    )
    expanded = (f"Expanded, this is {closed}.",)
    questions = (
        Question(f"the sum over all k from 1 to {n}", total, parts),
        Question("the sum over all k from 1 to n", closed, expanded, POLYNOMIAL),
    )
    given = (
        f"the terms {body} are added up",
        f"a sum has the term {body} for each integer k",
        f"the function f(k) = {body} is evaluated at integers and the values are added",
    )
    return posed(draw, given, draw.pick(questions), known)


def telescope(draw: Draw, level: int) -> Problem:
    gap, n, top = draw.between(1, level), draw.between(5, 20 * level), draw.between(1, 6)
    start = draw.between(1, 4)
    stays = [Fraction(1, start + k) for k in range(gap)]
    leaves = [Fraction(1, n + 1 + k) for k in range(gap)]
    whole, part = Fraction(top, gap) * sum(stays), Fraction(top, gap) * (sum(stays) - sum(leaves))
    scale = factor(Fraction(top, gap))
    kept, lost = " + ".join(map(str, stays)), " + ".join(map(str, leaves))
    steps = [
        f"Each term is {scale}·(1/k - 1/(k + {gap})), so nearly all parts cancel.",
        f"At the start there stays {kept}{f' = {sum(stays)}' if gap > 1 else ''}.",
    ]
    end = f"At the end {lost}{f' = {sum(leaves)}' if gap > 1 else ''} is taken away."
    rest = f"So the sum is {scale}·({sum(stays)} - {sum(leaves)}) = {part}."
    limit = f"The end goes to 0, and the sum to {scale}·({sum(stays)}) = {whole}."
    questions = (
        Question(f"the sum of the terms from k = {start} to {n}", part, (end, rest), NO_ROUNDING),
        Question(f"the sum of all terms from k = {start} on", whole, (limit,), NO_ROUNDING),
    )
    given = (
        f"a series has the terms {top}/(k(k + {gap}))",
        f"for each integer k there is a fraction {top}/(k(k + {gap}))",
    )
    return posed(draw, given, draw.pick(questions), steps)


def quotient(draw: Draw, level: int) -> Problem:
    a, d = draw.nonzero(-8, 9), draw.between(1, 9)
    b, c, e, f = (draw.between(-6, 6) for _ in range(4))
    top, bottom = polynomial((a, b, c), "n"), polynomial((d, abs(e), abs(f) + 1), "n")
    limit = Fraction(a, d)
    steps = [f"Divide above and below by n^2; all but {a} and {d} go to 0."]
    questions = [
        Question("the limit of the sequence for n to infinity", limit, (f"The limit is {reduced(a, d)}.",), NO_ROUNDING),
        Question("the limit of the terms times -2 plus 1", 1 - 2 * limit, (f"The terms tend to {limit}.", f"1 - 2·{factor(limit)} = {1 - 2 * limit}."), NO_ROUNDING),
        Question("the square of the limit of the terms", limit**2, (f"The terms tend to {limit}.", f"{factor(limit)}^2 = {limit**2}."), NO_ROUNDING),
    ]  # fmt: skip
    given = (
        f"a sequence has the terms ({top})/({bottom})",
        f"the term with number n of a sequence is ({top})/({bottom})",
        f"the quotient ({top})/({bottom}) is formed for n = 1, 2, 3 and so on",
    )
    return posed(draw, given, draw.pick(questions), steps)
