"""Answers of mathematical tasks, derived again from the words and numbers of their prompts.

An oracle beside the templates, with which it shares no code: brute force, exact fractions, sampling
and numbers. `agrees` says whether an answer is right; it raises `Unread` for a prompt that no
pattern reads, so that nothing goes unchecked.
"""

from __future__ import annotations

import cmath
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction as F
from functools import cache
from itertools import combinations, count, permutations, product
from typing import Any

from procedural_stages import Unread

Match = re.Match[str]
# A pattern of prompts, and a function of the match and the prompt: the expected answer, or a test.
Answers = Mapping[str, Callable[[Match, str], Any]]


def agrees(family: str, prompt: str, answer: str) -> bool:
    """Whether the answer is that of the prompt."""
    uncapitalized = prompt[:1].lower() + prompt[1:]  # a given clause may begin the prompt
    for pattern, derive in FAMILIES[family].items():
        if match := re.search(pattern, prompt) or re.search(pattern, uncapitalized):
            expected = derive(match, prompt)
            return bool(expected(answer)) if callable(expected) else same(answer, expected)
    raise Unread(prompt)


def same(answer: str, expected: Any) -> bool:
    if isinstance(expected, (float, complex)):
        return cmath.isclose(complex_of(answer), expected, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(expected, (set, frozenset)):
        found = [complex_of(part) for part in answer.strip("{}").split(", ")]
        return len(found) == len(expected) and all(
            any(cmath.isclose(complex(one), each, abs_tol=1e-9) for each in found)
            for one in expected
        )
    if isinstance(expected, tuple):
        return tuple(F(part) for part in answer.strip("()").split(", ")) == expected
    if isinstance(expected, list):
        return matrix(answer) == expected
    return answer == expected if isinstance(expected, str) else F(answer) == expected


# --- expressions as the texts write them; they are our own, so they may be evaluated


@cache
def compiled(text: str) -> Any:
    text = re.sub(r"\|([^|]+)\|", r"abs(\1)", text).replace("^", "**").replace("·", "*")
    text = text.replace("×", "*").replace("÷", "/")
    text = re.sub(r"(?<![\w.*/])(\d+)/(\d+)(?![\w*])", r"F(\1,\2)", text)
    text = re.sub(r"(?<![\w.,(])(\d+)|(?<=\()(?<!F\()(\d+)(?![\d,])", lambda m: f"F({m[0]})", text)
    name = r"(?:sin|cos|ln|sqrt|abs|pi|[a-zA-Z])"
    text = re.sub(rf"(?<=[\d)])(?={name}(?![a-zA-Z(,])|(?:sin|cos|ln|sqrt|abs)\()", "*", text)
    text = re.sub(r"(?<=\))(?=[\w(])", "*", text)
    text = re.sub(
        r"(?<![a-zA-Z])([a-zE-Z])(?=\()", lambda m: f"{m[1]}*" if m[1] != "F" else "F", text
    )
    text = re.sub(r"F\((\d+)\)\*(\()", r"F(\1)*\2", text)
    return compile(text, text, "eval")


def value(text: str, names: Mapping[str, Any] | None = None, **more: Any) -> Any:
    """The value of an expression, exact where it has no roots or other functions."""
    known = {"F": F, "abs": abs, "pi": math.pi, "e": math.e, "ln": cmath.log}
    known |= {"sin": cmath.sin, "cos": cmath.cos, "sqrt": cmath.sqrt, "i": 1j}
    return eval(compiled(text), {"__builtins__": {}}, {**known, **(names or {}), **more})


def complex_of(text: str) -> complex:
    return complex(value(text))


def ints(match: Match) -> list[int]:
    return [int(group) for group in match.groups() if group and re.fullmatch(r"-?\d+", group)]


def chosen(prompt: str, options: Mapping[str, Any]) -> Any:
    """The option whose words the prompt holds, the longest words first."""
    for words in sorted(options, key=len, reverse=True):
        if words in prompt:
            option = options[words]
            return option() if callable(option) else option
    raise Unread(prompt)


def only(found: Iterable[Any]) -> Any:
    """The one thing that was found."""
    [one] = set(found)
    return one


# --- fractions

LEFT = (
    *("is still unread", "remains", "is left over", "lies ahead", "lies fallow"),
    *("is still on the table", "is left on the roll", "is still on the shelves"),
)
USED = (
    *("has been read", "has been used", "has gone", "has been walked", "is planted"),
    *("has been handed on or stored", "has been cut off", "has been lent out"),
)


def shares(match: Match, prompt: str) -> Any:
    left = F(1)
    for part, rest in re.findall(
        r"(\d+/\d+) of (the whole|what is left|the rest|what remains at)", prompt
    ):
        left -= F(part) * (1 if rest == "the whole" else left)
    _, is_left = max((prompt.rfind(words), words in LEFT) for words in (*LEFT, *USED))
    if end := re.search(r"comes to (\d+) \w+\.|In the end (\d+) \w+ make", prompt):
        return F(end[1] or end[2]) / left
    size = re.search(r"(?:of|with|bakes) (?:a rope of )?(\d+) [a-z]+(?:\.| of water)", prompt)
    return (left if is_left else 1 - left) * (int(size[1]) if size else 1)


UNDO = re.compile(
    r"(?:(\S+) is added|it grows by (\S+?)(?=[\s,.;?]|$))|(?:(\S+) is subtracted|made smaller by (\S+?)(?=[\s,.;?]|$))"
    r"|(?:it is multiplied by (\S+?)(?=[\s,.;?]|$)|one takes (\S+) of it)|(?:it is divided by|one divides by) (\S+?)(?=[\s,.;?]|$)"
)


def undone(match: Match, prompt: str) -> Any:
    end = F(next(filter(None, match.groups())))

    def works(answer: str) -> bool:
        number = F(answer)
        for found in UNDO.finditer(prompt):
            n = F(next(filter(None, found.groups())))
            kind = found.lastindex or 0
            number = (
                number + n
                if kind < 3
                else number - n
                if kind < 5
                else number * n
                if kind < 7
                else number / n
            )
        return number == end

    return works


def expression(match: Match, prompt: str) -> Any:
    return value(max(re.findall(r"[\d(][\d/ +\-×÷()]*[\d)]", prompt), key=len))


FRACTIONS: Answers = {
    r"The result is (\S+)\. What was|ends at (\S+)\. Find|comes out is (\S+)\. What|end at (\S+), if|^(\S+) is what is left after": undone,
    r"\d/\d+ of (?:the whole|the rest|what)": shares,
    r"[×÷+-]": expression,
}

# --- linear

EQUATIONS = (
    r"^Solve for (\w): (.+?) = (.+?)\.(?: |$)",
    r"^Find the number (\w) for which (.+?) = (.+?)\.",
    r"^What value of (\w) makes this equation true\?\n\n(.+?) = (.+)",
    r"^The equation (?P<l>.+?) = (?P<r>.+?) has exactly one solution",
    r"^Isolate (\w) in the equation (.+?) = (.+?)\.(?: |$)",
    r"^Two expressions are equal: (?P<l>.+?) = (?P<r>.+?)\. For",
    r"^For what (\w) do both sides of (.+?) = (.+?) agree",
    r"^If (?P<l>.+?) = (?P<r>.+?), what is (?P<x>\w)\?",
    r"^Suppose (?P<l>.+?) = (?P<r>.+?)\. Find the value of (?P<w>.+?)\.",
    r"^Given that (?P<l>.+?) = (?P<r>.+?), compute (?P<w>.+?)\.",
    r"^First solve (?P<l>.+?) = (?P<r>.+?) for \w; then give the value of (?P<w>.+?)\.",
    r"^The number \w satisfies (?P<l>.+?) = (?P<r>.+?)\. What is (?P<w>.+?)\?",
    r"^(?P<l>.+?) = (?P<r>.+?) holds for one number \w\. How large is (?P<w>.+?) for that",
)


def letter(text: str) -> str:
    return str(only(re.findall(r"[a-z]", text)))


def equation(match: Match, prompt: str) -> Any:
    named = match.groupdict()
    left, right = (named["l"], named["r"]) if "l" in named else match.groups()[-2:]
    x = letter(left + right)
    gap = [value(f"({left}) - ({right})", {x: F(n)}) for n in (0, 1)]
    root = -gap[0] / (gap[1] - gap[0])
    return value(named["w"], {x: root}) if named.get("w") else root


def ages(match: Match, prompt: str) -> Any:
    years, total = next(
        (int(a), int(b))
        for a, b in [
            pair
            for pattern in (
                r"In (\d+) years their ages will add up to (\d+)",
                r"ages (\d+) years from now will be (\d+)",
                r"After (\d+) more years, the two ages together make (\d+)",
            )
            for pair in re.findall(pattern, prompt)
        ]
    )
    rules: dict[str, Callable[[int, int, int], bool]] = {
        r"(\w+) is (\d+) times as old as (\w+)": lambda a, n, b: a == n * b,
        r"(\w+)'s age times (\d+) gives (\w+)'s age": lambda a, n, b: a * n == b,
        r"(\w+) is (\d+) years older than (\w+)": lambda a, n, b: a == b + n,
        r"(\w+) is (\d+) years younger than (\w+)": lambda a, n, b: a == b - n,
    }
    one, n, two, rule = next(
        (m[1], int(m[2]), m[3], rule) for p, rule in rules.items() if (m := re.search(p, prompt))
    )
    who = re.search(r"How old is (\w+) now|Find (\w+)'s present age|What is (\w+)'s age", prompt)
    name = next(filter(None, who.groups())) if who else ""
    now = total - 2 * years
    pairs = [(a, now - a) for a in range(now + 1) if rule(a, n, now - a)]
    return only({one: a, two: b}[name] for a, b in pairs)


def fenced(match: Match, prompt: str) -> Any:
    number = re.search(
        r"is (\d+) m longer than (\d+) times|equals (\d+) widths plus another (\d+)|exceeds (\d+) times the width by (\d+)",
        prompt,
    )
    groups = [int(g) for g in number.groups() if g] if number else []
    factor, extra = groups if "longer than" not in prompt else groups[::-1]
    around = re.search(r"perimeter is (\d+)|covers (\d+) m\.|border is (\d+)", prompt)
    p = int(next(filter(None, around.groups()))) if around else 0
    width = only(w for w in range(p) if 2 * (w + factor * w + extra) == p)
    length = factor * width + extra
    return chosen(
        prompt,
        {"width in metres": width, "length in metres": length, "area in square": width * length},
    )


def consecutive(match: Match, prompt: str) -> Any:
    numbers = re.search(r"(\d+) (?:consecutive )?(integers|even integers|odd integers)", prompt)
    total = re.search(
        r"is (-?\d+)\. Find|add up to (-?\d+)\.|gives (-?\d+)\.|sum equals (-?\d+)", prompt
    )
    if not numbers or not total:
        raise Unread(prompt)
    size, kind, goal = int(numbers[1]), numbers[2], int(next(filter(None, total.groups())))
    step = 1 if kind == "integers" else 2
    runs = [
        range(first, first + step * size, step)
        for first in range(-400, 400)
        if step == 1 or first % 2 == (kind == "odd integers")
    ]
    run = only(run for run in runs if sum(run) == goal)
    return run[0] if "smallest" in prompt else run[-1]


def fare(match: Match, prompt: str) -> Any:
    base, rate = ints(match) if "on top of" not in match[0] else ints(match)[::-1]
    off = re.search(r"takes \$(\d+) off", prompt)
    total = re.search(r"pays \$(\d+)|bill is \$(\d+)|is billed \$(\d+)", prompt)
    due = int(next(filter(None, total.groups()))) if total else 0
    return only(n for n in range(500) if base + rate * n - int(off[1] if off else 0) == due)


def plans(match: Match, prompt: str) -> Any:
    high, cheap = ints(match)
    second = re.search(
        r"(?:\$(\d+) a \w+|no fixed fee but) (?:and )?\$(\d+) per [\w ]+?\.(?: |$)", prompt
    )
    low, dear = (int(second[1] or 0), int(second[2])) if second else (0, 0)
    n = only(n for n in range(2000) if high + cheap * n == low + dear * n)
    return high + cheap * n if re.search("What is the cost|Find the price", prompt) else n


def splitting(match: Match, prompt: str) -> Any:
    total = int(re.findall(r"(\d+) \w+(?:\.| are divided)", prompt)[0])
    rule = re.search(
        r"(?P<b>\w+) has (?P<f>\d+) times as many as (?P<a>\w+), and (?P<c>\w+) has (?P<m>\d+) more"
        r"|For each one that (?P<a2>\w+) has, (?P<b2>\w+) has (?P<f2>\d+); (?P<c2>\w+) has (?P<m2>\d+) more"
        r"|(?P<a3>\w+) has (?P<m3>\d+) fewer than (?P<c3>\w+), while (?P<b3>\w+) has (?P<f3>\d+) times",
        prompt,
    )
    if not rule:
        raise Unread(prompt)
    told = {name[0]: text for name, text in rule.groupdict().items() if text}
    who = re.search(
        r"How many does (\w+) have|What is (\w+)'s share|number that (\w+) gets", prompt
    )
    a = only(a for a in range(total) if a + int(told["f"]) * a + a + int(told["m"]) == total)
    parts = {told["a"]: a, told["b"]: int(told["f"]) * a, told["c"]: a + int(told["m"])}
    return parts[next(filter(None, who.groups()))] if who else None


def pair_of_equations(match: Match, prompt: str) -> Any:
    first, second, wanted = match.groups()
    names = sorted(set(re.findall(r"[a-z]", first)))
    x, y = names if names != ["m", "n"] else ("m", "n")
    sides = [f"({left}) - ({right})" for left, right in (first.split(" = "), second.split(" = "))]
    at = [[value(side, {x: F(a), y: F(b)}) for a, b in ((0, 0), (1, 0), (0, 1))] for side in sides]
    (c, a, b), (f, d, e) = [(-o, p - o, q - o) for o, p, q in at]
    point = {x: (c * e - f * b) / (a * e - b * d), y: (a * f - c * d) / (a * e - b * d)}
    if "ordered pair" in wanted:
        return tuple(point[name] for name in re.findall(r"[a-z]", wanted.split("(")[1]))
    return value(wanted, point)


def purchase(match: Match, prompt: str) -> Any:
    a, one, b, two, c, early, d, e, late = match.groups()
    f = early or late
    prices = only(
        (p, q)
        for p in range(1, 40)
        for q in range(1, 40)
        if int(a) * p + int(b) * q == int(c) and int(d) * p + int(e) * q == int(f)
    )
    wanted = {f"one unit of the {one}": prices[0], f"one unit of the {two}": prices[1]}
    return chosen(prompt, {**wanted, "cost together": sum(prices)})


LINEAR: Answers = {
    r"age(?:s)? .*(?:now|today|present)|\byears (?:older|younger)|times as old": ages,
    r"The length of a rectangular \w+": fenced,
    r"consecutive|that follow one another": consecutive,
    r"\$(\d+) for each [\w -]+ and \$(\d+) for every|\$(\d+) per [\w ]+, on top of a basic fee of \$(\d+)|reads: [\w -]+ \$(\d+), each [\w ]+ \$(\d+)": fare,
    r"\$(\d+) a \w+ (?:and|plus) \$(\d+) (?:per|for each)": plans,
    r"share \d+ \w+\.|Together \w+, \w+ and \w+ have|are divided among": splitting,
    r"(\d+) (\w+)(?: and | with |, )(\d+) (\w+) (?:for|cost|and a total of) \$(\d+)(?:\. \w+ pays \$(\d+) for|, while|\. Another lists) (\d+) \w+(?: and | with |, )(\d+) \w+(?: cost|)(?: and|) ?(?:\$(\d+))?": purchase,
    r"^Solve the system (.+? = .+?) and (.+? = .+?)\. Give (.+?)\.": pair_of_equations,
    r"^Two equations hold at once:\n\n(.+?)\n(.+?)\n\nFind (.+?)\.": pair_of_equations,
    r"^The lines (.+?) and (.+?) meet in one point\. Determine (.+?) there": pair_of_equations,
    r"^If (.+? = .+?) and also (.+?), what is (.+?)\?": pair_of_equations,
    r"^Use elimination or substitution on (.+?); (.+?)\. State (.+?)\.": pair_of_equations,
    r"^Numbers satisfy (.+?) as well as (.+?)\. Work out (.+?)\.": pair_of_equations,
    **dict.fromkeys(EQUATIONS, equation),
}

# --- quadratic

WANTED = (
    r"(the set of all solutions|the larger solution minus twice the smaller|the \w+ of the [a-z ]*solutions"
    r"|the \w+ of all solutions|the \w+ of the solutions|the \w+ solution|the distance between the solutions)"
)
QUADRATICS = (
    rf"^Solve (.+? = .+?) and give {WANTED}",
    rf"^Find {WANTED} of the equation (.+? = .+?)\.(?: |$)",
    rf"^Consider (.+? = .+?), where \w is a real number\. What is {WANTED}",
    rf"^The equation (.+? = .+?) is quadratic in \w\. Determine {WANTED}",
    rf"^A student wants to know when (.+? = .+?)\. State {WANTED}",
    rf"Report {WANTED}\.\n\n(.+? = .+)",
    rf"^Work out {WANTED}, given (.+? = .+?)\.(?: |$)",
    rf"^For the quadratic equation\n\n(.+? = .+?)\n\ncompute {WANTED}",
    rf"^Without a calculator, find {WANTED} for (.+? = .+?)\.(?: |$)",
)


def through(text: str, x: str) -> tuple[F, F, F]:
    """The coefficients of a quadratic expression, from three of its values."""
    low, middle, high = (value(text, {x: F(n)}) for n in (-1, 0, 1))
    return (low + high) / 2 - middle, (high - low) / 2, middle


def root(n: F) -> F | float:
    top, bottom = math.isqrt(n.numerator), math.isqrt(n.denominator)
    exact = top**2 == n.numerator and bottom**2 == n.denominator
    return F(top, bottom) if exact else math.sqrt(n)


def roots(match: Match, prompt: str) -> Any:
    left, right = next(text for text in match.groups() if " = " in text).split(" = ")
    wanted = next(text for text in match.groups() if text.startswith("the "))
    right = right.split(" Write")[0].split(" Use")[0].split(" List")[0].split(" If")[0].strip()
    right = re.split(r"\s(?:Keep|Do|An) ", right)[0].strip().rstrip(".")
    a, b, c = through(f"({left}) - ({right})", letter(re.sub("[^a-z]", "", left)[:1]))
    spread = root(b * b - 4 * a * c)
    low, high = sorted(((-b - spread) / (2 * a), (-b + spread) / (2 * a)))
    return chosen(
        wanted,
        {
            "the set of all solutions": {low, high},
            "the largest solution": high,
            "the larger solution": high,
            "the smallest solution": low,
            "the smaller solution": low,
            "the sum of all solutions": -b / a,
            "the product of the solutions": c / a,
            "the distance between the solutions": high - low,
            "the sum of the squares of the solutions": low**2 + high**2,
            "the sum of the reciprocals of the solutions": lambda: 1 / low + 1 / high,
            "the larger solution minus twice the smaller": high - 2 * low,
        },
    )


def parabola(match: Match, prompt: str) -> Any:
    name, x, text = match.groups()
    a, b, c = through(text, x)
    at = -b / (2 * a)
    disc = b * b - 4 * a * c
    peak = value(text, {x: at})
    kind = "smallest" if a > 0 else "largest"
    return chosen(
        prompt,
        {
            f"the {kind} value of {name}": peak,
            f"the {x} at which {name} takes its {kind}": at,
            "the vertex": (at, peak),
            "the discriminant": disc,
            "how many real zeros": 1 + (disc > 0) - (disc < 0),
        },
    )


def parameter(match: Match, prompt: str) -> Any:
    left, x, given = (match[name] for name in ("eq", "x", "one"))
    p = only(set(re.findall("[a-z]", left)) - {x})
    gap = [value(left, {x: F(given), p: F(n)}) for n in (0, 1)]
    constant = -gap[0] / (gap[1] - gap[0])
    if "the other" not in prompt.split("double root")[0]:
        return constant
    a, b, _ = through(re.sub(rf"(?<![a-z]){p}(?![a-z])", f"({constant})", left), x)
    return -b / a - F(given)


def sides(match: Match, prompt: str) -> Any:
    gap = re.search(r"is (\d+) m longer|differ by (\d+) m|length minus (\d+) m", prompt)
    area = re.search(r"area (?:is )?(\d+) m\^2|covers (\d+) square", prompt)
    g, a = (int(next(filter(None, m.groups()))) for m in (gap, area) if m)
    width = only(w for w in range(1, a + 1) if w * (w + g) == a)
    asked = re.search(r"the (width|length|perimeter) (?:in metres|\(in m\)|measure)", prompt)
    return {"perimeter": 2 * (2 * width + g), "width": width, "length": width + g}[
        asked[1] if asked else ""
    ]


def two_integers(match: Match, prompt: str) -> Any:
    gap = int((re.search(r"that differ by (\d+)", prompt) or ["", "1"])[1])
    goal = int(
        re.findall(r"is (\d+)\. Find|equals (\d+)\?|Let (\d+) be", prompt)[0][0] or 0
    ) or int(next(filter(None, re.findall(r"(?:is|equals|Let) (\d+)", prompt))))
    squares = "sum of the squares" in prompt
    low = only(
        n for n in range(1, 400) if (n * n + (n + gap) ** 2 if squares else n * (n + gap)) == goal
    )
    return low if "smaller" in prompt else low + gap


def thrown_up(match: Match, prompt: str) -> Any:
    a, b, c = through(match[1], "t")
    if re.search("reach the ground|the height is zero", prompt):
        return only(F(t, 2) for t in range(1, 100) if a * F(t, 2) ** 2 + b * F(t, 2) + c == 0)
    return value(match[1], t=-b / (2 * a))


def sum_product(match: Match, prompt: str) -> Any:
    total, goal = ints(match)
    pairs = [(n, total - n) for n in range(-200, 200) if n * (total - n) == goal]
    return (max if "larger" in prompt else min)(only(tuple(sorted(pair)) for pair in pairs))


PARAMETER = (
    r"^One solution of (?P<eq>.+?) = 0 is (?P<x>\w) = (?P<one>-?\d+)\.",
    r"^The number (?P<one>-?\d+) satisfies (?P<eq>.+?) = 0 \(unknown (?P<x>\w),",
    r"the equation (?P<eq>.+?) = 0 has (?P<x>\w) = (?P<one>-?\d+) among",
    r"^It is known that (?P<x>\w) = (?P<one>-?\d+) solves (?P<eq>.+?) = 0\.",
)
QUADRATIC: Answers = {
    r"rectangular|rectangle": sides,
    r"(?:the product|the sum of the squares) of two (?:consecutive )?positive integers": two_integers,
    r"(?:seconds is|given by|follows) h\(t\) = ([^(]+?)(?:\.| \()(?: |m|$)": thrown_up,
    r"sum (-?\d+) and product (-?\d+)|add up to (-?\d+) and multiply to (-?\d+)|sum is (-?\d+) and whose product is (-?\d+)": sum_product,
    **dict.fromkeys(PARAMETER, parameter),
    r"([fgh])\((\w)\) = (.+?)(?:\. |, | is a parabola| over the real| where that)": parabola,
    **dict.fromkeys(QUADRATICS, roots),
}

# --- rates


def part(match: Match, prompt: str) -> Any:
    percent = re.search(r"(\d+)%", prompt.replace("100% here", ""))
    numbers = [int(n) for n in re.findall(r"\b(\d+)\b(?!%)", prompt.replace("What is 100%", ""))]
    if not percent:
        share = F(100 * numbers[1], numbers[0])
        return 100 - share if re.search("do not belong|do the others make", prompt) else share
    p = int(percent[1])
    if re.search("that is|the other", prompt.split("?")[0]) and not prompt.startswith(
        ("Of ", "There are")
    ):
        return F(numbers[0] * 100, p if "that is" in prompt else 100 - p)
    count = F(numbers[0] * p, 100)
    return numbers[0] - count if prompt.startswith("There are") else count


def changed(match: Match, prompt: str) -> Any:
    factor = F(1)
    for word, p in re.findall(
        r"(rises by|goes up by|grows by|is raised by|falls by|drops by|shrinks by|is cut by) (\d+)%",
        prompt,
    ):
        factor *= F(
            100
            + (
                int(p)
                if word in ("rises by", "goes up by", "grows by", "is raised by")
                else -int(p)
            ),
            100,
        )
    start = re.search(r" is (\d+) [a-z]+\. It ", prompt)
    if start:
        change = re.search("changed in total|minus the start", prompt)
        return int(start[1]) * (factor - 1 if change else factor)
    if end := re.search(r"Afterwards it is ([\d.]+)|is now ([\d.]+)|If ([\d.]+)", prompt):
        return F(next(filter(None, end.groups())).rstrip(".")) / factor
    return 100 * (factor - 1)


def till(match: Match, prompt: str) -> Any:
    label = current = F(match[1])
    for taken, added, saved in re.findall(
        r"discount of (\d+)%|(\d+)% tax|saves another (\d+)%", prompt
    ):
        current = current * (100 + int(added or 0) - int(taken or 0) - int(saved or 0)) / 100
    return label - current if re.search("below the label|minus the price paid", prompt) else current


def single(match: Match, prompt: str) -> Any:
    if found := re.search(r"moves at ([\d.]+) km/h for ([\d.]+) hours", prompt):
        return F(found[1]) * F(found[2])
    if found := re.search(r"covers ([\d.]+) km at a constant ([\d.]+)", prompt):
        return F(found[1]) / F(found[2])
    found = re.search(r"needs ([\d.]+) hours for ([\d.]+) km", prompt)
    return F(found[2]) / F(found[1]) if found else None


def trip(match: Match, prompt: str) -> Any:
    distance = hours = F(0)
    for a, u, b, v in re.findall(r"(\d+) (km|h) (?:at|in) (\d+) (km/h|h)", prompt):
        x, y = F(a), F(b)
        far, long = {("km", "km/h"): (x, x / y), ("h", "km/h"): (x * y, x), ("km", "h"): (x, y)}[
            u, v
        ]
        distance, hours = distance + far, hours + long
    rest = re.search(r"rests for (\d+) h", prompt)
    return distance / (hours + int(rest[1] if rest else 0))


def meeting(match: Match, prompt: str) -> Any:
    gap = F(
        next(
            filter(None, re.findall(r"([\d.]+) km (?:apart|ahead)|lead of ([\d.]+) km", prompt)[0])
        )
    )
    a, fast, slow = match.groups()
    together = int(fast) + int(slow) if "apart" in prompt else int(fast) - int(slow)
    hours = gap / together
    return hours * int(fast) if re.search("How far|How many kilometres", prompt) else hours


def account(match: Match, prompt: str) -> Any:
    capital = F(re.findall(r"\$(\d+)", prompt)[0])
    rate = F(re.findall(r"(\d+)%", prompt)[0]) / 100
    years = int(re.findall(r"(\d+) years", prompt)[0])
    total = capital
    for _ in range(years):
        total += (total if "compound" in prompt else capital) * rate
    return total - capital if re.search("(?:the|exact) interest", prompt) else total


def together(match: Match, prompt: str) -> Any:
    alone = [int(n) for n in re.findall(r"in (\d+) h\b", prompt)]
    if found := re.search(r"need these hours for a job: ([\d, ]+)\.", prompt):
        alone = [int(n) for n in found[1].split(", ")]
    head = re.search(r"works for (\d+) h", prompt)
    left = 1 - F(int(head[1]) if head else 0, alone[0])
    return left / sum(F(1, hours) for hours in alone)


def mixed(match: Match, prompt: str) -> Any:
    parts = [(int(m), int(p)) for m, p in re.findall(r"(\d+) litres at (\d+)%", prompt)]
    pure = sum(F(m * p, 100) for m, p in parts)
    return pure if "pure substance" in prompt else pure / sum(m for m, _ in parts) * 100


RATES: Answers = {
    r"\d litres at \d": mixed,
    r"begin at the same time|begins alone": together,
    r"interest": account,
    r"(\w+)'s speed is (\d+) km/h and \w+'s is (\d+)": meeting,
    r"constant \d+ km/h|moves at \d+|needs [\d.]+ hours": single,
    r"average speed of the whole|total distance over total|At which constant speed": trip,
    r"(?:marked at|list price of|says) \$(\d+)": till,
    r"(?:rises|goes up|grows|is raised|falls|drops|shrinks|is cut) by \d+%": changed,
    r"%|[Oo]ut of|Among": part,
}

# --- integers


def shared_number(match: Match, prompt: str) -> Any:
    numbers = [int(n) for n in re.findall(r"\d+", prompt)]
    least = re.search("least common multiple|smallest positive|flash|next|starting marks", prompt)
    if least:
        return next(n for n in count(max(numbers), max(numbers)) if not any(n % m for m in numbers))
    return max(d for d in range(1, min(numbers) + 1) if not any(m % d for m in numbers))


def residue(match: Match, prompt: str) -> Any:
    text, m = next(
        (m.groups() if i < 4 else m.groups())
        for i, p in enumerate(RESIDUES)
        if (m := re.search(p, prompt))
    )
    if not re.fullmatch(r"\d+", m):
        text, m = m, text
    total = value(text)
    return only(r for r in range(int(m)) if (total - r) % int(m) == 0)


RESIDUES = (
    r"remainder of (.+?) on division by (\d+)\? \(It",
    r"^Reduce (.+?) modulo (\d+) to",
    r"such that (\d+) divides (.+?) minus r",
    r"A clock has (\d+) hours.* moves on by (.+?) hours",
    r"^Compute \((.+?)\) mod (\d+)",
)


def powered(match: Match, prompt: str) -> Any:
    base, exponent, *rest = ints(match)
    m = int((re.search(r"(?:divided by|modulo|division by) (\d+)", prompt) or ["", "10"])[1])
    result = 1
    for _ in range(exponent):
        result = result * base % m
    return result


def congruent(match: Match, prompt: str) -> Any:
    rules = [
        (int(r), int(m))
        for r, m in re.findall(r"(\d+) when divided by (\d+)|≡ (\d+) \(mod (\d+)\)", prompt)
        and [
            (a or c, b or d)
            for a, b, c, d in re.findall(
                r"(\d+) when divided by (\d+)|≡ (\d+) \(mod (\d+)\)", prompt
            )
        ]
    ]
    rules += [(int(r), int(m)) for m, r in re.findall(r"groups of (\d+), (\d+) left", prompt)]
    return next(n for n in count() if all(n % m == r for r, m in rules))


def primes_of(n: int) -> list[int]:
    return [
        p for p in range(2, n + 1) if n % p == 0 and all(p % d for d in range(2, math.isqrt(p) + 1))
    ]


def about_divisors(match: Match, prompt: str) -> Any:
    n = int(re.findall(r"\d+", prompt.replace("from 1 to", ""))[0])
    own = [d for d in range(1, n + 1) if n % d == 0]
    return chosen(
        prompt[:1].lower() + prompt[1:],
        {
            "he number of positive divisors of": len(own),
            "he sum of the positive divisors of": sum(own),
            "he largest prime factor": lambda: primes_of(n)[-1],
            "he sum of the distinct prime factors": lambda: sum(primes_of(n)),
            "he number of odd positive divisors": sum(d % 2 for d in own),
            "are coprime to": lambda: sum(
                not any(m % p == 0 for p in primes_of(n)) for m in range(1, n + 1)
            ),
            "he sum of the proper divisors": sum(own[:-1]),
        },
    )


def in_range(match: Match, prompt: str) -> Any:
    low, high = (
        int(n)
        for n in re.findall(
            r"from (\d+) (?:up )?to (\d+)|with (\d+) <= n <= (\d+)|numbers (\d+) to (\d+)|Among (\d+), \d+, \.\.\., (\d+)",
            prompt,
        )[0]
        if n
    )
    rule = re.search(
        r"are (not )?divisible by (both |neither |exactly one of )?(\d+)(?: (?:and|or|nor|but not by) (\d+))?",
        prompt,
    )
    if not rule:
        raise Unread(prompt)
    a, b = int(rule[3]), int(rule[4] or 1)
    tests: dict[str, Callable[[bool, bool], bool]] = {
        "not ": lambda x, y: not x,
        "both ": lambda x, y: x and y,
        "neither ": lambda x, y: not x and not y,
        "exactly one of ": lambda x, y: x != y,
        "but": lambda x, y: x and not y,
        "or": lambda x, y: x or y,
    }
    kind = (
        rule[1] or rule[2] or ("but" if "but not" in rule[0] else "or" if " or " in rule[0] else "")
    )
    test = tests.get(kind, lambda x, y: x)
    return sum(test(n % a == 0, n % b == 0) for n in range(low, high + 1))


def about_digits(match: Match, prompt: str) -> Any:
    n = int(max(re.findall(r"\d+", prompt), key=len))
    figures = [int(c) for c in str(n)]

    def digital_root(n: int) -> int:
        return n if n < 10 else digital_root(sum(int(c) for c in str(n)))

    return chosen(
        prompt,
        {
            "digital root": lambda: digital_root(n),
            "he sum of the digits": sum(figures),
            "he product of the digits": math.prod(figures),
            "in reverse order": abs(n - int(str(n)[::-1])),
            "divisible by 9": lambda: next(k for k in count() if (n + k) % 9 == 0),
            "he alternating digit sum": sum(figures[::-2]) - sum(figures[-2::-2]),
        },
    )


def trailing(n: int, p: int) -> int:
    total, times = math.factorial(n), 0
    while total % p == 0:
        total, times = total // p, times + 1
    return times


def written_in(n: int, base: int) -> Callable[[str], bool]:
    return lambda answer: answer[0] != "0" and int(answer, base) == n


INTEGERS: Answers = {
    r"With how many zeros does (?P<n>\d+)!|zeros does the factorial of (?P<n2>\d+)|^(?P<n3>\d+)! is written": (
        lambda match, prompt: trailing(int(next(filter(None, match.groups()))), 10)
    ),
    r"power of (\d+) that divides (\d+)!|the prime (\d+) occur in the factorization of (\d+)!|such that (\d+)\^k divides the product 1·2·\.\.\.·(\d+)": (
        lambda match, prompt: trailing(ints(match)[1], ints(match)[0])
    ),
    r"(\d+)\^(\d+)|^(\d+) is multiplied by itself until there are (\d+) factors": powered,
    r"when divided by|≡|in groups of": congruent,
    r"Write the decimal number (\d+) in base (\d)|What does (\d+) look like in the number system with base (\d)|Convert (\d+) from base 10 to base (\d)": (
        lambda match, prompt: written_in(*ints(match))
    ),
    r"A counter has (\d) symbols.* after (\d+) counts": lambda match, prompt: written_in(
        *ints(match)[::-1]
    ),
    r"The number (\d+) is written in base (\d)|Convert (\d+) from base (\d) to base 10|Read (\d+) as a numeral in base (\d)": (
        lambda match, prompt: sum(
            int(c) * ints(match)[1] ** i for i, c in enumerate(str(ints(match)[0])[::-1])
        )
    ),
    r"digits? |digital|make it divisible by 9": about_digits,
    r"divisors? of|prime factor|coprime": lambda match, prompt: (
        about_divisors(match, prompt)
        if not re.search("largest divisor|common", prompt)
        else shared_number(match, prompt)
    ),
    r"divisible by": in_range,
    "|".join(RESIDUES): residue,
    r"common|shared by|flash|leave together|starting marks|next meet|equal pieces|identical boxes|square tiles|each of": shared_number,
}


# --- derivatives: exact for polynomials, by a complex step for other functions


class Jet:
    """A power series in h, cut off: what a polynomial is at x + h."""

    def __init__(self, *terms: F) -> None:
        self.terms = terms

    def _with(self, other: Any) -> Jet:
        return other if isinstance(other, Jet) else Jet(F(other), *(F(0) for _ in self.terms[1:]))

    def __add__(self, other: Any) -> Jet:
        return Jet(*(a + b for a, b in zip(self.terms, self._with(other).terms, strict=True)))

    def __mul__(self, other: Any) -> Jet:
        more = self._with(other).terms
        return Jet(
            *(
                sum((self.terms[i] * more[k - i] for i in range(k + 1)), F(0))
                for k in range(len(more))
            )
        )

    def __neg__(self) -> Jet:
        return self * -1

    def __sub__(self, other: Any) -> Jet:
        return self + self._with(other) * -1

    def __rsub__(self, other: Any) -> Jet:
        return self * -1 + other

    def __pow__(self, n: F) -> Jet:
        result = self._with(1)
        for _ in range(int(n)):
            result = result * self
        return result

    __radd__, __rmul__ = __add__, __mul__


def derivatives(text: str, x: str, at: F, order: int) -> list[F]:
    """Value, slope and so on of a polynomial."""
    found = value(text, {x: Jet(at, F(1), *[F(0)] * (order - 1))})
    found = found if isinstance(found, Jet) else Jet(F(found), *[F(0)] * order)
    return [term * math.factorial(k) for k, term in enumerate(found.terms)]


def differentiated(match: Match, prompt: str) -> Any:
    named = match.groupdict()
    text = named["t"]
    x = named.get("x") or letter(re.sub(r"sin|cos|ln|sqrt|e\^", "", text))

    def works(answer: str) -> bool:
        for at in (0.37, 1.21, 2.3):
            slope = complex(value(text, {x: complex(at, 1e-20)})).imag / 1e-20
            told = value(answer, {x: at})
            if not cmath.isclose(slope, complex(told), rel_tol=1e-9, abs_tol=1e-9):
                return False
        return True

    return works


def slope(match: Match, prompt: str) -> Any:
    x = match.groupdict().get("x") or letter(match["t"])
    return derivatives(match["t"], x, F(match["at"]), 1)[1]


def moving(match: Match, prompt: str) -> Any:
    at = re.search(
        r"t = (\d+)|after (\d+) seconds", prompt.split("metres")[-1] + prompt.split("?")[0][-30:]
    )
    time = F(re.findall(r"(?:at t = |after |moment t = )(\d+)", prompt)[-1]) if at else F(0)
    return derivatives(match["t"], "t", time, 2)[2 if "acceleration" in prompt else 1]


def tangent(match: Match, prompt: str) -> Any:
    at = F(match["at"])
    height, steep = derivatives(match["t"], "x", at, 1)
    if "y-axis" in prompt:
        return height - steep * at
    if found := re.search(r"height of the tangent at x = (-?\d+)", prompt):
        return height + steep * (int(found[1]) - at)
    return lambda answer: all(value(answer, x=F(n)) == height + steep * (n - at) for n in (0, 1, 5))


def repeated_slope(match: Match, prompt: str) -> Any:
    order = 3 if re.search("third|3 times", prompt) else 2
    text = match["t"]
    x = match.groupdict().get("x") or letter(text)
    return lambda answer: all(
        value(answer, {x: F(n)}) == derivatives(text, x, F(n), order)[order] for n in range(-3, 4)
    )


DERIVATIVES: Answers = {
    r"s\(t\) = (?P<t>.+?)(?: metres|, with t| describes)": moving,
    r"graph of \w\(x\) = (?P<t>.+?) at x = (?P<at>-?\d+)\.$": tangent,
    r"^Consider \w\(x\) = (?P<t>.+?)\. .* to its graph at x = (?P<at>-?\d+)\.$": tangent,
    r"^At x = (?P<at>-?\d+) a straight line touches the curve y = (?P<t>.+?)\. ": tangent,
    r"(?:second|third) derivative of \w\((?P<x>\w)\) = (?P<t>.+?)\.$": repeated_slope,
    r"^Differentiate (?P<t>.+?) (?:2|3) times with respect to (?P<x>\w)": repeated_slope,
    r"^Let \w\((?P<x>\w)\) = (?P<t>.+?)\. What is its (?:second|third)": repeated_slope,
    r"^What remains of (?P<t>.+?) after it has been differentiated \d times in (?P<x>\w)": repeated_slope,
    r"^For \w\((?P<x>\w)\) = (?P<t>.+?), find \w'\((?P<at>-?\d+)\)": slope,
    r"curve y = (?P<t>.+?) \(as a function of (?P<x>\w)\) at \w = (?P<at>-?\d+)": slope,
    r"graph of \w\((?P<x>\w)\) = (?P<t>.+?) where \w = (?P<at>-?\d+)": slope,
    r"Evaluate the derivative of (?P<t>.+?) at (?P<x>\w) = (?P<at>-?\d+)": slope,
    r"Let \w\((?P<x>\w)\) = (?P<t>.+?)\. At which rate does \w change when \w = (?P<at>-?\d+)": slope,
    r"Find the limit of .* as \w tends to (?P<at>-?\d+), where \w\((?P<x>\w)\) = (?P<t>.+?)\.$": slope,
    r"^Differentiate \w\(\w\) = (?P<t>.+?) with respect to (?P<x>\w)": differentiated,
    r"^Find \w'\((?P<x>\w)\) for \w\(\w\) = (?P<t>.+?)\.(?: |$)": differentiated,
    r"^What is the derivative of (?P<t>.+?) with respect to (?P<x>\w)\?": differentiated,
    r"^Let \w\((?P<x>\w)\) = (?P<t>.+?)\. Determine the derivative": differentiated,
    r"^The slope of the graph of \w\((?P<x>\w)\) = (?P<t>.+?) at \w is given": differentiated,
    r"^Compute d/d(?P<x>\w) of (?P<t>.+?)\.(?: |$)": differentiated,
    r"^How fast does (?P<t>.+?) change as (?P<x>\w) changes": differentiated,
    r"^A quantity depends on (?P<x>\w) by the rule (?P<t>.+?)\. Write its": differentiated,
}


# --- counting


def meets(n: int, prompt: str) -> bool:
    """Whether the number meets the condition that the prompt states."""
    bound = re.search(r"is (exactly|at least|at most) (\d+)", prompt)
    if not bound:
        return n % 2 == (0 if "is even" in prompt else 1)
    k = int(bound[2])
    return {"exactly": n == k, "at least": n >= k, "at most": n <= k}[bound[1]]


@cache
def samples(a: int, b: int, k: int) -> Counter[int]:
    """How many of all selections of k of a + b things hold how many of the a things."""
    return Counter(sum(one < a for one in some) for some in combinations(range(a + b), k))


def selected(match: Match, prompt: str) -> Any:
    named = {name[0]: int(n) for name, n in match.groupdict().items() if n}
    a, k = named["a"], named["k"]
    held = samples(a, named["b"] if "b" in named else named["n"] - a, k)
    good = sum(ways for n, ways in held.items() if meets(n, prompt))
    return good if "number of possible" in prompt else F(good, held.total())


def tried(match: Match, prompt: str) -> Any:
    n, p = (
        ints(match)[0],
        chosen(
            prompt,
            {
                "results below 3": F(1, 3),
                "sixes": F(1, 6),
                "heads": F(1, 2),
                "four choices": F(1, 4),
                "spinner": F(2, 5),
                "sprouts": F(3, 4),
            },
        ),
    )
    chances = [F(1)]
    for _ in range(n):
        chances = [
            (chances[j] * (1 - p) if j < len(chances) else 0) + (chances[j - 1] * p if j else 0)
            for j in range(len(chances) + 1)
        ]
    if "expected" in prompt:
        return sum(j * chance for j, chance in enumerate(chances))
    return sum(chance for j, chance in enumerate(chances) if meets(j, prompt))


@cache
def orders(letters: str) -> int:
    """The number of different strings of these letters, by their first one."""
    return sum(orders(letters.replace(c, "", 1)) for c in set(letters)) if letters else 1


def strings(match: Match, prompt: str) -> Any:
    word = "".join(sorted(match[1]))
    if begin := re.search(r"begin with (\w)", prompt):
        return orders(word.replace(begin[1], "", 1))
    block = re.search(r"letters (\w) (do not all )?stand together", prompt)
    if not block:
        return orders(word)
    glued = orders(word.replace(block[1], "") + block[1])
    return orders(word) - glued if block[2] else glued


def walks(match: Match, prompt: str) -> Any:
    a, b = ints(match)
    point = re.search(r"(through|avoid|visit) \((\d+), (\d+)\)", prompt)
    stop = (int(point[2]), int(point[3])) if point else (-1, -1)

    @cache
    def onwards(x: int, y: int, met: bool) -> int:
        met = met or (x, y) == stop
        if (x, y) == (a, b):
            return met == (point is not None and point[1] != "avoid")
        return (onwards(x + 1, y, met) if x < a else 0) + (onwards(x, y + 1, met) if y < b else 0)

    ways = onwards(0, 0, False)
    if not point or point[1] != "visit":
        return ways
    return F(ways, math.factorial(a + b) // math.factorial(a) // math.factorial(b))


def rolled(match: Match, prompt: str) -> Any:
    sides = 8 if "eight" in prompt else 4 if "four" in prompt else 6
    s = int((re.search(r"(?:is|than|below|of) (\d+)", prompt) or ["", "0"])[1])
    rule: Callable[[tuple[int, ...]], bool] = (
        chosen(
            prompt,
            {
                "largest number": lambda: lambda r: max(r) == s,
                "smallest number": lambda: lambda r: min(r) == s,
                "the product": lambda: lambda r: math.prod(r) % s == 0,
                "are different": lambda: lambda r: len({*r}) == len(r) and sum(r) < s,
                "is greater than": lambda: lambda r: sum(r) > s,
                "the sum of the numbers is": lambda: lambda r: sum(r) == s,
            },
        )
        if "greater" not in prompt
        else lambda r: sum(r) > s
    )
    rolls = list(product(range(1, sides + 1), repeat={"two": 2, "three": 3}[match[1]]))
    return F(sum(rule(roll) for roll in rolls), len(rolls))


def numerals(match: Match, prompt: str) -> Any:
    own = set(re.findall(r"\d", match[1]))
    places = int(
        next(
            filter(
                None,
                re.findall(r"with (\d) digits|of (\d) digits|number of (\d) different", prompt)[0],
            )
        )
    )
    least = int((re.search(r"not less than (\d+)", prompt) or ["", "0"])[1])
    return sum(
        set(str(n)) <= own
        and len(set(str(n))) == places
        and n >= least
        and not ("even numbers" in prompt and n % 2)
        and not ("odd numbers" in prompt and n % 2 == 0)
        for n in range(10 ** (places - 1), 10**places)
    )


def handed_out(match: Match, prompt: str) -> Any:
    least = int((re.search(r"at least (\d)", prompt) or ["", "0"])[1])
    if found := re.search(r"greater than (\d)", prompt):
        least = int(found[1]) + 1
    if "unknowns" in prompt:
        boxes = len(re.findall(r"[a-f]", re.findall(r"with (.+?) = ", prompt)[0]))
        things = int(re.findall(r" = (\d+)", prompt)[0])
    else:
        things, boxes = ints(match)

    @cache
    def ways(left: int, boxes: int) -> int:
        return (
            sum(ways(left - n, boxes - 1) for n in range(least, left + 1)) if boxes else left == 0
        )

    return ways(things, boxes)


@cache
def seatings(n: int, kind: str) -> int:
    """Places 1 to n - 1 of a round table for the others, 0 for the first one."""
    found = 0
    for two, three in permutations(range(1, n), 2):
        near = two in (1, n - 1)
        trio = any({0, two, three} == {(i + j) % n for j in range(3)} for i in range(n))
        found += {"all": True, "beside": near, "not": not near, "trio": trio}[kind]
    return found * math.factorial(n - 3)


def seated(match: Match, prompt: str) -> Any:
    n = int(match[1] or 0) or int(match[2]) + 3
    kind = (
        "trio"
        if "side by side" in prompt
        else "not"
        if "not beside" in prompt
        else "beside"
        if "beside" in prompt
        else "all"
    )
    return seatings(n, kind)


def faulty(match: Match, prompt: str) -> Any:
    """Of 10,000 parts."""
    share, one, two = ints(match)
    bad = {"A": share * one, "B": (100 - share) * two}
    asked = re.search(r"which is faulty comes from \w+ ([AB])", prompt)
    return F(bad[asked[1]], sum(bad.values())) if asked else F(sum(bad.values()), 10**4)


COUNTING: Answers = {
    r"wheel of (\d+)|one of (\d+) equally likely pictures": lambda m, p: (
        F(
            sum(int(a) * int(b) for a, b in re.findall(r"(\d+) points on (\d+)", p)),
            int(m[1] or m[2]),
        )
        - int((re.search(r"stake of (\d+)", p) or ["", "0"])[1])
    ),
    r"A makes (\d+)% .* rest, and (\d+)% of A's and (\d+)% of|A with probability (\d+)/100 .* are (\d+)% \(A\) and (\d+)% \(B\)": faulty,
    r"(\d+) people, .* sit round a table|and (\d+) more take seats in a circle": seated,
    r"has (?P<a>\d+) women and (?P<b>\d+) men and elects a committee of (?P<k>\d+)": selected,
    r"holds (?P<a>\d+) broken and (?P<b>\d+) working lamps, and \w+ takes (?P<k>\d+)": selected,
    r"(?P<k>\d+) balls are drawn .* with (?P<a>\d+) red and (?P<b>\d+) green": selected,
    r"picks (?P<k>\d+) of (?P<n>\d+) books, (?P<a>\d+) of which": selected,
    r"team of (?P<k>\d+) is formed out of (?P<a>\d+) juniors and (?P<b>\d+)": selected,
    r"deals (?P<k>\d+) cards from a pack of (?P<n>\d+), of which (?P<a>\d+)": selected,
    r"mong (?P<n>\d+) tickets there are (?P<a>\d+) winning ones, and \w+ buys (?P<k>\d+)": selected,
    r"fair die (\d+) times|coin is tossed (\d+) times|all (\d+) answers|spun (\d+) times|(\d+) seeds": tried,
    r"(?:of|word|spell) ([A-Z]{4,})\b": strings,
    r"(two|three) fair .*dice": rolled,
    r"(\d+) equal coins to (\d+) children|(\d+) identical balls go into (\d+)|unknowns": handed_out,
    r"from \(0, 0\) to \((\d+), (\d+)\)": walks,
    r"(?:digits|only) ((?:\d, )+\d and \d)": numerals,
}

# --- geometry: points as complex numbers, Heron's formula, trigonometry


def heron(a: float, b: float, c: float) -> float:
    s = (a + b + c) / 2
    return math.sqrt(s * (s - a) * (s - b) * (s - c))


def right_triangle(match: Match, prompt: str) -> Any:
    a, b = ints(match)
    c = math.hypot(a, b)
    return chosen(
        prompt,
        {
            "the perimeter": a + b + c,
            "the length of the hypotenuse": c,
            "the height on the hypotenuse": 2 * heron(a, b, c) / c,
            "the radius": a * b * c / 4 / heron(a, b, c),
        },
    )


def angled(match: Match, prompt: str) -> Any:
    a, b, angle = ints(match)
    c = abs(a - cmath.rect(b, math.radians(angle)))
    return heron(a, b, c) if "the area" in prompt else c


def line(slope: F, x: F, y: F) -> Callable[[str], bool]:
    """A test of the equation y = ... of a straight line."""
    return lambda answer: (
        answer.startswith("y = ")
        and all(value(answer[4:], x=F(n)) == y + slope * (n - x) for n in (0, 1, 7))
    )


def segment(match: Match, prompt: str) -> Any:
    a, b, c, d = ints(match)
    slope = F(d - b, c - a)
    return chosen(
        prompt,
        {
            "the distance": math.dist((a, b), (c, d)),
            "the midpoint": (F(a + c, 2), F(b + d, 2)),
            "the reflection": (F(c + c - a), F(d + d - b)),
            "the perpendicular bisector": lambda: line(-1 / slope, F(a + c, 2), F(b + d, 2)),
            "the straight line": lambda: line(slope, F(a), F(b)),
        },
    )


def corners(match: Match, prompt: str) -> Any:
    a, b, c, d, e, f = ints(match)
    return chosen(
        prompt,
        {
            "the area": F(abs(a * (d - f) + c * (f - b) + e * (b - d)), 2),
            "the centroid": (F(a + c + e, 3), F(b + d + f, 3)),
            "a parallelogram": (F(a - c + e), F(b - d + f)),
            # |AB + AC|^2 - |AB - AC|^2 = 4 AB.AC
            "the dot product": F(
                (c + e - 2 * a) ** 2 + (d + f - 2 * b) ** 2 - (c - e) ** 2 - (d - f) ** 2, 4
            ),
        },
    )


def circle(match: Match, prompt: str) -> Any:
    """From the values of the left side at five points."""
    text = f"{match[1]} - ({match[2]})"
    at = {p: value(text, x=F(p[0]), y=F(p[1])) for p in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))}
    h, k = (at[-1, 0] - at[1, 0]) / 4, (at[0, -1] - at[0, 1]) / 4
    square = h * h + k * k - at[0, 0]

    def equation_of(answer: str) -> bool:
        left, right = answer.split(" = ")
        form = r"\(x [-+] \d+\)\^2 \+ \(y [-+] \d+\)\^2"
        return bool(re.fullmatch(form, left)) and all(
            value(left, x=F(x), y=F(y)) - F(right) == value(text, x=F(x), y=F(y))
            for x, y in ((0, 0), (3, 1), (-2, 5))
        )

    return chosen(
        prompt,
        {
            "the centre of the circle": (h, k),
            "the radius of the circle": math.sqrt(square),
            "the area of the circle": math.pi * square,
            "the length of the circle": 2 * math.pi * math.sqrt(square),
            "in the form (x - h)": lambda: equation_of,
        },
    )


