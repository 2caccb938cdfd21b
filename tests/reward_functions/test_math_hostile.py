"""Hostile inputs to the math verdict: the right status, in bounds, wherever it is called from."""

import gc
import importlib.util
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from labelled import soak

from benchmarks.math_hostile import HOSTILE, INSIDE, NEEDS, PROOF, ROOT, SITUATIONS, Answer, Report
from infinite_rl.reward_functions.math import Verdict, verify

needs_sympy = pytest.mark.skipif(
    importlib.util.find_spec("sympy") is None, reason="sympy is not installed"
)
TIMEOUT_S = 2.0
LATE_S = 20.0  # far more than a busy machine pauses, and far less than a hang
MOST_MIB = 300
AUDITED = """
import sys
from benchmarks.math_hostile import HOSTILE
from infinite_rl.reward_functions.math import verify

def judge():
    for text, _ in HOSTILE.values():
        verify(text, "3"), verify("3", text)

judge()  # what is imported late is imported now
seen = set()
watched = {"compile", "exec", "open", "import", "os.system", "subprocess.Popen"}
sys.addaudithook(lambda event, _: seen.add(event) if event in watched else None)
judge()
print(sorted(seen))
"""


def test_a_hostile_text_comes_back_soon_from_a_worker_thread() -> None:
    verify(r"\sqrt{2}", "1.5")  # loads what is loaded once

    def work(text: str) -> tuple[list[Verdict], float]:
        start = time.thread_time()  # not the work of other threads
        return [verify(text, "3"), verify("3", text)], time.thread_time() - start

    faults = []
    gc.disable()  # a collection of the garbage of earlier tests may take a second
    try:
        with ThreadPoolExecutor(1) as pool:
            for name, (text, status) in HOSTILE.items():
                verdicts, seconds = pool.submit(work, text).result(60)
                explained = all(not verdict.equal and verdict.reason for verdict in verdicts)
                labelled = not status or {verdict.status for verdict in verdicts} == {status}
                if not (explained and labelled and seconds < 0.2):  # 100 ms a verdict
                    faults.append((name, verdicts, seconds))
    finally:
        gc.enable()
    assert faults == []


@pytest.mark.slow
def test_nothing_of_a_hostile_text_is_compiled_imported_or_run() -> None:
    run = subprocess.run(
        [sys.executable, "-c", AUDITED], capture_output=True, encoding="utf-8", cwd=ROOT
    )
    assert run.stdout == "[]\n", run.stderr
    assert not PROOF.exists()


# The others do what these do, and more.
CONTAINED = ("the main thread", "a thread pool", "asyncio", "a forked process")


@needs_sympy
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [*(name for name in SITUATIONS if name not in CONTAINED), *soak(*CONTAINED)]
)
def test_every_status_is_right_and_in_time_wherever_it_is_asked_for(name: str) -> None:
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
    symbolic = 1  # the benchmark asks all of them, and tells how late they are
    report = SITUATIONS[name](TIMEOUT_S, symbolic)
    assert len(report.answers) == len(HOSTILE) + symbolic
    assert not report.wrong()
    assert report.late_s() < LATE_S
    assert report.memory_mib < MOST_MIB
    assert bool(report.memory_mib) == Path("/proc/self/smaps_rollup").exists()
    assert not PROOF.exists()


def test_a_report_names_what_is_wrong_late_and_slow() -> None:
    assert set(INSIDE) | set(NEEDS) < set(SITUATIONS), "every way inside a process is a situation"
    to_sympy = Answer("twelve integrals", ("budget", "budget"), 0.0)
    assert to_sympy.right(sympy=False) and not to_sympy.right(sympy=True)
    answers = [
        Answer("power tower", ("budget", "equal"), 0.01),
        Answer("signs", ("different", "different"), 0.2, 0.2),
        Answer("integral of a tower", ("timeout", "timeout"), 0.75),
        Answer("set of roots", ("different", "unparsed"), 0.0),
    ]
    report = Report(answers, 0.5, "3.11", True, 90)
    assert [answer.name for answer in report.wrong()] == ["power tower", "set of roots"]
    assert [answer.name for answer in report.slow()] == ["signs"]
    assert report.late_s() == 0.25
