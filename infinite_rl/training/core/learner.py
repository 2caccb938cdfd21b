"""The model that learns: loaded, put on its device, asked for log-probabilities, updated."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...errors import UsageError, reason_of
from ..runs import checkpoint
from ..runs.config import TrainingConfig
from .optimizer import make_optimizer, update
from .prefill import answer_log_probs, shares_prompts
from .sampling import random_numbers
from .tensors import get_response_log_probs, pad_id_of, shifted

# Dense bf16 operations a second, by a part of the GPU's name: NVIDIA's data sheets.
_PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "L40S": 362e12, "4090": 165e12}
_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
# transformers patches torch while it loads; two threads at it leave models without weights behind.
_LOADING = threading.Lock()
_ABOUT_FILES = ("trust_remote_code", "revision", "cache_dir", "token", "local_files_only")


class Learner:
    """A model, its tokenizer and its optimizer, as a config says.

    `source` is the checkpoint to go on from, by default the config's `model`. `most` is how many
    tokens a sequence may have: what the model's positions and a forward pass hold.

    Raises:
        UsageError: there is no such model or device, or what is loaded cannot be trained.
    """

    def __init__(self, config: TrainingConfig, source: Path | None = None) -> None:
        self.config = config
        self.device = device_of(config.device)
        self.tokenizer = load_tokenizer(config, source)
        self.model = self.load(source)
        self.optimizer = make_optimizer(self.model, config)
        self.pad_id = pad_id_of(self.tokenizer)
        self.most = most_tokens(config, self.model.config)
        self._shares = shares_prompts(self.model)
        self._flops = 6 * _multiplied(self.model)
        self._peak = _peak(self.device) if config.dtype == "bfloat16" else None

    def load(self, source: Path | None = None) -> Any:
        """The config's model, or that of a checkpoint, on the device, with float32 weights."""
        model = load_model(self.config, source)
        check_fit(model, self.tokenizer, self.config.model)
        return model.to(self.device)

    def batch(
        self, prompts: Sequence[Sequence[int]], responses: Sequence[Sequence[int]]
    ) -> dict[str, Tensor]:
        """`tensors.shifted` on the device: input_ids, labels and response_mask, each (B, T)."""
        found = shifted(prompts, responses, self.pad_id)
        return {name: tensor.to(self.device) for name, tensor in found.items()}

    def log_probs(
        self,
        batch: Mapping[str, Tensor],
        *,
        temperature: float = 1.0,
        entropy: bool = False,
        model: Any = None,
    ) -> dict[str, Tensor]:
        """`tensors.get_response_log_probs` of a batch, by this model or another."""
        with self.autocast():
            return get_response_log_probs(
                self.model if model is None else model,
                batch["input_ids"],
                batch["labels"],
                entropy,
                temperature=temperature,
                use_cache=False,
            )

    def answer_log_probs(
        self,
        prompts: Sequence[Sequence[int]],
        answers: Sequence[Sequence[int]],
        *,
        temperature: float = 1.0,
        entropy: bool = False,
        model: Any = None,
    ) -> dict[str, Tensor]:
        """Log-probabilities of answers, and the `response_mask` that says where they stand.

        Equal prompts are computed once, where the model can (`prefill.answer_log_probs`).
        """
        if self._shares and len(set(map(tuple, prompts))) < len(prompts):
            asked = self.model if model is None else model
            with self.autocast():
                return answer_log_probs(asked, prompts, answers, entropy, temperature=temperature)
        batch = self.batch(prompts, answers)
        found = self.log_probs(batch, temperature=temperature, entropy=entropy, model=model)
        return {**found, "response_mask": batch["response_mask"]}

    def autocast(self) -> AbstractContextManager[Any]:
        """Forward passes in bfloat16, where the config says so. It holds for one thread."""
        reduced = self.config.dtype == "bfloat16"
        return torch.autocast(self.device.type, torch.bfloat16, enabled=reduced)

    def update(self, step: int) -> dict[str, float]:
        """One step of the optimizer: see `optimizer.update`."""
        return update(self.model, self.optimizer, step, self.config)

    def begin(self, step: int) -> None:
        """Have the dropout of the update number `step`, from 0, follow from the seed."""
        torch.manual_seed(random_numbers(self.config.seed, "dropout", step).initial_seed())

    def save(self, run: Path, step: int, **state: Any) -> Path:
        """A checkpoint in a run's folder, with this state beside the optimizer's.

        Raises as `checkpoint.save`.
        """
        whole = {"optimizer": self.optimizer.state_dict(), **state}
        keep = self.config.save_total_limit
        return checkpoint.save(run, step, self.model, self.tokenizer, whole, keep=keep)

    def speed(self, tokens: int, seconds: float) -> dict[str, float]:
        """Tokens that were trained on a second; on a known GPU, in bfloat16, also the MFU.

        MFU is the share of the GPU's peak that 6 operations a token and weight take (Chowdhery et
        al., PaLM, 2204.02311, appendix B, without attention).
        """
        rate = tokens / max(seconds, 1e-9)
        found = {"tokens_per_s": rate}
        if self._peak:
            found["mfu"] = rate * self._flops / self._peak
        if self.device.type == "cuda":
            found["gpu_gigabytes"] = torch.cuda.max_memory_allocated(self.device) / 1e9
        return found


