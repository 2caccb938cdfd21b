"""Hostile inputs to the math verdict, judged in every situation that it is called in.

    pip install ipykernel ray
    python -m benchmarks.math_hostile [--timeout SECONDS] [--python FILE ...]

Each situation is a process of its own that judges every input in both orders. A row of the table
tells how many statuses were right, how late the latest verdict came after its timeout, how many
needed over 100 ms of a processor (the symbolic ones may), and the most memory that the process and
its children held together, looked at every 20 ms. `--python` adds the main thread of another
Python, such as one with gmpy2 or without sympy. Exits with 1 where a status is wrong or an input
was executed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import importlib.util
import json
import multiprocessing
import os
import platform
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from infinite_rl.reward_functions.math import algebra, verify

ROOT = Path(__file__).resolve().parent.parent
PROOF = Path("/tmp/pwned")  # what an input would make if it were executed
LOAD_S = 60.0  # for the first question, which loads sympy
SOON_S = 0.1
LOOK_S = 0.02  # between two looks at the memory

# Each is asked whether it equals 3, which none does. Several also have one status that they must
# have.
HOSTILE: dict[str, tuple[str, str]] = {
    "list of lines": ("So it is done.\n" + "* a: 5\n" * 120 + "* a: 5:", ""),
    "conditions": ("So it " + "is if " * 160 + "is 5.", ""),
    "power tower": ("9^{9^{9^9}}", "budget"),
    "plain tower": ("9**9**9**9", "budget"),
    "negative tower": ("9^{-9^{9^9}}", "budget"),
    "tower of e": ("e^{e^{e^{e^e}}}", "budget"),
    "tower with a name": ("x^{9^{9^{9^9}}}", "budget"),
    "power of e": ("e^{10^{100}}", "budget"),
    "factorial": ("(10^9)!", "budget"),
    "factorial of factorial": ("((10!)!)!", "budget"),
    "binomial": (r"\binom{10^9}{10^8}", "budget"),
    "nested parentheses": ("(" * 1000 + "1" + ")" * 1000, "budget"),
    "open parentheses": ("(" * 600, "budget"),
    "nested fractions": (r"\frac{1}{" * 1000 + "1" + "}" * 1000, "budget"),
    "continued fraction": (r"\frac{1}{1+" * 100 + "1" + "}" * 100, "budget"),
    "nested roots": (r"\sqrt{" * 300 + "2" + "}" * 300, "budget"),
    "nested logarithms": (r"\log" * 300 + " 2", "budget"),
    "exponents": ("x^" * 300 + "x", "budget"),
    "bars": ("|" * 300 + "x" + "|" * 300, "budget"),
    "long sum": ("1+" * 50_000 + "1", "budget"),
    "sum of too many terms": ("1+" * 1_900 + "1", "budget"),
    "sum within the limits": ("1+" * 700 + "1", "different"),
    "signs": ("-" * 1400 + "5", "different"),
    "signs in turn": (r"\pm" * 50 + "1", "unparsed"),
    "factorials": ("5" + "!" * 1000, "unparsed"),
    "primes": ("x" + "'" * 1000, "unparsed"),
    "equal signs": ("1=" * 500 + "1", "different"),
    "letters": ("x" * 100_000, "budget"),
    "digits": ("9" * 100_000, "budget"),
    "digits of a repeating decimal": ("0.(" + "9" * 2_000 + ")", "budget"),
    "huge scientific notation": ("1e999999999", "budget"),
    "exponent beyond the limits": ("1e5500", "budget"),
    "product of large numbers": ("1e5000*1e5000*1e5000", ""),
    "many large numbers": (r" \cdot ".join(["9" * 900] * 4) + "^{50}", "budget"),
    "many denominators": ("+".join(f"1/{10**12 + i}" for i in range(200)), "different"),
    "power with many terms": ("(a+b+c+d+f)^{60}", "different"),
    "two powers with many terms": ("(a+b+c+d+f)^{60}(x+y+z+w)^{60}", "different"),
    "high degree": ("(x+1)^{5000}", "different"),
    "many variables": ("+".join("abcdfghjklmnopq"), "budget"),
    "large angle": (r"\sin(10^{4000})", "budget"),
    "large matrix": (
        r"\begin{pmatrix}" + r"\\".join(["&".join("1" * 60)] * 60) + r"\end{pmatrix}",
        "budget",
    ),
    "many matrices": (r"\begin{pmatrix} 1 & 1 \\ 1 & 1 \end{pmatrix}" * 40, "budget"),
    "large set": (r"\{" + ",".join(map(str, range(5000))) + r"\}", "budget"),
    "set of roots": (r"\{" + ",".join(rf"\sqrt{{{i}}}" for i in range(2, 200)) + r"\}", ""),
    "import": ("__import__('os').system('touch /tmp/pwned')", "unparsed"),
    "import in a box": (r"\boxed{__import__('os').getcwd()}", "unparsed"),
    "import in words": (r"\operatorname{__import__('os').getcwd()}", "different"),
    "attribute walk": ("().__class__.__mro__[1].__subclasses__()", "unparsed"),
    "lambda": ("(lambda: 3)()", "unparsed"),
    "null bytes": ("\0" * 50, "unparsed"),
    "number with a null byte": ("3\0", "unparsed"),
    "right-to-left mark": ("\u202e3", "unparsed"),
    "surrogate": ("\ud800", "unparsed"),
    "arabic digit": ("٣", "unparsed"),
    "emoji digit": ("3️⃣", "unparsed"),
    "open braces": ("{" * 500, "budget"),
    "closing braces": ("}" * 500, "unparsed"),
    "open boxes": (r"\boxed{" * 20_000, "unparsed"),
    "boxes in a row": (r"\boxed{1}, " * 5_000 + r"\boxed{3}", "unparsed"),
    "boxes far apart": (r"\boxed{3}" + " $" * 100_000 + r"\boxed{4}", "different"),
    "markers": ("the answer is " * 50_000, "unparsed"),
    "denials": ("not " * 100_000 + "the answer is 3", "unparsed"),
    "chain of a function": ("f(x)=" * 100 + "5", "unparsed"),
    "hidden by a tower": (r"3 + e^{-e^{e^{4}}}", "budget"),
    "hidden in a whole part": (r"\lfloor 4 - e^{-9000} \rfloor", ""),
    "many turns": ("+".join(f"|x-{i}|" for i in range(2, 120)), "different"),
    "open text": (r"\text{" * 500, "unparsed"),
    "dollars": ("$" * 5_000, "budget"),
    "spaces": (" " * 100_000, "unparsed"),
    "commas": ("," * 1_000, "unparsed"),
    "words": ("word " * 20_000, "budget"),
    "division by zero": ("1/0", "different"),
    "hidden division by zero": (r"\frac{3(x-x)}{x-x}", "different"),
    "infinity minus itself": (r"\infty - \infty", "different"),
    "nest of powers": ("(1+" * 39 + "x" + ")^{2}" * 39, "different"),
    "powers side by side": ("".join(f"(x+{i}y)^{{30}}" for i in range(1, 9)), "different"),
    "towers of names": ("+".join(f"x^{{x^{{{i}}}}}" for i in range(2, 60)), ""),
    "many factorials": ("+".join(["1000!"] * 200), "different"),
    "factorials of a name": ("+".join(["n!"] * 200), "different"),
    "many binomials": ("+".join(rf"\binom{{1000}}{{{i}}}" for i in range(2, 100)), "different"),
    "high roots": (rf"\sqrt[64]{{{10**900 + 1}}}", "different"),
    "many sines": ("+".join(rf"\sin({10**40 + i})" for i in range(120)), ""),
    "many arcs": ("+".join(rf"\arctan({i}/{i + 1})" for i in range(2, 150)), "different"),
    "many whole parts": ("+".join(rf"\lfloor {i}x \rfloor" for i in range(2, 100)), ""),
    "matrix of powers": (
        r"\begin{pmatrix}"
        + r"\\".join(["&".join(f"(x+{i})^{{50}}" for i in range(14))] * 14)
        + r"\end{pmatrix}",
        "",
    ),
    "long product": (r"\prod_{k=1}^{100} (x+k)^{20}", ""),
    "endless sum": (r"\sum_{k=1}^{1000000} k^{10}", "budget"),
    "integrals in integrals": (r"\int x" * 300 + " dx" * 300, ""),
    "braces in a box": (r"\boxed{" + "{" * 3_000 + "}" * 3_000 + "}", "budget"),
    "tags": ("<answer>4</answer>" * 20_000, "unparsed"),
    "open tags": ("<answer>" * 20_000, "unparsed"),
    "thoughts": ("<think>" * 50_000 + "answer", ""),
    "fences": ("```" * 30_000 + "<answer>4</answer>", ""),
    "digits after a letter": ("H" + "1" * 3_000 + "!", "unparsed"),
    "digits after a base": ("base " + "9" * 3_900 + "!", "unparsed"),
    "spaces after an answer": ("The answer is 4" + " " * 100_000 + "!", ""),
    "spaces after all numbers": ("all real" + " " * 3_900 + "!", "unparsed"),
    "a million characters": ("a " * 500_001, "unparsed"),
    "nothing": ("", "unparsed"),
    "empty box": (r"\boxed{}", "unparsed"),
    "refusal": ("I cannot answer that.", "different"),
    "hedge": ("3 or 4", "different"),
    "everything": (", ".join(map(str, range(100))), "different"),
}
# Questions to sympy, which may take until the timeout. Without sympy their status is "budget".
SYMBOLIC: dict[str, tuple[str, str]] = {
    "limit of nested functions": (
        r"\lim_{x \to 0} \frac{\sin(\tan x)-\tan(\sin x)}{\arcsin(\arctan x)-\arctan(\arcsin x)}",
        "different unparsed timeout",
    ),
    "integral of a tower": (r"\int_0^1 9^{9^{9^9}} \, dx", "timeout"),
    "integral of a power of itself": (r"\int_0^1 x^x \, dx", "unparsed timeout"),
    "integral of a tower of names": (r"\int_0^1 \sin(x^{x^x}) \, dx", "unparsed timeout"),
    "integral that diverges": (r"\int_0^1 \frac{1}{x} \, dx", "unparsed timeout"),
    "integral of a high degree": (r"\int_0^1 (x+1)^{5000} \, dx", "unparsed timeout"),
    "integral that oscillates": (
        r"\int_0^\infty \frac{\sin(x^{50})}{1+x^{7}} \, dx",
        "unparsed timeout",
    ),
    "integral over a fraction": (r"\int \frac{1}{x^{60}+x^{7}+1} \, dx", "unparsed timeout"),
    "integral of exponents": (r"\int e^{e^{e^{e^x}}} \, dx", "unparsed timeout"),
    "integral to a huge end": (r"\int_0^{10^{1000}} e^{-x^2} \, dx", "unparsed timeout"),
    "twelve integrals": (r"\int_0^1 " * 12 + "x" + " dx" * 12, "different timeout"),
    "sum without a closed form": (r"\sum_{n=1}^\infty \frac{1}{n^n}", "unparsed timeout"),
    "sum over roots": (r"\sum_{k=1}^\infty \frac{1}{k^5+k+1}", "unparsed timeout"),
    "sum of high powers": (r"\sum_{k=1}^{n} k^{300}", "unparsed different timeout"),
    "sum of many fractions": (r"\sum_{k=1}^{10^{9}} \frac{1}{k}", "unparsed timeout"),
    # With gmpy2 there is no memory for it long before its time is over.
    "sum of a huge factorial": (r"\sum_{k=0}^{\infty} \frac{(10^9)!}{k!}", "unparsed timeout"),
    "product that swells": (r"\prod_{k=1}^{n} 10^{300000 k^3}", "unparsed timeout"),
    "product of cubes": (r"\prod_{k=1}^{\infty} (1+\frac{1}{k^3})", "unparsed timeout"),
    "limit of a factorial": (r"\lim_{n \to \infty} \frac{n!}{n^n}", "different unparsed timeout"),
    "derivative of a tower": (r"\frac{d}{dx} x^{x^{x^{x^{x^x}}}}", "different timeout"),
}


@dataclass(frozen=True)
class Answer:
    """One input's statuses in both orders; of the slower verdict the seconds, and those of work."""

    name: str
    statuses: tuple[str, ...]
    took_s: float
    work_s: float = 0.0

    def right(self, sympy: bool) -> bool:
        if self.name in SYMBOLIC:
            wanted = SYMBOLIC[self.name][1] if sympy else "budget"
        else:
            wanted = HOSTILE[self.name][1]
        if wanted:
            return set(self.statuses) <= set(wanted.split())
        return "equal" not in self.statuses and len(set(self.statuses)) == 1


