"""What one training run is told: a flat record of YAML and flags, checked before all else."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from .. import settings
from ..errors import UsageError

ALGORITHMS = ("sft", "grpo")
ENGINES = ("local", "trl")
LOSSES = ("reinforce", "grpo", "dr_grpo", "dapo", "dapo_group", "gspo")  # loss.PRESETS
DTYPES = ("float32", "bfloat16")
TRACKERS = ("tensorboard", "wandb")
_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?")


@dataclass(frozen=True)
class TrainingConfig:
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
    max_new_tokens  of a sampled answer
    group_size      answers sampled for each prompt
    temperature     of sampling
    loss            a preset of `loss.PRESETS`
    kl              weight of the divergence from the model that training began with
    max_staleness   how many steps old the policy may be that sampled what is trained on
    sft_weight      weight of an SFT loss on the rows' responses beside GRPO's
    save_every      steps between checkpoints; the last step is always saved
    keep            checkpoints that are kept
    dtype           "bfloat16" computes in it; the weights stay float32
    device          "auto": a GPU if there is one; or "cpu", "cuda", "cuda:1", "mps"
    seed            of everything random
    tracking        of "tensorboard" and "wandb"

    Raises:
        UsageError: a value of the wrong type, or out of its range; the message names the key.
    """

    model: str
    algorithm: str = "grpo"
    data: str = ""
    out: str = "artifacts/runs"
    engine: str = "local"
    engine_options: Mapping[str, Any] = field(default_factory=dict)
    style: str = "chat"
    reward: Mapping[str, Any] = field(default_factory=dict)
    steps: int = 200
    batch_size: int = 16
    tokens_per_batch: int = 8192
    learning_rate: float = 1e-6
    warmup: int = 0
    weight_decay: float = 0.0
    max_new_tokens: int = 512
    group_size: int = 8
    temperature: float = 1.0
    loss: str = "grpo"
    kl: float = 0.0
    max_staleness: int = 0
    sft_weight: float = 0.0
    save_every: int = 50
    keep: int = 3
    dtype: str = "float32"
    device: str = "auto"
    seed: int = 42
    tracking: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name, kind in KINDS.items():
            object.__setattr__(self, name, settings.typed(name, kind, getattr(self, name)))
        for name, (low, high) in _RANGES.items():
            settings.check_range(name, getattr(self, name), low, high)
        for name, known in _CHOICES.items():
            settings.check_choice(name, getattr(self, name), known)
        for tracker in self.tracking:
            settings.check_choice("tracking", tracker, TRACKERS)
        if not _DEVICE.fullmatch(self.device):
            raise UsageError(f"device is auto, cpu, mps, cuda or cuda:N, not {self.device!r}")
        if not self.model.strip():
            raise UsageError("model is missing: the folder or the hub name of a model")
        if self.warmup >= self.steps:
            raise UsageError(f"warmup ({self.warmup}) must be less than steps ({self.steps})")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> TrainingConfig:
        """A config of values by key.

        Raises:
            UsageError: a key is not known (the nearest known one is named), or as the class.
        """
        settings.check_keys(values, KINDS)
        return cls(**{"model": "", **values})

    @classmethod
    def read(cls, path: str | Path, changes: Mapping[str, Any] | None = None) -> TrainingConfig:
        """The config of a YAML file, and `changes` to it.

        Raises:
            UsageError: there is no such file, it is no YAML mapping, or as `of`.
            StoreError: it cannot be read.
        """
        path = Path(path)
        try:
            return cls.of({**settings.read_yaml(path), **(changes or {})})
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None

    def values(self) -> dict[str, Any]:
        """All values by key, as JSON and YAML can hold them; `of` takes them."""
        return {**asdict(self), "tracking": list(self.tracking)}


# The type of each key; those that are not named have that of their default.
KINDS: Mapping[str, type] = {"model": str, "engine_options": dict, "reward": dict} | {
    each.name: type(each.default)
    for each in fields(TrainingConfig)
    if each.name not in ("model", "engine_options", "reward")
}
_CHOICES = {"algorithm": ALGORITHMS, "engine": ENGINES, "loss": LOSSES, "dtype": DTYPES}
# What each key is for, in words.
EXPLAINED: Mapping[str, str] = dict(
    re.findall(r"^    (\w+) {2,}(.+)$", TrainingConfig.__doc__ or "", re.M)
)
_RANGES: Mapping[str, tuple[float, float]] = {
    "steps": (1, math.inf),
    "batch_size": (1, math.inf),
    "tokens_per_batch": (2, math.inf),
    "learning_rate": (1e-12, 10),
    "warmup": (0, math.inf),
    "weight_decay": (0, 10),
    "max_new_tokens": (1, math.inf),
    "group_size": (2, math.inf),
    "temperature": (1e-3, 100),
    "kl": (0, 1000),
    "max_staleness": (0, 1000),
    "sft_weight": (0, 1000),
    "save_every": (1, math.inf),
    "keep": (1, math.inf),
    "seed": (0, 2**32 - 1),
}


def from_flags(words: Sequence[str]) -> dict[str, Any]:
    """The values of flags: see `settings.from_flags`."""
    return settings.from_flags(words, KINDS)