def sector(match: Match, prompt: str) -> Any:
    r, angle = ints(match)
    arc = math.radians(angle) * r
    return chosen(
        prompt,
        {"the area": arc * r / 2, "the length of the arc": arc, "the perimeter": arc + 2 * r},
    )


def ring(match: Match, prompt: str) -> Any:
    inner, outer = ints(match)
    area = math.pi * (outer + inner) * (outer - inner)
    return chosen(
        prompt,
        {
            "a chord": 2 * outer * math.sin(math.acos(inner / outer)),
            "the ratio": math.pi * inner**2 / area,
            "the area between": area,
        },
    )


def regular(match: Match, prompt: str) -> Any:
    n, s = {"triangle": 3, "hexagon": 6}[match[1]], int(match[2])
    return n * s * s / 4 / math.tan(math.pi / n)


def many_corners(match: Match, prompt: str) -> Any:
    return of_corners(int(match[1] or match[2] or match[3]), prompt)


def of_corners(n: int, prompt: str) -> Any:
    pairs = list(combinations(range(n), 2))
    return chosen(
        prompt,
        {
            "the number of diagonals": sum(j - i not in (1, n - 1) for i, j in pairs),
            "the number of segments": len(pairs),
            "the size of one interior angle": 180 - F(360, n),
            "the sum of the interior angles": n * 180 - 360,
            "the number of sides": n,
        },
    )