@dataclass(frozen=True)
class Report:
    """What one process found. `python` is its version, and what matters of its packages."""

    answers: Sequence[Answer]
    timeout: float
    python: str
    sympy: bool
    memory_mib: int

    def wrong(self) -> list[Answer]:
        return [answer for answer in self.answers if not answer.right(self.sympy)]

    def late_s(self) -> float:
        return max(answer.took_s for answer in self.answers) - self.timeout

    def slow(self) -> list[Answer]:
        """Those that were worked on for over 100 ms and are not symbolic."""
        late = [answer for answer in self.answers if answer.work_s > SOON_S]
        return [answer for answer in late if answer.name not in SYMBOLIC]


# --- in the process that judges ------------------------------------------------------------------


def examine(timeout: float, symbolic: int = len(SYMBOLIC)) -> str:
    """Judge all hostile inputs and so many symbolic ones; a `Report` as JSON."""
    return _answers_json(timeout, symbolic, map)


def _answers_json(timeout: float, symbolic: int, ask_each: Callable[..., Any]) -> str:
    has_sympy = importlib.util.find_spec("sympy") is not None
    warm = verify(r"\int_0^1 e^x \, dx + \sqrt{2}", r"e - 1 + \sqrt{2}", timeout=LOAD_S)
    assert warm.equal == has_sympy and warm.missing != has_sympy, warm
    inputs = {name: text for name, (text, _) in HOSTILE.items()}
    inputs |= {name: text for name, (text, _) in list(SYMBOLIC.items())[:symbolic]}
    watcher = Watcher()
    answers = list(ask_each(partial(_answer, timeout), inputs, inputs.values()))
    memory = watcher.most_mib()
    algebra.close()
    report = Report(answers, timeout, _python(), has_sympy, memory)
    return json.dumps(asdict(report))


