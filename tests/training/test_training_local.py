"""The local engine: bitwise the same after an interruption, the staleness bound, bad input."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tiny_training import ROWS, config, curve, cut_at, digits, rollouts, run_of, weights

from infinite_rl.errors import StoreError, UnknownName, UsageError
from infinite_rl.training import TrainingConfig, train
from infinite_rl.training.core import rollouts as core_rollouts
from infinite_rl.training.core.optimizer import Diverged
from infinite_rl.training.core.rollout_types import truncation_penalty
from infinite_rl.training.core.sampling import Sampled
from infinite_rl.training.runs import checkpoint
from infinite_rl.training.runs.resuming import MAY_CHANGE, check_unchanged, resume_checkpoint
from infinite_rl.training.runs.run_folder import RunFolder, read_config
from infinite_rl.training.runs.run_log import EARLY_WARNING_STEPS, ZeroAdvantageMonitor


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    [
        {"algorithm": "sft"},
        {},
        {"max_staleness": 1},
        {"max_staleness": 3},
        {"kl_coef": 0.1, "sft_weight": 0.5, "loss": "dapo"},
    ],
    ids=["sft", "grpo", "staleness 1", "staleness 3", "kl and sft"],
)
def test_a_resumed_run_has_the_same_curve_to_the_bit(
    model: Path, tmp_path: Path, values: dict[str, Any]
) -> None:
    whole = train(ROWS, digits, config(model, tmp_path / "whole", **values))
    settings = config(model, tmp_path / "cut", **values)
    run = cut_at(5, ROWS, digits, settings)  # the newest checkpoint is that of step 4
    assert [path.name for path in checkpoint.ready(run)] == ["step_2", "step_4"]
    last = train(ROWS, digits, settings, resume=run)
    assert last == run / "checkpoints" / "step_6"
    assert curve(last) == curve(whole) and len(curve(last)) == 6
    one, other = weights(last), weights(whole)
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
    texts = [rollouts(path, "completion") for path in (last, whole)]
    assert texts[0] == texts[1] and len(texts[0]) == (0 if "algorithm" in values else 6 * 16)


@pytest.mark.slow
def test_a_run_that_an_earlier_version_began_resumes_to_the_bit(
    model: Path, tmp_path: Path
) -> None:
    """Its checkpoint names the prefetched rollouts otherwise."""
    whole = train(ROWS, digits, config(model, tmp_path / "whole", max_staleness=1))
    settings = config(model, tmp_path / "cut", max_staleness=1)
    run = cut_at(5, ROWS, digits, settings)
    path = run / "checkpoints" / "step_4" / checkpoint.STATE
    state = torch.load(path)
    names = {"sampling": "asked", "indices": "places", "rollouts": "answers"}
    state["algorithm"]["rollouts"] = [
        {names.get(name, name): value for name, value in entry.items()}
        for entry in state["algorithm"]["rollouts"]
    ]
    assert "answers" in state["algorithm"]["rollouts"][0]
    rewritten(path, state)
    assert curve(train(ROWS, digits, settings, resume=run)) == curve(whole)


def rewritten(path: Path, state: Any) -> None:
    """Replace a checkpoint's state, and its size in the marker."""
    torch.save(state, path)
    marker = path.with_name(checkpoint.READY)
    sizes = json.loads(marker.read_text())
    sizes["files"][checkpoint.STATE] = path.stat().st_size
    marker.write_text(json.dumps(sizes))


@pytest.mark.slow
def test_the_loss_of_sft_falls_and_the_reward_of_grpo_rises(model: Path, tmp_path: Path) -> None:
    sft = {"algorithm": "sft", "max_steps": 30, "batch_size": 20, "learning_rate": 1e-2}
    losses = [each["loss"] for each in curve(train(ROWS, None, config(model, tmp_path, **sft)))]
    assert losses[-1] < 0.5 * losses[0]
    grpo = {"max_steps": 25, "batch_size": 8, "group_size": 8, "learning_rate": 1e-2}
    events = curve(train(ROWS, digits, config(model, tmp_path, **grpo)))
    rewards = [event["reward"] for event in events]
    assert sum(rewards[-5:]) / 5 > sum(rewards[:5]) / 5 + 0.2


