"""Completions a CPU second of GRPO: the engine `local` beside `trl`, one tiny model, one process.

    python -m benchmarks.training [--steps 8] [--rounds 3]

The engines take turns, on one thread. Both get the same config, rows and reward; TRL is spared its
gradient checkpointing. A step samples, judges and updates; the first and last of each run are not
counted. The local engine learns only from groups whose rewards differ, so their share is set: all,
a quarter, as where a model has learnt most of its tasks, and none, where only sampling is left.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import torch
import transformers as untyped

from infinite_rl.training import TrainingConfig, train
from infinite_rl.training.runs.demo import make_tokenizer, tiny_model

transformers: Any = untyped  # it leaves much of itself untyped

LETTERS = "0123456789+-*/= ?()abcdefghijklmnop"
PROMPTS, GROUP = 16, 8
# TRL recomputes activations by default, which saves memory that is no matter here.
OPTIONS: Mapping[str, Mapping[str, Any]] = {"local": {}, "trl": {"gradient_checkpointing": False}}


def main() -> None:
    """Print a table with the ratio of the medians."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--steps", type=int, default=8, help="updates counted in a run (default %(default)s)"
    )
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (default %(default)s)")
    args = parser.parse_args()
    quieten()
    with tempfile.TemporaryDirectory() as folder:
        size = make(Path(folder) / "model")
        print(f"A random Qwen3 of {size:,} weights, {PROMPTS} prompts of 9 to 13 tokens a step,")
        print(
            f"{GROUP} completions each; {platform.machine()}, one thread, torch {torch.__version__}"
        )
        print("\n| new tokens | groups that differ | local | trl | local / trl |")
        print("|---|---|---|---|---|")
        for tokens in (4, 16, 64):
            for share in (1.0, 0.25, 0.0):
                rates = taken_in_turns(OPTIONS, folder, tokens, share, args.steps, args.rounds)
                local, trl = (median(rates_of) for rates_of in rates.values())
                cells = " | ".join(
                    f"{median(rates_of):,.0f} ({min(rates_of):,.0f} to {max(rates_of):,.0f})"
                    for rates_of in rates.values()
                )
                print(f"| {tokens} | {share:.0%} | {cells} | {local / trl:.1f} |", flush=True)


def quieten() -> None:
    """One thread, and nothing said on the way."""
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


def taken_in_turns(
    engines: Iterable[str], folder: str, tokens: int, share: float, steps: int, rounds: int
) -> dict[str, list[float]]:
    """Completions a CPU second of each run, by engine; they take turns."""
    rates: dict[str, list[float]] = {engine: [] for engine in engines}
    for _ in range(rounds):
        for engine, rates_of in rates.items():
            rates_of.append(rate(engine, folder, tokens, share, steps))
    return rates


def make(folder: Path) -> int:
    """Save a tiny model and its tokenizer; returns the number of its weights."""
    tokenizer = make_tokenizer([LETTERS], pieces=".")
    model = tiny_model(tokenizer, seed=0, num_hidden_layers=3, max_position_embeddings=128)
    for each in (tokenizer, model):
        each.save_pretrained(folder)
    return sum(each.numel() for each in model.parameters())


def rate(engine: str, folder: str, tokens: int, share: float, steps: int) -> float:
    """Completions a CPU second of one short run."""
    config = TrainingConfig(
        model=str(Path(folder) / "model"),
        engine=engine,
        engine_options=OPTIONS[engine],
        out=str(Path(folder) / "runs"),
        prompt_template="plain",
        device="cpu",
        max_steps=steps + 2,  # neither the first nor the last is counted
        batch_size=PROMPTS,
        group_size=GROUP,
        max_new_tokens=tokens,
        reward_truncated=True,  # a random model seldom ends
        tokens_per_batch=100_000,
        learning_rate=1e-4,
        loss="grpo",
        save_every=steps + 2,
    )
    rows = [
        {"id": str(n), "type": "math", "prompt": f"{n * n} + {n} = ?", "answer": str(n * n + n)}
        for n in range(64)
    ]
    informative = int(share * len(rows))

    def reward(rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[float]:
        pairs = zip(rows, texts, strict=True)
        return [distinct(text) if int(row["id"]) < informative else 1.0 for row, text in pairs]

    moments: list[float] = []
    train(rows, reward, config, on_step=lambda *_: moments.append(time.process_time()))
    # The last step is not counted: it has its checkpoint to save, which one engine does before it
    # tells of the step.
    seconds = [after - before for before, after in pairwise(moments[:-1])]
    return PROMPTS * GROUP / (sum(seconds) / len(seconds))


def distinct(text: str) -> float:
    """A reward that costs nothing: the share of letters that are not repeated."""
    return len(set(text)) / max(len(text), 1)


if __name__ == "__main__":
    main()
