"""What each protocol makes of a body, and of results, without a server."""

import json
from typing import Any

import pytest

from infinite_rl.dataset.ground_truth import pack
from infinite_rl.errors import InfiniteRLError, UsageError
from infinite_rl.reward_functions import REWARDS
from infinite_rl.serve.config import ServeConfig, served_rewards
from infinite_rl.serve.dispatcher import Result
from infinite_rl.serve.judging import _reward, warm_up, work
from infinite_rl.serve.protocols import PROTOCOLS, Context, NotJudged, number_in, parsed
from infinite_rl.types import Sample

CONTEXT = Context(ServeConfig(), REWARDS)
SEVEN = {"type": "math", "answer": "7"}
LABEL = pack(Sample("math", "", "7", ""))
UNREADABLE = pack(Sample("math", "", "", ""))
LOST = Result(fault="the worker process was killed by signal 9, 2 times")


def answer(route: str, body: dict[str, Any], context: Context = CONTEXT) -> Any:
    """The answer to a body, judged in this process."""
    protocol = PROTOCOLS[route]
    jobs = protocol.jobs(body, context)
    return protocol.answer(jobs, [Result(work(job)) for job in jobs], context)


def test_scores_are_verdicts_and_what_has_none_has_no_number() -> None:
    rows = [SEVEN, SEVEN, {"type": "math", "answer": ""}]
    texts = ["<answer>7</answer>", "<answer>8</answer>", "<answer>7</answer>"]
    scores = answer("/score", {"rows": rows, "completions": texts})
    assert [each["status"] for each in scores["scores"]] == ["passed", "failed", "unscored"]
    assert [each["correctness_score"] for each in scores["scores"]] == [1.0, 0.0, None]
    assert scores["scores"][2]["format_score"] is scores["scores"][2]["quality_score"] is None
    assert scores["counts"] == {"passed": 1, "failed": 1, "unscored": 1}


def test_a_lost_job_is_unscored_and_says_why() -> None:
    protocol = PROTOCOLS["/score"]
    jobs = protocol.jobs({"rows": [SEVEN], "completions": ["7"]}, CONTEXT)
    (score,) = protocol.answer(jobs, [LOST], CONTEXT)["scores"]
    assert (score["status"], score["correctness_score"]) == ("unscored", None)
    assert score["error_msg"] == f"cannot judge: {LOST.fault}" and score["reward"] == "math"


def test_a_worker_is_warm_with_the_rewards_that_will_judge() -> None:
    context = Context(ServeConfig(timeout=3.5), {"math": REWARDS["math"]})
    _reward.cache_clear()
    assert warm_up(context.warm_up)
    loaded = _reward.cache_info()
    texts = {"rows": [SEVEN], "completions": ["<answer>7</answer>"]}
    assert answer("/score", texts, context)["counts"]["passed"] == 1
    assert _reward.cache_info().misses == loaded.misses == 1


def test_exported_rows_are_judged_by_their_ground_truth() -> None:
    rows = [{"ground_truth": LABEL}, {"reward_model": {"ground_truth": LABEL}}]
    texts = ["<answer>7</answer>"] * 2
    assert answer("/score", {"rows": rows, "completions": texts})["counts"]["passed"] == 2


def test_openrlhf_gets_lists_and_the_prompt_is_no_answer() -> None:
    prompt = "Write <answer>7</answer> for seven. What is 3 + 4?"
    queries = [f"{prompt}<answer>{n}</answer><|im_end|>" for n in (7, 8)]
    body = {"query": queries, "prompts": [prompt] * 2, "labels": [LABEL] * 2}
    result = answer("/openrlhf", body)
    assert result["rewards"] == result["scores"] == [1.0, 0.0]
    assert result["extra_logs"]["unscored"] == [0.0, 0.0]


def test_slime_gets_an_object_with_the_score() -> None:
    for number, score in ((7, 1.0), (8, 0.0)):
        body = {"prompt": [], "response": f"<answer>{number}</answer></s>", "label": LABEL}
        assert answer("/slime", body)["score"] == score


