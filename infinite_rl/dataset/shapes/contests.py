"""Contest problems: programs that read stdin, and functions that are called.

Each set's own judge is the row's `compare`, with its source:

apps            eval/testing_util.py of github.com/hendrycks/apps, at the end of `run_test`: equal
                lines; or lines of one number each within numpy's `allclose`; or equal sets of
                lines, each line a set of words, numbers rounded to three decimals. 4 s.
taco            `compare_std_results` in metrics/testing_util.py of github.com/FlagOpen/TACO: equal
                up to outer blank space of the whole text. 4 s.
codecontests    `OutputsMatch` in execution/tester_sandboxer.cc of
                github.com/google-deepmind/code_contests: words in lower case, numbers within 1e-5.
codecontests+   the problem's own checker in C++, with testlib (2506.05817).
livecodebench   `grade_stdio` in lcb_runner/evaluation/testing_util.py of
                github.com/LiveCodeBench/LiveCodeBench: stripped lines, or the same numbers in them
                as decimals; `grade_call_based`: equal values. 6 s.
deepcoder       rllm/rewards/code_reward.py of github.com/rllm-org/rllm: that of LiveCodeBench for
                its rows, else that of TACO.
rstar_coder     2505.21297 describes none; as LiveCodeBench's, which its authors evaluate on.
hardtests       hard_tests_gen/local_judge.py of github.com/LeiLiLab/HardTestGen: the row's
                `output_judging_function`, else equal lines up to blank space at their ends. 5 s.
codeforces      the row's `generated_checker` in Python (open-r1/codeforces), else words in order,
                as testlib's wcmp.

(The numbers are arXiv's.)
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from ...parsing.syntax import UNREADABLE, syntax_tree
from ..rows import Row
from .parts import (
    Skipped,
    cases,
    limits,
    loaded,
    pickled_json,
    program_row,
    task_prompt,
    text_of,
    with_solution,
)

APPS: Mapping[str, Any] = {
    "compare": "line_sets",
    "tolerance": {"absolute": 1e-8, "relative": 1e-5},
}
TACO: Mapping[str, Any] = {"compare": "stripped"}
CODE_CONTESTS: Mapping[str, Any] = {"compare": "tokens_any_case", "tolerance": {"absolute": 1e-5}}
LIVECODEBENCH: Mapping[str, Any] = {"compare": "lines", "tolerance": 0}
HARDTESTS: Mapping[str, Any] = {"compare": "line_ends"}
CODEFORCES: Mapping[str, Any] = {"compare": "tokens"}
_PYTHON3, _PYTHON2 = (3, "3", "PYTHON3", "py3", "python3", "python"), (1, "1", "PYTHON2", "py2")
_EMPTY_CODE = "its checker has no `if __name__` part to call"


def apps(published: Row) -> Row:
    """A row of codeparrot/apps: `input_output` and `solutions` are JSON."""
    row = _with_io(published, {**APPS, **limits(4)})
    return {**row, "key": str(published["problem_id"]), "level": published.get("difficulty", "")}


def taco(published: Row) -> Row:
    """A row of BAAI/TACO; as APPS's, with tags."""
    if _count(published.get("picture_num")):
        raise Skipped("its question has an image")
    row = _with_io(published, {**TACO, **limits(4)})
    return {**row, "level": published.get("difficulty", "")}


def _with_io(published: Row, judge: Mapping[str, Any]) -> Row:
    tests = loaded(published["input_output"], "input_output")
    starter = published.get("starter_code") or ""
    answer = cases(tests or {}, starter, **judge)
    row = program_row(task_prompt(text_of(published, "question"), answer, starter), answer)
    return with_solution(row, loaded(published.get("solutions"), "solutions") or [])


def _count(value: Any) -> int:
    return int(value) if str(value or "").strip().isdigit() else 0


def code_contests(published: Row) -> Row:
    """A row of deepmind/code_contests: its public, private and generated tests together."""
    if published.get("input_file"):
        raise Skipped("it reads a file, not stdin")
    tests: list[Any] = []
    for kind in ("public_tests", "private_tests", "generated_tests"):
        tests += _pairs(published.get(kind))
    time, memory = published.get("time_limit"), published.get("memory_limit_bytes")
    if isinstance(time, Mapping):
        time = (time.get("seconds") or 0) + (time.get("nanos") or 0) / 1e9
    answer = cases(tests, **CODE_CONTESTS, **limits(time, (memory or 0) / 2**20))
    row = program_row(task_prompt(text_of(published, "description"), answer), answer)
    row = with_solution(row, _solutions(published.get("solutions"), "solution"))
    return {**row, "title": published["name"]}


