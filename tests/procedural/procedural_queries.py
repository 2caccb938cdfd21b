"""An oracle of procedural SQL: it reads the sentences of a prompt, and shares no code with them.

`solver(prompt)` returns a function from tables (lists of rows) to the rows of the result, and
whether their order counts. A sentence that no pattern reads raises `Unread`.
"""

import json
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from procedural_stages import Unread

from infinite_rl.procedural import make_problem
from infinite_rl.reward_functions.sql.databases import image_of, sql_guest
from infinite_rl.sandbox.runtimes import Limits

Rule = dict[str, Any]
Rows = list[tuple[Any, ...]]
LIMITS = Limits(timeout_s=60, memory_bytes=2**28, output_chars=2**24, seed=0)

# A sentence of a rule, with the names of tables and columns replaced, and the rule's name.
SHARED = {
    r"Of all that would be listed, only those with the largest value are; there may be several": (
        "top"
    ),
    r"Of all that would be listed, only those whose value is above the mean of their values are": (
        "above"
    ),
    r"The result is ordered by the value, largest first, and by the (?:id|WHO) where values are "
    r"equal": "ordered",
}
RULES = {
    "orders": {
        r".*for each WHO of the table, also one without rows of WHAT that count, the columns name "
        r"and value: the name, and (.*)": "all",
        r".*for each WHO with at least one row of WHAT that counts, the columns name and value: "
        r"the name, and (.*)": "some",
        r"Only rows of WHAT with the state '(\w+)' count": "state",
        r"Only rows of WHAT from day (\d+) on count": "since",
        r"Only a WHO with the PLACE '(\w+)' is listed": "town",
        r"No WHO with the PLACE '(\w+)' is listed, but one whose PLACE is unknown is": "away",
        r"An unknown MUCH counts as (\d+)": "fill",
        r"Of several rows of a WHO on the same day that would count, only the one with the largest "
        r"id counts": "last",
        r"A WHO with fewer than (\d+) rows that count is not listed": "least",
        r"The table WHAT has one row for each .*|WHO in it is the id .*|MUCH is NULL .*|Each row "
        r"of WHO is one .*|Each row of WHAT belongs .*|Its MUCH is NULL .*|A WHO may have any .*|"
        r"That id is NULL .*|An unknown MUCH or PLACE is NULL.*|Names may repeat": "",
    },
    "staff": {
        r".*for each WHO, the columns name and value: the name, and (.*)": "all",
        r"A WHO is below another if a chain of UP leads up to it, directly or over others": "deep",
        r"A WHO is below another only if its UP is the id of the other, not over others": "direct",
        r"Each WHO counts among those below itself, too": "self",
        r"One with the KIND '(\w+)' does not count, but those below it may; one whose KIND is "
        r"unknown counts": "gone",
        r"Only a WHO with nothing above it is listed": "heads",
        r"A WHO is listed only if at least (\d+) below it count": "least",
        r"A WHO is listed only if at least one below it that counts has a larger MUCH than it has "
        r"itself": "less",
        r"Those more than (\d+) steps below it do not count": "reach",
        r"Each row of WHO is one .*|UP is the id of .*|Names may repeat.*|The table WHO is a .*|A "
        r"name may occur .*|In the table WHO the .*|There are no cycles|Names need not .*": "",
    },
    "visits": {
        r".*for each WHO with at least one streak, the columns WHO and value: the WHO, and (.*)": (
            "all"
        ),
        r".*\b(no day|at most one day) lies between (?:them|two neighbours)": "gap",
        r"Only a WHAT with a known MUCH of at least (\d+) counts": "short",
        r"Only a WHAT with the PLACE '(\w+)' counts": "town",
        r"A WHAT with the PLACE '(\w+)' does not count, one with an unknown PLACE does": "away",
        r"Besides, a day counts only if the known MUCH of what counts on it is at least (\d+) in "
        r"sum": "total",
        r"A sequence with fewer than (\d+) days on which something counts is no streak": "least",
        r"Rows with an unknown WHO belong to nobody|Each row of WHAT is .*|WHO is NULL if .*|The "
        r"table WHAT is a log|A WHO may have several rows .*": "",
    },
}
FRAME = (
    r"The query is judged by its result .*|It has to be right .*|Other databases with .*|"
    r".*(?:database|schema|statements|tables).*:|(?:\w+ )?[Rr]ules.*:|.*:"
)