def by_angle(match: Match, prompt: str) -> Any:
    """The polygon is the one among many with this angle."""
    outer, inner = match[1] or match[2], match[3]
    n = only(
        n
        for n in range(3, 200)
        if (F(360, n) == F(outer) if outer else 180 - F(360, n) == F(inner))
    )
    return of_corners(n, prompt)


def can(match: Match, prompt: str) -> Any:
    r, h = ints(match) if "cylinder" in match[0] else (ints(match)[1] / 2, ints(match)[0])
    mantle, base = 2 * math.pi * r * h, math.pi * r * r
    return chosen(
        prompt,
        {"the volume": base * h, "the whole surface": mantle + 2 * base, "the curved side": mantle},
    )


def ball(match: Match, prompt: str) -> Any:
    r = ints(match)[0] / (1 if "radius" in match[0] else 2)
    return chosen(
        prompt,
        {
            "the volume": math.pi * (2 * r) ** 3 / 6,
            "the surface area": math.pi * (2 * r) ** 2,
            "of half of the ball": math.pi * (2 * r * r + r * r),
        },
    )


def brick(match: Match, prompt: str) -> Any:
    edges = ints(match)
    surface = 2 * sum(a * b for a, b in combinations(edges, 2))
    return chosen(
        prompt,
        {
            "the space diagonal": math.hypot(*edges),
            "the ratio": F(math.prod(edges), surface),
            "the surface area": surface,
        },
    )


