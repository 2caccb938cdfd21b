"""The server under load, with hostile requests, kills and slow readers, and its latency.

    python -m benchmarks.serve [--seconds 300] [--latency_seconds 20] [--connections 32]

Soak: clients on loopback send single completions and small batches whose verdicts are known. One
request in twenty is hostile: a malformed or huge body, a wrong token, an endless or greedy program,
a client that leaves. Meanwhile workers are killed and stopped, sockets send heads byte by byte, and
readers take no answer. Counted: requests without an answer in time (hangs), verdicts that are not
the known one (a right answer that failed is a failure as a zero), completions without a verdict.

Latency: requests of one completion arrive at random at 80 % of the highest rate, at the server and
at the same queue and workers in this process without HTTP, in turns. The times are from the moment
of arrival. Needs the extra `serve` and aiohttp.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import math
import os
import random
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.table import machine
from infinite_rl.reward_functions import REWARDS
from infinite_rl.serve.config import ServeConfig
from infinite_rl.serve.dispatcher import Dispatcher
from infinite_rl.serve.judging import work
from infinite_rl.serve.protocols import PROTOCOLS, Context, kind_of

_DEADLINE_S, _HANG_S = 15.0, 30.0
_WORKERS = os.cpu_count() or 1
_REWARDS = ("math", "gsm8k", "coding")
_SHARE_HOSTILE = 0.05
_KILL_S = 15.0  # between two kills
_ROUNDS = 3

Case = tuple[dict[str, str], str, str]  # a row, a completion, the status that is known


def cases() -> Iterator[Case]:
    """Completions with known verdicts: mathematics, programs, and golds that cannot be read."""
    for number in range(50):
        gold = {"type": "math", "answer": rf"\frac{{{number}}}{{7}}"}
        yield gold, rf"So <answer>\frac{{{3 * number}}}{{21}}</answer>", "passed"
        yield gold, rf"So <answer>\frac{{{number + 1}}}{{7}}</answer>", "failed"
        yield {"type": "gsm8k", "answer": f"#### {number}"}, f"The answer is {number}.", "passed"
        tests = json.dumps({"tests": [f"assert f({number}) == {number * number}"]})
        row = {"type": "coding", "language": "python", "answer": tests}
        for power, status in ((2, "passed"), (3, "passed" if number < 2 else "failed")):
            program = f"def f(x):\n    return x ** {power}"
            yield row, f"<answer>\n```python\n{program}\n```\n</answer>", status
    yield {"type": "math", "answer": ""}, "<answer>7</answer>", "unscored"


CASES = list(cases())
SINGLE = [case for case in CASES if case[2] != "unscored"]
_ROW = {"type": "coding", "language": "python", "answer": '{"tests": ["assert f(1) == 1"]}'}
PROGRAMS = (
    "while True:\n    pass",
    "x = [0] * 10**9",
    "def f(x):\n    return f(x)\nf(1)",
    "print('x' * 10**9)",
)


def check_cases() -> None:
    """Judge each case here. Raises SystemExit if a verdict is not the known one."""
    context = Context(ServeConfig(), REWARDS)
    for row, text, status in CASES:
        (job,) = PROTOCOLS["/score"].jobs({"rows": [row], "completions": [text]}, context)
        if (score := work(job))["status"] != status:
            raise SystemExit(f"{text!r} of {row} is {score}, not {status}")


def score_body(chosen: Sequence[Case]) -> bytes:
    """A request to /score."""
    rows, completions = [each[0] for each in chosen], [each[1] for each in chosen]
    return json.dumps({"rows": rows, "completions": completions}).encode()


@dataclass
class Running:
    """The server, and what came of the requests to it."""

    url: str
    token: str
    pid: int
    requests: int = 0
    hangs: int = 0
    completions: int = 0
    false_zeros: int = 0
    false_passes: int = 0
    without_verdict: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    deeds: Counter[str] = field(default_factory=Counter)
    memory: list[tuple[float, int, int]] = field(default_factory=list)

    @property
    def headers(self) -> dict[str, str]:
        """What each request has."""
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return "127.0.0.1", int(self.url.rpartition(":")[2])


@contextmanager
def serving(*flags: str) -> Iterator[Running]:
    """A server process with warm workers."""
    token = secrets.token_urlsafe(24)
    command = [sys.executable, "-m", "infinite_rl", "serve", "--port", "0", "--json", *flags]
    environment = {**os.environ, "INFINITE_RL_SERVE_TOKEN": token}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout
            url = json.loads(process.stdout.readline())["url"]
            running = Running(url, token, process.pid)
            while len(workers(process.pid)) < _WORKERS:
                time.sleep(0.2)
            time.sleep(3)
            yield running
            process.send_signal(signal.SIGTERM)
            running.deeds[f"exit code {process.wait(60)} after SIGTERM"] += 1
        finally:
            process.kill()


def workers(pid: int) -> list[int]:
    """The child processes of a process, proc(5)."""
    pids: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):
            pids += map(int, (task / "children").read_text(encoding="ascii").split())
    return pids


def resident_mib(*pids: int) -> int:
    """The memory of processes, in MiB."""
    pages = 0
    for pid in pids:
        with suppress(OSError, IndexError):
            pages += int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


# --- soak ----------------------------------------------------------------------------------------


async def soak(running: Running, seconds: float, connections: int) -> None:
    """Load the server for some time, with all that is hostile to it."""
    end = time.monotonic() + seconds
    timeout = aiohttp.ClientTimeout(total=_HANG_S)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        await asyncio.gather(
            *(client(running, session, end, number) for number in range(connections)),
            *(slow_head(running, end) for _ in range(10)),
            *(slow_reader(running, end) for _ in range(5)),
            killer(running, end),
            memory(running, end, seconds),
        )


async def client(running: Running, session: aiohttp.ClientSession, end: float, number: int) -> None:
    """Send requests one after the other; of those that the server refuses for now, others."""
    rng = random.Random(number)
    headers = {**running.headers, "X-Client": f"client {number}"}
    while time.monotonic() < end:
        running.requests += 1
        try:
            if rng.random() < _SHARE_HOSTILE:
                await hostile(running, session, rng, headers)
                continue
            chosen = rng.choices(CASES, k=rng.choice((1, 1, 1, 2, 4, 16)))
            async with session.post(
                f"{running.url}/score", data=score_body(chosen), headers=headers
            ) as reply:
                answer = await reply.json()
            running.codes[str(reply.status)] += 1
            if reply.status in (429, 503):
                running.requests -= 1  # it is sent again, as another
                await asyncio.sleep(float(reply.headers["Retry-After"]))
            elif reply.status == 200:
                count_verdicts(running, chosen, answer["scores"])
        except asyncio.TimeoutError:
            running.hangs += 1
        except aiohttp.ClientError as error:
            running.codes[type(error).__name__] += 1


def count_verdicts(running: Running, chosen: Sequence[Case], scores: Sequence[Any]) -> None:
    """Compare verdicts with the known ones."""
    for (_, _, expected), score in zip(chosen, scores, strict=True):
        running.completions += 1
        status = score["status"]
        if status == "unscored":
            assert score["correctness_score"] is None
        if status == expected:
            continue
        running.false_zeros += status == "failed"
        running.false_passes += status == "passed"
        if status == "unscored":
            running.without_verdict += 1
            running.reasons[score["error_msg"].partition(": ")[2][:60]] += 1


async def hostile(
    running: Running, session: aiohttp.ClientSession, rng: random.Random, headers: dict[str, str]
) -> None:
    """Send one hostile request."""
    kind = rng.choice(("garbage", "deep", "huge", "token", "program", "leave", "odd"))
    running.deeds[f"hostile: {kind}"] += 1
    url, data = f"{running.url}/score", b'{"rows": ['
    if kind == "deep":
        data = b"[" * 100_000
    elif kind == "huge":
        data = b"x" * 3_000_000
    elif kind == "token":
        headers = {**headers, "Authorization": "Bearer of bad news"}
    elif kind == "odd":
        texts = ("\ud800<answer>", f"<answer>{'9' * 4000}</answer>", "<answer>9^9^9^9^9</answer>")
        data = score_body([({"type": "math", "answer": "\ud800"}, text, "") for text in texts])
    elif kind == "program":
        data = score_body([(_ROW, f"<answer>\n{rng.choice(PROGRAMS)}\n</answer>", "failed")])
    elif kind == "leave":
        reader, writer = await asyncio.open_connection(*running.address)
        body = score_body(rng.choices(CASES, k=64))
        lines = [f"{name}: {value}" for name, value in headers.items()]
        head = ["POST /score HTTP/1.1", "Host: x", *lines, f"Content-Length: {len(body)}"]
        writer.write("\r\n".join([*head, "", ""]).encode() + body)
        await asyncio.sleep(rng.random() * 0.01)
        writer.transport.abort()
        return
    async with session.post(url, data=data, headers=headers) as reply:
        answer = await reply.read()
    running.codes[str(reply.status)] += 1
    if kind == "program" and reply.status == 200:
        (score,) = json.loads(answer)["scores"]
        running.false_passes += score["status"] == "passed"


async def slow_head(running: Running, end: float) -> None:
    """Send the head of a request byte by byte, again and again."""
    while time.monotonic() < end:
        with suppress(OSError):
            _, writer = await asyncio.open_connection(*running.address)
            with suppress(OSError):
                for byte in itertools.cycle(b"POST /score HTTP/1.1"):
                    writer.write(bytes([byte]))
                    await writer.drain()
                    await asyncio.sleep(1)
                    if writer.is_closing() or time.monotonic() > end:
                        break
            running.deeds["slow heads"] += 1
            writer.transport.abort()


async def slow_reader(running: Running, end: float) -> None:
    """Ask for long answers and take none."""
    body = json.dumps({"code": "print('x' * 900_000)", "language": "python"}).encode()
    lines = "".join(f"{name}: {value}\r\n" for name, value in running.headers.items())
    head = f"POST /run_code HTTP/1.1\r\nHost: x\r\n{lines}Content-Length: {len(body)}\r\n\r\n"
    while time.monotonic() < end:
        each = socket.socket()
        each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with each, suppress(OSError):
            each.connect(running.address)
            each.sendall(head.encode() + body)
            running.deeds["slow readers"] += 1
            await asyncio.sleep(5)


async def killer(running: Running, end: float) -> None:
    """Kill a worker now and then, and stop every tenth instead."""
    rng = random.Random(0)
    for number in itertools.count(1):
        await asyncio.sleep(_KILL_S)
        if time.monotonic() > end:
            return
        if pids := workers(running.pid):
            stop = number % 10 == 0
            running.deeds["workers stopped" if stop else "workers killed"] += 1
            with suppress(OSError):
                os.kill(rng.choice(pids), signal.SIGSTOP if stop else signal.SIGKILL)


async def memory(running: Running, end: float, seconds: float) -> None:
    """Note the memory of the server and of its workers."""
    while (now := time.monotonic()) < end:
        pids = workers(running.pid)
        times = (seconds - (end - now), resident_mib(running.pid), resident_mib(*pids))
        running.memory.append(times)
        await asyncio.sleep(2)


# --- latency -------------------------------------------------------------------------------------
Ask = Callable[[Case], Awaitable[None]]


@asynccontextmanager
async def over_http(running: Running) -> AsyncIterator[Ask]:
    """Ask the server for one verdict."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(case: Case) -> None:
            async with session.post(
                f"{running.url}/score", data=score_body([case]), headers=running.headers
            ) as reply:
                (score,) = (await reply.json())["scores"]
            assert score["status"] == case[2], score

        yield ask


