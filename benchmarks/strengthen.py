"""Do strengthened tests decide? HumanEval and MBPP, judged by mutants and inputs of another search.

    python -m benchmarks.strengthen [--rows N | --all] [--jobs N] [--data DIR]

Each row is strengthened as `infinite-rl strengthen` does it. Then other programs with something
wrong are made, by random edits of tokens and lines, half of them by two edits. Those that the
strengthened tests accept run on ten times as many inputs as the search had, of other seeds: what
these kill, the tests missed. Kills by inputs beyond the search's reach are counted apart. Programs
that are right must pass: the references; those of HumanEvalPack in JavaScript, on the new inputs;
and for MBPP the solutions of other rows that ask for the same (each passes the other's old tests).
The buggy programs of HumanEvalPack must fail.

With --wrong only the programs of `wrong_programs.jsonl` are judged: 200 of MBPP's tasks, each wrong
for an input (`witness`) that its statement covers, and accepted by MBPP's own tests. A model wrote
them that had not seen this package. They are judged twice: by the tests of the search alone, and by
those with an author's help, as `infinite-rl strengthen --author MODEL` asks for it. The replies to
its requests are in `wrong_programs_aids.jsonl.gz`, written from the prompts alone. In the same way
the solutions of other rows that ask for the same are judged, which should pass.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import gzip
import io
import json
import keyword
import random
import re
import statistics
import sys
import tempfile
import time
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.humaneval import DATA
from benchmarks.sandbox import machine
from infinite_rl.dataset.loaders import load
from infinite_rl.dataset.rows import sample_of
from infinite_rl.dataset.solving import Cost, SolveConfig
from infinite_rl.dataset.strengthening import replies
from infinite_rl.layout import fenced, tagged
from infinite_rl.providers.scripted import ScriptedProvider
from infinite_rl.reward_functions import get_reward_functions
from infinite_rl.reward_functions.coding import CodingRewardFunction
from infinite_rl.reward_functions.coding.calls import call_tests
from infinite_rl.reward_functions.coding.reference import Call, Calls
from infinite_rl.reward_functions.reward_function import BadReference
from infinite_rl.sandbox.executor import RewardExecutor
from infinite_rl.types import Sample
from infinite_rl.verification.aids import Aids
from infinite_rl.verification.cross_tests import same_function
from infinite_rl.verification.distances import FAR, NEAR
from infinite_rl.verification.forms import Form, form_of
from infinite_rl.verification.proposals import Proposals
from infinite_rl.verification.search import SearchLimits
from infinite_rl.verification.strengthen import Strengthened, strengthen
from infinite_rl.verification.trials import Trials

SETS = {
    "HumanEval": ("humaneval", "humaneval/HumanEval.jsonl.gz"),
    "MBPP": ("mbpp", "mbpp/sanitized-mbpp.json"),
}
EDITS = 30  # wrong programs of one row
TIMES = 10  # as many inputs as the search had
FAR_INPUTS = 600
_ROUND = 60

# --- other operators -----------------------------------------------------------------------------

_CLASSES = [
    ["+", "-", "*", "//", "%", "/", "**"],
    ["<", "<=", ">", ">=", "==", "!="],
    ["+=", "-=", "*="],
    ["&", "|", "^"],
    ["and", "or"],
    ["True", "False", "None"],
    ["break", "continue", "pass"],
    ["min", "max", "sum", "len"],
    ["sorted", "list", "set", "reversed"],
    ["any", "all"],
    ["int", "round", "abs", "float"],
    ["append", "remove", "extend"],
    ["lower", "upper", "strip", "title"],
    ["startswith", "endswith"],
]
_OTHERS = {word: [w for w in words if w != word] for words in _CLASSES for word in words}


def edits(code: str, seed: str, count: int) -> list[str]:
    """Up to `count` different programs with one or two random edits."""
    chance, programs = random.Random(seed), dict[str, None]()
    try:
        same = {_without_docstrings(code)}
    except (SyntaxError, ValueError, RecursionError):
        return []
    for _ in range(20 * count):
        if len(programs) == count:
            break
        edited = code
        for _ in range(1 + (len(programs) >= count // 2)):
            edited = edit(edited, chance)
        try:
            text = _without_docstrings(edited)
            compile(edited, "edited", "exec")
        except (SyntaxError, ValueError, RecursionError, IndentationError):
            continue
        if text not in same:
            same.add(text)
            programs[edited] = None
    return list(programs)


def _without_docstrings(code: str) -> str:
    """The program as its syntax tree says it, without texts that do nothing."""
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            idle = [
                n for n in body if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)
            ]
            node.body = [n for n in body if n not in idle] or [ast.Pass()]  # type: ignore[attr-defined]  # it has one
    return ast.unparse(tree)


def edit(code: str, chance: random.Random) -> str:
    """The program with one token or line changed."""
    if chance.random() < 0.3:
        return _line_edit(code, chance)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return code
    names = [
        t.string for t in tokens
        if t.type == tokenize.NAME and not keyword.iskeyword(t.string)
        and not hasattr(builtins, t.string)
    ]  # fmt: skip
    positions = [
        n for n, token in enumerate(tokens) if _replaceable(token, tokens[n - 1] if n else None)
    ]
    if not positions:
        return code
    at = chance.choice(positions)
    token = tokens[at]
    lines = code.splitlines(keepends=True)
    (row, column), (_, end) = token.start, token.end
    new = _other(token, names, chance)
    lines[row - 1] = lines[row - 1][:column] + new + lines[row - 1][end:]
    return "".join(lines)


def _replaceable(token: tokenize.TokenInfo, before: tokenize.TokenInfo | None) -> bool:
    if token.start[0] != token.end[0] or (before and before.string in ("def", "import", "from")):
        return False
    if token.type in (tokenize.NUMBER, tokenize.STRING) or token.string in _OTHERS:
        return not (token.type == tokenize.STRING and token.string.startswith(('"""', "'''")))
    is_name = token.type == tokenize.NAME and not keyword.iskeyword(token.string)
    return is_name and not (before and before.string == ".") and not hasattr(builtins, token.string)


