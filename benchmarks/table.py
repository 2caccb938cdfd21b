"""The table of `python -m benchmarks`: its lines, and the page that holds them."""

from __future__ import annotations

import ast
import os
import platform
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from typing import Literal

from benchmarks.rounds import Median
from benchmarks.sandbox import processor

Better = Literal["less", "more", ""]
HERE = Path(__file__).resolve().parent
PACKAGES = (
    *("wasmtime", "mpmath", "sympy", "numpy", "google-genai", "math-verify"),
    *("torch", "transformers", "trl"),
)
HEAD = "| measured | unit | Infinite RL | peer | ratio | script |\n|---|---|---:|---:|---:|---|"


@dataclass(frozen=True)
class Line:
    """A figure of ours, beside a peer's.

    A text in place of a figure says why there is none. `peer_name` says who or what the peer is,
    `better` which of two figures is; without it there is no ratio. `script` gives the details.
    """

    what: str
    unit: str
    ours: float | str
    script: str
    peer: float | str = ""
    peer_name: str = ""
    better: Better = ""

    @property
    def ratio(self) -> float | None:
        """How many times better ours is: above 1 it is, below the peer's is."""
        if not self.better or isinstance(self.ours, str) or isinstance(self.peer, str):
            return None
        over, under = (self.ours, self.peer) if self.better == "more" else (self.peer, self.ours)
        return over / under if under else None

    def __str__(self) -> str:
        peer = f"{self.peer_name} {self.peer}"
        if not isinstance(self.peer, str):
            peer = f"{shown(self.peer)} ({self.peer_name})"
        ratio = "" if self.ratio is None else shown(self.ratio)
        cells = (self.what, self.unit, shown(self.ours), peer.strip(), ratio)
        return "| " + " | ".join(cell.replace("|", r"\|") for cell in (*cells, self.script)) + " |"


def shown(value: float | str) -> str:
    """A figure with three digits, or all that stand before its point; counts whole.

    The lowest and the highest of several rounds are in brackets.
    """
    if isinstance(value, Median) and value.low < value.high:
        return f"{shown(float(value))} [{shown(value.low)}, {shown(value.high)}]"
    if isinstance(value, str):
        return value
    if isinstance(value, int) or abs(value) >= 100:
        return f"{value:,.0f}"
    return (
        f"{value:.1f}"
        if abs(value) >= 10
        else f"{value:.2f}"
        if abs(value) >= 1
        else f"{value:.3g}"
    )


Measure = Callable[[bool], Iterator[Line]]  # quick or not


@dataclass(frozen=True)
class Part:
    """A section of the table: its lines, or why it failed."""

    name: str
    about: str
    lines: Sequence[Line]
    seconds: float
    failure: str = ""

    def __str__(self) -> str:
        body = f"**Failed**: {self.failure}" if self.failure else ""
        if self.lines:
            body = "\n".join([HEAD, *map(str, self.lines)])
        return f"## {self.name.capitalize()}\n\n{self.about}\n\n{body}\n"


def measured(name: str, measure: Measure, quick: bool) -> Part:
    """The lines of a part, from a process of its own: whatever it does, the others go on."""
    _log(f"{name} ...")
    began, lines, failure = time.monotonic(), list[Line](), ""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        try:
            lines = pool.submit(_lines, measure, quick).result()
        # Another's code may raise anything; a script that finds a fault ends with SystemExit.
        except (Exception, SystemExit) as error:
            failure = " ".join(f"{type(error).__name__}: {error}".split())
            traceback.print_exception(error)
    seconds = time.monotonic() - began
    _log(f"{name}: {f'FAILED, {failure}' if failure else f'{len(lines)} lines'}, {seconds:.0f} s")
    about = " ".join((measure.__doc__ or "").split())
    return Part(name, about, lines, seconds, failure)


def _lines(measure: Measure, quick: bool) -> list[Line]:
    return list(measure(quick))


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def page(parts: Sequence[Part], command: str, quick: bool) -> str:
    """The whole page, in Markdown."""
    return "\n".join(
        [
            "# Benchmarks\n",
            f"`{command}` measured these figures. Infinite RL and the peer took turns in one run. "
            "A figure is the median of several rounds; the lowest and the highest round are in "
            "brackets. The ratio says how many times better Infinite RL is: below 1, the peer is "
            "better. "
            "`python -m benchmarks.SCRIPT` prints the details of a line, and "
            "`python -m benchmarks --help` lists all benchmarks; those that take longer, or look "
            "for faults, have a page in `docs/results/`.\n",
            *(["**Quick**: smaller sizes and fewer rounds, so rough figures.\n"] if quick else []),
            *(f"- {name}: {value}" for name, value in machine()),
            "",
            *map(str, parts),
        ]
    )


def machine() -> Iterator[tuple[str, str]]:
    """What the figures were measured on, and when."""
    pages, each = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    yield "date", datetime.now(timezone.utc).strftime("%Y-%m-%d")
    yield "processor", f"{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    yield "memory", f"{pages * each / 2**30:.0f} GiB"
    yield "system", platform.platform()
    yield "Python", platform.python_version()
    yield "packages", ", ".join(f"{name} {_version(name)}" for name in PACKAGES)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def scripts() -> Iterator[tuple[str, str]]:
    """The benchmarks that can be run alone, and the first line of what each says of itself."""
    for path in sorted(HERE.glob("*.py")):
        about = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if re.search(rf"python (-m benchmarks\.{path.stem}\b|benchmarks/{path.name})", about):
            yield path.stem, re.sub(r"(: `python.*`)?[.:]?$", "", about.splitlines()[0])