def _pairs(tests: Any) -> list[Any]:
    """Tests as a list of objects; a column of `datasets` has them as an object of two lists."""
    if not isinstance(tests, Mapping):
        return list(tests or [])
    both = zip(tests.get("input") or [], tests.get("output") or [], strict=True)
    return [{"input": one, "output": other} for one, other in both]


def _solutions(solutions: Any, text: str) -> list[Any]:
    """The solutions in Python 3, then those in Python 2; of objects, or of an object of lists."""
    if isinstance(solutions, Mapping):
        both = zip(solutions["language"], solutions[text], strict=True)
        solutions = [{"language": language, text: code} for language, code in both]
    listed = [each for each in solutions or [] if isinstance(each, Mapping)]
    kinds = _PYTHON3, _PYTHON2
    return [each[text] for kind in kinds for each in listed if each.get("language") in kind]


def code_contests_plus(published: Row) -> Row:
    """A row of ByteDance-Seed/Code-Contests-Plus, in a configuration with tests (1x to 5x)."""
    checker = text_of(published, "checker")
    tests = published.get("test_cases")
    if not tests:
        raise Skipped("it has no tests: the configurations 1x to 5x have them")
    bounds = limits(published.get("time_limit"), published.get("memory_limit"))
    answer = cases(tests, checker={"language": "cpp", "code": checker}, **bounds)
    row = program_row(task_prompt(text_of(published, "description"), answer), answer)
    row = with_solution(row, _solutions(published.get("correct_submissions"), "code"))
    return {**row, "key": str(published.get("id") or ""), "title": published.get("title", "")}


def livecodebench(published: Row) -> Row:
    """A row of livecodebench/code_generation_lite, or of code_generation, where all is JSON."""
    tests = loaded(published["public_test_cases"], "public tests") or []
    tests = tests + pickled_json(published["private_test_cases"] or "[]")
    metadata = loaded(published.get("metadata"), "metadata") or {}
    name = metadata.get("func_name") or ""
    tests = [{**each, "fn_name": name} for each in tests]
    starter = published.get("starter_code") or ""
    answer = cases(tests, starter, **LIVECODEBENCH, **limits(6))
    row = program_row(task_prompt(text_of(published, "question_content"), answer, starter), answer)
    key, level = str(published.get("question_id") or ""), published.get("difficulty", "")
    return {**row, "key": key, "level": level, "date": str(published.get("contest_date") or "")}


def deepcoder(published: Row) -> Row:
    """A row of agentica-org/DeepCoder-Preview-Dataset, of whatever configuration."""
    tests = loaded(published["tests"], "tests")
    first = tests[0] if isinstance(tests, list) and tests else {}
    judge = {**LIVECODEBENCH, **limits(6)} if "testtype" in first else {**TACO, **limits(4)}
    starter = published.get("starter_code") or ""
    metadata = loaded(published.get("metadata"), "metadata")
    name = metadata.get("func_name") if isinstance(metadata, Mapping) else ""
    if name and first.get("testtype") == "functional":
        tests = [{"fn_name": name, **each} for each in tests]
    answer = cases(tests, starter, **judge)
    row = program_row(task_prompt(text_of(published, "problem"), answer, starter), answer)
    solutions = loaded_list(published.get("solutions"))
    return with_solution(row, [_unfenced(each) for each in solutions])


def loaded_list(value: Any) -> list[Any]:
    """A list, as itself or as its JSON; a text that is no JSON is a list of it."""
    try:
        value = loaded(value, "list")
    except Skipped:
        return [value]
    return value if isinstance(value, list) else [value] if value else []


def _unfenced(solution: Any) -> Any:
    """The code of a solution that is published in a fence."""
    if not isinstance(solution, str) or not solution.strip().startswith("```"):
        return solution
    return solution.strip().partition("\n")[2].rstrip().removesuffix("```")