def _other(token: tokenize.TokenInfo, names: Sequence[str], chance: random.Random) -> str:
    if token.string in _OTHERS:
        return chance.choice(_OTHERS[token.string])
    if token.type == tokenize.NUMBER:
        if not token.string.isdecimal():
            return f"({token.string} * 2)"
        number = int(token.string)
        return str(chance.choice([number + 1, number - 1, number + 2, 2 * number, 0]))
    if token.type == tokenize.STRING:
        return chance.choice(["''", "' '", token.string + "[1:]", token.string + " * 2"])
    return chance.choice(names)


def _line_edit(code: str, chance: random.Random) -> str:
    lines = code.splitlines()
    inside = [n for n, line in enumerate(lines) if line[:1] == " " and line.strip()]
    if not inside:
        return code
    at = chance.choice(inside)
    kind = chance.randrange(4)
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    if kind == 0:
        lines[at] = f"{indent}pass"
    elif kind == 1:
        lines.insert(at, lines[at])
    elif kind == 2 and at + 1 < len(lines):
        lines[at], lines[at + 1] = lines[at + 1], lines[at]
    else:
        lines[at] = (
            lines[at][4:] if chance.random() < 0.5 and len(indent) > 4 else f"    {lines[at]}"
        )
    return "\n".join(lines) + "\n"


# --- the judge -----------------------------------------------------------------------------------


def accepted(sample: Sample, answer: str, programs: Sequence[str], name: str) -> list[str]:
    """The programs that pass the tests of a row's answer."""
    reward = get_reward_functions(2, only=[name])[name]
    row = replace(sample, answer=answer)
    return [each for each in programs if reward.passes(row, completion(each), likely=True)]


def completion(code: str, language: str = "python") -> str:
    """A program as a completion."""
    return tagged(f"\n{fenced(code, language)}\n")


