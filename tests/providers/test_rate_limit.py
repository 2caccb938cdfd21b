"""Calls within limits and their retries, with real threads on a clock that only waiting moves."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count

import pytest
from simulated_time import SimulatedTime
from test_backoff import most_in

from infinite_rl.errors import NoCompletion, ProviderRefused, ProviderUnavailable
from infinite_rl.providers.rate_limit import LimitedProvider, Limits, RetryPolicy
from infinite_rl.providers.scripted import Reply, ScriptedProvider
from infinite_rl.types import Completion, Usage


def policy(time: SimulatedTime, jitter: float = 0.5) -> RetryPolicy:
    return RetryPolicy(sleep=time.sleep, clock=time.clock, random=lambda: jitter)


def down(retry_after: float | None = None, status: int | None = None) -> ProviderUnavailable:
    return ProviderUnavailable("it is down", retry_after=retry_after, status=status)


def always_down(retry_after: float | None = None) -> ScriptedProvider:
    return ScriptedProvider(lambda *_: down(retry_after))


@dataclass
class Asked:
    """What one call came to, and when."""

    text: str = ""
    error: Exception | None = None
    at: float = 0.0


def ask(
    provider: LimitedProvider, time: SimulatedTime, *seeds: int, begins: float = 0.0
) -> list[Asked]:
    """A call for each seed, from as many threads; each begins `begins` s after the one before."""
    asked = [Asked() for _ in seeds]

    def call(place: int) -> None:
        time.sleep(threading.Event(), place * begins)
        try:
            asked[place].text = provider.complete("s", "p", seeds[place]).text
        except Exception as error:
            asked[place].error = error
        asked[place].at = time.now

    start = time.now
    time.run([lambda place=place: call(place) for place in range(len(seeds))])
    for one in asked:
        one.at -= start
    return asked


def retried(*replies: Reply, jitter: float = 0.5, total_s: float = 1800) -> Asked:
    """What one call to a script came to, in seconds from its begin."""
    time = SimulatedTime()
    bounded = replace(policy(time, jitter), total_s=total_s)
    return ask(LimitedProvider(ScriptedProvider(replies), bounded), time, 1)[0]


# One call and its tries


def test_a_good_answer_is_passed_on_without_a_wait() -> None:
    provider = LimitedProvider(ScriptedProvider(["one"], model="m"))
    assert (provider.model, provider.complete("s", "p", 1).text) == ("m", "one")
    assert retried("one") == Asked("one", None, 0)


def test_the_same_call_is_made_again() -> None:
    time, script = SimulatedTime(), ScriptedProvider([down(), down(), "three"])
    assert ask(LimitedProvider(script, policy(time)), time, 1)[0].text == "three"
    assert script.calls == [("s", "p", 1)] * 3


def test_its_waits_double() -> None:
    assert retried(*[down()] * 6, "end").at == pytest.approx(0.5 + 1 + 2 + 4 + 8 + 16)


def test_the_delay_that_the_provider_names_is_kept_and_spread() -> None:
    assert retried(down(13), "two", jitter=0.25).at == pytest.approx(13.25)


@pytest.mark.parametrize("error", [ProviderRefused("no"), NoCompletion("no"), ValueError("no")])
def test_no_other_error_is_retried(error: Exception) -> None:
    assert retried(error, "two").error is error


def test_a_call_that_broke_is_no_longer_in_flight() -> None:
    time = SimulatedTime()
    script = ScriptedProvider([ValueError("no"), "two"])
    provider = LimitedProvider(script, policy(time), limits=Limits(max_concurrency=1))
    assert [one.text for one in ask(provider, time, 1, 2)] == ["", "two"]
    assert provider.stats.in_flight == 0


def test_it_gives_up_in_time_and_says_after_how_many_tries() -> None:
    asked = retried(*[down(13)] * 9, total_s=30)
    assert isinstance(asked.error, ProviderUnavailable)
    assert str(asked.error) == "it is down (gave up after 3 tries: the limit is 30 s)"
    assert asked.error.retry_after == 13 and asked.at <= 30


def test_a_delay_beyond_the_limit_is_not_waited_for() -> None:
    asked = retried(down(3600))
    assert asked.at == 0 and "after 1 try: the limit is 1800 s" in str(asked.error)


def test_each_retry_is_told_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "infinite_rl.providers.rate_limit")
    told: list[tuple[str, float]] = []
    time = SimulatedTime()
    provider = LimitedProvider(
        ScriptedProvider([down(), down(13), "three"], model="m"),
        policy(time),
        on_retry=lambda error, wait_s: told.append((str(error), wait_s)),
    )
    ask(provider, time, 1)
    assert told == [("it is down", 0.5), ("it is down", 13.5)]
    assert caplog.messages == [
        "m: 1 try failed, again in 0.5 s: it is down",
        "m: 2 tries failed, again in 13.5 s: it is down",
    ]


# A stop


def test_no_call_begins_after_a_stop() -> None:
    stop, script = threading.Event(), ScriptedProvider(["one"])
    stop.set()
    with pytest.raises(ProviderUnavailable, match="stopped before it was tried"):
        LimitedProvider(script, stop=stop).complete("", "p", 1)
    assert script.calls == []


def test_a_stop_ends_all_waits_at_once() -> None:
    """Of the call that is between two tries, of those in line, of those in a pause."""
    time, stop = SimulatedTime(), threading.Event()
    provider = LimitedProvider(
        always_down(60), policy(time), limits=Limits(rpm=10, max_concurrency=1), stop=stop
    )

    def stopper() -> None:
        time.sleep(threading.Event(), 7)
        stop.set()

    ends: list[str] = []

    def call() -> None:
        with pytest.raises(ProviderUnavailable) as caught:
            provider.complete("", "p", 1)
        assert time.now == pytest.approx(107, abs=0.1)
        ends.append(str(caught.value))

    time.run([stopper, *[call] * 50])
    assert sorted(set(ends)) == ["it is down (stopped after 1 try)", "stopped before it was tried"]
    assert provider.stats.waiting == 0


def test_real_waits_are_interrupted() -> None:
    stop = threading.Event()
    begun = threading.Semaphore(0)
    provider = LimitedProvider(
        always_down(60), stop=stop, on_retry=lambda *_: begun.release(), limits=Limits()
    )
    errors: list[Exception] = []

    def call() -> None:
        try:
            provider.complete("", "p", 1)
        except ProviderUnavailable as error:
            errors.append(error)

    threads = [threading.Thread(target=call) for _ in range(20)]
    for thread in threads:
        thread.start()
    begun.acquire()
    stop.set()
    for thread in threads:
        thread.join(30)
    assert len(errors) == 20 and all("stopped" in str(error) for error in errors)


def test_a_wait_that_is_broken_off_frees_its_place() -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    provider = LimitedProvider(ScriptedProvider([down(60)]), RetryPolicy(sleep=interrupted))
    with pytest.raises(KeyboardInterrupt):
        provider.complete("", "p", 1)
    assert provider.stats[:3:2] == (0, 0)


# What one call learns, all heed


def test_a_delay_that_is_named_to_one_call_holds_nobody_else_up() -> None:
    time, script = SimulatedTime(), ScriptedProvider([down(13, 429), "two", "one"])
    provider = LimitedProvider(script, policy(time, jitter=0.0))
    first, second = ask(provider, time, 1, 2, begins=5)
    assert [call.seed for call in script.calls] == [1, 2, 1]
    assert (first.at, second.at) == pytest.approx((13, 5), abs=0.01)


def test_a_trouble_without_a_delay_holds_nobody_else_up() -> None:
    time, script = SimulatedTime(), ScriptedProvider([down(), "other", "one"])
    first, second = ask(LimitedProvider(script, policy(time)), time, 1, 2, begins=0.1)
    assert (first.at, second.at) == pytest.approx((0.5, 0.1), abs=0.01)


@pytest.mark.parametrize("threads", [1, 16])
def test_where_nothing_listens_all_calls_end_within_seconds(threads: int) -> None:
    time = SimulatedTime()
    said = "no answer from there (nothing listens at 127.0.0.1:9)"
    script = ScriptedProvider(lambda *_: ProviderUnavailable(said, kind="unreachable"))
    asked = ask(LimitedProvider(script, policy(time)), time, *range(threads))
    assert all(5 <= one.at <= 15 for one in asked)
    message = str(asked[0].error)
    assert said in message and "no call was ever answered" in message and "proxy" in message
    assert {str(one.error) for one in asked} == {message}


@pytest.mark.parametrize("first", ["text", down(status=503)])
def test_a_server_that_was_met_once_is_waited_for(first: Reply) -> None:
    time, gone = SimulatedTime(), ProviderUnavailable("refused", kind="unreachable")
    provider = LimitedProvider(ScriptedProvider([first, *[gone] * 8, "two"]), policy(time))
    if first == "text":
        assert ask(provider, time, 1)[0].text == "text"
    assert ask(provider, time, 2)[0].text == "two"


def test_a_used_up_day_ends_the_call_at_once_with_that_reason() -> None:
    refused = ProviderRefused("a daily quota is used up (GenerateRequestsPerDay)")
    assert retried(refused, "two") == Asked("", refused, 0)


def test_what_refusals_have_slowed_is_told_with_the_option_that_overrides_it() -> None:
    time = SimulatedTime()
    named = ProviderUnavailable("429", status=429, rate_limit=True)
    script = ScriptedProvider([*["text"] * 120, named, "text"])
    provider = LimitedProvider(script, policy(time), limits=Limits(max_concurrency=1))
    assert provider.stats.pace == ""
    for seed in range(121):
        ask(provider, time, seed)
        time.now += 0.5
    look = provider.stats
    assert look.rpm == pytest.approx(0.97 * 118, abs=3) and look.retries == {"429": 1}
    assert look.pace == (
        f"slowed by the provider to at most {look.rpm:.0f} calls a minute (--rpm overrides)"
    )


@pytest.mark.slow
def test_a_provider_that_is_down_ends_every_call_with_what_to_do() -> None:
    time, script = SimulatedTime(), always_down()
    asked = ask(LimitedProvider(script, policy(time)), time, *range(30))
    message = str(asked[0].error)
    for part in ("scripted seems to be down", "tries in a row", "the last as: it is down", "quota"):
        assert part in message
    assert {str(one.error) for one in asked} == {message}
    assert all(900 <= one.at <= 960 for one in asked)
    assert len(script.calls) < 30 + 60, "while it is down, one call at a time tries"


def test_a_call_after_that_is_one_more_try() -> None:
    time, script = SimulatedTime(), always_down()
    provider = LimitedProvider(script, policy(time))
    ask(provider, time, *range(30))
    time.now += 3600
    before = len(script.calls)
    assert "seems to be down" in str(ask(provider, time, 1)[0].error)
    assert len(script.calls) == before + 1


def test_a_provider_that_comes_back_loses_no_call() -> None:
    time = SimulatedTime()
    script = ScriptedProvider(lambda *_: down() if time.now < 100 + 700 else "text")
    asked = ask(LimitedProvider(script, policy(time)), time, *range(50))
    assert [one.text for one in asked] == ["text"] * 50


def test_the_traffic_can_be_looked_at() -> None:
    time, looks = SimulatedTime(), []

    def look(*_: object) -> str:
        time.sleep(threading.Event(), 1)
        looks.append(provider.stats)
        return "text"

    limits = Limits(max_concurrency=2)
    provider = LimitedProvider(
        ScriptedProvider(look), replace(policy(time), first_wait_s=0.0), limits=limits
    )
    ask(provider, time, *range(5))
    assert [(look.in_flight, look.waiting) for look in looks] == [
        (2, 3),
        (2, 2),
        (2, 1),
        (2, 0),
        (1, 0),
    ]
    assert looks[0].cap == 2 and looks[0].pauses == 0 and looks[0].rpm is None


# Whole runs against a server with a mind of its own


@dataclass
class Server:
    """Refuses (429) what its quota a minute does not allow, and names it; `strikes` says when it
    fails with a 503."""

    time: SimulatedTime
    quota: Callable[[float], float | None] = lambda _: None  # the delay of a refusal
    strikes: Callable[[float], bool] = lambda _: False
    latency_s: float = 1.0
    refusal_s: float = 0.1
    model: str = "server"
    asked: list[tuple[float, int, bool]] = field(default_factory=list)  # when, seed, accepted
    answered: list[int] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    in_flight: int = 0
    most_in_flight: int = 0

    def complete(self, system: str, prompt: str, seed: int) -> Completion:
        del system, prompt
        self.wait(0.03 * self.chance.random())
        delay_s, failing = self.quota(self.time.now), self.strikes(self.time.now)
        self.asked.append((self.time.now, seed, delay_s is None and not failing))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        answer_s = self.latency_s * (0.5 + self.chance.random())
        self.wait(answer_s if delay_s is None else self.refusal_s)
        self.in_flight -= 1
        if delay_s is not None:
            raise ProviderUnavailable("429", status=429, retry_after=delay_s, rate_limit=True)
        if failing:
            raise ProviderUnavailable("503", status=503)
        self.answered.append(seed)
        return Completion("text", self.model, usage=Usage(100, 400))

    def wait(self, seconds: float) -> None:
        self.time.sleep(threading.Event(), seconds)


def fixed_window(rate: int) -> Callable[[float], float | None]:
    """So many a minute of the wall clock; the delay lasts to its end."""
    used: dict[float, int] = {}

    def quota(now: float) -> float | None:
        minute = now // 60
        used[minute] = used.get(minute, 0) + 1
        return None if used[minute] <= rate else (minute + 1) * 60 - now

    return quota


def sliding_window(rate: int) -> Callable[[float], float | None]:
    """So many in any 60 s; the delay lasts until the oldest is out of sight."""
    times: list[float] = []

    def quota(now: float) -> float | None:
        while times and times[0] <= now - 60:
            times.pop(0)
        if len(times) >= rate:
            return times[0] + 60 - now
        times.append(now)
        return None

    return quota


def bucket(rate: int) -> Callable[[float], float | None]:
    """Refilled all the time, holding a minute's worth; the delay is in whole seconds."""
    level, last = float(rate), 0.0

    def quota(now: float) -> float | None:
        nonlocal level, last
        level, last = min(rate, level + (now - last) * rate / 60), now
        if level < 1:
            return max(1.0, -(-(1 - level) * 60 // rate))
        level -= 1
        return None

    return quota


QUOTAS = {"fixed": fixed_window, "sliding": sliding_window, "bucket": bucket}


def load(
    server: Server, threads: int, minutes: float, limits: Limits | None = None
) -> tuple[LimitedProvider, list[float]]:
    """Have so many threads call all the time; the seconds that each call took."""
    time = server.time
    patient = RetryPolicy(sleep=time.sleep, clock=time.clock, random=random.Random(0).random)
    limits = limits or Limits(max_concurrency=threads)
    provider, took, seeds = LimitedProvider(server, patient, limits=limits), [], count()
    end = time.now + minutes * 60

    def client() -> None:
        while time.now < end:
            begin = time.now
            provider.complete("", "p", next(seeds))
            took.append(time.now - begin)

    time.run([client] * threads)
    assert sorted(server.answered) == list(range(len(took))), "each call is answered once"
    return provider, took


@pytest.mark.slow
@pytest.mark.parametrize("kind", QUOTAS)
@pytest.mark.parametrize(("rate", "threads", "latency_s"), [(60, 64, 1), (300, 32, 4)])
def test_an_unknown_quota_is_used_and_few_calls_are_burnt(
    kind: str, rate: int, threads: int, latency_s: float
) -> None:
    time = SimulatedTime()
    server = Server(time, QUOTAS[kind](rate), latency_s=latency_s)
    load(server, threads, minutes=15)
    after_warm_up = [good for at, _, good in server.asked if 400 <= at < 1000]
    assert sum(after_warm_up) >= 0.9 * rate * 10
    assert after_warm_up.count(False) < 0.05 * len(after_warm_up)


_SIZES = [(10, 8, 2), (60, 256, 1), (60, 8, 5), (1000, 256, 1), (1000, 256, 10), (2000, 256, 3)]
_FEW = [(10, 8, 2, 0.05), (60, 8, 5, 1.0), (1000, 64, 1, 0.05)]
_ALL = [pytest.param(*size, s, marks=pytest.mark.soak) for size in _SIZES for s in (0.05, 1.0)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", QUOTAS)
@pytest.mark.parametrize(("rate", "threads", "latency_s", "refusal_s"), [*_FEW, *_ALL])
def test_quotas_of_all_sizes_are_used_and_few_calls_are_burnt(
    kind: str, rate: int, threads: int, latency_s: float, refusal_s: float
) -> None:
    time = SimulatedTime()
    server = Server(time, QUOTAS[kind](rate), latency_s=latency_s, refusal_s=refusal_s)
    load(server, threads, minutes=20)
    after_warm_up = [good for at, _, good in server.asked if 400 <= at < 1300]
    assert sum(after_warm_up) >= 0.9 * rate * 15
    assert after_warm_up.count(False) < 0.05 * len(after_warm_up)


@pytest.mark.slow
def test_storms_of_503_lose_nothing() -> None:
    """Half of each minute is a storm; calls are only late."""
    server = Server(SimulatedTime(), strikes=lambda now: now % 60 < 30)
    provider, took = load(server, 64, minutes=10)
    assert len(took) > 64 * 30 * 10 / 5, "between the storms the cap grows again"
    in_storms = sum(not good for _, _, good in server.asked)
    assert in_storms < 0.15 * len(server.asked)


@pytest.mark.slow
def test_after_a_pause_256_threads_do_not_come_at_once() -> None:
    pause = iter([20.0])
    server = Server(SimulatedTime(), quota=lambda now: next(pause, None) if now > 105 else None)
    load(server, 256, minutes=1)
    times = sorted(at for at, *_ in server.asked)
    resumed = [at for at in times if at > 120]
    assert most_in(resumed[:200], 0.1) <= 40
    assert most_in(times[:256], 0.1) <= 40, "nor at the start"


@pytest.mark.slow
def test_no_call_starves_while_others_pass() -> None:
    """The older call goes first, however often it was refused."""
    server = Server(SimulatedTime(), fixed_window(60))
    _, took = load(server, 100, minutes=10)
    a_round_s = 100 / 60 * 60
    assert max(took) < 2.5 * a_round_s
    order = [seed for _, seed, good in server.asked if good]
    assert max(abs(seed - place) for place, seed in enumerate(order)) <= 100


@pytest.mark.slow
@pytest.mark.parametrize("rpm", [5, 100, 700])
def test_a_set_rpm_is_kept_in_any_minute_and_used(rpm: int) -> None:
    server = Server(SimulatedTime(), strikes=lambda now: 200 < now < 220)
    load(server, 32, 6, Limits(rpm=rpm))
    times = [at for at, *_ in server.asked]
    assert most_in(sorted(times), 60) <= rpm
    assert len([at for at in times if 300 <= at < 420]) >= 0.95 * rpm * 2


@pytest.mark.slow
def test_set_tokens_a_minute_are_kept_and_used() -> None:
    server = Server(SimulatedTime())
    load(server, 32, 10, Limits(tpm=50_000, max_concurrency=32))
    a_minute = [sum(60 * m <= at - 100 < 60 * m + 60 for at, *_ in server.asked) for m in range(10)]
    assert all(calls * 500 <= 50_000 + 500 for calls in a_minute)
    assert all(calls * 500 >= 0.95 * 50_000 for calls in a_minute[2:])


def test_a_set_concurrency_is_kept() -> None:
    server = Server(SimulatedTime())
    load(server, 40, 2, Limits(max_concurrency=7))
    assert server.most_in_flight == 7


def test_a_run_is_the_same_each_time() -> None:
    runs = []
    for _ in range(2):
        server = Server(SimulatedTime(), sliding_window(100), lambda now: now % 50 < 5)
        load(server, 16, 3)
        runs.append(server.asked)
    assert runs[0] == runs[1]


def test_real_threads_lose_no_call_and_keep_the_cap() -> None:
    """The same, on the machine's own clock and scheduler."""
    lock, now, most, tries = threading.Lock(), [0], [0], Counter[int]()

    def answer(_: str, __: str, seed: int) -> Reply:
        with lock:
            now[0] += 1
            most[0] = max(most)
            most[0] = max(most[0], now[0])
            tries[seed] += 1
            failing = tries[seed] <= seed % 3
        time.sleep(0)
        with lock:
            now[0] -= 1
        return down(status=503) if failing else str(seed)

    quick = RetryPolicy(first_wait_s=0.001, max_wait_s=0.01)
    provider = LimitedProvider(ScriptedProvider(answer), quick, limits=Limits(max_concurrency=5))
    answers: list[str] = []

    def client(first: int) -> None:
        for seed in range(first, 400, 16):
            answers.append(provider.complete("", "p", seed).text)

    threads = [threading.Thread(target=client, args=(first,)) for first in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(map(int, answers)) == list(range(400))
    assert most[0] <= 5
    assert provider.stats[:3:2] == (0, 0)
