"""Whether the task engine makes new tasks, at the edge of what a learner can do.

    python -m benchmarks.task_engine [--quick] [--only PART,PART]

Authors and learners are simulated (see `simulated_author.py`): they write real text of 5,000 hidden
ideas over loopback, and the real `generate_dataset`, or the command, asks them. Beside the engine,
the naive prompt: one example, one sentence, the last three prompts.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.kill import LONGEST_LATENCY_S, Killing
from benchmarks.sandbox import processor
from benchmarks.simulated_author import (
    CONCEPTS,
    IDEAS,
    ROOT,
    Service,
    World,
    listed,
    maths,
    openai,
    task,
)
from infinite_rl.files.logs import CsvLog, read_jsonl, read_rows
from infinite_rl.generation.ideas import IdeaCall, Ideas
from infinite_rl.generation.novelty import Novelty
from infinite_rl.generation.plan import Plan
from infinite_rl.generation.planner import Planner
from infinite_rl.generation.progress import Progress
from infinite_rl.generator import generate_dataset
from infinite_rl.inference.journal import Journal, answers, slot_seed
from infinite_rl.providers.openai_compatible import OpenAICompatibleProvider
from infinite_rl.space import Space
from infinite_rl.store import DATASET, DATASET_COLUMNS, FAILED, FAILED_COLUMNS, SOLUTIONS, Store
from infinite_rl.tasks import TASKS
from infinite_rl.types import Completion, Outcome, RewardFunctionScore, Sample

THREADS = 4
Row = dict[str, str]


@dataclass(frozen=True)
class Made:
    """What a run has made, and the service that it asked."""

    service: Service
    rows: Sequence[Row]
    progress: Progress
    seconds: float

    @property
    def distinct(self) -> int:
        """The number of hidden ideas of the rows."""
        return len({self.service.tasks[row["prompt"]][0] for row in self.rows})

    def calls(self, *kinds: str) -> float:
        """The calls of these kinds for a row that was kept."""
        return sum(self.service.calls[kind] for kind in kinds) / max(1, len(self.rows))

    def inside(self, low: float, high: float) -> float:
        """The share of rows whose hidden pass rate is in a band."""
        rates = [
            self.service.rates.get(row["prompt"]) or self.service.rate(row["prompt"])
            for row in self.rows
        ]
        return mean(low <= rate <= high for rate in rates)


def generated(world: World, rows: int, *, naive: bool = False, **options: Any) -> Made:
    """Generate rows of mathematics by the simulated models."""
    service = Service(world)
    started = time.perf_counter()
    with openai.OpenAIServer(service) as server, tempfile.TemporaryDirectory() as folder:

        def provider(model: str) -> OpenAICompatibleProvider:
            return OpenAICompatibleProvider(model, api_key=openai.KEY, base_url=server.base_url)

        if naive:
            options |= {"ideas": False, "novelty": False}
        if options.get("pass_rate"):
            options["solver"] = provider("learner")
        progress = generate_dataset(
            None, rows, folder, num_threads=THREADS, task_dist={"math": 1.0}, verify=0,
            provider=provider("author"), save_every=100,
            extra_tasks={"math": maths(Space()) if naive else maths()},
            **options,
        )  # fmt: skip
        kept = list(read_rows(Path(folder) / DATASET, DATASET_COLUMNS))
    return Made(service, kept, progress, time.perf_counter() - started)


# --- the parts -----------------------------------------------------------------------------------


def distinct(quick: bool) -> Iterator[str]:
    """Distinct tasks, by the hidden ids."""
    rows = 100 if quick else 1000
    yield "| Zipf | obeys | attention | reworded | rows | distinct | author calls a row | prompt |"
    yield f"|{'---|' * 8}"
    usual = World()
    worlds = [usual] if quick else [World(exponent) for exponent in (0.8, 1.0, 1.2)]
    for world in worlds:
        yield _distinct_line(world, "naive", generated(world, rows, naive=True))
    if not quick:
        worlds += [World(exponent, 0.5) for exponent in (0.8, 1.0, 1.2)]
        worlds += [replace(usual, obeys=0.0), replace(usual, attention=0.7)]
        worlds += [replace(usual, reworded=0.0), replace(usual, reworded=0.67)]
    for world in worlds:
        yield _distinct_line(world, "engine", generated(world, rows))


def _distinct_line(world: World, name: str, done: Made) -> str:
    calls = done.calls("drafts", "ideas", "screens")
    stopped = "; ".join(done.progress.given_up.values())
    return (
        f"| {world.exponent} | {world.obeys} | {world.attention} | {world.reworded} "
        f"| {len(done.rows)} | {done.distinct} | {calls:.2f} | {name} {stopped} |"
    )


def dry(quick: bool) -> Iterator[str]:
    """An author that knows 12 tasks, asked for 300 rows: by the command."""
    yield "| threads | prompt | rows | author calls | exit code | it says |"
    yield "|---|---|---|---|---|---|"
    for threads in (4,) if quick else (1, 16):
        for name, naive in (("naive", True), ("engine", False)):
            service = Service(World(existing=12))
            with openai.OpenAIServer(service) as server, tempfile.TemporaryDirectory() as folder:
                out = Path(folder) / "out"
                done = subprocess.run(
                    command(out, 300, threads, naive=naive), env=environment(server),
                    capture_output=True, text=True, check=False,
                )  # fmt: skip
                rows = sum(1 for _ in read_rows(out / DATASET, DATASET_COLUMNS))
            output = next((line for line in done.stderr.splitlines() if "dry" in line), "")
            output = output or " ".join(done.stderr.split())[-160:]
            calls = sum(service.calls[kind] for kind in ("drafts", "ideas", "screens"))
            yield f"| {threads} | {name} | {rows} | {calls} | {done.returncode} | {output} |"


TASK_FILE = """name: math
reward: math
request: Create a new mathematics problem.
answer: The value only.
response: The tag holds exactly one value.
axes:
  concept: {{values: [{concepts}], phrase: "The concept is: {{value}}"}}
  level: {{values: [1, 2, 3, 4, 5], phrase: "The level, of 1 to 5, is: {{value}}"}}