def cone(match: Match, prompt: str) -> Any:
    r, h = ints(match) if "base of radius" in match[0] else (ints(match)[1] / 2, ints(match)[0])
    slant = math.hypot(r, h)
    return chosen(
        prompt,
        {
            "the volume": math.pi * r * r * h / 3,
            "the slant height": slant,
            "the curved side": math.pi * r * slant,
        },
    )


def pyramid(match: Match, prompt: str) -> Any:
    h, side = ints(match)[:2]
    return chosen(
        prompt,
        {
            "the volume": F(side * side * h, 3),
            "of a side face": math.hypot(side / 2, h),
            "an edge from base to top": math.dist((0, 0, h), (side / 2, side / 2, 0)),
        },
    )


POINT = r"\((-?\d+), (-?\d+)\)"
UNIT = r"(\d+) (?:centimetres|metres|feet|inches)"
GEOMETRY: Answers = {
    rf"legs of {UNIT} and {UNIT}|AC = {UNIT} and BC = {UNIT}|rectangle that measures {UNIT} by {UNIT}": right_triangle,
    r"are (\d+) and (\d+) long, and the angle .* has (\d+)|length (\d+) and (\d+) meet at an angle of (\d+)|roads of (\d+) km and (\d+) km .* angle of (\d+)": angled,
    rf"P(?: = | is at )?{POINT}(?: and| to)? Q(?: = | at )?{POINT}": segment,
    rf"P{POINT} and Q{POINT}|P is at {POINT} and Q at {POINT}|P = {POINT} to Q = {POINT}": segment,
    rf"A(?: = )?{POINT}, B(?: = )?{POINT}(?:,| and) C(?: = )?{POINT}|stand at {POINT}, {POINT} and {POINT}": corners,
    r"(x\^2 \+ y\^2.*?) = (-?\d+)": circle,
    rf"radius {UNIT} and the angle (\d+)|cake of radius {UNIT} spans (\d+)|radii of {UNIT} and an arc of (\d+)": sector,
    rf"radii of {UNIT} and {UNIT}|pond of radius {UNIT} .* radius {UNIT}": ring,
    r"equilateral (triangle) has sides of length (\d+)|regular (hexagon) has sides of length (\d+)": lambda m, p: (
        {3: math.sqrt(3) / 4, 6: 6 * math.sqrt(3) / 4}[3 if m[1] else 6] * int(m[2] or m[4]) ** 2
    ),
    r"square has a diagonal of length (\d+)": lambda m, p: int(m[1]) * math.cos(math.pi / 4),
    r"rhombus (?:are|measure) (\d+) and (\d+)": lambda m, p: (
        F(int(m[1]) * int(m[2]), 2) if "the area" in p else math.hypot(int(m[1]) / 2, int(m[2]) / 2)
    ),
    r"trapezoid measure (\d+) and (\d+), at a distance of (\d+)": lambda m, p: (
        F(int(m[1]) * int(m[3]), 1) + F((int(m[2]) - int(m[1])) * int(m[3]), 2)
    ),
    r"exterior angle of a regular polygon has (\S+) degrees|polygon turns by (\S+) degrees|interior angles of a regular polygon have (\S+) degrees": by_angle,
    r"polygon has (\d+) sides|equal angles has (\d+) corners|polygon with (\d+) corners": many_corners,
    rf"cylinder has the radius {UNIT} and the height {UNIT}|tin is {UNIT} high and measures {UNIT}": can,
    rf"sphere has the radius {UNIT}|ball measures {UNIT}": ball,
    rf"box measures {UNIT} by {UNIT} by {UNIT}|edges of (\d+), (\d+) and (\d+)": brick,
    rf"base of radius {UNIT} and the height {UNIT}|cone is {UNIT} high and {UNIT} wide": cone,
    rf"pyramid of height {UNIT} .* sides of {UNIT}|pyramid, {UNIT} high, on a square of {UNIT}": pyramid,
}

