"""The server under load, with hostile requests, kills and slow readers, and its latency.

    python -m benchmarks.serve [--requests 1000000] [--seconds 300] [--latency_seconds 20]

Soak: client processes (`serve_clients.py`) on loopback send single completions and small batches
whose verdicts are known. One request in twenty is hostile: a malformed or huge body, a wrong token,
an endless or greedy program, a client that leaves. Meanwhile workers are killed and stopped, a
client process is killed, sockets send heads byte by byte, and readers take no answer. Counted:
requests without an answer in time (hangs), verdicts that are not the known one (a right answer that
failed is a failure as a zero), completions without a verdict. It ends after `--requests`, after
`--seconds`, or at SIGINT, and prints a line each minute on standard error.

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

import aiohttp

from benchmarks.serve_clients import HANG_S, UNREADABLE, Case, maths, programs, score_body
from benchmarks.table import machine
from infinite_rl.reward_functions import REWARDS
from infinite_rl.serve.config import ServeConfig
from infinite_rl.serve.dispatcher import Dispatcher
from infinite_rl.serve.judging import work
from infinite_rl.serve.protocols import PROTOCOLS, Context, kind_of

_DEADLINE_S = HANG_S / 2
_WORKERS = os.cpu_count() or 1
_REWARDS = ("math", "gsm8k", "coding")
_CLIENTS = 2  # processes
_KILL_S = 15.0  # between two kills
_WATCH_S, _MINUTE = 2.0, 30  # seconds between two looks at the memory, looks between two lines
_ROUNDS = 3

CASES = [case for number in range(50) for kind in (maths, programs) for case in kind(number)]


def check_cases() -> None:
    """Judge each case here. Raises SystemExit if a verdict is not the known one."""
    context = Context(ServeConfig(), REWARDS)
    for row, text, status in (*CASES, UNREADABLE):
        (job,) = PROTOCOLS["/score"].jobs({"rows": [row], "completions": [text]}, context)
        if (score := work(job))["status"] != status:
            raise SystemExit(f"{text!r} of {row} is {score}, not {status}")


@dataclass
class Running:
    """The server, and what came of the requests to it."""

    url: str
    token: str
    pid: int
    counts: Counter[str] = field(default_factory=Counter)
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
            running.counts[f"exit code {process.wait(60)} after SIGTERM"] += 1
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


async def soak(running: Running, requests: int, seconds: float, connections: int) -> float:
    """Load the server with all that is hostile to it; the seconds that it took."""
    started, stop = time.monotonic(), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, stop.set)
    loop.call_later(seconds, stop.set)
    processes = [
        await clients(running, -(-requests // _CLIENTS), -(-connections // _CLIENTS), str(number))
        for number in range(_CLIENTS)
    ]
    others = [
        *(slow_head(running) for _ in range(10)),
        *(slow_reader(running) for _ in range(5)),
        *(killer(running), killed_clients(running), watch(running, started)),
    ]
    beside = [asyncio.create_task(each) for each in others]
    ends = [asyncio.create_task(read_counts(running, each)) for each in processes]
    all_sent = asyncio.gather(*ends)
    all_sent.add_done_callback(lambda _: stop.set())
    await stop.wait()
    taken = time.monotonic() - started
    for process in processes:
        with suppress(ProcessLookupError):
            process.kill()
    for task in beside:
        task.cancel()
    for result in await asyncio.gather(*ends, *beside, return_exceptions=True):
        if isinstance(result, Exception):
            raise result
    return taken


async def clients(
    running: Running, requests: int, connections: int, seed: str
) -> asyncio.subprocess.Process:
    """Start a process of clients."""
    host, port = running.address
    orders = {"host": host, "port": port, "token": running.token}
    orders |= {"connections": connections, "left": requests, "seed": seed}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.serve_clients"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin
    process.stdin.write(json.dumps(orders).encode())
    process.stdin.close()
    return process


async def read_counts(running: Running, process: asyncio.subprocess.Process) -> None:
    """Add what a process of clients counts until its end."""
    assert process.stdout
    async for line in process.stdout:
        running.counts.update(json.loads(line))
    await process.wait()


async def killed_clients(running: Running) -> None:
    """Start further clients, and kill them with all their connections; their counts are lost."""
    for number in itertools.count():
        process = await clients(running, 10**6, 8, f"killed {number}")
        try:
            await asyncio.sleep(_KILL_S)
        finally:
            process.kill()
            await process.wait()
        running.counts["client processes killed"] += 1


async def slow_head(running: Running) -> None:
    """Send the head of a request byte by byte, again and again."""
    while True:
        with suppress(OSError):
            _, writer = await asyncio.open_connection(*running.address)
            with suppress(OSError):
                for byte in itertools.cycle(b"POST /score HTTP/1.1"):
                    writer.write(bytes([byte]))
                    await writer.drain()
                    await asyncio.sleep(1)
                    if writer.is_closing():
                        break
            running.counts["slow heads"] += 1
            writer.transport.abort()


async def slow_reader(running: Running) -> None:
    """Ask for long answers and take none."""
    body = json.dumps({"code": "print('x' * 900_000)", "language": "python"}).encode()
    lines = "".join(f"{name}: {value}\r\n" for name, value in running.headers.items())
    head = f"POST /run_code HTTP/1.1\r\nHost: x\r\n{lines}Content-Length: {len(body)}\r\n\r\n"
    while True:
        each = socket.socket()
        each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with each, suppress(OSError):
            each.connect(running.address)
            each.sendall(head.encode() + body)
            running.counts["slow readers"] += 1
            await asyncio.sleep(5)


async def killer(running: Running) -> None:
    """Kill a worker now and then, and stop every tenth instead."""
    rng = random.Random(0)
    for number in itertools.count(1):
        await asyncio.sleep(_KILL_S)
        if pids := workers(running.pid):
            stop = number % 10 == 0
            running.counts["workers stopped" if stop else "workers killed"] += 1
            with suppress(OSError):
                os.kill(rng.choice(pids), signal.SIGSTOP if stop else signal.SIGKILL)


async def watch(running: Running, started: float) -> None:
    """Note the memory of the server and of its workers, and say each minute how far it is."""
    for number in itertools.count(1):
        pids = workers(running.pid)
        at = time.monotonic() - started
        running.memory.append((at, resident_mib(running.pid), resident_mib(*pids)))
        if number % _MINUTE == 0:
            counts = running.counts
            shown = (
                f"{at:.0f} s: {counts['requests']:,} requests, {counts['hangs']} hangs, "
                f"{counts['failures as zeros']} failures as zeros, {counts['unscored']} unscored, "
                f"{running.memory[-1][1]} and {running.memory[-1][2]} MiB"
            )
            print(shown, file=sys.stderr, flush=True)
        await asyncio.sleep(_WATCH_S)


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
            await ask(rng.choice(CASES))
            count += 1

    await asyncio.gather(*(loop() for _ in range(at_once)))
    return count / seconds


async def latencies(ask: Ask, rate: float, seconds: float) -> list[float]:
    """The seconds from the arrival of each request to its verdict; arrivals are random."""
    rng, times, tasks = random.Random(2), list[float](), set[asyncio.Task[None]]()
    started = arrival = time.monotonic()

    async def one(arrived: float) -> None:
        await ask(rng.choice(CASES))
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
    counts = running.counts
    named = {
        "requests": "requests answered or broken off",
        "hangs": "hangs",
        "completions": "completions with a known verdict",
        "failures as zeros": "right ones that failed (a failure as a zero)",
        "wrong ones that passed": "wrong ones that passed",
        "numbers without a verdict": "unscored ones with a number",
        "unscored": "unscored though judgeable",
        "refused though in order": "refused though in order",
    }
    shown = {"seconds": round(seconds), "requests a second": round(counts["requests"] / seconds)}
    shown |= {name: counts[key] for key, name in named.items()}
    shown |= {key: counts[key] for key in sorted(counts) if key not in named}
    marks = [running.memory[len(running.memory) * n // 5] for n in range(5)] + running.memory[-1:]
    highest = max(each[1] for each in running.memory), max(each[2] for each in running.memory)
    return "\n".join(
        [
            *(f"- {name}: {value}" for name, value in machine()),
            "",
            "| soak | |",
            "|---|---:|",
            *(f"| {name} | {value:,} |" for name, value in shown.items()),
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
    parser.add_argument("--requests", type=int, default=10**6, help="of the soak")
    parser.add_argument("--seconds", type=float, default=300, help="the longest time of the soak")
    parser.add_argument("--latency_seconds", type=float, default=20, help="0: no latencies")
    parser.add_argument("--connections", type=int, default=32)
    args = parser.parse_args()
    flags = ["--rewards", ",".join(_REWARDS), "--deadline", f"{_DEADLINE_S:g}"]
    flags += ["--timeout", "2", "--client_timeout", "5", "--body_mb", "2"]
    check_cases()
    table: list[str] = []
    with serving(*flags) as running:
        seconds = asyncio.run(soak(running, args.requests, args.seconds, args.connections))
    if args.latency_seconds:
        with serving("--rewards", ",".join(_REWARDS)) as other:
            table = asyncio.run(compared(other, args.latency_seconds))
    print(page(running, seconds, table))


if __name__ == "__main__":
    main()
