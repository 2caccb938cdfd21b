"""What the procedural provider promises: equal seeds, right answers, working code, variety."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any
from unittest.mock import patch

import pytest

from benchmarks.procedural import skeleton
from infinite_rl import procedural
from infinite_rl.errors import ProviderRefused, UsageError
from infinite_rl.layout import SECTIONS
from infinite_rl.parsing.sections import ExampleParser, code_blocks
from infinite_rl.procedural import ProceduralProvider, families
from infinite_rl.procedural.code import Family, Step, has_discriminating_inputs
from infinite_rl.procedural.code_prompt import literal, write_problem
from infinite_rl.procedural.code_tables import read_table
from infinite_rl.procedural.draw import Draw
from infinite_rl.procedural.families import CODING
from infinite_rl.procedural.templates import Problem, decimal, polynomial
from infinite_rl.reward_functions import get_reward_functions
from infinite_rl.tasks import TASKS
from infinite_rl.types import Sample

LANGUAGES = ("python", "javascript")
TASK_NAMES = ("math", *LANGUAGES)
LEVELS = (1, 2, 3)
make_problem = cache(procedural.make_problem)  # many tests look at the same ones


def problems(task: str, family: str, count: int) -> Iterator[tuple[str, Problem]]:
    """Some problems of each level, each with a name for the report of a failure."""
    for level in LEVELS:
        for seed in range(count):
            yield f"{family}, level {level}, seed {seed}", make_problem(task, seed, level, family)


# --- the provider


@pytest.mark.parametrize("task", sorted(TASKS))
def test_every_task_is_recognised_by_its_system_prompt(task: str) -> None:
    completion = ProceduralProvider().complete(TASKS[task].system_prompt, "go", 7)
    assert completion.text == ProceduralProvider().complete(TASKS[task].system_prompt, "", 7).text
    assert completion.model == "procedural-2"


@pytest.mark.parametrize("task", sorted(TASKS))
def test_the_text_parses_back_into_its_three_heads(task: str) -> None:
    for seed in range(60):
        text = ProceduralProvider().complete(TASKS[task].system_prompt, "", seed).text
        problem = make_problem(task, seed)
        parsed = ExampleParser.parse_text(text)
        assert tuple(parsed[name] for name in SECTIONS) == (
            problem.prompt,
            problem.answer,
            problem.response,
        )


def test_a_task_that_is_not_served_is_refused_with_those_that_are() -> None:
    with pytest.raises(ProviderRefused, match="javascript, math, python"):
        ProceduralProvider().complete("Write a poem.", "", 1)
    provider = ProceduralProvider({"math": TASKS["math"]})
    assert provider.complete(TASKS["math"].system_prompt, "", 1).text
    with pytest.raises(ProviderRefused, match="it makes: math"):
        provider.complete(TASKS["python"].system_prompt, "", 1)


def test_the_level_is_passed_on_and_another_is_a_usage_error() -> None:
    text = ProceduralProvider(level=3).complete(TASKS["math"].system_prompt, "", 5).text
    assert make_problem("math", 5, 3).prompt in text
    for level in (0, 4, -1):
        with pytest.raises(UsageError, match="level is 1, 2, 3"):
            ProceduralProvider(level=level)


def test_many_threads_get_the_same_texts_as_one() -> None:
    provider, system = ProceduralProvider(), TASKS["python"].system_prompt

    def ask(seed: int) -> str:
        return provider.complete(system, "", seed).text

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(40))) == [ask(seed) for seed in range(40)]


# --- equal seeds, equal texts

DIGEST = """
import hashlib, json
from infinite_rl.procedural import make_problem
def digest(task):
    rows = [repr(make_problem(task, seed)) for seed in range(40)]
    return hashlib.sha256("".join(rows).encode()).hexdigest()