"""


def command(
    out: Path, rows: int, threads: int, *more: object,
    naive: bool = False,
) -> list[str]:  # fmt: skip
    """The command that makes rows by the simulated author."""
    file = out.parent / "task.yaml"
    file.write_text(TASK_FILE.format(concepts=", ".join(CONCEPTS)))
    engine = ["--no_ideas", "--no_novelty"] if naive else ["--tasks", file]
    options = [
        *("--num_samples", rows, "--out_dir", out, "--threads", threads, "--verify", 0),
        *("--provider", "openai_compatible", "--model_name", "author", "--quiet"),
        *("--task_dist", "math=1", *engine, *more),
    ]
    return [sys.executable, str(ROOT / "scripts" / "generate.py"), *map(str, options)]


def environment(server: openai.OpenAIServer) -> dict[str, str]:
    """Variables of a process that asks the service."""
    return {**os.environ, **server.environment, "PYTHONPATH": str(ROOT)}


def band(quick: bool) -> Iterator[str]:
    """Rows within a pass rate of 0.2 to 0.8, by the hidden rate when a row is made.

    The naive prompt asks for no level, and the author's own is 1.5; the learner's skill is a level.
    """
    rows = 60 if quick else 300
    yield "| noise | skill | prompt | rows | inside | solver calls a row | author calls a row |"
    yield "|---|---|---|---|---|---|---|"
    cases = [(1.0, 3.0, 0.0)]
    if not quick:
        cases = [(noise, skill, 0.0) for noise in (0.5, 1.0, 1.5) for skill in (2.0, 3.0, 4.0)]
        cases += [(1.0, 2.0, 1.0)]
    for noise, skill, growth in cases:
        world = World(noise=noise, skill=skill, growth=growth)
        for name in ("naive", "engine"):
            options = {} if name == "naive" else {"pass_rate": "0.2:0.8"}
            done = generated(world, rows, naive=name == "naive", **options)
            ends = f" to {done.service.skill():.1f}" if growth and options else ""
            author = done.calls("drafts", "ideas", "screens")
            yield (
                f"| {noise} | {skill}{ends} | {name} | {len(done.rows)} | "
                f"{done.inside(0.2, 0.8):.1%} | {done.calls('learner'):.1f} | {author:.2f} |"
                + " ".join(done.progress.given_up.values())
            )


def cost(quick: bool) -> Iterator[str]:
    """The engine's own CPU a call, and its memory, with many rows in the folder."""
    rows = 5_000 if quick else 100_000
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.task_engine", "--measure", folder, str(rows)],
            capture_output=True, text=True, check=True, cwd=ROOT,
        )  # fmt: skip
    yield done.stdout.strip()


