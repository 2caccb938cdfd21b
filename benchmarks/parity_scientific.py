"""Programs with numpy, pandas and others, beside the same libraries in a native Python.

`INFINITE_RL_NATIVE_PYTHON` is a Python with numpy, pandas, scipy, scikit-learn and sympy, by default
this one. The pieces of programs are in `parity_scientific.txt`: after a kind, one a line; a word in
braces becomes data.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.parity import Parity
from infinite_rl.sandbox.runtimes import Limits, load_guest, runtime_named
from infinite_rl.types import Program

LINES = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
HEAD = "import numpy as np\nimport pandas as pd\n"
LIMITS = Limits(timeout_s=60.0)
# Each program in a process of its own, forked where the libraries are imported.
SERVER = """
import contextlib, io, json, os, sys, traceback
import numpy, pandas, scipy.stats, sklearn.ensemble, sklearn.cluster, sympy
for line in sys.stdin:
    reader, writer = os.pipe()
    if not os.fork():
        sys.stdin, out = io.StringIO(), io.StringIO()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                exec(compile(json.loads(line), "program.py", "exec"), {"__name__": "__main__"})
            error = ""
        except BaseException as raised:
            error = type(raised).__name__
        os.write(writer, json.dumps([out.getvalue()[:60000], error]).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        print(answer.read().decode(), flush=True)
    os.wait()
"""
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)


class Written(NamedTuple):
    """A program and its kind."""

    code: str
    kind: str

    def __str__(self) -> str:
        return self.code


@dataclass(frozen=True)
class Ended:
    """What was printed, and the name of the exception that ended it."""

    printed: str
    error: str
    doubt: str = field(default="", compare=False)


def pieces() -> list[tuple[str, str]]:
    """Return each piece and its kind."""
    kind, texts = "", []
    for line in LINES:
        if "(" not in line and ":" not in line:
            kind = line
        else:
            texts.append((kind, line.replace("\\n", "\n").replace("\\\n", "\\n")))
    return texts


def programs(count: int, seed: int) -> Sequence[Written]:
    """Return programs of one piece each; every piece is used as often as any other."""
    chance, texts = random.Random(seed), pieces()
    written = []
    for number in range(count):
        kind, text = texts[number % len(texts)]
        written.append(Written(HEAD + filled(text, chance), kind))
    return written


def filled(text: str, chance: random.Random) -> str:
    """Return a piece with data in the place of its words."""

    def ints(count: int) -> str:
        return str([chance.randint(1, 99) for _ in range(count)])

    def floats(count: int) -> str:
        return str([round(chance.uniform(-9, 99), 3) for _ in range(count)])

    words: dict[str, Callable[[], object]] = {
        "i": lambda: chance.randint(3, 90),
        "n": lambda: chance.randint(3, 8),
        "p": lambda: chance.choice([4, 5, 7, 11]),
        "k": lambda: chance.randint(0, 3),
        "e": lambda: chance.randint(3, 12),
        "q": lambda: chance.randint(3, 18),
        "d": lambda: chance.randint(10, 28),
        "B": lambda: chance.choice([chance.randint(10**4, 10**5), chance.randint(10**8, 2**31)]),
        "L": lambda: ints(chance.randint(5, 9)),
        "L3": lambda: ints(3),
        "L4": lambda: ints(4),
        "L6": lambda: ints(6),
        "F": lambda: floats(6),
        "F4": lambda: floats(4),
        "F6": lambda: floats(6),
        "W": lambda: chance.sample(["apple", "banana", "b", "cab", "date", "aaa", "Fig"], 4),
        "K": lambda: [chance.choice("abc") for _ in range(6)],
    }
    return re.sub(r"\{(\w+)\}", lambda m: str(words[m[1]]()) if m[1] in words else m[0], text)


def ours(program: Written) -> Ended:
    """Run a program in the sandbox."""
    execution = load_guest(runtime_named("scientific")).run(Program(program.code), LIMITS)
    last = execution.stderr.rstrip().rpartition("\n")[2]
    error = last.partition(":")[0].rpartition(".")[2] if execution.status != "ok" else ""
    return Ended(execution.stdout, error, execution.doubt)


def native(server: subprocess.Popen[str], program: Written) -> Ended:
    """Run a program natively."""
    assert server.stdin and server.stdout
    server.stdin.write(json.dumps(program.code) + "\n")
    server.stdin.flush()
    return Ended(*json.loads(server.stdout.readline()))


def near(one: Ended, other: Ended) -> str:
    """Say why two that differ are no failure: the first is doubted, or digits differ; else ""."""
    if one.doubt:
        return one.doubt
    texts = ["".join(_NUMBER.sub("#", each.printed).split()) for each in (one, other)]
    numbers = [[*map(float, _NUMBER.findall(each.printed))] for each in (one, other)]
    if one.error != other.error or texts[0] != texts[1] or len(numbers[0]) != len(numbers[1]):
        return ""
    pairs = zip(*numbers, strict=True)
    is_near = all(abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b)) for a, b in pairs)
    return "the last digits of numbers" if is_near else ""


def parity() -> Parity:
    """Start the native Python."""
    python = os.environ.get("INFINITE_RL_NATIVE_PYTHON", sys.executable)
    server = subprocess.Popen(
        [python, "-W", "ignore", "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Parity("CPython", programs, ours, partial(native, server), lambda each: each.kind, near)
