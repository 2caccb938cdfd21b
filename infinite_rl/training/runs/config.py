"""The config of a training run: a YAML file and flags, validated before anything else."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Annotated, Any

from pydantic import AfterValidator

from ...config import Config, Mappings, Number, check_device, one_of, ranged
from ...dataset.mix import MODES
from ...errors import UsageError
from .tracking import TRACKERS

ALGORITHMS = ("sft", "grpo")
# The module whose `run` trains, and the extras that it needs.
ENGINES: Mapping[str, tuple[str, str]] = {
    "local": (".engines.local", "train"),
    "trl": (".engines.trl_engine", "trl"),
    "asyncio": (".engines.async_engine", "train"),
    "ray": (".engines.ray_engine", "train,ray"),
}
AT_SCALE = ("asyncio", "ray")  # the engines whose parts run beside each other
LOSSES = ("reinforce", "grpo", "dr_grpo", "dapo", "dapo_group", "gspo")  # loss.PRESETS
KL_ESTIMATORS = ("k1", "k2", "k3")
ROLLOUTS = ("transformers", "vllm")
TOOLS = ("python", "javascript", "sql")  # those of adapters.tools, without `submit`
DTYPES = ("float32", "bfloat16")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")


class Dataset(Config):
    """One data set of a mixture.

    name       its name in ids, events and errors
    path       its rows: a local file or folder, s3://BUCKET/KEY, or hf:NAME[:CONFIG]:SPLIT
    benchmark  the benchmark whose loader reads the rows as its authors publish them
    split      only rows of this split; of a benchmark without a path, the split on the hub
    type       the reward of rows without a column `type`
    prompt_template  the prompt template of these rows, if it is not the run's
    reward     reward options of these rows, if they are not the run's: {"partial": true}
    weight     sampling weight relative to the other data sets (mix: weighted)
    count      rows that are taken; 0: all
    order      a file of ids, here or s3://BUCKET/KEY: only these rows, in this order

    Raises:
        UsageError: a value is of the wrong type or out of its range; the name is not made of
            letters, digits and _.+-; there is no path, and no benchmark with a split.
    """

    name: str
    path: str = ""
    benchmark: str = ""
    split: str = ""
    type: str = ""
    prompt_template: str = ""
    reward: Mapping[str, Any] = field(default_factory=dict)
    weight: Number = ranged(1.0, 1e-9, 1e9)
    count: int = ranged(0, 0)
    order: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UsageError(f"a name has 1 to 64 letters, digits and _.+-, not {self.name!r}")
        if not (self.path or self.benchmark and self.split):
            raise UsageError("path is missing: the rows; or a benchmark and its split on the hub")


class TrainingConfig(Config):
    """The config of a training run.

    model           folder or hub name of the model and its tokenizer
    algorithm       "sft": learn the rows' responses; "grpo": sample completions, learn from rewards
    data            the rows: a local file or folder, s3://BUCKET/KEY, hf:NAME[:CONFIG]:SPLIT
    datasets        instead of data, several data sets to mix: [{"name": ..., "path": ...}, ...]
    mix             how datasets are mixed: "shuffled", "sequential", or "weighted" by their weights
    out             the folder in which each run gets its own folder
    engine          "local": one CPU or GPU; "trl": TRL's trainers; "asyncio", "ray": at scale
    engine_options  keywords for TRL's config; with other engines for transformers' from_pretrained
    prompt_template  one of chat, qwen, question_answer, r1_zero, mbpp, humaneval or plain
    reward          options of the reward, such as {"partial": true, "timeout": 5}
    max_steps       optimizer steps
    batch_size      rows (sft) or prompts (grpo) per step
    tokens_per_batch  tokens per forward pass, padding included, at most; a longer row is skipped
    learning_rate   peak learning rate; a cosine decays it to a tenth
    warmup_steps    steps of linear warm-up
    weight_decay    weight decay of AdamW, on matrices only: not on norms, biases or embeddings
    adam_beta1      AdamW's decay of the gradients' mean
    adam_beta2      AdamW's decay of the squared gradients' mean
    max_grad_norm   norm that gradients are clipped to
    max_new_tokens  maximum tokens of a completion; a truncated completion earns at most 0
    reward_truncated  give a truncated completion the reward of its text instead
    group_size      completions sampled per prompt
    tools           tools that the model may call, each in a tag of its name: python, javascript,
                    sql (local)
    max_tool_calls  maximum calls of a rollout; tool output counts towards max_new_tokens (local)
    temperature     sampling temperature
    top_p           sample from the likeliest tokens with at least this probability
    loss            "reinforce", "grpo", "dr_grpo", "dapo", "dapo_group" or "gspo"
    count_equal_groups  count groups of equal rewards in the means of the loss, as TRL does
    clip_low        how far below 1 a probability ratio has a gradient; 0: the default of the loss
    clip_high       how far above 1 a probability ratio has a gradient; 0: the default of the loss
    importance_sampling_cap  weigh tokens by the ratio of the policy's to the sampler's probability,
                    capped at this value (truncated importance sampling); 0: off; trl has its own
    kl_coef         weight of the KL divergence from the initial model
    kl_estimator    estimator of the KL divergence: "k1", "k2" or "k3" (trl: k3)
    max_staleness   steps by which the sampling policy may be older than the trained one
    rollout_workers  workers that sample completions, each with its own model (at scale)
    reward_workers   workers that score completions (at scale)
    worker_timeout  seconds per call, after which a worker is replaced; 0: no limit (at scale)
    ray_address     HOST:PORT of a Ray cluster (default: $RAY_ADDRESS, else a cluster is started
                    here) (ray)
    rollout_backend  sampling by "transformers", or on GPUs by "vllm" (ray)
    rollout_gpus    GPUs per rollout worker, if the cluster has any (ray)
    rollout_options  keywords for vLLM's LLM, such as {"gpu_memory_utilization": 0.8} (ray)
    prompts_per_pass  prompts per forward pass, at most; 0: as tokens_per_batch allows
    prompts_per_sync  prompts between two syncs of the weights; 0: batch_size (at scale)
    num_iterations  updates that reuse a prompt's completions, if fresh enough (at scale)
    keep_zero_std_groups  also train on groups of equal rewards (at scale)
    sft_weight      weight of an SFT loss on the rows' responses, added to GRPO's
    save_every      steps between two checkpoints; the last step is always saved
    save_total_limit  number of checkpoints that are kept
    checkpoint_uri  where checkpoints are published: s3://BUCKET/FOLDER/, or a folder
    trace_uri       where events and rollouts are published, at each checkpoint and at the end
    remove_local    remove local checkpoints once published, except the newest
    generations_every  steps between two logs of greedy answers to the first 8 rows, with entropies
                    and rewards (event "generations"); 0: never (local)
    dtype           "float32", or "bfloat16" for computing; the weights stay float32
    device          "auto": a GPU if available; or "cpu", "cuda", "cuda:1", "mps"
    seed            seed of the run
    tracking        any of "tensorboard" and "wandb"
    audit_rollouts  log the shares of rewarded completions that look like reward hacking:
                    audit/same_text, ...

    Raises:
        UsageError: a value of the wrong type, or out of its range; the message names the key.
    """

    model: str
    algorithm: Annotated[str, one_of(*ALGORITHMS)] = "grpo"
    data: str = ""
    datasets: Mappings = ()
    mix: Annotated[str, one_of(*MODES)] = "shuffled"
    out: str = "artifacts/runs"
    engine: Annotated[str, one_of(*ENGINES)] = "local"
    engine_options: Mapping[str, Any] = field(default_factory=dict)
    prompt_template: str = "chat"
    reward: Mapping[str, Any] = field(default_factory=dict)
    max_steps: int = ranged(200, 1)
    batch_size: int = ranged(16, 1)
    tokens_per_batch: int = ranged(8192, 2)
    learning_rate: Number = ranged(1e-6, 1e-12, 10)
    warmup_steps: int = ranged(0, 0)
    weight_decay: Number = ranged(0.0, 0, 10)
    adam_beta1: Number = ranged(0.9, 0, 0.999999)
    adam_beta2: Number = ranged(0.95, 0, 0.999999)
    max_grad_norm: Number = ranged(1.0, 1e-9, 1e9)
    max_new_tokens: int = ranged(512, 1)
    reward_truncated: bool = False
    group_size: int = ranged(8, 2)
    tools: Annotated[Sequence[Annotated[str, one_of(*TOOLS)]], AfterValidator(tuple)] = ()
    max_tool_calls: int = ranged(4, 1, 100)
    temperature: Number = ranged(1.0, 1e-3, 100)
    top_p: Number = ranged(1.0, 1e-3, 1)
    loss: Annotated[str, one_of(*LOSSES)] = "grpo"
    count_equal_groups: bool = False
    clip_low: Number = ranged(0.0, 0, 1)
    clip_high: Number = ranged(0.0, 0, 1000)
    importance_sampling_cap: Number = ranged(0.0, 0, 1000)
    kl_coef: Number = ranged(0.0, 0, 1000)
    kl_estimator: Annotated[str, one_of(*KL_ESTIMATORS)] = "k3"
    max_staleness: int = ranged(0, 0, 1000)
    rollout_workers: int = ranged(1, 1)
    reward_workers: int = ranged(1, 1)
    worker_timeout: Number = ranged(1800.0, 0, 1e6)
    ray_address: str = ""
    rollout_backend: Annotated[str, one_of(*ROLLOUTS)] = "transformers"
    rollout_gpus: int = ranged(1, 1)
    rollout_options: Mapping[str, Any] = field(default_factory=dict)
    prompts_per_pass: int = ranged(0, 0)
    prompts_per_sync: int = ranged(0, 0)
    num_iterations: int = ranged(1, 1)
    keep_zero_std_groups: bool = False
    sft_weight: Number = ranged(0.0, 0, 1000)
    save_every: int = ranged(50, 1)
    save_total_limit: int = ranged(3, 1)
    checkpoint_uri: str = ""
    trace_uri: str = ""
    remove_local: bool = False
    generations_every: int = ranged(0, 0)
    dtype: Annotated[str, one_of(*DTYPES)] = "float32"
    device: str = "auto"
    seed: int = ranged(42, 0, 2**32 - 1)
    tracking: Annotated[Sequence[Annotated[str, one_of(*TRACKERS)]], AfterValidator(tuple)] = ()
    audit_rollouts: bool = False

    def __post_init__(self) -> None:
        check_device(self.device)
        for number, each in enumerate(self.datasets, 1):
            try:
                Dataset.of(each)
            except UsageError as error:
                name = f" ({each['name']!r})" if each.get("name") else ""
                raise UsageError(f"datasets, number {number}{name}: {error}") from None
        engine_keys = ((_OF_LOCAL, ("local",)), (_OF_RAY, ("ray",)), (_OF_SCALE, AT_SCALE))
        for keys, engines in engine_keys:
            for key in keys if self.engine not in engines else ():
                if getattr(self, key) != getattr(type(self), key):
                    raise UsageError(f"{key} is for the engine {' or '.join(engines)} alone")
        size, passes, sync = self.batch_size, self.prompts_per_pass, self.prompts_per_sync
        updates, most = self.sync_every, f"max_staleness ({self.max_staleness}) must allow that"
        uses = self.num_iterations
        faults = {
            "remove_local needs checkpoint_uri: where they are published to": self.remove_local
            and not self.checkpoint_uri,
            "rows come from data or from datasets, not from both": self.data and self.datasets,
            f"warmup_steps ({self.warmup_steps}) must be less than max_steps ({self.max_steps})": (
                self.warmup_steps >= self.max_steps
            ),
            "rollout_options are vLLM's: rollout_backend must be vllm": self.rollout_options
            and self.rollout_backend != "vllm",
            "reinforce has no ratio to clip: leave clip_low and clip_high out": (
                self.loss == "reinforce" and (self.clip_low or self.clip_high)
            ),
            "tools are called by sampled completions: algorithm must be grpo": self.tools
            and self.algorithm != "grpo",
            f"the engine {self.engine} samples answers: algorithm must be grpo": (
                self.engine in AT_SCALE and self.algorithm != "grpo"
            ),
            f"batch_size ({size}) must be a multiple of prompts_per_pass ({passes})": passes
            and size % passes,
            f"prompts_per_sync ({sync}) must be a multiple of batch_size ({size})": sync % size,
            f"with {updates} updates between syncs, answers are up to {updates - 1} updates old: "
            f"{most}": self.max_staleness < updates - 1,
            f"answers in {uses} updates are {uses - 1} updates old in the last: {most}": (
                self.max_staleness < uses - 1
            ),
        }
        for fault, wrong in faults.items():
            if wrong:
                raise UsageError(fault)

    @property
    def mixture(self) -> list[Dataset]:
        """The `datasets`, each checked."""
        return [Dataset.of(each) for each in self.datasets]

    def order(self, name: str) -> str | None:
        """What decides the order of the rows in each epoch, for a schedule of that name; None where
        they are to come as they are: mixed by weight, one set after the other, or by order files.
        """
        fixed = self.mix != "shuffled" or any(each.order for each in self.mixture)
        return None if self.datasets and fixed else f"{self.seed}/{name}"

    @property
    def sync_every(self) -> int:
        """Updates between two syncs of the weights."""
        return (self.prompts_per_sync or self.batch_size) // self.batch_size


_OF_LOCAL = ("generations_every", "tools", "max_tool_calls")
_OF_RAY = ("ray_address", "rollout_backend", "rollout_gpus")
_OF_SCALE = (
    "rollout_workers", "reward_workers", "worker_timeout", "prompts_per_sync", "num_iterations",
    "keep_zero_std_groups",
)  # fmt: skip