def measure(folder: Path, count: int) -> None:
    """Write a folder of rows, open it, and plan and store further rows, without any request."""
    source = random.Random(0)
    line = dict.fromkeys(DATASET_COLUMNS, "")
    with closing(CsvLog(folder / DATASET, DATASET_COLUMNS)) as log:
        list(log.recover(*DATASET_COLUMNS))
        for number in range(count):
            idea = source.choice(IDEAS)
            prompt, answer, response = task(idea, source, 0.3)
            log.append({
                **line, "type": "math", "prompt": prompt, "answer": answer, "response": response,
                "id": f"{number:016x}", "slot": f"math/{number}/0/0", "concept": idea.concept,
                "level": "3", "idea": listed(idea, source, 0.3),
            })  # fmt: skip
    before, started = memory_mb(), time.process_time()
    gate = Novelty()
    kind = maths()
    plan = Plan.of(
        count + 1000, {"math": 1}, {**TASKS, "math": kind}, ("python",), {"math": 1, "coding": 1}
    )
    with Store(folder, gate) as store, closing(Journal(folder)) as journal:
        planner = Planner(plan, store, journal, ideas=True, gate=gate, threads=8)
        opened, memory_mib = time.process_time() - started, memory_mb() - before
        calls, spent = 0, 0.0
        while calls < 1500:
            started = time.process_time()
            job = planner.waiting.popleft() if planner.waiting else planner.next("math", 1000)
            spent += time.process_time() - started
            calls += 1
            assert job
            if isinstance(job, IdeaCall):
                text = "\n".join(
                    f"{n}. {listed(source.choice(IDEAS), source, 0.3)}"
                    for n in range(1, len(job.samples) + 1) for _ in range(3)
                ) if job.slot.role == "ideas" else "none"  # fmt: skip
                completion = Completion(text, "author", labels=job.labels)
                started = time.process_time()
                planner.take(Ideas.of(job, completion))
            else:
                sample = Sample("math", *task(source.choice(IDEAS), source, 0.3))
                score = RewardFunctionScore(1.0, 1.0, status="passed")
                outcome = Outcome(job, sample, score, Completion("", "author", labels=job.labels))
                started = time.process_time()
                store.repeats(sample)  # by the thread that judges it
                planner.after(store.append(outcome))
            spent += time.process_time() - started
    print("| rows | opened in | memory | CPU a call |\n|---|---|---|---|")
    print(f"| {count} | {opened:.0f} s | {memory_mib:.0f} MB | {1000 * spent / calls:.2f} ms |")


def memory_mb() -> float:
    """The resident memory of this process."""
    text = Path("/proc/self/status").read_text()
    return int(text.partition("VmRSS:")[2].split()[0]) / 1000


