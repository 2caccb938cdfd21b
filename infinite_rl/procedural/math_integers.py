"""Number theory: divisors, remainders, powers, digits and counting."""

from __future__ import annotations

from math import gcd

from .draw import Draw
from .wording import FOODS, PEOPLE, THINGS, Problem, capital, listing, solved


def make(draw: Draw, level: int) -> Problem:
    """A number theory problem of level 1 to 3; the answer is an integer."""
    kinds = (common, remainder, counting, divisors, digits)
    return draw.pick(
        kinds if level == 1 else (*kinds, common, power, congruences, bases, factorial)
    )(draw, level)


def factorize(number: int) -> dict[int, int]:
    """The prime factors of a positive integer with their exponents, smallest first."""
    factors: dict[int, int] = {}
    prime = 2
    while prime * prime <= number:
        while number % prime == 0:
            factors[prime] = factors.get(prime, 0) + 1
            number //= prime
        prime += 1
    if number > 1:
        factors[number] = 1
    return factors


def factored(number: int) -> str:
    """`2^3 · 5`."""
    return " · ".join(str(p) if e == 1 else f"{p}^{e}" for p, e in factorize(number).items()) or "1"


def lcm(numbers: list[int]) -> int:
    result = 1
    for number in numbers:
        result = result * number // gcd(result, number)
    return result


# --- greatest common divisor and least common multiple

LCM_STORIES = (
    (
        "{N} lights flash every {list} seconds and have just flashed together.",
        "After how many seconds do all flash together again?",
    ),
    (
        "Buses of {n} lines leave a stop every {list} minutes, all of them at noon.",
        "How many minutes after noon do they next leave together?",
    ),
    (
        "{N} gears with {list} teeth turn against one another.",
        "After how many teeth are all of them back at their starting marks?",
    ),
    (
        "{N} friends visit the library every {list} days, and they meet there today.",
        "In how many days do they next meet there?",
    ),
)
GCD_STORIES = (
    (
        "Ropes of {list} metres are cut into equal pieces with nothing left over.",
        "What is the greatest length of a piece in metres?",
    ),
    (
        "{who} packs identical boxes from piles of {list} {thing}, using up every pile.",
        "What is the largest possible number of boxes?",
    ),
    (
        "A floor is split into strips of {list} cm, each to be filled with equal square tiles.",
        "How wide, in cm, can a tile be at most?",
    ),
)


def common(draw: Draw, level: int) -> Problem:
    base = draw.between(2, 4 + 4 * level)
    numbers = [
        base * factor for factor in draw.some(range(2, 9 + 3 * level), draw.between(2, 1 + level))
    ]
    wants_lcm = draw.chance(0.5)
    value = lcm(numbers) if wants_lcm else gcd_all(numbers)
    told = listing(numbers)
    name = "least common multiple" if wants_lcm else "greatest common divisor"
    if draw.chance(0.5):
        story, ask = draw.pick(LCM_STORIES if wants_lcm else GCD_STORIES)
        words = {2: "two", 3: "three", 4: "four"}[len(numbers)]
        prompt = f"{story} {ask}".format(
            n=words,
            N=capital(words),
            list=told,
            who=draw.pick(PEOPLE),
            thing=draw.pick(THINGS + FOODS),
        )
    else:
        prompt = draw.pick(
            (
                f"Find the {name} of {told}.",
                f"What is the {name} of the numbers {told}?",
                f"Use prime factors to compute the {name} of {told}.",
                f"Which number is the {'smallest positive multiple' if wants_lcm else 'largest divisor'} shared by {told}?",
                f"Determine the {'smallest positive integer that each of ' + told + ' divides' if wants_lcm else 'largest integer that divides each of ' + told}.",
            )
        )
    steps = [f"{number} = {factored(number)}." for number in numbers]
    steps.append(
        f"{'Take the highest' if wants_lcm else 'Take the lowest common'} power of each prime: "
        f"{factored(value)}{'' if value == 1 or str(value) == factored(value) else f' = {value}'}."
    )
    return solved(draw, prompt, steps, str(value))


def gcd_all(numbers: list[int]) -> int:
    result = 0
    for number in numbers:
        result = gcd(result, number)
    return result


# --- remainders


