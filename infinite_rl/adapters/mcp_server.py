"""MCP: the tools as a server over stdio, for any client of the Model Context Protocol.

One process serves one client: its sessions live as long as the process. With rows it is an
environment, too: `list_tasks`, `begin_task`, which starts afresh, and `submit`, which tells the
verdict. A fault of ours is an error of the protocol, and the submission after it has no reward.

The package is `mcp`, of the lines 1 (`FastMCP`) and 2 (`MCPServer`).
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

from pydantic import Field

from ..dataset.rows import Row, id_of, read
from ..errors import InfiniteRLError, UsageError, import_extra
from ..sandbox.session import SessionLimits
from ..solver_prompts import default_system_prompt
from ..store import sample_of
from .scorer import Scorer
from .tools import TOOLS, Episode, Tool


class ToolServer:
    """The functions that a client may call; `functions` has them as `mcp` takes them.

    Raises:
        UnknownName: there is no such tool; `submit` is there if there are rows.
        UsageError: two rows have one id; or as `infinite_rl.dataset.rows.read`.
        RuntimeMissing: a language's runtime is not installed.
    """

    def __init__(
        self,
        rows: Iterable[Row] = (),
        tools: Sequence[str] = ("python",),
        limits: SessionLimits | None = None,
        timeout: float = 5,
    ) -> None:
        self._rows: dict[str, Row] = {}
        for row in rows:
            if (row_id := id_of(row)) in self._rows:
                raise UsageError(f"two rows have the id {row_id}: remove one of them")
            self._rows[row_id] = row
        self._tools, self._limits = tuple(each for each in tools if each != "submit"), limits
        self._judge = Scorer(timeout=timeout)
        self._task = ""
        self._submitted: set[str] = set()
        self._episode = self._new_episode(None)

    def functions(self) -> list[Callable[..., Any]]:
        """Return the functions, asynchronous, with names, types and docstrings."""
        functions: list[Callable[..., Any]] = [self._run_by(TOOLS[name]) for name in self._tools]
        if self._rows:
            functions += [self.list_tasks, self.begin_task, self.submit]
        return functions

    async def list_tasks(self) -> list[str]:
        """List the ids of the tasks."""
        return list(self._rows)

    async def begin_task(self, task: str) -> str:
        """Begin a task: returns its text, and gives the tools a fresh state."""
        if task not in self._rows:
            raise UsageError(f"there is no task {task[:80]!r}: list_tasks names them")
        if task in self._submitted:
            raise UsageError("an answer to this task was submitted before, and counts")
        sample = sample_of(self._rows[task])
        self._episode.close()
        self._task, self._episode = task, self._new_episode(task)
        return "\n\n".join(filter(None, [default_system_prompt(sample), sample.prompt]))

    async def submit(self, answer: str) -> dict[str, Any]:
        """Submit the final answer to the task that was begun last: returns the verdict."""
        if not self._task:
            raise UsageError("there is no task under way: begin_task begins one")
        task, self._task = self._task, ""
        self._submitted.add(task)
        self._episode.call("submit", {"answer": answer})
        score = await asyncio.to_thread(self._episode.score)
        reward = self._judge.reward(score)
        return {"task": task, "status": score.status, "reward": reward}

    def _new_episode(self, task: str | None) -> Episode:
        sample = None if task is None else sample_of(self._rows[task])
        return Episode(sample, (*self._tools, "submit"), self._limits, self._judge)

    def _run_by(self, tool: Tool) -> Callable[..., Any]:
        async def function(code: str) -> str:
            return await asyncio.to_thread(self._episode.call, tool.name, {tool.argument: code})

        tool.document(function, Annotated[str, Field(description=tool.meaning)])
        return function


def serve(
    source: str = "",
    tools: Sequence[str] = ("python",),
    limits: SessionLimits | None = None,
    timeout: float = 5,
) -> None:
    """Serve over stdio until the client leaves; `source` is a file or folder of rows.

    Raises as `ToolServer`, and UsageError if `mcp` is not installed.
    """
    tool_server = ToolServer(read(source) if source else (), tools, limits, timeout)
    server_class, tool_error = _package()
    server = server_class("infinite-rl", log_level="WARNING")
    for function in tool_server.functions():
        described = (function.__doc__ or "").partition("\n\n")[0]
        wrapped = _with_tool_errors(function, tool_error)
        server.add_tool(wrapped, name=function.__name__, description=described)
    server.run()


def _package() -> tuple[Any, type[Exception]]:
    """Return the class of a server, and that of an error whose text the client reads."""
    import_extra("mcp.server", "the server needs", "mcp")
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ModuleNotFoundError:  # the line 1
        from mcp.server import fastmcp

        return fastmcp.FastMCP, fastmcp.exceptions.ToolError
    return MCPServer, ToolError


def _with_tool_errors(
    function: Callable[..., Any], tool_error: type[Exception]
) -> Callable[..., Any]:
    @functools.wraps(function)
    async def wrapped(*args: Any, **named: Any) -> Any:
        try:
            return await function(*args, **named)
        except InfiniteRLError as error:
            raise tool_error(str(error)) from error

    return wrapped
