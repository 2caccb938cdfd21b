"""The process of a foreign reward: started, asked, and killed with all that it started.

The reward sees no variable of the caller's environment but those that find libraries, works in an
empty temporary folder, and has limits of time and memory. Its code runs natively: this keeps
accidents and secrets apart, and is no sandbox against a program that attacks its host.
"""

from __future__ import annotations

import json
import math
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import UsageError
from ..files.json_text import json_text
from .foreign_reward.calls import MAIN

# The folder of `foreign_reward` comes first; `main` puts the caller's in its place.
_BOOT = "import sys; sys.path[0] = sys.argv.pop(1); from foreign_reward.serving import main; main()"
_FOLDER = str(Path(__file__).parent)
_VARIABLES = (
    "PATH", "LANG", "LC_ALL", "TZ", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH",
)  # fmt: skip
_MARK = "REWARD_AUDIT_PROCESS"
MARKER = "audit-marker"  # the file that a probe writes if it is evaluated
_KILLS = 100
_START_S = 120.0  # for the import of the target
_MOST_BYTES = 50_000_000  # of one reply


class OutOfTime(Exception):
    """The deadline has passed; `replies` are those that came before it."""

    def __init__(self, replies: Sequence[Reply] = ()) -> None:
        super().__init__("the time of the audit is over")
        self.replies = replies


class Reply(NamedTuple):
    """The reply to one completion: a reward, or why there is none.

    `fault` is "" or one of "none", "nan", "type", "raised", "length", "timeout", "died", or
    "unfit" if the row does not fit the target; `what` has the details. `changed` lists what the
    call left changed.
    """

    reward: float | None = None
    fault: str = ""
    what: str = ""
    seconds: float = 0.0
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Description:
    """The name, documentation and source of a target, and whether its calls bring the prompt."""

    kind: str
    name: str
    doc: str
    source: str
    prompted: bool

    @property
    def text(self) -> str:
        """The documentation and the comments."""
        return "\n".join([self.doc, *re.findall(r"(?<!['\"])#(?!#)(.*)", self.source)])


@dataclass(frozen=True)
class Settings:
    """How a target runs: as which kind, by which interpreter ("": this one), and its limits.

    `timeout` is the seconds of one call, `memory` megabytes of address space (0: no limit), `keep`
    the names of further environment variables.
    """

    kind: str = ""
    python: str = ""
    timeout: float = 10.0
    memory: int = 8192
    keep: Sequence[str] = ()


