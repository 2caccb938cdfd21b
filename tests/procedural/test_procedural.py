"""What the procedural provider promises: equal seeds, right answers, working code, variety."""

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
from infinite_rl.errors import ProviderRefused
from infinite_rl.parsing.sections import ExampleParser, code_blocks
from infinite_rl.procedural import ProceduralProvider, families, make_problem
from infinite_rl.procedural.code import Family, Step, as_json, differs, has_discriminating_inputs
from infinite_rl.procedural.code_prompt import literal, write_problem
from infinite_rl.procedural.code_tables import read_table
from infinite_rl.procedural.draw import Draw
from infinite_rl.procedural.families import CODING, family_levels, make_task
from infinite_rl.procedural.templates import Problem, decimal, polynomial
from infinite_rl.reward_functions import get_reward_functions
from infinite_rl.tasks import TASKS
from infinite_rl.types import Sample

LANGUAGES = ("python", "javascript")
# For each family and level; `test_procedural_fuzz.py` has 100,000 rows in the tier soak.
SEEDS = {"math": 100, "python": 4, "javascript": 6, "sql": 4}


def each_level(task: str, seeds: int) -> Iterator[tuple[str, int, int]]:
    """Family, level and seed, of all families at the levels that they have."""
    for family in families(task):
        yield from product((family,), family_levels(task, family), range(seeds))


@cache
def rows(task: str) -> list[tuple[str, int, str, Problem]]:
    """Rows of every family and level: family, level, a name for the report of a fault, problem."""
    return [
        (family, level, f"{family}, level {level}, seed {seed}", problem)
        for family, level, seed in each_level(task, SEEDS[task])
        for problem in [make_problem(task, seed, level, family)]
    ]


# --- the provider
@pytest.mark.parametrize("task", ("javascript", "math", "python", "sql"))
def test_the_text_of_a_task_parses_back_into_its_three_heads(task: str) -> None:
    system = TASKS[task].system_prompt
    for seed in range(60):
        completion, problem = (
            ProceduralProvider().complete(system, "", seed),
            make_problem(task, seed),
        )
        parsed = ExampleParser.parse_text(completion.text)
        assert tuple(parsed.values()) == (problem.prompt, problem.answer, problem.response)
        assert completion.model == "procedural-2"
    assert ProceduralProvider().complete(system, "mend it", 59).text == completion.text


def test_a_task_that_is_not_served_is_refused_with_those_that_are() -> None:
    with pytest.raises(ProviderRefused, match="javascript, math, python, sql"):
        ProceduralProvider().complete("Write a poem.", "", 1)
    provider = ProceduralProvider({"math": TASKS["math"]})
    assert provider.complete(TASKS["math"].system_prompt, "", 1).text
    with pytest.raises(ProviderRefused, match="it makes: math"):
        provider.complete(TASKS["python"].system_prompt, "", 1)


def test_many_threads_get_the_same_texts_as_one() -> None:
    provider, system = ProceduralProvider(), TASKS["python"].system_prompt

    def ask(seed: int) -> str:
        return provider.complete(system, "", seed).text

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(40))) == [ask(seed) for seed in range(40)]


# --- equal seeds, equal texts
DIGEST = """
import hashlib
from infinite_rl.procedural import make_problem
def digest(task):
    rows = [repr(make_problem(task, seed)) for seed in range(40)]
    return hashlib.sha256("".join(rows).encode()).hexdigest()
found = {task: digest(task) for task in ("math", "python", "javascript", "sql")}
"""
# A change of wording or of the families changes a value on purpose; nothing else may.
GOLDEN = {
    "math": "e226b012650e004d876fcc6ca8bf0c332a522d7aa25f03815384413fc82d5ff1",
    "python": "e298ad0d663fb2de0fce3c8e03226a1850790658bc0b8f878f7d3a697591bb4d",
    "javascript": "94f42d27b0ff85112e8ead50c9b354cd8e90e2c63db49e93d2365fc6e7e8f8e3",
    "sql": "136fcfdd22675c9845c9cc5a02d11ba5eaa0a2bef49bdf3bbc62a164f35445cd",
}