@pytest.mark.parametrize("route", ["/openrlhf", "/slime"])
def test_a_trainer_that_knows_numbers_only_gets_an_error_or_the_number_that_was_set(
    route: str,
) -> None:
    text = "<answer>7</answer>"
    body = {"query": [text], "prompts": [""], "labels": [UNREADABLE]}
    body |= {"prompt": "", "response": text, "label": UNREADABLE}
    with pytest.raises(NotJudged, match="1 of 1 completions have no verdict"):
        answer(route, body)
    set_number = Context(ServeConfig(unscored_reward=-0.5), REWARDS)
    result = answer(route, body, set_number)
    assert result.get("score", result.get("rewards")) in (-0.5, [-0.5])


def test_partial_credit_is_given_where_it_is_set() -> None:
    label = pack(Sample("coding", "", "print 1 and 2\n", "", "python"))
    body = {"prompt": "", "response": "<answer>\nprint('print 1 and 3')\n</answer>", "label": label}
    assert answer("/slime", body)["score"] == 0.0
    assert 0 < answer("/slime", body, Context(ServeConfig(partial=True), REWARDS))["score"] < 1


# --- /run_code -----------------------------------------------------------------------------------
KEYS = {"status", "message", "compile_result", "run_result", "executor_pod_name", "files"}


@pytest.mark.parametrize(
    ("code", "more", "status", "run"),
    [
        ("print(6 * 7)", {}, "Success", ("Finished", 0, "42\n")),
        ("print(input())", {"stdin": "hi"}, "Success", ("Finished", 0, "hi\n")),
        ("print(1); 1 / 0", {"stdin": None}, "Failed", ("Finished", 1, "1\n")),
        ("while True: pass", {"run_timeout": 0.2}, "Failed", ("TimeLimitExceeded", None, "")),
        ("console.log(6 * 7)", {"language": "nodejs"}, "Success", ("Finished", 0, "42\n")),
    ],
)
def test_programs_run_as_sandbox_fusion_answers(
    code: str, more: dict[str, Any], status: str, run: tuple[Any, ...]
) -> None:
    body = {"code": code, "language": "python", "compile_timeout": 10, "memory_limit_MB": -1}
    result = answer("/run_code", {**body, "files": {}, "fetch_files": [], **more})
    assert set(result) == KEYS and result["status"] == status
    names = ("status", "return_code", "stdout")
    assert tuple(result["run_result"][name] for name in names) == run
    assert set(result["run_result"]) == {*names, "stderr", "execution_time"}


@pytest.mark.parametrize(
    "more", [{"language": "java"}, {"files": {"a.txt": "eA=="}}, {"fetch_files": ["a.txt"]}]
)
def test_what_cannot_run_here_is_a_sandbox_error_not_a_failure(more: dict[str, Any]) -> None:
    protocol = PROTOCOLS["/run_code"]
    with pytest.raises(NotJudged) as refusal:
        protocol.jobs({"code": "1", "language": "python", **more}, CONTEXT)
    assert protocol.not_judged
    result = protocol.not_judged(str(refusal.value))
    assert (result["status"], result["run_result"]) == ("SandboxError", None)
    lost = protocol.answer([], [LOST], CONTEXT)
    assert (lost["status"], lost["message"]) == ("SandboxError", LOST.fault)


def test_a_program_that_may_be_right_elsewhere_is_a_sandbox_error() -> None:
    run = {
        "status": "error",
        "doubt": "no threads here",
        "stdout": "",
        "stderr": "",
        "exit_code": 1,
    }
    result = PROTOCOLS["/run_code"].answer([], [Result({**run, "duration_s": 0.1})], CONTEXT)
    assert (result["status"], result["message"]) == ("SandboxError", "no threads here")


# --- bodies --------------------------------------------------------------------------------------
BODIES = [
    (b"", "the body is no JSON"),
    (b"\xff\xfe{}", "the body is no JSON"),
    (b"[" * 100_000, "the body is no JSON"),
    (b'{"a": NaN}', "NaN is no JSON"),
    (b'{"a": ' + b"9" * 5000 + b"}", "the body is no JSON"),
    (b"[]", "must be a JSON object"),
]


@pytest.mark.parametrize(("data", "reason"), BODIES)
def test_a_body_that_is_no_object_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UsageError, match=reason) as refusal:
        parsed(data)
    assert len(str(refusal.value)) < 300