def missed(
    form: Form, code: str, sample: Sample, programs: Sequence[str], count: int, reach: int
) -> list[tuple[str, str]]:
    """The programs that one of `count` inputs kills, with that test."""
    trials = Trials(RewardExecutor(), form)
    shown = trials.calibrate(code)
    proposals = Proposals(form.seen, code, "python", sample.prompt, f"judge/{sample.id}/{reach}")
    alive, kills, tried = list(programs), list[tuple[str, str]](), 0
    while alive and tried < count:
        points = [point for point, _ in proposals.next(_ROUND, reach)]
        tried += _ROUND
        if not points:
            break
        checks = [each for each in trials.stated(code, points) if each]
        checks = [c for c in checks if proposals.value_distance(c.value, shown) <= reach]
        for program in list(alive):
            results = trials.passed(program, checks) if checks else []
            if not all(results):
                kills.append((program, str(checks[results.index(False)].test)))
                alive.remove(program)
    return kills


def judged(job: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """Strengthen one row and judge its tests: the work of a process."""
    name, row = job
    sample = sample_of(row)
    reward = get_reward_functions(5, only=[name])[name]
    assert isinstance(reward, CodingRewardFunction)
    started = time.process_time()
    result = strengthen(sample, reward)
    cpu = time.process_time() - started
    code = reward.program(sample)
    programs = edits(code, f"edits/{sample.id}", EDITS)
    before = accepted(sample, sample.answer, programs, name)
    after = accepted(sample, result.answer, before, name)
    reference, language = reward.reference(sample)
    form = form_of(reference, code, language, sample.prompt)
    near: list[tuple[str, str]] = []
    far: list[tuple[str, str]] = []
    if form:
        near = missed(form, code, sample, after, TIMES * SearchLimits().inputs, NEAR)
        left = [each for each in after if each not in dict(near)]
        far = missed(form, code, sample, left, FAR_INPUTS, FAR)
    return {
        "id": row["id"], "cpu": cpu, "result": result, "edits": len(programs),
        "before": len(before), "after": len(after),
        "missed": near, "far": far,
        "gold": reward.passes(replace(sample, answer=result.answer), sample.response, likely=True),
        "code": code,
    }  # fmt: skip


def line(title: str, results: Sequence[dict[str, Any]], wall: float) -> str:
    """One line of the table."""
    rows: list[Strengthened] = [each["result"] for each in results]
    ours = sum(each.mutants for each in rows)
    programs = sum(each["edits"] for each in results)
    misses = sum(len(each["missed"]) for each in results)
    before = misses + sum(each["before"] - each["after"] for each in results)
    far = sum(len(each["far"]) for each in results)
    # What some test or some input kills; the others are presumed equivalent.
    killable = programs - sum(each["after"] for each in results) + misses
    times = sorted(each["cpu"] for each in results)
    return (
        f"| {title} | {len(results)} | {sum(bool(each.added) for each in rows)} "
        f"| {sum(each.added for each in rows) / max(1, len(rows)):.1f} "
        f"| {sum(each.killed_before for each in rows) / max(1, ours):.1%} "
        f"| {sum(each.killed for each in rows)} of {sum(each.killable for each in rows)} "
        f"| {killable} | {before} ({before / max(1, killable):.2%}) "
        f"| {misses} ({misses / max(1, killable):.2%}) | {far} "
        f"| {sum(not each['gold'] for each in results)} "
        f"| {statistics.median(times):.1f} / {times[-1]:.1f} s | {wall:.0f} s |"
    )


HEAD = (
    "| set | rows | strengthened | new tests a row | mutants killed by the old tests "
    "| killable ones killed now | other killable programs | accepted by the old tests "
    "| by the new | killed by far inputs alone | references refused | CPU a row, median / most "
    "| wall |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


# --- programs that are right, and buggy ones -----------------------------------------------------


def packs(path: Path) -> dict[str, dict[str, Any]]:
    """The rows of HumanEvalPack by their number."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = (json.loads(each) for each in lines)
    return {row["task_id"].rpartition("/")[2]: row for row in rows}


def buggy_accepted(data: Path, results: Sequence[dict[str, Any]], rows: Sequence[Any]) -> list[str]:
    """The buggy programs of HumanEvalPack that the new tests accept."""
    pack, wrong = packs(data / "humanevalpack" / "python.jsonl"), []
    for row, result in zip(rows, results, strict=True):
        buggy = pack[row["id"].rpartition("-")[2]]
        program = buggy["prompt"] + buggy["buggy_solution"]
        if accepted(sample_of(row), result["result"].answer, [program], "humaneval"):
            wrong.append(row["id"])
    return wrong


def other_language(
    data: Path, results: Sequence[dict[str, Any]], rows: Sequence[Any]
) -> Iterator[tuple[str, int, list[str]]]:
    """How many new tests of each row ran on its solution in JavaScript, and the failed ones."""
    pack, executor = packs(data / "humanevalpack" / "js.jsonl"), RewardExecutor(timeout=2)
    for row, result in zip(rows, results, strict=True):
        other = pack[row["id"].rpartition("-")[2]]
        texts = json.loads(result["result"].answer)["tests"][1:]
        name = other["entry_point"]
        tests = [t for text in texts for t in ast.parse(text).body[0].body]
        calls = [call for call in map(_as_call, tests) if call]
        try:
            written = call_tests(Calls(name, tuple(calls)), "javascript") if calls else None
        except BadReference:
            written = None
        if written is None:
            continue
        code = other["prompt"] + other["canonical_solution"]
        run = executor.execute(code, "javascript", **written.arguments())
        failed = [t for t, r in zip(written.tests, run.tests, strict=False) if not r.passed]
        yield row["id"], len(calls), failed


def _as_call(test: ast.stmt) -> Call | None:
    """The call and the value of a plain `assert f(1) == 2`."""
    assert isinstance(test, ast.Assert)
    node = test.test
    try:
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Call):
            args = [ast.literal_eval(each) for each in node.left.args]
            if ast.unparse(node.left.func) == "candidate":
                return Call(tuple(args), {}, ast.literal_eval(node.comparators[0]))
    except ValueError:
        pass
    return None


_WORD = re.compile(r"[a-z]{4,}")


def twins(data: Path, most: int) -> list[tuple[Sample, Sample]]:
    """Pairs of MBPP rows that ask for the same: each solution passes the tests of the other."""
    loaded = map(sample_of, load("mbpp", data / "mbpp" / "mbpp.jsonl"))
    rows = [replace(each, response=completion(each.response)) for each in loaded]
    words = [{*_WORD.findall(row.prompt.partition("\n")[0].lower())} for row in rows]
    reward = get_reward_functions(2, only=["program"])["program"]
    pairs = []
    for one, other in combinations(range(len(rows)), 2):
        shared = len(words[one] & words[other]) / max(1, len(words[one] | words[other]))
        if shared >= 0.6 and rows[one].response.strip() != rows[other].response.strip():
            pairs.append((shared, one, other))
    alike = ((rows[one], rows[other]) for _, one, other in sorted(pairs, reverse=True))
    equal = (pair for pair in alike if same_function(*pair, reward))
    return [pair for pair, _ in zip(equal, range(most), strict=False)]


def twin_job(pair: tuple[dict[str, Any], dict[str, Any]]) -> tuple[str, str, bool, bool]:
    """Whether each of two equal rows' solutions passes the new tests of the other."""
    one, other = Sample(**pair[0]), Sample(**pair[1])
    reward = get_reward_functions(5, only=["program"])["program"]
    assert isinstance(reward, CodingRewardFunction)
    stronger = [replace(each, answer=strengthen(each, reward).answer) for each in (one, other)]
    # In the other direction the old tests decide, which both pass.
    passed = same_function(one, stronger[1], reward), same_function(other, stronger[0], reward)
    return one.prompt, other.prompt, *passed


# --- wrong programs that a model wrote -----------------------------------------------------------

WRONG = Path(__file__).with_name("wrong_programs.jsonl")
AIDS = Path(__file__).with_name("wrong_programs_aids.jsonl.gz")


def with_replies(rows: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], str]]:
    """The rows with an author's replies, which are asked for as the command does it."""
    lines = gzip.decompress(AIDS.read_bytes()).decode("utf-8").splitlines()
    texts = {each["id"]: each["reply"] for each in map(json.loads, lines)}
    by_prompt = {row["prompt"]: texts[row["id"]] for row in rows}
    author = ScriptedProvider(lambda _, prompt, __: by_prompt[prompt])
    with (
        tempfile.TemporaryDirectory() as folder,
        replies(iter(rows), Path(folder), SolveConfig(author), Cost()) as pairs,
    ):
        return list(pairs)


