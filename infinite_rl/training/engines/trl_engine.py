"""The engine `trl`: the same config, trained by TRL's `SFTTrainer` and `GRPOTrainer`.

For models that need several GPUs, vLLM or adapters: `engine_options` are keywords of TRL's
`SFTConfig` or `GRPOConfig`, for example `use_vllm`, `fsdp` or `deepspeed`, and override the config;
`peft` is a mapping of keywords of peft's `LoraConfig`. Start several processes with
`accelerate launch` or `torchrun`.

Tokens, rewards and the run's directory are those of the engine `local`. TRL's own behaviour
differs: the standard deviation is the sample's, plus 1e-4; embeddings decay too; rows come in
another order; groups of equal rewards count in the means. Checked against TRL 1.16.
"""

from __future__ import annotations

import logging
import math
import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import trl
from accelerate import PartialState
from accelerate.utils import broadcast_object_list
from datasets import Dataset
from transformers import PrinterCallback, TrainerCallback

from ...adapters.scorer import Scorer
from ...adapters.trl import reward_of
from ...dataset.ground_truth import pack
from ...errors import UsageError
from ...store import sample_of
from ..core.encoding import Prompt, build_prompts, examples
from ..core.learner import load_model, load_tokenizer, max_sequence_tokens
from ..core.mixed import REWARD
from ..core.rollout_types import truncation_penalty
from ..core.rollouts import Reward, compute_rewards
from ..core.sampling import end_ids
from ..runs import checkpoint
from ..runs.config import TrainingConfig
from ..runs.run_log import RunLog, TrainingRun, run_log
from .trl_options import arguments, check, peft_config

logger = logging.getLogger(__name__)

# TRL's metrics, by the names of the engine `local`.
METRICS = {
    "completions/mean_length": "length",
    "completions/clipped_ratio": "truncated",
    "clip_ratio/low_mean": "clip_low",
    "clip_ratio/high_mean": "clip_high",
}


def run(training: TrainingRun) -> Path:
    """Train as the config says: see `training.train`.

    Raises:
        UsageError: an option that TRL does not know, or a feature that it does not have.
    """
    config, source = training.config, training.checkpoint
    check(config)
    is_main = PartialState(cpu=config.device == "cpu").is_main_process
    tokenizer = load_tokenizer(config)
    with ExitStack() as stack:
        log = stack.enter_context(run_log(training)) if is_main else None
        [name] = broadcast_object_list([str(log.folder.path) if log else ""])
        path = Path(name)
        callback = _LoggingCallback(path, log, training)
        if config.algorithm == "sft":
            trainer = _sft_trainer(training, tokenizer, path)
        else:
            trainer = _grpo_trainer(training, tokenizer, path, callback)
        trainer.remove_callback(PrinterCallback)  # the CLI displays the progress
        trainer.add_callback(callback)
        trainer.train(resume_from_checkpoint=str(source) if source else None)
    newest = checkpoint.newest(path)
    assert newest is not None  # the last step is always saved
    return newest


def _sft_trainer(training: TrainingRun, tokenizer: Any, path: Path) -> Any:
    config = training.config
    model = _model(config)
    max_tokens = max_sequence_tokens(config, model.config)
    every = examples(training.rows, tokenizer, config.prompt_template, max_tokens)
    data = [
        {
            "input_ids": each.prompt + each.response,
            "completion_mask": [0] * len(each.prompt) + [1] * len(each.response),
        }
        for each in every
    ]
    return trl.SFTTrainer(
        model,
        arguments(config, path, max(map(len, every))),
        train_dataset=Dataset.from_list(_repeated(data, config.batch_size)),
        processing_class=tokenizer,
        peft_config=peft_config(config),
    )


def _grpo_trainer(
    training: TrainingRun, tokenizer: Any, path: Path, callback: _LoggingCallback
) -> Any:
    config = training.config
    model = _model(config)
    max_tokens = max_sequence_tokens(config, model.config)
    prompts = build_prompts(training.rows, tokenizer, max_tokens, config)
    stops = _set_stop_tokens(model, tokenizer, prompts, config)
    data = [
        {
            "prompt": _text_of_ids(prompt, tokenizer),
            "ground_truth": pack(sample_of(prompt.row)),
            "index": index,
        }
        for index, prompt in enumerate(prompts)
    ]
    longest = max(map(len, prompts)) + config.max_new_tokens
    settings = arguments(_with_vllm_stops(config, stops), path, longest)
    is_truncated = partial(
        _is_truncated, limit=settings.max_completion_length, ends=end_ids(model, tokenizer)
    )
    return trl.GRPOTrainer(
        model,
        _reward_function(training.reward, prompts, callback, config, is_truncated),
        settings,
        Dataset.from_list(_repeated(data, config.batch_size * (config.max_staleness + 1))),
        processing_class=tokenizer,
        peft_config=peft_config(config),
    )


def _model(config: TrainingConfig) -> Any:
    options = {"trust_remote_code": config.engine_options.get("trust_remote_code", False)}
    options |= config.engine_options.get("model_init_kwargs") or {}
    return load_model(replace(config, engine_options=options))


def _repeated(data: list[dict[str, Any]], least: int) -> list[dict[str, Any]]:
    """The rows, repeated to fill one batch: TRL drops an incomplete one."""
    return data * math.ceil(least / len(data))


def _text_of_ids(prompt: Prompt, tokenizer: Any) -> str:
    """The text from which TRL's tokenizer, which may add a first token, makes the prompt's ids."""
    first = tokenizer.bos_token or ""
    for text in (prompt.rendered.text, prompt.rendered.text.removeprefix(first)):
        if tokenizer(text=text)["input_ids"] == prompt.ids:
            return text
    raise UsageError(
        "TRL would give the model other tokens than the prompt's: this tokenizer adds some of its "
        "own; use the engine local"
    )