@asynccontextmanager
async def in_process() -> AsyncIterator[Ask]:
    """Ask the same queue and workers, in this process."""
    context = Context(ServeConfig(), {name: REWARDS[name] for name in _REWARDS})
    dispatcher = Dispatcher(_WORKERS, 20_000, context.warm_up, 2**30)
    while dispatcher.alive < _WORKERS:
        await asyncio.sleep(0.1)
    loop = asyncio.get_running_loop()

    async def ask(case: Case) -> None:
        body = {"rows": [case[0]], "completions": [case[1]]}
        jobs = PROTOCOLS["/score"].jobs(body, context)
        done = asyncio.Event()

        def on_done() -> None:
            loop.call_soon_threadsafe(done.set)

        deadline = time.monotonic() + _DEADLINE_S
        ticket = dispatcher.submit("one", kind_of(jobs[0]), jobs, deadline, on_done)
        await done.wait()
        result = ticket.results[0]
        assert result and result.value["status"] == case[2], result

    try:
        yield ask
    finally:
        await asyncio.to_thread(dispatcher.close)


async def highest_rate(ask: Ask, seconds: float, at_once: int = 16) -> float:
    """Requests per second of clients that never wait."""
    end, count = time.monotonic() + seconds, 0
    rng = random.Random(1)

    async def loop() -> None:
        nonlocal count
        while time.monotonic() < end:
            await ask(rng.choice(SINGLE))
            count += 1

    await asyncio.gather(*(loop() for _ in range(at_once)))
    return count / seconds


