"""A server that speaks OpenAI's protocol, or any other provider, asked from threads."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import chain, islice

from ...dataset.prompt_templates import PROMPT_TEMPLATES, RenderedPrompt
from ...dataset.rows import Row
from ...errors import NoCompletion, ProviderError, Stopped, UsageError
from ...inference.clients import RequestPolicy
from ...providers import make_provider
from ...providers.base import Provider
from ...providers.rate_limit import Limits
from ...store import sample_of
from ...types import Sample, Usage
from ..answers import Answer
from ..config import EvaluationConfig
from . import FewShotConfig, Request, seed_of

_AHEAD = 4  # calls a thread that are in line
_LOOK_S = 0.5  # the longest that a signal goes unnoticed


class Server:
    """Asks a provider: each answer is a call of its own, with a seed of its own.

    In the style `chat` the instructions are the system message, and worked examples stand before
    the task in the user's; the server applies its model's chat template. In another style the whole
    text is the user's message. Calls are made again while trouble passes, and end when `stop` is
    set.

    Raises:
        UsageError, ProviderRefused: the server cannot be asked.
    """

    def __init__(
        self, config: EvaluationConfig, stop: threading.Event, provider: Provider | None = None
    ) -> None:
        if config.top_p != 1:
            raise UsageError("top_p cannot be told to a server: leave it at 1")
        self._config, self._provider = config, provider
        self._stop = stop
        self._halt = threading.Event()  # also set where a call has failed for good
        self._policy = RequestPolicy(Limits(), config.threads, retry=None, stop=self._halt)
        if provider is None and not config.base_url:
            raise UsageError("the backend server needs base_url, such as http://localhost:8000/v1")

    def question(self, key: str, row: Row, asking: FewShotConfig) -> Request:
        if asking.config.prompt_template != "chat":
            return asking.by_text(key, row, None)
        sample = sample_of(row)
        told = (
            PROMPT_TEMPLATES["chat"].instruction(sample) if asking.system is None else asking.system
        )
        prompt = _after_examples(sample, map(sample_of, asking.examples))
        return Request(key, told, asking.stopping(RenderedPrompt(prompt)))

    def answers(
        self, batches: Iterable[Sequence[Request]], max_new_tokens: int
    ) -> Iterator[Answer]:
        provider = self._policy.with_provider(self._provider or self._made(max_new_tokens))

        def ask(question: Request, number: int) -> Answer:
            seed = seed_of(self._config.seed, question.key, number)
            if self._stop.is_set():
                self._halt.set()
            try:
                found = provider.complete(question.system, question.prompted.text, seed)
            except NoCompletion as error:
                return _without_text(question, number, error, max_new_tokens)
            except ProviderError:
                self._halt.set()  # those in line end; those under way are waited for
                raise
            tokens = found.usage.output_tokens + found.usage.thinking_tokens
            cut_off = found.finish_reason == "length"
            return question.answer(number, found.text, cut_off=cut_off, tokens=tokens or None)

        questions = chain.from_iterable(batches)
        todo = ((question, number) for question in questions for number in question.owed)
        pool = ThreadPoolExecutor(self._config.threads, thread_name_prefix="asker")
        under_way: set[Future[Answer]] = set()
        failures: list[BaseException] = []
        try:
            while True:
                room = 0 if failures else _AHEAD * self._config.threads - len(under_way)
                under_way |= {pool.submit(ask, *each) for each in islice(todo, room)}
                if not under_way:
                    break
                done, under_way = wait(under_way, _LOOK_S, return_when=FIRST_COMPLETED)
                for future in done:
                    if error := future.exception():
                        failures.append(error)
                    else:
                        yield future.result()
        except BaseException:  # whatever it is, nothing more is to be asked
            self._halt.set()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        if failures:  # the others were told to stop because of one
            raise next((each for each in failures if not isinstance(each, Stopped)), failures[0])

    def _made(self, max_new_tokens: int) -> Provider:
        config = self._config
        return make_provider(
            "openai_compatible",
            config.model,
            temperature=config.sampling_temperature,
            max_output_tokens=max_new_tokens,
            base_url=config.base_url,
        )


def _without_text(
    question: Request, number: int, error: NoCompletion, max_new_tokens: int
) -> Answer:
    """An answer without text is the model's; a prompt that the server would not take is not."""
    if error.usage == Usage():
        return Answer(question.key, number, None, why=str(error))
    tokens = error.usage.output_tokens + error.usage.thinking_tokens
    return question.answer(number, "", cut_off=tokens >= max_new_tokens, tokens=tokens)


def _after_examples(sample: Sample, examples: Iterable[Sample]) -> str:
    """The task as one message, after worked examples: a provider takes one."""
    shown = PROMPT_TEMPLATES["chat"].shown
    parts = [f"Example:\n{each.prompt}\n\nIts answer:\n{shown(each)}\n\n" for each in examples]
    return "".join([*parts, "Now the task:\n"]) + sample.prompt if parts else sample.prompt
