"""Combinatorics and probability: arrangements, selections, repeated trials, paths, dice, games."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from itertools import permutations, product
from math import comb, factorial, prod

from .draw import Draw
from .wording import PEOPLE, Problem, Question, listing, posed, reduced


def make(draw: Draw, level: int) -> Problem:
    """A counting problem of level 1 to 3; the answer is an integer or a fraction."""
    kinds = (letters, selection, trials, paths, dice, numerals, shares)
    return draw.pick(kinds if level == 1 else (*kinds, seats, causes, game))(draw, level)


AS_FRACTION = (
    "Give a reduced fraction.",
    "Answer with a fraction in lowest terms.",
    "Keep the result exact, as a fraction.",
    "An exact fraction is wanted.",
)
AS_VALUE = ("Give an integer or a reduced fraction.", "An exact value is wanted.", "Do not round.")
AS_NUMBER = ("", "", "The answer is an integer.", "Explain each factor.")


def chosen(n: int, k: int) -> str:
    """`C(5,2) = 5·4/(2·1) = 10`."""
    if k < 2:
        return f"C({n},{k}) = {comb(n, k)}"
    top = "·".join(str(n - i) for i in range(k))
    return f"C({n},{k}) = {top}/({'·'.join(str(k - i) for i in range(k))}) = {comb(n, k)}"


def total_of(parts: Iterable[int | Fraction]) -> str:
    """`3 + 4 = 7`, and `7` for a single part."""
    values = list(parts)
    text = " + ".join(map(str, values))
    return f"{text} = {sum(values)}" if len(values) > 1 else text


# --- arrangements of letters

WORDS = {
    1: ("NOON", "LEVEL", "APPLE", "KAYAK", "RADAR", "BERRY", "CIVIC", "SHEEP", "TEPEE", "EERIE"),
    2: ("BANANA", "PEPPER", "LETTER", "COFFEE", "CANAL", "TOMATO", "PAPAYA", "MINIMUM", "COCOON"),
    3: ("ALABAMA", "SUCCESS", "REFERRED", "ASSESSES", "TATTOOED", "BOOKKEEPER", "CARAVAN"),
}


def orders(counts: Mapping[str, int]) -> int:
    return factorial(sum(counts.values())) // prod(factorial(c) for c in counts.values())


def orders_told(counts: Mapping[str, int]) -> str:
    """`6!/(3!·2!) = 60`."""
    repeated = "·".join(f"{c}!" for c in counts.values() if c > 1)
    return f"{sum(counts.values())}!{f'/({repeated})' if repeated else ''} = {orders(counts)}"


def letters(draw: Draw, level: int) -> Problem:
    word = draw.pick(WORDS[level])
    counts = Counter(word)
    often = draw.pick([letter for letter, count in counts.items() if count > 1])
    first = draw.pick(list(counts))
    block = {**counts, often: 1}
    told = listing([f"{letter} {count} times" for letter, count in counts.items() if count > 1])
    steps = [f"{word} has {len(word)} letters, with {told}.", f"In all: {orders_told(counts)}."]
    fixed = Counter(word)
    fixed[first] -= 1
    strings = "the number of different strings"
    front = f"With {first} in front, the other letters have {orders_told(fixed)} orders."
    together = f"Glued into one letter, the letters {often} leave {orders_told(block)} orders."
    apart = orders(counts) - orders(block)
    rest = f"The others: {orders(counts)} - {orders(block)} = {apart}."
    questions = [
        Question(strings, orders(counts), (), AS_NUMBER),
        Question(f"{strings} that begin with {first}", orders(fixed), (front,), AS_NUMBER),
    ]
    if level > 1:
        block_text = f"{strings} in which all the letters {often} stand together"
        apart_text = f"{strings} in which the letters {often} do not all stand together"
        questions += [
            Question(block_text, orders(block), (together,), AS_NUMBER),
            Question(apart_text, apart, (together, rest), AS_NUMBER),
        ]
    given = (
        f"the letters of the word {word} are put in a row in every possible way",
        f"tiles that spell {word} are laid in a line, in all orders",
        f"strings are formed with all the letters of {word}, each as often as it occurs there",
    )
    return posed(draw, given, draw.pick(questions), steps)


# --- how many of a kind: selections and repeated trials


def condition(draw: Draw, most: int, level: int) -> tuple[str, list[int]]:
    """A condition on a number from 0 to `most`, in words, and the numbers that fulfil it."""
    some = draw.between(1, most - 1)
    options = [(f"is exactly {some}", [some])]
    if level > 1:
        options += [
            (f"is at least {some}", list(range(some, most + 1))),
            (f"is at most {some}", list(range(some + 1))),
            ("is even (0 is even)", list(range(0, most + 1, 2))),
            ("is odd", list(range(1, most + 1, 2))),
        ]
    return draw.pick(options)


SELECTIONS = (
    ("{who}'s club has {a} women and {b} men and elects a committee of {k}", "women"),
    ("a box holds {a} broken and {b} working lamps, and {who} takes {k} of them", "broken lamps"),
    ("{k} balls are drawn together from an urn with {a} red and {b} green ones", "red balls"),
    ("{who} picks {k} of {n} books, {a} of which are novels", "novels"),
    ("a team of {k} is formed out of {a} juniors and {b} seniors", "juniors"),
    ("{who} deals {k} cards from a pack of {n}, of which {a} are marked", "marked cards"),
    ("among {n} tickets there are {a} winning ones, and {who} buys {k} tickets", "winning tickets"),
)


def selection(draw: Draw, level: int) -> Problem:
    k = draw.between(2, 2 + level)
    a, b = draw.between(k, k + 2 + level), draw.between(k, k + 3 + level)
    words, hits = condition(draw, k, level)
    given, kind = draw.pick(SELECTIONS)
    fact = given.format(a=a, b=b, k=k, n=a + b, who=draw.pick(PEOPLE))
    counts = [comb(a, j) * comb(b, k - j) for j in hits]
    steps = [
        f"With {j} of the {kind}: C({a},{j})·C({b},{k - j}), which is "
        f"{comb(a, j)}·{comb(b, k - j)} = {count}."
        for j, count in zip(hits, counts, strict=True)
    ]
    steps.append(f"So the number of selections that count is {total_of(counts)}.")
    if draw.chance(0.4):
        wanted = f"the number of possible selections in which the number of {kind} {words}"
        return posed(draw, fact, Question(wanted, sum(counts), steps, AS_NUMBER))
    chance = Fraction(sum(counts), comb(a + b, k))
    steps += [
        f"All selections: {chosen(a + b, k)}.",
        f"The probability is {reduced(sum(counts), comb(a + b, k))}.",
    ]
    wanted = f"the probability that the number of {kind} in the selection {words}"
    every = f"{fact}, each selection being equally likely"
    return posed(draw, every, Question(wanted, chance, steps, AS_FRACTION))


TRIALS = (
    ("{who} throws a fair die {n} times", "sixes", Fraction(1, 6)),
    ("{who} throws a fair die {n} times", "results below 3", Fraction(1, 3)),
    ("a fair coin is tossed {n} times", "heads", Fraction(1, 2)),
    ("{who} guesses all {n} answers of a test with four choices each", "hits", Fraction(1, 4)),
    ("a spinner with five equal fields, two of them gold, is spun {n} times", "golds", None),
    ("{n} seeds are sown, and each sprouts with probability 3/4, independently", "sprouts", None),
)


def trials(draw: Draw, level: int) -> Problem:
    given, kind, p = draw.pick(TRIALS)
    p = p or {"golds": Fraction(2, 5), "sprouts": Fraction(3, 4)}[kind]
    n = draw.between(2 if level == 1 else 3, 2 + level)
    fact = given.format(n=n, who=draw.pick(PEOPLE))
    if draw.chance(0.15):
        steps = [f"One trial counts with probability {p}.", f"On average: {n}·({p}) = {n * p}."]
        return posed(draw, fact, Question(f"the expected number of {kind}", n * p, steps, AS_VALUE))
    words, hits = condition(draw, n, level)
    parts = [comb(n, j) * p**j * (1 - p) ** (n - j) for j in hits]
    steps = [f"One trial brings one of the {kind} with probability {p}, and none with {1 - p}."]
    steps += [
        f"For {j} of {n}: {comb(n, j)}·({p})^{j}·({1 - p})^{n - j} = {part}."
        for j, part in zip(hits, parts, strict=True)
    ]
    steps.append(f"The probability is {total_of(parts)}.")
    wanted = f"the probability that the number of {kind} {words}"
    return posed(draw, fact, Question(wanted, sum(parts), steps, AS_FRACTION))


# --- paths in a grid


def paths(draw: Draw, level: int) -> Problem:
    a, b = draw.between(2, 3 + level), draw.between(2, 4 + level)
    c, d = draw.between(1, a - 1), draw.between(1, b - 1)
    through, everything = comb(c + d, c) * comb(a + b - c - d, a - c), comb(a + b, a)
    mover = draw.pick(("robot", "token", "snail", "beetle", "taxi", "rook that takes short steps"))
    given = (
        f"a {mover} goes from (0, 0) to ({a}, {b}) in unit steps to the right or up",
        f"in the plane a {mover} moves from (0, 0) to ({a}, {b}), each step adding 1 to one coordinate",
        f"a {mover} walks on grid lines from (0, 0) to ({a}, {b}), never left and never down",
    )
    step = f"A path is an order of {a} steps right and {b} steps up: {chosen(a + b, a)}."
    passing = (
        f"Through ({c}, {d}) there are C({c + d},{c})·C({a + b - c - d},{a - c}), "
        f"that is {comb(c + d, c)}·{comb(a + b - c - d, a - c)} = {through}."
    )
    rest = everything - through
    around = (passing, f"The others: {everything} - {through} = {rest}.")
    likely = (passing, f"As a share: {reduced(through, everything)}.")
    share = Fraction(through, everything)
    questions = (
        Question("the number of possible paths", everything, (), AS_NUMBER),
        Question(f"the number of such paths through ({c}, {d})", through, (passing,), AS_NUMBER),
        Question(f"the number of such paths that avoid ({c}, {d})", rest, around, AS_NUMBER),
        Question(f"the share of such paths that visit ({c}, {d})", share, likely, AS_FRACTION),
    )
    question = questions[0] if level == 1 else draw.pick(questions[1:])
    return posed(draw, given, question, [step])


# --- counted by listing: dice and numerals


def dice(draw: Draw, level: int) -> Problem:
    count, sides = (2, 6) if level < 3 else (3, draw.pick((4, 6, 8)))
    s = draw.between(2 * count + 1, count * sides - 2)
    m = draw.between(2, sides - 1)
    low = draw.between(2, sides - 2)
    rules: tuple[tuple[str, Callable[[tuple[int, ...]], bool]], ...] = (
        (f"the sum of the numbers is {s}", lambda roll: sum(roll) == s),
        (f"the sum of the numbers is greater than {s}", lambda roll: sum(roll) > s),
        (f"the largest number is {m}", lambda roll: max(roll) == m),
        (f"the smallest number is {low}", lambda roll: min(roll) == low),
        (f"the product of the numbers is a multiple of {m}", lambda roll: prod(roll) % m == 0),
        (f"all numbers are different and their sum is below {s + 1}", lambda r: distinct(r, s)),
    )
    words, holds = draw.pick(rules)
    wins = [roll for roll in product(range(1, sides + 1), repeat=count) if holds(roll)]
    by_first = Counter(roll[0] for roll in wins)
    chance = Fraction(len(wins), sides**count)
    steps = [f"There are {sides}^{count} = {sides**count} equally likely results."]
    steps += [
        f"With {first} on die 1, the number of good ones is {ways}."
        for first, ways in by_first.items()
    ]
    steps.append(
        f"Together {total_of(by_first.values())}, "
        f"so the probability is {reduced(len(wins), sides**count)}."
    )
    kind = {4: "four-sided dice (numbered 1 to 4)", 6: "dice", 8: "eight-sided dice (1 to 8)"}
    words_for = {2: "two", 3: "three"}[count]
    given = (
        f"{words_for} fair {kind[sides]} are thrown",
        f"{draw.pick(PEOPLE)} throws {words_for} fair {kind[sides]} at once",
        f"a game begins with a throw of {words_for} fair {kind[sides]}",
    )
    question = Question(f"the probability that {words}", chance, steps, AS_FRACTION)
    return posed(draw, given, question)


def distinct(roll: tuple[int, ...], most: int) -> bool:
    return len(set(roll)) == len(roll) and sum(roll) <= most


def numerals(draw: Draw, level: int) -> Problem:
    size = draw.between(4, 4 + level)
    digits = sorted(draw.some(range(0 if level > 1 else 1, 10), size))
    places = draw.between(2, 3) if level == 1 else 3
    bound = draw.between(2, 8) * 10 ** (places - 1)
    rules: tuple[tuple[str, Callable[[int], bool]], ...] = (
        ("numbers", lambda n: True),
        ("even numbers", lambda n: n % 2 == 0),
        ("odd numbers", lambda n: n % 2 == 1),
        (f"numbers that are not less than {bound}", lambda n: n >= bound),
    )
    words, holds = draw.pick(rules)
    found = [
        int("".join(map(str, choice)))
        for choice in permutations(digits, places)
        if choice[0] and holds(int("".join(map(str, choice))))
    ]
    by_first = Counter(n // 10 ** (places - 1) for n in found)
    steps = ["A numeral does not begin with 0; count by its first digit."]
    steps += [f"First digit {first}: {ways} numbers." for first, ways in sorted(by_first.items())]
    steps.append(f"Together: {total_of(by_first.values())}.")
    told = listing(digits)
    given = (
        f"numbers with {places} digits are written with the digits {told}, none used twice",
        f"cards with the digits {told} are put side by side to form numbers of {places} digits",
        f"a number of {places} different digits may use only {told} (and not begin with 0)",
    )
    question = Question(f"the count of all possible {words}", len(found), steps, AS_NUMBER)
    return posed(draw, given, question)


# --- identical things, circles, causes, games


def shares(draw: Draw, level: int) -> Problem:
    boxes, least = draw.between(3, 3 + level), draw.below(min(level, 2) + 1)
    things = draw.between(4, 8 + 2 * level) + boxes * least
    free = things - boxes * least
    must = f"each getting at least {least}" if least else "some perhaps getting none"
    least_told = f"integers greater than {least - 1}" if least else "nonnegative integers"
    names = ("a", "b", "c", "d", "e", "f")[:boxes]
    given, wanted = draw.pick(
        (
            (
                f"{draw.pick(PEOPLE)} gives {things} equal coins to {boxes} children, {must}",
                "the number of ways to share the coins",
            ),
            (
                f"{things} identical balls go into {boxes} numbered boxes, {must}",
                "the number of ways to fill the boxes",
            ),
            (
                f"the unknowns {listing(names)} are {least_told} with {' + '.join(names)} = {things}",
                f"the number of solutions ({', '.join(names)})",
            ),
        )
    )
    first = (
        f"Handing out {least} each leaves {things} - {boxes}·{least} = {free}."
        if least
        else f"All {things} can go anywhere."
    )
    steps = [
        first,
        f"A way is an order of {free} stars and {boxes - 1} bars.",
        f"So there are {chosen(free + boxes - 1, boxes - 1)}.",
    ]
    value = comb(free + boxes - 1, boxes - 1)
    return posed(draw, given, Question(wanted, value, steps, AS_NUMBER))


def seats(draw: Draw, level: int) -> Problem:
    n = draw.between(5, 6 + level)
    one, two, three = draw.some(PEOPLE, 3)
    everything, pair = factorial(n - 1), 2 * factorial(n - 2)
    trio = factorial(3) * factorial(n - 3)
    start = f"Only the order round the table counts: ({n} - 1)! = {everything}."
    glued = f"As a block, the pair has 2 orders: 2·({n} - 2)! = {pair}."
    apart = f"The others: {everything} - {pair} = {everything - pair}."
    block = f"As a block, the three have 3! orders: 3!·({n} - 3)! = {trio}."
    beside, not_beside = f"with {one} beside {two}", f"with {one} not beside {two}"
    trio_text = f"with {one}, {two} and {three} side by side in some order"
    questions = (
        Question("the number of different seatings", everything, (), AS_NUMBER),
        Question(f"the number of seatings {beside}", pair, (glued,), AS_NUMBER),
        Question(f"the number of seatings {not_beside}", everything - pair, (glued, apart)),
        Question(f"the number of seatings {trio_text}", trio, (block,), AS_NUMBER),
    )
    given = (
        f"{n} people, {one}, {two} and {three} among them, sit round a table, "
        "and seatings that differ by a turn (not a reflection) are the same",
        f"{one}, {two}, {three} and {n - 3} more take seats in a circle, "
        "where turning everybody changes nothing but a mirror image is another seating",
    )
    return posed(draw, given, draw.pick(questions), [start])


def causes(draw: Draw, level: int) -> Problem:
    share = 5 * draw.between(4, 16)
    bad_one, bad_two = draw.some(range(1, 5 + 3 * level), 2)
    one, two = Fraction(share * bad_one, 10**4), Fraction((100 - share) * bad_two, 10**4)
    places = ("plant", "machine", "supplier", "printer", "bakery", "workshop")
    place = draw.pick(places)
    given = (
        f"{place} A makes {share}% of all parts and {place} B the rest, and {bad_one}% of A's and {bad_two}% of B's parts are faulty",
        f"a part comes from {place} A with probability {share}/100 and otherwise from {place} B, where the rates of faults are {bad_one}% (A) and {bad_two}% (B)",
    )
    steps = [
        f"Faulty and from A: ({share}/100)·({bad_one}/100) = {one}.",
        f"Faulty and from B: ({100 - share}/100)·({bad_two}/100) = {two}.",
        f"Faulty at all: {one} + {two} = {one + two}.",
    ]
    if draw.chance(0.4):
        answer, wanted = one + two, "the probability that a random part is faulty"
    else:
        letter, part = draw.pick((("A", one), ("B", two)))
        answer = part / (one + two)
        wanted = f"the probability that a random part which is faulty comes from {place} {letter}"
        steps.append(f"The share of {letter} in this is ({part})/({one + two}) = {answer}.")
    return posed(draw, given, Question(wanted, answer, steps, AS_FRACTION))


def game(draw: Draw, level: int) -> Problem:
    fields = draw.between(6, 8 + 4 * level)
    counts = [draw.between(1, fields // 4) for _ in range(level)]
    prizes = draw.some(range(2, 12 * level), level)
    stake = draw.between(2, 5)
    total = sum(count * prize for count, prize in zip(counts, prizes, strict=True))
    mean = Fraction(total, fields)
    pays = [f"{prize} points on {count}" for count, prize in zip(counts, prizes, strict=True)]
    told = listing([*pays, "nothing on the others"])
    given = (
        f"a wheel of {fields} equally likely fields pays {told}",
        f"a slot machine stops at one of {fields} equally likely pictures and pays {told}",
    )
    products = " + ".join(f"{c}·{p}" for c, p in zip(counts, prizes, strict=True))
    steps = [
        f"All {fields} results together pay {products} = {total} points.",
        f"The mean is {reduced(total, fields)}.",
    ]
    if draw.chance(0.5):
        question = Question("the expected number of points", mean, steps, AS_VALUE)
        return posed(draw, given, question)
    steps.append(f"Less the stake: {mean} - {stake} = {mean - stake}.")
    wanted = f"the expected gain (negative for a loss) after paying a stake of {stake} points"
    return posed(draw, given, Question(wanted, mean - stake, steps, AS_VALUE))