def test_texts_are_those_of_every_other_machine() -> None:
    """Here with the hash seed of this run, and in a process with another."""
    names: dict[str, Any] = {}
    exec(DIGEST, names)
    assert names["found"] == GOLDEN
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": root}
    code = f"{DIGEST}import json; print(json.dumps(found))"
    assert (
        json.loads(subprocess.check_output([sys.executable, "-c", code], env=environment)) == GOLDEN
    )


def test_a_draw_keeps_to_its_bounds() -> None:
    draw = Draw("bounds")
    assert {draw.between(-2, 2) for _ in range(200)} == {-2, -1, 0, 1, 2}
    assert {draw.nonzero(-1, 1) for _ in range(50)} == {-1, 1}
    assert sorted(draw.shuffled(range(9))) == list(range(9))


# --- variety
@pytest.mark.parametrize("task", SEEDS)
def test_prompts_are_distinct_and_have_many_skeletons(task: str) -> None:
    count = 2000 if task == "math" else 200
    assert len({make_problem(task, seed).prompt for seed in range(count)}) >= 0.99 * count
    skeletons = {
        family: {skeleton(problem.prompt) for name, _, _, problem in rows(task) if name == family}
        for family in families(task)
    }
    least = 12 if task == "math" else 0.7 * 3 * SEEDS[task]
    assert {family: len(kinds) for family, kinds in skeletons.items() if len(kinds) < least} == {}


def test_a_skeleton_knows_no_numbers_names_or_code() -> None:
    one = "Ben has 3 apples and -2x + 5/7 = 4; call `f(1)`."
    two = "Zoe has 12 plums and x + 9 = -1; call `g([2])`."
    assert skeleton(one) == skeleton(two)
    assert skeleton("Find x.") != skeleton("What is x?")


@pytest.mark.parametrize("task", SEEDS)
def test_a_higher_level_asks_for_more_work(task: str) -> None:
    for family in families(task):
        levels = family_levels(task, family)
        easy, *_, hard = (
            mean(len(each.response) for *kind, _, each in rows(task) if kind == [family, level])
            for level in levels
        )
        assert hard > easy, family


# --- math: the answer
def test_a_math_response_ends_in_its_one_tagged_answer() -> None:
    for _, _, name, problem in rows("math"):
        assert ExampleParser.extract_answer_tags(problem.response) == [problem.answer], name
        assert problem.response.endswith(f"<answer>{problem.answer}</answer>"), name


def test_polynomials_are_written_as_people_write_them() -> None:
    assert polynomial((1, -1, 0, 4), "x") == "x^3 - x^2 + 4"
    assert polynomial((0, 0), "x") == "0"
    assert polynomial((Fraction(-2, 3), 1), "t") == "-(2/3)t + 1"


def test_decimals_are_exact_or_fractions() -> None:
    assert decimal(Fraction(-5, 4)) == "-1.25"
    assert decimal(Fraction(1, 3)) == "1/3"
    assert decimal(Fraction(40)) == "40"


# --- coding: the code passes its tests
@cache
def coding_rows(language: str) -> list[tuple[str, Problem, str, dict[str, Any]]]:
    """Name, problem, code and answer of each row."""
    made = []
    for _, _, name, problem in rows(language):
        [content] = ExampleParser.extract_answer_tags(problem.response)
        [block] = code_blocks(content)
        assert block.language == language and block.closed, name
        made.append((name, problem, block.code, json.loads(problem.answer)))
    return made


@pytest.mark.parametrize("language", LANGUAGES)
def test_answers_hold_tests_or_cases_and_prompts_an_example(language: str) -> None:
    for name, problem, _, answer in coding_rows(language):
        [(kind, entries)] = answer.items()
        assert kind in ("tests", "cases") and 5 <= len(entries) <= 10, name
        assert len({json.dumps(entry) for entry in entries}) == len(entries), name
        if language == "python":
            results = [e["output"] if kind == "cases" else e.rsplit(" == ", 1)[1] for e in entries]
            most = max(Counter(results).values())
            assert 2 * most <= len(results) + 2, f"{name}: a constant answer passes most tests"
        if language == "python" and kind == "tests":
            [signature] = re.findall(r"`(\w+)\([^`]*\) -> [^`]+`", problem.prompt)
            assert f"def {signature}(" in problem.response, name
            assert problem.prompt.count(f"{signature}(") >= 2, name


