"""A rollout worker that samples with vLLM.

The weights that the trainer sends are written as safetensors to a file in memory, of which vLLM's
own workers, one for each GPU, are told the path: `collective_rpc` is for messages, not for data,
and all vLLM versions and layouts can load a checkpoint's tensors by name. Not `reload_weights`,
which may give back what was loaded first (vllm-project/vllm#32718).

vLLM reports log-probabilities before the temperature unless told: `processed_logprobs` are those
that the loss needs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ... import vllm_library
from ...errors import InfiniteRLError
from ..core.encoding import Prompt
from ..core.grpo import build_prompts
from ..core.learner import load_shape, load_tokenizer, most_tokens
from ..core.sampling import Sampled, random_numbers
from ..runs.config import TrainingConfig
from .role_workers import RoleSpec
from .roles import PromptRequest

_MEMORY = Path("/dev/shm")  # a folder in main memory, where there is one


class WeightLoader:
    """What vLLM adds to each of its workers (`worker_extension_cls`): it loads a file's tensors."""

    model_runner: Any

    def load_safetensors(self, path: str) -> None:
        """Put the tensors of a file in the place of the model's, by their names in a checkpoint."""
        from safetensors import safe_open

        with safe_open(path, framework="pt") as file:
            names = file.keys()
            self.model_runner.model.load_weights((name, file.get_tensor(name)) for name in names)


class VLLMRollout:
    """Samples with vLLM and the weights that it is given; as `blocking.BlockingRollout`.

    Raises:
        UsageError: vLLM is not installed, or cannot load the model as it is told to.
    """

    def __init__(self, job: RoleSpec) -> None:
        config = self._config = job.config
        tokenizer = load_tokenizer(config)
        self._most = most_tokens(config, load_shape(config))
        self._prompts = build_prompts(job.rows, tokenizer, self._most, config)
        self._tokenizer = tokenizer
        self._llm = self._loaded(config)

    def _loaded(self, config: TrainingConfig) -> Any:
        told = {
            "dtype": config.dtype,
            "tensor_parallel_size": config.rollout_gpus,
            "max_model_len": self._most,
            "seed": config.seed,
            "logprobs_mode": "processed_logprobs",
            "worker_extension_cls": f"{__name__}.{WeightLoader.__name__}",
            **config.rollout_options,
        }
        return vllm_library.load(config.model, **told)

    def load(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Take over weights, as the trainer gave them; what was computed with others is dropped."""
        from safetensors.torch import save_file

        once = {id(tensor): name for name, tensor in [*weights.items()][::-1]}  # the first's
        with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
            path = Path(folder) / "model.safetensors"
            save_file({name: weights[name].contiguous() for name in once.values()}, path)
            self._llm.collective_rpc(WeightLoader.load_safetensors.__name__, args=(str(path),))
        if self._llm.reset_prefix_cache() is False:
            raise InfiniteRLError("vLLM keeps what it computed with the weights before these")

    def sample(self, tasks: Sequence[PromptRequest]) -> list[list[Sampled]]:
        """A group of answers to each task, by a seed of the task's own."""
        prompts = [self._prompts[task.place] for task in tasks]
        given = [{"prompt_token_ids": prompt.ids} for prompt in prompts]
        params = [self._params(*each) for each in zip(tasks, prompts, strict=True)]
        to_rollout = self._llm.generate(given, params, use_tqdm=False)
        return [
            [
                replace(_sampled(output), text=prompt.said.response(output.text))
                for output in each.outputs
            ]
            for prompt, each in zip(prompts, to_rollout, strict=True)
        ]

    def _params(self, task: PromptRequest, prompt: Prompt) -> Any:
        config = self._config
        seed = random_numbers(config.seed, "sample", task.epoch, task.place).initial_seed()
        return vllm_library.sampling(
            self._tokenizer,
            prompt.said.stop,
            n=config.group_size,
            temperature=config.temperature,
            top_p=1.0,
            top_k=0,
            max_tokens=config.max_new_tokens,
            logprobs=0,  # of the token that was drawn, and of no others
            seed=seed % 2**31,
        )


def _sampled(output: Any) -> Sampled:
    """An output of vLLM: the ids that were drawn, each with its log-probability.

    Raises:
        InfiniteRLError: a token has none: vLLM was told otherwise.
    """
    ids = list(output.token_ids)
    found = output.logprobs or []
    if len(found) != len(ids) or any(each not in by for each, by in zip(ids, found, strict=True)):
        raise InfiniteRLError("vLLM gave no log-probability for each token that it drew")
    log_probs = [by[each].logprob for each, by in zip(ids, found, strict=True)]
    reason = "length" if output.finish_reason == "length" else "stop"
    return Sampled(ids, log_probs, output.text, reason)