def both_ways(job: tuple[dict[str, Any], str, str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Strengthen a row alone and with an author's reply, and judge programs by either's tests.

    Besides the row and the reply, a job is a wrong program and rows that ask for the same.
    """
    row, reply, wrong, equal = job
    sample, reward = sample_of(row), get_reward_functions(5, only=["program"])["program"]
    assert isinstance(reward, CodingRewardFunction)
    sample = replace(sample, response=completion(sample.response))
    ways = []
    for text in ("", reply):
        started = time.process_time()
        result = strengthen(sample, reward, aids=Aids.of(text, "python"))
        cpu = time.process_time() - started
        stronger = replace(sample, answer=result.answer)
        ways.append({
            "result": result, "cpu": cpu,
            "refused": not reward.score(stronger, stronger.response).passed,
            "wrong": reward.score(stronger, completion(wrong)).passed,
            "right": [same_function(Sample(**each), stronger, reward) for each in equal],
        })  # fmt: skip
    return ways


def wrong_programs(options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    """Print how many of the wrong programs, and of equal rows' solutions, each way accepts."""
    rows = {row["id"]: row for row in load("mbpp", options.data / SETS["MBPP"][1])}
    cases = [json.loads(each) for each in WRONG.read_text(encoding="utf-8").splitlines()]
    pairs = with_replies([rows[case["id"]] for case in cases])
    equal: dict[str, list[dict[str, Any]]] = {}
    for one, other in twins(options.data, 10**6):
        equal.setdefault(one.prompt, []).append(vars(other))
        equal.setdefault(other.prompt, []).append(vars(one))
    full = {row["id"]: row["prompt"] for row in load("mbpp", options.data / "mbpp" / "mbpp.jsonl")}
    jobs = [
        (row, reply, case["wrong"], equal.get(full[case["id"]], []))
        for (row, reply), case in zip(pairs, cases, strict=True)
    ]
    results = list(pool.map(both_ways, jobs))
    for number, title in enumerate(("search alone", "with an author")):
        report_way(title, [each[number] for each in results], cases)
    doubtful = [
        (case["id"], ways[1]["result"].disagreements[0])
        for case, ways in zip(cases, results, strict=True)
        if ways[1]["result"].disagreements
    ]
    print(f"rows whose second solution has another value: {len(doubtful)}")
    for name, test in doubtful:
        print(f"  {name}: {test[:120]}")


def report_way(title: str, ways: Sequence[dict[str, Any]], cases: Sequence[dict[str, Any]]) -> None:
    """Print what the tests of one way accept and refuse, and what they cost."""
    kinds = Counter(case["kind"] for case in cases)
    passed = Counter(c["kind"] for c, w in zip(cases, ways, strict=True) if w["wrong"])
    right = [each for way in ways for each in way["right"]]
    times = sorted(way["cpu"] for way in ways)
    tests = sum(way["result"].added for way in ways) / len(ways)
    votes = sum(way["result"].voters > 0 for way in ways)
    validated = sum(way["result"].validated for way in ways)
    print(
        f"{title}: wrong programs accepted: {passed.total()} of {len(cases)}; references refused: "
        f"{sum(way['refused'] for way in ways)}; solutions of equal rows refused: "
        f"{right.count(False)} of {len(right)}; rows left alone: "
        f"{sum(not way['result'].added for way in ways)}, with a vote: {votes}, with a validator: "
        f"{validated}; new tests a row: {tests:.1f}; CPU a row: median "
        f"{statistics.median(times):.1f} s, most {times[-1]:.1f} s"
    )
    print("  " + ", ".join(f"{kind}: {passed[kind]} of {kinds[kind]}" for kind in sorted(kinds)))


# --- the report ----------------------------------------------------------------------------------


def show(result: dict[str, Any]) -> None:
    """What became of a row, and what its new tests missed."""
    row: Strengthened = result["result"]
    print(
        f"{result['id']}: {row.why or f'{row.added} new tests'}; {row.killed_before}, {row.killed} "
        f"of {row.killable} killed; {result['edits']} other programs, accepted by the old tests "
        f"{result['before']}, by the new {result['after']}; missed {len(result['missed'])}, far "
        f"{len(result['far'])}, {result['cpu']:.1f} s", file=sys.stderr, flush=True,
    )  # fmt: skip
    for kind in ("missed", "far"):
        for program, test in result[kind]:
            changed = set(program.splitlines()) - set(result["code"].splitlines())
            print(f"  {kind}: {sorted(changed)} {test}", file=sys.stderr, flush=True)


def run(title: str, options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    """Strengthen and judge the rows of one set, and print its line and what was missed."""
    name, path = SETS[title]
    rows = list(load(name, options.data / path))
    if not options.all:
        rows = random.Random(options.seed).sample(rows, min(options.rows, len(rows)))
    started = time.monotonic()
    results = []
    for result in pool.map(judged, [(name, row) for row in rows]):
        results.append(result)
        if options.show:
            show(result)
    print(line(title, results, time.monotonic() - started), flush=True)
    if name == "humaneval":
        buggy = buggy_accepted(options.data, results, rows)
        print(f"HumanEvalPack: buggy programs accepted: {len(buggy)} of {len(rows)} {buggy}")
        others = list(other_language(options.data, results, rows))
        count, failed = sum(n for _, n, _ in others), [(i, f) for i, _, f in others if f]
        wrong = sum(len(tests) for _, tests in failed)
        print(f"HumanEvalPack in JavaScript: disagrees on {wrong} of {count} new tests:")
        for row_id, tests in failed:
            print(f"  {row_id}: {tests[:3]}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Judge strengthened tests by another search.")
    parser.add_argument("--rows", type=int, default=40, help="rows of each set, drawn at random")
    parser.add_argument("--only", default="", choices=["", *SETS], help="one of the sets")
    parser.add_argument("--all", action="store_true", help="all rows")
    parser.add_argument(
        "--twins", type=int, default=20, help="pairs of MBPP rows that are the same"
    )
    parser.add_argument("--wrong", action="store_true", help="only the wrong programs of MBPP")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--seed", type=int, default=0, help="of the sample of rows")
    parser.add_argument("--show", action="store_true", help="print each row, and what was missed")
    parser.add_argument("--data", type=Path, default=DATA, help=f"folder of the data sets ({DATA})")
    options = parser.parse_args()
    if not options.data.is_dir():
        sys.exit(f"the data is missing: there is no folder {options.data}; name one with --data")
    print(f"{machine()}\n\n{HEAD if not options.wrong else ''}".rstrip())
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        if options.wrong:
            wrong_programs(options, pool)
            return
        for title in filter(lambda each: options.only in ("", each), SETS):
            run(title, options, pool)
        if options.twins and options.only != "HumanEval":
            pairs = [(vars(a), vars(b)) for a, b in twins(options.data, options.twins)]
            passed = list(pool.map(twin_job, pairs))
            refused = sum((not a) + (not b) for _, _, a, b in passed)
            print(
                f"MBPP, {len(passed)} pairs of equal rows: {refused} of {2 * len(passed)} refused"
            )
            for one, other, first, second in passed:
                if not (first and second):
                    heads = [each.partition("\n")[0] for each in (one, other)]
                    print(f"  {heads} {first} {second}")


if __name__ == "__main__":
    main()