class Kills(Killing):
    """Kills while ideas, screens, drafts, attempts, solutions and judgements are under way."""

    def __init__(self, threads: int, kills: int, seed: int = 0) -> None:
        super().__init__(threads, 6, kills, seed=1000 * seed + threads)
        self.service = Service(World(noise=0.5))

    def go(self) -> Kills:
        """Kill, let it finish, and look."""
        source, wanted, self.kills = random.Random(self.seed), self.kills, 0
        with openai.OpenAIServer(self._late) as server, tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            while self.kills < wanted:
                self._kill(self._started(server, out, self.rows * (self.kills + 1)), out, source)
            last = self._started(server, out, self.rows * (wanted + 1))
            if last.wait(600):
                self.faults.append(f"the last run ended with {last.returncode}")
            self._matches(out, self.rows * (wanted + 1))
        return self

    def _late(self, request: openai.Request) -> str:
        time.sleep(random.Random(request.seed).random() * LONGEST_LATENCY_S)
        return self.service(request)

    def _started(
        self, server: openai.OpenAIServer, out: Path, rows: int
    ) -> subprocess.Popen[bytes]:
        more = ("--pass_rate", "0.2:0.8", "--solver", "learner", "--judge", "judge", "--verify", 2)
        return subprocess.Popen(
            command(out, rows, self.threads, *more, "--min_distinct", 0),
            env=environment(server), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def _matches(self, out: Path, rows: int) -> None:
        kept = list(read_rows(out / DATASET, DATASET_COLUMNS))
        failed = list(read_rows(out / FAILED, FAILED_COLUMNS))
        if len(kept) != rows:
            self.faults.append(f"{len(kept)} rows instead of {rows}")
        for name in ("slot", "prompt", "id", "idea"):
            if len({row[name] for row in kept}) != len(kept):
                self.faults.append(f"two rows with one {name}")
        slots = [row["slot"] for row in kept + failed]
        if len(set(slots)) != len(slots):
            self.faults.append("two rows, kept or failed, of one slot")
        twice = [kind for (kind, _), count in self.service.by_seed.items() if count > 1]
        if twice:
            self.faults.append(f"answered twice: {dict(Counter(twice))}")
        seeds = {slot_seed(0, slot): slot for slot, _ in answers(out)}
        drafts = [slot for slot in seeds.values() if not slot.role]
        if len(drafts) != len(slots):
            self.faults.append(f"{len(drafts)} drafts and {len(slots)} rows, kept or failed")
        attempts = Counter(row["slot"] for _, row in read_jsonl(out / SOLUTIONS, dict))
        if any(attempts[row["slot"]] != int(row["attempts"] or 0) for row in kept):
            self.faults.append("a row whose attempts are not all in solutions.jsonl")
        if any(not row["judge"] for row in kept):
            self.faults.append("a row without its judgement")
        self.lost = len({seed for _, seed in self.service.by_seed} - seeds.keys())
        if self.lost > self.kills * self.threads:
            self.faults.append(f"{self.lost} answers were lost, more than were under way")


def kills(quick: bool) -> Iterator[str]:
    """Kills (SIGKILL) at random moments, over all stages of a row."""
    yield "| threads | kills | rows | calls by stage | lost with a kill | faults |"
    yield "|---|---|---|---|---|---|"
    kills = 5 if quick else 25
    for threads, seed in itertools.product((1, 8), range(1 if quick else 4)):
        done = Kills(threads, kills, seed).go()
        stages = ", ".join(f"{kind} {count}" for kind, count in done.service.calls.items())
        faults = "; ".join(done.faults) or "none"
        rows = done.rows * (done.kills + 1)
        yield f"| {threads} | {done.kills} | {rows} | {stages} | {done.lost} | {faults} |"


PARTS: Mapping[str, Callable[[bool], Iterator[str]]] = {
    "distinct": distinct,
    "dry": dry,
    "band": band,
    "cost": cost,
    "kills": kills,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows and settings")
    parser.add_argument("--only", default="", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(Path(options.measure[0]), int(options.measure[1]))
        return
    print(f"{processor()}, {os.cpu_count()} CPUs, Python {sys.version.split()[0]}")
    for name, part in PARTS.items():
        if name in (options.only or name).split(","):
            print(f"\n### {part.__doc__}\n")
            for line in part(options.quick):
                print(line, flush=True)


if __name__ == "__main__":
    main()