def _answer(timeout: float, name: str, text: str) -> Answer:
    statuses, took, work = [], [], []
    for pair in ((text, "3"), ("3", text)):
        start, start_of_work = time.perf_counter(), time.thread_time()
        statuses.append(verify(*pair, timeout=timeout).status)
        took.append(time.perf_counter() - start)
        work.append(time.thread_time() - start_of_work)
    return Answer(name, tuple(statuses), max(took), max(work))


def _python() -> str:
    has = {name: importlib.util.find_spec(name) is not None for name in ("gmpy2", "sympy")}
    beside = ", ".join(f"{'with' if there else 'without'} {name}" for name, there in has.items())
    return f"{platform.python_version()} {beside}"


class Watcher:
    """A process beside this one, which sums the memory of this one and its descendants."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "benchmarks.math_hostile", "--watch", str(os.getpid())]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="ascii"
        )
        assert self._process.stdout
        self._process.stdout.readline()

    def most_mib(self) -> int:
        """The most until now, 0 where there is no `/proc`. It ends with this."""
        output, _ = self._process.communicate("enough\n")
        return int(output)


def watch(process: int) -> None:
    """Say that it begins, look until something comes on standard input, and tell the most MiB."""
    print("watching", flush=True)
    most = 0
    while not select.select([sys.stdin], [], [], LOOK_S)[0]:
        most = max(most, sum(map(_kib, _tree(process))))
    print(most // 1024)


def _tree(process: int) -> Iterator[int]:
    if process == os.getpid():
        return
    yield process
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            for child in children.read_text(encoding="ascii").split():
                yield from _tree(int(child))


def _kib(process: int) -> int:
    """The memory of a process; a page that several have is shared out among them."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
        return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
    return 0


