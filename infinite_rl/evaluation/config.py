"""What one evaluation is told: a flat record of YAML and flags, checked before all else."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from .. import settings
from ..errors import UsageError

HARNESSES = ("own", "lm_eval")
BACKENDS = ("transformers", "vllm", "server")
DTYPES = ("auto", "float32", "bfloat16", "float16")


@dataclass(frozen=True)
class EvaluationConfig:
    """All that an evaluation is told.

    model           folder or hub name of the model; its name at the server
    tasks           names of tasks (NAME, or NAME=FILE for its rows), or files of rows
    out             the folder that the results go to
    harness         "own": our tasks and rewards; "lm_eval": that harness, with its tasks
    backend         "transformers", "vllm", or "server" for one that speaks OpenAI's protocol
    base_url        of the server, such as http://localhost:8000/v1
    style           how a prompt is put to the model: a name of `prompt_styles`
    system          the instructions that come first; "default": those of the style; "": none
    few_shot        worked examples before each task
    shots           file of the worked examples (default: the task's own, where it has some)
    samples         answers to each item
    temperature     of sampling; "auto": 0 for one sample (greedy), 1 for several
    top_p           of sampling
    max_new_tokens  at which an answer is cut off; 0: the task's own number
    stop            strings that end an answer, beside those of the style
    limit           the first so many items of a task; 0: all
    seed            of sampling and of the choice of examples
    batch_size      items that transformers answers at a time
    device          "auto": a GPU if there is one; or "cpu", "cuda", "cuda:1", "mps"
    dtype           of the weights; "auto": as they were saved
    tensor_parallel_size    GPUs that vLLM lays one model over
    gpu_memory_utilization  share of a GPU's memory that vLLM takes
    max_model_len   tokens of prompt and answer together; 0: as the model's configuration says
    threads         requests that a server is sent at a time
    shards          processes that share the items
    timeout         seconds that one run of a program, or one comparison, may take
    include_path    folder with lm_eval tasks of your own
    unsafe_code     let lm_eval run programs of the model on this machine, outside any sandbox

    Raises:
        UsageError: a value of the wrong type, or out of its range; the message names the key.
    """

    model: str
    tasks: Sequence[str] = ()
    out: str = ""
    harness: str = "own"
    backend: str = "transformers"
    base_url: str = ""
    style: str = "chat"
    system: str = "default"
    few_shot: int = 0
    shots: str = ""
    samples: int = 1
    temperature: str | float = "auto"
    top_p: float = 1.0
    max_new_tokens: int = 0
    stop: Sequence[str] = ()
    limit: int = 0
    seed: int = 42
    batch_size: int = 16
    device: str = "auto"
    dtype: str = "auto"
    tensor_parallel_size: int = 1
    gpu_memory_utilization: float = 0.9
    max_model_len: int = 0
    threads: int = 8
    shards: int = 1
    timeout: float = 5.0
    include_path: str = ""
    unsafe_code: bool = False

    def __post_init__(self) -> None:
        for name, kind in KINDS.items():
            if name == "temperature" and self.temperature == "auto":
                kind = str
            object.__setattr__(self, name, settings.typed(name, kind, getattr(self, name)))
        for name, (low, high) in _RANGES.items():
            settings.check_range(name, getattr(self, name), low, high)
        for name, known in _CHOICES.items():
            settings.check_choice(name, getattr(self, name), known)
        settings.check_range("temperature", self.heat, 0, 100)
        if not self.model.strip():
            raise UsageError("model is missing: the folder or the hub name of a model")
        if not self.tasks:
            raise UsageError("tasks are missing: names of tasks, or files of rows")
        if self.samples > 1 and not self.heat:
            raise UsageError(
                f"{self.samples} samples at temperature 0 would all be the same: "
                "give a temperature, or one sample"
            )
        if "" in self.stop:
            raise UsageError("an empty stop string would end every answer before it begins")

    @property
    def heat(self) -> float:
        """The temperature that is meant."""
        if isinstance(self.temperature, str):
            return 0.0 if self.samples == 1 else 1.0
        return self.temperature

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> EvaluationConfig:
        """A config of values by key.

        Raises:
            UsageError: a key is not known (the nearest known one is named), or as the class.
        """
        settings.check_keys(values, KINDS)
        return cls(**{"model": "", **values})

    @classmethod
    def read(cls, path: str | Path, changes: Mapping[str, Any] | None = None) -> EvaluationConfig:
        """The config of a YAML file, and `changes` to it.

        Raises:
            UsageError: there is no such file, it is no YAML mapping, or as `of`.
            StoreError: it cannot be read.
        """
        try:
            return cls.of({**settings.read_yaml(Path(path)), **(changes or {})})
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from None

    def values(self) -> dict[str, Any]:
        """All values by key, as JSON and YAML can hold them; `of` takes them."""
        return {**asdict(self), "tasks": list(self.tasks), "stop": list(self.stop)}


# The type of each key.
KINDS: Mapping[str, type] = {
    each.name: {"model": str, "temperature": float}.get(each.name) or type(each.default)
    for each in fields(EvaluationConfig)
}
# What the record says of each key, as `--help` shows it.
EXPLAINED: Mapping[str, str] = {
    name: " ".join(text.split())
    for name, text in re.findall(r"^    (\w+) {2,}(.+)$", EvaluationConfig.__doc__ or "", re.M)
}
_CHOICES = {"harness": HARNESSES, "backend": BACKENDS, "dtype": DTYPES}
_RANGES: Mapping[str, tuple[float, float]] = {
    "few_shot": (0, 1000),
    "samples": (1, 100_000),
    "top_p": (1e-6, 1),
    "max_new_tokens": (0, math.inf),
    "limit": (0, math.inf),
    "seed": (0, 2**31 - 1),
    "batch_size": (1, math.inf),
    "tensor_parallel_size": (1, 1024),
    "gpu_memory_utilization": (0.01, 1),
    "max_model_len": (0, math.inf),
    "threads": (1, 1024),
    "shards": (1, 1024),
    "timeout": (1e-3, 86_400),
}
