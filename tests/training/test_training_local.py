"""The local engine: the same curve after an interruption, the bound on staleness, bad input."""

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

from tiny_models import save_tiny

from infinite_rl.errors import StoreError, UnknownName, UsageError
from infinite_rl.training import TrainingConfig, train
from infinite_rl.training.core import rollouts
from infinite_rl.training.core.optimizer import Diverged
from infinite_rl.training.core.sampling import Sampled
from infinite_rl.training.engines.roles import truncation_penalty
from infinite_rl.training.runs import checkpoint
from infinite_rl.training.runs.resuming import MAY_CHANGE, check_unchanged, resume_checkpoint
from infinite_rl.training.runs.run_folder import RunFolder, read_events, read_rollouts

ROWS = [
    {"type": "math", "prompt": f"{a}+{b}=", "answer": str(a + b), "response": str(a + b)}
    for a in range(5)
    for b in range(4)
]
TIMES = ("seconds", "tokens_per_s", "sampling_s", "judging_s", "waiting_s", "training_s", "time")


def digits(rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[float]:
    """A reward that a random model gets now and then: the share of characters below 64."""
    return [sum(ord(each) < 64 for each in text) / max(len(text), 1) for text in texts]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    return save_tiny(folder)


def config(path: Path, out: Path, /, **values: Any) -> TrainingConfig:
    given = {
        "model": str(path),
        "out": str(out),
        "prompt_template": "plain",
        "max_steps": 6,
        "batch_size": 4,
        "group_size": 4,
        "max_new_tokens": 6,
        "reward_truncated": True,  # a random model seldom ends
        "learning_rate": 1e-3,
        "tokens_per_batch": 96,
        "save_every": 2,
        **values,
    }
    return TrainingConfig.of(given)


def curve(found: Path) -> list[dict[str, Any]]:
    """What the steps of a checkpoint's run told, without its times."""
    events = read_events(found.parent.parent, "train")
    return [{name: event[name] for name in event if name not in TIMES} for event in events]


def weights(found: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(found / "model.safetensors")


class Interrupted(Exception):
    """What stops a run in a test."""


def cut_at(last: int, *given: Any) -> Path:
    """Train until a step is done, and as if the process died there; its run folder."""

    def stop(step: int, values: Mapping[str, Any]) -> None:
        if step == last:
            raise Interrupted

    with pytest.raises(Interrupted):
        train(*given, on_step=stop)
    (run,) = Path(given[2].out).iterdir()
    return run


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
def test_a_run_that_goes_on_has_the_same_curve_to_the_bit(
    model: Path, tmp_path: Path, values: dict[str, Any]
) -> None:
    whole = train(ROWS, digits, config(model, tmp_path / "whole", **values))
    settings = config(model, tmp_path / "cut", **values)
    run = cut_at(5, ROWS, digits, settings)  # the newest checkpoint is that of step 4
    assert [path.name for path in checkpoint.ready(run)] == ["step_2", "step_4"]
    found = train(ROWS, digits, settings, resume=run)
    assert found == run / "checkpoints" / "step_6"
    assert curve(found) == curve(whole) and len(curve(found)) == 6
    one, other = weights(found), weights(whole)
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
    texts = [
        [each["completion"] for each in read_rollouts(path.parent.parent)]
        for path in (found, whole)
    ]
    assert texts[0] == texts[1] and len(texts[0]) == (0 if "algorithm" in values else 6 * 16)


@pytest.mark.slow
def test_training_changes_the_model_and_its_losses_fall(model: Path, tmp_path: Path) -> None:
    settings = config(
        model, tmp_path, algorithm="sft", max_steps=30, batch_size=20, learning_rate=1e-2
    )
    losses = [event["loss"] for event in curve(train(ROWS, None, settings))]
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.slow
def test_grpo_raises_the_reward(model: Path, tmp_path: Path) -> None:
    settings = config(model, tmp_path, max_steps=25, batch_size=8, group_size=8, learning_rate=1e-2)
    rewards = [event["reward"] for event in curve(train(ROWS, digits, settings))]
    assert sum(rewards[-5:]) / 5 > sum(rewards[:5]) / 5 + 0.2


@pytest.mark.slow
@pytest.mark.parametrize("most", [0, 1, 2])
def test_no_rollout_is_older_than_the_bound(model: Path, tmp_path: Path, most: int) -> None:
    found = train(ROWS, digits, config(model, tmp_path, max_staleness=most))
    assert [event["staleness"] for event in curve(found)] == [min(step, most) for step in range(6)]
    versions = {(each["step"] - 1, each["version"]) for each in read_rollouts(found.parent.parent)}
    assert versions == {(step, max(0, step - most)) for step in range(6)}


@pytest.mark.slow
def test_rollouts_that_a_smaller_bound_makes_too_old_are_sampled_again(
    model: Path, tmp_path: Path
) -> None:
    run = cut_at(5, ROWS, digits, config(model, tmp_path, max_staleness=3))
    found = train(ROWS, digits, config(model, tmp_path, max_staleness=1), resume=run)
    fifth, sixth = curve(found)[4:]
    assert (fifth["staleness"], fifth["too_old"]) == (0, 1)  # it was asked for at version 1
    assert (sixth["staleness"], sixth["too_old"]) == (0, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "changes"),
    [(ROWS[::-1], {}), (ROWS, {"group_size": 2}), (ROWS, {"temperature": 0.3})],
    ids=["rows", "group", "temperature"],
)
def test_answers_to_other_prompts_or_sampled_otherwise_are_not_learned_from(
    model: Path, tmp_path: Path, rows: list[dict[str, Any]], changes: dict[str, Any]
) -> None:
    run = cut_at(5, ROWS, digits, config(model, tmp_path, max_staleness=1))
    settings = config(model, tmp_path, max_staleness=1, **changes)
    edited = yaml.safe_dump(settings.values())  # by hand: else it would be refused
    (run / "config.yaml").write_text(edited)
    found = train(rows, digits, settings, resume=run)
    fifth = curve(found)[4]
    assert (fifth["too_old"], fifth["staleness"]) == (1, 0)
    assert fifth["ratio"] == pytest.approx(1, abs=1e-4) and fifth["old_kl"] < 1e-6


def test_groups_of_equal_rewards_are_dropped_and_counted(model: Path, tmp_path: Path) -> None:
    def one_group_differs(rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[float]:
        return [float(place == 5) for place in range(len(texts))]

    found = train(ROWS, one_group_differs, config(model, tmp_path, max_steps=1))
    (event,) = curve(found)
    assert event["dropped_groups"] == 3 and event["completions"] == 16
    advantages = [each["advantage"] for each in read_rollouts(found.parent.parent)]
    assert [value != 0 for value in advantages] == [4 <= place < 8 for place in range(16)]


def test_a_step_without_a_telling_group_changes_nothing(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = train(
        ROWS, lambda rows, texts: [1.0] * len(texts), config(model, tmp_path, max_steps=1)
    )
    (event,) = curve(found)
    assert event["dropped_groups"] == 4 and "loss" not in event and event["reward"] == 1
    assert "all 4 groups of the run had equal rewards" in caplog.text
    before = weights(model)
    assert all(torch.equal(before[name], each) for name, each in weights(found).items())


def test_answers_without_a_verdict_are_left_out(model: Path, tmp_path: Path) -> None:
    def some(rows: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[float | None]:
        return [(None, 0.0, 1.0, 1.0)[place % 4] for place in range(len(texts))]

    found = train(ROWS, some, config(model, tmp_path, max_steps=1))
    (event,) = curve(found)
    assert event["unscored"] == 4 and event["reward"] == pytest.approx(2 / 3)
    first = list(read_rollouts(found.parent.parent))[:4]
    assert [each["reward"] for each in first] == [None, 0.0, 1.0, 1.0]
    by_hand = [0, -2 / 2**0.5, 1 / 2**0.5, 1 / 2**0.5]  # mean 2/3, std sqrt(2)/3
    assert [each["advantage"] for each in first] == pytest.approx(by_hand, abs=1e-6)


def test_a_right_answer_that_was_cut_off_gets_no_reward(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [("<answer>5</answer>", reason) for reason in ("stop", "length")]
    group = [Sampled([65], [-1.0], *each) for each in (*said, *said)]
    monkeypatch.setattr(rollouts, "sample", lambda model, tok, asked, **_: [group] * len(asked))
    rows = [{"type": "math", "prompt": "2+3=", "answer": "5"}]
    for allowed, wanted in ((False, [1, 0, 1, 0]), (True, [1, 1, 1, 1])):
        given = {"max_steps": 1, "batch_size": 1, "reward_truncated": allowed}
        found = train(rows, None, config(model, tmp_path, **given))
        told = list(read_rollouts(found.parent.parent))
        assert [each["reward"] for each in told] == wanted
        assert curve(found)[0]["truncated"] == 0.5


def test_what_was_cut_off_may_have_less_than_nothing_and_no_verdict_stays_none() -> None:
    told = TrainingConfig("m")
    assert [truncation_penalty(told, each, True) for each in (1.0, 0.0, -2.0, None)] == [
        0,
        0,
        -2,
        None,
    ]
    assert [truncation_penalty(told, each, False) for each in (1.0, -2.0, None)] == [1, -2, None]


@pytest.mark.slow
def test_on_policy_ratios_are_one_and_stale_ones_are_not(model: Path, tmp_path: Path) -> None:
    now = curve(train(ROWS, digits, config(model, tmp_path / "0", temperature=0.7, max_steps=4)))
    assert [event["ratio"] for event in now] == pytest.approx([1] * 4, abs=1e-4)
    assert max(event["old_kl"] for event in now) < 1e-6
    settings = config(model, tmp_path / "1", temperature=0.7, max_steps=4, max_staleness=1)
    assert max(event["old_kl"] for event in curve(train(ROWS, digits, settings))) > 1e-5


def test_the_divergence_is_from_the_model_that_training_began_with(
    model: Path, tmp_path: Path
) -> None:
    events = curve(train(ROWS, digits, config(model, tmp_path, kl_coef=0.01)))
    assert events[0]["kl"] == pytest.approx(0, abs=1e-6) and events[-1]["kl"] > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("values", [{"algorithm": "sft"}, {}, {"loss": "dapo"}])
def test_how_a_batch_is_cut_does_not_change_what_is_learned(
    model: Path, tmp_path: Path, values: dict[str, Any]
) -> None:
    values = {
        **values,
        "max_steps": 1,
        "batch_size": 8,
    }  # 320 tokens are sampled, in parts of 8 * 24
    small = train(ROWS, digits, config(model, tmp_path / "a", tokens_per_batch=24, **values))
    large = train(ROWS, digits, config(model, tmp_path / "b", tokens_per_batch=9999, **values))
    said = [[each["completion"] for each in read_rollouts(run.parent.parent)]
            for run in (small, large)]  # fmt: skip
    assert said[0] == said[1]
    norms = [curve(found)[0]["grad_norm"] for found in (small, large)]
    assert norms[0] == pytest.approx(norms[1], rel=1e-4)
    assert curve(small)[0]["loss"] == pytest.approx(curve(large)[0]["loss"], abs=1e-5)


def test_the_projects_own_reward_judges(model: Path, tmp_path: Path) -> None:
    found = train(ROWS, None, config(model, tmp_path, max_steps=1, reward={"format_weight": 0.5}))
    assert curve(found)[0]["reward"] is not None


def test_the_callers_random_numbers_are_left_alone(model: Path, tmp_path: Path) -> None:
    torch.manual_seed(3)
    wanted = torch.rand(2)
    torch.manual_seed(3)
    train(ROWS, digits, config(model, tmp_path, max_steps=1))
    assert torch.equal(torch.rand(2), wanted)


@pytest.mark.slow
def test_checkpoints_are_rotated_and_can_be_loaded_by_transformers(
    model: Path, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    found = train(ROWS, digits, config(model, tmp_path, save_every=1, save_total_limit=2))
    assert [path.name for path in checkpoint.ready(found.parent.parent)] == ["step_5", "step_6"]
    assert AutoModelForCausalLM.from_pretrained(found) and AutoTokenizer.from_pretrained(found)


@pytest.mark.slow
def test_a_run_that_is_done_is_not_done_again(model: Path, tmp_path: Path) -> None:
    settings = config(model, tmp_path, max_steps=2)
    found = train(ROWS, digits, settings)
    assert train(ROWS, digits, settings, resume=found.parent.parent) == found
    assert len(curve(found)) == 2


# Bad input: one line, before anything is made.

NOT_A_ROW = [{"type": "math", "answer": "1"}]
NO_RESPONSE = [{"type": "math", "prompt": "1", "answer": "1", "response": ""}]
LONG = [{"type": "math", "prompt": "1" * 300, "answer": "1", "response": "1"}]


@pytest.mark.parametrize(
    ("rows", "values", "said"),
    [
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
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    model: Path, tmp_path: Path, rows: list[Any], values: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        train(rows, None, config(model, tmp_path / "out", **values))
    assert said in str(refused.value) and "\n" not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_a_state_of_another_algorithm_is_refused_in_one_line(model: Path, tmp_path: Path) -> None:
    settings = config(model, tmp_path, max_steps=2, save_every=1)
    run = train(ROWS, digits, settings).parent.parent
    newest = run / "checkpoints" / "step_2"
    shutil.rmtree(newest)
    state = run / "checkpoints" / "step_1" / checkpoint.STATE
    torch.save({**torch.load(state), "algorithm": {}}, state)
    marker = state.with_name(checkpoint.READY)
    sizes = json.loads(marker.read_text())
    sizes["files"][checkpoint.STATE] = state.stat().st_size
    marker.write_text(json.dumps(sizes))
    with pytest.raises(StoreError, match="step_1 is no grpo run's"):
        train(ROWS, digits, settings, resume=run)


def test_an_empty_folder_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be loaded"):
        train(ROWS, digits, config(tmp_path, tmp_path / "out"))


def test_a_run_does_not_go_on_with_settings_of_another_curve(model: Path, tmp_path: Path) -> None:
    secret = {"token": "hf_" + "x" * 20}  # which the run's folder does not hold
    began = {"max_steps": 1, "engine_options": secret, "weight_decay": 1e-5}
    first = train(ROWS, digits, config(model, tmp_path, **began))
    run, lines = first.parent.parent, curve(first)
    other = {"seed": 7, "loss": "dapo", "batch_size": 2, "learning_rate": 1e-4, "data": "x.jsonl"}
    with pytest.raises(UsageError) as refused:
        train(ROWS, digits, config(model, tmp_path, **{**began, **other}), resume=run)
    assert str(refused.value) == (
        f"{run} was begun with other settings: data was '', is 'x.jsonl'; batch_size was 4, is 2; "
        "learning_rate was 0.001, is 0.0001; loss was 'grpo', is 'dapo'; seed was 42, is 7. "
        "Go on with the same, or begin a new run"
    )
    for name in ("model", "algorithm", "prompt_template"):
        with pytest.raises(UsageError, match=f"settings: {name} was"):
            train(ROWS, digits, config(model, tmp_path, **began, **{name: "sft"}), resume=run)
    assert curve(first) == lines
    may = {
        "max_steps": 2,
        "save_every": 1,
        "save_total_limit": 1,
        "device": "cpu",
        "tokens_per_batch": 99,
    }
    assert train(ROWS, digits, config(model, tmp_path / "b", **{**began, **may}), resume=run)


def test_a_run_that_has_all_its_steps_publishes_what_it_owes(model: Path, tmp_path: Path) -> None:
    told = {"max_steps": 2, "algorithm": "sft"}
    found = train(ROWS, None, config(model, tmp_path, **told))
    place = tmp_path / "far"
    again = config(model, tmp_path, **told, checkpoint_uri=str(place))
    assert train(ROWS, None, again, resume=found.parent.parent) == found
    assert sorted(path.name.rpartition("_")[2] for path in place.iterdir()) == ["final", "step2"]


def test_a_run_may_go_on_in_another_cluster(tmp_path: Path) -> None:
    told = {"model": "m", "engine": "ray"}
    with RunFolder.create(tmp_path, {**told, "ray_address": "10.0.0.1:6379"}) as folder:
        check_unchanged(folder.path, TrainingConfig.of({**told, "ray_address": "10.0.0.2:1234"}))


@pytest.mark.parametrize("engine", ["asyncio", "ray", "local", "trl"])
def test_only_between_the_engines_at_scale_a_run_may_change_its_engine(
    tmp_path: Path, engine: str
) -> None:
    for other in ("asyncio", "ray", "local", "trl"):
        run = tmp_path / other
        run.mkdir()
        (run / "config.yaml").write_text(f"model: m\nengine: {other}\n")
        if engine == other or {engine, other} == {"asyncio", "ray"}:
            check_unchanged(run, TrainingConfig("m", engine=engine))
        else:
            with pytest.raises(UsageError, match=f"engine was '{other}', is '{engine}'"):
                check_unchanged(run, TrainingConfig("m", engine=engine))


def test_what_may_change_are_keys_of_the_config() -> None:
    assert set(TrainingConfig.kinds()) > MAY_CHANGE


def test_a_run_without_a_checkpoint_cannot_go_on(model: Path, tmp_path: Path) -> None:
    said = "has no whole checkpoint to go on from; begin anew with its config.yaml"
    with pytest.raises(UsageError, match=said):
        train(ROWS, digits, config(model, tmp_path), resume=tmp_path)


def test_a_run_that_is_under_way_does_not_go_on_a_second_time(model: Path, tmp_path: Path) -> None:
    once = config(model, tmp_path, max_steps=1, algorithm="sft")
    run = train(ROWS, digits, once).parent.parent
    with RunFolder.open(run), pytest.raises(StoreError, match="another run is writing"):
        resume_checkpoint(run, once)  # what follows would read a checkpoint that may be thrown away


@pytest.mark.parametrize(
    ("at", "said"), [(1, "has no checkpoint yet to go on from"), (3, "goes on from step_2")]
)
def test_who_interrupts_a_run_is_told_what_it_goes_on_from(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, at: int, said: str
) -> None:
    def interrupt(step: int, _: object) -> None:
        if step == at:
            raise KeyboardInterrupt

    told = config(model, tmp_path, max_steps=4, save_every=2, algorithm="sft")
    with pytest.raises(KeyboardInterrupt):
        train(ROWS, digits, told, on_step=interrupt)
    (run,) = tmp_path.iterdir()
    assert str(run) in caplog.messages[-1] and caplog.messages[-1].endswith(said)


def test_a_newer_checkpoint_that_is_damaged_is_passed_over_with_a_word(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = train(ROWS, digits, config(model, tmp_path, max_steps=4, algorithm="sft"))
    (found / "config.json").write_text("{}")
    again = config(model, tmp_path, max_steps=5, algorithm="sft")
    train(ROWS, digits, again, resume=found.parent.parent)
    (line,) = [line for line in caplog.messages if "passed over" in line]
    assert line.startswith("step_4 is passed over: config.json has 2 bytes, not ")
    assert line.endswith("; the run goes on from step_2")
    for path in checkpoint.ready(found.parent.parent):
        (path / "READY").unlink()
    with pytest.raises(
        UsageError, match="no whole checkpoint to go on from; step_2 is passed over"
    ):
        train(ROWS, digits, again, resume=found.parent.parent)


def test_an_unwritable_place_is_an_error_of_the_store(model: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        train(ROWS, digits, config(model, tmp_path / "file"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([1.0], "the reward gave 1 values for 16 completions"),
        (["high"] * 16, "the reward gave 'high', which is no finite number"),
        ([float("nan")] * 16, "no finite number"),
        ([10**400] * 16, "no finite number"),
    ],
)
def test_a_reward_that_gives_no_numbers_is_refused(
    model: Path, tmp_path: Path, given: list[Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        train(ROWS, lambda rows, texts: given, config(model, tmp_path))


def test_longer_rows_are_left_out_with_a_word(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        train([*ROWS, *LONG], digits, config(model, tmp_path, max_steps=1))
    assert "1 of 21 rows are left out" in caplog.text


@pytest.mark.slow
def test_a_gradient_that_is_not_finite_ends_the_run_and_keeps_its_checkpoints(
    model: Path, tmp_path: Path
) -> None:
    settings = config(
        model, tmp_path, algorithm="sft", learning_rate=10, max_steps=50, save_every=1
    )
    try:
        train(ROWS, None, settings)
    except Diverged as error:
        assert "learning_rate" in str(error)
    (run,) = tmp_path.iterdir()
    assert checkpoint.newest(run) is not None


def test_an_engine_that_is_not_known_is_named(model: Path, tmp_path: Path) -> None:
    settings = config(model, tmp_path)
    object.__setattr__(settings, "engine", "verl")
    with pytest.raises(UnknownName):
        train(ROWS, digits, settings)


def test_the_manifest_holds_the_command(model: Path, tmp_path: Path) -> None:
    found = train(ROWS, digits, config(model, tmp_path, max_steps=1), command=["train", "x"])
    manifest = json.loads((found.parent.parent / "run_manifest.json").read_text())
    assert manifest["command"] == ["train", "x"] and manifest["seeds"] == {"seed": 42}