def names_of(prompt: str) -> tuple[str, dict[str, str]]:
    """The family, and what stands for each name."""
    tables = [
        (name, [each.split()[0] for each in columns.split(", ")])
        for name, columns in re.findall(r"CREATE TABLE (\w+)\((.*)\);", prompt)
    ]
    (one, columns), *more = tables
    if more:
        ((other, others),) = more
        return "orders", {one: "WHO", columns[2]: "PLACE", other: "WHAT", others[3]: "MUCH"}
    if "day" in columns:
        return "visits", dict(zip((one, columns[1], *columns[3:]), WHAT_NAMES, strict=True))
    return "staff", dict(zip((one, *columns[2:]), ("WHO", "UP", "KIND", "MUCH"), strict=True))


WHAT_NAMES = ("WHAT", "WHO", "MUCH", "PLACE")


def rules_in(prompt: str) -> tuple[str, Rule]:
    """The family and the rules of a prompt, with the numbers and names in them."""
    family, names = names_of(prompt)
    text = re.sub(r"```.*?```", "", prompt, flags=re.DOTALL)
    for name, role in names.items():
        nouns = role in ("WHO", "WHAT")
        text = re.sub(rf"`{name}`" + (rf"|\b{name}\b" if nouns else ""), role, text)
    rule: Rule = {}
    patterns = {**SHARED, **RULES[family]}
    for sentence in re.split(r"(?<=\.)\s+|(?<=:)\n+", text.replace("`", "").strip()):
        sentence = sentence.removeprefix("- ").rstrip(".")
        fitting = ((re.fullmatch(each, sentence), name) for each, name in patterns.items())
        found = next(((match, name) for match, name in fitting if match), None)
        if found and found[1]:
            rule[found[1]] = found[0][1] if found[0].groups() else True
        elif not found and not re.fullmatch(FRAME, sentence):
            raise Unread(sentence)
    return family, rule


def solver(prompt: str, ignored: str = "") -> tuple[Callable[..., Rows], bool]:
    """The function that a prompt asks for, and whether the order of its rows counts."""
    family, rule = rules_in(prompt)
    rule = {name: value for name, value in rule.items() if name != ignored}

    def solve(*tables: list[list[Any]]) -> Rows:
        listed = [*LISTED[family](rule, *tables)]  # (what breaks ties, name, value)
        values = [value for *_, value in listed]
        if "top" in rule:
            listed = [each for each in listed if not any(one > each[2] for one in values)]
        if "above" in rule:
            mean = sum(values) / len(values) if values else 0
            listed = [each for each in listed if each[2] > mean]
        if "ordered" in rule:
            listed = sorted(sorted(listed), key=lambda each: each[2], reverse=True)
        return [(name, value) for _, name, value in listed]

    return solve, "ordered" in rule


def orders(rule: Rule, who: list[list[Any]], what: list[list[Any]]) -> Iterator[tuple[Any, ...]]:
    mine: dict[Any, dict[Any, tuple[int, Any]]] = defaultdict(dict)
    for key, owner, day, much, state in sorted(what):
        if rule.get("state", state) == state and day >= int(rule.get("since", 0)):
            much = int(rule["fill"]) if much is None and "fill" in rule else much
            mine[owner][day if "last" in rule else key] = (day, much)
    for key, name, place in who:
        rows = [*mine[key].values()]
        if "town" in rule and place != rule["town"] or rule.get("away", 0) == place:
            continue
        if len(rows) >= int(rule.get("least", "some" in rule)):
            known = [much for _, much in rows if much is not None]
            yield key, name, reported(rule, rows, known, [day for day, _ in rows])


def reported(rule: Rule, rows: Sequence[Any], known: list[int], others: list[Any]) -> int:
    """The value that the report of a group asks for."""
    report = rule.get("all") or rule["some"]
    if report.startswith("the number of different"):
        return len(set(others))
    if report.startswith("the number of those"):
        return len(rows)
    if report.startswith("the sum of"):
        return sum(known)
    if report.startswith("the largest"):
        return max([0, *known])
    raise Unread(report)


