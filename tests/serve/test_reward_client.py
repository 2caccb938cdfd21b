"""The client of a server that misbehaves: it retries as it is told, and no failure is a zero."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from loopback import Call, Json, Reply, Service, garbage, json_reply, nothing

from infinite_rl.errors import JudgingUnavailable, UsageError
from infinite_rl.serve import RewardClient

SEVEN = {"type": "math", "answer": "7"}
PASSED = {"status": "passed", "format_score": 1.0, "correctness_score": 1.0, "aux_score": 0.0}
PASSED |= {"error_msg": "", "reward": "math", "reward_version": "5", "quality_score": 1.0}
UNSCORED = {**PASSED, **dict.fromkeys(("format_score", "correctness_score", "aux_score"))}
UNSCORED |= {"status": "unscored", "error_msg": "cannot judge: no gold"}


class Misbehaving(Service[Json]):
    """Gives these replies in turn, then verdicts."""

    def __init__(self, *replies: Reply, score: Json = PASSED) -> None:
        super().__init__()
        self.replies, self.score, self.calls = list(replies), score, list[Call]()

    def read(self, call: Call) -> Json:
        self.calls.append(call)
        return dict(json.loads(call.body))

    def decide(self, request: Json) -> Reply:
        if self.replies:
            return self.replies.pop(0)
        scores = [self.score for _ in request["completions"]]
        return json_reply("scores", 200, {"scores": scores})


def rewards(
    service: Misbehaving, count: int = 1, **options: Any
) -> tuple[list[float | None], list[float]]:
    """The rewards of completions, and the seconds that were waited."""
    waits: list[float] = []
    sleep: Callable[[float], None] = waits.append
    client = RewardClient(service.base_url, "token", sleep=sleep, **options)
    return client.rewards([SEVEN] * count, ["7"] * count), waits


def busy(retry_after: str = "3", status: int = 429) -> Reply:
    return json_reply("busy", status, {"error": "the queue is full"}, {"Retry-After": retry_after})


def test_it_waits_as_long_as_a_busy_server_says() -> None:
    with Misbehaving(busy("3"), busy("7", 503)) as service:
        given, waits = rewards(service)
    assert given == [1.0]
    assert [int(each) for each in waits] in ([3, 7], [3, 8])


@pytest.mark.parametrize(
    "reply", [nothing(), garbage(), json_reply("away", 502, {}), json_reply("bug", 500, {})]
)
def test_it_repeats_what_failed_on_the_way(reply: Reply) -> None:
    with Misbehaving(reply, reply) as service:
        assert rewards(service)[0] == [1.0]
        assert len(service.calls) == 3


@pytest.mark.parametrize("reply", [nothing(), garbage(), busy("100"), json_reply("bug", 500, {})])
def test_without_a_verdict_it_raises_and_never_gives_a_zero(reply: Reply) -> None:
    with (
        Misbehaving(*[reply] * 50) as service,
        pytest.raises(JudgingUnavailable, match="no verdict from 127.0.0.1"),
    ):
        rewards(service, patience=0.3)


@pytest.mark.parametrize(
    "scores",
    [
        [],
        [PASSED] * 2,
        [{}],
        [{**PASSED, "status": "ok"}],
        [{**PASSED, "correctness_score": None}],
        [{**PASSED, "correctness_score": "x"}],
        [None],
        None,
    ],
)
def test_an_answer_that_is_no_verdict_raises(scores: Any) -> None:
    with (
        Misbehaving(json_reply("odd", 200, {"scores": scores})) as service,
        pytest.raises(JudgingUnavailable, match="the answer"),
    ):
        rewards(service)


def test_what_has_no_verdict_is_none_and_unscored() -> None:
    with Misbehaving(score=UNSCORED) as service:
        assert rewards(service)[0] == [None]
        (score,) = RewardClient(service.base_url, "token").score([SEVEN], ["7"])
        assert (score.status, score.error_msg) == ("unscored", "cannot judge: no gold")


@pytest.mark.parametrize("status", [400, 401, 404, 413, 422])
def test_a_request_that_is_refused_is_not_repeated(status: int) -> None:
    reply = json_reply("refused", status, {"error": "unknown reward 'poem'"})
    with (
        Misbehaving(reply) as service,
        pytest.raises(UsageError, match=f"HTTP {status}: unknown reward 'poem'"),
    ):
        rewards(service)


def test_it_sends_batches_with_the_token_and_its_name() -> None:
    with Misbehaving() as service:
        assert rewards(service, 7, batch=3, name="run 1")[0] == [1.0] * 7
        assert [len(call["rows"]) for call in service.requests] == [3, 3, 1]
        headers = service.calls[0].headers
        assert headers["authorization"] == "Bearer token" and headers["x-client"] == "run 1"


def test_a_program_that_could_not_run_raises() -> None:
    reply = json_reply("run", 200, {"status": "SandboxError", "message": "lost"})
    with (
        Misbehaving(reply) as service,
        pytest.raises(JudgingUnavailable, match="the program was not run: lost"),
    ):
        RewardClient(service.base_url, "token").run_code("1")


def test_a_wrong_start_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INFINITE_RL_SERVE_TOKEN", raising=False)
    with pytest.raises(UsageError, match="the server's token is needed"):
        RewardClient("http://127.0.0.1:1")
    for url in ("127.0.0.1:1", "http://", "http://127.0.0.1:port", "ftp://127.0.0.1"):
        with pytest.raises(UsageError, match="begins with http"):
            RewardClient(url, "token")
    client = RewardClient("http://127.0.0.1:1", "token", patience=0)
    with pytest.raises(UsageError, match="2 completions of 1 rows"):
        client.score([SEVEN], ["7", "8"])
    with pytest.raises(JudgingUnavailable, match="Connection refused"):
        client.score([SEVEN], ["7"])
