"""The verdicts on rows of each data set beside those of the set's own judge, written anew here.

    python -m benchmarks.judges [--texts 150] [--values 60] [--seed 1] [--data FOLDER] [-o FILE]
    INFINITE_RL_TESTLIB=testlib.h python -m benchmarks.judges --checkers FOLDER

A published row goes through its loader; its answer judges outputs of many kinds: right ones written
in other ways, and wrong ones. The judges below follow the sources that `dataset/shapes/contests.py`
names, and share no code with ours. Each class of disagreement is printed with an example. With
`--data` the sets with tests and the mathematical ones are compared in their place
(`judges_tests.py`, `judges_maths.py`), with `--checkers` CodeContests+ by testlib's checkers there.
"""

from __future__ import annotations

import argparse
import inspect
import json
import random
import re
import string
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.judges_maths import SETS as MATHS
from benchmarks.judges_maths import maths_compared
from benchmarks.judges_tests import checkers_compared, tests_compared
from infinite_rl.dataset.shapes import SHAPES
from infinite_rl.reward_functions import get_reward_functions
from infinite_rl.reward_functions.coding.judge import judge_printed
from infinite_rl.reward_functions.coding.reference import Cases, read_reference

Judge = Callable[[str, str], bool]


# --- the sets' own judges of a printed text, from their sources ----------------------------------


def apps(actual: str, expected: str) -> bool:
    """End of `run_test` in hendrycks/apps eval/testing_util.py."""
    printed = actual.splitlines()
    if "\n".join(printed) == expected or "\n".join(x.strip() for x in printed) == expected:
        return True
    wanted = [line.strip() for line in expected.split("\n") if line]
    if printed == wanted or [line for line in printed if line] == wanted:
        return True
    printed = [line for line in printed if line]
    try:
        one, other = [float(line) for line in printed], [float(line) for line in wanted]
        near = len(one) == len(other) and all(
            abs(a - b) <= 1e-8 + 1e-5 * abs(b) for a, b in zip(one, other, strict=True)
        )
    except ValueError:
        near = False
    if near:
        return True
    mine = [set(line.split()) for line in printed if line.split()]
    theirs = [set(line.split()) for line in wanted]
    if {frozenset(line) for line in mine} == {frozenset(line) for line in theirs}:
        return True
    try:
        return {frozenset(round(float(word), 3) for word in line) for line in mine} == {
            frozenset(round(float(word), 3) for word in line) for line in theirs
        }
    except ValueError:
        return False


def taco(actual: str, expected: str) -> bool:
    """`stripped_string_compare`, with which `compare_std_results` in FlagOpen/TACO begins.

    What follows there was written for lists of lines, and compares characters of the text.
    """
    return actual.lstrip().rstrip() == expected.lstrip().rstrip()


def code_contests(actual: str, expected: str) -> bool:
    """`OutputsMatch` and `ValuesMatch` in execution/tester_sandboxer.cc."""
    lower = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
    one, other = (text.translate(lower).split() for text in (actual, expected))
    if one == other:
        return True
    if len(one) != len(other):
        return False
    for a, b in zip(one, other, strict=True):
        try:
            same = a == b if "_" in a + b else abs(float(a) - float(b)) < 1e-5
        except ValueError:
            same = a == b
        if not same:
            return False
    return True


def livecodebench(actual: str, expected: str) -> bool:
    """`grade_stdio` in lcb_runner/evaluation/testing_util.py."""
    one = [line.strip() for line in actual.strip().split("\n")]
    other = [line.strip() for line in expected.strip().split("\n")]
    if len(one) != len(other):
        return False
    for a, b in zip(one, other, strict=True):
        if a == b:
            continue
        try:
            if [Decimal(word) for word in a.split()] != [Decimal(word) for word in b.split()]:
                return False
        except InvalidOperation:
            return False
    return True


def hardtests(actual: str, expected: str) -> bool:
    """`default_output_judging_function` in hard_tests_gen/local_judge.py."""
    return [line.rstrip() for line in actual.rstrip().splitlines()] == [
        line.rstrip() for line in expected.rstrip().splitlines()
    ]