def staff(rule: Rule, who: list[list[Any]]) -> Iterator[tuple[Any, ...]]:
    above = {row[0]: row[2] for row in who}

    def steps_up(low: int, high: int) -> int:
        """The steps from a row up to another, 0 for none."""
        steps, at = 1, above[low]
        while at is not None and at != high:
            steps, at = steps + 1, above[at]
        return steps if at == high else 0

    most = int(rule.get("reach", len(who))) if "deep" in rule else 1
    for key, name, up, _kind, much in who:
        rows = [row for row in who if 0 < steps_up(row[0], key) <= most]
        rows += [row for row in who if row[0] == key and "self" in rule]
        rows = [row for row in rows if "gone" not in rule or row[3] != rule["gone"]]
        if "heads" in rule and up is not None or len(rows) < int(rule.get("least", 0)):
            continue
        if "less" in rule and max([row[4] for row in rows], default=much) <= much:
            continue
        kinds = [row[3] for row in rows if row[3] is not None]
        yield key, name, reported(rule, rows, [row[4] for row in rows], kinds)


def visits(rule: Rule, what: list[list[Any]]) -> Iterator[tuple[Any, ...]]:
    sums: dict[str, dict[int, int]] = defaultdict(dict)
    for _, who, day, much, place in what:
        if who is None or "short" in rule and (much is None or much < int(rule["short"])):
            continue
        if (
            "town" in rule
            and place != rule["town"]
            or place is not None
            and (place == rule.get("away"))
        ):
            continue
        sums[who][day] = sums[who].get(day, 0) + (much or 0)
    step = 2 if rule["gap"] == "at most one day" else 1
    for who, by_day in sums.items():
        days = {day for day, total in by_day.items() if total >= int(rule.get("total", 0))}
        streaks = []
        for start in sorted(day for day in days if not days & set(range(day - step, day))):
            at, length = start, 1
            while after := [day for day in range(at + 1, at + step + 1) if day in days]:
                at, length = after[0], length + 1
            if length >= int(rule.get("least", 1)):
                streaks.append((start, length))
        if streaks:
            yield who, who, of_streaks(rule["all"], streaks)


def of_streaks(report: str, streaks: list[tuple[int, int]]) -> int:
    """The value of the streaks (first day, length) that a report asks for."""
    if report == "the number of streaks":
        return len(streaks)
    if report == "the number of days with a WHAT that counts in the longest streak":
        return sorted(length for _, length in streaks)[-1]
    if report == "the first day of the last streak":
        return streaks[-1][0]
    if report.endswith("with the most days with a WHAT that counts, and of several the earliest"):
        return min((-length, start) for start, length in streaks)[1]
    raise Unread(report)


LISTED: dict[str, Callable[..., Iterator[tuple[Any, ...]]]] = {
    "orders": orders,
    "staff": staff,
    "visits": visits,
}


def disagreements(family: str, level: int, seeds: Sequence[int]) -> tuple[int, float, list[str]]:
    """Databases, CPU seconds, and where the query in the sandbox and the oracle differ."""
    databases, began, wrong = 0, time.process_time(), []
    for seed in seeds:
        problem = make_problem("sql", seed, level, family)
        answer = json.loads(problem.answer)
        try:
            solve, is_ordered = solver(problem.prompt)
        except Unread as unread:
            wrong.append(f"sql {family} level {level} seed {seed}: {unread!r} is not read")
            continue
        for database in answer["database"]:
            databases += 1
            result = sql_guest().select(answer["query"], image_of(json.dumps(database)), LIMITS, 0)
            rows, derived = list(result.rows), solve(*database["rows"].values())
            if not is_ordered:
                rows, derived = sorted(rows, key=repr), sorted(derived, key=repr)
            if rows != derived or is_ordered != (answer["compare"] == "ordered"):
                wrong.append(f"sql {family} level {level} seed {seed}: {rows} and {derived}")
    return databases, time.process_time() - began, wrong