def remainder(draw: Draw, level: int) -> Problem:
    m = draw.between(3, 9 + 4 * level)
    numbers = draw.integers(level + 1, 10 * level, 60 * level**2)
    signs = [1] + [draw.pick((1, 1, -1)) for _ in numbers[1:]]
    product = draw.chance(0.4)
    if product:
        text, value, residue = " · ".join(map(str, numbers)), 1, 1
        for number in numbers:
            value *= number
        reduced = " · ".join(str(number % m) for number in numbers)
        for number in numbers:
            residue *= number % m
    else:
        text = str(numbers[0])
        for sign, number in zip(signs[1:], numbers[1:], strict=True):
            text += f" {'+' if sign > 0 else '-'} {number}"
        value = sum(sign * number for sign, number in zip(signs, numbers, strict=True))
        reduced = str(numbers[0] % m)
        for sign, number in zip(signs[1:], numbers[1:], strict=True):
            reduced += f" {'+' if sign > 0 else '-'} {number % m}"
        residue = sum(sign * (number % m) for sign, number in zip(signs, numbers, strict=True))
    answer = value % m
    prompt = draw.pick(
        (
            f"What is the remainder of {text} on division by {m}? (It lies between 0 and {m - 1}.)",
            f"Reduce {text} modulo {m} to a number from 0 to {m - 1}.",
            f"Find the number r with 0 <= r < {m} such that {m} divides {text} minus r.",
            f"A clock has {m} hours, numbered 0 to {m - 1}. Starting at 0 the hand moves on by {text} hours. Where does it stop?",
            f"Compute ({text}) mod {m}.",
        )
    )
    steps = [
        f"Replace each number by its remainder: {listing([f'{number} leaves {number % m}' for number in numbers])}.",
        f"Then {reduced} = {residue}.",
        f"Modulo {m} this is {answer}.",
    ]
    return solved(draw, prompt, steps, str(answer))


def power(draw: Draw, level: int) -> Problem:
    m = 10 if draw.chance(0.3) else draw.between(5, 12 + 8 * level)
    base, exponent = draw.between(2, 9 + 5 * level), draw.between(10, 60 * level)
    steps, seen, current = [], [], 1
    cycle: list[int] = []
    while current not in seen:
        seen.append(current)
        current = current * base % m
    cycle = seen[seen.index(current) :]
    lead = len(seen) - len(cycle)
    answer = pow(base, exponent, m)
    steps.append(
        f"The powers of {base} modulo {m}, from the exponent 0 on, are {', '.join(map(str, seen))}, and then {current} again."
    )
    steps.append(f"From exponent {lead} on they repeat with period {len(cycle)}.")
    if exponent >= lead:
        position = (exponent - lead) % len(cycle)
        steps.append(
            f"{exponent} - {lead} = {exponent - lead} leaves the remainder {position} on division by {len(cycle)}, so the residue is {answer}."
        )
    asks = [
        f"What is the remainder when {base}^{exponent} is divided by {m}?",
        f"Compute {base}^{exponent} modulo {m}.",
        f"Find the remainder of {base}^{exponent} on division by {m} without computing the power itself.",
        f"{base} is multiplied by itself until there are {exponent} factors. What does the product leave on division by {m}?",
    ]
    if m == 10:
        asks = [
            f"What is the last digit of {base}^{exponent}?",
            f"With which digit does {base}^{exponent} end?",
            *asks,
        ]
    return solved(draw, draw.pick(asks), steps, str(answer))


def congruences(draw: Draw, level: int) -> Problem:
    moduli = draw.some((3, 4, 5, 7, 11, 13), level if level == 2 else draw.between(2, 3))
    if 4 in moduli and draw.chance(0.5):
        moduli[moduli.index(4)] = 9 if 3 not in moduli else 8
    product = 1
    for modulus in moduli:
        product *= modulus
    value = draw.between(1, product - 1)
    who, thing = draw.pick(PEOPLE), draw.pick(THINGS + FOODS)
    told = listing([f"{value % m} when divided by {m}" for m in moduli])
    groups = listing([f"groups of {m}, {value % m} left over" for m in moduli], "and in")
    prompt = draw.pick(
        (
            f"Find the smallest non-negative integer that leaves the remainder {told}.",
            f"{who} counts {thing}: in {groups}. What is the smallest number that fits (0 counts as a number)?",
            f"Which least n >= 0 satisfies {listing([f'n ≡ {value % m} (mod {m})' for m in moduli])}?",
            f"A number from 0 to {product - 1} leaves {told}. Which one is it?",
        )
    )
    steps, step, current = (
        [f"Start with {value % moduli[0]}, which leaves the right remainder for {moduli[0]}."],
        moduli[0],
        value % moduli[0],
    )
    for m in moduli[1:]:
        while current % m != value % m:
            current += step
        steps.append(
            f"Go up in steps of {step} until the remainder for {m} is {value % m}: this gives {current}."
        )
        step *= m
    return solved(draw, prompt, steps, str(current))


