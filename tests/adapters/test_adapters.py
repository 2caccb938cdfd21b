"""Each adapter gives its trainer the native score, wherever it is called from."""

import asyncio
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import make_dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from adapter_battery import CASES, SITUATIONS, TIMEOUT, Caller, Case, due, found, native
from labelled import assert_none, unlike

from infinite_rl.adapters import for_rubric, for_trl
from infinite_rl.adapters.openrlhf import response_of
from infinite_rl.adapters.scorer import Scorer, text_of
from infinite_rl.adapters.verl import compute_score, compute_score_batch
from infinite_rl.dataset.ground_truth import pack
from infinite_rl.errors import UnknownName, UsageError
from infinite_rl.export.formats import REWARD_NAME
from infinite_rl.layout import tagged
from infinite_rl.reward_functions.reward_function import RewardFunction
from infinite_rl.types import RewardFunctionScore, Sample

ROOT = Path(__file__).parents[2]
SEVEN = pack(Sample("math", "", "7", ""))
UNREADABLE = pack(Sample("math", "", "\\frac{", ""))
PARTIAL = CASES["half of the tests"]


def trl(cases: Sequence[Case]) -> list[float | None]:
    completions = [case.completion for case in cases]
    truths = [case.truth for case in cases]
    return for_trl(timeout=TIMEOUT)(["?"] * len(cases), completions, ground_truth=truths)


def trl_columns(cases: Sequence[Case]) -> list[float | None]:
    completions = [[{"role": "assistant", "content": case.completion}] for case in cases]
    columns = {
        name: [getattr(case.sample, name) for case in cases]
        for name in ("type", "answer", "language")
    }
    return for_trl(timeout=TIMEOUT)([[]] * len(cases), completions, **columns, trainer_state=None)


def verl(cases: Sequence[Case]) -> list[float | None]:
    return [
        compute_score("any", case.completion, case.truth, {}, timeout=TIMEOUT)["score"]
        for case in cases
    ]


def verl_batch(cases: Sequence[Case]) -> list[float | None]:
    completions = [case.completion for case in cases]
    truths = [case.truth for case in cases]
    scores = compute_score_batch([""] * len(cases), completions, truths, timeout=TIMEOUT)
    return [score["score"] for score in scores]


def rubric(cases: Sequence[Case]) -> list[float | None]:
    reward = for_rubric(timeout=TIMEOUT)

    async def score() -> list[float | None]:
        messages = ([{"role": "assistant", "content": case.completion}] for case in cases)
        pairs = zip(messages, cases, strict=True)
        return list(await asyncio.gather(*(reward(said, case.truth) for said, case in pairs)))

    return asyncio.run(score())