def _set_stop_tokens(
    model: Any, tokenizer: Any, prompts: Sequence[Prompt], config: TrainingConfig
) -> dict[str, list[Any]]:
    """Make single-token stop strings end tokens of the model, and warn of the others.

    Returns vLLM's keywords for the same.
    """
    ends = model.generation_config.eos_token_id
    ids = [*ends] if isinstance(ends, list) else [each for each in [ends] if each is not None]
    longer = []
    for stop in sorted({stop for prompt in prompts for stop in prompt.rendered.stop}):
        encoded = tokenizer.encode(stop, add_special_tokens=False)
        if len(encoded) != 1:
            longer.append(stop)
        elif encoded[0] not in ids:
            ids.append(encoded[0])
    model.generation_config.eos_token_id = ids or None
    if longer and not config.engine_options.get("use_vllm"):
        logger.warning(
            "TRL stops at single tokens only, so tokens after %s are trained on, though not "
            "scored; use_vllm stops there",
            ", ".join(map(repr, longer)),
        )
    return {"stop_token_ids": ids, "stop": longer}


def _with_vllm_stops(config: TrainingConfig, stops: Mapping[str, list[Any]]) -> TrainingConfig:
    """The config with the stops among vLLM's keywords: vLLM reads the model's files alone."""
    if not config.engine_options.get("use_vllm"):
        return config
    options = {name: value for name, value in stops.items() if value}
    options |= config.engine_options.get("generation_kwargs") or {}
    return replace(config, engine_options={**config.engine_options, "generation_kwargs": options})


def _is_truncated(
    ids: Sequence[int], prompt: Prompt, completion: str, *, limit: int, ends: Collection[int]
) -> bool:
    """Whether neither an end token nor a stop string came within `limit` tokens."""
    if len(ids) < limit or ids[-1] in ends:
        return False
    return not any(stop in completion for stop in prompt.rendered.stop)


def _reward_function(
    reward: Reward,
    by_index: Sequence[Prompt],
    callback: _LoggingCallback,
    config: TrainingConfig,
    is_truncated: Callable[[Sequence[int], Prompt, str], bool],
) -> Callable[..., Any]:
    """The reward as TRL calls it: `adapters.trl`, or a custom function of rows and completions."""

    def infinite_rl(
        prompts: Sequence[str],
        completions: Sequence[str],
        index: Sequence[int],
        completion_ids: Sequence[Sequence[int]],
        **columns: Any,
    ) -> list[float | None]:
        batch = [by_index[number] for number in index]
        texts = [
            prompt.rendered.response(completion)
            for prompt, completion in zip(batch, completions, strict=True)
        ]
        rows = [prompt.row for prompt in batch]
        if isinstance(reward, Scorer) and not any(REWARD in row for row in rows):
            rewards = reward_of(reward)(prompts, texts, **columns)
        else:
            rewards = compute_rewards(reward, rows, texts)
        truncated = map(is_truncated, completion_ids, batch, completions)
        rewards = [
            truncation_penalty(config, *each) for each in zip(rewards, truncated, strict=True)
        ]
        callback.log_rollouts(columns["trainer_state"].global_step + 1, batch, texts, rewards)
        return rewards

    return infinite_rl


class _LoggingCallback(TrainerCallback):
    """Logs steps, rollouts and checkpoints as the engine `local` does, in the main process."""

    def __init__(self, path: Path, log: RunLog | None, training: TrainingRun) -> None:
        self._path, self._log, self._config = path, log, training.config
        self._stop = training.stop
        self._tokens, self._time = 0.0, time.perf_counter()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 -- TRL's signature
        """Save and end if the main process was asked to stop: all must do so in the same step."""
        [stopping] = broadcast_object_list([self._stop.is_set()])
        if stopping:
            control.should_save = control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, **values: Any) -> None:  # noqa: ARG002 -- as above
        """Log a step."""
        logs: Mapping[str, Any] = values.get("logs") or {}
        if not self._log or not logs or "train_runtime" in logs:
            return  # the summary of a whole run
        metrics = {METRICS.get(name, name): float(value) for name, value in logs.items()}
        if tokens := metrics.get("num_tokens"):  # since the beginning
            now = time.perf_counter()
            metrics["tokens_per_s"] = (tokens - self._tokens) / max(now - self._time, 1e-9)
            self._tokens, self._time = tokens, now
        self._log.step(state.global_step, metrics)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 -- as above
        """Copy TRL's checkpoint, from which it can resume, into the run's checkpoints."""
        if not self._log:
            return
        source = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        files = SimpleNamespace(
            save_pretrained=lambda target: shutil.copytree(source, target, dirs_exist_ok=True)
        )
        tokenizer = SimpleNamespace(save_pretrained=lambda _: None)  # its files are in `source`
        saved = checkpoint.save(
            self._path, state.global_step, files, tokenizer, {}, keep=self._config.save_total_limit
        )
        self._log.saved(saved)

    def log_rollouts(
        self,
        step: int,
        prompts: Sequence[Prompt],
        texts: Sequence[str],
        rewards: Sequence[float | None],
    ) -> None:
        """Log the main process's rollouts."""
        if not self._log:
            return
        for prompt, text, reward in zip(prompts, texts, rewards, strict=True):
            record = {"prompt": prompt.rendered.text, "completion": text, "reward": reward}
            self._log.rollout(step, prompt.row, row=prompt.id, **record)
