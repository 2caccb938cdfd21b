"""The model that is trained: loading, devices, log-probabilities, updates."""

import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...errors import UsageError, import_extra, reason_of
from ..runs import checkpoint
from ..runs.config import TrainingConfig
from .optimizer import make_optimizer, update
from .prefill import shared_prompt_log_probs, supports_shared_prompts
from .sampling import random_numbers
from .tensors import get_response_log_probs, pad_id_of, shifted

# Dense bf16 operations a second, by a part of the GPU's name: NVIDIA's data sheets.
_PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "L40S": 362e12, "4090": 165e12}
_UNKNOWN_OPTION = re.compile(r"unexpected keyword argument '(\w+)'")
_HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
# transformers patches torch while it loads: concurrent loads leave models without weights.
_LOADING = threading.Lock()
_FILE_OPTIONS = ("trust_remote_code", "revision", "cache_dir", "token", "local_files_only")


class Learner:
    """A model, its tokenizer and its optimizer, by a config.

    `source` is a checkpoint, by default the config's `model`. `max_tokens` bounds a sequence by the
    model's context and by a forward pass.

    Raises:
        UsageError: no such model or device, or the model cannot be trained.
    """

    def __init__(self, config: TrainingConfig, source: Path | None = None) -> None:
        self.config = config
        self.device = resolve_device(config.device)
        self.tokenizer = load_tokenizer(config, source)
        self.model = self.load(source)
        self.optimizer = make_optimizer(self.model, config)
        self.pad_id = pad_id_of(self.tokenizer)
        self.max_tokens = max_sequence_tokens(config, self.model.config)
        self._shares_prompts = supports_shared_prompts(self.model)
        self._flops = 6 * _multiplied_weights(self.model)
        self._peak = None
        if config.dtype == "bfloat16" and self.device.type == "cuda":
            name = torch.cuda.get_device_name(self.device)
            self._peak = next((peak for part, peak in _PEAKS.items() if part in name), None)

    def load(self, source: Path | None = None) -> Any:
        """The config's model, or that of a checkpoint, on the device, with float32 weights."""
        model = load_model(self.config, source)
        check_fit(model, self.tokenizer, self.config.model)
        return model.to(self.device)

    def batch(
        self, prompts: Sequence[Sequence[int]], responses: Sequence[Sequence[int]]
    ) -> dict[str, Tensor]:
        """`tensors.shifted` on the device: input_ids, labels and response_mask, each (B, T)."""
        tensors = shifted(prompts, responses, self.pad_id)
        return {name: tensor.to(self.device) for name, tensor in tensors.items()}

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

    def response_log_probs(
        self,
        prompts: Sequence[Sequence[int]],
        responses: Sequence[Sequence[int]],
        *,
        model: Any = None,
        **options: Any,
    ) -> dict[str, Tensor]:
        """Log-probabilities of responses, with the `response_mask` of their positions.

        The options are `temperature` and `entropy`, as of `log_probs`. Equal prompts are computed
        once if the model supports it (`prefill.shared_prompt_log_probs`).
        """
        if self._shares_prompts and len(set(map(tuple, prompts))) < len(prompts):
            with self.autocast():
                return shared_prompt_log_probs(
                    self.model if model is None else model, prompts, responses, **options
                )
        batch = self.batch(prompts, responses)
        log_probs = self.log_probs(batch, model=model, **options)
        return {**log_probs, "response_mask": batch["response_mask"]}

    def autocast(self) -> AbstractContextManager[Any]:
        """Forward passes in bfloat16, if the config says so; it holds for one thread."""
        reduced = self.config.dtype == "bfloat16"
        return torch.autocast(self.device.type, torch.bfloat16, enabled=reduced)

    def update(self, step: int) -> dict[str, float]:
        """One step of the optimizer: see `optimizer.update`."""
        return update(self.model, self.optimizer, step, self.config)

    def seed_dropout(self, step: int) -> None:
        """Seed the dropout of the update number `step`, from 0."""
        torch.manual_seed(random_numbers(self.config.seed, "dropout", step).initial_seed())

    def save(self, run: Path, step: int, **state: Any) -> Path:
        """Save a checkpoint with this state and the optimizer's; raises as `checkpoint.save`."""
        state = {"optimizer": self.optimizer.state_dict(), **state}
        keep = self.config.save_total_limit
        return checkpoint.save(run, step, self.model, self.tokenizer, state, keep=keep)

    def speed(self, tokens: int, seconds: float) -> dict[str, float]:
        """Tokens trained on per second; on a known GPU, in bfloat16, also the MFU.

        MFU: share of the GPU's peak that 6 operations per token and weight take (Chowdhery et al.,
        PaLM, arXiv:2204.02311, appendix B, without attention).
        """
        rate = tokens / max(seconds, 1e-9)
        values = {"tokens_per_s": rate}
        if self._peak:
            values["mfu"] = rate * self._flops / self._peak
        if self.device.type == "cuda":
            values["gpu_gigabytes"] = torch.cuda.max_memory_allocated(self.device) / 1e9
        return values


