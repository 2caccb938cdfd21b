"""A rollout worker that samples with vLLM.

The trainer's weights are written as safetensors to a folder in memory, from which vLLM's own
`reload_weights` takes them in each worker: it loads a checkpoint's tensors by name, layer by
layer, and packs or shards them as it did at first. `collective_rpc` is for messages, not for data.
Checked with vLLM 0.32 on a CPU, whose weights are packed.

By default vLLM's log-probabilities are those before the temperature; `processed_logprobs` are those
that the loss needs.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from ... import vllm_library
from ...errors import InfiniteRLError
from ..core.encoding import Prompt, build_prompts
from ..core.learner import load_model_config, load_tokenizer, max_sequence_tokens
from ..core.rollout_types import PromptRequest
from ..core.sampling import Sampled, random_numbers
from .role_workers import RoleSpec

_MEMORY = Path("/dev/shm")  # a directory in main memory, if the system has one


class OutputLayer:
    """vLLM's `worker_extension_cls`: the output layer takes the weights that it shares.

    On a CPU a layer multiplies with a packed copy of its weights. vLLM's reload packs those of the
    layers that a checkpoint names, so an output layer that shares the embeddings' weights would
    keep those of before.
    """

    model_runner: Any

    def pack_output(self) -> None:
        """Pack the output layer's weights anew, on a CPU."""
        layer = getattr(self.model_runner.get_model(), "lm_head", None)
        if layer is not None and import_module("vllm.platforms").current_platform.is_cpu():
            layer.quant_method.process_weights_after_loading(layer)


class VLLMRollout:
    """As `role_workers.RolloutRole`, with vLLM.

    Raises:
        UsageError: vLLM is not installed, or cannot load the model with these options.
    """

    def __init__(self, spec: RoleSpec) -> None:
        config = self._config = spec.config
        self._tokenizer = load_tokenizer(config)
        max_tokens = max_sequence_tokens(config, load_model_config(config))
        self._prompts = build_prompts(spec.rows, self._tokenizer, max_tokens, config)
        options = {
            "dtype": config.dtype,
            "tensor_parallel_size": config.rollout_gpus,
            "max_model_len": max_tokens,
            "seed": config.seed,
            "logprobs_mode": "processed_logprobs",
            "worker_extension_cls": f"{__name__}.{OutputLayer.__name__}",
            **config.rollout_options,
        }
        self._llm = vllm_library.load(config.model, **options)

    def load(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Load weights as `TrainerRole.weights` returns them, and drop the prefix cache."""
        from safetensors.torch import save_file

        unique = {  # of tied weights the first name, as in a checkpoint
            (tensor.data_ptr(), tensor.shape, tensor.stride()): name
            for name, tensor in [*weights.items()][::-1]
        }
        with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
            path = Path(folder) / "model.safetensors"
            save_file({name: weights[name].contiguous() for name in unique.values()}, path)
            self._llm.collective_rpc("reload_weights", kwargs={"weights_path": folder})
        self._llm.collective_rpc(OutputLayer.pack_output.__name__, kwargs={})
        if self._llm.reset_prefix_cache() is False:
            raise InfiniteRLError("vLLM did not drop the prefix cache of the weights before these")

    def sample(self, requests: Sequence[PromptRequest]) -> list[list[Sampled]]:
        """Sample a group for each request, by the request's own seed."""
        prompts = [self._prompts[request.index] for request in requests]
        inputs = [{"prompt_token_ids": prompt.ids} for prompt in prompts]
        params = [self._params(*each) for each in zip(requests, prompts, strict=True)]
        outputs = self._llm.generate(inputs, params, use_tqdm=False)
        return [
            [
                replace(_sampled(completion), text=prompt.rendered.response(completion.text))
                for completion in output.outputs
            ]
            for prompt, output in zip(prompts, outputs, strict=True)
        ]

    def _params(self, request: PromptRequest, prompt: Prompt) -> Any:
        config = self._config
        numbers = random_numbers(config.seed, "sample", request.epoch, request.index)
        return vllm_library.sampling(
            self._tokenizer,
            prompt.rendered.stop,
            n=config.group_size,
            temperature=config.temperature,
            top_p=config.top_p,
            top_k=0,
            max_tokens=config.max_new_tokens,
            logprobs=0,  # of the drawn token alone
            seed=numbers.initial_seed() % 2**31,
        )


def _sampled(output: Any) -> Sampled:
    """A completion of vLLM: the drawn ids, each with its log-probability.

    Raises:
        InfiniteRLError: a token without a log-probability, which an option of vLLM can cause.
    """
    ids, log_probs = list(output.token_ids), output.logprobs or []
    if len(log_probs) != len(ids) or any(
        each not in by_id for each, by_id in zip(ids, log_probs, strict=True)
    ):
        raise InfiniteRLError("vLLM gave no log-probability for each token that it drew")
    values = [by_id[each].logprob for each, by_id in zip(ids, log_probs, strict=True)]
    reason = "length" if output.finish_reason == "length" else "stop"
    return Sampled(ids, values, output.text, reason)
