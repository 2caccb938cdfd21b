"""A client of MCP gets tools that keep their state, tasks without golds, and one verdict a task."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hub_environment import install, run

from infinite_rl.adapters.mcp_server import ToolServer
from infinite_rl.cli import main
from infinite_rl.errors import SandboxError, UsageError
from infinite_rl.layout import tagged
from infinite_rl.sandbox.python.session import PythonInterpreter

MATH = {"type": "math", "prompt": "What is 6 * 7?", "answer": "42", "response": "", "id": "one"}
CODE = {
    "type": "coding",
    "language": "python",
    "prompt": "Write f(x), which returns 2 * x.",
    "answer": json.dumps({"tests": ["assert f(3) == 6"]}),
    "response": "",
    "id": "two",
}


def done(call: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(call)


def test_a_client_works_on_a_task_and_submits_once() -> None:
    server = ToolServer([MATH, CODE], tools=["python"])
    python, *_ = server.functions()
    assert [each.__name__ for each in server.functions()] == [
        *("python", "list_tasks", "begin_task", "submit"),
    ]
    assert done(server.list_tasks()) == ["one", "two"]
    task_text = done(server.begin_task("one"))
    assert "What is 6 * 7?" in task_text and "42" not in task_text
    done(python(code="x = 6"))
    assert done(python(code="x * 7")) == "42"
    assert done(server.submit("42")) == {"task": "one", "status": "passed", "reward": 1.0}
    for call in (server.submit("42"), server.begin_task("one"), server.begin_task("three")):
        with pytest.raises(UsageError):
            done(call)
    done(server.begin_task("two"))
    assert "NameError" in done(python(code="x"))
    assert done(server.submit("def f(x): return x"))["reward"] == 0.0


def test_a_fault_of_ours_is_an_error_and_the_submission_has_no_reward() -> None:
    server = ToolServer([MATH])
    done(server.begin_task("one"))
    with (
        patch.object(PythonInterpreter, "run", side_effect=SandboxError("it broke")),
        pytest.raises(SandboxError),
    ):
        done(server.functions()[0](code="6 * 7"))
    verdict = done(server.submit(tagged("41")))
    assert (verdict["status"], verdict["reward"]) == ("unscored", None)


def test_without_rows_there_are_tools_alone_and_ids_are_distinct() -> None:
    names = [each.__name__ for each in ToolServer(tools=["javascript", "sql"]).functions()]
    assert names == ["javascript", "sql"]
    with pytest.raises(UsageError, match="two rows have the id one"):
        ToolServer([MATH, MATH])


def test_without_the_package_the_command_says_how_to_install_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with patch("infinite_rl.errors.import_module", side_effect=ModuleNotFoundError(name="mcp")):
        assert main(["mcp"]) == 2
    assert "pip install 'infinite-rl[mcp]'" in capsys.readouterr().err


CLIENT = """
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def talk():
    words = ["-m", "infinite_rl", "mcp", "rows.jsonl", "--tools", "python,sql"]
    async with stdio_client(StdioServerParameters(command=sys.executable, args=words)) as streams:
        async with ClientSession(*streams) as client:
            await client.initialize()
            async def call(name, **arguments):
                result = await client.call_tool(name, arguments)
                failed = getattr(result, "isError", False) or getattr(result, "is_error", False)
                return ["failed" if failed else "ok", *(each.text for each in result.content)]
            tools = (await client.list_tools()).tools
            said = [await call("python", code="x = 6"), await call("python", code="x * 7")]
            said += [await call("sql", code="SELECT 1 AS a"), await call("begin_task", task="no")]
            said += [await call("begin_task", task="one"), await call("python", code="x")]
            said += [await call("submit", answer="42")]
            print(json.dumps([[tool.name for tool in tools], said]))

asyncio.run(talk())
"""


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("requirement", ["mcp>=1.20,<2", "mcp>=2,<3"])
def test_a_client_of_each_line_of_the_package_talks_to_the_command(
    requirement: str, tmp_path: Path
) -> None:
    programs = install(tmp_path / "environment", requirement)
    lines = (json.dumps(row) + "\n" for row in (MATH, CODE))
    (tmp_path / "rows.jsonl").write_text("".join(lines))
    tools, said = json.loads(run(programs, "python", "-c", CLIENT, cwd=tmp_path))
    assert tools == ["python", "sql", "list_tasks", "begin_task", "submit"]
    assert said[:3] == [["ok", "(no output)"], ["ok", "42"], ["ok", "a\n1"]]
    assert said[3][0] == "failed" and "list_tasks names them" in said[3][1]
    assert "What is 6 * 7?" in said[4][1]
    assert "NameError" in said[5][1]
    assert json.loads(said[6][1]) == {"task": "one", "status": "passed", "reward": 1.0}
