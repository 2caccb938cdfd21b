"""vLLM in this process: the model on as many GPUs as it is told."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from ... import vllm_library
from ...dataset.rows import Row
from ...errors import UsageError
from ..answers import Answer
from ..config import EvaluationConfig
from . import FewShotConfig, Request, seed_of

_AT_ONCE = 1024  # questions of one call: it batches as it likes, and answers are kept after each


class VLLM:
    """Answers many questions at once. Each has a seed of its own, whatever it is batched with.

    Raises:
        UsageError: vLLM is not installed, or cannot load the model.
    """

    def __init__(self, config: EvaluationConfig, stop: threading.Event) -> None:
        self._config, self._stop = config, stop
        more = {"max_model_len": config.max_model_len} if config.max_model_len else {}
        self._llm = vllm_library.load(
            config.model,
            dtype=config.dtype,
            tensor_parallel_size=config.tensor_parallel_size,
            gpu_memory_utilization=config.gpu_memory_utilization,
            seed=config.seed,
            **more,
        )
        self._tokenizer = self._llm.get_tokenizer()
        self._room: int = self._llm.llm_engine.model_config.max_model_len

    def question(self, key: str, row: Row, asking: FewShotConfig) -> Request:
        return asking.by_text(key, row, self._tokenizer)

    def answers(
        self, batches: Iterable[Sequence[Request]], max_new_tokens: int
    ) -> Iterator[Answer]:
        questions = (each for each in chain.from_iterable(batches) if each.owed)
        while not self._stop.is_set() and (some := list(islice(questions, _AT_ONCE))):
            asked: list[tuple[Request, list[int]]] = []
            for question in some:
                try:
                    asked.append((question, question.ids(self._tokenizer, self._room)))
                except UsageError as error:
                    yield from question.unasked(str(error))
            yield from self._generated(asked, max_new_tokens)

    def _generated(
        self, asked: Sequence[tuple[Request, list[int]]], max_new_tokens: int
    ) -> Iterator[Answer]:
        outputs = self._llm.generate(
            [{"prompt_token_ids": ids} for _, ids in asked],
            [self._params(question, max_new_tokens) for question, _ in asked],
            use_tqdm=False,
        )
        for (question, _), output in zip(asked, outputs, strict=True):
            for number in question.owed:
                one = output.outputs[number]
                cut_off, tokens = one.finish_reason == "length", len(one.token_ids)
                yield question.answer(number, one.text, cut_off=cut_off, tokens=tokens)

    def _params(self, question: Request, max_new_tokens: int) -> Any:
        config = self._config
        return vllm_library.sampling(
            self._tokenizer,
            question.prompted.stop,
            n=config.samples,
            temperature=config.sampling_temperature,
            top_p=config.top_p,
            max_tokens=max_new_tokens,
            seed=seed_of(config.seed, question.key) >> 25,  # vLLM takes 31 bits
        )
