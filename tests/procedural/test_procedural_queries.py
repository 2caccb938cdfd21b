"""The procedural tasks of SQL: their queries, an oracle of their prompts, and their databases."""

import json
from functools import cache

import pytest
from labelled import assert_none
from procedural_queries import disagreements, rules_in, solver
from procedural_stages import Unread

from infinite_rl.procedural import families, make_problem
from infinite_rl.procedural.families import family_levels
from infinite_rl.procedural.templates import Problem
from infinite_rl.reward_functions.sql import SqlRewardFunction
from infinite_rl.sandbox.runtimes import is_installed, runtime_named
from infinite_rl.tasks import TASKS
from infinite_rl.types import Sample

SEEDS = range(8)  # for each family and level
KINDS = [(name, level) for name in families("sql") for level in family_levels("sql", name)]
with_sql = pytest.mark.skipif(not is_installed(runtime_named("sql")), reason="no runtime of SQL")


@cache
def rows() -> list[tuple[str, Problem]]:
    """A name and the problem of each row."""
    return [
        (f"{family}, level {level}, seed {seed}", make_problem("sql", seed, level, family))
        for family, level in KINDS
        for seed in SEEDS
    ]


@with_sql
def test_queries_agree_with_an_oracle_that_reads_the_prompt_alone() -> None:
    assert_none(fault for kind in KINDS for fault in disagreements(*kind, SEEDS)[2])


@with_sql
def test_the_response_of_a_row_passes_and_a_query_of_no_rows_fails() -> None:
    reward = SqlRewardFunction()
    for name, problem in rows()[::3]:
        sample = Sample(type="sql", prompt=problem.prompt, answer=problem.answer, response="")
        assert reward.score(sample, problem.response).passed, name
        assert not reward.accepts_empty(sample, ""), name


def test_on_some_database_each_rule_matters() -> None:
    faults, rules = [], 0
    told = {"all", "some", "deep", "direct", "gap", "ordered"}  # any order may be right
    for name, problem in rows():
        databases = [each["rows"].values() for each in json.loads(problem.answer)["database"]]
        right, is_ordered = solver(problem.prompt)
        for rule in rules_in(problem.prompt)[1].keys() - told:
            rules += 1
            wrong, _ = solver(problem.prompt, ignored=rule)
            same = all(
                right(*tables) == wrong(*tables)
                if is_ordered
                else sorted(right(*tables)) == sorted(wrong(*tables))
                for tables in databases
            )
            faults += [f"{name}: {rule}"] if same else []
    assert_none(faults)
    assert rules > 200


def test_prompts_differ_and_a_higher_level_has_more_rules() -> None:
    prompts = [problem.prompt for _, problem in rows()]
    assert len(set(prompts)) >= 0.95 * len(prompts)
    for family in families("sql"):
        counts = [
            sum(len(rules_in(make_problem("sql", n, level, family).prompt)[1]) for n in range(15))
            for level in family_levels("sql", family)
        ]
        assert counts == sorted(counts) and counts[-1] > 1.5 * counts[0], (family, counts)


def test_the_schema_and_the_task_type_are_those_of_written_rows() -> None:
    for name, problem in rows():
        answer = json.loads(problem.answer)
        assert answer.keys() == {"query", "database", "compare"}, name
        assert 5 <= len(answer["database"]) <= 10, name
        assert all(each["schema"] in problem.prompt for each in answer["database"]), name
        assert answer["query"] in problem.response, name
    assert TASKS["sql"].reward == "sql"


def test_a_sentence_that_no_pattern_reads_is_no_agreement() -> None:
    prompt = rows()[0][1].prompt
    with pytest.raises(Unread):
        solver(f"{prompt} Nobody pays twice.")