# --- series: term by term

Term = Callable[[int], Any]


def of_terms(term: Term) -> Callable[[str], Callable[[str], bool]]:
    """What is asked of the sequence with these terms, from 1 on."""

    def asked(prompt: str) -> Callable[[str], bool]:
        if found := re.search(
            r"the (\d+)(?:st|nd|rd|th) term(?! of| is)|the term with number (\d+)", prompt
        ):
            return lambda answer: F(answer) == term(int(found[1] or found[2]))
        if found := re.search(r"sum of the first (\d+) terms", prompt):
            return lambda answer: F(answer) == sum(map(term, range(1, int(found[1]) + 1)))
        if found := re.search(r"term that equals (-?\d+)", prompt):
            return lambda answer: term(int(answer)) == int(found[1])
        if "the next term" in prompt:
            return lambda answer: F(answer) == term(6)
        if found := re.search(r"value of a_(\d+)", prompt):
            return lambda answer: F(answer) == term(int(found[1]))
        if found := re.search(r"difference a_(\d+)", prompt):
            return lambda answer: F(answer) == term(int(found[1])) - term(int(found[1]) - 1)
        if found := re.search(r"largest of the first (\d+)", prompt):
            return lambda answer: F(answer) == max(map(term, range(1, int(found[1]) + 1)))
        if "formula" not in prompt:
            raise Unread(prompt)
        return lambda answer: all(value(answer, n=n) == term(n) for n in range(1, 9))

    return asked