def most_tokens(config: TrainingConfig, shape: Any) -> int:
    """How many tokens a sequence may have: what a model of that shape and a forward pass hold."""
    return min(context_of(shape) or config.tokens_per_batch, config.tokens_per_batch)


def context_of(shape: Any) -> int | None:
    """How many tokens a model has positions for, by its config; None where that sets no limit."""
    return getattr(shape.get_text_config(), "max_position_embeddings", None)


def load_shape(config: TrainingConfig, source: Path | None = None) -> Any:
    """What a model is like, by its config.json. Raises UsageError where there is none."""
    return _loaded(_transformers().AutoConfig, config, source, _about_files(config))


def load_tokenizer(config: TrainingConfig, source: Path | None = None) -> Any:
    """The tokenizer of a model. Raises UsageError where there is none."""
    return pretrained_tokenizer(str(source or config.model), _about_files(config))


def load_model(config: TrainingConfig, source: Path | None = None) -> Any:
    """A model with float32 weights, in main memory. Raises UsageError where there is none."""
    transformers = _transformers()
    options = {"dtype": torch.float32, **config.engine_options}
    return _loaded(transformers.AutoModelForCausalLM, config, source, options)


def _about_files(config: TrainingConfig) -> dict[str, Any]:
    given = config.engine_options
    return {name: given[name] for name in _ABOUT_FILES if name in given}


def _loaded(kind: Any, config: TrainingConfig, source: Path | None, options: dict[str, Any]) -> Any:
    return pretrained(kind, str(source or config.model), options)


def pretrained(kind: Any, name: str, options: Mapping[str, Any]) -> Any:
    """What a class of transformers loads from a folder or by a hub name.

    Code that lies there is not run, and nobody is asked whether it may be, unless `options` say so.

    Raises:
        UsageError: there is nothing of that name, or it cannot be loaded.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        name = str(folder)
    elif not _HUB_NAME.fullmatch(name):
        raise UsageError(f"there is no model folder {folder}")
    try:
        with _LOADING:
            return kind.from_pretrained(name, **{"trust_remote_code": False, **options})
    except Exception as error:  # a file can be wrong in any way, and each library has its errors
        reason = reason_of(error)
        where = "" if folder.is_dir() else " (there is no such folder, so it is asked of the hub)"
        raise UsageError(f"the model {name} cannot be loaded{where}: {reason}") from error


def pretrained_tokenizer(name: str, options: Mapping[str, Any]) -> Any:
    """The tokenizer of a folder or hub name. Raises UsageError where there is none."""
    found = pretrained(_transformers().AutoTokenizer, name, options)
    # Where a folder holds none, transformers may make an empty one of the model's kind.
    if found.get_vocab().keys() <= found.get_added_vocab().keys():
        raise UsageError(f"the model {name} has no tokenizer: no tokenizer.json or the like")
    return found


def check_fit(model: Any, tokenizer: Any, name: str) -> None:
    """Raise UsageError where the tokenizer has ids that the model has not: it is another's."""
    largest = max(tokenizer.get_vocab().values(), default=0)
    rows = model.get_input_embeddings().weight.shape[0]
    if largest >= rows:
        raise UsageError(
            f"the tokenizer of {name} has ids up to {largest}, but its model only {rows} embeddings"
        )


def _transformers() -> Any:
    try:
        import transformers
    except ModuleNotFoundError:
        raise UsageError("training needs transformers: pip install 'infinite-rl[train]'") from None
    return transformers


def device_of(name: str) -> torch.device:
    """The device that a config's `device` means. Raises UsageError where there is no such one."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise UsageError(f"there is no device {name}: {torch.cuda.device_count()} GPUs are seen")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise UsageError("there is no device mps on this machine")
    return device


def _peak(device: torch.device) -> float | None:
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((peak for part, peak in _PEAKS.items() if part in name), None)


def _multiplied(model: Any) -> int:
    """The weights that a token is multiplied with: an embedding is only looked up, unless the
    output shares it."""
    every: int = sum(each.numel() for each in model.parameters())
    table, output = model.get_input_embeddings(), model.get_output_embeddings()
    shared = output is not None and output.weight is table.weight
    return every if shared else every - int(table.weight.numel())
