"""What one training run is told: a flat record of YAML and flags, checked before all else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import UsageError
from ..settings import Settings, check_device, one_of, ranged

ALGORITHMS = ("sft", "grpo")
ENGINES = ("local", "trl")
LOSSES = ("reinforce", "grpo", "dr_grpo", "dapo", "dapo_group", "gspo")  # loss.PRESETS
DTYPES = ("float32", "bfloat16")
TRACKERS = ("tensorboard", "wandb")


@dataclass(frozen=True)
class TrainingConfig(Settings):
    """All that a run is told.

    model           folder or hub name of the model and its tokenizer
    algorithm       "sft": learn the rows' responses; "grpo": sample answers, learn from rewards
    data            the file of rows, for the command line
    out             the folder in which each run gets a folder of its own
    engine          "local": one CPU or GPU; "trl": TRL's trainers
    engine_options  keywords for TRL's config; local: for `from_pretrained`, of the model
    style           how a prompt is put to the model: a name of `prompt_styles`
    reward          keywords of `adapters.scorer.Scorer`, such as {partial: true}
    steps           updates of the weights
    batch_size      a step's rows (sft) or prompts (grpo)
    tokens_per_batch  most tokens, padding included, in one forward pass; a longer row is left out
    learning_rate   the highest; it falls as a cosine to a tenth of it
    warmup          steps in which it rises
    weight_decay    of AdamW, on matrices alone: not on norms, biases or embeddings
    max_new_tokens  of a sampled answer; one that is cut off there gets a reward of 0 at most
    reward_cut_off  true: an answer that was cut off gets the reward of what there is of it
    group_size      answers sampled for each prompt
    temperature     of sampling
    loss            a preset of `loss.PRESETS`
    kl              weight of the divergence from the model that training began with
    max_staleness   how many steps old the policy may be that sampled what is trained on
    sft_weight      weight of an SFT loss on the rows' responses beside GRPO's
    save_every      steps between checkpoints; the last step is always saved
    keep            checkpoints that are kept
    checkpoints     where each is published to as training goes: s3://BUCKET/FOLDER/, or a folder
    traces          where events and rollouts are published to, at each checkpoint and at the end
    remove_local    remove a checkpoint here once it is published, but for the newest
    dtype           "bfloat16" computes in it; the weights stay float32
    device          "auto": a GPU if there is one; or "cpu", "cuda", "cuda:1", "mps"
    seed            of everything random
    tracking        of "tensorboard" and "wandb"

    Raises:
        UsageError: a value of the wrong type, or out of its range; the message names the key.
    """

    model: str
    algorithm: str = one_of("grpo", ALGORITHMS)
    data: str = ""
    out: str = "artifacts/runs"
    engine: str = one_of("local", ENGINES)
    engine_options: Mapping[str, Any] = field(default_factory=dict)
    style: str = "chat"
    reward: Mapping[str, Any] = field(default_factory=dict)
    steps: int = ranged(200, 1)
    batch_size: int = ranged(16, 1)
    tokens_per_batch: int = ranged(8192, 2)
    learning_rate: float = ranged(1e-6, 1e-12, 10)
    warmup: int = ranged(0, 0)
    weight_decay: float = ranged(0.0, 0, 10)
    max_new_tokens: int = ranged(512, 1)
    reward_cut_off: bool = False
    group_size: int = ranged(8, 2)
    temperature: float = ranged(1.0, 1e-3, 100)
    loss: str = one_of("grpo", LOSSES)
    kl: float = ranged(0.0, 0, 1000)
    max_staleness: int = ranged(0, 0, 1000)
    sft_weight: float = ranged(0.0, 0, 1000)
    save_every: int = ranged(50, 1)
    keep: int = ranged(3, 1)
    checkpoints: str = ""
    traces: str = ""
    remove_local: bool = False
    dtype: str = one_of("float32", DTYPES)
    device: str = "auto"
    seed: int = ranged(42, 0, 2**32 - 1)
    tracking: Sequence[str] = one_of((), TRACKERS)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_device(self.device)
        if self.remove_local and not self.checkpoints:
            raise UsageError("remove_local needs checkpoints: where they are published to")
        if self.warmup >= self.steps:
            raise UsageError(f"warmup ({self.warmup}) must be less than steps ({self.steps})")