# What each caller gives where there is no verdict, and the situations that it is called in. All of
# them have the same scorer: one is called in every situation, the others by many threads at once.
CALLERS: Mapping[Caller, tuple[float | None, Sequence[str]]] = {
    trl: (None, list(SITUATIONS)),
    trl_columns: (None, ["a thread pool"]),
    verl: (0.0, ["a thread pool"]),
    verl_batch: (0.0, ["a thread pool"]),
    rubric: (0.0, ["asyncio"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLERS)
def test_the_trainer_gets_the_native_score(call: Caller) -> None:
    statuses = {name: score.status for name, score in zip(CASES, native(), strict=True)}
    assert statuses == {name: case.status for name, case in CASES.items()}
    absent, situations = CALLERS[call]
    assert {each: found(call, each) for each in situations} == dict.fromkeys(
        situations, due(absent)
    )


# --- what the trainer gets -----------------------------------------------------------------------
def test_the_reward_is_the_verdict_unless_weighed() -> None:
    (score,) = Scorer().judge([(PARTIAL.sample, PARTIAL.completion)])
    assert Scorer().reward(score) == 0.0
    assert Scorer(partial=True).reward(score) == score.correctness_score == 0.5
    assert Scorer().reward(RewardFunctionScore(1.0, 0.95, status="passed")) == 1.0
    wrong, boxed = tagged("8"), "\\boxed{7}"
    weighed = for_trl(format_weight=0.25)
    assert weighed(["", ""], [wrong, boxed], ground_truth=[SEVEN] * 2) == [0.25, 0.75]
    assert for_trl()(["", ""], [wrong, boxed], ground_truth=[SEVEN] * 2) == [0.0, 1.0]
    for truth in (SEVEN, UNREADABLE):
        found = compute_score("", tagged("7"), truth)
        assert list(found) == ["score", "acc", "format", "unscored"]
        assert all(type(value) is float for value in found.values())


def test_no_verdict_is_no_reward_or_a_zero_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    rewards = for_trl(format_weight=1.0)(["", ""], [tagged("7")] * 2, ground_truth=[UNREADABLE] * 2)
    assert rewards == [None, None], "whatever the format is worth"
    with caplog.at_level(logging.WARNING):
        found = compute_score("", tagged("7"), UNREADABLE)
    assert (found["score"], found["unscored"], found["acc"]) == (0.0, 1.0, 0.0)
    assert "no verdict, so the reward is 0.0: cannot judge" in caplog.text


def test_a_wrong_setting_is_refused() -> None:
    weight, switch = "the format's weight must be in", "partial is true or false, not"
    wrong: list[tuple[str, dict[str, Any]]] = [
        *((weight, {"format_weight": each}) for each in (-0.1, 1.1, float("nan"), "0.5")),
        *((switch, {"partial": each}) for each in ("false", 0, None)),
    ]
    assert_none(unlike((said, partial(for_trl, **each)) for said, each in wrong))


def test_rewards_of_ones_own_judge_and_types_are_mixed() -> None:
    class Long(RewardFunction):
        def compute_reward(self, model_output: str, *_: Any) -> RewardFunctionScore:
            passed = len(model_output) > 3
            return RewardFunctionScore(1.0, float(passed), status="passed" if passed else "failed")

    reward = for_trl(extra={"long": Long("long")})
    assert reward([""] * 2, ["abcd", "a"], type=["long"] * 2, answer=["", ""]) == [1.0, 0.0]
    code = CASES["a right program"]  # types may be mixed in a batch
    completions = [tagged("7"), code.completion, tagged("8")]
    said = r"extra rewards are a mapping by name: write \{'long': Long\('long'\)\}"
    with pytest.raises(UsageError, match=said):
        for_trl(extra=Long("long"))  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match=r"for_trl\(extra=\{'long': ...\}\) gives your own"):
        for_trl()([""], ["abcd"], type=["long"], answer=[""])
    assert for_trl()([""] * 3, completions, ground_truth=[SEVEN, code.truth, SEVEN]) == [1, 1, 0]


def test_a_foreign_row_is_an_error_not_a_zero() -> None:
    truths: tuple[Any, ...] = ("", "7", "{}", '{"type": "math"}', None)
    for truth in truths:
        for call in (
            partial(for_trl(), [""], [tagged("7")], ground_truth=[truth]),
            partial(compute_score, "", tagged("7"), truth),
        ):
            with pytest.raises(UsageError, match="no ground truth of this package"):
                call()
    with pytest.raises(UnknownName, match="unknown reward 'poetry'"):
        for_trl()([""], [tagged("7")], type=["poetry"], answer=["7"])


# --- TRL -----------------------------------------------------------------------------------------
def test_trl_gets_rewards_and_a_table() -> None:
    with pytest.raises(
        UsageError, match=r"ground_truth, or type and answer \(its columns: kind, prompt\)"
    ):
        for_trl()([""], [""], kind=["math"])
    with pytest.raises(ValueError, match="zip"):
        for_trl()([""], ["", ""], ground_truth=[SEVEN])
    table: dict[str, list[str]] = {}
    said = [tagged("7"), tagged("8")]
    for_trl()(["", ""], said, ground_truth=[SEVEN] * 2, log_extra=table.__setitem__)
    assert table["status"] == ["passed", "failed"]
    assert table["error"][0] == "" and "differ" in table["error"][1]
    assert for_trl().__name__ == "infinite_rl", "the name that TRL shows"


def test_the_answer_is_in_the_last_message_if_the_model_wrote_it() -> None:
    parts = [{"type": "text", "text": "x"}, {"type": "image"}]
    a, b = ({"role": "assistant", "content": text} for text in "ab")
    cases: tuple[tuple[Any, str], ...] = (
        ("plain", "plain"),
        ([{"role": "assistant", "content": "said"}], "said"),
        ([a, {"role": "tool", "content": "b"}], ""),
        ([a, b], "b"),
        ([{"role": "assistant", "content": None, "tool_calls": []}], ""),
        ([{"role": "user", "content": "7"}], ""),
        ([{"role": "assistant", "content": parts}], "x"),
        ([], ""),
    )
    assert [case for case in cases if text_of(case[0]) != case[1]] == []


# --- OpenRLHF ------------------------------------------------------------------------------------
PROMPT = "<|im_start|>user\nPut it in <answer>7</answer> tags.<|im_end|>\n<|im_start|>assistant\n"


def test_the_response_is_between_the_prompt_and_the_end() -> None:
    for before in ("", "<s>", "<|begin_of_text|>"):
        for after in ("", "<|im_end|>", "</s>", "<|im_end|>\n", "<｜end▁of▁sentence｜>"):
            query = before + PROMPT + " no <b> idea" + after
            assert response_of(query, PROMPT) == " no <b> idea"
    assert response_of(PROMPT[20:] + PROMPT, PROMPT) == PROMPT, "the prompt's start is truncated"
    assert response_of(PROMPT, PROMPT) == ""
    for query in ("", "7", PROMPT[:40] + "...", PROMPT[9:40] + "...", "I think " + PROMPT[60:]):
        with pytest.raises(UsageError, match="does not begin with its prompt"):
            response_of(query, PROMPT)
    many = "<|im_end|>" * 100_000  # in linear time
    assert response_of(PROMPT + "7" + many, PROMPT) == "7"
    assert response_of(PROMPT + many + "7", PROMPT).endswith("7")


@pytest.mark.slow
def test_its_rewards_are_tensors() -> None:
    torch = pytest.importorskip("torch", reason="OpenRLHF's rewards are torch's tensors")
    from infinite_rl.adapters.openrlhf import for_openrlhf, reward_func

    queries = [PROMPT + tagged(said) + "<|im_end|>" for said in ("7", "8")]
    found = reward_func(queries, [PROMPT] * 2, [SEVEN] * 2)
    assert found["rewards"].tolist() == found["scores"].tolist() == [1.0, 0.0]
    assert found["rewards"].dtype == torch.float32
    weighed = for_openrlhf(format_weight=0.5)(queries, [PROMPT] * 2, [SEVEN] * 2)
    assert weighed["rewards"].tolist() == [1.0, 0.5]


# --- open-instruct, SkyRL: with stand-ins for what their classes are derived from ----------------
class Verifier:
    """`VerifierFunction` of open-instruct."""

    def __init__(self, name: str, weight: float = 1.0, verifier_config: Any = None) -> None:
        self.name, self.weight, self.verifier_config = name, weight, verifier_config


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Puts a module with these names in the place of a host's, and imports our adapter for it."""

    def stand_in(host: str, adapter: str, **names: Any) -> Any:
        parents = host.split(".")
        for end in range(1, len(parents) + 1):
            name = ".".join(parents[:end])
            monkeypatch.setitem(sys.modules, name, ModuleType(name))
        vars(sys.modules[host]).update(names)
        monkeypatch.delitem(sys.modules, adapter, raising=False)
        return import_module(adapter)

    return stand_in


@pytest.fixture
def verifier(stand_in: Callable[..., Any]) -> Any:
    host, adapter = "open_instruct.ground_truth_utils", "infinite_rl.adapters.open_instruct"
    result = make_dataclass("Result", ["score", ("cost", float, 0.0), ("reasoning", str, None)])
    stand_in(host, adapter, VerifierFunction=Verifier, VerificationResult=result)
    (found,) = (each for each in Verifier.__subclasses__() if each.__name__ == "InfiniteRLVerifier")
    return found(None)


def test_open_instruct_finds_its_verifier_by_name(verifier: Any) -> None:
    assert (verifier.name, verifier.weight) == (REWARD_NAME, 1.0)
    found = [verifier([1], tagged(said), SEVEN, query=None) for said in ("7", "8")]
    assert [each.score for each in found] == [1.0, 0.0]
    assert found[0].reasoning is None and "differ" in found[1].reasoning
    assert "cannot judge" in verifier([1], tagged("7"), UNREADABLE).reasoning


@pytest.fixture
def env(stand_in: Callable[..., Any]) -> Any:
    host, adapter = "skyrl_gym.envs.base_text_env", "infinite_rl.adapters.skyrl"
    bases = {"BaseTextEnv": type("Env", (), {}), "BaseTextEnvStepOutput": dict}
    return stand_in(host, adapter, **bases).InfiniteRLEnv


def test_skyrl_ends_after_a_step_and_logs_what_it_was(env: Any) -> None:
    extras = {"reward_spec": {"method": "rule", "ground_truth": SEVEN}}
    one = env(env_config={}, extras=extras, format_weight=0.5)
    found = one.step(tagged("8"))
    assert (found["reward"], found["done"], found["observations"]) == (0.5, True, [])
    assert found["metadata"]["status"] == "failed"
    assert one.get_metrics() == {"passed": 0.0, "format": 1.0, "unscored": 0.0}
    for wrong in (None, {}, {"reward_spec": {}}, {"reward_spec": "7"}):
        with pytest.raises(UsageError, match="reward_spec"):
            env(extras=wrong)


# --- all -----------------------------------------------------------------------------------------
def test_many_threads_may_share_one_reward() -> None:
    reward = for_trl()
    with ThreadPoolExecutor(16) as pool:
        calls = [
            pool.submit(reward, [""], [tagged(str(number))], ground_truth=[SEVEN])
            for number in range(64)
        ]
    assert [call.result() for call in calls] == [[float(number == 7)] for number in range(64)]


def test_another_process_gets_a_scorer_of_the_same_settings() -> None:
    import pickle  # Ray's own way between our processes; nothing of anybody else's is loaded

    given = Scorer(format_weight=0.25, partial=True, timeout=3)
    found = pickle.loads(pickle.dumps(given))
    assert (found.format_weight, found.partial) == (0.25, True)
    sample = Sample(type="math", prompt="1+1", answer="2", response="")
    assert found.judge_one(sample, "<answer>2</answer>").passed