def two_terms(match: Match, prompt: str) -> Any:
    i, u, j, v = ints(match)
    d = F(v - u, j - i)
    return of_terms(lambda n: u + (n - i) * d)(prompt)


def stepping(match: Match, prompt: str) -> Any:
    first, second = (F(g.strip("()")) for g in match.groups() if g)
    step = second if "each term is the one before plus" in match[0] else second - first
    return of_terms(lambda n: first + (n - 1) * step)(prompt)


def scaling(match: Match, prompt: str) -> Any:
    first, second = (F(g.strip("()")) for g in match.groups() if g)
    ratio = second if "each term is the one before times" in match[0] else second / first

    @cache
    def term(n: int) -> F:
        return first if n == 1 else term(n - 1) * ratio

    return of_terms(term)(prompt)


def recurring(match: Match, prompt: str) -> Any:
    first, second, rule = match.groups()
    terms = [F(text) for text in (first, second) if text]
    rule = rule.replace("a_(n+1)", "x").replace("a_n", "y" if second else "x")
    while len(terms) < 20:
        terms.append(value(rule, x=terms[-1], y=terms[-2] if second else F(0)))
    return of_terms(lambda n: terms[n - 1])(prompt)


def interpolated(match: Match, prompt: str) -> Any:
    points = [F(group) for group in match.groups() if group]

    def term(n: int) -> F:
        """Lagrange's formula through the first three."""
        a, b, c = points[:3]
        return a * (n - 2) * (n - 3) / 2 - b * (n - 1) * (n - 3) + c * (n - 1) * (n - 2) / 2

    if [term(4), term(5)] != points[3:]:
        raise Unread(prompt)
    return of_terms(term)(prompt)


def endless(match: Match, prompt: str) -> Any:
    first, second = (F(g.strip("()")) for g in match.groups() if g)
    ratio = second / first if " + " in match[0] else second
    after = re.search(r"after the (\d)", prompt)
    step, start = (2 if "odd numbers" in prompt else 1), int(after[1]) if after else 0
    return math.fsum(float(first * ratio**k) for k in range(start, 250, step))