@pytest.mark.slow
@pytest.mark.parametrize("most", [0, 1, 2])
def test_no_rollout_is_older_than_the_bound(model: Path, tmp_path: Path, most: int) -> None:
    last = train(ROWS, digits, config(model, tmp_path, max_staleness=most))
    assert [event["staleness"] for event in curve(last)] == [min(step, most) for step in range(6)]
    versions = {(step - 1, version) for step, version in rollouts(last, "step", "version")}
    assert versions == {(step, max(0, step - most)) for step in range(6)}


@pytest.mark.slow
def test_rollouts_that_a_smaller_bound_makes_too_old_are_sampled_again(
    model: Path, tmp_path: Path
) -> None:
    run = cut_at(5, ROWS, digits, config(model, tmp_path, max_staleness=3))
    last = train(ROWS, digits, config(model, tmp_path, max_staleness=1), resume=run)
    fifth, sixth = curve(last)[4:]
    assert (fifth["staleness"], fifth["too_old"]) == (0, 1)  # it was requested at version 1
    assert (sixth["staleness"], sixth["too_old"]) == (0, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "changes"),
    [(ROWS[::-1], {}), (ROWS, {"group_size": 2}), (ROWS, {"temperature": 0.3})],
    ids=["rows", "group", "temperature"],
)
def test_rollouts_of_other_prompts_or_settings_are_not_trained_on(
    model: Path, tmp_path: Path, rows: list[dict[str, Any]], changes: dict[str, Any]
) -> None:
    run = cut_at(5, ROWS, digits, config(model, tmp_path, max_staleness=1))
    settings = config(model, tmp_path, max_staleness=1, **changes)
    edited = yaml.safe_dump(settings.values())  # by hand: else it would be refused
    (run / "config.yaml").write_text(edited)
    fifth = curve(train(rows, digits, settings, resume=run))[4]
    assert (fifth["too_old"], fifth["staleness"]) == (1, 0)
    assert fifth["ratio"] == pytest.approx(1, abs=1e-4) and fifth["old_kl"] < 1e-6


