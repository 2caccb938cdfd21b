"""Kill training at random moments, go on from the last checkpoint, and compare with a whole run.

    python -m benchmarks.train_kill [--kills N] [--steps N] [--only NAME]

A tiny model is trained twice with one config: once in peace, once in processes that are killed
(SIGKILL) at random moments, each of which goes on where the one before left a whole checkpoint, or
begins anew where there was none yet. Looked for: a step that is missing or there twice, a step
whose numbers differ from those of the peaceful run in any bit, sampled answers that differ, other
weights in the end, a checkpoint that is ready but cannot be loaded, and a process that fails.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from infinite_rl.training.runs.checkpoint import load_state, newest, ready
from infinite_rl.training.runs.run_folder import EVENTS, read_events, read_rollouts

# A new process has what is slow to load already, and nothing else.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["infinite_rl.training.engines.local", "transformers.models.qwen3.modeling_qwen3", "tokenizers"]
)
MOST_LINES, LONGEST_STEP_S = 12, 0.1  # that a process lives: lines written, and then seconds
SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "attention_dropout": 0.1,  # its random numbers must go on as well
}
# Of a step's event, what a clock has said.
CLOCKED = ("time", "tokens_per_s", "mfu")
RUNS: Mapping[str, Mapping[str, Any]] = {
    "SFT": {"algorithm": "sft", "warmup_steps": 3, "weight_decay": 0.1},
    "GRPO": {"algorithm": "grpo", "kl_coef": 0.01},
    "GRPO, staleness 1": {"algorithm": "grpo", "max_staleness": 1},
    "DAPO with SFT beside": {"algorithm": "grpo", "loss": "dapo", "sft_weight": 0.1},
}
SHARED = {
    "prompt_template": "plain",
    "batch_size": 4,
    "group_size": 4,
    "max_new_tokens": 4,
    "reward_truncated": True,  # what it is to learn from is a share of the answer
    "tokens_per_batch": 256,
    "learning_rate": 1e-3,
    "save_every": 2,
    "save_total_limit": 2,
    "device": "cpu",
}


def make_model(folder: Path) -> None:
    """A model of some 10,000 weights and its tokenizer."""
    from infinite_rl.training.runs.demo import make_tokenizer, tiny_model

    tokenizer = make_tokenizer([row["prompt"] for row in rows()])
    for each in (tokenizer, tiny_model(tokenizer, seed=0, **SHAPE)):
        each.save_pretrained(folder)


def rows() -> list[dict[str, Any]]:
    """Sums of two digits; what they make is the response."""
    return [
        {"type": "math", "prompt": f"{a}+{b}=", "answer": str(a + b), "response": str(a + b)}
        for a in range(10)
        for b in range(10)
    ]


def reward(prompts: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[float]:
    """The share of the sum's digits that are right: what a model that knows nothing can learn."""
    return [
        sum(a == b for a, b in zip(row["answer"], text, strict=False)) / len(row["answer"])
        - 0.01 * abs(len(text) - len(row["answer"]))
        for row, text in zip(prompts, texts, strict=True)
    ]


def child(config: Mapping[str, Any], resume: str, errors: str) -> None:
    """One process: train, or go on training."""
    with open(errors, "ab") as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
    import torch

    from infinite_rl.training import TrainingConfig, train

    torch.set_num_threads(1)
    train(rows(), reward, TrainingConfig.of(config), resume=resume or None)


def killed(name: str, kills: int, steps: int) -> Killing:
    """A kind of run, killed so many times, and what was found."""
    with tempfile.TemporaryDirectory() as folder:
        make_model(Path(folder) / "model")
        return Killing(name, Path(folder), steps).go(kills, random.Random(name))