print(json.dumps({task: digest(task) for task in ("math", "python", "javascript")}))
"""
# A change of wording or of the families changes a value on purpose; nothing else may.
GOLDEN = {
    "math": "3daf4fccef691ba5fcbd5c720a7fa8296cd795d1de76d025dc0eaf73b1604777",
    "python": "e7d408bff0599c059c732227b06be12f96fd6b2c994378355f4137995659f8c4",
    "javascript": "fe7761992a0eecab28a8d14c1b6cd81567bf791a13f59318fd42988b4ffcbb1e",
}


@pytest.mark.parametrize("hash_seed", ["0", "4711"])
def test_texts_are_those_of_every_other_machine(hash_seed: str) -> None:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", DIGEST], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == GOLDEN


def test_a_draw_keeps_to_its_bounds() -> None:
    draw = Draw("bounds")
    assert {draw.between(-2, 2) for _ in range(200)} == {-2, -1, 0, 1, 2}
    assert {draw.nonzero(-1, 1) for _ in range(50)} == {-1, 1}
    assert sorted(draw.shuffled(range(9))) == list(range(9))


# --- variety


@pytest.mark.parametrize("task", TASK_NAMES)
def test_prompts_are_distinct_and_have_many_skeletons(task: str) -> None:
    count = 2000 if task == "math" else 200
    assert len({make_problem(task, seed).prompt for seed in range(count)}) >= 0.99 * count
    skeletons = {
        family: {
            skeleton(make_problem(task, seed, family=family).prompt)
            for seed in range(400 if task == "math" else 100)
        }
        for family in families(task)
    }
    assert {family: len(kinds) for family, kinds in skeletons.items() if len(kinds) < 80} == {}


def test_a_skeleton_knows_no_numbers_names_or_code() -> None:
    one = "Ben has 3 apples and -2x + 5/7 = 4; call `f(1)`."
    two = "Zoe has 12 plums and x + 9 = -1; call `g([2])`."
    assert skeleton(one) == skeleton(two)
    assert skeleton("Find x.") != skeleton("What is x?")


@pytest.mark.parametrize("task", TASK_NAMES)
def test_a_higher_level_asks_for_more_work(task: str) -> None:
    for family in families(task):
        easy, hard = (
            mean(len(make_problem(task, seed, level, family).response) for seed in range(25))
            for level in (1, 3)
        )
        assert hard > easy, family


# --- math: the answer


def test_a_math_response_ends_in_its_one_tagged_answer() -> None:
    for family in families("math"):
        for name, problem in problems("math", family, 100):
            assert ExampleParser.extract_answer_tags(problem.response) == [problem.answer], name
            assert problem.response.endswith(f"<answer>{problem.answer}</answer>"), name


def test_every_sum_that_is_written_in_a_response_is_right() -> None:
    checked, faults = Counter[str](), []
    for family in families("math"):
        for name, problem in problems("math", family, 150):
            for line in problem.response.split("\n"):
                for left, right in equalities(line):
                    checked[family] += 1
                    faults += [f"{name}: {line}"] if number(left) != number(right) else []
    assert faults == []
    assert [family for family in families("math") if checked[family] <= 100] == ["derivatives"]


NUMBER = r"[-(]*\$?\d[\d.]*(?:[)]*(?:\^| ?[-+×÷·/] ?)?[-($]*\d[\d.]*)*[)]*"
FIRST = re.compile(rf"(?:^|(?<=[a-z:,] ))({NUMBER})$")
LATER = re.compile(rf"^({NUMBER})(?=[ ,;:]|\.?$|\. )(?! ?[-+×÷·/^(±])")


def equalities(line: str) -> Iterator[tuple[str, str]]:
    """The pairs of plain numeric terms that the line joins by an equals sign."""
    segments = re.sub(r"^(\d+\.|Step \d+:) ", "", line).split(" = ")
    for index, (left, right) in enumerate(zip(segments, segments[1:], strict=False)):
        before = FIRST.search(left) if index == 0 else LATER.match(left)
        after = LATER.match(right)
        whole = before and (index == 0 or before.group(1) == left)
        if before and after and whole:
            yield before.group(1), after.group(1).rstrip(".")


def number(text: str) -> Fraction:
    """The value of a numeric term of our own texts, where a tight `2/3` is one number."""
    source = text.replace("$", "").replace("×", "*").replace("·", "*").replace("÷", "/")
    source = re.sub(
        r"(\d[\d.]*)/(\d[\d.]*)|(\d[\d.]*)",
        lambda m: f"F('{m[3]}')" if m[3] else f"(F('{m[1]}')/F('{m[2]}'))",
        source,
    )
    return Fraction(eval(source.replace("^", "**").replace(")(", ")*("), {"F": Fraction}))


def test_polynomials_are_written_as_people_write_them() -> None:
    assert polynomial((1, -1, 0, 4), "x") == "x^3 - x^2 + 4"
    assert polynomial((0, 0), "x") == "0"
    assert polynomial((Fraction(-2, 3), 1), "t") == "-(2/3)t + 1"


def test_decimals_are_exact_or_fractions() -> None:
    assert decimal(Fraction(-5, 4)) == "-1.25"
    assert decimal(Fraction(1, 3)) == "1/3"
    assert decimal(Fraction(40)) == "40"


# --- coding: the code passes its tests


def coding_rows(language: str, count: int) -> Iterator[tuple[str, Problem, str, dict[str, Any]]]:
    """Some rows of every family and level: name, problem, code and answer."""
    for family in families(language):
        for name, problem in problems(language, family, count):
            [content] = ExampleParser.extract_answer_tags(problem.response)
            [block] = code_blocks(content)
            assert block.language == language and block.closed, name
            yield name, problem, block.code, json.loads(problem.answer)


@pytest.mark.parametrize("language", LANGUAGES)
def test_answers_hold_tests_or_cases_and_prompts_an_example(language: str) -> None:
    for name, problem, _, answer in coding_rows(language, 15):
        [(kind, entries)] = answer.items()
        assert kind in ("tests", "cases") and 5 <= len(entries) <= 8, name
        assert len({json.dumps(entry) for entry in entries}) == len(entries), name
        if language == "python" and kind == "tests":
            [signature] = re.findall(r"`(\w+)\([^`]*\) -> [^`]+`", problem.prompt)
            assert f"def {signature}(" in problem.response, name
            assert problem.prompt.count(f"{signature}(") >= 2, name


def test_no_constant_answer_passes_most_tests() -> None:
    for name, _, _, answer in coding_rows("python", 15):
        results = [test.rsplit(" == ", 1)[1] for test in answer.get("tests", ())]
        results += [case["output"] for case in answer.get("cases", ())]
        assert 2 * max(Counter(results).values()) <= len(results) + 2, name


def test_the_python_code_passes_its_tests() -> None:
    # The program text is our own, computed from the seed: it may run here, outside the sandbox.
    for name, _, code, answer in coding_rows("python", 30):
        for case in answer.get("cases", ()):
            stdin, stdout = io.StringIO(case["input"]), io.StringIO()
            with patch("sys.stdin", stdin), contextlib.redirect_stdout(stdout):
                exec(code, {})
            assert stdout.getvalue().strip() == case["output"], name
        if "tests" in answer:
            exec("\n".join([code, *answer["tests"]]), {})


RUNNER = """
const items = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const failed = [];
for (const item of items) {
  try {
    if (item.tests) new Function('require', [item.code, ...item.tests].join('\\n'))(require);
    for (const { input, output } of item.cases || []) {
      const lines = [];
      const files = { readFileSync: () => input };
      const load = (name) => (name === 'fs' ? files : require(name));
      new Function('require', 'console', item.code)(load, { log: (line) => lines.push(line) });
      if (lines.join('\\n') !== output) throw new Error(`${input} gave ${lines}`);
    }
  } catch (error) {
    failed.push(`${item.name}: ${error.message}`);
  }
}
console.log(JSON.stringify(failed));
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_javascript_code_passes_its_tests() -> None:
    items = [
        {"name": name, "code": code, **answer}
        for name, _, code, answer in coding_rows("javascript", 30)
    ]
    done = subprocess.run(
        ["node", "-e", RUNNER], input=json.dumps(items), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_reward_accepts_every_response(language: str) -> None:
    reward = get_reward_functions()["coding"]
    for name, problem, _, _ in coding_rows(language, 3):
        sample = Sample(
            "coding", problem.prompt, problem.answer, problem.response, language=language
        )
        score = reward.score(sample, problem.response)
        assert (score.format_score, score.correctness_score) == (1.0, 1.0), name


def test_a_constant_result_and_an_idle_step_are_not_discriminating() -> None:
    draw = Draw("idle")
    tasks = [CODING["sequences"](draw, 2) for _ in range(30)]
    task = next(task for task in tasks if has_discriminating_inputs(task))
    idle = Step("do nothing", "IT", "IT", lambda values: values)
    assert not has_discriminating_inputs(replace(task, steps=(idle, *task.steps)))
    assert not has_discriminating_inputs(replace(task, steps=(), reference=lambda _: 0))


def test_every_row_of_the_coding_tables_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    used = {""}

    def recorded(method: Any) -> Any:
        def call(draw: Draw, options: Any, *count: int) -> Any:
            chosen = method(draw, options, *count)
            used.update(getattr(one, "name", str(one)) for one in (chosen if count else [chosen]))
            return chosen

        return call

    for name in ("pick", "some"):
        monkeypatch.setattr(Draw, name, recorded(getattr(Draw, name)))
    monkeypatch.setattr(Family, "row", lambda self, name: used.add(name) or self._rows[name])
    for family, level, seed in product(CODING, LEVELS, range(150)):
        draw = Draw(f"rows/{family}/{seed}")
        write_problem(draw, CODING[family](draw, level), draw.pick(LANGUAGES))
    groups = [group for table in (*CODING, "prompt") for group in read_table(table).values()]
    assert [row.name for group in groups for row in group.rows if row.name not in used] == []


def test_literals_are_those_of_their_language() -> None:
    value = [True, None, "a'b\"", ("x", -3), {"k": [1]}]
    assert literal(value, "python") == '[True, None, "a\'b\\"", ("x", -3), {"k": [1]}]'
    assert literal(value, "javascript") == '[true, null, "a\'b\\"", ["x", -3], {"k": [1]}]'
