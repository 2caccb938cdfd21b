"""The rows of the procedural provider agree with oracles that read only their prompts."""

import re
from itertools import product

import procedural_fuzz
import pytest
from labelled import assert_none
from procedural_answers import agrees
from procedural_fuzz import all_rows, code_rows, math_rows, page
from procedural_stages import Unread, stage
from procedural_tasks import solver, wide_inputs

from infinite_rl.procedural import families, make_problem
from infinite_rl.procedural.code import CodingTask, as_json, identifier, run
from infinite_rl.procedural.code_prompt import function_code, literal
from infinite_rl.procedural.draw import Draw
from infinite_rl.procedural.families import family_levels, make_task
from infinite_rl.sandbox.executor import RewardExecutor


@pytest.mark.parametrize("family", families("python"))
def test_solutions_agree_with_the_oracle_beyond_the_inputs_of_their_rows(family: str) -> None:
    levels = family_levels("python", family)
    tallies = [tally for level in levels for tally in code_rows(family, level, 2)]
    assert [tally.disagreements for tally in tallies] == [[]] * 2 * len(levels)
    assert sum(tally.inputs for tally in tallies) > len(tallies) * 2 * procedural_fuzz.WIDER


@pytest.mark.parametrize("family", families("python"))
def test_the_values_that_tests_expect_are_those_of_the_oracle(family: str) -> None:
    faults = []
    for level, seed in product(family_levels("python", family), range(3)):
        task = make_task(Draw(f"values/{family}/{level}/{seed}"), level, family)
        oracle = solver(family, task, "python")
        for arguments in [*task.inputs, *wide_inputs(family, task, f"{level}/{seed}", 4)]:
            if as_json(task.result(*arguments)) != as_json(oracle(*arguments)):
                faults.append(f"{task.instructions} on {arguments!r}")
    assert_none(faults)


def test_ways_in_a_circle_are_left_out_where_links_lead_forwards() -> None:
    """An ending that needs its links sorted, and what it asks without that."""
    endings = 0
    for seed in range(200):
        task = make_task(Draw(f"orders/{seed}"), 2, "graphs")
        if task.steps[-1].unguarded is not None:
            endings += 1
            for arguments in task.inputs:
                forwards = run(task.steps[:-1], *arguments)
                assert task.steps[-1].unguarded(forwards) == task.result(*arguments)
    assert endings > 20


def test_every_answer_can_be_derived_again_from_its_prompt() -> None:
    faults = [
        fault
        for family in families("math")
        for level in family_levels("math", family)
        for tally in math_rows(family, level, 25)
        for fault in tally.disagreements
    ]
    assert_none(faults)


@pytest.mark.soak
def test_a_hundred_thousand_rows_agree() -> None:
    tallies = list(all_rows(procedural_fuzz.CODING, procedural_fuzz.MATH))
    assert sum(tally.rows for tally in tallies) >= 100_000
    assert [one for tally in tallies for one in tally.disagreements] == []


def mutual_links() -> CodingTask:
    """A task that asks for the pairs of names that are linked in both directions."""
    tasks = (make_task(Draw(f"mutual/{seed}"), 1, "graphs") for seed in range(200))
    return next(task for task in tasks if task.instructions == (MUTUAL,))


MUTUAL = "return how many pairs of names are linked in both directions"
CONCATENATED = """function NAME(links) {
  const pairs = new Set(links.map(([a, b]) => a + b));
  return [...pairs].filter(([a, b]) => a < b && pairs.has(b + a)).length;
}"""


def test_names_of_many_letters_are_told_apart() -> None:
    task = mutual_links()
    links = [("ab", "c", 1), ("c", "ab", 2), ("a", "bc", 1), ("abc", "d", 1), ("d", "abc", 1)]
    name = identifier(task.name, "javascript")
    code = (
        f"{function_code(task, 'javascript')}\nconsole.log({name}({literal(links, 'javascript')}))"
    )
    assert RewardExecutor().execute(code, "javascript").stdout == "2\n"