class Process:
    """A target in a process that is started again after it had to be killed.

    At the `deadline`, a time of `time.monotonic`, the process is killed and the method that uses it
    raises OutOfTime.

    Raises:
        UsageError: the target cannot be loaded, or not before the deadline.
    """

    def __init__(
        self, spec: str, settings: Settings | None = None, deadline: float = math.inf
    ) -> None:
        self.spec, self.deadline = _absolute(spec), deadline
        self.settings = settings or Settings()
        self.folder = tempfile.mkdtemp(prefix="audit-")
        self._mark = ""
        self._child: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._starts = 0
        try:
            self.description = self._start()
        except OutOfTime:
            self.close()
            raise UsageError(f"the import of {spec} takes longer than --seconds allows") from None
        except BaseException:  # also an interrupt must leave no process and no folder behind
            self.close()
            raise

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill the process and remove its folder."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ask(
        self, pairs: Sequence[tuple[Mapping[str, Any], str]], request: Mapping[str, Any]
    ) -> list[Reply]:
        """The replies to pairs of a row and a completion. `request` has the kind and how to call.

        A call that hangs or kills its process costs that reply alone, unless all are one call.

        Raises:
            OutOfTime: the deadline has passed; it has the replies before it.
        """
        replies: list[Reply] = []
        single = request["how"] == MAIN
        while len(replies) < len(pairs):
            rest = list(pairs[len(replies) :])
            try:
                for reply in self._replies(rest, request):
                    replies.append(reply)
                    if reply.fault in ("timeout", "died") and not single:
                        replies += [reply] * (len(pairs) - len(replies))
            except OutOfTime:
                raise OutOfTime(replies) from None
        return replies

    def rows(self, most: int) -> list[dict[str, Any]]:
        """The columns of the first rows that the target itself has, which is a taskset.

        Raises:
            UsageError: it has none, or cannot load them, or not before the deadline.
        """
        rows = []
        try:
            if self._child is None:
                self._start()
            self._send({"how": "rows", "most": most})
            while isinstance(value := self._line(_START_S), dict) and "columns" in value:
                rows.append(value["columns"])
        except OutOfTime:
            raise UsageError(f"{self.spec} loads its rows longer than --seconds allows") from None
        if value:
            self.kill()
            why = value.get("error") if isinstance(value, dict) else f"its process: {value}"
            raise UsageError(f"{self.spec}: {why}")
        return rows

    def marker(self) -> bool:
        """Whether a text that was evaluated left its file behind; the file is removed."""
        path = Path(self.folder, MARKER)
        exists = path.exists()
        path.unlink(missing_ok=True)
        return exists

    def kill(self) -> None:
        """Kill the process, and all processes that carry its mark."""
        child, self._child, self._buffer = self._child, None, b""
        if child is None:
            return
        child.kill()
        for _ in range(_KILLS):  # one may start another meanwhile, and none ends at once
            if not (rest := list(_marked(self._mark))):
                break
            for pid in rest:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        for stream in (child.stdin, child.stdout):
            with suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        child.wait()

    def _replies(self, pairs: Sequence[Any], request: Mapping[str, Any]) -> Iterator[Reply]:
        """The replies until one is a timeout or the end of the process."""
        if self.is_late:
            raise OutOfTime
        if self._child is None:
            self._start()
        timeout = self.settings.timeout * (1 if request["how"] == MAIN else 2)
        try:
            self._send({**request, "pairs": pairs})
        except OSError:
            self.kill()
            yield Reply(fault="died", what="the process of the reward has ended")
            return
        for _ in pairs:
            value = self._line(timeout)
            if isinstance(value, str):
                self.kill()
                yield Reply(fault=value, what=f"no reply in {timeout:g} s" * (value == "timeout"))
                return
            yield Reply(
                value.get("reward"),
                value.get("fault", ""),
                str(value.get("what", "")),
                float(value.get("seconds", 0.0)),
                tuple(value.get("changed", ())),
            )

    def _start(self) -> Description:
        self._starts += 1
        self._mark = uuid.uuid4().hex
        python, kept = self.settings.python or sys.executable, (*_VARIABLES, *self.settings.keep)
        env = {name: os.environ[name] for name in kept if name in os.environ}
        env = {"HOME": self.folder, "TMPDIR": self.folder, **env, _MARK: self._mark}
        env["PYTHONHASHSEED"] = str(self._starts)
        env["PYTHONDONTWRITEBYTECODE"] = "1"  # no __pycache__ beside the user's files
        paths = json.dumps([os.getcwd()])
        try:
            self._child = subprocess.Popen(
                [python, "-c", _BOOT, _FOLDER, self.spec, paths, str(self.settings.memory)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                cwd=self.folder, env=env, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise UsageError(f"cannot start {python}: {error.strerror}") from None
        value = self._line(_START_S)
        if isinstance(value, str):
            self.kill()
            how = "takes too long" if value == "timeout" else "ends its process"
            raise UsageError(f"the import of {self.spec} {how}")
        if "error" in value:
            self.kill()
            raise UsageError(f"cannot load {self.spec}: {value['error']}")
        return Description(**value)

    def _send(self, request: Mapping[str, Any]) -> None:
        """Write a request, while the process may be slow to read it."""
        assert self._child is not None and self._child.stdin is not None
        data = memoryview(json_text(request).encode() + b"\n")
        number, end = self._child.stdin.fileno(), self._end_of(60)
        while data:
            _, ready, _ = select.select([], [number], [], max(0.0, end - time.monotonic()))
            if not ready:
                self._check_time()
                raise OSError("the process does not read")
            data = data[os.write(number, data[:65536]) :]

    def _end_of(self, seconds: float) -> float:
        return min(time.monotonic() + seconds, self.deadline)

    @property
    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() >= self.deadline

    def _check_time(self) -> None:
        """Kill the process and raise OutOfTime if the deadline has passed."""
        if self.is_late:
            self.kill()
            raise OutOfTime

    def _line(self, seconds: float) -> dict[str, Any] | str:
        """The next reply; "timeout" or "died" if there is none."""
        assert self._child is not None and self._child.stdout is not None
        number, end = self._child.stdout.fileno(), self._end_of(seconds)
        while b"\n" not in self._buffer:
            if len(self._buffer) > _MOST_BYTES:
                return "died"
            ready, _, _ = select.select([number], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                self._check_time()
                return "timeout"
            part = os.read(number, 65536)
            if not part:
                return "died"
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            value = json.loads(line)
        except ValueError:
            return "died"
        return value if isinstance(value, dict) else "died"


def _absolute(spec: str) -> str:
    """A target whose file, if it has one, is absolute."""
    where, colon, name = spec.partition(".py:")
    if spec.endswith(".py") and not colon:
        return str(Path(spec).resolve())
    return f"{Path(where).resolve()}{colon}{name}" if colon else spec


def _marked(mark: str) -> Iterator[int]:
    """The processes with this mark in their environment, if the system lists them in /proc."""
    needle = f"{_MARK}={mark}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if needle in path.read_bytes():
                yield int(path.parent.name)
