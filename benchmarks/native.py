"""Programs outside the sandbox, on this machine's own Python and node, many in one process."""

from __future__ import annotations

import json
import select
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
DRIVERS = {"python": HERE / "native_python.py", "javascript": HERE / "native_node.js"}
STOPPED = 124
_PATIENCE_S = 5.0  # beyond its own limit; then the whole process is replaced


@dataclass(frozen=True)
class Ending:
    """How a program ended; exit code 124 means that it met its time limit."""

    stdout: str
    stderr: str
    exit_code: int


class Native:
    """One process that runs programs one by one; see `native_python.py` and `native_node.js`.

    `command` is the interpreter: by default the Python that runs this, or `node`. Not thread-safe.
    """

    def __init__(self, language: str, command: str = "") -> None:
        default = sys.executable if language == "python" else shutil.which("node") or "node"
        self._command = [command or default, str(DRIVERS[language])]
        self._process: subprocess.Popen[str] | None = None

    def run(self, code: str, timeout: float = 5.0) -> Ending:
        """Run a program to its end, or to its time limit."""
        process = self._process or self._start()
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps({"code": code, "timeout": timeout}) + "\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], timeout + _PATIENCE_S)
        line = process.stdout.readline() if ready else ""
        if not line:  # it waits for ever, or took the whole process with it
            self.close()
            return Ending("", "", STOPPED)
        answer = json.loads(line)
        return Ending(_whole(answer["stdout"]), _whole(answer["stderr"]), answer["exit_code"])

    def close(self) -> None:
        """End the process. The next program starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        return self._process


def _whole(text: str) -> str:
    """Half a surrogate pair becomes U+FFFD, as where text is written out."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
