"""The engine `trl`: the same config, trained by TRL's `SFTTrainer` and `GRPOTrainer`.

For models that need several GPUs, vLLM or adapters: `engine_options` are keywords of TRL's
`SFTConfig` or `GRPOConfig`, such as `use_vllm`, `fsdp` or `deepspeed`, and have the last word;
`peft` is a mapping of keywords of peft's `LoraConfig`. Several processes are started by
`accelerate launch` or `torchrun`.

It reads the same tokens and rewards as the engine `local`, and leaves the same run folder. What is
TRL's own differs: the standard deviation is the sample's, plus 1e-4; embeddings decay too; rows
come in another order; groups of equal rewards count in the means. Checked against TRL 1.16.
"""

from __future__ import annotations

import logging
import math
import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
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
from ..core.encoding import Prompt, examples
from ..core.grpo import build_prompts
from ..core.learner import load_model, load_tokenizer, most_tokens
from ..core.mixed import REWARD
from ..core.rollouts import Reward, judge
from ..core.sampling import end_ids
from ..runs import checkpoint
from ..runs.config import TrainingConfig
from ..runs.run_log import RunLog, TrainingRun, run_log
from .roles import truncation_penalty
from .trl_options import arguments, check, peft_of

logger = logging.getLogger(__name__)

# What TRL logs, by the names that the engine `local` has for it.
NAMES = {
    "completions/mean_length": "length",
    "completions/clipped_ratio": "truncated",
    "clip_ratio/low_mean": "clip_low",
    "clip_ratio/high_mean": "clip_high",
}


def run(training: TrainingRun) -> Path:
    """Train as the config says: see `training.train`.

    Raises:
        UsageError: an option is not known to TRL, or the config asks for what TRL has not.
    """
    config, start = training.config, training.source
    check(config)
    is_main = PartialState(cpu=config.device == "cpu").is_main_process
    tokenizer = load_tokenizer(config)
    with ExitStack() as opened:
        log = opened.enter_context(run_log(training)) if is_main else None
        [name] = broadcast_object_list([str(log.folder.path) if log else ""])
        path = Path(name)
        watch = _Watch(path, log, config)
        make = _sft if config.algorithm == "sft" else _grpo
        trainer = make(training, tokenizer, path, watch)
        trainer.remove_callback(PrinterCallback)  # the progress is ours to show
        trainer.add_callback(watch)
        trainer.train(resume_from_checkpoint=str(start) if start else None)
    found = checkpoint.newest(path)
    assert found is not None  # the last step is always saved
    return found


def _sft(
    training: TrainingRun,
    tokenizer: Any,
    path: Path,
    watch: _Watch,  # noqa: ARG001 -- as `_grpo`, whose samples it is told
) -> Any:
    config = training.config
    model = _model(config)
    found = examples(
        training.rows, tokenizer, config.prompt_template, most_tokens(config, model.config)
    )
    data = [
        {
            "input_ids": each.prompt + each.response,
            "completion_mask": [0] * len(each.prompt) + [1] * len(each.response),
        }
        for each in found
    ]
    return trl.SFTTrainer(
        model,
        arguments(config, path, max(map(len, found))),
        train_dataset=Dataset.from_list(_enough(data, config.batch_size)),
        processing_class=tokenizer,
        peft_config=peft_of(config),
    )


def _grpo(training: TrainingRun, tokenizer: Any, path: Path, watch: _Watch) -> Any:
    config = training.config
    model = _model(config)
    asked = build_prompts(training.rows, tokenizer, most_tokens(config, model.config), config)
    ends = _end_turns(model, tokenizer, asked, config)
    data = [
        {"prompt": _as_read(each, tokenizer), "ground_truth": pack(sample_of(each.row)), "place": n}
        for n, each in enumerate(asked)
    ]
    longest = max(len(each.ids) for each in asked) + config.max_new_tokens
    told = arguments(_ending(config, ends), path, longest)
    limit = _Limit(told.max_completion_length, end_ids(model, tokenizer))
    return trl.GRPOTrainer(
        model,
        _reward(training.reward, asked, watch, config, limit),
        told,
        Dataset.from_list(_enough(data, config.batch_size * (config.max_staleness + 1))),
        processing_class=tokenizer,
        peft_config=peft_of(config),
    )


def _model(config: TrainingConfig) -> Any:
    options = {"trust_remote_code": config.engine_options.get("trust_remote_code", False)}
    options |= config.engine_options.get("model_init_kwargs") or {}
    return load_model(replace(config, engine_options=options))


def _enough(data: list[dict[str, Any]], wanted: int) -> list[dict[str, Any]]:
    """The rows, repeated as needed for TRL to fill one batch, which it would else leave out."""
    return data * math.ceil(wanted / len(data))


def _as_read(prompt: Prompt, tokenizer: Any) -> str:
    """The text of which TRL's tokenizer, which may add a first token, makes the prompt's ids."""
    first = tokenizer.bos_token or ""
    for text in (prompt.said.text, prompt.said.text.removeprefix(first)):
        if tokenizer(text=text)["input_ids"] == prompt.ids:
            return text
    raise UsageError(
        "TRL would give the model other tokens than the prompt's: this tokenizer adds some of its "
        "own; use the engine local"
    )