def wcmp(actual: str, expected: str) -> bool:
    """testlib's wcmp: the same sequence of tokens."""
    return actual.split() == expected.split()


# --- published rows ------------------------------------------------------------------------------


def _io(tests: list[tuple[str, str]]) -> str:
    return json.dumps({"inputs": [a for a, _ in tests], "outputs": [b for _, b in tests]})


def _tests(expected: str, **more: Any) -> list[dict[str, Any]]:
    return [{"input": "1\n", "output": expected, **more}]


def _apps(expected: str) -> dict[str, Any]:
    io = _io([("1\n", expected)])
    return {"problem_id": 1, "question": "q", "input_output": io, "solutions": "[]"}


def _contest(expected: str) -> dict[str, Any]:
    row = {"name": "n", "description": "q", "public_tests": _tests(expected)}
    return {**row, "private_tests": [], "generated_tests": []}


def _lcb(expected: str) -> dict[str, Any]:
    public = json.dumps(_tests(expected, testtype="stdin"))
    row = {"question_content": "q", "public_test_cases": public, "private_test_cases": "[]"}
    return {**row, "metadata": "{}"}


def _codeforces(expected: str) -> dict[str, Any]:
    row = {"id": "1/A", "description": "q", "official_tests": _tests(expected)}
    return {**row, "generated_checker": None, "input_mode": "stdio"}


def _verl(expected: str) -> dict[str, Any]:
    model = {"style": "rule", "ground_truth": _io([("1\n", expected)])}
    return {"data_source": "taco", "prompt": "q", "reward_model": model}


class DataSet(NamedTuple):
    """A shape, a published row with one expected output, and the set's own judge."""

    shape: str
    published: Callable[[str], dict[str, Any]]
    judge: Judge


# One row a set.
SETS: dict[str, DataSet] = {
    "apps": DataSet("apps", _apps, apps),
    "taco": DataSet(
        "taco", lambda text: {"question": "q", "input_output": _apps(text)["input_output"]}, taco
    ),
    "codecontests": DataSet("codecontests", _contest, code_contests),
    "livecodebench": DataSet("livecodebench", _lcb, livecodebench),
    "deepcoder, of LiveCodeBench": DataSet(
        "deepcoder",
        lambda text: {"problem": "q", "tests": json.dumps(_tests(text, testtype="stdin"))},
        livecodebench,
    ),
    "deepcoder, others": DataSet(
        "deepcoder",
        lambda text: {"problem": "q", "tests": json.dumps(_tests(text, type="stdin_stdout"))},
        taco,
    ),
    "rstar_coder": DataSet(
        "rstar_coder",
        lambda text: {"question": "q", "inputs": '["1"]', "outputs": json.dumps([text])},
        livecodebench,
    ),
    "hardtests": DataSet(
        "hardtests",
        lambda text: {"pid": "p", "question_content": "q", "public_test_cases": _tests(text)},
        hardtests,
    ),
    "codeforces": DataSet("codeforces", _codeforces, wcmp),
    "verl": DataSet("verl", _verl, apps),
}


# --- outputs -------------------------------------------------------------------------------------


_ODD = 0.03  # of texts, of words that some judges read as numbers


def expected_text(draw: random.Random) -> str:
    """An expected output: numbers, tables, words or text, of one line or several."""
    lines = draw.choice((1, 1, 2, 3, 5, 8))
    kind = draw.randrange(7)
    if draw.random() < _ODD:
        odd = ("nan", "inf", "-inf", "1e5", "0x10", "1_000", "007", "-0", ".5", "5.", "+3", "1e400")
        rows = [" ".join(draw.choices(odd, k=draw.randint(1, 3))) for _ in range(lines)]
    elif kind == 0:
        rows = [str(draw.randint(-999, 10 ** draw.randint(1, 20))) for _ in range(lines)]
    elif kind == 1:
        rows = [f"{draw.uniform(-1000, 1000):.{draw.randint(1, 9)}f}" for _ in range(lines)]
    elif kind == 2:
        rows = [
            " ".join(str(draw.randint(0, 99)) for _ in range(draw.randint(2, 6)))
            for _ in range(lines)
        ]
    elif kind == 3:
        rows = [draw.choice(("YES", "NO", "Yes", "-1", "IMPOSSIBLE")) for _ in range(lines)]
    elif kind == 4:
        rows = [
            f"Case {n + 1}: {draw.randint(0, 99)} {draw.uniform(0, 9):.3f}" for n in range(lines)
        ]
    elif kind == 5:
        rows = [
            " ".join(draw.choice(("ab", "Ba", "x1", "für", "→")) for _ in range(3))
            for _ in range(lines)
        ]
    else:
        rows = [f"{draw.uniform(0, 1):.6f} {draw.randint(1, 10**6)}" for _ in range(lines)]
    return "\n".join(rows) + draw.choice(("\n", "\n", ""))