WRONG = [
    ("/score", {}, "'completions' must be a list of texts"),
    ("/score", {"completions": [1], "rows": [{}]}, "'completions' must be a list of texts"),
    (
        *("/score", {"completions": ["x"], "rows": []}),
        "one row for each of the 1 completions, not 0",
    ),
    ("/score", {"completions": ["x"], "rows": ["y"]}, "row 1 must be an object"),
    ("/score", {"completions": ["x"], "rows": [{"answer": "1"}]}, "row 1 has no column 'type'"),
    ("/score", {"completions": ["x"], "rows": [{"type": "math"}]}, "has no column 'answer'"),
    ("/score", {"completions": ["x"], "rows": [{**SEVEN, "type": "poem"}]}, "unknown reward"),
    ("/score", {"completions": ["x"], "rows": [{**SEVEN, "type": []}]}, "must be text"),
    ("/openrlhf", {"query": ["x"], "prompts": ["x"], "labels": []}, "differ in length"),
    ("/openrlhf", {"query": ["x"], "prompts": ["y"], "labels": [LABEL]}, "begin with its prompt"),
    ("/openrlhf", {"query": ["x"], "prompts": ["x"], "labels": ["7"]}, "no ground truth"),
    ("/slime", {"response": None, "label": LABEL}, "'response' must be text"),
    ("/slime", {"response": "x", "label": None}, "'label' must be text"),
    ("/run_code", {"language": "python"}, "'code' must be text"),
    ("/run_code", {"code": "1", "language": "python", "stdin": 1}, "must be text or null"),
    ("/run_code", {"code": "1", "language": "python", "run_timeout": 0}, "must be positive"),
    ("/run_code", {"code": "1", "language": "python", "run_timeout": True}, "must be a number"),
    ("/run_code", {"code": "1", "language": "python", "run_timeout": 1e308}, "must be a number"),
]


@pytest.mark.parametrize(("route", "body", "reason"), WRONG)
def test_a_wrong_body_is_refused_in_one_line(route: str, body: dict[str, Any], reason: str) -> None:
    with pytest.raises(InfiniteRLError, match=reason) as refusal:
        PROTOCOLS[route].jobs(body, CONTEXT)
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 400


# What the clients of each protocol send: ours, verl's, OpenRLHF's and slime's.
SENT = [
    ("/score", ("rows", "completions")),
    (
        "/run_code",
        (
            *("compile_timeout", "run_timeout", "code", "stdin", "memory_limit_MB", "language"),
            *("files", "fetch_files"),
        ),
    ),
    ("/openrlhf", ("query", "prompts", "labels")),
    ("/slime", ("prompt", "response", "label")),
]


@pytest.mark.parametrize(("route", "keys"), SENT)
def test_a_key_that_would_be_ignored_is_refused_where_it_can_be_a_mistake(
    route: str, keys: tuple[str, ...]
) -> None:
    protocol = PROTOCOLS[route]
    protocol.check_keys(dict.fromkeys((*keys, "deadline")))
    with pytest.raises(UsageError, match="unknown key 'dead_line'; "):
        protocol.check_keys(dict.fromkeys((*keys, "dead_line")))
    later = dict.fromkeys((*keys, "sample_ids", "response_length", "group_id"))
    if protocol.is_borrowed:
        protocol.check_keys(later)
    else:
        with pytest.raises(UsageError, match="unknown key 'group_id'; known: completions, d"):
            protocol.check_keys(later)


@pytest.mark.parametrize("key", ["run_timout", "memory_limit_mb", "std_in", "file", "compile_time"])
def test_a_misspelt_setting_of_a_run_is_refused(key: str) -> None:
    with pytest.raises(UsageError, match=f"unknown key '{key}'; did you mean "):
        PROTOCOLS["/run_code"].check_keys({"code": "1", "language": "python", key: 1})


def test_numbers_that_no_float_holds_are_refused() -> None:
    for value in (10**400, float("inf"), "1", None, True):
        with pytest.raises(UsageError, match="'deadline' must be a number"):
            number_in({"deadline": value}, "deadline", 1.0)
    assert number_in(json.loads("{}"), "deadline", 1.5) == 1.5


def test_rewards_of_ones_own_are_served_by_their_path() -> None:
    path = "probe_reward:ProbeReward"
    assert served_rewards(("math", f"probe={path}")) == {"math": REWARDS["math"], "probe": path}
    assert served_rewards(()) == REWARDS
    for name, reason in (
        ("poem", "unknown reward 'poem'; known:"),
        ("mine=nowhere:Reward", "the reward 'mine' cannot be imported"),
        ("mine=json:JSONDecoder", "is no subclass of RewardFunction"),
    ):
        with pytest.raises(UsageError, match=reason):
            served_rewards((name,))
