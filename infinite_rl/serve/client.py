"""The client: a batch is judged, or an error says why not. No failure becomes a zero.

It needs only the standard library, so it runs in any trainer's environment.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from ..errors import JudgingUnavailable, UsageError, shown
from ..types import STATUSES, RewardFunctionScore

_RETRIED = (408, 429, 500, 502, 503, 504)
_LONGEST_WAIT_S = 30.0
_NUMBERS = ("format_score", "correctness_score", "aux_score")


class RewardClient:
    """Asks a server for verdicts. Thread-safe; each thread keeps a connection.

    `url` is the server's; `token` by default that of $INFINITE_RL_SERVE_TOKEN. `name` tells this
    client from others, between which the server is fair. A request is repeated while the server is
    busy or away, as it says in Retry-After, for `patience` seconds; one attempt takes `timeout`
    seconds at most. `batch` completions are sent at once.

    Raises:
        UsageError: the URL is none of HTTP, or there is no token.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        name: str = "",
        timeout: float = 120,
        patience: float = 600,
        batch: int = 256,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._address = urlsplit(url)
        try:
            is_http = self._address.scheme in ("http", "https") and bool(self._address.hostname)
            self._port = self._address.port
        except ValueError:
            is_http = False
        if not is_http:
            raise UsageError(f"the URL of a server begins with http:// or https://, not {url!r}")
        token = token or os.environ.get("INFINITE_RL_SERVE_TOKEN", "")
        if not token:
            raise UsageError("the server's token is needed: token=..., or INFINITE_RL_SERVE_TOKEN")
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if name:
            self._headers["X-Client"] = name
        self._timeout, self._patience, self._batch = timeout, patience, batch
        self._sleep = sleep
        self._connections = threading.local()

    def score(
        self, rows: Sequence[Mapping[str, Any]], completions: Sequence[str]
    ) -> list[RewardFunctionScore]:
        """The score of each completion of a row. Those without a verdict are "unscored".

        A row has `type`, `answer`, and `language` for code, or the ground truth of an export.

        Raises:
            UsageError: the server refuses the request: no such reward, a column is missing.
            JudgingUnavailable: there was no answer in time.
        """
        if len(rows) != len(completions):
            raise UsageError(f"{len(completions)} completions of {len(rows)} rows")
        scores: list[RewardFunctionScore] = []
        for start in range(0, len(rows), self._batch):
            part = slice(start, start + self._batch)
            body = {"rows": [dict(row) for row in rows[part]], "completions": completions[part]}
            answer = self._post("/score", body)
            try:
                scores += [_score(each) for each in answer["scores"]]
            except (KeyError, TypeError, ValueError) as error:
                raise JudgingUnavailable(f"the answer cannot be read: {error!r}") from None
            if len(scores) != min(len(rows), start + self._batch):
                raise JudgingUnavailable("the answer has another number of scores")
        return scores

    def rewards(
        self, rows: Sequence[Mapping[str, Any]], completions: Sequence[str]
    ) -> list[float | None]:
        """1.0 or 0.0 for each completion by its verdict, None without one. Raises as `score`."""
        return [
            None if score.status == "unscored" else float(score.passed)
            for score in self.score(rows, completions)
        ]

    def run_code(
        self, code: str, language: str = "python", stdin: str = "", timeout: float = 10
    ) -> dict[str, Any]:
        """Run a program: `status`, `return_code`, `stdout`, `stderr`, `execution_time`.

        `language` is SandboxFusion's name of it, such as "nodejs". Raises as `score`, and
        JudgingUnavailable also if the sandbox could not run the program.
        """
        body = {"code": code, "language": language, "stdin": stdin, "run_timeout": timeout}
        answer = self._post("/run_code", body)
        if not isinstance(run := answer.get("run_result"), dict):
            raise JudgingUnavailable(f"the program was not run: {answer.get('message', '')}")
        return run

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        data = json.dumps(body).encode("ascii")
        last, attempt = time.monotonic() + self._patience, 0
        while True:
            wait_s = min(_LONGEST_WAIT_S, 0.1 * 2**attempt) * (0.5 + random.random())
            try:
                status, text, retry_after = self._attempt(path, data)
            except (OSError, HTTPException) as error:
                self._drop()
                reason = f"{type(error).__name__}: {error}"
            else:
                answer = _object(text)
                if status == 200 and answer is not None:
                    return answer
                reason = f"HTTP {status}: {(answer or {}).get('error', text[:200])}"
                if 400 <= status < 500 and status not in _RETRIED:
                    raise UsageError(f"the server refuses the request: {reason}")
                if retry_after.isdecimal():
                    wait_s = float(retry_after) * (1 + random.random() / 4)
            attempt += 1
            if time.monotonic() + wait_s > last:
                raise JudgingUnavailable(
                    f"no verdict from {self._address.netloc} after {attempt} attempts: {reason}"
                )
            self._sleep(wait_s)

    def _attempt(self, path: str, data: bytes) -> tuple[int, bytes, str]:
        connection = self._connection()
        connection.request("POST", self._address.path.rstrip("/") + path, data, self._headers)
        response = connection.getresponse()
        return response.status, response.read(), response.headers.get("Retry-After", "")

    def _connection(self) -> HTTPConnection:
        if getattr(self._connections, "pid", None) != os.getpid():  # a fork shares no connection
            kind = HTTPSConnection if self._address.scheme == "https" else HTTPConnection
            host = self._address.hostname or ""
            self._connections.value = kind(host, self._port, timeout=self._timeout)
            self._connections.pid = os.getpid()
        connection: HTTPConnection = self._connections.value
        return connection

    def _drop(self) -> None:
        self._connections.value.close()


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _score(columns: Mapping[str, Any]) -> RewardFunctionScore:
    """A score from its columns. Raises ValueError if it is none."""
    status, numbers = columns["status"], [columns[name] for name in _NUMBERS]
    if status not in STATUSES:
        raise ValueError(f"no status: {shown(status)}")
    if status == "unscored":
        numbers = [0.0] * len(_NUMBERS)
    form, correctness, aux = map(float, numbers)
    return RewardFunctionScore(form, correctness, str(columns["error_msg"]), aux, status)