def _end_turns(
    model: Any, tokenizer: Any, asked: Sequence[Prompt], config: TrainingConfig
) -> dict[str, list[Any]]:
    """Have the model end at the stop strings that are one token, and say which are not.

    Returns vLLM's keywords for the same: there it reads the files of the model, not the model.
    """
    ends = model.generation_config.eos_token_id
    known = [*ends] if isinstance(ends, list) else [each for each in [ends] if each is not None]
    single, longer = [], []
    for stop in sorted({stop for prompt in asked for stop in prompt.said.stop}):
        ids = tokenizer.encode(stop, add_special_tokens=False)
        if len(ids) == 1:
            single.append(ids[0])
        else:
            longer.append(stop)
    known += [each for each in single if each not in known]
    model.generation_config.eos_token_id = known or None
    if longer and not config.engine_options.get("use_vllm"):
        logger.warning(
            "TRL ends an answer at tokens only, so what follows %s is trained on, though not "
            "judged; with use_vllm it is not",
            ", ".join(map(repr, longer)),
        )
    return {"stop_token_ids": known, "stop": longer}


def _ending(config: TrainingConfig, ends: Mapping[str, list[Any]]) -> TrainingConfig:
    """The config with the ends of an answer among vLLM's keywords, where it samples."""
    own = config.engine_options
    if not own.get("use_vllm"):
        return config
    given = {name: value for name, value in ends.items() if value}
    options = {**given, **(own.get("generation_kwargs") or {})}
    return replace(config, engine_options={**own, "generation_kwargs": options})


@dataclass(frozen=True)
class _Limit:
    """How long a completion may be, and the tokens that end one."""

    tokens: int
    ends: Collection[int]

    def cuts(self, ids: Sequence[int], prompt: Prompt, completion: str) -> bool:
        """Whether a completion was cut off: neither an end nor a stop string came in time."""
        if len(ids) < self.tokens or ids[-1] in self.ends:
            return False
        return not any(stop in completion for stop in prompt.said.stop)


def _reward(
    reward: Reward,
    asked: Sequence[Prompt],
    watch: _Watch,
    config: TrainingConfig,
    limit: _Limit,
) -> Callable[..., Any]:
    """The reward as TRL calls it: by `for_trl`, or by the caller's own function of rows."""

    def infinite_rl(
        prompts: Sequence[str],
        completions: Sequence[str],
        place: Sequence[int],
        completion_ids: Sequence[Sequence[int]],
        **columns: Any,
    ) -> list[float | None]:
        those = [asked[each] for each in place]
        pairs = zip(those, completions, strict=True)
        texts = [prompt.said.response(completion) for prompt, completion in pairs]
        rows = [prompt.row for prompt in those]
        if isinstance(reward, Scorer) and not any(REWARD in row for row in rows):
            found = reward_of(reward)(prompts, texts, **columns)
        else:
            found = judge(reward, rows, texts)
        cut = map(limit.cuts, completion_ids, those, completions)
        found = [
            truncation_penalty(config, each, off) for each, off in zip(found, cut, strict=True)
        ]
        watch.sampled(those, texts, found, columns)
        return found

    return infinite_rl


# --- what is written -----------------------------------------------------------------------------


class _Watch(TrainerCallback):
    """Writes down what TRL does, as the engine `local` does, in the main process."""

    def __init__(self, path: Path, log: RunLog | None, config: TrainingConfig) -> None:
        self._path, self._log, self._config = path, log, config
        self._tokens, self._time = 0.0, time.perf_counter()

    def on_log(self, args: Any, state: Any, control: Any, **given: Any) -> None:  # noqa: ARG002 -- TRL's form
        """A step is done."""
        logs: Mapping[str, Any] = given.get("logs") or {}
        if not self._log or not logs or "train_runtime" in logs:
            return  # that is the sum of a whole run
        values = {NAMES.get(name, name): float(value) for name, value in logs.items()}
        if tokens := values.get("num_tokens"):  # since the beginning
            now = time.perf_counter()
            values["tokens_per_s"] = (tokens - self._tokens) / max(now - self._time, 1e-9)
            self._tokens, self._time = tokens, now
        self._log.step(state.global_step, values)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 -- as above
        """TRL's checkpoint, from which it can go on, becomes one of the run's."""
        if self._log:
            step = state.global_step
            files = _Files(Path(args.output_dir) / f"checkpoint-{step}")
            keep = self._config.save_total_limit
            found = checkpoint.save(self._path, step, files, _Nothing(), {}, keep=keep)
            self._log.saved(found)

    def sampled(
        self,
        asked: Sequence[Prompt],
        texts: Sequence[str],
        rewards: Sequence[float | None],
        columns: Mapping[str, Any],
    ) -> None:
        """Write the main process's samples down."""
        if self._log:
            step = columns["trainer_state"].global_step + 1
            for prompt, text, reward in zip(asked, texts, rewards, strict=True):
                self._log.folder.rollout(
                    step, row=prompt.id, prompt=prompt.said.text, completion=text, reward=reward
                )


class _Files:
    """What stands in for a model where its files are there already."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save_pretrained(self, target: Path) -> None:
        for file in self._folder.iterdir():
            if file.is_dir():
                shutil.copytree(file, target / file.name)
            else:
                shutil.copy2(file, target / file.name)


class _Nothing:
    def save_pretrained(self, target: Path) -> None:
        """The tokenizer's files are among the model's."""