def rstar_coder(published: Row) -> Row:
    """A row of microsoft/rStar-Coder, of a configuration with tests."""
    inputs, outputs = (loaded(published[key], key) for key in ("inputs", "outputs"))
    starter, name = published.get("starter_code") or "", published.get("func_name") or ""
    tests = {"inputs": inputs, "outputs": outputs, "fn_name": name}
    answer = cases(tests, starter, **LIVECODEBENCH)
    row = program_row(task_prompt(text_of(published, "question"), answer, starter), answer)
    return {**row, "key": str(published.get("question_id") or "")}


def hardtests(published: Row) -> Row:
    """A row of sigcp/hardtests_problems, with `test_cases` and `test_cases_kit` of hardtests_tests.

    The two are joined on `pid`; without tests the public ones count.
    """
    tests = loaded(published.get("test_cases"), "test_cases") or published.get("public_test_cases")
    kit = loaded(published.get("test_cases_kit"), "test_cases_kit") or {}
    checker = kit.get("output_judging_function")
    judge = {"checker": checker} if checker else HARDTESTS
    answer = cases(tests, published.get("starter_code") or "", **judge, **limits(5))
    row = program_row(task_prompt(text_of(published, "question_content"), answer), answer)
    row = with_solution(row, _solutions(published.get("solutions"), "code"))
    return {**row, "key": str(published["pid"]), "title": published.get("question_title", "")}


def codeforces(published: Row) -> Row:
    """A row of open-r1/codeforces: the official tests that are whole, and the checker."""
    if published.get("interaction_format"):
        raise Skipped("it is interactive")
    if published.get("input_mode") == "file":
        raise Skipped("it reads a file, not stdin")
    tests = [each for each in published.get("official_tests") or [] if not _is_cut(each)]
    checker = published.get("generated_checker")
    judge = {"checker": called_checker(checker)} if checker else CODEFORCES
    bounds = limits(published.get("time_limit"), published.get("memory_limit"))
    answer = cases(tests, **judge, **bounds)
    parts = [text_of(published, "description")]
    for title, column in (("Input", "input_format"), ("Output", "output_format"), ("Note", "note")):
        if published.get(column):
            parts.append(f"## {title}\n{text_of(published, column)}")
    parts += [
        f"## Example\nInput:\n{each['input']}\nOutput:\n{each['output']}"
        for each in published.get("examples") or []
    ]
    row = program_row(task_prompt("\n\n".join(parts), answer), answer)
    row |= {"title": published.get("title", ""), "level": published.get("rating")}
    return {**row, "key": str(published["id"]).replace("/", "-")}


def _is_cut(test: Mapping[str, Any]) -> bool:
    return any(str(test.get(key) or "").rstrip().endswith("...") for key in ("input", "output"))


_CALLED = """

def check(input, output, expected):
    import contextlib as _contextlib, io as _io, sys as _sys
    for _name, _text in (
        ("input.txt", input), ("correct_output.txt", expected), ("solution_output.txt", output)
    ):
        with open(_name, "w", encoding="utf-8") as _file:
            _file.write(_text)
    _sys.argv = ["checker.py", "input.txt", "correct_output.txt", "solution_output.txt"]
    with _contextlib.redirect_stdout(_io.StringIO()) as _said:
        try:
            _script()
        except SystemExit:
            pass
    return float(_said.getvalue().split()[-1]) >= 1
"""


def called_checker(script: str) -> str:
    """A checker that is a script over three files, as the function `check` of their texts.

    The script's `if __name__ == "__main__"` part becomes a function. It gets the paths of the
    input, the expected output and the program's output, and prints the score, of which 1 is full.
    Raises `Skipped` if there is no such part.
    """
    try:
        tree = syntax_tree(script)
    except UNREADABLE:
        raise Skipped("its checker is no Python 3") from None
    mains = [node for node in tree.body if isinstance(node, ast.If)]
    mains = [node for node in mains if ast.unparse(node.test) == "__name__ == '__main__'"]
    if not mains:
        raise Skipped(_EMPTY_CODE)
    function = syntax_tree("def _script(): pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = mains[-1].body
    tree.body = [*(node for node in tree.body if node not in mains), function]
    return ast.unparse(tree) + _CALLED


def open_code_reasoning(_published: Row) -> Row:
    """Raise `Skipped`: nvidia/OpenCodeReasoning-2 has solutions, neither questions nor tests."""
    raise Skipped(
        "it has no tests: load the problem's own set (column dataset) and join on its index"
    )
