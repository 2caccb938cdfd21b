"""Stands in for vLLM, with the signatures of its documentation."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


@dataclass(frozen=True)
class SamplingParams:
    n: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    max_tokens: int | None = 16
    stop: list[str] | None = None
    stop_token_ids: list[int] | None = None
    logprobs: int | None = None
    seed: int | None = None


@dataclass
class LLM:
    """Notes its calls; what is answered is said by each test's own kind."""

    model: str
    dtype: str = "auto"
    tensor_parallel_size: int = 1
    gpu_memory_utilization: float = 0.9
    max_model_len: int | None = None
    seed: int = 0
    logprobs_mode: str = "raw_logprobs"
    worker_extension_cls: str = ""
    calls: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.model.endswith("refused"):
            raise ValueError("this architecture\n is not supported")
        MADE.append(self)

    def generate(
        self, prompts: Sequence[Any], sampling_params: Sequence[SamplingParams], *, use_tqdm: bool
    ) -> list[Any]:
        assert not use_tqdm
        self.calls.append((prompts, sampling_params))
        return [
            SimpleNamespace(
                outputs=[self.said(ids["prompt_token_ids"], params, n) for n in range(params.n)]
            )
            for ids, params in zip(prompts, sampling_params, strict=True)
        ]

    def said(self, ids: Sequence[int], params: SamplingParams, number: int) -> Any:
        """One of the answers to a prompt."""
        raise NotImplementedError


MADE: list[Any] = []  # the models that were loaded


def install(monkeypatch: pytest.MonkeyPatch, kind: type[LLM]) -> None:
    """Have `import vllm` find it."""
    module = ModuleType("vllm")
    module.LLM, module.SamplingParams = kind, SamplingParams  # type: ignore[attr-defined]
    platform = SimpleNamespace(is_cpu=lambda: False)
    platforms = SimpleNamespace(current_platform=platform)
    monkeypatch.setitem(sys.modules, "vllm", module)
    monkeypatch.setitem(sys.modules, "vllm.platforms", platforms)
    MADE.clear()
