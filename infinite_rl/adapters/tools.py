"""Tools for a model that works on a row: code in a session that keeps its state, and `submit`.

    with Episode(sample, tools=("python", "submit")) as episode:
        episode.schemas()                                  # for the model's request
        episode.call("python", {"code": "x = 6; x * 7"})   # "42"
        episode.call("submit", {"answer": "42"})
        episode.reward()                                   # 1.0, 0.0, or None: not judged

What the model does wrong is the text that the tool returns. What fails on our side is raised, and
the episode has no verdict from then on: the model could not do what it was promised. The verdict is
that of the row's reward, in fresh instances that no session ever touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import look_up, reason_of
from ..layout import ANSWER_TAG, tagged
from ..reward_functions.reward_function import unscored
from ..reward_functions.sql.databases import image_of
from ..reward_functions.sql.reference import read_reference
from ..sandbox.runtimes import runtime_file, runtime_named
from ..sandbox.session import SessionLimits, ToolSession
from ..types import RewardFunctionScore, Sample
from .scorer import Scorer, scorer

AGAIN = "The next call starts a new session."
NOT_JUDGED = "a tool failed, so the answer is not judged: "


@dataclass(frozen=True)
class Tool:
    """A tool as models and hosts know it: a function of one text.

    `language` is that of its session, "" for `submit`.
    """

    name: str
    language: str
    description: str
    argument: str
    meaning: str

    def schema(self) -> dict[str, Any]:
        """Return the tool as requests to models describe it, in JSON Schema."""
        properties = {self.argument: {"type": "string", "description": self.meaning}}
        parameters = {"type": "object", "properties": properties, "required": [self.argument]}
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}

    def document(self, function: Callable[..., Any], argument_type: Any = str) -> None:
        """Give a function the tool's name and types, and a docstring in Google's style."""
        function.__name__ = function.__qualname__ = self.name
        function.__annotations__ = {self.argument: argument_type, "return": str}
        argument = f"Args:\n    {self.argument}: {self.meaning}"
        result = "Returns:\n    What a person would see."
        function.__doc__ = f"{self.description}\n\n{argument}\n\n{result}"


_KEEPS = "Names stay from call to call. There is no network, and files are in memory."
# fmt: off
TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool("python", "python", "Run Python code; shows what it prints and the value of its last "
             f"expression. {_KEEPS}", "code", "The code."),
        Tool("javascript", "javascript", "Run JavaScript code; shows what it prints and the value "
             f"of its last expression. {_KEEPS}", "code", "The code."),
        Tool("sql", "sql", "Run SQL (SQLite) on the database of the task; shows the rows.",
             "code", "The statements."),
        Tool("submit", "", "Submit the final answer. Only the first submission counts.",
             "answer", "The whole answer."),
    )
}
# fmt: on


class Episode:
    """One attempt of a model at a row, with tools; see the module. Sessions start when used.

    `fault` says what failed on our side, "" if nothing did. A session that ends is replaced by a
    new one, as long as turns and time are left. The tool `sql` reads `database`, JSON as in a row's
    answer; by default that of a row of SQL (see `database_of`), else an empty one.

    Raises:
        UnknownName: there is no such tool.
        RuntimeMissing: a language's runtime is not installed.
    """

    def __init__(
        self,
        sample: Sample | None = None,
        tools: Sequence[str] = ("python", "submit"),
        limits: SessionLimits | None = None,
        judge: Scorer | None = None,
        database: str = "",
    ) -> None:
        self.sample, self.judge = sample, judge or scorer()
        self._database = database
        self.tools = {name: look_up("tool", name, TOOLS) for name in tools}
        for tool in self.tools.values():
            if tool.language:
                runtime_file(runtime_named(tool.language))
        self.submitted: str | None = None
        self.fault = ""
        self._limits = limits
        self._sessions: dict[str, ToolSession] = {}

    def __enter__(self) -> Episode:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def schemas(self) -> list[dict[str, Any]]:
        """Return the tools as a request to a model describes them."""
        return [tool.schema() for tool in self.tools.values()]

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Call a tool; return what the model reads.

        Raises:
            InfiniteRLError: the sandbox failed; `fault` says so from now on.
            BadReference: the database of the row cannot be read; `fault` says so, too.
        """
        tool = self.tools.get(name)
        if tool is None:
            return f"There is no tool {str(name)[:80]!r}. Tools: {', '.join(self.tools)}."
        text = arguments.get(tool.argument) if isinstance(arguments, Mapping) else None
        if not isinstance(text, str):
            return f"The tool {name} needs the argument {tool.argument}, a text."
        if not tool.language:
            return self._submit(text)
        try:
            return self._run(tool, text)
        except Exception as error:  # of any class: the model had not the tool it was promised
            self.fault = self.fault or reason_of(error)
            raise

    def score(self, last_message: str = "") -> RewardFunctionScore:
        """Judge what was submitted; if nothing was, the model's last message.

        After a fault the score is "unscored". Raises as `Scorer.judge`.
        """
        if self.fault:
            return unscored(0.0, NOT_JUDGED + self.fault)
        if self.sample is None:
            return unscored(0.0, "the episode has no row")
        text = last_message if self.submitted is None else self.submitted
        return self.judge.judge_one(self.sample, text)

    def reward(self, last_message: str = "") -> float | None:
        """The reward of `score`; None if it could not be judged."""
        return self.judge.reward(self.score(last_message))

    def close(self) -> None:
        """End the sessions and free their memory."""
        for session in self._sessions.values():
            session.close()

    def _run(self, tool: Tool, code: str) -> str:
        session = self._sessions.get(tool.name) or self._new_session(tool.language)
        turn = session.run(code)
        ended = session.ended and turn.status != "ok"
        self._sessions[tool.name] = session.restart() if ended else session
        return f"{turn.text} {AGAIN}" if ended and not session.is_used_up else turn.text

    def _new_session(self, language: str) -> ToolSession:
        if language != "sql":
            return ToolSession(language, self._limits)
        database = self._database or (database_of(self.sample) if self.sample else "")
        image = image_of(database) if database else None
        return ToolSession(language, self._limits, database=image)

    def _submit(self, answer: str) -> str:
        if self.submitted is not None:
            return "An answer was submitted before, and counts."
        self.submitted = answer if f"<{ANSWER_TAG}" in answer else tagged(answer)
        return "The answer is submitted."


def database_of(sample: Sample) -> str:
    """The database of a row of SQL, as JSON; the first of several, and "" for any other row.

    Raises:
        BadReference: the row's answer cannot be read.
    """
    return read_reference(sample.answer).databases[0] if sample.type == "sql" else ""
