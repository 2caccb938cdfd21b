"""`infinite-rl mcp`: tools in sandboxes, and verified tasks, for clients of MCP."""

from __future__ import annotations

from collections.abc import Sequence

from ..config import Number
from .terminal import DONE, Emit
from .verb import Verb


class Mcp(Verb):
    """Serve tools over the Model Context Protocol, by stdio: the client starts this command. Code
    runs in a sandbox without network, in a session that keeps its state. With rows the client can
    list tasks, begin one, and submit an answer, which the row's reward judges; a submission that
    could not be judged has the reward null.

    source     rows that become tasks: a file (.csv, .jsonl, .jsonl.gz, .json, .parquet), or a
               folder
    tools      tools: python, javascript, sql
    turn_s     seconds a call may take
    total_s    seconds all calls of a session may take
    turns      maximum calls of a session
    memory_mb  MiB of memory of a session
    timeout    seconds one run of a program may take when an answer is judged

    Example: infinite-rl mcp; infinite-rl mcp rows.jsonl --tools python,sql.
    """

    positional = ("source",)

    source: str = ""
    tools: Sequence[str] = ("python",)
    turn_s: Number = 5.0
    total_s: Number = 600.0
    turns: int = 1000
    memory_mb: Number = 256.0
    timeout: Number = 5.0

    def run(self, emit: Emit) -> int:  # noqa: ARG002 - stdout is the client's
        from ..adapters.mcp_server import serve
        from ..sandbox.session import SessionLimits

        limits = SessionLimits(**self.pick("turn_s", "total_s", "turns", "memory_mb"))
        serve(self.source, self.tools, limits, self.timeout)
        return DONE