# --- divisors, counting, digits


def divisors(draw: Draw, level: int) -> Problem:
    number = draw.between(12, 120 * level**2)
    all_of_them = [d for d in range(1, number + 1) if number % d == 0]
    odd = [d for d in all_of_them if d % 2]
    primes = list(factorize(number))
    options = [
        (
            "the number of positive divisors of {n}",
            len(all_of_them),
            f"The divisors are {listing(all_of_them)}: {len(all_of_them)} of them.",
        ),
        (
            "the sum of the positive divisors of {n}",
            sum(all_of_them),
            f"The divisors are {listing(all_of_them)}; their sum is {sum(all_of_them)}.",
        ),
        (
            "the largest prime factor of {n}",
            primes[-1],
            f"The largest prime in it is {primes[-1]}.",
        ),
        (
            "the sum of the distinct prime factors of {n}",
            sum(primes),
            f"The distinct primes are {listing(primes)}, with sum {sum(primes)}.",
        ),
        (
            "the number of odd positive divisors of {n}",
            len(odd),
            f"The odd divisors are {listing(odd)}: {len(odd)} of them.",
        ),
        (
            "the number of integers from 1 to {n} that are coprime to {n}",
            coprime_count(number),
            f"Euler's product over the primes {listing(primes)} gives {coprime_count(number)}.",
        ),
        (
            "the sum of the proper divisors of {n} (all but {n} itself)",
            sum(all_of_them) - number,
            f"All divisors are {listing(all_of_them)}; without {number} itself they add up to {sum(all_of_them) - number}.",
        ),
    ]
    wanted, value, last = draw.pick(options[: 3 + 2 * level])
    named = wanted.format(n=number)
    return solved(
        draw,
        draw.pick(PLAIN_FRAMES).format(what=named, What=capital(named)),
        [f"{number} = {factored(number)}.", last],
        str(value),
    )


def coprime_count(number: int) -> int:
    return sum(1 for other in range(1, number + 1) if gcd(other, number) == 1)


PLAIN_FRAMES = (
    "Find {what}.",
    "What is {what}?",
    "Determine {what}, and explain how.",
    "{What}: which number is that?",
    "Someone asks for {what}. What should the answer be?",
    "Work out {what} by hand.",
)


def counting(draw: Draw, level: int) -> Problem:
    low, high = draw.between(1, 60), draw.between(80, 150 * level**2)
    a, b = draw.some(range(2, 7 + 3 * level), 2)
    both = a * b // gcd(a, b)

    def multiples(m: int) -> int:
        return high // m - (low - 1) // m

    count = high - low + 1
    union = multiples(a) + multiples(b) - multiples(both)
    kinds = (
        ("are divisible by {a}", multiples(a)),
        ("are not divisible by {a}", count - multiples(a)),
        ("are divisible by both {a} and {b}", multiples(both)),
        ("are divisible by {a} or {b} (or both)", union),
        ("are divisible by neither {a} nor {b}", count - union),
        ("are divisible by {a} but not by {b}", multiples(a) - multiples(both)),
        ("are divisible by exactly one of {a} and {b}", union - multiples(both)),
    )
    which = draw.below(1 + 2 * level)
    text, value = kinds[which]
    steps = [
        f"Up to {high} there are {high // a} multiples of {a}, below {low} there are {(low - 1) // a}: {multiples(a)} in the range."
    ]
    if which > 1:
        if which > 2:
            steps.append(f"In the same way there are {multiples(b)} multiples of {b}.")
        steps.append(
            f"Divisible by both means divisible by {both}: there are {multiples(both)} such numbers."
        )
    steps.append(
        f"The range holds {count} integers; the count of those that {text.format(a=a, b=b)} is {value}."
    )
    what = text.format(a=a, b=b)
    prompt = draw.pick(
        (
            f"How many integers from {low} to {high} (both included) {what}?",
            f"Count the integers n with {low} <= n <= {high} that {what}.",
            f"Cards carry the numbers {low} to {high}, one each. How many of the numbers {what}?",
            f"Houses in a street are numbered from {low} up to {high}. Find how many of these numbers {what}.",
            f"Among {low}, {low + 1}, ..., {high}, how many {what}?",
        )
    )
    return solved(draw, prompt, steps, str(value))


