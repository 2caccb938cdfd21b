"""A model works on a row with tools; the verdict is the row's own, and a fault of ours is none."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import patch

import pytest

from infinite_rl.adapters import for_trl, tools_for_trl
from infinite_rl.adapters.tools import TOOLS, Episode
from infinite_rl.dataset.ground_truth import pack
from infinite_rl.errors import SandboxError, UnknownName
from infinite_rl.layout import tagged
from infinite_rl.sandbox.python.session import PythonInterpreter
from infinite_rl.sandbox.session import SessionLimits
from infinite_rl.types import Sample

MATH = Sample("math", "What is 6 * 7?", "42", "")
CODE = Sample("coding", "Write f.", '{"tests": ["assert f(3) == 6"]}', "", "python")
SHOP = {"schema": "CREATE TABLE sold(n)", "rows": {"sold": [[3], [4]]}}
QUERY = Sample("sql", "Sum.", json.dumps({"query": "SELECT 7", "database": SHOP}), "", "sql")


@pytest.mark.core
def test_a_tool_keeps_its_state_and_the_submission_is_judged_by_the_row() -> None:
    with Episode(MATH) as episode:
        assert episode.call("python", {"code": "x = 6"}) == "(no output)"
        assert episode.call("python", {"code": "print('six'); x * 7"}) == "six\n42"
        assert "submitted" in episode.call("submit", {"answer": "42"})
        assert episode.reward() == 1.0
        episode.call("submit", {"answer": "41"})
        assert episode.reward() == 1.0  # the first one counts


@pytest.mark.parametrize(
    ("sample", "right", "wrong"),
    [
        (MATH, "42", "41"),
        (CODE, "def f(x):\n    return 2 * x", "def f(x):\n    return x"),
        (QUERY, "SELECT sum(n) FROM sold", "SELECT count(*) FROM sold"),
    ],
    ids=lambda value: value.type if isinstance(value, Sample) else "",
)
def test_an_answer_is_judged_alike_submitted_bare_in_its_tag_and_as_last_message(
    sample: Sample, right: str, wrong: str
) -> None:
    for answer, reward in ((right, 1.0), (wrong, 0.0)):
        for text in (answer, tagged(answer)):
            with Episode(sample) as episode:
                episode.call("submit", {"answer": text})
                assert episode.reward("something else") == reward
        with Episode(sample) as episode:
            assert episode.reward(tagged(answer)) == reward
    with Episode(sample) as episode:
        assert episode.reward() == 0.0


def test_the_verdict_is_reached_where_no_session_has_been() -> None:
    with Episode(CODE) as episode:
        episode.call("python", {"code": "import builtins\nbuiltins.AssertionError = None"})
        episode.call("python", {"code": "def f(x): return 6"})
        episode.call("submit", {"answer": "f"})
        assert episode.reward() == 0.0


def test_the_database_of_a_row_is_read_by_its_tool() -> None:
    with Episode(QUERY, tools=("sql", "submit")) as episode:
        assert episode.call("sql", {"code": "SELECT sum(n) s FROM sold"}) == "s\n7"
        assert "not a query" in episode.call("sql", {"code": "DELETE FROM sold"})


def test_what_the_model_does_wrong_is_said_to_it() -> None:
    with Episode(MATH) as episode:
        assert episode.call("shell", {"code": "ls"}) == (
            "There is no tool 'shell'. Tools: python, submit."
        )
        for arguments in ({}, {"code": 6}, {"answer": "x"}, "x = 6", None):
            said = episode.call("python", arguments)  # type: ignore[arg-type] # a model's
            assert said == "The tool python needs the argument code, a text."
        assert "ZeroDivisionError" in episode.call("python", {"code": "1 / 0"})
        assert (episode.fault, episode.reward("42")) == ("", 0.0)
        assert episode.reward(tagged("42")) == 1.0


def test_a_session_that_ended_is_replaced_until_turns_and_time_are_used() -> None:
    limits = SessionLimits(turn_s=0.2, turns=4)
    with Episode(MATH, limits=limits) as episode:
        codes = ("x = 1", "while True: pass", "'x' in globals()", "2", "3", "4")
        said = [episode.call("python", {"code": code}) for code in codes]
    assert said[1].endswith("its state is lost. The next call starts a new session.")
    assert said[2:4] == ["False", "2"]
    assert said[4] == said[5] == "The session has ended: all 4 turns are used."


@pytest.mark.parametrize("error", [SandboxError("it broke"), RuntimeError("a bug of ours")])
def test_a_fault_of_ours_in_a_tool_leaves_the_episode_without_a_verdict(error: Exception) -> None:
    with Episode(MATH) as episode:
        with (
            patch.object(PythonInterpreter, "run", side_effect=error),
            pytest.raises(type(error)),
        ):
            episode.call("python", {"code": "6 * 7"})
        episode.call("submit", {"answer": "I cannot tell"})
        score = episode.score()
        assert (score.status, episode.reward()) == ("unscored", None)
        assert str(error) in score.error_msg


def test_a_database_that_cannot_be_read_is_a_fault_of_ours() -> None:
    answer = {"query": "SELECT 1", "database": {"base64": "none"}}
    with Episode(Sample("sql", "", json.dumps(answer), "", "sql"), tools=["sql"]) as episode:
        with pytest.raises(ValueError, match="base64"):
            episode.call("sql", {"code": "SELECT 1"})
        assert episode.reward(tagged("SELECT 1")) is None


def test_schemas_and_docstrings_say_the_same_of_each_tool() -> None:
    from transformers.utils import get_json_schema

    environment_class = tools_for_trl("python", "javascript", "sql")
    with Episode(tools=tuple(TOOLS)) as episode:
        for schema in episode.schemas()[:3]:
            function = dict(schema["function"])
            like = get_json_schema(getattr(environment_class, function["name"]))["function"]
            like.pop("return", None)
            assert like == function


def test_an_environment_for_trl_has_tools_alone_and_forgets_the_last_rollout() -> None:
    environment_class = tools_for_trl("python", "sql", limits=SessionLimits(turns=3))
    public = [name for name in vars(environment_class) if not name.startswith("_")]
    assert public == ["python", "sql"]
    environment: Any = environment_class()
    environment.reset(prompt="", ground_truth=pack(MATH))
    environment.python(code="x = 6")
    assert environment.python(code="x * 7") == "42"
    environment.reset(prompt="", ground_truth=pack(QUERY), other=3)
    assert "NameError" in environment.python(code="x")
    assert environment.sql(code="SELECT count(*) n FROM sold") == "n\n2"
    with pytest.raises(UnknownName):
        tools_for_trl("submit")


def test_the_reward_for_trl_is_none_after_a_fault_of_a_tool_and_only_there() -> None:
    environments: list[Any] = [tools_for_trl()() for _ in range(2)]
    for environment in environments:
        environment.reset(ground_truth=pack(MATH))
    error = SandboxError("it broke")
    with patch.object(PythonInterpreter, "run", side_effect=error), pytest.raises(SandboxError):
        environments[0].python(code="6 * 7")
    said = [[{"role": "assistant", "content": tagged(text)}] for text in ("42", "41")]
    truths, logged = [pack(MATH)] * 2, dict[str, Any]()
    columns: dict[str, Any] = {"ground_truth": truths, "environments": environments}
    rewards = for_trl()([""] * 2, said, **columns, log_extra=logged.__setitem__)
    assert rewards == [None, 0.0]
    assert logged["status"] == ["unscored", "failed"]
    environments[0].reset(ground_truth=pack(MATH))
    assert for_trl()([""] * 2, said, **columns) == [1.0, 0.0]