# --- the situations ------------------------------------------------------------------------------


def in_a_pool(timeout: float, symbolic: int) -> str:
    with ThreadPoolExecutor(1) as pool:
        return _answers_json(timeout, symbolic, pool.map)


def in_many_threads(timeout: float, symbolic: int) -> str:
    with ThreadPoolExecutor(4) as pool:
        return _answers_json(timeout, symbolic, pool.map)


def in_asyncio(timeout: float, symbolic: int) -> str:
    async def ask() -> str:
        return await asyncio.to_thread(examine, timeout, symbolic)

    return asyncio.run(ask())


def in_a_process(method: str, daemon: bool, timeout: float, symbolic: int) -> str:
    """In a child that starts workers of its own, whatever this process has started before."""
    verify(r"\int_0^1 e^x \, dx", "e - 1", timeout=LOAD_S)
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe()
    process = context.Process(target=_send, args=(theirs, timeout, symbolic), daemon=daemon)
    process.start()
    theirs.close()
    output: str = ours.recv()
    process.join()
    return output


def _send(pipe: Any, timeout: float, symbolic: int) -> None:
    pipe.send(examine(timeout, symbolic))


INSIDE: dict[str, Callable[[float, int], str]] = {
    "the main thread": examine,
    "a thread pool": in_a_pool,
    "four threads at once": in_many_threads,
    "asyncio": in_asyncio,
    "a forked process": partial(in_a_process, "fork", False),
    "a spawned process": partial(in_a_process, "spawn", False),
    "a daemonic process": partial(in_a_process, "fork", True),
}


def inside(name: str, timeout: float, symbolic: int, python: str = sys.executable) -> Report:
    code = f"from benchmarks.math_hostile import INSIDE; print(INSIDE[{name!r}]"
    return _ran([python, "-c", f"{code}({timeout}, {symbolic}))"])