@dataclass
class Killing:
    """One config, its kills, and what was found wrong."""

    name: str
    folder: Path
    steps: int
    faults: list[str] = field(default_factory=list)
    kills: int = 0
    anew: int = 0
    in_saving: int = 0
    resumed: int = 0

    def go(self, kills: int, source: random.Random) -> Killing:
        peaceful, killed = self.folder / "peaceful", self.folder / "killed"
        self._finish(peaceful)
        while self.kills < kills and self._kill(killed, source):
            pass
        if self.kills < kills:
            self.faults.append("the run was done before all kills; give it more --steps")
        self._finish(killed)
        self._compare(*(self._run(run_folder) for run_folder in (peaceful, killed)))
        return self

    def _start(self, out: Path) -> BaseProcess:
        settings = {**SHARED, **RUNS[self.name], "max_steps": self.steps, "out": str(out)}
        config = {**settings, "model": str(self.folder / "model")}
        run = self._run(out)
        resume = str(run) if run and newest(run) else ""
        process = PROCESSES.Process(target=child, args=(config, resume, str(self._errors)))
        process.start()
        return process

    @property
    def _errors(self) -> Path:
        return self.folder / "errors.txt"

    def _run(self, out: Path) -> Path | None:
        """The newest run's folder."""
        return max(out.glob("*Z_*"), default=None, key=lambda path: path.stat().st_ctime_ns)

    def _finish(self, out: Path) -> None:
        process = self._start(out)
        process.join(600)
        if process.exitcode != 0:
            faults_text = self._errors.read_text(errors="replace").splitlines()
            self.faults.append(f"a process that was left in peace failed: {faults_text[-1:]}")

    def _kill(self, out: Path, source: random.Random) -> bool:
        """Kill a process at a random moment; False if it ended before."""
        run = self._run(out)
        had_checkpoint, process = bool(run and newest(run)), self._start(out)
        lines = source.randint(1, MOST_LINES)
        before = self._lines(run)
        while process.is_alive() and self._lines(self._run(out), run, before) < lines:
            time.sleep(0.002)
        process.join(source.random() * LONGEST_STEP_S)
        process.kill()
        process.join()
        if process.exitcode != -signal.SIGKILL:
            return False
        self.kills += 1
        self.anew += not had_checkpoint
        if run := self._run(out):
            self.in_saving += any((run / "checkpoints").glob(".*.part"))
            for path in ready(run):
                load_state(path)
        return True

    def _lines(self, run: Path | None, earlier: Path | None = None, before: int = 0) -> int:
        """How many events a run has written, in the run `earlier` without those `before`."""
        path = run / EVENTS if run else None
        count = path.read_bytes().count(b"\n") if path and path.exists() else 0
        return count - before if run == earlier else count

    def _compare(self, peaceful: Path | None, killed: Path | None) -> None:
        if peaceful is None or killed is None:
            self.faults.append("there is no run")
            return
        expected, actual = (list(map(_unclocked, self._steps(run))) for run in (peaceful, killed))
        self.resumed = len(list(read_events(killed, "resumed")))
        if [event["step"] for event in actual] != list(range(1, self.steps + 1)):
            self.faults.append(f"the steps are {[event['step'] for event in actual]}")
        differ = [a["step"] for a, b in zip(expected, actual, strict=False) if a != b]
        if differ:
            self.faults.append(f"the numbers of steps {differ[:5]} differ ({len(differ)} in all)")
        if list(read_rollouts(peaceful)) != list(read_rollouts(killed)):
            self.faults.append("the sampled answers differ")
        weights = [
            path and (path / "model.safetensors") for path in map(newest, (peaceful, killed))
        ]
        if len({path and path.read_bytes() for path in weights}) != 1:
            self.faults.append("the weights in the end differ")

    def _steps(self, run: Path) -> list[dict[str, Any]]:
        return list(read_events(run, "train"))


def _unclocked(event: Mapping[str, Any]) -> dict[str, Any]:
    return {
        k: v for k, v in event.items() if k not in CLOCKED and not k.endswith(("_s", "seconds"))
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="for each kind of run")
    parser.add_argument("--steps", type=int, default=200, help="of each kind of run")
    parser.add_argument("--only", choices=RUNS, help="this kind of run")
    args = parser.parse_args()
    print("| run | kills | in the middle of a save | begun anew | resumed | steps | faults |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for name in [args.only] if args.only else RUNS:
        done = killed(name, args.kills, args.steps)
        faults_text = "; ".join(done.faults) or "none"
        counts = f"{done.kills} | {done.in_saving} | {done.anew} | {done.resumed}"
        print(f"| {name} | {counts} | {done.steps} | {faults_text} |", flush=True)


if __name__ == "__main__":
    main()
