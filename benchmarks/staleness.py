"""Does GRPO get as far with answers that were sampled a step ago? The demo's second half, compared.

    python -m benchmarks.staleness [--seeds N] [--steps N]

The demo's model learns its partly wrong labels once, by SFT. From there GRPO is run with answers of
the very policy that learns from them (staleness 0), of the one before (1), and of one that is four
updates old (4), with the same seeds. Printed are the mean reward of the last quarter's answers, and
the right greedy answers to the test prompts; "noise" is the spread between seeds.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks.sandbox import machine

STALENESS = (0, 1, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3, metavar="N")
    parser.add_argument("--steps", type=int, default=300, metavar="N")
    args = parser.parse_args()
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder), args.seeds, args.steps)


def compare(folder: Path, seeds: int, steps: int) -> None:
    """Run them all, and print a line for each."""
    import torch

    from infinite_rl.adapters.scorer import Scorer
    from infinite_rl.training import train
    from infinite_rl.training.runs import demo

    torch.set_num_threads(1)
    recipe, scorer = demo.Recipe(grpo_steps=steps), Scorer()
    rows = demo.make_rows(recipe)
    model = demo.save_model(folder / "model", rows, recipe.seed)
    sft = train(rows.sft, None, demo.sft_config(recipe, model, folder))
    print(f"after SFT: {sum(demo.greedy(sft, rows.test, scorer))} of {len(rows.test)}")
    print(f"{'staleness':>9}  {'seed':>4}  {'reward':>6}  {'right':>5}", flush=True)
    for staleness in STALENESS:
        rewards, rights = [], []
        for seed in range(1, seeds + 1):
            step_rewards: list[float] = []

            def on_step(
                _: int, values: Mapping[str, Any], step_rewards: list[float] = step_rewards
            ) -> None:
                step_rewards.append(values["reward"])

            config = replace(
                demo.grpo_config(recipe, sft, folder), seed=seed, max_staleness=staleness
            )
            checkpoint = train(rows.grpo, scorer, config, on_step=on_step)
            rewards.append(fmean(step_rewards[-max(steps // 4, 1) :]))
            rights.append(sum(demo.greedy(checkpoint, rows.test, scorer)))
            print(f"{staleness:>9}  {seed:>4}  {rewards[-1]:6.3f}  {rights[-1]:>5}", flush=True)
        noise = f", noise {stdev(rewards):.3f}" if seeds > 1 else ""
        print(
            f"staleness {staleness}: reward {fmean(rewards):.3f}{noise}, right {fmean(rights):.0f}"
        )


if __name__ == "__main__":
    main()