def _each_word(text: str, change: Callable[[str], str]) -> str:
    return "\n".join(
        " ".join(change(word) for word in line.split(" ")) for line in text.split("\n")
    )


def _number(word: str) -> float | None:
    try:
        return float(word) if "_" not in word else None
    except ValueError:
        return None


def _noise(size: float, *, relative: bool = False) -> Callable[[str, random.Random], str]:
    def change(word: str) -> str:
        number = _number(word)
        if number is None or "." not in word:
            return word
        return f"{number + size * (abs(number) if relative else 1):.12f}"

    return lambda text, _draw: _each_word(text, change)


def _lines(
    change: Callable[[list[str], random.Random], list[str]],
) -> Callable[[str, random.Random], str]:
    return lambda text, draw: "\n".join(change(text.rstrip("\n").split("\n"), draw)) + "\n"


def _shuffled(items: list[str], draw: random.Random) -> list[str]:
    return draw.sample(items, len(items))


def _at(items: list[str], draw: random.Random, new: Callable[[str], list[str]]) -> list[str]:
    at = draw.randrange(len(items))
    return [*items[:at], *new(items[at]), *items[at + 1 :]]


def _rewritten(word: str) -> str:
    number = _number(word)
    if number is None or "n" in word.lower():
        return word
    return word + "0" if "." in word else f"{word}.0"


# One row a kind of output: from an expected text to an output.
KINDS: dict[str, Callable[[str, random.Random], str]] = {
    "the same": lambda text, _: text,
    "no newline at the end": lambda text, _: text.rstrip("\n"),
    "three newlines at the end": lambda text, _: text.rstrip("\n") + "\n\n\n",
    "blanks at the end": lambda text, _: text.rstrip("\n") + "  \n",
    "blanks at the end of each line": lambda text, _: (
        text.rstrip("\n").replace("\n", " \n") + " \n"
    ),
    "carriage returns": lambda text, _: text.replace("\n", "\r\n"),
    "blanks before the first line": lambda text, _: "  " + text,
    "blanks before each line": _lines(lambda lines, _: [f" {line}" for line in lines]),
    "two blanks between words": lambda text, _: text.replace(" ", "  "),
    "tabs between words": lambda text, _: text.replace(" ", "\t"),
    "an empty line more": _lines(lambda lines, draw: _at(lines, draw, lambda line: ["", line])),
    "all on one line": lambda text, _: " ".join(text.split()) + "\n",
    "a word a line": lambda text, _: "\n".join(text.split()) + "\n",
    "lower case": lambda text, _: text.lower(),
    "upper case": lambda text, _: text.upper(),
    "numbers with one digit more": lambda text, _: _each_word(text, _rewritten),
    "numbers off by 1e-10": _noise(1e-10),
    "numbers off by 4e-6": _noise(4e-6),
    "numbers off by 3e-5": _noise(3e-5),
    "numbers off by 0.01": _noise(0.01),
    "numbers off by 3e-6 of them": _noise(3e-6, relative=True),
    "lines in another order": _lines(_shuffled),
    "words in another order": _lines(
        lambda lines, draw: [" ".join(_shuffled(line.split(" "), draw)) for line in lines]
    ),
    "a line is missing": _lines(lambda lines, draw: _at(lines, draw, lambda _line: [])),
    "a line twice": _lines(lambda lines, draw: _at(lines, draw, lambda line: [line, line])),
    "a word more": lambda text, _: text.rstrip("\n") + " 0\n",
    "a line more": lambda text, _: text.rstrip("\n") + "\n0\n",
    "a word is missing": lambda text, _: " ".join(text.split(" ")[:-1]) + "\n",
    "a digit changed": lambda text, draw: text.replace(draw.choice("0123456789"), "7"),
    "the last digit changed": lambda text, _: re.sub(
        r"\d(?=\D*\Z)", lambda digit: str(9 - int(digit[0])), text
    ),
    "a plus before numbers": lambda text, _: _each_word(
        text, lambda word: f"+{word}" if word[:1].isdigit() else word
    ),
    "with an exponent": lambda text, _: _each_word(
        text, lambda word: word if _number(word) is None or "n" in word else f"{float(word):.17e}"
    ),
    "a prompt before it": lambda text, _: "Answer: " + text,
    "nothing": lambda _text, _draw: "",
    "a newline alone": lambda _text, _draw: "\n",
    "another text": lambda _text, draw: expected_text(draw),
}


