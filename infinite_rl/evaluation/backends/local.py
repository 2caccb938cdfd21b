"""A model of transformers, on the CPU or a GPU of this process."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...dataset.rows import Row
from ...errors import UsageError
from ..answers import Answer
from ..config import EvaluationConfig
from . import FewShotConfig, Request, seed_of


class LocalModel:
    """Answers batch by batch, with `training.sampling`.

    A batch has a random generator of its own, so that its answers depend on nothing that was
    answered before it.

    Raises:
        UsageError: the model cannot be loaded, or the extra `train` is not installed.
    """

    def __init__(self, config: EvaluationConfig, stop: threading.Event) -> None:
        self._config, self._stop = config, stop
        self._torch, transformers = _libraries()
        from ...training.core.learner import (
            check_fit,
            context_of,
            device_of,
            pretrained,
            pretrained_tokenizer,
        )

        self._device = device_of(config.device)
        self._tokenizer = pretrained_tokenizer(config.model, {})
        kind, dtype = transformers.AutoModelForCausalLM, config.dtype
        options = {"dtype": dtype if dtype == "auto" else getattr(self._torch, dtype)}
        model = pretrained(kind, config.model, options)
        check_fit(model, self._tokenizer, config.model)
        self._model = model.to(self._device).eval()
        self._room = config.max_model_len or context_of(model.config) or 2**31

    def question(self, key: str, row: Row, asking: FewShotConfig) -> Request:
        return asking.by_text(key, row, self._tokenizer)

    def answers(
        self, batches: Iterable[Sequence[Request]], max_new_tokens: int
    ) -> Iterator[Answer]:
        for batch in batches:
            if self._stop.is_set():
                return
            together: list[tuple[Request, list[int]]] = []
            for question in batch:
                try:
                    ids = question.ids(self._tokenizer, self._room)
                except UsageError as error:
                    yield from question.unasked(str(error))
                    continue
                left = self._room - len(ids)
                if left >= max_new_tokens:
                    together.append((question, ids))
                else:  # on its own, so that others are not cut off with it
                    yield from self._sampled([(question, ids)], left)
            if together:
                yield from self._sampled(together, max_new_tokens)

    def _sampled(
        self, asked: Sequence[tuple[Request, list[int]]], max_new_tokens: int
    ) -> Iterator[Answer]:
        from ...training.core.sampling import sample

        config = self._config
        generator = self._torch.Generator()
        generator.manual_seed(seed_of(config.seed, *(question.key for question, _ in asked)))
        try:
            found = sample(
                self._model,
                self._tokenizer,
                [ids for _, ids in asked],
                n=config.samples,
                max_new_tokens=max_new_tokens,
                temperature=config.sampling_temperature,
                top_p=config.top_p,
                stop=asked[0][0].prompted.stop,
                generator=generator,
            )
        except self._torch.OutOfMemoryError:
            raise UsageError(
                f"the memory of {self._device} is too small for {len(asked)} items at a time: "
                "give a smaller batch_size"
            ) from None
        for (question, _), its in zip(asked, found, strict=True):
            for number in question.owed:
                one = its[number]
                cut_off = one.finish_reason == "length"
                yield question.answer(number, one.text, cut_off=cut_off, tokens=len(one.ids))


def _libraries() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ModuleNotFoundError:
        raise UsageError(
            "the backend transformers needs torch and transformers: "
            "pip install 'infinite-rl[train]'"
        ) from None
    return torch, transformers
