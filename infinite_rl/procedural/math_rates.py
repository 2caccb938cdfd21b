"""Percentages and rates: change, discount, interest, speed, work and mixtures."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from .draw import Draw
from .wording import PEOPLE, Problem, decimal, listing, money, solved


def make(draw: Draw, level: int) -> Problem:
    """A percentage or rate problem of level 1 to 3; the answer is a number without its unit."""
    kinds = (part, part, changes, journey, prices)
    return draw.pick(kinds if level == 1 else (*kinds, interest, work, mixture))(draw, level)


# --- part, whole and percentage


@dataclass(frozen=True)
class Group:
    """A whole with a part that is told apart from it."""

    whole: str
    part: str


GROUPS = (
    Group("seats in a theatre", "are taken"),
    Group("trees in an orchard", "bear fruit"),
    Group("emails in an inbox", "are unread"),
    Group("tickets in a raffle", "win a prize"),
    Group("pupils in a school", "come by bus"),
    Group("cars in a car park", "are electric"),
    Group("questions in a survey", "were answered"),
    Group("parcels in a depot", "go abroad"),
    Group("birds on a lake", "are swans"),
    Group("recipes in a cookbook", "are vegetarian"),
)


PART_ASKS = {
    "count": (
        "How many is that?",
        "Find that number.",
        "What number does this percentage stand for?",
    ),
    "rest": (
        "How many do not fall in that group?",
        "How many are left over?",
        "Find the number of all the others.",
    ),
    "percent": (
        "What percentage is that?",
        "Express this as a percentage.",
        "How many per cent does this make?",
    ),
    "whole": ("How many are there in all?", "Find the total number.", "What is 100% here?"),
    "rest percent": (
        "What percentage do the others make?",
        "How many per cent do not belong to that group?",
    ),
    "rest whole": (
        "How many are there altogether?",
        "Find the total.",
        "How large is the whole?",
    ),
}


def part(draw: Draw, level: int) -> Problem:
    group = draw.pick(GROUPS)
    percent = draw.between(1, 19) * 5 if level == 1 else draw.between(1, 99)
    whole = (100 if level > 1 else 20) * draw.between(2, 40)
    count, rest = whole * percent // 100, whole - whole * percent // 100
    asked = draw.pick(
        ("count", "rest", "percent", "whole", "rest percent", "rest whole")[: 2 + 2 * level]
    )
    facts = {
        "count": f"Of {whole} {group.whole}, {percent}% {group.part}.",
        "rest": f"There are {whole} {group.whole}, and {percent}% of them {group.part}.",
        "percent": f"Out of {whole} {group.whole}, {count} {group.part}.",
        "whole": f"{percent}% of the {group.whole} {group.part}; that is {count} of them.",
        "rest percent": f"Among {whole} {group.whole}, {count} {group.part}.",
        "rest whole": f"While {percent}% of the {group.whole} {group.part}, the other {rest} do not fall in that group.",
    }
    values = {
        "count": count,
        "rest": rest,
        "percent": percent,
        "whole": whole,
        "rest percent": 100 - percent,
        "rest whole": whole,
    }
    steps = {
        "count": [f"{percent}% of {whole} is {percent}/100 · {whole} = {count}."],
        "rest": [
            f"{percent}% of {whole} is {percent}/100 · {whole} = {count}.",
            f"The others are {whole} - {count} = {rest}.",
        ],
        "percent": [
            f"The share is {count}/{whole} = {Fraction(count, whole)}.",
            f"Times 100 this is {percent} per cent.",
        ],
        "whole": [
            f"1% is {count} ÷ {percent} = {Fraction(count, percent)}.",
            f"100% is 100 times as much: {whole}.",
        ],
        "rest percent": [
            f"The share is {count}/{whole}, that is {percent} per cent.",
            f"The others make 100 - {percent} = {100 - percent} per cent.",
        ],
        "rest whole": [
            f"The others are 100 - {percent} = {100 - percent} per cent, which is {rest}.",
            f"1% is {rest} ÷ {100 - percent} = {Fraction(rest, 100 - percent)}, so 100% is {whole}.",
        ],
    }
    prompt = f"{facts[asked]} {draw.pick(PART_ASKS[asked])} {draw.pick(NUMBER_FORMS)}".strip()
    return solved(draw, prompt, steps[asked], str(values[asked]))


NUMBER_FORMS = (
    "",
    "Give just the number.",
    "Answer with a number and no unit.",
    "Show the calculation.",
)

# --- changes one after another

QUANTITIES = (
    ("The price of a bicycle", "dollars", "price"),
    ("The rent of a flat", "dollars", "rent"),
    ("The membership of a club", "people", "membership"),
    ("The stock of a warehouse", "boxes", "stock"),
    ("The population of a village", "people", "population"),
    ("The daily output of a factory", "units", "output"),
    ("The number of visitors of a museum", "visitors", "number"),
    ("The number of readers of a magazine", "readers", "number"),
)
RISE = ("rises by {p}%", "goes up by {p}%", "grows by {p}%", "is raised by {p}%")
FALL = ("falls by {p}%", "drops by {p}%", "shrinks by {p}%", "is cut by {p}%")


def changes(draw: Draw, level: int) -> Problem:
    subject, unit, noun = draw.pick(QUANTITIES)
    percents = [draw.nonzero(-9, 10) * 5 for _ in range(level if level < 3 else draw.between(2, 3))]
    factor = Fraction(1)
    for percent in percents:
        factor *= Fraction(100 + percent, 100)
    start = factor.denominator * draw.between(2, 12) * (10 if factor.denominator < 100 else 1)
    end = start * factor
    story = listing([change_words(draw, percent) for percent in percents], "and then")
    asked = draw.pick(("end", "start", "net", "difference")[: 1 + level])
    steps, current = [], Fraction(start)
    for percent in percents:
        after = current * Fraction(100 + percent, 100)
        steps.append(
            f"{'+' if percent > 0 else '-'}{abs(percent)}% means times {decimal(Fraction(100 + percent, 100))}."
        )
        current = after
    total = f"The combined factor is {decimal(factor)}."
    if asked == "net":
        net = (factor - 1) * 100
        steps += [total, f"The change is ({decimal(factor)} - 1) · 100 = {decimal(net)} per cent."]
        ask = draw.pick(NET_QUESTIONS)
        return solved(draw, f"{subject} {story}. {ask}", steps, decimal(net))
    if asked == "start":
        ask = draw.pick(START_QUESTIONS).format(unit=unit, noun=noun, end=decimal(end))
        steps += [total, f"Before the change it was {decimal(end)} ÷ {decimal(factor)} = {start}."]
        return solved(draw, f"{subject} {story}. {ask}", steps, str(start))
    steps += [total, f"The new value is {start} · {decimal(factor)} = {decimal(end)}."]
    if asked == "difference":
        steps.append(f"The difference is {decimal(end)} - {start} = {decimal(end - start)}.")
        ask = draw.pick(DIFFERENCE_QUESTIONS).format(noun=noun, unit=unit)
        return solved(
            draw, f"{subject} is {start} {unit}. It {story}. {ask}", steps, decimal(end - start)
        )
    ask = draw.pick(END_QUESTIONS).format(noun=noun, unit=unit)
    return solved(draw, f"{subject} is {start} {unit}. It {story}. {ask}", steps, decimal(end))


def change_words(draw: Draw, percent: int) -> str:
    return draw.pick(RISE if percent > 0 else FALL).format(p=abs(percent))


END_QUESTIONS = (
    "What is the {noun} after that?",
    "Find the new {noun} in {unit}.",
    "How large is the {noun} in the end?",
)
START_QUESTIONS = (
    "Afterwards it is {end} {unit}. What was it before?",
    "The {noun} is now {end} {unit}. Find the original {noun}.",
    "If {end} {unit} is the result, with which {noun} did it begin?",
)
NET_QUESTIONS = (
    "By how many per cent has it changed overall? Use a negative number for a decrease.",
    "What single percentage change has the same effect? (Negative for a fall.)",
    "Find the overall change in per cent, with a minus sign if it is a loss.",
)
DIFFERENCE_QUESTIONS = (
    "By how many {unit} has the {noun} changed in total? (Negative if it is lower.)",
    "Find the end value minus the start value, in {unit}.",
)

# --- discount, tax and tip


def prices(draw: Draw, level: int) -> Problem:
    who, item = (
        draw.pick(PEOPLE),
        draw.pick(("coat", "lamp", "tent", "desk", "camera", "guitar", "printer", "rug")),
    )
    price = Fraction(draw.between(4, 60) * 5)
    moves = [
        ("discount", -draw.between(1, 10) * 5, "a discount of {p}% is taken off"),
        ("tax", draw.pick((4, 5, 8, 10, 20)), "{p}% tax is added"),
        ("card", -draw.pick((2, 4, 5, 10)), "a club card saves another {p}%"),
    ][:level]
    current, steps, words = price, [], []
    for name, percent, text in moves:
        after = current * Fraction(100 + percent, 100)
        steps.append(
            f"After the {name}: {money_decimal(current)} · {decimal(Fraction(100 + percent, 100))} = {money_decimal(after)}."
        )
        words.append(text.format(p=abs(percent)))
        current = after
    story = listing(words, "and then")
    saved = draw.chance(0.3)
    value = price - current if saved else current
    intro = draw.pick(
        (
            f"A {item} is marked at {money(price)}. At the till, {story}.",
            f"{who} buys a {item} with a list price of {money(price)}; {story}.",
            f"The label on a {item} says {money(price)}. When {who} pays, {story}.",
        )
    )
    if saved:
        steps.append(
            f"Compared with the label: {money(price)} - {money_decimal(current)} = {decimal(value)}."
        )
        ask = draw.pick(
            (
                "How many dollars below the label price is the final price (negative if above)?",
                "Find the label price minus the price paid, in dollars.",
            )
        )
    else:
        ask = draw.pick(
            (
                "What is the final price in dollars?",
                "How many dollars are paid?",
                f"How much does {who} pay, in dollars?",
            )
        )
    return solved(draw, f"{intro} {ask} {draw.pick(EXACT_FORMS)}".strip(), steps, decimal(value))


def money_decimal(value: Fraction) -> str:
    return f"${decimal(value)}"


EXACT_FORMS = ("", "Do not round.", "Give the exact decimal.")

# --- speed, distance, time

TRAVELLERS = ("cyclist", "train", "bus", "ferry", "delivery van", "runner", "drone", "tram")


def journey(draw: Draw, level: int) -> Problem:
    return draw.pick((single_leg, legs, meeting)[: 1 + level if level < 3 else 3])(draw, level)


def single_leg(draw: Draw, level: int) -> Problem:
    who, speed = draw.pick(TRAVELLERS), draw.between(2, 30) * 4
    hours = Fraction(draw.between(1, 12 * level), draw.pick((1, 2, 4)))
    distance = speed * hours
    asked = draw.pick(("distance", "time", "speed"))
    fact, value = {
        "distance": (f"A {who} moves at {speed} km/h for {decimal(hours)} hours.", distance),
        "time": (f"A {who} covers {decimal(distance)} km at a constant {speed} km/h.", hours),
        "speed": (
            f"A {who} needs {decimal(hours)} hours for {decimal(distance)} km.",
            Fraction(speed),
        ),
    }[asked]
    ask = draw.pick(
        {
            "distance": ("How far does it get, in km?", "Find the distance in kilometres."),
            "time": ("How many hours does that take?", "Give the travel time in hours."),
            "speed": ("What is its average speed in km/h?", "Find the speed in km/h."),
        }[asked]
    )
    step = {
        "distance": f"Distance is speed times time: {speed} · {decimal(hours)} = {decimal(distance)}.",
        "time": f"Time is distance over speed: {decimal(distance)} ÷ {speed} = {decimal(hours)}.",
        "speed": f"Speed is distance over time: {decimal(distance)} ÷ {decimal(hours)} = {speed}.",
    }[asked]
    return solved(draw, f"{fact} {ask} {draw.pick(NUMBER_FORMS)}".strip(), [step], decimal(value))


def legs(draw: Draw, level: int) -> Problem:
    who, count = draw.pick(TRAVELLERS), draw.between(2, 1 + level)
    parts = [(draw.between(2, 20) * 5, draw.between(1, 6)) for _ in range(count)]
    distance, hours = sum(speed * time for speed, time in parts), sum(time for _, time in parts)
    rest = draw.between(1, 3) if level > 1 and draw.chance(0.5) else 0
    told = draw.pick(("{d} km at {s} km/h", "{t} h at {s} km/h", "{d} km in {t} h"))
    words = [told.format(d=speed * time, s=speed, t=time) for speed, time in parts]
    pause = f" In between it rests for {rest} h." if rest else ""
    average = Fraction(distance, hours + rest)
    steps = [
        f"The legs are {listing([f'{speed * time} km in {time} h' for speed, time in parts])}.",
        f"Altogether that is {distance} km in {hours}{f' + {rest} = {hours + rest}' if rest else ''} h.",
        f"The average speed is {distance}/{hours + rest} = {average} km/h.",
    ]
    fact = draw.pick(
        (
            f"A {who} travels {listing(words, 'and then')}.",
            f"The trip of a {who} has {count} legs: {listing(words)}.",
        )
    )
    note = " (rest included)" if rest else ""
    ask = draw.pick(
        (
            f"What is the average speed of the whole trip{note} in km/h? A reduced fraction or integer, please.",
            f"Find total distance over total time{note}, in km/h, as an exact number.",
            f"At which constant speed in km/h would the whole trip take the same time{note}? Do not round.",
        )
    )
    return solved(draw, f"{fact}{pause} {ask}", steps, str(average))


def meeting(draw: Draw, level: int) -> Problem:
    a, b = draw.some(PEOPLE, 2)
    fast, slow = draw.between(8, 20) * 3, draw.between(2, 7) * 3
    hours = Fraction(draw.between(2, 6 * level), 2)
    toward = draw.chance(0.5)
    closing = fast + slow if toward else fast - slow
    gap = closing * hours
    fact = (
        draw.pick(
            (
                f"{a} and {b} start {decimal(gap)} km apart and drive towards each other",
                f"Two roads' ends are {decimal(gap)} km apart; {a} and {b} set out from them to meet",
            )
        )
        if toward
        else draw.pick(
            (
                f"{b} is {decimal(gap)} km ahead of {a}, and both drive the same way",
                f"{a} follows {b}, who has a lead of {decimal(gap)} km",
            )
        )
    )
    place = fast * hours
    asked = draw.below(2)
    ask = draw.pick(
        (
            (
                "After how many hours are they at the same place?",
                "How far does {a} drive until then, in km?",
            ),
            (
                "When do they meet, in hours after the start?",
                "How many kilometres has {a} covered when they meet?",
            ),
        )
    )[asked].format(a=a)
    steps = [
        f"{'Towards each other the speeds add' if toward else 'One behind the other the speeds subtract'}: {closing} km/h.",
        f"The gap of {decimal(gap)} km closes in {decimal(gap)} ÷ {closing} = {decimal(hours)} hours.",
    ]
    if asked:
        steps.append(f"In that time {a} covers {fast} · {decimal(hours)} = {decimal(place)} km.")
    prompt = f"{fact}. {a}'s speed is {fast} km/h and {b}'s is {slow} km/h. {ask}"
    return solved(draw, prompt, steps, decimal(place if asked else hours))


# --- interest, work, mixtures


def interest(draw: Draw, level: int) -> Problem:
    who, rate, years = (
        draw.pick(PEOPLE),
        draw.between(1, 10),
        draw.between(2, 3 if level == 2 else 4),
    )
    capital, compound = draw.between(2, 50) * 100, draw.chance(0.5)
    growth = (1 + Fraction(rate, 100)) ** years if compound else 1 + Fraction(rate * years, 100)
    total = capital * growth
    kind = "compound interest, added once a year" if compound else "simple interest"
    fact = draw.pick(
        (
            f"{who} puts ${capital} into an account at {rate}% {kind}.",
            f"A bank pays {rate}% a year ({kind}). {who} invests ${capital}.",
            f"${capital} is lent to {who} at a yearly rate of {rate}%, {kind}.",
        )
    )
    wanted, value = draw.pick((("balance", total), ("interest", total - capital)))
    ask = draw.pick(
        (
            f"What is the {wanted} after {years} years, in dollars, unrounded?",
            f"After {years} years, how many dollars is the {wanted}? Give every decimal.",
            f"Find the exact {wanted} in dollars when {years} years have passed.",
        )
    )
    steps = [
        f"{'Each year multiplies by' if compound else 'Each year adds'} "
        f"{decimal(1 + Fraction(rate, 100)) if compound else decimal(Fraction(capital * rate, 100))}.",
        f"After {years} years the balance is {capital} · {decimal(growth)} = {decimal(total)}.",
    ]
    if wanted == "interest":
        steps.append(f"The interest is {decimal(total)} - {capital} = {decimal(value)}.")
    return solved(draw, f"{fact} {ask}", steps, decimal(value))


WORKERS = (
    ("pipe", "fills a tank"),
    ("printer", "prints a catalogue"),
    ("harvester", "clears a field"),
    ("painter", "paints a hall"),
    ("pump", "drains a cellar"),
    ("robot", "assembles a batch"),
)


def work(draw: Draw, level: int) -> Problem:
    worker, job = draw.pick(WORKERS)
    times_alone = draw.some(range(2, 9 + 4 * level), draw.between(2, level))
    rate = sum((Fraction(1, hours) for hours in times_alone), Fraction(0))
    together = 1 / rate
    told = [
        f"the {name} {worker} alone {job} in {hours} h"
        for name, hours in zip(("first", "second", "third"), times_alone, strict=False)
    ]
    hours_list = ", ".join(str(hours) for hours in times_alone)
    head = Fraction(0)
    steps = []
    if draw.chance(0.5) and times_alone[0] > 2:
        head = Fraction(draw.between(1, times_alone[0] - 1))
        steps.append(
            f"In {head} h the first one does {head / times_alone[0]} of the job; {1 - head / times_alone[0]} is left."
        )
        together = (1 - head / times_alone[0]) / rate
    steps += [
        f"Per hour they do {' + '.join(f'1/{hours}' for hours in times_alone)} = {rate} of the job together.",
        f"The time together is {1 - head / times_alone[0]} ÷ ({rate}) = {together} h.",
    ]
    start = (
        f"The first one begins alone and works for {head} h; then the others join in."
        if head
        else "They all begin at the same time."
    )
    fact = draw.pick(
        (
            f"{listing(told).capitalize()}. {start}",
            f"Here is what each {worker} can do: {listing(told)}. {start}",
            f"Working alone, {len(times_alone)} machines or people of one kind ({worker}) need these hours for a job: {hours_list}. {start}",
        )
    )
    ask = draw.pick(
        (
            "How many hours do they work together until the job is done? Give a reduced fraction or integer.",
            "Find the exact number of hours for which all of them work.",
            "For how long, in hours, do they all work side by side? Do not round.",
        )
    )
    return solved(draw, f"{fact} {ask}", steps, str(together))


def mixture(draw: Draw, level: int) -> Problem:
    thing = draw.pick(("salt solution", "juice drink", "alloy", "cleaning fluid", "syrup", "paint"))
    count = draw.between(2, level)
    parts = [(draw.between(1, 20), draw.between(0, 18) * 5) for _ in range(count)]
    mass, pure = sum(m for m, _ in parts), sum(Fraction(m * p, 100) for m, p in parts)
    strength = Fraction(pure) / mass * 100
    told = listing([f"{m} litres at {p}%" for m, p in parts])
    steps = [
        f"The pure part is {' + '.join(f'{m}·{p}/100' for m, p in parts)} = {decimal(Fraction(pure))} litres.",
        f"The mixture has {' + '.join(str(m) for m, _ in parts)} = {mass} litres.",
    ]
    fact = draw.pick(
        (
            f"A {thing} is blended from {told}.",
            f"Someone pours together a {thing}: {told}.",
            f"A {thing} comes in several strengths. One takes {told} and mixes them.",
        )
    )
    if draw.chance(0.6):
        steps.append(
            f"The strength is {decimal(Fraction(pure))}/{mass} · 100 = {strength} per cent."
        )
        ask = draw.pick(
            (
                "How many per cent is the mixture? Give an exact number.",
                "Find the strength of the result in per cent, as a reduced fraction or integer.",
            )
        )
        return solved(draw, f"{fact} {ask}", steps, str(strength))
    ask = draw.pick(
        (
            "How many litres of the pure substance does the mixture hold?",
            "Find the volume of pure substance in it, in litres.",
        )
    )
    return solved(draw, f"{fact} {ask}", steps, decimal(Fraction(pure)))