def test_a_wrong_solution_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    task = mutual_links()

    def broken(task: CodingTask, language: str) -> str:
        if language == "javascript":
            return CONCATENATED.replace("NAME", identifier(task.name, language))
        return function_code(task, language)

    monkeypatch.setattr(procedural_fuzz, "make_task", lambda *_: task)
    monkeypatch.setattr(procedural_fuzz, "function_code", broken)
    python, javascript = code_rows("graphs", 1, 10)
    assert not python.disagreements
    assert len(javascript.disagreements) > 5


@pytest.mark.parametrize("wrong", ["values.sort()\nreturn values", "return -0.0", "raise KeyError"])
def test_what_no_solution_may_do_is_found(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    def broken(task: CodingTask, language: str) -> str:
        lines = wrong if language == "python" else "return -0;"
        body = lines.replace("values", task.params[0][0]).replace("\n", "\n    ")
        name = identifier(task.name, language)
        if language == "python":
            return f"def {name}({task.params[0][0]}):\n    {body}"
        return f"function {name}() {{ {body} }}"

    monkeypatch.setattr(procedural_fuzz, "function_code", broken)
    assert all(len(tally.disagreements) > 10 for tally in code_rows("sequences", 3, 3))


def test_another_answer_does_not_agree() -> None:
    """One number of the answer is raised by one."""
    altered, faults = 0, []
    kinds = ((name, n) for name in families("math") for n in family_levels("math", name))
    for (family, level), seed in product(kinds, range(10)):
        problem = make_problem("math", seed, level, family)
        for number in list(re.finditer(r"(?<!\^)(?<![\d.])\d+", problem.answer))[-1:]:
            start, end = number.span()
            other = f"{problem.answer[:start]}{int(number[0]) + 1}{problem.answer[end:]}"
            altered += 1
            if agrees(family, problem.prompt, other):
                faults.append(f"{problem.prompt} -> {other}")
    assert faults == [] and altered > 800


def test_a_prompt_that_no_pattern_reads_is_no_agreement() -> None:
    with pytest.raises(Unread):
        agrees("linear", "Who is the tallest?", "7")
    with pytest.raises(Unread):
        stage([{"return (\\d+)": lambda n: lambda _: n}], "return seven")


def test_wide_inputs_are_wider_than_those_of_the_templates() -> None:
    drawn = {}
    for family in families("python"):
        tasks = [make_task(Draw(f"wide/{n}"), 3, family) for n in range(12)]
        inputs = [wide_inputs(family, task, str(n), 60) for n, task in enumerate(tasks)]
        drawn[family] = repr(inputs)
    for family in ("records", "graphs"):
        assert all(
            text in drawn[family] for text in ("__proto__", "\U0001f600", "e\u0301", "([],)")
        )
    for family in ("sequences", "grids", "records", "intervals"):
        assert re.search(r"-\d{6}", drawn[family]) and re.search(r" \d{6}", drawn[family])


def test_the_order_of_names_is_that_of_the_language() -> None:
    task = next(
        task
        for task in (make_task(Draw(f"order/{n}"), 1, "graphs") for n in range(300))
        if len(task.instructions) == 1 and "but none" in task.instructions[0]
    )
    high, astral = "\uffee", "\U0001f600"
    links = [(name, "x", 1) for name in (high, astral)] + [("x", name, 1) for name in ("y", "z")]
    index = 0 if "some link starts" in task.instructions[0] else 1
    turned = links if index == 0 else [(b, a, n) for a, b, n in links]
    assert solver("graphs", task, "python")(turned) == [high, astral]
    assert solver("graphs", task, "javascript")(turned) == [astral, high]


def test_the_page_lists_every_tally() -> None:
    tallies = math_rows("rates", 1, 3)
    text = page(tallies)
    assert "3 rows: 3 inputs" in text and "**0 disagreements**" in text
    assert "| math | rates | 1 | 3 | 3 | 0 |" in text