async def latencies(ask: Ask, rate: float, seconds: float) -> list[float]:
    """The seconds from the arrival of each request to its verdict; arrivals are random."""
    rng, times, tasks = random.Random(2), list[float](), set[asyncio.Task[None]]()
    started = arrival = time.monotonic()

    async def one(arrived: float) -> None:
        await ask(rng.choice(SINGLE))
        times.append(time.monotonic() - arrived)

    while arrival < started + seconds:
        arrival += rng.expovariate(rate)
        await asyncio.sleep(max(0.0, arrival - time.monotonic()))
        task = asyncio.create_task(one(arrival))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    return times


async def compared(running: Running, seconds: float) -> list[str]:
    """The lines of the table of latencies: medians of the rounds."""
    lines = [
        "| | highest rate | rate of arrivals | p50 | p90 | p99 |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    async with over_http(running) as http, in_process() as direct:
        ways = {"in process": direct, "over HTTP": http}
        rates = {name: await highest_rate(ask, seconds / 2) for name, ask in ways.items()}
        plans = [(name, 0.8 * rates[name]) for name in ways]
        plans.append(("in process", 0.8 * rates["over HTTP"]))
        measured: dict[tuple[str, float], list[list[float]]] = {plan: [] for plan in plans}
        for _ in range(_ROUNDS):
            for name, rate in plans:
                times = sorted(await latencies(ways[name], rate, seconds / _ROUNDS))
                quantiles = [times[math.ceil(len(times) * q) - 1] for q in (0.5, 0.9, 0.99)]
                measured[name, rate].append(quantiles)
    for (name, rate), rounds in measured.items():
        shown = [f"{statistics.median(each) * 1e3:.1f} ms" for each in zip(*rounds, strict=True)]
        cells = (name, f"{rates[name]:.0f}/s", f"{rate:.0f}/s", *shown)
        lines.append(f"| {' | '.join(cells)} |")
    return lines


# --- the page ------------------------------------------------------------------------------------


def page(running: Running, seconds: float, table: Sequence[str]) -> str:
    """Everything that was measured, in Markdown."""
    counts = {
        "seconds": f"{seconds:.0f}",
        "requests answered or broken off": f"{running.requests:,}",
        "hangs": f"{running.hangs:,}",
        "completions with a known verdict": f"{running.completions:,}",
        "right ones that failed (a failure as a zero)": f"{running.false_zeros:,}",
        "wrong ones that passed": f"{running.false_passes:,}",
        "unscored though judgeable": f"{running.without_verdict:,}",
    }
    marks = [running.memory[len(running.memory) * n // 5] for n in range(5)] + running.memory[-1:]
    highest = max(each[1] for each in running.memory), max(each[2] for each in running.memory)
    return "\n".join(
        [
            *(f"- {name}: {value}" for name, value in machine()),
            "",
            "| soak | |",
            "|---|---:|",
            *(f"| {name} | {value} |" for name, value in counts.items()),
            *(f"| HTTP {name} | {count:,} |" for name, count in sorted(running.codes.items())),
            *(f"| {name} | {count:,} |" for name, count in sorted(running.deeds.items())),
            *(f"| unscored: {name} | {count:,} |" for name, count in running.reasons.most_common()),
            "",
            "| seconds | server MiB | workers MiB |",
            "|---:|---:|---:|",
            *(f"| {at:.0f} | {server} | {others} |" for at, server, others in marks),
            f"| highest | {highest[0]} | {highest[1]} |",
            "",
            *table,
        ]
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--latency_seconds", type=float, default=20)
    parser.add_argument("--connections", type=int, default=32)
    args = parser.parse_args()
    flags = ["--rewards", ",".join(_REWARDS), "--deadline", f"{_DEADLINE_S:g}"]
    flags += ["--timeout", "2", "--client_timeout", "5", "--body_mb", "2"]
    check_cases()
    with serving(*flags) as running:
        asyncio.run(soak(running, args.seconds, args.connections))
    with serving("--rewards", ",".join(_REWARDS)) as other:
        table = asyncio.run(compared(other, args.latency_seconds))
    print(page(running, args.seconds, table))


if __name__ == "__main__":
    main()
