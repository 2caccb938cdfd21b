"""How long a new machine waits for its first verdicts: `pip install` of the wheel, then a process.

    python -m benchmarks.first_verdict [--wheels FOLDER] [--rounds N] [--pythons PYTHON ...]

Builds the wheel of this checkout and fetches what it depends on into FOLDER, by default a temporary
one; a folder that holds them is used as it is. Each round installs from there alone, in an empty
environment with an empty home, with and without byte-compiling. Then one process asks for a Python,
a JavaScript and a mathematics verdict, and a second process does the same once optimised code is
there. The medians are shown. With `--pythons` there is a column for each of these interpreters,
with byte-compiling, as pip does it by default.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.sandbox import processor

ROOT = Path(__file__).resolve().parent.parent
VERDICTS = """
import json, time
began = time.perf_counter()
import infinite_rl
took = {"import infinite_rl": time.perf_counter() - began}
rewards = infinite_rl.get_reward_functions()
run = {"python": "def f(x): return 2 * x", "javascript": "const f = (x) => 2 * x;"}
tests = {"python": "assert f(2) == 4", "javascript": "console.assert(f(2) === 4)"}
for name in ("python", "javascript", "math"):
    start = time.perf_counter()
    if name == "math":
        score = rewards["math"].compute_reward("<answer>1/2</answer>", "0.5")
    else:
        answer = f"<answer>\\n```{name}\\n{run[name]}\\n```\\n</answer>"
        score = rewards["coding"].compute_reward(answer, {"tests": [tests[name]]}, language=name)
    assert score.status == "passed", score
    took[f"{name} verdict"] = time.perf_counter() - start
took["the whole process"] = time.perf_counter() - began
print(json.dumps(took))
"""


def fetch(folder: Path, pythons: Sequence[str]) -> None:
    """Put the wheel and all that it depends on for each Python into the folder."""
    pip = [sys.executable, "-m", "pip"]
    _run([*pip, "wheel", "-q", "--no-deps", "-w", str(folder.absolute()), str(ROOT)])
    (wheel,) = folder.glob("infinite_rl-*.whl")
    for python in pythons:
        pip = [python, "-m", "pip"]
        _run([*pip, "download", "-q", "-d", str(folder.absolute()), str(wheel.absolute())])


def first_verdicts(wheels: Path, python: str, byte_compile: bool) -> dict[str, float]:
    """Return the seconds of each step on a machine that has nothing but Python, and the MB."""
    with tempfile.TemporaryDirectory() as folder:
        home, bin_ = Path(folder, "home"), Path(folder, "venv", "bin")
        home.mkdir()
        _run([python, "-m", "venv", str(bin_.parent)])
        before = _megabytes(bin_.parent)
        nothing = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
        words = ["--no-index", "--find-links", str(wheels.absolute())]
        words += [] if byte_compile else ["--no-compile"]
        start = time.perf_counter()
        _run([str(bin_ / "pip"), "install", "-q", *words, "infinite-rl"], nothing)
        took = {"pip install": time.perf_counter() - start}
        took["MB installed"] = _megabytes(bin_.parent) - before
        verdicts = [str(bin_ / "python"), "-c", VERDICTS]
        start = time.perf_counter()
        took |= json.loads(_run(verdicts, nothing))
        took["pip install and verdicts"] = took["pip install"] + time.perf_counter() - start
        _run([str(bin_ / "infinite-rl"), "doctor", "--warm_up", "all"], nothing)
        start = time.perf_counter()
        _run(verdicts, nothing)
        took["a second process"] = time.perf_counter() - start
    return took


def _megabytes(folder: Path) -> float:
    """Return the size of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def _run(command: list[str], environment: dict[str, str] | None = None) -> str:
    """Return what the command prints. Not in this folder, whose package Python would import."""
    done = subprocess.run(
        command, env=environment, cwd="/", stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--wheels", type=Path, help="where the wheels are, or are to be")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pythons", nargs="+", help="interpreters, in place of this one")
    args = parser.parse_args()
    wheels = args.wheels or Path(tempfile.mkdtemp())
    try:
        if not [*wheels.glob("infinite_rl-*.whl")]:
            fetch(wheels, args.pythons or [sys.executable])
        ways = {"without byte-compiling": (sys.executable, False), "with": (sys.executable, True)}
        if args.pythons:
            names = [_run([python, "--version"]).strip() for python in args.pythons]
            ways = {name: (each, True) for name, each in zip(names, args.pythons, strict=True)}
        rounds = [
            {way: first_verdicts(wheels, *how) for way, how in ways.items()}
            for _ in range(args.rounds)
        ]
    finally:
        if not args.wheels:
            shutil.rmtree(wheels)
    load = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(f"{processor()}, {load}, Python {platform.python_version()}\n")
    print(f"| s | {' | '.join(ways)} |\n|---|{'---:|' * len(ways)}")
    for step in next(iter(rounds[0].values())):
        figures = (statistics.median(each[way][step] for each in rounds) for way in ways)
        print(f"| {step} | {' | '.join(f'{figure:.2f}' for figure in figures)} |")


if __name__ == "__main__":
    main()