def digits(draw: Draw, level: int) -> Problem:
    number = draw.between(10 ** (level + 1), 10 ** (level + 3) - 1)
    figures = [int(digit) for digit in str(number)]
    total, alternating = (
        sum(figures),
        sum(d if i % 2 == 0 else -d for i, d in enumerate(reversed(figures))),
    )
    product, reverse = 1, int(str(number)[::-1])
    for digit in figures:
        product *= digit
    shown = " + ".join(map(str, figures))
    gap = -number % 9
    options = (
        ("the sum of the digits of {n}", total, [f"{shown} = {total}."]),
        (
            "the product of the digits of {n}",
            product,
            [f"Multiplying the digits one by one gives {product}."],
        ),
        (
            "the difference between {n} and the number with its digits in reverse order (as an absolute value)",
            abs(number - reverse),
            [f"Reversed, it is {reverse}.", f"The difference is {abs(number - reverse)}."],
        ),
        (
            "the digital root of {n} (sum the digits again and again until one digit is left)",
            (number - 1) % 9 + 1,
            [
                f"{shown} = {total}.",
                f"Going on until one digit is left gives {(number - 1) % 9 + 1}.",
            ],
        ),
        (
            "the smallest non-negative integer that must be added to {n} to make it divisible by 9",
            gap,
            [
                f"The digit sum is {total}, which leaves {total % 9} on division by 9.",
                f"So {gap} must be added.",
            ],
        ),
        (
            "the alternating digit sum of {n}, with a plus sign for the last digit",
            alternating,
            ["Start at the last digit and alternate the signs.", f"This gives {alternating}."],
        ),
    )
    wanted, value, steps = draw.pick(options[: 2 + 2 * level])
    named = wanted.format(n=number)
    return solved(
        draw, draw.pick(PLAIN_FRAMES).format(what=named, What=capital(named)), steps, str(value)
    )


def in_base(number: int, base: int) -> str:
    text = ""
    while number:
        text = "0123456789"[number % base] + text
        number //= base
    return text or "0"


def bases(draw: Draw, level: int) -> Problem:
    base, number = draw.between(2, 9), draw.between(20, 400 * level)
    written = in_base(number, base)
    if draw.chance(0.5):
        prompt = draw.pick(
            (
                f"Write the decimal number {number} in base {base}.",
                f"What does {number} look like in the number system with base {base}?",
                f"Convert {number} from base 10 to base {base}. Give only the digits.",
                f"A counter has {base} symbols, 0 to {base - 1}, for each wheel. What does it show after {number} counts from zero (no leading zeros)?",
            )
        )
        steps, rest = [], number
        while rest:
            steps.append(f"{rest} = {rest // base}·{base} + {rest % base}.")
            rest //= base
        return solved(
            draw,
            prompt,
            [*steps, f"Read from the last remainder to the first: {written}."],
            written,
        )
    prompt = draw.pick(
        (
            f"The number {written} is written in base {base}. What is it in decimal?",
            f"Convert {written} from base {base} to base 10.",
            f"Read {written} as a numeral in base {base} and give its ordinary decimal value.",
        )
    )
    value, steps = 0, []
    for digit in written:
        steps.append(f"{value}·{base} + {digit} = {value * base + int(digit)}.")
        value = value * base + int(digit)
    return solved(
        draw,
        prompt,
        ["Work from the left: multiply by the base and add the next digit.", *steps],
        str(value),
    )


def factorial(draw: Draw, level: int) -> Problem:
    n, prime = draw.between(12, 90 * level), draw.pick((2, 3, 5, 7, 11))
    count, counted, q = 0, [], prime
    while q <= n:
        counted.append(n // q)
        q *= prime
    count = sum(counted)
    if prime == 5:
        prompt = draw.pick(
            (
                f"With how many zeros does {n}! end?",
                f"How many trailing zeros does the factorial of {n} have?",
                f"{n}! is written out in decimal. Count the zeros at its end.",
            )
        )
        intro = "Each trailing zero needs a factor 5, and factors 2 are plentiful."
    else:
        prompt = draw.pick(
            (
                f"What is the highest power of {prime} that divides {n}!? Give the exponent.",
                f"How often does the prime {prime} occur in the factorization of {n}!?",
                f"Find the largest k such that {prime}^k divides the product 1·2·...·{n}.",
            )
        )
        intro = f"Count the multiples of {prime}, then of its powers."
    shown = " + ".join(map(str, counted)) or "0"
    return solved(draw, prompt, [intro, f"Up to {n} this gives {shown} = {count}."], str(count))
