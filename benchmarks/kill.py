"""Kill generation at random moments, start it again, and see whether anything was lost.

    python -m benchmarks.kill [--kills N] [--rows N]

The real command runs against a Gemini service on loopback and is killed (SIGKILL) at a random
moment, again and again, with one thread and with eight. Then it is let finish. Looked for: another
number of rows than asked for, a half row, two rows of one slot or of one prompt, an answer of the
service that no journal line holds (but for calls that were under way at a kill), and a call that
the service has answered twice, which it counts by the seed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from infinite_rl.certificates import CertificateIndex
from infinite_rl.files.logs import read_rows
from infinite_rl.inference.journal import answers, slot_seed
from infinite_rl.layout import render, tagged
from infinite_rl.solver_prompts import INITIAL_SOLUTIONS, MAX_SOLUTIONS
from infinite_rl.store import DATASET, DATASET_COLUMNS, FAILED, FAILED_COLUMNS, JOURNAL

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

import gemini_server as gemini  # noqa: E402 -- it lies with the tests

LONGEST_LATENCY_S = 0.05
FAULTY = 5  # one answer of so many is wrong and asked for again


@dataclass
class Killing:
    """One folder, its kills, and what was found wrong in the end."""

    threads: int
    rows: int
    kills: int
    seed: int
    faults: list[str] = field(default_factory=list)
    responses: Counter[int] = field(default_factory=Counter)
    lost: int = 0

    def go(self) -> Killing:
        source, wanted, self.kills = random.Random(self.seed), self.kills, 0
        with (
            tempfile.TemporaryDirectory() as folder,
            gemini.GeminiServer(self._answer) as server,
        ):
            out = Path(folder) / "out"
            while self.kills < wanted:
                # A share of the rows each time, so that there is something to kill until the end.
                target = self.rows + self.kills * self.rows
                self._kill(self._start(server, out, target), out, source)
            done = self._start(server, out, self.rows * (wanted + 1))
            if done.wait(600):
                self.faults.append(f"the last run ended with {done.returncode}")
            self._look(out, self.rows * (wanted + 1))
        return self

    def _answer(self, request: gemini.Request) -> gemini.Reply:
        seed = request.seed or 0
        time.sleep(random.Random(seed).random() * LONGEST_LATENCY_S)
        self.responses[seed] += 1  # of one thread at a time, for one seed
        if request.prompt.startswith("What is"):  # a solution, of which every fifth is wrong
            right = int(request.prompt.split()[2])
            return gemini.text(tagged(str(-seed if seed % FAULTY == 0 else right)))
        shown = seed + (seed % FAULTY == 0)
        return gemini.text(render(f"What is {seed} + 0?", f"{seed}", f"It is {tagged(str(shown))}"))

    def _start(self, server: gemini.GeminiServer, out: Path, rows: int) -> subprocess.Popen[bytes]:
        options = ["--num_samples", rows, "--threads", self.threads, "--task_dist", "0,1"]
        options += ["--min_distinct", 0]  # its sums are one task, on purpose
        return subprocess.Popen(
            [sys.executable, str(ROOT / "scripts" / "generate.py"), *map(str, options)]
            + ["--out_dir", str(out)],
            env={**os.environ, **server.environment, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _kill(self, process: subprocess.Popen[bytes], out: Path, source: random.Random) -> None:
        """Kill it at a random moment after its first new line in the journal."""
        journal = out / JOURNAL
        before = journal.stat().st_size if journal.exists() else 0
        while process.poll() is None and (not journal.exists() or journal.stat().st_size <= before):
            time.sleep(0.002)
        try:
            process.wait(source.random() ** 2 * self.rows * LONGEST_LATENCY_S / self.threads)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            self.kills += 1
        process.wait()

    def _look(self, out: Path, rows: int) -> None:
        kept_rows = list(read_rows(out / DATASET, DATASET_COLUMNS))
        failed = list(read_rows(out / FAILED, FAILED_COLUMNS))
        if len(kept_rows) != rows:
            self.faults.append(f"{len(kept_rows)} rows instead of {rows}")
        for name in ("slot", "prompt", "id"):
            if len({row[name] for row in kept_rows}) != len(kept_rows):
                self.faults.append(f"two rows with one {name}")
        slots = [row["slot"] for row in kept_rows + failed]
        if len(set(slots)) != len(slots):
            self.faults.append("two rows, kept or failed, of one slot")
        twice = [seed for seed, count in self.responses.items() if count > 1]
        if twice:
            self.faults.append(f"{len(twice)} calls were answered twice")
        journaled = {slot_seed(0, slot): slot for slot, _ in answers(out)}
        samples = [slot for slot in journaled.values() if not slot.role]
        if len(samples) != len(slots):
            self.faults.append(f"{len(samples)} samples and {len(slots)} rows, kept or failed")
        solved = Counter(
            str(slot).partition("/solve")[0] for slot in journaled.values() if slot.role
        )
        if any(solved[row["slot"]] < INITIAL_SOLUTIONS for row in kept_rows):
            self.faults.append("a row without its independent solutions")
        certificates = CertificateIndex(out)
        if not all(certificates.take(row["id"]) for row in kept_rows) or certificates.surplus:
            self.faults.append("a row without its certificate, or a certificate without its row")
        if any(count > MAX_SOLUTIONS for count in solved.values()):
            self.faults.append("more independent solutions than were asked for")
        self.lost = len(self.responses.keys() - journaled.keys())
        if self.lost > self.kills * self.threads:
            self.faults.append(f"{self.lost} answers were lost, more than were under way")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="for each number of threads")
    parser.add_argument("--rows", type=int, default=40, help="rows that each run is asked for")
    options = parser.parse_args()
    print("| threads | kills | rows | answers | lost with a kill | faults |")
    print("|---:|---:|---:|---:|---:|---|")
    for threads in (1, 8):
        done = Killing(threads, options.rows, options.kills, seed=threads).go()
        rows = options.rows * (done.kills + 1)
        faults_text = "; ".join(done.faults) or "none"
        count = sum(done.responses.values())
        print(
            f"| {threads} | {done.kills} | {rows} | {count} | {done.lost} | {faults_text} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
