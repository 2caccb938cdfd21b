"""The scripted provider."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from infinite_rl.errors import NoCompletion, ProviderRefused, UsageError
from infinite_rl.providers.base import Provider
from infinite_rl.providers.scripted import Call, ScriptedProvider
from infinite_rl.types import Completion


def test_replies_come_in_order() -> None:
    cut = Completion("two", "other", "length")
    provider: Provider = ScriptedProvider(["one", cut], model="m")
    assert provider.complete("", "p", 1) == Completion("one", "m")
    assert provider.complete("", "p", 2) is cut


def test_an_exception_is_raised_and_the_script_goes_on() -> None:
    provider = ScriptedProvider([NoCompletion("blocked"), "two"])
    with pytest.raises(NoCompletion, match="blocked"):
        provider.complete("", "p", 1)
    assert provider.complete("", "p", 1).text == "two"


def test_a_script_at_its_end_says_so() -> None:
    provider = ScriptedProvider(["one"])
    provider.complete("", "p", 1)
    for _ in range(2):
        with pytest.raises(ProviderRefused, match=r"its end after replies: 1$"):
            provider.complete("", "p", 2)


def test_a_function_answers_what_was_asked() -> None:
    provider = ScriptedProvider(lambda system, prompt, seed: f"{system}/{prompt}/{seed}")
    assert provider.complete("s", "p", 3).text == "s/p/3"


def test_an_exception_from_a_function_is_raised() -> None:
    provider = ScriptedProvider(lambda *_: NoCompletion("returned"))
    with pytest.raises(NoCompletion, match="returned"):
        provider.complete("", "p", 1)


def test_calls_are_recorded_also_those_that_fail() -> None:
    provider = ScriptedProvider(["one"])
    provider.complete("s", "p", 1)
    with pytest.raises(ProviderRefused):
        provider.complete("s", "p", 2)
    assert provider.calls == [Call("s", "p", 1), Call("s", "p", 2)]


def test_one_string_is_refused_rather_than_spelt_out() -> None:
    with pytest.raises(UsageError, match="not one string"):
        ScriptedProvider("one")


def test_many_threads_get_each_reply_once() -> None:
    def replies() -> Iterator[str]:  # a generator breaks if two threads are in it at once
        for number in range(400):
            time.sleep(0)  # lets another thread run here
            yield str(number)

    provider = ScriptedProvider(replies())
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda seed: provider.complete("", "p", seed).text, range(400)))
    assert sorted(map(int, texts)) == list(range(400))
    assert len(provider.calls) == 400