def script(timeout: float, symbolic: int) -> Report:
    """A file that judges as soon as it is imported: a spawned child of it would start another."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "script.py")
        path.write_text(_lines(timeout, symbolic), encoding="utf-8")
        return _ran([sys.executable, str(path)])


def standard_input(timeout: float, symbolic: int) -> Report:
    return _ran([sys.executable, "-"], _lines(timeout, symbolic))


def _lines(timeout: float, symbolic: int) -> str:
    return f"from benchmarks.math_hostile import examine\nprint(examine({timeout}, {symbolic}))\n"


def _ran(command: Sequence[str], text: str = "") -> Report:
    run = subprocess.run(
        command, input=text, capture_output=True, encoding="utf-8", env=_environment()
    )
    assert run.returncode == 0 and not run.stderr, run.stderr
    return _report(run.stdout)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def _report(output: str) -> Report:
    fields = json.loads(output)
    answers = [Answer(**answer) for answer in fields.pop("answers")]
    return Report(answers, **fields)


def notebook(timeout: float, symbolic: int) -> Report:
    """A cell of a real kernel, which has threads and an event loop of its own."""
    client: Any = importlib.import_module("jupyter_client.manager")
    manager, kernel = client.start_new_kernel(env=_environment())
    output: list[str] = []

    def hear(message: Any) -> None:
        assert message["msg_type"] != "error", message["content"]
        output.append(message["content"].get("text", ""))

    try:
        kernel.execute_interactive(_lines(timeout, symbolic), timeout=300, output_hook=hear)
    finally:
        kernel.stop_channels()
        manager.shutdown_kernel(now=True)
    return _report("".join(output))


def ray_actor(timeout: float, symbolic: int) -> Report:
    ray: Any = importlib.import_module("ray")

    class Judge:
        def examine(self) -> str:
            return examine(timeout, symbolic)

    environment = {"env_vars": {"PYTHONPATH": str(ROOT)}}
    ray.init(
        "local", num_cpus=1, include_dashboard=False, runtime_env=environment, log_to_driver=False
    )
    try:
        return _report(ray.get(ray.remote(Judge).remote().examine.remote()))
    finally:
        ray.shutdown()


SITUATIONS: dict[str, Callable[[float, int], Report]] = {
    **{name: partial(inside, name) for name in INSIDE},
    "an unguarded script": script,
    "`python -`": standard_input,
    "a notebook kernel": notebook,
    "a Ray actor": ray_actor,
}
NEEDS = {"a notebook kernel": "ipykernel", "a Ray actor": "ray"}


# --- the table -----------------------------------------------------------------------------------


def row(name: str, report: Report) -> str:
    right = len(report.answers) - len(report.wrong())
    late, slow = 1000 * report.late_s(), len(report.slow())
    figures = f"{len(report.answers)} | {right} | {late:+.0f} ms | {slow} | {report.memory_mib} MiB"
    return f"| {name}, Python {report.python} | {figures} |"


def reports(timeout: float, pythons: Sequence[str]) -> Iterator[tuple[str, Report]]:
    for name, situation in SITUATIONS.items():
        if importlib.util.find_spec(NEEDS.get(name, "json")) is None:
            print(f"| {name}: {NEEDS[name]} is not installed |")
            continue
        yield name, situation(timeout, len(SYMBOLIC))
    for python in pythons:
        name = "the main thread"
        yield name, inside(name, timeout, len(SYMBOLIC), python)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--timeout", type=float, default=0.5, help="seconds of each verdict")
    parser.add_argument("--python", nargs="*", default=[], help="other Pythons to run it with")
    parser.add_argument("--watch", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.watch:
        watch(options.watch)
        return
    print(f"{len(HOSTILE)} hostile inputs and {len(SYMBOLIC)} questions to sympy, each in both")
    print(f"orders, timeout {options.timeout} s; {os.cpu_count()} cores, ", end="")
    print(
        f"load {os.getloadavg()[0]:.1f}\n\n| called from | inputs | right | latest after ", end=""
    )
    print(
        "the timeout | others over 100 ms of work | most memory |\n|---|---:|---:|---:|---:|---:|"
    )
    notes: list[str] = []
    for name, report in reports(options.timeout, options.python):
        print(row(name, report), flush=True)
        notes += [f"wrong, {name}: {one.name} {one.statuses}" for one in report.wrong()]
        notes += [f"slow, {name}: {one.name} {one.work_s:.3f} s" for one in report.slow()]
    if PROOF.exists():
        notes.append(f"wrong: an input was executed and made {PROOF}")
    print("\n" + "\n".join(f"- {note}" for note in notes))
    sys.exit(any(note.startswith("wrong") for note in notes))


if __name__ == "__main__":
    main()
