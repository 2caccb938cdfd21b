"""Rows a second, and CPU a row, against a loopback server that takes a second for each answer.

    python -m benchmarks.generation [--rows 1000] [--threads 1,64,256] [--latency 1.0]

The real Google client and the real `generate_dataset` make sums, so that no code is run. Beside
them, the same calls without the generator: by threads, and by one asyncio client. The CPU is this
process's; the server is another. Memory is the peak of this process so far: `--rows 50000` shows
whether it grows.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import NamedTuple

from infinite_rl.generator import generate_dataset
from infinite_rl.layout import render, tagged
from infinite_rl.providers.gemini import GeminiProvider
from infinite_rl.providers.remote import http_settings

KEY = "AIzaLoopbackKey-0123456789"
_PROMPT = "Make a task. " * 100


async def _serve(latency_s: float) -> None:
    """Answer each request with a sum made from its seed."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head.lower())
                body = await reader.readexactly(int(length[1]) if length else 0)
                await asyncio.sleep(latency_s)
                answer = _answer(json.loads(body)["generationConfig"]["seed"])
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\n\r\n%s" % (len(answer), answer)
                )
        writer.close()

    server = await asyncio.start_server(converse, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _answer(seed: int) -> bytes:
    text = render(f"What is {seed} + 1?", str(seed + 1), f"Add one. {tagged(str(seed + 1))}")
    part = {"content": {"parts": [{"text": text}], "role": "model"}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 300, "candidatesTokenCount": 50, "totalTokenCount": 350}
    return json.dumps({"candidates": [part], "usageMetadata": usage}).encode()


class Pace(NamedTuple):
    """How fast rows or calls were, and what CPU one took."""

    a_second: float
    cpu_ms: float


def measured(rows: int, work: Callable[[], object]) -> Pace:
    """Run the work, which makes so many rows or calls."""
    began, cpu = time.monotonic(), time.process_time()
    work()
    seconds, cpu = time.monotonic() - began, time.process_time() - cpu
    return Pace(rows / seconds, cpu / rows * 1000)


def line(name: str, pace: Pace, most: float) -> str:
    """A line of the table; `most` is the rate that the latency alone allows."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return (
        f"{name:<28}{pace.a_second:8.1f} a second ({pace.a_second / most:6.1%} of the most)"
        f"{pace.cpu_ms:8.2f} ms CPU each   peak {peak} MB"
    )


@contextmanager
def serving(latency_s: float) -> Iterator[str]:
    """The address of a loopback server, another process, that takes so long for each answer."""
    command = [sys.executable, "-m", "benchmarks.generation", "--serve"]
    command += ["--latency", str(latency_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.terminate()


def works(base_url: str, rows: int, threads: int) -> dict[str, Callable[[], object]]:
    """What can be timed: rows that are generated, and as many calls alone, in two ways."""
    provider = GeminiProvider("loopback", api_key=KEY, base_url=base_url)
    return {
        "generate": partial(_generate, provider, rows, threads),
        "calls alone, threads": partial(_by_threads, provider, rows, threads),
        "calls alone, asyncio": lambda: asyncio.run(_by_asyncio(base_url, rows, threads)),
    }


def _generate(provider: GeminiProvider, rows: int, threads: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = generate_dataset(
            *("loopback", rows, folder),
            save_every=1000,
            task_dist="0,1",
            num_threads=threads,
            provider=provider,
        )
        assert made.complete, made


def _by_threads(provider: GeminiProvider, calls: int, threads: int) -> None:
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda seed: provider.complete("", _PROMPT, seed), range(calls)))


async def _by_asyncio(base_url: str, calls: int, at_once: int) -> None:
    from google import genai
    from google.genai import types

    options = types.HttpOptions(base_url=base_url, async_client_args=http_settings())
    client, turns = genai.Client(api_key=KEY, http_options=options).aio, asyncio.Semaphore(at_once)

    async def call(seed: int) -> None:
        async with turns:
            config = types.GenerateContentConfig(seed=seed)
            await client.models.generate_content(model="m", contents=_PROMPT, config=config)

    await asyncio.gather(*(call(seed) for seed in range(calls)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000, help="rows with the most threads")
    parser.add_argument("--threads", default="1,64,256")
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--serve", action="store_true", help="be the server")
    given = parser.parse_args()
    if given.serve:
        asyncio.run(_serve(given.latency))
        return
    counts = [int(count) for count in given.threads.split(",")]
    with serving(given.latency) as base_url:
        for threads in counts:
            rows = max(5, given.rows * threads // max(counts))
            for name, work in works(base_url, rows, threads).items():
                if name == "generate" or threads == max(counts):
                    pace = measured(rows, work)
                    print(line(f"{name}, {threads}", pace, threads / given.latency), flush=True)


if __name__ == "__main__":
    main()