def endless_turning(match: Match, prompt: str) -> Any:
    first, second = F(match[1]), -F(match[2])
    after = re.search(r"after the (\d)", prompt)
    step, start = (2 if "odd numbers" in prompt else 1), int(after[1]) if after else 0
    return math.fsum(float(first * (second / first) ** k) for k in range(start, 250, step))


def periodic(match: Match, prompt: str) -> Any:
    whole, lead, block = match.groups()
    period, scale = 10 ** len(block), 10 ** len(lead)
    return F(int(whole + lead + block) - int(whole + lead), (period - 1) * scale)


def fractions_added(match: Match, prompt: str) -> Any:
    top, gap = ints(match)
    found = re.search(r"from k = (\d+)(?: to (\d+))?", prompt)
    low, high = (int(found[1]), found[2]) if found else (1, None)
    if high:
        return sum(F(top, k * (k + gap)) for k in range(low, int(high) + 1))
    # What is left after n terms lies between integrals of top/x^2.
    n = 4000
    total = float(sum(top / (k * (k + gap)) for k in range(low, n)))
    tail = top / (n + gap / 2 - 0.5)
    return lambda answer: abs(float(F(answer)) - total - tail) < 1e-7


def limit(match: Match, prompt: str) -> Any:
    n = 10**9

    def near(answer: str) -> bool:
        far = float(F(value(match[1], n=F(n))) / F(value(match[2], n=F(n))))
        wanted = (
            1 - 2 * far if "times -2" in prompt else far**2 if "square of the" in prompt else far
        )
        return math.isclose(float(F(answer)), wanted, rel_tol=1e-6, abs_tol=1e-6)

    return near


def power_sum(match: Match, prompt: str) -> Any:
    text = next(filter(None, match.groups()))
    top = re.findall(r"from 1 to (\w+)", prompt)[0]

    def right(answer: str) -> bool:
        tops = range(1, 7) if top == "n" else [int(top)]
        return all(
            value(answer, n=F(n)) == sum(value(text, k=F(k)) for k in range(1, n + 1)) for n in tops
        )

    return right


NUMBER = r"(\(?-?\d+(?:/\d+)?\)?)"
SERIES: Answers = {
    r"(\d)\.(\d?)\((\d+)\)": periodic,
    r"(\d+)/\(k\(k \+ (\d+)\)\)": fractions_added,
    r"(?:terms|quotient|sequence is) \(([^()]+)\)/\(([^()]+)\)": limit,
    r"the terms ([^,]*?k.*?) are added up|the term ([^,]*?k.*?) for each integer k|f\(k\) = (.+?) is evaluated": power_sum,
    rf"series {NUMBER} \+ {NUMBER} \+ ": endless,
    r"geometric series (-?[\d/]+) - ([\d/]+) ": endless_turning,
    rf"first term {NUMBER} and the ratio {NUMBER}|series start with {NUMBER} and are multiplied by {NUMBER}": endless,
    r"a_1 = (-?\d+)(?: and|,)(?: a_2 = (-?\d+) and)? a_\(n\+\d\) = (.+?)(?:[,?]|\.(?: |$)|$)": recurring,
    r"the (\d+)\w\w term of an arithmetic sequence is (-?\d+) and the (\d+)\w\w term is (-?\d+)|a_(\d+) = (-?\d+) and a_(\d+) = (-?\d+)": two_terms,
    rf"arithmetic sequence begins with {NUMBER}, {NUMBER},|differences are listed: {NUMBER}, {NUMBER},|starts with {NUMBER} and each term is the one before plus {NUMBER}": stepping,
    rf"geometric sequence begins with {NUMBER}, {NUMBER},|ratios are listed: {NUMBER}, {NUMBER},|starts with {NUMBER} and each term is the one before times {NUMBER}": scaling,
    r"(?:begins with|5 are|list) (-?\d+), (-?\d+), (-?\d+), (-?\d+), (-?\d+)": interpolated,
}


# --- inequalities: number by number

Holds = Callable[[F], bool]


def compare(left: Any, sign: str, right: Any) -> bool:
    return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[sign]


def relation(chain: str) -> Holds:
    parts = re.split(r" (<=|>=|<|>) ", chain)
    if log := re.fullmatch(r"log_(\d+)\((.+)\)", parts[0]):
        bound = F(int(log[1])) ** int(parts[2])
        return lambda x: value(log[2], x=x) > 0 and compare(value(log[2], x=x), parts[1], bound)
    if power := re.fullmatch(r"(\d)\^\((.+)\)", parts[0]):
        goal = F(parts[2])
        k = only(k for k in range(-9, 12) if F(int(power[1])) ** k == goal)
        return lambda x: compare(value(power[2], x=x), parts[1], k)

    def holds(x: F) -> bool:
        try:
            values = [value(part, x=x) for part in parts[::2]]
        except ZeroDivisionError:
            return False
        return all(
            compare(a, sign, b) for a, sign, b in zip(values, parts[1::2], values[1:], strict=False)
        )

    return holds


def conditions(match: Match, prompt: str) -> Any:
    tests = [relation(chain) for chain in match[1].split(" and ")]
    return region(lambda x: all(test(x) for test in tests), prompt)


def defined(match: Match, prompt: str) -> Any:
    below, kind, inner = match.groups()

    def holds(x: F) -> bool:
        inside = value(inner, x=x)
        return inside > 0 or (inside == 0 and kind == "sqrt" and not below)

    return region(holds, prompt)


def value_range(match: Match, prompt: str) -> Any:
    text, low, high = (group for group in match.groups() if group)
    values = [value(text, t=F(step, 2)) for step in range(2 * int(low), 2 * int(high) + 1)]
    least, most = min(values), max(values)
    return region(lambda x: least <= x <= most, prompt)