def max_sequence_tokens(config: TrainingConfig, model_config: Any) -> int:
    """The longest sequence that the model's context and a forward pass hold."""
    return min(context_of(model_config) or config.tokens_per_batch, config.tokens_per_batch)


def context_of(model_config: Any) -> int | None:
    """The number of positions of a model; None if its config sets no limit."""
    return getattr(model_config.get_text_config(), "max_position_embeddings", None)


def load_model_config(config: TrainingConfig, source: Path | None = None) -> Any:
    """A model's config.json. Raises UsageError if there is none."""
    return pretrained(
        _transformers().AutoConfig, str(source or config.model), _file_options(config)
    )


def load_tokenizer(config: TrainingConfig, source: Path | None = None) -> Any:
    """A model's tokenizer. Raises UsageError if there is none."""
    return pretrained_tokenizer(str(source or config.model), _file_options(config))


def load_model(config: TrainingConfig, source: Path | None = None) -> Any:
    """A model with float32 weights, in main memory. Raises UsageError if there is none."""
    options = {"dtype": torch.float32, **config.engine_options}
    return pretrained(_transformers().AutoModelForCausalLM, str(source or config.model), options)


def _file_options(config: TrainingConfig) -> dict[str, Any]:
    return {name: each for name, each in config.engine_options.items() if name in _FILE_OPTIONS}


def pretrained(kind: Any, name: str, options: Mapping[str, Any]) -> Any:
    """Load a class of transformers from a directory or by a hub name.

    Remote code is not run, and no prompt asks whether it may be, unless `options` allow it.

    Raises:
        UsageError: no such model, or it cannot be loaded.
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
        where = "" if folder.is_dir() else " (there is no such folder, so the hub was asked)"
        reason = reason_of(error)
        unknown = _UNKNOWN_OPTION.search(reason)
        if unknown and unknown[1] in options:
            raise UsageError(
                f"engine_options has {unknown[1]!r}, no keyword of transformers' from_pretrained; "
                "options of TRL need engine: trl"
            ) from error
        if folder.is_dir() and not (folder / "config.json").is_file():
            reason = "it has no config.json"
        raise UsageError(f"the model {name} cannot be loaded{where}: {reason}") from error


def pretrained_tokenizer(name: str, options: Mapping[str, Any]) -> Any:
    """The tokenizer of a directory or hub name. Raises UsageError if there is none."""
    tokenizer = pretrained(_transformers().AutoTokenizer, name, options)
    # For a directory without a tokenizer, transformers may return an empty one.
    if tokenizer.get_vocab().keys() <= tokenizer.get_added_vocab().keys():
        raise UsageError(f"the model {name} has no tokenizer: no tokenizer.json or the like")
    return tokenizer


def check_fit(model: Any, tokenizer: Any, name: str) -> None:
    """Raise UsageError if the tokenizer has ids without an embedding: it is another model's."""
    largest = max(tokenizer.get_vocab().values(), default=0)
    rows = model.get_input_embeddings().weight.shape[0]
    if largest >= rows:
        raise UsageError(
            f"the tokenizer of {name} has ids up to {largest}, but its model only {rows} embeddings"
        )


_transformers = partial(import_extra, "transformers", "training needs", "train")


def resolve_device(name: str) -> torch.device:
    """The device of a config's `device`. Raises UsageError if it does not exist."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise UsageError(f"there is no device {name}: {torch.cuda.device_count()} GPUs are seen")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise UsageError("there is no device mps on this machine")
    return device


def _multiplied_weights(model: Any) -> int:
    """Weights that each token is multiplied with: not an embedding, unless the output shares it."""
    every: int = sum(each.numel() for each in model.parameters())
    table, output = model.get_input_embeddings(), model.get_output_embeddings()
    shared = output is not None and output.weight is table.weight
    return every if shared else every - int(table.weight.numel())
