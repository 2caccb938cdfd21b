"""A client process of `benchmarks.serve`: requests with known verdicts, and hostile ones.

It reads its orders as JSON from standard input, and each second prints what it has counted since,
as JSON. It imports the standard library alone, and keeps its connections: the load is the server's.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

HANG_S = 30.0  # twice the deadline of a request
_SHARE_HOSTILE = 0.05
_SHARES = {"maths": 0.93, "program": 0.05, "batch": 0.02}  # of the other requests
_PIPELINED = (1, 2, 4)  # requests that are sent at once on one connection
_BATCHES = (2, 4, 16)
_GREATEST = 10**6

Case = tuple[dict[str, str], str, str]  # a row, a completion, the status that is known

_TESTS = json.dumps({"tests": ["assert f(1) == 1"]})
# The time limit of the row: the server's own is that of one program in twenty.
_SHORT_TESTS = json.dumps({"tests": ["assert f(1) == 1"], "limits": {"timeout": 0.1}})
PROGRAMS = (
    "while True:\n    pass",
    "x = [0] * 10**9",
    "def f(x):\n    return f(x)\nf(1)",
    "print('x' * 10**9)",
)
_ODD = ("\ud800<answer>", f"<answer>{'9' * 4000}</answer>", "<answer>9^9^9^9^9</answer>")
_HOSTILE = ("garbage", "deep", "huge", "token", "program", "leave", "odd")


def maths(number: int) -> Iterator[Case]:
    """Completions of a mathematics task, right and wrong, and one whose gold cannot be read."""
    gold = {"type": "math", "answer": rf"\frac{{{number}}}{{7}}"}
    yield gold, rf"So <answer>\frac{{{3 * number}}}{{21}}</answer>", "passed"
    yield gold, rf"So <answer>\frac{{{number + 1}}}{{7}}</answer>", "failed"
    yield {"type": "gsm8k", "answer": f"#### {number}"}, f"The answer is {number}.", "passed"
    yield {"type": "gsm8k", "answer": f"#### {number}"}, f"It is {number + 1}.", "failed"


def programs(number: int) -> Iterator[Case]:
    """Two programs in Python, of which the second is right for 0 and 1 alone."""
    tests = json.dumps({"tests": [f"assert f({number}) == {number * number}"]})
    row = {"type": "coding", "language": "python", "answer": tests}
    for power, status in ((2, "passed"), (3, "passed" if number < 2 else "failed")):
        program = f"def f(x):\n    return x ** {power}"
        yield row, f"<answer>\n```python\n{program}\n```\n</answer>", status


UNREADABLE: Case = ({"type": "math", "answer": ""}, "<answer>7</answer>", "unscored")


def score_body(chosen: Sequence[Case]) -> bytes:
    """A request to /score."""
    rows, completions = [each[0] for each in chosen], [each[1] for each in chosen]
    return json.dumps({"rows": rows, "completions": completions}).encode()


@dataclass
class Request:
    """What is sent, and the known verdicts of its answer; `kind` names a hostile one."""

    data: bytes
    chosen: Sequence[Case] = ()
    kind: str = ""


@dataclass
class Clients:
    """Connections to one server. `left` is how many requests are still to be sent."""

    host: str
    port: int
    token: str
    connections: int
    left: int
    seed: str
    counts: Counter[str] = field(default_factory=Counter)

    async def run(self) -> None:
        """Send all, and report."""
        reports = asyncio.create_task(self._report())
        await asyncio.gather(*(self._connection(number) for number in range(self.connections)))
        reports.cancel()
        self._print()

    async def _report(self) -> None:
        while True:
            await asyncio.sleep(1)
            self._print()

    def _print(self) -> None:
        print(json.dumps(self.counts), flush=True)
        self.counts.clear()

    async def _connection(self, number: int) -> None:
        """Send requests over one connection, some at once, and read the answers."""
        rng = random.Random(f"{self.seed} {number}")
        name = f"client {self.seed} {number}"
        while self.left > 0:
            try:
                reader, writer = await asyncio.open_connection(self.host, self.port)
            except OSError as error:
                self.counts[f"not connected: {type(error).__name__}"] += 1
                await asyncio.sleep(1)
                continue
            try:
                is_open = True
                while is_open and self.left > 0:
                    is_open = await self._exchange(reader, writer, rng, name)
            finally:
                writer.transport.abort()

    async def _exchange(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        rng: random.Random,
        name: str,
    ) -> bool:
        """Send a few requests and read their answers; whether the connection is still good."""
        requests = [self._request(rng, name) for _ in range(rng.choice(_PIPELINED))]
        # A refusal of these closes the connection, so nothing may follow them.
        last = [n for n, each in enumerate(requests) if each.kind in ("huge", "token", "leave")]
        requests = requests[: last[0] + 1] if last else requests
        self.left -= len(requests)
        waiting = list(requests)
        try:
            writer.write(b"".join(each.data for each in requests))
            if requests[-1].kind == "leave":
                await asyncio.sleep(rng.random() * 0.01)
                self.counts["requests"] += len(requests)
                self.counts["hostile: leave"] += 1
                self.counts["requests whose client left"] += len(requests) - 1
                return False
            is_open = True
            while waiting:
                status, head, body = await asyncio.wait_for(_answer(reader), HANG_S)
                is_open = await self._count(waiting.pop(0), status, head, body)
            return is_open
        except (OSError, asyncio.IncompleteReadError) as error:
            self.counts[f"broken off: {type(error).__name__}"] += len(waiting)
        except asyncio.TimeoutError:
            self.counts["hangs"] += len(waiting)
        self.counts["requests"] += len(waiting)
        return False

    def _request(self, rng: random.Random, name: str) -> Request:
        if rng.random() < _SHARE_HOSTILE:
            return self._hostile(rng, name)
        chosen = list(_chosen(rng))
        return Request(self._http(score_body(chosen), name), chosen)

    def _hostile(self, rng: random.Random, name: str) -> Request:
        kind = rng.choice(_HOSTILE)
        data, path, token = b'{"rows": [', "/score", self.token
        if kind == "deep":
            data = b"[" * 100_000
        elif kind == "huge":
            data = b"x" * 3_000_000
        elif kind == "token":
            token = "of bad news"
        elif kind == "odd":
            rows = [({"type": "math", "answer": "\ud800"}, text, "") for text in _ODD]
            data = score_body(rows)
        elif kind == "leave":
            data = score_body([each for _ in range(16) for each in _chosen(rng)])
        elif kind == "program":
            code = rng.choice(PROGRAMS)
            tests = _TESTS if rng.random() < 0.05 else _SHORT_TESTS
            row = {"type": "coding", "language": "python", "answer": tests}
            data = score_body([(row, f"<answer>\n{code}\n</answer>", "failed")])
            if rng.random() < 0.5:
                path = "/run_code"
                orders = {"code": code, "language": "python", "run_timeout": 0.1}
                data = json.dumps(orders).encode()
        return Request(self._http(data, name, path, token), kind=kind)

    def _http(self, body: bytes, name: str, path: str = "/score", token: str = "") -> bytes:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nX-Client: {name}\r\n"
            f"Authorization: Bearer {token or self.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode("ascii") + body

    async def _count(self, request: Request, status: int, head: bytes, body: bytes) -> bool:
        """Count an answer; whether the connection stays open."""
        counts = self.counts
        counts[f"HTTP {status}"] += 1
        if status in (429, 503):  # it is sent again, as another
            self.left += 1
            wait_s = head.partition(b"retry-after: ")[2].partition(b"\r\n")[0]
            await asyncio.sleep(float(wait_s or 1))
            return True
        counts["requests"] += 1
        if request.kind:
            counts[f"hostile: {request.kind}"] += 1
            if request.kind == "program" and status == 200:
                answer = json.loads(body)
                passed = answer.get("status") == "Success" or answer.get("counts", {}).get("passed")
                counts["wrong ones that passed"] += bool(passed)
        elif status == 200:
            self._count_verdicts(request.chosen, json.loads(body)["scores"])
        else:
            counts["refused though in order"] += 1
        return b"connection: close" not in head

    def _count_verdicts(self, chosen: Sequence[Case], scores: Sequence[Any]) -> None:
        """Compare verdicts with the known ones."""
        counts = self.counts
        for (_, _, expected), score in zip(chosen, scores, strict=True):
            counts["completions"] += 1
            status = score["status"]
            if status == "unscored" and score["correctness_score"] is not None:
                counts["numbers without a verdict"] += 1
            if status == expected:
                continue
            counts["failures as zeros"] += status == "failed"
            counts["wrong ones that passed"] += status == "passed"
            if status == "unscored":
                counts["unscored"] += 1
                counts[f"unscored: {score['error_msg'].partition(': ')[2][:60]}"] += 1


def _chosen(rng: random.Random) -> Iterator[Case]:
    """The cases of one request."""
    (share,) = rng.choices(list(_SHARES), list(_SHARES.values()))
    if share == "batch":
        for _ in range(rng.choice(_BATCHES)):
            kind = programs if rng.random() < 0.2 else maths
            yield rng.choice([*kind(rng.randrange(_GREATEST)), UNREADABLE])
    else:
        kind = maths if share == "maths" else programs
        yield rng.choice([*kind(rng.randrange(_GREATEST))])


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes, bytes]:
    """Read one answer of HTTP/1.1 with a Content-Length: status, head in lower case, body."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return int(head[9:12]), head, await reader.readexactly(int(length))


if __name__ == "__main__":
    asyncio.run(Clients(**json.load(sys.stdin)).run())