# --- values of functions -------------------------------------------------------------------------


def values(draw: random.Random) -> Any:
    """An expected value: what LiveCodeBench's functions return."""
    kind = draw.randrange(6)
    if kind == 0:
        return draw.randint(-99, 10 ** draw.randint(1, 30))
    if kind == 1:
        return draw.choice((True, False))
    if kind == 2:
        return "".join(draw.choice("abÄ→ 1") for _ in range(draw.randint(0, 6)))
    if kind == 3:
        return [draw.randint(0, 9) for _ in range(draw.randint(0, 5))]
    if kind == 4:
        return [[draw.randint(0, 9), draw.choice("xy")] for _ in range(draw.randint(0, 3))]
    return round(draw.uniform(0, 10), draw.randint(1, 12))


# One row a kind of returned value: the expression, of the expected value.
RETURNED: dict[str, Callable[[Any], str]] = {
    "the same": repr,
    "a tuple for a list": lambda value: (
        f"tuple({value!r})" if isinstance(value, list) else repr(value)
    ),
    "None": lambda _: "None",
    "its text": lambda value: f"str({value!r})",
    "in a list": lambda value: f"[{value!r}]",
    "off by one": lambda value: f"{value!r} + 1" if isinstance(value, int) else f"{value!r} * 2",
    "turned around": lambda value: (
        f"{value!r}[::-1]" if isinstance(value, list | str) else f"-{value!r}"
    ),
    "a float for an integer": lambda value: (
        f"{value!r} * 1.0" if isinstance(value, int) else repr(value)
    ),
    "an integer for a truth value": lambda value: (
        repr(int(value)) if isinstance(value, bool) else repr(value)
    ),
    "off by a rounding": lambda value: (
        f"{value!r} * (1 + 1e-15)" if isinstance(value, float) else repr(value)
    ),
    "pairs as tuples": lambda value: (
        repr([tuple(each) if isinstance(each, list) else each for each in value])
        if isinstance(value, list)
        else repr(value)
    ),
    "sorted": lambda value: f"sorted({value!r})" if isinstance(value, list) else repr(value),
    "a set": lambda value: f"set({value!r})" if isinstance(value, str) else repr(value),
}


def call_based(returned: Any, expected: Any) -> bool:
    """`grade_call_based` of LiveCodeBench: equal, a tuple as a list."""
    value = list(returned) if isinstance(returned, tuple) else returned
    return bool(value == expected)


def call_based_apps(returned: Any, expected: Any) -> bool:
    """The call-based part of `run_test` in hendrycks/apps and of FlagOpen/TACO.

    There an expected value is published in a list of one.
    """
    value, outputs = (list(returned) if isinstance(returned, tuple) else returned), [expected]
    if value == outputs or value == outputs[0]:
        return True
    try:
        tuples = isinstance(value[0], tuple)
        return tuples and [list(item) for item in value] == outputs[0]
    except (TypeError, IndexError, KeyError):
        return False


def _lcb_calls(expected: Any) -> dict[str, Any]:
    test = {"input": "1", "output": json.dumps(expected), "testtype": "functional"}
    return {**_lcb(""), "public_test_cases": json.dumps([test]), "metadata": '{"func_name": "f"}'}