def test_groups_of_equal_rewards_are_dropped_and_counted(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def one_group_differs(rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[float]:
        return [float(index == 5) for index in range(len(texts))]

    last = train(ROWS, one_group_differs, config(model, tmp_path, max_steps=1))
    (event,) = curve(last)
    assert event["dropped_groups"] == 3 and event["completions"] == 16
    advantages = [value for (value,) in rollouts(last, "advantage")]
    assert [value != 0 for value in advantages] == [4 <= index < 8 for index in range(16)]
    settings = config(model, tmp_path, max_steps=1)
    last = train(ROWS, lambda rows, texts: [1.0] * len(texts), settings)
    (event,) = curve(last)
    assert event["dropped_groups"] == 4 and "loss" not in event and event["reward"] == 1
    assert "all 4 groups of the run had equal rewards" in caplog.text
    before = weights(model)
    assert all(torch.equal(before[name], each) for name, each in weights(last).items())


def test_a_run_that_learns_nothing_warns(caplog: pytest.LogCaptureFixture) -> None:
    for steps, warnings, message in (
        ([{"dropped_groups": 4}] * (EARLY_WARNING_STEPS - 1), 1, "all 36 groups of the run"),
        ([{"dropped_groups": 4}] * EARLY_WARNING_STEPS * 2, 2, "40 groups in a row had equal"),
        ([{"dropped_groups": 4 - (step % 10 == 0)} for step in range(30)], 0, ""),
        ([{"loss": 0.5}] * 20, 0, ""),
        ([{"frac_reward_zero_std": share} for share in [0.75, *[1.0] * 10]], 1, "40 groups"),
    ):
        caplog.clear()
        monitor = ZeroAdvantageMonitor(TrainingConfig("m", batch_size=4))
        for values in steps:
            monitor.step(values)
        monitor.end()
        assert len(caplog.messages) == warnings, steps
        assert not warnings or caplog.messages[0].startswith(message)


def test_completions_without_a_verdict_do_not_count(model: Path, tmp_path: Path) -> None:
    def some(rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[float | None]:
        return [(None, 0.0, 1.0, 1.0)[index % 4] for index in range(len(texts))]

    last = train(ROWS, some, config(model, tmp_path, max_steps=1))
    (event,) = curve(last)
    assert event["unscored"] == 4 and event["reward"] == pytest.approx(2 / 3)
    rewards, advantages = zip(*rollouts(last, "reward", "advantage")[:4], strict=True)
    assert rewards == (None, 0.0, 1.0, 1.0)
    by_hand = [0, -2 / 2**0.5, 1 / 2**0.5, 1 / 2**0.5]  # mean 2/3, std sqrt(2)/3
    assert list(advantages) == pytest.approx(by_hand, abs=1e-6)


def test_a_right_answer_that_was_truncated_gets_no_reward(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reasons = ("stop", "length") * 2
    group = [Sampled([65], [-1.0], "<answer>5</answer>", reason) for reason in reasons]
    monkeypatch.setattr(core_rollouts, "sample", lambda m, t, prompts, **_: [group] * len(prompts))
    rows = [{"type": "math", "prompt": "2+3=", "answer": "5"}]
    for allowed, rewards in ((False, [1, 0, 1, 0]), (True, [1, 1, 1, 1])):
        values = {"max_steps": 1, "batch_size": 1, "reward_truncated": allowed}
        last = train(rows, None, config(model, tmp_path, **values))
        assert [reward for (reward,) in rollouts(last, "reward")] == rewards
        assert curve(last)[0]["truncated"] == 0.5
    for reward, penalized in ((1.0, 0), (0.0, 0), (-2.0, -2), (None, None)):
        assert truncation_penalty(TrainingConfig("m"), reward, True) == penalized
        assert truncation_penalty(TrainingConfig("m"), reward, False) == reward


@pytest.mark.slow
def test_the_ratio_is_1_without_staleness_and_old_log_probs_are_the_samplers(
    model: Path, tmp_path: Path
) -> None:
    values = {"temperature": 0.7, "max_steps": 4}
    now = curve(train(ROWS, digits, config(model, tmp_path / "0", **values)))
    assert [event["ratio"] for event in now] == pytest.approx([1] * 4, abs=1e-4)
    assert max(event["old_kl"] for event in now) < 1e-6
    settings = config(model, tmp_path / "1", **values, max_staleness=1)
    assert max(event["old_kl"] for event in curve(train(ROWS, digits, settings))) > 1e-5


def test_the_divergence_is_from_the_model_that_training_began_with(
    model: Path, tmp_path: Path
) -> None:
    events = curve(train(ROWS, digits, config(model, tmp_path, kl_coef=0.01)))
    assert events[0]["kl"] == pytest.approx(0, abs=1e-6) and events[-1]["kl"] > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("values", [{"algorithm": "sft"}, {}, {"loss": "dapo"}])
def test_the_split_of_a_batch_does_not_change_what_is_learned(
    model: Path, tmp_path: Path, values: dict[str, Any]
) -> None:
    values = {**values, "max_steps": 1, "batch_size": 8}  # 320 tokens, in parts of 8 * 24
    small = train(ROWS, digits, config(model, tmp_path / "a", tokens_per_batch=24, **values))
    large = train(ROWS, digits, config(model, tmp_path / "b", tokens_per_batch=9999, **values))
    texts = [[each["completion"] for each in rollouts(run)] for run in (small, large)]
    assert texts[0] == texts[1]
    norms = [curve(each)[0]["grad_norm"] for each in (small, large)]
    assert norms[0] == pytest.approx(norms[1], rel=1e-4)
    assert curve(small)[0]["loss"] == pytest.approx(curve(large)[0]["loss"], abs=1e-5)


def test_the_projects_own_reward_the_manifest_and_the_callers_random_numbers(
    model: Path, tmp_path: Path
) -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    settings = config(model, tmp_path, max_steps=1, reward={"format_weight": 0.5})
    last = train(ROWS, None, settings, command=["train", "x"])
    assert torch.equal(torch.rand(2), expected)
    assert curve(last)[0]["reward"] is not None
    manifest = json.loads((run_of(last) / "run_manifest.json").read_text())
    assert manifest["command"] == ["train", "x"] and manifest["seeds"] == {"seed": 42}


@pytest.mark.slow
def test_checkpoints_are_rotated_and_can_be_loaded_by_transformers(
    model: Path, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    last = train(ROWS, digits, config(model, tmp_path, save_every=1, save_total_limit=2))
    assert [path.name for path in checkpoint.ready(run_of(last))] == ["step_5", "step_6"]
    assert AutoModelForCausalLM.from_pretrained(last) and AutoTokenizer.from_pretrained(last)


def test_a_run_that_has_all_its_steps_only_publishes_the_rest(model: Path, tmp_path: Path) -> None:
    values = {"max_steps": 2, "algorithm": "sft"}
    last = train(ROWS, None, config(model, tmp_path, **values))
    remote = tmp_path / "remote"
    again = config(model, tmp_path, **values, checkpoint_uri=str(remote))
    assert train(ROWS, None, again, resume=run_of(last)) == last
    assert len(curve(last)) == 2
    assert sorted(path.name.rpartition("_")[2] for path in remote.iterdir()) == ["final", "step2"]


# Bad input: one line, before anything is created.

NOT_A_ROW = [{"type": "math", "answer": "1"}]
NO_RESPONSE = [{"type": "math", "prompt": "1", "answer": "1", "response": ""}]
LONG = [{"type": "math", "prompt": "1" * 300, "answer": "1", "response": "1"}]
REFUSED: list[tuple[list[Any], dict[str, Any], str]] = [
    ([], {}, "there are no rows"),
    ([], {"algorithm": "sft"}, "there are no rows"),
    (NOT_A_ROW, {}, "no column 'prompt'"),
    (NO_RESPONSE, {"algorithm": "sft"}, "no column 'response'"),
    (NO_RESPONSE, {"sft_weight": 1.0}, "sft_weight needs rows with a response"),
    (LONG, {"tokens_per_batch": 9999}, "a prompt may have 250 tokens"),  # of 256 positions
    (LONG, {}, "a prompt may have 90 tokens"),
    (LONG, {"algorithm": "sft"}, "a prompt and its response may have 96 tokens"),
    (ROWS, {"max_new_tokens": 500}, "leaves no room for a prompt"),
    (ROWS, {"prompt_template": "chatty"}, "unknown prompt template 'chatty'"),
    (ROWS, {"prompt_template": "chat"}, "chat template"),
    (ROWS, {"model": "/no/such/model"}, "there is no model folder /no/such/model"),
    (ROWS, {"model": "a/b/c"}, "there is no model folder a/b/c"),
    (ROWS, {"device": "cuda:7"}, "there is no device cuda:7"),
    (ROWS, {"reward": {"partal": True}}, "reward has no option 'partal'"),
    (ROWS, {"reward": {"format_weight": 3}}, "the format's weight must be in [0, 1]"),
    ([{**ROWS[0], "type": "poem"}], {}, "unknown reward 'poem'"),
    (ROWS, {"engine_options": {"no_such_option": 1}}, "cannot be loaded"),
]


def test_bad_input_is_refused_in_one_line(model: Path, tmp_path: Path) -> None:
    faults = []
    for rows, values, message in REFUSED:
        with pytest.raises(UsageError) as refused:
            train(rows, None, config(model, tmp_path / "out", **values))
        if message not in str(refused.value) or "\n" in str(refused.value):
            faults.append(f"{message!r} is not in {refused.value}")
    with pytest.raises(UsageError, match="cannot be loaded"):  # an empty directory
        train(ROWS, digits, config(tmp_path, tmp_path / "out"))
    assert not faults and not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        train(ROWS, digits, config(model, tmp_path / "file"))
    settings = config(model, tmp_path)
    object.__setattr__(settings, "engine", "verl")
    with pytest.raises(UnknownName):
        train(ROWS, digits, settings)


def test_a_reward_that_returns_no_numbers_is_refused(model: Path, tmp_path: Path) -> None:
    values: Any
    for values, message in (
        ([1.0], "the reward gave 1 values for 16 completions"),
        (["high"] * 16, "the reward gave 'high', which is no finite number"),
        ([float("nan")] * 16, "no finite number"),
        ([10**400] * 16, "no finite number"),
    ):
        with pytest.raises(UsageError, match=message):
            train(ROWS, lambda *_, values=values: values, config(model, tmp_path))


def test_longer_rows_are_dropped_with_a_warning(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        train([*ROWS, *LONG], digits, config(model, tmp_path, max_steps=1))
    assert "1 of 21 rows are dropped" in caplog.text


@pytest.mark.slow
def test_a_gradient_that_is_not_finite_ends_the_run_and_keeps_its_checkpoints(
    model: Path, tmp_path: Path
) -> None:
    values = {"algorithm": "sft", "learning_rate": 10, "max_steps": 50, "save_every": 1}
    try:
        train(ROWS, None, config(model, tmp_path, **values))
    except Diverged as error:
        assert "learning_rate" in str(error)
    (run,) = tmp_path.iterdir()
    assert checkpoint.newest(run) is not None


# Resuming.


def test_a_state_of_another_algorithm_is_refused_in_one_line(model: Path, tmp_path: Path) -> None:
    settings = config(model, tmp_path, max_steps=2, save_every=1)
    run = run_of(train(ROWS, digits, settings))
    shutil.rmtree(run / "checkpoints" / "step_2")
    path = run / "checkpoints" / "step_1" / checkpoint.STATE
    rewritten(path, {**torch.load(path), "algorithm": {}})
    with pytest.raises(StoreError, match="step_1 is not of a grpo run"):
        train(ROWS, digits, settings, resume=run)


def test_a_run_does_not_resume_with_a_config_of_another_curve(model: Path, tmp_path: Path) -> None:
    secret = {"token": "hf_" + "x" * 20}  # which the run's directory does not hold
    began = {"max_steps": 1, "engine_options": secret, "weight_decay": 1e-5}
    first = train(ROWS, digits, config(model, tmp_path, **began))
    run, lines = run_of(first), curve(first)
    other = {"seed": 7, "loss": "dapo", "batch_size": 2, "learning_rate": 1e-4, "data": "x.jsonl"}
    with pytest.raises(UsageError) as refused:
        train(ROWS, digits, config(model, tmp_path, **{**began, **other}), resume=run)
    assert str(refused.value) == (
        f"{run} was started with another config: data was '', is 'x.jsonl'; batch_size was 4, "
        "is 2; learning_rate was 0.001, is 0.0001; loss was 'grpo', is 'dapo'; seed was 42, is 7. "
        "Use the same, or start a new run"
    )
    for name in ("model", "algorithm", "prompt_template"):
        with pytest.raises(UsageError, match=f"config: {name} was"):
            train(ROWS, digits, config(model, tmp_path, **began, **{name: "sft"}), resume=run)
    assert curve(first) == lines
    may = {"max_steps": 2, "save_every": 1, "save_total_limit": 1, "device": "cpu"}
    may["tokens_per_batch"] = 99
    assert train(ROWS, digits, config(model, tmp_path / "b", **{**began, **may}), resume=run)


def test_engines_at_scale_and_clusters_may_be_exchanged(tmp_path: Path) -> None:
    assert set(TrainingConfig.kinds()) > MAY_CHANGE
    engines = ("asyncio", "ray", "local", "trl")
    for before in engines:
        run = tmp_path / before
        run.mkdir()
        address = "ray_address: 10.0.0.1:6379\n" if before == "ray" else ""
        (run / "config.yaml").write_text(f"model: m\nengine: {before}\n{address}")
        for now in engines:
            if now == before or {now, before} == {"asyncio", "ray"}:
                check_unchanged(run, TrainingConfig("m", engine=now))
            else:
                with pytest.raises(UsageError, match=f"engine was '{before}', is '{now}'"):
                    check_unchanged(run, TrainingConfig("m", engine=now))


def test_the_config_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "model: m\nsteps: 7\nstyle: plain\nmode: sequential\nwarmup: 2\nreward_cut_off: true\n"
        "kl: 0.5\nrollout: transformers\nreplays: 1\nkeep_equal_groups: false\nkeep: 9\n"
        "checkpoints: a\ntraces: b\ndatasets: [{name: a, path: a.jsonl, style: plain}]\n"
    )
    config = TrainingConfig.of(read_config(tmp_path))
    assert (config.max_steps, config.warmup_steps, config.save_total_limit) == (7, 2, 9)
    assert (config.kl_coef, config.checkpoint_uri, config.trace_uri) == (0.5, "a", "b")
    assert config.mixture[0].prompt_template == config.prompt_template == "plain"
    check_unchanged(tmp_path, config)


def test_a_run_that_cannot_resume_says_why(model: Path, tmp_path: Path) -> None:
    message = "has no complete checkpoint to resume from; start a new run with its config.yaml"
    with pytest.raises(UsageError, match=message):
        train(ROWS, digits, config(model, tmp_path), resume=tmp_path)
    once = config(model, tmp_path, max_steps=1, algorithm="sft")
    run = run_of(train(ROWS, digits, once))
    with RunFolder.open(run), pytest.raises(StoreError, match="another run is writing"):
        resume_checkpoint(run, once)  # the running process may remove the checkpoint


@pytest.mark.parametrize(
    ("at", "message"), [(1, "has no checkpoint to resume from"), (3, "resumes from step_2")]
)
def test_an_interrupted_run_logs_what_it_resumes_from(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, at: int, message: str
) -> None:
    def interrupt(step: int, _: object) -> None:
        if step == at:
            raise KeyboardInterrupt

    settings = config(model, tmp_path, max_steps=4, save_every=2, algorithm="sft")
    with pytest.raises(KeyboardInterrupt):
        train(ROWS, digits, settings, on_step=interrupt)
    (run,) = tmp_path.iterdir()
    assert str(run) in caplog.messages[-1] and caplog.messages[-1].endswith(message)


def test_a_newer_checkpoint_that_is_damaged_is_skipped_with_a_warning(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    last = train(ROWS, digits, config(model, tmp_path, max_steps=4, algorithm="sft"))
    (last / "config.json").write_text("{}")
    again = config(model, tmp_path, max_steps=5, algorithm="sft")
    train(ROWS, digits, again, resume=run_of(last))
    (line,) = [line for line in caplog.messages if "skipped" in line]
    assert line.startswith("step_4 is skipped: config.json has 2 bytes, not ")
    assert line.endswith("; the run resumes from step_2")
    for path in checkpoint.ready(run_of(last)):
        (path / "READY").unlink()
    with pytest.raises(UsageError, match="checkpoint to resume from; step_2 is skipped"):
        train(ROWS, digits, again, resume=run_of(last))
