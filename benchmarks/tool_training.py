"""Does a tiny model learn to call a tool? SFT that seldom calls one, then GRPO with tools.

    python -m benchmarks.tool_training [--steps N] [--seed N] [-o docs/results/tool_training.md]

The task is a product of two-digit numbers, which a model of 200,000 weights cannot work out. SFT
shows it two ways: one time in ten it calls the tool `python` and copies what that returns, else it
guesses. GRPO sees the reward alone. Nothing is downloaded; one thread of a CPU.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from benchmarks.sandbox import machine

CALLS = 0.1  # of the worked responses
_PIECES = r"</?[a-z]+>|\d|[^\d<]"
_NUMBERS = [(a, b) for a in range(11, 100) for b in range(11, 100)]
_TEST = 200
_COMMON = {
    "prompt_template": "plain", "device": "cpu", "warmup_steps": 20, "max_new_tokens": 32,
}  # fmt: skip


def rows(seed: int) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Rows with a worked response, which mostly guesses; and test rows of other numbers."""
    chance = Random(seed)
    numbers = chance.sample(_NUMBERS, len(_NUMBERS))
    rows = [_row(a, b, chance) for a, b in numbers]
    return rows[_TEST:], rows[:_TEST]


def _row(a: int, b: int, chance: Random) -> dict[str, str]:
    product = str(a * b)
    called = f"<python>{a}*{b}</python><output>{product}</output><answer>{product}</answer>"
    guessed = f"<answer>{chance.randrange(121, 9802)}</answer>"
    response = called if chance.random() < CALLS else guessed
    return {"type": "math", "prompt": f"{a}*{b}=", "answer": product, "response": response}


def learn(
    folder: Path, seed: int, steps: int, sft_steps: int = 600
) -> tuple[list[Mapping[str, Any]], list[list[float]]]:
    """Train; return the metrics of each step of GRPO, and the rewards and calls of the test rows.

    The test is before and after GRPO: one sampled rollout of each row.
    """
    import torch

    from infinite_rl.training import TrainingConfig, train
    from infinite_rl.training.runs.demo import make_tokenizer, tiny_model

    torch.set_num_threads(1)
    learned, test = rows(seed)
    tokenizer = make_tokenizer([each["prompt"] + each["response"] for each in learned], _PIECES)
    for part in (tokenizer, tiny_model(tokenizer, seed)):
        part.save_pretrained(folder / "model")
    common = {**_COMMON, "out": str(folder / "runs"), "seed": seed}
    sft = {"batch_size": 48, "learning_rate": 4e-3, "max_steps": sft_steps, "algorithm": "sft"}
    start = train(
        learned,
        None,
        TrainingConfig.of(
            {**common, **sft, "model": str(folder / "model"), "save_every": sft_steps}
        ),
    )
    grpo = {
        "algorithm": "grpo", "batch_size": 16, "group_size": 8, "learning_rate": 4e-4,
        "max_steps": steps, "save_every": steps, "tools": ["python"], "max_tool_calls": 1,
    }  # fmt: skip
    curve: list[Mapping[str, Any]] = []
    config = TrainingConfig.of({**common, **grpo, "model": str(start)})
    end = train(learned, None, config, on_step=lambda _, values: curve.append(values))
    return curve, [tested(each, test, config) for each in (start, end)]


def tested(checkpoint: Path, test: list[dict[str, str]], config: Any) -> list[float]:
    """The share of right answers, and of rollouts that call the tool."""
    from dataclasses import replace

    from infinite_rl.adapters.scorer import Scorer
    from infinite_rl.training.core.encoding import build_prompts
    from infinite_rl.training.core.learner import Learner
    from infinite_rl.training.core.rollouts import compute_rewards
    from infinite_rl.training.core.sampling import random_numbers
    from infinite_rl.training.core.tool_turns import sample_with_tools

    learner = Learner(replace(config, group_size=2), checkpoint)
    prompts = build_prompts(test, learner.tokenizer, learner.max_tokens, learner.config)
    rollouts = sample_with_tools(learner, learner.model, prompts, random_numbers("test"))
    repeated = [row for row in test for _ in range(2)]
    rewards = compute_rewards(Scorer(), repeated, [each.text for each in rollouts])
    return [fmean(each or 0.0 for each in rewards), fmean(each.tool_calls for each in rollouts)]


def report(seed: int, steps: int) -> str:
    """Run it; return the page."""
    began, used = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        curve, (before, after) = learn(Path(folder), seed, steps)
    seconds, cpu = time.perf_counter() - began, time.process_time() - used
    lines = [
        "# A tiny model learns to call a tool", "",
        f"`python -m benchmarks.tool_training --seed {seed} --steps {steps}`; {machine()}. "
        f"{cpu:.0f} seconds of CPU, {seconds:.0f} by the clock of a busy machine.",
        "",
        "A Qwen3 of some 200,000 random weights learns products of two-digit numbers. In the "
        f"worked responses of SFT {CALLS:.0%} call the tool and copy its result, the others guess. "
        "GRPO sees the reward alone; tokens that the tool wrote carry no loss. Test rows have "
        f"other numbers; two rollouts are sampled of each of {_TEST}.",
        "",
        "| | right | rollouts that call the tool |", "|---|---|---|",
        f"| after SFT | {before[0]:.1%} | {before[1]:.1%} |",
        f"| after GRPO | {after[0]:.1%} | {after[1]:.1%} |", "",
        "The curve: means over ten steps of 128 rollouts.", "",
        "| steps | reward | calls a rollout | entropy |", "|---|---|---|---|",
    ]  # fmt: skip
    for first in range(0, len(curve), 10):
        part = curve[first : first + 10]
        mean = {key: fmean(each.get(key, 0.0) for each in part)
                for key in ("reward", "tool_calls", "entropy")}  # fmt: skip
        values = " | ".join(f"{value:.2f}" for value in mean.values())
        lines.append(f"| {first + 1} to {first + len(part)} | {values} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=80, metavar="N", help="steps of GRPO")
    parser.add_argument("--seed", type=int, default=42, metavar="N")
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="write the page here, too")
    args = parser.parse_args()
    text = report(args.seed, args.steps)
    print(text)
    if args.out:
        args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