def _apps_calls(expected: Any) -> dict[str, Any]:
    io = {"fn_name": "f", "inputs": [[1]], "outputs": [[expected]]}
    return {**_apps(""), "input_output": json.dumps(io)}


# One row a set: its shape, a published row with one value, and its judge of values.
CALLED: dict[str, tuple[str, Callable[[Any], dict[str, Any]], Callable[[Any, Any], bool]]] = {
    "livecodebench, functions": ("livecodebench", _lcb_calls, call_based),
    "apps, functions": ("apps", _apps_calls, call_based_apps),
    "taco, functions": ("taco", _apps_calls, call_based_apps),
}


# --- both verdicts -------------------------------------------------------------------------------


class Compared(NamedTuple):
    """One output: the set, the kind, both verdicts, and what was compared."""

    name: str
    kind: str
    ours: bool | None
    theirs: bool
    expected: str
    actual: str


def texts_compared(texts: int, seed: int) -> Iterator[Compared]:
    """Judge each kind of output for n expected texts, by the rule of each set."""
    draw = random.Random(seed)
    outputs = [
        (expected, kind, make(expected, draw))
        for expected in (expected_text(draw) for _ in range(texts))
        for kind, make in KINDS.items()
    ]
    for name, (shape, published, judge) in SETS.items():
        for expected, kind, actual in outputs:
            reference = read_reference(SHAPES[shape].row(published(expected))["answer"])
            assert isinstance(reference, Cases)
            ((stdin, wanted),) = reference.cases
            ours = judge_printed(stdin, actual, wanted, reference.how).passed
            yield Compared(name, kind, ours, judge(actual, expected), expected, actual)


def values_compared(count: int, seed: int) -> Iterator[Compared]:
    """Each kind of returned value, judged in the sandbox."""
    draw, reward = random.Random(seed), get_reward_functions(only=["program"])["program"]
    for expected in [values(draw) for _ in range(count)]:
        for name, (shape, published, judge) in CALLED.items():
            answer = SHAPES[shape].row(published(expected))["answer"]
            for kind, make in RETURNED.items():
                code = make(expected)
                text = f"```python\ndef f(n):\n    return {code}\n```"
                score = reward.compute_reward(text, answer)
                assert score.status != "unscored", score
                theirs = judge(eval(code), expected)  # noqa: S307 - this module's own expression
                yield Compared(name, kind, score.passed, theirs, repr(expected), code)


def judged_by_function(stdin: str, actual: str, _expected: str) -> bool:
    """A judge as HardTests publishes: any two positive numbers that sum to the input are right."""
    words = actual.split()
    if len(words) != 2 or not all(word.isdigit() for word in words):
        return False
    left, right = map(int, words)
    return left > 0 and right > 0 and left + right == int(stdin)


_FUNCTION = inspect.getsource(judged_by_function).replace(
    "judged_by_function", "output_judging_function"
)
# A checker as open-r1/codeforces publishes: a script over three files.
_SCRIPT = f"""import sys
{inspect.getsource(judged_by_function)}
def main():
    texts = [open(path, encoding="utf-8").read() for path in sys.argv[1:4]]
    print(1 if judged_by_function(texts[0], texts[2], texts[1]) else 0)

if __name__ == "__main__":
    main()
"""


def _by_script(stdin: str, actual: str, expected: str) -> bool:
    """The script in an interpreter of this machine."""
    with TemporaryDirectory() as folder:
        texts = {"input": stdin, "expected": expected, "output": actual, "checker.py": _SCRIPT}
        for name, text in texts.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        line = [sys.executable, "checker.py", "input", "expected", "output"]
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=True)
    return float(done.stdout) >= 1