def test_the_python_code_passes_its_tests() -> None:
    # The program text is our own, computed from the seed: it may run here, outside the sandbox.
    for name, _, code, answer in coding_rows("python"):
        for case in answer.get("cases", ()):
            stdin, stdout = io.StringIO(case["input"]), io.StringIO()
            with patch("sys.stdin", stdin), contextlib.redirect_stdout(stdout):
                exec(code, {})
            assert stdout.getvalue().strip() == case["output"], name
        if "tests" in answer:
            exec("\n".join([code, *answer["tests"]]), {})


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_javascript_code_passes_its_tests() -> None:
    items = [
        {"name": name, "code": code, **answer}
        for name, _, code, answer in coding_rows("javascript")
    ]
    node = ["node", Path(__file__).with_suffix(".js")]
    assert json.loads(subprocess.check_output(node, input=json.dumps(items).encode())) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_reward_accepts_every_response(language: str) -> None:
    reward = get_reward_functions()["coding"]
    for name, problem, _, _ in coding_rows(language)[:: SEEDS[language] // 2]:
        sample = Sample(
            "coding", problem.prompt, problem.answer, problem.response, language=language
        )
        score = reward.score(sample, problem.response)
        assert (score.format_score, score.correctness_score) == (1.0, 1.0), name


def test_a_constant_result_and_an_idle_step_are_not_discriminating() -> None:
    draw = Draw("idle")
    tasks = [CODING["sequences"](draw, 2) for _ in range(30)]
    task = next(task for task in tasks if has_discriminating_inputs(task))
    idle = Step("do nothing", dict.fromkeys(LANGUAGES, "IT"), dict.fromkeys(LANGUAGES, ()))
    assert not has_discriminating_inputs(replace(task, steps=(idle, *task.steps)))
    assert not has_discriminating_inputs(replace(task, steps=(), code={"python": "return 0"}))


def test_ignoring_a_rule_of_the_prompt_fails_a_test_of_its_row() -> None:
    rules = Counter[str]()
    for family, level, seed in each_level("python", 2):
        task = make_task(Draw(f"misread/{family}/{level}/{seed}"), level, family)
        for body in task.misreadings:
            misread = replace(task, code={"python": body})
            results = [as_json(task.result(*arguments)) for arguments in task.inputs]
            assert any(
                differs(misread.result, *case) for case in zip(task.inputs, results, strict=True)
            )
            rules[family] += 1
    assert len(rules) == 21 and sum(rules.values()) > 200


def test_each_family_begins_its_explanations_in_six_ways_of_its_own() -> None:
    openings = Counter[str]()
    for family in CODING:
        draws = (Draw(f"opening/{family}/{seed}") for seed in range(40))
        texts = {CODING[family](draw, 2).opening for draw in draws}
        assert len(texts) >= 6, family
        openings.update(texts)
    assert [text for text, count in openings.items() if count > 1] == []


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
    for family in CODING:
        table = [row.name for group in read_table(family).values() for row in group.rows]
        for seed, level in product(range(150), family_levels("python", family)):
            draw = Draw(f"rows/{family}/{seed}")
            write_problem(draw, CODING[family](draw, level), draw.pick(LANGUAGES))
            if used.issuperset(table):
                break
        assert [name for name in table if name not in used] == []
    prompt = [row.name for group in read_table("prompt").values() for row in group.rows]
    assert [name for name in prompt if name not in used] == []


def test_literals_are_those_of_their_language() -> None:
    value = [True, None, "a'b\"", ("x", -3), {"k": [1]}]
    assert literal(value, "python") == '[True, None, "a\'b\\"", ("x", -3), {"k": [1]}]'
    assert literal(value, "javascript") == '[true, null, "a\'b\\"", ["x", -3], {"k": [1]}]'