def region(holds: Holds, prompt: str) -> Any:
    """What is asked of the set of the numbers for which a condition holds."""
    if "integer" not in prompt:
        return lambda answer: all(contains(answer, x) == holds(x) for x in near(answer))
    integers = [n for n in (*range(-260, 261), 10**5) if holds(F(n))]
    inside = integers[len(integers) // 2]
    lowest, highest = reach(holds, inside, -1), reach(holds, inside, 1)
    return chosen(
        prompt,
        {
            "the smallest such integer": lowest,
            "the largest such integer": highest,
            "the number of such integers": lambda: highest - lowest + 1,
        },
    )


def reach(holds: Holds, inside: int, way: int) -> int:
    """The last integer of an interval on this side of one inside; 10^6 steps on where it has no end."""
    far = 1
    while far < 10**6 and holds(F(inside + way * far)):
        far *= 2
    good, bad = 0, far
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(F(inside + way * middle)) else (good, middle)
    return inside + way * good


def near(answer: str) -> Iterator[F]:
    for end in re.findall(r"-?\d[\d/]*", answer):
        yield from (F(end), F(end) + F(1, 99), F(end) - F(1, 99))
    yield from (F(step, 2) for step in range(-60, 61))
    yield from (F(-(10**6)), F(10**6))


def contains(answer: str, x: F) -> bool:
    for part in answer.split(" ∪ "):
        low, high = part[1:-1].split(", ")
        above = low == "-infinity" or x > F(low) or (part[0] == "[" and x == F(low))
        below = high == "infinity" or x < F(high) or (part[-1] == "]" and x == F(high))
        if above and below:
            return True
    return False


INEQUALITIES: Answers = {
    r"the values of (.+?) for (-?\d+) <= t <= (-?\d+)|f\(t\) = (.+?) takes .* interval \[(-?\d+), (-?\d+)\]": value_range,
    r"(1/)?(sqrt|ln)\(([^()]+)\)": defined,
    r"(?:satisfies|inequality|numbers x with|such that) (?!this property)(.+?)(?: is to| are all|[.?]|$|, (?:what|and))": conditions,
}

# --- matrices

Matrix = list[list[Any]]
PMATRIX = r"\\begin{pmatrix} (.+?) \\end{pmatrix}"


def matrix(text: str) -> Matrix:
    inside = re.search(PMATRIX, text)
    if inside is None:
        raise Unread(text)
    rows = [row.split(" & ") for row in inside[1].split(r" \\ ")]
    return [[F(x) if re.fullmatch(r"-?[\d/]+", x) else x for x in row] for row in rows]


def mult(a: Matrix, b: Matrix) -> Matrix:
    return [[sum(row[k] * b[k][j] for k in range(len(b))) for j in range(len(b[0]))] for row in a]


def det(m: Matrix) -> Any:
    """Leibniz' formula."""
    total: Any = 0
    for order in permutations(range(len(m))):
        sign = (-1) ** sum(a > b for a, b in combinations(order, 2))
        total += sign * math.prod(m[i][j] for i, j in enumerate(order))
    return total


def trace(m: Matrix) -> Any:
    return sum(m[i][i] for i in range(len(m)))


def vector(text: str) -> list[F]:
    return [F(part) for part in text.strip("()").split(", ")]


def applied(m: Matrix, v: Iterable[F]) -> tuple[F, ...]:
    return tuple(row[0] for row in mult(m, [[x] for x in v]))


def identity(n: int) -> Matrix:
    return [[F(i == j) for j in range(n)] for i in range(n)]


def two_matrices(match: Match, prompt: str) -> Any:
    a, b = (matrix(m[0]) for m in re.finditer(PMATRIX, prompt))
    if found := re.search(r"the matrix (\d)A ([-+]) (\d?)B", prompt):
        p, q = int(found[1]), int(found[3] or 1) * (1 if found[2] == "+" else -1)
        return [
            [p * x + q * y for x, y in zip(r, s, strict=True)] for r, s in zip(a, b, strict=True)
        ]
    return chosen(
        prompt,
        {
            "the matrix product AB": mult(a, b),
            "the trace of the product AB": trace(mult(a, b)),
            "the commutator": lambda: [
                [x - y for x, y in zip(r, s, strict=True)]
                for r, s in zip(mult(a, b), mult(b, a), strict=True)
            ],
        },
    )


def is_inverse(a: Matrix) -> Callable[[str], bool]:
    return lambda answer: mult(a, matrix(answer)) == identity(len(a)) == mult(matrix(answer), a)


def eigenvalues(a: Matrix) -> set[int]:
    return {
        t
        for t in range(-150, 151)
        if det([[x - (t if i == j else 0) for j, x in enumerate(row)] for i, row in enumerate(a)])
        == 0
    }


def characteristic(a: Matrix) -> Callable[[str], bool]:
    return lambda answer: all(
        value(answer, t=F(t))
        == det([[(t if i == j else 0) - x for j, x in enumerate(row)] for i, row in enumerate(a)])
        for t in range(-2, 4)
    )


def one_matrix(match: Match, prompt: str) -> Any:
    a = matrix(match[0])
    if found := re.search(r"the power A\^(\d+)|all entries of A\^(\d+)", prompt):
        power = identity(len(a))
        for _ in range(int(found[1] or found[2])):
            power = mult(power, a)
        return power if found[1] else sum(map(sum, power))
    if found := re.search(r"image of the vector (\(.+?\))", prompt):
        return applied(a, vector(found[1]))
    if found := re.search(r"the vector v with Av = (\(.+?\))", prompt):
        goal = tuple(vector(found[1]))
        return lambda answer: applied(a, vector(answer)) == goal
    if found := re.search(r"the determinant of (\d)A", prompt):
        return det([[int(found[1]) * x for x in row] for row in a])
    squared = mult(a, a)
    return chosen(
        prompt,
        {
            "the determinant of A times A": lambda: det(squared),
            "the determinant of A": lambda: det(a),
            "the transpose": lambda: [[row[j] for row in a] for j in range(len(a))],
            "the inverse of A": lambda: is_inverse(a),
            "the trace of the inverse": lambda: trace(a) / det(a),
            "the set of all eigenvalues of A": lambda: eigenvalues(a),
            "the set of all eigenvalues of the matrix A times A": lambda: eigenvalues(squared),
            "the largest eigenvalue": lambda: max(eigenvalues(a)),
            "the characteristic polynomial": lambda: characteristic(a),
            "the trace of A times A": lambda: trace(squared),
        },
    )


def singular(match: Match, prompt: str) -> Any:
    m = matrix(match[0])
    goal = re.search(r"pmatrix} (?:is|has the determinant) (-?\d+)", prompt)
    wanted = int(goal[1]) if goal else 0
    name = m[1][1]
    found = [det([m[0], [m[1][0], F(n)]]) - wanted for n in (0, 1)]
    root_at = -found[0] / (found[1] - found[0])
    return root_at * 2 if f"2{name}" in prompt else root_at


def equations(match: Match, prompt: str) -> Any:
    found = re.findall(r"((?:-?\d*[a-z](?: [-+] \d*[a-z])*)) = (-?\d+)", match[0])
    names = sorted(set(re.findall("[a-z]", "".join(left for left, _ in found))))
    sides = [(value_of_linear(left, names), int(right)) for left, right in found]
    solution = only(
        point
        for point in product(range(-5, 6), repeat=3)
        if all(sum(k * x for k, x in zip(row, point, strict=True)) == right for row, right in sides)
    )
    if unknown := re.search(r"the unknown (\w)", prompt):
        return solution[names.index(unknown[1])]
    return sum(solution) if "the sum " in prompt else tuple(F(x) for x in solution)


def value_of_linear(text: str, names: list[str]) -> list[int]:
    zero = dict.fromkeys(names, F(0))
    return [int(value(text, {**zero, name: F(1)})) for name in names]


def two_vectors(match: Match, prompt: str) -> Any:
    v, w = vector(match[1]), vector(match[2])
    inner = sum(a * b for a, b in zip(v, w, strict=True))
    length = math.sqrt(sum(y * y for y in w))
    if found := re.search(r"the vector (\d)v - (\d?)w", prompt):
        return tuple(int(found[1]) * a - int(found[2] or 1) * b for a, b in zip(v, w, strict=True))

    def crossed() -> tuple[F, ...]:
        """By determinants with the unit vectors."""
        return tuple(det([[F(i == j) for j in range(3)], v, w]) for i in range(3))

    return chosen(
        prompt,
        {
            "the dot product": inner,
            "the length of w": length,
            "the cosine": float(inner) / length / math.sqrt(sum(x * x for x in v)),
            "the cross product": crossed,
            "the area": lambda: math.sqrt(sum(x * x for x in crossed())),
            "the orthogonal projection": lambda: tuple(
                y * inner / sum(z * z for z in w) for y in w
            ),
        },
    )


MATRICES: Answers = {
    rf"A = {PMATRIX} and B = {PMATRIX}": two_matrices,
    r"\\begin{pmatrix} \S+ & \S+ \\\\ \S+ & [ktc] \\end{pmatrix}": singular,
    PMATRIX: one_matrix,
    r"v = (\([-\d, ]+\)) and w = (\([-\d, ]+\))": two_vectors,
    r".*[a-z] = -?\d+, .*[a-z] = -?\d+ and .*[a-z] = -?\d+": equations,
}

# --- complex numbers: those of Python

ATOM = r"(?:\d+/\d+|\d+|\(\d+/\d+\))"
REAL = rf"(?:(?:{ATOM}\*)?sqrt\(\d+\)(?:/\d+)?|{ATOM})"
IMAGINARY = rf"(?:{REAL}\*?)?i(?![a-z])"
Z = rf"(-?(?:{REAL} [-+] {IMAGINARY}|{IMAGINARY}|{REAL}))"


def pair(match: Match, prompt: str) -> Any:
    z, w = map(complex_of, match.groups())
    if found := re.search(r"the number (\d)z - (\d?)w", prompt):
        return int(found[1]) * z - int(found[2] or 1) * w
    return chosen(
        prompt,
        {
            "the product zw": z * w,
            "the real part of zw": (z * w).real,
            "the distance of z and w": abs(z - w),
            "the quotient z/w": z / w,
            "the imaginary part of z/w": (z / w).imag,
            "the product of w and the conjugate of z": w * z.conjugate(),
            "the absolute value of zw": abs(z * w),
            "the absolute value of z/w": abs(z) / abs(w),
        },
    )


def asked_of(z: complex, prompt: str) -> Any:
    if found := re.search(r"the (power|imaginary part of|real part of) z\^(\d+)", prompt):
        power = cmath.exp(int(found[2]) * cmath.log(z))
        return {"power": power, "imaginary part of": power.imag, "real part of": power.real}[
            found[1]
        ]
    return chosen(
        prompt,
        {
            "the absolute value of z": abs(z),
            "the inverse 1/z": 1 / z,
            "the square of z": z * z,
            "the product of z and its conjugate": abs(z) ** 2,
            "counterclockwise": z * 1j,
            "the argument of z in radians": cmath.phase(z) % (2 * math.pi),
            "the argument of z in degrees": math.degrees(cmath.phase(z)) % 360,
            "the number z": z,
            "the conjugate of z": z.conjugate(),
            "the sum of the real and the imaginary part": z.real + z.imag,
            "the square of the absolute value of z": abs(z) ** 2,
        },
    )


def single(match: Match, prompt: str) -> Any:
    return asked_of(complex_of(match[1]), prompt)


def in_parts(match: Match, prompt: str) -> Any:
    return asked_of(complex(*map(float, match.groups())), prompt)


def units(match: Match, prompt: str) -> Any:
    total = 0j
    for exponent in re.findall(r"i\^(\d+)", prompt):
        total += (1, 1j, -1, -1j)[int(exponent) % 4]
    return total


def zeros_of(match: Match, prompt: str) -> Any:
    x = match[1][0]
    at = [complex(value(match[1], {x: F(n)})).real for n in (-1, 0, 1)]
    b, c = (at[2] - at[0]) / 2, at[1]
    half = cmath.sqrt(b * b / 4 - c)
    high, low = -b / 2 + half, -b / 2 - half
    high, low = (high, low) if high.imag > 0 else (low, high)
    return chosen(
        prompt,
        {
            "the set of all complex solutions": {low, high},
            "with a positive imaginary part": high,
            "the sum of all complex solutions": -b,
            "the absolute value of the solutions": abs(high),
        },
    )


def affine(match: Match, prompt: str) -> Any:
    a, b, c = map(complex_of, match.groups())
    return asked_of((c - b) / a, prompt)


def conjugated(match: Match, prompt: str) -> Any:
    """By solving for the two parts of z, one after the other."""
    groups = [group for group in match.groups() if group]
    k = next(int(group) for group in groups if re.fullmatch(r"\d", group))
    sign = 1 if {"plus", "added to"} & set(groups) else -1
    right = complex_of(groups[-1])
    return asked_of(complex(right.real / (1 + sign * k), right.imag / (1 - sign * k)), prompt)


def square_root(match: Match, prompt: str) -> Any:
    z = cmath.sqrt(complex_of(next(filter(None, match.groups()))))
    z = z if z.real > 0 else -z
    return chosen(
        prompt,
        {
            "the set of all complex numbers z": {z, -z},
            "with a positive real part": z,
            "the absolute value of z": abs(z),
        },
    )


def polar(match: Match, prompt: str) -> Any:
    r, angle = (group for group in match.groups() if group is not None)
    turn = math.radians(int(angle)) if "degrees" in match[0] else float(complex_of(angle).real)
    z = int(r.strip("*") or 1) * complex(math.cos(turn), math.sin(turn))
    return asked_of(z, prompt)


def radicals(match: Match, prompt: str) -> Any:
    n, right = ints(match)
    start = cmath.rect(abs(right) ** (1 / n), cmath.phase(right) / n)
    found = {start * cmath.rect(1, 2 * math.pi * k / n) for k in range(n)}
    return chosen(
        prompt,
        {
            "the set of all complex solutions": found,
            "above the real axis": {z for z in found if z.imag > 1e-9},
            "the product of all complex solutions": lambda: round(math.prod(found).real),
            "that are not real": sum(abs(z.imag) > 1e-9 for z in found),
        },
    )


COMPLEX: Answers = {
    rf"z = {Z} and w = {Z}": pair,
    r"z\^([346]) = (-?\d+)": radicals,
    rf"z (plus|minus) (\d) times its conjugate is {Z}|(\d) times its conjugate is (added to|taken from) z, and the result is {Z}": conjugated,
    rf"\({Z}\)[zw] \+ \({Z}\)(?: =| takes z to) {Z}": affine,
    rf"has the square {Z}|the equation z\^2 = {Z} holds|complex number z leads to {Z}": square_root,
    r"absolute value (\d+) and the argument (\S+?)(?=[,.?]? |[,.?]?$)|lies (\d+) away from 0 .* direction of (\d+) degrees|z = ((?:\d+\*)?)e\^\((\S+?)\*i\)": polar,
    r"i\^\d+": units,
    r"([zxu]\^2.*?) = 0": zeros_of,
    r"real part (-?\d+) and the imaginary part (-?\d+)": in_parts,
    rf"z = {Z}": single,
}


FAMILIES: Mapping[str, Answers] = {
    "fractions": FRACTIONS,
    "linear": LINEAR,
    "quadratic": QUADRATIC,
    "rates": RATES,
    "integers": INTEGERS,
    "derivatives": DERIVATIVES,
    "counting": COUNTING,
    "geometry": GEOMETRY,
    "series": SERIES,
    "inequalities": INEQUALITIES,
    "matrices": MATRICES,
    "complex": COMPLEX,
}