def checked_compared(count: int, seed: int) -> Iterator[Compared]:
    """Outputs judged by the checkers of rows, in the sandbox and natively."""
    draw = random.Random(seed)
    for _ in range(count):
        total, left = draw.randint(2, 99), draw.randint(0, 50)
        expected, outputs = (
            f"1 {total - 1}\n",
            (
                f"{left} {total - left}\n",
                f"{total - 1}\n1",
                f"{left} {left}",
                "1",
                f"1 {total - 1} 0",
                f"{total - 1}.0 1",
                "",
                "one two",
            ),
        )
        test = {"input": f"{total}\n", "output": expected}
        hard = {"pid": "p", "question_content": "q", "public_test_cases": [test]}
        rows = {
            "hardtests": {**hard, "test_cases_kit": {"output_judging_function": _FUNCTION}},
            "codeforces": {
                **_codeforces(""),
                "official_tests": [test],
                "generated_checker": _SCRIPT,
            },
        }
        for shape, row in rows.items():
            reference = read_reference(SHAPES[shape].row(row)["answer"])
            assert isinstance(reference, Cases)
            native = judged_by_function if shape == "hardtests" else _by_script
            for actual in outputs:
                ours = judge_printed(test["input"], actual, expected, reference.how).passed
                theirs = native(test["input"], actual, expected)
                yield Compared(f"{shape}, checkers", "any", ours, theirs, expected, actual)


def report(compared: list[Compared]) -> str:
    """The agreement of each set, then each class of disagreement with an example."""
    lines = ["| set | verdicts | passed | the same | |", "|---|---:|---:|---:|---:|"]
    for name in dict.fromkeys(each.name for each in compared):
        of_set = [each for each in compared if each.name == name]
        same = sum(each.ours == each.theirs for each in of_set)
        passed = sum(each.theirs for each in of_set)
        share = f"{100 * same / len(of_set):.2f} %"
        lines.append(f"| {name} | {len(of_set):,} | {passed:,} | {same:,} | {share} |")
    same = sum(each.ours == each.theirs for each in compared)
    lines += [f"| all | {len(compared):,} | | {same:,} | {100 * same / len(compared):.2f} % |", ""]
    others = [each for each in compared if each.ours != each.theirs]
    lines += ["| set | output | we | it | times | example |", "|---|---|---|---|---:|---|"]
    classes = Counter((each.name, each.kind, each.ours) for each in others)
    for (name, kind, ours), count in sorted(classes.items(), key=str):
        first = next(
            each for each in others if (each.name, each.kind, each.ours) == (name, kind, ours)
        )
        words = ["passes" if one else "fails" for one in (ours, not ours)]
        example = f"`{first.actual[:60]!r}` for `{first.expected[:60]!r}`"
        lines.append(f"| {name} | {kind} | {words[0]} | {words[1]} | {count} | {example} |")
    return "\n".join(lines)


def main() -> int:
    """Compare, print and save; 1 where a set agrees on less than 99.5 %."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=150, help="expected texts of each set")
    parser.add_argument("--values", type=int, default=60, help="expected values of functions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, help="the folder with mbpp/, golds/ and math500/")
    parser.add_argument("--maths", default=",".join(MATHS), help="mathematical sets, by commas")
    parser.add_argument("--checkers", type=Path, help="the folder of testlib's checkers")
    parser.add_argument("-o", "--out", type=Path)
    args = parser.parse_args()
    if args.checkers:
        compared = [Compared(*one) for one in checkers_compared(args.checkers, KINDS, 9, args.seed)]
    elif args.data:
        mbpp, names = args.data / "mbpp" / "sanitized-mbpp.json", args.maths.split(",")
        more = [*tests_compared(mbpp, args.values, args.seed)] if args.values else []
        more += maths_compared(args.data, args.values or 60, args.seed, [*filter(None, names)])
        compared = [Compared(*each) for each in more]
    else:
        compared = [*texts_compared(args.texts, args.seed)]
        compared += values_compared(args.values, args.seed)
        compared += checked_compared(args.values // 2, args.seed)
    unscored = [each for each in compared if each.ours is None]
    compared = [each for each in compared if each.ours is not None]
    text = report(compared) + f"\n\n{len(unscored)} outputs without a verdict of ours."
    print(text)
    if args.out:
        args.out.write_text(text + "\n", encoding="utf-8")
    by_set = Counter(each.name for each in compared)
    same = Counter(each.name for each in compared if each.ours == each.theirs)
    return int(any(same[name] < 0.995 * count for name, count in by_set.items()))


if __name__ == "__main__":
    sys.exit(main())
