"""verifiers 0.4: one server process with the tools of all rollouts, and sessions for each rollout.

The task names its rollout's session in the state that verifiers hands to each call. The contract is
that of verifiers 0.4.0 and mcp 2.0.0: an `MCPError` ends the rollout with an error and no reward;
the text of any other exception goes to the model, as if the model had made the error.
"""

from __future__ import annotations

import asyncio
import functools
from collections import OrderedDict
from collections.abc import Callable
from typing import Annotated, Any

import verifiers.v1 as vf
from mcp.shared.exceptions import MCPError
from pydantic import Field

from infinite_rl.adapters.tools import Episode, Tool
from infinite_rl.errors import SandboxError, reason_of
from infinite_rl.sandbox.session import SessionLimits

_INTERNAL_ERROR = -32603  # of JSON-RPC


class ToolState(vf.State):
    """The session of a rollout, the database of its row as JSON, and how often tools were called.

    The task sets the first two before the model begins.
    """

    session: str = ""
    database: str = ""
    calls: int = 0


class SandboxToolsetConfig(vf.SharedToolsetConfig):
    """`names` are tools (python, javascript, sql); the limits are those of a rollout's sessions.

    Beyond `max_sessions` rollouts at once, the one that was idle longest loses its session.
    """

    names: list[str] = []
    turn_s: float = 5.0
    total_s: float = 60.0
    turns: int = 50
    memory_mb: float = 256
    max_sessions: int = 1000


class SandboxToolset(vf.Toolset[SandboxToolsetConfig, ToolState]):
    """Tools that run code in sandboxes, in one process for all rollouts of a worker."""

    TOOL_PREFIX = None

    def __init__(self, config: SandboxToolsetConfig) -> None:
        super().__init__(config)
        self._episodes: OrderedDict[str, Episode] = OrderedDict()
        self._limits = SessionLimits(config.turn_s, config.total_s, config.turns, config.memory_mb)

    def register(self, mcp: Any) -> None:
        """Register the tools that the config names. Raises UnknownName."""
        for tool in Episode(tools=self.config.names).tools.values():
            function = _ending_rollout(self._with_state(self._run_by(tool)))
            mcp.add_tool(function, name=tool.name, description=tool.description)

    def _run_by(self, tool: Tool) -> Callable[..., Any]:
        async def function(code: str) -> str:
            episode = self._episode()
            self.state.calls += 1
            return await asyncio.to_thread(episode.call, tool.name, {tool.argument: code})

        tool.document(function, Annotated[str, Field(description=tool.meaning)])
        return function

    def _episode(self) -> Episode:
        """Return the episode of the calling rollout. Raises SandboxError."""
        key, episodes = self.state.session, self._episodes
        if not key:
            raise SandboxError("the task has named no session")
        if key not in episodes:
            if self.state.calls:
                raise SandboxError("the session was closed to make room: raise max_sessions")
            database = self.state.database
            episodes[key] = Episode(tools=self.config.names, limits=self._limits, database=database)
        episodes.move_to_end(key)
        while len(episodes) > self.config.max_sessions:
            episodes.popitem(last=False)[1].close()
        if episodes[key].fault:
            raise SandboxError(episodes[key].fault)
        return episodes[key]


def _ending_rollout(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def ending(*args: Any, **named: Any) -> Any:
        try:
            return await function(*args, **named)
        except Exception as error:  # ours, of any class: the model has done nothing wrong
            raise MCPError(_INTERNAL_ERROR, f"a tool failed: {reason_of(error)}") from error

    return ending


if __name__ == "__main__":
    SandboxToolset.run()
